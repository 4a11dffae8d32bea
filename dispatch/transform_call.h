/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy with stages does, as the backends see it. A prepared call keeps one of these. */
#ifndef MOT_TRANSFORM_CALL_H
#define MOT_TRANSFORM_CALL_H

#include "dispatch/draws.h"
#include "kernels/output.h"
#include "policies/transform_draw.h"

#include <stdbool.h>

typedef struct mot_transform_call {
    const mot_transform *transform;
    const motley_policy_info *info;
    const motley_batch *src, *dst;
    const motley_apply_params *params; /* of this run */
    const mot_stage *erase;            /* of the transform's facts */
    mot_output_as as;                  /* dst */
    uint32_t table[4][256];            /* of mot_output_entry */
    uint32_t erased[4];                /* the bits that erased boxes get, if they are constant */
    size_t image_room;                 /* CPU: bytes of the images that a worker works on */
    size_t worker_bytes; /* CPU: of all of a worker's memory, for new draws and `worker_frames`; 0: not known */
    size_t worker_frames;
    size_t given_row;         /* steps in a row of given_steps and given_kernels */
    bool sides_checked;       /* what new draws make of the sources' sizes */
    motley_followed followed; /* what moves with the images, from mot_followed_read */
    mot_host_draws draws;     /* made before any image is touched; .steps NULL: an image is drawn when its turn comes */
} mot_transform_call;

/* Writes what image i draws or is given, and also to the caller's arrays if the params have them. Returns the number of
 * steps. */
int mot_transform_draw_image(const mot_transform_call *call, size_t i, motley_place *drawn, mot_step *steps);

/* Checks the shapes of src, and describes it as the transform reads it; `table` keeps what *read points to. */
motley_status mot_transform_read(const mot_transform *transform, const motley_batch *src, mot_kept *table,
                                 motley_batch *read, motley_error *error);

/* ---- dispatch/epochs.c ---- */

/* Replaces a transform with schedules by what it is in the epoch of `params`, which the context keeps for a while. */
motley_status mot_transform_in_epoch(motley_context *context, const mot_transform **transform,
                                     const motley_apply_params *params, motley_error *error);

/* Brings *kept to the epoch of `params`; *changed: it was another. */
motley_status mot_epoch_follow(const mot_transform *transform, const motley_apply_params *params, mot_epoch_kept *kept,
                               bool *changed, motley_error *error);

/* Makes a call of batches whose shapes are valid: checks and finds everything that depends neither on addresses nor on
 * params. */
motley_status mot_transform_prepare(const mot_transform *transform, const motley_batch *src, const motley_batch *dst,
                                    mot_transform_call *call, motley_error *error);

/* Does it, once or again; the batches may have other addresses each time. */
motley_status mot_transform_run(motley_context *context, mot_transform_call *call, const motley_apply_params *params,
                                motley_error *error);

/* motley_apply of a policy with stages. */
motley_status mot_transform_apply(motley_context *context, const mot_transform *transform, const motley_batch *src,
                                  const motley_batch *dst, const motley_apply_params *params, motley_error *error);

/* ---- dispatch/transform_check.c ---- */

/* The sizes of image i: as given, or the largest that it can draw. */
mot_sizes mot_transform_sides(const mot_transform_call *call, size_t i);

/* The largest kernel that image i may be blurred by; 0: none. */
int32_t mot_transform_largest_kernel(const mot_transform_call *call, size_t i);

/* Checks shapes and types. */
motley_status mot_transform_check(const mot_transform_call *call, motley_error *error);

/* Checks addresses and params. */
motley_status mot_transform_check_run(motley_context *context, mot_transform_call *call, motley_error *error);

/* Requires that the frames of each clip draw the same and become one size. */
motley_status mot_transform_check_clips(const mot_transform_call *call, motley_error *error);

#endif
