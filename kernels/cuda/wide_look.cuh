/* SPDX-License-Identifier: Apache-2.0 */
/* Passes of images of U16 and F32 that look at other pixels: sums of neighbours, warps that interpolate, blurs,
 * resizes. A thread makes one band at a time, in shared memory. */
#ifndef MOT_WIDE_LOOK_CUH
#define MOT_WIDE_LOOK_CUH

#include "kernels/cuda/wide_pass.cuh"

DEVICE const mot_wide_item &source_of(const wide_task &t)
{
    const mot_wide_item *const source = t.source;
    __builtin_assume(__isGlobal(source));
    return *source;
}

template <bool WHOLE> DEVICE float wide_between(const mot_wide_call &call, const wide_task &t, int x, int y, int c)
{
    const mot_view &v = t.from;
    const mot_warp_plan &plan = source_of(t).plan;
    const int dtype = t.from_dtype;
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
                        : wide_load<WHOLE>(line + mot_warp_clamp(i - 1 + a, v.width) * v.pixel, dtype);
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
                       wide_load<WHOLE>(row + mot_mirror(x + i, from.width) * from.pixel, t.from_dtype), sum);
    }
    const mot_range range = wide_range<WHOLE>(call, c);
    return mot_wide_end(&range, 0, WHOLE ? rintf(sum) : sum);
}

/* Components x.. of a row; at its end the last one again. */
template <bool WHOLE> DEVICE void wide_load_row(const wide_task &t, const uint8_t *row, int x, bool packed, float v[4])
{
    if (packed) {
        wide_load_quad<WHOLE>(row + x * t.from.pixel, t.from_dtype, v);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        v[k] = wide_load<WHOLE>(row + min(x + k, t.from.width - 1) * t.from.pixel, t.from_dtype);
}

/* Sums of 3x3 or 5x5 components. */
template <int REACH, bool WHOLE>
DEVICE void wide_sums_of(const wide_task &t, int x, int y, const uint8_t *band, bool packed, float sum[4])
{
    const mot_view &from = t.from;
    int64_t side[2 * REACH];
#pragma unroll
    for (int k = 0; k < 2 * REACH; k++)
        side[k] = mot_warp_clamp(k < REACH ? x + k - REACH : x + 4 + k - REACH, from.width) * from.pixel;
    const uint8_t *row = band + (y - REACH) * from.row;
#pragma unroll
    for (int j = 0; j <= 2 * REACH; j++, row += from.row) {
        const float *const weight = &source_of(t).taps.weight[j * (2 * REACH + 1)];
        float v[4 + 2 * REACH];
        wide_load_row<WHOLE>(t, row, x, packed, v + REACH);
#pragma unroll
        for (int k = 0; k < 2 * REACH; k++)
            v[k < REACH ? k : 4 + k] = wide_load<WHOLE>(row + side[k], t.from_dtype);
#pragma unroll
        for (int i = 0; i <= 2 * REACH; i++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum[k] = fmaf(v[k + i], weight[i], sum[k]);
    }
}

template <bool WHOLE>
DEVICE void wide_sums(const mot_wide_call &call, const wide_task &t, int x, int y, bool packed, int c, float at[4])
{
    const mot_taps &taps = source_of(t).taps;
    const mot_range range = wide_range<WHOLE>(call, c);
    const uint8_t *const band = t.from.data + c * t.from.channel;
    const int width = t.from.width, height = t.from.height, reach = taps.reach;
    const bool none = width <= 2 * reach || height <= 2 * reach, edge = y < reach || y >= height - reach;
    const float bias = mot_wide_bias(&range, taps.total, taps.offset);
    float sum[4] = {};
    packed &= t.from.row % 16 == 0;
    wide_load_row<WHOLE>(t, band + y * t.from.row, x, packed, at);
    if (!none && !edge && reach == 1)
        wide_sums_of<1, WHOLE>(t, x, y, band, packed, sum);
    else if (!none && !edge)
        wide_sums_of<2, WHOLE>(t, x, y, band, packed, sum);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float all = bias != 0 ? sum[k] + bias : sum[k], v = at[k];
        const bool outside = edge || x + k < reach || x + k >= width - reach;
        const float made = none      ? v
                           : outside ? mot_range_clamp(&range, v)
                                     : mot_wide_stencil(source_of(t).step.op, v, WHOLE ? rintf(all) : all, &range,
                                                        &source_of(t).step.arg);
        at[k] = mot_wide_end(&range, v, made);
    }
}

/* One pass of a box blur. */
template <bool WHOLE>
DEVICE void wide_boxes(const mot_wide_call &call, const wide_task &t, int x, int y, bool packed, int c, float at[4])
{
    const mot_arg &arg = source_of(t).step.arg;
    const mot_view &from = t.from;
    const uint8_t *const band = from.data + c * from.channel;
    const int64_t radius = mot_blur_radius(&arg);
    const bool rows = packed && from.row % 16 == 0;
    float inner[4] = {}, edges[4] = {};
    if (source_of(t).down) {
        for (int64_t r = y - radius - 1; r <= y + radius + 1; r++) {
            const int64_t row = r < 0 ? 0 : r >= from.height ? from.height - 1 : r;
            const bool begins = r == y - radius - 1, ends = r == y + radius + 1;
            float v[4];
            wide_load_row<WHOLE>(t, band + row * from.row, x, rows, v);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                edges[k] = begins ? v[k] : ends ? edges[k] + v[k] : edges[k];
                inner[k] = begins || ends ? inner[k] : inner[k] + v[k];
            }
        }
    } else {
        const uint8_t *const row = band + y * from.row;
        for (int64_t r = x - radius - 1; r < x + 4 + radius + 1; r++) {
            const int64_t column = r < 0 ? 0 : r >= from.width ? from.width - 1 : r;
            const float v = wide_load<WHOLE>(row + column * from.pixel, t.from_dtype);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const int64_t apart = r - (x + k);
                edges[k] = apart == -radius - 1 ? v : apart == radius + 1 ? edges[k] + v : edges[k];
                inner[k] = apart >= -radius && apart <= radius ? inner[k] + v : inner[k];
            }
        }
    }
    const mot_range range = wide_range<WHOLE>(call, c);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float v = mot_wide_blur(source_of(t).step.op, inner[k], edges[k], &arg);
        at[k] = !source_of(t).ends ? v : mot_wide_end(&range, 0, WHOLE ? rintf(v) : v);
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

/* One component of the first axis, of a picture that reaches beyond the image. */
template <bool WHOLE>
OUTLINE double wide_beyond(const wide_task &t, float fill, const mot_wide_axis &axis, int entry, int x, int y, int down,
                           int c)
{
    const mot_view &v = t.from;
    double sum = 0;
    for (int s = 0; s < axis.count[entry]; s++, x += !down, y += down) {
        const bool inside = x >= 0 && y >= 0 && x < v.width && y < v.height;
        const float at =
            inside ? wide_load<WHOLE>(v.data + c * v.channel + y * v.row + x * v.pixel, t.from_dtype) : fill;
        sum += (double)at * axis.weight[s * axis.out + entry];
    }
    return sum;
}

/* What the first axis of a resize makes of `rows` and `columns` of a tile's source from column x0 and row y0 on, of
 * which the one along the second axis is of the source; `row`: from row to row of `kept`. DOWN: the axis is along
 * columns. */
template <bool WHOLE, bool DOWN>
DEVICE void wide_resize_first(const wide_task &t, float fill, int c, int x0, int y0, int columns, int rows, int row,
                              double *kept)
{
    constexpr int K = DOWN ? 1 : 4; /* rows of one column, which have the same weights */
    const mot_wide_scale &how = source_of(t).scale;
    const mot_wide_axis axis = wide_axis_of(how, DOWN);
    const mot_view &from = t.from;
    const uint8_t *const band = from.data + c * from.channel + how.top * from.row + how.left * from.pixel;
    const int64_t along = DOWN ? from.row : from.pixel;
    for (int j = threadIdx.x / 32; j < rows; j += 8 * K)
        for (int i = threadIdx.x % 32; i < columns; i += 32) {
            const int entry = DOWN ? y0 + j : x0 + i, begins = axis.first[entry], count = axis.count[entry];
            const int x = DOWN ? x0 + i : begins, y = DOWN ? begins : y0 + j;
            const double *weight = axis.weight + entry;
            const uint8_t *p[K];
            double sums[K] = {};
#pragma unroll
            for (int k = 0; k < K; k++)
                p[k] = band + (y + min(8 * k, rows - 1 - j)) * from.row + x * from.pixel;
#pragma unroll 2
            for (int s = 0; s < count && how.inside; s++, weight += axis.out) {
                const double by = *weight;
#pragma unroll
                for (int k = 0; k < K; k++) {
                    sums[k] += (double)wide_load<WHOLE>(p[k], t.from_dtype) * by;
                    p[k] += along;
                }
            }
#pragma unroll
            for (int k = 0; k < K; k++) {
                if (j + 8 * k >= rows)
                    break;
                if (!how.inside)
                    sums[k] = wide_beyond<WHOLE>(t, fill, axis, entry, how.left + x, how.top + y + 8 * k, DOWN, c);
                kept[(j + 8 * k) * row + i] = (double)mot_wide_resized(sums[k], WHOLE);
            }
        }
}

/* Makes a thread's pixels of a resize, from column x1 and row y1 on. DOWN: the first axis is along columns. All threads
 * of a CTA call it: they make what the first axis makes of the tile's source, some rows or columns of it at a time,
 * and add what the second one sees of these. */
template <int N, bool WHOLE, bool DOWN>
OUTLINE void wide_resize(const mot_wide_call &call, const wide_task &t, int x1, int y1, int c, double *kept,
                         float *made)
{
    constexpr int most = DOWN ? MOT_WIDE_KEPT / (8 * N) - 1 : MOT_WIDE_KEPT / (MOT_WIDE_TILE + 1);
    constexpr int row = DOWN ? most + 1 : MOT_WIDE_TILE + 1;
    const mot_wide_scale &how = source_of(t).scale;
    const mot_wide_axis second = wide_axis_of(how, !DOWN);
    const int lane = threadIdx.x % 32, x0 = x1 - lane, y0 = y1 - (int)(threadIdx.x / 32);
    const int wide = min(MOT_WIDE_TILE, t.of.width - x0), high = min(8 * N, t.of.height - y0);
    const mot_wide whose = wide_of(call);
    const float fill = mot_wide_fill(&whose, &source_of(t).step, c);
    uint32_t low = 0x7FFFFFFF, end = 0;
    for (int i = lane; i < (DOWN ? wide : high); i += 32) {
        const int count = second.count[(DOWN ? x0 : y0) + i], begins = second.first[(DOWN ? x0 : y0) + i];
        low = count > 0 && begins < (int)low ? (uint32_t)begins : low;
        end = count > 0 && begins + count > (int)end ? (uint32_t)(begins + count) : end;
    }
    low = ~wide_largest(~low);
    end = wide_largest(end);
    double sum[N] = {};
    for (int at0 = (int)low; at0 < (int)end; at0 += most) {
        const int n = min(most, (int)end - at0);
        __syncthreads();
        wide_resize_first<WHOLE, DOWN>(t, fill, c, DOWN ? at0 : x0, DOWN ? y0 : at0, DOWN ? n : wide, DOWN ? high : n,
                                       row, kept);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < N; k++) {
            const int x = x1 - x0, y = y1 - y0 + 8 * k;
            if (x >= wide || y >= high)
                continue;
            const int entry = DOWN ? x0 + x : y0 + y, begins = second.first[entry] - at0;
            const int last = min(second.count[entry], n - begins);
            int s = max(0, -begins);
            const double *weight = second.weight + s * second.out + entry,
                         *from_kept = kept + (DOWN ? y * row + begins + s : (begins + s) * row + x);
            for (; s < last; s++, weight += second.out, from_kept += DOWN ? 1 : row)
                sum[k] += *from_kept * *weight;
        }
    }
#pragma unroll
    for (int k = 0; k < N; k++) {
        const int x = min(x1, t.of.width - 1), y = min(y1 + 8 * k, t.of.height - 1);
        const bool outside = how.axis[0].count[x] < 0 || how.axis[1].count[y] < 0;
        made[MOT_WIDE_THREADS * k] = outside ? fill : mot_wide_resized(sum[k], WHOLE);
    }
}

/* ---- passes ---- */

/* A pass that looks at other pixels. */
template <bool WHOLE> OUTLINE void wide_look(const mot_wide_call &call, const wide_task &t, wide_room &room)
{
    constexpr int N = 8;
    wide_spot<N> spot;
    wide_memory<N> from, to;
    float *const made = &room.made[0][threadIdx.x];
    const int kind = source_of(t).kind;
    int first, end;
    wide_find<N>(t, wide_block<N>(call, t, &first, &end), 0, room, spot);
    wide_aim<N>(t, t.from, t.from_dtype, spot, from);
    wide_aim<N>(t, t.to, t.to_dtype, spot, to);
    const int x = min(spot.x[0], t.of.width - 1);
    MOT_ROLLED
    for (int c = first; c < end; c++) {
        if (kind == MOT_WIDE_RESIZES && source_of(t).down)
            wide_resize<N, WHOLE, true>(call, t, spot.x[0], spot.y[0], c, room.kept, made);
        else if (kind == MOT_WIDE_RESIZES)
            wide_resize<N, WHOLE, false>(call, t, spot.x[0], spot.y[0], c, room.kept, made);
        MOT_ROLLED
        for (int q = 0; q < N / 4 && t.quads; q++) {
            const int x4 = q ? spot.x[1] : spot.x[0], y4 = q ? spot.y[1] : spot.y[0];
            const bool packed = q ? from.packed[1] : from.packed[0];
            float at[4];
            if (kind == MOT_WIDE_SUMS)
                wide_sums<WHOLE>(call, t, x4, y4, packed, c, at);
            else
                wide_boxes<WHOLE>(call, t, x4, y4, packed, c, at);
#pragma unroll
            for (int k = 0; k < 4; k++)
                made[MOT_WIDE_THREADS * (4 * q + k)] = at[k];
        }
        MOT_ROLLED
        for (int k = 0; k < N && (kind == MOT_WIDE_BETWEEN || kind == MOT_WIDE_KERNELS); k++) {
            const int y = min(spot.y[0] + 8 * k, t.of.height - 1);
            made[MOT_WIDE_THREADS * k] =
                kind == MOT_WIDE_BETWEEN ? wide_between<WHOLE>(call, t, x, y, c) : wide_kernel<WHOLE>(call, t, x, y, c);
        }
        float at[N];
#pragma unroll
        for (int k = 0; k < N; k++)
            at[k] = made[MOT_WIDE_THREADS * k];
        wide_end<N>(call, t, spot, to, c, at);
    }
}

#endif
