/* SPDX-License-Identifier: Apache-2.0 */
/* Auto contrast: stretches each channel so that its lowest value becomes 0 and its highest 255.
 *
 * Matches  Pillow ImageOps.autocontrast with cutoff 0: doubles, each operation rounded, truncated. */
#ifndef MOT_AUTO_CONTRAST_H
#define MOT_AUTO_CONTRAST_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_AUTO_CONTRAST_INFO \
    .name = "auto_contrast", .summary = "Stretches each channel to the full range.", \
    .unit = "", .matches = "Pillow ImageOps.autocontrast", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 0, .values_max = 0, .minimum = 0, .maximum = 0, .neutral = NAN, .example = 0
/* clang-format on */
#define MOT_AUTO_CONTRAST_FACTS .cost = 1300

#ifndef __CUDACC__
static inline void mot_auto_contrast_prepare(const double *values, int count, mot_arg *arg)
{
    (void)values, (void)count, (void)arg;
}
#endif

#define MOT_AUTO_CONTRAST_NEEDS MOT_NEEDS_RANGE

MOT_FN uint8_t mot_auto_contrast(uint8_t v, const mot_stats *stats, const mot_arg *arg)
{
    (void)arg;
    if (stats->hi <= stats->lo)
        return v;
    const double scale = 255.0 / (double)(stats->hi - stats->lo);
    const double offset = -(double)stats->lo * scale;
    const double stretched = (double)v * scale + offset;
    return stretched <= 0.0 ? 0 : stretched >= 255.0 ? 255 : (uint8_t)stretched;
}

MOT_FN float mot_auto_contrast_wide(float v, const mot_wide_stats *stats, const mot_range *range, const mot_arg *arg)
{
    (void)arg;
    if (stats->hi <= stats->lo)
        return mot_range_clamp(range, v);
    const float scale = (stats->hi - stats->lo) * (float)(1.0 / range->span);
    return mot_range_clamp(range, (v - stats->lo) / scale + range->lo);
}

#endif
