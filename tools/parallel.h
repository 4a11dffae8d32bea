/* SPDX-License-Identifier: Apache-2.0 */
/* Work on files, side by side. */
#ifndef PARALLEL_H
#define PARALLEL_H

#include <stddef.h>

/* How many threads `asked` stands for: 0 is one per processor. */
size_t thread_count(int asked);

/* Calls part(user, i) for every i below `count`, on at most `threads` threads, and returns when all are done. The
 * indices are taken in order. Where threads cannot be started, fewer do it. No thread but the caller's takes signals.
 */
void run_parallel(size_t threads, size_t count, void (*part)(void *user, size_t i), void *user);

#endif
