/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that move boxes, points and planes by draws in device memory. C and CUDA both include this header. */
#ifndef MOT_FOLLOWERS_FOLLOW_H
#define MOT_FOLLOWERS_FOLLOW_H

#include "augmentations/step.h"
#include "kernels/cuda/job.h"
#include "motley/follow.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When the kernel waits for the end of the kernel before it on the stream. */
typedef enum mot_follow_waits {
    MOT_FOLLOW_BEGINS_AFTER, /* it starts only then */
    MOT_FOLLOW_WAITS_FIRST,  /* it starts earlier, and waits before it reads the draws */
    MOT_FOLLOW_WAITS_LAST    /* it starts earlier and waits at its end: the draws are complete when it starts */
} mot_follow_waits;

/* All pointers are to device memory. */
typedef struct mot_follow_job {
    int32_t count, max_steps;
    const mot_step *steps;      /* [count][max_steps] */
    const int32_t *step_count;  /* [count], or NULL: max_steps of each image */
    const mot_rect *inside;     /* [count][max_steps]: the part that a step works in; empty: all; or NULL */
    const motley_place *places; /* [count], from a transform; NULL: from a policy */
    const motley_place *first;  /* [count], what comes before `places`, all of an image where nothing does; or NULL */
    mot_cuda_batch src;         /* for the sizes before the first step */
    motley_followed followed;
    int waits; /* mot_follow_waits */
} mot_follow_job;

cudaError_t mot_follow_launch(const mot_follow_job *job, cudaStream_t stream);
cudaError_t mot_planes_launch(const mot_follow_job *job, const motley_planes *planes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
