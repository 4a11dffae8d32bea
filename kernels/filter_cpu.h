/* SPDX-License-Identifier: Apache-2.0 */
/* FILTER on the CPU: row by row, not in place. Packed pixels are one long row whose neighbours are `channels` bytes
 * apart. */
#ifndef MOT_FILTER_CPU_H
#define MOT_FILTER_CPU_H

#include "kernels/filter.h"
#include "kernels/lanes_cpu.h"

/* One row of the neighbourhood, of `reach` components to each side of in[i]. */
static inline float filter_along(const uint8_t *in, size_t i, size_t step, const float *weight, int reach)
{
    if (reach == 1)
        return in[i - step] * weight[0] + in[i] * weight[1] + in[i + step] * weight[2];
    return in[i - 2 * step] * weight[0] + in[i - step] * weight[1] + in[i] * weight[2] + in[i + step] * weight[3] +
           in[i + 2 * step] * weight[4];
}

/* Bytes `edge` to n - edge - 1 of an output row; `in` is the row in the middle. */
static inline void filter_row(const uint8_t *in, int64_t in_row, uint8_t *out, size_t edge, size_t n, size_t step,
                              const float *weight, float offset, int reach)
{
    const int64_t two_rows = reach == 2 ? 2 * in_row : 0;
    const uint8_t *const under2 = in + two_rows;
    const uint8_t *const above2 = in - two_rows;
    const int taps = 2 * reach + 1;
    MOT_LANES
    for (size_t i = edge; i < n - edge; i++) {
        float sum = offset;
        if (reach == 2)
            sum += filter_along(under2, i, step, weight, reach);
        sum += filter_along(in + in_row, i, step, weight + (reach - 1) * taps, reach);
        sum += filter_along(in, i, step, weight + reach * taps, reach);
        sum += filter_along(in - in_row, i, step, weight + (reach + 1) * taps, reach);
        if (reach == 2)
            sum += filter_along(above2, i, step, weight + 4 * taps, reach);
        out[i] = mot_byte(sum);
    }
}

/* One plane, or all channels of packed pixels: rows of n bytes. */
static void filter_plane(const uint8_t *in, int64_t in_row, uint8_t *out, int64_t out_row, size_t n, int height,
                         int channels, const mot_filter *filter)
{
    const int alpha = mot_color_channels(channels);
    const size_t edge = (size_t)(filter->reach * channels), step = (size_t)channels;
    const float offset = filter->offset + 0.5f;
    float weight[25];
    for (int k = 0; k < 25; k++)
        weight[k] = filter->weight[k] / filter->divisor;
    for (int y = 0; y < height; y++, in += in_row, out += out_row) {
        memcpy(out, in, n);
        if (y < filter->reach || y >= height - filter->reach || n <= 2 * edge)
            continue;
        if (filter->reach == 1)
            filter_row(in, in_row, out, edge, n, step, weight, offset, 1);
        else
            filter_row(in, in_row, out, edge, n, step, weight, offset, 2);
        for (size_t i = (size_t)alpha; alpha < channels && i < n; i += step)
            out[i] = in[i];
    }
}

static void filter_by_rows(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count, (void)scratch;
    const mot_filter *const filter = mot_filter_of(steps[0].op);
    if (src->pixel != 1 || src->channels == 1) {
        filter_plane(src->data, src->row, dst->data, dst->row, (size_t)src->width * (size_t)src->channels, src->height,
                     src->channels, filter);
        return;
    }
    static const mot_filter nothing = { .reach = 1, .divisor = 1, .weight = { 0, 0, 0, 0, 1 } };
    for (int c = 0; c < src->channels; c++)
        filter_plane(src->data + c * src->channel, src->row, dst->data + c * dst->channel, dst->row, (size_t)src->width,
                     src->height, 1, c < mot_color_channels(src->channels) ? filter : &nothing);
}

#endif
