/* SPDX-License-Identifier: Apache-2.0 */
/* motley_mix_apply_on and motley_mix_targets_on on the GPU, and the mixing at the end of a transform. */
#ifndef MOT_CUDA_DISPATCH_MIX_H
#define MOT_CUDA_DISPATCH_MIX_H

#include "dispatch/cuda/work.h"
#include "kernels/cuda/mix.h"

motley_status mot_cuda_mix(void *state, const motley_batch *src, const motley_batch *dst, const motley_mixed *drawn,
                           void *stream, motley_error *error);
motley_status mot_cuda_mix_targets(void *state, const motley_mixed *drawn, const mot_mix_targets *call, void *stream,
                                   motley_error *error);

/* Memory for mixing a batch in place, in bytes of the device and of the host. */
size_t mot_cuda_mix_bytes(const mot_cuda_work *work, const motley_batch *batch, size_t *host_bytes);

/* Queues the mixing, in that memory. `smoothing`: of soft targets, which are mixed by their share; NULL: of images. */
motley_status mot_cuda_mix_queue(const mot_cuda_work *work, const motley_batch *src, const motley_batch *dst,
                                 const motley_mixed *drawn, const double *smoothing, uint8_t *device, uint8_t *host,
                                 motley_error *error);

#endif
