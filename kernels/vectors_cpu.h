/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of bytes as wide as the instruction set allows: one source for SSE2, AVX2 and AVX-512. For loops that convert
 * between bytes, words and floats, where the compiler's vectoriser spends most instructions on packing. */
#ifndef MOT_VECTORS_CPU_H
#define MOT_VECTORS_CPU_H

#include "augmentations/op.h"

#include <stddef.h>
#include <string.h>

#if defined(__AVX512BW__) || defined(__AVX2__) || defined(__SSE2__)
#define MOT_HAS_VECTORS 1
#include <immintrin.h>

#if defined(__AVX512BW__)
typedef __m512i vector;
typedef __m512 vector_floats;
#define VECTOR(name) _mm512_##name
#define VECTOR_ALL(name) _mm512_##name##_si512
#define VECTOR_AS_FLOATS _mm512_castsi512_ps
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
typedef __m256i vector;
typedef __m256 vector_floats;
#define VECTOR(name) _mm256_##name
#define VECTOR_ALL(name) _mm256_##name##_si256
#define VECTOR_AS_FLOATS _mm256_castsi256_ps
#define VECTOR_BYTES 32
#else
typedef __m128i vector;
typedef __m128 vector_floats;
#define VECTOR(name) _mm_##name
#define VECTOR_ALL(name) _mm_##name##_si128
#define VECTOR_AS_FLOATS _mm_castsi128_ps
#define VECTOR_BYTES 16
#endif

static inline vector vector_load(const void *from)
{
    return VECTOR_ALL(loadu)(from);
}

static inline void vector_store(void *to, vector v)
{
    VECTOR_ALL(storeu)(to, v);
}

/* Bytes as words, half a vector's bytes in each member: not its first and second half, but the halves that unpacking
 * gives and packing joins again. */
typedef struct vector_words {
    vector low, high;
} vector_words;

static inline vector_words vector_widen(vector bytes)
{
    const vector zero = VECTOR_ALL(setzero)();
    return (vector_words){ VECTOR(unpacklo_epi8)(bytes, zero), VECTOR(unpackhi_epi8)(bytes, zero) };
}

static inline vector vector_narrow(vector_words words)
{
    return VECTOR(packus_epi16)(words.low, words.high); /* cut to 0..255 */
}

static inline vector_words vector_add(vector_words a, vector_words b)
{
    return (vector_words){ VECTOR(add_epi16)(a.low, b.low), VECTOR(add_epi16)(a.high, b.high) };
}

/* sum + a0 b0 + a1 b1 of the two signed words in each 32 bits. */
static inline vector vector_dot(vector sum, vector a, vector b)
{
#if defined(__AVX512VNNI__)
    return _mm512_dpwssd_epi32(sum, a, b);
#else
    return VECTOR(add_epi32)(sum, VECTOR(madd_epi16)(a, b));
#endif
}

/* mot_blend of words that hold bytes, before clamping. The difference of two floats 2^23 + v is exact. */
static inline vector vector_blend_words(vector from, vector to, float factor)
{
    const vector exponent = VECTOR(set1_epi16)(0x4B00);
    const vector_floats above = VECTOR(set1_ps)(8388608.0f), f = VECTOR(set1_ps)(factor);
    vector whole[2];
    for (int half = 0; half < 2; half++) {
        const vector_floats a =
            VECTOR_AS_FLOATS(half ? VECTOR(unpackhi_epi16)(from, exponent) : VECTOR(unpacklo_epi16)(from, exponent));
        const vector_floats b =
            VECTOR_AS_FLOATS(half ? VECTOR(unpackhi_epi16)(to, exponent) : VECTOR(unpacklo_epi16)(to, exponent));
        const vector_floats product = VECTOR(mul_ps)(f, VECTOR(sub_ps)(b, a));
        whole[half] = VECTOR(cvttps_epi32)(VECTOR(add_ps)(VECTOR(sub_ps)(a, above), product));
    }
    return VECTOR(packs_epi32)(whole[0], whole[1]);
}

/* mot_blend of bytes. */
static inline vector vector_blend(vector from, vector to, float factor)
{
    const vector_words a = vector_widen(from), b = vector_widen(to);
    return vector_narrow(
        (vector_words){ vector_blend_words(a.low, b.low, factor), vector_blend_words(a.high, b.high, factor) });
}

/* mot_luma of words that hold bytes. The weight of green does not fit a signed word, so half of it counts twice. */
static inline vector vector_luma_words(vector r, vector g, vector b)
{
    const vector red_green = VECTOR(set1_epi32)(19235 << 16 | 19595);
    const vector green_blue = VECTOR(set1_epi32)(7471 << 16 | 19235);
    const vector half = VECTOR(set1_epi32)(32768);
    vector luma[2];
    for (int i = 0; i < 2; i++) {
        const vector rg = i ? VECTOR(unpackhi_epi16)(r, g) : VECTOR(unpacklo_epi16)(r, g);
        const vector gb = i ? VECTOR(unpackhi_epi16)(g, b) : VECTOR(unpacklo_epi16)(g, b);
        luma[i] = VECTOR(srli_epi32)(vector_dot(vector_dot(half, rg, red_green), gb, green_blue), 16);
    }
    return VECTOR(packs_epi32)(luma[0], luma[1]);
}

/* mot_luma of bytes. */
static inline vector vector_luma(vector r, vector g, vector b)
{
    const vector_words red = vector_widen(r), green = vector_widen(g), blue = vector_widen(b);
    return vector_narrow((vector_words){ vector_luma_words(red.low, green.low, blue.low),
                                         vector_luma_words(red.high, green.high, blue.high) });
}

#endif
#endif
