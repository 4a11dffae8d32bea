/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of bytes: the loops that several shapes share. Compiled once per instruction set, by set_cpu.c. */
#ifndef MOT_LANES_CPU_H
#define MOT_LANES_CPU_H

#include "kernels/cpu.h"
#include "kernels/vectors_cpu.h"

#include <string.h>

#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

/* The next loop's iterations are independent, even if its arrays are the same array. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* builds without optimisation do not vectorise */
#define MOT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define MOT_LANES _Pragma("GCC ivdep")
#endif

#define LANES_BLOCK 512 /* pixels that are split into planes at a time; stays in the L1 cache */

typedef uint8_t lanes_table[256];

#if defined(__AVX512VBMI__)

/* A permutation of bytes looks up 128 entries at once. */
static inline __m512i lanes_look_up(const __m512i quarter[4], __m512i v)
{
    const __m512i low = _mm512_permutex2var_epi8(quarter[0], v, quarter[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarter[2], v, quarter[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(v), high);
}

static void lanes_apply_table(const uint8_t *in, uint8_t *out, size_t n, const lanes_table table)
{
    __m512i quarter[4];
    for (int i = 0; i < 4; i++)
        quarter[i] = _mm512_loadu_si512(table + 64 * i);
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        _mm512_storeu_si512(out + i, lanes_look_up(quarter, _mm512_loadu_si512(in + i)));
    if (i < n) {
        const __mmask64 rest = ~0ull >> (64 - (n - i));
        _mm512_mask_storeu_epi8(out + i, rest, lanes_look_up(quarter, _mm512_maskz_loadu_epi8(rest, in + i)));
    }
}

#elif defined(__AVX512BW__)

/* 64 look-ups at once: in each of the table's 16 rows by the low four bits, then a tree of blends by the high four. */
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

#elif defined(__ARM_NEON) && defined(__aarch64__)

/* A quarter of the table a look-up: an index beyond it leaves what the others found. */
static void lanes_apply_table(const uint8_t *in, uint8_t *out, size_t n, const lanes_table table)
{
    uint8x16x4_t quarter[4];
    for (int q = 0; q < 4; q++)
        for (int k = 0; k < 4; k++)
            quarter[q].val[k] = vld1q_u8(table + 64 * q + 16 * k);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint8x16_t v = vld1q_u8(in + i);
        uint8x16_t found = vqtbl4q_u8(quarter[0], v);
        found = vqtbx4q_u8(found, quarter[1], vsubq_u8(v, vdupq_n_u8(64)));
        found = vqtbx4q_u8(found, quarter[2], vsubq_u8(v, vdupq_n_u8(128)));
        found = vqtbx4q_u8(found, quarter[3], vsubq_u8(v, vdupq_n_u8(192)));
        vst1q_u8(out + i, found);
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

#if defined(__AVX512VBMI__)

/* Three channels, 64 pixels at a time. A permutation takes bytes from two vectors at once and a second one those of the
 * third, by the same indices; byte j of the three vectors of pixels is channel j % 3 of pixel j / 3. */
#define LANES_16(f, i) \
    f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5), f(i + 6), f(i + 7), f(i + 8), f(i + 9), f(i + 10), \
        f(i + 11), f(i + 12), f(i + 13), f(i + 14), f(i + 15)
#define LANES_64(f, i) \
    { \
        LANES_16(f, i), LANES_16(f, i + 16), LANES_16(f, i + 32), LANES_16(f, i + 48) \
    }
#define LANES_PLANE_0(i) (3 * (i)&127) /* index of channel 0 of pixel i */
#define LANES_PLANE_1(i) ((3 * (i) + 1) & 127)
#define LANES_PLANE_2(i) ((3 * (i) + 2) & 127)
#define LANES_PIXEL(j) (((j) % 3 * 64 + (j) / 3) & 127) /* and back */

static const uint8_t lanes_to_plane[3][64] = { LANES_64(LANES_PLANE_0, 0), LANES_64(LANES_PLANE_1, 0),
                                               LANES_64(LANES_PLANE_2, 0) };
static const uint64_t lanes_from_third[3] = { ~0ull << 43, ~0ull << 43, ~0ull << 42 };
static const uint8_t lanes_to_pixels[3][64] = { LANES_64(LANES_PIXEL, 0), LANES_64(LANES_PIXEL, 64),
                                                LANES_64(LANES_PIXEL, 128) };
static const uint64_t lanes_from_blue[3] = { 0x4924924924924924, 0x2492492492492492, 0x9249249249249249 };

static inline __m512i lanes_of_three(const __m512i *three, const uint8_t *places, uint64_t third)
{
    const __m512i index = _mm512_loadu_si512(places);
    return _mm512_mask_permutexvar_epi8(_mm512_permutex2var_epi8(three[0], index, three[1]), third, index, three[2]);
}

static inline size_t lanes_split_3(const uint8_t *in, size_t n, uint8_t (*plane)[LANES_BLOCK])
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64, in += 192) {
        const __m512i three[3] = { _mm512_loadu_si512(in), _mm512_loadu_si512(in + 64), _mm512_loadu_si512(in + 128) };
        for (int c = 0; c < 3; c++)
            _mm512_storeu_si512(plane[c] + i, lanes_of_three(three, lanes_to_plane[c], lanes_from_third[c]));
    }
    return i;
}

static inline size_t lanes_merge_3(const uint8_t (*plane)[LANES_BLOCK], size_t n, uint8_t *out)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64, out += 192) {
        const __m512i three[3] = { _mm512_loadu_si512(plane[0] + i), _mm512_loadu_si512(plane[1] + i),
                                   _mm512_loadu_si512(plane[2] + i) };
        for (int k = 0; k < 3; k++)
            _mm512_storeu_si512(out + 64 * k, lanes_of_three(three, lanes_to_pixels[k], lanes_from_blue[k]));
    }
    return i;
}

#define LANES_SPREAD(j) ((j) / 3)

static const uint8_t lanes_to_three[3][64] = { LANES_64(LANES_SPREAD, 0), LANES_64(LANES_SPREAD, 64),
                                               LANES_64(LANES_SPREAD, 128) };

static inline size_t lanes_spread_3(const uint8_t *in, size_t n, uint8_t *out)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64, out += 192)
        for (int k = 0; k < 3; k++)
            _mm512_storeu_si512(out + 64 * k, _mm512_permutexvar_epi8(_mm512_loadu_si512(lanes_to_three[k]),
                                                                      _mm512_loadu_si512(in + i)));
    return i;
}

#elif defined(__AVX2__)

/* Three channels, 32 pixels at a time, as two groups of 16 pixels in the two halves of a register. Byte j of the
 * group's vector k is channel (16 k + j) % 3: so each channel takes every third byte from each of the three vectors, at
 * places that do not overlap, and one blend and one shuffle join them. */
#define LANES_16(f) f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)
#define LANES_32(f) _mm256_setr_epi8(LANES_16(f), LANES_16(f))
#define LANES_IS_0(j) (j % 3 == 0 ? -1 : 0)
#define LANES_IS_1(j) (j % 3 == 1 ? -1 : 0)
#define LANES_IS_2(j) (j % 3 == 2 ? -1 : 0)
#define LANES_FROM_0(p) (3 * p % 16) /* index of channel 0 of pixel p after the blend */
#define LANES_FROM_1(p) ((3 * p + 1) % 16)
#define LANES_FROM_2(p) ((3 * p + 2) % 16)
#define LANES_TO_0(j) (j % 3 == 0 ? j / 3 : j % 3 == 2 ? (16 + j) / 3 : (32 + j) / 3) /* and back */
#define LANES_TO_1(j) (j % 3 == 1 ? j / 3 : j % 3 == 0 ? (16 + j) / 3 : (32 + j) / 3)
#define LANES_TO_2(j) (j % 3 == 2 ? j / 3 : j % 3 == 1 ? (16 + j) / 3 : (32 + j) / 3)

static inline __m256i lanes_pair(const uint8_t *low, const uint8_t *high)
{
    const __m128i l = _mm_loadu_si128((const __m128i *)(const void *)low);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(l), _mm_loadu_si128((const __m128i *)(const void *)high), 1);
}

static inline __m256i lanes_choose(__m256i first, __m256i second, __m256i third, __m256i is_first, __m256i is_second)
{
    return _mm256_blendv_epi8(_mm256_blendv_epi8(third, second, is_second), first, is_first);
}

static inline size_t lanes_split_3(const uint8_t *in, size_t n, uint8_t (*plane)[LANES_BLOCK])
{
    const __m256i is_0 = LANES_32(LANES_IS_0), is_1 = LANES_32(LANES_IS_1), is_2 = LANES_32(LANES_IS_2);
    const __m256i from_0 = LANES_32(LANES_FROM_0), from_1 = LANES_32(LANES_FROM_1), from_2 = LANES_32(LANES_FROM_2);
    size_t i = 0;
    for (; i + 32 <= n; i += 32, in += 96) {
        const __m256i a = lanes_pair(in, in + 48), b = lanes_pair(in + 16, in + 64), c = lanes_pair(in + 32, in + 80);
        const __m256i p0 = _mm256_shuffle_epi8(lanes_choose(a, b, c, is_0, is_2), from_0);
        const __m256i p1 = _mm256_shuffle_epi8(lanes_choose(a, b, c, is_1, is_0), from_1);
        const __m256i p2 = _mm256_shuffle_epi8(lanes_choose(a, b, c, is_2, is_1), from_2);
        _mm256_storeu_si256((__m256i *)(void *)(plane[0] + i), p0);
        _mm256_storeu_si256((__m256i *)(void *)(plane[1] + i), p1);
        _mm256_storeu_si256((__m256i *)(void *)(plane[2] + i), p2);
    }
    return i;
}

static inline size_t lanes_merge_3(const uint8_t (*plane)[LANES_BLOCK], size_t n, uint8_t *out)
{
    const __m256i is_0 = LANES_32(LANES_IS_0), is_1 = LANES_32(LANES_IS_1), is_2 = LANES_32(LANES_IS_2);
    const __m256i to_0 = LANES_32(LANES_TO_0), to_1 = LANES_32(LANES_TO_1), to_2 = LANES_32(LANES_TO_2);
    size_t i = 0;
    for (; i + 32 <= n; i += 32, out += 96) {
        const __m256i r = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(const void *)(plane[0] + i)), to_0);
        const __m256i g = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(const void *)(plane[1] + i)), to_1);
        const __m256i b = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(const void *)(plane[2] + i)), to_2);
        const __m256i three[3] = { lanes_choose(r, g, b, is_0, is_1), lanes_choose(r, g, b, is_2, is_0),
                                   lanes_choose(r, g, b, is_1, is_2) };
        for (int k = 0; k < 3; k++) {
            _mm_storeu_si128((__m128i *)(void *)(out + 16 * k), _mm256_castsi256_si128(three[k]));
            _mm_storeu_si128((__m128i *)(void *)(out + 48 + 16 * k), _mm256_extracti128_si256(three[k], 1));
        }
    }
    return i;
}

#define LANES_SPREAD_0(j) (j / 3)
#define LANES_SPREAD_1(j) ((16 + j) / 3)
#define LANES_SPREAD_2(j) ((32 + j) / 3)

static inline size_t lanes_spread_3(const uint8_t *in, size_t n, uint8_t *out)
{
    const __m256i to_three[3] = { LANES_32(LANES_SPREAD_0), LANES_32(LANES_SPREAD_1), LANES_32(LANES_SPREAD_2) };
    size_t i = 0;
    for (; i + 32 <= n; i += 32, out += 96) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(in + i));
        for (int k = 0; k < 3; k++) {
            const __m256i spread = _mm256_shuffle_epi8(v, to_three[k]);
            _mm_storeu_si128((__m128i *)(void *)(out + 16 * k), _mm256_castsi256_si128(spread));
            _mm_storeu_si128((__m128i *)(void *)(out + 48 + 16 * k), _mm256_extracti128_si256(spread, 1));
        }
    }
    return i;
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

static inline size_t lanes_split_3(const uint8_t *in, size_t n, uint8_t (*plane)[LANES_BLOCK])
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint8x16x3_t three = vld3q_u8(in + 3 * i);
        for (int c = 0; c < 3; c++)
            vst1q_u8(plane[c] + i, three.val[c]);
    }
    return i;
}

static inline size_t lanes_merge_3(const uint8_t (*plane)[LANES_BLOCK], size_t n, uint8_t *out)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint8x16x3_t three = { { vld1q_u8(plane[0] + i), vld1q_u8(plane[1] + i), vld1q_u8(plane[2] + i) } };
        vst3q_u8(out + 3 * i, three); /* in Clang a macro, which would split a literal at its commas */
    }
    return i;
}

static inline size_t lanes_spread_3(const uint8_t *in, size_t n, uint8_t *out)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint8x16_t v = vld1q_u8(in + i);
        const uint8x16x3_t three = { { v, v, v } };
        vst3q_u8(out + 3 * i, three);
    }
    return i;
}

#else

static inline size_t lanes_spread_3(const uint8_t *in, size_t n, uint8_t *out)
{
    (void)in, (void)n, (void)out;
    return 0;
}

static inline size_t lanes_split_3(const uint8_t *in, size_t n, uint8_t (*plane)[LANES_BLOCK])
{
    (void)in, (void)n, (void)plane;
    return 0;
}

static inline size_t lanes_merge_3(const uint8_t (*plane)[LANES_BLOCK], size_t n, uint8_t *out)
{
    (void)plane, (void)n, (void)out;
    return 0;
}

#endif

/* Splits n packed pixels into planes, and joins them again. */
static inline void lanes_split(const uint8_t *in, int channels, size_t n, uint8_t (*plane)[LANES_BLOCK])
{
    if (channels == 3)
        for (size_t i = lanes_split_3(in, n, plane); i < n; i++)
            for (size_t c = 0; c < 3; c++)
                plane[c][i] = in[3 * i + c];
    else if (channels == 4)
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < 4; c++)
                plane[c][i] = in[4 * i + c];
    else
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < 2; c++)
                plane[c][i] = in[2 * i + c];
}

static inline void lanes_merge(const uint8_t (*plane)[LANES_BLOCK], int channels, size_t n, uint8_t *out)
{
    if (channels == 3)
        for (size_t i = lanes_merge_3(plane, n, out); i < n; i++)
            for (size_t c = 0; c < 3; c++)
                out[3 * i + c] = plane[c][i];
    else if (channels == 4)
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < 4; c++)
                out[4 * i + c] = plane[c][i];
    else
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < 2; c++)
                out[2 * i + c] = plane[c][i];
}

/* Writes each of n bytes three times: the grey of packed RGB. */
static inline void lanes_spread(const uint8_t *in, size_t n, uint8_t *out)
{
    for (size_t i = lanes_spread_3(in, n, out); i < n; i++)
        out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = in[i];
}

static inline void lanes_luma(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n, uint8_t *out)
{
    size_t i = 0;
#ifdef MOT_HAS_VECTORS
    for (; i + VECTOR_BYTES <= n; i += VECTOR_BYTES)
        vector_store(out + i, vector_luma(vector_load(r + i), vector_load(g + i), vector_load(b + i)));
#endif
    for (; i < n; i++)
        out[i] = mot_luma(r[i], g[i], b[i]);
}

/* mot_blend of each byte of `from` with one of `to`; out may be either. */
static inline void lanes_blend(const uint8_t *from, const uint8_t *to, float factor, size_t n, uint8_t *out)
{
    size_t i = 0;
#ifdef MOT_HAS_VECTORS
    for (; i + VECTOR_BYTES <= n; i += VECTOR_BYTES)
        vector_store(out + i, vector_blend(vector_load(from + i), vector_load(to + i), factor));
#endif
    for (; i < n; i++)
        out[i] = mot_blend(from[i], to[i], factor);
}

static inline uint32_t lanes_sum(const uint8_t *in, size_t n)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += in[i];
    return sum;
}

/* An image as contiguous runs of pixels: its rows, or a single run if the image is dense. */
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
