/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear and bicubic WARPs along both axes: a block of pixels at a time. Positions and the blend are for the vectoriser;
 * in between, the taps of each row are read as they lie, four pixels at once. Same doubles, same order as
 * kernels/warp.h. */
#ifndef MOT_BETWEEN_PLANE_CPU_H
#define MOT_BETWEEN_PLANE_CPU_H

#include "kernels/lanes_cpu.h"
#include "kernels/warp.h"

/* Of what begins so, the arguments `side` (2 or 4 taps in each direction), `size` (bytes of a pixel), `alpha` (its
 * channel, or -1) and `c` (channel) are constants, so that each case is a loop of its own. */
#define BETWEEN_INLINE __attribute__((always_inline)) static inline

#define BETWEEN_BLOCK 64 /* pixels */

typedef struct between_block {
    int32_t i[BETWEEN_BLOCK], j[BETWEEN_BLOCK]; /* the sample up and left */
    double dx[BETWEEN_BLOCK], dy[BETWEEN_BLOCK];
    int32_t inside[BETWEEN_BLOCK];
    int32_t at[4][BETWEEN_BLOCK]; /* where each row of taps begins, bytes */
    uint32_t of_pixel[BETWEEN_BLOCK][4];
    uint32_t tap[4][4]
                [BETWEEN_BLOCK]; /* [row of taps][channel]: see between_four; bilinear's two rows are in the first */
    uint8_t out[4][LANES_BLOCK];
} between_block;

/* An image, or planes of one. */
typedef struct between_image {
    const uint8_t *in[4];
    uint8_t *out[4];
    int planes;
    int64_t out_row;
    int32_t in_row;
    int width, height;
    int32_t last; /* the last byte from which BETWEEN_BYTES may be read */
    const uint8_t *fill;
} between_image;

/* mot_warp_between for n pixels of row y from x on. Outside the image the position is cut to it, and is not used. */
static inline int between_positions(const mot_warp_plan *plan, int x, int y, int n, between_block *b)
{
    const double yc = y + 0.5, along_x = plan->m[1] * yc, along_y = plan->m[4] * yc;
    const double m0 = plan->m[0], m2 = plan->m[2], m3 = plan->m[3], m5 = plan->m[5];
    const double width = plan->width, height = plan->height;
    int any = 0;
    for (int k = 0; k < n; k++) {
        const double xc = (x + k) + 0.5;
        const double in_x = (m0 * xc + along_x) + m2, in_y = (m3 * xc + along_y) + m5;
        const int inside = (in_x >= 0.0) & (in_x < width) & (in_y >= 0.0) & (in_y < height);
        const double low_x = in_x > 0.0 ? in_x : 0.0, low_y = in_y > 0.0 ? in_y : 0.0; /* so that the casts fit */
        const double safe_x = (low_x < width ? low_x : width) - 0.5, safe_y = (low_y < height ? low_y : height) - 0.5;
        const int whole_x = (int)safe_x, whole_y = (int)safe_y;
        b->i[k] = whole_x - (safe_x < (double)whole_x); /* floor */
        b->j[k] = whole_y - (safe_y < (double)whole_y);
        b->dx[k] = safe_x - (double)b->i[k];
        b->dy[k] = safe_y - (double)b->j[k];
        b->inside[k] = inside;
        any |= inside;
    }
    return any;
}

/* Bytes that between_four reads. */
#define BETWEEN_BYTES 16
#define BETWEEN_CUT INT32_MIN

/* Four neighbouring pixels: the bytes of channel c, the left one's lowest, in four[c]. */
BETWEEN_INLINE void between_four(const uint8_t *in, int size, uint32_t *four)
{
    if (size == 1) {
        memcpy(four, in, 4);
        return;
    }
#ifdef __AVX2__
    const __m128i to_channels = size == 2   ? _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, -1, -1, -1, -1, -1, -1, -1, -1)
                                : size == 3 ? _mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1)
                                            : _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m128i taps = _mm_loadu_si128((const __m128i *)(const void *)in);
    _mm_storeu_si128((__m128i *)(void *)four, _mm_shuffle_epi8(taps, to_channels));
#else
    for (int c = 0; c < size; c++) {
        four[c] = 0;
        for (int u = 0; u < 4; u++)
            four[c] |= (uint32_t)in[u * size + c] << (8 * u);
    }
#endif
}

/* Two pixels above two: the bytes of channel c, those of the upper row lowest, in four[c]. */
BETWEEN_INLINE void between_square(const uint8_t *above, const uint8_t *below, int size, uint32_t *four)
{
    if (size == 1) {
        uint16_t pairs[2];
        memcpy(&pairs[0], above, 2);
        memcpy(&pairs[1], below, 2);
        *four = (uint32_t)pairs[1] << 16 | pairs[0];
        return;
    }
#ifdef __AVX2__
    const __m128i to_channels = size == 2   ? _mm_setr_epi8(0, 2, 8, 10, 1, 3, 9, 11, -1, -1, -1, -1, -1, -1, -1, -1)
                                : size == 3 ? _mm_setr_epi8(0, 3, 8, 11, 1, 4, 9, 12, 2, 5, 10, 13, -1, -1, -1, -1)
                                            : _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m128i taps = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)above),
                                            _mm_loadl_epi64((const __m128i *)(const void *)below));
    _mm_storeu_si128((__m128i *)(void *)four, _mm_shuffle_epi8(taps, to_channels));
#else
    for (int c = 0; c < size; c++)
        four[c] = (uint32_t)above[c] | (uint32_t)above[size + c] << 8 | (uint32_t)below[c] << 16 |
                  (uint32_t)below[size + c] << 24;
#endif
}

/* The same where the image ends: column i of the first tap may lie outside. */
static void between_four_cut(const between_image *p, const uint8_t *in_row, int i, int side, int size, uint32_t *four)
{
    for (int c = 0; c < size; c++)
        four[c] = 0;
    for (int u = 0; u < side; u++)
        for (int c = 0; c < size; c++)
            four[c] |= (uint32_t)in_row[(int64_t)mot_warp_clamp(i + u, p->width) * size + c] << (8 * u);
}

/* Where the block's rows of taps begin, or BETWEEN_CUT where a row cannot be read as it lies. Outside the image
 * anything is read, and is not used. */
BETWEEN_INLINE void between_places(const between_image *p, int v, int side, int size, between_block *b)
{
    const int before = side / 2 - 1, height = p->height;
    const uint32_t columns = p->width < side ? 0 : (uint32_t)(p->width - side + 1);
    const int32_t in_row = p->in_row, last = p->last;
    int32_t *places = b->at[v];
    MOT_LANES
    for (int k = 0; k < BETWEEN_BLOCK; k++) {
        const int i = b->inside[k] ? b->i[k] - before : 0;
        const int32_t at = mot_warp_clamp(b->j[k] - before + v, height) * in_row + i * size;
        const int32_t whole = (uint32_t)i < columns ? at : BETWEEN_CUT;
        places[k] = whole <= last ? whole : BETWEEN_CUT;
    }
}

/* Row v of pixel k's taps, where the image ends. */
BETWEEN_INLINE void between_cut(const between_image *p, int plane, int v, int k, int side, int size,
                                const between_block *b, uint32_t *four)
{
    const int64_t row = mot_warp_clamp(b->j[k] - side / 2 + 1 + v, p->height);
    between_four_cut(p, p->in[plane] + row * p->in_row, b->i[k] - side / 2 + 1, side, size, four);
}

BETWEEN_INLINE void between_fetch_squares(const between_image *p, int plane, int n, int size, between_block *b)
{
    const uint8_t *in = p->in[plane];
    for (int k = 0; k < n; k++) {
        uint32_t *four = size == 1 ? &b->tap[0][0][k] : b->of_pixel[k];
        const int32_t above = b->at[0][k], below = b->at[1][k];
        if (above != BETWEEN_CUT && below != BETWEEN_CUT) {
            between_square(in + above, in + below, size, four);
            continue;
        }
        uint32_t lower[4];
        between_cut(p, plane, 0, k, 2, size, b, four);
        between_cut(p, plane, 1, k, 2, size, b, lower);
        for (int c = 0; c < size; c++)
            four[c] |= lower[c] << 16;
    }
}

BETWEEN_INLINE void between_fetch_row(const between_image *p, int plane, int v, int n, int size, between_block *b)
{
    const uint8_t *in = p->in[plane];
    for (int k = 0; k < n; k++) {
        uint32_t *four = size == 1 ? &b->tap[v][0][k] : b->of_pixel[k];
        if (b->at[v][k] != BETWEEN_CUT)
            between_four(in + b->at[v][k], size, four);
        else
            between_cut(p, plane, v, k, 4, size, b, four);
    }
}

BETWEEN_INLINE void between_fetch(const between_image *p, int plane, int n, int side, int size, between_block *b)
{
    for (int v = 0; v < side; v += side == 2 ? 2 : 1) {
        if (side == 2)
            between_fetch_squares(p, plane, n, size, b);
        else
            between_fetch_row(p, plane, v, n, size, b);
        for (int c = 0; c < size && size > 1; c++)
            for (int k = 0; k < BETWEEN_BLOCK; k++)
                b->tap[v][c][k] = b->of_pixel[k][c];
    }
}

/* Tap u of row v of channel c, premultiplied by the last channel when the image has alpha. */
BETWEEN_INLINE int between_sample(const between_block *b, int side, int v, int u, int c, int alpha, int k)
{
    const uint32_t(*tap)[BETWEEN_BLOCK] = b->tap[side == 2 ? 0 : v];
    const int shift = side == 2 ? 16 * v + 8 * u : 8 * u, sample = tap[c][k] >> shift & 255;
    return c < alpha ? mot_premultiply((uint8_t)sample, (uint8_t)(tap[alpha][k] >> shift)) : sample;
}

BETWEEN_INLINE double between_linear(const between_block *b, int v, int c, int alpha, int k)
{
    const int left = between_sample(b, 2, v, 0, c, alpha, k), right = between_sample(b, 2, v, 1, c, alpha, k);
    return (double)left + (double)(right - left) * b->dx[k];
}

BETWEEN_INLINE double between_cubic(const between_block *b, int v, int c, int alpha, int k)
{
    const int v1 = between_sample(b, 4, v, 0, c, alpha, k), v2 = between_sample(b, 4, v, 1, c, alpha, k);
    const int v3 = between_sample(b, 4, v, 2, c, alpha, k), v4 = between_sample(b, 4, v, 3, c, alpha, k);
    return mot_warp_cubic(v1, v2, v3, v4, b->dx[k]);
}

/* Channel c of the block. As int first: where bytes and doubles meet in a loop, GCC takes it 64 doubles at a time, and
 * no register is left. */
BETWEEN_INLINE void between_bilinear(const between_block *b, int c, int alpha, int32_t *value)
{
    MOT_LANES
    for (int k = 0; k < BETWEEN_BLOCK; k++) {
        const double top = between_linear(b, 0, c, alpha, k), bottom = between_linear(b, 1, c, alpha, k);
        value[k] = (int32_t)(top + (bottom - top) * b->dy[k]);
    }
}

BETWEEN_INLINE void between_bicubic(const between_block *b, int c, int alpha, int32_t *value)
{
    MOT_LANES
    for (int k = 0; k < BETWEEN_BLOCK; k++) {
        const double v = mot_warp_cubic(between_cubic(b, 0, c, alpha, k), between_cubic(b, 1, c, alpha, k),
                                        between_cubic(b, 2, c, alpha, k), between_cubic(b, 3, c, alpha, k), b->dy[k]);
        const double low = v > 0.0 ? v : 0.0;
        value[k] = (int32_t)(low < 255.0 ? low : 255.0);
    }
}

BETWEEN_INLINE void between_blend(between_block *b, int side, int c, int alpha)
{
    int32_t value[BETWEEN_BLOCK];
    if (side == 2)
        between_bilinear(b, c, alpha, value);
    else
        between_bicubic(b, c, alpha, value);
    for (int k = 0; k < BETWEEN_BLOCK; k++)
        b->out[c][k] = (uint8_t)value[k];
}

BETWEEN_INLINE void between_put(between_block *b, int n, const uint8_t *fill, int size, int alpha, uint8_t *out)
{
    for (int c = 0; c < size; c++) {
        const uint8_t outside = fill[c];
        for (int k = 0; k < BETWEEN_BLOCK; k++)
            b->out[c][k] = b->inside[k] ? b->out[c][k] : outside;
    }
    for (int c = 0; c < alpha; c++)
        for (int k = 0; k < BETWEEN_BLOCK; k++) {
            /* mot_unpremultiply: the quotient in float is on the same side of every whole number */
            const int v = b->out[c][k], a = b->out[alpha][k];
            const int quotient = (int)((float)(255 * v) / (float)(a > 0 ? a : 1));
            const int clipped = quotient < 255 ? quotient : 255;
            b->out[c][k] = (uint8_t)(a > 0 ? clipped : v);
        }
    if (size == 1)
        memcpy(out, b->out[0], (size_t)n);
    else
        lanes_merge((const uint8_t(*)[LANES_BLOCK])b->out, size, (size_t)n, out);
}

BETWEEN_INLINE void between_rows(const between_image *p, const mot_warp_plan *plan, int side, int size, int alpha)
{
    between_block b;
    memset(&b, 0, sizeof b);
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x += BETWEEN_BLOCK) {
            const int n = p->width - x < BETWEEN_BLOCK ? p->width - x : BETWEEN_BLOCK;
            const int any = between_positions(plan, x, y, n, &b);
            if (any)
                for (int v = 0; v < side; v++)
                    between_places(p, v, side, size, &b);
            for (int plane = 0; plane < p->planes; plane++) {
                if (any)
                    between_fetch(p, plane, n, side, size, &b);
                for (int c = 0; c < size && any; c++)
                    between_blend(&b, side, c, alpha);
                between_put(&b, n, p->fill + plane, size, alpha, p->out[plane] + y * p->out_row + (int64_t)x * size);
            }
        }
}

#endif
