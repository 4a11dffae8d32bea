/* SPDX-License-Identifier: Apache-2.0 */
/* Components of a pass of an image of U16 or F32: where they come from, and what its items make of them. PX neighbours
 * in a row at a time (one, where the pass looks at other pixels) of G bands (three colours, else one). */
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

/* Pass `now` of image i; of.first < 0: it has none. */
DEVICE mot_wide_pass wide_pass_now(const mot_wide_call &call, int i)
{
    if (call.pass)
        return call.pass[(int64_t)i * call.passes + call.now];
    const mot_view dst = image_of(call.dst, 1, i);
    return mot_wide_pass{ 0, 0, -1, 0, MOT_WIDE_SRC, MOT_WIDE_DST, dst.width, dst.height, dst.width, dst.height };
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

/* ---- places ---- */

/* Where components come from. */
template <int PX> struct wide_spot {
    int x[PX], y[PX];
    int born[PX];       /* the item that fills them; -1: none does */
    int64_t offset[PX]; /* of a pass without a source: in the first band */
    bool packed;        /* PX components next to each other */
    int i, j, inside;   /* BETWEEN */
    double dx, dy;
};

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
    for (int s = end - 1; s >= p.of.first && p.of.moves; s--) {
        if (p.items[s].kind != MOT_WIDE_MOVES)
            continue;
#pragma unroll
        for (int k = 0; k < PX; k++)
            if (at.born[k] < 0 && !mot_trace_back(&p.items[s].trace, &at.x[k], &at.y[k]))
                at.born[k] = s;
    }
    at.packed = false;
    if (PX > 1) {
        const int bytes = (int)mot_dtype_bytes(p.from.dtype);
        at.packed = !p.of.moves && v.pixel == bytes && x0 + PX <= p.of.width;
#pragma unroll
        for (int k = 0; k < PX; k++)
            at.offset[k] = at.y[k] * v.row + at.x[k] * v.pixel;
    } else if (p.source && p.source->kind == MOT_WIDE_BETWEEN) {
        at.inside = mot_warp_between(&p.source->plan, at.x[0], at.y[0], &at.i, &at.j, &at.dx, &at.dy);
    }
}

/* ---- items that look at other pixels ---- */

DEVICE float wide_tap(const wide_image &from, int x, int y, int c)
{
    return wide_at(from, mot_warp_clamp(x, from.view.width), mot_warp_clamp(y, from.view.height), c);
}

DEVICE float wide_between(const wide_pass &p, const wide_spot<1> &at, int c)
{
    const int i = at.i, j = at.j;
    if (!at.inside)
        return mot_wide_fill(&p.wide, &p.source->step, c);
    double v;
    if (p.source->plan.path == MOT_WARP_BILINEAR) {
        v = mot_wide_bilinear(wide_tap(p.from, i, j, c), wide_tap(p.from, i + 1, j, c), wide_tap(p.from, i, j + 1, c),
                              wide_tap(p.from, i + 1, j + 1, c), at.dx, at.dy);
    } else {
        double row[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            row[k] =
                mot_wide_cubic(wide_tap(p.from, i - 1, j - 1 + k, c), wide_tap(p.from, i, j - 1 + k, c),
                               wide_tap(p.from, i + 1, j - 1 + k, c), wide_tap(p.from, i + 2, j - 1 + k, c), at.dx);
        v = mot_warp_cubic(row[0], row[1], row[2], row[3], at.dy);
    }
    return mot_wide_moved(&p.call.range[c], v);
}

DEVICE float wide_sum(const wide_pass &p, int x, int y, int c)
{
    const mot_taps &taps = p.source->taps;
    const mot_range range = p.call.range[c];
    const int reach = taps.reach, width = p.from.view.width, height = p.from.view.height;
    const float v = wide_at(p.from, x, y, c);
    if (width <= 2 * reach || height <= 2 * reach)
        return mot_wide_end(&range, v, v);
    if (x < reach || y < reach || x >= width - reach || y >= height - reach)
        return mot_wide_end(&range, v, mot_range_clamp(&range, v));
    const float *weight = taps.weight;
    float sum = 0;
    for (int j = -reach; j <= reach; j++)
        for (int i = -reach; i <= reach; i++)
            sum = fmaf(wide_at(p.from, x + i, y + j, c), *weight++, sum);
    sum += mot_wide_bias(&range, taps.total, taps.offset);
    const float made =
        mot_wide_stencil(p.source->step.op, v, range.whole ? rintf(sum) : sum, &range, &p.source->step.arg);
    return mot_wide_end(&range, v, made);
}

DEVICE float wide_box(const wide_pass &p, int x, int y, int c)
{
    const mot_arg &arg = p.source->step.arg;
    const int down = p.source->down, i = down ? y : x;
    const int64_t radius = mot_blur_radius(&arg), n = down ? p.from.view.height : p.from.view.width;
    const int64_t stride = down ? p.from.view.row : p.from.view.pixel;
    const uint8_t *const line =
        p.from.view.data + c * p.from.view.channel + (down ? x * p.from.view.pixel : y * p.from.view.row);
    const int64_t before = i - radius - 1, after = i + radius + 1;
    float inner = 0;
    for (int64_t k = i - radius; k <= i + radius; k++)
        inner += wide_load(line + (k < 0 ? 0 : k >= n ? n - 1 : k) * stride, p.from.dtype);
    const float edges = wide_load(line + (before < 0 ? 0 : before) * stride, p.from.dtype) +
                        wide_load(line + (after >= n ? n - 1 : after) * stride, p.from.dtype);
    const float v = mot_wide_blur(p.source->step.op, inner, edges, &arg);
    if (!p.source->ends)
        return v;
    return mot_wide_end(&p.call.range[c], 0, p.call.range[c].whole ? rintf(v) : v);
}

DEVICE float wide_kernel(const wide_pass &p, int x, int y, int c)
{
    const mot_arg &arg = p.source->step.arg;
    const int reach = (int)arg.size / 2;
    float sum = 0;
    for (int j = -reach; j <= reach; j++) {
        const float by = __uint_as_float(arg.u[j < 0 ? -j : j]);
        const int row = mot_mirror(y + j, p.from.view.height);
        for (int i = -reach; i <= reach; i++)
            sum = fmaf(by * __uint_as_float(arg.u[i < 0 ? -i : i]),
                       wide_at(p.from, mot_mirror(x + i, p.from.view.width), row, c), sum);
    }
    return mot_wide_end(&p.call.range[c], 0, p.call.range[c].whole ? rintf(sum) : sum);
}

/* A pixel of the picture that is resized, which may reach beyond the image. */
DEVICE float wide_picture(const wide_pass &p, int x, int y, int c)
{
    const int i = x + p.source->axis.left, j = y + p.source->axis.top;
    if (i < 0 || j < 0 || i >= p.from.view.width || j >= p.from.view.height)
        return mot_wide_fill(&p.wide, &p.source->step, c);
    return wide_at(p.from, i, j, c);
}

DEVICE float wide_resize(const wide_pass &p, int x, int y, int c)
{
    const mot_wide_axis &axis = p.source->axis;
    const int down = p.source->down, i = down ? y : x, first = axis.first[i], count = axis.count[i];
    double sum = 0;
    for (int t = 0; t < count; t++)
        sum += (double)wide_picture(p, down ? x : first + t, down ? first + t : y, c) *
               axis.weight[(int64_t)t * axis.out + i];
    return mot_wide_resized(sum, p.call.range[0].whole);
}

DEVICE float wide_source(const wide_pass &p, const wide_spot<1> &at, int c)
{
    const int x = at.x[0], y = at.y[0];
    switch (p.source->kind) {
    case MOT_WIDE_SUMS:
        return wide_sum(p, x, y, c);
    case MOT_WIDE_BETWEEN:
        return wide_between(p, at, c);
    case MOT_WIDE_BOXES:
        return wide_box(p, x, y, c);
    case MOT_WIDE_KERNELS:
        return wide_kernel(p, x, y, c);
    default:
        return wide_resize(p, x, y, c);
    }
}

/* ---- items that see one pixel ---- */

#define MOT_WIDE_EACH(made) \
    _Pragma("unroll") for (int g = 0; g < G; g++) \
    { \
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
        if (G == 3) \
            MOT_WIDE_EACH(mot_##stem##_wide(v, luma[k], &range, &arg)) \
        break;
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        MOT_WIDE_EACH(mot_##stem##_wide(v, &p.stats[c + g], &range, &arg))

template <int G, int PX> DEVICE void wide_luma(const wide_pass &p, const float at[G][PX], float luma[PX])
{
    if (G != 3)
        return;
    const mot_range range = p.call.range[0];
#pragma unroll
    for (int k = 0; k < PX; k++)
        luma[k] = mot_wide_luma(&range, at[0][k], at[G > 1 ? 1 : 0][k], at[G > 2 ? 2 : 0][k]);
}

template <int G, int PX> DEVICE void wide_change(const wide_pass &p, const mot_wide_item &item, int c, float at[G][PX])
{
    const mot_arg &arg = item.step.arg;
    float luma[PX];
    if (item.kind == MOT_WIDE_COLORS)
        wide_luma<G, PX>(p, at, luma);
    switch (item.step.op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
}

#include "kernels/shapes_off.h"
#undef MOT_WIDE_EACH

/* ---- components ---- */

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

/* What the items up to `end` make of bands c.. of a spot. */
template <int G, int PX>
DEVICE void wide_make(const wide_pass &p, const wide_spot<PX> &spot, int end, int c, float at[G][PX])
{
#pragma unroll
    for (int g = 0; g < G; g++) {
        const uint8_t *const band = p.from.view.data + (c + g) * p.from.view.channel;
        if constexpr (PX == 1) {
            at[g][0] = spot.born[0] >= 0 ? 0.0f : wide_source(p, spot, c + g);
        } else if (spot.packed) {
            wide_load_packed<PX>(band + spot.offset[0], p.from.dtype, at[g]);
        } else {
#pragma unroll
            for (int k = 0; k < PX; k++)
                at[g][k] = spot.born[k] >= 0 ? 0.0f : wide_load(band + spot.offset[k], p.from.dtype);
        }
    }
    for (int s = p.of.first + (p.source != nullptr); s < end; s++) {
        const mot_wide_item &item = p.items[s];
        if (item.kind != MOT_WIDE_MOVES) {
            wide_change<G, PX>(p, item, c, at);
            continue;
        }
#pragma unroll
        for (int g = 0; g < G; g++) {
            const float fill = mot_wide_fill(&p.wide, &item.step, c + g);
#pragma unroll
            for (int k = 0; k < PX; k++)
                at[g][k] = spot.born[k] == s ? fill : at[g][k];
        }
    }
}

#endif
