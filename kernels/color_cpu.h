/* SPDX-License-Identifier: Apache-2.0 */
/* COLOR on the CPU: planes of a block of pixels, their luma, and the op on each plane. Ops that blend with the luma,
 * and the one that is the luma, have loops for RGB. */
#ifndef MOT_COLOR_CPU_H
#define MOT_COLOR_CPU_H

#include "kernels/color.h"
#include "kernels/lanes_cpu.h"

#include "kernels/shapes_off.h"
#undef MOT_IF_COLOR
#define MOT_IF_COLOR(ID, stem) \
    case MOT_OP_##ID: \
        MOT_LANES \
        for (size_t i = 0; i < n; i++) \
            out[i] = mot_##stem(in[i], luma[i], &a); \
        break;

static void color_run(int op, const mot_arg *arg, const uint8_t *in, const uint8_t *luma, uint8_t *out, size_t n)
{
    const mot_arg a = *arg;
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        memmove(out, in, n);
    }
}

#include "kernels/shapes_off.h"

static void color_by_planes(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count, (void)scratch;
    const int channels = src->channels, colors = mot_color_channels(src);
    const int packed = channels > 1 && src->pixel != 1;
    const lanes_runs runs = lanes_runs_of(src, dst);
    uint8_t plane[4][LANES_BLOCK], luma[LANES_BLOCK];
    for (int y = 0; y < runs.rows; y++)
        for (size_t x = 0; x < runs.length; x += LANES_BLOCK) {
            const size_t n = runs.length - x < LANES_BLOCK ? runs.length - x : LANES_BLOCK;
            const uint8_t *in = src->data + y * src->row + (int64_t)x * src->pixel;
            uint8_t *out = dst->data + y * dst->row + (int64_t)x * dst->pixel;
            const uint8_t *from[4] = { in };
            uint8_t *to[4] = { out };
            for (int c = 0; c < channels; c++) {
                from[c] = packed ? plane[c] : in + c * src->channel;
                to[c] = packed ? plane[c] : out + c * dst->channel;
            }
            if (packed)
                lanes_split(in, channels, n, plane);
            if (colors == 3)
                lanes_luma(from[0], from[1], from[2], n, luma);
            for (int c = 0; c < channels; c++)
                if (c < colors)
                    color_run(steps[0].op, &steps[0].arg, from[c], colors == 3 ? luma : from[c], to[c], n);
                else if (!packed)
                    memmove(to[c], from[c], n);
            if (packed)
                lanes_merge((const uint8_t(*)[LANES_BLOCK])plane, channels, n, out);
        }
}

/* RGB: each channel blended with the luma. Packed pixels stay packed, and the luma is repeated for each channel. */
static void color_blend(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count, (void)scratch;
    const int packed = src->pixel != 1;
    const float factor = steps[0].arg.factor;
    const lanes_runs runs = lanes_runs_of(src, dst);
    uint8_t plane[3][LANES_BLOCK], luma[LANES_BLOCK], grey[3 * LANES_BLOCK];
    for (int y = 0; y < runs.rows; y++)
        for (size_t x = 0; x < runs.length; x += LANES_BLOCK) {
            const size_t n = runs.length - x < LANES_BLOCK ? runs.length - x : LANES_BLOCK;
            const uint8_t *in = src->data + y * src->row + (int64_t)x * src->pixel;
            uint8_t *out = dst->data + y * dst->row + (int64_t)x * dst->pixel;
            if (packed) {
                lanes_split(in, 3, n, plane);
                lanes_luma(plane[0], plane[1], plane[2], n, luma);
                lanes_spread(luma, n, grey);
                lanes_blend(grey, in, factor, 3 * n, out);
            } else {
                lanes_luma(in, in + src->channel, in + 2 * src->channel, n, luma);
                for (int c = 0; c < 3; c++)
                    lanes_blend(luma, in + c * src->channel, factor, n, out + c * dst->channel);
            }
        }
}

/* Packed RGB: the luma in every channel. */
static void color_luma(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)steps, (void)count, (void)scratch;
    const lanes_runs runs = lanes_runs_of(src, dst);
    uint8_t plane[3][LANES_BLOCK], luma[LANES_BLOCK];
    for (int y = 0; y < runs.rows; y++)
        for (size_t x = 0; x < runs.length; x += LANES_BLOCK) {
            const size_t n = runs.length - x < LANES_BLOCK ? runs.length - x : LANES_BLOCK;
            lanes_split(src->data + y * src->row + 3 * (int64_t)x, 3, n, plane);
            lanes_luma(plane[0], plane[1], plane[2], n, luma);
            lanes_spread(luma, n, dst->data + y * dst->row + 3 * (int64_t)x);
        }
}

#endif
