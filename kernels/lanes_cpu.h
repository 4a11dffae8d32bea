/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of bytes: the loops that several shapes share. Written for the compiler's vectoriser, but for the table
 * look-up, which it cannot see. Compiled once per instruction set, by set_cpu.c. */
#ifndef MOT_LANES_CPU_H
#define MOT_LANES_CPU_H

#include "kernels/cpu.h"

#include <string.h>

#if defined(__AVX512BW__) || defined(__AVX2__)
#include <immintrin.h>
#endif

/* The next loop's iterations do not depend on one another, although its arrays may be the same array. */
#if defined(__clang__)
#define MOT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define MOT_LANES _Pragma("GCC ivdep")
#endif

#define LANES_BLOCK 512 /* pixels that are taken apart into planes at a time; stays in the L1 cache */

typedef uint8_t lanes_table[256];

#if defined(__AVX512BW__)

/* 64 look-ups at once: each of the table's 16 rows by the low four bits, then a tree of choices by the high ones. */
static inline __m512i lanes_look_up(const __m512i row[16], __m512i v)
{
    const __mmask64 bit7 = _mm512_movepi8_mask(v);
    const __mmask64 bit6 = _mm512_test_epi8_mask(v, _mm512_set1_epi8(0x40));
    const __mmask64 bit5 = _mm512_test_epi8_mask(v, _mm512_set1_epi8(0x20));
    const __mmask64 bit4 = _mm512_test_epi8_mask(v, _mm512_set1_epi8(0x10));
    const __m512i low = _mm512_and_si512(v, _mm512_set1_epi8(0x0F));
    __m512i t[8];
    for (int i = 0; i < 8; i++)
        t[i] = _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(row[2 * i], low), bit4, row[2 * i + 1], low);
    for (int i = 0; i < 4; i++)
        t[i] = _mm512_mask_blend_epi8(bit5, t[2 * i], t[2 * i + 1]);
    for (int i = 0; i < 2; i++)
        t[i] = _mm512_mask_blend_epi8(bit6, t[2 * i], t[2 * i + 1]);
    return _mm512_mask_blend_epi8(bit7, t[0], t[1]);
}

static void lanes_apply_table(const uint8_t *in, uint8_t *out, size_t n, const lanes_table table)
{
    __m512i row[16];
    for (int i = 0; i < 16; i++)
        row[i] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)(table + 16 * i)));
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        _mm512_storeu_si512(out + i, lanes_look_up(row, _mm512_loadu_si512(in + i)));
    if (i < n) {
        const __mmask64 rest = ~0ull >> (64 - (n - i));
        _mm512_mask_storeu_epi8(out + i, rest, lanes_look_up(row, _mm512_maskz_loadu_epi8(rest, in + i)));
    }
}

#elif defined(__AVX2__)

static void lanes_apply_table(const uint8_t *in, uint8_t *out, size_t n, const lanes_table table)
{
    __m256i row[16];
    for (int i = 0; i < 16; i++)
        row[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(table + 16 * i)));
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(in + i));
        const __m256i low = _mm256_and_si256(v, _mm256_set1_epi8(0x0F));
        const __m256i bit6 = _mm256_add_epi8(v, v), bit5 = _mm256_slli_epi16(v, 2), bit4 = _mm256_slli_epi16(v, 3);
        __m256i t[8]; /* a blend chooses by each byte's highest bit */
        for (int k = 0; k < 8; k++)
            t[k] = _mm256_blendv_epi8(_mm256_shuffle_epi8(row[2 * k], low), _mm256_shuffle_epi8(row[2 * k + 1], low),
                                      bit4);
        for (int k = 0; k < 4; k++)
            t[k] = _mm256_blendv_epi8(t[2 * k], t[2 * k + 1], bit5);
        for (int k = 0; k < 2; k++)
            t[k] = _mm256_blendv_epi8(t[2 * k], t[2 * k + 1], bit6);
        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm256_blendv_epi8(t[0], t[1], v));
    }
    for (; i < n; i++)
        out[i] = table[in[i]];
}

#else

static void lanes_apply_table(const uint8_t *in, uint8_t *out, size_t n, const lanes_table table)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) { /* one store for eight look-ups */
        uint8_t eight[8];
        for (int k = 0; k < 8; k++)
            eight[k] = table[in[i + (size_t)k]];
        memcpy(out + i, eight, 8);
    }
    for (; i < n; i++)
        out[i] = table[in[i]];
}

#endif

/* Takes n packed pixels apart into planes, and puts them together again. */
static inline void lanes_split(const uint8_t *in, int channels, size_t n, uint8_t (*plane)[LANES_BLOCK])
{
    if (channels == 3)
        for (size_t i = 0; i < n; i++) {
            plane[0][i] = in[3 * i];
            plane[1][i] = in[3 * i + 1];
            plane[2][i] = in[3 * i + 2];
        }
    else if (channels == 4)
        for (size_t i = 0; i < n; i++) {
            plane[0][i] = in[4 * i];
            plane[1][i] = in[4 * i + 1];
            plane[2][i] = in[4 * i + 2];
            plane[3][i] = in[4 * i + 3];
        }
    else
        for (size_t i = 0; i < n; i++) {
            plane[0][i] = in[2 * i];
            plane[1][i] = in[2 * i + 1];
        }
}

static inline void lanes_merge(const uint8_t (*plane)[LANES_BLOCK], int channels, size_t n, uint8_t *out)
{
    if (channels == 3)
        for (size_t i = 0; i < n; i++) {
            out[3 * i] = plane[0][i];
            out[3 * i + 1] = plane[1][i];
            out[3 * i + 2] = plane[2][i];
        }
    else if (channels == 4)
        for (size_t i = 0; i < n; i++) {
            out[4 * i] = plane[0][i];
            out[4 * i + 1] = plane[1][i];
            out[4 * i + 2] = plane[2][i];
            out[4 * i + 3] = plane[3][i];
        }
    else
        for (size_t i = 0; i < n; i++) {
            out[2 * i] = plane[0][i];
            out[2 * i + 1] = plane[1][i];
        }
}

static inline void lanes_luma(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = mot_luma(r[i], g[i], b[i]);
}

static inline uint32_t lanes_sum(const uint8_t *in, size_t n)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += in[i];
    return sum;
}

/* Walks an image in runs of bytes, or of pixels, that lie together: row by row, or all of it at once when it is dense. */
typedef struct lanes_runs {
    size_t length; /* pixels of a run */
    int rows;
} lanes_runs;

static inline lanes_runs lanes_runs_of(const mot_view *src, const mot_view *dst)
{
    const int64_t row = (int64_t)src->width * src->pixel;
    if (src->row == row && dst->row == row)
        return (lanes_runs){ (size_t)src->width * (size_t)src->height, 1 };
    return (lanes_runs){ (size_t)src->width, src->height };
}

#endif
