/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that hash the results of built-ins on fixed inputs, a line each, and compare the lines with a golden
 * file:
 *
 *     PROGRAM cpu|reference|cuda FILE [--require] [--every N]     compares with FILE, of its lines the first of each N
 *     PROGRAM cpu > FILE                                          rewrites it
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. */
#ifndef MOT_HASHES_H
#define MOT_HASHES_H

#include "tests/sweep.h"

#include <motley.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASHES_SKIPPED 77
#define HASHES_LINE 128
#define HASHES_MOST 1024

/* FNV-1a. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return hash;
}
#define HASH_BEGIN 14695981039346656037u

/* What is hashed: line i of `count`; false after a message. A line that is left out is not compared. */
typedef struct hashes {
    size_t count;
    bool (*line)(motley_context *context, size_t i, char line[HASHES_LINE]);
} hashes;

static int hash_differences(const char *program, const char *path, char (*got)[HASHES_LINE], size_t count)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return 1;
    }
    int wrong = 0;
    char line[HASHES_LINE];
    for (size_t i = 0; i < count; i++) {
        if (!fgets(line, sizeof line, file))
            strcpy(line, "no line\n");
        if (*got[i] && strcmp(line, got[i]) != 0) {
            fprintf(stderr, "%s: %s has %.80sthis library gives %s", program, path, line, got[i]);
            wrong++;
        }
    }
    if (fgets(line, sizeof line, file)) {
        fprintf(stderr, "%s: %s goes on with %s", program, path, line);
        wrong++;
    }
    fclose(file);
    return wrong;
}

static int hashes_main(const hashes *what, int argc, char **argv)
{
    const char *const backend = argc > 1 ? argv[1] : "";
    const motley_context_params params = { .backend = !strcmp(backend, "cuda")        ? MOTLEY_BACKEND_CUDA
                                                      : !strcmp(backend, "reference") ? MOTLEY_BACKEND_REFERENCE
                                                                                      : MOTLEY_BACKEND_CPU };
    bool require = false;
    size_t every = 1;
    for (int i = 3; i < argc; i++) {
        require = require || !strcmp(argv[i], "--require");
        if (!strcmp(argv[i], "--every") && i + 1 < argc)
            every = strtoul(argv[++i], NULL, 10);
    }
    motley_context *context;
    motley_error error;
    if (motley_context_create(&params, &context, &error) != MOTLEY_OK) {
        fprintf(stderr, "%s: %s\n", argv[0], error.message);
        return params.backend == MOTLEY_BACKEND_CUDA && !require ? HASHES_SKIPPED : 1;
    }
    static char lines[HASHES_MOST][HASHES_LINE];
    int status = what->count > HASHES_MOST || every == 0;
    for (size_t i = 0; i < what->count && !status; i += every) {
        status = !what->line(context, i, lines[i]);
        if (argc < 3)
            fputs(lines[i], stdout);
    }
    motley_context_destroy(context);
    if (argc > 2)
        left_out((what->count + every - 1) / every, what->count, "lines");
    if (argc > 2 && !status)
        status = hash_differences(argv[0], argv[2], lines, what->count) > 0;
    return status;
}

#endif
