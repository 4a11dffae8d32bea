/* SPDX-License-Identifier: Apache-2.0 */
/* Shear y: column x reads v * x pixels further down, about the corner (0, 0). Value as shear_x. */
#ifndef MOT_SHEAR_Y_H
#define MOT_SHEAR_Y_H
#include "augmentations/op.h"

/* clang-format off */
#define MOT_SHEAR_Y_INFO \
    .name = "shear_y", .summary = "Shears along y about the top left corner.", \
    .unit = "shear factor: pixels along per pixel across", .matches = "torchvision affine with centre (0, 0); timm shear_y", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = -100, .maximum = 100, .neutral = 0, .example = 0.3
/* clang-format on */
#define MOT_SHEAR_Y_FACTS .cost = 900, .tangent = MOT_TANGENT_Y

#ifndef __CUDACC__
static inline void mot_shear_y_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->d[0] = values[0];
}
#endif

MOT_FN void mot_shear_y(int width, int height, const mot_arg *arg, mot_warp *warp)
{
    (void)width, (void)height;
    mot_matrix(warp, 1, 0, 0, arg->d[0], 1, 0);
}

#endif
