/* SPDX-License-Identifier: Apache-2.0 */
/* timm's configuration strings as policies: built-in policies of timm's lists, with what a string changes of them.
 *
 * Strings are read as timm 1.0.31 reads them (timm/data/auto_augment.py). What the lists hold and how a level becomes a
 * value stands in the policy files; only numbers are exchanged here. */
#include "augmentations/timm.h"
#include "base/error.h"
#include "base/number.h"
#include "policies/builtin.h"
#include "policies/policy.h"

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

/* The ranges of a policy's ops, to be changed. */
typedef struct ranges {
    motley_policy_range range[MOT_MAX_SPACES];
    size_t count;
} ranges;

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
    strcpy(c->chars, text);
    char *settings = strchr(c->chars, ','), *end;
    if (settings)
        *settings++ = '\0';
    c->text = c->chars;
    while (settings) {
        if ((end = strchr(settings, ',')))
            *end = '\0';
        MOT_TRY(read_setting(c, settings, error));
        settings = end ? end + 1 : NULL;
    }
    return MOTLEY_OK;
}

/* Cuts the string into `words` [MAX_STRING], since messages quote it whole. */
static motley_status cut(config *c, char *words, motley_error *error)
{
    strcpy(words, c->text);
    c->first = words;
    for (char *dash = strchr(words, '-'); dash; dash = strchr(dash, '-')) {
        *dash++ = '\0';
        MOT_REQUIRE(c->sections < (int)COUNT(c->section), error, "'%.60s': it has more than %zu sections", c->text,
                    COUNT(c->section));
        c->section[c->sections++] = dash;
    }
    return MOTLEY_OK;
}

/* A key of a string: "m9" has the key m and the text 9. */
typedef struct key {
    const char *name;
    const char *text; /* NULL: the string does not have it */
} key;

/* Finds the keys' texts; a section without a digit is skipped, as timm does, and so is one that begins with `skipped`,
 * which is '\0' for none. The last of two counts. */
static motley_status find_keys(const config *c, char skipped, key *keys, size_t count, motley_error *error)
{
    for (int i = 0; i < c->sections; i++) {
        const char *const section = c->section[i];
        const size_t length = strcspn(section, "0123456789");
        if (!section[length] || (skipped && *section == skipped))
            continue;
        size_t k = 0;
        while (k < count && !(strlen(keys[k].name) == length && strncmp(keys[k].name, section, length) == 0))
            k++;
        if (k < count) {
            keys[k].text = section + length;
            continue;
        }
        char wanted[60] = "";
        for (k = 0; k < count; k++)
            snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%s%s", k ? ", " : "", keys[k].name);
        const bool weights = length == 1 && *section == 'w';
        return mot_fail(error, MOTLEY_ERR_ARGUMENT, "'%.60s': section '%s' is not known, want %s%s", c->text, section,
                        wanted, weights ? " (timm dropped w; its list of weights is 'tweights')" : "");
    }
    return MOTLEY_OK;
}

static motley_status real(const config *c, const key *k, double otherwise, double *value, motley_error *error)
{
    *value = otherwise;
    MOT_REQUIRE(!k->text || mot_number_parse(k->text, value), error, "'%.60s': %s is '%s', want a number", c->text,
                k->name, k->text);
    return MOTLEY_OK;
}

static motley_status whole(const config *c, const key *k, int otherwise, int *value, motley_error *error)
{
    MOT_REQUIRE(!k->text || !k->text[strspn(k->text, "0123456789")], error, "'%.60s': %s is '%s', want a whole number",
                c->text, k->name, k->text);
    const long read = k->text ? strtol(k->text, NULL, 10) : otherwise;
    *value = read > INT_MAX ? INT_MAX : (int)read;
    return MOTLEY_OK;
}

/* --- changes --- */

static motley_status level_of(const config *c, double magnitude, double std, double top, motley_level *level,
                              motley_error *error)
{
    *level = (motley_level){ MOTLEY_LEVEL_FIXED, magnitude, 0 };
    if (std != HUGE_VAL) {
        if (std > 0)
            *level = (motley_level){ MOTLEY_LEVEL_NORMAL, magnitude, std };
        return MOTLEY_OK;
    }
    if (magnitude > top)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "'%.60s': a uniform magnitude of 0 to %g that is cut at %g is none that a policy can draw: "
                        "raise mmax",
                        c->text, magnitude, top);
    if (magnitude > 0)
        *level = (motley_level){ MOTLEY_LEVEL_RANGE, 0, magnitude };
    return MOTLEY_OK;
}

/* A scale that ends at `top`, with the same values at the same levels; translate_pct is the fraction of a side at level
 * 10. */
static void change_scale(const motley_policy *base, double top, double translate_pct, ranges *r,
                         motley_policy_changes *changes)
{
    const double factor = top / LEVELS;
    for (r->count = 0; mot_policy_range_get(base, r->count, &r->range[r->count]); r->count++) {
        motley_policy_range *const range = &r->range[r->count];
        range->span *= top != LEVELS ? factor : 1;
        for (size_t k = 0; top > LEVELS && k < COUNT(mot_timm_limits); k++)
            if (strcmp(mot_timm_limits[k].name, range->name) == 0) {
                range->minimum = mot_timm_limits[k].minimum == -HUGE_VAL ? range->minimum : mot_timm_limits[k].minimum;
                range->maximum = mot_timm_limits[k].maximum;
            }
        if (!isnan(translate_pct) && strncmp(range->name, "translate_", 10) == 0) {
            range->low = 0;
            range->span = factor * translate_pct;
        }
    }
    changes->top = top;
    changes->ranges = r->range;
    changes->ranges_count = r->count;
}

/* What the policy is called. */
typedef struct names {
    char name[MOT_MAX_NAME + 1], title[MAX_STRING + 8];
} names;

static motley_status change_named(const config *c, const motley_policy *base, motley_policy_changes *changes,
                                  motley_policy **policy, motley_error *error)
{
    names n;
    snprintf(n.title, sizeof n.title, "timm %s", c->text);
    snprintf(n.name, sizeof n.name, "timm_%.*s", MOT_MAX_NAME - 5, c->text);
    for (char *s = n.name; *s; s++)
        if (!mot_is_name((char[]){ 'a', *s, '\0' }, 2))
            *s = '_';
    changes->name = n.name;
    changes->title = n.title;
    return motley_policy_change(base, changes, policy, error);
}

/* --- the three kinds of strings --- */

static motley_status rand_augment(const config *c, motley_policy **policy, motley_error *error)
{
    key keys[] = { { "m", 0 }, { "n", 0 }, { "p", 0 }, { "mstd", 0 }, { "mmax", 0 }, { "inc", 0 } };
    int magnitude_read = 0, repeat = 0, cut_at = 0, increasing = 0;
    double std, p;
    MOT_TRY(find_keys(c, 't', keys, COUNT(keys), error));
    MOT_TRY(whole(c, &keys[0], (int)LEVELS, &magnitude_read, error));
    MOT_TRY(whole(c, &keys[1], 0, &repeat, error));
    MOT_TRY(whole(c, &keys[4], 0, &cut_at, error));
    MOT_TRY(whole(c, &keys[5], 0, &increasing, error));
    MOT_TRY(real(c, &keys[3], 0, &std, error));
    MOT_TRY(real(c, &keys[2], 0.5, &p, error));
    MOT_REQUIRE(repeat > 0 || !keys[1].text, error, "'%.60s': repeat is 0, want 1 or more", c->text);
    std = !isnan(c->std) ? c->std : std > 100 ? HUGE_VAL : std;
    double most = !isnan(c->most) ? c->most : cut_at, magnitude = magnitude_read;
    most = most != 0 ? most : LEVELS;
    const bool fixed = !(std > 0);
    if (fixed && most < magnitude)
        magnitude = most;
    /* A fixed level past timm's scale is the top of ours, so that its value comes out of the same operations. */
    const double top = !fixed ? most : magnitude <= LEVELS ? LEVELS : magnitude;
    const char *name = increasing ? "timm_rand_m9_mstd05_inc1" : "timm_rand_augment", *list = NULL;
    for (int i = c->sections; i-- > 0;)
        list = c->section[i][0] == 't' ? c->section[i] + 1 : list;
    for (size_t i = 0; list && i < COUNT(lists); i++)
        name = strcmp(lists[i][0], list) == 0 ? lists[i][1] : name;
    motley_policy_changes changes = { .set_p = 1, .p = p, .repeat = repeat };
    MOT_TRY(level_of(c, magnitude, std, top, &changes.levels, error));
    motley_policy *base;
    ranges r;
    MOT_TRY(motley_policy_builtin(name, &base, error));
    change_scale(base, top, c->translate_pct, &r, &changes);
    const motley_status status = change_named(c, base, &changes, policy, error);
    motley_policy_destroy(base);
    return status;
}

/* The branches of a policy, to be changed. */
typedef struct branches {
    motley_policy_branch branch[128];
    motley_policy_step step[256];
    size_t count, steps;
} branches;

static motley_policy_step *add_branch(branches *b, double weight, size_t steps)
{
    motley_policy_step *const step = &b->step[b->steps];
    b->branch[b->count++] = (motley_policy_branch){ .weight = weight, .steps_count = steps, .steps = step };
    b->steps += steps;
    return step;
}

static bool is_blur(const motley_policy_step *step)
{
    return strcmp(step->op, MOT_TIMM_BLUR) == 0;
}

/* timm draws the radius of 3a's blur between 0.1 and a fifth of the magnitude. Where the magnitude is drawn too, it is
 * here the middle of one of BLURS cells, each a branch with the range of radii that it means; equal ones are one. */
static void add_blurs(branches *b, double std, double most)
{
    const int count = std > 0 ? BLURS : 1;
    double last = -1;
    for (int k = 0; k < count; k++) {
        const double p = (k + 0.5) / count;
        double end = std == HUGE_VAL ? LEVELS * p : LEVELS + (std > 0 ? std : 0) * mot_normal_quantile(p);
        end = fmin(fmin(fmax(end, 0), most), LEVELS);
        if (end == last) {
            b->branch[b->count - 1].weight++;
            continue;
        }
        last = end;
        const double low = fmin(0.5, end), high = fmax(0.5, end); /* radius = level / 5 */
        *add_branch(b, 1, 1) = (motley_policy_step){
            MOT_TIMM_BLUR, 1, { low < high ? MOTLEY_LEVEL_RANGE : MOTLEY_LEVEL_FIXED, low, low < high ? high : 0 }
        };
    }
}

static motley_status auto_augment(const config *c, const char *name, motley_policy **policy, motley_error *error)
{
    key keys[] = { { "mstd", 0 } };
    double std;
    MOT_TRY(find_keys(c, '\0', keys, COUNT(keys), error));
    MOT_TRY(real(c, &keys[0], 0, &std, error));
    std = isnan(c->std) ? std : c->std;
    const double most = isnan(c->most) || c->most == 0 ? LEVELS : c->most;
    const bool fixed = !(std > 0), blurs = strcmp(c->first, "3a") == 0 && (!fixed || most < LEVELS);
    const double top = fixed ? LEVELS : most;
    branches b = { .count = 0 };
    ranges r;
    motley_policy *base;
    motley_policy_changes changes = { .branches = b.branch };
    motley_policy_branch branch;
    motley_policy_step step;
    MOT_TRY(motley_policy_builtin(name, &base, error));
    motley_status status = MOTLEY_OK;
    for (size_t i = 0; mot_policy_branch_get(base, i, &branch); i++) {
        mot_policy_step_get(base, i, 0, &step);
        if (blurs && is_blur(&step))
            continue;
        motley_policy_step *const steps =
            add_branch(&b, blurs ? (std > 0 ? BLURS : 1) : branch.weight, branch.steps_count);
        for (size_t k = 0; mot_policy_step_get(base, i, k, &steps[k]); k++)
            if (steps[k].level.kind == MOTLEY_LEVEL_FIXED && status == MOTLEY_OK) {
                const double level = steps[k].level.a;
                status = level_of(c, fixed && most < level ? most : level, std, top, &steps[k].level, error);
            }
    }
    change_scale(base, top, c->translate_pct, &r, &changes);
    for (size_t k = 0; blurs && k < r.count; k++)
        if (strcmp(r.range[k].name, MOT_TIMM_BLUR) == 0)
            r.range[k] = (motley_policy_range){ r.range[k].name, 0, top / 5, r.range[k].base, -HUGE_VAL, HUGE_VAL };
    if (blurs)
        add_blurs(&b, std, most);
    changes.branches_count = b.count;
    if (status == MOTLEY_OK)
        status = change_named(c, base, &changes, policy, error);
    motley_policy_destroy(base);
    return status;
}

static motley_status augmix(const config *c, motley_policy **policy, motley_error *error)
{
    key keys[] = { { "m", 0 }, { "w", 0 }, { "d", 0 }, { "a", 0 }, { "b", 0 }, { "mstd", 0 } };
    int magnitude_read = 0, width = 0, depth = 0, blends = 0;
    double std, alpha;
    MOT_TRY(find_keys(c, '\0', keys, COUNT(keys), error));
    MOT_TRY(whole(c, &keys[0], 3, &magnitude_read, error));
    MOT_TRY(whole(c, &keys[1], 3, &width, error));
    MOT_TRY(whole(c, &keys[4], 0, &blends, error));
    MOT_TRY(real(c, &keys[5], HUGE_VAL, &std, error));
    MOT_TRY(real(c, &keys[3], 1, &alpha, error));
    MOT_TRY(whole(c, &keys[2], 0, &depth, error));
    MOT_REQUIRE(width > 0, error, "'%.60s': the width of augmix is 0, want 1 to %d", c->text, MOT_MAX_CHAINS);
    std = isnan(c->std) ? std : c->std;
    double top = isnan(c->most) || c->most == 0 ? LEVELS : c->most, magnitude = magnitude_read;
    if (!(std > 0)) {
        magnitude = fmin(magnitude, top);
        top = fmax(magnitude, LEVELS);
    }
    motley_policy_changes changes = {
        .repeat = depth,
        .set_augmix = 1,
        .augmix = { width, alpha, blends ? MOTLEY_AUGMIX_BLENDS : MOTLEY_AUGMIX_SUM },
    };
    MOT_TRY(level_of(c, magnitude, std, top, &changes.levels, error));
    motley_policy *base;
    ranges r;
    MOT_TRY(motley_policy_builtin("timm_augmix", &base, error));
    const double pct = isnan(c->translate_pct) ? 0.45 : c->translate_pct; /* which timm's factory sets to 0.3 */
    change_scale(base, top, pct, &r, &changes);
    const motley_status status = change_named(c, base, &changes, policy, error);
    motley_policy_destroy(base);
    return status;
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
