/* SPDX-License-Identifier: Apache-2.0 */
/* Queues a batch. The draw kernel (samples -> steps -> sub-batches) is followed by the image kernel, or the kernel that
 * draws and makes programs by the tile kernel (steps -> pixels). In steady state a call allocates nothing, waits for
 * nothing and reads nothing back. */
#include "dispatch/cuda/follow.h"
#include "dispatch/cuda/parts.h"
#include "dispatch/cuda/state.h"
#include "dispatch/cuda/tiles.h"
#include "kernels/cuda/tuning.h"

#include <string.h>

motley_status mot_cuda_send_batch(const motley_batch *batch, motley_image *images, cudaStream_t stream,
                                  mot_cuda_batch *sent, motley_error *error)
{
    *sent = mot_cuda_batch_of(batch, images);
    if (batch->images)
        CUDA_TRY(mot_cuda_send(images, batch->images, batch->count * sizeof *images, stream), "sending the images");
    return MOTLEY_OK;
}

/* Lets a separate thread draw each of a sample's steps when no step depends on another. */
static void choose_threads(const mot_cuda_state *s, mot_cuda_draw *draw)
{
    int threads_log2 = 0;
    while (1u << threads_log2 < draw->tables.max_steps)
        threads_log2++;
    draw->by_step = draw->tables.choice == MOT_WITH_REPLACEMENT && threads_log2 <= MOT_SLOTS_LOG2;
    draw->threads_log2 = draw->by_step ? threads_log2 : 0;
    draw->near_bytes = s->chip.draw_bytes;
}

/* Chooses how many samples the first wave of CTAs has and how the others are interleaved; resident_kernel.cu says why.
 */
static void choose_order(const mot_chip *chip, const mot_resident_shape *shape, mot_resident_job *image)
{
    static const int32_t primes[] = { 7919, 7907, 7901, 7883 };
    const int by_memory = chip->shared_per_sm / (shape->shared_bytes + MOT_STATIC_BYTES);
    const int by_threads = MOT_THREADS_PER_SM / shape->threads;
    const int at_once = by_memory < 1 ? 1 : by_memory < by_threads ? by_memory : by_threads;
    const int wave = chip->multiprocessors * at_once;
    image->first_wave = image->count < wave ? image->count : wave;
    const int32_t others = image->count - image->first_wave;
    image->interleaved = others > chip->multiprocessors && others < 500000 ? others - chip->multiprocessors : 0;
    for (int i = 0; i < 4; i++)
        if (image->interleaved % primes[i] != 0)
            image->stride = primes[i];
}

int mot_cuda_resident_ctas(const mot_chip *chip)
{
    const int by_memory = chip->shared_per_sm / (mot_tile_kernel_bytes() + 1024);
    return chip->multiprocessors * (by_memory < 1 ? 1 : by_memory > MOT_TILE_CTAS ? MOT_TILE_CTAS : by_memory);
}

motley_status mot_cuda_describe_draws(mot_cuda_state *s, const mot_job *job, cudaStream_t stream, mot_cuda_draw *draw,
                                      motley_error *error)
{
    draw->draws = 1;
    draw->seed = job->samples.seed;
    draw->epoch = job->samples.epoch;
    draw->sample = job->samples.first;
    draw->counter = job->counter;
    MOT_TRY(mot_cuda_send_tables(s, job->policy, stream, &draw->tables, error));
    draw->tables_bytes = (int64_t)job->policy->compiled_bytes;
    choose_threads(s, draw);
    if (job->samples.ids && job->count <= MOT_FEW_IDS) {
        draw->few_ids = 1;
        memcpy(draw->few_id, job->samples.ids, job->count * sizeof(uint64_t));
    } else if (job->samples.ids) {
        CUDA_TRY(mot_cuda_send(s->now.ids, job->samples.ids, job->count * sizeof(uint64_t), stream),
                 "sending the sample ids");
        draw->ids = s->now.ids;
    }
    draw->view = job->samples.view;
    if (job->samples.views && job->count <= MOT_FEW_IDS) {
        draw->few_views = 1;
        for (size_t i = 0; i < job->count; i++)
            draw->few_view[i] = (uint16_t)job->samples.views[i];
    } else if (job->samples.views) {
        CUDA_TRY(mot_cuda_send(s->now.views, job->samples.views, job->count * sizeof(uint32_t), stream),
                 "sending the views");
        draw->views = s->now.views;
    }
    return MOTLEY_OK;
}

/* Describes where pixels come from and go: src -> work (between passes) -> output. Lists of images are sent. */
static motley_status send_images(mot_cuda_state *s, const mot_job *job, const motley_batch *work, cudaStream_t stream,
                                 mot_resident_job *image, motley_error *error)
{
    image->src = mot_cuda_batch_of(job->src, s->now.images);
    if (!mot_tiles_few_images(job))
        MOT_TRY(mot_cuda_send_batch(job->src, s->now.images, stream, &image->src, error));
    image->work = image->src;
    if (work != job->src)
        MOT_TRY(mot_cuda_send_batch(work, s->now.images + s->capacity, stream, &image->work, error));
    image->output = image->work;
    image->output_dtype = MOTLEY_U8;
    image->plain = !job->output;
    if (!job->output)
        return MOTLEY_OK;
    const motley_output *const output = job->output;
    image->output_dtype = output->batch.dtype;
    memcpy(image->mean, output->mean, sizeof image->mean);
    memcpy(image->std, output->std, sizeof image->std);
    image->convention = job->convention;
    return mot_cuda_send_batch(&output->batch, s->now.images + 2 * s->capacity, stream, &image->output, error);
}

/* The steps are in the device's memory already, or are drawn there, or are sent. */
static motley_status describe_steps(mot_cuda_state *s, const mot_job *job, cudaStream_t stream, mot_cuda_draw *draw,
                                    motley_error *error)
{
    if (job->drawn_steps)
        draw->plan.steps = (mot_step *)job->drawn_steps; /* which it only reads */
    else if (draw->draws)                                /* of samples and tables that are described */
        choose_threads(s, draw);
    else if (job->policy)
        MOT_TRY(mot_cuda_describe_draws(s, job, stream, draw, error));
    else
        CUDA_TRY(mot_cuda_send(s->now.plan.steps, job->steps, job->count * job->max_steps * sizeof(mot_step), stream),
                 "sending the values");
    return MOTLEY_OK;
}

/* Queues the kernel that draws and makes programs on `draws`, then `resize`, if it is not NULL, and the tile kernel. */
static motley_status queue_tiles(mot_cuda_state *s, const mot_job *job, const motley_batch *work,
                                 const mot_cuda_draw *draw, const mot_resize_job *resize, const mot_resident_job *image,
                                 const mot_tiles_plan *plan, cudaStream_t draws, cudaStream_t stream,
                                 motley_error *error)
{
    const mot_cuda_format format = s->last_run.format;
    if (!s->tiles_prepared[format])
        CUDA_TRY(mot_tiles_prepare(format), "preparing the tile kernel");
    s->tiles_prepared[format] = 1;
    mot_tiles_job tiles = { .src = image->src,
                            .work = image->work,
                            .output = image->output,
                            .channels = job->channels,
                            .output_dtype = image->output_dtype,
                            .has_output = job->output != NULL,
                            .work_strided = mot_cuda_format_of(work) != format,
                            .work_in_output = !job->dst,
                            .convention = image->convention };
    memcpy(tiles.mean, image->mean, sizeof tiles.mean);
    memcpy(tiles.std, image->std, sizeof tiles.std);
    const mot_tiles_site site = { s->tiles, s->halves.half, s->chip.overlaps, draws, stream, s->drawn, resize };
    CUDA_TRY(mot_tiles_queue(job, draw, &tiles, plan, format, &site), "launching the tile kernel");
    return MOTLEY_OK;
}

/* Queues a resize whose draws run ahead. */
static motley_status queue_resize(mot_cuda_state *s, const mot_resize_job *resize, cudaStream_t stream,
                                  motley_error *error)
{
    MOT_TRY(mot_cuda_end_ahead(s, stream, error));
    CUDA_TRY(mot_resize_launch(resize, 0, stream), "launching the resize kernel");
    return MOTLEY_OK;
}

/* Queues the draw kernel on `draws`, then `resize`, if it is not NULL, and the image kernel. */
static motley_status queue_resident(mot_cuda_state *s, const mot_cuda_draw *draw, const mot_resize_job *resize,
                                    const mot_resident_job *image, const mot_resident_shape *shape, cudaStream_t draws,
                                    cudaStream_t stream, motley_error *error)
{
    const mot_cuda_format format = s->last_run.format;
    if (!s->prepared[format])
        CUDA_TRY(mot_resident_prepare(format, s->chip.shared_bytes), "preparing the image kernel");
    s->prepared[format] = 1;
    const cudaError_t drawn = mot_cuda_draw_launch(draw, draws);
    if (draws != stream && !resize)
        MOT_TRY(mot_cuda_end_ahead(s, stream, error));
    CUDA_TRY(drawn, "launching the draw kernel");
    if (resize)
        MOT_TRY(queue_resize(s, resize, stream, error));
    const int overlap = draws == stream || (resize && s->chip.overlaps);
    const cudaError_t launched = mot_resident_launch(image, format, shape, overlap, stream);
    if (launched != cudaSuccess) /* no kernel consumes what the draw kernel marks as ready */
        cudaMemsetAsync(s->now.plan.ready, 0, s->capacity * sizeof(int32_t), stream);
    CUDA_TRY(launched, "launching the image kernel");
    return MOTLEY_OK;
}

/* Whether a job's draws need nothing that is queued on its stream. */
static int draws_alone(mot_cuda_state *s, const mot_job *job)
{
    return job->policy && !job->counter && mot_cuda_has_tables(s, job->policy);
}

/* Whether a job is a whole call, and neither a part of one nor a transform's steps. */
static int is_call(const mot_job *job, const mot_cuda_draw *after_resize)
{
    return !job->drawn_steps && !after_resize;
}

/* `after_resize`, `resize`: as of mot_cuda_run_steps. `known`: the workspace is that of the last call, and no graph
 * captures this one. */
static motley_status queue_work(mot_cuda_state *s, const mot_job *job, const mot_cuda_draw *after_resize,
                                const mot_resize_job *resize, int known, cudaStream_t stream, motley_error *error)
{
    mot_cuda_draw draw = after_resize ? *after_resize : (mot_cuda_draw){ 0 };
    draw.count = (int32_t)job->count;
    draw.channels = job->channels;
    mot_resident_job image = { .count = draw.count, .channels = job->channels };
    const mot_cuda_format format = mot_cuda_format_of(job->src);
    const mot_tiles_plan plan = mot_tiles_plan_of(job, format, mot_cuda_resident_ctas(&s->chip));
    MOT_TRY(mot_cuda_reserve_tiles(s, &plan, stream, error));

    motley_batch waiting;
    const motley_batch *work = job->dst;
    if (!work) {
        waiting = mot_tiles_work(job->src, &job->output->batch, format);
        work = &waiting;
    }
    const mot_route_choice choice = mot_route_of(&s->chip, job, format, work, s->always_tiles, &s->levels);
    const int by_tiles = choice.route == MOT_ROUTE_TILES;
    s->last_run = (mot_cuda_last){ choice.route, choice.reason, format, job->output != NULL, choice.shape.blurs };
    image.max_steps = draw.max_steps = (int32_t)job->max_steps;
    image.image_bytes = choice.shape.image_bytes;
    image.stage_bytes = choice.shape.stage_bytes;
    if (!by_tiles)
        choose_order(&s->chip, &choice.shape, &image);
    const int tiles_known = s->tiles_half == (size_t)plan.half_bytes && plan.whole;
    if (by_tiles && s->tiles_half != (size_t)plan.half_bytes) {
        s->tiles_half = (size_t)plan.half_bytes;
        s->halves.clean = 0; /* they begin elsewhere */
    }
    const int all_known = known && (!by_tiles || tiles_known);
    cudaStream_t draws = resize && all_known ? s->ahead : stream;
    if (is_call(job, after_resize))
        MOT_TRY(mot_cuda_begin_ahead(s, all_known && draws_alone(s, job), stream, &draws, error));
    if (resize && draws == stream) {
        MOT_TRY(queue_resize(s, resize, stream, error));
        resize = NULL;
    }
    s->now = s->space[s->halves.half];
    draw.plan = s->now.plan;
    draw.overlap = after_resize && s->chip.overlaps && !job->src->images && /* lists are sent right before it */
                   !(resize && job->drawn_steps);                           /* the kernel before it draws these */
    if (draw.overlap || draws != stream) /* images wait for the resize, or their order is known before they begin */
        image.first_wave = 0;
    image.ordered = resize != NULL;
    draw.first_wave = image.first_wave;
    MOT_TRY(send_images(s, job, work, draws, &image, error));
    if (job->output && !by_tiles)
        image.by_lines = mot_cuda_find_lines(&s->kept.lines, image.output_dtype, image.convention, image.channels,
                                             image.mean, image.std, image.line);
    MOT_TRY(describe_steps(s, job, draws, &draw, error));
    draw.src = image.src;
    memcpy(draw.op, s->op, sizeof draw.op);
    image.steps = draw.plan.steps;
    image.ready = s->now.plan.ready;
    image.order = s->now.plan.order;
    return by_tiles ? queue_tiles(s, job, work, &draw, resize, &image, &plan, draws, stream, error)
                    : queue_resident(s, &draw, resize, &image, &choice.shape, draws, stream, error);
}

motley_status mot_cuda_run_steps(const mot_cuda_work *work, const mot_job *job, const mot_cuda_draw *after_resize,
                                 const mot_resize_job *resize, motley_error *error)
{
    mot_cuda_state *const s = work->state;
    const size_t capacity = s->capacity, steps_capacity = s->steps_capacity;
    s->last_count = 0;
    motley_status status = mot_cuda_reserve_batch(s, job->count, job->max_steps, work->stream, error);
    const int known = !work->captured && s->capacity == capacity && s->steps_capacity == steps_capacity;
    if (status == MOTLEY_OK)
        status = queue_work(s, job, after_resize, resize, known, work->stream, error);
    if (status != MOTLEY_OK) /* what was uploaded for draws */
        mot_cuda_end_ahead(s, work->stream, NULL);
    if (status == MOTLEY_OK && job->followed)
        status = mot_cuda_follow_plan(
            s, job, s->now.images,
            s->last_run.route == MOT_ROUTE_TILES ? MOT_FOLLOW_WAITS_FIRST : MOT_FOLLOW_WAITS_LAST, work->stream, error);
    if (status == MOTLEY_OK && is_call(job, after_resize)) {
        s->last_count = job->count;
        s->last_max_steps = job->max_steps;
        s->last_one_size = !job->src->images;
    }
    return status;
}

motley_status mot_cuda_run(void *state, const mot_job *job, motley_error *error)
{
    mot_cuda_work work;
    const mot_cuda_parts parts = mot_cuda_parts_of(job);
    if (mot_cuda_has_parts(&parts))
        return mot_cuda_run_apart(state, job, &parts, error);
    MOT_TRY(mot_cuda_begin(state, job->stream, &work, error));
    return mot_cuda_end(&work, mot_cuda_run_steps(&work, job, NULL, NULL, error), error);
}

/* ---- for all calls ---- */

motley_status mot_cuda_begin(void *state, void *stream, mot_cuda_work *work, motley_error *error)
{
    mot_cuda_state *const s = state;
    *work = (mot_cuda_work){ .state = s, .stream = stream, .chip = &s->chip, .kept = &s->kept };
    MOT_TRY(mot_cuda_enter(s, &work->device_before, error));
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaError_t code = cudaStreamIsCapturing(work->stream, &capture);
    work->captured = capture != cudaStreamCaptureStatusNone;
    work->half_bytes = s->kept.half_bytes;
    work->kept_bytes = s->kept.bytes;
    s->halves.ahead = 0;
    if (code == cudaSuccess && s->queued && s->last_stream != work->stream && !work->captured)
        code = cudaStreamWaitEvent(work->stream, s->done, 0);
    if (code == cudaSuccess)
        return MOTLEY_OK;
    cudaGetLastError();
    mot_cuda_leave(s, work->device_before);
    return mot_cuda_fail(error, "waiting for the workspace", code);
}

motley_status mot_cuda_end(const mot_cuda_work *work, motley_status status, motley_error *error)
{
    mot_cuda_state *const s = work->state;
    cudaError_t code = cudaSuccess;
    s->captured |= work->captured && status == MOTLEY_OK;
    if (!work->captured) {
        s->done = s->halves.done[s->halves.half];
        code = cudaEventRecord(s->done, work->stream);
    }
    if (code != cudaSuccess)
        cudaGetLastError();
    else if (!work->captured)
        s->queued = 1, s->last_stream = work->stream;
    mot_cuda_leave(s, work->device_before);
    return status == MOTLEY_OK && code != cudaSuccess ? mot_cuda_fail(error, "recording an event", code) : status;
}
