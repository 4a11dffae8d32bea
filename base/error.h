/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in a motley_error; used by every folder whose functions can fail. */
#ifndef MOT_ERROR_H
#define MOT_ERROR_H

#include "motley/status.h"

#include <stddef.h>

/* Writes the sentence (cut, never overrun) and returns `status`. `error` may be NULL. */
motley_status mot_fail(motley_error *error, motley_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, at a place in a policy's text. */
motley_status mot_fail_at(motley_error *error, motley_status status, int line, int column, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Prefixes the message of a call that returned `status` with the place of the error, unless it is MOTLEY_OK. Returns
 * `status`. */
motley_status mot_fail_in(motley_error *error, motley_status status, const char *where_format, ...)
    __attribute__((format(printf, 3, 4)));

#define MOT_TRY(call) \
    do { \
        motley_status status_ = (call); \
        if (status_ != MOTLEY_OK) \
            return status_; \
    } while (0)

#define MOT_REQUIRE(condition, error, ...) \
    do { \
        if (!(condition)) \
            return mot_fail((error), MOTLEY_ERR_ARGUMENT, __VA_ARGS__); \
    } while (0)

/* The candidate nearest to `name` in edits (insert, delete, replace, swap), or NULL when none is near. */
const char *mot_nearest_name(const char *name, const char *const *candidates, size_t count);

#endif
