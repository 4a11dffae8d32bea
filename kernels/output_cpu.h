/* SPDX-License-Identifier: Apache-2.0 */
/* The optional last step, where rows of bytes become rows of F32. Compiled once per instruction set, by set_cpu.c. */
#ifndef MOT_OUTPUT_CPU_H
#define MOT_OUTPUT_CPU_H

#include "kernels/lanes_cpu.h"
#include "kernels/output.h"

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)

static void output_row(const uint8_t *restrict in, float *restrict out, size_t n, const mot_output_products *products)
{
    const mot_output_products by = *products; /* in registers */
    for (size_t i = 0; i < n; i++)
        out[i] = mot_output_by_products(&by, in[i]);
}

/* Whether all channels are rows that output_row can read and write, and products make their values. */
static int output_has_rows(const mot_view *src, const mot_view *dst, motley_dtype dtype,
                           const mot_output_channel *channels)
{
    int rows = dtype == MOTLEY_F32 && dst->pixel == sizeof(float) &&
               (src->pixel == 1 || mot_cpu_has_layout(src, MOT_LAYOUT_PACKED));
    for (int c = 0; c < src->channels && rows; c++)
        rows = channels[c].products.exact;
    return rows;
}

static void write_output(const mot_view *src, const mot_view *dst, motley_dtype dtype,
                         const mot_output_channel *channels)
{
    uint8_t plane[4][LANES_BLOCK];
    if (!output_has_rows(src, dst, dtype, channels)) {
        mot_cpu_write_output(src, dst, dtype, channels);
        return;
    }
    for (int y = 0; y < src->height; y++)
        for (int x = 0; x < src->width; x += LANES_BLOCK) {
            const size_t n = (size_t)(src->width - x < LANES_BLOCK ? src->width - x : LANES_BLOCK);
            const uint8_t *const in = src->data + y * src->row + x * src->pixel;
            if (src->pixel != 1)
                lanes_split(in, src->channels, n, plane);
            for (int c = 0; c < src->channels; c++)
                output_row(src->pixel == 1 ? in + c * src->channel : plane[c],
                           (float *)(void *)(dst->data + y * dst->row + x * dst->pixel + c * dst->channel), n,
                           &channels[c].products);
        }
}

#else
#define write_output mot_cpu_write_output
#endif
#endif
