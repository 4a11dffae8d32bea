/* SPDX-License-Identifier: Apache-2.0 */
/* Crop, resize, window and mirror on the GPU: the request, and the calls that launch it. Plain C on both sides.
 *
 * Both axes of an image are tables: output component x is a sum over taps, four by four neighbouring source components.
 * Crops, mirrors, copies and the fill are tables, too, so one kernel does all of it. */
#ifndef MOT_CUDA_RESIZE_H
#define MOT_CUDA_RESIZE_H

#include "kernels/cuda/job.h"
#include "kernels/resize.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tables of an image's two axes (0: columns, 1: rows), as the resize kernel reads them. */
typedef struct mot_cuda_axes {
    int32_t groups[2];                 /* of four taps; each output component has as many */
    int32_t start[2];                  /* the first column and row of the source's pixels in the picture */
    int32_t in[2];                     /* how many columns and rows of these there are */
    uint8_t rows_first : 1, fills : 1; /* fills: some components of the result read the fill */
    uint8_t opaque;
    uint8_t descending; /* the rows' windows run from last to first: a vertical flip */
    uint8_t clamps;     /* weights may be negative */
    uint8_t fill[4];    /* by channel */
} mot_cuda_axes;

/* Four taps: weights in whole multiples of 2^-22, each split into its upper part (16 bits) and its lowest byte, because
 * one instruction sums two products of the one kind or four of the other. If weights may be negative, upper parts have
 * a sign. Else weights are multiplied by 4 (and 1 becomes 1 - 2^-22, which makes no difference), so that the highest
 * byte of a sum is the result.
 * `outside`, of a component's first group: the sum of the weights by which it reads the fill, multiplied likewise. */
typedef struct mot_cuda_taps {
    uint32_t upper01, upper23, lower, outside;
} mot_cuda_taps;

typedef struct mot_resize_job {
    mot_cuda_batch src, dst;
    int32_t count, channels;
    int32_t format;                   /* of src, or of one of its bands */
    int32_t planes;                   /* channels are resized one by one: planes, or bands */
    int32_t tile_width, tile_height;  /* of dst, pixels; the width is a multiple of 32 */
    int32_t tiles_across, tiles_down; /* of the largest image */
    int32_t shared_rows;              /* rows of MOT_RESIZE_THREADS columns that shared memory holds */
    int32_t lanes;                    /* threads of a CTA for each column */
    int32_t planes_apart;             /* a CTA makes a tile of one plane, not of all */
    uint32_t lane_of_thread;          /* thread * this >> 16 is its lane */
    const mot_resize *place;          /* [count] */
    mot_cuda_axes *axes;              /* [count] */
    uint32_t *cost;                   /* [count]: about how much work each image is */
    uint32_t *order;                  /* [count]: of every MOT_RESIZE_ORDERED images, costly ones first */
    uint32_t *counted;                /* [MOT_RESIZE_COUNTERS]: images whose cost is known; 0 between launches */
    uint8_t *tables;                  /* taps and windows of all images ... */
    const int64_t *table_offset;      /* [count]: ... and where each image's begin; NULL: they all have one size, ... */
    int64_t table_bytes;              /* ... this one */
    mot_cuda_output as;               /* dst; 0 if it is u8 */
} mot_resize_job;

/* The most groups of taps that an axis can have if `in` components, or a part of them, become `out`. */
int mot_resize_most_groups(motley_filter filter, int in, int out);

#define MOT_RESIZE_MOST_ROWS 1020 /* in shared memory: of 255 units of four rows */

#ifndef MOT_RESIZE_ORDERED     /* tests on the CPU have fewer */
#define MOT_RESIZE_ORDERED 256 /* images that are ordered among each other, ... */
#define MOT_RESIZE_COUNTERS 64 /* ... so many times; later images follow as they come */
#endif

/* Bytes of an image's tables, and of the windows in them, which come before the taps. */
MOT_FN int64_t mot_resize_first_bytes(int columns, int rows)
{
    return (((int64_t)columns + rows) * (int64_t)sizeof(int32_t) + 15) & ~(int64_t)15;
}

MOT_FN int64_t mot_resize_table_bytes(int columns, int column_groups, int rows, int row_groups)
{
    const int64_t taps = (int64_t)columns * column_groups + (int64_t)rows * row_groups;
    return (taps * (int64_t)sizeof(mot_cuda_taps) + mot_resize_first_bytes(columns, rows) + 255) & ~(int64_t)255;
}

/* Cuts the largest dst into tiles: fills tile_*, tiles_*, shared_rows and lanes, for at most `shared_bytes` of a
 * CTA. `row_groups`: the most of any image. */
void mot_resize_cut(mot_resize_job *job, int width, int height, int row_groups, int shared_bytes);

/* Raises the kernels' limits, once. */
cudaError_t mot_resize_prepare(int shared_bytes);
/* Makes the tables from job->place. */
cudaError_t mot_resize_axes_launch(const mot_resize_job *job, cudaStream_t stream);
/* Resizes; `overlap`: the kernel may begin while the previous one finishes. */
cudaError_t mot_resize_launch(const mot_resize_job *job, int overlap, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
