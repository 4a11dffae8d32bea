/* SPDX-License-Identifier: Apache-2.0 */
/* Creating, copying and destroying transforms, and the words of their texts. */
#include "policies/transform.h"

#include "augmentations/jitter.h"
#include "base/error.h"
#include "base/hash.h"
#include "policies/builtin.h"
#include "policies/schedule.h"
#include "policies/transform_draw.h"
#include "policies/views.h"
#include "policies/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mot_stage_elsewhere(const char *name)
{
    static const char *const known[][2] = {
        { "normalize", "output: {mean: [...], std: [...]}" },
        { "to_tensor", "output: {}" },
        { "to_image", "output: {}" },
        { "horizontal_flip", "flip: {horizontal: 0.5}" },
        { "random_horizontal_flip", "flip: {horizontal: 0.5}" },
        { "vertical_flip", "flip: {vertical: 0.5}" },
        { "random_vertical_flip", "flip: {vertical: 0.5}" },
        { "rgb", "to_rgb: {}" },
        { "convert_rgb", "to_rgb: {}" },
        { "pad", "random_crop: {size: ..., padding: ...}" },
        { "color_jitter", "jitter: {brightness: 0.4}" },
        { "random_grayscale", "grayscale: {p: 0.1}" },
        { "random_erasing", "erase: {p: 0.25}" },
        { "mixup", "mix: {mixup: 0.2}" },
        { "cutmix", "mix: {cutmix: 1}" },
        { "rand_augment", "policy: rand_augment" },
        { "trivial_augment_wide", "policy: trivial_augment_wide" },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i][0]) == 0)
            return known[i][1];
    return NULL;
}

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

/* The transform of one of timm's strings, whose policy is its only stage. */
static motley_status of_timm(const char *name, motley_transform **transform, motley_error *error)
{
    motley_policy *policy;
    char *text;
    MOT_TRY(motley_policy_builtin(name, &policy, error));
    motley_status status = motley_policy_print(policy, &text, error);
    motley_policy_destroy(policy);
    if (status == MOTLEY_OK)
        status = motley_transform_parse(text, strlen(text), NULL, transform, error);
    free(text);
    return status;
}

motley_status motley_transform_builtin(const char *name, motley_transform **transform, motley_error *error)
{
    MOT_REQUIRE(transform, error, "transform is NULL, want a place for the result");
    *transform = NULL;
    MOT_REQUIRE(name, error, "name is NULL, want that of a built-in transform");
    if (mot_is_timm(name))
        return of_timm(name, transform, error);
    for (size_t i = 0; i < mot_builtin_transform_count; i++)
        if (strcmp(name, mot_builtin_transforms[i].name) == 0)
            return motley_transform_parse(mot_builtin_transforms[i].text, strlen(mot_builtin_transforms[i].text), NULL,
                                          transform, error);
    for (size_t i = 0; i < motley_policy_builtin_count(); i++)
        if (strcmp(name, motley_policy_builtin_name(i)) == 0)
            return motley_transform_parse(motley_policy_builtin_text(i), strlen(motley_policy_builtin_text(i)), NULL,
                                          transform, error);
    return mot_no_builtin(name, true, error);
}

/* The key by which the device caches a transform's tables. */
static uint64_t fingerprint_of(const motley_transform *transform)
{
    uint64_t h = mot_hash(MOT_HASH_BEGIN, &transform->stages, sizeof transform->stages);
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *const stage = &transform->stage[i];
        h = mot_hash(mot_hash(h, &stage->kind, sizeof stage->kind), &stage->of, sizeof stage->of);
        h = stage->policy ? mot_hash(h, &stage->policy->fingerprint, sizeof stage->policy->fingerprint) : h;
        h = stage->policy ? mot_hash(h, &stage->policy->tables.first_block, sizeof(uint32_t)) : h;
    }
    return h;
}

static motley_transform_info info_of(const motley_transform *transform)
{
    motley_transform_info info = { .struct_size = sizeof info,
                                   .name = transform->name,
                                   .title = transform->title ? transform->title : transform->name,
                                   .profile = transform->profile ? transform->profile : "",
                                   .paper = transform->paper ? transform->paper : "",
                                   .layout = MOTLEY_CHW,
                                   .stages = transform->plain ? 0 : (int32_t)transform->stages + transform->to_rgb,
                                   .to_rgb = transform->to_rgb };
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *stage = &transform->stage[i];
        info.max_steps += (size_t)mot_stage_steps(stage);
        if (stage->kind <= MOT_STAGE_RANDOM_CROP && stage->of.crop.height > 0) {
            info.width = stage->of.crop.width;
            info.height = stage->of.crop.height;
        }
        if (stage->kind == MOT_STAGE_OUTPUT) {
            info.has_output = 1;
            info.dtype = (motley_dtype)stage->of.output.dtype;
            info.layout = (motley_layout)stage->of.output.layout;
        }
        if (stage->kind == MOT_STAGE_MIX) {
            info.mix = stage->mixer;
            info.classes = stage->of.mix.classes;
            info.smoothing = stage->of.mix.smoothing;
        }
    }
    return info;
}

void mot_transform_finish(motley_transform *transform)
{
    for (uint32_t i = 0; i < transform->stages; i++) {
        mot_stage *const stage = &transform->stage[i];
        stage->policy_steps = stage->policy ? (int32_t)motley_policy_max_steps(stage->policy) : 0;
    }
    transform->info = info_of(transform);
    transform->fingerprint = fingerprint_of(transform);
}

void mot_transform_schedule(motley_transform *transform, mot_schedule *schedule)
{
    transform->schedule = schedule;
    transform->info.stages += transform->plain;
    transform->info.scheduled = 1;
    transform->info.epochs = schedule->epochs;
    transform->fingerprint = mot_hash(MOT_HASH_BEGIN, transform->text, strlen(transform->text));
}

const motley_transform_info *motley_transform_describe(const motley_transform *transform)
{
    return transform ? &transform->info : NULL;
}

void mot_stage_clear(mot_stage *stage)
{
    free(stage->name);
    free(stage->ratios);
    free(stage->normals);
    motley_mix_destroy(stage->mixer);
    motley_policy_destroy(stage->policy);
    *stage = (mot_stage){ 0 };
}

motley_status mot_transform_copy(const motley_transform *transform, motley_transform **made, motley_error *error)
{
    for (uint32_t i = 0; i < transform->stages; i++)
        if (transform->stage[i].policy && transform->stage[i].policy->customs)
            return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "transform '%s' has custom ops, which cannot be copied",
                            transform->name);
    char *text;
    MOT_TRY(motley_transform_print(transform, &text, error));
    const motley_status status = motley_transform_parse(text, strlen(text), NULL, made, error);
    free(text);
    return status;
}

motley_status motley_transform_pictures(const motley_transform *transform, motley_transform **pictures,
                                        motley_error *error)
{
    MOT_REQUIRE(pictures, error, "pictures is NULL, want a place for the result");
    *pictures = NULL;
    MOT_REQUIRE(transform, error, "transform is NULL, want one that was loaded");
    MOT_TRY(mot_transform_check_single(transform, error));
    motley_transform *made;
    MOT_TRY(mot_transform_copy(transform, &made, error));
    while (made->stages > 0 && made->stage[made->stages - 1].kind >= MOT_STAGE_OUTPUT) /* they come last */
        mot_stage_clear(&made->stage[--made->stages]);
    if (made->stages == 0 && !made->to_rgb) /* a text has at least one stage */
        made->stage[made->stages++].kind = MOT_STAGE_FLIP;
    mot_transform_finish(made);
    *pictures = made;
    return MOTLEY_OK;
}

void motley_transform_destroy(motley_transform *transform)
{
    if (!transform)
        return;
    for (uint32_t i = 0; i < transform->stages; i++)
        mot_stage_clear(&transform->stage[i]);
    free(transform->name);
    free(transform->title);
    free(transform->profile);
    free(transform->paper);
    free(transform->table);
    free(transform->version);
    free(transform->schedule);
    free(transform->text);
    mot_views_destroy(transform);
    free(transform);
}
