/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear and bicubic WARPs along both axes, a block of pixels at a time. First the part of a row that reads inside
 * the image is found. The taps of each pixel are loaded as four neighbouring pixels at once, and transposed into
 * channels. The blend is computed in float, whose error is bounded (BETWEEN_DOUBT). Results nearer than that to a whole
 * number are in doubt; these, and all pixels with alpha, are computed in double as in kernels/warp.h. On the GPU
 * kernels/cuda/interpolate_near.cuh does the same, with bounds of its own (MOT_DOUBT_*). */
#ifndef MOT_BETWEEN_PLANE_CPU_H
#define MOT_BETWEEN_PLANE_CPU_H

#include "kernels/lanes_cpu.h"
#include "kernels/warp.h"

/* Functions that begin with BETWEEN_INLINE are called with constants for `side` (2 or 4 taps in each direction), `size`
 * (bytes of a pixel), `alpha` (its channel, or -1) and `c` (channel), so each case becomes a separate loop. */
#define BETWEEN_INLINE __attribute__((always_inline)) static inline

#define BETWEEN_BLOCK 64 /* pixels */

typedef struct between_block {
    int n;                                      /* pixels */
    int32_t i[BETWEEN_BLOCK], j[BETWEEN_BLOCK]; /* the pixel up and left */
    double dx[BETWEEN_BLOCK], dy[BETWEEN_BLOCK];
    float weight_x[4][BETWEEN_BLOCK], weight_y[4][BETWEEN_BLOCK]; /* [tap] */
    uint8_t slot[BETWEEN_BLOCK];                                  /* between_slot */
    int plain_begin, plain_end;          /* plain pixels: all their rows of taps are known to be inside the image */
    int32_t at[4][BETWEEN_BLOCK];        /* offset of each row of taps, bytes; for plain pixels only of the first */
    uint32_t pixel[4][BETWEEN_BLOCK][4]; /* [row of taps][between_slot][channel]: see between_four */
    uint32_t tap[4][4][BETWEEN_BLOCK];   /* [row of taps][channel]: the same; bilinear's two rows are in the first */
    int32_t value[BETWEEN_BLOCK], doubt[BETWEEN_BLOCK];
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

/* Bytes that between_four reads. */
#define BETWEEN_BYTES 16
#define BETWEEN_CUT INT32_MIN

/* The end of loops over a block's pixels: whole vectors, but no more, so that a short row does not cost a whole block.
 * Entries past the pixels are left from earlier blocks, and are not used. */
static inline int between_end(const between_block *b)
{
    return (b->n + 15) & ~15;
}

/* ---- positions ---- */

/* A coordinate along a row of the output: (slope * (x + 0.5) + along) + offset. */
typedef struct between_line {
    double slope, inverse, along, offset; /* inverse: 1 / slope, roughly */
} between_line;

static inline double between_at(const between_line *l, int x)
{
    return (l->slope * (x + 0.5) + l->along) + l->offset;
}

/* The first x of 0..n whose coordinate is at `bound` or past it, in the line's direction. Rounding keeps the order of
 * positions. */
static inline int between_reach(const between_line *l, double bound, int n)
{
    const double guess = (bound - l->offset - l->along) * l->inverse;
    int x = guess > 0 ? guess < n ? (int)guess : n : 0;
    if (l->slope > 0) {
        while (x > 0 && between_at(l, x - 1) >= bound)
            x--;
        while (x < n && between_at(l, x) < bound)
            x++;
    } else {
        while (x > 0 && between_at(l, x - 1) < bound)
            x--;
        while (x < n && between_at(l, x) >= bound)
            x++;
    }
    return x;
}

/* Narrows begin..end, of 0..n, to the x for which low <= coordinate < high. */
static inline void between_narrow(const between_line *l, double low, double high, int n, int *begin, int *end)
{
    int from = 0, to = n;
    if (l->slope == 0)
        to = l->along + l->offset >= low && l->along + l->offset < high ? n : 0;
    else if (l->slope > 0)
        from = between_reach(l, low, n), to = between_reach(l, high, n);
    else
        from = between_reach(l, high, n), to = between_reach(l, low, n);
    *begin = from > *begin ? from : *begin;
    *end = to < *end ? to : *end;
}

/* mot_warp_between for the block's pixels, of which the first is column x. */
static inline void between_positions(const between_line *along_x, const between_line *along_y, int x, between_block *b)
{
    const between_line lx = *along_x, ly = *along_y;
    for (int k = 0; k < b->n; k++) {
        const double xc = (x + k) + 0.5;
        const double in_x = ((lx.slope * xc + lx.along) + lx.offset) - 0.5;
        const double in_y = ((ly.slope * xc + ly.along) + ly.offset) - 0.5;
        const int whole_x = (int)in_x, whole_y = (int)in_y;
        b->i[k] = whole_x - (in_x < (double)whole_x); /* floor */
        b->j[k] = whole_y - (in_y < (double)whole_y);
        b->dx[k] = in_x - (double)b->i[k];
        b->dy[k] = in_y - (double)b->j[k];
    }
}

/* The weights of the taps along one axis; bilinear needs only the distance. */
BETWEEN_INLINE void between_weights(const double *distance, int end, int side, float (*weight)[BETWEEN_BLOCK])
{
    MOT_LANES
    for (int k = 0; k < end; k++) {
        const float d = (float)distance[k];
        if (side == 2) {
            weight[0][k] = d;
        } else {
            const float e = 1.0f - d, de = d * e;
            weight[0][k] = -(de * e);
            weight[1][k] = 1.0f - d * d * (2.0f - d);
            weight[2][k] = d + de * d;
            weight[3][k] = -(de * d);
        }
    }
}

/* ---- taps ---- */

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

/* between_four at the image's edge: column i, of the first tap, may be outside. */
static void between_four_cut(const between_image *p, const uint8_t *in_row, int i, int side, int size, uint32_t *four)
{
    for (int c = 0; c < size; c++)
        four[c] = 0;
    for (int u = 0; u < side; u++)
        for (int c = 0; c < size; c++)
            four[c] |= (uint32_t)in_row[(int64_t)mot_warp_clamp(i + u, p->width) * size + c] << (8 * u);
}

/* The offsets of the block's rows of taps, or BETWEEN_CUT for a row that leaves the image. */
BETWEEN_INLINE void between_places(const between_image *p, int v, int side, int size, between_block *b)
{
    const int before = side / 2 - 1, height = p->height;
    const uint32_t columns = p->width < side ? 0 : (uint32_t)(p->width - side + 1);
    const int32_t in_row = p->in_row, last = p->last;
    const int end = between_end(b);
    int32_t *places = b->at[v];
    MOT_LANES
    for (int k = 0; k < end; k++) {
        const int i = b->i[k] - before;
        const int32_t at = mot_warp_clamp(b->j[k] - before + v, height) * in_row + i * size;
        const int32_t whole = (uint32_t)i < columns ? at : BETWEEN_CUT;
        places[k] = whole <= last ? whole : BETWEEN_CUT;
    }
}

/* Row v of pixel k's taps, at the image's edge. */
BETWEEN_INLINE void between_cut(const between_image *p, int plane, int v, int k, int side, int size,
                                const between_block *b, uint32_t *four)
{
    const int64_t row = mot_warp_clamp(b->j[k] - side / 2 + 1 + v, p->height);
    between_four_cut(p, p->in[plane] + row * p->in_row, b->i[k] - side / 2 + 1, side, size, four);
}

/* The slot for a pixel's channels, chosen so that transposing four vectors of pixels leaves the pixels in order. */
#ifdef MOT_HAS_X86_VECTORS
#define BETWEEN_LANES (VECTOR_BYTES / 16)
#else
#define BETWEEN_LANES 1
#endif
static inline int between_slot(int k)
{
    const int in = k % (4 * BETWEEN_LANES);
    return k - in + in % 4 * BETWEEN_LANES + in / 4;
}

/* The destination of row v of the taps of pixel k. */
BETWEEN_INLINE uint32_t *between_goal(between_block *b, int v, int k, int size)
{
    return size == 1 ? &b->tap[v][0][k] : b->pixel[v][b->slot[k]];
}

/* Fetches the taps of pixels begin..end - 1, which are not plain. */
BETWEEN_INLINE void between_fetch_asking(const between_image *p, int plane, int side, int size, int begin, int end,
                                         between_block *b)
{
    const uint8_t *in = p->in[plane];
    for (int k = begin; k < end; k++)
        for (int v = 0; v < side; v += side == 2 ? 2 : 1) {
            uint32_t *four = between_goal(b, v, k, size);
            const int32_t at = b->at[v][k], below = side == 2 ? b->at[1][k] : at;
            if (at == BETWEEN_CUT || below == BETWEEN_CUT) {
                uint32_t lower[4];
                between_cut(p, plane, v, k, side, size, b, four);
                if (side == 2)
                    between_cut(p, plane, 1, k, side, size, b, lower);
                for (int c = 0; c < size && side == 2; c++)
                    four[c] |= lower[c] << 16;
            } else if (side == 2) {
                between_square(in + at, in + below, size, four);
            } else {
                between_four(in + at, size, four);
            }
        }
}

BETWEEN_INLINE void between_fetch_plain(const between_image *p, int plane, int side, int size, between_block *b)
{
    const uint8_t *in = p->in[plane];
    const int64_t row = p->in_row;
    const int end = b->plain_end;
    for (int k = b->plain_begin; k < end; k++) {
        const uint8_t *taps = in + b->at[0][k];
        if (side == 2)
            between_square(taps, taps + row, size, between_goal(b, 0, k, size));
        for (int v = 0; v < side && side == 4; v++)
            between_four(taps + v * row, size, between_goal(b, v, k, size));
    }
}

/* b->pixel becomes tap[channel][pixel]. */
BETWEEN_INLINE void between_turn(between_block *b, int v, int size)
{
    uint32_t(*tap)[BETWEEN_BLOCK] = b->tap[v];
#ifdef MOT_HAS_X86_VECTORS
    for (int k = 0; k < b->n; k += 4 * BETWEEN_LANES) {
        vector pixel[4];
        for (int i = 0; i < 4; i++)
            pixel[i] = vector_load(b->pixel[v][k + i * BETWEEN_LANES]);
        const vector low[2] = { VECTOR(unpacklo_epi32)(pixel[0], pixel[1]),
                                VECTOR(unpacklo_epi32)(pixel[2], pixel[3]) };
        const vector high[2] = { VECTOR(unpackhi_epi32)(pixel[0], pixel[1]),
                                 VECTOR(unpackhi_epi32)(pixel[2], pixel[3]) };
        vector_store(&tap[0][k], VECTOR(unpacklo_epi64)(low[0], low[1]));
        vector_store(&tap[1][k], VECTOR(unpackhi_epi64)(low[0], low[1]));
        if (size > 2)
            vector_store(&tap[2][k], VECTOR(unpacklo_epi64)(high[0], high[1]));
        if (size > 3)
            vector_store(&tap[3][k], VECTOR(unpackhi_epi64)(high[0], high[1]));
    }
#else
    for (int k = 0; k < b->n; k++)
        for (int c = 0; c < size; c++)
            tap[c][k] = b->pixel[v][b->slot[k]][c];
#endif
}

BETWEEN_INLINE void between_fetch(const between_image *p, int plane, int side, int size, between_block *b)
{
    between_fetch_asking(p, plane, side, size, 0, b->plain_begin, b);
    between_fetch_plain(p, plane, side, size, b);
    between_fetch_asking(p, plane, side, size, b->plain_end, b->n, b);
    for (int v = 0; v < side && size > 1; v += side == 2 ? 2 : 1)
        between_turn(b, v, size);
}

/* ---- in double ---- */

/* Tap u of row v of channel c, premultiplied by the last channel when the image has alpha. */
BETWEEN_INLINE int between_component(const between_block *b, int side, int v, int u, int c, int alpha, int k)
{
    const uint32_t(*tap)[BETWEEN_BLOCK] = b->tap[side == 2 ? 0 : v];
    const int shift = side == 2 ? 16 * v + 8 * u : 8 * u, component = tap[c][k] >> shift & 255;
    return c < alpha ? mot_premultiply((uint8_t)component, (uint8_t)(tap[alpha][k] >> shift)) : component;
}

BETWEEN_INLINE double between_linear(const between_block *b, int v, int c, int alpha, int k)
{
    const int left = between_component(b, 2, v, 0, c, alpha, k), right = between_component(b, 2, v, 1, c, alpha, k);
    return (double)left + (double)(right - left) * b->dx[k];
}

BETWEEN_INLINE double between_cubic(const between_block *b, int v, int c, int alpha, int k)
{
    const int v1 = between_component(b, 4, v, 0, c, alpha, k), v2 = between_component(b, 4, v, 1, c, alpha, k);
    const int v3 = between_component(b, 4, v, 2, c, alpha, k), v4 = between_component(b, 4, v, 3, c, alpha, k);
    return mot_warp_cubic(v1, v2, v3, v4, b->dx[k]);
}

/* Channel c of the block. Taps are first converted to int: GCC vectorises a loop over bytes and doubles by 64 doubles,
 * and then runs out of registers. */
BETWEEN_INLINE void between_bilinear(const between_block *b, int c, int alpha, int32_t *value)
{
    const int end = between_end(b);
    MOT_LANES
    for (int k = 0; k < end; k++) {
        const double top = between_linear(b, 0, c, alpha, k), bottom = between_linear(b, 1, c, alpha, k);
        value[k] = (int32_t)(top + (bottom - top) * b->dy[k]);
    }
}

BETWEEN_INLINE void between_bicubic(const between_block *b, int c, int alpha, int32_t *value)
{
    const int end = between_end(b);
    MOT_LANES
    for (int k = 0; k < end; k++) {
        const double v = mot_warp_cubic(between_cubic(b, 0, c, alpha, k), between_cubic(b, 1, c, alpha, k),
                                        between_cubic(b, 2, c, alpha, k), between_cubic(b, 3, c, alpha, k), b->dy[k]);
        const double low = v > 0.0 ? v : 0.0;
        value[k] = (int32_t)(low < 255.0 ? low : 255.0);
    }
}

/* ---- in float ---- */

/* The largest difference between a result in float and in double. The bounds of all roundings add up to 5.3e-5 for
 * bilinear. For bicubic, whose absolute weights add up to at most 1.5, they add up to 4.3e-4, half of it from rounding
 * the weights. The largest differences among 6e7 random pixels were 3.8e-5 and 1.0e-4. Only results this near a whole
 * number can differ in their whole part. */
#define BETWEEN_DOUBT(side) ((side) == 2 ? 0x1p-13f : 0x1p-11f)

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define BETWEEN_SUM(a, b, c) __builtin_fmaf(a, b, c)
#else
#define BETWEEN_SUM(a, b, c) ((a) * (b) + (c))
#endif

BETWEEN_INLINE float between_tap(const uint32_t *taps, int u, int k)
{
    return (float)(int)(taps[k] >> 8 * u & 255);
}

BETWEEN_INLINE float between_row(const between_block *b, int v, int c, int k)
{
    const uint32_t *taps = b->tap[v][c];
    const float outer =
        BETWEEN_SUM(between_tap(taps, 3, k), b->weight_x[3][k], between_tap(taps, 0, k) * b->weight_x[0][k]);
    return BETWEEN_SUM(between_tap(taps, 1, k), b->weight_x[1][k],
                       BETWEEN_SUM(between_tap(taps, 2, k), b->weight_x[2][k], outer));
}

/* Channel c of the block, and for which pixels it is in doubt; returns how many these are. */
BETWEEN_INLINE int between_float(between_block *b, int side, int c)
{
    const int end = between_end(b);
    float near[BETWEEN_BLOCK];
    MOT_LANES
    for (int k = 0; k < end; k++)
        if (side == 2) {
            const uint32_t *taps = b->tap[0][c];
            const float upper = between_tap(taps, 0, k), lower = between_tap(taps, 2, k);
            const float top = BETWEEN_SUM(between_tap(taps, 1, k) - upper, b->weight_x[0][k], upper);
            const float bottom = BETWEEN_SUM(between_tap(taps, 3, k) - lower, b->weight_x[0][k], lower);
            near[k] = BETWEEN_SUM(bottom - top, b->weight_y[0][k], top);
        } else {
            const float outer =
                BETWEEN_SUM(between_row(b, 3, c, k), b->weight_y[3][k], between_row(b, 0, c, k) * b->weight_y[0][k]);
            near[k] = BETWEEN_SUM(between_row(b, 1, c, k), b->weight_y[1][k],
                                  BETWEEN_SUM(between_row(b, 2, c, k), b->weight_y[2][k], outer));
        }
    int doubts = 0;
    for (int k = 0; k < end; k++) {
        const float v = near[k], off = v - (float)(int32_t)(v + 0.5f);
        const int32_t whole = (int32_t)v, positive = whole > 0 ? whole : 0;
        b->value[k] = positive < 255 ? positive : 255;
        b->doubt[k] = (off < BETWEEN_DOUBT(side)) & (off > -BETWEEN_DOUBT(side));
        doubts += b->doubt[k];
    }
    return doubts;
}

#define BETWEEN_FEW 12 /* this many pixels take as long one by one as the whole block does */

/* Computes the pixels in doubt in double. If all taps of a pixel are equal, they are the result. */
BETWEEN_INLINE void between_settle(between_block *b, int side, int c)
{
    for (int k = 0; k < b->n; k++) {
        if (!b->doubt[k])
            continue;
        const uint32_t taps = b->tap[0][c][k];
        int alike = taps == (taps >> 8 | taps << 24);
        for (int v = 1; v < side && side == 4; v++)
            alike = alike && b->tap[v][c][k] == taps;
        if (alike) {
            b->value[k] = taps & 255;
        } else if (side == 2) {
            const double top = between_linear(b, 0, c, -1, k), bottom = between_linear(b, 1, c, -1, k);
            b->value[k] = (int32_t)(top + (bottom - top) * b->dy[k]);
        } else {
            b->value[k] = mot_warp_bicubic(between_cubic(b, 0, c, -1, k), between_cubic(b, 1, c, -1, k),
                                           between_cubic(b, 2, c, -1, k), between_cubic(b, 3, c, -1, k), b->dy[k]);
        }
    }
}

BETWEEN_INLINE void between_blend(between_block *b, int side, int c, int alpha)
{
    const int doubts = alpha < 0 ? between_float(b, side, c) : BETWEEN_BLOCK;
    if (doubts > BETWEEN_FEW) {
        if (side == 2)
            between_bilinear(b, c, alpha, b->value);
        else
            between_bicubic(b, c, alpha, b->value);
    } else if (doubts > 0) {
        between_settle(b, side, c);
    }
    for (int k = 0; k < BETWEEN_BLOCK; k++)
        b->out[c][k] = (uint8_t)b->value[k];
}

BETWEEN_INLINE void between_put(between_block *b, int size, int alpha, uint8_t *out)
{
    const int end = between_end(b);
    for (int c = 0; c < alpha; c++)
        for (int k = 0; k < end; k++) {
            /* mot_unpremultiply: the quotient in float is on the same side of every whole number */
            const int v = b->out[c][k], a = b->out[alpha][k];
            const int quotient = (int)((float)(255 * v) / (float)(a > 0 ? a : 1));
            const int clipped = quotient < 255 ? quotient : 255;
            b->out[c][k] = (uint8_t)(a > 0 ? clipped : v);
        }
    if (size == 1) {
        memcpy(out, b->out[0], (size_t)b->n);
        return;
    }
    uint8_t packed[4 * BETWEEN_BLOCK];
    lanes_merge((const uint8_t(*)[LANES_BLOCK])b->out, size, BETWEEN_BLOCK, packed);
    memcpy(out, packed, (size_t)(b->n * size));
}

BETWEEN_INLINE void between_fill(const uint8_t *fill, int n, int size, uint8_t *out)
{
    for (int k = 0; k < n; k++)
        warp_put(out + k * size, fill, size);
}

static inline between_line between_line_of(const double *m)
{
    return (between_line){ .slope = m[0], .inverse = 1 / m[0], .offset = m[2] };
}

BETWEEN_INLINE void between_rows(const between_image *p, const mot_warp_plan *plan, int side, int size, int alpha)
{
    const int before = side / 2 - 1, width = p->width, height = p->height;
    /* One row and one column further in than the taps need, so that BETWEEN_BYTES can be read. */
    const int can_be_plain =
        width > side && height > side && (p->in_row >= BETWEEN_BYTES || -p->in_row >= BETWEEN_BYTES);
    between_line along_x = between_line_of(plan->m), along_y = between_line_of(plan->m + 3);
    between_block b;
    uint8_t fill[4];
    memset(&b, 0, sizeof b);
    for (int k = 0; k < BETWEEN_BLOCK; k++)
        b.slot[k] = (uint8_t)between_slot(k);
    for (int c = 0; c < size * p->planes; c++)
        fill[c] = c < alpha ? mot_unpremultiply(p->fill[c], p->fill[alpha]) : p->fill[c];
    for (int y = 0; y < height; y++) {
        along_x.along = plan->m[1] * (y + 0.5);
        along_y.along = plan->m[4] * (y + 0.5);
        int begin = 0, end = width;
        between_narrow(&along_x, 0, width, width, &begin, &end);
        between_narrow(&along_y, 0, height, width, &begin, &end);
        if (end < begin)
            begin = end = 0;
        int plain_begin = begin, plain_end = can_be_plain ? end : begin;
        between_narrow(&along_x, before + 0.5, width - side / 2 + 0.5, width, &plain_begin, &plain_end);
        between_narrow(&along_y, before + 1.5, height - side / 2 - 0.5, width, &plain_begin, &plain_end);
        if (plain_end < plain_begin)
            plain_begin = plain_end = begin;
        for (int plane = 0; plane < p->planes; plane++) {
            uint8_t *out = p->out[plane] + y * p->out_row;
            between_fill(fill + plane, begin, size, out);
            between_fill(fill + plane, width - end, size, out + (int64_t)end * size);
        }
        for (int x = begin; x < end; x += BETWEEN_BLOCK) {
            b.n = end - x < BETWEEN_BLOCK ? end - x : BETWEEN_BLOCK;
            b.plain_begin = mot_warp_clamp(plain_begin - x, b.n + 1);
            b.plain_end = mot_warp_clamp(plain_end - x, b.n + 1);
            between_positions(&along_x, &along_y, x, &b);
            between_weights(b.dx, between_end(&b), side, b.weight_x);
            between_weights(b.dy, between_end(&b), side, b.weight_y);
            const int asking = b.plain_begin > 0 || b.plain_end < b.n;
            for (int v = 0; v < (asking ? side : 1); v++)
                between_places(p, v, side, size, &b);
            for (int plane = 0; plane < p->planes; plane++) {
                between_fetch(p, plane, side, size, &b);
                for (int c = 0; c < size; c++)
                    between_blend(&b, side, c, alpha);
                between_put(&b, size, alpha, p->out[plane] + y * p->out_row + (int64_t)x * size);
            }
        }
    }
}

#endif
