/* SPDX-License-Identifier: Apache-2.0 */
/** Custom ops: caller-supplied functions that policies can name like built-in ops. */
#ifndef MOTLEY_CUSTOM_H
#define MOTLEY_CUSTOM_H

#include "motley/context.h"
#include "motley/image.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The arguments of a custom op: those images of the batch that drew it as their next step.
 *
 *  Values   Three numbers per image: the value that the policy drew, in the op's unit (0 if it takes none), and two
 *           uniform random numbers in [0, 1), drawn for this step, such as for a random position. All depend on
 *           (policy, seed, epoch, sample id, view) only, and motley_draw returns them.
 *  Images   Change them in place. Each has its own pointer and strides. If motley_apply has an output but no dst, the
 *           pixels are kept in the output's memory, so pixel_stride may exceed the number of channels. */
typedef struct motley_custom_batch {
    motley_context *context; /* may be used: motley_op_apply on `images` runs an op of the table on them */
    size_t count;
    const size_t *indices;     /* [count], ascending: which images of the batch */
    const uint64_t *ids;       /* [count]: their sample ids */
    const double (*values)[3]; /* [count] */
    motley_batch images;       /* `count` images, on the context's device */
    void *stream;              /* CUDA: where to queue the work; earlier steps are queued there. CPU: NULL */
} motley_custom_batch;

/** Changes the images, or queues that work on the stream. Any status other than MOTLEY_OK ends the call of
 *  motley_apply, which returns that status and `error`; dst is then unspecified.
 *
 *  Threads  Called on the thread that called motley_apply, one sub-batch at a time. If contexts on several threads
 *           share the policy, it is called concurrently. CUDA: the current device is the caller's. */
typedef motley_status motley_custom_run(void *user, const motley_custom_batch *batch, motley_error *error);

/** A custom op. */
typedef struct motley_custom_op {
    const char *name;        /* in policies: letters, digits, '_', '.' and '-', starting with a letter */
    const char *unit;        /* of its value; NULL: it takes none, and minimum and maximum are ignored */
    double minimum, maximum; /* of its value, inclusive; not checked for values relative to a side */
    motley_custom_run *run;
    void *user; /* passed to `run`; the policy, and policies derived from it, keep both pointers */
} motley_custom_op;

#ifdef __cplusplus
}
#endif
#endif
