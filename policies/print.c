/* SPDX-License-Identifier: Apache-2.0 */
/* A policy as canonical text: keys in one order, defaults left out, numbers as short as they can be. */
#include "base/error.h"
#include "base/number.h"
#include "policies/policy.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that grows; after a failure it stays failed. */
typedef struct writer {
    char *text;
    size_t used, room;
    bool failed;
} writer;

static void put(writer *w, const char *text, size_t length)
{
    if (!w->failed && w->room - w->used < length + 1) {
        const size_t room = (w->used + length + 1) * 2;
        char *grown = realloc(w->text, room);
        w->failed = !grown;
        if (grown) {
            w->text = grown;
            w->room = room;
        }
    }
    if (w->failed)
        return;
    memcpy(w->text + w->used, text, length);
    w->used += length;
    w->text[w->used] = '\0';
}

/* Writes short text; numbers go through `value` for the locale's sake. */
__attribute__((format(printf, 2, 3))) static void say(writer *w, const char *format, ...)
{
    char line[256];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    put(w, line, strlen(line));
}

/* Writes `before`, then a number. */
static void value(writer *w, const char *before, double number)
{
    char text[MOT_NUMBER_ROOM];
    mot_number_print(number, text);
    say(w, "%s%s", before, text);
}

/* Writes a key with a quoted text. What YAML would not take or would fold in quotes is escaped. */
static void quoted(writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    say(w, "%s: \"", key);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        unsigned code = *s;
        size_t n = 1;
        for (n = 1; (s[n] & 0xC0) == 0x80; n++)
            code = n == 1 ? (*s & (*s >= 0xF0   ? 0x07u
                                   : *s >= 0xE0 ? 0x0Fu
                                                : 0x1Fu))
                                    << 6 |
                                (s[n] & 0x3Fu)
                          : code << 6 | (s[n] & 0x3Fu);
        if (code == '"' || code == '\\')
            say(w, "\\%c", (char)code);
        else if (code < 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0x2028 || code == 0x2029 || code == 0xFEFF ||
                 code == 0xFFFE || code == 0xFFFF)
            say(w, "\\u%04x", code);
        else
            put(w, (const char *)s, n);
        s += n;
    }
    say(w, "\"\n");
}

static void print_level(writer *w, const mot_level *level)
{
    switch (level->kind) {
    case MOT_LEVEL_NONE:
        break;
    case MOT_LEVEL_FIXED:
        value(w, "level: ", level->a);
        break;
    case MOT_LEVEL_UNIFORM:
        say(w, "level: uniform");
        break;
    case MOT_LEVEL_RANGE:
        value(w, "level: {uniform: [", level->a);
        value(w, ", ", level->b);
        say(w, "]}");
        break;
    case MOT_LEVEL_NORMAL:
        value(w, "level: {normal: ", level->a);
        value(w, ", std: ", level->b);
        say(w, "}");
        break;
    case MOT_LEVEL_VALUE:
        value(w, "value: ", level->a);
        break;
    }
}

static void print_fill(writer *w, uint32_t fills, const uint8_t *fill)
{
    for (uint32_t i = 0; i < fills; i++)
        say(w, "%s%d", i ? ", " : fills > 1 ? "[" : "", fill[i]);
    say(w, fills > 1 ? "]" : "");
}

static void print_head(writer *w, const motley_policy *policy)
{
    say(w, "motley: 1\nname: %s\n", policy->name);
    quoted(w, "title", policy->title);
    if (policy->profile)
        say(w, "profile: %s\n", policy->profile);
    quoted(w, "paper", policy->paper);
    quoted(w, "table", policy->table);
    quoted(w, "version", policy->version);
    if (policy->arithmetic != MOT_ARITHMETIC_DOUBLE)
        say(w, "arithmetic: %s\n", mot_arithmetic_names[policy->arithmetic]);
    say(w, policy->interpolations > 1 ? "interpolation: [" : "interpolation: ");
    for (uint32_t i = 0; i < policy->interpolations; i++)
        say(w, "%s%s", i ? ", " : "", mot_interpolation_names[policy->interpolation[i]]);
    say(w, policy->interpolations > 1 ? "]\nfill: " : "\nfill: ");
    print_fill(w, policy->fills, policy->fill);
    say(w, "\n");
    if (policy->repeat_weights) {
        for (uint32_t i = 0; i < policy->repeat_weights; i++)
            value(w, i ? ", " : "repeat: {weights: [", policy->repeat_weight[i]);
        say(w, "]}\n");
    } else {
        say(w, "repeat: %u\n", policy->repeat);
    }
    if (policy->choice != MOT_WITH_REPLACEMENT)
        say(w, "choice: %s\n", mot_choice_names[policy->choice]);
    if (policy->top_bins)
        say(w, "bins: %d\n", policy->top_bins);
    else if (policy->top > 0) {
        value(w, "top: ", policy->top);
        say(w, "\n");
    }
    if (policy->level.kind != MOT_LEVEL_NONE) {
        print_level(w, &policy->level);
        say(w, "\n");
    }
}

static void print_space(writer *w, const motley_policy *policy, const mot_space *space)
{
    const char *op = motley_policy_op(policy, space->op)->name;
    const bool renamed = strcmp(op, space->name) != 0;
    say(w, "  %s: {", space->name);
    if (renamed)
        say(w, "op: %s%s", op, space->has_levels || space->fills ? ", " : "");
    if (space->has_levels) {
        const double high = space->low + space->span;
        const bool exact = high - space->low == space->span && fabs(high) <= 1e9;
        value(w, exact ? "range: [" : "low: ", space->low);
        value(w, exact ? ", " : ", span: ", exact ? high : space->span);
        if (exact)
            say(w, "]");
        if (space->base != 0)
            value(w, ", base: ", space->base);
        if (space->sign != MOT_SIGN_PLUS)
            say(w, ", sign: %s", mot_sign_names[space->sign]);
        if (space->side != MOT_SIDE_NONE)
            say(w, ", of: %s", mot_side_names[space->side]);
        if (space->rounding != MOT_ROUND_NONE)
            say(w, ", round: %s", mot_rounding_names[space->rounding]);
        if (space->minimum != -HUGE_VAL)
            value(w, ", min: ", space->minimum);
        if (space->maximum != HUGE_VAL)
            value(w, ", max: ", space->maximum);
        if (space->via_degrees)
            say(w, ", via: degrees");
    }
    if (space->fills) {
        say(w, space->has_levels ? ", fill: " : "fill: ");
        print_fill(w, space->fills, space->fill);
    }
    say(w, "}\n");
}

static void print_step(writer *w, const motley_policy *policy, const mot_policy_step *step)
{
    const mot_space *space = &policy->space[step->space];
    const bool level = step->level.kind == MOT_LEVEL_VALUE ||
                       (space->has_levels && (step->level.kind != policy->level.kind ||
                                              step->level.a != policy->level.a || step->level.b != policy->level.b));
    if (!level && step->probability == 1) {
        say(w, "%s", space->name);
        return;
    }
    say(w, "{op: %s", space->name);
    if (step->probability != 1)
        value(w, ", p: ", step->probability);
    if (level) {
        say(w, ", ");
        print_level(w, &step->level);
    }
    say(w, "}");
}

static void print_branches(writer *w, const motley_policy *policy, const mot_policy_phase *phase, const char *indent)
{
    for (uint32_t i = 0; i < phase->branches; i++) {
        const mot_policy_branch *branch = &policy->branch[phase->first_branch + i];
        say(w, "%s  - ", indent);
        if (branch->weight != 1) {
            value(w, "{weight: ", branch->weight);
            say(w, ", steps: ");
        }
        if (branch->steps > 1)
            say(w, "[");
        for (uint32_t s = 0; s < branch->steps; s++) {
            say(w, "%s", s ? ", " : "");
            print_step(w, policy, &policy->step[branch->first_step + s]);
        }
        say(w, "%s%s\n", branch->steps > 1 ? "]" : "", branch->weight != 1 ? "}" : "");
    }
}

motley_status motley_policy_print(const motley_policy *policy, char **text, motley_error *error)
{
    MOT_REQUIRE(text, error, "text is NULL, want a place for the result");
    *text = NULL;
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    writer w = { 0 };
    print_head(&w, policy);
    say(&w, "ops:\n");
    for (uint32_t i = 0; i < policy->spaces; i++)
        print_space(&w, policy, &policy->space[i]);
    if (policy->phases > 1)
        say(&w, "phases:\n");
    for (uint32_t i = 0; i < policy->phases; i++) {
        if (policy->phases > 1)
            say(&w, "  - from: %u\n    branches:\n", policy->phase[i].first_epoch);
        else
            say(&w, "branches:\n");
        print_branches(&w, policy, &policy->phase[i], policy->phases > 1 ? "    " : "");
    }
    if (w.failed) {
        free(w.text);
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the text of policy '%s'", policy->name);
    }
    *text = w.text;
    return MOTLEY_OK;
}
