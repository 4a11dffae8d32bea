/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared calls on any backend: each is made once, and run several times on images in other places, by new draws and
 * by given ones, against the functions that describe their batches each time. Bytes and draws must be equal.
 *
 *     test_call cpu|cuda [--require]
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. */
#include "tests/contexts.h"
#include "tests/inputs.h"

#include <motley.h>
#include <stdio.h>

#define COUNT 6
#define SIDE 40
#define PLACES 3 /* that a call is run on */
#define MOST_STEPS 64
#define BYTES ((size_t)COUNT * 4 * SIDE * SIDE)
#define OUT_BYTES (BYTES * sizeof(float))

static motley_context *context;
static uint8_t *from[PLACES], *to[PLACES]; /* on the device */

static void expect(int ok, const char *name, const char *what)
{
    if (!ok)
        fprintf(stderr, "%s: %s\n", name, what);
    failures += !ok;
}

#define HEAD "motley: 1\nname: x\nstages:\n"
static const char *const texts[] = {
    HEAD "  - policy: rand_augment\n",
    HEAD "  - flip: {horizontal: 0.5}\n  - policy: augmix\n  - output: {type: f16}\n",
    HEAD "  - random_resized_crop: {size: [31, 43]}\n  - flip: {horizontal: 0.5}\n  - policy: trivial_augment_wide\n"
         "  - jitter: {hue: 0.3}\n  - output: {mean: 0.4, std: 0.2}\n  - erase: {p: 0.5, value: pixel}\n",
    HEAD "  - random_crop: {size: 24, padding: 4}\n  - blur: {kernel_size: 5, sigma: [0.1, 2]}\n",
    HEAD "  - resize: {size: [20, 30]}\n  - output: {mean: 0.5, std: 0.5}\n  - mix: {mixup: 0.8, cutmix: 1}\n",
    HEAD "  - to_rgb: {}\n  - random_resized_crop: {size: 16}\n  - output: {mean: [0.1, 0.2, 0.3], std: [1, 2, 3]}\n",
};
#define TEXTS (sizeof texts / sizeof *texts)

/* A batch at `memory`: dense, or a list of images of falling sizes. */
static motley_batch batch_of(uint8_t *memory, int listed, int32_t channels, motley_layout layout, motley_image *list)
{
    motley_batch batch = {
        .count = COUNT, .channels = channels, .layout = layout, .data = memory, .width = SIDE, .height = SIDE
    };
    batch.alpha = channels % 2 == 0;
    for (int32_t i = 0; listed && i < COUNT; i++) {
        const int32_t width = SIDE - i, height = SIDE - 2 * i;
        uint8_t *const at = memory + (size_t)i * 4 * SIDE * SIDE;
        list[i] = layout == MOTLEY_HWC ? (motley_image){ at, width, height, (int64_t)width * channels, channels, 1 }
                                       : (motley_image){ at, width, height, width, 1, (int64_t)width * height };
    }
    batch.images = listed ? list : NULL;
    return batch;
}

/* Where the results of `src` go. */
static motley_batch results_of(const motley_policy_info *info, const motley_batch *src, uint8_t *memory,
                               motley_image *list)
{
    motley_batch batch = { .count = COUNT,
                           .channels = info->to_rgb ? 3 : src->channels,
                           .alpha = !info->to_rgb && src->alpha,
                           .dtype = info->dtype,
                           .layout = MOTLEY_CHW,
                           .data = memory,
                           .width = info->width ? info->width : SIDE,
                           .height = info->width ? info->height : SIDE };
    const int64_t bytes = info->dtype == MOTLEY_F32 ? 4 : info->dtype == MOTLEY_U8 ? 1 : 2;
    for (size_t i = 0; src->images && !info->width && i < COUNT; i++) {
        const int32_t width = src->images[i].width, height = src->images[i].height;
        list[i] = (motley_image){ memory + i * OUT_BYTES / COUNT, width, height, bytes * width, bytes,
                                  bytes * width * height };
        batch.images = list;
    }
    return batch;
}

/* What motley_call_run takes for a batch. */
static void *address_of(const motley_batch *batch, void *addresses[COUNT])
{
    for (size_t i = 0; batch->images && i < COUNT; i++)
        addresses[i] = batch->images[i].data;
    return batch->images ? (void *)addresses : batch->data;
}

/* The draws of a run. */
typedef struct draws {
    motley_place drawn[COUNT];
    motley_step steps[COUNT * MOST_STEPS];
    int32_t counts[COUNT];
    motley_mixed mixed[COUNT];
    uint8_t bytes[OUT_BYTES];
} draws;

static motley_apply_params params_of(draws *d, uint64_t turn, const draws *given, int mixes)
{
    return (motley_apply_params){ .samples = { .seed = turn, .epoch = 2, .first = 7 * turn },
                                  .drawn = d->drawn,
                                  .steps = d->steps,
                                  .step_counts = d->counts,
                                  .mixed = mixes ? d->mixed : NULL,
                                  .given = given ? given->drawn : NULL,
                                  .given_steps = given ? given->steps : NULL,
                                  .given_step_counts = given ? given->counts : NULL,
                                  .given_mixed = given && mixes ? given->mixed : NULL };
}

static void check_transform(const char *text, int listed, int32_t channels, motley_layout layout)
{
    static draws wanted, found;
    static const uint8_t nothing[OUT_BYTES];
    motley_image lists[2][COUNT];
    void *read[COUNT], *written[COUNT];
    motley_error error;
    motley_policy *transform;
    motley_call *call;
    need(motley_policy_parse(text, strlen(text), NULL, &transform, &error) == MOTLEY_OK, error.message);
    const motley_policy_info *const info = motley_policy_describe(transform);
    need(info->max_steps <= MOST_STEPS, "too many steps");
    const motley_batch src = batch_of(NULL, listed, channels, layout, lists[0]);
    const motley_batch dst = results_of(info, &src, NULL, lists[1]);
    const motley_call_params what = { .policy = transform };
    need(motley_call_create(context, &src, &dst, &what, &call, &error) == MOTLEY_OK, error.message);
    for (uint64_t turn = 0; turn < 2 * PLACES; turn++) {
        const int place = (int)turn / 2;
        const motley_batch in = batch_of(from[place], listed, channels, layout, lists[0]);
        const motley_batch out = results_of(info, &in, to[place], lists[1]);
        memset(&wanted, 0, sizeof wanted);
        copy_on(context, to[place], nothing, OUT_BYTES);
        motley_apply_params params = params_of(&wanted, turn, NULL, info->mix != NULL);
        need(motley_apply(context, transform, &in, &out, &params, &error) == MOTLEY_OK, error.message);
        copy_on(context, wanted.bytes, to[place], OUT_BYTES);
        for (int given = 0; given < 2; given++) {
            memset(&found, 0, sizeof found);
            copy_on(context, to[place], nothing, OUT_BYTES);
            params = params_of(&found, turn, given ? &wanted : NULL, info->mix != NULL);
            need(motley_call_run(call, address_of(&in, read), address_of(&out, written), NULL, &params, &error) ==
                     MOTLEY_OK,
                 error.message);
            copy_on(context, found.bytes, to[place], OUT_BYTES);
            expect(memcmp(found.bytes, wanted.bytes, OUT_BYTES) == 0, text, given ? "bytes, given draws" : "bytes");
            expect(memcmp(found.drawn, wanted.drawn, sizeof found.drawn) == 0 &&
                       memcmp(found.counts, wanted.counts, sizeof found.counts) == 0 &&
                       memcmp(found.mixed, wanted.mixed, sizeof found.mixed) == 0,
                   text, "draws");
        }
    }
    motley_call_destroy(call);
    motley_policy_destroy(transform);
}

/* A resize, and an op, with other crops and values in each run. */
static void check_others(int listed)
{
    static uint8_t wanted[BYTES], found[BYTES], saved[BYTES];
    motley_image lists[2][COUNT];
    void *read[COUNT];
    motley_error error;
    motley_call *resize, *op;
    const double fill[3] = { 9, 8, 7 };
    const motley_op_params how = { .interpolation = MOTLEY_BILINEAR, .fill = fill };
    const motley_batch src = batch_of(NULL, listed, 3, MOTLEY_HWC, lists[0]), same = src;
    motley_batch dst = { .count = COUNT, .channels = 3, .width = 16, .height = 12 };
    const motley_call_params resizes = { .resize = &(motley_resize_params){ .filter = MOTLEY_FILTER_BICUBIC } };
    const motley_call_params rotates = { .op = motley_op_get(motley_op_find("rotate")), .op_params = &how };
    need(motley_call_create(context, &src, &dst, &resizes, &resize, &error) == MOTLEY_OK, error.message);
    need(motley_call_create(context, &same, &same, &rotates, &op, &error) == MOTLEY_OK, error.message);
    for (int place = 0; place < PLACES; place++) {
        const motley_batch in = batch_of(from[place], listed, 3, MOTLEY_HWC, lists[0]);
        motley_crop crops[COUNT];
        double values[COUNT];
        for (int32_t i = 0; i < COUNT; i++) {
            crops[i] = (motley_crop){ i, place, 20, 10 + i };
            values[i] = 10.0 * i + place;
        }
        motley_resize_params regions = { .filter = MOTLEY_FILTER_BICUBIC, .crops = place ? crops : NULL };
        dst.data = to[0];
        need(motley_resize(context, &in, &dst, &regions, &error) == MOTLEY_OK, error.message);
        copy_on(context, wanted, to[0], BYTES / 4);
        memset(saved, 0, sizeof saved);
        copy_on(context, to[0], saved, BYTES);
        const motley_apply_params params = { .crops = regions.crops };
        need(motley_call_run(resize, address_of(&in, read), to[0], NULL, &params, &error) == MOTLEY_OK, error.message);
        copy_on(context, found, to[0], BYTES / 4);
        expect(memcmp(found, wanted, COUNT * 16 * 12 * 3) == 0, "resize", "bytes");

        const motley_apply_params turns = { .values = values, .values_per_image = 1 };
        copy_on(context, saved, from[place], BYTES);
        need(motley_op_apply(context, motley_op_find("rotate"), values, 1, &in, &in, &how, &error) == MOTLEY_OK,
             error.message);
        copy_on(context, wanted, from[place], BYTES);
        copy_on(context, from[place], saved, BYTES);
        need(motley_call_run(op, address_of(&in, read), NULL, NULL, &turns, &error) == MOTLEY_OK, error.message);
        copy_on(context, found, from[place], BYTES);
        expect(memcmp(found, wanted, BYTES) == 0, "rotate", "bytes");
    }
    motley_call_destroy(resize);
    motley_call_destroy(op);
}

static void refused(motley_status status, const motley_error *error, const char *words)
{
    expect(status == MOTLEY_ERR_ARGUMENT && strstr(error->message, words), words, error->message);
}

static void check_mistakes(void)
{
    static const uint8_t none[4];
    static const double fill[4];
    motley_error error = { 0 };
    motley_policy *transform;
    motley_policy *policy;
    motley_call *call;
    need(motley_policy_parse(texts[2], strlen(texts[2]), NULL, &transform, &error) == MOTLEY_OK, error.message);
    need(motley_policy_builtin("rand_augment", &policy, &error) == MOTLEY_OK, error.message);
    const motley_batch src = batch_of(NULL, 0, 3, MOTLEY_HWC, NULL), same = src;
    motley_batch dst = results_of(motley_policy_describe(transform), &src, NULL, NULL);
    const motley_output output = { .batch = src };
    const motley_resize_params flips = { .flips = none };
    const struct {
        motley_call_params what;
        const motley_batch *dst;
        const char *words;
    } wrong[] = {
        { { .policy = transform, .op = motley_op_get(0) }, &dst, "several of policy, op and resize are set" },
        { { .policy = transform, .output = &output }, &dst, "a policy with stages has no fused last step" },
        { { .op = motley_op_get(0), .output = &output }, &same, "a single op has no fused last step" },
        { { .policy = policy, .op_params = &(motley_op_params){ .fill = fill } },
          &same,
          "op_params is set without op" },
        { { .resize = &flips }, &same, "want it in the params of each run" },
        { { .policy = transform }, &src, "does not work in place" },
        { { .policy = transform }, &same, "want dst as F32, F16 or BF16" },
        { { .policy = policy }, &dst, "want src's 40x40" },
        { { .policy = policy }, NULL, "there is nowhere to write" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        call = (motley_call *)&call;
        refused(motley_call_create(context, &src, wrong[i].dst, &wrong[i].what, &call, &error), &error, wrong[i].words);
        expect(!call, wrong[i].words, "the call is not NULL");
    }
    const motley_call_params what = { .policy = transform };
    need(motley_call_create(context, &src, &dst, &what, &call, &error) == MOTLEY_OK, error.message);
    const int32_t counts[COUNT] = { 0 }, sides[COUNT] = { 1 };
    const double value = 1;
    const struct {
        motley_apply_params params;
        const char *words;
    } bad[] = {
        { { .values = &value, .values_per_image = 1 }, "params has values, which a policy with stages does not take" },
        { { .flips = none }, "crops, boxes or flips, which a policy with stages does not take" },
        { { .given_step_counts = counts }, "want all three or none" },
        { { .given_widths = sides }, "only one of given_widths and given_heights" },
        { { .given_widths = sides, .given_heights = sides }, "its steps were drawn for 1x1" },
        { { .samples = { .epoch = 1u << 30 } }, "epoch" },
        { { .clip_frames = 5 }, "clip" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(motley_call_run(call, from[0], to[0], NULL, &bad[i].params, &error), &error, bad[i].words);
    refused(motley_call_run(call, from[0], NULL, NULL, NULL, &error), &error, "dst is NULL");
    refused(motley_call_run(call, from[0], to[0], to[1], NULL, &error), &error, "the call has none");
    refused(motley_call_run(call, to[0] + 64, to[0], NULL, NULL, &error), &error, "shares memory");
    refused(motley_call_run(call, from[0], to[0] + 1, NULL, NULL, &error), &error, "not aligned");
    motley_call_destroy(call);
    motley_policy_destroy(transform);
    motley_policy_destroy(policy);
}

int main(int argc, char **argv)
{
    motley_error error;
    const motley_backend backend = backend_of(argc, argv);
    context = open_on(backend, 0, argc > 2);
    for (int place = 0; place < PLACES; place++) {
        uint8_t bytes[BYTES];
        input_fill(INPUT_NOISE, (uint64_t)place, (input_size){ SIDE, SIDE * COUNT }, 4, bytes);
        for (int k = 0; k < 2; k++)
            need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, k ? OUT_BYTES : BYTES,
                                      (void **)(k ? &to[place] : &from[place]), &error) == MOTLEY_OK,
                 error.message);
        copy_on(context, from[place], bytes, BYTES);
    }
    for (size_t k = 0; k < TEXTS; k++)
        for (int form = 0; form < 4; form++) {
            const int grey = strstr(texts[k], "to_rgb") != NULL && form % 2;
            check_transform(texts[k], form / 2, grey ? 1 : 3, form % 2 ? MOTLEY_CHW : MOTLEY_HWC);
        }
    check_others(0);
    check_others(1);
    check_mistakes();
    for (int place = 0; place < PLACES; place++) {
        motley_memory_destroy(context, from[place]);
        motley_memory_destroy(context, to[place]);
    }
    close_on(backend, context);
    printf("%s: %d failures\n", argv[1], failures);
    return failures > 0;
}
