/* SPDX-License-Identifier: Apache-2.0 */
/* A context's own memory. All of it only grows, so that in steady state a call allocates nothing:
 *
 *   slots    two, of the same size: what draws write and what is uploaded for them. Calls take them in turn
 *            (timeline.h). A slot begins with its counters.
 *   scratch  what only kernels on the caller's stream use: pixels between kernels, and all of a call that draws nothing
 *   host     where an upload is assembled
 *   kept     the tables of policies and transforms, uploaded once; those of outputs
 *
 * A block that a captured call uses is `captured`: nothing writes or frees it before the context is destroyed, as the
 * graph may be replayed until then. What would take its place gets memory of its own, and the block is `retired`.
 *
 * A call lays out its memory twice by the same function: without a base, which counts the bytes, and then in place. */
#ifndef MOT_CUDA_POOL_H
#define MOT_CUDA_POOL_H

#include "dispatch/backend.h"
#include "dispatch/cuda/draw.h"
#include "dispatch/cuda/route.h"
#include "kernels/cuda/resize.h"

#include <string.h>

#ifndef MOT_TABLES_KEPT    /* tests have fewer */
#define MOT_TABLES_KEPT 40 /* policies and transforms whose tables stay on the device; the oldest are replaced */
#endif

/* Memory that kernels read and write, as bits. */
enum {
    MOT_IMAGES = 1,     /* pixels: the caller's, and those in the scratch */
    MOT_NUMBERS = 2,    /* the caller's boxes, points, labels and targets, ... */
    MOT_COUNTER = 4,    /* ... and the counter and the levels of the draws */
    MOT_PARTS = 8,      /* in the scratch: the steps of a batch's parts */
    MOT_CALLERS = 15,   /* all these, which work on the caller's stream uses */
    MOT_TABLES = 16,    /* of policies and transforms */
    MOT_SENT = 32,      /* what the call uploads */
    MOT_STEPS = 64,     /* in a slot: steps and their numbers; */
    MOT_ORDER = 128,    /* the order of the samples, and its counters; */
    MOT_PLACES = 256,   /* what a transform draws, and the tables of axes; */
    MOT_PROGRAMS = 512, /* programs and tasks of tiles */
    MOT_OUTPUTS = 1024  /* tables of outputs */
};

typedef struct mot_block {
    void *memory;
    size_t bytes;
    int captured; /* a graph's replays may use it */
} mot_block;

/* Memory that is being laid out: the next array begins `bytes` behind the base. base NULL: it is only counted, and the
 * arrays have an address that nothing may access. */
typedef struct mot_arena {
    uint8_t *base;
    size_t bytes;
    int host; /* it is the host's, and an upload is assembled there */
} mot_arena;

#ifdef MOT_ARRAY_ALIGN /* tests choose it, and look at what lies where */
void mot_taken(unsigned memory, void *array, size_t bytes);
#else
#define MOT_ARRAY_ALIGN 256
#define mot_taken(memory, array, bytes) ((void)0)
#endif

/* An array. `memory`: the bit by which a kernel's node names it; of several, one is enough. */
static inline void *mot_take(mot_arena *arena, unsigned memory, size_t bytes)
{
    static uint8_t counted[256] __attribute__((aligned(256)));
    uint8_t *const here = arena->base ? arena->base + arena->bytes : counted;
    const size_t whole = (bytes + MOT_ARRAY_ALIGN - 1) & ~(size_t)(MOT_ARRAY_ALIGN - 1);
    arena->bytes += whole;
    (void)memory;
    if (arena->base)
        mot_taken(memory, here, whole);
    return here;
}

/* NULL: a call does not have it. */
static inline void *mot_take_if(int has, mot_arena *arena, unsigned memory, size_t bytes)
{
    return has ? mot_take(arena, memory, bytes) : NULL;
}

/* An array that is uploaded from `from`, whose bytes are copied to the host's. NULL: a call does not have it. */
static inline void *mot_take_copy(mot_arena *arena, unsigned memory, const void *from, size_t bytes)
{
    void *const here = mot_take_if(from != NULL, arena, memory, bytes);
    if (here && arena->base && arena->host)
        memcpy(here, from, bytes);
    return here;
}

typedef enum mot_kept_kind { MOT_KEPT_POLICY = 1, MOT_KEPT_TRANSFORM } mot_kept_kind;

typedef struct mot_kept_tables {
    mot_kept_kind kind;
    uint64_t fingerprint;
    mot_block block;
} mot_kept_tables;

#ifndef MOT_OUTPUTS_KEPT /* tests have fewer */
#define MOT_OUTPUTS_KEPT 8
#endif

/* An output whose table is on the device. */
typedef struct mot_kept_output {
    int32_t channels; /* 0: there is none */
    mot_output_as as; /* whose means and stds are in `numbers` */
    mot_kept numbers;
    mot_cuda_output output;
    mot_block block; /* [channels][256] */
} mot_kept_output;

typedef struct mot_outputs {
    mot_kept_output kept[MOT_OUTPUTS_KEPT];
    unsigned next; /* to be replaced */
} mot_outputs;

typedef struct mot_pool {
    mot_block slots, scratch, host;
    mot_block *retired; /* captured ones that others have replaced */
    unsigned retired_count;
    mot_kept_tables kept[MOT_TABLES_KEPT];
    unsigned next; /* of `kept`, to be replaced */
    mot_outputs outputs;
    unsigned changes; /* how often memory grew, or tables were uploaded */
} mot_pool;

/* What is 0 between kernels: each kernel that ends with a counter clears it. It lies at the same place of a slot,
 * whatever the call. */
typedef struct mot_slot_counters {
    mot_tile_counters tiles;
    uint32_t resize[MOT_RESIZE_COUNTERS];
    int32_t filled[MOT_KEYS], ticket; /* see mot_cuda_plan, also for `ready` */
    int32_t ready[];                  /* of the largest first wave */
} mot_slot_counters;

static inline size_t mot_counter_bytes(const mot_chip *chip)
{
    return sizeof(mot_slot_counters) +
           sizeof(int32_t) * (size_t)(chip->multiprocessors * (chip->threads_per_sm / MOT_LEAST_THREADS));
}

/* A slot that is laid out from its beginning. */
static inline mot_arena mot_slot_begin(const mot_chip *chip, void *slot)
{
    mot_arena arena = { .base = slot };
    mot_take(&arena, MOT_ORDER | MOT_PLACES | MOT_PROGRAMS, mot_counter_bytes(chip));
    return arena;
}

struct mot_cuda_call;
struct mot_cuda_state;

/* Grow each slot and the scratch, or the host's memory, to so many bytes. The contents of what grows are lost. */
motley_status mot_pool_reserve(const struct mot_cuda_call *call, size_t slot_bytes, size_t scratch_bytes,
                               motley_error *error);
motley_status mot_pool_reserve_host(mot_pool *pool, size_t bytes, motley_error *error);

/* Tables on the device, or, with a kind of 0, room for them in place of the oldest: mot_pool_upload has to follow. */
motley_status mot_pool_keep(const struct mot_cuda_call *call, mot_kept_kind kind, uint64_t fingerprint, size_t bytes,
                            mot_kept_tables **tables, motley_error *error);
motley_status mot_pool_upload(const struct mot_cuda_call *call, mot_kept_tables *tables, mot_kept_kind kind,
                              const void *host, motley_error *error);

/* Uploads an output's table, and forgets which one `kept` was before. */
motley_status mot_pool_put_output(const struct mot_cuda_call *call, mot_kept_output *kept, const void *values,
                                  size_t bytes, motley_error *error);

/* A policy's tables with device pointers; uploaded when this context first sees the policy. */
motley_status mot_pool_policy(const struct mot_cuda_call *call, const motley_policy *policy, mot_tables *tables,
                              motley_error *error);
mot_tables mot_cuda_tables_at(const motley_policy *policy, const void *memory);

/* Bytes of device memory that the context would hold with such slots, such scratch and the tables of `policy`, or NULL;
 * with 0, 0 and NULL: that it holds. */
size_t mot_pool_bytes(mot_pool *pool, size_t slot_bytes, size_t scratch_bytes, const motley_policy *policy);

void mot_pool_release_all(struct mot_cuda_state *s);

#endif
