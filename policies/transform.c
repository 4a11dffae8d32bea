/* SPDX-License-Identifier: Apache-2.0 */
/* Creating, copying and destroying transforms, and the words of their texts. */
#include "policies/transform.h"

#include "augmentations/jitter.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/values.h"
#include "policies/head.h"
#include "policies/schedule.h"
#include "policies/stage_keys.h"
#include "policies/transform_draw.h"
#include "policies/views.h"

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
        { "color_jitter", "jitter: {brightness: 0.4}" },
        { "random_photometric_distort", "photometric: {p: 0.5}" },
        { "random_grayscale", "grayscale: {p: 0.1}" },
        { "random_erasing", "erase: {p: 0.25}" },
        { "random_zoom_out", "zoom_out: {p: 0.5}" },
        { "random_iou_crop", "iou_crop: {p: 0.8}" },
        { "random_choice", "one_of: [{stages: [...]}, {stages: [...]}]" },
        { "random_select", "one_of: [{stages: [...]}, {stages: [...]}]" },
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

const mot_stage *mot_transform_stage(const mot_transform *transform, mot_stage_kind kind)
{
    for (uint32_t i = 0; i < transform->stages; i++)
        if (transform->stage[i].kind == kind)
            return &transform->stage[i];
    return NULL;
}

/* The key by which the device caches a transform's tables. */
static uint64_t fingerprint_of(const mot_transform *transform)
{
    uint64_t h = mot_hash(MOT_HASH_BEGIN, &transform->stages, sizeof transform->stages);
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *const stage = &transform->stage[i];
        h = mot_hash(mot_hash(h, &stage->kind, sizeof stage->kind), &stage->of, sizeof stage->of);
        h = stage->listed.one_of ? mot_hash(h, &stage->listed, sizeof stage->listed) : h;
        h = stage->policy ? mot_hash(h, &stage->policy->fingerprint, sizeof stage->policy->fingerprint) : h;
        h = stage->policy ? mot_hash(h, &stage->policy->tables.first_block, sizeof(uint32_t)) : h;
    }
    return h;
}

static motley_policy_info info_of(const mot_transform *transform)
{
    motley_policy_info info = { .struct_size = sizeof info,
                                .layout = MOTLEY_CHW,
                                .stages = (int32_t)transform->stages + transform->to_rgb,
                                .to_rgb = transform->to_rgb,
                                .draws_sizes = transform->facts.draws_sizes };
    int32_t size[2] = { 0, 0 };
    mot_head_describe(&transform->head, &info);
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *stage = &transform->stage[i];
        info.max_steps += (size_t)stage->steps;
        info.takes_levels |= stage->policy && stage->policy->takes_levels;
        info.takes_boxes |= stage->kind == MOT_STAGE_IOU_CROP ? 2 : stage->policy && stage->policy->takes_boxes;
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
    for (uint32_t way = 0; way < transform->facts.ways; way++) {
        int32_t own[2] = { 0, 0 };
        mot_way_only_size(transform, way, own);
        const bool same = way == 0 || (own[0] == size[0] && own[1] == size[1]);
        size[0] = same ? own[0] : 0;
        size[1] = same ? own[1] : 0;
    }
    info.width = size[0];
    info.height = size[1];
    return info;
}

/* Adds the steps of a stage to those of the stages before it. */
static void add_steps(mot_step_facts *sum, const mot_step_facts *more)
{
    sum->steps += more->steps;
    sum->shapes |= more->shapes;
    sum->statistics += more->statistics;
    sum->breaks += more->breaks;
    sum->taps = mot_larger_int(sum->taps, more->taps);
    sum->chains = mot_larger_int(sum->chains, more->chains);
}

static mot_step_facts steps_of(const mot_stage *stage)
{
    const uint32_t pixels = 1u << MOTLEY_SHAPE_COLOR | 1u << MOTLEY_SHAPE_STATS | 1u << MOTLEY_SHAPE_POINT;
    const int32_t kernel = stage->kind == MOT_STAGE_BLUR ? stage->of.blur.kernel_size : 0;
    switch (stage->kind) {
    case MOT_STAGE_POLICY:
        return stage->policy ? stage->policy->facts : (mot_step_facts){ 0 }; /* a text with mistakes */
    case MOT_STAGE_JITTER: /* hue is done to pixels in place, as POINT */
        return (mot_step_facts){ .steps = MOT_JITTERS, .shapes = pixels, .statistics = 1 };
    case MOT_STAGE_PHOTOMETRIC:
        return (mot_step_facts){ .steps = MOT_JITTERS + 1, .shapes = pixels, .statistics = 1 };
    case MOT_STAGE_GRAYSCALE:
        return (mot_step_facts){ .steps = 1, .shapes = 1u << MOTLEY_SHAPE_COLOR };
    case MOT_STAGE_BLUR:
        return (mot_step_facts){
            .steps = 1, .shapes = kernel ? 0 : 1u << MOTLEY_SHAPE_BLUR, .breaks = kernel > 0, .taps = kernel
        };
    default:
        return (mot_step_facts){ 0 };
    }
}

/* Way w takes list w / n % c of a one_of of c lists, where n is how many ways the one_of before it have. */
void mot_transform_find_ways(mot_transform *transform)
{
    uint32_t before[MOT_MAX_STAGES + 1] = { 1 }, lists[MOT_MAX_STAGES + 1] = { 1 }, ways = 1, seen = 0;
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *const stage = &transform->stage[i];
        if (stage->kind == MOT_STAGE_ONE_OF) {
            before[++seen] = ways;
            lists[seen] = stage->of.one_of.count ? (uint32_t)stage->of.one_of.count : 1; /* of a text with mistakes */
            ways = ways > MOT_MAX_WAYS ? ways : ways * lists[seen];
        }
        const mot_listing *const choice = &stage->listed;
        transform->fact[i].ways = 0;
        for (uint32_t w = 0; w < MOT_MAX_WAYS; w++) /* those beyond the last are on no stage's way */
            if (!choice->one_of || w / before[choice->one_of] % lists[choice->one_of] == choice->list)
                transform->fact[i].ways |= (uint64_t)1 << w;
    }
    transform->facts.ways = ways;
}

/* Adds what a policy has besides the facts of its steps. */
static void add_policy(const mot_stage *stage, mot_stage_facts *fact, mot_transform_facts *all)
{
    const motley_policy *const policy = stage->policy;
    fact->first_custom = all->customs;
    fact->begins = fact->steps.chains > 0 && (all->steps.steps > 0 || stage->listed.one_of);
    fact->steps.steps += fact->begins;
    all->mixes = fact->steps.chains > 0 ? stage : all->mixes;
    all->late |= fact->begins;
    all->takes_boxes |= policy->takes_boxes;
    all->inside |= policy->takes_boxes;
    all->runs_customs |= policy->runs_customs;
    all->customs += (int32_t)policy->customs;
}

/* Whether the stages from number s on crop, pad or resize images. */
static bool resizes_from(const mot_transform *transform, uint32_t s)
{
    while (s < transform->stages && !mot_stage_forms[transform->stage[s].kind].does)
        s++;
    return s < transform->stages;
}

/* Finds the facts of each stage, and of all. */
static void find_facts(mot_transform *transform)
{
    mot_transform_facts *const all = &transform->facts;
    uint32_t seen[MOT_STAGE_KINDS] = { 0 };
    int drawing = 0;
    *all = (mot_transform_facts){ .order = MOTLEY_ORDER_PILLOW_13 };
    for (uint32_t i = 0; i < transform->stages; i++) {
        mot_stage *const stage = &transform->stage[i];
        mot_stage_facts *const fact = &transform->fact[i];
        *fact = (mot_stage_facts){ .drawn = mot_stage_forms[stage->kind].drawn,
                                   .block = MOT_STAGE_BLOCK(stage->kind, seen[stage->kind]++),
                                   .first_step = all->steps.steps,
                                   .steps = steps_of(stage) };
        fact->before = stage->kind == MOT_STAGE_PHOTOMETRIC && resizes_from(transform, i);
        all->before += fact->before ? fact->steps.steps : 0;
        if (stage->kind <= MOT_STAGE_RESIZE) {
            all->order = (motley_resize_order)stage->of.crop.order;
            for (int f = 0; f < stage->of.crop.filters && f < (int)sizeof stage->of.crop.filter; f++)
                all->filters |= 1u << stage->of.crop.filter[f];
        }
        all->crop = i == 0 && fact->drawn == MOT_DRAWN_CROP ? stage : all->crop;
        all->erase = fact->drawn == MOT_DRAWN_BOXES ? stage : all->erase;
        all->only = stage->policy && !stage->listed.one_of ? stage : all->only;
        if (stage->policy)
            add_policy(stage, fact, all);
        all->takes_boxes |= stage->kind == MOT_STAGE_IOU_CROP;
        stage->steps = fact->steps.steps;
        drawing += fact->drawn == MOT_DRAWN_STEPS;
        add_steps(&all->steps, &fact->steps);
    }
    all->only = drawing == 1 ? all->only : NULL;
    mot_transform_find_ways(transform);
    all->draws_sizes = mot_transform_draws_sizes(transform, &all->joined);
    for (uint32_t way = 0; way < all->ways; way++)
        all->twice |= mot_way_resizes(transform, way) > 1;
}

int mot_stage_fill(const mot_stage *stage, uint8_t fill[4])
{
    const bool zooms = stage->kind == MOT_STAGE_ZOOM_OUT;
    const double *const from = zooms ? stage->of.zoom.fill : stage->of.window.fill;
    const int values = zooms ? stage->of.zoom.values : stage->of.window.values;
    if (!zooms && stage->kind != MOT_STAGE_PAD && stage->kind != MOT_STAGE_FIXED_CROP)
        return 0;
    for (int c = 0; c < 4; c++)
        fill[c] = (uint8_t)(values < 2 ? from[0] : c < values ? from[c] : 255);
    return values < 2 ? 1 : values;
}

void mot_transform_fill(const mot_transform *transform, int channels, bool bands, uint8_t fill[4])
{
    const uint8_t *const rgb = transform->fill;
    const mot_table_step step = { .fills = transform->fills == 4 ? MOT_FILLS_FOUR : 1,
                                  .fill = { rgb[0], rgb[1], rgb[2], rgb[3] },
                                  .fill_grey = mot_luma(rgb[0], rgb[1], rgb[2]) };
    mot_fill(&step, &(mot_drawn_sample){ .channels = transform->follower ? 4 : channels, .bands = bands }, fill);
}

static void find_fill(mot_transform *transform)
{
    for (uint32_t i = 0; !transform->follower && i < transform->stages; i++) {
        const int fills = mot_stage_fill(&transform->stage[i], transform->fill);
        transform->fills = fills ? fills : transform->fills;
    }
}

void mot_transform_finish(mot_transform *transform)
{
    find_facts(transform);
    find_fill(transform);
    transform->info = info_of(transform);
    transform->fingerprint = fingerprint_of(transform);
}

bool mot_transform_only_mixes(const mot_transform *transform)
{
    return transform->stages == 1 && !transform->to_rgb && transform->stage[0].kind == MOT_STAGE_MIX;
}

void mot_transform_schedule(mot_transform *transform, mot_schedule *schedule)
{
    transform->schedule = schedule;
    transform->info.scheduled = 1;
    transform->info.epochs = schedule->epochs;
    transform->fingerprint = mot_hash(MOT_HASH_BEGIN, transform->text, strlen(transform->text));
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

bool mot_transform_of_policy(motley_policy *policy)
{
    mot_transform *const only = policy->alone ? policy->alone : malloc(sizeof *only);
    if (!only)
        return false;
    *only = (mot_transform){ .head = policy->head, .stages = 1, .plain = true };
    only->stage[0].kind = MOT_STAGE_POLICY;
    only->stage[0].policy = policy;
    policy->alone = only;
    mot_transform_finish(only);
    only->info.stages = 0; /* as the text has none */
    return true;
}

const mot_transform *mot_policy_transform(const motley_policy *policy)
{
    return policy->staged ? policy->staged : policy->alone;
}

const mot_custom *mot_transform_custom(const mot_transform *transform, int op)
{
    for (uint32_t i = 0; i < transform->stages; i++) {
        const motley_policy *const policy = transform->stage[i].policy;
        const int own = op - MOT_OP_COUNT - transform->fact[i].first_custom;
        if (policy && own >= 0 && own < (int)policy->customs)
            return &policy->custom[own];
    }
    return NULL;
}

const motley_op_info *mot_transform_op(const mot_transform *transform, int op)
{
    const mot_custom *const custom = op < MOT_OP_COUNT ? NULL : mot_transform_custom(transform, op);
    return custom ? &custom->info : mot_step_info(op);
}

motley_status mot_transform_keep(const motley_policy *policy, mot_stage_filter *keeps, const void *user,
                                 motley_policy **kept, motley_error *error)
{
    MOT_TRY(mot_transform_check_single(policy->staged, error));
    if (policy->staged->follower)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "policy '%s' is a follower: want the policy that it follows",
                        policy->staged->name);
    MOT_TRY(mot_policy_copy(policy, kept, error));
    mot_transform *const made = (*kept)->staged;
    const uint32_t stages = made->stages;
    made->stages = 0;
    for (uint32_t i = 0; i < stages; i++)
        if (keeps(&made->stage[i], user))
            made->stage[made->stages++] = made->stage[i];
        else
            mot_stage_clear(&made->stage[i]);
    return MOTLEY_OK;
}

static bool is_of_pictures(const mot_stage *stage, const void *user)
{
    (void)user;
    return mot_stage_makes_pictures(stage->kind);
}

motley_status motley_policy_pictures(const motley_policy *policy, motley_policy **pictures, motley_error *error)
{
    MOT_REQUIRE(pictures, error, "pictures is NULL, want a place for the result");
    *pictures = NULL;
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    MOT_REQUIRE(policy->staged, error, "policy '%s' has no stages, so it has no last ones", policy->name);
    if (policy->staged->plain && !policy->staged->schedule) /* what a policy with schedules is in an epoch */
        return mot_policy_copy(policy, pictures, error);
    MOT_TRY(mot_transform_keep(policy, is_of_pictures, NULL, pictures, error));
    mot_transform *const made = (*pictures)->staged;
    if (made->stages == 0 && !made->to_rgb) /* a text has at least one stage */
        made->stage[made->stages++] = (mot_stage){ .kind = MOT_STAGE_FLIP };
    mot_transform_finish(made);
    return MOTLEY_OK;
}

void mot_transform_destroy(mot_transform *transform)
{
    if (!transform)
        return;
    for (uint32_t i = 0; i < transform->stages; i++)
        mot_stage_clear(&transform->stage[i]);
    mot_head_free(&transform->head);
    free(transform->schedule);
    free(transform->text);
    mot_views_destroy(transform);
    free(transform);
}
