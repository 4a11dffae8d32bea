/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms whose numbers change with the epoch: what a text means in each, and the checks of all of them. */
#include "base/error.h"
#include "policies/schedule.h"
#include "policies/stage_keys.h"
#include "policies/views.h"

#include <inttypes.h>
#include <stdlib.h>

/* Reads what a text with schedules means in an epoch, and clears its tree. */
static motley_status read_in_epoch(const mot_yaml_tree *tree, uint32_t epoch, const motley_parse_params *params,
                                   mot_transform **transform, motley_error *error)
{
    reader r = { .tree = *tree, .whole = true, .params = params };
    *transform = NULL;
    motley_status status = mot_schedule_resolve(&r, epoch);
    if (status == MOTLEY_OK)
        status = mot_transform_read(&r, transform);
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
static motley_status check_epoch(reader *r, uint32_t epoch, mot_transform **first, motley_error *error)
{
    mot_yaml_tree tree;
    mot_transform *read = NULL;
    if (mot_yaml_copy(&r->tree, &tree) != MOTLEY_OK)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a text in epoch %u", epoch);
    tree.only_checked = *first != NULL;
    MOT_TRY(read_in_epoch(&tree, epoch, r->params, &read, error));
    motley_status status = MOTLEY_OK;
    if (has_customs(read))
        status =
            mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "'%s' has custom ops, want numbers without schedules", read->name);
    else
        check_alike(r, *first ? *first : read, read, epoch);
    if (status == MOTLEY_OK)
        status = mot_yaml_report(&r->tree, r->params, error);
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

motley_status mot_transform_read_scheduled(reader *r, mot_transform **transform, motley_error *error)
{
    mot_schedule *const schedule = calloc(1, sizeof *schedule);
    mot_transform *first = NULL;
    if (!schedule)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the schedules of a text");
    mot_schedule_read(r, schedule);
    if (r->tree.problems == 0)
        check_count(r, schedule);
    motley_status status = mot_yaml_report(&r->tree, r->params, error);
    for (uint32_t k = 0; k < schedule->count && status == MOTLEY_OK; k++) /* first, as problems are of the points */
        status = check_epoch(r, schedule->first[k], &first, error);
    for (uint32_t k = 0; k < schedule->count && status == MOTLEY_OK; k++)
        for (uint32_t epoch = schedule->first[k] + 1;
             schedule->moves[k] && epoch < schedule->first[k + 1] && status == MOTLEY_OK; epoch++)
            status = check_epoch(r, epoch, &first, error);
    if (status == MOTLEY_OK)
        mot_transform_keep_text(r, first);
    if (status == MOTLEY_OK && r->failed)
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
