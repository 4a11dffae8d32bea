/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of bytes as wide as the instruction set allows: one source for SSE2, AVX2 and AVX-512, and one for NEON. For
 * loops that convert between bytes, words and floats, where the compiler's vectoriser spends most instructions on
 * packing. */
#ifndef MOT_VECTORS_CPU_H
#define MOT_VECTORS_CPU_H

#include "augmentations/op.h"

#include <stddef.h>
#include <string.h>

#if defined(__AVX512BW__) || defined(__AVX2__) || defined(__SSE2__)
#define MOT_HAS_VECTORS 1
#define MOT_HAS_X86_VECTORS 1 /* and VECTOR, which names intrinsics */
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

typedef vector vector_half; /* of the bytes, as words */

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
    vector_half low, high;
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
static inline vector_half vector_blend_words(vector_half from, vector_half to, float factor)
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

/* mot_luma of words that hold bytes. The weight of green does not fit a signed word, so half of it counts twice. */
static inline vector_half vector_luma_words(vector_half r, vector_half g, vector_half b)
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

/* What mot_sharpness blends with: (sum + 4 centre + 6) / 13. The quotient fits the upper half of a product. */
static inline vector_half vector_smooth(vector_half centre, vector_half sum)
{
    const vector five = VECTOR(add_epi16)(sum, VECTOR(slli_epi16)(centre, 2));
    return VECTOR(mulhi_epu16)(VECTOR(add_epi16)(five, VECTOR(set1_epi16)(6)), VECTOR(set1_epi16)(5042));
}

#elif defined(__ARM_NEON) && defined(__aarch64__)
#define MOT_HAS_VECTORS 1
#include <arm_neon.h>

typedef uint8x16_t vector;
typedef uint16x8_t vector_half;
#define VECTOR_BYTES 16

static inline vector vector_load(const void *from)
{
    return vld1q_u8(from);
}

static inline void vector_store(void *to, vector v)
{
    vst1q_u8(to, v);
}

typedef struct vector_words {
    vector_half low, high;
} vector_words;

static inline vector_words vector_widen(vector bytes)
{
    return (vector_words){ vmovl_u8(vget_low_u8(bytes)), vmovl_high_u8(bytes) };
}

static inline vector vector_narrow(vector_words words)
{
    const int16x8_t low = vreinterpretq_s16_u16(words.low), high = vreinterpretq_s16_u16(words.high);
    return vqmovun_high_s16(vqmovun_s16(low), high); /* cut to 0..255 */
}

static inline vector_words vector_add(vector_words a, vector_words b)
{
    return (vector_words){ vaddq_u16(a.low, b.low), vaddq_u16(a.high, b.high) };
}

/* mot_blend of four words that hold bytes, before clamping. */
static inline int32x4_t vector_blend_four(uint16x4_t from, uint16x4_t to, float factor)
{
    const float32x4_t a = vcvtq_f32_u32(vmovl_u16(from)), b = vcvtq_f32_u32(vmovl_u16(to));
    const float32x4_t product = vmulq_f32(vdupq_n_f32(factor), vsubq_f32(b, a));
    return vcvtq_s32_f32(vaddq_f32(a, product));
}

static inline vector_half vector_blend_words(vector_half from, vector_half to, float factor)
{
    const int16x4_t low = vqmovn_s32(vector_blend_four(vget_low_u16(from), vget_low_u16(to), factor));
    const int32x4_t high = vector_blend_four(vget_high_u16(from), vget_high_u16(to), factor);
    return vreinterpretq_u16_s16(vqmovn_high_s32(low, high));
}

/* mot_luma of words that hold bytes. */
static inline vector_half vector_luma_words(vector_half r, vector_half g, vector_half b)
{
    const uint32x4_t half = vdupq_n_u32(32768);
    uint32x4_t low = vmlal_n_u16(half, vget_low_u16(r), 19595), high = vmlal_high_n_u16(half, r, 19595);
    low = vmlal_n_u16(low, vget_low_u16(g), 38470), high = vmlal_high_n_u16(high, g, 38470);
    low = vmlal_n_u16(low, vget_low_u16(b), 7471), high = vmlal_high_n_u16(high, b, 7471);
    return vshrn_high_n_u32(vshrn_n_u32(low, 16), high, 16);
}

/* What mot_sharpness blends with: (sum + 4 centre + 6) / 13. */
static inline vector_half vector_smooth(vector_half centre, vector_half sum)
{
    const vector_half weighted = vaddq_u16(vaddq_u16(sum, vshlq_n_u16(centre, 2)), vdupq_n_u16(6));
    const uint16x4_t low = vshrn_n_u32(vmull_n_u16(vget_low_u16(weighted), 5042), 16);
    return vshrn_high_n_u32(low, vmull_high_n_u16(weighted, 5042), 16);
}

#endif

#ifdef MOT_HAS_VECTORS

/* mot_blend of bytes. */
static inline vector vector_blend(vector from, vector to, float factor)
{
    const vector_words a = vector_widen(from), b = vector_widen(to);
    return vector_narrow(
        (vector_words){ vector_blend_words(a.low, b.low, factor), vector_blend_words(a.high, b.high, factor) });
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
