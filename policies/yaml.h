/* SPDX-License-Identifier: Apache-2.0 */
/* A YAML text as a small tree that remembers the place of each node. Aliases and tags are refused. */
#ifndef MOT_YAML_H
#define MOT_YAML_H

#include "base/text.h"
#include "motley/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of a text. */
#define MOT_MAX_TEXT_BYTES (1u << 20)
#define MOT_MAX_DEPTH 16
#define MOT_MAX_NODES (1u << 18)
#define MOT_MAX_PROBLEMS 100 /* reported for one text */

typedef enum mot_yaml_kind { MOT_YAML_SCALAR, MOT_YAML_LIST, MOT_YAML_MAP } mot_yaml_kind;

/* A value. The children of a map are its keys and values in turn. */
typedef struct mot_yaml {
    mot_yaml_kind kind;
    bool plain;           /* a scalar without quotes */
    size_t offset;        /* in the text, bytes */
    size_t text, length;  /* of a scalar: its place in mot_yaml_tree.chars, NUL-terminated there */
    uint32_t first, next; /* child and sibling; 0 when there is none */
    uint32_t children;
} mot_yaml;

typedef struct mot_problem {
    size_t offset;
    char message[240];
} mot_problem;

/* A text being read: its tree, and the problems found so far. */
typedef struct mot_yaml_tree {
    const char *source;
    size_t source_bytes;
    mot_yaml *node; /* node[0] is the root */
    uint32_t nodes, node_room;
    char *chars;
    size_t chars_used, chars_room;
    mot_problem *problem; /* [MOT_MAX_PROBLEMS] */
    uint32_t problems;
    bool only_checked; /* the result is never drawn: slow tables, which cannot fail, are not built */
} mot_yaml_tree;

/* Reads `text` into `tree`. A wrong text is not a failure: it adds a problem. The only error is MEMORY. */
motley_status mot_yaml_read(mot_yaml_tree *tree, const char *text, size_t length);
void mot_yaml_clear(mot_yaml_tree *tree);

/* Copies a tree without its problems. Errors: MEMORY; `copy` is then empty. */
motley_status mot_yaml_copy(const mot_yaml_tree *tree, mot_yaml_tree *copy);

/* Adds a problem at a byte of the text; past MOT_MAX_PROBLEMS they are dropped. */
void mot_yaml_problem(mot_yaml_tree *tree, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports all problems in the order of their places; `error` gets the first. Returns POLICY, or OK without problems. */
motley_status mot_yaml_report(mot_yaml_tree *tree, const motley_parse_params *params, motley_error *error);

/* Makes a node the plain scalar `text`. Errors: MEMORY. */
motley_status mot_yaml_set(mot_yaml_tree *tree, const mot_yaml *node, const char *text);

/* Writes the whole text again: a line for each key and item, those that fit in one in braces, without comments. What
 * was written reads back to an equal tree, and writes the same. */
void mot_yaml_print(const mot_yaml_tree *tree, mot_text *w);

/* Replaces a canonical text by JSON of the same content, or by NULL. `name`: of what it describes. Errors: MEMORY. */
motley_status mot_yaml_to_json(char **text, const char *name, motley_error *error);

static inline const char *mot_yaml_text(const mot_yaml_tree *tree, const mot_yaml *node)
{
    return tree->chars + node->text;
}

static inline const mot_yaml *mot_yaml_child(const mot_yaml_tree *tree, const mot_yaml *node)
{
    return node->first ? &tree->node[node->first] : NULL;
}

static inline const mot_yaml *mot_yaml_next(const mot_yaml_tree *tree, const mot_yaml *node)
{
    return node->next ? &tree->node[node->next] : NULL;
}

#endif
