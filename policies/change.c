/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the parts of a policy as plain data, and makes a changed copy of a policy. */
#include "base/error.h"
#include "base/number.h"
#include "base/params.h"
#include "base/utf8.h"
#include "policies/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- reading parts --- */

bool mot_policy_branch_get(const motley_policy *policy, size_t i, motley_policy_branch *branch)
{
    if (i >= policy->branches)
        return 0;
    const mot_policy_phase *phase = policy->phase;
    while (i - phase->first_branch >= phase->branches)
        phase++;
    *branch = (motley_policy_branch){ phase->first_epoch, policy->branch[i].weight, policy->branch[i].steps, NULL };
    return 1;
}

bool mot_policy_step_get(const motley_policy *policy, size_t branch, size_t i, motley_policy_step *step)
{
    if (branch >= policy->branches || i >= policy->branch[branch].steps)
        return 0;
    const mot_policy_step *found = &policy->step[policy->branch[branch].first_step + i];
    *step = (motley_policy_step){ policy->space[found->space].name, found->probability, found->level };
    return 1;
}

bool mot_policy_range_get(const motley_policy *policy, size_t i, motley_policy_range *range)
{
    for (uint32_t k = 0; k < policy->spaces; k++) {
        const mot_space *space = &policy->space[k];
        if (!space->has_levels || i-- > 0)
            continue;
        *range =
            (motley_policy_range){ space->name, space->low, space->span, space->base, space->minimum, space->maximum };
        return 1;
    }
    return 0;
}

/* --- branches --- */

static motley_status check_level(const char *what, const motley_level *level, motley_error *error)
{
    MOT_REQUIRE((unsigned)level->kind <= MOTLEY_LEVEL_GIVEN, error, "%s: the kind of its level is %d, want 0 to %d",
                what, (int)level->kind, MOTLEY_LEVEL_GIVEN);
    if (level->kind == MOTLEY_LEVEL_VALUE)
        MOT_REQUIRE(fabs(level->a) <= 1e9, error, "%s: the value is %g, want -1e9..1e9", what, level->a);
    else if (level->kind != MOTLEY_LEVEL_NONE && level->kind != MOTLEY_LEVEL_UNIFORM)
        MOT_REQUIRE(isfinite(level->a) && level->a >= 0, error, "%s: the level is %g, want 0 or more", what, level->a);
    if (level->kind == MOTLEY_LEVEL_RANGE || (level->kind == MOTLEY_LEVEL_GIVEN && (level->a || level->b)))
        MOT_REQUIRE(isfinite(level->b) && level->a < level->b, error,
                    "%s: the level goes from %g to %g, want a lower one first", what, level->a, level->b);
    if (level->kind == MOTLEY_LEVEL_NORMAL)
        MOT_REQUIRE(level->b > 0 && level->b <= 1e6, error,
                    "%s: the level's deviation is %g, want above 0, at most 1e6", what, level->b);
    return MOTLEY_OK;
}

/* The level with the numbers that its kind does not use set to 0, so that equal levels compare as equal. */
static motley_level only_used(motley_level level)
{
    const bool has_a = level.kind != MOTLEY_LEVEL_NONE && level.kind != MOTLEY_LEVEL_UNIFORM;
    const bool has_b =
        level.kind == MOTLEY_LEVEL_RANGE || level.kind == MOTLEY_LEVEL_NORMAL || level.kind == MOTLEY_LEVEL_GIVEN;
    return (motley_level){ level.kind, has_a ? level.a : 0, has_b ? level.b : 0 };
}

/* The space that a step names; an op that has none gets a new one without levels. */
static motley_status find_space(motley_policy *policy, const char *name, uint32_t *index, motley_error *error)
{
    MOT_REQUIRE(name, error, "a step's op is NULL, want a name");
    for (*index = 0; *index < policy->spaces; (*index)++)
        if (strcmp(policy->space[*index].name, name) == 0)
            return MOTLEY_OK;
    const int op = mot_policy_find_op(policy, name);
    MOT_REQUIRE(op >= 0, error, "a step's op is '%.60s', want an operation or an entry under 'ops'", name);
    MOT_REQUIRE(motley_policy_op(policy, op)->values_min <= 1, error,
                "operation '%s' takes %d values, want one that takes at most one", name,
                motley_policy_op(policy, op)->values_min);
    MOT_REQUIRE(policy->spaces < MOT_MAX_SPACES, error, "more than %d operations", MOT_MAX_SPACES);
    mot_space *space = realloc(policy->space, (policy->spaces + 1) * sizeof *space);
    if (!space)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for one more operation");
    policy->space = space;
    space[*index] = (mot_space){ .op = op, .minimum = -HUGE_VAL, .maximum = HUGE_VAL, .name = strdup(name) };
    if (!space[*index].name)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the name of an operation");
    policy->spaces++;
    return MOTLEY_OK;
}

static motley_status add_step(motley_policy *policy, const motley_policy_step *from, motley_error *error)
{
    uint32_t index = 0;
    MOT_TRY(find_space(policy, from->op, &index, error));
    const mot_space *space = &policy->space[index];
    mot_policy_step step = { .space = index, .probability = from->p, .level = only_used(from->level) };
    MOT_REQUIRE(from->p >= 0 && from->p <= 1, error, "op '%s': p is %g, want 0..1", space->name, from->p);
    MOT_TRY(check_level(space->name, &from->level, error));
    MOT_REQUIRE(from->level.kind == MOTLEY_LEVEL_NONE || motley_policy_op(policy, space->op)->values_max > 0, error,
                "op '%s' takes no level or value", space->name);
    if (step.level.kind == MOTLEY_LEVEL_NONE && space->has_levels)
        step.level = policy->level;
    if (step.level.kind != MOTLEY_LEVEL_VALUE && !space->has_levels)
        step.level = (motley_level){ .kind = MOTLEY_LEVEL_NONE };
    policy->step[policy->steps++] = step;
    return MOTLEY_OK;
}

/* Makes the phase that begins at first_epoch the last one; the first branch of a phase adds it. */
static motley_status find_phase(motley_policy *policy, uint32_t first_epoch, motley_error *error)
{
    const mot_policy_phase *last = policy->phases ? &policy->phase[policy->phases - 1] : NULL;
    if (last && last->first_epoch == first_epoch)
        return MOTLEY_OK;
    MOT_REQUIRE(last ? first_epoch > last->first_epoch : first_epoch == 0, error,
                "branch %u: its first epoch is %u, want %s", policy->branches, first_epoch,
                last ? "the branches of a phase together, in the order of epochs" : "0");
    MOT_REQUIRE(first_epoch < 1u << 30 && policy->phases < MOT_MAX_PHASES, error,
                "branch %u: phase %u begins at epoch %u, want at most %d phases and epochs under 2^30",
                policy->branches, policy->phases, first_epoch, MOT_MAX_PHASES);
    policy->phase[policy->phases++] =
        (mot_policy_phase){ .first_epoch = first_epoch, .first_branch = policy->branches };
    return MOTLEY_OK;
}

static motley_status add_branch(motley_policy *policy, const motley_policy_branch *from, motley_error *error)
{
    MOT_TRY(find_phase(policy, from->first_epoch, error));
    MOT_REQUIRE(from->weight >= 0 && from->weight <= 1e12, error, "branch %u: its weight is %g, want 0..1e12",
                policy->branches, from->weight);
    policy->branch[policy->branches++] =
        (mot_policy_branch){ from->weight, policy->steps, (uint32_t)from->steps_count };
    policy->phase[policy->phases - 1].branches++;
    for (size_t i = 0; i < from->steps_count; i++)
        MOT_TRY(add_step(policy, &from->steps[i], error));
    return MOTLEY_OK;
}

static motley_status replace_branches(motley_policy *policy, const motley_policy_branch *branch, size_t count,
                                      motley_error *error)
{
    size_t steps = 0;
    MOT_REQUIRE(branch, error, "branches is NULL, want %zu of them", count);
    MOT_REQUIRE(count <= MOT_MAX_BRANCHES, error, "%zu branches, want at most %d", count, MOT_MAX_BRANCHES);
    for (size_t i = 0; i < count; steps += branch[i++].steps_count)
        MOT_REQUIRE(branch[i].steps && branch[i].steps_count >= 1 && branch[i].steps_count <= MOT_MAX_BRANCH_STEPS,
                    error, "branch %zu has %zu steps, want 1 to %d", i, branch[i].steps ? branch[i].steps_count : 0,
                    MOT_MAX_BRANCH_STEPS);
    MOT_REQUIRE(steps <= MOT_MAX_ALL_STEPS, error, "%zu steps, want at most %d", steps, MOT_MAX_ALL_STEPS);
    free(policy->step), free(policy->branch), free(policy->phase);
    policy->step = malloc(steps * sizeof *policy->step);
    policy->branch = malloc(count * sizeof *policy->branch);
    policy->phase = malloc((count < MOT_MAX_PHASES ? count : MOT_MAX_PHASES) * sizeof *policy->phase);
    policy->steps = policy->branches = policy->phases = 0;
    if (!policy->step || !policy->branch || !policy->phase)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu branches", count);
    for (size_t i = 0; i < count; i++)
        MOT_TRY(add_branch(policy, &branch[i], error));
    for (uint32_t i = 0; i < policy->phases; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < policy->phase[i].branches; k++)
            sum += policy->branch[policy->phase[i].first_branch + k].weight;
        MOT_REQUIRE(sum > 0, error, "the weights of the branches sum to 0, want more");
    }
    return MOTLEY_OK;
}

/* --- ranges and levels --- */

static motley_status change_range(motley_policy *policy, const motley_policy_range *range, motley_error *error)
{
    mot_space *space = NULL;
    MOT_REQUIRE(range->name, error, "a range's name is NULL, want one of an entry under 'ops'");
    for (uint32_t i = 0; i < policy->spaces; i++)
        if (policy->space[i].has_levels && strcmp(policy->space[i].name, range->name) == 0)
            space = &policy->space[i];
    MOT_REQUIRE(space, error, "policy '%s' has no range called '%.60s'", policy->name, range->name);
    const double numbers[] = { range->low, range->span, range->base };
    const bool cut = range->minimum != -HUGE_VAL || range->maximum != HUGE_VAL;
    for (int i = 0; i < 3; i++)
        MOT_REQUIRE(fabs(numbers[i]) <= 1e9, error, "op '%s': %s is %g, want -1e9..1e9", space->name,
                    i == 0   ? "low"
                    : i == 1 ? "span"
                             : "base",
                    numbers[i]);
    MOT_REQUIRE(range->minimum == -HUGE_VAL || fabs(range->minimum) <= 1e9, error,
                "op '%s': the minimum is %g, want -1e9..1e9, or -HUGE_VAL for none", space->name, range->minimum);
    MOT_REQUIRE(range->maximum == HUGE_VAL || fabs(range->maximum) <= 1e9, error,
                "op '%s': the maximum is %g, want -1e9..1e9, or HUGE_VAL for none", space->name, range->maximum);
    MOT_REQUIRE(range->minimum <= range->maximum, error,
                "op '%s': the minimum is %g and the maximum %g, want the lower first", space->name, range->minimum,
                range->maximum);
    MOT_REQUIRE(space->side == MOT_SIDE_NONE || (range->base == 0 && !cut), error,
                "op '%s' is relative to a side, want neither base, minimum nor maximum", space->name);
    space->low = range->low;
    space->span = range->span;
    space->base = range->base;
    space->minimum = range->minimum;
    space->maximum = range->maximum;
    return MOTLEY_OK;
}

static motley_status change_scale(motley_policy *policy, const motley_policy_changes *changes, motley_error *error)
{
    MOT_REQUIRE(changes->bins == 0 || changes->top == 0, error, "both bins and top are set, want one of them");
    if (changes->bins != 0) {
        MOT_REQUIRE(changes->bins >= 2 && changes->bins <= MOT_MAX_LEVELS, error, "bins is %d, want 2 to %d",
                    changes->bins, MOT_MAX_LEVELS);
        MOT_REQUIRE(policy->top_bins > 0, error, "policy '%s' has no bins to change", policy->name);
        policy->top_bins = changes->bins;
        policy->top = changes->bins - 1;
    }
    if (changes->top != 0) {
        MOT_REQUIRE(changes->top >= 1e-6 && changes->top <= 1e6, error, "top is %g, want 1e-6..1e6", changes->top);
        policy->top_bins = 0;
        policy->top = changes->top;
    }
    return MOTLEY_OK;
}

/* A level with its number replaced: a normal level keeps its spread, every other kind becomes a fixed level. */
static motley_level at_level(motley_level old, double level)
{
    if (old.kind == MOTLEY_LEVEL_NORMAL)
        return (motley_level){ MOTLEY_LEVEL_NORMAL, level, old.b };
    return (motley_level){ MOTLEY_LEVEL_FIXED, level, 0 };
}

static motley_status change_levels(motley_policy *policy, const motley_policy_changes *changes, motley_error *error)
{
    const bool as_a_whole = changes->levels.kind != MOTLEY_LEVEL_NONE;
    MOT_REQUIRE(!as_a_whole || !changes->set_level, error, "both level and levels are set, want one of them");
    MOT_REQUIRE(changes->levels.kind != MOTLEY_LEVEL_VALUE, error, "levels is a value, want levels");
    MOT_TRY(check_level("levels", &changes->levels, error));
    if (changes->set_level)
        MOT_REQUIRE(isfinite(changes->level) && changes->level >= 0 && changes->level <= policy->top, error,
                    "level is %s, want 0..%s", MOT_NUMBER(changes->level), MOT_NUMBER(policy->top));
    if (!as_a_whole && !changes->set_level)
        return MOTLEY_OK;
    if (as_a_whole || policy->level.kind != MOTLEY_LEVEL_NONE)
        policy->level = as_a_whole ? only_used(changes->levels) : at_level(policy->level, changes->level);
    for (uint32_t i = 0; i < policy->steps; i++) {
        motley_level *level = &policy->step[i].level;
        if (level->kind != MOTLEY_LEVEL_NONE && level->kind != MOTLEY_LEVEL_VALUE)
            *level = as_a_whole ? only_used(changes->levels) : at_level(*level, changes->level);
    }
    return MOTLEY_OK;
}

/* --- the rest --- */

static motley_status change_text(const char *what, const char *text, char **out, motley_error *error)
{
    if (!text)
        return MOTLEY_OK;
    const size_t length = strlen(text);
    MOT_REQUIRE(length <= MOT_MAX_WORDS, error, "%s has %zu bytes, want at most %d", what, length, MOT_MAX_WORDS);
    for (size_t i = 0, n; i < length; i += n) {
        n = mot_utf8_character(text + i, length - i);
        MOT_REQUIRE(n, error, "%s: byte %zu is not UTF-8", what, i);
    }
    char *copy = strdup(text);
    if (!copy)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a %s", what);
    free(*out);
    *out = copy;
    return MOTLEY_OK;
}

static motley_status change(motley_policy *policy, const motley_policy_changes *changes, motley_error *error)
{
    if (changes->branches_count)
        MOT_TRY(replace_branches(policy, changes->branches, changes->branches_count, error));
    MOT_REQUIRE(changes->ranges || !changes->ranges_count, error, "ranges is NULL, want %zu of them",
                changes->ranges_count);
    for (size_t i = 0; i < changes->ranges_count; i++)
        MOT_TRY(change_range(policy, &changes->ranges[i], error));
    MOT_TRY(change_scale(policy, changes, error));
    MOT_TRY(change_levels(policy, changes, error));
    MOT_REQUIRE(!changes->set_p || (changes->p >= 0 && changes->p <= 1), error, "p is %g, want 0..1", changes->p);
    for (uint32_t i = 0; changes->set_p && i < policy->steps; i++)
        policy->step[i].probability = changes->p;
    MOT_REQUIRE(changes->repeat >= 0 && changes->repeat <= MOT_MAX_REPEAT, error, "repeat is %d, want 1 to %d",
                changes->repeat, MOT_MAX_REPEAT);
    if (changes->repeat > 0) {
        policy->repeat = (uint32_t)changes->repeat;
        policy->repeat_weights = policy->repeat_given = 0;
    }
    if (changes->set_augmix) {
        MOT_REQUIRE(changes->augmix.width >= 0 && changes->augmix.width <= MOT_MAX_CHAINS, error,
                    "the width of augmix is %d, want 1 to %d, or 0 for none", changes->augmix.width, MOT_MAX_CHAINS);
        MOT_REQUIRE(changes->augmix.width == 0 ||
                        (changes->augmix.alpha >= MOT_MIN_ALPHA && changes->augmix.alpha <= MOT_MAX_ALPHA),
                    error, "the alpha of augmix is %g, want %g..%d", changes->augmix.alpha, MOT_MIN_ALPHA,
                    MOT_MAX_ALPHA);
        MOT_REQUIRE((unsigned)changes->augmix.form <= MOTLEY_AUGMIX_ONE_SUM, error,
                    "the form of augmix is %d, want 0 to %d", (int)changes->augmix.form, MOTLEY_AUGMIX_ONE_SUM);
        policy->augmix = changes->augmix.width ? changes->augmix : (motley_augmix){ .width = 0 };
    }
    MOT_REQUIRE(changes->interpolations >= 0 && changes->interpolations < 8, error,
                "interpolations is %d, want the bits 1 (nearest), 2 (bilinear) and 4 (bicubic)",
                changes->interpolations);
    if (changes->interpolations) {
        policy->interpolations = 0;
        for (uint8_t i = 0; i < 3; i++)
            if (changes->interpolations & (1 << i))
                policy->interpolation[policy->interpolations++] = i;
    }
    if (changes->set_fill) {
        policy->fills = 4;
        memcpy(policy->fill, changes->fill, sizeof policy->fill);
    }
    if (changes->name)
        MOT_REQUIRE(mot_is_name(changes->name, strlen(changes->name)), error,
                    "name is '%.60s', want at most %d letters, digits, '_', '.' and '-', a letter first", changes->name,
                    MOT_MAX_NAME);
    MOT_TRY(change_text("name", changes->name, &policy->name, error));
    return change_text("title", changes->title, &policy->title, error);
}

motley_status motley_policy_change(const motley_policy *base, const motley_policy_changes *changes,
                                   motley_policy **policy, motley_error *error)
{
    MOT_REQUIRE(policy, error, "policy is NULL, want a place for the result");
    *policy = NULL;
    MOT_REQUIRE(base, error, "base is NULL, want a policy to change");
    MOT_REQUIRE(changes, error, "changes is NULL, want what to change");
    MOT_REQUIRE(!base->staged, error, "policy '%s' has stages or schedules, want these changed in its text",
                motley_policy_describe(base)->name);
    MOT_READ_PARAMS(motley_policy_changes, changes, error);
    motley_policy *changed = mot_policy_copy(base);
    if (!changed)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a copy of policy '%s'", base->name);
    motley_status status = change(changed, changes, error);
    if (status == MOTLEY_OK) {
        motley_error inner = { 0 };
        status = mot_policy_compile(changed, NULL, NULL, &inner);
        if (status == MOTLEY_ERR_POLICY) /* the text is valid; the caller's request is not */
            status = MOTLEY_ERR_ARGUMENT;
        if (status != MOTLEY_OK)
            mot_fail(error, status, "%s", inner.message);
    }
    if (status != MOTLEY_OK) {
        motley_policy_destroy(changed);
        return status;
    }
    *policy = changed;
    return MOTLEY_OK;
}
