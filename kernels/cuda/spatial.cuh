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

/* The image itself, for warps that read too far apart to be held in shared memory. */
template <int FORMAT> struct image_taps {
    const mot_view &view;
    const chain &before;
    int items;
    bool premultiply, strided;
    __device__ __forceinline__ uint32_t operator()(int x, int y) const;
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

template <int FORMAT> __device__ __forceinline__ uint32_t image_taps<FORMAT>::operator()(int x, int y) const
{
    const int channels = channels_of(FORMAT, view);
    uint32_t px[4] = { strided ? fetch_one<MOT_FORMAT_STRIDED>(view, x, y) : fetch_one<FORMAT>(view, x, y) };
    apply_chain<FORMAT>(before, items, channels, x, y, px);
    return premultiply ? premultiplied(px[0], channels) : px[0];
}

template <class TAPS>
DEVICE void warp_fixed(const mot_warp_plan &plan, const TAPS &taps, uint32_t fill, int x, int y, uint32_t px[4])
{
    uint32_t fx = plan.fixed[2] + (uint32_t)x * plan.fixed[0] + (uint32_t)y * plan.fixed[1];
    uint32_t fy = plan.fixed[5] + (uint32_t)x * plan.fixed[3] + (uint32_t)y * plan.fixed[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int in_x = (int32_t)fx >> 16, in_y = (int32_t)fy >> 16;
        px[i] = (uint32_t)in_x < (uint32_t)plan.width && (uint32_t)in_y < (uint32_t)plan.height ? taps(in_x, in_y)
                                                                                                : fill;
        fx += plan.fixed[0];
        fy += plan.fixed[3];
    }
}

/* Sums of bytes 0 and 2, and of bytes 1 and 3, side by side in 16 bits each. */
struct word_sum {
    uint32_t even, odd;
};

DEVICE word_sum add_word(word_sum s, uint32_t word)
{
    return word_sum{ s.even + (word & 0x00FF00FFu), s.odd + __byte_perm(word, 0, 0x4341) };
}

/* The sums of three rows' bytes in 16 bits each, where they are taken for four neighbouring bytes. */
DEVICE word_sum sum_of_three(const uint8_t *middle, int pitch, int at)
{
    word_sum s = add_word(word_sum{ 0, 0 }, *(const uint32_t *)(middle + at));
    s = add_word(s, *(const uint32_t *)(middle + at - pitch));
    return add_word(s, *(const uint32_t *)(middle + at + pitch));
}

/* WORDS words of a row that lies in shared memory, from byte `at` on, neighbours STEP bytes (1 or 3) apart: in place of
 * unpacking pixels, the sums of columns are moved by STEP bytes and added. Bytes without a left or right neighbour come
 * out as they are. */
template <int OP, int STEP, int WORDS>
DEVICE void stencil_words_of(const mot_arg *arg, const uint8_t *row, int pitch, int at, uint32_t *out)
{
    const bool first = at == 0, last = at + 4 * WORDS >= pitch; /* anything of the row will do past its ends */
    word_sum left = sum_of_three(row, pitch, first ? at : at - 4), here = sum_of_three(row, pitch, at), right;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
        right = sum_of_three(row, pitch, w == WORDS - 1 && last ? at : at + 4 * w + 4);
        uint32_t even, odd;
        if (STEP == 3) {
            even = here.even + left.odd + __byte_perm(here.odd, right.odd, 0x5432);
            odd = here.odd + __byte_perm(left.even, here.even, 0x5432) + right.even;
        } else {
            even = here.even + __byte_perm(left.odd, here.odd, 0x5432) + here.odd;
            odd = here.odd + here.even + __byte_perm(here.even, right.even, 0x5432);
        }
        const uint32_t v = *(const uint32_t *)(row + at + 4 * w);
        out[w] = __byte_perm(mot_stencil_pair(OP, v & 0x00FF00FFu, even, arg),
                             mot_stencil_pair(OP, __byte_perm(v, 0, 0x4341), odd, arg), 0x6240);
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

/* The pixels x - 1 .. x + 4 of a row, x a multiple of four; at the image's edges anything. */
template <int FORMAT> DEVICE void row_of_six(const box_taps<FORMAT> &taps, int x, int y, int width, uint32_t px[6])
{
    px[0] = taps(max(x - 1, taps.from.x0), y);
    box_read<FORMAT>(taps.from, x, y, px + 1);
    px[5] = taps(min(x + 4, width - 1), y);
}

template <int FORMAT> DEVICE void row_of_six(const image_taps<FORMAT> &taps, int x, int y, int width, uint32_t px[6])
{
    for (int i = 0; i < 6; i++)
        px[i] = taps(mot_warp_clamp(x - 1 + i, width), y);
}

template <class TAPS>
DEVICE void stencil_quad(const TAPS &taps, int op, const mot_arg *arg, int colors, int width, int height, int x, int y,
                         uint32_t px[4])
{
    uint32_t middle[6], other[6];
    word_sum column[6];
    row_of_six(taps, x, y, width, middle);
#pragma unroll
    for (int i = 0; i < 6; i++)
        column[i] = add_word(word_sum{ 0, 0 }, middle[i]);
    row_of_six(taps, x, max(y - 1, 0), width, other);
#pragma unroll
    for (int i = 0; i < 6; i++)
        column[i] = add_word(column[i], other[i]);
    row_of_six(taps, x, min(y + 1, height - 1), width, other);
#pragma unroll
    for (int i = 0; i < 6; i++)
        column[i] = add_word(column[i], other[i]);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t v = middle[i + 1];
        const uint32_t even = column[i].even + column[i + 1].even + column[i + 2].even;
        const uint32_t odd = column[i].odd + column[i + 1].odd + column[i + 2].odd;
        uint32_t out = v & (colors == 3 ? 0xFF000000u : 0xFFFFFF00u);
        out |= mot_stencil_value(op, (uint8_t)v, even & 0xFFFF, arg);
        if (colors == 3) {
            out |= (uint32_t)mot_stencil_value(op, (uint8_t)byte_of(v, 1), odd & 0xFFFF, arg) << 8;
            out |= (uint32_t)mot_stencil_value(op, (uint8_t)byte_of(v, 2), even >> 16, arg) << 16;
        }
        const bool edge = x + i == 0 || x + i >= width - 1 || y == 0 || y == height - 1;
        px[i] = edge ? v : out;
    }
}

#endif
