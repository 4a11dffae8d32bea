/* SPDX-License-Identifier: Apache-2.0 */
/* The resize kernel: a CTA makes a tile of an image's result.
 *
 * Columns first: the horizontal pass writes the rows that the tile needs to shared memory, as bytes, one plane for each
 * channel, in a ring of rows. As soon as the windows of some of the tile's rows are complete, the vertical pass makes
 * these rows. So the crop is read once, whatever its size. Rows first: the vertical pass reads the source for some rows
 * of the tile at a time, and the horizontal pass reads its result in shared memory.
 *
 * What neither order takes (alpha, unusual strides, windows larger than the crop or than shared memory), each thread
 * makes pixel by pixel, tap by tap. */
#ifndef MOT_RESIZE_CUH
#define MOT_RESIZE_CUH

#include "kernels/cuda/lines.cuh"
#include "kernels/cuda/memory.cuh"
#include "kernels/cuda/resize_axes.cuh"
#include "kernels/cuda/tuning.h"
#include "kernels/warp.h"

alignas(16) __shared__ uint32_t resize_values[4][256]; /* each byte as the result's type, for each channel */

/* Of each row of the tile: where its window begins, and its first two groups of taps. */
#define STAGED_GROUPS 2
static_assert(MOT_RESIZE_TILE_ROWS <= 32, "each row of a tile has a thread");
__shared__ int resize_first[MOT_RESIZE_TILE_ROWS];
alignas(16) __shared__ mot_cuda_taps resize_taps[STAGED_GROUPS][MOT_RESIZE_TILE_ROWS];

/* Staged taps, by the address at which they lie in shared memory. */
#ifdef MOT_ON_DEVICE
DEVICE uint32_t taps_address()
{
    return kept_address(resize_taps);
}

DEVICE mot_cuda_taps staged_taps(uint32_t staged, int group, int row)
{
    const uint4 v =
        load_shared_four_words(staged + (group * MOT_RESIZE_TILE_ROWS + row) * (uint32_t)sizeof(mot_cuda_taps));
    return mot_cuda_taps{ v.x, v.y, v.z, v.w };
}
#else
DEVICE uint32_t taps_address()
{
    return 0;
}

DEVICE mot_cuda_taps staged_taps(uint32_t, int group, int row)
{
    return resize_taps[group][row];
}
#endif

/* CLAMPS: weights may be negative, so a result may be outside the range of a byte. Else weights are kept as 24 bits
 * without a sign, and the highest byte of a sum is the result. */

/* One output of one channel, with the sums of its taps so far. */
struct tap_sum {
    uint32_t upper, lower;
};

/* It begins with half a unit of the result, in the unit of the upper parts. */
template <bool CLAMPS> DEVICE tap_sum no_taps()
{
    return tap_sum{ 1u << (CLAMPS ? MOT_RESIZE_BITS - 9 : 15), 0 };
}

template <bool CLAMPS> DEVICE void add_taps(tap_sum &s, const mot_cuda_taps &taps, uint32_t bytes)
{
    s.upper = add_pair_high<CLAMPS>(taps.upper23, bytes, add_pair_low<CLAMPS>(taps.upper01, bytes, s.upper));
    s.lower = add_four(taps.lower, bytes, s.lower);
}

DEVICE uint32_t total_of(const tap_sum &s)
{
    return s.upper * 256 + s.lower;
}

/* The bytes of four totals. */
template <bool CLAMPS> DEVICE uint32_t pack_totals(const uint32_t total[4])
{
    if constexpr (!CLAMPS) {
        const uint32_t low = __byte_perm(total[0], total[1], 0x0073), high = __byte_perm(total[2], total[3], 0x0073);
        return __byte_perm(low, high, 0x5410);
    } else {
        int v[4];
        for (int i = 0; i < 4; i++)
            v[i] = (int)total[i] >> MOT_RESIZE_BITS;
        return pack_clamped(v);
    }
}

/* Four taps, by a volatile load: the compiler moves other loads out of branches, and then reads taps that the table
 * does not have. */
DEVICE mot_cuda_taps load_taps(const mot_cuda_taps *p)
{
    const uint4 v = load_four_words_here(p);
    return mot_cuda_taps{ v.x, v.y, v.z, v.w };
}

/* A weight by itself. */
DEVICE int32_t weight_of(const mot_cuda_taps *taps, bool clamps, int out, int i, int t)
{
    const mot_cuda_taps w = taps[(int64_t)(t / 4) * out + i];
    const uint32_t halves = t & 2 ? w.upper23 : w.upper01;
    const uint32_t half = t & 1 ? halves >> 16 : halves & 0xFFFF, lower = w.lower >> 8 * (t & 3) & 0xFF;
    return clamps ? (int16_t)half * 256 + (int)lower : (int)(half * 64 + lower / 4);
}

/* What a CTA works on. */
struct resize_tile {
    mot_view src, dst; /* of one plane, where planes are resized one by one */
    mot_cuda_axes axes;
    axis_table columns, rows;
    int out[2];
    int x0, y0, width, height; /* of dst */
    int first, span;           /* the crop's pixels in a row that the tile's columns read: the first, and how many */
    const uint8_t *crop;       /* the crop's first byte; columns first: of the first row that the tile reads */
    int last_row;              /* the image's last row, counted from there: its words may pass the image's end */
    int plane;                 /* src and dst are this one, or 0 */
    int dtype;
    int store; /* how four neighbouring pixels are written */
    int fast;  /* not pixel by pixel */
};

__shared__ resize_tile resize_now;

enum {
    STORE_HALVES, /* four values of 16 bits of a channel lie side by side, at a multiple of 8 bytes */
    STORE_F16,    /* the same, made by lines */
    STORE_BF16,   /* the same */
    STORE_FLOATS, /* four of 32 bits, at a multiple of 16 bytes */
    STORE_RGB,    /* bytes of three channels lie side by side */
    STORE_BYTES,  /* bytes of a channel lie side by side */
    STORE_ANY
};

/* ---- results ---- */

/* Writes a value of `size` bytes, 2 or 4. */
DEVICE void store_value(uint8_t *to, int size, uint32_t bits)
{
    if (size == 4)
        *(uint32_t *)to = bits;
    else
        *(uint16_t *)to = (uint16_t)bits;
}

DEVICE int store_of(const mot_view &dst, int dtype, int by_lines)
{
    if (dtype == MOTLEY_U8)
        return dst.pixel == 3 && dst.channel == 1 ? STORE_RGB : dst.pixel == 1 ? STORE_BYTES : STORE_ANY;
    const uint32_t size = dtype == MOTLEY_F32 ? 4 : 2;
    const uint32_t all =
        (uint32_t)(uintptr_t)dst.data | (uint32_t)dst.row | (dst.channels > 1 ? (uint32_t)dst.channel : 0);
    return dst.pixel != size || (all & (4 * size - 1)) != 0 ? STORE_ANY
           : size == 4                                      ? STORE_FLOATS
           : !by_lines                                      ? STORE_HALVES
           : dtype == MOTLEY_F16                            ? STORE_F16
                                                            : STORE_BF16;
}

/* A byte as the result's type. */
DEVICE uint32_t value_of(const mot_resize_job &job, const resize_tile &t, int c, uint32_t byte)
{
    if (!job.by_lines)
        return resize_values[c][byte];
    const float v = line_value(job.line[t.plane + c], byte, 0);
    return job.dst_dtype == MOTLEY_F16 ? two_f16(v, 0) : two_bf16(v, 0);
}

/* The values of four bytes. */
DEVICE void look_up_values(const uint32_t value[256], uint32_t bytes, uint32_t bits[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        bits[i] = value[__byte_perm(bytes, 0, 0x4440 + i)];
}

/* What results are written by: a copy of what each row needs. */
template <int C> struct writer {
    int store; /* resize_tile.store, or STORE_ANY for less than four pixels */
    int64_t channel;
    mot_output_line line[C];
};

template <int C> DEVICE writer<C> writer_of(const mot_resize_job &job, const resize_tile &t, int count)
{
    writer<C> w;
    w.store = count < 4 ? STORE_ANY : t.store;
    w.channel = t.dst.channel;
#pragma unroll
    for (int c = 0; c < C; c++)
        w.line[c] = job.line[C == 1 ? t.plane : c];
    return w;
}

/* Writes four pixels by lines; `byte`: line_byte of each component. */
template <int C> DEVICE void store_lines(const writer<C> &w, uint8_t *p, const float byte[4 * C])
{
    float v[4 * C];
#pragma unroll
    for (int k = 0; k < 4 * C; k++)
        v[k] = on_line(w.line[k / 4], byte[k]);
    uint32_t two[2 * C];
    if (w.store == STORE_F16)
#pragma unroll
        for (int k = 0; k < 2 * C; k++)
            two[k] = two_f16(v[2 * k], v[2 * k + 1]);
    else
#pragma unroll
        for (int k = 0; k < 2 * C; k++)
            two[k] = two_bf16(v[2 * k], v[2 * k + 1]);
#pragma unroll
    for (int c = 0; c < C; c++, p += w.channel)
        store_two_words(p, make_uint2(two[2 * c], two[2 * c + 1]));
}

/* Writes pixels from p on, the first `count` of four; one word of four bytes for each channel. */
template <int C>
DEVICE void store_four(const mot_resize_job &job, const resize_tile &t, const writer<C> &w, uint8_t *p, int count,
                       const uint32_t bytes[C])
{
    const int store = w.store;
    const int64_t channel = w.channel;
    if (store == STORE_F16 || store == STORE_BF16) {
        float byte[4 * C];
#pragma unroll
        for (int k = 0; k < 4 * C; k++)
            byte[k] = line_byte(bytes[k / 4], k % 4);
        store_lines<C>(w, p, byte);
    } else if (store == STORE_HALVES) {
        uint32_t bits[C][4];
#pragma unroll
        for (int c = 0; c < C; c++)
            look_up_values(resize_values[c], bytes[c], bits[c]);
#pragma unroll
        for (int c = 0; c < C; c++, p += channel)
            store_two_words(p, make_uint2(__byte_perm(bits[c][0], bits[c][1], 0x5410),
                                          __byte_perm(bits[c][2], bits[c][3], 0x5410)));
    } else if (C == 3 && store == STORE_RGB && aligned(p, 4)) {
        const uint32_t low = __byte_perm(bytes[0], bytes[1 % C], 0x5140);
        const uint32_t middle = __byte_perm(bytes[1 % C], bytes[2 % C], 0x2051);
        const uint32_t high = __byte_perm(bytes[0], bytes[1 % C], 0x0073);
        store_word(p, __byte_perm(low, bytes[2 % C], 0x2410));
        store_word(p + 4, __byte_perm(middle, bytes[0], 0x3610));
        store_word(p + 8, __byte_perm(bytes[2 % C], high, 0x3542));
    } else {
#pragma unroll
        for (int c = 0; c < C; c++, p += channel) {
            if (store == STORE_BYTES && aligned(p, 4)) {
                store_word(p, bytes[c]);
            } else if (store == STORE_FLOATS) {
                uint32_t bits[4];
                look_up_values(resize_values[c], bytes[c], bits);
                store_four_words(p, make_uint4(bits[0], bits[1], bits[2], bits[3]));
            } else {
#pragma unroll 1
                for (int i = 0; i < min(count, 4); i++) {
                    if (t.dtype == MOTLEY_U8)
                        store_byte(p + i * t.dst.pixel, byte_of(bytes[c], i));
                    else
                        store_value(p + i * t.dst.pixel, t.dtype == MOTLEY_F32 ? 4 : 2,
                                    value_of(job, t, c, byte_of(bytes[c], i)));
                }
            }
        }
    }
}

/* ---- the horizontal pass ---- */

/* Four taps of C channels, which lie side by side in memory, as one word for each channel. */
template <int C> DEVICE void gather_taps(const uint32_t word[C], uint32_t bytes[C])
{
    if (C == 1) {
        bytes[0] = word[0];
        return;
    }
    bytes[0] = __byte_perm(__byte_perm(word[0], word[1 % C], 0x0630), word[2 % C], 0x5210);
    bytes[1 % C] = __byte_perm(__byte_perm(word[0], word[1 % C], 0x0741), word[2 % C], 0x6210);
    bytes[2 % C] = __byte_perm(__byte_perm(word[0], word[1 % C], 0x0052), word[2 % C], 0x7410);
}

/* A word of the row that ends the image: bytes past `end` are not read. */
static __device__ __noinline__ uint32_t load_word_before(const uint8_t *p, const uint8_t *end)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++)
        v |= p + i < end ? load_byte(p + i) << (8 * i) : 0;
    return v;
}

/* A byte position in a row as an aligned word and a shift. */
struct row_reader {
    const uint8_t *word; /* aligned */
    uint32_t skip;       /* bits, modulo 32 */
};

/* Where words are loaded from: the source, or its last row, where no load may pass `end`.
 * prefetch_next() is for what is read next, `ahead` bytes further on. */
struct from_source {
    const uint8_t *point; /* of what the warp reads; each thread has its own, and all together lie in all lines */
    DEVICE_MEMBER uint32_t operator()(const uint8_t *p) const
    {
        return load_word(p);
    }
    DEVICE_MEMBER void prefetch_next(uint32_t ahead)
    {
        point += ahead;
        prefetch(point);
    }
};

struct from_last_row {
    const uint8_t *end;
    DEVICE_MEMBER uint32_t operator()(const uint8_t *p) const
    {
        return load_word_before(p, end);
    }
};

DEVICE row_reader read_row(const uint8_t *from)
{
    const uintptr_t at = (uintptr_t)from;
    return row_reader{ (const uint8_t *)(at & ~(uintptr_t)3), (uint32_t)at << 3 };
}

/* WORDS words of bytes from the reader's `at`-th word on. It reads one word more, which lies inside the image in every
 * row but its last. */
template <int WORDS, class Load> DEVICE void load_run(const row_reader &r, int at, Load load, uint32_t word[WORDS])
{
    uint32_t v[WORDS + 1];
#pragma unroll
    for (int i = 0; i <= WORDS; i++)
        v[i] = load(r.word + 4 * (at + i));
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        word[i] = __funnelshift_r(v[i], v[i + 1], r.skip);
}

/* The sums of one column in four rows. */
template <int C, bool CLAMPS> struct four_rows {
    tap_sum sum[C][4];

    DEVICE_MEMBER four_rows()
    {
#pragma unroll
        for (int c = 0; c < C; c++)
            for (int k = 0; k < 4; k++)
                sum[c][k] = no_taps<CLAMPS>();
    }

    DEVICE_MEMBER void add(const mot_cuda_taps &w, const uint32_t word[4][C])
    {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            uint32_t bytes[C];
            gather_taps<C>(word[k], bytes);
            for (int c = 0; c < C; c++)
                add_taps<CLAMPS>(sum[c][k], w, bytes[c]);
        }
    }

    /* One word a channel, row by row. */
    DEVICE_MEMBER void pack(uint32_t made[C]) const
    {
#pragma unroll
        for (int c = 0; c < C; c++) {
            uint32_t total[4];
            for (int k = 0; k < 4; k++)
                total[k] = total_of(sum[c][k]);
            made[c] = pack_totals<CLAMPS>(total);
        }
    }
};

/* How many of `groups` groups of taps are kept in registers; others are loaded for each unit. */
DEVICE constexpr int held_groups(int groups)
{
    return groups <= 2 ? groups : 0;
}

/* The horizontal pass of a column in four rows, rows[0] to rows[3], one group after the other. GROUPS == 0: any number.
 * In the end, `rows` have gone on by `ahead` bytes. */
template <int C, bool CLAMPS, int GROUPS, class Load>
DEVICE void resize_unit(const resize_tile &t, const mot_cuda_taps *table, const mot_cuda_taps *taps, row_reader rows[4],
                        uint32_t ahead, Load load, uint32_t made[C])
{
    four_rows<C, CLAMPS> sums;
    const int groups = GROUPS ? GROUPS : t.axes.groups[0], stride = t.out[0], step = GROUPS ? 0 : 4 * C;
#pragma unroll
    for (int g = 0; g < groups; g++, table += stride) {
        const mot_cuda_taps w = g < held_groups(GROUPS) ? taps[g] : load_taps(table);
        uint32_t word[4][C];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            load_run<C>(rows[k], GROUPS ? C * g : 0, load, word[k]);
            rows[k].word += step;
        }
        sums.add(w, word);
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        rows[k].word += ahead - step * groups;
    sums.pack(made);
}

/* The same for every `lanes`-th of `left` units of four rows. These lie `ahead` bytes apart, a multiple of 4, from the
 * row at `from` on; `put(made)` receives the results in this order. */
template <int C, bool CLAMPS, int GROUPS, class Put>
DEVICE void resize_column(const resize_tile &t, int x, const uint8_t *from, uint32_t pitch, int left, int lanes,
                          uint32_t ahead, from_source load, Put put)
{
    mot_cuda_taps taps[held_groups(GROUPS) + 1];
    const mot_cuda_taps *const table = t.columns.taps + x;
#pragma unroll
    for (int g = 0; g < held_groups(GROUPS); g++)
        taps[g] = load_taps(table + (int64_t)g * t.out[0]);
    row_reader rows[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        rows[k] = read_row(from + k * pitch);
#pragma unroll 1
    for (; left > 0; left -= lanes) {
        uint32_t made[C];
        if (left > lanes)
            load.prefetch_next(ahead);
        resize_unit<C, CLAMPS, GROUPS>(t, table, taps, rows, ahead, load, made);
        put(made);
    }
}

/* ---- the vertical pass ---- */

/* Transposes four rows of four bytes: from four neighbours in each row to four in each column. */
DEVICE void transpose(const uint32_t row[4], uint32_t column[4])
{
    const uint32_t a = __byte_perm(row[0], row[1], 0x5140), b = __byte_perm(row[2], row[3], 0x5140);
    const uint32_t c = __byte_perm(row[0], row[1], 0x7362), d = __byte_perm(row[2], row[3], 0x7362);
    column[0] = __byte_perm(a, b, 0x5410);
    column[1] = __byte_perm(a, b, 0x7632);
    column[2] = __byte_perm(c, d, 0x5410);
    column[3] = __byte_perm(c, d, 0x7632);
}

/* Totals of four columns of one row of the tile; `load(column)` fills in the four taps of the next group for
 * each. GROUPS == 0: any number. */
template <int C, bool CLAMPS, int GROUPS, class Load>
DEVICE void resize_row(const resize_tile &t, uint32_t staged, int row, Load load, uint32_t total[C][4])
{
    tap_sum sum[C][4];
#pragma unroll
    for (int c = 0; c < C; c++)
        for (int i = 0; i < 4; i++)
            sum[c][i] = no_taps<CLAMPS>();
#pragma unroll
    for (int g = 0; g < (GROUPS ? GROUPS : t.axes.groups[1]); g++) {
        const mot_cuda_taps w = GROUPS || g < STAGED_GROUPS
                                    ? staged_taps(staged, g, row)
                                    : load_taps(t.rows.taps + (int64_t)g * t.out[1] + t.y0 + row);
        uint32_t column[C][4];
        load(column);
#pragma unroll
        for (int c = 0; c < C; c++)
            for (int i = 0; i < 4; i++)
                add_taps<CLAMPS>(sum[c][i], w, column[c][i]);
    }
#pragma unroll
    for (int c = 0; c < C; c++)
        for (int i = 0; i < 4; i++)
            total[c][i] = total_of(sum[c][i]);
}

/* ---- the two orders ---- */

/* The tile's j-th row in the order of the rows' windows. */
DEVICE int tile_row(const resize_tile &t, int j)
{
    return t.axes.descending ? t.height - 1 - j : j;
}

DEVICE const uint8_t *end_of(const mot_view &v)
{
    return v.data + (v.height - 1) * v.row + (int64_t)(v.width - 1) * v.pixel + (v.pixel == 3 ? 3 : 1);
}

/* How many of the tile's rows, from the `done`-th on, have windows that fit into a ring of `units` units of four
 * rows. */
DEVICE int rows_that_fit(const resize_tile &t, int done, int units)
{
    const int oldest = resize_first[tile_row(t, done)] / 4, taps = 4 * t.axes.groups[1];
    int low = done, high = t.height; /* the `low`-th fits; from the `high`-th on none is known to fit */
    int middle = t.height - 1;
    while (low + 1 < high) {
        if ((resize_first[tile_row(t, middle)] + taps - 1) / 4 - oldest < units)
            low = middle;
        else
            high = middle;
        middle = (low + high) / 2;
    }
    return low + 1 - done;
}

/* The column of the result that a thread makes; its tile's last for threads that make none, as all of them look up
 * where their column begins. */
DEVICE int column_of(const resize_tile &t, int column)
{
    return t.x0 + min(column, t.width - 1);
}

/* Columns first, shared memory is a ring of units of four rows: for each channel and column one word, so that vertical
 * taps lie side by side. */
#define RING_PITCH MOT_RESIZE_THREADS /* words */
#define RING_UNIT (4 * RING_PITCH)    /* bytes of a unit's channel */
static_assert(MOT_RESIZE_MOST_ROWS <= 4 * 255, "a unit's number is a byte");

/* The thread's lane and column in a tile. */
struct thread_place {
    int lane, column;
};

DEVICE thread_place place_of_thread(const mot_resize_job &job)
{
    const int self = thread_again(), lane = (int)((uint32_t)self * job.lane_of_thread >> 16);
    return thread_place{ lane, self - lane * job.tile_width };
}

/* The vertical pass of `rows` rows of the tile, from the `done`-th on, by all threads: each makes four columns. Beside
 * a row's taps stands where its window begins in the ring: how many bits of four rows to skip, and the units that hold
 * it, a byte each. STORE: how they are written; STORE_ANY: as the description says. */
template <int C, bool CLAMPS, int GROUPS, int STORE>
DEVICE void resize_rows(const mot_resize_job &job, const resize_tile &t, uint32_t ring, int units, int done, int rows)
{
    const thread_place self = place_of_thread(job);
    const int quads = job.tile_width / 4;
    const int part = (self.column >= quads) + (self.column >= 2 * quads) + (self.column >= 3 * quads);
    const int quad = self.column - part * quads, step = 4 * job.lanes;
    const int count = t.width - 4 * quad;
    int j = 4 * self.lane + part, row = tile_row(t, done + j);
    uint8_t *p = address(t.dst, t.x0 + 4 * quad, t.y0 + row);
    const int row_step = t.axes.descending ? -step : step;
    const int64_t ahead = row_step * t.dst.row;
    writer<C> w = writer_of<C>(job, t, count);
    if (STORE != STORE_ANY)
        w.store = STORE;
    const uint32_t staged = taps_address();
    const uint32_t own = ring + 16 * quad, ring_bytes = units * C * RING_UNIT;
    if (count <= 0)
        return;
#pragma unroll 1
    for (; j < rows; j += step, row += row_step, p += ahead) {
        const uint32_t place = staged_taps(staged, 0, row).unused;
        uint32_t at = own + __byte_perm(place, 0, 0x4441) * (C * RING_UNIT);
        uint4 low[C];
#pragma unroll
        for (int c = 0; c < C; c++)
            low[c] = load_shared_four_words(at + c * RING_UNIT);
        uint32_t total[C][4], bytes[C];
        int next = 0x4442;
        resize_row<C, CLAMPS, GROUPS>(
            t, staged, row,
            [&](uint32_t column[C][4]) {
                if (GROUPS) {
                    at = own + __byte_perm(place, 0, next++) * (C * RING_UNIT);
                } else {
                    at += C * RING_UNIT;
                    at -= at >= own + ring_bytes ? ring_bytes : 0;
                }
#pragma unroll
                for (int c = 0; c < C; c++) {
                    const uint4 high = load_shared_four_words(at + c * RING_UNIT);
                    column[c][0] = __funnelshift_r(low[c].x, high.x, place);
                    column[c][1] = __funnelshift_r(low[c].y, high.y, place);
                    column[c][2] = __funnelshift_r(low[c].z, high.z, place);
                    column[c][3] = __funnelshift_r(low[c].w, high.w, place);
                    low[c] = high;
                }
            },
            total);
        if (!CLAMPS && (w.store == STORE_F16 || w.store == STORE_BF16)) {
            float byte[4 * C];
#pragma unroll
            for (int k = 0; k < 4 * C; k++)
                byte[k] = line_byte(total[k / 4][k % 4], 3);
            store_lines<C>(w, p, byte);
            continue;
        }
#pragma unroll
        for (int c = 0; c < C; c++)
            bytes[c] = pack_totals<CLAMPS>(total[c]);
        store_four<C>(job, t, w, p, count, bytes);
    }
}

template <int C, bool CLAMPS, int STORE>
DEVICE void resize_rows_of(const mot_resize_job &job, const resize_tile &t, uint32_t ring, int units, int done,
                           int rows)
{
    if (t.axes.groups[1] == 1)
        resize_rows<C, CLAMPS, 1, STORE>(job, t, ring, units, done, rows);
    else if (t.axes.groups[1] == 2)
        resize_rows<C, CLAMPS, 2, STORE>(job, t, ring, units, done, rows);
    else
        resize_rows<C, CLAMPS, 0, STORE>(job, t, ring, units, done, rows);
}

/* What this thread prefetches of the four rows from `rows` on: a warp's lanes have eight places in each row. */
template <int C> DEVICE const uint8_t *point_of(const resize_tile &t, int first_column, const uint8_t *rows)
{
    const int a = __shfl_sync(~0u, first_column, 0), b = __shfl_sync(~0u, first_column, 31), lane = threadIdx.x % 32;
    const int bytes = ((a < b ? b - a : a - b) + 4 * t.axes.groups[0]) * C;
    return rows + lane / 8 * t.src.row + min(a, b) * C + min(lane % 8 * max(32, bytes / 8), bytes - 1);
}

/* The horizontal pass of units `ready` to `until`; the first goes to the ring's place `slot`. */
template <int C, bool CLAMPS, int GROUPS>
DEVICE void fill_ring(const mot_resize_job &job, const resize_tile &t, uint32_t ring, int units, int ready, int until,
                      int slot)
{
    const thread_place self = place_of_thread(job);
    const int x = column_of(t, self.column), first_column = t.columns.first[x], lanes = job.lanes;
    const uint32_t row_bytes = (uint32_t)t.src.row, ring_bytes = units * C * RING_UNIT;
    const uint8_t *const base = t.crop + first_column * C;
    const int first = ready + self.lane;
    const uint8_t *const point = point_of<C>(t, first_column, t.crop + (int64_t)(4 * first) * row_bytes);
    if (self.column >= t.width)
        return;
    const uint32_t end = ring + 4 * self.column + ring_bytes, step = lanes * C * RING_UNIT;
    uint32_t at = ring + (slot + self.lane) * C * RING_UNIT + 4 * self.column;
    at -= at >= end ? ring_bytes : 0;
    const auto put = [&](const uint32_t made[C]) {
        for (int c = 0; c < C; c++)
            store_shared_word(at + c * RING_UNIT, made[c]);
        at += step;
        at -= at >= end ? ring_bytes : 0;
    };
    resize_column<C, CLAMPS, GROUPS>(t, x, base + (int64_t)(4 * first) * row_bytes, row_bytes, until - first, lanes,
                                     4 * lanes * row_bytes, from_source{ point }, put);
}

/* The same for one unit that may hold the image's last row. A separate function, because calls within fill_ring's loop
 * would make the compiler spill its registers. */
template <int C, bool CLAMPS>
static __device__ __noinline__ void fill_last(const mot_resize_job &job, const resize_tile &t, uint32_t ring, int unit,
                                              int slot)
{
    const thread_place self = place_of_thread(job);
    if (self.lane > 0 || self.column >= t.width)
        return;
    const int x = column_of(t, self.column);
    const uint8_t *const base = t.crop + t.columns.first[x] * C;
    uint32_t made[C];
    row_reader rows[4];
    for (int k = 0; k < 4; k++)
        rows[k] = read_row(base + min(4 * unit + k, t.axes.in[1] - 1) * t.src.row);
    resize_unit<C, CLAMPS, 0>(t, t.columns.taps + x, NULL, rows, 0, from_last_row{ end_of(t.src) }, made);
    for (int c = 0; c < C; c++)
        store_shared_word(ring + slot * C * RING_UNIT + c * RING_UNIT + 4 * self.column, made[c]);
}

template <int C, bool CLAMPS> DEVICE void columns_first(const mot_resize_job &job, const resize_tile &t)
{
    const int units = job.shared_rows / 4;
    const uint32_t ring = kept_address(cta_memory);
    int ready = 0, ready_slot = 0; /* units before it have been loaded; where it will be */
    for (int done = 0; done < t.height;) {
        const int rows = rows_that_fit(t, done, units);
        const int until = (resize_first[tile_row(t, done + rows - 1)] + 4 * t.axes.groups[1] + 3) / 4;
        const int oldest = resize_first[tile_row(t, done)] / 4;
        ready = max(ready, oldest);
        if ((int)threadIdx.x < rows) {
            const int row = tile_row(t, done + (int)threadIdx.x), from = resize_first[row];
            int slot = ready_slot - ready + from / 4;
            slot += slot < 0 ? units : slot >= units ? -units : 0;
            const int second = slot + 1 < units ? slot + 1 : 0, third = second + 1 < units ? second + 1 : 0;
            resize_taps[0][row].unused = (uint32_t)((from & 3) << 3 | slot << 8 | second << 16) | (uint32_t)third << 24;
        }
        const int whole = min(until, t.last_row / 4); /* units without the image's last row */
        switch (t.axes.groups[0]) {
        case 1:
            fill_ring<C, CLAMPS, 1>(job, t, ring, units, ready, whole, ready_slot);
            break;
        case 2:
            fill_ring<C, CLAMPS, 2>(job, t, ring, units, ready, whole, ready_slot);
            break;
        case 3:
            fill_ring<C, CLAMPS, 3>(job, t, ring, units, ready, whole, ready_slot);
            break;
        case 4:
            fill_ring<C, CLAMPS, 4>(job, t, ring, units, ready, whole, ready_slot);
            break;
        default:
            fill_ring<C, CLAMPS, 0>(job, t, ring, units, ready, whole, ready_slot);
            break;
        }
        for (int unit = max(ready, whole); unit < until; unit++) {
            const int slot = ready_slot + unit - ready;
            fill_last<C, CLAMPS>(job, t, ring, unit, slot - (slot >= units ? units : 0));
        }
        ready_slot += until - ready;
        ready_slot -= ready_slot >= units ? units : 0;
        ready = until;
        __syncthreads();
        const int store = CLAMPS || t.width % 4 != 0 ? STORE_ANY : t.store;
        if (store == STORE_F16)
            resize_rows_of<C, CLAMPS, CLAMPS ? STORE_ANY : STORE_F16>(job, t, ring, units, done, rows);
        else if (store == STORE_BF16)
            resize_rows_of<C, CLAMPS, CLAMPS ? STORE_ANY : STORE_BF16>(job, t, ring, units, done, rows);
        else
            resize_rows_of<C, CLAMPS, STORE_ANY>(job, t, ring, units, done, rows);
        __syncthreads();
        done += rows;
    }
}

#define SOURCE_WORDS 4 /* that a thread makes together */

/* Four words of the tile's row `row` after the vertical pass, from byte `at` of the crop's rows on. */
template <bool CLAMPS, int GROUPS, class Load>
DEVICE uint4 resize_source_row(const resize_tile &t, uint32_t staged, int row, int at, Load load)
{
    const uint32_t pitch = (uint32_t)t.src.row;
    uint32_t from = resize_first[row] * pitch + at, total[SOURCE_WORDS][4];
    resize_row<SOURCE_WORDS, CLAMPS, GROUPS>(
        t, staged, row,
        [&](uint32_t column[SOURCE_WORDS][4]) {
            uint32_t taps[4][SOURCE_WORDS];
#pragma unroll
            for (int k = 0; k < 4; k++, from += pitch)
                load_run<SOURCE_WORDS>(read_row(t.crop + from), 0, load, taps[k]);
#pragma unroll
            for (int i = 0; i < SOURCE_WORDS; i++) {
                const uint32_t word[4] = { taps[0][i], taps[1][i], taps[2][i], taps[3][i] };
                transpose(word, column[i]);
            }
        },
        total);
    return make_uint4(pack_totals<CLAMPS>(total[0]), pack_totals<CLAMPS>(total[1]), pack_totals<CLAMPS>(total[2]),
                      pack_totals<CLAMPS>(total[3]));
}

/* Bytes of a row between the passes; the vertical one makes whole runs of SOURCE_WORDS words. */
DEVICE int between_bytes(int span)
{
    return (span + 4 * SOURCE_WORDS - 1) & ~(4 * SOURCE_WORDS - 1);
}

/* The vertical pass of `rows` rows of the tile, from `row` on, for `runs` runs of the source from byte `at` of the
 * crop's rows on: of those rows whose windows begin behind row `whole`, or of the others. */
template <bool CLAMPS, int GROUPS, bool LAST, class Load>
DEVICE void resize_source(const resize_tile &t, int row, int rows, int at, int runs, int whole, uint8_t *made,
                          Load load)
{
    const uint32_t staged = taps_address();
    const int rows_on = (int)blockDim.x / runs, runs_on = (int)blockDim.x % runs;
    int j = (int)threadIdx.x / runs, k = (int)threadIdx.x % runs;
#pragma unroll 1
    while (j < rows) {
        if ((resize_first[row + j] > whole) == LAST)
            ((uint4 *)made)[j * runs + k] =
                resize_source_row<CLAMPS, GROUPS>(t, staged, row + j, at + 4 * SOURCE_WORDS * k, load);
        j += rows_on, k += runs_on;
        if (k >= runs)
            j++, k -= runs;
    }
}

/* Separate for the same reason as fill_last. */
template <bool CLAMPS>
static __device__ __noinline__ void resize_source_end(const resize_tile &t, int row, int rows, int at, int runs,
                                                      int whole, uint8_t *made)
{
    resize_source<CLAMPS, 0, true>(t, row, rows, at, runs, whole, made, from_last_row{ end_of(t.src) });
}

#define WORD_MORE 4 /* bytes behind the last row in shared memory, which the horizontal pass also reads */

/* Transposes four rows of one column, which four neighbouring threads hold, to four columns of one row: the i-th of
 * them receives row i. */
DEVICE uint32_t transpose_among_four(uint32_t column)
{
    const bool second = threadIdx.x & 1, lower = threadIdx.x & 2;
    const uint32_t two = __byte_perm(column, __shfl_xor_sync(~0u, column, 1), second ? 0x3715 : 0x6240);
    return __byte_perm(two, __shfl_xor_sync(~0u, two, 2), lower ? 0x3276 : 0x5410);
}

/* The horizontal pass of a column in four rows, `pitch` bytes apart, from `at` on in shared memory. GROUPS == 1: `own`
 * is the only group of taps; 0: any number, `table` has them. */
template <int C, bool CLAMPS, int GROUPS>
DEVICE void resize_between(const resize_tile &t, const mot_cuda_taps &own, const mot_cuda_taps *table, uint32_t at,
                           uint32_t pitch, uint32_t made[C])
{
    const uint32_t skip = at << 3;
    at &= ~3u;
    four_rows<C, CLAMPS> sums;
#pragma unroll 1
    for (int g = 0; g < (GROUPS ? GROUPS : t.axes.groups[0]); g++, at += 4 * C, table += t.out[0]) {
        uint32_t word[4][C];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            uint32_t v[C + 1];
#pragma unroll
            for (int i = 0; i <= C; i++)
                v[i] = load_shared_word(at + k * pitch + 4 * i);
#pragma unroll
            for (int i = 0; i < C; i++)
                word[k][i] = __funnelshift_r(v[i], v[i + 1], skip);
        }
        sums.add(GROUPS ? own : load_taps(table), word);
    }
    sums.pack(made);
}

template <int C, bool CLAMPS> DEVICE void rows_first(const mot_resize_job &job, const resize_tile &t, uint8_t *between)
{
    const thread_place self = place_of_thread(job);
    const int row_bytes = between_bytes(t.span * C), runs = row_bytes / (4 * SOURCE_WORDS), at = t.first * C;
    const int group = (job.shared_rows * RING_PITCH * C - WORD_MORE) / row_bytes / 4 * 4; /* rows, in units of four */
    /* A run may pass the end of its row, by less than two runs. So rows behind this one may pass the image's end. */
    const int most = 8 * SOURCE_WORDS, whole = t.last_row - (t.src.row < most ? most : 0) - 4 * t.axes.groups[1];
    for (int done = 0; done < t.height; done += group) {
        const int rows = min(group, t.height - done);
        if (done > 0)
            __syncthreads();
        if (t.axes.groups[1] == 1)
            resize_source<CLAMPS, 1, false>(t, done, rows, at, runs, whole, between, from_source());
        else
            resize_source<CLAMPS, 0, false>(t, done, rows, at, runs, whole, between, from_source());
        if (max(resize_first[done], resize_first[done + rows - 1]) > whole)
            resize_source_end<CLAMPS>(t, done, rows, at, runs, whole, between);
        __syncthreads();
        const int x = column_of(t, self.column), quad = self.column / 4 * 4, step = 4 * job.lanes;
        const mot_cuda_taps *const table = t.columns.taps + x, own = load_taps(table);
        const writer<C> w = writer_of<C>(job, t, t.width - quad);
        int row = 4 * self.lane;
        uint32_t from = kept_address(between) + (t.columns.first[x] - t.first) * C + row * row_bytes;
        uint8_t *p = address(t.dst, t.x0 + quad, t.y0 + done + row + (int)threadIdx.x % 4);
#pragma unroll 1
        for (; row < rows; row += step, from += step * row_bytes, p += step * t.dst.row) {
            uint32_t made[C];
            if (t.axes.groups[0] == 1)
                resize_between<C, CLAMPS, 1>(t, own, NULL, from, row_bytes, made);
            else
                resize_between<C, CLAMPS, 0>(t, own, table, from, row_bytes, made);
            for (int c = 0; c < C; c++)
                made[c] = transpose_among_four(made[c]);
            if (row + thread_again() % 4 < rows && quad < t.width)
                store_four<C>(job, t, w, p, t.width - quad, made);
        }
    }
}

/* ---- pixel by pixel ---- */

/* The source's pixel (x, y) of the crop; colours multiplied by alpha. */
DEVICE uint32_t source_pixel(const resize_tile &t, int x, int y)
{
    const uint8_t *const p = t.crop + y * t.src.row + x * t.src.pixel;
    uint32_t px = 0;
    for (int c = 0; c < t.src.channels; c++)
        px |= load_byte(p + c * t.src.channel) << (8 * c);
    if (!t.axes.opaque) {
        const int alpha = t.src.channels - 1;
        for (int c = 0; c < alpha; c++)
            px = (px & ~(255u << 8 * c)) |
                 (uint32_t)mot_premultiply((uint8_t)byte_of(px, c), (uint8_t)byte_of(px, alpha)) << 8 * c;
    }
    return px;
}

/* `inner`: the axis of the first pass; `at` [2] is the pixel of the result. */
DEVICE uint32_t resize_pixel(const resize_tile &t, int inner, const int at[2])
{
    const int outer = 1 - inner;
    const axis_table table[2] = { t.columns, t.rows };
    int sum[4] = { 0, 0, 0, 0 };
    for (int u = 0; u < 4 * t.axes.groups[outer]; u++) {
        const int32_t by = weight_of(table[outer].taps, t.axes.clamps, t.out[outer], at[outer], u);
        if (by == 0)
            continue;
        int between[4] = { 0, 0, 0, 0 };
        for (int v = 0; v < 4 * t.axes.groups[inner]; v++) {
            const int32_t weight = weight_of(table[inner].taps, t.axes.clamps, t.out[inner], at[inner], v);
            if (weight == 0)
                continue;
            int place[2];
            place[outer] = table[outer].first[at[outer]] + u;
            place[inner] = table[inner].first[at[inner]] + v;
            const uint32_t px = source_pixel(t, place[0], place[1]);
            for (int c = 0; c < 4; c++)
                between[c] += weight * (int)byte_of(px, c);
        }
        for (int c = 0; c < 4; c++)
            sum[c] += by * (int)mot_resize_byte(between[c]);
    }
    uint32_t out = 0;
    for (int c = 0; c < 4; c++)
        out |= (uint32_t)mot_resize_byte(sum[c]) << (8 * c);
    const int alpha = t.src.channels - 1;
    for (int c = 0; c < alpha && !t.axes.opaque; c++)
        out = (out & ~(255u << 8 * c)) |
              (uint32_t)mot_unpremultiply((uint8_t)byte_of(out, c), (uint8_t)byte_of(out, alpha)) << 8 * c;
    return out;
}

static __device__ __noinline__ void pixel_by_pixel(const mot_resize_job &job, const resize_tile &t)
{
    for (int64_t i = threadIdx.x; i < (int64_t)t.width * t.height; i += blockDim.x) {
        const int at[2] = { t.x0 + (int)(i % t.width), t.y0 + (int)(i / t.width) };
        const uint32_t px = resize_pixel(t, t.axes.rows_first ? 1 : 0, at);
        if (t.dtype == MOTLEY_U8) {
            for (int c = 0; c < t.dst.channels; c++)
                store_byte(address(t.dst, at[0], at[1]) + c * t.dst.channel, byte_of(px, c));
            continue;
        }
        for (int c = 0; c < t.dst.channels; c++)
            store_value(address(t.dst, at[0], at[1]) + c * t.dst.channel, t.dtype == MOTLEY_F32 ? 4 : 2,
                        value_of(job, t, c, byte_of(px, c)));
    }
}

/* ---- the kernel ---- */

/* C: channels that lie side by side and are resized together, 3 or 1 (grey, or a plane); 0: any number, pixel by
 * pixel. */
template <int C> DEVICE bool takes_fast_way(const mot_resize_job &job, const resize_tile &t)
{
    if (C == 0 || !t.axes.opaque || t.axes.in[0] < 4 * t.axes.groups[0] || t.axes.in[1] < 4 * t.axes.groups[1])
        return false;
    if (!t.axes.rows_first)
        return 4 * t.axes.groups[1] + 4 <= job.shared_rows;
    const int64_t row = between_bytes(t.span * C);
    return 4 * row + WORD_MORE <= (int64_t)job.shared_rows * RING_PITCH * C;
}

template <int C, bool CLAMPS> DEVICE void resize_fast(const mot_resize_job &job, const resize_tile &t)
{
    if (t.axes.rows_first)
        rows_first<C, CLAMPS>(job, t, (uint8_t *)cta_memory);
    else
        columns_first<C, CLAMPS>(job, t);
}

/* Describes this CTA's tile in shared memory, since registers are few: by its first warp, a thread for each row. Width
 * 0: there is nothing to do. What is loaded does not depend on other loads, except for the image's number. */
template <int C> DEVICE void describe_tile(const mot_resize_job &job, int tile, int plane, int image)
{
    const int self = (int)threadIdx.x, down = job.tiles_across > 1 ? tile / job.tiles_across : tile;
    resize_tile t;
    t.dst = view_of(job.dst, job.channels, image);
    t.x0 = (tile - down * job.tiles_across) * job.tile_width;
    t.y0 = down * job.tile_height;
    t.width = t.y0 >= t.dst.height ? 0 : max(0, min(job.tile_width, t.dst.width - t.x0));
    if (t.width == 0) {
        resize_now.width = 0;
        return;
    }
    t.height = min(job.tile_height, t.dst.height - t.y0);
    t.out[0] = t.dst.width, t.out[1] = t.dst.height;
    uint8_t *const tables = tables_of(job, image);
    t.rows = table_of(tables, 0, t.out, 1);
    const int row = t.y0 + min(self, t.height - 1), in_table = min(t.out[1] + row, t.out[0] + t.out[1] - 1);
    const uint4 axes[2] = { load_four_words(&job.axes[image]), load_four_words((const uint4 *)&job.axes[image] + 1) };
    const mot_cuda_taps taps = load_taps(t.rows.taps + row);
    mot_cuda_taps second = load_taps(t.rows.taps + in_table); /* others if rows have only one group */
    const int first = t.rows.first[row];
    const int *const columns = (const int *)tables + t.x0, left = columns[0], right = columns[t.width - 1];
    prefetch((const uint8_t *)(columns + min(32 * self, t.width - 1)));
    t.src = view_of(job.src, job.channels, image);
    memcpy(&t.axes, axes, sizeof t.axes);
    if (t.axes.groups[1] > 1 && row >= t.out[0])
        second = load_taps(t.rows.taps + t.out[1] + row);
    t.columns = table_of(tables, t.axes.groups[1], t.out, 0);
    t.first = min(left, right);
    t.span = max(left, right) + 4 * t.axes.groups[0] - t.first;
    t.plane = plane;
    if (job.format == MOT_FORMAT_PLANES) {
        t.src.data += plane * t.src.channel;
        t.dst.data += plane * t.dst.channel;
        t.src.channels = t.dst.channels = 1;
    }
    t.dtype = job.dst_dtype;
    t.store = store_of(t.dst, t.dtype, job.by_lines);
    t.fast = takes_fast_way<C>(job, t);
    const int begin = __shfl_sync(~0u, first, tile_row(t, 0)), above = t.fast && !t.axes.rows_first ? begin : 0;
    t.crop = t.src.data + (t.axes.start[1] + above) * t.src.row + t.axes.start[0] * t.src.pixel;
    const uint8_t *const rows = t.crop + (begin - above + self / 8) * t.src.row;
    for (int i = self % 8 * 32; i < t.span * C && t.fast; i += 8 * 32) /* of the first four rows */
        prefetch(rows + t.first * C + i);
    t.last_row = t.src.height - 1 - t.axes.start[1] - above;
    t.axes.in[1] -= above;
    if (self < t.height) {
        resize_first[self] = first - above;
        resize_taps[0][self] = taps;
        resize_taps[1][self] = second;
    }
    if (self == 0)
        resize_now = t;
}

template <int C>
static __global__ void __launch_bounds__(MOT_RESIZE_THREADS, MOT_RESIZE_CTAS)
    resize_kernel(const __grid_constant__ mot_resize_job job)
{
    const uint32_t planes = job.format == MOT_FORMAT_PLANES ? job.channels : 1;
    const uint32_t tiles = (uint32_t)(job.tiles_across * job.tiles_down), turn = blockIdx.x / tiles;
    const int nth = (int)(planes > 1 ? turn / planes : turn), plane = (int)(turn - nth * planes);
    const int self = (int)threadIdx.x;
    wait_for_previous_kernel();
    let_next_kernel_begin();
    if (self < 32) {
        describe_tile<C>(job, (int)(blockIdx.x - turn * tiles), plane, (int)job.order[nth]);
    } else if (job.dst_dtype != MOTLEY_U8 && !job.by_lines) {
        for (int i = self - 32; i < 64 * (planes > 1 ? 1 : job.channels); i += (int)blockDim.x - 32)
            ((uint4 *)resize_values)[i] = load_four_words(job.values + 256 * plane + 4 * i);
    }
    __syncthreads();
    const resize_tile &t = resize_now;
    if (t.width == 0)
        return;
    const int c = C ? C : 1;
    if (!t.fast)
        pixel_by_pixel(job, t);
    else if (t.axes.clamps)
        resize_fast<c, true>(job, t);
    else
        resize_fast<c, false>(job, t);
}

/* One CTA for each image. */
static __global__ void __launch_bounds__(MOT_RESIZE_THREADS) axes_kernel(const __grid_constant__ mot_resize_job job)
{
    __shared__ uint32_t most[2];
    let_next_kernel_begin();
    if (threadIdx.x < 2)
        most[threadIdx.x] = 1;
    __syncthreads();
    make_axes(job, blockIdx.x, job.place[blockIdx.x], MOT_RESIZE_THREADS, most);
}

#endif
