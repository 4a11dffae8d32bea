/* SPDX-License-Identifier: Apache-2.0 */
/* A call of motley_apply: what is done to which batches. It is checked once, here; then its images are drawn for where
 * that is needed (draws.h), and a backend runs it. A prepared call keeps one. */
#ifndef MOT_REQUEST_H
#define MOT_REQUEST_H

#include "dispatch/draws.h"
#include "kernels/output.h"
#include "policies/transform_draw.h"

#include <stdbool.h>

typedef struct mot_request {
    const mot_transform *transform; /* a policy without stages is its only stage; given steps alone need none */
    const motley_policy_info *info; /* the transform's */
    const motley_batch *src, *dst;  /* dst NULL: only `output` is wanted */
    const motley_output *output;    /* of a policy without stages: a fused last step; or NULL */
    const mot_stage *erase;         /* of the transform's facts, or NULL */
    bool placed; /* each image is placed, then its steps run, then it is written to dst: by stages, or in another type
                    than U8. Otherwise the steps alone run, in place or from src to dst. */
    bool sides_checked;  /* what new draws make of the sources' sizes */
    size_t image_room;   /* CPU: bytes of the images that a worker works on */
    size_t source_room;  /* CPU: bytes of a source that steps change before it is cropped; 0: there are none, */
    size_t first_room;   /* ... and of an image that is resized once more */
    size_t worker_bytes; /* CPU: of all of a worker's memory, for new draws; 0: not known */
    /* Of this run. */
    const motley_apply_params *params;
    bool mixes;               /* some steps mix chains */
    motley_samples samples;   /* of params, as they are drawn for */
    motley_followed followed; /* what moves with the images, from mot_followed_read */
    mot_host_draws draws;     /* made before any image is touched; .steps NULL: an image is drawn when its turn comes */
    mot_output_as as;         /* dst if it is placed, else `output`; but for means and stds */
    uint32_t erased[4];       /* the bits that erased boxes get, if they are constant; more channels have the first's */
} mot_request;

/* What a policy does; NULL: steps are given. */
const mot_transform *mot_request_base(const motley_policy *policy);

/* Checks the shapes of src, and describes it as the transform reads it; `table` keeps what *read points to. */
motley_status mot_request_read(const mot_transform *transform, const motley_batch *src, mot_kept *table,
                               motley_batch *read, motley_error *error);

/* Makes a request of batches that mot_request_read has described: checks and finds everything that depends neither on
 * addresses nor on params. output: NULL, or a fused last step. */
motley_status mot_request_make(const mot_transform *transform, const motley_batch *src, const motley_batch *dst,
                               const motley_output *output, mot_request *request, motley_error *error);

/* Checks the rest and does it, once or again; the batches may have other addresses each time. */
motley_status mot_request_run(motley_context *context, mot_request *request, const motley_apply_params *params,
                              motley_error *error);

/* The sizes of image i: as drawn, and, as way 1, of what comes first; or the largest that it can draw by a way through
 * the lists of all one_of; and how many ways there are. */
mot_sizes mot_request_sides(const mot_request *request, size_t i, uint32_t way);
uint32_t mot_request_ways(const mot_request *request);

/* What places read outside their images, by channel. */
void mot_request_fill(const mot_request *request, uint8_t fill[4]);

/* The largest kernel that image i may be blurred by; 0: none. */
int32_t mot_request_largest_kernel(const mot_request *request, size_t i);

/* Writes what image i draws or drew; *drawn only if it is placed. Returns the number of steps. */
int mot_request_draw(const mot_request *request, size_t i, motley_place *drawn, mot_step *steps);

/* Replaces a transform with schedules by what it is in the epoch of `params`, which the context keeps until
 * context->epochs_made changes, at least. */
motley_status mot_transform_in_epoch(motley_context *context, const mot_transform **transform,
                                     const motley_apply_params *params, motley_error *error);

#endif
