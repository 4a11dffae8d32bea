/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and points that move with a batch, queued after its images. */
#ifndef MOT_CUDA_FOLLOW_H
#define MOT_CUDA_FOLLOW_H

#include "dispatch/cuda/state.h"
#include "followers/follow.h"

/* Checks that the arrays of boxes and points are on the context's device. */
motley_status mot_cuda_check_followed(void *state, const motley_followed *followed, motley_error *error);

/* Moves job->followed by a plan's steps, which were drawn or sent by work queued before. `images`: descriptions of
 * job->src on the device, where its images have several sizes. `inside`: as in mot_follow_job. `waits`: as the kernel
 * queued last allows. */
motley_status mot_cuda_follow_plan(mot_cuda_call *call, const mot_job *job, const mot_cuda_plan *plan,
                                   const motley_image *images, const mot_rect *inside, mot_follow_waits waits,
                                   motley_error *error);

/* The same of any job. */
motley_status mot_cuda_follow_queue(mot_cuda_call *call, mot_follow_job *job, mot_follow_waits waits,
                                    motley_error *error);

/* mot_backend.follow */
motley_status mot_cuda_follow(void *state, const mot_job *job, motley_error *error);

#endif
