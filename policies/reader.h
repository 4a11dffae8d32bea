/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values from a policy's text: numbers, words and names. Each mistake is kept with its place. */
#ifndef MOT_READER_H
#define MOT_READER_H

#include "base/error.h"
#include "base/number.h"
#include "policies/custom.h"
#include "policies/policy.h"
#include "policies/yaml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The state of reading a policy. */
typedef struct reader {
    mot_yaml_tree tree;
    motley_policy *policy;
    size_t *step_offset;               /* [MOT_MAX_ALL_STEPS]: where each step is in the text */
    size_t level_offset;               /* where the policy's level is in the text */
    bool whole;                        /* the policy is the whole text, not part of a transform */
    bool failed;                       /* memory ran out; nothing of what was read may be used */
    const motley_parse_params *params; /* of a transform: the custom ops that its policies may name; or NULL */
    size_t branches_offset;            /* where the branches are, for problems of the whole policy */
} reader;

#define PROBLEM(r, node, ...) mot_yaml_problem(&(r)->tree, (node)->offset, __VA_ARGS__)

static inline const char *text_of(const reader *r, const mot_yaml *node)
{
    return mot_yaml_text(&r->tree, node);
}

/* The kind of a node, for messages. */
static inline const char *kind_of(const reader *r, const mot_yaml *node)
{
    double value;
    if (node->kind == MOT_YAML_SCALAR && node->plain && mot_number_parse(text_of(r, node), &value))
        return "a number";
    if (node->kind == MOT_YAML_SCALAR)
        return node->plain && node->length == 0 ? "empty" : "a text";
    return node->kind == MOT_YAML_LIST ? "a list" : "a mapping";
}

/* The value of `key` in a map, or NULL. */
static inline const mot_yaml *get(const reader *r, const mot_yaml *map, const char *key)
{
    for (const mot_yaml *k = mot_yaml_child(&r->tree, map); k; k = mot_yaml_next(&r->tree, k)) {
        const mot_yaml *value = mot_yaml_next(&r->tree, k);
        if (!value)
            return NULL;
        if (k->kind == MOT_YAML_SCALAR && strcmp(text_of(r, k), key) == 0)
            return value;
        k = value;
    }
    return NULL;
}

/* Checks that `node` is a map of known keys, each given once. False when it is not a map. */
static inline bool check_keys(reader *r, const mot_yaml *node, const char *what, const char *const *keys, size_t count)
{
    if (node->kind != MOT_YAML_MAP) {
        PROBLEM(r, node, "%s is %s, want a mapping", what, kind_of(r, node));
        return false;
    }
    uint32_t seen = 0;
    for (const mot_yaml *k = mot_yaml_child(&r->tree, node), *value; k; k = mot_yaml_next(&r->tree, value)) {
        value = mot_yaml_next(&r->tree, k);
        if (!value)
            break;
        size_t i = 0;
        while (i < count && !(k->kind == MOT_YAML_SCALAR && strcmp(text_of(r, k), keys[i]) == 0))
            i++;
        if (i < count && seen & (1u << i)) {
            PROBLEM(r, k, "key '%s' is given twice in %s", keys[i], what);
        } else if (i < count) {
            seen |= 1u << i;
        } else if (k->kind != MOT_YAML_SCALAR) {
            PROBLEM(r, k, "a key of %s is %s, want a name", what, kind_of(r, k));
        } else {
            const char *near = mot_nearest_name(text_of(r, k), keys, count);
            if (near)
                PROBLEM(r, k, "unknown key '%.60s' in %s, did you mean '%s'?", text_of(r, k), what, near);
            else
                PROBLEM(r, k, "unknown key '%.60s' in %s", text_of(r, k), what);
        }
    }
    return true;
}

/* Keeps a copy of a text. */
static inline void keep_text(reader *r, const char *text, char **out)
{
    *out = strdup(text);
    r->failed |= !*out;
}

/* Reads a number in low..high. False after a problem, which leaves *out unchanged. */
static inline bool number(reader *r, const mot_yaml *node, const char *what, double low, double high, double *out)
{
    double value;
    if (node->kind != MOT_YAML_SCALAR || !node->plain || !mot_number_parse(text_of(r, node), &value)) {
        if (node->kind == MOT_YAML_SCALAR)
            PROBLEM(r, node, "%s is '%.60s', want a number", what, text_of(r, node));
        else
            PROBLEM(r, node, "%s is %s, want a number", what, kind_of(r, node));
        return false;
    }
    if (value >= low && value <= high) {
        *out = value;
        return true;
    }
    if (high == HUGE_VAL)
        PROBLEM(r, node, "%s is %s, want %.10g or more", what, MOT_NUMBER(value), low);
    else if (low == high)
        PROBLEM(r, node, "%s is %s, want %.10g", what, MOT_NUMBER(value), low);
    else
        PROBLEM(r, node, "%s is %s, want %.10g..%.10g", what, MOT_NUMBER(value), low, high);
    return false;
}

static inline bool whole_number(reader *r, const mot_yaml *node, const char *what, double low, double high,
                                uint32_t *out)
{
    double value;
    if (!number(r, node, what, low, high, &value))
        return false;
    if (value != floor(value)) {
        PROBLEM(r, node, "%s is %s, want a whole number", what, MOT_NUMBER(value));
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

/* Lists words as "a, b or c", in `text`. */
static inline const char *list_of(const char *const *words, size_t count, char *text, size_t room)
{
    *text = '\0';
    for (size_t i = 0, used = 0; i < count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s",
                                 i == 0          ? ""
                                 : i + 1 < count ? ", "
                                                 : " or ",
                                 words[i]);
    return text;
}

/* Reads one of `words`; *out is its index. False after a problem. */
static inline bool word(reader *r, const mot_yaml *node, const char *what, const char *const *words, size_t count,
                        int *out)
{
    if (node->kind != MOT_YAML_SCALAR) {
        PROBLEM(r, node, "%s is %s, want '%s' or the like", what, kind_of(r, node), words[0]);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(text_of(r, node), words[i]) == 0) {
            *out = (int)i;
            return true;
        }
    char wanted[120];
    PROBLEM(r, node, "%s is '%.60s', want %s", what, text_of(r, node), list_of(words, count, wanted, sizeof wanted));
    return false;
}

/* Checks that a node is a name: a letter, then letters, digits, '_', '.' and '-'. False after a problem. */
static inline bool is_name(reader *r, const mot_yaml *node, const char *what)
{
    if (node->kind != MOT_YAML_SCALAR) {
        PROBLEM(r, node, "%s is %s, want a name", what, kind_of(r, node));
        return false;
    }
    const char *text = text_of(r, node);
    if (!mot_is_name(text, node->length)) {
        PROBLEM(r, node, "%s is '%.60s', want at most %d letters, digits, '_', '.' and '-', a letter first", what, text,
                MOT_MAX_NAME);
        return false;
    }
    return true;
}

/* Reads and compiles the policy at `node` of a tree that is being read; problems go to the tree. `whole`: the policy is
 * the whole text, so it has the version. *policy is NULL if there is no memory; otherwise the caller destroys it. */
motley_status mot_policy_read(mot_yaml_tree *tree, const mot_yaml *node, bool whole, const motley_custom_op *customs,
                              size_t customs_count, motley_policy **policy);

#endif
