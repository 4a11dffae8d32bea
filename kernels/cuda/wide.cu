/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for images of U16 and F32: their statistics, and their passes. CTAs take tasks from the lists that the plans
 * have made, so that a launch with little to do is short, and the work of a costly image is shared. */
#include "kernels/cuda/breaks_pixels.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/stats.cuh"
#include "kernels/cuda/wide_look.cuh"
#include "kernels/cuda/wide_plan.cuh"

#define MOT_WIDE_RUN_CTAS 3 /* of a multiprocessor */
#define MOT_WIDE_COUNT_CTAS 3

/* A CTA's shared memory: its task and what it has taken, and room for resizes or histograms. */
struct wide_shared {
    wide_task task;
    uint32_t taken;
    int last;
};

/* Takes the next task of a launch; false: there is none. */
DEVICE bool wide_next(const mot_wide_call &call, int runs, wide_shared &cta)
{
    uint32_t *const tasks = call.tasks + 4 * call.now + 2 * runs;
    __syncthreads();
    if (threadIdx.x == 0) {
        cta.taken = atomicAdd(&tasks[1], 1u);
        if (cta.taken < tasks[0])
            wide_begin(call, runs, cta.taken, cta.task);
    }
    __syncthreads();
    return cta.taken < tasks[0];
}

/* ---- passes ---- */

template <int B, int N, bool WHOLE> DEVICE void wide_run(const mot_wide_call &call, const wide_task &t, wide_room &room)
{
    wide_spot<N> spot;
    wide_memory<N> from, to;
    int first, end;
    wide_find<N>(t, wide_block<N>(call, t, &first, &end), t.of.end, room, spot);
    wide_aim<N>(t, t.from, t.from_dtype, spot, from);
    wide_aim<N>(t, t.to, t.to_dtype, spot, to);
    MOT_ROLLED
    for (int c = first; c < end; c += B) {
        float at[B][N];
        wide_take<B, N, WHOLE>(t, spot, from, c, room, at);
        wide_make<B, N, WHOLE>(call, t, spot, t.of.end, c, room, at);
#pragma unroll
        for (int g = 0; g < B; g++)
            wide_end<N>(call, t, spot, to, c + g, at[g]);
    }
}

template <int B, bool WHOLE>
static __global__ void __launch_bounds__(MOT_WIDE_THREADS, MOT_WIDE_RUN_CTAS)
    wide_run_kernel(const __grid_constant__ mot_wide_call call)
{
    __shared__ wide_shared cta;
    __shared__ wide_room room;
    while (wide_next(call, 1, cta))
        if (cta.task.source)
            wide_look<WHOLE>(call, cta.task, room);
        else
            wide_run<B, B == 3 ? 4 : 8, WHOLE>(call, cta.task, room);
}

/* ---- statistics ---- */

/* A number that is the larger the higher v is, and not 0. */
DEVICE uint32_t wide_key(float v)
{
    const uint32_t bits = __float_as_uint(v);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

DEVICE float wide_of_key(uint32_t key)
{
    return __uint_as_float(key >> 31 ? key & 0x7FFFFFFFu : ~key);
}

/* What a thread has seen of B bands; the luma counts as the first one. */
template <int B> struct wide_seen {
    uint32_t lowest[B], highest[B], count[B];
    int64_t sum[B];
};

/* The histograms of a CTA, and then those of its warps when they end an image's statistics. */
#define MOT_WIDE_HISTOGRAMS 16

/* mot_wide_quantum, by adding a large number instead of converting. by: 2^24 over the range's span. */
DEVICE int64_t wide_quantum(const mot_range &range, double by, float v)
{
    const double at = ((double)v - range.low) * by;
    if (range.whole || !(fabs(at) < 2147483647.0))
        return mot_wide_quantum(&range, v);
#ifdef MOT_ON_DEVICE
    return __double2loint(at + 6755399441055744.0); /* 3 x 2^51 */
#else
    return (int32_t)rint(at);
#endif
}

template <int B, int N, bool WHOLE>
DEVICE void wide_see(const mot_wide_call &call, const wide_task &t, const wide_spot<N> &spot, int needs, int c,
                     const float at[B][N], wide_seen<B> &seen, uint32_t (*histogram)[256])
{
    const int copy = (int)threadIdx.x % (MOT_WIDE_HISTOGRAMS / B);
    float luma[N];
    wide_luma<B, N, WHOLE>(call, at, luma);
#pragma unroll
    for (int g = 0; g < B; g++) {
        const bool of_luma = B == 3 && needs == MOT_NEEDS_MEAN;
        if (of_luma && g > 0)
            continue;
        mot_range range = of_luma ? mot_wide_luma_range(call.range) : call.range[c + g];
        range.whole = WHOLE;
        const double by = 0x1p24 / range.span;
#pragma unroll
        for (int k = 0; k < N; k++) {
            const float v = of_luma ? luma[k] : at[g][k];
            if (!(spot.there >> k & 1) || v != v)
                continue;
            if (needs == MOT_NEEDS_MEAN) {
                seen.sum[g] += wide_quantum(range, by, v);
                seen.count[g]++;
            } else if (needs == MOT_NEEDS_HISTOGRAM) {
                atomicAdd(&histogram[copy * B + g][(int)mot_range_bin(&range, v)], 1u);
            } else {
                const uint32_t high = wide_key(v), low = ~high;
                seen.highest[g] = high > seen.highest[g] ? high : seen.highest[g];
                seen.lowest[g] = low > seen.lowest[g] ? low : seen.lowest[g];
            }
        }
    }
}

/* Adds what a CTA has seen to the totals of its bands. */
template <int B>
DEVICE void wide_add_seen(mot_wide_total *totals, int needs, wide_seen<B> seen, uint32_t (*histogram)[256])
{
    if (needs == MOT_NEEDS_HISTOGRAM) {
        __syncthreads();
        for (int g = 0; g < B; g++) {
            uint32_t sum = 0;
            for (int copy = 0; copy < MOT_WIDE_HISTOGRAMS / B; copy++) {
                sum += histogram[copy * B + g][threadIdx.x];
                histogram[copy * B + g][threadIdx.x] = 0;
            }
            if (sum)
                atomicAdd(&totals[g].histogram[threadIdx.x], sum);
        }
        __syncthreads();
        return;
    }
    const bool adds = threadIdx.x % 32 == 0;
#pragma unroll
    for (int g = 0; g < B; g++) {
        if (needs == MOT_NEEDS_MEAN) {
            for (int step = 16; step; step /= 2)
                seen.sum[g] += __shfl_xor_sync(0xFFFFFFFFu, seen.sum[g], step);
            const uint32_t count = sum_of_warp(seen.count[g]);
            if (adds && count) {
                atomicAdd((unsigned long long *)&totals[g].sum, (unsigned long long)seen.sum[g]);
                atomicAdd(&totals[g].count, count);
            }
            continue;
        }
        const uint32_t lowest = wide_largest(seen.lowest[g]), highest = wide_largest(seen.highest[g]);
        if (adds && highest) {
            atomicMax(&totals[g].lowest, lowest);
            atomicMax(&totals[g].highest, highest);
        }
    }
}

template <int B, int N, bool WHOLE>
DEVICE void wide_count(const mot_wide_call &call, const wide_task &t, int needs, wide_room &room,
                       uint32_t (*histogram)[256])
{
    const uint32_t blocks = (uint32_t)mot_wide_blocks(N, t.of.width, t.of.height, t.quads),
                   each = (uint32_t)mot_wide_counted_blocks(call.channels), shares = (blocks + each - 1) / each,
                   group = t.task / shares, first = (t.task - group * shares) * each;
    const int c = (int)group * B;
    wide_seen<B> seen = {};
    MOT_ROLLED
    for (uint32_t block = first; block < first + each && block < blocks; block++) {
        wide_spot<N> spot;
        wide_memory<N> from;
        float at[B][N];
        wide_find<N>(t, block, t.of.counted, room, spot);
        wide_aim<N>(t, t.from, t.from_dtype, spot, from);
        wide_take<B, N, WHOLE>(t, spot, from, c, room, at);
        wide_make<B, N, WHOLE>(call, t, spot, t.of.counted, c, room, at);
        wide_see<B, N, WHOLE>(call, t, spot, needs, c, at, seen, histogram);
    }
    wide_add_seen<B>(call.totals + (int64_t)t.image * call.channels + c, needs, seen, histogram);
}

/* Makes a band's statistics of its total; for a warp. */
DEVICE void wide_finish(const mot_wide_call &call, const mot_wide_item &item, int needs, const mot_wide_total *totals,
                        int c, mot_wide_stats *made, uint32_t *counts, mot_stats *bytes)
{
    const int lane = threadIdx.x % 32;
    const mot_range range = call.range[c];
    if (needs != MOT_NEEDS_HISTOGRAM) {
        const bool luma = call.channels == 3 && needs == MOT_NEEDS_MEAN;
        const mot_wide_total &of = totals[luma ? 0 : c];
        const mot_range counted = luma ? mot_wide_luma_range(call.range) : range;
        const uint32_t lowest = __ldcg(&of.lowest), highest = __ldcg(&of.highest);
        if (lane == 0) {
            made->lo = highest ? wide_of_key(~lowest) : INFINITY;
            made->hi = highest ? wide_of_key(highest) : -INFINITY;
            made->mean = mot_wide_mean(&counted, (int64_t)__ldcg(&of.sum), __ldcg(&of.count));
        }
        return;
    }
    uint32_t n = 0;
    for (int bin = lane; bin < 256; bin += 32) {
        counts[bin] = __ldcg(&totals[c].histogram[bin]);
        n += counts[bin];
    }
    n = sum_of_warp(n);
    __syncwarp();
    finish_histogram(counts, n, bytes);
    __syncwarp();
    for (int bin = lane; bin < 256; bin += 32)
        made->by_bin[bin] =
            mot_range_of_bin(&range, mot_stats_value(item.step.op, (uint8_t)bin, bytes, &item.step.arg));
    __syncwarp();
}

/* Counts for the item of the pass that needs it; the last CTA of an image makes its statistics. */
template <int B, bool WHOLE>
static __global__ void __launch_bounds__(MOT_WIDE_THREADS, MOT_WIDE_COUNT_CTAS)
    wide_count_kernel(const __grid_constant__ mot_wide_call call)
{
    __shared__ wide_shared cta;
    __shared__ uint32_t histogram[MOT_WIDE_HISTOGRAMS][256];
    __shared__ wide_room room;
    __shared__ mot_stats bytes[MOT_WIDE_THREADS / 32];
    const int warp = threadIdx.x / 32;
    if (blockIdx.x >= call.tasks[4 * call.now])
        return;
    for (int k = 0; k < MOT_WIDE_HISTOGRAMS; k++)
        histogram[k][threadIdx.x] = 0;
    while (wide_next(call, 0, cta)) {
        const wide_task &t = cta.task;
        const mot_wide_item &item = t.items[t.of.counted];
        const int needs = mot_wide_needs(item.step.op);
        wide_count<B, B == 3 ? 4 : 8, WHOLE>(call, t, needs, room, histogram);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            cta.last = atomicAdd(&call.tickets[t.image], 1) == (int)t.of.tasks[0] - 1;
            __threadfence();
        }
        __syncthreads();
        if (!cta.last)
            continue;
        mot_wide_total *const totals = call.totals + (int64_t)t.image * call.channels;
        for (int c = warp; c < call.channels; c += MOT_WIDE_THREADS / 32)
            wide_finish(call, item, needs, totals, c, &call.stats[(int64_t)t.image * call.channels + c],
                        histogram[warp], &bytes[warp]);
        __syncthreads();
        const int64_t words = (int64_t)call.channels * (int64_t)(sizeof *totals / 4);
        for (int64_t k = threadIdx.x; k < words; k += MOT_WIDE_THREADS)
            ((uint32_t *)totals)[k] = 0;
        for (int k = 0; k < MOT_WIDE_THREADS / 32; k++)
            histogram[k][threadIdx.x] = 0;
        if (threadIdx.x == 0)
            call.tickets[t.image] = 0;
    }
}

static_assert(MOT_WIDE_THREADS == 256, "a thread for each bin");

/* ---- launches ---- */

static_assert(sizeof(mot_wide_call) <= 4096, "a kernel's arguments are at most 4 KiB");

cudaError_t mot_wide_plan_launch(const mot_wide_call *call, cudaStream_t stream)
{
    return mot_launch((const void *)wide_plan_kernel, call->count, MOT_WIDE_PLAN_THREADS, 0, 0, stream, *call);
}

/* As many CTAs as there may be tasks, or as run at once. */
static cudaError_t wide_launch(const mot_wide_call &call, const void *kernel, int ctas, cudaStream_t stream)
{
    const int64_t most = call.most_tasks * call.count, once = (int64_t)call.multiprocessors * ctas;
    return mot_launch(kernel, most < once ? most : once, MOT_WIDE_THREADS, 0, 0, stream, call);
}

cudaError_t mot_wide_count_launch(const mot_wide_call *call, cudaStream_t stream)
{
    const bool whole = call->src_dtype == MOTLEY_U16, colors = call->channels == 3;
    return wide_launch(*call,
                       whole    ? colors ? (const void *)wide_count_kernel<3, true>
                                         : (const void *)wide_count_kernel<1, true>
                          : colors ? (const void *)wide_count_kernel<3, false>
                                : (const void *)wide_count_kernel<1, false>,
                       MOT_WIDE_COUNT_CTAS, stream);
}

cudaError_t mot_wide_run_launch(const mot_wide_call *call, cudaStream_t stream)
{
    const bool whole = call->src_dtype == MOTLEY_U16, colors = call->channels == 3;
    return wide_launch(*call,
                       whole ? colors ? (const void *)wide_run_kernel<3, true> : (const void *)wide_run_kernel<1, true>
                       : colors ? (const void *)wide_run_kernel<3, false>
                                : (const void *)wide_run_kernel<1, false>,
                       MOT_WIDE_RUN_CTAS, stream);
}
