/* SPDX-License-Identifier: Apache-2.0 */
/* WARP on the CPU. Nearest: rows that only shift are copied; of every other row the part that reads inside the image
 * is found first, so that the loop over it asks nothing. Bilinear and bicubic: see between_cpu.h. */
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
    int size;               /* bytes of a pixel, 1..4 */
    const uint8_t *fill;    /* [size] */
    const uint8_t *filled;  /* a row of it */
} warp_plane;

static inline void warp_put(uint8_t *out, const uint8_t *in, int size)
{
    for (int c = 0; c < size; c++)
        out[c] = in[c];
}

static void warp_fill(const warp_plane *p, uint8_t *out_row, int64_t x0, int64_t x1)
{
    if (x0 < x1)
        memcpy(out_row + x0 * p->size, p->filled, (size_t)(x1 - x0) * (size_t)p->size);
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
        memcpy(out_row + x0 * p->size, in_row + (x0 + shift) * p->size, (size_t)(x1 - x0) * (size_t)p->size);
    warp_fill(p, out_row, x1, p->width);
}

/* ---- rows stay rows: translations, flips, scalings ---- */

static inline void warp_gather_columns(const warp_plane *p, const uint8_t *in_row, uint8_t *out_row,
                                       const int32_t *columns, int size)
{
    for (int x = 0; x < p->width; x++)
        warp_put(out_row + x * size, columns[x] < 0 ? p->fill : in_row + (int64_t)columns[x] * size, size);
}

static void warp_scale(const warp_plane *p, const mot_warp_plan *plan, int32_t *columns)
{
    double column = mot_warp_first_column(plan), row = mot_warp_first_row(plan);
    int64_t shift = INT64_MIN; /* the same for all columns inside, or none */
    int shifts = 1;
    for (int x = 0; x < p->width; x++, column += plan->m[0]) {
        columns[x] = mot_warp_index(column, p->width);
        if (columns[x] < 0)
            continue;
        if (shift == INT64_MIN)
            shift = (int64_t)columns[x] - x;
        shifts = shifts && columns[x] - x == shift;
    }
    if (shift == INT64_MIN)
        shift = p->width; /* all outside */
    /* A shifted row is a copy only if every column that the copy would take is inside. */
    for (int x = 0; x < p->width && shifts; x++)
        shifts = (x + shift >= 0 && x + shift < p->width) == (columns[x] >= 0);
    for (int y = 0; y < p->height; y++, row += plan->m[4]) {
        const int in_y = mot_warp_index(row, p->height);
        uint8_t *out_row = p->out + y * p->out_row;
        const uint8_t *in_row = p->in + in_y * p->in_row;
        if (in_y < 0)
            warp_fill(p, out_row, 0, p->width);
        else if (shifts)
            warp_shifted_row(p, in_row, out_row, shift);
        else if (p->size == 1)
            warp_gather_columns(p, in_row, out_row, columns, 1);
        else if (p->size == 2)
            warp_gather_columns(p, in_row, out_row, columns, 2);
        else if (p->size == 3)
            warp_gather_columns(p, in_row, out_row, columns, 3);
        else
            warp_gather_columns(p, in_row, out_row, columns, 4);
    }
}

/* ---- 16.16 fixed point ---- */

#define WARP_ONE 65536

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Narrows x0..x1 to the x for which 0 <= start + x * step < end. */
static void warp_inside(int64_t start, int64_t step, int64_t end, int64_t *x0, int64_t *x1)
{
    int64_t low = *x0, high = *x1; /* half-open */
    if (step == 0) {
        if (start < 0 || start >= end)
            high = low;
    } else if (step > 0) {
        low = -floor_div(start, step);             /* the first x with start + x step >= 0 */
        high = -floor_div(start - end, step);      /* the first with start + x step >= end */
    } else {
        low = floor_div(end - start, step) + 1;    /* the first with start + x step < end */
        high = floor_div(-start, step) + 1;        /* the first with start + x step < 0 */
    }
    low = low > *x0 ? low : *x0;
    high = high < *x1 ? high : *x1;
    *x0 = low < high ? low : *x1; /* empty: at the end of what there was */
    *x1 = low < high ? high : *x1;
}

/* Pixels x0..x1 of a row, all inside. A pixel of three bytes is read as four when that cannot leave the image. */
static inline void warp_gather_fixed(const warp_plane *p, uint8_t *out_row, int64_t x0, int64_t x1, uint32_t fx,
                                     uint32_t step_x, uint32_t fy, uint32_t step_y, int size, int read_four)
{
    const uint8_t *const in = p->in;
    const int64_t row = p->in_row;
    uint8_t *out = out_row + x0 * size;
    int64_t n = x1 - x0;
    if (size == 3 && read_four)
        for (; n > 1; n--, fx += step_x, fy += step_y, out += 3) /* the last pixel's fourth byte is not ours to write */
            memcpy(out, in + (int64_t)(fy >> 16) * row + (int64_t)(fx >> 16) * 3, 4);
    for (; n > 0; n--, fx += step_x, fy += step_y, out += size)
        warp_put(out, in + (int64_t)(fy >> 16) * row + (int64_t)(fx >> 16) * size, size);
}

static void warp_fixed(const warp_plane *p, const mot_warp_plan *plan)
{
    const int32_t step_x = (int32_t)plan->fixed[0], step_y = (int32_t)plan->fixed[3];
    const int64_t end_x = (int64_t)p->width * WARP_ONE, end_y = (int64_t)p->height * WARP_ONE;
    const int last_row = p->in_row > 0 ? p->height - 1 : 0; /* in memory */
    for (int y = 0; y < p->height; y++) {
        const int32_t fx = (int32_t)(plan->fixed[2] + (uint32_t)y * plan->fixed[1]);
        const int32_t fy = (int32_t)(plan->fixed[5] + (uint32_t)y * plan->fixed[4]);
        uint8_t *out_row = p->out + y * p->out_row;
        int64_t x0 = 0, x1 = p->width;
        warp_inside(fx, step_x, end_x, &x0, &x1);
        warp_inside(fy, step_y, end_y, &x0, &x1);
        warp_fill(p, out_row, 0, x0);
        warp_fill(p, out_row, x1, p->width);
        if (x0 == x1)
            continue;
        if (step_x == WARP_ONE && step_y == 0) {
            const int64_t in_x = x0 + (fx >> 16);
            memcpy(out_row + x0 * p->size, p->in + (int64_t)(fy >> 16) * p->in_row + in_x * p->size,
                   (size_t)(x1 - x0) * (size_t)p->size);
            continue;
        }
        const int64_t first_x = (fx + x0 * step_x) >> 16, last_x = (fx + (x1 - 1) * step_x) >> 16;
        const int64_t first_y = (fy + x0 * step_y) >> 16, last_y = (fy + (x1 - 1) * step_y) >> 16;
        const int at_end = (first_x == p->width - 1 || last_x == p->width - 1) &&
                           (first_y == last_row || last_y == last_row);
        const uint32_t from_x = (uint32_t)(fx + x0 * step_x), from_y = (uint32_t)(fy + x0 * step_y);
        if (p->size == 1)
            warp_gather_fixed(p, out_row, x0, x1, from_x, (uint32_t)step_x, from_y, (uint32_t)step_y, 1, 0);
        else if (p->size == 2)
            warp_gather_fixed(p, out_row, x0, x1, from_x, (uint32_t)step_x, from_y, (uint32_t)step_y, 2, 0);
        else if (p->size == 3)
            warp_gather_fixed(p, out_row, x0, x1, from_x, (uint32_t)step_x, from_y, (uint32_t)step_y, 3, !at_end);
        else
            warp_gather_fixed(p, out_row, x0, x1, from_x, (uint32_t)step_x, from_y, (uint32_t)step_y, 4, 0);
    }
}

/* ---- any path ---- */

#define WARP_FIXED_SIDE 32767 /* up to here a 32 bit sum that wraps is outside the image either way */

static void warp_nearest(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    mot_warp_plan plan;
    mot_warp_make_plan(steps[0].op, src->width, src->height, &steps[0].arg, MOTLEY_NEAREST, &plan);
    if (plan.path == MOT_WARP_DOUBLE || (plan.path == MOT_WARP_FIXED && (src->width > WARP_FIXED_SIDE ||
                                                                          src->height > WARP_FIXED_SIDE))) {
        mot_cpu_find(&mot_rows_reference, &steps[0], src, dst)->run(src, dst, steps, count, scratch);
        return;
    }
    const int planes = src->pixel == 1 ? src->channels : 1, size = src->channels / planes;
    int32_t *columns = scratch;
    uint8_t *filled = (uint8_t *)(columns + src->width);
    for (int c = 0; c < planes; c++) {
        for (int64_t x = 0; x < src->width; x++)
            warp_put(filled + x * size, steps[0].fill + c, size);
        const warp_plane p = { .in = src->data + c * src->channel,
                               .out = dst->data + c * dst->channel,
                               .in_row = src->row,
                               .out_row = dst->row,
                               .width = src->width,
                               .height = src->height,
                               .size = size,
                               .fill = steps[0].fill + c,
                               .filled = filled };
        if (plan.path == MOT_WARP_SCALE)
            warp_scale(&p, &plan, columns);
        else
            warp_fixed(&p, &plan);
    }
}

#endif
