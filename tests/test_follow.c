/* SPDX-License-Identifier: Apache-2.0 */
/* Followers: replayed draws, masks, points and boxes, against the pixels that actually moved. */
#include "tests/builtins.h"
#include "tests/followed.h"
#include "tests/inputs.h"
#include "tests/sweep.h"

#include <criterion/criterion.h>
#include <math.h>
#include <motley.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define W 47
#define H 35
#define PIXELS (W * H)

static motley_context *context_of(motley_backend backend)
{
    motley_context *context;
    motley_error error;
    const motley_context_params params = { .backend = backend, .threads = 1 };
    cr_assert_eq(motley_context_create(&params, &context, &error), MOTLEY_OK, "%s", error.message);
    return context;
}

static motley_policy *builtin(size_t i)
{
    motley_policy *policy;
    motley_error error;
    cr_assert_eq(motley_policy_builtin(input_builtin(false, i)->name, &policy, &error), MOTLEY_OK, "%s", error.message);
    return policy;
}

static motley_policy *parsed(const char *text)
{
    motley_policy *policy;
    motley_error error;
    cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &policy, &error), MOTLEY_OK, "%s", error.message);
    return policy;
}

static motley_batch batch_of(uint8_t *pixels, size_t count, int32_t channels, int32_t width, int32_t height)
{
    return (motley_batch){ .count = count, .channels = channels, .data = pixels, .width = width, .height = height };
}

/* Applies given steps, whichever policy drew them. */
static motley_status replay(motley_context *context, const motley_batch *src, const motley_batch *dst,
                            const motley_step *steps, const int32_t *counts, size_t max_steps, motley_error *error)
{
    const motley_apply_params given = { .given_steps = steps,
                                        .given_step_counts = counts,
                                        .given_max_steps = max_steps };
    return motley_apply(context, NULL, src, dst, &given, error);
}

/* ---- draws in ---- */

#define SMALL_W 19
#define SMALL_H 13
#define SMALL (SMALL_W * SMALL_H * 3)

Test(follow, recorded_draws_give_the_same_bytes)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    const size_t n = sweep(10000, "samples of each policy replayed"); /* as many as a block and more */
    uint8_t *in = malloc(n * SMALL), *first = malloc(n * SMALL);
    uint8_t *again = malloc(n * SMALL);
    double *boxes = malloc(n * 8 * sizeof *boxes);
    size_t *offsets = malloc((n + 1) * sizeof *offsets);
    for (size_t i = 0; i < n; i++)
        input_fill((input_kind)(i % INPUT_KINDS), i, (input_size){ SMALL_W, SMALL_H }, 3, in + i * SMALL);
    for (size_t p = 0; p < input_builtins(false); p++) {
        motley_policy *policy = builtin(p);
        const size_t most = input_most_steps(policy, 2);
        motley_step *steps = calloc(n * most + 1, sizeof *steps);
        int32_t *counts = calloc(n, sizeof *counts);
        const motley_batch src = batch_of(in, n, 3, SMALL_W, SMALL_H);
        const motley_batch dst = batch_of(first, n, 3, SMALL_W, SMALL_H);
        const motley_batch replayed = batch_of(again, n, 3, SMALL_W, SMALL_H);
        motley_apply_params params = { .samples = { .seed = p, .epoch = 60 }, .steps = steps, .step_counts = counts };
        input_boxes(&params.samples, boxes, offsets, n, SMALL_W, SMALL_H);
        motley_error error;
        cr_assert_eq(motley_apply(context, policy, &src, &dst, &params, &error), MOTLEY_OK, "%s", error.message);
        memset(again, 0xEE, n * SMALL);
        cr_assert_eq(replay(context, &src, &replayed, steps, counts, most, &error), MOTLEY_OK, "%s", error.message);
        for (size_t i = 0; i < n; i++)
            cr_assert_arr_eq(again + i * SMALL, first + (size_t)i * SMALL, SMALL, "%s, sample %zu",
                             motley_policy_describe(policy)->name, i);
        free(counts);
        free(steps);
        motley_policy_destroy(policy);
    }
    free(offsets);
    free(boxes);
    free(again);
    free(first);
    free(in);
    motley_context_destroy(context);
}

static void replay_fails(motley_context *context, motley_step step, int32_t count, motley_status status,
                         const char *words)
{
    uint8_t pixels[12], before[12];
    memset(pixels, 7, sizeof pixels);
    memcpy(before, pixels, sizeof before);
    const motley_batch batch = batch_of(pixels, 1, 3, 2, 2);
    motley_error error;
    cr_expect_eq(replay(context, &batch, &batch, &step, &count, 1, &error), status, "%s", words);
    cr_expect(strstr(error.message, words), "'%s' does not say '%s'", error.message, words);
    cr_expect_arr_eq(pixels, before, sizeof pixels);
}

Test(follow, wrong_draws_are_refused)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    const int rotate = motley_op_find("rotate"), invert = motley_op_find("invert");
    replay_fails(context, (motley_step){ .op = -1 }, 1, MOTLEY_ERR_ARGUMENT, "op -1");
    replay_fails(context, (motley_step){ .op = motley_op_count() }, 1, MOTLEY_ERR_UNSUPPORTED, "custom op");
    replay_fails(context, (motley_step){ .op = invert, .values_count = 1 }, 1, MOTLEY_ERR_ARGUMENT,
                 "image 0, step 0: invert takes 0 values, 1 were given");
    replay_fails(context, (motley_step){ .op = rotate, .values_count = 1, .values = { NAN } }, 1, MOTLEY_ERR_ARGUMENT,
                 "finite");
    replay_fails(context, (motley_step){ .op = rotate, .values_count = 1, .interpolation = (motley_interpolation)3 }, 1,
                 MOTLEY_ERR_ARGUMENT, "interpolation is 3");
    replay_fails(context, (motley_step){ .op = invert }, 2, MOTLEY_ERR_ARGUMENT, "has 2 steps, want 0 to 1");
    replay_fails(context, (motley_step){ .op = invert }, -1, MOTLEY_ERR_ARGUMENT, "has -1 steps");
    motley_context_destroy(context);
}

/* ---- masks ---- */

#define MASKS 400

/* Every pixel its own number, in two bytes. */
static void number_pixels(uint8_t *pixels, size_t images)
{
    for (size_t i = 0; i < images; i++)
        for (int k = 0; k < PIXELS; k++) {
            pixels[2 * ((size_t)PIXELS * i + (size_t)k)] = (uint8_t)k;
            pixels[2 * ((size_t)PIXELS * i + (size_t)k) + 1] = (uint8_t)(k >> 8);
        }
}

/* A mask that follows has the bytes of its image's warps, one by one, with nearest and the mask's fill; and the image
 * itself, where its policy is nearest, has its pixels from the same places. */
Test(follow, masks_have_the_bytes_of_nearest)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    static uint8_t in[MASKS * PIXELS * 2], got[sizeof in], want[sizeof in];
    const double fill[4] = { 255, 254, 0, 0 };
    int32_t widths[MASKS], heights[MASKS], moved = 0;
    for (int i = 0; i < MASKS; i++) {
        widths[i] = W;
        heights[i] = H;
    }
    number_pixels(in, MASKS);
    const char *const several = /* stages of one policy draw different words */
        "motley: 1\nname: several\nstages:\n  - policy: trivial_augment_wide\n  - policy: rand_augment\n"
        "  - one_of: [{stages: [{policy: trivial_augment_wide}]}, {stages: [{policy: auto_augment_imagenet}]}]\n";
    for (size_t p = 0; p <= input_builtins(false); p++) {
        motley_policy *policy = p < input_builtins(false) ? builtin(p) : parsed(several), *follower;
        if (motley_policy_describe(policy)->takes_boxes) { /* see test_boxes.c */
            motley_policy_destroy(policy);
            continue;
        }
        const size_t most = motley_policy_describe(policy)->max_steps;
        motley_step *steps = calloc(MASKS * most + 1, sizeof *steps);
        int32_t counts[MASKS];
        motley_error error;
        const motley_samples samples = { .seed = 3, .epoch = 70, .first = 50, .view = 2 };
        const motley_follower_params how = { .channels = 2, .fill = { (uint8_t)fill[0], (uint8_t)fill[1] } };
        cr_assert_eq(motley_draw(policy, &samples, MASKS, widths, heights, 3, NULL, steps, counts, &error), MOTLEY_OK);
        const bool mixes = mixes_chains(policy);
        cr_assert_eq(motley_policy_follower(policy, &how, &follower, &error),
                     mixes ? MOTLEY_ERR_UNSUPPORTED : MOTLEY_OK, "%s", error.message);
        if (mixes) {
            free(steps);
            motley_policy_destroy(policy);
            continue;
        }
        const motley_batch src = batch_of(in, MASKS, 2, W, H), dst = batch_of(got, MASKS, 2, W, H);
        cr_assert_eq(motley_apply(context, follower, &src, &dst, &(motley_apply_params){ .samples = samples }, &error),
                     MOTLEY_OK, "%s", error.message);
        memcpy(want, in, sizeof want);
        for (size_t i = 0; i < MASKS; i++) {
            const motley_batch one = batch_of(want + i * PIXELS * 2, 1, 2, W, H);
            for (int32_t s = 0; s < counts[i]; s++) {
                const motley_step *step = &steps[i * most + (size_t)s];
                if (motley_op_get(step->op)->shape != MOTLEY_SHAPE_WARP)
                    continue;
                moved++;
                cr_assert_eq(motley_op_apply(context, step->op, step->values, step->values_count, &one, &one,
                                             &(motley_op_params){ .fill = fill }, &error),
                             MOTLEY_OK, "%s", error.message);
            }
            cr_assert_arr_eq(got + i * PIXELS * 2, want + i * PIXELS * 2, PIXELS * 2, "%s, mask %zu",
                             motley_policy_describe(policy)->name, i);
        }
        free(steps);
        motley_policy_destroy(follower);
        motley_policy_destroy(policy);
    }
    cr_expect_gt(moved, 2000);
    motley_context_destroy(context);
}

#define CHAINS 30    /* images of each policy */
#define OUTSIDE (-1) /* as an element: four bytes of 255 */
#define UNSURE (-2)

/* The pixel that (x, y) of a step's result was before, by the step's matrix. Nearest rounds the matrix to 16.16: closer
 * to another pixel than that, it may be either. */
static int32_t pixel_before(const double m[6], int x, int y)
{
    const double u = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2], v = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];
    const double off = (W + H + 2) * 0.5 / 65536;
    if (floor(u - off) != floor(u + off) || floor(v - off) != floor(v + off))
        return UNSURE;
    return u >= 0 && v >= 0 && u < W && v < H ? (int32_t)v * W + (int32_t)u : OUTSIDE;
}

/* A follower's policy of `policy`, or NULL where masks cannot follow as in these tests. */
static motley_policy *masks_policy(const motley_policy *policy, const motley_follower_params *how)
{
    motley_policy *follower;
    motley_error error;
    if (motley_policy_describe(policy)->takes_boxes || mixes_chains(policy))
        return NULL;
    cr_assert_eq(motley_policy_follower(policy, how, &follower, &error), MOTLEY_OK, "%s", error.message);
    return follower;
}

static const motley_follower_params numbers_params = { .channels = 4, .fill = { 255, 255, 255, 255 } };
static const motley_samples chain_samples = { .seed = 8, .epoch = 70, .first = 4 };

/* Moves CHAINS masks, each of whose pixels is its own number, as `policy` does. */
static bool move_numbers(motley_context *context, const motley_policy *policy, int32_t *moved)
{
    static int32_t in[CHAINS * PIXELS];
    motley_policy *follower = masks_policy(policy, &numbers_params);
    if (!follower)
        return false;
    for (int k = 0; k < CHAINS * PIXELS; k++)
        in[k] = k % PIXELS;
    const motley_batch src = batch_of((uint8_t *)in, CHAINS, 4, W, H),
                       dst = batch_of((uint8_t *)moved, CHAINS, 4, W, H);
    motley_error error;
    cr_assert_eq(
        motley_apply(context, follower, &src, &dst, &(motley_apply_params){ .samples = chain_samples }, &error),
        MOTLEY_OK, "%s", error.message);
    motley_policy_destroy(follower);
    return true;
}

/* The i-th built-in policy, repeated, so that its chains have several warps. */
static motley_policy *long_chains(size_t i)
{
    motley_policy *const policy = builtin_repeated(input_builtin(false, i)->name, 5);
    cr_assert_not_null(policy, "%s", input_builtin(false, i)->name);
    return policy;
}

/* Every pixel has its own number, so that a mask says where each of its pixels came from: where the recorded matrices
 * say, one step after the other. */
Test(follow, numbers_go_through_chains_as_their_matrices_say)
{
    static int32_t moved[CHAINS * PIXELS];
    const motley_backend backends[2] = { MOTLEY_BACKEND_CPU, MOTLEY_BACKEND_REFERENCE };
    size_t compared = 0, unsure = 0, chains = 0;
    for (size_t p = 0; p < 2 * input_builtins(false); p++) {
        motley_context *context = context_of(backends[p % 2]);
        motley_policy *policy = long_chains(p / 2);
        const uint64_t images = move_numbers(context, policy, moved) ? CHAINS : 0;
        for (uint64_t i = 0; i < images; i++) {
            int32_t want[PIXELS], before[PIXELS], count, warped = 0;
            const int32_t width = W, height = H;
            motley_step steps[64];
            motley_samples sample = chain_samples;
            sample.first += i;
            cr_assert_eq(motley_draw(policy, &sample, 1, &width, &height, 3, NULL, steps, &count, NULL), MOTLEY_OK);
            for (int k = 0; k < PIXELS; k++)
                want[k] = k;
            for (int32_t s = 0; s < count; s++) {
                double m[6];
                cr_assert_eq(steps_matrix(&steps[s], 1, W, H, m, NULL), MOTLEY_OK);
                memcpy(before, want, sizeof before);
                for (int k = 0; k < PIXELS; k++) {
                    const int32_t from = pixel_before(m, k % W, k / W);
                    want[k] = from < 0 ? from : before[from];
                }
                warped += memcmp(before, want, sizeof before) != 0;
            }
            chains += warped > 1;
            for (int k = 0; k < PIXELS; k++)
                if (want[k] == UNSURE)
                    unsure++;
                else {
                    compared++;
                    cr_assert_eq(moved[i * PIXELS + (size_t)k], want[k],
                                 "%s, image %d, pixel (%d, %d): it was %d, want %d",
                                 motley_policy_describe(policy)->name, (int)i, k % W, k / W,
                                 moved[i * PIXELS + (size_t)k], want[k]);
                }
        }
        motley_policy_destroy(policy);
        motley_context_destroy(context);
    }
    cr_expect_gt(chains, 700, "%zu images had two warps or more", chains);
    cr_expect_lt(unsure * 100, compared, "%zu pixels of %zu lie between two", unsure, compared);
}

/* Eight bytes that belong to pixel number k alone. */
static uint64_t wide_number(int32_t k)
{
    return (uint64_t)(k + 2) * 0x9E3779B97F4A7C15u;
}

/* One half of masks of eight bytes. */
static motley_batch half_of(uint64_t *elements, size_t half, size_t count, int32_t width, int32_t height)
{
    motley_batch batch = batch_of((uint8_t *)elements + 4 * half, count, 4, width, height);
    batch.channel_stride = 1;
    batch.pixel_stride = 8;
    batch.row_stride = 8 * (int64_t)width;
    batch.image_stride = batch.row_stride * height;
    return batch;
}

static motley_follower_params half_params(size_t half)
{
    const uint64_t fill = wide_number(OUTSIDE);
    motley_follower_params how = { .channels = 4 };
    memcpy(how.fill, (const uint8_t *)&fill + 4 * half, 4);
    return how;
}

Test(follow, elements_of_eight_bytes_move_by_halves)
{
    static int32_t moved[CHAINS * PIXELS];
    static uint64_t in[CHAINS * PIXELS], got[CHAINS * PIXELS];
    const motley_backend backends[2] = { MOTLEY_BACKEND_CPU, MOTLEY_BACKEND_REFERENCE };
    for (int k = 0; k < CHAINS * PIXELS; k++)
        in[k] = wide_number(k % PIXELS);
    for (size_t p = 0; p < 2 * input_builtins(false); p++) {
        motley_context *context = context_of(backends[p % 2]);
        motley_policy *policy = builtin(p / 2);
        if (move_numbers(context, policy, moved)) {
            for (size_t half = 0; half < 2; half++) {
                const motley_follower_params how = half_params(half);
                motley_policy *follower = masks_policy(policy, &how);
                const motley_batch src = half_of(in, half, CHAINS, W, H), dst = half_of(got, half, CHAINS, W, H);
                motley_error error;
                cr_assert_eq(motley_apply(context, follower, &src, &dst,
                                          &(motley_apply_params){ .samples = chain_samples }, &error),
                             MOTLEY_OK, "%s", error.message);
                motley_policy_destroy(follower);
            }
            for (int k = 0; k < CHAINS * PIXELS; k++)
                cr_assert_eq(got[k], wide_number(moved[k]), "%s, image %d, pixel (%d, %d)",
                             motley_policy_describe(policy)->name, k / PIXELS, k % PIXELS % W, k % PIXELS / W);
        }
        motley_policy_destroy(policy);
        motley_context_destroy(context);
    }
}

Test(follow, a_follower_prints_and_loads_like_any_policy)
{
    for (size_t p = 0; p < input_builtins(false); p++) {
        motley_policy *policy = builtin(p), *follower, *loaded;
        motley_error error;
        char *text;
        if (mixes_chains(policy)) { /* nothing follows it */
            motley_policy_destroy(policy);
            continue;
        }
        cr_assert_eq(motley_policy_follower(policy, &(motley_follower_params){ .erase = p & 1 }, &follower, &error),
                     MOTLEY_OK);
        cr_assert_eq(motley_policy_print(follower, MOTLEY_PRINT_TEXT, &text, &error), MOTLEY_OK);
        cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &loaded, &error), MOTLEY_OK, "%s:%d: %s", text,
                     error.line, error.message);
        cr_expect(motley_policy_equal(follower, loaded), "%s", text);
        cr_expect_eq(motley_policy_describe(follower)->max_steps, motley_policy_describe(policy)->max_steps);
        free(text);
        motley_policy_destroy(loaded);
        motley_policy_destroy(follower);
        motley_policy_destroy(policy);
    }
}

Test(follow, erasing_reaches_masks_only_when_asked)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    motley_policy *policy = parsed("motley: 1\nname: x\nbranches: [{op: cutout, value: 10}]\n"), *follower;
    for (int erase = 0; erase < 2; erase++) {
        uint8_t mask[PIXELS] = { 0 };
        const motley_batch batch = batch_of(mask, 1, 1, W, H);
        const motley_follower_params how = { .fill = { 255 }, .erase = erase };
        cr_assert_eq(motley_policy_follower(policy, &how, &follower, NULL), MOTLEY_OK);
        cr_assert_eq(motley_apply(context, follower, &batch, &batch, NULL, NULL), MOTLEY_OK);
        int filled = 0;
        for (int k = 0; k < PIXELS; k++)
            filled += mask[k] == 255;
        cr_expect_eq(filled > 0, erase);
        motley_policy_destroy(follower);
    }
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

static motley_status do_nothing(void *user, const motley_custom_batch *batch, motley_error *error)
{
    (void)user, (void)batch, (void)error;
    return MOTLEY_OK;
}

Test(follow, custom_ops_cannot_be_followed)
{
    const motley_custom_op op = { .name = "mine", .run = do_nothing };
    const motley_parse_params with = { .custom_ops = &op, .custom_ops_count = 1 };
    const char *text = "motley: 1\nname: x\nbranches: [mine]\n";
    motley_policy *policy, *follower;
    motley_error error;
    cr_assert_eq(motley_policy_parse(text, strlen(text), &with, &policy, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_eq(motley_policy_follower(policy, NULL, &follower, &error), MOTLEY_ERR_UNSUPPORTED);
    cr_expect(strstr(error.message, "custom"));
    cr_expect_null(follower);
    motley_policy_destroy(policy);
}

/* ---- points ---- */

#define BLOB_W 90
#define BLOB_H 70

/* A smooth round blob, as bytes. */
static void draw_blob(uint8_t *pixels, double cx, double cy)
{
    for (int y = 0; y < BLOB_H; y++)
        for (int x = 0; x < BLOB_W; x++) {
            const double dx = x + 0.5 - cx, dy = y + 0.5 - cy;
            pixels[y * BLOB_W + x] = (uint8_t)lrint(250 * exp(-(dx * dx + dy * dy) / (2 * 4.0 * 4.0)));
        }
}

static void centre_of_mass(const uint8_t *pixels, double *cx, double *cy)
{
    double sum = 0;
    *cx = *cy = 0;
    for (int y = 0; y < BLOB_H; y++)
        for (int x = 0; x < BLOB_W; x++) {
            const double v = pixels[y * BLOB_W + x];
            sum += v;
            *cx += v * (x + 0.5);
            *cy += v * (y + 0.5);
        }
    *cx /= sum;
    *cy /= sum;
}

static motley_drawn one_image(const motley_step *steps, const int32_t *count, const int32_t *width,
                              const int32_t *height)
{
    return (motley_drawn){ .count = 1,
                           .steps = steps,
                           .step_counts = count,
                           .max_steps = (size_t)(*count ? *count : 1),
                           .widths = width,
                           .heights = height };
}

static const struct {
    const char *name;
    double values[6];
    int count;
    double pixel; /* what to add to the value to move a blob by about a pixel */
} warps[] = {
    { "rotate", { 20 }, 1, 2 },
    { "rotate", { -33.3 }, 1, 2 },
    { "rotate", { 180 }, 1, 0 },
    { "rotate", { 90 }, 1, 0 },
    { "shear_x", { 0.2 }, 1, 0.03 },
    { "shear_x", { -0.15 }, 1, 0.03 },
    { "shear_y", { 0.2 }, 1, 0.03 },
    { "shear_y", { -0.1 }, 1, 0.03 },
    { "translate_x", { 7 }, 1, 1 },
    { "translate_x", { -6.5 }, 1, 1 },
    { "translate_y", { 5.25 }, 1, 1 },
    { "translate_x_rel", { 0.1 }, 1, 1.0 / BLOB_W },
    { "translate_y_rel", { -0.1 }, 1, 1.0 / BLOB_H },
    { "flip_lr", { 0 }, 0, 0 },
    { "flip_ud", { 0 }, 0, 0 },
    { "affine", { 0.8, 0.1, 4, -0.2, 1.1, 3 }, 6, 1 },
};

#define PLACES 32

/* Warps a blob at `place` by `step`, and follows its centre under both conventions. *error gets how far the centre of
 * mass of the warped blob is from the point, x and y. */
static void blob_error(motley_context *context, const motley_step *step, int place, double error[2])
{
    const int32_t width = BLOB_W, height = BLOB_H, one = 1;
    const size_t offsets[2] = { 0, 1 };
    uint8_t pixels[BLOB_W * BLOB_H], flags;
    double x, y;
    draw_blob(pixels, 38 + 0.43 * place, 30 + 0.35 * place);
    centre_of_mass(pixels, &x, &y);
    double point[2] = { x, y }, index[2] = { x - 0.5, y - 0.5 };
    const motley_batch batch = batch_of(pixels, 1, 1, BLOB_W, BLOB_H);
    cr_assert_eq(replay(context, &batch, &batch, step, &one, 1, NULL), MOTLEY_OK);
    centre_of_mass(pixels, &x, &y);
    const motley_drawn drawn = one_image(step, &one, &width, &height);
    cr_assert_eq(follow_points(&drawn, MOTLEY_CONTINUOUS, offsets, point, &flags, NULL), MOTLEY_OK);
    cr_assert_eq(follow_points(&drawn, MOTLEY_INDEX, offsets, index, NULL, NULL), MOTLEY_OK);
    cr_expect_float_eq(index[0] + 0.5, point[0], 1e-9);
    cr_expect_float_eq(index[1] + 0.5, point[1], 1e-9);
    const char *name = motley_op_get(step->op)->name;
    cr_expect_eq(flags,
                 MOTLEY_POINT_INSIDE | MOTLEY_POINT_UNERASED | (strstr(name, "flip") ? MOTLEY_POINT_MIRRORED : 0));
    error[0] = x - point[0];
    error[1] = y - point[1];
}

/* The largest error of each filter itself, in pixels along an axis. Nearest moves by whole pixels. The weights of
 * Pillow's cubic (a = -1) do not reproduce straight lines, which gives up to 0.096, and truncation to bytes adds 0.01.
 */
static const double own[3] = { [MOTLEY_NEAREST] = 0.51, [MOTLEY_BILINEAR] = 0.1, [MOTLEY_BICUBIC] = 0.12 };

/* Blobs end where the point does, within 0.1 px along each axis and 0.05 px on average. What the filter itself adds
 * averages out over warps whose values differ by parts of a pixel; a convention that is half a pixel off would not. */
Test(follow, points_go_where_blobs_go)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    for (size_t w = 0; w < sizeof warps / sizeof *warps; w++)
        for (int filter = MOTLEY_NEAREST; filter <= MOTLEY_BICUBIC; filter++) {
            double mean[2] = { 0 };
            for (int place = 0; place < PLACES; place++) {
                motley_step step = { .op = motley_op_find(warps[w].name),
                                     .values_count = warps[w].count,
                                     .interpolation = (motley_interpolation)filter };
                memcpy(step.values, warps[w].values, sizeof step.values);
                step.values[warps[w].count == 6 ? 2 : 0] += warps[w].pixel * (place - PLACES / 2) / PLACES;
                double error[2];
                blob_error(context, &step, place, error);
                for (int axis = 0; axis < 2; axis++) {
                    mean[axis] += error[axis] / PLACES;
                    cr_expect_lt(fabs(error[axis]), own[filter], "%s %g, filter %d, place %d: %g px off", warps[w].name,
                                 step.values[0], filter, place, error[axis]);
                }
            }
            cr_expect_lt(fmax(fabs(mean[0]), fabs(mean[1])), 0.05, "%s %g, filter %d: (%g, %g) px off on average",
                         warps[w].name, warps[w].values[0], filter, mean[0], mean[1]);
        }
    motley_context_destroy(context);
}

/* The test above covers every warp of the table. */
Test(follow, blobs_go_through_every_warp)
{
    for (int op = 0; op < motley_op_count(); op++) {
        size_t w = 0;
        while (w < sizeof warps / sizeof *warps && strcmp(warps[w].name, motley_op_get(op)->name) != 0)
            w++;
        cr_expect(motley_op_get(op)->shape != MOTLEY_SHAPE_WARP || w < sizeof warps / sizeof *warps, "%s",
                  motley_op_get(op)->name);
    }
}

Test(follow, lost_and_erased_points_stay_marked)
{
    const int32_t width = 40, height = 30, count = 3;
    const motley_step steps[3] = { { .op = motley_op_find("translate_x"), .values = { 30 }, .values_count = 1 },
                                   { .op = motley_op_find("translate_x"), .values = { -30 }, .values_count = 1 },
                                   { .op = motley_op_find("cutout_tf"), .values = { 4, 5, 15 }, .values_count = 3 } };
    const motley_drawn drawn = one_image(steps, &count, &width, &height);
    double points[4][2] = { { 5, 5 }, { 20, 5 }, { 5, 15 }, { -1, 5 } };
    const size_t offsets[2] = { 0, 4 };
    uint8_t flags[4];
    cr_assert_eq(follow_points(&drawn, MOTLEY_CONTINUOUS, offsets, points[0], flags, NULL), MOTLEY_OK);
    cr_expect_eq(flags[0], MOTLEY_POINT_INSIDE | MOTLEY_POINT_UNERASED);
    cr_expect_eq(flags[1], MOTLEY_POINT_UNERASED, "it left the image in the first step and came back");
    cr_expect_eq(flags[2], MOTLEY_POINT_INSIDE);
    cr_expect_eq(flags[3], MOTLEY_POINT_UNERASED, "it was outside from the first");
    cr_expect_float_eq(points[1][0], 20, 1e-12);
}

Test(follow, the_matrix_of_all_steps_is_where_points_come_from)
{
    motley_policy *policy;
    cr_assert_eq(motley_policy_builtin("timm_rand_augment", &policy, NULL), MOTLEY_OK);
    const int32_t width = W, height = H;
    const size_t offsets[2] = { 0, 1 };
    for (uint64_t id = 0; id < 500; id++) {
        motley_step steps[64];
        int32_t count;
        double m[6], point[2] = { 11.25, 20.5 };
        const motley_samples samples = { .seed = 1, .first = id };
        cr_assert_eq(motley_draw(policy, &samples, 1, &width, &height, 3, NULL, steps, &count, NULL), MOTLEY_OK);
        cr_assert_eq(steps_matrix(steps, count, width, height, m, NULL), MOTLEY_OK);
        motley_drawn drawn = one_image(steps, &count, &width, &height);
        cr_assert_eq(follow_points(&drawn, MOTLEY_CONTINUOUS, offsets, point, NULL, NULL), MOTLEY_OK);
        cr_expect_float_eq(m[0] * point[0] + m[1] * point[1] + m[2], 11.25, 1e-9);
        cr_expect_float_eq(m[3] * point[0] + m[4] * point[1] + m[5], 20.5, 1e-9);
    }
    motley_policy_destroy(policy);
}

/* ---- boxes ---- */

/* The pixels that are not 0. */
static bool covered(const uint8_t *pixels, int32_t width, int32_t height, double box[4])
{
    box[0] = box[1] = HUGE_VAL;
    box[2] = box[3] = -HUGE_VAL;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            if (pixels[y * width + x]) {
                box[0] = fmin(box[0], x);
                box[1] = fmin(box[1], y);
                box[2] = fmax(box[2], x + 1);
                box[3] = fmax(box[3], y + 1);
            }
    return box[0] <= box[2];
}

/* Filled rectangles under one warp: their pixels end within half a pixel of the box. A corner that is sharper than a
 * pixel may cover no pixel's centre, so the box may reach further than the pixels. */
Test(follow, boxes_hold_the_pixels_of_filled_rectangles)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    const int32_t width = BLOB_W, height = BLOB_H, one = 1;
    const size_t offsets[2] = { 0, 1 };
    uint64_t random = 5;
    int compared = 0;
    double beyond = 0, slack = 0;
    for (size_t w = 0; w < sizeof warps / sizeof *warps; w++)
        for (int k = 0; k < 100; k++) {
            uint8_t pixels[BLOB_W * BLOB_H] = { 0 };
            const int x0 = (int)(input_random(&random) % (BLOB_W - 8)),
                      y0 = (int)(input_random(&random) % (BLOB_H - 8));
            const int x1 = x0 + 6 + (int)(input_random(&random) % 40), y1 = y0 + 6 + (int)(input_random(&random) % 40);
            double box[4] = { x0, y0, x1 < BLOB_W ? x1 : BLOB_W, y1 < BLOB_H ? y1 : BLOB_H }, real[4], visible;
            for (int y = y0; y < box[3]; y++)
                for (int x = x0; x < box[2]; x++)
                    pixels[y * BLOB_W + x] = 255;
            const motley_batch batch = batch_of(pixels, 1, 1, BLOB_W, BLOB_H);
            motley_step step = { .op = motley_op_find(warps[w].name), .values_count = warps[w].count };
            memcpy(step.values, warps[w].values, sizeof step.values);
            cr_assert_eq(replay(context, &batch, &batch, &step, &one, 1, NULL), MOTLEY_OK);
            const motley_drawn drawn = one_image(&step, &one, &width, &height);
            cr_assert_eq(follow_boxes(&drawn, NULL, offsets, box, &visible, NULL, NULL), MOTLEY_OK);
            if (!covered(pixels, BLOB_W, BLOB_H, real))
                continue;
            compared++;
            for (int side = 0; side < 4; side++) {
                const double out = side < 2 ? box[side] - real[side] : real[side] - box[side];
                beyond = fmax(beyond, out);
                slack += -out / 4;
            }
            cr_expect(visible > 0);
        }
    cr_expect_gt(compared, 1000);
    cr_expect_leq(beyond, 0.5, "a pixel reaches %g beyond its box", beyond);
    cr_expect_lt(slack / compared, 0.35, "boxes are %g px too large on average", slack / compared);
    motley_context_destroy(context);
}

static void follow_one(const motley_step *steps, int32_t count, const motley_box_rules *params, double box[4],
                       double *visible, uint8_t *keep)
{
    const int32_t width = 100, height = 100;
    const motley_drawn drawn = one_image(steps, &count, &width, &height);
    const size_t offsets[2] = { 0, 1 };
    motley_error error;
    cr_assert_eq(follow_boxes(&drawn, params, offsets, box, visible, keep, &error), MOTLEY_OK, "%s", error.message);
}

Test(follow, what_left_the_image_does_not_come_back)
{
    const int op = motley_op_find("translate_x");
    const motley_step steps[2] = { { .op = op, .values = { -60 }, .values_count = 1 },
                                   { .op = op, .values = { 60 }, .values_count = 1 } };
    for (int torchvision = 0; torchvision < 2; torchvision++) {
        double box[4] = { 10, 20, 90, 40 }, visible;
        uint8_t keep;
        follow_one(steps, 2, &(motley_box_rules){ .torchvision = torchvision }, box, &visible, &keep);
        cr_expect_float_eq(box[0], 60, 1e-9);
        cr_expect_float_eq(box[2], 90, 1e-9);
        cr_expect_float_eq(visible, 30.0 / 80, 1e-9);
        cr_expect_eq(keep, 1);
    }
    double outside[4] = { -20, 20, 20, 40 };
    follow_one(&steps[1], 1, NULL, outside, NULL, NULL);
    cr_expect_float_eq(outside[0], 60, 1e-9, "what was outside from the first does not come in");
    double box[4] = { 10, 20, 50, 40 };
    uint8_t keep;
    follow_one(steps, 2, NULL, box, NULL, &keep);
    cr_expect_eq(keep, 0, "all of it left the image");
    double half[4] = { 10, 20, 90, 40 };
    follow_one(steps, 2, &(motley_box_rules){ .min_visibility = 0.4 }, half, NULL, &keep);
    cr_expect_eq(keep, 0);
}

Test(follow, boxes_of_several_steps_are_tight)
{
    const int op = motley_op_find("rotate");
    const motley_step steps[2] = { { .op = op, .values = { 30 }, .values_count = 1 },
                                   { .op = op, .values = { -30 }, .values_count = 1 } };
    double tight[4] = { 40, 45, 60, 55 }, loose[4] = { 40, 45, 60, 55 }, visible;
    follow_one(steps, 2, NULL, tight, &visible, NULL);
    for (int i = 0; i < 4; i++)
        cr_expect_float_eq(tight[i], ((double[]){ 40, 45, 60, 55 })[i], 1e-9);
    cr_expect_float_eq(visible, 1, 1e-9);
    follow_one(steps, 2, &(motley_box_rules){ .torchvision = 1 }, loose, NULL, NULL);
    cr_expect_gt((loose[2] - loose[0]) * (loose[3] - loose[1]), 1.5 * 200, "a box of a box grows");
}

Test(follow, box_formats_agree)
{
    const motley_step step = { .op = motley_op_find("shear_x"), .values = { 0.3 }, .values_count = 1 };
    double xyxy[4] = { 20, 30, 50, 70 }, xywh[4] = { 20, 30, 30, 40 }, centre[4] = { 35, 50, 30, 40 };
    follow_one(&step, 1, NULL, xyxy, NULL, NULL);
    follow_one(&step, 1, &(motley_box_rules){ .format = MOTLEY_XYWH }, xywh, NULL, NULL);
    follow_one(&step, 1, &(motley_box_rules){ .format = MOTLEY_CXCYWH }, centre, NULL, NULL);
    const double w = xyxy[2] - xyxy[0], h = xyxy[3] - xyxy[1];
    const double want_xywh[4] = { xyxy[0], xyxy[1], w, h };
    const double want_centre[4] = { xyxy[0] + w / 2, xyxy[1] + h / 2, w, h };
    for (int i = 0; i < 4; i++) {
        cr_expect_float_eq(xywh[i], want_xywh[i], 1e-9);
        cr_expect_float_eq(centre[i], want_centre[i], 1e-9);
    }
}

static void boxes_fail(const double *box, const size_t *offsets, const motley_box_rules *params, const char *words)
{
    const int32_t width = 10, height = 10, none = 0;
    const motley_drawn drawn = { .count = 1, .step_counts = &none, .widths = &width, .heights = &height };
    double copy[4];
    memcpy(copy, box, sizeof copy);
    motley_error error;
    cr_expect_eq(follow_boxes(&drawn, params, offsets, copy, NULL, NULL, &error), MOTLEY_ERR_ARGUMENT, "%s", words);
    cr_expect(strstr(error.message, words), "'%s' does not say '%s'", error.message, words);
}

Test(follow, wrong_boxes_and_points_are_refused)
{
    const size_t good[2] = { 0, 1 }, falling[2] = { 2, 1 };
    boxes_fail((double[]){ 5, 0, 4, 1 }, good, NULL, "box 0 is (5, 0, 4, 1)");
    boxes_fail((double[]){ 0, 0, NAN, 1 }, good, NULL, "finite");
    boxes_fail((double[]){ 0, 0, 1e39, 1 }, good, NULL, "box 0 has 1e+39, want finite numbers up to 3.4");
    boxes_fail((double[]){ 0, 0, INFINITY, 1 }, good, &(motley_box_rules){ .format = MOTLEY_XYWH }, "box 0 has inf");
    boxes_fail((double[]){ -4, 0, -1, 1 }, good, NULL, "(-4, 0, -1, 1) as left, top, right, bottom, outside its image");
    boxes_fail((double[]){ 1, 1e6, 1, 1 }, good, &(motley_box_rules){ .format = MOTLEY_CXCYWH }, "outside its image");
    boxes_fail((double[]){ 0, 0, 1, 1 }, falling, NULL, "offsets of boxes fall from 2 to 1");
    boxes_fail((double[]){ 0, 0, -1, 1 }, good, &(motley_box_rules){ .format = MOTLEY_XYWH }, "left <= right");
    boxes_fail((double[]){ 0, 0, 1, 1 }, good, &(motley_box_rules){ .min_visibility = 2 }, "min_visibility is 2");
    boxes_fail((double[]){ 0, 0, 1, 1 }, good, &(motley_box_rules){ .format = (motley_box_format)3 }, "format is 3");
    const int32_t width = 10, height = 10, one = 1;
    const motley_step flat = { .op = motley_op_find("affine"), .values = { 0, 0, 0, 0, 0, 0 }, .values_count = 6 };
    const motley_step custom = { .op = motley_op_count() };
    double point[2] = { 1, 1 }, m[6];
    motley_error error;
    motley_drawn drawn = one_image(&flat, &one, &width, &height);
    cr_expect_eq(follow_points(&drawn, MOTLEY_CONTINUOUS, good, point, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "no inverse"), "%s", error.message);
    drawn.steps = &custom;
    cr_expect_eq(follow_points(&drawn, MOTLEY_CONTINUOUS, good, point, NULL, &error), MOTLEY_ERR_UNSUPPORTED);
    cr_expect_eq(steps_matrix(&custom, 1, 10, 10, m, &error), MOTLEY_ERR_UNSUPPORTED);
    point[0] = INFINITY;
    drawn.steps = &(motley_step){ .op = motley_op_find("flip_lr") };
    cr_expect_eq(follow_points(&drawn, MOTLEY_CONTINUOUS, good, point, NULL, &error), MOTLEY_ERR_ARGUMENT);
    const motley_step turn = { .op = motley_op_find("rotate"), .values = { 45 }, .values_count = 1 };
    double far[2] = { 1.7e308, 1.7e308 };
    drawn.steps = &turn;
    cr_expect_eq(follow_points(&drawn, MOTLEY_CONTINUOUS, good, far, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "point 0 is (1.7e+308, 1.7e+308) and moves past what a double"), "%s",
              error.message);
    cr_expect_eq(far[0], 1.7e308, "nothing is written");
    float narrow[2] = { 3e38F, 3e38F };
    const motley_followed floats = { .single = 1, .points_count = 1, .points = narrow, .point_offsets = good };
    cr_expect_eq(motley_follow(&drawn, &floats, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "moves past what a float holds"), "%s", error.message);
    cr_expect_eq(steps_matrix(drawn.steps, 1, 0, 10, m, &error), MOTLEY_ERR_ARGUMENT);
}

/* Moves that lose nothing of boxes on which all of the image lies, and what may lose some, at sides that divide each
 * other, or do not. */
#define WIDE 131
#define HIGH 97

typedef struct move {
    const char *op;
    double value;
    int32_t width, height; /* of a place: the size that the crop becomes; 0: there is none */
    motley_crop crop;
    int flips;
} move;

static const move moves[] = {
    { .op = "identity" },
    { .op = "flip_lr" },
    { .op = "flip_ud" },
    { .op = "rotate", .value = 30 },
    { .op = "rotate", .value = 180 },
    { .op = "shear_x", .value = 0.3 },
    { .op = "translate_y", .value = 7 },
    { .op = "translate_x", .value = -4.25 },
    { .op = "identity", .width = 224, .height = 224, .crop = { 0, 0, WIDE, HIGH } },
    { .op = "identity", .width = 224, .height = 224, .crop = { 0, 0, WIDE, HIGH }, .flips = 3 },
    { .op = "flip_lr", .width = WIDE, .height = HIGH, .crop = { 0, 0, WIDE, HIGH }, .flips = 1 },
    { .op = "identity", .width = 2 * WIDE, .height = 1, .crop = { 0, 0, WIDE, HIGH }, .flips = 1 },
    { .op = "rotate", .value = -12, .width = 40, .height = 51, .crop = { 11, 7, 80, 85 }, .flips = 2 },
    { .op = "identity", .width = 640, .height = 333, .crop = { 3, 0, 113, 96 }, .flips = 1 },
};

/* The draws of one image that moves this way; `room` holds them. */
typedef struct moved_image {
    motley_step step;
    motley_place place;
    int32_t one, width, height;
} moved_image;

static motley_drawn drawn_move(const move *by, moved_image *room)
{
    *room = (moved_image){ .one = 1, .width = WIDE, .height = HIGH };
    room->step = (motley_step){ .op = motley_op_find(by->op), .values = { by->value } };
    room->step.values_count = motley_op_get(room->step.op)->values_min;
    room->place = (motley_place){ .crop = by->crop,
                                  .width = by->width,
                                  .height = by->height,
                                  .result_width = by->width,
                                  .result_height = by->height };
    room->place.flip_horizontal = by->flips & 1;
    room->place.flip_vertical = by->flips >> 1;
    motley_drawn drawn = one_image(&room->step, &room->one, &room->width, &room->height);
    drawn.places = by->width ? &room->place : NULL;
    return drawn;
}

static double within(uint64_t *state, double most)
{
    const uint64_t random = input_random(state);
    return random % 7 == 0 ? 0 : random % 7 == 1 ? most : most * ((double)(random >> 11) * 0x1p-53);
}

/* A box has lost nothing where all of its corners, as points, were inside all along; and it is dropped by the share of
 * it that is written. */
Test(follow, boxes_that_lose_nothing_are_seen_whole)
{
    enum { BOXES = 400 };
    static double boxes[4 * BOXES], points[8 * BOXES], seen[BOXES];
    static float narrow[4 * BOXES], narrow_points[8 * BOXES], narrow_seen[BOXES];
    static uint8_t keep[BOXES], flags[4 * BOXES];
    static bool empty[BOXES];
    const size_t all[2] = { 0, BOXES }, corners[2] = { 0, 4 * (size_t)BOXES };
    uint64_t state = 3;
    long whole = 0, cut = 0;
    for (size_t m = 0; m < sizeof moves / sizeof *moves; m++)
        for (int way = 0; way < 4; way++) { /* float or double, either rule */
            moved_image room;
            const motley_drawn drawn = drawn_move(&moves[m], &room);
            for (int b = 0; b < BOXES; b++) {
                double *const at = &boxes[4 * b];
                for (int k = 0; k < 4; k++)
                    at[k] = (float)within(&state, k & 1 ? HIGH : WIDE);
                for (int axis = 0; axis < 2; axis++)
                    if (at[axis] > at[axis + 2]) {
                        const double least = at[axis + 2];
                        at[axis + 2] = at[axis];
                        at[axis] = least;
                    }
                empty[b] = at[0] == at[2] || at[1] == at[3];
                for (int corner = 0; corner < 4; corner++) {
                    points[8 * b + 2 * corner] = at[corner & 1 ? 2 : 0];
                    points[8 * b + 2 * corner + 1] = at[corner & 2 ? 3 : 1];
                }
                for (int k = 0; k < 8; k++) {
                    narrow[4 * b + k / 2] = (float)at[k / 2];
                    narrow_points[8 * b + k] = (float)points[8 * b + k];
                }
            }
            const int single = way & 1;
            const double least = m % 3 ? 1 : (double)(input_random(&state) % 1000) / 1000;
            const motley_followed followed = {
                .single = single,
                .boxes_count = BOXES,
                .boxes = single ? (void *)narrow : boxes,
                .box_offsets = all,
                .visibility = single ? (void *)narrow_seen : seen,
                .keep = keep,
                .box_params = { .torchvision = way >> 1, .min_visibility = least },
                .points_count = 4 * (size_t)BOXES,
                .points = single ? (void *)narrow_points : points,
                .point_offsets = corners,
                .flags = flags,
            };
            motley_error error;
            cr_assert_eq(motley_follow(&drawn, &followed, &error), MOTLEY_OK, "%s", error.message);
            for (int b = 0; b < BOXES; b++) {
                const double share = single ? (double)narrow_seen[b] : seen[b];
                const double *const at = &boxes[4 * b];
                const float *const near = &narrow[4 * b];
                const bool area = single ? near[0] < near[2] && near[1] < near[3] : at[0] < at[2] && at[1] < at[3];
                const bool enough = single ? narrow_seen[b] >= (float)least : share >= least;
                const bool inside = flags[4 * b] & flags[4 * b + 1] & flags[4 * b + 2] & flags[4 * b + 3] & 1;
                cr_assert_eq(keep[b], area && enough, "move %zu, way %d, box %d: %.17g", m, way, b, share);
                if (inside)
                    cr_assert_eq(share, empty[b] ? 0 : 1, "move %zu, way %d, box %d lost nothing: %.17g", m, way, b,
                                 share);
                whole += inside;
                cut += !inside && share < 1;
            }
        }
    cr_expect_gt(whole, 5000);
    cr_expect_gt(cut, 3000);
}

/* What was on an edge of the image is on an edge of its mirror image. */
Test(follow, a_mirror_loses_no_point)
{
    for (size_t m = 0; m < sizeof moves / sizeof *moves; m++) {
        const move *const by = &moves[m];
        const bool all = !by->width || (by->crop.width == WIDE && by->crop.height == HIGH);
        if (!all || by->value != 0)
            continue;
        moved_image room;
        const motley_drawn drawn = drawn_move(by, &room);
        double points[9][2], indices[4][2] = { { 0, 0 }, { WIDE - 1, 0 }, { 0, HIGH - 1 }, { -0.5, 5 } };
        uint8_t flags[9];
        for (int i = 0; i < 9; i++) {
            points[i][0] = (double[]){ 0, 0.1, WIDE }[i % 3];
            points[i][1] = (double[]){ 0, HIGH / 3.0, HIGH }[i / 3];
        }
        motley_error error;
        cr_assert_eq(follow_points(&drawn, MOTLEY_CONTINUOUS, (size_t[]){ 0, 9 }, points[0], flags, &error), MOTLEY_OK);
        for (int i = 0; i < 9; i++)
            cr_expect(flags[i] & MOTLEY_POINT_INSIDE, "move %zu: (%.17g, %.17g)", m, points[i][0], points[i][1]);
        cr_assert_eq(follow_points(&drawn, MOTLEY_INDEX, (size_t[]){ 0, 4 }, indices[0], flags, &error), MOTLEY_OK);
        for (int i = 0; i < 3; i++)
            cr_expect(flags[i] & MOTLEY_POINT_INSIDE, "move %zu: pixel (%g, %g)", m, indices[i][0], indices[i][1]);
    }
    const int32_t none = 0, width = 10, height = 10;
    const motley_drawn still = { .count = 1, .step_counts = &none, .widths = &width, .heights = &height };
    double edges[4][2] = { { -0.5, 3 }, { 9.5, 3 }, { 3, -0.5 }, { 3, 9.5 } };
    uint8_t flags[4];
    cr_assert_eq(follow_points(&still, MOTLEY_INDEX, (size_t[]){ 0, 4 }, edges[0], flags, NULL), MOTLEY_OK);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(flags[i] & MOTLEY_POINT_INSIDE, i % 2 == 0, "an index is in the pixel that it is rounded to");
}

/* Boxes and points that belong to no image would stay where they are. */
Test(follow, offsets_that_leave_out_boxes_or_points_are_refused)
{
    const int32_t width = 10, height = 10, none = 0;
    const motley_drawn drawn = { .count = 1, .step_counts = &none, .widths = &width, .heights = &height };
    double numbers[12] = { 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1 };
    const size_t early[2] = { 0, 2 }, late[2] = { 1, 3 }, past[2] = { 0, 4 };
    const struct {
        motley_followed what;
        const char *words;
    } wrong[] = {
        { { .boxes_count = 3, .boxes = numbers, .box_offsets = early }, "box_offsets ends at 2, want boxes_count, 3" },
        { { .boxes_count = 3, .boxes = numbers, .box_offsets = past }, "box_offsets ends at 4, want boxes_count, 3" },
        { { .boxes_count = 3, .boxes = numbers, .box_offsets = late }, "offsets of boxes begin at 1, want 0" },
        { { .points_count = 3, .points = numbers, .point_offsets = early },
          "point_offsets ends at 2, want points_count, 3" },
        { { .points_count = 3, .points = numbers, .point_offsets = late }, "offsets of points begin at 1, want 0" },
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        motley_error error = { 0 };
        cr_expect_eq(motley_follow(&drawn, &wrong[k].what, &error), MOTLEY_ERR_ARGUMENT, "%s", wrong[k].words);
        cr_expect(strstr(error.message, wrong[k].words), "'%s' does not say '%s'", error.message, wrong[k].words);
    }
}

/* A transform's steps work on what its crop and resize made of the image. */
Test(follow, follower_steps_of_a_transform_have_the_size_after_the_crop)
{
    const int32_t width = 10, height = 10, one = 1;
    motley_step step = { .op = motley_op_find("flip_lr"), .inside = { 2, 3, 30, 40 } }, kept;
    motley_place place = { .crop = { 1, 1, 8, 8 }, .width = 32, .height = 40, .result_width = 32, .result_height = 40 },
                 kept_place;
    motley_drawn drawn = one_image(&step, &one, &width, &height);
    int32_t count;
    motley_error error = { 0 };
    drawn.places = &place;
    cr_expect_eq(motley_follower_steps(&drawn, NULL, &kept, &count, &kept_place, &error), MOTLEY_OK, "%s",
                 error.message);
    cr_expect(count == 1 && kept.op == step.op);
    place.result_width = 29;
    cr_expect_eq(motley_follower_steps(&drawn, NULL, &kept, &count, &kept_place, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "want a part of the image of 29 x 40"), "%s", error.message);
    place.crop.width = 10;
    cr_expect_eq(motley_follower_steps(&drawn, NULL, &kept, &count, &kept_place, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "the given crop of 10x8 at (1, 1) leaves the image of 10x10"), "%s", error.message);
}

/* ---- draws as JSON ---- */

Test(follow, draws_come_back_from_json)
{
    const int32_t width = 200, height = 150;
    const size_t ids = sweep(300, "samples of each policy through JSON");
    size_t compared = 0, levels = 0;
    for (size_t p = 0; p < input_builtins(false); p++) {
        motley_policy *policy = builtin(p);
        for (uint64_t id = 0; id < ids; id++)
            for (int32_t channels = 1; channels <= 4; channels++) {
                motley_step steps[64], read[64];
                int32_t count, read_count;
                uint64_t sample;
                char *text;
                motley_error error;
                motley_samples samples = { .epoch = 90, .first = UINT64_MAX - id };
                double boxes[8];
                size_t offsets[2];
                input_boxes(&samples, boxes, offsets, 1, width, height);
                cr_assert_eq(motley_draw(policy, &samples, 1, &width, &height, channels, NULL, steps, &count, NULL),
                             MOTLEY_OK);
                cr_assert_eq(motley_draw_json(policy, samples.first, NULL, steps, count, channels, &text, NULL),
                             MOTLEY_OK);
                cr_assert_eq(
                    motley_draw_read(text, strlen(text), channels, &sample, NULL, read, 64, &read_count, &error),
                    MOTLEY_OK, "%s: %s", text, error.message);
                free(text);
                cr_assert_eq(sample, samples.first);
                cr_assert_eq(read_count, count);
                for (int32_t s = 0; s < count; s++) {
                    const int needs = motley_policy_op(policy, steps[s].op)->values_max > 0;
                    cr_assert_eq(read[s].op, steps[s].op);
                    cr_assert_eq(read[s].level, steps[s].level);
                    levels += steps[s].level > 0;
                    cr_assert_eq(read[s].values_count, steps[s].values_count);
                    cr_assert_arr_eq(read[s].values, steps[s].values, needs * sizeof steps[s].values);
                    cr_assert_eq(read[s].interpolation, steps[s].interpolation);
                    cr_assert_arr_eq(read[s].fill, steps[s].fill, (size_t)channels);
                    cr_assert_arr_eq(read[s].inside, steps[s].inside, sizeof steps[s].inside);
                    compared++;
                }
            }
        motley_policy_destroy(policy);
    }
    cr_expect_gt(compared, 100 * ids);
    cr_expect_gt(levels, 10 * ids);
}

Test(follow, steps_that_are_not_applied_are_left_out)
{
    static const char text[] = "{\"sample\": 3, \"steps\": [{\"op\": \"invert\", \"applied\": false},"
                               "{\"op\": \"rotate\", \"value\": 9, \"level\": 4, \"applied\": true},"
                               "{\"op\": \"equalize\", \"applied\": false}, {\"op\": \"solarize\", \"value\": 9}]}";
    motley_step steps[4];
    int32_t count;
    uint64_t sample;
    motley_error error = { 0 };
    cr_assert_eq(motley_draw_read(text, strlen(text), 3, &sample, NULL, steps, 4, &count, &error), MOTLEY_OK, "%s",
                 error.message);
    cr_assert_eq(count, 2);
    cr_expect(steps[0].op == motley_op_find("rotate") && steps[0].level == 4);
    cr_expect(steps[1].op == motley_op_find("solarize") && steps[1].level == 0);
}

static void json_fails(const char *text, const char *words)
{
    motley_step steps[2];
    int32_t count;
    uint64_t sample;
    motley_error error;
    cr_expect_eq(motley_draw_read(text, strlen(text), 3, &sample, NULL, steps, 2, &count, &error), MOTLEY_ERR_POLICY,
                 "%s", text);
    cr_expect(strstr(error.message, words), "%s: '%s' does not say '%s'", text, error.message, words);
}

Test(follow, wrong_json_is_refused)
{
    json_fails("[1]", "the draw is a list");
    json_fails("{\"steps\": []}", "\"sample\" is missing");
    json_fails("{\"sample\": -1, \"steps\": []}", "not an id");
    json_fails("{\"sample\": 99999999999999999999, \"steps\": []}", "not an id");
    json_fails("{\"sample\": 1}", "\"steps\" is missing");
    json_fails("{\"sample\": 1, \"steps\": [{}]}", "has no \"op\"");
    json_fails("{\"sample\": 1, \"steps\": [3]}", "a step is a number, want an object");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"rotat\", \"value\": 3}]}", "did you mean 'rotate'");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"rotate\"}]}", "has 0 values, want 1 to 1");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"rotate\", \"value\": \"x\"}]}", "want a number");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"rotate\", \"value\": [1, 2]}]}", "has 2 values");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"cutout\", \"value\": 1, \"center\": [1]}]}",
               "\"center\" wants a list of 2 numbers");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"cutout\", \"value\": [1, 2], \"center\": [3, 4]}]}",
               "with 2 values");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"bbox_cutout\", \"value\": 1, \"box\": [3, 4]}]}",
               "without \"center\"");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"rotate\", \"value\": 1, \"interpolation\": \"box\"}]}",
               "\"interpolation\" is 'box', want nearest, bilinear or bicubic");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"rotate\", \"value\": 1, \"fill\": [1]}]}",
               "the image 3 channels");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"rotate\", \"value\": 1, \"fill\": [1, 2, 256]}]}",
               "\"fill\" is 256, want 0..255");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"invert\"}, {\"op\": \"invert\"}, {\"op\": \"invert\"}]}",
               "at most 2");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"invert\", \"applied\": 1}]}",
               "\"applied\" is '1', want false or true");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"invert\", \"level\": -1}]}", "\"level\" is -1, want 0..");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"invert\", \"level\": 0.5}]}", "\"level\" is 0.5, want a whole");
    json_fails("{\"sample\": 1, \"steps\": [{\"op\": \"invert\", \"level\": \"x\"}]}",
               "\"level\" is 'x', want a number");
    json_fails("{\"sample\": 1, \"steps\": [", "");
}

/* ---- transforms ---- */

#define SOURCE_W 61
#define SOURCE_H 47
#define SOURCE (SOURCE_W * SOURCE_H)
#define PLACED 40 /* images of each transform */

typedef struct placed {
    motley_policy *transform, *follower;
    const motley_policy_info *info;
    motley_place places[PLACED];
    motley_step *steps; /* [PLACED][max_steps] */
    int32_t counts[PLACED], widths[PLACED], heights[PLACED];
    size_t result; /* pixels of an image that comes out */
} placed;

static motley_drawn drawn_of(const placed *p)
{
    return (motley_drawn){ .count = PLACED,
                           .steps = p->steps,
                           .step_counts = p->counts,
                           .max_steps = p->info->max_steps,
                           .widths = p->widths,
                           .heights = p->heights,
                           .places = p->places };
}

static const motley_samples placed_samples = { .seed = 5, .epoch = 2, .first = 9 };

/* Draws PLACED images of the i-th built-in part; false: it mixes, and nothing can follow it. */
static bool place_all(placed *p, size_t i, const motley_follower_params *how)
{
    motley_error error;
    char name[PART_NAME];
    cr_assert_not_null(p->transform = builtin_part(i, name));
    const motley_status status = motley_policy_follower(p->transform, how, &p->follower, &error);
    p->info = motley_policy_describe(p->transform);
    if (p->info->mix) {
        cr_expect_eq(status, MOTLEY_ERR_UNSUPPORTED);
        cr_expect(strstr(error.message, "mixes images"), "%s", error.message);
        motley_policy_destroy(p->transform);
        return false;
    }
    cr_assert_eq(status, MOTLEY_OK, "%s", error.message);
    p->steps = calloc(PLACED * p->info->max_steps + 1, sizeof *p->steps);
    p->result = p->info->width ? (size_t)p->info->width * (size_t)p->info->height : SOURCE;
    for (int k = 0; k < PLACED; k++) {
        p->widths[k] = SOURCE_W;
        p->heights[k] = SOURCE_H;
    }
    cr_assert_eq(motley_draw(p->transform, &placed_samples, PLACED, p->widths, p->heights, 3, p->places, p->steps,
                             p->counts, &error),
                 MOTLEY_OK, "%s", error.message);
    return true;
}

static void unplace(placed *p)
{
    free(p->steps);
    motley_policy_destroy(p->transform);
    motley_policy_destroy(p->follower);
}

/* Every pixel its own number, in two bytes; [PLACED][SOURCE][2]. */
static uint8_t *numbered_sources(void)
{
    uint8_t *pixels = malloc((size_t)PLACED * SOURCE * 2);
    for (size_t k = 0; k < (size_t)PLACED * SOURCE; k++) {
        pixels[2 * k] = (uint8_t)(k % SOURCE);
        pixels[2 * k + 1] = (uint8_t)(k % SOURCE >> 8);
    }
    return pixels;
}

/* Crop, nearest resize, window and flips of one image, pixel by pixel. */
static void place_naively(motley_context *context, const motley_place *d, const uint8_t *source, int32_t width,
                          int32_t height, const uint8_t fill[2], uint8_t *out)
{
    uint8_t *resized = malloc((size_t)d->width * (size_t)d->height * 2);
    const motley_batch src = {
        .count = 1, .channels = 2, .data = (void *)(uintptr_t)source, .width = SOURCE_W, .height = SOURCE_H
    };
    const motley_batch dst = batch_of(resized, 1, 2, d->width, d->height);
    motley_error error;
    cr_assert_eq(motley_resize(context, &src, &dst,
                               &(motley_resize_params){ .filter = MOTLEY_FILTER_NEAREST, .crops = &d->crop }, &error),
                 MOTLEY_OK, "%s", error.message);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            const int32_t u = (d->flip_horizontal ? width - 1 - x : x) + d->left;
            const int32_t v = (d->flip_vertical ? height - 1 - y : y) + d->top;
            const bool inside = u >= 0 && v >= 0 && u < d->width && v < d->height;
            memcpy(&out[2 * (y * width + x)], inside ? &resized[2 * (v * d->width + u)] : fill, 2);
        }
    free(resized);
}

Test(follow, masks_follow_transforms)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    const motley_follower_params how = { .channels = 2, .fill = { 255, 254 } };
    uint8_t *sources = numbered_sources();
    size_t filled = 0, moved = 0;
    for (size_t t = 0; t < builtin_parts(); t++) {
        placed p;
        if (!place_all(&p, t, &how))
            continue;
        const int32_t width = p.info->width ? p.info->width : SOURCE_W,
                      height = p.info->width ? p.info->height : SOURCE_H;
        uint8_t *got = malloc(PLACED * p.result * 2), *again = malloc(PLACED * p.result * 2),
                *want = malloc(p.result * 2);
        const motley_batch src = batch_of(sources, PLACED, 2, SOURCE_W, SOURCE_H);
        const motley_batch dst = batch_of(got, PLACED, 2, width, height),
                           replayed = batch_of(again, PLACED, 2, width, height);
        motley_error error;
        cr_assert_eq(
            motley_apply(context, p.follower, &src, &dst, &(motley_apply_params){ .samples = placed_samples }, &error),
            MOTLEY_OK, "%s", error.message);
        for (size_t i = 0; i < PLACED; i++) {
            place_naively(context, &p.places[i], sources, width, height, how.fill, want);
            const motley_batch one = batch_of(want, 1, 2, width, height);
            for (int32_t s = 0; s < p.counts[i]; s++) {
                const motley_step *step = &p.steps[i * p.info->max_steps + (size_t)s];
                if (step->op < 0 || motley_op_get(step->op)->shape != MOTLEY_SHAPE_WARP)
                    continue;
                moved++;
                cr_assert_eq(motley_op_apply(context, step->op, step->values, step->values_count, &one, &one,
                                             &(motley_op_params){ .fill = (const double[4]){ 255, 254 } }, &error),
                             MOTLEY_OK, "%s", error.message);
            }
            cr_assert_arr_eq(got + i * p.result * 2, want, p.result * 2, "%s, mask %zu", p.info->name, i);
            for (size_t k = 0; k < p.result; k++)
                filled += want[2 * k + 1] == 254;
        }
        /* the same from the images' recorded draws */
        const motley_drawn drawn = drawn_of(&p);
        const size_t most = motley_policy_describe(p.follower)->max_steps;
        motley_step *steps = calloc(PLACED * p.info->max_steps + 1, sizeof *steps),
                    *given = calloc(PLACED * most + 1, sizeof *given);
        int32_t counts[PLACED];
        motley_place places[PLACED];
        cr_assert_eq(motley_follower_steps(&drawn, &how, steps, counts, places, &error), MOTLEY_OK, "%s",
                     error.message);
        for (size_t i = 0; i < PLACED; i++)
            memcpy(&given[i * most], &steps[i * p.info->max_steps], (size_t)counts[i] * sizeof *given);
        cr_assert_eq(
            motley_apply(context, p.follower, &src, &replayed,
                         &(motley_apply_params){ .given = places, .given_steps = given, .given_step_counts = counts },
                         &error),
            MOTLEY_OK, "%s", error.message);
        cr_assert_arr_eq(again, got, PLACED * p.result * 2, "%s", p.info->name);
        char *text;
        cr_expect_eq(motley_policy_print(p.follower, MOTLEY_PRINT_TEXT, &text, &error), MOTLEY_ERR_UNSUPPORTED);
        free(steps);
        free(given);
        free(want);
        free(again);
        free(got);
        unplace(&p);
    }
    cr_expect_gt(filled, 1000, "padding is filled");
    cr_expect_gt(moved, 20, "policies move masks");
    free(sources);
    motley_context_destroy(context);
}

/* Each half of an element of eight bytes goes through a transform like a mask of four. */
Test(follow, elements_of_eight_bytes_follow_transforms)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    static int32_t in[PLACED * SOURCE];
    static uint64_t wide[PLACED * SOURCE];
    for (int k = 0; k < PLACED * SOURCE; k++) {
        in[k] = k % SOURCE;
        wide[k] = wide_number(in[k]);
    }
    for (size_t t = 0; t < builtin_parts(); t++) {
        placed p;
        if (!place_all(&p, t, &numbers_params))
            continue;
        const int32_t width = p.info->width ? p.info->width : SOURCE_W,
                      height = p.info->width ? p.info->height : SOURCE_H;
        int32_t *moved = malloc(PLACED * p.result * sizeof *moved);
        uint64_t *got = malloc(PLACED * p.result * sizeof *got);
        const motley_apply_params params = { .samples = placed_samples };
        const motley_batch src = batch_of((uint8_t *)in, PLACED, 4, SOURCE_W, SOURCE_H);
        const motley_batch dst = batch_of((uint8_t *)moved, PLACED, 4, width, height);
        motley_error error;
        cr_assert_eq(motley_apply(context, p.follower, &src, &dst, &params, &error), MOTLEY_OK, "%s", error.message);
        for (size_t half = 0; half < 2; half++) {
            const motley_follower_params how = half_params(half);
            motley_policy *follower;
            cr_assert_eq(motley_policy_follower(p.transform, &how, &follower, &error), MOTLEY_OK, "%s", error.message);
            const motley_batch from = half_of(wide, half, PLACED, SOURCE_W, SOURCE_H);
            const motley_batch to = half_of(got, half, PLACED, width, height);
            cr_assert_eq(motley_apply(context, follower, &from, &to, &params, &error), MOTLEY_OK, "%s", error.message);
            motley_policy_destroy(follower);
        }
        for (size_t k = 0; k < PLACED * p.result; k++)
            cr_assert_eq(got[k], wide_number(moved[k]), "%s, image %zu, pixel %zu", p.info->name, k / p.result,
                         k % p.result);
        free(got);
        free(moved);
        unplace(&p);
    }
    motley_context_destroy(context);
}

/* The matrix of a transform says where each pixel came from: a nearest resize takes the source pixel that it points
 * into. */
Test(follow, matrices_of_transforms_are_where_pixels_come_from)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    const motley_follower_params how = { .channels = 2, .fill = { 255, 255 } };
    uint8_t *sources = numbered_sources();
    size_t compared = 0;
    sweep(builtin_parts(), "built-in transforms' matrices");
    for (size_t t = 0; t < builtin_parts(); t += sweep_every()) {
        placed p;
        double matrices[PLACED][6];
        motley_error error;
        if (!place_all(&p, t, &how))
            continue;
        const int32_t width = p.info->width ? p.info->width : SOURCE_W,
                      height = p.info->width ? p.info->height : SOURCE_H;
        uint8_t *out = malloc(PLACED * p.result * 2);
        const motley_batch src = batch_of(sources, PLACED, 2, SOURCE_W, SOURCE_H),
                           dst = batch_of(out, PLACED, 2, width, height);
        cr_assert_eq(
            motley_apply(context, p.follower, &src, &dst, &(motley_apply_params){ .samples = placed_samples }, NULL),
            MOTLEY_OK);
        const motley_drawn drawn = drawn_of(&p);
        cr_assert_eq(follow_matrices(&drawn, matrices[0], &error), MOTLEY_OK, "%s", error.message);
        size_t offsets[PLACED + 1];
        double points[PLACED][2], boxes[PLACED][4], visibility[PLACED];
        uint8_t flags[PLACED];
        for (size_t i = 0; i <= PLACED; i++)
            offsets[i] = i;
        for (size_t i = 0; i < PLACED; i++) {
            points[i][0] = 30.25, points[i][1] = 20.5;
            boxes[i][0] = boxes[i][1] = 0, boxes[i][2] = SOURCE_W, boxes[i][3] = SOURCE_H;
        }
        cr_assert_eq(follow_points(&drawn, MOTLEY_CONTINUOUS, offsets, points[0], flags, &error), MOTLEY_OK, "%s",
                     error.message);
        cr_assert_eq(follow_boxes(&drawn, NULL, offsets, boxes[0], visibility, NULL, &error), MOTLEY_OK, "%s",
                     error.message);
        for (size_t i = 0; i < PLACED; i++) {
            const double *m = matrices[i];
            const motley_place *d = &p.places[i];
            cr_expect_float_eq(m[0] * points[i][0] + m[1] * points[i][1] + m[2], 30.25, 1e-9);
            cr_expect_float_eq(m[3] * points[i][0] + m[4] * points[i][1] + m[5], 20.5, 1e-9);
            int32_t moves = 0;
            for (int32_t s = 0; s < p.counts[i]; s++) {
                const int op = p.steps[i * p.info->max_steps + (size_t)s].op;
                moves += op >= 0 && motley_op_get(op)->shape == MOTLEY_SHAPE_WARP;
            }
            cr_expect_eq(!(flags[i] & MOTLEY_POINT_MIRRORED), m[0] * m[4] - m[1] * m[3] > 0);
            if (moves)
                continue; /* each warp rounds to pixels again */
            double seen[4] = { HUGE_VAL, HUGE_VAL, -HUGE_VAL, -HUGE_VAL };
            for (int32_t y = 0; y < height; y++)
                for (int32_t x = 0; x < width; x++) {
                    const uint8_t *at = &out[2 * (i * p.result + (size_t)(y * width + x))];
                    const int32_t number = at[0] | at[1] << 8;
                    if (number == 65535)
                        continue;
                    const double sx = m[0] * (x + 0.5) + m[2], sy = m[4] * (y + 0.5) + m[5];
                    cr_assert_leq(fabs(sx - number % SOURCE_W - 0.5), 0.5 + 1e-6, "%s, image %zu", p.info->name, i);
                    cr_assert_leq(fabs(sy - number / SOURCE_W - 0.5), 0.5 + 1e-6, "%s, image %zu", p.info->name, i);
                    seen[0] = fmin(seen[0], x), seen[2] = fmax(seen[2], x + 1);
                    seen[1] = fmin(seen[1], y), seen[3] = fmax(seen[3], y + 1);
                    compared++;
                }
            /* a box around all of it covers the pixels that came from it, and as much of it is left as was cut out */
            for (int k = 0; k < 4; k++)
                cr_expect_float_eq(boxes[i][k], seen[k], 1e-9, "%s, image %zu", p.info->name, i);
            const double area = (seen[2] - seen[0]) * (seen[3] - seen[1]);
            const double zoom = (double)d->width / d->crop.width * d->height / d->crop.height;
            cr_expect_float_eq(visibility[i], area / zoom / SOURCE, 1e-9);
        }
        free(out);
        unplace(&p);
    }
    cr_expect_gt(compared, 1000000 / sweep_every());
    free(sources);
    motley_context_destroy(context);
}

static motley_policy *parsed_transform(const char *text)
{
    motley_policy *transform;
    motley_error error;
    cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &transform, &error), MOTLEY_OK, "%s", error.message);
    return transform;
}

Test(follow, erased_boxes_reach_masks_and_points)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    motley_policy *transform = parsed_transform("motley: 1\nname: x\nstages:\n  - output: {mean: 0, std: 1}\n"
                                                "  - erase: {p: 1, value: 0.5}\n");
    uint8_t mask[SOURCE];
    const motley_batch batch = batch_of(mask, 1, 1, SOURCE_W, SOURCE_H);
    uint8_t out[SOURCE];
    const motley_batch dst = batch_of(out, 1, 1, SOURCE_W, SOURCE_H);
    memset(mask, 7, sizeof mask);
    const int32_t width = SOURCE_W, height = SOURCE_H;
    motley_place place;
    int32_t count;
    const motley_samples samples = { 0 };
    cr_assert_eq(motley_draw(transform, &samples, 1, &width, &height, 3, &place, NULL, &count, NULL), MOTLEY_OK);
    cr_assert_eq(place.boxes_count, 1);
    const motley_erased_box box = place.boxes[0];
    for (int erase = 0; erase < 2; erase++) {
        motley_policy *follower;
        cr_assert_eq(motley_policy_follower(transform, &(motley_follower_params){ .fill = { 255 }, .erase = erase },
                                            &follower, NULL),
                     MOTLEY_OK);
        cr_assert_eq(motley_apply(context, follower, &batch, &dst, NULL, NULL), MOTLEY_OK);
        for (int y = 0; y < SOURCE_H; y++)
            for (int x = 0; x < SOURCE_W; x++) {
                const bool hole = x >= box.left && x < box.left + box.width && y >= box.top && y < box.top + box.height;
                cr_assert_eq(out[y * SOURCE_W + x], hole && erase ? 255 : 7);
            }
        motley_policy_destroy(follower);
    }
    const motley_drawn drawn = {
        .count = 1, .step_counts = &count, .widths = &width, .heights = &height, .places = &place
    };
    double points[2][2] = { { box.left + 0.5, box.top + 0.5 }, { box.left + box.width + 0.5, box.top + 0.5 } };
    const size_t offsets[2] = { 0, 2 };
    uint8_t flags[2];
    cr_assert_eq(follow_points(&drawn, MOTLEY_CONTINUOUS, offsets, points[0], flags, NULL), MOTLEY_OK);
    cr_expect_eq(flags[0], MOTLEY_POINT_INSIDE);
    cr_expect_eq(flags[1] & MOTLEY_POINT_UNERASED, MOTLEY_POINT_UNERASED);
    motley_policy_destroy(transform);
    motley_context_destroy(context);
}

Test(follow, results_of_no_size_are_refused)
{
    static const int32_t wrong[][2] = { { -1, 8 }, { 8, 0 }, { 0, 8 }, { 8, 1048577 } };
    const int32_t width = 20, height = 10, none = 0;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const motley_place place = {
            .crop = { 0, 0, 20, 10 }, .width = 8, .height = 8, .result_width = wrong[k][0], .result_height = wrong[k][1]
        };
        const motley_drawn drawn = {
            .count = 1, .step_counts = &none, .widths = &width, .heights = &height, .places = &place
        };
        motley_error error = { 0 };
        double m[6];
        cr_expect_eq(follow_matrices(&drawn, m, &error), MOTLEY_ERR_ARGUMENT);
        cr_expect(strstr(error.message, "image 0: its result is given as "), "%s", error.message);
    }
}

Test(follow, draws_of_another_image_are_refused)
{
    motley_error error;
    const int32_t width = 20, height = 10, none = 0;
    motley_place place = { .crop = { 5, 0, 20, 10 }, .width = 8, .height = 8, .result_width = 8, .result_height = 8 };
    motley_drawn drawn = { .count = 1, .step_counts = &none, .widths = &width, .heights = &height, .places = &place };
    double m[6];
    cr_expect_eq(follow_matrices(&drawn, m, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "image 0: the given crop of 20x10 at (5, 0) leaves the image of 20x10");
    place.crop.left = 0;
    for (int k = 0; k < 8; k++) { /* numbers near the largest, of windows and of erased boxes */
        static const char *const said[] = { "the given window begins at (",
                                            "image 0, box 0: ", "boxes are given, want at most 8" };
        motley_place far = place;
        far.flip_horizontal = far.flip_vertical = 1;
        far.boxes_count = k < 3 ? 0 : k < 7 ? 1 : 9;
        far.left = k == 0 ? INT32_MAX : k == 1 ? INT32_MIN : 0;
        far.top = k == 2 ? 1048577 : 0;
        far.boxes[0] = (motley_erased_box){ .left = k == 3   ? 9
                                                    : k == 4 ? -1
                                                             : 0,
                                            .top = k == 5 ? INT32_MAX : 0,
                                            .width = k == 3 ? INT32_MAX : 2,
                                            .height = k == 6 ? 9 : 2 };
        drawn.places = &far;
        error.message[0] = 0;
        cr_expect_eq(follow_matrices(&drawn, m, &error), MOTLEY_ERR_ARGUMENT, "%d", k);
        cr_expect(strstr(error.message, said[k < 3 ? 0 : k < 7 ? 1 : 2]), "%s", error.message);
    }
    drawn.places = &place;
    place.width = 0;
    cr_expect_eq(follow_matrices(&drawn, m, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "it is resized to 0x8"), "%s", error.message);

    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    motley_policy *policy = parsed("motley: 1\nname: turns\nbranches: [{op: rotate, value: 10}]\n");
    uint8_t pixels[20 * 10 * 3] = { 1 }, before[sizeof pixels];
    memcpy(before, pixels, sizeof before);
    const motley_batch batch = batch_of(pixels, 1, 3, 20, 10);
    const motley_step steps[2] = { { .op = motley_op_find("invert") }, { .op = motley_op_find("invert") } };
    const int32_t other = 21, one = 1, two = 2;
    const struct {
        const motley_policy *policy;
        const int32_t *count, *width, *height;
        const char *words;
    } wrong[] = {
        { policy, &one, NULL, NULL, "image 0, step 0 is invert, which policy 'turns' does not draw" },
        { policy, &two, NULL, NULL, "image 0 has 2 steps, but policy 'turns' draws 1 at most" },
        { NULL, &one, &other, &height, "image 0 is 20x10, but its steps were drawn for 21x10" },
        { NULL, &one, &width, NULL, "only one of given_widths and given_heights is set" },
        { NULL, &one, &width, &height, NULL },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const motley_apply_params given = { .given_steps = steps,
                                            .given_step_counts = wrong[i].count,
                                            .given_max_steps = 2,
                                            .given_widths = wrong[i].width,
                                            .given_heights = wrong[i].height };
        const motley_status status = motley_apply(context, wrong[i].policy, &batch, &batch, &given, &error);
        cr_expect_eq(status, wrong[i].words ? MOTLEY_ERR_ARGUMENT : MOTLEY_OK, "%zu", i);
        if (!wrong[i].words)
            break;
        cr_expect(strstr(error.message, wrong[i].words), "'%s' does not say '%s'", error.message, wrong[i].words);
        cr_expect_arr_eq(pixels, before, sizeof pixels);
    }
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

Test(follow, wrong_followers_are_refused)
{
    motley_policy *transform = parsed_transform("motley: 1\nname: x\nstages:\n  - resize: {size: [8, 8]}\n"), *follower;
    const struct {
        motley_follower_params params;
        const char *words;
    } wrong[] = { { { .interpolation = (motley_interpolation)3 }, "interpolation is 3, want nearest (0)" },
                  { { .channels = 5 }, "channels is 5, want 1 to 4" } };
    motley_error error;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(motley_policy_follower(transform, &wrong[i].params, &follower, &error), MOTLEY_ERR_ARGUMENT);
        cr_expect(strstr(error.message, wrong[i].words), "'%s' does not say '%s'", error.message, wrong[i].words);
        cr_expect_null(follower);
    }
    cr_assert_eq(motley_policy_follower(transform, NULL, &follower, &error), MOTLEY_OK, "%s", error.message);
    float out[64];
    uint8_t in[64] = { 0 };
    const motley_batch src = batch_of(in, 1, 1, 8, 8);
    motley_batch dst = batch_of((uint8_t *)(void *)out, 1, 1, 8, 8);
    dst.dtype = MOTLEY_F32;
    motley_context *context = context_of(MOTLEY_BACKEND_CPU);
    cr_expect_eq(motley_apply(context, follower, &src, &dst, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "comes out as bytes, want dst as U8"), "%s", error.message);
    motley_context_destroy(context);
    motley_policy_destroy(follower);
    motley_policy_destroy(transform);
    transform = parsed_transform("motley: 1\nname: y\nbranches: [invert]\naugmix: {}\n");
    cr_expect_eq(motley_policy_follower(transform, NULL, &follower, &error), MOTLEY_ERR_UNSUPPORTED);
    cr_expect(strstr(error.message, "mixes"), "%s", error.message);
    motley_policy_destroy(transform);
}

/* ---- clips ---- */

#define CLIP_FRAMES 4
#define CLIP_IMAGES (30 * CLIP_FRAMES)
#define CLIP_FRAME (SMALL_W * SMALL_H * 3)

/* Draws, and applies as clips, from dense frames to frames with the given strides. */
static motley_status apply_clips(motley_backend backend, const motley_policy *policy, const uint64_t *ids, size_t count,
                                 const uint8_t *in, const motley_batch *dst, motley_error *error)
{
    motley_context *context = context_of(backend);
    const motley_batch src = batch_of((uint8_t *)(uintptr_t)in, count, 3, SMALL_W, SMALL_H);
    const motley_apply_params params = { .samples = { .seed = 4, .ids = ids }, .clip_frames = CLIP_FRAMES };
    const motley_status status = motley_apply(context, policy, &src, dst, &params, error);
    motley_context_destroy(context);
    return status;
}

/* If rows have gaps, frames are below each other instead of being one row each. */
Test(follow, clips_are_the_same_on_every_backend_and_in_every_layout)
{
    static uint8_t in[CLIP_IMAGES * CLIP_FRAME], want[sizeof in], got[2 * sizeof in];
    uint64_t ids[CLIP_IMAGES];
    motley_policy *policy =
        parsed("motley: 1\nname: x\nrepeat: 2\nbranches: [equalize, auto_contrast, {op: contrast, value: "
               "1.5}, {op: rotate, value: 20}]\n");
    motley_error error;
    for (int i = 0; i < CLIP_IMAGES; i++) {
        ids[i] = (uint64_t)(i / CLIP_FRAMES);
        input_fill((input_kind)(i % INPUT_KINDS), (uint64_t)i, (input_size){ SMALL_W, SMALL_H }, 3,
                   in + (size_t)i * CLIP_FRAME);
    }
    const motley_batch dense = batch_of(want, CLIP_IMAGES, 3, SMALL_W, SMALL_H);
    cr_assert_eq(apply_clips(MOTLEY_BACKEND_REFERENCE, policy, ids, CLIP_IMAGES, in, &dense, &error), MOTLEY_OK, "%s",
                 error.message);
    for (int gap = 0; gap < 12; gap += 3) {
        motley_batch dst = batch_of(got, CLIP_IMAGES, 3, SMALL_W, SMALL_H);
        dst.channel_stride = 1;
        dst.pixel_stride = 3;
        dst.row_stride = 3 * SMALL_W + gap;
        dst.image_stride = dst.row_stride * SMALL_H;
        cr_assert_eq(apply_clips(MOTLEY_BACKEND_CPU, policy, ids, CLIP_IMAGES, in, &dst, &error), MOTLEY_OK, "%s",
                     error.message);
        for (int row = 0; row < CLIP_IMAGES * SMALL_H; row++)
            cr_assert_arr_eq(got + row * dst.row_stride, want + row * 3 * SMALL_W, 3 * SMALL_W, "gap %d, row %d", gap,
                             row);
        dst.image_stride++;
        cr_expect_eq(apply_clips(MOTLEY_BACKEND_CPU, policy, ids, CLIP_IMAGES, in, &dst, &error),
                     gap ? MOTLEY_ERR_ARGUMENT : MOTLEY_OK);
        cr_expect(!gap || strstr(error.message, "want rows without gaps"), "%s", error.message);
    }
    memset(got, 7, sizeof got);
    const motley_batch dst = batch_of(got, CLIP_IMAGES - 1, 3, SMALL_W, SMALL_H);
    cr_expect_eq(apply_clips(MOTLEY_BACKEND_CPU, policy, ids, CLIP_IMAGES - 1, in, &dst, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "want whole clips"), "%s", error.message);
    cr_expect(got[0] == 7 && got[1] == 7);
    motley_policy_destroy(policy);
}

/* ---- planes ---- */

/* Steps that take every way in which positions are computed, in the whole image and in parts of it. */
static int32_t random_steps(uint64_t *random, int32_t width, int32_t height, motley_step steps[4])
{
    const int32_t count = (int32_t)(input_random(random) % 4) + 1;
    for (int32_t s = 0; s < count; s++) {
        motley_step *const step = &steps[s];
        const double v = (double)(input_random(random) % 2001) / 1000 - 1, w = (double)(input_random(random) % 997) / 7;
        *step = (motley_step){ .fill = { 9 }, .values_count = 1 };
        switch (input_random(random) % 7) {
        case 0: /* columns and rows by running sums, with and without exact numbers */
            step->op = motley_op_find("affine");
            step->values_count = 6;
            memcpy(step->values,
                   (double[]){ 1.5 * v + 0.01, 0, w - 60, 0, input_random(random) % 2 ? 0.5 : v + 1.01, -w / 9 },
                   sizeof(double[6]));
            break;
        case 1: /* both by sums, since it reads far away */
            step->op = motley_op_find("affine");
            step->values_count = 6;
            memcpy(step->values, (double[]){ 1.1, v, 0.3, 600 * v + 400, 0.9, -w }, sizeof(double[6]));
            break;
        case 2:
            *step = (motley_step){ .op = motley_op_find("cutout_tf"), .fill = { 9 }, .values_count = 3 };
            memcpy(step->values, (double[]){ 5, width / 2, height / 3 }, sizeof(double[3]));
            break;
        case 3:
            *step = (motley_step){ .op = motley_op_find(input_random(random) % 2 ? "flip_lr" : "flip_ud") };
            break;
        case 4:
            step->op = motley_op_find("translate_x");
            step->values[0] = 20 * v;
            break;
        case 5:
            step->op = motley_op_find("shear_y");
            step->values[0] = v;
            break;
        default:
            step->op = motley_op_find("rotate");
            step->values[0] = 180 * v;
        }
        if (width > 8 && height > 8 && input_random(random) % 3 == 0)
            memcpy(step->inside, (int32_t[]){ 2, 3, width - 1, height - 4 }, sizeof step->inside);
    }
    return count;
}

/* Elements of every size are where a grey image's pixels are. */
static void planes_move(motley_context *context, const motley_step *steps, int32_t count, int32_t width, int32_t height)
{
    const size_t pixels = (size_t)width * (size_t)height;
    uint8_t *const image = malloc(pixels), *const src = malloc(16 * pixels), *const dst = malloc(16 * pixels);
    motley_error error;
    for (int32_t size = 1; size <= 8; size *= 2) {
        motley_planes planes = { .element_size = size, .erase = 1, .src = src, .dst = dst, .count = 2 };
        for (size_t i = 0; i < pixels; i++) {
            image[i] = (uint8_t)(i * 37 % 251);
            for (size_t b = 0; b < (size_t)size; b++) {
                src[i * (size_t)size + b] = (uint8_t)(image[i] + b);
                src[(pixels + i) * (size_t)size + b] = (uint8_t)(image[i] - b);
            }
        }
        for (int b = 0; b < size; b++)
            planes.fill[b] = (uint8_t)(9 + b);
        const motley_followed followed = { .planes = &planes, .planes_count = 1 };
        const motley_batch batch = batch_of(image, 1, 1, width, height);
        const motley_apply_params given = {
            .given_steps = steps, .given_step_counts = &count, .given_max_steps = 4, .followed = &followed
        };
        cr_assert_eq(motley_apply(context, NULL, &batch, &batch, &given, &error), MOTLEY_OK, "%s", error.message);
        for (int turn = 0; turn < 2; turn++) {
            size_t wrong = 0;
            for (size_t i = 0; i < pixels; i++)
                for (size_t b = 0; b < (size_t)size; b++)
                    wrong +=
                        dst[i * (size_t)size + b] != (uint8_t)(image[i] + b) ||
                        (dst[i * (size_t)size] != 9 && dst[(pixels + i) * (size_t)size + b] != (uint8_t)(image[i] - b));
            cr_assert_eq(wrong, 0, "%d x %d, %d bytes, first %s %g: %zu wrong", width, height, size,
                         motley_op_get(steps[0].op)->name, steps[0].values[0], wrong);
            memset(dst, 0, 2 * pixels * (size_t)size);
            motley_drawn drawn = one_image(steps, &count, &width, &height);
            if (!turn)
                cr_assert_eq(motley_follow(&drawn, &followed, &error), MOTLEY_OK, "%s", error.message);
        }
    }
    free(image);
    free(src);
    free(dst);
}

Test(follow, planes_move_as_images_do)
{
    uint64_t random = 1;
    motley_context *const contexts[] = { context_of(MOTLEY_BACKEND_CPU), context_of(MOTLEY_BACKEND_REFERENCE) };
    for (size_t turn = 0, turns = 20 + sweep(400, "random planes"); turn < turns; turn++) {
        motley_step steps[4];
        const int32_t width = turn == 7 ? 40000 : 1 + (int32_t)(input_random(&random) % 300),
                      height = turn == 7 ? 3 : 1 + (int32_t)(input_random(&random) % 40);
        const int32_t count = random_steps(&random, width, height, steps);
        for (int c = 0; c < 2; c++)
            planes_move(contexts[c], steps, count, width, height);
    }
    motley_context_destroy(contexts[0]);
    motley_context_destroy(contexts[1]);
}

static void planes_of_size_fail(motley_planes planes, int32_t width, int32_t height, const char *words)
{
    const int32_t none = 0;
    const motley_drawn drawn = { .count = 1, .step_counts = &none, .widths = &width, .heights = &height };
    motley_error error;
    cr_expect_eq(motley_follow(&drawn, &(motley_followed){ .planes = &planes, .planes_count = 1 }, &error),
                 MOTLEY_ERR_ARGUMENT, "%s", words);
    cr_expect(strstr(error.message, words), "'%s' does not say '%s'", error.message, words);
}

static void planes_fail(motley_planes planes, const char *words)
{
    planes_of_size_fail(planes, 4, 2, words);
}

Test(follow, wrong_planes_are_refused)
{
    uint64_t memory[64];
    uint8_t *const bytes = (uint8_t *)memory;
    planes_fail((motley_planes){ .element_size = 3 }, "element_size is 3, want 1, 2, 4 or 8");
    planes_fail((motley_planes){ .element_size = 8, .src = bytes, .count = 1 }, "dst is NULL");
    planes_fail((motley_planes){ .element_size = 4, .src = bytes + 2, .dst = memory + 32, .count = 1 },
                "not aligned to the 4 bytes");
    planes_fail((motley_planes){ .element_size = 8, .src = memory, .dst = memory + 15, .count = 2 },
                "dst overlaps src");
    planes_of_size_fail((motley_planes){ .element_size = 1, .src = bytes, .dst = bytes, .count = 1 }, 65536, 32768,
                        "have 65536x32768 elements, want at most 2147483647");
    planes_fail((motley_planes){ .element_size = 2, .images = &(motley_plane){ bytes, bytes + 101, 1 } },
                "not aligned to the 2 bytes");
    planes_fail((motley_planes){ .element_size = 8, .src = memory, .dst = memory + 16, .count = SIZE_MAX },
                "planes of image 0: count is 18446744073709551615, want as many as memory can hold");
    planes_fail((motley_planes){ .element_size = 8, .images = &(motley_plane){ memory, memory + 16, SIZE_MAX / 64 } },
                "planes of image 0: count is 288230376151711743");
    planes_fail((motley_planes){ .element_size = 2, .images = &(motley_plane){ bytes, NULL, 1 } },
                "planes of image 0: dst is NULL");
}
