/* SPDX-License-Identifier: Apache-2.0 */
/* Where an element of a plane (a mask, a label map, depth) comes from: the positions of nearest warps, followed from
 * the result back to the source. The host and the device compile the same source. The positions are those that the
 * kernels of images compute one warp at a time, so planes move exactly as images do with NEAREST. */
#ifndef MOT_TRACE_H
#define MOT_TRACE_H

#include "kernels/erase.h"
#include "kernels/view.h"
#include "kernels/warp.h"
#include "motley/draw.h"

typedef enum mot_trace_kind {
    MOT_TRACE_STAYS,
    MOT_TRACE_FIXED, /* as MOT_WARP_FIXED: reads the part that it changes, and nothing else */
    MOT_TRACE_SUMS,  /* as MOT_WARP_DOUBLE: running sums along columns and rows */
    MOT_TRACE_AXES,  /* columns and rows by themselves: MOT_WARP_SCALE, and crop, resize, window and flips */
    MOT_TRACE_ERASES
} mot_trace_kind;

/* Columns or rows by themselves. Position i becomes i + shift, or last - i + shift in a mirror, which is number n of
 * `limit`; that reads n steps behind `first`, of `size` elements that begin at `offset` of the `source` elements. */
typedef struct mot_trace_axis {
    double first, step;
    int32_t exact; /* sums of the two are */
    int32_t mirrored, last, shift, limit, size, offset, source;
    uint8_t first_mirrored; /* what is read, before it is resized */
    uint8_t torch;          /* n reads floor(n * step), in binary32 */
} mot_trace_axis;

typedef struct mot_trace_step {
    int32_t kind, exact;   /* exact: the numbers of SUMS are */
    mot_rect part;         /* the part of the image that it changes; positions are counted from its corner */
    int32_t width, height; /* of what it reads, elements */
    union {
        uint32_t fixed[6];      /* FIXED */
        double sums[6];         /* SUMS: where column 0 of row 0 reads, what rows and columns add; x, then y */
        mot_trace_axis axis[2]; /* AXES: columns, rows */
    };
} mot_trace_step;

/* The planes of one image: dense, and aligned to an element. */
typedef struct mot_planes {
    const uint8_t *src;
    uint8_t *dst;
    size_t count;
    int32_t size; /* of an element: 1, 2, 4 or 8 bytes */
    int32_t src_width, src_height, width, height;
    const uint8_t *fill; /* [size] */
} mot_planes;

/* The most steps of an image's trace besides those of its policy: crop and resize, perhaps twice, and erased boxes. */
#define MOT_TRACE_PLACES (2 + MOTLEY_MAX_ERASED_BOXES)

/* Whether v is a multiple of 2^-12 below 2^20: sums of 2^21 of such numbers are exact. */
MOT_FN int mot_trace_exact(double v)
{
    return v == floor(v * 4096.0) / 4096.0 && fabs(v) < 1048576.0;
}

/* The index that running sums arrive at: `first`, then `y` times `down`, then `x` times `across`, as Pillow adds them,
 * each sum rounded; -1: none of `size`. The product gives the same index, unless the two may be on different sides of a
 * whole number. Only then the sums are made. */
MOT_FN int mot_trace_sum(int exact, double first, double down, int y, double across, int x, int size)
{
    const double at = (first + y * down) + x * across;
    if (exact)
        return mot_warp_index(at, size);
    const double most = (fabs(first) + y * fabs(down)) + x * fabs(across);
    const double apart = ((double)y + x + 4) * most * 2.220446049250313e-16; /* 2^-52: twice what the sums can err */
    if (fabs(at - floor(at + 0.5)) > apart)
        return mot_warp_index(at, size);
    double sum = first;
    MOT_ROLLED
    for (int i = 0; i < y; i++)
        sum += down;
    MOT_ROLLED
    for (int i = 0; i < x; i++)
        sum += across;
    return mot_warp_index(sum, size);
}

/* torch's nearest: what number n of an axis reads. */
MOT_FN int mot_trace_torch(const mot_trace_axis *a, int n)
{
    const int index = (int)floorf((float)n * (float)a->step);
    return index < a->size ? index : a->size - 1;
}

/* Where an axis reads an index of what was resized, or -1. */
MOT_FN int mot_trace_read(const mot_trace_axis *a, int index)
{
    const int read = (a->first_mirrored ? a->size - 1 - index : index) + a->offset;
    return index < 0 || read < 0 || read >= a->source ? -1 : read;
}

/* The index that position i of an axis reads, or -1. */
MOT_FN int mot_trace_on_axis(const mot_trace_axis *a, int i)
{
    const int number = (a->mirrored ? a->last - i : i) + a->shift;
    if (number < 0 || number >= a->limit)
        return -1;
    const int n = a->first_mirrored ? a->limit - 1 - number : number;
    return mot_trace_read(a, a->torch ? mot_trace_torch(a, n)
                                      : mot_trace_sum(a->exact, a->first, 0, 0, a->step, n, a->size));
}

/* One step back. False: outside of what the step reads, or erased. */
MOT_FN int mot_trace_back(const mot_trace_step *s, int *x, int *y)
{
    const int in_x = *x - s->part.x0, in_y = *y - s->part.y0;
    if (*x < s->part.x0 || *x >= s->part.x1 || *y < s->part.y0 || *y >= s->part.y1)
        return 1; /* not in the part that it changes */
    int to_x = -1, to_y = -1;
    if (s->kind == MOT_TRACE_FIXED) {
        to_x = (int32_t)(s->fixed[2] + (uint32_t)in_x * s->fixed[0] + (uint32_t)in_y * s->fixed[1]) >> 16;
        to_y = (int32_t)(s->fixed[5] + (uint32_t)in_x * s->fixed[3] + (uint32_t)in_y * s->fixed[4]) >> 16;
    } else if (s->kind == MOT_TRACE_AXES) {
        to_x = mot_trace_on_axis(&s->axis[0], in_x);
        to_y = mot_trace_on_axis(&s->axis[1], in_y);
    } else if (s->kind == MOT_TRACE_SUMS) {
        to_x = mot_trace_sum(s->exact, s->sums[0], s->sums[1], in_y, s->sums[2], in_x, s->width);
        to_y = mot_trace_sum(s->exact, s->sums[3], s->sums[4], in_y, s->sums[5], in_x, s->height);
    } else {
        return s->kind == MOT_TRACE_STAYS;
    }
    *x = to_x + s->part.x0;
    *y = to_y + s->part.y0;
    return to_x >= 0 && to_x < s->width && to_y >= 0 && to_y < s->height;
}

/* Whether step s changes all of its image, whose size is what the next step reads, or at last width x height. */
MOT_FN int mot_trace_is_whole(const mot_trace_step *steps, int s, int count, int width, int height)
{
    const mot_rect *const part = &steps[s].part;
    return part->x0 == 0 && part->y0 == 0 && part->x1 == (s + 1 < count ? steps[s + 1].width : width) &&
           part->y1 == (s + 1 < count ? steps[s + 1].height : height);
}

/* Columns and rows of the part that a step changes, together. */
MOT_FN size_t mot_trace_sides(const mot_trace_step *s)
{
    return (size_t)(s->part.x1 - s->part.x0) + (size_t)(s->part.y1 - s->part.y0);
}

/* All steps of an image back. False: the element is the fill. */
MOT_FN int mot_trace_element(const mot_trace_step *steps, int count, int *x, int *y)
{
    for (int s = count - 1; s >= 0; s--)
        if (!mot_trace_back(&steps[s], x, y))
            return 0;
    return 1;
}

/* ---- what an image drew, as a trace ---- */

MOT_FN mot_trace_axis mot_trace_axis_of(double first, double step, int limit, int size)
{
    const int exact = mot_trace_exact(first) && mot_trace_exact(step);
    const mot_trace_axis axis = { first, step, exact, 0, 0, 0, limit, size, 0, size, 0, 0 };
    return axis;
}

/* An op of the table with its prepared argument, in a part of an image. */
MOT_FN void mot_trace_op(mot_trace_step *out, int op, const mot_arg *arg, mot_rect part)
{
    const int shape = op >= 0 && op < MOT_OP_COUNT ? mot_shape_of(op) : MOTLEY_SHAPE_POINT;
    const int width = part.x1 - part.x0, height = part.y1 - part.y0;
    out->kind = MOT_TRACE_STAYS;
    out->part = part;
    out->width = width;
    out->height = height;
    if (arg->flags & MOT_ARG_IDENTITY)
        return;
    if (shape == MOTLEY_SHAPE_ERASE) {
        const mot_rect erased = mot_erase_rect(op, width, height, arg);
        out->kind = MOT_TRACE_ERASES;
        out->part.x0 = part.x0 + erased.x0;
        out->part.y0 = part.y0 + erased.y0;
        out->part.x1 = part.x0 + erased.x1;
        out->part.y1 = part.y0 + erased.y1;
    }
    if (shape != MOTLEY_SHAPE_WARP)
        return;
    mot_warp_plan plan;
    mot_warp_make_plan(op, width, height, arg, MOTLEY_NEAREST, &plan);
    if (plan.path == MOT_WARP_FIXED) {
        out->kind = MOT_TRACE_FIXED;
        for (int i = 0; i < 6; i++)
            out->fixed[i] = plan.fixed[i];
    } else if (plan.path == MOT_WARP_SCALE) {
        out->kind = MOT_TRACE_AXES;
        out->axis[0] = mot_trace_axis_of(mot_warp_first_column(&plan), plan.m[0], width, width);
        out->axis[1] = mot_trace_axis_of(mot_warp_first_row(&plan), plan.m[4], height, height);
    } else {
        out->kind = MOT_TRACE_SUMS;
        mot_warp_double_start(&plan, &out->sums[0], &out->sums[3]);
        out->sums[1] = plan.m[1];
        out->sums[2] = plan.m[0];
        out->sums[4] = plan.m[4];
        out->sums[5] = plan.m[3];
        out->exact = 1;
        for (int i = 0; i < 6; i++)
            out->exact &= mot_trace_exact(out->sums[i]);
    }
}

/* Makes a step of an op that moves whole columns and rows by whole elements, or mirrors them, a fixed one. Not for
 * places, which read an image of another size than they make. */
MOT_FN void mot_trace_as_fixed(mot_trace_step *s)
{
    if (s->kind != MOT_TRACE_AXES)
        return;
    uint32_t fixed[6] = { 0, 0, 0, 0, 0, 0 };
    for (int k = 0; k < 2; k++) {
        const mot_trace_axis *const a = &s->axis[k];
        const double whole = floor(a->first), behind = a->first - whole;
        const int near_whole = behind < 0x1p-20 || behind > 1 - 0x1p-20; /* sums could pass it */
        if (a->limit > 16384 || fabs(a->step) != 1 || fabs(whole) > 16384 || (near_whole && !a->exact))
            return;
        fixed[k ? 4 : 0] = a->step < 0 ? 0u - 65536u : 65536u;
        fixed[k ? 5 : 2] = (uint32_t)(int32_t)whole << 16;
    }
    s->kind = MOT_TRACE_FIXED;
    for (int i = 0; i < 6; i++)
        s->fixed[i] = fixed[i];
}

/* Crop, resize, window and flips of a source of this size. It is STAYS if the whole image stays where it is. */
MOT_FN void mot_trace_place(mot_trace_step *out, const motley_place *d, int source_width, int source_height)
{
    const int width = d->result_width, height = d->result_height;
    const mot_rect whole = { 0, 0, width, height };
    int stays = width == source_width && height == source_height;
    out->part = whole;
    out->width = source_width;
    out->height = source_height;
    for (int k = 0; k < 2; k++) {
        const int32_t from = k ? d->crop.height : d->crop.width, to = k ? d->height : d->width;
        const double step = (double)(float)from / to;
        mot_trace_axis *const axis = &out->axis[k];
        *axis = mot_trace_axis_of(step * 0.5, step, to, from);
        axis->mirrored = k ? d->flip_vertical : d->flip_horizontal;
        axis->first_mirrored = d->flipped_first >> k & 1;
        axis->torch = d->torch_planes;
        axis->last = (k ? height : width) - 1;
        axis->shift = k ? d->top : d->left;
        axis->offset = k ? d->crop.top : d->crop.left;
        axis->source = k ? source_height : source_width;
        stays &= from == (k ? height : width) && to == from && !axis->mirrored && !axis->shift && !axis->offset;
    }
    out->kind = stays ? MOT_TRACE_STAYS : MOT_TRACE_AXES;
}

/* A box that a transform erased. */
MOT_FN void mot_trace_box(mot_trace_step *out, const motley_erased_box *box)
{
    const mot_rect part = { box->left, box->top, box->left + box->width, box->top + box->height };
    out->kind = MOT_TRACE_ERASES;
    out->part = part;
}

#endif
