/* SPDX-License-Identifier: Apache-2.0 */
/* Solarize: inverts every component at or above a threshold.
 *
 * Value    threshold, a component's value, 0..256, fractions count. 256 changes nothing, 0 inverts all. */
#ifndef MOT_SOLARIZE_H
#define MOT_SOLARIZE_H
#include "augmentations/wide.h"
#include <math.h>

/* clang-format off */
#define MOT_SOLARIZE_INFO \
    .name = "solarize", .summary = "Inverts every component at or above a threshold.", \
    .unit = "threshold, component value", .matches = "Pillow ImageOps.solarize", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = 0, .maximum = 256, .neutral = 256, .example = 128
/* clang-format on */
#define MOT_SOLARIZE_FACTS .cost = 600, .form = MOT_FORM_DIRECT

#ifndef __CUDACC__
static inline void mot_solarize_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->u[0] = (uint32_t)ceil(values[0]); /* v < t and v < ceil(t) agree for whole v */
    arg->d[1] = values[0];
    arg->flags = arg->u[0] == 256 ? MOT_ARG_IDENTITY : 0;
}
#endif

MOT_FN uint8_t mot_solarize(uint8_t v, const mot_arg *arg)
{
    return mot_below(v, arg->u[0]) ? v : (uint8_t)(255 - v);
}

MOT_FN float mot_solarize_wide(float v, const mot_range *range, const mot_arg *arg)
{
    return v >= mot_range_at(range, arg->d[1]) ? mot_range_invert(range, v) : v;
}

#endif
