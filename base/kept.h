/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that stays for the next call: it only grows, so that in steady state a call allocates nothing. */
#ifndef MOT_KEPT_H
#define MOT_KEPT_H

#include "base/error.h"

#include <stddef.h>

typedef struct mot_kept {
    void *memory; /* freed by the owner of this struct */
    size_t bytes;
} mot_kept;

/* Grows the memory to `bytes`; its contents are lost. `images`: how many the error message names. */
motley_status mot_keep(mot_kept *kept, size_t bytes, size_t images, motley_error *error);

#endif
