/* SPDX-License-Identifier: Apache-2.0 */
/* motley check: reports every mistake in files of policies and transforms. */
#include "tools/tool.h"

#include <unistd.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key == ARGP_KEY_ARGS)
        *(int *)state->input = state->next; /* the first file */
    else if (key == ARGP_KEY_NO_ARGS)
        argp_error(state, "want at least one FILE");
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static const struct argp argp = {
    .parser = parse,
    .args_doc = "FILE...",
    .doc = "Reports every mistake in files of policies and transforms, as FILE:LINE:COLUMN: error: MESSAGE on standard "
           "error. A built-in policy's name stands for it where there is no file of that name.\v"
           "Says nothing, and exits 0, when all files are good.",
};

/* Opens a file, whatever it is called; where there is none, what a name stands for. NULL after a message. */
static motley_policy *open_either(const char *name)
{
    if (motley_policy_source_of(name) != MOTLEY_POLICY_BUILTIN || access(name, F_OK) == 0)
        return open_policy_file(name);
    motley_policy *policy = NULL;
    motley_error error;
    if (motley_policy_open(name, NULL, &policy, &error) != MOTLEY_OK)
        complain("there is no file '%s', and %s", name, error.message);
    return policy;
}

int cmd_check(int argc, char **argv)
{
    int first = argc, status = 0;
    argp_parse(&argp, argc, argv, 0, NULL, &first);
    for (int i = first; i < argc; i++) {
        motley_policy *policy = open_either(argv[i]);
        if (!policy)
            status = EXIT_INPUT;
        motley_policy_destroy(policy);
    }
    return status;
}
