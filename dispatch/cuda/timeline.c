/* SPDX-License-Identifier: Apache-2.0 */
/* See timeline.h, which has the rules. */
#include "dispatch/cuda/timeline.h"
#include "dispatch/cuda/state.h"

motley_status mot_timeline_create(mot_timeline *t, motley_error *error)
{
    cudaEvent_t *const events[] = { &t->drawn, &t->done[0], &t->done[1] };
    for (int i = 0; i < 3; i++)
        CUDA_TRY(cudaEventCreateWithFlags(events[i], cudaEventDisableTiming), "making an event");
    int least, greatest; /* else CTAs of draws would wait until all CTAs of a kernel that runs have begun */
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking the device");
    CUDA_TRY(cudaStreamCreateWithPriority(&t->ahead, cudaStreamNonBlocking, greatest), "making a stream");
    return MOTLEY_OK;
}

void mot_timeline_destroy(mot_timeline *t)
{
    const cudaEvent_t events[] = { t->drawn, t->done[0], t->done[1] };
    for (int i = 0; i < 3; i++)
        if (events[i])
            cudaEventDestroy(events[i]);
    if (t->ahead)
        cudaStreamDestroy(t->ahead);
}

cudaError_t mot_timeline_wait(const mot_timeline *t)
{
    return t->queued ? cudaEventSynchronize(t->last_done) : cudaSuccess;
}

motley_status mot_call_begin(void *state, void *stream, mot_cuda_call *call, motley_error *error)
{
    mot_cuda_state *const s = state;
    const mot_timeline *const t = &s->timeline;
    *call = (mot_cuda_call){ .s = s, .stream = stream, .lane = stream, .changes = s->pool.changes };
    MOT_TRY(mot_cuda_enter(s, &call->device_before, error));
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaError_t code = cudaStreamIsCapturing(call->stream, &capture);
    call->captured = capture != cudaStreamCaptureStatusNone;
    if (code == cudaSuccess && t->queued && t->last != call->stream && !call->captured)
        code = cudaStreamWaitEvent(call->stream, t->last_done, 0);
    if (code == cudaSuccess)
        return MOTLEY_OK;
    cudaGetLastError();
    mot_cuda_leave(s, call->device_before);
    return mot_cuda_fail(error, "waiting for the workspace", code);
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

motley_status mot_call_take(mot_cuda_call *call, size_t slot_bytes, size_t scratch_bytes, int alone,
                            motley_error *error)
{
    mot_cuda_state *const s = call->s;
    mot_timeline *const t = &s->timeline;
    if (slot_bytes > 0)
        s->last.count = 0;
    MOT_TRY(mot_pool_reserve(call, slot_bytes, scratch_bytes, error));
    call->scratch = (mot_arena){ .base = s->pool.scratch.memory };
    if (slot_bytes == 0)
        return MOTLEY_OK;
    const int ahead =
        alone && !call->captured && !t->captured && s->pool.changes == call->changes && is_busy(call->stream);
    t->slot = ahead ? !t->slot : 0;
    uint8_t *const slot = (uint8_t *)s->pool.slots.memory + (t->slot ? s->pool.slots.bytes / 2 : 0);
    call->slot = (mot_slot_counters *)(void *)slot;
    call->memory = mot_slot_begin(&s->chip, slot);
    if (!ahead)
        return MOTLEY_OK;
    call->lane = t->ahead;
    const cudaEvent_t free = t->settled == s->pool.changes ? t->done[t->slot] : t->last_done;
    CUDA_TRY(cudaStreamWaitEvent(t->ahead, free, 0), "waiting for the workspace");
    t->settled = s->pool.changes;
    return MOTLEY_OK;
}

motley_status mot_call_join(mot_cuda_call *call, motley_error *error)
{
    const mot_timeline *const t = &call->s->timeline;
    if (!mot_call_ahead(call))
        return MOTLEY_OK;
    call->lane = call->stream;
    call->chained = 0;
    CUDA_TRY(cudaEventRecord(t->drawn, t->ahead), "recording an event");
    CUDA_TRY(cudaStreamWaitEvent(call->stream, t->drawn, 0), "waiting for the draws");
    mot_late *const late = call->late;
    call->late = NULL;
    return late ? late(call, call->late_job, error) : MOTLEY_OK;
}

motley_status mot_call_next(mot_cuda_call *call, const mot_node *node, motley_error *error)
{
    const unsigned all = node->reads | node->writes;
    const unsigned early = node->waits == MOT_WAITS_LAST ? all : node->early;
    mot_node *const running = &call->running;
    if (all & MOT_CALLERS)
        MOT_TRY(mot_call_join(call, error));
    const int safe = !(early & running->writes) && !(early & node->writes & running->reads);
    const int useful = node->waits == MOT_WAITS_LAST || (node->waits == MOT_WAITS_FIRST && !mot_call_ahead(call));
    call->overlap = call->s->chip.overlaps && call->chained && useful && safe;
    const int others = call->overlap && (node->waits == MOT_WAITS_LAST || node->settles);
    running->reads = node->reads | (others ? running->reads & ~node->settles : 0);
    running->writes = node->writes | (others ? running->writes & ~node->settles : 0);
    call->chained = 1;
    call->s->timeline.node = *node;
    return MOTLEY_OK;
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
    if (bytes == 0)
        return MOTLEY_OK;
    MOT_TRY(mot_call_next(call, &(mot_node){ .writes = memory }, error));
    return mot_cuda_try(mot_cuda_send(to, from, bytes, call->lane), what, error);
}

motley_status mot_call_end(mot_cuda_call *call, motley_status status, motley_error *error)
{
    mot_cuda_state *const s = call->s;
    mot_timeline *const t = &s->timeline;
    if (status != MOTLEY_OK)
        call->late = NULL;
    const motley_status joined = mot_call_join(call, status == MOTLEY_OK ? error : NULL);
    status = status == MOTLEY_OK ? joined : status;
    if (call->captured) {
        t->captured |= status == MOTLEY_OK;
        mot_cuda_leave(s, call->device_before);
        return status;
    }
    if (status != MOTLEY_OK && call->slot) /* perhaps no kernel follows that would clear them */
        cudaMemsetAsync(call->slot, 0, mot_counter_bytes(&s->chip), call->stream);
    const cudaError_t code = cudaEventRecord(t->done[t->slot], call->stream);
    if (code == cudaSuccess) {
        t->queued = 1;
        t->last = call->stream;
        t->last_done = t->done[t->slot];
    } else {
        cudaGetLastError();
    }
    mot_cuda_leave(s, call->device_before);
    return status == MOTLEY_OK && code != cudaSuccess ? mot_cuda_fail(error, "recording an event", code) : status;
}
