/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of an image, which its CTAs count tile by tile into totals in device memory, and the tables made from
 * them.
 *
 * CTAs count the bytes in memory or in the tile. If a table is still to be applied to these bytes, histograms take it
 * into account after counting, and lows, highs and lumas while counting. */
#ifndef MOT_TILE_STATS_CUH
#define MOT_TILE_STATS_CUH

#include "kernels/cuda/tile_state.cuh"
#include "kernels/stats.h"

/* Lows are counted as 255 - low, so that totals can begin at 0. */
#define MOT_TOTAL_HIGH 4

/* A thread's part of a range or a mean. Lows and highs: of bytes 0 and 2, and of bytes 1 and 3, in 16 bits each. */
struct counted {
    uint32_t low[2], high[2], luma;
};

DEVICE counted nothing_counted()
{
    return counted{ { 0x00FF00FFu, 0x00FF00FFu }, { 0, 0 }, 0 };
}

/* Counts the first `n` pixels of four, at least one. */
template <int FORMAT> DEVICE void count_pixels(counted &seen, const uint32_t px[4], int n, int needs, int channels)
{
    if (needs == MOT_NEEDS_RANGE) {
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const uint32_t v = (i < n ? px[i] : px[0]) >> (8 * k) & 0x00FF00FFu;
                seen.low[k] = __vminu2(seen.low[k], v);
                seen.high[k] = __vmaxu2(seen.high[k], v);
            }
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        seen.luma += i < n ? (uint8_t)luma_of<FORMAT>(px[i], channels) : 0;
}

/* Adds to the image's totals. */
DEVICE void add_counted(counted seen, int needs, uint32_t *totals)
{
    if (needs == MOT_NEEDS_MEAN) {
        const uint32_t luma = sum_of_warp(seen.luma); /* of a tile: far below 2^32 */
        if ((threadIdx.x & 31) == 0)
            atomicAdd((unsigned long long *)totals, (unsigned long long)luma);
        return;
    }
    for (int step = 16; step; step /= 2)
#pragma unroll
        for (int k = 0; k < 2; k++) {
            seen.low[k] = __vminu2(seen.low[k], __shfl_xor_sync(0xFFFFFFFFu, seen.low[k], step));
            seen.high[k] = __vmaxu2(seen.high[k], __shfl_xor_sync(0xFFFFFFFFu, seen.high[k], step));
        }
    const int c = threadIdx.x & 31;
    if (c < 3) {
        atomicMax(&totals[c], 255 - byte_of(seen.low[0] | seen.low[1] << 8, c));
        atomicMax(&totals[MOT_TOTAL_HIGH + c], byte_of(seen.high[0] | seen.high[1] << 8, c));
    }
}

DEVICE void zero_histogram(uint32_t *histogram, int words)
{
    for (int i = threadIdx.x; i < words / 4; i += MOT_TILE_THREADS)
        ((uint4 *)histogram)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
}

/* Counts byte `i` of a pixel. The counters of consecutive values are 4 x `copies` bytes apart. */
DEVICE void count_byte(uint32_t *histogram, uint32_t px, int i, uint32_t copies)
{
#if defined(__NVCC__) && defined(__CUDA_ARCH__)
    const uint32_t at = __dp4a(px, (4 * copies) << (8 * i), (uint32_t)__cvta_generic_to_shared(histogram));
    atomicAdd((uint32_t *)__cvta_shared_to_generic(at + 1024 * copies * i), 1u);
#else
    atomicAdd(&histogram[(256 * i + byte_of(px, i)) * copies], 1u);
#endif
}

/* The same for a histogram. */
template <int FORMAT>
DEVICE void count_values(uint32_t *histogram, const uint32_t px[4], int n, uint32_t copies, int channels)
{
    const int colors = colors_of<FORMAT>(channels);
    auto count = [&](uint32_t pixel) {
#pragma unroll
        for (int c = 0; c < 3; c++)
            if (c < colors)
                count_byte(histogram, pixel, c, copies);
    };
    count(px[0]);
    if (n == 4) {
#pragma unroll
        for (int i = 1; i < 4; i++)
            count(px[i]);
        return;
    }
#pragma unroll
    for (int i = 1; i < 3; i++)
        if (i < n)
            count(px[i]);
}

DEVICE void add_histogram(const uint32_t *histogram, int copies, uint32_t *totals)
{
    __syncthreads();
    for (int i = threadIdx.x; i < 3 * 256; i += MOT_TILE_THREADS) {
        uint32_t sum = 0;
#pragma unroll 4
        for (int k = 0; k < copies; k++)
            sum += histogram[i * copies + ((k + i) & (copies - 1))]; /* so that lanes read different banks */
        if (sum)
            atomicAdd(totals + i, sum);
    }
    __syncthreads();
}

/* Counts the tile's own pixels in shared memory. */
template <int FORMAT> OUTLINE void count_tile(int needs, uint32_t *totals)
{
    const tile_state &s = cta();
    const int left = s.x0 - s.tile_x, top = s.y0 - s.tile_y, pitch = s.image.pitch, columns = s.columns;
    const int quads = (columns + 3) >> 2, n = quads * s.rows, channels = s.image.channels;
    const uint32_t by_quads = inverse_of(quads);
    uint32_t *const histogram = spare_words();
    counted seen = nothing_counted();
    if (needs == MOT_NEEDS_HISTOGRAM)
        zero_histogram(histogram, 3 * 256);
    for (int q = threadIdx.x; q < n; q += MOT_TILE_THREADS) {
        const int row = divided(q, by_quads), k = q - row * quads, here = min(columns - 4 * k, 4);
        const uint4 v = *(const uint4 *)(tile_words() + (top + row) * pitch + left + 4 * k);
        const uint32_t px[4] = { v.x, v.y, v.z, v.w };
        if (needs == MOT_NEEDS_HISTOGRAM)
            count_values<FORMAT>(histogram, px, here, 1, channels);
        else
            count_pixels<FORMAT>(seen, px, here, needs, channels);
    }
    if (needs == MOT_NEEDS_HISTOGRAM)
        add_histogram(histogram, 1, totals);
    else
        add_counted(seen, needs, totals);
}

/* Counts the tile's own pixels in memory; the histogram's copies lie in the tile's place. READ: the format to read. */
template <int FORMAT, int READ> OUTLINE void count_memory(int needs, int before, uint32_t *totals)
{
    const tile_state &s = cta();
    const image_reader<READ> r = reader_of<READ>(s.current);
    const int columns = s.columns, quads = (columns + 3) >> 2, n = quads * s.rows, channels = s.image.channels;
    const int x0 = s.x0, y0 = s.y0, copies = 8;
    static_assert(3 * 256 * 8 <= MOT_TILE_WORDS, "as many copies");
    const uint32_t by_quads = inverse_of(quads);
    const bool even = has_even_rows<READ>(r);
    uint32_t *const histogram = tile_words();
    counted seen = nothing_counted();
    if (needs == MOT_NEEDS_HISTOGRAM)
        zero_histogram(histogram, 3 * 256 * copies);
    auto count = [&](uint32_t px[4], int here) {
        if (needs == MOT_NEEDS_HISTOGRAM) {
            count_values<FORMAT>(histogram + (threadIdx.x & (copies - 1)), px, here, copies, channels);
        } else {
            if (before != MOT_NONE)
                apply_table<FORMAT>(table_of(before), channels, px);
            count_pixels<FORMAT>(seen, px, here, needs, channels);
        }
    };
    unsigned unread = ~0u; /* quads to be read byte by byte, one bit for each turn of a thread */
    static_assert(MOT_PIECE_MOST <= 32 * MOT_TILE_THREADS, "as many turns as bits");
    if constexpr (READ != MOT_FORMAT_STRIDED) {
        unread = 0;
#pragma unroll 1
        for (int q = threadIdx.x; q < n; q += MOT_TILE_QUADS * MOT_TILE_THREADS) {
            uint32_t w[MOT_TILE_QUADS][4];
            int here[MOT_TILE_QUADS];
#pragma unroll
            for (int k = 0; k < MOT_TILE_QUADS; k++) {
                const int own = min(q + k * MOT_TILE_THREADS, n - 1), row = divided(own, by_quads);
                const int column = 4 * (own - row * quads);
                bool whole = true;
                if (even)
                    read_even_words<READ>(r, x0 + column, y0 + row, w[k]);
                else
                    whole = read_four_words<READ>(r, x0 + column, y0 + row, w[k]);
                here[k] = q + k * MOT_TILE_THREADS < n ? min(columns - column, 4) : 0;
                if (!whole && here[k]) {
                    unread |= 1u << ((own - (int)threadIdx.x) / MOT_TILE_THREADS);
                    here[k] = 0;
                }
            }
#pragma unroll
            for (int k = 0; k < MOT_TILE_QUADS; k++) {
                uint32_t px[4];
                unpack_words<READ>(w[k], px);
                if (here[k])
                    count(px, here[k]);
            }
        }
    }
    for (int q = threadIdx.x; unread && q < n; q += MOT_TILE_THREADS, unread >>= READ != MOT_FORMAT_STRIDED) {
        const int row = divided(q, by_quads), k = q - row * quads, here = min(columns - 4 * k, 4);
        uint32_t px[4];
        if (!(unread & 1))
            continue;
        read_four_slowly<READ>(r, x0 + 4 * k, y0 + row, here, px);
        count(px, here);
    }
    __syncthreads();
    if (needs == MOT_NEEDS_HISTOGRAM)
        add_histogram(histogram, copies, totals);
    else
        add_counted(seen, needs, totals);
}

DEVICE uint32_t load_total(const uint32_t *total)
{
#if defined(__NVCC__) && defined(__CUDA_ARCH__)
    return __ldcg(total);
#else
    return *total;
#endif
}

/* A channel's counts, eight a lane, as the statistics that ops ask for; `counts` becomes how many values are lower than
 * each. */
DEVICE void finish_histogram(uint32_t *counts, uint32_t pixels, mot_stats *stats)
{
    const int lane = threadIdx.x & 31;
    uint32_t v[8], own = 0, low = 256, high = 0, last = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        v[i] = counts[8 * lane + i];
        own += v[i];
        if (v[i]) {
            low = min((int)low, 8 * lane + i);
            high = 8 * lane + i;
            last = v[i];
        }
    }
    uint32_t below = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_sync(0xFFFFFFFFu, below, max(lane - step, 0));
        below += lane >= step ? other : 0;
    }
    below -= own;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        counts[8 * lane + i] = below;
        below += v[i];
    }
    const unsigned filled = __ballot_sync(0xFFFFFFFFu, own != 0);
    const int top = filled ? 31 - __clz(filled) : 0, bottom = filled ? __ffs(filled) - 1 : 0;
    low = __shfl_sync(0xFFFFFFFFu, low, bottom);
    high = __shfl_sync(0xFFFFFFFFu, high, top);
    last = __shfl_sync(0xFFFFFFFFu, last, top);
    if (lane == 0)
        *stats = mot_stats{ pixels, low, high, last, 0, counts };
}

/* Runs TABLE after the whole image was counted: makes a table of another one, if any, then a step, then a third table,
 * if any. */
template <int FORMAT> OUTLINE void make_table(const mot_program_op &what, const uint32_t *totals)
{
    tile_state &s = cta();
    const int made = what.a, step = what.b, before = what.c, after = what.d;
    const int op = s.program.id[step], needs = needs_of(op), colors = colors_of<FORMAT>(s.image.channels);
    const uint32_t pixels = (uint32_t)s.image.width * (uint32_t)s.image.height;
    uint32_t *const counts = spare_words();
    const uint8_t(*const in)[256] = before == MOT_NONE ? nullptr : table_of(before);
    if (needs != MOT_NEEDS_HISTOGRAM) {
        if (threadIdx.x < 3) {
            const int c = threadIdx.x;
            const uint64_t luma = load_total(totals) | (uint64_t)load_total(totals + 1) << 32;
            const uint32_t mean = needs == MOT_NEEDS_MEAN ? mot_stats_mean(luma, pixels) : 0;
            s.stats[c] = mot_stats{
                pixels, 255 - (load_total(totals + c) & 0xFF), load_total(totals + MOT_TOTAL_HIGH + c), 0, mean, nullptr
            };
        }
    } else {
        uint32_t count[3];
#pragma unroll
        for (int c = 0; c < 3; c++)
            count[c] = load_total(totals + 256 * c + threadIdx.x);
        if (in)
            zero_histogram(counts, 3 * 256);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            if (!in)
                counts[256 * c + threadIdx.x] = count[c];
            else if (count[c])
                atomicAdd(&counts[256 * c + in[c][threadIdx.x]], count[c]);
        }
        __syncthreads();
        if (threadIdx.x / 32 < 3)
            finish_histogram(counts + threadIdx.x / 32 * 256, pixels, &s.stats[threadIdx.x / 32]);
    }
    static_assert(MOT_TILE_THREADS == 256, "a value for each thread");
    __syncthreads();
    const mot_arg *const arg = &s.program.arg[step];
#pragma unroll 1
    for (int c = 0; c < colors; c++) {
        const uint8_t v = in ? in[c][threadIdx.x] : (uint8_t)threadIdx.x;
        const uint8_t out = mot_stats_value(op, v, &s.stats[c], arg);
        s.table[made][c][threadIdx.x] = after == MOT_NONE ? out : s.table[after][c][out];
    }
    __syncthreads();
}

#endif
