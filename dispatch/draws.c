/* SPDX-License-Identifier: Apache-2.0 */
/* See draws.h. */
#include "dispatch/draws.h"
#include "augmentations/table.h"
#include "base/values.h"

#include <string.h>

motley_status mot_draws_take(motley_context *context, size_t count, size_t most, int placed, mot_host_draws *draws,
                             motley_error *error)
{
    const size_t steps = mot_times(count, most), places = placed ? count : 0;
    mot_kept *const kept = &context->draws[context->rounds_busy];
    *draws = (mot_host_draws){ .count = count, .most = most };
    MOT_TRY(mot_keep(kept,
                     mot_plus(mot_times(steps, sizeof *draws->steps + sizeof *draws->inside),
                              places * sizeof *draws->places + count * sizeof *draws->counts),
                     count, error));
    draws->steps = kept->memory;
    motley_place *const first = (motley_place *)(void *)(draws->steps + steps);
    draws->places = placed ? first : NULL;
    draws->inside = (mot_rect *)(void *)(first + places);
    draws->counts = (int32_t *)(void *)(draws->inside + steps);
    memset(draws->inside, 0, steps * sizeof *draws->inside);
    return MOTLEY_OK;
}

void mot_draws_read(const motley_step *from, mot_step *to)
{
    memset(to, 0, sizeof *to);
    to->op = from->op;
    to->level = from->level;
    to->value = from->values_count ? from->values[0] : 0;
    to->interpolation = (uint8_t)from->interpolation;
    memcpy(to->fill, from->fill, sizeof to->fill);
    if (to->op >= 0)
        mot_op_prepare(to->op, from->values, from->values_count, &to->arg);
    if (to->op == MOTLEY_STEP_KERNEL_BLUR)
        to->arg.size = (uint32_t)from->values[1];
}

void mot_draws_end(const mot_host_draws *draws, size_t i, int32_t count)
{
    draws->counts[i] = count;
    for (size_t s = (size_t)count; s < draws->most; s++)
        draws->steps[i * draws->most + s] = (mot_step){ .arg.flags = MOT_ARG_IDENTITY }; /* of any op */
}

motley_status mot_draws_of_policy(motley_context *context, const mot_job *job, mot_host_draws *draws,
                                  motley_error *error)
{
    const size_t most = job->max_steps;
    MOT_TRY(mot_draws_take(context, job->count, most, 0, draws, error));
    for (size_t i = 0; i < job->count; i++) {
        const mot_view v = mot_batch_view(job->src, i);
        mot_step *const steps = draws->steps + i * most;
        mot_rect *const inside = draws->inside + i * most;
        int32_t count;
        MOT_TRY(mot_draw_image(job->policy, &job->samples, i, v.width, v.height, v.channels, steps, inside, &count,
                               &context->scratch, error));
        mot_draws_end(draws, i, count);
        if (!job->drawn)
            continue;
        job->drawn_counts[i] = count;
        for (int32_t s = 0; s < count; s++)
            job->drawn[i * most + (size_t)s] =
                mot_step_inside(motley_policy_op(job->policy, steps[s].op), &steps[s], inside[s]);
    }
    return MOTLEY_OK;
}
