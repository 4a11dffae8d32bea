/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a CUDA context, and the functions of this folder that use it. */
#ifndef MOT_CUDA_STATE_H
#define MOT_CUDA_STATE_H

#include "dispatch/cuda/timeline.h"
#include "followers/follow.h"

#include <cuda.h>

typedef CUresult mot_ask_pointer(unsigned count, CUpointer_attribute *asked, void **answers, CUdeviceptr pointer);

/* What motley_context_subbatches reports. */
typedef struct mot_cuda_report {
    size_t count, max_steps; /* count 0: nothing */
    const mot_step *steps;   /* in a slot, as the others are */
    const int32_t *step_count;
    const motley_image *images; /* NULL: of one size */
} mot_cuda_report;

/* The route and kernel of the last batch. */
typedef struct mot_cuda_last {
    mot_route route;
    const char *reason;
    mot_cuda_format format;
    int output; /* it wrote a fused output */
    int blurs;  /* of resident images: by the kernel that blurs */
} mot_cuda_last;

typedef struct mot_cuda_state {
    int device;
    mot_ask_pointer *ask_pointer; /* cuPointerGetAttributes, or NULL */
    mot_chip chip;
    motley_context_params params;
    mot_pool pool;
    mot_timeline timeline;
    int always_tiles, always_tables; /* for tests: no batch is resident, no output has lines */
    mot_level_cache levels;
    mot_cuda_report last;
    mot_cuda_last last_run;
    mot_cuda_op op[MOT_OP_COUNT];
    int prepared[MOT_FORMATS], tiles_prepared[MOT_FORMATS], resize_prepared; /* the kernels' limits are raised */
} mot_cuda_state;

#define CUDA_TRY(call, what) MOT_TRY(mot_cuda_try((call), (what), error))

/* ---- dispatch/cuda/device.c ---- */

motley_status mot_cuda_fail(motley_error *error, const char *what, cudaError_t code);
motley_status mot_cuda_try(cudaError_t code, const char *what, motley_error *error);

/* Makes the context's device the current one; mot_cuda_leave() restores the one before. */
motley_status mot_cuda_enter(mot_cuda_state *s, int *before, motley_error *error);
void mot_cuda_leave(const mot_cuda_state *s, int before);

/* Checks that the images are on the context's device. */
motley_status mot_cuda_check(void *state, const char *name, const motley_batch *batch, motley_error *error);

/* Checks that `data`, which errors call `name`, is on the context's device; NULL is nothing to check. */
motley_status mot_cuda_check_pointer(const void *state, const char *name, const void *data, motley_error *error);

/* ---- dispatch/cuda/upload.c ---- */

/* A batch in the kernels' form; the descriptors of images of different sizes are copied to `images` on the device. */
motley_status mot_cuda_send_batch(mot_cuda_call *call, const motley_batch *batch, motley_image *images,
                                  mot_cuda_batch *sent, motley_error *error);

/* Writes job->max_steps as the number of steps of each image. */
motley_status mot_cuda_send_counts(mot_cuda_call *call, const mot_cuda_plan *plan, const mot_job *job,
                                   motley_error *error);

/* ---- dispatch/cuda/context.c ---- */

/* For tests: forces the tiles route for every later batch of the context, or, if 0, restores the normal choice; and how
 * the last batch was run. */
void mot_cuda_tiles_always(motley_context *context, int always);
mot_cuda_last mot_cuda_last_run(const motley_context *context);

/* ---- dispatch/cuda/run.c, look_back.c ---- */

motley_status mot_cuda_run(void *state, const mot_job *job, motley_error *error);
motley_status mot_cuda_workspace(void *state, const mot_job *job, size_t *bytes, motley_error *error);
motley_status mot_cuda_look_back(void *state, motley_subbatches **subbatches, motley_error *error);

/* ---- dispatch/cuda/output.c ---- */

/* How kernels write an output of images like these. */
motley_status mot_cuda_output_of(mot_cuda_call *call, const motley_batch *batch, const mot_output_as *as,
                                 mot_cuda_output *output, motley_error *error);

/* ---- dispatch/cuda/resize.c, transform.c ---- */

motley_status mot_cuda_resize(void *state, const motley_batch *src, const motley_batch *dst,
                              const motley_resize_params *params, motley_error *error);

/* Lays out what its kernels write, for job->count images, whose tables have so many bytes in all. */
void mot_cuda_lay_out_axes(mot_resize_job *job, size_t table_bytes, mot_arena *arena);

/* What the tables of the axes of images take, and the largest result and the most groups of taps in any rows. */
typedef struct mot_axes_room {
    int64_t bytes;
    int width, height, row_groups;
} mot_axes_room;

/* Adds an image of this size, with so many groups of taps. */
void mot_axes_add(mot_axes_room *room, int width, int column_groups, int height, int row_groups);

/* Cuts a job's results into tiles, and prepares the kernels. */
motley_status mot_cuda_cut(const mot_cuda_call *call, mot_resize_job *job, const mot_axes_room *room,
                           motley_error *error);

/* Queues a resize, whose axes have tables: a mot_resize_job. */
motley_status mot_cuda_queue_resize(mot_cuda_call *call, const void *job, motley_error *error);

motley_status mot_cuda_transform(void *state, const mot_job *job, motley_error *error);

/* ---- dispatch/cuda/follow.c ---- */

/* Checks that the arrays of boxes and points are on the context's device. */
motley_status mot_cuda_check_followed(void *state, const motley_followed *followed, motley_error *error);

/* Moves job->followed by a plan's steps, which were drawn or sent by work queued before. `images`: descriptions of
 * job->src on the device, where its images have several sizes. `waits`: as the kernel queued last allows. */
motley_status mot_cuda_follow_plan(mot_cuda_call *call, const mot_job *job, const mot_cuda_plan *plan,
                                   const motley_image *images, mot_follow_waits waits, motley_error *error);

/* The same of any job. */
motley_status mot_cuda_follow_queue(mot_cuda_call *call, mot_follow_job *job, mot_follow_waits waits,
                                    motley_error *error);

motley_status mot_cuda_follow(void *state, const mot_job *job, motley_error *error);

/* ---- dispatch/cuda/mix.c ---- */

motley_status mot_cuda_mix(void *state, const mot_mix_images *images, void *stream, motley_error *error);
motley_status mot_cuda_mix_targets(void *state, const motley_mixed *drawn, const mot_mix_targets *call, void *stream,
                                   motley_error *error);

/* Counts the memory for mixing a batch in the scratch, and returns the bytes of the host's. */
size_t mot_cuda_mix_count(const mot_chip *chip, const mot_mix_images *images, mot_arena *scratch);

/* Queues the mixing, whose memory begins at `scratch`. `smoothing`: of soft targets, which are mixed by their share;
 * NULL: of images. */
motley_status mot_cuda_mix_queue(mot_cuda_call *call, const mot_mix_images *images, const double *smoothing,
                                 mot_arena *scratch, uint8_t *host, motley_error *error);

#endif
