/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's tiles route, which accepts any batch: how much memory it needs, and how to queue it. */
#ifndef MOT_CUDA_TILES_H
#define MOT_CUDA_TILES_H

#include "dispatch/cuda/timeline.h"

/* How the tile kernel processes a batch, some images at a time. */
typedef struct mot_tiles_plan {
    size_t images;      /* at a time, at most */
    int whole;          /* the whole batch at a time */
    int64_t tasks_room; /* room for at least job.most_tasks */
    int64_t scratch_bytes;
    mot_tiles_job job; /* what follows from the batch's sizes, and the memory */
} mot_tiles_plan;

/* `ctas`: those that are resident on the device together. */
mot_tiles_plan mot_tiles_plan_of(const mot_job *job, mot_cuda_format format, int ctas);

/* Lays out the memory. */
void mot_tiles_lay_out(mot_tiles_plan *plan, mot_arena *slot, mot_arena *scratch);

/* Whether src's images are few enough to be described by kernel arguments. */
int mot_tiles_few_images(const mot_job *job);

/* Queues the kernel that draws, as `node` has it, and makes programs, and the tile kernel. `tiles`: plan->job with the
 * batches and the output's type. */
motley_status mot_tiles_queue(mot_cuda_call *call, const mot_job *job, mot_cuda_draw *draw, const mot_node *node,
                              mot_tiles_job *tiles, const mot_tiles_plan *plan, motley_error *error);

/* Raises the limits of the kernel for `format`; call once for each format. */
cudaError_t mot_tiles_prepare(mot_cuda_format format);

#endif
