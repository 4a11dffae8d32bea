/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in policies, sorted by name; policy_files/embed.py writes them at build time. */
#ifndef MOT_BUILTIN_H
#define MOT_BUILTIN_H

#include "motley/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

extern const motley_builtin mot_builtins[];
extern const size_t mot_builtin_count;

/* The built-in transforms, from policy_files/transforms/. */
extern const motley_builtin mot_builtin_transforms[];
extern const size_t mot_builtin_transform_count;

#define MOT_TIMM "timm:" /* how the name of a policy begins that is one of timm's strings */

/* The policy of one of timm's configuration strings, with settings behind commas: "rand-m9,magnitude_std=0.5".
 * Errors: ARGUMENT; UNSUPPORTED: no policy draws like that; MEMORY. */
motley_status mot_timm_policy(const char *text, motley_policy **policy, motley_error *error);

static inline bool mot_is_timm(const char *name)
{
    return strncmp(name, MOT_TIMM, sizeof MOT_TIMM - 1) == 0;
}

/* motley_policy_builtin that refuses policies with stages, which cannot be a stage. only_checked: see mot_yaml_tree. */
motley_status mot_builtin_drawn(const char *name, bool only_checked, motley_policy **policy, motley_error *error);

#endif
