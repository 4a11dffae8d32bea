/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and destroys contexts, and chooses their backend. */
#include "base/params.h"
#include "dispatch/backend.h"
#include "dispatch/threads.h"
#include "policies/transform.h"

#include <stdlib.h>
#include <string.h>

const char *motley_version(void)
{
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
    return TEXT(MOTLEY_VERSION_MAJOR) "." TEXT(MOTLEY_VERSION_MINOR) "." TEXT(MOTLEY_VERSION_PATCH);
}

int motley_default_threads(void)
{
    return (int)mot_threads_available("");
}

static motley_status start(motley_context *context, const mot_backend *backend, const motley_context_params *params,
                           motley_error *error)
{
    MOT_TRY(backend->create(params, &context->state, error));
    context->backend = backend;
    return MOTLEY_OK;
}

static motley_status choose(motley_context *context, const motley_context_params *params, motley_error *error)
{
    switch (params->backend) {
    case MOTLEY_BACKEND_CPU:
        return start(context, &mot_backend_cpu, params, error);
    case MOTLEY_BACKEND_REFERENCE:
        return start(context, &mot_backend_reference, params, error);
    case MOTLEY_BACKEND_CUDA:
        return start(context, &mot_backend_cuda, params, error);
    case MOTLEY_BACKEND_AUTO: {
        const motley_status status = start(context, &mot_backend_cuda, params, error);
        return status == MOTLEY_ERR_UNSUPPORTED ? start(context, &mot_backend_cpu, params, error) : status;
    }
    }
    return mot_fail(error, MOTLEY_ERR_ARGUMENT, "backend is %d, want auto (0), cpu (1), cuda (2) or reference (3)",
                    (int)params->backend);
}

motley_status motley_context_create(const motley_context_params *params, motley_context **context, motley_error *error)
{
    MOT_REQUIRE(context, error, "context is NULL, want a place to store it");
    *context = NULL;
    MOT_READ_PARAMS(motley_context_params, params, error);
    MOT_REQUIRE(params->threads >= 0 && params->threads <= 1024, error, "threads is %d, want 0 (the default) to 1024",
                params->threads);
    MOT_REQUIRE(params->device >= 0, error, "device is %d, want 0 or more", params->device);
    MOT_REQUIRE(!params->allocate == !params->release, error,
                "only one of allocate and release is set, want both or neither");
    motley_context *made = calloc(1, sizeof *made);
    if (!made)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a context");
    const motley_status status = choose(made, params, error);
    if (status != MOTLEY_OK) {
        free(made);
        return status;
    }
    *context = made;
    return MOTLEY_OK;
}

motley_backend motley_context_backend(const motley_context *context)
{
    return context ? context->backend->id : MOTLEY_BACKEND_AUTO;
}

void motley_context_destroy(motley_context *context)
{
    if (!context)
        return;
    for (size_t i = 0; i < sizeof context->made / sizeof context->made[0]; i++)
        motley_policy_destroy(context->made[i].policy);
    for (size_t i = 0; i < sizeof context->epochs / sizeof context->epochs[0]; i++)
        mot_transform_destroy(context->epochs[i].plain);
    context->backend->destroy(context->state);
    mot_kept *const kept[] = { &context->draws[0], &context->draws[1], &context->rounds, &context->clips,
                               &context->followed, &context->rgb,      &context->views,  &context->boxes[0],
                               &context->boxes[1], &context->scratch,  &context->bands };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        free(kept[i]->memory);
    free(context);
}
