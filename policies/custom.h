/* SPDX-License-Identifier: Apache-2.0 */
/* Custom ops beside those of the table: custom.c. */
#ifndef MOT_CUSTOM_H
#define MOT_CUSTOM_H

#include "policies/policy.h"

/* The custom ops: checked, copied into the policy (false: no memory), compared. */
motley_status mot_customs_check(const motley_custom_op *ops, size_t count, motley_error *error);
bool mot_customs_copy(motley_policy *policy, const motley_custom_op *ops, size_t count);
void mot_customs_keep_named(motley_policy *policy); /* frees those that no space names */
void mot_customs_destroy(motley_policy *policy);
bool mot_customs_equal(const motley_policy *a, const motley_policy *b); /* of two whose texts are equal */

/* The id of the op called `name`, of the table or custom, or -1; the facts of an id, and its argument for a value. */
int mot_policy_find_op(const motley_policy *policy, const char *name);
const mot_op_facts *mot_policy_facts(int op);
void mot_policy_prepare(int op, const double *value, int count, mot_arg *arg);

/* Whether a text is a name: a letter, then letters, digits, '_', '.' and '-', at most MOT_MAX_NAME in all. */
bool mot_is_name(const char *text, size_t length);

#endif
