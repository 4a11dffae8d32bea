/* SPDX-License-Identifier: Apache-2.0 */
/* Edge enhance more: nine times the centre, less each neighbour.
 *
 * Matches  Pillow ImageFilter.EDGE_ENHANCE_MORE, in integers in place of its binary32. Alpha stays as it is. */
#ifndef MOT_EDGE_ENHANCE_MORE_H
#define MOT_EDGE_ENHANCE_MORE_H
#include "augmentations/filter.h"

#define MOT_EDGE_ENHANCE_MORE_INFO \
    .name = "edge_enhance_more", .summary = "Sharpens edges strongly by a fixed filter.", \
    .matches = "Pillow ImageFilter.EDGE_ENHANCE_MORE", .paper = "none", MOT_FILTER_INFO
#define MOT_EDGE_ENHANCE_MORE_FACTS .cost = 900

MOT_FILTER_PREPARE(edge_enhance_more)

/* `sum` is that of nine components. */
MOT_FN uint8_t mot_edge_enhance_more(uint8_t centre, uint32_t sum, const mot_arg *arg)
{
    (void)arg;
    return mot_clamp(10 * centre - (int)sum);
}
MOT_FILTER_PAIR(edge_enhance_more)

#endif
