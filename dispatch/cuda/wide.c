/* SPDX-License-Identifier: Apache-2.0 */
/* See wide.h. */
#include "dispatch/cuda/wide.h"
#include "dispatch/cuda/parts.h"
#include "dispatch/cuda/parts_draw.h"
#include "dispatch/request.h"

#include <string.h>

/* ---- what images can need ---- */

/* The most items of an image, and the most passes that its steps begin. */
typedef struct needs {
    int64_t items, passes;
    int counts, looks; /* takes statistics, looks at other pixels */
} needs;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static unsigned bit_of(int shape)
{
    return 1u << shape;
}

/* Of steps like these. `interpolates`: their warps may. */
static needs needs_of(const mot_step_facts *facts, int interpolates)
{
    const unsigned looks = bit_of(MOTLEY_SHAPE_STENCIL) | bit_of(MOTLEY_SHAPE_FILTER) | bit_of(MOTLEY_SHAPE_BLUR) |
                           (interpolates ? bit_of(MOTLEY_SHAPE_WARP) : 0);
    const int64_t each = facts->shapes & bit_of(MOTLEY_SHAPE_BLUR) ? MOT_WIDE_BOX_PASSES : 1;
    needs n = { facts->steps * each, 0, (facts->shapes & bit_of(MOTLEY_SHAPE_STATS)) != 0,
                facts->shapes & looks || facts->taps > 0 };
    n.passes = n.looks ? n.items : n.counts ? facts->statistics : 0;
    return n;
}

static needs needs_of_policy(const motley_policy *policy)
{
    int interpolates = 0;
    for (uint32_t i = 0; i < policy->tables.interpolations; i++)
        interpolates |= policy->tables.interpolation[i] != MOTLEY_NEAREST;
    return needs_of(&policy->facts, interpolates);
}

static needs needs_of_transform(const mot_transform *t)
{
    needs all = { 0, 0, 0, 0 };
    for (uint32_t s = 0; s < t->stages; s++) {
        const mot_stage *const stage = &t->stage[s];
        const needs own = stage->policy ? needs_of_policy(stage->policy) : needs_of(&t->fact[s].steps, 0);
        all.items += own.items;
        all.passes += own.passes;
        all.counts |= own.counts;
        all.looks |= own.looks;
    }
    return all;
}

/* Of given steps, the most of any image. */
static needs needs_of_given(const mot_step *steps, size_t images, size_t each, const int32_t *counts)
{
    needs most = { 0, 0, 0, 0 };
    for (size_t i = 0; i < images; i++) {
        needs own = { 0, 0, 0, 0 };
        for (size_t k = 0; k < (counts ? (size_t)counts[i] : each); k++) {
            const mot_step *const step = &steps[i * each + k];
            mot_step_facts facts = { .steps = 1, .statistics = 1, .taps = step->op == MOTLEY_STEP_KERNEL_BLUR };
            if ((step->arg.flags & MOT_ARG_IDENTITY) && !mot_wide_counts(step->op))
                continue;
            if (step->op >= 0)
                facts.shapes = bit_of(mot_shape_of(step->op));
            const needs more = needs_of(&facts, step->interpolation != MOTLEY_NEAREST);
            own.items += more.items;
            own.passes += 2 * more.passes; /* another one may begin behind it */
            most.counts |= more.counts;
            most.looks |= more.looks;
        }
        own.passes = own.passes < own.items ? own.passes + (own.passes > 0) : own.items;
        most.items = larger(most.items, own.items);
        most.passes = larger(most.passes, own.passes);
    }
    return most;
}

/* What the results of image i are, and the most taps of its axes. */
static void add_place(mot_wide_call *call, const mot_sizes *most, unsigned filters, const mot_view *dst)
{
    int taps[2] = { 1, 1 };
    for (int filter = 0; filter < MOT_FILTERS; filter++)
        for (int k = 0; k < 2 && filters >> filter & 1; k++) {
            const int from = k ? most->crop_height : most->crop_width,
                      to = k ? most->resized_height : most->resized_width;
            const mot_resize_axis axis = mot_resize_axis_of((motley_filter)filter, from, 0, (float)from, to);
            taps[k] = (int)larger(taps[k], mot_resize_taps(&axis));
        }
    call->may[MOT_WIDE_RESIZE] |= (filters & ~bit_of(MOTLEY_FILTER_NEAREST)) != 0;
    if (filters)
        call->table_bytes = larger(call->table_bytes, mot_wide_table_bytes(dst->width, taps[0], dst->height, taps[1]));
    call->spare_floats = larger(call->spare_floats, (int64_t)dst->width * dst->height * call->channels);
    if (call->by_pixel[0] || call->by_pixel[1])
        call->shared_blocks = larger(call->shared_blocks, mot_wide_blocks(1, dst->width, dst->height, 0));
    for (int quads = 0; quads < 2; quads++)
        call->blocks =
            larger(call->blocks, mot_wide_blocks(mot_wide_pixels(call->channels, filters ? MOT_WIDE_RESIZES : 0),
                                                 dst->width, dst->height, quads));
}

static mot_cuda_wide begin(const mot_cuda_state *s, const motley_batch *src, const motley_batch *dst,
                           const mot_wide_job *bands)
{
    mot_cuda_wide w = { .src = src, .dst = dst, .bands = bands };
    w.call.count = (int32_t)src->count;
    w.call.channels = src->channels;
    w.call.src_dtype = (int32_t)src->dtype;
    w.call.dst_dtype = (int32_t)dst->dtype;
    for (size_t i = 0; i < (src->images || dst->images ? src->count : 1); i++) /* each image by itself is or is not */
        w.call.in_place |= mot_batch_view(src, i).data == mot_batch_view(dst, i).data;
    for (int k = 0; k < 2; k++) {
        const motley_batch *const batch = k ? dst : src;
        w.call.by_pixel[k] = src->channels >= MOT_WIDE_MANY &&
                             mot_batch_view(batch, 0).pixel > (int64_t)mot_dtype_bytes((int)batch->dtype);
    }
    w.call.multiprocessors = s->chip.multiprocessors;
    w.sent_bytes = (size_t)src->channels * (sizeof *bands->range + 3 * sizeof(float));
    return w;
}

/* Completes it, once the sizes are known. `placed`: before the steps, in a pass of their own if they begin one. */
static void end(mot_cuda_wide *w, const needs *steps, int placed)
{
    w->call.may[MOT_WIDE_COUNT] = steps->counts;
    w->call.may[MOT_WIDE_LOOK] = steps->looks;
    w->call.most_items = (int32_t)(steps->items + placed + 1);
    w->call.passes =
        (int32_t)((placed ? 1 + larger(steps->passes, steps->items > 0) : larger(steps->passes, 1)) + w->call.in_place);
    if (steps->looks) /* which bands side by side do not begin or end */
        w->call.passes += w->call.by_pixel[0] + w->call.by_pixel[1];
    mot_wide_cut(&w->call);
}

mot_cuda_wide mot_cuda_wide_choose(const mot_cuda_state *s, const mot_job *job, const motley_batch *dst)
{
    const mot_request *const r = job->request;
    mot_cuda_wide w = begin(s, job->src, dst, job->wide);
    const needs steps = job->steps && job->max_steps > 0
                            ? needs_of_given(job->steps, job->count, job->max_steps, r ? r->draws.counts : NULL)
                        : r && !r->draws.steps ? needs_of_transform(r->transform)
                        : job->policy          ? needs_of_policy(job->policy)
                                               : (needs){ 0, 0, 0, 0 };
    for (size_t i = 0; i < job->count; i++) {
        const mot_view v = mot_batch_view(dst, i), from = mot_batch_view(job->src, i);
        const mot_sizes same = { from.width, from.height, v.width, v.height, v.width, v.height };
        const unsigned filters = !r ? 0 : r->params->given ? ~0u : r->transform->facts.filters;
        for (uint32_t way = 0; way < (r ? mot_request_ways(r) : 1); way++) {
            const mot_sizes sides = r ? mot_request_sides(r, i, way) : same;
            add_place(&w.call, &sides, filters, &v);
        }
        if (!(job->src->images || dst->images || (r && r->draws.places)))
            break;
    }
    end(&w, &steps, r != NULL);
    return w;
}

mot_cuda_wide mot_cuda_wide_resize_choose(const mot_cuda_state *s, const motley_batch *src, const motley_batch *dst,
                                          const mot_wide_job *bands, const mot_resize *places)
{
    mot_cuda_wide w = begin(s, src, dst, bands);
    for (size_t i = 0; i < src->count; i++) {
        const mot_view v = mot_batch_view(dst, i);
        const mot_sizes sides = { places[i].width,          places[i].height, places[i].resized_width,
                                  places[i].resized_height, v.width,          v.height };
        add_place(&w.call, &sides, bit_of(places[i].filter), &v);
    }
    end(&w, &(needs){ 0, 0, 0, 0 }, 1);
    return w;
}

/* ---- memory ---- */

void mot_cuda_wide_lay_out(mot_cuda_wide *w, mot_arena *slot, mot_arena *scratch)
{
    mot_wide_call *const call = &w->call;
    const size_t n = (size_t)call->count, bands = n * (size_t)call->channels;
    const size_t launches = MOT_WIDE_LAUNCHES * (size_t)call->passes;
    w->sent = mot_take(slot, MOT_SENT, w->sent_bytes);
    w->images[0] = mot_take_if(w->src->images != NULL, slot, MOT_SENT, n * sizeof *w->images[0]);
    w->images[1] = mot_take_if(w->dst->images != NULL, slot, MOT_SENT, n * sizeof *w->images[1]);
    call->items = mot_take(slot, MOT_PROGRAMS, n * (size_t)call->most_items * sizeof *call->items);
    call->pass = mot_take(slot, MOT_PROGRAMS, n * (size_t)call->passes * sizeof *call->pass);
    call->tasks = mot_take(slot, MOT_PROGRAMS, launches * 2 * sizeof *call->tasks);
    call->list = mot_take(slot, MOT_PROGRAMS, launches * n * (size_t)call->most_tasks * sizeof *call->list);
    call->tables = mot_take_if(call->table_bytes > 0, slot, MOT_PROGRAMS, n * (size_t)call->table_bytes);
    call->totals = mot_take_if(call->may[MOT_WIDE_COUNT], slot, MOT_PROGRAMS, bands * sizeof *call->totals);
    call->stats = mot_take_if(call->may[MOT_WIDE_COUNT], slot, MOT_PROGRAMS, bands * sizeof *call->stats);
    call->tickets = mot_take_if(call->may[MOT_WIDE_COUNT], slot, MOT_PROGRAMS, n * sizeof *call->tickets);
    for (int k = 0; k < 2; k++)
        call->spare[k] =
            mot_take_if(call->passes > k + 1, scratch, MOT_IMAGES, n * (size_t)call->spare_floats * sizeof(float));
}

/* ---- the kernels ---- */

motley_status mot_cuda_wide_send(mot_cuda_call *call, mot_cuda_wide *w, motley_error *error)
{
    mot_wide_call *const to = &w->call;
    const size_t channels = (size_t)to->channels;
    MOT_TRY(mot_call_send(call, MOT_SENT, w->sent, w->bands->range, w->sent_bytes, "sending the ranges", error));
    to->range = (const mot_range *)(void *)w->sent;
    to->fill = w->bands->fill ? (const float *)(const void *)(to->range + channels) : NULL;
    to->std = (const float *)(const void *)(to->range + channels) + 2 * channels;
    MOT_TRY(mot_cuda_send_batch(call, w->src, w->images[0], &to->src, error));
    to->dst = to->src;
    return w->dst == w->src ? MOTLEY_OK : mot_cuda_send_batch(call, w->dst, w->images[1], &to->dst, error);
}

static motley_status queue_pass(mot_cuda_call *call, const mot_wide_call *pass, motley_error *error)
{
    MOT_TRY(mot_call_next(
        call, &(mot_node){ .reads = MOT_SENT | MOT_PROGRAMS | MOT_IMAGES, .writes = MOT_PROGRAMS | MOT_IMAGES },
        error));
    return mot_cuda_try(mot_wide_run_launch(pass, call->lane), "launching the kernel of a pass", error);
}

motley_status mot_cuda_wide_queue(mot_cuda_call *call, mot_cuda_wide *w, int normalises, motley_error *error)
{
    mot_wide_call *const to = &w->call;
    to->mean = normalises && w->bands->mean ? to->std - to->channels : NULL;
    MOT_TRY(mot_call_next(call, &(mot_node){ .writes = MOT_PROGRAMS }, error));
    CUDA_TRY(mot_cuda_fill((int32_t *)to->tasks, 0, 2 * MOT_WIDE_LAUNCHES * (size_t)to->passes, call->lane),
             "clearing the numbers of tasks");
    MOT_TRY(mot_call_next(
        call, &(mot_node){ .reads = MOT_SENT | MOT_STEPS | MOT_PLACES | MOT_PROGRAMS, .writes = MOT_PROGRAMS }, error));
    CUDA_TRY(mot_wide_plan_launch(to, call->lane), "launching the kernel of plans");
    for (to->now = 0; to->now < to->passes; to->now++) {
        if (to->may[MOT_WIDE_COUNT]) {
            MOT_TRY(mot_call_next(
                call, &(mot_node){ .reads = MOT_SENT | MOT_PROGRAMS | MOT_IMAGES, .writes = MOT_PROGRAMS }, error));
            CUDA_TRY(mot_wide_count_launch(to, call->lane), "launching the kernel of statistics");
        }
        MOT_TRY(queue_pass(call, to, error));
    }
    return MOTLEY_OK;
}

/* ---- steps alone ---- */

/* A call of steps, and its memory. */
typedef struct steps_run {
    mot_cuda_wide wide;
    mot_cuda_steps steps;
    motley_image *output_images; /* of an output beside dst */
} steps_run;

static steps_run choose_steps(const mot_cuda_state *s, const mot_job *job)
{
    return (steps_run){ .wide = mot_cuda_wide_choose(s, job, job->dst ? job->dst : job->output) };
}

static void lay_out_steps(steps_run *r, const mot_job *job, mot_arena *slot, mot_arena *scratch)
{
    const size_t n = job->count;
    mot_cuda_plan *const plan = &r->steps.plan;
    plan->steps = mot_take(slot, MOT_STEPS, n * job->max_steps * sizeof *plan->steps);
    plan->step_count = mot_take(slot, MOT_STEPS, n * sizeof *plan->step_count);
    r->steps.ids = mot_take_if(job->samples.ids != NULL, slot, MOT_SENT, n * sizeof *r->steps.ids);
    r->steps.views = mot_take_if(job->samples.views != NULL, slot, MOT_SENT, n * sizeof *r->steps.views);
    const int beside = job->dst && job->output && job->output->images;
    r->output_images = mot_take_if(beside, slot, MOT_SENT, n * sizeof *r->output_images);
    mot_cuda_wide_lay_out(&r->wide, slot, scratch);
}

void mot_cuda_wide_count(mot_cuda_state *s, const mot_job *job, mot_arena *slot, mot_arena *scratch)
{
    steps_run r = choose_steps(s, job);
    *slot = mot_slot_begin(&s->chip, NULL);
    lay_out_steps(&r, job, slot, scratch);
}

/* Draws the steps, or sends those that are given. */
static motley_status make_steps(mot_cuda_call *call, const mot_job *job, const steps_run *r, motley_error *error)
{
    const int32_t most = (int32_t)job->max_steps;
    mot_cuda_draw draw = { .count = (int32_t)job->count,
                           .channels = job->src->channels,
                           .max_steps = most,
                           .src = r->wide.call.src,
                           .plan = r->steps.plan };
    if (job->policy) {
        MOT_TRY(mot_cuda_describe_draws(call, job, &r->steps, &draw, error));
        return mot_cuda_queue_chains(call, &draw, NULL, most, error);
    }
    MOT_TRY(mot_call_send(call, MOT_STEPS, draw.plan.steps, job->steps, job->count * job->max_steps * sizeof(mot_step),
                          "sending the values", error));
    return mot_cuda_send_counts(call, &draw.plan, job, error);
}

motley_status mot_cuda_wide_apply(mot_cuda_call *call, const mot_job *job, motley_error *error)
{
    mot_cuda_state *const s = call->s;
    steps_run r = choose_steps(s, job);
    mot_arena slot = mot_slot_begin(&s->chip, NULL), scratch = { 0 };
    lay_out_steps(&r, job, &slot, &scratch);
    if (job->policy)
        MOT_TRY(mot_pool_policy(call, job->policy, &r.steps.tables, error));
    const int alone = job->policy && !job->counter && !job->samples.levels;
    MOT_TRY(mot_call_take(call, slot.bytes, scratch.bytes, alone, error));
    lay_out_steps(&r, job, &call->memory, &call->scratch);
    MOT_TRY(mot_cuda_wide_send(call, &r.wide, error));
    MOT_TRY(make_steps(call, job, &r, error));
    r.wide.call.steps = r.steps.plan.steps;
    r.wide.call.step_count = r.steps.plan.step_count;
    r.wide.call.max_steps = (int32_t)job->max_steps;
    r.wide.call.given = !job->policy;
    r.wide.call.beside = job->dst && job->output;
    if (r.wide.call.beside) {
        r.wide.call.output_dtype = (int32_t)job->output->dtype;
        MOT_TRY(mot_cuda_send_batch(call, job->output, r.output_images, &r.wide.call.output, error));
    }
    MOT_TRY(mot_cuda_wide_queue(call, &r.wide, job->output != NULL, error));
    if (job->followed)
        MOT_TRY(mot_cuda_follow_plan(call, job, &r.steps.plan, r.wide.images[0], MOT_FOLLOW_WAITS_FIRST, error));
    s->last_run = (mot_cuda_last){ .route = MOT_ROUTE_WIDE,
                                   .reason = "components of 16 or 32 bits",
                                   .output = job->output != NULL };
    s->last = (mot_cuda_report){ .count = job->count,
                                 .max_steps = job->max_steps,
                                 .steps = r.steps.plan.steps,
                                 .step_count = r.steps.plan.step_count,
                                 .images = job->src->images ? r.wide.images[0] : NULL };
    return MOTLEY_OK;
}

/* ---- motley_resize ---- */

/* What is assembled on the host. */
typedef struct resize_host {
    mot_range *range;
    mot_resize *places;
} resize_host;

static resize_host lay_out_host(const motley_batch *src, mot_arena *arena)
{
    const size_t channels = (size_t)src->channels;
    resize_host h = { .range = mot_take(arena, 0, channels * (sizeof *h.range + 3 * sizeof(float))) };
    h.places = mot_take(arena, 0, src->count * sizeof *h.places);
    return h;
}

static mot_resize *lay_out_resize(mot_cuda_wide *w, mot_arena *slot, mot_arena *scratch)
{
    mot_resize *const places = mot_take(slot, MOT_PLACES, w->src->count * sizeof *places);
    mot_cuda_wide_lay_out(w, slot, scratch);
    return places;
}

motley_status mot_cuda_wide_resize(mot_cuda_call *call, const motley_batch *src, const motley_batch *dst,
                                   const motley_resize_params *params, motley_error *error)
{
    mot_pool *const pool = &call->s->pool;
    mot_arena counted = { 0 }, slot = mot_slot_begin(&call->s->chip, NULL), scratch = { 0 };
    lay_out_host(src, &counted);
    MOT_TRY(mot_pool_reserve_host(pool, counted.bytes, error));
    memset(pool->host.memory, 0, counted.bytes);
    const resize_host host = lay_out_host(src, &(mot_arena){ .base = pool->host.memory, .host = 1 });
    for (int32_t c = 0; c < src->channels; c++)
        host.range[c] = mot_range_of(0, MOT_WIDE_FULL, src->dtype == MOTLEY_U16, 1);
    for (size_t i = 0; i < src->count; i++) {
        const mot_view from = mot_batch_view(src, i), to = mot_batch_view(dst, i);
        host.places[i] = mot_resize_as(params, &from, &to, i);
    }
    const mot_wide_job bands = { .range = host.range };
    mot_cuda_wide w = mot_cuda_wide_resize_choose(call->s, src, dst, &bands, host.places);
    lay_out_resize(&w, &slot, &scratch);
    MOT_TRY(mot_call_take(call, slot.bytes, scratch.bytes, 0, error));
    mot_resize *const places = lay_out_resize(&w, &call->memory, &call->scratch);
    MOT_TRY(
        mot_call_send(call, MOT_PLACES, places, host.places, src->count * sizeof *places, "sending the places", error));
    MOT_TRY(mot_cuda_wide_send(call, &w, error));
    w.call.resizes = places;
    return mot_cuda_wide_queue(call, &w, 0, error);
}
