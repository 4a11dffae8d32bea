/* SPDX-License-Identifier: Apache-2.0 */
/** MixUp and CutMix: mix the images of a batch with each other, and their targets in the same proportions. */
#ifndef MOTLEY_MIX_H
#define MOTLEY_MIX_H

#include "motley/context.h"
#include "motley/draw.h"
#include "motley/image.h"
#include "motley/objects.h"

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

#define MOTLEY_MAX_GROW 16
#define MOTLEY_MAX_MIX_SIZES 32

/** Zhang et al. 2017, arXiv:1710.09412 (MixUp); Yun et al. 2019, arXiv:1905.04899 (CutMix). */
typedef struct motley_mix_params {
    size_t struct_size;   /* 0 or sizeof; see motley.h */
    double mixup, cutmix; /* a of Beta(a, a), from which lambda is drawn; 0: never used */
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
    double paste_p;    /* probability that objects are pasted into an image where neither MixUp nor CutMix is drawn;
                          0: always */
    double paste_area; /* pixels squared; objects with less are not pasted */
    double context[2]; /* how much of its sides is pasted around an object: one of the millionths between; 0: nothing */
    int32_t pastes;    /* how many objects of the batch, as by DEIMv2's CopyBlend, up to MOTLEY_MAX_PASTES; 0: none.
                          Wants `share`, by which they are blended */
    int32_t
        instances; /* != 0: the partner's objects are pasted by their masks (Ghiasi et al. 2020, arXiv:2012.07177): as
                          in torchvision's references as many are drawn as it has, and each is pasted once */
    int32_t grow;  /* pixels by which what is pasted is larger each way than its masks, up to MOTLEY_MAX_GROW; 2 is what
                     torchvision calls blending */
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
    MOTLEY_MIX_PASTE = 3,    /* parts of the batch's images, with an object each, are blended with the image */
    MOTLEY_MIX_INSTANCES = 4 /* the partner's pixels replace the image's where masks of its objects are */
} motley_mix_kind;

/** How one image is mixed. */
typedef struct motley_mixed {
    motley_mix_kind kind;
    int32_t partner;       /* index of an image of the batch */
    double lambda;         /* as drawn; for MixUp, the weight of the image itself; 1 if kind is NONE */
    double share;          /* weight of the image's target; that of its partner's target is 1 - share */
    motley_erased_box box; /* CutMix: the part that the partner's pixels replace */
    int32_t paste, pastes; /* PASTE and INSTANCES: its first one, and how many it has, one after the other */
    int32_t grow;          /* INSTANCES: as in motley_mix_params */
    int32_t side;          /* of the square to which the whole batch is to be resized; 0: it keeps its size */
} motley_mixed;

/** Draws how each image of a batch is mixed, what is pasted into it and where, and the size of the batch.
 *
 *  Shapes   drawn: [count]. width and height: of every image, pixels. pastes: [count * n], n being the mix's pastes, or
 *           with instances the most objects that an image has.
 *  Partners [count], the index of each image's partner, in place of the rule, for callers that read an image's partner
 *           with it. With ELEM mode MixUp and instances of an image then depend on its id and its partner alone; PASTE
 *           and `side` depend on the batch. NULL: by the rule.
 *  Objects  NULL: of what is pasted only the kind is drawn. PASTE reads their boxes and areas, INSTANCES only how many
 *           there are. An image that gets none (there are fewer, or a box has no pixel) becomes NONE.
 *  Values   Boxes are cut off to whole pixels, as by C's casts, and to the image.
 *  Memory   The caller's, in host memory; nothing is allocated. No context is needed.
 *  Random   Depends on (seed, epoch, sample id, view), as policies do, but uses other random words; `mode` says whose
 *           sample id counts, an image's own says what is pasted, and the first one's the size. lambda is one of 4096
 *           quantiles of Beta(a, a), a multiple of 2^-24, or of `share`.
 *  Errors   ARGUMENT: an odd count in PAIR mode, a minmax that leaves no side to draw, a partner that is no image of
 *           the batch, offsets that fall, more than MOTLEY_MAX_INSTANCES objects. */
MOTLEY_API motley_status motley_mix_draw(const motley_mix *mix, const motley_samples *samples, size_t count,
                                         int32_t width, int32_t height, const int32_t *partners,
                                         const motley_objects *objects, motley_mixed *drawn, motley_paste *pastes,
                                         motley_error *error);

/** Mixes the images of a batch as drawn.
 *
 *  Shapes   src and dst: n images of one type, src's of one size and dst's, too; dst == src works in place, and no
 *           other overlap is allowed. Where dst has another size it is resized by torch's nearest, which
 *           has neither CutMix nor INSTANCES.
 *           drawn: [n]. pastes: those of `drawn`, or NULL if nothing is pasted; PASTE wants dst != src. masks: NULL if
 *           nothing is drawn as INSTANCES.
 *  Values   MixUp is x lambda + z (1 - lambda), each of the three operations rounded to the type. U8: the operations
 *           are rounded to binary32, and the sum to the nearest byte, ties to even. Results equal torch's; for U8,
 *           those of timm's collate function.
 *  Memory   Images, planes of masks and extents are the caller's, on the context's device. All else is host memory,
 *           read before the call returns.
 *  Stream   CUDA: queued on `stream`, a cudaStream_t; it does not wait, and a graph can capture it. CPU: `stream` is
 *           NULL, and the work is done on return; threads share the rows.
 *  Threads  One thread per context at a time.
 *  Errors   ARGUMENT, MEMORY: dst is untouched. CUDA: dst is unspecified. */
MOTLEY_API motley_status motley_mix_apply(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                          const motley_mixed *drawn, const motley_paste *pastes,
                                          const motley_mix_masks *masks, void *stream, motley_error *error);

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

/** Lists the objects that each image has when it is mixed as drawn: its own, then its partner's, or those that are
 *  pasted. Boxes, labels and all else that has one entry per object are gathered by it.
 *
 *  Shapes   given: the batch's objects; boxes are read of INSTANCES alone. objects: [room]. mixed_offsets: [count + 1],
 *           receives the offsets of `objects`; its last number is how many there are. pastes: those of `drawn`, or NULL
 *           if nothing is pasted. extents: those of motley_mix_masks, in host memory, or NULL without INSTANCES.
 *  Values   In an image with INSTANCES those are left out that have no pixel more, or a box without width or height, as
 *           in torchvision's references.
 *  Memory   The caller's, in host memory. objects may be NULL if room is 0.
 *  Errors   ARGUMENT: CutMix, as nobody knows what its boxes leave of an object. ARGUMENT, too, if room is too small:
 *           mixed_offsets is complete then, and the call can be made again. Twice the batch's objects, and all pastes,
 *           are always enough where partners follow a rule. */
MOTLEY_API motley_status motley_mix_objects(const motley_mixed *drawn, const motley_paste *pastes, size_t count,
                                            const motley_objects *given, const motley_extent *extents,
                                            motley_mixed_object *objects, size_t room, size_t *mixed_offsets,
                                            motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
