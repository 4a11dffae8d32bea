/* SPDX-License-Identifier: Apache-2.0 */
/* Params structs of callers that may be older or newer than this library. They grow at the end only, by fields that
 * begin at or after the old sizeof, because an older caller's padding holds garbage. */
#ifndef MOT_PARAMS_H
#define MOT_PARAMS_H

#include "base/error.h"

#include <stddef.h>

/* Copies a caller's struct of type `type`, which begins with struct_size and has `size` bytes in this library, to
 * `read`. Fields that the caller lacks become zero, which means the defaults, and struct_size becomes 0. ARGUMENT: an
 * impossible struct_size; UNSUPPORTED: the caller set a field that this library lacks. */
motley_status mot_params_read(void *read, size_t size, const void *params, const char *type, motley_error *error);

/* Makes `params`, a pointer to a caller's struct or NULL, point to a complete copy in this scope. */
#define MOT_READ_PARAMS(type, params, error) \
    type params##_read; \
    MOT_TRY(mot_params_read(&params##_read, sizeof params##_read, params, #type, error)); \
    params = &params##_read

#endif
