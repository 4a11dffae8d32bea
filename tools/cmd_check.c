/* SPDX-License-Identifier: Apache-2.0 */
/* motley check: reports every mistake in files of policies and transforms. */
#include "tools/tool.h"

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
           "error.\v"
           "Says nothing, and exits 0, when all files are good.",
};

int cmd_check(int argc, char **argv)
{
    int first = argc, status = 0;
    argp_parse(&argp, argc, argv, 0, NULL, &first);
    for (int i = first; i < argc; i++) {
        motley_policy *policy = open_policy_file(argv[i]);
        if (!policy)
            status = EXIT_INPUT;
        motley_policy_destroy(policy);
    }
    return status;
}
