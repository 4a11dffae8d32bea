/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a policy as canonical text: keys in a fixed order, defaults left out, numbers with the fewest digits that
 * round-trip. */
#include "policies/print.h"
#include "base/error.h"
#include "base/text.h"
#include "policies/head.h"
#include "policies/transform.h"
#include "policies/yaml.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void mot_print_level(mot_text *w, const mot_level *level)
{
    switch (level->kind) {
    case MOT_LEVEL_NONE:
        break;
    case MOT_LEVEL_FIXED:
        mot_say_number(w, "level: ", level->a);
        break;
    case MOT_LEVEL_UNIFORM:
        mot_say(w, "level: uniform");
        break;
    case MOT_LEVEL_RANGE:
    case MOT_LEVEL_GIVEN:
        if (level->kind == MOT_LEVEL_GIVEN && level->b == 0) {
            mot_say(w, "level: given");
            break;
        }
        mot_say_number(w, level->kind == MOT_LEVEL_GIVEN ? "level: {given: [" : "level: {uniform: [", level->a);
        mot_say_number(w, ", ", level->b);
        mot_say(w, "]}");
        break;
    case MOT_LEVEL_NORMAL:
        mot_say_number(w, "level: {normal: ", level->a);
        mot_say_number(w, ", std: ", level->b);
        mot_say(w, "}");
        break;
    case MOT_LEVEL_VALUE:
        mot_say_number(w, "value: ", level->a);
        break;
    }
}

static void print_fill(mot_text *w, uint32_t fills, const uint8_t *fill)
{
    for (uint32_t i = 0; i < fills; i++)
        mot_say(w, "%s%d", i ? ", " : fills > 1 ? "[" : "", fill[i]);
    mot_say(w, fills > 1 ? "]" : "");
}

void mot_print_repeat(mot_text *w, const motley_policy *policy)
{
    for (uint32_t i = 0; i < policy->repeat_weights; i++)
        mot_say_number(w, i ? ", " : "repeat: {weights: [", policy->repeat_weight[i]);
    if (policy->repeat_weights)
        mot_say(w, "]}");
    else if (policy->repeat_given)
        mot_say(w, "repeat: {given: [%u, %u]}", policy->repeat + 1 - policy->repeat_given, policy->repeat);
    else
        mot_say(w, "repeat: %u", policy->repeat);
}

static void print_head(mot_text *w, const motley_policy *policy)
{
    mot_head_print(w, MOT_HEAD_OF(policy));
    if (policy->arithmetic != MOT_ARITHMETIC_DOUBLE)
        mot_say(w, "arithmetic: %s\n", mot_arithmetic_names[policy->arithmetic]);
    mot_say(w, policy->interpolations > 1 ? "interpolation: [" : "interpolation: ");
    for (uint32_t i = 0; i < policy->interpolations; i++)
        mot_say(w, "%s%s", i ? ", " : "", mot_interpolation_names[policy->interpolation[i]]);
    mot_say(w, policy->interpolations > 1 ? "]\nfill: " : "\nfill: ");
    print_fill(w, policy->fills, policy->fill);
    mot_say(w, "\n");
    if (policy->chance < 1) {
        mot_say_number(w, "p: ", policy->chance);
        mot_say(w, "\n");
    }
    mot_print_repeat(w, policy);
    mot_say(w, "\n");
    if (policy->choice != MOT_WITH_REPLACEMENT)
        mot_say(w, "choice: %s\n", mot_choice_names[policy->choice]);
    if (policy->augmix.width) {
        mot_say(w, "augmix: {width: %d", policy->augmix.width);
        mot_say_number(w, ", alpha: ", policy->augmix.alpha);
        if (policy->augmix.form != MOT_AUGMIX_SUM)
            mot_say(w, ", form: %s", mot_augmix_form_names[policy->augmix.form]);
        mot_say(w, "}\n");
    }
    if (policy->top_bins)
        mot_say(w, "bins: %d\n", policy->top_bins);
    else if (policy->top > 0) {
        mot_say_number(w, "top: ", policy->top);
        mot_say(w, "\n");
    }
    if (policy->level.kind != MOT_LEVEL_NONE) {
        mot_print_level(w, &policy->level);
        mot_say(w, "\n");
    }
}

static void print_space(mot_text *w, const motley_policy *policy, const mot_space *space)
{
    const char *op = motley_policy_op(policy, space->op)->name;
    const bool renamed = strcmp(op, space->name) != 0;
    mot_say(w, "  %s: {", space->name);
    if (renamed)
        mot_say(w, "op: %s%s", op, space->has_levels || space->fills || space->in_boxes ? ", " : "");
    if (space->has_levels) {
        const double high = space->low + space->span;
        const bool exact = high - space->low == space->span && fabs(high) <= 1e9;
        mot_say_number(w, exact ? "range: [" : "low: ", space->low);
        mot_say_number(w, exact ? ", " : ", span: ", exact ? high : space->span);
        if (exact)
            mot_say(w, "]");
        if (space->base != 0)
            mot_say_number(w, ", base: ", space->base);
        if (space->sign != MOT_SIGN_PLUS)
            mot_say(w, ", sign: %s", mot_sign_names[space->sign]);
        if (space->side != MOT_SIDE_NONE)
            mot_say(w, ", of: %s", mot_side_names[space->side]);
        if (space->rounding != MOT_ROUND_NONE)
            mot_say(w, ", round: %s", mot_rounding_names[space->rounding]);
        if (space->minimum != -HUGE_VAL)
            mot_say_number(w, ", min: ", space->minimum);
        if (space->maximum != HUGE_VAL)
            mot_say_number(w, ", max: ", space->maximum);
        if (space->via_degrees)
            mot_say(w, ", via: degrees");
    }
    if (space->fills) {
        mot_say(w, space->has_levels ? ", fill: " : "fill: ");
        print_fill(w, space->fills, space->fill);
    }
    if (space->in_boxes)
        mot_say(w, space->has_levels || space->fills ? ", inside: boxes" : "inside: boxes");
    mot_say(w, "}\n");
}

static void print_step(mot_text *w, const motley_policy *policy, const mot_policy_step *step)
{
    const mot_space *space = &policy->space[step->space];
    const bool level =
        step->level.kind == MOT_LEVEL_VALUE || (space->has_levels && !mot_same_level(&step->level, &policy->level));
    if (!level && step->probability == 1) {
        mot_say(w, "%s", space->name);
        return;
    }
    mot_say(w, "{op: %s", space->name);
    if (step->probability != 1)
        mot_say_number(w, ", p: ", step->probability);
    if (level) {
        mot_say(w, ", ");
        mot_print_level(w, &step->level);
    }
    mot_say(w, "}");
}

static void print_branches(mot_text *w, const motley_policy *policy, const mot_policy_phase *phase, const char *indent)
{
    for (uint32_t i = 0; i < phase->branches; i++) {
        const mot_policy_branch *branch = &policy->branch[phase->first_branch + i];
        mot_say(w, "%s  - ", indent);
        if (branch->weight != 1) {
            mot_say_number(w, "{weight: ", branch->weight);
            mot_say(w, ", steps: ");
        }
        if (branch->steps > 1)
            mot_say(w, "[");
        for (uint32_t s = 0; s < branch->steps; s++) {
            mot_say(w, "%s", s ? ", " : "");
            print_step(w, policy, &policy->step[branch->first_step + s]);
        }
        mot_say(w, "%s%s\n", branch->steps > 1 ? "]" : "", branch->weight != 1 ? "}" : "");
    }
}

motley_status mot_policy_print_text(const motley_policy *policy, char **text, motley_error *error)
{
    MOT_REQUIRE(text, error, "text is NULL, want a place for the result");
    *text = NULL;
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    if (policy->staged)
        return mot_transform_print(policy->staged, text, error);
    mot_text w = { 0 };
    print_head(&w, policy);
    mot_say(&w, "ops:\n");
    for (uint32_t i = 0; i < policy->spaces; i++)
        print_space(&w, policy, &policy->space[i]);
    if (policy->phases > 1)
        mot_say(&w, "phases:\n");
    for (uint32_t i = 0; i < policy->phases; i++) {
        if (policy->phases > 1)
            mot_say(&w, "  - from: %u\n    branches:\n", policy->phase[i].first_epoch);
        else
            mot_say(&w, "branches:\n");
        print_branches(&w, policy, &policy->phase[i], policy->phases > 1 ? "    " : "");
    }
    if (w.failed) {
        free(w.text);
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the text of policy '%s'", policy->name);
    }
    *text = w.text;
    return MOTLEY_OK;
}

static motley_status print_json(const motley_policy *policy, char **json, motley_error *error)
{
    MOT_TRY(mot_policy_print_text(policy, json, error));
    return mot_yaml_to_json(json, motley_policy_describe(policy)->name, error);
}

motley_status motley_policy_print(const motley_policy *policy, motley_print_format format, char **text,
                                  motley_error *error)
{
    MOT_REQUIRE(text, error, "text is NULL, want a place for the result");
    *text = NULL;
    switch (format) {
    case MOTLEY_PRINT_TEXT:
        return mot_policy_print_text(policy, text, error);
    case MOTLEY_PRINT_JSON:
        return print_json(policy, text, error);
    case MOTLEY_PRINT_VALUES:
        return mot_policy_print_values(policy, text, error);
    }
    return mot_fail(error, MOTLEY_ERR_ARGUMENT, "format is %d, want one of motley_print_format", (int)format);
}
