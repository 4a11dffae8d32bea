/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that draw a transform and erase boxes: samples in; places, steps and boxes out. Plain C on both sides. */
#ifndef MOT_CUDA_TRANSFORM_DRAW_H
#define MOT_CUDA_TRANSFORM_DRAW_H

#include "dispatch/cuda/draw.h"
#include "kernels/cuda/resize.h"
#include "kernels/cuda/tuning.h"
#include "policies/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the random words and the steps of a stage begin. */
typedef struct mot_stage_turn {
    uint32_t block;
    int32_t first_step; /* among the image's; among those of `before`, if it is one of their stages */
    int32_t before;     /* it is */
    int32_t places;     /* it says where pixels come from */
} mot_stage_turn;

typedef struct mot_transform_draw_job {
    mot_resize_job resize;            /* its tables are made as well */
    const mot_stage *stage;           /* [stages], with pointers of the device */
    const mot_tables *table;          /* [stages], of policies */
    int32_t stages, max_steps, order; /* max_steps: 0: steps are drawn later */
    int32_t given;                    /* != 0: `drawn` and `steps` were given */
    int32_t joined;                   /* != 0: places are drawn in turn, each behind those before it */
    uint8_t fill[4];                  /* what places read outside, by channel */
    mot_cuda_samples samples;
    motley_place *drawn; /* [count] */
    int32_t threads;     /* of a CTA: MOT_TRANSFORM_THREADS or MOT_TRANSFORM_FEW_THREADS */
    mot_stage_turn turn[MOT_MAX_STAGES];
    uint16_t own[MOT_TRANSFORM_THREADS / 32]; /* the stages that each warp of a CTA draws, a bit for each */
    const double *ratios;                     /* of a random_resized_crop, which is stage 0; NULL: there is none */
    int32_t flip;                             /* the stage that is drawn together with it; 0: none */
    mot_step *steps;                          /* [count][max_steps]; steps that are not drawn change nothing */
    mot_step *before;                         /* [count][max_before], likewise: those that change the source */
    int32_t max_before;                       /* 0: none do */
} mot_transform_draw_job;

/* Draws, and makes the tables of the resize kernel. `overlap`: the kernel may begin while the previous one finishes. */
cudaError_t mot_transform_draw_launch(const mot_transform_draw_job *job, int overlap, cudaStream_t stream);

typedef struct mot_erase_job {
    mot_cuda_batch dst;
    int32_t count, channels, dtype, values; /* values: mot_erase_values */
    uint32_t bits[4];                       /* constant values, as dtype */
    const float *normals;                   /* [MOT_NORMAL_CELLS], of the others */
    const motley_place *drawn;              /* [count] */
} mot_erase_job;

cudaError_t mot_erase_launch(const mot_erase_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
