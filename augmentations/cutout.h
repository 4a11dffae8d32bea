/* SPDX-License-Identifier: Apache-2.0 */
/* Cutout: fills a square, corners included, as the PIL recipes draw it.
 *
 * Values   side in pixels, then the centre x and y, by default the image's centre. A side of v fills v + 1
 *          pixels, and a square cut by the left or top edge keeps its side, as in those recipes.
 * Matches  CutoutAbs of Fast AutoAugment (its PIL recipe). */
#ifndef MOT_CUTOUT_H
#define MOT_CUTOUT_H
#include "augmentations/op.h"
#include <math.h>

/* clang-format off */
#define MOT_CUTOUT_INFO \
    .name = "cutout", .summary = "Fills a square, corners included.", \
    .unit = "side, pixels; centre x; centre y", .matches = "CutoutAbs of Fast AutoAugment (ImageDraw.rectangle)", \
    .paper = "DeVries, Taylor 2017, arXiv:1708.04552", \
    .values_min = 1, .values_max = 3, .minimum = 0, .maximum = 1048576, .neutral = NAN, .example = 60
/* clang-format on */
#define MOT_CUTOUT_FACTS .cost = 800, .pixels = 1, .draws = MOT_DRAWS_POINT

#ifndef __CUDACC__
static inline void mot_cutout_prepare(const double *values, int count, mot_arg *arg)
{
    arg->d[0] = values[0];
    arg->d[1] = count > 1 ? values[1] : NAN;
    arg->d[2] = count > 2 ? values[2] : NAN;
}
#endif

MOT_FN mot_rect mot_cutout(int width, int height, const mot_arg *arg)
{
    const double side = arg->d[0];
    const double cx = arg->d[1] == arg->d[1] ? arg->d[1] : width / 2.0;
    const double cy = arg->d[2] == arg->d[2] ? arg->d[2] : height / 2.0;
    const double left = cx - side / 2.0, top = cy - side / 2.0;
    mot_rect r;
    r.x0 = left <= 0 ? 0 : left >= width ? width : (int)left;
    r.y0 = top <= 0 ? 0 : top >= height ? height : (int)top;
    const double right = r.x0 + side, bottom = r.y0 + side;
    r.x1 = right >= width ? width : (int)right + 1;
    r.y1 = bottom >= height ? height : (int)bottom + 1;
    return r;
}

#endif
