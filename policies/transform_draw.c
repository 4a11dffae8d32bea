/* SPDX-License-Identifier: Apache-2.0 */
/* What each image of a transform draws: its stages in order, as a place and steps. */
#include "base/error.h"
#include "base/values.h"
#include "policies/overlap_draw.h"
#include "policies/stage_keys.h"

#include <inttypes.h>
#include <string.h>

/* DETR's RandomSizeCrop: sides first, then where. A side that is shorter than the least is taken whole. */
static void draw_size_crop(const mot_stage *stage, mot_words words, motley_place *own)
{
    const int32_t least = stage->of.size_crop.sides[0], most = stage->of.size_crop.sides[1];
    const int32_t from[2] = { own->width, own->height };
    int32_t at[2], size[2];
    for (int k = 0; k < 2; k++) {
        const int32_t high = from[k] < most ? from[k] : most, low = least < high ? least : high;
        size[k] = low + (int32_t)mot_choose(words.w[k], (uint32_t)(high - low) + 1);
        at[k] = (int32_t)mot_choose(words.w[3 - k], (uint32_t)(from[k] - size[k]) + 1);
    }
    own->left = at[0], own->top = at[1];
    own->result_width = size[0], own->result_height = size[1];
}

/* The FixedSizeCrop of torchvision's references and of detectron2: one number for both axes; what lacks is added on the
 * right and below. */
static void draw_fixed_crop(const mot_window *window, mot_words words, motley_place *own)
{
    const double unit = mot_unit(words.w[0]);
    const int32_t more[2] = { own->width - window->width, own->height - window->height };
    int32_t at[2];
    for (int k = 0; k < 2; k++) {
        const int32_t over = more[k] > 0 ? more[k] : 0;
        at[k] = window->rounding == MOT_SIDES_DETECTRON2 ? (int32_t)rint(over * unit)
                                                         : (int32_t)((float)over * (float)unit);
    }
    own->left = at[0], own->top = at[1];
    own->result_width = window->width, own->result_height = window->height;
}

static void pad(const mot_window *window, motley_place *own)
{
    own->result_width = mot_padded_side(window, own->width, 0);
    own->result_height = mot_padded_side(window, own->height, 1);
    own->left = window->at ? -((own->result_width - own->width) / 2) : 0;
    own->top = window->at ? -((own->result_height - own->height) / 2) : 0;
}

/* What a stage does by itself to an image of the sample's size, all of which `own` is. */
static void draw_place(const mot_stage *stage, const mot_drawn_sample *sample, uint32_t block, motley_place *own)
{
    const mot_words words = mot_words_of(sample, block);
    if (stage->kind == MOT_STAGE_SIZE_CROP) {
        draw_size_crop(stage, words, own);
    } else if (stage->kind == MOT_STAGE_FIXED_CROP) {
        draw_fixed_crop(&stage->of.window, words, own);
    } else if (stage->kind == MOT_STAGE_PAD) {
        pad(&stage->of.window, own);
    } else {
        mot_draw_own_place(stage, sample, block, own);
        if (stage->kind == MOT_STAGE_RESIZE && stage->of.crop.rule != MOT_SIZE_GIVEN) {
            mot_ruled_sides(&stage->of.crop, words, sample->width, sample->height, &own->width, &own->height);
            own->result_width = own->width, own->result_height = own->height;
        }
    }
}

static bool is_side(int32_t side)
{
    return side >= 1 && side <= MOT_MAX_SIDE;
}

/* Requires sides that can be, and an image that is large enough for what is cropped of it. */
static motley_status check_drawn(const mot_stage *stage, const motley_place *own, int32_t width, int32_t height,
                                 motley_error *error)
{
    const char *const name = mot_stage_forms[stage->kind].name;
    const int64_t around = 2 * (int64_t)stage->of.crop.padding;
    MOT_REQUIRE(
        is_side(own->width) && is_side(own->height) && is_side(own->result_width) && is_side(own->result_height), error,
        "'%s' makes %" PRId32 "x%" PRId32 " of %" PRId32 "x%" PRId32 ", want 1 to %d each way", name,
        own->width != width || own->height != height ? own->width : own->result_width,
        own->width != width || own->height != height ? own->height : own->result_height, width, height, MOT_MAX_SIDE);
    MOT_REQUIRE(stage->kind != MOT_STAGE_RANDOM_CROP ||
                    (width + around >= own->result_width && height + around >= own->result_height),
                error,
                "%" PRId32 "x%" PRId32 " with a padding of %" PRId32 " is smaller than the random_crop of %" PRId32
                "x%" PRId32,
                width, height, stage->of.crop.padding, own->result_width, own->result_height);
    return MOTLEY_OK;
}

/* Makes `drawn` do what a stage does, too: in one place, or, as the image is resized already, in a second one. */
static motley_status add_place(const mot_stage *stage, const motley_place *own, const mot_drawn_sample *sample,
                               motley_place *drawn, motley_error *error)
{
    const motley_place first = mot_first_place(drawn, sample->width, sample->height);
    if (mot_add_place(stage, own, first.result_width, first.result_height, drawn))
        return MOTLEY_OK;
    MOT_REQUIRE(drawn->first.width == 0, error, "'%s' cannot follow the stages before it",
                mot_stage_forms[stage->kind].name);
    *drawn = mot_place_again(drawn);
    MOT_REQUIRE(mot_add_place(stage, own, drawn->result_width, drawn->result_height, drawn), error,
                "'%s' cannot follow the stages before it", mot_stage_forms[stage->kind].name);
    return MOTLEY_OK;
}

static void draw_overlap(const mot_stage *stage, const mot_drawn_sample *sample, uint32_t block,
                         const motley_place *before, motley_place *own)
{
    mot_search search;
    mot_rectangle crop;
    uint32_t turn = 0;
    if (!mot_begin_search(&stage->of.overlap, sample, block, before, &search))
        return;
    while (turn < MOT_OVERLAP_ALL && !mot_search_try(&search, turn, &crop))
        turn++;
    mot_put_overlap(turn < MOT_OVERLAP_ALL ? &crop : NULL, own);
}

motley_status mot_transform_place(const mot_transform *transform, const mot_drawn_sample *sample, motley_place *drawn,
                                  motley_error *error)
{
    memset(drawn, 0, sizeof *drawn);
    mot_draw_whole(sample, drawn);
    for (uint32_t s = 0; s < transform->stages; s++) {
        const mot_stage *const stage = &transform->stage[s];
        const uint32_t block = transform->fact[s].block;
        const int32_t width = drawn->result_width, height = drawn->result_height;
        mot_drawn_sample here = *sample;
        motley_place own = { .filter = drawn->filter };
        if (!mot_stage_runs(stage, sample))
            continue;
        if (stage->kind == MOT_STAGE_ERASE)
            mot_draw_place(stage, sample, block, width, height, drawn);
        if (!mot_stage_places(stage->kind))
            continue;
        here.width = width, here.height = height;
        mot_draw_whole(&here, &own);
        draw_place(stage, &here, block, &own);
        if (stage->kind == MOT_STAGE_IOU_CROP)
            draw_overlap(stage, sample, block, drawn, &own);
        MOT_TRY(check_drawn(stage, &own, width, height, error));
        MOT_TRY(add_place(stage, &own, sample, drawn, error));
    }
    return MOTLEY_OK;
}

int mot_transform_steps(const mot_transform *transform, uint32_t s, const mot_drawn_sample *sample, int32_t width,
                        int32_t height, mot_step *steps)
{
    const mot_stage *const stage = &transform->stage[s];
    const mot_stage_facts *const fact = &transform->fact[s];
    const int begin = fact->begins;
    if (stage->steps == 0 || !mot_stage_runs(stage, sample))
        return 0;
    if (begin)
        mot_augmix_step(MOTLEY_STEP_MIX_BEGIN, 0, steps);
    const int count = begin + mot_draw_steps(stage, stage->policy ? &stage->policy->tables : NULL, sample, fact->block,
                                             width, height, steps + begin);
    for (int k = 0; fact->first_custom > 0 && k < count; k++)
        steps[k].op += steps[k].op >= MOT_OP_COUNT ? fact->first_custom : 0;
    return count;
}

int mot_transform_draw(const mot_transform *transform, const mot_drawn_sample *sample, motley_place *drawn,
                       mot_step *steps)
{
    mot_transform_place(transform, sample, drawn, NULL); /* which was checked */
    return mot_transform_draw_steps(transform, sample, drawn, steps);
}

int mot_transform_draw_steps(const mot_transform *transform, const mot_drawn_sample *sample, motley_place *drawn,
                             mot_step *steps)
{
    int count = 0;
    for (uint32_t s = 0; s < transform->stages; s++) {
        count += mot_transform_steps(transform, s, sample, drawn->result_width, drawn->result_height, &steps[count]);
        if (transform->fact[s].before) /* those stages are the first that draw steps */
            drawn->before = (uint8_t)count;
    }
    return count;
}
