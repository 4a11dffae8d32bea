/* SPDX-License-Identifier: Apache-2.0 */
/* The policies that are built in, by name and by number. */
#include "policies/builtin.h"

#include "base/error.h"
#include "motley/policy.h"

#include <stdlib.h>
#include <string.h>

size_t motley_policy_builtin_count(void)
{
    return mot_builtin_count;
}

const char *motley_policy_builtin_name(size_t i)
{
    return i < mot_builtin_count ? mot_builtins[i].name : NULL;
}

const char *motley_policy_builtin_text(size_t i)
{
    return i < mot_builtin_count ? mot_builtins[i].text : NULL;
}

static motley_status no_such_policy(const char *name, motley_error *error)
{
    const char **names = malloc(mot_builtin_count * sizeof *names);
    if (!names)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the names of %zu policies", mot_builtin_count);
    for (size_t i = 0; i < mot_builtin_count; i++)
        names[i] = mot_builtins[i].name;
    const char *near = mot_nearest_name(name, names, mot_builtin_count);
    const motley_status status =
        near ? mot_fail(error, MOTLEY_ERR_ARGUMENT, "no policy '%.80s' is built in, did you mean '%s'?", name, near)
             : mot_fail(error, MOTLEY_ERR_ARGUMENT, "no policy '%.80s' is built in", name);
    free(names);
    return status;
}

motley_status motley_policy_builtin(const char *name, motley_policy **policy, motley_error *error)
{
    MOT_REQUIRE(policy, error, "policy is NULL, want a place for the result");
    *policy = NULL;
    MOT_REQUIRE(name, error, "name is NULL, want that of a built-in policy");
    for (size_t i = 0; i < mot_builtin_count; i++)
        if (strcmp(name, mot_builtins[i].name) == 0)
            return motley_policy_parse(mot_builtins[i].text, strlen(mot_builtins[i].text), NULL, policy, error);
    return no_such_policy(name, error);
}
