/* SPDX-License-Identifier: Apache-2.0 */
/* motley show: a policy or a transform as canonical text, which loads back to an equal one. */
#include "tools/tool.h"

#include <stdlib.h>

typedef struct arguments {
    policy_options options;
    const char *policy;
    bool json;
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
    default:
        return read_one_policy(key, arg, state, &self->policy);
    }
}

static const struct argp argp = {
    .parser = parse,
    .options =
        (const struct argp_option[]){
            { "json", 'j', NULL, 0, "Print as JSON what it can draw: chances, and the values at each level", 0 },
            { 0 } },
    .args_doc = "POLICY",
    .doc = "Prints a policy in full: a built-in name or a file, with the changes that are asked for; or a transform.\v"
           "The output is a policy file. doc/policy-format.md describes the format.",
    .children = (const struct argp_child[]){ { &policy_argp, 0, NULL, 0 }, { 0 } },
};

/* A transform's text; a policy prints as itself. */
static int show_transform(const char *name)
{
    motley_transform *transform = open_transform(name);
    char *text = NULL;
    motley_error error;
    if (!transform)
        return EXIT_INPUT;
    const bool good = motley_transform_print(transform, &text, &error) == MOTLEY_OK;
    if (good)
        fputs(text, stdout);
    else
        complain("%s: %s", name, error.message);
    free(text);
    motley_transform_destroy(transform);
    return good ? 0 : EXIT_INPUT;
}

int cmd_show(int argc, char **argv)
{
    arguments self = { 0 };
    argp_parse(&argp, argc, argv, 0, NULL, &self);
    if (!self.json && !any_change(&self.options.changes) && names_transform(self.policy))
        return show_transform(self.policy);
    motley_policy *policy = open_policy(self.policy, &self.options.changes);
    if (!policy)
        return EXIT_INPUT;
    char *text = NULL;
    motley_error error;
    const bool good = (self.json ? motley_policy_describe : motley_policy_print)(policy, &text, &error) == MOTLEY_OK;
    if (good)
        fputs(text, stdout);
    else
        complain("%s: %s", self.policy, error.message);
    free(text);
    motley_policy_destroy(policy);
    return good ? 0 : EXIT_INPUT;
}
