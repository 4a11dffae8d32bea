/* SPDX-License-Identifier: Apache-2.0 */
/* FILTER on the CPU: row by row, not in place. Packed pixels are one long row whose neighbours are `channels` bytes
 * apart.
 *
 * A filter whose weights are the same all around needs only sums of squares of 3x3 and 5x5 bytes, in 16 bits. Its exact
 * result rounds as Pillow's sum of floats does, except where that is half a step and Pillow's weights are rounded:
 * there the floats are added. */
#ifndef MOT_FILTER_CPU_H
#define MOT_FILTER_CPU_H

#include "kernels/filter.h"
#include "kernels/lanes_cpu.h"

#include <stdlib.h>

/* One row of the neighbourhood, of `reach` components to each side of in[i]. */
static inline float filter_along(const uint8_t *in, size_t i, size_t step, const float *weight, int reach)
{
    if (reach == 1)
        return in[i - step] * weight[0] + in[i] * weight[1] + in[i + step] * weight[2];
    return in[i - 2 * step] * weight[0] + in[i - step] * weight[1] + in[i] * weight[2] + in[i + step] * weight[3] +
           in[i + 2 * step] * weight[4];
}

/* Pillow's sum at in[i]. */
static inline float filter_sum(const uint8_t *in, int64_t in_row, size_t i, size_t step, const float *weight,
                               float offset, int reach)
{
    const int64_t two_rows = reach == 2 ? 2 * in_row : 0;
    const int taps = 2 * reach + 1;
    float sum = offset;
    if (reach == 2)
        sum += filter_along(in + two_rows, i, step, weight, reach);
    sum += filter_along(in + in_row, i, step, weight + (reach - 1) * taps, reach);
    sum += filter_along(in, i, step, weight + reach * taps, reach);
    sum += filter_along(in - in_row, i, step, weight + (reach + 1) * taps, reach);
    if (reach == 2)
        sum += filter_along(in - two_rows, i, step, weight + 4 * taps, reach);
    return sum;
}

/* Bytes `edge` to n - edge - 1 of an output row; `in` is the row in the middle. */
static inline void filter_row(const uint8_t *in, int64_t in_row, uint8_t *out, size_t edge, size_t n, size_t step,
                              const float *weight, float offset, int reach)
{
    MOT_LANES
    for (size_t i = edge; i < n - edge; i++)
        out[i] = mot_byte(filter_sum(in, in_row, i, step, weight, offset, reach));
}

/* A filter with the same weights all around, times a common factor: `wide` for the 5x5 bytes, `near` for the 3x3 ones
 * and `centre` for the one in the middle add up to the weight of each. */
typedef struct filter_rings {
    int wide, near, centre;
    int divisor, offset; /* the offset is one of the weighted sum */
    int factor, shift;   /* the quotient of n is n factor >> 16 >> shift */
    int unsure;          /* a result of half a step may round either way */
} filter_rings;

/* 0: the filter is of another kind. */
static int filter_find_rings(const mot_filter *filter, filter_rings *rings)
{
    const int side = 2 * filter->reach + 1, middle = side * side / 2;
    const int outer = (int)filter->weight[0], inner = (int)filter->weight[middle - 1];
    int total = 0;
    for (int k = 0; k < side * side; k++) {
        const int x = abs(k % side - filter->reach), y = abs(k / side - filter->reach), ring = x > y ? x : y;
        const int same = ring == 0 ? (int)filter->weight[middle] : ring == 1 ? inner : outer;
        if (filter->weight[k] != (float)same)
            return 0;
        total += abs(same);
    }
    const int scale = filter->divisor == 1 ? 2 : 1, divisor = (int)filter->divisor * scale; /* 2^16 is no factor */
    if (filter->divisor != (float)(divisor / scale) || divisor > 127 ||
        total * scale * 255 + (int)filter->offset * divisor > INT16_MAX)
        return 0;
    rings->wide = filter->reach == 2 ? outer * scale : 0;
    rings->near = inner * scale - rings->wide;
    rings->centre = (int)filter->weight[middle] * scale - inner * scale;
    rings->divisor = divisor;
    rings->offset = (int)filter->offset * divisor;
    rings->shift = 0;
    while (2 << rings->shift < divisor)
        rings->shift++;
    rings->factor = ((65536 << rings->shift) + divisor - 1) / divisor;
    rings->unsure = divisor % 2 == 0 && (divisor & (divisor - 1)) != 0;
    return 1;
}

/* Bytes `edge` to n - edge - 1 of an output row. `column` [2][n]: room for sums of the 3 and 5 bytes of a column. */
static inline void filter_row_of_rings(const uint8_t *in, int64_t in_row, uint8_t *out, size_t edge, size_t n,
                                       size_t step, const filter_rings *rings, uint16_t *column, int reach,
                                       uint8_t *unsure)
{
    const filter_rings r = *rings;
    uint16_t *const three = column, *const five = column + n;
    const uint8_t *const above = in - in_row, *const under = in + in_row;
    MOT_LANES
    for (size_t i = 0; i < n; i++)
        three[i] = (uint16_t)(above[i] + in[i] + under[i]);
    if (reach == 2) {
        const uint8_t *const above2 = above - in_row, *const under2 = under + in_row;
        MOT_LANES
        for (size_t i = 0; i < n; i++)
            five[i] = (uint16_t)(three[i] + above2[i] + under2[i]);
    }
    const size_t end = n - edge;
    MOT_LANES
    for (size_t i = edge; i < end; i++) {
        uint16_t sum = (uint16_t)(r.near * (uint16_t)(three[i - step] + three[i] + three[i + step]));
        sum = (uint16_t)(sum + (uint16_t)(r.centre * in[i]));
        if (reach == 2)
            sum = (uint16_t)(sum + (uint16_t)(r.wide * (uint16_t)(five[i - 2 * step] + five[i - step] + five[i] +
                                                                  five[i + step] + five[i + 2 * step])));
        int16_t whole = (int16_t)(sum + r.offset);
        whole = whole < 0 ? 0 : whole;
        whole = whole > 255 * r.divisor ? (int16_t)(255 * r.divisor) : whole;
        const uint16_t up = (uint16_t)(whole + r.divisor / 2);
        const uint16_t quotient = (uint16_t)((uint16_t)((uint32_t)up * (uint16_t)r.factor >> 16) >> r.shift);
        out[i] = (uint8_t)quotient;
        unsure[i] = (uint16_t)(quotient * r.divisor) == up;
    }
}

/* One plane, or all channels of packed pixels: rows of n bytes. */
static void filter_plane(const uint8_t *in, int64_t in_row, uint8_t *out, int64_t out_row, size_t n, int height,
                         int channels, const mot_filter *filter, void *scratch)
{
    const int alpha = mot_color_channels(channels);
    const size_t edge = (size_t)(filter->reach * channels), step = (size_t)channels;
    const float offset = filter->offset + 0.5f;
    float weight[25];
    for (int k = 0; k < 25; k++)
        weight[k] = filter->weight[k] / filter->divisor;
    filter_rings rings = { 0 };
    const int has_rings = filter_find_rings(filter, &rings);
    uint16_t *const column = scratch;
    uint8_t *const unsure = (uint8_t *)(column + 2 * n);
    for (int y = 0; y < height; y++, in += in_row, out += out_row) {
        memcpy(out, in, n);
        if (y < filter->reach || y >= height - filter->reach || n <= 2 * edge)
            continue;
        if (has_rings) {
            if (filter->reach == 1)
                filter_row_of_rings(in, in_row, out, edge, n, step, &rings, column, 1, unsure);
            else
                filter_row_of_rings(in, in_row, out, edge, n, step, &rings, column, 2, unsure);
            const uint8_t *at = rings.unsure ? memchr(unsure + edge, 1, n - 2 * edge) : NULL;
            while (at) {
                const size_t i = (size_t)(at - unsure);
                out[i] = mot_byte(filter_sum(in, in_row, i, step, weight, offset, filter->reach));
                at = memchr(at + 1, 1, n - edge - i - 1);
            }
        } else if (filter->reach == 1)
            filter_row(in, in_row, out, edge, n, step, weight, offset, 1);
        else
            filter_row(in, in_row, out, edge, n, step, weight, offset, 2);
        for (size_t i = (size_t)alpha; alpha < channels && i < n; i += step)
            out[i] = in[i];
    }
}

static void filter_by_rows(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count;
    const mot_filter *const filter = mot_filter_of(steps[0].op);
    if (src->pixel != 1 || src->channels == 1) {
        filter_plane(src->data, src->row, dst->data, dst->row, (size_t)src->width * (size_t)src->channels, src->height,
                     src->channels, filter, scratch);
        return;
    }
    static const mot_filter nothing = { .reach = 1, .divisor = 1, .weight = { 0, 0, 0, 0, 1 } };
    for (int c = 0; c < src->channels; c++)
        filter_plane(src->data + c * src->channel, src->row, dst->data + c * dst->channel, dst->row, (size_t)src->width,
                     src->height, 1, c < mot_color_channels(src->channels) ? filter : &nothing, scratch);
}

#endif
