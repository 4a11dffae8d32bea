/* SPDX-License-Identifier: Apache-2.0 */
/* BLUR by weighted boxes on the CPU, all in integers, and so exact.
 *
 * Small boxes are summed from the bytes around each place: in blocks of rows, and down strips of columns, which are
 * copied with their ends repeated. For larger boxes, strips of sixteen lines go through the three passes in 32 bits
 * with a running weighted sum; rows are transposed for that. */
#ifndef MOT_BLUR_CPU_H
#define MOT_BLUR_CPU_H

#include "kernels/blur.h"
#include "kernels/lanes_cpu.h"

#define BLUR_LINES 16 /* of a strip, so that transposing takes tiles of 16 x 16 bytes */

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

/* Writes places i0 to i1 - 1. `sum` is that of place i0: inner * (the 2 radius + 1 nearest) + edge * (the two beyond
 * them) + a half. For each next place, it changes by what enters and leaves both windows. */
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

/* Transposes sixteen rows of sixteen bytes. */
static inline void blur_turn(uint8_t (*tile)[16])
{
#ifdef MOT_HAS_X86_VECTORS
    __m128i row[16], turned[16];
    for (int i = 0; i < 16; i++)
        row[i] = _mm_loadu_si128((const __m128i *)(const void *)tile[i]);
    for (int round = 0; round < 4; round++) { /* each interleaves the first half of the rows with the second */
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

/* Transposes up to sixteen rows of n bytes into a strip of lines. */
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

/* Blurs down `lines` columns of bytes, at most sixteen; `lines` is a constant where this is inlined. */
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

#ifdef MOT_HAS_X86_VECTORS

#define BLUR_NEAR 2       /* the largest radius whose boxes are summed from bytes */
#define BLUR_NEAR_ROWS 16 /* of a block */
#define BLUR_STRIP 64     /* bytes of a strip's row, a multiple of VECTOR_BYTES */

/* Lines of bytes, one after the other: `bytes` in each, between `pad` bytes on each side that repeat its ends. */
typedef struct blur_block {
    int lines;
    size_t bytes, pad, step; /* step: from one place to the next; pad is a multiple of it */
} blur_block;

/* inner and edge, each split into words: w = 65536 high + low. */
typedef struct blur_weights {
    vector high, low;
} blur_weights;

static inline blur_weights blur_weights_of(const mot_arg *arg)
{
    const int16_t inner = (int16_t)(arg->u[1] & 0xFFFF), edge = (int16_t)(arg->u[2] & 0xFFFF);
    const uint32_t inner_high = (arg->u[1] - (uint32_t)inner) >> 16, edge_high = (arg->u[2] - (uint32_t)edge) >> 16;
    return (blur_weights){ VECTOR(set1_epi32)((int)(edge_high << 16 | inner_high)),
                           VECTOR(set1_epi32)((int)((uint32_t)edge << 16 | (uint16_t)inner)) };
}

/* mot_gaussian_blur of words. Sums of 32 bits may wrap on the way; the byte that is shifted out at the end is exact. */
static inline vector blur_words(vector inner, vector edges, blur_weights w)
{
    vector blurred[2];
    for (int i = 0; i < 2; i++) {
        const vector both = i ? VECTOR(unpackhi_epi16)(inner, edges) : VECTOR(unpacklo_epi16)(inner, edges);
        const vector high = vector_dot(VECTOR(set1_epi32)(1 << 7), both, w.high);
        blurred[i] = VECTOR(srli_epi32)(vector_dot(VECTOR(slli_epi32)(high, 16), both, w.low), 24);
    }
    return VECTOR(packs_epi32)(blurred[0], blurred[1]);
}

/* A pass over all bytes of a block, pads included, which are then meaningless. */
__attribute__((always_inline)) static inline void blur_bytes(const uint8_t *in, uint8_t *out, size_t n, size_t step,
                                                             int radius, blur_weights w)
{
    for (size_t i = 0; i < n; i += VECTOR_BYTES) {
        const uint8_t *before = in + i, *after = in + i;
        vector_words inner = vector_widen(vector_load(in + i));
        for (int k = 0; k < radius; k++) {
            before -= step, after += step;
            inner = vector_add(inner, vector_add(vector_widen(vector_load(before)), vector_widen(vector_load(after))));
        }
        const vector_words edges =
            vector_add(vector_widen(vector_load(before - step)), vector_widen(vector_load(after + step)));
        vector_store(out + i, vector_narrow((vector_words){ blur_words(inner.low, edges.low, w),
                                                            blur_words(inner.high, edges.high, w) }));
    }
}

static void blur_near_pass(const uint8_t *in, uint8_t *out, size_t n, size_t step, const mot_arg *arg)
{
    const blur_weights w = blur_weights_of(arg);
    switch (mot_blur_radius(arg)) {
    case 0:
        blur_bytes(in, out, n, step, 0, w);
        break;
    case 1:
        blur_bytes(in, out, n, step, 1, w);
        break;
    default:
        blur_bytes(in, out, n, step, BLUR_NEAR, w);
    }
}

/* Repeats the ends of each line. */
static void blur_pad(uint8_t *first, const blur_block *block)
{
    const int64_t step = (int64_t)block->step, pad = (int64_t)block->pad;
    for (int l = 0; l < block->lines; l++, first += block->bytes + 2 * block->pad) {
        uint8_t *const end = first + block->bytes;
        for (int64_t k = 0; k < pad; k++) {
            first[-1 - k] = first[step - 1 - k];
            end[k] = end[k - step];
        }
    }
}

/* The three passes of a block. Its first line begins at `a`, without the pad; returns where the result's begins. */
static uint8_t *blur_block_passes(uint8_t *a, uint8_t *b, const blur_block *block, const mot_arg *arg)
{
    const size_t n = (size_t)block->lines * (block->bytes + 2 * block->pad) - 2 * block->pad;
    for (int pass = 0; pass < MOT_BLUR_PASSES; pass++) {
        blur_pad(a, block);
        blur_near_pass(a, b, n, block->step, arg);
        uint8_t *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

static void blur_near_rows(const mot_view *src, const mot_view *dst, int64_t bytes, int channels, const mot_arg *arg,
                           uint8_t *scratch)
{
    const size_t pad = (mot_blur_radius(arg) + 1) * (size_t)channels;
    const size_t line = (size_t)bytes + 2 * pad;
    for (int y = 0; y < src->height; y += BLUR_NEAR_ROWS) {
        const int rows = src->height - y < BLUR_NEAR_ROWS ? src->height - y : BLUR_NEAR_ROWS;
        const blur_block block = { rows, (size_t)bytes, pad, (size_t)channels };
        uint8_t *const a = scratch + pad, *const b = a + BLUR_NEAR_ROWS * line + pad + VECTOR_BYTES;
        for (int k = 0; k < rows; k++)
            memcpy(a + (size_t)k * line, src->data + (y + k) * src->row, (size_t)bytes);
        const uint8_t *const blurred = blur_block_passes(a, b, &block, arg);
        for (int k = 0; k < rows; k++)
            memcpy(dst->data + (y + k) * dst->row, blurred + (size_t)k * line, (size_t)bytes);
    }
}

/* Blurs down `bytes` columns, at most BLUR_STRIP; `bytes` is a constant where this is inlined. */
__attribute__((always_inline)) static inline void blur_near_strip(uint8_t *data, int64_t row, size_t bytes, int height,
                                                                  const mot_arg *arg, uint8_t *a, uint8_t *b)
{
    const blur_block block = { 1, (size_t)height * BLUR_STRIP, (mot_blur_radius(arg) + 1) * BLUR_STRIP, BLUR_STRIP };
    for (int y = 0; y < height; y++)
        memcpy(a + y * BLUR_STRIP, data + y * row, bytes);
    const uint8_t *const blurred = blur_block_passes(a, b, &block, arg);
    for (int y = 0; y < height; y++)
        memcpy(data + y * row, blurred + y * BLUR_STRIP, bytes);
}

static void blur_near_columns(const mot_view *dst, int64_t bytes, const mot_arg *arg, uint8_t *scratch)
{
    const size_t pad = (BLUR_NEAR + 1) * BLUR_STRIP;
    uint8_t *const a = scratch + pad, *const b = a + (size_t)dst->height * BLUR_STRIP + 2 * pad;
    int64_t x = 0;
    for (; x + BLUR_STRIP <= bytes; x += BLUR_STRIP)
        blur_near_strip(dst->data + x, dst->row, BLUR_STRIP, dst->height, arg, a, b);
    if (x < bytes)
        blur_near_strip(dst->data + x, dst->row, (size_t)(bytes - x), dst->height, arg, a, b);
}

static int blur_near(const mot_view *src, const mot_view *dst, int64_t bytes, int channels, const mot_arg *arg,
                     void *scratch)
{
    if (mot_blur_radius(arg) > BLUR_NEAR)
        return 0;
    blur_near_rows(src, dst, bytes, channels, arg, scratch);
    blur_near_columns(dst, bytes, arg, scratch);
    return 1;
}

#else

static int blur_near(const mot_view *src, const mot_view *dst, int64_t bytes, int channels, const mot_arg *arg,
                     void *scratch)
{
    (void)src, (void)dst, (void)bytes, (void)channels, (void)arg, (void)scratch;
    return 0;
}

#endif

static void blur_boxes(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count;
    const int planes = src->pixel == 1 ? src->channels : 1, channels = src->channels / planes;
    const int64_t n = (int64_t)src->width * channels, longest = n > src->height ? n : src->height;
    uint32_t *a = scratch, *b = a + longest * BLUR_LINES;
    for (int p = 0; p < planes; p++) {
        mot_view in = *src, out = *dst;
        in.data += p * src->channel;
        out.data += p * dst->channel;
        if (blur_near(&in, &out, n, channels, &steps[0].arg, scratch))
            continue;
        blur_rows(in.data, in.row, out.data, out.row, src->width, src->height, channels, &steps[0].arg, a, b);
        blur_columns(out.data, out.row, n, src->height, &steps[0].arg, a, b);
    }
}

#endif
