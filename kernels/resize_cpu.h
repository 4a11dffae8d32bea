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

/* in, out: bytes from one pixel to the next; row_bytes: of a row of the source, 64 or more. */
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

static void resize_nearest(const resize_task *task, int *column, const int *row, uint8_t *memory)
{
    const mot_view *const src = &task->src.view, *const dst = &task->dst;
    const int channels = src->channels, direct = mot_cpu_has_layout(dst, MOT_LAYOUT_PACKED) || has_rgb(dst);
    int64_t row_bytes = (src->width - 1) * src->pixel + channels;
    const int in_place = row_bytes >= 64 && (mot_cpu_has_layout(src, MOT_LAYOUT_PACKED) || has_rgb(src));
    if (!in_place)
        row_bytes = src->width * channels < 64 ? 64 : src->width * channels;
    uint8_t *in = resize_take(&memory, resize_row_bytes(src->width, channels));
    uint8_t *out = resize_take(&memory, resize_row_bytes(dst->width, channels));
    for (int a = 0, b = dst->width - 1; task->flip && a < b; a++, b--) {
        const int swap = column[a];
        column[a] = column[b];
        column[b] = swap;
    }
    const resize_picks picks = resize_picks_of(column, dst->width, channels, in_place ? (int)src->pixel : channels,
                                               direct ? (int)dst->pixel : channels, row_bytes, &memory);
    const uint8_t *from[RESIZE_PICK_ROWS];
    uint8_t *to[RESIZE_PICK_ROWS];
    const int together = in_place && direct ? RESIZE_PICK_ROWS : 1;
    for (int y = 0; y < dst->height; y += together) {
        const int rows = dst->height - y < together ? dst->height - y : together;
        for (int r = 0; r < rows; r++) {
            from[r] = in_place ? src->data + row[y + r] * src->row : in;
            to[r] = direct ? dst->data + (y + r) * dst->row : out;
        }
        if (!in_place)
            resize_load_row(&task->src, row[y], in, 1);
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
                                                              int width, int channels)
{
    for (int x = 0; x < width; x++)
        memcpy(out + (int64_t)x * channels, in + (int64_t)column[x] * channels, channels == 3 ? 4 : (size_t)channels);
}

static void resize_nearest(const resize_task *task, int *column, const int *row, uint8_t *memory)
{
    const mot_view *const src = &task->src.view, *const dst = &task->dst;
    uint8_t *in = resize_take(&memory, resize_row_bytes(src->width, src->channels));
    uint8_t *out = memory;
    int loaded = -1;
    /* Rows of packed pixels are read directly, except the last one in memory, past which no byte may be read. */
    const int packed = mot_cpu_has_layout(src, MOT_LAYOUT_PACKED) && src->row != 0;
    const int last = src->row > 0 ? src->height - 1 : 0;
    for (int y = 0; y < dst->height; y++) {
        const int channels = src->channels;
        if (row[y] != loaded) {
            const int in_place = packed && row[y] != last;
            const uint8_t *from = in_place ? src->data + row[y] * src->row : in;
            if (!in_place)
                resize_load_row(&task->src, row[y], in, 1);
            loaded = row[y];
            switch (channels) { /* constants, for the compiler */
            case 1:
                resize_pick(from, out, column, dst->width, 1);
                break;
            case 3:
                resize_pick(from, out, column, dst->width, 3);
                break;
            case 4:
                resize_pick(from, out, column, dst->width, 4);
                break;
            default:
                resize_pick(from, out, column, dst->width, channels);
            }
            if (task->flip)
                resize_mirror(out, dst->width, channels);
        }
        resize_put(out, dst, y, 1);
    }
}

#endif

/* Pixels that are not resampled. */
static void resize_crop(const resize_task *task, uint8_t *row)
{
    const mot_view *const dst = &task->dst;
    if (task->plan.opaque) {
        mot_view to = *dst;
        if (task->flip) {
            to.data += (to.width - 1) * to.pixel;
            to.pixel = -to.pixel;
        }
        copy_pixels(&task->src.view, &to);
        return;
    }
    for (int y = 0; y < dst->height; y++) {
        resize_load_row(&task->src, y, row, 0);
        if (task->flip)
            resize_mirror(row, dst->width, dst->channels);
        resize_put(row, dst, y, 0);
    }
}

/* Fills columns x0 to x1 and rows y0 to y1 of a view whose pixels do not run backwards. */
static void resize_put_fill(const mot_view *dst, int x0, int y0, int x1, int y1, const uint8_t *fill)
{
    const int packed = mot_cpu_has_layout(dst, MOT_LAYOUT_PACKED), channels = dst->channels;
    for (int y = y0; y < y1 && x0 < x1; y++) {
        uint8_t *const row = dst->data + y * dst->row + x0 * dst->pixel;
        if (packed && y > y0)
            memcpy(row, row - dst->row, (size_t)(x1 - x0) * (size_t)channels);
        else if (packed)
            resize_load_fill(row, x1 - x0, fill, channels);
        for (int c = 0; c < channels && !packed; c++)
            if (dst->pixel == 1)
                memset(row + c * dst->channel, fill[c], (size_t)(x1 - x0));
            else
                for (int x = 0; x < x1 - x0; x++)
                    row[x * dst->pixel + c * dst->channel] = fill[c];
    }
}

/* How one axis finds what it reads. */
typedef struct resize_reads {
    const mot_resize_axis *axis; /* NULL: output i reads index[i], or without an index i + shift */
    const int *index;
    int shift;
} resize_reads;

/* What output i of the resized axis reads: from the component that is returned to the one before *until. */
static int resize_reads_of(const resize_reads *reads, int i, int *until)
{
    double centre;
    int first = reads->index ? reads->index[i] : i + reads->shift, count = 1;
    if (reads->axis)
        count = mot_resize_window(reads->axis, i, &first, &centre);
    *until = first + count;
    return first;
}

/* The outputs of the window that read a component of from..until - 1 of the picture. All others are the fill: of less
 * than 16384 taps, as many as a picture beyond its source can have, the rounded weights add up to nearly 1. */
static resize_span resize_span_of(const resize_reads *reads, int window, int size, int resized, int from, int until)
{
    resize_span span = { window < 0 ? 0 : window, window + size < resized ? window + size : resized, 0, 0 };
    int end;
    if (from >= until)
        span.end = span.begin;
    while (span.begin < span.end && (resize_reads_of(reads, span.begin, &end), end <= from))
        span.begin++;
    while (span.begin < span.end) {
        const int first = resize_reads_of(reads, span.end - 1, &end);
        if (first >= 0 && first < until)
            break;
        span.end--;
    }
    if (span.begin >= span.end)
        return (resize_span){ window, window, 0, 0 };
    span.from = resize_reads_of(reads, span.begin, &end);
    resize_reads_of(reads, span.end - 1, &span.until);
    return span;
}

static int resize_within(int v, int low, int high)
{
    return v < low ? low : v > high ? high : v;
}

/* The part of the source that a task reads. */
static resize_source resize_source_of(const mot_view *src, const mot_resize *how, const resize_span span[2])
{
    const int left = how->left + span[0].from, top = how->top + span[1].from; /* in the source */
    const int right = how->left + span[0].until, bottom = how->top + span[1].until;
    const int x0 = resize_within(0, left, right), x1 = resize_within(src->width, x0, right);
    const int y0 = resize_within(0, top, bottom), y1 = resize_within(src->height, y0, bottom);
    resize_source source = { *src, right - left, bottom - top, x0 - left, y0 - top, how->fill };
    source.view.data += y0 * src->row + x0 * src->pixel;
    source.view.width = x1 - x0;
    source.view.height = y1 - y0;
    return source;
}

/* Fills what no pixel of the source changes, and makes `task->dst` the rest of the result. */
static void resize_fill_outside(resize_task *task, const mot_view *to, const mot_resize *how)
{
    const resize_span *const span = task->span;
    const int width = span[0].end - span[0].begin, height = span[1].end - span[1].begin;
    const int begin = span[0].begin - how->window_left, y = span[1].begin - how->window_top;
    const int x = task->flip ? to->width - begin - width : begin;
    const int last = to->channels - 1;
    uint8_t fill[4];
    for (int c = 0; c <= last; c++)
        fill[c] = task->plan.opaque || c == last
                      ? how->fill[c]
                      : mot_unpremultiply(mot_premultiply(how->fill[c], how->fill[last]), how->fill[last]);
    resize_put_fill(to, 0, 0, to->width, y, fill);
    resize_put_fill(to, 0, y, x, y + height, fill);
    resize_put_fill(to, x + width, y, to->width, y + height, fill);
    resize_put_fill(to, 0, y + height, to->width, to->height, fill);
    task->dst.data += y * to->row + x * to->pixel;
    task->dst.width = width;
    task->dst.height = height;
}

static void resize_image(const mot_view *src, const mot_view *dst, const mot_resize *how, void *scratch)
{
    const motley_filter filter = (motley_filter)how->filter;
    resize_task task = { .dst = *dst, .plan = mot_resize_plan_of(how, src->alpha), .flip = how->flip_horizontal };
    const int nearest = filter == MOTLEY_FILTER_NEAREST && !task.plan.crop;
    const int copies[2] = { task.plan.crop || !task.plan.columns, task.plan.crop || !task.plan.rows };
    uint8_t *memory = scratch;
    int *index[2] = { NULL, NULL };
    if (how->flip_vertical) {
        task.dst.data += (dst->height - 1) * dst->row;
        task.dst.row = -dst->row;
    }
    for (int k = 0; k < 2; k++) {
        const int in = k ? how->height : how->width, resized = k ? how->resized_height : how->resized_width;
        const int first = k ? task.plan.top : task.plan.left;
        int32_t from, until;
        if (nearest) {
            index[k] = (int *)(void *)resize_take(&memory, (size_t)resized * sizeof *index[k]);
            mot_resize_nearest(in, how->box[k], how->box[k + 2], resized, how->flipped_first >> k & 1, index[k]);
        }
        task.axis[k] = mot_resize_axis_of(filter, in, how->box[k], how->box[k + 2], resized);
        const resize_reads reads = { nearest || copies[k] ? NULL : &task.axis[k], index[k], first };
        mot_resize_inside(how, k, k ? src->height : src->width, &from, &until);
        task.span[k] = resize_span_of(&reads, k ? how->window_top : how->window_left, k ? dst->height : dst->width,
                                      resized, from, until);
        index[k] = nearest ? index[k] + task.span[k].begin : NULL;
        for (int i = 0; nearest && task.span[k].from && i < task.span[k].end - task.span[k].begin; i++)
            index[k][i] -= task.span[k].from;
    }
    task.src = resize_source_of(src, how, task.span);
    const mot_view whole = task.dst;
    resize_fill_outside(&task, &whole, how);
    if (task.dst.width <= 0 || task.dst.height <= 0)
        return;
    if (task.plan.crop)
        resize_crop(&task, memory);
    else if (nearest)
        resize_nearest(&task, index[0], index[1], memory);
    else
        resize_passes(&task, memory);
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
