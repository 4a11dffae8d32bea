/* SPDX-License-Identifier: Apache-2.0 */
/* Rotate: turns the picture about its centre; the corners are filled.
 *
 * Value    degrees, counter-clockwise. Sine and cosine are rounded to 15 decimals as Pillow does; 180 degrees, and 90
 *          and 270 degrees of a square image, move whole pixels. */
#ifndef MOT_ROTATE_H
#define MOT_ROTATE_H
#include "augmentations/op.h"
#include "augmentations/round15.h"
#include <math.h>

/* clang-format off */
#define MOT_ROTATE_INFO \
    .name = "rotate", .summary = "Turns the picture about its centre.", \
    .unit = "degrees, counter-clockwise", .matches = "Pillow Image.rotate", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = -1000000, .maximum = 1000000, .neutral = 0, .example = 30
/* clang-format on */
#define MOT_ROTATE_FACTS .cost = 2000

#ifndef __CUDACC__
static inline void mot_rotate_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    double turn = fmod(values[0], 360.0);
    if (turn < 0)
        turn += 360.0; /* a tiny negative angle becomes 360 exactly, as in Python */
    const double radians = -(turn * (3.14159265358979323846 / 180.0));
    arg->d[0] = mot_round15(cos(radians));
    arg->d[1] = mot_round15(sin(radians));
    arg->d[2] = -arg->d[1];
    arg->flags = turn == 0                   ? MOT_ARG_IDENTITY
                 : turn == 180               ? MOT_ARG_WHOLE
                 : turn == 90 || turn == 270 ? MOT_ARG_SQUARE
                                             : 0;
}
#endif

MOT_FN void mot_rotate(int width, int height, const mot_arg *arg, mot_warp *warp)
{
    const double cosine = arg->d[0], sine = arg->d[1], minus_sine = arg->d[2];
    const double cx = width / 2.0, cy = height / 2.0;
    mot_matrix(warp, cosine, sine, ((cosine * -cx + sine * -cy) + 0.0) + cx, minus_sine, cosine,
               ((minus_sine * -cx + cosine * -cy) + 0.0) + cy);
    if (arg->flags & MOT_ARG_IDENTITY)
        mot_matrix(warp, 1, 0, 0, 0, 1, 0);
    if ((arg->flags & (MOT_ARG_WHOLE | MOT_ARG_IDENTITY)) || ((arg->flags & MOT_ARG_SQUARE) && width == height))
        warp->whole = 1;
}

#endif
