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

/** Which samples a batch holds, and so what each of them draws.
 *
 *  A draw depends on (policy, seed, epoch, sample id, view) and nothing else: Philox4x32-10 with key = seed and
 *  counter = {view << 16 | block, epoch, id low, id high} (Salmon et al. 2011). Sizes matter only to values that are
 *  relative to the image's size. A sample that is read several times in an epoch gets a different draw each time if
 *  each read has a different view: repeated augmentation, the two images of a contrastive pair.
 *
 *  Boxes    Steps inside boxes (`inside: boxes` in a policy's ops, bbox_cutout) work where the image's earlier steps
 *           have moved its boxes, as motley_follow_boxes does; a box that has left the image is out. A box is the
 *           pixels that it touches. Each box draws for itself whether such a step is applied to it, and where a cutout
 *           lies; level and sign are the step's, and boxes are worked on in a drawn order. The boxes themselves, and
 *           points, stay where they are. Other policies do not read them; a transform refuses policies that do. */
typedef struct motley_samples {
    uint64_t seed;
    uint32_t epoch;        /* 0 .. 2^30 - 1 */
    uint64_t first;        /* image i is sample first + i ... */
    const uint64_t *ids;   /* ... or ids[i], when given; host memory, read before the call returns */
    uint32_t view;         /* 0 .. 65535, of every image ... */
    const uint32_t *views; /* ... or views[i], when given; host memory, read before the call returns */

    /* For a policy that takes boxes: [box_offsets[n]][4], left, top, right, bottom in pixels. Image i has the boxes
     * box_offsets[i] .. box_offsets[i + 1] - 1. NULL: none are given. */
    const double *boxes;
    const size_t *box_offsets;
} motley_samples;

/** What a step's op is where chains of ops are mixed (AugMix): no op of the table, and its one value a weight, 0..1.
 *
 *  Each chain begins at the image, and its steps end with one of the first two; the result begins as the image. The sum
 *           is kept in binary32, product and sum rounded each; it is cut to bytes by truncation. Blending is Pillow's
 *           Image.blend. */
#define MOTLEY_STEP_MIX_ADD (-3)   /* the chain ends: weight * chain is added to the sum, which begins at 0 */
#define MOTLEY_STEP_MIX_BLEND (-4) /* the chain ends: the result becomes result + weight * (chain - result) */
#define MOTLEY_STEP_MIX_SUM (-5)   /* the result is blended with the sum, which begins again */

/** One op that one sample drew. */
typedef struct motley_step {
    int32_t op;                       /* id in the op table, of a custom op (motley_policy_op), or MOTLEY_STEP_MIX_* */
    int32_t level;                    /* 0-based bin of the policy's level table; 0 for an op without levels */
    double values[MOTLEY_MAX_VALUES]; /* in the op's unit; see values_count */
    int32_t values_count;
    motley_interpolation interpolation; /* of a warp; NEAREST elsewhere */
    uint8_t fill[4];                    /* of a warp or an erasing op; 0 elsewhere */
    int32_t inside[4]; /* left, top, right, bottom of the part of the image that is worked on, half-open,
                          in pixels of it; all 0: the whole image */
} motley_step;

/** Draws without touching pixels.
 *
 *  Shapes   steps: [count][motley_policy_max_steps(policy)], step_counts: [count]. Steps that were drawn but not
 *           applied are left out. widths and heights: [count] pixels. For a policy that takes boxes, steps:
 *           [count][motley_policy_max_boxed_steps(policy, most boxes of an image)], one for each box that is worked on.
 *  Channels How many channels the images have; `fill` of each step gets as many values. */
MOTLEY_API motley_status motley_draw(const motley_policy *policy, const motley_samples *samples, size_t count,
                                     const int32_t *widths, const int32_t *heights, int32_t channels,
                                     motley_step *steps, int32_t *step_counts, motley_error *error);

/** What one sample drew as a JSON object on one line: { "sample": 0, "steps": [ { "op": "rotate", "level": 0,
 *  "value": -9.0, "interpolation": "nearest", "fill": [ 0, 0, 0 ], "applied": true } ] }. See doc/motley.1.scd, DRAWS.
 *
 *  Shapes   steps: [count] of motley_draw, motley_apply_params or motley_subbatches. channels: of the image, and so
 *           how many numbers a fill has.
 *  Memory   *text is malloc'd: free() it. Numbers read back as the same doubles. */
MOTLEY_API motley_status motley_draw_json(const motley_policy *policy, uint64_t sample, const motley_step *steps,
                                          int32_t count, int32_t channels, char **text, motley_error *error);

/** Reads what motley_draw_json wrote: one JSON object. Keys that it does not know, such as a file's name, are left
 *  alone. A step with "applied": false is left out; one without "level" gets 0.
 *
 *  Shapes   json: `length` bytes. steps: [max_steps], for motley_replay and motley/follow.h. channels: of the image, as
 *           many numbers as a fill has to have. Custom ops are unknown here.
 *  Errors   POLICY: not such an object, an unknown op, values that it does not take, more steps than max_steps; with
 *           line and column. MEMORY. */
MOTLEY_API motley_status motley_draw_read(const char *json, size_t length, int32_t channels, uint64_t *sample,
                                          motley_step *steps, size_t max_steps, int32_t *count, motley_error *error);

/** The optional last step, fused into the final write: out = (u8 / 255 - mean[c]) / std[c], cast and laid out.
 *  Each operation is rounded to binary32, then the result to the nearest of the output's type, ties to even: the same
 *  bits on every backend. A U8 output takes the bytes as they are. It must not overlap src or dst, except that a
 *  U8 output may alias exactly the same pixels. */
typedef struct motley_output {
    motley_batch batch;    /* dtype U8, F32, F16 or BF16; one size; strides as wanted. data NULL: not used */
    float mean[4], std[4]; /* per channel, on the 0..1 scale; std 0 means 1 */
} motley_output;

typedef struct motley_apply_params {
    size_t struct_size; /* 0 or sizeof; see motley.h */
    motley_samples samples;
    void *stream;            /* CUDA: a cudaStream_t, borrowed; CPU: NULL */
    const uint64_t *counter; /* CUDA: device memory {epoch, first}, read when the work runs in place of
                                samples.epoch and .first, so that each replay of a graph draws again; or NULL */
    motley_output output;    /* when output.batch.data is set, the result goes there and `dst` may be NULL */
    motley_step *steps;      /* CPU: what was drawn, [count][max_steps]; NULL when not wanted */
    int32_t *step_counts;    /* CPU: [count]; NULL when not wanted */
    size_t clip_frames;      /* so many images in a row form a clip, see below; 0 or 1: none */
    const struct motley_followed *followed; /* what moves with the images (motley/follow.h), or NULL */
} motley_apply_params;

/** Applies `policy` to a batch. Every image gets its own draw.
 *
 *  Shapes   src and dst: n images, uint8, 1 to 4 channels, any strides. dst[i] has the size of src[i]; sizes may
 *           differ between images. n == 0 is allowed.
 *  Memory   The caller's, on the context's device. dst == src is allowed, partial overlap is not.
 *  Stream   CUDA: queued on `stream`; returns before the work is done and never synchronises.
 *           CPU: the work is done on return.
 *  Threads  One thread per context at a time.
 *  Custom   A policy with custom ops is drawn on the host, so `counter` cannot be used; their functions run on this
 *           thread.
 *  Random   See motley_samples: not on batch size, order, backend or threads.
 *  Clips    With clip_frames, ops of MOTLEY_SHAPE_STATS (equalize, auto_contrast, contrast) use the statistics of all
 *           frames of a clip together, so that its brightness does not flicker. A clip's frames have one size, equal
 *           sample ids and views, and lie in memory at equal distances: in one dense batch they do. In CHW a frame has
 *           at most 1048576 pixels. Refused: policies that work in boxes or mix chains.
 *  Errors   ARGUMENT, UNSUPPORTED, MEMORY: dst is untouched. CUDA: dst is unspecified.
 *  Paper    motley_policy_paper(policy). */
MOTLEY_API motley_status motley_apply(motley_context *context, const motley_policy *policy, const motley_batch *src,
                                      const motley_batch *dst, const motley_apply_params *params, motley_error *error);

/** Settings of motley_replay. */
typedef struct motley_replay_params {
    size_t struct_size;              /* 0 or sizeof; see motley.h */
    void *stream;                    /* CUDA: a cudaStream_t, borrowed; CPU: NULL */
    motley_output output;            /* as in motley_apply_params */
    const motley_policy *policy;     /* refuse steps that it cannot draw; NULL: take any */
    const int32_t *widths, *heights; /* [count] pixels, as drawn: refuse images of other sizes; both or neither */
    size_t clip_frames;              /* as in motley_apply_params; the steps of a clip's frames are then equal */
    const struct motley_followed *followed; /* as in motley_apply_params */
} motley_replay_params;

/** Applies steps that were drawn before, as motley_draw and motley_apply give them: the same bytes again.
 *
 *  Shapes   steps: [src->count][max_steps] and step_counts: [src->count] in host memory, read before the call
 *           returns. An image has at most 64 steps, besides those in a part of it (`inside`).
 *           Sizes and channels must be those that the steps were drawn for: values that were relative to a side are
 *           in pixels here, and a fill has as many bytes as the image has channels.
 *  Memory, Stream, Threads  As motley_apply.
 *  Errors   ARGUMENT: a step's op, values or interpolation are wrong, or it was drawn from another policy or for
 *           another size than params say; UNSUPPORTED: a step is a custom op; MEMORY: dst is untouched. CUDA: dst is
 *           unspecified. */
MOTLEY_API motley_status motley_replay(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                       const motley_step *steps, const int32_t *step_counts, size_t max_steps,
                                       const motley_replay_params *params, motley_error *error);

/** How much memory a context uses besides the pixels, on its device (the host for CPU contexts).
 *
 *  Now      `batch` is NULL: what it holds.
 *  Before   What it would hold after motley_apply of `policy` (NULL: motley_op_apply) to such a batch, in place or into
 *           a dst; after that no call allocates. Sizes and strides count; data is not read. CUDA: the bytes requested
 *           from `allocate` of motley_context_params. With custom ops the actual use may be less.
 *  Errors   ARGUMENT, UNSUPPORTED. */
MOTLEY_API motley_status motley_context_workspace(motley_context *context, const motley_policy *policy,
                                                  const motley_batch *batch, size_t *size_bytes, motley_error *error);

/** RandAugment as torchvision has it: `num_ops` ops, each at level `magnitude` of 31.
 *  Paper    Cubuk, Zoph, Shlens, Le 2019, arXiv:1909.13719. */
MOTLEY_API motley_status motley_rand_augment(motley_context *context, int num_ops, int magnitude,
                                             const motley_batch *src, const motley_batch *dst,
                                             const motley_apply_params *params, motley_error *error);

/** TrivialAugmentWide as torchvision has it.
 *  Paper    Mueller, Hutter 2021, arXiv:2103.10158. */
MOTLEY_API motley_status motley_trivial_augment(motley_context *context, const motley_batch *src,
                                                const motley_batch *dst, const motley_apply_params *params,
                                                motley_error *error);

/** AutoAugment as torchvision has it; `name` is "imagenet", "cifar10" or "svhn".
 *  Paper    Cubuk, Zoph, Mane, Vasudevan, Le 2018, arXiv:1805.09501. */
MOTLEY_API motley_status motley_auto_augment(motley_context *context, const char *name, const motley_batch *src,
                                             const motley_batch *dst, const motley_apply_params *params,
                                             motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
