/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a policy's draws as JSON: every phase, branch and step, with its probabilities and possible values. */
#include "base/error.h"
#include "base/text.h"
#include "policies/compile.h"
#include "policies/head.h"
#include "policies/print.h"
#include "policies/transform.h"

#include <stdlib.h>

static void say_pair(mot_text *w, const char *key, const char *text)
{
    mot_say(w, "\"%s\": ", key);
    if (text)
        mot_say_quoted(w, text);
    else
        mot_say(w, "null");
    mot_say(w, ", ");
}

/* One level of a step and its value; for a relative step, the fraction of the side before any rounding. */
static void say_level(mot_text *w, const motley_policy *policy, const mot_space *space, double level)
{
    mot_say_number(w, "{\"level\": ", level);
    if (space->side != MOT_SIDE_NONE) {
        const double fraction = space->low + space->span * (level / policy->top);
        mot_say_number(w, ", \"value\": ", space->sign == MOT_SIGN_MINUS ? -fraction : fraction);
        if (space->sign == MOT_SIGN_RANDOM)
            mot_say_number(w, ", \"minus\": ", -fraction);
    } else {
        mot_say_number(w, ", \"value\": ", mot_space_value(policy, space, level, 0));
        if (space->sign == MOT_SIGN_RANDOM)
            mot_say_number(w, ", \"minus\": ", mot_space_value(policy, space, level, 1));
    }
    mot_say(w, "}");
}

static void say_step(mot_text *w, const motley_policy *policy, const mot_policy_step *step)
{
    const mot_space *space = &policy->space[step->space];
    const mot_level *level = &step->level;
    const motley_op_info *info = motley_policy_op(policy, space->op);
    mot_say(w, "{");
    say_pair(w, "op", info->name);
    say_pair(w, "entry", space->name);
    mot_say_number(w, "\"p\": ", step->probability);
    mot_say(w, ", \"levels\": [");
    if (level->kind == MOT_LEVEL_VALUE) {
        mot_say_number(w, "{\"level\": null, \"value\": ", level->a);
        mot_say(w, "}");
    } else if (space->has_levels) {
        for (uint32_t k = 0; k < mot_level_count(policy, level); k++) {
            mot_say(w, "%s", k ? ", " : "");
            say_level(w, policy, space, mot_level_at(policy, level, k));
        }
    }
    mot_say(w, "]");
    if (space->side != MOT_SIDE_NONE)
        mot_say(w, ", \"of\": \"%s\"", mot_side_names[space->side - MOT_SIDE_WIDTH]);
    if (space->side != MOT_SIDE_NONE && space->rounding != MOT_ROUND_NONE)
        mot_say(w, ", \"round\": \"%s\"", mot_rounding_names[space->rounding]);
    if (info->shape == MOTLEY_SHAPE_WARP || info->shape == MOTLEY_SHAPE_ERASE) {
        const uint8_t *fill = policy->tables.step[step - policy->step].fill;
        mot_say(w, ", \"fill\": [%d, %d, %d, %d]", fill[0], fill[1], fill[2], fill[3]);
    }
    if (space->in_boxes)
        mot_say(w, ", \"inside\": \"boxes\"");
    mot_say(w, "}");
}

static void say_phase(mot_text *w, const motley_policy *policy, const mot_policy_phase *phase)
{
    double total = 0;
    for (uint32_t i = 0; i < phase->branches; i++)
        total += policy->branch[phase->first_branch + i].weight;
    mot_say(w, "{\"from\": %u, \"branches\": [", phase->first_epoch);
    for (uint32_t i = 0; i < phase->branches; i++) {
        const mot_policy_branch *branch = &policy->branch[phase->first_branch + i];
        mot_say_number(w, i ? ",\n  {\"chance\": " : "\n  {\"chance\": ", branch->weight / total);
        mot_say(w, ", \"steps\": [");
        for (uint32_t s = 0; s < branch->steps; s++) {
            mot_say(w, "%s", s ? ", " : "");
            say_step(w, policy, &policy->step[branch->first_step + s]);
        }
        mot_say(w, "]}");
    }
    mot_say(w, "]}");
}

motley_status mot_policy_print_values(const motley_policy *policy, char **json, motley_error *error)
{
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    MOT_REQUIRE(!policy->staged, error, "policy '%s' has stages, want one that draws ops by itself",
                policy->staged->name);
    mot_text w = { 0 };
    mot_say(&w, "{");
    for (int k = 0; k < MOT_HEAD_TEXTS; k++)
        say_pair(&w, mot_head_keys[k], policy->head.text[k]);
    mot_say(&w, "\"interpolation\": [");
    for (uint32_t i = 0; i < policy->interpolations; i++)
        mot_say(&w, "%s\"%s\"", i ? ", " : "", mot_interpolation_names[policy->interpolation[i]]);
    mot_say_number(&w, "], \"p\": ", policy->chance);
    mot_say(&w, ", \"repeat\": [");
    if (policy->repeat.given) {
        mot_say(&w, "%u, %u", policy->repeat.most + 1 - policy->repeat.given, policy->repeat.most);
    } else if (policy->repeat.weights) {
        double total = 0;
        for (uint32_t i = 0; i < policy->repeat.weights; i++)
            total += policy->repeat.weight[i];
        for (uint32_t i = 0; i < policy->repeat.weights; i++)
            mot_say_number(&w, i ? ", " : "", policy->repeat.weight[i] / total);
    } else { /* the probabilities of 0, 1, ... repetitions */
        for (uint32_t i = 0; i <= policy->repeat.most; i++)
            mot_say(&w, "%s%d", i ? ", " : "", i == policy->repeat.most);
    }
    mot_say(&w, "], \"repeat_given\": %s, \"choice\": \"%s\", ", policy->repeat.given ? "true" : "false",
            mot_choice_names[policy->choice]);
    if (policy->augmix.width) {
        mot_say(&w, "\"augmix\": {\"width\": %d, ", policy->augmix.width);
        mot_say_number(&w, "\"alpha\": ", policy->augmix.alpha);
        mot_say(&w, ", \"form\": \"%s\"}, ", mot_augmix_form_names[policy->augmix.form]);
    }
    if (policy->top > 0)
        mot_say_number(&w, "\"top\": ", policy->top);
    else
        mot_say(&w, "\"top\": null");
    mot_say(&w, ", \"bins\": %d, \"phases\": [", policy->top_bins);
    for (uint32_t i = 0; i < policy->phases; i++) {
        mot_say(&w, "%s", i ? ",\n " : "\n ");
        say_phase(&w, policy, &policy->phase[i]);
    }
    mot_say(&w, "]}\n");
    if (w.failed) {
        free(w.text);
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the description of policy '%s'", policy->name);
    }
    *json = w.text;
    return MOTLEY_OK;
}
