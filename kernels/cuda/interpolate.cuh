/* SPDX-License-Identifier: Apache-2.0 */
/* Warps that interpolate, one output pixel at a time, from any source of taps. The four taps of a row lie in one word
 * for each channel. The polynomials of kernels/warp.h need small whole multiples of them: dot products of that word
 * with the bytes of another. Whole numbers become doubles, and doubles whole numbers, by adding a large number: as
 * exact as a conversion, and much faster. */
#ifndef MOT_INTERPOLATE_CUH
#define MOT_INTERPOLATE_CUH

#include "kernels/cuda/spatial.cuh"

/* How often the polynomials count the taps v1 to v4, from the lowest byte up. Both filters use the first word. */
#define MOT_TAP_HERE 0x00000100u
#define MOT_LINE_SLOPE 0x0001FF00u
#define MOT_CUBIC_P2 0x000100FFu
#define MOT_CUBIC_P3 0xFF01FE02u
#define MOT_CUBIC_P4 0x01FF01FFu

struct tap_counts {
    uint32_t of[4]; /* CUBIC: of p1 to p4; else of the tap and the slope */
};

template <bool CUBIC> DEVICE tap_counts counts_of_taps()
{
    return CUBIC ? tap_counts{ { MOT_TAP_HERE, MOT_CUBIC_P2, MOT_CUBIC_P3, MOT_CUBIC_P4 } }
                 : tap_counts{ { MOT_TAP_HERE, MOT_LINE_SLOPE, 0, 0 } };
}

/* One channel of a row or column, `d` beyond the second of its four taps. */
template <bool CUBIC> DEVICE double along(uint32_t taps, const tap_counts &counts, double d)
{
    const double p1 = dot(taps, counts.of[0]), p2 = dot(taps, counts.of[1]);
    return CUBIC ? mot_warp_polynomial(p1, p2, dot(taps, counts.of[2]), dot(taps, counts.of[3]), d) : p1 + p2 * d;
}

/* The rounding at the end of mot_warp_bicubic() and mot_warp_bilinear(). */
DEVICE uint32_t to_byte(double v)
{
    double whole;
    return (uint32_t)min(max(floor_of(v, &whole), 0), 255);
}

/* ---- taps ---- */

/* From four pixels' words to one word for each channel. */
DEVICE void by_channel(const uint32_t px[4], uint32_t of[4])
{
    pack_planes(px, of);
    of[3] = __byte_perm(__byte_perm(px[0], px[1], 0x0073), __byte_perm(px[2], px[3], 0x0073), 0x5410);
}

/* Where to begin reading a row's taps i - 1 to i + 2, so that all four lie inside the row. */
template <int FORMAT> DEVICE int first_of_four(const resident_taps<FORMAT> &taps, int i)
{
    return min(max(i - 1, 0), taps.from.width - 4);
}

/* The four pixels of row y from x on. The last word may be the four bytes behind the image: its bytes are shifted out.
 */
template <int FORMAT> DEVICE void row_of_four(const resident_taps<FORMAT> &taps, int x, int y, uint32_t of[4])
{
    const resident_image &b = taps.from;
    const int at = y * b.pitch + x * pixel_bytes(FORMAT);
    const uint32_t *const w = (const uint32_t *)(b.data + (at & ~3));
    if (FORMAT == MOT_FORMAT_RGB) {
        const uint32_t w1 = w[1], w2 = w[2];
        const uint32_t rgb[3] = { __funnelshift_r(w[0], w1, at * 8), __funnelshift_r(w1, w2, at * 8),
                                  __funnelshift_r(w2, w[3], at * 8) };
        split_rgb(rgb, of);
    } else {
#pragma unroll
        for (int c = 0; c < planes_of(FORMAT); c++)
            of[c] = __funnelshift_r(w[c * b.plane / 4], w[c * b.plane / 4 + 1], at * 8);
    }
}

/* Counts for the four pixels from `first` on, where the taps i - 1 to i + 2 are clamped to a row of `width`. */
DEVICE uint32_t counts_at_edge(uint32_t counts, int i, int first, int width)
{
    uint32_t low = 0, high = 0; /* the pixels 0 and 2, and 1 and 3, 16 bits each */
    for (int k = 0; k < 4; k++) {
        const int pixel = mot_warp_clamp(i - 1 + k, width) - first;
        const uint32_t here = byte_of(counts, k) << (16 * (pixel >> 1));
        low += pixel & 1 ? 0 : here;
        high += pixel & 1 ? here : 0;
    }
    return (low & 0x00FF00FFu) | (high & 0x00FF00FFu) << 8;
}

/* ---- pixels ---- */

/* Interpolates between the four values of a row or a column. */
template <bool CUBIC>
DEVICE uint32_t pixel_along(const uint32_t of[4], const tap_counts &counts, double d, int channels)
{
    uint32_t out = 0;
#pragma unroll
    for (int c = 0; c < 4; c++)
        if (c < channels)
            out |= to_byte(along<CUBIC>(of[c], counts, d)) << (8 * c);
    return out;
}

/* The output whose centre maps to (xc, yc). If that lies exactly on a row or column of pixels, the other rows or
 * columns have weight 0. */
template <bool CUBIC, class TAPS>
DEVICE uint32_t interpolated(const mot_warp_plan &plan, const TAPS &taps, int channels, uint32_t fill, double xc,
                             double yc)
{
    double in_x, in_y, left, above;
    if (!mot_warp_position(&plan, xc, yc, &in_x, &in_y))
        return fill;
    const int i = floor_of(in_x, &left), j = floor_of(in_y, &above);
    const double dx = in_x - left, dy = in_y - above;
    const int rows = CUBIC ? 4 : 2, first_row = CUBIC ? j - 1 : j;
    tap_counts counts = counts_of_taps<CUBIC>();
    uint32_t of[4], out = 0;
    if (dx == 0 && dy != 0) {
        uint32_t px[4];
#pragma unroll
        for (int r = 0; r < 4; r++)
            px[r] = CUBIC || r == 1 || r == 2 ? taps(i, mot_warp_clamp(j - 1 + r, plan.height)) : 0;
        by_channel(px, of);
        return pixel_along<CUBIC>(of, counts, dy, channels);
    }
    const int first = first_of_four(taps, i);
    if (i < 1 || i + 2 >= plan.width)
        for (int k = 0; k < (CUBIC ? 4 : 2); k++)
            counts.of[k] = counts_at_edge(counts.of[k], i, first, plan.width);
    if (dy == 0) {
        row_of_four(taps, first, j, of);
        return pixel_along<CUBIC>(of, counts, dx, channels);
    }
    uint32_t row[rows][4];
#pragma unroll
    for (int r = 0; r < rows; r++)
        row_of_four(taps, first, mot_warp_clamp(first_row + r, plan.height), row[r]);
#pragma unroll
    for (int c = 0; c < 4; c++)
        if (c < channels) {
            double v[rows];
#pragma unroll
            for (int r = 0; r < rows; r++)
                v[r] = along<CUBIC>(row[r][c], counts, dx);
            const double end =
                CUBIC ? mot_warp_cubic(v[0], v[1], v[rows - 2], v[rows - 1], dy) : v[0] + (v[1] - v[0]) * dy;
            out |= to_byte(end) << (8 * c);
        }
    return out;
}

/* Four neighbouring outputs from (x, y) on, one after the other: all at once they would need too many registers. */
template <class TAPS>
DEVICE void interpolate_quad(const mot_warp_plan &plan, const TAPS &taps, int channels, uint32_t fill, int x, int y,
                             uint32_t px[4])
{
    const double yc = y + 0.5;
    double xc = x + 0.5;
#pragma unroll 1
    for (int i = 0; i < 4; i++, xc++) {
        const uint32_t v = plan.path == MOT_WARP_BICUBIC ? interpolated<true>(plan, taps, channels, fill, xc, yc)
                                                         : interpolated<false>(plan, taps, channels, fill, xc, yc);
        px[0] = px[1], px[1] = px[2], px[2] = px[3], px[3] = v;
    }
}

#endif
