/* SPDX-License-Identifier: Apache-2.0 */
/* The horizontal pass of four rows of a column, and the vertical pass of four columns of a row. */
#ifndef MOT_RESIZE_PASSES_CUH
#define MOT_RESIZE_PASSES_CUH

#include "kernels/cuda/memory.cuh"
#include "kernels/cuda/resize_tile.cuh"

/* ---- the horizontal pass ---- */

/* Four taps of C channels, which lie side by side in memory, as one word for each channel. */
template <int C> DEVICE void gather_taps(const uint32_t word[C], uint32_t bytes[C])
{
    if constexpr (C == 1)
        bytes[0] = word[0];
    else
        split_rgb(word, bytes);
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

    /* outside: the weight of the fill */
    template <class Fill> DEVICE_MEMBER four_rows(Fill fill, uint32_t outside)
    {
#pragma unroll
        for (int c = 0; c < C; c++)
            for (int k = 0; k < 4; k++)
                sum[c][k] = no_taps<CLAMPS>(fill.start(c, outside));
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
template <int C> DEVICE constexpr int held_groups(int groups)
{
    return groups <= (C == 1 ? 4 : 2) ? groups : 0;
}

/* The horizontal pass of a column in four rows, rows[0] to rows[3], one group after the other. GROUPS == 0: any number.
 * In the end, `rows` have gone on by `ahead` bytes. */
template <int C, bool CLAMPS, int GROUPS, class Fill, class Load>
DEVICE void resize_unit(const resize_tile &t, Fill fill, uint32_t outside, const mot_cuda_taps *table,
                        const mot_cuda_taps *taps, row_reader rows[4], uint32_t ahead, Load load, uint32_t made[C])
{
    four_rows<C, CLAMPS> sums(fill, outside);
    const int groups = GROUPS ? GROUPS : t.axes.groups[0], stride = t.out[0], step = GROUPS ? 0 : 4 * C;
    uint32_t low[4]; /* of one channel: the word that two groups share */
#pragma unroll
    for (int k = 0; k < 4 && C == 1; k++)
        low[k] = load(rows[k].word);
#pragma unroll
    for (int g = 0; g < groups; g++, table += stride) {
        const mot_cuda_taps w = g < held_groups<C>(GROUPS) ? taps[g] : load_taps(table);
        uint32_t word[4][C];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int at = GROUPS ? C * g : 0;
            if constexpr (C == 1) {
                const uint32_t high = load(rows[k].word + 4 * (at + 1));
                word[k][0] = __funnelshift_r(low[k], high, rows[k].skip);
                low[k] = high;
            } else {
                load_run<C>(rows[k], at, load, word[k]);
            }
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
template <int C, bool CLAMPS, int GROUPS, class Fill, class Put>
DEVICE void resize_column(const resize_tile &t, Fill fill, int x, const uint8_t *from, uint32_t pitch, int left,
                          int lanes, uint32_t ahead, from_source load, Put put)
{
    mot_cuda_taps taps[held_groups<C>(GROUPS) + 1];
    const mot_cuda_taps *const table = t.columns.taps + x;
#pragma unroll
    for (int g = 0; g < held_groups<C>(GROUPS); g++)
        taps[g] = load_taps(table + (int64_t)g * t.out[0]);
    const uint32_t outside = fill.outside(table);
    row_reader rows[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        rows[k] = read_row(from + k * pitch);
#pragma unroll 1
    for (; left > 0; left -= lanes) {
        uint32_t made[C];
        if (left > lanes)
            load.prefetch_next(ahead);
        resize_unit<C, CLAMPS, GROUPS>(t, fill, outside, table, taps, rows, ahead, load, made);
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

/* Totals of four columns of one row of the tile; `start(c, i)` is what a column begins with, and `load(column)` fills
 * in the four taps of the next group for each. GROUPS == 0: any number. */
template <int C, bool CLAMPS, int GROUPS, class Start, class Load>
DEVICE void resize_row(const resize_tile &t, uint32_t staged, int row, Start start, Load load, uint32_t total[C][4])
{
    tap_sum sum[C][4];
#pragma unroll
    for (int c = 0; c < C; c++)
        for (int i = 0; i < 4; i++)
            sum[c][i] = no_taps<CLAMPS>(start(c, i));
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

#endif
