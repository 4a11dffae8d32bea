/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that are there in full or not at all: written under another name, renamed when done. */
#ifndef OUT_FILE_H
#define OUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct out_file {
    FILE *stream;
    const char *path; /* the caller's */
    char temporary[PATH_MAX];
    struct out_file *next; /* of those that are open, for the handler of signals */
} out_file;

/* Opens a new file beside `path`, or what is there already if that is a device or a pipe. False sets errno, and nothing
 * is left behind. Threads may have files open side by side. */
bool out_file_open(out_file *file, const char *path);

/* Closes it and gives it its name. False sets errno, and nothing is left behind. */
bool out_file_commit(out_file *file);

/* Closes it and removes it. Keeps errno. */
void out_file_discard(out_file *file);

/* From here on, SIGINT, SIGTERM and SIGHUP remove open output files before they end the process. */
void out_file_catch_signals(void);

#endif
