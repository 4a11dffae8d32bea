/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for the breaks between runs of ops, and for chains. A few CTAs work on each image; those of an image that has
 * nothing for their kernel end at once. */
#include "kernels/cuda/breaks.h"

#include "augmentations/augmix.h"
#include "augmentations/hue.h"
#include "augmentations/kernel_blur.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/memory.cuh"
#include "kernels/cuda/tuning.h"
#include "kernels/filter.h"

/* ---- four pixels of any layout ---- */

/* Whether four pixels of three channels from `p` on are three words: of all channels, or one of each plane. */
DEVICE bool is_words(const mot_view &v, const uint8_t *p, bool planes)
{
    return v.channels == 3 && aligned(p, 4) &&
           (planes ? v.pixel == 1 && v.channel % 4 == 0 : v.pixel == 3 && v.channel == 1);
}

DEVICE void load_pixels(const mot_view &v, int x, int y, uint32_t px[4])
{
    const uint8_t *const p = address(v, x, y);
    const bool whole = x + 4 <= v.width;
    if (whole && is_words(v, p, false)) {
        const uint32_t *const w = (const uint32_t *)p;
        unpack_rgb(w[0], w[1], w[2], px);
    } else if (whole && is_words(v, p, true)) {
        unpack_planes(*(const uint32_t *)p, *(const uint32_t *)(p + v.channel), *(const uint32_t *)(p + 2 * v.channel),
                      px);
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            px[k] = 0;
            for (int c = 0; c < v.channels && x + k < v.width; c++)
                px[k] |= (uint32_t)p[k * v.pixel + c * v.channel] << (8 * c);
        }
    }
}

DEVICE void store_pixels(const mot_view &v, int x, int y, const uint32_t px[4])
{
    uint8_t *const p = address(v, x, y);
    const bool whole = x + 4 <= v.width;
    uint32_t w[3];
    if (whole && is_words(v, p, false)) {
        pack_rgb(px, w);
        for (int k = 0; k < 3; k++)
            ((uint32_t *)p)[k] = w[k];
    } else if (whole && is_words(v, p, true)) {
        pack_planes(px, w);
        for (int k = 0; k < 3; k++)
            *(uint32_t *)(p + k * v.channel) = w[k];
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++)
            for (int c = 0; c < v.channels && x + k < v.width; c++)
                p[k * v.pixel + c * v.channel] = (uint8_t)byte_of(px[k], c);
    }
}

/* The image of a CTA, and which of the image's CTAs it is. */
struct cta_range {
    int image, first, step;
};

DEVICE cta_range cta_range_of(int count)
{
    const int ctas = gridDim.x / count, image = blockIdx.x / ctas;
    return cta_range{ image, (int)blockIdx.x - image * ctas, ctas };
}

DEVICE int kind_of(const mot_step &step)
{
    return step.arg.flags & MOT_ARG_IDENTITY ? 0 : mot_break_of(step.op);
}

/* ---- hue, and copies ---- */

#define MOT_BREAK_NONE 8 /* beside MOT_BREAK_*: the image has no break */

struct pixels_job {
    mot_cuda_batch src, dst;
    int32_t count, channels;
    const mot_step *step;
    int32_t turned, copied; /* which images' hues are turned, and which are only copied: MOT_BREAK_* */
};

DEVICE void turn_hue(uint32_t px[4], uint8_t value)
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint8_t r = (uint8_t)byte_of(px[k], 0), g = (uint8_t)byte_of(px[k], 1), b = (uint8_t)byte_of(px[k], 2);
        mot_hue(&r, &g, &b, value);
        px[k] = (px[k] & 0xFF000000u) | r | (uint32_t)g << 8 | (uint32_t)b << 16;
    }
}

static __global__ void __launch_bounds__(MOT_BREAK_THREADS) pixels_kernel(const __grid_constant__ pixels_job job)
{
    const cta_range mine = cta_range_of(job.count);
    const mot_step &step = job.step[mine.image];
    const int kind = kind_of(step) ? kind_of(step) : MOT_BREAK_NONE;
    if (!(kind & (job.turned | job.copied)))
        return;
    const mot_view src = view_of(job.src, job.channels, mine.image), dst = view_of(job.dst, job.channels, mine.image);
    const bool turns = (kind & job.turned) && job.channels >= 3;
    const uint8_t value = mot_hue_value(step.value);
    const int across = (src.width + 3) / 4;
    for (int64_t q = (int64_t)mine.first * MOT_BREAK_THREADS + threadIdx.x; q < (int64_t)across * src.height;
         q += (int64_t)mine.step * MOT_BREAK_THREADS) {
        const int y = (int)(q / across), x = 4 * (int)(q - (int64_t)y * across);
        uint32_t px[4];
        load_pixels(src, x, y, px);
        if (turns)
            turn_hue(px, value);
        store_pixels(dst, x, y, px);
    }
}

/* ---- blurs and filters: what lies around a pixel ---- */

#define MOT_NEIGHBOURS_WIDTH 128 /* of a tile, pixels: four for each thread of a warp */
#define MOT_NEIGHBOURS_ROWS 4    /* of a thread: each loaded pixel serves all, ... */
#define MOT_NEIGHBOURS_HEIGHT (MOT_BREAK_THREADS / 32 * MOT_NEIGHBOURS_ROWS) /* ... and as many for each warp */
#define MOT_NEIGHBOURS_PITCH (MOT_NEIGHBOURS_WIDTH + MOTLEY_MAX_KERNEL + 1)
#define MOT_NEIGHBOURS_TAPS \
    (MOTLEY_MAX_KERNEL + 1) /* of a row of weights: whole vectors of four, the last weights are 0 \
                             */

#define MOT_COUNT_FILTER(shape, ID, stem) +(MOTLEY_SHAPE_##shape == MOTLEY_SHAPE_FILTER)
enum { MOT_FILTER_OPS = 0 MOT_OPS(MOT_COUNT_FILTER) };

struct neighbours_job {
    mot_cuda_batch src, dst;
    int32_t count, channels;
    const mot_step *step;
    mot_filter filter[MOT_FILTER_OPS]; /* the weights are divided, the offset has the half for rounding */
    int32_t filter_op[MOT_FILTER_OPS];
};

/* One channel of a tile, and `reach` more on each side, as binary32; and the weights. */
struct neighbours_memory {
    alignas(16) float window[(MOT_NEIGHBOURS_HEIGHT + MOTLEY_MAX_KERNEL - 1) * MOT_NEIGHBOURS_PITCH];
    alignas(16) float weight[MOTLEY_MAX_KERNEL * MOT_NEIGHBOURS_TAPS];
};

/* Pixel i of n, mirrored into the image. Far outside, where the result is not used, it may be any pixel. */
DEVICE int inside(int i, int n)
{
    const int mirrored = mot_mirror(i, n);
    return mirrored < 0 ? 0 : mirrored >= n ? n - 1 : mirrored;
}

/* Byte offsets of the window's columns in memory; each thread of a warp loads every 32nd. */
struct window_columns {
    int64_t at[(MOT_NEIGHBOURS_PITCH + 31) / 32];
};

DEVICE window_columns columns_of(const mot_view &src, int x0, int reach)
{
    window_columns columns;
#pragma unroll
    for (int k = 0; k < (MOT_NEIGHBOURS_PITCH + 31) / 32; k++)
        columns.at[k] = inside(x0 + (int)threadIdx.x % 32 + 32 * k - reach, src.width) * src.pixel;
    return columns;
}

/* `width`: how many columns are read. */
DEVICE void load_window(neighbours_memory &memory, const mot_view &src, const window_columns &columns, int y0, int c,
                        int reach, int width)
{
    for (int row = threadIdx.x / 32; row < MOT_NEIGHBOURS_HEIGHT + 2 * reach; row += MOT_BREAK_THREADS / 32) {
        const uint8_t *const in = address(src, 0, inside(y0 + row - reach, src.height)) + c * src.channel;
        float *const to = memory.window + row * MOT_NEIGHBOURS_PITCH + threadIdx.x % 32;
#pragma unroll
        for (int k = 0; k < (MOT_NEIGHBOURS_PITCH + 31) / 32; k++)
            if ((int)threadIdx.x % 32 + 32 * k < width)
                to[32 * k] = mot_above(load_byte(in + columns.at[k])) - 8388608.0f;
    }
}

struct four {
    alignas(16) float v[4];
};

/* Adds a row of the window to the sums of rows FROM to TO - 1 of four components each; `weight` is row 0's row of
 * weights, the other rows' lie before it. Zeros behind a row's weights change no sum. */
template <int FROM, int TO>
DEVICE void blur_row(const float *in, const float *weight, int size, float sum[MOT_NEIGHBOURS_ROWS][4])
{
    four a = *(const four *)in;
#pragma unroll 2
    for (int kx = 0; kx < size; kx += 4) {
        const four b = *(const four *)(in + kx + 4);
        const float p[8] = { a.v[0], a.v[1], a.v[2], a.v[3], b.v[0], b.v[1], b.v[2], b.v[3] };
#pragma unroll
        for (int row = FROM; row < TO; row++) {
            const four w = *(const four *)(weight + kx - row * MOT_NEIGHBOURS_TAPS);
#pragma unroll
            for (int t = 0; t < 4; t++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    sum[row][k] = fmaf(w.v[t], p[k + t], sum[row][k]);
        }
        a = b;
    }
}

/* Four blurred components in each of a thread's rows, the uppermost from `in` on: the window's first row and column of
 * the first. */
DEVICE void blur_rows(const neighbours_memory &memory, const float *in, int size, uint8_t out[MOT_NEIGHBOURS_ROWS][4])
{
    static_assert(MOT_NEIGHBOURS_ROWS == 4, "these are the cases below");
    float sum[MOT_NEIGHBOURS_ROWS][4] = {};
    const float *weight = memory.weight;
    for (int r = 0; r < size + 3; r++, in += MOT_NEIGHBOURS_PITCH, weight += MOT_NEIGHBOURS_TAPS)
        if (r >= 3 && r < size)
            blur_row<0, 4>(in, weight, size, sum);
        else if (r == 0)
            blur_row<0, 1>(in, weight, size, sum);
        else if (r == 1)
            blur_row<0, 2>(in, weight, size, sum);
        else if (r == 2)
            blur_row<0, 3>(in, weight, size, sum);
        else if (r == size)
            blur_row<1, 4>(in, weight, size, sum);
        else if (r == size + 1)
            blur_row<2, 4>(in, weight, size, sum);
        else
            blur_row<3, 4>(in, weight, size, sum);
#pragma unroll
    for (int row = 0; row < MOT_NEIGHBOURS_ROWS; row++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            out[row][k] = mot_kernel_blur_byte(sum[row][k]);
}

/* As blur_rows, for a FILTER op: rows of the window are summed separately, and added from the lowest up. */
template <int REACH>
DEVICE void filter_rows(const neighbours_memory &memory, const float *in, float offset,
                        uint8_t out[MOT_NEIGHBOURS_ROWS][4])
{
    const int size = 2 * REACH + 1;
    float sum[MOT_NEIGHBOURS_ROWS][4];
#pragma unroll
    for (int i = 0; i < 4 * MOT_NEIGHBOURS_ROWS; i++)
        sum[i / 4][i % 4] = offset;
#pragma unroll
    for (int r = size + MOT_NEIGHBOURS_ROWS - 2; r >= 0; r--) {
        const four a = *(const four *)(in + r * MOT_NEIGHBOURS_PITCH),
                   b = *(const four *)(in + r * MOT_NEIGHBOURS_PITCH + 4);
        const float p[8] = { a.v[0], a.v[1], a.v[2], a.v[3], b.v[0], b.v[1], b.v[2], b.v[3] };
#pragma unroll
        for (int to = 0; to < MOT_NEIGHBOURS_ROWS; to++) {
            const int j = to + 2 * REACH - r; /* row of weights */
            if (j < 0 || j >= size)
                continue;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float row = 0;
#pragma unroll
                for (int i = 0; i < size; i++)
                    row += p[k + i] * memory.weight[j * MOT_NEIGHBOURS_TAPS + i];
                sum[to][k] += row;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4 * MOT_NEIGHBOURS_ROWS; i++)
        out[i / 4][i % 4] = mot_byte(sum[i / 4][i % 4]);
}

/* Which of the job's filters an op is. */
DEVICE const mot_filter &filter_of(const neighbours_job &job, int op)
{
    int at = 0;
    while (at < MOT_FILTER_OPS - 1 && job.filter_op[at] != op)
        at++;
    return job.filter[at];
}

/* The weights of a blur or a filter, a row of them in MOT_NEIGHBOURS_TAPS, behind them zeros. A barrier must follow. */
DEVICE void load_weights(neighbours_memory &memory, const mot_step &step, const mot_filter &filter, bool blurs,
                         int size)
{
    const int reach = size / 2;
    for (int k = threadIdx.x; k < size * MOT_NEIGHBOURS_TAPS; k += MOT_BREAK_THREADS) {
        const int ky = k / MOT_NEIGHBOURS_TAPS, kx = k % MOT_NEIGHBOURS_TAPS;
        float weight = 0;
        if (kx < size && blurs)
            weight = __uint_as_float(step.arg.u[abs(ky - reach)]) * __uint_as_float(step.arg.u[abs(kx - reach)]);
        else if (kx < size)
            weight = filter.weight[ky * size + kx];
        memory.weight[k] = weight;
    }
}

static __global__ void __launch_bounds__(MOT_BREAK_THREADS)
    neighbours_kernel(const __grid_constant__ neighbours_job job)
{
    __shared__ neighbours_memory memory;
    const cta_range mine = cta_range_of(job.count);
    const mot_step &step = job.step[mine.image];
    const int kind = kind_of(step);
    if (!(kind & (MOT_BREAK_BLUR | MOT_BREAK_FILTER)))
        return;
    const mot_view src = view_of(job.src, job.channels, mine.image), dst = view_of(job.dst, job.channels, mine.image);
    const bool blurs = kind == MOT_BREAK_BLUR;
    const mot_filter &filter = filter_of(job, step.op);
    const int size = blurs ? (int)step.arg.size : 2 * filter.reach + 1, reach = size / 2;
    const int colors = blurs ? job.channels : mot_color_channels(job.channels);
    load_weights(memory, step, filter, blurs, size);
    const int across = (src.width + MOT_NEIGHBOURS_WIDTH - 1) / MOT_NEIGHBOURS_WIDTH;
    const int64_t tiles = (int64_t)across * ((src.height + MOT_NEIGHBOURS_HEIGHT - 1) / MOT_NEIGHBOURS_HEIGHT);
    const int read =
        blurs ? MOT_NEIGHBOURS_PITCH : MOT_NEIGHBOURS_WIDTH + 4; /* columns; behind a blur's row are weights of 0 */
    for (int64_t tile = mine.first; tile < tiles; tile += mine.step) {
        const int x0 = (int)(tile % across) * MOT_NEIGHBOURS_WIDTH, y0 = (int)(tile / across) * MOT_NEIGHBOURS_HEIGHT;
        const int row = threadIdx.x / 32 * MOT_NEIGHBOURS_ROWS, column = 4 * (threadIdx.x % 32);
        const int x = x0 + column, y = y0 + row;
        const bool any = x < src.width && y < src.height;
        const window_columns columns = columns_of(src, x0, reach);
        uint32_t px[MOT_NEIGHBOURS_ROWS][4] = {};
        for (int c = 0; c < job.channels; c++) {
            const float *const in = &memory.window[row * MOT_NEIGHBOURS_PITCH + column];
            uint8_t out[MOT_NEIGHBOURS_ROWS][4];
            __syncthreads();
            load_window(memory, src, columns, y0, c, reach, read);
            __syncthreads();
            if (!any)
                continue;
            if (blurs)
                blur_rows(memory, in, size, out);
            else if (reach == 1)
                filter_rows<1>(memory, in, filter.offset, out);
            else
                filter_rows<2>(memory, in, filter.offset, out);
#pragma unroll
            for (int r = 0; r < MOT_NEIGHBOURS_ROWS; r++) {
                const bool edge_row = y + r < reach || y + r >= src.height - reach;
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const bool keeps =
                        c >= colors || (!blurs && (edge_row || x + k < reach || x + k >= src.width - reach));
                    const uint8_t centre = mot_byte(in[(r + reach) * MOT_NEIGHBOURS_PITCH + reach + k]);
                    px[r][k] |= (uint32_t)(keeps ? centre : out[r][k]) << (8 * c);
                }
            }
        }
#pragma unroll
        for (int r = 0; r < MOT_NEIGHBOURS_ROWS; r++)
            if (any && y + r < src.height)
                store_pixels(dst, x, y + r, px[r]);
    }
}

/* ---- chains ---- */

/* C: channels, or 4 for any number of them. */
template <int C>
static __global__ void __launch_bounds__(MOT_BREAK_THREADS) chains_kernel(const __grid_constant__ mot_chains_job job)
{
    const cta_range mine = cta_range_of(job.count);
    const mot_view src = view_of(job.src, job.channels, mine.image), dst = view_of(job.dst, job.channels, mine.image);
    const mot_mix_turn *const turns = job.turn + (int64_t)mine.image * job.turns;
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
                load_pixels(view_of(job.chains, job.channels, turn.chain * job.count + mine.image), x, y, chain);
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

/* CTAs for each image: enough to fill the chip, no more than the largest image has work for. */
static int64_t ctas_of(int count, int64_t work, int multiprocessors)
{
    const int64_t fair = ((int64_t)multiprocessors * MOT_BREAK_CTAS + count - 1) / count;
    return work < 1 ? 1 : work < fair ? work : fair;
}

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

static cudaError_t launch_pixels(const mot_break_job *job, const mot_cuda_batch &src, int turned, int copied,
                                 cudaStream_t stream)
{
    const pixels_job pixels = { src, job->dst, job->count, job->channels, job->step, turned, copied };
    return launch(pixels, (const void *)pixels_kernel, pixels_work(job->width, job->height), job->multiprocessors,
                  stream);
}

static cudaError_t launch_neighbours(const mot_break_job *job, cudaStream_t stream)
{
    neighbours_job around = { job->src, job->in_place ? job->spare : job->dst, job->count, job->channels, job->step, {},
                              {} };
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
    const int64_t across = (job->width + MOT_NEIGHBOURS_WIDTH - 1) / MOT_NEIGHBOURS_WIDTH;
    return launch(around, (const void *)neighbours_kernel,
                  across * ((job->height + MOT_NEIGHBOURS_HEIGHT - 1) / MOT_NEIGHBOURS_HEIGHT), job->multiprocessors,
                  stream);
}

cudaError_t mot_break_launch(const mot_break_job *job, cudaStream_t stream)
{
    const int around = job->kinds & (MOT_BREAK_BLUR | MOT_BREAK_FILTER), hue = job->kinds & MOT_BREAK_HUE;
    cudaError_t error = cudaSuccess;
    if (hue || !job->in_place)
        error = launch_pixels(job, job->src, hue, job->in_place ? 0 : MOT_BREAK_NONE, stream);
    if (error == cudaSuccess && around)
        error = launch_neighbours(job, stream);
    if (error == cudaSuccess && around && job->in_place)
        error = launch_pixels(job, job->spare, 0, around, stream);
    return error;
}

cudaError_t mot_chains_launch(const mot_chains_job *job, cudaStream_t stream)
{
    const void *const kernel = job->channels == 3 ? (const void *)chains_kernel<3> : (const void *)chains_kernel<4>;
    return launch(*job, kernel, pixels_work(job->width, job->height), job->multiprocessors, stream);
}
