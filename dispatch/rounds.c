/* SPDX-License-Identifier: Apache-2.0 */
/* Batches whose images stop between their steps: at a custom op, which is the caller's function, at a step that works
 * in a part of the image, and at a step that needs the statistics of a whole clip. The host has their draws (draws.h).
 * In each round the backend first runs every image's steps up to its next stop. Then the stops run, each for all images
 * that are at it: a custom op gets the images, and the backend gets their parts or whole clips as a batch. */
#include "augmentations/ops.h"
#include "dispatch/clips.h"
#include "dispatch/draws.h"
#include "policies/draw.h"

#include <stdbool.h>
#include <string.h>

static const mot_step nothing = { .arg.flags = MOT_ARG_IDENTITY }; /* for any op */

/* The arrays of a call, in one block that the context keeps. */
typedef struct rounds {
    motley_context *context;
    const mot_job *job;
    const mot_host_draws *draws;
    const motley_batch *work; /* where the pixels are between the steps */
    mot_step *part;           /* the steps of one run, [count][steps of that run] */
    motley_image *images;     /* [count], and the next three: the sub-batch of one stop */
    uint64_t *ids;
    double (*values)[3];
    size_t *indices;
    int32_t *done; /* [count]: steps already done */
} rounds;

static motley_status reserve(rounds *call, motley_error *error)
{
    const size_t n = call->job->count, steps = n * call->draws->most;
    const size_t bytes = steps * sizeof(mot_step) + n * (sizeof(motley_image) + sizeof(uint64_t) + sizeof(double[3]) +
                                                         sizeof(size_t) + sizeof(int32_t));
    MOT_TRY(mot_keep(&call->context->rounds, bytes, n, error));
    call->part = call->context->rounds.memory;
    call->images = (motley_image *)(void *)(call->part + steps);
    call->ids = (uint64_t *)(void *)(call->images + n);
    call->values = (double(*)[3])(void *)(call->ids + n);
    call->indices = (size_t *)(void *)(call->values + n);
    call->done = (int32_t *)(void *)(call->indices + n);
    memset(call->done, 0, n * sizeof *call->done);
    return MOTLEY_OK;
}

/* Whether a step needs the statistics of a clip. */
static bool pools(const rounds *call, const mot_step *step)
{
    return call->job->clip_frames > 1 && mot_op_pools(step->op);
}

/* Whether image i stops at step s. */
static int stops(const rounds *call, size_t i, int32_t s)
{
    const mot_host_draws *const draws = call->draws;
    const size_t at = i * draws->most + (size_t)s;
    return draws->steps[at].op >= MOT_OP_COUNT || draws->inside[at].x0 < draws->inside[at].x1 ||
           pools(call, &draws->steps[at]);
}

/* Refuses clips whose statistics cannot be taken together. */
static motley_status check_clips(const rounds *call, motley_error *error)
{
    const mot_job *job = call->job;
    const mot_host_draws *const draws = call->draws;
    for (size_t i = 0; i < job->count; i++) {
        const size_t first = i - i % job->clip_frames;
        motley_image clip;
        if (i == first)
            MOT_TRY(mot_clips_image(call->work, first, job->clip_frames, &clip, error));
        MOT_TRY(mot_clips_check_steps(i, &draws->steps[i * draws->most], draws->counts[i], first,
                                      &draws->steps[first * draws->most], draws->counts[first], error));
    }
    return MOTLEY_OK;
}

/* The number of steps of image i from the first that is not done to its next stop. */
static int32_t steps_before_stop(const rounds *call, size_t i)
{
    int32_t end = call->done[i];
    while (end < call->draws->counts[i] && !stops(call, i, end))
        end++;
    return end - call->done[i];
}

/* Runs every image's steps up to its next stop. The last run gets `output`. */
static motley_status run_part(rounds *call, const motley_batch *src, const motley_batch *dst,
                              const motley_output *output, motley_error *error)
{
    const mot_job *job = call->job;
    size_t most = 0;
    for (size_t i = 0; i < job->count; i++) {
        const size_t own = (size_t)steps_before_stop(call, i);
        most = own > most ? own : most;
    }
    if (most == 0 && src == dst && !output)
        return MOTLEY_OK;
    const size_t width = most ? most : 1;
    for (size_t i = 0; i < job->count; i++) {
        const int32_t own = steps_before_stop(call, i);
        mot_step *to = &call->part[i * width];
        memcpy(to, &call->draws->steps[i * call->draws->most + (size_t)call->done[i]], (size_t)own * sizeof *to);
        for (size_t s = (size_t)own; s < width; s++)
            to[s] = nothing;
        call->done[i] += own;
    }
    mot_job part = mot_job_of(src, dst);
    part.output = output;
    part.steps = call->part;
    part.max_steps = width;
    part.stream = job->stream;
    part.mixes = job->mixes;
    return mot_job_run(call->context, &part, error);
}

/* The next step of image i if it is a stop, else NULL. */
static const mot_step *stop_of(const rounds *call, size_t i)
{
    const int32_t s = call->done[i];
    return s < call->draws->counts[i] && stops(call, i, s) ? &call->draws->steps[i * call->draws->most + (size_t)s]
                                                           : NULL;
}

/* Calls a custom op with the images whose next step it is. */
static motley_status call_custom(rounds *call, uint32_t custom, motley_error *error)
{
    const mot_job *job = call->job;
    const motley_custom_op *op = &job->policy->custom[custom].op;
    size_t n = 0;
    for (size_t i = 0; i < job->count; i++) {
        const mot_step *step = stop_of(call, i);
        if (!step || step->op != MOT_OP_COUNT + (int)custom)
            continue;
        const mot_view v = mot_batch_view(call->work, i);
        call->images[n] = (motley_image){ v.data, v.width, v.height, v.row, v.pixel, v.channel };
        call->indices[n] = i;
        call->ids[n] = mot_sample_id(&job->samples, i);
        memcpy(call->values[n], step->arg.d, sizeof call->values[n]);
        n++;
    }
    if (n == 0)
        return MOTLEY_OK;
    const motley_custom_batch batch = { .context = call->context,
                                        .count = n,
                                        .indices = call->indices,
                                        .ids = call->ids,
                                        .values = (const double(*)[3])call->values,
                                        .images = mot_batch_of_images(call->work, n, call->images),
                                        .stream = job->stream };
    motley_error own = { 0 };
    const motley_status status = op->run(op->user, &batch, &own);
    if (status != MOTLEY_OK)
        return mot_fail(error, status, own.message[0] ? "custom op '%s': %s" : "custom op '%s' failed%s", op->name,
                        own.message);
    for (size_t k = 0; k < n; k++)
        call->done[call->indices[k]]++;
    return MOTLEY_OK;
}

/* Runs call->part, a step for each of the first n of call->images, in place. */
static motley_status run_images(rounds *call, size_t n, motley_error *error)
{
    if (n == 0)
        return MOTLEY_OK;
    const motley_batch images = mot_batch_of_images(call->work, n, call->images);
    mot_job job = mot_job_of(&images, &images);
    job.steps = call->part;
    job.max_steps = 1;
    job.stream = call->job->stream;
    return mot_job_run(call->context, &job, error);
}

/* Runs the steps that work in a part of their image, in place: the parts are a batch of images. */
static motley_status run_inside(rounds *call, motley_error *error)
{
    const mot_job *job = call->job;
    size_t n = 0;
    for (size_t i = 0; i < job->count; i++) {
        const mot_step *step = stop_of(call, i);
        if (!step || step->op >= MOT_OP_COUNT || pools(call, step))
            continue;
        const mot_view v = mot_batch_view(call->work, i);
        const mot_rect at = call->draws->inside[i * call->draws->most + (size_t)call->done[i]];
        call->images[n] = (motley_image){
            v.data + at.y0 * v.row + at.x0 * v.pixel, at.x1 - at.x0, at.y1 - at.y0, v.row, v.pixel, v.channel
        };
        call->part[n++] = *step;
        call->done[i]++;
    }
    return run_images(call, n, error);
}

/* Runs the steps that need the statistics of a clip, in place: the clips are a batch of images. */
static motley_status run_clips(rounds *call, motley_error *error)
{
    const mot_job *job = call->job;
    size_t n = 0;
    for (size_t i = 0; job->clip_frames > 1 && i < job->count; i += job->clip_frames) {
        const mot_step *step = stop_of(call, i);
        if (!step || !pools(call, step))
            continue;
        MOT_TRY(mot_clips_image(call->work, i, job->clip_frames, &call->images[n], error));
        call->part[n++] = *step;
        for (size_t k = 0; k < job->clip_frames; k++)
            call->done[i + k]++;
    }
    return run_images(call, n, error);
}

static int all_done(const rounds *call)
{
    for (size_t i = 0; i < call->job->count; i++)
        if (call->done[i] + steps_before_stop(call, i) < call->draws->counts[i])
            return 0;
    return 1;
}

static motley_status run_all(rounds *call, motley_error *error)
{
    const mot_job *job = call->job;
    const motley_batch *from = job->src;
    while (!all_done(call)) {
        MOT_TRY(run_part(call, from, call->work, NULL, error));
        from = call->work;
        for (uint32_t custom = 0; job->policy && custom < job->policy->customs; custom++)
            MOT_TRY(call_custom(call, custom, error));
        MOT_TRY(run_inside(call, error));
        MOT_TRY(run_clips(call, error));
    }
    return run_part(call, from, job->dst, job->output, error);
}

/* Moves the followers by the images' steps, if the backend does that. */
static motley_status follow(const rounds *call, motley_error *error)
{
    mot_job job = *call->job;
    job.steps = call->draws->steps;
    job.inside = call->draws->inside;
    return call->context->backend->follow(call->context->state, &job, error);
}

int mot_rounds_needed(const mot_job *job)
{
    return !job->stages && (job->inside || job->clip_frames > 1 ||
                            (job->policy && (job->policy->runs_customs || job->policy->takes_boxes)));
}

motley_status mot_rounds_check(const motley_context *context, const mot_job *job, motley_error *error)
{
    const char *const alone = job->mixes ? "where chains of ops are mixed"
                              : job->inside || (job->policy && job->policy->takes_boxes)
                                  ? "where ops work in parts of images"
                                  : NULL;
    MOT_TRY(mot_clips_check(job->clip_frames, job->count, alone, error));
    if (job->counter || (job->samples.levels && context->backend->wait))
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "%s is set, but policy '%s' %s, and so is drawn on the host",
                        job->counter ? "counter" : "levels", job->policy->name,
                        job->policy->takes_boxes    ? "works in boxes"
                        : job->policy->runs_customs ? "has custom ops"
                                                    : "is applied to clips");
    MOT_REQUIRE(!context->rounds_busy, error,
                "a custom op's function applies %s%s%s, with custom ops, boxes or clips, on the context that called it",
                job->policy ? "policy '" : "given draws", job->policy ? job->policy->name : "", job->policy ? "'" : "");
    return context->backend->validate ? context->backend->validate(context->state, job, error) : MOTLEY_OK;
}

motley_status mot_rounds_run(motley_context *context, const mot_job *job, const mot_host_draws *draws,
                             motley_error *error)
{
    rounds call = { .context = context, .job = job, .draws = draws, .work = job->dst };
    motley_batch slots;
    if (!job->dst) {
        slots = mot_output_slots(&job->output->batch);
        call.work = &slots;
    }
    MOT_TRY(reserve(&call, error));
    if (job->clip_frames > 1)
        MOT_TRY(check_clips(&call, error));
    context->rounds_busy = 1;
    motley_status status = run_all(&call, error);
    if (status == MOTLEY_OK && job->followed && context->backend->follow)
        status = follow(&call, error);
    context->rounds_busy = 0;
    return status;
}
