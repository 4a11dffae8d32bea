/* SPDX-License-Identifier: Apache-2.0 */
/* What calls share on CUDA: the context's memory and streams, and resizing. */
#ifndef MOT_CUDA_WORK_H
#define MOT_CUDA_WORK_H

#include "dispatch/backend.h"
#include "dispatch/cuda/route.h"
#include "kernels/cuda/resize.h"

#ifndef MOT_TRANSFORMS_KEPT   /* tests have fewer */
#define MOT_TRANSFORMS_KEPT 8 /* whose tables stay on the device */
#endif

/* A transform's tables on the device. */
typedef struct mot_cuda_sent {
    uint64_t fingerprint; /* 0: not uploaded yet */
    size_t bytes;
    void *memory;
    const float *normals; /* of the erase stage, in `memory`; NULL if there are none */
} mot_cuda_sent;

/* The lines of the last outputs' channels, cached, because finding them takes several microseconds. */
typedef struct mot_line_cache {
    struct mot_kept_lines {
        int known, found; /* found: every channel has a line */
        int32_t dtype, convention, channels;
        float mean[4], std[4];
        mot_output_line line[3];
    } kept[4];
    unsigned next;
} mot_line_cache;

/* Memory that a context keeps for resizes and transforms; it only grows. */
typedef struct mot_cuda_kept {
    void *memory; /* on the device */
    size_t bytes;
    void *host; /* assembled here, then sent as kernel arguments */
    size_t host_bytes;
    int prepared; /* the resize kernels' limits are raised */
    mot_cuda_sent transform[MOT_TRANSFORMS_KEPT];
    unsigned transforms_next;
    mot_line_cache lines;
    size_t half_bytes; /* of a half of `memory` in the last call that used it; 0: that call did not halve it */
} mot_cuda_kept;

/* One call on a context's device and a stream. */
typedef struct mot_cuda_work {
    void *state;
    cudaStream_t stream;
    const mot_chip *chip;
    mot_cuda_kept *kept;
    int device_before, captured;
    size_t half_bytes, kept_bytes; /* of `kept`, when the call began */
} mot_cuda_work;

/* Makes the context's device the current one, and the stream wait for work that uses the context's memory. Call
 * mot_cuda_end after every begin that succeeds; it returns `status`, or its own error. */
motley_status mot_cuda_begin(void *state, void *stream, mot_cuda_work *work, motley_error *error);
motley_status mot_cuda_end(const mot_cuda_work *work, motley_status status, motley_error *error);

/* Lays memory out: *at is where it ends so far. */
static inline size_t mot_cuda_take(size_t *at, size_t bytes)
{
    const size_t begin = *at;
    *at += (bytes + 255) & ~(size_t)255;
    return begin;
}

#define MOT_ABSENT SIZE_MAX /* the place of what a call does not have */

static inline size_t mot_cuda_take_if(int has, size_t *at, size_t bytes)
{
    return has ? mot_cuda_take(at, bytes) : MOT_ABSENT;
}

/* The address of a place in `memory`; NULL: it is absent. */
static inline void *mot_cuda_at(void *memory, size_t place)
{
    return place == MOT_ABSENT ? NULL : (uint8_t *)memory + place;
}

/* Finds the lines by which kernels make an output's values; `mean` and `std` are mot_output_numbers. Returns whether
 * every channel has one; then `line` [3] receives them. */
int mot_cuda_find_lines(mot_line_cache *cache, int32_t dtype, int32_t convention, int32_t channels, const float mean[4],
                        const float std[4], mot_output_line *line);

/* Makes sure that `kept` has so much memory. */
motley_status mot_cuda_reserve(const mot_cuda_work *work, size_t device_bytes, size_t host_bytes, motley_error *error);

/* Chooses the half, of so many bytes, of the memory that is reserved, and the stream that a call draws on; after the
 * draws, mot_cuda_end_draws lets the call's stream wait for it. `known`: the transform's tables were sent before;
 * `possible`: the draws need nothing else on that stream. */
motley_status mot_cuda_begin_draws(const mot_cuda_work *work, size_t half_bytes, int known, int possible, int *half,
                                   cudaStream_t *stream, motley_error *error);
motley_status mot_cuda_end_draws(const mot_cuda_work *work, motley_error *error);

/* Finds the slot for a transform's tables of so many bytes. If its fingerprint is another one, the caller fills it. */
motley_status mot_cuda_keep_transform(const mot_cuda_work *work, uint64_t fingerprint, size_t bytes,
                                      mot_cuda_sent **sent, motley_error *error);

/* A policy's tables, whose compiled form lies at `memory`. */
mot_tables mot_cuda_tables_at(const motley_policy *policy, const void *memory);

struct mot_cuda_draw;

/* Runs a job after the work already queued on the stream. `after_resize`, or NULL: the last kernel on the stream
 * resized job->src; the steps were drawn before it, or are drawn of these samples and tables, by job->policy. `resize`,
 * or NULL: draws run ahead, and that kernel is not queued yet, so that the steps' draws run ahead as well. */
motley_status mot_cuda_run_steps(const mot_cuda_work *work, const mot_job *job,
                                 const struct mot_cuda_draw *after_resize, const mot_resize_job *resize,
                                 motley_error *error);

/* Checks that the images are on the context's device. */
motley_status mot_cuda_check(void *state, const char *name, const motley_batch *batch, motley_error *error);

/* Checks that `data`, which errors call `name`, is on the context's device. */
motley_status mot_cuda_check_pointer(const void *state, const char *name, const void *data, motley_error *error);

motley_status mot_cuda_try(cudaError_t code, const char *what, motley_error *error);

/* ---- dispatch/cuda/resize.c ---- */

motley_status mot_cuda_resize(void *state, const motley_batch *src, const motley_batch *dst,
                              const motley_resize_params *params, motley_error *error);

/* Cuts a job's results, each at most this size, into tiles, and prepares the kernels. */
motley_status mot_cuda_cut(const mot_cuda_work *work, mot_resize_job *job, int width, int height, int row_groups,
                           motley_error *error);

/* ---- dispatch/cuda/transform.c ---- */

motley_status mot_cuda_transform(void *state, const struct mot_transform_call *call, motley_error *error);

#endif
