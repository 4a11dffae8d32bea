/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar on stderr: only on a terminal, and only once the work has taken a second. */
#include "tools/tool.h"

#include <time.h>
#include <unistd.h>

#define WIDTH 30

static struct {
    const char *what;
    size_t done, total;
    double began, drawn; /* seconds */
    bool active, visible;
} bar;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(const char *what, size_t total)
{
    bar.what = what;
    bar.done = 0;
    bar.total = total;
    bar.began = seconds();
    bar.active = total > 0 && isatty(STDERR_FILENO);
}

void progress_clear(void)
{
    if (bar.visible)
        fputs("\r\033[K", stderr);
    bar.visible = false;
    bar.drawn = 0; /* the next step draws it again */
}

void progress_step(void)
{
    bar.done++;
    const double now = bar.active ? seconds() : 0;
    if (!bar.active || now - bar.began < 1 || now - bar.drawn < 0.1)
        return;
    const int full = (int)(WIDTH * bar.done / bar.total);
    const double left = (now - bar.began) / (double)bar.done * (double)(bar.total - bar.done);
    fprintf(stderr, "\r\033[K%s [%.*s%*s] %zu of %zu, %.0f s left", bar.what, full, "##############################",
            WIDTH - full, "", bar.done, bar.total, left);
    fflush(stderr);
    bar.visible = true;
    bar.drawn = now;
}

void progress_end(void)
{
    progress_clear();
    bar.active = false;
}
