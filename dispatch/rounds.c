/* SPDX-License-Identifier: Apache-2.0 */
/* Batches whose images stop between their steps: at a custom op, which is the caller's function, at a step that works
 * in a part of the image, and at a step that needs the statistics of a whole clip. The host draws, with the same bits
 * as the device, or the steps are given. In each round the backend first runs every image's steps up to its next stop.
 * Then the stops run, each for all images that are at it: a custom op gets the images, and the backend gets their parts
 * or whole clips as a batch. */
#include "augmentations/ops.h"
#include "dispatch/backend.h"
#include "dispatch/clips.h"
#include "policies/draw.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const mot_step nothing = { .arg.flags = MOT_ARG_IDENTITY }; /* for any op */

/* The arrays of a call, in one block that the context keeps. */
typedef struct rounds {
    motley_context *context;
    const mot_job *job;
    const motley_batch *work; /* where the pixels are between the steps */
    size_t room;              /* the most steps of an image */
    mot_step *drawn, *part;   /* [count][room]; `part`: the steps of one run, [count][steps of that run] */
    motley_image *images;     /* [count], and the next three: the sub-batch of one stop */
    uint64_t *ids;
    double (*values)[3];
    size_t *indices;
    mot_rect *inside;             /* [count][room] */
    int32_t *drawn_counts, *done; /* [count]: steps drawn, and steps already done */
} rounds;

static motley_status reserve(rounds *call, motley_error *error)
{
    const size_t n = call->job->count, steps = n * call->room;
    const size_t bytes =
        steps * (2 * sizeof(mot_step) + sizeof(mot_rect)) +
        n * (sizeof(motley_image) + sizeof(uint64_t) + sizeof(double[3]) + sizeof(size_t) + 2 * sizeof(int32_t));
    MOT_TRY(mot_keep(&call->context->rounds, bytes, n, error));
    call->drawn = call->context->rounds.memory;
    call->part = call->drawn + steps;
    call->images = (motley_image *)(void *)(call->part + steps);
    call->ids = (uint64_t *)(void *)(call->images + n);
    call->values = (double(*)[3])(void *)(call->ids + n);
    call->indices = (size_t *)(void *)(call->values + n);
    call->inside = (mot_rect *)(void *)(call->indices + n);
    call->drawn_counts = (int32_t *)(void *)(call->inside + steps);
    call->done = call->drawn_counts + n;
    return MOTLEY_OK;
}

static motley_status draw(rounds *call, motley_error *error)
{
    const mot_job *job = call->job;
    for (size_t i = 0; i < job->count; i++) {
        const mot_view v = mot_batch_view(job->src, i);
        mot_step *steps = &call->drawn[i * call->room];
        mot_rect *inside = &call->inside[i * call->room];
        call->done[i] = 0;
        if (!job->policy) {
            memcpy(steps, &job->steps[i * job->max_steps], call->room * sizeof *steps);
            if (job->inside)
                memcpy(inside, &job->inside[i * job->max_steps], call->room * sizeof *inside);
            else
                memset(inside, 0, call->room * sizeof *inside);
            size_t count = call->room;
            while (count > 0 && (steps[count - 1].arg.flags & MOT_ARG_IDENTITY))
                count--;
            call->drawn_counts[i] = (int32_t)count;
            continue;
        }
        MOT_TRY(mot_draw_image(job->policy, &job->samples, i, v.width, v.height, v.channels, steps, inside,
                               &call->drawn_counts[i], error));
        if (!job->drawn)
            continue;
        job->drawn_counts[i] = call->drawn_counts[i];
        for (int32_t s = 0; s < call->drawn_counts[i]; s++)
            job->drawn[i * call->room + (size_t)s] =
                mot_step_inside(motley_policy_op(job->policy, steps[s].op), &steps[s], inside[s]);
    }
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
    const size_t at = i * call->room + (size_t)s;
    return call->drawn[at].op >= MOT_OP_COUNT || call->inside[at].x0 < call->inside[at].x1 ||
           pools(call, &call->drawn[at]);
}

/* Refuses clips whose statistics cannot be taken together. */
static motley_status check_clips(const rounds *call, motley_error *error)
{
    const mot_job *job = call->job;
    for (size_t i = 0; i < job->count; i++) {
        const size_t first = i - i % job->clip_frames;
        motley_image clip;
        if (i == first)
            MOT_TRY(mot_clips_image(call->work, first, job->clip_frames, &clip, error));
        MOT_TRY(mot_clips_check_steps(i, &call->drawn[i * call->room], call->drawn_counts[i], first,
                                      &call->drawn[first * call->room], call->drawn_counts[first], error));
    }
    return MOTLEY_OK;
}

/* The number of steps of image i from the first that is not done to its next stop. */
static int32_t steps_before_stop(const rounds *call, size_t i)
{
    int32_t end = call->done[i];
    while (end < call->drawn_counts[i] && !stops(call, i, end))
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
        memcpy(to, &call->drawn[i * call->room + (size_t)call->done[i]], (size_t)own * sizeof *to);
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
    return s < call->drawn_counts[i] && stops(call, i, s) ? &call->drawn[i * call->room + (size_t)s] : NULL;
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
        const mot_rect at = call->inside[i * call->room + (size_t)call->done[i]];
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
        if (call->done[i] + steps_before_stop(call, i) < call->drawn_counts[i])
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
static motley_status follow(rounds *call, motley_error *error)
{
    for (size_t i = 0; i < call->job->count; i++)
        for (size_t s = 0; s < call->room; s++) {
            const size_t at = i * call->room + s;
            call->part[at] = s < (size_t)call->drawn_counts[i] ? call->drawn[at] : nothing;
        }
    mot_job job = *call->job;
    job.steps = call->part;
    job.inside = call->inside;
    job.max_steps = call->room;
    return call->context->backend->follow(call->context->state, &job, error);
}

motley_status mot_rounds_run(motley_context *context, const mot_job *job, motley_error *error)
{
    rounds call = { .context = context, .job = job, .work = job->dst, .room = job->max_steps };
    if (job->count == 0)
        return MOTLEY_OK;
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
    motley_batch slots;
    if (!job->dst) {
        slots = mot_output_slots(&job->output->batch);
        call.work = &slots;
    }
    if (context->backend->validate)
        MOT_TRY(context->backend->validate(context->state, job, error));
    MOT_TRY(reserve(&call, error));
    MOT_TRY(draw(&call, error));
    if (job->clip_frames > 1)
        MOT_TRY(check_clips(&call, error));
    context->rounds_busy = 1;
    motley_status status = run_all(&call, error);
    if (status == MOTLEY_OK && job->followed && context->backend->follow)
        status = follow(&call, error);
    context->rounds_busy = 0;
    return status;
}
