/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's calls, for images of any number of channels with and without alpha. The functions that they call, here
 * and in kernels, take the last of 2 or 4 channels for alpha. */
#ifndef MOT_CUDA_BANDS_H
#define MOT_CUDA_BANDS_H

#include "dispatch/backend.h"

motley_status mot_cuda_bands_run(void *state, const mot_job *job, motley_error *error);
motley_status mot_cuda_bands_workspace(void *state, const mot_job *job, size_t *bytes, motley_error *error);
motley_status mot_cuda_bands_resize(void *state, const motley_batch *src, const motley_batch *dst,
                                    const motley_resize_params *params, motley_error *error);
motley_status mot_cuda_bands_transform(void *state, const struct mot_transform_call *call, motley_error *error);

#endif
