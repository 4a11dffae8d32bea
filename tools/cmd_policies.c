/* SPDX-License-Identifier: Apache-2.0 */
/* motley policies, motley transforms: list what is built in, without stages and with them. */
#include "tools/tool.h"

#include <json-c/json.h>
#include <string.h>

static const struct argp argp = {
    .parser = parse_json_alone,
    .options = (const struct argp_option[]){ { "json", 'j', NULL, 0, "Print a JSON array", 0 }, { 0 } },
    .doc = "Lists the policies that are built in: name, profile, title, paper.\v"
           "A profile says whose conventions a policy follows. 'motley show NAME' prints one in full, as a file that "
           "can be edited and given in place of the name.",
};

static const struct argp transforms_argp = {
    .parser = parse_json_alone,
    .options = (const struct argp_option[]){ { "json", 'j', NULL, 0, "Print a JSON array", 0 }, { 0 } },
    .doc = "Lists the transforms that are built in: name, profile, size, title.\v"
           "A transform is a whole recipe, from the decoded image to the network's input. 'motley show NAME' prints "
           "one as a file that can be edited.",
};

static struct json_object *policy_json(const motley_policy_info *info)
{
    struct json_object *object = need(json_object_new_object());
    json_object_object_add(object, "name", need(json_object_new_string(info->name)));
    json_object_object_add(object, "profile", need(json_object_new_string(info->profile)));
    json_object_object_add(object, "title", need(json_object_new_string(info->title)));
    json_object_object_add(object, "paper", need(json_object_new_string(info->paper)));
    if (info->stages > 0) {
        json_object_object_add(object, "width", need(json_object_new_int(info->width)));
        json_object_object_add(object, "height", need(json_object_new_int(info->height)));
        json_object_object_add(object, "views", need(json_object_new_int(info->views)));
    }
    json_object_object_add(object, "max_steps", need(json_object_new_uint64(info->max_steps)));
    return object;
}

static void print_policy(const motley_policy_info *info, int name_width)
{
    char size[24];
    printf("%-*s  %-11s  ", name_width, info->name, info->profile);
    if (info->views)
        snprintf(size, sizeof size, "%d view%s", info->views, info->views > 1 ? "s" : "");
    else
        snprintf(size, sizeof size, "%dx%d", info->width, info->height);
    if (info->stages > 0)
        printf("%-7s  %s\n", size, info->title);
    else
        printf("%s; %s\n", info->title, info->paper);
}

/* Lists the policies with stages, or those without. */
static int list(bool staged, bool as_json)
{
    const motley_builtin *row;
    int width = 0, status = 0;
    for (size_t i = 0; (row = motley_policy_builtin_get(i)); i++)
        if (!row->has_stages == !staged && (int)strlen(row->name) > width)
            width = (int)strlen(row->name);
    struct json_object *all = as_json ? need(json_object_new_array()) : NULL;
    for (size_t i = 0; (row = motley_policy_builtin_get(i)); i++) {
        if (!row->has_stages != !staged)
            continue;
        motley_policy *policy = open_policy(row->name, NULL);
        if (!policy)
            status = EXIT_INPUT;
        else if (as_json)
            json_object_array_add(all, policy_json(motley_policy_describe(policy)));
        else
            print_policy(motley_policy_describe(policy), width);
        motley_policy_destroy(policy);
    }
    if (as_json)
        print_json(stdout, all);
    return status;
}

int cmd_policies(int argc, char **argv)
{
    bool as_json = false;
    argp_parse(&argp, argc, argv, 0, NULL, &as_json);
    return list(false, as_json);
}

int cmd_transforms(int argc, char **argv)
{
    bool as_json = false;
    argp_parse(&transforms_argp, argc, argv, 0, NULL, &as_json);
    return list(true, as_json);
}
