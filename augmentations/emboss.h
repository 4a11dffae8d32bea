/* SPDX-License-Identifier: Apache-2.0 */
/* Emboss: a relief on grey: the centre less its neighbour below and to the left.
 *
 * Matches  Pillow ImageFilter.EMBOSS. Alpha stays as it is. */
#ifndef MOT_EMBOSS_H
#define MOT_EMBOSS_H
#include "augmentations/filter.h"

#define MOT_EMBOSS_INFO \
    .name = "emboss", .summary = "Shows the image as a relief on grey.", .matches = "Pillow ImageFilter.EMBOSS", \
    .paper = "none", MOT_FILTER_INFO
#define MOT_EMBOSS_FACTS .cost = 2500

MOT_FILTER_PREPARE(emboss)

/* clang-format off */
#define MOT_EMBOSS_FILTER { .reach = 1, .divisor = 1, .offset = 128, .weight = { \
        -1, 0, 0, \
        0, 1, 0, \
        0, 0, 0 } }
/* clang-format on */

#endif
