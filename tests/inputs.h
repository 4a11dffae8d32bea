/* SPDX-License-Identifier: Apache-2.0 */
/* Nasty inputs for tests and benchmarks: sizes, contents, strides, values, and buffers whose every byte is known. */
#ifndef MOT_INPUTS_H
#define MOT_INPUTS_H

#include "motley.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Whether a policy mixes chains of ops, as its text says. */
static inline int mixes_chains(const motley_policy *policy)
{
    char *text = NULL;
    const int mixes =
        motley_policy_print(policy, MOTLEY_PRINT_TEXT, &text, NULL) == MOTLEY_OK && strstr(text, "\naugmix: ") != NULL;
    free(text);
    return mixes;
}

/* The most steps of an image with so many boxes. */
static inline size_t input_most_steps(const motley_policy *policy, size_t boxes)
{
    const motley_policy_info *const info = motley_policy_describe(policy);
    return info->max_steps * (info->takes_boxes && boxes > 1 ? boxes : 1);
}

/* A small generator (splitmix64) that gives the same numbers everywhere, so that a failing case can be repeated. */
static inline uint64_t input_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline double input_between(uint64_t *state, double low, double high)
{
    return low + (high - low) * ((double)(input_random(state) >> 11) * 0x1p-53);
}

typedef struct input_size {
    int32_t width, height;
} input_size;

/* Sizes at which loops begin, end or have nothing to do; the last ones are for few values only. */
static const input_size input_sizes[] = { { 1, 1 },   { 1, 5 },   { 2, 3 },   { 3, 3 },   { 31, 2 },    { 32, 5 },
                                          { 33, 31 }, { 257, 3 }, { 65, 66 }, { 64, 48 }, { 224, 224 }, { 1025, 769 } };
#define INPUT_SIZES (sizeof input_sizes / sizeof input_sizes[0])
#define INPUT_SMALL_SIZES (INPUT_SIZES - 2)

typedef enum input_kind {
    INPUT_NOISE,
    INPUT_EXTREMES, /* mostly 0 and 255 */
    INPUT_RAMP,
    INPUT_FLAT,
    INPUT_NARROW, /* few levels, around a third */
    INPUT_KINDS
} input_kind;

static inline uint8_t input_sample(input_kind kind, uint64_t *state, int32_t x, int32_t y, int c)
{
    const uint64_t r = input_random(state);
    switch (kind) {
    case INPUT_NOISE:
        return (uint8_t)r;
    case INPUT_EXTREMES:
        return r % 8 == 0 ? (uint8_t)(r >> 8) : (uint8_t)(r & 16 ? 255 : 0);
    case INPUT_RAMP:
        return (uint8_t)((x * (c + 1) + y * 3) & 255);
    case INPUT_FLAT:
        return (uint8_t)(77 + 60 * c);
    default:
        return (uint8_t)(80 + r % 9 + (unsigned)c);
    }
}

/* Fills an image with dense components, [height][width][channels]. */
static inline void input_fill(input_kind kind, uint64_t seed, input_size size, int channels, uint8_t *out)
{
    for (int32_t y = 0; y < size.height; y++)
        for (int32_t x = 0; x < size.width; x++)
            for (int c = 0; c < channels; c++)
                *out++ = input_sample(kind, &seed, x, y, c);
}

/* Ways to lay an image out. */
typedef enum input_layout {
    INPUT_PACKED,
    INPUT_PLANAR,
    INPUT_PADDED,    /* packed, rows an odd number of bytes apart */
    INPUT_UPWARDS,   /* packed, negative row stride */
    INPUT_UNALIGNED, /* packed, at an odd address */
    INPUT_PLANAR_PADDED,
    INPUT_PLANAR_UPWARDS,
    INPUT_REVERSED,   /* BGR: negative channel stride */
    INPUT_WIDE,       /* a byte between pixels */
    INPUT_TRANSPOSED, /* columns are contiguous */
    INPUT_LAYOUTS
} input_layout;

static const char *const input_layout_names[INPUT_LAYOUTS] = { "packed",         "planar",    "padded",
                                                               "upwards",        "unaligned", "planar-padded",
                                                               "planar-upwards", "reversed",  "wide",
                                                               "transposed" };

#define INPUT_CANARY 96 /* known bytes before and after an image */

/* An image in a buffer of known bytes. */
typedef struct input_buffer {
    uint8_t *bytes;
    size_t size;
    motley_image image;
    int channels;
} input_buffer;

/* False when there is no memory. */
static inline int input_buffer_make(input_buffer *b, input_layout layout, input_size size, int channels)
{
    const int64_t w = size.width, h = size.height, n = channels;
    motley_image im = { .width = size.width, .height = size.height };
    const int64_t pad = layout == INPUT_PADDED || layout == INPUT_PLANAR_PADDED ? 5 : 0;
    int64_t first = INPUT_CANARY, extent;
    switch (layout) {
    case INPUT_PLANAR:
    case INPUT_PLANAR_PADDED:
    case INPUT_PLANAR_UPWARDS:
        im.pixel_stride = 1;
        im.row_stride = w + pad;
        im.channel_stride = im.row_stride * h + (layout == INPUT_PLANAR ? 0 : 7);
        extent = im.channel_stride * n;
        break;
    case INPUT_WIDE:
        im.pixel_stride = n + 1;
        im.row_stride = im.pixel_stride * w;
        im.channel_stride = 1;
        extent = im.row_stride * h;
        break;
    case INPUT_TRANSPOSED:
        im.row_stride = n;
        im.pixel_stride = n * h;
        im.channel_stride = 1;
        extent = im.pixel_stride * w;
        break;
    default:
        im.pixel_stride = n;
        im.row_stride = n * w + pad;
        im.channel_stride = 1;
        extent = im.row_stride * h;
    }
    if (layout == INPUT_UNALIGNED)
        first += 1;
    if (layout == INPUT_UPWARDS || layout == INPUT_PLANAR_UPWARDS) {
        first += im.row_stride * (h - 1);
        im.row_stride = -im.row_stride;
    }
    if (layout == INPUT_REVERSED) {
        first += n - 1;
        im.channel_stride = -1;
    }
    b->size = (size_t)(extent + 2 * INPUT_CANARY + 1);
    b->bytes = malloc(b->size);
    b->channels = channels;
    if (!b->bytes)
        return 0;
    im.data = b->bytes + first;
    b->image = im;
    for (size_t i = 0; i < b->size; i++)
        b->bytes[i] = (uint8_t)(0xA5 ^ (i * 7));
    return 1;
}

static inline uint8_t *input_at(const motley_image *im, int32_t x, int32_t y, int c)
{
    return (uint8_t *)im->data + y * im->row_stride + x * im->pixel_stride + c * im->channel_stride;
}

/* Writes dense components into the image. */
static inline void input_buffer_set(input_buffer *b, const uint8_t *dense)
{
    const motley_image *im = &b->image;
    const size_t row_bytes = (size_t)im->width * (size_t)b->channels;
    const int packed = im->channel_stride == 1 && im->pixel_stride == b->channels;
    for (int32_t y = 0; y < im->height; y++, dense += row_bytes) {
        if (packed)
            memcpy(input_at(im, 0, y, 0), dense, row_bytes);
        for (int c = 0; c < b->channels && !packed; c++)
            for (int32_t x = 0; x < im->width; x++)
                *input_at(im, x, y, c) = dense[(size_t)x * (size_t)b->channels + (size_t)c];
    }
}

static inline motley_batch input_batch(const input_buffer *b)
{
    return (motley_batch){ .count = 1, .channels = b->channels, .images = &b->image };
}

/* Values of an op worth trying: the ends of its range, what changes nothing, the magnitudes that published policies
 * use (decimals just off a short fraction, where one rounding too few shows), and random ones. */
static inline int input_values(const motley_op_info *info, uint64_t seed, int count,
                               double (*values)[MOTLEY_MAX_VALUES])
{
    static const double published[] = { 0,    1,   0.03, -0.06, 0.3, -0.3, 0.1, 0.55, 1.9, 1.2, 1.45, 0.9, 2,   4,
                                        -1.5, 6.5, 9,    -9,    30,  -30,  45,  90,   135, 180, 270,  128, 110, 255 };
    static const double matrices[][6] = { { 1, 0, 0, 0, 1, 0 },
                                          { 1, 0, 5, 0, 1, -3 },
                                          { 1, 0, 2.3, 0, 1, -1.7 },
                                          { 1, 0.03, 0, 0, 1, 0 },
                                          { 1, 0, 0, -0.06, 1, 0 },
                                          { 2, 0, 1, 0, 0.3, 0 },
                                          { -1, 0, 31, 0, -1, 31 },
                                          { 0.5, 0.2, 3, -0.1, 1.5, -4 },
                                          { 0, -1, 33, 1, 0, 0 },
                                          { 0.9, -0.4, 0, 0.4, 0.9, -2 },
                                          { 1000, 3, -40000, 7, 1, 2 },
                                          { 1e9, 1, -1e9, 1, 1e9, 0 },
                                          { 1, 0, 0.5 - 0x1p-49 - 0x1p-52, 0, 1, 0 },
                                          { 1, -0.4, 2.25, 0, 1, 3 },
                                          { 1, 0, -2, 0.7, -1.2, 30 },
                                          { 1, 0, 3, -0.01, 2.5, -7.5 },
                                          /* rounding moves columns by different steps */
                                          { 1, 0, -0x1p-50, 0, 1, 0 } };
    int n = 0;
    if (info->values_max == 0) {
        if (count > 0)
            values[n++][0] = 0;
        return n;
    }
    memset(values, 0, (size_t)count * sizeof *values);
    if (info->values_min == 6) {
        for (size_t i = 0; i < sizeof matrices / sizeof matrices[0] && n < count; i++, n++)
            memcpy(values[n], matrices[i], sizeof matrices[i]);
        for (; n < count; n++)
            for (int k = 0; k < 6; k++)
                values[n][k] = k % 3 == 2 ? input_between(&seed, -40, 40) : input_between(&seed, -2, 2);
        return n;
    }
    const double own[] = { info->neutral, info->example, info->minimum, info->maximum };
    for (size_t i = 0; i < sizeof own / sizeof own[0] && n < count; i++)
        if (own[i] == own[i])
            values[n++][0] = own[i];
    for (size_t i = 0; i < sizeof published / sizeof published[0] && n < count; i++)
        if (published[i] >= info->minimum && published[i] <= info->maximum)
            values[n++][0] = published[i];
    const double low = info->minimum < -300 ? -300 : info->minimum, high = info->maximum > 300 ? 300 : info->maximum;
    for (; n < count; n++)
        values[n][0] = input_between(&seed, low, high);
    for (int i = 0; i < n && info->whole; i++)
        values[i][0] = floor(values[i][0]);
    for (int i = 0; i < n; i++) /* second and third values: a threshold, or a centre */
        for (int k = 1; k < info->values_max; k++)
            values[i][k] = input_between(&seed, info->shape == MOTLEY_SHAPE_ERASE ? -20 : 0, 260);
    return n;
}

/* Two boxes in each of `count` images of this size, for policies that take them. */
static inline void input_boxes(motley_samples *samples, double *boxes, size_t *offsets, size_t count, int32_t width,
                               int32_t height)
{
    for (size_t i = 0; i < count; i++) {
        const double w = width, h = height, shift = (double)(i % 7) / 16;
        const double two[8] = { w * shift, h * 0.1, w * (shift + 0.5), h * 0.8, w * 0.4, h * shift, w * 0.9, h };
        memcpy(boxes + 8 * i, two, sizeof two);
        offsets[i] = 2 * i;
    }
    offsets[count] = 2 * count;
    samples->boxes = boxes;
    samples->box_offsets = offsets;
}

/* The i-th built-in policy with stages, or without; and how many there are. */
static inline const motley_builtin *input_builtin(bool staged, size_t i)
{
    const motley_builtin *row;
    for (size_t k = 0; (row = motley_policy_builtin_get(k)); k++)
        if (!row->has_stages == !staged && i-- == 0)
            break;
    return row;
}

static inline size_t input_builtins(bool staged)
{
    size_t count = 0;
    while (input_builtin(staged, count))
        count++;
    return count;
}

#endif
