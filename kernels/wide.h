/* SPDX-License-Identifier: Apache-2.0 */
/* The wide forms of all ops by their shapes (augmentations/wide.h), what images of wide components are, and how they
 * are moved. Moves and resizes are Pillow's: of F32 as in mode F, of U16 as in mode I, clamped; nearest moves
 * components as bytes are moved, so masks and images of any type agree. */
#ifndef MOT_WIDE_KERNELS_H
#define MOT_WIDE_KERNELS_H

#include "augmentations/kernel_blur.h"
#include "augmentations/ops.h"
#include "augmentations/step.h"
#include "kernels/output.h"
#include "kernels/view.h"
#include "kernels/warp.h"

/* Some bands of an image and what is done to them: steps, then the cast to another type, or normalisation. Bands are
 * independent of each other, except that three of them are colours if the image has no others. */
typedef struct mot_wide {
    mot_view src, dst;            /* of one size; they do not overlap, or are the same components */
    int32_t src_dtype, dst_dtype; /* motley_dtype: U16 or F32; dst also F16 or BF16 */
    int32_t colors;               /* 1: three bands, which are red, green and blue */
    const mot_range *range;       /* [channels] */
    const float *fill;            /* [channels], or NULL: what each step has for channel `first` of the image and on */
    int32_t first;
    const mot_step *steps; /* none mixes */
    int32_t count;
    const float *mean, *std; /* [channels], std not 0; NULL: nothing is normalised */
} mot_wide;

/* Whether a step is done even where it changes no byte: posterize to eight bits does, and brightness clamps. */
MOT_FN int mot_wide_counts(int op)
{
    return op >= 0 && mot_shape_of(op) == MOTLEY_SHAPE_POINT;
}

/* The fill of channel c. */
MOT_FN float mot_wide_fill(const mot_wide *wide, const mot_step *step, int c)
{
    if (wide->fill)
        return wide->fill[c];
    const float fill = mot_range_at(&wide->range[c], step->fill[mot_fill_at(wide->first + c)]);
    return wide->range[c].whole ? rintf(fill) : fill;
}

/* The range of three bands' luma. */
MOT_FN mot_range mot_wide_luma_range(const mot_range *rgb)
{
    double low = rgb[0].low, high = rgb[0].low + rgb[0].span;
    for (int c = 1; c < 3; c++) {
        const double to = rgb[c].low + rgb[c].span;
        low = rgb[c].low < low ? rgb[c].low : low;
        high = to > high ? to : high;
    }
    return mot_range_of(low, high, rgb->whole, rgb->open);
}

/* Component c as the result has it. */
MOT_FN float mot_wide_result(const mot_wide *wide, float v, int c)
{
    return wide->mean ? mot_wide_computed((v - wide->mean[c]) / wide->std[c]) : v;
}

/* Between pixels, as in mode F: differences of neighbours are binary32, all else is binary64. Components of U16 are
 * exact in both, and so are these differences; results are truncated, those of bicubic clamped. */
MOT_FN float mot_wide_moved(const mot_range *range, double v)
{
    return mot_wide_end(range, 0, (float)(range->whole ? trunc(v) : v));
}

MOT_FN double mot_wide_bilinear(float p00, float p10, float p01, float p11, double dx, double dy)
{
    const double top = (double)p00 + (double)(p10 - p00) * dx;
    const double bottom = (double)p01 + (double)(p11 - p01) * dx;
    return top + (bottom - top) * dy;
}

MOT_FN double mot_wide_cubic(float v1, float v2, float v3, float v4, double d)
{
    const float p2 = -v1 + v3;
    const float p3 = (2.0f * (v1 - v2) + v3) - v4;
    const float p4 = ((-v1 + v2) - v3) + v4;
    return mot_warp_polynomial(v2, p2, p3, p4, d);
}

/* A sum of products of components and weights, each rounded to binary64: of whole components half away from zero. */
MOT_FN float mot_wide_resized(double sum, int whole)
{
    const mot_range range = mot_range_of(0, MOT_WIDE_FULL, whole, 1);
    return mot_wide_end(&range, 0, (float)(whole ? floor(sum + 0.5) : sum)); /* below 0 all are clamped */
}

#include "kernels/shapes_off.h"
#undef MOT_IF_POINT
#define MOT_IF_POINT(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem##_wide(v, range, arg);

MOT_FN float mot_wide_point(int op, float v, const mot_range *range, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return v;
    }
}

#include "kernels/shapes_off.h"
#undef MOT_IF_COLOR
#define MOT_IF_COLOR(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem##_wide(v, luma, range, arg);

MOT_FN float mot_wide_color(int op, float v, float luma, const mot_range *range, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return v;
    }
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem##_wide(v, stats, range, arg);

MOT_FN float mot_wide_stats_value(int op, float v, const mot_wide_stats *stats, const mot_range *range,
                                  const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return v;
    }
}

#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        return MOT_##ID##_NEEDS;

/* MOT_NEEDS_* of an op. */
MOT_FN int mot_wide_needs(int op)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return 0;
    }
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STENCIL
#define MOT_IF_STENCIL(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem##_wide(v, sum, range, arg);

/* `sum` of mot_wide_taps; a FILTER op is its sum. */
MOT_FN float mot_wide_stencil(int op, float v, float sum, const mot_range *range, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return mot_range_clamp(range, sum);
    }
}

/* The weights of a STENCIL or FILTER op, row by row from above, and what is added to the sum. A sum begins at 0, takes
 * the taps in this order, each with one rounding, then the bias if that is not 0, and is rounded to a whole number,
 * half to even, where components are whole. Components at less than `reach` from an edge are clamped, and nothing else,
 * and images that have no others stay as they are. */
typedef struct mot_taps {
    int reach;
    float weight[25], bias;
    double total, offset; /* of which mot_wide_bias makes the bias of a band's range */
} mot_taps;

#undef MOT_IF_STENCIL
#define MOT_IF_STENCIL(ID, stem) \
    case MOT_OP_##ID: { \
        const mot_nine nine = MOT_##ID##_NINE; \
        for (int i = 0; i < 9; i++) \
            f.weight[i] = i == 4 ? nine.centre : nine.side; \
        f.divisor = nine.divisor; \
        f.offset = nine.offset; \
        break; \
    }
#undef MOT_IF_FILTER
#define MOT_IF_FILTER(ID, stem) \
    case MOT_OP_##ID: { \
        const mot_filter filter = MOT_##ID##_FILTER; \
        f = filter; \
        break; \
    }

MOT_FN void mot_wide_taps(int op, const mot_range *range, mot_taps *taps)
{
    mot_filter f = { 0 };
    double sum = 0;
    f.reach = 1;
    f.divisor = 1;
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
    const int side = 2 * f.reach + 1;
    taps->reach = f.reach;
    for (int i = 0; i < side * side; i++) { /* those of the lowest row come first in a mot_filter */
        const float weight = f.weight[(side - 1 - i / side) * side + i % side];
        taps->weight[i] = (float)((double)weight / f.divisor);
        sum += weight;
    }
    taps->total = sum / f.divisor;
    taps->offset = f.offset;
    taps->bias = mot_wide_bias(range, taps->total, taps->offset);
}

#include "kernels/shapes_off.h"
#undef MOT_IF_BLUR
#define MOT_IF_BLUR(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem##_wide(inner, edges, arg);

/* One output of one pass along a line; the passes are those of kernels/blur.h, rounded to binary32 between them. */
MOT_FN float mot_wide_blur(int op, float inner, float edges, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return 0;
    }
}

#include "kernels/shapes_off.h"
#endif
