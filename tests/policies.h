/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of policies: building and reading texts, contexts, and two custom ops. */
#ifndef MOT_TESTS_POLICIES_H
#define MOT_TESTS_POLICIES_H

#include "motley.h"
#include "policies/policy.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "motley: 1\nname: x\n"
#define STAGES HEAD "stages:\n"

static inline motley_policy *parsed(const char *text)
{
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &policy, &error), MOTLEY_OK, "%d:%d: %s\n%s", error.line,
                 error.column, error.message, text);
    return policy;
}

static inline motley_policy *builtin(const char *name)
{
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_builtin(name, &policy, &error), MOTLEY_OK, "%s", error.message);
    return policy;
}

/* The canonical text, or the JSON; the caller frees it. */
static inline char *printed(const motley_policy *policy, motley_print_format format)
{
    char *text;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_print(policy, format, &text, &error), MOTLEY_OK, "%s", error.message);
    return text;
}

static inline motley_context *context_of(motley_backend backend, int threads)
{
    const motley_context_params params = { .backend = backend, .threads = threads };
    motley_context *context;
    motley_error error = { 0 };
    cr_assert_eq(motley_context_create(&params, &context, &error), MOTLEY_OK, "%s", error.message);
    return context;
}

/* A text that is put together piece by piece. */
typedef struct paper {
    char *text;
    size_t used;
} paper;

__attribute__((format(printf, 2, 3))) static inline void add(paper *p, const char *format, ...)
{
    enum { ROOM = 3 << 20 };
    if (!p->text)
        p->text = malloc(ROOM);
    va_list values;
    va_start(values, format);
    p->used += (size_t)vsnprintf(p->text + p->used, ROOM - p->used, format, values);
    va_end(values);
    cr_assert_lt(p->used, ROOM);
}

static inline motley_status status_of(const char *text, size_t length, motley_error *error)
{
    motley_policy *policy = (motley_policy *)&policy;
    const motley_status status = motley_policy_parse(text, length, NULL, &policy, error);
    cr_expect_eq(policy == NULL, status != MOTLEY_OK);
    motley_policy_destroy(policy);
    return status;
}

/* Prints, reads back, and expects the same policy and the same text. */
static inline void there_and_back(const motley_policy *policy)
{
    char *text, *again;
    cr_assert_eq(motley_policy_print(policy, MOTLEY_PRINT_TEXT, &text, NULL), MOTLEY_OK);
    motley_policy *back = parsed(text);
    cr_expect(motley_policy_equal(policy, back), "%s is another policy after:\n%s",
              motley_policy_describe(policy)->name, text);
    cr_assert_eq(motley_policy_print(back, MOTLEY_PRINT_TEXT, &again, NULL), MOTLEY_OK);
    cr_expect_str_eq(text, again);
    cr_expect_eq(policy->compiled_bytes, back->compiled_bytes);
    if (policy->compiled_bytes) /* 0 of a policy with stages */
        cr_expect_arr_eq(policy->compiled, back->compiled, policy->compiled_bytes, "%s draws otherwise after:\n%s",
                         motley_policy_describe(policy)->name, text);
    motley_policy_destroy(back);
    free(text);
    free(again);
}

static inline motley_status do_nothing(void *user, const motley_custom_batch *batch, motley_error *error)
{
    (void)user, (void)batch, (void)error;
    return MOTLEY_OK;
}

static const motley_custom_op custom_pair[] = { { .name = "one", .unit = "px", .maximum = 9, .run = do_nothing },
                                                { .name = "two", .run = do_nothing } };

#endif
