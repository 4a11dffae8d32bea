/* SPDX-License-Identifier: Apache-2.0 */
/** Prepared calls: batches are described and checked once, then processed any number of times at different
 *  addresses. */
#ifndef MOTLEY_CALL_H
#define MOTLEY_CALL_H

#include "motley/apply.h"
#include "motley/context.h"
#include "motley/image.h"
#include "motley/op.h"
#include "motley/policy.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What motley_apply and motley_op_apply need to know about their batches. Meant for loaders, whose batches have few
 *  different shapes. */
typedef struct motley_call motley_call;

/** Describes batches and checks everything about them that does not depend on their addresses.
 *
 *  Shapes   As for motley_apply: dst == src works in place, and dst may be NULL when there is an output. output is NULL
 *           when no fused last step is wanted. The `data` of batches and images is not read and may be NULL.
 *  Memory   Everything is copied. The context must outlive the call.
 *  Errors   ARGUMENT, MEMORY. *call is NULL then. */
MOTLEY_API motley_status motley_call_create(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                            const motley_output *output, motley_call **call, motley_error *error);

/** motley_apply on batches at these addresses.
 *
 *  Shapes   src, dst and output replace `data` of the batches that were described. For a batch with `images`, src and
 *           dst are a `void *const *` instead: [count], the `data` of each image, read before the call returns. dst is
 *           NULL for a call in place; dst and output are NULL if the call was created without them.
 *  Params   As for motley_apply, except that `output` must not be set.
 *  Stream   As motley_apply.
 *  Threads  One thread per context at a time.
 *  Errors   As motley_apply. */
MOTLEY_API motley_status motley_call_apply(motley_call *call, const motley_policy *policy, void *src, void *dst,
                                           void *output, const motley_apply_params *params, motley_error *error);

/** motley_op_apply on batches at these addresses; the call has no output. See motley_call_apply. */
MOTLEY_API motley_status motley_call_op_apply(motley_call *call, int op, const double *values, int values_per_image,
                                              void *src, void *dst, const motley_op_params *params,
                                              motley_error *error);

/** Frees a call. Work that it queued still completes. */
MOTLEY_API void motley_call_destroy(motley_call *call);

#ifdef __cplusplus
}
#endif
#endif
