/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces Criterion under the thread sanitizer, which cannot run Criterion's processes: the same test files, all in
 * one process, with the same closing line. Only what the tests use is here. */
#ifndef IN_PROCESS_CRITERION_H
#define IN_PROCESS_CRITERION_H
#pragma GCC system_header /* macros without a message are fine */

/* For tests: the thread sanitizer and qemu start no threads in a process that was forked from one with threads. */
#define IN_PROCESS 1

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct in_process_test {
    const char *name;
    void (*run)(void), (*init)(void), (*fini)(void); /* the latter two before and after it; may be NULL */
    double timeout;                                  /* not kept: the sanitizer and qemu are slow */
    struct in_process_test *next;
} in_process_test;

static in_process_test *in_process_tests;
static jmp_buf in_process_leave;
static pthread_t in_process_main;
static _Atomic int in_process_failures; /* of the running test */
static const char *in_process_name;

#define Test(suite, title, ...) \
    static void suite##_##title##_test(void); \
    __attribute__((constructor)) static void suite##_##title##_add(void) \
    { \
        static in_process_test test = { .name = #suite "::" #title, .run = suite##_##title##_test, __VA_ARGS__ }; \
        test.next = in_process_tests; \
        in_process_tests = &test; \
    } \
    static void suite##_##title##_test(void)

__attribute__((unused)) static void in_process_fail(int fatal, const char *file, int line, const char *what,
                                                    const char *format, ...)
{
    va_list list;
    fprintf(stderr, "%s:%d: %s: %s: ", file, line, in_process_name, what);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    in_process_failures++;
    if (fatal && pthread_equal(pthread_self(), in_process_main))
        longjmp(in_process_leave, 1);
    if (fatal)
        exit(1); /* another thread cannot jump there */
}

#define IN_PROCESS_CHECK(fatal, good, what, ...) \
    ((good) ? (void)0 : in_process_fail(fatal, __FILE__, __LINE__, what, "" __VA_ARGS__))

#define cr_assert(c, ...) IN_PROCESS_CHECK(1, c, #c, __VA_ARGS__)
#define cr_expect(c, ...) IN_PROCESS_CHECK(0, c, #c, __VA_ARGS__)
#define cr_expect_not(c, ...) IN_PROCESS_CHECK(0, !(c), #c, __VA_ARGS__)
#define cr_assert_null(a, ...) IN_PROCESS_CHECK(1, (a) == NULL, #a, __VA_ARGS__)
#define cr_expect_null(a, ...) IN_PROCESS_CHECK(0, (a) == NULL, #a, __VA_ARGS__)
#define cr_expect_not_null(a, ...) IN_PROCESS_CHECK(0, (a) != NULL, #a, __VA_ARGS__)
#define cr_assert_not_null(a, ...) IN_PROCESS_CHECK(1, (a) != NULL, #a, __VA_ARGS__)
#define cr_assert_eq(a, b, ...) IN_PROCESS_CHECK(1, (a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_expect_eq(a, b, ...) IN_PROCESS_CHECK(0, (a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...) IN_PROCESS_CHECK(0, (a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) IN_PROCESS_CHECK(1, (a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...) IN_PROCESS_CHECK(0, (a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) IN_PROCESS_CHECK(1, (a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...) IN_PROCESS_CHECK(0, (a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) IN_PROCESS_CHECK(1, (a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...) IN_PROCESS_CHECK(0, (a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) IN_PROCESS_CHECK(1, (a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...) IN_PROCESS_CHECK(0, (a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) IN_PROCESS_CHECK(1, strcmp(a, b) == 0, #a " == " #b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) IN_PROCESS_CHECK(0, strcmp(a, b) == 0, #a " == " #b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...) IN_PROCESS_CHECK(0, strcmp(a, b) != 0, #a " != " #b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, size, ...) IN_PROCESS_CHECK(1, memcmp(a, b, size) == 0, #a " == " #b, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, size, ...) IN_PROCESS_CHECK(0, memcmp(a, b, size) == 0, #a " == " #b, __VA_ARGS__)
#define cr_assert_float_eq(a, b, e, ...) IN_PROCESS_CHECK(1, fabs((a) - (b)) <= (e), #a " == " #b, __VA_ARGS__)
#define cr_expect_float_eq(a, b, e, ...) IN_PROCESS_CHECK(0, fabs((a) - (b)) <= (e), #a " == " #b, __VA_ARGS__)
#define cr_log_info(...) (printf(__VA_ARGS__), putchar('\n'))
#define cr_skip_test(...) \
    (printf("[SKIP] %s: ", in_process_name), printf("" __VA_ARGS__), putchar('\n'), longjmp(in_process_leave, 2))

int main(void)
{
    int passed = 0, failed = 0;
    in_process_main = pthread_self();
    for (in_process_test *test = in_process_tests; test; test = test->next) {
        in_process_name = test->name;
        in_process_failures = 0;
        const int left = setjmp(in_process_leave);
        if (left == 0) {
            if (test->init)
                test->init();
            test->run();
        }
        if (test->fini)
            test->fini();
        if (left == 2)
            continue;
        *(in_process_failures ? &failed : &passed) += 1;
    }
    printf("[====] Synthesis: Tested: %d | Passing: %d | Failing: %d | Crashing: 0\n", passed + failed, passed, failed);
    return failed > 0;
}

#endif
