/* SPDX-License-Identifier: Apache-2.0 */
/* See pool.h. */
#include "dispatch/cuda/state.h"

#include <stdlib.h>

static motley_status allocate(const mot_cuda_call *call, size_t bytes, void **memory, motley_error *error)
{
    const motley_context_params *const params = &call->s->params;
    if (params->allocate) {
        *memory = params->allocate(params->allocator_user, bytes, call->stream);
        return *memory
                   ? MOTLEY_OK
                   : mot_fail(error, MOTLEY_ERR_MEMORY, "the caller's allocator returned NULL for %zu bytes", bytes);
    }
    CUDA_TRY(cudaMalloc(memory, bytes), "allocating the workspace");
    return MOTLEY_OK;
}

static void release(const mot_cuda_state *s, mot_block *block, cudaStream_t stream)
{
    if (block->memory && s->params.release)
        s->params.release(s->params.allocator_user, block->memory, stream);
    else if (block->memory)
        cudaFree(block->memory);
    *block = (mot_block){ 0 };
}

void mot_pool_release_all(mot_cuda_state *s)
{
    mot_pool *const pool = &s->pool;
    release(s, &pool->slots, NULL);
    release(s, &pool->scratch, NULL);
    for (unsigned i = 0; i < MOT_TABLES_KEPT; i++)
        release(s, &pool->kept[i].block, NULL);
    for (unsigned i = 0; i < MOT_OUTPUTS_KEPT; i++) {
        release(s, &pool->outputs.kept[i].block, NULL);
        free(pool->outputs.kept[i].numbers.memory);
    }
    for (unsigned i = 0; i < pool->retired_count; i++)
        release(s, &pool->retired[i], NULL);
    free(pool->retired);
    free(pool->host.memory);
}

/* Keeps a captured block until the context is destroyed. */
static motley_status retire(const mot_cuda_call *call, mot_block *block, motley_error *error)
{
    mot_pool *const pool = &call->s->pool;
    mot_block *const more = realloc(pool->retired, (pool->retired_count + 1) * sizeof *more);
    if (!more)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory to keep what graphs use");
    pool->retired = more;
    more[pool->retired_count++] = *block;
    *block = (mot_block){ 0 };
    return MOTLEY_OK;
}

/* Refuses calls that a graph captures and that lack something. `what` needs it. */
static motley_status check_capture(const mot_cuda_call *call, const char *what, motley_error *error)
{
    if (call->captured)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "%s needs memory while the stream is being captured: run the same call once before", what);
    return MOTLEY_OK;
}

/* Replaces a block by one of so many bytes. `what` needs it. */
static motley_status replace(const mot_cuda_call *call, mot_block *block, size_t bytes, const char *what,
                             motley_error *error)
{
    MOT_TRY(check_capture(call, what, error));
    if (block->captured)
        MOT_TRY(retire(call, block, error));
    if (block->memory) /* it may still be in use */
        CUDA_TRY(mot_timeline_wait(&call->s->timeline), "waiting for earlier work");
    release(call->s, block, call->stream);
    void *memory;
    MOT_TRY(allocate(call, bytes, &memory, error));
    *block = (mot_block){ .memory = memory, .bytes = bytes };
    call->s->pool.changes++;
    return MOTLEY_OK;
}

/* Gives slots memory of which each has so many bytes. */
static motley_status grow_slots(const mot_cuda_call *call, size_t slot_bytes, motley_error *error)
{
    mot_pool *const pool = &call->s->pool;
    MOT_TRY(replace(call, &pool->slots, 2 * slot_bytes, "a larger batch", error));
    cudaError_t code = cudaSuccess;
    for (int slot = 0; slot < 2 && code == cudaSuccess; slot++)
        code = cudaMemsetAsync((uint8_t *)pool->slots.memory + (size_t)slot * slot_bytes, 0,
                               mot_counter_bytes(&call->s->chip), call->stream);
    if (code != cudaSuccess)
        release(call->s, &pool->slots, call->stream);
    return mot_cuda_try(code, "clearing the workspace", error);
}

motley_status mot_pool_reserve(const mot_cuda_call *call, size_t slot_bytes, size_t scratch_bytes, motley_error *error)
{
    mot_pool *const pool = &call->s->pool;
    if (scratch_bytes > pool->scratch.bytes)
        MOT_TRY(replace(call, &pool->scratch, scratch_bytes, "a larger batch", error));
    if (2 * slot_bytes > pool->slots.bytes)
        MOT_TRY(grow_slots(call, slot_bytes, error));
    pool->scratch.captured |= call->captured;
    pool->slots.captured |= call->captured && slot_bytes > 0;
    return MOTLEY_OK;
}

motley_status mot_pool_reserve_host(mot_pool *pool, size_t bytes, motley_error *error)
{
    mot_block *const host = &pool->host;
    if (bytes <= host->bytes)
        return MOTLEY_OK;
    void *const memory = realloc(host->memory, bytes);
    if (!memory)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu bytes", bytes);
    *host = (mot_block){ .memory = memory, .bytes = bytes };
    return MOTLEY_OK;
}

/* ---- tables ---- */

static mot_kept_tables *find_tables(mot_pool *pool, mot_kept_kind kind, uint64_t fingerprint, size_t bytes)
{
    for (unsigned i = 0; i < MOT_TABLES_KEPT; i++)
        if (pool->kept[i].kind == kind && pool->kept[i].fingerprint == fingerprint &&
            pool->kept[i].block.bytes == bytes)
            return &pool->kept[i];
    return NULL;
}

motley_status mot_pool_keep(const mot_cuda_call *call, mot_kept_kind kind, uint64_t fingerprint, size_t bytes,
                            mot_kept_tables **tables, motley_error *error)
{
    mot_pool *const pool = &call->s->pool;
    *tables = find_tables(pool, kind, fingerprint, bytes);
    if (*tables) {
        (*tables)->block.captured |= call->captured;
        return MOTLEY_OK;
    }
    mot_kept_tables *const oldest = &pool->kept[pool->next % MOT_TABLES_KEPT];
    MOT_TRY(replace(call, &oldest->block, bytes,
                    kind == MOT_KEPT_POLICY ? "a policy's first use" : "a transform's first use", error));
    oldest->kind = 0;
    oldest->fingerprint = fingerprint;
    pool->next++;
    *tables = oldest;
    return MOTLEY_OK;
}

/* Fills a block from pageable memory, which is read before the call returns. */
static motley_status upload(const mot_cuda_call *call, const mot_block *block, const void *host, motley_error *error)
{
    return mot_cuda_try(cudaMemcpyAsync(block->memory, host, block->bytes, cudaMemcpyHostToDevice, call->stream),
                        "sending tables", error);
}

motley_status mot_pool_upload(const mot_cuda_call *call, mot_kept_tables *tables, mot_kept_kind kind, const void *host,
                              motley_error *error)
{
    const motley_status status = upload(call, &tables->block, host, error);
    if (status == MOTLEY_OK)
        tables->kind = kind;
    else
        release(call->s, &tables->block, call->stream);
    return status;
}

motley_status mot_pool_put_output(const mot_cuda_call *call, mot_kept_output *kept, const void *values, size_t bytes,
                                  motley_error *error)
{
    static const char what[] = "an output's first use";
    MOT_TRY(check_capture(call, what, error));
    kept->channels = 0;
    if (kept->block.captured || kept->block.bytes != bytes)
        MOT_TRY(replace(call, &kept->block, bytes, what, error));
    return upload(call, &kept->block, values, error);
}

motley_status mot_pool_policy(const mot_cuda_call *call, const motley_policy *policy, mot_tables *tables,
                              motley_error *error)
{
    const size_t bytes = policy->compiled_bytes;
    mot_kept_tables *kept;
    MOT_TRY(mot_pool_keep(call, MOT_KEPT_POLICY, policy->fingerprint, bytes, &kept, error));
    if (!kept->kind)
        MOT_TRY(mot_pool_upload(call, kept, MOT_KEPT_POLICY, policy->compiled, error));
    mot_taken(MOT_TABLES, kept->block.memory, bytes);
    *tables = mot_cuda_tables_at(policy, kept->block.memory);
    return MOTLEY_OK;
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

/* Bytes that are held once `block` has been replaced by so many. */
static size_t replaced_bytes(const mot_block *block, size_t bytes)
{
    return bytes + (block->captured ? block->bytes : 0);
}

static size_t grown_bytes(const mot_block *block, size_t bytes)
{
    return bytes > block->bytes ? replaced_bytes(block, bytes) : block->bytes;
}

size_t mot_pool_bytes(mot_pool *pool, size_t slot_bytes, size_t scratch_bytes, const motley_policy *policy)
{
    size_t bytes = grown_bytes(&pool->slots, 2 * slot_bytes) + grown_bytes(&pool->scratch, scratch_bytes);
    const int is_new = policy && !find_tables(pool, MOT_KEPT_POLICY, policy->fingerprint, policy->compiled_bytes);
    for (unsigned i = 0; i < MOT_TABLES_KEPT; i++)
        bytes += is_new && i == pool->next % MOT_TABLES_KEPT
                     ? replaced_bytes(&pool->kept[i].block, policy->compiled_bytes)
                     : pool->kept[i].block.bytes;
    for (unsigned i = 0; i < MOT_OUTPUTS_KEPT; i++)
        bytes += pool->outputs.kept[i].block.bytes;
    for (unsigned i = 0; i < pool->retired_count; i++)
        bytes += pool->retired[i].bytes;
    return bytes;
}
