/* SPDX-License-Identifier: Apache-2.0 */
/* The options of checkers: `--name` alone, or with a number or a name behind it. */
#ifndef MOT_TESTS_OPTIONS_H
#define MOT_TESTS_OPTIONS_H

#include "tests/test.h"

#include <inttypes.h>
#include <string.h>

typedef struct option_row {
    const char *name;
    int64_t *number;   /* what is given, 1 of an option that takes nothing; or NULL: */
    const char **text; /* ... a name */
    const char *takes; /* for the usage; NULL: nothing */
} option_row;

/* Reads the program's options, or ends it with its usage. */
static inline void read_options(int argc, char **argv, const option_row *rows, size_t count)
{
    char usage[400];
    int used = snprintf(usage, sizeof usage, "usage: %s", program_invocation_short_name);
    for (size_t k = 0; k < count; k++)
        used += snprintf(usage + used, sizeof usage - (size_t)used, rows[k].takes ? " [--%s %s]" : " [--%s]",
                         rows[k].name, rows[k].takes);
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < count && (strncmp(argv[i], "--", 2) != 0 || strcmp(argv[i] + 2, rows[k].name) != 0))
            k++;
        need(k < count && (!rows[k].takes || i + 1 < argc), usage);
        char *end = "";
        if (!rows[k].takes)
            *rows[k].number = 1;
        else if (rows[k].text)
            *rows[k].text = argv[++i];
        else
            *rows[k].number = strtoll(argv[++i], &end, 10);
        need(*end == '\0', usage);
    }
}

#endif
