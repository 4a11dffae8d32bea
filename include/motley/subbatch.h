/* SPDX-License-Identifier: Apache-2.0 */
/** How a context sorted its last batch: sub-batches as plain data, for inspection and tests. */
#ifndef MOTLEY_SUBBATCH_H
#define MOTLEY_SUBBATCH_H

#include "motley/apply.h"
#include "motley/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A group of images with the same most expensive op and about the same cost. */
typedef struct motley_subbatch {
    int32_t op;          /* the most expensive op of its images, by the backend's estimate; -1: none */
    int32_t cost;        /* cost class of its images, by the backend's estimate: 0 (cheapest) to 8 */
    size_t first, count; /* its images are images[first .. first + count - 1] */
} motley_subbatch;

/** A batch as it was sorted. One block of memory: motley_subbatches_destroy frees it. */
typedef struct motley_subbatches {
    size_t count;                      /* sub-batches */
    const motley_subbatch *subbatches; /* [count], in the order they start: expensive ones first */
    size_t images_count;
    const size_t *images;       /* [images_count]: each index into the batch once, sub-batch by sub-batch */
    size_t max_steps;           /* the second dimension of `steps` */
    const motley_step *steps;   /* [images_count][max_steps], by index into the batch: the steps that were run. One
                                 * that was drawn but changes nothing, such as a rotation by 0, is left out. */
    const int32_t *step_counts; /* [images_count] */
    const char *route;          /* of the whole batch, see motley_context_subbatches; a constant string */
    const char *reason;         /* why this route, in a few words; a constant string */
} motley_subbatches;

/** How the context's last motley_op_apply, or motley_apply of a policy without stages, was sorted. For tests and
 *  debugging: it waits for the device and allocates.
 *
 *  Routes   On CUDA images of U16 and F32 take the route "wide". A batch of bytes takes one of two others, chosen
 *           before anything is drawn. "resident", the fastest: one
 *           CTA holds an image in shared memory. It takes batches of one size, dense and at 16-byte addresses, of 1 or
 *           3 channels, whose width is a multiple of 4, and policies of at most 4 steps, without blurs of a standard
 *           deviation above 3.4 and, except for tiny images, without interpolation. With blurs, images must be at
 *           least 3 (radius + 1) pixels each way, where radius is that of Pillow's boxes: 9 pixels for radius 2, the
 *           largest. Images over 128x128 must be at least as many as the GPU has multiprocessors. "tiles": every other
 *           batch. On the CPU the route is "cpu".
 *  Last     The last call that ran to its end; CUDA: or the last replay of a graph that captured it. Policies with
 *           custom ops or ops inside boxes, and clips with common statistics, run in rounds. Each round sorts its
 *           images again, and an image takes part in several, so there is no single order: the images and steps of the
 *           last round are reported. motley_draw gives all steps.
 *  Memory   *subbatches is independent of the context. Free it with motley_subbatches_destroy.
 *  Errors   ARGUMENT: there was no such call, or the last one had stages; UNSUPPORTED: the CPU keeps no steps of
 *           batches over 4096 images. */
MOTLEY_API motley_status motley_context_subbatches(motley_context *context, motley_subbatches **subbatches,
                                                   motley_error *error);

MOTLEY_API void motley_subbatches_destroy(motley_subbatches *subbatches);

#ifdef __cplusplus
}
#endif
#endif
