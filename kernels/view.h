/* SPDX-License-Identifier: Apache-2.0 */
/* One image as kernels see it: bytes and strides. */
#ifndef MOT_VIEW_H
#define MOT_VIEW_H

#include "augmentations/op.h"

#include <stddef.h>

typedef struct mot_view {
    uint8_t *data;
    int32_t width, height, channels;
    int64_t row, pixel, channel; /* strides, bytes */
} mot_view;

/* How many of the channels hold colour; the last one of 2 or 4 is alpha. */
MOT_FN int mot_color_channels(int channels)
{
    return channels == 2 ? 1 : channels == 4 ? 3 : channels;
}

#endif
