/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a transform's stages, and their names in its text: colour jitter (numbered as in the permutation of
 * torchvision's ColorJitter; the last, hue, is not an op of the table), grayscale and blur. */
#ifndef MOT_JITTER_H
#define MOT_JITTER_H
#include "augmentations/ops.h"

#define MOT_JITTER_BRIGHTNESS "brightness"
#define MOT_JITTER_CONTRAST "contrast"
#define MOT_JITTER_SATURATION "saturation"
#define MOT_JITTER_HUE "hue"
#define MOT_JITTER_OPS \
    { \
        MOT_OP_BRIGHTNESS, MOT_OP_CONTRAST, MOT_OP_COLOR \
    }

#define MOT_GRAYSCALE_STAGE "grayscale"
#define MOT_GRAYSCALE_STAGE_OP MOT_OP_GRAYSCALE
#define MOT_BLUR_STAGE_OP MOT_OP_GAUSSIAN_BLUR /* by a radius; by a kernel it is MOTLEY_STEP_KERNEL_BLUR */

/* Whether an op of the table is one of a jitter's changes. */
MOT_FN int mot_is_change(int op)
{
    const int ops[] = MOT_JITTER_OPS;
    int is = 0;
    for (int i = 0; i < (int)(sizeof ops / sizeof *ops); i++)
        is |= op == ops[i];
    return is;
}

/* Prepares one of these ops, which takes one value or none. It also runs on the device. */
MOT_FN void mot_stage_op_prepare(int op, double value, mot_arg *arg)
{
    switch (op) {
    case MOT_OP_BRIGHTNESS:
        mot_brightness_prepare(&value, 1, arg);
        break;
    case MOT_OP_CONTRAST:
        mot_contrast_prepare(&value, 1, arg);
        break;
    case MOT_OP_COLOR:
        mot_color_prepare(&value, 1, arg);
        break;
    case MOT_OP_GAUSSIAN_BLUR:
        mot_gaussian_blur_prepare(&value, 1, arg);
        break;
    default:
        mot_grayscale_prepare(&value, 0, arg);
        break;
    }
}

#endif
