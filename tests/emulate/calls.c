/* SPDX-License-Identifier: Apache-2.0 */
/* What dispatch/cuda needs of a context, without a GPU: an order in which all runs at once. */
#include "tests/emulate/calls.h"
#include "tests/emulate/watch.h"
#include "tests/test.h"

#include "dispatch/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mot_cuda_state emulated;
int emulated_ahead = -1;
mot_late *emulated_late;

/* ---- dispatch/cuda/timeline.h ---- */

motley_status mot_call_begin(void *state, void *stream, mot_cuda_call *call, motley_error *error)
{
    (void)state, (void)error;
    watch_forget();
    *call = (mot_cuda_call){ .s = &emulated, .stream = stream, .lane = stream };
    return MOTLEY_OK;
}

motley_status mot_call_end(mot_cuda_call *call, motley_status status, motley_error *error)
{
    if (status == MOTLEY_OK)
        status = mot_call_join(call, error);
    watch_end();
    for (size_t i = 0; call->slot && i < mot_counter_bytes(&emulated.chip); i++)
        need(((const uint8_t *)call->slot)[i] == 0, "counters are not 0 after a call");
    return status;
}

/* The memory is new in each call. */
motley_status mot_call_take(mot_cuda_call *call, size_t slot_bytes, size_t scratch_bytes, int alone,
                            motley_error *error)
{
    static int turn;
    mot_pool *const pool = &emulated.pool;
    (void)alone;
    watch_free(pool->scratch.memory);
    watch_free(pool->slots.memory);
    pool->scratch = pool->slots = (mot_block){ 0 };
    MOT_TRY(mot_pool_reserve(call, slot_bytes, scratch_bytes, error));
    call->scratch = (mot_arena){ .base = pool->scratch.memory };
    if (slot_bytes == 0)
        return MOTLEY_OK;
    uint8_t *const slot = (uint8_t *)pool->slots.memory + slot_bytes; /* the second, behind which no memory is */
    call->slot = (mot_slot_counters *)(void *)slot;
    call->memory = mot_slot_begin(&emulated.chip, slot);
    turn ^= 1;
    if (emulated_ahead < 0 ? turn : emulated_ahead) {
        call->lane = &turn;
        call->late = emulated_late;
    }
    return MOTLEY_OK;
}

motley_status mot_call_next(mot_cuda_call *call, const mot_node *node, motley_error *error)
{
    if ((node->reads | node->writes) & MOT_CALLERS)
        MOT_TRY(mot_call_join(call, error));
    watch_begin(node);
    return MOTLEY_OK;
}

motley_status mot_call_join(mot_cuda_call *call, motley_error *error)
{
    mot_late *const late = call->late;
    call->lane = call->stream;
    call->late = NULL;
    return late ? late(call, call->late_job, error) : MOTLEY_OK;
}

motley_status mot_call_late(mot_cuda_call *call, mot_late *late, const void *job, motley_error *error)
{
    if (!mot_call_ahead(call))
        return late(call, job, error);
    call->late = late;
    call->late_job = job;
    return MOTLEY_OK;
}

motley_status mot_call_send(mot_cuda_call *call, unsigned memory, void *to, const void *from, size_t bytes,
                            const char *what, motley_error *error)
{
    MOT_TRY(mot_call_next(call, &(mot_node){ .writes = memory }, error));
    return mot_cuda_try(mot_cuda_send(to, from, bytes, call->lane), what, error);
}

cudaError_t mot_timeline_wait(const mot_timeline *t)
{
    (void)t;
    return cudaSuccess;
}

/* ---- context.c ---- */

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

/* ---- the context ---- */

static motley_status resize(void *state, const motley_batch *src, const motley_batch *dst,
                            const motley_resize_params *params, motley_error *error)
{
    (void)state;
    emulate_backwards ^= 1;
    return mot_cuda_resize(&emulated, src, dst, params, error);
}

static motley_status transform(void *state, const mot_job *job, motley_error *error)
{
    (void)state;
    emulate_backwards ^= 1;
    return mot_cuda_transform(&emulated, job, error);
}

/* Compares what the kernels have drawn for a job with what the host draws, but for the fields that only that has. */
static void check_draws(const mot_job *job)
{
    const mot_cuda_samples samples = { job->samples, job->counter };
    mot_step *const wanted = calloc(job->max_steps + 1, sizeof *wanted);
    need(wanted != NULL, "no memory");
    for (size_t i = 0; i < job->count; i++) {
        const mot_view v = mot_batch_view(job->src, i);
        const mot_drawn_sample of = mot_cuda_sample_of(&samples, (int)i, v.width, v.height, v.channels);
        const mot_step *const drawn = emulated.last.steps + i * job->max_steps;
        const int count = mot_draw_sample(&job->policy->tables, &of, wanted);
        need(emulated.last.step_count[i] == count, "the GPU draws another number of steps");
        for (int s = 0; s < count; s++)
            need(memcmp(&drawn[s], &wanted[s], offsetof(mot_step, unused)) == 0, "the GPU draws other steps");
    }
    free(wanted);
}

motley_status emulated_run(void *state, const mot_job *job, motley_error *error)
{
    (void)state;
    emulated.last.count = 0;
    MOT_TRY(mot_cuda_run(&emulated, job, error));
    if (job->policy && emulated.last.count)
        check_draws(job);
    return MOTLEY_OK;
}

static motley_status run(void *state, const mot_job *job, motley_error *error)
{
    emulate_backwards ^= 1;
    return emulated_run(state, job, error);
}

static motley_status follow(void *state, const mot_job *job, motley_error *error)
{
    (void)state;
    return mot_cuda_follow(&emulated, job, error);
}

static void *allocate(void *user, size_t bytes, void *stream)
{
    (void)user, (void)stream;
    return watch_allocate(bytes);
}

static void release(void *user, void *memory, void *stream)
{
    (void)user, (void)stream;
    watch_free(memory);
}

motley_context *emulated_create(void)
{
    static mot_backend backend;
    const motley_context_params params = { .backend = MOTLEY_BACKEND_CPU };
    motley_context *context;
    motley_error error = { 0 };
    need(motley_context_create(&params, &context, &error) == MOTLEY_OK, error.message);
    emulated.chip = mot_chip_of(7, EMULATED_CTAS / 2, 1024, 64 * 1024, 64 * 1024);
    emulated.params = (motley_context_params){ .allocate = allocate, .release = release };
    mot_cuda_op_facts(emulated.op);
    need(mot_resize_prepare(emulated.chip.shared_bytes) == cudaSuccess &&
             mot_cuda_draw_prepare(emulated.chip.draw_bytes) == cudaSuccess,
         "no memory");
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
    mot_pool_release_all(&emulated);
    emulated = (mot_cuda_state){ 0 };
    context->backend = &mot_backend_cpu;
    motley_context_destroy(context);
}
