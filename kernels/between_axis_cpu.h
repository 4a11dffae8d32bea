/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear and bicubic WARPs that move each row along itself, or each column: translations and shears. Across that axis
 * a position is exactly on a component, so all taps but those of one row or column have weight 0. What is left is a
 * line of two or four taps, computed in double as in kernels/warp.h. For pixels without alpha. */
#ifndef MOT_BETWEEN_AXIS_CPU_H
#define MOT_BETWEEN_AXIS_CPU_H

#include "kernels/between_plane_cpu.h"

#define AXIS_BLOCK 256              /* pixels */
#define AXIS_ROOM (AXIS_BLOCK + 64) /* and what whole vectors, and the taps of the last pixel, reach beyond it */

typedef enum axis { AXIS_NONE, AXIS_X, AXIS_Y } axis;

/* Pixels of a block that read the same row. */
typedef struct axis_run {
    int32_t first, count;
} axis_run;

typedef struct axis_block {
    int n;                    /* pixels */
    int begin, end;           /* the pixels that read inside the image */
    int32_t first[AXIS_ROOM]; /* along the axis, the component before the position that a pixel reads */
    double d[AXIS_ROOM];      /* the distance of that position from it */

    /* Along columns: found for one row, and kept as long as the rows after it read alike. */
    axis_run runs[AXIS_BLOCK];
    int runs_count, runs_begin, runs_end;
    int32_t down[AXIS_ROOM]; /* `first` less the row */

    uint8_t packed[4][4 * AXIS_ROOM]; /* [tap]: the pixels from `begin` on */
    uint8_t plane[4][4][LANES_BLOCK]; /* [tap][channel] */
    const uint8_t *tap[4][4];         /* [channel]: where each tap's components begin */
    uint8_t out[4][LANES_BLOCK];
} axis_block;

static inline int axis_is_whole(double v)
{
    return v > -32768.0 && v < 32768.0 && v == (double)(int)v;
}

/* The axis along which a plan interpolates, if it is only one. */
static axis axis_of(const mot_warp_plan *plan)
{
    const double *m = plan->m;
    if (m[0] == 1.0 && m[3] == 0.0 && m[4] == 1.0 && axis_is_whole(m[5]))
        return AXIS_X;
    if (m[0] == 1.0 && m[1] == 0.0 && axis_is_whole(m[2]))
        return AXIS_Y;
    return AXIS_NONE;
}

/* mot_warp_between along one axis for the block's pixels from column x on, at (slope * centre + along) + offset.
 * Rounding keeps their order, so the pixels that read inside the image are one range. */
static void axis_positions(axis_block *b, int x, double slope, double along, double offset, double limit)
{
    int below = 0, above = 0;
    for (int k = 0; k < b->n; k++) {
        const double at = (slope * ((x + k) + 0.5) + along) + offset;
        const double low = at > 0.0 ? at : 0.0, safe = (low < limit ? low : limit) - 0.5;
        const int whole = (int)safe, floor = whole - (safe < (double)whole);
        b->first[k] = floor;
        b->d[k] = safe - (double)floor;
        below += at < 0.0;
        above += at >= limit;
    }
    b->begin = slope < 0.0 ? above : below;
    b->end = b->n - (slope < 0.0 ? below : above);
}

/* Copies `count` pixels of a row from `column` on; outside the row, its first or last pixel. */
static inline void axis_columns(const uint8_t *in_row, int width, int size, int column, int count, uint8_t *out)
{
    const int from = mot_warp_clamp(column, width), to = mot_warp_clamp(column + count - 1, width) + 1;
    for (int k = 0; k < from - column; k++)
        warp_put(out + k * size, in_row, size);
    memcpy(out + (from - column) * size, in_row + (int64_t)from * size, (size_t)((to - from) * size));
    for (int k = to - column; k < count; k++)
        warp_put(out + k * size, in_row + (int64_t)(width - 1) * size, size);
}

/* Splits `count` pixels of b->packed[t] into channels. It splits whole vectors; results past the last pixel are not
 * used. */
static inline uint8_t *axis_split(axis_block *b, int t, int c, int count, int size)
{
    if (size == 1)
        return b->packed[t];
    if (c == 0)
        lanes_split(b->packed[t], size, (size_t)(count + 63) / 64 * 64, b->plane[t]);
    return b->plane[t][c];
}

/* Row taps. Neighbouring pixels nearly always read neighbours, and the taps are then one stretch of the row. */
BETWEEN_INLINE void axis_taps_along(axis_block *b, const uint8_t *in_row, int width, int side, int size)
{
    const int count = b->end - b->begin, before = side / 2 - 1;
    const int32_t *first = b->first + b->begin;
    int apart = 0;
    for (int k = 0; k < count; k++)
        apart |= first[k] - k - first[0];
    if (apart) {
        for (int t = 0; t < side; t++)
            for (int k = 0; k < count; k++)
                axis_columns(in_row, width, size, first[k] - before + t, 1, b->packed[t] + k * size);
    } else {
        axis_columns(in_row, width, size, first[0] - before, count + side - 1, b->packed[0]);
    }
    for (int c = 0; c < size; c++)
        for (int t = 0; t < side; t++)
            b->tap[c][t] = apart    ? axis_split(b, t, c, count, size)
                           : t == 0 ? axis_split(b, 0, c, count + side - 1, size)
                                    : b->tap[c][0] + t;
}

static void axis_find_runs(axis_block *b, int y)
{
    int same = b->runs_begin == b->begin && b->runs_end == b->end;
    for (int k = b->begin; k < b->end && same; k += 64) {
        int other = 0;
        for (int i = k; i < b->end && i < k + 64; i++)
            other |= b->down[i] ^ (b->first[i] - y);
        same = !other;
    }
    if (same)
        return;
    b->runs_begin = b->begin;
    b->runs_end = b->end;
    b->runs_count = 0;
    for (int k = b->begin; k < b->end; k++) {
        b->down[k] = b->first[k] - y;
        if (k > b->begin && b->first[k] == b->first[k - 1])
            b->runs[b->runs_count - 1].count++;
        else
            b->runs[b->runs_count++] = (axis_run){ k, 1 };
    }
}

/* Column taps, of which pixel 0's are in column x: runs of pixels are copied from each row. */
BETWEEN_INLINE void axis_taps_down(axis_block *b, const between_image *p, int plane, int x, int side, int size)
{
    const int count = b->end - b->begin;
    for (int t = 0; t < side; t++) {
        uint8_t *out = b->packed[t];
        for (int r = 0; r < b->runs_count; r++) {
            const axis_run run = b->runs[r];
            const int row = mot_warp_clamp(b->first[run.first] - side / 2 + 1 + t, p->height);
            const int32_t at = row * p->in_row + (x + run.first) * size, bytes = run.count * size;
            uint8_t *to = out + (run.first - b->begin) * size;
            if (at + (bytes - 1) / BETWEEN_BYTES * BETWEEN_BYTES > p->last) {
                memcpy(to, p->in[plane] + at, (size_t)bytes);
                continue;
            }
            for (int i = 0; i < bytes; i += BETWEEN_BYTES) /* may write past the run: the next run's copy follows */
                memcpy(to + i, p->in[plane] + at + i, BETWEEN_BYTES);
        }
    }
    for (int c = 0; c < size; c++)
        for (int t = 0; t < side; t++)
            b->tap[c][t] = axis_split(b, t, c, count, size);
}

/* As int32_t between bytes and doubles: see between_bilinear. */
static inline void axis_store(const int32_t *value, int count, uint8_t *out)
{
    for (int k = 0; k < count; k++)
        out[k] = (uint8_t)value[k];
}

static void axis_linear(const uint8_t *const tap[2], const double *d, int count, uint8_t *out)
{
    int32_t left[AXIS_ROOM], step[AXIS_ROOM], value[AXIS_ROOM];
    for (int k = 0; k < count; k++) {
        left[k] = tap[0][k];
        step[k] = tap[1][k] - tap[0][k];
    }
    for (int k = 0; k < count; k++)
        value[k] = (int32_t)((double)left[k] + (double)step[k] * d[k]);
    axis_store(value, count, out);
}

/* mot_warp_cubic; its sums of taps are whole numbers, exact in int32_t as in double. */
static void axis_cubic(const uint8_t *const tap[4], const double *d, int count, uint8_t *out)
{
    int32_t p1[AXIS_ROOM], p2[AXIS_ROOM], p3[AXIS_ROOM], p4[AXIS_ROOM], value[AXIS_ROOM];
    for (int k = 0; k < count; k++) {
        const int v1 = tap[0][k], v2 = tap[1][k], v3 = tap[2][k], v4 = tap[3][k];
        p1[k] = v2;
        p2[k] = v3 - v1;
        p3[k] = 2 * (v1 - v2) + v3 - v4;
        p4[k] = v2 - v1 - v3 + v4;
    }
    for (int k = 0; k < count; k++) {
        const double v = mot_warp_polynomial(p1[k], p2[k], p3[k], p4[k], d[k]), low = v > 0.0 ? v : 0.0;
        value[k] = (int32_t)(low < 255.0 ? low : 255.0);
    }
    axis_store(value, count, out);
}

/* The block's pixels of one plane or of all channels, from its taps. `out` is where pixel 0 goes. */
BETWEEN_INLINE void axis_put(axis_block *b, const uint8_t *filled, int side, int size, uint8_t *out)
{
    const int count = b->end - b->begin, whole = (count + 15) / 16 * 16;
    memcpy(out, filled, (size_t)(b->begin * size));
    for (int c = 0; c < size; c++)
        if (side == 2)
            axis_linear(b->tap[c], b->d + b->begin, whole, b->out[c]);
        else
            axis_cubic(b->tap[c], b->d + b->begin, whole, b->out[c]);
    if (size == 1) {
        memcpy(out + b->begin, b->out[0], (size_t)count);
    } else {
        lanes_merge((const uint8_t(*)[LANES_BLOCK])b->out, size, (size_t)(count + 63) / 64 * 64, b->packed[0]);
        memcpy(out + b->begin * size, b->packed[0], (size_t)(count * size));
    }
    memcpy(out + b->end * size, filled, (size_t)((b->n - b->end) * size));
}

/* `filled` has a block of each plane's fill. */
BETWEEN_INLINE void axis_rows(const between_image *p, const mot_warp_plan *plan, axis which, int side, int size,
                              uint8_t (*filled)[4 * AXIS_BLOCK])
{
    const double *m = plan->m;
    axis_block b;
    memset(&b, 0, sizeof b);
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x += AXIS_BLOCK) {
            const int shift = x + (int)m[2]; /* along columns: where the block's first pixel reads */
            const int in_y = y + (int)m[5];  /* along rows */
            b.n = p->width - x < AXIS_BLOCK ? p->width - x : AXIS_BLOCK;
            if (which == AXIS_Y) {
                axis_positions(&b, x, m[3], m[4] * (y + 0.5), m[5], p->height);
                b.begin = b.begin > -shift ? b.begin : -shift;
                b.end = b.end < p->width - shift ? b.end : p->width - shift;
            } else if (in_y < 0 || in_y >= p->height) {
                b.end = 0;
            } else {
                axis_positions(&b, x, m[0], m[1] * (y + 0.5), m[2], p->width);
            }
            const int any = b.begin < b.end;
            if (!any)
                b.begin = b.end = 0;
            if (any && which == AXIS_Y)
                axis_find_runs(&b, y);
            for (int plane = 0; plane < p->planes; plane++) {
                uint8_t *out = p->out[plane] + y * p->out_row + (int64_t)x * size;
                if (any && which == AXIS_Y)
                    axis_taps_down(&b, p, plane, shift, side, size);
                else if (any)
                    axis_taps_along(&b, p->in[plane] + (int64_t)in_y * p->in_row, p->width, side, size);
                axis_put(&b, filled[plane], side, size, out);
            }
        }
}

#define AXIS_CASE(size) \
    case size: \
        if (plan->path == MOT_WARP_BILINEAR) \
            axis_rows(p, plan, which, 2, size, filled); \
        else \
            axis_rows(p, plan, which, 4, size, filled); \
        break;

/* Runs a warp along one axis. False, with nothing done, for pixels with alpha and for warps along both axes. */
static int axis_warp(const between_image *p, const mot_warp_plan *plan, int size, int alpha)
{
    const axis which = axis_of(plan);
    if (which == AXIS_NONE || alpha)
        return 0;
    uint8_t filled[4][4 * AXIS_BLOCK];
    for (int plane = 0; plane < p->planes; plane++)
        for (int x = 0; x < AXIS_BLOCK; x++)
            warp_put(filled[plane] + x * size, p->fill + plane, size);
    switch (size) {
        AXIS_CASE(1)
        AXIS_CASE(2)
        AXIS_CASE(3)
        AXIS_CASE(4)
    }
    return 1;
}

#endif
