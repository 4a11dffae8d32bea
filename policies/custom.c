/* SPDX-License-Identifier: Apache-2.0 */
/* The ops that a policy can name: those of the table, then custom ops, with ids from MOT_OP_COUNT on. */
#include "policies/custom.h"
#include "augmentations/table.h"
#include "base/error.h"
#include "policies/transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool mot_is_name(const char *text, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char others[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return strspn(text, letters) > 0 && strspn(text, others) == length && length <= MOT_MAX_NAME;
}

motley_status mot_customs_check(const motley_custom_op *ops, size_t count, motley_error *error)
{
    MOT_REQUIRE(count <= MOT_MAX_CUSTOMS, error, "%zu custom ops were given, want at most %d", count, MOT_MAX_CUSTOMS);
    MOT_REQUIRE(ops || count == 0, error, "custom_ops is NULL, want %zu of them", count);
    for (size_t i = 0; i < count; i++) {
        const motley_custom_op *op = &ops[i];
        MOT_REQUIRE(op->name, error, "custom op %zu: its name is NULL", i);
        MOT_REQUIRE(
            mot_is_name(op->name, strlen(op->name)), error,
            "custom op %zu: its name is '%.60s', want at most %d letters, digits, '_', '.' and '-', a letter first", i,
            op->name, MOT_MAX_NAME);
        MOT_REQUIRE(motley_op_find(op->name) < 0, error, "custom op %zu: '%s' is the name of an operation of the table",
                    i, op->name);
        for (size_t j = 0; j < i; j++)
            MOT_REQUIRE(strcmp(op->name, ops[j].name) != 0, error, "custom ops %zu and %zu are both called '%s'", j, i,
                        op->name);
        MOT_REQUIRE(op->run, error, "custom op '%s': its function is NULL", op->name);
        MOT_REQUIRE(!op->unit || (isfinite(op->minimum) && isfinite(op->maximum) && op->minimum <= op->maximum), error,
                    "custom op '%s': its range is %g..%g, want two numbers, the lower first", op->name, op->minimum,
                    op->maximum);
    }
    return MOTLEY_OK;
}

/* Copies one op with its texts. */
static bool copy_op(const motley_custom_op *from, mot_custom *to)
{
    to->op = *from;
    to->op.name = strdup(from->name);
    to->op.unit = from->unit ? strdup(from->unit) : NULL;
    to->info = (motley_op_info){ .name = to->op.name,
                                 .summary = "An operation of the caller's.",
                                 .unit = to->op.unit ? to->op.unit : "",
                                 .matches = "own definition",
                                 .paper = "",
                                 .shape = MOTLEY_SHAPE_CUSTOM,
                                 .values_min = from->unit != NULL,
                                 .values_max = from->unit != NULL,
                                 .minimum = from->unit ? from->minimum : 0,
                                 .maximum = from->unit ? from->maximum : 0,
                                 .neutral = NAN,
                                 .example = from->unit ? from->maximum : 0 };
    return to->op.name && (to->op.unit || !from->unit);
}

bool mot_customs_copy(motley_policy *policy, const motley_custom_op *ops, size_t count)
{
    policy->customs = 0;
    policy->custom = count ? calloc(count, sizeof *policy->custom) : NULL;
    bool whole = policy->custom || count == 0;
    for (size_t i = 0; policy->custom && i < count; i++, policy->customs++)
        whole = copy_op(&ops[i], &policy->custom[i]) && whole;
    return whole;
}

static void clear_op(mot_custom *custom)
{
    free((char *)custom->op.name);
    free((char *)custom->op.unit);
}

void mot_customs_keep_named(motley_policy *policy)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < policy->customs; i++) {
        bool named = false;
        for (uint32_t k = 0; k < policy->spaces; k++)
            if (policy->space[k].op == MOT_OP_COUNT + (int)i) {
                policy->space[k].op = MOT_OP_COUNT + (int)kept;
                named = true;
            }
        if (named)
            policy->custom[kept++] = policy->custom[i];
        else
            clear_op(&policy->custom[i]);
    }
    policy->customs = kept;
}

void mot_customs_destroy(motley_policy *policy)
{
    for (uint32_t i = 0; policy->custom && i < policy->customs; i++)
        clear_op(&policy->custom[i]);
    free(policy->custom);
}

bool mot_customs_equal(const motley_policy *a, const motley_policy *b)
{
    const mot_transform *const first = mot_policy_transform(a), *const second = mot_policy_transform(b);
    bool same = first->facts.customs == second->facts.customs;
    for (uint32_t v = 0; same && v < first->views_count + first->shares; v++)
        same = mot_customs_equal(first->views[v].policy, second->views[v].policy);
    for (int i = 0; same && i < first->facts.customs; i++) {
        const motley_custom_op *const x = &mot_transform_custom(first, MOT_OP_COUNT + i)->op;
        const motley_custom_op *const y = &mot_transform_custom(second, MOT_OP_COUNT + i)->op;
        same = strcmp(x->name, y->name) == 0 && !x->unit == !y->unit && (!x->unit || strcmp(x->unit, y->unit) == 0) &&
               (!x->unit || (x->minimum == y->minimum && x->maximum == y->maximum)) && x->run == y->run &&
               x->user == y->user;
    }
    return same;
}

const motley_op_info *motley_policy_op(const motley_policy *policy, int op)
{
    if (policy->staged)
        return mot_transform_op(policy->staged, op);
    if (op < MOT_OP_COUNT)
        return mot_step_info(op);
    return (uint32_t)(op - MOT_OP_COUNT) < policy->customs ? &policy->custom[op - MOT_OP_COUNT].info : NULL;
}

int mot_policy_find_op(const motley_policy *policy, const char *name)
{
    for (uint32_t i = 0; i < policy->customs; i++)
        if (strcmp(policy->custom[i].op.name, name) == 0)
            return MOT_OP_COUNT + (int)i;
    return motley_op_find(name);
}

const mot_op_facts *mot_policy_facts(int op)
{
    static const mot_op_facts custom = { .pixels = 1, .draws = MOT_DRAWS_UNIT };
    return op < MOT_OP_COUNT ? &mot_op_table[op].facts : &custom;
}

void mot_policy_prepare(int op, const double *value, int count, mot_arg *arg)
{
    if (op < MOT_OP_COUNT) {
        mot_op_prepare(op, value, count, arg);
        return;
    }
    memset(arg, 0, sizeof *arg);
    arg->d[0] = count ? value[0] : 0;
}
