/* SPDX-License-Identifier: Apache-2.0 */
/* What tests ask of the CUDA backend. */
#ifndef MOT_CUDA_H
#define MOT_CUDA_H

#include "dispatch/backend.h"

/* Every batch that the context runs from now on goes by tiles (or, with 0, as it would). */
void mot_cuda_tiles_always(motley_context *context, int always);

#endif
