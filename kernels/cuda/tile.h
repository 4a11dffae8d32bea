/* SPDX-License-Identifier: Apache-2.0 */
/* How the CTAs of one image share its pixels. The host uses the same text to know how much shared memory they need. */
#ifndef MOT_TILE_H
#define MOT_TILE_H

#include "augmentations/op.h"

typedef struct mot_tile {
    int x0, y0, x1, y1; /* half-open; empty when x0 >= x1 or y0 >= y1 */
} mot_tile;

/* An image cut into 2^across columns of tiles. */
typedef struct mot_cut {
    int across;
    int width, height; /* of a tile; the width is a multiple of 16 pixels */
} mot_cut;

/* Cuts an image for `size` CTAs, a power of two. Slabs are rows over the whole width, as long as there are enough of
 * them; blocks are cut to be about as high as wide. */
MOT_FN mot_cut mot_cut_of(int size, int width, int height, int blocks)
{
    mot_cut cut;
    cut.across = 0;
    while (1 << cut.across < size &&
           ((size >> cut.across) > height ||
            (blocks && (int64_t)width * size > (int64_t)2 * height * ((int64_t)1 << (2 * cut.across)))))
        cut.across++;
    const int down = size >> cut.across;
    cut.width = (((width - 1) >> cut.across) + 16) & ~15;
    cut.height = (height + down - 1) / down;
    return cut;
}

MOT_FN mot_tile mot_tile_at(const mot_cut *cut, int rank, int width, int height)
{
    mot_tile t;
    t.x0 = (rank & ((1 << cut->across) - 1)) * cut->width;
    t.y0 = (rank >> cut->across) * cut->height;
    t.x1 = t.x0 + cut->width < width ? t.x0 + cut->width : width;
    t.y1 = t.y0 + cut->height < height ? t.y0 + cut->height : height;
    return t;
}

#endif
