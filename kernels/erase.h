/* SPDX-License-Identifier: Apache-2.0 */
/* ERASE: ops that fill a rectangle of the image. */
#ifndef MOT_ERASE_H
#define MOT_ERASE_H

#include "augmentations/ops.h"

#include "kernels/shapes_off.h"
#undef MOT_IF_ERASE
#define MOT_IF_ERASE(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem(width, height, arg);

MOT_FN mot_rect mot_erase_rect(int op, int width, int height, const mot_arg *arg)
{
    const mot_rect none = { 0, 0, 0, 0 };
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return none;
    }
}

#include "kernels/shapes_off.h"
#endif
