/* SPDX-License-Identifier: Apache-2.0 */
/* POINT and STATS on the CPU: build a table of 256 entries, then look all components up. POINT ops that follow a step
 * are applied to its table. Ops that use only integers also have a direct loop, which needs no table. */
#ifndef MOT_POINT_CPU_H
#define MOT_POINT_CPU_H

#include "kernels/lanes_cpu.h"
#include "kernels/point.h"
#include "kernels/stats.h"

#include "kernels/shapes_off.h"
#undef MOT_IF_POINT
#define MOT_IF_POINT(ID, stem) \
    case MOT_OP_##ID: \
        MOT_LANES \
        for (size_t i = 0; i < n; i++) \
            out[i] = mot_##stem(in[i], &a); \
        break;

/* Runs n components through one POINT op; in may be out. */
static void point_run(int op, const mot_arg *arg, const uint8_t *in, uint8_t *out, size_t n)
{
    const mot_arg a = *arg; /* a copy, so that the compiler knows that `out` cannot change it */
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        memmove(out, in, n);
    }
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        for (int v = 0; v < 256; v++) \
            table[v] = mot_##stem((uint8_t)v, &known, &a); \
        break;

static void stats_table(int op, const mot_arg *arg, const mot_stats *stats, lanes_table table)
{
    const mot_arg a = *arg;
    const mot_stats known = *stats;
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        return MOT_##ID##_NEEDS;

static int stats_needs(int op)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return MOT_NEEDS_HISTOGRAM;
    }
}

#include "kernels/shapes_off.h"

/* Applies table[c] to channel c, and copies alpha. */
static void apply_tables(const mot_view *src, const mot_view *dst, const lanes_table *table)
{
    const int channels = src->channels, colors = mot_color_channels(src);
    const lanes_runs runs = lanes_runs_of(src, dst);
    const int packed = channels > 1 && src->pixel != 1;
    int alike = packed && colors == channels;
    for (int c = 1; c < colors; c++)
        alike = alike && memcmp(table[0], table[c], sizeof table[0]) == 0;
    for (int y = 0; y < runs.rows; y++) {
        const uint8_t *in = src->data + y * src->row;
        uint8_t *out = dst->data + y * dst->row;
        if (alike) {
            lanes_apply_table(in, out, runs.length * (size_t)channels, table[0]);
        } else if (packed) {
            uint8_t plane[4][LANES_BLOCK];
            for (size_t x = 0; x < runs.length; x += LANES_BLOCK) {
                const size_t n = runs.length - x < LANES_BLOCK ? runs.length - x : LANES_BLOCK;
                lanes_split(in + x * (size_t)channels, channels, n, plane);
                for (int c = 0; c < colors; c++)
                    lanes_apply_table(plane[c], plane[c], n, table[c]);
                lanes_merge((const uint8_t(*)[LANES_BLOCK])plane, channels, n, out + x * (size_t)channels);
            }
        } else {
            for (int c = 0; c < colors; c++)
                lanes_apply_table(in + c * src->channel, out + c * dst->channel, runs.length, table[c]);
            for (int c = colors; c < channels; c++)
                memmove(out + c * dst->channel, in + c * src->channel, runs.length);
        }
    }
}

/* Applies the POINT ops that follow steps[0] to its table. */
static void follow(lanes_table table, const mot_step *steps, int count)
{
    for (int s = 1; s < count; s++)
        point_run(steps[s].op, &steps[s].arg, table, table, sizeof(lanes_table));
}

static void point_by_table(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)scratch;
    lanes_table table[4];
    for (int v = 0; v < 256; v++)
        table[0][v] = (uint8_t)v;
    point_run(steps[0].op, &steps[0].arg, table[0], table[0], sizeof table[0]);
    follow(table[0], steps, count);
    for (int c = 1; c < mot_color_channels(src); c++)
        memcpy(table[c], table[0], sizeof table[0]);
    apply_tables(src, dst, (const lanes_table *)table);
}

/* Runs POINT ops without a table, for images whose channels are all colour. */
static void point_direct(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    if (count > 1 || src->alpha) {
        point_by_table(src, dst, steps, count, scratch);
        return;
    }
    const lanes_runs runs = lanes_runs_of(src, dst);
    const int planes = src->pixel == 1 ? src->channels : 1;
    for (int y = 0; y < runs.rows; y++)
        for (int c = 0; c < planes; c++)
            point_run(steps[0].op, &steps[0].arg, src->data + y * src->row + c * src->channel,
                      dst->data + y * dst->row + c * dst->channel, runs.length * (size_t)src->pixel);
}

/* ---- statistics ---- */

/* Counts the first `colors` bytes of each of n pixels of `size` bytes. Two histograms per channel take turns, so that
 * equal neighbours do not wait for each other's count. */
static inline void count_pixels(const uint8_t *in, size_t n, size_t size, int colors, uint32_t (*two)[2][256])
{
    size_t i = 0;
    for (; i + 2 <= n; i += 2, in += 2 * size)
        for (int c = 0; c < colors; c++) {
            two[c][0][in[c]]++;
            two[c][1][in[size + (size_t)c]]++;
        }
    for (int c = 0; i < n && c < colors; c++)
        two[c][0][in[c]]++;
}

static void find_histograms(const mot_view *src, lanes_runs runs, uint32_t (*below)[256], mot_stats *stats)
{
    const int colors = mot_color_channels(src);
    uint32_t two[4][2][256];
    memset(two, 0, sizeof two);
    for (int y = 0; y < runs.rows; y++) {
        const uint8_t *in = src->data + y * src->row;
        if (src->pixel == 3)
            count_pixels(in, runs.length, 3, 3, two);
        else if (src->pixel == 4 && colors == 3)
            count_pixels(in, runs.length, 4, 3, two);
        else if (src->pixel == 4)
            count_pixels(in, runs.length, 4, 4, two);
        else
            for (int c = 0; c < colors; c++)
                count_pixels(in + c * src->channel, runs.length, (size_t)src->pixel, 1, &two[c]);
    }
    for (int c = 0; c < colors; c++) {
        for (int v = 0; v < 256; v++)
            below[c][v] = two[c][0][v] + two[c][1][v];
        mot_stats_of_histogram(below[c], &stats[c]);
    }
}

#define RANGE_LANES 192 /* a multiple of every number of channels and of every vector */

/* Lowest and highest of each lane; lane i of packed pixels is channel i % channels. */
static void find_ranges(const mot_view *src, lanes_runs runs, mot_stats *stats)
{
    const int packed = src->pixel != 1;
    for (int p = 0; p < (packed ? 1 : src->channels); p++) {
        uint8_t lo[RANGE_LANES], hi[RANGE_LANES];
        memset(lo, 255, sizeof lo);
        memset(hi, 0, sizeof hi);
        const size_t bytes = runs.length * (size_t)src->pixel;
        for (int y = 0; y < runs.rows; y++) {
            const uint8_t *in = src->data + y * src->row + p * src->channel;
            size_t i = 0;
            for (; i + RANGE_LANES <= bytes; i += RANGE_LANES)
                for (int k = 0; k < RANGE_LANES; k++) {
                    const uint8_t v = in[i + (size_t)k];
                    lo[k] = v < lo[k] ? v : lo[k];
                    hi[k] = v > hi[k] ? v : hi[k];
                }
            for (int k = 0; i < bytes; i++, k++) {
                const uint8_t v = in[i];
                lo[k] = v < lo[k] ? v : lo[k];
                hi[k] = v > hi[k] ? v : hi[k];
            }
        }
        const int channels = packed ? src->channels : 1;
        for (int c = 0; c < channels; c++) {
            mot_stats *s = &stats[packed ? c : p];
            s->lo = 255;
            s->hi = 0;
            for (int k = c; k < RANGE_LANES; k += channels) {
                s->lo = lo[k] < s->lo ? lo[k] : s->lo;
                s->hi = hi[k] > s->hi ? hi[k] : s->hi;
            }
        }
    }
}

/* The mean of the luma, of all colours, or that of each band. */
static void find_means(const mot_view *src, lanes_runs runs, mot_stats *stats)
{
    const int colors = mot_color_channels(src), sums = colors == 3 ? 1 : colors, packed = src->pixel != 1;
    uint8_t plane[4][LANES_BLOCK], luma[LANES_BLOCK];
    uint64_t sum[4] = { 0 };
    for (int y = 0; y < runs.rows; y++)
        for (size_t x = 0; x < runs.length; x += LANES_BLOCK) {
            const size_t n = runs.length - x < LANES_BLOCK ? runs.length - x : LANES_BLOCK;
            const uint8_t *in = src->data + y * src->row + (int64_t)x * src->pixel;
            const uint8_t *from[4];
            for (int c = 0; c < colors; c++)
                from[c] = packed ? plane[c] : in + c * src->channel;
            if (packed)
                lanes_split(in, src->channels, n, plane);
            if (colors == 3)
                lanes_luma(from[0], from[1], from[2], n, luma);
            for (int c = 0; c < sums; c++)
                sum[c] += lanes_sum(colors == 3 ? luma : from[c], n);
        }
    for (int c = 0; c < colors; c++)
        stats[c].mean = mot_stats_mean(sum[c < sums ? c : 0], (uint32_t)src->width * (uint32_t)src->height);
}

/* Tables of steps[0], whose statistics are found, for each colour, and of the POINT ops that follow it. Inlined, it
 * sees that the tables are the caller's own: that takes half the time. */
__attribute__((always_inline)) static inline void stats_tables(const mot_view *src, const mot_step *steps, int count,
                                                               mot_stats *stats, lanes_table *table)
{
    for (int c = 0; c < mot_color_channels(src); c++) {
        stats[c].n = (uint32_t)src->width * (uint32_t)src->height;
        stats_table(steps[0].op, &steps[0].arg, &stats[c], table[c]);
        follow(table[c], steps, count);
    }
}

static void stats_by_table(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)scratch;
    const int needs = stats_needs(steps[0].op);
    const lanes_runs runs = lanes_runs_of(src, src);
    uint32_t below[4][256];
    mot_stats stats[4];
    memset(stats, 0, sizeof stats);
    if (needs == MOT_NEEDS_RANGE)
        find_ranges(src, runs, stats);
    else if (needs == MOT_NEEDS_HISTOGRAM)
        find_histograms(src, runs, below, stats);
    else if (needs == MOT_NEEDS_MEAN)
        find_means(src, runs, stats);
    lanes_table table[4];
    stats_tables(src, steps, count, stats, table);
    apply_tables(src, dst, (const lanes_table *)table);
}

#endif
