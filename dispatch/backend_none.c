/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the CUDA backend in a build without CUDA: every attempt to create it fails with that reason. */
#include "dispatch/backend.h"

static motley_status create(const motley_context_params *params, void **state, motley_error *error)
{
    (void)params;
    *state = NULL;
    return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "this build of Motley has no CUDA backend");
}

const mot_backend mot_backend_cuda = { .id = MOTLEY_BACKEND_CUDA, .name = "cuda", .create = create };
