/* SPDX-License-Identifier: Apache-2.0 */
/* RGB in four bytes a pixel, as Pillow keeps it, worked on where it lies, 16 pixels at a time (AVX-512 with VBMI and
 * VNNI). The fourth byte is not part of the image: it is not written, and that of the last pixel is not read. Where a
 * step has no row here, the pixels are copied to packed ones and back. */
#ifndef MOT_SPACED_CPU_H
#define MOT_SPACED_CPU_H

#include "kernels/point_cpu.h"

#if defined(__AVX512VBMI__) && defined(__AVX512VNNI__)
#define MOT_HAS_SPACED 1

#define SPACED_CHANNEL 0x1111111111111111ull /* the bytes of the first channel */
#define SPACED_COLORS (7 * SPACED_CHANNEL)

/* The bytes of up to 16 pixels that are colours. */
static inline __mmask64 spaced_bytes(size_t pixels)
{
    return pixels >= 16 ? SPACED_COLORS : SPACED_COLORS & ~(~0ull << 4 * pixels);
}

/* What becomes of 16 pixels. */
typedef __m512i spaced_change(__m512i pixels, const void *how);

static inline __attribute__((always_inline)) void spaced_each(const mot_view *src, const mot_view *dst,
                                                              spaced_change *change, const void *how)
{
    const lanes_runs runs = lanes_runs_of(src, dst);
    for (int y = 0; y < runs.rows; y++) {
        const uint8_t *in = src->data + y * src->row;
        uint8_t *out = dst->data + y * dst->row;
        for (size_t x = 0; x < runs.length; x += 16) {
            const __mmask64 bytes = spaced_bytes(runs.length - x);
            _mm512_mask_storeu_epi8(out + 4 * x, bytes, change(_mm512_maskz_loadu_epi8(bytes, in + 4 * x), how));
        }
    }
}

/* ---- colours ---- */

/* The sums of which mot_luma is the third byte. Weights are two signed bytes; that of green, which does not fit, counts
 * twice by halves. */
static inline __m512i spaced_luma_sums(__m512i pixels)
{
    const __m128i twice = _mm_setr_epi8(0, 1, 2, 1, 4, 5, 6, 5, 8, 9, 10, 9, 12, 13, 14, 13);
    const __m512i four = _mm512_shuffle_epi8(pixels, _mm512_broadcast_i32x4(twice));
    const __m512i high = _mm512_set1_epi32(75 << 24 | 29 << 16 | 75 << 8 | 77);
    const __m512i low = _mm512_set1_epi32(35 << 24 | 47 << 16 | 35 << 8 | (-117 & 255));
    const __m512i sum = _mm512_slli_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), four, high), 8);
    return _mm512_dpbusd_epi32(_mm512_add_epi32(sum, _mm512_set1_epi32(32768)), four, low);
}

/* The luma of each pixel in all of its colours. */
static inline __m512i spaced_grey(__m512i pixels, const void *how)
{
    (void)how;
    const __m128i third = _mm_setr_epi8(2, 2, 2, -1, 6, 6, 6, -1, 10, 10, 10, -1, 14, 14, 14, -1);
    return _mm512_shuffle_epi8(spaced_luma_sums(pixels), _mm512_broadcast_i32x4(third));
}

static inline __m512i spaced_blended(__m512i pixels, const void *factor)
{
    return vector_blend(spaced_grey(pixels, NULL), pixels, *(const float *)factor);
}

static void spaced_luma(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)steps, (void)count, (void)scratch;
    spaced_each(src, dst, spaced_grey, NULL);
}

static void spaced_blend(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count, (void)scratch;
    spaced_each(src, dst, spaced_blended, &steps[0].arg.factor);
}

/* ---- tables ---- */

static inline __m512i spaced_looked_up(__m512i pixels, const void *table)
{
    return lanes_look_up(table, pixels);
}

/* Each colour in a table of its own. */
static inline __m512i spaced_looked_up_in_three(__m512i pixels, const void *tables)
{
    const __m512i *quarter = tables;
    __m512i found = lanes_look_up(quarter, pixels);
    found = _mm512_mask_mov_epi8(found, SPACED_CHANNEL << 1, lanes_look_up(quarter + 4, pixels));
    return _mm512_mask_mov_epi8(found, SPACED_CHANNEL << 2, lanes_look_up(quarter + 8, pixels));
}

static void spaced_apply_tables(const mot_view *src, const mot_view *dst, const lanes_table *table, int count)
{
    __m512i quarter[12];
    for (int i = 0; i < 4 * count; i++)
        quarter[i] = _mm512_loadu_si512((const uint8_t *)table + 64 * i);
    if (count == 1)
        spaced_each(src, dst, spaced_looked_up, quarter);
    else
        spaced_each(src, dst, spaced_looked_up_in_three, quarter);
}

static void spaced_points(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)scratch;
    lanes_table table;
    for (int v = 0; v < 256; v++)
        table[v] = (uint8_t)v;
    point_run(steps[0].op, &steps[0].arg, table, table, sizeof table);
    follow(table, steps, count);
    spaced_apply_tables(src, dst, (const lanes_table *)&table, 1);
}

static void spaced_ranges(const mot_view *src, lanes_runs runs, mot_stats *stats)
{
    __m512i low = _mm512_set1_epi8(-1), high = _mm512_setzero_si512();
    for (int y = 0; y < runs.rows; y++)
        for (size_t x = 0; x < runs.length; x += 16) {
            const __mmask64 bytes = spaced_bytes(runs.length - x);
            const __m512i pixels = _mm512_maskz_loadu_epi8(bytes, src->data + y * src->row + 4 * x);
            low = _mm512_mask_min_epu8(low, bytes, low, pixels);
            high = _mm512_max_epu8(high, pixels);
        }
    uint8_t lo[64], hi[64];
    _mm512_storeu_si512(lo, low);
    _mm512_storeu_si512(hi, high);
    for (int c = 0; c < 3; c++) {
        stats[c].lo = 255;
        for (int k = c; k < 64; k += 4) {
            stats[c].lo = lo[k] < stats[c].lo ? lo[k] : stats[c].lo;
            stats[c].hi = hi[k] > stats[c].hi ? hi[k] : stats[c].hi;
        }
    }
}

static void spaced_mean(const mot_view *src, lanes_runs runs, mot_stats *stats)
{
    __m512i sums = _mm512_setzero_si512();
    for (int y = 0; y < runs.rows; y++)
        for (size_t x = 0; x < runs.length; x += 16) {
            const __mmask64 bytes = spaced_bytes(runs.length - x);
            const __m512i pixels = _mm512_maskz_loadu_epi8(bytes, src->data + y * src->row + 4 * x);
            const __m512i luma = _mm512_srli_epi32(spaced_luma_sums(pixels), 16);
            sums = _mm512_add_epi64(sums, _mm512_sad_epu8(luma, _mm512_setzero_si512()));
        }
    const uint64_t sum = (uint64_t)_mm512_reduce_add_epi64(sums);
    for (int c = 0; c < 3; c++)
        stats[c].mean = mot_stats_mean(sum, (uint32_t)src->width * (uint32_t)src->height);
}

static void spaced_stats(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)scratch;
    const int needs = stats_needs(steps[0].op);
    const lanes_runs runs = lanes_runs_of(src, src);
    uint32_t below[3][256];
    mot_stats stats[3];
    memset(stats, 0, sizeof stats);
    if (needs == MOT_NEEDS_RANGE)
        spaced_ranges(src, runs, stats);
    else if (needs == MOT_NEEDS_HISTOGRAM)
        find_histograms(src, runs, below, stats);
    else if (needs == MOT_NEEDS_MEAN)
        spaced_mean(src, runs, stats);
    lanes_table table[3];
    stats_tables(src, steps, count, stats, table);
    spaced_apply_tables(src, dst, (const lanes_table *)table, 3);
}

#endif
#endif
