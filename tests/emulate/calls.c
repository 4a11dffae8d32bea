/* SPDX-License-Identifier: Apache-2.0 */
/* What a context does for resizes and transforms, without a GPU. Steps between the resize and the output run on the
 * CPU. */
#include "tests/emulate/calls.h"

#include "dispatch/cuda/draw.h"
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

mot_chip emulated_chip;
mot_cuda_kept emulated_kept;
int emulated_whole;

static motley_context *steps_context;
static const mot_transform_call *now;

static void need(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "emulate: %s\n", what);
        exit(2);
    }
}

/* ---- dispatch/cuda/work.h ---- */

motley_status mot_cuda_begin(void *state, void *stream, mot_cuda_work *work, motley_error *error)
{
    (void)error;
    *work = (mot_cuda_work){ .state = state, .stream = stream, .chip = &emulated_chip, .kept = &emulated_kept };
    return MOTLEY_OK;
}

motley_status mot_cuda_end(const mot_cuda_work *work, motley_status status, motley_error *error)
{
    (void)work, (void)error;
    return status;
}

motley_status mot_cuda_reserve(const mot_cuda_work *work, size_t device_bytes, size_t host_bytes, motley_error *error)
{
    mot_cuda_kept *const kept = &emulated_kept;
    (void)work, (void)error;
    if (host_bytes > kept->host_bytes)
        need((kept->host = realloc(kept->host, kept->host_bytes = host_bytes)) != NULL, "no memory");
    if (device_bytes == 0)
        return MOTLEY_OK;
    free(kept->memory); /* exactly the requested size, so that a sanitizer sees reads beyond it */
    kept->memory = aligned_alloc(256, (device_bytes + 255) & ~(size_t)255);
    need(kept->memory != NULL, "no memory");
    memset(kept->memory, 0xA5, device_bytes);
    return MOTLEY_OK;
}

/* Every other call draws ahead: what is queued on any stream runs at once. */
motley_status mot_cuda_begin_draws(const mot_cuda_work *work, size_t half_bytes, int known, int possible, int *half,
                                   cudaStream_t *stream, motley_error *error)
{
    static int turn;
    (void)half_bytes, (void)known, (void)possible, (void)error;
    *half = turn ^= 1;
    *stream = turn ? &turn : work->stream;
    return MOTLEY_OK;
}

motley_status mot_cuda_end_draws(const mot_cuda_work *work, motley_error *error)
{
    (void)work, (void)error;
    return MOTLEY_OK;
}

motley_status mot_cuda_keep_transform(const mot_cuda_work *work, uint64_t fingerprint, size_t bytes,
                                      mot_cuda_sent **sent, motley_error *error)
{
    mot_cuda_sent *const first = &emulated_kept.transform[0];
    (void)work, (void)error;
    *sent = first;
    if (first->fingerprint == fingerprint)
        return MOTLEY_OK;
    free(first->memory);
    *first = (mot_cuda_sent){ .bytes = bytes, .memory = malloc(bytes) };
    need(first->memory != NULL, "no memory");
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

cudaError_t mot_cuda_send(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

/* Steps run in place on the resized pixels. */
motley_status mot_cuda_run_steps(const mot_cuda_work *work, const mot_job *job, const mot_cuda_draw *draw,
                                 const mot_resize_job *resize, motley_error *error)
{
    mot_job steps = *job;
    if (resize)
        need(mot_resize_launch(resize, 0, work->stream) == cudaSuccess, "launching the resize kernel");
    steps.dst = job->src;
    steps.output = NULL;
    steps.steps = job->drawn_steps;
    if (job->drawn_steps)
        steps.policy = NULL;
    else
        steps.samples = (motley_samples){ .seed = draw->seed,
                                          .epoch = draw->counter ? (uint32_t)draw->counter[0] : draw->epoch,
                                          .first = draw->counter ? draw->counter[1] : draw->sample,
                                          .ids = draw->ids,
                                          .views = draw->views,
                                          .view = draw->view };
    const motley_status status = steps_context->backend->run(steps_context->state, &steps, error);
    for (size_t i = 0; job->output && i < job->count; i++) {
        const mot_view from = mot_batch_view(job->src, i), to = mot_batch_view(now->dst, i);
        mot_cpu_write_output(&from, &to, now->dst->dtype, (const uint32_t(*)[256])now->table);
    }
    return status;
}

/* ---- parts, followers and mixing ---- */

void mot_cuda_parts_add_policy(mot_cuda_parts *parts, const motley_policy *policy)
{
    if (policy->augmix.width)
        parts->turns = 1;
}

void mot_cuda_parts_add(mot_cuda_parts *parts, int steps, int kinds, int ops)
{
    (void)steps, (void)ops;
    parts->kinds |= kinds;
}

void mot_cuda_parts_add_image(mot_cuda_parts *parts, const int32_t *ops, int count)
{
    for (int s = 0; s < count; s++)
        parts->kinds |= ops[s] < 0 || parts->clip_frames > 1;
}

mot_cuda_parts_bytes mot_cuda_parts_need(const mot_cuda_parts *parts, const mot_job *job, int has_work)
{
    (void)parts, (void)job, (void)has_work;
    return (mot_cuda_parts_bytes){ 0, 0 };
}

motley_status mot_cuda_run_parts(const mot_cuda_work *cuda, const mot_job *job, const mot_cuda_parts *parts,
                                 const motley_batch *work, int given, uint8_t *device, uint8_t *host,
                                 motley_error *error)
{
    (void)cuda, (void)job, (void)parts, (void)work, (void)given, (void)device, (void)host, (void)error;
    emulated_whole = 0;
    return MOTLEY_OK;
}

cudaError_t mot_parts_draw_launch(const mot_cuda_draw *draw, const mot_tables *tables, int own_steps,
                                  cudaStream_t stream)
{
    (void)draw, (void)tables, (void)own_steps, (void)stream;
    return cudaSuccess;
}

motley_status mot_cuda_check_followed(void *state, const motley_followed *followed, motley_error *error)
{
    (void)state, (void)followed, (void)error;
    return MOTLEY_OK;
}

cudaError_t mot_follow_launch(const mot_follow_job *job, cudaStream_t stream)
{
    (void)job, (void)stream;
    return cudaErrorInvalidConfiguration; /* no check follows boxes here */
}

size_t mot_cuda_mix_bytes(const mot_cuda_work *work, const motley_batch *batch, size_t *host_bytes)
{
    (void)work, (void)batch;
    *host_bytes = 0;
    return 0;
}

motley_status mot_cuda_mix_queue(const mot_cuda_work *work, const motley_batch *src, const motley_batch *dst,
                                 const motley_mixed *drawn, const double *smoothing, uint8_t *device, uint8_t *host,
                                 motley_error *error)
{
    (void)work, (void)smoothing, (void)device, (void)host;
    return motley_mix_apply(steps_context, src, dst, drawn, error);
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
    emulated_whole = 1;
    now = call;
    return mot_cuda_transform(state, call, error);
}

motley_context *emulated_create(void)
{
    static mot_backend backend;
    const motley_context_params params = { .backend = MOTLEY_BACKEND_CPU };
    motley_context *context;
    motley_error error = { 0 };
    need(motley_context_create(&params, &context, &error) == MOTLEY_OK, error.message);
    need(motley_context_create(&params, &steps_context, &error) == MOTLEY_OK, error.message);
    emulated_chip = (mot_chip){ .shared_bytes = 64 * 1024 - MOT_STATIC_BYTES }; /* sm_75 */
    need(mot_resize_prepare(emulated_chip.shared_bytes) == cudaSuccess, "no memory");
    emulated_kept.prepared = 1;
    backend = *context->backend;
    backend.resize = resize;
    backend.transform = transform;
    context->backend = &backend;
    return context;
}

void emulated_destroy(motley_context *context)
{
    free(emulated_kept.memory);
    free(emulated_kept.host);
    free(emulated_kept.transform[0].memory);
    emulated_kept = (mot_cuda_kept){ 0 };
    context->backend = steps_context->backend;
    motley_context_destroy(context);
    motley_context_destroy(steps_context);
}
