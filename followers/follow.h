/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that moves boxes and points by what is drawn on the device. Plain C on both sides. */
#ifndef MOT_FOLLOWERS_FOLLOW_H
#define MOT_FOLLOWERS_FOLLOW_H

#include "augmentations/step.h"
#include "kernels/cuda/job.h"
#include "motley/follow.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When the kernel waits for the end of the one before it on the stream. */
typedef enum mot_follow_waits {
    MOT_FOLLOW_BEGINS_AFTER, /* it is launched after that */
    MOT_FOLLOW_WAITS_FIRST,  /* it is launched earlier, and waits before it reads what was drawn */
    MOT_FOLLOW_WAITS_LAST    /* what was drawn is there as soon as it runs */
} mot_follow_waits;

/* All pointers are the device's. */
typedef struct mot_follow_job {
    int32_t count, max_steps;
    const mot_step *steps;                /* [count][max_steps] */
    const int32_t *step_count;            /* [count], or NULL: max_steps of each image */
    const motley_transform_drawn *places; /* [count], of a transform; NULL: of a policy */
    int32_t width, height;                /* of a transform's results; 0: each is as `places` says */
    mot_cuda_batch src;                   /* for the sizes before the first step */
    motley_followed followed;
    int waits; /* mot_follow_waits */
} mot_follow_job;

cudaError_t mot_follow_launch(const mot_follow_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
