/* SPDX-License-Identifier: Apache-2.0 */
/* Params structs of callers that may be older or newer than this library. They grow at the end only, by fields that
 * begin at or after the old sizeof: what was padding holds garbage in an old caller. */
#ifndef MOT_PARAMS_H
#define MOT_PARAMS_H

#include "base/error.h"

#include <stddef.h>

/* Copies what the caller knows of a struct called `type`, which has `size` bytes here and begins with struct_size, to
 * `read`, with a struct_size of 0. The rest is zero, which means the defaults. ARGUMENT: struct_size cannot be;
 * UNSUPPORTED: the caller set what this library does not know. */
motley_status mot_params_read(void *read, size_t size, const void *params, const char *type, motley_error *error);

/* Makes `params`, a pointer to a caller's struct or NULL, point to a complete copy in this scope. */
#define MOT_READ_PARAMS(type, params, error) \
    type params##_read; \
    MOT_TRY(mot_params_read(&params##_read, sizeof params##_read, params, #type, error)); \
    params = &params##_read

#endif
