/* SPDX-License-Identifier: Apache-2.0 */
/* See follow.h. */
#include "dispatch/cuda/follow.h"

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

motley_status mot_cuda_follow_plan(mot_cuda_state *s, const mot_job *job, const motley_image *images,
                                   mot_follow_waits waits, cudaStream_t stream, motley_error *error)
{
    const mot_follow_job follow = { .count = (int32_t)job->count,
                                    .max_steps = (int32_t)job->max_steps,
                                    .steps = s->now.plan.steps,
                                    .step_count = s->now.plan.step_count,
                                    .src = mot_cuda_batch_of(job->src, images),
                                    .followed = *job->followed,
                                    .waits = s->chip.overlaps ? waits : MOT_FOLLOW_BEGINS_AFTER };
    CUDA_TRY(mot_follow_launch(&follow, stream), "launching the kernel that moves boxes and points");
    return MOTLEY_OK;
}

static motley_status queue(mot_cuda_state *s, const mot_job *job, cudaStream_t stream, motley_error *error)
{
    MOT_TRY(mot_cuda_reserve_batch(s, job->count, job->max_steps, stream, error));
    mot_cuda_take_space(s);
    mot_cuda_batch src;
    MOT_TRY(mot_cuda_send_batch(job->src, s->now.images, stream, &src, error));
    CUDA_TRY(mot_cuda_send(s->now.plan.steps, job->steps, job->count * job->max_steps * sizeof(mot_step), stream),
             "sending the steps");
    CUDA_TRY(mot_cuda_fill(s->now.plan.step_count, (int32_t)job->max_steps, job->count, stream),
             "sending the numbers of steps");
    return mot_cuda_follow_plan(s, job, s->now.images, MOT_FOLLOW_WAITS_FIRST, stream, error);
}

motley_status mot_cuda_follow(void *state, const mot_job *job, motley_error *error)
{
    mot_cuda_work work;
    MOT_TRY(mot_cuda_begin(state, job->stream, &work, error));
    return mot_cuda_end(&work, queue(state, job, work.stream, error), error);
}
