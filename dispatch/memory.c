/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a context's device: the backend's, or the host's when the backend has none. */
#include "dispatch/backend.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 256 /* as documented; cudaMalloc guarantees the same */

motley_status motley_memory_create(motley_context *context, motley_memory_kind kind, size_t size_bytes, void **memory,
                                   motley_error *error)
{
    MOT_REQUIRE(memory, error, "memory is NULL, want a place to store it");
    *memory = NULL;
    MOT_REQUIRE(context, error, "context is NULL");
    MOT_REQUIRE((unsigned)kind <= MOTLEY_MEMORY_HOST, error, "kind is %d, want device (0) or host (1)", (int)kind);
    MOT_REQUIRE(size_bytes > 0 && size_bytes < SIZE_MAX / 2, error, "size is %zu bytes, want 1 to %zu", size_bytes,
                SIZE_MAX / 2 - 1);
    if (context->backend->create_memory)
        return context->backend->create_memory(context->state, kind, size_bytes, memory, error);
    *memory = aligned_alloc(ALIGNMENT, (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    return *memory ? MOTLEY_OK : mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu bytes", size_bytes);
}

void motley_memory_destroy(motley_context *context, void *memory)
{
    if (memory && context->backend->destroy_memory)
        context->backend->destroy_memory(context->state, memory);
    else
        free(memory);
}

motley_status motley_memory_copy(motley_context *context, void *to, const void *from, size_t size_bytes, void *stream,
                                 motley_error *error)
{
    MOT_REQUIRE(context, error, "context is NULL");
    if (size_bytes == 0)
        return MOTLEY_OK;
    MOT_REQUIRE(to && from, error, "%s is NULL, want memory of %zu bytes", to ? "from" : "to", size_bytes);
    const uintptr_t a = (uintptr_t)to, b = (uintptr_t)from;
    MOT_REQUIRE((a > b ? a - b : b - a) >= size_bytes, error, "from and to overlap, want %zu bytes of separate memory",
                size_bytes);
    if (context->backend->copy)
        return context->backend->copy(context->state, to, from, size_bytes, stream, error);
    MOT_REQUIRE(!stream, error, "stream is set, but the %s backend has none", context->backend->name);
    memcpy(to, from, size_bytes);
    return MOTLEY_OK;
}

motley_status motley_context_wait(motley_context *context, void *stream, motley_error *error)
{
    MOT_REQUIRE(context, error, "context is NULL");
    if (context->backend->wait)
        return context->backend->wait(context->state, stream, error);
    MOT_REQUIRE(!stream, error, "stream is set, but the %s backend has none", context->backend->name);
    return MOTLEY_OK;
}
