/* SPDX-License-Identifier: Apache-2.0 */
/* Permute: puts red, green and blue in another order. It is a stage's step (MOTLEY_STEP_PERMUTE), not an op of the
 * table, for the reason that hue.h gives.
 *
 * Value    0..5, the orders as a dictionary lists them.
 * Matches  torchvision permute_channels. */
#ifndef MOT_PERMUTE_H
#define MOT_PERMUTE_H
#include "augmentations/op.h"

#define MOT_PERMUTATIONS 6

/* The channel whose values channel c gets. */
MOT_FN int mot_permuted(int order, int c)
{
    const int first = order / 2;
    const int low = first == 0 ? 1 : 0, high = first == 2 ? 1 : 2; /* the other two */
    return c == 0 ? first : (c == 1) == (order % 2 == 0) ? low : high;
}

/* The order as a selector of a pixel's bytes, whose fourth stays where it is. */
MOT_FN uint32_t mot_permuting_bytes(int order)
{
    return 0x3000u | (uint32_t)mot_permuted(order, 2) << 8 | (uint32_t)mot_permuted(order, 1) << 4 |
           (uint32_t)mot_permuted(order, 0);
}

#endif
