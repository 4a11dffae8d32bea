/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of breaks share: pixels of any layout, and which image a CTA works on. */
#ifndef MOT_BREAKS_PIXELS_CUH
#define MOT_BREAKS_PIXELS_CUH

#include "augmentations/kernel_blur.h"
#include "kernels/cuda/breaks.h"
#include "kernels/cuda/memory.cuh"
#include "kernels/cuda/tuning.h"

/* Whether four pixels of three channels from `p` on are three words: of all channels, or one of each plane. */
DEVICE bool is_words(const mot_view &v, const uint8_t *p, bool planes)
{
    return v.channels == 3 && aligned(p, 4) &&
           (planes ? v.pixel == 1 && v.channel % 4 == 0 : v.pixel == 3 && v.channel == 1);
}

DEVICE void load_pixels(const mot_view &v, int x, int y, uint32_t px[4])
{
    const uint8_t *const p = address(v, x, y);
    const bool whole = x + 4 <= v.width;
    if (whole && is_words(v, p, false)) {
        const uint32_t *const w = (const uint32_t *)p;
        unpack_rgb(w[0], w[1], w[2], px);
    } else if (whole && is_words(v, p, true)) {
        unpack_planes(*(const uint32_t *)p, *(const uint32_t *)(p + v.channel), *(const uint32_t *)(p + 2 * v.channel),
                      px);
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            px[k] = 0;
            for (int c = 0; c < v.channels && x + k < v.width; c++)
                px[k] |= (uint32_t)p[k * v.pixel + c * v.channel] << (8 * c);
        }
    }
}

DEVICE void store_pixels(const mot_view &v, int x, int y, const uint32_t px[4])
{
    uint8_t *const p = address(v, x, y);
    const bool whole = x + 4 <= v.width;
    uint32_t w[3];
    if (whole && is_words(v, p, false)) {
        pack_rgb(px, w);
        for (int k = 0; k < 3; k++)
            ((uint32_t *)p)[k] = w[k];
    } else if (whole && is_words(v, p, true)) {
        pack_planes(px, w);
        for (int k = 0; k < 3; k++)
            *(uint32_t *)(p + k * v.channel) = w[k];
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++)
            for (int c = 0; c < v.channels && x + k < v.width; c++)
                p[k * v.pixel + c * v.channel] = (uint8_t)byte_of(px[k], c);
    }
}

/* CTAs for each image: enough to fill the chip, no more than the largest image has work for. */
static int64_t ctas_of(int count, int64_t work, int multiprocessors)
{
    const int64_t fair = ((int64_t)multiprocessors * MOT_BREAK_CTAS + count - 1) / count;
    return work < 1 ? 1 : work < fair ? work : fair;
}

/* The image of a CTA, and which of the image's CTAs it is. */
struct cta_range {
    int image, first, step;
};

DEVICE cta_range cta_range_of(int count)
{
    const int ctas = gridDim.x / count, image = blockIdx.x / ctas;
    return cta_range{ image, (int)blockIdx.x - image * ctas, ctas };
}

DEVICE int kind_of(const mot_step &step)
{
    return step.arg.flags & MOT_ARG_IDENTITY ? 0 : mot_break_of(step.op);
}

struct four {
    alignas(16) float v[4];
};

/* Pixel i of n, mirrored into the image. Far outside, where the result is not used, it may be any pixel. */
DEVICE int inside(int i, int n)
{
    const int mirrored = mot_mirror(i, n);
    return mirrored < 0 ? 0 : mirrored >= n ? n - 1 : mirrored;
}

#endif
