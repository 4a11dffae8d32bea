/* SPDX-License-Identifier: Apache-2.0 */
/* Params structs of callers that are older or newer than the library, through every function that takes one. */
#include "motley.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 8

static uint8_t pixels[SIDE * SIDE];
static const motley_batch batch = { .count = 1, .channels = 1, .data = pixels, .width = SIDE, .height = SIDE };
static motley_context *context;
static motley_policy *policy;
static motley_policy *transform;
static motley_call *call;

static void open_all(void)
{
    static const char *const flip = "motley: 1\nname: x\nstages:\n  - flip: {horizontal: 0.5}\n";
    const motley_context_params one_thread = { .backend = MOTLEY_BACKEND_CPU, .threads = 1 };
    cr_assert_eq(motley_context_create(&one_thread, &context, NULL), MOTLEY_OK);
    cr_assert_eq(motley_policy_builtin("rand_augment", &policy, NULL), MOTLEY_OK);
    cr_assert_eq(motley_policy_parse(flip, strlen(flip), NULL, &transform, NULL), MOTLEY_OK);
    const motley_call_params of_policy = { .policy = policy };
    cr_assert_eq(motley_call_create(context, &batch, &batch, &of_policy, &call, NULL), MOTLEY_OK);
}

static void close_all(void)
{
    motley_call_destroy(call);
    motley_policy_destroy(transform);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

/* --- every function that takes a params struct --- */

static motley_status create(const void *params, motley_error *error)
{
    motley_context *made = (motley_context *)&made;
    const motley_status status = motley_context_create(params, &made, error);
    cr_expect_eq(made == NULL, status != MOTLEY_OK);
    motley_context_destroy(made);
    return status;
}

static motley_status apply(const void *params, motley_error *error)
{
    return motley_apply(context, policy, &batch, &batch, params, error);
}

static motley_status rand_augment(const void *params, motley_error *error)
{
    return motley_rand_augment(context, 1, 9, &batch, &batch, params, error);
}

static motley_status trivial_augment(const void *params, motley_error *error)
{
    return motley_trivial_augment(context, &batch, &batch, params, error);
}

static motley_status auto_augment(const void *params, motley_error *error)
{
    return motley_auto_augment(context, "svhn", &batch, &batch, params, error);
}

static motley_status call_create(const void *params, motley_error *error)
{
    motley_call *made = NULL;
    const motley_status status = motley_call_create(context, &batch, &batch, params, &made, error);
    motley_call_destroy(made);
    return status;
}

static motley_status call_run(const void *params, motley_error *error)
{
    return motley_call_run(call, pixels, NULL, NULL, params, error);
}

static motley_status op_apply(const void *params, motley_error *error)
{
    return motley_op_apply(context, motley_op_find("invert"), NULL, 0, &batch, &batch, params, error);
}

static motley_status call_of_op(const void *params, motley_error *error)
{
    const motley_call_params of_op = { .op = motley_op_get(motley_op_find("invert")), .op_params = params };
    return call_create(&of_op, error);
}

static motley_status resize(const void *params, motley_error *error)
{
    uint8_t small[4];
    const motley_batch dst = { .count = 1, .channels = 1, .data = small, .width = 2, .height = 2 };
    return motley_resize(context, &batch, &dst, params, error);
}

static motley_status parse(const void *params, motley_error *error)
{
    const char *const text = "motley: 1\nname: x\nbranches: [invert]\n";
    motley_policy *made = (motley_policy *)&made;
    const motley_status status = motley_policy_parse(text, strlen(text), params, &made, error);
    cr_expect_eq(made == NULL, status != MOTLEY_OK);
    motley_policy_destroy(made);
    return status;
}

static motley_status parse_transform(const void *params, motley_error *error)
{
    const char *const text = "motley: 1\nname: x\nbranches: [invert]\n";
    motley_policy *made = (motley_policy *)&made;
    const motley_status status = motley_policy_parse(text, strlen(text), params, &made, error);
    cr_expect_eq(made == NULL, status != MOTLEY_OK);
    motley_policy_destroy(made);
    return status;
}

static motley_status follower(const void *params, motley_error *error)
{
    motley_policy *made = (motley_policy *)&made;
    const motley_status status = motley_policy_follower(policy, params, &made, error);
    cr_expect_eq(made == NULL, status != MOTLEY_OK);
    motley_policy_destroy(made);
    return status;
}

static motley_status follow(const void *params, motley_error *error)
{
    return motley_follow(&(motley_drawn){ 0 }, params, error);
}

static motley_status apply_transform(const void *params, motley_error *error)
{
    uint8_t out[SIDE * SIDE];
    motley_batch dst = batch;
    dst.data = out;
    return motley_apply(context, transform, &batch, &dst, params, error);
}

static motley_status from_dlpack(const void *params, motley_error *error)
{
    int64_t shape[] = { SIDE, SIDE, 1 };
    struct { /* DLManagedTensor */
        void *data;
        int32_t device[2], ndim;
        uint8_t code, bits;
        uint16_t lanes;
        int64_t *shape, *strides;
        uint64_t byte_offset;
        void *manager, *deleter;
    } tensor = { .data = pixels, .device = { 1, 0 }, .ndim = 3, .code = 1, .bits = 8, .lanes = 1, .shape = shape };
    motley_batch made;
    return motley_batch_from_dlpack(&tensor, params, &made, NULL, error);
}

static motley_status create_mix(const void *params, motley_error *error)
{
    motley_mix *made = (motley_mix *)&made;
    ((motley_mix_params *)params)->mixup = 1; /* of all fields, this one has no default */
    const motley_status status = motley_mix_create(params, &made, error);
    cr_expect_eq(made == NULL, status != MOTLEY_OK);
    motley_mix_destroy(made);
    return status;
}

#define TYPE(type) #type, sizeof(type)

static const struct {
    const char *type;
    size_t size;
    motley_status (*run)(const void *params, motley_error *error);
    size_t least; /* bytes without which the function cannot do anything */
} functions[] = {
    { TYPE(motley_context_params), create, sizeof(size_t) },
    { TYPE(motley_apply_params), apply, sizeof(size_t) },
    { TYPE(motley_apply_params), rand_augment, sizeof(size_t) },
    { TYPE(motley_apply_params), trivial_augment, sizeof(size_t) },
    { TYPE(motley_apply_params), auto_augment, sizeof(size_t) },
    { TYPE(motley_apply_params), call_run, sizeof(size_t) },
    { TYPE(motley_call_params), call_create, sizeof(size_t) },
    { TYPE(motley_op_params), op_apply, sizeof(size_t) },
    { TYPE(motley_op_params), call_of_op, sizeof(size_t) },
    { TYPE(motley_resize_params), resize, sizeof(size_t) },
    { TYPE(motley_parse_params), parse, sizeof(size_t) },
    { TYPE(motley_parse_params), parse_transform, sizeof(size_t) },
    { TYPE(motley_follower_params), follower, sizeof(size_t) },
    { TYPE(motley_followed), follow, sizeof(size_t) },
    { TYPE(motley_apply_params), apply_transform, sizeof(size_t) },
    { TYPE(motley_dlpack_params), from_dlpack, sizeof(size_t) },
    { TYPE(motley_mix_params), create_mix, offsetof(motley_mix_params, cutmix) },
};

/* Runs function f with a struct of `size` bytes, all zero but struct_size and, unless it is 0, byte `set`. The block
 * ends where the struct does, for the address sanitizer. */
static motley_status with_size(size_t f, size_t struct_size, size_t size, size_t set, motley_error *error)
{
    unsigned char *params = calloc(1, size);
    cr_assert_not_null(params);
    memcpy(params, &struct_size, sizeof struct_size);
    if (set)
        params[set] = 1;
    const motley_status status = functions[f].run(params, error);
    free(params);
    return status;
}

Test(params, every_size, .init = open_all, .fini = close_all)
{
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        const char *const type = functions[f].type;
        const size_t size = functions[f].size;
        motley_error error = { 0 };
        for (size_t older = functions[f].least; older <= size; older++)
            cr_expect_eq(with_size(f, older, older, 0, &error), MOTLEY_OK, "%s, %zu bytes: %s", type, older,
                         error.message);
        cr_expect_eq(with_size(f, 0, size, 0, &error), MOTLEY_OK, "%s: %s", type, error.message);
        cr_expect_eq(with_size(f, size + 40, size + 40, 0, &error), MOTLEY_OK, "%s: %s", type, error.message);

        cr_expect_eq(with_size(f, size + 40, size + 40, size + 39, &error), MOTLEY_ERR_UNSUPPORTED, "%s", type);
        cr_expect(strstr(error.message, type) && strstr(error.message, "older than the caller"), "%s", error.message);
        const size_t wrong[] = { 1, sizeof(size_t) - 1, 4097, (size_t)-1 };
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            cr_expect_eq(with_size(f, wrong[i], size, 0, &error), MOTLEY_ERR_ARGUMENT, "%s, struct_size %zu", type,
                         wrong[i]);
            cr_expect(strstr(error.message, "struct_size") && strstr(error.message, type), "%s", error.message);
        }
    }
}

/* What an older caller knows counts: its seed, and the number of its threads. */
Test(params, fields_of_an_older_caller, .init = open_all, .fini = close_all)
{
    uint8_t image[2][SIDE * SIDE];
    for (int older = 0; older < 2; older++) {
        for (int i = 0; i < SIDE * SIDE; i++)
            image[older][i] = (uint8_t)(i * 37);
        motley_batch one = batch;
        one.data = image[older];
        motley_apply_params params = { .samples = { .seed = 7 } };
        if (older) {
            params.struct_size = offsetof(motley_apply_params, stream);
            params.stream = &params; /* not the caller's: refused if it is read */
        }
        cr_assert_eq(motley_apply(context, policy, &one, &one, &params, NULL), MOTLEY_OK);
    }
    cr_expect_arr_eq(image[0], image[1], sizeof image[0]);
    motley_context_params params = { .struct_size = offsetof(motley_context_params, allocate), .threads = 2000 };
    motley_error error;
    cr_expect_eq(create(&params, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "threads is 2000"), "%s", error.message);
}
