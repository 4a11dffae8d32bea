/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of pixels: each thread counts its own, and then adds them to totals in shared or device memory. */
#ifndef MOT_STATS_CUH
#define MOT_STATS_CUH

#include "kernels/cuda/chain.cuh"
#include "kernels/stats.h"

/* Lows are counted as 255 - low, so that totals can begin at 0. */
#define MOT_TOTAL_HIGH 4

/* A thread's part of a range or a mean. Lows and highs: of bytes 0 and 2 in 16 bits each, and of byte 1 in the second
 * one's lower 16, with any byte below it. */
struct counted {
    uint32_t low[2], high[2], luma;
};

DEVICE counted nothing_counted()
{
    return counted{ { 0x00FF00FFu, 0xFFFFFFFFu }, { 0, 0 }, 0 };
}

/* Counts COUNT pixels. */
template <int FORMAT, int COUNT>
DEVICE void count_pixels(counted &seen, const uint32_t px[COUNT], int needs, int channels)
{
    if (needs == MOT_NEEDS_RANGE) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const uint32_t even = px[i] & 0x00FF00FFu, odd = px[i]; /* the lower of two bytes does not decide */
            seen.low[0] = __vminu2(seen.low[0], even);
            seen.high[0] = __vmaxu2(seen.high[0], even);
            seen.low[1] = __vminu2(seen.low[1], odd);
            seen.high[1] = __vmaxu2(seen.high[1], odd);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        seen.luma = add_byte(seen.luma, luma_of<FORMAT>(px[i], channels));
}

/* Adds to an image's totals: its lows and highs, or its luma in the first two words. */
DEVICE void add_counted(counted seen, int needs, uint32_t *totals)
{
    if (needs == MOT_NEEDS_MEAN) {
        const uint32_t luma = sum_of_warp(seen.luma); /* of what shared memory holds: far below 2^32 */
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
        const int odd = c & 1;
        atomicMax(&totals[c], 255 - byte_of(odd ? seen.low[1] : seen.low[0], c));
        atomicMax(&totals[MOT_TOTAL_HIGH + c], byte_of(odd ? seen.high[1] : seen.high[0], c));
    }
}

/* Counts COUNT pixels in a histogram. */
template <int FORMAT, int COUNT>
DEVICE void count_values(uint32_t *histogram, const uint32_t px[COUNT], uint32_t copies, int channels)
{
    const int colors = colors_of<FORMAT>(channels);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
#pragma unroll
        for (int c = 0; c < 3; c++)
            if (c < colors)
                count_byte(histogram, px[i], c, copies);
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

#endif
