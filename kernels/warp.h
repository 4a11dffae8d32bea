/* SPDX-License-Identifier: Apache-2.0 */
/* WARP: ops that map an output position to an input position. Coordinates and interpolation are those of Pillow's
 * Image.transform: every product and sum is rounded, in the order written here. */
#ifndef MOT_WARP_H
#define MOT_WARP_H

#include "augmentations/ops.h"
#include "motley/image.h"

#include <math.h>

#include "kernels/shapes_off.h"
#undef MOT_IF_WARP
#define MOT_IF_WARP(ID, stem) \
    case MOT_OP_##ID: \
        mot_##stem(width, height, arg, warp); \
        break;

/* The matrix of a warp for an image of this size. */
MOT_FN void mot_warp_matrix(int op, int width, int height, const mot_arg *arg, mot_warp *warp)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        mot_matrix(warp, 1, 0, 0, 0, 1, 0);
        warp->whole = 1;
    }
}

#include "kernels/shapes_off.h"

/* How positions are computed. The first three are for nearest; they can differ in single pixels, so a warp must take
 * the one that Pillow takes. */
typedef enum mot_warp_path {
    MOT_WARP_FIXED,  /* 16.16 fixed point, modulo 2^32 */
    MOT_WARP_SCALE,  /* rows stay rows: a column and a row table, sums in double one after the other */
    MOT_WARP_DOUBLE, /* positions beyond +-32767: sums in double along each row */
    MOT_WARP_BILINEAR,
    MOT_WARP_BICUBIC
} mot_warp_path;

typedef struct mot_warp_plan {
    int32_t path;
    int32_t width, height;
    uint32_t fixed[6]; /* FIXED: x = (fixed[2] + x fixed[0] + y fixed[1]) >> 16 as a signed number, y likewise */
    double m[6];
} mot_warp_plan;

/* Converts to 16.16; a number that does not fit gives what x86 gives. */
MOT_FN uint32_t mot_warp_fix(double v)
{
    const double scaled = floor(v * 65536.0 + 0.5);
    return scaled >= -2147483648.0 && scaled < 2147483648.0 ? (uint32_t)(int32_t)scaled : 0x80000000u;
}

/* Number `i` of a fixed plan. */
MOT_FN uint32_t mot_warp_fixed_number(const double *m, int i)
{
    const int row = i < 3 ? 0 : 3;
    return mot_warp_fix(i == row + 2 ? (m[row + 2] + m[row] * 0.5) + m[row + 1] * 0.5 : m[i]);
}

MOT_FN int mot_warp_corner_fits(const double *m, double x, double y)
{
    return fabs((x * m[0] + y * m[1]) + m[2]) < 32768.0 && fabs((x * m[3] + y * m[4]) + m[5]) < 32768.0;
}

MOT_FN void mot_warp_make_plan(int op, int width, int height, const mot_arg *arg, int interpolation,
                               mot_warp_plan *plan)
{
    mot_warp warp;
    mot_warp_matrix(op, width, height, arg, &warp);
    const double *m = warp.m;
    plan->width = width;
    plan->height = height;
    for (int i = 0; i < 6; i++) {
        plan->m[i] = m[i];
        plan->fixed[i] = 0;
    }
    if (!warp.whole && interpolation != MOTLEY_NEAREST) {
        plan->path = interpolation == MOTLEY_BILINEAR ? MOT_WARP_BILINEAR : MOT_WARP_BICUBIC;
        return;
    }
    if (m[1] == 0 && m[3] == 0) {
        plan->path = MOT_WARP_SCALE;
        return;
    }
    if (!mot_warp_corner_fits(m, 0, 0) || !mot_warp_corner_fits(m, width, height) ||
        !mot_warp_corner_fits(m, 0, height) || !mot_warp_corner_fits(m, width, 0)) {
        plan->path = MOT_WARP_DOUBLE;
        return;
    }
    plan->path = MOT_WARP_FIXED;
    for (int i = 0; i < 6; i++)
        plan->fixed[i] = mot_warp_fixed_number(m, i);
}

/* The index of a coordinate in a line of n components, or -1 outside. The comparisons come first, so that no cast gets
 * a number that does not fit, and a NaN is outside. */
MOT_FN int mot_warp_index(double v, int n)
{
    return v >= 0.0 && v < (double)n ? (int)v : -1;
}

/* FIXED: the input position of output (x, y). False if it is outside. */
MOT_FN int mot_warp_fixed(const mot_warp_plan *plan, int x, int y, int *in_x, int *in_y)
{
    *in_x = (int32_t)(plan->fixed[2] + (uint32_t)x * plan->fixed[0] + (uint32_t)y * plan->fixed[1]) >> 16;
    *in_y = (int32_t)(plan->fixed[5] + (uint32_t)x * plan->fixed[3] + (uint32_t)y * plan->fixed[4]) >> 16;
    return *in_x >= 0 && *in_x < plan->width && *in_y >= 0 && *in_y < plan->height;
}

/* SCALE: the column and the row that output 0 reads, and what each next one adds. */
MOT_FN double mot_warp_first_column(const mot_warp_plan *plan)
{
    return plan->m[2] + plan->m[0] * 0.5;
}

MOT_FN double mot_warp_first_row(const mot_warp_plan *plan)
{
    return plan->m[5] + plan->m[4] * 0.5;
}

/* DOUBLE: where row 0 begins. Each row adds m[1] and m[4] to its start, each pixel m[0] and m[3]. */
MOT_FN void mot_warp_double_start(const mot_warp_plan *plan, double *x, double *y)
{
    *x = (plan->m[2] + plan->m[1] * 0.5) + plan->m[0] * 0.5;
    *y = (plan->m[5] + plan->m[4] * 0.5) + plan->m[3] * 0.5;
}

/* BILINEAR, BICUBIC: where the output with its centre at (xc, yc) reads, counted in components from the first one's
 * centre. False: outside. */
MOT_FN int mot_warp_position(const mot_warp_plan *plan, double xc, double yc, double *in_x, double *in_y)
{
    *in_x = (plan->m[0] * xc + plan->m[1] * yc) + plan->m[2];
    *in_y = (plan->m[3] * xc + plan->m[4] * yc) + plan->m[5];
    if (!(*in_x >= 0.0 && *in_x < (double)plan->width && *in_y >= 0.0 && *in_y < (double)plan->height))
        return 0;
    *in_x -= 0.5;
    *in_y -= 0.5;
    return 1;
}

/* The component up and left of the input position of output (x, y), and the distance from it. False: outside. */
MOT_FN int mot_warp_between(const mot_warp_plan *plan, int x, int y, int *i, int *j, double *dx, double *dy)
{
    double in_x, in_y;
    if (!mot_warp_position(plan, x + 0.5, y + 0.5, &in_x, &in_y))
        return 0;
    *i = (int)floor(in_x);
    *j = (int)floor(in_y);
    *dx = in_x - (double)*i;
    *dy = in_y - (double)*j;
    return 1;
}

MOT_FN int mot_warp_clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Interpolates (i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1). The result is truncated. */
MOT_FN uint8_t mot_warp_bilinear(uint8_t p00, uint8_t p10, uint8_t p01, uint8_t p11, double dx, double dy)
{
    const double top = (double)p00 + (double)(p10 - p00) * dx;
    const double bottom = (double)p01 + (double)(p11 - p01) * dx;
    return (uint8_t)(top + (bottom - top) * dy);
}

MOT_FN double mot_warp_polynomial(double p1, double p2, double p3, double p4, double d)
{
    return p1 + d * (p2 + d * (p3 + d * p4));
}

MOT_FN double mot_warp_cubic(double v1, double v2, double v3, double v4, double d)
{
    const double p2 = -v1 + v3;
    const double p3 = (2.0 * (v1 - v2) + v3) - v4;
    const double p4 = ((-v1 + v2) - v3) + v4;
    return mot_warp_polynomial(v2, p2, p3, p4, d);
}

/* Interpolates between the results of four rows, each a mot_warp_cubic of four components. */
MOT_FN uint8_t mot_warp_bicubic(double r1, double r2, double r3, double r4, double dy)
{
    const double v = mot_warp_cubic(r1, r2, r3, r4, dy);
    return v <= 0.0 ? 0 : v >= 255.0 ? 255 : (uint8_t)v;
}

/* With alpha, bilinear and bicubic work on premultiplied components, as in Pillow's modes La and RGBa. The fill is
 * taken as premultiplied. */
MOT_FN uint8_t mot_premultiply(uint8_t v, uint8_t alpha)
{
    const uint32_t t = (uint32_t)v * alpha + 128u;
    return (uint8_t)(((t >> 8) + t) >> 8);
}

MOT_FN uint8_t mot_unpremultiply(uint8_t v, uint8_t alpha)
{
    if (alpha == 0 || alpha == 255)
        return v;
    const uint32_t t = 255u * v / alpha;
    return t > 255 ? 255 : (uint8_t)t;
}

#endif
