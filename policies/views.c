/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the views of a transform, and describes them. */
#include "policies/views.h"

#include "base/hash.h"
#include "policies/head.h"
#include "policies/stage_keys.h"

#include <stdlib.h>

/* Reads a view's name, count and number, which no view before it has. */
static void read_numbers(reader *r, const mot_yaml *map, const mot_transform *transform, motley_view *view)
{
    const mot_yaml *const name = get(r, map, "name"), *const count = get(r, map, "count");
    const mot_yaml *const number = get(r, map, "number");
    uint32_t read;
    char *copy = NULL;
    view->count = 1;
    view->number = (int32_t)transform->views_count - 1;
    if (count && whole_number(r, count, "'count'", 1, MOTLEY_MAX_VIEW_COUNT, &read))
        view->count = (int32_t)read;
    if (number && whole_number(r, number, "'number'", 0, MOTLEY_MAX_VIEWS - 1, &read))
        view->number = (int32_t)read;
    if (!name)
        PROBLEM(r, map, "a view has no 'name', want one by which its results are known");
    else if (is_name(r, name, "a view's 'name'"))
        keep_text(r, text_of(r, name), &copy);
    view->name = copy;
    for (uint32_t v = 0; v + 1 < transform->views_count; v++) {
        const motley_view *const other = &transform->views[v];
        if (copy && other->name && strcmp(other->name, copy) == 0)
            PROBLEM(r, name, "two views are named '%s'", copy);
        if (other->number == view->number)
            PROBLEM(r, number ? number : map, "two views have the number %d, want one that no other has", view->number);
    }
}

/* Makes the transform of a view, without stages; NULL if there is no memory. */
static mot_transform *make_transform(reader *r, const mot_transform *transform, motley_view *view)
{
    motley_policy *const policy = calloc(1, sizeof *policy);
    view->policy = policy;
    mot_transform *const made = policy ? policy->staged = calloc(1, sizeof *made) : NULL;
    for (int k = 0; made && k < MOT_HEAD_TEXTS; k++)
        if (transform->head.text[k])
            keep_text(r, transform->head.text[k], &made->head.text[k]);
    r->failed |= !made;
    return made;
}

static void read_view(reader *r, const mot_yaml *map, mot_transform *transform)
{
    static const char *const keys[] = { "name", "count", "number", "stages" };
    motley_view *const view = &transform->views[transform->views_count++];
    mot_transform *const made = make_transform(r, transform, view);
    if (!made || !check_keys(r, map, "a view", keys, COUNT(keys)))
        return;
    read_numbers(r, map, transform, view);
    const mot_yaml *const list = get(r, map, "stages");
    if (!list) {
        PROBLEM(r, map, "a view has no 'stages', want a list of at least one");
        return;
    }
    mot_stages_read(r, list, made);
    const mot_transform *const first = mot_view_transform(transform, 0);
    if (mot_transform_stage(made, MOT_STAGE_MIX))
        PROBLEM(r, list, "a view has a stage 'mix', want none: images are mixed by motley_mix_apply");
    if (made->to_rgb != first->to_rgb)
        PROBLEM(r, list, "'to_rgb' is a stage of some views, want it in all of them or in none");
    mot_transform_finish(made);
}

/* Reads the stages that all views share: a view whose number no other can have. */
static void read_shared(reader *r, const mot_yaml *list, mot_transform *transform)
{
    motley_view *const view = &transform->views[transform->views_count];
    transform->shares = true;
    view->count = 1;
    view->number = MOTLEY_MAX_VIEWS;
    mot_transform *const made = make_transform(r, transform, view);
    if (!made)
        return;
    keep_text(r, "", (char **)&view->name);
    mot_stages_read(r, list, made);
    for (uint32_t i = 0; i < made->stages; i++)
        if (!mot_stage_makes_pictures(made->stage[i].kind))
            PROBLEM(r, list, "views share a stage '%s', want it in the views",
                    mot_stage_forms[made->stage[i].kind].name);
    mot_transform_finish(made);
}

void mot_views_read(reader *r, const mot_yaml *list, const mot_yaml *shared, mot_transform *transform)
{
    if (list->kind != MOT_YAML_LIST || list->children < 1 || list->children > MOTLEY_MAX_VIEWS) {
        PROBLEM(r, list, "'views' is %s, want a list of 1 to %d",
                list->kind == MOT_YAML_LIST ? list->children ? "too long" : "empty" : kind_of(r, list),
                MOTLEY_MAX_VIEWS);
        return;
    }
    transform->views = calloc(list->children + 1, sizeof *transform->views);
    r->failed |= !transform->views;
    for (const mot_yaml *view = mot_yaml_child(&r->tree, list); view && !r->failed;
         view = mot_yaml_next(&r->tree, view))
        read_view(r, view, transform);
    if (shared && !r->failed)
        read_shared(r, shared, transform);
    if (!shared || r->failed)
        return;
    const motley_policy_info *const info = &mot_view_transform(transform, transform->views_count)->info;
    const mot_yaml *view = mot_yaml_child(&r->tree, list);
    for (uint32_t v = 0; r->tree.problems == 0 && info->width && view; v++, view = mot_yaml_next(&r->tree, view))
        mot_stages_check_sizes(r, get(r, view, "stages"), mot_view_transform(transform, v),
                               (const int32_t[]){ info->width, info->height });
}

void mot_views_finish(mot_transform *transform)
{
    const motley_policy_info own = transform->info;
    transform->info = mot_view_transform(transform, 0)->info;
    transform->info.name = own.name, transform->info.title = own.title;
    transform->info.profile = own.profile, transform->info.paper = own.paper;
    transform->info.width = transform->info.height = 0;
    transform->info.views = (int32_t)transform->views_count;
    for (uint32_t v = 1; v < transform->views_count + transform->shares; v++) {
        const motley_policy_info *const info = &mot_view_transform(transform, v)->info;
        if (info->max_steps > transform->info.max_steps)
            transform->info.max_steps = info->max_steps;
        transform->info.takes_levels |= info->takes_levels;
        transform->info.takes_boxes |= info->takes_boxes;
        transform->info.to_rgb |= info->to_rgb;
    }
    transform->fingerprint = mot_hash(MOT_HASH_BEGIN, transform->text, strlen(transform->text));
}

void mot_views_destroy(mot_transform *transform)
{
    for (uint32_t v = 0; v < transform->views_count + transform->shares; v++) {
        free((char *)transform->views[v].name);
        motley_policy_destroy((motley_policy *)transform->views[v].policy);
    }
    free(transform->views);
}

motley_status mot_transform_check_single(const mot_transform *transform, motley_error *error)
{
    if (transform->schedule)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "policy '%s' changes with the epoch, want what motley_policy_at returns for one",
                        transform->name);
    if (transform->views_count)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "policy '%s' has views, want motley_views_apply, or one of them from motley_policy_view",
                        transform->name);
    return MOTLEY_OK;
}

const motley_view *motley_policy_view(const motley_policy *policy, size_t i)
{
    const mot_transform *const transform = policy ? policy->staged : NULL;
    return transform && i < transform->views_count + transform->shares ? &transform->views[i] : NULL;
}
