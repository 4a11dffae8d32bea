/* SPDX-License-Identifier: Apache-2.0 */
/** How a context sorted its last batch: sub-batches as plain data, for inspection and tests. */
#ifndef MOTLEY_SUBBATCH_H
#define MOTLEY_SUBBATCH_H

#include "motley/apply.h"
#include "motley/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Images that were grouped: their most expensive op is the same, and they cost about the same. */
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
    const char *route;          /* the way that the whole batch went, below; a constant string */
    const char *reason;         /* why that one, in a few words; a constant string */
} motley_subbatches;

/** How the context's last motley_apply or motley_op_apply was sorted. For tests and debugging: it waits for the
 *  device and allocates.
 *
 *  Routes   On CUDA a batch goes one of three ways, from what is known before anything is drawn. "resident", the
 *           fastest: one CTA holds an image in shared memory. For batches of one size, dense and at 16-byte addresses,
 *           of 1 or 3 channels and a width that is a multiple of 4, for policies of at most 4 steps without blur and,
 *           but for tiny images, without interpolation. "cluster": the same for larger images and small batches, in a
 *           cluster of CTAs; a multiple of 16 wide. "tiles": every other batch. On the CPU it is "cpu".
 *  Last     The last call that ran to its end; CUDA: or the last replay of a graph that captured it. A policy with
 *           custom ops, one that works in boxes, and clips with common statistics run in rounds, each of which sorts
 *           its images again, and an image takes part in several: there is no one order to report. What is reported
 *           is the last round's, of its images and steps; motley_draw gives all steps.
 *  Errors   ARGUMENT: there was no such call; UNSUPPORTED: the CPU keeps no steps of batches over 4096 images. */
MOTLEY_API motley_status motley_context_subbatches(motley_context *context, motley_subbatches **subbatches,
                                                   motley_error *error);

MOTLEY_API void motley_subbatches_destroy(motley_subbatches *subbatches);

#ifdef __cplusplus
}
#endif
#endif
