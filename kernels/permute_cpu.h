/* SPDX-License-Identifier: Apache-2.0 */
/* Channels in another order, by blocks of pixels in planes. */
#ifndef MOT_PERMUTE_CPU_H
#define MOT_PERMUTE_CPU_H

#include "augmentations/permute.h"

/* Up to LANES_BLOCK pixels, from `plane` to `to`, which do not overlap. */
static inline void permute_planes(const uint8_t (*plane)[LANES_BLOCK], uint8_t *const to[3], size_t n, int order)
{
    for (int c = 0; c < 3; c++)
        memcpy(to[c], plane[mot_permuted(order, c)], n);
}

static void permute_pixels(const mot_view *image, int order)
{
    const int channels = image->channels, packed = image->pixel != 1;
    if (mot_color_channels(image) != 3)
        return;
    const lanes_runs runs = lanes_runs_of(image, image);
    for (int y = 0; y < runs.rows; y++)
        for (size_t x = 0; x < runs.length; x += LANES_BLOCK) {
            const size_t n = runs.length - x < LANES_BLOCK ? runs.length - x : LANES_BLOCK;
            uint8_t *const at = image->data + y * image->row + (int64_t)x * image->pixel;
            uint8_t before[4][LANES_BLOCK], after[4][LANES_BLOCK];
            if (packed) {
                lanes_split(at, channels, n, before);
                permute_planes((const uint8_t(*)[LANES_BLOCK])before,
                               (uint8_t *const[]){ after[0], after[1], after[2] }, n, order);
                if (channels == 4)
                    memcpy(after[3], before[3], n);
                lanes_merge((const uint8_t(*)[LANES_BLOCK])after, channels, n, at);
                continue;
            }
            uint8_t *const to[3] = { at, at + image->channel, at + 2 * image->channel };
            for (int c = 0; c < 3; c++)
                memcpy(before[c], to[c], n);
            permute_planes((const uint8_t(*)[LANES_BLOCK])before, to, n, order);
        }
}

#endif
