/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes motley_op_apply: any op, size, strides, values and fill are refused with a sentence, or leave the reference's
 * bytes, and no byte outside the image. Buffers end where the image ends, for the address sanitizer. */
#include "motley.h"
#include "tests/fuzz/fuzz.h"

#define MAX_SIDE 70
#define MAX_EXTENT (1 << 16)

/* What the fuzzer chooses. Strides are small numbers: of all 64 bit ones nearly none makes an image. */
typedef struct choice {
    uint8_t op, channels, width, height, interpolation, in_place, values_count, swap;
    uint8_t fill[4];
    int16_t src_strides[3], dst_strides[3]; /* row, pixel, channel; all 0: dense */
    double values[MOTLEY_MAX_VALUES];
} choice;

static motley_context *open_context(motley_backend backend)
{
    motley_context *context;
    MUST(motley_context_create(&(motley_context_params){ .backend = backend, .threads = 1 }, &context, NULL) ==
         MOTLEY_OK);
    return context;
}

/* An image in memory of exactly its extent, filled from `bytes`; *memory is NULL when it would be too large. */
static motley_image make_image(const choice *c, int channels, const int16_t strides[3], const uint8_t *bytes,
                               size_t bytes_count, uint8_t **memory, size_t *extent)
{
    motley_image im = { .width = c->width % MAX_SIDE + 1, .height = c->height % MAX_SIDE + 1 };
    im.row_stride = strides[0], im.pixel_stride = strides[1], im.channel_stride = strides[2];
    if (!strides[0] && !strides[1] && !strides[2]) {
        im.pixel_stride = c->swap & 1 ? 1 : channels;
        im.channel_stride = c->swap & 1 ? (int64_t)im.width * im.height : 1;
        im.row_stride = im.pixel_stride * im.width;
    }
    const int64_t ends[3] = { (im.height - 1) * im.row_stride, (im.width - 1) * im.pixel_stride,
                              (channels - 1) * im.channel_stride };
    int64_t low = 0, high = 0;
    for (int i = 0; i < 3; i++)
        *(ends[i] < 0 ? &low : &high) += ends[i];
    *extent = (size_t)(high - low + 1);
    *memory = *extent <= MAX_EXTENT ? malloc(*extent) : NULL;
    for (size_t i = 0; *memory && i < *extent; i++)
        (*memory)[i] = bytes_count ? bytes[i % bytes_count] : (uint8_t)i;
    im.data = *memory ? *memory - low : NULL;
    return im;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static motley_context *cpu, *reference;
    if (!cpu) {
        cpu = open_context(MOTLEY_BACKEND_CPU);
        reference = open_context(MOTLEY_BACKEND_REFERENCE);
    }
    choice c;
    if (size < sizeof c)
        return 0;
    memcpy(&c, data, sizeof c);
    data += sizeof c, size -= sizeof c;
    const int op = c.op % motley_op_count(), channels = c.channels % 4 + 1, in_place = c.in_place & 1;
    const int alpha = channels % 2 == 0 && c.channels / 4 % 2;
    const motley_op_info *info = motley_op_get(op);
    const int count = info->values_min + c.values_count % (info->values_max - info->values_min + 1);
    if (info->shape == MOTLEY_SHAPE_BLUR && !(c.values[0] < 100))
        return 0; /* the reference sums every box from scratch */
    uint8_t *memory[3];
    size_t extent[3];
    motley_image image[3];
    image[0] = make_image(&c, channels, c.src_strides, data, size, &memory[0], &extent[0]);
    for (int i = 1; i < 3; i++)
        image[i] =
            make_image(&c, channels, in_place ? c.src_strides : c.dst_strides, data, size, &memory[i], &extent[i]);
    if (memory[0] && memory[1] && memory[2]) {
        const double fill[4] = { c.fill[0], c.fill[1], c.fill[2], c.fill[3] };
        const motley_op_params params = { .interpolation = (motley_interpolation)(c.interpolation % 3), .fill = fill };
        motley_status status[2];
        for (int i = 1; i < 3; i++) {
            const motley_batch src = {
                .count = 1, .channels = channels, .alpha = alpha, .images = &image[in_place ? i : 0]
            };
            const motley_batch dst = { .count = 1, .channels = channels, .alpha = alpha, .images = &image[i] };
            motley_error error = { 0 };
            status[i - 1] = motley_op_apply(i == 1 ? cpu : reference, op, c.values, count, &src, &dst, &params, &error);
            MUST(status[i - 1] == MOTLEY_OK || (error.status == status[i - 1] && error.message[0]));
        }
        MUST(status[0] == status[1]);
        MUST(memcmp(memory[1], memory[2], extent[1]) == 0);
    }
    for (int i = 0; i < 3; i++)
        free(memory[i]);
    return 0;
}
