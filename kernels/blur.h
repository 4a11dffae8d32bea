/* SPDX-License-Identifier: Apache-2.0 */
/* BLUR: three box passes along each row, then three along each column, each rounded to bytes.
 *
 * Past the ends of its line, a pass reads the line's first or last component. The box reaches mot_blur_radius
 * components to each side, and one more with a smaller weight. */
#ifndef MOT_BLUR_SHAPE_H
#define MOT_BLUR_SHAPE_H

#include "augmentations/ops.h"

#define MOT_BLUR_PASSES 3

#include "kernels/shapes_off.h"
#undef MOT_IF_BLUR
#define MOT_IF_BLUR(ID, stem) \
    case MOT_OP_##ID: \
        return mot_##stem(inner, all, arg);

/* `inner` sums the 2 radius + 1 nearest components, `all` these and the two beyond them. */
MOT_FN uint8_t mot_blur_value(int op, uint32_t inner, uint32_t all, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return 0;
    }
}

#include "kernels/shapes_off.h"

#endif
