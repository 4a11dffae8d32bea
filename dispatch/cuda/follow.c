/* SPDX-License-Identifier: Apache-2.0 */
/* See follow.h. */
#include "dispatch/cuda/follow.h"
#include "dispatch/cuda/apply.h"
#include "dispatch/cuda/parts_draw.h"

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
        if (arrays[i].memory)
            MOT_TRY(mot_cuda_check_pointer(state, arrays[i].name, arrays[i].memory, error));
    return MOTLEY_OK;
}

motley_status mot_cuda_follow_plan(mot_cuda_call *call, const mot_job *job, const mot_cuda_plan *plan,
                                   const motley_image *images, mot_follow_waits waits, motley_error *error)
{
    const mot_follow_job follow = { .count = (int32_t)job->count,
                                    .max_steps = (int32_t)job->max_steps,
                                    .steps = plan->steps,
                                    .step_count = plan->step_count,
                                    .src = mot_cuda_batch_of(job->src, images),
                                    .followed = *job->followed,
                                    .waits = call->s->chip.overlaps ? waits : MOT_FOLLOW_BEGINS_AFTER };
    return mot_cuda_try(mot_follow_launch(&follow, call->stream), "launching the kernel that moves boxes and points",
                        error);
}

/* The memory of a call that moves boxes and points only. */
static mot_cuda_plan lay_out(const mot_job *job, motley_image **images, mot_arena *scratch)
{
    mot_cuda_plan plan = { .steps = mot_take(scratch, job->count * job->max_steps * sizeof(mot_step)) };
    plan.step_count = mot_take(scratch, job->count * sizeof(int32_t));
    *images = mot_take_if(job->src->images != NULL, scratch, job->count * sizeof(motley_image));
    return plan;
}

static motley_status queue(mot_cuda_call *call, const mot_job *job, motley_error *error)
{
    motley_image *images;
    mot_arena counted = { 0 };
    lay_out(job, &images, &counted);
    MOT_TRY(mot_call_take(call, 0, counted.bytes, 0, error));
    const mot_cuda_plan plan = lay_out(job, &images, &call->scratch);
    mot_cuda_batch src;
    MOT_TRY(mot_cuda_send_batch(job->src, images, call->stream, &src, error));
    CUDA_TRY(mot_cuda_send(plan.steps, job->steps, job->count * job->max_steps * sizeof(mot_step), call->stream),
             "sending the steps");
    CUDA_TRY(mot_cuda_fill(plan.step_count, (int32_t)job->max_steps, job->count, call->stream),
             "sending the numbers of steps");
    return mot_cuda_follow_plan(call, job, &plan, images, MOT_FOLLOW_WAITS_FIRST, error);
}

motley_status mot_cuda_follow(void *state, const mot_job *job, motley_error *error)
{
    mot_cuda_call call;
    MOT_TRY(mot_call_begin(state, job->stream, &call, error));
    return mot_call_end(&call, queue(&call, job, error), error);
}
