/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's path for images that shared memory does not hold: how much it needs, and queueing it. */
#ifndef MOT_CUDA_LARGE_H
#define MOT_CUDA_LARGE_H

#include "dispatch/backend.h"
#include "kernels/cuda/job.h"

/* Device memory that a batch needs beside its plan: up to a quarter of the batch, or one image and a little. */
size_t mot_cuda_large_bytes(const mot_job *job, mot_cuda_format format);

/* Queues the passes behind the draw kernel. `memory` has mot_cuda_large_bytes(); of `image`, what does not concern
 * shared memory is filled in. */
cudaError_t mot_cuda_large_queue(const mot_job *job, const mot_cuda_job *image, const int32_t *step_count,
                                 mot_cuda_format format, int multiprocessors, void *memory, cudaStream_t stream);

/* For tests: every batch that the context runs from now on takes this path (or, with 0, only where it has to). */
void mot_cuda_large_always(motley_context *context, int always);

#endif
