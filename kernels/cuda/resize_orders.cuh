/* SPDX-License-Identifier: Apache-2.0 */
/* The two orders of the passes: columns first, through a ring of rows in shared memory, or rows first. */
#ifndef MOT_RESIZE_ORDERS_CUH
#define MOT_RESIZE_ORDERS_CUH

#include "kernels/cuda/resize_output.cuh"
#include "kernels/cuda/resize_passes.cuh"

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

/* The next four taps of four columns. `low`: the unit of the ring before the one at address `at`; `skip`: the bits of
 * it that come before the taps. */
template <int C> DEVICE void next_taps(uint32_t at, uint32_t skip, uint4 low[C], uint32_t column[C][4])
{
#pragma unroll
    for (int c = 0; c < C; c++) {
        const uint4 high = load_shared_four_words(at + c * RING_UNIT);
        column[c][0] = __funnelshift_r(low[c].x, high.x, skip);
        column[c][1] = __funnelshift_r(low[c].y, high.y, skip);
        column[c][2] = __funnelshift_r(low[c].z, high.z, skip);
        column[c][3] = __funnelshift_r(low[c].w, high.w, skip);
        low[c] = high;
    }
}

/* The vertical pass of `rows` rows of the tile, from the `done`-th on, by all threads: each makes four columns. Beside
 * a row's taps, in place of `outside`, stands where its window begins in the ring: how many bits of four rows to skip,
 * and the units that hold it, a byte each. STORE: how they are written; STORE_ANY: as the description says. */
template <int C, bool CLAMPS, int GROUPS, int STORE, class Fill>
DEVICE void resize_rows(const mot_resize_job &job, const resize_tile &t, Fill fill, uint32_t ring, int units, int done,
                        int rows)
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
        const uint32_t place = staged_taps(staged, 0, row).outside;
        uint32_t at = own + __byte_perm(place, 0, 0x4441) * (C * RING_UNIT);
        uint4 low[C];
#pragma unroll
        for (int c = 0; c < C; c++)
            low[c] = load_shared_four_words(at + c * RING_UNIT);
        uint32_t total[C][4], bytes[C];
        int next = 0x4442;
        const uint32_t outside = fill.outside(t.rows.taps + t.y0 + row);
        resize_row<C, CLAMPS, GROUPS>(
            t, staged, row, [&](int c, int) { return fill.start(c, outside); },
            [&](uint32_t column[C][4]) {
                if (GROUPS) {
                    at = own + __byte_perm(place, 0, next++) * (C * RING_UNIT);
                } else {
                    at += C * RING_UNIT;
                    at -= at >= own + ring_bytes ? ring_bytes : 0;
                }
                next_taps<C>(at, place, low, column);
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

template <int C, bool CLAMPS, int STORE, class Fill>
DEVICE void resize_rows_of(const mot_resize_job &job, const resize_tile &t, Fill fill, uint32_t ring, int units,
                           int done, int rows)
{
    if (Fill::any)
        resize_rows<C, CLAMPS, 0, STORE>(job, t, fill, ring, units, done, rows);
    else if (t.axes.groups[1] == 1)
        resize_rows<C, CLAMPS, 1, STORE>(job, t, fill, ring, units, done, rows);
    else if (t.axes.groups[1] == 2)
        resize_rows<C, CLAMPS, 2, STORE>(job, t, fill, ring, units, done, rows);
    else
        resize_rows<C, CLAMPS, 0, STORE>(job, t, fill, ring, units, done, rows);
}

/* What this thread prefetches of the four rows from `rows` on: a warp's lanes have eight places in each row. */
template <int C> DEVICE const uint8_t *point_of(const resize_tile &t, int first_column, const uint8_t *rows)
{
    const int a = __shfl_sync(~0u, first_column, 0), b = __shfl_sync(~0u, first_column, 31), lane = threadIdx.x % 32;
    const int bytes = ((a < b ? b - a : a - b) + 4 * t.axes.groups[0]) * C;
    return rows + lane / 8 * t.src.row + min(a, b) * C + min(lane % 8 * max(32, bytes / 8), bytes - 1);
}

/* The horizontal pass of units `ready` to `until`; the first goes to the ring's place `slot`. */
template <int C, bool CLAMPS, int GROUPS, class Fill>
DEVICE void fill_ring(const mot_resize_job &job, const resize_tile &t, Fill fill, uint32_t ring, int units, int ready,
                      int until, int slot)
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
    resize_column<C, CLAMPS, GROUPS>(t, fill, x, base + (int64_t)(4 * first) * row_bytes, row_bytes, until - first,
                                     lanes, 4 * lanes * row_bytes, from_source{ point }, put);
}

/* The same for one unit that may hold the image's last row. A separate function, because calls within fill_ring's loop
 * would make the compiler spill its registers. */
template <int C, bool CLAMPS, class Fill>
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
    const mot_cuda_taps *const table = t.columns.taps + x;
    const Fill fill = Fill::of(t);
    resize_unit<C, CLAMPS, 0>(t, fill, fill.outside(table), table, NULL, rows, 0, from_last_row{ end_of(t.src) }, made);
    for (int c = 0; c < C; c++)
        store_shared_word(ring + slot * C * RING_UNIT + c * RING_UNIT + 4 * self.column, made[c]);
}

template <int C, bool CLAMPS, class Fill>
DEVICE void columns_first(const mot_resize_job &job, const resize_tile &t, Fill fill)
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
            resize_taps[0][row].outside = (uint32_t)((from & 3) << 3 | slot << 8 | second << 16) | (uint32_t)third
                                                                                                       << 24;
        }
        const int whole = min(until, t.last_row / 4); /* units without the image's last row */
        switch (Fill::any ? 0 : t.axes.groups[0]) {
        case 1:
            fill_ring<C, CLAMPS, 1>(job, t, fill, ring, units, ready, whole, ready_slot);
            break;
        case 2:
            fill_ring<C, CLAMPS, 2>(job, t, fill, ring, units, ready, whole, ready_slot);
            break;
        case 3:
            fill_ring<C, CLAMPS, 3>(job, t, fill, ring, units, ready, whole, ready_slot);
            break;
        case 4:
            fill_ring<C, CLAMPS, 4>(job, t, fill, ring, units, ready, whole, ready_slot);
            break;
        default:
            fill_ring<C, CLAMPS, 0>(job, t, fill, ring, units, ready, whole, ready_slot);
            break;
        }
        for (int unit = max(ready, whole); unit < until; unit++) {
            const int slot = ready_slot + unit - ready;
            fill_last<C, CLAMPS, Fill>(job, t, ring, unit, slot - (slot >= units ? units : 0));
        }
        ready_slot += until - ready;
        ready_slot -= ready_slot >= units ? units : 0;
        ready = until;
        __syncthreads();
        constexpr bool any = CLAMPS || Fill::any;
        const int store = any || t.width % 4 != 0 ? STORE_ANY : t.store;
        if (store == STORE_F16)
            resize_rows_of<C, CLAMPS, any ? STORE_ANY : STORE_F16>(job, t, fill, ring, units, done, rows);
        else if (store == STORE_BF16)
            resize_rows_of<C, CLAMPS, any ? STORE_ANY : STORE_BF16>(job, t, fill, ring, units, done, rows);
        else
            resize_rows_of<C, CLAMPS, STORE_ANY>(job, t, fill, ring, units, done, rows);
        __syncthreads();
        done += rows;
    }
}

#define SOURCE_WORDS 4 /* that a thread makes together */

/* Four words of the tile's row `row` after the vertical pass, from byte `at` of the crop's rows on. */
template <int C, bool CLAMPS, int GROUPS, class Fill, class Load>
DEVICE uint4 resize_source_row(const resize_tile &t, Fill fill, uint32_t staged, int row, int at, Load load)
{
    const uint32_t pitch = (uint32_t)t.src.row;
    uint32_t from = resize_first[row] * pitch + at, total[SOURCE_WORDS][4];
    const uint32_t outside = fill.outside(t.rows.taps + t.y0 + row);
    resize_row<SOURCE_WORDS, CLAMPS, GROUPS>(
        t, staged, row, [&](int word, int i) { return fill.start(Fill::any ? (at + 4 * word + i) % C : 0, outside); },
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
template <int C, bool CLAMPS, int GROUPS, bool LAST, class Fill, class Load>
DEVICE void resize_source(const resize_tile &t, Fill fill, int row, int rows, int at, int runs, int whole,
                          uint8_t *made, Load load)
{
    const uint32_t staged = taps_address();
    const int rows_on = (int)blockDim.x / runs, runs_on = (int)blockDim.x % runs;
    int j = (int)threadIdx.x / runs, k = (int)threadIdx.x % runs;
#pragma unroll 1
    while (j < rows) {
        if ((resize_first[row + j] > whole) == LAST)
            ((uint4 *)made)[j * runs + k] =
                resize_source_row<C, CLAMPS, GROUPS>(t, fill, staged, row + j, at + 4 * SOURCE_WORDS * k, load);
        j += rows_on, k += runs_on;
        if (k >= runs)
            j++, k -= runs;
    }
}

/* Separate for the same reason as fill_last. */
template <int C, bool CLAMPS, class Fill>
static __device__ __noinline__ void resize_source_end(const resize_tile &t, int row, int rows, int at, int runs,
                                                      int whole, uint8_t *made)
{
    resize_source<C, CLAMPS, 0, true>(t, Fill::of(t), row, rows, at, runs, whole, made, from_last_row{ end_of(t.src) });
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
template <int C, bool CLAMPS, int GROUPS, class Fill>
DEVICE void resize_between(const resize_tile &t, Fill fill, const mot_cuda_taps &own, const mot_cuda_taps *table,
                           uint32_t at, uint32_t pitch, uint32_t made[C])
{
    const uint32_t skip = at << 3;
    at &= ~3u;
    four_rows<C, CLAMPS> sums(fill, own.outside);
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

template <int C, bool CLAMPS, class Fill>
DEVICE void rows_first(const mot_resize_job &job, const resize_tile &t, Fill fill, uint8_t *between)
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
        if (t.axes.groups[1] == 1 && !Fill::any)
            resize_source<C, CLAMPS, 1, false>(t, fill, done, rows, at, runs, whole, between, from_source());
        else
            resize_source<C, CLAMPS, 0, false>(t, fill, done, rows, at, runs, whole, between, from_source());
        if (max(resize_first[done], resize_first[done + rows - 1]) > whole)
            resize_source_end<C, CLAMPS, Fill>(t, done, rows, at, runs, whole, between);
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
            if (t.axes.groups[0] == 1 && !Fill::any)
                resize_between<C, CLAMPS, 1>(t, fill, own, NULL, from, row_bytes, made);
            else
                resize_between<C, CLAMPS, 0>(t, fill, own, table, from, row_bytes, made);
            for (int c = 0; c < C; c++)
                made[c] = transpose_among_four(made[c]);
            if (row + thread_again() % 4 < rows && quad < t.width)
                store_four<C>(job, t, w, p, t.width - quad, made);
        }
    }
}

#endif
