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

#define MOT_EDGE_ENHANCE_MORE_NINE \
    { \
        .side = -1, .centre = 9, .divisor = 1 \
    }

MOT_NINE_OP(edge_enhance_more, mot_clamp(10 * centre - (int)sum))

#endif
