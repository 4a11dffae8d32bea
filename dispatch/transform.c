/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of policies with stages: what each image draws, and how a call is prepared and run. */
#include "augmentations/kernel_blur.h"
#include "augmentations/table.h"
#include "dispatch/follow.h"
#include "dispatch/image.h"
#include "kernels/output.h"
#include "policies/transform_draw.h"
#include "policies/views.h"

#include <string.h>

/* ---- what an image draws ---- */

/* Puts the weights of a kernel blur into its argument: `given`, or as torchvision computes them. */
static void take_kernel(mot_step *step, const float *given)
{
    float half[MOTLEY_KERNEL_WEIGHTS] = { 0 };
    if (!given)
        mot_kernel_blur_weights(step->value, (int)step->arg.size, half);
    memcpy(step->arg.u, given ? given : half, sizeof half);
}

/* Draws image i, or reads its draws that are given; the caller gets them, too. */
static int draw_image(const mot_transform_call *call, size_t i, motley_place *drawn, mot_step *steps)
{
    const motley_apply_params *p = call->params;
    const mot_view src = mot_batch_view(call->src, i);
    const size_t most = call->info->max_steps, row = call->given_row;
    int count;
    if (p->given) {
        *drawn = p->given[i];
        count = p->given_step_counts[i];
        for (int s = 0; s < count; s++)
            mot_draws_read(&p->given_steps[i * row + (size_t)s], &steps[s]);
    } else {
        const mot_drawn_sample sample = mot_sample_of(&p->samples, i, src.width, src.height, src.channels);
        count = mot_transform_draw(call->transform, &sample, drawn, steps);
    }
    for (int s = 0; s < count; s++)
        if (steps[s].op == MOTLEY_STEP_KERNEL_BLUR)
            take_kernel(&steps[s], p->given_kernels ? p->given_kernels[i * row + (size_t)s] : NULL);
    if (p->drawn)
        p->drawn[i] = *drawn;
    if (p->steps) {
        p->step_counts[i] = count;
        for (int s = 0; s < count; s++)
            p->steps[i * most + (size_t)s] = mot_public_step(mot_step_info(steps[s].op), &steps[s]);
    }
    return count;
}

int mot_transform_draw_image(const mot_transform_call *call, size_t i, motley_place *drawn, mot_step *steps)
{
    const mot_host_draws *const known = &call->draws;
    if (!known->steps)
        return draw_image(call, i, drawn, steps);
    *drawn = known->places[i];
    if (known->counts[i] > 0) /* else there may be no room for any */
        memcpy(steps, known->steps + i * known->most, (size_t)known->counts[i] * sizeof *steps);
    return known->counts[i];
}

/* Makes the draws of all images before any is touched. */
static motley_status draw_all(motley_context *context, mot_transform_call *call, motley_error *error)
{
    const size_t most = call->info->max_steps;
    MOT_TRY(mot_draws_take(context, call->src->count, most, 1, &call->draws, error));
    for (size_t i = 0; i < call->src->count; i++)
        mot_draws_end(&call->draws, i, draw_image(call, i, &call->draws.places[i], call->draws.steps + i * most));
    return MOTLEY_OK;
}

/* ---- the call ---- */

static void make_table(mot_transform_call *call)
{
    const motley_dtype dtype = call->dst->dtype;
    const mot_stage *const stage = mot_transform_stage(call->transform, MOT_STAGE_OUTPUT);
    const mot_normalize none = { .std = { 1 } }, *const by = stage ? &stage->of.output : &none;
    call->as = (mot_output_as){ .dtype = (int32_t)dtype, .convention = (int32_t)by->convention };
    for (int c = 0; c < 4; c++) {
        const int at = by->values > 1 ? c : 0;
        mot_output_numbers(call->as.convention, by->mean[at], by->std[at], &call->as.mean[c], &call->as.std[c]);
    }
    mot_cpu_make_output(&call->as, call->dst->channels, call->table);
    for (int c = 0; call->erase && c < call->dst->channels; c++)
        call->erased[c] =
            call->transform->follower
                ? call->transform->fill[c]
                : mot_output_cast((float)call->erase->of.erase.value[call->erase->of.erase.values > 1 ? c : 0], dtype);
}

/* Draws how the images are mixed, before any image is touched. */
static motley_status draw_mix(const mot_transform_call *call, motley_error *error)
{
    const motley_apply_params *p = call->params;
    const size_t count = call->src->count;
    const mot_view one = mot_batch_view(call->dst, 0); /* all have its size */
    if (!p->given_mixed)
        return motley_mix_draw(call->info->mix, &p->samples, count, one.width, one.height, p->mixed, error);
    memcpy(p->mixed, p->given_mixed, count * sizeof *p->mixed);
    return mot_mix_check_drawn(p->mixed, count, one.width, one.height, error);
}

/* Transforms the images, and moves what follows them, on the host. */
static motley_status run_on_host(motley_context *context, mot_transform_call *call, motley_error *error)
{
    const motley_apply_params *p = call->params;
    mot_job job = mot_job_of(call->src, call->dst);
    job.stages = call;
    job.max_steps = call->info->max_steps;
    job.clip_frames = p->clip_frames;
    job.followed = mot_followed_any(&call->followed) ? &call->followed : NULL;
    return mot_run_drawn(context, &job, &call->draws, p->given ? p->given_steps : p->steps,
                         p->given ? call->given_row : call->info->max_steps, error);
}

motley_status mot_transform_read(const mot_transform *transform, const motley_batch *src, mot_kept *table,
                                 motley_batch *read, motley_error *error)
{
    if (transform->to_rgb)
        return mot_batch_as_rgb(src, table, read, error);
    MOT_TRY(mot_validate_batch("src", src, error));
    *read = *src;
    return MOTLEY_OK;
}

motley_status mot_transform_prepare(const mot_transform *transform, const motley_batch *src, const motley_batch *dst,
                                    mot_transform_call *call, motley_error *error)
{
    *call = (mot_transform_call){
        .transform = transform, .info = &transform->info, .src = src, .dst = dst, .erase = transform->facts.erase
    };
    MOT_TRY(mot_transform_check_single(transform, error));
    MOT_TRY(mot_transform_check(call, error));
    if (src->count == 0)
        return MOTLEY_OK;
    make_table(call);
    return MOTLEY_OK;
}

motley_status mot_transform_run(motley_context *context, mot_transform_call *call, const motley_apply_params *params,
                                motley_error *error)
{
    motley_apply_params own = *params;
    own.samples.bands = mot_batch_bands(call->src) > 1;
    if (!call->info->takes_levels || params->given)
        own.samples.levels = NULL; /* which nothing may read: perhaps it is in device memory */
    call->params = params = &own;
    call->draws = (mot_host_draws){ 0 };
    call->given_row = params->given_max_steps ? params->given_max_steps : call->info->max_steps;
    MOT_TRY(mot_transform_check_run(context, call, error));
    if (call->src->count == 0)
        return MOTLEY_OK;
    if (call->info->mix)
        MOT_TRY(draw_mix(call, error));
    if (params->given || params->clip_frames > 1 || (mot_followed_any(&call->followed) && !context->backend->transform))
        MOT_TRY(draw_all(context, call, error));
    MOT_TRY(mot_transform_check_clips(call, error));
    if (context->backend->transform)
        return context->backend->transform(context->state, call, error);
    MOT_TRY(run_on_host(context, call, error));
    return call->info->mix ? motley_mix_apply(context, call->dst, call->dst, params->mixed, NULL, error) : MOTLEY_OK;
}

motley_status mot_transform_apply(motley_context *context, const mot_transform *transform, const motley_batch *src,
                                  const motley_batch *dst, const motley_apply_params *params, motley_error *error)
{
    motley_batch read;
    mot_transform_call call;
    MOT_TRY(mot_transform_in_epoch(context, &transform, params, error));
    MOT_TRY(mot_transform_read(transform, src, &context->rgb, &read, error));
    MOT_TRY(mot_validate_batch("dst", dst, error));
    MOT_TRY(mot_transform_prepare(transform, &read, dst, &call, error));
    return mot_transform_run(context, &call, params, error);
}
