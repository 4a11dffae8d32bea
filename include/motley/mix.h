/* SPDX-License-Identifier: Apache-2.0 */
/** MixUp and CutMix: mix the images of a batch with each other, and their targets in the same proportions. */
#ifndef MOTLEY_MIX_H
#define MOTLEY_MIX_H

#include "motley/context.h"
#include "motley/draw.h"
#include "motley/image.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whose rules choose partners and boxes. For given draws, pixels and targets are exactly those of that library. */
typedef enum motley_mix_rules {
    MOTLEY_MIX_TORCHVISION = 0, /* image i with image i - 1, the first with the last; the box has an even size */
    MOTLEY_MIX_TIMM = 1         /* image i with image count - 1 - i; in PAIR and ELEM modes boxes as with NumPy 2 */
} motley_mix_rules;

/** Which images share a draw. */
typedef enum motley_mix_mode {
    MOTLEY_MIX_BATCH = 0, /* the whole batch, drawn for its first sample */
    MOTLEY_MIX_PAIR = 1,  /* each pair, drawn for its first sample; timm's rules and an even count only */
    MOTLEY_MIX_ELEM = 2   /* none: each image has its own draw */
} motley_mix_mode;

#define MOTLEY_MAX_PASTES 16
#define MOTLEY_MAX_MIX_SIZES 32

/** Zhang et al. 2017, arXiv:1710.09412 (MixUp); Yun et al. 2019, arXiv:1905.04899 (CutMix). */
typedef struct motley_mix_params {
    size_t struct_size;   /* 0 or sizeof; see motley.h */
    double mixup, cutmix; /* a of Beta(a, a), from which lambda is drawn; 0: never used. One or `share` is above 0 */
    double p;             /* probability of being mixed; 0: always */
    double switch_p;      /* probability of CutMix if both are used; 0: 0.5 */
    motley_mix_rules rules;
    motley_mix_mode mode;
    double minmax[2];  /* both above 0: range of the sides of CutMix's box, as shares of the image's, in place of
                          lambda; timm's cutmix_minmax */
    int keep_lambda;   /* != 0: targets are mixed by lambda even if the image's edge cuts off part of a box (timm's
                          correct_lam=False) */
    int drawn_partner; /* != 0: each image's partner is drawn from the other images, in place of the rule; ELEM mode */
    double share[2];   /* the second above 0: MixUp's lambda is one of the millionths from the first to the second, as
                          DEIM's is, in place of `mixup` */
    double paste_p;    /* probability that objects of the batch are pasted into an image where MixUp is not drawn, as by
                          DEIMv2's CopyBlend; 0: always */
    double paste_area; /* pixels squared; objects with less are not pasted */
    double context[2]; /* how much of its sides is pasted around an object: one of the millionths between; 0: nothing */
    int32_t pastes;    /* how many, up to MOTLEY_MAX_PASTES; 0: none. Wants `share`, by which they are blended */
    int32_t sizes_count; /* how many sizes there are; 0: images keep theirs */
    uint16_t
        sizes[MOTLEY_MAX_MIX_SIZES]; /* sides of squares, one of which the whole batch gets. One that is repeated is
                                             drawn more often */
} motley_mix_params;

typedef struct motley_mix motley_mix;

/** Prepares mixing: checks the parameters and tabulates lambda.
 *  Errors   ARGUMENT, MEMORY. *mix is NULL then. */
MOTLEY_API motley_status motley_mix_create(const motley_mix_params *params, motley_mix **mix, motley_error *error);
MOTLEY_API void motley_mix_destroy(motley_mix *mix);

/** The parameters of motley_mix_create, with defaults filled in; all zero for NULL. */
MOTLEY_API motley_mix_params motley_mix_describe(const motley_mix *mix);

typedef enum motley_mix_kind {
    MOTLEY_MIX_NONE = 0,
    MOTLEY_MIX_MIXUP = 1,
    MOTLEY_MIX_CUTMIX = 2,
    MOTLEY_MIX_PASTE = 3 /* objects of the batch are blended with the image */
} motley_mix_kind;

/** How one image is mixed. */
typedef struct motley_mixed {
    motley_mix_kind kind;
    int32_t partner;       /* index of an image of the batch */
    double lambda;         /* as drawn; for MixUp, the weight of the image itself; 1 if kind is NONE */
    double share;          /* weight of the image's target; that of its partner's target is 1 - share */
    motley_erased_box box; /* CutMix: the part that the partner's pixels replace */
    int32_t paste, pastes; /* PASTE: its first one, and how many it has, one after the other */
} motley_mixed;

/** A part of an image of the batch that is blended with another one, or with the same: of weight 1 - lambda, where the
 *  image under it has lambda. All parts are of the images as they were given. */
typedef struct motley_paste {
    int32_t image, object;  /* of which image, and which of its objects, from 0 */
    int32_t left, top;      /* of the part in that image, with the object's context */
    motley_erased_box part; /* where it goes */
    motley_erased_box box;  /* where the object then is, without its context */
} motley_paste;

/** Draws how each image of a batch is mixed.
 *
 *  Shapes   drawn: [count]. width and height: of every image, pixels.
 *  Memory   The caller's, in host memory. No context is needed.
 *  Random   Depends on (seed, epoch, sample id, view), as policies do, but uses other random words; `mode` says whose
 *           sample id counts. lambda is one of 4096 quantiles of Beta(a, a), a multiple of 2^-24, or of `share`.
 *  Errors   ARGUMENT: an odd count in PAIR mode, a minmax that leaves no side to draw. */
MOTLEY_API motley_status motley_mix_draw(const motley_mix *mix, const motley_samples *samples, size_t count,
                                         int32_t width, int32_t height, motley_mixed *drawn, motley_error *error);

/** The objects of a batch, in host memory. */
typedef struct motley_objects {
    const size_t *offsets; /* [count + 1]; image i has objects offsets[i] .. offsets[i + 1] - 1 */
    const double *boxes;   /* [offsets[count]][4], left, top, right, bottom in pixels */
    const double *areas;   /* [offsets[count]], pixels squared; NULL: those of the boxes */
} motley_objects;

/** Draws which objects are pasted into images that motley_mix_draw has drawn as PASTE, and where. Their number may be
 *  less where the batch has fewer, or a box no pixel; an image that gets none becomes NONE.
 *
 *  Shapes   drawn: [count], of the same samples and size. pastes: [count * mix's pastes].
 *  Values   Boxes are cut off to whole pixels, as by C's casts, and to the image.
 *  Memory   The caller's, in host memory; nothing is allocated.
 *  Random   By each image's own sample id.
 *  Errors   ARGUMENT: objects is NULL where something is pasted, offsets fall. */
MOTLEY_API motley_status motley_mix_draw_pastes(const motley_mix *mix, const motley_samples *samples,
                                                const motley_objects *objects, size_t count, int32_t width,
                                                int32_t height, motley_mixed *drawn, motley_paste *pastes,
                                                motley_error *error);

/** The size of a batch: one of mix's sizes, drawn by the first sample's id; width and height stay if it has none. */
MOTLEY_API motley_status motley_mix_size(const motley_mix *mix, const motley_samples *samples, int32_t *width,
                                         int32_t *height, motley_error *error);

/** Mixes the images of a batch as drawn.
 *
 *  Shapes   src and dst: n images of one type, src's of one size and dst's, too; dst == src works in place, and no
 *           other overlap is allowed. Where dst has another size it is resized by torch's nearest, which has no CutMix.
 *           drawn: [n]. pastes: those of `drawn`, or NULL if nothing is pasted; they want dst != src.
 *  Values   MixUp is x lambda + z (1 - lambda), each of the three operations rounded to the type. U8: the operations
 *           are rounded to binary32, and the sum to the nearest byte, ties to even. Results equal torch's; for U8,
 *           those of timm's collate function.
 *  Memory   Images are the caller's, on the context's device. `drawn` is host memory, read before the call returns.
 *  Stream   CUDA: queued on `stream`, a cudaStream_t; it does not wait, and a graph can capture it. CPU: `stream` is
 *           NULL, and the work is done on return; threads share the rows.
 *  Threads  One thread per context at a time.
 *  Errors   ARGUMENT, MEMORY: dst is untouched. CUDA: dst is unspecified. */
MOTLEY_API motley_status motley_mix_apply(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                          const motley_mixed *drawn, const motley_paste *pastes, void *stream,
                                          motley_error *error);

/** Mixes targets by the same shares: y share + y_partner (1 - share), in binary32, each operation rounded.
 *
 *  Shapes   labels: [count], classes 0..classes - 1; soft: [count][classes]. One of the two is NULL.
 *           targets: [count][classes]; it may be `soft` itself, but not overlap it otherwise.
 *  Values   smoothing s, 0..1, as in timm: the class of a label gets 1 - s + s / classes, others s / classes. A soft
 *           target y becomes y (1 - s) + s / classes, so that rows that sum to 1 still do. For targets of several
 *           labels an image, where timm has y (1 - s) + s / 2, smooth them before the call.
 *  Memory   The caller's, on the context's device; context NULL: in host memory. `drawn` is host memory.
 *  Stream   CUDA: queued on `stream`, a cudaStream_t. Otherwise `stream` is NULL and the work is done on return.
 *  Labels   A label that is not a class is refused. CUDA cannot, because that would need a wait: the targets of its
 *           image, and of the image that is mixed with it, are then NaN.
 *  Errors   ARGUMENT, MEMORY: targets is untouched. */
MOTLEY_API motley_status motley_mix_targets(motley_context *context, const motley_mixed *drawn, size_t count,
                                            int32_t classes, const int64_t *labels, const float *soft, double smoothing,
                                            float *targets, void *stream, motley_error *error);

/** An object of a mixed image: which of the batch's objects it is, and how much of its picture shows. */
typedef struct motley_mixed_object {
    int32_t image;  /* of the batch, from which it is */
    int32_t object; /* which one of that image, from 0 */
    float share;    /* lambda, or 1 - lambda, in binary32; 1 where nothing is mixed */
    int32_t paste;  /* by which one it was pasted, whose `box` it has then; -1: it is where it was in its image */
} motley_mixed_object;

/** Lists the objects that each image has when it is mixed as drawn: its own, then its partner's, or those that are
 *  pasted. Boxes, labels and all else that has one entry per object are gathered by it.
 *
 *  Shapes   offsets: [count + 1]; image i has objects offsets[i] .. offsets[i + 1] - 1 of the batch. objects: [room].
 *           mixed_offsets: [count + 1], receives the same of `objects`; its last number is how many there are.
 *           pastes: those of `drawn`, or NULL if nothing is pasted.
 *  Memory   The caller's, in host memory. objects may be NULL if room is 0.
 *  Errors   ARGUMENT: CutMix, as nobody knows what its boxes leave of an object. ARGUMENT, too, if room is too small:
 *           mixed_offsets is complete then, and the call can be made again. Twice the batch's objects, and all pastes,
 *           are always enough where partners follow a rule. */
MOTLEY_API motley_status motley_mix_objects(const motley_mixed *drawn, const motley_paste *pastes, size_t count,
                                            const size_t *offsets, motley_mixed_object *objects, size_t room,
                                            size_t *mixed_offsets, motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
