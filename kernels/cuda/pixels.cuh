/* SPDX-License-Identifier: Apache-2.0 */
/* Four neighbouring pixels between memory and registers. A pixel is a word, its first channel in the lowest byte; bytes
 * past the last channel hold anything. */
#ifndef MOT_PIXELS_CUH
#define MOT_PIXELS_CUH

#include "kernels/cuda/job.h"

#define DEVICE static __device__ __forceinline__


DEVICE mot_view view_of(const mot_cuda_batch &batch, int channels, int i)
{
    if (batch.images) {
        const motley_image image = batch.images[i];
        return mot_view{ (uint8_t *)image.data, image.width,        image.height,        channels,
                         image.row_stride,      image.pixel_stride, image.channel_stride };
    }
    return mot_view{ batch.data + i * batch.image, batch.width, batch.height, channels, batch.row, batch.pixel,
                     batch.channel };
}

DEVICE int channels_of(int format, const mot_view &v)
{
    return format == MOT_FORMAT_GREY ? 1 : format == MOT_FORMAT_RGBA ? 4 : format == MOT_FORMAT_STRIDED ? v.channels : 3;
}

DEVICE uint8_t *address(const mot_view &v, int x, int y)
{
    return v.data + y * v.row + x * v.pixel;
}

/* One pixel, byte by byte; any strides. */
template <int FORMAT> DEVICE uint32_t fetch_one(const mot_view &v, int x, int y)
{
    const uint8_t *p = address(v, x, y);
    uint32_t word = 0;
#pragma unroll
    for (int c = 0; c < 4; c++)
        if (c < channels_of(FORMAT, v))
            word |= (uint32_t)p[c * v.channel] << (8 * c);
    return word;
}

template <int FORMAT> DEVICE void store_one(const mot_view &v, int x, int y, uint32_t word)
{
    uint8_t *p = address(v, x, y);
#pragma unroll
    for (int c = 0; c < 4; c++)
        if (c < channels_of(FORMAT, v))
            p[c * v.channel] = (uint8_t)(word >> (8 * c));
}

DEVICE bool aligned(const void *p, uintptr_t to)
{
    return ((uintptr_t)p & (to - 1)) == 0;
}

DEVICE uint32_t byte_of(uint32_t word, int c)
{
    return word >> (8 * c) & 0xFF;
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

/* Pixels (x .. x + 3, y); those past the right edge come out as 0. */
template <int FORMAT> DEVICE void fetch(const mot_view &v, int x, int y, uint32_t px[4])
{
    const uint8_t *p = address(v, x, y);
    if (x + 4 <= v.width) {
        if (FORMAT == MOT_FORMAT_RGB && aligned(p, 4)) {
            const uint32_t *w = (const uint32_t *)p;
            unpack_rgb(w[0], w[1], w[2], px);
            return;
        }
        if (FORMAT == MOT_FORMAT_PLANES && aligned(p, 4) && (v.channel & 3) == 0) {
            unpack_planes(*(const uint32_t *)p, *(const uint32_t *)(p + v.channel), *(const uint32_t *)(p + 2 * v.channel),
                          px);
            return;
        }
        if (FORMAT == MOT_FORMAT_GREY && aligned(p, 4)) {
            unpack_grey(*(const uint32_t *)p, px);
            return;
        }
        if (FORMAT == MOT_FORMAT_RGBA && aligned(p, 16)) {
            const uint4 w = *(const uint4 *)p;
            px[0] = w.x, px[1] = w.y, px[2] = w.z, px[3] = w.w;
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        px[i] = x + i < v.width ? fetch_one<FORMAT>(v, x + i, y) : 0;
}

/* The same, from a source whose format may be STRIDED instead. */
template <int FORMAT> DEVICE void fetch_from(const mot_view &v, bool strided, int x, int y, uint32_t px[4])
{
    if (FORMAT != MOT_FORMAT_STRIDED && strided)
        fetch<MOT_FORMAT_STRIDED>(v, x, y, px);
    else
        fetch<FORMAT>(v, x, y, px);
}

/* Writes each lane's pixels (x .. x + 3, y), cut at the right edge; whole warps call it. A lane with x < 0 has none.
 * Lanes 4k .. 4k + 3 hold neighbouring pixels of a row, so that RGB, gathered in `stage` (MOT_STAGE_BYTES of the
 * warp's own), leaves in 16-byte pieces. */
template <int FORMAT> DEVICE void flush(const mot_view &v, int x, int y, const uint32_t px[4], uint32_t *stage)
{
    uint8_t *p = address(v, x, y);
    const bool whole = x >= 0 && x + 4 <= v.width;
    bool done = x < 0;
    if (FORMAT == MOT_FORMAT_RGB) {
        const int lane = threadIdx.x & 31;
        /* A group of four lanes leaves together when it is whole and aligned. */
        const unsigned fit = __ballot_sync(0xFFFFFFFFu, whole && aligned(p - 12 * (lane & 3), 16));
        const bool together = (fit >> (lane & ~3) & 0xF) == 0xF;
        pack_rgb(px, stage + 3 * lane);
        __syncwarp();
        const int piece = lane < 24 ? lane : 0, leader = piece / 3 * 4; /* 16-byte piece of the group of lane `leader` */
        uint8_t *const base = (uint8_t *)__shfl_sync(0xFFFFFFFFu, (unsigned long long)p, leader);
        if (lane < 24 && (fit >> leader & 0xF) == 0xF)
            *(uint4 *)(base + 16 * (piece % 3)) = ((const uint4 *)stage)[piece];
        if (!together && whole && aligned(p, 4)) {
#pragma unroll
            for (int i = 0; i < 3; i++)
                ((uint32_t *)p)[i] = stage[3 * lane + i];
            done = true;
        }
        done |= together;
        __syncwarp();
    } else if (FORMAT == MOT_FORMAT_PLANES && whole && aligned(p, 4) && (v.channel & 3) == 0) {
        uint32_t w[3];
        pack_planes(px, w);
#pragma unroll
        for (int c = 0; c < 3; c++)
            *(uint32_t *)(p + c * v.channel) = w[c];
        done = true;
    } else if (FORMAT == MOT_FORMAT_GREY && whole && aligned(p, 4)) {
        *(uint32_t *)p = pack_grey(px);
        done = true;
    } else if (FORMAT == MOT_FORMAT_RGBA && whole && aligned(p, 16)) {
        *(uint4 *)p = make_uint4(px[0], px[1], px[2], px[3]);
        done = true;
    }
    if (!done) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (x + i < v.width)
                store_one<FORMAT>(v, x + i, y, px[i]);
    }
}

/* Whether all of a tile's RGB leaves in 16-byte pieces at 32-bit offsets. */
template <int FORMAT> DEVICE bool leaves_in_pieces(const mot_view &v, int tile_right)
{
    return FORMAT == MOT_FORMAT_RGB && aligned(v.data, 16) && (v.row & 15) == 0 && (tile_right & 15) == 0 &&
           v.row * v.height < 0x7FFFFFFF && v.row > 0;
}

/* flush() for such a tile. */
DEVICE void flush_pieces(const mot_view &v, int x, int y, const uint32_t px[4], uint32_t *stage)
{
    const int lane = threadIdx.x & 31;
    pack_rgb(px, stage + 3 * lane);
    __syncwarp();
    const int piece = lane < 24 ? lane : 0, leader = piece / 3 * 4;
    const int offset = __shfl_sync(0xFFFFFFFFu, x < 0 ? -1 : y * (int)v.row + 3 * x, leader);
    if (lane < 24 && offset >= 0)
        *(uint4 *)(v.data + offset + 16 * (piece - leader / 4 * 3)) = ((const uint4 *)stage)[piece];
    __syncwarp();
}

/* Writes a motley_output of any type and any strides: each byte as what `table` [channels][256] has for it. */
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
