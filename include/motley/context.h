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
    MOTLEY_BACKEND_AUTO = 0, /* CUDA where a usable device is, else the CPU */
    MOTLEY_BACKEND_CPU = 1,
    MOTLEY_BACKEND_CUDA = 2,
    MOTLEY_BACKEND_REFERENCE = 3 /* the CPU's readable scalar code: for checking, never for speed */
} motley_backend;

/** "auto", "cpu", "cuda", "reference"; NULL for an unknown number. */
MOTLEY_API const char *motley_backend_name(motley_backend backend);

typedef struct motley_context_params {
    size_t struct_size; /* 0 or sizeof; see motley.h */
    motley_backend backend;
    int device;  /* CUDA device number; 0 is the first */
    int threads; /* CPU: 0 takes one per online processor; 1 starts no thread and is safe to fork.
                  * A forked child gets UNSUPPORTED from a context with more, and may destroy it */
    /* CUDA: memory for the workspace, in place of cudaMalloc and cudaFree; both or neither. `allocate` returns
     * device memory aligned to 256 bytes, or NULL. */
    void *(*allocate)(void *user, size_t size_bytes, void *stream);
    void (*release)(void *user, void *memory, void *stream);
    void *allocator_user;
} motley_context_params;

/** Makes a context. The CPU backends make no CUDA call, here or later.
 *  Errors   UNSUPPORTED: this build or machine has no such backend or device; MEMORY: also when a thread cannot be
 *           started; CUDA. */
MOTLEY_API motley_status motley_context_create(const motley_context_params *params, motley_context **context,
                                               motley_error *error);

/** The backend that a context runs on; never AUTO. */
MOTLEY_API motley_backend motley_context_backend(const motley_context *context);

/** Frees a context. CUDA: waits for the work it has queued. */
MOTLEY_API void motley_context_destroy(motley_context *context);

#ifdef __cplusplus
}
#endif
#endif
