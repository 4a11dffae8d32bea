/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the tables of the images' axes, with one CTA for each image. Weights are computed in binary64, with every
 * operation rounded as on the CPU. */
#ifndef MOT_RESIZE_AXES_CUH
#define MOT_RESIZE_AXES_CUH

#include "kernels/cuda/pixels.cuh"
#include "kernels/cuda/resize.h"
#include "kernels/resize.h"

/* Groups of taps whose weights, each rounded, cannot add up to so much that a result passes 255. */
#define MOST_UNSIGNED 4096

/* One axis of an image: how components of the result are made from those of the picture. */
struct axis_plan {
    mot_resize_axis axis;
    int window, out, flip; /* where the result begins in the resized axis, its length, mirrored or not */
    int single;            /* != 0: component i is that of the picture at i + shift */
    int shift;
    int from, until;   /* the components of the picture that the source has */
    int flipped_first; /* as that of mot_resize */
    bool clamps;       /* as mot_cuda_axes.clamps */
};

/* The tables of one axis of an image. */
struct axis_table {
    mot_cuda_taps *taps; /* [groups][out] */
    int32_t *first;      /* [out] */
};

DEVICE uint8_t *tables_of(const mot_resize_job &job, int i)
{
    return job.tables + (job.table_offset ? job.table_offset[i] : i * job.table_bytes);
}

/* Windows of the columns and the rows, then taps of the rows and the columns. So where a row's window and taps lie
 * does not depend on the groups of the columns. */
DEVICE axis_table table_of(uint8_t *tables, int row_groups, const int out[2], int axis)
{
    axis_table t;
    int32_t *const first = (int32_t *)tables;
    mot_cuda_taps *const taps = (mot_cuda_taps *)(tables + mot_resize_first_bytes(out[0], out[1]));
    t.first = axis == 0 ? first : first + out[0];
    t.taps = axis == 0 ? taps + (int64_t)row_groups * out[1] : taps;
    return t;
}

/* The index of result component `i` in the resized axis; returns whether it is inside. */
DEVICE bool resized_number(const axis_plan &a, int i, int *number)
{
    *number = (a.flip ? a.out - 1 - i : i) + a.window;
    return *number >= 0 && *number < a.axis.out;
}

struct axis_window {
    int first, taps;
    double centre;
};

/* The window of result component `i`; outside the axis it is empty, and adjacent to the windows of its neighbours. */
DEVICE axis_window window_of(const axis_plan &a, int i)
{
    axis_window w = { 0, 1, 0 };
    int number;
    const bool inside = resized_number(a, i, &number);
    number = number < 0 ? 0 : number >= a.axis.out ? a.axis.out - 1 : number;
    if (a.single)
        w.first = number + a.shift;
    else
        w.taps = mot_resize_window(&a.axis, number, &w.first, &w.centre);
    if (!inside)
        w.taps = 0;
    return w;
}

DEVICE mot_cuda_taps pack_taps(const int32_t weight[4], int32_t outside, bool clamps)
{
    const int shift = clamps ? 0 : 2, most = clamps ? INT32_MAX : (1 << MOT_RESIZE_BITS) - 1;
    uint32_t w[4];
    for (int k = 0; k < 4; k++)
        w[k] = (uint32_t)min(weight[k], most) << shift;
    mot_cuda_taps t;
    t.upper01 = (w[0] >> 8 & 0xFFFF) | w[1] >> 8 << 16;
    t.upper23 = (w[2] >> 8 & 0xFFFF) | w[3] >> 8 << 16;
    t.lower = (w[0] & 255) | (w[1] & 255) << 8 | (w[2] & 255) << 16 | w[3] << 24;
    t.outside = (uint32_t)outside << shift;
    return t;
}

/* The filter at four neighbouring components from `component` on; USUAL: bilinear or bicubic. */
template <bool USUAL> DEVICE void four_taps(const mot_resize_axis &axis, double centre, int component, double tap[4])
{
    double x[4];
    for (int k = 0; k < 4; k++)
        x[k] = mot_resize_place(&axis, centre, component + k);
    if (!USUAL)
        for (int k = 0; k < 4; k++)
            tap[k] = mot_resize_filter(axis.filter, x[k]);
    else if (axis.filter == MOTLEY_FILTER_BICUBIC)
        for (int k = 0; k < 4; k++)
            tap[k] = mot_resize_filter(MOTLEY_FILTER_BICUBIC, x[k]);
    else
        for (int k = 0; k < 4; k++)
            tap[k] = mot_resize_filter(MOTLEY_FILTER_BILINEAR, x[k]);
}

/* a / b, rounded to nearest, where `inverse` is 1 / b, rounded to nearest: the first correction brings the quotient
 * within a unit in the last place, and the second one then rounds it correctly (Markstein 1990). For numbers far from
 * the ends of the range. */
DEVICE double quotient(double a, double b, double inverse)
{
    double q = a * inverse;
    q = fma(fma(-b, q, a), inverse, q);
    return fma(fma(-b, q, a), inverse, q);
}

/* The part of a window that the source has. */
DEVICE int taps_inside(const axis_plan &a, const axis_window &w)
{
    return max(min(w.first + w.taps, a.until) - max(w.first, a.from), 0);
}

/* Where the taps of a window are read. Windows are moved inwards, so that all their taps are components of the source
 * if it has enough of them. */
DEVICE int moved_window(const axis_plan &a, int first, int groups)
{
    return max(min(first, a.until - 4 * groups), a.from);
}

/* Result component `i`, whose window is not, or not all, in the source. */
static __device__ __noinline__ void fill_edge(axis_plan a, axis_table table, int groups, int i, axis_window w)
{
    const int moved = moved_window(a, w.first, groups);
    if (taps_inside(a, w) == 0)
        w.first = moved, w.taps = 0;
    int32_t outside = w.taps ? 0 : 1 << MOT_RESIZE_BITS;
    double sum = 0;
    MOT_ROLLED
    for (int t = 0; t < w.taps; t++)
        sum += a.single ? 1 : mot_resize_tap(&a.axis, w.centre, w.first, t);
    int32_t weight[4];
    MOT_ROLLED
    for (int component = min(moved, w.first), end = max(moved + 4 * groups, w.first + w.taps); component < end;
         component++) {
        const int t = component - w.first, at = component - moved;
        const double tap = t < 0 || t >= w.taps ? 0 : a.single ? 1 : mot_resize_tap(&a.axis, w.centre, w.first, t);
        const int32_t whole = mot_resize_whole(tap / (sum != 0 ? sum : 1));
        const bool inside = component >= a.from && component < a.until;
        outside += inside ? 0 : whole;
        if (at >= 0 && at < 4 * groups) {
            weight[at % 4] = inside ? whole : 0;
            if (at % 4 == 3)
                table.taps[(int64_t)(at / 4) * a.out + i] = pack_taps(weight, 0, a.clamps);
        }
    }
    table.taps[i].outside = (uint32_t)outside << (a.clamps ? 0 : 2);
    table.first[i] = moved - a.from;
}

/* The taps of result component `i`, whose window is `w`. Every group is needed for the sum, and then once more for its
 * weights, except for the last. */
template <bool USUAL>
DEVICE void fill_taps(const axis_plan &a, const axis_table &table, int groups, int i, const axis_window &w)
{
    double sum = 0;
    if (w.taps == 0 || w.first < a.from || w.first + w.taps > a.until) {
        fill_edge(a, table, groups, i, w);
        return;
    }
    const int moved = moved_window(a, w.first, groups);
    MOT_ROLLED
    for (int turn = 0; turn < 2 * groups - 1; turn++) {
        const int group = turn < groups ? turn : turn - groups;
        const int component = moved + 4 * group;
        double tap[4] = { 1, 1, 1, 1 };
        if (!a.single)
            four_taps<USUAL>(a.axis, w.centre, component, tap);
        for (int k = 0; k < 4; k++) {
            if (component + k < w.first || component + k >= w.first + w.taps)
                tap[k] = 0;
            if (turn < groups)
                sum += tap[k];
        }
        if (turn < groups - 1)
            continue;
        const double divisor = sum != 0 ? sum : 1, inverse = 1 / divisor;
        int32_t weight[4];
        for (int k = 0; k < 4; k++)
            weight[k] = mot_resize_whole(quotient(tap[k], divisor, inverse));
        table.taps[(int64_t)group * a.out + i] = pack_taps(weight, 0, a.clamps);
    }
    table.first[i] = moved - a.from;
}

/* The nearest filter's positions are running sums, so one thread makes them. */
DEVICE void fill_nearest(const axis_plan &a, const axis_table &table, float from, float to)
{
    const double step = (double)(to - from) / a.axis.out;
    double place = from + step * 0.5;
    for (int number = 0; number < a.axis.out; number++, place += step) {
        const int behind = (a.flipped_first ? a.axis.out - 1 - number : number) - a.window;
        const int i = a.flip ? a.out - 1 - behind : behind;
        if (i < 0 || i >= a.out)
            continue;
        const int nearest = place >= 0 && place < a.axis.in ? (int)place : a.axis.in;
        const int read = a.flipped_first && nearest < a.axis.in ? a.axis.in - 1 - nearest : nearest;
        const bool inside = read >= a.from && read < a.until;
        const int moved = moved_window(a, read, 1);
        int32_t weight[4];
        for (int k = 0; k < 4; k++)
            weight[k] = inside && moved + k == read ? 1 << MOT_RESIZE_BITS : 0;
        table.taps[i] = pack_taps(weight, inside ? 0 : 1 << MOT_RESIZE_BITS, a.clamps);
        table.first[i] = moved - a.from;
    }
}

/* The taps of an axis with another filter than bilinear and bicubic; `self` is one of `threads`. Called, since code
 * that all threads jump over takes time to arrive. */
static __device__ __noinline__ void fill_other(axis_plan a, axis_table table, int groups, int self, int threads,
                                               bool nearest, float from, float to)
{
    int number;
    for (int i = self; i < a.out; i += threads) {
        if (!nearest) {
            fill_taps<false>(a, table, groups, i, window_of(a, i));
        } else if (!resized_number(a, i, &number)) { /* outside the resized image, which fill_nearest leaves out */
            const int32_t none[4] = { 0, 0, 0, 0 };
            table.taps[i] = pack_taps(none, 1 << MOT_RESIZE_BITS, a.clamps);
            table.first[i] = moved_window(a, number < 0 ? a.from : a.until, 1) - a.from;
        }
    }
    if (nearest && self == 0)
        fill_nearest(a, table, from, to);
}

/* About how many instructions an image takes: how much each pass makes, by how many groups of taps. Limited, so that
 * sums fit into 32 bits. */
DEVICE uint32_t cost_of(int width, int height, bool rows_first, const int32_t groups[2], int rows)
{
    const float columns = (float)groups[0], taps = (float)groups[1];
    const float cost = rows_first ? (float)width * (1 + taps) + (float)rows * (2 + 2 * columns)
                                  : (float)height * (1 + 2 * columns) + (float)rows * (1 + taps);
    return (uint32_t)fminf(cost, 1 << 23);
}

#define COST_CLASSES 32 /* a warp's lanes */

/* Costly images come first. */
DEVICE uint32_t class_of(uint32_t cost, float mean)
{
    const float share = (float)cost / mean;
    return share > 2 ? 0 : (uint32_t)((2 - share) * ((COST_CLASSES - 0.5f) / 2));
}

/* Orders images by their costs, which other CTAs have written: by one warp. */
static __device__ __noinline__ void order_images(const uint32_t *cost, uint32_t *order, int first, int count)
{
    const int own = MOT_RESIZE_ORDERED / 32, lane = (int)threadIdx.x % 32;
    __shared__ uint32_t begin[COST_CLASSES];
    uint32_t costs[own], sum = 0;
#pragma unroll
    for (int k = 0; k < own; k++) {
        costs[k] = 32 * k + lane < count ? ((const volatile uint32_t *)cost)[first + 32 * k + lane] : 0;
        sum += costs[k];
    }
    begin[lane] = 0;
    for (int bits = 16; bits > 0; bits /= 2)
        sum += __shfl_xor_sync(~0u, sum, bits);
    __syncwarp();
    const float mean = (float)sum / (float)count;
    uint32_t where[own]; /* a class, and the place in it */
#pragma unroll
    for (int k = 0; k < own; k++) {
        const uint32_t in = class_of(costs[k], mean);
        where[k] = in | (32 * k + lane < count ? atomicAdd(&begin[in], 1u) : 0) << 8;
    }
    __syncwarp();
    const uint32_t members = begin[lane];
    uint32_t until = members; /* images in the classes up to this one */
    for (int i = 1; i < 32; i *= 2) {
        const uint32_t before = __shfl_sync(~0u, until, lane - i);
        until += lane >= i ? before : 0;
    }
    __syncwarp();
    begin[lane] = until - members;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < own; k++)
        if (32 * k + lane < count)
            order[first + begin[where[k] & 255] + (where[k] >> 8)] = (uint32_t)(first + 32 * k + lane);
}

/* The warp that calls it last for its images orders them. */
DEVICE void count_image(const mot_resize_job &job, int image, uint32_t cost)
{
    const int turn = image / MOT_RESIZE_ORDERED, first = turn * MOT_RESIZE_ORDERED;
    const int count = min(job.count - first, MOT_RESIZE_ORDERED);
    uint32_t before = 0;
    if (turn >= MOT_RESIZE_COUNTERS) {
        job.order[image] = (uint32_t)image;
        return;
    }
    if (threadIdx.x % 32 == 0) {
        job.cost[image] = cost;
        __threadfence();
        before = atomicInc(&job.counted[turn], (uint32_t)count - 1);
        __threadfence();
    }
    __syncwarp();
    if (__shfl_sync(~0u, before, 0) == (uint32_t)count - 1)
        order_images(job.cost, job.order, first, count);
}

DEVICE bool has_alpha(const mot_resize_job &job)
{
    return job.channels % 2 == 0 && !job.planes;
}

/* What the resize kernel needs to know of an image's tables. */
DEVICE mot_cuda_axes axes_of(const mot_resize &place, const mot_resize_plan &plan, const mot_view &src,
                             const int out[2], const int32_t groups[2], bool clamps)
{
    mot_cuda_axes axes = {};
    for (int k = 0; k < 2; k++) {
        int32_t first, until;
        mot_resize_inside(&place, k, k ? src.height : src.width, &first, &until);
        axes.groups[k] = groups[k];
        axes.start[k] = (k ? place.top : place.left) + first;
        axes.in[k] = until - first;
    }
    axes.fills = axes.in[0] != place.width || axes.in[1] != place.height || place.window_left < 0 ||
                 place.window_top < 0 || out[0] > place.resized_width - place.window_left ||
                 out[1] > place.resized_height - place.window_top;
    for (int c = 0; c < 4; c++)
        axes.fill[c] = place.fill[c];
    axes.rows_first = plan.rows_first & 1, axes.opaque = (uint8_t)plan.opaque;
    axes.descending = place.flip_vertical;
    axes.clamps = clamps;
    return axes;
}

/* For all `threads` threads of a CTA: half of them make the columns, half the rows. `most` [2] is shared memory,
 * 1 before a barrier; threads is a multiple of 32. */
DEVICE void make_axes(const mot_resize_job &job, int image, const mot_resize &place, int threads, uint32_t *most)
{
    const int half = threads / 2, axis = (int)threadIdx.x / half, self = (int)threadIdx.x % half;
    const mot_view dst = image_of(job.dst, job.channels, image), src = image_of(job.src, job.channels, image);
    const int out[2] = { dst.width, dst.height };
    uint8_t *const tables = tables_of(job, image);
    const motley_filter filter = (motley_filter)place.filter;
    const mot_resize_plan plan = mot_resize_plan_of(&place, has_alpha(job));
    const bool nearest = filter == MOTLEY_FILTER_NEAREST && !plan.crop;
    const float from = axis ? place.box[1] : place.box[0], to = axis ? place.box[3] : place.box[2];
    axis_plan a;
    a.axis = mot_resize_axis_of(filter, axis ? place.height : place.width, from, to,
                                axis ? place.resized_height : place.resized_width);
    mot_resize_inside(&place, axis, axis ? src.height : src.width, &a.from, &a.until);
    a.window = axis ? place.window_top : place.window_left;
    a.out = axis ? out[1] : out[0];
    a.flip = axis ? place.flip_vertical : place.flip_horizontal;
    a.flipped_first = place.flipped_first >> axis & 1;
    a.single = plan.crop || !(axis ? plan.rows : plan.columns);
    a.shift = !plan.crop ? 0 : axis ? plan.top : plan.left;
    const axis_window own = window_of(a, self);
    int taps = self < a.out && !nearest ? taps_inside(a, own) : 1;
    MOT_ROLLED
    for (int i = self + half; i < a.out && !nearest; i += half)
        taps = max(taps, taps_inside(a, window_of(a, i)));
    for (int bits = 8; bits; bits /= 2) /* 16 threads share an axis; the atomics of all threads would be serialised */
        taps = max(taps, __shfl_xor_sync(~0u, taps, bits));
    if (self % 16 == 0)
        atomicMax(&most[axis], (uint32_t)taps);
    __syncthreads();
    const int32_t groups[2] = { (int32_t)(most[0] + 3) / 4, (int32_t)(most[1] + 3) / 4 };
    a.clamps =
        filter == MOTLEY_FILTER_BICUBIC || filter == MOTLEY_FILTER_LANCZOS || max(groups[0], groups[1]) > MOST_UNSIGNED;
    if ((int)threadIdx.x == half - 1) /* it often has no column to make */
        job.axes[image] = axes_of(place, plan, src, out, groups, a.clamps);
    const bool usual = filter == MOTLEY_FILTER_BILINEAR || filter == MOTLEY_FILTER_BICUBIC;
    const axis_table table = table_of(tables, groups[1], out, axis);
    const int own_groups = axis ? groups[1] : groups[0];
    if (!usual)
        fill_other(a, table, own_groups, self, half, nearest, from, to);
    axis_window window = own;
    MOT_ROLLED
    for (int i = self; i < a.out && usual; i += half) {
        if (i > self)
            window = window_of(a, i);
        fill_taps<true>(a, table, own_groups, i, window);
    }
    if ((int)threadIdx.x / 32 == threads / 32 - 1) /* it often has no row to make */
        count_image(
            job, image,
            cost_of(min(place.width, src.width), min(place.height, src.height), plan.rows_first, groups, out[1]));
}

#endif
