/* SPDX-License-Identifier: Apache-2.0 */
/* A context's threads. */
#ifndef MOT_THREADS_H
#define MOT_THREADS_H

#include "motley/status.h"

#include <stddef.h>

typedef struct mot_threads mot_threads;

/* `count` threads, 2 or more, the caller's among them. ERR_MEMORY when they cannot all be started. */
motley_status mot_threads_create(size_t count, mot_threads **threads, motley_error *error);

/* Whether they run in this process: a forked child has none of its parent's. */
int mot_threads_are_here(const mot_threads *threads);

/* Calls part(user, i) for every i below the count, each on one thread. `last`: the threads sleep afterwards, where they
 * would else wait for more with the processor held. */
void mot_threads_run(mot_threads *threads, void (*part)(void *user, size_t i), void *user, int last);

/* Takes NULL, and in a child what its parent made. */
void mot_threads_destroy(mot_threads *threads);

#endif
