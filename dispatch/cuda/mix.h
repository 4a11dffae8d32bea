/* SPDX-License-Identifier: Apache-2.0 */
/* motley_mix_apply and motley_mix_targets on the GPU, and the mixing at the end of a transform. */
#ifndef MOT_CUDA_DISPATCH_MIX_H
#define MOT_CUDA_DISPATCH_MIX_H

#include "dispatch/cuda/state.h"
#include "kernels/cuda/mix.h"

motley_status mot_cuda_mix(void *state, const motley_batch *src, const motley_batch *dst, const motley_mixed *drawn,
                           void *stream, motley_error *error);
motley_status mot_cuda_mix_targets(void *state, const motley_mixed *drawn, const mot_mix_targets *call, void *stream,
                                   motley_error *error);

/* Counts the memory for mixing a batch in the scratch, and returns the bytes of the host's. */
size_t mot_cuda_mix_count(const mot_chip *chip, const motley_batch *src, const motley_batch *dst,
                          const motley_mixed *drawn, mot_arena *scratch);

/* Queues the mixing, whose memory begins at `scratch`. `smoothing`: of soft targets, which are mixed by their share;
 * NULL: of images. */
motley_status mot_cuda_mix_queue(mot_cuda_call *call, const motley_batch *src, const motley_batch *dst,
                                 const motley_mixed *drawn, const double *smoothing, mot_arena *scratch, uint8_t *host,
                                 motley_error *error);

#endif
