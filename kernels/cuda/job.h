/* SPDX-License-Identifier: Apache-2.0 */
/* What the host hands to the CUDA kernels by value, and the calls that launch them. Plain C on both sides. */
#ifndef MOT_CUDA_JOB_H
#define MOT_CUDA_JOB_H

#include "augmentations/step.h"
#include "kernels/output.h"
#include "kernels/view.h"
#include "motley/image.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A batch as the device sees it; strides in bytes, filled in. Kernels that run steps work on bands as on grey images of
 * their own: images i, samples + i, 2 * samples + i and so on are the first, second and third band of image i. */
typedef struct mot_cuda_batch {
    uint8_t *data;
    int64_t image, row, pixel, channel;
    int32_t width, height;
    const motley_image *images; /* device memory [samples], or NULL for one size */
    int32_t samples;
} mot_cuda_batch;

MOT_FN int mot_band_of(const mot_cuda_batch *batch, int i)
{
    return i < batch->samples ? 0 : i / batch->samples;
}

MOT_FN int mot_sample_at(const mot_cuda_batch *batch, int i)
{
    return i < batch->samples ? i : i % batch->samples;
}

/* How many of an image's channels hold colour: of 2 or 4 the last one is alpha, because bands are grey images here. A
 * view's `alpha` is not read. */
MOT_FN int mot_cuda_colors(int channels)
{
    return channels == 2 ? 1 : channels == 4 ? 3 : channels;
}

/* How the components of a pixel are laid out; every format accepts any alignment. */
typedef enum mot_cuda_format {
    MOT_FORMAT_GREY,                        /* one channel, pixel stride 1 */
    MOT_FORMAT_RGB,                         /* three channels side by side */
    MOT_FORMAT_PLANES,                      /* three planes, pixel stride 1 */
    MOT_RESIDENT_FORMATS,                   /* those before this one are what the image kernel takes */
    MOT_FORMAT_RGBA = MOT_RESIDENT_FORMATS, /* four channels side by side */
    MOT_FORMAT_STRIDED,                     /* anything, one byte at a time */
    MOT_FORMATS
} mot_cuda_format;

/* Which of four lines a band has. */
MOT_FN int mot_line_of_band(int band)
{
    return band < 4 ? band : 3;
}

/* How kernels make an output's values: by a line for each channel or band if there are such, else by the table. */
typedef struct mot_cuda_output {
    int32_t dtype, by_lines;
    mot_output_line line[4];
    const uint32_t *values; /* [channels][256] in device memory: each byte as the output has it */
} mot_cuda_output;

/* An entry of the order: a sample and its number of steps. */
typedef struct mot_cuda_turn {
    int32_t sample, steps;
} mot_cuda_turn;

typedef struct mot_resident_job {
    int32_t count, channels;
    int32_t max_steps;
    const mot_step *steps; /* [step_rows][max_steps]: image i has row i % step_rows */
    int32_t step_rows;
    int32_t *ready;             /* of each sample of the first wave: steps + 1 when they are drawn, else 0 */
    const mot_cuda_turn *order; /* [count]: the first wave's samples, then the others, heavy ones first */
    mot_cuda_batch src;
    mot_cuda_batch work;   /* u8; where all passes but the last write, and the next one reads */
    mot_cuda_batch output; /* where the last pass writes */
    int32_t first_wave;    /* samples of the first CTAs, which may begin before the draw kernel ends */
    int32_t ordered;       /* the previous kernel only writes pixels; steps and order are older */
    int32_t interleaved;   /* after the first wave, this many samples are taken with ... */
    int32_t stride;        /* ... this stride, so that expensive neighbours do not run together */
    int32_t plain;         /* the result is u8 and goes to `work` */
    int32_t image_bytes;   /* shared memory for an image, a multiple of 16 */
    int32_t stage_bytes;   /* after it, MOT_STAGE_BYTES per warp, a histogram or more */
    mot_cuda_output as;    /* `output` */
} mot_resident_job;

#define MOT_STAGE_BYTES 384 /* shared memory in which a warp collects what it writes: 32 lanes x 4 pixels x 3 bytes */
#define MOT_HISTOGRAM_BYTES 3072 /* of three channels */

/* How the image kernel is launched. */
typedef struct mot_resident_shape {
    int blurs;   /* some step may */
    int threads; /* of a CTA */
    int image_bytes, stage_bytes;
    int shared_bytes; /* dynamic, all of it */
} mot_resident_shape;

/* Raises the limits of the kernel for `format` once; then launches it. `overlap`: the kernel before, on the stream,
 * draws the steps. */
cudaError_t mot_resident_prepare(mot_cuda_format format, int shared_bytes_max);
cudaError_t mot_resident_launch(const mot_resident_job *job, mot_cuda_format format, const mot_resident_shape *shape,
                                int overlap, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
