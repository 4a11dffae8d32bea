/* SPDX-License-Identifier: Apache-2.0 */
/* Batches whose images stop between their steps: at a custom op, which is the caller's function, at a step that works
 * in a part of the image, at chains that begin behind other steps, and at a step that needs the statistics of a whole
 * clip. The host has their draws (draws.h). In each round the backend first runs every image's steps up to its next
 * stop. Then the stops run, each for all images that are at it: a custom op gets the images, and the backend gets their
 * parts or whole clips as a batch.
 *
 * Between the rounds the pixels are bytes, in dst, or in the first byte of each of its components; frames of clips that
 * are placed lie behind each other in memory of the context's. The first run also places the images, and the last one
 * makes the output of them, and erases boxes there.
 *
 * Frames of a clip that lie at equal distances are one image, whose statistics are those of the clip: each frame is one
 * of its rows, or the frames are one below the other. Ops that use statistics do not depend on where a pixel is. On the
 * GPU, cuda/parts.c does that for images that are placed. */
#include "augmentations/ops.h"
#include "base/values.h"
#include "dispatch/request.h"
#include "policies/draw.h"

#include <stdbool.h>
#include <string.h>

static const mot_step nothing = { .arg.flags = MOT_ARG_IDENTITY }; /* for any op */

/* The arrays of a call, in one block that the context keeps. */
typedef struct rounds {
    motley_context *context;
    const mot_request *request;
    const mot_job *job;
    const mot_host_draws *draws;
    motley_policy_info info;  /* the request's, without mixing */
    const motley_batch *work; /* where the pixels are between the steps */
    mot_step *part;           /* the steps of one run, [count][steps of that run] */
    motley_image *images;     /* [count], and the next three: the sub-batch of one stop */
    uint64_t *ids;
    double (*values)[3];
    size_t *indices;
    int32_t *done;         /* [count]: steps already done */
    int32_t *own;          /* [count]: steps of one run */
    bool begun;            /* the images are placed */
    motley_place *written; /* [count]: of images that are placed already: what is still erased in them */
} rounds;

static motley_status reserve(rounds *call, motley_error *error)
{
    const size_t n = call->job->count, steps = n * call->draws->most, places = call->draws->places ? n : 0;
    const size_t bytes =
        steps * sizeof(mot_step) + places * sizeof(motley_place) +
        n * (sizeof(motley_image) + sizeof(uint64_t) + sizeof(double[3]) + sizeof(size_t) + 2 * sizeof(int32_t));
    MOT_TRY(mot_keep(&call->context->rounds, bytes, n, error));
    call->part = call->context->rounds.memory;
    call->written = (motley_place *)(void *)(call->part + steps);
    call->images = (motley_image *)(void *)(call->written + places);
    call->ids = (uint64_t *)(void *)(call->images + n);
    call->values = (double(*)[3])(void *)(call->ids + n);
    call->indices = (size_t *)(void *)(call->values + n);
    call->done = (int32_t *)(void *)(call->indices + n);
    call->own = call->done + n;
    memset(call->done, 0, n * sizeof *call->done);
    for (size_t i = 0; i < places; i++) {
        const mot_view v = mot_batch_view(call->job->dst, i);
        motley_place *const written = &call->written[i];
        const motley_place *const drawn = &call->draws->places[i];
        *written = mot_whole_place(v.width, v.height);
        written->filter = drawn->filter;
        written->boxes_count = drawn->boxes_count;
        written->noise = drawn->noise;
        memcpy(written->boxes, drawn->boxes, sizeof written->boxes);
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
    const mot_host_draws *const draws = call->draws;
    const size_t at = i * draws->most + (size_t)s;
    return draws->steps[at].op >= MOT_OP_COUNT || draws->steps[at].op == MOTLEY_STEP_MIX_BEGIN ||
           draws->inside[at].x0 < draws->inside[at].x1 || pools(call, &draws->steps[at]);
}

/* The frames of the clip that begins with image `first`, as one image. */
static motley_status clip_image(const rounds *call, size_t first, motley_image *clip, motley_error *error)
{
    const size_t frames = call->job->clip_frames;
    const mot_view v = mot_batch_view(call->work, first), second = mot_batch_view(call->work, first + 1);
    const int64_t apart = (int64_t)((intptr_t)second.data - (intptr_t)v.data), pixels = (int64_t)v.width * v.height;
    for (size_t k = 1; k < frames; k++) {
        const mot_view w = mot_batch_view(call->work, first + k);
        MOT_REQUIRE(w.row == v.row && w.pixel == v.pixel && w.channel == v.channel &&
                        (intptr_t)w.data - (intptr_t)v.data == (int64_t)k * apart,
                    error, "image %zu is not placed in memory like the others of its clip, want one dense batch",
                    first + k);
    }
    *clip = (motley_image){ v.data, (int32_t)pixels, (int32_t)frames, apart, v.pixel, v.channel };
    if (v.row == v.pixel * v.width && pixels <= MOT_MAX_SIDE && frames <= MOT_MAX_SIDE)
        return MOTLEY_OK;
    *clip = (motley_image){ v.data, v.width, (int32_t)(v.height * (int64_t)frames), v.row, v.pixel, v.channel };
    MOT_REQUIRE(
        apart == v.row * v.height && clip->height <= MOT_MAX_SIDE, error,
        "a clip has %zu frames of %dx%d, want rows without gaps and at most %d pixels a frame, or frames one below "
        "the other and at most %d rows",
        frames, v.width, v.height, MOT_MAX_SIDE, MOT_MAX_SIDE);
    return MOTLEY_OK;
}

/* Refuses clips whose statistics cannot be taken together. */
static motley_status check_clips(const rounds *call, motley_error *error)
{
    motley_image clip;
    for (size_t i = 0; call->job->clip_frames > 1 && i < call->job->count; i += call->job->clip_frames)
        MOT_TRY(clip_image(call, i, &clip, error));
    return MOTLEY_OK;
}

/* Lays out the frames of clips that are placed. */
static motley_status lay_out_clips(const rounds *call, motley_batch *work, motley_error *error)
{
    const size_t n = call->job->count;
    mot_kept *const kept = &call->context->clips;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const mot_view v = mot_batch_view(call->job->dst, i);
        bytes += (size_t)v.width * (size_t)v.height * (size_t)v.channels;
    }
    MOT_TRY(mot_keep(kept, bytes + n * sizeof(motley_image), n, error));
    motley_image *const images = kept->memory;
    uint8_t *at = (uint8_t *)(images + n);
    for (size_t i = 0; i < n; i++) {
        const mot_view v = mot_batch_view(call->job->dst, i);
        images[i] = (motley_image){ at, v.width, v.height, (int64_t)v.width * v.channels, v.channels, 1 };
        at += images[i].row_stride * v.height;
    }
    *work = mot_batch_of_images(call->job->src, n, images);
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

/* Runs a part of a request whose images are placed: the first, which places them, or the last, which writes them. */
static motley_status run_placed(rounds *call, mot_job *job, bool first, bool last, motley_error *error)
{
    motley_apply_params params = *call->request->params;
    mot_request part = *call->request;
    params.clip_frames = 0; /* those stop */
    part.params = &params;
    part.info = &call->info;
    part.src = job->src;
    part.dst = job->dst;
    part.erase = last ? part.erase : NULL;
    part.worker_bytes = 0;
    part.followed = (motley_followed){ 0 };
    part.draws.most = job->max_steps;
    part.draws.steps = call->part;
    part.draws.counts = call->own;
    part.draws.places = first ? call->draws->places : call->written;
    job->drawer = job->request = &part;
    return mot_job_run(call->context, job, error);
}

/* Runs every image's steps up to its next stop, or, in the last run, to its end. */
static motley_status run_part(rounds *call, const motley_batch *src, const motley_batch *dst,
                              const motley_batch *output, bool last, motley_error *error)
{
    const mot_job *job = call->job;
    const bool first = !call->begun;
    const bool placed =
        job->request && (first || (last && (src != dst || dst->dtype != MOTLEY_U8 || call->request->erase)));
    size_t most = 0;
    for (size_t i = 0; i < job->count; i++) {
        call->own[i] = steps_before_stop(call, i);
        most = (size_t)call->own[i] > most ? (size_t)call->own[i] : most;
    }
    call->begun = true;
    if (most == 0 && src == dst && !output && !placed)
        return MOTLEY_OK;
    const size_t width = most ? most : 1;
    for (size_t i = 0; i < job->count; i++) {
        const int32_t own = call->own[i];
        mot_step *to = &call->part[i * width];
        memcpy(to, &call->draws->steps[i * call->draws->most + (size_t)call->done[i]], (size_t)own * sizeof *to);
        for (size_t s = (size_t)own; s < width; s++)
            to[s] = nothing;
        call->done[i] += own;
    }
    mot_job part = mot_job_of(src, dst);
    part.output = output;
    part.as = job->as;
    part.steps = call->part;
    part.max_steps = width;
    part.stream = job->stream;
    part.mixes = job->mixes;
    return placed ? run_placed(call, &part, first, last, error) : mot_job_run(call->context, &part, error);
}

/* The next step of image i if it is a stop, else NULL. */
static const mot_step *stop_of(const rounds *call, size_t i)
{
    const int32_t s = call->done[i];
    return s < call->draws->counts[i] && stops(call, i, s) ? &call->draws->steps[i * call->draws->most + (size_t)s]
                                                           : NULL;
}

/* Calls a custom op with the images whose next step it is. */
static motley_status call_custom(rounds *call, int custom, motley_error *error)
{
    const mot_job *job = call->job;
    const motley_custom_op *op = &mot_transform_custom(call->request->transform, custom)->op;
    size_t n = 0;
    for (size_t i = 0; i < job->count; i++) {
        const mot_step *step = stop_of(call, i);
        if (!step || step->op != custom)
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

/* Runs the steps that work in a part of their image, in place: the parts are a batch of images. Chains begin here,
 * too. */
static motley_status run_inside(rounds *call, motley_error *error)
{
    const mot_job *job = call->job;
    size_t n = 0;
    for (size_t i = 0; i < job->count; i++) {
        const mot_step *step = stop_of(call, i);
        if (!step || step->op >= MOT_OP_COUNT || pools(call, step))
            continue;
        if (step->op == MOTLEY_STEP_MIX_BEGIN) { /* the image is as its chains begin */
            call->done[i]++;
            continue;
        }
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
        MOT_TRY(clip_image(call, i, &call->images[n], error));
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
        MOT_TRY(run_part(call, from, call->work, NULL, false, error));
        from = call->work;
        for (int custom = 0; custom < call->request->transform->facts.customs; custom++)
            MOT_TRY(call_custom(call, MOT_OP_COUNT + custom, error));
        MOT_TRY(run_inside(call, error));
        MOT_TRY(run_clips(call, error));
    }
    return run_part(call, from, job->dst, job->output, true, error);
}

/* Moves the followers by the images' steps, if the backend does that. */
static motley_status follow(const rounds *call, motley_error *error)
{
    mot_job job = *call->job;
    job.steps = call->draws->steps;
    job.inside = call->draws->inside;
    return call->context->backend->follow(call->context->state, &job, error);
}

motley_status mot_rounds_run(motley_context *context, const mot_request *request, const mot_job *job,
                             motley_error *error)
{
    rounds call = { .context = context,
                    .request = request,
                    .job = job,
                    .draws = &request->draws,
                    .info = *request->info,
                    .work = job->dst };
    motley_batch work;
    if (job->request && job->clip_frames > 1 && context->backend->each) {
        MOT_TRY(lay_out_clips(&call, &work, error));
        call.work = &work;
    } else if (!job->dst || job->dst->dtype != MOTLEY_U8) {
        work = mot_output_slots(job->dst ? job->dst : job->output);
        call.work = &work;
    }
    call.info.mix = NULL; /* in the end */
    if (context->backend->validate)
        MOT_TRY(context->backend->validate(context->state, job, error));
    MOT_TRY(reserve(&call, error));
    MOT_TRY(check_clips(&call, error));
    context->rounds_busy = 1;
    motley_status status = run_all(&call, error);
    if (status == MOTLEY_OK && job->followed && context->backend->follow)
        status = follow(&call, error);
    context->rounds_busy = 0;
    return status;
}
