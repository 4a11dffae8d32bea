/* SPDX-License-Identifier: Apache-2.0 */
/* The pass engine: takes one image's steps and does as many of them as one read and one write of its pixels can.
 *
 * A pass is a chain (point, stats, colour and erase ops), at most one spatial op, and a chain after it. Steps are taken
 * in order: the chain before the spatial op runs while the op's part of the image (the box) is loaded into shared
 * memory; the one after runs on the op's output. A stats op evaluates what is there so far, on every CTA's tile. */
#ifndef MOT_ENGINE_CUH
#define MOT_ENGINE_CUH

#include "kernels/blur.h"
#include "kernels/cuda/group.cuh"
#include "kernels/output.h"
#include "kernels/cuda/spatial.cuh"
#include "kernels/cuda/tile.h"
#include "motley/op.h"

struct engine {
    mot_step step; /* the one being taken */
    chain work;    /* what remains to be done to an evaluated pixel */
    mot_warp_plan plan;
    int box_x, box_y, box_width, box_height;
    mot_stats stats[3];
    uint32_t partial[3][256]; /* this CTA's histogram; or its lows, highs and sum */
    uint32_t total[3][256];   /* the image's, then how many samples are below */
    unsigned long long sum, total_sum;
    uint32_t output[4][256];  /* motley_output's table, when there is one */
};

/* What every thread knows about the pass; the same in all of them. */
struct pass_state {
    source_kind source;
    mot_tile tile;
    int box_x, box_y, pitch;
    uint32_t fill;
    int op;
    bool strided; /* the source is read as MOT_FORMAT_STRIDED */
    bool premultiplied;
    bool arrived; /* group_arrive() is still to be followed by group_wait() */
};

DEVICE int shape_of(int op)
{
#define MOT_SHAPE_OF(shape, ID, stem) \
    case MOT_OP_##ID: \
        return MOTLEY_SHAPE_##shape;
    switch (op) {
        MOT_OPS(MOT_SHAPE_OF)
    default:
        return MOTLEY_SHAPE_POINT;
    }
#undef MOT_SHAPE_OF
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        return MOT_##ID##_NEEDS;
DEVICE int needs_of(int op)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return 0;
    }
}
#include "kernels/shapes_off.h"

DEVICE uint32_t fill_word(const mot_step &step)
{
    return step.fill[0] | (uint32_t)step.fill[1] << 8 | (uint32_t)step.fill[2] << 16 | (uint32_t)step.fill[3] << 24;
}

/* Four pixels as the pass has them so far. */
template <int FORMAT>
DEVICE void evaluate(const engine &e, const pass_state &p, const mot_view &src, const uint32_t *box, int x, int y,
                     uint32_t px[4])
{
    const int channels = channels_of(FORMAT, src);
    const box_taps taps = { box, p.box_x, p.box_y, p.pitch };
    switch (p.source) {
    case FROM_IMAGE:
        fetch_from<FORMAT>(src, p.strided, x, y, px);
        break;
    case FROM_TILE: {
        const uint4 w = *(const uint4 *)&box[(y - p.tile.y0) * p.pitch + (x - p.tile.x0)];
        px[0] = w.x, px[1] = w.y, px[2] = w.z, px[3] = w.w;
        break;
    }
    case FROM_FIXED:
        warp_fixed(e.plan, taps, p.fill, x, y, px);
        break;
    case FROM_BETWEEN:
        for (int i = 0; i < 4; i++)
            px[i] = warp_between(e.plan, taps, channels, p.fill, x + i, y);
        break;
    case FROM_STENCIL:
        stencil_quad(taps, p.op, &e.step.arg, colors_of<FORMAT>(channels), src.width, src.height, x, y, px);
        break;
    }
    if (p.premultiplied && p.source != FROM_TILE)
        for (int i = 0; i < 4; i++)
            px[i] = unpremultiplied(px[i], channels);
    const int xs[4] = { x, x + 1, x + 2, x + 3 }, ys[4] = { y, y, y, y };
    apply_chain<FORMAT>(e.work, channels, xs, ys, px);
}

/* Calls body(x, y) for the tile's groups of four pixels, a warp's 32 lanes side by side; whole warps take part, lanes
 * without pixels get x = -1. */
template <class BODY> DEVICE void for_quads(const mot_tile &t, BODY body)
{
    const int across = (t.x1 - t.x0 + 15) / 16 * 4, rows = t.y1 - t.y0;
    const int quads = across > 0 && rows > 0 ? across * rows : 0;
    for (int first = (threadIdx.x & ~31); first < quads; first += blockDim.x) {
        const int q = first + (threadIdx.x & 31);
        const int row = q / across, x = t.x0 + (q - row * across) * 4;
        body(q < quads && x < t.x1 ? x : -1, t.y0 + row);
    }
}

/* ---- statistics ---- */

DEVICE uint32_t warp_min4(uint32_t v)
{
    for (int step = 16; step; step /= 2)
        v = __vminu4(v, __shfl_xor_sync(0xFFFFFFFFu, v, step));
    return v;
}

DEVICE uint32_t warp_max4(uint32_t v)
{
    for (int step = 16; step; step /= 2)
        v = __vmaxu4(v, __shfl_xor_sync(0xFFFFFFFFu, v, step));
    return v;
}

/* This CTA's share, into e.partial and e.sum. partial[0]: lows, partial[1]: highs, by channel, for MOT_NEEDS_RANGE. */
template <int FORMAT>
DEVICE void count_tile(engine &e, const pass_state &p, const mot_view &src, const uint32_t *box, int needs)
{
    const int channels = channels_of(FORMAT, src), colors = colors_of<FORMAT>(channels);
    __syncthreads();
    for (int i = threadIdx.x; i < 3 * 256; i += blockDim.x)
        e.partial[i >> 8][i & 255] = needs == MOT_NEEDS_RANGE && i < 256 ? 255 : 0;
    if (threadIdx.x == 0)
        e.sum = 0;
    __syncthreads();
    uint32_t low = 0xFFFFFFFFu, high = 0, sum = 0;
    for_quads(p.tile, [&](int x, int y) {
        if (x < 0)
            return;
        uint32_t px[4];
        evaluate<FORMAT>(e, p, src, box, x, y, px);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (x + i >= p.tile.x1)
                break;
            if (needs == MOT_NEEDS_RANGE) {
                low = __vminu4(low, px[i]);
                high = __vmaxu4(high, px[i]);
            } else if (needs == MOT_NEEDS_MEAN) {
                sum += luma_of<FORMAT>(px[i], channels);
            } else {
#pragma unroll
                for (int c = 0; c < 3; c++)
                    if (c < colors)
                        atomicAdd(&e.partial[c][byte_of(px[i], c)], 1u);
            }
        }
    });
    if (needs == MOT_NEEDS_RANGE) {
        low = warp_min4(low), high = warp_max4(high);
        if ((threadIdx.x & 31) < 3) {
            const int c = threadIdx.x & 31;
            atomicMin(&e.partial[0][c], byte_of(low, c));
            atomicMax(&e.partial[1][c], byte_of(high, c));
        }
    } else if (needs == MOT_NEEDS_MEAN) {
        unsigned long long all = sum;
        for (int step = 16; step; step /= 2)
            all += __shfl_xor_sync(0xFFFFFFFFu, all, step);
        if ((threadIdx.x & 31) == 0)
            atomicAdd(&e.sum, all);
    }
    __syncthreads();
}

/* Adds up the group's shares into e.total and e.total_sum. */
DEVICE void count_group(engine &e, int needs)
{
    const int size = group_size();
    group_sync();
    const int entries = needs == MOT_NEEDS_HISTOGRAM ? 3 * 256 : 0;
    for (int i = threadIdx.x; i < entries; i += blockDim.x) {
        uint32_t n = 0;
        for (int rank = 0; rank < size; rank++)
            n += group_at(&e.partial[0][0], rank)[i];
        e.total[i >> 8][i & 255] = n;
    }
    if (threadIdx.x < 3 && needs == MOT_NEEDS_RANGE) {
        uint32_t low = 255, high = 0;
        for (int rank = 0; rank < size; rank++) {
            low = min(low, group_at(&e.partial[0][0], rank)[threadIdx.x]);
            high = max(high, group_at(&e.partial[1][0], rank)[threadIdx.x]);
        }
        e.total[0][threadIdx.x] = low;
        e.total[1][threadIdx.x] = high;
    }
    if (threadIdx.x == 0 && needs == MOT_NEEDS_MEAN) {
        e.total_sum = 0;
        for (int rank = 0; rank < size; rank++)
            e.total_sum += *group_at(&e.sum, rank);
    }
    group_sync();
}

/* Turns e.total into e.stats: a warp scans a channel, eight entries a lane. */
DEVICE void finish_stats(engine &e, int needs, int width, int height)
{
    const int lane = threadIdx.x & 31;
    const uint32_t n = (uint32_t)width * (uint32_t)height;
    for (int c = threadIdx.x / 32; c < 3 && needs == MOT_NEEDS_HISTOGRAM; c += blockDim.x / 32) {
        uint32_t count[8], own = 0, low = 256, high = 0, last = 0;
        for (int i = 0; i < 8; i++) {
            count[i] = e.total[c][8 * lane + i];
            own += count[i];
            if (count[i]) {
                low = min(low, (uint32_t)(8 * lane + i));
                high = 8 * lane + i;
                last = count[i];
            }
        }
        uint32_t below = own;
        for (int step = 1; step < 32; step *= 2) {
            const uint32_t other = __shfl_up_sync(0xFFFFFFFFu, below, step);
            below += lane >= step ? other : 0;
        }
        below -= own;
        for (int i = 0; i < 8; i++) {
            e.total[c][8 * lane + i] = below;
            below += count[i];
        }
        const unsigned filled = __ballot_sync(0xFFFFFFFFu, own != 0);
        const int top = filled ? 31 - __clz(filled) : 0, bottom = filled ? __ffs(filled) - 1 : 0;
        low = __shfl_sync(0xFFFFFFFFu, low, bottom);
        high = __shfl_sync(0xFFFFFFFFu, high, top);
        last = __shfl_sync(0xFFFFFFFFu, last, top);
        if (lane == 0)
            e.stats[c] = mot_stats{ n, low, high, last, 0, e.total[c] };
    }
    if (threadIdx.x < 3 && needs != MOT_NEEDS_HISTOGRAM) {
        const uint32_t mean = needs == MOT_NEEDS_MEAN ? mot_stats_mean(e.total_sum, n) : 0;
        e.stats[threadIdx.x] = mot_stats{ n, e.total[0][threadIdx.x], e.total[1][threadIdx.x], 0, mean, e.total[0] };
    }
    __syncthreads();
}

/* ---- the spatial op ---- */

/* A path of tables whose sums cannot round across a whole number is the fixed one. For one thread. */
DEVICE void simplify_plan(mot_warp_plan &plan)
{
    if (plan.path != MOT_WARP_SCALE || fabs(plan.m[0]) != 1.0 || fabs(plan.m[4]) != 1.0)
        return;
    const double first[2] = { mot_warp_first_column(&plan), mot_warp_first_row(&plan) };
    int whole[2];
    for (int i = 0; i < 2; i++) {
        const double rest = fabs(first[i] - rint(first[i]));
        if (!(fabs(first[i]) < 16000.0) || (rest != 0 && rest < 1e-6))
            return;
        whole[i] = (int)floor(first[i]);
    }
    if (plan.width > 16000 || plan.height > 16000)
        return;
    plan.path = MOT_WARP_FIXED;
    plan.fixed[0] = (uint32_t)((int)plan.m[0] * 65536);
    plan.fixed[1] = plan.fixed[3] = 0;
    plan.fixed[2] = (uint32_t)(whole[0] * 65536);
    plan.fixed[4] = (uint32_t)((int)plan.m[4] * 65536);
    plan.fixed[5] = (uint32_t)(whole[1] * 65536);
}

/* The part of the image that the tile's output may read, in e.box_*; width 0 when that is not known. For one thread. */
DEVICE void find_box(engine &e, const mot_tile &t, int op, int width, int height)
{
    int x0 = t.x0 - 1, y0 = t.y0 - 1, x1 = t.x1 + 1, y1 = t.y1 + 1; /* the stencil's */
    e.box_x = e.box_y = e.box_width = e.box_height = 0;
    if (t.x0 >= t.x1 || t.y0 >= t.y1)
        return;
    if (shape_of(op) == MOTLEY_SHAPE_WARP) {
        if (e.plan.path == MOT_WARP_SCALE || e.plan.path == MOT_WARP_DOUBLE)
            return;
        const int between = e.plan.path != MOT_WARP_FIXED;
        double low_x = 1e30, low_y = 1e30, high_x = -1e30, high_y = -1e30;
        for (int corner = 0; corner < 4; corner++) {
            const int x = corner & 1 ? t.x1 - 1 : t.x0, y = corner & 2 ? t.y1 - 1 : t.y0;
            double in_x, in_y;
            if (between) {
                in_x = e.plan.m[0] * (x + 0.5) + e.plan.m[1] * (y + 0.5) + e.plan.m[2];
                in_y = e.plan.m[3] * (x + 0.5) + e.plan.m[4] * (y + 0.5) + e.plan.m[5];
            } else {
                int ix, iy;
                mot_warp_fixed(&e.plan, x, y, &ix, &iy);
                if (abs(ix) > 32000 || abs(iy) > 32000)
                    return; /* close to where 32 bits wrap */
                in_x = ix, in_y = iy;
            }
            low_x = fmin(low_x, in_x), high_x = fmax(high_x, in_x);
            low_y = fmin(low_y, in_y), high_y = fmax(high_y, in_y);
        }
        const int margin = between ? 3 : 0;
        x0 = (int)fmin(fmax(low_x - margin, 0.0), (double)width);
        y0 = (int)fmin(fmax(low_y - margin, 0.0), (double)height);
        x1 = (int)fmin(fmax(high_x + margin + 1, 0.0), (double)width);
        y1 = (int)fmin(fmax(high_y + margin + 1, 0.0), (double)height);
        if (between) { /* taps are clamped to the image, so keep a sample of it */
            x0 = min(x0, width - 1), y0 = min(y0, height - 1);
            x1 = max(x1, 1), y1 = max(y1, 1);
        }
    }
    x0 = max(x0, 0) & ~3, y0 = max(y0, 0), x1 = min(x1, width), y1 = min(y1, height);
    e.box_x = x0;
    e.box_y = y0;
    e.box_width = max(mot_tile_pitch(x0, x1), 4);
    e.box_height = max(y1 - y0, 0);
}

/* Loads the box, the chain so far applied. */
template <int FORMAT>
DEVICE void load_box(const engine &e, const pass_state &p, const mot_view &src, uint32_t *box)
{
    const int channels = channels_of(FORMAT, src);
    const int across = p.pitch / 4, quads = across * e.box_height;
    for (int q = threadIdx.x; q < quads; q += blockDim.x) {
        const int row = q / across, x = p.box_x + (q - row * across) * 4, y = p.box_y + row;
        uint32_t px[4];
        fetch_from<FORMAT>(src, p.strided, x, y, px);
        const int xs[4] = { x, x + 1, x + 2, x + 3 }, ys[4] = { y, y, y, y };
        apply_chain<FORMAT>(e.work, channels, xs, ys, px);
        if (p.premultiplied)
            for (int i = 0; i < 4; i++)
                px[i] = premultiplied(px[i], channels);
        *(uint4 *)&box[4 * q] = make_uint4(px[0], px[1], px[2], px[3]);
    }
}

/* Column and row tables of a SCALE warp for a tile: sums from the first pixel on, one after the other. */
DEVICE void scale_tables(const mot_warp_plan &plan, const mot_tile &t, int *columns, int *rows)
{
    if (threadIdx.x == 0) {
        double in = mot_warp_first_column(&plan);
        for (int x = 0; x < t.x1; x++, in += plan.m[0])
            if (x >= t.x0)
                columns[x - t.x0] = mot_warp_index(in, plan.width);
    }
    if (threadIdx.x == blockDim.x - 1) {
        double in = mot_warp_first_row(&plan);
        for (int y = 0; y < t.y1; y++, in += plan.m[4])
            if (y >= t.y0)
                rows[y - t.y0] = mot_warp_index(in, plan.height);
    }
    __syncthreads();
}

/* Does the spatial op on the tile straight from the image, into shared memory: pitch words a row, 16-byte groups. */
template <int FORMAT>
DEVICE void fill_tile(const engine &e, const pass_state &p, const mot_view &src, uint32_t *tile, int *tables)
{
    const int channels = channels_of(FORMAT, src);
    const image_taps<FORMAT> taps = { src, e.work, p.premultiplied, p.strided };
    const mot_tile &t = p.tile;
    if (shape_of(p.op) == MOTLEY_SHAPE_WARP && e.plan.path == MOT_WARP_DOUBLE) {
        for (int y = t.y0 + threadIdx.x; y < t.y1; y += blockDim.x) {
            double in_x, in_y;
            mot_warp_double_start(&e.plan, &in_x, &in_y);
            for (int row = 0; row < y; row++)
                in_x += e.plan.m[1], in_y += e.plan.m[4];
            for (int x = 0; x < t.x1; x++, in_x += e.plan.m[0], in_y += e.plan.m[3]) {
                if (x < t.x0)
                    continue;
                const int i = mot_warp_index(in_x, src.width), j = mot_warp_index(in_y, src.height);
                tile[(y - t.y0) * p.pitch + x - t.x0] = i >= 0 && j >= 0 ? taps(i, j) : p.fill;
            }
        }
        return;
    }
    const bool scale = shape_of(p.op) == MOTLEY_SHAPE_WARP && e.plan.path == MOT_WARP_SCALE;
    int *const columns = tables, *const rows = tables + (t.x1 - t.x0);
    if (scale)
        scale_tables(e.plan, t, columns, rows);
    for_quads(t, [&](int x, int y) {
        if (x < 0)
            return;
        uint32_t px[4];
        if (shape_of(p.op) == MOTLEY_SHAPE_STENCIL) {
            stencil_quad(taps, p.op, &e.step.arg, colors_of<FORMAT>(channels), src.width, src.height, x, y, px);
        } else if (scale) {
            for (int i = 0; i < 4; i++) {
                const int column = x + i < t.x1 ? columns[x + i - t.x0] : -1, row = rows[y - t.y0];
                px[i] = column >= 0 && row >= 0 ? taps(column, row) : p.fill;
            }
        } else if (e.plan.path == MOT_WARP_FIXED) {
            warp_fixed(e.plan, taps, p.fill, x, y, px);
        } else {
            for (int i = 0; i < 4; i++)
                px[i] = x + i < t.x1 ? warp_between(e.plan, taps, channels, p.fill, x + i, y) : 0;
        }
        if (p.premultiplied)
            for (int i = 0; i < 4; i++)
                px[i] = unpremultiplied(px[i], channels);
        *(uint4 *)&tile[(y - t.y0) * p.pitch + x - t.x0] = make_uint4(px[0], px[1], px[2], px[3]);
    });
}

/* Takes the spatial op in e.step: after it, evaluate() gives the op's output and the chain is empty. No CTA of the
 * group may write to `src` before source_is_free(). */
template <int FORMAT>
DEVICE void take_spatial(engine &e, pass_state &p, const mot_view &src, uint32_t *box, int box_words)
{
    const int channels = channels_of(FORMAT, src);
    p.op = e.step.op;
    p.fill = fill_word(e.step);
    if (threadIdx.x == 0) {
        bool blocks = false;
        if (shape_of(p.op) == MOTLEY_SHAPE_WARP) {
            mot_warp_make_plan(p.op, src.width, src.height, &e.step.arg, e.step.interpolation, &e.plan);
            simplify_plan(e.plan);
            blocks = e.plan.m[3] != 0; /* rows do not stay rows */
        }
        e.box_width = blocks;
    }
    __syncthreads();
    p.tile = mot_tile_of(group_rank(), group_size(), src.width, src.height, e.box_width);
    const bool between = shape_of(p.op) == MOTLEY_SHAPE_WARP &&
                         (e.plan.path == MOT_WARP_BILINEAR || e.plan.path == MOT_WARP_BICUBIC);
    p.premultiplied = between && (channels == 2 || channels == 4);
    __syncthreads();
    if (threadIdx.x == 0)
        find_box(e, p.tile, p.op, src.width, src.height);
    __syncthreads();
    if (e.box_width > 0 && (int64_t)e.box_width * e.box_height <= box_words) {
        p.box_x = e.box_x;
        p.box_y = e.box_y;
        p.pitch = e.box_width;
        load_box<FORMAT>(e, p, src, box);
        p.source = shape_of(p.op) == MOTLEY_SHAPE_STENCIL ? FROM_STENCIL : between ? FROM_BETWEEN : FROM_FIXED;
    } else {
        p.pitch = mot_tile_pitch(p.tile.x0, p.tile.x1);
        const int rows = p.tile.y1 > p.tile.y0 ? p.tile.y1 - p.tile.y0 : 0;
        fill_tile<FORMAT>(e, p, src, box, (int *)(box + p.pitch * rows));
        p.source = FROM_TILE;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        e.work.items = e.work.tables = 0;
    group_arrive();
    p.arrived = true;
    __syncthreads();
}

/* Waits until every CTA of the group has read what it needs of the pass's source. */
DEVICE void source_is_free(pass_state &p)
{
    if (p.arrived)
        group_wait();
    p.arrived = false;
}

/* ---- writing ---- */

/* Any type, any strides: through the table of motley_output. */
DEVICE void store_output(const engine &e, const mot_cuda_job &job, const mot_view &out, int x, int y,
                         const uint32_t px[4])
{
    for (int c = 0; c < out.channels; c++) {
        uint8_t *p = address(out, x, y) + c * out.channel;
        for (int i = 0; i < 4 && x + i < out.width; i++, p += out.pixel) {
            const uint32_t bits = e.output[c][byte_of(px[i], c)];
            if (job.output_dtype == MOTLEY_F32)
                *(uint32_t *)p = bits;
            else if (job.output_dtype == MOTLEY_U8)
                *p = (uint8_t)bits;
            else
                *(uint16_t *)p = (uint16_t)bits;
        }
    }
}

/* ---- blur, a pass of its own ---- */

/* One of the six box passes for four pixels of lines in shared memory: `at` is the first pixel's place in its line of n,
 * which lie `stride` words apart; the four pixels are neighbours along the line or across it. */
DEVICE uint32_t blur_one(const uint32_t *line, int stride, int n, int at, int op, const mot_arg *arg, int channels)
{
    const int r = (int)mot_blur_radius(arg);
    uint32_t inner[4] = { 0, 0, 0, 0 };
    for (int k = -r; k <= r; k++) {
        const uint32_t word = line[mot_warp_clamp(at + k, n) * stride];
#pragma unroll
        for (int c = 0; c < 4; c++)
            inner[c] += byte_of(word, c);
    }
    const uint32_t left = line[mot_warp_clamp(at - r - 1, n) * stride];
    const uint32_t right = line[mot_warp_clamp(at + r + 1, n) * stride];
    uint32_t out = 0;
#pragma unroll
    for (int c = 0; c < 4; c++)
        if (c < channels)
            out |= (uint32_t)mot_blur_value(op, inner[c], byte_of(left, c) + byte_of(right, c), arg) << (8 * c);
    return out;
}

/* Blurs along one direction: `lines` lines at a time fit into half of the box. Lines do not touch each other, so the
 * pass may be in place. */
template <int FORMAT>
DEVICE void blur_lines(const engine &e, const mot_view &src, bool strided, const mot_view &dst, uint32_t *box,
                       int box_words, bool rows)
{
    const int channels = channels_of(FORMAT, src);
    const int length = rows ? src.width : src.height, count = rows ? src.height : src.width;
    const int quads = rows ? (length + 3) / 4 : length; /* of one line of pixels, or of four columns */
    const int units = rows ? count : (count + 3) / 4;   /* lines, or groups of four columns */
    const int words = 4 * quads;
    const int at_once = max(1, box_words / 2 / words);
    const int each = (units + group_size() - 1) / group_size();
    const int begin = group_rank() * each, end = min(units, begin + each);
    for (int first = begin; first < end; first += at_once) {
        const int here = min(at_once, end - first);
        uint32_t *from = box, *to = box + here * words;
        for (int q = threadIdx.x; q < here * quads; q += blockDim.x) {
            const int unit = q / quads, i = q % quads;
            uint32_t px[4];
            fetch_from<FORMAT>(src, strided, rows ? 4 * i : 4 * (first + unit), rows ? first + unit : i, px);
            *(uint4 *)&from[4 * q] = make_uint4(px[0], px[1], px[2], px[3]);
        }
        __syncthreads();
        for (int pass = 0; pass < MOT_BLUR_PASSES; pass++) {
            for (int w = threadIdx.x; w < here * words; w += blockDim.x) {
                const int unit = w / words, i = w % words;
                if (rows)
                    to[w] = i < length ? blur_one(from + unit * words, 1, length, i, e.step.op, &e.step.arg, channels)
                                       : 0;
                else
                    to[w] = blur_one(from + unit * words + (i & 3), 4, length, i >> 2, e.step.op, &e.step.arg,
                                     channels);
            }
            __syncthreads();
            uint32_t *const swap = from;
            from = to, to = swap;
        }
        for (int q = threadIdx.x; q < here * quads; q += blockDim.x) {
            const int unit = q / quads, i = q % quads;
            const int x = rows ? 4 * i : 4 * (first + unit), y = rows ? first + unit : i;
            for (int k = 0; k < 4 && x + k < src.width; k++)
                store_one<MOT_FORMAT_STRIDED>(dst, x + k, y, from[4 * q + k]);
        }
        __syncthreads();
    }
}

#endif
