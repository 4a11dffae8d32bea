/* SPDX-License-Identifier: Apache-2.0 */
/* The route wide: images of U16 and F32. A kernel makes each image's plan, in the memory of the draws; then each pass
 * is a launch, and one more before it where something may be counted. How many there are depends on what images can
 * draw, not on what they do. */
#ifndef MOT_CUDA_WIDE_ROUTE_H
#define MOT_CUDA_WIDE_ROUTE_H

#include "dispatch/cuda/apply.h"
#include "dispatch/wide.h"
#include "kernels/cuda/wide.h"

typedef struct mot_cuda_wide {
    const motley_batch *src, *dst;
    const mot_wide_job *bands; /* what is known about them */
    mot_wide_call call;
    uint8_t *sent; /* what `bands` points to */
    size_t sent_bytes;
    motley_image *images[2]; /* [count]: src, dst */
} mot_cuda_wide;

/* Chooses how a job runs whose steps are drawn or given, of a transform if it has a request: finds the most that an
 * image can need. dst: where the steps' results go. */
mot_cuda_wide mot_cuda_wide_choose(const mot_cuda_state *s, const mot_job *job, const motley_batch *dst);

/* The same of motley_resize. */
mot_cuda_wide mot_cuda_wide_resize_choose(const mot_cuda_state *s, const motley_batch *src, const motley_batch *dst,
                                          const mot_wide_job *bands, const mot_resize *places);

/* Lays out its memory. */
void mot_cuda_wide_lay_out(mot_cuda_wide *wide, mot_arena *slot, mot_arena *scratch);

/* Sends its images and what is known about their bands. */
motley_status mot_cuda_wide_send(mot_cuda_call *call, mot_cuda_wide *wide, motley_error *error);

/* Queues its kernels. wide->call has the steps and the places. `normalises`: dst is normalised. */
motley_status mot_cuda_wide_queue(mot_cuda_call *call, mot_cuda_wide *wide, int normalises, motley_error *error);

/* Whole calls. */
motley_status mot_cuda_wide_apply(mot_cuda_call *call, const mot_job *job, motley_error *error);
motley_status mot_cuda_wide_resize(mot_cuda_call *call, const motley_batch *src, const motley_batch *dst,
                                   const motley_resize_params *params, motley_error *error);
void mot_cuda_wide_count(mot_cuda_state *s, const mot_job *job, mot_arena *slot, mot_arena *scratch);

#endif
