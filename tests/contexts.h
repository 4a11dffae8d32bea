/* SPDX-License-Identifier: Apache-2.0 */
/* The contexts of tests with a `main` of their own, and copies to and from their memory. Compiled with MOT_EMULATE,
 * CUDA's runs emulated kernels (tests/emulate). */
#ifndef MOT_TESTS_CONTEXTS_H
#define MOT_TESTS_CONTEXTS_H

#include "motley.h"
#include "tests/test.h"

#include <string.h>
#ifdef MOT_EMULATE
#include "tests/emulate/calls.h"
#endif

/* The backend that the program's first argument names. */
static inline motley_backend backend_of(int argc, char **argv)
{
    char usage[100];
    snprintf(usage, sizeof usage, "usage: %s cpu|reference|cuda [--require]", program_invocation_short_name);
    const char *const name = argc > 1 ? argv[1] : "";
    const motley_backend found = strcmp(name, "cuda") == 0        ? MOTLEY_BACKEND_CUDA
                                 : strcmp(name, "reference") == 0 ? MOTLEY_BACKEND_REFERENCE
                                                                  : MOTLEY_BACKEND_CPU;
    need(found != MOTLEY_BACKEND_CPU || strcmp(name, "cpu") == 0, usage);
    return found;
}

/* A context. Where it cannot be made the program ends: it is skipped, or has failed if it is required. */
static inline motley_context *open_on(motley_backend backend, int threads, int require)
{
    const motley_context_params params = { .backend = backend, .threads = threads };
    motley_context *context;
    motley_error error = { 0 };
#ifdef MOT_EMULATE
    if (backend == MOTLEY_BACKEND_CUDA)
        return emulated_create();
#endif
    if (motley_context_create(&params, &context, &error) == MOTLEY_OK)
        return context;
    printf("skipped: %s\n", error.message);
    exit(require || backend != MOTLEY_BACKEND_CUDA ? 1 : SKIPPED);
}

/* `backend`: on which it was opened. */
static inline void close_on(motley_backend backend, motley_context *context)
{
#ifdef MOT_EMULATE
    if (backend == MOTLEY_BACKEND_CUDA) {
        emulated_destroy(context);
        return;
    }
#endif
    (void)backend;
    motley_context_destroy(context);
}

/* Copies between the host's memory and the context's, and waits. */
static inline void copy_on(motley_context *context, void *to, const void *from, size_t bytes)
{
    motley_error error;
    need(motley_memory_copy(context, to, from, bytes, NULL, &error) == MOTLEY_OK, error.message);
    need(motley_context_wait(context, NULL, &error) == MOTLEY_OK, error.message);
}

#endif
