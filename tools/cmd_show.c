/* SPDX-License-Identifier: Apache-2.0 */
/* motley show: prints a policy or a transform as canonical text, which loads back to an equal one. */
#include "tools/tool.h"

#include <stdlib.h>

typedef struct arguments {
    policy_options options;
    const char *policy;
    bool json, values;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *self = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &self->options;
        return 0;
    case 'j':
        self->json = true;
        return 0;
    case 'v':
        self->values = true;
        return 0;
    default:
        return read_one_policy(key, arg, state, &self->policy);
    }
}

static const struct argp argp = {
    .parser = parse,
    .options =
        (const struct argp_option[]){
            { "json", 'j', NULL, 0, "Print JSON, which is a policy file, too", 0 },
            { "values", 'v', NULL, 0, "Print as JSON what it can draw: chances, and the values at each level", 0 },
            { 0 } },
    .args_doc = "POLICY",
    .doc = "Prints a policy in full: a built-in name or a file, with the changes that are asked for; or a transform.\v"
           "Without --values the output is a policy file. doc/policy-format.md describes the format.",
    .children = (const struct argp_child[]){ { &policy_argp, 0, NULL, 0 }, { 0 } },
};

int cmd_show(int argc, char **argv)
{
    arguments self = { 0 };
    argp_parse(&argp, argc, argv, 0, NULL, &self);
    motley_policy *policy;
    motley_transform *transform;
    if (!open_either(self.policy, &self.options.changes, &policy, &transform))
        return EXIT_INPUT;
    char *text = NULL;
    motley_error error = { .message = "it is a transform, want a policy for --values" };
    motley_status status = MOTLEY_ERR_ARGUMENT;
    if (policy)
        status = (self.values ? motley_policy_describe
                  : self.json ? motley_policy_print_json
                              : motley_policy_print)(policy, &text, &error);
    else if (!self.values)
        status = (self.json ? motley_transform_print_json : motley_transform_print)(transform, &text, &error);
    const bool good = status == MOTLEY_OK;
    if (good)
        fputs(text, stdout);
    else
        complain("%s: %s", policy_label(self.policy), error.message);
    free(text);
    motley_policy_destroy(policy);
    motley_transform_destroy(transform);
    return good ? 0 : EXIT_INPUT;
}
