/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a CUDA context, and the functions of this folder that use it. */
#ifndef MOT_CUDA_STATE_H
#define MOT_CUDA_STATE_H

#include "dispatch/cuda/cuda.h"
#include "dispatch/cuda/draw.h"
#include "dispatch/cuda/work.h"

#include <cuda.h>

struct mot_tiles_plan;

#ifndef MOT_TABLES_KEPT    /* tests have fewer */
#define MOT_TABLES_KEPT 32 /* policies whose tables stay on the device; the oldest is replaced */
#endif

/* A policy's tables on the device. */
typedef struct mot_cuda_tables {
    uint64_t fingerprint;
    size_t bytes;
    void *memory;
} mot_cuda_tables;

typedef CUresult mot_ask_pointer(unsigned count, CUpointer_attribute *asked, void **answers, CUdeviceptr pointer);

/* What a batch's draws write, and what is uploaded for them. */
typedef struct mot_cuda_space {
    mot_cuda_plan plan;
    uint64_t *ids; /* [capacity], like views */
    uint32_t *views;
    motley_image *images; /* [3][capacity]: src, work, output */
} mot_cuda_space;

/* Memory that draws write has two halves. Draws need nothing that was queued before them, so they run ahead, on a
 * stream of the context's own, and calls in turn use one half and the other. */
typedef struct mot_cuda_halves {
    cudaEvent_t done[2]; /* recorded after each call that used this half, and those behind it that used none */
    int half, ahead;     /* of the last call */
    int clean; /* != 0: once a half's event has happened, the half is free, and what draws read has been sent */
} mot_cuda_halves;

typedef struct mot_cuda_state {
    int device;
    mot_ask_pointer *ask_pointer; /* cuPointerGetAttributes, or NULL */
    mot_chip chip;
    motley_context_params params;
    mot_cuda_space space[2], now;   /* now: that of the last call */
    mot_cuda_halves halves;         /* of the spaces, of `tiles`, and of `kept` */
    size_t capacity;                /* samples */
    size_t steps_capacity;          /* samples x steps */
    void *memory;                   /* all of the above */
    void *tiles;                    /* memory for batches on the tiles route */
    size_t tiles_bytes, tiles_half; /* tiles_half: of the last batch there; 0: the memory is new */
    int always_tiles;
    mot_level_cache levels;
    mot_cuda_tables tables[MOT_TABLES_KEPT];
    unsigned tables_next;
    cudaStream_t last_stream;
    size_t last_count, last_max_steps; /* of the last batch that was queued */
    int last_one_size;
    mot_cuda_last last_run;
    cudaEvent_t done; /* recorded after the last call; another stream waits for it before it uses the workspace */
    int queued;
    cudaStream_t ahead; /* for draws */
    cudaEvent_t drawn;  /* recorded there */
    int captured;       /* a graph has captured a call */
    mot_cuda_op op[MOT_OP_COUNT];
    int prepared[MOT_FORMATS], tiles_prepared[MOT_FORMATS];
    mot_cuda_kept kept; /* for resizes and transforms */
} mot_cuda_state;

#define CUDA_TRY(call, what) MOT_TRY(mot_cuda_try((call), (what), error))

/* ---- dispatch/cuda/context.c ---- */

motley_status mot_cuda_fail(motley_error *error, const char *what, cudaError_t code);

/* Makes the context's device the current one; mot_cuda_leave() restores the one before. */
motley_status mot_cuda_enter(mot_cuda_state *s, int *before, motley_error *error);
void mot_cuda_leave(const mot_cuda_state *s, int before);

/* ---- dispatch/cuda/workspace.c ---- */

/* Room for `samples` samples of `max_steps` steps. */
motley_status mot_cuda_reserve_batch(mot_cuda_state *s, size_t samples, size_t max_steps, cudaStream_t stream,
                                     motley_error *error);

/* Takes the last call's space, whose steps are then lost, for a call that does not draw ahead. */
void mot_cuda_take_space(mot_cuda_state *s);

/* Chooses a half, and the stream that a call draws on. mot_cuda_end_ahead lets the call's stream wait for the draws.
 * `possible`: the draws need nothing that is queued on that stream, and no graph captures the call. */
motley_status mot_cuda_begin_ahead(mot_cuda_state *s, int possible, cudaStream_t stream, cudaStream_t *draws,
                                   motley_error *error);
motley_status mot_cuda_end_ahead(const mot_cuda_state *s, cudaStream_t stream, motley_error *error);

/* Room for a batch on the tiles route. */
motley_status mot_cuda_reserve_tiles(mot_cuda_state *s, const struct mot_tiles_plan *plan, cudaStream_t stream,
                                     motley_error *error);

/* The policy's tables with device pointers; uploaded when this context first sees the policy. */
motley_status mot_cuda_send_tables(mot_cuda_state *s, const motley_policy *policy, cudaStream_t stream,
                                   mot_tables *tables, motley_error *error);

/* Whether the policy was uploaded before. */
int mot_cuda_has_tables(mot_cuda_state *s, const motley_policy *policy);

/* Frees all memory of the context. */
void mot_cuda_release_all(mot_cuda_state *s);

motley_status mot_cuda_workspace(void *state, const mot_job *job, size_t *bytes, motley_error *error);

/* ---- dispatch/cuda/queue.c, look_back.c ---- */

/* CTAs of the tile kernel that are resident on the device at once. */
int mot_cuda_resident_ctas(const mot_chip *chip);

/* A batch in the kernels' form; the descriptors of images of different sizes are copied to `images` on the device. */
motley_status mot_cuda_send_batch(const motley_batch *batch, motley_image *images, cudaStream_t stream,
                                  mot_cuda_batch *sent, motley_error *error);

/* Describes the draws for the draw kernel: the policy's tables, the seed and the samples. */
motley_status mot_cuda_describe_draws(mot_cuda_state *s, const mot_job *job, cudaStream_t stream, mot_cuda_draw *draw,
                                      motley_error *error);

motley_status mot_cuda_run(void *state, const mot_job *job, motley_error *error);
motley_status mot_cuda_look_back(void *state, mot_last *last, motley_error *error);

#endif
