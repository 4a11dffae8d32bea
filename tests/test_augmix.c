/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that mix chains of ops (AugMix): the distributions of their weights, their pixels in every layout against
 * chains that are applied one by one, and what is refused. tests/pillow/test_augmix.py compares them with timm's and
 * torchvision's. */
#include "augmentations/augmix.h"
#include "policies/compile.h"
#include "policies/policy.h"
#include "tests/followed.h"
#include "tests/inputs.h"
#include "tests/policies.h"

#include <criterion/criterion.h>
#include <math.h>
#include <motley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- weights ---- */

Test(augmix, quantiles_are_those_of_the_distributions)
{
    for (int k = 0; k < MOT_QUANTILES; k++) {
        const double p = (k + 0.5) / MOT_QUANTILES, x = mot_gamma_quantile(2, k), y = mot_beta_quantile(2, k);
        const double normal = mot_normal_quantile((1 + p) / 2), sine = sin(p * acos(-1) / 2);
        cr_expect_float_eq(mot_gamma_quantile(1, k), -log1p(-p), 1e-5);
        cr_expect_float_eq(mot_gamma_quantile(0.5, k), normal * normal / 2, 1e-5); /* half a chi-square */
        cr_expect_float_eq(1 - exp(-x) * (1 + x), p, 1e-6);
        cr_expect_float_eq(mot_beta_quantile(1, k), p, 1e-6);
        cr_expect_float_eq(mot_beta_quantile(0.5, k), sine * sine, 1e-6); /* the arcsine distribution */
        cr_expect_float_eq(3 * y * y - 2 * y * y * y, p, 1e-6);
    }
    for (int i = 0; i < 2; i++) { /* the ends of the range: mean and variance */
        const double alpha = i ? MOT_MAX_ALPHA : MOT_MIN_ALPHA;
        double gamma = 0, beta = 0, squares = 0, before = 0;
        for (int k = 0; k < MOT_QUANTILES; k++) {
            const double g = mot_gamma_quantile(alpha, k), b = mot_beta_quantile(alpha, k);
            cr_expect(g > before && b >= 0 && b <= 1, "alpha %g, cell %d: %g, %g", alpha, k, g, b);
            before = g;
            gamma += g / MOT_QUANTILES;
            beta += b / MOT_QUANTILES;
            squares += (b - 0.5) * (b - 0.5) / MOT_QUANTILES;
        }
        cr_expect_float_eq(gamma, alpha, 0.05 * alpha); /* the largest of a skewed distribution weigh much */
        cr_expect_float_eq(beta, 0.5, 1e-9);
        cr_expect_float_eq(squares, 1 / (4 * (2 * alpha + 1)), 0.02 / (4 * (2 * alpha + 1)));
    }
}

/* Shares of three chains have the mean 1/3, the variance 2/9 / (3 alpha + 1), and the covariance of a Dirichlet
 * distribution. */
Test(augmix, shares_are_distributed_as_they_should)
{
    enum { SAMPLES = 40000 };
    static const double alphas[] = { 0.3, 1, 4 };
    for (int a = 0; a < 3; a++) {
        char text[200];
        snprintf(text, sizeof text, "motley: 1\nname: x\naugmix: {width: 3, alpha: %g}\nbranches: [invert]\n",
                 alphas[a]);
        motley_policy *policy = parsed(text);
        double mean = 0, variance = 0, covariance = 0, m = 0, m_variance = 0;
        for (uint64_t id = 0; id < SAMPLES; id++) {
            motley_step steps[8];
            const int32_t side = 32;
            int32_t count;
            const motley_samples samples = { .seed = 3, .first = id };
            cr_assert_eq(motley_draw(policy, &samples, 1, &side, &side, 3, NULL, steps, &count, NULL), MOTLEY_OK);
            cr_assert_eq(count, 7);
            cr_assert(steps[1].op == MOTLEY_STEP_MIX_ADD && steps[3].op == MOTLEY_STEP_MIX_ADD &&
                      steps[5].op == MOTLEY_STEP_MIX_ADD && steps[6].op == MOTLEY_STEP_MIX_SUM);
            const double x = steps[1].values[0], y = steps[3].values[0], z = steps[5].values[0];
            cr_assert_float_eq(x + y + z, 1, 1e-6);
            mean += x / SAMPLES;
            variance += (x - 1 / 3.0) * (x - 1 / 3.0) / SAMPLES;
            covariance += (x - 1 / 3.0) * (z - 1 / 3.0) / SAMPLES;
            m += steps[6].values[0] / SAMPLES;
            m_variance += (steps[6].values[0] - 0.5) * (x - 1 / 3.0) / SAMPLES;
        }
        const double wanted = 2 / 9.0 / (3 * alphas[a] + 1);
        cr_expect_float_eq(mean, 1 / 3.0, 0.01);
        cr_expect_float_eq(variance, wanted, 0.03 * wanted);
        cr_expect_float_eq(covariance, -wanted / 2, 0.05 * wanted);
        cr_expect_float_eq(m, 0.5, 0.01);
        cr_expect_float_eq(m_variance, 0, 0.005); /* the shares and the mix share no number */
        motley_policy_destroy(policy);
    }
}

/* Where nearly all shares are 0 or 1, rounding must not take a weight past them. */
Test(augmix, weights_are_shares)
{
    static const char *const forms[] = { "sum", "blends", "one_sum" };
    for (int f = 0; f < 3; f++) {
        char text[200];
        snprintf(text, sizeof text,
                 "motley: 1\nname: x\naugmix: {width: 8, alpha: 0.05, form: %s}\nbranches: [invert]\n", forms[f]);
        motley_policy *policy = parsed(text);
        for (uint64_t id = 0; id < 20000; id++) {
            motley_step steps[18];
            const int32_t side = 32;
            int32_t count;
            const motley_samples samples = { .seed = 4, .first = id };
            cr_assert_eq(motley_draw(policy, &samples, 1, &side, &side, 3, NULL, steps, &count, NULL), MOTLEY_OK);
            for (int32_t s = 0; s < count; s++)
                cr_assert(steps[s].op >= 0 || (steps[s].values[0] >= 0 && steps[s].values[0] <= 1), "%s, sample %d: %g",
                          forms[f], (int)id, steps[s].values[0]);
        }
        motley_policy_destroy(policy);
    }
}

/* ---- pixels ---- */

#define WIDTH 37
#define HEIGHT 23
#define IMAGES 12
#define MOST (WIDTH * HEIGHT * 4)

/* What the steps of one image make of it, dense HWC: each chain by motley_op_apply, op by op. */
static void mix_slowly(motley_context *context, const motley_step *steps, int32_t count, int32_t channels, int alpha,
                       const uint8_t *image, uint8_t *result)
{
    static uint8_t chain[MOST];
    static float sum[MOST];
    const size_t bytes = (size_t)WIDTH * HEIGHT * (size_t)channels;
    const motley_batch one = {
        .count = 1, .channels = channels, .alpha = alpha, .data = chain, .width = WIDTH, .height = HEIGHT
    };
    memset(sum, 0, sizeof sum);
    memcpy(chain, image, bytes);
    memcpy(result, image, bytes);
    for (int32_t s = 0; s < count; s++) {
        const motley_step *step = &steps[s];
        const float weight = (float)step->values[0];
        if (step->op >= 0) {
            const double fill[4] = { step->fill[0], step->fill[1], step->fill[2], step->fill[3] };
            const motley_op_params params = { .interpolation = step->interpolation, .fill = fill };
            cr_assert_eq(
                motley_op_apply(context, step->op, step->values, step->values_count, &one, &one, &params, NULL),
                MOTLEY_OK);
            continue;
        }
        for (size_t i = 0; i < bytes; i++) {
            uint8_t other = chain[i];
            if (step->op == MOTLEY_STEP_MIX_ADD) {
                const float product = weight * (float)chain[i];
                sum[i] = sum[i] + product;
                continue;
            }
            if (step->op == MOTLEY_STEP_MIX_SUM)
                other = (uint8_t)fminf(255, fmaxf(0, sum[i]));
            const float product = weight * (float)(other - result[i]);
            result[i] = (uint8_t)((float)result[i] + product);
        }
        memcpy(chain, image, bytes);
    }
}

static void check_pixels(motley_context *context, motley_context *reference, const motley_policy *policy,
                         int32_t channels, motley_layout layout, bool in_place)
{
    static uint8_t in[IMAGES * MOST], out[IMAGES * MOST], want[MOST];
    static float floats[IMAGES * MOST];
    static motley_step steps[IMAGES * MOT_MAX_STEPS];
    int32_t counts[IMAGES];
    const size_t pixels = WIDTH * HEIGHT, bytes = pixels * (size_t)channels,
                 most = motley_policy_describe(policy)->max_steps;
    motley_error error;
    for (int i = 0; i < IMAGES; i++)
        input_fill((input_kind)(i % INPUT_KINDS), (uint64_t)i, (input_size){ WIDTH, HEIGHT }, channels,
                   in + (size_t)i * bytes);
    uint8_t *const src_data = in_place ? out : in;
    if (in_place)
        memcpy(out, in, sizeof in);
    motley_batch src = {
        .count = IMAGES, .channels = channels, .layout = layout, .data = src_data, .width = WIDTH, .height = HEIGHT
    };
    src.alpha = channels % 2 == 0 && policy->augmix.width % 2;
    motley_batch dst = src;
    dst.data = out;
    motley_apply_params params = { .samples = { .seed = 11, .epoch = 4 }, .steps = steps, .step_counts = counts };
    params.output.batch = src;
    params.output.batch.data = floats;
    params.output.batch.dtype = MOTLEY_F32;
    cr_assert_eq(motley_apply(context, policy, &src, in_place ? &src : &dst, &params, &error), MOTLEY_OK, "%s",
                 error.message);
    for (size_t i = 0; i < IMAGES; i++) {
        static uint8_t image[MOST];
        for (size_t p = 0; p < pixels; p++)
            for (size_t c = 0; c < (size_t)channels; c++)
                image[p * (size_t)channels + c] =
                    in[i * bytes + (layout == MOTLEY_CHW ? c * pixels + p : p * (size_t)channels + c)];
        mix_slowly(reference, steps + i * most, counts[i], channels, src.alpha, image, want);
        for (size_t p = 0; p < pixels; p++)
            for (size_t c = 0; c < (size_t)channels; c++) {
                const size_t at = i * bytes + (layout == MOTLEY_CHW ? c * pixels + p : p * (size_t)channels + c);
                cr_assert_eq(out[at], want[p * (size_t)channels + c], "%s, %d channels, image %zu, pixel %zu.%zu",
                             motley_policy_describe(policy)->name, channels, i, p, c);
                cr_assert_eq(floats[at], (float)out[at] / 255.0f);
            }
    }
}

Test(augmix, pixels_are_those_of_the_chains)
{
    static const char *const mixes[] = { "{width: 1, alpha: 0.5}", "{width: 3}", "{width: 4, form: blends}",
                                         "{width: 8, form: blends}", "{width: 2, form: one_sum}" };
    motley_context *reference = context_of(MOTLEY_BACKEND_REFERENCE, 2);
    for (int backend = 0; backend < 2; backend++) {
        motley_context *context = context_of(backend ? MOTLEY_BACKEND_CPU : MOTLEY_BACKEND_REFERENCE, 2);
        for (int m = 0; m < 5; m++) {
            char text[600];
            snprintf(
                text, sizeof text,
                "motley: 1\nname: mix%d\naugmix: %s\nrepeat: {weights: [1, 1, 1, 1]}\ninterpolation: [nearest, "
                "bilinear]\n"
                "fill: 7\nbranches: [{op: rotate, value: 11}, equalize, {op: sharpness, value: 1.6, p: 0.5}, invert,"
                " {op: color, value: 0.3}, flip_lr, {op: cutout, value: 9}, {op: gaussian_blur, value: 1}]\n",
                m, mixes[m]);
            motley_policy *policy = parsed(text);
            for (int32_t channels = 1; channels <= 4; channels++)
                check_pixels(context, reference, policy, channels, (channels + m) & 1 ? MOTLEY_CHW : MOTLEY_HWC, m & 2);
            motley_policy_destroy(policy);
        }
        motley_context_destroy(context);
    }
    motley_context_destroy(reference);
}

/* ---- what is refused, and what is changed ---- */

static void replay_fails(motley_context *context, const motley_step *steps, int32_t count, const char *words)
{
    uint8_t pixels[4] = { 1, 2, 3, 4 };
    const motley_batch batch = { .count = 1, .channels = 1, .data = pixels, .width = 2, .height = 2 };
    const motley_apply_params given = { .given_steps = steps, .given_step_counts = &count, .given_max_steps = 4 };
    motley_error error;
    cr_expect_eq(motley_apply(context, NULL, &batch, &batch, &given, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, words), "'%s' does not say '%s'", error.message, words);
    cr_expect_eq(memcmp(pixels, (uint8_t[]){ 1, 2, 3, 4 }, 4), 0);
}

Test(augmix, wrong_steps_are_refused)
{
    motley_context *context = context_of(MOTLEY_BACKEND_CPU, 2);
    motley_step steps[4] = { { .op = MOTLEY_STEP_MIX_ADD, .values = { 1.5 }, .values_count = 1 } };
    replay_fails(context, steps, 1, "mix_add: value is 1.5, want 0 to 1 (weight)");
    steps[0].values[0] = NAN;
    replay_fails(context, steps, 1, "mix_add: value 0 is nan, want a finite number");
    steps[0].values[0] = 0.5;
    steps[0].values_count = 0;
    replay_fails(context, steps, 1, "mix_add takes 1 value (weight), 0 were given");
    steps[0].values_count = 1;
    steps[1].op = motley_op_find("invert");
    replay_fails(context, steps, 2, "steps after the last that mixes");
    steps[0].op = MOTLEY_STEP_MIX_SUM - 1;
    replay_fails(context, steps, 1, "step 0 has op -6");
    double matrix[6];
    motley_error error;
    steps[0].op = MOTLEY_STEP_MIX_BLEND;
    cr_expect_eq(steps_matrix(steps, 1, 9, 9, matrix, &error), MOTLEY_ERR_UNSUPPORTED);
    cr_expect(strstr(error.message, "mix_blend"), "%s", error.message);
    motley_context_destroy(context);
}

Test(augmix, custom_ops_cannot_be_mixed)
{
    static const char text[] = "motley: 1\nname: x\naugmix: {}\nbranches: [mine]\n";
    const motley_custom_op op = { .name = "mine", .run = do_nothing };
    const motley_parse_params params = { .custom_ops = &op, .custom_ops_count = 1 };
    motley_policy *policy;
    motley_error error;
    cr_expect_eq(motley_policy_parse(text, strlen(text), &params, &policy, &error), MOTLEY_ERR_POLICY);
    cr_expect(strstr(error.message, "custom op 'mine' is named in a policy with 'augmix'"), "%s", error.message);
}

enum { TRANSFORMED = 6, SIDE = 24 };

static motley_policy *transform_of(const char *stages)
{
    char text[200];
    motley_policy *transform;
    motley_error error;
    snprintf(text, sizeof text, "motley: 1\nname: x\nstages: [%s]\n", stages);
    cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &transform, &error), MOTLEY_OK, "%s", error.message);
    return transform;
}

/* Applies a transform of `stages` in one call, from images of 40x30 or of SIDE x SIDE. */
static void transform_by(motley_context *context, const char *stages, uint8_t *from, int32_t width, int32_t height,
                         uint8_t *to, const motley_apply_params *params)
{
    const motley_batch src = { .count = TRANSFORMED, .channels = 3, .data = from, .width = width, .height = height };
    const motley_batch dst = { .count = TRANSFORMED, .channels = 3, .data = to, .width = SIDE, .height = SIDE };
    motley_policy *transform = transform_of(stages);
    motley_error error;
    cr_assert_eq(motley_apply(context, transform, &src, &dst, params, &error), MOTLEY_OK, "%s: %s", stages,
                 error.message);
    motley_policy_destroy(transform);
}

Test(augmix, transforms_mix_chains)
{
    enum { BYTES = TRANSFORMED * SIDE * SIDE * 3, ROOM = 200 };
    static uint8_t images[TRANSFORMED * 40 * 30 * 3], mixed[BYTES], wanted[BYTES], got[BYTES];
    static motley_step steps[TRANSFORMED * ROOM];
    motley_place drawn[TRANSFORMED];
    int32_t counts[TRANSFORMED];
    const motley_samples samples = { .seed = 5, .epoch = 2, .first = 70 };
    for (int i = 0; i < TRANSFORMED; i++)
        input_fill((input_kind)(i % INPUT_KINDS), (uint64_t)i, (input_size){ 40, 30 }, 3, images + i * 40 * 30 * 3);
    for (int backend = 0; backend < 2; backend++) {
        motley_context *context = context_of(backend ? MOTLEY_BACKEND_CPU : MOTLEY_BACKEND_REFERENCE, 2);
        for (int p = 0; p < 2; p++) {
            const char *const name = p ? "augmix" : "augmix_paper";
            const motley_apply_params plain = { .samples = samples };
            const motley_apply_params apply = { .samples = samples };
            const motley_apply_params telling = {
                .samples = samples, .drawn = drawn, .steps = steps, .step_counts = counts
            };
            const motley_apply_params given = { .given = drawn, .given_steps = steps, .given_step_counts = counts };
            const motley_batch batch = {
                .count = TRANSFORMED, .channels = 3, .data = mixed, .width = SIDE, .height = SIDE
            };
            motley_policy *policy;
            cr_assert_eq(motley_policy_builtin(name, &policy, NULL), MOTLEY_OK);
            transform_by(context, "random_resized_crop: {size: 24}", images, 40, 30, mixed, &plain);
            cr_assert_eq(motley_apply(context, policy, &batch, &batch, &apply, NULL), MOTLEY_OK);
            transform_by(context, "jitter: {brightness: 0.5, hue: 0.3}", mixed, SIDE, SIDE, wanted, &plain);
            char stages[120];
            snprintf(stages, sizeof stages,
                     "random_resized_crop: {size: 24}, policy: %s, jitter: {brightness: 0.5, hue: 0.3}", name);
            transform_by(context, stages, images, 40, 30, got, &telling);
            cr_assert_eq(memcmp(got, wanted, BYTES), 0, "%s in a transform gives other pixels", name);
            transform_by(context, stages, images, 40, 30, got, &given);
            cr_assert_eq(memcmp(got, wanted, BYTES), 0, "%s: given draws give other pixels", name);
            motley_policy_destroy(policy);
        }
        motley_context_destroy(context);
    }
}

Test(augmix, transforms_refuse_what_they_cannot_mix)
{
    uint8_t pixels[48] = { 0 };
    const motley_batch batch = { .count = 1, .channels = 3, .data = pixels, .width = 4, .height = 4 };
    motley_step steps[8] = { { .op = MOTLEY_STEP_HUE, .values_count = 1 },
                             { .op = MOTLEY_STEP_MIX_ADD, .values = { 0.5 }, .values_count = 1 } };
    const motley_place drawn = {
        .crop = { 0, 0, 4, 4 }, .width = 4, .height = 4, .result_width = 4, .result_height = 4
    };
    const int32_t count = 2;
    const motley_apply_params given = { .given = &drawn, .given_steps = steps, .given_step_counts = &count };
    motley_context *context = context_of(MOTLEY_BACKEND_CPU, 2);
    motley_error error;
    motley_policy *transform = transform_of("policy: timm_augmix");
    cr_expect_eq(motley_apply(context, transform, &batch, &batch, &given, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "step 0 is not an op of the table, but is in a chain that is mixed"), "%s",
              error.message);
    steps[0] = (motley_step){ .op = motley_op_find("invert") };
    steps[1].values[0] = 1.5;
    cr_expect_eq(motley_apply(context, transform, &batch, &batch, &given, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "step 1: mix_add: value is 1.5, want 0 to 1 (weight)"), "%s", error.message);
    motley_policy_destroy(transform);
    transform = transform_of("policy: rand_augment");
    steps[1].values[0] = 0.5;
    cr_expect_eq(motley_apply(context, transform, &batch, &batch, &given, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "step 1 is mix_add, which policy 'x' does not draw"), "%s", error.message);
    motley_policy_destroy(transform);
    motley_context_destroy(context);
}
