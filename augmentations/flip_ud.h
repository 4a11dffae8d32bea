/* SPDX-License-Identifier: Apache-2.0 */
/* Flip up-down: top becomes bottom. */
#ifndef MOT_FLIP_UD_H
#define MOT_FLIP_UD_H
#include "augmentations/op.h"

/* clang-format off */
#define MOT_FLIP_UD_INFO \
    .name = "flip_ud", .summary = "Mirrors top and bottom.", \
    .unit = "", .matches = "Pillow ImageOps.flip", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 0, .values_max = 0, .minimum = 0, .maximum = 0, .neutral = NAN, .example = 0
/* clang-format on */
#define MOT_FLIP_UD_FACTS .cost = 700

#ifndef __CUDACC__
static inline void mot_flip_ud_prepare(const double *values, int count, mot_arg *arg)
{
    (void)values, (void)count;
    arg->flags = MOT_ARG_WHOLE;
}
#endif

MOT_FN void mot_flip_ud(int width, int height, const mot_arg *arg, mot_warp *warp)
{
    (void)width, (void)arg;
    mot_matrix(warp, 1, 0, 0, 0, -1, height);
    warp->whole = 1;
}

#endif
