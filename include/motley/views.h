/* SPDX-License-Identifier: Apache-2.0 */
/** Views: several results of each image, by one file ("Views" in doc/policy-format.md). Self-supervised recipes are
 *  such files: two large crops and eight small ones, say, each with its own stages. */
#ifndef MOTLEY_VIEWS_H
#define MOTLEY_VIEWS_H

#include "motley/apply.h"
#include "motley/context.h"
#include "motley/image.h"
#include "motley/policy.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MOTLEY_MAX_VIEWS 15
#define MOTLEY_MAX_VIEW_COUNT 16

/** One of a policy's views. Owned by the policy. */
typedef struct motley_view {
    const char *name; /* "" of shared stages */
    int32_t count;    /* how many results each image gets, 1..16 */
    int32_t number;   /* 0..14, 15 of shared stages: which draws are the view's. Result j of a sample's read r draws as
                         samples.view 256 * r + 16 * number + j of `policy` */
    const motley_policy *policy; /* the file with the view's stages in place of all views */
} motley_view;

/** The i-th view in the order of the text; motley_policy_describe says how many there are. Behind the last one are the
 *  stages that all views share, if there are any, as a view whose name is "". NULL past the end. */
MOTLEY_API const motley_view *motley_policy_view(const motley_policy *policy, size_t i);

/** Where the results of one view go. `drawn`, `steps` and `step_counts` are as in motley_apply_params, of the view's
 *  policy; NULL: not wanted. */
typedef struct motley_view_results {
    motley_batch dst;     /* count * n images: image j * n + i is result j of image i of src */
    motley_place *drawn;  /* [count * n] */
    motley_step *steps;   /* [count * n][max_steps] */
    int32_t *step_counts; /* [count * n] */
} motley_view_results;

/** Makes all views of a batch. Sources are read where they are: nothing is decoded, copied or uploaded once more.
 *
 *  Shapes   src: n images, as motley_apply takes them. results: [views of motley_policy_describe], each with the
 *           size and type that motley_apply wants of the view's policy. With shared stages one more, the last: the
 *           pictures, as U8, of which the views are then made.
 *  Random   Each result draws by itself, as motley_view says; samples.view and .views are reads, 0..255. So views
 *           that are added at the end, and other stages in a view, change no other view's draws.
 *  Params   samples (levels: [n], and boxes of n images, for every result of an image; no boxes with shared
 *           stages, which move them), stream and counter; also of a policy with schedules. What else is set is
 *           refused: the policies of views take recorded draws, clips and what moves with an image.
 *  Memory, Stream, Threads   As motley_apply.
 *  Errors   As motley_apply, by name of the view. The results of views before it are then written. */
MOTLEY_API motley_status motley_views_apply(motley_context *context, const motley_policy *policy,
                                            const motley_batch *src, const motley_view_results *results,
                                            const motley_apply_params *params, motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
