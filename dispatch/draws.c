/* SPDX-License-Identifier: Apache-2.0 */
/* See draws.h. */
#include "augmentations/augmix.h"
#include "augmentations/jitter.h"
#include "augmentations/kernel_blur.h"
#include "augmentations/table.h"
#include "base/values.h"
#include "dispatch/request.h"
#include "policies/transform_draw.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

motley_status mot_draws_take(motley_context *context, size_t count, size_t most, bool placed, mot_host_draws *draws,
                             motley_error *error)
{
    const size_t steps = mot_times(count, most), places = placed ? count : 0;
    mot_kept *const kept = &context->draws[context->rounds_busy];
    *draws = (mot_host_draws){ .count = count, .most = most };
    MOT_TRY(mot_keep(kept,
                     mot_plus(mot_times(steps, sizeof *draws->steps + sizeof *draws->inside),
                              places * sizeof *draws->places + count * sizeof *draws->counts),
                     count, error));
    draws->steps = kept->memory;
    motley_place *const first = (motley_place *)(void *)(draws->steps + steps);
    draws->places = placed ? first : NULL;
    draws->inside = (mot_rect *)(void *)(first + places);
    draws->counts = (int32_t *)(void *)(draws->inside + steps);
    memset(draws->inside, 0, steps * sizeof *draws->inside);
    return MOTLEY_OK;
}

/* ---- of one image ---- */

/* Puts the weights of kernel blurs into their arguments, and gives the caller what he asked for. `row`: steps in a row
 * of params->steps. */
static void finish_draw(const mot_request *r, size_t i, const motley_place *place, mot_step *steps,
                        const mot_rect *inside, int32_t count, size_t row)
{
    const motley_apply_params *const p = r->params;
    for (int32_t s = 0; s < count; s++) {
        float half[MOTLEY_KERNEL_WEIGHTS] = { 0 };
        if (steps[s].op != MOTLEY_STEP_KERNEL_BLUR)
            continue;
        if (p->given_kernels)
            memcpy(half, p->given_kernels[i * mot_given_row(p, r->info) + (size_t)s], sizeof half);
        else
            mot_kernel_blur_weights(steps[s].value, (int)steps[s].arg.size, half);
        memcpy(steps[s].arg.u, half, sizeof half);
    }
    if (p->drawn && r->placed)
        p->drawn[i] = *place;
    if (!p->steps)
        return;
    p->step_counts[i] = count;
    for (int32_t s = 0; s < count; s++)
        p->steps[i * row + (size_t)s] = mot_step_inside(mot_transform_op(r->transform, steps[s].op), &steps[s],
                                                        inside ? inside[s] : (mot_rect){ 0, 0, 0, 0 });
}

int mot_draws_new(const mot_request *r, size_t i, motley_place *drawn, mot_step *steps)
{
    const mot_view src = mot_batch_view(r->src, i);
    const mot_drawn_sample sample = mot_sample_of(&r->samples, i, src.width, src.height, src.channels);
    const int count = r->placed ? mot_transform_draw(r->transform, &sample, drawn, steps)
                                : mot_transform_steps(r->transform, 0, &sample, src.width, src.height, steps);
    finish_draw(r, i, drawn, steps, NULL, count, r->info->max_steps);
    return count;
}

/* Makes the steps behind an image's last change nothing. */
static void end_draw(const mot_host_draws *draws, size_t i)
{
    for (size_t s = (size_t)draws->counts[i]; s < draws->most; s++)
        draws->steps[i * draws->most + s] = (mot_step){ .arg.flags = MOT_ARG_IDENTITY }; /* of any op */
}

motley_status mot_draws_make(motley_context *context, mot_request *r, motley_error *error)
{
    size_t most;
    mot_host_draws *const draws = &r->draws;
    MOT_TRY(mot_steps_room(r->transform, &r->samples, r->src->count, &most, error));
    MOT_TRY(mot_draws_take(context, r->src->count, most, r->placed, draws, error));
    for (size_t i = 0; i < draws->count; i++) {
        const mot_view v = mot_batch_view(r->src, i);
        mot_step *const steps = draws->steps + i * most;
        mot_rect *const inside = draws->inside + i * most;
        motley_place place;
        MOT_TRY(mot_draw_image(r->transform, &r->samples, i, v.width, v.height, v.channels, &place, steps, inside,
                               &draws->counts[i], context->boxes, error));
        finish_draw(r, i, &place, steps, inside, draws->counts[i], most);
        if (r->placed)
            draws->places[i] = place;
        end_draw(draws, i);
    }
    return MOTLEY_OK;
}

/* ---- given draws ---- */

void mot_draws_split_places(const motley_place *drawn, const motley_batch *src, motley_place *first, motley_place *last)
{
    for (size_t i = 0; i < src->count; i++) {
        const mot_view view = mot_batch_view(src, i);
        last[i] = mot_last_place(&drawn[i]);
        if (first)
            first[i] = mot_first_place(&drawn[i], view.width, view.height);
    }
}

bool mot_is_given(const motley_apply_params *p)
{
    return p->given || p->given_steps || p->given_step_counts;
}

size_t mot_given_row(const motley_apply_params *p, const motley_policy_info *info)
{
    return p->given_max_steps ? p->given_max_steps : info->max_steps;
}

/* The size of image i where its steps work on it. */
static mot_view stepped_view(const mot_request *r, size_t i)
{
    return mot_batch_view(r->placed ? r->dst : r->src, i);
}

/* Checks what is given besides the steps themselves. *most becomes the steps of the image that has most, if more. */
static motley_status check_counts(const mot_request *r, size_t *most, motley_error *error)
{
    const motley_apply_params *const p = r->params;
    const mot_transform *const t = r->transform;
    const size_t row = mot_given_row(p, r->info), n = r->src->count;
    MOT_REQUIRE(!p->steps || !(t->plain || t->facts.inside), error,
                "given_steps is set, and so is steps or step_counts: nothing is drawn");
    MOT_TRY(mot_check_array("given_max_steps", row, mot_times(n, sizeof *p->given_steps), error));
    for (size_t i = 0; i < n; i++) {
        const int32_t count = p->given_step_counts[i];
        MOT_REQUIRE(count >= 0 && (size_t)count <= row, error, "image %zu has %d steps, want 0 to %zu", i, count, row);
        MOT_REQUIRE(count == 0 || p->given_steps, error, "given_steps is NULL, but image %zu has %d steps", i, count);
        MOT_REQUIRE(t->stages == 0 || t->facts.inside || (size_t)count <= r->info->max_steps, error,
                    "image %zu has %d steps, but policy '%s' draws %zu at most", i, count, t->name, r->info->max_steps);
        *most = (size_t)count > *most ? (size_t)count : *most;
    }
    return MOTLEY_OK;
}

/* Checks the steps that are given to change the source of image i. */
static motley_status check_before(const mot_request *r, size_t i, int32_t before, motley_error *error)
{
    const motley_apply_params *const p = r->params;
    const motley_step *const steps = before ? &p->given_steps[i * mot_given_row(p, r->info)] : NULL;
    MOT_REQUIRE(before <= p->given_step_counts[i] && before <= r->transform->facts.before, error,
                "image %zu: %d of %d given steps change the source, want at most %d", i, before,
                p->given_step_counts[i], r->transform->facts.before);
    for (int32_t s = 0; s < before; s++) {
        const int op = steps[s].op;
        MOT_REQUIRE(op == MOTLEY_STEP_HUE || op == MOTLEY_STEP_PERMUTE || mot_is_change(op), error,
                    "image %zu, step %d has op %d, which changes no source", i, s, op);
    }
    return MOTLEY_OK;
}

/* Checks the place that is given for image i. */
static motley_status check_place(const mot_request *r, size_t i, motley_error *error)
{
    const motley_place *const at = &r->params->given[i];
    const mot_view src = mot_batch_view(r->src, i), to = stepped_view(r, i);
    MOT_REQUIRE(at->result_width == to.width && at->result_height == to.height, error,
                "image %zu: its result is given as %" PRId32 "x%" PRId32 ", but dst has %" PRId32 "x%" PRId32, i,
                at->result_width, at->result_height, to.width, to.height);
    if (r->transform->plain) {
        MOT_REQUIRE(at->crop.left == 0 && at->crop.top == 0 && at->crop.width == src.width &&
                        at->crop.height == src.height && at->width == src.width && at->height == src.height &&
                        at->left == 0 && at->top == 0 && !at->first.width && !at->beyond && !at->before &&
                        !at->flip_horizontal && !at->flip_vertical && at->boxes_count == 0,
                    error, "image %zu is given a crop, size, flip or erased box, but the policy has no stages", i);
        return MOTLEY_OK;
    }
    MOT_TRY(check_before(r, i, at->before, error));
    MOT_TRY(
        mot_check_place(at, i, (int32_t[]){ src.width, src.height }, r->erase ? MOTLEY_MAX_ERASED_BOXES : 0, error));
    for (int k = 0; k < 2; k++) {
        const motley_filter filter = k ? at->filter : at->first.filter;
        MOT_REQUIRE((unsigned)filter <= MOTLEY_FILTER_HAMMING, error,
                    "image %zu: the given filter is %d, want one of motley_filter", i, (int)filter);
    }
    MOT_REQUIRE(at->first.width == 0 || r->transform->facts.twice, error,
                "image %zu is given as resized twice, but the stages of policy '%s' resize it once", i,
                r->transform->name);
    MOT_REQUIRE(r->transform->facts.draws_sizes || mot_transform_stage(r->transform, MOT_STAGE_CENTER_CROP) ||
                    mot_transform_stage(r->transform, MOT_STAGE_RANDOM_CROP) ||
                    (at->left == 0 && at->top == 0 && at->width == to.width && at->height == to.height),
                error,
                "image %zu: the given size is %" PRId32 "x%" PRId32 ", and the window begins at (%" PRId32 ", %" PRId32
                "), want all of %" PRId32 "x%" PRId32,
                i, at->width, at->height, at->left, at->top, to.width, to.height);
    return MOTLEY_OK;
}

/* Whether a policy without stages can draw this op. */
static bool draws(const motley_policy *policy, int op)
{
    if (op < 0) /* mixes chains */
        return policy->augmix.width > 0;
    for (uint32_t i = 0; i < policy->spaces; i++)
        if (policy->space[i].op == op)
            return true;
    return false;
}

/* Checks step s of image i, which is in a chain that is mixed or not. */
static motley_status check_step(const mot_request *r, const motley_step *step, size_t i, int32_t s, bool chained,
                                motley_error *error)
{
    const mot_transform *const t = r->transform;
    const int op = step->op;
    const bool mixing = mot_step_mixes(op) || op == MOTLEY_STEP_MIX_BEGIN, custom = op >= MOT_OP_COUNT;
    const motley_op_info *const info = mot_transform_op(t, op);
    if (custom && !info)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "image %zu, step %d is custom op %d, which cannot be replayed without the policy that has it",
                        i, s, op);
    MOT_REQUIRE(info && (!t->plain || (!mot_step_of_stages(op) && op != MOTLEY_STEP_MIX_BEGIN)), error,
                "image %zu, step %d has op %d, want 0 to %d%s", i, s, op, MOT_OP_COUNT - 1,
                t->plain ? "" : ", MOTLEY_STEP_HUE, MOTLEY_STEP_KERNEL_BLUR or MOTLEY_STEP_PERMUTE");
    MOT_REQUIRE(t->stages == 0 || (t->plain ? draws(t->stage[0].policy, op) : !mixing || t->facts.mixes), error,
                "image %zu, step %d is %s, which policy '%s' does not draw", i, s, info->name, t->name);
    MOT_REQUIRE(!chained || mixing || (op >= 0 && !custom), error,
                "image %zu, step %d is not an op of the table, but is in a chain that is mixed", i, s);
    MOT_TRY(mot_fail_in(error, mot_validate_step(info, step, error), "image %zu, step %d: ", i, s));
    MOT_REQUIRE(op != MOTLEY_STEP_PERMUTE || step->values[0] == floor(step->values[0]), error,
                "image %zu, step %d: the order of channels is %g, want a whole number of 0 to 5", i, s,
                step->values[0]);
    MOT_REQUIRE(op != MOTLEY_STEP_KERNEL_BLUR || mot_is_kernel_size(step->values[1]), error,
                "image %zu, step %d: the kernel's size is %g, want an odd number of 3 to %d", i, s, step->values[1],
                MOTLEY_MAX_KERNEL);
    const int32_t *const at = step->inside;
    if (!(at[0] | at[1] | at[2] | at[3]))
        return MOTLEY_OK;
    const mot_view image = stepped_view(r, i);
    MOT_REQUIRE(at[0] >= 0 && at[1] >= 0 && at[0] < at[2] && at[1] < at[3] && at[2] <= image.width &&
                    at[3] <= image.height,
                error, "image %zu, step %d works inside (%d, %d, %d, %d), want a part of the image of %dx%d", i, s,
                at[0], at[1], at[2], at[3], image.width, image.height);
    MOT_REQUIRE(!chained && !mixing, error, "image %zu, step %d mixes, want the whole image, not (%d, %d, %d, %d)", i,
                s, at[0], at[1], at[2], at[3]);
    MOT_REQUIRE(op >= 0 && !custom, error, "image %zu, step %d is %s, want the whole image, not (%d, %d, %d, %d)", i, s,
                info->name, at[0], at[1], at[2], at[3]);
    return MOTLEY_OK;
}

/* Reads a step that is checked; the weights of a kernel blur are still to be set. */
static void read_step(const motley_step *from, mot_step *to)
{
    memset(to, 0, sizeof *to);
    to->op = from->op;
    to->level = from->level;
    to->value = from->values_count ? from->values[0] : 0;
    to->interpolation = (uint8_t)from->interpolation;
    memcpy(to->fill, from->fill, sizeof to->fill);
    if (to->op >= MOT_OP_COUNT)
        memcpy(to->arg.d, from->values, 3 * sizeof *to->arg.d);
    else if (to->op >= 0)
        mot_op_prepare(to->op, from->values, from->values_count, &to->arg);
    if (to->op == MOTLEY_STEP_KERNEL_BLUR)
        to->arg.size = (uint32_t)from->values[1];
}

/* Where the chains end that begin with step `first`; `first`: there are none. */
static int32_t end_of_chains(const motley_step *steps, int32_t first, int32_t count)
{
    int32_t end = first;
    for (int32_t s = first; s < count && steps[s].op != MOTLEY_STEP_MIX_BEGIN; s++)
        end = mot_step_mixes(steps[s].op) ? s + 1 : end;
    return end;
}

/* Reads the steps that are given for image i. */
static motley_status read_steps(mot_request *r, size_t i, mot_draw_facts *facts, motley_error *error)
{
    const motley_apply_params *const p = r->params;
    const mot_host_draws *const draws = &r->draws;
    const int32_t count = p->given_step_counts[i];
    const int most = r->transform->plain ? MOT_MAX_STEPS : MOT_MAX_TRANSFORM_STEPS;
    const motley_step *const given = count ? &p->given_steps[i * mot_given_row(p, r->info)] : NULL;
    int whole = 0;
    int32_t end = count ? end_of_chains(given, 0, count) : 0;
    for (int32_t s = 0, first = 0; s < count; s++) {
        const int32_t *const at = given[s].inside;
        const size_t place = i * draws->most + (size_t)s;
        if (given[s].op == MOTLEY_STEP_MIX_BEGIN) {
            first = s + 1;
            end = end_of_chains(given, first, count);
        }
        MOT_TRY(check_step(r, &given[s], i, s, s >= first && s < end, error));
        MOT_REQUIRE(end - first <= MOT_MAX_STEPS, error, "image %zu: chains of %d steps are given, want at most %d", i,
                    end - first, MOT_MAX_STEPS);
        read_step(&given[s], &draws->steps[place]);
        draws->inside[place] = (mot_rect){ at[0], at[1], at[2], at[3] };
        whole += at[0] >= at[2];
        facts->inside |= at[0] < at[2];
        facts->mixes |= end > first;
        facts->late |= given[s].op == MOTLEY_STEP_MIX_BEGIN;
        facts->customs |= given[s].op >= MOT_OP_COUNT;
    }
    MOT_REQUIRE(!r->transform->plain || end == 0 || end == count, error,
                "image %zu has steps after the last that mixes, want them in a chain", i);
    MOT_REQUIRE(whole <= most, error, "image %zu has %d steps besides those in parts of it, want 0 to %d", i, whole,
                most);
    draws->counts[i] = count;
    return MOTLEY_OK;
}

motley_status mot_draws_given(motley_context *context, mot_request *r, mot_draw_facts *facts, motley_error *error)
{
    const motley_apply_params *const p = r->params;
    mot_host_draws *const draws = &r->draws;
    size_t most = 1;
    MOT_TRY(check_counts(r, &most, error));
    MOT_TRY(mot_draws_take(context, r->src->count, most, r->placed, draws, error));
    for (size_t i = 0; i < draws->count; i++) {
        const mot_view src = mot_batch_view(r->src, i);
        if (p->given)
            MOT_TRY(check_place(r, i, error));
        const motley_place place = p->given ? p->given[i] : mot_whole_place(src.width, src.height);
        MOT_TRY(read_steps(r, i, facts, error));
        if (r->placed)
            draws->places[i] = place;
        finish_draw(r, i, &place, draws->steps + i * most, draws->inside + i * most, draws->counts[i],
                    r->info->max_steps);
        end_draw(draws, i);
    }
    return MOTLEY_OK;
}
