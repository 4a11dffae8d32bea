/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and crops, in torchvision's binary32: left, top, right, bottom. */
#ifndef MOT_OVERLAP_H
#define MOT_OVERLAP_H
#include "augmentations/op.h"

/* A box of an image that begins at (left, top) of a canvas. */
MOT_FN void mot_box_in_canvas(const double box[4], int32_t left, int32_t top, float out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = (float)box[i] + (float)(i & 1 ? top : left);
}

/* Whether the centre of a box is in a crop, and not on its edge. */
MOT_FN int mot_is_centred(const float box[4], const float crop[4])
{
    const float x = 0.5f * (box[0] + box[2]), y = 0.5f * (box[1] + box[3]);
    return crop[0] < x && x < crop[2] && crop[1] < y && y < crop[3];
}

/* The area that a box and a crop have in common, over that of both. */
MOT_FN float mot_overlap_of(const float box[4], const float crop[4])
{
    const float width = (box[2] < crop[2] ? box[2] : crop[2]) - (box[0] > crop[0] ? box[0] : crop[0]);
    const float height = (box[3] < crop[3] ? box[3] : crop[3]) - (box[1] > crop[1] ? box[1] : crop[1]);
    const float common = (width > 0 ? width : 0) * (height > 0 ? height : 0);
    const float area = (box[2] - box[0]) * (box[3] - box[1]);
    return common / (area + (crop[2] - crop[0]) * (crop[3] - crop[1]) - common);
}

#endif
