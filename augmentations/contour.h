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

MOT_FILTER_PREPARE(contour)

/* `sum` is that of nine components. */
MOT_FN uint8_t mot_contour(uint8_t centre, uint32_t sum, const mot_arg *arg)
{
    (void)arg;
    return mot_clamp(9 * centre - (int)sum + 255);
}
MOT_FILTER_PAIR(contour)

#endif
