/* SPDX-License-Identifier: Apache-2.0 */
/** MixUp and CutMix: images of a batch are mixed with each other, and their targets in the same proportions. */
#ifndef MOTLEY_MIX_H
#define MOTLEY_MIX_H

#include "motley/apply.h"
#include "motley/context.h"
#include "motley/image.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A rectangle of an output that is erased, or replaced by another image's pixels. */
typedef struct motley_erased_box {
    int32_t left, top, width, height; /* pixels */
} motley_erased_box;

/** Whose pairs and boxes. Each library's pixels and targets follow exactly from what is drawn. */
typedef enum motley_mix_rules {
    MOTLEY_MIX_TORCHVISION = 0, /* image i with image i - 1, the first with the last; the box has an even size */
    MOTLEY_MIX_TIMM = 1         /* image i with image count - 1 - i; in PAIR and ELEM modes boxes as with NumPy 2 */
} motley_mix_rules;

/** What draws for itself. */
typedef enum motley_mix_mode {
    MOTLEY_MIX_BATCH = 0, /* the batch, as its first sample */
    MOTLEY_MIX_PAIR = 1,  /* each pair, as its first sample; by timm's rules only, and of an even count */
    MOTLEY_MIX_ELEM = 2   /* each image, as its sample */
} motley_mix_mode;

/** Zhang et al. 2017, arXiv:1710.09412 (MixUp); Yun et al. 2019, arXiv:1905.04899 (CutMix). */
typedef struct motley_mix_params {
    size_t struct_size;   /* 0 or sizeof; see motley.h */
    double mixup, cutmix; /* a of Beta(a, a), from which lambda is drawn; 0: not done. One at least is above 0 */
    double p;             /* chance of being mixed; 0: always */
    double switch_p;      /* chance of CutMix where both are done; 0: 0.5 */
    motley_mix_rules rules;
    motley_mix_mode mode;
    double minmax[2];  /* both above 0: sides of CutMix's box as shares of the image's, in place of lambda's; timm */
    int keep_lambda;   /* != 0: where the image's edge cuts off part of a box, targets are mixed by lambda all the same
                          (timm's correct_lam=False) */
    int drawn_partner; /* != 0: each image's partner is drawn among the others, in place of the rules'; ELEM mode */
} motley_mix_params;

typedef struct motley_mix motley_mix;

/** Prepares mixing: checks the parameters and tabulates lambda. Destroy takes NULL. Errors: ARGUMENT, MEMORY. */
MOTLEY_API motley_status motley_mix_create(const motley_mix_params *params, motley_mix **mix, motley_error *error);
MOTLEY_API void motley_mix_destroy(motley_mix *mix);

/** The parameters that it was made with; defaults filled in. */
MOTLEY_API motley_mix_params motley_mix_describe(const motley_mix *mix);

typedef enum motley_mix_kind { MOTLEY_MIX_NONE = 0, MOTLEY_MIX_MIXUP = 1, MOTLEY_MIX_CUTMIX = 2 } motley_mix_kind;

/** How one image is mixed. */
typedef struct motley_mixed {
    motley_mix_kind kind;
    int32_t partner;       /* number of an image of the batch */
    double lambda;         /* as drawn: of MixUp, the weight of the image itself; 1 where kind is NONE */
    double share;          /* weight of the image's own target; its partner's has 1 - share */
    motley_erased_box box; /* of CutMix: what the partner's pixels replace */
} motley_mixed;

/** Draws how each image of a batch is mixed.
 *
 *  Shapes   drawn: [count]. width and height: of every image, pixels.
 *  Random   By (seed, epoch, sample id, view) as images draw, with separate random words; `mode` says whose sample id
 *           decides. lambda is one of 4096 quantiles of Beta(a, a), a multiple of 2^-24.
 *  Errors   ARGUMENT: an odd count in PAIR mode, a minmax that leaves no side to draw. */
MOTLEY_API motley_status motley_mix_draw(const motley_mix *mix, const motley_samples *samples, size_t count,
                                         int32_t width, int32_t height, motley_mixed *drawn, motley_error *error);

/** Mixes the images of a batch as drawn.
 *
 *  Shapes   src and dst: n images of one size and one type; dst == src works in place, they overlap in no other way.
 *  Values   MixUp is x lambda + z (1 - lambda), each of the three operations rounded to the type; U8: to binary32, and
 *           the sum to the nearest, ties to even. These are torch's values, of U8 those of timm's collating.
 *  Backend  CPU: the work is done on return, threads share the rows. CUDA: queued on the default stream; `drawn` is
 *           host memory and is read before the call returns.
 *  Errors   ARGUMENT, MEMORY: dst is untouched. */
MOTLEY_API motley_status motley_mix_apply(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                          const motley_mixed *drawn, motley_error *error);

/** The same on `stream`, a cudaStream_t of a CUDA context, which does not wait and can be captured; NULL on others. */
MOTLEY_API motley_status motley_mix_apply_on(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                             const motley_mixed *drawn, void *stream, motley_error *error);

/** Targets by the same shares: y share + y_partner (1 - share), in binary32, each operation rounded.
 *
 *  Shapes   labels: [count] classes 0..classes - 1, or NULL; soft: [count][classes] targets, or NULL: one of the two.
 *           targets: [count][classes], host memory; it may be `soft`, but not overlap it.
 *  Values   smoothing s, 0..1, as in timm: a label's class gets 1 - s + s / classes, others s / classes; of soft
 * targets each becomes y (1 - s) + s / 2. */
MOTLEY_API motley_status motley_mix_targets(const motley_mixed *drawn, size_t count, int32_t classes,
                                            const int64_t *labels, const float *soft, double smoothing, float *targets,
                                            motley_error *error);

/** The same where the context has its memory: labels, soft and targets are of a CUDA context's device, and the work is
 *  queued on `stream`, a cudaStream_t; on other contexts it is NULL, and this is motley_mix_targets.
 *
 *  Values   A label that is no class cannot be refused without waiting for it: on CUDA the targets of its image, and of
 *           the image that is mixed with it, are NaN. */
MOTLEY_API motley_status motley_mix_targets_on(motley_context *context, const motley_mixed *drawn, size_t count,
                                               int32_t classes, const int64_t *labels, const float *soft,
                                               double smoothing, float *targets, void *stream, motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
