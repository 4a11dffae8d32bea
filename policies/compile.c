/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a policy's model into the tables that draws read. Every level's argument is prepared here, in double. */
#include "policies/compile.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "policies/custom.h"
#include "policies/draw.h"
#include "policies/reader.h"
#include "policies/transform.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Used in place of a step's index for problems that do not belong to a step. */
#define IN_POLICY (-1)
#define IN_LEVEL (-2) /* the policy's default level */

/* The state of a compilation: where problems go, and the tables being filled. */
typedef struct compiler {
    motley_policy *policy;
    reader *reader; /* or NULL */
    int problems;
    char first[240];
    bool default_fits, scale_reported;
    mot_table_phase *phase;
    mot_table_branch *branch;
    mot_table_step *step;
    mot_level_entry *level;
    double *gamma, *beta;
    mot_level normal;               /* the normal level whose quantiles are cached, because they take longer than the */
    double quantile[MOT_QUANTILES]; /* rest of a compilation, and most steps share a level */
} compiler;

__attribute__((format(printf, 3, 4))) static void problem(compiler *c, int step, const char *format, ...)
{
    char message[240];
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    if (c->problems++ == 0)
        memcpy(c->first, message, sizeof c->first);
    if (c->reader)
        mot_yaml_problem(&c->reader->tree,
                         step >= 0          ? c->reader->step_offset[step]
                         : step == IN_LEVEL ? c->reader->level_offset
                                            : c->reader->branches_offset,
                         "%s", message);
}

/* mot_level_at, but quickly. */
static double level_at(compiler *c, const mot_level *level, uint32_t k)
{
    if (level->kind != MOT_LEVEL_NORMAL)
        return mot_level_at(c->policy, level, k);
    if (!mot_same_level(level, &c->normal)) {
        for (uint32_t i = 0; i < MOT_QUANTILES; i++)
            c->quantile[i] = mot_level_at(c->policy, level, i);
        c->normal = *level;
    }
    return c->quantile[k];
}

/* Whether a level is on the policy's scale. `where` is its step, or IN_LEVEL. */
static bool level_fits(compiler *c, int where, const mot_level *level)
{
    const motley_policy *policy = c->policy;
    const int before = c->problems;
    const bool given = level->kind == MOT_LEVEL_GIVEN;
    const bool continuous =
        level->kind == MOT_LEVEL_RANGE || level->kind == MOT_LEVEL_NORMAL || (given && level->b > 0);
    if (level->kind == MOT_LEVEL_UNIFORM && policy->top_bins == 0)
        problem(c, where,
                "level 'uniform' draws from bins, but the policy has none: want 'bins', or {uniform: [0, %g]}",
                policy->top);
    else if ((level->kind == MOT_LEVEL_RANGE || given) && (level->a < 0 || level->b > policy->top))
        problem(c, where, "level is %s in %s..%s, want it in 0..%s", given ? "given" : "uniform", MOT_NUMBER(level->a),
                MOT_NUMBER(level->b), MOT_NUMBER(policy->top));
    else if (level->kind == MOT_LEVEL_FIXED && (level->a < 0 || level->a > policy->top)) /* NORMAL is clamped */
        problem(c, where, "level is %s, want 0..%s", MOT_NUMBER(level->a), MOT_NUMBER(policy->top));
    else if (policy->arithmetic == MOT_ARITHMETIC_TORCH &&
             (policy->top_bins == 0 || continuous || (level->kind == MOT_LEVEL_FIXED && level->a != floor(level->a))))
        problem(c, where, "arithmetic 'torch' knows whole bins only: want 'bins' and a whole level");
    return c->problems == before;
}

/* Whether a step's level suits its space. A problem that many steps share is reported once. */
static bool check_level(compiler *c, int index)
{
    const motley_policy *policy = c->policy;
    const mot_policy_step *step = &policy->step[index];
    const mot_space *space = &policy->space[step->space];
    const int before = c->problems;
    if (step->level.kind == MOT_LEVEL_VALUE)
        return true;
    if (!space->has_levels) {
        if (motley_policy_op(policy, space->op)->values_min > 0)
            problem(c, index, "op '%s' has no range to take a level from: want a 'range' in 'ops', or a 'value' here",
                    space->name);
        return c->problems == before;
    }
    if (step->level.kind == MOT_LEVEL_NONE) {
        problem(c, index, "op '%s' has no level: want 'level' or 'value' here, or a 'level' for the policy",
                space->name);
        return false;
    }
    if (policy->top <= 0) {
        if (!c->scale_reported)
            problem(c, index, "op '%s' has a level, but the scale is missing: want 'bins' or 'top'", space->name);
        c->scale_reported = true;
        return false;
    }
    if (mot_same_level(&step->level, &policy->level))
        return c->default_fits;
    return level_fits(c, index, &step->level);
}

#define MAX_SIDES 16 /* largest relative value, as in translate_x_rel's row: pixels then stay exact */

/* Whether the op can take a level's fraction of a side, with each sign that can be drawn. */
static bool fraction_fits(compiler *c, int index, const mot_space *space, const mot_level_entry *entry)
{
    const mot_table_step exact = { .arithmetic = (uint8_t)c->policy->arithmetic };
    const double least = motley_policy_op(c->policy, space->op)->minimum < 0 ? -MAX_SIDES : 0;
    for (int minus = 0; minus < (space->sign == MOT_SIGN_RANDOM ? 2 : 1); minus++) {
        const double fraction = mot_relative(&exact, entry, minus, 1);
        if (fraction < least || fraction > MAX_SIDES) {
            problem(c, index, "op '%s' gets %s of a side, want %g..%d", space->name, MOT_NUMBER(fraction), least,
                    MAX_SIDES);
            return false;
        }
    }
    return true;
}

/* Fills a step's level entries; the first value that its op cannot take is a problem. */
static void fill_levels(compiler *c, int index, mot_level_entry *entry)
{
    motley_policy *policy = c->policy;
    const mot_policy_step *step = &policy->step[index];
    const mot_space *space = &policy->space[step->space];
    const motley_op_info *info = motley_policy_op(policy, space->op);
    const bool valued = step->level.kind == MOT_LEVEL_VALUE, relative = !valued && space->side != MOT_SIDE_NONE;
    for (uint32_t k = 0; k < c->step[index].levels; k++, entry++) {
        if (relative) {
            *entry = mot_space_relative(policy, space, level_at(c, &step->level, k));
            if (!fraction_fits(c, index, space, entry))
                return;
        }
        for (int minus = 0; minus < 2; minus++) {
            if (info->values_max > 0 && !relative)
                entry->value[minus] =
                    valued ? step->level.a : mot_space_value(policy, space, level_at(c, &step->level, k), minus);
            const double value = entry->value[minus];
            const bool drawn = minus == 0 || (space->sign == MOT_SIGN_RANDOM && !valued);
            if (drawn && info->values_max > 0 && !(value >= info->minimum && value <= info->maximum)) {
                problem(c, index, "op '%s' gets the value %s, want %s..%s", space->name, MOT_NUMBER(value),
                        MOT_NUMBER(info->minimum), MOT_NUMBER(info->maximum));
                return;
            }
            if (drawn)
                mot_policy_prepare(space->op, &value, info->values_max > 0 ? 1 : 0, &entry->arg[minus]);
            else {
                entry->arg[minus] = entry->arg[0];
                entry->value[minus] = entry->value[0];
            }
            if (info->shape == MOTLEY_SHAPE_BLUR && mot_blur_radius(&entry->arg[minus]) > policy->blur_radius)
                policy->blur_radius = mot_blur_radius(&entry->arg[minus]);
        }
    }
}

/* Assigns every step its range of level entries and returns how many entries there are. Steps with equal levels share a
 * range; a step whose level is wrong gets none. */
static uint32_t place_levels(compiler *c, mot_table_step *table)
{
    const motley_policy *policy = c->policy;
    uint32_t total = 0;
    for (uint32_t i = 0; i < policy->steps; i++) {
        table[i].first_level = total;
        table[i].levels = check_level(c, (int)i) ? (uint16_t)mot_level_count(policy, &policy->step[i].level) : 0;
        uint32_t j = 0;
        while (j < i && !(policy->step[i].space == policy->step[j].space &&
                          mot_same_level(&policy->step[i].level, &policy->step[j].level)))
            j++;
        if (j < i)
            table[i].first_level = table[j].first_level;
        else
            total += table[i].levels;
        if (total > MOT_MAX_LEVEL_ENTRIES) {
            problem(c, (int)i, "the policy has more than %d levels over all steps", MOT_MAX_LEVEL_ENTRIES);
            return 0;
        }
    }
    return total;
}

static void fill_step(compiler *c, uint32_t index)
{
    const motley_policy *policy = c->policy;
    const mot_policy_step *step = &policy->step[index];
    const mot_space *space = &policy->space[step->space];
    const motley_shape shape = motley_policy_op(policy, space->op)->shape;
    const bool levelled = space->has_levels && step->level.kind != MOT_LEVEL_VALUE;
    mot_table_step *out = &c->step[index];
    out->threshold = (uint64_t)rint(ldexp(space->in_boxes && step->probability > 0 ? 1 : step->probability, 32));
    out->op = space->op;
    out->given = step->level.kind == MOT_LEVEL_GIVEN && space->has_levels;
    out->sign = (uint8_t)(levelled && space->sign == MOT_SIGN_RANDOM ? MOT_SIGN_RANDOM : MOT_SIGN_PLUS);
    out->side = (uint8_t)(levelled ? space->side : MOT_SIDE_NONE);
    out->rounding = (uint8_t)space->rounding;
    out->arithmetic = (uint8_t)policy->arithmetic;
    out->draws = (uint8_t)mot_policy_facts(space->op)->draws;
    out->warps = shape == MOTLEY_SHAPE_WARP;
    const uint32_t fills = space->fills ? space->fills : policy->fills;
    if (shape == MOTLEY_SHAPE_WARP || shape == MOTLEY_SHAPE_ERASE)
        out->fills = fills == 4 ? MOT_FILLS_FOUR : 1;
    const uint8_t *fill = space->fills ? space->fill : policy->fill;
    for (uint32_t i = 0; i < 4; i++) /* one number fills every channel, alpha included; three leave alpha opaque */
        out->fill[i] = fills == 1 ? fill[0] : i < fills ? fill[i] : 255;
    out->fill_grey = mot_luma(out->fill[0], out->fill[1], out->fill[2]);
}

/* Turns weights into whole numbers: equal weights become 1 each, whole weights stay, others become shares of 2^31, each
 * off by at most 2^-31 of the total. 0 stays 0, and nothing else becomes 0. */
static void whole_weights(const double *weight, uint32_t count, uint32_t *whole)
{
    double sum = 0;
    bool equal = true, integers = true;
    for (uint32_t i = 0; i < count; i++) {
        sum += weight[i];
        equal = equal && weight[i] == weight[0];
        integers = integers && weight[i] == floor(weight[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        const double share = equal                             ? 1
                             : integers && sum <= 2147483648.0 ? weight[i]
                                                               : rint(weight[i] / sum * 2147483648.0);
        whole[i] = weight[i] == 0 ? 0 : share < 1 ? 1 : (uint32_t)share;
    }
}

/* Fills a phase with its branches, except those of weight 0. `whole` and `weight` have room for its branches. */
static void fill_phase(compiler *c, uint32_t index, uint32_t *next_branch, double *weight, uint32_t *whole)
{
    motley_policy *policy = c->policy;
    const mot_policy_phase *phase = &policy->phase[index];
    const mot_policy_branch *branch = &policy->branch[phase->first_branch];
    for (uint32_t i = 0; i < phase->branches; i++)
        weight[i] = branch[i].weight;
    whole_weights(weight, phase->branches, whole);
    mot_table_phase *out = &c->phase[index];
    *out = (mot_table_phase){ .first_epoch = phase->first_epoch, .first_branch = *next_branch };
    uint32_t most_steps = 0;
    for (uint32_t i = 0; i < phase->branches; i++) {
        if (whole[i] == 0)
            continue;
        c->branch[(*next_branch)++] = (mot_table_branch){
            .first_step = branch[i].first_step, .steps = branch[i].steps, .weight = whole[i], .below = out->total_weight
        };
        out->total_weight += whole[i];
        out->branches++;
        most_steps = branch[i].steps > most_steps ? branch[i].steps : most_steps;
    }
    if (policy->choice == MOT_UNTIL_APPLIED && out->branches > MOT_MAX_WALK)
        problem(c, IN_POLICY, "choice 'until_applied' walks through %u branches, want at most %d", out->branches,
                MOT_MAX_WALK);
    uint32_t turns = policy->repeat.weights ? policy->repeat.weights - 1 : policy->repeat.most;
    if (policy->choice != MOT_WITH_REPLACEMENT && turns > out->branches)
        turns = out->branches;
    if (turns * most_steps > policy->tables.max_steps)
        policy->tables.max_steps = turns * most_steps;
    if (most_steps > policy->tables.branch_steps)
        policy->tables.branch_steps = most_steps;
}

/* The most steps of a sample, or of one of the chains that are mixed. */
static uint32_t chain_steps(const motley_policy *policy)
{
    const uint32_t width = (uint32_t)policy->augmix.width, most = policy->tables.max_steps;
    return width ? (most - 2) / width - 1 : most;
}

/* Checks the limits of a policy that mixes chains, where a sample's steps include those of all chains and of the
 * mixing. */
static void check_augmix(compiler *c)
{
    motley_policy *policy = c->policy;
    const uint32_t most = policy->repeat.weights ? policy->repeat.weights - 1 : policy->repeat.most;
    if (!policy->augmix.width)
        return;
    if (policy->chance < 1)
        problem(c, IN_POLICY, "'p' of the policy cannot be combined with 'augmix'");
    if (policy->choice == MOT_UNTIL_APPLIED)
        problem(c, IN_POLICY, "choice 'until_applied' cannot be combined with 'augmix'");
    if (most > MOT_MAX_MIXED_REPEAT)
        problem(c, IN_POLICY, "'repeat' is up to %u, want at most %d with 'augmix': the depth of its chains", most,
                MOT_MAX_MIXED_REPEAT);
    if (policy->customs)
        problem(c, IN_POLICY, "custom op '%s' is named in a policy with 'augmix', want operations of the table",
                policy->custom[0].op.name);
    policy->tables.max_steps = (uint32_t)policy->augmix.width * (policy->tables.max_steps + 1) + 2;
}

static void fill_common(motley_policy *policy)
{
    mot_tables *t = &policy->tables;
    t->chains = (uint32_t)policy->augmix.width;
    t->augmix_form = policy->augmix.form;
    t->phases = policy->phases;
    t->first_block = policy->first_block;
    t->chance = (uint64_t)rint(policy->chance * 4294967296.0);
    t->repeat = policy->repeat.most;
    t->repeat_given = policy->repeat.given;
    t->repeat_weights = policy->repeat.weights;
    uint32_t whole[MOT_MAX_REPEAT + 1] = { 0 };
    whole_weights(policy->repeat.weight, policy->repeat.weights, whole);
    for (uint32_t i = 0; i < policy->repeat.weights; i++)
        t->repeat_below[i + 1] = t->repeat_below[i] + whole[i];
    t->choice = policy->choice;
    t->interpolations = policy->interpolations;
    memcpy(t->interpolation, policy->interpolation, policy->interpolations);
}

/* Finds what callers must know of all steps that can be drawn: custom ops, filters, boxes. */
static void summarise(compiler *c)
{
    motley_policy *policy = c->policy;
    mot_step_facts *facts = &policy->facts;
    int32_t filters = 0;
    policy->runs_customs = false;
    *facts = (mot_step_facts){ .steps = (int32_t)policy->tables.max_steps, .chains = policy->augmix.width };
    policy->takes_boxes = false;
    policy->takes_levels = policy->repeat.given > 0;
    for (const mot_table_branch *b = c->branch; b < c->branch + policy->branches; b++) { /* those of weight 0: empty */
        int32_t own = 0;
        for (uint32_t s = b->first_step; s < b->first_step + b->steps; s++) {
            facts->shapes |= policy->customs ? ~0u : 1u << mot_shape_of(c->step[s].op);
            if (c->step[s].threshold == 0)
                continue;
            policy->runs_customs = policy->runs_customs || c->step[s].op >= MOT_OP_COUNT;
            policy->takes_levels = policy->takes_levels || c->step[s].given;
            own += mot_shape_of(c->step[s].op) == MOTLEY_SHAPE_FILTER;
            policy->takes_boxes = policy->takes_boxes || policy->space[policy->step[s].space].in_boxes ||
                                  mot_policy_facts(c->step[s].op)->draws == MOT_DRAWS_BOX;
        }
        filters = own > filters ? own : filters;
    }
    const int32_t branch = (int32_t)policy->tables.branch_steps;
    facts->breaks = branch ? filters * ((int32_t)chain_steps(policy) / branch) : 0;
    facts->statistics = facts->shapes >> MOTLEY_SHAPE_STATS & 1 ? facts->steps : 0;
    if (policy->takes_boxes && (policy->augmix.width || policy->runs_customs))
        problem(c, IN_POLICY, "steps that work in boxes cannot be combined with %s",
                policy->augmix.width ? "'augmix'" : "custom ops");
}

/* Makes one block of memory for all tables, with the steps, in which their levels have places already. False: there is
 * none. */
static bool lay_out_tables(compiler *c, const mot_table_step *steps, uint32_t levels)
{
    motley_policy *policy = c->policy;
    const size_t phase_bytes = policy->phases * sizeof *c->phase, branch_bytes = policy->branches * sizeof *c->branch;
    const size_t step_bytes = policy->steps * sizeof *c->step, level_bytes = levels * sizeof *c->level;
    const size_t mix_bytes = policy->augmix.width ? MOT_QUANTILES * sizeof(double) : 0;
    const size_t bytes = phase_bytes + branch_bytes + step_bytes + level_bytes + 2 * mix_bytes;
    char *memory = policy->compiled = calloc(1, bytes);
    if (!memory)
        return false;
    c->phase = (mot_table_phase *)memory;
    c->branch = (mot_table_branch *)(memory + phase_bytes);
    c->step = (mot_table_step *)(memory + phase_bytes + branch_bytes);
    c->level = (mot_level_entry *)(memory + phase_bytes + branch_bytes + step_bytes);
    c->gamma = (double *)(memory + bytes - 2 * mix_bytes);
    c->beta = (double *)(memory + bytes - mix_bytes);
    if (policy->steps)
        memcpy(c->step, steps, step_bytes);
    policy->compiled_bytes = bytes;
    return true;
}

motley_status mot_policy_compile(motley_policy *policy, reader *reader, motley_error *error)
{
    compiler c = { .policy = policy, .reader = reader };
    motley_status status = MOTLEY_ERR_MEMORY;
    memset(&policy->tables, 0, sizeof policy->tables);
    free(policy->compiled);
    policy->compiled = NULL;
    policy->compiled_bytes = 0;
    policy->blur_radius = -1;

    double *weight = malloc(policy->branches * sizeof *weight);
    uint32_t *whole = malloc(policy->branches * sizeof *whole);
    mot_table_step *steps = calloc(policy->steps ? policy->steps : 1, sizeof *steps);
    if (!weight || !whole || !steps)
        goto done;

    c.default_fits =
        policy->level.kind == MOT_LEVEL_NONE || policy->top <= 0 || level_fits(&c, IN_LEVEL, &policy->level);
    const uint32_t levels = place_levels(&c, steps);
    if (!lay_out_tables(&c, steps, levels))
        goto done;
    fill_common(policy);
    for (uint32_t i = 0, next = 0; i < policy->phases; i++)
        fill_phase(&c, i, &next, weight, whole);
    check_augmix(&c);
    if (policy->tables.max_steps > MOT_MAX_STEPS)
        problem(&c, IN_POLICY, "a sample can draw %u steps, want at most %d", policy->tables.max_steps, MOT_MAX_STEPS);
    if (levels)
        for (uint32_t i = 0, filled = 0; i < policy->steps; i++) {
            fill_step(&c, i);
            if (c.step[i].first_level < filled)
                continue; /* it shares the levels of an earlier step */
            fill_levels(&c, (int)i, &c.level[filled]);
            filled += c.step[i].levels;
        }
    for (int k = 0; k < (policy->augmix.width && !policy->only_checked ? MOT_QUANTILES : 0); k++) {
        c.gamma[k] = mot_gamma_quantile(policy->augmix.alpha, k);
        c.beta[k] = mot_beta_quantile(policy->augmix.alpha, k);
    }
    summarise(&c);
    if (!policy->only_checked)
        policy->fingerprint = mot_hash(mot_hash(MOT_HASH_BEGIN, &policy->tables, sizeof policy->tables),
                                       policy->compiled, policy->compiled_bytes);
    policy->tables.phase = c.phase;
    policy->tables.branch = c.branch;
    policy->tables.step = c.step;
    policy->tables.level = c.level;
    policy->tables.gamma = c.gamma;
    policy->tables.beta = c.beta;
    if (!mot_transform_of_policy(policy))
        goto done;
    status = c.problems ? mot_fail(error, MOTLEY_ERR_POLICY, "%s", c.first) : MOTLEY_OK;
done:
    free(steps);
    free(whole);
    free(weight);
    return status == MOTLEY_ERR_MEMORY ? mot_fail(error, status, "no memory for the tables of a policy") : status;
}
