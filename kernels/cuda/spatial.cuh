/* SPDX-License-Identifier: Apache-2.0 */
/* Spatial ops: warps and the stencil, four output pixels at a time, from any source of taps. */
#ifndef MOT_SPATIAL_CUH
#define MOT_SPATIAL_CUH

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/resident_image.cuh"
#include "kernels/stencil.h"
#include "kernels/warp.h"

template <int FORMAT> struct resident_taps {
    const resident_image &from;
    __device__ __forceinline__ uint32_t operator()(int x, int y) const
    {
        return resident_tap<FORMAT>(from, x, y);
    }
};

/* Alpha of an interpolated image. */
DEVICE uint32_t premultiplied(uint32_t word, int channels)
{
    const int colors = mot_cuda_colors(channels);
    const uint8_t alpha = (uint8_t)byte_of(word, colors);
    uint32_t out = (uint32_t)alpha << (8 * colors);
    for (int c = 0; c < colors; c++)
        out |= (uint32_t)mot_premultiply((uint8_t)byte_of(word, c), alpha) << (8 * c);
    return out;
}

DEVICE uint32_t unpremultiplied(uint32_t word, int channels)
{
    const int colors = mot_cuda_colors(channels);
    const uint8_t alpha = (uint8_t)byte_of(word, colors);
    uint32_t out = (uint32_t)alpha << (8 * colors);
    for (int c = 0; c < colors; c++)
        out |= (uint32_t)mot_unpremultiply((uint8_t)byte_of(word, c), alpha) << (8 * c);
    return out;
}

/* Sums of bytes 0 and 2, and of bytes 1 and 3, side by side in 16 bits each. */
struct word_sum {
    uint32_t even, odd;
};

DEVICE word_sum add_word(word_sum s, uint32_t word)
{
    return word_sum{ s.even + (word & 0x00FF00FFu), s.odd + __byte_perm(word, 0, 0x4341) };
}

DEVICE word_sum both_sums(word_sum a, word_sum b)
{
    return word_sum{ a.even + b.even, a.odd + b.odd };
}

/* The sums of a word's bytes and of those STEP (1 or 3) bytes to the left and to the right, from the words' bytes, or
 * from sums of them. */
template <int STEP> DEVICE word_sum sum_beside(word_sum left, word_sum here, word_sum right)
{
    if (STEP == 3)
        return word_sum{ here.even + left.odd + __byte_perm(here.odd, right.odd, 0x5432),
                         here.odd + __byte_perm(left.even, here.even, 0x5432) + right.even };
    return word_sum{ here.even + __byte_perm(left.odd, here.odd, 0x5432) + here.odd,
                     here.odd + here.even + __byte_perm(here.even, right.even, 0x5432) };
}

/* Four components, and for each of them the sum of nine. */
template <int OP> DEVICE uint32_t stencil_word(const mot_arg *arg, uint32_t word, word_sum sum)
{
    return __byte_perm(mot_stencil_pair(OP, word & 0x00FF00FFu, sum.even, arg),
                       mot_stencil_pair(OP, __byte_perm(word, 0, 0x4341), sum.odd, arg), 0x6240);
}

#endif
