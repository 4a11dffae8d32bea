/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in transforms in parts that make one result: what one with schedules is in epoch 0, each view, and the
 * stages that views share. And built-in policies with another `repeat`. */
#ifndef TESTS_BUILTINS_H
#define TESTS_BUILTINS_H

#include "tests/inputs.h"

#include <stdbool.h>
#include <stdio.h>

#define PART_NAME 100

/* Whether samples need boxes or draw the sizes of their results: such recipes of detection are no parts. */
static inline bool is_of_detection(const motley_policy *transform)
{
    const motley_policy_info *const info = motley_policy_describe(transform);
    return info->takes_boxes || info->draws_sizes;
}

/* How many parts a transform has; none if it only mixes, too. */
static inline size_t parts_of(const motley_policy *transform)
{
    const motley_policy_info *const info = motley_policy_describe(transform);
    const size_t views = (size_t)info->views;
    if (is_of_detection(transform) || (info->mix && info->stages == 1))
        return 0;
    return views ? views + (motley_policy_view(transform, views) != NULL) : 1;
}

/* The t-th transform as it is in epoch 0, or NULL. */
static inline motley_policy *builtin_transform(size_t t)
{
    const motley_builtin *const row = input_builtin(true, t);
    motley_policy *transform, *plain = NULL;
    if (!row || motley_policy_builtin(row->name, &transform, NULL) != MOTLEY_OK)
        return NULL;
    motley_policy_at(transform, 0, &plain, NULL);
    motley_policy_destroy(transform);
    return plain;
}

/* How many parts the transforms before the t-th have; t from 0 to their number. They are counted once: parsing all of
 * them for each part took most of the time of the tests that loop over the parts. */
static inline size_t parts_before(size_t t)
{
    static size_t before[1000], counted;
    for (motley_policy *plain; counted < t && (plain = builtin_transform(counted)); counted++) {
        before[counted + 1] = before[counted] + parts_of(plain);
        motley_policy_destroy(plain);
    }
    return counted < t ? 0 : before[t];
}

static inline size_t builtin_parts(void)
{
    return parts_before(input_builtins(true));
}

/* Opens part i, which the caller destroys; NULL past the last. name: "dino, local", "data2vec2, shared". */
static inline motley_policy *builtin_part(size_t i, char name[PART_NAME])
{
    motley_policy *plain, *part = NULL;
    size_t t = 0;
    if (i >= builtin_parts())
        return NULL;
    while (parts_before(t + 1) <= i)
        t++;
    if (!(plain = builtin_transform(t)))
        return NULL;
    const motley_view *const view = motley_policy_view(plain, i - parts_before(t));
    snprintf(name, PART_NAME, "%s%s%s", input_builtin(true, t)->name, view ? ", " : "",
             !view         ? ""
             : *view->name ? view->name
                           : "shared");
    motley_policy_at(view ? view->policy : plain, 0, &part, NULL);
    motley_policy_destroy(plain);
    return part;
}

/* Opens recipe i of detection, which the caller destroys; NULL past the last. */
static inline motley_policy *builtin_of_detection(size_t i, char name[PART_NAME])
{
    motley_policy *plain;
    for (size_t t = 0; (plain = builtin_transform(t)); t++) {
        if (is_of_detection(plain) && i-- == 0) {
            snprintf(name, PART_NAME, "%s", input_builtin(true, t)->name);
            return plain;
        }
        motley_policy_destroy(plain);
    }
    return NULL;
}

static inline size_t builtins_of_detection(void)
{
    char name[PART_NAME];
    size_t count = 0;
    for (motley_policy *plain; (plain = builtin_of_detection(count, name)); count++)
        motley_policy_destroy(plain);
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
