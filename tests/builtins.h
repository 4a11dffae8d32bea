/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in transforms in parts that make one result: what one with schedules is in epoch 0, each view, and the
 * stages that views share. And built-in policies with another `repeat`. */
#ifndef TESTS_BUILTINS_H
#define TESTS_BUILTINS_H

#include "tests/inputs.h"

#include <stdio.h>

#define PART_NAME 100

/* How many parts a transform has. */
static inline size_t parts_of(const motley_policy *transform)
{
    const size_t views = (size_t)motley_policy_describe(transform)->views;
    return views ? views + (motley_policy_view(transform, views) != NULL) : 1;
}

/* Opens part i, which the caller destroys; NULL past the last. name: "dino, local", "data2vec2, shared". */
static inline motley_policy *builtin_part(size_t i, char name[PART_NAME])
{
    for (size_t t = 0; t < input_builtins(true); t++) {
        motley_policy *transform, *plain = NULL, *part = NULL;
        if (motley_policy_builtin(input_builtin(true, t)->name, &transform, NULL) != MOTLEY_OK)
            return NULL;
        const motley_status status = motley_policy_at(transform, 0, &plain, NULL);
        motley_policy_destroy(transform);
        if (status != MOTLEY_OK)
            return NULL;
        const size_t parts = parts_of(plain);
        if (i < parts) {
            const motley_view *const view = motley_policy_view(plain, i);
            snprintf(name, PART_NAME, "%s%s%s", input_builtin(true, t)->name, view ? ", " : "",
                     !view         ? ""
                     : *view->name ? view->name
                                   : "shared");
            motley_policy_at(view ? view->policy : plain, 0, &part, NULL);
            motley_policy_destroy(plain);
            return part;
        }
        i -= parts;
        motley_policy_destroy(plain);
    }
    return NULL;
}

static inline size_t builtin_parts(void)
{
    size_t count = 0;
    for (size_t t = 0; t < input_builtins(true); t++) {
        motley_policy *transform;
        if (motley_policy_builtin(input_builtin(true, t)->name, &transform, NULL) != MOTLEY_OK)
            return 0;
        count += parts_of(transform);
        motley_policy_destroy(transform);
    }
    return count;
}

/* The built-in policy of this name, which has no stages, with another `repeat`; NULL if there is none. */
static inline motley_policy *builtin_repeated(const char *name, int repeat)
{
    motley_policy *policy, *repeated = NULL;
    char *text = NULL, *made = NULL, *line = NULL;
    if (motley_policy_builtin(name, &policy, NULL) != MOTLEY_OK)
        return NULL;
    if (motley_policy_print(policy, MOTLEY_PRINT_TEXT, &text, NULL) == MOTLEY_OK)
        line = strstr(text, "\nrepeat: ");
    if (line && asprintf(&made, "%.*s\nrepeat: %d%s", (int)(line - text), text, repeat, strchr(line + 1, '\n')) > 0)
        motley_policy_parse(made, strlen(made), NULL, &repeated, NULL);
    motley_policy_destroy(policy);
    free(made);
    free(text);
    return repeated;
}

#endif
