/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that exist either completely or not at all: written under another name, and renamed when done. */
#ifndef OUT_FILE_H
#define OUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct out_file {
    FILE *stream;
    const char *path;      /* the caller's, or `target` */
    char target[PATH_MAX]; /* an existing file's path without links, so that a link is followed, not replaced */
    char temporary[PATH_MAX];
    struct out_file *next; /* in the list of open files, for the signal handler */
} out_file;

/* Opens a new file in the folder of `path`, or `path` itself if it is a device or a pipe. False sets errno, and nothing
 * is left behind. Threads may call it concurrently. */
bool out_file_open(out_file *file, const char *path);

/* Closes a file and renames it to its path. False sets errno, and nothing is left behind. */
bool out_file_commit(out_file *file);

/* Closes and removes a file. Keeps errno. */
void out_file_discard(out_file *file);

/* Removes output files that are still open, where the process exits. */
void out_file_end(void);

/* From now on, SIGINT, SIGTERM and SIGHUP remove open output files before they end the process. */
void out_file_catch_signals(void);

#endif
