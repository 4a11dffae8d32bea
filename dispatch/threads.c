/* SPDX-License-Identifier: Apache-2.0 */
/* pthreadpool's threads, and what pthreadpool does not handle: threads that cannot start, signals, forks, the thread
 * sanitizer. */
#include "dispatch/threads.h"

#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <pthreadpool.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* pthreadpool is not built with the thread sanitizer, so these annotations tell it what happens before what. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MOT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MOT_TSAN 1
#endif
#ifdef MOT_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#else
#define __tsan_acquire(address) ((void)(address))
#define __tsan_release(address) ((void)(address))
#endif

struct mot_threads {
    pthreadpool_t pool;
    size_t count;
    pid_t process;
};

static void *wait_at_gate(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* Starts `count` threads, all alive at once, and ends them again. Returns 0 or an error number. */
static int try_to_start(size_t count)
{
    pthread_t *trial = malloc(count * sizeof *trial);
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    size_t started = 0;
    int code = trial ? 0 : ENOMEM;
    pthread_mutex_lock(&gate);
    while (code == 0 && started < count && (code = pthread_create(&trial[started], NULL, wait_at_gate, &gate)) == 0)
        started++;
    pthread_mutex_unlock(&gate);
    for (size_t i = 0; i < started; i++)
        pthread_join(trial[i], NULL);
    pthread_mutex_destroy(&gate);
    free(trial);
    return code;
}

motley_status mot_threads_create(size_t count, mot_threads **threads, motley_error *error)
{
    *threads = NULL;
    /* pthreadpool_create does not check whether its threads start, and would then wait for them forever. */
    const int code = try_to_start(count - 1);
    if (code)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "cannot start %zu threads: %s; want fewer, or a higher limit", count,
                        strerror(code));
    mot_threads *self = malloc(sizeof *self);
    if (!self)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu threads", count);
    sigset_t all, before; /* the threads inherit the mask, so signals go to the program's threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *self = (mot_threads){ pthreadpool_create(count), count, getpid() };
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!self->pool) {
        free(self);
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu threads", count);
    }
    *threads = self;
    return MOTLEY_OK;
}

int mot_threads_are_here(const mot_threads *threads)
{
    return threads->process == getpid();
}

/* A run, shared by its threads. */
typedef struct run {
    void (*part)(void *user, size_t i);
    void *user;
} run;

static void start(void *context, size_t i)
{
    run *self = context;
    __tsan_acquire(self);
    self->part(self->user, i);
    __tsan_release(self);
}

void mot_threads_run(mot_threads *threads, void (*part)(void *user, size_t i), void *user, int last)
{
    run self = { part, user };
    __tsan_release(&self);
    pthreadpool_parallelize_1d(threads->pool, start, &self, threads->count, last ? PTHREADPOOL_FLAG_YIELD_WORKERS : 0);
    __tsan_acquire(&self);
}

void mot_threads_destroy(mot_threads *threads)
{
    if (threads && mot_threads_are_here(threads)) /* in a forked child, waiting for them would never end */
        pthreadpool_destroy(threads->pool);
    free(threads);
}
