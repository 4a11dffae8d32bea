/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for images of U16 and F32: their statistics, and their passes. CTAs take tasks from the lists that the plans
 * have made, so that a launch with little to do is short, and the work of a costly image is shared. */
#include "kernels/cuda/breaks_pixels.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/stats.cuh"
#include "kernels/cuda/wide_pass.cuh"
#include "kernels/cuda/wide_plan.cuh"

#define MOT_WIDE_RUN_CTAS 3 /* of a multiprocessor */
#define MOT_WIDE_COUNT_CTAS 2

/* ---- passes ---- */

template <int PX> DEVICE void wide_store(const wide_image &to, int x, int y, int c, const float at[PX])
{
    const mot_view &v = to.view;
    uint8_t *const p = v.data + y * v.row + x * v.pixel + c * v.channel;
    uint32_t bits[PX];
    const int bytes = (int)mot_dtype_bytes(to.dtype);
#pragma unroll
    for (int k = 0; k < PX; k++)
        bits[k] = to.dtype == MOTLEY_U16 ? (uint32_t)(int32_t)at[k] : mot_output_cast(at[k], to.dtype);
    if (PX == 4 && x + PX <= v.width && v.pixel == bytes) {
        if (bytes == 4 && aligned(p, 16)) {
            *(uint4 *)p = uint4{ bits[0], bits[PX > 1 ? 1 : 0], bits[PX > 2 ? 2 : 0], bits[PX - 1] };
            return;
        }
        if (bytes == 2 && aligned(p, 8)) {
            *(uint2 *)p = uint2{ bits[0] | bits[PX > 1 ? 1 : 0] << 16, bits[PX > 2 ? 2 : 0] | bits[PX - 1] << 16 };
            return;
        }
    }
#pragma unroll
    for (int k = 0; k < PX; k++) {
        if (x + k >= v.width)
            break;
        if (bytes == 4)
            *(uint32_t *)(p + k * v.pixel) = bits[k];
        else
            *(uint16_t *)(p + k * v.pixel) = (uint16_t)bits[k];
    }
}

/* Task `task` of an image's pass. */
template <int B, int PX, int HOW> DEVICE void wide_run(const wide_pass &p, int image, uint32_t task)
{
    const mot_wide_call &call = p.call;
    const wide_image to = wide_image_of(call, p.of.to, p.of.width, p.of.height, image);
    const uint32_t across = (uint32_t)(p.of.width + PX - 1) / PX, all = across * (uint32_t)p.of.height;
    const uint32_t blocks = (all + MOT_WIDE_THREADS - 1) / MOT_WIDE_THREADS, group = task / blocks;
    const uint32_t at = (task - group * blocks) * MOT_WIDE_THREADS + threadIdx.x;
    if (at >= all)
        return;
    const int y = (int)(at / across), x = PX * (int)(at - (uint32_t)y * across);
    const int first = (int)group * call.together, last = min(first + call.together, call.channels);
    wide_spot<PX> spot;
    wide_aim aim;
    wide_find(p, p.of.end, x, y, spot);
    if (PX == 1)
        wide_aim_at(p, spot.x[0], spot.y[0], aim);
    MOT_ROLLED
    for (int c = first; c < last; c += B) {
        const int bands = last - c;
        float made[B][PX];
        wide_make<B, PX, HOW>(p, spot, aim, p.of.end, c, bands, made);
#pragma unroll
        for (int g = 0; g < B; g++) {
            if (!MOT_WIDE_HAS(g))
                continue;
#pragma unroll
            for (int k = 0; k < PX; k++)
                made[g][k] = mot_wide_result(&p.wide, made[g][k], c + g);
            wide_store<PX>(to, x, y, c + g, made[g]);
        }
    }
}

template <int B>
static __global__ void __launch_bounds__(MOT_WIDE_THREADS, B == 3 ? 2 : MOT_WIDE_RUN_CTAS)
    wide_run_kernel(const __grid_constant__ mot_wide_call call)
{
    const uint32_t tasks = call.tasks[2 * call.now + 1];
    const int32_t *const list = call.list + (2 * (int64_t)call.now + 1) * call.count * call.most_tasks;
    for (uint32_t t = blockIdx.x; t < tasks; t += gridDim.x) {
        const int image = list[t];
        const mot_wide_pass of = call.pass[(int64_t)image * call.passes + call.now];
        const wide_pass p = wide_begin(call, of, image);
        if (!p.source)
            wide_run<B, 4, MOT_WIDE_PLAIN>(p, image, t - of.task[1]);
        else if (p.source->kind == MOT_WIDE_RESIZES)
            wide_run<B, 1, MOT_WIDE_SCALES>(p, image, t - of.task[1]);
        else if (mot_wide_neighbours(&of, p.source) == 4)
            wide_run<B == 3 ? 3 : 1, 4, MOT_WIDE_LOOKS>(p, image, t - of.task[1]);
        else
            wide_run<B == 3 ? 3 : 1, 1, MOT_WIDE_LOOKS>(p, image, t - of.task[1]);
    }
}

/* Converts images, a CTA for each block of pixels. */
template <int B>
static __global__ void __launch_bounds__(MOT_WIDE_THREADS, B == 3 ? 2 : MOT_WIDE_RUN_CTAS)
    wide_convert_kernel(const __grid_constant__ mot_wide_call call)
{
    const int ctas = gridDim.x / call.count, image = blockIdx.x / ctas;
    const mot_view dst = image_of(call.dst, 1, image);
    const mot_wide_pass of = { 0,         0,          -1,        0,          MOT_WIDE_SRC, MOT_WIDE_DST,
                               dst.width, dst.height, dst.width, dst.height, {},           {} };
    const wide_pass p = wide_begin(call, of, image);
    const uint32_t blocks = ((uint32_t)((dst.width + 3) / 4) * (uint32_t)dst.height + MOT_WIDE_THREADS - 1) /
                            MOT_WIDE_THREADS * (uint32_t)((call.channels + call.together - 1) / call.together);
    for (uint32_t t = blockIdx.x - image * ctas; t < blocks; t += ctas)
        wide_run<B, 4, MOT_WIDE_PLAIN>(p, image, t);
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

template <int B, int PX>
DEVICE void wide_see(const wide_pass &p, int needs, int c, int bands, int n, const float at[B][PX], wide_seen<B> &seen,
                     uint32_t (*histogram)[256])
{
    const int copy = (int)threadIdx.x % (MOT_WIDE_HISTOGRAMS / B);
    float luma[PX];
    wide_luma<B, PX>(p, at, luma);
#pragma unroll
    for (int g = 0; g < B; g++) {
        if (!MOT_WIDE_HAS(g) || (B == 3 && g > 0 && needs == MOT_NEEDS_MEAN))
            continue;
        const mot_range range =
            B == 3 && needs == MOT_NEEDS_MEAN ? mot_wide_luma_range(p.call.range) : p.call.range[c + g];
#pragma unroll
        for (int k = 0; k < PX; k++) {
            const float v = B == 3 && needs == MOT_NEEDS_MEAN ? luma[k] : at[g][k];
            if (k >= n || v != v)
                continue;
            if (needs == MOT_NEEDS_MEAN) {
                seen.sum[g] += mot_wide_quantum(&range, v);
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

DEVICE uint32_t largest_of_warp(uint32_t v)
{
    for (int step = 16; step; step /= 2) {
        const uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, v, step);
        v = other > v ? other : v;
    }
    return v;
}

/* Adds what a CTA has seen to the totals of its bands. */
template <int B>
DEVICE void wide_add_seen(mot_wide_total *totals, int needs, int bands, wide_seen<B> seen, uint32_t (*histogram)[256])
{
    if (needs == MOT_NEEDS_HISTOGRAM) {
        __syncthreads();
        for (int g = 0; g < min(B, bands); g++) {
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
        const uint32_t lowest = largest_of_warp(seen.lowest[g]), highest = largest_of_warp(seen.highest[g]);
        if (adds && highest) {
            atomicMax(&totals[g].lowest, lowest);
            atomicMax(&totals[g].highest, highest);
        }
    }
}

template <int B, int PX, int HOW>
DEVICE void wide_count(const wide_pass &p, int image, uint32_t task, int needs, uint32_t (*histogram)[256])
{
    const mot_wide_call &call = p.call;
    const uint32_t across = (uint32_t)(p.of.width + PX - 1) / PX, all = across * (uint32_t)p.of.height;
    const uint32_t each = MOT_WIDE_THREADS * MOT_WIDE_TURNS, shares = (all + each - 1) / each, group = task / shares;
    const uint32_t first = (task - group * shares) * each + threadIdx.x;
    const int c = (int)group * B, bands = call.channels - c;
    wide_seen<B> seen = {};
    MOT_ROLLED
    for (int turn = 0; turn < MOT_WIDE_TURNS; turn++) {
        const uint32_t at = first + (uint32_t)turn * MOT_WIDE_THREADS;
        if (at >= all)
            break;
        const int y = (int)(at / across), x = PX * (int)(at - (uint32_t)y * across);
        wide_spot<PX> spot;
        wide_aim aim;
        float made[B][PX];
        wide_find(p, p.of.counted, x, y, spot);
        if (PX == 1)
            wide_aim_at(p, spot.x[0], spot.y[0], aim);
        wide_make<B, PX, HOW>(p, spot, aim, p.of.counted, c, bands, made);
        wide_see<B, PX>(p, needs, c, bands, min(PX, p.of.width - x), made, seen, histogram);
    }
    wide_add_seen<B>(call.totals + (int64_t)image * call.channels + c, needs, bands, seen, histogram);
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
template <int B>
static __global__ void __launch_bounds__(MOT_WIDE_THREADS, MOT_WIDE_COUNT_CTAS)
    wide_count_kernel(const __grid_constant__ mot_wide_call call)
{
    __shared__ uint32_t histogram[MOT_WIDE_HISTOGRAMS][256];
    __shared__ mot_stats bytes[MOT_WIDE_THREADS / 32];
    __shared__ int last;
    const uint32_t tasks = call.tasks[2 * call.now];
    const int32_t *const list = call.list + 2 * (int64_t)call.now * call.count * call.most_tasks;
    const int warp = threadIdx.x / 32;
    if (blockIdx.x >= tasks)
        return;
    for (int k = 0; k < MOT_WIDE_HISTOGRAMS; k++)
        histogram[k][threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t t = blockIdx.x; t < tasks; t += gridDim.x) {
        const int image = list[t];
        const mot_wide_pass of = call.pass[(int64_t)image * call.passes + call.now];
        const wide_pass p = wide_begin(call, of, image);
        const mot_wide_item &item = p.items[of.counted];
        const int needs = mot_wide_needs(item.step.op);
        if (!p.source)
            wide_count<B, 4, MOT_WIDE_PLAIN>(p, image, t - of.task[0], needs, histogram);
        else if (mot_wide_neighbours(&of, p.source) == 4)
            wide_count<B == 3 ? 3 : 1, 4, MOT_WIDE_LOOKS>(p, image, t - of.task[0], needs, histogram);
        else
            wide_count<B == 3 ? 3 : 1, 1, MOT_WIDE_LOOKS>(p, image, t - of.task[0], needs, histogram);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            last = atomicAdd(&call.tickets[image], 1) == (int)of.tasks[0] - 1;
            __threadfence();
        }
        __syncthreads();
        if (!last)
            continue;
        mot_wide_total *const totals = call.totals + (int64_t)image * call.channels;
        for (int c = warp; c < call.channels; c += MOT_WIDE_THREADS / 32)
            wide_finish(call, item, needs, totals, c, &call.stats[(int64_t)image * call.channels + c], histogram[warp],
                        &bytes[warp]);
        __syncthreads();
        const int64_t words = (int64_t)call.channels * (int64_t)(sizeof *totals / 4);
        for (int64_t k = threadIdx.x; k < words; k += MOT_WIDE_THREADS)
            ((uint32_t *)totals)[k] = 0;
        for (int k = 0; k < MOT_WIDE_THREADS / 32; k++)
            histogram[k][threadIdx.x] = 0;
        if (threadIdx.x == 0)
            call.tickets[image] = 0;
        __syncthreads();
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
    return wide_launch(*call,
                       call->channels == 3 ? (const void *)wide_count_kernel<3> : (const void *)wide_count_kernel<4>,
                       MOT_WIDE_COUNT_CTAS, stream);
}

cudaError_t mot_wide_run_launch(const mot_wide_call *call, cudaStream_t stream)
{
    return wide_launch(*call, call->channels == 3 ? (const void *)wide_run_kernel<3> : (const void *)wide_run_kernel<4>,
                       MOT_WIDE_RUN_CTAS, stream);
}

cudaError_t mot_wide_convert_launch(const mot_wide_call *call, cudaStream_t stream)
{
    return mot_launch(call->channels == 3 ? (const void *)wide_convert_kernel<3> : (const void *)wide_convert_kernel<4>,
                      ctas_of(call->count, call->most_tasks, call->multiprocessors) * call->count, MOT_WIDE_THREADS, 0,
                      0, stream, *call);
}
