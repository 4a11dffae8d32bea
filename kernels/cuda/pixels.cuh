/* SPDX-License-Identifier: Apache-2.0 */
/* Four neighbouring pixels between memory and registers. A pixel is a word, with its first channel in the lowest byte;
 * the bytes past the last channel are undefined. */
#ifndef MOT_PIXELS_CUH
#define MOT_PIXELS_CUH

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/job.h"

/* An image with all its channels. */
DEVICE mot_view image_of(const mot_cuda_batch &batch, const motley_image *images, int channels, int i)
{
    if (images) {
        const motley_image image = images[i];
        return mot_view{ (uint8_t *)image.data, image.width,        image.height,        channels, 0,
                         image.row_stride,      image.pixel_stride, image.channel_stride };
    }
    return mot_view{
        batch.data + i * batch.image, batch.width, batch.height, channels, 0, batch.row, batch.pixel, batch.channel
    };
}

DEVICE mot_view image_of(const mot_cuda_batch &batch, int channels, int i)
{
    return image_of(batch, batch.images, channels, i);
}

/* What a kernel that runs steps works on: an image, or one of its bands. */
DEVICE mot_view view_of(const mot_cuda_batch &batch, const motley_image *images, int channels, int i)
{
    const int band = mot_band_of(&batch, i);
    mot_view view = image_of(batch, images, channels, i - band * batch.samples);
    view.data += band * view.channel;
    return view;
}

DEVICE mot_view view_of(const mot_cuda_batch &batch, int channels, int i)
{
    return view_of(batch, batch.images, channels, i);
}

DEVICE int channels_of(int format, const mot_view &v)
{
    return format == MOT_FORMAT_GREY      ? 1
           : format == MOT_FORMAT_RGBA    ? 4
           : format == MOT_FORMAT_STRIDED ? v.channels
                                          : 3;
}

DEVICE uint8_t *address(const mot_view &v, int x, int y)
{
    return v.data + y * v.row + x * v.pixel;
}

DEVICE bool aligned(const void *p, uintptr_t to)
{
    return ((uintptr_t)p & (to - 1)) == 0;
}

/* Four pixels from the words of a format, and back. */
DEVICE void unpack_rgb(uint32_t a, uint32_t b, uint32_t c, uint32_t px[4])
{
    px[0] = a;
    px[1] = __byte_perm(a, b, 0x6543);
    px[2] = __byte_perm(b, c, 0x5432);
    px[3] = c >> 8;
}

DEVICE void pack_rgb(const uint32_t px[4], uint32_t w[3])
{
    w[0] = __byte_perm(px[0], px[1], 0x4210);
    w[1] = __byte_perm(px[1], px[2], 0x5421);
    w[2] = __byte_perm(px[2], px[3], 0x6542);
}

/* One word for each channel of four pixels. */
DEVICE void split_rgb(const uint32_t w[3], uint32_t of[3])
{
    of[0] = __byte_perm(__byte_perm(w[0], w[1], 0x0630), w[2], 0x5210);
    of[1] = __byte_perm(__byte_perm(w[0], w[1], 0x0741), w[2], 0x6210);
    of[2] = __byte_perm(__byte_perm(w[0], w[1], 0x0052), w[2], 0x7410);
}

DEVICE void unpack_planes(uint32_t r, uint32_t g, uint32_t b, uint32_t px[4])
{
    const uint32_t low = __byte_perm(r, g, 0x5140), high = __byte_perm(r, g, 0x7362);
    px[0] = __byte_perm(low, b, 0x4410);
    px[1] = __byte_perm(low, b, 0x5532);
    px[2] = __byte_perm(high, b, 0x6610);
    px[3] = __byte_perm(high, b, 0x7732);
}

DEVICE void pack_planes(const uint32_t px[4], uint32_t w[3])
{
    const uint32_t a = __byte_perm(px[0], px[1], 0x5140), b = __byte_perm(px[2], px[3], 0x5140);
    w[0] = __byte_perm(a, b, 0x5410);
    w[1] = __byte_perm(a, b, 0x7632);
    w[2] = __byte_perm(__byte_perm(px[0], px[1], 0x0062), __byte_perm(px[2], px[3], 0x0062), 0x5410);
}

DEVICE void unpack_grey(uint32_t w, uint32_t px[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        px[i] = w >> (8 * i) & 0xFF;
}

DEVICE uint32_t pack_grey(const uint32_t px[4])
{
    return __byte_perm(__byte_perm(px[0], px[1], 0x0040), __byte_perm(px[2], px[3], 0x0040), 0x5410);
}

template <int FORMAT> DEVICE void unpack_words(const uint32_t w[4], uint32_t px[4])
{
    if (FORMAT == MOT_FORMAT_RGB)
        unpack_rgb(w[0], w[1], w[2], px);
    else if (FORMAT == MOT_FORMAT_PLANES)
        unpack_planes(w[0], w[1], w[2], px);
    else if (FORMAT == MOT_FORMAT_GREY)
        unpack_grey(w[0], px);
    else
#pragma unroll
        for (int i = 0; i < 4; i++)
            px[i] = w[i];
}

/* For GREY, RGB and PLANES. */
template <int FORMAT> DEVICE void pack_words(const uint32_t px[4], uint32_t w[3])
{
    if (FORMAT == MOT_FORMAT_RGB)
        pack_rgb(px, w);
    else if (FORMAT == MOT_FORMAT_PLANES)
        pack_planes(px, w);
    else
        w[0] = pack_grey(px);
}

/* Writes a motley_output of any type and strides; `table` [channels][256] has the output's value for each byte. */
DEVICE void store_output(const mot_view &out, int dtype, const uint32_t (*table)[256], int x, int y,
                         const uint32_t px[4])
{
    for (int c = 0; c < out.channels; c++) {
        uint8_t *p = address(out, x, y) + c * out.channel;
        uint32_t bits[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            bits[i] = table[c][byte_of(px[i], c)];
        const bool whole = x + 4 <= out.width;
        if (dtype == MOTLEY_F32 && out.pixel == 4 && whole && aligned(p, 16)) {
            *(uint4 *)p = make_uint4(bits[0], bits[1], bits[2], bits[3]);
            continue;
        }
        if (dtype >= MOTLEY_F16 && out.pixel == 2 && whole && aligned(p, 8)) {
            *(uint2 *)p = make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
            continue;
        }
#pragma unroll
        for (int i = 0; i < 4; i++, p += out.pixel) {
            if (x + i >= out.width)
                break;
            if (dtype == MOTLEY_F32)
                *(uint32_t *)p = bits[i];
            else if (dtype == MOTLEY_U8)
                *p = (uint8_t)bits[i];
            else
                *(uint16_t *)p = (uint16_t)bits[i];
        }
    }
}

#endif
