/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of the CUDA kernels that were chosen by measurement, on an H200 in November 2026. None of them can change
 * a result. (Costs, by which work is ordered, stand beside what they estimate: draw.cu and tile_planner.cuh.) */
#ifndef MOT_TUNING_H
#define MOT_TUNING_H

/* The tile kernel. Four CTAs of 256 threads on a multiprocessor leave the L1 cache 80 KB, which gathers need: five are
 * slower. */
#define MOT_TILE_THREADS 256
#define MOT_TILE_CTAS 4           /* on a multiprocessor; bounds a thread's registers */
#define MOT_TILE_WORDS 7424       /* of a tile in shared memory: 32 rows of 224 pixels */
#define MOT_TILE_SPARE_WORDS 1056 /* behind it: a histogram, the last rows of a halo, a table of positions */
#define MOT_TILE_WIDEST 512       /* pixels: up to this width, tiles are whole rows, ... */
#define MOT_TILE_BLOCK 256        /* ... wider ones into blocks of this width */
#define MOT_TILE_HIGHEST 512      /* rows */
#define MOT_TILE_LISTS 5          /* lists of images, from expensive to cheap */
#define MOT_TILE_QUADS 2          /* that a thread loads at the same time; more take more instructions to fetch */
#define MOT_TILE_LEAST 928        /* words of the smallest tiles of small batches: 4 rows of 224 pixels, ... */
#define MOT_TILE_STEP 928         /* ... and by how much larger ones differ */
#define MOT_PIECE_LEAST 448       /* quads of a light program's piece: as a tile if CTAs would idle, but at least so */
#define MOT_PIECE_FEWEST 1792     /* many; */
#define MOT_PIECE_MOST 4096       /* else more, so that fewer CTAs wait for programs and for each other */
#define MOT_FEW_DOUBTS 4          /* of 32 pixels in doubt that are made apart; with more, all are made in binary64 */
#define MOT_BLUR_RUN 32           /* pixels that a thread blurs, when the blur goes through device memory */

/* The image kernel: route `resident`. */
#define MOT_LEAST_THREADS 96 /* of a CTA */
#define MOT_MOST_THREADS 1024
#define MOT_STRIP 64          /* quads that 32 threads take at a time */
#define MOT_STRETCHES 16      /* stretches, at most, in which an image is loaded */
#define MOT_STRETCH_SHIFT 12  /* log2 of the quads of the smallest one */
#define MOT_EARLY_STRETCHES 1 /* stretches loaded before the steps are known: more of them delay the draw kernel */

/* Which route a batch takes (dispatch/cuda/route.c). */
#define MOT_TILES_INTERPOLATE 4096  /* pixels: images from this size on are interpolated in tiles */
#define MOT_STATIC_BYTES (9 * 1024) /* a CTA's own variables, and what the chip reserves */

/* Batches of tiles. */
#define MOT_TILES_IMAGES 4096                  /* images in a launch, ... */
#define MOT_TILES_BYTES (16 << 20)             /* ... if their programs take no more bytes, ... */
#define MOT_TILES_FEWEST 64                    /* ... but at least so many */
#define MOT_TILES_SCRATCH ((int64_t)128 << 20) /* bytes of a launch's scratch copies, unless one image needs more */
#define MOT_TILES_AT_ONCE 3                    /* images with more tiles than there are CTAs, side by side */

/* The draw kernels. */
#define MOT_DRAW_THREADS 256
#define MOT_DRAW_BYTES (96 * 1024)    /* shared memory */
#define MOT_DRAW_TABLES (16 * 1024)   /* bytes: tables up to this size are staged in shared memory */
#define MOT_TRANSFORM_THREADS 512     /* one for each column and row of 224 x 224 pixels */
#define MOT_TRANSFORM_FEW_THREADS 128 /* if draws run ahead: two CTAs take the registers of one of a resize */
#define MOT_ERASE_THREADS 256

/* The kernels of breaks. */
#define MOT_BREAK_THREADS 256
#define MOT_BREAK_CTAS 16 /* for each multiprocessor */

/* The kernel that mixes images of a batch. */
#define MOT_MIX_THREADS 512
#define MOT_MIX_CTAS 2          /* for each multiprocessor, where their memory allows */
#define MOT_MIX_GATHER_CTAS 3   /* likewise, of the kernel that holds nothing */
#define MOT_MIX_CUT_WIDTH 128   /* of a tile of the pixels that are cut; */
#define MOT_MIX_CUT_HEIGHT 32   /* its height */
#define MOT_MIX_MASK_CTAS 4     /* for each multiprocessor, of the kernels of masks */
#define MOT_MIX_MASK_ROWS 64    /* of a mask, which a CTA takes at a time */
#define MOT_MIX_STRIP_BYTES 128 /* of each image that a warp takes at a time, at least, if memory is there */
#define MOT_MIX_EACH 4          /* components of an image that a thread takes at a time, at most */
#define MOT_MIX_FEW 4           /* images of a warp */
#define MOT_MIX_LOADS 2         /* of images that a warp takes together */

/* The resize kernel. */
#define MOT_RESIZE_THREADS 224     /* at most */
#define MOT_RESIZE_CTAS 4          /* on a multiprocessor; bounds a thread's registers */
#define MOT_RESIZE_TILE_ROWS 28    /* of the result */
#define MOT_RESIZE_FEW_GROUPS 3    /* If a row can have more groups of taps, tiles differ much in cost, ... */
#define MOT_RESIZE_LOW_ROWS 16     /* ... so tiles have fewer rows, and multiprocessors end at about the same time. */
#define MOT_RESIZE_SHARED_ROWS 48  /* in shared memory, when windows are small */
#define MOT_RESIZE_NARROW_ROWS 32  /* of the result, if half of the threads make a row: tiles begin less often */
#ifndef MOT_RESIZE_MANY_TILES      /* tests on the CPU have fewer */
#define MOT_RESIZE_MANY_TILES 4096 /* of a batch of planes: from here on a CTA makes all planes of a tile */
#endif

#endif
