/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a job. The draw kernel (samples -> steps -> sub-batches) is followed by the image kernel, or the kernel that
 * draws and makes programs by the tile kernel (steps -> pixels). */
#include "dispatch/cuda/apply.h"
#include "kernels/cuda/tuning.h"

#include <string.h>

/* ---- choices and memory ---- */

/* CTAs of the tile kernel that are resident on the device at once. */
static int resident_ctas(const mot_chip *chip)
{
    const int by_memory = chip->shared_per_sm / (mot_tile_kernel_bytes() + 1024);
    return chip->multiprocessors * (by_memory < 1 ? 1 : by_memory > MOT_TILE_CTAS ? MOT_TILE_CTAS : by_memory);
}

/* Where a job's pixels lie between passes. */
static motley_batch work_of(const mot_job *job, mot_cuda_format format)
{
    return job->dst ? *job->dst : mot_tiles_work(job->src, job->output, format);
}

mot_cuda_steps mot_cuda_choose(mot_cuda_state *s, const mot_job *job)
{
    mot_cuda_steps steps = { .format = mot_cuda_format_of(job->src) };
    const motley_batch work = work_of(job, steps.format);
    steps.choice = mot_route_of(&s->chip, job, steps.format, &work, s->always_tiles, &s->levels);
    if (steps.choice.route == MOT_ROUTE_TILES)
        steps.tiles = mot_tiles_plan_of(job, steps.format, resident_ctas(&s->chip));
    return steps;
}

void mot_cuda_lay_out_draws(mot_cuda_steps *steps, const mot_job *job, int of_transform, mot_arena *slot)
{
    const size_t n = job->count, images = mot_cuda_images(job->src);
    const int alone = !job->drawn_steps && !of_transform;
    mot_cuda_plan *const plan = &steps->plan;
    const size_t rows = job->policy ? images : n;
    plan->steps = mot_take_if(!job->drawn_steps, slot, MOT_STEPS, rows * job->max_steps * sizeof *plan->steps);
    plan->step_count = mot_take(slot, MOT_STEPS, images * sizeof *plan->step_count);
    steps->ids = mot_take_if(alone, slot, MOT_SENT, n * sizeof *steps->ids);
    steps->views = mot_take_if(alone, slot, MOT_SENT, n * sizeof *steps->views);
}

void mot_cuda_lay_out(mot_cuda_steps *steps, const mot_job *job, int of_transform, mot_slot_counters *counters,
                      mot_arena *slot, mot_arena *scratch)
{
    const size_t n = job->count, images = mot_cuda_images(job->src);
    const int by_tiles = steps->choice.route == MOT_ROUTE_TILES;
    mot_cuda_plan *const plan = &steps->plan;
    mot_cuda_lay_out_draws(steps, job, of_transform, slot);
    plan->order = mot_take_if(!by_tiles, slot, MOT_ORDER, images * sizeof *plan->order);
    plan->key = mot_take_if(!by_tiles, slot, MOT_ORDER, images * sizeof *plan->key);
    plan->rank = mot_take_if(!by_tiles, slot, MOT_ORDER, images * sizeof *plan->rank);
    const motley_batch *const lists[] = { job->src, job->dst, job->output };
    for (int i = 0; i < 3; i++)
        steps->images[i] =
            mot_take_if(by_tiles || (lists[i] && lists[i]->images), slot, MOT_SENT, n * sizeof **steps->images);
    if (by_tiles)
        mot_tiles_lay_out(&steps->tiles, slot, scratch);
    if (!counters)
        return;
    plan->ready = counters->ready;
    plan->filled = counters->filled;
    plan->ticket = &counters->ticket;
    plan->counters = &counters->tiles;
}

/* ---- the kernels ---- */

/* Lets a separate thread draw each of a sample's steps when no step depends on another. */
static void choose_threads(const mot_cuda_state *s, mot_cuda_draw *draw)
{
    int threads_log2 = 0;
    while (1u << threads_log2 < draw->tables.max_steps)
        threads_log2++;
    draw->by_step = draw->tables.choice == MOT_WITH_REPLACEMENT && threads_log2 <= MOT_SLOTS_LOG2;
    draw->threads_log2 = draw->by_step ? threads_log2 : 0;
    draw->shared_bytes = s->chip.draw_bytes;
}

/* Chooses how many samples the first wave of CTAs has and how the others are interleaved; resident_kernel.cu says why.
 */
static void choose_order(const mot_chip *chip, const mot_resident_shape *shape, mot_resident_job *image)
{
    static const int32_t primes[] = { 7919, 7907, 7901, 7883 };
    const int by_memory = chip->shared_per_sm / (shape->shared_bytes + MOT_STATIC_BYTES);
    const int by_threads = chip->threads_per_sm / shape->threads;
    const int at_once = by_memory < 1 ? 1 : by_memory < by_threads ? by_memory : by_threads;
    const int wave = chip->multiprocessors * at_once;
    image->first_wave = image->count < wave ? image->count : wave;
    const int32_t others = image->count - image->first_wave;
    image->interleaved = others > chip->multiprocessors && others < 500000 ? others - chip->multiprocessors : 0;
    for (int i = 0; i < 4; i++)
        if (image->interleaved % primes[i] != 0)
            image->stride = primes[i];
}

motley_status mot_cuda_describe_draws(mot_cuda_call *call, const mot_job *job, const mot_cuda_steps *steps,
                                      mot_cuda_draw *draw, motley_error *error)
{
    draw->draws = 1;
    draw->tables = steps->tables;
    draw->tables_bytes = (int64_t)job->policy->compiled_bytes;
    draw->samples = (mot_cuda_samples){ job->samples, job->counter };
    draw->samples.given.ids = NULL;
    draw->samples.given.views = NULL;
    if (job->samples.ids && job->count <= MOT_FEW_IDS) {
        draw->few_ids = 1;
        memcpy(draw->few_id, job->samples.ids, job->count * sizeof(uint64_t));
    } else if (job->samples.ids) {
        MOT_TRY(mot_call_send(call, MOT_SENT, steps->ids, job->samples.ids, job->count * sizeof(uint64_t),
                              "sending the sample ids", error));
        draw->samples.given.ids = steps->ids;
    }
    if (job->samples.views && job->count <= MOT_FEW_IDS) {
        draw->few_views = 1;
        for (size_t i = 0; i < job->count; i++)
            draw->few_view[i] = (uint16_t)job->samples.views[i];
    } else if (job->samples.views) {
        MOT_TRY(mot_call_send(call, MOT_SENT, steps->views, job->samples.views, job->count * sizeof(uint32_t),
                              "sending the views", error));
        draw->samples.given.views = steps->views;
    }
    return MOTLEY_OK;
}

/* Describes where pixels come from and go: src -> work (between passes) -> output. Lists of images are sent. */
static motley_status send_images(mot_cuda_call *call, const mot_job *job, const mot_cuda_steps *steps,
                                 const motley_batch *work, mot_resident_job *image, motley_error *error)
{
    image->src = mot_cuda_batch_of(job->src, steps->images[0]);
    if (!mot_tiles_few_images(job))
        MOT_TRY(mot_cuda_send_batch(call, job->src, steps->images[0], &image->src, error));
    image->work = image->src;
    if (job->dst != job->src)
        MOT_TRY(mot_cuda_send_batch(call, work, steps->images[1], &image->work, error));
    image->output = image->work;
    image->plain = !job->output;
    if (!job->output)
        return MOTLEY_OK;
    MOT_TRY(mot_cuda_output_of(call, job->src, &job->as, &image->as, error));
    return mot_cuda_send_batch(call, job->output, steps->images[2], &image->output, error);
}

/* The kernel that draws, as far as both routes have it. It waits at its end, behind a resize: then the next kernel
 * relies on the resize, too. Elsewhere there is nothing to overlap. */
static mot_node draw_node(const mot_job *job, const mot_cuda_draw *draw, int after_resize)
{
    mot_node node = { .reads = MOT_SENT, .writes = MOT_STEPS, .waits = after_resize ? MOT_WAITS_LAST : MOT_WAITS_NOT };
    if (draw->draws)
        node.reads |= MOT_TABLES | (mot_cuda_reads_callers(&draw->samples) ? MOT_COUNTER : 0);
    else
        node.reads |= after_resize || !job->drawn_steps ? MOT_STEPS : MOT_PARTS;
    return node;
}

/* Queues the kernel that draws and makes programs, and the tile kernel. */
static motley_status queue_tiles(mot_cuda_call *call, const mot_job *job, const mot_cuda_steps *steps,
                                 const motley_batch *work, mot_cuda_draw *draw, const mot_node *node,
                                 const mot_resident_job *image, motley_error *error)
{
    int *const prepared = &call->s->tiles_prepared[steps->format];
    if (!*prepared)
        CUDA_TRY(mot_tiles_prepare(steps->format), "preparing the tile kernel");
    *prepared = 1;
    mot_tiles_job tiles = steps->tiles.job;
    tiles.src = image->src;
    tiles.work = image->work;
    tiles.output = image->output;
    tiles.as = image->as;
    tiles.work_strided = mot_cuda_format_of(work) != steps->format;
    tiles.work_in_output = !job->dst;
    return mot_tiles_queue(call, job, draw, node, &tiles, &steps->tiles, error);
}

/* Queues the draw kernel and the image kernel. */
static motley_status queue_resident(mot_cuda_call *call, const mot_cuda_steps *steps, mot_cuda_draw *draw,
                                    const mot_node *node, const mot_resident_job *image, motley_error *error)
{
    int *const prepared = &call->s->prepared[steps->format];
    if (!*prepared)
        CUDA_TRY(mot_resident_prepare(steps->format, call->s->chip.shared_bytes), "preparing the image kernel");
    *prepared = 1;
    mot_node drawing = *node;
    drawing.writes |= MOT_ORDER;
    MOT_TRY(mot_call_next(call, &drawing, error));
    draw->overlap = call->overlap;
    CUDA_TRY(mot_cuda_draw_launch(draw, call->lane), "launching the draw kernel");
    /* The first wave loads pixels while draws are still running; `ready` tells it when a sample's steps are there. */
    const mot_node running = { .reads = MOT_OUTPUTS | MOT_STEPS | MOT_ORDER | MOT_IMAGES | (node->reads & MOT_PARTS),
                               .writes = MOT_ORDER | MOT_IMAGES,
                               .waits = MOT_WAITS_FIRST,
                               .early = image->ordered          ? MOT_STEPS | MOT_ORDER
                                        : image->first_wave > 0 ? MOT_IMAGES
                                                                : 0,
                               .settles = image->first_wave > 0 ? MOT_STEPS | MOT_ORDER : 0 };
    MOT_TRY(mot_call_next(call, &running, error));
    return mot_cuda_try(mot_resident_launch(image, steps->format, &steps->choice.shape, call->overlap, call->lane),
                        "launching the image kernel", error);
}

motley_status mot_cuda_queue_steps(mot_cuda_call *call, const mot_job *job, const mot_cuda_steps *steps,
                                   const mot_cuda_draw *after_resize, motley_error *error)
{
    mot_cuda_state *const s = call->s;
    const int by_tiles = steps->choice.route == MOT_ROUTE_TILES;
    const motley_batch work = work_of(job, steps->format);
    mot_cuda_draw draw = after_resize ? *after_resize : (mot_cuda_draw){ 0 };
    draw.count = (int32_t)mot_cuda_images(job->src);
    draw.channels = job->src->channels;
    draw.max_steps = (int32_t)job->max_steps;
    draw.plan = steps->plan;
    mot_resident_job image = { .count = draw.count,
                               .channels = mot_cuda_channels(job->src),
                               .max_steps = draw.max_steps,
                               .image_bytes = steps->choice.shape.image_bytes,
                               .stage_bytes = steps->choice.shape.stage_bytes,
                               .ordered = call->late != NULL }; /* the resize comes between */
    s->last_run = (mot_cuda_last){ steps->choice.route, steps->choice.reason, steps->format, job->output != NULL,
                                   steps->choice.shape.blurs };
    if (!by_tiles)
        choose_order(&s->chip, &steps->choice.shape, &image);
    if (after_resize ||
        mot_call_ahead(call)) /* images wait for the resize, or their order is known before they begin */
        image.first_wave = 0;
    draw.first_wave = image.first_wave;
    MOT_TRY(send_images(call, job, steps, &work, &image, error));
    if (job->drawn_steps)
        draw.plan.steps = (mot_step *)job->drawn_steps; /* which it only reads */
    else if (job->policy && !after_resize) {
        MOT_TRY(mot_cuda_describe_draws(call, job, steps, &draw, error));
    } else if (!job->policy)
        MOT_TRY(mot_call_send(call, MOT_STEPS, steps->plan.steps, job->steps,
                              job->count * job->max_steps * sizeof(mot_step), "sending the values", error));
    if (draw.draws)
        choose_threads(s, &draw);
    draw.src = image.src;
    memcpy(draw.op, s->op, sizeof draw.op);
    image.steps = draw.plan.steps;
    image.step_rows = draw.draws ? draw.count : (int32_t)job->count;
    image.ready = draw.plan.ready;
    image.order = draw.plan.order;
    const mot_node node = draw_node(job, &draw, after_resize != NULL);
    return by_tiles ? queue_tiles(call, job, steps, &work, &draw, &node, &image, error)
                    : queue_resident(call, steps, &draw, &node, &image, error);
}
