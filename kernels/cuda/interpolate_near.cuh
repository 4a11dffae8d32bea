/* SPDX-License-Identifier: Apache-2.0 */
/* Warps that interpolate, in binary32, whose error is bounded: a result too near a whole number is in doubt, and has to
 * be made in binary64 (interpolate.cuh). As kernels/between_plane_cpu.h does, which all but alpha takes. */
#ifndef MOT_INTERPOLATE_NEAR_CUH
#define MOT_INTERPOLATE_NEAR_CUH

#include "kernels/cuda/device.cuh"
#include "kernels/warp.h"

/* Where outputs of a tile read along one axis, counted as mot_warp_position does, from the tile's corner on: 2^32 times
 * the part behind the point, and what tells the whole part when that is known. */
struct near_axis {
    uint32_t across, down, at;
    float near_across, near_down, near_at;
    int far;    /* positions are too far from each other, or from the image */
    int single; /* neighbours along this axis read neighbouring positions, which are not far away */
    int whole;  /* moreover, all outputs read components, `beyond` their own */
    int32_t beyond;
};

/* How far from a whole number a result has to be to be trusted. Positions are wrong by 2^-23, and so are results by up
 * to 6e-5, and by 1.2e-4 for bicubic; with weights and sums by 1.2e-4 and 4e-4. */
#define MOT_DOUBT_LINEAR (1.5f * 0x1p-13f)
#define MOT_DOUBT_CUBIC 0x1p-11f

/* Of the tile whose corner is (x, y); axis: 0 for x, 1 for y. */
DEVICE void find_near_axis(const double *m, int axis, int x, int y, near_axis *a)
{
    const double at = ((m[0] * (x + 0.5) + m[1] * (y + 0.5)) + m[2]) - 0.5;
    a->across = (uint32_t)(int64_t)rint(m[0] * 0x1p32);
    a->down = (uint32_t)(int64_t)rint(m[1] * 0x1p32);
    a->at = (uint32_t)(int64_t)rint(at * 0x1p32) + 256; /* 9 bits are cut off */
    a->near_across = (float)m[0], a->near_down = (float)m[1], a->near_at = (float)at;
    a->far = fabs(m[0]) > 4 || fabs(m[1]) > 4 || fabs(at) > 0x1p18;
    a->single = !a->far && fabs(at) < 0x1p15 && m[axis] == 1;
    a->whole = a->single && m[1 - axis] == 0 && m[2] == floor(m[2]);
    a->beyond = a->whole ? (int32_t)m[2] : 0;
}

/* The component left of a position, and the distance `d` from it. The output is `column` and `row` from the tile's
 * corner. */
DEVICE int near_position(const near_axis &a, int column, int row, float *d)
{
    const uint32_t part = a.at + a.across * (uint32_t)column + a.down * (uint32_t)row;
    *d = __uint_as_float(0x3F800000u | part >> 9) - 1.0f;
    const float x = __uint_as_float(0x4B000000u + column) - 8388608.0f,
                y = __uint_as_float(0x4B000000u + row) - 8388608.0f;
    const float left = fmaf(a.near_across, x, fmaf(a.near_down, y, a.near_at)) - *d;
    return (int)(__float_as_uint(left + 12582912.0f) - 0x4B400000u);
}

/* Whether a distance is so near 0 or 1 that the component left of the position may be another. */
DEVICE bool near_whole(float d)
{
    return !(fabsf(d - 0.5f) < 0.5f - 0x1p-20f);
}

/* Whether a position lies inside a line of n components: 1 or 0; -1: the distance is too near the edge to tell. */
DEVICE int near_inside(int i, float d, int n)
{
    if ((i == -1 || i == n - 1) && fabsf(d - 0.5f) < 0x1p-20f)
        return -1;
    return (unsigned)(i + (d >= 0.5f ? 1 : 0)) < (unsigned)n;
}

/* The weights of the COUNT components from `first` on, where those from `from` on are clamped to them. */
template <int COUNT> DEVICE void near_weights(float d, int from, int first, float w[COUNT])
{
    if constexpr (COUNT == 2)
        d = from < first ? 0 : from > first ? 1 : d;
    const float e = 1.0f - d, de = d * e;
    if constexpr (COUNT == 2) {
        w[0] = e, w[1] = d;
    } else {
        w[0] = -(de * e), w[1] = fmaf(-(d * d), 2.0f - d, 1.0f), w[2] = fmaf(de, d, d), w[3] = -(de * d);
        if (from == first)
            return;
        uint32_t past = from - first;
        keep(past); /* a branch: it is rare */
        const float of[4] = { w[0], w[1], w[2], w[3] };
#pragma unroll
        for (int k = 0; k < 4; k++) {
            w[k] = 0;
#pragma unroll
            for (int t = 0; t < 4; t++)
                w[k] += mot_warp_clamp((int)past + t, 4) == k ? of[t] : 0;
        }
    }
}

/* One channel between SIDE x SIDE components, each a denormal number, in units of 2^-23; less `less`. Weights of
 * columns are 2^126 as large, and those of rows already in them if SIDE is 2. */
template <int SIDE, class TAPS>
DEVICE float near_sum(const TAPS &taps, int c, const float *across, const float *down, float less)
{
    float sum = -less;
#pragma unroll
    for (int r = 0; r < SIDE; r++) {
        float row = SIDE == 2 ? sum : 0;
#pragma unroll
        for (int t = 0; t < SIDE; t++)
            row = fmaf(taps.at(r, c, t), across[SIDE == 2 ? r * SIDE + t : t], row);
        sum = SIDE == 2 ? row : fmaf(row, down[r], sum);
    }
    return sum;
}

/* Stores the pixel between the components. Returns a bit for each channel whose rounding to a byte is in doubt. */
template <int SIDE, class TAPS>
DEVICE unsigned store_near(const TAPS &taps, const float *across, const float *down, uint32_t *to)
{
    const float doubt = (SIDE == 4 ? MOT_DOUBT_CUBIC : MOT_DOUBT_LINEAR) * 0x1p-23f;
    float w[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        w[i] = across[i % SIDE] * 0x1p126f * (SIDE == 2 ? down[i / SIDE] : 1.0f);
    uint32_t low[3] = {}, high[3] = {}; /* bytes are the lowest of these */
#pragma unroll
    for (int c = 0; c < TAPS::channels; c++) { /* below 0.5 and above 255.5 there is no doubt */
        const float sum = near_sum<SIDE>(taps, c, w, down, doubt),
                    v = fminf(fmaxf(sum, 0.5f * 0x1p-23f), 255.5f * 0x1p-23f);
        low[c] = __float_as_uint(__fmaf_rd(v, 1.0f, 1.0f));
        high[c] = __float_as_uint(__fmaf_rd(v + 2 * doubt, 1.0f, 1.0f));
    }
    *to = __byte_perm(__byte_perm(low[0], low[1], 0x0040), low[2], 0x0410);
    return ((low[0] ^ high[0]) | (low[1] ^ high[1]) | (low[2] ^ high[2])) == 0
               ? 0
               : (low[0] != high[0]) | (low[1] != high[1]) << 1 | (low[2] != high[2]) << 2;
}

/* Stores the channels in doubt all of whose components are the same, which is then the result. Returns false if there
 * are other channels in doubt. */
template <int SIDE, class TAPS> DEVICE bool store_alike(const TAPS &taps, unsigned doubts, uint32_t *to)
{
#pragma unroll
    for (int c = 0; c < TAPS::channels; c++) {
        uint32_t differ = 0;
#pragma unroll
        for (int i = 1; i < SIDE * SIDE; i++)
            differ |= __float_as_uint(taps.at(i / SIDE, c, i % SIDE)) ^ __float_as_uint(taps.at(0, c, 0));
        if (doubts >> c & 1) {
            if (differ)
                return false;
            ((uint8_t *)to)[c] = (uint8_t)__float_as_uint(taps.at(0, c, 0));
        }
    }
    return true;
}

/* ---- along one axis, in whole numbers ----
 * All outputs of a line, which is a row or a column of the result, have the same weights. */

/* A line: where its first output reads, and 2^24 times the part behind the point, rounded down from what is 2^-34 less,
 * as parts may be whole numbers of units, and outputs' positions differ by the roundings of binary64, which are below
 * 2^-35 for images up to MOT_LINE_SIDE. So each output is from 0 to less than 2 units behind it. */
struct alignas(8) near_line {
    int first;
    uint32_t part; /* MOT_NO_PART: which component an output is nearest to is not known */
};

#define MOT_NO_PART 0xFFFFFFFFu
#define MOT_LINE_SIDE 4096

/* The line of an axis whose first output is at (x, y). */
DEVICE near_line find_near_line(const double *m, int x, int y)
{
    const double at = ((m[0] * (x + 0.5) + m[1] * (y + 0.5)) + m[2]) - 0.5 - 0x1p-34, whole = floor(at);
    const uint32_t part = (uint32_t)((at - whole) * 0x1p24);
    return near_line{ (int)whole, part == (1 << 23) - 1 ? MOT_NO_PART : part };
}

/* The weights of SIDE components, whose sum is 2^24, or for bicubic 2^22. */
template <int SIDE> DEVICE void line_weights(uint32_t part, int w[SIDE])
{
    if constexpr (SIDE == 2) {
        w[0] = (1 << 24) - (int)part, w[1] = (int)part;
    } else {
        float of[4];
        near_weights<4>((float)part * 0x1p-24f, 0, 0, of);
#pragma unroll
        for (int k = 0; k < 4; k++)
            w[k] = (int)(__float_as_uint(fmaf(of[k], 0x1p22f, 12582912.0f)) - 0x4B400000u);
        w[1] = (1 << 22) - w[0] - w[2] - w[3];
    }
}

/* The result between SIDE components, in the highest byte, and in those of `apart` bits that are set if it may be
 * another: bilinear lies between this and what a weight 2 units larger gives, bicubic is less than 2048 units off. */
template <int SIDE> DEVICE uint32_t along_line(const uint32_t *taps, const int w[SIDE], uint32_t *apart)
{
    uint32_t v, other;
    if constexpr (SIDE == 2) {
        v = taps[0] * (uint32_t)w[0] + taps[1] * (uint32_t)w[1];
        other = v + 2 * (taps[1] - taps[0]);
    } else {
        int sum = -2048;
#pragma unroll
        for (int k = 0; k < 4; k++)
            sum += (int)taps[k] * w[k];
        v = (uint32_t)min(max(sum, 0), (256 << 22) - 4097) << 2;
        other = v + 4 * 4096;
    }
    *apart |= v ^ other;
    return v;
}

#endif
