/* SPDX-License-Identifier: Apache-2.0 */
/* What tests ask of the CUDA backend. */
#ifndef MOT_CUDA_H
#define MOT_CUDA_H

#include "dispatch/backend.h"
#include "dispatch/route.h"

/* Every batch that the context runs from now on goes by tiles (or, with 0, as it would). */
void mot_cuda_tiles_always(motley_context *context, int always);

/* The way that a batch went. */
typedef struct mot_cuda_way {
    mot_route route;
    const char *reason;
    mot_cuda_format format;
    int output; /* it ended in an output */
} mot_cuda_way;

/* Of the last batch that the context ran. */
mot_cuda_way mot_cuda_last_way(const motley_context *context);

#endif
