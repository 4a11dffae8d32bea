/* SPDX-License-Identifier: Apache-2.0 */
/** How a context sorted its last batch: sub-batches as plain data, to look at and to test. */
#ifndef MOTLEY_SUBBATCH_H
#define MOTLEY_SUBBATCH_H

#include "motley/apply.h"
#include "motley/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Images that were sorted together: the most costly of their ops is the same, and they cost about the same. */
typedef struct motley_subbatch {
    int32_t op;          /* the most costly op of each of its images, as the backend counts; -1: nothing changes them */
    int32_t cost;        /* a class of what an image of it costs, as the backend estimates: 0 the least, 8 the most */
    size_t first, count; /* its images are images[first .. first + count - 1] */
} motley_subbatch;

/** A batch as it was sorted. One block of memory: motley_subbatches_destroy frees it. */
typedef struct motley_subbatches {
    size_t count;                      /* sub-batches */
    const motley_subbatch *subbatches; /* [count], in the order they begin: heavy ones first */
    size_t images_count;
    const size_t *images;       /* [images_count]: each index into the batch once, sub-batch by sub-batch */
    size_t max_steps;           /* the second dimension of `steps` */
    const motley_step *steps;   /* [images_count][max_steps], by index into the batch: the steps that were run. One
                                 * that was drawn but changes nothing, such as a rotation by 0, is left out. */
    const int32_t *step_counts; /* [images_count] */
} motley_subbatches;

/** How the context's last motley_apply or motley_op_apply was sorted. For tests and curiosity: it waits for the device
 *  and allocates.
 *
 *  Last     The last call that ran to its end; CUDA: or the last replay of a graph that captured it.
 *  Errors   ARGUMENT: there was no such call; UNSUPPORTED: the CPU keeps no steps of batches over 4096 images. */
MOTLEY_API motley_status motley_context_subbatches(motley_context *context, motley_subbatches **subbatches,
                                                   motley_error *error);

MOTLEY_API void motley_subbatches_destroy(motley_subbatches *subbatches);

#ifdef __cplusplus
}
#endif
#endif
