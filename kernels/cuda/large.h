/* SPDX-License-Identifier: Apache-2.0 */
/* The path for images that shared memory does not hold: what the host hands to its kernels, and the calls that launch
 * them. Plain C on both sides.
 *
 * A few images are worked on at a time, in rounds. In each round the plan kernel finds what every image needs next (a
 * pass over its pixels, statistics, one direction of a blur), and the kernel of each kind does it for those images that
 * asked for it. The host knows how many rounds are enough, so nothing is read back. */
#ifndef MOT_LARGE_H
#define MOT_LARGE_H

#include "kernels/cuda/job.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MOT_LARGE_IMAGES 128     /* that are worked on at a time */
#define MOT_SUMS_APART 16        /* pixels between two remembered sums of a warp's positions */
#define MOT_LARGE_TILE_WIDTH 128 /* that a CTA does at once: a warp's 32 groups of four pixels, ... */
#define MOT_LARGE_TILE_HEIGHT 32 /* ... some rows of them */

typedef struct mot_large_job {
    mot_cuda_batch src, work, output; /* as mot_cuda_job has them, and the five after them */
    int32_t channels, max_steps;
    int32_t output_dtype;
    int32_t plain, work_strided;
    float mean[4], std[4];
    const mot_step *steps;     /* [samples][max_steps] */
    const int32_t *step_count; /* [samples] */
    int32_t first;             /* sample of the first of these images */
    int32_t round;             /* 0: nothing was done yet */
    void *states;              /* [images], mot_large_state_bytes() each */
    uint8_t *scratch;          /* device memory; image i's own is at offset[i], mot_large_room() bytes */
    int64_t offset[MOT_LARGE_IMAGES];
} mot_large_job;

/* A second place for an image's pixels, packed. Rows of some length begin at multiples of 16 bytes. */
MOT_FN mot_view mot_large_scratch(mot_cuda_format format, int channels, int width, int height, uint8_t *data)
{
    mot_view v;
    v.data = data;
    v.width = width, v.height = height, v.channels = channels;
    v.pixel = format == MOT_FORMAT_PLANES ? 1 : channels;
    v.row = v.pixel * width;
    if (v.row >= 64)
        v.row = (v.row + 15) & ~(int64_t)15;
    v.channel = format == MOT_FORMAT_PLANES ? v.row * height : 1;
    return v;
}

/* How many sums are remembered along the longer side, and down the image. */
MOT_FN int64_t mot_large_sums(int width, int height)
{
    return (width > height ? width : height) / MOT_SUMS_APART + 1 + height / MOT_SUMS_APART + 1;
}

/* Where the sums lie behind the pixels, and with them how much an image takes. */
MOT_FN int64_t mot_large_sums_at(mot_cuda_format format, int channels, int width, int height)
{
    const mot_view v = mot_large_scratch(format, channels, width, height, 0);
    return (v.row * height * (format == MOT_FORMAT_PLANES ? channels : 1) + 255) & ~(int64_t)255;
}

MOT_FN int64_t mot_large_room(mot_cuda_format format, int channels, int width, int height)
{
    const int64_t sums = mot_large_sums(width, height) * (int64_t)sizeof(double);
    return mot_large_sums_at(format, channels, width, height) + ((sums + 255) & ~(int64_t)255);
}

MOT_FN int mot_large_tiles(int width, int height)
{
    return ((width + MOT_LARGE_TILE_WIDTH - 1) / MOT_LARGE_TILE_WIDTH) *
           ((height + MOT_LARGE_TILE_HEIGHT - 1) / MOT_LARGE_TILE_HEIGHT);
}

/* The kernels, in the order they run in a round. */
typedef enum mot_large_kernel {
    MOT_LARGE_PLAN,
    MOT_LARGE_COUNT,   /* statistics */
    MOT_LARGE_PASS,    /* everything that reads one place and writes another, or the same */
    MOT_LARGE_ROWS,    /* a blur along rows, */
    MOT_LARGE_COLUMNS, /* and down columns */
    MOT_LARGE_KERNELS
} mot_large_kernel;

size_t mot_large_state_bytes(void);

/* Launches one kernel for the first `images` of the job's images, with `ctas` CTAs for each (PLAN: one). */
cudaError_t mot_large_launch(const mot_large_job *job, mot_cuda_format format, mot_large_kernel kernel, int images,
                             int ctas, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
