/* SPDX-License-Identifier: Apache-2.0 */
/* Smooth more: a mean of the 5x5 neighbourhood that favours the centre.
 *
 * Matches  Pillow ImageFilter.SMOOTH_MORE. Alpha stays as it is. */
#ifndef MOT_SMOOTH_MORE_H
#define MOT_SMOOTH_MORE_H
#include "augmentations/filter.h"

#define MOT_SMOOTH_MORE_INFO \
    .name = "smooth_more", .summary = "Averages each pixel with its 5x5 neighbourhood.", \
    .matches = "Pillow ImageFilter.SMOOTH_MORE", .paper = "none", MOT_FILTER_INFO
#define MOT_SMOOTH_MORE_FACTS .cost = 5000

MOT_FILTER_PREPARE(smooth_more)

/* clang-format off */
#define MOT_SMOOTH_MORE_FILTER { .reach = 2, .divisor = 100, .offset = 0, .weight = { \
        1, 1, 1, 1, 1, \
        1, 5, 5, 5, 1, \
        1, 5, 44, 5, 1, \
        1, 5, 5, 5, 1, \
        1, 1, 1, 1, 1 } }
/* clang-format on */

#endif
