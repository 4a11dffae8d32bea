/* SPDX-License-Identifier: Apache-2.0 */
/* The order of what a context queues on the GPU.
 *
 * Draws need no pixels. If the caller's stream has work left, they run ahead, on a stream of the context's own.
 *
 *   Ahead     A call's draws run ahead if they need nothing that the caller's stream writes, the call has just made
 *             nothing that they need (memory, tables), no graph has ever captured a call of this context, and the
 *             caller's stream has work left. Else everything is queued on the caller's stream.
 *   Slots     What draws write lies in one of two slots (pool.h). Only the draws of the call that took it write a slot,
 *             and only kernels of that call read it. A call that runs ahead takes the slot that the last one did not;
 *             other calls take the first. A call that draws nothing takes none.
 *   Free      At the end of each call, the event of the last slot taken is recorded on the caller's stream. Draws ahead
 *             wait for the event of their slot; or, if memory or tables were new since the last draws ahead, for the
 *             event of the last call, whichever slot it had.
 *   Streams   A call on another stream than the last one waits for the event of the last call.
 *   Join      Each kernel says which memory it reads and writes. In a call that runs ahead, the first kernel that needs
 *             what the caller's stream writes is queued there, once that stream waits for the draws; so are all after
 *             it.
 *   Overlap   On chips that can, a kernel begins while the one before it in its call ends, if it waits for that end
 *             itself, before it touches what that one, or another that may still run, writes. CTAs that wait take
 *             places from kernels that work, so that ahead only kernels do that wait at their end.
 *   Capture   A captured call waits for no event and records none, and nothing grows for it: what it lacks is an error.
 *             Events do not order replays, so from the first captured call that succeeds, nothing runs ahead.
 *   Counters  A slot's counters are 0 between kernels: each kernel that ends with them clears them. They are cleared
 *             here when memory is new, and when a call fails between two such kernels.
 *   Report    motley_context_subbatches reads the slot of the last call, so that a call that takes a slot clears the
 *             report first. Only a whole apply that succeeded makes one. */
#ifndef MOT_CUDA_TIMELINE_H
#define MOT_CUDA_TIMELINE_H

#include "dispatch/cuda/pool.h"

/* When a kernel waits for the end of the one before it. */
typedef enum mot_waits {
    MOT_WAITS_NOT,   /* it begins after that */
    MOT_WAITS_FIRST, /* before it touches any memory but `early` */
    MOT_WAITS_LAST   /* at its end */
} mot_waits;

typedef struct mot_node {
    unsigned reads, writes;
    mot_waits waits;
    unsigned early;
    unsigned settles; /* It lets the next kernel begin before it has waited, but not before kernels still running have
                       * done with this memory. 0: kernels that wait first let it begin after that. */
} mot_node;

typedef struct mot_timeline {
    cudaStream_t ahead;  /* for draws */
    cudaEvent_t drawn;   /* recorded there */
    cudaEvent_t done[2]; /* of each slot: recorded at the end of a call that took it, and of later calls without one */
    cudaEvent_t last_done; /* the one that was recorded last */
    int slot;              /* that was taken last */
    int queued, captured;  /* a call was queued; a graph has captured one */
    cudaStream_t last;     /* the stream of the last call */
    mot_node node;         /* of the kernel that is queued, for tests */
    unsigned settled;      /* pool.changes when draws ahead last waited for all earlier calls */
} mot_timeline;

struct mot_cuda_call;
typedef motley_status mot_late(struct mot_cuda_call *call, const void *job, motley_error *error);

/* A call on a context's device and a stream. */
typedef struct mot_cuda_call {
    struct mot_cuda_state *s;
    cudaStream_t stream;       /* the caller's */
    cudaStream_t lane;         /* where the next kernel is queued: there, or on the context's own if it is ahead */
    int overlap;               /* the next kernel may begin while the one before it ends */
    int captured;              /* a graph captures it */
    unsigned changes;          /* pool.changes when it began */
    mot_slot_counters *slot;   /* its slot, whose counters come first; NULL: none is taken */
    mot_arena memory, scratch; /* the slot behind them, and the scratch */
    int chained;               /* a kernel of this call was queued last, on `lane` */
    mot_node running;          /* what it, and others that may run when the next one begins, read and write */
    mot_late *late;            /* queues `late_job` right before the first kernel on the caller's stream */
    const void *late_job;
    int device_before;
} mot_cuda_call;

/* Makes what a timeline consists of; mot_timeline_destroy after that in any case. */
motley_status mot_timeline_create(mot_timeline *t, motley_error *error);
void mot_timeline_destroy(mot_timeline *t);

/* Waits until the device has done all calls. */
cudaError_t mot_timeline_wait(const mot_timeline *t);

/* Makes the context's device the current one. After every begin that succeeds, mot_call_end returns `status`, or its
 * own error. */
motley_status mot_call_begin(void *state, void *stream, mot_cuda_call *call, motley_error *error);
motley_status mot_call_end(mot_cuda_call *call, motley_status status, motley_error *error);

/* Takes memory: a slot of so many bytes, none if 0, and scratch. `alone`: the draws need nothing that the caller's
 * stream writes. */
motley_status mot_call_take(mot_cuda_call *call, size_t slot_bytes, size_t scratch_bytes, int alone,
                            motley_error *error);

static inline int mot_call_ahead(const mot_cuda_call *call)
{
    return call->lane != call->stream;
}

/* Finds how the call's next kernel is launched: call->lane, call->overlap. */
motley_status mot_call_next(mot_cuda_call *call, const mot_node *node, motley_error *error);

/* Queues what comes behind the draws as late as possible, so that draws that follow still run ahead: when the caller's
 * stream joins them. Whoever owns `job` has to join before it is gone. */
motley_status mot_call_late(mot_cuda_call *call, mot_late *late, const void *job, motley_error *error);

/* Lets the caller's stream wait for the draws, and queues what was late. */
motley_status mot_call_join(mot_cuda_call *call, motley_error *error);

/* Uploads host bytes, which a kernel copies to memory of these bits; `what` is for errors. */
motley_status mot_call_send(mot_cuda_call *call, unsigned memory, void *to, const void *from, size_t bytes,
                            const char *what, motley_error *error);

#endif
