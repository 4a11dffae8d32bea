/* SPDX-License-Identifier: Apache-2.0 */
/* timm's configuration strings as policies: built-in policies of timm's lists, with what a string changes of them.
 *
 * Strings are read as timm 1.0.31 reads them (timm/data/auto_augment.py). What the lists hold and how a level becomes a
 * value stands in the policy files; only numbers are exchanged here. */
#include "augmentations/timm.h"
#include "base/error.h"
#include "base/number.h"
#include "policies/builtin.h"
#include "policies/compile.h"
#include "policies/custom.h"
#include "policies/policy.h"
#include "policies/print.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS 10.0 /* of timm's scale, past which levels are cut unless mmax says otherwise */
#define BLURS 64    /* of equal chance: the ranges of 3a's blur, when timm draws the range as well */
#define MAX_STRING 400
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const auto_augments[][2] = {
    { "v0", "timm_auto_augment_v0" },
    { "v0r", "timm_auto_augment_v0r" },
    { "original", "timm_auto_augment_original" },
    { "originalr", "timm_auto_augment_originalr" },
    { "3a", "timm_3_augment" },
};
static const char *const lists[][2] = { { "weights", "timm_rand_augment_weights" },
                                        { "3a", "timm_rand_augment_3a" },
                                        { "3aw", "timm_rand_augment_3aw" } };

/* A string, its sections, and the settings behind it, which are keys of timm's hparams. */
typedef struct config {
    const char *text; /* "rand-m9-mstd0.5" */
    char chars[MAX_STRING];
    const char *first;       /* "rand" */
    const char *section[64]; /* "m9", "mstd0.5" */
    int sections;
    double translate_pct, std, most; /* NAN: not given */
} config;

/* --- reading --- */

static bool number_of(const char *text, double *value)
{
    const bool endless = strcmp(text, "inf") == 0;
    if (endless)
        *value = HUGE_VAL;
    return endless || mot_number_parse(text, value);
}

/* One of "translate_pct=0.45", "magnitude_std=0.5" and "magnitude_max=12". */
static motley_status read_setting(config *c, char *text, motley_error *error)
{
    double *const numbers[] = { &c->translate_pct, &c->std, &c->most };
    static const char *const names[] = { "translate_pct", "magnitude_std", "magnitude_max" };
    char *const value = strchr(text, '=');
    size_t k = 0;
    if (value)
        *value = '\0';
    while (k < COUNT(names) && strcmp(text, names[k]) != 0)
        k++;
    MOT_REQUIRE(k < COUNT(names), error,
                "'%.60s': setting '%s' is not known, want translate_pct, magnitude_std or magnitude_max", c->text,
                text);
    MOT_REQUIRE(value && number_of(value + 1, numbers[k]), error, "'%.60s': %s is '%s', want a number", c->text, text,
                value ? value + 1 : "");
    return MOTLEY_OK;
}

static motley_status read_config(const char *text, config *c, motley_error *error)
{
    *c = (config){ .translate_pct = NAN, .std = NAN, .most = NAN };
    MOT_REQUIRE(strlen(text) < sizeof c->chars, error, "'%.40s...': it has %zu characters, want at most %d", text,
                strlen(text), MAX_STRING - 1);
    char *rest = strcpy(c->chars, text), *setting;
    c->text = strsep(&rest, ",");
    while ((setting = strsep(&rest, ",")))
        MOT_TRY(read_setting(c, setting, error));
    return MOTLEY_OK;
}

/* Cuts the string into `words` [MAX_STRING], since messages quote it whole. */
static motley_status cut(config *c, char *words, motley_error *error)
{
    char *rest = strcpy(words, c->text), *section;
    c->first = strsep(&rest, "-");
    while ((section = strsep(&rest, "-"))) {
        MOT_REQUIRE(c->sections < (int)COUNT(c->section), error, "'%.60s': it has more than %zu sections", c->text,
                    COUNT(c->section));
        c->section[c->sections++] = section;
    }
    return MOTLEY_OK;
}

/* A key of a string: "m9" has the key m and the number 9. */
typedef struct key {
    const char *name;
    bool whole;
    double number; /* the string's, or what it is if the string does not have the key */
    bool given;
} key;

static motley_status read_number(const config *c, const char *text, key *k, motley_error *error)
{
    const size_t digits = strspn(text, "0123456789");
    const bool good = k->whole ? !text[digits] : mot_number_parse(text, &k->number);
    MOT_REQUIRE(good, error, "'%.60s': %s is '%s', want a %snumber", c->text, k->name, text, k->whole ? "whole " : "");
    k->number = k->whole ? fmin(strtod(text, NULL), INT_MAX) : k->number;
    k->given = true;
    return MOTLEY_OK;
}

/* Reads the keys' numbers; a section without a digit is skipped, as timm does, and so is one that begins with
 * `skipped`, which is '\0' for none. The last of two counts. */
static motley_status read_keys(const config *c, char skipped, key *keys, size_t count, motley_error *error)
{
    const char *text[8] = { NULL };
    for (int i = 0; i < c->sections; i++) {
        const char *const section = c->section[i];
        const size_t length = strcspn(section, "0123456789");
        if (!section[length] || (skipped && *section == skipped))
            continue;
        size_t k = 0;
        while (k < count && !(strlen(keys[k].name) == length && strncmp(keys[k].name, section, length) == 0))
            k++;
        if (k < count) {
            text[k] = section + length;
            continue;
        }
        char wanted[60] = "";
        for (k = 0; k < count; k++)
            snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%s%s", k ? ", " : "", keys[k].name);
        const bool weights = length == 1 && *section == 'w';
        return mot_fail(error, MOTLEY_ERR_ARGUMENT, "'%.60s': section '%s' is not known, want %s%s", c->text, section,
                        wanted, weights ? " (timm dropped w; its list of weights is 'tweights')" : "");
    }
    for (size_t k = 0; k < count; k++)
        if (text[k])
            MOT_TRY(read_number(c, text[k], &keys[k], error));
    return MOTLEY_OK;
}

/* --- changes: to the model of a built-in policy, whose text is then read, and checked, like any other --- */

static motley_status level_of(const config *c, double magnitude, double std, double top, mot_level *level,
                              motley_error *error)
{
    *level = (mot_level){ MOT_LEVEL_FIXED, magnitude, 0 };
    if (std != HUGE_VAL) {
        if (std > 0)
            *level = (mot_level){ MOT_LEVEL_NORMAL, magnitude, std };
        return MOTLEY_OK;
    }
    if (magnitude > top)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "'%.60s': a uniform magnitude of 0 to %g that is cut at %g is none that a policy can draw: "
                        "raise mmax",
                        c->text, magnitude, top);
    if (magnitude > 0)
        *level = (mot_level){ MOT_LEVEL_RANGE, 0, magnitude };
    return MOTLEY_OK;
}

static void change_levels(motley_policy *policy, mot_level level)
{
    policy->level = level;
    for (uint32_t i = 0; i < policy->steps; i++)
        if (policy->step[i].level.kind != MOT_LEVEL_NONE)
            policy->step[i].level = level;
}

static void change_repeat(motley_policy *policy, double repeat)
{
    if (repeat > 0) {
        policy->repeat.most = (uint32_t)repeat;
        policy->repeat.weights = 0;
    }
}

/* A scale that ends at `top`, with the same values at the same levels; translate_pct is the fraction of a side at level
 * 10. */
static void change_scale(motley_policy *policy, double top, double translate_pct)
{
    const double factor = top / LEVELS;
    policy->top_bins = 0;
    policy->top = top;
    for (mot_space *space = policy->space; space < policy->space + policy->spaces; space++) {
        space->span *= top != LEVELS ? factor : 1;
        for (size_t k = 0; top > LEVELS && k < COUNT(mot_timm_limits); k++)
            if (strcmp(mot_timm_limits[k].name, space->name) == 0) {
                space->minimum = mot_timm_limits[k].minimum == -HUGE_VAL ? space->minimum : mot_timm_limits[k].minimum;
                space->maximum = mot_timm_limits[k].maximum;
            }
        if (!isnan(translate_pct) && strncmp(space->name, "translate_", 10) == 0) {
            space->low = 0;
            space->span = factor * translate_pct;
        }
    }
}

/* Reads the text of the policy that was changed, and destroys it. */
static motley_status checked(const config *c, motley_policy *changed, motley_policy **policy, motley_error *error)
{
    char name[MOT_MAX_NAME + 1], title[MAX_STRING + 8], *text = NULL;
    motley_error problem = { 0 };
    snprintf(title, sizeof title, "timm %s", c->text);
    snprintf(name, sizeof name, "timm_%.*s", MOT_MAX_NAME - 5, c->text);
    for (char *s = name; *s; s++)
        if (!mot_is_name((char[]){ 'a', *s, '\0' }, 2))
            *s = '_';
    free(changed->name), free(changed->title);
    changed->name = strdup(name), changed->title = strdup(title);
    motley_status status = changed->name && changed->title ? mot_policy_print_text(changed, &text, error)
                                                           : mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a name");
    motley_policy_destroy(changed);
    MOT_TRY(status);
    status = motley_policy_parse(text, strlen(text), NULL, policy, &problem);
    free(text);
    return status == MOTLEY_OK ? status
                               : mot_fail(error, status == MOTLEY_ERR_POLICY ? MOTLEY_ERR_ARGUMENT : status,
                                          "'%.60s': %s", c->text, problem.message);
}

/* --- the three kinds of strings --- */

static motley_status rand_augment(const config *c, motley_policy **policy, motley_error *error)
{
    key keys[] = { { .name = "m", true, LEVELS },  { .name = "n", true },
                   { .name = "p", .number = 0.5 }, { .name = "mstd" },
                   { .name = "mmax", true },       { .name = "inc", true } };
    MOT_TRY(read_keys(c, 't', keys, COUNT(keys), error));
    const double repeat = keys[1].number, p = keys[2].number;
    MOT_REQUIRE(repeat > 0 || !keys[1].given, error, "'%.60s': repeat is 0, want 1 or more", c->text);
    const double std = !isnan(c->std) ? c->std : keys[3].number > 100 ? HUGE_VAL : keys[3].number;
    double most = !isnan(c->most) ? c->most : keys[4].number, magnitude = keys[0].number;
    most = most != 0 ? most : LEVELS;
    const bool fixed = !(std > 0);
    if (fixed && most < magnitude)
        magnitude = most;
    /* A fixed level past timm's scale is the top of ours, so that its value comes out of the same operations. */
    const double top = !fixed ? most : magnitude <= LEVELS ? LEVELS : magnitude;
    const char *name = keys[5].number != 0 ? "timm_rand_m9_mstd05_inc1" : "timm_rand_augment", *list = NULL;
    for (int i = c->sections; i-- > 0;)
        list = c->section[i][0] == 't' ? c->section[i] + 1 : list;
    for (size_t i = 0; list && i < COUNT(lists); i++)
        name = strcmp(lists[i][0], list) == 0 ? lists[i][1] : name;
    mot_level level;
    MOT_TRY(level_of(c, magnitude, std, top, &level, error));
    motley_policy *made;
    MOT_TRY(motley_policy_builtin(name, &made, error));
    change_scale(made, top, c->translate_pct);
    change_levels(made, level);
    change_repeat(made, repeat);
    for (uint32_t i = 0; i < made->steps; i++)
        made->step[i].probability = p;
    return checked(c, made, policy, error);
}

static bool is_blur(const motley_policy *policy, const mot_policy_branch *branch)
{
    return strcmp(policy->space[policy->step[branch->first_step].space].name, MOT_TIMM_BLUR) == 0;
}

/* timm draws the radius of 3a's blur between 0.1 and a fifth of the magnitude. Where the magnitude is drawn too, it is
 * here the middle of one of BLURS cells, each a branch with the range of radii that it means; equal ones are one. False
 * when there is no memory. */
static bool change_blur(motley_policy *policy, double std, double most)
{
    const uint32_t count = std > 0 ? BLURS : 1;
    mot_policy_branch *const branch = realloc(policy->branch, (policy->branches + count) * sizeof *branch);
    policy->branch = branch ? branch : policy->branch;
    mot_policy_step *const step = realloc(policy->step, (policy->steps + count) * sizeof *step);
    policy->step = step ? step : policy->step;
    if (!branch || !step)
        return false;
    uint32_t kept = 0, blur = 0;
    for (uint32_t i = 0; i < policy->branches; i++) {
        if (is_blur(policy, &branch[i])) {
            blur = step[branch[i].first_step].space;
            continue;
        }
        branch[kept] = branch[i];
        branch[kept++].weight = count;
    }
    double last = -1;
    for (uint32_t k = 0; k < count; k++) {
        const double p = (k + 0.5) / count;
        double end = std == HUGE_VAL ? LEVELS * p : LEVELS + (std > 0 ? std : 0) * mot_normal_quantile(p);
        end = fmin(fmin(fmax(end, 0), most), LEVELS);
        if (end == last) {
            branch[kept - 1].weight++;
            continue;
        }
        last = end;
        const double low = fmin(0.5, end), high = fmax(0.5, end); /* radius = level / 5 */
        branch[kept++] = (mot_policy_branch){ .weight = 1, .first_step = policy->steps, .steps = 1 };
        step[policy->steps++] = (mot_policy_step){
            blur, 1, { low < high ? MOT_LEVEL_RANGE : MOT_LEVEL_FIXED, low, low < high ? high : 0 }
        };
    }
    policy->branches = policy->phase[0].branches = kept;
    mot_space *const space = &policy->space[blur];
    space->low = 0, space->span = policy->top / 5;
    space->minimum = -HUGE_VAL, space->maximum = HUGE_VAL;
    return true;
}

static motley_status auto_augment(const config *c, const char *name, motley_policy **policy, motley_error *error)
{
    key keys[] = { { .name = "mstd" } };
    MOT_TRY(read_keys(c, '\0', keys, COUNT(keys), error));
    const double std = isnan(c->std) ? keys[0].number : c->std;
    const double most = isnan(c->most) || c->most == 0 ? LEVELS : c->most;
    const bool fixed = !(std > 0), blurs = strcmp(c->first, "3a") == 0 && (!fixed || most < LEVELS);
    motley_policy *made;
    MOT_TRY(motley_policy_builtin(name, &made, error));
    change_scale(made, fixed ? LEVELS : most, c->translate_pct);
    motley_status status = MOTLEY_OK;
    for (uint32_t i = 0; i < made->steps && status == MOTLEY_OK; i++) {
        mot_level *const level = &made->step[i].level;
        if (level->kind == MOT_LEVEL_FIXED)
            status = level_of(c, fixed && most < level->a ? most : level->a, std, made->top, level, error);
    }
    if (status == MOTLEY_OK && blurs && !change_blur(made, std, most))
        status = mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the branches of a policy");
    if (status == MOTLEY_OK)
        return checked(c, made, policy, error);
    motley_policy_destroy(made);
    return status;
}

static motley_status augmix(const config *c, motley_policy **policy, motley_error *error)
{
    key keys[] = { { .name = "m", true, 3 },     { .name = "w", true, 3 }, { .name = "d", true },
                   { .name = "a", .number = 1 }, { .name = "b", true },    { .name = "mstd", .number = HUGE_VAL } };
    MOT_TRY(read_keys(c, '\0', keys, COUNT(keys), error));
    const int width = (int)keys[1].number;
    MOT_REQUIRE(width > 0, error, "'%.60s': the width of augmix is 0, want 1 to %d", c->text, MOT_MAX_CHAINS);
    const double std = isnan(c->std) ? keys[5].number : c->std;
    double top = isnan(c->most) || c->most == 0 ? LEVELS : c->most, magnitude = keys[0].number;
    if (!(std > 0)) {
        magnitude = fmin(magnitude, top);
        top = fmax(magnitude, LEVELS);
    }
    mot_level level;
    MOT_TRY(level_of(c, magnitude, std, top, &level, error));
    motley_policy *made;
    MOT_TRY(motley_policy_builtin("timm_augmix", &made, error));
    change_scale(made, top, isnan(c->translate_pct) ? 0.45 : c->translate_pct); /* which timm's factory sets to 0.3 */
    change_levels(made, level);
    change_repeat(made, keys[2].number);
    made->augmix = (mot_augmix){ width, keys[3].number, keys[4].number != 0 ? MOT_AUGMIX_BLENDS : MOT_AUGMIX_SUM };
    return checked(c, made, policy, error);
}

motley_status mot_timm_policy(const char *text, motley_policy **policy, motley_error *error)
{
    config c;
    char words[MAX_STRING], wanted[80] = "rand, augmix";
    MOT_TRY(read_config(text, &c, error));
    MOT_TRY(cut(&c, words, error));
    if (strcmp(c.first, "rand") == 0)
        return rand_augment(&c, policy, error);
    if (strcmp(c.first, "augmix") == 0)
        return augmix(&c, policy, error);
    for (size_t i = 0; i < COUNT(auto_augments); i++) {
        if (strcmp(c.first, auto_augments[i][0]) == 0)
            return auto_augment(&c, auto_augments[i][1], policy, error);
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), ", %s", auto_augments[i][0]);
    }
    return mot_fail(error, MOTLEY_ERR_ARGUMENT, "'%.60s': it begins with '%.60s', want %s", c.text, c.first, wanted);
}
