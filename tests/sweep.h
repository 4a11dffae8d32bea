/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps of which a test may run a part: with EVERY=N in the environment, one case in N. What a part leaves out is
 * printed, in lines that scripts/count_tests.py shows with its counts. */
#ifndef MOT_SWEEP_H
#define MOT_SWEEP_H

#include <stdio.h>
#include <stdlib.h>

/* The step from case to case; 1 without EVERY. */
static inline size_t sweep_every(void)
{
    const char *const text = getenv("EVERY");
    const long every = text ? strtol(text, NULL, 10) : 1;
    return every > 0 ? (size_t)every : 1;
}

static inline void left_out(size_t run, size_t whole, const char *what)
{
    if (run < whole)
        printf("left out: %zu of %zu %s\n", whole - run, whole, what);
}

/* How many of `whole` random cases to run. */
static inline size_t sweep(size_t whole, const char *what)
{
    const size_t run = (whole + sweep_every() - 1) / sweep_every();
    left_out(run, whole, what);
    return run;
}

#endif
