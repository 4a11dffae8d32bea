/* SPDX-License-Identifier: Apache-2.0 */
/* Affine: any 2x3 matrix, from output to input, about the corner (0, 0); pixel centres lie at + 0.5.
 *
 * Values   a0..a5: output (x, y) reads the input at (a0 x + a1 y + a2, a3 x + a4 y + a5). */
#ifndef MOT_AFFINE_H
#define MOT_AFFINE_H
#include "augmentations/op.h"

/* clang-format off */
#define MOT_AFFINE_INFO \
    .name = "affine", .summary = "Maps by a 2x3 matrix from output to input.", \
    .unit = "a0; a1; a2; a3; a4; a5", .matches = "Pillow Image.transform(AFFINE)", \
    .paper = "none", \
    .values_min = 6, .values_max = 6, .minimum = -1e9, .maximum = 1e9, .neutral = NAN, .example = 1
/* clang-format on */
#define MOT_AFFINE_FACTS .cost = 1900

#ifndef __CUDACC__
static inline void mot_affine_prepare(const double *values, int count, mot_arg *arg)
{
    for (int i = 0; i < count; i++)
        arg->d[i] = values[i];
}
#endif

MOT_FN void mot_affine(int width, int height, const mot_arg *arg, mot_warp *warp)
{
    (void)width, (void)height;
    mot_matrix(warp, arg->d[0], arg->d[1], arg->d[2], arg->d[3], arg->d[4], arg->d[5]);
}

#endif
