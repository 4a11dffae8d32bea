/* SPDX-License-Identifier: Apache-2.0 */
/* motley_policy_follower of a policy with stages: it draws the same, but keeps only the stages that move pixels. Each
 * stage's draws have their own blocks of words, so removing a stage does not change the others. */
#include "base/error.h"
#include "base/values.h"
#include "motley/follow.h"
#include "policies/stage_keys.h"
#include "policies/views.h"

#include <string.h>

/* Whether the follower keeps a stage. */
static bool follows(const mot_stage *stage, const void *user)
{
    const motley_follower_params *const params = user;
    return mot_stage_places(stage->kind) || stage->kind == MOT_STAGE_POLICY || stage->kind == MOT_STAGE_ONE_OF ||
           (stage->kind == MOT_STAGE_ERASE && params->erase);
}

static motley_status change(mot_stage *stage, const motley_follower_params *params, motley_error *error)
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

motley_status mot_transform_follower(const motley_policy *policy, const motley_follower_params *params,
                                     motley_policy **follower, motley_error *error)
{
    if (policy->staged->info.mix)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "policy '%s' mixes images: nothing can follow it",
                        policy->staged->name);
    motley_policy *kept;
    MOT_TRY(mot_transform_keep(policy, follows, params, &kept, error));
    mot_transform *const made = kept->staged;
    made->follower = true;
    made->to_rgb = false; /* masks have one channel */
    memcpy(made->fill, params->fill, sizeof made->fill);
    motley_status status = MOTLEY_OK;
    for (uint32_t i = 0; i < made->stages && status == MOTLEY_OK; i++)
        status = change(&made->stage[i], params, error);
    if (status == MOTLEY_OK) {
        mot_transform_finish(made);
        *follower = kept;
    } else {
        motley_policy_destroy(kept);
    }
    return status;
}
