/* SPDX-License-Identifier: Apache-2.0 */
/* Images that shared memory does not hold: every step in passes over device memory, tile by tile. large.h has the plan.
 *
 * An image lies in one of three places: as it came (SRC), where the result goes (WORK), or in scratch. A pass reads one
 * of them; an op that moves pixels writes another. Point, colour and erase ops, and the tables that statistics lead to,
 * wait in a chain, which the next pass applies to each pixel that it reads. */
#include "kernels/blur.h"
#include "kernels/cuda/between.cuh"
#include "kernels/cuda/large.h"
#include "kernels/output.h"
#include "motley/op.h"

#define THREADS 256
#define WARPS (THREADS / 32)
#define COUNTERS 4 /* histograms that the warps of a CTA share */
#define LINE 8192  /* bytes of a line to blur, held in shared memory */
#define SPAN 256   /* pixels of a row that a thread does alone where positions are sums along it */
#define STRIP 8    /* groups of four columns that are blurred together */

enum place { SRC, WORK, SCRATCH, OUTPUT };
enum kind { DONE, COUNT, PASS, BLUR };
enum source { FROM_PLACE, FROM_FIXED, FROM_SCALE, FROM_DOUBLE, FROM_BETWEEN, FROM_STENCIL };

/* first + step + step + ..., each sum rounded, as a warp's positions are defined. */
struct sums {
    double first, step;
    double *every; /* the sum of each MOT_SUMS_APART-th; NULL: no sum is rounded, so one product and one sum do */
};

/* What is known of an image between rounds. */
struct state {
    chain before, after; /* of what is read, and of what a spatial op makes of it */
    chain_state pending; /* of `before` */
    int before_items, after_items;
    int kind, at;       /* what it needs in this round; the first step that is not taken yet */
    int place, via, to; /* where it lies, lies between a blur's directions, and will lie after this round */
    int step;           /* of the round: the spatial op, the blur, or whose statistics are counted */
    int source;
    int premultiplied;
    uint32_t fill;
    mot_warp_plan plan;
    sums across, down; /* SCALE: columns and rows; DOUBLE: x and y of where each row begins */
    uint32_t histogram[3][256];
    uint32_t low[3], high[3];
    unsigned long long luma;
};

DEVICE state &state_of(const mot_large_job &job)
{
    return ((state *)job.states)[blockIdx.y];
}

DEVICE const mot_step &step_of(const mot_large_job &job, int at)
{
    return job.steps[(int64_t)(job.first + (int)blockIdx.y) * job.max_steps + at];
}

/* A place of the CTA's image, and whether it is read and written as MOT_FORMAT_STRIDED. */
template <int FORMAT> DEVICE mot_view view_at(const mot_large_job &job, int place, bool &strided)
{
    const int sample = job.first + (int)blockIdx.y;
    strided = FORMAT != MOT_FORMAT_STRIDED && place == WORK && job.work_strided;
    if (place == WORK)
        return view_of(job.work, job.channels, sample);
    if (place == OUTPUT)
        return view_of(job.output, job.channels, sample);
    const mot_view src = view_of(job.src, job.channels, sample);
    return place == SRC ? src
                        : mot_large_scratch((mot_cuda_format)FORMAT, job.channels, src.width, src.height,
                                            job.scratch + job.offset[blockIdx.y]);
}

/* flush(), to a view whose format may be STRIDED instead; whole warps call it. */
template <int FORMAT>
DEVICE void put(const mot_view &to, bool strided, int x, int y, const uint32_t px[4], uint32_t *stage)
{
    if (FORMAT != MOT_FORMAT_STRIDED && strided)
        flush<MOT_FORMAT_STRIDED>(to, x, y, px, stage);
    else
        flush<FORMAT>(to, x, y, px, stage);
}

/* Brings the part of a chain that is in use near. A barrier must follow. */
DEVICE void bring_chain(chain &near, const chain &far, int items)
{
    if (items == 0)
        return;
    const uint32_t *const from = (const uint32_t *)&far;
    for (int i = threadIdx.x; i < (int)(sizeof(chain) / 4); i += THREADS)
        ((uint32_t *)&near)[i] = from[i];
}

/* Calls body(x, y) for groups of four pixels of the image, a warp's 32 lanes side by side; whole warps take part, lanes
 * without pixels get x = -1. */
template <class BODY> DEVICE void for_tiles(int width, int height, BODY body)
{
    const int across = (width + MOT_LARGE_TILE_WIDTH - 1) / MOT_LARGE_TILE_WIDTH;
    const int tiles = mot_large_tiles(width, height);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int down = tile / across;
        const int x = (tile - down * across) * MOT_LARGE_TILE_WIDTH + (threadIdx.x & 31) * 4;
        const int top = down * MOT_LARGE_TILE_HEIGHT, bottom = min(top + MOT_LARGE_TILE_HEIGHT, height);
        for (int y = top + threadIdx.x / 32; y < bottom; y += WARPS)
            body(x < width ? x : -1, y);
    }
}

/* ---- planning: one CTA an image ---- */

/* Whether the chain takes a table, or another item. */
DEVICE bool has_room(const chain_state &n, bool table)
{
    return (table && n.open) || n.items < MOT_CHAIN_ITEMS;
}

/* Adds a point, colour or erase op; false when the chain is full. */
DEVICE bool append(chain &c, chain_state &n, const mot_step &step, int shape, int width, int height)
{
    if (!has_room(n, shape == MOTLEY_SHAPE_POINT))
        return false;
    const mot_rect none = { 0, 0, 0, 0 };
    if (shape == MOTLEY_SHAPE_POINT)
        chain_point(c, n, step.op, &step.arg);
    else if (shape == MOTLEY_SHAPE_COLOR)
        chain_append(c, n, CHAIN_COLOR, &step, none, 0);
    else
        chain_append(c, n, CHAIN_ERASE, &step, mot_erase_rect(step.op, width, height, &step.arg), fill_word(step));
    return true;
}

/* Where sums of n numbers are not rounded: all are multiples of 2^-20 below 2^31. */
DEVICE bool sums_are_exact(double first, double step, int n)
{
    const double one = 1048576.0;
    return fabs(first) + fabs(step) * n < 1073741824.0 && first * one == rint(first * one) &&
           step * one == rint(step * one);
}

/* For one thread. */
DEVICE void remember_sums(sums &s, double first, double step, int n, double *every)
{
    s.first = first;
    s.step = step;
    s.every = sums_are_exact(first, step, n) ? nullptr : every;
    for (int i = 0; s.every && i < n; i++, first += step)
        if (i % MOT_SUMS_APART == 0)
            every[i / MOT_SUMS_APART] = first;
}

DEVICE double sum_at(const sums &s, int i)
{
    if (!s.every)
        return s.first + s.step * i;
    double sum = s.every[i / MOT_SUMS_APART];
    for (int k = i % MOT_SUMS_APART; k > 0; k--)
        sum += s.step;
    return sum;
}

/* What a spatial op of the round needs; a barrier comes before and after. `kept` has room for mot_large_sums(). */
DEVICE void plan_spatial(state &s, const mot_step &step, int width, int height, int channels, double *kept)
{
    const bool warp = mot_shape_of(step.op) == MOTLEY_SHAPE_WARP;
    if (threadIdx.x == 0) {
        s.source = FROM_STENCIL;
        s.fill = fill_word(step);
        if (warp) {
            mot_warp_make_plan(step.op, width, height, &step.arg, step.interpolation, &s.plan);
            s.source = s.plan.path == MOT_WARP_FIXED    ? FROM_FIXED
                       : s.plan.path == MOT_WARP_SCALE  ? FROM_SCALE
                       : s.plan.path == MOT_WARP_DOUBLE ? FROM_DOUBLE
                                                        : FROM_BETWEEN;
        }
        s.premultiplied = s.source == FROM_BETWEEN && (channels == 2 || channels == 4);
    }
    __syncthreads();
    if (threadIdx.x % 32 != 0 || (s.source != FROM_SCALE && s.source != FROM_DOUBLE))
        return;
    double x, y;
    mot_warp_double_start(&s.plan, &x, &y);
    double *const behind = kept + (width > height ? width : height) / MOT_SUMS_APART + 1;
    if (threadIdx.x == 0 && s.source == FROM_SCALE)
        remember_sums(s.across, mot_warp_first_column(&s.plan), s.plan.m[0], width, kept);
    else if (threadIdx.x == 0)
        remember_sums(s.across, x, s.plan.m[1], height, kept);
    else if (threadIdx.x == 32 && s.source == FROM_SCALE)
        remember_sums(s.down, mot_warp_first_row(&s.plan), s.plan.m[4], height, behind);
    else if (threadIdx.x == 32)
        remember_sums(s.down, y, s.plan.m[4], height, behind);
}

/* The counts of the last round as the op's table, in the chain. */
DEVICE void finish_count(state &s, chain_state &pending, const mot_step &step, int width, int height, int colors)
{
    __shared__ mot_stats stats[3];
    const int needs = needs_of(step.op);
    const uint32_t n = (uint32_t)width * (uint32_t)height;
    if (threadIdx.x % 32 == 0 && (int)threadIdx.x / 32 < colors) {
        const int c = threadIdx.x / 32;
        stats[c] = mot_stats{ n, s.low[c], s.high[c], 0, 0, s.histogram[c] };
        if (needs == MOT_NEEDS_HISTOGRAM)
            mot_stats_of_histogram(s.histogram[c], &stats[c]);
        if (needs == MOT_NEEDS_MEAN)
            stats[c].mean = mot_stats_mean(s.luma, n);
    }
    __syncthreads();
    chain_stats(s.before, pending, step.op, stats, colors, &step.arg);
    __syncthreads();
}

/* Finds what each image needs in this round. Takes one step or more in every round, so that `max_steps` of them and one
 * to write the result are enough: a pass that only empties a full chain follows colour and erase ops that took none. */
static __global__ void __launch_bounds__(THREADS) plan_kernel(const __grid_constant__ mot_large_job job, int format)
{
    __shared__ state s;
    const int sample = job.first + (int)blockIdx.y;
    const mot_view src = view_of(job.src, job.channels, sample), work = view_of(job.work, job.channels, sample);
    const int count = job.step_count[sample];
    uint32_t *const far = (uint32_t *)&state_of(job);
    int at = 0, place = src.data == work.data ? WORK : SRC;
    chain_state pending = {};
    if (job.round > 0) {
        for (int i = threadIdx.x; i < (int)(sizeof s / 4); i += THREADS)
            ((uint32_t *)&s)[i] = far[i];
        __syncthreads();
        if (s.kind == DONE)
            return;
        at = s.at;
        place = s.to;
        if (s.kind == COUNT) {
            pending = s.pending;
            finish_count(s, pending, step_of(job, at), src.width, src.height, mot_color_channels(job.channels));
            at++;
        }
    }

    int kind = DONE, spatial = -1;
    chain_state after = {};
    for (; at < count; at++) {
        const mot_step &step = step_of(job, at);
        const int shape = mot_shape_of(step.op);
        if (step.arg.flags & MOT_ARG_IDENTITY)
            continue;
        if (shape == MOTLEY_SHAPE_POINT || shape == MOTLEY_SHAPE_COLOR || shape == MOTLEY_SHAPE_ERASE) {
            if (!append(spatial < 0 ? s.before : s.after, spatial < 0 ? pending : after, step, shape, src.width,
                        src.height))
                break;
            continue;
        }
        if (spatial >= 0)
            break;
        if (shape == MOTLEY_SHAPE_STATS) {
            if (has_room(pending, true))
                kind = COUNT;
            break;
        }
        spatial = at;
        if (shape == MOTLEY_SHAPE_BLUR) {
            kind = BLUR;
            at++;
            break;
        }
    }
    const bool none_left = at >= count;
    int via = place, to = place;
    if (kind == BLUR) {
        via = place == SCRATCH ? WORK : SCRATCH;
        to = via == SCRATCH ? WORK : SCRATCH;
    } else if (kind != COUNT && spatial >= 0) {
        const bool same = job.plain || view_of(job.output, job.channels, sample).data == work.data;
        const bool direct = none_left && (place != WORK || !same);
        kind = PASS;
        to = direct ? (job.plain ? WORK : OUTPUT) : place == SCRATCH ? WORK : SCRATCH;
    } else if (kind != COUNT && none_left) {
        to = job.plain ? WORK : OUTPUT;
        kind = place == to && pending.items == 0 ? DONE : PASS;
    } else if (kind != COUNT) {
        kind = PASS; /* the chain is full */
        to = place == SRC ? WORK : place;
    }

    __syncthreads();
    if (threadIdx.x == 0) {
        s.kind = kind;
        s.at = at;
        s.place = place;
        s.via = via;
        s.to = to;
        s.step = kind == COUNT ? at : spatial;
        s.pending = pending;
        s.before_items = pending.items;
        s.after_items = after.items;
        s.source = FROM_PLACE;
        s.premultiplied = 0;
        s.luma = 0;
    }
    if (threadIdx.x < 3)
        s.low[threadIdx.x] = 255, s.high[threadIdx.x] = 0;
    for (int i = threadIdx.x; i < 3 * 256; i += THREADS)
        (&s.histogram[0][0])[i] = 0;
    __syncthreads();
    if (kind == PASS && spatial >= 0)
        plan_spatial(s, step_of(job, spatial), src.width, src.height, job.channels,
                     (double *)(job.scratch + job.offset[blockIdx.y] +
                                mot_large_sums_at((mot_cuda_format)format, job.channels, src.width, src.height)));
    __syncthreads();
    for (int i = threadIdx.x; i < (int)(sizeof s / 4); i += THREADS)
        far[i] = ((const uint32_t *)&s)[i];
}

/* ---- statistics ---- */

template <int FORMAT>
static __global__ void __launch_bounds__(THREADS) count_kernel(const __grid_constant__ mot_large_job job)
{
    __shared__ chain before;
    __shared__ uint32_t histogram[COUNTERS][3][256];
    state &s = state_of(job);
    if (s.kind != COUNT)
        return;
    bool strided;
    const mot_view from = view_at<FORMAT>(job, s.place, strided);
    const int needs = needs_of(step_of(job, s.step).op), items = s.before_items;
    const int channels = channels_of(FORMAT, from), colors = colors_of<FORMAT>(channels);
    uint32_t(*const mine)[256] = histogram[threadIdx.x / 32 % COUNTERS];
    bring_chain(before, s.before, items);
    for (int i = threadIdx.x; i < COUNTERS * 3 * 256; i += THREADS)
        (&histogram[0][0][0])[i] = 0;
    __syncthreads();
    uint32_t low = 0xFFFFFFFFu, high = 0;
    unsigned long long luma = 0;
    for_tiles(from.width, from.height, [&](int x, int y) {
        if (x < 0)
            return;
        uint32_t px[4];
        fetch_from<FORMAT>(from, strided, x, y, px);
        apply_chain<FORMAT>(before, items, channels, x, y, px);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (x + i >= from.width)
                break;
            if (needs == MOT_NEEDS_RANGE) {
                low = __vminu4(low, px[i]);
                high = __vmaxu4(high, px[i]);
            } else if (needs == MOT_NEEDS_MEAN) {
                luma += luma_of<FORMAT>(px[i], channels);
            } else {
#pragma unroll
                for (int c = 0; c < 3; c++)
                    if (c < colors)
                        atomicAdd(&mine[c][byte_of(px[i], c)], 1u);
            }
        }
    });
    if (needs == MOT_NEEDS_HISTOGRAM) {
        __syncthreads();
        for (int i = threadIdx.x; i < 3 * 256; i += THREADS) {
            uint32_t n = 0;
            for (int k = 0; k < COUNTERS; k++)
                n += (&histogram[k][0][0])[i];
            if (n)
                atomicAdd(&s.histogram[i >> 8][i & 255], n);
        }
        return;
    }
    for (int step = 16; step; step /= 2) {
        low = __vminu4(low, __shfl_xor_sync(0xFFFFFFFFu, low, step));
        high = __vmaxu4(high, __shfl_xor_sync(0xFFFFFFFFu, high, step));
        luma += __shfl_xor_sync(0xFFFFFFFFu, luma, step);
    }
    if ((threadIdx.x & 31) != 0)
        return;
    if (needs == MOT_NEEDS_RANGE)
        for (int c = 0; c < 3; c++) {
            atomicMin(&s.low[c], byte_of(low, c));
            atomicMax(&s.high[c], byte_of(high, c));
        }
    else if (luma)
        atomicAdd(&s.luma, luma);
}

/* ---- passes ---- */

/* Taps of an image in device memory, as image_taps; the stencil's come four at a time. */
template <int FORMAT> struct place_taps : image_taps<FORMAT> {
};

template <int FORMAT> DEVICE void row_of_six(const place_taps<FORMAT> &taps, int x, int y, int width, uint32_t px[6])
{
    px[0] = taps(max(x - 1, 0), y);
    fetch_from<FORMAT>(taps.view, taps.strided, x, y, px + 1);
    apply_chain<FORMAT>(taps.before, taps.items, channels_of(FORMAT, taps.view), x, y, px + 1);
    px[5] = taps(min(x + 4, width - 1), y);
}

/* The fused last step. */
struct writer {
    mot_view to;
    int dtype; /* of the output, or -1: to.data holds bytes, in the image's format or strided */
    bool strided;
    const uint32_t (*table)[256]; /* of the output */
    uint32_t *stage;
};

template <int FORMAT> DEVICE void write_quad(const writer &w, int x, int y, const uint32_t px[4])
{
    if (w.dtype < 0)
        put<FORMAT>(w.to, w.strided, x, y, px, w.stage);
    else if (x >= 0)
        store_output(w.to, w.dtype, w.table, x, y, px);
}

/* Rows whose positions are sums along them: a thread does SPAN pixels, after it has summed up to the first of them. */
template <int FORMAT, class TAPS>
static __device__ __noinline__ void double_rows(const state &s, const TAPS &taps, const chain &after, const writer &w)
{
    const int width = w.to.width, channels = channels_of(FORMAT, taps.view);
    const int64_t spans = (width + SPAN - 1) / SPAN, all = spans * w.to.height;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < all; i += (int64_t)gridDim.x * THREADS) {
        const int y = (int)(i / spans), begin = (int)(i % spans) * SPAN, end = min(begin + SPAN, width);
        double in_x = sum_at(s.across, y), in_y = sum_at(s.down, y);
        for (int x = 0; x < begin; x++)
            in_x += s.plan.m[0], in_y += s.plan.m[3];
        for (int x = begin; x < end; x += 4) {
            uint32_t px[4];
#pragma unroll
            for (int k = 0; k < 4; k++, in_x += s.plan.m[0], in_y += s.plan.m[3]) {
                const int column = mot_warp_index(in_x, width), row = mot_warp_index(in_y, w.to.height);
                px[k] = column >= 0 && row >= 0 ? taps(column, row) : s.fill;
            }
            apply_chain<FORMAT>(after, s.after_items, channels, x, y, px);
            if (w.dtype >= 0) {
                store_output(w.to, w.dtype, w.table, x, y, px);
                continue;
            }
            for (int k = 0; k < 4 && x + k < end; k++)
                store_one<MOT_FORMAT_STRIDED>(w.to, x + k, y, px[k]);
        }
    }
}

template <int FORMAT, int SOURCE>
static __device__ __noinline__ void write_tiles(const state &s, const mot_step *step, const place_taps<FORMAT> &taps,
                                                const chain &after, const writer &w)
{
    const int width = w.to.width, height = w.to.height;
    const int channels = channels_of(FORMAT, taps.view), after_items = s.after_items;
    const uint32_t fill = s.fill;
    for_tiles(width, height, [&](int x, int y) {
        uint32_t px[4] = { 0, 0, 0, 0 };
        if (x >= 0) {
            if (SOURCE == FROM_PLACE) {
                fetch_from<FORMAT>(taps.view, taps.strided, x, y, px);
                apply_chain<FORMAT>(taps.before, taps.items, channels, x, y, px);
            } else if (SOURCE == FROM_FIXED) {
                warp_fixed(s.plan, taps, fill, x, y, px);
            } else if (SOURCE == FROM_SCALE) {
                const int row = mot_warp_index(sum_at(s.down, y), height);
                double in = sum_at(s.across, x);
#pragma unroll
                for (int i = 0; i < 4; i++, in = s.across.every ? in + s.across.step : sum_at(s.across, x + i)) {
                    const int column = mot_warp_index(in, width);
                    px[i] = column >= 0 && row >= 0 ? taps(column, row) : fill;
                }
            } else if (SOURCE == FROM_STENCIL) {
                stencil_quad(taps, step->op, &step->arg, colors_of<FORMAT>(channels), width, height, x, y, px);
            } else {
                warp_between_quad(s.plan, taps, channels, fill, taps.premultiply, x, y, px);
            }
            apply_chain<FORMAT>(after, after_items, channels, x, y, px);
        }
        write_quad<FORMAT>(w, x, y, px);
    });
}

template <int FORMAT>
static __global__ void __launch_bounds__(THREADS, 4) pass_kernel(const __grid_constant__ mot_large_job job)
{
    __shared__ chain before, after;
    __shared__ uint4 stage[WARPS][MOT_STAGE_BYTES / 16];
    __shared__ uint32_t table[4][256];
    const state &s = state_of(job);
    if (s.kind != PASS)
        return;
    const bool output = s.to == OUTPUT;
    bool strided, strided_to;
    const mot_view from = view_at<FORMAT>(job, s.place, strided), to = view_at<FORMAT>(job, s.to, strided_to);
    const writer w = { to, output ? job.output_dtype : -1, strided_to, table, (uint32_t *)stage[threadIdx.x / 32] };
    bring_chain(before, s.before, s.before_items);
    bring_chain(after, s.after, s.after_items);
    for (int i = threadIdx.x; output && i < job.channels * 256; i += THREADS)
        table[i >> 8][i & 255] = mot_output_bits((uint8_t)i, job.output_dtype, job.mean[i >> 8], job.std[i >> 8]);
    __syncthreads();
    const place_taps<FORMAT> taps = { { from, before, s.before_items, s.premultiplied != 0, strided } };
    const mot_step *const step = s.step < 0 ? nullptr : &step_of(job, s.step);
    switch (s.source) {
    case FROM_PLACE:
        write_tiles<FORMAT, FROM_PLACE>(s, step, taps, after, w);
        break;
    case FROM_FIXED:
        write_tiles<FORMAT, FROM_FIXED>(s, step, taps, after, w);
        break;
    case FROM_SCALE:
        write_tiles<FORMAT, FROM_SCALE>(s, step, taps, after, w);
        break;
    case FROM_DOUBLE:
        double_rows<FORMAT>(s, taps, after, w);
        break;
    case FROM_BETWEEN:
        write_tiles<FORMAT, FROM_BETWEEN>(s, step, taps, after, w);
        break;
    case FROM_STENCIL:
        write_tiles<FORMAT, FROM_STENCIL>(s, step, taps, after, w);
        break;
    }
}

/* ---- blur ---- */

/* One box pass over n bytes of a line. What lies past the ends counts as the last byte there. A thread does a piece of
 * the line with a running sum; the pieces' length keeps a warp's lanes on different banks. */
DEVICE void blur_line(const uint8_t *in, uint8_t *out, int n, int op, const mot_arg &arg)
{
    const int radius = (int)mot_blur_radius(&arg);
    const int piece = 4 * (((n + THREADS - 1) / THREADS + 3) / 4 | 1);
    const int begin = threadIdx.x * piece, end = min(begin + piece, n);
    if (begin >= end)
        return;
    uint32_t inner = 0;
    for (int k = begin - radius; k <= begin + radius; k++)
        inner += in[mot_warp_clamp(k, n)];
    for (int i = begin; i < end; i++) {
        const uint32_t next = in[mot_warp_clamp(i + radius + 1, n)];
        out[i] = mot_blur_value(op, inner, in[mot_warp_clamp(i - radius - 1, n)] + next, &arg);
        inner += next - in[mot_warp_clamp(i - radius, n)];
    }
}

/* Rows, in segments with as much around them as three passes read. What a segment's end makes wrong stays there. */
template <int FORMAT>
static __global__ void __launch_bounds__(THREADS) rows_kernel(const __grid_constant__ mot_large_job job)
{
    __shared__ chain before;
    __shared__ uint32_t line[5][LINE / 4]; /* a channel each, and one to write to */
    __shared__ uint4 stage[WARPS][MOT_STAGE_BYTES / 16];
    const state &s = state_of(job);
    if (s.kind != BLUR)
        return;
    bool strided, strided_to;
    const mot_view from = view_at<FORMAT>(job, s.place, strided), to = view_at<FORMAT>(job, s.via, strided_to);
    const mot_step &step = step_of(job, s.step);
    const mot_arg arg = step.arg;
    const int op = step.op, items = s.before_items, channels = channels_of(FORMAT, from);
    const int around = (MOT_BLUR_PASSES * ((int)mot_blur_radius(&arg) + 1) + 3) & ~3, length = LINE - 2 * around;
    const int64_t segments = (from.width + length - 1) / length, all = segments * from.height;
    bring_chain(before, s.before, items);
    __syncthreads();
    for (int64_t item = blockIdx.x; item < all; item += gridDim.x) {
        const int y = (int)(item / segments), x0 = (int)(item % segments) * length, x1 = min(x0 + length, from.width);
        const int low = max(x0 - around, 0), n = min(x1 + around, from.width) - low;
        for (int i = 4 * threadIdx.x; i < n; i += 4 * THREADS) {
            uint32_t px[4];
            fetch_from<FORMAT>(from, strided, low + i, y, px);
            apply_chain<FORMAT>(before, items, channels, low + i, y, px);
            for (int c = 0; c < channels; c++)
                line[c][i / 4] =
                    byte_of(px[0], c) | byte_of(px[1], c) << 8 | byte_of(px[2], c) << 16 | byte_of(px[3], c) << 24;
        }
        __syncthreads();
        int spare = 4; /* line[c] ends in the one that was free, and leaves its own to the next */
        for (int c = 0; c < channels; c++) {
            int in = c;
            for (int pass = 0; pass < MOT_BLUR_PASSES; pass++) {
                blur_line((const uint8_t *)line[in], (uint8_t *)line[spare], n, op, arg);
                __syncthreads();
                const int swap = in;
                in = spare, spare = swap;
            }
        }
        const int quads = (x1 - x0 + 3) / 4;
        for (int q = threadIdx.x; q - (int)(threadIdx.x & 31) < quads; q += THREADS) {
            uint32_t px[4] = { 0, 0, 0, 0 };
            const int at = (x0 - low) / 4 + q;
            for (int c = 0; c < channels && q < quads; c++) {
                const uint32_t w = line[c == 0 ? 4 : c - 1][at];
                for (int i = 0; i < 4; i++)
                    px[i] |= byte_of(w, i) << (8 * c);
            }
            put<FORMAT>(to, strided_to, q < quads ? x0 + 4 * q : -1, y, px, (uint32_t *)stage[threadIdx.x / 32]);
        }
        __syncthreads();
    }
}

/* One box pass down a strip of columns: a thread does four columns, some rows of them. */
template <int FORMAT>
static __device__ __noinline__ void blur_strip(const mot_view &from, bool strided, const mot_view &to, bool strided_to,
                                               int strip, int op, const mot_arg &arg, uint32_t *stage)
{
    const int radius = (int)mot_blur_radius(&arg), channels = channels_of(FORMAT, from), height = from.height;
    const int first = 4 * (strip * STRIP + (int)threadIdx.x % STRIP), x = first < from.width ? first : -1;
    const int each = (height + THREADS / STRIP - 1) / (THREADS / STRIP), begin = (int)threadIdx.x / STRIP * each;
    const bool any = x >= 0 && begin < height;
    uint32_t inner[4][4] = {}, before[4] = {}, px[4];
    if (any) {
        for (int y = begin - radius; y <= begin + radius; y++) {
            fetch_from<FORMAT>(from, strided, x, mot_warp_clamp(y, height), px);
#pragma unroll
            for (int i = 0; i < 16; i++)
                inner[i / 4][i % 4] += byte_of(px[i / 4], i % 4);
        }
        fetch_from<FORMAT>(from, strided, x, mot_warp_clamp(begin - radius - 1, height), before);
    }
    for (int y = begin; y < begin + each; y++) {
        uint32_t out[4] = { 0, 0, 0, 0 };
        const bool here = any && y < height;
        if (here) {
            uint32_t leaves[4];
            fetch_from<FORMAT>(from, strided, x, mot_warp_clamp(y + radius + 1, height), px);
            fetch_from<FORMAT>(from, strided, x, mot_warp_clamp(y - radius, height), leaves);
#pragma unroll
            for (int i = 0; i < 4; i++) {
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    const uint32_t next = byte_of(px[i], c);
                    if (c < channels)
                        out[i] |= (uint32_t)mot_blur_value(op, inner[i][c], byte_of(before[i], c) + next, &arg)
                                  << (8 * c);
                    inner[i][c] += next - byte_of(leaves[i], c);
                }
                before[i] = leaves[i];
            }
        }
        put<FORMAT>(to, strided_to, here ? x : -1, y, out, stage);
    }
}

/* Columns, by a CTA from top to bottom: each pass reads what the one before wrote, and no other CTA touches. */
template <int FORMAT>
static __global__ void __launch_bounds__(THREADS) columns_kernel(const __grid_constant__ mot_large_job job)
{
    __shared__ uint4 stage[WARPS][MOT_STAGE_BYTES / 16];
    const state &s = state_of(job);
    if (s.kind != BLUR)
        return;
    bool strided[2];
    const mot_view view[2] = { view_at<FORMAT>(job, s.via, strided[0]), view_at<FORMAT>(job, s.to, strided[1]) };
    const mot_step &step = step_of(job, s.step);
    const mot_arg arg = step.arg;
    const int strips = (view[0].width + 4 * STRIP - 1) / (4 * STRIP);
    for (int strip = blockIdx.x; strip < strips; strip += gridDim.x)
        for (int pass = 0; pass < MOT_BLUR_PASSES; pass++) {
            const int from = pass & 1, to = 1 - from;
            blur_strip<FORMAT>(view[from], strided[from], view[to], strided[to], strip, step.op, arg,
                               (uint32_t *)stage[threadIdx.x / 32]);
            __syncthreads();
        }
}

/* ---- launching ---- */

#define KERNELS_OF(FORMAT) \
    { \
        (const void *)plan_kernel, (const void *)count_kernel<FORMAT>, (const void *)pass_kernel<FORMAT>, \
            (const void *)rows_kernel<FORMAT>, (const void *)columns_kernel<FORMAT> \
    }

static const void *const kernels[MOT_FORMATS][MOT_LARGE_KERNELS] = {
    KERNELS_OF(MOT_FORMAT_GREY), KERNELS_OF(MOT_FORMAT_RGB),     KERNELS_OF(MOT_FORMAT_PLANES),
    KERNELS_OF(MOT_FORMAT_RGBA), KERNELS_OF(MOT_FORMAT_STRIDED),
};

size_t mot_large_state_bytes(void)
{
    return (sizeof(state) + 15) & ~(size_t)15;
}

cudaError_t mot_large_launch(const mot_large_job *job, mot_cuda_format format, mot_large_kernel kernel, int images,
                             int ctas, cudaStream_t stream)
{
    mot_large_job copy = *job;
    int which = format;
    void *arguments[] = { &copy, &which }; /* the second is the plan kernel's only */
    return cudaLaunchKernel(kernels[format][kernel], dim3((unsigned)ctas, (unsigned)images), dim3(THREADS), arguments,
                            0, stream);
}
