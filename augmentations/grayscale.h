/* SPDX-License-Identifier: Apache-2.0 */
/* Grayscale: luma in every channel. Images of other colours than RGB stay as they are. */
#ifndef MOT_GRAYSCALE_H
#define MOT_GRAYSCALE_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_GRAYSCALE_INFO \
    .name = "grayscale", .summary = "Replaces each pixel by its luma.", \
    .unit = "", .matches = "Pillow ImageOps.grayscale, as many channels", \
    .paper = "Touvron et al. 2022 (3-Augment), arXiv:2204.07118", \
    .values_min = 0, .values_max = 0, .minimum = 0, .maximum = 0, .neutral = NAN, .example = 0
/* clang-format on */
#define MOT_GRAYSCALE_FACTS .cost = 600, .form = MOT_FORM_LUMA

MOT_FN void mot_grayscale_prepare(const double *values, int count, mot_arg *arg)
{
    (void)values, (void)count, (void)arg;
}

MOT_FN uint8_t mot_grayscale(mot_u8 v, mot_u8 luma, const mot_arg *arg)
{
    (void)v, (void)arg;
    return luma;
}

MOT_FN float mot_grayscale_wide(float v, float luma, const mot_range *range, const mot_arg *arg)
{
    (void)v, (void)range, (void)arg;
    return luma;
}

#endif
