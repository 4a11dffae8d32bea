/* SPDX-License-Identifier: Apache-2.0 */
/* Sharpen: the centre twice, less an eighth of each neighbour.
 *
 * Matches  Pillow ImageFilter.SHARPEN, in integers in place of its binary32. Alpha stays as it is. */
#ifndef MOT_SHARPEN_H
#define MOT_SHARPEN_H
#include "augmentations/filter.h"

#define MOT_SHARPEN_INFO \
    .name = "sharpen", .summary = "Sharpens by a fixed filter.", .matches = "Pillow ImageFilter.SHARPEN", \
    .paper = "Müller, Hutter 2021 (TrivialAugment), arXiv:2103.10158", MOT_FILTER_INFO
#define MOT_SHARPEN_FACTS .cost = 900

#define MOT_SHARPEN_NINE \
    { \
        .side = -2, .centre = 32, .divisor = 16 \
    }

MOT_NINE_OP(sharpen, mot_clamp((34 * centre - 2 * (int)sum + 8) / 16))

#endif
