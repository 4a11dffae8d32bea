/* SPDX-License-Identifier: Apache-2.0 */
/** Batches from the DLPack tensors of torch, CuPy, JAX, NumPy and other libraries, without a copy.
 *
 *  The structs are those of DLPack (https://dmlc.github.io/dlpack), legacy and versioned. They are not declared here: a
 *  program includes dlpack.h itself and passes pointers to its structs. */
#ifndef MOTLEY_DLPACK_H
#define MOTLEY_DLPACK_H

#include "motley/context.h"
#include "motley/image.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which struct a capsule holds: DLManagedTensor ("dltensor") or DLManagedTensorVersioned ("dltensor_versioned"). */
typedef enum motley_dlpack_kind {
    MOTLEY_DLPACK_LEGACY = 0,
    MOTLEY_DLPACK_VERSIONED = 1 /* major version 1 */
} motley_dlpack_kind;

/** The axes of a tensor. An additional first axis is that of the batch. */
typedef enum motley_dlpack_axes {
    MOTLEY_AXES_HWC = 0,
    MOTLEY_AXES_CHW = 1,
    MOTLEY_AXES_HW = 2 /* grey, without a channel axis */
} motley_dlpack_axes;

typedef struct motley_dlpack_params {
    size_t struct_size; /* 0 or sizeof; see motley.h */
    motley_dlpack_kind kind;
    motley_dlpack_axes axes;
    int writes; /* != 0: the batch will be written, so a tensor marked read-only is refused */
} motley_dlpack_params;

/** Where a tensor's memory is, as motley_context_params names it. */
typedef struct motley_dlpack_place {
    motley_backend backend; /* CPU (pinned host memory too) or CUDA (managed memory too) */
    int device;             /* CUDA device number */
} motley_dlpack_place;

/** Describes a tensor as a batch; a tensor without a batch axis becomes a batch of one image.
 *
 *  Types    uint8, uint16, float32; float16 and bfloat16, which are only useful as motley_output.
 *  Memory   `managed` stays the caller's, who calls its deleter after the work is done. *place is filled in.
 *  Stream   This function does not synchronise with the tensor's producer. The export does (`stream` of Python's
 *           __dlpack__).
 *  Errors   ARGUMENT: a type, shape or stride that no batch can have, writing to a read-only tensor, NULL. UNSUPPORTED:
 *           an unknown major version or kind of device. *batch is untouched. */
MOTLEY_API motley_status motley_batch_from_dlpack(const void *managed, const motley_dlpack_params *params,
                                                  motley_batch *batch, motley_dlpack_place *place, motley_error *error);

/** Describes `count` tensors, one image each, as a batch of many sizes.
 *
 *  Shapes   managed: [count]. images: [count], filled in; the batch points to it, so keep it as long as the batch. All
 *           tensors must have the same type, device and number of channels.
 *  Memory, Stream  As motley_batch_from_dlpack.
 *  Errors   As motley_batch_from_dlpack, and ARGUMENT if the tensors differ. */
MOTLEY_API motley_status motley_images_from_dlpack(const void *const *managed, size_t count,
                                                   const motley_dlpack_params *params, motley_image *images,
                                                   motley_batch *batch, motley_dlpack_place *place,
                                                   motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
