/* SPDX-License-Identifier: Apache-2.0 */
/* See values.h. */
#include "base/values.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

motley_status mot_check_array(const char *what, size_t count, size_t bytes, motley_error *error)
{
    MOT_REQUIRE(mot_times(count, bytes) <= PTRDIFF_MAX, error, "%s is %zu, want as many as memory can hold", what,
                count);
    return MOTLEY_OK;
}

motley_status mot_check_count(const char *what, size_t count, motley_error *error)
{
    MOT_REQUIRE(count <= INT32_MAX, error, "%s is %zu, want at most %d", what, count, INT32_MAX);
    return MOTLEY_OK;
}

motley_status mot_check_size(int32_t width, int32_t height, motley_error *error)
{
    MOT_REQUIRE(width >= 1 && height >= 1 && width <= MOT_MAX_SIDE && height <= MOT_MAX_SIDE, error,
                "the size is %d x %d, want 1 to %d each way", width, height, MOT_MAX_SIDE);
    return MOTLEY_OK;
}

/* Whether `size` pixels from `at` on lie within a side of `side` pixels. */
static int is_in(int32_t at, int32_t size, int32_t side)
{
    return at >= 0 && size >= 0 && (int64_t)at + size <= side;
}

/* Whether an axis of a crop that may leave the image can be resized: the fill stays what it is while the weights, each
 * rounded, nearly add up to 1. */
static int is_reached(int32_t first, int32_t length, int32_t resized)
{
    return first >= -MOT_MAX_SIDE && first <= MOT_MAX_SIDE && length >= 1 && length <= MOT_MAX_SIDE &&
           length <= (int64_t)MOT_MOST_SHRINK * resized;
}

static motley_status check_place(const motley_place *d, size_t i, const int32_t from[2], int32_t most_boxes,
                                 motley_error *error)
{
    const int32_t to[2] = { d->result_width, d->result_height };
    MOT_REQUIRE(d->width >= 1 && d->height >= 1 && d->width <= MOT_MAX_SIDE && d->height <= MOT_MAX_SIDE, error,
                "image %zu: it is resized to %dx%d, want 1 to %d each way", i, d->width, d->height, MOT_MAX_SIDE);
    MOT_REQUIRE(d->beyond ||
                    (d->crop.width >= 1 && d->crop.height >= 1 && is_in(d->crop.left, d->crop.width, from[0]) &&
                     is_in(d->crop.top, d->crop.height, from[1])),
                error, "image %zu: the given crop of %dx%d at (%d, %d) leaves the image of %dx%d", i, d->crop.width,
                d->crop.height, d->crop.left, d->crop.top, from[0], from[1]);
    MOT_REQUIRE(!d->beyond || (is_reached(d->crop.left, d->crop.width, d->width) &&
                               is_reached(d->crop.top, d->crop.height, d->height)),
                error,
                "image %zu: the given crop of %dx%d at (%d, %d) is resized to %dx%d, want at most %d pixels, and %d "
                "times as many as its result has",
                i, d->crop.width, d->crop.height, d->crop.left, d->crop.top, d->width, d->height, MOT_MAX_SIDE,
                MOT_MOST_SHRINK);
    MOT_REQUIRE(
        d->left >= -MOT_MAX_SIDE && d->left <= MOT_MAX_SIDE && d->top >= -MOT_MAX_SIDE && d->top <= MOT_MAX_SIDE, error,
        "image %zu: the given window begins at (%d, %d), want at most %d away", i, d->left, d->top, MOT_MAX_SIDE);
    MOT_REQUIRE(to[0] >= 1 && to[1] >= 1 && to[0] <= MOT_MAX_SIDE && to[1] <= MOT_MAX_SIDE, error,
                "image %zu: its result is given as %dx%d, want 1 to %d each way", i, to[0], to[1], MOT_MAX_SIDE);
    MOT_REQUIRE(d->overlap <= MOTLEY_OVERLAP_UNDECIDED, error, "image %zu: overlap is %d, want one of motley_overlap",
                i, d->overlap);
    MOT_REQUIRE(d->canvas_left >= 0 && d->canvas_left <= MOT_MAX_SIDE && d->canvas_top >= 0 &&
                    d->canvas_top <= MOT_MAX_SIDE,
                error, "image %zu: its canvas begins (%d, %d) before it, want 0 to %d pixels", i, d->canvas_left,
                d->canvas_top, MOT_MAX_SIDE);
    MOT_REQUIRE(d->boxes_count >= 0 && d->boxes_count <= most_boxes, error,
                "image %zu: %d boxes are given, want at most %d", i, d->boxes_count, most_boxes);
    for (int b = 0; b < d->boxes_count; b++) {
        const motley_erased_box *const box = &d->boxes[b];
        MOT_REQUIRE(is_in(box->left, box->width, to[0]) && is_in(box->top, box->height, to[1]), error,
                    "image %zu, box %d: %dx%d at (%d, %d) leaves the output of %dx%d", i, b, box->width, box->height,
                    box->left, box->top, to[0], to[1]);
    }
    return MOTLEY_OK;
}

motley_status mot_check_place(const motley_place *place, size_t i, const int32_t from[2], int32_t most_boxes,
                              motley_error *error)
{
    const motley_place first = mot_first_place(place, from[0], from[1]), last = mot_last_place(place);
    if (place->first.width)
        MOT_TRY(mot_fail_in(error, check_place(&first, i, from, 0, error), "what is done first to "));
    return check_place(&last, i, (int32_t[]){ first.result_width, first.result_height }, most_boxes, error);
}

motley_place mot_whole_place(int32_t width, int32_t height)
{
    return (motley_place){ .crop = { .width = width, .height = height },
                           .width = width,
                           .height = height,
                           .result_width = width,
                           .result_height = height };
}

/* The members of motley_first_place are the first ones of motley_place. */
#define FIRST_BYTES (offsetof(motley_place, beyond) + 1)
static_assert(offsetof(motley_first_place, beyond) + 1 == FIRST_BYTES, "their copies are bytes");

motley_place mot_first_place(const motley_place *p, int32_t width, int32_t height)
{
    motley_place first = mot_whole_place(width, height);
    first.filter = p->filter;
    if (p->first.width == 0)
        return first;
    memcpy(&first, &p->first, FIRST_BYTES);
    first.overlap = p->overlap;
    first.canvas_left = p->canvas_left, first.canvas_top = p->canvas_top;
    return first;
}

motley_place mot_last_place(const motley_place *place)
{
    motley_place last = *place;
    if (place->first.width == 0)
        return last;
    last.overlap = MOTLEY_OVERLAP_NONE;
    last.canvas_left = last.canvas_top = 0;
    return last;
}

motley_place mot_place_again(const motley_place *p)
{
    motley_place again = mot_whole_place(p->result_width, p->result_height);
    memcpy(&again.first, p, FIRST_BYTES);
    again.filter = p->filter;
    again.overlap = p->overlap;
    again.canvas_left = p->canvas_left, again.canvas_top = p->canvas_top;
    return again;
}

motley_status mot_check_interpolation(motley_interpolation interpolation, motley_error *error)
{
    MOT_REQUIRE((unsigned)interpolation <= MOTLEY_BICUBIC, error,
                "interpolation is %d, want nearest (0), bilinear (1) or bicubic (2)", (int)interpolation);
    return MOTLEY_OK;
}

motley_status mot_check_values_count(const motley_op_info *op, int count, motley_error *error)
{
    const char *const open = *op->unit ? " (" : "", *const close = *op->unit ? ")" : "";
    MOT_REQUIRE(op->values_min != op->values_max || count == op->values_min, error,
                "%s takes %d value%s%s%s%s, %d were given", op->name, op->values_min, op->values_min == 1 ? "" : "s",
                open, op->unit, close, count);
    MOT_REQUIRE(count >= op->values_min && count <= op->values_max, error,
                "%s takes %d to %d values%s%s%s, %d were given", op->name, op->values_min, op->values_max, open,
                op->unit, close, count);
    return MOTLEY_OK;
}

motley_filter mot_interpolation_filter(motley_interpolation interpolation)
{
    static const motley_filter filters[] = { [MOTLEY_NEAREST] = MOTLEY_FILTER_NEAREST,
                                             [MOTLEY_BILINEAR] = MOTLEY_FILTER_BILINEAR,
                                             [MOTLEY_BICUBIC] = MOTLEY_FILTER_BICUBIC };
    return filters[interpolation];
}
