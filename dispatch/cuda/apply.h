/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose steps run on its pixels: a whole call, the steps of a transform, or one part of either. */
#ifndef MOT_CUDA_APPLY_H
#define MOT_CUDA_APPLY_H

#include "dispatch/cuda/state.h"
#include "dispatch/cuda/tiles.h"

/* How a batch runs, and in which memory. */
typedef struct mot_cuda_steps {
    mot_cuda_format format;
    mot_route_choice choice;
    mot_tiles_plan tiles; /* on the tiles route */
    mot_tables tables;    /* of a call that draws here, like ids and views */
    mot_cuda_plan plan;
    uint64_t *ids; /* [count] */
    uint32_t *views;
    motley_image *images[3]; /* [count]: src, work, output */
} mot_cuda_steps;

/* Chooses how a job runs. */
mot_cuda_steps mot_cuda_choose(mot_cuda_state *s, const mot_job *job);

/* Lays out its memory, or only that of the draws. `of_transform`: what draws need of the samples is there. */
void mot_cuda_lay_out_draws(mot_cuda_steps *steps, const mot_job *job, int of_transform, mot_arena *slot);
void mot_cuda_lay_out(mot_cuda_steps *steps, const mot_job *job, int of_transform, mot_slot_counters *counters,
                      mot_arena *slot, mot_arena *scratch);

/* Queues it. `after_resize`, or NULL: job->src was resized; the steps were drawn before, or are drawn of these samples
 * and tables, by job->policy. */
motley_status mot_cuda_queue_steps(mot_cuda_call *call, const mot_job *job, const mot_cuda_steps *steps,
                                   const mot_cuda_draw *after_resize, motley_error *error);

/* Describes the draws of a whole call for the draw kernel: the seed and the samples. */
motley_status mot_cuda_describe_draws(mot_cuda_call *call, const mot_job *job, const mot_cuda_steps *steps,
                                      mot_cuda_draw *draw, motley_error *error);

#endif
