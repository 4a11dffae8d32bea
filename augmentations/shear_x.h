/* SPDX-License-Identifier: Apache-2.0 */
/* Shear x: row y reads v * y pixels further right, about the corner (0, 0).
 *
 * Value    the matrix entry. torchvision's shear of m passes through degrees, so its entry is
 *          tan(radians(degrees(atan(m)))); policies in its profile prepare that (policies/levels.c). */
#ifndef MOT_SHEAR_X_H
#define MOT_SHEAR_X_H
#include "augmentations/op.h"

/* clang-format off */
#define MOT_SHEAR_X_INFO \
    .name = "shear_x", .summary = "Shears along x about the top left corner.", \
    .unit = "shear factor: pixels along per pixel across", .matches = "torchvision affine with centre (0, 0); timm shear_x", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = -100, .maximum = 100, .neutral = 0, .example = 0.3
/* clang-format on */
#define MOT_SHEAR_X_FACTS .cost = 700, .tangent = MOT_TANGENT_X

#ifndef __CUDACC__
static inline void mot_shear_x_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->d[0] = values[0];
}
#endif

MOT_FN void mot_shear_x(int width, int height, const mot_arg *arg, mot_warp *warp)
{
    (void)width, (void)height;
    mot_matrix(warp, 1, arg->d[0], 0, 0, 1, 0);
}

#endif
