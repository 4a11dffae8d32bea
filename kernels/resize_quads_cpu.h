/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of a resize where bytes can be permuted and multiplied (AVX-512 with VBMI and VNNI).
 *
 * Both passes multiply four taps at once: a dword of four components times a dword of four 8-bit weights. A weight of
 * 22 bits is three signed bytes, and the three sums are combined modulo 2^32, which is exact because the whole sum
 * fits. Between the passes rows lie as *quads*: the dwords of a quad hold the components of four rows above each other,
 * which is what the vertical pass multiplies; the horizontal pass makes them by the shuffle that packs its results.
 *
 * The horizontal pass makes 16 components of four rows at a time, a block. For each group of four taps it loads the 64
 * bytes that have them, and a permutation brings each dword its four. Where the taps of a block lie further apart, more
 * loads give the dwords that the first does not have. The table says what to load, from where each byte comes, and the
 * weights. No byte outside a row is read, if the row has 64. */
#ifndef MOT_RESIZE_QUADS_CPU_H
#define MOT_RESIZE_QUADS_CPU_H

#include "kernels/resize_axis_cpu.h"
#include "kernels/resize_rows_cpu.h"

/* The dwords of a block in the order in which packed results, or unpacked rows, hold them; and back. */
#define QUADS_TURNED _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)

/* ---- tables ---- */

/* Four taps' weights as bytes of dwords, the lowest part first. */
static inline void quads_split(const int32_t *weight, size_t step, int32_t part[3])
{
    uint32_t sum[3] = { 0 };
    for (int t = 0; t < 4; t++) { /* the bytes are signed: a half of 128 is added to the lower two, and taken off */
        const uint32_t biased = (uint32_t)weight[(size_t)t * step] + 0x8080;
        sum[0] |= (biased & 255) << 8 * t;
        sum[1] |= (biased >> 8 & 255) << 8 * t;
        sum[2] |= (biased >> 16 & 255) << 8 * t;
    }
    part[0] = (int32_t)(sum[0] ^ 0x80808080u);
    part[1] = (int32_t)(sum[1] ^ 0x80808080u);
    part[2] = (int32_t)sum[2];
}

/* Whether lower parts of weights are zero, as those of a bilinear enlargement to twice the size. */
static inline int quads_are_coarse(const int32_t *parts, size_t count)
{
    int32_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= parts[i];
    return any == 0;
}

typedef struct quads_columns {
    int blocks, groups;
    int coarse;             /* only the highest part of any weight is not zero; found if there is one group */
    int loads;              /* the most of any group */
    size_t room;            /* loads that there is room for */
    int32_t *offset;        /* [blocks][groups][room]: bytes from the row's start */
    uint64_t *has;          /* [blocks][groups][room]: the bytes that this load gives */
    uint8_t (*vectors)[64]; /* [blocks][groups][4]: places in the load, then the weights' parts, the highest first */
} quads_columns;

static inline size_t quads_most_loads(int channels)
{
    return (size_t)((16 + channels - 1) / channels); /* one for each pixel of a block */
}

static inline size_t quads_columns_bytes(int in, int out, int channels)
{
    const size_t groups = resize_most_taps(in, out) / 4, blocks = ((size_t)out * (size_t)channels + 15) / 16;
    const size_t loads = quads_most_loads(channels);
    return resize_axis_bytes(in, out) + 3 * groups * (resize_outs(out) + 16) * sizeof(int32_t) +
           blocks * groups * (loads * (sizeof(int32_t) + sizeof(uint64_t)) + 256) + 6 * MOT_CPU_ALIGN;
}

/* Chooses loads of 64 bytes for a group: every dword whose taps are from `low` to `last` gets its place in one. */
static inline __m512i quads_choose(quads_columns *table, size_t group, __m512i low, __m512i last, __mmask16 left,
                                   int64_t row_bytes)
{
    __m512i place = _mm512_setzero_si512();
    int32_t *const offset = table->offset + group * table->room;
    uint64_t *const has = table->has + group * table->room;
    int loads = 0;
    do {
        const int64_t least = left ? _mm512_mask_reduce_min_epi32(left, low) : 0;
        const int base = (int)(least < row_bytes - 64 ? least : row_bytes - 64);
        const __mmask16 in = _mm512_mask_cmple_epi32_mask(left, last, _mm512_set1_epi32(base + 63));
        place = _mm512_mask_sub_epi32(place, in, low, _mm512_set1_epi32(base));
        offset[loads] = base;
        has[loads++] = (uint64_t)_mm512_movepi8_mask(_mm512_movm_epi32(in));
        left = (__mmask16)(left & ~in);
    } while (left);
    table->loads = loads > table->loads ? loads : table->loads;
    for (size_t l = (size_t)loads; l < table->room; l++)
        offset[l] = offset[0], has[l] = 0;
    return place;
}

/* Mirrors the windows of an axis. */
static inline void quads_mirror(const resize_axis *axis)
{
    for (int a = 0, b = axis->out - 1; a < b; a++, b--) {
        const int32_t first = axis->first[a], count = axis->count[a];
        axis->first[a] = axis->first[b], axis->count[a] = axis->count[b];
        axis->first[b] = first, axis->count[b] = count;
    }
}

/* The parts of all weights, [groups][3][step]. */
static int32_t *quads_parts(const resize_axis *axis, int flip, size_t step, uint8_t **memory)
{
    const size_t groups = (size_t)axis->taps / 4;
    int32_t *const parts = (int32_t *)(void *)resize_take(memory, 3 * groups * step * sizeof *parts);
    for (size_t g = 0; g < groups; g++)
        for (int i = 0; i < axis->out; i++) {
            int32_t part[3];
            quads_split(axis->weight + 4 * g * axis->outs + i, axis->outs, part);
            for (size_t k = 0; k < 3; k++)
                parts[(3 * g + k) * step + (size_t)(flip ? axis->out - 1 - i : i)] = part[k];
        }
    return parts;
}

/* The table of the columns for rows of `row_bytes`, 64 or more, with `pixel` bytes from one pixel to the next; a flip
 * reverses the outputs. */
static quads_columns quads_columns_of(const resize_task *task, int channels, int pixel, int64_t row_bytes,
                                      uint8_t **memory)
{
    const resize_axis made = resize_axis_of(&task->axis[0], task->span[0], memory);
    const size_t step = made.outs + 16, blocks = ((size_t)made.out * (size_t)channels + 15) / 16;
    const int32_t *const parts = quads_parts(&made, task->flip, step, memory);
    if (task->flip)
        quads_mirror(&made);
    quads_columns table = { .blocks = (int)blocks, .groups = made.taps / 4, .room = quads_most_loads(channels) };
    const size_t groups = blocks * (size_t)table.groups;
    table.coarse = table.groups == 1 && quads_are_coarse(parts, (size_t)made.out) &&
                   quads_are_coarse(parts + step, (size_t)made.out);
    table.offset = (int32_t *)(void *)resize_take(memory, groups * table.room * sizeof *table.offset);
    table.has = (uint64_t *)(void *)resize_take(memory, groups * table.room * sizeof *table.has);
    table.vectors = (uint8_t(*)[64])(void *)resize_take(memory, groups * 256);
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i spread = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
    const __m512i taps = _mm512_set1_epi32(pixel << 8 | 2 * pixel << 16 | 3 * pixel << 24);
    const __m512i stride = _mm512_set1_epi32(pixel), four = _mm512_set1_epi32(4 * pixel);
    const int share = channels == 3 ? 171 : 512 / channels; /* of 512: the division is exact for the numbers here */
    for (size_t b = 0, group = 0; b < blocks; b++) {
        const int from = (int)(16 * b) / channels, skipped = (int)(16 * b) % channels;
        const __m512i component = _mm512_add_epi32(lanes, _mm512_set1_epi32(skipped));
        const __m512i of = _mm512_srli_epi32(_mm512_mullo_epi32(component, _mm512_set1_epi32(share)), 9);
        const __m512i channel = _mm512_sub_epi32(component, _mm512_mullo_epi32(of, _mm512_set1_epi32(channels)));
        const __m512i output = _mm512_min_epi32(of, _mm512_set1_epi32(made.out - 1 - from));
        const __m512i first = _mm512_permutexvar_epi32(output, _mm512_loadu_si512(made.first + from));
        const __m512i count = _mm512_permutexvar_epi32(output, _mm512_loadu_si512(made.count + from));
        const __m512i others = _mm512_sub_epi32(count, _mm512_set1_epi32(1));
        __m512i low = _mm512_add_epi32(_mm512_mullo_epi32(first, stride), channel);
        const __m512i end = _mm512_add_epi32(low, _mm512_mullo_epi32(others, stride));
        for (int g = 0; g < table.groups; g++, group++, low = _mm512_add_epi32(low, four)) {
            const __mmask16 active = _mm512_cmpgt_epi32_mask(count, _mm512_set1_epi32(4 * g));
            const __m512i last = _mm512_min_epi32(end, _mm512_add_epi32(low, _mm512_set1_epi32(3 * pixel)));
            const __m512i place = quads_choose(&table, group, low, last, active, row_bytes);
            uint8_t(*const vectors)[64] = table.vectors + 4 * group;
            _mm512_store_si512(vectors[0], _mm512_add_epi8(_mm512_shuffle_epi8(place, spread), taps));
            for (size_t k = 0; k < 3; k++) {
                const __m512i part = _mm512_loadu_si512(parts + (3 * (size_t)g + k) * step + from);
                _mm512_store_si512(vectors[3 - k], _mm512_permutexvar_epi32(output, part));
            }
        }
    }
    return table;
}

typedef struct quads_rows {
    int32_t *first; /* [out]: the first quad of the window */
    int32_t *count; /* [out]: quads */
    int32_t *parts; /* [out][3][room]: the weights' parts, the highest first */
    size_t room;
} quads_rows;

static inline size_t quads_most(int in, int out)
{
    return resize_most_taps(in, out) / 4 + 1;
}

static inline size_t quads_rows_bytes(int in, int out)
{
    return resize_axis_bytes(in, out) + resize_round_up((size_t)out * 3 * quads_most(in, out) * sizeof(int32_t));
}

static quads_rows quads_rows_of(const resize_task *task, uint8_t **memory)
{
    const resize_axis made = resize_axis_of(&task->axis[1], task->span[1], memory);
    quads_rows table = { made.first, made.count, NULL, (size_t)made.taps / 4 + 1 };
    table.parts = (int32_t *)(void *)resize_take(memory, (size_t)made.out * 3 * table.room * sizeof *table.parts);
    for (int i = 0; i < made.out; i++) {
        const int first = made.first[i], count = made.count[i], until = first + count;
        const int quads = (until + 3) / 4 - first / 4;
        int32_t *const parts = table.parts + (size_t)i * 3 * table.room;
        for (int q = 0; q < quads; q++) {
            int32_t weight[4], part[3];
            for (int k = 0; k < 4; k++) {
                const int t = 4 * (first / 4 + q) + k - first;
                weight[k] = t >= 0 && t < count ? made.weight[(size_t)t * made.outs + (size_t)i] : 0;
            }
            quads_split(weight, 1, part);
            for (int k = 0; k < 3; k++)
                parts[(2 - k) * quads + q] = part[k];
        }
        table.first[i] = first / 4;
        table.count[i] = quads;
    }
    return table;
}

/* ---- passes ---- */

#define QUADS_HALF (1 << (MOT_RESIZE_BITS - 1 - 16)) /* in the highest part of a sum */

static inline __m512i quads_combined(__m512i high, __m512i middle, __m512i low)
{
    const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(high, 8), middle);
    return _mm512_add_epi32(_mm512_slli_epi32(upper, 8), low);
}

/* Four vectors of sums as bytes; each 128 bits have four of each vector. */
static inline __m512i quads_packed(const __m512i sum[4])
{
    __m512i whole[4];
    for (int k = 0; k < 4; k++)
        whole[k] = _mm512_srai_epi32(sum[k], MOT_RESIZE_BITS);
    return _mm512_packus_epi16(_mm512_packs_epi32(whole[0], whole[1]), _mm512_packs_epi32(whole[2], whole[3]));
}

/* The taps of one group in a row; loads 0: as many as the table says. */
static inline __attribute__((always_inline)) __m512i quads_taps(const quads_columns *table, const uint8_t *row,
                                                                size_t group, int loads, __m512i places)
{
    const int32_t *offset = table->offset + group * table->room;
    __m512i taps = _mm512_permutexvar_epi8(places, _mm512_loadu_si512(row + offset[0]));
    for (int l = 1; l < (loads ? loads : table->loads); l++)
        taps = _mm512_mask_permutexvar_epi8(taps, table->has[group * table->room + (size_t)l], places,
                                            _mm512_loadu_si512(row + offset[l]));
    return taps;
}

/* Writes block b of four rows, packed, to a quad, or to rows if there is no quad. */
static inline void quads_store(__m512i bytes, size_t b, uint8_t *const out[4], uint8_t *quad)
{
    if (quad) {
        const __m128i turn = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        _mm512_store_si512(quad + 64 * b, _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(turn)));
        return;
    }
    const __m512i rows = _mm512_permutexvar_epi32(QUADS_TURNED, bytes);
    _mm_storeu_si128((__m128i *)(void *)(out[0] + 16 * b), _mm512_castsi512_si128(rows));
    _mm_storeu_si128((__m128i *)(void *)(out[1] + 16 * b), _mm512_extracti32x4_epi32(rows, 1));
    _mm_storeu_si128((__m128i *)(void *)(out[2] + 16 * b), _mm512_extracti32x4_epi32(rows, 2));
    _mm_storeu_si128((__m128i *)(void *)(out[3] + 16 * b), _mm512_extracti32x4_epi32(rows, 3));
}

/* The horizontal pass of four rows, into a quad, or into rows if there is no quad. groups 0: any number. parts: 3, or 1
 * if the others are zero. */
static inline __attribute__((always_inline)) void quads_along_as(const uint8_t *const in[4], uint8_t *const out[4],
                                                                 uint8_t *quad, const quads_columns *table, int groups,
                                                                 int loads, int parts)
{
    for (size_t b = 0; b < (size_t)table->blocks; b++) {
        const size_t first = b * (size_t)table->groups;
        const uint8_t(*vectors)[64] = (const uint8_t(*)[64])table->vectors + 4 * first;
        __m512i sum[4];
        if (groups) { /* the taps stay in registers, and one sum grows from its highest part down */
            __m512i taps[4][4];
            for (int g = 0; g < groups; g++)
                for (int r = 0; r < 4; r++)
                    taps[g][r] = quads_taps(table, in[r], first + (size_t)g, loads, _mm512_load_si512(vectors[4 * g]));
            for (int r = 0; r < 4; r++)
                sum[r] = _mm512_set1_epi32(QUADS_HALF);
            for (int part = 1; part <= parts; part++) {
                for (int r = 0; r < 4 && part > 1; r++)
                    sum[r] = _mm512_slli_epi32(sum[r], 8);
                for (int g = 0; g < groups; g++)
                    for (int r = 0; r < 4; r++)
                        sum[r] = _mm512_dpbusd_epi32(sum[r], taps[g][r], _mm512_load_si512(vectors[4 * g + part]));
            }
            for (int r = 0; r < 4 && parts == 1; r++)
                sum[r] = _mm512_slli_epi32(sum[r], 16);
        } else {
            __m512i high[4], middle[4], low[4];
            for (int r = 0; r < 4; r++) {
                high[r] = _mm512_set1_epi32(QUADS_HALF);
                middle[r] = low[r] = _mm512_setzero_si512();
            }
            for (int g = 0; g < table->groups; g++, vectors += 4)
                for (int r = 0; r < 4; r++) {
                    const __m512i taps =
                        quads_taps(table, in[r], first + (size_t)g, loads, _mm512_load_si512(vectors[0]));
                    high[r] = _mm512_dpbusd_epi32(high[r], taps, _mm512_load_si512(vectors[1]));
                    middle[r] = _mm512_dpbusd_epi32(middle[r], taps, _mm512_load_si512(vectors[2]));
                    low[r] = _mm512_dpbusd_epi32(low[r], taps, _mm512_load_si512(vectors[3]));
                }
            for (int r = 0; r < 4; r++)
                sum[r] = quads_combined(high[r], middle[r], low[r]);
        }
        quads_store(quads_packed(sum), b, out, quad);
    }
}

static void quads_along(const uint8_t *const in[4], uint8_t *const out[4], uint8_t *quad, const quads_columns *table)
{
    const int loads = table->loads <= 4 ? table->loads : 0;
    const int groups = table->groups <= 3 && loads >= 1 && loads <= 2 ? table->groups : 0;
    if (table->coarse && groups == 1 && loads == 1) {
        quads_along_as(in, out, quad, table, 1, 1, 1);
        return;
    }
    switch (8 * groups + loads) { /* constants, for the compiler */
    case 8 * 1 + 1:
        quads_along_as(in, out, quad, table, 1, 1, 3);
        break;
    case 8 * 1 + 2:
        quads_along_as(in, out, quad, table, 1, 2, 3);
        break;
    case 8 * 2 + 1:
        quads_along_as(in, out, quad, table, 2, 1, 3);
        break;
    case 8 * 2 + 2:
        quads_along_as(in, out, quad, table, 2, 2, 3);
        break;
    case 8 * 3 + 1:
        quads_along_as(in, out, quad, table, 3, 1, 3);
        break;
    case 8 * 3 + 2:
        quads_along_as(in, out, quad, table, 3, 2, 3);
        break;
    case 1:
        quads_along_as(in, out, quad, table, 0, 1, 3);
        break;
    case 2:
        quads_along_as(in, out, quad, table, 0, 2, 3);
        break;
    case 3:
        quads_along_as(in, out, quad, table, 0, 3, 3);
        break;
    case 4:
        quads_along_as(in, out, quad, table, 0, 4, 3);
        break;
    default:
        quads_along_as(in, out, quad, table, 0, 0, 3);
    }
}

/* The vertical pass: one row of n bytes from `count` quads. known: count, if it is at most 4, else 0. all: the parts
 * that are not zero, 3 or 1. */
static inline __attribute__((always_inline)) void
quads_down_as(const uint8_t *const *quads, int count, const int32_t *parts, uint8_t *out, size_t n, int known, int all)
{
    __m512i weights[3][4];
    for (int part = 0; part < all; part++)
        for (int q = 0; q < known; q++)
            weights[part][q] = _mm512_set1_epi32(parts[part * known + q]);
    for (size_t i = 0; i < n; i += 64) {
        __m512i sum[4];
        if (known) {
            for (int k = 0; k < 4; k++) {
                __m512i taps[4];
                for (int q = 0; q < known; q++)
                    taps[q] = _mm512_load_si512(quads[q] + 4 * i + 64 * (size_t)k);
                sum[k] = _mm512_set1_epi32(QUADS_HALF);
                for (int part = 0; part < all; part++) {
                    if (part > 0)
                        sum[k] = _mm512_slli_epi32(sum[k], 8);
                    for (int q = 0; q < known; q++)
                        sum[k] = _mm512_dpbusd_epi32(sum[k], taps[q], weights[part][q]);
                }
                if (all == 1)
                    sum[k] = _mm512_slli_epi32(sum[k], 16);
            }
        } else {
            __m512i high[4], middle[4], low[4];
            for (int k = 0; k < 4; k++) {
                high[k] = _mm512_set1_epi32(QUADS_HALF);
                middle[k] = low[k] = _mm512_setzero_si512();
            }
            for (int q = 0; q < count; q++) {
                const __m512i high_weights = _mm512_set1_epi32(parts[q]);
                const __m512i middle_weights = _mm512_set1_epi32(parts[count + q]);
                const __m512i low_weights = _mm512_set1_epi32(parts[2 * count + q]);
                for (int k = 0; k < 4; k++) {
                    const __m512i taps = _mm512_load_si512(quads[q] + 4 * i + 64 * (size_t)k);
                    high[k] = _mm512_dpbusd_epi32(high[k], taps, high_weights);
                    middle[k] = _mm512_dpbusd_epi32(middle[k], taps, middle_weights);
                    low[k] = _mm512_dpbusd_epi32(low[k], taps, low_weights);
                }
            }
            for (int k = 0; k < 4; k++)
                sum[k] = quads_combined(high[k], middle[k], low[k]);
        }
        const __m512i bytes = _mm512_permutexvar_epi32(QUADS_TURNED, quads_packed(sum));
        if (i + 64 <= n)
            _mm512_storeu_si512(out + i, bytes);
        else
            _mm512_mask_storeu_epi8(out + i, ~0ull >> (64 - (n - i)), bytes);
    }
}

static void quads_down(const uint8_t *const *quads, int count, const int32_t *parts, uint8_t *out, size_t n)
{
    if (count <= 2 && quads_are_coarse(parts + count, 2 * (size_t)count)) {
        if (count == 1)
            quads_down_as(quads, count, parts, out, n, 1, 1);
        else
            quads_down_as(quads, count, parts, out, n, 2, 1);
        return;
    }
    switch (count) { /* constants, for the compiler */
    case 1:
        quads_down_as(quads, count, parts, out, n, 1, 3);
        break;
    case 2:
        quads_down_as(quads, count, parts, out, n, 2, 3);
        break;
    case 3:
        quads_down_as(quads, count, parts, out, n, 3, 3);
        break;
    case 4:
        quads_down_as(quads, count, parts, out, n, 4, 3);
        break;
    default:
        quads_down_as(quads, count, parts, out, n, 0, 3);
    }
}

/* Four rows of n bytes as a quad. */
static void quads_interleave(const uint8_t *const in[4], uint8_t *quad, size_t n)
{
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 part = n - i < 64 ? ~0ull >> (64 - (n - i)) : ~0ull;
        __m512i row[4];
        for (int r = 0; r < 4; r++)
            row[r] = _mm512_permutexvar_epi32(QUADS_TURNED, _mm512_maskz_loadu_epi8(part, in[r] + i));
        const __m512i upper[2] = { _mm512_unpacklo_epi8(row[0], row[1]), _mm512_unpackhi_epi8(row[0], row[1]) };
        const __m512i lower[2] = { _mm512_unpacklo_epi8(row[2], row[3]), _mm512_unpackhi_epi8(row[2], row[3]) };
        for (int half = 0; half < 2; half++) {
            uint8_t *const to = quad + 4 * i + 128 * (size_t)half;
            _mm512_store_si512(to, _mm512_unpacklo_epi16(upper[half], lower[half]));
            _mm512_store_si512(to + 64, _mm512_unpackhi_epi16(upper[half], lower[half]));
        }
    }
}

/* ---- the whole ---- */

static inline size_t quads_quad_bytes(size_t components)
{
    return (components + 63) / 64 * 256;
}

/* A resize at work. */
typedef struct quads_work {
    const resize_task *task;
    int columns_first, columns_last, mirror;
    quads_columns columns;
    int in_place;                 /* rows of the source are read where they lie */
    uint8_t *raw, *made;          /* four rows each: of the source, if not in place, and of the result */
    size_t raw_bytes, made_bytes; /* a row */
    size_t between;               /* components of a row between the passes */
    uint8_t *out[4];              /* the rows of `made` */
} quads_work;

/* Rows y .. y + 3 of the source, of which those outside are the last one again. */
static void quads_load(const quads_work *work, int y, const uint8_t *in[4])
{
    const resize_source *const src = &work->task->src;
    for (int r = 0; r < 4; r++) {
        if (y + r >= src->height)
            in[r] = in[r - 1];
        else if (work->in_place)
            in[r] = src->view.data + (y + r) * src->view.row;
        else
            in[r] = work->raw + (size_t)r * work->raw_bytes;
        if (!work->in_place && y + r < src->height)
            resize_load_row(src, y + r, work->raw + (size_t)r * work->raw_bytes, work->task->plan.opaque);
    }
}

/* Prepares the horizontal pass, and how rows of the source are read. */
static quads_work quads_begin(const resize_task *task, uint8_t **memory)
{
    const mot_resize_plan *const plan = &task->plan;
    const mot_view *const src = &task->src.view;
    const int channels = src->channels;
    const int readable = plan->opaque && !resize_has_margins(&task->src);
    const int packed = readable && mot_cpu_has_layout(src, MOT_LAYOUT_PACKED);
    quads_work work = { .task = task, .in_place = packed };
    work.columns_last = plan->columns && plan->rows && plan->rows_first;
    work.columns_first = plan->columns && !work.columns_last;
    work.mirror = task->flip && !plan->columns;
    work.between = (size_t)(work.columns_first ? task->dst.width : task->src.width) * (size_t)channels;
    work.raw_bytes = resize_row_bytes(task->src.width, channels);
    work.made_bytes = resize_row_bytes(task->dst.width, channels);
    work.raw = resize_take(memory, 4 * work.raw_bytes);
    work.made = resize_take(memory, 4 * work.made_bytes);
    for (size_t r = 0; r < 4; r++)
        work.out[r] = work.made + r * work.made_bytes;
    if (!plan->columns)
        return work;
    const int64_t row = (src->width - 1) * src->pixel + channels, loaded = (int64_t)task->src.width * channels;
    if (work.columns_first)
        work.in_place = row >= 64 && (packed || (readable && has_rgb(src)));
    const int direct = work.columns_first && work.in_place;
    const int64_t reach = direct ? row : loaded < 64 ? 64 : loaded; /* rows in scratch have 64 bytes more */
    work.columns = quads_columns_of(task, channels, direct ? (int)src->pixel : channels, reach, memory);
    return work;
}

/* The horizontal pass alone. */
static void quads_columns_only(const quads_work *work)
{
    const mot_view *const dst = &work->task->dst;
    for (int y = 0; y < dst->height; y += 4) {
        const uint8_t *in[4];
        quads_load(work, y, in);
        quads_along(in, work->out, NULL, &work->columns);
        for (int r = 0; r < 4 && y + r < dst->height; r++)
            resize_put(work->out[r], dst, y + r, work->task->plan.opaque);
    }
}

/* Row y after the vertical pass, in down[y % 4]: the horizontal pass of whole fours, and of the last. */
static void quads_columns_behind(const quads_work *work, int y, uint8_t *const down[4])
{
    const mot_view *const dst = &work->task->dst;
    if (y % 4 < 3 && y < dst->height - 1)
        return;
    const uint8_t *in[4];
    for (int r = 0; r < 4; r++)
        in[r] = down[r < y % 4 ? r : y % 4];
    quads_along(in, work->out, NULL, &work->columns);
    for (int r = 0; r <= y % 4; r++)
        resize_put(work->out[r], dst, y / 4 * 4 + r, work->task->plan.opaque);
}

static void resize_passes(const resize_task *task, uint8_t *memory)
{
    const quads_work work = quads_begin(task, &memory);
    const mot_view *const dst = &task->dst;
    if (!task->plan.rows) {
        quads_columns_only(&work);
        return;
    }
    uint8_t *down[4];
    for (int r = 0; r < 4 && work.columns_last; r++)
        down[r] = resize_take(&memory, work.raw_bytes);
    const quads_rows rows = quads_rows_of(task, &memory);
    const size_t ring = rows.room + 1, quad_bytes = quads_quad_bytes(work.between);
    const uint8_t **window = (const uint8_t **)(void *)resize_take(&memory, ring * sizeof *window);
    const int direct = task->plan.opaque && !work.mirror && mot_cpu_has_layout(dst, MOT_LAYOUT_PACKED);
    int next = 0; /* the first quad that is not made yet */
    for (int y = 0; y < dst->height; y++) {
        next = next < rows.first[y] ? rows.first[y] : next; /* no output needs the quads above the window */
        for (; next < rows.first[y] + rows.count[y]; next++) {
            const uint8_t *in[4];
            uint8_t *const quad = memory + (size_t)next % ring * quad_bytes;
            quads_load(&work, 4 * next, in);
            if (work.columns_first)
                quads_along(in, NULL, quad, &work.columns);
            else
                quads_interleave(in, quad, work.between);
        }
        for (int q = 0; q < rows.count[y]; q++)
            window[q] = memory + (size_t)(rows.first[y] + q) % ring * quad_bytes;
        uint8_t *const row = work.columns_last ? down[y % 4] : direct ? dst->data + y * dst->row : work.made;
        quads_down(window, rows.count[y], rows.parts + (size_t)y * 3 * rows.room, row, work.between);
        if (work.columns_last) {
            quads_columns_behind(&work, y, down);
        } else if (!direct) {
            if (work.mirror)
                resize_mirror(row, dst->width, dst->channels);
            resize_put(row, dst, y, task->plan.opaque);
        }
    }
}

static size_t resize_passes_scratch(int32_t width, int32_t height, int32_t out_width, int32_t out_height,
                                    int32_t channels)
{
    const size_t in = (size_t)width * (size_t)channels, out = (size_t)out_width * (size_t)channels;
    const size_t ring = quads_most(height, out_height) + 1;
    return 8 * resize_row_bytes(width, channels) + 4 * resize_row_bytes(out_width, channels) +
           quads_columns_bytes(width, out_width, channels) + quads_rows_bytes(height, out_height) +
           resize_round_up(ring * sizeof(void *)) + ring * quads_quad_bytes(in > out ? in : out) + 4 * MOT_CPU_ALIGN;
}

#endif
