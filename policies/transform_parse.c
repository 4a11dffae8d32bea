/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a transform's text into its stages. doc/policy-format.md describes the text; every problem is kept with its
 * place. */
#include "policies/transform.h"

#include "augmentations/ops.h"
#include "base/error.h"
#include "policies/builtin.h"
#include "policies/compile.h"
#include "policies/head.h"
#include "policies/print.h"
#include "policies/schedule.h"
#include "policies/stage_keys.h"
#include "policies/transform_draw.h"
#include "policies/views.h"

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>

#define FIRST (-3)    /* the rank of a photometric before those that crop or resize */
#define NEVER DBL_MIN /* as the chance of a motley_mix, for which 0 is its default */

/* Changes a built-in policy as its stage says, and compiles it. */
static motley_status change(motley_policy *policy, mot_stage *stage, motley_error *error)
{
    mot_changes *const own = &stage->of.policy;
    const uint32_t given = stage->given;
    policy->chance = given & 1u << MOT_CHANGES_P ? own->p : policy->chance;
    if (given & 1u << MOT_CHANGES_REPEAT)
        policy->repeat = own->repeat;
    if (given & 1u << MOT_CHANGES_BINS && own->bins > 0) {
        MOT_REQUIRE(policy->top_bins > 0, error, "policy '%s' has no bins to change", policy->name);
        policy->top_bins = own->bins;
        policy->top = own->bins - 1.0;
    }
    if (own->interpolations > 0) {
        policy->interpolations = own->interpolations;
        memcpy(policy->interpolation, own->interpolation, sizeof policy->interpolation);
    }
    if (own->fills > 0) {
        for (int c = own->fills; c < 4; c++) /* the alpha of three numbers is opaque */
            own->fill[c] = own->fills == 1 ? own->fill[0] : 255;
        policy->fills = (uint32_t)own->fills;
        memcpy(policy->fill, own->fill, sizeof policy->fill);
    }
    if (given & 1u << MOT_CHANGES_LEVEL)
        MOT_TRY(mot_policy_set_level(policy, own->level, error));
    return mot_policy_compile(policy, NULL, error);
}

/* A built-in policy's name, alone or with changes, or a policy written out. */
static void read_policy_stage(reader *r, const mot_yaml *node, mot_stage *out)
{
    const bool inline_policy = node->kind == MOT_YAML_MAP && (get(r, node, "branches") || get(r, node, "phases"));
    if (inline_policy) {
        const motley_status status = mot_policy_read(&r->tree, node, false, r->params ? r->params->custom_ops : NULL,
                                                     r->params ? r->params->custom_ops_count : 0, &out->policy);
        r->failed |= status == MOTLEY_ERR_MEMORY;
        return;
    }
    const mot_yaml *name = node;
    mot_keys_default(&mot_stage_forms[MOT_STAGE_POLICY].keys, &out->of);
    if (node->kind != MOT_YAML_SCALAR) {
        mot_stage_read(r, node, out);
        if (node->kind != MOT_YAML_MAP)
            return;
        name = get(r, node, "name");
        if (!name || name->kind != MOT_YAML_SCALAR) {
            PROBLEM(r, name ? name : node,
                    "'policy' has no 'name' and no 'branches', want a built-in policy's name, or "
                    "a policy written out");
            return;
        }
    }
    motley_error error;
    motley_status status = mot_builtin_drawn(text_of(r, name), r->tree.only_checked, &out->policy, &error);
    if (status == MOTLEY_OK && node != name)
        status = change(out->policy, out, &error);
    r->failed |= status == MOTLEY_ERR_MEMORY;
    if (status == MOTLEY_OK)
        keep_text(r, text_of(r, name), &out->name);
    else if (status != MOTLEY_ERR_MEMORY)
        PROBLEM(r, name, "%s", error.message);
}

/* The values of a ratio that is uniform in its logarithm: the middles of equally likely cells, rounded so that the last
 * bits of a libm do not matter. */
static void make_ratios(reader *r, mot_stage *stage, const double ratio[2])
{
    stage->ratios = malloc(MOT_RATIO_CELLS * sizeof *stage->ratios);
    r->failed |= !stage->ratios;
    const double low = log(ratio[0]), high = log(ratio[1]);
    for (int k = 0; stage->ratios && k < MOT_RATIO_CELLS; k++)
        stage->ratios[k] = ldexp(rint(ldexp(exp(low + (high - low) * (k + 0.5) / MOT_RATIO_CELLS), 36)), -36);
}

static void make_normals(reader *r, mot_stage *stage)
{
    stage->normals = malloc(MOT_NORMAL_CELLS * sizeof *stage->normals);
    r->failed |= !stage->normals;
    for (int k = 0; stage->normals && k < MOT_NORMAL_CELLS; k++)
        stage->normals[k] = (float)mot_normal_quantile((k + 0.5) / MOT_NORMAL_CELLS);
}

/* Makes what a stage draws from. */
static void make_tables(reader *r, mot_stage *stage)
{
    if (stage->kind == MOT_STAGE_MIX && r->tree.problems == 0) {
        motley_mix_params params = stage->of.mix.params;
        params.p = params.p > 0 ? params.p : NEVER;
        params.paste_p = params.paste_p > 0 ? params.paste_p : NEVER;
        r->failed |= motley_mix_create(&params, &stage->mixer, NULL) == MOTLEY_ERR_MEMORY;
    }
    if (stage->kind == MOT_STAGE_RANDOM_RESIZED_CROP)
        make_ratios(r, stage, stage->of.crop.ratio);
    if (stage->kind == MOT_STAGE_ERASE)
        make_ratios(r, stage, stage->of.erase.ratio);
    if (stage->kind == MOT_STAGE_ERASE && stage->of.erase.fills != MOT_ERASE_CONST)
        make_normals(r, stage);
}

/* Whether no sample has both stages: they are in different lists of one one_of. */
static bool are_apart(const mot_listing *a, const mot_listing *b)
{
    return a->one_of && a->one_of == b->one_of && a->list != b->list;
}

/* Checks a stage that is in a list of a one_of. */
static bool check_listed(reader *r, const mot_yaml *key, mot_stage_kind kind)
{
    if (mot_stage_makes_pictures(kind) && kind != MOT_STAGE_TO_RGB && kind != MOT_STAGE_ONE_OF)
        return true;
    PROBLEM(r, key, "'%s' is in a list of 'one_of', want it %s", mot_stage_forms[kind].name,
            kind == MOT_STAGE_TO_RGB   ? "as the first stage of all"
            : kind == MOT_STAGE_ONE_OF ? "beside it, or its lists as further ones"
                                       : "behind 'one_of'");
    return false;
}

/* The place of stage i in the order of a text. A photometric that no other stage precedes comes before those that crop
 * or resize. */
static int rank_of(const mot_transform *transform, uint32_t i, mot_stage_kind kind, const mot_listing *listed)
{
    if (kind != MOT_STAGE_PHOTOMETRIC)
        return mot_stage_forms[kind].rank;
    for (uint32_t k = 0; k < i; k++) {
        const mot_stage *const before = &transform->stage[k];
        if (before->kind != kind && before->kind != MOT_STAGE_ONE_OF && !are_apart(&before->listed, listed))
            return mot_stage_forms[kind].rank;
    }
    return FIRST;
}

/* Checks that a stage may follow those before it. */
static bool check_place(reader *r, const mot_yaml *key, const mot_transform *transform, mot_stage_kind kind,
                        const mot_listing *choice)
{
    const int own = rank_of(transform, transform->stages, kind, choice);
    int same = 0;
    if (choice->one_of && !check_listed(r, key, kind))
        return false;
    if (kind == MOT_STAGE_TO_RGB && transform->to_rgb)
        PROBLEM(r, key, "'to_rgb' follows 'to_rgb', want one of them");
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *before = &transform->stage[i];
        const int rank = rank_of(transform, i, before->kind, &before->listed);
        same += before->kind == kind;
        if (kind == MOT_STAGE_ONE_OF && !mot_stage_makes_pictures(before->kind)) {
            PROBLEM(r, key, "'one_of' stands behind '%s', want it before that", mot_stage_forms[before->kind].name);
            return false;
        }
        if (before->kind == MOT_STAGE_ONE_OF || kind == MOT_STAGE_ONE_OF || are_apart(&before->listed, choice))
            continue;
        if (rank > own) {
            PROBLEM(
                r, key,
                "'%s' stands behind '%s', want to_rgb first, then photometric, then zoom_out, crops, pad, resize and "
                "flip, then policy, jitter, grayscale and blur, then output, then erase, then mix",
                mot_stage_forms[kind].name, mot_stage_forms[before->kind].name);
            return false;
        }
        if (rank == own && rank > 3) {
            PROBLEM(r, key, "'%s' follows '%s', want one of them", mot_stage_forms[kind].name,
                    mot_stage_forms[before->kind].name);
            return false;
        }
    }
    if (same >= MOT_MAX_SAME_STAGES)
        PROBLEM(r, key, "more than %d stages '%s'", MOT_MAX_SAME_STAGES, mot_stage_forms[kind].name);
    if (kind == MOT_STAGE_ERASE &&
        (transform->stages == 0 || transform->stage[transform->stages - 1].kind != MOT_STAGE_OUTPUT ||
         transform->stage[transform->stages - 1].of.output.dtype == MOTLEY_U8))
        PROBLEM(r, key, "'erase' works on normalised values, want an 'output' of type f32, f16 or bf16 before it");
    return true;
}

/* Whether two stages fill with other numbers: four of them are of bands, too, and three are not. */
static bool fills_otherwise(const mot_stage *a, const mot_stage *b)
{
    uint8_t fill[4], other[4];
    const int fills = mot_stage_fill(a, fill), others = mot_stage_fill(b, other);
    return fills && others && ((fills == 4) != (others == 4) || memcmp(fill, other, sizeof fill) != 0);
}

/* Requires that a stage and those before it take pixels of one rectangle of the image, or of two, where it is resized
 * twice: that none shows again what was cut off, or has another fill. */
static void check_window(reader *r, const mot_yaml *key, const mot_transform *transform)
{
    const mot_stage *const last = &transform->stage[transform->stages - 1], *cut = NULL, *filled = NULL, *moved = NULL;
    uint8_t fill[4];
    for (const mot_stage *stage = transform->stage; stage < last; stage++) {
        if (are_apart(&stage->listed, &last->listed))
            continue;
        const unsigned does = mot_stage_forms[stage->kind].does;
        cut = does & MOT_RESIZES ? NULL : does & MOT_CUTS ? stage : cut;
        filled = mot_stage_fill(stage, fill) ? stage : filled;
        moved = mot_stage_places(stage->kind) && stage->kind != MOT_STAGE_ZOOM_OUT ? stage : moved;
    }
    if (last->kind == MOT_STAGE_IOU_CROP && moved)
        PROBLEM(r, key, "'iou_crop' stands behind '%s', want it before that, or behind a zoom_out alone",
                mot_stage_forms[moved->kind].name);
    else if (mot_stage_forms[last->kind].does & MOT_EXTENDS && cut)
        PROBLEM(
            r, key,
            "'%s' stands behind '%s', whose image it would show more of: want it before, or a 'resize' between them",
            mot_stage_forms[last->kind].name, mot_stage_forms[cut->kind].name);
    else if (filled && fills_otherwise(last, filled))
        PROBLEM(r, key, "'%s' fills with other numbers than '%s', want one fill", mot_stage_forms[last->kind].name,
                mot_stage_forms[filled->kind].name);
}

/* Requires that boxes are known where a policy works in them. */
static void check_boxes(reader *r, const mot_yaml *key, const mot_transform *transform)
{
    const mot_stage *const last = &transform->stage[transform->stages - 1];
    for (const mot_stage *stage = transform->stage; last->policy && last->policy->takes_boxes && stage < last; stage++)
        if (stage->policy && (stage->policy->runs_customs || stage->policy->augmix.width > 0))
            PROBLEM(r, key, "'policy' works in the boxes of an image, but a 'policy' before it %s, want it before that",
                    stage->policy->runs_customs ? "has custom ops, which may move them"
                                                : "mixes chains of ops, each of which may move them");
}

/* Gives the second and later policies of a transform separate random words. */
static void give_blocks(reader *r, const mot_transform *transform, motley_policy *policy)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i + 1 < transform->stages; i++)
        before += transform->stage[i].kind == MOT_STAGE_POLICY;
    if (!policy || before == 0 || before >= MOT_MAX_SAME_STAGES || policy->steps == 0)
        return;
    policy->first_block = MOT_STAGE_POLICY_BLOCKS * before;
    r->failed |= mot_policy_compile(policy, NULL, NULL) == MOTLEY_ERR_MEMORY;
}

static void unknown_stage(reader *r, const mot_yaml *key)
{
    const char *const name = text_of(r, key), *names[MOT_STAGE_KINDS];
    for (int i = 0; i < MOT_STAGE_KINDS; i++)
        names[i] = mot_stage_forms[i].name;
    const char *const here = mot_stage_elsewhere(name), *near = mot_nearest_name(name, names, MOT_STAGE_KINDS);
    if (here || near) {
        PROBLEM(r, key, here ? "unknown stage '%.60s', want '%s'" : "unknown stage '%.60s', did you mean '%s'?", name,
                here ? here : near);
        return;
    }
    char wanted[240];
    PROBLEM(r, key, "unknown stage '%.60s', want %s", name, list_of(names, MOT_STAGE_KINDS, wanted, sizeof wanted));
}

static int kind_named(const char *name)
{
    int kind = 0;
    while (kind < MOT_STAGE_KINDS && strcmp(name, mot_stage_forms[kind].name) != 0)
        kind++;
    return kind;
}

/* Reads the weights of a one_of's lists. False after a problem. */
static bool read_weights(reader *r, const mot_yaml *list, mot_lists *lists)
{
    static const char *const keys[] = { "weight", "stages" };
    const uint32_t problems = r->tree.problems;
    double sum = 0;
    if (list->kind != MOT_YAML_LIST || list->children < 2 || list->children > MOT_MAX_LISTS) {
        PROBLEM(r, list, "'one_of' is %s, want 2 to %d of {weight: 1, stages: [...]}",
                list->kind == MOT_YAML_LIST ? list->children < 2 ? "a choice of fewer than two" : "too long"
                                            : kind_of(r, list),
                MOT_MAX_LISTS);
        return false;
    }
    for (const mot_yaml *item = mot_yaml_child(&r->tree, list); item; item = mot_yaml_next(&r->tree, item)) {
        double *const weight = &lists->weight[lists->count++];
        *weight = 1;
        if (!check_keys(r, item, "a choice of 'one_of'", keys, COUNT(keys)))
            return false;
        const mot_yaml *const given = get(r, item, "weight"), *const stages = get(r, item, "stages");
        if (given)
            number(r, given, "'weight'", 0, 1e12, weight);
        if (!stages || stages->kind != MOT_YAML_LIST)
            PROBLEM(r, stages ? stages : item, "a choice of 'one_of' has %s%s, want a list, [] for nothing",
                    stages ? "as 'stages' " : "no 'stages'", stages ? kind_of(r, stages) : "");
        sum += *weight;
    }
    if (r->tree.problems == problems && !(sum > 0))
        PROBLEM(r, list, "the weights of 'one_of' sum to 0, want one above it");
    return r->tree.problems == problems;
}

static void read_stage(reader *r, const mot_yaml *node, const mot_listing *choice, mot_transform *transform);

/* Reads the lists of a one_of, whose mark is the last stage: their stages follow it. */
static void read_lists(reader *r, const mot_yaml *list, mot_transform *transform)
{
    mot_lists lists = { .count = 0 };
    mot_listing choice = { .to = 0 };
    double before = 0, sum = 0;
    for (uint32_t i = 0; i < transform->stages; i++)
        choice.one_of += transform->stage[i].kind == MOT_STAGE_ONE_OF;
    const bool good = read_weights(r, list, &lists);
    transform->stage[transform->stages - 1].of.one_of = lists;
    for (int i = 0; i < lists.count; i++)
        sum += lists.weight[i];
    const mot_yaml *item = good ? mot_yaml_child(&r->tree, list) : NULL;
    for (; item; item = mot_yaml_next(&r->tree, item), choice.list++) {
        const mot_yaml *const stages = get(r, item, "stages");
        before += lists.weight[choice.list];
        choice.from = choice.to;
        choice.to = (uint64_t)rint(ldexp(before / sum, 32));
        for (const mot_yaml *s = mot_yaml_child(&r->tree, stages); s; s = mot_yaml_next(&r->tree, s))
            read_stage(r, s, &choice, transform);
    }
}

/* A stage is a mapping with one key, its kind, whose value is its settings. `choice`: the list that it is in. */
static void read_stage(reader *r, const mot_yaml *node, const mot_listing *choice, mot_transform *transform)
{
    if (node->kind == MOT_YAML_SCALAR && node->length > 0) {
        if (kind_named(text_of(r, node)) == MOT_STAGE_KINDS)
            unknown_stage(r, node);
        else
            PROBLEM(r, node, "stage '%s' is a name alone, want '%s: {}', or with settings in the braces",
                    text_of(r, node), text_of(r, node));
        return;
    }
    if (node->kind != MOT_YAML_MAP || node->children != 2) {
        PROBLEM(r, node, "a stage is %s, want a mapping of one key, such as {flip: {horizontal: 0.5}}",
                node->kind == MOT_YAML_MAP ? "a mapping of several keys" : kind_of(r, node));
        return;
    }
    const mot_yaml *key = mot_yaml_child(&r->tree, node), *value = mot_yaml_next(&r->tree, key);
    if (key->kind != MOT_YAML_SCALAR) {
        PROBLEM(r, key, "a stage's name is %s", kind_of(r, key));
        return;
    }
    const int kind = kind_named(text_of(r, key));
    if (kind == MOT_STAGE_KINDS) {
        unknown_stage(r, key);
        return;
    }
    if (transform->stages == MOT_MAX_STAGES) {
        PROBLEM(r, node, "more than %d stages", MOT_MAX_STAGES);
        return;
    }
    const bool in_place = check_place(r, key, transform, (mot_stage_kind)kind, choice);
    mot_stage *stage = &transform->stage[transform->stages++];
    stage->kind = (mot_stage_kind)kind;
    stage->listed = *choice;
    if (kind == MOT_STAGE_ONE_OF && in_place) {
        read_lists(r, value, transform);
        return;
    }
    if (kind == MOT_STAGE_POLICY)
        read_policy_stage(r, value, stage);
    else if (kind != MOT_STAGE_ONE_OF)
        mot_stage_read(r, value, stage);
    transform->to_rgb |= kind == MOT_STAGE_TO_RGB;
    if (!in_place || kind == MOT_STAGE_TO_RGB) { /* it was read for its own problems, or is kept in `to_rgb` */
        mot_stage_clear(stage);
        transform->stages--;
        return;
    }
    check_window(r, key, transform);
    if (kind == MOT_STAGE_POLICY) {
        check_boxes(r, key, transform);
        give_blocks(r, transform, stage->policy);
    } else if (!r->tree.only_checked) {
        make_tables(r, stage);
    }
}

/* Requires that no image is resized more than twice. */
static void check_resizes(reader *r, const mot_yaml *list, const mot_transform *transform, uint32_t way)
{
    const int resizes = mot_way_resizes(transform, way);
    if (resizes > 2)
        PROBLEM(r, list, "the stages resize an image %d times, want at most twice", resizes);
}

/* Requires what a device or a follower has once for all samples to be the same in all lists of a one_of. */
static void check_lists(reader *r, const mot_yaml *list, const mot_transform *transform)
{
    const mot_stage *resized = NULL, *filled = NULL;
    uint8_t fill[4];
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *const stage = &transform->stage[i];
        if (stage->kind <= MOT_STAGE_RESIZE) {
            if (resized && resized->of.crop.order != stage->of.crop.order)
                PROBLEM(r, list, "the lists of 'one_of' resize by two orders, want one 'order'");
            resized = stage;
        }
        if (mot_stage_fill(stage, fill)) {
            if (filled && are_apart(&filled->listed, &stage->listed) && fills_otherwise(stage, filled))
                PROBLEM(r, list, "the lists of 'one_of' fill with two fills, want one 'fill'");
            filled = stage;
        }
    }
    if (transform->facts.ways > MOT_MAX_WAYS)
        PROBLEM(r, list, "the stages have %u ways through the lists of 'one_of', want at most %d",
                transform->facts.ways, MOT_MAX_WAYS);
}

/* Checks the sizes of images that go one way through the lists of all one_of. */
static void check_way(reader *r, const mot_yaml *list, const mot_transform *transform, uint32_t way,
                      const int32_t from[2])
{
    const uint32_t problems = r->tree.problems;
    int32_t size[2] = { from ? from[0] : 0, from ? from[1] : 0 };
    motley_error error;
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *stage = &transform->stage[i];
        if (!(transform->fact[i].ways >> way & 1))
            continue;
        mot_stage_only_size(stage, size);
        const int32_t kernel = stage->kind == MOT_STAGE_BLUR ? stage->of.blur.kernel_size : 0,
                      side = size[0] < size[1] ? size[0] : size[1];
        if (side > 0 && kernel / 2 >= side)
            PROBLEM(r, list, "a 'blur' of 'kernel_size' %d wants images of at least %d each way, these have %d", kernel,
                    kernel / 2 + 1, side);
        const motley_mix_params *const mix = &stage->of.mix.params;
        if (stage->kind == MOT_STAGE_MIX && (mix->pastes || mix->instances || mix->sizes_count) &&
            !mot_transform_only_mixes(transform))
            PROBLEM(r, list, "'mix' has '%s' behind other stages, want it as the only stage of a file for batches",
                    mix->pastes      ? "paste"
                    : mix->instances ? "instances"
                                     : "sizes");
        if (stage->kind == MOT_STAGE_MIX && side == 0 && !mot_transform_only_mixes(transform) &&
            transform->facts.ways == 1)
            PROBLEM(r, list, "'mix' mixes images of one size, want a stage that crops or resizes to it");
    }
    if (r->tree.problems == problems && mot_sizes_check_any(transform, way, from, &error) != MOTLEY_OK)
        PROBLEM(r, list, "no image fits: %s", error.message);
}

void mot_stages_check_sizes(reader *r, const mot_yaml *list, const mot_transform *transform, const int32_t from[2])
{
    const uint32_t problems = r->tree.problems;
    int32_t first[2] = { 0, 0 };
    mot_way_only_size(transform, 0, first);
    for (uint32_t way = 0; r->tree.problems == problems && way < transform->facts.ways; way++) {
        int32_t size[2] = { 0, 0 };
        check_way(r, list, transform, way, from);
        mot_way_only_size(transform, way, size);
        if (r->tree.problems == problems && mot_transform_stage(transform, MOT_STAGE_MIX) &&
            transform->facts.ways > 1 && (size[0] == 0 || size[0] != first[0] || size[1] != first[1]))
            PROBLEM(r, list, "'mix' mixes images of one size, but the lists of 'one_of' leave others");
    }
}

/* Reads what a transform has besides its stages or views. */
static void read_head(reader *r, const mot_yaml *map, mot_transform *transform)
{
    static const char *const keys[] = { "motley", "name",    "title",  "profile", "paper",
                                        "table",  "version", "stages", "views" };
    check_keys(r, map, "the transform", keys, COUNT(keys));
    mot_head_read(r, map, "transform", false, &transform->head);
}

void mot_stages_read(reader *r, const mot_yaml *list, mot_transform *transform)
{
    if (list->kind != MOT_YAML_LIST || list->children == 0) {
        PROBLEM(r, list, "'stages' is %s, want a list of at least one", list->children ? kind_of(r, list) : "empty");
        return;
    }
    bool sizes_known = true;
    for (const mot_yaml *s = mot_yaml_child(&r->tree, list); s; s = mot_yaml_next(&r->tree, s)) {
        const uint32_t problems = r->tree.problems;
        const uint32_t before = transform->stages;
        read_stage(r, s, &(mot_listing){ .one_of = 0 }, transform);
        if (r->tree.problems > problems) /* it was left out, or its size was not read */
            sizes_known &= transform->stages > before && transform->stage[before].kind > MOT_STAGE_RANDOM_CROP &&
                           transform->stage[before].kind != MOT_STAGE_ONE_OF;
    }
    const uint32_t problems = r->tree.problems;
    mot_transform_find_ways(transform);
    check_lists(r, list, transform);
    for (uint32_t way = 0; r->tree.problems == problems && sizes_known && way < transform->facts.ways; way++)
        check_resizes(r, list, transform, way);
    if (r->tree.problems == problems && sizes_known)
        mot_stages_check_sizes(r, list, transform, NULL);
}

static void read_transform(reader *r, const mot_yaml *map, mot_transform *transform)
{
    const mot_yaml *const stages = get(r, map, "stages"), *const views = get(r, map, "views");
    read_head(r, map, transform);
    if (views)
        mot_views_read(r, views, stages, transform);
    else
        mot_stages_read(r, stages, transform);
}

/* Turns a policy's text into a transform with that one stage. */
static void wrap_policy(reader *r, mot_transform *transform)
{
    mot_stage *stage = &transform->stage[transform->stages++];
    stage->kind = MOT_STAGE_POLICY;
    transform->plain = true;
    r->failed |= mot_policy_read(&r->tree, &r->tree.node[0], true, r->params->custom_ops, r->params->custom_ops_count,
                                 &stage->policy) == MOTLEY_ERR_MEMORY;
    if (!r->failed && stage->policy->name)
        keep_text(r, stage->policy->name, &transform->name);
}

void mot_transform_keep_text(reader *r, mot_transform *transform)
{
    mot_text text = { 0 };
    mot_yaml_print(&r->tree, &text);
    free(transform->text);
    transform->text = text.text;
    r->failed |= text.failed;
}

motley_status mot_transform_read(reader *r, mot_transform **transform)
{
    const mot_yaml *const root = &r->tree.node[0];
    mot_transform *const read = calloc(1, sizeof *read);
    if (!read)
        return MOTLEY_ERR_MEMORY;
    if (root->kind == MOT_YAML_MAP && (get(r, root, "stages") || get(r, root, "views")))
        read_transform(r, root, read);
    else
        wrap_policy(r, read);
    if (!r->failed && r->tree.problems == 0) {
        mot_transform_finish(read);
        if (read->views_count)
            mot_transform_keep_text(r, read);
        if (read->views_count && !r->failed)
            mot_views_finish(read);
    }
    if (!r->failed && r->tree.problems == 0)
        *transform = read;
    else
        mot_transform_destroy(read);
    return r->failed ? MOTLEY_ERR_MEMORY : MOTLEY_OK;
}

bool mot_is_staged(const reader *r)
{
    const mot_yaml *const root = &r->tree.node[0];
    return mot_schedule_in(r) || (root->kind == MOT_YAML_MAP && (get(r, root, "stages") || get(r, root, "views")));
}

motley_status mot_transform_parse(reader *r, mot_transform **transform, motley_error *error)
{
    return mot_schedule_in(r) ? mot_transform_read_scheduled(r, transform, error) : mot_transform_read(r, transform);
}
