/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backends: draw, sort the images so that the threads finish together, and run each image's passes.
 *
 * A batch is processed in blocks. Every image of a block gets an `image_work`: what it drew, and its cost. These are
 * sorted, expensive ones first, and the workers take one image after the other. The reference backend is the same code
 * with the reference's kernel table. */
#include "augmentations/table.h"
#include "base/values.h"
#include "dispatch/image.h"
#include "dispatch/threads.h"
#include "kernels/wide.h"
#include "policies/draw.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 4096    /* images drawn and sorted together; this bounds the arena */
#define DRAW_CHUNK 64 /* images that a worker draws at a time */

/* The work on one image of the block. */
typedef struct image_work {
    uint32_t first_step, steps; /* in the arena; steps that change nothing are left out */
    float cost;                 /* nanoseconds, roughly */
} image_work;

/* Memory of one worker. */
typedef struct worker {
    uint8_t *memory;
    size_t bytes;
} worker;

typedef struct cpu_state {
    const mot_cpu_rows *rows;
    mot_threads *threads; /* NULL until a call has several images */
    size_t workers_count;
    worker *workers; /* [workers_count] */

    /* The current block, in memory that is kept. */
    mot_kept block;
    mot_step *steps;         /* [images][steps_per_image] */
    motley_place *places;    /* [images], of images that are placed; else NULL */
    image_work *work;        /* [images] */
    uint32_t *order;         /* [2][images]: half of it for sorting */
    mot_kept output;         /* [channels]: what the last output makes of bytes */
    mot_output_as output_as; /* as what, if `output_channels` are made */
    int32_t output_channels;
    size_t last_count, last_steps_per_image; /* of the last batch */
} cpu_state;

/* A call of run() or each(), shared by the workers. */
typedef struct task {
    cpu_state *state;
    const mot_job *job;
    const mot_output_channel *output; /* [channels] */
    mot_each_image *each;             /* of a call of each(), */
    void *call;                       /* and its argument */
    size_t first, count;              /* the block */
    void (*image)(const struct task *task, const worker *self, size_t i);
    size_t grain; /* images that a worker takes at a time from `next` */
    atomic_size_t next;
} task;

static void start_worker(void *user, size_t i)
{
    task *const t = user;
    for (size_t from; (from = atomic_fetch_add(&t->next, t->grain)) < t->count;)
        for (size_t k = from; k < t->count && k < from + t->grain; k++)
            t->image(t, &t->state->workers[i], k);
}

/* Does `image` for every image of the block, on all workers. `last`: they sleep afterwards instead of spinning for more
 * work. */
static void on_all_workers(task *t, void (*image)(const task *, const worker *, size_t), size_t grain, int last)
{
    t->image = image;
    t->grain = grain;
    atomic_store(&t->next, 0);
    if (!t->state->threads || t->count <= grain)
        start_worker(t, 0);
    else
        mot_threads_run(t->state->threads, start_worker, t, last);
}

/* ---- drawing ---- */

/* Draws an image of the block, and leaves out the steps that change nothing. */
static void draw_image(const task *t, const worker *self, size_t in_block)
{
    (void)self;
    const mot_job *const job = t->job;
    cpu_state *const state = t->state;
    const size_t i = t->first + in_block, first = in_block * job->max_steps;
    mot_step *const steps = &state->steps[first];
    motley_place unused, *const place = state->places ? &state->places[in_block] : NULL;
    int drawn = (int)job->max_steps;
    if (job->drawer)
        drawn = mot_request_draw(job->drawer, i, place ? place : &unused, steps);
    else
        memcpy(steps, &job->steps[i * job->max_steps], job->max_steps * sizeof *steps);
    const int before = place ? place->before : 0;
    uint32_t kept = 0;
    for (int s = 0; s < drawn; s++)
        if (!(steps[s].arg.flags & MOT_ARG_IDENTITY) || (job->wide && mot_wide_counts(steps[s].op)))
            steps[kept++] = steps[s];
        else if (s < before)
            place->before--;
    state->work[in_block] =
        (image_work){ (uint32_t)first, kept, mot_image_cost(state->rows, job, i, place, steps, (int)kept) };
}

/* ---- ordering ---- */

/* A sort key that is larger for cheaper images: the cost as a 16-bit float, inverted. The cost is positive, so its bits
 * sort like its value. */
static uint32_t lightness(const image_work *work)
{
    uint32_t bits;
    memcpy(&bits, &work->cost, sizeof bits);
    return 0xFFFFu - (bits >> 15);
}

/* Sorts the block's images, heavy first. A stable radix sort with two passes over 8 bits. */
static void sort_block(task *t)
{
    cpu_state *state = t->state;
    uint32_t *from = state->order, *to = state->order + t->count;
    for (uint32_t i = 0; i < t->count; i++)
        from[i] = i;
    for (int shift = 0; shift < 16 && t->count > 1; shift += 8) {
        uint32_t place[257] = { 0 };
        for (size_t i = 0; i < t->count; i++)
            place[(lightness(&state->work[i]) >> shift & 255u) + 1]++;
        for (int b = 0; b < 256; b++)
            place[b + 1] += place[b];
        for (size_t i = 0; i < t->count; i++)
            to[place[lightness(&state->work[from[i]]) >> shift & 255u]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
}

/* Runs an image, in the order of the block. */
static void run_image(const task *t, const worker *self, size_t turn)
{
    const cpu_state *const state = t->state;
    const uint32_t in_block = state->order[turn];
    const image_work *const work = &state->work[in_block];
    mot_image_run(state->rows, t->job, t->output, t->first + in_block, state->places ? &state->places[in_block] : NULL,
                  &state->steps[work->first_step], (int)work->steps, self->memory);
}

/* ---- memory ---- */

static void *aligned(size_t bytes)
{
    return aligned_alloc(MOT_CPU_ALIGN, (bytes + MOT_CPU_ALIGN - 1) / MOT_CPU_ALIGN * MOT_CPU_ALIGN);
}

/* Lays out what a job's blocks need, if `memory` is not NULL, and returns how many bytes that is. */
static size_t lay_out(cpu_state *state, const mot_job *job, void *memory)
{
    const size_t images = job->count < BLOCK ? job->count : BLOCK, steps = images * job->max_steps;
    const size_t places = job->request ? images : 0;
    if (memory) {
        motley_place *const first = memory;
        state->places = places ? first : NULL;
        state->steps = (mot_step *)(void *)(first + places);
        state->work = (image_work *)(void *)(state->steps + steps);
        state->order = (uint32_t *)(void *)(state->work + images);
    }
    return places * sizeof *state->places + steps * sizeof *state->steps +
           images * (sizeof *state->work + 2 * sizeof *state->order);
}

static motley_status reserve_scratch(cpu_state *state, size_t bytes, motley_error *error)
{
    for (size_t w = 0; w < state->workers_count; w++) {
        worker *self = &state->workers[w];
        if (bytes <= self->bytes)
            continue;
        free(self->memory);
        self->bytes = 0;
        self->memory = aligned(bytes);
        if (!self->memory)
            return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu bytes of scratch", bytes);
        self->bytes = bytes;
    }
    return MOTLEY_OK;
}

/* Allocates everything that `job` needs, before any work begins. */
static motley_status reserve(cpu_state *state, const mot_job *job, motley_error *error)
{
    MOT_TRY(mot_keep(&state->block, lay_out(state, job, NULL), job->count, error));
    lay_out(state, job, state->block.memory);
    return reserve_scratch(state, mot_image_memory(state->rows, job), error);
}

static motley_status workspace(void *opaque, const mot_job *job, size_t *bytes, motley_error *error)
{
    (void)error;
    cpu_state *const state = opaque;
    const size_t scratch = job ? mot_image_memory(state->rows, job) : 0;
    *bytes = state->output.bytes + mot_larger(state->block.bytes, job ? lay_out(state, job, NULL) : 0);
    for (size_t w = 0; w < state->workers_count; w++)
        *bytes += mot_larger(state->workers[w].bytes, scratch);
    return MOTLEY_OK;
}

/* ---- the backend ---- */

static motley_status validate(void *opaque, const mot_job *job, motley_error *error)
{
    (void)job;
    const cpu_state *state = opaque;
    if (state->threads && !mot_threads_are_here(state->threads))
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "this process was forked after the context was made, and its %zu threads stayed behind: want a "
                        "context made here, or one of 1 thread",
                        state->workers_count);
    return MOTLEY_OK;
}

/* Starts the threads, if they are of use for `count` images and have not started yet. */
static motley_status start_threads(cpu_state *state, size_t count, motley_error *error)
{
    if (count < 2 || state->workers_count < 2 || state->threads)
        return MOTLEY_OK;
    return mot_threads_create(state->workers_count, &state->threads, error);
}

/* ---- other work: one call per image ---- */

static void do_image(const task *t, const worker *self, size_t i)
{
    t->each(t->call, i, t->state->rows, self->memory);
}

static motley_status each(void *opaque, size_t count, size_t scratch_bytes, mot_each_image *image, void *call,
                          motley_error *error)
{
    cpu_state *state = opaque;
    MOT_TRY(validate(state, NULL, error));
    MOT_TRY(reserve_scratch(state, scratch_bytes, error));
    MOT_TRY(start_threads(state, count, error));
    task t = { .state = state, .count = count, .each = image, .call = call };
    on_all_workers(&t, do_image, 1, 1);
    return MOTLEY_OK;
}

/* ---- images ---- */

/* Makes what a job's results are written by, unless the last job made it; *made is NULL if they are of bytes. */
static motley_status make_output(cpu_state *state, const mot_job *job, const mot_output_channel **made,
                                 motley_error *error)
{
    const int32_t channels = job->src->channels;
    *made = NULL;
    if (job->wide || !(job->output || (job->request && job->request->dst->dtype != MOTLEY_U8)))
        return MOTLEY_OK;
    const mot_output_as *const as = &job->as;
    if (channels != state->output_channels || as->means || memcmp(as, &state->output_as, sizeof *as) != 0) {
        state->output_channels = 0;
        MOT_TRY(mot_keep(&state->output, (size_t)channels * sizeof **made, (size_t)channels, error));
        mot_cpu_make_channels(as, channels, state->output.memory);
        state->output_channels = as->means ? 0 : channels;
        state->output_as = *as;
    }
    *made = state->output.memory;
    return MOTLEY_OK;
}

static motley_status run(void *opaque, const mot_job *job, motley_error *error)
{
    cpu_state *state = opaque;
    state->last_count = 0;
    task t = { .state = state, .job = job };
    MOT_TRY(reserve(state, job, error));
    MOT_TRY(start_threads(state, job->count, error));
    MOT_TRY(make_output(state, job, &t.output, error));
    for (t.first = 0; t.first < job->count; t.first += t.count) {
        t.count = job->count - t.first < BLOCK ? job->count - t.first : BLOCK;
        on_all_workers(&t, draw_image, DRAW_CHUNK, 0);
        sort_block(&t);
        on_all_workers(&t, run_image, 1, t.first + t.count == job->count);
    }
    state->last_count = job->request ? 0 : job->count;
    state->last_steps_per_image = job->max_steps;
    return MOTLEY_OK;
}

static const mot_cpu_rows *rows_of(const void *opaque)
{
    return ((const cpu_state *)opaque)->rows;
}

/* ---- looking back ---- */

/* The most expensive op of an image's steps, -1: none; among equals, the first in the table. */
static int32_t costliest(const mot_step *steps, uint32_t count)
{
    int32_t op = -1;
    int most = -1;
    for (uint32_t s = 0; s < count; s++) {
        if (steps[s].op < 0) /* a mixing step */
            continue;
        const int cost = mot_op_table[steps[s].op].facts.cost;
        if (cost > most || (cost == most && steps[s].op < op)) {
            most = cost;
            op = steps[s].op;
        }
    }
    return op;
}

static motley_status look_back(void *opaque, motley_subbatches **subbatches, motley_error *error)
{
    const cpu_state *state = opaque;
    MOT_REQUIRE(state->last_count > 0, error,
                "the last call sorted no images, want one of a policy without stages or of an op");
    if (state->last_count > BLOCK)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "the last batch had %zu images, but the steps of at most %d are kept", state->last_count,
                        BLOCK);
    MOT_TRY(mot_subbatches_make(state->last_count, state->last_steps_per_image, "cpu", "there is no other", subbatches,
                                error));
    for (size_t at = 0; at < state->last_count; at++) {
        const uint32_t image = state->order[at];
        const image_work *work = &state->work[image];
        const mot_step *const steps = &state->steps[work->first_step];
        const int us = ilogbf(work->cost), cost = us < 9 ? 0 : us > 16 ? 8 : us - 8; /* classes double */
        mot_subbatches_add(*subbatches, image, costliest(steps, work->steps), cost, steps, (int32_t)work->steps);
    }
    return MOTLEY_OK;
}

static void destroy(void *opaque)
{
    cpu_state *state = opaque;
    if (!state)
        return;
    mot_threads_destroy(state->threads);
    for (size_t w = 0; state->workers && w < state->workers_count; w++)
        free(state->workers[w].memory);
    free(state->workers);
    free(state->block.memory);
    free(state->output.memory);
    free(state);
}

static motley_status create(const motley_context_params *params, void **opaque, const mot_cpu_rows *rows,
                            motley_error *error)
{
    *opaque = NULL;
    const size_t threads = params->threads ? (size_t)params->threads : mot_threads_available("");
    cpu_state *state = calloc(1, sizeof *state);
    if (!state)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a CPU context");
    state->rows = rows;
    state->workers_count = threads;
    state->workers = calloc(threads, sizeof *state->workers);
    if (!state->workers) {
        destroy(state);
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu threads", threads);
    }
    *opaque = state;
    return MOTLEY_OK;
}

static motley_status create_cpu(const motley_context_params *params, void **state, motley_error *error)
{
    const mot_cpu_rows *sets[MOT_CPU_SETS];
    mot_cpu_sets(sets);
    return create(params, state, sets[0], error);
}

static motley_status create_reference(const motley_context_params *params, void **state, motley_error *error)
{
    return create(params, state, &mot_rows_reference, error);
}

#define BACKEND(which, called, creates) \
    { \
        .id = which, .name = called, .create = creates, .destroy = destroy, .validate = validate, .run = run, \
        .look_back = look_back, .workspace = workspace, .each = each, .rows = rows_of \
    }

const mot_backend mot_backend_cpu = BACKEND(MOTLEY_BACKEND_CPU, "cpu", create_cpu);
const mot_backend mot_backend_reference = BACKEND(MOTLEY_BACKEND_REFERENCE, "reference", create_reference);
