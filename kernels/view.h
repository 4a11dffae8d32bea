/* SPDX-License-Identifier: Apache-2.0 */
/* One image as kernels see it: bytes and strides. */
#ifndef MOT_VIEW_H
#define MOT_VIEW_H

#include "augmentations/op.h"

#include <stddef.h>

typedef struct mot_view {
    uint8_t *data;
    int32_t width, height, channels;
    int32_t alpha;               /* 1: the last of 2 or 4 channels is alpha; 0: all are colours, or bands */
    int64_t row, pixel, channel; /* strides, bytes */
} mot_view;

/* How many of the channels are colours or bands: all but alpha. Three are red, green and blue; of any other number,
 * each is worked on as a grey image. */
MOT_FN int mot_color_channels(const mot_view *view)
{
    return view->channels - view->alpha;
}

/* Which of four fills a channel has. */
MOT_FN int mot_fill_at(int channel)
{
    return channel < 4 ? channel : 0;
}

/* An image of packed pixels such as those of `like`, without gaps. */
MOT_FN mot_view mot_packed(const mot_view *like, int32_t width, int32_t height, uint8_t *data)
{
    mot_view view = *like;
    view.data = data;
    view.width = width;
    view.height = height;
    view.pixel = like->channels;
    view.row = view.pixel * width;
    view.channel = 1;
    return view;
}

#endif
