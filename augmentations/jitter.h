/* SPDX-License-Identifier: Apache-2.0 */
/* The ops that a transform's own stages are made of, and what its texts call them: colour jitter (torchvision's
 * ColorJitter, in the order that its permutation numbers them; the last, hue, is no op of the table), grayscale and
 * blur. */
#ifndef MOT_JITTER_H
#define MOT_JITTER_H
#include "augmentations/ops.h"

#define MOT_JITTER_NAMES \
    { \
        "brightness", "contrast", "saturation", "hue" \
    }
#define MOT_JITTER_OPS \
    { \
        MOT_OP_BRIGHTNESS, MOT_OP_CONTRAST, MOT_OP_COLOR \
    }

#define MOT_GRAYSCALE_STAGE "grayscale"
#define MOT_GRAYSCALE_STAGE_OP MOT_OP_GRAYSCALE
#define MOT_BLUR_STAGE_OP MOT_OP_GAUSSIAN_BLUR

#endif
