/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of policies with stages, for motley_apply and prepared calls. */
#include "augmentations/augmix.h"
#include "augmentations/kernel_blur.h"
#include "base/values.h"
#include "dispatch/clips.h"
#include "dispatch/follow.h"
#include "dispatch/transform_call.h"
#include "kernels/output.h"
#include "policies/transform_draw.h"

#include <inttypes.h>
#include <stdbool.h>

/* What makes images have so many channels. */
static const char *remedy_for(int values)
{
    return values == 4 ? "convert them first, PIL images by .convert(\"RGBA\")"
                       : "begin the stages with 'to_rgb: {}', or convert them first, PIL images by .convert(\"RGB\")";
}

static motley_status check_output(const mot_transform_call *call, motley_error *error)
{
    const mot_transform *t = call->transform;
    const motley_batch *dst = call->dst;
    const mot_stage *output = mot_transform_stage(t, MOT_STAGE_OUTPUT);
    const int values = output ? output->of.output.values : 0;
    MOT_REQUIRE(dst->dtype == MOTLEY_U8 || values <= 1 || values == dst->channels, error,
                "transform '%s' normalises %d channels, the images have %" PRId32 ": %s", t->name, values,
                dst->channels, remedy_for(values));
    MOT_REQUIRE(!t->follower || dst->dtype == MOTLEY_U8, error,
                "a follower of transform '%s' comes out as bytes, want dst as U8", t->name);
    MOT_REQUIRE(!call->erase || t->follower || dst->dtype != MOTLEY_U8, error,
                "transform '%s' erases after normalisation, want dst as F32, F16 or BF16", t->name);
    MOT_REQUIRE(!call->erase || t->follower || call->erase->of.erase.values <= 1 ||
                    call->erase->of.erase.values == dst->channels,
                error, "transform '%s' erases with %d values, the images have %" PRId32 " channels: %s", t->name,
                call->erase->of.erase.values, dst->channels, remedy_for(call->erase->of.erase.values));
    for (size_t i = 0; i < dst->count; i++) {
        const mot_view from = mot_batch_view(call->src, i), to = mot_batch_view(dst, i);
        const mot_sizes want = mot_result_size(t, from.width, from.height);
        MOT_REQUIRE(to.width == want.width && to.height == want.height, error,
                    "dst image %zu: size is %" PRId32 "x%" PRId32 ", want %" PRId32 "x%" PRId32 ", %s", i, to.width,
                    to.height, want.width, want.height, call->info->width ? "the transform's" : "src's");
        if (!dst->images && (call->info->width || !call->src->images))
            break;
    }
    return MOTLEY_OK;
}

static motley_status check_alignment(const motley_batch *dst, motley_error *error)
{
    const size_t bytes = mot_dtype_bytes(dst->dtype);
    for (size_t i = 0; i < (dst->images ? dst->count : 1); i++) /* strides are multiples of it */
        MOT_REQUIRE((uintptr_t)(dst->images ? dst->images[i].data : dst->data) % bytes == 0, error,
                    "dst image %zu: data is not aligned to the %zu bytes of a component", i, bytes);
    return MOTLEY_OK;
}

mot_sizes mot_transform_sides(const mot_transform_call *call, size_t i)
{
    const mot_view src = mot_batch_view(call->src, i);
    const motley_place *const given = call->params->given ? &call->params->given[i] : NULL;
    mot_sizes sizes = mot_result_size(call->transform, src.width, src.height);
    if (given) {
        sizes.crop_width = given->crop.width, sizes.crop_height = given->crop.height;
        sizes.resized_width = given->width, sizes.resized_height = given->height;
    }
    return sizes;
}

static motley_status check_sizes(const mot_transform_call *call, size_t i, motley_error *error)
{
    const mot_sizes sizes = mot_transform_sides(call, i);
    return mot_fail_in(error, mot_sizes_check(call->params->given ? NULL : call->transform, &sizes, error),
                       "image %zu: ", i);
}

/* `mixed`: the step belongs to chains that are mixed. */
static motley_status check_given_step(const motley_step *step, size_t i, int s, bool mixed, motley_error *error)
{
    MOT_REQUIRE(!mixed || step->op >= 0 || mot_step_mixes(step->op), error,
                "image %zu, step %d is not an op of the table, but is in a chain that is mixed", i, s);
    MOT_REQUIRE(mot_step_info(step->op) && (mixed || !mot_step_mixes(step->op)), error,
                "image %zu, step %d: op is %d, want one of the table, MOTLEY_STEP_HUE or MOTLEY_STEP_KERNEL_BLUR", i, s,
                step->op);
    MOT_REQUIRE(!(step->inside[0] | step->inside[1] | step->inside[2] | step->inside[3]), error,
                "image %zu, step %d works inside a part of the image, which a transform does not do", i, s);
    MOT_TRY(mot_fail_in(error, mot_validate_step(step, error), "image %zu, step %d: ", i, s));
    MOT_REQUIRE(step->op != MOTLEY_STEP_KERNEL_BLUR || mot_is_kernel_size(step->values[1]), error,
                "image %zu, step %d: the kernel's size is %g, want an odd number of 3 to %d", i, s, step->values[1],
                MOTLEY_MAX_KERNEL);
    return MOTLEY_OK;
}

int32_t mot_transform_largest_kernel(const mot_transform_call *call, size_t i)
{
    const motley_apply_params *p = call->params;
    int32_t largest = p->given ? 0 : call->transform->facts.steps.taps;
    for (int s = 0; p->given && s < p->given_step_counts[i]; s++) {
        const motley_step *step = &p->given_steps[i * call->given_row + (size_t)s];
        if (step->op == MOTLEY_STEP_KERNEL_BLUR && step->values[1] > largest)
            largest = (int32_t)step->values[1];
    }
    return largest;
}

/* An image is mirrored at its edges, which needs as many pixels as half the kernel and one more. */
static motley_status check_kernels(const mot_transform_call *call, motley_error *error)
{
    for (size_t i = 0; i < call->src->count; i++) {
        const mot_view dst = mot_batch_view(call->dst, i);
        const int32_t size = mot_transform_largest_kernel(call, i);
        MOT_REQUIRE(size == 0 || (dst.width > size / 2 && dst.height > size / 2), error,
                    "image %zu: %" PRId32 "x%" PRId32 " is too small for a blur by a kernel of %" PRId32
                    ", want at least %" PRId32 " each way",
                    i, dst.width, dst.height, size, size / 2 + 1);
    }
    return MOTLEY_OK;
}

static motley_status check_given(const mot_transform_call *call, size_t i, motley_error *error)
{
    const motley_place *d = &call->params->given[i];
    const mot_view src = mot_batch_view(call->src, i), dst = mot_batch_view(call->dst, i);
    MOT_TRY(mot_check_place(d, i, (int32_t[]){ src.width, src.height }, (int32_t[]){ dst.width, dst.height },
                            call->erase ? MOTLEY_MAX_ERASED_BOXES : 0, error));
    MOT_REQUIRE((unsigned)d->filter <= MOTLEY_FILTER_HAMMING, error,
                "image %zu: the given filter is %d, want one of motley_filter", i, (int)d->filter);
    MOT_REQUIRE(mot_transform_stage(call->transform, MOT_STAGE_CENTER_CROP) ||
                    mot_transform_stage(call->transform, MOT_STAGE_RANDOM_CROP) ||
                    (d->left == 0 && d->top == 0 && d->width == dst.width && d->height == dst.height),
                error,
                "image %zu: the given size is %" PRId32 "x%" PRId32 ", and the window begins at (%" PRId32 ", %" PRId32
                "), want all of %" PRId32 "x%" PRId32,
                i, d->width, d->height, d->left, d->top, dst.width, dst.height);
    const int32_t steps = call->params->given_step_counts[i];
    MOT_REQUIRE(steps >= 0 && (size_t)steps <= call->info->max_steps, error,
                "image %zu: %" PRId32 " steps are given, want at most %zu", i, steps, call->info->max_steps);
    const motley_step *given = steps ? &call->params->given_steps[i * call->given_row] : NULL;
    int mixed = call->transform->facts.mixes ? steps : 0;
    while (mixed > 0 && !mot_step_mixes(given[mixed - 1].op))
        mixed--;
    MOT_REQUIRE(mixed <= MOT_MAX_STEPS, error, "image %zu: chains of %d steps are given, want at most %d", i, mixed,
                MOT_MAX_STEPS);
    for (int s = 0; s < steps; s++)
        MOT_TRY(check_given_step(&given[s], i, s, s < mixed, error));
    return MOTLEY_OK;
}

/* Images that a transform mixes as they come have one size. */
static motley_status check_one_size(const mot_transform_call *call, motley_error *error)
{
    const mot_view first = mot_batch_view(call->src, 0);
    for (size_t i = 1; call->src->images && i < call->src->count; i++) {
        const mot_view image = mot_batch_view(call->src, i);
        MOT_REQUIRE(image.width == first.width && image.height == first.height, error,
                    "image %zu is %" PRId32 "x%" PRId32 ", image 0 %" PRId32 "x%" PRId32
                    ": want one size, as they are mixed",
                    i, image.width, image.height, first.width, first.height);
    }
    return MOTLEY_OK;
}

/* Refuses transforms with policies that cannot run in one. */
static motley_status check_policies(const mot_transform_call *call, motley_error *error)
{
    const char *const late = mot_transform_late_mix(call->transform);
    for (uint32_t i = 0; i < call->transform->stages; i++) {
        const motley_policy *policy = call->transform->stage[i].policy;
        if (policy && call->transform->plain && (policy->takes_boxes || policy->runs_customs))
            return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                            "policy '%s' %s, and dst is no U8: want dst as U8, or an output of params in its place",
                            policy->name, policy->takes_boxes ? "works in the boxes of an image" : "has custom ops");
        if (policy && policy->takes_boxes)
            return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                            "policy '%s' has a stage with policy '%s', which works in the boxes of an image: want that "
                            "policy alone",
                            call->transform->name, policy->name);
    }
    MOT_REQUIRE(!late, error,
                "transform '%s': policy '%s' mixes chains of ops, want it before every other stage that draws ops",
                call->transform->name, late);
    return MOTLEY_OK;
}

motley_status mot_transform_check(const mot_transform_call *call, motley_error *error)
{
    const motley_batch *src = call->src, *dst = call->dst;
    MOT_REQUIRE(dst->count == src->count, error, "dst: count is %zu, want src's %zu", dst->count, src->count);
    MOT_TRY(check_policies(call, error));
    if (src->count == 0)
        return MOTLEY_OK;
    MOT_REQUIRE(src->dtype == MOTLEY_U8, error, "src: dtype is %d, want MOTLEY_U8", (int)src->dtype);
    MOT_REQUIRE(dst->channels == src->channels, error, "dst: channels is %" PRId32 ", want %s %" PRId32 "%s",
                dst->channels, call->transform->to_rgb ? "to_rgb's" : "src's", src->channels,
                dst->channels == 3 ? ", or a transform that begins with 'to_rgb: {}'" : "");
    MOT_TRY(mot_validate_alpha("dst", src, dst, error));
    MOT_TRY(check_output(call, error));
    return call->info->mix && !call->info->width ? check_one_size(call, error) : MOTLEY_OK;
}

/* Checks which fields are set. */
static motley_status check_params(const motley_context *context, const mot_transform_call *call, motley_error *error)
{
    const motley_apply_params *p = call->params;
    MOT_TRY(mot_apply_params_check("a policy with stages", MOT_TAKES_STEPS | MOT_TAKES_STAGES, p, error));
    MOT_REQUIRE(!p->output.batch.data, error, "params has an output, but what a policy with stages makes goes to dst");
    MOT_TRY(mot_samples_check(&p->samples, call->src->count, error));
    MOT_TRY(p->given ? MOTLEY_OK : mot_levels_check(call->info, &p->samples, call->src->count, error));
    MOT_REQUIRE(!p->steps == !p->step_counts, error, "only one of steps and step_counts is set, want both or neither");
    MOT_REQUIRE(!call->info->mix || p->mixed, error,
                "transform '%s' mixes images, want params.mixed, by which targets are mixed", call->transform->name);
    MOT_REQUIRE(!p->given_mixed == !(p->given && call->info->mix), error,
                p->given_mixed ? "given_mixed is set, want it with given draws of a transform that mixes"
                               : "given is set without given_mixed, but the transform mixes images");
    MOT_REQUIRE(!p->given_kernels || p->given, error, "given_kernels is set without given, whose blurs it is for");
    MOT_REQUIRE(!p->given == !p->given_steps && !p->given == !p->given_step_counts, error,
                "only some of given, given_steps and given_step_counts are set, want all three or none");
    MOT_REQUIRE(context->backend->transform || (!p->stream && !p->counter), error,
                "stream or counter is set, but the %s backend has neither", context->backend->name);
    MOT_REQUIRE(!p->counter || !(p->drawn || p->steps || p->mixed), error,
                "counter is set, and so is drawn, steps or mixed: the host does not know what is drawn by a counter");
    const bool levels = p->samples.levels && context->backend->transform; /* in device memory */
    MOT_REQUIRE(!levels || !(p->drawn || p->steps), error,
                "levels is set, and so is drawn or steps: the host does not know what is drawn by levels in device "
                "memory, want motley_draw with a copy of them");
    if ((p->counter || levels) && p->clip_frames > 1)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "%s is set, but transform '%s' is applied to clips, and so is drawn on the host",
                        p->counter ? "counter" : "levels", call->transform->name);
    return MOTLEY_OK;
}

/* Requires that call->followed, if there is any, can follow the images. */
static motley_status check_followed(const mot_transform_call *call, motley_error *error)
{
    const char *const why = call->info->mix                ? "mixes images"
                            : call->transform->facts.mixes ? "mixes chains of ops"
                                                           : NULL;
    if (mot_followed_any(&call->followed) && why)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "transform '%s' %s: nothing can follow it",
                        call->transform->name, why);
    return MOTLEY_OK;
}

motley_status mot_transform_check_run(motley_context *context, mot_transform_call *call, motley_error *error)
{
    const motley_batch *src = call->src;
    const motley_apply_params *p = call->params;
    MOT_TRY(check_params(context, call, error));
    MOT_TRY(mot_clips_check(p->clip_frames, src->count,
                            call->transform->facts.mixes ? "where chains of ops are mixed" : NULL, error));
    MOT_TRY(mot_followed_read(p->followed, src, &call->followed, error));
    MOT_TRY(check_followed(call, error));
    if (src->count == 0)
        return MOTLEY_OK;
    MOT_TRY(check_alignment(call->dst, error));
    MOT_TRY(mot_given_sizes_check(p, src, error));
    MOT_TRY(mot_check_array("given_max_steps", call->given_row, mot_times(src->count, sizeof *p->given_steps), error));
    if (p->given || !call->sides_checked) {
        for (size_t i = 0; i < src->count; i++)
            MOT_TRY(check_sizes(call, i, error));
        for (size_t i = 0; p->given && i < src->count; i++)
            MOT_TRY(check_given(call, i, error));
        MOT_TRY(check_kernels(call, error));
        call->sides_checked = !p->given;
    }
    return mot_validate_apart(src, call->dst, &context->scratch, error);
}

motley_status mot_transform_check_clips(const mot_transform_call *call, motley_error *error)
{
    const size_t frames = call->params->clip_frames;
    for (size_t i = 0; frames > 1 && i < call->src->count; i++) {
        const size_t begin = i - i % frames, most = call->info->max_steps;
        const mot_view a = mot_batch_view(call->dst, begin), b = mot_batch_view(call->dst, i);
        MOT_REQUIRE(a.width == b.width && a.height == b.height, error,
                    "image %zu comes out as %" PRId32 "x%" PRId32 ", but image %zu of its clip as %" PRId32 "x%" PRId32
                    ", want one size",
                    i, b.width, b.height, begin, a.width, a.height);
        MOT_REQUIRE(frames <= (size_t)(INT32_MAX / a.width / a.height), error,
                    "a clip has %zu frames of %" PRId32 "x%" PRId32 ", want at most 2^31-1 pixels", frames, a.width,
                    a.height);
        MOT_TRY(mot_clips_check_steps(i, call->draws.steps + i * most, call->draws.counts[i], begin,
                                      call->draws.steps + begin * most, call->draws.counts[begin], error));
    }
    return MOTLEY_OK;
}
