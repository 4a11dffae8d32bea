/* SPDX-License-Identifier: Apache-2.0 */
/* Hue as the GPU computes it, for test_hue.c. */
#define MOT_HUE_RECIPROCALS
#include "augmentations/hue.h"

void turn_by_reciprocals(uint8_t pixel[3], uint8_t value);

void turn_by_reciprocals(uint8_t pixel[3], uint8_t value)
{
    mot_hue(&pixel[0], &pixel[1], &pixel[2], value);
}
