/* SPDX-License-Identifier: Apache-2.0 */
/* Find edges: eight times the centre, less each neighbour: black where the image is flat.
 *
 * Matches  Pillow ImageFilter.FIND_EDGES, in integers in place of its binary32. Alpha stays as it is. */
#ifndef MOT_FIND_EDGES_H
#define MOT_FIND_EDGES_H
#include "augmentations/filter.h"

#define MOT_FIND_EDGES_INFO \
    .name = "find_edges", .summary = "Keeps edges, bright on black.", .matches = "Pillow ImageFilter.FIND_EDGES", \
    .paper = "none", MOT_FILTER_INFO
#define MOT_FIND_EDGES_FACTS .cost = 900

#define MOT_FIND_EDGES_NINE \
    { \
        .side = -1, .centre = 8, .divisor = 1 \
    }

MOT_NINE_OP(find_edges, mot_clamp(9 * centre - (int)sum))

#endif
