/* SPDX-License-Identifier: Apache-2.0 */
/* See request.h: every check of a call of motley_apply, and how it is run. */
#include "dispatch/request.h"

#include "augmentations/ops.h"
#include "base/values.h"
#include "dispatch/follow.h"
#include "dispatch/wide.h"
#include "kernels/cpu.h"
#include "policies/schedule.h"
#include "policies/transform_draw.h"
#include "policies/views.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* ---- epochs ---- */

motley_status mot_transform_in_epoch(motley_context *context, const mot_transform **transform,
                                     const motley_apply_params *params, motley_error *error)
{
    const mot_transform *const of = *transform;
    const unsigned rooms = sizeof context->epochs / sizeof context->epochs[0];
    if (!of->schedule)
        return MOTLEY_OK;
    MOT_REQUIRE(
        !params->counter, error,
        "counter is set, but transform '%s' changes with the epoch, which then only the device knows: want what "
        "motley_policy_at returns for an epoch",
        of->name);
    const uint32_t epoch = mot_schedule_begin(of->schedule, params->samples.epoch);
    for (unsigned i = 0; i < rooms; i++) {
        const struct mot_epoch *const kept = &context->epochs[i];
        if (kept->plain && kept->of == of->fingerprint && kept->epoch == epoch) {
            *transform = kept->plain;
            return MOTLEY_OK;
        }
    }
    mot_transform *plain;
    MOT_TRY(mot_transform_at(of, epoch, &plain, error));
    struct mot_epoch *const oldest = &context->epochs[context->epochs_made++ % rooms];
    mot_transform_destroy(oldest->plain);
    *oldest = (struct mot_epoch){ of->fingerprint, epoch, plain };
    *transform = plain;
    return MOTLEY_OK;
}

/* ---- what is done ---- */

/* Steps that are given without a policy. */
static const mot_transform steps_alone = { .name = (char *)"given steps", .plain = true };

const mot_transform *mot_request_base(const motley_policy *policy)
{
    return policy ? mot_policy_transform(policy) : &steps_alone;
}

motley_status mot_request_read(const mot_transform *transform, const motley_batch *src, mot_kept *table,
                               motley_batch *read, motley_error *error)
{
    if (transform->to_rgb)
        return mot_batch_as_rgb(src, table, read, error);
    MOT_TRY(mot_validate_batch("src", src, error));
    *read = *src;
    return MOTLEY_OK;
}

/* ---- shapes ---- */

/* What makes images have so many channels. */
static const char *remedy_for(int values)
{
    return values == 4 ? "convert them first, PIL images by .convert(\"RGBA\")"
                       : "begin the stages with 'to_rgb: {}', or convert them first, PIL images by .convert(\"RGB\")";
}

/* Checks that the stages can make results of dst's type and channels. */
static motley_status check_last_stages(const mot_request *r, motley_error *error)
{
    const mot_transform *const t = r->transform;
    const motley_batch *const dst = r->dst;
    MOT_REQUIRE(!r->info->mix || dst->dtype != MOTLEY_U16, error,
                "transform '%s' mixes images, want dst as F32, F16 or BF16 of uint16", t->name);
    MOT_REQUIRE(!t->follower || dst->dtype == MOTLEY_U8, error,
                "a follower of transform '%s' comes out as bytes, want dst as U8", t->name);
    if (!r->erase || t->follower)
        return MOTLEY_OK;
    const int erased = r->erase->of.erase.values;
    MOT_REQUIRE(dst->dtype != MOTLEY_U8 && dst->dtype != MOTLEY_U16, error,
                "transform '%s' erases after normalisation, want dst as F32, F16 or BF16", t->name);
    MOT_REQUIRE(erased <= 1 || erased == dst->channels, error,
                "transform '%s' erases with %d values, the images have %" PRId32 " channels: %s", t->name, erased,
                dst->channels, remedy_for(erased));
    return MOTLEY_OK;
}

/* Images that a transform mixes as they come have one size. */
static motley_status check_one_size(const mot_request *r, motley_error *error)
{
    const mot_view first = mot_batch_view(r->src, 0);
    for (size_t i = 1; r->src->images && i < r->src->count; i++) {
        const mot_view image = mot_batch_view(r->src, i);
        MOT_REQUIRE(image.width == first.width && image.height == first.height, error,
                    "image %zu is %" PRId32 "x%" PRId32 ", image 0 %" PRId32 "x%" PRId32
                    ": want one size, as they are mixed",
                    i, image.width, image.height, first.width, first.height);
    }
    return MOTLEY_OK;
}

/* As what results are written, and what erased boxes get. */
static void find_output(mot_request *r)
{
    const motley_dtype dtype = r->placed ? r->dst->dtype : r->output->batch.dtype;
    const mot_stage *const stage = mot_transform_stage(r->transform, MOT_STAGE_OUTPUT);
    const mot_normalize none = { .std = { 1 } }, *const by = stage ? &stage->of.output : &none;
    r->as = (mot_output_as){ .dtype = (int32_t)dtype, .convention = (int32_t)by->convention };
    for (int c = 0; c < 4; c++) {
        const int at = by->values > 1 ? c : 0;
        mot_output_numbers(r->as.convention, by->mean[at], by->std[at], &r->as.mean[c], &r->as.std[c]);
    }
    if (r->output) {
        memcpy(r->as.mean, r->output->mean, sizeof r->as.mean);
        memcpy(r->as.std, r->output->std, sizeof r->as.std);
    }
    for (int c = 0; r->erase && c < 4; c++)
        r->erased[c] =
            r->transform->follower
                ? r->transform->fill[c]
                : mot_output_cast((float)r->erase->of.erase.value[r->erase->of.erase.values > 1 ? c : 0], dtype);
}

motley_status mot_request_make(const mot_transform *transform, const motley_batch *src, const motley_batch *dst,
                               const motley_output *output, mot_request *r, motley_error *error)
{
    memset(r, 0, offsetof(mot_request, params)); /* the rest is large, and set by those who need it */
    r->transform = transform;
    r->info = &transform->info;
    r->src = src;
    r->dst = dst;
    r->output = output;
    r->erase = transform->facts.erase;
    r->placed = !transform->plain || (dst && dst->dtype != src->dtype && !output);
    MOT_TRY(mot_transform_check_single(transform, error));
    MOT_REQUIRE(dst || output || r->placed, error, "dst is NULL and no output is set: there is nowhere to write");
    MOT_TRY(mot_validate_src(src, error));
    if (r->placed && dst && src->count > 0)
        MOT_TRY(check_last_stages(r, error));
    if (r->placed || dst)
        MOT_TRY(mot_validate_dst(transform, src, dst, r->placed, error));
    if (src->count == 0)
        return MOTLEY_OK;
    if (output)
        MOT_TRY(mot_validate_output(src, output, error));
    if (r->info->mix && !r->info->width)
        MOT_TRY(check_one_size(r, error));
    if (r->placed || output)
        find_output(r);
    return MOTLEY_OK;
}

/* ---- the params of a run ---- */

/* Checks by which numbers results are normalised. */
static motley_status check_normalization(const mot_request *r, motley_error *error)
{
    const mot_stage *const output = mot_transform_stage(r->transform, MOT_STAGE_OUTPUT);
    const motley_batch *const dst = r->dst;
    const int values = output && !r->params->output.means ? output->of.output.values : 0;
    MOT_REQUIRE(dst->dtype == MOTLEY_U8 || dst->dtype == MOTLEY_U16 || values <= 1 || values == dst->channels, error,
                "transform '%s' normalises %d channels, the images have %" PRId32 ": %s", r->transform->name, values,
                dst->channels,
                mot_batch_is_wide(r->src) || mot_batch_bands(r->src) > 1 ? "give mean and std of as many numbers"
                                                                         : remedy_for(values));
    return mot_validate_normalization(r->src, &r->params->output, error);
}

/* Checks which fields are set. */
static motley_status check_params(const motley_context *context, const mot_request *r, motley_error *error)
{
    const motley_apply_params *const p = r->params;
    const mot_transform *const t = r->transform;
    const bool given = mot_is_given(p), streams = context->backend->transform != NULL;
    const size_t count = r->src->count;
    MOT_REQUIRE(t->stages > 0 || !t->plain || given, error,
                "policy is NULL, want one, or given_steps and given_step_counts");
    MOT_TRY(mot_apply_params_check(t->plain ? "a policy without stages" : "a policy with stages",
                                   MOT_TAKES_STEPS | (t->plain ? 0 : MOT_TAKES_STAGES), p, error));
    MOT_REQUIRE(t->plain || !p->output.batch.data, error,
                "params has an output, but what a policy with stages makes goes to dst");
    MOT_TRY(mot_wide_check(r->src, t, p->fill, error));
    MOT_REQUIRE(r->placed || r->output || !(p->output.means || p->output.stds), error,
                "output: means or stds is set without batch.data, want an output or a policy with stages");
    if (r->placed && count > 0)
        MOT_TRY(check_normalization(r, error));
    MOT_TRY(mot_samples_check(&p->samples, count, error));
    if (!given) {
        MOT_TRY(mot_levels_check(r->info, &p->samples, count, error));
        MOT_TRY(mot_boxes_check(t, &p->samples, count, streams, error));
    }
    MOT_REQUIRE(!p->steps == !p->step_counts, error, "only one of steps and step_counts is set, want both or neither");
    MOT_REQUIRE(!r->info->mix || p->mixed, error,
                "transform '%s' mixes images, want params.mixed, by which targets are mixed", t->name);
    const motley_mix_params mix = motley_mix_describe(r->info->mix);
    MOT_REQUIRE(mix.pastes == 0 && !mix.instances && mix.sizes_count == 0, error,
                "transform '%s' pastes objects or draws a batch's size: want motley_mix_draw and motley_mix_apply",
                t->name);
    MOT_REQUIRE(!p->given_mixed == !(given && r->info->mix), error,
                p->given_mixed ? "given_mixed is set, want it with given draws of a transform that mixes"
                               : "given is set without given_mixed, but the transform mixes images");
    MOT_REQUIRE(!p->given_kernels || given, error, "given_kernels is set without given, whose blurs it is for");
    MOT_REQUIRE(t->plain || (!p->given == !p->given_steps && !p->given == !p->given_step_counts), error,
                "only some of given, given_steps and given_step_counts are set, want all three or none");
    MOT_REQUIRE(!given || p->given_step_counts || count == 0, error,
                "given_step_counts is NULL, want the number of steps of %zu images", count);
    MOT_REQUIRE(streams || (!p->stream && !p->counter), error,
                "stream or counter is set, but the %s backend has neither", context->backend->name);
    MOT_REQUIRE(!given || !p->counter, error, "counter is set, and so are given draws: nothing is drawn");
    const bool wants = p->steps || (p->drawn && r->placed);
    MOT_REQUIRE(!p->counter || !(wants || p->mixed), error,
                "counter is set, and so is drawn, steps or mixed: the host does not know what is drawn by a counter");
    const char *const unknown = r->samples.levels && streams ? "levels" : r->samples.boxes_on_device ? "boxes" : NULL;
    MOT_REQUIRE(!unknown || !wants, error,
                "%s is set, and so is drawn or steps: the host does not know what is drawn by %s in device memory, "
                "want motley_draw with a copy of them",
                unknown, unknown);
    return MOTLEY_OK;
}

/* Requires that the images have the sizes for which given steps were drawn, if the params say so. */
static motley_status check_given_sizes(const mot_request *r, motley_error *error)
{
    const int32_t *const widths = r->params->given_widths, *const heights = r->params->given_heights;
    MOT_REQUIRE(!widths == !heights, error, "only one of given_widths and given_heights is set, want both or neither");
    for (size_t i = 0; widths && i < r->src->count; i++) {
        const mot_view image = mot_batch_view(r->src, i);
        MOT_REQUIRE(widths[i] == image.width && heights[i] == image.height, error,
                    "image %zu is %dx%d, but its steps were drawn for %dx%d", i, image.width, image.height, widths[i],
                    heights[i]);
    }
    return MOTLEY_OK;
}

/* What the steps of a run may be: those that are given, or any that can be drawn. */
static mot_draw_facts facts_of(const mot_request *r, const mot_draw_facts *given)
{
    const mot_transform_facts *const f = &r->transform->facts;
    if (mot_is_given(r->params))
        return *given;
    return (
        mot_draw_facts){ .mixes = f->mixes != NULL, .late = f->late, .inside = f->inside, .customs = f->runs_customs };
}

/* Refuses clips and what moves with images, where the steps allow neither, and what the host must know to draw. */
static motley_status check_steps(const motley_context *context, const mot_request *r, const mot_draw_facts *steps,
                                 motley_error *error)
{
    const motley_apply_params *const p = r->params;
    const char *const name = r->transform->name, *const clips = steps->mixes    ? "where chains of ops are mixed"
                                                                : steps->inside ? "where ops work in parts of images"
                                                                : r->transform->facts.before
                                                                    ? "where a stage changes images before their crop"
                                                                    : NULL;
    MOT_REQUIRE(p->clip_frames <= 1 || r->src->count % p->clip_frames == 0, error,
                "clip_frames is %zu, but there are %zu images, want whole clips", p->clip_frames, r->src->count);
    if (p->clip_frames > 1 && clips)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "clip_frames is %zu, but clips have no common statistics %s",
                        p->clip_frames, clips);
    const char *const moves = r->info->mix   ? "mixes images"
                              : steps->mixes ? "mixes chains, each of which may move pixels elsewhere"
                              : steps->customs || r->transform->facts.customs > 0
                                  ? "has custom ops, and where these move pixels is not known"
                                  : NULL;
    if (mot_followed_any(&r->followed) && moves)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "policy '%s' %s: nothing can follow it", name, moves);
    const bool by_boxes = r->transform->facts.takes_boxes && !mot_is_given(p) && !r->samples.boxes_on_device;
    const char *const host = steps->inside                     ? "works in boxes"
                             : by_boxes                        ? "crops by boxes"
                             : steps->customs                  ? "has custom ops"
                             : steps->late                     ? "mixes chains behind other ops"
                             : r->transform->facts.draws_sizes ? "draws sizes"
                             : p->clip_frames > 1              ? "is applied to clips"
                                                               : NULL;
    const char *const device = p->counter                                         ? "counter"
                               : r->samples.levels && context->backend->transform ? "levels"
                               : r->samples.boxes_on_device                       ? "boxes_on_device"
                                                                                  : NULL;
    if (device && host)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "%s is set, but policy '%s' %s, and so is drawn on the host: draw with motley_draw, ids, "
                        "levels and boxes in host memory, and give the draws",
                        device, name, host);
    return MOTLEY_OK;
}

/* ---- sizes ---- */

uint32_t mot_request_ways(const mot_request *r)
{
    return !r->draws.places ? r->transform->facts.ways : r->transform->facts.twice ? 2 : 1;
}

mot_sizes mot_request_sides(const mot_request *r, size_t i, uint32_t way)
{
    const mot_view src = mot_batch_view(r->src, i);
    if (r->draws.places) {
        const motley_place first = mot_first_place(&r->draws.places[i], src.width, src.height);
        return mot_sizes_of_place(way > 0 ? &first : &r->draws.places[i]);
    }
    return mot_result_size(r->transform, way, src.width, src.height);
}

void mot_request_fill(const mot_request *r, uint8_t fill[4])
{
    mot_transform_fill(r->transform, r->src->channels, mot_batch_bands(r->src) > 1, fill);
}

int32_t mot_request_largest_kernel(const mot_request *r, size_t i)
{
    int32_t largest = r->draws.steps ? 0 : r->transform->facts.steps.taps;
    for (int32_t s = 0; r->draws.steps && s < r->draws.counts[i]; s++) {
        const mot_step *const step = &r->draws.steps[i * r->draws.most + (size_t)s];
        if (step->op == MOTLEY_STEP_KERNEL_BLUR && (int32_t)step->arg.size > largest)
            largest = (int32_t)step->arg.size;
    }
    return largest;
}

/* Requires that images can be resized to their sizes, those of dst, and mirrored at their edges by the largest kernel:
 * that needs as many pixels as half the kernel and one more. */
static motley_status check_sides(const mot_request *r, motley_error *error)
{
    for (size_t i = 0; i < r->src->count; i++) {
        const mot_view src = mot_batch_view(r->src, i), dst = mot_batch_view(r->dst, i);
        const mot_sizes sizes = mot_request_sides(r, i, 0);
        MOT_TRY(mot_fail_in(error,
                            r->draws.places ? mot_place_sizes_check(&r->draws.places[i], error)
                                            : mot_ways_check(r->transform, src.width, src.height, error),
                            "image %zu: ", i));
        MOT_REQUIRE(sizes.width == dst.width && sizes.height == dst.height, error,
                    "dst image %zu: size is %" PRId32 "x%" PRId32 ", but its sample draws %" PRId32 "x%" PRId32
                    ", see motley_policy_result_sizes",
                    i, dst.width, dst.height, sizes.width, sizes.height);
    }
    for (size_t i = 0; i < r->src->count; i++) {
        const mot_view dst = mot_batch_view(r->dst, i);
        const int32_t size = mot_request_largest_kernel(r, i);
        MOT_REQUIRE(size == 0 || (dst.width > size / 2 && dst.height > size / 2), error,
                    "image %zu: %" PRId32 "x%" PRId32 " is too small for a blur by a kernel of %" PRId32
                    ", want at least %" PRId32 " each way",
                    i, dst.width, dst.height, size, size / 2 + 1);
    }
    return MOTLEY_OK;
}

/* Whether image i draws the ops of image `first`, and the same values where they share statistics. */
static bool draws_alike(const mot_host_draws *draws, size_t i, size_t first)
{
    const mot_step *const a = draws->steps + i * draws->most, *const b = draws->steps + first * draws->most;
    bool same = draws->counts[i] == draws->counts[first];
    for (int32_t s = 0; same && s < draws->counts[i]; s++)
        same = a[s].op == b[s].op && (!mot_op_pools(a[s].op) || a[s].value == b[s].value);
    return same;
}

/* Requires that the frames of each clip draw the same and become one size. */
static motley_status check_clips(const mot_request *r, motley_error *error)
{
    const size_t frames = r->params->clip_frames;
    const motley_batch *const made = r->placed ? r->dst : r->src;
    for (size_t i = 0; frames > 1 && i < r->src->count; i++) {
        const size_t first = i - i % frames;
        const mot_view a = mot_batch_view(made, first), b = mot_batch_view(made, i);
        MOT_REQUIRE(
            a.width == b.width && a.height == b.height, error,
            "image %zu %s %" PRId32 "x%" PRId32 ", but image %zu of its clip %s%" PRId32 "x%" PRId32 ", want one size",
            i, r->placed ? "comes out as" : "is", b.width, b.height, first, r->placed ? "as " : "", a.width, a.height);
        MOT_REQUIRE(frames <= (size_t)(INT32_MAX / a.width / a.height), error,
                    "a clip has %zu frames of %" PRId32 "x%" PRId32 ", want at most 2^31-1 pixels", frames, a.width,
                    a.height);
        MOT_REQUIRE(draws_alike(&r->draws, i, first), error,
                    "image %zu has other steps than image %zu of its clip, want equal sample ids and views", i, first);
    }
    return MOTLEY_OK;
}

/* ---- addresses ---- */

static motley_status check_alignment(const motley_batch *dst, motley_error *error)
{
    const size_t element = mot_dtype_bytes(dst->dtype);
    for (size_t i = 0; i < (dst->images ? dst->count : 1); i++) {
        const mot_view view = mot_batch_view(dst, i);
        MOT_REQUIRE((uintptr_t)view.data % element == 0, error,
                    "dst image %zu: data is not aligned to the %zu bytes of a component", i, element);
    }
    return MOTLEY_OK;
}

static motley_status check_places(motley_context *context, const mot_request *r, motley_error *error)
{
    if (!r->placed)
        return mot_validate_places(r->src, r->dst, r->output, error);
    MOT_TRY(check_alignment(r->dst, error));
    return mot_validate_apart(r->src, r->dst, &context->scratch, error);
}

/* ---- the run ---- */

int mot_request_draw(const mot_request *r, size_t i, motley_place *drawn, mot_step *steps)
{
    const mot_host_draws *const known = &r->draws;
    if (!known->steps)
        return mot_draws_new(r, i, drawn, steps);
    if (known->places)
        *drawn = known->places[i];
    if (known->counts[i] > 0) /* else there may be no room for any */
        memcpy(steps, known->steps + i * known->most, (size_t)known->counts[i] * sizeof *steps);
    return known->counts[i];
}

/* Draws how the images are mixed, before any image is touched. */
static motley_status draw_mix(const mot_request *r, motley_error *error)
{
    const motley_apply_params *const p = r->params;
    const size_t count = r->src->count;
    const mot_view one = mot_batch_view(r->dst, 0); /* all have its size */
    if (!p->given_mixed)
        return motley_mix_draw(r->info->mix, &p->samples, count, one.width, one.height, NULL, NULL, p->mixed, NULL,
                               error);
    memcpy(p->mixed, p->given_mixed, count * sizeof *p->mixed);
    return mot_mix_check_drawn(p->mixed, NULL, NULL, count, one.width, one.height, error);
}

static mot_job job_of(mot_request *r)
{
    const motley_apply_params *const p = r->params;
    mot_job job = mot_job_of(r->src, r->dst);
    if (r->placed || r->output) {
        const motley_output *const by = r->placed ? &p->output : r->output;
        job.output = r->placed ? NULL : &r->output->batch;
        job.as = r->as;
        job.as.means = by->means;
        job.as.stds = by->stds;
    }
    job.max_steps = r->draws.steps ? r->draws.most : r->info->max_steps;
    job.samples = r->samples;
    job.counter = p->counter;
    job.stream = p->stream;
    job.fill = p->fill;
    job.clip_frames = p->clip_frames;
    job.mixes = r->mixes;
    job.request = r->placed ? r : NULL;
    job.drawer = r;
    job.steps = r->draws.steps;
    if (!r->draws.steps && !r->placed) /* its only stage draws */
        job.policy = r->transform->stage[0].policy;
    job.followed = mot_followed_any(&r->followed) ? &r->followed : NULL;
    return job;
}

/* Runs a request whose draws are known if the host needs them. */
static motley_status run(motley_context *context, mot_request *r, bool stops, motley_error *error)
{
    const motley_apply_params *const p = r->params;
    mot_job job = job_of(r);
    mot_moved moved;
    const bool moves = job.followed && !context->backend->follow;
    if (moves)
        MOT_TRY(mot_follow_begin(context, &job, &r->draws, p->given_steps ? p->given_steps : p->steps,
                                 p->given_steps ? mot_given_row(p, r->info) : r->draws.most, &moved, error));
    MOT_TRY(stops ? mot_rounds_run(context, r, &job, error) : mot_job_run(context, &job, error));
    if (moves)
        mot_follow_end(&moved);
    if (!r->info->mix || (!stops && context->backend->mix)) /* or the backend mixes by itself */
        return MOTLEY_OK;
    return motley_mix_apply(context, r->dst, r->dst, p->mixed, NULL, NULL, p->stream, error);
}

motley_status mot_request_run(motley_context *context, mot_request *r, const motley_apply_params *p,
                              motley_error *error)
{
    const bool given = mot_is_given(p);
    const size_t count = r->src->count;
    r->params = p;
    r->samples = p->samples;
    r->samples.bands = mot_batch_bands(r->src) > 1;
    if (!r->info->takes_levels || given)
        r->samples.levels = NULL; /* which nothing may read: perhaps it is in device memory */
    r->samples.boxes_on_device = r->samples.boxes_on_device && r->transform->facts.takes_boxes && !given;
    r->draws = (mot_host_draws){ 0 };
    MOT_TRY(check_params(context, r, error));
    MOT_TRY(check_given_sizes(r, error));
    MOT_TRY(mot_followed_read(p->followed, r->src, &r->followed, error));
    mot_draw_facts found = { 0 };
    if (given && count > 0)
        MOT_TRY(mot_draws_given(context, r, &found, error));
    const mot_draw_facts steps = facts_of(r, &found);
    MOT_TRY(check_steps(context, r, &steps, error));
    if (count == 0)
        return MOTLEY_OK;
    r->mixes = steps.mixes;
    MOT_TRY(mot_wide_check_steps(r->src, &steps, p->clip_frames, error));
    MOT_TRY(check_places(context, r, error));
    const bool draws_sizes = r->transform->facts.draws_sizes && !given;
    if (r->placed && !draws_sizes && (given || !r->sides_checked)) {
        MOT_TRY(check_sides(r, error));
        r->sides_checked = !given;
    }
    if (r->info->mix)
        MOT_TRY(draw_mix(r, error));
    const bool clips = p->clip_frames > 1, follows = mot_followed_any(&r->followed);
    const bool stops =
        steps.inside || steps.customs || steps.late || (clips && !(r->placed && context->backend->transform));
    const bool wanted =
        context->backend->transform && (p->steps || (p->drawn && r->placed)); /* what runs draws no more */
    MOT_REQUIRE(!stops || !context->rounds_busy, error,
                "a custom op's function applies '%s', with custom ops, boxes or clips, on the context that called it",
                r->transform->name);
    const bool by_boxes = r->transform->facts.takes_boxes && !r->samples.boxes_on_device;
    if (!given && (draws_sizes || by_boxes || stops || clips || wanted || (follows && !context->backend->follow)))
        MOT_TRY(mot_draws_make(context, r, error));
    if (draws_sizes)
        MOT_TRY(check_sides(r, error));
    MOT_TRY(check_clips(r, error));
    for (size_t i = 0; !r->placed && p->drawn && i < count; i++) {
        const mot_view image = mot_batch_view(r->src, i);
        p->drawn[i] = mot_whole_place(image.width, image.height);
    }
    return run(context, r, stops, error);
}
