/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that work in the boxes of an image: every way to apply them gives the same bytes, and what is refused.
 * bindings/python/tests/test_boxes.py compares random words, and pixels with Pillow's. */
#include "tests/inputs.h"

#include <criterion/criterion.h>
#include <motley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 40
#define W 47
#define H 33
#define BYTES ((size_t)N * W * H * 3)

static const char *const text =
    "motley: 1\nname: boxed\ntop: 10\nfill: [9, 99, 200]\ninterpolation: bilinear\nops:\n"
    "  turn: {op: rotate, range: [0, 90], inside: boxes, sign: random}\n"
    "  even: {op: equalize, inside: boxes}\n"
    "  hole: {op: cutout, range: [0, 20], inside: boxes}\n"
    "branches:\n"
    "  - [{op: shear_x, value: 0.4}, {op: turn, level: 3}, {op: even, p: 0.5}, invert, {op: bbox_cutout, value: 0.4}]\n"
    "  - [even, {op: turn, level: 9}, {op: hole, level: 5}, {op: posterize, value: 3}]\n";

typedef struct run {
    motley_context *context;
    motley_policy *policy;
    motley_samples samples;
    double boxes[8 * N];
    size_t offsets[N + 1];
    uint8_t *in, *out;
} run;

static run begin(motley_backend backend, const char *policy)
{
    run r = { .samples = { .seed = 5, .first = 70 } };
    motley_error error;
    const motley_context_params params = { .backend = backend, .threads = 2 };
    cr_assert_eq(motley_context_create(&params, &r.context, &error), MOTLEY_OK, "%s", error.message);
    cr_assert_eq(motley_policy_parse(policy, strlen(policy), NULL, &r.policy, &error), MOTLEY_OK, "%s", error.message);
    r.in = malloc(BYTES);
    r.out = malloc(BYTES);
    for (int i = 0; i < N; i++)
        input_fill((input_kind)(i % INPUT_KINDS), (uint64_t)i, (input_size){ W, H }, 3, r.in + (size_t)i * W * H * 3);
    return r;
}

static void end(run *r)
{
    free(r->in);
    free(r->out);
    motley_policy_destroy(r->policy);
    motley_context_destroy(r->context);
}

static motley_batch batch_of(uint8_t *data)
{
    return (motley_batch){ .count = N, .channels = 3, .data = data, .width = W, .height = H };
}

/* The reference's result, in one batch. */
static uint8_t *wanted(void)
{
    run r = begin(MOTLEY_BACKEND_REFERENCE, text);
    motley_error error;
    const motley_batch src = batch_of(r.in), dst = batch_of(r.out);
    input_boxes(&r.samples, r.boxes, r.offsets, N, W, H);
    cr_assert_eq(motley_apply(r.context, r.policy, &src, &dst, &(motley_apply_params){ .samples = r.samples }, &error),
                 MOTLEY_OK, "%s", error.message);
    uint8_t *made = r.out;
    cr_assert(memcmp(made, r.in, BYTES) != 0);
    r.out = NULL;
    end(&r);
    return made;
}

Test(boxes, every_road_gives_the_same_bytes)
{
    uint8_t *want = wanted();
    run r = begin(MOTLEY_BACKEND_CPU, text);
    motley_error error;
    const size_t most = input_most_steps(r.policy, 2), image = (size_t)W * H * 3;
    motley_step *steps = calloc(2 * N * most, sizeof *steps), *drawn = steps + N * most;
    int32_t counts[N], drawn_counts[N], widths[N], heights[N], inside = 0;
    const motley_batch src = batch_of(r.in), dst = batch_of(r.out);
    input_boxes(&r.samples, r.boxes, r.offsets, N, W, H);
    cr_expect_eq(motley_policy_describe(r.policy)->takes_boxes, 1);

    motley_apply_params params = { .samples = r.samples, .steps = steps, .step_counts = counts };
    cr_assert_eq(motley_apply(r.context, r.policy, &src, &dst, &params, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_arr_eq(r.out, want, BYTES);

    for (int i = 0; i < N; i++)
        widths[i] = W, heights[i] = H;
    cr_assert_eq(motley_draw(r.policy, &r.samples, N, widths, heights, 3, NULL, drawn, drawn_counts, &error),
                 MOTLEY_OK);
    cr_expect_arr_eq(drawn_counts, counts, sizeof counts);
    for (int i = 0; i < N; i++)
        for (int32_t s = 0; s < counts[i]; s++) {
            const motley_step *a = &drawn[(size_t)i * most + (size_t)s], *b = &steps[(size_t)i * most + (size_t)s];
            cr_assert(a->op == b->op && a->values[0] == b->values[0]);
            cr_assert_arr_eq(a->inside, b->inside, sizeof a->inside);
            inside += a->inside[2] > 0;
        }
    cr_expect_gt(inside, N);
    memset(r.out, 0, BYTES);
    const motley_apply_params given = { .given_steps = drawn,
                                        .given_step_counts = drawn_counts,
                                        .given_max_steps = most,
                                        .given_widths = widths,
                                        .given_heights = heights };
    cr_assert_eq(motley_apply(r.context, r.policy, &src, &dst, &given, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_arr_eq(r.out, want, BYTES);

    for (size_t i = 0; i < N; i++) { /* one by one, in place */
        const motley_batch one = { .count = 1, .channels = 3, .data = r.in + i * image, .width = W, .height = H };
        params = (motley_apply_params){ .samples = r.samples };
        params.samples.first += i;
        params.samples.box_offsets += i;
        cr_assert_eq(motley_apply(r.context, r.policy, &one, &one, &params, &error), MOTLEY_OK, "%s", error.message);
    }
    cr_expect_arr_eq(r.in, want, BYTES);
    free(steps);
    end(&r);
    free(want);
}

Test(boxes, images_without_boxes_keep_the_other_steps)
{
    static const char *const plain = "motley: 1\nname: x\nbranches: [invert]\n",
                             *const boxed = "motley: 1\nname: x\nops: {e: {op: equalize, inside: boxes}}\n"
                                            "branches: [[e, invert, {op: bbox_cutout, value: 1}]]\n";
    run a = begin(MOTLEY_BACKEND_CPU, plain), b = begin(MOTLEY_BACKEND_CPU, boxed);
    const motley_batch from_a = batch_of(a.in), from_b = batch_of(b.in);
    b.samples.box_offsets = b.offsets;
    for (int i = 0; i <= N; i++) /* behind those of another batch */
        b.offsets[i] = 3;
    motley_error error;
    cr_assert_eq(motley_apply(a.context, a.policy, &from_a, &from_a, NULL, NULL), MOTLEY_OK);
    cr_assert_eq(
        motley_apply(b.context, b.policy, &from_b, &from_b, &(motley_apply_params){ .samples = b.samples }, &error),
        MOTLEY_OK, "%s", error.message);
    cr_expect_arr_eq(a.in, b.in, BYTES);
    end(&a);
    end(&b);
}

static void fails(run *r, const char *words)
{
    uint8_t *before = malloc(BYTES);
    memcpy(before, r->in, BYTES);
    motley_error error;
    const motley_batch batch = batch_of(r->in);
    cr_expect_eq(
        motley_apply(r->context, r->policy, &batch, &batch, &(motley_apply_params){ .samples = r->samples }, &error),
        MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, words), "'%s' does not say '%s'", error.message, words);
    cr_expect_arr_eq(r->in, before, BYTES);
    free(before);
}

Test(boxes, wrong_boxes_are_refused)
{
    run r = begin(MOTLEY_BACKEND_CPU, text);
    fails(&r, "samples.box_offsets is NULL");
    input_boxes(&r.samples, r.boxes, r.offsets, N, W, H);
    r.offsets[4] = 1;
    fails(&r, "box_offsets falls from 6 to 1 after image 3");
    r.offsets[4] = 8;
    r.samples.boxes = NULL;
    fails(&r, "samples.boxes is NULL, want 80 boxes");
    r.samples.boxes = r.boxes;
    r.boxes[8 * 7 + 4] = W + 1;
    fails(&r, "image 7, box 1 is (");
    r.boxes[8 * 7 + 4] = 1e300 * 1e10;
    fails(&r, "image 7, box 1 has inf");
    end(&r);
}

/* As the only stage, also with numbers that change with the epoch, it does the same; tests/test_stops.c mixes stages.
 */
Test(boxes, a_stage_works_in_them)
{
    static const char *const forms[] = { "stages:\n  - policy: %s\n",
                                         "stages:\n  - grayscale: {p: {from: [[0, 0], [9, 1]]}}\n  - policy: %s\n" };
    char inner[1200], staged[1400];
    uint8_t *want = wanted();
    snprintf(inner, sizeof inner,
             "{top: 10, fill: [9, 99, 200], interpolation: bilinear, ops: {turn: {op: rotate, range: [0, 90], inside: "
             "boxes, sign: random}, even: {op: equalize, inside: boxes}, hole: {op: cutout, range: [0, 20], inside: "
             "boxes}}, branches: [[{op: shear_x, value: 0.4}, {op: turn, level: 3}, {op: even, p: 0.5}, invert, {op: "
             "bbox_cutout, value: 0.4}], [even, {op: turn, level: 9}, {op: hole, level: 5}, {op: posterize, value: "
             "3}]]}");
    for (int form = 0; form < 2; form++) {
        const int used = snprintf(staged, sizeof staged, "motley: 1\nname: t\n");
        snprintf(staged + used, sizeof staged - (size_t)used, forms[form], inner);
        run r = begin(MOTLEY_BACKEND_CPU, staged);
        motley_error error = { .message = "" };
        const motley_batch src = batch_of(r.in), dst = batch_of(r.out);
        cr_expect_eq(motley_apply(r.context, r.policy, &src, &dst, &(motley_apply_params){ 0 }, &error),
                     MOTLEY_ERR_ARGUMENT);
        cr_expect(strstr(error.message, "samples.box_offsets is NULL: want the boxes"), "%s", error.message);
        input_boxes(&r.samples, r.boxes, r.offsets, N, W, H);
        cr_expect_eq(motley_policy_describe(r.policy)->takes_boxes, 1);
        cr_assert_eq(
            motley_apply(r.context, r.policy, &src, &dst, &(motley_apply_params){ .samples = r.samples }, &error),
            MOTLEY_OK, "%s", error.message);
        cr_expect_arr_eq(r.out, want, BYTES, "form %d", form);
        end(&r);
    }
    free(want);
}
