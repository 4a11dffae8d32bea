/* SPDX-License-Identifier: Apache-2.0 */
/* What checkers of two backends share: buffers that are filled, where bytes differ, and calls that have to fail. */
#ifndef MOT_TESTS_BATCHES_H
#define MOT_TESTS_BATCHES_H

#include "tests/inputs.h"
#include "tests/test.h"

/* Fills the image of a buffer. */
static inline void buffer_fill(input_buffer *b, input_kind kind, uint64_t seed)
{
    const input_size size = { b->image.width, b->image.height };
    uint8_t *const dense = malloc((size_t)size.width * (size_t)size.height * (size_t)b->channels);
    need(dense != NULL, "no memory");
    input_fill(kind, seed, size, b->channels, dense);
    input_buffer_set(b, dense);
    free(dense);
}

typedef struct difference {
    size_t bytes, first; /* how many differ, and the first of them */
} difference;

static inline difference difference_of(const uint8_t *got, const uint8_t *wanted, size_t size)
{
    difference d = { 0 };
    for (size_t k = memcmp(got, wanted, size) ? size : 0; k-- > 0;)
        if (got[k] != wanted[k])
            d = (difference){ d.bytes + 1, k };
    return d;
}

/* Ends a line of stderr with the component that a byte of the buffer is, if it is one. */
static inline void print_component(const input_buffer *b, size_t at)
{
    for (int32_t y = 0; y < b->image.height; y++)
        for (int32_t x = 0; x < b->image.width; x++)
            for (int c = 0; c < b->channels; c++)
                if (input_at(&b->image, x, y, c) == b->bytes + at)
                    fprintf(stderr, " (x %d, y %d, channel %d)", (int)x, (int)y, c);
    fprintf(stderr, "\n");
}

/* A call has to fail with this status, and a message that has `piece` in it. */
static inline void wants_error(motley_status got, motley_status wanted, const motley_error *error, const char *piece)
{
    if (got == wanted && strstr(error->message, piece))
        return;
    fprintf(stderr, "%s: wanted %s with \"%s\", found %s: %s\n", program_invocation_short_name,
            motley_status_name(wanted), piece, motley_status_name(got), error->message);
    failures++;
}

#endif
