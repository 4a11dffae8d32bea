/* SPDX-License-Identifier: Apache-2.0 */
/* The wide forms of all ops by their shapes (augmentations/wide.h), what images of wide components are, and how they
 * are moved. Moves and resizes are Pillow's: of F32 as in mode F, of U16 as in mode I, clamped; nearest moves
 * components as bytes are moved, so masks and images of any type agree. */
#ifndef MOT_WIDE_KERNELS_H
#define MOT_WIDE_KERNELS_H

#include "augmentations/ops.h"

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
        static const mot_filter filter = MOT_##ID##_FILTER; \
        f = filter; \
        break; \
    }

static inline void mot_wide_taps(int op, const mot_range *range, mot_taps *taps)
{
    mot_filter f = { .reach = 1, .divisor = 1 };
    double sum = 0;
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
    taps->bias = mot_wide_bias(range, sum / f.divisor, f.offset);
}

#include "kernels/shapes_off.h"
#endif
