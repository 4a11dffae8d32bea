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

MOT_FILTER_PREPARE(find_edges)

/* `sum` is that of nine components. */
MOT_FN uint8_t mot_find_edges(uint8_t centre, uint32_t sum, const mot_arg *arg)
{
    (void)arg;
    return mot_clamp(9 * centre - (int)sum);
}
MOT_FILTER_PAIR(find_edges)

#endif
