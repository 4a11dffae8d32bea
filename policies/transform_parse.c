/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a transform's text into its stages. doc/policy-format.md describes the text; every problem is kept with its
 * place. */
#include "policies/transform.h"

#include "augmentations/kernel_blur.h"
#include "augmentations/ops.h"
#include "base/params.h"
#include "policies/mix.h"
#include "policies/reader.h"
#include "policies/transform_draw.h"

#include <stdlib.h>

/* Reads a list of `least` to `most` numbers in low..high, or a single number where `least` is 1. Returns how many were
 * read; 0 after a problem. */
static int numbers(reader *r, const mot_yaml *node, const char *what, int least, int most, double low, double high,
                   double *out)
{
    if (node->kind != MOT_YAML_LIST && least == 1)
        return number(r, node, what, low, high, out) ? 1 : 0;
    if (node->kind != MOT_YAML_LIST || (int)node->children < least || (int)node->children > most) {
        if (least == most)
            PROBLEM(r, node, "%s wants a list of %d numbers", what, least);
        else
            PROBLEM(r, node, "%s wants a number, or a list of up to %d", what, most);
        return 0;
    }
    int count = 0;
    bool good = true;
    for (const mot_yaml *item = mot_yaml_child(&r->tree, node); item; item = mot_yaml_next(&r->tree, item))
        good = number(r, item, what, low, high, &out[count++]) && good;
    return good ? count : 0;
}

/* Two numbers, the lower first. */
static void range(reader *r, const mot_yaml *node, const char *what, double low, double high, double out[2])
{
    double read[2];
    if (numbers(r, node, what, 2, 2, low, high, read) != 2)
        return;
    if (read[0] > read[1])
        PROBLEM(r, node, "%s goes from %g to %g, want the lower number first", what, read[0], read[1]);
    else
        memcpy(out, read, sizeof read);
}

#define MAX_SIDE 65536 /* pixels of a result */

/* One side of a square, or [height, width]. */
static void read_size(reader *r, const mot_yaml *map, const char *stage, mot_stage *out)
{
    const mot_yaml *node = get(r, map, "size");
    uint32_t height = 1, width = 1;
    out->width = out->height = 1; /* after a problem */
    if (!node) {
        PROBLEM(r, map, "'%s' has no 'size', want one side, or [height, width], in pixels", stage);
    } else if (node->kind == MOT_YAML_LIST && node->children == 2) {
        const mot_yaml *first = mot_yaml_child(&r->tree, node), *second = mot_yaml_next(&r->tree, first);
        const bool good = whole_number(r, first, "the height in 'size'", 1, MAX_SIDE, &height);
        if (whole_number(r, second, "the width in 'size'", 1, MAX_SIDE, &width) && good) {
            out->width = (int32_t)width;
            out->height = (int32_t)height;
        }
    } else if (node->kind == MOT_YAML_LIST) {
        PROBLEM(r, node, "'size' lists %u numbers, want one side, or [height, width]", node->children);
    } else if (whole_number(r, node, "'size'", 1, MAX_SIDE, &width)) {
        out->width = (int32_t)width;
        out->height = out->kind == MOT_STAGE_RESIZE ? 0 : (int32_t)width;
    }
}

static void read_filters(reader *r, const mot_yaml *map, mot_stage *out)
{
    const mot_yaml *node = get(r, map, "filter"), *order = get(r, map, "order");
    int which;
    out->filters = 1;
    if (order && word(r, order, "'order'", mot_order_names, MOT_ORDERS, &which))
        out->order = (motley_resize_order)which;
    if (!node)
        return;
    const bool list = node->kind == MOT_YAML_LIST;
    if (list &&
        (node->children < 1 || node->children > MOT_FILTERS || (node->children > 1 && out->kind == MOT_STAGE_RESIZE))) {
        PROBLEM(r, node, "'filter' lists %u, want %s", node->children,
                out->kind == MOT_STAGE_RESIZE ? "one filter" : "1 to 6 filters to draw from");
        return;
    }
    out->filters = 0;
    for (const mot_yaml *item = list ? mot_yaml_child(&r->tree, node) : node; item;
         item = list ? mot_yaml_next(&r->tree, item) : NULL) {
        if (!word(r, item, "'filter'", mot_filter_names, MOT_FILTERS, &which))
            continue;
        for (int i = 0; i < out->filters; i++)
            if (out->filter[i] == (motley_filter)which) {
                PROBLEM(r, item, "filter '%s' is listed twice", mot_filter_names[which]);
                return;
            }
        out->filter[out->filters++] = (motley_filter)which;
    }
    if (out->filters == 0)
        out->filters = 1;
}

static void read_chance(reader *r, const mot_yaml *map, const char *key, double *out)
{
    const mot_yaml *node = get(r, map, key);
    char what[24];
    snprintf(what, sizeof what, "'%s'", key);
    if (node)
        number(r, node, what, 0, 1, out);
}

static void read_area_and_ratio(reader *r, const mot_yaml *map, const char *area_key, mot_stage *out)
{
    const mot_yaml *node = get(r, map, area_key);
    char what[16];
    snprintf(what, sizeof what, "'%s'", area_key);
    if (node)
        range(r, node, what, 0, 1, out->area);
    if ((node = get(r, map, "ratio")))
        range(r, node, "'ratio'", 1e-3, 1e3, out->ratio);
}

static void read_random_resized_crop(reader *r, const mot_yaml *map, mot_stage *out)
{
    static const char *const keys[] = { "size", "scale", "ratio", "filter", "order" };
    out->area[0] = 0.08;
    out->area[1] = 1;
    out->ratio[0] = 3.0 / 4;
    out->ratio[1] = 4.0 / 3;
    if (!check_keys(r, map, "'random_resized_crop'", keys, COUNT(keys)))
        return;
    read_size(r, map, "random_resized_crop", out);
    read_area_and_ratio(r, map, "scale", out);
    read_filters(r, map, out);
}

static void read_resize(reader *r, const mot_yaml *map, mot_stage *out)
{
    static const char *const keys[] = { "size", "filter", "order" };
    if (!check_keys(r, map, "'resize'", keys, COUNT(keys)))
        return;
    read_size(r, map, "resize", out);
    read_filters(r, map, out);
}

static void read_center_crop(reader *r, const mot_yaml *map, mot_stage *out)
{
    static const char *const keys[] = { "size" };
    if (check_keys(r, map, "'center_crop'", keys, COUNT(keys)))
        read_size(r, map, "center_crop", out);
}

static void read_random_crop(reader *r, const mot_yaml *map, mot_stage *out)
{
    static const char *const keys[] = { "size", "padding" };
    uint32_t padding;
    if (!check_keys(r, map, "'random_crop'", keys, COUNT(keys)))
        return;
    read_size(r, map, "random_crop", out);
    if (get(r, map, "padding") && whole_number(r, get(r, map, "padding"), "'padding'", 0, MAX_SIDE, &padding))
        out->padding = (int32_t)padding;
}

static void read_flip(reader *r, const mot_yaml *map, mot_stage *out)
{
    static const char *const keys[] = { "horizontal", "vertical" };
    if (!check_keys(r, map, "'flip'", keys, COUNT(keys)))
        return;
    if (!get(r, map, "horizontal") && !get(r, map, "vertical"))
        PROBLEM(r, map, "'flip' has neither 'horizontal' nor 'vertical', want the chance of one or both");
    read_chance(r, map, "horizontal", &out->p);
    read_chance(r, map, "vertical", &out->vertical);
}

static void read_jitter(reader *r, const mot_yaml *map, mot_stage *out)
{
    const char *keys[1 + MOT_JITTERS] = { "p" };
    for (int i = 0; i < MOT_JITTERS; i++)
        keys[1 + i] = mot_jitter_names[i];
    out->p = 1;
    if (!check_keys(r, map, "'jitter'", keys, COUNT(keys)))
        return;
    read_chance(r, map, "p", &out->p);
    int count = 0;
    for (int i = 0; i < MOT_JITTERS; i++) {
        const mot_yaml *node = get(r, map, mot_jitter_names[i]);
        char what[24];
        snprintf(what, sizeof what, "'%s'", mot_jitter_names[i]);
        if (!node)
            continue;
        count++;
        out->given[i] = 1;
        double v = 0;
        if (node->kind == MOT_YAML_LIST) {
            range(r, node, what, i == MOT_HUE ? -0.5 : 0, i == MOT_HUE ? 0.5 : 10000, out->range[i]);
        } else if (number(r, node, what, 0, i == MOT_HUE ? 0.5 : 9999, &v)) {
            out->range[i][0] = i == MOT_HUE ? -v : v < 1 ? 1 - v : 0;
            out->range[i][1] = i == MOT_HUE ? v : 1 + v;
        }
    }
    if (count == 0)
        PROBLEM(r, map, "'jitter' changes nothing, want 'brightness', 'contrast', 'saturation' or 'hue'");
}

static void read_grayscale(reader *r, const mot_yaml *map, mot_stage *out)
{
    static const char *const keys[] = { "p" };
    out->p = 1;
    if (check_keys(r, map, "'grayscale'", keys, COUNT(keys)))
        read_chance(r, map, "p", &out->p);
}

static void read_blur(reader *r, const mot_yaml *map, mot_stage *out)
{
    static const char *const keys[] = { "p", "radius", "kernel_size", "sigma" };
    out->p = 1;
    if (!check_keys(r, map, "'blur'", keys, COUNT(keys)))
        return;
    read_chance(r, map, "p", &out->p);
    const mot_yaml *radius = get(r, map, "radius"), *size = get(r, map, "kernel_size"), *sigma = get(r, map, "sigma");
    uint32_t kernel_size;
    if (radius && (size || sigma))
        PROBLEM(r, radius, "'blur' has 'radius' and '%s', want Pillow's radius, or torchvision's kernel_size and sigma",
                size ? "kernel_size" : "sigma");
    else if (radius)
        range(r, radius, "'radius'", 0, 100, out->radius);
    else if (!size != !sigma)
        PROBLEM(r, size ? size : sigma, "'%s' is given without '%s'", size ? "kernel_size" : "sigma",
                size ? "sigma" : "kernel_size");
    else if (!size)
        PROBLEM(r, map, "'blur' has no 'radius', want [low, high] in pixels, or 'kernel_size' and 'sigma'");
    if (!radius && size && whole_number(r, size, "'kernel_size'", 3, MOTLEY_MAX_KERNEL, &kernel_size)) {
        if (kernel_size % 2 == 0)
            PROBLEM(r, size, "'kernel_size' is %u, want an odd number", kernel_size);
        out->kernel_size = (int32_t)kernel_size;
    }
    if (!radius && sigma)
        range(r, sigma, "'sigma'", MOT_KERNEL_SIGMA_MIN, MOT_KERNEL_SIGMA_MAX, out->radius);
}

/* Checks numbers that were read from `node`, whose scale people confuse: none may be above `most`. */
static void check_scale(reader *r, const mot_yaml *node, const char *what, int count, const double *numbers,
                        double most)
{
    const mot_yaml *item = node->kind == MOT_YAML_LIST ? mot_yaml_child(&r->tree, node) : node;
    for (int i = 0; i < count; i++, item = node->kind == MOT_YAML_LIST ? mot_yaml_next(&r->tree, item) : item)
        if (numbers[i] > most) {
            PROBLEM(r, item, "%s is %s, want numbers on the 0..1 scale (those of the 0..255 scale divided by 255)",
                    what, MOT_NUMBER(numbers[i]));
            return;
        }
}

static void read_output(reader *r, const mot_yaml *map, mot_stage *out)
{
    static const char *const keys[] = { "mean", "std", "convention", "type", "layout" };
    static const char *const types[] = { "u8", "f32", "f16", "bf16", "uint8", "float32", "float16", "bfloat16" };
    out->dtype = MOTLEY_F32;
    out->layout = MOTLEY_CHW;
    for (int c = 0; c < 4; c++)
        out->std[c] = 1;
    if (!check_keys(r, map, "'output'", keys, COUNT(keys)))
        return;
    const mot_yaml *mean = get(r, map, "mean"), *std = get(r, map, "std"), *node;
    if (!mean != !std)
        PROBLEM(r, mean ? mean : std, "'%s' is given without '%s'", mean ? "mean" : "std", mean ? "std" : "mean");
    if (mean && std) {
        const int means = numbers(r, mean, "'mean'", 1, 4, -1e6, 1e6, out->mean);
        const int stds = numbers(r, std, "'std'", 1, 4, 1e-6, 1e6, out->std);
        check_scale(r, mean, "'mean'", means, out->mean, 1);
        check_scale(r, std, "'std'", stds, out->std, 10);
        if (means == 2 || (means && stds && means != stds))
            PROBLEM(r, std, "'mean' has %d numbers and 'std' %d, want 1 (every channel), 3 (RGB) or 4 (RGBA) of each",
                    means, stds);
        out->values = means;
    }
    if ((node = get(r, map, "convention")))
        word(r, node, "'convention'", mot_convention_names, 3, &out->convention);
    if ((node = get(r, map, "type")) && word(r, node, "'type'", types, COUNT(types), &out->dtype))
        out->dtype %= 4;
    if ((node = get(r, map, "layout")))
        word(r, node, "'layout'", mot_layout_names, 2, &out->layout);
    if (out->dtype == MOTLEY_U8 && mean)
        PROBLEM(r, mean, "'mean' is given, but the type is u8, which is not normalised");
}

static void read_erase(reader *r, const mot_yaml *map, mot_stage *out)
{
    static const char *const keys[] = { "p", "area", "ratio", "value", "boxes" };
    const mot_yaml *node;
    out->p = 1;
    out->area[0] = 0.02;
    out->area[1] = 0.33;
    out->ratio[0] = 0.3;
    out->ratio[1] = 3.3;
    out->boxes[0] = out->boxes[1] = 1;
    if (!check_keys(r, map, "'erase'", keys, COUNT(keys)))
        return;
    read_chance(r, map, "p", &out->p);
    read_area_and_ratio(r, map, "area", out);
    if ((node = get(r, map, "value"))) {
        double value;
        if (node->kind == MOT_YAML_SCALAR && strcmp(text_of(r, node), mot_erase_names[0]) == 0) {
            out->erase_values = MOT_ERASE_CHANNEL;
        } else if (node->kind == MOT_YAML_SCALAR && strcmp(text_of(r, node), mot_erase_names[1]) == 0) {
            out->erase_values = MOT_ERASE_PIXEL;
        } else if (node->kind == MOT_YAML_SCALAR && !mot_number_parse(text_of(r, node), &value)) {
            PROBLEM(r, node, "'value' is '%.60s', want a number, a list of them, channel or pixel", text_of(r, node));
        } else {
            out->values = numbers(r, node, "'value'", 1, 4, -1e6, 1e6, out->mean);
            if (out->values == 2)
                PROBLEM(r, node, "'value' lists 2 numbers, want 1, 3 (RGB) or 4 (RGBA)");
        }
    }
    if ((node = get(r, map, "boxes"))) {
        double boxes[2];
        const int count = numbers(r, node, "'boxes'", 1, 2, 1, MOTLEY_MAX_ERASED_BOXES, boxes);
        if (count && (boxes[0] != floor(boxes[0]) || boxes[count - 1] != floor(boxes[count - 1])))
            PROBLEM(r, node, "'boxes' is %g, want a whole number", boxes[0]);
        else if (count && boxes[0] > boxes[count - 1])
            PROBLEM(r, node, "'boxes' goes from %g to %g, want the lower number first", boxes[0], boxes[1]);
        else if (count)
            out->boxes[0] = (int32_t)boxes[0], out->boxes[1] = (int32_t)boxes[count - 1];
    }
}

/* One of two words, as 0 or 1. */
static int read_choice(reader *r, const mot_yaml *map, const char *key, const char *const *words, int count)
{
    const mot_yaml *node = get(r, map, key);
    char what[24];
    int which = 0;
    snprintf(what, sizeof what, "'%s'", key);
    if (node && !word(r, node, what, words, count, &which))
        return 0;
    return which;
}

static void read_mix(reader *r, const mot_yaml *map, mot_stage *out)
{
    static const char *const keys[] = { "mixup",  "cutmix", "p",       "switch",  "rules",    "mode",
                                        "minmax", "lambda", "partner", "classes", "smoothing" };
    motley_mix_params *mix = &out->mixing;
    const mot_yaml *node;
    motley_error error;
    uint32_t classes;
    mix->p = 1;
    mix->switch_p = 0.5;
    if (!check_keys(r, map, "'mix'", keys, COUNT(keys)))
        return;
    if ((node = get(r, map, "mixup")))
        number(r, node, "'mixup'", 0, 1000, &mix->mixup);
    if ((node = get(r, map, "cutmix")))
        number(r, node, "'cutmix'", 0, 1000, &mix->cutmix);
    if ((node = get(r, map, "p")))
        number(r, node, "'p'", 1e-9, 1, &mix->p);
    if ((node = get(r, map, "switch")))
        number(r, node, "'switch'", 1e-9, 1, &mix->switch_p);
    if ((node = get(r, map, "minmax")))
        range(r, node, "'minmax'", 0, 1, mix->minmax);
    mix->rules = (motley_mix_rules)read_choice(r, map, "rules", mot_mix_rules_names, 2);
    mix->mode = (motley_mix_mode)read_choice(r, map, "mode", mot_mix_mode_names, 3);
    mix->drawn_partner = read_choice(r, map, "partner", mot_mix_partner_names, 2);
    mix->keep_lambda = read_choice(r, map, "lambda", mot_mix_lambda_names, 2);
    if ((node = get(r, map, "classes")) && whole_number(r, node, "'classes'", 1, 1 << 24, &classes))
        out->classes = (int32_t)classes;
    read_chance(r, map, "smoothing", &out->smoothing);
    if (r->tree.problems == 0 && mot_mix_check(mix, &error) != MOTLEY_OK)
        PROBLEM(r, map, "%s", error.message);
}

/* The changes of a built-in policy. */
static void read_changes(reader *r, const mot_yaml *node, motley_policy_changes *changes)
{
    const mot_yaml *value;
    uint32_t number_read;
    if ((value = get(r, node, "repeat")) && whole_number(r, value, "'repeat'", 1, MOT_MAX_REPEAT, &number_read))
        changes->repeat = (int)number_read;
    if ((value = get(r, node, "bins")) && whole_number(r, value, "'bins'", 2, MOT_MAX_LEVELS, &number_read))
        changes->bins = (int)number_read;
    if ((value = get(r, node, "level")))
        changes->set_level = number(r, value, "'level'", 0, 1e6, &changes->level);
    if ((value = get(r, node, "interpolation"))) {
        const bool list = value->kind == MOT_YAML_LIST;
        for (const mot_yaml *item = list ? mot_yaml_child(&r->tree, value) : value; item;
             item = list ? mot_yaml_next(&r->tree, item) : NULL) {
            int which;
            if (word(r, item, "'interpolation'", mot_interpolation_names, 3, &which))
                changes->interpolations |= 1 << which;
        }
    }
    if ((value = get(r, node, "fill"))) {
        double fill[4];
        const int count = numbers(r, value, "'fill'", 1, 4, 0, 255, fill);
        changes->set_fill = count == 1 || count >= 3;
        if (count == 2)
            PROBLEM(r, value, "'fill' lists 2 numbers, want one number, or a list of 3 (RGB) or 4 (RGBA)");
        for (int c = 0; changes->set_fill && c < 4; c++)
            changes->fill[c] = (uint8_t)(count == 1 ? fill[0] : c < count ? fill[c] : 255);
    }
}

/* A built-in policy's name, alone or with changes, or a policy written out. False when there is no memory. */
static bool read_policy_stage(reader *r, const mot_yaml *node, mot_stage *out)
{
    static const char *const keys[] = { "name", "repeat", "bins", "level", "interpolation", "fill" };
    const bool inline_policy = node->kind == MOT_YAML_MAP && (get(r, node, "branches") || get(r, node, "phases"));
    if (inline_policy) {
        const motley_status status = mot_policy_read(&r->tree, node, false, NULL, 0, &out->policy);
        return status != MOTLEY_ERR_MEMORY;
    }
    const mot_yaml *name = node;
    if (node->kind != MOT_YAML_SCALAR) {
        if (!check_keys(r, node, "'policy'", keys, COUNT(keys)))
            return true;
        name = get(r, node, "name");
        if (!name || name->kind != MOT_YAML_SCALAR) {
            PROBLEM(r, name ? name : node,
                    "'policy' has no 'name' and no 'branches', want a built-in policy's name, or "
                    "a policy written out");
            return true;
        }
        read_changes(r, node, &out->changes);
    }
    motley_policy *base;
    motley_error error;
    motley_status status = motley_policy_builtin(text_of(r, name), &base, &error);
    if (status == MOTLEY_OK) {
        status = motley_policy_change(base, &out->changes, &out->policy, &error);
        motley_policy_destroy(base);
    }
    if (status == MOTLEY_ERR_MEMORY)
        return false;
    if (status != MOTLEY_OK) {
        PROBLEM(r, status == MOTLEY_ERR_ARGUMENT && !out->policy ? name : node, "%s", error.message);
        return true;
    }
    out->name = strdup(text_of(r, name));
    return out->name != NULL;
}

/* The values of a ratio that is uniform in its logarithm: the middles of equally likely cells, rounded so that the last
 * bits of a libm do not matter. */
static bool make_ratios(mot_stage *stage)
{
    stage->ratios = malloc(MOT_RATIO_CELLS * sizeof *stage->ratios);
    const double low = log(stage->ratio[0]), high = log(stage->ratio[1]);
    for (int k = 0; stage->ratios && k < MOT_RATIO_CELLS; k++)
        stage->ratios[k] = ldexp(rint(ldexp(exp(low + (high - low) * (k + 0.5) / MOT_RATIO_CELLS), 36)), -36);
    return stage->ratios != NULL;
}

static bool make_normals(mot_stage *stage)
{
    stage->normals = malloc(MOT_NORMAL_CELLS * sizeof *stage->normals);
    for (int k = 0; stage->normals && k < MOT_NORMAL_CELLS; k++)
        stage->normals[k] = (float)mot_normal_quantile((k + 0.5) / MOT_NORMAL_CELLS);
    return stage->normals != NULL;
}

/* Checks that a stage may follow those before it. */
static bool check_place(reader *r, const mot_yaml *key, const motley_transform *transform, mot_stage_kind kind)
{
    int same = 0;
    if (kind == MOT_STAGE_TO_RGB && transform->to_rgb)
        PROBLEM(r, key, "'to_rgb' follows 'to_rgb', want one of them");
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *before = &transform->stage[i];
        const int rank = mot_stage_rank(before->kind);
        same += before->kind == kind;
        if (rank > mot_stage_rank(kind)) {
            PROBLEM(r, key,
                    "'%s' stands behind '%s', want to_rgb first, then crop and resize, then flip, policy, jitter, "
                    "grayscale and blur, then output, then erase, then mix",
                    mot_stage_names[kind], mot_stage_names[before->kind]);
            return false;
        }
        if (rank == mot_stage_rank(kind) && rank != 3) {
            PROBLEM(r, key, "'%s' follows '%s', want one of them", mot_stage_names[kind],
                    mot_stage_names[before->kind]);
            return false;
        }
    }
    if (same >= MOT_MAX_SAME_STAGES)
        PROBLEM(r, key, "more than %d stages '%s'", MOT_MAX_SAME_STAGES, mot_stage_names[kind]);
    if (kind == MOT_STAGE_ERASE &&
        (transform->stages == 0 || transform->stage[transform->stages - 1].kind != MOT_STAGE_OUTPUT ||
         transform->stage[transform->stages - 1].dtype == MOTLEY_U8))
        PROBLEM(r, key, "'erase' works on normalised values, want an 'output' of type f32, f16 or bf16 before it");
    return true;
}

/* Gives the second and later policies of a transform separate random words. */
static bool give_blocks(const motley_transform *transform, motley_policy *policy)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i + 1 < transform->stages; i++)
        before += transform->stage[i].kind == MOT_STAGE_POLICY;
    if (!policy || before == 0 || before >= MOT_MAX_SAME_STAGES || policy->steps == 0)
        return true;
    policy->first_block = MOT_STAGE_POLICY_BLOCKS * before;
    return mot_policy_compile(policy, NULL, NULL, NULL) != MOTLEY_ERR_MEMORY;
}

static void unknown_stage(reader *r, const mot_yaml *key)
{
    const char *const name = text_of(r, key);
    const char *const here = mot_stage_elsewhere(name),
                      *near = mot_nearest_name(name, mot_stage_names, MOT_STAGE_KINDS);
    if (here || near) {
        PROBLEM(r, key, here ? "unknown stage '%.60s', want '%s'" : "unknown stage '%.60s', did you mean '%s'?", name,
                here ? here : near);
        return;
    }
    char wanted[160] = "";
    for (size_t i = 0, used = 0; i < MOT_STAGE_KINDS; i++) {
        const char *const before = i == 0 ? "" : i + 1 < MOT_STAGE_KINDS ? ", " : " or ";
        snprintf(wanted + used, sizeof wanted - used, "%s%s", before, mot_stage_names[i]);
        used = strlen(wanted);
    }
    PROBLEM(r, key, "unknown stage '%.60s', want %s", name, wanted);
}

static int kind_named(const char *name)
{
    int kind = 0;
    while (kind < MOT_STAGE_KINDS && strcmp(name, mot_stage_names[kind]) != 0)
        kind++;
    return kind;
}

/* A stage is a mapping with one key, its kind, whose value is its settings. */
static bool read_stage(reader *r, const mot_yaml *node, motley_transform *transform)
{
    static void (*const read[MOT_STAGE_KINDS])(reader *, const mot_yaml *, mot_stage *) = {
        read_random_resized_crop, read_resize, read_center_crop, read_random_crop, read_flip, NULL, read_jitter,
        read_grayscale,           read_blur,   read_output,      read_erase,       read_mix,  NULL
    };
    if (node->kind == MOT_YAML_SCALAR && node->length > 0) {
        if (kind_named(text_of(r, node)) == MOT_STAGE_KINDS)
            unknown_stage(r, node);
        else
            PROBLEM(r, node, "stage '%s' is a name alone, want '%s: {}', or with settings in the braces",
                    text_of(r, node), text_of(r, node));
        return true;
    }
    if (node->kind != MOT_YAML_MAP || node->children != 2) {
        PROBLEM(r, node, "a stage is %s, want a mapping of one key, such as {flip: {horizontal: 0.5}}",
                node->kind == MOT_YAML_MAP ? "a mapping of several keys" : kind_of(r, node));
        return true;
    }
    const mot_yaml *key = mot_yaml_child(&r->tree, node), *value = mot_yaml_next(&r->tree, key);
    if (key->kind != MOT_YAML_SCALAR) {
        PROBLEM(r, key, "a stage's name is %s", kind_of(r, key));
        return true;
    }
    const int kind = kind_named(text_of(r, key));
    if (kind == MOT_STAGE_KINDS) {
        unknown_stage(r, key);
        return true;
    }
    if (transform->stages == MOT_MAX_STAGES) {
        PROBLEM(r, node, "more than %d stages", MOT_MAX_STAGES);
        return true;
    }
    const bool in_place = check_place(r, key, transform, (mot_stage_kind)kind);
    mot_stage *stage = &transform->stage[transform->stages++];
    stage->kind = (mot_stage_kind)kind;
    if (kind == MOT_STAGE_TO_RGB)
        check_keys(r, value, "'to_rgb'", NULL, 0);
    else if (kind != MOT_STAGE_POLICY)
        read[kind](r, value, stage);
    else if (!read_policy_stage(r, value, stage))
        return false;
    transform->to_rgb |= kind == MOT_STAGE_TO_RGB;
    if (!in_place || kind == MOT_STAGE_TO_RGB) { /* it was read for its own problems, or is kept in `to_rgb` */
        mot_stage_clear(stage);
        transform->stages--;
        return true;
    }
    if (kind == MOT_STAGE_POLICY)
        return give_blocks(transform, stage->policy);
    if (kind == MOT_STAGE_MIX && r->tree.problems == 0)
        return motley_mix_create(&stage->mixing, &stage->mix, NULL) != MOTLEY_ERR_MEMORY;
    return ((kind != MOT_STAGE_RANDOM_RESIZED_CROP && kind != MOT_STAGE_ERASE) || make_ratios(stage)) &&
           (stage->erase_values == MOT_ERASE_CONST || make_normals(stage));
}

/* Checks that all images come out in one size, or that none is resized; and that it is not too small for a blur, which
 * mirrors an image at its edges. */
static void check_sizes(reader *r, const mot_yaml *list, const motley_transform *transform)
{
    bool open = false, sized = false;
    int32_t side = 0;
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *stage = &transform->stage[i];
        if (stage->kind <= MOT_STAGE_RANDOM_CROP) {
            open = stage->height == 0;
            sized = !open;
            side = stage->width < stage->height ? stage->width : stage->height;
        }
        if (sized && stage->kernel_size / 2 >= side)
            PROBLEM(r, list, "a 'blur' of 'kernel_size' %d wants images of at least %d each way, these have %d",
                    (int)stage->kernel_size, (int)stage->kernel_size / 2 + 1, (int)side);
        if (stage->kind == MOT_STAGE_MIX && !sized && !open)
            PROBLEM(r, list, "'mix' mixes images of one size, want a stage that crops or resizes to it");
    }
    if (open)
        PROBLEM(r, list,
                "'resize' to a shorter side leaves images of many sizes, want a 'center_crop' or 'random_crop' "
                "behind it, or 'size' as [height, width]");
}

static bool read_transform(reader *r, const mot_yaml *map, motley_transform *transform)
{
    static const char *const keys[] = { "motley", "name", "title", "profile", "paper", "table", "version", "stages" };
    const mot_yaml *node = get(r, map, "motley"), *list = get(r, map, "stages");
    uint32_t format;
    int which;
    check_keys(r, map, "the transform", keys, COUNT(keys));
    if (!node)
        PROBLEM(r, map, "key 'motley' is missing, want 'motley: 1', the version of the format");
    else
        whole_number(r, node, "'motley' (the version of the format)", 1, 1, &format);
    node = get(r, map, "name");
    if (!node)
        PROBLEM(r, map, "key 'name' is missing, want the transform's name");
    else if (is_name(r, node, "'name'") && !(transform->name = strdup(text_of(r, node))))
        return false;
    if ((node = get(r, map, "profile")) && word(r, node, "'profile'", mot_profile_names, 5, &which) &&
        !(transform->profile = strdup(mot_profile_names[which])))
        return false;
    if (!words_of(r, map, "title", &transform->title) || !words_of(r, map, "paper", &transform->paper) ||
        !words_of(r, map, "table", &transform->table) || !words_of(r, map, "version", &transform->version))
        return false;
    if (list->kind != MOT_YAML_LIST || list->children == 0) {
        PROBLEM(r, list, "'stages' is %s, want a list of at least one", list->children ? kind_of(r, list) : "empty");
        return true;
    }
    bool sizes_known = true;
    for (const mot_yaml *s = mot_yaml_child(&r->tree, list); s; s = mot_yaml_next(&r->tree, s)) {
        const uint32_t problems = r->tree.problems;
        const uint32_t before = transform->stages;
        if (!read_stage(r, s, transform))
            return false;
        if (r->tree.problems > problems) /* it was left out, or its size was not read */
            sizes_known &= transform->stages > before && transform->stage[before].kind > MOT_STAGE_RANDOM_CROP;
    }
    if (sizes_known)
        check_sizes(r, list, transform);
    return true;
}

/* Turns a policy's text into a transform with that one stage. */
static bool wrap_policy(reader *r, const motley_parse_params *params, motley_transform *transform)
{
    mot_stage *stage = &transform->stage[transform->stages++];
    stage->kind = MOT_STAGE_POLICY;
    transform->plain = true;
    const motley_status status =
        mot_policy_read(&r->tree, &r->tree.node[0], true, params->custom_ops, params->custom_ops_count, &stage->policy);
    if (status == MOTLEY_ERR_MEMORY)
        return false;
    return !stage->policy || !stage->policy->name || (transform->name = strdup(stage->policy->name));
}

motley_status motley_transform_parse(const char *text, size_t length, const motley_parse_params *params,
                                     motley_transform **transform, motley_error *error)
{
    MOT_REQUIRE(transform, error, "transform is NULL, want a place for the result");
    *transform = NULL;
    MOT_REQUIRE(text || length == 0, error, "text is NULL, want %zu bytes", length);
    MOT_READ_PARAMS(motley_parse_params, params, error);
    MOT_TRY(mot_customs_check(params->custom_ops, params->custom_ops_count, error));
    reader r = { .whole = true };
    motley_transform *read = calloc(1, sizeof *read);
    motley_status status = read ? mot_yaml_read(&r.tree, text ? text : "", length) : MOTLEY_ERR_MEMORY;
    if (status == MOTLEY_OK && r.tree.problems == 0) {
        const mot_yaml *root = &r.tree.node[0];
        const bool staged = root->kind == MOT_YAML_MAP && get(&r, root, "stages");
        if (!(staged ? read_transform(&r, root, read) : wrap_policy(&r, params, read)))
            status = MOTLEY_ERR_MEMORY;
    }
    if (status == MOTLEY_OK)
        status = mot_yaml_report(&r.tree, params, error);
    else
        mot_fail(error, status, "no memory to read a transform of %zu bytes", length);
    if (status == MOTLEY_OK) {
        mot_transform_finish(read);
        *transform = read;
    } else {
        motley_transform_destroy(read);
    }
    mot_yaml_clear(&r.tree);
    return status;
}
