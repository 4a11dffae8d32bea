/* SPDX-License-Identifier: Apache-2.0 */
/* Components of a pass of an image of U16 and F32: where they come from, and what its items make of them. A thread has
 * PX neighbours in a row (one, where the pass looks at other pixels) of B bands: 3 are colours; of 4 the last ones may
 * be missing, and `bands` says how many there are. */
#ifndef MOT_WIDE_PASS_CUH
#define MOT_WIDE_PASS_CUH

#include "kernels/cuda/breaks_pixels.cuh"
#include "kernels/cuda/wide.h"

/* An image that a pass reads or writes. */
struct wide_image {
    mot_view view;
    int dtype;
};

struct wide_pass {
    const mot_wide_call &call;
    const mot_wide_pass &of;
    const mot_wide_item *items;  /* of the image */
    const mot_wide_item *source; /* the item that looks at other pixels; or NULL */
    const mot_wide_stats *stats; /* [channels] of the image */
    wide_image from;
    mot_wide wide; /* the bands' ranges and fills */
};

DEVICE wide_image wide_image_of(const mot_wide_call &call, int which, int width, int height, int i)
{
    if (which == MOT_WIDE_SRC)
        return wide_image{ image_of(call.src, call.channels, i), call.src_dtype };
    if (which == MOT_WIDE_DST)
        return wide_image{ image_of(call.dst, call.channels, i), call.dst_dtype };
    const int64_t row = 4 * (int64_t)width;
    return wide_image{ mot_view{ (uint8_t *)(call.spare[which] + i * call.spare_floats), width, height, call.channels,
                                 0, row, 4, row * height },
                       MOTLEY_F32 };
}

DEVICE wide_pass wide_begin(const mot_wide_call &call, const mot_wide_pass &of, int i)
{
    const mot_wide_item *const items = call.items + (int64_t)i * call.most_items;
    const bool any = of.end > of.first;
    wide_pass p = { call,
                    of,
                    items,
                    any && items[of.first].kind >= MOT_WIDE_SOURCES ? &items[of.first] : nullptr,
                    call.stats + (int64_t)i * call.channels,
                    wide_image_of(call, of.from, of.from_width, of.from_height, i),
                    {} };
    p.wide.colors = call.channels == 3;
    p.wide.range = call.range;
    p.wide.fill = call.fill;
    p.wide.mean = of.to == MOT_WIDE_DST ? call.mean : nullptr;
    p.wide.std = call.std;
    return p;
}

DEVICE float wide_load(const uint8_t *p, int dtype)
{
    return dtype == MOTLEY_U16 ? (float)*(const uint16_t *)p : *(const float *)p;
}

DEVICE float wide_at(const wide_image &from, int x, int y, int c)
{
    const mot_view &v = from.view;
    return wide_load(v.data + y * v.row + x * v.pixel + c * v.channel, from.dtype);
}

#define MOT_WIDE_TAPS 8 /* of a resize, whose weights a thread keeps for all bands */

/* ---- places ---- */

/* Where components come from. */
template <int PX> struct wide_spot {
    int x[PX], y[PX];
    int born[PX];       /* the item that fills them; -1: none does */
    int64_t offset[PX]; /* of a pass without a source: in the first band */
    bool packed;        /* PX components next to each other */
};

/* What the source of a pass reads there, in all bands. */
struct wide_aim {
    bool inside;               /* BETWEEN: else it is the fill. RESIZES: all taps are in the image, and few */
    int taps;                  /* RESIZES */
    int64_t at[MOT_WIDE_TAPS]; /* BETWEEN: columns, then rows. RESIZES: the first tap, and from tap to tap */
    double by[MOT_WIDE_TAPS];  /* BETWEEN: the distances. RESIZES: weights */
};

/* One move back, of any kind; -1: outside, or erased. Called: it is rare, and long. */
OUTLINE int64_t wide_back(const mot_trace_step *trace, int x, int y)
{
    const int inside = mot_trace_back(trace, &x, &y);
    return inside ? (int64_t)y << 32 | (int64_t)x : -1;
}

/* The same of a fixed one, which is of the whole image. */
DEVICE int64_t wide_back_fixed(const mot_trace_step &trace, int x, int y)
{
    const int to_x = (int32_t)(trace.fixed[2] + (uint32_t)x * trace.fixed[0] + (uint32_t)y * trace.fixed[1]) >> 16;
    const int to_y = (int32_t)(trace.fixed[5] + (uint32_t)x * trace.fixed[3] + (uint32_t)y * trace.fixed[4]) >> 16;
    const bool inside = to_x >= 0 && to_y >= 0 && to_x < trace.width && to_y < trace.height;
    return inside ? (int64_t)to_y << 32 | (int64_t)to_x : -1;
}

/* Follows components x0.. of row y back through the pass's items up to `end`. */
template <int PX> DEVICE void wide_find(const wide_pass &p, int end, int x0, int y, wide_spot<PX> &at)
{
    const mot_view &v = p.from.view;
#pragma unroll
    for (int k = 0; k < PX; k++) {
        at.x[k] = min(x0 + k, p.of.width - 1);
        at.y[k] = y;
        at.born[k] = -1;
    }
    MOT_ROLLED
    for (int s = end - 1; s >= p.of.first && p.of.moves; s--) {
        if (p.items[s].kind != MOT_WIDE_MOVES)
            continue;
        const mot_trace_step &trace = p.items[s].trace;
        const bool fixed = trace.kind == MOT_TRACE_FIXED;
#pragma unroll
        for (int k = 0; k < PX; k++) {
            if (at.born[k] >= 0)
                continue;
            const int64_t to = fixed ? wide_back_fixed(trace, at.x[k], at.y[k]) : wide_back(&trace, at.x[k], at.y[k]);
            at.born[k] = to < 0 ? s : -1;
            at.x[k] = to < 0 ? 0 : (int)to;
            at.y[k] = to < 0 ? 0 : (int)(to >> 32);
        }
    }
    at.packed = !p.of.moves && v.pixel == (int64_t)mot_dtype_bytes(p.from.dtype) && x0 + PX <= p.of.width;
#pragma unroll
    for (int k = 0; k < PX; k++)
        at.offset[k] = at.y[k] * v.row + at.x[k] * v.pixel;
}

/* ---- items that look at other pixels ---- */

/* PX components from `p` on. */
template <int PX> DEVICE void wide_load_packed(const uint8_t *p, int dtype, float at[PX])
{
    if (PX == 4 && dtype == MOTLEY_F32 && aligned(p, 16)) {
        const four v = *(const four *)p;
#pragma unroll
        for (int k = 0; k < PX; k++)
            at[k] = v.v[k];
    } else if (PX == 4 && dtype == MOTLEY_U16 && aligned(p, 8)) {
        const uint2 v = *(const uint2 *)p;
#pragma unroll
        for (int k = 0; k < PX; k++)
            at[k] = (float)((k < 2 ? v.x : v.y) >> (16 * (k & 1)) & 0xFFFF);
    } else {
#pragma unroll
        for (int k = 0; k < PX; k++)
            at[k] = wide_load(p + k * (int64_t)mot_dtype_bytes(dtype), dtype);
    }
}

DEVICE void wide_aim_at(const wide_pass &p, int x, int y, wide_aim &aim)
{
    const mot_view &v = p.from.view;
    aim.inside = false;
    if (p.source->kind == MOT_WIDE_BETWEEN) {
        int i, j;
        aim.inside = mot_warp_between(&p.source->plan, x, y, &i, &j, &aim.by[0], &aim.by[1]);
        if (!aim.inside)
            return;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            aim.at[k] = mot_warp_clamp(i - 1 + k, v.width) * v.pixel;
            aim.at[4 + k] = mot_warp_clamp(j - 1 + k, v.height) * v.row;
        }
    } else if (p.source->kind == MOT_WIDE_RESIZES) {
        const mot_wide_axis &axis = p.source->axis;
        const int down = p.source->down, i = down ? y : x, first = axis.first[i];
        const int left = axis.left + (down ? x : first), top = axis.top + (down ? first : y);
        aim.taps = axis.count[i];
        const int right = left + (down ? 1 : aim.taps), bottom = top + (down ? aim.taps : 1);
        aim.inside = left >= 0 && top >= 0 && right <= v.width && bottom <= v.height && aim.taps <= MOT_WIDE_TAPS;
        aim.at[0] = top * v.row + left * v.pixel;
        aim.at[1] = down ? v.row : v.pixel;
#pragma unroll
        for (int t = 0; t < MOT_WIDE_TAPS; t++)
            aim.by[t] = t < aim.taps ? axis.weight[(int64_t)t * axis.out + i] : 0;
    }
}

DEVICE float wide_between(const wide_pass &p, const wide_aim &aim, int c)
{
    if (!aim.inside)
        return mot_wide_fill(&p.wide, &p.source->step, c);
    const uint8_t *const band = p.from.view.data + c * p.from.view.channel;
    const int dtype = p.from.dtype;
    double v;
    if (p.source->plan.path == MOT_WARP_BILINEAR) {
        const uint8_t *const top = band + aim.at[5], *const bottom = band + aim.at[6];
        v = mot_wide_bilinear(wide_load(top + aim.at[1], dtype), wide_load(top + aim.at[2], dtype),
                              wide_load(bottom + aim.at[1], dtype), wide_load(bottom + aim.at[2], dtype), aim.by[0],
                              aim.by[1]);
    } else {
        double row[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const uint8_t *const line = band + aim.at[4 + k];
            row[k] = mot_wide_cubic(wide_load(line + aim.at[0], dtype), wide_load(line + aim.at[1], dtype),
                                    wide_load(line + aim.at[2], dtype), wide_load(line + aim.at[3], dtype), aim.by[0]);
        }
        v = mot_warp_cubic(row[0], row[1], row[2], row[3], aim.by[1]);
    }
    return mot_wide_moved(&p.call.range[c], v);
}

/* PX components of a row from column x on, the last one again behind the end. row: its first component. */
template <int PX> DEVICE void wide_load_row(const wide_pass &p, const uint8_t *row, int x, float at[PX])
{
    const mot_view &from = p.from.view;
    if (PX > 1 && x + PX <= from.width && from.pixel == (int64_t)mot_dtype_bytes(p.from.dtype)) {
        wide_load_packed<PX>(row + x * from.pixel, p.from.dtype, at);
        return;
    }
#pragma unroll
    for (int k = 0; k < PX; k++)
        at[k] = wide_load(row + min(x + k, from.width - 1) * from.pixel, p.from.dtype);
}

/* Sums of 3x3 or 5x5 components. */
template <int REACH, int PX>
DEVICE void wide_sums_of(const wide_pass &p, int x, int y, const uint8_t *band, float sum[PX])
{
    const mot_view &from = p.from.view;
#pragma unroll
    for (int j = 0; j <= 2 * REACH; j++) {
        const uint8_t *const row = band + mot_warp_clamp(y + j - REACH, from.height) * from.row;
        const float *const weight = &p.source->taps.weight[j * (2 * REACH + 1)];
        float v[PX + 2 * REACH];
        wide_load_row<PX>(p, row, x, v + REACH);
#pragma unroll
        for (int k = 0; k < REACH; k++) {
            v[k] = wide_load(row + max(x + k - REACH, 0) * from.pixel, p.from.dtype);
            v[PX + REACH + k] = wide_load(row + min(x + PX + k, from.width - 1) * from.pixel, p.from.dtype);
        }
#pragma unroll
        for (int i = 0; i <= 2 * REACH; i++)
#pragma unroll
            for (int k = 0; k < PX; k++)
                sum[k] = fmaf(v[k + i], weight[i], sum[k]);
    }
}

template <int PX> DEVICE void wide_sums(const wide_pass &p, int x0, int y, const uint8_t *band, int c, float at[PX])
{
    const mot_taps &taps = p.source->taps;
    const mot_range range = p.call.range[c];
    const mot_view &from = p.from.view;
    const int reach = taps.reach;
    const bool none = from.width <= 2 * reach || from.height <= 2 * reach;
    const bool edge = y < reach || y >= from.height - reach;
    const float bias = mot_wide_bias(&range, taps.total, taps.offset);
    float sum[PX] = {};
    wide_load_row<PX>(p, band + y * from.row, x0, at);
    if (!none && !edge && reach == 1)
        wide_sums_of<1, PX>(p, x0, y, band, sum);
    else if (!none && !edge)
        wide_sums_of<2, PX>(p, x0, y, band, sum);
#pragma unroll
    for (int k = 0; k < PX; k++) {
        const float all = bias != 0 ? sum[k] + bias : sum[k], v = at[k];
        const bool outside = edge || x0 + k < reach || x0 + k >= from.width - reach;
        const float made = none      ? v
                           : outside ? mot_range_clamp(&range, v)
                                     : mot_wide_stencil(p.source->step.op, v, range.whole ? rintf(all) : all, &range,
                                                        &p.source->step.arg);
        at[k] = mot_wide_end(&range, v, made);
    }
}

/* One pass of a box blur. */
template <int PX> DEVICE void wide_boxes(const wide_pass &p, int x, int y, const uint8_t *band, int c, float at[PX])
{
    const mot_arg &arg = p.source->step.arg;
    const mot_view &from = p.from.view;
    const int64_t radius = mot_blur_radius(&arg);
    float inner[PX] = {}, edges[PX] = {};
    if (p.source->down) {
        for (int64_t t = y - radius - 1; t <= y + radius + 1; t++) {
            const int64_t row = t < 0 ? 0 : t >= from.height ? from.height - 1 : t;
            float v[PX];
            wide_load_row<PX>(p, band + row * from.row, x, v);
#pragma unroll
            for (int k = 0; k < PX; k++) {
                const bool ends = t == y - radius - 1 || t == y + radius + 1;
                edges[k] = t == y - radius - 1 ? v[k] : ends ? edges[k] + v[k] : edges[k];
                inner[k] = ends ? inner[k] : inner[k] + v[k];
            }
        }
    } else {
        const uint8_t *const row = band + y * from.row;
        for (int64_t t = x - radius - 1; t < x + PX + radius + 1; t++) {
            const int64_t column = t < 0 ? 0 : t >= from.width ? from.width - 1 : t;
            const float v = wide_load(row + column * from.pixel, p.from.dtype);
#pragma unroll
            for (int k = 0; k < PX; k++) {
                const int64_t apart = t - (x + k);
                edges[k] = apart == -radius - 1 ? v : apart == radius + 1 ? edges[k] + v : edges[k];
                inner[k] = apart >= -radius && apart <= radius ? inner[k] + v : inner[k];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < PX; k++) {
        const float v = mot_wide_blur(p.source->step.op, inner[k], edges[k], &arg);
        at[k] = !p.source->ends ? v : mot_wide_end(&p.call.range[c], 0, p.call.range[c].whole ? rintf(v) : v);
    }
}

DEVICE float wide_kernel(const wide_pass &p, int x, int y, const uint8_t *band, int c)
{
    const mot_arg &arg = p.source->step.arg;
    const mot_view &from = p.from.view;
    const int reach = (int)arg.size / 2;
    float sum = 0;
    for (int j = -reach; j <= reach; j++) {
        const float by = __uint_as_float(arg.u[j < 0 ? -j : j]);
        const uint8_t *const row = band + mot_mirror(y + j, from.height) * from.row;
        for (int i = -reach; i <= reach; i++)
            sum = fmaf(by * __uint_as_float(arg.u[i < 0 ? -i : i]),
                       wide_load(row + mot_mirror(x + i, from.width) * from.pixel, p.from.dtype), sum);
    }
    return mot_wide_end(&p.call.range[c], 0, p.call.range[c].whole ? rintf(sum) : sum);
}

/* Any taps, of a picture that may reach beyond the image. */
DEVICE double wide_resize_any(const wide_pass &p, int x, int y, int c)
{
    const mot_wide_axis &axis = p.source->axis;
    const mot_view &from = p.from.view;
    const int down = p.source->down, at = down ? y : x, first = axis.first[at], count = axis.count[at];
    double sum = 0;
    for (int t = 0; t < count; t++) {
        const int i = axis.left + (down ? x : first + t), j = axis.top + (down ? first + t : y);
        const bool inside = i >= 0 && j >= 0 && i < from.width && j < from.height;
        const float v = inside ? wide_load(from.data + j * from.row + i * from.pixel + c * from.channel, p.from.dtype)
                               : mot_wide_fill(&p.wide, &p.source->step, c);
        sum += (double)v * axis.weight[(int64_t)t * axis.out + at];
    }
    return sum;
}

DEVICE float wide_resize(const wide_pass &p, const wide_aim &aim, int x, int y, int c)
{
    double sum = 0;
    if (!aim.inside) {
        sum = wide_resize_any(p, x, y, c);
    } else {
        const uint8_t *at = p.from.view.data + c * p.from.view.channel + aim.at[0];
#pragma unroll
        for (int t = 0; t < MOT_WIDE_TAPS; t++, at += aim.at[1])
            if (t < aim.taps)
                sum += (double)wide_load(at, p.from.dtype) * aim.by[t];
    }
    return mot_wide_resized(sum, p.call.range[0].whole);
}

template <int PX>
DEVICE void wide_source(const wide_pass &p, const wide_spot<PX> &spot, const wide_aim &aim, int c, float at[PX])
{
    const int x = spot.x[0], y = spot.y[0];
    const uint8_t *const band = p.from.view.data + c * p.from.view.channel;
    if (p.source->kind == MOT_WIDE_SUMS)
        wide_sums<PX>(p, x, y, band, c, at);
    else if (p.source->kind == MOT_WIDE_BOXES)
        wide_boxes<PX>(p, x, y, band, c, at);
    else if constexpr (PX == 1)
        at[0] = p.source->kind == MOT_WIDE_BETWEEN   ? wide_between(p, aim, c)
                : p.source->kind == MOT_WIDE_KERNELS ? wide_kernel(p, x, y, band, c)
                                                     : wide_resize(p, aim, x, y, c);
}

/* ---- items that see one pixel ---- */

/* Whether there is a band g of B. */
#define MOT_WIDE_HAS(g) (B != 4 || (g) < bands)

#define MOT_WIDE_EACH(made) \
    _Pragma("unroll") for (int g = 0; g < B; g++) \
    { \
        if (!MOT_WIDE_HAS(g)) \
            continue; \
        const mot_range range = p.call.range[c + g]; \
        _Pragma("unroll") for (int k = 0; k < PX; k++) \
        { \
            const float v = at[g][k]; \
            at[g][k] = mot_wide_end(&range, v, made); \
        } \
    } \
    break;

#include "kernels/shapes_off.h"
#undef MOT_IF_POINT
#define MOT_IF_POINT(ID, stem) \
    case MOT_OP_##ID: \
        MOT_WIDE_EACH(mot_##stem##_wide(v, &range, &arg))
#undef MOT_IF_COLOR
#define MOT_IF_COLOR(ID, stem) \
    case MOT_OP_##ID: \
        if (B == 3) \
            MOT_WIDE_EACH(mot_##stem##_wide(v, luma[k], &range, &arg)) \
        break;
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        MOT_WIDE_EACH(mot_##stem##_wide(v, &p.stats[c + g], &range, &arg))

template <int B, int PX> DEVICE void wide_luma(const wide_pass &p, const float at[B][PX], float luma[PX])
{
    if (B != 3)
        return;
    const mot_range range = p.call.range[0];
#pragma unroll
    for (int k = 0; k < PX; k++)
        luma[k] = mot_wide_luma(&range, at[0][k], at[B > 1 ? 1 : 0][k], at[B > 2 ? 2 : 0][k]);
}

template <int B, int PX>
DEVICE void wide_change(const wide_pass &p, const mot_wide_item &item, int c, int bands, float at[B][PX])
{
    const mot_arg &arg = item.step.arg;
    float luma[PX];
    if (item.kind == MOT_WIDE_COLORS)
        wide_luma<B, PX>(p, at, luma);
    switch (item.step.op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
}

#include "kernels/shapes_off.h"

/* A resize of bands c.., whose loads are under way side by side. */
template <int B>
DEVICE void wide_resizes(const wide_pass &p, const wide_aim &aim, int x, int y, int c, int bands, float at[B][1])
{
    const mot_view &from = p.from.view;
    const uint8_t *const first = from.data + c * from.channel + aim.at[0];
    double sum[B] = {};
#pragma unroll
    for (int t = 0; t < MOT_WIDE_TAPS; t++) {
        if (t >= aim.taps || !aim.inside)
            break;
        float v[B];
#pragma unroll
        for (int g = 0; g < B; g++)
            v[g] = MOT_WIDE_HAS(g) ? wide_load(first + g * from.channel + t * aim.at[1], p.from.dtype) : 0.0f;
#pragma unroll
        for (int g = 0; g < B; g++)
            sum[g] += (double)v[g] * aim.by[t];
    }
#pragma unroll
    for (int g = 0; g < B; g++) {
        if (!MOT_WIDE_HAS(g))
            continue;
        if (!aim.inside)
            sum[g] = wide_resize_any(p, x, y, c + g);
        at[g][0] = mot_wide_resized(sum[g], p.call.range[0].whole);
    }
}

enum { MOT_WIDE_PLAIN, MOT_WIDE_LOOKS, MOT_WIDE_SCALES };

/* What the items up to `end` make of bands c.. of a spot. HOW: whether the first one looks at other pixels, and is a
 * resize. */
template <int B, int PX, int HOW>
DEVICE void wide_make(const wide_pass &p, const wide_spot<PX> &spot, const wide_aim &aim, int end, int c, int bands,
                      float at[B][PX])
{
    if constexpr (HOW == MOT_WIDE_SCALES) {
        if (spot.born[0] < 0)
            wide_resizes<B>(p, aim, spot.x[0], spot.y[0], c, bands, at);
        else
            for (int g = 0; g < B; g++)
                at[g][0] = 0;
    }
#pragma unroll
    for (int g = 0; g < B && HOW != MOT_WIDE_SCALES; g++) {
        if (!MOT_WIDE_HAS(g))
            continue;
        const uint8_t *const band = p.from.view.data + (c + g) * p.from.view.channel;
        if constexpr (HOW == MOT_WIDE_LOOKS) {
            if (PX > 1 || spot.born[0] < 0)
                wide_source<PX>(p, spot, aim, c + g, at[g]);
            else
                at[g][0] = 0;
        } else if (spot.packed) {
            wide_load_packed<PX>(band + spot.offset[0], p.from.dtype, at[g]);
        } else {
#pragma unroll
            for (int k = 0; k < PX; k++)
                at[g][k] = spot.born[k] >= 0 ? 0.0f : wide_load(band + spot.offset[k], p.from.dtype);
        }
    }
    MOT_ROLLED
    for (int s = p.of.first + (HOW != MOT_WIDE_PLAIN); s < end; s++) {
        const mot_wide_item &item = p.items[s];
        if (item.kind != MOT_WIDE_MOVES) {
            wide_change<B, PX>(p, item, c, bands, at);
            continue;
        }
#pragma unroll
        for (int g = 0; g < B; g++) {
            if (!MOT_WIDE_HAS(g))
                continue;
            const float fill = mot_wide_fill(&p.wide, &item.step, c + g);
#pragma unroll
            for (int k = 0; k < PX; k++)
                at[g][k] = spot.born[k] == s ? fill : at[g][k];
        }
    }
}

#endif
