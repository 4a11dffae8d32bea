/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the CUDA backend for tests. */
#ifndef MOT_CUDA_H
#define MOT_CUDA_H

#include "dispatch/backend.h"
#include "dispatch/cuda/route.h"

/* Forces the tiles route for every later batch of the context; 0 restores the normal choice. */
void mot_cuda_tiles_always(motley_context *context, int always);

/* The route and kernel of a batch. */
typedef struct mot_cuda_last {
    mot_route route;
    const char *reason;
    mot_cuda_format format;
    int output; /* it wrote a fused output */
    int blurs;  /* of resident images: by the kernel that blurs */
} mot_cuda_last;

/* The route and kernel of the last batch that the context ran. */
mot_cuda_last mot_cuda_last_run(const motley_context *context);

#endif
