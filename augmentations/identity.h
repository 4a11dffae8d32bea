/* SPDX-License-Identifier: Apache-2.0 */
/* Identity: the image as it is. */
#ifndef MOT_IDENTITY_H
#define MOT_IDENTITY_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_IDENTITY_INFO \
    .name = "identity", .summary = "Leaves the image as it is.", \
    .unit = "", .matches = "the image itself", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 0, .values_max = 0, .minimum = 0, .maximum = 0, .neutral = NAN, .example = 0
/* clang-format on */
#define MOT_IDENTITY_FACTS .cost = 700

#ifndef __CUDACC__
static inline void mot_identity_prepare(const double *values, int count, mot_arg *arg)
{
    (void)values, (void)count;
    arg->flags = MOT_ARG_IDENTITY;
}
#endif

MOT_FN uint8_t mot_identity(uint8_t v, const mot_arg *arg)
{
    (void)arg;
    return v;
}

MOT_FN float mot_identity_wide(float v, const mot_range *range, const mot_arg *arg)
{
    (void)range, (void)arg;
    return v;
}

#endif
