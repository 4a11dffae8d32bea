/* SPDX-License-Identifier: Apache-2.0 */
/* STATS: ops that first need a channel's histogram or the image's mean, and then are a table. */
#ifndef MOT_STATS_H
#define MOT_STATS_H

#include "augmentations/ops.h"

#include "kernels/shapes_off.h"
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem(v, stats, arg);

MOT_FN uint8_t mot_stats_value(int op, uint8_t v, const mot_stats *stats, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return v;
    }
}

#include "kernels/shapes_off.h"

/* The mean of n bytes with this sum, rounded half up. Pillow's trunc(sum / n + 0.5) in doubles gives the same. */
MOT_FN uint32_t mot_stats_mean(uint64_t sum, uint32_t n)
{
    return (uint32_t)((2 * sum + n) / (2 * (uint64_t)n));
}

/* Replaces each entry v of a channel's histogram by the number of components lower than v, and fills `stats` except for
 * the mean. All numbers are integers, so a device may use a parallel scan instead. */
MOT_FN void mot_stats_of_histogram(uint32_t *histogram, mot_stats *stats)
{
    uint32_t below = 0;
    stats->lo = 256;
    stats->hi = stats->last = 0;
    for (uint32_t v = 0; v < 256; v++) {
        const uint32_t here = histogram[v];
        if (here && stats->lo == 256)
            stats->lo = v;
        if (here) {
            stats->hi = v;
            stats->last = here;
        }
        histogram[v] = below;
        below += here;
    }
    stats->n = below;
    stats->below = histogram;
}

#endif
