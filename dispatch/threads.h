/* SPDX-License-Identifier: Apache-2.0 */
/* A context's threads. */
#ifndef MOT_THREADS_H
#define MOT_THREADS_H

#include "motley/status.h"

#include <stddef.h>

typedef struct mot_threads mot_threads;

/* How many threads can work at once: the processors that the calling thread may run on (its affinity), or fewer where
 * the quota of its cgroup, version 1 or 2, gives less time than they have. 1 to 1024. `root` is before the paths of
 * /proc and /sys: "", but for tests. */
size_t mot_threads_available(const char *root);

/* Creates `count` threads, 2 or more, including the caller's. ERR_MEMORY when they cannot all be started. */
motley_status mot_threads_create(size_t count, mot_threads **threads, motley_error *error);

/* Whether the threads run in this process: a forked child does not have its parent's threads. */
int mot_threads_are_here(const mot_threads *threads);

/* Calls part(user, i) for every i below the count, each on one thread. `last`: the threads sleep afterwards instead of
 * spinning for more work. */
void mot_threads_run(mot_threads *threads, void (*part)(void *user, size_t i), void *user, int last);

/* Accepts NULL, and in a forked child the parent's threads. */
void mot_threads_destroy(mot_threads *threads);

#endif
