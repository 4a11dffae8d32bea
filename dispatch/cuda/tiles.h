/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's tiles route, which accepts any batch: how much memory it needs, and how to queue it. */
#ifndef MOT_CUDA_TILES_H
#define MOT_CUDA_TILES_H

#include "dispatch/backend.h"
#include "dispatch/cuda/draw.h"
#include "kernels/cuda/resize.h"

/* How the tile kernel processes a batch, some images at a time. */
typedef struct mot_tiles_plan {
    size_t images;                               /* at a time, at most */
    int whole;                                   /* the whole batch at a time */
    int windows, max_counts;                     /* programs and COUNTs of an image, at most */
    int max_image_ctas, large_image_ctas, moves; /* see mot_tiles_job */
    int tile_words;                              /* see mot_cut_tiles */
    int ctas_per_image;                          /* see mot_tiles_job */
    int piece_quads;                             /* see mot_cut_pieces */
    int64_t tasks;                               /* mot_tile_task, at a time, at most */
    int64_t scratch_bytes, bytes;
    int64_t half_bytes; /* of all before the scratch, which two calls in turn have in different places */
    int64_t at_programs, at_image, at_tasks, at_totals, at_arrivals, at_values, at_scratch; /* offsets */
} mot_tiles_plan;

/* `ctas`: those that are resident on the device together. */
mot_tiles_plan mot_tiles_plan_of(const mot_job *job, mot_cuda_format format, int ctas);

/* Where pixels are kept between phases when a call has no dst: at the beginning of each image's output if that is dense
 * and of a larger type, else in the first byte of each component. */
motley_batch mot_tiles_work(const motley_batch *src, const motley_batch *output, mot_cuda_format format);

/* Whether src's images are few enough to be described by kernel arguments. */
int mot_tiles_few_images(const mot_job *job);

/* Where a batch's kernels work. */
typedef struct mot_tiles_site {
    void *memory;      /* the plan's bytes */
    int half, overlap; /* overlap: the chip can start a kernel while the previous one finishes */
    cudaStream_t draws,
        stream;        /* programs are made on `draws`, if plan->whole; if that is another stream, the event ... */
    cudaEvent_t drawn; /* ... is recorded there, and `stream` waits for it */
    const mot_resize_job *resize; /* queued between the two; or NULL */
} mot_tiles_site;

/* Queues the kernel that draws and makes programs, then the tile kernel. `tiles` has the batches and the output's
 * type. */
cudaError_t mot_tiles_queue(const mot_job *job, const mot_cuda_draw *draw, mot_tiles_job *tiles,
                            const mot_tiles_plan *plan, mot_cuda_format format, const mot_tiles_site *site);

/* Raises the limits of the kernel for `format`; call once for each format. */
cudaError_t mot_tiles_prepare(mot_cuda_format format);

#endif
