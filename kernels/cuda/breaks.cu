/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for the breaks between runs of ops, and for chains. A few CTAs work on each image; those of an image that has
 * nothing for their kernel end at once. */
#include "kernels/cuda/breaks.h"

#include "augmentations/augmix.h"
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
    const int kind = kind_of(job.step[mine.image]);
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

/* ---- kernel blur ---- */

#define MOT_BLUR_SIDE 64 /* of a tile, pixels: each thread makes four columns of four rows */
#define MOT_BLUR_ROWS (MOT_BLUR_SIDE + MOTLEY_MAX_KERNEL - 1)
#define MOT_BLUR_PITCH (MOT_BLUR_SIDE + MOTLEY_MAX_KERNEL + 1) /* whole words */
#define MOT_BLUR_CTAS 4                                        /* on a multiprocessor; bounds a thread's registers */
#define MOT_BLUR_DOUBTS 512                                    /* of a tile that are computed together */

struct blur_job {
    mot_cuda_batch src, dst;
    int32_t count, channels;
    const mot_step *step;
};

/* One channel of a tile with `reach` more pixels on each side, its rows blurred along, and what rounding may decide
 * otherwise than torchvision's sum: channel, row and column, and then the byte. */
struct blur_memory {
    alignas(16) float along[MOT_BLUR_ROWS * MOT_BLUR_SIDE];
    alignas(4) uint8_t window[MOT_BLUR_ROWS * MOT_BLUR_PITCH];
    alignas(16) float scaled[MOTLEY_MAX_KERNEL + 1]; /* 2^126 times `weight`, and then zeros */
    float weight[MOTLEY_MAX_KERNEL + 1];
    float wrong; /* how much the sums of white pixels may differ */
    uint16_t doubt[MOT_BLUR_DOUBTS];
    uint8_t settled[MOT_BLUR_DOUBTS];
    int doubts;
};

/* A tile of an image, and its part inside the image. */
struct blur_tile_place {
    int x, y, columns, rows;
    int size, reach; /* of the kernel */
};

struct four {
    alignas(16) float v[4];
};

/* Pixel i of n, mirrored into the image. Far outside, where the result is not used, it may be any pixel. */
DEVICE int inside(int i, int n)
{
    const int mirrored = mot_mirror(i, n);
    return mirrored < 0 ? 0 : mirrored >= n ? n - 1 : mirrored;
}

/* How far a sum of the two passes may be from its byte to be trusted: half minus the most that it and torchvision's can
 * differ by, of white pixels. A step of torchvision's sum is wrong by at most half a unit of the sum so far, or by what
 * it adds; as weights are symmetric, two steps have the whole sum so far between them, and one product more. Those of
 * the two passes have it each. Negative if nothing is known, as weights that a caller gives may be any. For all
 * threads, with barriers. */
static __device__ float blur_limit(const float *weight, int size, float &wrong)
{
    float sum = 0, own = 0;
    bool known = true;
    for (int i = 0; i < size; i++) {
        known = known && weight[i] >= 0;
        sum += weight[i];
    }
    const float all = sum * sum, unit = 0x1p-24f;
    for (int i = threadIdx.x; i < size * size; i += blockDim.x) {
        const float product = weight[i / size] * weight[i % size];
        own += fminf(product, 0.5f * unit * (all + product));
    }
#pragma unroll
    for (int step = 16; step; step /= 2)
        own += __shfl_xor_sync(0xFFFFFFFFu, own, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&wrong, own);
    __syncthreads();
    return known && sum < 1.25f ? 0.5f - 1.01f * 255.0f * (wrong + unit * all * (float)(2 * size + 8)) : -1.0f;
}

/* A byte as a denormal number: 2^-149 of it. Weights that are 2^126 as large make normal sums of them. */
DEVICE float tiny_byte(uint32_t word, int k)
{
    return __uint_as_float(__byte_perm(word, 0, 0x4440 | k));
}

DEVICE void load_blur_window(blur_memory &memory, const mot_view &src, const blur_tile_place &at, int c)
{
    const int lane = threadIdx.x % 32, width = at.columns + 2 * at.reach;
    int64_t column[(MOT_BLUR_PITCH + 31) / 32];
#pragma unroll
    for (int k = 0; k < (MOT_BLUR_PITCH + 31) / 32; k++)
        column[k] = inside(at.x + lane + 32 * k - at.reach, src.width) * src.pixel + c * src.channel;
#pragma unroll 2
    for (int row = threadIdx.x / 32; row < at.rows + 2 * at.reach; row += MOT_BREAK_THREADS / 32) {
        const uint8_t *const in = address(src, 0, inside(at.y + row - at.reach, src.height));
        uint8_t *const to = memory.window + row * MOT_BLUR_PITCH + lane;
#pragma unroll
        for (int k = 0; k < (MOT_BLUR_PITCH + 31) / 32; k++)
            if (lane + 32 * k < width)
                to[32 * k] = (uint8_t)load_byte(in + column[k]);
    }
}

/* Blurs the window's rows, four columns at a time. Sums are 2^-23 of bytes. */
DEVICE void blur_along(blur_memory &memory, const blur_tile_place &at)
{
    const int across = (at.columns + 3) / 4, n = across * (at.rows + 2 * at.reach);
    const uint32_t by_across = inverse_of(across);
    for (int i = threadIdx.x; i < n; i += MOT_BREAK_THREADS) {
        const int row = divided(i, by_across), group = i - row * across;
        const uint32_t *const in = (const uint32_t *)(memory.window + row * MOT_BLUR_PITCH) + group;
        float sum[4] = {}, p[8];
#pragma unroll
        for (int k = 0; k < 4; k++)
            p[4 + k] = tiny_byte(in[0], k);
#pragma unroll 2
        for (int t0 = 0; t0 < at.size; t0 += 4) {
            const four w = *(const four *)(memory.scaled + t0);
            const uint32_t next = in[t0 / 4 + 1];
#pragma unroll
            for (int k = 0; k < 4; k++)
                p[k] = p[4 + k], p[4 + k] = tiny_byte(next, k);
#pragma unroll
            for (int t = 0; t < 4; t++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    sum[k] = fmaf(w.v[t], p[t + k], sum[k]);
        }
        *(four *)&memory.along[row * MOT_BLUR_SIDE + 4 * group] = four{ { sum[0], sum[1], sum[2], sum[3] } };
    }
}

/* Four columns of four rows, from the uppermost of the `rows` that they need on. Weights before and behind the kernel's
 * are 0. */
DEVICE void blur_down(const float *along, const float *weight, int size, int rows, float sum[4][4])
{
    float w[4] = {}; /* of the four rows */
#pragma unroll 4
    for (int r = 0; r < rows; r++) {
        const four in = *(const four *)(along + r * MOT_BLUR_SIDE);
        w[3] = w[2], w[2] = w[1], w[1] = w[0], w[0] = r < size ? weight[r] : 0;
#pragma unroll
        for (int row = 0; row < 4; row++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum[row][k] = fmaf(w[row], in.v[k], sum[row][k]);
    }
}

/* torchvision's sum of a component: over all weights in its order. */
DEVICE uint8_t blur_exactly(const blur_memory &memory, const blur_tile_place &at, int row, int column)
{
    const uint8_t *in = memory.window + row * MOT_BLUR_PITCH + column;
    float sum = 0;
    for (int ky = 0; ky < at.size; ky++, in += MOT_BLUR_PITCH)
#pragma unroll 4
        for (int kx = 0; kx < at.size; kx++)
            sum = fmaf(memory.weight[ky] * memory.weight[kx], mot_above(in[kx]) - 8388608.0f, sum);
    return mot_kernel_blur_byte(sum);
}

/* One channel of a thread's pixels. */
DEVICE void blur_channel(blur_memory &memory, const blur_tile_place &at, int group, int row, float limit, int c,
                         uint32_t px[4][4])
{
    float sum[4][4] = {};
    blur_down(&memory.along[row * MOT_BLUR_SIDE + 4 * group], memory.weight, at.size,
              min(at.size + 3, at.rows + 2 * at.reach - row), sum);
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float nearest = sum[r][k] + 1.0f; /* rounds to a whole number of 2^-23 */
            uint32_t byte = __float_as_uint(nearest) & 255;
            if (!(fabsf(sum[r][k] - (nearest - 1.0f)) < limit) && 4 * group + k < at.columns && row + r < at.rows) {
                const int place = atomicAdd(&memory.doubts, 1);
                if (place < MOT_BLUR_DOUBTS)
                    memory.doubt[place] = (uint16_t)((c * MOT_BLUR_SIDE + row + r) * MOT_BLUR_SIDE + 4 * group + k);
                else
                    byte = blur_exactly(memory, at, row + r, 4 * group + k);
            }
            px[r][k] |= byte << (8 * c);
        }
}

DEVICE void blur_tile_of(blur_memory &memory, const mot_view &src, const mot_view &dst, const blur_tile_place &at,
                         float limit)
{
    const int across = (at.columns + 3) / 4, row = (int)threadIdx.x / across * 4, group = (int)threadIdx.x % across;
    uint32_t px[4][4] = {};
    int settled = 0; /* doubts */
    for (int c = 0; c < src.channels; c++) {
        load_blur_window(memory, src, at, c);
        __syncthreads();
        blur_along(memory, at);
        __syncthreads();
        if (row < at.rows)
            blur_channel(memory, at, group, row, limit, c, px);
        __syncthreads();
        const int doubts = min(memory.doubts, MOT_BLUR_DOUBTS);
        for (int i = settled + (int)threadIdx.x; i < doubts; i += MOT_BREAK_THREADS)
            memory.settled[i] = blur_exactly(memory, at, memory.doubt[i] / MOT_BLUR_SIDE % MOT_BLUR_SIDE,
                                             memory.doubt[i] % MOT_BLUR_SIDE);
        settled = doubts;
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
        if (row + r < at.rows)
            store_pixels(dst, at.x + 4 * group, at.y + row + r, px[r]);
    __syncthreads();
    for (int i = threadIdx.x; i < settled; i += MOT_BREAK_THREADS) {
        const int where = memory.doubt[i], line = where / MOT_BLUR_SIDE;
        address(dst, at.x + where % MOT_BLUR_SIDE, at.y + line % MOT_BLUR_SIDE)[line / MOT_BLUR_SIDE * dst.channel] =
            memory.settled[i];
    }
    if (threadIdx.x == 0)
        memory.doubts = 0;
}

/* torchvision's blur by two passes, along rows and then down. Where rounding to a byte might differ for that, the sum
 * is computed once more in torchvision's order. */
static __global__ void __launch_bounds__(MOT_BREAK_THREADS, MOT_BLUR_CTAS)
    blur_kernel(const __grid_constant__ blur_job job)
{
    __shared__ blur_memory memory;
    const cta_range mine = cta_range_of(job.count);
    const mot_step &step = job.step[mine.image];
    if (kind_of(step) != MOT_BREAK_BLUR)
        return;
    const mot_view src = view_of(job.src, job.channels, mine.image), dst = view_of(job.dst, job.channels, mine.image);
    const int size = (int)step.arg.size, reach = size / 2, own = threadIdx.x;
    if (own <= MOTLEY_MAX_KERNEL) {
        memory.weight[own] = own < size ? __uint_as_float(step.arg.u[abs(own - reach)]) : 0;
        memory.scaled[own] = memory.weight[own] * 0x1p126f;
    }
    if (own == 0)
        memory.doubts = 0, memory.wrong = 0;
    __syncthreads();
    const float limit = blur_limit(memory.weight, size, memory.wrong) * 0x1p-23f;
    const int across = (src.width + MOT_BLUR_SIDE - 1) / MOT_BLUR_SIDE;
    const int64_t tiles = (int64_t)across * ((src.height + MOT_BLUR_SIDE - 1) / MOT_BLUR_SIDE);
    for (int64_t tile = mine.first; tile < tiles; tile += mine.step) {
        const int x = (int)(tile % across) * MOT_BLUR_SIDE, y = (int)(tile / across) * MOT_BLUR_SIDE;
        blur_tile_of(
            memory, src, dst,
            blur_tile_place{ x, y, min(MOT_BLUR_SIDE, src.width - x), min(MOT_BLUR_SIDE, src.height - y), size, reach },
            limit);
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
    const mot_step &step = job.step[mine.image];
    if (kind_of(step) != MOT_BREAK_FILTER)
        return;
    const mot_view src = view_of(job.src, job.channels, mine.image), dst = view_of(job.dst, job.channels, mine.image);
    const mot_filter &filter = filter_of(job, step.op);
    const int reach = filter.reach, size = 2 * reach + 1, colors = mot_color_channels(job.channels);
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
    if (!job->in_place)
        error = launch_copy(job, job->src, MOT_BREAK_NONE, stream);
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
