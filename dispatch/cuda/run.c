/* SPDX-License-Identifier: Apache-2.0 */
/* A whole call of steps that a policy draws or that are given: as one job, or in parts. In steady state it allocates
 * nothing, waits for nothing and reads nothing back. */
#include "dispatch/cuda/parts.h"
#include "dispatch/cuda/wide.h"
#include "kernels/cuda/interleave.h"

/* A job as it runs: bands that lie pixel by pixel become planes in the scratch, whose loops are several times as fast,
 * and the results go back. */
typedef struct planes_run {
    const mot_job *whole; /* the caller's */
    mot_job job;
    motley_batch planes;
    int splits;  /* src into planes */
    int in_them; /* the result is in them, too, and */
    int merges;  /* goes from there to dst, unless an output takes its place */
} planes_run;

/* Finds whether a job runs so; r does not move any more. */
static const mot_job *find_planes(planes_run *r, const mot_job *whole)
{
    const motley_batch *const src = whole->src, *const dst = whole->dst;
    *r = (planes_run){ .whole = whole, .job = *whole };
    r->splits = mot_batch_bands(src) > 1 && mot_cuda_format_of(src) == MOT_FORMAT_STRIDED && !src->images &&
                !(dst && dst->images);
    if (!r->splits)
        return whole;
    r->in_them = !dst || dst == src || mot_cuda_format_of(dst) == MOT_FORMAT_STRIDED;
    r->merges = dst && r->in_them && !(whole->output && whole->output->data == dst->data);
    r->planes = mot_batch_dense(src, src->count, src->width, src->height, NULL);
    r->planes.layout = MOTLEY_CHW;
    r->job.src = &r->planes;
    r->job.dst = r->in_them ? &r->planes : dst;
    return &r->job;
}

static void lay_out_planes(planes_run *r, mot_arena *scratch)
{
    const motley_batch *const b = &r->planes;
    if (r->splits)
        r->planes.data =
            mot_take(scratch, MOT_IMAGES, b->count * (size_t)b->channels * (size_t)b->width * (size_t)b->height);
}

static motley_status interleave(mot_cuda_call *call, const motley_batch *src, const motley_batch *dst,
                                motley_error *error)
{
    const mot_interleave_job job = { mot_cuda_batch_of(src, NULL), mot_cuda_batch_of(dst, NULL), src->channels };
    MOT_TRY(mot_call_next(call, &(mot_node){ .reads = MOT_IMAGES, .writes = MOT_IMAGES }, error));
    return mot_cuda_try(mot_interleave_launch(&job, call->lane), "launching the interleaving kernel", error);
}

static motley_status split(mot_cuda_call *call, const void *run, motley_error *error)
{
    const planes_run *const r = run;
    return interleave(call, r->whole->src, &r->planes, error);
}

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
    if (job && mot_batch_is_wide(job->src)) {
        mot_cuda_wide_count(s, job, &slot, &scratch);
    } else if (job) {
        planes_run planes;
        const mot_job *const own = find_planes(&planes, job);
        lay_out_planes(&planes, &scratch);
        const mot_cuda_parts parts = mot_cuda_parts_of(own);
        MOT_TRY(count_apply(s, own, &parts, &steps, &slot, &scratch, error));
    }
    const int uploads = job && job->policy && !job->policy->runs_customs;
    *bytes = mot_pool_bytes(&s->pool, slot.bytes, scratch.bytes, uploads ? job->policy : NULL);
    return MOTLEY_OK;
}

static motley_status queue_apply(mot_cuda_call *call, const mot_job *asked, motley_error *error)
{
    mot_cuda_state *const s = call->s;
    mot_cuda_steps steps;
    mot_arena slot, scratch = { 0 };
    planes_run planes;
    const mot_job *const job = find_planes(&planes, asked);
    lay_out_planes(&planes, &scratch);
    const mot_cuda_parts parts = mot_cuda_parts_of(job);
    MOT_TRY(count_apply(s, job, &parts, &steps, &slot, &scratch, error));
    const int apart = mot_cuda_has_parts(&parts), by_tiles = steps.choice.route == MOT_ROUTE_TILES; /* unless apart */
    if (job->policy)
        MOT_TRY(mot_pool_policy(call, job->policy, &steps.tables, error));
    const int whole = !apart && (!by_tiles || steps.tiles.whole);
    const int alone = job->policy && !job->counter && !job->samples.levels && whole;
    MOT_TRY(mot_call_take(call, slot.bytes, scratch.bytes, alone, error));
    lay_out_planes(&planes, &call->scratch);
    if (planes.splits)
        MOT_TRY(mot_call_late(call, split, &planes, error));
    if (apart) {
        MOT_TRY(mot_cuda_run_apart(call, job, &parts, &steps, error));
    } else {
        mot_cuda_lay_out(&steps, job, 0, call->slot, &call->memory, &call->scratch);
        MOT_TRY(mot_cuda_queue_steps(call, job, &steps, NULL, error));
    }
    if (planes.merges)
        MOT_TRY(interleave(call, &planes.planes, asked->dst, error));
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
    const motley_status status =
        mot_batch_is_wide(job->src) ? mot_cuda_wide_apply(&call, job, error) : queue_apply(&call, job, error);
    return mot_call_end(&call, status, error);
}
