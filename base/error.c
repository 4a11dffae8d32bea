/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences for the caller, and the nearest known name. */
#include "base/error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static motley_status fail(motley_error *error, motley_status status, int line, int column, const char *format,
                          va_list arguments)
{
    if (error) {
        error->status = status;
        error->line = line;
        error->column = column;
        vsnprintf(error->message, sizeof error->message, format, arguments);
        for (char *c = error->message; *c; c++) /* names may hold newlines, and a message is one line */
            if ((unsigned char)*c < ' ')
                *c = ' ';
    }
    return status;
}

motley_status mot_fail(motley_error *error, motley_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(error, status, 0, 0, format, arguments);
    va_end(arguments);
    return status;
}

motley_status mot_fail_in(motley_error *error, motley_status status, const char *where_format, ...)
{
    if (status == MOTLEY_OK || !error)
        return status;
    const motley_error inner = *error;
    va_list arguments;
    va_start(arguments, where_format);
    const int used = vsnprintf(error->message, sizeof error->message, where_format, arguments);
    va_end(arguments);
    if (used >= 0 && (size_t)used < sizeof error->message)
        snprintf(error->message + used, sizeof error->message - (size_t)used, "%s", inner.message);
    return status;
}

motley_status mot_fail_at(motley_error *error, motley_status status, int line, int column, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(error, status, line, column, format, arguments);
    va_end(arguments);
    return status;
}

const char *motley_status_name(motley_status status)
{
    switch (status) {
    case MOTLEY_OK:
        return "OK";
    case MOTLEY_ERR_ARGUMENT:
        return "ERR_ARGUMENT";
    case MOTLEY_ERR_POLICY:
        return "ERR_POLICY";
    case MOTLEY_ERR_UNSUPPORTED:
        return "ERR_UNSUPPORTED";
    case MOTLEY_ERR_MEMORY:
        return "ERR_MEMORY";
    case MOTLEY_ERR_IO:
        return "ERR_IO";
    case MOTLEY_ERR_CUDA:
        return "ERR_CUDA";
    case MOTLEY_ERR_INTERNAL:
        return "ERR_INTERNAL";
    }
    return "UNKNOWN";
}

#define LONGEST_NAME 63 /* bytes of a name that edits() compares; it bounds its rows */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Damerau-Levenshtein distance (optimal string alignment); names longer than LONGEST_NAME are far from everything. */
static unsigned edits(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    unsigned rows[3][LONGEST_NAME + 1];
    if (n > LONGEST_NAME || m > LONGEST_NAME)
        return UINT32_MAX;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *now = rows[i % 3];
        const unsigned *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *mot_nearest_name(const char *name, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    unsigned best_edits = (unsigned)(strlen(name) / 3 + 2); /* with more edits a misspelling is unlikely */
    for (size_t i = 0; i < count; i++) {
        const unsigned distance = edits(name, candidates[i]);
        if (distance < best_edits) {
            best_edits = distance;
            best = candidates[i];
        }
    }
    return best;
}
