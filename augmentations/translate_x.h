/* SPDX-License-Identifier: Apache-2.0 */
/* Translate x: shifts the picture right by pixels, not rounded.
 *
 * timm's sign is the opposite: its positive value moves left. */
#ifndef MOT_TRANSLATE_X_H
#define MOT_TRANSLATE_X_H
#include "augmentations/op.h"

/* clang-format off */
#define MOT_TRANSLATE_X_INFO \
    .name = "translate_x", .summary = "Shifts right by pixels.", \
    .unit = "pixels, positive moves right", .matches = "torchvision affine; timm translate_x_abs of the opposite sign", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = -1048576, .maximum = 1048576, .neutral = 0, .example = 40
/* clang-format on */
#define MOT_TRANSLATE_X_FACTS .cost = 700, .pixels = 1

#ifndef __CUDACC__
static inline void mot_translate_x_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->d[0] = values[0];
}
#endif

MOT_FN void mot_translate_x(int width, int height, const mot_arg *arg, mot_warp *warp)
{
    (void)width, (void)height;
    mot_matrix(warp, 1, 0, -arg->d[0], 0, 1, 0);
}

#endif
