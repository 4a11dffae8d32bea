/* SPDX-License-Identifier: Apache-2.0 */
/* Images of U16 and F32 on the CPU. A worker takes three bands of an image at a time. */
#ifndef MOT_WIDE_IMAGES_H
#define MOT_WIDE_IMAGES_H

#include "dispatch/image.h"
#include "kernels/wide.h"

/* What is known about the bands of a job's images. Arrays are [channels], in memory of the context: one behind the
 * other, those that are NULL as well. */
typedef struct mot_wide_job {
    mot_range *range;
    float *fill;       /* or NULL: what each step has */
    float *mean, *std; /* or NULL: results are not normalised */
} mot_wide_job;

/* These refuse what cannot be done to wide images yet, before any is touched; others pass. transform may be NULL. */
motley_status mot_wide_check(const motley_batch *src, const mot_transform *transform, const double *fill,
                             motley_error *error);
motley_status mot_wide_check_steps(const motley_batch *src, const mot_draw_facts *steps, size_t clip_frames,
                                   motley_error *error);

/* Finds what is known about the bands. */
motley_status mot_wide_begin(motley_context *context, const mot_job *job, mot_wide_job *made, motley_error *error);

/* As of image.h. */
float mot_wide_cost(const mot_view *src, const mot_step *steps, int count);
size_t mot_wide_memory(const mot_job *job);
void mot_wide_image(const mot_cpu_rows *rows, const mot_job *job, size_t i, const motley_place *place,
                    const mot_step *steps, int count, uint8_t *memory);

/* Crops, resizes and mirrors image i of src. */
void mot_wide_resize(const mot_cpu_rows *rows, const mot_view *src, const mot_view *dst, motley_dtype dtype,
                     const mot_resize *how, uint8_t *memory);
size_t mot_wide_resize_memory(const mot_view *src, const mot_view *dst);

#endif
