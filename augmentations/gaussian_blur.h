/* SPDX-License-Identifier: Apache-2.0 */
/* Gaussian blur: three extended box blurs along rows, then three along columns, each rounded to bytes.
 *
 * Value    radius (standard deviation) in pixels; 0 changes nothing.
 * Matches  Pillow ImageFilter.GaussianBlur, whose constants are computed in binary32. */
#ifndef MOT_GAUSSIAN_BLUR_H
#define MOT_GAUSSIAN_BLUR_H
#include "augmentations/wide.h"
#include <math.h>

/* clang-format off */
#define MOT_GAUSSIAN_BLUR_INFO \
    .name = "gaussian_blur", .summary = "Blurs with a standard deviation in pixels.", \
    .unit = "radius, pixels", .matches = "Pillow ImageFilter.GaussianBlur", \
    .paper = "Touvron et al. 2022 (3-Augment), arXiv:2204.07118", \
    .values_min = 1, .values_max = 1, .minimum = 0, .maximum = 1000, .neutral = 0, .example = 3
/* clang-format on */
#define MOT_GAUSSIAN_BLUR_FACTS .cost = 3500, .form = MOT_FORM_BOXES

MOT_FN void mot_gaussian_blur_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    const float radius = (float)values[0];
    const float variance = (radius * radius) / 3.0f; /* of each of the three boxes */
    const float length = (float)sqrt(12.0 * (double)variance + 1.0);
    const float l = (float)floor(((double)length - 1.0) / 2.0);
    float a = (2.0f * l + 1.0f) * (l * (l + 1.0f) - 3.0f * variance);
    a = a / (6.0f * (variance - (l + 1.0f) * (l + 1.0f)));
    const float box = l + a;
    const uint32_t r = (uint32_t)box;
    const uint32_t inner = (uint32_t)(16777216.0f / (box * 2.0f + 1.0f));
    arg->u[0] = r;
    arg->u[1] = inner;
    arg->u[2] = (16777216u - (2u * r + 1u) * inner) / 2u;
    arg->flags = radius == 0.0f ? MOT_ARG_IDENTITY : 0;
}

/* One output of one pass: `inner` sums the 2r + 1 nearest components, `all` these and the two beyond them. */
MOT_FN uint8_t mot_gaussian_blur(uint32_t inner, uint32_t all, const mot_arg *arg)
{
    return (uint8_t)(((arg->u[1] - arg->u[2]) * inner + arg->u[2] * all + (1u << 23)) >> 24);
}

/* `inner` is summed from the first component, `edges` are the two beyond them. */
MOT_FN float mot_gaussian_blur_wide(float inner, float edges, const mot_arg *arg)
{
    return fmaf(inner, (float)arg->u[1] * 0x1p-24f, edges * ((float)arg->u[2] * 0x1p-24f));
}

#endif
