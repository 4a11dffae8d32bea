/* SPDX-License-Identifier: Apache-2.0 */
/* motley_draw: what each sample draws, in the ops' units. */
#include "policies/transform_draw.h"
#include "policies/views.h"

#include "base/error.h"
#include "base/values.h"
#include "motley/apply.h"

#include <stdlib.h>
#include <string.h>

motley_step mot_public_step(const motley_op_info *info, const mot_step *step)
{
    motley_step out = { .op = step->op, .level = step->level };
    out.interpolation = (motley_interpolation)step->interpolation;
    memcpy(out.fill, step->fill, sizeof out.fill);
    if (info->values_max > 0) {
        out.values[0] = step->value;
        out.values_count = 1;
    }
    if (info->shape == MOTLEY_SHAPE_CUSTOM || info->shape == MOTLEY_SHAPE_ERASE) { /* more values were drawn */
        out.values_count = info->shape == MOTLEY_SHAPE_CUSTOM ? 3 : info->values_max;
        memcpy(out.values + 1, step->arg.d + 1, (size_t)(out.values_count - 1) * sizeof *out.values);
    }
    if (step->op == MOTLEY_STEP_KERNEL_BLUR)
        out.values[out.values_count++] = step->arg.size;
    return out;
}

motley_step mot_step_inside(const motley_op_info *info, const mot_step *step, mot_rect inside)
{
    motley_step out = mot_public_step(info, step);
    const int32_t sides[4] = { inside.x0, inside.y0, inside.x1, inside.y1 };
    memcpy(out.inside, sides, sizeof sides);
    return out;
}

_Static_assert(sizeof(mot_arg) == 64 && sizeof(mot_step) == 96,
               "as on the device, which gets them as bytes: dispatch/cuda/draw.cu asserts the same");
_Static_assert(MOT_POLICY_BLOCKS <= 1 << MOT_VIEW_SHIFT, "a view's blocks must not run into the next view's");
_Static_assert(2 + 2 * MOT_MAX_BRANCH_STEPS <= MOT_BLOCKS_PER_REPETITION,
               "a repetition's blocks must not run into the next repetition's");
_Static_assert(MOT_BLOCKS_PER_CHAIN *MOT_MAX_CHAINS <= MOT_POLICY_BLOCKS,
               "the blocks of all chains must fit into the policy's");
_Static_assert(2 + 2 * MOT_MAX_BRANCH_STEPS < MOT_AUGMIX_BLOCK && MOT_AUGMIX_BLOCK < MOT_BLOCKS_PER_REPETITION,
               "a chain's share must have a block that no step of its first repetition uses");
_Static_assert(MOT_MAX_REPEAT <= MOT_MAX_WALK, "the blocks of all repetitions must fit into the policy's");

motley_status mot_samples_check(const motley_samples *samples, size_t count, motley_error *error)
{
    MOT_TRY(mot_check_count("count", count, error));
    MOT_REQUIRE(samples->epoch < 1u << 30, error, "epoch is %u, want under 2^30", samples->epoch);
    MOT_REQUIRE(samples->view <= MOT_MAX_VIEW, error, "view is %u, want at most %u", samples->view, MOT_MAX_VIEW);
    for (size_t i = 0; samples->views && i < count; i++)
        MOT_REQUIRE(samples->views[i] <= MOT_MAX_VIEW, error, "sample %zu: view is %u, want at most %u", i,
                    samples->views[i], MOT_MAX_VIEW);
    return MOTLEY_OK;
}

motley_status mot_levels_check(const motley_policy_info *policy, const motley_samples *samples, size_t count,
                               motley_error *error)
{
    MOT_REQUIRE(!policy->takes_levels || samples->levels || count == 0, error,
                "policy '%s' takes a given level: want levels, a number from 0 to 1 for each of %zu images",
                policy->name, count);
    return MOTLEY_OK;
}

/* motley_draw, checked but for what depends on the transform. */
static motley_status draw_samples(const mot_transform *transform, const motley_samples *samples, size_t count,
                                  const int32_t *widths, const int32_t *heights, int32_t channels, motley_place *places,
                                  motley_step *steps, int32_t *step_counts, motley_error *error)
{
    mot_step own[MOT_MAX_TRANSFORM_STEPS], *drawn = own;
    mot_rect *inside = NULL;
    mot_kept scratch[2] = { { 0 } };
    size_t room;
    MOT_TRY(mot_transform_check_single(transform, error));
    MOT_TRY(mot_levels_check(&transform->info, samples, count, error));
    MOT_TRY(mot_boxes_check(transform, samples, count, false, error));
    MOT_TRY(mot_steps_room(transform, samples, count, &room, error));
    if (transform->facts.takes_boxes) {
        if (!(drawn = malloc((room + 1) * (sizeof *drawn + sizeof *inside))))
            return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu steps", room);
        inside = (mot_rect *)(void *)(drawn + room);
    }
    motley_status status = MOTLEY_OK;
    for (size_t i = 0; i < count && status == MOTLEY_OK; i++) {
        motley_place place;
        status = mot_draw_image(transform, samples, i, widths[i], heights[i], transform->to_rgb ? 3 : channels,
                                places ? &places[i] : &place, drawn, inside, &step_counts[i], scratch, error);
        for (int32_t s = 0; status == MOTLEY_OK && s < step_counts[i]; s++)
            steps[i * room + (size_t)s] = mot_step_inside(mot_transform_op(transform, drawn[s].op), &drawn[s],
                                                          inside ? inside[s] : (mot_rect){ 0, 0, 0, 0 });
    }
    free(scratch[0].memory);
    free(scratch[1].memory);
    if (drawn != own)
        free(drawn);
    return status;
}

motley_status motley_draw(const motley_policy *policy, const motley_samples *samples, size_t count,
                          const int32_t *widths, const int32_t *heights, int32_t channels, motley_place *places,
                          motley_step *steps, int32_t *step_counts, motley_error *error)
{
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    MOT_REQUIRE(samples, error, "samples is NULL, want a seed and sample ids");
    MOT_TRY(mot_samples_check(samples, count, error));
    MOT_REQUIRE(channels >= 1 && channels <= 4, error, "channels is %d, want 1 to 4", channels);
    MOT_REQUIRE(count == 0 ||
                    (widths && heights && step_counts && (steps || !motley_policy_describe(policy)->max_steps)),
                error, "%s is NULL, want an array of %zu samples",
                !widths    ? "widths"
                : !heights ? "heights"
                : !steps   ? "steps"
                           : "step_counts",
                count);
    for (size_t i = 0; i < count; i++)
        MOT_TRY(mot_fail_in(error, mot_check_size(widths[i], heights[i], error), "sample %zu: ", i));

    motley_policy *plain;
    MOT_TRY(motley_policy_at(policy, samples->epoch, &plain, error));
    const motley_status status = draw_samples(mot_policy_transform(plain), samples, count, widths, heights, channels,
                                              places, steps, step_counts, error);
    motley_policy_destroy(plain);
    return status;
}
