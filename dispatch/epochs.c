/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms whose numbers change with the epoch: what a call takes in their place. */
#include "dispatch/request.h"
#include "policies/schedule.h"

/* Requires that the host knows the epoch. */
static motley_status check_epoch(const mot_transform *transform, const motley_apply_params *params, motley_error *error)
{
    MOT_REQUIRE(
        !params->counter, error,
        "counter is set, but transform '%s' changes with the epoch, which then only the device knows: want what "
        "motley_policy_at returns for an epoch",
        transform->name);
    return MOTLEY_OK;
}

motley_status mot_epoch_follow(const mot_transform *transform, const motley_apply_params *params, mot_epoch_kept *kept,
                               bool *changed, motley_error *error)
{
    const uint32_t epoch = mot_schedule_begin(transform->schedule, params->samples.epoch);
    mot_transform *plain;
    MOT_TRY(check_epoch(transform, params, error));
    *changed = !kept->plain || kept->epoch != epoch;
    if (!*changed)
        return MOTLEY_OK;
    MOT_TRY(mot_transform_at(transform, epoch, &plain, error));
    mot_transform_destroy(kept->plain);
    *kept = (mot_epoch_kept){ plain, epoch };
    return MOTLEY_OK;
}

motley_status mot_transform_in_epoch(motley_context *context, const mot_transform **transform,
                                     const motley_apply_params *params, motley_error *error)
{
    const mot_transform *const of = *transform;
    const unsigned rooms = sizeof context->epochs / sizeof context->epochs[0];
    bool changed;
    if (!of->schedule)
        return MOTLEY_OK;
    const uint32_t epoch = mot_schedule_begin(of->schedule, params->samples.epoch);
    unsigned i = 0;
    while (i < rooms && !(context->epochs[i].of == of->fingerprint && context->epochs[i].kept.epoch == epoch &&
                          context->epochs[i].kept.plain))
        i++;
    if (i == rooms) { /* the oldest makes room */
        i = context->epochs_next++ % rooms;
        mot_transform_destroy(context->epochs[i].kept.plain);
        context->epochs[i].kept.plain = NULL;
        context->epochs[i].of = of->fingerprint;
    }
    MOT_TRY(mot_epoch_follow(of, params, &context->epochs[i].kept, &changed, error));
    *transform = context->epochs[i].kept.plain;
    return MOTLEY_OK;
}
