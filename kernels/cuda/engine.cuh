/* SPDX-License-Identifier: Apache-2.0 */
/* The pass engine: takes one image's steps and does as many of them as one read and one write of its pixels can.
 *
 * A pass is a chain (point, stats, colour and erase ops), at most one spatial op, and a chain after it. Steps are taken
 * in order: the chain before the spatial op runs while the op's part of the image (the box) is loaded into shared
 * memory; the one after runs on the op's output. A stats op evaluates what is there so far, on every CTA's tile. */
#ifndef MOT_ENGINE_CUH
#define MOT_ENGINE_CUH

#include "kernels/blur.h"
#include "kernels/cuda/between.cuh"
#include "kernels/cuda/group.cuh"
#include "kernels/cuda/tile.h"
#include "kernels/output.h"
#include "motley/op.h"

/* Pieces that an image is loaded in. */
#define MOT_BANDS 16

/* One CTA's state, at the beginning of its dynamic shared memory, so that every function reaches it by a constant
 * address. The box lies behind it, then what each warp gathers before it writes, then the output's table if any. */
struct engine {
    chain work; /* what remains to be done to an evaluated pixel */
    mot_step step[MOT_WINDOW];
    mot_warp_plan plan;
    mot_view src, work_view, output; /* the pass reads src and writes one of the others */
    box in;
    mot_tile tile; /* what this CTA writes */
    int box_x, box_y, box_width, box_height;
    int source;      /* source_kind of a spatial op */
    mot_cut cut[2];  /* the image into slabs, and into blocks */
    mot_warp_plan plans[MOT_WINDOW]; /* of the steps ... */
    mot_warp warp[MOT_WINDOW];       /* ... and what they are made from */
    int strided, strided_work; /* src, work are read as MOT_FORMAT_STRIDED */
    int output_dtype, output_form; /* and the output_form of whole.cuh */
    int box_bytes, stage_bytes;
    int premultiplied;
    int spatial;   /* the spatial op's place in `step` */
    uint32_t fill; /* of the spatial op */
    arrival load;
    unsigned long long band[MOT_BANDS]; /* barriers of an image that is loaded as a whole ... */
    uint32_t phase;                     /* ... what they are at ... */
    int all_here;                       /* ... and whether they need not be asked any more */
    int shape[MOT_WINDOW]; /* of the steps, as a pass sees it: mot_pass_shape; -1: it changes nothing */
    int sample, all_steps; /* which it is, and how many steps it has */
    int spare;     /* where in the box there is room for the image between two passes; 0: there is none */
    uint8_t *to;   /* where a pass that knows the whole image writes, */
    int64_t to_plane; /* and from one plane to the next */
    int width, height, steps; /* of it: in memory, or they would be spilled to where reading them takes long */
    unsigned long long sum, total_sum;
    mot_stats stats[3];
    uint32_t partial[3][256]; /* this CTA's histogram; or its lows and highs */
};

extern __shared__ uint4 dynamic[];
#define e (*(engine *)dynamic)
#define MOT_ENGINE_BYTES ((int)(sizeof(engine) + 15) & ~15)

DEVICE uint8_t *box_memory()
{
    return (uint8_t *)dynamic + MOT_ENGINE_BYTES;
}

/* The parts behind the box. The sums of a group's statistics share the first with the warps: never at the same time. */
DEVICE uint32_t *stages()
{
    return (uint32_t *)(box_memory() + e.box_bytes);
}

DEVICE uint32_t (*totals())[256]
{
    return (uint32_t(*)[256])stages();
}

DEVICE uint32_t (*output_table())[256]
{
    return (uint32_t(*)[256])(box_memory() + e.box_bytes + e.stage_bytes);
}

/* What an evaluated pixel is made from: pixels of the box, through the spatial op if there is one. */
enum source_kind { FROM_BOX, FROM_FIXED, FROM_BETWEEN, FROM_STENCIL };

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

/* ---- loops over pixels: functions of their own, so that each has the registers to itself ---- */

/* Four bytes through tables: byte i through that of channel (first + i) modulo 3, or of channel 0 when there is one. */
DEVICE uint32_t table_word(const uint8_t (*table)[256], uint32_t w, int first, int channels)
{
    const uint32_t a = look_up(table[first % channels], w, 0), b = look_up(table[(first + 1) % channels], w, 1);
    const uint32_t c = look_up(table[(first + 2) % channels], w, 2), d = look_up(table[(first + 3) % channels], w, 3);
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

/* A chain that is one table, on the bytes of the box as they lie. */
template <int FORMAT> static __device__ __noinline__ void table_box()
{
    const uint8_t(*const table)[256] = e.work.table[0];
    uint32_t *const w = (uint32_t *)box_memory();
    const int words = planes_of(FORMAT) * e.in.plane / 4;
    if (FORMAT == MOT_FORMAT_RGB) {
#pragma unroll 2
        for (int i = 3 * threadIdx.x; i < words; i += 3 * blockDim.x) {
            const uint32_t a = w[i], b = w[i + 1], c = w[i + 2];
            w[i] = table_word(table, a, 0, 3);
            w[i + 1] = table_word(table, b, 1, 3);
            w[i + 2] = table_word(table, c, 2, 3);
        }
    } else {
        const int plane = e.in.plane / 4;
        for (int c = 0; c < planes_of(FORMAT); c++)
#pragma unroll 2
            for (int i = threadIdx.x; i < plane; i += blockDim.x)
                w[c * plane + i] = table_word(table + c, w[c * plane + i], 0, 1);
    }
}

/* Does the chain to the box where it lies. */
template <int FORMAT> static __device__ __noinline__ void chain_box(int items)
{
    if (FORMAT != MOT_FORMAT_RGBA && FORMAT != MOT_FORMAT_STRIDED && items == 1 && e.work.item[0].kind == CHAIN_TABLE) {
        table_box<FORMAT>();
        return;
    }
    const box in = e.in;
    const int channels = channels_of(FORMAT, e.src);
    for_box(in, [&](int x, int y) {
        uint32_t px[4];
        box_read<FORMAT>(in, x, y, px);
        apply_chain<FORMAT>(e.work, items, channels, x, y, px);
        box_write<FORMAT>(in, x, y, px);
    });
}

/* Does the chain where the tile lies in shared memory and writes it from there in bulk. False: it cannot leave so. */
template <int FORMAT> DEVICE bool write_box(int items, bool last)
{
    if (e.strided_work || !comes_in_bulk<FORMAT>(e.in, e.work_view))
        return false;
    if (items > 0)
        chain_box<FORMAT>(items);
    bulk_fence();
    __syncthreads();
    if (e.in.height > 0)
        box_store<FORMAT>(e.in, e.work_view);
    box_stored(!last); /* another pass reads it */
    return true;
}

/* Alpha of an image to be interpolated. */
template <int FORMAT> static __device__ __noinline__ void premultiply_box()
{
    const box in = e.in;
    for_box(in, [&](int x, int y) {
        uint32_t px[4];
        box_read<FORMAT>(in, x, y, px);
        for (int i = 0; i < 4; i++)
            px[i] = premultiplied(px[i], e.src.channels);
        box_write<FORMAT>(in, x, y, px);
    });
}

/* Evaluates the tile and writes it: to the output of another type or layout, or to `work`. */
template <int FORMAT, int SOURCE, bool OUTPUT> static __device__ __noinline__ void write_tile(int items)
{
    const box in = e.in;
    const mot_view to = OUTPUT ? e.output : e.work_view;
    const int channels = channels_of(FORMAT, e.src);
    const box_taps<FORMAT> taps = { in };
    const uint32_t fill = e.fill;
    const bool strided = FORMAT != MOT_FORMAT_STRIDED && e.strided_work;
    uint32_t *const stage = stages() + (threadIdx.x / 32) * (MOT_STAGE_BYTES / 4);
    const bool quick = !OUTPUT && !strided && leaves_in_pieces<FORMAT>(to, e.tile.x1);
    for_quads(e.tile, [&](int x, int y) {
        uint32_t px[4] = { 0, 0, 0, 0 };
        if (x >= 0) {
            if (SOURCE == FROM_BOX)
                box_read<FORMAT>(in, x, y, px);
            else if (SOURCE == FROM_FIXED)
                warp_fixed(e.plan, taps, fill, x, y, px);
            else if (SOURCE == FROM_STENCIL)
                stencil_quad(taps, e.step[e.spatial].op, &e.step[e.spatial].arg, colors_of<FORMAT>(channels),
                             e.src.width, e.src.height, x, y, px);
            else
                warp_between_quad(e.plan, taps, channels, fill, e.premultiplied, x, y, px);
            apply_chain<FORMAT>(e.work, items, channels, x, y, px);
        }
        if (OUTPUT) {
            if (x >= 0)
                store_output(to, e.output_dtype, output_table(), x, y, px);
        } else if (quick) {
            flush_pieces(to, x, y, px, stage);
        } else if (strided) {
            flush<MOT_FORMAT_STRIDED>(to, x, y, px, stage);
        } else {
            flush<FORMAT>(to, x, y, px, stage);
        }
    });
}

/* Whether write_stencil() can do it: whole rows in the box, nothing left to do to them, and they leave in 16-byte
 * pieces. */
template <int FORMAT> DEVICE bool stencil_by_rows(int items)
{
    return (FORMAT == MOT_FORMAT_RGB || FORMAT == MOT_FORMAT_PLANES || FORMAT == MOT_FORMAT_GREY) && items == 0 &&
           !e.strided_work && e.in.width == e.src.width && e.src.width >= 16 &&
           comes_in_bulk<FORMAT>(e.in, e.work_view);
}

template <int FORMAT> static __device__ __noinline__ void write_stencil()
{
    const box in = e.in;
    const mot_tile t = e.tile;
    const mot_step &step = e.step[e.spatial];
    const int op = step.op, height = e.src.height, across = in.pitch / 16;
    const int pieces = t.y1 > t.y0 ? across * (t.y1 - t.y0) : 0;
    for (int c = 0; c < planes_of(FORMAT); c++)
        for (int i = threadIdx.x; i < pieces; i += blockDim.x) {
            const int down = i / across, at = (i - down * across) * 16, y = t.y0 + down;
            const uint8_t *const row = in.data + c * in.plane + (y - in.y0) * in.pitch;
            uint4 out;
            if (y == 0 || y == height - 1)
                out = *(const uint4 *)(row + at);
            else
                stencil_words<FORMAT == MOT_FORMAT_RGB ? 3 : 1, 4>(op, &step.arg, row, in.pitch, at, (uint32_t *)&out);
            *(uint4 *)(address(e.work_view, 0, y) + c * e.work_view.channel + at) = out;
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

/* Does the spatial op on the tile straight from the image, into the box, which then is the tile. For what cannot be
 * boxed: slow, and right. */
template <int FORMAT> static __device__ __noinline__ void fill_tile(int items)
{
    const int channels = channels_of(FORMAT, e.src), op = e.step[e.spatial].op;
    const image_taps<FORMAT> taps = { e.src, e.work, items, e.premultiplied != 0, e.strided != 0 };
    const mot_tile t = e.tile;
    int *const columns = (int *)(e.in.data + planes_of(FORMAT) * e.in.plane), *const rows = columns + (t.x1 - t.x0);
    const bool warp = mot_shape_of(op) == MOTLEY_SHAPE_WARP, scale = warp && e.plan.path == MOT_WARP_SCALE;
    const bool sums = warp && e.plan.path == MOT_WARP_DOUBLE;
    if (scale && t.x0 < t.x1 && t.y0 < t.y1)
        scale_tables(e.plan, t, columns, rows);
    for_quads(t, [&](int x, int y) {
        if (x < 0)
            return;
        uint32_t px[4];
        if (!warp) {
            stencil_quad(taps, op, &e.step[e.spatial].arg, colors_of<FORMAT>(channels), e.src.width, e.src.height, x, y,
                         px);
        } else if (e.plan.path == MOT_WARP_FIXED) {
            warp_fixed(e.plan, taps, e.fill, x, y, px);
        } else if (!scale && !sums) {
            warp_between_quad(e.plan, taps, channels, e.fill, e.premultiplied, x, y, px);
        } else {
            double in_x = 0, in_y = 0; /* sums begin anew for each group of four */
            if (sums) {
                mot_warp_double_start(&e.plan, &in_x, &in_y);
                for (int row = 0; row < y; row++)
                    in_x += e.plan.m[1], in_y += e.plan.m[4];
                for (int column = 0; column < x; column++)
                    in_x += e.plan.m[0], in_y += e.plan.m[3];
            }
            for (int i = 0; i < 4; i++, in_x += e.plan.m[0], in_y += e.plan.m[3]) {
                px[i] = 0;
                if (x + i >= t.x1)
                    continue;
                const int column = scale ? columns[x + i - t.x0] : mot_warp_index(in_x, e.src.width);
                const int row = scale ? rows[y - t.y0] : mot_warp_index(in_y, e.src.height);
                px[i] = column >= 0 && row >= 0 ? taps(column, row) : e.fill;
            }
        }
        box_write<FORMAT>(e.in, x, y, px);
    });
}

/* ---- statistics of the tile in the box, after the chain ---- */

DEVICE uint32_t warp_min4(uint32_t v)
{
    for (int step = 16; step; step /= 2)
        v = __vminu4(v, __shfl_xor_sync(0xFFFFFFFFu, v, step));
    return v;
}

DEVICE uint32_t group_min(uint32_t v)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xFFFFFFFFu, v);
#else
    return v; /* a group of one CTA */
#endif
}

DEVICE uint32_t group_max(uint32_t v)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xFFFFFFFFu, v);
#else
    return v;
#endif
}

DEVICE uint32_t warp_max4(uint32_t v)
{
    for (int step = 16; step; step /= 2)
        v = __vmaxu4(v, __shfl_xor_sync(0xFFFFFFFFu, v, step));
    return v;
}

/* This CTA's share, into e.partial and e.sum. partial[0]: lows, partial[1]: highs, by channel, for MOT_NEEDS_RANGE. */
template <int FORMAT> static __device__ __noinline__ void count_tile(int items, int needs)
{
    const box in = e.in;
    const mot_tile t = e.tile;
    const int channels = channels_of(FORMAT, e.src), colors = colors_of<FORMAT>(channels);
    for (int i = threadIdx.x; i < 3 * 256; i += blockDim.x)
        e.partial[i >> 8][i & 255] = needs == MOT_NEEDS_RANGE && i < 256 ? 255 : 0;
    if (threadIdx.x == 0)
        e.sum = 0;
    __syncthreads();
    uint32_t low = 0xFFFFFFFFu, high = 0, sum = 0;
    for_quads(t, [&](int x, int y) {
        if (x < 0)
            return;
        uint32_t px[4];
        box_read<FORMAT>(in, x, y, px);
        apply_chain<FORMAT>(e.work, items, channels, x, y, px);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (x + i >= t.x1)
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

/* Adds up the group's shares into the totals and e.total_sum. The loads of all CTAs' shares are under way together. */
DEVICE void count_group(int needs)
{
    uint32_t(*const total)[256] = totals();
    const int size = group_size();
    group_sync();
    if (needs == MOT_NEEDS_HISTOGRAM) {
        for (int i = threadIdx.x; i < 3 * 256; i += blockDim.x) {
            uint32_t n = 0;
#pragma unroll
            for (int rank = 0; rank < 16; rank++)
                if (rank < size)
                    n += group_at(&e.partial[0][0], rank)[i];
            total[i >> 8][i & 255] = n;
        }
    } else if (threadIdx.x < 32) { /* a lane per CTA */
        const int lane = threadIdx.x, rank = lane < size ? lane : 0;
        if (needs == MOT_NEEDS_RANGE) {
            uint32_t low[3], high[3];
#pragma unroll
            for (int c = 0; c < 3; c++) {
                low[c] = group_at(&e.partial[0][0], rank)[c];
                high[c] = group_at(&e.partial[1][0], rank)[c];
            }
#pragma unroll
            for (int c = 0; c < 3; c++) {
                low[c] = group_min(low[c]);
                high[c] = group_max(high[c]);
            }
            if (lane < 3) {
                total[0][lane] = lane == 0 ? low[0] : lane == 1 ? low[1] : low[2];
                total[1][lane] = lane == 0 ? high[0] : lane == 1 ? high[1] : high[2];
            }
        } else {
            unsigned long long sum = lane < size ? *group_at(&e.sum, rank) : 0;
            for (int step = 16; step; step /= 2)
                sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
            if (lane == 0)
                e.total_sum = sum;
        }
    }
    group_sync();
}

/* Turns the total into e.stats: a warp scans a channel, eight entries a lane. */
DEVICE void finish_stats(int needs, uint32_t n, uint32_t (*total)[256])
{
    const int lane = threadIdx.x & 31;
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

/* ---- what a pass reads ---- */

/* A number of a SCALE warp's fixed plan, where that path's tables read nothing else: they add 1 or -1 from `first` on,
 * and no sum can round across a whole number. False: they may. */
DEVICE bool fixed_scale(double step, double first, int length, uint32_t *by, uint32_t *from)
{
    const double rest = fabs(first - rint(first));
    *by = (uint32_t)((int)step * 65536);
    *from = (uint32_t)((int)floor(first) * 65536);
    return fabs(step) == 1.0 && fabs(first) < 16000.0 && (rest == 0 || rest >= 1e-6) && length <= 16000;
}

/* A path of tables that is as well a fixed one becomes that. For one thread. */
DEVICE void simplify_plan(mot_warp_plan &plan)
{
    uint32_t x[2], y[2];
    if (plan.path != MOT_WARP_SCALE ||
        !fixed_scale(plan.m[0], mot_warp_first_column(&plan), plan.width, &x[0], &x[1]) ||
        !fixed_scale(plan.m[4], mot_warp_first_row(&plan), plan.height, &y[0], &y[1]))
        return;
    plan.path = MOT_WARP_FIXED;
    plan.fixed[0] = x[0], plan.fixed[1] = 0, plan.fixed[2] = x[1];
    plan.fixed[3] = 0, plan.fixed[4] = y[0], plan.fixed[5] = y[1];
}

/* The part of the image that the tile's output may read, in e.box_*; width 0 when that is not known. For one thread. */
DEVICE void find_box(const mot_tile &t, int op, int width, int height)
{
    int x0 = t.x0 - 1, y0 = t.y0 - 1, x1 = t.x1 + 1, y1 = t.y1 + 1; /* the stencil's */
    e.box_x = e.box_y = e.box_width = e.box_height = 0;
    if (t.x0 >= t.x1 || t.y0 >= t.y1)
        return;
    if (mot_shape_of(op) == MOTLEY_SHAPE_WARP) {
        if (e.plan.path == MOT_WARP_SCALE || e.plan.path == MOT_WARP_DOUBLE)
            return;
        const int between = e.plan.path != MOT_WARP_FIXED;
        double low_x = 1e30, low_y = 1e30, high_x = -1e30, high_y = -1e30;
        for (int corner = 0; corner < 4; corner++) {
            /* to the end of the last quad: what lies past the tile is worked out as well, and not written */
            const int x = corner & 1 ? ((t.x1 + 3) & ~3) - 1 : t.x0, y = corner & 2 ? t.y1 - 1 : t.y0;
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

/* What every thread knows about the pass; the same in all of them. */
struct pass_state {
    source_kind source;
    bool pending;      /* the box is still being loaded */
    bool arrived;      /* group_arrive() is still to be followed by group_wait() */
    uint32_t turn;     /* of e.load */
    chain_state chain; /* of e.work */
};

/* The tile that this CTA writes, and what it reads for it, without a spatial op: starts to load it. */
template <int FORMAT> DEVICE void load_slab(pass_state &p)
{
    const mot_tile t = mot_tile_at(&e.cut[0], group_rank(), e.src.width, e.src.height);
    const bool any = t.x0 < t.x1 && t.y0 < t.y1;
    box in;
    in.data = box_memory();
    box_place<FORMAT>(in, t.x0, t.y0, any ? (t.x1 - t.x0 + 15) & ~15 : 16, any ? t.y1 - t.y0 : 0);
    if (threadIdx.x == 0) {
        e.tile = t;
        e.in = in;
    }
    p.source = FROM_BOX;
    p.pending = any && box_load<FORMAT>(in, e.src, e.strided, e.load);
}

/* The first half of a spatial op, step `at` of the window: what to read, on its way. Every thread is done with the box.
 * The chain so far will be applied to it by end_spatial(). */
template <int FORMAT> DEVICE void begin_spatial(pass_state &p, int at)
{
    const bool warp = mot_shape_of(e.step[at].op) == MOTLEY_SHAPE_WARP;
    if (threadIdx.x == 0) {
        const mot_step &step = e.step[at];
        e.spatial = at;
        e.fill = fill_word(step);
        bool blocks = false;
        if (warp) {
            mot_warp_make_plan(step.op, e.src.width, e.src.height, &step.arg, step.interpolation, &e.plan);
            simplify_plan(e.plan);
            blocks = e.plan.m[3] != 0; /* rows do not stay rows */
        }
        e.tile = mot_tile_at(&e.cut[blocks], group_rank(), e.src.width, e.src.height);
        find_box(e.tile, step.op, e.src.width, e.src.height);
        e.in.data = box_memory();
        const bool between = warp && (e.plan.path == MOT_WARP_BILINEAR || e.plan.path == MOT_WARP_BICUBIC);
        e.premultiplied = between && (e.src.channels == 2 || e.src.channels == 4);
        e.source = FROM_BOX;
        if (e.box_width > 0 && box_bytes<FORMAT>(1, 1) * (int64_t)e.box_width * e.box_height + 16 <= e.box_bytes) {
            box_place<FORMAT>(e.in, e.box_x, e.box_y, e.box_width, e.box_height);
            e.source = warp ? between ? FROM_BETWEEN : FROM_FIXED : FROM_STENCIL;
        } else { /* fill_tile() will do it */
            const bool any = e.tile.x0 < e.tile.x1 && e.tile.y0 < e.tile.y1;
            box_place<FORMAT>(e.in, e.tile.x0, e.tile.y0, any ? (e.tile.x1 - e.tile.x0 + 15) & ~15 : 16,
                              any ? e.tile.y1 - e.tile.y0 : 0);
        }
    }
    __syncthreads();
    p.source = (source_kind)e.source;
    p.pending = p.source != FROM_BOX && box_load<FORMAT>(e.in, e.src, e.strided, e.load);
}

/* The second half: after it the tile can be evaluated, and the chain is empty. No CTA of the group may write to the
 * source before source_is_free(). */
template <int FORMAT> DEVICE void end_spatial(pass_state &p)
{
    box_wait(p.pending, e.load, p.turn);
    p.pending = false;
    if (p.source == FROM_BOX) {
        fill_tile<FORMAT>(p.chain.items);
    } else {
        if (p.chain.items > 0)
            chain_box<FORMAT>(p.chain.items);
        if (e.premultiplied) {
            __syncthreads();
            premultiply_box<FORMAT>();
        }
    }
    __syncthreads();
    group_arrive();
    p.arrived = true;
    p.chain = chain_state{};
}

/* Waits until every CTA of the group has read what it needs of the pass's source. */
DEVICE void source_is_free(pass_state &p)
{
    if (p.arrived)
        group_wait();
    p.arrived = false;
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
static __device__ __noinline__ void blur_lines(int at, bool again, bool rows)
{
    const mot_step &step = e.step[at];
    const mot_view src = again ? e.work_view : e.src, dst = e.work_view;
    const bool strided = again ? e.strided_work : e.strided;
    uint32_t *const box = (uint32_t *)box_memory();
    const int box_words = e.box_bytes / 4;
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
