/* SPDX-License-Identifier: Apache-2.0 */
/* Resize as Pillow's Image.resize: what every backend shares, the weights of an axis and the order of the passes.
 *
 * A pass is out = clamp((2^21 + sum of weight * in) >> 22), with whole weights of 22 bits, so pixels need no floating
 * point. Weights are computed in binary64, with each operation rounded, in Pillow's order. Sine and cosine (for hamming
 * and lanczos) are computed here, so that no weight depends on a C library. */
#ifndef MOT_RESIZE_H
#define MOT_RESIZE_H

#include "kernels/view.h"
#include "motley/draw.h"
#include "motley/resize.h"

#include <math.h>

#define MOT_RESIZE_BITS 22

/* How one view becomes another: a picture is resized, and a window of that, mirrored or not, is the result. The picture
 * is a rectangle of the source that may reach beyond it, and the window may reach beyond what the picture is resized
 * to: what is outside is the fill. Results are those of the whole picture, which is never built. */
typedef struct mot_resize {
    int32_t left, top, width, height;      /* the picture, pixels of the source */
    float box[4];                          /* left, top, right, bottom of the picture's part that is resized, as Pillow
                                              keeps them, in binary32 */
    int32_t resized_width, resized_height; /* pixels */
    int32_t window_left, window_top;       /* where the result begins in the resized picture */
    uint8_t filter, order;                 /* motley_filter, motley_resize_order */
    uint8_t flip_horizontal, flip_vertical;
    uint8_t flipped_first; /* bit 0: the picture is mirrored left to right before the resize, bit 1: top to bottom,
                              which matters to nearest pixels; whether the result is, the two above say */
    uint8_t fill[4];       /* by channel */
} mot_resize;

/* All of a picture, and all that it is resized to. */
MOT_FN mot_resize mot_resize_of(motley_filter filter, motley_resize_order order, int32_t width, int32_t height,
                                int32_t to_width, int32_t to_height)
{
    const mot_resize how = { 0,
                             0,
                             width,
                             height,
                             { 0, 0, (float)width, (float)height },
                             to_width,
                             to_height,
                             0,
                             0,
                             (uint8_t)filter,
                             (uint8_t)order,
                             0,
                             0,
                             0,
                             { 0, 0, 0, 0 } };
    return how;
}

/* How a draw places an image. */
MOT_FN mot_resize mot_resize_of_place(const motley_place *place, motley_resize_order order, const uint8_t fill[4])
{
    mot_resize how =
        mot_resize_of(place->filter, order, place->crop.width, place->crop.height, place->width, place->height);
    how.left = place->crop.left, how.top = place->crop.top;
    how.window_left = place->left, how.window_top = place->top;
    how.flip_horizontal = place->flip_horizontal, how.flip_vertical = place->flip_vertical;
    how.flipped_first = place->flipped_first;
    for (int c = 0; c < 4; c++)
        how.fill[c] = fill[c];
    return how;
}

/* The picture's columns (axis 0) or rows (1) that the source, of `side` pixels, has: *from to *until, of the picture.
 */
MOT_FN void mot_resize_inside(const mot_resize *how, int axis, int32_t side, int32_t *from, int32_t *until)
{
    const int32_t first = axis ? how->top : how->left, length = axis ? how->height : how->width;
    *from = first < 0 ? -first : 0;
    *until = side - first < length ? side - first : length;
    *from = *from < length ? *from : length;
    *until = *until > *from ? *until : *from;
}

/* Sine or cosine of x in 0..3 pi, to one unit in the last place: subtracts k quarter turns, then uses a Taylor
 * polynomial. */
MOT_FN double mot_resize_sine(double x, int cosine)
{
    const double k = rint(x * 0.63661977236758134308);
    /* pi/2 in three parts; the first two have 33 bits, so that their product with k is exact */
    const double r = ((x - k * 0x1.921fb544p+0) - k * 0x1.0b4611a6p-34) - k * 0x1.3198a2e037073p-69;
    const double z = r * r;
    /* clang-format off */
    const double sine =
        r + r * z *
                (-1.0 / 6 +
                 z * (1.0 / 120 +
                      z * (-1.0 / 5040 +
                           z * (1.0 / 362880 +
                                z * (-1.0 / 39916800 + z * (1.0 / 6227020800.0 - z * (1.0 / 1307674368000.0)))))));
    const double even =
        1.0 + z * (-0.5 + z * (1.0 / 24 +
                               z * (-1.0 / 720 +
                                    z * (1.0 / 40320 +
                                         z * (-1.0 / 3628800 +
                                              z * (1.0 / 479001600.0 + z * (-1.0 / 87178291200.0 +
                                                                            z * (1.0 / 20922789888000.0))))))));
    /* clang-format on */
    const int turn = ((int)k + cosine) & 3;
    const double value = turn & 1 ? even : sine;
    return turn & 2 ? -value : value;
}

MOT_FN double mot_resize_sinc(double x)
{
    if (x == 0)
        return 1;
    x = (x < 0 ? -x : x) * 3.14159265358979323846; /* even */
    return mot_resize_sine(x, 0) / x;
}

/* How far a filter reaches, in output pixels. */
MOT_FN double mot_resize_support(motley_filter filter)
{
    return filter == MOTLEY_FILTER_BOX       ? 0.5
           : filter == MOTLEY_FILTER_BICUBIC ? 2.0
           : filter == MOTLEY_FILTER_LANCZOS ? 3.0
                                             : 1.0;
}

MOT_FN double mot_resize_filter(motley_filter filter, double x)
{
    const double a = x < 0 ? -x : x;
    switch (filter) {
    case MOTLEY_FILTER_BOX:
        return x > -0.5 && x <= 0.5 ? 1 : 0;
    case MOTLEY_FILTER_HAMMING: { /* the constants are binary32 in Pillow */
        const double y = a * 3.14159265358979323846;
        if (a == 0)
            return 1;
        return a < 1 ? mot_resize_sine(y, 0) / y * ((double)0.54f + (double)0.46f * mot_resize_sine(y, 1)) : 0;
    }
    case MOTLEY_FILTER_BICUBIC:
        return a < 1 ? (1.5 * a - 2.5) * a * a + 1 : a < 2 ? (((a - 5) * a + 8) * a - 4) * -0.5 : 0;
    case MOTLEY_FILTER_LANCZOS:
        return x >= -3 && x < 3 ? mot_resize_sinc(x) * mot_resize_sinc(x / 3) : 0;
    default:
        return a < 1 ? 1 - a : 0;
    }
}

/* One axis: of `in` components, the range box[0]..box[1] becomes `out` components. */
typedef struct mot_resize_axis {
    motley_filter filter;
    int in, out;
    double start, scale, support, inverse;
} mot_resize_axis;

MOT_FN mot_resize_axis mot_resize_axis_of(motley_filter filter, int in, float from, float to, int out)
{
    mot_resize_axis axis = { filter, in, out, from, (double)(to - from) / out, 0, 0 };
    const double stretch = axis.scale < 1 ? 1 : axis.scale;
    axis.support = mot_resize_support(filter) * stretch;
    axis.inverse = 1.0 / stretch;
    return axis;
}

/* The most taps of any output component. */
MOT_FN int mot_resize_taps(const mot_resize_axis *axis)
{
    const int taps = (int)ceil(axis->support) * 2 + 1;
    return taps < axis->in ? taps : axis->in;
}

/* Finds the window of output component i: its first component and its centre. Returns how many taps it has. */
MOT_FN int mot_resize_window(const mot_resize_axis *axis, int i, int *first, double *centre)
{
    *centre = axis->start + (i + 0.5) * axis->scale;
    const double low = *centre - axis->support + 0.5, high = *centre + axis->support + 0.5;
    *first = low < 0 ? 0 : (int)low;
    return (high > axis->in ? axis->in : (int)high) - *first;
}

/* Where a component of the source is in the filter of a window with this centre. */
MOT_FN double mot_resize_place(const mot_resize_axis *axis, double centre, double component)
{
    return (component - centre + 0.5) * axis->inverse;
}

/* The filter's value at tap `t` of a window, before the taps are normalised. */
MOT_FN double mot_resize_tap(const mot_resize_axis *axis, double centre, int first, int t)
{
    return mot_resize_filter(axis->filter, mot_resize_place(axis, centre, t + first));
}

/* Converts a normalised tap to a whole weight. */
MOT_FN int32_t mot_resize_whole(double share)
{
    const double scaled = share * (1 << MOT_RESIZE_BITS);
    return (int32_t)(share < 0 ? scaled - 0.5 : scaled + 0.5);
}

/* Computes the weights of output component i, and where its window begins; returns how many weights there are. `exact`
 * is scratch for as many numbers as `weight`. */
MOT_FN int mot_resize_weights(const mot_resize_axis *axis, int i, int *first, int32_t *weight, double *exact)
{
    double centre, sum = 0;
    const int count = mot_resize_window(axis, i, first, &centre);
    for (int t = 0; t < count; t++) {
        exact[t] = mot_resize_tap(axis, centre, *first, t);
        sum += exact[t];
    }
    for (int t = 0; t < count; t++)
        weight[t] = mot_resize_whole(sum != 0 ? exact[t] / sum : exact[t]);
    return count;
}

/* The nearest filter's source component of each output component, by running sums as in Pillow; -1: outside. first:
 * != 0: those of a mirrored source, which is mirrored again. */
MOT_FN void mot_resize_nearest(int in, float from, float to, int out, int first, int *index)
{
    const double step = (double)(to - from) / out;
    double at = from + step * 0.5;
    for (int i = 0; i < out; i++, at += step) {
        const int read = at >= 0 && at < in ? (int)at : -1;
        index[first ? out - 1 - i : i] = first && read >= 0 ? in - 1 - read : read;
    }
}

MOT_FN uint8_t mot_resize_byte(int32_t sum)
{
    const int32_t v = (sum + (1 << (MOT_RESIZE_BITS - 1))) >> MOT_RESIZE_BITS;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* Which passes a resize needs, and which goes first. */
typedef struct mot_resize_plan {
    int crop;          /* nothing is resampled: out (x, y) is in (x + left, y + top) */
    int left, top;     /* of a crop */
    int columns, rows; /* != 0: the horizontal, the vertical pass is needed */
    int rows_first;    /* the vertical pass comes first */
    int opaque;        /* no alpha, or a filter that does not mix pixels */
} mot_resize_plan;

MOT_FN mot_resize_plan mot_resize_plan_of(const mot_resize *how, int alpha)
{
    mot_resize_plan plan = { 0, 0, 0, 0, 0, 0, 0 };
    const int width = how->width, height = how->height;
    const int out_width = how->resized_width, out_height = how->resized_height;
    const float *box = how->box;
    plan.opaque = how->filter == MOTLEY_FILTER_NEAREST || !alpha;
    plan.left = (int)box[0];
    plan.top = (int)box[1];
    plan.crop = box[0] == (float)plan.left && box[1] == (float)plan.top && box[2] - box[0] == (float)out_width &&
                box[3] - box[1] == (float)out_height;
    if (plan.crop) { /* Pillow premultiplies for a crop, too, but not for a copy */
        plan.opaque |= width == out_width && height == out_height;
        return plan;
    }
    plan.columns = width != out_width || box[0] != 0 || box[2] != (float)out_width;
    plan.rows = height != out_height || box[1] != 0 || box[3] != (float)out_height;
    const int shrinks = height - out_height;
    if (shrinks > 0 && how->order == MOTLEY_ORDER_PILLOW_13)
        plan.rows_first = (int64_t)shrinks > 2 * ((int64_t)width - out_width);
    else if (shrinks > 0 && how->order == MOTLEY_ORDER_PILLOW_12_2)
        plan.rows_first = height > 100 * (int64_t)width;
    return plan;
}

#endif
