/* SPDX-License-Identifier: Apache-2.0 */
/* Write, then rename. */
#include "tools/out_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static out_file *volatile open_files;

/* Signals wait while the list changes, so that the handler sees no half of a change. */
static void block(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(how, &set, NULL);
}

static void forget(out_file *file)
{
    block(SIG_BLOCK);
    out_file *before = open_files;
    if (before == file)
        open_files = file->next;
    else {
        while (before->next != file)
            before = before->next;
        before->next = file->next;
    }
    block(SIG_UNBLOCK);
}

bool out_file_open(out_file *file, const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { /* a rename would replace a device by a file */
        errno = S_ISDIR(info.st_mode) ? EISDIR : EEXIST;
        return false;
    }
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash - path) + 1 : 0;
    if (snprintf(file->temporary, sizeof file->temporary, "%.*s.motley-XXXXXX", folder, path) >=
        (int)sizeof file->temporary) {
        errno = ENAMETOOLONG;
        return false;
    }
    file->path = path;
    block(SIG_BLOCK);
    const int descriptor = mkstemp(file->temporary);
    if (descriptor >= 0) {
        file->next = open_files;
        open_files = file;
    }
    block(SIG_UNBLOCK);
    if (descriptor < 0)
        return false;
    const mode_t mask = umask(0);
    umask(mask);
    file->stream = fdopen(descriptor, "wb");
    if (file->stream && fchmod(descriptor, 0666 & ~mask) == 0)
        return true;
    if (!file->stream)
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
    if (!failed && code == 0 && rename(file->temporary, file->path) == 0) {
        forget(file);
        return true;
    }
    out_file_discard(file);
    return false;
}

void out_file_discard(out_file *file)
{
    const int saved = errno;
    if (file->stream)
        fclose(file->stream);
    file->stream = NULL;
    unlink(file->temporary);
    forget(file);
    errno = saved;
}

static void remove_and_end(int number)
{
    for (out_file *file = open_files; file; file = file->next)
        unlink(file->temporary);
    signal(number, SIG_DFL);
    raise(number);
}

void out_file_catch_signals(void)
{
    const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    for (int i = 0; i < 3; i++)
        if (signal(numbers[i], remove_and_end) == SIG_IGN) /* as nohup wants it */
            signal(numbers[i], SIG_IGN);
}
