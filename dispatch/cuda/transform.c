/* SPDX-License-Identifier: Apache-2.0 */
/* motley_transform_apply on the GPU. It queues, in this order: the draws and the tables of the axes; the resize of
 * every image, to bytes; the steps, the last of which writes the normalised output; the erased boxes. A transform
 * without steps is resized directly into its output. */
#include "base/values.h"
#include "dispatch/cuda/follow.h"
#include "dispatch/cuda/mix.h"
#include "dispatch/cuda/parts.h"
#include "dispatch/cuda/parts_draw.h"
#include "dispatch/cuda/transform_draw.h"
#include "dispatch/cuda/work.h"
#include "dispatch/follow.h"
#include "dispatch/transform_call.h"
#include "kernels/cuda/tuning.h"
#include "kernels/output.h"
#include "policies/transform_draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

static motley_status check(void *state, const mot_transform_call *call, motley_error *error)
{
    const motley_batch *const dst = call->dst;
    const size_t frames = call->params->clip_frames;
    for (size_t i = 0; frames > 1 && i < dst->count; i += frames) {
        const mot_view v = mot_batch_view(dst, i);
        MOT_REQUIRE(frames <= (size_t)(MOT_MAX_SIDE / v.height), error,
                    "a clip has %zu frames of %" PRId32 "x%" PRId32 ", want at most %d rows in all on CUDA", frames,
                    v.width, v.height, MOT_MAX_SIDE);
    }
    MOT_TRY(mot_cuda_check(state, "src", call->src, error));
    MOT_TRY(mot_cuda_check(state, "dst", dst, error));
    if (call->params->counter)
        MOT_TRY(mot_cuda_check_pointer(state, "counter", call->params->counter, error));
    return mot_cuda_check_followed(state, &call->followed, error);
}

/* ---- parts ---- */

static int turns_hue(const mot_stage *stage)
{
    return stage->kind == MOT_STAGE_JITTER && stage->given[MOT_HUE] &&
           (stage->range[MOT_HUE][0] != 0 || stage->range[MOT_HUE][1] != 0);
}

/* Adds the steps of image i, which the host has drawn. */
static void add_image(mot_cuda_parts *parts, const mot_transform_call *call, size_t i)
{
    const mot_step *const steps = call->steps + i * call->info->max_steps;
    int32_t ops[MOT_MAX_TRANSFORM_STEPS];
    int changing = 0;
    for (int s = 0; s < call->step_counts[i]; s++)
        if (!(steps[s].arg.flags & MOT_ARG_IDENTITY))
            ops[changing++] = steps[s].op;
    mot_cuda_parts_add_image(parts, ops, changing);
}

/* The parts and breaks that the call's steps may have. */
static mot_cuda_parts parts_of(const mot_transform_call *call)
{
    mot_cuda_parts parts = { .clip_frames = (int32_t)call->params->clip_frames };
    for (size_t i = 0; call->drawn && i < call->src->count; i++)
        add_image(&parts, call, i);
    for (uint32_t s = 0; s < call->transform->stages && !call->drawn; s++) {
        const mot_stage *const stage = &call->transform->stage[s];
        const int blurs = stage->kernel_size > 0, hue = turns_hue(stage);
        if (stage->policy) {
            mot_cuda_parts_add_policy(&parts, stage->policy);
            continue;
        }
        mot_cuda_parts_add(&parts, mot_stage_steps(stage), blurs ? MOT_BREAK_BLUR : hue ? MOT_BREAK_HUE : 0, !blurs);
        parts.breaks += blurs || hue;
    }
    return parts;
}

/* The stage of the policy that draws all steps, or NULL when several stages have steps. */
static const mot_stage *only_policy(const mot_transform_call *call)
{
    const mot_stage *only = NULL;
    int stages = 0;
    for (uint32_t s = 0; s < call->transform->stages; s++) {
        const mot_stage *const stage = &call->transform->stage[s];
        stages += stage->kind == MOT_STAGE_POLICY || stage->kind == MOT_STAGE_JITTER ||
                  stage->kind == MOT_STAGE_GRAYSCALE || stage->kind == MOT_STAGE_BLUR;
        only = stage->policy ? stage : only;
    }
    return stages == 1 && !call->drawn ? only : NULL;
}

/* Whether the steps are drawn by the kernel that sorts them, which the resize need not wait for. */
static int draws_late(const mot_transform_call *call, const mot_cuda_parts *parts)
{
    return only_policy(call) && !mot_cuda_has_parts(parts) && !mot_followed_any(&call->followed);
}

/* ---- tables ---- */

#define COUNTED_BYTES (MOT_RESIZE_COUNTERS * sizeof(uint32_t)) /* of each half: calls in turn draw side by side */

/* Where a transform's stages, what they point to, and counters lie in the piece that is uploaded; 0: absent. */
typedef struct stage_places {
    size_t stages, tables, counted, ratios[MOT_MAX_STAGES], normals[MOT_MAX_STAGES], compiled[MOT_MAX_STAGES], bytes;
} stage_places;

static stage_places lay_out_stages(const motley_transform *t)
{
    stage_places p = { 0 };
    p.stages = mot_cuda_take(&p.bytes, t->stages * sizeof(mot_stage));
    p.tables = mot_cuda_take(&p.bytes, t->stages * sizeof(mot_tables));
    p.counted = mot_cuda_take(&p.bytes, 2 * COUNTED_BYTES);
    for (uint32_t s = 0; s < t->stages; s++) {
        const mot_stage *const stage = &t->stage[s];
        if (stage->ratios)
            p.ratios[s] = mot_cuda_take(&p.bytes, MOT_RATIO_CELLS * sizeof(double));
        if (stage->normals)
            p.normals[s] = mot_cuda_take(&p.bytes, MOT_NORMAL_CELLS * sizeof(float));
        if (stage->policy)
            p.compiled[s] = mot_cuda_take(&p.bytes, stage->policy->compiled_bytes);
    }
    return p;
}

/* Assembles a stage on the host, with pointers into the device's memory. */
static void fill_stage(const mot_stage *stage, uint32_t s, const stage_places *p, uint8_t *host, uint8_t *device)
{
    mot_stage *const copy = (mot_stage *)(void *)(host + p->stages) + s;
    *copy = *stage;
    copy->name = NULL;
    copy->policy = NULL;
    copy->mix = NULL;
    if (stage->ratios) {
        copy->ratios = (double *)(void *)(device + p->ratios[s]);
        memcpy(host + p->ratios[s], stage->ratios, MOT_RATIO_CELLS * sizeof(double));
    }
    if (stage->normals) {
        copy->normals = (float *)(void *)(device + p->normals[s]);
        memcpy(host + p->normals[s], stage->normals, MOT_NORMAL_CELLS * sizeof(float));
    }
    if (stage->policy) {
        mot_tables *const tables = (mot_tables *)(void *)(host + p->tables) + s;
        *tables = mot_cuda_tables_at(stage->policy, device + p->compiled[s]);
        memcpy(host + p->compiled[s], stage->policy->compiled, stage->policy->compiled_bytes);
    }
}

/* Uploads a transform's stages, their tables and numbers as one piece, unless the context has them: `known`. */
static motley_status send_stages(const mot_cuda_work *work, const motley_transform *t, const stage_places *p,
                                 mot_cuda_sent **sent, int *known, motley_error *error)
{
    MOT_TRY(mot_cuda_keep_transform(work, t->fingerprint, p->bytes, sent, error));
    *known = (*sent)->fingerprint == t->fingerprint;
    if (*known)
        return MOTLEY_OK;
    uint8_t *const host = calloc(1, p->bytes), *const device = (*sent)->memory;
    if (!host)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a transform's tables of %zu bytes", p->bytes);
    for (uint32_t s = 0; s < t->stages; s++)
        fill_stage(&t->stage[s], s, p, host, device);
    /* from pageable memory: it is read before the call returns */
    const cudaError_t code = cudaMemcpyAsync(device, host, p->bytes, cudaMemcpyHostToDevice, work->stream);
    free(host);
    MOT_TRY(mot_cuda_try(code, "sending the transform", error));
    const mot_stage *const erase = mot_transform_stage(t, MOT_STAGE_ERASE);
    (*sent)->normals = erase && erase->normals ? mot_cuda_at(device, p->normals[erase - t->stage]) : NULL;
    (*sent)->fingerprint = t->fingerprint;
    return MOTLEY_OK;
}

/* ---- memory ---- */

/* Places in the context's memory. Those before `sent` are assembled on the host and uploaded; one that the call does
 * not need is MOT_ABSENT. */
typedef struct places {
    size_t offsets, src, dst, images, ids, views, given, given_steps, sent;
    size_t values, axes, cost, order, drawn, steps, pixels, tables, parts, mix, bytes;
    size_t half_bytes;   /* of those up to `tables`, which two calls in turn have in different places */
    size_t host_bytes;   /* behind what is sent */
    int64_t table_bytes; /* of one image when there are no offsets, else of all */
    int row_groups, width, height;
} places;

/* The filters that may be drawn, a bit for each. */
static unsigned filters_of(const motley_transform *transform)
{
    unsigned filters = 0;
    for (uint32_t s = 0; s < transform->stages; s++)
        for (int f = 0; f < transform->stage[s].filters; f++)
            filters |= 1u << transform->stage[s].filter[f];
    return filters;
}

static int64_t most_table_bytes(const mot_transform_call *call, size_t i, unsigned filters, places *p)
{
    const mot_view src = mot_batch_view(call->src, i), dst = mot_batch_view(call->dst, i);
    const unsigned possible = call->params->given ? 1u << call->params->given[i].filter : filters;
    int32_t width, height;
    mot_transform_sides(call, i, &width, &height);
    int columns = 1, rows = 1;
    for (int filter = 0; filter < MOT_FILTERS; filter++) {
        if (!(possible >> filter & 1))
            continue;
        const int across = mot_resize_most_groups((motley_filter)filter, src.width, width);
        const int down = mot_resize_most_groups((motley_filter)filter, src.height, height);
        columns = across > columns ? across : columns;
        rows = down > rows ? down : rows;
    }
    p->row_groups = rows > p->row_groups ? rows : p->row_groups;
    p->width = dst.width > p->width ? dst.width : p->width;
    p->height = dst.height > p->height ? dst.height : p->height;
    return mot_resize_table_bytes(dst.width, columns, dst.height, rows);
}

/* Bytes of a dense image of the results' size. */
static size_t image_bytes(const mot_transform_call *call, size_t i)
{
    const mot_view v = mot_batch_view(call->dst, i);
    return (size_t)v.width * (size_t)v.height * (size_t)v.channels;
}

/* How many images lie one after the other without gaps: a clip's. */
static size_t images_together(const mot_transform_call *call)
{
    return call->params->clip_frames > 1 ? call->params->clip_frames : 1;
}

static size_t drawn_bytes(const mot_transform_call *call)
{
    return call->src->count * sizeof(motley_transform_drawn);
}

static size_t steps_bytes(const mot_transform_call *call)
{
    return call->src->count * call->info->max_steps * sizeof(mot_step);
}

/* The places of what is uploaded. */
static places lay_out_sent(const mot_transform_call *call, int needs_pixels)
{
    const motley_transform_params *const params = call->params;
    const size_t n = call->src->count;
    const int mixed = call->src->images || call->dst->images || params->given;
    const int several = needs_pixels && call->dst->images;
    places p = { 0 };
    p.offsets = mot_cuda_take_if(mixed, &p.bytes, n * sizeof(int64_t));
    p.src = mot_cuda_take_if(call->src->images != NULL, &p.bytes, n * sizeof(motley_image));
    p.dst = mot_cuda_take_if(call->dst->images != NULL, &p.bytes, n * sizeof(motley_image));
    p.images = mot_cuda_take_if(several, &p.bytes, n * sizeof(motley_image));
    p.ids = mot_cuda_take_if(params->samples.ids && !call->drawn, &p.bytes, n * sizeof(uint64_t));
    p.views = mot_cuda_take_if(params->samples.views && !call->drawn, &p.bytes, n * sizeof(uint32_t));
    p.given = mot_cuda_take_if(call->drawn != NULL, &p.bytes, drawn_bytes(call));
    p.given_steps = mot_cuda_take_if(call->drawn != NULL, &p.bytes, steps_bytes(call));
    p.sent = p.bytes;
    return p;
}

/* Adds those that the kernels fill. `offset`: receives where each image's tables begin, or NULL. */
static places lay_out(places p, const mot_cuda_work *work, const mot_transform_call *call, const mot_cuda_parts *parts,
                      int needs_pixels, int64_t *offset)
{
    const size_t n = call->src->count, together = images_together(call);
    const int several = p.images != MOT_ABSENT;
    p.values = mot_cuda_take(&p.bytes, sizeof call->table); /* the draw kernel makes them */
    p.axes = mot_cuda_take(&p.bytes, n * sizeof(mot_cuda_axes));
    p.cost = mot_cuda_take(&p.bytes, n * sizeof(uint32_t));
    p.order = mot_cuda_take(&p.bytes, n * sizeof(uint32_t));
    p.drawn = call->drawn ? p.given : mot_cuda_take(&p.bytes, drawn_bytes(call));
    p.steps = call->drawn ? p.given_steps : mot_cuda_take_if(!draws_late(call, parts), &p.bytes, steps_bytes(call));
    const unsigned filters = filters_of(call->transform);
    for (size_t i = 0; i < (offset ? n : 1); i++) {
        if (offset)
            offset[i] = p.table_bytes;
        p.table_bytes += most_table_bytes(call, i, filters, &p);
    }
    p.tables = mot_cuda_take(&p.bytes, (size_t)p.table_bytes * (offset ? 1 : n));
    p.half_bytes = p.bytes;
    p.bytes *= 2;
    if (mot_cuda_has_parts(parts)) {
        const mot_job job = { .count = n, .channels = call->dst->channels, .src = call->dst };
        const mot_cuda_parts_bytes bytes = mot_cuda_parts_need(parts, &job, 1);
        p.parts = mot_cuda_take(&p.bytes, bytes.device);
        p.host_bytes = bytes.host;
    }
    if (call->info->mix) {
        size_t host_bytes;
        p.mix = mot_cuda_take(&p.bytes, mot_cuda_mix_bytes(work, call->dst, &host_bytes));
        p.host_bytes = host_bytes > p.host_bytes ? host_bytes : p.host_bytes;
    }
    p.pixels = p.bytes;
    for (size_t i = 0; i < n && several; i += together)
        mot_cuda_take(&p.bytes, together * image_bytes(call, i));
    if (needs_pixels && !several)
        mot_cuda_take(&p.bytes, n * image_bytes(call, 0));
    return p;
}

/* Describes where the resized images are in the context's memory. */
static void fill_images(const mot_transform_call *call, const places *p, uint8_t *memory, motley_image *images)
{
    const size_t together = images_together(call);
    size_t end = p->pixels, begin = end;
    for (size_t i = 0; i < call->dst->count; i++) {
        const mot_view v = mot_batch_view(call->dst, i);
        if (i % together == 0)
            begin = mot_cuda_take(&end, together * image_bytes(call, i));
        images[i] = (motley_image){ memory + begin + i % together * image_bytes(call, i),
                                    v.width,
                                    v.height,
                                    (int64_t)v.width * v.channels,
                                    v.channels,
                                    1 };
    }
}

/* Assembles the rest of the upload in the host's memory, which has the offsets. */
static void fill(const mot_transform_call *call, const places *p, uint8_t *host, uint8_t *memory)
{
    const motley_transform_params *const params = call->params;
    const size_t n = call->src->count;
    motley_image *const images = mot_cuda_at(host, p->images);
    if (call->src->images)
        memcpy(host + p->src, call->src->images, n * sizeof(motley_image));
    if (call->dst->images)
        memcpy(host + p->dst, call->dst->images, n * sizeof(motley_image));
    if (images)
        fill_images(call, p, memory, images);
    if (p->ids != MOT_ABSENT)
        memcpy(host + p->ids, params->samples.ids, n * sizeof(uint64_t));
    if (p->views != MOT_ABSENT)
        memcpy(host + p->views, params->samples.views, n * sizeof(uint32_t));
    if (call->drawn) {
        memcpy(host + p->given, call->drawn, n * sizeof *call->drawn);
        memcpy(host + p->given_steps, call->steps, n * call->info->max_steps * sizeof *call->steps);
    }
    for (size_t i = 0; !call->drawn && (params->drawn || params->steps) && i < n; i++) { /* for the caller */
        motley_transform_drawn drawn;
        mot_step steps[MOT_MAX_TRANSFORM_STEPS];
        mot_transform_draw_image(call, i, &drawn, steps);
    }
}

/* ---- the kernels ---- */

/* What components are normalised by; stage: NULL if there is no such stage. */
static void output_numbers(const mot_stage *stage, float mean[4], float std[4])
{
    for (int c = 0; c < 4; c++) {
        const int at = stage && stage->values > 1 ? c : 0;
        mot_output_numbers(stage ? stage->convention : 0, stage ? stage->mean[at] : 0, stage ? stage->std[at] : 1,
                           &mean[c], &std[c]);
    }
}

/* The samples of the kernels that draw policies. */
static mot_cuda_draw samples_of(const mot_transform_draw_job *job)
{
    return (mot_cuda_draw){ .count = job->resize.count,
                            .channels = job->resize.channels,
                            .seed = job->seed,
                            .sample = job->sample,
                            .epoch = job->epoch,
                            .view = job->view,
                            .ids = job->ids,
                            .views = job->views,
                            .counter = job->counter };
}

/* `resize`: as of mot_cuda_run_steps. */
static motley_status run_steps(const mot_cuda_work *work, const mot_transform_call *call,
                               const mot_transform_draw_job *drawn, const motley_batch *pixels,
                               const mot_cuda_parts *parts, const places *p, const stage_places *stages,
                               const mot_cuda_sent *sent, const mot_resize_job *resize, motley_error *error)
{
    const mot_stage *const stage = mot_transform_stage(call->transform, MOT_STAGE_OUTPUT), *only = only_policy(call);
    motley_output output = { .batch = *call->dst };
    output_numbers(stage, output.mean, output.std);
    const int normalises = call->dst->dtype != MOTLEY_U8;
    const mot_job job = { .count = call->src->count,
                          .channels = call->src->channels,
                          .src = pixels,
                          .dst = normalises ? NULL : call->dst,
                          .output = normalises ? &output : NULL,
                          .convention = stage ? stage->convention : 0,
                          .policy = only ? only->policy : NULL,
                          .drawn_steps = drawn->steps,
                          .max_steps = call->info->max_steps,
                          .stream = work->stream };
    if (mot_cuda_has_parts(parts))
        return mot_cuda_run_parts(work, &job, parts, pixels, call->drawn != NULL,
                                  (uint8_t *)work->kept->memory + p->parts, (uint8_t *)work->kept->host + p->sent,
                                  error);
    mot_cuda_draw draw = samples_of(drawn);
    draw.draws = !drawn->steps;
    if (draw.draws) {
        const void *const compiled = mot_cuda_at(sent->memory, stages->compiled[only - call->transform->stage]);
        draw.tables = mot_cuda_tables_at(only->policy, compiled);
        draw.tables_bytes = (int64_t)only->policy->compiled_bytes;
    }
    return mot_cuda_run_steps(work, &job, &draw, resize, error);
}

/* Draws the chains of a policy that mixes, which the kernel of all draws does not. It is the first stage with steps. */
static motley_status draw_chains(const mot_cuda_work *work, const mot_transform_call *call,
                                 const mot_transform_draw_job *job, motley_error *error)
{
    const mot_stage *stage = call->transform->stage;
    while (!stage->policy || !stage->policy->augmix.width)
        stage++;
    mot_cuda_draw draw = samples_of(job);
    draw.max_steps = job->max_steps;
    draw.src = job->resize.dst;
    draw.plan.steps = job->steps;
    return mot_cuda_try(
        mot_parts_draw_launch(&draw, job->table + (stage - call->transform->stage), stage->policy_steps, work->stream),
        "launching the draw kernel of chains", error);
}

static motley_status fill_windows(const mot_cuda_work *work, const mot_transform_call *call,
                                  const mot_transform_draw_job *draw, motley_error *error)
{
    mot_fill_job job = {
        .dst = draw->resize.dst, .count = draw->resize.count, .channels = draw->resize.channels, .drawn = draw->drawn
    };
    memcpy(job.fill, call->transform->fill, sizeof job.fill);
    return mot_cuda_try(mot_fill_launch(&job, work->stream), "launching the filling kernel", error);
}

static motley_status erase_boxes(const mot_cuda_work *work, const mot_transform_call *call,
                                 const mot_transform_draw_job *draw, const mot_cuda_sent *sent,
                                 const motley_image *images, motley_error *error)
{
    const motley_batch *const dst = call->dst;
    mot_erase_job erase = { .dst = mot_cuda_batch_of(dst, images),
                            .count = (int32_t)dst->count,
                            .channels = dst->channels,
                            .dtype = (int32_t)dst->dtype,
                            .values = call->erase->erase_values,
                            .normals = sent->normals,
                            .drawn = draw->drawn };
    memcpy(erase.bits, call->erased, sizeof erase.bits);
    return mot_cuda_try(mot_erase_launch(&erase, work->stream), "launching the erasing kernel", error);
}

static motley_status follow(const mot_cuda_work *work, const mot_transform_call *call,
                            const mot_transform_draw_job *draw, motley_error *error)
{
    const mot_follow_job job = { .count = draw->resize.count,
                                 .max_steps = draw->max_steps,
                                 .steps = draw->steps,
                                 .places = draw->drawn,
                                 .width = call->info->width,
                                 .height = call->info->height,
                                 .src = draw->resize.src,
                                 .followed = call->followed,
                                 .waits = work->chip->overlaps ? MOT_FOLLOW_WAITS_FIRST : MOT_FOLLOW_BEGINS_AFTER };
    return mot_cuda_try(mot_follow_launch(&job, work->stream), "launching the kernel that moves boxes and points",
                        error);
}

/* Shares a transform's stages out among the warps of the draw kernel. No stage depends on what another one draws, but
 * the first warp has all rectangles, since the whole image is one if there is no other. */
static void share_stages(const mot_stage *stage, mot_transform_draw_job *job)
{
    const int places = 3, warps = job->threads / 32;
    int same[MOT_STAGE_KINDS] = { 0 }, first_step = 0, turns = 0;
    for (int s = 0; s < job->stages; s++) {
        const mot_stage_kind kind = stage[s].kind;
        const int steps = mot_stage_steps(&stage[s]), crop = kind == MOT_STAGE_RANDOM_RESIZED_CROP;
        job->turn[s] = (mot_stage_turn){ MOT_STAGE_BLOCK(kind, same[kind]++), first_step };
        first_step += steps;
        if (kind == MOT_STAGE_FLIP && job->ratios)
            job->flip = s;
        else if (kind <= MOT_STAGE_FLIP && !crop)
            job->own[kind == MOT_STAGE_FLIP] |= (uint16_t)(1u << s);
        else if (kind == MOT_STAGE_ERASE)
            job->own[2] |= (uint16_t)(1u << s);
        else if (steps > 0 && job->max_steps > 0)
            job->own[places + turns++ % (warps - places)] |= (uint16_t)(1u << s);
    }
}

/* What the draw kernel does, and the resize kernel after it, to `resized`. */
static mot_transform_draw_job describe(const mot_transform_call *call, const places *p, const stage_places *stages,
                                       const mot_cuda_sent *sent, const motley_batch *resized, mot_cuda_kept *kept,
                                       int half, uint8_t *device, int ahead)
{
    const motley_transform_params *const params = call->params;
    const motley_batch *const src = call->src;
    const mot_stage *const output = mot_transform_stage(call->transform, MOT_STAGE_OUTPUT);
    const size_t images = p->images != MOT_ABSENT ? p->images : p->dst;
    const size_t counted = stages->counted + (size_t)half * COUNTED_BYTES;
    mot_transform_draw_job draw = { .resize = { .src = mot_cuda_batch_of(src, mot_cuda_at(device, p->src)),
                                                .dst = mot_cuda_batch_of(resized, mot_cuda_at(device, images)),
                                                .count = (int32_t)src->count,
                                                .channels = src->channels,
                                                .format = (int32_t)mot_cuda_format_of(src),
                                                .dst_dtype = (int32_t)resized->dtype,
                                                .axes = mot_cuda_at(device, p->axes),
                                                .cost = mot_cuda_at(device, p->cost),
                                                .order = mot_cuda_at(device, p->order),
                                                .counted = mot_cuda_at(sent->memory, counted),
                                                .tables = device + p->tables,
                                                .table_offset = mot_cuda_at(device, p->offsets),
                                                .table_bytes = p->table_bytes,
                                                .values = mot_cuda_at(device, p->values) },
                                    .stage = sent->memory,
                                    .table = mot_cuda_at(sent->memory, stages->tables),
                                    .stages = (int32_t)call->transform->stages,
                                    .max_steps = p->steps == MOT_ABSENT ? 0 : (int32_t)call->info->max_steps,
                                    .order = (int32_t)call->order,
                                    .given = call->drawn != NULL,
                                    .seed = params->samples.seed,
                                    .sample = params->samples.first,
                                    .epoch = params->samples.epoch,
                                    .view = params->samples.view,
                                    .counter = params->counter,
                                    .ids = mot_cuda_at(device, p->ids),
                                    .views = mot_cuda_at(device, p->views),
                                    .drawn = mot_cuda_at(device, p->drawn),
                                    .steps = mot_cuda_at(device, p->steps),
                                    .threads = ahead ? MOT_TRANSFORM_FEW_THREADS : MOT_TRANSFORM_THREADS,
                                    .convention = output ? (int32_t)output->convention : 0 };
    if (mot_transform_stage(call->transform, MOT_STAGE_RANDOM_RESIZED_CROP) && !draw.given)
        draw.ratios = mot_cuda_at(sent->memory, stages->ratios[0]);
    share_stages(call->transform->stage, &draw);
    output_numbers(output, draw.mean, draw.std);
    if (resized->dtype != MOTLEY_U8)
        draw.resize.by_lines = mot_cuda_find_lines(&kept->lines, draw.resize.dst_dtype, draw.convention, src->channels,
                                                   draw.mean, draw.std, draw.resize.line);
    return draw;
}

/* Queues the upload and the draws, in one half of the memory. */
static motley_status queue_draws(const mot_cuda_work *work, const mot_transform_draw_job *draw, const places *p,
                                 uint8_t *half, cudaStream_t stream, motley_error *error)
{
    MOT_TRY(mot_cuda_try(mot_cuda_send(half, work->kept->host, p->sent, stream), "sending the images", error));
    /* ahead of the stream, CTAs that wait for the upload would hold places that other kernels could use */
    const int overlap = p->sent > 0 && work->chip->overlaps && stream == work->stream;
    return mot_cuda_try(mot_transform_draw_launch(draw, overlap, stream), "launching the draw kernel", error);
}

static motley_status queue(const mot_cuda_work *work, const mot_transform_call *call, motley_error *error)
{
    const motley_batch *const dst = call->dst;
    const int steps = call->info->max_steps > 0;
    const int apart = steps && (dst->dtype != MOTLEY_U8 || call->params->clip_frames > 1);
    const stage_places stages = lay_out_stages(call->transform);
    mot_cuda_sent *sent;
    int known;
    MOT_TRY(send_stages(work, call->transform, &stages, &sent, &known, error));
    const mot_cuda_parts parts = parts_of(call);
    const places before = lay_out_sent(call, apart);
    MOT_TRY(mot_cuda_reserve(work, 0, before.sent, error));
    const places p = lay_out(before, work, call, &parts, apart, mot_cuda_at(work->kept->host, before.offsets));
    MOT_TRY(mot_cuda_reserve(work, p.bytes, p.sent + p.host_bytes, error));
    uint8_t *const host = work->kept->host, *const memory = work->kept->memory;
    cudaStream_t draws;
    int half;
    MOT_TRY(mot_cuda_begin_draws(work, p.half_bytes, known, !call->params->counter, &half, &draws, error));
    uint8_t *const device = memory + (size_t)half * p.half_bytes;
    fill(call, &p, host, memory);

    const motley_batch pixels = { .count = dst->count,
                                  .channels = dst->channels,
                                  .data = memory + p.pixels,
                                  .width = p.width,
                                  .height = p.height,
                                  .images = mot_cuda_at(host, p.images) };
    const motley_batch *const resized = apart ? &pixels : dst;
    mot_transform_draw_job draw =
        describe(call, &p, &stages, sent, resized, work->kept, half, device, draws != work->stream);
    MOT_TRY(mot_cuda_cut(work, &draw.resize, p.width, p.height, p.row_groups, error));
    const motley_status drawn = queue_draws(work, &draw, &p, device, draws, error);
    static const uint8_t none[4];
    const int fills = memcmp(call->transform->fill, none, sizeof none) != 0;
    /* the resize is queued after the kernel that sorts the steps, which then runs ahead, too */
    const int later = drawn == MOTLEY_OK && draws != work->stream && steps && !mot_cuda_has_parts(&parts) && !fills;
    if (!later) {
        MOT_TRY(mot_cuda_end_draws(work, drawn == MOTLEY_OK ? error : NULL));
        MOT_TRY(drawn);
        MOT_TRY(
            mot_cuda_try(mot_resize_launch(&draw.resize, draws == work->stream && work->chip->overlaps, work->stream),
                         "launching the resize kernel", error));
    }
    if (fills)
        MOT_TRY(fill_windows(work, call, &draw, error));
    if (call->mixes && !call->drawn)
        MOT_TRY(draw_chains(work, call, &draw, error));
    if (steps)
        MOT_TRY(run_steps(work, call, &draw, resized, &parts, &p, &stages, sent, later ? &draw.resize : NULL, error));
    if (call->erase)
        MOT_TRY(erase_boxes(work, call, &draw, sent, mot_cuda_at(device, p.dst), error));
    if (mot_followed_any(&call->followed))
        MOT_TRY(follow(work, call, &draw, error));
    if (!call->info->mix)
        return MOTLEY_OK;
    return mot_cuda_mix_queue(work, dst, dst, call->params->mixed, NULL, memory + p.mix, host + p.sent, error);
}

motley_status mot_cuda_transform(void *state, const mot_transform_call *call, motley_error *error)
{
    mot_cuda_work work;
    MOT_TRY(check(state, call, error));
    MOT_TRY(mot_cuda_begin(state, call->params->stream, &work, error));
    return mot_cuda_end(&work, queue(&work, call, error), error);
}
