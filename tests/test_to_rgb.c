/* SPDX-License-Identifier: Apache-2.0 */
/* The stage to_rgb on any backend: lists that mix grey, grey with alpha, RGB and RGBA, packed and in planes, and
 * batches of one kind, against the same stages without to_rgb on images that were converted here. Draws must be equal,
 * too, and give the same bytes when they are given. bindings/python/tests/test_to_rgb.py compares with Pillow.
 *
 *     test_to_rgb cpu|cuda [--require]
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. */
#include "tests/contexts.h"
#include "tests/inputs.h"

#include <motley.h>
#include <stdio.h>

#define TURNS 60
#define MOST_IMAGES 12
#define MOST_SIDE 130
#define MOST_STEPS 64
#define SOURCE_BYTES ((size_t)MOST_IMAGES * 4 * (MOST_SIDE + 3) * MOST_SIDE)
#define RGB_BYTES ((size_t)MOST_IMAGES * 3 * MOST_SIDE * MOST_SIDE)

static motley_context *context, *other; /* `other` works on the host's memory */

#define HEAD "motley: 1\nname: x\nstages:\n"
static const char *const texts[] = {
    "",
    "  - flip: {horizontal: 0.5, vertical: 0.5}\n",
    "  - random_resized_crop: {size: [31, 43], filter: [bilinear, bicubic, nearest]}\n"
    "  - flip: {horizontal: 0.5}\n  - policy: rand_augment\n"
    "  - output: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}\n  - erase: {p: 0.5, value: pixel}\n",
    "  - random_crop: {size: 24, padding: 12}\n  - jitter: {brightness: [0.5, 1.5], saturation: [0.5, 1.5], "
    "hue: [-0.4, 0.4]}\n  - grayscale: {p: 0.2}\n",
    "  - resize: {size: [50, 40], filter: lanczos}\n  - policy: {name: trivial_augment_wide, fill: [200, 20, 90]}\n"
    "  - blur: {p: 0.5, kernel_size: 9, sigma: [0.1, 2]}\n  - output: {type: f16}\n",
    "  - policy: augmix\n  - output: {}\n",
};
#define TEXTS (sizeof texts / sizeof *texts)
static motley_policy *with[TEXTS], *without[TEXTS]; /* to_rgb */

/* What a turn works on: sources of any kinds in one piece of memory, and the same images as packed RGB. */
typedef struct images {
    size_t count;
    int32_t channels; /* of the batch of sources */
    int dense;        /* the sources are one dense batch of one size */
    motley_layout layout;
    uint8_t *bytes, *rgb_bytes;
    motley_image src[MOST_IMAGES], rgb[MOST_IMAGES];
} images;

/* Makes an image of 1 to 4 channels, `as` a part of a batch, and converts it. */
static void add_image(images *im, uint64_t *random, input_size size, int channels, int listed, size_t *at)
{
    const int planes = im->dense ? im->layout == MOTLEY_CHW : input_random(random) & 1;
    const int64_t gap = im->dense ? 0 : (int64_t)(input_random(random) % 3), pixel = planes ? 1 : channels;
    const int64_t row = pixel * size.width + gap, channel = planes ? row * size.height : 1;
    uint8_t *const bytes = im->bytes + *at;
    uint8_t *out = im->rgb_bytes + im->count * 3 * MOST_SIDE * MOST_SIDE;
    *at += (size_t)(im->dense ? channels * size.width * size.height : 4 * (size.width + 3) * size.height);
    im->src[im->count] = (motley_image){
        bytes, size.width, size.height, row, pixel, listed && channels < 3 ? 0 : channel /* grey, of three channels */
    };
    im->rgb[im->count++] = (motley_image){ out, size.width, size.height, 3 * size.width, 3, 1 };
    for (int32_t y = 0; y < size.height; y++)
        for (int32_t x = 0; x < size.width; x++)
            for (int c = 0; c < 3; c++)
                *out++ = bytes[y * row + x * pixel + (channels < 3 ? 0 : c) * channel];
}

static images make_images(uint64_t *random)
{
    images im = { .bytes = malloc(SOURCE_BYTES), .rgb_bytes = malloc(RGB_BYTES) };
    need(im.bytes && im.rgb_bytes, "no memory");
    for (size_t k = 0; k < SOURCE_BYTES; k++)
        im.bytes[k] = (uint8_t)input_random(random);
    const int kind = (int)(input_random(random) % 8); /* of one kind: 1 to 4 channels */
    const size_t count = 1 + input_random(random) % MOST_IMAGES;
    size_t at = 0;
    im.channels = kind < 4 ? kind + 1 : 3;
    im.dense = kind < 4 && input_random(random) % 2 == 0;
    im.layout = input_random(random) % 2 == 0 ? MOTLEY_CHW : MOTLEY_HWC;
    input_size size = { 0, 0 };
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !im.dense)
            size = (input_size){ 12 + (int32_t)(input_random(random) % (MOST_SIDE - 11)),
                                 12 + (int32_t)(input_random(random) % (MOST_SIDE - 11)) };
        const int channels = kind < 4 ? im.channels : 1 + (int)(input_random(random) % 4);
        add_image(&im, random, size, channels, kind >= 4, &at);
    }
    return im;
}

/* A call's results: the batch is dense, of the transform's size, or of the images' sizes one after the other. */
typedef struct results {
    uint8_t bytes[MOST_IMAGES * 3 * MOST_SIDE * MOST_SIDE * sizeof(float)];
    motley_place drawn[MOST_IMAGES];
    motley_step steps[MOST_IMAGES * MOST_STEPS];
    int32_t counts[MOST_IMAGES];
} results;

static void run(motley_context *on, const motley_policy *t, const motley_batch *src, uint8_t *memory,
                const motley_apply_params *params)
{
    const motley_policy_info *info = motley_policy_describe(t);
    const int64_t bytes = info->dtype == MOTLEY_F32 ? 4 : info->dtype == MOTLEY_U8 ? 1 : 2;
    motley_image list[MOST_IMAGES];
    for (size_t i = 0; i < src->count; i++) {
        const int32_t width = info->width ? info->width : src->images ? src->images[i].width : src->width;
        const int32_t height = info->width ? info->height : src->images ? src->images[i].height : src->height;
        list[i] = (motley_image){ memory + i * 3 * MOST_SIDE * MOST_SIDE * sizeof(float),
                                  width,
                                  height,
                                  width * bytes,
                                  bytes,
                                  (int64_t)width * height * bytes };
    }
    const motley_batch dst = { .count = src->count, .channels = 3, .dtype = info->dtype, .images = list };
    motley_error error;
    need(motley_apply(on, t, src, &dst, params, &error) == MOTLEY_OK, error.message);
}

static int same_steps(const results *a, const results *b, size_t count, size_t most)
{
    for (size_t i = 0; i < count; i++)
        for (int32_t s = 0; s < a->counts[i]; s++) {
            const motley_step *const x = &a->steps[i * most + (size_t)s], *const y = &b->steps[i * most + (size_t)s];
            if (x->op != y->op || x->values_count != y->values_count || memcmp(x->fill, y->fill, sizeof x->fill) != 0 ||
                memcmp(x->values, y->values, sizeof x->values) != 0)
                return 0;
        }
    return memcmp(a->counts, b->counts, sizeof a->counts) == 0;
}

static void expect(int ok, uint64_t turn, size_t text, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "turn %d, text %zu: %s\n", (int)turn, text, what);
    failures++;
}

static void check_turn(uint64_t turn)
{
    static results wanted, found;
    uint64_t random = 77 * turn + 1;
    const size_t which = turn % TEXTS, most = motley_policy_describe(with[which])->max_steps;
    need(most <= MOST_STEPS, "too many steps");
    images im = make_images(&random);
    motley_error error;
    uint8_t *memory, *out;
    need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, SOURCE_BYTES, (void **)&memory, &error) == MOTLEY_OK,
         error.message);
    need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, sizeof found.bytes, (void **)&out, &error) == MOTLEY_OK,
         error.message);
    copy_on(context, memory, im.bytes, SOURCE_BYTES);
    memset(&wanted, 0, sizeof wanted);
    memset(&found, 0, sizeof found);
    const motley_batch rgb = { .count = im.count, .channels = 3, .images = im.rgb };
    const motley_samples samples = { .seed = turn, .epoch = 3, .first = 40 };
    run(other, without[which], &rgb, wanted.bytes,
        &(motley_apply_params){
            .samples = samples, .drawn = wanted.drawn, .steps = wanted.steps, .step_counts = wanted.counts });
    for (size_t i = 0; i < im.count; i++)
        im.src[i].data = memory + ((uint8_t *)im.src[i].data - im.bytes);
    const int alpha = im.channels % 2 == 0;
    motley_batch src = { .count = im.count, .channels = im.channels, .alpha = alpha, .images = im.src };
    if (im.dense)
        src = (motley_batch){ .count = im.count,
                              .channels = im.channels,
                              .alpha = alpha,
                              .layout = im.layout,
                              .data = memory,
                              .width = im.src->width,
                              .height = im.src->height };
    for (int given = 0; given < 2; given++) {
        memset(found.bytes, 0, sizeof found.bytes);
        copy_on(context, out, found.bytes, sizeof found.bytes);
        motley_apply_params params = {
            .samples = samples, .drawn = found.drawn, .steps = found.steps, .step_counts = found.counts
        };
        if (given)
            params = (motley_apply_params){ .given = wanted.drawn,
                                            .given_steps = wanted.steps,
                                            .given_step_counts = wanted.counts };
        run(context, with[which], &src, out, &params);
        copy_on(context, found.bytes, out, sizeof found.bytes);
        expect(memcmp(found.bytes, wanted.bytes, sizeof found.bytes) == 0, turn, which,
               given ? "bytes differ, by given draws" : "bytes differ");
        expect(memcmp(found.drawn, wanted.drawn, sizeof found.drawn) == 0 &&
                   same_steps(&found, &wanted, im.count, most),
               turn, which, "draws differ");
    }
    int32_t sides[2][MOST_IMAGES];
    for (size_t i = 0; i < im.count; i++)
        sides[0][i] = im.src[i].width, sides[1][i] = im.src[i].height;
    need(motley_draw(with[which], &samples, im.count, sides[0], sides[1], im.channels, found.drawn, found.steps,
                     found.counts, &error) == MOTLEY_OK,
         error.message);
    expect(same_steps(&found, &wanted, im.count, most), turn, which, "motley_draw differs");
    motley_memory_destroy(context, memory);
    motley_memory_destroy(context, out);
    free(im.bytes);
    free(im.rgb_bytes);
}

int main(int argc, char **argv)
{
    motley_error error;
    context = open_on(backend_of(argc, argv), 0, argc > 2);
    other = open_on(MOTLEY_BACKEND_CPU, 0, 1);
    for (size_t k = 0; k < TEXTS; k++) {
        char text[600];
        snprintf(text, sizeof text, HEAD "  - to_rgb: {}\n%s", texts[k]);
        need(motley_policy_parse(text, strlen(text), NULL, &with[k], &error) == MOTLEY_OK, error.message);
        snprintf(text, sizeof text, HEAD "%s", *texts[k] ? texts[k] : "  - flip: {horizontal: 0}\n");
        need(motley_policy_parse(text, strlen(text), NULL, &without[k], &error) == MOTLEY_OK, error.message);
    }
    for (uint64_t turn = 0; turn < TURNS; turn++)
        check_turn(turn);
    for (size_t k = 0; k < TEXTS; k++) {
        motley_policy_destroy(with[k]);
        motley_policy_destroy(without[k]);
    }
    motley_context_destroy(other);
    motley_context_destroy(context);
    printf("%s: %d turns, %d failures\n", argv[1], TURNS, failures);
    return failures > 0;
}
