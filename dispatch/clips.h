/* SPDX-License-Identifier: Apache-2.0 */
/* Clips: consecutive images that share statistics. */
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

/* Requires that image i draws the ops of image `first`, and the same values where they share statistics. */
motley_status mot_clips_check_steps(size_t i, const mot_step *steps, int count, size_t first,
                                    const mot_step *first_steps, int first_count, motley_error *error);

#endif
