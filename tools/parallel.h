/* SPDX-License-Identifier: Apache-2.0 */
/* Work on several files at once. */
#ifndef PARALLEL_H
#define PARALLEL_H

#include <stddef.h>

/* The number of threads that an option asks for; 0 means one per processor. */
size_t thread_count(int asked);

/* Calls part(user, i) for every i below `count`, on at most `threads` threads, and returns when all are done. The
 * indices are taken in order. If threads cannot be started, fewer do the work. Only the caller's thread gets signals.
 */
void run_parallel(size_t threads, size_t count, void (*part)(void *user, size_t i), void *user);

#endif
