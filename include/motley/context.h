/* SPDX-License-Identifier: Apache-2.0 */
/** Where the work runs: a backend, a device, threads and their scratch memory. */
#ifndef MOTLEY_CONTEXT_H
#define MOTLEY_CONTEXT_H

#include "motley/status.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_context motley_context;

typedef enum motley_backend {
    MOTLEY_BACKEND_AUTO = 0, /* CUDA if there is a usable device, else the CPU */
    MOTLEY_BACKEND_CPU = 1,
    MOTLEY_BACKEND_CUDA = 2,
    MOTLEY_BACKEND_REFERENCE = 3 /* the CPU's readable scalar code: for checking, never for speed */
} motley_backend;

typedef struct motley_context_params {
    size_t struct_size; /* 0 or sizeof; see motley.h */
    motley_backend backend;
    int device;  /* CUDA device number; 0 is the first */
    int threads; /* CPU: how many threads work on a batch, the caller's included; 0: motley_default_threads(). They
                  * start with the first call that has several images. 1 starts none and is safe to fork. A context
                  * whose threads have started gives UNSUPPORTED in a forked child, which may still destroy it */
    /* CUDA: replace cudaMalloc and cudaFree for the workspace; both or neither. `allocate` returns device memory
     * aligned to 256 bytes, or NULL on failure. */
    void *(*allocate)(void *user, size_t size_bytes, void *stream);
    void (*release)(void *user, void *memory, void *stream);
    void *allocator_user;
} motley_context_params;

/** The threads of a CPU context that asks for 0: one for each processor that the calling thread may run on (its
 *  affinity), or fewer if the quota of its cgroup, version 1 or 2, gives less time than they have; 1 to 1024. No
 *  environment variable is read. */
MOTLEY_API int motley_default_threads(void);

/** Creates a context. NULL params: all defaults. The CPU backends never call CUDA.
 *
 *  Threads  A context serves one thread at a time. For several, create one context for each.
 *  Errors   UNSUPPORTED: this build or machine has no such backend or device; MEMORY, ARGUMENT, CUDA.
 *           *context is NULL then. A CPU thread that cannot be started is MEMORY of the call that starts it. */
MOTLEY_API motley_status motley_context_create(const motley_context_params *params, motley_context **context,
                                               motley_error *error);

/** The backend that a context runs on, which is never AUTO; AUTO for NULL. */
MOTLEY_API motley_backend motley_context_backend(const motley_context *context);

/** Frees a context. CUDA: first waits for the work that it has queued. */
MOTLEY_API void motley_context_destroy(motley_context *context);

#ifdef __cplusplus
}
#endif
#endif
