/* SPDX-License-Identifier: Apache-2.0 */
/* motley_draw_read: reads back what motley_draw_json wrote. */
#include "augmentations/table.h"
#include "base/error.h"
#include "base/number.h"
#include "motley/apply.h"
#include "policies/draw_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEM(r, node, ...) mot_yaml_problem(&(r)->tree, (node)->offset, __VA_ARGS__)

typedef mot_draw_reader reader;

static const char *const kind_names[] = { "a value", "a list", "an object" };

const mot_yaml *mot_draw_get(const reader *r, const mot_yaml *map, const char *key)
{
    for (const mot_yaml *k = mot_yaml_child(&r->tree, map), *value; k; k = mot_yaml_next(&r->tree, value)) {
        value = mot_yaml_next(&r->tree, k);
        if (!value)
            return NULL;
        if (k->kind == MOT_YAML_SCALAR && strcmp(mot_yaml_text(&r->tree, k), key) == 0)
            return value;
    }
    return NULL;
}

bool mot_draw_number(reader *r, const mot_yaml *node, const char *what, double *out)
{
    if (node->kind == MOT_YAML_SCALAR && node->plain && mot_number_parse(mot_yaml_text(&r->tree, node), out))
        return true;
    if (node->kind == MOT_YAML_SCALAR)
        PROBLEM(r, node, "\"%s\" is '%.60s', want a number", what, mot_yaml_text(&r->tree, node));
    else
        PROBLEM(r, node, "\"%s\" is %s, want a number", what, kind_names[node->kind]);
    return false;
}

void mot_draw_truth(reader *r, const mot_yaml *map, const char *key, uint8_t *out)
{
    const mot_yaml *node = mot_draw_get(r, map, key);
    const char *text = node && node->kind == MOT_YAML_SCALAR ? mot_yaml_text(&r->tree, node) : "";
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        PROBLEM(r, node ? node : map, "\"%s\" is missing or neither true nor false", key);
    *out = strcmp(text, "true") == 0;
}

/* Reads a number or a list of numbers into `values`; returns how many, or -1 after a problem. */
static int32_t numbers(reader *r, const mot_yaml *node, const char *what, double *values, int32_t most)
{
    if (node->kind != MOT_YAML_LIST)
        return mot_draw_number(r, node, what, values) ? 1 : -1;
    int32_t count = 0;
    for (const mot_yaml *item = mot_yaml_child(&r->tree, node); item; item = mot_yaml_next(&r->tree, item)) {
        if (count == most) {
            PROBLEM(r, node, "\"%s\" lists %u numbers, want at most %d", what, node->children, most);
            return -1;
        }
        if (!mot_draw_number(r, item, what, &values[count++]))
            return -1;
    }
    return count;
}

static void read_fill(reader *r, const mot_yaml *node, motley_step *step)
{
    double fill[4];
    const int32_t count = numbers(r, node, "fill", fill, 4);
    if (count < 0)
        return;
    if (count != r->channels) {
        PROBLEM(r, node, "\"fill\" has %d numbers, the image %d channels: the draw was made for another image", count,
                r->channels);
        return;
    }
    for (int32_t c = 0; c < count; c++) {
        if (fill[c] >= 0 && fill[c] <= 255 && fill[c] == floor(fill[c]))
            step->fill[c] = (uint8_t)fill[c];
        else
            PROBLEM(r, node, "\"fill\" has %g, want whole numbers of 0 to 255", fill[c]);
    }
}

/* The part of the image that the step works in. */
static void read_inside(reader *r, const mot_yaml *node, motley_step *step)
{
    double side[4];
    const int32_t count = numbers(r, node, "inside", side, 4);
    int whole = count == 4;
    for (int i = 0; i < 4 && whole; i++)
        whole = side[i] >= 0 && side[i] <= INT32_MAX && side[i] == floor(side[i]);
    if (count >= 0 && !(whole && side[0] < side[2] && side[1] < side[3])) {
        PROBLEM(r, node, "\"inside\" is not a part of an image, want left, top, right and bottom in whole pixels");
        return;
    }
    for (int i = 0; i < 4 && count == 4; i++)
        step->inside[i] = (int32_t)side[i];
}

static void read_level(reader *r, const mot_yaml *node, motley_step *step)
{
    double level;
    if (!mot_draw_number(r, node, "level", &level))
        return;
    if (level >= 0 && level <= INT32_MAX && level == floor(level))
        step->level = (int32_t)level;
    else
        PROBLEM(r, node, "\"level\" is %g, want a whole number from 0", level);
}

/* The op or MOTLEY_STEP_* called `name`; -1 after a problem. */
static int find_op(reader *r, const mot_yaml *node, const char *name)
{
    const int op = mot_step_find(name);
    if (op != -1 && (r->staged || !mot_step_of_stages(op)))
        return op;
    const char *names[MOT_OP_COUNT];
    for (int i = 0; i < MOT_OP_COUNT; i++)
        names[i] = mot_op_table[i].info.name;
    const char *near = mot_nearest_name(name, names, MOT_OP_COUNT);
    PROBLEM(r, node, near ? "unknown operation '%.60s', did you mean '%s'?" : "unknown operation '%.60s'", name, near);
    return -1;
}

/* Reads an op's values: "value", then a cutout's "center" and "box". */
static void read_values(reader *r, const mot_yaml *map, const mot_yaml *value, motley_step *step)
{
    const mot_yaml *center = mot_draw_get(r, map, "center"), *box = mot_draw_get(r, map, "box");
    const motley_op_info *info = mot_step_info(step->op);
    int32_t count = value ? numbers(r, value, "value", step->values, MOTLEY_MAX_VALUES) : 0;
    if (center && count == 1) {
        const int32_t two = numbers(r, center, "center", step->values + 1, 2);
        if (two >= 0 && two != 2)
            PROBLEM(r, center, "\"center\" has %d numbers, want 2", two);
        count += two;
    } else if (center && count >= 0) {
        PROBLEM(r, center, "\"center\" is given with %d values, want one", count);
    }
    if (box && count == 3) {
        const int32_t two = numbers(r, box, "box", step->values + 3, 2);
        if (two >= 0 && two != 2)
            PROBLEM(r, box, "\"box\" has %d numbers, want 2: its width and height", two);
        count += two;
    } else if (box && count >= 0) {
        PROBLEM(r, box, "\"box\" is given without \"center\", want both");
    }
    if (count >= 0 && (count < info->values_min || count > info->values_max))
        PROBLEM(r, value ? value : map, "%s has %d values, want %d to %d (%s)", info->name, count, info->values_min,
                info->values_max, info->unit);
    step->values_count = count;
}

static void read_interpolation(reader *r, const mot_yaml *node, motley_step *step)
{
    for (int i = 0; i <= MOTLEY_BICUBIC; i++)
        if (node->kind == MOT_YAML_SCALAR && strcmp(mot_yaml_text(&r->tree, node), mot_interpolation_names[i]) == 0) {
            step->interpolation = (motley_interpolation)i;
            return;
        }
    PROBLEM(r, node, "\"interpolation\" is not a filter, want nearest, bilinear or bicubic");
}

static void read_step(reader *r, const mot_yaml *map, motley_step *step)
{
    *step = (motley_step){ 0 };
    if (map->kind != MOT_YAML_MAP) {
        PROBLEM(r, map, "a step is %s, want an object with \"op\"", kind_names[map->kind]);
        return;
    }
    const mot_yaml *op = mot_draw_get(r, map, "op"), *value = mot_draw_get(r, map, "value");
    const mot_yaml *interpolation = mot_draw_get(r, map, "interpolation"), *fill = mot_draw_get(r, map, "fill"),
                   *inside = mot_draw_get(r, map, "inside"), *level = mot_draw_get(r, map, "level");
    if (!op || op->kind != MOT_YAML_SCALAR) {
        PROBLEM(r, op ? op : map, "a step has no \"op\", want the name of an operation");
        return;
    }
    step->op = find_op(r, op, mot_yaml_text(&r->tree, op));
    if (step->op == -1)
        return;
    if (level) /* absent from the draws of older versions */
        read_level(r, level, step);
    read_values(r, map, value, step);
    if (interpolation)
        read_interpolation(r, interpolation, step);
    if (fill)
        read_fill(r, fill, step);
    if (inside)
        read_inside(r, inside, step);
}

void mot_draw_read_steps(reader *r, uint64_t *sample, motley_step *steps, size_t max_steps, int32_t *count)
{
    const mot_yaml *root = &r->tree.node[0];
    if (root->kind != MOT_YAML_MAP) {
        PROBLEM(r, root, "the draw is %s, want an object with \"sample\" and \"steps\"", kind_names[root->kind]);
        return;
    }
    const mot_yaml *id = mot_draw_get(r, root, "sample"), *list = mot_draw_get(r, root, "steps");
    char *end = NULL;
    errno = 0;
    if (id && id->kind == MOT_YAML_SCALAR && mot_yaml_text(&r->tree, id)[0] != '-')
        *sample = strtoull(mot_yaml_text(&r->tree, id), &end, 10);
    if (!end || end == mot_yaml_text(&r->tree, id) || *end || errno)
        PROBLEM(r, id ? id : root, "\"sample\" is missing or not an id, want a whole number");
    if (!list || list->kind != MOT_YAML_LIST) {
        PROBLEM(r, list ? list : root, "\"steps\" is missing or not a list");
        return;
    }
    if (list->children > max_steps) {
        PROBLEM(r, list, "\"steps\" has %u steps, want at most %zu", list->children, max_steps);
        return;
    }
    for (const mot_yaml *item = mot_yaml_child(&r->tree, list); item; item = mot_yaml_next(&r->tree, item)) {
        uint8_t applied = 1; /* as in the draws of older versions, which do not say */
        read_step(r, item, &steps[*count]);
        if (item->kind == MOT_YAML_MAP && mot_draw_get(r, item, "applied"))
            mot_draw_truth(r, item, "applied", &applied);
        *count += applied;
    }
}

motley_status mot_draw_read_end(mot_draw_reader *r, motley_status status, motley_error *error)
{
    if (status == MOTLEY_OK)
        status = mot_yaml_report(&r->tree, NULL, error);
    else
        mot_fail(error, status, "no memory for reading a draw");
    mot_yaml_clear(&r->tree);
    return status;
}
