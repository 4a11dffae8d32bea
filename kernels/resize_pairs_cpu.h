/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of a resize where 16-bit numbers are multiplied in pairs, or one by one: every instruction set but the
 * newest. Rows stream through both passes, with only a window of rows between them.
 *
 * A 22-bit weight is split into a low part of 11 bits and the rest, for 16-bit multiply-adds of pairs; the two sums are
 * combined modulo 2^32, which is exact because the whole sum fits. The horizontal pass processes RESIZE_ROWS rows at a
 * time, each in 128 bits of a vector; the vertical pass goes along the row. The horizontal pass reads rows of the
 * source directly; rows that it cannot read (other strides, alpha, or memory that may end after the row) are first
 * copied to scratch as packed pixels, padded. A flip reverses the horizontal table. */
#ifndef MOT_RESIZE_PAIRS_CPU_H
#define MOT_RESIZE_PAIRS_CPU_H

#include "kernels/resize_axis_cpu.h"
#include "kernels/resize_rows_cpu.h"

#define RESIZE_LOW_BITS 11 /* of a weight's 22: both halves then fit a signed 16-bit number */
#define RESIZE_BEYOND 16   /* bytes after a row that the horizontal pass may read */
#if defined(__AVX512BW__)
#define RESIZE_ROWS 4
#elif defined(__AVX2__)
#define RESIZE_ROWS 2
#else
#define RESIZE_ROWS 1
#endif

/* The weights of one axis, in the form that its pass reads. */
typedef struct resize_table {
    int *first;       /* [out]: where the window begins */
    int *count;       /* [out]: horizontal: groups of taps; vertical: taps */
    int16_t *weights; /* [out][room]: of each group or pair, its parts, the lowest first */
    size_t room;      /* of one output component; 16-bit numbers */
} resize_table;

/* Taps that one group of the horizontal pass holds, vectors of weights that it takes, and 16-bit numbers in them. */
static inline int resize_group(int channels)
{
    return channels == 1 ? 8 : 4;
}

static inline int resize_vectors(int channels)
{
    return channels <= 2 ? 1 : 2;
}

static inline size_t resize_words(int channels)
{
    return 16 * (size_t)resize_vectors(channels);
}

/* Splits weights: a low part in 0..2^11-1 and the rest. */
static inline int16_t resize_low(int32_t weight)
{
    return (int16_t)(weight & ((1 << RESIZE_LOW_BITS) - 1));
}

static inline int16_t resize_high(int32_t weight)
{
    return (int16_t)(weight >> RESIZE_LOW_BITS);
}

/* Lays out the weights of one group as the horizontal pass multiplies them: each dword has a pair of taps, and is in
 * the place of the channel that it sums. */
static inline void resize_lay_out(const int32_t *weight, int channels, int16_t *out)
{
    const int vectors = resize_vectors(channels);
    for (int v = 0; v < vectors; v++)
        for (int dword = 0; dword < 4; dword++) {
            const int pair = channels == 1 ? dword : channels == 2 ? dword / 2 : v;
            for (int k = 0; k < 2; k++) {
                out[v * 16 + dword * 2 + k] = resize_low(weight[2 * pair + k]);
                out[v * 16 + 8 + dword * 2 + k] = resize_high(weight[2 * pair + k]);
            }
        }
}

/* Makes the table of axis 0, for the horizontal pass, or 1, for the vertical one, with pairs of rows. A flip reverses
 * the columns. */
static inline resize_table resize_table_of(const resize_task *task, int down, uint8_t **memory)
{
    const resize_axis made = resize_axis_of(&task->axis[down], task->span[down], memory);
    const int channels = down ? 0 : task->dst.channels, flip = task->flip && !down;
    const size_t out = (size_t)made.out, per_group = channels ? (size_t)resize_group(channels) : 2;
    const size_t words = channels ? resize_words(channels) : 4;
    resize_table table = { .room = ((size_t)made.taps + per_group - 1) / per_group * words };
    table.first = (int *)(void *)resize_take(memory, out * sizeof *table.first);
    table.count = (int *)(void *)resize_take(memory, out * sizeof *table.count);
    table.weights = (int16_t *)(void *)resize_take(memory, out * table.room * sizeof *table.weights);
    for (size_t i = 0; i < out; i++) {
        const size_t place = flip ? out - 1 - i : i;
        const int groups = (made.count[i] + (int)per_group - 1) / (int)per_group;
        int16_t *to = table.weights + place * table.room;
        for (int g = 0; g < groups; g++, to += words) {
            int32_t weight[8];
            for (int k = 0; k < (int)per_group; k++) {
                const int t = g * (int)per_group + k;
                weight[k] = t < made.count[i] ? made.weight[(size_t)t * made.outs + i] : 0;
            }
            if (channels)
                resize_lay_out(weight, channels, to);
            else
                for (int k = 0; k < 2; k++)
                    to[k] = resize_low(weight[k]), to[2 + k] = resize_high(weight[k]);
        }
        table.first[place] = made.first[i];
        table.count[place] = channels ? groups : made.count[i];
    }
    return table;
}

/* Bytes that resize_table_of needs for its result and its work. */
static inline size_t resize_table_bytes(int in, int out, int channels)
{
    const size_t taps = resize_most_taps(in, out);
    const size_t groups = channels ? (taps + 7) / (size_t)resize_group(channels) : (taps + 1) / 2;
    const size_t words = channels ? resize_words(channels) : 4;
    return resize_axis_bytes(in, out) + 2 * resize_round_up((size_t)out * sizeof(int)) +
           resize_round_up((size_t)out * groups * words * sizeof(int16_t));
}

/* ---- the horizontal pass ---- */

#if RESIZE_ROWS > 1

#if RESIZE_ROWS == 4
typedef __m512i resize_vector;
#define RESIZE(name) _mm512_##name
#define RESIZE_WEIGHTS(p) _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)(const void *)(p)))
#define RESIZE_CAST _mm512_castsi512_si128
#define RESIZE_ZERO _mm512_setzero_si512()
static inline resize_vector resize_load(const uint8_t *const rows[RESIZE_ROWS], int64_t at)
{
    resize_vector v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)(rows[0] + at)));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(rows[1] + at)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(rows[2] + at)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(rows[3] + at)), 3);
}
static inline void resize_store(uint8_t *const rows[RESIZE_ROWS], int64_t at, resize_vector v)
{
    _mm_storeu_si128((__m128i *)(void *)(rows[0] + at), _mm512_castsi512_si128(v));
    _mm_storeu_si128((__m128i *)(void *)(rows[1] + at), _mm512_extracti32x4_epi32(v, 1));
    _mm_storeu_si128((__m128i *)(void *)(rows[2] + at), _mm512_extracti32x4_epi32(v, 2));
    _mm_storeu_si128((__m128i *)(void *)(rows[3] + at), _mm512_extracti32x4_epi32(v, 3));
}
static inline resize_vector resize_bytes(const int8_t bytes[16])
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)bytes));
}
#else
typedef __m256i resize_vector;
#define RESIZE(name) _mm256_##name
#define RESIZE_WEIGHTS(p) _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)(p)))
#define RESIZE_ZERO _mm256_setzero_si256()
static inline resize_vector resize_load(const uint8_t *const rows[RESIZE_ROWS], int64_t at)
{
    const __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(rows[0] + at)));
    return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)(const void *)(rows[1] + at)), 1);
}
static inline void resize_store(uint8_t *const rows[RESIZE_ROWS], int64_t at, resize_vector v)
{
    _mm_storeu_si128((__m128i *)(void *)(rows[0] + at), _mm256_castsi256_si128(v));
    _mm_storeu_si128((__m128i *)(void *)(rows[1] + at), _mm256_extracti128_si256(v, 1));
}
static inline resize_vector resize_bytes(const int8_t bytes[16])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)bytes));
}
#endif

/* Adds to each dword of `sum` a pair's two products. */
static inline resize_vector resize_add_pairs(resize_vector sum, resize_vector pairs, resize_vector weights)
{
    return RESIZE(add_epi32)(sum, RESIZE(madd_epi16)(pairs, weights));
}

/* Shuffles: which bytes of a group are the taps of its dwords, for each vector of weights and number of bytes of a
 * pixel in memory: bytes with VNNI, else pairs of 16 bits. RGB pixels may take four bytes. */
static const int8_t resize_taps[5][2][16] = {
    [1] = { { 0, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5, -1, 6, -1, 7, -1 } },
    [2] = { { 0, -1, 2, -1, 1, -1, 3, -1, 4, -1, 6, -1, 5, -1, 7, -1 } },
    [3] = { { 0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1 },
            { 6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1 } },
    [4] = { { 0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1 },
            { 8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1 } },
};

/* The shuffle that packs the low bytes of four pixels' dwords. */
static const int8_t resize_squeeze[16] = { 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1 };

/* One output pixel of each row: four sums a row, of its channels, or of pairs of taps that are still to be added. */
static inline __attribute__((always_inline)) resize_vector resize_sums(const uint8_t *const rows[RESIZE_ROWS],
                                                                       const resize_table *table, int x, int channels,
                                                                       int pixel, const resize_vector shuffle[2])
{
    const int16_t *weights = table->weights + (size_t)x * table->room;
    int64_t at = (int64_t)table->first[x] * pixel;
    resize_vector low = RESIZE_ZERO, high = RESIZE_ZERO;
    for (int g = table->count[x]; g > 0; g--) {
        const resize_vector pixels = resize_load(rows, at);
        for (int v = 0; v < resize_vectors(channels); v++, weights += 16) {
            const resize_vector pairs = RESIZE(shuffle_epi8)(pixels, shuffle[v]);
            low = resize_add_pairs(low, pairs, RESIZE_WEIGHTS(weights));
            high = resize_add_pairs(high, pairs, RESIZE_WEIGHTS(weights + 8));
        }
        at += resize_group(channels) * pixel;
    }
    return RESIZE(add_epi32)(low, RESIZE(slli_epi32)(high, RESIZE_LOW_BITS));
}

static inline resize_vector resize_rounded(resize_vector sum)
{
    const resize_vector half = RESIZE(set1_epi32)(1 << (MOT_RESIZE_BITS - 1));
    return RESIZE(srai_epi32)(RESIZE(add_epi32)(sum, half), MOT_RESIZE_BITS);
}

static inline __attribute__((always_inline)) void resize_along(const uint8_t *const in[RESIZE_ROWS],
                                                               uint8_t *const out[RESIZE_ROWS],
                                                               const resize_table *table, int width, int channels,
                                                               int pixel)
{
    const resize_vector shuffle[2] = { resize_bytes(resize_taps[pixel][0]), resize_bytes(resize_taps[pixel][1]) };
    const resize_vector squeeze = resize_bytes(resize_squeeze);
    for (int x = 0; x < width; x += 4) {
        resize_vector sum[4];
        for (int k = 0; k < 4; k++) /* past the end, the last one is repeated, and written to the padding */
            sum[k] = resize_sums(in, table, x + k < width ? x + k : width - 1, channels, pixel, shuffle);
        if (channels == 1) { /* the four dwords of each are one sum */
            const resize_vector ab =
                RESIZE(add_epi32)(RESIZE(unpacklo_epi32)(sum[0], sum[1]), RESIZE(unpackhi_epi32)(sum[0], sum[1]));
            const resize_vector cd =
                RESIZE(add_epi32)(RESIZE(unpacklo_epi32)(sum[2], sum[3]), RESIZE(unpackhi_epi32)(sum[2], sum[3]));
            sum[0] = RESIZE(add_epi32)(RESIZE(unpacklo_epi64)(ab, cd), RESIZE(unpackhi_epi64)(ab, cd));
            sum[1] = sum[2] = sum[3] = sum[0];
        } else if (channels == 2) {
            sum[0] = RESIZE(add_epi32)(RESIZE(unpacklo_epi64)(sum[0], sum[1]), RESIZE(unpackhi_epi64)(sum[0], sum[1]));
            sum[1] = RESIZE(add_epi32)(RESIZE(unpacklo_epi64)(sum[2], sum[3]), RESIZE(unpackhi_epi64)(sum[2], sum[3]));
            sum[2] = sum[3] = sum[1];
        }
        const resize_vector words[2] = {
            RESIZE(packs_epi32)(resize_rounded(sum[0]), resize_rounded(sum[1])),
            RESIZE(packs_epi32)(resize_rounded(sum[2]), resize_rounded(sum[3])),
        };
        resize_vector bytes = RESIZE(packus_epi16)(words[0], words[1]);
        if (channels == 3)
            bytes = RESIZE(shuffle_epi8)(bytes, squeeze);
        resize_store(out, (int64_t)x * channels, bytes);
    }
}

#else

static inline void resize_along(const uint8_t *const in[RESIZE_ROWS], uint8_t *const out[RESIZE_ROWS],
                                const resize_table *table, int width, int channels, int pixel)
{
    const int group = resize_group(channels), vectors = resize_vectors(channels);
    for (int x = 0; x < width; x++) {
        const int16_t *weights = table->weights + (size_t)x * table->room;
        const uint8_t *from = in[0] + (int64_t)table->first[x] * pixel;
        uint32_t sum[4] = { 0 };
        for (int g = 0; g < table->count[x]; g++, weights += 16 * vectors, from += group * pixel)
            for (int t = 0; t < group; t++) {
                const int pair = t / 2, place = channels == 1 ? 2 * pair : channels == 2 ? 4 * pair : 16 * pair;
                const int32_t low = weights[place + t % 2], high = weights[place + 8 + t % 2];
                for (int c = 0; c < channels; c++)
                    sum[c] += (uint32_t)((low + high * (1 << RESIZE_LOW_BITS)) * from[t * pixel + c]);
            }
        for (int c = 0; c < channels; c++)
            out[0][x * channels + c] = mot_resize_byte((int32_t)sum[c]);
    }
}

#endif

/* pixel: bytes from one pixel of `in` to the next; out is packed. */
static void resize_along_rows(const uint8_t *const in[RESIZE_ROWS], uint8_t *const out[RESIZE_ROWS],
                              const resize_table *table, int width, int channels, int pixel)
{
    switch (channels) { /* constants, for the compiler */
    case 1:
        resize_along(in, out, table, width, 1, 1);
        break;
    case 2:
        resize_along(in, out, table, width, 2, 2);
        break;
    case 3:
        if (pixel == 3)
            resize_along(in, out, table, width, 3, 3);
        else
            resize_along(in, out, table, width, 3, 4);
        break;
    default:
        resize_along(in, out, table, width, 4, 4);
    }
}

/* ---- the vertical pass ---- */

/* One output row of n bytes out of `taps` rows; rows and out are padded. */
static void resize_down(const uint8_t *const *rows, int taps, const int16_t *weights, uint8_t *out, size_t n)
{
#if RESIZE_ROWS > 1
    const size_t step = sizeof(resize_vector);
    const resize_vector zero = RESIZE_ZERO;
    for (size_t i = 0; i < n; i += step) {
        resize_vector low[4] = { zero, zero, zero, zero }, high[4] = { zero, zero, zero, zero };
        for (int t = 0; t < taps; t += 2) {
            const int16_t *w = weights + 2 * t;
            int32_t pair[2];
            memcpy(pair, w, sizeof pair);
            const resize_vector low_weights = RESIZE(set1_epi32)(pair[0]), high_weights = RESIZE(set1_epi32)(pair[1]);
            resize_vector a, b;
            memcpy(&a, rows[t] + i, sizeof a);
            memcpy(&b, rows[t + 1 < taps ? t + 1 : t] + i, sizeof b); /* beyond the last the weight is 0 */
            const resize_vector front = RESIZE(unpacklo_epi8)(a, b), back = RESIZE(unpackhi_epi8)(a, b);
            const resize_vector pairs[4] = { RESIZE(unpacklo_epi8)(front, zero), RESIZE(unpackhi_epi8)(front, zero),
                                             RESIZE(unpacklo_epi8)(back, zero), RESIZE(unpackhi_epi8)(back, zero) };
            for (int k = 0; k < 4; k++) {
                low[k] = resize_add_pairs(low[k], pairs[k], low_weights);
                high[k] = resize_add_pairs(high[k], pairs[k], high_weights);
            }
        }
        resize_vector whole[4];
        for (int k = 0; k < 4; k++)
            whole[k] = resize_rounded(RESIZE(add_epi32)(low[k], RESIZE(slli_epi32)(high[k], RESIZE_LOW_BITS)));
        const resize_vector bytes =
            RESIZE(packus_epi16)(RESIZE(packs_epi32)(whole[0], whole[1]), RESIZE(packs_epi32)(whole[2], whole[3]));
        memcpy(out + i, &bytes, sizeof bytes);
    }
#else
    uint32_t sum[256];
    for (size_t i = 0; i < n; i += 256) {
        const size_t part = n - i < 256 ? n - i : 256;
        memset(sum, 0, sizeof sum);
        for (int t = 0; t < taps; t++) {
            const int16_t *w = weights + 4 * (t / 2);
            const int32_t weight = w[t % 2] + w[2 + t % 2] * (1 << RESIZE_LOW_BITS);
            const uint8_t *row = rows[t] + i;
            for (size_t k = 0; k < part; k++)
                sum[k] += (uint32_t)(weight * row[k]);
        }
        for (size_t k = 0; k < part; k++)
            out[i + k] = mot_resize_byte((int32_t)sum[k]);
    }
#endif
}

/* ---- the whole ---- */

/* The rows between the two passes: a ring that holds the latest of them. */
typedef struct resize_ring {
    uint8_t *memory;
    size_t row_bytes;
    int rows; /* that it holds */
    int next; /* the first row that is not made yet */
} resize_ring;

static inline uint8_t *resize_ring_row(const resize_ring *ring, int y)
{
    return ring->memory + (size_t)(y % ring->rows) * ring->row_bytes;
}

/* Window `y` of the vertical table: pointers to its rows. */
static void resize_window(const resize_ring *ring, const resize_table *table, int y, const uint8_t **rows)
{
    for (int t = 0; t < table->count[y]; t++)
        rows[t] = resize_ring_row(ring, table->first[y] + t);
}

/* Whether the horizontal pass can read row y, and a little past its end, directly from the source. */
static int resize_in_place(const resize_task *task, int y)
{
    const mot_view *const src = &task->src.view;
    const int64_t rows_behind = src->row > 0 ? src->height - 1 - y : y;
    const int64_t row = src->row > 0 ? src->row : -src->row;
    return task->plan.opaque && !resize_has_margins(&task->src) &&
           (mot_cpu_has_layout(src, MOT_LAYOUT_PACKED) || has_rgb(src)) && rows_behind * row >= RESIZE_BEYOND;
}

/* Makes rows of the ring up to `until` (excluded): loads them and, if there is a table, resizes them. */
static void resize_fill(resize_ring *ring, const resize_task *task, int until, const resize_table *columns,
                        uint8_t *raw, size_t raw_bytes)
{
    const resize_source *const src = &task->src;
    while (ring->next < until) {
        if (!columns) {
            resize_load_row(src, ring->next, resize_ring_row(ring, ring->next), task->plan.opaque);
            ring->next++;
            continue;
        }
        const uint8_t *in[RESIZE_ROWS];
        uint8_t *out[RESIZE_ROWS];
        const int most = src->height - ring->next, n = most < RESIZE_ROWS ? most : RESIZE_ROWS;
        const int in_place = resize_in_place(task, ring->next) && resize_in_place(task, ring->next + n - 1);
        const int channels = src->view.channels;
        for (int r = 0; r < RESIZE_ROWS; r++) { /* past the image, the last row is repeated */
            const int row = r < n ? r : n - 1;
            in[r] = in_place ? src->view.data + (ring->next + row) * src->view.row : raw + (size_t)row * raw_bytes;
            out[r] = resize_ring_row(ring, ring->next + row);
            if (r < n && !in_place)
                resize_load_row(src, ring->next + r, raw + (size_t)r * raw_bytes, task->plan.opaque);
        }
        resize_along_rows(in, out, columns, task->dst.width, channels, in_place ? (int)src->view.pixel : channels);
        ring->next += n;
    }
}

/* The horizontal pass of n rows that the vertical pass made; its results, in `made`, take their places. */
static void resize_along_behind(uint8_t *rows[RESIZE_ROWS], int n, uint8_t *made, size_t row_bytes,
                                const resize_table *columns, const mot_view *dst)
{
    const uint8_t *in[RESIZE_ROWS];
    for (int r = 0; r < RESIZE_ROWS; r++)
        in[r] = rows[r < n ? r : n - 1];
    for (int r = 0; r < RESIZE_ROWS; r++)
        rows[r] = made + (size_t)(r < n ? r : n - 1) * row_bytes;
    resize_along_rows(in, rows, columns, dst->width, dst->channels, dst->channels);
}

static void resize_passes(const resize_task *task, uint8_t *memory)
{
    const mot_resize_plan *const plan = &task->plan;
    const mot_view *const dst = &task->dst;
    const int channels = dst->channels;
    const size_t in_bytes = resize_row_bytes(task->src.width, channels);
    const size_t out_bytes = resize_row_bytes(dst->width, channels);
    uint8_t *raw = resize_take(&memory, RESIZE_ROWS * in_bytes);
    uint8_t *made = resize_take(&memory, RESIZE_ROWS * out_bytes);
    resize_table columns = { 0 }, rows = { 0 };
    if (plan->columns)
        columns = resize_table_of(task, 0, &memory);
    const int columns_last = plan->columns && plan->rows && plan->rows_first;
    const resize_table *first_columns = plan->columns && !columns_last ? &columns : NULL;
    const int width_between = first_columns ? dst->width : task->src.width;
    const int mirror = task->flip && !plan->columns;
    resize_ring ring = { .row_bytes = first_columns ? out_bytes : in_bytes, .rows = RESIZE_ROWS };
    const uint8_t **window = NULL;
    if (plan->rows) {
        rows = resize_table_of(task, 1, &memory);
        ring.rows += mot_resize_taps(&task->axis[1]);
        window = (const uint8_t **)(void *)resize_take(&memory, (size_t)ring.rows * sizeof *window);
    }
    ring.memory = memory;
    for (int r = 0; r < RESIZE_ROWS && columns_last; r++)
        memset(raw + (size_t)r * in_bytes + (size_t)task->src.width * (size_t)channels, 0, RESIZE_PAD);
    for (int y = 0; y < dst->height;) {
        const int n = columns_last && dst->height - y >= RESIZE_ROWS ? RESIZE_ROWS : 1;
        uint8_t *out[RESIZE_ROWS];
        for (int r = 0; r < n; r++) {
            if (!plan->rows) {
                resize_fill(&ring, task, y + 1, first_columns, raw, in_bytes);
                out[r] = resize_ring_row(&ring, y);
                continue;
            }
            const int end = rows.first[y + r] + rows.count[y + r];
            /* no output needs the rows above the window, so they are not made */
            if (ring.next < rows.first[y + r])
                ring.next = rows.first[y + r];
            resize_fill(&ring, task, end, first_columns, raw, in_bytes);
            resize_window(&ring, &rows, y + r, window);
            out[r] = columns_last ? raw + (size_t)r * in_bytes : made;
            resize_down(window, rows.count[y + r], rows.weights + (size_t)(y + r) * rows.room, out[r],
                        (size_t)width_between * (size_t)channels);
        }
        if (columns_last)
            resize_along_behind(out, n, made, out_bytes, &columns, dst);
        for (int r = 0; r < n; r++) {
            if (mirror)
                resize_mirror(out[r], dst->width, channels);
            resize_put(out[r], dst, y + r, plan->opaque);
        }
        y += n;
    }
}

static size_t resize_passes_scratch(int32_t width, int32_t height, int32_t out_width, int32_t out_height,
                                    int32_t channels)
{
    const int wider = width > out_width ? width : out_width;
    const double stretch = height > out_height ? (double)height / out_height : 1;
    const size_t taps = (size_t)ceil(3 * stretch) * 2 + 1;
    const size_t ring = (taps < (size_t)height ? taps : (size_t)height) + RESIZE_ROWS;
    return 2 * RESIZE_ROWS * resize_row_bytes(wider, channels) + resize_table_bytes(width, out_width, channels) +
           resize_table_bytes(height, out_height, 0) + resize_round_up(ring * sizeof(void *)) +
           ring * resize_row_bytes(wider, channels) + 2 * resize_round_up((size_t)(out_width + out_height) * 8);
}

#endif
