/* SPDX-License-Identifier: Apache-2.0 */
/* See kept.h. */
#include "base/kept.h"

#include <stdlib.h>

motley_status mot_keep(mot_kept *kept, size_t bytes, size_t images, motley_error *error)
{
    if (bytes <= kept->bytes)
        return MOTLEY_OK;
    free(kept->memory);
    kept->bytes = 0;
    kept->memory = malloc(bytes);
    if (!kept->memory)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the steps of %zu images", images);
    kept->bytes = bytes;
    return MOTLEY_OK;
}
