/* SPDX-License-Identifier: Apache-2.0 */
/* See file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

motley_status mot_file_open(const char *path, FILE **file, motley_error *error)
{
    struct stat info;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &info) != 0) {
        const int code = errno;
        if (descriptor >= 0)
            close(descriptor);
        return mot_fail(error, MOTLEY_ERR_IO, "cannot open %.150s: %s", path, strerror(code));
    }
    struct pollfd input = { .fd = descriptor, .events = POLLIN };
    char first = 0;
    ssize_t early = -1;
    if (S_ISFIFO(info.st_mode) && poll(&input, 1, 0) == 0) /* nobody writes to it, or nothing was written yet */
        early = read(descriptor, &first, 1);
    if (early == 0) {
        close(descriptor);
        return mot_fail(error, MOTLEY_ERR_IO, "%.150s is a pipe that nobody writes to", path);
    }
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    *file = fdopen(descriptor, "rb");
    if (*file && early == 1)
        ungetc(first, *file);
    if (*file)
        return MOTLEY_OK;
    close(descriptor);
    return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory to read %.150s", path);
}
