/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that several folders share: of sizes, and of a step's interpolation and values. */
#ifndef MOT_VALUES_H
#define MOT_VALUES_H

#include "base/error.h"
#include "motley/draw.h"
#include "motley/op.h"
#include "motley/resize.h"

#include <stdint.h>

#define MOT_MAX_SIDE 1048576 /* pixels of an image's width or height */
#define MOT_MOST_SHRINK 2048 /* by which a side may become smaller that reaches beyond its image */

/* Products and sums of counts and sizes that a caller gives go through these two. On overflow they return SIZE_MAX,
 * which mot_check_array refuses and no allocation can satisfy. */
static inline size_t mot_times(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static inline size_t mot_plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static inline size_t mot_larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline int32_t mot_larger_int(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Requires that memory can hold `count` elements of `bytes` each. `what`: the count, in the caller's words. */
motley_status mot_check_array(const char *what, size_t count, size_t bytes, motley_error *error);

/* Requires that a batch may have so many images or samples. */
motley_status mot_check_count(const char *what, size_t count, motley_error *error);

/* Requires 1 to MOT_MAX_SIDE pixels each way. */
motley_status mot_check_size(int32_t width, int32_t height, motley_error *error);

/* Checks a given place of image i, from a source of width and height `from`: the crop and the erased boxes, at most
 * `most_boxes`, are inside, and the window begins at most MOT_MAX_SIDE pixels away. */
motley_status mot_check_place(const motley_place *place, size_t i, const int32_t from[2], int32_t most_boxes,
                              motley_error *error);

/* The parts of a place: what comes first, all of the image if it is resized once, and the rest, for an image that what
 * comes first has made. The rest keeps `first`, by which its readers know that the image is resized twice. */
motley_place mot_first_place(const motley_place *place, int32_t width, int32_t height);
motley_place mot_last_place(const motley_place *place);

/* A place that follows another, which becomes what comes first, and shows all that the other has made. */
motley_place mot_place_again(const motley_place *place);

/* A place that shows all of an image of this size as it is. */
motley_place mot_whole_place(int32_t width, int32_t height);

/* Requires nearest, bilinear or bicubic. */
motley_status mot_check_interpolation(motley_interpolation interpolation, motley_error *error);

/* Requires as many values as the op takes. */
motley_status mot_check_values_count(const motley_op_info *op, int count, motley_error *error);

/* The resize filter that corresponds to an interpolation of warps, which must be valid. */
motley_filter mot_interpolation_filter(motley_interpolation interpolation);

#endif
