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

/** Receives each problem of a policy text, in the order of its lines. `problem` is valid during the call only. */
typedef void motley_report(void *user, const motley_error *problem);

typedef struct motley_parse_params {
    size_t struct_size;                 /* 0 or sizeof; see motley.h */
    motley_report *report;              /* NULL: only the first problem is reported, in the function's `error` */
    void *user;                         /* passed to `report` */
    const motley_custom_op *custom_ops; /* [custom_ops_count]: ops that the text may name besides those of the table.
                                           The policy copies those that it names */
    size_t custom_ops_count;            /* at most 32 */
} motley_parse_params;

/** Reads a policy from a text in the format of doc/policy-format.md (YAML; JSON is YAML).
 *
 *  `error` gets the first problem with its line and column; `params->report` gets all of them.
 *  Errors   POLICY: the text is wrong or over a limit; MEMORY. *policy is NULL then. */
MOTLEY_API motley_status motley_policy_parse(const char *text, size_t length, const motley_parse_params *params,
                                             motley_policy **policy, motley_error *error);

/** Reads a policy from the file at `path`. Errors: as motley_policy_parse, and IO. */
MOTLEY_API motley_status motley_policy_load(const char *path, const motley_parse_params *params, motley_policy **policy,
                                            motley_error *error);

/** Loads a policy that is built into the library, by name.
 *
 *  Name     Or one of timm's configuration strings: "timm:rand-m9-mstd0.5-inc1". Behind it may be what timm's hparams
 *           say: ",translate_pct=0.3,magnitude_std=0.5,magnitude_max=12".
 *  Errors   ARGUMENT with the nearest name, or what is wrong with the string; UNSUPPORTED: a string whose magnitudes no
 *           policy can draw; MEMORY. *policy is NULL then. */
MOTLEY_API motley_status motley_policy_builtin(const char *name, motley_policy **policy, motley_error *error);

/** What kind of string identifies a policy. */
typedef enum motley_policy_source {
    MOTLEY_POLICY_BUILTIN = 0, /* the name of a built-in policy, perhaps misspelled */
    MOTLEY_POLICY_FILE = 1,    /* a path: it has a '/', ends in .yaml, .yml or .json, or names an existing file */
    MOTLEY_POLICY_TEXT = 2     /* the policy's text: it has several lines, or begins with '{' */
} motley_policy_source;

/** Which of the three `policy` is. Text takes precedence over built-in names, and these over files. */
MOTLEY_API motley_policy_source motley_policy_source_of(const char *policy);

/** Opens a policy by built-in name, path or text. The command and all bindings follow this rule.
 *  Errors   As motley_policy_builtin, motley_policy_load or motley_policy_parse. */
MOTLEY_API motley_status motley_policy_open(const char *policy, const motley_parse_params *params,
                                            motley_policy **opened, motley_error *error);

/** How many policies are built in, the name of the i-th, and its text. NULL past the end. */
MOTLEY_API size_t motley_policy_builtin_count(void);
MOTLEY_API const char *motley_policy_builtin_name(size_t i);
MOTLEY_API const char *motley_policy_builtin_text(size_t i);

/** The policy as canonical text, which parses back (with the same custom_ops) to an equal policy.
 *
 *  Memory   *text is malloc'd: free() it.
 *  Errors   ARGUMENT, MEMORY. *text is NULL then. */
MOTLEY_API motley_status motley_policy_print(const motley_policy *policy, char **text, motley_error *error);

/** The same content as JSON: the keys of doc/policy-format.md without those that have their default. It parses back to
 *  an equal policy, too, so programs change a policy by changing its JSON. Memory and errors: as motley_policy_print.
 */
MOTLEY_API motley_status motley_policy_print_json(const motley_policy *policy, char **json, motley_error *error);

/** What the policy can draw, as JSON: name, citation, probabilities, and each step's values at each of its levels.
 *
 *  Keys     name, title, profile, paper, table, version (null if the policy has none), interpolation (a list),
 *           repeat (the probabilities of 0, 1, ... repetitions), choice, augmix (only of a policy that mixes: width,
 *           alpha, form), top and bins (the scale of levels; null and 0: none), phases: [{from (epoch), branches:
 *           [{chance, steps: [{op, entry (its key under `ops`), p (the probability that it is applied, to each box if
 *           it works inside boxes), levels: [{level, value, minus}], of, round, fill, inside}]}]}].
 *  Values   In the op's unit; `minus` is the value of the other sign, if the sign is random. In a step with `of` they
 *           are fractions of that side, before `round`. A continuum of levels is given as 512 of them.
 *  Memory   *json is malloc'd: free() it.
 *  Errors   ARGUMENT, MEMORY. *json is NULL then. */
MOTLEY_API motley_status motley_policy_describe(const motley_policy *policy, char **json, motley_error *error);

/** True when both policies have the same content, name and citations included. */
MOTLEY_API int motley_policy_equal(const motley_policy *a, const motley_policy *b);

/** The policy's name, title (without one, the name), profile and paper ("" if its text has none). */
MOTLEY_API const char *motley_policy_name(const motley_policy *policy);
MOTLEY_API const char *motley_policy_title(const motley_policy *policy);
MOTLEY_API const char *motley_policy_profile(const motley_policy *policy);
MOTLEY_API const char *motley_policy_paper(const motley_policy *policy);

/** Describes an op that the policy can draw, by the `op` of a step: a row of the table; from motley_op_count() on, the
 *  custom_ops that the policy names, in their order; or a MOTLEY_STEP_MIX_*. NULL for other numbers. */
MOTLEY_API const motley_op_info *motley_policy_op(const motley_policy *policy, int op);

/** The most steps that one sample can draw: the second dimension of motley_draw's output. */
MOTLEY_API size_t motley_policy_max_steps(const motley_policy *policy);

/** Whether steps of the policy work inside an image's boxes or choose one of them. If so, motley_samples must have the
 *  boxes of every image, and an image with n boxes draws at most motley_policy_max_boxed_steps(policy, n) steps. This
 *  replaces motley_policy_max_steps: the second dimension of steps is that of the image with most boxes. */
MOTLEY_API int motley_policy_takes_boxes(const motley_policy *policy);
MOTLEY_API size_t motley_policy_max_boxed_steps(const motley_policy *policy, size_t boxes);

MOTLEY_API void motley_policy_destroy(motley_policy *policy);

#ifdef __cplusplus
}
#endif
#endif
