/* SPDX-License-Identifier: Apache-2.0 */
/* Planes on the CPU: the positions of some elements of a row at a time are followed step by step, and then gathered in
 * every plane. Steps that keep columns as columns become one table of columns and one of rows. Compiled once per
 * instruction set, by set_cpu.c. */
#ifndef MOT_TRACE_CPU_H
#define MOT_TRACE_CPU_H

#include "kernels/trace.h"
#include "kernels/warp_cpu.h"

#define TRACE_POSITIONS 256 /* that are followed at a time */

/* What each position of an axis reads, by running sums as in Pillow; -1: nothing. */
static void trace_table(const mot_trace_axis *a, int32_t count, int32_t *table)
{
    for (int32_t i = 0; i < count; i++)
        table[i] = -1;
    double at = a->first;
    for (int32_t n = 0; n < a->limit; n++, at += a->step) {
        const int32_t number = a->first_mirrored ? a->limit - 1 - n : n;
        const int64_t i = a->mirrored ? (int64_t)a->last + a->shift - number : (int64_t)number - a->shift;
        if (i >= 0 && i < count)
            table[i] = mot_trace_read(a, a->torch ? mot_trace_torch(a, n) : mot_warp_index(at, a->size));
    }
}

/* The part that a step changes, and what it reads, without pointers that could alias what the loops write. */
typedef struct trace_part {
    int32_t left, top;
    uint32_t width, height;
} trace_part;

static trace_part trace_part_of(const mot_trace_step *s)
{
    return (trace_part){ s->part.x0, s->part.y0, (uint32_t)(s->part.x1 - s->part.x0),
                         (uint32_t)(s->part.y1 - s->part.y0) };
}

/* One step back. A column of -1 is the fill, and in no step's part. */
static void trace_fixed(const mot_trace_step *s, int32_t *restrict columns, int32_t *restrict rows, int n)
{
    const trace_part part = trace_part_of(s);
    const uint32_t xx = s->fixed[0], xy = s->fixed[1], x1 = s->fixed[2], yx = s->fixed[3], yy = s->fixed[4],
                   y1 = s->fixed[5];
    for (int i = 0; i < n; i++) {
        const uint32_t x = (uint32_t)columns[i] - (uint32_t)part.left, y = (uint32_t)rows[i] - (uint32_t)part.top;
        const int32_t to_x = (int32_t)(x1 + x * xx + y * xy) >> 16, to_y = (int32_t)(y1 + x * yx + y * yy) >> 16;
        const int inside = ((uint32_t)to_x < part.width) & ((uint32_t)to_y < part.height);
        const int32_t column = inside ? to_x + part.left : -1;
        const int moves = (x < part.width) & (y < part.height);
        columns[i] = moves ? column : columns[i];
        rows[i] = moves ? to_y + part.top : rows[i];
    }
}

static void trace_axes(const mot_trace_step *s, const int32_t *restrict table, int32_t *restrict columns,
                       int32_t *restrict rows, int n)
{
    const trace_part part = trace_part_of(s);
    for (int i = 0; i < n; i++) {
        const uint32_t x = (uint32_t)columns[i] - (uint32_t)part.left, y = (uint32_t)rows[i] - (uint32_t)part.top;
        const int moves = (x < part.width) & (y < part.height);
        const int32_t to_x = table[moves ? x : 0], to_y = table[part.width + (moves ? y : 0)];
        const int32_t column = (to_x | to_y) >= 0 ? to_x + part.left : -1;
        columns[i] = moves ? column : columns[i];
        rows[i] = moves ? to_y + part.top : rows[i];
    }
}

static void trace_step(const mot_trace_step *s, const int32_t *table, int32_t *columns, int32_t *rows, int n)
{
    if (s->kind == MOT_TRACE_FIXED)
        trace_fixed(s, columns, rows, n);
    else if (s->kind == MOT_TRACE_AXES)
        trace_axes(s, table, columns, rows, n);
    else
        for (int i = 0; i < n; i++)
            if (columns[i] >= 0 && !mot_trace_back(s, &columns[i], &rows[i]))
                columns[i] = -1;
}

/* Elements backwards, or eight at a time, which become one store where elements are small. holes: some are the fill. */
#define TRACE_GATHER(type) \
    static void trace_fill_##type(void *out, int n, const uint8_t *fill) \
    { \
        type outside; \
        memcpy(&outside, fill, sizeof outside); \
        for (int i = 0; i < n; i++) \
            ((type *)out)[i] = outside; \
    } \
    static void trace_mirror_##type(const void *in, void *out, int n) \
    { \
        const type *const restrict from = in; \
        type *const restrict to = out; \
        for (int i = 0; i < n; i++) \
            to[i] = from[n - 1 - i]; \
    } \
    static void trace_gather_##type(const void *in, void *out, const int32_t *restrict at, int n, int holes, \
                                    const uint8_t *fill) \
    { \
        const type *const restrict from = in; \
        type outside, eight[8]; \
        memcpy(&outside, fill, sizeof outside); \
        int i = 0; \
        for (; i + 8 <= n && !holes; i += 8) { \
            for (int k = 0; k < 8; k++) \
                eight[k] = from[at[i + k]]; \
            memcpy((type *)out + i, eight, sizeof eight); \
        } \
        for (; i < n; i++) \
            ((type *)out)[i] = at[i] < 0 ? outside : from[at[i]]; \
    }
TRACE_GATHER(uint8_t)
TRACE_GATHER(uint16_t)
TRACE_GATHER(uint32_t)
TRACE_GATHER(uint64_t)

#define TRACE_BY_SIZE(size, function, ...) \
    ((size) == 1   ? function##_uint8_t(__VA_ARGS__) \
     : (size) == 2 ? function##_uint16_t(__VA_ARGS__) \
     : (size) == 4 ? function##_uint32_t(__VA_ARGS__) \
                   : function##_uint64_t(__VA_ARGS__))

/* What elements of a row read: those outside of begin..end - 1 are the fill. */
typedef struct trace_reads {
    int begin, end;
    int32_t apart, turned, holes; /* apart == 0: they read neighbours; turned == 0: backwards; holes < 0: more fill */
} trace_reads;

static trace_reads trace_reads_of(const int32_t *at, int n)
{
    trace_reads r = { .begin = 0, .end = n };
    while (r.begin < r.end && at[r.begin] < 0)
        r.begin++;
    while (r.end > r.begin && at[r.end - 1] < 0)
        r.end--;
    for (int i = r.begin; i < r.end; i++) {
        r.apart |= (at[i] - i) ^ (at[r.begin] - r.begin);
        r.turned |= (at[i] + i) ^ (at[r.begin] + r.begin);
        r.holes |= at[i];
    }
    return r;
}

#define TRACE_PICKS 16 /* bytes of which one permutation picks as many */

/* Bytes of a row by permutations: `step` of them, TRACE_PICKS or half as many, from TRACE_PICKS neighbours. */
typedef struct trace_picks {
    int step, count;
    int32_t *base;                  /* [count]: where the neighbours begin */
    uint8_t (*places)[TRACE_PICKS]; /* [count]: among them; of half a step the last one again */
} trace_picks;

static inline void trace_pick(const uint8_t *in, uint8_t *out, const uint8_t places[TRACE_PICKS])
{
#if defined(__SSSE3__)
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)in);
    const __m128i picked = _mm_shuffle_epi8(v, _mm_loadu_si128((const __m128i *)(const void *)places));
    _mm_storeu_si128((__m128i *)(void *)out, picked);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    vst1q_u8(out, vqtbl1q_u8(vld1q_u8(in), vld1q_u8(places)));
#else
    uint8_t picked[TRACE_PICKS];
    for (int i = 0; i < TRACE_PICKS; i++)
        picked[i] = in[places[i]];
    memcpy(out, picked, TRACE_PICKS);
#endif
}

/* Finds the picks of a row whose columns rise or fall; step is 0 if they lie too far apart. `memory` has room for as
 * many numbers as there are columns. */
static trace_picks trace_picks_of(const mot_planes *p, const trace_reads *r, const int32_t *columns, int32_t *memory)
{
    trace_picks picks = { .base = memory };
    if (p->size != 1 || !r->apart || r->holes < 0 || p->src_width < TRACE_PICKS)
        return picks;
    for (int step = TRACE_PICKS; step >= TRACE_PICKS / 2 && !picks.step; step /= 2) {
        picks.step = step;
        picks.count = (r->end - r->begin) / step;
        while (picks.count > 0 && r->begin + (picks.count - 1) * step + TRACE_PICKS > p->width)
            picks.count--; /* it would write past the row */
        picks.places = (uint8_t(*)[TRACE_PICKS])(void *)(memory + picks.count);
        for (int b = 0; b < picks.count; b++) {
            const int32_t *const at = columns + r->begin + b * step;
            const int32_t low = at[0] < at[step - 1] ? at[0] : at[step - 1];
            picks.base[b] = low < p->src_width - TRACE_PICKS ? low : p->src_width - TRACE_PICKS;
            for (int i = 0; i < TRACE_PICKS; i++) {
                const int32_t place = at[i < step ? i : step - 1] - picks.base[b];
                picks.places[b][i] = (uint8_t)place;
                picks.step = place < TRACE_PICKS ? picks.step : 0;
            }
        }
    }
    return picks;
}

/* Writes a row of elements that read `from`, by numbers of its elements; picks: or NULL. */
static void trace_write(const mot_planes *p, const trace_reads *r, const trace_picks *picks, const uint8_t *from,
                        uint8_t *to, const int32_t *at, int n)
{
    const size_t size = (size_t)p->size, end = (size_t)r->end;
    size_t begin = (size_t)r->begin;
    TRACE_BY_SIZE(size, trace_fill, to, r->begin, p->fill);
    for (int b = 0; picks && picks->step && b < picks->count; b++, begin += (size_t)picks->step)
        trace_pick(from + picks->base[b], to + begin, picks->places[b]);
    if (begin < end && !r->apart)
        memcpy(to + begin * size, from + (size_t)at[begin] * size, (end - begin) * size);
    else if (begin < end && !r->turned)
        TRACE_BY_SIZE(size, trace_mirror, from + (size_t)at[end - 1] * size, to + begin * size, (int)(end - begin));
    else
        TRACE_BY_SIZE(size, trace_gather, from, to + begin * size, at + begin, (int)(end - begin), r->holes < 0,
                      p->fill);
    TRACE_BY_SIZE(size, trace_fill, to + end * size, n - r->end, p->fill);
}

/* Columns and rows of all steps as one table, at `tables`; 0: some step is of another kind. */
static int trace_only_axes(const mot_planes *p, const mot_trace_step *steps, int count, int32_t *tables)
{
    int32_t *step = tables;
    const int32_t *before = tables;
    for (int s = 0, before_width = 0; s < count; s++) {
        if (steps[s].kind != MOT_TRACE_AXES || !mot_trace_is_whole(steps, s, count, p->width, p->height))
            return 0;
        const int32_t sides[2] = { steps[s].part.x1, steps[s].part.y1 };
        for (int k = 0, at = 0; k < 2; at += sides[k++]) {
            trace_table(&steps[s].axis[k], sides[k], step + at);
            for (int32_t i = at; s > 0 && i < at + sides[k]; i++)
                step[i] = step[i] < 0 ? -1 : before[(k ? before_width : 0) + step[i]];
        }
        before = step;
        before_width = sides[0];
        step += sides[0] + sides[1];
    }
    memmove(tables, before, (size_t)(p->width + p->height) * sizeof *tables);
    return 1;
}

/* Planes whose columns and rows move by themselves. */
static void trace_by_tables(const mot_planes *p, const int32_t *columns, const int32_t *rows, int32_t *memory)
{
    const size_t size = (size_t)p->size, in_row = (size_t)p->src_width * size, out_row = (size_t)p->width * size;
    const trace_reads reads = trace_reads_of(columns, p->width), none = { .begin = p->width, .end = p->width };
    const trace_picks picks = trace_picks_of(p, &reads, columns, memory);
    for (size_t k = 0; k < p->count; k++)
        for (int32_t y = 0; y < p->height; y++) {
            uint8_t *const to = p->dst + (k * (size_t)p->height + (size_t)y) * out_row;
            if (y > 0 && rows[y] == rows[y - 1])
                memcpy(to, to - out_row, out_row);
            else if (rows[y] < 0)
                trace_write(p, &none, NULL, NULL, to, columns, p->width);
            else
                trace_write(p, &reads, &picks, p->src + (k * (size_t)p->src_height + (size_t)rows[y]) * in_row, to,
                            columns, p->width);
        }
}

/* The positions of a row's elements x to x + n - 1 before a fixed step of the whole image. */
static void trace_line(const mot_trace_step *s, int32_t y, int32_t x, int n, int32_t *restrict columns,
                       int32_t *restrict rows)
{
    const int64_t step_x = (int32_t)s->fixed[0], step_y = (int32_t)s->fixed[3];
    const int64_t first_x = (int32_t)(s->fixed[2] + (uint32_t)y * s->fixed[1]) + x * step_x,
                  first_y = (int32_t)(s->fixed[5] + (uint32_t)y * s->fixed[4]) + x * step_y;
    int64_t begin = 0, end = n;
    warp_inside(first_x, step_x, (int64_t)s->width * WARP_ONE, &begin, &end);
    warp_inside(first_y, step_y, (int64_t)s->height * WARP_ONE, &begin, &end);
    const uint32_t fx = (uint32_t)first_x, fy = (uint32_t)first_y, xx = (uint32_t)step_x, yx = (uint32_t)step_y;
    for (int i = 0; i < begin; i++)
        columns[i] = -1;
    for (int i = (int)begin; i < end; i++) {
        columns[i] = (int32_t)((fx + (uint32_t)i * xx) >> 16);
        rows[i] = (int32_t)((fy + (uint32_t)i * yx) >> 16);
    }
    for (int i = (int)end; i < n; i++)
        columns[i] = -1;
}

/* One fixed step of the whole image: as images of a channel, or of several, move by it. */
static void trace_by_warp(const mot_planes *p, const mot_trace_step *s, void *scratch)
{
    mot_warp_plan plan = { .path = MOT_WARP_FIXED, .width = p->width, .height = p->height };
    memcpy(plan.fixed, s->fixed, sizeof plan.fixed);
    uint8_t *const filled = (uint8_t *)scratch + sizeof(warp_run) * ((size_t)p->width / 2 + 2);
    for (int64_t x = 0; x < p->width; x++)
        warp_put(filled + x * p->size, p->fill, p->size);
    for (size_t k = 0; k < p->count; k++) {
        const size_t plane = k * (size_t)p->width * (size_t)p->height * (size_t)p->size;
        const warp_plane moved = { .in = p->src + plane,
                                   .out = p->dst + plane,
                                   .in_row = (int64_t)p->width * p->size,
                                   .out_row = (int64_t)p->width * p->size,
                                   .width = p->width,
                                   .height = p->height,
                                   .size = p->size,
                                   .fill = p->fill,
                                   .filled = filled };
        warp_fixed(&moved, 1, &plan, scratch);
    }
}

static void trace_planes(const mot_planes *p, const mot_trace_step *steps, int count, int32_t *tables)
{
    int32_t columns[TRACE_POSITIONS], rows[TRACE_POSITIONS];
    int32_t *end = tables;
    const size_t in = (size_t)p->src_width * (size_t)p->src_height * (size_t)p->size,
                 out = (size_t)p->width * (size_t)p->height * (size_t)p->size;
    if (count == 0) { /* the result has the source's size */
        memcpy(p->dst, p->src, p->count * (size_t)p->width * (size_t)p->height * (size_t)p->size);
        return;
    }
    if (trace_only_axes(p, steps, count, tables)) {
        trace_by_tables(p, tables, tables + p->width, tables + p->width + p->height);
        return;
    }
    const mot_trace_step *const last = &steps[count - 1];
    const int linear = last->kind == MOT_TRACE_FIXED && mot_trace_is_whole(last, 0, 1, p->width, p->height) &&
                       p->width <= WARP_FIXED_SIDE && p->height <= WARP_FIXED_SIDE;
    if (linear && count == 1) {
        trace_by_warp(p, last, tables);
        return;
    }
    for (int s = 0; s < count; s++) {
        const int32_t sides[] = { steps[s].part.x1 - steps[s].part.x0, steps[s].part.y1 - steps[s].part.y0 };
        for (int k = 0; k < 2 && steps[s].kind == MOT_TRACE_AXES; end += sides[k++])
            trace_table(&steps[s].axis[k], sides[k], end);
    }
    for (int32_t y = 0; y < p->height; y++)
        for (int32_t x = 0; x < p->width; x += TRACE_POSITIONS) {
            const int n = p->width - x < TRACE_POSITIONS ? p->width - x : TRACE_POSITIONS;
            if (linear)
                trace_line(last, y, x, n, columns, rows);
            for (int i = 0; i < n && !linear; i++) {
                columns[i] = x + i;
                rows[i] = y;
            }
            const int32_t *table = end;
            for (int s = count - 1 - linear; s >= 0; s--) {
                if (steps[s].kind == MOT_TRACE_AXES)
                    table -= mot_trace_sides(&steps[s]);
                trace_step(&steps[s], table, columns, rows, n);
            }
            for (int i = 0; i < n; i++)
                columns[i] = columns[i] < 0 ? -1 : rows[i] * p->src_width + columns[i];
            const trace_reads reads = trace_reads_of(columns, n);
            for (size_t k = 0; k < p->count; k++)
                trace_write(p, &reads, NULL, p->src + k * in,
                            p->dst + k * out + ((size_t)y * (size_t)p->width + (size_t)x) * (size_t)p->size, columns,
                            n);
        }
}

#endif
