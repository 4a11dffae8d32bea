/* SPDX-License-Identifier: Apache-2.0 */
/* A whole call of steps that a policy draws or that are given: as one job, or in parts. In steady state it allocates
 * nothing, waits for nothing and reads nothing back. */
#include "dispatch/cuda/parts.h"

/* Chooses how a call runs, unless in parts, and counts its memory. */
static motley_status count_apply(mot_cuda_state *s, const mot_job *job, const mot_cuda_parts *parts,
                                 mot_cuda_steps *steps, mot_arena *slot, mot_arena *scratch, motley_error *error)
{
    *slot = mot_slot_begin(&s->chip, NULL);
    if (mot_cuda_has_parts(parts)) {
        *steps = (mot_cuda_steps){ 0 };
        return mot_cuda_count_apart(s, job, parts, slot, scratch, error);
    }
    *steps = mot_cuda_choose(s, job);
    mot_cuda_lay_out(steps, job, 0, NULL, slot, scratch);
    return MOTLEY_OK;
}

motley_status mot_cuda_workspace(void *state, const mot_job *job, size_t *bytes, motley_error *error)
{
    mot_cuda_state *const s = state;
    mot_cuda_steps steps;
    mot_arena slot = { 0 }, scratch = { 0 };
    if (job) {
        const mot_cuda_parts parts = mot_cuda_parts_of(job);
        MOT_TRY(count_apply(s, job, &parts, &steps, &slot, &scratch, error));
    }
    const int uploads = job && job->policy && !job->policy->runs_customs;
    *bytes = mot_pool_bytes(&s->pool, slot.bytes, scratch.bytes, uploads ? job->policy : NULL);
    return MOTLEY_OK;
}

static motley_status queue_apply(mot_cuda_call *call, const mot_job *job, motley_error *error)
{
    mot_cuda_state *const s = call->s;
    mot_cuda_steps steps;
    const mot_cuda_parts parts = mot_cuda_parts_of(job);
    mot_arena slot, scratch = { 0 };
    MOT_TRY(count_apply(s, job, &parts, &steps, &slot, &scratch, error));
    const int apart = mot_cuda_has_parts(&parts), by_tiles = steps.choice.route == MOT_ROUTE_TILES; /* unless apart */
    if (job->policy)
        MOT_TRY(mot_pool_policy(call, job->policy, &steps.tables, error));
    const int whole = !apart && (!by_tiles || steps.tiles.whole);
    const int alone = job->policy && !job->counter && !job->samples.levels && whole;
    MOT_TRY(mot_call_take(call, slot.bytes, scratch.bytes, alone, error));
    if (apart) {
        MOT_TRY(mot_cuda_run_apart(call, job, &parts, &steps, error));
    } else {
        mot_cuda_lay_out(&steps, job, 0, call->slot, &call->memory, &call->scratch);
        MOT_TRY(mot_cuda_queue_steps(call, job, &steps, NULL, error));
    }
    if (job->followed)
        MOT_TRY(mot_cuda_follow_plan(call, job, &steps.plan, steps.images[0],
                                     apart || by_tiles ? MOT_FOLLOW_WAITS_FIRST : MOT_FOLLOW_WAITS_LAST, error));
    s->last = (mot_cuda_report){ .count = job->count,
                                 .max_steps = job->max_steps,
                                 .steps = steps.plan.steps,
                                 .step_count = steps.plan.step_count,
                                 .images = job->src->images ? steps.images[0] : NULL };
    return MOTLEY_OK;
}

motley_status mot_cuda_run(void *state, const mot_job *job, motley_error *error)
{
    mot_cuda_call call;
    MOT_TRY(mot_call_begin(state, job->stream, &call, error));
    return mot_call_end(&call, queue_apply(&call, job, error), error);
}
