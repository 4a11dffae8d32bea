/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with an output, on any backend, against the CPU or the reference: src, dst and output with any strides, as
 * lists, and in the same memory as far as motley/apply.h allows it. No other byte changes.
 *
 *     test_outputs cpu|cuda [--require]
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. */
#include "tests/contexts.h"
#include "tests/inputs.h"
#include "tests/rooms.h"
#include "tests/sweep.h"
#include "tests/test.h"

#include <stdio.h>

#define MOST_IMAGES 40

static motley_context *context, *other; /* `other` works on the host's memory */
static long calls;

#define HEAD "motley: 1\nname: x\nfill: [9, 8, 7]\n"
static const char *const texts[] = {
    HEAD "repeat: 2\nbranches: [detail, emboss, equalize, invert]\n", /* with breaks between runs of ops */
    HEAD "augmix: {width: 2, alpha: 1, form: sum}\nrepeat: 2\nbranches: [invert, equalize, grayscale, detail]\n",
    HEAD "bins: 5\nlevel: uniform\nops:\n  gaussian_blur: {range: [0.5, 6]}\nbranches: [gaussian_blur, invert]\n",
};
static const char *const builtin[] = { "rand_augment", "trivial_augment_wide", "timm_rand_m9_mstd05_inc1",
                                       "timm_3_augment", "auto_augment_imagenet" };
enum { TEXTS = sizeof texts / sizeof *texts, POLICIES = TEXTS + sizeof builtin / sizeof *builtin };
static motley_policy *policy[POLICIES];

/* The batch of `r`, whose bytes lie at `bytes`; with a list, as that. */
static motley_batch batch_at(const room *r, uint8_t *bytes, motley_image *list)
{
    motley_batch b = r->batch;
    b.data = bytes + (r->data - r->bytes);
    for (size_t i = 0; list && i < b.count; i++)
        list[i] = (motley_image){
            (uint8_t *)b.data + (int64_t)i * r->image, b.width, b.height, r->row, r->pixel, r->channel
        };
    if (list) {
        b.images = list;
        b.data = NULL;
        b.image_stride = b.row_stride = b.pixel_stride = b.channel_stride = b.width = b.height = 0;
    }
    return b;
}

enum { SRC, DST, OUT, ROOMS };

static void check_turn(uint64_t turn)
{
    static const input_size sizes[] = { { 1, 1 },   { 1, 5 },   { 5, 1 },    { 3, 3 },     { 17, 9 },
                                        { 32, 32 }, { 64, 48 }, { 225, 65 }, { 256, 130 }, { 301, 70 } };
    static const size_t counts[] = { 0, 1, 1, 2, 5, MOST_IMAGES };
    uint64_t random = 77 * turn + 1;
    const input_size size = sizes[input_random(&random) % (sizeof sizes / sizeof *sizes)];
    const size_t count = counts[input_random(&random) % (sizeof counts / sizeof *counts)];
    const int channels = 1 + (int)(input_random(&random) % 4), how = (int)(input_random(&random) % POLICIES);
    const motley_dtype dtype = (motley_dtype)(input_random(&random) % 4);
    const int with_list = input_random(&random) % 3 == 0;
    enum { NO_DST, DST_IS_SRC, DST_APART } where = (int)(input_random(&random) % 3);
    int out = dtype == MOTLEY_U8 ? (int)(input_random(&random) % ROOMS) : OUT;
    if (out == DST && where != DST_APART)
        out = SRC;
    room rooms[ROOMS];
    for (int k = 0; k < ROOMS; k++)
        rooms[k] = room_make(&random, count, size, channels, k == OUT ? dtype : MOTLEY_U8);
    for (int k = 0; k < ROOMS; k++)
        rooms[k].batch.alpha = channels % 2 == 0 && turn % 3 > 0;
    motley_error error;
    uint8_t *made[2][ROOMS]; /* by `other`, and by `context` */
    for (int k = 0; k < ROOMS; k++)
        made[0][k] = room_copy(&rooms[k]);
    for (int which = 0; which < 2; which++) {
        uint8_t *at[ROOMS];
        motley_image list[2][MOST_IMAGES];
        for (int k = 0; k < ROOMS; k++) {
            at[k] = made[0][k];
            if (which == 0)
                continue;
            need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, rooms[k].size, (void **)&at[k], &error) ==
                     MOTLEY_OK,
                 error.message);
            copy_on(context, at[k], rooms[k].bytes, rooms[k].size);
        }
        const motley_batch src = batch_at(&rooms[SRC], at[SRC], with_list ? list[0] : NULL);
        const motley_batch dst = batch_at(&rooms[DST], at[DST], with_list ? list[1] : NULL);
        const motley_apply_params params = { .samples = { .seed = turn },
                                             .output = { .batch = batch_at(&rooms[out], at[out], NULL),
                                                         .mean = { 0.485f, 0.456f, 0.406f, 0.5f },
                                                         .std = { 0.229f, turn % 2 ? 0.1f : 0.224f, 0, 1 } } };
        need(motley_apply(which ? context : other, policy[how], &src,
                          where == NO_DST       ? NULL
                          : where == DST_IS_SRC ? &src
                                                : &dst,
                          &params, &error) == MOTLEY_OK,
             error.message);
        for (int k = 0; k < ROOMS && which; k++) {
            made[1][k] = room_copy(&rooms[k]);
            copy_on(context, made[1][k], at[k], rooms[k].size);
            motley_memory_destroy(context, at[k]);
        }
    }
    calls++;
    const int in_src = where == DST_IS_SRC || out == SRC;
    for (int k = 0; k < ROOMS; k++) {
        const uint8_t *const wanted = k == out ? made[0][k] : rooms[k].bytes, *const found = made[1][k];
        if ((k == SRC && in_src && k != out) || (k == DST && where == DST_APART && k != out))
            continue; /* may hold anything */
        size_t i = 0;
        while (i < rooms[k].size && found[i] == wanted[i])
            i++;
        if (i == rooms[k].size)
            continue;
        static const char *const names[] = { "src", "dst", "output" };
        fprintf(stderr,
                "turn %d, policy %d, %zu x %dx%d, %d channels, dtype %d%s, dst %s, output in %s: byte %zu of %s is %d, "
                "want %d\n",
                (int)turn, how, count, (int)size.width, (int)size.height, channels, (int)dtype,
                with_list ? ", lists" : "",
                where == NO_DST       ? "none"
                : where == DST_IS_SRC ? "src"
                                      : "apart",
                names[out], i, names[k], found[i], wanted[i]);
        if (++failures >= 20)
            exit(1);
    }
    for (int k = 0; k < ROOMS; k++) {
        free(rooms[k].bytes);
        free(made[0][k]);
        free(made[1][k]);
    }
}

int main(int argc, char **argv)
{
    motley_error error;
    const motley_backend backend = backend_of(argc, argv);
    const int on_device = backend == MOTLEY_BACKEND_CUDA;
    context = open_on(backend, 0, argc > 2);
    other = open_on(on_device ? MOTLEY_BACKEND_CPU : MOTLEY_BACKEND_REFERENCE, 0, 1);
    for (int k = 0; k < POLICIES; k++)
        need((k < TEXTS ? motley_policy_parse(texts[k], strlen(texts[k]), NULL, &policy[k], &error)
                        : motley_policy_builtin(builtin[k - TEXTS], &policy[k], &error)) == MOTLEY_OK,
             error.message);
    const uint64_t turns = sweep(on_device ? 1500 : 500, "random outputs");
    for (uint64_t turn = 0; turn < turns; turn++)
        check_turn(turn);
    for (int k = 0; k < POLICIES; k++)
        motley_policy_destroy(policy[k]);
    motley_context_destroy(other);
    motley_context_destroy(context);
    printf("%s: %ld calls, %d failures\n", argv[1], calls, failures);
    return failures > 0;
}
