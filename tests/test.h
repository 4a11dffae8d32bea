/* SPDX-License-Identifier: Apache-2.0 */
/* For tests with a `main` of their own: what must hold, and what they say if it does not. */
#ifndef MOT_TEST_H
#define MOT_TEST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SKIPPED 77 /* the exit status of a test that cannot run here */

static _Atomic int failures;

/* Counts a failure, after which the test goes on. */
static inline void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
        failures++;
    }
}

/* Ends the test. */
static inline void need(int ok, const char *what)
{
    check(ok, what);
    if (!ok)
        exit(2);
}

/* A call of CUDA's. (A macro, since not every test knows CUDA.) */
#define need_cuda(call) \
    do { \
        const cudaError_t code_ = (call); \
        if (code_ != cudaSuccess) \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code_)); \
        need(code_ == cudaSuccess, "a call of CUDA failed"); \
    } while (0)

#endif
