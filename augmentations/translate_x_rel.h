/* SPDX-License-Identifier: Apache-2.0 */
/* Translate x: shifts the picture right by a fraction of its width, not rounded.
 *
 * timm's sign is the opposite: its positive value moves left. */
#ifndef MOT_TRANSLATE_X_REL_H
#define MOT_TRANSLATE_X_REL_H
#include "augmentations/op.h"

/* clang-format off */
#define MOT_TRANSLATE_X_REL_INFO \
    .name = "translate_x_rel", .summary = "Shifts right by a fraction of the width.", \
    .unit = "fraction of the width, positive moves right", .matches = "timm translate_x_rel of the opposite sign", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = -16, .maximum = 16, .neutral = 0, .example = 0.3
/* clang-format on */
#define MOT_TRANSLATE_X_REL_FACTS .cost = 700

#ifndef __CUDACC__
static inline void mot_translate_x_rel_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->d[0] = values[0];
}
#endif

MOT_FN void mot_translate_x_rel(int width, int height, const mot_arg *arg, mot_warp *warp)
{
    (void)height;
    mot_matrix(warp, 1, 0, -(arg->d[0] * (double)width), 0, 1, 0);
}

#endif
