/* SPDX-License-Identifier: Apache-2.0 */
/* How large results are: of a transform whose stages crop or resize, each image's by its own size. */
#include "base/error.h"
#include "base/values.h"
#include "policies/mix.h"
#include "policies/stage_keys.h"
#include "policies/transform_draw.h"
#include "policies/views.h"

#include <inttypes.h>

void mot_stage_only_size(const mot_stage *stage, int32_t size[2])
{
    const mot_crop *const crop = &stage->of.crop;
    const mot_window *const window = &stage->of.window;
    const bool many = size[0] == 0, resizes = stage->kind == MOT_STAGE_RESIZE;
    if (stage->kind == MOT_STAGE_FIXED_CROP) {
        size[0] = window->width, size[1] = window->height;
    } else if (stage->kind == MOT_STAGE_PAD && !many) {
        for (int k = 0; k < 2; k++)
            size[k] = mot_padded_side(window, size[k], k);
    } else if (resizes && crop->rule == MOT_SIZE_SQUARE && crop->squares == 1) {
        size[0] = size[1] = crop->square[0];
    } else if (resizes && crop->rule == MOT_SIZE_GIVEN && (!many || crop->height)) {
        mot_resized_sides(stage, many ? 1 : size[0], many ? 1 : size[1], &size[0], &size[1]);
    } else if (!resizes && stage->kind <= MOT_STAGE_RANDOM_CROP) {
        size[0] = crop->width, size[1] = crop->height;
    } else if (resizes || stage->kind == MOT_STAGE_ZOOM_OUT || stage->kind == MOT_STAGE_SIZE_CROP ||
               stage->kind == MOT_STAGE_IOU_CROP) {
        size[0] = size[1] = 0;
    }
}

void mot_way_only_size(const mot_transform *transform, uint32_t way, int32_t size[2])
{
    for (uint32_t i = 0; i < transform->stages; i++)
        if (transform->fact[i].ways >> way & 1)
            mot_stage_only_size(&transform->stage[i], size);
}

int mot_way_resizes(const mot_transform *transform, uint32_t way)
{
    int resizes = 0;
    for (uint32_t i = 0; i < transform->stages; i++)
        resizes += mot_stage_forms[transform->stage[i].kind].does & MOT_RESIZES && transform->fact[i].ways >> way & 1;
    return resizes;
}

#define EARLY_FLIP 3 /* the turn of a flip before a resize */

/* Whether the stages of a way are such that the device draws; *joined: the place of a stage depends on those before. */
static bool is_drawn_anywhere(const mot_transform *transform, uint32_t way, bool *joined)
{
    int left = mot_way_resizes(transform, way), last = 0;
    bool loose = false; /* sizes depend on the draw */
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *const stage = &transform->stage[i];
        const bool resizes = mot_stage_forms[stage->kind].does & MOT_RESIZES;
        if (!mot_stage_places(stage->kind) || !(transform->fact[i].ways >> way & 1))
            continue;
        const int turn = stage->kind == MOT_STAGE_FLIP && left > 0 ? EARLY_FLIP : mot_stage_forms[stage->kind].turn;
        const bool fixed = stage->kind == MOT_STAGE_RESIZE && stage->of.crop.height > 0;
        if (turn <= last || (loose && resizes && !fixed) ||
            (stage->kind == MOT_STAGE_RESIZE && stage->of.crop.rule != MOT_SIZE_GIVEN))
            return false;
        *joined |= stage->kind == MOT_STAGE_IOU_CROP || turn == EARLY_FLIP;
        loose = stage->kind == MOT_STAGE_ZOOM_OUT || stage->kind == MOT_STAGE_IOU_CROP || (loose && !resizes);
        left -= resizes;
        last = turn;
    }
    return !loose;
}

/* Whether a stage of a way resizes to a shorter side, or crops. */
static bool changes_sizes(const mot_transform *transform, uint32_t way)
{
    for (uint32_t i = 0; i < transform->stages; i++)
        if (transform->stage[i].kind <= MOT_STAGE_RANDOM_CROP && transform->fact[i].ways >> way & 1)
            return true;
    return false;
}

bool mot_transform_draws_sizes(const mot_transform *transform, bool *joined)
{
    int32_t first[2] = { 0, 0 };
    *joined = false;
    mot_way_only_size(transform, 0, first);
    for (uint32_t way = 0; way < transform->facts.ways; way++) {
        int32_t size[2] = { 0, 0 };
        mot_way_only_size(transform, way, size);
        if (!is_drawn_anywhere(transform, way, joined) || size[0] != first[0] || size[1] != first[1] ||
            (way > 0 && size[0] == 0 && (changes_sizes(transform, way) || changes_sizes(transform, 0))))
            return true;
    }
    return false;
}

/* ---- what resizes to ---- */

/* torchvision's RandomShortestSize, DETR's get_size_with_aspect_ratio, detectron2's ResizeShortestEdge. */
static void to_shortest(const mot_crop *crop, double n, const int32_t from[2], double to[2])
{
    const int longer = from[0] > from[1] ? 0 : 1;
    const double most = crop->longest, least_side = from[!longer], most_side = from[longer];
    if (crop->rounding == MOT_SIDES_TORCHVISION) {
        const double by_longest = most / most_side, by_shortest = n / least_side;
        const double scale = most > 0 && by_longest < by_shortest ? by_longest : by_shortest;
        to[0] = from[0] * scale, to[1] = from[1] * scale;
    } else if (crop->rounding == MOT_SIDES_DETR) {
        if (most > 0 && most_side / least_side * n > most)
            n = rint(most * least_side / most_side);
        to[!longer] = n;
        to[longer] = n * most_side / least_side;
    } else {
        const double scale = n / least_side;
        to[!longer] = n, to[longer] = scale * most_side;
        if (most > 0 && to[longer] > most) {
            const double again = most / to[longer];
            to[0] *= again, to[1] *= again;
        }
        to[0] += 0.5, to[1] += 0.5;
    }
}

/* torchvision's Resize with a max_size alone; detectron2's rounding. */
static void to_longest(const mot_crop *crop, const int32_t from[2], double to[2])
{
    const int longer = from[0] > from[1] ? 0 : 1;
    const double n = crop->longest, half = crop->rounding == MOT_SIDES_DETECTRON2 ? 0.5 : 0;
    to[longer] = n;
    to[!longer] = half > 0 ? n / from[longer] * from[!longer] + half : n * from[!longer] / from[longer];
}

/* torchvision's ScaleJitter, whose numbers are binary32, and detectron2's ResizeScale. */
static void to_fit(const mot_crop *crop, double unit, const int32_t from[2], double to[2])
{
    const double across = (double)crop->fit[0] / from[0], down = (double)crop->fit[1] / from[1];
    if (crop->rounding == MOT_SIDES_TORCHVISION) {
        const float scale = (float)crop->scale[0] + (float)unit * (float)(crop->scale[1] - crop->scale[0]);
        const float by = (float)(across < down ? across : down) * scale;
        to[0] = (double)((float)from[0] * by), to[1] = (double)((float)from[1] * by);
        return;
    }
    const double scale = crop->scale[0] + (crop->scale[1] - crop->scale[0]) * unit;
    const double x = crop->fit[0] * scale / from[0], y = crop->fit[1] * scale / from[1], by = x < y ? x : y;
    to[0] = rint(from[0] * by), to[1] = rint(from[1] * by);
}

void mot_ruled_sides(const mot_crop *crop, mot_words words, int32_t width, int32_t height, int32_t *to_width,
                     int32_t *to_height)
{
    const int32_t from[2] = { width, height };
    const double square = crop->square[mot_choose(words.w[0], (uint32_t)crop->squares)];
    double to[2] = { square, square };
    if (crop->rule == MOT_SIZE_SHORTEST)
        to_shortest(crop, crop->shortest[mot_choose(words.w[0], (uint32_t)crop->shortests)], from, to);
    else if (crop->rule == MOT_SIZE_LONGEST)
        to_longest(crop, from, to);
    else if (crop->rule == MOT_SIZE_FIT)
        to_fit(crop, mot_unit(words.w[0]), from, to);
    *to_width = to[0] < INT32_MAX ? (int32_t)to[0] : INT32_MAX;
    *to_height = to[1] < INT32_MAX ? (int32_t)to[1] : INT32_MAX;
}

int32_t mot_padded_side(const mot_window *window, int32_t side, int down)
{
    const int32_t size = down ? window->height : window->width;
    const int32_t multiple = window->multiple;
    if (multiple)
        return (int32_t)(((int64_t)side + multiple - 1) / multiple * multiple);
    return side > size ? side : size;
}

/* ---- of a transform ---- */

mot_sizes mot_sizes_of_place(const motley_place *place)
{
    return (mot_sizes){ place->crop.width, place->crop.height,  place->width,
                        place->height,     place->result_width, place->result_height };
}

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

motley_status mot_place_sizes_check(const motley_place *place, motley_error *error)
{
    const motley_place first = mot_first_place(place, 1, 1);
    const mot_sizes before = mot_sizes_of_place(&first), sizes = mot_sizes_of_place(place);
    MOT_TRY(mot_sizes_check(&before, error));
    return mot_sizes_check(&sizes, error);
}

motley_status mot_ways_check(const mot_transform *transform, int32_t width, int32_t height, motley_error *error)
{
    for (uint32_t way = 0; way < transform->facts.ways; way++) {
        const mot_sizes sizes = mot_result_size(transform, way, width, height);
        MOT_TRY(check_way(transform, way, &sizes, error));
    }
    return MOTLEY_OK;
}

motley_status mot_sample_sizes(const mot_transform *transform, const mot_drawn_sample *sample, mot_sizes *sizes,
                               motley_error *error)
{
    motley_place place;
    *sizes = mot_result_size(transform, 0, sample->width, sample->height);
    if (!transform->facts.draws_sizes)
        return mot_ways_check(transform, sample->width, sample->height, error);
    MOT_TRY(mot_transform_place(transform, sample, &place, error));
    *sizes = mot_sizes_of_place(&place);
    return mot_place_sizes_check(&place, error);
}

motley_status mot_sizes_check_any(const mot_transform *transform, uint32_t way, const int32_t from[2],
                                  motley_error *error)
{
    bool joined;
    const bool draws = mot_transform_draws_sizes(transform, &joined);
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
    mot_sizes sizes = { 0 };
    int32_t size[2] = { 0, 0 };
    motley_status status = draws ? MOTLEY_OK : MOTLEY_ERR_ARGUMENT;
    if (draws)
        mot_way_only_size(transform, way, size);
    sizes.width = size[0], sizes.height = size[1];
    for (int k = 0; k < 2 && status != MOTLEY_OK; k++) {
        const int32_t *const image = from ? from : tries[k];
        sizes = mot_result_size(transform, way, image[0], image[1]);
        status = check_way(transform, way, &sizes, error);
    }
    return status == MOTLEY_OK && mix ? mot_mix_check_sides(&mix->of.mix.params, sizes.width, sizes.height, error)
                                      : status;
}

/* motley_policy_result_sizes of the plain transform that a policy is in an epoch; NULL: its images keep their sizes. */
static motley_status find_sizes(const mot_transform *transform, const motley_samples *samples, size_t count,
                                const int32_t *widths, const int32_t *heights, int32_t *result_widths,
                                int32_t *result_heights, motley_error *error)
{
    const motley_samples none = { 0 };
    const bool by_boxes = transform && transform->info.takes_boxes & 2 && !transform->info.width;
    if (transform)
        MOT_TRY(mot_transform_check_single(transform, error));
    if (by_boxes)
        MOT_TRY(mot_boxes_check(transform, samples, count, false, error));
    for (size_t i = 0; i < count; i++) {
        MOT_TRY(mot_fail_in(error, mot_check_size(widths[i], heights[i], error), "image %zu: ", i));
        mot_sizes sizes = { .width = widths[i], .height = heights[i] };
        if (transform) {
            mot_drawn_sample sample = mot_sample_of(samples ? samples : &none, i, widths[i], heights[i], 1);
            if (by_boxes)
                mot_sample_give_boxes(&sample, samples, i);
            MOT_TRY(mot_fail_in(error, mot_sample_sizes(transform, &sample, &sizes, error), "image %zu: ", i));
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
    MOT_REQUIRE(samples || !transform || !(transform->schedule || transform->facts.draws_sizes), error,
                "samples is NULL, but the sizes of policy '%s' %s", transform ? transform->name : "",
                transform && transform->schedule ? "may change with the epoch, which they have"
                                                 : "depend on what each sample draws");
    if (samples)
        MOT_TRY(mot_samples_check(samples, count, error));
    motley_policy *plain;
    MOT_TRY(motley_policy_at(policy, samples ? samples->epoch : 0, &plain, error));
    const motley_status status =
        find_sizes(plain->staged, samples, count, widths, heights, result_widths, result_heights, error);
    motley_policy_destroy(plain);
    return status;
}
