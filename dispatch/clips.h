/* SPDX-License-Identifier: Apache-2.0 */
/* Clips: consecutive images of a batch that share statistics. Dense frames of one size, one behind the other, are one
 * image as high as all of them: dispatch/image.c and dispatch/cuda/parts.c resize to such, and for callers' frames
 * mot_clips_image says whether they are. */
#ifndef MOT_CLIPS_H
#define MOT_CLIPS_H

#include "augmentations/ops.h"
#include "augmentations/step.h"
#include "base/error.h"

/* Whether an op needs statistics, which are those of all frames of a clip. */
MOT_FN int mot_op_pools(int op)
{
    return op >= 0 && mot_shape_of(op) == MOTLEY_SHAPE_STATS;
}

/* Requires that `count` images are whole clips of `frames`; with 0 or 1 there are no clips. `alone`, if not NULL, says
 * why clips are refused here, as the end of the message. */
motley_status mot_clips_check(size_t frames, size_t count, const char *alone, motley_error *error);

/* The frames of the clip that begins with image `first`, as one image, whose statistics are those of the clip: each
 * frame is one of its rows, or the frames are one below the other. Ops that use statistics do not depend on where a
 * pixel is. */
motley_status mot_clips_image(const motley_batch *batch, size_t first, size_t frames, motley_image *clip,
                              motley_error *error);

/* Requires that image i draws the ops of image `first`, and the same values where they share statistics. */
motley_status mot_clips_check_steps(size_t i, const mot_step *steps, int count, size_t first,
                                    const mot_step *first_steps, int first_count, motley_error *error);

#endif
