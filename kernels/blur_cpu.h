/* SPDX-License-Identifier: Apache-2.0 */
/* BLUR by weighted boxes on the CPU: strips of sixteen lines side by side, rows turned on their side first. A strip goes through
 * its three passes in 32 bits, where the weighted sum moves by one place at a time: all integers, so exact. */
#ifndef MOT_BLUR_CPU_H
#define MOT_BLUR_CPU_H

#include "kernels/blur.h"
#include "kernels/lanes_cpu.h"

#define BLUR_LINES 16

#ifdef MOT_HAS_VECTORS
#define BLUR_VECTOR VECTOR_BYTES
#else
#define BLUR_VECTOR 16
#endif
typedef uint32_t blur_lanes __attribute__((vector_size(BLUR_VECTOR), may_alias));

static inline int64_t blur_clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* A pass over lines of n bytes, each in 32 bits, `stride` of them from one place to the next. */
typedef struct blur_pass {
    const uint32_t *in;
    uint32_t *out;
    int64_t n, stride, radius;
    uint32_t inner, edge; /* weights */
} blur_pass;

__attribute__((always_inline)) static inline const blur_lanes *blur_place(const blur_pass *p, int64_t i, int clamped)
{
    return (const blur_lanes *)(p->in + (clamped ? blur_clamp(i, p->n) : i) * p->stride);
}

/* Writes places i0 to i1 - 1. `sum` is place i0's: inner * (the 2 radius + 1 nearest) + edge * (the two beyond them) + a
 * half. It moves on by what enters and what leaves both. */
__attribute__((always_inline)) static inline void blur_places(const blur_pass *p, int64_t i0, int64_t i1, int clamped,
                                                             blur_lanes *sum)
{
    const uint32_t difference = p->inner - p->edge, edge = p->edge;
    const int64_t r = p->radius;
    blur_lanes s = *sum;
    for (int64_t i = i0; i < i1; i++) {
        *(blur_lanes *)(p->out + i * p->stride) = s >> 24;
        s += (*blur_place(p, i + r + 1, clamped) - *blur_place(p, i - r, clamped)) * difference;
        s += (*blur_place(p, i + r + 2, clamped) - *blur_place(p, i - r - 1, clamped)) * edge;
    }
    *sum = s;
}

static void blur_lines(const blur_pass *pass)
{
    const int64_t n = pass->n, r = pass->radius;
    const int64_t first = r + 1 < n ? r + 1 : n, last = n - r - 2 > first ? n - r - 2 : first;
    blur_pass p = *pass;
    for (int lane = 0; lane < BLUR_LINES; lane += BLUR_VECTOR / 4, p.in += BLUR_VECTOR / 4, p.out += BLUR_VECTOR / 4) {
        blur_lanes sum = *blur_place(&p, 0, 0) * (uint32_t)(r + 1);
        for (int64_t i = 1; i <= r; i++)
            sum += *blur_place(&p, i, 1);
        sum = sum * p.inner + (*blur_place(&p, 0, 0) + *blur_place(&p, r + 1, 1)) * p.edge + (1u << 23);
        blur_places(&p, 0, first, 1, &sum);
        blur_places(&p, first, last, 0, &sum);
        blur_places(&p, last, n, 1, &sum);
    }
}

/* A strip's three passes, from `a` to `b`. */
static void blur_strip(uint32_t *a, uint32_t *b, int64_t n, int64_t stride, const mot_arg *arg)
{
    blur_pass pass = { a, b, n, stride, mot_blur_radius(arg), arg->u[1], arg->u[2] };
    blur_lines(&pass);
    pass.in = b, pass.out = a;
    blur_lines(&pass);
    pass.in = a, pass.out = b;
    blur_lines(&pass);
}

/* Sixteen rows of sixteen bytes, turned on their side. */
static inline void blur_turn(uint8_t (*tile)[16])
{
#ifdef MOT_HAS_VECTORS
    __m128i row[16], turned[16];
    for (int i = 0; i < 16; i++)
        row[i] = _mm_loadu_si128((const __m128i *)(const void *)tile[i]);
    for (int round = 0; round < 4; round++) { /* each deals the rows out in two halves */
        for (int i = 0; i < 8; i++) {
            turned[2 * i] = _mm_unpacklo_epi8(row[i], row[i + 8]);
            turned[2 * i + 1] = _mm_unpackhi_epi8(row[i], row[i + 8]);
        }
        memcpy(row, turned, sizeof row);
    }
    for (int i = 0; i < 16; i++)
        _mm_storeu_si128((__m128i *)(void *)tile[i], row[i]);
#else
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < i; k++) {
            const uint8_t swap = tile[i][k];
            tile[i][k] = tile[k][i];
            tile[k][i] = swap;
        }
#endif
}

/* Rows of n bytes, up to sixteen of them, become a strip of lines. */
static void blur_load_rows(const uint8_t *in, int64_t row, int rows, int64_t n, uint32_t *strip)
{
    uint8_t tile[16][16] = { { 0 } };
    for (int64_t x = 0; x < n; x += 16) {
        const int64_t bytes = n - x < 16 ? n - x : 16;
        for (int y = 0; y < rows; y++)
            if (bytes == 16)
                memcpy(tile[y], in + y * row + x, 16);
            else
                memcpy(tile[y], in + y * row + x, (size_t)bytes);
        blur_turn(tile);
        for (int64_t i = 0; i < bytes; i++)
            for (int k = 0; k < 16; k++)
                strip[(x + i) * BLUR_LINES + k] = tile[i][k];
    }
}

static void blur_store_rows(const uint32_t *strip, uint8_t *out, int64_t row, int rows, int64_t n)
{
    uint8_t tile[16][16] = { { 0 } };
    for (int64_t x = 0; x < n; x += 16) {
        const int64_t bytes = n - x < 16 ? n - x : 16;
        for (int64_t i = 0; i < bytes; i++)
            for (int k = 0; k < 16; k++)
                tile[i][k] = (uint8_t)strip[(x + i) * BLUR_LINES + k];
        blur_turn(tile);
        for (int y = 0; y < rows; y++)
            if (bytes == 16)
                memcpy(out + y * row + x, tile[y], 16);
            else
                memcpy(out + y * row + x, tile[y], (size_t)bytes);
    }
}

static void blur_rows(const uint8_t *in, int64_t in_row, uint8_t *out, int64_t out_row, int64_t width, int height,
                      int channels, const mot_arg *arg, uint32_t *a, uint32_t *b)
{
    for (int y = 0; y < height; y += BLUR_LINES) {
        const int rows = height - y < BLUR_LINES ? height - y : BLUR_LINES;
        blur_load_rows(in + y * in_row, in_row, rows, width * channels, a);
        for (int c = 0; c < channels; c++)
            blur_strip(a + c * BLUR_LINES, b + c * BLUR_LINES, width, (int64_t)channels * BLUR_LINES, arg);
        blur_store_rows(b, out + y * out_row, out_row, rows, width * channels);
    }
}

/* Down `lines` columns of bytes, sixteen or fewer: a constant where it is inlined. */
__attribute__((always_inline)) static inline void blur_down(uint8_t *data, int64_t row, size_t lines, int height,
                                                           const mot_arg *arg, uint32_t *a, uint32_t *b)
{
    uint8_t bytes[BLUR_LINES] = { 0 };
    for (int64_t y = 0; y < height; y++) {
        memcpy(bytes, data + y * row, lines);
        for (int k = 0; k < BLUR_LINES; k++)
            a[y * BLUR_LINES + k] = bytes[k];
    }
    blur_strip(a, b, height, BLUR_LINES, arg);
    for (int64_t y = 0; y < height; y++) {
        for (int k = 0; k < BLUR_LINES; k++)
            bytes[k] = (uint8_t)b[y * BLUR_LINES + k];
        memcpy(data + y * row, bytes, lines);
    }
}

static void blur_columns(uint8_t *data, int64_t row, int64_t n, int height, const mot_arg *arg, uint32_t *a,
                         uint32_t *b)
{
    int64_t x = 0;
    for (; x + BLUR_LINES <= n; x += BLUR_LINES)
        blur_down(data + x, row, BLUR_LINES, height, arg, a, b);
    if (x < n)
        blur_down(data + x, row, (size_t)(n - x), height, arg, a, b);
}

static void blur_boxes(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count;
    const int planes = src->pixel == 1 ? src->channels : 1, channels = src->channels / planes;
    const int64_t n = (int64_t)src->width * channels, longest = n > src->height ? n : src->height;
    uint32_t *a = scratch, *b = a + longest * BLUR_LINES;
    for (int p = 0; p < planes; p++) {
        uint8_t *out = dst->data + p * dst->channel;
        blur_rows(src->data + p * src->channel, src->row, out, dst->row, src->width, src->height, channels,
                  &steps[0].arg, a, b);
        blur_columns(out, dst->row, n, src->height, &steps[0].arg, a, b);
    }
}

#endif
