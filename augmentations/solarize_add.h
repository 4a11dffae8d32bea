/* SPDX-License-Identifier: Apache-2.0 */
/* Solarize-add: adds to every component below a threshold, and stops at 255.
 *
 * Values   the addend, 0..255, truncated to a whole number; then the threshold, by default 128. */
#ifndef MOT_SOLARIZE_ADD_H
#define MOT_SOLARIZE_ADD_H
#include "augmentations/wide.h"
#include <math.h>

/* clang-format off */
#define MOT_SOLARIZE_ADD_INFO \
    .name = "solarize_add", .summary = "Adds to every component below a threshold.", \
    .unit = "amount added; threshold (128)", .matches = "timm solarize_add", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 2, .minimum = 0, .maximum = 255, .neutral = 0, .example = 60
/* clang-format on */
#define MOT_SOLARIZE_ADD_FACTS .cost = 600, .form = MOT_FORM_DIRECT

#ifndef __CUDACC__
static inline void mot_solarize_add_prepare(const double *values, int count, mot_arg *arg)
{
    arg->u[0] = (uint32_t)values[0];
    arg->u[1] = count < 2 ? 128 : values[1] > 0 ? (uint32_t)ceil(values[1]) : 0;
    arg->d[1] = count < 2 ? 128 : values[1];
    arg->flags = arg->u[0] == 0 || arg->u[1] == 0 ? MOT_ARG_IDENTITY : 0;
}
#endif

MOT_FN uint8_t mot_solarize_add(uint8_t v, const mot_arg *arg)
{
    const uint8_t add = (uint8_t)arg->u[0], room = (uint8_t)(255 - v);
    return mot_below(v, arg->u[1]) ? (uint8_t)(v + (add < room ? add : room)) : v;
}

MOT_FN float mot_solarize_add_wide(float v, const mot_range *range, const mot_arg *arg)
{
    const float more = v + mot_range_amount(range, arg->u[0]);
    return v < mot_range_at(range, arg->d[1]) ? (more < range->hi ? more : range->hi) : v;
}

#endif
