/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded steps: checks them, prepares them, and runs them on the context's backend. */
#include "augmentations/table.h"
#include "base/values.h"
#include "dispatch/follow.h"
#include "policies/draw.h"

#include <string.h>

/* Prepares step `s` of image i in the backends' form. */
static motley_status prepare(const motley_step *step, size_t i, int32_t s, mot_step *out, motley_error *error)
{
    const motley_op_info *info = mot_step_info(step->op);
    if (step->op >= MOT_OP_COUNT)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "image %zu, step %d is custom op %d, which cannot be replayed",
                        i, s, step->op);
    MOT_REQUIRE(info && !mot_step_of_stages(step->op), error, "image %zu, step %d has op %d, want 0 to %d", i, s,
                step->op, MOT_OP_COUNT - 1);
    MOT_TRY(mot_fail_in(error, mot_validate_step(step, error), "image %zu, step %d: ", i, s));
    mot_draws_read(step, out);
    return MOTLEY_OK;
}

/* The part of image i that step `s` works in; empty: all of it. */
static motley_status read_inside(const mot_job *job, const motley_step *step, size_t i, int32_t s, mot_rect *inside,
                                 motley_error *error)
{
    const int32_t *at = step->inside;
    *inside = (mot_rect){ at[0], at[1], at[2], at[3] };
    if (!(at[0] | at[1] | at[2] | at[3]))
        return MOTLEY_OK;
    const mot_view image = mot_batch_view(job->src, i);
    MOT_REQUIRE(at[0] >= 0 && at[1] >= 0 && at[0] < at[2] && at[1] < at[3] && at[2] <= image.width &&
                    at[3] <= image.height,
                error, "image %zu, step %d works inside (%d, %d, %d, %d), want a part of the image of %dx%d", i, s,
                at[0], at[1], at[2], at[3], image.width, image.height);
    MOT_REQUIRE(step->op >= 0, error, "image %zu, step %d mixes, want the whole image, not (%d, %d, %d, %d)", i, s,
                at[0], at[1], at[2], at[3]);
    return MOTLEY_OK;
}

/* Prepares the steps of all images. Also sets job->mixes and, if steps work in parts of images, job->inside. */
static motley_status prepare_all(const motley_step *steps, const int32_t *counts, size_t max_steps, mot_job *job,
                                 const mot_host_draws *draws, motley_error *error)
{
    const size_t most = job->max_steps;
    for (size_t i = 0; i < job->count; i++) {
        int mixed = 0, whole = 0;
        for (int32_t s = 0; s < counts[i]; s++) {
            const motley_step *step = &steps[i * max_steps + (size_t)s];
            mot_rect *part = &draws->inside[i * most + (size_t)s];
            MOT_TRY(prepare(step, i, s, &draws->steps[i * most + (size_t)s], error));
            MOT_TRY(read_inside(job, step, i, s, part, error));
            if (part->x0 < part->x1)
                job->inside = draws->inside;
            else
                whole++;
            mixed = mixed || step->op < 0;
        }
        MOT_REQUIRE(!mixed || steps[i * max_steps + (size_t)counts[i] - 1].op < 0, error,
                    "image %zu has steps after the last that mixes, want them in a chain", i);
        job->mixes = job->mixes || mixed;
        MOT_REQUIRE(whole <= MOT_MAX_STEPS, error, "image %zu has %d steps besides those in parts of it, want 0 to %d",
                    i, whole, MOT_MAX_STEPS);
        MOT_REQUIRE(!mixed || whole == counts[i], error, "image %zu mixes chains of ops, want no steps in parts of it",
                    i);
        mot_draws_end(draws, i, counts[i]);
    }
    return MOTLEY_OK;
}

/* Whether a policy can draw this op. */
static int draws(const motley_policy *policy, int op)
{
    if (op < 0) /* mixes chains */
        return policy->augmix.width > 0;
    for (uint32_t i = 0; i < policy->spaces; i++)
        if (policy->space[i].op == op)
            return 1;
    return 0;
}

motley_status mot_given_sizes_check(const motley_apply_params *params, const motley_batch *src, motley_error *error)
{
    MOT_REQUIRE(!params->given_widths == !params->given_heights, error,
                "only one of given_widths and given_heights is set, want both or neither");
    for (size_t i = 0; params->given_widths && i < src->count; i++) {
        const mot_view image = mot_batch_view(src, i);
        MOT_REQUIRE(params->given_widths[i] == image.width && params->given_heights[i] == image.height, error,
                    "image %zu is %dx%d, but its steps were drawn for %dx%d", i, image.width, image.height,
                    params->given_widths[i], params->given_heights[i]);
    }
    return MOTLEY_OK;
}

/* Refuses steps that `policy` cannot draw. */
static motley_status check_origin(const motley_policy *policy, size_t count, const motley_step *steps,
                                  const int32_t *counts, size_t max_steps, motley_error *error)
{
    for (size_t i = 0; policy && i < count; i++) {
        MOT_REQUIRE(policy->takes_boxes || (size_t)counts[i] <= policy->tables.max_steps, error,
                    "image %zu has %d steps, but policy '%s' draws %zu at most", i, counts[i], policy->name,
                    (size_t)policy->tables.max_steps);
        for (int32_t s = 0; s < counts[i]; s++) {
            const int op = steps[i * max_steps + (size_t)s].op;
            const motley_op_info *info = mot_step_info(op);
            MOT_REQUIRE(!info || draws(policy, op), error, "image %zu, step %d is %s, which policy '%s' does not draw",
                        i, s, info->name, policy->name);
        }
    }
    return MOTLEY_OK;
}

/* Requires that given places, if there are any, are those of a policy without stages. */
static motley_status check_places(const motley_apply_params *params, const motley_batch *src, motley_error *error)
{
    for (size_t i = 0; params->given && i < src->count; i++) {
        const motley_place *at = &params->given[i];
        const mot_view image = mot_batch_view(src, i);
        MOT_REQUIRE(at->crop.left == 0 && at->crop.top == 0 && at->crop.width == image.width &&
                        at->crop.height == image.height && at->width == image.width && at->height == image.height &&
                        at->left == 0 && at->top == 0 && !at->flip_horizontal && !at->flip_vertical &&
                        at->boxes_count == 0,
                    error, "image %zu is given a crop, size, flip or erased box, but the policy has no stages", i);
    }
    return MOTLEY_OK;
}

/* Checks the given arrays but for the steps themselves. *most: the steps of the image that has most, at least 1. */
static motley_status check_given(const motley_context *context, const motley_batch *src,
                                 const motley_apply_params *params, size_t max_steps, size_t *most, motley_error *error)
{
    MOT_REQUIRE(context->backend->wait || !params->stream, error, "stream is set, but the %s backend has none",
                context->backend->name);
    MOT_REQUIRE(!params->counter && !params->steps && !params->step_counts, error,
                "given_steps is set, and so is counter, steps or step_counts: nothing is drawn");
    const int32_t *counts = params->given_step_counts;
    MOT_REQUIRE(counts || src->count == 0, error, "given_step_counts is NULL, want the number of steps of %zu images",
                src->count);
    MOT_TRY(mot_check_array("given_max_steps", max_steps, mot_times(src->count, sizeof *params->given_steps), error));
    *most = 1;
    for (size_t i = 0; i < src->count; i++) {
        MOT_REQUIRE(counts[i] >= 0 && (size_t)counts[i] <= max_steps, error, "image %zu has %d steps, want 0 to %zu", i,
                    counts[i], max_steps);
        MOT_REQUIRE(counts[i] == 0 || params->given_steps, error, "given_steps is NULL, but image %zu has %d steps", i,
                    counts[i]);
        *most = (size_t)counts[i] > *most ? (size_t)counts[i] : *most;
    }
    MOT_TRY(check_places(params, src, error));
    return mot_given_sizes_check(params, src, error);
}

motley_status mot_replay(motley_context *context, const motley_policy *policy, const motley_batch *src,
                         const motley_batch *dst, const motley_output *output, const motley_apply_params *params,
                         motley_error *error)
{
    const motley_step *steps = params->given_steps;
    const int32_t *counts = params->given_step_counts;
    const size_t max_steps = params->given_max_steps ? params->given_max_steps : policy ? policy->tables.max_steps : 0;
    size_t most = 1;
    MOT_TRY(check_given(context, src, params, max_steps, &most, error));
    if (src->count == 0)
        return MOTLEY_OK;
    MOT_TRY(check_origin(policy, src->count, steps, counts, max_steps, error));
    motley_followed followed;
    MOT_TRY(mot_followed_read(params->followed, src, &followed, error));
    mot_host_draws draws;
    MOT_TRY(mot_draws_take(context, src->count, most, 0, &draws, error));
    mot_job job = mot_job_of(src, dst);
    job.output = output;
    job.max_steps = most;
    job.stream = params->stream;
    job.clip_frames = params->clip_frames;
    job.followed = mot_followed_any(&followed) ? &followed : NULL;
    MOT_TRY(prepare_all(steps, counts, max_steps, &job, &draws, error));
    if (job.followed && job.mixes)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "the steps mix chains, each of which may move pixels elsewhere: nothing can follow them");
    if (mot_rounds_needed(&job))
        MOT_TRY(mot_rounds_check(context, &job, error));
    mot_whole_places(params, src);
    return mot_run_drawn(context, &job, &draws, steps, max_steps, error);
}
