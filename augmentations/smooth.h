/* SPDX-License-Identifier: Apache-2.0 */
/* Smooth: the eight neighbours with the weight 1/13 and the centre with 5/13, as sharpness with the factor 0.
 *
 * Matches  Pillow ImageFilter.SMOOTH, in integers in place of its binary32. Alpha stays as it is. */
#ifndef MOT_SMOOTH_H
#define MOT_SMOOTH_H
#include "augmentations/filter.h"

#define MOT_SMOOTH_INFO \
    .name = "smooth", .summary = "Averages each pixel with its neighbours.", .matches = "Pillow ImageFilter.SMOOTH", \
    .paper = "Müller, Hutter 2021 (TrivialAugment), arXiv:2103.10158", MOT_FILTER_INFO
#define MOT_SMOOTH_FACTS .cost = 900

#define MOT_SMOOTH_NINE \
    { \
        .side = 1, .centre = 5, .divisor = 13 \
    }

MOT_NINE_OP(smooth, (uint8_t)((sum + 4u * centre + 6u) / 13u))

#endif
