/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of recorded draws: matrices from output to input, pixel centres at + 0.5; and what moves by it. */
#ifndef MOT_FOLLOWERS_MATRIX_H
#define MOT_FOLLOWERS_MATRIX_H

#include "followers/boxes.h"
#include "followers/moves.h"
#include "kernels/cpu.h"

/* The most geometries that an image has: its steps, a crop, the resize with window and flips, and erased boxes. */
#define MOT_GEOMETRIES(drawn) ((drawn)->max_steps + MOT_GEOMETRIES_OF_PLACES)

/* The geometry of a step for an image of this size. */
motley_status mot_geometry_of(const motley_step *step, int32_t width, int32_t height, mot_geometry *out,
                              motley_error *error);

/* The crop that a transform drew for image i, and its resize, window and flips as one move; twice, if it is resized
 * twice. *count: how many moves. *width and *height become the size of the image after them, to which its steps are
 * applied. */
motley_status mot_geometry_of_place(const motley_drawn *drawn, size_t i, mot_geometry out[MOT_GEOMETRIES_OF_RESIZES],
                                    int32_t *count, int32_t *width, int32_t *height, motley_error *error);

/* Checks the arrays of `drawn`, and the offsets into `what` (points, boxes); NULL: there is one of `what` per image. */
motley_status mot_drawn_check(const motley_drawn *drawn, const size_t *offsets, const void *values, const char *what,
                              motley_error *error);

/* Writes the geometry of everything that image i drew and that moves or erases pixels, in order, to `out`
 * [MOT_GEOMETRIES(drawn)], and how many there are to *count. */
motley_status mot_geometry_of_image(const motley_drawn *drawn, size_t i, mot_geometry *out, int32_t *count,
                                    motley_error *error);

/* The parts of motley_follow besides boxes, for doubles; single: the caller keeps the results as floats. flags may be
 * NULL; so may `scratch` without images. */
motley_status mot_follow_points(const motley_drawn *drawn, motley_convention convention, int single,
                                const size_t *offsets, double *points, uint8_t *flags, mot_kept *scratch,
                                motley_error *error);
motley_status mot_follow_matrices(const motley_drawn *drawn, double *matrices, mot_kept *scratch, motley_error *error);

/* Planes, image by image: `begin` checks them and finds each image's trace, in `traces`; then `image` may be called for
 * the images in any order, with `scratch_bytes` of memory. */
typedef struct mot_planes_call {
    const motley_drawn *drawn;
    const motley_planes *planes;
    mot_trace_step *steps; /* [images][most] */
    int *counts;
    size_t most, scratch_bytes;
} mot_planes_call;

motley_status mot_planes_begin(const motley_drawn *drawn, const motley_planes *planes, mot_planes_call *call,
                               mot_kept *traces, motley_error *error);
void mot_planes_image(void *call, size_t image, const mot_cpu_rows *rows, void *scratch);

#endif
