/* SPDX-License-Identifier: Apache-2.0 */
/* Posterize: keeps the highest bits of each component.
 *
 * Value    bits kept, 0..8. Values that a policy computes from a level are truncated to whole bits. 8 changes
 *          nothing; 0 gives black, as before Pillow 13, which refuses it. */
#ifndef MOT_POSTERIZE_H
#define MOT_POSTERIZE_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_POSTERIZE_INFO \
    .name = "posterize", .summary = "Keeps only the highest bits of each component.", \
    .unit = "bits kept", \
    .matches = "Pillow ImageOps.posterize (0 bits give black, as before Pillow 13, which refuses them)", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = 0, .maximum = 8, .neutral = 8, .example = 3, .whole = 1
/* clang-format on */
#define MOT_POSTERIZE_FACTS .cost = 600, .form = MOT_FORM_DIRECT

#ifndef __CUDACC__
static inline void mot_posterize_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    const int bits = (int)values[0];
    arg->u[0] = 0xFFu & ~((1u << (8 - bits)) - 1u);
    arg->flags = bits == 8 ? MOT_ARG_IDENTITY : 0;
}
#endif

MOT_FN uint8_t mot_posterize(uint8_t v, const mot_arg *arg)
{
    return (uint8_t)(v & arg->u[0]);
}

/* Eight bits are a step, too. */
MOT_FN float mot_posterize_wide(float v, const mot_range *range, const mot_arg *arg)
{
    const float n = (float)(256u / (256u - arg->u[0])), most = n - 1.0f;
    if (range->whole)
        return mot_range_of_part(range, mot_range_part(range, v, n), n);
    const float level = floorf((v - range->lo) * (float)((double)n / range->span));
    return (level < 0.0f ? 0.0f : level > most ? most : level) * (float)(range->span / (double)n) + range->lo;
}

#endif
