/* SPDX-License-Identifier: Apache-2.0 */
/* pthreadpool's threads, and what pthreadpool does not handle: threads that cannot start, signals, forks, the thread
 * sanitizer; and how many threads there should be. */
#include "dispatch/threads.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <pthreadpool.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
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

/* ---- how many ---- */

#define MOST_THREADS 1024
#define PATH_ROOM 4608

/* Reads two numbers, or one of each of two files, in `folder`. A second file's name may be NULL. */
static int read_two(const char *folder, const char *name, const char *second, double *a, double *b)
{
    char path[PATH_ROOM + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    int found = fscanf(file, second ? "%lf" : "%lf %lf", a, b);
    fclose(file);
    if (!second)
        return found == 2;
    snprintf(path, sizeof path, "%s/%s", folder, second);
    if (found != 1 || !(file = fopen(path, "re")))
        return 0;
    found = fscanf(file, "%lf", b);
    fclose(file);
    return found == 1;
}

/* How many processors' time the cgroup of this folder may use, rounded up; `count` if it has no smaller limit. */
static size_t within_quota(const char *folder, size_t count)
{
    double quota = 0, period = 0; /* no limit is "max" in version 2, and a quota of -1 in version 1 */
    if (!read_two(folder, "cpu.max", NULL, &quota, &period) &&
        !read_two(folder, "cpu.cfs_quota_us", "cpu.cfs_period_us", &quota, &period))
        return count;
    if (!(quota > 0 && period > 0))
        return count;
    const double processors = ceil(quota / period);
    return processors < (double)count ? (size_t)processors : count;
}

/* Whether `word` is one of the words of a list with commas. */
static int lists(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return 1;
    return 0;
}

size_t mot_threads_available(const char *root)
{
    size_t count = 0;
#ifdef __linux__
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof own, &own) == 0) /* fails where there are more than 1024 processors */
        count = (size_t)CPU_COUNT(&own);
#endif
    if (count == 0) {
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        count = online < 1 ? 1 : online > MOST_THREADS ? MOST_THREADS : (size_t)online;
    }
    char line[4096], folder[PATH_ROOM];
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *cgroups = fopen(line, "re");
    while (cgroups && fgets(line, sizeof line, cgroups)) { /* "4:cpu,cpuacct:/path", or "0::/path" in version 2 */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        const int v2 = controllers[1] == '\0';
        if (!v2 && !lists(controllers + 1, "cpu"))
            continue;
        const int base = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, v2 ? "" : "/cpu");
        snprintf(folder + base, sizeof folder - (size_t)base, "%s", path);
        /* The groups around it count as well. In a container its own group may be the root, whatever its path says. */
        for (char *end = folder + strlen(folder); end >= folder + base; end = strrchr(folder, '/')) {
            *end = '\0';
            count = within_quota(folder, count);
        }
    }
    if (cgroups)
        fclose(cgroups);
    return count;
}

/* ---- the threads ---- */

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
