/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's memory: the workspace of a batch, the tables of policies and transforms. All of it only grows, so
 * that in steady state a call allocates nothing. */
#include "dispatch/cuda/parts.h"
#include "dispatch/cuda/state.h"
#include "dispatch/cuda/tiles.h"

#include <stdlib.h>

static motley_status allocate(mot_cuda_state *s, size_t bytes, cudaStream_t stream, void **memory, motley_error *error)
{
    if (s->params.allocate) {
        *memory = s->params.allocate(s->params.allocator_user, bytes, stream);
        return *memory
                   ? MOTLEY_OK
                   : mot_fail(error, MOTLEY_ERR_MEMORY, "the caller's allocator returned NULL for %zu bytes", bytes);
    }
    CUDA_TRY(cudaMalloc(memory, bytes), "allocating the workspace");
    return MOTLEY_OK;
}

static void release(mot_cuda_state *s, void *memory, cudaStream_t stream)
{
    if (memory && s->params.release)
        s->params.release(s->params.allocator_user, memory, stream);
    else if (memory)
        cudaFree(memory);
}

void mot_cuda_release_all(mot_cuda_state *s)
{
    release(s, s->memory, NULL);
    release(s, s->tiles, NULL);
    release(s, s->kept.memory, NULL);
    for (unsigned i = 0; i < MOT_TRANSFORMS_KEPT; i++)
        release(s, s->kept.transform[i].memory, NULL);
    for (unsigned i = 0; i < MOT_TABLES_KEPT; i++)
        release(s, s->tables[i].memory, NULL);
}

/* Takes the next `bytes` of a block being laid out; with base == NULL it only counts. */
static void *take(char *base, size_t *at, size_t bytes)
{
    void *const here = base ? base + *at : NULL;
    *at += (bytes + 255) & ~(size_t)255;
    return here;
}

static size_t lay_out(mot_cuda_state *s, char *base, size_t samples, size_t steps)
{
    size_t at = 0;
    for (int half = 0; half < 2; half++) {
        mot_cuda_space *const space = &s->space[half];
        space->plan.steps = take(base, &at, steps * sizeof(mot_step));
        space->plan.step_count = take(base, &at, samples * sizeof(int32_t));
        space->plan.ready = take(base, &at, samples * sizeof(int32_t));
        space->plan.order = take(base, &at, samples * sizeof(mot_cuda_turn));
        space->plan.key = take(base, &at, samples * sizeof(int32_t));
        space->plan.rank = take(base, &at, samples * sizeof(int32_t));
        space->plan.filled = take(base, &at, MOT_KEYS * sizeof(int32_t));
        space->plan.ticket = take(base, &at, sizeof(int32_t));
        space->plan.counters = take(base, &at, sizeof *space->plan.counters);
        space->ids = take(base, &at, samples * sizeof(uint64_t));
        space->views = take(base, &at, samples * sizeof(uint32_t));
        space->images = take(base, &at, 3 * samples * sizeof(motley_image));
    }
    mot_cuda_take_space(s);
    return at;
}

void mot_cuda_take_space(mot_cuda_state *s)
{
    s->halves.clean = 0;
    s->now = s->space[s->halves.half];
    s->last_count = 0; /* its steps are overwritten */
}

static motley_status refuse_capture(cudaStream_t stream, const char *what, motley_error *error)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    CUDA_TRY(cudaStreamIsCapturing(stream, &capture), "asking whether the stream is being captured");
    if (capture != cudaStreamCaptureStatusNone)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "%s needs memory while the stream is being captured: run the same call once before", what);
    return MOTLEY_OK;
}

motley_status mot_cuda_reserve_batch(mot_cuda_state *s, size_t samples, size_t max_steps, cudaStream_t stream,
                                     motley_error *error)
{
    const size_t steps = samples * max_steps;
    if (samples <= s->capacity && steps <= s->steps_capacity)
        return MOTLEY_OK;
    MOT_TRY(refuse_capture(stream, "a larger batch", error));
    samples = samples > s->capacity ? samples : s->capacity;
    const size_t room = steps > s->steps_capacity ? steps : s->steps_capacity;
    if (s->queued) /* the old workspace may still be in use */
        CUDA_TRY(cudaEventSynchronize(s->done), "waiting for earlier work");
    release(s, s->memory, stream);
    s->memory = NULL;
    s->capacity = s->steps_capacity = 0;
    const size_t bytes = lay_out(s, NULL, samples, room);
    void *memory;
    MOT_TRY(allocate(s, bytes, stream, &memory, error));
    s->memory = memory;
    lay_out(s, memory, samples, room);
    CUDA_TRY(cudaMemsetAsync(memory, 0, bytes, stream), "clearing the workspace"); /* the counters begin at 0 */
    s->capacity = samples;
    s->steps_capacity = room;
    return MOTLEY_OK;
}

motley_status mot_cuda_reserve_tiles(mot_cuda_state *s, const mot_tiles_plan *plan, cudaStream_t stream,
                                     motley_error *error)
{
    const size_t bytes = (size_t)plan->bytes;
    if (bytes <= s->tiles_bytes)
        return MOTLEY_OK;
    MOT_TRY(refuse_capture(stream, "a larger batch", error));
    if (s->queued)
        CUDA_TRY(cudaEventSynchronize(s->done), "waiting for earlier work");
    release(s, s->tiles, stream);
    s->tiles = NULL;
    s->tiles_bytes = 0;
    s->tiles_half = 0;
    MOT_TRY(allocate(s, bytes, stream, &s->tiles, error));
    s->tiles_bytes = bytes;
    return MOTLEY_OK;
}

static mot_cuda_tables *find_tables(mot_cuda_state *s, const motley_policy *policy)
{
    for (unsigned i = 0; i < MOT_TABLES_KEPT; i++)
        if (s->tables[i].memory && s->tables[i].fingerprint == policy->fingerprint &&
            s->tables[i].bytes == policy->compiled_bytes)
            return &s->tables[i];
    return NULL;
}

int mot_cuda_has_tables(mot_cuda_state *s, const motley_policy *policy)
{
    return find_tables(s, policy) != NULL;
}

mot_tables mot_cuda_tables_at(const motley_policy *policy, const void *memory)
{
    const char *const host = policy->compiled, *const device = memory;
    mot_tables tables = policy->tables;
    tables.phase = (const mot_table_phase *)(device + ((const char *)tables.phase - host));
    tables.branch = (const mot_table_branch *)(device + ((const char *)tables.branch - host));
    tables.step = (const mot_table_step *)(device + ((const char *)tables.step - host));
    tables.level = (const mot_level_entry *)(device + ((const char *)tables.level - host));
    if (tables.chains) {
        tables.gamma = (const double *)(const void *)(device + ((const char *)tables.gamma - host));
        tables.beta = (const double *)(const void *)(device + ((const char *)tables.beta - host));
    }
    return tables;
}

motley_status mot_cuda_send_tables(mot_cuda_state *s, const motley_policy *policy, cudaStream_t stream,
                                   mot_tables *tables, motley_error *error)
{
    mot_cuda_tables *found = find_tables(s, policy);
    if (!found) {
        MOT_TRY(refuse_capture(stream, "a policy's first use", error));
        found = &s->tables[s->tables_next++ % MOT_TABLES_KEPT];
        if (found->memory && s->queued)
            CUDA_TRY(cudaEventSynchronize(s->done), "waiting for earlier work");
        release(s, found->memory, stream);
        *found = (mot_cuda_tables){ 0 };
        void *memory;
        MOT_TRY(allocate(s, policy->compiled_bytes, stream, &memory, error));
        const cudaError_t code =
            cudaMemcpyAsync(memory, policy->compiled, policy->compiled_bytes, cudaMemcpyHostToDevice, stream);
        if (code != cudaSuccess) {
            release(s, memory, stream);
            return mot_cuda_fail(error, "sending the policy", code);
        }
        s->halves.clean = 0;
        *found = (mot_cuda_tables){ policy->fingerprint, policy->compiled_bytes, memory };
    }
    *tables = mot_cuda_tables_at(policy, found->memory);
    return MOTLEY_OK;
}

motley_status mot_cuda_reserve(const mot_cuda_work *work, size_t device_bytes, size_t host_bytes, motley_error *error)
{
    mot_cuda_state *const s = work->state;
    mot_cuda_kept *const kept = work->kept;
    kept->half_bytes = 0;
    if (host_bytes > kept->host_bytes) {
        void *const host = realloc(kept->host, host_bytes);
        if (!host)
            return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu bytes", host_bytes);
        kept->host = host;
        kept->host_bytes = host_bytes;
    }
    if (device_bytes <= kept->bytes)
        return MOTLEY_OK;
    MOT_TRY(refuse_capture(work->stream, "a larger batch", error));
    if (s->queued)
        CUDA_TRY(cudaEventSynchronize(s->done), "waiting for earlier work");
    release(s, kept->memory, work->stream);
    kept->memory = NULL;
    kept->bytes = 0;
    MOT_TRY(allocate(s, device_bytes, work->stream, &kept->memory, error));
    kept->bytes = device_bytes;
    return MOTLEY_OK;
}

/* Whether a stream has work left: on an idle one, draws on another stream would only take longer. */
static int is_busy(cudaStream_t stream)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; /* else it would end captures of other streams */
    cudaThreadExchangeStreamCaptureMode(&mode);
    const cudaError_t code = cudaStreamQuery(stream);
    cudaThreadExchangeStreamCaptureMode(&mode);
    if (code != cudaSuccess)
        cudaGetLastError();
    return code == cudaErrorNotReady;
}

motley_status mot_cuda_begin_ahead(mot_cuda_state *s, int possible, cudaStream_t stream, cudaStream_t *draws,
                                   motley_error *error)
{
    mot_cuda_halves *const halves = &s->halves;
    /* graphs are replayed without the events */
    const int ahead = possible && !s->captured && is_busy(stream);
    const int clean = halves->clean;
    halves->half = ahead ? !halves->half : 0;
    halves->ahead = ahead;
    halves->clean |= ahead;
    *draws = ahead ? s->ahead : stream;
    if (ahead)
        CUDA_TRY(cudaStreamWaitEvent(s->ahead, clean ? halves->done[halves->half] : s->done, 0),
                 "waiting for the workspace");
    return MOTLEY_OK;
}

motley_status mot_cuda_end_ahead(const mot_cuda_state *s, cudaStream_t stream, motley_error *error)
{
    if (!s->halves.ahead)
        return MOTLEY_OK;
    CUDA_TRY(cudaEventRecord(s->drawn, s->ahead), "recording an event");
    CUDA_TRY(cudaStreamWaitEvent(stream, s->drawn, 0), "waiting for the draws");
    return MOTLEY_OK;
}

motley_status mot_cuda_begin_draws(const mot_cuda_work *work, size_t half_bytes, int known, int possible, int *half,
                                   cudaStream_t *stream, motley_error *error)
{
    mot_cuda_state *const s = work->state;
    /* what a caller has just allocated may be in use up to this call */
    const int same = work->half_bytes == half_bytes && work->kept_bytes == s->kept.bytes;
    if (!same || !known)
        s->halves.clean = 0;
    MOT_TRY(mot_cuda_begin_ahead(s, possible && same && known && !work->captured, work->stream, stream, error));
    s->kept.half_bytes = half_bytes;
    *half = s->halves.half;
    return MOTLEY_OK;
}

motley_status mot_cuda_end_draws(const mot_cuda_work *work, motley_error *error)
{
    return mot_cuda_end_ahead(work->state, work->stream, error);
}

motley_status mot_cuda_keep_transform(const mot_cuda_work *work, uint64_t fingerprint, size_t bytes,
                                      mot_cuda_sent **sent, motley_error *error)
{
    mot_cuda_state *const s = work->state;
    for (unsigned i = 0; i < MOT_TRANSFORMS_KEPT; i++)
        if (work->kept->transform[i].fingerprint == fingerprint && work->kept->transform[i].bytes == bytes) {
            *sent = &work->kept->transform[i];
            return MOTLEY_OK;
        }
    MOT_TRY(refuse_capture(work->stream, "a transform's first use", error));
    *sent = &work->kept->transform[work->kept->transforms_next++ % MOT_TRANSFORMS_KEPT];
    if (s->queued)
        CUDA_TRY(cudaEventSynchronize(s->done), "waiting for earlier work");
    release(s, (*sent)->memory, work->stream);
    **sent = (mot_cuda_sent){ 0 };
    MOT_TRY(allocate(s, bytes, work->stream, &(*sent)->memory, error));
    (*sent)->bytes = bytes;
    return MOTLEY_OK;
}

motley_status mot_cuda_workspace(void *state, const mot_job *job, size_t *bytes, motley_error *error)
{
    (void)error;
    mot_cuda_state *const s = state;
    mot_cuda_state counted = *s; /* a copy, to count without allocating */
    size_t samples = s->capacity, steps = s->steps_capacity, tiles = s->tiles_bytes, kept = s->kept.bytes;
    *bytes = 0;
    for (unsigned i = 0; i < MOT_TRANSFORMS_KEPT; i++)
        *bytes += s->kept.transform[i].bytes;
    for (unsigned i = 0; i < MOT_TABLES_KEPT; i++)
        *bytes += s->tables[i].bytes;
    if (job) {
        const size_t needed = job->count * job->max_steps;
        samples = job->count > samples ? job->count : samples;
        steps = needed > steps ? needed : steps;
        if (job->policy && !job->policy->runs_customs && !find_tables(s, job->policy))
            *bytes +=
                job->policy->compiled_bytes - s->tables[s->tables_next % MOT_TABLES_KEPT].bytes; /* it is replaced */
        mot_job part = *job;
        const mot_cuda_parts parts = mot_cuda_parts_of(job);
        if (mot_cuda_has_parts(&parts)) {
            const size_t apart = mot_cuda_parts_need(&parts, job, job->dst != NULL).device;
            kept = apart > kept ? apart : kept;
            part.max_steps = mot_cuda_part_steps(&parts);
        }
        const mot_tiles_plan plan =
            mot_tiles_plan_of(&part, mot_cuda_format_of(job->src), mot_cuda_resident_ctas(&s->chip));
        tiles = (size_t)plan.bytes > tiles ? (size_t)plan.bytes : tiles;
    }
    *bytes += tiles + kept;
    if (samples > 0)
        *bytes += lay_out(&counted, NULL, samples, steps);
    return MOTLEY_OK;
}
