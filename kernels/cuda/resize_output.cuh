/* SPDX-License-Identifier: Apache-2.0 */
/* Writes results of a resize, four pixels at a time, as the result's type. */
#ifndef MOT_RESIZE_OUTPUT_CUH
#define MOT_RESIZE_OUTPUT_CUH

#include "kernels/cuda/lines.cuh"
#include "kernels/cuda/memory.cuh"
#include "kernels/cuda/resize_tile.cuh"

/* Writes a value of `size` bytes, 2 or 4. */
DEVICE void store_value(uint8_t *to, int size, uint32_t bits)
{
    if (size == 4)
        *(uint32_t *)to = bits;
    else
        *(uint16_t *)to = (uint16_t)bits;
}

DEVICE int store_of(const mot_view &dst, int dtype, int by_lines)
{
    if (dtype == MOTLEY_U8)
        return dst.pixel == 3 && dst.channel == 1 ? STORE_RGB : dst.pixel == 1 ? STORE_BYTES : STORE_ANY;
    const uint32_t size = dtype == MOTLEY_F32 ? 4 : 2;
    const uint32_t all =
        (uint32_t)(uintptr_t)dst.data | (uint32_t)dst.row | (dst.channels > 1 ? (uint32_t)dst.channel : 0);
    return dst.pixel != size || (all & (4 * size - 1)) != 0 ? STORE_ANY
           : size == 4                                      ? STORE_FLOATS
           : !by_lines                                      ? STORE_HALVES
           : dtype == MOTLEY_F16                            ? STORE_F16
                                                            : STORE_BF16;
}

/* A byte as the result's type. */
DEVICE uint32_t value_of(const mot_resize_job &job, const resize_tile &t, int c, uint32_t byte)
{
    if (!job.as.by_lines)
        return resize_values[c][byte];
    const float v = line_value(job.as.line[mot_line_of_band(t.plane + c)], byte, 0);
    return job.as.dtype == MOTLEY_F16 ? two_f16(v, 0) : two_bf16(v, 0);
}

/* The values of four bytes. */
DEVICE void look_up_values(const uint32_t value[256], uint32_t bytes, uint32_t bits[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        bits[i] = value[__byte_perm(bytes, 0, 0x4440 + i)];
}

/* What results are written by: a copy of what each row needs. */
template <int C> struct writer {
    int store; /* resize_tile.store, or STORE_ANY for less than four pixels */
    int64_t channel;
    mot_output_line line[C];
};

template <int C> DEVICE writer<C> writer_of(const mot_resize_job &job, const resize_tile &t, int count)
{
    writer<C> w;
    w.store = count < 4 ? STORE_ANY : t.store;
    w.channel = t.dst.channel;
#pragma unroll
    for (int c = 0; c < C; c++)
        w.line[c] = job.as.line[C == 1 ? mot_line_of_band(t.plane) : c];
    return w;
}

/* Writes four pixels by lines; `byte`: line_byte of each component. */
template <int C> DEVICE void store_lines(const writer<C> &w, uint8_t *p, const float byte[4 * C])
{
    float v[4 * C];
#pragma unroll
    for (int k = 0; k < 4 * C; k++)
        v[k] = on_line(w.line[k / 4], byte[k]);
    uint32_t two[2 * C];
    if (w.store == STORE_F16)
#pragma unroll
        for (int k = 0; k < 2 * C; k++)
            two[k] = two_f16(v[2 * k], v[2 * k + 1]);
    else
#pragma unroll
        for (int k = 0; k < 2 * C; k++)
            two[k] = two_bf16(v[2 * k], v[2 * k + 1]);
#pragma unroll
    for (int c = 0; c < C; c++, p += w.channel)
        store_two_words(p, make_uint2(two[2 * c], two[2 * c + 1]));
}

/* Writes pixels from p on, the first `count` of four; one word of four bytes for each channel. */
template <int C>
DEVICE void store_four(const mot_resize_job &job, const resize_tile &t, const writer<C> &w, uint8_t *p, int count,
                       const uint32_t bytes[C])
{
    const int store = w.store;
    const int64_t channel = w.channel;
    if (store == STORE_F16 || store == STORE_BF16) {
        float byte[4 * C];
#pragma unroll
        for (int k = 0; k < 4 * C; k++)
            byte[k] = line_byte(bytes[k / 4], k % 4);
        store_lines<C>(w, p, byte);
    } else if (store == STORE_HALVES) {
        uint32_t bits[C][4];
#pragma unroll
        for (int c = 0; c < C; c++)
            look_up_values(resize_values[c], bytes[c], bits[c]);
#pragma unroll
        for (int c = 0; c < C; c++, p += channel)
            store_two_words(p, make_uint2(__byte_perm(bits[c][0], bits[c][1], 0x5410),
                                          __byte_perm(bits[c][2], bits[c][3], 0x5410)));
    } else if (C == 3 && store == STORE_RGB && aligned(p, 4)) {
        const uint32_t low = __byte_perm(bytes[0], bytes[1 % C], 0x5140);
        const uint32_t middle = __byte_perm(bytes[1 % C], bytes[2 % C], 0x2051);
        const uint32_t high = __byte_perm(bytes[0], bytes[1 % C], 0x0073);
        store_word(p, __byte_perm(low, bytes[2 % C], 0x2410));
        store_word(p + 4, __byte_perm(middle, bytes[0], 0x3610));
        store_word(p + 8, __byte_perm(bytes[2 % C], high, 0x3542));
    } else {
#pragma unroll
        for (int c = 0; c < C; c++, p += channel) {
            if (store == STORE_BYTES && aligned(p, 4)) {
                store_word(p, bytes[c]);
            } else if (store == STORE_FLOATS) {
                uint32_t bits[4];
                look_up_values(resize_values[c], bytes[c], bits);
                store_four_words(p, make_uint4(bits[0], bits[1], bits[2], bits[3]));
            } else {
#pragma unroll 1
                for (int i = 0; i < min(count, 4); i++) {
                    if (t.dtype == MOTLEY_U8)
                        store_byte(p + i * t.dst.pixel, byte_of(bytes[c], i));
                    else
                        store_value(p + i * t.dst.pixel, t.dtype == MOTLEY_F32 ? 4 : 2,
                                    value_of(job, t, c, byte_of(bytes[c], i)));
                }
            }
        }
    }
}

#endif
