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

/* A sub-batch holds the samples of one class of cost and with this most costly op. Buckets are numbered from heavy to
 * light. */
#define MOT_COST_CLASSES 9
#define MOT_BUCKETS (MOT_COST_CLASSES * (MOT_OP_COUNT + 1))

/* Samples are sorted in two parts: the first wave, whose CTAs begin before the order is known, and the others. */
#define MOT_KEYS (2 * MOT_BUCKETS)

/* The device's workspace; arrays of [count] but where noted. */
typedef struct mot_cuda_plan {
    mot_step *steps; /* [count][max_steps] */
    int32_t *step_count;
    int32_t *ready;       /* of the first wave: steps + 1 when they are drawn, 0 when their CTA has seen it */
    mot_cuda_turn *order; /* samples, key by key: the buckets of the first wave, then those of the others */
    int32_t *key;         /* of each sample */
    int32_t *rank;        /* of each sample among those of its key */
    int32_t *filled;      /* [MOT_KEYS] counters, all 0 between calls */
    int32_t *first;       /* [MOT_KEYS + 1]: where each key begins in `order` */
    int32_t *ticket;      /* CTAs that are done, 0 between calls */
} mot_cuda_plan;

/* What the order of the work needs to know of an op. */
typedef struct mot_cuda_op {
    uint16_t cost;
    uint8_t shape;
    uint8_t place; /* among the ops from costly to cheap */
} mot_cuda_op;

#define MOT_FEW_IDS 256
#define MOT_SLOTS_LOG2 4 /* most of them that are drawn side by side */

typedef struct mot_cuda_draw {
    int32_t count, channels, max_steps;
    int32_t first_wave; /* samples: as many as mot_cuda_job says */
    int32_t draws;      /* 0: steps were given, max_steps for each sample */
    int32_t slots_log2; /* 2^slots_log2 threads draw a sample's steps, each one of them */
    mot_tables tables;  /* pointing to device memory, where they lie one after the other */
    int64_t tables_bytes;
    int32_t near_bytes;    /* shared memory that the kernel may use */
    uint64_t seed, sample; /* sample: of image 0 */
    uint32_t epoch, view;
    const uint64_t *ids;     /* device memory [count], or NULL */
    const uint32_t *views;   /* likewise */
    const uint64_t *counter; /* device memory {epoch, first}, or NULL */
    mot_cuda_batch src;      /* for sizes */
    float most_pixels;       /* of an image */
    mot_cuda_plan plan;
    mot_cuda_op op[MOT_OP_COUNT]; /* mot_cuda_op_facts */
    int32_t few_ids, few_views; /* they are those that follow: sending them by themselves would take another launch */
    uint64_t few_id[MOT_FEW_IDS];
    uint16_t few_view[MOT_FEW_IDS];
} mot_cuda_draw;

void mot_cuda_op_facts(mot_cuda_op op[MOT_OP_COUNT]);

/* Once for each device, before the first launch. */
cudaError_t mot_cuda_draw_prepare(int near_bytes);
cudaError_t mot_cuda_draw_launch(const mot_cuda_draw *draw, cudaStream_t stream);

/* Copies host bytes to device memory inside kernel arguments: no pinned memory, right under graph capture. */
cudaError_t mot_cuda_send(void *to, const void *from, size_t bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
