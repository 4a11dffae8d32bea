/* SPDX-License-Identifier: Apache-2.0 */
/* POINT: ops that see one component. Shared by the reference, the CPU and the GPU. */
#ifndef MOT_POINT_H
#define MOT_POINT_H

#include "augmentations/ops.h"

#include "kernels/shapes_off.h"
#undef MOT_IF_POINT
#define MOT_IF_POINT(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem(v, arg);

MOT_FN uint8_t mot_point_value(int op, uint8_t v, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return v;
    }
}

#include "kernels/shapes_off.h"
#endif
