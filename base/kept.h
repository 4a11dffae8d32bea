/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that stays for the next call: it only grows, so that in steady state a call allocates nothing. */
#ifndef MOT_KEPT_H
#define MOT_KEPT_H

#include "base/error.h"

#include <stddef.h>

typedef struct mot_kept {
    void *memory; /* whose owner frees it */
    size_t bytes;
} mot_kept;

/* Grows it to `bytes`, for the steps of `images` images; its contents are lost. */
motley_status mot_keep(mot_kept *kept, size_t bytes, size_t images, motley_error *error);

#endif
