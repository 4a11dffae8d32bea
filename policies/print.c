/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a policy or a transform as canonical text: keys in a fixed order, defaults left out, numbers with the fewest
 * digits that round-trip; or the same as JSON. */
#include "policies/print.h"

#include "base/error.h"
#include "base/text.h"
#include "policies/custom.h"
#include "policies/head.h"
#include "policies/stage_keys.h"
#include "policies/transform.h"
#include "policies/yaml.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void print_space(mot_text *w, const motley_policy *policy, const mot_space *space)
{
    const char *op = motley_policy_op(policy, space->op)->name;
    const bool renamed = strcmp(op, space->name) != 0;
    mot_say(w, "  %s: {", space->name);
    if (renamed)
        mot_say(w, "op: %s", op);
    if (space->has_levels) {
        const double high = space->low + space->span;
        const bool exact = high - space->low == space->span && fabs(high) <= 1e9;
        mot_say_number(w, exact ? renamed ? ", range: [" : "range: [" : renamed ? ", low: " : "low: ", space->low);
        mot_say_number(w, exact ? ", " : ", span: ", exact ? high : space->span);
        mot_say(w, exact ? "]" : "");
    }
    mot_keys_print(w, &mot_space_keys, space, 0, renamed || space->has_levels ? ", " : "", ", ");
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
        mot_say(w, step->level.kind == MOT_LEVEL_VALUE ? ", value: " : ", level: ");
        mot_level_print(w, &step->level);
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

/* ---- transforms ---- */

static void print_name(mot_text *w, const char *name)
{
    if (mot_is_name(name, strlen(name)))
        mot_say(w, "%s", name);
    else /* one of timm's strings */
        mot_say_quoted(w, name);
}

/* Prints a built-in policy's name and what is changed of it. */
static void print_named(mot_text *w, const mot_stage *stage, int indent)
{
    mot_text changes = { 0 };
    const bool changed =
        mot_keys_print(&changes, &mot_stage_forms[stage->kind].keys, &stage->of, stage->given, ", ", ", ");
    mot_say(w, changed ? "%*s- policy: {name: " : "%*s- policy: ", indent, "");
    print_name(w, stage->name);
    if (changed && !changes.failed)
        mot_put(w, changes.text, changes.used);
    mot_say(w, changed ? "}\n" : "\n");
    w->failed |= changes.failed;
    free(changes.text);
}

/* Prints the text of a policy that is written out, indented. */
static motley_status print_policy(mot_text *w, const mot_stage *stage, int indent, motley_error *error)
{
    char *text;
    MOT_TRY(mot_policy_print_text(stage->policy, &text, error));
    mot_say(w, "%*s- policy:\n", indent, "");
    for (const char *line = strchr(text, '\n') + 1; *line;) { /* every line but the format's version */
        const size_t length = strcspn(line, "\n") + 1;
        mot_say(w, "%*s", indent + 4, "");
        mot_put(w, line, length);
        line += length;
    }
    free(text);
    return MOTLEY_OK;
}

static motley_status print_stage(mot_text *w, const mot_stage *stage, int indent, motley_error *error)
{
    if (stage->name) {
        print_named(w, stage, indent);
    } else if (stage->kind == MOT_STAGE_POLICY) {
        MOT_TRY(print_policy(w, stage, indent, error));
    } else {
        const mot_stage_form *const form = &mot_stage_forms[stage->kind];
        mot_say(w, "%*s- %s: ", indent, "", form->name);
        mot_say(w, mot_keys_print(w, &form->keys, &stage->of, stage->given, "{", ", ") ? "}\n" : "{}\n");
    }
    return MOTLEY_OK;
}

/* Prints a one_of, whose mark is stage *i, and its lists; *i becomes the last of their stages. */
static motley_status print_lists(mot_text *w, const mot_transform *transform, uint32_t *i, motley_error *error)
{
    const mot_lists *const lists = &transform->stage[*i].of.one_of;
    mot_say(w, "  - one_of:\n");
    for (uint32_t list = 0; list < (uint32_t)lists->count; list++) {
        const mot_stage *next = &transform->stage[*i + 1], *const end = transform->stage + transform->stages;
        const bool empty = next == end || !next->listed.one_of || next->listed.list != list;
        if (lists->weight[list] != 1)
            mot_say_number(w, "      - weight: ", lists->weight[list]);
        mot_say(w, lists->weight[list] != 1 ? "\n        stages:%s\n" : "      - stages:%s\n", empty ? " []" : "");
        for (; next < end && next->listed.one_of && next->listed.list == list; next++, ++*i)
            MOT_TRY(print_stage(w, next, 10, error));
    }
    return MOTLEY_OK;
}

static motley_status print_stages(mot_text *w, const mot_transform *transform, motley_error *error)
{
    mot_say(w, transform->to_rgb ? "stages:\n  - to_rgb: {}\n" : "stages:\n");
    for (uint32_t i = 0; i < transform->stages; i++)
        MOT_TRY(transform->stage[i].kind == MOT_STAGE_ONE_OF ? print_lists(w, transform, &i, error)
                                                             : print_stage(w, &transform->stage[i], 2, error));
    return MOTLEY_OK;
}

static motley_status print_transform(const mot_transform *transform, char **text, motley_error *error)
{
    if (transform->follower)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "a follower of policy '%s' has no text: print the policy",
                        transform->name);
    if (transform->text) {
        *text = strdup(transform->text);
        return *text ? MOTLEY_OK
                     : mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the text of '%s'", transform->name);
    }
    if (transform->plain)
        return mot_policy_print_text(transform->stage[0].policy, text, error);
    mot_text w = { 0 };
    mot_head_print(&w, &transform->head);
    motley_status status = print_stages(&w, transform, error);
    if (status == MOTLEY_OK && w.failed)
        status = mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the text of transform '%s'", transform->name);
    if (status == MOTLEY_OK)
        *text = w.text;
    else
        free(w.text);
    return status;
}

/* ---- texts ---- */

motley_status mot_policy_print_text(const motley_policy *policy, char **text, motley_error *error)
{
    MOT_REQUIRE(text, error, "text is NULL, want a place for the result");
    *text = NULL;
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    if (policy->staged)
        return print_transform(policy->staged, text, error);
    mot_text w = { 0 };
    mot_head_print(&w, &policy->head);
    mot_keys_print(&w, &mot_policy_keys, policy, 0, "", "\n");
    mot_say(&w, "\nops:\n");
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
