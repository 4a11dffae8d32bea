/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in transforms in parts that make one result: what one with schedules is in epoch 0, and each view. */
#ifndef TESTS_BUILTINS_H
#define TESTS_BUILTINS_H

#include "motley.h"

#include <stdio.h>

#define PART_NAME 100

/* Opens part i, which the caller destroys; NULL past the last. name: "dino, local". */
static inline motley_transform *builtin_part(size_t i, char name[PART_NAME])
{
    for (size_t t = 0; t < motley_transform_builtin_count(); t++) {
        motley_transform *transform, *plain = NULL, *part = NULL;
        if (motley_transform_builtin(motley_transform_builtin_name(t), &transform, NULL) != MOTLEY_OK)
            return NULL;
        const motley_status status = motley_transform_at(transform, 0, &plain, NULL);
        motley_transform_destroy(transform);
        if (status != MOTLEY_OK)
            return NULL;
        const size_t views = motley_transform_view_count(plain), parts = views ? views : 1;
        if (i < parts) {
            const motley_view *const view = motley_transform_view(plain, i);
            snprintf(name, PART_NAME, "%s%s%s", motley_transform_builtin_name(t), view ? ", " : "",
                     view ? view->name : "");
            motley_transform_at(view ? view->transform : plain, 0, &part, NULL);
            motley_transform_destroy(plain);
            return part;
        }
        i -= parts;
        motley_transform_destroy(plain);
    }
    return NULL;
}

static inline size_t builtin_parts(void)
{
    size_t count = 0;
    for (size_t t = 0; t < motley_transform_builtin_count(); t++) {
        motley_transform *transform;
        if (motley_transform_builtin(motley_transform_builtin_name(t), &transform, NULL) != MOTLEY_OK)
            return 0;
        const size_t views = motley_transform_view_count(transform);
        count += views ? views : 1;
        motley_transform_destroy(transform);
    }
    return count;
}

#endif
