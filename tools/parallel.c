/* SPDX-License-Identifier: Apache-2.0 */
/* See parallel.h. Every call starts new threads: that takes microseconds, and the files that they work on take
 * milliseconds. */
#include "tools/parallel.h"
#include "motley.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#define MOST_THREADS 256

typedef struct work {
    void (*part)(void *user, size_t i);
    void *user;
    size_t count;
    atomic_size_t next;
} work;

static void *take_turns(void *user)
{
    work *self = user;
    for (size_t i; (i = atomic_fetch_add(&self->next, 1)) < self->count;)
        self->part(self->user, i);
    return NULL;
}

size_t thread_count(int asked)
{
    const int count = asked ? asked : motley_default_threads();
    return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : (size_t)count;
}

void run_parallel(size_t threads, size_t count, void (*part)(void *user, size_t i), void *user)
{
    work self = { .part = part, .user = user, .count = count };
    pthread_t others[MOST_THREADS];
    const size_t wanted = threads < count ? threads : count;
    size_t started = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started + 1 < wanted && pthread_create(&others[started], NULL, take_turns, &self) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    take_turns(&self);
    for (size_t i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}
