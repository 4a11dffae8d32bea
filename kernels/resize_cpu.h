/* SPDX-License-Identifier: Apache-2.0 */
/* Resize on the CPU: crops, nearest pixels, and which passes run. Compiled once per instruction set, by set_cpu.c. */
#ifndef MOT_RESIZE_CPU_H
#define MOT_RESIZE_CPU_H

#if defined(__AVX512VBMI__) && defined(__AVX512VNNI__)
#include "kernels/resize_quads_cpu.h"
#else
#include "kernels/resize_pairs_cpu.h"
#endif

/* ---- nearest ---- */

#if defined(__AVX512VBMI__)

/* Where the bytes of a row's blocks of 64 come from: as many loads as a block needs, each followed by a permutation. */
typedef struct resize_picks {
    int blocks, loads;     /* the most of any block */
    int32_t *offset;       /* [blocks][64]: bytes from the row's start */
    uint64_t *has;         /* [blocks][64]: the bytes that this load gives */
    uint64_t *keeps;       /* [blocks]: the bytes that are written */
    uint8_t (*places)[64]; /* [blocks]: of each byte in its load */
} resize_picks;

static inline size_t resize_picks_bytes(int out, int pixel)
{
    return ((size_t)out * (size_t)pixel + 63) / 64 * (64 * 13 + 8) + 4 * MOT_CPU_ALIGN;
}

/* in, out: bytes from one pixel to the next; row_bytes: of a row of the source, 64 or more. Column -1 gives zeros. */
static resize_picks resize_picks_of(const int *column, int width, int channels, int in, int out, int64_t row_bytes,
                                    uint8_t **memory)
{
    const size_t bytes = (size_t)(width - 1) * (size_t)out + (size_t)channels, blocks = (bytes + 63) / 64;
    resize_picks picks = { .blocks = (int)blocks };
    picks.offset = (int32_t *)(void *)resize_take(memory, blocks * 64 * sizeof *picks.offset);
    picks.has = (uint64_t *)(void *)resize_take(memory, blocks * 64 * sizeof *picks.has);
    picks.keeps = (uint64_t *)(void *)resize_take(memory, blocks * sizeof *picks.keeps);
    picks.places = (uint8_t(*)[64])(void *)resize_take(memory, blocks * 64);
    memset(picks.places, 0, blocks * 64);
    memset(picks.has, 0, blocks * 64 * sizeof *picks.has);
    memset(picks.offset, 0, blocks * 64 * sizeof *picks.offset);
    memset(picks.keeps, 0, blocks * sizeof *picks.keeps);
    const int falls = column[0] > column[width - 1]; /* in a mirrored image */
    int64_t base = 0;
    size_t block = blocks, loads = 0;
    for (int x = 0; x < width; x++)
        for (int c = 0, n; c < channels; c += n) { /* a pixel, or its part in a block */
            const size_t at = (size_t)x * (size_t)out + (size_t)c, b = at / 64, i = at % 64;
            n = channels - c < 64 - (int)i ? channels - c : 64 - (int)i;
            if (b != block)
                block = b, base = -128, loads = 0;
            const uint64_t bytes = ~(~0ull << n) << i;
            picks.keeps[b] |= bytes;
            if (column[x] < 0)
                continue;
            const int64_t pixel = (int64_t)column[x] * in, from = pixel + c;
            if (from < base || from + n > base + 64) {
                base = falls ? pixel + channels - 64 : pixel;
                base = base < 0 ? 0 : base < row_bytes - 64 ? base : row_bytes - 64;
                picks.offset[64 * b + loads++] = (int32_t)base;
                picks.loads = (int)loads > picks.loads ? (int)loads : picks.loads;
            }
            picks.has[64 * b + loads - 1] |= bytes;
            for (int k = 0; k < n; k++)
                picks.places[b][i + (size_t)k] = (uint8_t)(from - base + k);
        }
    return picks;
}

#define RESIZE_PICK_ROWS 4 /* that are picked at once, for one look at the places and masks */

static inline __attribute__((always_inline)) void resize_pick_as(const uint8_t *const *in, uint8_t *const *out,
                                                                 const resize_picks *picks, int loads, int rows)
{
    for (size_t b = 0; b < (size_t)picks->blocks; b++) {
        const __m512i places = _mm512_load_si512(picks->places[b]);
        __m512i v[RESIZE_PICK_ROWS];
        for (int r = 0; r < rows; r++)
            v[r] = _mm512_setzero_si512();
        for (size_t l = 64 * b; l < 64 * b + (size_t)loads; l++)
            for (int r = 0; r < rows; r++)
                v[r] = _mm512_mask_permutexvar_epi8(v[r], picks->has[l], places,
                                                    _mm512_loadu_si512(in[r] + picks->offset[l]));
        for (int r = 0; r < rows; r++)
            _mm512_mask_storeu_epi8(out[r] + 64 * b, picks->keeps[b], v[r]);
    }
}

static void resize_pick(const uint8_t *const *in, uint8_t *const *out, const resize_picks *picks, int rows)
{
    if (picks->loads <= 3 && rows == RESIZE_PICK_ROWS) /* constants, for the compiler */
        resize_pick_as(in, out, picks, 3, RESIZE_PICK_ROWS);
    else if (rows == RESIZE_PICK_ROWS)
        resize_pick_as(in, out, picks, picks->loads, RESIZE_PICK_ROWS);
    else
        for (int r = 0; r < rows; r++)
            resize_pick_as(in + r, out + r, picks, picks->loads, 1);
}

static void resize_nearest(const mot_view *src, const mot_view *dst, const mot_resize *how, int *column, const int *row,
                           uint8_t *memory)
{
    const int channels = src->channels, direct = mot_cpu_has_layout(dst, MOT_LAYOUT_PACKED) || has_rgb(dst);
    int64_t row_bytes = (src->width - 1) * src->pixel + channels;
    const int in_place = row_bytes >= 64 && (mot_cpu_has_layout(src, MOT_LAYOUT_PACKED) || has_rgb(src));
    if (!in_place)
        row_bytes = src->width * channels < 64 ? 64 : src->width * channels;
    uint8_t *in = resize_take(&memory, resize_row_bytes(src->width, channels));
    uint8_t *out = resize_take(&memory, resize_row_bytes(dst->width, channels));
    for (int a = 0, b = dst->width - 1; how->flip && a < b; a++, b--) {
        const int swap = column[a];
        column[a] = column[b];
        column[b] = swap;
    }
    const resize_picks picks = resize_picks_of(column, dst->width, channels, in_place ? (int)src->pixel : channels,
                                               direct ? (int)dst->pixel : channels, row_bytes, &memory);
    const uint8_t *from[RESIZE_PICK_ROWS];
    uint8_t *to[RESIZE_PICK_ROWS];
    const int together = in_place && direct ? RESIZE_PICK_ROWS : 1;
    memset(in, 0, resize_row_bytes(src->width, channels)); /* what rows outside read */
    for (int y = 0; y < dst->height; y += together) {
        const int rows = dst->height - y < together ? dst->height - y : together;
        for (int r = 0; r < rows; r++) {
            from[r] = in_place && row[y + r] >= 0 ? src->data + row[y + r] * src->row : in;
            to[r] = direct ? dst->data + (y + r) * dst->row : out;
        }
        if (!in_place && row[y] >= 0)
            resize_load_row(src, row[y], in, 1);
        else if (!in_place)
            memset(in, 0, resize_row_bytes(src->width, channels));
        resize_pick(from, to, &picks, rows);
        if (!direct)
            resize_put(out, dst, y, 1);
    }
}

#else

static inline size_t resize_picks_bytes(int out, int pixel)
{
    (void)out, (void)pixel;
    return 0;
}

/* Copies chosen columns of a packed row. Of three channels it copies four bytes; the next pixel overwrites one. */
static inline __attribute__((always_inline)) void resize_pick(const uint8_t *in, uint8_t *out, const int *column,
                                                              int width, int channels, int some_outside)
{
    static const uint8_t outside[4];
    for (int x = 0; x < width; x++) {
        const uint8_t *from = some_outside && column[x] < 0 ? outside : in + (int64_t)column[x] * channels;
        memcpy(out + (int64_t)x * channels, from, channels == 3 ? 4 : (size_t)channels);
    }
}

static void resize_nearest(const mot_view *src, const mot_view *dst, const mot_resize *how, int *column, const int *row,
                           uint8_t *memory)
{
    uint8_t *in = resize_take(&memory, resize_row_bytes(src->width, src->channels));
    uint8_t *out = memory;
    int loaded = -1, some_outside = 0;
    for (int x = 0; x < dst->width; x++)
        some_outside |= column[x] < 0;
    /* Rows of packed pixels are read directly, except the last one in memory, past which no byte may be read. */
    const int packed = mot_cpu_has_layout(src, MOT_LAYOUT_PACKED) && src->row != 0;
    const int last = src->row > 0 ? src->height - 1 : 0;
    for (int y = 0; y < dst->height; y++) {
        const int channels = src->channels;
        if (row[y] < 0) {
            memset(out, 0, (size_t)dst->width * (size_t)channels);
            loaded = -1;
        } else if (row[y] != loaded) {
            const int in_place = packed && row[y] != last;
            const uint8_t *from = in_place ? src->data + row[y] * src->row : in;
            if (!in_place)
                resize_load_row(src, row[y], in, 1);
            loaded = row[y];
            switch (some_outside ? 0 : channels) { /* constants, for the compiler */
            case 1:
                resize_pick(from, out, column, dst->width, 1, 0);
                break;
            case 3:
                resize_pick(from, out, column, dst->width, 3, 0);
                break;
            case 4:
                resize_pick(from, out, column, dst->width, 4, 0);
                break;
            default:
                resize_pick(from, out, column, dst->width, channels, 1);
            }
            if (how->flip)
                resize_mirror(out, dst->width, channels);
        }
        resize_put(out, dst, y, 1);
    }
}

#endif

static void resize_crop(const mot_view *src, const mot_view *dst, const mot_resize *how, const mot_resize_plan *plan,
                        uint8_t *row)
{
    mot_view part = *src;
    part.data += plan->top * src->row + plan->left * src->pixel;
    part.width = dst->width;
    part.height = dst->height;
    if (!how->flip && plan->opaque) {
        mot_cpu_copy(&part, dst);
        return;
    }
    for (int y = 0; y < dst->height; y++) {
        resize_load_row(&part, y, row, plan->opaque);
        if (how->flip)
            resize_mirror(row, dst->width, dst->channels);
        resize_put(row, dst, y, plan->opaque);
    }
}

static void resize_image(const mot_view *src, const mot_view *dst, const mot_resize *how, void *scratch)
{
    const mot_resize_plan plan = mot_resize_plan_of(how, src->width, src->height, dst->width, dst->height, src->alpha);
    uint8_t *memory = scratch;
    if (plan.crop) {
        resize_crop(src, dst, how, &plan, memory);
        return;
    }
    if (how->filter == MOTLEY_FILTER_NEAREST) {
        int *column = (int *)(void *)resize_take(&memory, (size_t)dst->width * sizeof *column);
        int *row = (int *)(void *)resize_take(&memory, (size_t)dst->height * sizeof *row);
        mot_resize_nearest(src->width, how->box[0], how->box[2], dst->width, column);
        mot_resize_nearest(src->height, how->box[1], how->box[3], dst->height, row);
        resize_nearest(src, dst, how, column, row, memory);
        return;
    }
    resize_passes(src, dst, how, &plan, memory);
}

static size_t resize_image_scratch(int32_t width, int32_t height, int32_t out_width, int32_t out_height,
                                   int32_t channels)
{
    const size_t passes = resize_passes_scratch(width, height, out_width, out_height, channels);
    const size_t nearest = resize_round_up((size_t)out_width * sizeof(int)) +
                           resize_round_up((size_t)out_height * sizeof(int)) + resize_picks_bytes(out_width, 4) +
                           resize_row_bytes(width, channels) + resize_row_bytes(out_width, channels);
    return passes > nearest ? passes : nearest;
}

#endif
