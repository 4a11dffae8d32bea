/* SPDX-License-Identifier: Apache-2.0 */
/* Contour: white where the image is flat, darker where it changes.
 *
 * Matches  Pillow ImageFilter.CONTOUR, in integers in place of its binary32. Alpha stays as it is. */
#ifndef MOT_CONTOUR_H
#define MOT_CONTOUR_H
#include "augmentations/filter.h"

#define MOT_CONTOUR_INFO \
    .name = "contour", .summary = "Draws edges, dark on white.", .matches = "Pillow ImageFilter.CONTOUR", \
    .paper = "Müller, Hutter 2021 (TrivialAugment), arXiv:2103.10158", MOT_FILTER_INFO
#define MOT_CONTOUR_FACTS .cost = 900

#define MOT_CONTOUR_NINE \
    { \
        .side = -1, .centre = 8, .divisor = 1, .offset = 255 \
    }

MOT_NINE_OP(contour, mot_clamp(9 * centre - (int)sum + 255))

#endif
