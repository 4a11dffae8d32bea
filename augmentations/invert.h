/* SPDX-License-Identifier: Apache-2.0 */
/* Invert: the negative. */
#ifndef MOT_INVERT_H
#define MOT_INVERT_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_INVERT_INFO \
    .name = "invert", .summary = "Makes the negative.", \
    .unit = "", .matches = "Pillow ImageOps.invert", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 0, .values_max = 0, .minimum = 0, .maximum = 0, .neutral = NAN, .example = 0
/* clang-format on */
#define MOT_INVERT_FACTS .cost = 600, .form = MOT_FORM_DIRECT

#ifndef __CUDACC__
static inline void mot_invert_prepare(const double *values, int count, mot_arg *arg)
{
    (void)values, (void)count, (void)arg;
}
#endif

MOT_FN uint8_t mot_invert(uint8_t v, const mot_arg *arg)
{
    (void)arg;
    return (uint8_t)(255 - v);
}

MOT_FN float mot_invert_wide(float v, const mot_range *range, const mot_arg *arg)
{
    (void)arg;
    return mot_range_invert(range, v);
}

#endif
