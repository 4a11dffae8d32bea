/* SPDX-License-Identifier: Apache-2.0 */
/* An image in shared memory, laid out without gaps, as in device memory, so that bulk copies load it. */
#ifndef MOT_RESIDENT_IMAGE_CUH
#define MOT_RESIDENT_IMAGE_CUH

#include "kernels/cuda/pixels.cuh"

/* Formats: GREY, RGB and PLANES. */
struct resident_image {
    uint8_t *data;
    int width;        /* pixels */
    int pitch, plane; /* bytes from row to row, and from plane to plane */
};

/* Bytes of a pixel in a row, and the number of planes. */
DEVICE int pixel_bytes(int format)
{
    return format == MOT_FORMAT_RGB ? 3 : 1;
}

DEVICE constexpr int planes_of(int format)
{
    return format == MOT_FORMAT_PLANES ? 3 : 1;
}

/* One pixel of the image. For RGB it reads the two words in which the pixel may lie: there are four spare bytes behind
 * the image. */
template <int FORMAT> DEVICE uint32_t resident_tap(const resident_image &b, int x, int y)
{
    const int row = y * b.pitch;
    if (FORMAT == MOT_FORMAT_RGB) {
        const int at = row + x * 3;
        const uint32_t *const w = (const uint32_t *)(b.data + (at & ~3));
        return __funnelshift_r(w[0], w[1], (at & 3) * 8);
    }
    if (FORMAT == MOT_FORMAT_PLANES) {
        const uint8_t *const p = b.data + row + x;
        return p[0] | (uint32_t)p[b.plane] << 8 | (uint32_t)p[2 * b.plane] << 16;
    }
    return b.data[row + x];
}

#endif
