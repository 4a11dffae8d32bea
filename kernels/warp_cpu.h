/* SPDX-License-Identifier: Apache-2.0 */
/* WARP on the CPU. Nearest: rows that only shift are copied. For every other row, the part that reads inside the image
 * is found first, so that the loop over it needs no tests. Bilinear and bicubic: see between_cpu.h. */
#ifndef MOT_WARP_CPU_H
#define MOT_WARP_CPU_H

#include "kernels/lanes_cpu.h"
#include "kernels/warp.h"

/* A plane or packed pixels: what the loops below walk over. */
typedef struct warp_plane {
    const uint8_t *in;
    uint8_t *out;
    int64_t in_row, out_row;
    int width, height;
    int size;              /* bytes of a pixel, 1..4; or 8, of a mask's element */
    const uint8_t *fill;   /* [size] */
    const uint8_t *filled; /* a row of it */
} warp_plane;

static inline void warp_put(uint8_t *out, const uint8_t *in, int size)
{
    for (int c = 0; c < size; c++)
        out[c] = in[c];
}

/* memcpy's calls take as long as the bytes of a row of 224 pixels. */
static inline void warp_copy(uint8_t *out, const uint8_t *in, size_t bytes)
{
#if defined(__AVX512BW__)
    if (bytes <= 2048) {
        size_t i = 0;
        for (; i + 64 <= bytes; i += 64)
            _mm512_storeu_si512(out + i, _mm512_loadu_si512(in + i));
        if (i < bytes) {
            const __mmask64 rest = ~0ull >> (64 - (bytes - i));
            _mm512_mask_storeu_epi8(out + i, rest, _mm512_maskz_loadu_epi8(rest, in + i));
        }
        return;
    }
#endif
    memcpy(out, in, bytes);
}

static void warp_fill(const warp_plane *p, uint8_t *out_row, int64_t x0, int64_t x1)
{
    if (x0 < x1)
        warp_copy(out_row + x0 * p->size, p->filled, (size_t)(x1 - x0) * (size_t)p->size);
}

static int64_t clamp64(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* The output columns whose input column is x + shift: a copy between two fills. */
static void warp_shifted_row(const warp_plane *p, const uint8_t *in_row, uint8_t *out_row, int64_t shift)
{
    const int64_t x0 = clamp64(-shift, 0, p->width), x1 = clamp64(p->width - shift, x0, p->width);
    warp_fill(p, out_row, 0, x0);
    if (x0 < x1)
        warp_copy(out_row + x0 * p->size, in_row + (x0 + shift) * p->size, (size_t)(x1 - x0) * (size_t)p->size);
    warp_fill(p, out_row, x1, p->width);
}

/* ---- rows stay rows: translations, flips, scalings ---- */

static inline void warp_gather_columns(const warp_plane *p, const uint8_t *in_row, uint8_t *out_row,
                                       const int32_t *columns, int size)
{
    for (int x = 0; x < p->width; x++)
        warp_put(out_row + x * size, columns[x] < 0 ? p->fill : in_row + (int64_t)columns[x] * size, size);
}

/* Copies `width` pixels of `size` bytes in reverse order. */
static inline void warp_mirror_columns(const uint8_t *in, uint8_t *out, int64_t width, int64_t size)
{
    int64_t x = 0;
#ifdef __AVX2__
    /* As many pixels as 16 bytes hold are reversed to the end of 16 bytes; the next store overwrites the unused bytes
     * before them. */
    const int64_t pixels = 16 / size, unused = 16 - pixels * size;
    uint8_t turned[16];
    for (int64_t i = 0; i < 16; i++)
        turned[i] = (uint8_t)(i < unused ? 0 : (pixels - 1 - (i - unused) / size) * size + (i - unused) % size);
    const __m128i places = _mm_loadu_si128((const __m128i *)(const void *)turned);
    for (; (width - x) * size >= 16; x += pixels) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(in + x * size));
        _mm_storeu_si128((__m128i *)(void *)(out + (width - x) * size - 16), _mm_shuffle_epi8(v, places));
    }
#endif
    for (; x < width; x++)
        warp_put(out + (width - 1 - x) * size, in + x * size, (int)size);
}

/* Copies a row whose pixel x reads column columns[x]. */
#define WARP_MOVE_COLUMNS(size) \
    case size: \
        if (mirrored) \
            warp_mirror_columns(in_row, out_row, p->width, size); \
        else \
            warp_gather_columns(p, in_row, out_row, columns, size); \
        break;

static void warp_scale(const warp_plane *p, const mot_warp_plan *plan, int32_t *columns)
{
    double column = mot_warp_first_column(plan), row = mot_warp_first_row(plan);
    int64_t shift = INT64_MIN; /* that of all columns inside; INT64_MIN: not known yet */
    int shifts = 1, mirrored = 1;
    /* Sums are exact: all columns inside shift alike. */
    const int exact = plan->m[0] == 1 && fabs(column) < (1 << 20) && column * 1024 == floor(column * 1024);
    if (exact) {
        shift = (int64_t)floor(column);
        mirrored = 0;
    }
    for (int x = 0; x < p->width && !exact; x++, column += plan->m[0]) {
        columns[x] = mot_warp_index(column, p->width);
        mirrored = mirrored && columns[x] == p->width - 1 - x;
        if (columns[x] < 0)
            continue;
        if (shift == INT64_MIN)
            shift = (int64_t)columns[x] - x;
        shifts = shifts && columns[x] - x == shift;
    }
    if (shift == INT64_MIN)
        shift = p->width; /* all outside */
    /* A shifted row is a copy only if every column that the copy would take is inside. */
    for (int x = 0; x < p->width && shifts && !exact; x++)
        shifts = (x + shift >= 0 && x + shift < p->width) == (columns[x] >= 0);
    for (int y = 0; y < p->height; y++, row += plan->m[4]) {
        const int in_y = mot_warp_index(row, p->height);
        uint8_t *out_row = p->out + y * p->out_row;
        const uint8_t *in_row = p->in + in_y * p->in_row;
        if (in_y < 0)
            warp_fill(p, out_row, 0, p->width);
        else if (shifts)
            warp_shifted_row(p, in_row, out_row, shift);
        else
            switch (p->size) {
                WARP_MOVE_COLUMNS(1)
                WARP_MOVE_COLUMNS(2)
                WARP_MOVE_COLUMNS(3)
                WARP_MOVE_COLUMNS(4)
            }
    }
}

/* ---- 16.16 fixed point ---- */

#define WARP_ONE 65536 /* 1 in 16.16 */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Narrows x0..x1 to the x for which 0 <= start + x * step < end. Divides only where an end is not inside. */
static void warp_inside(int64_t start, int64_t step, int64_t end, int64_t *x0, int64_t *x1)
{
    int64_t low = *x0, high = *x1; /* half-open */
    const int64_t first = start + low * step, last = start + (high - 1) * step;
    if (step == 0) {
        if (start < 0 || start >= end)
            high = low;
    } else if (step > 0) {
        if (first < 0)
            low = -floor_div(start, step); /* the first x with start + x step >= 0 */
        if (last >= end)
            high = -floor_div(start - end, step); /* the first with start + x step >= end */
    } else {
        if (first >= end)
            low = floor_div(end - start, step) + 1; /* the first with start + x step < end */
        if (last < 0)
            high = floor_div(-start, step) + 1; /* the first with start + x step < 0 */
    }
    low = low > *x0 ? low : *x0;
    high = high < *x1 ? high : *x1;
    *x0 = low < high ? low : *x1; /* empty: at the end of what there was */
    *x1 = low < high ? high : *x1;
}

/* Pixels of a row, all of them inside, whose positions begin at (fx, fy). The gathers read four bytes a pixel and may
 * not be used where that would leave the image; they return how many pixels they did. */
typedef struct warp_line {
    const uint8_t *in;
    int64_t row;
    uint8_t *out;
    int64_t n;
    uint32_t fx, fy, step_x, step_y;
} warp_line;

/* Positions of which `at` has room are computed at a time; 1 KiB on the stack. */
#define WARP_POSITIONS 256

/* Where n pixels of `size` bytes are, from pixel x of a line; whole vectors, which may be some more. */
static inline void warp_positions(const warp_line *l, int64_t x, int n, int size, int32_t *at)
{
    const uint32_t fx = l->fx + (uint32_t)x * l->step_x, fy = l->fy + (uint32_t)x * l->step_y;
    const uint32_t row = (uint32_t)l->row, step_x = l->step_x, step_y = l->step_y;
    const uint32_t whole = ((uint32_t)n + 15) & ~15u;
    for (uint32_t i = 0; i < whole; i++)
        at[i] = (int32_t)(((fy + i * step_y) >> 16) * row + ((fx + i * step_x) >> 16) * (uint32_t)size);
}

/* Four bytes a pixel are loaded and stored one by one, which takes half the time of gathers. Of three, the next pixel
 * overwrites the fourth; the last one is left out. */
static inline int64_t warp_gather_four(const warp_line *l, int size)
{
    int32_t at[WARP_POSITIONS];
    const int64_t end = l->n - (size == 3);
    for (int64_t x = 0; x < end; x += WARP_POSITIONS) {
        const int n = end - x < WARP_POSITIONS ? (int)(end - x) : WARP_POSITIONS;
        uint8_t *const out = l->out + x * size;
        warp_positions(l, x, n, size, at);
        int i = 0;
        for (; i + 8 <= n; i += 8)
            for (int k = 0; k < 8; k++)
                memcpy(out + (i + k) * size, l->in + at[i + k], 4);
        for (; i + 4 <= n; i += 4)
            for (int k = 0; k < 4; k++)
                memcpy(out + (i + k) * size, l->in + at[i + k], 4);
        for (; i < n; i++)
            memcpy(out + i * size, l->in + at[i], 4);
    }
    return end > 0 ? end : 0;
}

/* Eight bytes an element. */
static void warp_gather_eight(const warp_line *l)
{
    int32_t at[WARP_POSITIONS];
    for (int64_t x = 0; x < l->n; x += WARP_POSITIONS) {
        const int n = l->n - x < WARP_POSITIONS ? (int)(l->n - x) : WARP_POSITIONS;
        warp_positions(l, x, n, 8, at);
        const uint8_t *const restrict in = l->in;
        uint8_t *const restrict out = l->out + x * 8;
        int i = 0;
        for (; i + 8 <= n; i += 8) { /* one store for eight elements */
            uint64_t eight[8];
            for (int k = 0; k < 8; k++)
                memcpy(&eight[k], in + at[i + k], 8);
            memcpy(out + i * 8, eight, 64);
        }
        for (; i < n; i++)
            memcpy(out + i * 8, in + at[i], 8);
    }
}

static inline void warp_gather_line(const warp_line *l, int size, int wide)
{
    const int64_t done = wide ? warp_gather_four(l, size) : 0;
    uint32_t fx = l->fx + (uint32_t)done * l->step_x, fy = l->fy + (uint32_t)done * l->step_y;
    for (int64_t i = done; i < l->n; i++, fx += l->step_x, fy += l->step_y)
        warp_put(l->out + i * size, l->in + (int64_t)(fy >> 16) * l->row + (int64_t)(fx >> 16) * size, size);
}

/* Columns that read the same number of rows further down: they move together. */
typedef struct warp_run {
    int32_t first, count; /* columns */
    int32_t down;         /* rows */
} warp_run;

/* Bytes that are copied even if fewer are needed, where the bytes after them are written later. */
#define WARP_BLOCK 16

static void warp_copy_run(uint8_t *out_row, const uint8_t *from_row, int64_t at, int64_t bytes, int64_t row_bytes)
{
    if (at + (bytes + WARP_BLOCK - 1) / WARP_BLOCK * WARP_BLOCK > row_bytes) {
        memcpy(out_row + at, from_row + at, (size_t)bytes);
        return;
    }
    for (int64_t i = 0; i < bytes; i += WARP_BLOCK)
        memcpy(out_row + at + i, from_row + at + i, WARP_BLOCK);
}

/* Pixels that a run needs to be worth a copy: more where warp_gather_planes or warp_gather_four is an alternative. */
#ifdef __AVX2__
#define WARP_RUN(size) ((size) == 2 ? 2 : 8)
#else
#define WARP_RUN(size) ((size) == 1 ? 8 : 2)
#endif

/* For warps that keep columns as columns (x moves by one per column, y by one per row): copies runs of columns, row by
 * row. False if the runs are too short for this to pay. */
static int warp_columns(const warp_plane *p, const mot_warp_plan *plan, warp_run *runs)
{
    if ((int32_t)plan->fixed[2] >> 16 != 0)
        return 0;
    int count = 0;
    for (int32_t x = 0; x < p->width; x++) {
        const int32_t down = (int32_t)(plan->fixed[5] + (uint32_t)x * plan->fixed[3]) >> 16;
        if (count > 0 && runs[count - 1].down == down)
            runs[count - 1].count++;
        else if (WARP_RUN(p->size) * count <= p->width)
            runs[count++] = (warp_run){ x, 1, down };
        else
            return 0;
    }
    for (int y = 0; y < p->height; y++)
        for (int r = 0; r < count; r++) {
            const int64_t in_y = (int64_t)y + runs[r].down;
            const uint8_t *from = in_y >= 0 && in_y < p->height ? p->in + in_y * p->in_row : p->filled;
            warp_copy_run(p->out + y * p->out_row, from, (int64_t)runs[r].first * p->size,
                          (int64_t)runs[r].count * p->size, (int64_t)p->width * p->size);
        }
    return 1;
}

/* A line in several planes, whose positions are computed once. `l` is the line in the first plane. */
static void warp_gather_planes(const warp_plane *planes, int count, const warp_line *l)
{
    int32_t at[WARP_POSITIONS];
    for (int64_t x = 0; x < l->n; x += WARP_POSITIONS) {
        const int n = l->n - x < WARP_POSITIONS ? (int)(l->n - x) : WARP_POSITIONS;
        warp_positions(l, x, n, 1, at);
        for (int c = 0; c < count; c++) {
            const uint8_t *in = planes[c].in;
            uint8_t *out = planes[c].out + (l->out - planes[0].out) + x;
            int i = 0;
            for (; i + 8 <= n; i += 8) { /* one store for eight components */
                uint8_t eight[8];
                for (int k = 0; k < 8; k++)
                    eight[k] = in[at[i + k]];
                memcpy(out + i, eight, 8);
            }
            for (; i < n; i++)
                out[i] = in[at[i]];
        }
    }
}

/* `count` planes of one image, or its packed pixels as one. */
static void warp_fixed(const warp_plane *planes, int count, const mot_warp_plan *plan, warp_run *runs)
{
    const warp_plane *p = planes;
    const int32_t step_x = (int32_t)plan->fixed[0], step_y = (int32_t)plan->fixed[3];
    const int64_t end_x = (int64_t)p->width * WARP_ONE, end_y = (int64_t)p->height * WARP_ONE;
    const int last_row = p->in_row > 0 ? p->height - 1 : 0; /* in memory */
    const int64_t extent = (p->in_row > 0 ? p->in_row : -p->in_row) * p->height;
    if (step_x == WARP_ONE && plan->fixed[1] == 0 && plan->fixed[4] == WARP_ONE) {
        int done = 0;
        while (done < count && warp_columns(&planes[done], plan, runs))
            done++;
        if (done == count)
            return;
    }
    for (int y = 0; y < p->height; y++) {
        const int32_t fx = (int32_t)(plan->fixed[2] + (uint32_t)y * plan->fixed[1]);
        const int32_t fy = (int32_t)(plan->fixed[5] + (uint32_t)y * plan->fixed[4]);
        int64_t x0 = 0, x1 = p->width;
        warp_inside(fx, step_x, end_x, &x0, &x1);
        warp_inside(fy, step_y, end_y, &x0, &x1);
        for (int c = 0; c < count; c++) {
            uint8_t *out_row = planes[c].out + y * p->out_row;
            warp_fill(&planes[c], out_row, 0, x0);
            warp_fill(&planes[c], out_row, x1, p->width);
            if (x0 < x1 && step_x == WARP_ONE && step_y == 0)
                memcpy(out_row + x0 * p->size,
                       planes[c].in + (int64_t)(fy >> 16) * p->in_row + (x0 + (fx >> 16)) * p->size,
                       (size_t)(x1 - x0) * (size_t)p->size);
        }
        if (x0 == x1 || (step_x == WARP_ONE && step_y == 0))
            continue;
        const int64_t first_x = (fx + x0 * step_x) >> 16, last_x = (fx + (x1 - 1) * step_x) >> 16;
        const int64_t first_y = (fy + x0 * step_y) >> 16, last_y = (fy + (x1 - 1) * step_y) >> 16;
        /* Positions run in one direction, so a line that reads the image's last pixel has an end in its column and in
         * its row. */
        const int at_end =
            (first_x == p->width - 1 || last_x == p->width - 1) && (first_y == last_row || last_y == last_row);
        const warp_line line = { .in = p->in,
                                 .row = p->in_row,
                                 .out = p->out + y * p->out_row + x0 * p->size,
                                 .n = x1 - x0,
                                 .fx = (uint32_t)(fx + x0 * step_x),
                                 .fy = (uint32_t)(fy + x0 * step_y),
                                 .step_x = (uint32_t)step_x,
                                 .step_y = (uint32_t)step_y };
        if (p->size == 1 && extent < INT32_MAX)
            warp_gather_planes(planes, count, &line);
        else if (p->size == 1)
            for (int c = 0; c < count; c++) {
                warp_line of_plane = line;
                of_plane.in = planes[c].in;
                of_plane.out += planes[c].out - p->out;
                warp_gather_line(&of_plane, 1, 0);
            }
        else if (p->size == 2)
            warp_gather_line(&line, 2, 0);
        else if (p->size == 3)
            warp_gather_line(&line, 3, !at_end && extent < INT32_MAX);
        else if (p->size == 4)
            warp_gather_line(&line, 4, extent < INT32_MAX);
        else if (extent < INT32_MAX)
            warp_gather_eight(&line);
        else
            warp_gather_line(&line, 8, 0);
    }
}

/* ---- any path ---- */

#define WARP_FIXED_SIDE 32767 /* up to here a 32 bit sum that wraps is outside the image either way */

static void warp_nearest(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    mot_warp_plan plan;
    mot_warp_make_plan(steps[0].op, src->width, src->height, &steps[0].arg, MOTLEY_NEAREST, &plan);
    if (plan.path == MOT_WARP_DOUBLE ||
        (plan.path == MOT_WARP_FIXED && (src->width > WARP_FIXED_SIDE || src->height > WARP_FIXED_SIDE))) {
        mot_cpu_find(&mot_rows_reference, &steps[0], src, dst)->run(src, dst, steps, count, scratch);
        return;
    }
    const int parts = src->pixel == 1 ? src->channels : 1, size = src->channels / parts;
    warp_run *runs = scratch; /* [width / 2 + 2], or one index per column */
    uint8_t *filled = (uint8_t *)scratch + sizeof(warp_run) * ((size_t)src->width / 2 + 2);
    warp_plane planes[4];
    for (int c = 0; c < parts; c++, filled += src->width * size) {
        for (int64_t x = 0; x < src->width; x++)
            warp_put(filled + x * size, steps[0].fill + c, size);
        planes[c] = (warp_plane){ .in = src->data + c * src->channel,
                                  .out = dst->data + c * dst->channel,
                                  .in_row = src->row,
                                  .out_row = dst->row,
                                  .width = src->width,
                                  .height = src->height,
                                  .size = size,
                                  .fill = steps[0].fill + c,
                                  .filled = filled };
    }
    if (plan.path == MOT_WARP_FIXED)
        warp_fixed(planes, parts, &plan, runs);
    for (int c = 0; c < parts && plan.path == MOT_WARP_SCALE; c++)
        warp_scale(&planes[c], &plan, scratch);
}

#endif
