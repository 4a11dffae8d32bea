/* SPDX-License-Identifier: Apache-2.0 */
/* Wide forms against byte forms: every op of the table on all bytes, put into other types and ranges. */
#include "augmentations/table.h"
#include "kernels/color.h"
#include "kernels/filter.h"
#include "kernels/point.h"
#include "kernels/stats.h"
#include "kernels/stencil.h"
#include "kernels/wide.h"

#include <criterion/criterion.h>
#include <math.h>

typedef struct type {
    const char *name;
    double lo, hi;
    int whole;
    double slack; /* levels that whole numbers lose */
} type;

static const type types[] = {
    { "f32 0..1", 0, 1, 0, 0 }, { "f32 0..10000", 0, 10000, 0, 0 },     { "f32 -1..1", -1, 1, 0, 0 },
    { "u16", 0, 65535, 1, 0 },  { "12 bits in u16", 0, 4095, 1, 0.09 }, { "f32 -3..2.5", -3, 2.5, 0, 0 },
};

static float put(const mot_range *range, int v)
{
    const float at = mot_range_at(range, v);
    return range->whole ? rintf(at) : at;
}

static double level(const mot_range *range, float v)
{
    return ((double)v - range->low) * 255 / range->span;
}

/* How far, in levels, a wide form may be from the byte form: where the byte form truncates a number, one level; where
 * it works on a luma, a mean or a sum that is itself a byte, half a level more for each unit of what that is weighted
 * by.
 */
static double bound(int op, double factor)
{
    if (mot_op_table[op].facts.form == MOT_FORM_DIRECT && !mot_op_table[op].info.whole)
        return 0.001; /* nothing is rounded: inverts, thresholds */
    return 1.01 + fabs(1 - factor) / 2;
}

static void near(const type *t, int op, double value, int at, float wide, int byte, double bound,
                 const mot_range *range, float before)
{
    const float made = mot_wide_end(range, before, wide);
    const double is = level(range, made);
    cr_assert(fabs(is - byte) <= bound + t->slack, "%s %g of %s: %d becomes %g of 255, but %d as a byte",
              mot_op_table[op].info.name, value, t->name, at, is, byte);
}

/* Values of an op from its minimum to its maximum; thresholds lie between levels where these are rounded. */
static int values_of(const type *t, int op, double *values)
{
    const motley_op_info *info = &mot_op_table[op].info;
    int n = 0;
    const double between = t->slack > 0 && info->maximum >= 255 ? 0.5 : 0;
    values[n++] = info->example - between;
    if (info->values_min == 0)
        return n;
    if (info->minimum == -10000) { /* a blend */
        for (int i = 0; i <= 20; i++)
            values[n++] = i * 0.1;
        return n;
    }
    for (int i = 0; i <= 32; i++)
        values[n++] = info->whole ? i % 9 : (info->maximum - info->minimum) * i / 32 - between * (i > 0);
    return n;
}

static void compare_points(const type *t, const mot_range *range, int op, double value, const mot_arg *arg)
{
    for (int v = 0; v < 256; v++) {
        const float at = put(range, v);
        near(t, op, value, v, mot_wide_point(op, at, range, arg), mot_point_value(op, (uint8_t)v, arg), bound(op, 1),
             range, at);
    }
}

static void compare_colors(const type *t, const mot_range *range, int op, double value, const mot_arg *arg)
{
    for (int v = 0; v < 256; v++)
        for (int k = 0; k < 16; k++) {
            const int r = v, g = (v * 7 + k * 31) & 255, b = (v * 3 + k * 53 + 9) & 255;
            const float at = put(range, r);
            const float luma = mot_wide_luma(range, at, put(range, g), put(range, b));
            const int byte = mot_color_value(op, (uint8_t)r, mot_luma((uint8_t)r, (uint8_t)g, (uint8_t)b), arg);
            /* the luma's weights are .9999 together, of the data and not of the range */
            const double light = fabs(range->low) * 1e-4 * 255 / range->span + 0.03;
            near(t, op, value, v, mot_wide_color(op, at, luma, range, arg), byte,
                 bound(op, arg->factor) + light * (1 + fabs(1 - arg->factor)), range, at);
        }
}

static void compare_stats(const type *t, const mot_range *range, int op, double value, const mot_arg *arg)
{
    for (int turn = 0; turn < 3; turn++) { /* all bytes once; some of them; unevenly */
        uint32_t histogram[256];
        double sum = 0;
        uint64_t bytes = 0;
        uint32_t n = 0;
        mot_wide_stats wide = { INFINITY, -INFINITY, 0, { 0 } };
        for (int v = 0; v < 256; v++) {
            const float at = put(range, v);
            histogram[v] = turn == 0 ? 3 : turn == 1 ? (v > 30 && v < 211) * 5u : (uint32_t)(v * v / 64 + (v & 3));
            if (!histogram[v])
                continue;
            wide.lo = fminf(wide.lo, at);
            wide.hi = fmaxf(wide.hi, at);
            cr_assert_eq((int)mot_range_bin(range, at), v, "%s: bin of %d is %g", t->name, v,
                         (double)mot_range_bin(range, at));
            sum += (double)at * histogram[v];
            bytes += (uint64_t)v * histogram[v];
            n += histogram[v];
        }
        mot_stats narrow;
        mot_stats_of_histogram(histogram, &narrow);
        narrow.mean = mot_stats_mean(bytes, n);
        wide.mean = (float)(sum / n);
        for (int u = 0; u < 256; u++)
            wide.by_bin[u] = mot_range_of_bin(range, mot_stats_value(op, (uint8_t)u, &narrow, arg));
        const int from = turn == 1 ? 31 : 0, to = turn == 1 ? 211 : 256;
        for (int v = from; v < to; v++) {
            const float at = put(range, v);
            near(t, op, value, v, mot_wide_stats_value(op, at, &wide, range, arg),
                 mot_stats_value(op, (uint8_t)v, &narrow, arg), bound(op, arg->factor ? arg->factor : 1), range, at);
        }
    }
}

static void compare_sums(const type *t, const mot_range *range, int op, double value, const mot_arg *arg)
{
    mot_taps taps;
    mot_wide_taps(op, range, &taps);
    const int side = 2 * taps.reach + 1;
    for (int v = 0; v < 256; v++) {
        int near_v[25];
        float sum = 0;
        double exact = 0;
        uint32_t of_nine = 0;
        for (int i = 0; i < side * side; i++) {
            near_v[i] = i == side * side / 2 ? v : (v + (i * 37 + v * 11) % 23 - 11) & 255;
            sum = fmaf(put(range, near_v[i]), taps.weight[i], sum);
            of_nine += (uint32_t)near_v[i];
        }
        sum += taps.bias;
        const float at = put(range, v);
        int byte;
        if (mot_shape_of(op) == MOTLEY_SHAPE_STENCIL) {
            byte = mot_stencil_value(op, (uint8_t)v, of_nine, arg);
        } else {
            const mot_filter *f = mot_filter_of(op);
            exact = f->offset + 0.5;
            for (int i = 0; i < side * side; i++)
                exact += (double)f->weight[(side - 1 - i / side) * side + i % side] / f->divisor * near_v[i];
            byte = mot_byte((float)exact);
        }
        near(t, op, value, v, mot_wide_stencil(op, at, sum, range, arg), byte, bound(op, arg->factor ? arg->factor : 1),
             range, at);
    }
}

/* Every row of the table that computes components is compared; the rest moves pixels. */
Test(wide, every_op_makes_the_picture_of_bytes)
{
    int compared = 0;
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        const type *t = &types[k];
        const mot_range range = mot_range_of(t->lo, t->hi, t->whole, 0);
        for (int op = 0; op < MOT_OP_COUNT; op++) {
            double values[40];
            const int n = values_of(t, op, values);
            for (int i = 0; i < n; i++) {
                mot_arg arg;
                mot_op_prepare(op, &values[i], mot_op_table[op].info.values_min, &arg);
                switch (mot_shape_of(op)) {
                case MOTLEY_SHAPE_POINT:
                    compare_points(t, &range, op, values[i], &arg);
                    break;
                case MOTLEY_SHAPE_COLOR:
                    compare_colors(t, &range, op, values[i], &arg);
                    break;
                case MOTLEY_SHAPE_STATS:
                    compare_stats(t, &range, op, values[i], &arg);
                    break;
                case MOTLEY_SHAPE_STENCIL:
                case MOTLEY_SHAPE_FILTER:
                    compare_sums(t, &range, op, values[i], &arg);
                    break;
                default:
                    continue;
                }
                compared += i == 0;
            }
        }
    }
    cr_expect_eq(compared, 24 * (int)(sizeof types / sizeof types[0]) - 6, "%d", compared);
}
