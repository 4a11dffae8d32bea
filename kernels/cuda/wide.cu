/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for images of U16 and F32: their statistics, and their passes. CTAs take tasks from the lists that the plans
 * have made, so that a launch with little to do is short, and the work of a costly image is shared. */
#include "kernels/cuda/breaks_pixels.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/stats.cuh"
#include "kernels/cuda/wide_look.cuh"
#include "kernels/cuda/wide_plan.cuh"

#define MOT_WIDE_RUN_CTAS 3 /* of a multiprocessor */
#define MOT_WIDE_LOOK_CTAS 3
#define MOT_WIDE_RESIZE_CTAS 2 /* which leaves threads the registers that they need */
#define MOT_WIDE_COUNT_CTAS 3

/* ---- passes ---- */

/* A task without an item that looks at other pixels; `next` is taken meanwhile. */
template <int B, int N, bool WHOLE>
DEVICE void wide_run(const mot_wide_call &call, const wide_task &t, wide_task &next, wide_room &room)
{
    const bool by_band = B == 1 && t.by_band;
    const int step = by_band ? MOT_WIDE_SIDE_BY_SIDE : B, own = by_band ? (int)threadIdx.x / 32 : 0;
    wide_places &place = room.place;
    wide_spot<N> spot;
    wide_memory<N> from, to;
    uint32_t bits[B][N];
    int first, end;
    const uint32_t block = wide_block<N>(call, t, &first, &end);
    if (by_band)
        wide_find_shared<N>(t, block, room, spot);
    else {
        wide_find<N>(t, block, spot);
        wide_find_sources<N>(t, t.of.end, place, spot);
    }
    wide_aim<N>(t, t.from, t.from_dtype, spot, from);
    wide_aim<N>(t, t.to, t.to_dtype, spot, to);
    wide_fetch<B, N, WHOLE>(t, spot, from, min(first + own, end - B), place, bits);
    wide_next(call, MOT_WIDE_RUN, next);
    MOT_ROLLED
    for (int c = first; c < end; c += step) {
        float at[B][N];
        wide_take<B, N, WHOLE>(t.quads, bits, at);
        if (c + step < end)
            wide_fetch<B, N, WHOLE>(t, spot, from, min(c + step + own, end - B), place, bits);
        wide_make<B, N, WHOLE>(call, t, spot, t.of.end, min(c + own, end - B), place, at);
#pragma unroll
        for (int g = 0; g < B; g++)
            wide_end<N, WHOLE, B == 1>(call, t, spot, to, c + g, at[g], by_band ? room.stage : nullptr);
    }
}

template <int B, bool WHOLE>
static __global__ void __launch_bounds__(MOT_WIDE_THREADS, MOT_WIDE_RUN_CTAS)
    wide_run_kernel(const __grid_constant__ mot_wide_call call)
{
    __shared__ wide_task task[2];
    __shared__ wide_room room;
    wide_next(call, MOT_WIDE_RUN, task[0]);
    MOT_ROLLED
    for (int now = 0;; now ^= 1) {
        __syncthreads(); /* the task is there, and all are done with the one before */
        if (task[now].image < 0)
            break;
        wide_run<B, B == 3 ? 4 : 8, WHOLE>(call, task[now], task[now ^ 1], room);
    }
}

/* A kernel of passes that look at other pixels. */
#define MOT_WIDE_LOOKS(name, LAUNCH, CTAS, Room) \
    template <bool WHOLE> \
    static __global__ void __launch_bounds__(MOT_WIDE_THREADS, CTAS) \
        name##_kernel(const __grid_constant__ mot_wide_call call) \
    { \
        __shared__ wide_task task[2]; \
        __shared__ Room room; \
        wide_next(call, LAUNCH, task[0]); \
        MOT_ROLLED \
        for (int now = 0;; now ^= 1) { \
            __syncthreads(); \
            if (task[now].image < 0) \
                break; \
            wide_next(call, LAUNCH, task[now ^ 1]); \
            name<WHOLE>(call, task[now], room); \
        } \
    }

MOT_WIDE_LOOKS(wide_look, MOT_WIDE_LOOK, MOT_WIDE_LOOK_CTAS, wide_look_room)
MOT_WIDE_LOOKS(wide_resize, MOT_WIDE_RESIZE, MOT_WIDE_RESIZE_CTAS, wide_resize_room)

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
DEVICE void wide_see(const mot_wide_call &call, uint32_t there, int needs, int c, const float at[B][N],
                     wide_seen<B> &seen, uint32_t (*histogram)[256])
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
        const float *const v = of_luma ? luma : at[g];
        if (needs == MOT_NEEDS_MEAN) {
            const double by = 0x1p24 / range.span;
#pragma unroll
            for (int k = 0; k < N; k++)
                if ((there >> k & 1) && v[k] == v[k]) {
                    seen.sum[g] += wide_quantum(range, by, v[k]);
                    seen.count[g]++;
                }
        } else if (needs == MOT_NEEDS_HISTOGRAM) {
#pragma unroll
            for (int k = 0; k < N; k++)
                if ((there >> k & 1) && v[k] == v[k])
                    atomicAdd(&histogram[copy * B + g][(int)mot_range_bin(&range, v[k])], 1u);
        } else {
#pragma unroll
            for (int k = 0; k < N; k++) {
                const bool counts = (there >> k & 1) && v[k] == v[k];
                const uint32_t key = wide_key(v[k]), high = counts ? key : 0, low = counts ? ~key : 0;
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

/* Which band, or the first of three colours, a task counts, and which of its image's blocks. */
struct wide_share {
    int c;
    uint32_t first, end;
};

DEVICE wide_share wide_share_of(const mot_wide_call &call, const wide_task &t, int pixels, int bands)
{
    const uint32_t blocks = (uint32_t)mot_wide_blocks(pixels, t.of.width, t.of.height, t.quads),
                   each = (uint32_t)mot_wide_counted_blocks(call.channels), shares = (blocks + each - 1) / each,
                   group = t.task / shares, first = (t.task - group * shares) * each;
    return wide_share{ (int)group * bands, first, min(first + each, blocks) };
}

template <int B, int N, bool WHOLE>
DEVICE void wide_count(const mot_wide_call &call, const wide_task &t, wide_task &next, int needs, wide_places &place,
                       uint32_t (*histogram)[256])
{
    const wide_share share = wide_share_of(call, t, N, B);
    wide_seen<B> seen = {};
    wide_spot<N> spot;
    wide_memory<N> from;
    uint32_t bits[B][N];
    wide_find<N>(t, share.first, spot);
    wide_find_sources<N>(t, t.of.counted, place, spot);
    wide_aim<N>(t, t.from, t.from_dtype, spot, from);
    wide_fetch<B, N, WHOLE>(t, spot, from, share.c, place, bits);
    wide_next(call, MOT_WIDE_COUNT, next);
    MOT_ROLLED
    for (uint32_t block = share.first; block < share.end; block++) {
        float at[B][N];
        wide_take<B, N, WHOLE>(t.quads, bits, at);
        wide_make<B, N, WHOLE>(call, t, spot, t.of.counted, share.c, place, at);
        const uint32_t there = spot.there;
        if (block + 1 < share.end) {
            wide_find<N>(t, block + 1, spot);
            wide_find_sources<N>(t, t.of.counted, place, spot);
            wide_aim<N>(t, t.from, t.from_dtype, spot, from);
            wide_fetch<B, N, WHOLE>(t, spot, from, share.c, place, bits);
        }
        wide_see<B, N, WHOLE>(call, there, needs, share.c, at, seen, histogram);
    }
    wide_add_seen<B>(call.totals + (int64_t)t.image * call.channels + share.c, needs, seen, histogram);
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
    __shared__ wide_task task[2];
    __shared__ int last;
    __shared__ uint32_t histogram[MOT_WIDE_HISTOGRAMS][256];
    __shared__ wide_places place;
    __shared__ mot_stats bytes[MOT_WIDE_THREADS / 32];
    const int warp = threadIdx.x / 32;
    if (blockIdx.x >= call.tasks[2 * (MOT_WIDE_LAUNCHES * call.now + MOT_WIDE_COUNT)])
        return;
    for (int k = 0; k < MOT_WIDE_HISTOGRAMS; k++)
        histogram[k][threadIdx.x] = 0;
    wide_next(call, MOT_WIDE_COUNT, task[0]);
    MOT_ROLLED
    for (int now = 0;; now ^= 1) {
        const wide_task &t = task[now];
        __syncthreads();
        if (t.image < 0)
            break;
        const mot_wide_item &item = t.items[t.of.counted];
        const int needs = mot_wide_needs(item.step.op);
        wide_count<B, B == 3 ? 4 : 8, WHOLE>(call, t, task[now ^ 1], needs, place, histogram);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            last = atomicAdd(&call.tickets[t.image], 1) == (int)t.of.tasks[MOT_WIDE_COUNT] - 1;
            __threadfence();
        }
        __syncthreads();
        if (!last)
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

static_assert(MOT_WIDE_THREADS == 256 && MOT_WIDE_SIDE_BY_SIDE == 8, "a thread for each bin, a warp for each band");

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
    cudaError_t error =
        wide_launch(*call,
                    whole    ? colors ? (const void *)wide_run_kernel<3, true> : (const void *)wide_run_kernel<1, true>
                       : colors ? (const void *)wide_run_kernel<3, false>
                             : (const void *)wide_run_kernel<1, false>,
                    MOT_WIDE_RUN_CTAS, stream);
    if (error == cudaSuccess && call->may[MOT_WIDE_LOOK])
        error = wide_launch(*call, whole ? (const void *)wide_look_kernel<true> : (const void *)wide_look_kernel<false>,
                            MOT_WIDE_LOOK_CTAS, stream);
    if (error == cudaSuccess && call->may[MOT_WIDE_RESIZE])
        error =
            wide_launch(*call, whole ? (const void *)wide_resize_kernel<true> : (const void *)wide_resize_kernel<false>,
                        MOT_WIDE_RESIZE_CTAS, stream);
    return error;
}
