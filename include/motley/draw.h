/* SPDX-License-Identifier: Apache-2.0 */
/** Draws: what each sample gets, as plain data, without touching a pixel. */
#ifndef MOTLEY_DRAW_H
#define MOTLEY_DRAW_H

#include "motley/image.h"
#include "motley/op.h"
#include "motley/policy.h"
#include "motley/resize.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which samples a batch holds. This decides what each of them draws.
 *
 *  A draw depends on (policy, seed, epoch, sample id, view), on the sample's level where one is given, and on nothing
 *  else: Philox4x32-10 with key = seed and counter = {view << 16 | block, epoch, id low, id high} (Salmon et al. 2011).
 *  Sizes matter only to values that are relative to the image's size. A sample that is read several times in an epoch
 *  (repeated augmentation, the two images of a contrastive pair) gets a different draw each time if each read has a
 *  different view.
 *
 *  Boxes    Steps inside boxes (`inside: boxes` in a policy's ops, bbox_cutout) work where the image's earlier steps
 *           have moved its boxes, as motley_follow does, and skip boxes that have left the image. A step changes
 *           all pixels that its box touches. Each box draws whether such a step is applied to it, and where a cutout
 *           goes; all boxes share the step's level and sign, and their order is drawn. These steps do not move the
 *           boxes themselves, nor points. Other policies ignore `boxes`; stages refuse policies that need them.
 */
typedef struct motley_samples {
    uint64_t seed;
    uint32_t epoch;      /* 0 .. 2^30 - 1 */
    int32_t bands;       /* motley_draw: 1: images of 2, 4 or more channels have no alpha; others read their batch */
    uint64_t first;      /* image i is sample first + i ... */
    const uint64_t *ids; /* ... or ids[i], when given; host memory, read before the call returns */
    uint32_t view;       /* 0 .. 65535, of every image ... */
    int32_t boxes_on_device; /* != 0: `boxes` and `box_offsets` are in the memory of a CUDA context's device */
    const uint32_t *views;   /* ... or views[i], when given; host memory, read before the call returns */

    /* For a policy that takes boxes: [box_offsets[n]][4], left, top, right, bottom in pixels. Image i has the boxes
     * box_offsets[i] .. box_offsets[i + 1] - 1. NULL: no boxes. Host memory, read before the call returns. With
     * boxes_on_device both are device memory, which is read when the work runs: what the stream, or a replayed graph,
     * wrote before it counts, nothing waits, and draws are the same. motley_apply and prepared calls on a CUDA context
     * take such boxes for policies that only crop by them and make results of known sizes (takes_boxes is 2 and
     * draws_sizes 0 in motley_policy_describe), without clips and without `drawn` or `steps`. Nothing checks them
     * there: a box that is not finite fits no crop, others are taken as they are, and offsets that fall are of none. */
    const double *boxes;
    const size_t *box_offsets;

    /* For a policy that takes levels (`level: given`): how strong the ops of image i are, from 0, the weakest, to 1,
     * the strongest; below 0 and NaN mean 0, above 1 means 1. [count], required by such policies and ignored by others.
     * In calls on a CUDA context device memory, which is read when the work runs: what the stream, or a replayed graph,
     * wrote before it counts, and nothing waits. Elsewhere host memory, read before the call returns. */
    const float *levels;
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
#define MOTLEY_STEP_MIX_BEGIN \
    (-7) /* of stages: what the steps before it made is the image that the chains begin with */

/** One op that one sample drew. */
typedef struct motley_step {
    int32_t op;                       /* id in the op table, of a custom op (motley_policy_op), or MOTLEY_STEP_* */
    int32_t level;                    /* 0-based bin of the policy's level table; 0 for an op without levels */
    double values[MOTLEY_MAX_VALUES]; /* in the op's unit; see values_count */
    int32_t values_count;
    motley_interpolation interpolation; /* of a warp; NEAREST elsewhere */
    uint8_t fill[4];                    /* of a warp or an erasing op; 0 elsewhere */
    int32_t inside[4]; /* left, top, right, bottom of the part of the image that the step changes, half-open, in pixels
                          of the image; all 0: the whole image */
} motley_step;

#define MOTLEY_STEP_HUE (-2)         /* values: the shift, -0.5..0.5 of a turn, as torchvision's adjust_hue */
#define MOTLEY_STEP_KERNEL_BLUR (-6) /* values: sigma in pixels, the kernel's size, as torchvision's gaussian_blur */
#define MOTLEY_STEP_PERMUTE (-8) /* values: the new order of channels, 0: 012, 1: 021, 2: 102, 3: 120, 4: 201, 5: 210 */

#define MOTLEY_MAX_KERNEL 23     /* the largest size of a kernel */
#define MOTLEY_KERNEL_WEIGHTS 12 /* the most different weights of a blur's kernel, from the middle outward */

#define MOTLEY_MAX_ERASED_BOXES 8

/** What a crop by the overlap of boxes did. */
typedef enum motley_overlap {
    MOTLEY_OVERLAP_NONE = 0,     /* it left the image as it was, or there is none */
    MOTLEY_OVERLAP_CROPPED = 1,  /* it cropped: boxes whose centre is not in the crop are gone */
    MOTLEY_OVERLAP_UNDECIDED = 2 /* 64 rounds found no crop that fits the boxes, and the image was left as it was */
} motley_overlap;

/** How an image is resized and cropped before the rest of its place, where stages resize it twice. Members are those of
 *  motley_place. */
typedef struct motley_first_place {
    motley_crop crop;
    int32_t width, height; /* 0: it is resized once */
    motley_filter filter;
    int32_t left, top;
    int32_t result_width, result_height; /* of the image that the rest of the place is about */
    uint8_t flip_horizontal, flip_vertical, flipped_first, torch_planes, beyond;
} motley_first_place;

/** What one image draws, besides its steps: which pixels are taken, and where they go. Of a policy without stages, the
 *  whole image, which stays where it is. */
typedef struct motley_place {
    motley_crop crop;      /* of the source image; beyond it, if `beyond` is set */
    int32_t width, height; /* what the crop is resized to, pixels */
    motley_filter filter;
    int32_t left, top; /* of the result in the resized image, pixels; parts outside of that image are filled */
    int32_t result_width, result_height; /* pixels */
    uint8_t flip_horizontal, flip_vertical;
    uint8_t flipped_first; /* bit 0: it is mirrored left to right before the resize, whose weights round in another way
                              then, bit 1: top to bottom. Whether the result is mirrored is in the two above */
    uint8_t torch_planes;  /* 1: planes (motley/follow.h) are resized as torch's nearest does it, else as Pillow's */
    uint8_t beyond;  /* 1: the crop may reach beyond the image, up to 1048576 pixels, and what is outside reads the
                       policy's fill; each side becomes at most 2048 times smaller. 0: such a crop is refused, since it
                       was drawn for another image */
    uint8_t before;  /* so many of the image's first steps change the source, before it is cropped and resized */
    uint8_t overlap; /* motley_overlap */
    int32_t canvas_left, canvas_top; /* pixels that a zoom_out put before the image: then the crop is of the canvas */
    motley_first_place first; /* if its width is not 0, it comes first: then the canvas and the overlap are of its crop,
                                 and the crop above is of its result */
    int32_t boxes_count;
    motley_erased_box boxes[MOTLEY_MAX_ERASED_BOXES];
    uint64_t noise; /* seeds the values of erased boxes that are filled with noise */
} motley_place;

/** Draws without touching pixels.
 *
 *  Shapes   count: at most 2^31 - 1. places: [count], or NULL: not wanted. steps: [count][max_steps of
 *           motley_policy_describe], step_counts: [count]. Steps that were drawn but not applied are left out. widths
 *           and heights: [count] pixels, of the source images. For a policy whose steps take boxes, steps:
 *           [count][max_steps * the boxes of the image that has most], with one step for each box that is changed.
 *           channels: of the images, 1 to 4, of more bands 4; `fill` of each step gets as many values.
 *  Memory   The caller's, in host memory. No context is needed.
 *  Errors   ARGUMENT, MEMORY, UNSUPPORTED (stages with a policy that takes boxes): the results are then unspecified. */
MOTLEY_API motley_status motley_draw(const motley_policy *policy, const motley_samples *samples, size_t count,
                                     const int32_t *widths, const int32_t *heights, int32_t channels,
                                     motley_place *places, motley_step *steps, int32_t *step_counts,
                                     motley_error *error);

/** Finds how large the results of motley_apply are, for `dst`, before the call.
 *
 *  Shapes   widths, heights, result_widths, result_heights: [count] pixels, of the source images and of their results.
 *           The results may overwrite the sources: result_widths may be widths, and result_heights heights.
 *  Samples  Those of the images, as for motley_apply, with their boxes if sizes follow from crops by them. May be NULL
 *           for a policy without schedules whose sizes do not depend on what a sample draws (`draws_sizes` of
 *           motley_policy_describe).
 *  Memory   The caller's, in host memory. No context is needed.
 *  Errors   ARGUMENT: an image is too small or too large for the policy, or there are no samples; UNSUPPORTED: a policy
 *           with views, each of which has sizes of its own; MEMORY. The results are then unspecified. */
MOTLEY_API motley_status motley_policy_result_sizes(const motley_policy *policy, const motley_samples *samples,
                                                    size_t count, const int32_t *widths, const int32_t *heights,
                                                    int32_t *result_widths, int32_t *result_heights,
                                                    motley_error *error);

/** What one sample drew as a JSON object on one line: { "sample": 0, "steps": [ { "op": "rotate", "level": 0,
 *  "value": -9.0, "interpolation": "nearest", "fill": [ 0, 0, 0 ], "applied": true } ] }. See doc/motley.1.scd, DRAWS.
 *
 *  Keys     With a place, before the steps: crop: left, top, width, height; beyond: true, if it may leave the image;
 *           before: how many of the steps change the source, if any do;
 *           canvas: left, top, if the image lies in a canvas; overlap: "cropped" or "undecided";
 *           resize: width, height, filter; window: left, top, width, height; flip: horizontal, vertical; flipped_first:
 *           the same two, if one is true; torch_planes: true, if it is; behind them, if something is erased, erase:
 *           [boxes like the crop], noise. If the image is resized twice, before all these, first: an object with the
 *           same keys up to torch_planes. Steps "hue", "kernel_blur" are MOTLEY_STEP_HUE, _KERNEL_BLUR.
 *  Shapes   place: NULL: none is written. steps: [count], from motley_draw, motley_apply_params or motley_subbatches.
 *           channels: of the image; a fill has as many numbers.
 *  Values   Numbers read back as the same doubles.
 *  Memory   *text is malloc'd: free() it.
 *  Errors   ARGUMENT: a step's op is not one of the policy's, or its numbers are wrong; MEMORY. *text is NULL then. */
MOTLEY_API motley_status motley_draw_json(const motley_policy *policy, uint64_t sample, const motley_place *place,
                                          const motley_step *steps, int32_t count, int32_t channels, char **text,
                                          motley_error *error);

/** Reads what motley_draw_json wrote: one JSON object. Unknown keys, such as a file's name, are ignored. A step with
 *  "applied": false is left out; one without "level" gets 0. Custom ops are unknown here.
 *
 *  Shapes   json: `length` bytes. place: NULL: none is wanted, and a hue or kernel blur among the steps is refused.
 *           steps: [max_steps], for given_steps and motley/follow.h. channels: of the image; a fill must have as many
 *           numbers.
 *  Errors   POLICY, with line and column: not such an object, an unknown op, values that it does not take, more steps
 *           than max_steps. ARGUMENT, MEMORY. motley_apply checks whether the numbers suit an image. */
MOTLEY_API motley_status motley_draw_read(const char *json, size_t length, int32_t channels, uint64_t *sample,
                                          motley_place *place, motley_step *steps, size_t max_steps, int32_t *count,
                                          motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
