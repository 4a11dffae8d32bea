/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the keys of a transform's stages, and checks of several keys together. */
#include "policies/stage_keys.h"

#include "augmentations/jitter.h"
#include "augmentations/kernel_blur.h"
#include "policies/mix.h"
#include "policies/print.h"

#include <stddef.h>

const char *const mot_filter_names[MOT_FILTERS] = { "bilinear", "bicubic", "lanczos", "nearest", "box", "hamming" };
const char *const mot_overlap_names[2] = { "cropped", "undecided" };
static const char *const order_names[MOT_ORDERS] = { "pillow-13", "pillow-12", "pillow-12.2" };
static const char *const convention_names[] = { "torchvision_v1", "torchvision_v2", "timm" };
static const char *const dtype_names[] = { "u8", "f32", "f16", "bf16", "uint8", "float32", "float16", "bfloat16" };
static const char *const layout_names[] = { "hwc", "chw" };
static const char *const fill_names[] = { "channel", "pixel" };
static const char *const rules_names[] = { "torchvision", "timm" };
static const char *const mode_names[] = { "batch", "pair", "elem" };
static const char *const partner_names[] = { "fixed", "drawn" };
static const char *const lambda_names[] = { "corrected", "drawn" };
static const char *const instances_names[] = { "kept", "pasted" };
static const char *const rounding_names[] = { "torchvision", "detr", "detectron2" };
static const char *const nearest_names[] = { "pillow", "torch" };
static const char *const at_names[] = { "upper_left", "centre" };

#define AT(field) (uint16_t)(offsetof(mot_stage, of.field) - offsetof(mot_stage, of))
#define PLACE(field) .at = AT(field), .bytes = sizeof(((mot_stage *)0)->of.field)
#define NUMBER(key, field, least, most, ...) \
    MOT_KEY(key, NUMBER, field, MOT_KEY_IN(least, most), MOT_KEY_ELSE(__VA_ARGS__))
#define CHANCE(key, field, ...) NUMBER(key, field, 0, 1, __VA_ARGS__)
#define WHOLE(key, field, least, most) MOT_KEY(key, WHOLE, field, MOT_KEY_IN(least, most))
#define WORD(key, field, names, count, ...) \
    MOT_KEY(key, WORD, field, MOT_KEY_OF(names, count), MOT_KEY_ELSE(__VA_ARGS__))
#define RANGE(key, field, least, most, ...) \
    MOT_KEY(key, RANGE, field, MOT_KEY_IN(least, most), MOT_KEY_ELSE(__VA_ARGS__))
#define BARE(key, of_kind, field, least, most, otherwise) \
    MOT_KEY(key, of_kind, field, MOT_KEY_IN(least, most), MOT_KEY_ELSE(otherwise, otherwise), .flags = MOT_KEY_BARE)
#define NUMBERS(key, of_kind, field, count_field, least, most, ...) \
    MOT_KEY(key, of_kind, field, MOT_KEY_IN(least, most), .count_at = AT(count_field), __VA_ARGS__)
#define FILL(stage) NUMBERS("fill", NUMBERS, stage.fill, stage.values, 0, 255, .flags = 0)
#define SIZE(key, field, how) MOT_KEY_AT(key, SIZE, field, 8, MOT_KEY_IN(1, MOT_MAX_RESULT_SIDE), .flags = how)
#define NEEDED (MOT_KEY_NEEDED | MOT_KEY_PRINTED)
#define FILTERS(most) \
    MOT_KEY_AT("filter", WORDS, crop.filters, 8, .high = most, MOT_KEY_OF(mot_filter_names, MOT_FILTERS)), \
        WORD("order", crop.order, order_names, MOT_ORDERS, MOTLEY_ORDER_PILLOW_13)

static const mot_key random_resized_crop[] = { SIZE("size", crop.width, NEEDED),
                                               RANGE("scale", crop.area, 0, 1, 0.08, 1),
                                               RANGE("ratio", crop.ratio, 1e-3, 1e3, 3.0 / 4, 4.0 / 3),
                                               FILTERS(MOT_FILTERS) };

static const mot_key zoom_out[] = { CHANCE("p", zoom.p, 1), RANGE("side", zoom.side, 1, 100, 1, 4), FILL(zoom) };

static const double overlaps[] = { 0, 0.1, 0.3, 0.5, 0.7, 0.9, 1 };

static const mot_key iou_crop[] = { CHANCE("p", overlap.p, 1),
                                    NUMBERS("overlap", CHOICES, overlap.overlap, overlap.overlaps, 0, 1,
                                            .choices = overlaps, .choices_count = COUNT(overlaps)),
                                    RANGE("scale", overlap.scale, 0, 1, 0.3, 1),
                                    RANGE("ratio", overlap.ratio, 1e-3, 1e3, 0.5, 2) };

static const mot_key resize[] = {
    SIZE("size", crop.width, MOT_KEY_BARE | MOT_KEY_SHORTER),
    NUMBERS("shortest", SIDES, crop.shortest, crop.shortests, 1, UINT16_MAX, .flags = MOT_KEY_BARE),
    WHOLE("longest", crop.longest, 1, MOT_MAX_RESULT_SIDE),
    SIZE("fit", crop.fit, MOT_KEY_BARE),
    NUMBERS("square", SIDES, crop.square, crop.squares, 1, UINT16_MAX, .flags = MOT_KEY_BARE),
    RANGE("scale", crop.scale, 1e-3, 1e3, 1, 1),
    WORD("rounding", crop.rounding, rounding_names, 3, MOT_SIDES_TORCHVISION),
    FILTERS(1),
    WORD("masks", crop.masks, nearest_names, 2, 0),
};

static const mot_key size_crop[] = { MOT_KEY("sides", COUNTS, size_crop.sides, MOT_KEY_IN(1, MOT_MAX_RESULT_SIDE),
                                             MOT_KEY_ELSE(1, 1), .flags = NEEDED) };

static const mot_key fixed_crop[] = {
    SIZE("size", window.width, NEEDED),
    FILL(window),
    WORD("rounding", window.rounding, rounding_names, 3, MOT_SIDES_TORCHVISION),
};

static const mot_key pad[] = {
    SIZE("size", window.width, MOT_KEY_BARE),
    WHOLE("multiple", window.multiple, 1, 4096),
    WORD("at", window.at, at_names, 2, 0),
    FILL(window),
};

static const mot_key center_crop[] = { SIZE("size", crop.width, NEEDED) };

static const mot_key random_crop[] = { SIZE("size", crop.width, NEEDED),
                                       WHOLE("padding", crop.padding, 0, MOT_MAX_RESULT_SIDE) };

static const mot_key flip[] = {
    MOT_KEY("horizontal", NUMBER, flip.horizontal, .high = 1, .flags = MOT_KEY_PRINTED),
    CHANCE("vertical", flip.vertical, 0),
};

/* What a text changes of a built-in policy. */
static const mot_key policy[] = {
    [MOT_CHANGES_NAME] = { .name = "name", .kind = MOT_KEY_NAME },
    [MOT_CHANGES_P] = CHANCE("p", policy.p, 1),
    [MOT_CHANGES_REPEAT] = BARE("repeat", REPEAT, policy.repeat, 0, 0, 0),
    [MOT_CHANGES_BINS] = BARE("bins", WHOLE, policy.bins, 2, MOT_MAX_LEVELS, 0),
    [MOT_CHANGES_LEVEL] = BARE("level", LEVEL, policy.level, 0, 0, 0),
    [MOT_CHANGES_INTERPOLATION] = MOT_KEY_AT("interpolation", WORDS, policy.interpolations, 4,
                                             MOT_KEY_OF(mot_interpolation_names, 3), .flags = MOT_KEY_SET),
    [MOT_CHANGES_FILL] = NUMBERS("fill", BYTES, policy.fill, policy.fills, 0, 255, .flags = 0),
};

static const mot_key jitter[] = {
    CHANCE("p", jitter.p, 1),
    BARE(MOT_JITTER_BRIGHTNESS, FACTORS, jitter.range[MOT_BRIGHTNESS], 0, 10000, 1),
    BARE(MOT_JITTER_CONTRAST, FACTORS, jitter.range[MOT_CONTRAST], 0, 10000, 1),
    BARE(MOT_JITTER_SATURATION, FACTORS, jitter.range[MOT_SATURATION], 0, 10000, 1),
    BARE(MOT_JITTER_HUE, SHIFTS, jitter.range[MOT_HUE], -0.5, 0.5, 0),
};

static const mot_key photometric[] = {
    CHANCE("p", photometric.p, 0.5),
    RANGE(MOT_JITTER_BRIGHTNESS, photometric.range[MOT_BRIGHTNESS], 0, 10000, 0.875, 1.125),
    RANGE(MOT_JITTER_CONTRAST, photometric.range[MOT_CONTRAST], 0, 10000, 0.5, 1.5),
    RANGE(MOT_JITTER_SATURATION, photometric.range[MOT_SATURATION], 0, 10000, 0.5, 1.5),
    RANGE(MOT_JITTER_HUE, photometric.range[MOT_HUE], -0.5, 0.5, -0.05, 0.05),
    CHANCE("channels", photometric.channels, -1),
};

static const mot_key grayscale[] = { CHANCE("p", grayscale.p, 1) };

static const mot_key blur[] = {
    CHANCE("p", blur.p, 1),
    BARE("radius", RANGE, blur.radius, 0, 100, 0),
    WHOLE("kernel_size", blur.kernel_size, 3, MOTLEY_MAX_KERNEL),
    BARE("sigma", RANGE, blur.sigma, MOT_KERNEL_SIGMA_MIN, MOT_KERNEL_SIGMA_MAX, 0),
};

static const mot_key output[] = {
    NUMBERS("mean", NUMBERS, output.mean, output.values, -1e6, 1e6, .flags = 0),
    NUMBERS("std", NUMBERS, output.std, output.values, 1e-6, 1e6, MOT_KEY_ELSE(1)),
    WORD("convention", output.convention, convention_names, 3, MOTLEY_NORMALIZATION_TORCHVISION_V1),
    WORD("type", output.dtype, dtype_names, 4, MOTLEY_F32),
    WORD("layout", output.layout, layout_names, 2, MOTLEY_CHW),
};

static const mot_key erase[] = {
    CHANCE("p", erase.p, 1),
    RANGE("area", erase.area, 0, 1, 0.02, 0.33),
    RANGE("ratio", erase.ratio, 1e-3, 1e3, 0.3, 3.3),
    NUMBERS("value", VALUE, erase.value, erase.values, -1e6, 1e6, .words = fill_names, .words_count = 2),
    MOT_KEY("boxes", COUNTS, erase.boxes, MOT_KEY_IN(1, MOTLEY_MAX_ERASED_BOXES), MOT_KEY_ELSE(1, 1)),
};

static const mot_key mix[] = {
    NUMBER("mixup", mix.params.mixup, 0, 1000, 0),
    NUMBER("cutmix", mix.params.cutmix, 0, 1000, 0),
    RANGE("share", mix.params.share, 0, 1, 0, 0),
    CHANCE("p", mix.params.p, 1),
    NUMBER("switch", mix.params.switch_p, 1e-9, 1, 0.5),
    WORD("rules", mix.params.rules, rules_names, 2, 0),
    WORD("mode", mix.params.mode, mode_names, 3, 0),
    RANGE("minmax", mix.params.minmax, 0, 1, 0, 0),
    WORD("lambda", mix.params.keep_lambda, lambda_names, 2, 0),
    WORD("partner", mix.params.drawn_partner, partner_names, 2, 0),
    WHOLE("classes", mix.classes, 1, 1 << 24),
    CHANCE("smoothing", mix.smoothing, 0),
    WHOLE("paste", mix.params.pastes, 0, MOTLEY_MAX_PASTES),
    WORD("instances", mix.params.instances, instances_names, 2, 0),
    WHOLE("grow", mix.params.grow, 0, MOTLEY_MAX_GROW),
    CHANCE("paste_p", mix.params.paste_p, 1),
    NUMBER("area", mix.params.paste_area, 0, 1e9, 0),
    RANGE("context", mix.params.context, 0, 10, 0, 0),
    NUMBERS("sizes", SIDES, mix.params.sizes, mix.params.sizes_count, 1, UINT16_MAX, .flags = MOT_KEY_BARE),
};

#define FORM(text, keys, rank, drawn, ...) \
    { \
        text, MOT_KEYS(keys), rank, MOT_DRAWN_##drawn, __VA_ARGS__ \
    }

const mot_stage_form mot_stage_forms[MOT_STAGE_KINDS] = {
    [MOT_STAGE_RANDOM_RESIZED_CROP] = FORM("random_resized_crop", random_resized_crop, 0, CROP, MOT_RESIZES, 4),
    [MOT_STAGE_RESIZE] = FORM("resize", resize, 0, WINDOW, MOT_RESIZES, 4),
    [MOT_STAGE_CENTER_CROP] = FORM("center_crop", center_crop, 0, WINDOW, MOT_CUTS | MOT_EXTENDS, 5),
    [MOT_STAGE_RANDOM_CROP] = FORM("random_crop", random_crop, 0, WINDOW, MOT_CUTS | MOT_EXTENDS, 5),
    [MOT_STAGE_FLIP] = FORM("flip", flip, 0, MIRRORS, 0, 6), /* before a resize in turn 3 */
    [MOT_STAGE_POLICY] = FORM("policy", policy, 3, STEPS, 0, 0),
    [MOT_STAGE_JITTER] = FORM("jitter", jitter, 3, STEPS, 0, 0),
    [MOT_STAGE_GRAYSCALE] = FORM(MOT_GRAYSCALE_STAGE, grayscale, 3, STEPS, 0, 0),
    [MOT_STAGE_BLUR] = FORM("blur", blur, 3, STEPS, 0, 0),
    [MOT_STAGE_OUTPUT] = FORM("output", output, 4, NOTHING, 0, 0),
    [MOT_STAGE_ERASE] = FORM("erase", erase, 5, BOXES, 0, 0),
    [MOT_STAGE_MIX] = FORM("mix", mix, 6, NOTHING, 0, 0),
    [MOT_STAGE_TO_RGB] = { "to_rgb", { NULL, 0 }, -3, MOT_DRAWN_NOTHING, 0, 0 },
    [MOT_STAGE_ZOOM_OUT] = FORM("zoom_out", zoom_out, 0, WINDOW, MOT_EXTENDS, 1),
    [MOT_STAGE_ONE_OF] = { "one_of", { NULL, 0 }, 0, MOT_DRAWN_NOTHING, 0, 0 }, /* its lists' stages have ranks */
    [MOT_STAGE_SIZE_CROP] = FORM("size_crop", size_crop, 0, WINDOW, MOT_CUTS, 0),
    [MOT_STAGE_FIXED_CROP] = FORM("fixed_crop", fixed_crop, 0, WINDOW, MOT_CUTS | MOT_EXTENDS, 0),
    [MOT_STAGE_PAD] = FORM("pad", pad, 0, WINDOW, MOT_EXTENDS, 0),
    [MOT_STAGE_PHOTOMETRIC] = FORM("photometric", photometric, 3, STEPS, 0, 0), /* or first, before what places */
    [MOT_STAGE_IOU_CROP] = FORM("iou_crop", iou_crop, 0, WINDOW, MOT_CUTS, 2),
};

/* ---- checks of several keys together ---- */

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
    if (stage->kind == MOT_STAGE_JITTER && !(stage->given & ~1u)) /* but `p` */
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
    char what[MOT_MAX_NAME];
    snprintf(what, sizeof what, "'%s'", form->name);
    if (!mot_keys_read(r, map, what, &form->keys, NULL, 0, &out->of, &out->given))
        return;
    for (int k = 0; k < form->keys.count; k++) {
        const mot_key *const key = &form->keys.key[k];
        if (key->flags & MOT_KEY_NEEDED && !(out->given >> k & 1))
            PROBLEM(r, map, "'%s' has no '%s', want %s", form->name, key->name,
                    key->kind == MOT_KEY_SIZE ? "one side, or [height, width], in pixels" : "[least, most], in pixels");
    }
    check_stage(r, map, out);
}
