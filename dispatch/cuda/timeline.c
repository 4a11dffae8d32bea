/* SPDX-License-Identifier: Apache-2.0 */
/* See timeline.h, which has the rules. */
#include "dispatch/cuda/timeline.h"
#include "dispatch/cuda/state.h"

#define EVENTS 3

static void events_of(mot_timeline *t, cudaEvent_t *events[EVENTS])
{
    events[0] = &t->drawn;
    events[1] = &t->done[0];
    events[2] = &t->done[1];
}

motley_status mot_timeline_create(mot_timeline *t, motley_error *error)
{
    cudaEvent_t *events[EVENTS];
    events_of(t, events);
    for (int i = 0; i < EVENTS; i++)
        CUDA_TRY(cudaEventCreateWithFlags(events[i], cudaEventDisableTiming), "making an event");
    int least, greatest; /* else CTAs of draws would wait until all CTAs of a kernel that runs have begun */
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking the device");
    CUDA_TRY(cudaStreamCreateWithPriority(&t->ahead, cudaStreamNonBlocking, greatest), "making a stream");
    return MOTLEY_OK;
}

void mot_timeline_destroy(mot_timeline *t)
{
    cudaEvent_t *events[EVENTS];
    events_of(t, events);
    for (int i = 0; i < EVENTS; i++)
        if (*events[i])
            cudaEventDestroy(*events[i]);
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
    *call = (mot_cuda_call){ .s = s, .stream = stream, .draws = stream, .changes = s->pool.changes };
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
    call->scratch = (mot_arena){ s->pool.scratch.memory, 0 };
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
    call->draws = t->ahead;
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
    call->draws = call->stream;
    CUDA_TRY(cudaEventRecord(t->drawn, t->ahead), "recording an event");
    CUDA_TRY(cudaStreamWaitEvent(call->stream, t->drawn, 0), "waiting for the draws");
    return MOTLEY_OK;
}

motley_status mot_call_end(mot_cuda_call *call, motley_status status, motley_error *error)
{
    mot_cuda_state *const s = call->s;
    mot_timeline *const t = &s->timeline;
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
