/* SPDX-License-Identifier: Apache-2.0 */
/* Detail: sharpens by the four nearest neighbours.
 *
 * Matches  Pillow ImageFilter.DETAIL. Alpha stays as it is. */
#ifndef MOT_DETAIL_H
#define MOT_DETAIL_H
#include "augmentations/filter.h"

#define MOT_DETAIL_INFO \
    .name = "detail", .summary = "Sharpens details by a fixed filter.", .matches = "Pillow ImageFilter.DETAIL", \
    .paper = "Müller, Hutter 2021 (TrivialAugment), arXiv:2103.10158", MOT_FILTER_INFO
#define MOT_DETAIL_FACTS .cost = 2500

MOT_FILTER_PREPARE(detail)

/* clang-format off */
#define MOT_DETAIL_FILTER { .reach = 1, .divisor = 6, .offset = 0, .weight = { \
        0, -1, 0, \
        -1, 10, -1, \
        0, -1, 0 } }
/* clang-format on */

#endif
