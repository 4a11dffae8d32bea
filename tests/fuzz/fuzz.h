/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the fuzz targets: an assertion that every build keeps, and functions that take values from the input. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    do { \
        if (!(condition)) \
            abort(); \
    } while (0)

/* What is left of an input. Past its end everything is 0. */
typedef struct fuzz_input {
    const uint8_t *data;
    size_t size;
} fuzz_input;

static inline void fuzz_take(fuzz_input *in, void *value, size_t bytes)
{
    const size_t n = bytes < in->size ? bytes : in->size;
    memset(value, 0, bytes);
    if (n)
        memcpy(value, in->data, n);
    in->data += n;
    in->size -= n;
}

/* A number that depends on all of an input. */
static inline uint64_t fuzz_hash(const uint8_t *data, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 1099511628211u;
    return hash;
}

static inline uint32_t fuzz_number(fuzz_input *in, uint32_t below)
{
    uint16_t word;
    fuzz_take(in, &word, sizeof word);
    return word % below;
}

/* Gives each of n square images two boxes, the whole image and its middle. boxes: [2 * n][4], offsets: [n + 1]. */
static inline void fuzz_boxes(const int32_t *sides, size_t n, double (*boxes)[4], size_t *offsets)
{
    for (size_t i = 0; i < 2 * n; i++)
        for (int k = 0; k < 4; k++)
            boxes[i][k] = sides[i / 2] * (i % 2 ? (k < 2 ? 0.25 : 0.75) : k / 2);
    for (size_t i = 0; i <= n; i++)
        offsets[i] = 2 * i;
}

#endif
