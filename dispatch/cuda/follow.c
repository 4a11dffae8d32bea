/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and points that move with a batch, queued after its images. */
#include "base/values.h"
#include "dispatch/cuda/state.h"
#include "dispatch/request.h"

motley_status mot_cuda_check_followed(void *state, const motley_followed *followed, motley_error *error)
{
    const int boxes = followed->boxes_count > 0, points = followed->points_count > 0;
    const struct {
        const char *name;
        const void *memory;
    } arrays[] = { { "followed boxes", boxes ? followed->boxes : NULL },
                   { "followed box_offsets", boxes ? followed->box_offsets : NULL },
                   { "followed visibility", boxes ? followed->visibility : NULL },
                   { "followed keep", boxes ? followed->keep : NULL },
                   { "followed points", points ? followed->points : NULL },
                   { "followed point_offsets", points ? followed->point_offsets : NULL },
                   { "followed flags", points ? followed->flags : NULL },
                   { "followed matrices", followed->matrices } };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        MOT_TRY(mot_cuda_check_pointer(state, arrays[i].name, arrays[i].memory, error));
    for (size_t k = 0; k < followed->planes_count; k++) {
        const motley_planes *const planes = &followed->planes[k];
        const void *const src = planes->images ? planes->images : planes->src;
        MOT_TRY(mot_cuda_check_pointer(state, "followed planes", src, error));
        MOT_TRY(mot_cuda_check_pointer(state, "followed planes", planes->images ? NULL : planes->dst, error));
    }
    return MOTLEY_OK;
}

/* Queues the kernel that moves planes, or the one for boxes and points if `planes` is NULL. */
static motley_status queue_one(mot_cuda_call *call, mot_follow_job *job, const motley_planes *planes,
                               mot_follow_waits waits, motley_error *error)
{
    const int last = waits == MOT_FOLLOW_WAITS_LAST;
    const mot_node node = { .reads = MOT_NUMBERS | MOT_STEPS | MOT_PLACES | MOT_SENT,
                            .writes = MOT_NUMBERS,
                            .waits = last ? MOT_WAITS_LAST : MOT_WAITS_FIRST,
                            .early = planes ? 0 : MOT_NUMBERS };
    MOT_TRY(mot_call_next(call, &node, error));
    job->waits = call->overlap ? waits : MOT_FOLLOW_BEGINS_AFTER;
    if (planes)
        return mot_cuda_try(mot_planes_launch(job, planes, call->lane), "launching the kernel that moves planes",
                            error);
    return mot_cuda_try(mot_follow_launch(job, call->lane), "launching the kernel that moves boxes and points", error);
}

motley_status mot_cuda_follow_queue(mot_cuda_call *call, mot_follow_job *job, mot_follow_waits waits,
                                    motley_error *error)
{
    const motley_followed *const followed = &job->followed;
    if (followed->boxes_count > 0 || followed->points_count > 0 || followed->matrices)
        MOT_TRY(queue_one(call, job, NULL, waits, error));
    for (size_t k = 0; k < followed->planes_count; k++)
        if (followed->planes[k].images || followed->planes[k].count > 0)
            MOT_TRY(queue_one(call, job, &followed->planes[k], waits, error));
    return MOTLEY_OK;
}

motley_status mot_cuda_follow_plan(mot_cuda_call *call, const mot_job *job, const mot_cuda_plan *plan,
                                   const motley_image *images, mot_follow_waits waits, motley_error *error)
{
    mot_follow_job follow = { .count = (int32_t)job->count,
                              .max_steps = (int32_t)job->max_steps,
                              .steps = plan->steps,
                              .step_count = plan->step_count,
                              .src = mot_cuda_batch_of(job->src, images),
                              .followed = *job->followed };
    return mot_cuda_follow_queue(call, &follow, waits, error);
}

/* Lays out the memory of a call that only moves what follows. */
static mot_follow_job lay_out_follow(const mot_job *job, motley_image **images, mot_arena *scratch)
{
    const size_t n = job->count, steps = n * job->max_steps;
    mot_follow_job follow = { .count = (int32_t)n, .max_steps = (int32_t)job->max_steps, .followed = *job->followed };
    follow.steps = mot_take(scratch, MOT_STEPS, steps * sizeof *follow.steps);
    follow.inside = mot_take(scratch, MOT_STEPS, steps * sizeof *follow.inside);
    follow.places = mot_take_if(job->request != NULL, scratch, MOT_PLACES, n * sizeof *follow.places);
    follow.first = mot_take_if(job->request && job->request->transform->facts.twice, scratch, MOT_PLACES,
                               n * sizeof *follow.first);
    *images = mot_take_if(job->src->images != NULL, scratch, MOT_SENT, n * sizeof **images);
    return follow;
}

/* Sends the places, and what comes before them. */
static motley_status send_places(mot_cuda_call *call, const mot_job *job, const mot_follow_job *follow,
                                 motley_error *error)
{
    const motley_place *const drawn = job->request->draws.places;
    const size_t n = job->count, bytes = n * sizeof *drawn;
    MOT_TRY(mot_pool_reserve_host(&call->s->pool, 2 * bytes, error));
    motley_place *const last = call->s->pool.host.memory, *const first = last + n;
    mot_draws_split_places(drawn, job->src, follow->first ? first : NULL, last);
    if (follow->first)
        MOT_TRY(mot_call_send(call, MOT_PLACES, (void *)follow->first, first, bytes, "sending the places", error));
    return mot_call_send(call, MOT_PLACES, (void *)follow->places, last, bytes, "sending the places", error);
}

static motley_status queue_follow(mot_cuda_call *call, const mot_job *job, motley_error *error)
{
    motley_image *images;
    mot_arena counted = { 0 };
    lay_out_follow(job, &images, &counted);
    MOT_TRY(mot_call_take(call, 0, counted.bytes, 0, error));
    mot_follow_job follow = lay_out_follow(job, &images, &call->scratch);
    const size_t steps = job->count * job->max_steps;
    MOT_TRY(mot_cuda_send_batch(call, job->src, images, &follow.src, error));
    MOT_TRY(mot_call_send(call, MOT_STEPS, (void *)follow.steps, job->steps, steps * sizeof *follow.steps,
                          "sending the steps", error));
    MOT_TRY(mot_call_send(call, MOT_STEPS, (void *)follow.inside, job->inside, steps * sizeof *follow.inside,
                          "sending the parts of images", error));
    if (job->request)
        MOT_TRY(send_places(call, job, &follow, error));
    return mot_cuda_follow_queue(call, &follow, MOT_FOLLOW_WAITS_FIRST, error);
}

motley_status mot_cuda_follow(void *state, const mot_job *job, motley_error *error)
{
    mot_cuda_call call;
    MOT_TRY(mot_call_begin(state, job->stream, &call, error));
    return mot_call_end(&call, queue_follow(&call, job, error), error);
}
