/* SPDX-License-Identifier: Apache-2.0 */
/* How large results are: of a transform whose stages crop or resize, each image's by its own size. */
#include "base/error.h"
#include "base/values.h"
#include "policies/mix.h"
#include "policies/transform_draw.h"
#include "policies/views.h"

#include <inttypes.h>

mot_sizes mot_result_size(const mot_transform *transform, uint32_t way, int32_t width, int32_t height)
{
    mot_sizes sizes = { width, height, width, height, width, height };
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *const stage = &transform->stage[i];
        if (!(transform->fact[i].ways >> way & 1))
            continue;
        mot_stage_size(stage, width, height, &sizes.width, &sizes.height);
        if (stage->kind == MOT_STAGE_ZOOM_OUT) {
            sizes.crop_width = (int32_t)((float)width * (float)stage->of.zoom.side[1]) + 1;
            sizes.crop_height = (int32_t)((float)height * (float)stage->of.zoom.side[1]) + 1;
        }
        if (stage->kind <= MOT_STAGE_RESIZE) {
            sizes.resized_width = sizes.width;
            sizes.resized_height = sizes.height;
        }
    }
    return sizes;
}

motley_status mot_sizes_check(const mot_sizes *sizes, motley_error *error)
{
    const int32_t width = sizes->resized_width, height = sizes->resized_height;
    MOT_REQUIRE(width >= 1 && height >= 1 && width <= MOT_MAX_SIDE && height <= MOT_MAX_SIDE &&
                    (int64_t)width * height <= INT32_MAX,
                error,
                "it would be resized to %" PRId32 "x%" PRId32 ", want 1 to %d each way and at most 2^31-1 pixels",
                width, height, MOT_MAX_SIDE);
    MOT_REQUIRE((int64_t)sizes->width * sizes->height <= INT32_MAX, error,
                "its result would have %" PRId32 "x%" PRId32 " pixels, want at most 2^31-1", sizes->width,
                sizes->height);
    return MOTLEY_OK;
}

/* The stage of a kind on a way through the lists, or NULL. */
static const mot_stage *stage_on(const mot_transform *transform, uint32_t way, mot_stage_kind kind)
{
    for (uint32_t i = 0; i < transform->stages; i++)
        if (transform->stage[i].kind == kind && transform->fact[i].ways >> way & 1)
            return &transform->stage[i];
    return NULL;
}

/* Requires that an image that goes way `way` can be resized and cropped. */
static motley_status check_way(const mot_transform *transform, uint32_t way, const mot_sizes *sizes,
                               motley_error *error)
{
    const int32_t width = sizes->resized_width, height = sizes->resized_height;
    const mot_stage *const random = stage_on(transform, way, MOT_STAGE_RANDOM_CROP);
    const mot_stage *const zoom = stage_on(transform, way, MOT_STAGE_ZOOM_OUT);
    MOT_TRY(mot_sizes_check(sizes, error));
    MOT_REQUIRE(!zoom || (sizes->crop_width <= MOT_MAX_SIDE && sizes->crop_height <= MOT_MAX_SIDE &&
                          sizes->crop_width <= (int64_t)MOT_MOST_SHRINK * width &&
                          sizes->crop_height <= (int64_t)MOT_MOST_SHRINK * height),
                error,
                "it could be zoomed out to %" PRId32 "x%" PRId32 " and then resized to %" PRId32 "x%" PRId32
                ", want at most %d each way, and %d times as many",
                sizes->crop_width - 1, sizes->crop_height - 1, width, height, MOT_MAX_SIDE, MOT_MOST_SHRINK);
    MOT_REQUIRE(!random || (width + 2 * (int64_t)random->of.crop.padding >= random->of.crop.width &&
                            height + 2 * (int64_t)random->of.crop.padding >= random->of.crop.height),
                error,
                "%" PRId32 "x%" PRId32 " with a padding of %" PRId32 " is smaller than the random_crop of %" PRId32
                "x%" PRId32,
                width, height, random->of.crop.padding, random->of.crop.width, random->of.crop.height);
    return MOTLEY_OK;
}

motley_status mot_ways_check(const mot_transform *transform, int32_t width, int32_t height, motley_error *error)
{
    for (uint32_t way = 0; way < transform->facts.ways; way++) {
        const mot_sizes sizes = mot_result_size(transform, way, width, height);
        MOT_TRY(check_way(transform, way, &sizes, error));
    }
    return MOTLEY_OK;
}

motley_status mot_sizes_check_any(const mot_transform *transform, uint32_t way, const int32_t from[2],
                                  motley_error *error)
{
    const mot_stage *const resize = stage_on(transform, way, MOT_STAGE_RESIZE);
    const mot_stage *const random = stage_on(transform, way, MOT_STAGE_RANDOM_CROP);
    const mot_stage *const mix = mot_transform_only_mixes(transform) && !from
                                     ? NULL /* images keep their size, which motley_mix_draw checks */
                                     : mot_transform_stage(transform, MOT_STAGE_MIX);
    const int32_t shorter = resize && resize->of.crop.height == 0 ? resize->of.crop.width : 0;
    int32_t least[2] = { shorter ? shorter : 1, shorter ? shorter : 1 }; /* sides of which the crop can be taken */
    for (int k = 0; random && k < 2; k++) {
        const int32_t side = (k ? random->of.crop.height : random->of.crop.width) - 2 * random->of.crop.padding;
        least[k] = side > least[k] ? side : least[k];
    }
    const int32_t tries[2][2] = { { least[0], shorter ? shorter : least[1] },
                                  { shorter ? shorter : least[0], least[1] } };
    mot_sizes sizes;
    motley_status status = MOTLEY_ERR_ARGUMENT;
    for (int k = 0; k < 2 && status != MOTLEY_OK; k++) {
        const int32_t *const image = from ? from : tries[k];
        sizes = mot_result_size(transform, way, image[0], image[1]);
        status = check_way(transform, way, &sizes, error);
    }
    return status == MOTLEY_OK && mix ? mot_mix_check_sides(&mix->of.mix.params, sizes.width, sizes.height, error)
                                      : status;
}

/* motley_policy_result_sizes of the plain transform that a policy is in an epoch; NULL: its images keep their sizes. */
static motley_status find_sizes(const mot_transform *transform, size_t count, const int32_t *widths,
                                const int32_t *heights, int32_t *result_widths, int32_t *result_heights,
                                motley_error *error)
{
    if (transform)
        MOT_TRY(mot_transform_check_single(transform, error));
    for (size_t i = 0; i < count; i++) {
        MOT_TRY(mot_fail_in(error, mot_check_size(widths[i], heights[i], error), "image %zu: ", i));
        mot_sizes sizes = { .width = widths[i], .height = heights[i] };
        if (transform) {
            sizes = mot_result_size(transform, 0, widths[i], heights[i]);
            MOT_TRY(mot_fail_in(error, mot_ways_check(transform, widths[i], heights[i], error), "image %zu: ", i));
        }
        result_widths[i] = sizes.width;
        result_heights[i] = sizes.height;
    }
    return MOTLEY_OK;
}

motley_status motley_policy_result_sizes(const motley_policy *policy, const motley_samples *samples, size_t count,
                                         const int32_t *widths, const int32_t *heights, int32_t *result_widths,
                                         int32_t *result_heights, motley_error *error)
{
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    MOT_REQUIRE(count == 0 || (widths && heights && result_widths && result_heights), error,
                "%s is NULL, want an array of %zu images",
                !widths          ? "widths"
                : !heights       ? "heights"
                : !result_widths ? "result_widths"
                                 : "result_heights",
                count);
    const mot_transform *const transform = policy->staged;
    if (!transform || !transform->schedule)
        return find_sizes(transform, count, widths, heights, result_widths, result_heights, error);
    mot_transform *plain;
    MOT_REQUIRE(samples, error, "samples is NULL, but policy '%s' changes with the epoch, which they have",
                transform->name);
    MOT_TRY(mot_samples_check(samples, 0, error));
    MOT_TRY(mot_transform_at(transform, samples->epoch, &plain, error));
    const motley_status status = find_sizes(plain, count, widths, heights, result_widths, result_heights, error);
    mot_transform_destroy(plain);
    return status;
}
