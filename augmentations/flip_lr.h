/* SPDX-License-Identifier: Apache-2.0 */
/* Flip left-right: the mirror image. */
#ifndef MOT_FLIP_LR_H
#define MOT_FLIP_LR_H
#include "augmentations/op.h"

/* clang-format off */
#define MOT_FLIP_LR_INFO \
    .name = "flip_lr", .summary = "Mirrors left and right.", \
    .unit = "", .matches = "Pillow ImageOps.mirror", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 0, .values_max = 0, .minimum = 0, .maximum = 0, .neutral = NAN, .example = 0
/* clang-format on */
#define MOT_FLIP_LR_FACTS .cost = 700

#ifndef __CUDACC__
static inline void mot_flip_lr_prepare(const double *values, int count, mot_arg *arg)
{
    (void)values, (void)count;
    arg->flags = MOT_ARG_WHOLE;
}
#endif

MOT_FN void mot_flip_lr(int width, int height, const mot_arg *arg, mot_warp *warp)
{
    (void)height, (void)arg;
    mot_matrix(warp, -1, 0, width, 0, 1, 0);
    warp->whole = 1;
}

#endif
