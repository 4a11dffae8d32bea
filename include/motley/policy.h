/* SPDX-License-Identifier: Apache-2.0 */
/** Policies: how a sample's sequence of ops is drawn. Data from a file, immutable once loaded. */
#ifndef MOTLEY_POLICY_H
#define MOTLEY_POLICY_H

#include "motley/custom.h"
#include "motley/op.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_policy motley_policy;

/** Receives each problem of a policy text, in the order of its lines. `problem` lives during the call only. */
typedef void motley_report(void *user, const motley_error *problem);

typedef struct motley_parse_params {
    size_t struct_size;                 /* 0 or sizeof; see motley.h */
    motley_report *report;              /* NULL: only the first problem is reported, in the call's error */
    void *user;                         /* passed to `report` */
    const motley_custom_op *custom_ops; /* [custom_ops_count]: ops that the text may name besides those of the table.
                                           The policy keeps copies of the ones that it names */
    size_t custom_ops_count;            /* at most 32 */
} motley_parse_params;

/** Reads a policy from a text in the format of doc/policy-format.md (YAML; JSON is YAML).
 *
 *  `error` gets the first problem with its line and column; `params->report` gets all of them.
 *  Errors   POLICY: the text is wrong or over a limit; MEMORY. *policy is NULL then. */
MOTLEY_API motley_status motley_policy_parse(const char *text, size_t length, const motley_parse_params *params,
                                             motley_policy **policy, motley_error *error);

/** The same, from the file at `path`. Errors: also IO. */
MOTLEY_API motley_status motley_policy_load(const char *path, const motley_parse_params *params, motley_policy **policy,
                                            motley_error *error);

/** A policy that is built into the library, by name. Errors: ARGUMENT with the nearest name, MEMORY. */
MOTLEY_API motley_status motley_policy_builtin(const char *name, motley_policy **policy, motley_error *error);

/** What a string that identifies a policy is. */
typedef enum motley_policy_source {
    MOTLEY_POLICY_BUILTIN = 0, /* the name of a built-in policy, perhaps misspelled */
    MOTLEY_POLICY_FILE = 1,    /* a path: it has a '/', ends in .yaml, .yml or .json, or is that of a file */
    MOTLEY_POLICY_TEXT = 2     /* the policy itself: it has several lines, or begins with '{' */
} motley_policy_source;

/** Which of the three `policy` is. Text takes precedence over built-in names, and those over files. */
MOTLEY_API motley_policy_source motley_policy_source_of(const char *policy);

/** Opens a policy by built-in name, path or text. The command and all bindings follow this rule.
 *  Errors   As motley_policy_builtin, motley_policy_load or motley_policy_parse. */
MOTLEY_API motley_status motley_policy_open(const char *policy, const motley_parse_params *params,
                                            motley_policy **opened, motley_error *error);

/** How many policies are built in, the name of the i-th, and its text. NULL past the end. */
MOTLEY_API size_t motley_policy_builtin_count(void);
MOTLEY_API const char *motley_policy_builtin_name(size_t i);
MOTLEY_API const char *motley_policy_builtin_text(size_t i);

/** The policy as canonical text, which parses back (with the same custom_ops) to an equal policy. *text is malloc'd:
 *  free() it. */
MOTLEY_API motley_status motley_policy_print(const motley_policy *policy, char **text, motley_error *error);

/** What the policy can draw, as JSON: name, citation, chances, and each step's values at each of its levels.
 *
 *  Keys     name, title, profile, paper, table, version (null where the policy has none), interpolation (a list),
 *           repeat (the chances of 0, 1, ... repetitions), choice, augmix (only of a
 *           policy that mixes: width, alpha, form), top and bins (the scale of levels; null and 0: none),
 *           phases: [{from (epoch), branches: [{chance, steps: [{op, entry (its key under `ops`), p (the chance that it
 *           is applied, of a step inside boxes to each box), levels: [{level, value, minus}], of, round, fill,
 *           inside}]}]}].
 *  Values   In the op's unit; `minus` is the value of the other sign, where the sign is random. In a step with `of`
 *           they are fractions of that side, before `round`. Levels that are drawn from a continuum are given by 512.
 *  Memory   *json is malloc'd: free() it.
 *  Errors   ARGUMENT, MEMORY. */
MOTLEY_API motley_status motley_policy_describe(const motley_policy *policy, char **json, motley_error *error);

/** True when both policies have the same content, name and citations included. */
MOTLEY_API int motley_policy_equal(const motley_policy *a, const motley_policy *b);

MOTLEY_API const char *motley_policy_name(const motley_policy *policy);
MOTLEY_API const char *motley_policy_title(const motley_policy *policy);
MOTLEY_API const char *motley_policy_profile(const motley_policy *policy);
MOTLEY_API const char *motley_policy_paper(const motley_policy *policy);

/** The row of an op that the policy's samples draw: one of the table, or, from motley_op_count() on, one of the
 *  custom_ops that it names, in their order; or, for a MOTLEY_STEP_MIX_*, what it is. NULL when there is none. */
MOTLEY_API const motley_op_info *motley_policy_op(const motley_policy *policy, int op);

/** The most steps that one sample can draw: the second dimension of motley_draw's output. */
MOTLEY_API size_t motley_policy_max_steps(const motley_policy *policy);

/** Whether some of the policy's steps work inside an image's boxes or choose one of them: then motley_samples must have
 *  the boxes of every image, and an image draws at most motley_policy_max_boxed_steps of the number of its boxes. This
 *  takes the place of motley_policy_max_steps: arrays of steps want room for the image with most boxes. */
MOTLEY_API int motley_policy_takes_boxes(const motley_policy *policy);
MOTLEY_API size_t motley_policy_max_boxed_steps(const motley_policy *policy, size_t boxes);

MOTLEY_API void motley_policy_destroy(motley_policy *policy);

#ifdef __cplusplus
}
#endif
#endif
