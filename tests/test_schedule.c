/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that change with the epoch: in each epoch a text means the plain one with that epoch's numbers, and draws,
 * prints and makes the same. */
#include "motley.h"
#include "policies/yaml.h"
#include "tests/allocations.h"
#include "tests/policies.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 6

static motley_policy *at(const motley_policy *transform, uint32_t epoch)
{
    motley_policy *plain;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_at(transform, epoch, &plain, &error), MOTLEY_OK, "%s", error.message);
    return plain;
}

/* A text with schedules, an epoch, and the plain text that it means then. */
static const struct {
    const char *text;
    struct {
        uint32_t epoch;
        const char *plain;
    } in[5];
} known[] = {
    { HEAD "stages:\n  - grayscale: {p: {from: [[0, 0], [10, 0.5]]}}\n",
      { { 0, HEAD "stages:\n  - grayscale: {p: 0}\n" },
        { 9, HEAD "stages:\n  - grayscale: {p: 0}\n" },
        { 10, HEAD "stages:\n  - grayscale: {p: 0.5}\n" },
        { 4000, HEAD "stages:\n  - grayscale: {p: 0.5}\n" } } },
    { HEAD "stages:\n  - jitter: {hue: {ramp: [[10, 0.1], [20, 0.3], [40, 0.3]]}, p: {cosine: [[0, 1], [4, 0]]}}\n",
      { { 0, HEAD "stages:\n  - jitter: {p: 1, hue: 0.1}\n" },
        { 2, HEAD "stages:\n  - jitter: {p: 0.5, hue: 0.1}\n" },
        { 15, HEAD "stages:\n  - jitter: {p: 0, hue: 0.2}\n" },
        { 40, HEAD "stages:\n  - jitter: {p: 0, hue: 0.3}\n" } } },
    { HEAD "epochs: 30\nstages:\n  - random_resized_crop: {size: {from: [[0, 8], [20, 12]]}, scale: [{ramp: [[0, 0.5], "
           "[30, 0.08]]}, 1]}\n  - policy: {name: timm_rand_m9_mstd05_inc1, level: {ramp: [[0, 0], [30, 9]]}}\n",
      { { 0, HEAD "stages:\n  - random_resized_crop: {size: 8, scale: [0.5, 1]}\n  - policy: {name: "
                  "timm_rand_m9_mstd05_inc1, level: 0}\n" },
        { 20, HEAD "stages:\n  - random_resized_crop: {size: 12, scale: [0.21999999999999997, 1]}\n  - policy: {name: "
                   "timm_rand_m9_mstd05_inc1, level: 6}\n" },
        { 30, HEAD "stages:\n  - random_resized_crop: {size: 12}\n  - policy: {name: timm_rand_m9_mstd05_inc1, level: "
                   "9}\n" } } },
    { HEAD "top: 10\nlevel: {uniform: [0, {ramp: [[0, 1], [10, 6]]}]}\nops: {rotate: {range: [0, 30]}}\n"
           "branches: [rotate, {op: rotate, p: {from: [[0, 0.25], [5, 0.75]]}}]\n",
      { { 0, HEAD "top: 10\nlevel: {uniform: [0, 1]}\nops: {rotate: {range: [0, 30]}}\n"
                  "branches: [rotate, {op: rotate, p: 0.25}]\n" },
        { 6, HEAD "top: 10\nlevel: {uniform: [0, 4]}\nops: {rotate: {range: [0, 30]}}\n"
                  "branches: [rotate, {op: rotate, p: 0.75}]\n" } } },
    { HEAD "phases:\n  - {from: 0, stages: [{resize: {size: [8, 8]}}, {grayscale: {}}]}\n  - {from: 7, stages: "
           "[{random_resized_crop: {size: 6}}, {policy: {bins: 3, level: {from: [[0, 1], [9, 2]]}, ops: {rotate: "
           "{range: [0, 30]}}, branches: [rotate, invert]}}]}\n",
      { { 6, HEAD "stages:\n  - resize: {size: [8, 8]}\n  - grayscale: {}\n" },
        { 7, HEAD "stages:\n  - random_resized_crop: {size: 6}\n  - policy: {bins: 3, level: 1, ops: {rotate: {range: "
                  "[0, 30]}}, branches: [rotate, invert]}\n" },
        { 9, HEAD "stages:\n  - random_resized_crop: {size: 6}\n  - policy: {bins: 3, level: 2, ops: {rotate: {range: "
                  "[0, 30]}}, branches: [rotate, invert]}\n" } } },
};
#define KNOWN (sizeof known / sizeof *known)

Test(schedule, each_epoch_is_the_plain_text)
{
    for (size_t i = 0; i < KNOWN; i++) {
        motley_policy *const transform = parsed(known[i].text);
        cr_expect(motley_policy_describe(transform)->scheduled && motley_policy_describe(transform)->stages > 0);
        for (size_t k = 0; k < 5 && known[i].in[k].plain; k++) {
            motley_policy *const plain = at(transform, known[i].in[k].epoch), *const same =
                                                                                  parsed(known[i].in[k].plain);
            char *const a = printed(plain, MOTLEY_PRINT_TEXT), *const b = printed(same, MOTLEY_PRINT_TEXT);
            cr_expect_str_eq(a, b, "text %zu in epoch %u", i, known[i].in[k].epoch);
            cr_expect_eq(motley_policy_describe(plain)->scheduled, 0);
            cr_expect_eq(motley_policy_describe(plain)->max_steps, motley_policy_describe(transform)->max_steps);
            free(a);
            free(b);
            motley_policy_destroy(plain);
            motley_policy_destroy(same);
        }
        motley_policy_destroy(transform);
    }
}

Test(schedule, texts_print_and_parse_back)
{
    for (size_t i = 0; i < KNOWN; i++) {
        motley_policy *const first = parsed(known[i].text);
        char *const text = printed(first, MOTLEY_PRINT_TEXT), *const json = printed(first, MOTLEY_PRINT_JSON);
        motley_policy *const second = parsed(text), *const third = parsed(json);
        char *const again = printed(second, MOTLEY_PRINT_TEXT), *const json_again = printed(third, MOTLEY_PRINT_JSON);
        cr_expect_str_eq(text, again);
        cr_expect_str_eq(json, json_again);
        free(text), free(json), free(again), free(json_again);
        motley_policy_destroy(first);
        motley_policy_destroy(second);
        motley_policy_destroy(third);
    }
    motley_policy *const transform = parsed(known[2].text);
    char *const text = printed(transform, MOTLEY_PRINT_TEXT);
    cr_expect_str_eq(text, HEAD "epochs: 30\nstages:\n"
                                "  - random_resized_crop: {size: {from: [[0, 8], [20, 12]]}, scale: [{ramp: [[0, 0.5], "
                                "[30, 0.08]]}, 1]}\n"
                                "  - policy: {name: timm_rand_m9_mstd05_inc1, level: {ramp: [[0, 0], [30, 9]]}}\n");
    free(text);
    motley_policy_destroy(transform);
}

/* --- draws and pixels --- */

typedef struct pictures {
    uint8_t src[COUNT][20][16][3], dst[COUNT][12][12][3];
    motley_place drawn[COUNT];
    motley_mixed mixed[COUNT];
} pictures;

static pictures *made(void)
{
    pictures *const p = calloc(1, sizeof *p);
    for (size_t i = 0; i < sizeof p->src; i++)
        ((uint8_t *)p->src)[i] = (uint8_t)(i * 2654435761u >> 13);
    return p;
}

static motley_batch batch_of(void *data, int32_t width, int32_t height)
{
    return (motley_batch){
        .data = data, .count = COUNT, .width = width, .height = height, .channels = 3, .layout = MOTLEY_HWC
    };
}

Test(schedule, a_call_takes_the_numbers_of_its_epoch)
{
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    motley_policy *const transform = parsed(known[2].text);
    pictures *const p = made(), *const q = made();
    motley_error error = { 0 };
    const motley_batch src = batch_of(p->src, 16, 20);
    for (uint32_t turn = 0; turn < 60; turn++) {
        const uint32_t epoch = turn * 7 % 31;
        motley_policy *const plain = at(transform, epoch);
        const int32_t side = motley_policy_describe(plain)->width;
        cr_assert_eq(side, epoch < 20 ? 8 : 12);
        const motley_batch dst = batch_of(p->dst, side, side), other = batch_of(q->dst, side, side);
        motley_apply_params how = { .samples = { .seed = 5, .epoch = epoch }, .drawn = p->drawn };
        cr_assert_eq(motley_apply(context, transform, &src, &dst, &how, &error), MOTLEY_OK, "%s", error.message);
        how.drawn = q->drawn;
        cr_assert_eq(motley_apply(context, plain, &src, &other, &how, &error), MOTLEY_OK);
        cr_expect_arr_eq(p->dst, q->dst, sizeof p->dst);
        cr_expect_arr_eq(p->drawn, q->drawn, sizeof p->drawn);

        const size_t most = motley_policy_describe(transform)->max_steps;
        const int32_t widths[COUNT] = { 16, 16, 16, 16, 16, 16 }, heights[COUNT] = { 20, 20, 20, 20, 20, 20 };
        motley_step *const steps = calloc(2 * COUNT * most, sizeof *steps);
        int32_t counts[2][COUNT];
        for (int k = 0; k < 2; k++)
            cr_assert_eq(motley_draw(k ? plain : transform, &how.samples, COUNT, widths, heights, 3, q->drawn,
                                     steps + (size_t)k * COUNT * most, counts[k], &error),
                         MOTLEY_OK);
        cr_expect_arr_eq(counts[0], counts[1], sizeof counts[0]);
        cr_expect_arr_eq(steps, steps + COUNT * most, COUNT * most * sizeof *steps);
        cr_expect_arr_eq(p->drawn, q->drawn, sizeof p->drawn);
        free(steps);
        motley_policy_destroy(plain);
    }
    motley_policy_destroy(transform);
    motley_context_destroy(context);
    free(p), free(q);
}

Test(schedule, a_prepared_call_follows_the_epoch)
{
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    motley_policy *const transform = parsed(known[2].text);
    pictures *const p = made(), *const q = made();
    motley_error error = { 0 };
    const motley_batch src = batch_of(p->src, 16, 20), dst = batch_of(p->dst, 12, 12), other = batch_of(q->dst, 12, 12);
    motley_call *call;
    cr_assert_eq(motley_call_create(context, &src, &dst, &(motley_call_params){ .policy = transform }, &call, &error),
                 MOTLEY_OK, "%s", error.message);
    static const uint32_t epochs[] = { 25, 25, 28, 3, 30, 40, 21 };
    for (size_t k = 0; k < sizeof epochs / sizeof *epochs; k++) {
        const motley_apply_params how = { .samples = { .seed = 5, .epoch = epochs[k], .first = k } };
        const motley_status status = motley_call_run(call, p->src, p->dst, NULL, &how, &error);
        if (epochs[k] < 20) { /* results of 8 x 8 */
            cr_expect_eq(status, MOTLEY_ERR_ARGUMENT);
            cr_expect(strstr(error.message, "8"), "%s", error.message);
            continue;
        }
        cr_assert_eq(status, MOTLEY_OK, "%s", error.message);
        cr_assert_eq(motley_apply(context, transform, &src, &other, &how, &error), MOTLEY_OK);
        cr_expect_arr_eq(p->dst, q->dst, sizeof p->dst);
    }
    motley_call_destroy(call);
    motley_policy_destroy(transform);
    motley_context_destroy(context);
    free(p), free(q);
}

Test(schedule, a_mix_is_off_while_its_chance_is_0)
{
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    motley_policy *const transform = parsed(
        HEAD "stages:\n  - resize: {size: [12, 12]}\n"
             "  - mix: {mixup: {ramp: [[0, 0.2], [8, 1]]}, rules: timm, mode: elem, p: {from: [[0, 1], [5, 0]]}}\n");
    pictures *const p = made();
    const motley_batch src = batch_of(p->src, 16, 20), dst = batch_of(p->dst, 12, 12);
    for (uint32_t epoch = 0; epoch < 10; epoch++) {
        const motley_apply_params how = { .samples = { .seed = 5, .epoch = epoch }, .mixed = p->mixed };
        motley_error error = { 0 };
        cr_assert_eq(motley_apply(context, transform, &src, &dst, &how, &error), MOTLEY_OK, "%s", error.message);
        for (int i = 0; i < COUNT; i++)
            cr_expect_eq(p->mixed[i].kind, epoch < 5 ? MOTLEY_MIX_MIXUP : MOTLEY_MIX_NONE);
    }
    motley_policy_destroy(transform);
    motley_context_destroy(context);
    free(p);
}

/* --- what is refused, and the length --- */

Test(schedule, what_needs_one_epoch_is_refused)
{
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    motley_policy *const transform = parsed(known[0].text), *other = NULL;
    motley_error error = { 0 };
    pictures *const p = made();
    const motley_batch src = batch_of(p->src, 12, 12), dst = batch_of(p->dst, 12, 12);
    const uint64_t counter[2] = { 0, 0 };
    const motley_apply_params how = { .counter = counter };
    cr_expect_eq(motley_apply(context, transform, &src, &dst, &how, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "counter is set, but transform 'x' changes with the epoch"), "%s", error.message);
    cr_expect_eq(motley_policy_pictures(transform, &other, &error), MOTLEY_ERR_UNSUPPORTED);
    cr_expect(strstr(error.message, "motley_policy_at"), "%s", error.message);
    cr_expect_eq(motley_policy_scale(transform, 9, &other, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "has no 'epochs'"), "%s", error.message);
    motley_policy_destroy(transform);
    motley_context_destroy(context);
    free(p);
}

static motley_status nothing(void *user, const motley_custom_batch *batch, motley_error *error)
{
    (void)user, (void)batch, (void)error;
    return MOTLEY_OK;
}

/* A text in an epoch is read again, and no text keeps a custom op's function. */
Test(schedule, a_policy_with_custom_ops_has_none)
{
    static const char *const texts[] = { HEAD "p: {from: [[0, 0.5], [3, 1]]}\nbranches: [mine]\n",
                                         HEAD "stages:\n  - grayscale: {p: {from: [[0, 0.5], [3, 1]]}}\n"
                                              "  - policy: {branches: [mine]}\n" };
    const motley_custom_op mine = { .name = "mine", .run = nothing };
    const motley_parse_params params = { .custom_ops = &mine, .custom_ops_count = 1 };
    for (int k = 0; k < 2; k++) {
        motley_policy *policy;
        motley_error error = { 0 };
        cr_assert_eq(motley_policy_parse(texts[k], strlen(texts[k]), &params, &policy, &error), MOTLEY_ERR_UNSUPPORTED,
                     "%s", error.message);
        cr_expect_str_eq(error.message, "'x' has custom ops, want numbers without schedules");
    }
}

Test(schedule, all_epochs_scale_with_the_length)
{
    motley_policy *const
        transform =
            parsed(HEAD "epochs: 300\nphases:\n  - {from: 0, stages: [{grayscale: {p: {from: [[0, 0], [37, 1]]}}}]}\n"
                        "  - {from: 150, stages: [{grayscale: {p: {ramp: [[150, 0], [300, 1]]}}}]}\n"),
        *scaled;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_describe(transform)->epochs, 300);
    cr_assert_eq(motley_policy_scale(transform, 90, &scaled, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_eq(motley_policy_describe(scaled)->epochs, 90);
    char *const text = printed(scaled, MOTLEY_PRINT_TEXT);
    cr_expect_str_eq(text, HEAD "epochs: 90\nphases:\n  - from: 0\n    stages:\n"
                                "      - grayscale: {p: {from: [[0, 0], [11, 1]]}}\n"
                                "  - from: 45\n    stages:\n      - grayscale: {p: {ramp: [[45, 0], [90, 1]]}}\n");
    free(text);
    motley_policy_destroy(scaled);
    cr_expect_eq(motley_policy_scale(transform, 1, &scaled, &error), MOTLEY_ERR_POLICY);
    cr_expect(strstr(error.message, "want them to rise"), "%s", error.message);
    cr_expect_eq(motley_policy_scale(transform, 1u << 30, &scaled, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "epochs is 1073741824, want 1 to 1073741823");
    motley_policy_destroy(transform);
}

/* --- what is accepted runs in every epoch --- */

static motley_status read_text(const char *text, motley_policy **policy, motley_error *error)
{
    return motley_policy_parse(text, strlen(text), NULL, policy, error);
}

Test(schedule, ramps_of_whole_numbers_are_whole)
{
    for (uint32_t n = 1; n < 400; n += n < 60 ? 1 : 17) {
        char text[200], wanted[200];
        snprintf(text, sizeof text, HEAD "stages:\n  - random_crop: {size: 32, padding: {ramp: [[0, 0], [%u, %u]]}}\n",
                 n, n);
        motley_policy *const policy = parsed(text);
        for (uint32_t epoch = 1; epoch < n; epoch += 1 + n / 60) {
            motley_policy *const plain = at(policy, epoch);
            char *const print = printed(plain, MOTLEY_PRINT_TEXT);
            snprintf(wanted, sizeof wanted, HEAD "stages:\n  - random_crop: {size: 32, padding: %u}\n", epoch);
            cr_assert_str_eq(print, wanted);
            free(print);
            motley_policy_destroy(plain);
        }
        motley_policy_destroy(policy);
    }
    motley_policy *const levels =
        parsed(HEAD "stages:\n  - policy: {name: rand_augment, level: {ramp: [[0, 0], [25, 25]]}}\n");
    for (uint32_t epoch = 0; epoch <= 26; epoch++)
        motley_policy_destroy(at(levels, epoch));
    motley_policy_destroy(levels);
}

Test(schedule, max_steps_is_a_bound_between_points)
{
    motley_policy *const policy =
        parsed(HEAD "bins: 2\nrepeat: {from: [[0, 4], [2000, 1]]}\nbranches:\n  - identity\n"
                    "  - {weight: {cosine: [[0, 0], [2000, 1]]}, steps: [invert, invert, invert, invert, invert]}\n");
    cr_expect_eq(motley_policy_describe(policy)->max_steps, 20);
    motley_policy *const plain = at(policy, 1000);
    cr_expect_eq(motley_policy_describe(plain)->max_steps, 20);
    motley_policy_destroy(plain);
    motley_policy_destroy(policy);
}

Test(schedule, levels_are_needed_in_all_epochs_or_none)
{
    motley_policy *const policy = parsed(HEAD "top: 10\nlevel: given\nops: {rotate: {range: [0, 30]}}\n"
                                              "branches: [{op: rotate, p: {from: [[0, 0], [5, 0.5]]}}]\n");
    const int32_t side = 8;
    motley_step step;
    int32_t count;
    motley_error error = { 0 };
    cr_expect(motley_policy_describe(policy)->takes_levels);
    cr_expect_eq(motley_draw(policy, &(motley_samples){ .seed = 1 }, 1, &side, &side, 3, NULL, &step, &count, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "takes a given level"), "%s", error.message);
    motley_policy_destroy(policy);
}

/* Texts that are right at each point, and where one begins to move, but not between, or only in some phase. */
Test(schedule, what_fails_in_some_epoch_is_refused)
{
    static const char *const wrong[][2] = {
        { "stages:\n  - random_resized_crop: {size: 8, scale: [{cosine: [[0, 0], [10, 0.5]]}, {ramp: [[0, 0.01], [10, "
          "0.5]]}]}\n",
          "want the lower number first (in epoch 6)" },
        { "stages:\n  - resize: {size: [8, {cosine: [[0, 8], [9000, 9]]}]}\n", "want a whole number (in epoch 1)" },
        { "top: 10\nlevel: {ramp: [[0, 0], [20, 10]]}\nops: {rotate: {range: [0, {cosine: [[0, 360], [20, 90]]}]}}\n"
          "branches: [{op: rotate, level: {uniform: [{cosine: [[0, 0], [20, 9]]}, {ramp: [[0, 0.5], [20, 9.5]]}]}}]\n",
          "want a lower level first (in epoch 1" },
        { "bins: 2\nrepeat: {from: [[0, 16], [9, 1]]}\nbranches:\n  - identity\n"
          "  - {weight: {cosine: [[0, 0], [9, 1]]}, steps: [invert, invert, invert, invert, invert, invert, invert]}\n",
          "a sample can draw 112 steps, want at most 64 (in epoch 1)" },
        /* which no image would have a size for */
        { "stages:\n  - resize: {size: [{from: [[0, 40], [9, 31]]}, 40]}\n  - random_crop: {size: 32}\n",
          "40x31 with a padding of 0 is smaller than the random_crop of 32x32 (in epoch 9)" },
        { "stages:\n  - resize: {size: 24}\n  - random_crop: {size: [32, 30], padding: {from: [[0, 3], [4, 2]]}}\n",
          "24x28 with a padding of 2 is smaller than the random_crop of 30x32 (in epoch 4)" },
        { "stages:\n  - resize: {size: {from: [[0, 40], [6, 65536]]}}\n  - center_crop: {size: 9}\n",
          "it would be resized to 65536x65536, want" },
        { "stages:\n  - center_crop: {size: {from: [[0, 40], [6, 65536]]}}\n",
          "its result would have 65536x65536 pixels, want at most 2^31-1 (in epoch 6)" },
        { "stages:\n  - center_crop: {size: {from: [[0, 200], [6, 40]]}}\n  - mix: {cutmix: 1, minmax: [0.01, 0.02]}\n",
          "leaves no length to draw for a side of 40 (in epoch 6)" },
        { "stages:\n  - resize: {size: [40, {from: [[0, 60], [7, 59]]}]}\n"
          "views:\n  - {name: a, stages: [{flip: {horizontal: 1}}]}\n  - {name: b, stages: [{random_crop: {size: [40, "
          "60]}}]}\n",
          "59x40 with a padding of 0 is smaller than the random_crop of 60x40 (in epoch 7)" },
        { "stages:\n  - center_crop: {size: {from: [[0, 5], [7, 4]]}}\n"
          "views:\n  - {name: a, stages: [{blur: {kernel_size: 9, sigma: [1, 2]}}]}\n",
          "wants images of at least 5 each way, these have 4 (in epoch 7)" },
        { "stages:\n  - grayscale: {p: {ramp: [[0, 0], [100000, 1]]}}\n",
          "numbers change in 100001 epochs, want at most 16384, each of which is checked" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[600];
        motley_policy *policy;
        motley_error error = { 0 };
        snprintf(text, sizeof text, HEAD "%s", wrong[i][0]);
        cr_expect_neq(read_text(text, &policy, &error), MOTLEY_OK, "%s", text);
        cr_expect(strstr(error.message, wrong[i][1]), "'%s' does not say '%s'", error.message, wrong[i][1]);
        motley_policy_destroy(policy);
    }
}

/* Each stage's built-in policy is read in each of these epochs. */
Test(schedule, texts_that_take_long_to_check_are_refused)
{
    char text[4000] = HEAD "views:\n";
    for (int v = 0; v < 15; v++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "  - {name: v%d, stages: [grayscale: {p: {ramp: [[0, 0], [3000, 1]]}}, policy: rand_augment, policy: "
                 "rand_augment, policy: rand_augment]}\n",
                 v);
    motley_policy *policy;
    motley_error error = { 0 };
    cr_expect_eq(read_text(text, &policy, &error), MOTLEY_ERR_POLICY);
    cr_expect(strstr(error.message, "numbers change in 3001 epochs, want at most "), "%s", error.message);
}

/* Texts whose crops some image is large enough for, if not every one. */
Test(schedule, what_some_image_fits_is_accepted)
{
    static const char *const right[] = {
        "stages:\n  - resize: {size: 24}\n  - random_crop: {size: [24, 90], padding: {ramp: [[0, 0], [4, 4]]}}\n",
        "stages:\n  - resize: {size: 24}\n  - random_crop: {size: [90, 25], padding: {from: [[0, 9], [4, 1]]}}\n",
        "stages:\n  - random_crop: {size: {from: [[0, 9], [4, 40000]]}}\n",
        "stages:\n  - resize: {size: 46340}\n  - center_crop: {size: {from: [[0, 9], [4, 46340]]}}\n",
        "stages:\n  - resize: {size: [9, 9]}\n  - center_crop: {size: {from: [[0, 9], [4, 90]]}}\n",
        "stages:\n  - resize: {size: 24}\n  - random_crop: {size: 32, padding: {from: [[0, 4], [4, 5]]}}\n"
        "views:\n  - {name: a, stages: [{random_crop: {size: 34, padding: {from: [[0, 1], [4, 2]]}}}]}\n",
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        char text[400];
        snprintf(text, sizeof text, HEAD "%s", right[i]);
        motley_policy_destroy(parsed(text));
    }
}

static uint32_t below(uint64_t *random, uint32_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % n;
}

/* Writes a text: '#' and a letter become a number of the letter's kind, or a schedule of such numbers. */
static void write_text(char *text, size_t room, const char *form, uint64_t *random)
{
    static const char *const numbers[][6] = { ['p' - 'a'] = { "0", "1", "0.5", "1e-11", "0.3", "0.9" },
                                              ['w' - 'a'] = { "1", "2", "3", "9", "4", "7" } };
    static const char *const kinds[] = { "from", "ramp", "cosine" };
    size_t used = (size_t)snprintf(text, room, HEAD);
    for (; *form; form++) {
        const char *const *const number = *form == '#' ? numbers[form[1] - 'a'] : NULL;
        const uint32_t kind = number ? below(random, 6) : 3;
        if (kind > 2) {
            used += (size_t)(number ? snprintf(text + used, room - used, "%s", number[below(random, 6)])
                                    : snprintf(text + used, room - used, "%c", *form));
        } else {
            used += (size_t)snprintf(text + used, room - used, "{%s: [", kinds[kind]);
            uint32_t epoch = kind ? below(random, 4) : 0;
            for (uint32_t k = 0, points = 2 + below(random, 2); k < points; k++, epoch += 1 + below(random, 30))
                used += (size_t)snprintf(text + used, room - used, "%s[%u, %s]", k ? ", " : "", epoch,
                                         number[below(random, 6)]);
            used += (size_t)snprintf(text + used, room - used, "]}");
        }
        form += number != NULL;
    }
}

/* In an epoch, a policy is a plain one that draws no more steps than it says. */
static void runs_in(const motley_policy *policy, uint32_t epoch, const char *text)
{
    enum { SAMPLES = 4 };
    static const int32_t sides[SAMPLES] = { 40, 41, 64, 90 };
    static const float levels[SAMPLES] = { 0, 1, 0.5f, 0.1f };
    const size_t most = motley_policy_describe(policy)->max_steps;
    motley_error error = { 0 };
    motley_policy *plain;
    cr_assert_eq(motley_policy_at(policy, epoch, &plain, &error), MOTLEY_OK, "epoch %u: %s\n%s", epoch, error.message,
                 text);
    cr_assert_eq(motley_policy_describe(plain)->max_steps, most);
    motley_policy_destroy(plain);
    motley_step *const steps = malloc(most * SAMPLES * sizeof *steps + 1); /* no more than that */
    int32_t counts[SAMPLES];
    const motley_samples samples = { .seed = epoch, .epoch = epoch, .levels = levels };
    cr_assert_eq(motley_draw(policy, &samples, SAMPLES, sides, sides, 3, NULL, steps, counts, &error), MOTLEY_OK,
                 "epoch %u: %s\n%s", epoch, error.message, text);
    for (int i = 0; i < SAMPLES; i++)
        cr_assert(counts[i] >= 0 && (size_t)counts[i] <= most, "epoch %u: %d steps of %zu\n%s", epoch, counts[i], most,
                  text);
    free(steps);
}

Test(schedule, what_is_accepted_runs_in_every_epoch)
{
    static const char *const forms[] = {
        "stages:\n  - grayscale: {p: #p}\n  - jitter: {p: #p, hue: [0, 0.5], brightness: #p}\n",
        "stages:\n  - random_resized_crop: {size: [#w, #w], scale: [#p, #p]}\n",
        "stages:\n  - random_crop: {size: #w, padding: #w}\n  - blur: {kernel_size: #w, sigma: [#w, #w]}\n",
        "stages:\n  - policy: {name: rand_augment, p: #p, repeat: #w, level: #w}\n  - policy: {name: "
        "timm_rand_m9_mstd05_inc1, level: #w}\n",
        "top: #w\nlevel: {uniform: [#w, #w]}\nrepeat: #w\nops: {rotate: {range: [0, #w]}, posterize: {range: [8, #w], "
        "round: trunc}}\nbranches: [identity, {weight: #p, steps: [{op: rotate, p: #p}, posterize, rotate]}, {weight: "
        "#p, steps: [posterize]}]\n",
        "top: #w\nlevel: given\nchoice: until_applied\nrepeat: {weights: [#p, #p, #p]}\nops: {rotate: {range: [0, 30]}}"
        "\nbranches: [{weight: #p, steps: [{op: rotate, p: #p}, invert]}, {weight: #p, steps: [invert, invert]}]\n",
        "views:\n  - {name: a, stages: [{random_resized_crop: {size: 8, scale: [#p, 1]}}]}\n  - {name: b, count: 2, "
        "stages: [{resize: {size: [#w, #w]}}, {policy: {repeat: #w, branches: [invert]}}]}\n",
    };
    uint64_t random = 7;
    size_t accepted = 0;
    for (int turn = 0; turn < 600; turn++) {
        char text[1500];
        motley_policy *policy;
        write_text(text, sizeof text, forms[(size_t)turn % (sizeof forms / sizeof *forms)], &random);
        if (read_text(text, &policy, NULL) != MOTLEY_OK)
            continue;
        const uint32_t epochs[] = { 0, 1, below(&random, 20), below(&random, 60), below(&random, 90), (1u << 30) - 1 };
        for (size_t k = 0; k < sizeof epochs / sizeof *epochs; k++) {
            motley_policy *plain;
            if (!motley_policy_view(policy, 0)) {
                runs_in(policy, epochs[k], text);
                continue;
            }
            cr_assert_eq(motley_policy_at(policy, epochs[k], &plain, NULL), MOTLEY_OK, "%s", text);
            for (size_t v = 0; motley_policy_view(plain, v); v++) {
                cr_assert_eq(motley_policy_describe(motley_policy_view(plain, v)->policy)->max_steps,
                             motley_policy_describe(motley_policy_view(policy, v)->policy)->max_steps);
                runs_in(motley_policy_view(plain, v)->policy, epochs[k], text);
            }
            motley_policy_destroy(plain);
        }
        accepted += motley_policy_describe(policy)->scheduled;
        motley_policy_destroy(policy);
    }
    cr_expect_gt(accepted, 100);
}

static motley_status parse_print_and_resolve(void)
{
    const char *const text = HEAD "epochs: 30\nstages:\n  - grayscale: {p: {ramp: [[0, 1], [30, 0]]}}\n";
    motley_policy *transform, *plain = NULL;
    char *print = NULL;
    motley_status status = motley_policy_parse(text, strlen(text), NULL, &transform, NULL);
    if (status == MOTLEY_OK && (status = motley_policy_print(transform, MOTLEY_PRINT_TEXT, &print, NULL)) == MOTLEY_OK)
        free(print);
    if (status == MOTLEY_OK)
        status = motley_policy_at(transform, 11, &plain, NULL);
    motley_policy_destroy(plain);
    plain = NULL;
    if (status == MOTLEY_OK)
        status = motley_policy_scale(transform, 60, &plain, NULL);
    motley_policy_destroy(plain);
    motley_policy_destroy(transform);
    return status;
}

static mot_yaml_tree printed_tree; /* of a text with a line that is too long when it is printed */

static motley_status print_tree(void)
{
    mot_text text = { 0 };
    mot_yaml_print(&printed_tree, &text);
    free(text.text);
    return text.failed ? MOTLEY_ERR_MEMORY : MOTLEY_OK;
}

Test(schedule, failing_allocations)
{
    static const char text[] =
        HEAD "stages:\n  - random_resized_crop: {size: [224, 256], scale: [0.25, 0.75], ratio: [0.75, 1.25], filter: "
             "[bilinear, bicubic, lanczos, hamming], order: pillow-12}\n";
    fail_each(parse_print_and_resolve, "a schedule", true);
    cr_assert_eq(mot_yaml_read(&printed_tree, text, strlen(text)), MOTLEY_OK);
    fail_each(print_tree, "printing", false);
    mot_yaml_clear(&printed_tree);
}
