/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the settings of a transform's stages by the table of their keys. */
#include "policies/mix.h"
#include "policies/stage_keys.h"

int mot_read_numbers(reader *r, const mot_yaml *node, const char *what, int least, int most, double low, double high,
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
static void read_range(reader *r, const mot_yaml *node, const char *what, double low, double high, double out[2])
{
    double read[2];
    if (mot_read_numbers(r, node, what, 2, 2, low, high, read) != 2)
        return;
    if (read[0] > read[1])
        PROBLEM(r, node, "%s goes from %g to %g, want the lower number first", what, read[0], read[1]);
    else
        memcpy(out, read, sizeof read);
}

/* One side of a square, or [height, width]; of a resize's `size` alone one number is the shorter side. */
static void read_size(reader *r, const mot_yaml *node, const char *name, const mot_stage *stage, int32_t out[2])
{
    char what[40];
    uint32_t height = 1, width = 1;
    if (node->kind == MOT_YAML_LIST && node->children == 2) {
        const mot_yaml *first = mot_yaml_child(&r->tree, node), *second = mot_yaml_next(&r->tree, first);
        snprintf(what, sizeof what, "the height in '%s'", name);
        const bool good = whole_number(r, first, what, 1, MOT_MAX_RESULT_SIDE, &height);
        snprintf(what, sizeof what, "the width in '%s'", name);
        if (whole_number(r, second, what, 1, MOT_MAX_RESULT_SIDE, &width) && good)
            out[0] = (int32_t)width, out[1] = (int32_t)height;
        return;
    }
    snprintf(what, sizeof what, "'%s'", name);
    if (node->kind == MOT_YAML_LIST)
        PROBLEM(r, node, "%s lists %u numbers, want one side, or [height, width]", what, node->children);
    else if (whole_number(r, node, what, 1, MOT_MAX_RESULT_SIDE, &width)) {
        out[0] = (int32_t)width;
        out[1] = stage->kind == MOT_STAGE_RESIZE && strcmp(name, "size") == 0 ? 0 : (int32_t)width;
    }
}

/* A whole number, or several to draw from. */
static void read_sides(reader *r, const mot_yaml *node, const mot_key *key, const char *what, mot_stage *out)
{
    double sides[MOT_MAX_SIDES];
    uint16_t *const to = mot_key_value(key, out);
    const int count = mot_read_numbers(r, node, what, 1, MOT_MAX_SIDES, key->low, key->high, sides);
    for (int i = 0; i < count; i++) {
        if (sides[i] != floor(sides[i])) {
            PROBLEM(r, node, "%s has %s, want whole numbers", what, MOT_NUMBER(sides[i]));
            return;
        }
        to[i] = (uint16_t)sides[i];
    }
    *mot_key_count(key, out) = count;
}

static void read_filters(reader *r, const mot_yaml *node, const mot_key *key, mot_crop *crop)
{
    const bool list = node->kind == MOT_YAML_LIST;
    if (list && (node->children < 1 || node->children > key->high)) {
        PROBLEM(r, node, "'filter' lists %u, want %s", node->children,
                key->high == 1 ? "one filter" : "1 to 6 filters to draw from");
        return;
    }
    uint8_t count = 0;
    int which;
    for (const mot_yaml *item = list ? mot_yaml_child(&r->tree, node) : node; item;
         item = list ? mot_yaml_next(&r->tree, item) : NULL) {
        if (!word(r, item, "'filter'", mot_filter_names, MOT_FILTERS, &which))
            continue;
        if (memchr(crop->filter, which, count)) {
            PROBLEM(r, item, "filter '%s' is listed twice", mot_filter_names[which]);
            return;
        }
        crop->filter[count++] = (uint8_t)which;
    }
    crop->filters = count ? count : 1;
}

/* A strength of jitter, as torchvision's ColorJitter reads it, or a range. */
static void read_jitter(reader *r, const mot_yaml *node, const mot_key *key, const char *what, double out[2])
{
    const bool shifts = key->kind == MOT_KEY_SHIFTS;
    double v = 0;
    if (node->kind == MOT_YAML_LIST) {
        read_range(r, node, what, key->low, key->high, out);
    } else if (number(r, node, what, 0, shifts ? key->high : key->high - 1, &v)) {
        out[0] = shifts ? -v : v < 1 ? 1 - v : 0;
        out[1] = shifts ? v : 1 + v;
    }
}

static void read_counts(reader *r, const mot_yaml *node, const mot_key *key, const char *what, int32_t out[2])
{
    double counts[2];
    const int count = mot_read_numbers(r, node, what, 1, 2, key->low, key->high, counts);
    if (count && (counts[0] != floor(counts[0]) || counts[count - 1] != floor(counts[count - 1])))
        PROBLEM(r, node, "%s is %g, want a whole number", what, counts[0]);
    else if (count && counts[0] > counts[count - 1])
        PROBLEM(r, node, "%s goes from %g to %g, want the lower number first", what, counts[0], counts[1]);
    else if (count)
        out[0] = (int32_t)counts[0], out[1] = (int32_t)counts[count - 1];
}

/* Numbers by channel, or a word for drawn ones. */
static void read_erased(reader *r, const mot_yaml *node, const mot_key *key, const char *what, mot_stage *out)
{
    int32_t *const count = mot_key_count(key, out);
    double value;
    for (int w = 0; node->kind == MOT_YAML_SCALAR && w < key->words_count; w++)
        if (strcmp(text_of(r, node), key->words[w]) == 0) {
            count[1] = w + 1;
            return;
        }
    if (node->kind == MOT_YAML_SCALAR && !mot_number_parse(text_of(r, node), &value)) {
        PROBLEM(r, node, "%s is '%.60s', want a number, a list of them, channel or pixel", what, text_of(r, node));
        return;
    }
    count[0] = mot_read_numbers(r, node, what, 1, 4, key->low, key->high, mot_key_value(key, out));
    if (count[0] == 2)
        PROBLEM(r, node, "%s lists 2 numbers, want 1, 3 (RGB) or 4 (RGBA)", what);
}

static void read_choices(reader *r, const mot_yaml *node, const mot_key *key, const char *what, mot_stage *out)
{
    double read[MOT_MAX_OVERLAPS] = { 0 };
    if (node->kind != MOT_YAML_LIST || node->children < 1 || node->children > MOT_MAX_OVERLAPS) {
        PROBLEM(r, node, "%s wants a list of 1 to %d numbers", what, MOT_MAX_OVERLAPS);
        return;
    }
    const int count = mot_read_numbers(r, node, what, 1, MOT_MAX_OVERLAPS, key->low, key->high, read);
    if (count == 0)
        return;
    memcpy(mot_key_value(key, out), read, sizeof read);
    *mot_key_count(key, out) = count;
}

static void read_key(reader *r, const mot_yaml *node, const mot_key *key, mot_stage *out)
{
    void *const value = mot_key_value(key, out);
    char what[24];
    uint32_t whole;
    int which;
    snprintf(what, sizeof what, "'%s'", key->name);
    switch (key->kind) {
    case MOT_KEY_NUMBER:
        number(r, node, what, key->low, key->high, value);
        break;
    case MOT_KEY_WHOLE:
        if (whole_number(r, node, what, key->low, key->high, &whole))
            memcpy(value, &(int32_t){ (int32_t)whole }, sizeof(int32_t));
        break;
    case MOT_KEY_RANGE:
        read_range(r, node, what, key->low, key->high, value);
        break;
    case MOT_KEY_WORD:
        if (word(r, node, what, key->words, key->spellings, &which))
            memcpy(value, &(int32_t){ which % key->words_count }, sizeof(int32_t));
        break;
    case MOT_KEY_NUMBERS:
        *mot_key_count(key, out) = mot_read_numbers(r, node, what, 1, 4, key->low, key->high, value);
        break;
    case MOT_KEY_CHOICES:
        read_choices(r, node, key, what, out);
        break;
    case MOT_KEY_FILTERS:
        read_filters(r, node, key, &out->of.crop);
        break;
    case MOT_KEY_FACTORS:
    case MOT_KEY_SHIFTS:
        read_jitter(r, node, key, what, value);
        break;
    case MOT_KEY_COUNTS:
        read_counts(r, node, key, what, value);
        break;
    case MOT_KEY_VALUE:
        read_erased(r, node, key, what, out);
        break;
    case MOT_KEY_SIZE:
        read_size(r, node, key->name, out, value);
        break;
    case MOT_KEY_SIDES:
        read_sides(r, node, key, what, out);
        break;
    }
}

/* --- checks of several keys together --- */

/* Checks numbers that were read from `node`, whose scale people confuse: none may be above `most`. */
static void check_scale(reader *r, const mot_yaml *node, const char *what, const double *numbers, double most)
{
    const bool list = node->kind == MOT_YAML_LIST;
    const mot_yaml *item = list ? mot_yaml_child(&r->tree, node) : node;
    for (int i = 0; item && i < 4; i++, item = list ? mot_yaml_next(&r->tree, item) : NULL)
        if (numbers[i] > most) {
            PROBLEM(r, item, "%s is %s, want numbers on the 0..1 scale (those of the 0..255 scale divided by 255)",
                    what, MOT_NUMBER(numbers[i]));
            return;
        }
}

static void check_output(reader *r, const mot_yaml *map, const mot_normalize *output)
{
    const mot_yaml *mean = get(r, map, "mean"), *std = get(r, map, "std");
    if (!mean != !std)
        PROBLEM(r, mean ? mean : std, "'%s' is given without '%s'", mean ? "mean" : "std", mean ? "std" : "mean");
    if (mean && std) {
        const int means = mean->kind == MOT_YAML_LIST ? (int)mean->children : 1;
        const int stds = std->kind == MOT_YAML_LIST ? (int)std->children : 1;
        check_scale(r, mean, "'mean'", output->mean, 1);
        check_scale(r, std, "'std'", output->std, 10);
        if (means <= 4 && stds <= 4 && (means == 2 || means != stds))
            PROBLEM(r, std, "'mean' has %d numbers and 'std' %d, want 1 (every channel), 3 (RGB) or 4 (RGBA) of each",
                    means, stds);
    }
    if (output->dtype == MOTLEY_U8 && mean)
        PROBLEM(r, mean, "'mean' is given, but the type is u8, which is not normalised");
}

static void check_blur(reader *r, const mot_yaml *map, const mot_blur *blur)
{
    const mot_yaml *radius = get(r, map, "radius"), *size = get(r, map, "kernel_size"), *sigma = get(r, map, "sigma");
    if (radius && (size || sigma))
        PROBLEM(r, radius, "'blur' has 'radius' and '%s', want Pillow's radius, or torchvision's kernel_size and sigma",
                size ? "kernel_size" : "sigma");
    else if (!size != !sigma)
        PROBLEM(r, size ? size : sigma, "'%s' is given without '%s'", size ? "kernel_size" : "sigma",
                size ? "sigma" : "kernel_size");
    else if (!size && !radius)
        PROBLEM(r, map, "'blur' has no 'radius', want [low, high] in pixels, or 'kernel_size' and 'sigma'");
    if (size && blur->kernel_size && blur->kernel_size % 2 == 0)
        PROBLEM(r, size, "'kernel_size' is %d, want an odd number", blur->kernel_size);
}

static void check_fill(reader *r, const mot_yaml *map, const double *fill, int count)
{
    const mot_yaml *const node = get(r, map, "fill");
    if (count == 2)
        PROBLEM(r, node, "'fill' lists 2 numbers, want one number, or a list of 3 (RGB) or 4 (RGBA)");
    for (int c = 0; c < count; c++)
        if (fill[c] != floor(fill[c])) {
            PROBLEM(r, node, "'fill' has %g, want whole numbers", fill[c]);
            return;
        }
}

/* Finds which key says the size that a resize makes, and refuses keys that do not go with it. */
static void find_rule(reader *r, const mot_yaml *map, mot_crop *crop)
{
    static const char *const names[] = { "size", "shortest", "longest", "fit", "square" };
    const mot_yaml *const rounding = get(r, map, "rounding"), *const scale = get(r, map, "scale");
    int found = -1;
    for (int k = 0; k < (int)COUNT(names); k++) {
        const mot_yaml *const node = get(r, map, names[k]);
        if (!node || (found == MOT_SIZE_SHORTEST && k == MOT_SIZE_LONGEST))
            continue;
        if (found >= 0)
            PROBLEM(r, node, "'resize' has '%s' and '%s', want one of them", names[found], names[k]);
        found = k;
    }
    if (found < 0)
        PROBLEM(r, map, "'resize' has no size, want 'size', 'shortest', 'longest', 'fit' or 'square', in pixels");
    crop->rule = found < 0 ? MOT_SIZE_GIVEN : found;
    if (scale && crop->rule != MOT_SIZE_FIT)
        PROBLEM(r, scale, "'scale' is given without 'fit', which it scales");
    if (rounding && (crop->rule == MOT_SIZE_GIVEN || crop->rule == MOT_SIZE_SQUARE))
        PROBLEM(r, rounding, "'rounding' is given, but 'resize' has its sides from '%s'", names[crop->rule]);
    else if (rounding && crop->rounding == MOT_SIDES_DETR && crop->rule != MOT_SIZE_SHORTEST)
        PROBLEM(r, rounding, "'rounding' is 'detr', which has a rule for 'shortest' alone");
}

static void check_stage(reader *r, const mot_yaml *map, mot_stage *stage)
{
    motley_error error;
    if (stage->kind == MOT_STAGE_RESIZE)
        find_rule(r, map, &stage->of.crop);
    if (stage->kind == MOT_STAGE_PAD && !get(r, map, "size") == !get(r, map, "multiple"))
        PROBLEM(r, map, "'pad' wants one of 'size', one side or [height, width], and 'multiple', in pixels");
    if (stage->kind == MOT_STAGE_PAD || stage->kind == MOT_STAGE_FIXED_CROP)
        check_fill(r, map, stage->of.window.fill, stage->of.window.values);
    if (stage->kind == MOT_STAGE_FIXED_CROP && stage->of.window.rounding == MOT_SIDES_DETR)
        PROBLEM(r, get(r, map, "rounding"),
                "'rounding' is 'detr', which has no fixed_crop: want torchvision or detectron2");
    if (stage->kind == MOT_STAGE_FLIP && !get(r, map, "horizontal") && !get(r, map, "vertical"))
        PROBLEM(r, map, "'flip' has neither 'horizontal' nor 'vertical', want the chance of one or both");
    if (stage->kind == MOT_STAGE_JITTER && !stage->given)
        PROBLEM(r, map, "'jitter' changes nothing, want 'brightness', 'contrast', 'saturation' or 'hue'");
    if (stage->kind == MOT_STAGE_ZOOM_OUT)
        check_fill(r, map, stage->of.zoom.fill, stage->of.zoom.values);
    if (stage->kind == MOT_STAGE_BLUR)
        check_blur(r, map, &stage->of.blur);
    if (stage->kind == MOT_STAGE_OUTPUT)
        check_output(r, map, &stage->of.output);
    if (stage->kind == MOT_STAGE_MIX && r->tree.problems == 0 &&
        mot_mix_check(&stage->of.mix.params, &error) != MOTLEY_OK)
        PROBLEM(r, map, "%s", error.message);
}

void mot_stage_read(reader *r, const mot_yaml *map, mot_stage *out)
{
    const mot_stage_form *const form = &mot_stage_forms[out->kind];
    const char *names[24];
    char what[MOT_MAX_NAME];
    snprintf(what, sizeof what, "'%s'", form->name);
    for (int k = 0; k < form->keys_count; k++)
        names[k] = form->keys[k].name;
    mot_stage_defaults(out);
    if (!check_keys(r, map, what, names, form->keys_count))
        return;
    for (int k = 0; k < form->keys_count; k++) {
        const mot_key *const key = &form->keys[k];
        const mot_yaml *const node = get(r, map, key->name);
        if (!node && key->flags & MOT_KEY_NEEDED)
            PROBLEM(r, map, "'%s' has no '%s', want %s", form->name, key->name,
                    key->kind == MOT_KEY_SIZE ? "one side, or [height, width], in pixels" : "[least, most], in pixels");
        if (!node)
            continue;
        if (key->flags & MOT_KEY_BARE)
            out->given |= 1u << k;
        read_key(r, node, key, out);
    }
    check_stage(r, map, out);
}
