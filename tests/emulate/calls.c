/* SPDX-License-Identifier: Apache-2.0 */
/* What a context does for resizes and transforms, without a GPU. Steps that are no breaks run on the CPU. */
#include "tests/emulate/calls.h"
#include "tests/emulate/watch.h"
#include "tests/test.h"

#include "augmentations/hue.h"
#include "dispatch/cuda/apply.h"
#include "dispatch/cuda/follow.h"
#include "dispatch/cuda/mix.h"
#include "dispatch/cuda/parts.h"
#include "dispatch/cuda/parts_draw.h"
#include "dispatch/transform_call.h"
#include "kernels/cpu.h"
#include "kernels/cuda/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mot_cuda_state emulated;

static motley_context *steps_context;
static const mot_transform_call *now;

/* ---- dispatch/cuda/pool.h, timeline.h ---- */

static mot_kept_tables kept; /* of the last transform */

motley_status mot_call_begin(void *state, void *stream, mot_cuda_call *call, motley_error *error)
{
    (void)state, (void)error;
    watch_forget();
    *call = (mot_cuda_call){ .s = &emulated, .stream = stream, .draws = stream };
    return MOTLEY_OK;
}

motley_status mot_call_end(mot_cuda_call *call, motley_status status, motley_error *error)
{
    static const mot_slot_counters zeros;
    (void)error;
    watch_end();
    need(!call->slot || memcmp(call->slot, &zeros, sizeof zeros) == 0, "counters are not 0 after a call");
    return status;
}

/* Memory of its own for each call, so that a sanitizer sees reads beyond it. */
static uint8_t *new_memory(mot_block *block, size_t bytes)
{
    watch_free(block->memory);
    *block = (mot_block){ watch_allocate(bytes), bytes };
    memset(block->memory, 0xA5, bytes);
    return block->memory;
}

/* Every other call draws ahead: what is queued on any stream runs at once. */
motley_status mot_call_take(mot_cuda_call *call, size_t slot_bytes, size_t scratch_bytes, int alone,
                            motley_error *error)
{
    static int turn;
    (void)alone, (void)error;
    call->scratch = (mot_arena){ new_memory(&emulated.pool.scratch, scratch_bytes), 0 };
    if (slot_bytes == 0)
        return MOTLEY_OK;
    uint8_t *const slot = new_memory(&emulated.pool.slots, slot_bytes);
    call->slot = (mot_slot_counters *)(void *)slot;
    memset(slot, 0, mot_counter_bytes(&emulated.chip));
    call->memory = mot_slot_begin(&emulated.chip, slot);
    call->draws = (turn ^= 1) ? &turn : call->stream;
    return MOTLEY_OK;
}

/* Nothing is late: all runs at once, in the order of the calls. */
motley_status mot_call_next(mot_cuda_call *call, const mot_node *node, mot_lane *lane, motley_error *error)
{
    (void)error;
    if ((node->reads | node->writes) & MOT_CALLERS)
        call->draws = call->stream;
    watch_begin(node);
    *lane = (mot_lane){ call->draws, 0 };
    return MOTLEY_OK;
}

motley_status mot_call_join(mot_cuda_call *call, motley_error *error)
{
    (void)call, (void)error;
    return MOTLEY_OK;
}

motley_status mot_call_late(mot_cuda_call *call, mot_late *late, const void *job, motley_error *error)
{
    return late(call, job, error);
}

motley_status mot_call_send(mot_cuda_call *call, unsigned memory, void *to, const void *from, size_t bytes,
                            const char *what, motley_error *error)
{
    (void)call, (void)what, (void)error;
    watch_begin(&(mot_node){ .writes = memory });
    memcpy(to, from, bytes);
    watch_end();
    return MOTLEY_OK;
}

motley_status mot_pool_reserve_host(mot_pool *pool, size_t bytes, motley_error *error)
{
    (void)error;
    if (bytes > pool->host.bytes)
        need((pool->host.memory = realloc(pool->host.memory, pool->host.bytes = bytes)) != NULL, "no memory");
    return MOTLEY_OK;
}

/* Tables are sent with every call: those of policies point to the host's (mot_cuda_tables_at), which may be gone. */
void *mot_pool_find(const mot_pool *pool, mot_kept_kind kind, uint64_t fingerprint, size_t bytes)
{
    (void)pool, (void)kind, (void)fingerprint, (void)bytes;
    return NULL;
}

motley_status mot_pool_make_room(const mot_cuda_call *call, mot_kept_kind kind, size_t bytes, mot_kept_tables **room,
                                 motley_error *error)
{
    (void)call, (void)kind, (void)error;
    new_memory(&kept.block, bytes);
    *room = &kept;
    return MOTLEY_OK;
}

motley_status mot_pool_upload(const mot_cuda_call *call, mot_kept_tables *room, mot_kept_kind kind,
                              uint64_t fingerprint, const void *host, motley_error *error)
{
    (void)call, (void)kind, (void)error;
    memcpy(room->block.memory, host, room->block.bytes);
    room->fingerprint = fingerprint;
    return MOTLEY_OK;
}

motley_status mot_pool_policy(const mot_cuda_call *call, const motley_policy *policy, mot_tables *tables,
                              motley_error *error)
{
    (void)call, (void)error;
    *tables = policy->tables;
    return MOTLEY_OK;
}

mot_tables mot_cuda_tables_at(const motley_policy *policy, const void *memory)
{
    (void)memory;
    return policy->tables;
}

motley_status mot_cuda_check(void *state, const char *name, const motley_batch *batch, motley_error *error)
{
    (void)state, (void)name, (void)batch, (void)error;
    return MOTLEY_OK;
}

motley_status mot_cuda_check_pointer(const void *state, const char *name, const void *data, motley_error *error)
{
    (void)state, (void)name, (void)data, (void)error;
    return MOTLEY_OK;
}

motley_status mot_cuda_try(cudaError_t code, const char *what, motley_error *error)
{
    (void)error;
    need(code == cudaSuccess, what);
    return MOTLEY_OK;
}

mot_cuda_steps mot_cuda_choose(mot_cuda_state *state, const mot_job *job)
{
    (void)state, (void)job;
    return (mot_cuda_steps){ .choice = { .route = MOT_ROUTE_RESIDENT } };
}

void mot_cuda_lay_out(mot_cuda_steps *steps, const mot_job *job, int of_transform, mot_slot_counters *counters,
                      mot_arena *slot, mot_arena *scratch)
{
    (void)steps, (void)job, (void)of_transform, (void)counters, (void)slot, (void)scratch;
}

/* Runs step `s` of each image by itself, as the CPU backend's jobs have no hue. */
static motley_status run_step(const mot_job *job, size_t s, motley_error *error)
{
    mot_job one = *job;
    mot_step *const steps = calloc(job->count, sizeof *steps);
    need(steps != NULL, "no memory");
    for (size_t i = 0; i < job->count; i++) {
        const mot_view image = mot_batch_view(job->dst, i);
        steps[i] = job->steps[i * job->max_steps + s];
        if (steps[i].op != MOTLEY_STEP_HUE)
            continue;
        if (image.channels >= 3)
            mot_rows_reference.hue(&image, mot_hue_value(steps[i].value));
        steps[i] = (mot_step){ .op = MOT_OP_IDENTITY, .arg.flags = MOT_ARG_IDENTITY };
    }
    one.steps = steps;
    one.max_steps = 1;
    const motley_status status = steps_context->backend->run(steps_context->state, &one, error);
    free(steps);
    return status;
}

/* Runs steps in place if an output follows, else to dst. */
motley_status mot_cuda_queue_steps(mot_cuda_call *call, const mot_job *job, const mot_cuda_steps *chosen,
                                   const mot_cuda_draw *draw, motley_error *error)
{
    (void)call, (void)chosen;
    mot_job steps = *job;
    watch_end();
    steps.dst = job->output ? job->src : job->dst;
    steps.output = NULL;
    steps.steps = job->drawn_steps;
    if (job->drawn_steps)
        steps.policy = NULL;
    else
        steps.samples = draw->samples.given;
    if (!job->drawn_steps && draw->samples.counter) {
        steps.samples.epoch = (uint32_t)draw->samples.counter[0];
        steps.samples.first = draw->samples.counter[1];
    }
    for (size_t i = 0; steps.steps && i < steps.count; i++) {
        const mot_view from = mot_batch_view(steps.src, i), to = mot_batch_view(steps.dst, i);
        if (from.data != to.data)
            mot_rows_reference.copy(&from, &to);
    }
    steps.src = steps.steps ? steps.dst : steps.src;
    motley_status status = MOTLEY_OK;
    for (size_t s = 0; steps.steps && s < steps.max_steps && !status; s++)
        status = run_step(&steps, s, error);
    if (!steps.steps)
        status = steps_context->backend->run(steps_context->state, &steps, error);
    for (size_t i = 0; job->output && i < job->count; i++) {
        const mot_view from = mot_batch_view(job->src, i), to = mot_batch_view(now->dst, i);
        mot_cpu_write_output(&from, &to, now->dst->dtype, (const uint32_t(*)[256])now->table);
    }
    return status;
}

/* ---- followers ---- */

motley_status mot_cuda_send_batch(mot_cuda_call *call, const motley_batch *batch, motley_image *images,
                                  mot_cuda_batch *sent, motley_error *error)
{
    *sent = mot_cuda_batch_of(batch, images);
    return batch->images
               ? mot_call_send(call, MOT_SENT, images, batch->images, batch->count * sizeof *images, "", error)
               : MOTLEY_OK;
}

motley_status mot_cuda_describe_draws(mot_cuda_call *call, const mot_job *job, const mot_cuda_steps *steps,
                                      mot_cuda_draw *draw, motley_error *error)
{
    (void)call, (void)steps, (void)error;
    draw->tables = job->policy->tables;
    draw->samples = (mot_cuda_samples){ job->samples, job->counter };
    return MOTLEY_OK;
}

motley_status mot_cuda_send_counts(mot_cuda_call *call, const mot_cuda_plan *plan, const mot_job *job,
                                   motley_error *error)
{
    (void)call, (void)error;
    for (size_t i = 0; i < job->count; i++)
        plan->step_count[i] = (int32_t)job->max_steps;
    return MOTLEY_OK;
}

/* ---- the context ---- */

static motley_status resize(void *state, const motley_batch *src, const motley_batch *dst,
                            const motley_resize_params *params, motley_error *error)
{
    emulate_backwards ^= 1;
    return mot_cuda_resize(state, src, dst, params, error);
}

static motley_status transform(void *state, const mot_transform_call *call, motley_error *error)
{
    emulate_backwards ^= 1;
    now = call;
    return mot_cuda_transform(state, call, error);
}

/* Images move on the CPU, and what follows them by kernels. */
static motley_status run(void *state, const mot_job *job, motley_error *error)
{
    mot_job images = *job, follow = *job;
    images.followed = NULL;
    MOT_TRY(steps_context->backend->run(state, &images, error));
    if (!job->followed)
        return MOTLEY_OK;
    const size_t n = job->count, most = job->max_steps;
    mot_step *const steps = calloc(n * most + 1, sizeof *steps);
    mot_rect *const inside = calloc(n * most + 1, sizeof *inside);
    need(steps && inside, "no memory");
    for (size_t i = 0; !job->steps && i < n; i++) {
        const mot_view v = mot_batch_view(job->src, i);
        const mot_drawn_sample sample = mot_sample_of(&job->samples, i, v.width, v.height, v.channels);
        for (size_t s = (size_t)mot_draw_sample(&job->policy->tables, &sample, steps + i * most); s < most; s++)
            steps[i * most + s] = (mot_step){ .op = MOT_OP_NOTHING, .arg.flags = MOT_ARG_IDENTITY };
    }
    follow.steps = job->steps ? job->steps : steps;
    follow.inside = job->inside ? job->inside : inside;
    emulate_backwards ^= 1;
    const motley_status status = mot_cuda_follow(&emulated, &follow, error);
    free(steps);
    free(inside);
    return status;
}

static motley_status follow(void *state, const mot_job *job, motley_error *error)
{
    (void)state;
    return mot_cuda_follow(&emulated, job, error);
}

motley_context *emulated_create(void)
{
    static mot_backend backend;
    const motley_context_params params = { .backend = MOTLEY_BACKEND_CPU };
    motley_context *context;
    motley_error error = { 0 };
    need(motley_context_create(&params, &context, &error) == MOTLEY_OK, error.message);
    need(motley_context_create(&params, &steps_context, &error) == MOTLEY_OK, error.message);
    emulated.chip = mot_chip_of(7, 40, 1024, 64 * 1024, 64 * 1024);
    need(mot_resize_prepare(emulated.chip.shared_bytes) == cudaSuccess, "no memory");
    emulated.resize_prepared = 1;
    backend = *context->backend;
    backend.resize = resize;
    backend.transform = transform;
    backend.run = run;
    backend.follow = follow;
    backend.mix = mot_cuda_mix;
    backend.mix_targets = mot_cuda_mix_targets;
    context->backend = &backend;
    return context;
}

void emulated_destroy(motley_context *context)
{
    watch_free(emulated.pool.slots.memory);
    watch_free(emulated.pool.scratch.memory);
    watch_free(kept.block.memory);
    free(emulated.pool.host.memory);
    emulated = (mot_cuda_state){ 0 };
    kept = (mot_kept_tables){ 0 };
    context->backend = steps_context->backend;
    motley_context_destroy(context);
    motley_context_destroy(steps_context);
}
