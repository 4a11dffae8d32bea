/* SPDX-License-Identifier: Apache-2.0 */
/* Spatial ops: warps and the stencil, four output pixels at a time, from any source of taps. */
#ifndef MOT_SPATIAL_CUH
#define MOT_SPATIAL_CUH

#include "kernels/cuda/box.cuh"
#include "kernels/cuda/chain.cuh"
#include "kernels/stencil.h"
#include "kernels/warp.h"

template <int FORMAT> struct box_taps {
    const box &from;
    __device__ __forceinline__ uint32_t operator()(int x, int y) const
    {
        return box_tap<FORMAT>(from, x, y);
    }
};

/* Alpha of an interpolated image. */
DEVICE uint32_t premultiplied(uint32_t word, int channels)
{
    const int colors = mot_color_channels(channels);
    const uint8_t alpha = (uint8_t)byte_of(word, colors);
    uint32_t out = (uint32_t)alpha << (8 * colors);
    for (int c = 0; c < colors; c++)
        out |= (uint32_t)mot_premultiply((uint8_t)byte_of(word, c), alpha) << (8 * c);
    return out;
}

DEVICE uint32_t unpremultiplied(uint32_t word, int channels)
{
    const int colors = mot_color_channels(channels);
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

/* The sums of the bytes of three rows in 16 bits each, for each of four neighbouring bytes. */
DEVICE word_sum sum_of_three(const uint8_t *middle, int pitch, int at)
{
    word_sum s = add_word(word_sum{ 0, 0 }, *(const uint32_t *)(middle + at));
    s = add_word(s, *(const uint32_t *)(middle + at - pitch));
    return add_word(s, *(const uint32_t *)(middle + at + pitch));
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

/* WORDS words of a row in shared memory, from byte `at` on, whose neighbours are STEP (1 or 3) bytes apart. Pixels are
 * not unpacked: the sums of columns are shifted by STEP bytes and added. Bytes without a left or right neighbour are
 * left as they are. */
template <int OP, int STEP, int WORDS>
DEVICE void stencil_words_of(const mot_arg *arg, const uint8_t *row, int pitch, int at, uint32_t *out)
{
    const bool first = at == 0, last = at + 4 * WORDS >= pitch; /* past the row's ends the values are not used */
    word_sum left = sum_of_three(row, pitch, first ? at : at - 4), here = sum_of_three(row, pitch, at), right;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
        right = sum_of_three(row, pitch, w == WORDS - 1 && last ? at : at + 4 * w + 4);
        out[w] = stencil_word<OP>(arg, *(const uint32_t *)(row + at + 4 * w), sum_beside<STEP>(left, here, right));
        left = here, here = right;
    }
    const uint32_t low = STEP == 3 ? 0x00FFFFFFu : 0x000000FFu; /* a pixel's bytes in the first word, and in the last */
    const uint32_t high = STEP == 3 ? 0xFFFFFF00u : 0xFF000000u;
    if (first)
        out[0] = (out[0] & ~low) | (*(const uint32_t *)row & low);
    if (last)
        out[WORDS - 1] = (out[WORDS - 1] & ~high) | (*(const uint32_t *)(row + pitch - 4) & high);
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STENCIL
#define MOT_IF_STENCIL(ID, stem) \
    case MOT_OP_##ID: \
        stencil_words_of<MOT_OP_##ID, STEP, WORDS>(arg, row, pitch, at, out); \
        break;
template <int STEP, int WORDS>
DEVICE void stencil_words(int op, const mot_arg *arg, const uint8_t *row, int pitch, int at, uint32_t *out)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
}
#include "kernels/shapes_off.h"

#endif
