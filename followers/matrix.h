/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of drawn steps: matrices from output to input, pixel centres at + 0.5. */
#ifndef MOT_FOLLOWERS_MATRIX_H
#define MOT_FOLLOWERS_MATRIX_H

#include "augmentations/op.h"
#include "motley/follow.h"

#include <stdbool.h>

/* What a step does to positions: nothing, a move by a matrix, an erased rectangle, or a move of what lies in a part of
 * the image. A crop is a move, too. */
typedef enum mot_geometry_kind { MOT_STAYS, MOT_MOVES, MOT_ERASES, MOT_MOVES_INSIDE } mot_geometry_kind;

typedef struct mot_geometry {
    mot_geometry_kind kind;
    double a[6];           /* MOVES, MOVES_INSIDE: output to input */
    double inverse[6];     /* MOVES, MOVES_INSIDE: input to output */
    mot_rect rect;         /* ERASES: what is erased; MOVES_INSIDE: the part, whose corner the matrices begin at */
    int32_t width, height; /* of the image after it, pixels */
} mot_geometry;

/* The most geometries that an image has: its steps, a crop, the resize with window and flips, and erased boxes. */
#define MOT_GEOMETRIES(drawn) ((drawn)->max_steps + 2 + MOTLEY_MAX_ERASED_BOXES)

/* The geometry of a step for an image of this size. */
motley_status mot_geometry_of(const motley_step *step, int32_t width, int32_t height, mot_geometry *out,
                              motley_error *error);

/* Of a transform, the crop of image i, and its resize, window and flips as one move; *width and *height: the size of
 * the image after them, which its steps have. */
motley_status mot_geometry_of_place(const motley_drawn *drawn, size_t i, mot_geometry out[2], int32_t *width,
                                    int32_t *height, motley_error *error);

/* Checks the arrays of `drawn`, and the offsets into `what` (points, boxes); NULL: there is one of `what` per image. */
motley_status mot_drawn_check(const motley_drawn *drawn, const size_t *offsets, const void *values, const char *what,
                              motley_error *error);

/* Writes the geometry of everything that image i drew and that moves or erases, in its order, to `out`
 * [MOT_GEOMETRIES(drawn)], and their number to *count. */
motley_status mot_geometry_of_image(const motley_drawn *drawn, size_t i, mot_geometry *out, int32_t *count,
                                    motley_error *error);

/* Maps (x, y) by the matrix `m`. */
static inline void mot_move(const double m[6], double x, double y, double *to_x, double *to_y)
{
    *to_x = m[0] * x + m[1] * y + m[2];
    *to_y = m[3] * x + m[4] * y + m[5];
}

#endif
