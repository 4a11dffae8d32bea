/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of components of an image of U16 or F32: loads and stores, steps that see one pixel, and statistics. */
#ifndef MOT_WIDE_RUNS_CPU_H
#define MOT_WIDE_RUNS_CPU_H

#include "kernels/cpu.h"
#include "kernels/erase.h"
#include "kernels/stats.h"
#include "kernels/vectors_cpu.h"
#include "kernels/wide.h"

#define INLINE __attribute__((always_inline)) static inline

#define RUN 1024 /* components that are worked on while they are in the first cache */
#ifdef VECTOR_BYTES
#define LANES (VECTOR_BYTES / 4) /* floats of a vector; compilers keep in memory what is wider */
#else
#define LANES 4
#endif
#define COLORS 3

/* An image between passes. */
typedef struct image {
    mot_view view;
    int dtype; /* U16 or F32; of a result also F16 or BF16 */
} image;

typedef struct runs {
    float own[COLORS][RUN], luma[RUN];
    float *at[COLORS]; /* a run of each band: one's own, or its place in the result */
} runs;

static int64_t element_of(int dtype)
{
    return (int64_t)mot_dtype_bytes(dtype);
}

static uint8_t *row_of(const image *im, int y, int c)
{
    return im->view.data + y * im->view.row + c * im->view.channel;
}

/* ---- loads and stores ---- */

static void load(const image *from, int x0, int y, int c, float *run, int n)
{
    const int64_t pixel = from->view.pixel;
    const uint8_t *const at = row_of(from, y, c) + x0 * pixel;
    if (from->dtype == MOTLEY_F32) {
        if (pixel == 4 && at != (const uint8_t *)run)
            memcpy(run, at, (size_t)n * sizeof *run);
        for (int x = 0; x < n && pixel != 4; x++)
            memcpy(&run[x], at + x * pixel, sizeof *run);
        return;
    }
    for (int x = 0; x < n && pixel == 2; x++) {
        uint16_t v;
        memcpy(&v, at + 2 * x, sizeof v);
        run[x] = (float)v;
    }
    for (int x = 0; x < n && pixel != 2; x++) {
        uint16_t v;
        memcpy(&v, at + x * pixel, sizeof v);
        run[x] = (float)v;
    }
}

static void store(const image *to, int x0, int y, int c, const float *run, int n)
{
    const int64_t pixel = to->view.pixel;
    uint8_t *const at = row_of(to, y, c) + x0 * pixel;
    if (to->dtype == MOTLEY_F32) {
        if (pixel == 4 && at != (const uint8_t *)run)
            memcpy(at, run, (size_t)n * sizeof *run);
        for (int x = 0; x < n && pixel != 4; x++)
            memcpy(at + x * pixel, &run[x], sizeof *run);
        return;
    }
    uint16_t bits[RUN];
    if (to->dtype == MOTLEY_U16)
        for (int x = 0; x < n; x++)
            bits[x] = (uint16_t)(int32_t)run[x];
    else
        for (int x = 0; x < n; x++)
            bits[x] = (uint16_t)mot_output_cast(run[x], to->dtype);
    if (pixel == 2)
        memcpy(at, bits, (size_t)n * sizeof *bits);
    else
        for (int x = 0; x < n; x++)
            memcpy(at + x * pixel, &bits[x], sizeof *bits);
}

/* Where components x0.. of row y are whole floats, which loops may change; else NULL. */
static float *floats_at(const image *im, int x0, int y, int c)
{
    uint8_t *const at = row_of(im, y, c) + x0 * im->view.pixel;
    return im->dtype == MOTLEY_F32 && im->view.pixel == 4 && (uintptr_t)at % 4 == 0 ? (float *)(void *)at : NULL;
}

/* ---- steps that see one pixel ---- */

#define EACH(made) \
    for (int x = 0; x < n; x++) { \
        const float v = run[x]; \
        run[x] = mot_wide_end(&range, v, made); \
    } \
    break;

#include "kernels/shapes_off.h"
#undef MOT_IF_POINT
#define MOT_IF_POINT(ID, stem) \
    case MOT_OP_##ID: \
        EACH(mot_##stem##_wide(v, &range, &arg))
#undef MOT_IF_COLOR
#define MOT_IF_COLOR(ID, stem) \
    case MOT_OP_##ID: \
        EACH(mot_##stem##_wide(v, luma[x], &range, &arg))
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        EACH(mot_##stem##_wide(v, stats, &range, &arg))

/* `whole` is a constant, so that there is a loop for each. */
INLINE void change_as(int op, float *restrict run, const float *restrict luma, int n,
                      const mot_wide_stats *restrict stats, const mot_range *of, const mot_arg *by, int whole)
{
    mot_range range = *of;
    const mot_arg arg = *by;
    range.whole = whole;
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
}

/* The bin of each component; 256: NaN. */
static void bins_of(const float *restrict run, int n, const mot_range *of, int32_t *restrict bin)
{
    const mot_range range = *of;
    for (int x = 0; x < n; x++) {
        const float at = mot_range_bin(&range, run[x]);
        bin[x] = (int32_t)(at == at ? at : 256.0f);
    }
}

/* Gives each component what a table of the bins has for it. A loop that looks up is not vectorised: it does nothing
 * else. */
static void look_up(float *restrict run, int n, const mot_wide_stats *restrict stats, const mot_range *of)
{
    const mot_range range = *of;
    int32_t bin[RUN];
    float made[RUN];
    bins_of(run, n, &range, bin);
    for (int x = 0; x < n; x++)
        made[x] = stats->by_bin[bin[x] & 255];
    for (int x = 0; x < n; x++)
        run[x] = mot_wide_end(&range, run[x], made[x]);
}

static void change_run(int op, float *run, const float *luma, int n, const mot_wide_stats *stats,
                       const mot_range *range, const mot_arg *arg)
{
    if (mot_wide_needs(op) == MOT_NEEDS_HISTOGRAM)
        look_up(run, n, stats, range);
    else if (range->whole)
        change_as(op, run, luma, n, stats, range, arg, 1);
    else
        change_as(op, run, luma, n, stats, range, arg, 0);
}

#include "kernels/shapes_off.h"

static void luma_of(const mot_wide *wide, runs *r, int n)
{
    const mot_range range = *wide->range;
    for (int x = 0; x < n; x++)
        r->luma[x] = mot_wide_luma(&range, r->at[0][x], r->at[1][x], r->at[2][x]);
}

static void erase_run(const mot_wide *wide, const mot_step *step, float *run, int c, int x0, int y, int n)
{
    const mot_rect r = mot_erase_rect(step->op, wide->src.width, wide->src.height, &step->arg);
    if (y < r.y0 || y >= r.y1)
        return;
    const float fill = mot_wide_fill(wide, step, c);
    for (int x = r.x0 > x0 ? r.x0 : x0; x < (r.x1 < x0 + n ? r.x1 : x0 + n); x++)
        run[x - x0] = fill;
}

/* ---- statistics ---- */

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t masks __attribute__((vector_size(4 * LANES)));

/* What one band, or the luma, has seen so far. */
typedef struct seen {
    float lo[LANES], hi[LANES];
    int64_t sum, count;
    uint32_t histogram[257]; /* the last: NaN */
} seen;

static void see_range(seen *s, float *run, int n)
{
    lanes lo, hi, v;
    memcpy(&lo, s->lo, sizeof lo);
    memcpy(&hi, s->hi, sizeof hi);
    for (int x = n; x % LANES; x++) /* a run has room for whole vectors */
        run[x] = run[0];
    for (int x = 0; x < n; x += LANES) {
        memcpy(&v, run + x, sizeof v);
        const masks below = v<lo, above = v> hi;
        lo = (lanes)(((masks)v & below) | ((masks)lo & ~below));
        hi = (lanes)(((masks)v & above) | ((masks)hi & ~above));
    }
    memcpy(s->lo, &lo, sizeof lo);
    memcpy(s->hi, &hi, sizeof hi);
}

static void see_bins(seen *s, const float *run, int n, const mot_range *range)
{
    int32_t bin[RUN];
    bins_of(run, n, range, bin);
    for (int x = 0; x < n; x++)
        s->histogram[bin[x]]++;
}

INLINE void see_sum_as(seen *s, const float *restrict run, int n, const mot_range *of, int whole)
{
    mot_range range = *of;
    int64_t sum = 0, count = 0;
    range.whole = whole;
    for (int x = 0; x < n; x++) { /* NaN counts as `lo`, which is taken off again */
        const int is = run[x] == run[x];
        sum += mot_wide_quantum(&range, is ? run[x] : range.lo);
        count += is;
    }
    s->sum += sum - (n - count) * mot_wide_quantum(&range, range.lo);
    s->count += count;
}

static void see_sum(seen *s, const float *run, int n, const mot_range *range)
{
    if (range->whole)
        see_sum_as(s, run, n, range, 1);
    else
        see_sum_as(s, run, n, range, 0);
}

static void take_stats(const mot_wide *wide, const mot_step *step, const image *from, mot_wide_stats *stats)
{
    const int needs = mot_wide_needs(step->op), bands = from->view.channels;
    const mot_range of_luma = wide->colors ? mot_wide_luma_range(wide->range) : *wide->range;
    seen s[COLORS];
    runs r;
    for (int c = 0; c < bands; c++) {
        s[c] = (seen){ .sum = 0 };
        for (int k = 0; k < LANES; k++) {
            s[c].lo[k] = INFINITY;
            s[c].hi[k] = -INFINITY;
        }
    }
    for (int y = 0; y < from->view.height; y++)
        for (int x = 0; x < from->view.width; x += RUN) {
            const int n = from->view.width - x < RUN ? from->view.width - x : RUN;
            for (int c = 0; c < bands; c++) {
                load(from, x, y, c, r.at[c] = r.own[c], n);
                if (needs == MOT_NEEDS_RANGE)
                    see_range(&s[c], r.at[c], n);
                else if (needs == MOT_NEEDS_HISTOGRAM)
                    see_bins(&s[c], r.at[c], n, &wide->range[c]);
                else if (!wide->colors)
                    see_sum(&s[c], r.at[c], n, &wide->range[c]);
            }
            if (needs == MOT_NEEDS_MEAN && wide->colors) {
                luma_of(wide, &r, n);
                see_sum(&s[0], r.luma, n, &of_luma);
            }
        }
    for (int c = 0; c < bands; c++) {
        stats[c].lo = s[c].lo[0];
        stats[c].hi = s[c].hi[0];
        for (int k = 1; k < LANES; k++) {
            stats[c].lo = s[c].lo[k] < stats[c].lo ? s[c].lo[k] : stats[c].lo;
            stats[c].hi = s[c].hi[k] > stats[c].hi ? s[c].hi[k] : stats[c].hi;
        }
        stats[c].mean = wide->colors ? mot_wide_mean(&of_luma, s[0].sum, (uint32_t)s[0].count)
                                     : mot_wide_mean(&wide->range[c], s[c].sum, (uint32_t)s[c].count);
        if (needs != MOT_NEEDS_HISTOGRAM)
            continue;
        mot_stats bytes = { 0 };
        mot_stats_of_histogram(s[c].histogram, &bytes);
        for (int bin = 0; bin < 256; bin++)
            stats[c].by_bin[bin] =
                mot_range_of_bin(&wide->range[c], (float)mot_stats_value(step->op, (uint8_t)bin, &bytes, &step->arg));
    }
}

#endif
