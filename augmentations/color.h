/* SPDX-License-Identifier: Apache-2.0 */
/* Color: blends between the grey image (factor 0) and the image (factor 1), and beyond. Images of other colours than
 * RGB stay as they are. */
#ifndef MOT_COLOR_H
#define MOT_COLOR_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_COLOR_INFO \
    .name = "color", .summary = "Blends from grey towards and past the image.", \
    .unit = "blend factor", .matches = "Pillow ImageEnhance.Color", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = -10000, .maximum = 10000, .neutral = 1, .example = 1.8
/* clang-format on */
#define MOT_COLOR_FACTS .cost = 700, .form = MOT_FORM_BLEND

MOT_FN void mot_color_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->factor = (float)values[0];
    arg->d[0] = 1.0 - values[0];
    arg->flags = arg->factor == 1.0f ? MOT_ARG_IDENTITY : 0;
}

MOT_FN uint8_t mot_color(mot_u8 v, mot_u8 luma, const mot_arg *arg)
{
    return mot_blend(luma, v, arg->factor);
}

MOT_FN float mot_color_wide(float v, float luma, const mot_range *range, const mot_arg *arg)
{
    return mot_range_mix(range, v, luma, arg->factor, (float)arg->d[0]);
}

#endif
