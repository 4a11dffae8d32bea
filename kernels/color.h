/* SPDX-License-Identifier: Apache-2.0 */
/* COLOR: ops that see one pixel: a component and the pixel's luma, which of a grey image or a band is the component
 * itself. */
#ifndef MOT_COLOR_SHAPE_H
#define MOT_COLOR_SHAPE_H

#include "augmentations/ops.h"

#include "kernels/shapes_off.h"
#undef MOT_IF_COLOR
#define MOT_IF_COLOR(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem(v, luma, arg);

MOT_FN uint8_t mot_color_value(int op, mot_u8 v, mot_u8 luma, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return v;
    }
}

#include "kernels/shapes_off.h"
#endif
