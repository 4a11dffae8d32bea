/* SPDX-License-Identifier: Apache-2.0 */
/* Translate y: shifts the picture down by a fraction of its height, not rounded.
 *
 * timm's sign is the opposite: its positive value moves up. */
#ifndef MOT_TRANSLATE_Y_REL_H
#define MOT_TRANSLATE_Y_REL_H
#include "augmentations/op.h"

/* clang-format off */
#define MOT_TRANSLATE_Y_REL_INFO \
    .name = "translate_y_rel", .summary = "Shifts down by a fraction of the height.", \
    .unit = "fraction of the height, positive moves down", .matches = "timm translate_y_rel of the opposite sign", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = -16, .maximum = 16, .neutral = 0, .example = 0.3
/* clang-format on */
#define MOT_TRANSLATE_Y_REL_FACTS .cost = 700

#ifndef __CUDACC__
static inline void mot_translate_y_rel_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->d[0] = values[0];
}
#endif

MOT_FN void mot_translate_y_rel(int width, int height, const mot_arg *arg, mot_warp *warp)
{
    (void)width;
    mot_matrix(warp, 1, 0, 0, 0, 1, -(arg->d[0] * (double)height));
}

#endif
