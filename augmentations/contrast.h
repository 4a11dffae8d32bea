/* SPDX-License-Identifier: Apache-2.0 */
/* Contrast: blends between the image's mean grey (factor 0) and the image (factor 1), and beyond. */
#ifndef MOT_CONTRAST_H
#define MOT_CONTRAST_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_CONTRAST_INFO \
    .name = "contrast", .summary = "Blends from the mean grey towards and past the image.", \
    .unit = "blend factor", .matches = "Pillow ImageEnhance.Contrast", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = -10000, .maximum = 10000, .neutral = 1, .example = 1.7
/* clang-format on */
#define MOT_CONTRAST_FACTS .cost = 1300

MOT_FN void mot_contrast_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->factor = (float)values[0];
    arg->d[0] = 1.0 - values[0];
    arg->flags = arg->factor == 1.0f ? MOT_ARG_IDENTITY : 0;
}

#define MOT_CONTRAST_NEEDS MOT_NEEDS_MEAN

MOT_FN uint8_t mot_contrast(uint8_t v, const mot_stats *stats, const mot_arg *arg)
{
    return mot_blend((uint8_t)stats->mean, v, arg->factor);
}

MOT_FN float mot_contrast_wide(float v, const mot_wide_stats *stats, const mot_range *range, const mot_arg *arg)
{
    return mot_range_mix(range, v, stats->mean, arg->factor, (float)arg->d[0]);
}

#endif
