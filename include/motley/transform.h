/* SPDX-License-Identifier: Apache-2.0 */
/** Whole transforms: from decoded images of any sizes to the network's input, as one file describes it.
 *
 *  A transform is an ordered list of stages: crop and resize, flips, policies, colour jitter, grayscale, normalised
 *  output, erasing. doc/policy-format.md describes the text ("Transforms"). Every image gets its own draw, and every
 *  byte or float is that of Pillow, torchvision or timm for such a draw. */
#ifndef MOTLEY_TRANSFORM_H
#define MOTLEY_TRANSFORM_H

#include "motley/apply.h"
#include "motley/context.h"
#include "motley/image.h"
#include "motley/mix.h"
#include "motley/policy.h"
#include "motley/resize.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_transform motley_transform;

/** Reads a transform from a text. A text without `stages` is read as a policy, which is then the only stage.
 *  Errors   POLICY: the text is wrong or over a limit; MEMORY. *transform is NULL then. See motley_policy_parse. */
MOTLEY_API motley_status motley_transform_parse(const char *text, size_t length, const motley_parse_params *params,
                                                motley_transform **transform, motley_error *error);

/** The same, from the file at `path`. Errors: also IO. */
MOTLEY_API motley_status motley_transform_load(const char *path, const motley_parse_params *params,
                                               motley_transform **transform, motley_error *error);

/** A transform or policy that is built into the library, by name. Errors: ARGUMENT with the nearest name, MEMORY. */
MOTLEY_API motley_status motley_transform_builtin(const char *name, motley_transform **transform, motley_error *error);

/** How many transforms are built in (beside the policies), the name of the i-th, and its text. NULL past the end. */
MOTLEY_API size_t motley_transform_builtin_count(void);
MOTLEY_API const char *motley_transform_builtin_name(size_t i);
MOTLEY_API const char *motley_transform_builtin_text(size_t i);

/** The transform as canonical text, which parses back to an equal transform. *text is malloc'd: free() it. */
MOTLEY_API motley_status motley_transform_print(const motley_transform *transform, char **text, motley_error *error);

/** The transform as JSON, with every setting, the standard ones too.
 *
 *  Keys     name, title, profile, paper, table, version (null where the text gave none), stages: [{stage (its kind),
 *           and the settings of doc/policy-format.md}]; of a policy {stage, policy: what motley_policy_describe
 *           writes}.
 *  Memory   *json is malloc'd: free() it.
 *  Errors   As motley_transform_print. */
MOTLEY_API motley_status motley_transform_print_json(const motley_transform *transform, char **json,
                                                     motley_error *error);

/** How a byte becomes a normalised number, in binary32, each operation rounded: what each library computes. */
typedef enum motley_normalization {
    MOTLEY_NORMALIZATION_TORCHVISION_V1 = 0, /* ToTensor, Normalize: (v / 255 - mean) / std */
    MOTLEY_NORMALIZATION_TORCHVISION_V2 = 1, /* ToDtype(scale=True), Normalize: (v * (1 / 255) - mean) / std */
    MOTLEY_NORMALIZATION_TIMM = 2            /* its prefetcher: (v - 255 mean) / (255 std), both products in binary64 */
} motley_normalization;

/** What a caller needs to know about a transform before it has images. */
typedef struct motley_transform_info {
    size_t struct_size;                         /* of this struct in the library, which grows at the end */
    const char *name, *title, *profile, *paper; /* "" where the text gave none */
    int32_t width, height; /* of every image that comes out, pixels; 0: each keeps its size (no crop or resize) */
    motley_dtype dtype;    /* that the text asks for: U8 without an output stage */
    motley_layout layout;  /* likewise: MOTLEY_CHW without one */
    size_t max_steps;      /* the most steps that one image can draw */
    int32_t stages;        /* of the text; 0: it was a policy's */
    const motley_mix *mix; /* of its last stage, owned by the transform; NULL: images are not mixed */
    int32_t classes;       /* of targets, where the text says; 0 elsewhere */
    double smoothing;      /* likewise */
    int32_t has_output;    /* 1: dtype and layout are those of an output stage; 0: pictures come out, as U8 */
} motley_transform_info;

/** Memory   Owned by the transform; NULL for NULL. */
MOTLEY_API const motley_transform_info *motley_transform_describe(const motley_transform *transform);

/** A copy of the transform without its output, erase and mix stages, which stand last: pictures come out.
 *
 *  Random   As `transform` draws, but for erased boxes and mixing.
 *  Errors   UNSUPPORTED: it has custom ops; MEMORY. *pictures is NULL then. */
MOTLEY_API motley_status motley_transform_pictures(const motley_transform *transform, motley_transform **pictures,
                                                   motley_error *error);

MOTLEY_API void motley_transform_destroy(motley_transform *transform);

#define MOTLEY_MAX_ERASED_BOXES 8

/** `op` of a motley_step in a transform that is not an op of the table. */
#define MOTLEY_STEP_HUE (-2)         /* values: the shift, -0.5..0.5 of a turn, as torchvision's adjust_hue */
#define MOTLEY_STEP_KERNEL_BLUR (-6) /* values: sigma in pixels, the kernel's size, as torchvision's gaussian_blur */

#define MOTLEY_MAX_KERNEL 23     /* the largest size of such a kernel */
#define MOTLEY_KERNEL_WEIGHTS 12 /* of one, from the middle outward */

/** What one image draws, besides its steps. */
typedef struct motley_transform_drawn {
    motley_crop crop;      /* of the source image */
    int32_t width, height; /* what the crop is resized to, pixels */
    motley_filter filter;
    int32_t left, top; /* where the output begins in the resized image; the rest is filled */
    uint8_t flip_horizontal, flip_vertical;
    int32_t boxes_count;
    motley_erased_box boxes[MOTLEY_MAX_ERASED_BOXES];
    uint64_t noise; /* seeds the values of erased boxes that are filled with noise */
} motley_transform_drawn;

typedef struct motley_transform_params {
    size_t struct_size; /* 0 or sizeof; see motley.h */
    motley_samples samples;
    /* Draws out; NULL when not wanted. */
    motley_transform_drawn *drawn; /* [count] */
    motley_step *steps;            /* [count][max_steps], with step_counts: both or neither */
    int32_t *step_counts;          /* [count] */
    /* Draws in: run these instead of drawing; all three or none. */
    const motley_transform_drawn *given; /* [count] */
    const motley_step *given_steps;      /* [count][max_steps] */
    const int32_t *given_step_counts;    /* [count] */
    motley_mixed *mixed;                 /* [count]; wanted of a transform that mixes, for motley_mix_targets */
    const motley_mixed *given_mixed;     /* [count]; with `given`, of a transform that mixes */
    void *stream;                        /* cudaStream_t; NULL: the default stream. NULL on a CPU context */
    const uint64_t *counter; /* CUDA, device memory [2]: epoch and first sample id, read when the work runs, in place of
                                samples.epoch and samples.first: for graphs. NULL: samples says.
                                Not of a transform that mixes: the host draws its partners and shares, and `mixed` is
                                host memory, from which targets are mixed */
    const float (*given_kernels)[MOTLEY_KERNEL_WEIGHTS]; /* [count][max_steps]; with `given`: the weights of each
                                                            MOTLEY_STEP_KERNEL_BLUR, from the middle outward. NULL: of
                                                            torchvision's v1, with exp rounded to binary32 */
    size_t clip_frames;                     /* CPU: so many images in a row form a clip, see below; 0 or 1: none */
    const struct motley_followed *followed; /* what moves with the images (motley/follow.h), or NULL */
} motley_transform_params;

/** Draws without touching pixels.
 *
 *  Shapes   drawn: [count]; steps: [count][max_steps of motley_transform_describe]; step_counts: [count]. widths and
 *           heights: [count] pixels, of the source images.
 *  Random   As motley_draw: by (seed, epoch, sample id, view) and sizes only. */
MOTLEY_API motley_status motley_transform_draw(const motley_transform *transform, const motley_samples *samples,
                                               size_t count, const int32_t *widths, const int32_t *heights,
                                               int32_t channels, motley_transform_drawn *drawn, motley_step *steps,
                                               int32_t *step_counts, motley_error *error);

/** What one image drew as a JSON object on one line: motley_draw_json's, and where its pixels come from. { "sample": 0,
 *  "crop": { "left", "top", "width", "height" }, "resize": { "width", "height", "filter" }, "window": { "left", "top"
 * }, "flip": { "horizontal", "vertical" }, "steps": [ ... ], "erase": [ boxes like the crop ], "noise": 0 }, the last
 * two where something is erased. The step "hue" is MOTLEY_STEP_HUE, "kernel_blur" is
 * MOTLEY_STEP_KERNEL_BLUR.
 *
 *  Shapes   steps: [count]. channels: of the image; as many numbers has a fill.
 *  Memory   *text is malloc'd: free() it. Numbers read back the same. */
MOTLEY_API motley_status motley_transform_draw_json(uint64_t sample, const motley_transform_drawn *drawn,
                                                    const motley_step *steps, int32_t count, int32_t channels,
                                                    char **text, motley_error *error);

/** Reads what motley_transform_draw_json wrote, for motley_transform_params.given. Unknown keys are left alone.
 *
 *  Shapes   json: `length` bytes. steps: [max_steps].
 *  Errors   POLICY: not such an object, with line and column; MEMORY. Whether the numbers suit an image is checked by
 *           motley_transform_apply. */
MOTLEY_API motley_status motley_transform_draw_read(const char *json, size_t length, int32_t channels, uint64_t *sample,
                                                    motley_transform_drawn *drawn, motley_step *steps, size_t max_steps,
                                                    int32_t *count, motley_error *error);

/** Transforms a batch. Every image gets its own draw.
 *
 *  Shapes   src: n images, uint8, 1 to 4 channels, any sizes and strides. dst: n images of the transform's size (of
 *           src's own sizes when it has none), as many channels; U8, F32, F16 or BF16, any strides.
 *  Values   U8: bytes as they are. Others: normalised by the transform's mean and std in its convention, made in
 *           binary32 and rounded once to the type.
 *  Memory   The caller's, on the context's device. No image of dst may overlap an image of src. What `params` points to
 *           is host memory, but for the counter, and is read before the call returns.
 *  Stream   CUDA: queued on params->stream; the call waits for nothing, and allocates only where a batch needs more
 *           room than those before it, or a transform is new to the context. It can be captured into a graph after
 *           that. CPU: the work is done on return, threads share the images.
 *  Threads  One thread per context at a time. A transform is immutable: share it freely.
 *  Random   Image i depends on its sample id only: not on batch size, order, backend or threads.
 *  Clips    With clip_frames, ops of MOTLEY_SHAPE_STATS use the statistics of all frames of a clip together, as in
 *           motley_apply. A clip's frames have equal sample ids and views, come out in one size, and lie anywhere; one
 *           thread works on a clip. Refused: CUDA, policies that mix chains.
 *  Errors   ARGUMENT, MEMORY, UNSUPPORTED: dst is untouched. CUDA: dst is unspecified. */
MOTLEY_API motley_status motley_transform_apply(motley_context *context, const motley_transform *transform,
                                                const motley_batch *src, const motley_batch *dst,
                                                const motley_transform_params *params, motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
