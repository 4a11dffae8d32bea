/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's blur. Its sums run over all k x k weights in a fixed order, each step rounded. Here two passes of k
 * weights come first, down and then along, whose sums differ from torchvision's by less than a bound that is known.
 * Where rounding to a byte might differ for that, the sum is computed once more in torchvision's order. */
#ifndef MOT_KERNEL_BLUR_CPU_H
#define MOT_KERNEL_BLUR_CPU_H

#include "augmentations/kernel_blur.h"
#include "kernels/cpu.h"
#include "kernels/vectors_cpu.h"

#define KERNEL_BLUR_BLOCK 64 /* components whose sums stay in registers */
#define KERNEL_BLUR_CHAINS 8 /* sums in torchvision's order at a time, as each step waits for the one before */

/* An image of one plane or of packed pixels, and the source's rows around the current one as binary32. */
typedef struct kernel_blur_job {
    const mot_view *src;
    const float *half;
    int size, reach;
    float *ring; /* [size][row_length]: with `reach` mirrored pixels at each end */
    size_t row_length;
    float limit; /* how far a sum may be from its byte to be trusted */
} kernel_blur_job;

#ifdef MOT_HAS_VECTORS
#define KERNEL_BLUR_LANES (VECTOR_BYTES / 4)
#else
#define KERNEL_BLUR_LANES 4
#endif
typedef float kernel_blur_vector __attribute__((vector_size(4 * KERNEL_BLUR_LANES), aligned(4), may_alias));

/* Half minus the most that the two sums can differ by. A step of torchvision's sum is wrong by half a unit of the sum
 * so far, or by the product that it adds if that is less. The two passes take reach + 1 steps each, and a few roundings
 * more, of products and pairs. Negative when nothing is known: weights that a caller gives may be any. */
static float kernel_blur_limit(const float *half, int reach)
{
    const double unit = 0x1p-24;
    double sum = 0, wrong = 0;
    for (int ky = -reach; ky <= reach; ky++)
        for (int kx = -reach; kx <= reach; kx++) {
            const double weight = (double)half[ky < 0 ? -ky : ky] * half[kx < 0 ? -kx : kx];
            if (!(weight >= 0 && sum <= 2))
                return -1;
            sum += weight;
            wrong += weight < unit * sum ? weight : unit * sum;
        }
    wrong += unit * sum * (2 * reach + 8);
    return (float)(0.5 - 1.01 * 255 * wrong);
}

static inline float *kernel_blur_row(const kernel_blur_job *job, int32_t y)
{
    return job->ring + (size_t)(mot_mirror(y, job->src->height) % job->size) * job->row_length;
}

/* Loads a row with `reach` mirrored pixels at each end, channels side by side. */
static void kernel_blur_load(const kernel_blur_job *job, int32_t y)
{
    const mot_view *const src = job->src;
    const int channels = src->channels;
    const uint8_t *const from = src->data + y * src->row;
    float *const row = kernel_blur_row(job, y), *const inside = row + job->reach * channels;
    if (src->pixel == channels && (channels == 1 || src->channel == 1))
        for (int32_t i = 0; i < src->width * channels; i++)
            inside[i] = from[i];
    else
        for (int32_t x = 0; x < src->width; x++)
            for (int c = 0; c < channels; c++)
                inside[x * channels + c] = from[x * src->pixel + c * src->channel];
    for (int32_t x = 1; x <= job->reach; x++)
        for (int c = 0; c < channels; c++) {
            inside[-x * channels + c] = inside[x * channels + c];
            inside[(src->width - 1 + x) * channels + c] = inside[(src->width - 1 - x) * channels + c];
        }
}

/* A block's sums of the weighted middle and the pairs at its sides, all from `at` on. */
static inline void kernel_blur_pass(const kernel_blur_job *job, const float *middle, const float *(*pairs)[2], int at,
                                    float *out)
{
    enum { VECTORS = 4 }; /* that stay in registers */
    for (int begin = 0; begin < KERNEL_BLUR_BLOCK; begin += VECTORS * KERNEL_BLUR_LANES) {
        kernel_blur_vector sum[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            sum[v] = job->half[0] * *(const kernel_blur_vector *)(middle + at + begin + v * KERNEL_BLUR_LANES);
        for (int k = 1; k <= job->reach; k++) {
            const float *const before = pairs[k][0] + at + begin, *const after = pairs[k][1] + at + begin;
            for (int v = 0; v < VECTORS; v++)
                sum[v] += job->half[k] * (*(const kernel_blur_vector *)(before + v * KERNEL_BLUR_LANES) +
                                          *(const kernel_blur_vector *)(after + v * KERNEL_BLUR_LANES));
        }
        for (int v = 0; v < VECTORS; v++)
            *(kernel_blur_vector *)(out + begin + v * KERNEL_BLUR_LANES) = sum[v];
    }
}

/* The pass down: rows around row y into one. */
static void kernel_blur_down(const kernel_blur_job *job, int32_t y, float *out)
{
    const int components = (job->src->width + 2 * job->reach) * job->src->channels;
    const float *const middle = kernel_blur_row(job, y), *pairs[MOTLEY_KERNEL_WEIGHTS][2];
    for (int k = 1; k <= job->reach; k++) {
        pairs[k][0] = kernel_blur_row(job, y - k);
        pairs[k][1] = kernel_blur_row(job, y + k);
    }
    for (int begin = 0; begin < components; begin += KERNEL_BLUR_BLOCK)
        kernel_blur_pass(job, middle, pairs, begin, out + begin);
}

/* A block of sums in torchvision's order. */
static void kernel_blur_whole_block(const kernel_blur_job *job, int32_t y, int32_t begin, uint8_t *bytes)
{
    const int reach = job->reach, channels = job->src->channels;
    float sum[KERNEL_BLUR_BLOCK] = { 0 };
    for (int ky = -reach; ky <= reach; ky++) {
        const float *const row = kernel_blur_row(job, y + ky) + begin;
        for (int kx = -reach; kx <= reach; kx++) {
            const float weight = job->half[ky < 0 ? -ky : ky] * job->half[kx < 0 ? -kx : kx];
            const float *const from = row + (kx + reach) * channels;
            for (int i = 0; i < KERNEL_BLUR_BLOCK; i++)
                sum[i] = fmaf(weight, from[i], sum[i]);
        }
    }
    for (int i = 0; i < KERNEL_BLUR_BLOCK; i++)
        bytes[i] = mot_kernel_blur_byte(sum[i]);
}

/* Some sums in torchvision's order: those of the components that `at` lists, KERNEL_BLUR_CHAINS of them. */
static void kernel_blur_some(const kernel_blur_job *job, int32_t y, const int32_t *at, uint8_t *bytes)
{
    const int reach = job->reach, channels = job->src->channels;
    float sum[KERNEL_BLUR_CHAINS] = { 0 };
    for (int ky = -reach; ky <= reach; ky++) {
        const float *const row = kernel_blur_row(job, y + ky);
        const float outer = job->half[ky < 0 ? -ky : ky];
        for (int kx = -reach; kx <= reach; kx++) {
            const float weight = outer * job->half[kx < 0 ? -kx : kx];
            const float *const from = row + (kx + reach) * channels;
            for (int i = 0; i < KERNEL_BLUR_CHAINS; i++)
                sum[i] = fmaf(weight, from[at[i]], sum[i]);
        }
    }
    for (int i = 0; i < KERNEL_BLUR_CHAINS; i++)
        bytes[at[i]] = mot_kernel_blur_byte(sum[i]);
}

/* The pass along: one block of bytes, the first `used` of which matter. Returns how many of their sums are too close to
 * a half. */
static int kernel_blur_along(const kernel_blur_job *job, const float *down, int used, uint8_t *bytes, uint8_t *unsure)
{
    const int channels = job->src->channels;
    const float *const middle = down + job->reach * channels;
    const float *pairs[MOTLEY_KERNEL_WEIGHTS][2];
    float sum[KERNEL_BLUR_BLOCK];
    for (int k = 1; k <= job->reach; k++) {
        pairs[k][0] = middle - k * channels;
        pairs[k][1] = middle + k * channels;
    }
    kernel_blur_pass(job, middle, pairs, 0, sum);
    int32_t whole[KERNEL_BLUR_BLOCK], close[KERNEL_BLUR_BLOCK], count = 0;
    for (int i = 0; i < KERNEL_BLUR_BLOCK; i++) {
        const float rounded = (sum[i] + 0x1.8p23f) - 0x1.8p23f; /* rintf, which SSE2 has not */
        whole[i] = (int32_t)rounded;
        close[i] = (i < used) & !(fabsf(sum[i] - rounded) <= job->limit); /* or not a number */
        count += close[i];
    }
    for (int i = 0; i < KERNEL_BLUR_BLOCK; i++)
        bytes[i] = (uint8_t)whole[i];
    for (int i = 0; i < KERNEL_BLUR_BLOCK && count > 0; i++)
        unsure[i] = (uint8_t)close[i];
    return count;
}

/* One row of the result, as floor(components / block) + 1 whole blocks of bytes. */
static void kernel_blur_make_row(const kernel_blur_job *job, int32_t y, float *down, uint8_t *bytes)
{
    const int32_t components = job->src->width * job->src->channels;
    int32_t at[KERNEL_BLUR_CHAINS + KERNEL_BLUR_BLOCK], found = 0;
    kernel_blur_down(job, y, down);
    for (int32_t begin = 0; begin < components; begin += KERNEL_BLUR_BLOCK) {
        uint8_t unsure[KERNEL_BLUR_BLOCK];
        const int count = kernel_blur_along(job, down + begin, components - begin, bytes + begin, unsure);
        if (count == 0)
            continue;
        if (count > KERNEL_BLUR_BLOCK / 8) {
            kernel_blur_whole_block(job, y, begin, bytes + begin);
            continue;
        }
        for (int i = 0; i < KERNEL_BLUR_BLOCK; i++)
            if (unsure[i])
                at[found++] = begin + i;
        while (found >= KERNEL_BLUR_CHAINS) {
            found -= KERNEL_BLUR_CHAINS;
            kernel_blur_some(job, y, at + found, bytes);
        }
    }
    if (found > 0) {
        for (int i = found; i < KERNEL_BLUR_CHAINS; i++)
            at[i] = at[0];
        kernel_blur_some(job, y, at, bytes);
    }
}

/* Writes a packed row. */
static void kernel_blur_put(const uint8_t *bytes, const mot_view *dst, int32_t y)
{
    uint8_t *const out = dst->data + y * dst->row;
    if (dst->pixel == dst->channels && (dst->channels == 1 || dst->channel == 1)) {
        memcpy(out, bytes, (size_t)dst->width * (size_t)dst->channels);
        return;
    }
    for (int32_t x = 0; x < dst->width; x++)
        for (int c = 0; c < dst->channels; c++)
            out[x * dst->pixel + c * dst->channel] = bytes[x * dst->channels + c];
}

static void kernel_blur(const mot_view *src, const mot_view *dst, const float *half, int size, void *scratch)
{
    if (src->pixel == 1 && dst->pixel == 1 && src->channels > 1) { /* plane by plane */
        for (int c = 0; c < src->channels; c++) {
            mot_view from = *src, to = *dst;
            from.data += c * src->channel;
            to.data += c * dst->channel;
            from.channels = to.channels = 1;
            kernel_blur(&from, &to, half, size, scratch);
        }
        return;
    }
    kernel_blur_job job = { .src = src, .half = half, .size = size, .reach = size / 2, .ring = scratch };
    job.row_length = mot_cpu_kernel_blur_row(src->width, src->channels);
    job.limit = kernel_blur_limit(half, job.reach);
    float *const down = job.ring + (size_t)size * job.row_length;
    uint8_t *const bytes = (uint8_t *)(down + job.row_length);
    int32_t loaded = 0;
    for (int32_t y = 0; y < src->height; y++) {
        for (; loaded < src->height && loaded <= y + job.reach; loaded++)
            kernel_blur_load(&job, loaded);
        kernel_blur_make_row(&job, y, down, bytes);
        kernel_blur_put(bytes, dst, y);
    }
}

#endif
