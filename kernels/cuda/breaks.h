/* SPDX-License-Identifier: Apache-2.0 */
/* Breaks: the steps that the image and the tile kernels do not run, because few batches have them (torchvision's kernel
 * blur, ops of shape FILTER), and the mixing of chains. Plain C on both sides. */
#ifndef MOT_CUDA_BREAKS_H
#define MOT_CUDA_BREAKS_H

#include "augmentations/augmix.h"
#include "augmentations/ops.h"
#include "kernels/cuda/job.h"
#include "motley/draw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of breaks, as bits. */
enum { MOT_BREAK_BLUR = 1, MOT_BREAK_FILTER = 2 };

/* The kind of a step; 0 for steps that are not breaks: ops that the other kernels run, and steps that mix. */
MOT_FN int mot_break_of(int op)
{
    return op == MOTLEY_STEP_KERNEL_BLUR                        ? MOT_BREAK_BLUR
           : op >= 0 && mot_shape_of(op) == MOTLEY_SHAPE_FILTER ? MOT_BREAK_FILTER
                                                                : 0;
}

#define MOT_BREAK_FEW_TAPS 9
#define MOT_BREAK_PLANE_BYTES (56 * 1024) /* of a CTA's shared memory, on every chip */

/* Words from row to row of a plane in shared memory: four components each, one word before and behind a row, and whole
 * pieces of 16 bytes. */
MOT_FN int mot_plane_pitch(int width)
{
    return ((width + 3) / 4 + 2 + 3) & ~3;
}

/* Bytes of a plane with what a blur of few taps reads around it. */
MOT_FN int64_t mot_plane_bytes(int width, int height)
{
    return 16 + 4 * mot_plane_pitch(width) * ((int64_t)height + 2 * (MOT_BREAK_FEW_TAPS / 2));
}

/* Whether breaks of such kinds are only blurs of few taps, and a CTA holds a whole plane: then no image is blurred into
 * another one first. */
MOT_FN int mot_blurs_planes(int kinds, int taps, int width, int height)
{
    return kinds == MOT_BREAK_BLUR && taps <= MOT_BREAK_FEW_TAPS &&
           mot_plane_bytes(width, height) <= MOT_BREAK_PLANE_BYTES;
}

/* One break of each image; images without one are copied. */
typedef struct mot_break_job {
    mot_cuda_batch src, dst; /* u8 of the same sizes and channels */
    mot_cuda_batch output;   /* where has_output, as mot_blurs_planes: planes of 16-bit values by lines, which every
                              * image's   plane becomes; src has planes, too, whose rows are whole pieces of 16 bytes */
    mot_cuda_output as;      /* `output` */
    int32_t has_output;
    mot_cuda_batch spare; /* where in_place, unless mot_blurs_planes: another such batch, which is written first */
    int32_t in_place;     /* src is dst */
    int32_t count, channels;
    int32_t kinds;         /* MOT_BREAK_* */
    int32_t taps;          /* of the widest kernel blur, along a line */
    const mot_step *step;  /* [src.samples]; MOT_ARG_IDENTITY: none. A kernel blur's argument has its weights */
    int32_t width, height; /* of the largest image */
    int32_t multiprocessors;
} mot_break_job;

cudaError_t mot_break_launch(const mot_break_job *job, cudaStream_t stream);

/* A step that mixes, of one image. */
typedef struct mot_mix_turn {
    int32_t op;    /* MOTLEY_STEP_MIX_*; 0: no more */
    int32_t chain; /* which of the image's chains; -1: the image itself */
    float weight;
} mot_mix_turn;

/* Mixes the chains of each image. */
typedef struct mot_chains_job {
    mot_cuda_batch src, dst; /* dst may be src */
    mot_cuda_batch
        chains;          /* the first chain of each image; descriptions of the others follow those of the first, ... */
    int64_t chain_bytes; /* ... or their pixels lie so far behind those of the one before */
    int32_t count, channels;
    const mot_mix_turn *turn; /* [src.samples][turns] */
    int32_t turns;
    int32_t width, height, multiprocessors; /* as in mot_break_job */
} mot_chains_job;

cudaError_t mot_chains_launch(const mot_chains_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
