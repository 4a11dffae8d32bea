/* SPDX-License-Identifier: Apache-2.0 */
/* motley_draw_json and motley_draw_read: what an image draws as JSON. */
#include "augmentations/table.h"
#include "base/error.h"
#include "policies/draw_json.h"
#include "policies/transform.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void say_rectangle(mot_text *w, int32_t left, int32_t top, int32_t width, int32_t height)
{
    mot_say(w, "{ \"left\": %d, \"top\": %d, \"width\": %d, \"height\": %d }", left, top, width, height);
}

static const char *truth(int value)
{
    return value ? "true" : "false";
}

static void say_place(mot_text *w, const motley_place *place)
{
    mot_say(w, "\"crop\": ");
    say_rectangle(w, place->crop.left, place->crop.top, place->crop.width, place->crop.height);
    mot_say(w, ", \"resize\": { \"width\": %d, \"height\": %d, \"filter\": \"%s\" }", place->width, place->height,
            mot_filter_names[place->filter]);
    mot_say(w, ", \"window\": { \"left\": %d, \"top\": %d }", place->left, place->top);
    mot_say(w, ", \"flip\": { \"horizontal\": %s, \"vertical\": %s }, ", truth(place->flip_horizontal),
            truth(place->flip_vertical));
}

static void say_erased(mot_text *w, const motley_place *place)
{
    for (int32_t b = 0; b < place->boxes_count; b++) {
        const motley_erased_box *box = &place->boxes[b];
        mot_say(w, "%s", b ? ", " : ", \"erase\": [ ");
        say_rectangle(w, box->left, box->top, box->width, box->height);
    }
    if (place->boxes_count)
        mot_say(w, " ], \"noise\": %llu", (unsigned long long)place->noise);
}

motley_status motley_draw_json(const motley_policy *policy, uint64_t sample, const motley_place *place,
                               const motley_step *steps, int32_t count, int32_t channels, char **text,
                               motley_error *error)
{
    MOT_REQUIRE(text, error, "text is NULL, want a place for the result");
    *text = NULL;
    MOT_REQUIRE(policy, error, "policy is NULL, want the one that drew");
    MOT_REQUIRE(steps || count == 0, error, "steps is NULL, want %d of them", count);
    MOT_REQUIRE(channels >= 1 && channels <= 4, error, "channels is %d, want 1 to 4", channels);
    MOT_REQUIRE(!place ||
                    ((unsigned)place->filter < MOT_FILTERS && (unsigned)place->boxes_count <= MOTLEY_MAX_ERASED_BOXES),
                error, "filter is %d and boxes_count %d, want what was drawn", (int)place->filter, place->boxes_count);
    for (int32_t i = 0; i < count; i++) {
        MOT_REQUIRE(motley_policy_op(policy, steps[i].op) && (place || !mot_step_of_stages(steps[i].op)), error,
                    "step %d: op is %d, which the policy does not have", i, steps[i].op);
        MOT_REQUIRE((unsigned)steps[i].interpolation <= MOTLEY_BICUBIC &&
                        (unsigned)steps[i].values_count <= MOTLEY_MAX_VALUES,
                    error, "step %d: interpolation is %d and values_count %d, want what was drawn", i,
                    (int)steps[i].interpolation, steps[i].values_count);
    }
    mot_text w = { 0 };
    mot_say(&w, "{ \"sample\": %llu, ", (unsigned long long)sample);
    if (place)
        say_place(&w, place);
    mot_say(&w, "\"steps\": [ ");
    for (int32_t i = 0; i < count; i++) {
        mot_say(&w, "%s", i ? ", " : "");
        mot_draw_say_step(&w, motley_policy_op(policy, steps[i].op), &steps[i], channels);
    }
    mot_say(&w, "%s]", count > 0 ? " " : "");
    if (place)
        say_erased(&w, place);
    mot_say(&w, " }");
    if (w.failed) {
        free(w.text);
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the draw of sample %llu", (unsigned long long)sample);
    }
    *text = w.text;
    return MOTLEY_OK;
}

/* ---- read back ---- */

#define PROBLEM(r, node, ...) mot_yaml_problem(&(r)->tree, (node)->offset, __VA_ARGS__)

/* The object under `key`, which is required. */
static const mot_yaml *object(mot_draw_reader *r, const char *key)
{
    const mot_yaml *root = &r->tree.node[0], *found = mot_draw_get(r, root, key);
    if (found && found->kind == MOT_YAML_MAP)
        return found;
    PROBLEM(r, found ? found : root, "\"%s\" is missing or not an object", key);
    return NULL;
}

static void whole(mot_draw_reader *r, const mot_yaml *map, const char *key, int32_t *out)
{
    const mot_yaml *node = map ? mot_draw_get(r, map, key) : NULL;
    double value;
    if (map && !node)
        PROBLEM(r, map, "\"%s\" is missing", key);
    if (!node || !mot_draw_number(r, node, key, &value))
        return;
    if (value != floor(value) || fabs(value) > INT32_MAX)
        PROBLEM(r, node, "\"%s\" is %g, want a whole number", key, value);
    else
        *out = (int32_t)value;
}

static void read_filter(mot_draw_reader *r, const mot_yaml *map, motley_filter *out)
{
    const mot_yaml *node = map ? mot_draw_get(r, map, "filter") : NULL;
    const char *text = node && node->kind == MOT_YAML_SCALAR ? mot_yaml_text(&r->tree, node) : "";
    int which = 0;
    while (which < MOT_FILTERS && strcmp(text, mot_filter_names[which]) != 0)
        which++;
    if (which < MOT_FILTERS)
        *out = (motley_filter)which;
    else if (map)
        PROBLEM(r, node ? node : map, "\"filter\" is '%.60s', want %s", text, MOT_FILTER_WORDS);
}

static void read_boxes(mot_draw_reader *r, motley_place *drawn)
{
    const mot_yaml *root = &r->tree.node[0], *list = mot_draw_get(r, root, "erase");
    const mot_yaml *noise = mot_draw_get(r, root, "noise");
    if (!list)
        return;
    if (list->kind != MOT_YAML_LIST || list->children > MOTLEY_MAX_ERASED_BOXES) {
        PROBLEM(r, list, "\"erase\" is not a list of at most %d boxes", MOTLEY_MAX_ERASED_BOXES);
        return;
    }
    for (const mot_yaml *item = mot_yaml_child(&r->tree, list); item; item = mot_yaml_next(&r->tree, item)) {
        motley_erased_box *box = &drawn->boxes[drawn->boxes_count++];
        if (item->kind != MOT_YAML_MAP) {
            PROBLEM(r, item, "a box of \"erase\" is not an object");
            return;
        }
        whole(r, item, "left", &box->left);
        whole(r, item, "top", &box->top);
        whole(r, item, "width", &box->width);
        whole(r, item, "height", &box->height);
    }
    const char *text = noise && noise->kind == MOT_YAML_SCALAR ? mot_yaml_text(&r->tree, noise) : "";
    char *end = NULL;
    errno = 0;
    if (*text != '-')
        drawn->noise = strtoull(text, &end, 10);
    if (noise && (!end || end == text || *end || errno))
        PROBLEM(r, noise, "\"noise\" is '%.60s', want a whole number", text);
}

static void read_place(mot_draw_reader *r, motley_place *place)
{
    const mot_yaml *crop = object(r, "crop"), *resize = object(r, "resize");
    const mot_yaml *window = object(r, "window"), *flip = object(r, "flip");
    whole(r, crop, "left", &place->crop.left);
    whole(r, crop, "top", &place->crop.top);
    whole(r, crop, "width", &place->crop.width);
    whole(r, crop, "height", &place->crop.height);
    whole(r, resize, "width", &place->width);
    whole(r, resize, "height", &place->height);
    read_filter(r, resize, &place->filter);
    whole(r, window, "left", &place->left);
    whole(r, window, "top", &place->top);
    if (flip) {
        mot_draw_truth(r, flip, "horizontal", &place->flip_horizontal);
        mot_draw_truth(r, flip, "vertical", &place->flip_vertical);
    }
    read_boxes(r, place);
}

motley_status motley_draw_read(const char *json, size_t length, int32_t channels, uint64_t *sample, motley_place *place,
                               motley_step *steps, size_t max_steps, int32_t *count, motley_error *error)
{
    MOT_REQUIRE(json || length == 0, error, "json is NULL, want a text of %zu bytes", length);
    MOT_REQUIRE(sample && count && (steps || max_steps == 0), error, "sample, steps or count is NULL");
    MOT_REQUIRE(channels >= 1 && channels <= 4, error, "channels is %d, want 1 to 4", channels);
    mot_draw_reader r = { .channels = channels, .staged = place != NULL };
    *count = 0;
    if (place)
        *place = (motley_place){ 0 };
    motley_status status = mot_yaml_read(&r.tree, json, length);
    if (status == MOTLEY_OK && r.tree.problems == 0) {
        mot_draw_read_steps(&r, sample, steps, max_steps, count);
        if (place && r.tree.node[0].kind == MOT_YAML_MAP)
            read_place(&r, place);
    }
    return mot_draw_read_end(&r, status, error);
}
