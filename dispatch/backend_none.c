/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend of a build without CUDA: it says so. */
#include "dispatch/backend.h"

static motley_status create(const motley_context_params *params, void **state, motley_error *error)
{
    (void)params;
    *state = NULL;
    return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "this build of Motley has no CUDA backend");
}

const mot_backend mot_backend_cuda = { .id = MOTLEY_BACKEND_CUDA, .name = "cuda", .create = create };
