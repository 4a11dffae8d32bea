/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing: what AugMix does with the chains of ops that it applies to one image. Steps of a draw (MOTLEY_STEP_MIX_*),
 * not ops of the table: they read images that only the whole draw knows.
 *
 * Matches  timm's AugMixAugment, both forms (NumPy's binary32 for sums, Pillow's Image.blend); the
 *          mixing of torchvision's AugMix.
 * Paper    AugMix, Hendrycks et al. 2019, arXiv:1912.02781. */
#ifndef MOT_AUGMIX_H
#define MOT_AUGMIX_H
#include "augmentations/op.h"
#include "motley/apply.h"

#define MOT_AUGMIX_COST 1500 /* picoseconds a pixel, as in mot_op_facts */

/* Whether a step mixes: it ends a chain, or blends with the sum. */
MOT_FN int mot_step_mixes(int op)
{
    return op <= MOTLEY_STEP_MIX_ADD && op >= MOTLEY_STEP_MIX_SUM;
}

/* Adds one more chain to a sum of chains. Two roundings. */
MOT_FN float mot_mix_add(float sum, mot_u8 chain, float weight)
{
#ifdef __CUDA_ARCH__
    const float product = weight * (mot_above(chain) - 8388608.0f);
#else
    const float product = weight * (float)chain;
#endif
    return sum + product;
}

/* Converts a sum to a byte: clamped to 0..255, then truncated. */
MOT_FN uint8_t mot_mix_byte(float sum)
{
#ifdef __CUDA_ARCH__
    return mot_byte(sum); /* clamps after rounding down, which is the same */
#else
    const float above = sum > 0.0f ? sum : 0.0f;
    return (uint8_t)(int)(above < 255.0f ? above : 255.0f);
#endif
}

#endif
