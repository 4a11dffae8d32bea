/* SPDX-License-Identifier: Apache-2.0 */
/** Applying: policy in, augmented images out. */
#ifndef MOTLEY_APPLY_H
#define MOTLEY_APPLY_H

#include "motley/context.h"
#include "motley/draw.h"
#include "motley/image.h"
#include "motley/op.h"
#include "motley/policy.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The optional last step, fused into the final write: out = (u8 / 255 - mean[c]) / std[c], in the output's type and
 *  layout; of U16 and F32 (v - mean[c]) / std[c], in the data's units. Each operation is rounded to binary32, then the
 *  result to the output's type, ties to even: the same bits on every backend. A U8 output gets the bytes unchanged. It
 *  must not overlap src or dst, except that a U8 output may alias exactly the same pixels. */
typedef struct motley_output {
    motley_batch batch;    /* dtype U8, F32, F16 or BF16; one size; any strides. data NULL: not used */
    float mean[4], std[4]; /* per channel, of bytes on the 0..1 scale; std 0 means 1 */
    const float *means;    /* [channels], host memory, used instead of mean and std; more than four channels want these,
                           or four equal numbers. Set both or neither. With `batch.data` NULL they replace those of a
                           policy's stage `output` */
    const float *stds;
} motley_output;

/** What changes from call to call, of motley_apply and motley_call_run. Arrays are host memory, read or filled before
 *  the call returns, unless a field says otherwise. Rows of steps have `max_steps` places, as many as
 *  motley_policy_describe says. */
typedef struct motley_apply_params {
    size_t struct_size;      /* 0 or sizeof; see motley.h */
    motley_samples samples;  /* CUDA: its levels, if there are any, are in device memory; its boxes may be */
    void *stream;            /* CUDA: a cudaStream_t, borrowed; CPU: NULL */
    const uint64_t *counter; /* CUDA: device memory {epoch, first}, which replaces samples.epoch and .first. It is read
                                when the work runs, so each replay of a graph draws again. NULL: not used. Refused if a
                                policy mixes images: the host draws partners and shares, in host memory */
    motley_output output;    /* motley_apply: if output.batch.data is set, the result goes there, and `dst` may be NULL.
                                Refused if the policy has stages, among which is the output */
    motley_step *steps;   /* [count][max_steps], receives the draws; rows are longer where a policy works in boxes, as
                             motley_draw says. CUDA: the host then draws. NULL: not wanted */
    int32_t *step_counts; /* [count], with steps */
    size_t clip_frames;   /* each run of so many images is a clip, see motley_apply; 0 or 1: no clips */
    const struct motley_followed *followed; /* what moves with the images (motley/follow.h), or NULL */

    motley_place *drawn;        /* [count], receives the draws, or NULL */
    struct motley_mixed *mixed; /* [count], receives what motley_mix_targets needs; required if the policy mixes
                                   images */

    /* Recorded draws, which are applied instead of drawing, and give the same bytes again. */
    const motley_step *given_steps;         /* [count][given_max_steps] */
    const int32_t *given_step_counts;       /* [count]; NULL: nothing is given */
    size_t given_max_steps;                 /* 0: max_steps */
    const int32_t *given_widths;            /* [count] pixels, as drawn: images of other sizes are refused ... */
    const int32_t *given_heights;           /* ... [count]; both or neither */
    const motley_place *given;              /* [count], required if the policy has stages */
    const struct motley_mixed *given_mixed; /* [count], of a policy that mixes images */
    const float (*given_kernels)[MOTLEY_KERNEL_WEIGHTS]; /* [count][given_max_steps], of stages: of each
                                                            MOTLEY_STEP_KERNEL_BLUR the weights. NULL: as torchvision's
                                                            v1, with exp rounded to binary32 */

    /* Of a prepared call (motley/call.h) of an op, or of a resize. */
    const double *values; /* [count][values_per_image], see motley_op_apply */
    int32_t values_per_image;
    const struct motley_crop *crops; /* [count], like boxes and flips, as in motley_resize_params; each may be NULL */
    const double (*boxes)[4];
    const uint8_t *flips;

    const double *fill; /* [channels], of wide images: the fill of warps, erasing ops and windows, drawn or given, in
                           the data's units. NULL: what the policy or the step says, 0..255 of the range */
} motley_apply_params;

/** Applies `policy` to a batch. Every image gets its own draw.
 *
 *  Shapes   src and dst: n images, U8, U16 or F32, any strides. dst[i] has the size of src[i]; sizes may
 *           differ between images. n == 0 is allowed. dst may also be F32, F16 or BF16: of U8 it gets u8 / 255,
 *           as the output of a mean of 0 and a std of 1, of others the components as they are.
 *  Wide     U16 and F32: without custom ops, ops inside boxes, mixed chains, clips, and a hue of three channels. Steps
 *           that are recorded have a fill of 0..255, and so are the same for every type.
 *  Stages   Of a policy with stages, dst has the size that motley_policy_describe says (src's own sizes if that is 0),
 *           and is U8, F32, F16 or BF16. With the stage to_rgb dst has 3 channels, and where src has 3, or 4 with
 *           alpha, each of its images with a channel_stride of 0 is grey; bands stay what they are. U8 gets the bytes
 *           unchanged; other types are normalised by the policy's mean and std (0..1: bytes / 255, or the range of wide
 *           images), by its motley_normalization, in binary32, and rounded once to the type.
 *  Memory   The caller's, on the context's device. dst == src is allowed, partial overlap is not; with stages, no image
 *           of dst may overlap an image of src. What `params` points to is host memory, except `counter`, levels of
 *           samples, boxes that are said to be on the device, and `followed`.
 *  Stream   CUDA: queued on `stream`; returns before the work is done and never synchronises. It allocates only if a
 *           batch needs more memory than those before it, or a policy, or an output's type, mean or std, is new to the
 *           context; after that, a graph can capture the call. If `stream` has work left, draws may run before it
 *           reaches the call, on a stream of the context's own for which it then waits. CPU: the work is done on
 *           return; threads share the images.
 *  Threads  One thread per context at a time.
 *  Custom   A policy with custom ops, with ops in boxes or crops by boxes in host memory, or with AugMix behind other
 *           stages is drawn on the host, so `counter`, and on CUDA given levels, are refused: draw with motley_draw,
 *           ids, levels and boxes in host memory, and give the draws. Custom ops' functions run on this thread. Between
 *           the steps of a policy that has some an image's bytes are in dst, or in the first byte of each of dst's
 *           components.
 *  Random   See motley_samples: not on batch size, order, backend or threads.
 *  Clips    With clip_frames, ops of MOTLEY_SHAPE_STATS (equalize, auto_contrast, contrast) use the statistics of all
 *           frames of a clip together, so that its brightness does not flicker. A clip's frames have one size, equal
 *           sample ids and views, and equal distances in memory, as in a dense batch. In CHW a frame has at most
 *           1048576 pixels. With stages, frames come out in one size and may be anywhere in memory; the host draws,
 *           since it compares the frames' draws, and on CUDA a clip has at most 1048576 rows in all; with custom ops,
 *           frames of a clip have equal distances in memory, too. Refused: policies that work in boxes or mix chains,
 *           and a counter or given levels.
 *  Given    Steps of motley_draw or of an earlier call, at most 64 an image, besides those in a part of it (`inside`).
 *           Images must have the size and channels that the steps were drawn for, because values that were relative to
 *           a side are stored in pixels, and fills by channel. Steps that `policy` cannot draw are refused; NULL: no
 *           check, but given_max_steps is then needed, and custom ops cannot be given. With stages: given, given_steps
 *           and given_step_counts, all three; without, `given` may be NULL.
 *  Errors   ARGUMENT, UNSUPPORTED, MEMORY: dst is untouched. CUDA: dst is unspecified.
 *  Paper    motley_policy_describe(policy)->paper. */
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
