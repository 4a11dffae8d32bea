/* SPDX-License-Identifier: Apache-2.0 */
/* How the CTAs of one image share its pixels. The host uses the same text to know how much shared memory they need. */
#ifndef MOT_TILE_H
#define MOT_TILE_H

#include "augmentations/op.h"

typedef struct mot_tile {
    int x0, y0, x1, y1; /* half-open; empty when x0 >= x1 or y0 >= y1 */
} mot_tile;

/* Tile `rank` of `size` (a power of two). Slabs are rows over the whole width, as long as there are enough of them;
 * blocks are cut to be about as high as wide. Left edges are multiples of 16 pixels. */
MOT_FN mot_tile mot_tile_of(int rank, int size, int width, int height, int blocks)
{
    int across = 1;
    if (blocks)
        while (across < size && (int64_t)width * size > (int64_t)2 * height * across * across)
            across *= 2;
    while (across < size && size / across > height)
        across *= 2;
    const int down = size / across;
    const int tile_width = ((width + across - 1) / across + 15) & ~15, tile_height = (height + down - 1) / down;
    mot_tile t;
    t.x0 = rank % across * tile_width;
    t.y0 = rank / across * tile_height;
    t.x1 = t.x0 + tile_width < width ? t.x0 + tile_width : width;
    t.y1 = t.y0 + tile_height < height ? t.y0 + tile_height : height;
    return t;
}

/* Pixels from x0 to x1 in whole groups of four, as they lie in shared memory. */
MOT_FN int mot_tile_pitch(int x0, int x1)
{
    return x1 > x0 ? ((x1 + 3) & ~3) - (x0 & ~3) : 0;
}

#endif
