/* SPDX-License-Identifier: Apache-2.0 */
/* The draw kernel's request: samples in, steps and sub-batches out. Plain C on both sides. */
#ifndef MOT_CUDA_DRAW_H
#define MOT_CUDA_DRAW_H

#include "dispatch/buckets.h"
#include "kernels/cuda/tile_job.h"
#include "policies/draw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Samples are sorted in two parts: the first wave, whose CTAs begin before the order is known, and the others. */
#define MOT_KEYS (2 * MOT_BUCKETS)

/* The workspace in device memory; arrays are [count] unless noted. */
typedef struct mot_cuda_plan {
    mot_step *steps; /* [count][max_steps]; steps that were given: [src.samples][max_steps] */
    int32_t *step_count;
    int32_t *ready;       /* of the first wave: number of steps + 1 once they are drawn, 0 once their CTA has seen it */
    mot_cuda_turn *order; /* samples, key by key: the buckets of the first wave, then those of the others */
    int32_t *key;         /* of each sample */
    int32_t *rank;        /* of each sample among those with its key */
    int32_t *filled;      /* [MOT_KEYS] counters, all 0 between calls */
    int32_t *ticket;      /* how many CTAs are done; 0 between calls */
    mot_tile_counters *counters; /* all 0 between calls */
} mot_cuda_plan;

#define MOT_FEW_IDS 256                                    /* ids, and views, in kernel arguments */
#define MOT_FEW_IMAGES (CUDART_VERSION >= 12010 ? 256 : 0) /* kernel arguments of more than 4 KiB */
#define MOT_SLOTS_LOG2 4                                   /* log2 of the most steps drawn in parallel */

/* The samples of a batch. `given`: ids, views and levels are in device memory; so are boxes, if they are used. */
typedef struct mot_cuda_samples {
    motley_samples given;
    const uint64_t *counter; /* {epoch, first}, in place of the given ones; or NULL */
} mot_cuda_samples;

MOT_FN mot_drawn_sample mot_cuda_sample_of(const mot_cuda_samples *s, int i, int width, int height, int channels)
{
    mot_drawn_sample sample = mot_sample_of(&s->given, (size_t)i, width, height, channels);
    if (s->counter)
        sample.epoch = (uint32_t)s->counter[0];
    if (s->counter && !s->given.ids)
        sample.id = s->counter[1] + (uint64_t)i;
    return sample;
}

/* What draws of these samples read that the caller's stream may write. */
static inline int mot_cuda_reads_callers(const mot_cuda_samples *s)
{
    return s->counter || s->given.levels || s->given.boxes_on_device;
}

typedef struct mot_cuda_draw {
    int32_t count;    /* images */
    int32_t channels; /* of a sample */
    int32_t max_steps;
    int32_t first_wave;   /* number of samples, as in mot_resident_job */
    int32_t draws;        /* 0: steps were given, max_steps for each sample */
    int32_t overlap;      /* the kernel may begin while the previous one finishes: a resize, or a transform's draws */
    int32_t threads_log2; /* 2^threads_log2 threads work on a sample */
    int32_t by_step;      /* each thread draws one step */
    mot_tables tables;    /* pointers to device memory, where they are contiguous */
    int64_t tables_bytes;
    int32_t shared_bytes; /* shared memory that the kernel may use */
    mot_cuda_samples samples;
    mot_cuda_batch src; /* for sizes, and which images are of one sample */
    mot_cuda_plan plan;
    mot_cuda_op op[MOT_OP_COUNT]; /* mot_cuda_op_facts */
    int32_t few_ids, few_views;   /* they follow as kernel arguments: a separate upload would take another launch */
    uint64_t few_id[MOT_FEW_IDS];
    uint16_t few_view[MOT_FEW_IDS];
} mot_cuda_draw;

/* The sample of image i, of the batch's size. */
MOT_FN mot_drawn_sample mot_cuda_drawn_sample(const mot_cuda_draw *d, int i)
{
    const int own = mot_sample_at(&d->src, i);
    mot_drawn_sample sample = mot_cuda_sample_of(&d->samples, own, d->src.width, d->src.height, d->channels);
    if (d->few_ids)
        sample.id = d->few_id[own];
    if (d->few_views)
        sample.view = d->few_view[own];
    return sample;
}

void mot_cuda_op_facts(mot_cuda_op op[MOT_OP_COUNT]);

/* Call once for each device, before the first launch. */
cudaError_t mot_cuda_draw_prepare(int shared_bytes);
cudaError_t mot_cuda_draw_launch(const mot_cuda_draw *draw, cudaStream_t stream);

/* For the tiles route: draws the samples of the job's images and makes their programs. `images`: the batch's
 * descriptions in host memory, which are copied to job->src.images as well; NULL if they are there. */
cudaError_t mot_cuda_plan_launch(const mot_cuda_draw *draw, const mot_tiles_job *job, const motley_image *images,
                                 cudaStream_t stream);

/* Copies host bytes to device memory through kernel arguments: needs no pinned memory, and is correct under graph
 * capture. */
cudaError_t mot_cuda_send(void *to, const void *from, size_t bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
