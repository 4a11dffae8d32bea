/* SPDX-License-Identifier: Apache-2.0 */
/* Copies RGB pixels between four bytes each, as Pillow keeps them, and packed ones. The fourth byte is not part of the
 * image: it is not written, and that of the last pixel is not read. */
#ifndef MOT_COPY_CPU_H
#define MOT_COPY_CPU_H

#include "kernels/lanes_cpu.h"

#if defined(__AVX512BW__)

/* How far ahead to prefetch, in bytes. Images are not in a cache, and the processor prefetches only up to the end of a
 * page. */
#define COPY_AHEAD 2048

#if defined(__AVX512VBMI__)

#define COPY_CLOSE(j) ((4 * ((j) / 3) + (j) % 3) & 63) /* which byte of spaced pixels is byte j of packed ones */
#define COPY_OPEN(j) (3 * ((j) / 4) + (j) % 4)         /* and back */

static const uint8_t copy_close[64] = LANES_64(COPY_CLOSE, 0), copy_open[64] = LANES_64(COPY_OPEN, 0);

static inline __m512i copy_moved(__m512i v, int from, int to)
{
    return from == to ? v : _mm512_permutexvar_epi8(_mm512_loadu_si512(from == 4 ? copy_close : copy_open), v);
}

#else

/* Within each group of four pixels a shuffle moves the bytes, then whole words change groups. */
static inline __m512i copy_moved(__m512i v, int from, int to)
{
    const __m512i close = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m512i open = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
    const __m512i together = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    const __m512i apart = _mm512_setr_epi32(0, 1, 2, 12, 3, 4, 5, 12, 6, 7, 8, 12, 9, 10, 11, 12);
    if (from == 4 && to == 3)
        return _mm512_permutexvar_epi32(together, _mm512_shuffle_epi8(v, close));
    return from == 3 && to == 4 ? _mm512_shuffle_epi8(_mm512_permutexvar_epi32(apart, v), open) : v;
}

#endif

/* Up to 16 pixels. */
__attribute__((always_inline)) static inline void copy_rgb_16(const uint8_t *in, int from, uint8_t *out, int to,
                                                              size_t pixels)
{
    const __mmask64 packed = ~0ull >> (64 - 3 * pixels);
    const __mmask64 spaced = 0x7777777777777777ull & ~0ull >> (64 - 4 * pixels);
    const __m512i v = _mm512_maskz_loadu_epi8(from == 3 ? packed : spaced, in);
    _mm512_mask_storeu_epi8(out, to == 3 ? packed : spaced, copy_moved(v, from, to));
}

static void copy_rgb(const uint8_t *in, int from, uint8_t *out, int to, size_t n)
{
    size_t x = 0;
    for (; x + 16 <= n; x += 16) {
        _mm_prefetch((const char *)in + x * (size_t)from + COPY_AHEAD, _MM_HINT_T0);
        copy_rgb_16(in + x * (size_t)from, from, out + x * (size_t)to, to, 16);
    }
    if (x < n)
        copy_rgb_16(in + x * (size_t)from, from, out + x * (size_t)to, to, n - x);
}

#else

static void copy_rgb(const uint8_t *in, int from, uint8_t *out, int to, size_t n)
{
    size_t x = 0;
#if defined(__AVX2__)
    /* Four pixels at a time. The next store overwrites a store's last four bytes; the last pixels go one by one. */
    const __m128i close = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    for (; from == 4 && to == 3 && x + 6 <= n; x += 4) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(in + 4 * x));
        _mm_storeu_si128((__m128i *)(void *)(out + 3 * x), _mm_shuffle_epi8(v, close));
    }
#endif
    for (; x < n; x++)
        for (size_t c = 0; c < 3; c++)
            out[x * (size_t)to + c] = in[x * (size_t)from + c];
}

#endif

static int has_rgb(const mot_view *v)
{
    return v->channels == 3 && v->channel == 1 && (v->pixel == 3 || v->pixel == 4);
}

static void copy_pixels(const mot_view *src, const mot_view *dst)
{
    if (!has_rgb(src) || !has_rgb(dst) || (src->pixel == 3 && dst->pixel == 3)) {
        mot_cpu_copy(src, dst);
        return;
    }
    const int dense = src->row == src->width * src->pixel && dst->row == dst->width * dst->pixel;
    const size_t n = dense ? (size_t)src->width * (size_t)src->height : (size_t)src->width;
    for (int y = 0; y < (dense ? 1 : src->height); y++)
        copy_rgb(src->data + y * src->row, (int)src->pixel, dst->data + y * dst->row, (int)dst->pixel, n);
}

#endif
