/* SPDX-License-Identifier: Apache-2.0 */
/** Drawing and applying: policy in, augmented images out. */
#ifndef MOTLEY_APPLY_H
#define MOTLEY_APPLY_H

#include "motley/context.h"
#include "motley/image.h"
#include "motley/op.h"
#include "motley/policy.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which samples a batch holds. This decides what each of them draws.
 *
 *  A draw depends on (policy, seed, epoch, sample id, view) and nothing else: Philox4x32-10 with key = seed and
 *  counter = {view << 16 | block, epoch, id low, id high} (Salmon et al. 2011). Sizes matter only to values that are
 *  relative to the image's size. A sample that is read several times in an epoch (repeated augmentation, the two images
 *  of a contrastive pair) gets a different draw each time if each read has a different view.
 *
 *  Boxes    Steps inside boxes (`inside: boxes` in a policy's ops, bbox_cutout) work where the image's earlier steps
 *           have moved its boxes, as motley_follow_boxes does, and skip boxes that have left the image. A step changes
 *           all pixels that its box touches. Each box draws whether such a step is applied to it, and where a cutout
 *           goes; all boxes share the step's level and sign, and their order is drawn. These steps do not move the
 *           boxes themselves, nor points. Other policies ignore `boxes`; a transform refuses policies that need them.
 */
typedef struct motley_samples {
    uint64_t seed;
    uint32_t epoch;        /* 0 .. 2^30 - 1 */
    uint64_t first;        /* image i is sample first + i ... */
    const uint64_t *ids;   /* ... or ids[i], when given; host memory, read before the call returns */
    uint32_t view;         /* 0 .. 65535, of every image ... */
    const uint32_t *views; /* ... or views[i], when given; host memory, read before the call returns */

    /* For a policy that takes boxes: [box_offsets[n]][4], left, top, right, bottom in pixels, in host memory, read
     * before the call returns. Image i has the boxes box_offsets[i] .. box_offsets[i + 1] - 1. NULL: no boxes. */
    const double *boxes;
    const size_t *box_offsets;
} motley_samples;

/** Values of a step's `op` that mix chains of ops (AugMix). They are not ops of the table. Their one value is a weight,
 *  0..1.
 *
 *  Each chain starts from the image, and its steps end with MIX_ADD or MIX_BLEND. The result starts as the image. The
 *  sum is binary32, with the product and the sum each rounded; conversion to bytes truncates. Blending is Pillow's
 *  Image.blend. */
#define MOTLEY_STEP_MIX_ADD (-3)   /* the chain ends: weight * chain is added to the sum, which starts at 0 */
#define MOTLEY_STEP_MIX_BLEND (-4) /* the chain ends: the result becomes result + weight * (chain - result) */
#define MOTLEY_STEP_MIX_SUM (-5)   /* the result is blended with the sum, which is then 0 again */

/** One op that one sample drew. */
typedef struct motley_step {
    int32_t op;                       /* id in the op table, of a custom op (motley_policy_op), or MOTLEY_STEP_MIX_* */
    int32_t level;                    /* 0-based bin of the policy's level table; 0 for an op without levels */
    double values[MOTLEY_MAX_VALUES]; /* in the op's unit; see values_count */
    int32_t values_count;
    motley_interpolation interpolation; /* of a warp; NEAREST elsewhere */
    uint8_t fill[4];                    /* of a warp or an erasing op; 0 elsewhere */
    int32_t inside[4]; /* left, top, right, bottom of the part of the image that the step changes, half-open, in pixels
                          of the image; all 0: the whole image */
} motley_step;

/** Draws without touching pixels.
 *
 *  Shapes   steps: [count][motley_policy_max_steps(policy)], step_counts: [count]. Steps that were drawn but not
 *           applied are left out. widths and heights: [count] pixels. For a policy that takes boxes, steps:
 *           [count][motley_policy_max_boxed_steps(policy, most boxes of an image)], with one step for each box that is
 *           changed. channels: of the images, 1 to 4; `fill` of each step gets as many values.
 *  Memory   The caller's, in host memory. No context is needed.
 *  Errors   ARGUMENT, MEMORY: steps and step_counts are then unspecified. */
MOTLEY_API motley_status motley_draw(const motley_policy *policy, const motley_samples *samples, size_t count,
                                     const int32_t *widths, const int32_t *heights, int32_t channels,
                                     motley_step *steps, int32_t *step_counts, motley_error *error);

/** What one sample drew as a JSON object on one line: { "sample": 0, "steps": [ { "op": "rotate", "level": 0,
 *  "value": -9.0, "interpolation": "nearest", "fill": [ 0, 0, 0 ], "applied": true } ] }. See doc/motley.1.scd, DRAWS.
 *
 *  Shapes   steps: [count], from motley_draw, motley_apply_params or motley_subbatches. channels: of the image; a fill
 *           has as many numbers.
 *  Values   Numbers read back as the same doubles.
 *  Memory   *text is malloc'd: free() it.
 *  Errors   ARGUMENT: a step's op is not one of the policy's, or its numbers are wrong; MEMORY. *text is NULL then. */
MOTLEY_API motley_status motley_draw_json(const motley_policy *policy, uint64_t sample, const motley_step *steps,
                                          int32_t count, int32_t channels, char **text, motley_error *error);

/** Reads what motley_draw_json wrote: one JSON object. Unknown keys, such as a file's name, are ignored. A step with
 *  "applied": false is left out; one without "level" gets 0. Custom ops are unknown here.
 *
 *  Shapes   json: `length` bytes. steps: [max_steps], for given_steps and motley/follow.h. channels: of the image; a
 *           fill must have as many numbers.
 *  Errors   POLICY, with line and column: not such an object, an unknown op, values that it does not take, more steps
 *           than max_steps. ARGUMENT, MEMORY. */
MOTLEY_API motley_status motley_draw_read(const char *json, size_t length, int32_t channels, uint64_t *sample,
                                          motley_step *steps, size_t max_steps, int32_t *count, motley_error *error);

/** The optional last step, fused into the final write: out = (u8 / 255 - mean[c]) / std[c], in the output's type and
 *  layout. Each operation is rounded to binary32, then the result to the output's type, ties to even: the same bits on
 *  every backend. A U8 output gets the bytes unchanged. It must not overlap src or dst, except that a U8 output may
 *  alias exactly the same pixels. */
typedef struct motley_output {
    motley_batch batch;    /* dtype U8, F32, F16 or BF16; one size; any strides. data NULL: not used */
    float mean[4], std[4]; /* per channel, on the 0..1 scale; std 0 means 1 */
} motley_output;

#define MOTLEY_KERNEL_WEIGHTS 12 /* the most different weights of a blur's kernel, from the middle outward */

/** What changes from call to call, of motley_apply, motley_transform_apply and motley_call_run. Arrays are host memory,
 *  read or filled before the call returns, unless it says otherwise. Rows of steps have `max_steps` places, as many as
 *  motley_policy_max_steps or motley_transform_describe says. */
typedef struct motley_apply_params {
    size_t struct_size; /* 0 or sizeof; see motley.h */
    motley_samples samples;
    void *stream;            /* CUDA: a cudaStream_t, borrowed; CPU: NULL */
    const uint64_t *counter; /* CUDA: device memory {epoch, first}, which replaces samples.epoch and .first. It is read
                                when the work runs, so each replay of a graph draws again. NULL: not used. Refused if a
                                transform mixes: the host draws partners and shares, and `mixed` is host memory */
    motley_output output; /* motley_apply: if output.batch.data is set, the result goes there, and `dst` may be NULL */
    motley_step *steps;   /* [count][max_steps], receives the draws; of a policy on the CPU; NULL: not wanted */
    int32_t *step_counts; /* [count], with steps */
    size_t clip_frames;   /* each run of so many images is a clip, see motley_apply; 0 or 1: no clips */
    const struct motley_followed *followed; /* what moves with the images (motley/follow.h), or NULL */

    /* Of a transform (motley/transform.h). */
    struct motley_transform_drawn *drawn; /* [count], receives the draws, or NULL */
    struct motley_mixed *mixed; /* [count], receives what motley_mix_targets needs; required if the transform mixes */

    /* Recorded draws, which are applied instead of drawing, and give the same bytes again. */
    const motley_step *given_steps;             /* [count][given_max_steps] */
    const int32_t *given_step_counts;           /* [count]; NULL: nothing is given */
    size_t given_max_steps;                     /* 0: max_steps */
    const int32_t *given_widths;                /* [count] pixels, as drawn: images of other sizes are refused ... */
    const int32_t *given_heights;               /* ... [count]; both or neither */
    const struct motley_transform_drawn *given; /* [count], of a transform */
    const struct motley_mixed *given_mixed;     /* [count], of a transform that mixes */
    const float (*given_kernels)[MOTLEY_KERNEL_WEIGHTS]; /* [count][given_max_steps], of a transform: of each
                                                            MOTLEY_STEP_KERNEL_BLUR the weights. NULL: as torchvision's
                                                            v1, with exp rounded to binary32 */

    /* Of a prepared call (motley/call.h) of an op, or of a resize. */
    const double *values; /* [count][values_per_image], see motley_op_apply */
    int32_t values_per_image;
    const struct motley_crop *crops; /* [count], like boxes and flips, as in motley_resize_params; each may be NULL */
    const double (*boxes)[4];
    const uint8_t *flips;
} motley_apply_params;

/** Applies `policy` to a batch. Every image gets its own draw.
 *
 *  Shapes   src and dst: n images, uint8, 1 to 4 channels, any strides. dst[i] has the size of src[i]; sizes may
 *           differ between images. n == 0 is allowed.
 *  Memory   The caller's, on the context's device. dst == src is allowed, partial overlap is not.
 *  Stream   CUDA: queued on `stream`; returns before the work is done and never synchronises. If `stream` has work
 *           left, draws may run before it reaches the call, on a stream of the context's own for which it then waits.
 *           CPU: the work is done on return.
 *  Threads  One thread per context at a time.
 *  Custom   A policy with custom ops is drawn on the host, so `counter` cannot be used; their functions run on this
 *           thread.
 *  Random   See motley_samples: not on batch size, order, backend or threads.
 *  Clips    With clip_frames, ops of MOTLEY_SHAPE_STATS (equalize, auto_contrast, contrast) use the statistics of all
 *           frames of a clip together, so that its brightness does not flicker. A clip's frames have one size, equal
 *           sample ids and views, and equal distances in memory, as in a dense batch. In CHW a frame has at most
 *           1048576 pixels. Refused: policies that work in boxes or mix chains.
 *  Given    Steps of motley_draw or of an earlier call, at most 64 an image, besides those in a part of it (`inside`).
 *           Images must have the size and channels that the steps were drawn for, because values that were relative to
 *           a side are stored in pixels, and fills by channel. Steps that `policy` cannot draw are refused; NULL: no
 *           check, but given_max_steps is then needed. Custom ops cannot be given.
 *  Errors   ARGUMENT, UNSUPPORTED, MEMORY: dst is untouched. CUDA: dst is unspecified.
 *  Paper    motley_policy_paper(policy). */
MOTLEY_API motley_status motley_apply(motley_context *context, const motley_policy *policy, const motley_batch *src,
                                      const motley_batch *dst, const motley_apply_params *params, motley_error *error);

/** RandAugment as torchvision defines it: `num_ops` ops, each at level `magnitude` of 31. Otherwise as motley_apply.
 *  Paper    Cubuk, Zoph, Shlens, Le 2019, arXiv:1909.13719. */
MOTLEY_API motley_status motley_rand_augment(motley_context *context, int num_ops, int magnitude,
                                             const motley_batch *src, const motley_batch *dst,
                                             const motley_apply_params *params, motley_error *error);

/** TrivialAugmentWide as torchvision defines it. Otherwise as motley_apply.
 *  Paper    Mueller, Hutter 2021, arXiv:2103.10158. */
MOTLEY_API motley_status motley_trivial_augment(motley_context *context, const motley_batch *src,
                                                const motley_batch *dst, const motley_apply_params *params,
                                                motley_error *error);

/** AutoAugment as torchvision defines it; `name` is "imagenet", "cifar10" or "svhn". Otherwise as motley_apply.
 *  Paper    Cubuk, Zoph, Mane, Vasudevan, Le 2018, arXiv:1805.09501. */
MOTLEY_API motley_status motley_auto_augment(motley_context *context, const char *name, const motley_batch *src,
                                             const motley_batch *dst, const motley_apply_params *params,
                                             motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
