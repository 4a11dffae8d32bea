/* SPDX-License-Identifier: Apache-2.0 */
/* STENCIL: ops that see a component and the sum of the 3x3 components around it, itself included.
 *
 * The outermost rows and columns do not change, nor does an image less than 3 pixels wide or high. */
#ifndef MOT_STENCIL_H
#define MOT_STENCIL_H

#include "augmentations/ops.h"

#include "kernels/shapes_off.h"
#undef MOT_IF_STENCIL
#define MOT_IF_STENCIL(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem(centre, sum, arg);

MOT_FN uint8_t mot_stencil_value(int op, uint8_t centre, uint32_t sum, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return centre;
    }
}

#ifdef __CUDACC__
#undef MOT_IF_STENCIL
#define MOT_IF_STENCIL(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem##_pair(centre, sum, arg);

/* Two components side by side, 16 bits each. */
static __device__ __forceinline__ uint32_t mot_stencil_pair(int op, uint32_t centre, uint32_t sum, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return centre;
    }
}
#endif

#include "kernels/shapes_off.h"
#endif
