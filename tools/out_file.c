/* SPDX-License-Identifier: Apache-2.0 */
/* See out_file.h. A file is written under a temporary name, then renamed. */
#include "tools/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The open files, and the lock of this list. A signal handler takes the lock and never releases it, so that no file can
 * be opened after the others were removed. It runs on the main thread only, because other threads block signals
 * (tools/parallel.h), and the main thread blocks them while it holds the lock. */
static out_file *open_files;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void take_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        sched_yield();
}

static sigset_t lock(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    take_lock();
    return before;
}

static void unlock(sigset_t before)
{
    atomic_flag_clear_explicit(&busy, memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* With the lock held. */
static void forget(const out_file *file)
{
    out_file **at = &open_files;
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
}

/* Opens a device or a pipe itself, because no new file can replace it. */
static bool open_in_place(out_file *file, const char *path)
{
    const int descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC); /* does not wait for a pipe's reader */
    file->path = path;
    *file->temporary = '\0';
    if (descriptor < 0)
        return false;
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    file->stream = fdopen(descriptor, "wb");
    if (!file->stream)
        close(descriptor);
    return file->stream != NULL;
}

/* The new file's descriptor, with the mode that new files have here, or -1. */
static int create(out_file *file)
{
    const sigset_t before = lock();
    const mode_t mask = umask(0); /* shared by the whole process, so this needs the lock */
    umask(mask);
    const int descriptor = mkstemp(file->temporary);
    if (descriptor >= 0) {
        file->next = open_files;
        open_files = file;
    }
    unlock(before);
    if (descriptor >= 0)
        fchmod(descriptor, 0666 & ~mask);
    return descriptor;
}

bool out_file_open(out_file *file, const char *path)
{
    struct stat info;
    file->stream = NULL;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            errno = EISDIR;
            return false;
        }
        if (!S_ISREG(info.st_mode) || !realpath(path, file->target)) /* the latter of a deleted file: /dev/stdout */
            return open_in_place(file, path);
        path = file->target;
    }
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash - path) + 1 : 0;
    if (snprintf(file->temporary, sizeof file->temporary, "%.*s.motley-XXXXXX", folder, path) >=
        (int)sizeof file->temporary) {
        errno = ENAMETOOLONG;
        return false;
    }
    file->path = path;
    const int descriptor = create(file);
    if (descriptor < 0)
        return false;
    file->stream = fdopen(descriptor, "wb");
    if (file->stream)
        return true;
    close(descriptor);
    out_file_discard(file);
    return false;
}

bool out_file_commit(out_file *file)
{
    const bool failed = ferror(file->stream);
    const int code = fclose(file->stream);
    file->stream = NULL;
    if (failed && code == 0)
        errno = EIO;
    if (failed || code != 0) {
        out_file_discard(file);
        return false;
    }
    if (!*file->temporary)
        return true;
    const sigset_t before = lock();
    const bool good = rename(file->temporary, file->path) == 0;
    if (good)
        forget(file);
    unlock(before);
    if (!good)
        out_file_discard(file);
    return good;
}

void out_file_discard(out_file *file)
{
    const int saved = errno;
    if (file->stream)
        fclose(file->stream);
    file->stream = NULL;
    if (*file->temporary) {
        const sigset_t before = lock();
        unlink(file->temporary);
        forget(file);
        unlock(before);
    }
    errno = saved;
}

static void remove_all(void)
{
    for (out_file *file = open_files; file; file = file->next)
        unlink(file->temporary);
}

void out_file_end(void)
{
    const sigset_t before = lock();
    remove_all();
    unlock(before);
}

static void remove_and_end(int number)
{
    take_lock();
    remove_all();
    signal(number, SIG_DFL);
    raise(number);
}

void out_file_catch_signals(void)
{
    const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    for (int i = 0; i < 3; i++)
        if (signal(numbers[i], remove_and_end) == SIG_IGN) /* set by nohup, for example */
            signal(numbers[i], SIG_IGN);
}
