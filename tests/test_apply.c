/* SPDX-License-Identifier: Apache-2.0 */
/* Applying on the CPU: what must not change results (threads, splits, order, layout, place), what must survive a
 * failing allocation, a fork and a shared policy, and the fused output. */
#include "dispatch/backend.h"
#include "dispatch/threads.h"
#include "policies/builtin.h"
#include "tests/inputs.h"
#include "tests/sweep.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <pthreadpool.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- allocations that fail: the library's own, by the linker's --wrap ---- */

static _Atomic long live;                /* allocations not yet freed */
static _Thread_local long until_failure; /* 1: the next one fails; 0: none does */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user);
pthreadpool_t __real_pthreadpool_create(size_t threads);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user);
pthreadpool_t __wrap_pthreadpool_create(size_t threads);

static int fails(void)
{
    return until_failure > 0 && --until_failure == 0;
}

static void *counted(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user)
{
    return fails() ? EAGAIN : __real_pthread_create(thread, attributes, run, user);
}

pthreadpool_t __wrap_pthreadpool_create(size_t threads)
{
    return fails() ? NULL : __real_pthreadpool_create(threads);
}

/* ---- a batch of mixed sizes ---- */

#define IMAGES 23

static const input_size sizes[] = { { 40, 30 }, { 1, 1 }, { 33, 2 }, { 3, 3 }, { 64, 64 }, { 17, 50 }, { 32, 32 } };

typedef struct images {
    uint8_t *memory[IMAGES];
    motley_image image[IMAGES];
    size_t bytes[IMAGES];
    motley_batch batch;
} images;

static void make_images(images *set, int channels, motley_layout layout, uint64_t seed)
{
    for (size_t i = 0; i < IMAGES; i++) {
        const input_size size = sizes[i % (sizeof sizes / sizeof sizes[0])];
        const int64_t w = size.width, h = size.height, n = channels;
        set->bytes[i] = (size_t)(w * h * n);
        set->memory[i] = malloc(set->bytes[i]);
        uint8_t *dense = malloc(set->bytes[i]);
        cr_assert(set->memory[i] && dense);
        set->image[i] = (motley_image){ set->memory[i],
                                        size.width,
                                        size.height,
                                        layout == MOTLEY_HWC ? w * n : w,
                                        layout == MOTLEY_HWC ? n : 1,
                                        layout == MOTLEY_HWC ? 1 : w * h };
        input_fill((input_kind)(i % INPUT_KINDS), seed + i, size, channels, dense);
        const uint8_t *from = dense;
        for (int32_t y = 0; y < size.height; y++)
            for (int32_t x = 0; x < size.width; x++)
                for (int c = 0; c < channels; c++)
                    *input_at(&set->image[i], x, y, c) = *from++;
        free(dense);
    }
    set->batch = (motley_batch){ .count = IMAGES, .channels = channels, .layout = layout, .images = set->image };
}

static void free_images(images *set)
{
    for (size_t i = 0; i < IMAGES; i++)
        free(set->memory[i]);
}

static int same_images(const images *a, const images *b, int channels)
{
    for (size_t i = 0; i < IMAGES; i++)
        for (int32_t y = 0; y < a->image[i].height; y++)
            for (int32_t x = 0; x < a->image[i].width; x++)
                for (int c = 0; c < channels; c++)
                    if (*input_at(&a->image[i], x, y, c) != *input_at(&b->image[i], x, y, c))
                        return 0;
    return 1;
}

static motley_context *open_context(motley_backend backend, int threads)
{
    motley_context *context;
    motley_error error = { 0 };
    const motley_context_params params = { .backend = backend, .threads = threads };
    cr_assert(motley_context_create(&params, &context, &error) == MOTLEY_OK, "%s", error.message);
    return context;
}

static motley_policy *open_policy(size_t i)
{
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert(motley_policy_builtin(mot_builtins[i].name, &policy, &error) == MOTLEY_OK, "%s", error.message);
    return policy;
}

static void apply(motley_context *context, const motley_policy *policy, const images *src, const images *dst,
                  const motley_apply_params *params)
{
    motley_error error = { 0 };
    cr_assert(motley_apply(context, policy, &src->batch, &dst->batch, params, &error) == MOTLEY_OK, "%s",
              error.message);
}

/* ---- what must not matter ---- */

/* Every built-in: the CPU's bits are the reference's, whatever the threads, the layout and the place. */
Test(apply, builtins_equal_reference)
{
    motley_context *reference = open_context(MOTLEY_BACKEND_REFERENCE, 1);
    motley_context *cpu[3];
    for (int t = 0; t < 3; t++)
        cpu[t] = open_context(MOTLEY_BACKEND_CPU, t + 1);
    sweep(mot_builtin_count, "built-in policies against the reference");
    for (size_t i = 0; i < mot_builtin_count; i += sweep_every()) {
        motley_policy *policy = open_policy(i);
        if (motley_policy_describe(policy)->takes_boxes) { /* test_boxes.c has them */
            motley_policy_destroy(policy);
            continue;
        }
        for (int channels = 1; channels <= 4; channels++)
            for (uint32_t epoch = 0; epoch < 3; epoch++) {
                const motley_apply_params params = { .samples = { .seed = 11 * i, .epoch = epoch, .first = 1000 } };
                images wanted, from, to, planes;
                make_images(&wanted, channels, MOTLEY_HWC, 5);
                make_images(&from, channels, MOTLEY_HWC, 5);
                make_images(&to, channels, epoch == 1 ? MOTLEY_CHW : MOTLEY_HWC, 6);
                make_images(&planes, channels, MOTLEY_CHW, 5);
                images *const all[] = { &wanted, &from, &to, &planes };
                for (int k = 0; k < 4; k++)
                    all[k]->batch.alpha = channels % 2 == 0 && epoch != 1;
                apply(reference, policy, &wanted, &wanted, &params);
                apply(cpu[epoch], policy, &from, &to, &params);
                cr_assert(same_images(&wanted, &to, channels), "%s, %d channels, epoch %u, src to dst",
                          motley_policy_describe(policy)->name, channels, epoch);
                apply(cpu[epoch], policy, &from, &from, &params);
                cr_assert(same_images(&wanted, &from, channels), "%s, %d channels, epoch %u, in place",
                          motley_policy_describe(policy)->name, channels, epoch);
                apply(cpu[epoch], policy, &planes, &planes, &params);
                cr_assert(same_images(&wanted, &planes, channels), "%s, %d channels, epoch %u, planes in place",
                          motley_policy_describe(policy)->name, channels, epoch);
                free_images(&wanted), free_images(&from), free_images(&to), free_images(&planes);
            }
        motley_policy_destroy(policy);
    }
    for (int t = 0; t < 3; t++)
        motley_context_destroy(cpu[t]);
    motley_context_destroy(reference);
}

/* One image as a batch. */
static motley_batch one_image(const input_buffer *b, int alpha)
{
    return (motley_batch){ .count = 1, .channels = b->channels, .alpha = alpha, .images = &b->image };
}

/* From every kind of strides to every other, and in place: the reference's bits, and no byte beside them changes. */
static void check_strides(motley_context *cpu, motley_context *reference, const motley_policy *policy, input_size size,
                          int channels, input_layout from, input_layout to, uint64_t id)
{
    uint8_t dense[64 * 50 * 4], result[64 * 50 * 4];
    const motley_apply_params params = { .samples = { .seed = 3, .first = id } };
    const int64_t row = (int64_t)size.width * channels;
    const motley_image packed = { result, size.width, size.height, row, channels, 1 };
    const int alpha = channels % 2 == 0 && id % 3 > 0;
    const motley_batch wanted = { .count = 1, .channels = channels, .alpha = alpha, .images = &packed };
    motley_error error = { 0 };
    input_fill(INPUT_NOISE, id, size, channels, dense);
    memcpy(result, dense, (size_t)(row * size.height));
    cr_assert(motley_apply(reference, policy, &wanted, &wanted, &params, &error) == MOTLEY_OK, "%s", error.message);

    input_buffer src = { 0 }, dst = { 0 }, expected = { 0 }, untouched = { 0 };
    cr_assert(input_buffer_make(&src, from, size, channels) && input_buffer_make(&dst, to, size, channels));
    cr_assert(input_buffer_make(&expected, to, size, channels) && input_buffer_make(&untouched, from, size, channels));
    input_buffer_set(&src, dense);
    input_buffer_set(&untouched, dense);
    input_buffer_set(&expected, result);
    const motley_batch in = one_image(&src, alpha), out = one_image(&dst, alpha);
    cr_assert(motley_apply(cpu, policy, &in, &out, &params, &error) == MOTLEY_OK, "%s", error.message);
    cr_assert(memcmp(dst.bytes, expected.bytes, dst.size) == 0, "%s, %dx%dx%d, %s to %s, sample %d",
              motley_policy_describe(policy)->name, size.width, size.height, channels, input_layout_names[from],
              input_layout_names[to], (int)id);
    cr_assert(memcmp(src.bytes, untouched.bytes, src.size) == 0, "src changed: %s to %s", input_layout_names[from],
              input_layout_names[to]);
    if (from == to) {
        cr_assert(motley_apply(cpu, policy, &in, &in, &params, &error) == MOTLEY_OK, "%s", error.message);
        cr_assert(memcmp(src.bytes, expected.bytes, src.size) == 0, "%s in place, %s, %dx%dx%d, sample %d",
                  input_layout_names[to], motley_policy_describe(policy)->name, size.width, size.height, channels,
                  (int)id);
    }
    free(src.bytes), free(dst.bytes), free(expected.bytes), free(untouched.bytes);
}

Test(apply, any_strides)
{
    static const char *const names[] = { "rand_augment", "trivial_augment_wide", "timm_auto_augment_v0" };
    static const input_size few[] = { { 1, 1 }, { 5, 3 }, { 16, 2 }, { 17, 50 }, { 64, 7 } };
    motley_context *cpu = open_context(MOTLEY_BACKEND_CPU, 1), *reference = open_context(MOTLEY_BACKEND_REFERENCE, 1);
    for (size_t p = 0; p < sizeof names / sizeof names[0]; p++) {
        motley_policy *policy;
        cr_assert(motley_policy_builtin(names[p], &policy, NULL) == MOTLEY_OK);
        uint64_t id = 0;
        for (size_t s = 0; s < sizeof few / sizeof few[0]; s++)
            for (int channels = 1; channels <= 4; channels++)
                for (int from = 0; from < INPUT_LAYOUTS; from++)
                    for (int to = 0; to < INPUT_LAYOUTS; to++)
                        check_strides(cpu, reference, policy, few[s], channels, (input_layout)from, (input_layout)to,
                                      id++);
        motley_policy_destroy(policy);
    }
    motley_context_destroy(cpu);
    motley_context_destroy(reference);
}

/* A batch of N is N batches of one, in any order, by first or by ids; and the reported steps are those of
 * motley_draw. */
Test(apply, a_batch_is_its_images)
{
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 2);
    for (size_t p = 0; p < mot_builtin_count; p++) {
        motley_policy *policy = open_policy(p);
        if (motley_policy_describe(policy)->takes_boxes) { /* test_boxes.c has them */
            motley_policy_destroy(policy);
            continue;
        }
        const size_t room = motley_policy_describe(policy)->max_steps;
        images whole, single;
        make_images(&whole, 3, MOTLEY_HWC, 77);
        make_images(&single, 3, MOTLEY_HWC, 77);
        motley_step *reported = calloc(IMAGES * room, sizeof *reported), *drawn = calloc(room, sizeof *drawn);
        int32_t reported_counts[IMAGES], count;
        uint32_t views[IMAGES];
        for (uint32_t i = 0; i < IMAGES; i++)
            views[i] = i % 3;
        apply(context, policy, &whole, &whole,
              &(motley_apply_params){ .samples = { .seed = 3, .first = 40, .views = views },
                                      .steps = reported,
                                      .step_counts = reported_counts });
        for (size_t k = 0; k < IMAGES; k++) {
            const size_t i = (k * 7 + 3) % IMAGES; /* another order */
            const uint64_t id = 40 + i;
            const motley_batch one = { .count = 1, .channels = 3, .images = &single.image[i] };
            const motley_samples sample = { .seed = 3, .ids = &id, .view = views[i] };
            motley_error error;
            cr_assert(motley_apply(context, policy, &one, &one, &(motley_apply_params){ .samples = sample }, &error) ==
                      MOTLEY_OK);
            cr_assert(motley_draw(policy, &sample, 1, &single.image[i].width, &single.image[i].height, 3, NULL, drawn,
                                  &count, &error) == MOTLEY_OK);
            cr_assert(count == reported_counts[i]);
            cr_assert(memcmp(drawn, reported + i * room, (size_t)count * sizeof *drawn) == 0);
        }
        cr_assert(same_images(&whole, &single, 3), "%s", motley_policy_describe(policy)->name);
        free(reported), free(drawn);
        free_images(&whole), free_images(&single);
        motley_policy_destroy(policy);
    }
    motley_context_destroy(context);
}

/* More images than are sorted at a time. */
Test(apply, many_small_images)
{
    enum { COUNT = 9001, BYTES = 4 * 3 * 3 };
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 3),
                   *reference = open_context(MOTLEY_BACKEND_REFERENCE, 1);
    motley_policy *policy = open_policy(0);
    uint8_t *a = malloc((size_t)COUNT * BYTES), *b = malloc((size_t)COUNT * BYTES);
    uint64_t state = 1;
    for (size_t i = 0; i < (size_t)COUNT * BYTES; i++)
        a[i] = b[i] = (uint8_t)input_random(&state);
    motley_batch batch = { .count = COUNT, .channels = 3, .width = 4, .height = 3, .data = a };
    cr_assert(motley_apply(context, policy, &batch, &batch, NULL, NULL) == MOTLEY_OK);
    batch.data = b;
    cr_assert(motley_apply(reference, policy, &batch, &batch, NULL, NULL) == MOTLEY_OK);
    cr_assert(memcmp(a, b, (size_t)COUNT * BYTES) == 0);
    free(a), free(b);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
    motley_context_destroy(reference);
}

Test(apply, neutral_values_change_nothing)
{
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 1);
    for (int op = 0; op < motley_op_count(); op++) {
        const motley_op_info *info = motley_op_get(op);
        const int none = strcmp(info->name, "identity") == 0;
        if (isnan(info->neutral) && !none)
            continue;
        /* Without alpha, which interpolation may change through premultiplication. */
        for (int channels = 1; channels <= 3; channels += 2)
            for (int interpolation = 0; interpolation < 3; interpolation++) {
                images before, after;
                make_images(&before, channels, MOTLEY_HWC, 9);
                make_images(&after, channels, MOTLEY_HWC, 10);
                double values[IMAGES];
                for (size_t i = 0; i < IMAGES; i++)
                    values[i] = info->neutral;
                const motley_op_params params = { .interpolation = (motley_interpolation)interpolation };
                motley_error error = { 0 };
                cr_assert(motley_op_apply(context, op, values, info->values_min, &before.batch, &after.batch, &params,
                                          &error) == MOTLEY_OK,
                          "%s", error.message);
                cr_assert(same_images(&before, &after, channels), "%s, %d channels", info->name, channels);
                free_images(&before), free_images(&after);
            }
    }
    motley_context_destroy(context);
}

/* ---- the fused output ---- */

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double v = exponent == 0    ? ldexp(mantissa, -24)
                     : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                      : ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000 ? -v : v;
}

static double bfloat_value(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float v;
    memcpy(&v, &wide, sizeof v);
    return v;
}

/* Whether `bits` is the nearest of its neighbours to v, and even when two are as near. */
static int is_nearest(float v, uint16_t bits, double (*value)(uint16_t))
{
    const double error = fabs(value(bits) - v);
    for (int step = -1; step <= 1; step += 2) {
        const double other = fabs(value((uint16_t)(bits + step)) - v);
        if (other < error || (other == error && (bits & 1)))
            return 0;
    }
    return 1;
}

Test(apply, output_is_normalised_and_cast)
{
    static const float mean[4] = { 0.485f, 0.456f, 0.406f, 0 }, std[4] = { 0.229f, 0.224f, 1e-3f, 0 };
    enum { W = 16, H = 16, N = 3 };
    uint8_t src[N][H][W][4], dst[N][H][W][4];
    for (int i = 0; i < N * H * W * 4; i++)
        ((uint8_t *)src)[i] = (uint8_t)(i / 4 + i % 4);
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 2);
    motley_policy *policy = open_policy(0);
    for (int type = MOTLEY_U8; type <= MOTLEY_BF16; type++)
        for (int with_dst = 0; with_dst < 2; with_dst++) {
            uint32_t out[N * H * W * 4];
            motley_batch from = { .count = N, .channels = 4, .width = W, .height = H, .data = src };
            motley_batch to = from;
            to.data = dst;
            motley_apply_params params = { .samples = { .seed = 8 } };
            cr_assert(motley_apply(context, policy, &from, &to, &params, NULL) == MOTLEY_OK);
            params.output.batch = (motley_batch){ .count = N,
                                                  .channels = 4,
                                                  .dtype = (motley_dtype)type,
                                                  .layout = MOTLEY_CHW,
                                                  .width = W,
                                                  .height = H,
                                                  .data = out };
            memcpy(params.output.mean, mean, sizeof mean);
            memcpy(params.output.std, std, sizeof std);
            motley_error error = { 0 };
            cr_assert(motley_apply(context, policy, &from, with_dst ? &to : NULL, &params, &error) == MOTLEY_OK, "%s",
                      error.message);
            for (int i = 0; i < N; i++)
                for (int c = 0; c < 4; c++)
                    for (int y = 0; y < H; y++)
                        for (int x = 0; x < W; x++) {
                            const uint8_t v = dst[i][y][x][c];
                            const volatile float unit = (float)v / 255.0f, centred = unit - mean[c];
                            const float wanted = centred / (std[c] == 0 ? 1.0f : std[c]);
                            const size_t at = (((size_t)i * 4 + (size_t)c) * H + (size_t)y) * W + (size_t)x;
                            if (type == MOTLEY_F32)
                                cr_assert(memcmp(&out[at], &wanted, 4) == 0);
                            else if (type == MOTLEY_U8)
                                cr_assert(((uint8_t *)out)[at] == v);
                            else
                                cr_assert(is_nearest(wanted, ((uint16_t *)out)[at],
                                                     type == MOTLEY_F16 ? half_value : bfloat_value),
                                          "type %d, %a", type, (double)wanted);
                        }
        }
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

/* ---- prepared calls ---- */

/* A call of many sizes, at one place and then another, in place and into a dst: the bytes of motley_apply. */
Test(call, images_of_many_sizes)
{
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 2);
    motley_policy *policy = open_policy(0);
    const motley_apply_params params = { .samples = { .seed = 5, .epoch = 2, .first = 77 } };
    const motley_call_params what = { .policy = policy };
    images src, dst, wanted, described;
    motley_call *in_place, *apart;
    make_images(&described, 3, MOTLEY_HWC, 1);
    cr_assert(motley_call_create(context, &described.batch, &described.batch, &what, &in_place, NULL) == MOTLEY_OK);
    cr_assert(motley_call_create(context, &described.batch, &described.batch, &what, &apart, NULL) == MOTLEY_OK);
    motley_call_destroy(apart);
    const motley_batch other = described.batch;
    cr_assert(motley_call_create(context, &described.batch, &other, &what, &apart, NULL) == MOTLEY_OK);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        motley_error error = { 0 };
        make_images(&src, 3, MOTLEY_HWC, seed);
        make_images(&dst, 3, MOTLEY_HWC, 9);
        make_images(&wanted, 3, MOTLEY_HWC, seed);
        apply(context, policy, &wanted, &wanted, &params);
        cr_assert(motley_call_run(apart, src.memory, dst.memory, NULL, &params, &error) == MOTLEY_OK, "%s",
                  error.message);
        cr_expect(same_images(&dst, &wanted, 3), "src to dst");
        cr_assert(motley_call_run(in_place, src.memory, NULL, NULL, &params, &error) == MOTLEY_OK, "%s", error.message);
        cr_expect(same_images(&src, &wanted, 3), "in place");
        src.memory[4] = NULL;
        cr_expect(motley_call_run(in_place, src.memory, NULL, NULL, &params, &error) == MOTLEY_ERR_ARGUMENT);
        cr_expect(strstr(error.message, "src[4] is NULL"), "%s", error.message);
        src.memory[4] = src.image[4].data;
        free_images(&src), free_images(&dst), free_images(&wanted);
    }
    motley_call_destroy(in_place), motley_call_destroy(apart);
    free_images(&described);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

enum { CALL_COUNT = 5, CALL_SIDE = 20, CALL_BYTES = CALL_COUNT * CALL_SIDE * CALL_SIDE * 3 };

static motley_batch square(void *data)
{
    return (motley_batch){ .count = CALL_COUNT, .channels = 3, .data = data, .width = CALL_SIDE, .height = CALL_SIDE };
}

/* A call with an output, and one for ops, against the calls that describe the batches each time. */
Test(call, outputs_and_ops)
{
    static uint8_t src[2][CALL_BYTES], dst[2][CALL_BYTES];
    static float got[CALL_BYTES], wanted[CALL_BYTES];
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 1);
    motley_policy *policy = open_policy(0);
    motley_apply_params params = { .samples = { .seed = 1 } };
    motley_output output = { .batch = square(NULL), .mean = { .1f, .2f, .3f }, .std = { .4f, .5f, .6f } };
    const double values[CALL_COUNT] = { 10, -20, 30, 40, 50 };
    const double fill[3] = { 1, 2, 3 };
    const motley_op_params op_params = { .interpolation = MOTLEY_BILINEAR, .fill = fill };
    const int op = motley_op_find("rotate");
    motley_call *fused, *plain;
    for (size_t i = 0; i < CALL_BYTES; i++)
        src[0][i] = (uint8_t)(i * i / 7), src[1][i] = (uint8_t)(i / 3);
    output.batch.dtype = MOTLEY_F32;
    output.batch.layout = MOTLEY_CHW;
    const motley_batch described = square(NULL), other = square(NULL);
    const motley_call_params with_output = { .policy = policy, .output = &output };
    const motley_call_params of_op = { .op = motley_op_get(op), .op_params = &op_params };
    const motley_apply_params turned = { .values = values, .values_per_image = 1 };
    cr_assert(motley_call_create(context, &described, NULL, &with_output, &fused, NULL) == MOTLEY_OK);
    cr_assert(motley_call_create(context, &described, &other, &of_op, &plain, NULL) == MOTLEY_OK);
    for (int k = 0; k < 2; k++) {
        motley_error error = { 0 };
        const motley_batch from = square(src[k]), to = square(dst[0]);
        params.output = output;
        params.output.batch.data = wanted;
        cr_assert(motley_apply(context, policy, &from, NULL, &params, &error) == MOTLEY_OK, "%s", error.message);
        cr_assert(motley_op_apply(context, op, values, 1, &from, &to, &op_params, &error) == MOTLEY_OK);
        params.output.batch.data = NULL;
        cr_assert(motley_call_run(fused, src[k], NULL, got, &params, &error) == MOTLEY_OK, "%s", error.message);
        cr_expect_arr_eq(got, wanted, sizeof got);
        cr_assert(motley_call_run(plain, src[k], dst[1], NULL, &turned, &error) == MOTLEY_OK, "%s", error.message);
        cr_expect_arr_eq(dst[1], dst[0], CALL_BYTES);
    }
    motley_call_destroy(fused), motley_call_destroy(plain);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

static void call_refused(motley_status status, const motley_error *error, const char *piece)
{
    cr_expect(status == MOTLEY_ERR_ARGUMENT && error->status == status, "%s: status %d", piece, status);
    cr_expect(strstr(error->message, piece), "'%s' lacks '%s'", error->message, piece);
}

/* Mistakes in shapes are reported when a call is made, mistakes in addresses when it is used. */
Test(call, mistakes)
{
    static uint8_t pixels[2 * CALL_BYTES];
    static float floats[CALL_BYTES];
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 1);
    motley_policy *policy = open_policy(0);
    motley_error error = { 0 };
    const motley_batch good = square(NULL), dst = square(NULL);
    motley_batch bad = square(NULL);
    motley_output output = { .batch = square(NULL) };
    motley_call *call = (motley_call *)&call, *plain, *fused, *in_place, *no_policy, *of_op;
    const motley_call_params what = { .policy = policy }, with_output = { .policy = policy, .output = &output };
    const motley_call_params rotates = { .op = motley_op_get(motley_op_find("rotate")) };
    output.batch.dtype = MOTLEY_F32;

    call_refused(motley_call_create(context, &good, NULL, NULL, &call, &error), &error, "nowhere to write");
    cr_expect_null(call);
    call_refused(motley_call_create(NULL, &good, &good, &what, &call, &error), &error, "context is NULL");
    cr_expect_eq(motley_context_backend(NULL), MOTLEY_BACKEND_AUTO);
    call_refused(motley_memory_copy(context, pixels + 1, pixels, 2, NULL, &error), &error, "from and to overlap");
    call_refused(motley_memory_copy(context, pixels, pixels + 1, 2, NULL, &error), &error, "from and to overlap");
    call_refused(motley_call_create(context, NULL, &good, NULL, &call, &error), &error, "src is NULL");
    call_refused(motley_call_create(context, &good, &good, NULL, NULL, &error), &error, "call is NULL");
    bad.width = 19;
    call_refused(motley_call_create(context, &good, &bad, &what, &call, &error), &error,
                 "size is 19x20, want src's 20x20");
    bad.channels = 1025;
    call_refused(motley_call_create(context, &bad, &bad, &what, &call, &error), &error, "channels is 1025");
    output.std[1] = -1;
    call_refused(motley_call_create(context, &good, NULL, &with_output, &call, &error), &error, "std[1] is -1");
    output.std[1] = 0;
    cr_expect_null(call);

    cr_assert(motley_call_create(context, &good, &dst, &what, &plain, NULL) == MOTLEY_OK);
    cr_assert(motley_call_create(context, &good, NULL, &with_output, &fused, NULL) == MOTLEY_OK);
    cr_assert(motley_call_create(context, &good, &good, &what, &in_place, NULL) == MOTLEY_OK);
    cr_assert(motley_call_create(context, &good, &dst, NULL, &no_policy, NULL) == MOTLEY_OK);
    cr_assert(motley_call_create(context, &good, &dst, &rotates, &of_op, NULL) == MOTLEY_OK);
    motley_apply_params params = { .output = output };
    params.output.batch.data = floats;
    call_refused(motley_call_run(NULL, pixels, NULL, NULL, NULL, &error), &error, "call is NULL");
    call_refused(motley_call_run(no_policy, pixels, pixels, NULL, NULL, &error), &error,
                 "policy is NULL, want one, or given_steps and given_step_counts");
    call_refused(motley_call_run(plain, NULL, pixels, NULL, NULL, &error), &error, "src is NULL");
    call_refused(motley_call_run(plain, pixels, NULL, NULL, NULL, &error), &error, "dst is NULL");
    call_refused(motley_call_run(plain, pixels, pixels + 3, NULL, NULL, &error), &error, "overlap");
    call_refused(motley_call_run(plain, pixels, pixels, floats, NULL, &error), &error, "the call has none");
    call_refused(motley_call_run(plain, pixels, pixels, NULL, &params, &error), &error, "params has an output");
    call_refused(motley_call_run(in_place, pixels, pixels, NULL, NULL, &error), &error, "works in place");
    call_refused(motley_call_run(fused, pixels, pixels, floats, NULL, &error), &error, "only an output");
    call_refused(motley_call_run(fused, pixels, NULL, NULL, NULL, &error), &error, "output is NULL");
    call_refused(motley_call_run(fused, pixels, NULL, (uint8_t *)floats + 1, NULL, &error), &error, "not aligned");
    call_refused(motley_call_run(fused, floats, NULL, floats, NULL, &error), &error, "shares memory");
    call_refused(motley_call_run(of_op, pixels, pixels, NULL, NULL, &error), &error, "rotate takes 1 value");
    cr_expect(motley_call_run(plain, pixels, pixels, NULL, NULL, &error) == MOTLEY_OK, "%s", error.message);
    motley_call_destroy(plain), motley_call_destroy(fused), motley_call_destroy(in_place), motley_call_destroy(NULL);
    motley_call_destroy(no_policy), motley_call_destroy(of_op);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

/* The k-th allocation fails, for every k; once made, a call allocates nothing. */
Test(call, failing_allocations)
{
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 1);
    motley_policy *policy = open_policy(0);
    images set;
    make_images(&set, 3, MOTLEY_HWC, 1);
    const motley_batch dst = set.batch;
    const motley_call_params what = { .policy = policy };
    motley_call *call = NULL;
    apply(context, policy, &set, &set, NULL); /* the context has what it needs */
    const long before = live;
    long refused = 0;
    for (motley_status status = MOTLEY_ERR_MEMORY; status != MOTLEY_OK; refused += status != MOTLEY_OK) {
        motley_error error = { 0 };
        until_failure = refused + 1;
        status = motley_call_create(context, &set.batch, &dst, &what, &call, &error);
        until_failure = 0;
        cr_assert(status == MOTLEY_OK || (status == MOTLEY_ERR_MEMORY && !call && live == before && error.message[0]));
    }
    cr_expect_eq(refused, 4);
    until_failure = 1;
    const motley_status status = motley_call_run(call, set.memory, set.memory, NULL, NULL, NULL);
    const long left = until_failure;
    until_failure = 0;
    cr_expect(status == MOTLEY_OK && left == 1, "a prepared call allocates");
    motley_call_destroy(call);
    cr_expect_eq(live, before);
    free_images(&set);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

/* ---- reliability ---- */

/* The k-th allocation fails, for every k, until all went well. */
Test(apply, failing_allocations)
{
    motley_policy *policy = open_policy(0);
    images src, dst, wanted;
    make_images(&src, 3, MOTLEY_HWC, 21);
    make_images(&dst, 3, MOTLEY_HWC, 22);
    make_images(&wanted, 3, MOTLEY_HWC, 22);
    const long before = live;
    for (int threads = 1; threads <= 2; threads++) {
        int refused = 0;
        for (long k = 1;; k++) {
            motley_context *context = NULL;
            motley_error error = { 0 };
            double values[IMAGES] = { 0 };
            until_failure = k;
            motley_status status = motley_context_create(
                &(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = threads }, &context, &error);
            if (status == MOTLEY_OK)
                status = motley_apply(context, policy, &src.batch, &dst.batch, NULL, &error);
            else
                cr_assert(context == NULL);
            if (status == MOTLEY_OK)
                status =
                    motley_op_apply(context, motley_op_find("rotate"), values, 1, &src.batch, &dst.batch, NULL, &error);
            else
                cr_assert(same_images(&dst, &wanted, 3), "dst was touched although allocation %ld failed", k);
            const int spent = until_failure == 0;
            until_failure = 0;
            motley_context_destroy(context);
            cr_assert(live == before, "allocation %ld of %d threads: %ld blocks are left", k, threads, live - before);
            if (!spent) {
                cr_assert(status == MOTLEY_OK);
                break;
            }
            cr_assert(status == MOTLEY_ERR_MEMORY, "allocation %ld: status %s", k, motley_status_name(status));
            cr_assert(error.status == status && error.message[0]);
            refused++;
            if (!same_images(&dst, &wanted, 3)) /* the policy went well, the op did not */
                for (size_t i = 0; i < IMAGES; i++)
                    memcpy(dst.memory[i], wanted.memory[i], wanted.bytes[i]);
        }
        for (size_t i = 0; i < IMAGES; i++)
            memcpy(dst.memory[i], wanted.memory[i], wanted.bytes[i]);
        cr_assert(refused >= 6, "only %d allocations were seen", refused);
    }
    free_images(&src), free_images(&dst), free_images(&wanted);
    motley_policy_destroy(policy);
}

/* After a failure the same context works once there is memory again. */
Test(apply, recovers_from_a_failure)
{
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 2);
    motley_policy *policy = open_policy(0);
    images a, b;
    make_images(&a, 3, MOTLEY_HWC, 1);
    make_images(&b, 3, MOTLEY_HWC, 1);
    long refused = 0;
    for (motley_status status = MOTLEY_ERR_MEMORY; status != MOTLEY_OK; refused += status != MOTLEY_OK) {
        cr_assert(same_images(&a, &b, 3));
        until_failure = refused + 1;
        status = motley_apply(context, policy, &a.batch, &a.batch, NULL, NULL);
        until_failure = 0;
        cr_assert(status == MOTLEY_OK || status == MOTLEY_ERR_MEMORY);
    }
    cr_assert(refused >= 3, "only %ld allocations were seen", refused);
    motley_context *reference = open_context(MOTLEY_BACKEND_REFERENCE, 1);
    apply(reference, policy, &b, &b, NULL);
    cr_assert(same_images(&a, &b, 3));
    free_images(&a), free_images(&b);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
    motley_context_destroy(reference);
}

static motley_status count_images(void *user, const motley_custom_batch *batch, motley_error *error)
{
    (void)error;
    *(size_t *)user += batch->count;
    return MOTLEY_OK;
}

/* A policy with a custom op between others, which only counts the images it gets. */
static motley_policy *open_custom_policy(size_t *seen)
{
    static const char text[] = "{motley: 1, name: counted, branches: [[invert, count, {op: rotate, value: 9}]]}";
    const motley_custom_op op = { .name = "count", .run = count_images, .user = seen };
    const motley_parse_params params = { .custom_ops = &op, .custom_ops_count = 1 };
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert(motley_policy_parse(text, strlen(text), &params, &policy, &error) == MOTLEY_OK, "%s", error.message);
    return policy;
}

/* Once a call has been made, the same again allocates nothing; a first one fails whole at whatever allocation. */
Test(apply, steady_state_allocates_nothing)
{
    size_t seen = 0;
    motley_policy *const policies[] = { open_policy(0), open_custom_policy(&seen) };
    for (int p = 0; p < 2; p++) {
        motley_context *context = open_context(MOTLEY_BACKEND_CPU, 2);
        images set;
        make_images(&set, 3, MOTLEY_HWC, 1);
        long refused = 0;
        for (motley_status status = MOTLEY_ERR_MEMORY; status != MOTLEY_OK; refused += status != MOTLEY_OK) {
            until_failure = refused + 1;
            status = motley_apply(context, policies[p], &set.batch, &set.batch, NULL, NULL);
            until_failure = 0;
            cr_assert(status == MOTLEY_OK || status == MOTLEY_ERR_MEMORY);
        }
        cr_expect(refused >= 3 + p, "only %ld allocations were seen", refused);
        until_failure = 1;
        const motley_status status = motley_apply(context, policies[p], &set.batch, &set.batch, NULL, NULL);
        const long left = until_failure;
        until_failure = 0;
        cr_expect(status == MOTLEY_OK && left == 1, "policy %d: the second call allocates", p);
        free_images(&set);
        motley_context_destroy(context);
        motley_policy_destroy(policies[p]);
    }
    cr_expect(seen >= 2 * IMAGES);
}

/* How many of the calls that are no policy's are not refused, in a process without the context's threads. */
static int not_refused(motley_context *context)
{
    static uint8_t in[4 * 8 * 8 * 3], out[4 * 8 * 8 * 3];
    static const char text[] = "motley: 1\nname: x\nstages:\n  - flip: {horizontal: 0.5}\n";
    const motley_batch src = { .count = 4, .channels = 3, .data = in, .width = 8, .height = 8 };
    motley_batch dst = src;
    dst.data = out;
    motley_policy *staged;
    if (motley_policy_parse(text, strlen(text), NULL, &staged, NULL))
        return 9;
    const motley_mixed none[4] = { { 0 } };
    const int others = (motley_apply(context, staged, &src, &dst, NULL, NULL) != MOTLEY_ERR_UNSUPPORTED) +
                       (motley_resize(context, &src, &dst, NULL, NULL) != MOTLEY_ERR_UNSUPPORTED) +
                       (motley_mix_apply(context, &src, &dst, none, NULL, NULL, NULL, NULL) != MOTLEY_ERR_UNSUPPORTED);
    motley_policy_destroy(staged);
    return others;
}

/* A context of one thread, used before and after a fork, in parent and child. */
Test(apply, one_thread_survives_a_fork)
{
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 1);
    motley_policy *policy = open_policy(0);
    images a, b;
    make_images(&a, 3, MOTLEY_HWC, 4);
    make_images(&b, 3, MOTLEY_HWC, 4);
    apply(context, policy, &a, &a, NULL);
    images c;
    make_images(&c, 3, MOTLEY_HWC, 4);
    motley_context *threaded = open_context(MOTLEY_BACKEND_CPU, 2), *idle = open_context(MOTLEY_BACKEND_CPU, 2);
    apply(threaded, policy, &c, &c, NULL); /* which starts its threads */
    free_images(&c);
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        const motley_status status = motley_apply(context, policy, &b.batch, &b.batch, NULL, NULL);
        motley_error error = { 0 };
#ifndef IN_PROCESS
        if (motley_apply(idle, policy, &b.batch, &b.batch, NULL, NULL)) /* its threads start here */
            _exit(3);
        make_images(&b, 3, MOTLEY_HWC, 4);
        apply(idle, policy, &b, &b, NULL);
#endif
        const motley_status other = motley_apply(threaded, policy, &b.batch, &b.batch, NULL, &error);
        if (not_refused(threaded))
            _exit(4);
        motley_context_destroy(threaded); /* must not wait for threads that this process does not have */
        if (other != MOTLEY_ERR_UNSUPPORTED || !strstr(error.message, "forked"))
            _exit(2);
        _exit(status == MOTLEY_OK && same_images(&a, &b, 3) ? 0 : 1);
    }
    int how = -1;
    cr_assert(waitpid(child, &how, 0) == child);
    cr_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    apply(threaded, policy, &b, &b, NULL); /* which the fork did not harm here */
    cr_assert(same_images(&a, &b, 3));
    free_images(&a), free_images(&b);
    motley_policy_destroy(policy);
    motley_context_destroy(idle);
    motley_context_destroy(threaded);
    motley_context_destroy(context);
}

/* ---- how many threads ---- */

static int threads_here(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = -2; /* . and .. */
    cr_assert(tasks != NULL);
    while (readdir(tasks))
        count++;
    closedir(tasks);
    return count;
}

Test(apply, threads_start_with_the_first_call_of_several_images)
{
    const int before = threads_here();
    motley_context *context = open_context(MOTLEY_BACKEND_CPU, 4);
    motley_policy *policy = open_policy(0);
    images set;
    make_images(&set, 3, MOTLEY_HWC, 4);
    motley_batch one = set.batch;
    one.count = 1;
    motley_error error = { 0 };
    cr_assert(motley_apply(context, policy, &one, &one, NULL, &error) == MOTLEY_OK, "%s", error.message);
    motley_resize_params nearest = { .filter = MOTLEY_FILTER_NEAREST };
    motley_batch other = one;
    other.images = &set.image[1];
    cr_assert(motley_resize(context, &one, &other, &nearest, &error) == MOTLEY_OK, "%s", error.message);
    cr_assert(threads_here() == before, "one image started %d threads", threads_here() - before);
    apply(context, policy, &set, &set, NULL);
    cr_assert(threads_here() == before + 3, "%d threads were started", threads_here() - before);
    motley_context_destroy(context);
    for (int turn = 0; turn < 1000 && threads_here() != before; turn++)
        usleep(1000); /* the system may list a joined thread for a moment */
    cr_assert(threads_here() == before);
    free_images(&set);
    motley_policy_destroy(policy);
}

/* Writes `text` to root + path, whose folders it makes. */
static void write_below(const char *root, const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        cr_assert(mkdir(whole, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Affinity, and quotas of cgroups of both versions as Linux writes them. */
Test(apply, threads_available)
{
    char root[] = "/tmp/motley_threads_XXXXXX", command[64];
    cr_assert(mkdtemp(root));
    const size_t all = mot_threads_available(root); /* no cgroup at all */
    cpu_set_t own, one;
    cr_assert(sched_getaffinity(0, sizeof own, &own) == 0 && all == (size_t)CPU_COUNT(&own));
    const size_t two = all < 2 ? all : 2;

    write_below(root, "/proc/self/cgroup", "0::/user.slice/job\n");
    cr_assert(mot_threads_available(root) == all); /* named, but not mounted */
    write_below(root, "/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
    cr_assert(mot_threads_available(root) == all);
    write_below(root, "/sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n");
    cr_assert(mot_threads_available(root) == two); /* one and a half */
    write_below(root, "/sys/fs/cgroup/user.slice/cpu.max", "30000 100000\n");
    cr_assert(mot_threads_available(root) == 1); /* the group around it */
    write_below(root, "/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
    write_below(root, "/sys/fs/cgroup/cpu.max", "20000 100000\n");
    cr_assert(mot_threads_available(root) == 1); /* a container's root */
    write_below(root, "/sys/fs/cgroup/cpu.max", "nonsense\n");

    write_below(root, "/proc/self/cgroup", "12:cpuset:/docker/7\n4:cpuacct,cpu:/docker/7\n0::/\n");
    cr_assert(mot_threads_available(root) == all);
    write_below(root, "/sys/fs/cgroup/cpuset/docker/7/cpu.max", "1000 100000\n"); /* another controller's */
    write_below(root, "/sys/fs/cgroup/cpu/docker/7/cpu.cfs_quota_us", "-1\n");
    write_below(root, "/sys/fs/cgroup/cpu/docker/7/cpu.cfs_period_us", "100000\n");
    cr_assert(mot_threads_available(root) == all);
    write_below(root, "/sys/fs/cgroup/cpu/docker/7/cpu.cfs_quota_us", "100000\n");
    cr_assert(mot_threads_available(root) == 1);
    write_below(root, "/proc/self/cgroup", "4:cpu:/not/here\n");
    cr_assert(mot_threads_available(root) == all);
    write_below(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    write_below(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    cr_assert(mot_threads_available(root) == 1); /* a container's root */

    write_below(root, "/proc/self/cgroup", "no cgroup\n1:\n");
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &own))
            CPU_SET(i, &one);
    cr_assert(sched_setaffinity(0, sizeof one, &one) == 0 && mot_threads_available(root) == 1);
    snprintf(command, sizeof command, "rm -r %s", root);
    cr_assert(system(command) == 0);
}

typedef struct sharer {
    const motley_policy *policy;
    images set;
} sharer;

static void *share(void *opaque)
{
    sharer *s = opaque;
    motley_context *context;
    if (motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = 2 }, &context, NULL))
        return NULL;
    motley_status status = MOTLEY_OK;
    for (uint32_t epoch = 0; epoch < 4 && status == MOTLEY_OK; epoch++)
        status = motley_apply(context, s->policy, &s->set.batch, &s->set.batch,
                              &(motley_apply_params){ .samples = { .epoch = epoch } }, NULL);
    motley_context_destroy(context);
    return status == MOTLEY_OK ? s : NULL;
}

/* One policy, many contexts, each with its own threads: for the thread sanitizer. */
Test(apply, contexts_share_a_policy)
{
    enum { SHARERS = 4 };
    motley_policy *policy = open_policy(0);
    sharer sharers[SHARERS];
    pthread_t threads[SHARERS];
    for (int i = 0; i < SHARERS; i++) {
        sharers[i].policy = policy;
        make_images(&sharers[i].set, 3, MOTLEY_HWC, 31);
        cr_assert(pthread_create(&threads[i], NULL, share, &sharers[i]) == 0);
    }
    for (int i = 0; i < SHARERS; i++) {
        void *done = NULL;
        cr_assert(pthread_join(threads[i], &done) == 0 && done == &sharers[i]);
        cr_assert(same_images(&sharers[0].set, &sharers[i].set, 3));
    }
    for (int i = 0; i < SHARERS; i++)
        free_images(&sharers[i].set);
    motley_policy_destroy(policy);
}
