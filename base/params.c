/* SPDX-License-Identifier: Apache-2.0 */
/* See params.h. */
#include "base/params.h"

#include <string.h>

#define MAX_BYTES 4096 /* no struct will grow beyond this; a larger struct_size is uninitialised */

motley_status mot_params_read(void *read, size_t size, const void *params, const char *type, motley_error *error)
{
    memset(read, 0, size);
    if (!params)
        return MOTLEY_OK;
    size_t given;
    memcpy(&given, params, sizeof given);
    if (given == 0)
        given = size;
    MOT_REQUIRE(given >= sizeof given && given <= MAX_BYTES, error,
                "struct_size is %zu, want the size of %s (0: %zu bytes, as this library has it)", given, type, size);
    for (size_t i = size; i < given; i++)
        if (((const unsigned char *)params)[i])
            return mot_fail(
                error, MOTLEY_ERR_UNSUPPORTED,
                "byte %zu of %s is set, but this library knows %zu bytes of it: it is older than the caller", i, type,
                size);
    memcpy(read, params, given < size ? given : size);
    memset(read, 0, sizeof given);
    return MOTLEY_OK;
}
