/* SPDX-License-Identifier: Apache-2.0 */
/** Prepared calls: what is done to batches of one shape is described and checked once, then done any number of times to
 *  different memory. Meant for loaders, whose batches have few different shapes. */
#ifndef MOTLEY_CALL_H
#define MOTLEY_CALL_H

#include "motley/apply.h"
#include "motley/context.h"
#include "motley/image.h"
#include "motley/op.h"
#include "motley/policy.h"
#include "motley/resize.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_call motley_call;

/** What a call does. At most one of policy, op and resize is set; none: it applies the steps that each run is given. */
typedef struct motley_call_params {
    size_t struct_size;                 /* 0 or sizeof; see motley.h */
    const motley_policy *policy;        /* borrowed: it must outlive the call */
    const motley_op_info *op;           /* from motley_op_get; each run has its values */
    const motley_op_params *op_params;  /* of `op`: interpolation and fill, copied; NULL: nearest and zero */
    const motley_resize_params *resize; /* filter and order, copied; each run has its crops, boxes and flips */
    const motley_output *output;        /* without stages, or of steps: the fused last step, copied; NULL: none */
} motley_call_params;

/** Describes batches and checks everything about them that does not depend on their addresses.
 *
 *  Shapes   As for motley_apply, motley_op_apply or motley_resize. dst == src works in place,
 *           where sizes and types stay; dst may be NULL when there is an output. The `data` of batches and images is
 *           not read and may be NULL.
 *  Memory   The descriptions are copied. The context must outlive the call.
 *  Errors   ARGUMENT, UNSUPPORTED, MEMORY. *call is NULL then. */
MOTLEY_API motley_status motley_call_create(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                            const motley_call_params *params, motley_call **call, motley_error *error);

/** Does to batches at these addresses what the call says: with new draws, or with those that `params` gives.
 *
 *  Shapes   src, dst and output replace `data` of the batches that were described. For a batch with `images`, src and
 *           dst are a `void *const *` instead: [count], the `data` of each image, read before the call returns. dst is
 *           NULL for a call in place; dst and output are NULL if the call was created without them.
 *  Params   Everything that may change from run to run. `output` must not be set.
 *  Stream   As motley_apply, motley_op_apply or motley_resize: CUDA queues the work on
 *           params->stream, the CPU has done it on return.
 *  Threads  One thread per context at a time.
 *  Errors   As those functions: dst is untouched. CUDA: dst is unspecified. */
MOTLEY_API motley_status motley_call_run(motley_call *call, void *src, void *dst, void *output,
                                         const motley_apply_params *params, motley_error *error);

/** Frees a call. Work that it queued still completes. */
MOTLEY_API void motley_call_destroy(motley_call *call);

#ifdef __cplusplus
}
#endif
#endif
