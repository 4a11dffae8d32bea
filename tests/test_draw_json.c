/* SPDX-License-Identifier: Apache-2.0 */
/* Draws as JSON. */
#include "tests/policies.h"

static char *json_of(const motley_policy *policy, const motley_step *steps, int count, int channels)
{
    motley_error error = { 0 };
    char *text;
    cr_assert_eq(motley_draw_json(policy, 18446744073709551615u, steps, count, channels, &text, &error), MOTLEY_OK,
                 "%s", error.message);
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
    cr_expect_eq(motley_draw_json(policy, 0, steps, 1, 3, &found, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(!found && strstr(error.message, "step 0: op is"), "%s", error.message);
    cr_expect_eq(motley_draw_json(policy, 0, steps + 1, 1, 5, &found, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "channels is 5"), "%s", error.message);
    motley_policy_destroy(policy);
}
