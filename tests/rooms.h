/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of one size at any address, with any strides, in the middle of other bytes that no call may change. */
#ifndef MOT_TESTS_ROOMS_H
#define MOT_TESTS_ROOMS_H

#include "tests/inputs.h"

#include <motley.h>

static const size_t room_bytes[] = { 1, 4, 2, 2 }; /* of a component, by dtype */

typedef struct room {
    uint8_t *bytes;
    size_t size;
    motley_batch batch;
    uint8_t *data; /* of the first image; and the strides, which the batch may leave out */
    int64_t image, row, pixel, channel;
} room;

/* Strides are dense half of the time. */
static inline room room_make(uint64_t *random, size_t count, input_size size, int channels, motley_dtype dtype)
{
    enum { GUARD = 64 };
    const int64_t one = (int64_t)room_bytes[dtype];
    const int planes = input_random(random) & 1, dense = input_random(random) & 1;
    const int64_t shift = input_random(random) & 1 ? 0 : one * (int64_t)(input_random(random) % 4);
    int64_t gap[4]; /* components between others */
    for (int k = 0; k < 4; k++)
        gap[k] = dense ? 0 : one * (int64_t)(input_random(random) % (uint64_t)(2 + k));
    room r = { .batch = { .count = count,
                          .channels = channels,
                          .dtype = dtype,
                          .width = size.width,
                          .height = size.height,
                          .layout = planes ? MOTLEY_CHW : MOTLEY_HWC } };
    r.pixel = one * (planes ? 1 : channels) + gap[0];
    r.row = r.pixel * size.width + gap[1];
    r.channel = planes ? r.row * size.height + gap[2] : one;
    r.image = (planes ? r.channel * channels : r.row * size.height) + gap[3];
    r.size = ((size_t)r.image * count + 2 * GUARD + 16 + 63) & ~(size_t)63;
    r.bytes = aligned_alloc(64, r.size);
    if (!r.bytes)
        abort();
    for (size_t i = 0; i < r.size; i++)
        r.bytes[i] = (uint8_t)input_random(random);
    r.data = r.bytes + GUARD + shift;
    if (!dense) { /* from the last image, row or channel on */
        int64_t *const strides[] = { &r.image, &r.row, &r.channel };
        const int64_t steps[] = { count ? (int64_t)count - 1 : 0, size.height - 1, channels - 1 };
        for (int k = 0; k < 3; k++)
            if (input_random(random) % 3 == 0) {
                r.data += steps[k] * *strides[k];
                *strides[k] = -*strides[k];
            }
        r.batch.image_stride = r.image, r.batch.row_stride = r.row;
        r.batch.pixel_stride = r.pixel, r.batch.channel_stride = r.channel;
    }
    r.batch.data = r.data;
    return r;
}

static inline uint8_t *room_component(const room *r, size_t i, int x, int y, int c)
{
    return r->data + (int64_t)i * r->image + y * r->row + x * r->pixel + c * r->channel;
}

static inline uint8_t *room_copy(const room *r)
{
    uint8_t *const copy = malloc(r->size);
    if (!copy)
        abort();
    memcpy(copy, r->bytes, r->size);
    return copy;
}

#endif
