/* SPDX-License-Identifier: Apache-2.0 */
/* Desaturate: removes colour. Images of other colours than RGB stay as they are.
 *
 * Value    0 leaves the image as it is, 1 makes it grey. */
#ifndef MOT_DESATURATE_H
#define MOT_DESATURATE_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_DESATURATE_INFO \
    .name = "desaturate", .summary = "Takes colour away: 1 is grey.", \
    .unit = "share of colour removed", .matches = "timm desaturate", \
    .paper = "Touvron et al. 2022 (3-Augment), arXiv:2204.07118", \
    .values_min = 1, .values_max = 1, .minimum = 0, .maximum = 1, .neutral = 0, .example = 0.8
/* clang-format on */
#define MOT_DESATURATE_FACTS .cost = 700, .form = MOT_FORM_BLEND

#ifndef __CUDACC__
static inline void mot_desaturate_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->factor = (float)(1.0 - values[0]);
    arg->d[0] = values[0];
    arg->flags = arg->factor == 1.0f ? MOT_ARG_IDENTITY : 0;
}
#endif

MOT_FN uint8_t mot_desaturate(mot_u8 v, mot_u8 luma, const mot_arg *arg)
{
    return mot_blend(luma, v, arg->factor);
}

MOT_FN float mot_desaturate_wide(float v, float luma, const mot_range *range, const mot_arg *arg)
{
    return mot_range_mix(range, v, luma, arg->factor, (float)arg->d[0]);
}

#endif
