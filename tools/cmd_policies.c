/* SPDX-License-Identifier: Apache-2.0 */
/* motley policies: lists the built-in policies. */
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
    .doc = "Lists the policies that are built in: name, profile, title, paper.\v"
           "A profile says whose conventions a policy follows. 'motley show NAME' prints one in full, as a file that "
           "can be edited and given in place of the name.",
};

static void print_policy(const motley_policy *policy, int name_width)
{
    printf("%-*s  %-11s  %s; %s\n", name_width, motley_policy_name(policy), motley_policy_profile(policy),
           motley_policy_title(policy), motley_policy_paper(policy));
}

static struct json_object *policy_json(const motley_policy *policy)
{
    struct json_object *object = need(json_object_new_object());
    json_object_object_add(object, "name", need(json_object_new_string(motley_policy_name(policy))));
    json_object_object_add(object, "profile", need(json_object_new_string(motley_policy_profile(policy))));
    json_object_object_add(object, "title", need(json_object_new_string(motley_policy_title(policy))));
    json_object_object_add(object, "paper", need(json_object_new_string(motley_policy_paper(policy))));
    json_object_object_add(object, "max_steps", need(json_object_new_uint64(motley_policy_max_steps(policy))));
    return object;
}

int cmd_policies(int argc, char **argv)
{
    bool as_json = false;
    argp_parse(&argp, argc, argv, 0, NULL, &as_json);
    int width = 0, status = 0;
    for (size_t i = 0; i < motley_policy_builtin_count(); i++) {
        const int length = (int)strlen(motley_policy_builtin_name(i));
        width = length > width ? length : width;
    }
    struct json_object *all = as_json ? need(json_object_new_array()) : NULL;
    for (size_t i = 0; i < motley_policy_builtin_count(); i++) {
        motley_policy *policy = open_policy(motley_policy_builtin_name(i), NULL);
        if (!policy)
            status = EXIT_INPUT;
        else if (as_json)
            json_object_array_add(all, policy_json(policy));
        else
            print_policy(policy, width);
        motley_policy_destroy(policy);
    }
    if (as_json)
        print_json(stdout, all);
    return status;
}
