/* SPDX-License-Identifier: Apache-2.0 */
/* BLUR on the CPU: running sums along each row in scratch, then down strips of columns, in place. */
#ifndef MOT_BLUR_CPU_H
#define MOT_BLUR_CPU_H

#include "kernels/blur.h"
#include "kernels/lanes_cpu.h"

#define BLUR_STRIP 64 /* bytes of a row that go down together */

static int64_t blur_clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

#include "kernels/shapes_off.h"
#undef MOT_IF_BLUR
#define MOT_IF_BLUR(ID, stem) \
    case MOT_OP_##ID: \
        for (int k = 0; k < BLUR_STRIP; k++) \
            out[k] = mot_##stem(inner[k], (uint32_t)before[k] + after[k], &a); \
        break;

static inline void blur_strip_row(int op, const mot_arg *arg, const uint32_t *inner, const uint8_t *before,
                                  const uint8_t *after, uint8_t *out)
{
    const mot_arg a = *arg;
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
}

#include "kernels/shapes_off.h"

/* One pass down `n` rows of BLUR_STRIP bytes. The box's sum moves by one row at a time: all integers, so exact. */
static void blur_strip(const uint8_t *in, uint8_t *out, int64_t n, const mot_step *step)
{
    const int64_t radius = mot_blur_radius(&step->arg);
    uint32_t inner[BLUR_STRIP];
    for (int k = 0; k < BLUR_STRIP; k++)
        inner[k] = (uint32_t)(radius + 1) * in[k]; /* rows -radius .. 0 */
    for (int64_t i = 1; i <= radius; i++) {
        const uint8_t *row = in + blur_clamp(i, n) * BLUR_STRIP;
        for (int k = 0; k < BLUR_STRIP; k++)
            inner[k] += row[k];
    }
    for (int64_t i = 0; i < n; i++) {
        blur_strip_row(step->op, &step->arg, inner, in + blur_clamp(i - radius - 1, n) * BLUR_STRIP,
                       in + blur_clamp(i + radius + 1, n) * BLUR_STRIP, out + i * BLUR_STRIP);
        const uint8_t *leaves = in + blur_clamp(i - radius, n) * BLUR_STRIP;
        const uint8_t *enters = in + blur_clamp(i + radius + 1, n) * BLUR_STRIP;
        for (int k = 0; k < BLUR_STRIP; k++)
            inner[k] += (uint32_t)enters[k] - leaves[k];
    }
}

/* The same along n samples that lie `stride` bytes apart. */
static void blur_line(const uint8_t *in, uint8_t *out, int64_t n, int64_t stride, const mot_step *step)
{
    const int64_t radius = mot_blur_radius(&step->arg);
    const int op = step->op;
    const mot_arg arg = step->arg;
    uint32_t inner = (uint32_t)(radius + 1) * in[0];
    for (int64_t i = 1; i <= radius; i++)
        inner += in[blur_clamp(i, n) * stride];
    const int64_t inside = n - radius - 1; /* up to here nothing beyond the end is read */
    int64_t i = 0;
    for (; i < n && (i <= radius || i >= inside); i++) {
        const uint32_t after = in[blur_clamp(i + radius + 1, n) * stride];
        out[i * stride] = mot_blur_value(op, inner, in[blur_clamp(i - radius - 1, n) * stride] + after, &arg);
        inner += after - in[blur_clamp(i - radius, n) * stride];
    }
    for (; i < inside; i++) {
        const uint32_t after = in[(i + radius + 1) * stride];
        out[i * stride] = mot_blur_value(op, inner, in[(i - radius - 1) * stride] + after, &arg);
        inner += after - in[(i - radius) * stride];
    }
    for (; i < n; i++) {
        const uint32_t after = in[(n - 1) * stride];
        out[i * stride] = mot_blur_value(op, inner, in[(i - radius - 1) * stride] + after, &arg);
        inner += after - in[(i - radius) * stride];
    }
}

static void blur_rows(const uint8_t *in, int64_t in_row, uint8_t *out, int64_t out_row, int64_t width, int height,
                      int channels, const mot_step *step, uint8_t *scratch)
{
    const size_t n = (size_t)width * (size_t)channels;
    uint8_t *next = scratch, *last = scratch + n;
    for (int y = 0; y < height; y++) {
        for (int c = 0; c < channels; c++) {
            blur_line(in + y * in_row + c, next + c, width, channels, step);
            blur_line(next + c, last + c, width, channels, step);
            blur_line(last + c, next + c, width, channels, step);
        }
        memcpy(out + y * out_row, next, n);
    }
}

static void blur_columns(uint8_t *data, int64_t row, size_t n, int height, const mot_step *step, uint8_t *scratch)
{
    uint8_t *next = scratch, *last = scratch + (size_t)height * BLUR_STRIP;
    for (size_t x = 0; x < n; x += BLUR_STRIP) {
        const size_t bytes = n - x < BLUR_STRIP ? n - x : BLUR_STRIP;
        memset(next, 0, (size_t)height * BLUR_STRIP);
        for (int y = 0; y < height; y++)
            memcpy(next + (size_t)y * BLUR_STRIP, data + y * row + x, bytes);
        blur_strip(next, last, height, step);
        blur_strip(last, next, height, step);
        blur_strip(next, last, height, step);
        for (int y = 0; y < height; y++)
            memcpy(data + y * row + x, last + (size_t)y * BLUR_STRIP, bytes);
    }
}

static void blur_by_sums(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count;
    const int planes = src->pixel == 1 ? src->channels : 1, channels = src->channels / planes;
    for (int p = 0; p < planes; p++) {
        uint8_t *out = dst->data + p * dst->channel;
        blur_rows(src->data + p * src->channel, src->row, out, dst->row, src->width, src->height, channels, &steps[0],
                  scratch);
        blur_columns(out, dst->row, (size_t)src->width * (size_t)channels, src->height, &steps[0], scratch);
    }
}

#endif
