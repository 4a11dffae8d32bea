/* SPDX-License-Identifier: Apache-2.0 */
/* Brightness: blends between black (factor 0) and the image (factor 1), and beyond. */
#ifndef MOT_BRIGHTNESS_H
#define MOT_BRIGHTNESS_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_BRIGHTNESS_INFO \
    .name = "brightness", .summary = "Blends from black towards and past the image.", \
    .unit = "blend factor", .matches = "Pillow ImageEnhance.Brightness", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = -10000, .maximum = 10000, .neutral = 1, .example = 1.6
/* clang-format on */
#define MOT_BRIGHTNESS_FACTS .cost = 700

MOT_FN void mot_brightness_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->factor = (float)values[0];
    arg->flags = arg->factor == 1.0f ? MOT_ARG_IDENTITY : 0;
}

MOT_FN uint8_t mot_brightness(uint8_t v, const mot_arg *arg)
{
    return mot_blend(0, v, arg->factor);
}

MOT_FN float mot_brightness_wide(float v, const mot_range *range, const mot_arg *arg)
{
    return mot_range_clamp(range, (v - range->lo) * arg->factor + range->lo);
}

#endif
