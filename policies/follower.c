/* SPDX-License-Identifier: Apache-2.0 */
/* motley_policy_follower: derives a policy that draws the same as another one but keeps only the steps, or of a policy
 * with stages the stages, that move pixels. Every decision of a draw has its own word, and every stage its own blocks
 * of words, so removing one does not change the others. */
#include "augmentations/table.h"
#include "base/error.h"
#include "base/params.h"
#include "base/values.h"
#include "motley/follow.h"
#include "policies/compile.h"
#include "policies/stage_keys.h"
#include "policies/transform.h"
#include "policies/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool follows(const mot_space *space, const motley_follower_params *params)
{
    const motley_shape shape = mot_op_table[space->op].info.shape;
    return shape == MOTLEY_SHAPE_WARP || (shape == MOTLEY_SHAPE_ERASE && params->erase);
}

/* Replaces the entries of ops that move no pixels by one identity entry, and points their steps to it. False when out
 * of memory. */
static bool leave_out(motley_policy *policy, const motley_follower_params *params)
{
    uint32_t place[MOT_MAX_SPACES], kept = 0, nothing = MOT_MAX_SPACES;
    for (uint32_t i = 0; i < policy->spaces; i++) {
        mot_space *space = &policy->space[i];
        if (!follows(space, params) && nothing < MOT_MAX_SPACES) {
            free(space->name);
            place[i] = nothing;
            continue;
        }
        if (!follows(space, params)) {
            char *name = strdup(mot_op_table[MOT_OP_NOTHING].info.name);
            if (!name)
                return false;
            free(space->name);
            *space = (mot_space){ .name = name, .op = MOT_OP_NOTHING, .minimum = -HUGE_VAL, .maximum = HUGE_VAL };
            nothing = kept;
        }
        space->fills = 0;
        place[i] = kept;
        const mot_space moved = *space;
        space->name = NULL;
        policy->space[kept++] = moved;
    }
    for (uint32_t i = kept; i < policy->spaces; i++)
        policy->space[i].name = NULL;
    policy->spaces = kept;
    for (uint32_t i = 0; i < policy->steps; i++) {
        mot_policy_step *step = &policy->step[i];
        step->space = place[step->space];
        if (step->space == nothing)
            step->level = (mot_level){ .kind = MOT_LEVEL_NONE };
    }
    return true;
}

/* Whether the follower keeps a stage. */
static bool keeps_stage(const mot_stage *stage, const void *user)
{
    const motley_follower_params *const params = user;
    return mot_stage_places(stage->kind) || stage->kind == MOT_STAGE_POLICY || stage->kind == MOT_STAGE_ONE_OF ||
           (stage->kind == MOT_STAGE_ERASE && params->erase);
}

static motley_status change_stage(mot_stage *stage, const motley_follower_params *params, motley_error *error)
{
    if (stage->kind <= MOT_STAGE_RESIZE) {
        stage->of.crop.filters = 1;
        stage->of.crop.filter[0] = (uint8_t)mot_interpolation_filter(params->interpolation);
    }
    if (stage->kind == MOT_STAGE_ERASE)
        stage->of.erase.fills = MOT_ERASE_CONST;
    if (!stage->policy)
        return MOTLEY_OK;
    motley_policy *made;
    MOT_TRY(motley_policy_follower(stage->policy, params, &made, error));
    motley_policy_destroy(stage->policy);
    stage->policy = made;
    return MOTLEY_OK;
}

static motley_status of_stages(const motley_policy *policy, const motley_follower_params *params,
                               motley_policy **follower, motley_error *error)
{
    if (policy->staged->info.mix)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "policy '%s' mixes images: nothing can follow it",
                        policy->staged->name);
    motley_policy *kept;
    MOT_TRY(mot_transform_keep(policy, keeps_stage, params, &kept, error));
    mot_transform *const made = kept->staged;
    made->follower = true;
    made->to_rgb = false; /* masks have one channel */
    memcpy(made->fill, params->fill, sizeof made->fill);
    motley_status status = MOTLEY_OK;
    for (uint32_t i = 0; i < made->stages && status == MOTLEY_OK; i++)
        status = change_stage(&made->stage[i], params, error);
    if (status == MOTLEY_OK) {
        mot_transform_finish(made);
        *follower = kept;
    } else {
        motley_policy_destroy(kept);
    }
    return status;
}

motley_status motley_policy_follower(const motley_policy *policy, const motley_follower_params *params,
                                     motley_policy **follower, motley_error *error)
{
    MOT_REQUIRE(follower, error, "follower is NULL, want a place for the result");
    *follower = NULL;
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    MOT_READ_PARAMS(motley_follower_params, params, error);
    MOT_TRY(mot_check_interpolation(params->interpolation, error));
    MOT_REQUIRE(params->channels >= 0 && params->channels <= 4, error, "channels is %d, want 1 to 4", params->channels);
    const mot_transform *const transform = mot_policy_transform(policy);
    if (!transform->plain)
        return of_stages(policy, params, follower, error);
    MOT_TRY(mot_transform_check_single(transform, error));
    policy = transform->stage[0].policy;
    if (policy->customs)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "policy '%s' has custom ops, and whether they move pixels is not known: nothing can follow it",
                        policy->name);
    if (policy->augmix.width)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "policy '%s' mixes %d chains, which may move pixels differently: nothing can follow it",
                        policy->name, policy->augmix.width);
    motley_policy *made;
    MOT_TRY(mot_policy_copy(policy, &made, error));
    if (!leave_out(made, params)) {
        motley_policy_destroy(made);
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the follower of policy '%s'", policy->name);
    }
    made->first_block = policy->first_block; /* by its place, which its own text does not say */
    made->interpolations = 1;
    made->interpolation[0] = (uint8_t)params->interpolation;
    /* A policy's fill is a colour; images with 1 or 2 channels get its luma and its alpha. */
    const int32_t channels = params->channels ? params->channels : 1;
    made->fills = 4;
    for (int c = 0; c < 4; c++)
        made->fill[c] = params->fill[channels >= 3 ? c : channels == 2 && c == 3];
    const motley_status status = mot_policy_compile(made, NULL, error);
    if (status == MOTLEY_OK)
        *follower = made;
    else
        motley_policy_destroy(made);
    return status;
}
