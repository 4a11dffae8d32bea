/* SPDX-License-Identifier: Apache-2.0 */
/* Copies bands that lie pixel by pixel into planes, whose loops are faster, and back. Plain C on both sides. */
#ifndef MOT_CUDA_INTERLEAVE_H
#define MOT_CUDA_INTERLEAVE_H

#include "kernels/cuda/job.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mot_interleave_job {
    mot_cuda_batch src, dst; /* u8, of one size, without `images`; no bytes of both are the same */
    int32_t channels;        /* all of an image */
} mot_interleave_job;

cudaError_t mot_interleave_launch(const mot_interleave_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
