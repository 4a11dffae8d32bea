/* SPDX-License-Identifier: Apache-2.0 */
/* The draw kernel's request: samples in, steps and sub-batches out. Plain C on both sides. */
#ifndef MOT_PLAN_CUDA_H
#define MOT_PLAN_CUDA_H

#include "augmentations/ops.h"
#include "kernels/cuda/job.h"
#include "policies/tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sub-batch holds the samples with this many spatial ops (0, 1, 2, more) and this most costly op. Buckets are
 * numbered from heavy to light. */
#define MOT_BUCKETS (4 * (MOT_OP_COUNT + 1))

/* The device's workspace; arrays of [count] but where noted. */
typedef struct mot_cuda_plan {
    mot_step *steps;     /* [count][max_steps] */
    int32_t *step_count;
    mot_cuda_turn *order; /* samples, bucket by bucket */
    int32_t *bucket;     /* of each sample */
    int32_t *rank;       /* of each sample in its bucket */
    int32_t *filled;     /* [MOT_BUCKETS] counters, all 0 between calls */
    int32_t *first;      /* [MOT_BUCKETS + 1]: where each bucket begins in `order` */
    int32_t *ticket;     /* CTAs that are done, 0 between calls */
} mot_cuda_plan;

typedef struct mot_cuda_draw {
    int32_t count, channels, max_steps;
    int32_t draws;          /* 0: steps were given, max_steps for each sample */
    mot_tables tables;      /* pointing to device memory */
    uint64_t seed, sample;  /* sample: of image 0 */
    uint32_t epoch;
    const uint64_t *ids;     /* device memory [count], or NULL */
    const uint64_t *counter; /* device memory {epoch, first}, or NULL */
    mot_cuda_batch src;      /* for sizes */
    mot_cuda_plan plan;
    uint8_t place[MOT_OP_COUNT]; /* of each op among them from costly to cheap: mot_cuda_places */
} mot_cuda_draw;

void mot_cuda_places(uint8_t place[MOT_OP_COUNT]);

cudaError_t mot_cuda_draw_launch(const mot_cuda_draw *draw, cudaStream_t stream);

/* Copies host bytes to device memory inside kernel arguments: no pinned memory, right under graph capture. */
cudaError_t mot_cuda_send(void *to, const void *from, size_t bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
