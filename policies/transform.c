/* SPDX-License-Identifier: Apache-2.0 */
/* Creating, copying and destroying transforms, and the words of their texts. */
#include "policies/transform.h"

#include "augmentations/jitter.h"
#include "base/error.h"
#include "policies/builtin.h"
#include "policies/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const mot_stage_names[MOT_STAGE_KINDS] = {
    "random_resized_crop", "resize", "center_crop", "random_crop", "flip", "policy", "jitter",
    MOT_GRAYSCALE_STAGE,   "blur",   "output",      "erase",       "mix"
};
const char *const mot_filter_names[MOT_FILTERS] = { "bilinear", "bicubic", "lanczos", "nearest", "box", "hamming" };
const char *const mot_order_names[2] = { "pillow-13", "pillow-12" };
const char *const mot_convention_names[3] = { "torchvision_v1", "torchvision_v2", "timm" };
const char *const mot_dtype_names[4] = { "u8", "f32", "f16", "bf16" };
const char *const mot_layout_names[2] = { "hwc", "chw" };
const char *const mot_erase_names[2] = { "channel", "pixel" };
const char *const mot_jitter_names[MOT_JITTERS] = MOT_JITTER_NAMES;
const char *const mot_mix_rules_names[2] = { "torchvision", "timm" };
const char *const mot_mix_mode_names[3] = { "batch", "pair", "elem" };
const char *const mot_mix_partner_names[2] = { "fixed", "drawn" };
const char *const mot_mix_lambda_names[2] = { "corrected", "drawn" };

const mot_stage *mot_transform_stage(const motley_transform *transform, mot_stage_kind kind)
{
    for (uint32_t i = 0; i < transform->stages; i++)
        if (transform->stage[i].kind == kind)
            return &transform->stage[i];
    return NULL;
}

motley_status motley_transform_load(const char *path, const motley_parse_params *params, motley_transform **transform,
                                    motley_error *error)
{
    MOT_REQUIRE(transform, error, "transform is NULL, want a place for the result");
    *transform = NULL;
    char *text;
    size_t length = 0;
    MOT_TRY(mot_policy_text(path, &text, &length, error));
    const motley_status status = motley_transform_parse(text, length, params, transform, error);
    free(text);
    return status;
}

size_t motley_transform_builtin_count(void)
{
    return mot_builtin_transform_count;
}

const char *motley_transform_builtin_name(size_t i)
{
    return i < mot_builtin_transform_count ? mot_builtin_transforms[i].name : NULL;
}

const char *motley_transform_builtin_text(size_t i)
{
    return i < mot_builtin_transform_count ? mot_builtin_transforms[i].text : NULL;
}

motley_status motley_transform_builtin(const char *name, motley_transform **transform, motley_error *error)
{
    MOT_REQUIRE(transform, error, "transform is NULL, want a place for the result");
    *transform = NULL;
    MOT_REQUIRE(name, error, "name is NULL, want that of a built-in transform");
    for (size_t i = 0; i < mot_builtin_transform_count; i++)
        if (strcmp(name, mot_builtin_transforms[i].name) == 0)
            return motley_transform_parse(mot_builtin_transforms[i].text, strlen(mot_builtin_transforms[i].text), NULL,
                                          transform, error);
    for (size_t i = 0; i < motley_policy_builtin_count(); i++)
        if (strcmp(name, motley_policy_builtin_name(i)) == 0)
            return motley_transform_parse(motley_policy_builtin_text(i), strlen(motley_policy_builtin_text(i)), NULL,
                                          transform, error);
    const size_t count = mot_builtin_transform_count + motley_policy_builtin_count();
    const char **names = malloc(count * sizeof *names);
    if (!names)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the names of %zu transforms", count);
    for (size_t i = 0; i < count; i++)
        names[i] = i < mot_builtin_transform_count ? mot_builtin_transforms[i].name
                                                   : motley_policy_builtin_name(i - mot_builtin_transform_count);
    const char *near = mot_nearest_name(name, names, count);
    free(names);
    return near ? mot_fail(error, MOTLEY_ERR_ARGUMENT, "no transform '%.80s' is built in, did you mean '%s'?", name,
                           near)
                : mot_fail(error, MOTLEY_ERR_ARGUMENT, "no transform '%.80s' is built in", name);
}

motley_transform_info motley_transform_describe(const motley_transform *transform)
{
    motley_transform_info info = { .name = transform->name,
                                   .title = transform->title ? transform->title : transform->name,
                                   .profile = transform->profile ? transform->profile : "",
                                   .paper = transform->paper ? transform->paper : "",
                                   .layout = MOTLEY_CHW,
                                   .max_steps = transform->max_steps,
                                   .stages = transform->plain ? 0 : (int32_t)transform->stages };
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *stage = &transform->stage[i];
        if (stage->kind <= MOT_STAGE_RANDOM_CROP && stage->height > 0) {
            info.width = stage->width;
            info.height = stage->height;
        }
        if (stage->kind == MOT_STAGE_OUTPUT) {
            info.dtype = (motley_dtype)stage->dtype;
            info.layout = (motley_layout)stage->layout;
        }
        if (stage->kind == MOT_STAGE_MIX) {
            info.mix = stage->mix;
            info.classes = stage->classes;
            info.smoothing = stage->smoothing;
        }
    }
    return info;
}

void motley_transform_destroy(motley_transform *transform)
{
    if (!transform)
        return;
    for (uint32_t i = 0; i < transform->stages; i++) {
        free(transform->stage[i].name);
        free(transform->stage[i].ratios);
        free(transform->stage[i].normals);
        motley_mix_destroy(transform->stage[i].mix);
        motley_policy_destroy(transform->stage[i].policy);
    }
    free(transform->name);
    free(transform->title);
    free(transform->profile);
    free(transform->paper);
    free(transform->table);
    free(transform->version);
    free(transform);
}
