/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that runs nothing: it records which memory the work that dispatch/cuda queues reads and writes, and finds
 * work on the same memory that nothing orders, and work that reads what nothing has written.
 *
 * Each stream, each event and the host has a vector clock: how much of the work of each stream has ended at that point.
 * Launches, copies and fills are work; events, and waits of the host, order it. Of its context's memory a kernel uses
 * what its node names (dispatch/cuda/timeline.h), by which the timeline orders it, and no more (watch.h). Of the
 * caller's memory it uses what its job says, which has to be among what the node names. A graph that captures a stream
 * keeps their work until it is launched.
 *
 * A kernel may begin once the one before it on its stream lets it: what it then reads and writes has no order with that
 * one, until it waits for it. In graphs, each kernel is taken to wait first. */
#ifndef MOT_RECORD_H
#define MOT_RECORD_H

#include "dispatch/backend.h"

#include <cuda_runtime_api.h>

extern const mot_backend recorded_backend; /* of dispatch/cuda/context.c */

extern const char *record_again; /* how to repeat the run, for messages */
extern int record_failing;       /* != 0: some launches and allocations fail */
extern int record_idle;          /* != 0: no stream has work left when the host asks; else most have */
extern int record_streamless;    /* != 0: the allocator knows no streams, and uses what is released at once */
extern int record_failures, record_refused; /* found so far; launches and allocations that failed */
extern int record_elsewhere;                /* work queued on other streams than the caller's */

/* Forgets all that was queued. `multiprocessors` and `overlaps`: of the device. */
void record_begin(uint64_t seed, int multiprocessors, int overlaps);
/* Waits for all work, and fails if streams, events or memory are left. */
void record_end(void);
unsigned record_random(unsigned below);

/* The caller's next call is on this stream. `node`: what its kernels say that they read and write; or NULL. */
struct mot_node;
void record_call(int number, cudaStream_t stream, const struct mot_node *node);

/* What a caller does: work of his own on a stream, and its accesses; one stream waits for all that is queued on
 * another. */
void record_work(const char *name, cudaStream_t stream);
void record_access(const char *what, const void *memory, size_t bytes, int writes);
void record_wait(cudaStream_t stream, cudaStream_t other);

/* Memory on the device, for motley_context_params. Work that is queued before an allocation may use the memory up to
 * then, and work queued after a release may use it from then on. */
void *record_allocate(void *user, size_t bytes, void *stream);
void record_release(void *user, void *memory, void *stream);

/* Graphs. Between record_capture and record_capture_ends, work that is queued on the stream becomes the graph's. */
typedef struct record_graph record_graph;
void record_capture(cudaStream_t stream);
record_graph *record_capture_ends(cudaStream_t stream);
void record_launch(const record_graph *graph, cudaStream_t stream);
void record_destroy(record_graph *graph);

#endif
