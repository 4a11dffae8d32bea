/* SPDX-License-Identifier: Apache-2.0 */
/** Whole transforms: one file describes the way from decoded images of any sizes to the network's input.
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

/** Reads a transform from the file at `path`. Errors: as motley_transform_parse, and IO. */
MOTLEY_API motley_status motley_transform_load(const char *path, const motley_parse_params *params,
                                               motley_transform **transform, motley_error *error);

/** Loads a transform or policy that is built into the library. Errors: ARGUMENT with the nearest name, MEMORY. */
MOTLEY_API motley_status motley_transform_builtin(const char *name, motley_transform **transform, motley_error *error);

/** How many transforms are built in (beside the policies), the name of the i-th, and its text. NULL past the end. */
MOTLEY_API size_t motley_transform_builtin_count(void);
MOTLEY_API const char *motley_transform_builtin_name(size_t i);
MOTLEY_API const char *motley_transform_builtin_text(size_t i);

/** The transform as canonical text, which parses back to an equal transform.
 *
 *  Memory   *text is malloc'd: free() it.
 *  Errors   UNSUPPORTED: a follower has no text; ARGUMENT, MEMORY. *text is NULL then. */
MOTLEY_API motley_status motley_transform_print(const motley_transform *transform, char **text, motley_error *error);

/** The same content as JSON, which parses back to an equal transform. See motley_policy_print_json. */
MOTLEY_API motley_status motley_transform_print_json(const motley_transform *transform, char **json,
                                                     motley_error *error);

/** Whose arithmetic normalises a byte. In binary32, with each operation rounded. */
typedef enum motley_normalization {
    MOTLEY_NORMALIZATION_TORCHVISION_V1 = 0, /* ToTensor, Normalize: (v / 255 - mean) / std */
    MOTLEY_NORMALIZATION_TORCHVISION_V2 = 1, /* ToDtype(scale=True), Normalize: (v * (1 / 255) - mean) / std */
    MOTLEY_NORMALIZATION_TIMM = 2            /* its prefetcher: (v - 255 mean) / (255 std), both products in binary64 */
} motley_normalization;

/** What a caller needs to know about a transform before it has images. */
typedef struct motley_transform_info {
    size_t struct_size;                         /* of this struct in the library, which grows at the end */
    const char *name, *title, *profile, *paper; /* "" if the text has none */
    int32_t width, height; /* of every result, pixels; 0: each image keeps its size (no crop or resize) */
    motley_dtype dtype;    /* of the output stage; U8 without one */
    motley_layout layout;  /* of the output stage; MOTLEY_CHW without one */
    size_t max_steps;      /* the most steps that one image can draw */
    int32_t stages;        /* how many the text has; 0: the text was a policy's */
    const motley_mix *mix; /* of its last stage, owned by the transform; NULL: images are not mixed */
    int32_t classes;       /* of the mix stage's targets; 0 if the text does not say */
    double smoothing;      /* of the mix stage's targets; 0 if the text does not say */
    int32_t has_output;    /* 1: there is an output stage; 0: results are pictures, as U8 */
    int32_t to_rgb;        /* 1: the text has the stage to_rgb; images come out with three channels */
    int32_t scheduled;     /* 1: numbers change with the epoch; width, height and mix are those of epoch 0 */
    uint32_t epochs;       /* the length of the text's schedules; 0 if the text does not say */
    int32_t views;         /* how many views it has (motley/views.h); then width and height are 0, and the rest is that
                              of the first view. 0: it makes one result */
} motley_transform_info;

/** Describes a transform. The result is owned by the transform; NULL for NULL. */
MOTLEY_API const motley_transform_info *motley_transform_describe(const motley_transform *transform);

/** Makes the plain transform that a transform with schedules is in an epoch ("Numbers that change with the epoch" in
 *  doc/policy-format.md): the same text with that epoch's numbers put in. Of a transform without schedules, a copy.
 *
 *  A transform with schedules itself can be drawn and applied, too: each call takes the numbers of samples.epoch. Then
 *  motley_transform_draw reads the text again in each call, and a context keeps the plain transforms of the last four
 *  epochs that it met, so the first call of an epoch costs about as much as loading the transform, and on CUDA an
 *  upload of tables. A prepared call (motley/call.h) is prepared again when the numbers change. If the size of the
 *  results changes, `dst` must have the size of this function's transform. Refused with a counter, since the host
 *  has to know the epoch: apply the plain transform. A captured graph keeps the numbers of the epoch of its capture.
 *
 *  Shapes   max_steps of motley_transform_describe is the same in all epochs.
 *  Memory   *plain is the caller's, and needs `transform` no longer.
 *  Errors   UNSUPPORTED: it has custom ops; MEMORY. *plain is NULL then. */
MOTLEY_API motley_status motley_transform_at(const motley_transform *transform, uint32_t epoch,
                                             motley_transform **plain, motley_error *error);

/** Makes a copy whose schedules are `epochs` long: every epoch of the text is multiplied by epochs / the text's own
 *  `epochs`, and rounded to the nearest, half to even.
 *  Errors   ARGUMENT: the text has no `epochs`; POLICY: two epochs become one; MEMORY. *scaled is NULL then. */
MOTLEY_API motley_status motley_transform_scale(const motley_transform *transform, uint32_t epochs,
                                                motley_transform **scaled, motley_error *error);

/** Makes a copy of the transform without its last stages, output, erase and mix. Its results are pictures.
 *
 *  Random   It draws as `transform` does, except for erased boxes and mixing.
 *  Errors   UNSUPPORTED: it has custom ops; MEMORY. *pictures is NULL then. */
MOTLEY_API motley_status motley_transform_pictures(const motley_transform *transform, motley_transform **pictures,
                                                   motley_error *error);

MOTLEY_API void motley_transform_destroy(motley_transform *transform);

#define MOTLEY_MAX_ERASED_BOXES 8

/** Values of a step's `op` in a transform. They are not ops of the table. */
#define MOTLEY_STEP_HUE (-2)         /* values: the shift, -0.5..0.5 of a turn, as torchvision's adjust_hue */
#define MOTLEY_STEP_KERNEL_BLUR (-6) /* values: sigma in pixels, the kernel's size, as torchvision's gaussian_blur */

#define MOTLEY_MAX_KERNEL 23 /* the largest size of a kernel */

/** What one image draws, besides its steps. */
typedef struct motley_transform_drawn {
    motley_crop crop;      /* of the source image */
    int32_t width, height; /* what the crop is resized to, pixels */
    motley_filter filter;
    int32_t left, top; /* of the output in the resized image, pixels; parts outside of that image are filled */
    uint8_t flip_horizontal, flip_vertical;
    int32_t boxes_count;
    motley_erased_box boxes[MOTLEY_MAX_ERASED_BOXES];
    uint64_t noise; /* seeds the values of erased boxes that are filled with noise */
} motley_transform_drawn;

/** Draws without touching pixels.
 *
 *  Shapes   drawn: [count]; steps: [count][max_steps of motley_transform_describe]; step_counts: [count]. widths and
 *           heights: [count] pixels, of the source images.
 *  Random   As motley_draw: depends on (seed, epoch, sample id, view) and sizes only.
 *  Memory   The caller's, in host memory. No context is needed.
 *  Errors   ARGUMENT, UNSUPPORTED (a policy that takes boxes): the results are then unspecified. */
MOTLEY_API motley_status motley_transform_draw(const motley_transform *transform, const motley_samples *samples,
                                               size_t count, const int32_t *widths, const int32_t *heights,
                                               int32_t channels, motley_transform_drawn *drawn, motley_step *steps,
                                               int32_t *step_counts, motley_error *error);

/** What one image drew as a JSON object on one line: that of motley_draw_json, and where its pixels come from.
 *
 *  Keys     sample; crop: left, top, width, height; resize: width, height, filter; window: left, top; flip: horizontal,
 *           vertical; steps; and, if something is erased, erase: [boxes like the crop], noise. The step "hue" is
 *           MOTLEY_STEP_HUE, "kernel_blur" is MOTLEY_STEP_KERNEL_BLUR.
 *  Shapes   steps: [count]. channels: of the image; a fill has as many numbers.
 *  Values   Numbers read back the same.
 *  Memory   *text is malloc'd: free() it.
 *  Errors   ARGUMENT, MEMORY. *text is NULL then. */
MOTLEY_API motley_status motley_transform_draw_json(uint64_t sample, const motley_transform_drawn *drawn,
                                                    const motley_step *steps, int32_t count, int32_t channels,
                                                    char **text, motley_error *error);

/** Reads what motley_transform_draw_json wrote, for motley_apply_params.given. Unknown keys are ignored.
 *
 *  Shapes   json: `length` bytes. steps: [max_steps].
 *  Errors   POLICY: not such an object, with line and column; ARGUMENT, MEMORY. motley_transform_apply checks whether
 *           the numbers suit an image. */
MOTLEY_API motley_status motley_transform_draw_read(const char *json, size_t length, int32_t channels, uint64_t *sample,
                                                    motley_transform_drawn *drawn, motley_step *steps, size_t max_steps,
                                                    int32_t *count, motley_error *error);

/** Transforms a batch. Every image gets its own draw.
 *
 *  Shapes   src: n images, uint8, 1 to 4 channels, any sizes and strides. dst: n images of the transform's size (of
 *           src's own sizes when it has none), as many channels; U8, F32, F16 or BF16, any strides. With the stage
 *           to_rgb dst has 3 channels, and where src has 3 or 4, each of its images with a channel_stride of 0 is grey.
 *  Values   U8: the bytes unchanged. Other types: normalised by the transform's mean and std, by its
 *           motley_normalization, in binary32, and rounded once to the type.
 *  Memory   The caller's, on the context's device. No image of dst may overlap an image of src. What `params` points to
 *           is host memory, except `counter` and `followed`, and is read before the call returns.
 *  Stream   CUDA: queued on params->stream; the call waits for nothing, and allocates only if a batch needs more memory
 *           than those before it, or a transform is new to the context. After that, a graph can capture the call.
 *           Draws may run ahead of the stream: see motley_apply.
 *           CPU: the work is done on return; threads share the images.
 *  Threads  One thread per context at a time.
 *  Random   Image i depends on its sample id only: not on batch size, order, backend or threads.
 *  Clips    With clip_frames, ops of MOTLEY_SHAPE_STATS use the statistics of all frames of a clip together, as in
 *           motley_apply. A clip's frames have equal sample ids and views, come out in one size, and may be anywhere in
 *           memory. The host draws, since it compares the frames' draws. CPU: one thread works on a clip. CUDA: a clip
 *           has at most 1048576 rows in all. Refused: a counter, policies that mix chains.
 *  Given    given, given_steps and given_step_counts: all three or none.
 *  Errors   ARGUMENT, MEMORY, UNSUPPORTED: dst is untouched. CUDA: dst is unspecified. */
MOTLEY_API motley_status motley_transform_apply(motley_context *context, const motley_transform *transform,
                                                const motley_batch *src, const motley_batch *dst,
                                                const motley_apply_params *params, motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
