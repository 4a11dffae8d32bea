/* SPDX-License-Identifier: Apache-2.0 */
/* All views of a batch: each is a call of its own transform, in which every image stands once for each result. */
#include "motley/views.h"
#include "base/params.h"
#include "base/values.h"
#include "dispatch/request.h"
#include "policies/views.h"

#include <string.h>

/* What a view's call gets in place of the caller's batch and samples. */
typedef struct repeated {
    motley_image *images; /* [count * n] */
    uint64_t *ids;        /* [count * n] */
    double *boxes;        /* [count * those of the batch][4]; NULL: no view takes any */
    size_t *box_offsets;  /* [count * n + 1] */
    uint32_t *views;      /* [count * n] */
} repeated;

/* Lays out the arrays for `times` results of so many images and boxes. */
static motley_status make_room(motley_context *context, size_t times, size_t images, size_t boxes, repeated *r,
                               motley_error *error)
{
    const size_t most = mot_times(times, images), numbers = mot_times(4 * times, boxes);
    const size_t each = sizeof *r->images + sizeof *r->ids + sizeof *r->box_offsets + sizeof *r->views;
    const size_t bytes = mot_plus(mot_times(most, each), mot_times(numbers, sizeof *r->boxes));
    MOT_TRY(mot_keep(&context->views, mot_plus(bytes, sizeof *r->box_offsets), most, error));
    r->images = context->views.memory;
    r->ids = (uint64_t *)(void *)(r->images + most);
    r->boxes = (double *)(void *)(r->ids + most);
    r->box_offsets = (size_t *)(void *)(r->boxes + numbers);
    r->views = (uint32_t *)(void *)(r->box_offsets + most + 1);
    return MOTLEY_OK;
}

static motley_status check_params(const mot_transform *transform, size_t count, const motley_apply_params *p,
                                  motley_error *error)
{
    const motley_samples *const s = &p->samples;
    for (size_t i = 0; i < (s->views ? count : 1); i++)
        MOT_REQUIRE((s->views ? s->views[i] : s->view) < MOT_READS, error,
                    "view is %u, want a read of 0 to %d: policy '%s' has views itself",
                    (unsigned)(s->views ? s->views[i] : s->view), MOT_READS - 1, transform->name);
    MOT_REQUIRE(
        !transform->info.takes_boxes || !transform->shares, error,
        "a view of policy '%s' works in the boxes of an image, but behind stages that all views share: want that "
        "view's own policy to be applied, with the boxes of the shared pictures",
        transform->name);
    for (uint32_t v = 0; v < transform->views_count; v++)
        MOT_TRY(mot_boxes_check(mot_view_transform(transform, v), s, count, false, error));
    MOT_REQUIRE(!p->drawn && !p->steps && !p->step_counts, error,
                "drawn or steps is set, want the draws of views in their results");
    MOT_REQUIRE(!p->given && !p->given_steps && p->clip_frames <= 1 && !p->followed, error,
                "recorded draws, clips or what moves with an image is set, want a view's own policy to be applied");
    return MOTLEY_OK;
}

/* The boxes of n images `times` times. */
static void repeat_boxes(const motley_samples *samples, size_t n, uint32_t times, const repeated *r, motley_samples *to)
{
    const size_t first = samples->box_offsets[0], boxes = samples->box_offsets[n] - first;
    for (uint32_t j = 0; j < times; j++) {
        for (size_t i = 0; i <= n; i++)
            r->box_offsets[j * n + i] = j * boxes + samples->box_offsets[i] - first;
        if (boxes > 0)
            memcpy(r->boxes + 4 * j * boxes, samples->boxes + 4 * first, 4 * boxes * sizeof *r->boxes);
    }
    to->boxes = r->boxes;
    to->box_offsets = r->box_offsets;
}

/* The source with every image `times` times, and its samples. */
static void repeat(const motley_batch *src, const motley_samples *samples, const motley_view *view, uint32_t first,
                   uint32_t times, const repeated *r, motley_batch *from, motley_samples *to)
{
    const size_t n = src->count;
    for (uint32_t j = 0; j < times; j++)
        for (size_t i = 0; i < n; i++) {
            const mot_view image = mot_batch_view(src, i);
            r->images[j * n + i] =
                (motley_image){ image.data, image.width, image.height, image.row, image.pixel, image.channel };
            r->ids[j * n + i] = samples->ids ? samples->ids[i] : samples->first + i;
            r->views[j * n + i] =
                mot_view_word(samples->views ? samples->views[i] : samples->view, view->number, first + j);
        }
    *from = mot_batch_of_images(src, times * n, r->images);
    if (r->boxes)
        repeat_boxes(samples, n, times, r, to);
    to->views = r->views;
    if (times > 1)
        to->ids = r->ids;
}

/* The images of dst from `first` on. */
static motley_batch part_of(const motley_batch *dst, size_t first, size_t count)
{
    motley_batch part = *dst;
    part.count = count;
    if (dst->images) {
        part.images += first;
        return part;
    }
    const mot_view one = mot_batch_view(dst, first);
    part.data = one.data;
    return part;
}

/* Makes one view. With a counter, whose ids only the device knows, or levels, one result after the other. */
static motley_status apply_view(motley_context *context, const motley_view *view, const motley_batch *src,
                                const motley_view_results *to, const motley_apply_params *params, const repeated *r,
                                motley_error *error)
{
    const motley_policy_info *const info = motley_policy_describe(view->policy);
    const uint32_t count = (uint32_t)view->count, at_once = params->counter || info->takes_levels ? 1 : count;
    const size_t n = src->count;
    size_t most;
    MOT_TRY(mot_steps_room(mot_policy_transform(view->policy), &params->samples, n, &most, error));
    MOT_REQUIRE(to->dst.count == count * n, error, "dst has %zu images, want %u results of %zu", to->dst.count, count,
                n);
    for (uint32_t j = 0; j < count; j += at_once) {
        motley_apply_params how = *params;
        motley_batch from;
        const motley_batch dst = part_of(&to->dst, j * n, at_once * n);
        repeat(src, &params->samples, view, j, at_once, r, &from, &how.samples);
        how.drawn = to->drawn ? to->drawn + j * n : NULL;
        how.steps = to->steps ? to->steps + j * n * most : NULL;
        how.step_counts = to->step_counts ? to->step_counts + j * n : NULL;
        MOT_TRY(motley_apply(context, view->policy, &from, &dst, &how, error));
    }
    return MOTLEY_OK;
}

motley_status motley_views_apply(motley_context *context, const motley_policy *policy, const motley_batch *src,
                                 const motley_view_results *results, const motley_apply_params *params,
                                 motley_error *error)
{
    MOT_REQUIRE(context, error, "context is NULL");
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    const mot_transform *transform = policy->staged;
    MOT_REQUIRE(transform && transform->views_count, error, "policy '%s' has no views, want motley_apply",
                motley_policy_describe(policy)->name);
    MOT_REQUIRE(results, error, "results is NULL, want an array of %u", transform->views_count);
    MOT_READ_PARAMS(motley_apply_params, params, error);
    MOT_TRY(mot_transform_in_epoch(context, &transform, params, error));
    MOT_TRY(mot_validate_sizes("src", src, error));
    MOT_TRY(check_params(transform, src->count, params, error));
    if (src->count == 0)
        return MOTLEY_OK;
    repeated r;
    motley_batch shared;
    size_t most = 1, boxes = 0;
    const uint32_t views = transform->views_count;
    for (uint32_t v = 0; v < views; v++)
        most = (size_t)transform->views[v].count > most ? (size_t)transform->views[v].count : most;
    if (transform->info.takes_boxes)
        boxes = params->samples.box_offsets[src->count] - params->samples.box_offsets[0];
    MOT_TRY(make_room(context, most, src->count, boxes, &r, error));
    if (!transform->info.takes_boxes)
        r.boxes = NULL;
    if (transform->shares) {
        MOT_REQUIRE(results[views].dst.dtype == src->dtype, error, "shared stages: dst is of %s, want src's %s",
                    motley_dtype_name(results[views].dst.dtype), motley_dtype_name(src->dtype));
        motley_apply_params plain = *params; /* the views are normalised */
        plain.output.means = plain.output.stds = NULL;
        MOT_TRY(mot_fail_in(error,
                            apply_view(context, &transform->views[views], src, &results[views], &plain, &r, error),
                            "shared stages: "));
        shared = results[views].dst;
        shared.range = src->range;
        shared.ranges = src->ranges;
        shared.unclamped = src->unclamped;
        src = &shared;
    }
    for (uint32_t v = 0; v < views; v++)
        MOT_TRY(mot_fail_in(error, apply_view(context, &transform->views[v], src, &results[v], params, &r, error),
                            "view '%s': ", transform->views[v].name));
    return MOTLEY_OK;
}
