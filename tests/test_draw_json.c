/* SPDX-License-Identifier: Apache-2.0 */
/* Draws as JSON. */
#include "tests/policies.h"

static char *json_of(const motley_policy *policy, const motley_step *steps, int count, int channels)
{
    motley_error error = { 0 };
    char *text;
    cr_assert_eq(motley_draw_json(policy, 18446744073709551615u, NULL, steps, count, channels, &text, &error),
                 MOTLEY_OK, "%s", error.message);
    return text;
}

Test(policy, draws_as_json)
{
    const char *const text = HEAD "branches: [two, {op: one, value: 3}, invert]\n";
    const motley_parse_params params = { .custom_ops = custom_pair, .custom_ops_count = 2 };
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_parse(text, strlen(text), &params, &policy, NULL), MOTLEY_OK);
    motley_step steps[] = {
        { .op = motley_op_find("invert") },
        { .op = motley_op_find("rotate"),
          .level = 7,
          .values = { -9 },
          .values_count = 1,
          .interpolation = 1,
          .fill = { 1, 2, 3, 4 } },
        { .op = motley_op_find("cutout"), .values = { 16, 0.1, 1e300 }, .values_count = 3, .fill = { 7 } },
        { .op = motley_op_count(), .values = { 2.5, 0.5, 0.25 }, .values_count = 3 },
        { .op = motley_op_count() + 1, .values = { 0, 0.5, 0.25 }, .values_count = 3 },
    };
    char *found = json_of(policy, steps, 5, 3);
    cr_expect_str_eq(found, "{ \"sample\": 18446744073709551615, \"steps\": [ "
                            "{ \"op\": \"invert\", \"level\": 0, \"applied\": true }, "
                            "{ \"op\": \"rotate\", \"level\": 7, \"value\": -9.0, \"interpolation\": \"bilinear\", "
                            "\"fill\": [ 1, 2, 3 ], \"applied\": true }, "
                            "{ \"op\": \"cutout\", \"level\": 0, \"value\": 16.0, "
                            "\"center\": [ 0.1, 1e+300 ], \"fill\": [ 7, 0, 0 ], \"applied\": true }, "
                            "{ \"op\": \"one\", \"level\": 0, \"value\": 2.5, \"random\": [ 0.5, 0.25 ], "
                            "\"applied\": true }, { \"op\": \"two\", \"level\": 0, "
                            "\"random\": [ 0.5, 0.25 ], \"applied\": true } ] }");
    free(found);
    found = json_of(policy, NULL, 0, 1);
    cr_expect_str_eq(found, "{ \"sample\": 18446744073709551615, \"steps\": [ ] }");
    free(found);
    steps[0].op = motley_op_count() + 2;
    cr_expect_eq(motley_draw_json(policy, 0, NULL, steps, 1, 3, &found, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(!found && strstr(error.message, "step 0: op is"), "%s", error.message);
    cr_expect_eq(motley_draw_json(policy, 0, NULL, steps + 1, 1, 5, &found, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "channels is 5"), "%s", error.message);
    cr_expect_eq(motley_draw_json(policy, 0, NULL, steps + 1, -1, 3, &found, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "count is -1"), "%s", error.message);
    motley_policy_destroy(policy);
}

/* Writes a step and reads it back, alone and as one of a transform's. */
static void expect_same(const motley_policy *policy, const motley_step *step, const char *name, int channels)
{
    const motley_place drawn = {
        .crop = { 0, 0, 9, 9 }, .width = 9, .height = 9, .result_width = 9, .result_height = 9
    };
    for (int staged = 0; staged < 2; staged++) {
        motley_step back;
        motley_place back_drawn;
        motley_error error = { 0 };
        int32_t count;
        uint64_t sample;
        char *text;
        if (staged)
            cr_assert_eq(motley_draw_json(policy, 1, &drawn, step, 1, channels, &text, &error), MOTLEY_OK, "%s",
                         error.message);
        else
            text = json_of(policy, step, 1, channels);
        const motley_status status =
            staged ? motley_draw_read(text, strlen(text), channels, &sample, &back_drawn, &back, 1, &count, &error)
                   : motley_draw_read(text, strlen(text), channels, &sample, NULL, &back, 1, &count, &error);
        cr_assert_eq(status, MOTLEY_OK, "%s: %s", text, error.message);
        cr_assert(count == 1 && back.op == step->op && back.level == step->level, "%s: %s", name, text);
        cr_assert_eq(back.values_count, step->values_count, "%s: %s", name, text);
        cr_assert_arr_eq(back.values, step->values, sizeof step->values, "%s: %s", name, text);
        cr_assert_eq(back.interpolation, step->interpolation, "%s: %s", name, text);
        cr_assert_arr_eq(back.fill, step->fill, sizeof step->fill, "%s: %s", name, text);
        cr_assert_arr_eq(back.inside, step->inside, sizeof step->inside, "%s: %s", name, text);
        free(text);
    }
}

Test(policy, a_place_in_two_comes_back_from_json)
{
    motley_policy *const policy = builtin("rand_augment");
    const motley_place drawn = {
        .crop = { -3, 1, 9, 8 },
        .width = 9,
        .height = 7,
        .filter = MOTLEY_FILTER_BICUBIC,
        .left = 2,
        .top = -1,
        .result_width = 5,
        .result_height = 6,
        .flip_vertical = 1,
        .flipped_first = 2,
        .beyond = 1,
        .overlap = MOTLEY_OVERLAP_CROPPED,
        .canvas_left = 3,
        .canvas_top = 4,
        .first = { { 0, -2, 30, 40 }, 12, 13, MOTLEY_FILTER_LANCZOS, 1, 2, 10, 11, 1, 0, 1, 1, 1 },
    };
    char *text, *again;
    motley_place back;
    motley_error error = { 0 };
    int32_t count;
    uint64_t sample;
    cr_assert_eq(motley_draw_json(policy, 1, &drawn, NULL, 0, 3, &text, &error), MOTLEY_OK, "%s", error.message);
    cr_assert_eq(motley_draw_read(text, strlen(text), 3, &sample, &back, NULL, 0, &count, &error), MOTLEY_OK, "%s: %s",
                 error.message, text);
    cr_assert_eq(motley_draw_json(policy, 1, &back, NULL, 0, 3, &again, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_str_eq(text, again);
    cr_expect(back.first.left == 1 && back.first.top == 2 && back.first.crop.height == 40 && back.first.torch_planes,
              "%s", text);
    cr_expect(back.crop.left == -3 && back.flipped_first == 2 && back.overlap == drawn.overlap && back.canvas_top == 4,
              "%s", text);
    free(text);
    cr_assert_gt(asprintf(&text, "{ \"first\": 7, %s", again + 2), 0);
    cr_expect_neq(motley_draw_read(text, strlen(text), 3, &sample, &back, NULL, 0, &count, &error), MOTLEY_OK);
    cr_expect(strstr(error.message, "\"first\" is"), "%s", error.message);
    free(again);
    free(text);
    motley_policy_destroy(policy);
}

Test(policy, every_op_comes_back_from_json_with_any_number_of_values)
{
    motley_policy *policy = builtin("rand_augment");
    int steps = 0;
    for (int op = 0; op < motley_op_count(); op++) {
        const motley_op_info *info = motley_op_get(op);
        const bool warps = info->shape == MOTLEY_SHAPE_WARP, fills = warps || info->shape == MOTLEY_SHAPE_ERASE;
        for (int n = info->values_min; n <= info->values_max; n++)
            for (int channels = 1; channels <= 4; channels++, steps++) {
                motley_step step = { .op = op, .level = 3, .values_count = n, .inside = { 1, 2, 3, 4 } };
                for (int i = 0; i < n; i++)
                    step.values[i] = info->example + 0.1 * i;
                for (int c = 0; fills && c < channels; c++)
                    step.fill[c] = (uint8_t)(200 + c);
                step.interpolation = warps ? MOTLEY_BICUBIC : MOTLEY_NEAREST;
                expect_same(policy, &step, info->name, channels);
            }
    }
    cr_expect_gt(steps, 4 * motley_op_count());
    for (int op = MOTLEY_STEP_MIX_SUM; op <= MOTLEY_STEP_MIX_ADD; op++)
        expect_same(policy, &(motley_step){ .op = op, .values = { 0.1 }, .values_count = 1 }, "mix", 3);
    motley_policy_destroy(policy);
}

/* A name of a file that is no text is written by halves of characters (Python's surrogateescape). */
Test(policy, draws_beside_names_that_are_no_text_are_read)
{
    static const char *const names[] = { "a\\udcff", "\\uD83D\\ude00", "\\\\ud800", "\\\\\\udc80", "\\ud8" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[120];
        motley_step step;
        motley_error error = { 0 };
        uint64_t sample;
        int32_t count;
        const int length = snprintf(text, sizeof text, "{\"image\": \"%s\", \"sample\": 3, \"steps\": []}", names[i]);
        const motley_status status = motley_draw_read(text, (size_t)length, 3, &sample, NULL, &step, 1, &count, &error);
        cr_expect_eq(status, i < 4 ? MOTLEY_OK : MOTLEY_ERR_POLICY, "%s: %s", text, error.message);
        cr_expect(i == 4 || sample == 3);
    }
}
