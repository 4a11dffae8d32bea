/* SPDX-License-Identifier: Apache-2.0 */
/* motley transforms: lists the built-in transforms. */
#include "tools/tool.h"

#include <json-c/json.h>
#include <string.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key == 'j')
        *(bool *)state->input = true;
    else if (key == ARGP_KEY_ARG)
        argp_error(state, "want no argument");
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static const struct argp argp = {
    .parser = parse,
    .options = (const struct argp_option[]){ { "json", 'j', NULL, 0, "Print a JSON array", 0 }, { 0 } },
    .doc = "Lists the transforms that are built in: name, profile, size, title.\v"
           "A transform is a whole recipe, from the decoded image to the network's input. 'motley show NAME' prints "
           "one as "
           "a file that can be edited.",
};

static struct json_object *transform_json(const motley_transform_info *info)
{
    struct json_object *object = need(json_object_new_object());
    json_object_object_add(object, "name", need(json_object_new_string(info->name)));
    json_object_object_add(object, "profile", need(json_object_new_string(info->profile)));
    json_object_object_add(object, "title", need(json_object_new_string(info->title)));
    json_object_object_add(object, "paper", need(json_object_new_string(info->paper)));
    json_object_object_add(object, "width", need(json_object_new_int(info->width)));
    json_object_object_add(object, "height", need(json_object_new_int(info->height)));
    json_object_object_add(object, "views", need(json_object_new_int(info->views)));
    json_object_object_add(object, "max_steps", need(json_object_new_uint64(info->max_steps)));
    return object;
}

static void print_line(const motley_transform_info *info, int width)
{
    char size[24];
    if (info->views)
        snprintf(size, sizeof size, "%d view%s", info->views, info->views > 1 ? "s" : "");
    else
        snprintf(size, sizeof size, "%dx%d", info->width, info->height);
    printf("%-*s  %-11s  %-7s  %s\n", width, info->name, info->profile, size, info->title);
}

int cmd_transforms(int argc, char **argv)
{
    bool as_json = false;
    argp_parse(&argp, argc, argv, 0, NULL, &as_json);
    int width = 0, status = 0;
    for (size_t i = 0; i < motley_transform_builtin_count(); i++) {
        const int length = (int)strlen(motley_transform_builtin_name(i));
        width = length > width ? length : width;
    }
    struct json_object *all = as_json ? need(json_object_new_array()) : NULL;
    for (size_t i = 0; i < motley_transform_builtin_count(); i++) {
        motley_transform *transform = open_transform(motley_transform_builtin_name(i));
        if (!transform) {
            status = EXIT_INPUT;
            continue;
        }
        const motley_transform_info *info = motley_transform_describe(transform);
        if (as_json)
            json_object_array_add(all, transform_json(info));
        else
            print_line(info, width);
        motley_transform_destroy(transform);
    }
    if (as_json)
        print_json(stdout, all);
    return status;
}
