/* SPDX-License-Identifier: Apache-2.0 */
/* Blur: the mean of the sixteen components on the edge of the 5x5 neighbourhood.
 *
 * Matches  Pillow ImageFilter.BLUR. Alpha stays as it is. */
#ifndef MOT_BLUR_H
#define MOT_BLUR_H
#include "augmentations/filter.h"

#define MOT_BLUR_INFO \
    .name = "blur", .summary = "Blurs by a fixed 5x5 filter.", .matches = "Pillow ImageFilter.BLUR", \
    .paper = "Müller, Hutter 2021 (TrivialAugment), arXiv:2103.10158", MOT_FILTER_INFO
#define MOT_BLUR_FACTS .cost = 5000

MOT_FILTER_PREPARE(blur)

/* clang-format off */
#define MOT_BLUR_FILTER { .reach = 2, .divisor = 16, .offset = 0, .weight = { \
        1, 1, 1, 1, 1, \
        1, 0, 0, 0, 1, \
        1, 0, 0, 0, 1, \
        1, 0, 0, 0, 1, \
        1, 1, 1, 1, 1 } }
/* clang-format on */

#endif
