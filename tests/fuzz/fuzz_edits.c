/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes motley_policy_change: any changes of any built-in policy are refused with a sentence, or give a policy that
 * prints, reads back equal and draws. */
#include "motley.h"
#include "policies/builtin.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

enum { MOST_BRANCHES = 4, MOST_STEPS = 3, SAMPLES = 4 };

static double take_number(fuzz_input *in)
{
    static const double odd[] = { 0, 1, -1, 0.5, 30, 1e9, 1e12, 1e300, -0.0, HUGE_VAL, -HUGE_VAL, NAN };
    double value;
    const uint32_t which = fuzz_number(in, 16);
    if (which < sizeof odd / sizeof *odd)
        return odd[which];
    if (which == 15) {
        fuzz_take(in, &value, sizeof value);
        return value;
    }
    return (double)fuzz_number(in, 2000) / 100 - 5;
}

static const char *take_name(fuzz_input *in)
{
    static const char *const odd[] = { "", "none", "a b", "mine" };
    const uint32_t which = fuzz_number(in, (uint32_t)motley_op_count() + 4);
    return which < 4 ? odd[which] : motley_op_get((int)which - 4)->name;
}

static motley_level take_level(fuzz_input *in)
{
    const motley_level level = { (motley_level_kind)fuzz_number(in, 8), take_number(in), take_number(in) };
    return level;
}

static void check(const motley_policy *policy)
{
    const int32_t sides[SAMPLES] = { 1, 32, 224, 1048576 };
    int32_t counts[SAMPLES];
    char *text;
    motley_policy *back;
    double boxes[2 * SAMPLES][4];
    size_t offsets[SAMPLES + 1];
    const float levels[SAMPLES] = { -1, 0.3f, 1, NAN };
    const motley_samples samples = { .seed = 3, .boxes = boxes[0], .box_offsets = offsets, .levels = levels };
    fuzz_boxes(sides, SAMPLES, boxes, offsets);
    const motley_policy_info *const info = motley_policy_describe(policy);
    const size_t most = info->max_steps * (info->takes_boxes ? 2 : 1);
    motley_step *steps = malloc((most ? most : 1) * SAMPLES * sizeof *steps);
    MUST(steps && motley_policy_print(policy, MOTLEY_PRINT_TEXT, &text, NULL) == MOTLEY_OK);
    MUST(motley_policy_parse(text, strlen(text), NULL, &back, NULL) == MOTLEY_OK);
    MUST(motley_policy_equal(policy, back));
    MUST(motley_draw(policy, &samples, SAMPLES, sides, sides, 3, NULL, steps, counts, NULL) == MOTLEY_OK);
    for (int i = 0; i < SAMPLES; i++)
        MUST(counts[i] >= 0 && (size_t)counts[i] <= most);
    free(text);
    free(steps);
    motley_policy_destroy(back);
}

/* The i-th built-in policy, parsed once: parsing takes longer than the changes. */
static const motley_policy *built_in(uint32_t i)
{
    static motley_policy *parsed[256];
    MUST(i < sizeof parsed / sizeof *parsed);
    if (!parsed[i])
        MUST(motley_policy_builtin(mot_builtins[i].name, &parsed[i], NULL) == MOTLEY_OK);
    return parsed[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = { data, size };
    motley_policy *changed = NULL;
    motley_error error = { 0 };
    const motley_policy *base = built_in(fuzz_number(&in, (uint32_t)mot_builtin_count));
    motley_policy_changes changes = { 0 };
    motley_policy_branch branches[MOST_BRANCHES];
    motley_policy_step steps[MOST_BRANCHES][MOST_STEPS];
    motley_policy_range ranges[2];
    const uint32_t which = fuzz_number(&in, 1 << 11);
    if (which & 1)
        changes.repeat = (int)fuzz_number(&in, 24) - 4;
    if (which & 2)
        changes.set_level = 1, changes.level = take_number(&in);
    if (which & 4)
        changes.bins = (int)fuzz_number(&in, 2000) - 10;
    if (which & 8)
        changes.interpolations = (int)fuzz_number(&in, 16);
    if (which & 16)
        changes.set_fill = 1, fuzz_take(&in, changes.fill, 4);
    if (which & 32)
        changes.name = take_name(&in), changes.title = take_name(&in);
    if (which & 64)
        changes.top = take_number(&in);
    if (which & 128)
        changes.set_p = 1, changes.p = take_number(&in);
    if (which & 256)
        changes.levels = take_level(&in);
    if (which & 512) {
        for (changes.ranges_count = 0; changes.ranges_count < 2; changes.ranges_count++)
            ranges[changes.ranges_count] =
                (motley_policy_range){ take_name(&in),   take_number(&in), take_number(&in),
                                       take_number(&in), take_number(&in), take_number(&in) };
        changes.ranges = ranges;
    }
    if (which & 1024) {
        changes.branches_count = fuzz_number(&in, MOST_BRANCHES + 1);
        for (size_t b = 0; b < changes.branches_count; b++) {
            branches[b] = (motley_policy_branch){ fuzz_number(&in, 3), take_number(&in),
                                                  fuzz_number(&in, MOST_STEPS + 1), steps[b] };
            for (size_t s = 0; s < MOST_STEPS; s++)
                steps[b][s] = (motley_policy_step){ take_name(&in), take_number(&in), take_level(&in) };
        }
        changes.branches = branches;
    }
    const motley_status status = motley_policy_change(base, &changes, &changed, &error);
    MUST((status == MOTLEY_OK) == (changed != NULL));
    MUST(status == MOTLEY_OK || (error.status == status && *error.message));
    if (changed)
        check(changed);
    motley_policy_destroy(changed);
    return 0;
}
