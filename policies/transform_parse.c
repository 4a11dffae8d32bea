/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a transform's text into its stages. doc/policy-format.md describes the text; every problem is kept with its
 * place. */
#include "policies/transform.h"

#include "augmentations/ops.h"
#include "base/error.h"
#include "policies/builtin.h"
#include "policies/schedule.h"
#include "policies/stage_keys.h"
#include "policies/transform_draw.h"
#include "policies/views.h"

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>

#define NEVER DBL_MIN /* as the chance of a motley_mix, for which 0 is its default */

/* Reads which interpolations a step chooses from; their order in the text has no meaning. False if there are none. */
static bool read_interpolations(reader *r, const mot_yaml *node, motley_policy *policy)
{
    const bool list = node->kind == MOT_YAML_LIST;
    bool listed[COUNT(mot_interpolation_names)] = { false };
    for (const mot_yaml *item = list ? mot_yaml_child(&r->tree, node) : node; item;
         item = list ? mot_yaml_next(&r->tree, item) : NULL) {
        int which;
        if (word(r, item, "'interpolation'", mot_interpolation_names, COUNT(mot_interpolation_names), &which))
            listed[which] = true;
    }
    uint32_t count = 0;
    for (uint8_t i = 0; i < COUNT(listed); i++)
        if (listed[i])
            policy->interpolation[count++] = i;
    policy->interpolations = count ? count : policy->interpolations;
    return count > 0;
}

static void read_fill(reader *r, const mot_yaml *node, motley_policy *policy)
{
    double fill[4] = { 0 };
    const int count = mot_read_numbers(r, node, "'fill'", 1, 4, 0, 255, fill);
    if (count == 2)
        PROBLEM(r, node, "'fill' lists 2 numbers, want one number, or a list of 3 (RGB) or 4 (RGBA)");
    policy->fills = 4;
    for (int c = 0; c < 4; c++)
        policy->fill[c] = (uint8_t)(count < 2 ? fill[0] : c < count ? fill[c] : 255);
}

/* Changes a built-in policy as its stage says, and compiles it. */
static motley_status change(reader *r, const mot_yaml *map, motley_policy *policy, mot_stage *out, motley_error *error)
{
    const mot_yaml *const p = get(r, map, "p"), *const repeat = get(r, map, "repeat"),
                          *const bins = get(r, map, "bins"), *const level = get(r, map, "level"),
                          *const interpolation = get(r, map, "interpolation"), *const fill = get(r, map, "fill");
    uint32_t count = 2;
    out->given = (repeat ? MOT_GIVEN_REPEAT : 0) | (bins ? MOT_GIVEN_BINS : 0) | (level ? MOT_GIVEN_LEVEL : 0) |
                 (fill ? MOT_GIVEN_FILL : 0);
    if (p)
        number(r, p, "'p'", 0, 1, &policy->chance);
    if (repeat)
        mot_repeat_read(r, repeat, policy);
    if (bins && whole_number(r, bins, "'bins'", 2, MOT_MAX_LEVELS, &count)) {
        MOT_REQUIRE(policy->top_bins > 0, error, "policy '%s' has no bins to change", policy->name);
        policy->top_bins = (int)count;
        policy->top = count - 1.0;
    }
    if (interpolation && read_interpolations(r, interpolation, policy))
        out->given |= MOT_GIVEN_INTERPOLATION;
    if (fill)
        read_fill(r, fill, policy);
    if (level) {
        mot_level_read(r, level, &out->level);
        MOT_TRY(mot_policy_set_level(policy, out->level, error));
    }
    return mot_policy_compile(policy, NULL, NULL, error);
}

/* A built-in policy's name, alone or with changes, or a policy written out. False when there is no memory. */
static bool read_policy_stage(reader *r, const mot_yaml *node, mot_stage *out)
{
    static const char *const keys[] = { "name", "p", "repeat", "bins", "level", "interpolation", "fill" };
    const bool inline_policy = node->kind == MOT_YAML_MAP && (get(r, node, "branches") || get(r, node, "phases"));
    if (inline_policy) {
        const motley_status status = mot_policy_read(&r->tree, node, false, r->params ? r->params->custom_ops : NULL,
                                                     r->params ? r->params->custom_ops_count : 0, &out->policy);
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
    }
    motley_error error;
    motley_status status = mot_builtin_drawn(text_of(r, name), r->tree.only_checked, &out->policy, &error);
    if (status == MOTLEY_OK && node != name)
        status = change(r, node, out->policy, out, &error);
    if (status == MOTLEY_ERR_MEMORY)
        return false;
    if (status != MOTLEY_OK) {
        PROBLEM(r, name, "%s", error.message);
        return true;
    }
    out->name = strdup(text_of(r, name));
    return out->name != NULL;
}

/* The values of a ratio that is uniform in its logarithm: the middles of equally likely cells, rounded so that the last
 * bits of a libm do not matter. */
static bool make_ratios(mot_stage *stage, const double ratio[2])
{
    stage->ratios = malloc(MOT_RATIO_CELLS * sizeof *stage->ratios);
    const double low = log(ratio[0]), high = log(ratio[1]);
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
static bool check_place(reader *r, const mot_yaml *key, const mot_transform *transform, mot_stage_kind kind)
{
    int same = 0;
    if (kind == MOT_STAGE_TO_RGB && transform->to_rgb)
        PROBLEM(r, key, "'to_rgb' follows 'to_rgb', want one of them");
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *before = &transform->stage[i];
        const int rank = mot_stage_forms[before->kind].rank;
        same += before->kind == kind;
        if (rank > mot_stage_forms[kind].rank) {
            PROBLEM(r, key,
                    "'%s' stands behind '%s', want to_rgb first, then zoom_out, then crop and resize, then flip, "
                    "policy, jitter, grayscale and blur, then output, then erase, then mix",
                    mot_stage_forms[kind].name, mot_stage_forms[before->kind].name);
            return false;
        }
        if (rank == mot_stage_forms[kind].rank && rank != 3) {
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
static bool give_blocks(const mot_transform *transform, motley_policy *policy)
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
    const char *const name = text_of(r, key), *names[MOT_STAGE_KINDS];
    for (int i = 0; i < MOT_STAGE_KINDS; i++)
        names[i] = mot_stage_forms[i].name;
    const char *const here = mot_stage_elsewhere(name), *near = mot_nearest_name(name, names, MOT_STAGE_KINDS);
    if (here || near) {
        PROBLEM(r, key, here ? "unknown stage '%.60s', want '%s'" : "unknown stage '%.60s', did you mean '%s'?", name,
                here ? here : near);
        return;
    }
    char wanted[192] = "";
    for (size_t i = 0, used = 0; i < MOT_STAGE_KINDS; i++) {
        const char *const before = i == 0 ? "" : i + 1 < MOT_STAGE_KINDS ? ", " : " or ";
        snprintf(wanted + used, sizeof wanted - used, "%s%s", before, names[i]);
        used = strlen(wanted);
    }
    PROBLEM(r, key, "unknown stage '%.60s', want %s", name, wanted);
}

static int kind_named(const char *name)
{
    int kind = 0;
    while (kind < MOT_STAGE_KINDS && strcmp(name, mot_stage_forms[kind].name) != 0)
        kind++;
    return kind;
}

/* A stage is a mapping with one key, its kind, whose value is its settings. */
static bool read_stage(reader *r, const mot_yaml *node, mot_transform *transform)
{
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
    if (kind != MOT_STAGE_POLICY)
        mot_stage_read(r, value, stage);
    else if (!read_policy_stage(r, value, stage))
        return false;
    transform->to_rgb |= kind == MOT_STAGE_TO_RGB;
    if (!in_place || kind == MOT_STAGE_TO_RGB) { /* it was read for its own problems, or is kept in `to_rgb` */
        mot_stage_clear(stage);
        transform->stages--;
        return true;
    }
    if (kind == MOT_STAGE_POLICY) {
        check_boxes(r, key, transform);
        return give_blocks(transform, stage->policy);
    }
    if (r->tree.only_checked)
        return true;
    if (kind == MOT_STAGE_MIX && r->tree.problems == 0) {
        motley_mix_params params = stage->of.mix.params;
        params.p = params.p > 0 ? params.p : NEVER;
        return motley_mix_create(&params, &stage->mixer, NULL) != MOTLEY_ERR_MEMORY;
    }
    if (kind == MOT_STAGE_RANDOM_RESIZED_CROP)
        return make_ratios(stage, stage->of.crop.ratio);
    return kind != MOT_STAGE_ERASE || (make_ratios(stage, stage->of.erase.ratio) &&
                                       (stage->of.erase.fills == MOT_ERASE_CONST || make_normals(stage)));
}

/* What a zoom_out draws decides how large the image is behind it, so that is resized to one size. */
static void check_zoom(reader *r, const mot_yaml *list, const mot_transform *transform)
{
    const mot_stage *const next = transform->stages > 1 ? &transform->stage[1] : NULL;
    if (transform->stages == 0 || transform->stage[0].kind != MOT_STAGE_ZOOM_OUT)
        return;
    if (!next || next->kind != MOT_STAGE_RESIZE || next->of.crop.height == 0)
        PROBLEM(r, list,
                "'zoom_out' leaves images of many sizes, want a 'resize' behind it, with 'size' as "
                "[height, width]");
}

void mot_stages_check_sizes(reader *r, const mot_yaml *list, const mot_transform *transform, const int32_t from[2])
{
    const uint32_t problems = r->tree.problems;
    bool open = false, sized = from != NULL;
    int32_t side = !from ? 0 : from[0] < from[1] ? from[0] : from[1];
    motley_error error;
    for (uint32_t i = 0; i < transform->stages; i++) {
        const mot_stage *stage = &transform->stage[i];
        if (stage->kind <= MOT_STAGE_RANDOM_CROP) {
            open = stage->of.crop.height == 0;
            sized = !open;
            side = stage->of.crop.width < stage->of.crop.height ? stage->of.crop.width : stage->of.crop.height;
        }
        const int32_t kernel = mot_stage_kernel(stage);
        if (sized && kernel / 2 >= side)
            PROBLEM(r, list, "a 'blur' of 'kernel_size' %d wants images of at least %d each way, these have %d", kernel,
                    kernel / 2 + 1, side);
        if (stage->kind == MOT_STAGE_MIX && !sized && !open && !mot_transform_only_mixes(transform))
            PROBLEM(r, list, "'mix' mixes images of one size, want a stage that crops or resizes to it");
    }
    if (open)
        PROBLEM(r, list,
                "'resize' to a shorter side leaves images of many sizes, want a 'center_crop' or 'random_crop' "
                "behind it, or 'size' as [height, width]");
    if (r->tree.problems == problems && mot_sizes_check_any(transform, from, &error) != MOTLEY_OK)
        PROBLEM(r, list, "no image fits: %s", error.message);
}

/* Reads what a transform has besides its stages or views. */
static bool read_head(reader *r, const mot_yaml *map, mot_transform *transform)
{
    static const char *const keys[] = { "motley", "name",    "title",  "profile", "paper",
                                        "table",  "version", "stages", "views" };
    const mot_yaml *node = get(r, map, "motley");
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
    return words_of(r, map, "title", &transform->title) && words_of(r, map, "paper", &transform->paper) &&
           words_of(r, map, "table", &transform->table) && words_of(r, map, "version", &transform->version);
}

bool mot_stages_read(reader *r, const mot_yaml *list, mot_transform *transform)
{
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
    if (sizes_known) {
        check_zoom(r, list, transform);
        mot_stages_check_sizes(r, list, transform, NULL);
    }
    return true;
}

static bool read_transform(reader *r, const mot_yaml *map, mot_transform *transform)
{
    const mot_yaml *const stages = get(r, map, "stages"), *const views = get(r, map, "views");
    if (!read_head(r, map, transform))
        return false;
    return views ? mot_views_read(r, views, stages, transform) : mot_stages_read(r, stages, transform);
}

/* Turns a policy's text into a transform with that one stage. */
static bool wrap_policy(reader *r, const motley_parse_params *params, mot_transform *transform)
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

/* Keeps the text itself, of a transform that is not printed from its model. */
static bool keep_text(const reader *r, mot_transform *transform)
{
    mot_text text = { 0 };
    mot_yaml_print(&r->tree, &text);
    free(transform->text);
    transform->text = text.text;
    return !text.failed;
}

/* Reads the plain transform that `r` holds; problems go to `r`. */
static motley_status read_plain(reader *r, const motley_parse_params *params, mot_transform **transform)
{
    const mot_yaml *const root = &r->tree.node[0];
    mot_transform *const read = calloc(1, sizeof *read);
    const bool staged = root->kind == MOT_YAML_MAP && (get(r, root, "stages") || get(r, root, "views"));
    bool good = read && (staged ? read_transform(r, root, read) : wrap_policy(r, params, read));
    if (good && r->tree.problems == 0) {
        mot_transform_finish(read);
        if (read->views_count && (good = keep_text(r, read)))
            mot_views_finish(read);
    }
    if (good && r->tree.problems == 0)
        *transform = read;
    else
        mot_transform_destroy(read);
    return good ? MOTLEY_OK : MOTLEY_ERR_MEMORY;
}

/* Reads what a text with schedules means in an epoch, and clears its tree. */
static motley_status read_in_epoch(const mot_yaml_tree *tree, uint32_t epoch, const motley_parse_params *params,
                                   mot_transform **transform, motley_error *error)
{
    reader r = { .tree = *tree, .whole = true, .params = params };
    *transform = NULL;
    motley_status status = mot_schedule_resolve(&r, epoch);
    if (status == MOTLEY_OK)
        status = read_plain(&r, params, transform);
    for (uint32_t i = 0; i < r.tree.problems; i++) {
        char *const message = r.tree.problem[i].message;
        const size_t used = strlen(message);
        snprintf(message + used, sizeof r.tree.problem[i].message - used, " (in epoch %u)", epoch);
    }
    if (status == MOTLEY_OK)
        status = mot_yaml_report(&r.tree, params, error);
    mot_yaml_clear(&r.tree);
    return status == MOTLEY_ERR_MEMORY ? mot_fail(error, status, "no memory for a transform in epoch %u", epoch)
                                       : status;
}

/* Whether two transforms have the same views but for their stages. */
static bool same_views(const mot_transform *a, const mot_transform *b)
{
    bool same = a->views_count == b->views_count && a->shares == b->shares;
    for (uint32_t v = 0; same && v < a->views_count; v++)
        same = strcmp(a->views[v].name, b->views[v].name) == 0 && a->views[v].count == b->views[v].count &&
               a->views[v].number == b->views[v].number;
    return same;
}

/* Raises what the info of `transform` and its views says of steps and levels to what that of `other` says. */
static void widen(mot_transform *transform, const mot_transform *other)
{
    if (transform->info.max_steps < other->info.max_steps)
        transform->info.max_steps = other->info.max_steps;
    transform->info.takes_levels |= other->info.takes_levels;
    transform->info.takes_boxes |= other->info.takes_boxes;
    for (uint32_t v = 0; v < transform->views_count + transform->shares; v++)
        widen(mot_view_transform(transform, v), mot_view_transform(other, v));
}

/* Whether images are mixed with the same ones, and targets alike: only chances and shares differ. */
static bool same_mixing(const mot_transform *a, const mot_transform *b)
{
    const mot_stage *const x = mot_transform_stage(a, MOT_STAGE_MIX), *const y = mot_transform_stage(b, MOT_STAGE_MIX);
    if (!x || !y)
        return x == y;
    const motley_mix_params *const p = &x->of.mix.params, *const q = &y->of.mix.params;
    return p->rules == q->rules && p->mode == q->mode && p->keep_lambda == q->keep_lambda &&
           p->drawn_partner == q->drawn_partner && x->of.mix.classes == y->of.mix.classes;
}

/* How many numbers `mean` and `std` of the output have: with several, images must have as many channels. */
static int means_of(const mot_transform *transform)
{
    const mot_stage *const output = mot_transform_stage(transform, MOT_STAGE_OUTPUT);
    return output && output->of.output.values > 1 ? output->of.output.values : 1;
}

/* Requires that what a text means in an epoch differs from `first` only where a caller can follow. */
static void check_alike(reader *r, const mot_transform *first, const mot_transform *other, uint32_t epoch)
{
    const motley_policy_info *const a = &first->info, *const b = &other->info;
    const char *const what = !same_views(first, other)        ? "names and counts of 'views', and 'stages'"
                             : a->to_rgb != b->to_rgb         ? "'to_rgb'"
                             : a->has_output != b->has_output ? "'output'"
                             : a->dtype != b->dtype || a->layout != b->layout ? "type and layout of 'output'"
                             : means_of(first) != means_of(other)             ? "how many numbers 'mean' and 'std' have"
                             : !same_mixing(first, other)
                                 ? "'mix' and its 'rules', 'mode', 'partner', 'lambda' and 'classes'"
                             : a->smoothing != b->smoothing ? "'smoothing'"
                             : !a->width != !b->width       ? "crop or resize"
                                                            : NULL;
    for (uint32_t v = 0; !what && v < first->views_count + first->shares; v++)
        check_alike(r, mot_view_transform(first, v), mot_view_transform(other, v), epoch);
    if (what)
        PROBLEM(r, mot_schedule_place(r, epoch), "%s: epoch %u has another one than epoch 0, want the same in all%s",
                what, epoch, strncmp(what, "'mix'", 5) == 0 ? " (p: 0 mixes nothing)" : "");
}

/* Whether a transform or one of its views has custom ops, whose functions no text keeps. */
static bool has_customs(const mot_transform *transform)
{
    bool has = transform->facts.customs > 0;
    for (uint32_t v = 0; !has && v < transform->views_count + transform->shares; v++)
        has = has_customs(mot_view_transform(transform, v));
    return has;
}

/* Checks what the text in `r` means in an epoch. *first receives the transform of epoch 0, which is checked first; its
 * info is then raised to cover each further epoch. */
static motley_status check_epoch(reader *r, uint32_t epoch, const motley_parse_params *params, mot_transform **first,
                                 motley_error *error)
{
    mot_yaml_tree tree;
    mot_transform *read = NULL;
    if (mot_yaml_copy(&r->tree, &tree) != MOTLEY_OK)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a text in epoch %u", epoch);
    tree.only_checked = *first != NULL;
    MOT_TRY(read_in_epoch(&tree, epoch, params, &read, error));
    motley_status status = MOTLEY_OK;
    if (has_customs(read))
        status =
            mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "'%s' has custom ops, want numbers without schedules", read->name);
    else
        check_alike(r, *first ? *first : read, read, epoch);
    if (status == MOTLEY_OK)
        status = mot_yaml_report(&r->tree, params, error);
    if (status == MOTLEY_OK && *first)
        widen(*first, read);
    if (status == MOTLEY_OK && !*first)
        *first = read;
    else
        mot_transform_destroy(read);
    return status;
}

/* Requires that checking all epochs takes no more than a few seconds. */
static void check_count(reader *r, const mot_schedule *s)
{
    uint64_t epochs = 0, values = r->tree.nodes;
    for (uint32_t k = 0; k < s->count; k++)
        epochs += s->moves[k] ? s->first[k + 1] - s->first[k] : 1;
    for (uint32_t i = 0; i < r->tree.nodes; i++)
        if (r->tree.node[i].kind == MOT_YAML_SCALAR && strcmp(text_of(r, &r->tree.node[i]), "policy") == 0)
            values += MOT_VALUES_OF_POLICY;
    const uint64_t most = MOT_MAX_CHECKED / values < MOT_MAX_CHANGES ? MOT_MAX_CHECKED / values : MOT_MAX_CHANGES;
    if (epochs > most)
        PROBLEM(r, mot_schedule_in(r),
                "numbers change in %" PRIu64 " epochs, want at most %" PRIu64 ", each of which is checked", epochs,
                most);
}

/* Reads a text with schedules, which `r` holds. Every epoch in which it means something else is checked, so that none
 * fails later. */
static motley_status read_scheduled(reader *r, const motley_parse_params *params, mot_transform **transform,
                                    motley_error *error)
{
    mot_schedule *const schedule = calloc(1, sizeof *schedule);
    mot_transform *first = NULL;
    if (!schedule)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the schedules of a text");
    mot_schedule_read(r, schedule);
    if (r->tree.problems == 0)
        check_count(r, schedule);
    motley_status status = mot_yaml_report(&r->tree, params, error);
    for (uint32_t k = 0; k < schedule->count && status == MOTLEY_OK; k++) /* first, as problems are of the points */
        status = check_epoch(r, schedule->first[k], params, &first, error);
    for (uint32_t k = 0; k < schedule->count && status == MOTLEY_OK; k++)
        for (uint32_t epoch = schedule->first[k] + 1;
             schedule->moves[k] && epoch < schedule->first[k + 1] && status == MOTLEY_OK; epoch++)
            status = check_epoch(r, epoch, params, &first, error);
    if (status == MOTLEY_OK && !keep_text(r, first))
        status = mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the text of '%s'", first->name);
    if (status != MOTLEY_OK) {
        mot_transform_destroy(first);
        free(schedule);
        return status;
    }
    mot_transform_schedule(first, schedule);
    *transform = first;
    return MOTLEY_OK;
}

motley_status mot_transform_at(const mot_transform *transform, uint32_t epoch, mot_transform **plain,
                               motley_error *error)
{
    const motley_parse_params params = { 0 };
    mot_yaml_tree tree = { 0 };
    if (mot_yaml_read(&tree, transform->text, strlen(transform->text)) != MOTLEY_OK) {
        mot_yaml_clear(&tree);
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for '%s' in epoch %u", transform->name, epoch);
    }
    MOT_TRY(read_in_epoch(&tree, epoch, &params, plain, error));
    widen(*plain, transform);
    return MOTLEY_OK;
}

motley_status motley_policy_at(const motley_policy *policy, uint32_t epoch, motley_policy **plain, motley_error *error)
{
    MOT_REQUIRE(plain, error, "plain is NULL, want a place for the result");
    *plain = NULL;
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    if (!policy->staged || !policy->staged->schedule) {
        *plain = mot_policy_share(policy);
        return MOTLEY_OK;
    }
    motley_policy *const made = calloc(1, sizeof *made);
    if (!made)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a policy in epoch %u", epoch);
    const motley_status status = mot_transform_at(policy->staged, epoch, &made->staged, error);
    if (status == MOTLEY_OK)
        *plain = made;
    else
        motley_policy_destroy(made);
    return status;
}

motley_status motley_policy_scale(const motley_policy *policy, uint32_t epochs, motley_policy **scaled,
                                  motley_error *error)
{
    MOT_REQUIRE(scaled, error, "scaled is NULL, want a place for the result");
    *scaled = NULL;
    MOT_REQUIRE(policy, error, "policy is NULL, want one that was loaded");
    const motley_policy_info *const info = motley_policy_describe(policy);
    MOT_REQUIRE(info->epochs, error, "policy '%s' has no 'epochs', want the length of its schedules", info->name);
    MOT_REQUIRE(epochs >= 1 && epochs < 1u << 30, error, "epochs is %u, want 1 to %u", epochs, (1u << 30) - 1);
    const char *const text = policy->staged->text;
    reader r = { .whole = true };
    mot_text changed = { 0 };
    motley_status status = mot_yaml_read(&r.tree, text, strlen(text));
    if (status == MOTLEY_OK)
        status = mot_schedule_scale(&r, epochs);
    if (status == MOTLEY_OK)
        mot_yaml_print(&r.tree, &changed);
    mot_yaml_clear(&r.tree);
    if (status != MOTLEY_OK || changed.failed)
        status = mot_fail(error, MOTLEY_ERR_MEMORY, "no memory to scale policy '%s'", info->name);
    else
        status = motley_policy_parse(changed.text, changed.used, NULL, scaled, error);
    free(changed.text);
    return status;
}

bool mot_is_staged(mot_yaml_tree *tree)
{
    const reader r = { .tree = *tree };
    return mot_schedule_in(&r) || (tree->node[0].kind == MOT_YAML_MAP &&
                                   (get(&r, &tree->node[0], "stages") || get(&r, &tree->node[0], "views")));
}

motley_status mot_transform_parse(mot_yaml_tree *tree, size_t length, const motley_parse_params *params,
                                  mot_transform **transform, motley_error *error)
{
    reader r = { .tree = *tree, .whole = true, .params = params };
    motley_status status;
    if (mot_schedule_in(&r)) {
        status = read_scheduled(&r, params, transform, error);
    } else if ((status = read_plain(&r, params, transform)) == MOTLEY_OK) {
        status = mot_yaml_report(&r.tree, params, error);
    } else {
        mot_fail(error, status, "no memory to read a policy of %zu bytes", length);
    }
    *tree = r.tree; /* with the problems */
    return status;
}
