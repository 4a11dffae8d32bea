/* SPDX-License-Identifier: Apache-2.0 */
/* What each image of a transform draws: its stages in order, as rectangles and steps. */
#include "policies/transform_draw.h"

#include "augmentations/jitter.h"
#include "base/error.h"

#include <string.h>

/* Writes a step of the table with one value (NAN: none); returns how many were written. */
static int put_op(mot_step *step, int op, double value)
{
    const int values = !isnan(value);
    memset(step, 0, sizeof *step);
    step->op = op;
    step->value = values ? value : 0;
    mot_op_prepare(op, &value, values, &step->arg);
    return 1;
}

static int put_hue(mot_step *step, double shift)
{
    memset(step, 0, sizeof *step);
    step->op = MOTLEY_STEP_HUE;
    step->value = shift;
    return 1;
}

static int draw_jitter(const mot_stage *stage, const mot_drawn_sample *of, uint32_t block, mot_step *steps)
{
    static const int ops[MOT_HUE] = MOT_JITTER_OPS;
    if (!mot_coin(mot_words_of(of, block).w[0], stage->p))
        return 0;
    uint8_t order[MOT_JITTERS];
    mot_draw_order(mot_words_of(of, block + 1), MOT_JITTERS, order);
    const mot_words factors = mot_words_of(of, block + 2);
    int n = 0;
    for (int i = 0; i < MOT_JITTERS; i++) {
        const int which = order[i];
        const double *range = stage->range[which], neutral = which == MOT_HUE ? 0 : 1;
        if (!stage->given[which] || (range[0] == neutral && range[1] == neutral))
            continue;
        const float factor = mot_draw_factor(factors.w[which], range[0], range[1]);
        n += which == MOT_HUE ? put_hue(&steps[n], factor) : put_op(&steps[n], ops[which], factor);
    }
    return n;
}

static void draw_erase(const mot_stage *stage, const mot_drawn_sample *of, uint32_t block, int width, int height,
                       motley_transform_drawn *drawn)
{
    const mot_words first = mot_words_of(of, block), noise = mot_words_of(of, block + 1);
    if (!mot_coin(first.w[0], stage->p))
        return;
    const int count = stage->boxes[0] + (int)mot_choose(first.w[1], (uint32_t)(stage->boxes[1] - stage->boxes[0] + 1));
    drawn->noise = (uint64_t)noise.w[1] << 32 | noise.w[0];
    for (int b = 0; b < count; b++) {
        mot_rectangle box;
        if (mot_draw_box(of, block + 2 + 16 * (uint32_t)b, width, height, count, stage->area, stage->ratios, &box))
            drawn->boxes[drawn->boxes_count++] = (motley_erased_box){ box.left, box.top, box.width, box.height };
    }
}

static int32_t half_to_even(int32_t twice)
{
    return (int32_t)rint(twice / 2.0);
}

int mot_transform_draw(const motley_transform *transform, const mot_drawn_sample *of, motley_transform_drawn *drawn,
                       mot_step *steps)
{
    uint32_t seen[MOT_STAGE_KINDS] = { 0 };
    int n = 0;
    memset(drawn, 0, sizeof *drawn);
    drawn->crop = (motley_crop){ 0, 0, of->width, of->height };
    int32_t width = drawn->width = of->width, height = drawn->height = of->height; /* of the image so far */
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *stage = &transform->stage[i];
        const uint32_t ordinal = seen[stage->kind]++, block = MOT_STAGE_BLOCK(stage->kind, ordinal);
        switch (stage->kind) {
        case MOT_STAGE_RANDOM_RESIZED_CROP: {
            const mot_rectangle crop = mot_draw_crop(of, block, stage->area, stage->ratio, stage->ratios);
            drawn->crop = (motley_crop){ crop.left, crop.top, crop.width, crop.height };
            drawn->filter = stage->filter[mot_choose(mot_words_of(of, block + 16).w[0], (uint32_t)stage->filters)];
            width = drawn->width = stage->width;
            height = drawn->height = stage->height;
            break;
        }
        case MOT_STAGE_RESIZE:
            mot_resized_sides(stage, of->width, of->height, &drawn->width, &drawn->height);
            drawn->filter = stage->filter[0];
            width = drawn->width;
            height = drawn->height;
            break;
        case MOT_STAGE_CENTER_CROP: {
            /* torchvision: an image that is too small is padded first, the larger half on the right and below; then the
             * rest is halved, to even */
            const int32_t pad_left = width < stage->width ? (stage->width - width) / 2 : 0;
            const int32_t pad_top = height < stage->height ? (stage->height - height) / 2 : 0;
            drawn->left = width < stage->width ? -pad_left : half_to_even(width - stage->width);
            drawn->top = height < stage->height ? -pad_top : half_to_even(height - stage->height);
            width = stage->width;
            height = stage->height;
            break;
        }
        case MOT_STAGE_RANDOM_CROP: {
            const mot_words words = mot_words_of(of, block);
            const int32_t spare_x = width + 2 * stage->padding - stage->width;
            const int32_t spare_y = height + 2 * stage->padding - stage->height;
            drawn->top = (int32_t)mot_choose(words.w[0], (uint32_t)(spare_y < 0 ? 0 : spare_y) + 1) - stage->padding;
            drawn->left = (int32_t)mot_choose(words.w[1], (uint32_t)(spare_x < 0 ? 0 : spare_x) + 1) - stage->padding;
            width = stage->width;
            height = stage->height;
            break;
        }
        case MOT_STAGE_FLIP: {
            const mot_words words = mot_words_of(of, block);
            drawn->flip_horizontal = (uint8_t)mot_coin(words.w[0], stage->p);
            drawn->flip_vertical = (uint8_t)mot_coin(words.w[1], stage->vertical);
            break;
        }
        case MOT_STAGE_POLICY: {
            mot_drawn_sample inside = *of;
            inside.width = width;
            inside.height = height;
            n += mot_draw_sample(&stage->policy->tables, &inside, &steps[n]);
            break;
        }
        case MOT_STAGE_JITTER:
            n += draw_jitter(stage, of, block, &steps[n]);
            break;
        case MOT_STAGE_GRAYSCALE:
            if (mot_coin(mot_words_of(of, block).w[0], stage->p))
                n += put_op(&steps[n], MOT_GRAYSCALE_STAGE_OP, NAN);
            break;
        case MOT_STAGE_BLUR: {
            const mot_words words = mot_words_of(of, block);
            if (mot_coin(words.w[0], stage->p))
                n += put_op(&steps[n], MOT_BLUR_STAGE_OP,
                            mot_draw_factor(words.w[1], stage->radius[0], stage->radius[1]));
            break;
        }
        case MOT_STAGE_ERASE:
            draw_erase(stage, of, block, width, height, drawn);
            break;
        default:
            break;
        }
    }
    return n;
}

motley_step mot_transform_step_told(const mot_step *step)
{
    if (step->op >= 0)
        return mot_step_told(motley_op_get(step->op), step);
    motley_step out = { .op = step->op, .values_count = 1 };
    out.values[0] = step->value;
    return out;
}

motley_status motley_transform_draw(const motley_transform *transform, const motley_samples *samples, size_t count,
                                    const int32_t *widths, const int32_t *heights, int32_t channels,
                                    motley_transform_drawn *drawn, motley_step *steps, int32_t *step_counts,
                                    motley_error *error)
{
    MOT_REQUIRE(transform, error, "transform is NULL, want one that was loaded");
    MOT_REQUIRE(samples, error, "samples is NULL, want a seed and sample ids");
    MOT_TRY(mot_samples_check(samples, count, error));
    MOT_REQUIRE(channels >= 1 && channels <= 4, error, "channels is %d, want 1 to 4", channels);
    MOT_REQUIRE(count == 0 || (widths && heights && drawn && step_counts && (steps || !transform->max_steps)), error,
                "%s is NULL, want an array of %zu samples",
                !widths    ? "widths"
                : !heights ? "heights"
                : !drawn   ? "drawn"
                : !steps   ? "steps"
                           : "step_counts",
                count);
    for (size_t i = 0; i < count; i++)
        MOT_REQUIRE(widths[i] >= 1 && heights[i] >= 1 && widths[i] <= 1048576 && heights[i] <= 1048576, error,
                    "sample %zu: the size is %d x %d, want 1 to 1048576 each way", i, widths[i], heights[i]);
    for (uint32_t i = 0; i < transform->stages; i++)
        MOT_REQUIRE(!transform->stage[i].policy || !transform->stage[i].policy->customs, error,
                    "transform '%s' is a policy with custom ops, want it drawn by motley_draw", transform->name);
    for (size_t i = 0; i < count; i++) {
        mot_step own[MOT_MAX_TRANSFORM_STEPS];
        const mot_drawn_sample of = mot_sample_of(samples, i, widths[i], heights[i], channels);
        step_counts[i] = mot_transform_draw(transform, &of, &drawn[i], own);
        for (int s = 0; s < step_counts[i]; s++)
            steps[i * transform->max_steps + (size_t)s] = mot_transform_step_told(&own[s]);
    }
    return MOTLEY_OK;
}
