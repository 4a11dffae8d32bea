/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a transform as canonical text: keys in a fixed order, defaults left out. */
#include "policies/transform.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void quoted(mot_text *w, const char *key, const char *text)
{
    if (!text)
        return;
    mot_say(w, "%s: ", key);
    mot_say_quoted(w, text);
    mot_say(w, "\n");
}

/* Begins a setting: a comma before all but the first of a stage. */
static void setting(mot_text *w, int *count, const char *key)
{
    mot_say(w, "%s%s: ", (*count)++ ? ", " : "", key);
}

static void print_list(mot_text *w, const double *numbers, int count)
{
    for (int i = 0; i < count; i++)
        mot_say_number(w, i ? ", " : count > 1 ? "[" : "", numbers[i]);
    mot_say(w, count > 1 ? "]" : "");
}

static void print_range(mot_text *w, int *n, const char *key, const double range[2], double low, double high)
{
    if (range[0] == low && range[1] == high)
        return;
    setting(w, n, key);
    print_list(w, range, 2);
}

static void print_chance(mot_text *w, int *n, const char *key, double p, double standard)
{
    if (p == standard)
        return;
    setting(w, n, key);
    mot_say_number(w, "", p);
}

static void print_size(mot_text *w, int *n, const mot_stage *stage)
{
    setting(w, n, "size");
    if (stage->height == 0 || (stage->width == stage->height && stage->kind != MOT_STAGE_RESIZE))
        mot_say(w, "%d", stage->width);
    else
        mot_say(w, "[%d, %d]", stage->height, stage->width);
}

static void print_filters(mot_text *w, int *n, const mot_stage *stage)
{
    if (stage->filters > 1 || stage->filter[0] != MOTLEY_FILTER_BILINEAR) {
        setting(w, n, "filter");
        for (int i = 0; i < stage->filters; i++)
            mot_say(w, "%s%s", i ? ", " : stage->filters > 1 ? "[" : "", mot_filter_names[stage->filter[i]]);
        mot_say(w, stage->filters > 1 ? "]" : "");
    }
    if (stage->order != MOTLEY_ORDER_PILLOW_13) {
        setting(w, n, "order");
        mot_say(w, "%s", mot_order_names[stage->order]);
    }
}

static void print_jitter(mot_text *w, int *n, const mot_stage *stage)
{
    print_chance(w, n, "p", stage->p, 1);
    for (int i = 0; i < MOT_JITTERS; i++)
        if (stage->given[i]) {
            setting(w, n, mot_jitter_names[i]);
            print_list(w, stage->range[i], 2);
        }
}

static void print_output(mot_text *w, int *n, const mot_stage *stage)
{
    if (stage->values) {
        setting(w, n, "mean");
        print_list(w, stage->mean, stage->values);
        setting(w, n, "std");
        print_list(w, stage->std, stage->values);
    }
    if (stage->convention != MOTLEY_NORMALIZATION_TORCHVISION_V1) {
        setting(w, n, "convention");
        mot_say(w, "%s", mot_convention_names[stage->convention]);
    }
    if (stage->dtype != MOTLEY_F32) {
        setting(w, n, "type");
        mot_say(w, "%s", mot_dtype_names[stage->dtype]);
    }
    if (stage->layout != MOTLEY_CHW) {
        setting(w, n, "layout");
        mot_say(w, "%s", mot_layout_names[stage->layout]);
    }
}

static void print_erase(mot_text *w, int *n, const mot_stage *stage)
{
    print_chance(w, n, "p", stage->p, 1);
    print_range(w, n, "area", stage->area, 0.02, 0.33);
    print_range(w, n, "ratio", stage->ratio, 0.3, 3.3);
    if (stage->erase_values != MOT_ERASE_CONST) {
        setting(w, n, "value");
        mot_say(w, "%s", mot_erase_names[stage->erase_values - MOT_ERASE_CHANNEL]);
    } else if (stage->values) {
        setting(w, n, "value");
        print_list(w, stage->mean, stage->values);
    }
    if (stage->boxes[1] > 1) {
        setting(w, n, "boxes");
        mot_say(w, "[%d, %d]", stage->boxes[0], stage->boxes[1]);
    }
}

static void print_word(mot_text *w, int *n, const char *key, const char *const *words, int which)
{
    if (which == 0)
        return;
    setting(w, n, key);
    mot_say(w, "%s", words[which]);
}

static void print_mix(mot_text *w, int *n, const mot_stage *stage)
{
    const motley_mix_params *mix = &stage->mixing;
    print_chance(w, n, "mixup", mix->mixup, 0);
    print_chance(w, n, "cutmix", mix->cutmix, 0);
    print_chance(w, n, "p", mix->p, 1);
    print_chance(w, n, "switch", mix->switch_p, 0.5);
    print_word(w, n, "rules", mot_mix_rules_names, (int)mix->rules);
    print_word(w, n, "mode", mot_mix_mode_names, (int)mix->mode);
    print_range(w, n, "minmax", mix->minmax, 0, 0);
    print_word(w, n, "lambda", mot_mix_lambda_names, mix->keep_lambda);
    print_word(w, n, "partner", mot_mix_partner_names, mix->drawn_partner);
    if (stage->classes) {
        setting(w, n, "classes");
        mot_say(w, "%d", stage->classes);
    }
    print_chance(w, n, "smoothing", stage->smoothing, 0);
}

/* Prints a built-in policy's name and changes, or the policy's text, indented. */
static motley_status print_policy(mot_text *w, const mot_stage *stage, motley_error *error)
{
    const motley_policy_changes *c = &stage->changes;
    if (stage->name) {
        int n = 0;
        if (!c->repeat && !c->set_level && !c->bins && !c->interpolations && !c->set_fill) {
            mot_say(w, "  - policy: %s\n", stage->name);
            return MOTLEY_OK;
        }
        mot_say(w, "  - policy: {");
        setting(w, &n, "name");
        mot_say(w, "%s", stage->name);
        if (c->repeat)
            mot_say(w, ", repeat: %d", c->repeat);
        if (c->bins)
            mot_say(w, ", bins: %d", c->bins);
        if (c->set_level)
            mot_say_number(w, ", level: ", c->level);
        if (c->interpolations) {
            const char *before = ", interpolation: [";
            for (int i = 0; i < 3; i++)
                if (c->interpolations & 1 << i) {
                    mot_say(w, "%s%s", before, mot_interpolation_names[i]);
                    before = ", ";
                }
            mot_say(w, "]");
        }
        if (c->set_fill)
            mot_say(w, ", fill: [%d, %d, %d, %d]", c->fill[0], c->fill[1], c->fill[2], c->fill[3]);
        mot_say(w, "}\n");
        return MOTLEY_OK;
    }
    char *text;
    MOT_TRY(motley_policy_print(stage->policy, &text, error));
    mot_say(w, "  - policy:\n");
    for (const char *line = strchr(text, '\n') + 1; *line;) { /* every line but the format's version */
        const size_t length = strcspn(line, "\n") + 1;
        mot_put(w, "      ", 6);
        mot_put(w, line, length);
        line += length;
    }
    free(text);
    return MOTLEY_OK;
}

static void print_stage(mot_text *w, const mot_stage *stage)
{
    int n = 0;
    mot_say(w, "  - %s: {", mot_stage_names[stage->kind]);
    switch (stage->kind) {
    case MOT_STAGE_RANDOM_RESIZED_CROP:
        print_size(w, &n, stage);
        print_range(w, &n, "scale", stage->area, 0.08, 1);
        print_range(w, &n, "ratio", stage->ratio, 3.0 / 4, 4.0 / 3);
        print_filters(w, &n, stage);
        break;
    case MOT_STAGE_RESIZE:
        print_size(w, &n, stage);
        print_filters(w, &n, stage);
        break;
    case MOT_STAGE_RANDOM_CROP:
        print_size(w, &n, stage);
        if (stage->padding)
            mot_say(w, ", padding: %d", stage->padding);
        break;
    case MOT_STAGE_FLIP:
        setting(w, &n, "horizontal");
        mot_say_number(w, "", stage->p);
        print_chance(w, &n, "vertical", stage->vertical, 0);
        break;
    case MOT_STAGE_JITTER:
        print_jitter(w, &n, stage);
        break;
    case MOT_STAGE_GRAYSCALE:
        print_chance(w, &n, "p", stage->p, 1);
        break;
    case MOT_STAGE_BLUR:
        print_chance(w, &n, "p", stage->p, 1);
        if (stage->kernel_size) {
            setting(w, &n, "kernel_size");
            mot_say(w, "%d", stage->kernel_size);
        }
        setting(w, &n, stage->kernel_size ? "sigma" : "radius");
        print_list(w, stage->radius, 2);
        break;
    case MOT_STAGE_OUTPUT:
        print_output(w, &n, stage);
        break;
    case MOT_STAGE_ERASE:
        print_erase(w, &n, stage);
        break;
    case MOT_STAGE_MIX:
        print_mix(w, &n, stage);
        break;
    default:
        print_size(w, &n, stage);
    }
    mot_say(w, "}\n");
}

motley_status motley_transform_print(const motley_transform *transform, char **text, motley_error *error)
{
    MOT_REQUIRE(text, error, "text is NULL, want a place for the result");
    *text = NULL;
    MOT_REQUIRE(transform, error, "transform is NULL, want one that was loaded");
    if (transform->follower)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "a follower of transform '%s' has no text: print the transform",
                        transform->name);
    if (transform->plain)
        return motley_policy_print(transform->stage[0].policy, text, error);
    mot_text w = { 0 };
    mot_say(&w, "motley: 1\nname: %s\n", transform->name);
    quoted(&w, "title", transform->title);
    if (transform->profile)
        mot_say(&w, "profile: %s\n", transform->profile);
    quoted(&w, "paper", transform->paper);
    quoted(&w, "table", transform->table);
    quoted(&w, "version", transform->version);
    mot_say(&w, "stages:\n");
    motley_status status = MOTLEY_OK;
    for (uint32_t i = 0; i < transform->stages && status == MOTLEY_OK; i++) {
        if (transform->stage[i].kind == MOT_STAGE_POLICY)
            status = print_policy(&w, &transform->stage[i], error);
        else
            print_stage(&w, &transform->stage[i]);
    }
    if (status == MOTLEY_OK && w.failed)
        status = mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the text of transform '%s'", transform->name);
    if (status != MOTLEY_OK) {
        free(w.text);
        return status;
    }
    *text = w.text;
    return MOTLEY_OK;
}
