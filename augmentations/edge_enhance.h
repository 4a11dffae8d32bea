/* SPDX-License-Identifier: Apache-2.0 */
/* Edge enhance: five times the centre, less half of each neighbour.
 *
 * Matches  Pillow ImageFilter.EDGE_ENHANCE, in integers in place of its binary32. Alpha stays as it is. */
#ifndef MOT_EDGE_ENHANCE_H
#define MOT_EDGE_ENHANCE_H
#include "augmentations/filter.h"

#define MOT_EDGE_ENHANCE_INFO \
    .name = "edge_enhance", .summary = "Sharpens edges by a fixed filter.", \
    .matches = "Pillow ImageFilter.EDGE_ENHANCE", .paper = "Müller, Hutter 2021 (TrivialAugment), arXiv:2103.10158", \
    MOT_FILTER_INFO
#define MOT_EDGE_ENHANCE_FACTS .cost = 900

#define MOT_EDGE_ENHANCE_NINE \
    { \
        .side = -1, .centre = 10, .divisor = 2 \
    }

MOT_NINE_OP(edge_enhance, mot_clamp((11 * centre - (int)sum + 1) / 2))

#endif
