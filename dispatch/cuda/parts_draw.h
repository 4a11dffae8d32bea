/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that draw for jobs with breaks, and take their steps apart. Plain C on both sides. */
#ifndef MOT_CUDA_PARTS_DRAW_H
#define MOT_CUDA_PARTS_DRAW_H

#include "dispatch/cuda/draw.h"
#include "kernels/cuda/breaks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Draws each sample as mot_draw_sample does on the host: its steps, whose rest up to `own_steps` changes nothing, and
 * their number unless draw->plan.step_count is NULL. `tables`: device memory, in place of draw->tables, or NULL. */
cudaError_t mot_parts_draw_launch(const mot_cuda_draw *draw, const mot_tables *tables, int own_steps,
                                  cudaStream_t stream);

/* Writes `value` to each of `count` numbers in device memory. */
cudaError_t mot_cuda_fill(int32_t *to, int32_t value, size_t count, cudaStream_t stream);

/* Splits each sample's steps into parts. A part is a run of ops, ended by a break or by the end of the steps. All steps
 * up to the last one that mixes belong to chains: they get the first parts, chain_breaks + 1 for each chain that has
 * ops. The steps behind them get the remaining parts. */
typedef struct mot_parts_job {
    int32_t count, max_steps;
    const mot_step *steps;        /* [count][max_steps] */
    int32_t given;                /* != 0: the weights of kernel blurs are in their arguments */
    int32_t chains, chain_breaks; /* chains of an image, at most, and breaks in one of them */
    int32_t breaks;               /* after the chains, at most */
    int32_t most;                 /* ops of a part */
    mot_step *part;               /* [parts][count][most]; those that an image lacks change nothing */
    mot_step *after;              /* [parts][count], likewise */
    int32_t clip_frames;          /* > 1: ops that need statistics are breaks, and common to so many images: */
    mot_step *pooled;             /* [parts][clips], likewise */
    mot_mix_turn *turn;           /* [count][turns]; 0: no more */
    int32_t turns;
} mot_parts_job;

cudaError_t mot_parts_launch(const mot_parts_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
