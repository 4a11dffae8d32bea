/* SPDX-License-Identifier: Apache-2.0 */
/* motley_transform_follower: derives a transform that draws the same as another one, but keeps only the stages that
 * move pixels. Each stage's draws have their own blocks of words, so removing a stage does not change the others. */
#include "base/error.h"
#include "base/params.h"
#include "base/values.h"
#include "motley/follow.h"
#include "policies/transform.h"
#include "policies/views.h"

#include <string.h>

/* Whether the follower keeps a stage. */
static bool follows(const mot_stage *stage, const motley_follower_params *params)
{
    return stage->kind <= MOT_STAGE_POLICY || (stage->kind == MOT_STAGE_ERASE && params->erase);
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

motley_status motley_transform_follower(const motley_transform *transform, const motley_follower_params *params,
                                        motley_transform **follower, motley_error *error)
{
    MOT_REQUIRE(follower, error, "follower is NULL, want a place for the result");
    *follower = NULL;
    MOT_READ_PARAMS(motley_follower_params, params, error);
    MOT_REQUIRE(transform, error, "transform is NULL, want one that was loaded");
    MOT_TRY(mot_transform_check_single(transform, error));
    MOT_TRY(mot_check_interpolation(params->interpolation, error));
    MOT_REQUIRE(params->channels >= 0 && params->channels <= 4, error, "channels is %d, want 1 to 4", params->channels);
    if (mot_transform_stage(transform, MOT_STAGE_MIX))
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "transform '%s' mixes images: nothing can follow it",
                        transform->name);
    motley_transform *made;
    MOT_TRY(mot_transform_copy(transform, &made, error));
    made->follower = true;
    made->to_rgb = false; /* masks have one channel */
    memcpy(made->fill, params->fill, sizeof made->fill);
    uint32_t kept = 0;
    motley_status status = MOTLEY_OK;
    for (uint32_t i = 0; i < made->stages; i++) {
        mot_stage stage = made->stage[i];
        made->stage[i] = (mot_stage){ 0 };
        if (!follows(&stage, params)) {
            mot_stage_clear(&stage);
            continue;
        }
        made->stage[kept] = stage;
        if (status == MOTLEY_OK)
            status = change(&made->stage[kept], params, error);
        kept++;
    }
    made->stages = kept;
    mot_transform_finish(made);
    if (status == MOTLEY_OK)
        *follower = made;
    else
        motley_transform_destroy(made);
    return status;
}
