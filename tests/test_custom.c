/* SPDX-License-Identifier: Apache-2.0 */
/* Custom ops: ones that call ops of the table on the sub-batch they get must give the bytes of a policy that names
 * those ops directly, with any steps before and after them; a custom op gets every image once per step that the image
 * drew.
 *
 *     test_custom cpu|reference|cuda [--require]
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. */
#include "tests/batches.h"

#include <stdio.h>

#define IMAGES 90
#define SIDE 33
#define ROOM (IMAGES * SIDE * SIDE * 3)

/* "my_" before an op: the caller's, which runs that op. */
static const char policy_text[] = "motley: 1\n"
                                  "name: mine\n"
                                  "repeat: {weights: [1, 2, 3, 2]}\n"
                                  "bins: 11\n"
                                  "level: uniform\n"
                                  "ops:\n"
                                  "  my_rotate: {range: [0, 30], sign: random}\n"
                                  "  my_translate_x: {range: [0, 0.5], sign: random, of: width, round: trunc}\n"
                                  "  posterize: {range: [8, 2]}\n"
                                  "  shear_x: {range: [0, 0.3], sign: random}\n"
                                  "branches:\n"
                                  "  - my_rotate\n"
                                  "  - my_translate_x\n"
                                  "  - posterize\n"
                                  "  - [shear_x, {op: my_invert, p: 0.7}, equalize]\n"
                                  "  - [my_invert, {op: my_rotate, value: 17}, {op: brightness, value: 1.5}]\n"
                                  "  - [{op: sharpness, p: 0.5, value: 1.9}, auto_contrast]\n";

/* What a custom op gets besides the sub-batch, and what it saw. */
typedef struct helper {
    const char *op;
    const motley_batch *whole;
    motley_samples samples;
    long calls, images, failing_call; /* failing_call: 1 fails at the first; 0: none fails */
    double least, most;               /* of the drawn uniform numbers */
} helper;

static motley_status run(void *user, const motley_custom_batch *batch, motley_error *error)
{
    helper *const h = user;
    const int op = motley_op_find(h->op), takes = motley_op_get(op)->values_max;
    double values[IMAGES];
    if (++h->calls == h->failing_call) {
        *error = (motley_error){ .status = MOTLEY_ERR_IO, .message = "the disk is full" };
        return MOTLEY_ERR_IO;
    }
    for (size_t k = 0; k < batch->count; k++) {
        const size_t i = batch->indices[k];
        check(k == 0 || i > batch->indices[k - 1], "indices are not ascending");
        check(batch->ids[k] == (h->samples.ids ? h->samples.ids[i] : h->samples.first + i), "an id is wrong");
        check(batch->images.images[k].width == h->whole->images[i].width &&
                  batch->images.images[k].height == h->whole->images[i].height,
              "an image has another size");
        values[k] = batch->values[k][0];
        for (int u = 1; u < 3; u++) {
            const double x = batch->values[k][u];
            h->least = x < h->least ? x : h->least;
            h->most = x > h->most ? x : h->most;
        }
    }
    h->images += (long)batch->count;
    return motley_op_apply(batch->context, op, takes ? values : NULL, takes ? 1 : 0, &batch->images, &batch->images,
                           &(motley_op_params){ .stream = batch->stream }, error);
}

static helper helpers[3] = { { .op = "rotate" }, { .op = "translate_x" }, { .op = "invert" } };

static const motley_custom_op ops[3] = {
    { .name = "my_rotate", .unit = "degrees", .minimum = -30, .maximum = 30, .run = run, .user = &helpers[0] },
    { .name = "my_translate_x", .unit = "pixels", .minimum = -1000, .maximum = 1000, .run = run, .user = &helpers[1] },
    { .name = "my_invert", .run = run, .user = &helpers[2] },
};

static motley_policy *parse(const char *text)
{
    const motley_parse_params params = { .custom_ops = ops, .custom_ops_count = 3 };
    motley_policy *policy;
    motley_error error;
    need(motley_policy_parse(text, strlen(text), &params, &policy, &error) == MOTLEY_OK, error.message);
    return policy;
}

/* The same policy with the table's ops. */
static motley_policy *parse_plain(void)
{
    char text[sizeof policy_text];
    size_t used = 0;
    for (const char *at = policy_text; *at; at += strncmp(at, "my_", 3) == 0 ? 3 : 1)
        if (strncmp(at, "my_", 3) != 0)
            text[used++] = *at;
    text[used] = '\0';
    return parse(text);
}

/* ---- a batch of mixed sizes, on the context's device ---- */

typedef struct set {
    uint8_t *memory;
    motley_image images[IMAGES];
    motley_batch batch;
} set;

static void make_set(set *s, motley_context *context, uint64_t state)
{
    static uint8_t host[ROOM];
    for (size_t i = 0; i < ROOM; i++)
        host[i] = (uint8_t)input_random(&state);
    void *memory;
    need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, ROOM, &memory, NULL) == MOTLEY_OK, "no memory");
    need(motley_memory_copy(context, memory, host, ROOM, NULL, NULL) == MOTLEY_OK, "copying failed");
    s->memory = memory;
    for (size_t i = 0; i < IMAGES; i++) {
        const int32_t w = 1 + (int32_t)(i * 7 % SIDE), h = 1 + (int32_t)(i * 5 % SIDE);
        s->images[i] = (motley_image){ s->memory + i * SIDE * SIDE * 3, w, h, 3 * w, 3, 1 };
    }
    s->batch = (motley_batch){ .count = IMAGES, .channels = 3, .images = s->images };
}

static int same_bytes(motley_context *context, const void *a, const void *b, size_t bytes)
{
    uint8_t *const x = malloc(bytes), *const y = malloc(bytes);
    need(x && y && motley_memory_copy(context, x, a, bytes, NULL, NULL) == MOTLEY_OK &&
             motley_memory_copy(context, y, b, bytes, NULL, NULL) == MOTLEY_OK &&
             motley_context_wait(context, NULL, NULL) == MOTLEY_OK,
         "copying back failed");
    const int same = memcmp(x, y, bytes) == 0;
    free(x);
    free(y);
    return same;
}

static void destroy_set(motley_context *context, set *s)
{
    motley_memory_destroy(context, s->memory);
}

/* ---- what must hold ---- */

static void begin(const set *s, const motley_apply_params *params)
{
    for (int i = 0; i < 3; i++) {
        helpers[i].whole = &s->batch;
        helpers[i].samples = params->samples;
        helpers[i].calls = helpers[i].images = 0;
    }
}

/* How often each custom op was drawn, against how many images its function got. */
static void check_visits(const motley_policy *policy, const set *s, const motley_samples *samples)
{
    const size_t room = motley_policy_describe(policy)->max_steps;
    int32_t widths[IMAGES], heights[IMAGES], counts[IMAGES];
    motley_step *const steps = calloc(IMAGES * room, sizeof *steps);
    long drawn[3] = { 0 };
    for (size_t i = 0; i < IMAGES; i++)
        widths[i] = s->images[i].width, heights[i] = s->images[i].height;
    need(steps && motley_draw(policy, samples, IMAGES, widths, heights, 3, NULL, steps, counts, NULL) == MOTLEY_OK,
         "draw");
    for (size_t i = 0; i < IMAGES; i++)
        for (int32_t k = 0; k < counts[i]; k++) {
            const motley_step *step = &steps[i * room + (size_t)k];
            if (step->op < motley_op_count())
                continue;
            drawn[step->op - motley_op_count()]++;
            check(step->values_count == 3 &&
                      strcmp(motley_policy_op(policy, step->op)->name, ops[step->op - motley_op_count()].name) == 0,
                  "a custom step is reported wrong");
        }
    for (int i = 0; i < 3; i++)
        check(drawn[i] > 0 && helpers[i].images == drawn[i], "a custom op was not called once per image that drew it");
    free(steps);
}

static void check_equal(motley_context *context, const motley_policy *mine, const motley_policy *plain, uint32_t epoch)
{
    uint64_t ids[IMAGES];
    uint32_t views[IMAGES];
    for (uint32_t i = 0; i < IMAGES; i++)
        ids[i] = 7 * i + 3, views[i] = i % 3;
    const motley_apply_params params = { .samples = { .seed = 5,
                                                      .epoch = epoch,
                                                      .first = 100,
                                                      .ids = epoch == 1 ? ids : NULL,
                                                      .view = epoch == 3 ? 9 : 0,
                                                      .views = epoch == 2 ? views : NULL } };
    set wanted, in_place, from, to;
    motley_error error;
    make_set(&wanted, context, 1);
    make_set(&in_place, context, 1);
    make_set(&from, context, 1);
    make_set(&to, context, 2);
    need(motley_apply(context, plain, &wanted.batch, &wanted.batch, &params, &error) == MOTLEY_OK, error.message);
    begin(&in_place, &params);
    need(motley_apply(context, mine, &in_place.batch, &in_place.batch, &params, &error) == MOTLEY_OK, error.message);
    check_visits(mine, &in_place, &params.samples);
    check(same_bytes(context, wanted.memory, in_place.memory, ROOM), "in place: other bytes than the table's ops");
    begin(&from, &params);
    need(motley_apply(context, mine, &from.batch, &to.batch, &params, &error) == MOTLEY_OK, error.message);
    destroy_set(context, &wanted), destroy_set(context, &in_place);
    make_set(&wanted, context, 2); /* the bytes between the images stay */
    make_set(&in_place, context, 1);
    need(motley_apply(context, plain, &in_place.batch, &wanted.batch, &params, &error) == MOTLEY_OK, error.message);
    check(same_bytes(context, wanted.memory, to.memory, ROOM), "src to dst: other bytes than the table's ops");
    check(same_bytes(context, in_place.memory, from.memory, ROOM), "src to dst: src changed");
    destroy_set(context, &wanted), destroy_set(context, &in_place), destroy_set(context, &from);
    destroy_set(context, &to);
}

/* Only an output: its components hold the pixels between passes. */
static void check_output(motley_context *context, const motley_policy *mine, const motley_policy *plain,
                         motley_dtype dtype, motley_layout layout)
{
    static const size_t sizes[] = { 1, 4, 2, 2 };
    enum { SAMPLES = IMAGES * SIDE * SIDE * 3 };
    const size_t bytes = SAMPLES * sizes[dtype];
    set from;
    motley_error error;
    void *outputs[2];
    make_set(&from, context, 9);
    for (size_t i = 0; i < IMAGES; i++)
        from.images[i] = (motley_image){ from.memory + i * SIDE * SIDE * 3, SIDE, SIDE, 3 * SIDE, 3, 1 };
    for (int i = 0; i < 2; i++) {
        need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, bytes, &outputs[i], NULL) == MOTLEY_OK, "no memory");
        const motley_apply_params params = { .samples = { .seed = 8 },
                                             .output = { .batch = { .count = IMAGES,
                                                                    .channels = 3,
                                                                    .dtype = dtype,
                                                                    .layout = layout,
                                                                    .data = outputs[i],
                                                                    .width = SIDE,
                                                                    .height = SIDE },
                                                         .mean = { 0.5f, 0.4f, 0.3f },
                                                         .std = { 0.2f, 0.3f, 0.4f } } };
        begin(&from, &params);
        need(motley_apply(context, i ? mine : plain, &from.batch, NULL, &params, &error) == MOTLEY_OK, error.message);
    }
    check(same_bytes(context, outputs[0], outputs[1], bytes), "output: other bytes than the table's ops");
    motley_memory_destroy(context, outputs[0]);
    motley_memory_destroy(context, outputs[1]);
    destroy_set(context, &from);
}

static motley_status apply_again(void *user, const motley_custom_batch *batch, motley_error *error)
{
    return motley_apply(batch->context, user, &batch->images, &batch->images,
                        &(motley_apply_params){ .stream = batch->stream }, error);
}

static void check_failures(motley_context *context, const motley_policy *mine)
{
    const motley_apply_params params = { .samples = { .seed = 5 } };
    set s;
    motley_error error;
    make_set(&s, context, 1);
    begin(&s, &params);
    helpers[0].failing_call = 1;
    wants_error(motley_apply(context, mine, &s.batch, &s.batch, &params, &error), MOTLEY_ERR_IO, &error,
                "custom op 'my_rotate': the disk is full");
    helpers[0].failing_call = 0;
    need(motley_apply(context, mine, &s.batch, &s.batch, &params, &error) == MOTLEY_OK, "after a failure it works");

    /* A function may apply another policy on the context, but none with custom ops. */
    static const char text[] = "{motley: 1, name: nested, branches: [again]}";
    motley_policy *inner, *outer[2];
    need(motley_policy_builtin("trivial_augment_wide", &inner, &error) == MOTLEY_OK, error.message);
    for (int i = 0; i < 2; i++) {
        const motley_custom_op op = { .name = "again", .run = apply_again, .user = i ? (void *)outer[0] : inner };
        const motley_parse_params with = { .custom_ops = &op, .custom_ops_count = 1 };
        need(motley_policy_parse(text, strlen(text), &with, &outer[i], &error) == MOTLEY_OK, error.message);
    }
    need(motley_apply(context, outer[0], &s.batch, &s.batch, NULL, &error) == MOTLEY_OK, error.message);
    wants_error(motley_apply(context, outer[1], &s.batch, &s.batch, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
                "on the context that called it");
    motley_policy_destroy(outer[0]);
    motley_policy_destroy(outer[1]);
    motley_policy_destroy(inner);
    destroy_set(context, &s);
}

static void refused(const motley_custom_op *op, size_t count, const char *piece)
{
    static const char text[] = "{motley: 1, name: some, branches: [invert]}";
    const motley_parse_params params = { .custom_ops = op, .custom_ops_count = count };
    motley_policy *policy;
    motley_error error = { 0 };
    wants_error(motley_policy_parse(text, strlen(text), &params, &policy, &error), MOTLEY_ERR_ARGUMENT, &error, piece);
}

static void check_table(void)
{
    const motley_custom_op twice[2] = { ops[2], ops[2] };
    refused(&(motley_custom_op){ .run = run }, 1, "custom op 0: its name is NULL");
    refused(&(motley_custom_op){ .name = "9th", .run = run }, 1, "its name is '9th', want at most");
    refused(&(motley_custom_op){ .name = "invert", .run = run }, 1,
            "'invert' is the name of an operation of the table");
    refused(&(motley_custom_op){ .name = "mine" }, 1, "custom op 'mine': its function is NULL");
    refused(&(motley_custom_op){ .name = "mine", .unit = "px", .minimum = 3, .maximum = 2, .run = run }, 1,
            "its range is 3..2");
    refused(twice, 2, "custom ops 0 and 1 are both called 'my_invert'");
    refused(NULL, 1, "custom_ops is NULL");
    refused(ops, 33, "33 custom ops were given, want at most 32");
}

static void wrong_text(const char *text, const char *piece)
{
    const motley_parse_params params = { .custom_ops = ops, .custom_ops_count = 3 };
    motley_policy *policy;
    motley_error error = { 0 };
    wants_error(motley_policy_parse(text, strlen(text), &params, &policy, &error), MOTLEY_ERR_POLICY, &error, piece);
}

static void check_texts(const motley_policy *mine)
{
    wrong_text("{motley: 1, name: x, branches: [my_rotat]}", "unknown operation 'my_rotat', did you mean 'my_rotate'?");
    wrong_text("{motley: 1, name: x, branches: [my_rotate]}", "has no range to take a level from");
    wrong_text("{motley: 1, name: x, branches: [{op: my_rotate, value: 31}]}", "gets the value 31, want -30..30");
    wrong_text("{motley: 1, name: x, branches: [{op: my_invert, value: 1}]}", "takes no value");
    char *text;
    motley_error error;
    need(motley_policy_print(mine, MOTLEY_PRINT_TEXT, &text, &error) == MOTLEY_OK, error.message);
    motley_policy *again = parse(text);
    check(motley_policy_equal(mine, again), "printed and parsed it is another policy");
    check(motley_policy_op(again, motley_op_count() + 2) && !motley_policy_op(again, motley_op_count() + 3) &&
              !motley_policy_op(again, -1),
          "printed and parsed it has other ops");
    motley_policy_destroy(again);
    free(text);
}

static motley_backend backend_of(const char *name)
{
    return strcmp(name, "cuda") == 0        ? MOTLEY_BACKEND_CUDA
           : strcmp(name, "reference") == 0 ? MOTLEY_BACKEND_REFERENCE
                                            : MOTLEY_BACKEND_CPU;
}

/* A dst of floats gets the values of an output without mean and std. */
static void check_floats(motley_context *context, const motley_policy *mine, const motley_policy *plain)
{
    enum { VALUES = IMAGES * SIDE * SIDE * 3 };
    set from;
    motley_error error;
    void *outputs[2];
    make_set(&from, context, 9);
    for (int i = 0; i < 2; i++) {
        motley_image images[IMAGES];
        need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, VALUES * sizeof(float), &outputs[i], NULL) ==
                 MOTLEY_OK,
             "no memory");
        for (size_t k = 0; k < IMAGES; k++) {
            const int32_t w = from.images[k].width, h = from.images[k].height;
            images[k] = (motley_image){ (float *)outputs[i] + k * SIDE * SIDE * 3, w, h, 4 * w, 4, 4 * w * h };
        }
        const motley_batch dst = { .count = IMAGES, .channels = 3, .dtype = MOTLEY_F32, .images = images };
        static float blank[VALUES]; /* what lies between the images */
        need(motley_memory_copy(context, outputs[i], blank, sizeof blank, NULL, NULL) == MOTLEY_OK, "copying failed");
        const motley_apply_params params = { .samples = { .seed = 8 } };
        begin(&from, &params);
        need(motley_apply(context, i ? mine : plain, &from.batch, &dst, &params, &error) == MOTLEY_OK, error.message);
    }
    check(same_bytes(context, outputs[0], outputs[1], VALUES * sizeof(float)), "floats: other than the table's ops");
    motley_memory_destroy(context, outputs[0]);
    motley_memory_destroy(context, outputs[1]);
    destroy_set(context, &from);
}

int main(int argc, char **argv)
{
    motley_context *context;
    motley_error error;
    need(argc > 1, "usage: test_custom cpu|reference|cuda [--require]");
    const motley_context_params params = { .backend = backend_of(argv[1]) };
    if (motley_context_create(&params, &context, &error) != MOTLEY_OK) {
        printf("skipped: %s\n", error.message);
        return argc > 2 ? 1 : SKIPPED;
    }
    motley_policy *mine = parse(policy_text), *plain = parse_plain();
    for (uint32_t epoch = 0; epoch < 4; epoch++)
        check_equal(context, mine, plain, epoch);
    const helper *h = &helpers[0];
    check(h->least >= 0 && h->least < 0.1 && h->most > 0.9 && h->most < 1, "the drawn numbers do not fill 0..1");
    for (int dtype = MOTLEY_U8; dtype <= MOTLEY_BF16; dtype++)
        for (int layout = 0; layout < 2; layout++)
            check_output(context, mine, plain, (motley_dtype)dtype, (motley_layout)layout);
    check_failures(context, mine);
    check_floats(context, mine, plain);
    check_table();
    check_texts(mine);
    motley_policy_destroy(mine);
    motley_policy_destroy(plain);
    motley_context_destroy(context);
    printf("%s: %d failures\n", argv[1], failures);
    return failures > 0;
}
