/* SPDX-License-Identifier: Apache-2.0 */
/* motley_draw_json: what a sample draws as JSON; and motley_draw_read, which reads it back. */
#include "augmentations/table.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "base/values.h"
#include "policies/print.h"
#include "policies/stage_keys.h"
#include "policies/transform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Writes `before`, then a number with a point or an exponent, which JSON readers parse as a float. */
static void say_real(mot_text *w, const char *before, double number)
{
    char text[MOT_NUMBER_ROOM];
    mot_number_print(number, text);
    mot_say(w, "%s%s%s", before, text, strpbrk(text, ".e") ? "" : ".0");
}

static void say_reals(mot_text *w, const char *key, const double *values, int count)
{
    mot_say(w, ", \"%s\": [ ", key);
    for (int i = 0; i < count; i++)
        say_real(w, i ? ", " : "", values[i]);
    mot_say(w, " ]");
}

static void say_step(mot_text *w, const motley_op_info *op, const motley_step *step, int32_t channels)
{
    const bool erases = op->shape == MOTLEY_SHAPE_ERASE, warps = op->shape == MOTLEY_SHAPE_WARP;
    const bool custom = op->shape == MOTLEY_SHAPE_CUSTOM;
    /* A value, a centre, the sides of a box; of a centre or a box with one number, all values are a list. */
    const bool placed = erases && (step->values_count == 3 || step->values_count == 5);
    mot_say(w, "{ \"op\": \"%s\"", op->name);
    if (step->op >= 0) /* mixing has no level */
        mot_say(w, ", \"level\": %d", step->level);
    if (custom ? op->values_max > 0 : step->values_count == 1 || placed)
        say_real(w, ", \"value\": ", step->values[0]);
    else if (!custom && step->values_count > 1)
        say_reals(w, "value", step->values, step->values_count);
    if (placed)
        say_reals(w, "center", step->values + 1, 2);
    if (placed && step->values_count == 5)
        say_reals(w, "box", step->values + 3, 2);
    if (custom)
        say_reals(w, "random", step->values + 1, 2);
    if (warps)
        mot_say(w, ", \"interpolation\": \"%s\"", mot_interpolation_names[step->interpolation]);
    for (int32_t c = 0; (warps || erases) && c < channels; c++)
        mot_say(w, "%s%d%s", c ? ", " : ", \"fill\": [ ", step->fill[c], c + 1 < channels ? "" : " ]");
    const int32_t *at = step->inside;
    if (at[0] | at[1] | at[2] | at[3])
        mot_say(w, ", \"inside\": [ %d, %d, %d, %d ]", at[0], at[1], at[2], at[3]);
    mot_say(w, ", \"applied\": true }");
}

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
    if (place->beyond)
        mot_say(w, ", \"beyond\": true");
    if (place->canvas_left || place->canvas_top)
        mot_say(w, ", \"canvas\": { \"left\": %d, \"top\": %d }", place->canvas_left, place->canvas_top);
    if (place->overlap)
        mot_say(w, ", \"overlap\": \"%s\"", mot_overlap_names[place->overlap - 1]);
    if (place->before)
        mot_say(w, ", \"before\": %d", place->before);
    mot_say(w, ", \"resize\": { \"width\": %d, \"height\": %d, \"filter\": \"%s\" }", place->width, place->height,
            mot_filter_names[place->filter]);
    mot_say(w, ", \"window\": ");
    say_rectangle(w, place->left, place->top, place->result_width, place->result_height);
    mot_say(w, ", \"flip\": { \"horizontal\": %s, \"vertical\": %s }", truth(place->flip_horizontal),
            truth(place->flip_vertical));
    if (place->torch_planes)
        mot_say(w, ", \"torch_planes\": true");
    if (place->flipped_first)
        mot_say(w, ", \"flipped_first\": { \"horizontal\": %s, \"vertical\": %s }", truth(place->flipped_first & 1),
                truth(place->flipped_first & 2));
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
    MOT_REQUIRE(count >= 0, error, "count is %d, want 0 or more", count);
    MOT_REQUIRE(steps || count == 0, error, "steps is NULL, want %d of them", count);
    MOT_REQUIRE(channels >= 1 && channels <= 4, error, "channels is %d, want 1 to 4", channels);
    MOT_REQUIRE(!place || ((unsigned)place->filter < MOT_FILTERS && (unsigned)place->first.filter < MOT_FILTERS &&
                           place->overlap <= MOTLEY_OVERLAP_UNDECIDED &&
                           (unsigned)place->boxes_count <= MOTLEY_MAX_ERASED_BOXES),
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
    if (place && place->first.width) {
        const motley_place first = mot_first_place(place, 0, 0);
        mot_say(&w, "\"first\": { ");
        say_place(&w, &first);
        mot_say(&w, " }, ");
    }
    if (place) {
        const motley_place last = mot_last_place(place);
        say_place(&w, &last);
        mot_say(&w, ", ");
    }
    mot_say(&w, "\"steps\": [ ");
    for (int32_t i = 0; i < count; i++) {
        mot_say(&w, "%s", i ? ", " : "");
        say_step(&w, motley_policy_op(policy, steps[i].op), &steps[i], channels);
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

/* The value under a key that is required; NULL after a problem, or if there is no map. */
static const mot_yaml *required(reader *r, const mot_yaml *map, const char *key)
{
    const mot_yaml *const found = map ? get(r, map, key) : NULL;
    if (map && !found)
        PROBLEM(r, map, "\"%s\" is missing", key);
    return found;
}

static void read_whole(reader *r, const mot_yaml *map, const char *key, int32_t *out)
{
    const mot_yaml *const node = required(r, map, key);
    char what[16];
    double value = 0;
    snprintf(what, sizeof what, "\"%s\"", key);
    if (node && number(r, node, what, -INT32_MAX, INT32_MAX, &value) && value != floor(value))
        PROBLEM(r, node, "%s is %g, want a whole number", what, value);
    *out = (int32_t)value;
}

static void read_rectangle(reader *r, const mot_yaml *map, int32_t *left, int32_t *top, int32_t *width, int32_t *height)
{
    read_whole(r, map, "left", left);
    read_whole(r, map, "top", top);
    read_whole(r, map, "width", width);
    read_whole(r, map, "height", height);
}

static void read_truth(reader *r, const mot_yaml *map, const char *key, uint8_t *out)
{
    static const char *const words[] = { "false", "true" };
    const mot_yaml *const node = required(r, map, key);
    char what[16];
    int which;
    snprintf(what, sizeof what, "\"%s\"", key);
    if (node && word(r, node, what, words, COUNT(words), &which))
        *out = (uint8_t)which;
}

/* Reads a whole number of 64 bits; false if the node is NULL or another thing. */
static bool read_id(const reader *r, const mot_yaml *node, uint64_t *out)
{
    const char *const text = node && node->kind == MOT_YAML_SCALAR ? text_of(r, node) : "-";
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text != '-' && end != text && !*end && !errno;
}

/* --- the steps --- */

static void read_fill(reader *r, const mot_yaml *node, int32_t channels, motley_step *step)
{
    double fill[4] = { 0 };
    const int count = mot_read_numbers(r, node, "\"fill\"", 1, 4, 0, 255, fill);
    if (count && count != channels)
        PROBLEM(r, node, "\"fill\" has %d numbers, the image %d channels: the draw was made for another image", count,
                channels);
    for (int c = 0; c < 4; c++) {
        step->fill[c] = (uint8_t)fill[c];
        if (fill[c] != floor(fill[c]))
            PROBLEM(r, node, "\"fill\" has %g, want whole numbers", fill[c]);
    }
}

/* The part of the image that the step works in. */
static void read_inside(reader *r, const mot_yaml *node, motley_step *step)
{
    double side[4];
    if (mot_read_numbers(r, node, "\"inside\"", 4, 4, 0, INT32_MAX, side) == 0)
        return;
    bool whole = side[0] < side[2] && side[1] < side[3];
    for (int i = 0; i < 4; i++) {
        step->inside[i] = (int32_t)side[i];
        whole = whole && side[i] == floor(side[i]);
    }
    if (!whole)
        PROBLEM(r, node, "\"inside\" is not a part of an image, want left, top, right and bottom in whole pixels");
}

/* The op or MOTLEY_STEP_* called `name`; -1 after a problem. staged: also a step of stages. */
static int find_op(reader *r, const mot_yaml *node, bool staged)
{
    const char *const name = text_of(r, node);
    const int op = mot_step_find(name);
    if (op != -1 && (staged || !mot_step_of_stages(op)))
        return op;
    const char *names[MOT_OP_COUNT];
    for (int i = 0; i < MOT_OP_COUNT; i++)
        names[i] = mot_op_table[i].info.name;
    const char *near = mot_nearest_name(name, names, MOT_OP_COUNT);
    PROBLEM(r, node, near ? "unknown operation '%.60s', did you mean '%s'?" : "unknown operation '%.60s'", name, near);
    return -1;
}

/* Reads an op's values: "value", then a cutout's "center" and "box". */
static void read_values(reader *r, const mot_yaml *map, motley_step *step)
{
    const mot_yaml *const value = get(r, map, "value"), *const center = get(r, map, "center"),
                          *const box = get(r, map, "box");
    const motley_op_info *const info = mot_step_info(step->op);
    int count = 0;
    if (value)
        count = mot_read_numbers(r, value, "\"value\"", 1, MOTLEY_MAX_VALUES, -HUGE_VAL, HUGE_VAL, step->values);
    if (center && count != 1)
        PROBLEM(r, center, "\"center\" is given with %d values, want one", count);
    else if (center)
        count += mot_read_numbers(r, center, "\"center\"", 2, 2, -HUGE_VAL, HUGE_VAL, step->values + 1);
    if (box && (!center || count != 3))
        PROBLEM(r, box, "\"box\" is given without \"center\", want both");
    else if (box)
        count += mot_read_numbers(r, box, "\"box\"", 2, 2, -HUGE_VAL, HUGE_VAL, step->values + 3);
    if (count < info->values_min || count > info->values_max)
        PROBLEM(r, value ? value : map, "%s has %d values, want %d to %d (%s)", info->name, count, info->values_min,
                info->values_max, info->unit);
    step->values_count = count;
}

static void read_step(reader *r, const mot_yaml *map, int32_t channels, bool staged, motley_step *step)
{
    *step = (motley_step){ 0 };
    if (map->kind != MOT_YAML_MAP) {
        PROBLEM(r, map, "a step is %s, want an object with \"op\"", kind_of(r, map));
        return;
    }
    const mot_yaml *const op = get(r, map, "op"), *const interpolation = get(r, map, "interpolation"),
                          *const fill = get(r, map, "fill"), *const inside = get(r, map, "inside"),
                          *const level = get(r, map, "level");
    uint32_t whole = 0;
    int which = 0;
    if (!op || op->kind != MOT_YAML_SCALAR) {
        PROBLEM(r, op ? op : map, "a step has no \"op\", want the name of an operation");
        return;
    }
    step->op = find_op(r, op, staged);
    if (step->op == -1)
        return;
    if (level) /* absent from the draws of older versions */
        whole_number(r, level, "\"level\"", 0, INT32_MAX, &whole);
    step->level = (int32_t)whole;
    read_values(r, map, step);
    if (interpolation)
        word(r, interpolation, "\"interpolation\"", mot_interpolation_names, COUNT(mot_interpolation_names), &which);
    step->interpolation = (motley_interpolation)which;
    if (fill)
        read_fill(r, fill, channels, step);
    if (inside)
        read_inside(r, inside, step);
}

/* Reads "steps"; those with "applied": false are checked and left out. */
static void read_steps(reader *r, int32_t channels, bool staged, motley_step *steps, size_t max_steps, int32_t *count)
{
    const mot_yaml *const list = get(r, &r->tree.node[0], "steps");
    if (!list || list->kind != MOT_YAML_LIST) {
        PROBLEM(r, list ? list : &r->tree.node[0], "\"steps\" is missing or not a list");
        return;
    }
    if (list->children > max_steps) {
        PROBLEM(r, list, "\"steps\" has %u steps, want at most %zu", list->children, max_steps);
        return;
    }
    for (const mot_yaml *item = mot_yaml_child(&r->tree, list); item; item = mot_yaml_next(&r->tree, item)) {
        uint8_t applied = 1; /* as in the draws of older versions, which do not say */
        read_step(r, item, channels, staged, &steps[*count]);
        if (item->kind == MOT_YAML_MAP && get(r, item, "applied"))
            read_truth(r, item, "applied", &applied);
        *count += applied;
    }
}

/* --- the place --- */

static void read_boxes(reader *r, const mot_yaml *list, motley_place *place)
{
    const mot_yaml *const noise = get(r, &r->tree.node[0], "noise");
    if (list->kind != MOT_YAML_LIST || list->children > MOTLEY_MAX_ERASED_BOXES) {
        PROBLEM(r, list, "\"erase\" is not a list of at most %d boxes", MOTLEY_MAX_ERASED_BOXES);
        return;
    }
    for (const mot_yaml *item = mot_yaml_child(&r->tree, list); item; item = mot_yaml_next(&r->tree, item)) {
        motley_erased_box *const box = &place->boxes[place->boxes_count++];
        if (item->kind != MOT_YAML_MAP) {
            PROBLEM(r, item, "a box of \"erase\" is not an object");
            return;
        }
        read_rectangle(r, item, &box->left, &box->top, &box->width, &box->height);
    }
    if (noise && !read_id(r, noise, &place->noise))
        PROBLEM(r, noise, "\"noise\" is '%.60s', want a whole number",
                noise->kind == MOT_YAML_SCALAR ? text_of(r, noise) : kind_of(r, noise));
}

/* The value under a key of a map that is a map itself; NULL after a problem, or if `map` is NULL. */
static const mot_yaml *object(reader *r, const mot_yaml *map, const char *key)
{
    const mot_yaml *const found = required(r, map, key);
    if (!found || found->kind == MOT_YAML_MAP)
        return found;
    PROBLEM(r, found, "\"%s\" is %s, want an object", key, kind_of(r, found));
    return NULL;
}

/* The place that `map` has, of which what is erased, or comes first, is read by others; before: so many steps at most.
 */
static void read_place(reader *r, const mot_yaml *map, int32_t most_before, motley_place *place)
{
    int32_t before = 0;
    const mot_yaml *const crop = object(r, map, "crop"), *const resize = object(r, map, "resize"),
                          *const window = object(r, map, "window"), *const flip = object(r, map, "flip");
    const mot_yaml *const filter = required(r, resize, "filter"), *const canvas = get(r, map, "canvas"),
                          *const overlap = get(r, map, "overlap");
    int which = 0;
    read_rectangle(r, crop, &place->crop.left, &place->crop.top, &place->crop.width, &place->crop.height);
    if (get(r, map, "beyond"))
        read_truth(r, map, "beyond", &place->beyond);
    if (canvas) {
        read_whole(r, canvas, "left", &place->canvas_left);
        read_whole(r, canvas, "top", &place->canvas_top);
    }
    if (overlap && word(r, overlap, "\"overlap\"", mot_overlap_names, 2, &which))
        place->overlap = (uint8_t)(which + 1);
    if (get(r, map, "before")) {
        read_whole(r, map, "before", &before);
        if (before < 0 || before > (most_before < UINT8_MAX ? most_before : UINT8_MAX))
            PROBLEM(r, get(r, map, "before"), "\"before\" is %d, but there are %d steps", before, most_before);
        place->before = (uint8_t)before;
    }
    read_whole(r, resize, "width", &place->width);
    read_whole(r, resize, "height", &place->height);
    if (filter)
        word(r, filter, "\"filter\"", mot_filter_names, MOT_FILTERS, &which);
    place->filter = (motley_filter)which;
    read_rectangle(r, window, &place->left, &place->top, &place->result_width, &place->result_height);
    read_truth(r, flip, "horizontal", &place->flip_horizontal);
    read_truth(r, flip, "vertical", &place->flip_vertical);
    if (get(r, map, "torch_planes"))
        read_truth(r, map, "torch_planes", &place->torch_planes);
    if (get(r, map, "flipped_first")) {
        const mot_yaml *const first = object(r, map, "flipped_first");
        uint8_t horizontal = 0, vertical = 0;
        read_truth(r, first, "horizontal", &horizontal);
        read_truth(r, first, "vertical", &vertical);
        place->flipped_first = (uint8_t)(horizontal | vertical << 1);
    }
}

/* All that a draw has besides its steps, of which there are `count`. */
static void read_places(reader *r, int32_t count, motley_place *place)
{
    const mot_yaml *const root = &r->tree.node[0], *const first = get(r, root, "first"),
                          *const boxes = get(r, root, "erase");
    if (first && object(r, root, "first")) {
        motley_place before = { 0 };
        read_place(r, first, 0, &before);
        *place = mot_place_again(&before);
    }
    read_place(r, root, count, place);
    if (first && place->first.width < 1)
        PROBLEM(r, first, "\"first\" resizes to a width of %d, want 1 or more", place->first.width);
    if (boxes)
        read_boxes(r, boxes, place);
}

/* Hides escapes of halves of characters beyond U+FFFF in a copy of a JSON text. Names of files that are not UTF-8 are
 * written by them (Python's surrogateescape), YAML does not know them, and no key that is read here needs them. */
static void hide_halves(char *text, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++)
        if (text[i] == '\\') {
            const bool half =
                i + 6 <= length && text[i + 1] == 'u' && (text[i + 2] | 0x20) == 'd' && text[i + 3] >= '8';
            memset(text + i, '?', half ? 6 : 0);
            i += half ? 5 : 1;
        }
}

motley_status motley_draw_read(const char *json, size_t length, int32_t channels, uint64_t *sample, motley_place *place,
                               motley_step *steps, size_t max_steps, int32_t *count, motley_error *error)
{
    MOT_REQUIRE(json || length == 0, error, "json is NULL, want a text of %zu bytes", length);
    MOT_REQUIRE(sample && count && (steps || max_steps == 0), error, "sample, steps or count is NULL");
    MOT_REQUIRE(channels >= 1 && channels <= 4, error, "channels is %d, want 1 to 4", channels);
    reader r = { .whole = true };
    *count = 0;
    if (place)
        *place = (motley_place){ 0 };
    const bool too_long = length > MOT_MAX_TEXT_BYTES; /* mot_yaml_read refuses it by its length alone */
    char *const copy = malloc(too_long ? 1 : length + 1);
    if (copy && length && !too_long)
        hide_halves(memcpy(copy, json, length), length);
    motley_status status = copy ? mot_yaml_read(&r.tree, too_long ? json : copy, length) : MOTLEY_ERR_MEMORY;
    const mot_yaml *const root = r.tree.node;
    if (status != MOTLEY_OK) {
        mot_fail(error, status, "no memory for reading a draw");
    } else if (r.tree.problems == 0 && root->kind != MOT_YAML_MAP) {
        PROBLEM(&r, root, "the draw is %s, want an object with \"sample\" and \"steps\"", kind_of(&r, root));
    } else if (r.tree.problems == 0) {
        const mot_yaml *const id = get(&r, root, "sample");
        if (!read_id(&r, id, sample))
            PROBLEM(&r, id ? id : root, "\"sample\" is missing or not an id, want a whole number");
        read_steps(&r, channels, place != NULL, steps, max_steps, count);
        if (place)
            read_places(&r, *count, place);
    }
    if (status == MOTLEY_OK)
        status = mot_yaml_report(&r.tree, NULL, error);
    mot_yaml_clear(&r.tree);
    free(copy);
    return status;
}
