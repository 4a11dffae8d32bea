/* SPDX-License-Identifier: Apache-2.0 */
/* motley ops: prints the op table. */
#include "tools/tool.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct argp argp = {
    .parser = parse_json_alone,
    .options = (const struct argp_option[]){ { "json", 'j', NULL, 0, "Print a JSON array, with all that is known", 0 },
                                             { 0 } },
    .doc =
        "Lists the operations: name, shape, range of the (first) value, its unit.\v"
        "An operation's shape is what it sees of an image: point (one component), stats (statistics first), color (a "
        "pixel), warp (another position), stencil (3x3 components), filter (3x3 or 5x5 components), blur (rows, then "
        "columns), erase (a rectangle).",
};

static void add_text(struct json_object *object, const char *key, const char *text)
{
    json_object_object_add(object, key, need(json_object_new_string(text)));
}

static struct json_object *op_json(const motley_op_info *op)
{
    struct json_object *object = need(json_object_new_object());
    add_text(object, "name", op->name);
    add_text(object, "summary", op->summary);
    add_text(object, "shape", motley_shape_name(op->shape));
    add_text(object, "unit", op->unit);
    json_object_object_add(object, "values_min", need(json_object_new_int(op->values_min)));
    json_object_object_add(object, "values_max", need(json_object_new_int(op->values_max)));
    if (op->values_max > 0) {
        json_object_object_add(object, "minimum", number_json(op->minimum));
        json_object_object_add(object, "maximum", number_json(op->maximum));
        if (op->whole)
            json_object_object_add(object, "whole", need(json_object_new_boolean(1)));
        json_object_object_add(object, "neutral", number_json(op->neutral));
        json_object_object_add(object, "example", number_json(op->example));
    }
    add_text(object, "matches", op->matches);
    add_text(object, "paper", op->paper);
    return object;
}

static void print_row(const motley_op_info *op, int name_width)
{
    char range[64] = "";
    if (op->values_max > 0)
        snprintf(range, sizeof range, "%.7g..%.7g", op->minimum, op->maximum);
    printf("%-*s  %-7s  %-17s %s\n", name_width, op->name, motley_shape_name(op->shape), range,
           op->values_max ? op->unit : "no value");
}

int cmd_ops(int argc, char **argv)
{
    bool as_json = false;
    argp_parse(&argp, argc, argv, 0, NULL, &as_json);
    if (as_json) {
        struct json_object *all = need(json_object_new_array());
        for (int i = 0; i < motley_op_count(); i++)
            json_object_array_add(all, op_json(motley_op_get(i)));
        print_json(stdout, all);
        return 0;
    }
    int width = 0;
    for (int i = 0; i < motley_op_count(); i++)
        width = (int)fmax(width, (double)strlen(motley_op_get(i)->name));
    for (int i = 0; i < motley_op_count(); i++)
        print_row(motley_op_get(i), width);
    return 0;
}
