/* SPDX-License-Identifier: Apache-2.0 */
/* Cutout in proportion to an object's box, as in the TensorFlow recipes for detection: fills a rectangle around a
 * pixel, clipped to the image.
 *
 * Values   share v of the box's sides, 0..1; the centre's x and y; the box's width and height in pixels. Centre and
 *          sides default to the image's. The rectangle is [c - p, c + p) in each direction, p = trunc(v * side / 2). */
#ifndef MOT_BBOX_CUTOUT_H
#define MOT_BBOX_CUTOUT_H
#include "augmentations/op.h"
#include <math.h>

#define MOT_BBOX_CUTOUT_INFO \
    .name = "bbox_cutout", .summary = "Fills a rectangle in proportion to one of the image's boxes.", \
    .unit = "share of the box's sides; centre x; centre y; the box's width; its height", \
    .matches = "BBox_Cutout of tensorflow/tpu's recipe", .paper = "Zoph et al. 2019, arXiv:1906.11172", \
    .values_min = 1, .values_max = 5, .minimum = 0, .maximum = 1, .neutral = NAN, .example = 0.5
#define MOT_BBOX_CUTOUT_FACTS .cost = 800, .draws = MOT_DRAWS_BOX

#ifndef __CUDACC__
static inline void mot_bbox_cutout_prepare(const double *values, int count, mot_arg *arg)
{
    for (int i = 0; i < 5; i++)
        arg->d[i] = i < count ? values[i] : NAN;
}
#endif

MOT_FN mot_rect mot_bbox_cutout(int width, int height, const mot_arg *arg)
{
    const double w = arg->d[3] == arg->d[3] ? arg->d[3] : width, h = arg->d[4] == arg->d[4] ? arg->d[4] : height;
    return mot_rect_around(width, height, arg, (int)(arg->d[0] * (w / 2)), (int)(arg->d[0] * (h / 2)));
}

#endif
