/* SPDX-License-Identifier: Apache-2.0 */
/* Equalize: makes each channel's histogram as flat as a table can.
 *
 * Matches  Pillow ImageOps.equalize, integers throughout. */
#ifndef MOT_EQUALIZE_H
#define MOT_EQUALIZE_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_EQUALIZE_INFO \
    .name = "equalize", .summary = "Flattens each channel's histogram.", \
    .unit = "", .matches = "Pillow ImageOps.equalize", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 0, .values_max = 0, .minimum = 0, .maximum = 0, .neutral = NAN, .example = 0
/* clang-format on */
#define MOT_EQUALIZE_FACTS .cost = 2800

#ifndef __CUDACC__
static inline void mot_equalize_prepare(const double *values, int count, mot_arg *arg)
{
    (void)values, (void)count, (void)arg;
}
#endif

#define MOT_EQUALIZE_NEEDS MOT_NEEDS_HISTOGRAM

MOT_FN uint8_t mot_equalize(uint8_t v, const mot_stats *stats, const mot_arg *arg)
{
    (void)arg;
    const uint32_t step = (stats->n - stats->last) / 255;
    if (stats->hi <= stats->lo || step == 0)
        return v;
    const uint32_t level = (step / 2 + stats->below[v]) / step;
    return level > 255 ? 255 : (uint8_t)level;
}

MOT_FN float mot_equalize_wide(float v, const mot_wide_stats *stats, const mot_range *range, const mot_arg *arg)
{
    (void)arg;
    return v == v ? stats->by_bin[(int)mot_range_bin(range, v)] : v;
}

#endif
