/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that look at other pixels of an image of U16 or F32. They read dense rows of binary32. */
#ifndef MOT_WIDE_TAPS_CPU_H
#define MOT_WIDE_TAPS_CPU_H

#include "kernels/wide_runs_cpu.h"

/* Part x0.. of row y of a weighted sum. */
INLINE void sum_as(const mot_taps *taps, const image *from, int x0, int y, int c, float *restrict run, int n, int reach)
{
    for (int x = 0; x < n; x++)
        run[x] = 0;
    for (int j = -reach; j <= reach; j++) {
        const float *const row = (const float *)(const void *)row_of(from, y + j, c) + x0;
        for (int i = -reach; i <= reach; i++) {
            const float weight = taps->weight[(j + reach) * (2 * reach + 1) + i + reach];
            for (int x = 0; x < n; x++)
                run[x] = fmaf(row[x + i], weight, run[x]);
        }
    }
}

INLINE void nine_as(const mot_taps *taps, const image *from, int x0, int y, int c, float *restrict run, int n)
{
    const float *const a = (const float *)(const void *)row_of(from, y - 1, c) + x0,
                       *const b = (const float *)(const void *)row_of(from, y, c) + x0,
                       *const d = (const float *)(const void *)row_of(from, y + 1, c) + x0;
    float w[9];
    memcpy(w, taps->weight, sizeof w);
    for (int x = 0; x < n; x++) {
        float sum = fmaf(a[x - 1], w[0], 0.0f);
        sum = fmaf(a[x + 1], w[2], fmaf(a[x], w[1], sum));
        sum = fmaf(b[x + 1], w[5], fmaf(b[x], w[4], fmaf(b[x - 1], w[3], sum)));
        run[x] = fmaf(d[x + 1], w[8], fmaf(d[x], w[7], fmaf(d[x - 1], w[6], sum)));
    }
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STENCIL
#define MOT_IF_STENCIL(ID, stem) \
    case MOT_OP_##ID: \
        for (int x = 0; x < n; x++) \
            run[x] = mot_wide_end(&range, row[x], mot_##stem##_wide(row[x], run[x], &range, &arg)); \
        break;

static void end_sum(int op, const float *restrict row, float *restrict run, int n, const mot_range *of,
                    const mot_arg *by, float bias)
{
    const mot_range range = *of;
    const mot_arg arg = *by;
    if (bias != 0)
        for (int x = 0; x < n; x++)
            run[x] += bias;
    if (range.whole)
        for (int x = 0; x < n; x++)
            run[x] = rintf(run[x]);
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        for (int x = 0; x < n; x++)
            run[x] = mot_wide_end(&range, row[x], mot_range_clamp(&range, run[x]));
    }
}

#include "kernels/shapes_off.h"

static void sum_run(const mot_wide *wide, const mot_step *step, const mot_taps *taps, const image *from, int x0, int y,
                    int c, float *run, int n)
{
    const mot_range range = wide->range[c];
    const int reach = taps->reach, width = from->view.width, height = from->view.height;
    const float *const row = (const float *)(const void *)row_of(from, y, c) + x0;
    const int none = width <= 2 * reach || height <= 2 * reach, edge = y < reach || y >= height - reach;
    const int first = x0 < reach ? reach - x0 : 0, last = x0 + n > width - reach ? width - reach - x0 : n;
    for (int x = 0; x < n; x++)
        run[x] = mot_wide_end(&range, row[x], none ? row[x] : mot_range_clamp(&range, row[x]));
    if (none || edge || first >= last)
        return;
    if (reach == 1)
        nine_as(taps, from, x0 + first, y, c, run + first, last - first);
    else
        sum_as(taps, from, x0 + first, y, c, run + first, last - first, 2);
    end_sum(step->op, row + first, run + first, last - first, &range, &step->arg, taps->bias);
}

/* Column or row i, or the nearest there is. */
INLINE int32_t nearest_to(int32_t i, int32_t n)
{
    const int32_t above = i > 0 ? i : 0;
    return above < n ? above : n - 1;
}

/* Where a run of an interpolating warp reads, for all bands: side x side taps, the first in column `left`. */
typedef struct places {
    int32_t left[RUN], inside[RUN];
    int32_t row[4][RUN]; /* where the rows of the taps begin */
    double dx[RUN], dy[RUN];
} places;

INLINE void find_places_as(const mot_warp_plan *plan, int x0, int y, int n, places *restrict p, int side)
{
    const int32_t columns = plan->width, lines = plan->height;
    const double m0 = plan->m[0], m3 = plan->m[3], m2 = plan->m[2], m5 = plan->m[5], width = plan->width,
                 height = plan->height, in_x = plan->m[1] * ((double)y + 0.5), in_y = plan->m[4] * ((double)y + 0.5);
    for (int x = 0; x < n; x++) {
        const double xc = (double)(x0 + x) + 0.5;
        double at_x = (m0 * xc + in_x) + m2, at_y = (m3 * xc + in_y) + m5;
        const int inside = (at_x >= 0.0) & (at_x < width) & (at_y >= 0.0) & (at_y < height);
        at_x = (inside ? at_x : 0.5) - 0.5;
        at_y = (inside ? at_y : 0.5) - 0.5;
        const double floor_x = floor(at_x), floor_y = floor(at_y);
        p->inside[x] = inside;
        const int32_t top = (int32_t)floor_y - side / 2 + 1;
        p->left[x] = (int32_t)floor_x - side / 2 + 1;
        for (int k = 0; k < side; k++)
            p->row[k][x] = columns * nearest_to(top + k, lines);
        p->dx[x] = at_x - floor_x;
        p->dy[x] = at_y - floor_y;
    }
}

static void find_places(const mot_warp_plan *plan, int x0, int y, int n, places *p)
{
    if (plan->path == MOT_WARP_BICUBIC)
        find_places_as(plan, x0, y, n, p, 4);
    else
        find_places_as(plan, x0, y, n, p, 2);
}

#define BLOCK 64 /* places whose taps are in the first cache */

/* Copies the taps of n places: of each band, row k of place x to [k][x][side]. One place after the other, since that is
 * faster than vectors that gather. */
INLINE void load_taps(const image *from, int c, int bands, const places *restrict p, int first, int n,
                      float (*restrict tap)[4 * BLOCK * 4], int side)
{
    const int32_t width = from->view.width;
    const float *band[COLORS];
    for (int b = 0; b < bands; b++)
        band[b] = (const float *)(const void *)row_of(from, 0, c + b);
    for (int x = 0; x < n; x++) {
        const int32_t left = p->left[first + x];
        const int near = (uint32_t)left <= (uint32_t)(width - side) && width >= side;
        for (int k = 0; k < side; k++)
            for (int b = 0; b < bands; b++) {
                const float *const row = band[b] + p->row[k][first + x];
                float *const to = tap[b] + (k * BLOCK + x) * side;
                if (near)
                    memcpy(to, row + left, (size_t)side * sizeof *to);
                else
                    for (int i = 0; i < side; i++)
                        to[i] = row[nearest_to(left + i, width)];
            }
    }
}

/* Bands c.. of a run, of which `at` has the results. `bands`, `whole` and `cubic` are constants. */
INLINE void between_as(const mot_wide *wide, const mot_step *step, const image *from, const places *restrict p, int c,
                       int bands, float *const *at, int n, int whole, int cubic)
{
    const int side = cubic ? 4 : 2;
    float taps[COLORS][4 * BLOCK * 4];
    for (int first = 0; first < n; first += BLOCK) {
        const int count = n - first < BLOCK ? n - first : BLOCK;
        load_taps(from, c, bands, p, first, count, taps, side);
        for (int b = 0; b < bands; b++) {
            const float *const restrict tap = taps[b], fill = mot_wide_fill(wide, step, c + b);
            float *const restrict run = at[c + b] + first;
            mot_range range = wide->range[c + b];
            range.whole = whole;
            for (int x = 0; x < count; x++) {
                const double dx = p->dx[first + x], dy = p->dy[first + x];
                double v;
                if (cubic) {
                    double row[4];
                    for (int k = 0; k < 4; k++) {
                        const float *const at_row = tap + (k * BLOCK + x) * 4;
                        row[k] = mot_wide_cubic(at_row[0], at_row[1], at_row[2], at_row[3], dx);
                    }
                    v = mot_warp_cubic(row[0], row[1], row[2], row[3], dy);
                } else {
                    const float *const top = tap + x * 2, *const bottom = tap + (BLOCK + x) * 2;
                    v = mot_wide_bilinear(top[0], top[1], bottom[0], bottom[1], dx, dy);
                }
                const float moved = mot_wide_moved(&range, v);
                run[x] = p->inside[first + x] ? moved : fill;
            }
        }
    }
}

INLINE void between_bands_as(const mot_wide *wide, const mot_step *step, const image *from, const places *p,
                             float *const *at, int n, int whole, int cubic)
{
    if (from->view.channels == COLORS)
        between_as(wide, step, from, p, 0, COLORS, at, n, whole, cubic);
    else
        for (int c = 0; c < from->view.channels; c++)
            between_as(wide, step, from, p, c, 1, at, n, whole, cubic);
}

/* A run of all bands. */
static void between_run(const mot_wide *wide, const mot_step *step, const image *from, const places *p,
                        float *const *at, int n, int cubic)
{
    if (cubic && wide->range->whole)
        between_bands_as(wide, step, from, p, at, n, 1, 1);
    else if (cubic)
        between_bands_as(wide, step, from, p, at, n, 0, 1);
    else if (wide->range->whole)
        between_bands_as(wide, step, from, p, at, n, 1, 0);
    else
        between_bands_as(wide, step, from, p, at, n, 0, 0);
}

#endif
