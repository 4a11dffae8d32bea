/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a transform: as canonical text, keys in a fixed order and defaults left out, or as JSON with every setting. */
#include "policies/transform.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct printer {
    mot_text text;
    bool json;
    int settings; /* of the stage, so far */
} printer;

/* Begins a setting: a comma before all but the first of a stage. */
static void setting(printer *w, const char *key)
{
    mot_say(&w->text, w->json ? "%s\"%s\": " : "%s%s: ", w->settings++ ? ", " : "", key);
}

static void say_word(printer *w, const char *word)
{
    mot_say(&w->text, w->json ? "\"%s\"" : "%s", word);
}

static void print_list(printer *w, const double *numbers, int count)
{
    for (int i = 0; i < count; i++)
        mot_say_number(&w->text, i ? ", " : count > 1 ? "[" : "", numbers[i]);
    mot_say(&w->text, count > 1 ? "]" : "");
}

/* Prints a setting; like the next functions, the text omits one that has its default value. */
static void print_range(printer *w, const char *key, const double range[2], double low, double high)
{
    if (!w->json && range[0] == low && range[1] == high)
        return;
    setting(w, key);
    print_list(w, range, 2);
}

static void print_chance(printer *w, const char *key, double p, double standard)
{
    if (!w->json && p == standard)
        return;
    setting(w, key);
    mot_say_number(&w->text, "", p);
}

static void print_word(printer *w, const char *key, const char *const *words, int which, int standard)
{
    if (!w->json && which == standard)
        return;
    setting(w, key);
    say_word(w, words[which]);
}

static void print_size(printer *w, const mot_stage *stage)
{
    setting(w, "size");
    if (stage->height == 0 || (stage->width == stage->height && stage->kind != MOT_STAGE_RESIZE))
        mot_say(&w->text, "%d", stage->width);
    else
        mot_say(&w->text, "[%d, %d]", stage->height, stage->width);
}

static void print_filters(printer *w, const mot_stage *stage)
{
    if (w->json || stage->filters > 1 || stage->filter[0] != MOTLEY_FILTER_BILINEAR) {
        setting(w, "filter");
        for (int i = 0; i < stage->filters; i++) {
            mot_say(&w->text, "%s", i ? ", " : stage->filters > 1 ? "[" : "");
            say_word(w, mot_filter_names[stage->filter[i]]);
        }
        mot_say(&w->text, stage->filters > 1 ? "]" : "");
    }
    print_word(w, "order", mot_order_names, (int)stage->order, MOTLEY_ORDER_PILLOW_13);
}

static void print_jitter(printer *w, const mot_stage *stage)
{
    print_chance(w, "p", stage->p, 1);
    for (int i = 0; i < MOT_JITTERS; i++)
        if (stage->given[i]) {
            setting(w, mot_jitter_names[i]);
            print_list(w, stage->range[i], 2);
        }
}

static void print_output(printer *w, const mot_stage *stage)
{
    if (stage->values) {
        setting(w, "mean");
        print_list(w, stage->mean, stage->values);
        setting(w, "std");
        print_list(w, stage->std, stage->values);
    }
    print_word(w, "convention", mot_convention_names, stage->convention, MOTLEY_NORMALIZATION_TORCHVISION_V1);
    print_word(w, "type", mot_dtype_names, stage->dtype, MOTLEY_F32);
    print_word(w, "layout", mot_layout_names, stage->layout, MOTLEY_CHW);
}

static void print_erase(printer *w, const mot_stage *stage)
{
    print_chance(w, "p", stage->p, 1);
    print_range(w, "area", stage->area, 0.02, 0.33);
    print_range(w, "ratio", stage->ratio, 0.3, 3.3);
    if (stage->erase_values != MOT_ERASE_CONST) {
        setting(w, "value");
        say_word(w, mot_erase_names[stage->erase_values - MOT_ERASE_CHANNEL]);
    } else if (w->json || stage->values) {
        setting(w, "value");
        print_list(w, stage->mean, stage->values ? stage->values : 1);
    }
    if (w->json || stage->boxes[1] > 1) {
        setting(w, "boxes");
        mot_say(&w->text, "[%d, %d]", stage->boxes[0], stage->boxes[1]);
    }
}

static void print_mix(printer *w, const mot_stage *stage)
{
    const motley_mix_params *mix = &stage->mixing;
    print_chance(w, "mixup", mix->mixup, 0);
    print_chance(w, "cutmix", mix->cutmix, 0);
    print_chance(w, "p", mix->p, 1);
    print_chance(w, "switch", mix->switch_p, 0.5);
    print_word(w, "rules", mot_mix_rules_names, (int)mix->rules, 0);
    print_word(w, "mode", mot_mix_mode_names, (int)mix->mode, 0);
    if (mix->minmax[1] > 0)
        print_range(w, "minmax", mix->minmax, 0, 0);
    print_word(w, "lambda", mot_mix_lambda_names, mix->keep_lambda, 0);
    print_word(w, "partner", mot_mix_partner_names, mix->drawn_partner, 0);
    if (stage->classes) {
        setting(w, "classes");
        mot_say(&w->text, "%d", stage->classes);
    }
    print_chance(w, "smoothing", stage->smoothing, 0);
}

/* Prints a built-in policy's name and changes, or the policy's text, indented; as JSON, what the policy can draw. */
static motley_status print_policy(printer *w, const mot_stage *stage, motley_error *error)
{
    const motley_policy_changes *c = &stage->changes;
    char *text;
    if (w->json) {
        MOT_TRY(motley_policy_describe(stage->policy, &text, error));
        mot_say(&w->text, "{\"stage\": \"policy\", \"policy\": ");
        mot_put(&w->text, text, strlen(text) - 1); /* without its newline */
        mot_say(&w->text, "}");
        free(text);
        return MOTLEY_OK;
    }
    if (stage->name) {
        if (!c->repeat && !c->set_level && !c->bins && !c->interpolations && !c->set_fill) {
            mot_say(&w->text, "  - policy: %s\n", stage->name);
            return MOTLEY_OK;
        }
        mot_say(&w->text, "  - policy: {name: %s", stage->name);
        if (c->repeat)
            mot_say(&w->text, ", repeat: %d", c->repeat);
        if (c->bins)
            mot_say(&w->text, ", bins: %d", c->bins);
        if (c->set_level)
            mot_say_number(&w->text, ", level: ", c->level);
        if (c->interpolations) {
            const char *before = ", interpolation: [";
            for (int i = 0; i < 3; i++)
                if (c->interpolations & 1 << i) {
                    mot_say(&w->text, "%s%s", before, mot_interpolation_names[i]);
                    before = ", ";
                }
            mot_say(&w->text, "]");
        }
        if (c->set_fill)
            mot_say(&w->text, ", fill: [%d, %d, %d, %d]", c->fill[0], c->fill[1], c->fill[2], c->fill[3]);
        mot_say(&w->text, "}\n");
        return MOTLEY_OK;
    }
    MOT_TRY(motley_policy_print(stage->policy, &text, error));
    mot_say(&w->text, "  - policy:\n");
    for (const char *line = strchr(text, '\n') + 1; *line;) { /* every line but the format's version */
        const size_t length = strcspn(line, "\n") + 1;
        mot_put(&w->text, "      ", 6);
        mot_put(&w->text, line, length);
        line += length;
    }
    free(text);
    return MOTLEY_OK;
}

static void print_stage(printer *w, const mot_stage *stage)
{
    w->settings = w->json;
    mot_say(&w->text, w->json ? "{\"stage\": \"%s\"" : "  - %s: {", mot_stage_names[stage->kind]);
    switch (stage->kind) {
    case MOT_STAGE_RANDOM_RESIZED_CROP:
        print_size(w, stage);
        print_range(w, "scale", stage->area, 0.08, 1);
        print_range(w, "ratio", stage->ratio, 3.0 / 4, 4.0 / 3);
        print_filters(w, stage);
        break;
    case MOT_STAGE_RESIZE:
        print_size(w, stage);
        print_filters(w, stage);
        break;
    case MOT_STAGE_RANDOM_CROP:
        print_size(w, stage);
        if (w->json || stage->padding) {
            setting(w, "padding");
            mot_say(&w->text, "%d", stage->padding);
        }
        break;
    case MOT_STAGE_FLIP:
        setting(w, "horizontal");
        mot_say_number(&w->text, "", stage->p);
        print_chance(w, "vertical", stage->vertical, 0);
        break;
    case MOT_STAGE_JITTER:
        print_jitter(w, stage);
        break;
    case MOT_STAGE_GRAYSCALE:
        print_chance(w, "p", stage->p, 1);
        break;
    case MOT_STAGE_BLUR:
        print_chance(w, "p", stage->p, 1);
        if (stage->kernel_size) {
            setting(w, "kernel_size");
            mot_say(&w->text, "%d", stage->kernel_size);
        }
        setting(w, stage->kernel_size ? "sigma" : "radius");
        print_list(w, stage->radius, 2);
        break;
    case MOT_STAGE_OUTPUT:
        print_output(w, stage);
        break;
    case MOT_STAGE_ERASE:
        print_erase(w, stage);
        break;
    case MOT_STAGE_MIX:
        print_mix(w, stage);
        break;
    default:
        print_size(w, stage);
    }
    mot_say(&w->text, w->json ? "}" : "}\n");
}

static motley_status check(const motley_transform *transform, char **text, motley_error *error)
{
    MOT_REQUIRE(text, error, "text is NULL, want a place for the result");
    *text = NULL;
    MOT_REQUIRE(transform, error, "transform is NULL, want one that was loaded");
    if (transform->follower)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "a follower of transform '%s' has no text: print the transform",
                        transform->name);
    return MOTLEY_OK;
}

static motley_status print_stages(printer *w, const motley_transform *transform, motley_error *error)
{
    if (transform->to_rgb)
        mot_say(&w->text, w->json ? "\n {\"stage\": \"to_rgb\"}" : "  - to_rgb: {}\n");
    for (uint32_t i = 0; i < transform->stages; i++) {
        if (w->json)
            mot_say(&w->text, i || transform->to_rgb ? ",\n " : "\n ");
        if (transform->stage[i].kind == MOT_STAGE_POLICY)
            MOT_TRY(print_policy(w, &transform->stage[i], error));
        else
            print_stage(w, &transform->stage[i]);
    }
    return MOTLEY_OK;
}

/* Gives the text to the caller, or frees it if something failed. */
static motley_status finish(printer *w, motley_status status, const motley_transform *transform, char **text,
                            motley_error *error)
{
    if (status == MOTLEY_OK && w->text.failed)
        status = mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the text of transform '%s'", transform->name);
    if (status == MOTLEY_OK)
        *text = w->text.text;
    else
        free(w->text.text);
    return status;
}

motley_status motley_transform_print(const motley_transform *transform, char **text, motley_error *error)
{
    MOT_TRY(check(transform, text, error));
    if (transform->plain)
        return motley_policy_print(transform->stage[0].policy, text, error);
    printer w = { 0 };
    mot_say(&w.text, "motley: 1\nname: %s\n", transform->name);
    mot_print_quoted(&w.text, "title", transform->title);
    if (transform->profile)
        mot_say(&w.text, "profile: %s\n", transform->profile);
    mot_print_quoted(&w.text, "paper", transform->paper);
    mot_print_quoted(&w.text, "table", transform->table);
    mot_print_quoted(&w.text, "version", transform->version);
    mot_say(&w.text, "stages:\n");
    return finish(&w, print_stages(&w, transform, error), transform, text, error);
}

motley_status motley_transform_print_json(const motley_transform *transform, char **json, motley_error *error)
{
    MOT_TRY(check(transform, json, error));
    const char *const head[][2] = { { "name", transform->name },       { "title", transform->title },
                                    { "profile", transform->profile }, { "paper", transform->paper },
                                    { "table", transform->table },     { "version", transform->version } };
    printer w = { .json = true };
    mot_say(&w.text, "{");
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
        setting(&w, head[i][0]);
        if (head[i][1])
            mot_say_quoted(&w.text, head[i][1]);
        else
            mot_say(&w.text, "null");
    }
    setting(&w, "stages");
    mot_say(&w.text, "[");
    const motley_status status = print_stages(&w, transform, error);
    mot_say(&w.text, "]}\n");
    return finish(&w, status, transform, json, error);
}
