/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in policies, sorted by name; policy_files/embed.py writes them at build time. */
#ifndef MOT_BUILTIN_H
#define MOT_BUILTIN_H

#include "motley/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct mot_builtin {
    const char *name, *text;
} mot_builtin;

extern const mot_builtin mot_builtins[];
extern const size_t mot_builtin_count;

/* The built-in transforms, from policy_files/transforms/. */
extern const mot_builtin mot_builtin_transforms[];
extern const size_t mot_builtin_transform_count;

/* Reports that no policy, or no transform, is called `name`, with the nearest name of either. */
motley_status mot_no_builtin(const char *name, bool transform, motley_error *error);

#endif
