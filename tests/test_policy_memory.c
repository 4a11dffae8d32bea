/* SPDX-License-Identifier: Apache-2.0 */
/* Policies when an allocation fails: each one in turn. */
#include "policies/builtin.h"
#include "tests/allocations.h"
#include "tests/policies.h"
#include "tests/sweep.h"

static const motley_policy *base_policy;
static const char *base_text;
static motley_parse_params base_params; /* with custom ops, or none */

static motley_status parse_once(void)
{
    motley_policy *policy = (motley_policy *)&policy;
    motley_error error = { 0 };
    const motley_status status = motley_policy_parse(base_text, strlen(base_text), &base_params, &policy, &error);
    cr_assert_eq(status, error.status);
    cr_assert_eq(policy == NULL, status != MOTLEY_OK);
    motley_policy_destroy(policy);
    return status;
}

static motley_status print_once(void)
{
    char *text = (char *)&text;
    motley_error error = { 0 };
    const motley_status status = motley_policy_print(base_policy, MOTLEY_PRINT_TEXT, &text, &error);
    cr_assert_eq(status, error.status);
    cr_assert_eq(text == NULL, status != MOTLEY_OK);
    free(text);
    return status;
}

static motley_status json_once(void)
{
    const motley_step steps[50] = { 0 };
    char *text = (char *)&text;
    motley_error error = { 0 };
    const motley_status status = motley_draw_json(base_policy, 0, NULL, steps, 50, 3, &text, &error);
    cr_assert_eq(status, error.status);
    cr_assert_eq(text == NULL, status != MOTLEY_OK);
    free(text);
    return status;
}

static motley_status wrong_once(void)
{
    motley_policy *policy;
    motley_error error = { 0 };
    const char *text = HEAD "branches: [inverd, equalice]\n";
    const motley_status status = motley_policy_parse(text, strlen(text), NULL, &policy, &error);
    cr_assert_null(policy);
    return status == MOTLEY_ERR_POLICY ? MOTLEY_OK : status;
}

static motley_status unknown_once(void)
{
    motley_policy *policy;
    const motley_status status = motley_policy_builtin("rand", &policy, NULL);
    cr_assert_null(policy);
    return status == MOTLEY_ERR_ARGUMENT ? MOTLEY_OK : status;
}

Test(policy, allocations_that_fail_with_custom_ops)
{
    motley_policy *policy;
    base_params = (motley_parse_params){ .custom_ops = custom_pair, .custom_ops_count = 2 };
    base_text = HEAD "branches: [{op: one, value: 3}, two, invert]\n";
    cr_assert_eq(motley_policy_parse(base_text, strlen(base_text), &base_params, &policy, NULL), MOTLEY_OK);
    base_policy = policy;
    fail_each(parse_once, "parse", true);
    motley_policy_destroy(policy);
}

Test(policy, allocations_that_fail)
{
    sweep(mot_builtin_count, "built-in policies with failing allocations");
    for (size_t b = 0; b < mot_builtin_count; b += sweep_every()) {
        base_text = mot_builtins[b].text;
        motley_policy *policy = builtin(mot_builtins[b].name);
        base_policy = policy;
        fail_each(parse_once, "parse", true); /* shrinking an array may fail */
        fail_each(print_once, "print", false);
        motley_policy_destroy(policy);
    }
    fail_each(wrong_once, "a wrong text", true);
    base_policy = builtin("rand_augment");
    fail_each(json_once, "json", false);
    motley_policy_destroy((motley_policy *)base_policy);
    begin_allocations(0);
    cr_expect_eq(unknown_once(), MOTLEY_ERR_MEMORY);
    end_allocations();
    cr_expect_eq(unknown_once(), MOTLEY_OK);
}
