/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the keys of a transform's stages, and what follows from it alone: their defaults and their print. */
#include "policies/stage_keys.h"

#include "augmentations/jitter.h"
#include "augmentations/kernel_blur.h"

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
static const char *const rounding_names[] = { "torchvision", "detr", "detectron2" };
static const char *const nearest_names[] = { "pillow", "torch" };
static const char *const at_names[] = { "upper_left", "centre" };

#define AT(field) (uint16_t)(offsetof(mot_stage, of.field) - offsetof(mot_stage, of))
#define PLACE(field) .at = AT(field), .bytes = sizeof(((mot_stage *)0)->of.field)
#define NUMBER(key, field, least, most, otherwise) \
    { \
        .name = key, .kind = MOT_KEY_NUMBER, PLACE(field), .low = least, .high = most, .standard = { otherwise } \
    }
#define CHANCE(key, field, otherwise) NUMBER(key, field, 0, 1, otherwise)
#define WHOLE(key, field, least, most) \
    { \
        .name = key, .kind = MOT_KEY_WHOLE, PLACE(field), .low = least, .high = most \
    }
#define RANGE(key, field, least, most, ...) \
    { \
        .name = key, .kind = MOT_KEY_RANGE, PLACE(field), .low = least, .high = most, .standard = { __VA_ARGS__ } \
    }
#define BARE(key, what, field, least, most, otherwise) \
    { \
        .name = key, .kind = what, PLACE(field), .low = least, .high = most, .standard = { otherwise, otherwise }, \
        .flags = MOT_KEY_BARE \
    }
#define WORD(key, field, names, count, otherwise) \
    { \
        .name = key, .kind = MOT_KEY_WORD, PLACE(field), .standard = { otherwise }, .words = names, \
        .words_count = count, .spellings = COUNT(names) \
    }
#define NUMBERS(key, field, count_field, least, most, otherwise) \
    { \
        .name = key, .kind = MOT_KEY_NUMBERS, PLACE(field), .count_at = AT(count_field), .low = least, .high = most, \
        .standard = { \
            otherwise \
        } \
    }
#define SIZE_OF(key, field, how) \
    { \
        .name = key, .kind = MOT_KEY_SIZE, .at = AT(field), .bytes = 8, .low = 1, .high = MOT_MAX_RESULT_SIDE, \
        .flags = how \
    }
#define SIZE SIZE_OF("size", crop.width, MOT_KEY_NEEDED | MOT_KEY_PRINTED)
#define SIDES(key, field, count_field) \
    { \
        .name = key, .kind = MOT_KEY_SIDES, PLACE(field), .count_at = AT(count_field), .low = 1, .high = UINT16_MAX, \
        .flags = MOT_KEY_BARE \
    }
#define FILTERS(most) \
    { .name = "filter", .kind = MOT_KEY_FILTERS, .at = AT(crop.filters), .bytes = 8, .high = most }, \
        WORD("order", crop.order, order_names, MOT_ORDERS, MOTLEY_ORDER_PILLOW_13)

static const mot_key random_resized_crop[] = { SIZE, RANGE("scale", crop.area, 0, 1, 0.08, 1),
                                               RANGE("ratio", crop.ratio, 1e-3, 1e3, 3.0 / 4, 4.0 / 3),
                                               FILTERS(MOT_FILTERS) };

static const mot_key zoom_out[] = { CHANCE("p", zoom.p, 1), RANGE("side", zoom.side, 1, 100, 1, 4),
                                    NUMBERS("fill", zoom.fill, zoom.values, 0, 255, 0) };

static const double overlaps[] = { 0, 0.1, 0.3, 0.5, 0.7, 0.9, 1 };

static const mot_key iou_crop[] = {
    CHANCE("p", overlap.p, 1),
    { .name = "overlap", .kind = MOT_KEY_CHOICES, PLACE(overlap.overlap), .count_at = AT(overlap.overlaps), .high = 1 },
    RANGE("scale", overlap.scale, 0, 1, 0.3, 1),
    RANGE("ratio", overlap.ratio, 1e-3, 1e3, 0.5, 2)
};

static const mot_key resize[] = {
    SIZE_OF("size", crop.width, MOT_KEY_BARE),
    SIDES("shortest", crop.shortest, crop.shortests),
    WHOLE("longest", crop.longest, 1, MOT_MAX_RESULT_SIDE),
    SIZE_OF("fit", crop.fit, MOT_KEY_BARE),
    SIDES("square", crop.square, crop.squares),
    RANGE("scale", crop.scale, 1e-3, 1e3, 1, 1),
    WORD("rounding", crop.rounding, rounding_names, 3, MOT_SIDES_TORCHVISION),
    FILTERS(1),
    WORD("masks", crop.masks, nearest_names, 2, 0),
};

static const mot_key size_crop[] = {
    { .name = "sides",
      .kind = MOT_KEY_COUNTS,
      PLACE(size_crop.sides),
      .low = 1,
      .high = MOT_MAX_RESULT_SIDE,
      .standard = { 1, 1 },
      .flags = MOT_KEY_NEEDED | MOT_KEY_PRINTED },
};

static const mot_key fixed_crop[] = {
    SIZE_OF("size", window.width, MOT_KEY_NEEDED | MOT_KEY_PRINTED),
    NUMBERS("fill", window.fill, window.values, 0, 255, 0),
    WORD("rounding", window.rounding, rounding_names, 3, MOT_SIDES_TORCHVISION),
};

static const mot_key pad[] = {
    SIZE_OF("size", window.width, MOT_KEY_BARE),
    WHOLE("multiple", window.multiple, 1, 4096),
    WORD("at", window.at, at_names, 2, 0),
    NUMBERS("fill", window.fill, window.values, 0, 255, 0),
};

static const mot_key center_crop[] = { SIZE };

static const mot_key random_crop[] = { SIZE, WHOLE("padding", crop.padding, 0, MOT_MAX_RESULT_SIDE) };

static const mot_key flip[] = {
    { .name = "horizontal", .kind = MOT_KEY_NUMBER, PLACE(flip.horizontal), .high = 1, .flags = MOT_KEY_PRINTED },
    CHANCE("vertical", flip.vertical, 0),
};

static const mot_key jitter[] = {
    CHANCE("p", jitter.p, 1),
    BARE(MOT_JITTER_BRIGHTNESS, MOT_KEY_FACTORS, jitter.range[MOT_BRIGHTNESS], 0, 10000, 1),
    BARE(MOT_JITTER_CONTRAST, MOT_KEY_FACTORS, jitter.range[MOT_CONTRAST], 0, 10000, 1),
    BARE(MOT_JITTER_SATURATION, MOT_KEY_FACTORS, jitter.range[MOT_SATURATION], 0, 10000, 1),
    BARE(MOT_JITTER_HUE, MOT_KEY_SHIFTS, jitter.range[MOT_HUE], -0.5, 0.5, 0),
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
    BARE("radius", MOT_KEY_RANGE, blur.radius, 0, 100, 0),
    WHOLE("kernel_size", blur.kernel_size, 3, MOTLEY_MAX_KERNEL),
    BARE("sigma", MOT_KEY_RANGE, blur.sigma, MOT_KERNEL_SIGMA_MIN, MOT_KERNEL_SIGMA_MAX, 0),
};

static const mot_key output[] = {
    NUMBERS("mean", output.mean, output.values, -1e6, 1e6, 0),
    NUMBERS("std", output.std, output.values, 1e-6, 1e6, 1),
    WORD("convention", output.convention, convention_names, 3, MOTLEY_NORMALIZATION_TORCHVISION_V1),
    WORD("type", output.dtype, dtype_names, 4, MOTLEY_F32),
    WORD("layout", output.layout, layout_names, 2, MOTLEY_CHW),
};

static const mot_key erase[] = {
    CHANCE("p", erase.p, 1),
    RANGE("area", erase.area, 0, 1, 0.02, 0.33),
    RANGE("ratio", erase.ratio, 1e-3, 1e3, 0.3, 3.3),
    { .name = "value",
      .kind = MOT_KEY_VALUE,
      PLACE(erase.value),
      .count_at = AT(erase.values),
      .low = -1e6,
      .high = 1e6,
      .words = fill_names,
      .words_count = 2 },
    { .name = "boxes",
      .kind = MOT_KEY_COUNTS,
      PLACE(erase.boxes),
      .low = 1,
      .high = MOTLEY_MAX_ERASED_BOXES,
      .standard = { 1, 1 } },
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
};

#define FORM(text, keys, rank) \
    { \
        text, keys, COUNT(keys), rank \
    }

const mot_stage_form mot_stage_forms[MOT_STAGE_KINDS] = {
    [MOT_STAGE_RANDOM_RESIZED_CROP] = FORM("random_resized_crop", random_resized_crop, 0),
    [MOT_STAGE_RESIZE] = FORM("resize", resize, 0),
    [MOT_STAGE_CENTER_CROP] = FORM("center_crop", center_crop, 0),
    [MOT_STAGE_RANDOM_CROP] = FORM("random_crop", random_crop, 0),
    [MOT_STAGE_FLIP] = FORM("flip", flip, 0),
    [MOT_STAGE_POLICY] = { "policy", NULL, 0, 3 },
    [MOT_STAGE_JITTER] = FORM("jitter", jitter, 3),
    [MOT_STAGE_GRAYSCALE] = FORM(MOT_GRAYSCALE_STAGE, grayscale, 3),
    [MOT_STAGE_BLUR] = FORM("blur", blur, 3),
    [MOT_STAGE_OUTPUT] = FORM("output", output, 4),
    [MOT_STAGE_ERASE] = FORM("erase", erase, 5),
    [MOT_STAGE_MIX] = FORM("mix", mix, 6),
    [MOT_STAGE_TO_RGB] = { "to_rgb", NULL, 0, -3 },
    [MOT_STAGE_ZOOM_OUT] = FORM("zoom_out", zoom_out, 0),
    [MOT_STAGE_ONE_OF] = { "one_of", NULL, 0, 0 }, /* its lists' stages have ranks */
    [MOT_STAGE_SIZE_CROP] = FORM("size_crop", size_crop, 0),
    [MOT_STAGE_FIXED_CROP] = FORM("fixed_crop", fixed_crop, 0),
    [MOT_STAGE_PAD] = FORM("pad", pad, 0),
    [MOT_STAGE_PHOTOMETRIC] = FORM("photometric", photometric, 3), /* or first, before what places images */
    [MOT_STAGE_IOU_CROP] = FORM("iou_crop", iou_crop, 0),
};

void mot_stage_defaults(mot_stage *stage)
{
    const mot_stage_form *const form = &mot_stage_forms[stage->kind];
    for (int k = 0; k < form->keys_count; k++) {
        const mot_key *const key = &form->keys[k];
        double *const numbers = mot_key_value(key, stage);
        int32_t *const whole = mot_key_value(key, stage);
        switch (key->kind) {
        case MOT_KEY_NUMBER:
            numbers[0] = key->standard[0];
            break;
        case MOT_KEY_RANGE:
        case MOT_KEY_FACTORS:
        case MOT_KEY_SHIFTS:
            memcpy(numbers, key->standard, sizeof key->standard);
            break;
        case MOT_KEY_NUMBERS:
        case MOT_KEY_VALUE:
            for (int c = 0; c < 4; c++)
                numbers[c] = key->standard[0];
            break;
        case MOT_KEY_WHOLE:
        case MOT_KEY_WORD:
            whole[0] = (int32_t)key->standard[0];
            break;
        case MOT_KEY_COUNTS:
            whole[0] = (int32_t)key->standard[0], whole[1] = (int32_t)key->standard[1];
            break;
        case MOT_KEY_CHOICES:
            memset(numbers, 0, key->bytes);
            memcpy(numbers, overlaps, sizeof overlaps);
            *mot_key_count(key, stage) = COUNT(overlaps);
            break;
        case MOT_KEY_SIZE: /* of a text with a problem */
            whole[0] = whole[1] = 1;
            break;
        case MOT_KEY_SIDES: /* none */
            break;
        case MOT_KEY_FILTERS:
            stage->of.crop.filters = 1;
            stage->of.crop.filter[0] = MOTLEY_FILTER_BILINEAR;
            break;
        }
    }
}

/* --- printing --- */

static void print_list(mot_text *w, const double *numbers, int count)
{
    for (int i = 0; i < count; i++)
        mot_say_number(w, i ? ", " : count > 1 ? "[" : "", numbers[i]);
    mot_say(w, count > 1 ? "]" : "");
}

static void print_filters(mot_text *w, const mot_crop *crop)
{
    for (int i = 0; i < crop->filters; i++)
        mot_say(w, "%s%s", i ? ", " : crop->filters > 1 ? "[" : "", mot_filter_names[crop->filter[i]]);
    mot_say(w, crop->filters > 1 ? "]" : "");
}

static void print_value(mot_text *w, const mot_key *key, const mot_stage *stage)
{
    const double *const numbers = mot_key_seen(key, stage);
    const int32_t *const whole = mot_key_seen(key, stage), *const count = mot_key_count(key, (mot_stage *)stage);
    switch (key->kind) {
    case MOT_KEY_NUMBER:
        mot_say_number(w, "", numbers[0]);
        break;
    case MOT_KEY_WHOLE:
        mot_say(w, "%d", whole[0]);
        break;
    case MOT_KEY_WORD:
        mot_say(w, "%s", key->words[whole[0]]);
        break;
    case MOT_KEY_RANGE:
    case MOT_KEY_FACTORS:
    case MOT_KEY_SHIFTS:
        print_list(w, numbers, 2);
        break;
    case MOT_KEY_NUMBERS:
        print_list(w, numbers, count[0]);
        break;
    case MOT_KEY_CHOICES:
        mot_say(w, count[0] > 1 ? "" : "[");
        print_list(w, numbers, count[0]);
        mot_say(w, count[0] > 1 ? "" : "]");
        break;
    case MOT_KEY_VALUE:
        if (count[1])
            mot_say(w, "%s", key->words[count[1] - 1]);
        else
            print_list(w, numbers, count[0]);
        break;
    case MOT_KEY_COUNTS:
        mot_say(w, "[%d, %d]", whole[0], whole[1]);
        break;
    case MOT_KEY_SIDES:
        for (int i = 0; i < count[0]; i++)
            mot_say(w, "%s%u", i ? ", " : count[0] > 1 ? "[" : "", ((const uint16_t *)whole)[i]);
        mot_say(w, count[0] > 1 ? "]" : "");
        break;
    case MOT_KEY_SIZE:
        if (whole[1] == 0 ||
            (whole[0] == whole[1] && strcmp(key->name, stage->kind == MOT_STAGE_RESIZE ? "size" : "") != 0))
            mot_say(w, "%d", whole[0]);
        else
            mot_say(w, "[%d, %d]", whole[1], whole[0]);
        break;
    case MOT_KEY_FILTERS:
        print_filters(w, &stage->of.crop);
        break;
    }
}

/* Whether a stage without the key in its text has the same value. */
static bool is_default(const mot_key *key, const mot_stage *stage)
{
    mot_stage plain = { .kind = stage->kind };
    mot_stage_defaults(&plain);
    return memcmp(mot_key_seen(key, stage), mot_key_seen(key, &plain), key->bytes) == 0;
}

static bool is_printed(const mot_key *key, int k, const mot_stage *stage)
{
    const int32_t *const count = mot_key_count(key, (mot_stage *)stage);
    if (key->flags & MOT_KEY_BARE)
        return stage->given >> k & 1;
    if (key->kind == MOT_KEY_NUMBERS)
        return count[0] > 0;
    if (key->kind == MOT_KEY_CHOICES && count[0] != COUNT(overlaps))
        return true;
    if (key->kind == MOT_KEY_VALUE)
        return count[0] > 0 || count[1] > 0;
    return key->flags & MOT_KEY_PRINTED || !is_default(key, stage);
}

void mot_stage_print(mot_text *w, const mot_stage *stage)
{
    const mot_stage_form *const form = &mot_stage_forms[stage->kind];
    const char *before = "{";
    for (int k = 0; k < form->keys_count; k++)
        if (is_printed(&form->keys[k], k, stage)) {
            mot_say(w, "%s%s: ", before, form->keys[k].name);
            print_value(w, &form->keys[k], stage);
            before = ", ";
        }
    mot_say(w, *before == '{' ? "{}" : "}");
}
