/* SPDX-License-Identifier: Apache-2.0 */
/* FILTER on the CPU: row by row, not in place. Packed pixels are one long row whose neighbours are `channels` bytes
 * apart.
 *
 * A filter whose weights are the same all around needs only sums of squares of 3x3 and 5x5 bytes, in 16 bits. Its exact
 * result rounds as Pillow's sum of floats does, except where that is half a step and Pillow's weights are rounded:
 * there the floats are added. */
#ifndef MOT_FILTER_CPU_H
#define MOT_FILTER_CPU_H

#include "kernels/filter.h"
#include "kernels/lanes_cpu.h"

#include <stdlib.h>

/* One row of the neighbourhood, of `reach` components to each side of in[i]. */
static inline float filter_along(const uint8_t *in, size_t i, size_t step, const float *weight, int reach)
{
    if (reach == 1)
        return in[i - step] * weight[0] + in[i] * weight[1] + in[i + step] * weight[2];
    return in[i - 2 * step] * weight[0] + in[i - step] * weight[1] + in[i] * weight[2] + in[i + step] * weight[3] +
           in[i + 2 * step] * weight[4];
}

/* Pillow's sum at in[i]. */
static inline float filter_sum(const uint8_t *in, int64_t in_row, size_t i, size_t step, const float *weight,
                               float offset, int reach)
{
    const int64_t two_rows = reach == 2 ? 2 * in_row : 0;
    const int taps = 2 * reach + 1;
    float sum = offset;
    if (reach == 2)
        sum += filter_along(in + two_rows, i, step, weight, reach);
    sum += filter_along(in + in_row, i, step, weight + (reach - 1) * taps, reach);
    sum += filter_along(in, i, step, weight + reach * taps, reach);
    sum += filter_along(in - in_row, i, step, weight + (reach + 1) * taps, reach);
    if (reach == 2)
        sum += filter_along(in - two_rows, i, step, weight + 4 * taps, reach);
    return sum;
}

/* Bytes `edge` to n - edge - 1 of an output row; `in` is the row in the middle. */
static inline void filter_row(const uint8_t *in, int64_t in_row, uint8_t *out, size_t edge, size_t n, size_t step,
                              const float *weight, float offset, int reach)
{
    MOT_LANES
    for (size_t i = edge; i < n - edge; i++)
        out[i] = mot_byte(filter_sum(in, in_row, i, step, weight, offset, reach));
}

/* A filter with the same weights all around, times a common factor: `wide` for the 5x5 bytes, `near` for the 3x3 ones
 * and `centre` for the one in the middle add up to the weight of each. */
typedef struct filter_rings {
    int wide, near, centre;
    int divisor, offset; /* the offset is one of the weighted sum */
    int factor, shift;   /* the quotient of n is n factor >> 16 >> shift */
    int unsure;          /* a result of half a step may round either way */
} filter_rings;

/* 0: the filter is of another kind. */
static int filter_find_rings(const mot_filter *filter, filter_rings *rings)
{
    const int side = 2 * filter->reach + 1, middle = side * side / 2;
    const int outer = (int)filter->weight[0], inner = (int)filter->weight[middle - 1];
    int total = 0;
    for (int k = 0; k < side * side; k++) {
        const int x = abs(k % side - filter->reach), y = abs(k / side - filter->reach), ring = x > y ? x : y;
        const int same = ring == 0 ? (int)filter->weight[middle] : ring == 1 ? inner : outer;
        if (filter->weight[k] != (float)same)
            return 0;
        total += abs(same);
    }
    const int scale = filter->divisor == 1 ? 2 : 1, divisor = (int)filter->divisor * scale; /* 2^16 is no factor */
    if (filter->divisor != (float)(divisor / scale) || divisor > 127 ||
        total * scale * 255 + (int)filter->offset * divisor > INT16_MAX)
        return 0;
    rings->wide = filter->reach == 2 ? outer * scale : 0;
    rings->near = inner * scale - rings->wide;
    rings->centre = (int)filter->weight[middle] * scale - inner * scale;
    rings->divisor = divisor;
    rings->offset = (int)filter->offset * divisor;
    rings->shift = 0;
    while (2 << rings->shift < divisor)
        rings->shift++;
    rings->factor = ((65536 << rings->shift) + divisor - 1) / divisor;
    rings->unsure = divisor % 2 == 0 && (divisor & (divisor - 1)) != 0;
    return 1;
}

#if defined(__AVX512BW__)

static inline __m512i filter_load_32(const uint8_t *in)
{
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)in));
}

#endif

/* Sums of the 3 and 5 bytes of each column, at `column` [2][n]. */
static inline void filter_add_columns(const uint8_t *in, int64_t in_row, size_t n, uint16_t *column, int reach)
{
    const uint8_t *const above = in - in_row, *const under = in + in_row;
    size_t begin = 0;
#if defined(__AVX512BW__)
    for (; begin + 32 <= n; begin += 32) {
        const uint8_t *const at = in + begin;
        __m512i sum = _mm512_add_epi16(filter_load_32(at - in_row), filter_load_32(at + in_row));
        sum = _mm512_add_epi16(sum, filter_load_32(at));
        _mm512_storeu_si512(column + begin, sum);
        if (reach == 2) {
            sum = _mm512_add_epi16(sum, filter_load_32(at - 2 * in_row));
            _mm512_storeu_si512(column + n + begin, _mm512_add_epi16(sum, filter_load_32(at + 2 * in_row)));
        }
    }
#endif
    MOT_LANES
    for (size_t i = begin; i < n; i++)
        column[i] = (uint16_t)(above[i] + in[i] + under[i]);
    if (reach < 2)
        return;
    const uint8_t *const above2 = above - in_row, *const under2 = under + in_row;
    MOT_LANES
    for (size_t i = begin; i < n; i++)
        column[n + i] = (uint16_t)(column[i] + above2[i] + under2[i]);
}

#if defined(__AVX512BW__)

/* How filter_sum is computed for 5x5 taps at once: lanes of four dwords hold the first four taps of a row, in the order
 * in which rows are added, of which the fifth has lanes of its own. */
typedef struct filter_lanes {
    __m512i first, fifth; /* which bytes of a row's 16 are its first four taps, and its fifth */
    __m512 weights, ends; /* of the first four rows */
    __m128 last_weights, last_end;
} filter_lanes;

/* step: at most 3, so that a row's taps are in 16 bytes. */
static inline filter_lanes filter_lanes_of(const float *weight, size_t step)
{
    uint32_t first[16], fifth[16];
    float weights[20], ends[20];
    for (uint32_t i = 0; i < 16; i++) {
        first[i] = 0x80808000u | i % 4 * (uint32_t)step;
        fifth[i] = i % 4 ? 0x80808080u : 0x80808000u | 4 * (uint32_t)step;
    }
    for (int i = 0; i < 20; i++) {
        weights[i] = weight[i / 4 * 5 + i % 4];
        ends[i] = i % 4 ? 0 : weight[i / 4 * 5 + 4];
    }
    return (filter_lanes){ _mm512_loadu_si512(first), _mm512_loadu_si512(fifth),  _mm512_loadu_ps(weights),
                           _mm512_loadu_ps(ends),     _mm_loadu_ps(weights + 16), _mm_loadu_ps(ends + 16) };
}

/* filter_sum where 16 bytes from in[i - 2 step] on are in the row. */
static inline float filter_sum_by_lanes(const uint8_t *in, int64_t in_row, size_t i, size_t step,
                                        const filter_lanes *lanes, float offset)
{
    const uint8_t *const from = in + i - 2 * step;
    __m128i row[5];
    for (int r = 0; r < 5; r++)
        row[r] = _mm_loadu_si128((const __m128i *)(const void *)(from + (2 - r) * in_row));
    __m512i four = _mm512_inserti32x4(_mm512_castsi128_si512(row[0]), row[1], 1);
    four = _mm512_inserti32x4(_mm512_inserti32x4(four, row[2], 2), row[3], 3);
    const __m512 taps = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_shuffle_epi8(four, lanes->first)), lanes->weights);
    const __m512 ends = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_shuffle_epi8(four, lanes->fifth)), lanes->ends);
    __m512 sum = _mm512_add_ps(taps, _mm512_permute_ps(taps, 1));
    sum = _mm512_add_ps(sum, _mm512_permute_ps(taps, 2));
    sum = _mm512_add_ps(_mm512_add_ps(sum, _mm512_permute_ps(taps, 3)), ends);
    const __m128i one = row[4];
    const __m128 last =
        _mm_mul_ps(_mm_cvtepi32_ps(_mm_shuffle_epi8(one, _mm512_castsi512_si128(lanes->first))), lanes->last_weights);
    const __m128 end =
        _mm_mul_ps(_mm_cvtepi32_ps(_mm_shuffle_epi8(one, _mm512_castsi512_si128(lanes->fifth))), lanes->last_end);
    __m128 sum_of_last = _mm_add_ss(_mm_add_ss(last, _mm_permute_ps(last, 1)), _mm_permute_ps(last, 2));
    sum_of_last = _mm_add_ss(_mm_add_ss(sum_of_last, _mm_permute_ps(last, 3)), end);
    float whole = offset + _mm512_cvtss_f32(sum);
    whole += _mm_cvtss_f32(_mm512_extractf32x4_ps(sum, 1));
    whole += _mm_cvtss_f32(_mm512_extractf32x4_ps(sum, 2));
    whole += _mm_cvtss_f32(_mm512_extractf32x4_ps(sum, 3));
    return whole + _mm_cvtss_f32(sum_of_last);
}

/* Bytes i to i + 31 of an output row. Returns which of them are half a step. */
static inline __mmask32 filter_rings_32(const uint8_t *in, uint8_t *out, size_t i, size_t n, size_t step,
                                        const filter_rings *r, const uint16_t *column, int reach)
{
    const uint16_t *const three = column + i, *const five = column + n + i;
    __m512i near = _mm512_add_epi16(_mm512_loadu_si512(three - step), _mm512_loadu_si512(three + step));
    near = _mm512_add_epi16(near, _mm512_loadu_si512(three));
    __m512i sum = _mm512_add_epi16(_mm512_mullo_epi16(near, _mm512_set1_epi16((short)r->near)),
                                   _mm512_mullo_epi16(filter_load_32(in + i), _mm512_set1_epi16((short)r->centre)));
    if (reach == 2) {
        __m512i wide = _mm512_add_epi16(_mm512_loadu_si512(five - 2 * step), _mm512_loadu_si512(five - step));
        wide = _mm512_add_epi16(wide, _mm512_loadu_si512(five));
        wide = _mm512_add_epi16(wide, _mm512_loadu_si512(five + step));
        wide = _mm512_add_epi16(wide, _mm512_loadu_si512(five + 2 * step));
        sum = _mm512_add_epi16(sum, _mm512_mullo_epi16(wide, _mm512_set1_epi16((short)r->wide)));
    }
    sum = _mm512_max_epi16(_mm512_add_epi16(sum, _mm512_set1_epi16((short)r->offset)), _mm512_setzero_si512());
    sum = _mm512_min_epi16(sum, _mm512_set1_epi16((short)(255 * r->divisor)));
    const __m512i up = _mm512_add_epi16(sum, _mm512_set1_epi16((short)(r->divisor / 2)));
    const __m512i share = _mm512_mulhi_epu16(up, _mm512_set1_epi16((short)r->factor));
    const __m512i quotient = _mm512_srl_epi16(share, _mm_cvtsi32_si128(r->shift));
    _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm512_cvtepi16_epi8(quotient));
    return _mm512_cmpeq_epi16_mask(_mm512_mullo_epi16(quotient, _mm512_set1_epi16((short)r->divisor)), up);
}

#endif

/* Bytes `edge` to n - edge - 1 of an output row. `column` [2][n]: room for sums. */
static inline __attribute__((always_inline)) void filter_row_of_rings(const uint8_t *in, int64_t in_row, uint8_t *out,
                                                                      size_t edge, size_t n, size_t step,
                                                                      const filter_rings *rings, uint16_t *column,
                                                                      int reach, const float *weight, float offset,
                                                                      uint8_t *unsure)
{
    const filter_rings r = *rings;
    const uint16_t *const three = column, *const five = column + n;
    const size_t end = n - edge;
    size_t begin = edge;
    filter_add_columns(in, in_row, n, column, reach);
#if defined(__AVX512BW__)
    const int by_lanes = reach == 2 && step <= 3;
    const filter_lanes lanes = by_lanes && r.unsure ? filter_lanes_of(weight, step) : (filter_lanes){ 0 };
    uint32_t *const halves = (uint32_t *)(void *)unsure;
    size_t blocks = 0;
    for (; begin + 32 <= end; begin += 32)
        halves[blocks++] = filter_rings_32(in, out, begin, n, step, &r, column, reach);
    for (size_t b = 0; r.unsure && b < blocks; b++)
        for (uint32_t half = halves[b]; half; half &= half - 1) {
            const size_t i = edge + 32 * b + (size_t)__builtin_ctz(half);
            out[i] = mot_byte(by_lanes && i + 16 <= n ? filter_sum_by_lanes(in, in_row, i, step, &lanes, offset)
                                                      : filter_sum(in, in_row, i, step, weight, offset, reach));
        }
#endif
    MOT_LANES
    for (size_t i = begin; i < end; i++) {
        uint16_t sum = (uint16_t)(r.near * (uint16_t)(three[i - step] + three[i] + three[i + step]));
        sum = (uint16_t)(sum + (uint16_t)(r.centre * in[i]));
        if (reach == 2)
            sum = (uint16_t)(sum + (uint16_t)(r.wide * (uint16_t)(five[i - 2 * step] + five[i - step] + five[i] +
                                                                  five[i + step] + five[i + 2 * step])));
        int16_t whole = (int16_t)(sum + r.offset);
        whole = whole < 0 ? 0 : whole;
        whole = whole > 255 * r.divisor ? (int16_t)(255 * r.divisor) : whole;
        const uint16_t up = (uint16_t)(whole + r.divisor / 2);
        const uint16_t quotient = (uint16_t)((uint16_t)((uint32_t)up * (uint16_t)r.factor >> 16) >> r.shift);
        out[i] = (uint8_t)quotient;
        unsure[i] = (uint16_t)(quotient * r.divisor) == up;
    }
    const uint8_t *at = r.unsure && begin < end ? memchr(unsure + begin, 1, end - begin) : NULL;
    while (at) {
        const size_t i = (size_t)(at - unsure);
        out[i] = mot_byte(filter_sum(in, in_row, i, step, weight, offset, reach));
        at = memchr(at + 1, 1, end - i - 1);
    }
}

/* One plane, or all channels of packed pixels: rows of n bytes. Channels behind the first `colors` stay. */
static void filter_plane(const uint8_t *in, int64_t in_row, uint8_t *out, int64_t out_row, size_t n, int height,
                         int channels, int colors, const mot_filter *filter, void *scratch)
{
    const size_t edge = (size_t)(filter->reach * channels), step = (size_t)channels;
    const float offset = filter->offset + 0.5f;
    float weight[25];
    for (int k = 0; k < 25; k++)
        weight[k] = filter->weight[k] / filter->divisor;
    filter_rings rings = { 0 };
    const int has_rings = filter_find_rings(filter, &rings);
    uint16_t *const column = scratch;
    uint8_t *const unsure = (uint8_t *)(column + 2 * n);
    for (int y = 0; y < height; y++, in += in_row, out += out_row) {
        memcpy(out, in, n);
        if (y < filter->reach || y >= height - filter->reach || n <= 2 * edge)
            continue;
        if (has_rings) {
            if (filter->reach == 1)
                filter_row_of_rings(in, in_row, out, edge, n, step, &rings, column, 1, weight, offset, unsure);
            else if (step == 3) /* a constant, for the compiler */
                filter_row_of_rings(in, in_row, out, 6, n, 3, &rings, column, 2, weight, offset, unsure);
            else
                filter_row_of_rings(in, in_row, out, edge, n, step, &rings, column, 2, weight, offset, unsure);
        } else if (filter->reach == 1)
            filter_row(in, in_row, out, edge, n, step, weight, offset, 1);
        else
            filter_row(in, in_row, out, edge, n, step, weight, offset, 2);
        for (size_t i = (size_t)colors; colors < channels && i < n; i += step)
            out[i] = in[i];
    }
}

static void filter_by_rows(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count;
    const mot_filter *const filter = mot_filter_of(steps[0].op);
    if (src->pixel != 1 || src->channels == 1) {
        filter_plane(src->data, src->row, dst->data, dst->row, (size_t)src->width * (size_t)src->channels, src->height,
                     src->channels, mot_color_channels(src), filter, scratch);
        return;
    }
    static const mot_filter nothing = { .reach = 1, .divisor = 1, .weight = { 0, 0, 0, 0, 1 } };
    for (int c = 0; c < src->channels; c++)
        filter_plane(src->data + c * src->channel, src->row, dst->data + c * dst->channel, dst->row, (size_t)src->width,
                     src->height, 1, 1, c < mot_color_channels(src) ? filter : &nothing, scratch);
}

#endif
