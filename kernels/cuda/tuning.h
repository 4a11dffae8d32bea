/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the CUDA kernels that were chosen by measurement. None of them can change a result. */
#ifndef MOT_TUNING_H
#define MOT_TUNING_H

/* The tile kernel, on an H200, 2026-11. Four CTAs of 256 threads on a multiprocessor leave the L1 cache 80 KB, which
 * gathers need: five are slower. */
#define MOT_TILE_THREADS 256
#define MOT_TILE_CTAS 4           /* on a multiprocessor; bounds a thread's registers */
#define MOT_TILE_WORDS 7424       /* of a tile in shared memory: 32 rows of 224 pixels */
#define MOT_TILE_SPARE_WORDS 1056 /* behind it: a histogram, the last rows of a halo, a table of positions */
#define MOT_TILE_WIDEST 512       /* pixels: up to this width, images are cut into bands of whole rows, ... */
#define MOT_TILE_BLOCK 256        /* ... wider ones into blocks of this width */
#define MOT_TILE_HIGHEST 512      /* rows */
#define MOT_TILE_LISTS 4          /* lists of images, from expensive to cheap */

/* Which route a batch takes (dispatch/cuda/route.c). */
#define MOT_TILES_INTERPOLATE 4096 /* pixels: images from this size on are interpolated in tiles */
#define MOT_MOST_THREADS 1024      /* of a CTA of the image kernel */
#define MOT_THREADS_PER_SM 2048
#define MOT_STATIC_BYTES (9 * 1024) /* a CTA's own variables, and what the chip reserves */
#define MOT_DRAW_BYTES (96 * 1024)  /* shared memory of the draw kernel */
#define MOT_SLAB_QUADS (16 << 12)   /* of a slab: MOT_BANDS << MOT_BAND_SHIFT of kernels/cuda/whole.cuh */

/* Batches of tiles. */
#define MOT_TILES_IMAGES 4096                  /* images in a launch, ... */
#define MOT_TILES_BYTES (16 << 20)             /* ... if their programs take no more bytes, ... */
#define MOT_TILES_FEWEST 64                    /* ... but at least so many */
#define MOT_TILES_SCRATCH ((int64_t)128 << 20) /* bytes of second places of a launch, unless one image needs more */
#define MOT_TILES_AT_ONCE 4                    /* images with more tiles than there are CTAs, side by side */

/* The resize kernel: rows of a tile, and rows of its width in shared memory when windows are small. */
#define MOT_RESIZE_TILE_ROWS 32
#define MOT_RESIZE_SHARED_ROWS 48

#endif
