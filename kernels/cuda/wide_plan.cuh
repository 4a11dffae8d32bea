/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an image's items and passes of its place and its steps, and the tables of its resize: a CTA for each image. */
#ifndef MOT_WIDE_PLAN_CUH
#define MOT_WIDE_PLAN_CUH

#include "kernels/cuda/pixels.cuh"
#include "kernels/cuda/wide.h"

#define MOT_WIDE_PLAN_THREADS 256

/* What one thread has planned so far. */
struct wide_plan {
    mot_wide_item *items;
    mot_wide_pass *passes;
    int count, turns;        /* items and passes */
    int width, height;       /* of the image after them */
    mot_resize how;          /* of a resize, ... */
    mot_resize_axis axis[2]; /* ... its columns and rows, ... */
    int resampled[2];        /* ... and which of them have more than one tap */
    mot_wide_scale *scale;   /* NULL: there is none */
    int by_pixel[2];         /* of the call */
};

DEVICE void wide_begin_pass(wide_plan &p)
{
    p.passes[p.turns++] = mot_wide_pass{ p.count, p.count, -1, 0, 0, 0, 0, p.width, p.height, p.width, p.height };
}

/* Adds an item, in a pass of its own if it has to begin one. */
OUTLINE mot_wide_item &wide_add(wide_plan &p, int kind, const mot_step &step)
{
    const mot_wide_pass &last = p.passes[p.turns - 1];
    const bool looks = kind >= MOT_WIDE_SOURCES, apart = p.by_pixel[0] && kind != MOT_WIDE_RESIZES && p.turns == 1;
    if ((looks && (apart || last.end > last.first)) || (kind == MOT_WIDE_COUNTS && last.counted >= 0) || last.looks)
        wide_begin_pass(p);
    mot_wide_pass &pass = p.passes[p.turns - 1];
    if (kind == MOT_WIDE_COUNTS)
        pass.counted = p.count;
    pass.moves |= kind == MOT_WIDE_MOVES;
    pass.looks = looks ? kind : 0;
    mot_wide_item &item = p.items[p.count++];
    pass.end = p.count;
    item.kind = kind;
    item.down = item.ends = 0;
    item.step = step;
    return item;
}

/* The image has another size from here on. */
DEVICE void wide_becomes(wide_plan &p, int width, int height)
{
    mot_wide_pass &pass = p.passes[p.turns - 1];
    pass.width = p.width = width;
    pass.height = p.height = height;
}

/* Columns and rows by themselves, of an image of any size: a crop or the nearest pixels, a window, mirrors. */
DEVICE void wide_add_axes(wide_plan &p, const mot_resize &how, const mot_step &fill, int width, int height)
{
    mot_wide_item &item = wide_add(p, MOT_WIDE_MOVES, fill);
    mot_trace_step &trace = item.trace;
    const mot_resize_plan plan = mot_resize_plan_of(&how, 0);
    uint32_t fixed[6] = {};
    bool whole = plan.crop; /* whole pixels, and no limit beside the image's own */
    trace.kind = MOT_TRACE_AXES;
    trace.part = mot_rect{ 0, 0, width, height };
    trace.width = p.width;
    trace.height = p.height;
    for (int k = 0; k < 2; k++) {
        const int length = k ? how.height : how.width, out = k ? how.resized_height : how.resized_width;
        double first = 0.5, step = 1;
        int size = out, offset = k ? how.top + plan.top : how.left + plan.left;
        if (!plan.crop) {
            step = (double)(how.box[k + 2] - how.box[k]) / out;
            first = how.box[k] + step * 0.5;
            size = length;
            offset = k ? how.top : how.left;
        }
        mot_trace_axis &axis = trace.axis[k];
        axis = mot_trace_axis_of(first, step, out, size);
        axis.mirrored = k ? how.flip_vertical : how.flip_horizontal;
        axis.last = (k ? height : width) - 1;
        axis.shift = k ? how.window_top : how.window_left;
        axis.offset = offset;
        axis.source = k ? p.height : p.width;
        const bool within = axis.shift >= 0 && axis.shift + axis.last < out;
        whole &= step == 1 && (within || (offset == 0 && out == axis.source)) && axis.source <= 16384 &&
                 axis.last < 16384 && abs(axis.shift) <= 8192 && abs(offset) <= 8192;
        fixed[k ? 4 : 0] = axis.mirrored ? 0u - 65536u : 65536u;
        fixed[k ? 5 : 2] = (uint32_t)(axis.shift + offset + (axis.mirrored ? axis.last : 0)) << 16;
    }
    if (whole)
        trace.kind = MOT_TRACE_FIXED;
    for (int k = 0; k < 6 && whole; k++)
        trace.fixed[k] = fixed[k];
    wide_becomes(p, width, height);
}

DEVICE void wide_add_place(wide_plan &p, const mot_resize &how, const mot_step &fill, int width, int height)
{
    const mot_resize_plan plan = mot_resize_plan_of(&how, 0);
    if (plan.crop || how.filter == MOTLEY_FILTER_NEAREST) {
        const bool stays = plan.crop && p.width == width && p.height == height && how.resized_width == width &&
                           how.resized_height == height && how.left + plan.left == 0 && how.top + plan.top == 0 &&
                           how.window_left == 0 && how.window_top == 0 && !how.flip_horizontal && !how.flip_vertical;
        if (!stays)
            wide_add_axes(p, how, fill, width, height);
        return;
    }
    mot_wide_item &item = wide_add(p, MOT_WIDE_RESIZES, fill);
    item.down = plan.columns && plan.rows ? plan.rows_first : plan.columns; /* first the one that has nothing to do */
    item.scale.left = how.left;
    item.scale.top = how.top;
    item.scale.inside =
        how.left >= 0 && how.top >= 0 && how.left + how.width <= p.width && how.top + how.height <= p.height;
    p.how = how;
    for (int k = 0; k < 2; k++)
        p.axis[k] = mot_resize_axis_of((motley_filter)how.filter, k ? how.height : how.width, how.box[k],
                                       how.box[k + 2], k ? how.resized_height : how.resized_width);
    p.resampled[0] = plan.columns;
    p.resampled[1] = plan.rows;
    p.scale = &item.scale;
    wide_becomes(p, width, height);
}

DEVICE void wide_add_warp(wide_plan &p, const mot_step &step)
{
    mot_warp_plan plan;
    mot_warp_make_plan(step.op, p.width, p.height, &step.arg, step.interpolation, &plan);
    if (plan.path == MOT_WARP_BILINEAR || plan.path == MOT_WARP_BICUBIC) {
        wide_add(p, MOT_WIDE_BETWEEN, step).plan = plan;
        return;
    }
    mot_wide_item &item = wide_add(p, MOT_WIDE_MOVES, step);
    mot_trace_op(&item.trace, step.op, &step.arg, mot_rect{ 0, 0, p.width, p.height });
    mot_trace_as_fixed(&item.trace);
}

DEVICE void wide_add_kernel(wide_plan &p, const mot_step &step, bool given)
{
    mot_wide_item &item = wide_add(p, MOT_WIDE_KERNELS, step);
    float half[MOTLEY_KERNEL_WEIGHTS] = {};
    if (given)
        return;
    mot_kernel_blur_weights(step.value, (int)step.arg.size, half);
    memcpy(item.step.arg.u, half, sizeof half);
}

DEVICE void wide_add_step(wide_plan &p, const mot_wide_call &call, const mot_step &step)
{
    const bool idle = step.arg.flags & MOT_ARG_IDENTITY;
    if (step.op == MOTLEY_STEP_KERNEL_BLUR && !idle)
        wide_add_kernel(p, step, call.given);
    if (step.op < 0 || step.op == MOT_OP_NOTHING || (idle && !mot_wide_counts(step.op)))
        return;
    switch (mot_shape_of(step.op)) {
    case MOTLEY_SHAPE_WARP:
        wide_add_warp(p, step);
        break;
    case MOTLEY_SHAPE_ERASE:
        mot_trace_op(&wide_add(p, MOT_WIDE_MOVES, step).trace, step.op, &step.arg, mot_rect{ 0, 0, p.width, p.height });
        break;
    case MOTLEY_SHAPE_STENCIL:
    case MOTLEY_SHAPE_FILTER:
        mot_wide_taps(step.op, &call.range[0], &wide_add(p, MOT_WIDE_SUMS, step).taps);
        break;
    case MOTLEY_SHAPE_BLUR:
        for (int k = 0; k < MOT_WIDE_BOX_PASSES; k++) {
            mot_wide_item &item = wide_add(p, MOT_WIDE_BOXES, step);
            item.down = k >= MOT_WIDE_BOX_PASSES / 2;
            item.ends = k == MOT_WIDE_BOX_PASSES - 1;
        }
        break;
    case MOTLEY_SHAPE_COLOR:
        if (call.channels == 3)
            wide_add(p, MOT_WIDE_COLORS, step);
        break;
    case MOTLEY_SHAPE_STATS:
        wide_add(p, MOT_WIDE_COUNTS, step);
        break;
    default:
        wide_add(p, MOT_WIDE_POINTS, step);
    }
}

/* Whether a pass ends inside of a blur. */
DEVICE int wide_is_inside(const wide_plan &p, int turn)
{
    return p.passes[turn].looks == MOT_WIDE_BOXES && !p.items[p.passes[turn].first].ends;
}

/* Chooses where passes read and write, and puts them behind the ones that the image does not have. */
DEVICE void wide_end_plan(wide_plan &p, const mot_wide_call &call)
{
    bool apart = p.turns == 1 && call.in_place, moves = false;
    for (int k = 0; k < p.count && apart; k++)
        moves |= p.items[k].kind >= MOT_WIDE_SOURCES ||
                 (p.items[k].kind == MOT_WIDE_MOVES && p.items[k].trace.kind != MOT_TRACE_ERASES);
    const int looks = p.passes[p.turns - 1].looks;
    if (moves || (looks && looks != MOT_WIDE_RESIZES && p.by_pixel[1])) /* it would overwrite what others still read */
        wide_begin_pass(p);
    const int before = call.passes - p.turns;
    for (int k = call.passes - 1; k >= 0; k--) {
        if (k < before) {
            p.passes[k].first = -1;
            continue;
        }
        const int turn = k - before;
        const int inside = turn > 0 && wide_is_inside(p, turn - 1);
        p.passes[k] = p.passes[turn];
        p.passes[k].floats[0] = inside;
        p.passes[k].floats[1] = wide_is_inside(p, k);
        p.passes[k].from = turn == 0 ? (int)MOT_WIDE_SRC : (turn - 1) & 1;
        p.passes[k].to = turn == p.turns - 1 ? (int)MOT_WIDE_DST : turn & 1;
    }
}

/* Adds an image's tasks to the lists. */
DEVICE void wide_list(const mot_wide_call &call, int i)
{
    mot_wide_pass *const passes = call.pass + (int64_t)i * call.passes;
    const int groups = (call.channels + call.together - 1) / call.together;
    for (int k = threadIdx.x; k < MOT_WIDE_LAUNCHES * call.passes; k += MOT_WIDE_PLAN_THREADS) {
        mot_wide_pass &pass = passes[k / MOT_WIDE_LAUNCHES];
        const int launch = k % MOT_WIDE_LAUNCHES;
        const bool has =
            pass.first >= 0 && (launch == MOT_WIDE_COUNT ? pass.counted >= 0 : launch == mot_wide_launch_of(&pass));
        const bool by_band = launch == MOT_WIDE_RUN && mot_wide_by_band(&call, &pass);
        const int64_t blocks = mot_wide_blocks(by_band ? 1 : mot_wide_pixels(call.channels, pass.looks), pass.width,
                                               pass.height, !by_band && mot_wide_quads(&pass));
        const int64_t tasks =
            launch == MOT_WIDE_COUNT ? mot_wide_count_tasks(call.channels, blocks) : blocks * (by_band ? 1 : groups);
        pass.tasks[launch] = has ? (uint32_t)tasks : 0;
        pass.task[launch] = has ? atomicAdd(&call.tasks[2 * k], (uint32_t)tasks) : 0;
    }
    __syncthreads();
    for (int k = 0; k < MOT_WIDE_LAUNCHES * call.passes; k++) {
        const mot_wide_pass &pass = passes[k / MOT_WIDE_LAUNCHES];
        const int launch = k % MOT_WIDE_LAUNCHES;
        int32_t *const list = call.list + (int64_t)k * call.count * call.most_tasks + pass.task[launch];
        for (uint32_t t = threadIdx.x; t < pass.tasks[launch]; t += MOT_WIDE_PLAN_THREADS)
            list[t] = i;
    }
}

/* The tables of one axis of a resize. */
DEVICE void wide_make_table(const wide_plan &p, int k)
{
    const mot_wide_axis &table = p.scale->axis[k];
    const mot_resize_axis &axis = p.axis[k];
    const int mirrored = k ? p.how.flip_vertical : p.how.flip_horizontal;
    for (int64_t i = threadIdx.x; i < table.out; i += MOT_WIDE_PLAN_THREADS) {
        const int64_t at = (mirrored ? table.out - 1 - i : i) + (k ? p.how.window_top : p.how.window_left);
        int first = (int)at, count = at >= 0 && at < axis.out ? 1 : -1;
        double centre, sum = 0;
        if (count < 0 || !p.resampled[k]) {
            table.weight[i] = 1;
        } else {
            count = mot_resize_window(&axis, (int)at, &first, &centre);
            for (int t = 0; t < count; t++) {
                const double tap = mot_resize_tap(&axis, centre, first, t);
                table.weight[t * table.out + i] = tap;
                sum += tap;
            }
            for (int t = 0; t < count && sum != 0; t++)
                table.weight[t * table.out + i] /= sum;
        }
        table.first[i] = first;
        table.count[i] = count;
    }
}

static __global__ void __launch_bounds__(MOT_WIDE_PLAN_THREADS)
    wide_plan_kernel(const __grid_constant__ mot_wide_call call)
{
    __shared__ wide_plan plan;
    const int i = blockIdx.x;
    if (threadIdx.x == 0) {
        const mot_view src = image_of(call.src, call.channels, i), dst = image_of(call.dst, call.channels, i);
        wide_plan p = { call.items + (int64_t)i * call.most_items,
                        call.pass + (int64_t)i * call.passes,
                        0,
                        0,
                        src.width,
                        src.height,
                        {},
                        {},
                        {},
                        nullptr,
                        { call.by_pixel[0], call.by_pixel[1] } };
        wide_begin_pass(p);
        mot_step fill;
        mot_clear_step(&fill);
        for (int c = 0; c < 4; c++)
            fill.fill[c] = call.place_fill[c];
        if (call.places || call.resizes)
            wide_add_place(p,
                           call.resizes
                               ? call.resizes[i]
                               : mot_resize_of_place(&call.places[i], (motley_resize_order)call.order, call.place_fill),
                           fill, dst.width, dst.height);
        uint8_t *at = call.tables + (int64_t)i * call.table_bytes;
        for (int k = 0; k < 2 && p.scale; k++) { /* weights of both, then windows of both */
            mot_wide_axis &table = p.scale->axis[k];
            table.out = k ? dst.height : dst.width;
            table.weight = (double *)at;
            at += table.out * 8 * (p.resampled[k] ? mot_resize_taps(&p.axis[k]) : 1);
        }
        for (int k = 0; k < 2 && p.scale; k++) {
            mot_wide_axis &table = p.scale->axis[k];
            table.first = (int32_t *)at;
            table.count = table.first + table.out;
            at += table.out * 8;
        }
        const int steps = call.step_count ? call.step_count[i] : call.max_steps;
        for (int s = 0; s < steps; s++)
            wide_add_step(p, call, call.steps[(int64_t)i * call.max_steps + s]);
        wide_end_plan(p, call);
        plan = p;
        if (call.tickets)
            call.tickets[i] = 0;
    }
    __syncthreads();
    const int64_t words = call.totals ? (int64_t)call.channels * (int64_t)(sizeof(mot_wide_total) / 4) : 0;
    for (int64_t k = threadIdx.x; k < words; k += MOT_WIDE_PLAN_THREADS)
        ((uint32_t *)(call.totals + (int64_t)i * call.channels))[k] = 0;
    for (int k = 0; k < 2 && plan.scale; k++)
        wide_make_table(plan, k);
    wide_list(call, i);
}

#endif
