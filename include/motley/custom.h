/* SPDX-License-Identifier: Apache-2.0 */
/** Operations of one's own: a function of the caller's that policies name as they name those of the table. */
#ifndef MOTLEY_CUSTOM_H
#define MOTLEY_CUSTOM_H

#include "motley/context.h"
#include "motley/image.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a custom op is called with: the sub-batch of the images whose turn it is.
 *
 *  Values   Three numbers per image: the value that the policy drew, in the op's unit (0 when it takes none), and two
 *           that are uniform in 0..1 (1 excluded), drawn for this step: a random place, or whatever has to be random.
 *           All of them depend on (policy, seed, epoch, sample id, view) only, and motley_draw tells them.
 *  Images   To be changed in place. Every one has its own pointer and strides; when motley_apply has no dst but an
 *           output, the pixels wait in the output's memory, so a pixel may be wider than its channels. */
typedef struct motley_custom_batch {
    motley_context *context; /* may be used: motley_op_apply on `images` runs an op of the table on them */
    size_t count;
    const size_t *indices;     /* [count], ascending: which images of the batch */
    const uint64_t *ids;       /* [count]: their sample ids */
    const double (*values)[3]; /* [count] */
    motley_batch images;       /* `count` images, on the context's device */
    void *stream;              /* CUDA: where to queue the work; earlier steps are queued there. CPU: NULL */
} motley_custom_batch;

/** Does the work, or queues it on the stream. Another status than MOTLEY_OK ends the call of motley_apply, which then
 *  returns that status and what stands in `error`; dst is unspecified then.
 *
 *  Threads  Called on the thread that called motley_apply, one sub-batch after the other. Contexts on several threads
 *           that share the policy call it at the same time. CUDA: the current device is the caller's. */
typedef motley_status motley_custom_run(void *user, const motley_custom_batch *batch, motley_error *error);

/** One operation of the caller's. */
typedef struct motley_custom_op {
    const char *name;        /* what policies call it: letters, digits, '_', '.' and '-', a letter first */
    const char *unit;        /* of its value; NULL: it takes none, and the next two are not read */
    double minimum, maximum; /* of its value, inclusive; a value relative to a side is not held to them */
    motley_custom_run *run;
    void *user; /* handed to `run`; the policy, and those changed from it, keep both */
} motley_custom_op;

#ifdef __cplusplus
}
#endif
#endif
