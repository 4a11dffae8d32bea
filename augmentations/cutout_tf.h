/* SPDX-License-Identifier: Apache-2.0 */
/* Cutout as in the TensorFlow recipes: fills a square around a pixel corner, clipped to the image.
 *
 * Values   half the side in pixels, then the centre x and y, by default the image's centre. Fractions are truncated.
 *          The square is [c - v, c + v) in both directions. */
#ifndef MOT_CUTOUT_TF_H
#define MOT_CUTOUT_TF_H
#include "augmentations/op.h"
#include <math.h>

/* clang-format off */
#define MOT_CUTOUT_TF_INFO \
    .name = "cutout_tf", .summary = "Fills a square of twice the value, half-open.", \
    .unit = "half the side, pixels; centre x; centre y", .matches = "cutout of tensorflow/tpu's recipe", \
    .paper = "DeVries, Taylor 2017, arXiv:1708.04552", \
    .values_min = 1, .values_max = 3, .minimum = 0, .maximum = 1048576, .neutral = NAN, .example = 40
/* clang-format on */
#define MOT_CUTOUT_TF_FACTS .cost = 800, .pixels = 1, .draws = MOT_DRAWS_PIXEL

#ifndef __CUDACC__
static inline void mot_cutout_tf_prepare(const double *values, int count, mot_arg *arg)
{
    arg->d[0] = values[0];
    arg->d[1] = count > 1 ? values[1] : NAN;
    arg->d[2] = count > 2 ? values[2] : NAN;
}
#endif

MOT_FN mot_rect mot_cutout_tf(int width, int height, const mot_arg *arg)
{
    return mot_rect_around(width, height, arg, (int)arg->d[0], (int)arg->d[0]);
}

#endif
