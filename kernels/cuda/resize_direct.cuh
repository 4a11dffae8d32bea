/* SPDX-License-Identifier: Apache-2.0 */
/* Pixel by pixel, tap by tap: for everything that the two orders do not take. */
#ifndef MOT_RESIZE_DIRECT_CUH
#define MOT_RESIZE_DIRECT_CUH

#include "kernels/cuda/resize_output.cuh"
#include "kernels/warp.h"

/* A pixel with its colours multiplied by alpha. */
DEVICE uint32_t premultiplied(const resize_tile &t, uint32_t px)
{
    if (!t.axes.opaque) {
        const int alpha = t.src.channels - 1;
        for (int c = 0; c < alpha; c++)
            px = (px & ~(255u << 8 * c)) |
                 (uint32_t)mot_premultiply((uint8_t)byte_of(px, c), (uint8_t)byte_of(px, alpha)) << 8 * c;
    }
    return px;
}

/* The source's pixel (x, y) of the crop. */
DEVICE uint32_t source_pixel(const resize_tile &t, int x, int y)
{
    const uint8_t *const p = t.crop + y * t.src.row + x * t.src.pixel;
    uint32_t px = 0;
    for (int c = 0; c < t.src.channels; c++)
        px |= load_byte(p + c * t.src.channel) << (8 * c);
    return premultiplied(t, px);
}

/* `inner`: the axis of the first pass; `at` [2] is the pixel of the result. */
DEVICE uint32_t resize_pixel(const resize_tile &t, int inner, const int at[2])
{
    const int outer = 1 - inner;
    const axis_table table[2] = { t.columns, t.rows };
    const int32_t inner_outside = weight_outside(table[inner].taps, t.axes.clamps, at[inner]);
    const int32_t outer_outside = weight_outside(table[outer].taps, t.axes.clamps, at[outer]);
    const uint32_t fill = premultiplied(t, fill_of(t));
    int sum[4], start[4];
    for (int c = 0; c < 4; c++) {
        sum[c] = outer_outside * (int)byte_of(fill, c);
        start[c] = inner_outside * (int)byte_of(fill, c);
    }
    for (int u = 0; u < 4 * t.axes.groups[outer]; u++) {
        const int32_t by = weight_of(table[outer].taps, t.axes.clamps, t.out[outer], at[outer], u);
        if (by == 0)
            continue;
        int between[4] = { start[0], start[1], start[2], start[3] };
        for (int v = 0; v < 4 * t.axes.groups[inner]; v++) {
            const int32_t weight = weight_of(table[inner].taps, t.axes.clamps, t.out[inner], at[inner], v);
            if (weight == 0)
                continue;
            int place[2];
            place[outer] = table[outer].first[at[outer]] + u;
            place[inner] = table[inner].first[at[inner]] + v;
            const uint32_t px = source_pixel(t, place[0], place[1]);
            for (int c = 0; c < 4; c++)
                between[c] += weight * (int)byte_of(px, c);
        }
        for (int c = 0; c < 4; c++)
            sum[c] += by * (int)mot_resize_byte(between[c]);
    }
    uint32_t out = 0;
    for (int c = 0; c < 4; c++)
        out |= (uint32_t)mot_resize_byte(sum[c]) << (8 * c);
    const int alpha = t.src.channels - 1;
    for (int c = 0; c < alpha && !t.axes.opaque; c++)
        out = (out & ~(255u << 8 * c)) |
              (uint32_t)mot_unpremultiply((uint8_t)byte_of(out, c), (uint8_t)byte_of(out, alpha)) << 8 * c;
    return out;
}

static __device__ __noinline__ void pixel_by_pixel(const mot_resize_job &job, const resize_tile &t)
{
    for (int64_t i = threadIdx.x; i < (int64_t)t.width * t.height; i += blockDim.x) {
        const int at[2] = { t.x0 + (int)(i % t.width), t.y0 + (int)(i / t.width) };
        const uint32_t px = resize_pixel(t, t.axes.rows_first ? 1 : 0, at);
        if (t.dtype == MOTLEY_U8) {
            for (int c = 0; c < t.dst.channels; c++)
                store_byte(address(t.dst, at[0], at[1]) + c * t.dst.channel, byte_of(px, c));
            continue;
        }
        for (int c = 0; c < t.dst.channels; c++)
            store_value(address(t.dst, at[0], at[1]) + c * t.dst.channel, t.dtype == MOTLEY_F32 ? 4 : 2,
                        value_of(job, t, c, byte_of(px, c)));
    }
}

#endif
