/* SPDX-License-Identifier: Apache-2.0 */
/** Device memory for programs that do not call CUDA themselves: the same functions for CPU and CUDA contexts. And how
 *  much memory a context uses. */
#ifndef MOTLEY_MEMORY_H
#define MOTLEY_MEMORY_H

#include "motley/context.h"
#include "motley/image.h"
#include "motley/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum motley_memory_kind {
    MOTLEY_MEMORY_DEVICE = 0, /* for the pixels of batches; CPU: host memory */
    MOTLEY_MEMORY_HOST = 1    /* pinned host memory: copies to and from the device do not wait */
} motley_memory_kind;

/** Allocates `size_bytes`, aligned to 256 bytes, content unspecified. Free it after the work that uses it, and before
 *  the context.
 *  Errors   ARGUMENT, MEMORY, CUDA. *memory is NULL then. */
MOTLEY_API motley_status motley_memory_create(motley_context *context, motley_memory_kind kind, size_t size_bytes,
                                              void **memory, motley_error *error);

/** Frees memory of motley_memory_create. CUDA: first waits for the device. */
MOTLEY_API void motley_memory_destroy(motley_context *context, void *memory);

/** Copies bytes between host and device, in either direction, or within one of them; the ranges must not overlap.
 *
 *  Stream   CUDA: queued on `stream`; the call may wait for the copy if host memory is not MOTLEY_MEMORY_HOST.
 *           CPU: `stream` is NULL and the copy is done on return.
 *  Errors   ARGUMENT, CUDA. */
MOTLEY_API motley_status motley_memory_copy(motley_context *context, void *to, const void *from, size_t size_bytes,
                                            void *stream, motley_error *error);

/** Waits until all work that was queued on `stream` is done; errors of that work are returned here. CPU: returns at
 *  once, because nothing is queued.
 *  Errors   ARGUMENT, CUDA. */
MOTLEY_API motley_status motley_context_wait(motley_context *context, void *stream, motley_error *error);

/** How much memory a context uses besides the pixels, on its device (the host for CPU contexts).
 *
 *  Batch    NULL: what the context holds now. Otherwise, what it would hold after motley_apply of `policy` (NULL:
 *           motley_op_apply) to such a batch, in place or into a dst; once it holds that, such calls allocate nothing.
 *           Sizes, strides and addresses count; data is not read. NULL data: an address that is a multiple of 256.
 *           With custom ops the actual use may be less.
 *  Size     In bytes. CUDA: as requested from `allocate` of motley_context_params. An image needs some 100 bytes a
 *           step, twice, on the route "resident" (motley/subbatch.h), and several kilobytes on the route "tiles".
 *           Bands that lie pixel by pixel need as many bytes as the pixels have. Images of U16 and F32 need up to two
 *           batches of F32 more, as many as the passes that a draw of the policy may take.
 *  Errors   ARGUMENT, UNSUPPORTED. */
MOTLEY_API motley_status motley_context_workspace(motley_context *context, const motley_policy *policy,
                                                  const motley_batch *batch, size_t *size_bytes, motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
