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

#define MOT_WINDOW 4 /* steps held in shared memory */

struct engine {
    arrival load;
    chain work;              /* what remains to be done to an evaluated pixel */
    mot_step step[MOT_WINDOW];
    mot_warp_plan plan;
    int box_x, box_y, box_width, box_height, blocks;
    mot_stats stats[3];
    uint32_t partial[3][256]; /* this CTA's histogram; or its lows, highs */
    unsigned long long sum, total_sum;
};

/* What every thread knows about the pass; the same in all of them. */
struct pass_state {
    source_kind source;
    mot_tile tile; /* what this CTA writes */
    box in;
    uint32_t fill;
    const mot_step *spatial; /* the spatial op, in shared memory */
    bool pending;            /* the box is still being loaded */
    bool strided;            /* the image is read as MOT_FORMAT_STRIDED */
    bool premultiplied;
    bool arrived;            /* group_arrive() is still to be followed by group_wait() */
    uint32_t turn;           /* of e.load */
    chain_state chain;       /* of e.work */
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
DEVICE void evaluate(const engine &e, const pass_state &p, const mot_view &src, int x, int y, uint32_t px[4])
{
    const int channels = channels_of(FORMAT, src);
    const box_taps<FORMAT> taps = { p.in };
    switch (p.source) {
    case FROM_BOX:
        box_read<FORMAT>(p.in, x, y, px);
        break;
    case FROM_FIXED:
        warp_fixed(e.plan, taps, p.fill, x, y, px);
        break;
    case FROM_BETWEEN:
#pragma unroll 1
        for (int i = 0; i < 4; i++) {
            const uint32_t v = warp_between(e.plan, taps, channels, p.fill, x + i, y);
            const uint32_t out = p.premultiplied ? unpremultiplied(v, channels) : v;
            px[0] = i == 0 ? out : px[0], px[1] = i == 1 ? out : px[1]; /* no array in memory */
            px[2] = i == 2 ? out : px[2], px[3] = i == 3 ? out : px[3];
        }
        break;
    case FROM_STENCIL:
        stencil_quad(taps, p.spatial->op, &p.spatial->arg, colors_of<FORMAT>(channels), src.width, src.height, x, y, px);
        break;
    }
    apply_chain<FORMAT>(e.work, p.chain.items, channels, x, y, px);
}

/* Calls body(x, y) for the tile's groups of four pixels, a warp's 32 lanes side by side; whole warps take part, lanes
 * without pixels get x = -1. */
template <class BODY> DEVICE void for_quads(const mot_tile &t, BODY body)
{
    const int across = (t.x1 - t.x0 + 15) / 16 * 4, rows = t.y1 - t.y0;
    const int quads = across > 0 && rows > 0 ? across * rows : 0;
    if (quads == 0)
        return;
    const int down = blockDim.x / across, right = blockDim.x - down * across; /* one turn of the CTA */
    int y = threadIdx.x / across, column = threadIdx.x - y * across;
    y += t.y0;
    for (int q = threadIdx.x; q - (int)(threadIdx.x & 31) < quads; q += blockDim.x) {
        const int x = t.x0 + column * 4;
        body(q < quads && x < t.x1 ? x : -1, y);
        y += down, column += right;
        if (column >= across)
            column -= across, y++;
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
DEVICE void count_tile(engine &e, const pass_state &p, const mot_view &src, int needs)
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
        evaluate<FORMAT>(e, p, src, x, y, px);
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

/* Adds up the group's shares into total ([3][256]) and e.total_sum. */
DEVICE void count_group(engine &e, uint32_t (*total)[256], int needs)
{
    const int size = group_size();
    group_sync();
    const int entries = needs == MOT_NEEDS_HISTOGRAM ? 3 * 256 : 0;
    for (int i = threadIdx.x; i < entries; i += blockDim.x) {
        uint32_t n = 0;
        for (int rank = 0; rank < size; rank++)
            n += group_at(&e.partial[0][0], rank)[i];
        total[i >> 8][i & 255] = n;
    }
    if (threadIdx.x < 3 && needs == MOT_NEEDS_RANGE) {
        uint32_t low = 255, high = 0;
        for (int rank = 0; rank < size; rank++) {
            low = min(low, group_at(&e.partial[0][0], rank)[threadIdx.x]);
            high = max(high, group_at(&e.partial[1][0], rank)[threadIdx.x]);
        }
        total[0][threadIdx.x] = low;
        total[1][threadIdx.x] = high;
    }
    if (threadIdx.x == 0 && needs == MOT_NEEDS_MEAN) {
        e.total_sum = 0;
        for (int rank = 0; rank < size; rank++)
            e.total_sum += *group_at(&e.sum, rank);
    }
    group_sync();
}

/* Turns the total into e.stats: a warp scans a channel, eight entries a lane. */
DEVICE void finish_stats(engine &e, uint32_t (*total)[256], int needs, int width, int height)
{
    const int lane = threadIdx.x & 31;
    const uint32_t n = (uint32_t)width * (uint32_t)height;
    for (int c = threadIdx.x / 32; c < 3 && needs == MOT_NEEDS_HISTOGRAM; c += blockDim.x / 32) {
        uint32_t count[8], own = 0, low = 256, high = 0, last = 0;
        for (int i = 0; i < 8; i++) {
            count[i] = total[c][8 * lane + i];
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
            total[c][8 * lane + i] = below;
            below += count[i];
        }
        const unsigned filled = __ballot_sync(0xFFFFFFFFu, own != 0);
        const int top = filled ? 31 - __clz(filled) : 0, bottom = filled ? __ffs(filled) - 1 : 0;
        low = __shfl_sync(0xFFFFFFFFu, low, bottom);
        high = __shfl_sync(0xFFFFFFFFu, high, top);
        last = __shfl_sync(0xFFFFFFFFu, last, top);
        if (lane == 0)
            e.stats[c] = mot_stats{ n, low, high, last, 0, total[c] };
    }
    if (threadIdx.x < 3 && needs != MOT_NEEDS_HISTOGRAM) {
        const uint32_t mean = needs == MOT_NEEDS_MEAN ? mot_stats_mean(e.total_sum, n) : 0;
        e.stats[threadIdx.x] = mot_stats{ n, total[0][threadIdx.x], total[1][threadIdx.x], 0, mean, total[0] };
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
        const int margin = between ? 3 : 0; /* taps are clamped to the image: at least one sample of it stays */
        x0 = (int)fmin(fmax(low_x - margin, 0.0), width - 1.0);
        y0 = (int)fmin(fmax(low_y - margin, 0.0), height - 1.0);
        x1 = (int)fmax(fmin(high_x + margin + 1, (double)width), 1.0);
        y1 = (int)fmax(fmin(high_y + margin + 1, (double)height), 1.0);
    }
    e.box_x = max(x0, 0) & ~15;
    e.box_y = max(y0, 0);
    e.box_width = max((min(x1, width) - e.box_x + 15) & ~15, 16);
    e.box_height = max(min(y1, height) - e.box_y, 1);
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

/* Does the spatial op on the tile straight from the image, into the box, which then is the tile. For what cannot be
 * boxed: slow, and right. */
template <int FORMAT>
static __device__ __noinline__ void fill_tile(const engine &e, const pass_state &p, const mot_view &src, int *tables)
{
    const int channels = channels_of(FORMAT, src), op = p.spatial->op;
    const image_taps<FORMAT> taps = { src, e.work, p.chain.items, p.premultiplied, p.strided };
    const mot_tile &t = p.tile;
    const bool warp = shape_of(op) == MOTLEY_SHAPE_WARP, scale = warp && e.plan.path == MOT_WARP_SCALE;
    int *const columns = tables, *const rows = tables + (t.x1 - t.x0);
    if (scale && t.x0 < t.x1 && t.y0 < t.y1)
        scale_tables(e.plan, t, columns, rows);
    for_quads(t, [&](int x, int y) {
        if (x < 0)
            return;
        uint32_t px[4];
        if (!warp) {
            stencil_quad(taps, op, &p.spatial->arg, colors_of<FORMAT>(channels), src.width, src.height, x, y, px);
        } else if (e.plan.path == MOT_WARP_FIXED) {
            warp_fixed(e.plan, taps, p.fill, x, y, px);
        } else {
            double in_x, in_y; /* DOUBLE: the sums begin anew for each group of four */
            mot_warp_double_start(&e.plan, &in_x, &in_y);
            for (int row = 0; row < y && e.plan.path == MOT_WARP_DOUBLE; row++)
                in_x += e.plan.m[1], in_y += e.plan.m[4];
            for (int column = 0; column < x && e.plan.path == MOT_WARP_DOUBLE; column++)
                in_x += e.plan.m[0], in_y += e.plan.m[3];
            for (int i = 0; i < 4; i++, in_x += e.plan.m[0], in_y += e.plan.m[3]) {
                px[i] = 0;
                if (x + i >= t.x1)
                    continue;
                if (!scale && e.plan.path != MOT_WARP_DOUBLE) {
                    px[i] = warp_between(e.plan, taps, channels, p.fill, x + i, y);
                } else {
                    const int column = scale ? columns[x + i - t.x0] : mot_warp_index(in_x, src.width);
                    const int row = scale ? rows[y - t.y0] : mot_warp_index(in_y, src.height);
                    px[i] = column >= 0 && row >= 0 ? taps(column, row) : p.fill;
                }
            }
        }
        if (p.premultiplied)
            for (int i = 0; i < 4; i++)
                px[i] = unpremultiplied(px[i], channels);
        box_write<FORMAT>(p.in, x, y, px);
    });
}

/* The tile that this CTA writes, and what it reads for it, without a spatial op: starts to load it. */
template <int FORMAT> DEVICE void load_slab(engine &e, pass_state &p, const mot_view &src, uint8_t *memory)
{
    p.tile = mot_tile_of(group_rank(), group_size(), src.width, src.height, 0);
    p.source = FROM_BOX;
    p.in.data = memory;
    const bool any = p.tile.x0 < p.tile.x1 && p.tile.y0 < p.tile.y1;
    box_place<FORMAT>(p.in, p.tile.x0, p.tile.y0, any ? (p.tile.x1 - p.tile.x0 + 15) & ~15 : 0,
                      any ? p.tile.y1 - p.tile.y0 : 0);
    p.pending = any && box_load<FORMAT>(p.in, src, p.strided, e.load);
}

/* The first half of a spatial op, `step` in shared memory: what to read, on its way. Every thread is done with the box.
 * The chain so far will be applied to it by end_spatial(). */
template <int FORMAT>
DEVICE void begin_spatial(engine &e, pass_state &p, const mot_step *step, const mot_view &src, uint8_t *memory,
                          int box_bytes_most)
{
    p.spatial = step;
    p.fill = fill_word(*step);
    const bool warp = shape_of(step->op) == MOTLEY_SHAPE_WARP;
    if (threadIdx.x == 0) {
        e.blocks = 0;
        if (warp) {
            mot_warp_make_plan(step->op, src.width, src.height, &step->arg, step->interpolation, &e.plan);
            simplify_plan(e.plan);
            e.blocks = e.plan.m[3] != 0; /* rows do not stay rows */
        }
        find_box(e, mot_tile_of(group_rank(), group_size(), src.width, src.height, e.blocks), step->op, src.width,
                 src.height);
    }
    __syncthreads();
    p.tile = mot_tile_of(group_rank(), group_size(), src.width, src.height, e.blocks);
    const bool between = warp && (e.plan.path == MOT_WARP_BILINEAR || e.plan.path == MOT_WARP_BICUBIC);
    p.premultiplied = between && (src.channels == 2 || src.channels == 4);
    p.in.data = memory;
    if (e.box_width > 0 && box_bytes<FORMAT>(1, 1) * (int64_t)e.box_width * e.box_height <= box_bytes_most) {
        box_place<FORMAT>(p.in, e.box_x, e.box_y, e.box_width, e.box_height);
        p.pending = box_load<FORMAT>(p.in, src, p.strided, e.load);
        p.source = warp ? between ? FROM_BETWEEN : FROM_FIXED : FROM_STENCIL;
    } else {
        p.pending = false;
        p.source = FROM_BOX; /* fill_tile() will make it so */
    }
}

/* The second half: after it evaluate() gives the op's output and the chain is empty. No CTA of the group may write to
 * `src` before source_is_free(). */
template <int FORMAT> DEVICE void end_spatial(engine &e, pass_state &p, const mot_view &src)
{
    const int channels = channels_of(FORMAT, src);
    box_wait(p.pending, e.load, p.turn);
    p.pending = false;
    if (p.source == FROM_BOX) {
        const mot_tile &t = p.tile;
        const bool any = t.x0 < t.x1 && t.y0 < t.y1;
        box_place<FORMAT>(p.in, t.x0, t.y0, any ? (t.x1 - t.x0 + 15) & ~15 : 0, any ? t.y1 - t.y0 : 0);
        fill_tile<FORMAT>(e, p, src, (int *)(p.in.data + planes_of(FORMAT) * p.in.plane));
    } else if (p.chain.items > 0 || p.premultiplied) {
        const int across = p.in.width / 4, quads = across * p.in.height;
        for (int q = threadIdx.x; q < quads; q += blockDim.x) {
            const int row = q / across, x = p.in.x0 + (q - row * across) * 4, y = p.in.y0 + row;
            uint32_t px[4];
            box_read<FORMAT>(p.in, x, y, px);
            apply_chain<FORMAT>(e.work, p.chain.items, channels, x, y, px);
            if (p.premultiplied)
                for (int i = 0; i < 4; i++)
                    px[i] = premultiplied(px[i], channels);
            box_write<FORMAT>(p.in, x, y, px);
        }
    }
    group_arrive();
    p.arrived = true;
    __syncthreads();
    p.chain = chain_state{};
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
DEVICE void store_output(const uint32_t (*table)[256], const mot_cuda_job &job, const mot_view &out, int x, int y,
                         const uint32_t px[4])
{
    for (int c = 0; c < out.channels; c++) {
        uint8_t *p = address(out, x, y) + c * out.channel;
        uint32_t bits[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            bits[i] = table[c][byte_of(px[i], c)];
        if (job.output_dtype == MOTLEY_F32 && out.pixel == 4 && x + 4 <= out.width && aligned(p, 16)) {
            *(uint4 *)p = make_uint4(bits[0], bits[1], bits[2], bits[3]);
            continue;
        }
        if (out.pixel == 2 && job.output_dtype >= MOTLEY_F16 && x + 4 <= out.width && aligned(p, 8)) {
            *(uint2 *)p = make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
            continue;
        }
#pragma unroll
        for (int i = 0; i < 4; i++, p += out.pixel) {
            if (x + i >= out.width)
                break;
            if (job.output_dtype == MOTLEY_F32)
                *(uint32_t *)p = bits[i];
            else if (job.output_dtype == MOTLEY_U8)
                *p = (uint8_t)bits[i];
            else
                *(uint16_t *)p = (uint16_t)bits[i];
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
static __device__ __noinline__ void blur_lines(const mot_step &step, const mot_view &src, bool strided,
                                               const mot_view &dst, uint32_t *box, int box_words, bool rows)
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
                    to[w] = i < length ? blur_one(from + unit * words, 1, length, i, step.op, &step.arg, channels)
                                       : 0;
                else
                    to[w] = blur_one(from + unit * words + (i & 3), 4, length, i >> 2, step.op, &step.arg,
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
