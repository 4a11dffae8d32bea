/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops one pass over a resident image can do (kernels/cuda/resident.cuh). */
#ifndef MOT_RESIDENT_PASSES_H
#define MOT_RESIDENT_PASSES_H

#include "augmentations/step.h"
#include "motley/image.h"
#include "motley/op.h"

/* What a pass contains so far: nothing that moves pixels; a warp and nothing after it; more. */
typedef enum mot_pass_form { MOT_PASS_POINTWISE, MOT_PASS_WARP, MOT_PASS_FULL } mot_pass_form;

/* A step's shape as a pass sees it: a warp that interpolates reads neighbours, like the stencil. */
MOT_FN int mot_pass_shape(int shape, const mot_step *step)
{
    const int interpolates =
        shape == MOTLEY_SHAPE_WARP && step->interpolation != MOTLEY_NEAREST && !(step->arg.flags & MOT_ARG_WHOLE);
    return interpolates ? MOTLEY_SHAPE_STENCIL : shape;
}

/* Adds an op of this shape to the pass. 0: it does not fit, and begins the next pass. */
MOT_FN int mot_pass_takes(mot_pass_form *form, int shape)
{
    const mot_pass_form before = *form;
    switch (shape) {
    case MOTLEY_SHAPE_STATS:
    case MOTLEY_SHAPE_BLUR: /* in place */
        *form = MOT_PASS_POINTWISE;
        return before == MOT_PASS_POINTWISE;
    case MOTLEY_SHAPE_STENCIL:
        *form = MOT_PASS_FULL;
        return before == MOT_PASS_POINTWISE;
    case MOTLEY_SHAPE_WARP: /* two in a row become one that reads twice */
        *form = before == MOT_PASS_WARP ? MOT_PASS_FULL : MOT_PASS_WARP;
        return before != MOT_PASS_FULL;
    default:
        *form = before == MOT_PASS_WARP ? MOT_PASS_FULL : before;
        return 1;
    }
}

#endif
