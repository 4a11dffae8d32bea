/* SPDX-License-Identifier: Apache-2.0 */
/* Passes of images of U16 and F32 that look at other pixels: sums of neighbours, warps that interpolate, blurs,
 * resizes. */
#ifndef MOT_WIDE_LOOK_CUH
#define MOT_WIDE_LOOK_CUH

#include "kernels/cuda/wide_pass.cuh"

/* What a resize keeps of its first axis, of a band: rows of a tile's columns and one more. */
#define MOT_WIDE_KEPT (MOT_WIDE_TILE * (MOT_WIDE_TILE + 1))

/* Shared memory of blocks. */
union wide_look_room {
    float made[8][MOT_WIDE_THREADS]; /* what a pass makes one by one */
    float weight[25];                /* of SUMS */
};

struct wide_resize_room {
    double kept[MOT_WIDE_BESIDE][MOT_WIDE_KEPT];
};

DEVICE const mot_wide_item &source_of(const wide_task &t)
{
    const mot_wide_item *const source = &t.items[t.of.first];
    __builtin_assume(__isGlobal(source));
    return *source;
}

template <bool WHOLE> DEVICE float wide_between(const mot_wide_call &call, const wide_task &t, int x, int y, int c)
{
    const mot_view &v = t.from;
    const mot_warp_plan &plan = source_of(t).plan;
    const uint8_t *const band = v.data + c * v.channel;
    int i, j;
    double dx, dy;
    if (!mot_warp_between(&plan, x, y, &i, &j, &dx, &dy)) {
        const mot_wide wide = wide_of(call);
        return mot_wide_fill(&wide, &source_of(t).step, c);
    }
    const bool bilinear = plan.path == MOT_WARP_BILINEAR;
    double row[4];
    float p[2][2];
#pragma unroll
    for (int b = 0; b < 4; b++) {
        if (bilinear && (b == 0 || b == 3))
            continue;
        const uint8_t *const line = band + mot_warp_clamp(j - 1 + b, v.height) * v.row;
        float at[4];
#pragma unroll
        for (int a = 0; a < 4; a++)
            at[a] = bilinear && (a == 0 || a == 3)
                        ? 0.0f
                        : wide_load<WHOLE>(line + mot_warp_clamp(i - 1 + a, v.width) * v.pixel);
        if (!bilinear)
            row[b] = mot_wide_cubic(at[0], at[1], at[2], at[3], dx);
        if (b == 1 || b == 2) {
            p[b - 1][0] = at[1];
            p[b - 1][1] = at[2];
        }
    }
    const mot_range range = wide_range<WHOLE>(call, c);
    return mot_wide_moved(&range, bilinear ? mot_wide_bilinear(p[0][0], p[0][1], p[1][0], p[1][1], dx, dy)
                                           : mot_warp_cubic(row[0], row[1], row[2], row[3], dy));
}

template <bool WHOLE> DEVICE float wide_kernel(const mot_wide_call &call, const wide_task &t, int x, int y, int c)
{
    const mot_arg &arg = source_of(t).step.arg;
    const mot_view &from = t.from;
    const uint8_t *const band = from.data + c * from.channel;
    const int reach = (int)arg.size / 2;
    float sum = 0;
    for (int j = -reach; j <= reach; j++) {
        const float by = __uint_as_float(arg.u[j < 0 ? -j : j]);
        const uint8_t *const row = band + mot_mirror(y + j, from.height) * from.row;
        for (int i = -reach; i <= reach; i++)
            sum = fmaf(by * __uint_as_float(arg.u[i < 0 ? -i : i]),
                       wide_load<WHOLE>(row + mot_mirror(x + i, from.width) * from.pixel), sum);
    }
    const mot_range range = wide_range<WHOLE>(call, c);
    return mot_wide_end(&range, 0, WHOLE ? rintf(sum) : sum);
}

/* Whether quads of all rows can be loaded at once, if that quad of one can. */
DEVICE bool wide_rows_packed(const wide_task &t, bool packed)
{
    return packed && (t.from.row & (4 * (int64_t)mot_dtype_bytes(t.from_dtype) - 1)) == 0;
}

/* Where a thread's quads find their neighbours. */
struct wide_around {
    const uint8_t *own[2];
    int64_t above[2];  /* from there to the first row that is added */
    int32_t beside[8]; /* likewise to the columns before and behind each quad; they are 2 * reach */
    uint32_t packed;   /* bit q: quad q can be loaded at once in all rows */
    uint32_t edge;     /* bit k: pixel k has too few neighbours */
};

DEVICE void wide_find_around(const wide_task &t, const wide_spot<8> &spot, const wide_memory<8> &from, int reach,
                             wide_around &around)
{
    const mot_view v = t.from;
    around.packed = around.edge = 0;
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int x = spot.x[q], y = spot.y[q];
        around.own[q] = from.at[q];
        around.above[q] = (max(reach, min(y, v.height - 1 - reach)) - reach - y) * v.row;
        around.packed |= wide_rows_packed(t, from.packed[q]) ? 1u << q : 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int to = k < reach ? max(x + k - reach, 0) : min(x + 4 + k - reach, v.width - 1);
            const bool outside = x + k < reach || x + k >= v.width - reach || y < reach || y >= v.height - reach;
            around.beside[4 * q + k] = (to - x) * (int32_t)v.pixel;
            around.edge |= outside ? 1u << (4 * q + k) : 0;
        }
    }
}

/* Four neighbours; behind the last one of their row, that one again. */
template <bool WHOLE> DEVICE void wide_load_four(const uint8_t *p, bool packed, int last, int64_t pixel, float v[4])
{
    if (packed) {
        wide_load_quad<WHOLE>(p, v);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        v[k] = wide_load<WHOLE>(p + min(k, last) * pixel);
}

/* Adds the rows of 3x3 or 5x5 components. */
template <int REACH, bool WHOLE>
DEVICE void wide_add_rows(const wide_around &around, const int (&last)[2], int64_t band, int64_t row, int64_t pixel,
                          const float *weight, float sum[8])
{
    constexpr int side = 2 * REACH + 1;
    MOT_ROLLED
    for (int j = 0; j < side; j++, band += row, weight += side) {
        float seen[2][4 + 2 * REACH];
#pragma unroll
        for (int q = 0; q < 2; q++) { /* all loads are under way together */
            const uint8_t *const p = around.own[q] + around.above[q] + band;
            wide_load_four<WHOLE>(p, around.packed >> q & 1, last[q], pixel, seen[q] + REACH);
#pragma unroll
            for (int k = 0; k < 2 * REACH; k++)
                seen[q][k < REACH ? k : 4 + k] = wide_load<WHOLE>(p + around.beside[4 * q + k]);
        }
#pragma unroll
        for (int q = 0; q < 2; q++)
#pragma unroll
            for (int i = 0; i < side; i++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    sum[4 * q + k] = fmaf(seen[q][k + i], weight[i], sum[4 * q + k]);
    }
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STENCIL
#define MOT_IF_STENCIL(ID, stem) \
    case MOT_OP_##ID: \
        _Pragma("unroll") for (int k = 0; k < 8; k++) made[k] = mot_##stem##_wide(at[k], made[k], &range, &arg); \
        break;

/* Sums of neighbours, and what the op makes of them. */
template <bool WHOLE>
DEVICE void wide_sums(const mot_wide_call &call, const wide_task &t, const wide_around &around, const int (&last)[2],
                      const mot_wide_item &item, int c, const float *weight, float at[8])
{
    const mot_range range = wide_range<WHOLE>(call, c);
    const mot_arg &arg = item.step.arg;
    const bool whole = item.taps.total == 1 && item.taps.offset == 0; /* then the bias is 0 */
    const float bias = whole ? 0 : mot_wide_bias(&range, item.taps.total, item.taps.offset);
    const int64_t row = t.from.row, pixel = t.from.pixel, band = c * t.from.channel;
    const int reach = item.taps.reach;
    const bool none = t.from.width <= 2 * reach || t.from.height <= 2 * reach;
    float made[8] = {};
#pragma unroll
    for (int q = 0; q < 2; q++)
        wide_load_four<WHOLE>(around.own[q] + band, around.packed >> q & 1, last[q], pixel, at + 4 * q);
    if (!none && reach == 1)
        wide_add_rows<1, WHOLE>(around, last, band, row, pixel, weight, made);
    else if (!none)
        wide_add_rows<2, WHOLE>(around, last, band, row, pixel, weight, made);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        made[k] = bias != 0 ? made[k] + bias : made[k];
        made[k] = WHOLE ? rintf(made[k]) : made[k];
    }
    switch (item.step.op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
#pragma unroll
        for (int k = 0; k < 8; k++)
            made[k] = mot_range_clamp(&range, made[k]);
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const float own = none ? at[k] : mot_range_clamp(&range, at[k]);
        at[k] = mot_wide_end(&range, at[k], none || (around.edge >> k & 1) ? own : made[k]);
    }
}

#include "kernels/shapes_off.h"

/* What a pass of a box blur adds for a quad, of rows, ... */
template <bool WHOLE>
DEVICE void wide_box_down(const mot_view &v, const uint8_t *column, int y, int radius, bool packed, int last,
                          float inner[4], float edges[4])
{
    const auto load = [&](int tap, float seen[4]) {
        wide_load_four<WHOLE>(column + max(0, min(y + tap, v.height - 1)) * v.row, packed, last, v.pixel, seen);
    };
    float seen[4];
    load(-radius - 1, edges);
    load(radius + 1, seen);
#pragma unroll
    for (int k = 0; k < 4; k++)
        edges[k] += seen[k];
#pragma unroll 2
    for (int tap = -radius; tap <= radius; tap++) {
        load(tap, seen);
#pragma unroll
        for (int k = 0; k < 4; k++)
            inner[k] += seen[k];
    }
}

/* ... or of columns. */
template <bool WHOLE>
DEVICE void wide_box_across(const mot_view &v, const uint8_t *row, int x, int radius, float inner[4], float edges[4])
{
    const auto load = [&](int column) {
        return wide_load<WHOLE>(row + max(0, min(column, v.width - 1)) * (int64_t)(int)v.pixel);
    };
    float seen[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        edges[k] = load(x + k - radius - 1) + load(x + k + radius + 1);
        seen[k] = k ? load(x + k - radius - 1) : 0;
    }
#pragma unroll 4
    for (int tap = -radius; tap <= radius; tap++) {
#pragma unroll
        for (int k = 0; k < 3; k++)
            seen[k] = seen[k + 1];
        seen[3] = load(x + 3 + tap);
#pragma unroll
        for (int k = 0; k < 4; k++)
            inner[k] += seen[k];
    }
}

/* One pass of a box blur. */
template <bool WHOLE>
DEVICE void wide_boxes(const mot_wide_call &call, const wide_task &t, int x, int y, bool packed, int c, float at[4])
{
    const mot_wide_item &item = source_of(t);
    const mot_arg &arg = item.step.arg;
    const mot_view from = t.from;
    const int radius = (int)mot_blur_radius(&arg), last = from.width - 1 - x;
    const bool floats = !WHOLE || t.of.floats[0];
    const uint8_t *const band = from.data + c * from.channel;
    float inner[4] = {}, edges[4];
    packed = wide_rows_packed(t, packed);
    if (item.down && floats)
        wide_box_down<false>(from, band + x * from.pixel, y, radius, packed, last, inner, edges);
    else if (item.down)
        wide_box_down<WHOLE>(from, band + x * from.pixel, y, radius, packed, last, inner, edges);
    else if (floats)
        wide_box_across<false>(from, band + y * from.row, x, radius, inner, edges);
    else
        wide_box_across<WHOLE>(from, band + y * from.row, x, radius, inner, edges);
    const mot_range range = wide_range<WHOLE>(call, c);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float v = mot_wide_blur(item.step.op, inner[k], edges[k], &arg);
        at[k] = !item.ends ? v : mot_wide_end(&range, 0, WHOLE ? rintf(v) : v);
    }
}

/* ---- resizes ---- */

DEVICE uint32_t wide_largest(uint32_t v)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xFFFFFFFFu, v);
#else
    for (int step = 16; step; step /= 2) {
        const uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, v, step);
        v = other > v ? other : v;
    }
    return v;
#endif
}

DEVICE mot_wide_axis wide_axis_of(const mot_wide_scale &how, int k)
{
    const mot_wide_axis axis = how.axis[k];
    __builtin_assume(__isGlobal(axis.weight));
    __builtin_assume(__isGlobal(axis.first));
    __builtin_assume(__isGlobal(axis.count));
    return axis;
}

/* What a resize has outside of its picture. */
OUTLINE float wide_fill_of(const mot_wide_call &call, const wide_task &t, int c)
{
    const mot_wide whose = wide_of(call);
    return mot_wide_fill(&whose, &source_of(t).step, c);
}

/* One component of the first axis, of a picture that reaches beyond the image. */
template <bool WHOLE>
OUTLINE double wide_beyond(const mot_wide_call &call, const wide_task &t, mot_wide_axis axis, int entry, int x, int y,
                           int down, int c)
{
    const mot_view &v = t.from;
    const float fill = wide_fill_of(call, t, c);
    double sum = 0;
    for (int s = 0; s < axis.count[entry]; s++, x += !down, y += down) {
        const bool inside = x >= 0 && y >= 0 && x < v.width && y < v.height;
        const float at = inside ? wide_load<WHOLE>(v.data + c * v.channel + y * v.row + x * v.pixel) : fill;
        sum += (double)at * axis.weight[s * axis.out + entry];
    }
    return sum;
}

/* What the first axis of a resize makes, in `bands` bands from c on, of `columns` and `rows` from x0, y0 on: along the
 * other axis they are the source's. */
template <bool WHOLE>
DEVICE void wide_resize_first(const mot_wide_call &call, const wide_task &t, int c, int bands, int x0, int y0,
                              int columns, int rows, double (*kept)[MOT_WIDE_KEPT])
{
    const mot_wide_scale &how = source_of(t).scale;
    const bool down = source_of(t).down, inside = how.inside;
    const mot_wide_axis axis = wide_axis_of(how, down);
    const mot_view from = t.from;
    const int64_t along = down ? from.row : from.pixel, out = axis.out;
    const int lane = threadIdx.x % 32, top = how.top, left = how.left;
    const uint8_t *band[MOT_WIDE_BESIDE];
#pragma unroll
    for (int g = 0; g < MOT_WIDE_BESIDE; g++)
        band[g] = from.data + (c + min(g, bands - 1)) * from.channel + top * from.row + left * from.pixel;
    MOT_ROLLED
    for (int j = threadIdx.x / 32; j < rows && lane < columns; j += MOT_WIDE_THREADS / 32) {
        const int entry = down ? y0 + j : x0 + lane, begins = axis.first[entry], count = axis.count[entry];
        const int x = down ? x0 + lane : begins, y = down ? begins : y0 + j;
        const double *weight = axis.weight + entry;
        int64_t p = y * from.row + x * from.pixel;
        double sum[MOT_WIDE_BESIDE] = {};
        MOT_ROLLED
        for (int s = 0; s < count && inside; s += 2, weight += 2 * out, p += 2 * along) {
            const bool two = s + 1 < count; /* whose loads are under way together */
            const double by[2] = { weight[0], two ? weight[out] : 0 };
            float seen[2][MOT_WIDE_BESIDE];
#pragma unroll
            for (int g = 0; g < MOT_WIDE_BESIDE; g++) {
                seen[0][g] = wide_load<WHOLE>(band[g] + p);
                seen[1][g] = two ? wide_load<WHOLE>(band[g] + p + along) : 0;
            }
#pragma unroll
            for (int g = 0; g < MOT_WIDE_BESIDE; g++) {
                sum[g] += (double)seen[0][g] * by[0];
                sum[g] = two ? sum[g] + (double)seen[1][g] * by[1] : sum[g];
            }
        }
#pragma unroll
        for (int g = 0; g < MOT_WIDE_BESIDE; g++) {
            if (!inside)
                sum[g] = wide_beyond<WHOLE>(call, t, axis, entry, left + x, top + y, down, c + min(g, bands - 1));
            kept[g][j * (MOT_WIDE_TILE + 1) + lane] = (double)mot_wide_resized(sum[g], WHOLE);
        }
    }
}

/* Adds what the second axis sees of `n` rows or columns from `at` on. */
template <int G, int N>
DEVICE void wide_resize_second(const mot_wide_axis &axis, bool down, int at, int n, int x0, int y0, int wide, int high,
                               const double (*kept)[MOT_WIDE_KEPT], double sum[G][N])
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const double *weight[N];
    int where[N], count[N], most = 0;
#pragma unroll
    for (int k = 0; k < N; k++) {
        const int entry = down ? x0 + min(lane, wide - 1) : y0 + min(warp + 8 * k, high - 1);
        const int begins = axis.first[entry] - at, s = max(0, -begins);
        count[k] = min(axis.count[entry], n - begins) - s;
        where[k] = (MOT_WIDE_TILE + 1) * (down ? warp + 8 * k : begins + s) + (down ? begins + s : lane);
        weight[k] = axis.weight + s * axis.out + entry;
        most = max(most, count[k]);
    }
    MOT_ROLLED
    for (int s = 0; s < most; s++) {
        double by[N] = {}, seen[G][N] = {};
#pragma unroll
        for (int k = 0; k < N; k++) {
            if (s >= count[k])
                continue;
            by[k] = *weight[k];
            weight[k] += axis.out;
#pragma unroll
            for (int g = 0; g < G; g++)
                seen[g][k] = kept[g][where[k]];
            where[k] += down ? 1 : MOT_WIDE_TILE + 1;
        }
#pragma unroll
        for (int k = 0; k < N; k++)
#pragma unroll
            for (int g = 0; g < G; g++)
                sum[g][k] = s < count[k] ? sum[g][k] + seen[g][k] * by[k] : sum[g][k];
    }
}

/* A resize: the CTA makes what the first axis makes of a tile's source, as much of it as it can keep, and adds what the
 * second one sees of that. */
template <bool WHOLE> DEVICE void wide_resize(const mot_wide_call &call, const wide_task &t, wide_resize_room &room)
{
    constexpr int N = 4, G = MOT_WIDE_BESIDE;
    const mot_wide_scale &how = source_of(t).scale;
    const bool down = source_of(t).down;
    const mot_wide_axis second = wide_axis_of(how, !down);
    double(*const kept)[MOT_WIDE_KEPT] = room.kept;
    wide_spot<N> spot;
    wide_memory<N> to;
    int first, end;
    wide_find<N>(t, wide_block<N>(call, t, &first, &end), spot);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, x0 = spot.x[0] - lane, y0 = spot.y[0] - warp;
    const int wide = min(MOT_WIDE_TILE, t.of.width - x0), high = min(8 * N, t.of.height - y0);
    uint32_t low = 0x7FFFFFFF, last = 0, outside = 0;
    if (lane < (down ? wide : high)) {
        const int count = second.count[(down ? x0 : y0) + lane], begins = second.first[(down ? x0 : y0) + lane];
        low = count > 0 ? (uint32_t)begins : low;
        last = count > 0 ? (uint32_t)(begins + count) : 0;
    }
    low = ~wide_largest(~low);
    last = wide_largest(last);
#pragma unroll
    for (int k = 0; k < N; k++)
        if (spot.there >> k & 1)
            outside |= how.axis[0].count[spot.x[0]] < 0 || how.axis[1].count[spot.y[0] + 8 * k] < 0 ? 1u << k : 0;
    MOT_ROLLED
    for (int c = first; c < end; c += G) {
        const int bands = min(G, end - c);
        double sum[G][N] = {};
        MOT_ROLLED
        for (int at = (int)low; at < (int)last; at += MOT_WIDE_TILE) {
            const int n = min(MOT_WIDE_TILE, (int)last - at);
            __syncthreads();
            wide_resize_first<WHOLE>(call, t, c, bands, down ? at : x0, down ? y0 : at, down ? n : wide,
                                     down ? high : n, kept);
            __syncthreads();
            wide_resize_second<G, N>(second, down, at, n, x0, y0, wide, high, kept, sum);
        }
        wide_aim<N>(t, t.to, t.to_dtype, spot, to);
#pragma unroll
        for (int g = 0; g < G; g++) {
            if (g >= bands)
                break;
            const float fill = outside ? wide_fill_of(call, t, c + g) : 0;
            float made[N];
#pragma unroll
            for (int k = 0; k < N; k++)
                made[k] = outside >> k & 1 ? fill : mot_wide_resized(sum[g][k], WHOLE);
            wide_end<N, WHOLE>(call, t, spot, to, c + g, made);
        }
    }
}

/* ---- passes ---- */

/* A pass that looks at other pixels, but for a resize. */
template <bool WHOLE> DEVICE void wide_look(const mot_wide_call &call, const wide_task &t, wide_look_room &room)
{
    constexpr int N = 8;
    const int looks = t.of.looks;
    float(*const made)[MOT_WIDE_THREADS] = room.made, *const weight = room.weight;
    wide_spot<N> spot;
    wide_memory<N> from, to;
    int first, end;
    wide_find<N>(t, wide_block<N>(call, t, &first, &end), spot);
    wide_aim<N>(t, t.from, t.from_dtype, spot, from);
    wide_aim<N>(t, t.to, t.to_dtype, spot, to);
    const mot_wide_item &item = source_of(t);
    const int last[2] = { t.from.width - 1 - spot.x[0], t.from.width - 1 - spot.x[1] };
    wide_around around;
    if (looks == MOT_WIDE_SUMS) {
        wide_find_around(t, spot, from, item.taps.reach, around);
        if (threadIdx.x < 25)
            weight[threadIdx.x] = item.taps.weight[threadIdx.x];
    }
    __syncthreads();
    MOT_ROLLED
    for (int c = first; c < end; c++) {
        float at[N];
        if (looks == MOT_WIDE_SUMS) {
            wide_sums<WHOLE>(call, t, around, last, item, c, weight, at);
        } else {
            MOT_ROLLED
            for (int q = 0; q < N / 4 && looks == MOT_WIDE_BOXES; q++) {
                float four[4];
                wide_boxes<WHOLE>(call, t, q ? spot.x[1] : spot.x[0], q ? spot.y[1] : spot.y[0],
                                  q ? from.packed[1] : from.packed[0], c, four);
#pragma unroll
                for (int k = 0; k < 4; k++)
                    made[4 * q + k][threadIdx.x] = four[k];
            }
            MOT_ROLLED
            for (int k = 0; k < N && looks != MOT_WIDE_BOXES; k++) {
                const int x = min(spot.x[0], t.of.width - 1), y = min(spot.y[0] + 8 * k, t.of.height - 1);
                made[k][threadIdx.x] = looks == MOT_WIDE_BETWEEN ? wide_between<WHOLE>(call, t, x, y, c)
                                                                 : wide_kernel<WHOLE>(call, t, x, y, c);
            }
#pragma unroll
            for (int k = 0; k < N; k++)
                at[k] = made[k][threadIdx.x];
        }
        wide_end<N, WHOLE>(call, t, spot, to, c, at);
    }
}

#endif
