/* SPDX-License-Identifier: Apache-2.0 */
/* The policies that are built in: written by policy_files/embed.py at build time, sorted by name. */
#ifndef MOT_BUILTIN_H
#define MOT_BUILTIN_H

#include <stddef.h>

typedef struct mot_builtin {
    const char *name, *text;
} mot_builtin;

extern const mot_builtin mot_builtins[];
extern const size_t mot_builtin_count;

/* The same of transforms, policy_files/transforms/. */
extern const mot_builtin mot_builtin_transforms[];
extern const size_t mot_builtin_transform_count;

#endif
