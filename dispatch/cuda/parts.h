/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs with breaks, which the image and the tile kernels cannot run as a whole: those of kernels/cuda/breaks.h, and ops
 * that need the statistics of a clip. They are split at their breaks, and the parts in between run as separate jobs. */
#ifndef MOT_CUDA_PARTS_H
#define MOT_CUDA_PARTS_H

#include "dispatch/cuda/apply.h"

/* The most parts and breaks that any image of a job can have; all zero: the job has no breaks. */
typedef struct mot_cuda_parts {
    int32_t kinds;                /* MOT_BREAK_* */
    int32_t taps;                 /* of the widest kernel blur, along a line */
    int32_t turns;                /* steps of an image that mix chains; more than 0: the job mixes */
    int32_t chains, chain_breaks; /* chains with steps, and breaks in one of them */
    int32_t breaks;               /* outside of chains */
    int32_t most;                 /* ops between two breaks */
    int32_t first_ops, last_ops;  /* != 0: outside of chains there may be ops before the first break, after the last */
    int32_t clip_frames;          /* > 1: ops that need statistics are breaks, which work on so many images at a time */
} mot_cuda_parts;

static inline int mot_cuda_has_parts(const mot_cuda_parts *parts)
{
    return parts->kinds != 0 || parts->breaks > 0 || parts->turns > 0;
}

/* The parts of a job's policy or given steps. */
mot_cuda_parts mot_cuda_parts_of(const mot_job *job);

/* Adds the steps of a policy, or of a transform's stages in their order. */
void mot_cuda_parts_add(mot_cuda_parts *parts, const mot_step_facts *more);

/* Adds an image whose steps are given. */
void mot_cuda_parts_add_image(mot_cuda_parts *parts, const mot_step *steps, size_t count);

/* Room for ops in a part: at least one, for a part that only copies or normalises. */
size_t mot_cuda_part_steps(const mot_cuda_parts *parts);

/* Bytes of the host that mot_cuda_run_parts needs. */
size_t mot_cuda_parts_host_bytes(const mot_cuda_parts *parts, const mot_job *job);

/* Runs a job whose steps are in device memory. `work`: where its pixels are between the parts; NULL: in dst, or in
 * memory of the context if there is no dst. With clips it is dense HWC, the frames of a clip one after the other.
 * `given`: the weights of its kernel blurs are in their arguments. Its memory begins at `slot` and `scratch`; call
 * NULL: it only counts what it needs there. */
motley_status mot_cuda_run_parts(mot_cuda_state *s, mot_cuda_call *call, const mot_job *job,
                                 const mot_cuda_parts *parts, const motley_batch *work, int given, mot_arena *slot,
                                 mot_arena *scratch, uint8_t *host, motley_error *error);

/* Draws steps of chains, or of a policy with breaks: see mot_parts_draw_launch. */
motley_status mot_cuda_queue_chains(mot_cuda_call *call, const mot_cuda_draw *draw, const mot_tables *tables,
                                    int own_steps, motley_error *error);

/* A whole job of motley_apply, motley_op_apply, or of given steps: counts its memory, and runs it. `steps` has its
 * tables, and gets what the plan of other jobs has of draws. */
motley_status mot_cuda_count_apart(mot_cuda_state *s, const mot_job *job, const mot_cuda_parts *parts, mot_arena *slot,
                                   mot_arena *scratch, motley_error *error);
motley_status mot_cuda_run_apart(mot_cuda_call *call, const mot_job *job, const mot_cuda_parts *parts,
                                 mot_cuda_steps *steps, motley_error *error);

#endif
