/* SPDX-License-Identifier: Apache-2.0 */
/* What lies where in a context's memory: the arrays that a call has laid out (dispatch/cuda/pool.h), each with the bits
 * by which kernels name it. */
#ifndef MOT_ARRAYS_H
#define MOT_ARRAYS_H

#include "dispatch/cuda/pool.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_ARRAYS 4096 /* resized images of mixed sizes are one each */

typedef struct array {
    unsigned memory;
    uint8_t *begin, *end;
} array;

static array arrays[MOST_ARRAYS];
static size_t arrays_count;

static void drop_arrays(const uint8_t *begin, const uint8_t *end)
{
    size_t kept = 0;
    for (size_t i = 0; i < arrays_count; i++)
        if (arrays[i].end <= begin || arrays[i].begin >= end)
            arrays[kept++] = arrays[i];
    arrays_count = kept;
}

/* Adds an array, in place of earlier ones that it overlaps: of a job that has run. */
static void add_array(unsigned memory, uint8_t *begin, size_t bytes)
{
    drop_arrays(begin, begin + bytes);
    if (bytes == 0)
        return;
    if (arrays_count == MOST_ARRAYS) {
        fprintf(stderr, "emulate: a call has more than %d arrays of memory\n", MOST_ARRAYS);
        exit(2);
    }
    arrays[arrays_count++] = (array){ memory, begin, begin + bytes };
}

#endif
