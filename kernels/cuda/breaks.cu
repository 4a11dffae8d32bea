/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for the breaks between runs of ops, and for chains. A few CTAs work on each image; those of an image that has
 * nothing for their kernel end at once. */
#include "kernels/cuda/breaks.h"

#include "augmentations/augmix.h"
#include "kernels/cuda/breaks_blur.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/filter.h"

/* ---- copies ---- */

#define MOT_BREAK_NONE 4 /* beside MOT_BREAK_*: the image has no break */

struct copy_job {
    mot_cuda_batch src, dst;
    int32_t count, channels;
    const mot_step *step;
    int32_t kinds; /* of the images' breaks: MOT_BREAK_* */
};

static __global__ void __launch_bounds__(MOT_BREAK_THREADS) copy_kernel(const __grid_constant__ copy_job job)
{
    const cta_range mine = cta_range_of(job.count);
    const int kind = kind_of(job.step[mot_sample_at(&job.src, mine.image)]);
    if (!((kind ? kind : MOT_BREAK_NONE) & job.kinds))
        return;
    const mot_view src = view_of(job.src, job.channels, mine.image), dst = view_of(job.dst, job.channels, mine.image);
    const int across = (src.width + 3) / 4;
    for (int64_t q = (int64_t)mine.first * MOT_BREAK_THREADS + threadIdx.x; q < (int64_t)across * src.height;
         q += (int64_t)mine.step * MOT_BREAK_THREADS) {
        const int y = (int)(q / across), x = 4 * (int)(q - (int64_t)y * across);
        uint32_t px[4];
        load_pixels(src, x, y, px);
        store_pixels(dst, x, y, px);
    }
}

/* ---- filters ---- */

#define MOT_FILTER_WIDTH 128 /* of a tile, pixels: four for each thread of a warp */
#define MOT_FILTER_ROWS 4    /* of a thread: each loaded pixel serves all, ... */
#define MOT_FILTER_HEIGHT (MOT_BREAK_THREADS / 32 * MOT_FILTER_ROWS) /* ... and as many for each warp */
#define MOT_FILTER_REACH 2                                           /* at most */
#define MOT_FILTER_PITCH (MOT_FILTER_WIDTH + 2 * MOT_FILTER_REACH)

#define MOT_COUNT_FILTER(shape, ID, stem) +(MOTLEY_SHAPE_##shape == MOTLEY_SHAPE_FILTER)
enum { MOT_FILTER_OPS = 0 MOT_OPS(MOT_COUNT_FILTER) };

struct filter_job {
    mot_cuda_batch src, dst;
    int32_t count, channels;
    const mot_step *step;
    mot_filter filter[MOT_FILTER_OPS]; /* the weights are divided, the offset has the half for rounding */
    int32_t filter_op[MOT_FILTER_OPS];
};

/* One channel of a tile, and `reach` more on each side, as binary32; and the weights. */
struct filter_memory {
    alignas(16) float window[(MOT_FILTER_HEIGHT + 2 * MOT_FILTER_REACH) * MOT_FILTER_PITCH];
    float weight[(2 * MOT_FILTER_REACH + 1) * (2 * MOT_FILTER_REACH + 1)];
};

/* Byte offsets of the window's columns in memory; each thread of a warp loads every 32nd. */
struct window_columns {
    int64_t at[(MOT_FILTER_PITCH + 31) / 32];
};

DEVICE window_columns columns_of(const mot_view &src, int x0, int reach)
{
    window_columns columns;
#pragma unroll
    for (int k = 0; k < (MOT_FILTER_PITCH + 31) / 32; k++)
        columns.at[k] = inside(x0 + (int)threadIdx.x % 32 + 32 * k - reach, src.width) * src.pixel;
    return columns;
}

DEVICE void load_window(filter_memory &memory, const mot_view &src, const window_columns &columns, int y0, int c,
                        int reach)
{
    for (int row = threadIdx.x / 32; row < MOT_FILTER_HEIGHT + 2 * reach; row += MOT_BREAK_THREADS / 32) {
        const uint8_t *const in = address(src, 0, inside(y0 + row - reach, src.height)) + c * src.channel;
        float *const to = memory.window + row * MOT_FILTER_PITCH + threadIdx.x % 32;
#pragma unroll
        for (int k = 0; k < (MOT_FILTER_PITCH + 31) / 32; k++)
            if ((int)threadIdx.x % 32 + 32 * k < MOT_FILTER_PITCH)
                to[32 * k] = mot_above(load_byte(in + columns.at[k])) - 8388608.0f;
    }
}

/* Four components in each of a thread's rows, the uppermost from `in` on: the window's first row and column of the
 * first. Rows of the window are summed separately, and added from the lowest up. */
template <int REACH>
DEVICE void filter_rows(const filter_memory &memory, const float *in, float offset, uint8_t out[MOT_FILTER_ROWS][4])
{
    const int size = 2 * REACH + 1;
    float sum[MOT_FILTER_ROWS][4];
#pragma unroll
    for (int i = 0; i < 4 * MOT_FILTER_ROWS; i++)
        sum[i / 4][i % 4] = offset;
#pragma unroll
    for (int r = size + MOT_FILTER_ROWS - 2; r >= 0; r--) {
        const four a = *(const four *)(in + r * MOT_FILTER_PITCH), b = *(const four *)(in + r * MOT_FILTER_PITCH + 4);
        const float p[8] = { a.v[0], a.v[1], a.v[2], a.v[3], b.v[0], b.v[1], b.v[2], b.v[3] };
#pragma unroll
        for (int to = 0; to < MOT_FILTER_ROWS; to++) {
            const int j = to + 2 * REACH - r; /* row of weights */
            if (j < 0 || j >= size)
                continue;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float row = 0;
#pragma unroll
                for (int i = 0; i < size; i++)
                    row += p[k + i] * memory.weight[j * size + i];
                sum[to][k] += row;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4 * MOT_FILTER_ROWS; i++)
        out[i / 4][i % 4] = mot_byte(sum[i / 4][i % 4]);
}

/* Which of the job's filters an op is. */
DEVICE const mot_filter &filter_of(const filter_job &job, int op)
{
    int at = 0;
    while (at < MOT_FILTER_OPS - 1 && job.filter_op[at] != op)
        at++;
    return job.filter[at];
}

static __global__ void __launch_bounds__(MOT_BREAK_THREADS) filter_kernel(const __grid_constant__ filter_job job)
{
    __shared__ filter_memory memory;
    const cta_range mine = cta_range_of(job.count);
    const mot_step &step = job.step[mot_sample_at(&job.src, mine.image)];
    if (kind_of(step) != MOT_BREAK_FILTER)
        return;
    const mot_view src = view_of(job.src, job.channels, mine.image), dst = view_of(job.dst, job.channels, mine.image);
    const mot_filter &filter = filter_of(job, step.op);
    const int reach = filter.reach, size = 2 * reach + 1, colors = mot_cuda_colors(job.channels);
    if ((int)threadIdx.x < size * size)
        memory.weight[threadIdx.x] = filter.weight[threadIdx.x];
    const int across = (src.width + MOT_FILTER_WIDTH - 1) / MOT_FILTER_WIDTH;
    const int64_t tiles = (int64_t)across * ((src.height + MOT_FILTER_HEIGHT - 1) / MOT_FILTER_HEIGHT);
    for (int64_t tile = mine.first; tile < tiles; tile += mine.step) {
        const int x0 = (int)(tile % across) * MOT_FILTER_WIDTH, y0 = (int)(tile / across) * MOT_FILTER_HEIGHT;
        const int row = threadIdx.x / 32 * MOT_FILTER_ROWS, column = 4 * (threadIdx.x % 32);
        const int x = x0 + column, y = y0 + row;
        const bool any = x < src.width && y < src.height;
        const window_columns columns = columns_of(src, x0, reach);
        uint32_t px[MOT_FILTER_ROWS][4] = {};
        for (int c = 0; c < job.channels; c++) {
            const float *const in = &memory.window[row * MOT_FILTER_PITCH + column];
            uint8_t out[MOT_FILTER_ROWS][4];
            __syncthreads();
            load_window(memory, src, columns, y0, c, reach);
            __syncthreads();
            if (!any)
                continue;
            if (reach == 1)
                filter_rows<1>(memory, in, filter.offset, out);
            else
                filter_rows<2>(memory, in, filter.offset, out);
#pragma unroll
            for (int r = 0; r < MOT_FILTER_ROWS; r++) {
                const bool edge_row = y + r < reach || y + r >= src.height - reach;
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const bool keeps = c >= colors || edge_row || x + k < reach || x + k >= src.width - reach;
                    const uint8_t centre = mot_byte(in[(r + reach) * MOT_FILTER_PITCH + reach + k]);
                    px[r][k] |= (uint32_t)(keeps ? centre : out[r][k]) << (8 * c);
                }
            }
        }
#pragma unroll
        for (int r = 0; r < MOT_FILTER_ROWS; r++)
            if (any && y + r < src.height)
                store_pixels(dst, x, y + r, px[r]);
    }
}

/* ---- chains ---- */

DEVICE mot_cuda_batch chain_of(const mot_chains_job &job, int chain)
{
    mot_cuda_batch batch = job.chains;
    batch.data += (int64_t)chain * job.chain_bytes;
    batch.images += batch.images ? (int64_t)chain * batch.samples : 0;
    return batch;
}

/* C: channels, or 4 for any number of them. */
template <int C>
static __global__ void __launch_bounds__(MOT_BREAK_THREADS) chains_kernel(const __grid_constant__ mot_chains_job job)
{
    const cta_range mine = cta_range_of(job.count);
    const mot_view src = view_of(job.src, job.channels, mine.image), dst = view_of(job.dst, job.channels, mine.image);
    const mot_mix_turn *const turns = job.turn + (int64_t)mot_sample_at(&job.src, mine.image) * job.turns;
    const int across = (src.width + 3) / 4;
    for (int64_t q = (int64_t)mine.first * MOT_BREAK_THREADS + threadIdx.x; q < (int64_t)across * src.height;
         q += (int64_t)mine.step * MOT_BREAK_THREADS) {
        const int y = (int)(q / across), x = 4 * (int)(q - (int64_t)y * across);
        uint32_t own[4], result[4];
        float sum[4][C] = {};
        load_pixels(src, x, y, own);
        for (int k = 0; k < 4; k++)
            result[k] = own[k];
        for (int t = 0; t < job.turns && turns[t].op; t++) {
            const mot_mix_turn turn = turns[t];
            uint32_t chain[4] = { own[0], own[1], own[2], own[3] };
            if (turn.chain >= 0)
                load_pixels(view_of(chain_of(job, turn.chain), job.channels, mine.image), x, y, chain);
            if (turn.op == MOTLEY_STEP_MIX_ADD) {
#pragma unroll
                for (int i = 0; i < 4 * C; i++)
                    sum[i / C][i % C] = mot_mix_add(sum[i / C][i % C], mot_u8(chain[i / C], i % C), turn.weight);
                continue;
            }
            if (turn.op == MOTLEY_STEP_MIX_SUM)
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    chain[k] = 0;
#pragma unroll
                    for (int c = 0; c < C; c++) {
                        chain[k] |= (uint32_t)mot_mix_byte(sum[k][c]) << (8 * c);
                        sum[k][c] = 0;
                    }
                }
#pragma unroll
            for (int k = 0; k < 4; k++) {
                uint32_t mixed = 0;
#pragma unroll
                for (int c = 0; c < C; c++)
                    mixed |= (uint32_t)mot_blend(mot_u8(result[k], c), mot_u8(chain[k], c), turn.weight) << (8 * c);
                result[k] = mixed;
            }
        }
        store_pixels(dst, x, y, result);
    }
}

/* ---- launches ---- */

template <class JOB>
static cudaError_t launch(const JOB &job, const void *kernel, int64_t work, int multiprocessors, cudaStream_t stream)
{
    return mot_launch(kernel, ctas_of(job.count, work, multiprocessors) * job.count, MOT_BREAK_THREADS, 0, 0, stream,
                      job);
}

/* Work of a CTA whose threads take four pixels each. */
static int64_t pixels_work(int width, int height)
{
    return ((int64_t)((width + 3) / 4) * height + MOT_BREAK_THREADS - 1) / MOT_BREAK_THREADS;
}

static cudaError_t launch_copy(const mot_break_job *job, const mot_cuda_batch &src, int kinds, cudaStream_t stream)
{
    const copy_job copy = { src, job->dst, job->count, job->channels, job->step, kinds };
    return launch(copy, (const void *)copy_kernel, pixels_work(job->width, job->height), job->multiprocessors, stream);
}

/* Work of a CTA that takes a tile of such sides at a time. */
static int64_t tiles_work(const mot_break_job *job, int width, int height)
{
    return (int64_t)((job->width + width - 1) / width) * ((job->height + height - 1) / height);
}

static cudaError_t launch_blur(const mot_break_job *job, const mot_cuda_batch &dst, cudaStream_t stream)
{
    const blur_job blur = { job->src, dst, job->count, job->channels, job->step };
    return launch(blur, (const void *)blur_kernel, tiles_work(job, MOT_BLUR_SIDE, MOT_BLUR_SIDE), job->multiprocessors,
                  stream);
}

/* All blurs of a job of which mot_blurs_planes is true. */
static cudaError_t launch_plane_blur(const mot_break_job *job, cudaStream_t stream)
{
    const plane_job blur = { job->src, job->has_output ? job->output : job->dst, job->count, job->channels, job->step,
                             job->as };
    const int few = (int64_t)(job->width + 3) / 4 * job->height <= MOT_PLANE_FEW, threads = MOT_PLANE_THREADS;
    const void *const kernels[2][2] = {
        { (const void *)plane_blur_kernel<false, 2 * threads>, (const void *)plane_blur_kernel<false, threads> },
        { (const void *)plane_blur_kernel<true, 2 * threads>, (const void *)plane_blur_kernel<true, threads> }
    };
    const void *const kernel = kernels[job->has_output != 0][few];
    const int bytes = (int)mot_plane_bytes(job->width, job->height);
    const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess)
        return error;
    return mot_launch(kernel, (int64_t)job->count * job->channels, few ? threads : 2 * threads, (size_t)bytes, 0,
                      stream, blur);
}

static cudaError_t launch_filter(const mot_break_job *job, const mot_cuda_batch &dst, cudaStream_t stream)
{
    filter_job around = { job->src, dst, job->count, job->channels, job->step, {}, {} };
    for (int op = 0, at = 0; op < MOT_OP_COUNT; op++) {
        const mot_filter *const filter = mot_filter_of(op);
        if (!filter)
            continue;
        around.filter[at] = *filter;
        around.filter[at].offset += 0.5f;
        for (float &weight : around.filter[at].weight)
            weight /= filter->divisor;
        around.filter_op[at++] = op;
    }
    return launch(around, (const void *)filter_kernel, tiles_work(job, MOT_FILTER_WIDTH, MOT_FILTER_HEIGHT),
                  job->multiprocessors, stream);
}

cudaError_t mot_break_launch(const mot_break_job *job, cudaStream_t stream)
{
    const mot_cuda_batch &dst = job->in_place ? job->spare : job->dst;
    cudaError_t error = cudaSuccess;
    if (job->has_output)
        return launch_plane_blur(job, stream);
    if (!job->in_place)
        error = launch_copy(job, job->src, MOT_BREAK_NONE, stream);
    if (error == cudaSuccess && mot_blurs_planes(job->kinds, job->taps, job->width, job->height))
        return launch_plane_blur(job, stream);
    if (error == cudaSuccess && job->kinds & MOT_BREAK_BLUR)
        error = launch_blur(job, dst, stream);
    if (error == cudaSuccess && job->kinds & MOT_BREAK_FILTER)
        error = launch_filter(job, dst, stream);
    if (error == cudaSuccess && job->in_place)
        error = launch_copy(job, job->spare, job->kinds, stream);
    return error;
}

cudaError_t mot_chains_launch(const mot_chains_job *job, cudaStream_t stream)
{
    const void *const kernel = job->channels == 3 ? (const void *)chains_kernel<3> : (const void *)chains_kernel<4>;
    return launch(*job, kernel, pixels_work(job->width, job->height), job->multiprocessors, stream);
}
