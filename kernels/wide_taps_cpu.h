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

/* Where a run of an interpolating warp reads, for all bands. */
typedef struct places {
    int32_t i[RUN], j[RUN], inside[RUN];
    double dx[RUN], dy[RUN];
} places;

static void find_places(const mot_warp_plan *plan, int x0, int y, int n, places *p)
{
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
        p->i[x] = (int32_t)floor_x;
        p->j[x] = (int32_t)floor_y;
        p->dx[x] = at_x - floor_x;
        p->dy[x] = at_y - floor_y;
    }
}

/* Column or row i, or the nearest there is. */
INLINE int32_t nearest_to(int32_t i, int32_t n)
{
    const int32_t above = i > 0 ? i : 0;
    return above < n ? above : n - 1;
}

/* `whole` is a constant. */
INLINE void bilinear_as(const mot_range *of, const float *restrict band, int32_t width, int32_t height, int32_t row,
                        const places *restrict p, float fill, float *restrict run, int n, int whole)
{
    mot_range range = *of;
    range.whole = whole;
    for (int x = 0; x < n; x++) {
        const int32_t left = nearest_to(p->i[x], width), right = nearest_to(p->i[x] + 1, width);
        const int32_t top = row * nearest_to(p->j[x], height), bottom = row * nearest_to(p->j[x] + 1, height);
        const double v = mot_wide_bilinear(band[top + left], band[top + right], band[bottom + left],
                                           band[bottom + right], p->dx[x], p->dy[x]);
        const float moved = mot_wide_moved(&range, v);
        run[x] = p->inside[x] ? moved : fill;
    }
}

static void bilinear_run(const mot_range *range, const float *band, int32_t width, int32_t height, int32_t row,
                         const places *p, float fill, float *run, int n)
{
    if (range->whole)
        bilinear_as(range, band, width, height, row, p, fill, run, n, 1);
    else
        bilinear_as(range, band, width, height, row, p, fill, run, n, 0);
}

INLINE void bicubic_as(const mot_range *of, const float *restrict band, int32_t width, int32_t height, int32_t row,
                       const places *restrict p, float fill, float *restrict run, int n, int whole)
{
    mot_range range = *of;
    range.whole = whole;
    for (int x = 0; x < n; x++) {
        int32_t column[4];
        double line[4];
        for (int k = 0; k < 4; k++)
            column[k] = nearest_to(p->i[x] - 1 + k, width);
        for (int k = 0; k < 4; k++) {
            const int32_t at = row * nearest_to(p->j[x] - 1 + k, height);
            line[k] = mot_wide_cubic(band[at + column[0]], band[at + column[1]], band[at + column[2]],
                                     band[at + column[3]], p->dx[x]);
        }
        const float moved = mot_wide_moved(&range, mot_warp_cubic(line[0], line[1], line[2], line[3], p->dy[x]));
        run[x] = p->inside[x] ? moved : fill;
    }
}

static void bicubic_run(const mot_range *range, const float *band, int32_t width, int32_t height, int32_t row,
                        const places *p, float fill, float *run, int n)
{
    if (range->whole)
        bicubic_as(range, band, width, height, row, p, fill, run, n, 1);
    else
        bicubic_as(range, band, width, height, row, p, fill, run, n, 0);
}

#endif
