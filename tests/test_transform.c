/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms: texts in and out, what is refused, how draws are spread, and what must not change results (threads,
 * batches, order). tests/pillow/test_transform.py tests the pixels. */
#include "augmentations/kernel_blur.h"
#include "motley.h"
#include "policies/builtin.h"
#include "policies/transform_draw.h"
#include "tests/allocations.h"
#include "tests/builtins.h"
#include "tests/chi_square.h"
#include "tests/policies.h"
#include "tests/sweep.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- texts --- */

static void expect_canonical(const char *text)
{
    motley_policy *transform = parsed(text);
    char *first = printed(transform, MOTLEY_PRINT_TEXT);
    motley_policy *again = parsed(first);
    char *second = printed(again, MOTLEY_PRINT_TEXT);
    cr_expect_str_eq(first, second);
    free(first);
    free(second);
    motley_policy_destroy(transform);
    motley_policy_destroy(again);
}

Test(transform, builtins_print_and_parse_back)
{
    cr_assert_geq(mot_builtin_transform_count, 10);
    for (size_t i = 0; i < mot_builtin_transform_count; i++) {
        motley_policy *transform;
        motley_error error = { 0 };
        cr_assert_eq(motley_policy_builtin(mot_builtin_transforms[i].name, &transform, &error), MOTLEY_OK, "%s",
                     error.message);
        const motley_policy_info *info = motley_policy_describe(transform);
        cr_expect_str_eq(info->name, mot_builtin_transforms[i].name);
        const bool mixes = info->mix && info->stages == 1;                     /* batches, whatever they are */
        const bool bytes = strcmp(info->name, "detectron2_lsj") == 0 || mixes; /* its models normalise */
        cr_expect((!info->width || info->width >= 160) && (info->has_output || info->views || mixes), "%s", info->name);
        cr_expect_eq(info->dtype, bytes ? MOTLEY_U8 : MOTLEY_F32, "%s", info->name);
        motley_policy_destroy(transform);
        expect_canonical(mot_builtin_transforms[i].text);
    }
    cr_expect_null(motley_policy_builtin_get(mot_builtin_count + mot_builtin_transform_count));
}

Test(transform, mixing_prints_and_parses_back)
{
    expect_canonical(STAGES
                     "  - random_resized_crop: {size: 64}\n  - output: {}\n  - mix: {mixup: 0.2, cutmix: 1, p: 0.9, "
                     "switch: 0.4, rules: timm, mode: elem, minmax: [0.2, 0.8], lambda: drawn, partner: drawn, "
                     "classes: 10, smoothing: 0.1}\n");
    motley_policy *t = parsed(STAGES "  - resize: {size: [8, 9]}\n  - mix: {cutmix: 0.5, classes: 7}\n");
    const motley_policy_info *info = motley_policy_describe(t);
    cr_expect(info->mix && info->classes == 7 && motley_mix_describe(info->mix).cutmix == 0.5);
    motley_policy_destroy(t);
}

Test(transform, policies_are_transforms_and_print_the_same)
{
    for (size_t i = 0; i < mot_builtin_count; i++) {
        motley_policy *policy;
        char *text, *of_transform;
        cr_assert_eq(motley_policy_builtin(mot_builtins[i].name, &policy, NULL), MOTLEY_OK);
        cr_assert_eq(motley_policy_print(policy, MOTLEY_PRINT_TEXT, &text, NULL), MOTLEY_OK);
        motley_policy *transform = parsed(mot_builtins[i].text);
        of_transform = printed(transform, MOTLEY_PRINT_TEXT);
        cr_expect_str_eq(of_transform, text);
        cr_expect_eq(motley_policy_describe(transform)->width, 0);
        free(text);
        free(of_transform);
        motley_policy_destroy(policy);
        motley_policy_destroy(transform);
    }
}

Test(transform, every_key_is_printed)
{
    const char *const text = STAGES
        "  - to_rgb: {}\n"
        "  - random_resized_crop: {size: [96, 160], scale: [0.2, 0.9], ratio: [0.5, 2], filter: [box, hamming], order: "
        "pillow-12.2}\n"
        "  - random_crop: {size: 80, padding: 3}\n"
        "  - flip: {horizontal: 0.25, vertical: 0.125}\n"
        "  - policy: {name: rand_augment, repeat: 3, bins: 11, level: 4, interpolation: [bilinear], fill: [1, 2, 3, "
        "4]}\n"
        "  - jitter: {p: 0.5, brightness: [0.5, 1.5], hue: [-0.125, 0.25]}\n"
        "  - grayscale: {p: 0.25}\n"
        "  - blur: {p: 0.5, radius: [0.5, 2]}\n"
        "  - blur: {kernel_size: 23, sigma: [0.125, 2]}\n"
        "  - grayscale: {}\n"
        "  - output: {mean: [0.5, 0.25, 0.125], std: [1, 0.5, 0.25], convention: timm, type: bf16, layout: hwc}\n"
        "  - erase: {p: 0.5, area: [0.125, 0.25], ratio: [0.5, 2], value: pixel, boxes: [2, 3]}\n";
    motley_policy *transform = parsed(text);
    char *got = printed(transform, MOTLEY_PRINT_TEXT);
    cr_expect_str_eq(got, text);
    const motley_policy_info *info = motley_policy_describe(transform);
    cr_expect(info->width == 80 && info->height == 80 && info->dtype == MOTLEY_BF16 && info->layout == MOTLEY_HWC);
    cr_expect(info->struct_size == sizeof *info && info->has_output && info->to_rgb && info->stages == 12);
    cr_expect_eq(info->max_steps, 3 + 4 + 1 + 1 + 1 + 1);
    free(got);
    motley_policy_destroy(transform);
    expect_canonical(STAGES "  - to_rgb: {}\n");
    expect_canonical(STAGES "  - policy:\n      branches: [invert, {op: rotate, value: 30}]\n");
    expect_canonical(STAGES
                     "  - resize: {size: 256, filter: lanczos}\n  - center_crop: {size: [3, 5]}\n  - output: {}\n"
                     "  - erase: {value: [1, 2, 3], boxes: 2}\n");
}

static void expect_pictures(const char *text, const char *want)
{
    motley_policy *transform = parsed(text), *pictures;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_pictures(transform, &pictures, &error), MOTLEY_OK, "%s", error.message);
    motley_policy_destroy(transform); /* nothing is shared with it */
    char *got = printed(pictures, MOTLEY_PRINT_TEXT);
    cr_expect_str_eq(got, want);
    const motley_policy_info *info = motley_policy_describe(pictures);
    cr_expect(!info->has_output && !info->mix && info->classes == 0 && info->dtype == MOTLEY_U8, "%s", got);
    free(got);
    motley_policy_destroy(pictures);
}

Test(transform, pictures_end_before_the_output)
{
    const char *const stages = STAGES "  - random_resized_crop: {size: 64}\n  - policy: rand_augment\n";
    char *text;
    cr_assert_geq(asprintf(&text, "%s  - output: {}\n  - erase: {}\n  - mix: {mixup: 1, classes: 9}\n", stages), 0);
    expect_pictures(text, stages);
    expect_pictures(stages, stages);
    expect_pictures(STAGES "  - output: {mean: 0.5, std: 1}\n", STAGES "  - flip: {horizontal: 0}\n");
    expect_pictures(STAGES "  - to_rgb: {}\n  - output: {mean: 0.5, std: 1}\n", STAGES "  - to_rgb: {}\n");
    free(text);
    cr_expect_null(motley_policy_describe(NULL));
    motley_policy *none = (motley_policy *)1;
    cr_expect_eq(motley_policy_pictures(NULL, &none, NULL), MOTLEY_ERR_ARGUMENT);
    cr_expect_null(none);
}

/* What pictures draw is what the transform drew, but for what comes after the output. */
Test(transform, pictures_draw_the_same)
{
    enum { SAMPLES = 50 };
    motley_policy *transform = parsed(STAGES "  - random_resized_crop: {size: 64}\n  - flip: {horizontal: 0.5}\n"
                                             "  - policy: rand_augment\n  - policy: trivial_augment_wide\n"
                                             "  - output: {}\n  - erase: {}\n");
    motley_policy *pictures;
    cr_assert_eq(motley_policy_pictures(transform, &pictures, NULL), MOTLEY_OK);
    const size_t most = motley_policy_describe(transform)->max_steps;
    cr_assert_eq(motley_policy_describe(pictures)->max_steps, most);
    const motley_samples samples = { .seed = 8 };
    int32_t side[SAMPLES], counts[2][SAMPLES];
    motley_place drawn[2][SAMPLES];
    motley_step *steps = calloc(2 * SAMPLES * most, sizeof *steps);
    for (int i = 0; i < SAMPLES; i++)
        side[i] = 30 + i;
    for (int k = 0; k < 2; k++)
        cr_assert_eq(motley_draw(k ? pictures : transform, &samples, SAMPLES, side, side, 3, drawn[k],
                                 steps + (size_t)k * SAMPLES * most, counts[k], NULL),
                     MOTLEY_OK);
    for (int i = 0; i < SAMPLES; i++) {
        drawn[0][i].boxes_count = 0;
        drawn[0][i].noise = 0;
        memset(drawn[0][i].boxes, 0, sizeof drawn[0][i].boxes);
    }
    cr_expect_arr_eq(drawn[0], drawn[1], sizeof drawn[0]);
    cr_expect_arr_eq(counts[0], counts[1], sizeof counts[0]);
    cr_expect_arr_eq(steps, steps + SAMPLES * most, SAMPLES * most * sizeof *steps);
    free(steps);
    motley_policy_destroy(transform);
    motley_policy_destroy(pictures);
}

typedef struct reported {
    motley_error problem[16];
    int count;
} reported;

static void keep(void *user, const motley_error *problem)
{
    reported *t = user;
    if (t->count < 16)
        t->problem[t->count++] = *problem;
}

Test(transform, bad_transforms_give_what_they_say)
{
    DIR *folder = opendir(BAD_TRANSFORMS);
    cr_assert_not_null(folder);
    int files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[1024], line[1024];
        if (!strstr(entry->d_name, ".yaml"))
            continue;
        files++;
        snprintf(path, sizeof path, BAD_TRANSFORMS "/%s", entry->d_name);
        reported got = { .count = 0 };
        motley_policy *transform;
        motley_error error = { 0 };
        const motley_parse_params params = { .report = keep, .user = &got };
        cr_expect_eq(motley_policy_open(path, &params, &transform, &error), MOTLEY_ERR_POLICY, "%s is taken", path);
        cr_expect_null(transform);
        FILE *file = fopen(path, "r");
        int wanted = 0;
        while (fgets(line, sizeof line, file) && strncmp(line, "# ERR_POLICY ", 13) == 0) {
            char found[400];
            line[strcspn(line, "\n")] = '\0';
            const motley_error *p = &got.problem[wanted++];
            snprintf(found, sizeof found, "# %s %d:%d %s", motley_status_name(p->status), p->line, p->column,
                     p->message);
            cr_expect_str_eq(found, line, "%s:\n  got    %s\n  wanted %s", path, found, line);
        }
        fclose(file);
        cr_expect(wanted == got.count && wanted >= 1, "%s: %d problems, %d wanted", path, got.count, wanted);
    }
    closedir(folder);
    cr_expect_geq(files, 30);
}

Test(transform, policies_of_both_kinds_are_of_one_type)
{
    motley_policy *flip, *other, *drawn;
    motley_error error = { 0 };
    const char *const text = STAGES "  - flip: {horizontal: 1}\n", *const more = STAGES "  - flip: {vertical: 1}\n";
    cr_assert_eq(motley_policy_open(text, NULL, &flip, &error), MOTLEY_OK, "%s", error.message);
    cr_assert_eq(motley_policy_open(more, NULL, &other, &error), MOTLEY_OK, "%s", error.message);
    cr_assert_eq(motley_policy_builtin("rand_augment", &drawn, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_eq(motley_policy_describe(flip)->stages, 1);
    cr_expect_eq(motley_policy_describe(drawn)->stages, 0);
    cr_expect_null(motley_policy_describe(NULL));
    cr_expect(motley_policy_equal(flip, flip) && !motley_policy_equal(flip, other));
    cr_expect(!motley_policy_equal(flip, drawn) && !motley_policy_equal(drawn, flip));
    char *values;
    cr_expect_eq(motley_policy_print(flip, MOTLEY_PRINT_VALUES, &values, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "has stages"), "%s", error.message);
    motley_policy_destroy(flip);
    cr_expect_eq(motley_policy_builtin("simklr", &flip, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "did you mean 'simclr'"), "%s", error.message);
    const char *const inner = STAGES "  - policy: simclr\n";
    cr_expect_eq(motley_policy_parse(inner, strlen(inner), NULL, &flip, &error), MOTLEY_ERR_POLICY);
    cr_expect(strstr(error.message, "'simclr' is a transform"), "%s", error.message);
    motley_policy_destroy(other);
    motley_policy_destroy(drawn);
}

/* A policy without stages takes the whole image: its places say so, in draws, in calls, and when given. */
Test(transform, places_of_a_policy_without_stages)
{
    motley_policy *policy;
    motley_context *context;
    motley_error error = { 0 };
    const motley_samples samples = { .seed = 3 };
    const motley_context_params on_cpu = { .backend = MOTLEY_BACKEND_CPU, .threads = 1 };
    int32_t width = 7, height = 5, count = 0, counted = 0;
    uint8_t pixels[105], made[105], again[105];
    float real[105];
    for (int i = 0; i < 105; i++)
        pixels[i] = (uint8_t)(37 * i);
    cr_assert_eq(motley_policy_builtin("trivial_augment_wide", &policy, NULL), MOTLEY_OK);
    cr_assert_eq(motley_context_create(&on_cpu, &context, NULL), MOTLEY_OK);
    motley_step steps[2], drawn_steps[2];
    motley_place place, drawn = { 0 };
    memset(&place, 7, sizeof place);
    cr_assert_eq(motley_draw(policy, &samples, 1, &width, &height, 3, &place, steps, &count, NULL), MOTLEY_OK);
    cr_expect(place.crop.width == 7 && place.crop.height == 5 && place.width == 7 && place.height == 5);
    cr_expect(!(place.crop.left | place.crop.top | place.left | place.top | place.flip_horizontal |
                place.flip_vertical | place.boxes_count));

    const motley_batch src = { .count = 1, .channels = 3, .data = pixels, .width = 7, .height = 5 };
    motley_batch dst = src;
    dst.data = made;
    motley_apply_params params = { .samples = samples, .steps = drawn_steps, .step_counts = &counted, .drawn = &drawn };
    cr_assert_eq(motley_apply(context, policy, &src, &dst, &params, &error), MOTLEY_OK, "%s", error.message);
    cr_expect(counted == count && memcmp(&drawn, &place, sizeof place) == 0);

    params = (motley_apply_params){ .given = &place, .given_steps = steps, .given_step_counts = &count };
    dst.data = again;
    cr_assert_eq(motley_apply(context, policy, &src, &dst, &params, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_arr_eq(made, again, sizeof made);
    place.crop.left = 1;
    cr_expect_eq(motley_apply(context, policy, &src, &dst, &params, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "image 0 is given a crop"), "%s", error.message);

    params = (motley_apply_params){ .samples = samples };
    dst.data = real;
    dst.dtype = MOTLEY_F32;
    cr_assert_eq(motley_apply(context, policy, &src, &dst, &params, &error), MOTLEY_OK, "%s", error.message);
    for (int i = 0; i < 105; i++)
        cr_expect_eq(real[i], (float)made[i] / 255, "%d", i);
    motley_context_destroy(context);
    motley_policy_destroy(policy);
}

static motley_status parse_and_print(void)
{
    const char *const text =
        STAGES "  - random_resized_crop: {size: 8}\n  - policy: {name: rand_augment, level: 3}\n"
               "  - policy:\n      branches: [invert, rotate]\n      ops: {rotate: {range: [0, 1]}}\n"
               "      bins: 3\n      level: 1\n  - output: {}\n  - erase: {value: pixel}\n";
    motley_policy *transform;
    char *print = NULL;
    motley_status status = motley_policy_parse(text, strlen(text), NULL, &transform, NULL);
    if (status == MOTLEY_OK && (status = motley_policy_print(transform, MOTLEY_PRINT_TEXT, &print, NULL)) == MOTLEY_OK)
        free(print);
    if (status == MOTLEY_OK && (status = motley_policy_print(transform, MOTLEY_PRINT_JSON, &print, NULL)) == MOTLEY_OK)
        free(print);
    motley_policy_destroy(transform);
    return status;
}

/* Threads that make followers of a policy, and others that share it: the thread sanitizer looks on. */
static void *make_followers(void *policy)
{
    motley_policy *follower;
    for (int turn = 0; turn < 30; turn++) {
        cr_assert_eq(motley_policy_follower(policy, NULL, &follower, NULL), MOTLEY_OK);
        motley_policy_destroy(follower);
    }
    return NULL;
}

static void *share(void *policy)
{
    motley_policy *same;
    for (int turn = 0; turn < 300; turn++) {
        cr_assert_eq(motley_policy_at(policy, 3, &same, NULL), MOTLEY_OK);
        motley_policy_destroy(same);
    }
    return NULL;
}

Test(transform, threads_share_a_policy)
{
    static const char *const names[] = { "rand_augment", "torchvision_train" };
    for (int k = 0; k < 2; k++) {
        motley_policy *policy;
        pthread_t threads[4];
        cr_assert_eq(motley_policy_builtin(names[k], &policy, NULL), MOTLEY_OK);
        for (int t = 0; t < 4; t++)
            cr_assert_eq(pthread_create(&threads[t], NULL, t % 2 ? share : make_followers, policy), 0);
        for (int t = 0; t < 4; t++)
            pthread_join(threads[t], NULL);
        motley_policy_destroy(policy);
    }
}

Test(transform, failing_allocations)
{
    fail_each(parse_and_print, "a transform", true); /* shrinking an array may fail */
}

/* --- the kernel blur --- */

/* The middle weights that torch 1.13 and 2.15 compute: x = linspace(-half, half, size), p = exp(-0.5 * (x / sigma)^2),
 * p / p.sum(). The longer kernels have another sum where terms are added in another order. */
Test(transform, kernel_weights_are_those_of_torch)
{
    static const struct {
        int size;
        float sigma, middle, next;
    } known[] = {
        { 3, 0.75f, 0x1.18f9aap-1f, 0x1.ce0ca8p-3f }, { 5, 0.5f, 0x1.92b964p-1f, 0x1.b405b8p-4f },
        { 5, 1.75f, 0x1.11d2e2p-2f, 0x1.d12730p-3f }, { 9, 2.0f, 0x1.a22092p-3f, 0x1.70fef8p-3f },
        { 23, 1.9f, 0x1.ae048ep-3f, 0x1.76662ep-3f }, { 23, 2.0f, 0x1.988454p-3f, 0x1.6883d0p-3f },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        float half[MOTLEY_KERNEL_WEIGHTS];
        mot_kernel_blur_weights(known[i].sigma, known[i].size, half);
        cr_expect(half[0] == known[i].middle && half[1] == known[i].next, "kernel %d, sigma %g: %a %a", known[i].size,
                  (double)known[i].sigma, (double)half[0], (double)half[1]);
    }
}

/* --- draws --- */

#define SAMPLES 60000

Test(transform, draws_are_spread_as_they_should_be)
{
    motley_policy *t = parsed(
        STAGES "  - random_resized_crop: {size: 100, scale: [0.1, 0.4], filter: [bilinear, bicubic, lanczos]}\n"
               "  - flip: {horizontal: 0.5, vertical: 0.25}\n"
               "  - jitter: {brightness: 0.5, contrast: 0.5, saturation: 0.5, hue: 0.5}\n  - grayscale: {p: 0.125}\n"
               "  - output: {}\n  - erase: {p: 0.5, boxes: [1, 4]}\n");
    static motley_place drawn[SAMPLES];
    static motley_step steps[SAMPLES * 5];
    static int32_t counts[SAMPLES], widths[SAMPLES], heights[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) /* wide enough that the first try fits */
        widths[i] = heights[i] = 1000;
    cr_assert_eq(
        motley_draw(t, &(motley_samples){ .seed = 5 }, SAMPLES, widths, heights, 3, drawn, steps, counts, NULL),
        MOTLEY_OK);
    cr_assert_eq(motley_policy_describe(t)->max_steps, 5);
    uint32_t area[20] = { 0 }, ratio[16] = { 0 }, place[16] = { 0 }, filter[3] = { 0 }, order[24] = { 0 },
             factor[32] = { 0 };
    long boxes[4] = { 0 }, flips[2] = { 0 }, grays = 0, erased = 0;
    for (int i = 0; i < SAMPLES; i++) {
        const motley_crop *c = &drawn[i].crop;
        const double share = c->width * (double)c->height / 1e6;
        area[(int)fmin(19, fmax(0, (share - 0.1) / 0.3 * 20))]++;
        const double turn = (log((double)c->width / c->height) - log(0.75)) / (log(4.0 / 3) - log(0.75));
        ratio[(int)fmin(15, fmax(0, turn * 16))]++;
        place[4 * (c->left * 4 / (1000 - c->width + 1)) + c->top * 4 / (1000 - c->height + 1)]++;
        filter[drawn[i].filter]++;
        flips[0] += drawn[i].flip_horizontal;
        flips[1] += drawn[i].flip_vertical;
        int code = 0, seen = 0;
        for (int s = 0; s < 4; s++) { /* the order as a number: which is first, which second ... */
            const motley_step *step = &steps[i * 5 + s];
            const int which = step->op == MOTLEY_STEP_HUE                ? 3
                              : step->op == motley_op_find("brightness") ? 0
                              : step->op == motley_op_find("contrast")   ? 1
                                                                         : 2;
            int smaller = 0;
            for (int k = 0; k < which; k++)
                smaller += !(seen & 1 << k);
            code = code * (4 - s) + smaller;
            seen |= 1 << which;
            if (which == 0)
                factor[(int)((step->values[0] - 0.5) * 32)]++;
        }
        cr_assert_eq(seen, 15);
        order[code]++;
        grays += counts[i] == 5;
        erased += drawn[i].noise != 0;
        if (drawn[i].boxes_count)
            boxes[drawn[i].boxes_count - 1]++;
    }
    EXPECT_UNIFORM(area, 20);
    EXPECT_UNIFORM(place, 16);
    EXPECT_UNIFORM(filter, 3);
    EXPECT_UNIFORM(order, 24);
    EXPECT_UNIFORM(factor, 32);
    EXPECT_UNIFORM(ratio, 16);
    const long coins[][2] = { { flips[0], 2 }, { flips[1], 4 }, { grays, 8 }, { erased, 2 } };
    for (int k = 0; k < 4; k++) {
        const double p = 1.0 / (double)coins[k][1], spread = sqrt(SAMPLES * p * (1 - p));
        cr_expect_lt(fabs(coins[k][0] - SAMPLES * p), 5 * spread, "coin %d: %ld", k, coins[k][0]);
    }
    cr_expect(boxes[0] > 0 && boxes[3] > SAMPLES / 10);
    motley_policy_destroy(t);
}

Test(transform, erased_boxes_are_spread_as_they_should_be)
{
    motley_policy *t =
        parsed(STAGES "  - resize: {size: [1000, 1000]}\n  - output: {}\n  - erase: {area: [0.02, 0.2]}\n");
    uint32_t area[20] = { 0 }, ratio[16] = { 0 }, place[16] = { 0 };
    const int32_t side = 8;
    for (int i = 0; i < SAMPLES; i++) {
        motley_place drawn;
        motley_step none;
        int32_t count;
        cr_assert_eq(motley_draw(t, &(motley_samples){ .seed = 5, .first = (uint64_t)i }, 1, &side, &side, 3, &drawn,
                                 &none, &count, NULL),
                     MOTLEY_OK);
        cr_assert_eq(drawn.boxes_count, 1);
        const motley_erased_box *b = &drawn.boxes[0];
        area[(int)fmin(19, fmax(0, (b->width * (double)b->height / 1e6 - 0.02) / 0.18 * 20))]++;
        ratio[(int)fmin(15, fmax(0, log((double)b->height / b->width / 0.3) / log(3.3 / 0.3) * 16))]++;
        place[4 * (b->left * 4 / (1000 - b->width + 1)) + b->top * 4 / (1000 - b->height + 1)]++;
    }
    EXPECT_UNIFORM(area, 20);
    EXPECT_UNIFORM(ratio, 16);
    EXPECT_UNIFORM(place, 16);
    motley_policy_destroy(t);
}

/* --- bad input --- */

/* Applies the transform of these stages to one image of `width` x `height`; what is wrong is said, and dst is
 * untouched. */
static void expect_refused(const char *stages, int32_t width, int32_t height, int32_t channels,
                           const motley_apply_params *params, const char *message)
{
    char text[256];
    snprintf(text, sizeof text, STAGES "%s", stages);
    motley_policy *t = parsed(text);
    const motley_policy_info *info = motley_policy_describe(t);
    motley_context *context;
    cr_assert_eq(motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU }, &context, NULL),
                 MOTLEY_OK);
    static uint8_t pixels[64 * 64 * 4];
    static float out[64 * 64 * 4];
    for (int i = 0; i < 64 * 64 * 4; i++)
        out[i] = 7;
    const motley_batch src = { .count = 1, .channels = channels, .data = pixels, .width = width, .height = height };
    const motley_batch dst = { .count = 1,
                               .channels = channels,
                               .dtype = MOTLEY_F32,
                               .data = out,
                               .width = info->width ? info->width : width,
                               .height = info->width ? info->height : height };
    motley_error error = { .message = "" };
    cr_expect_eq(motley_apply(context, t, &src, &dst, params, &error), MOTLEY_ERR_ARGUMENT, "%s", message);
    cr_expect(strstr(error.message, message), "the message is '%s', want '%s' in it", error.message, message);
    for (int i = 0; i < 64 * 64 * 4; i++)
        cr_assert(out[i] == 7, "%s: dst is written", message);
    motley_context_destroy(context);
    motley_policy_destroy(t);
}

Test(transform, given_steps_keep_their_level)
{
    enum { MANY = 8 };
    static uint8_t in[MANY * 8 * 8 * 3], out[MANY * 8 * 8 * 3];
    motley_policy *const policy = parsed(STAGES "  - policy: trivial_augment_wide\n");
    motley_context *context;
    const motley_batch src = { .count = MANY, .channels = 3, .data = in, .width = 8, .height = 8 };
    const motley_batch dst = { .count = MANY, .channels = 3, .data = out, .width = 8, .height = 8 };
    const int32_t sides[MANY] = { 8, 8, 8, 8, 8, 8, 8, 8 };
    motley_step steps[MANY] = { { 0 } }, again[MANY] = { { 0 } };
    int32_t counts[MANY], counts_again[MANY], with_level = 0;
    motley_place places[MANY];
    cr_assert_eq(motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU }, &context, NULL),
                 MOTLEY_OK);
    cr_assert_eq(motley_draw(policy, &(motley_samples){ 0 }, MANY, sides, sides, 3, places, steps, counts, NULL),
                 MOTLEY_OK);
    const motley_apply_params params = {
        .given = places, .given_steps = steps, .given_step_counts = counts, .steps = again, .step_counts = counts_again
    };
    cr_assert_eq(motley_apply(context, policy, &src, &dst, &params, NULL), MOTLEY_OK);
    for (int s = 0; s < MANY; s++) {
        cr_expect(steps[s].level == again[s].level, "step %d: level %g became %g", s, (double)steps[s].level,
                  (double)again[s].level);
        with_level += steps[s].level > 0;
    }
    cr_expect_gt(with_level, 0);
    motley_context_destroy(context);
    motley_policy_destroy(policy);
}

/* --- sizes --- */

/* Expects motley_policy_result_sizes to say `want` of `size`, both width and height, and motley_apply to take a dst of
 * that size and no other. */
static void expect_size(const motley_policy *policy, const motley_samples *samples, const int32_t size[2],
                        const int32_t want[2])
{
    static uint8_t pixels[96 * 96 * 3], out[96 * 96 * 3];
    const char *const name = motley_policy_describe(policy)->name;
    motley_context *context;
    motley_error error = { .message = "" };
    int32_t width = size[0], height = size[1];
    cr_assert_eq(motley_policy_result_sizes(policy, samples, 1, &width, &height, &width, &height, &error), MOTLEY_OK,
                 "%s: %s", name, error.message);
    cr_expect(width == want[0] && height == want[1], "%s: %dx%d become %dx%d, want %dx%d", name, size[0], size[1],
              width, height, want[0], want[1]);
    cr_assert_eq(motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU }, &context, NULL),
                 MOTLEY_OK);
    const motley_apply_params params = { .samples = samples ? *samples : (motley_samples){ 0 } };
    const motley_batch src = { .count = 1, .channels = 3, .data = pixels, .width = size[0], .height = size[1] };
    for (int more = 0; more < 2; more++) {
        const motley_batch dst = { .count = 1, .channels = 3, .data = out, .width = width + more, .height = height };
        cr_expect_eq(motley_apply(context, policy, &src, &dst, &params, NULL), more ? MOTLEY_ERR_ARGUMENT : MOTLEY_OK,
                     "%s, %d more", name, more);
    }
    motley_context_destroy(context);
}

Test(transform, sizes_of_results)
{
    static const struct {
        const char *stages;
        int32_t wide[2], tall[2]; /* what 60x40 and 40x60 become */
    } cases[] = { { "  - flip: {horizontal: 0.5}\n", { 60, 40 }, { 40, 60 } },
                  { "  - to_rgb: {}\n  - jitter: {brightness: 0.5}\n", { 60, 40 }, { 40, 60 } },
                  { "  - random_resized_crop: {size: [20, 30]}\n", { 30, 20 }, { 30, 20 } },
                  { "  - resize: {size: [20, 30]}\n", { 30, 20 }, { 30, 20 } },
                  { "  - resize: {size: 24}\n  - center_crop: {size: 16}\n", { 16, 16 }, { 16, 16 } },
                  { "  - random_crop: {size: [44, 42], padding: 4}\n", { 42, 44 }, { 42, 44 } },
                  { "  - random_resized_crop: {size: 20}\n  - center_crop: {size: 24}\n", { 24, 24 }, { 24, 24 } } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, STAGES "%s", cases[i].stages);
        motley_policy *const policy = parsed(text);
        expect_size(policy, NULL, (const int32_t[]){ 60, 40 }, cases[i].wide);
        expect_size(policy, NULL, (const int32_t[]){ 40, 60 }, cases[i].tall);
        motley_policy_destroy(policy);
    }
    motley_policy *policy;
    cr_assert_eq(motley_policy_builtin("rand_augment", &policy, NULL), MOTLEY_OK);
    expect_size(policy, NULL, (const int32_t[]){ 60, 40 }, (const int32_t[]){ 60, 40 });
    motley_policy_destroy(policy);
    policy = parsed(STAGES "  - resize: {size: {from: [[0, 16], [5, 32]]}}\n  - center_crop: {size: {from: [[0, 16], "
                           "[5, 32]]}}\n");
    expect_size(policy, &(motley_samples){ .epoch = 4 }, (const int32_t[]){ 60, 40 }, (const int32_t[]){ 16, 16 });
    expect_size(policy, &(motley_samples){ .epoch = 5 }, (const int32_t[]){ 60, 40 }, (const int32_t[]){ 32, 32 });
    motley_policy_destroy(policy);
}

Test(transform, sizes_refused)
{
    motley_error error = { .message = "" };
    int32_t wide[2] = { 60, 7 }, high[2] = { 40, 7 };
    motley_policy *policy = parsed(STAGES "  - random_crop: {size: 16, padding: 4}\n");
    cr_expect_eq(motley_policy_result_sizes(policy, NULL, 2, wide, high, wide, high, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "image 1: 7x7 with a padding of 4 is smaller than the random_crop of 16x16");
    high[1] = 0;
    cr_expect_eq(motley_policy_result_sizes(policy, NULL, 2, wide, high, wide, high, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "image 1: the size is 7 x 0"), "%s", error.message);
    cr_expect_eq(motley_policy_result_sizes(policy, NULL, 1, wide, high, NULL, high, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "result_widths is NULL, want an array of 1 images");
    cr_expect_eq(motley_policy_result_sizes(policy, NULL, 0, NULL, NULL, NULL, NULL, &error), MOTLEY_OK);
    cr_expect_eq(motley_policy_result_sizes(NULL, NULL, 1, wide, high, wide, high, &error), MOTLEY_ERR_ARGUMENT);
    motley_policy_destroy(policy);
    policy = parsed(STAGES "  - resize: {size: {from: [[0, 16], [5, 32]]}}\n  - center_crop: {size: 16}\n");
    cr_expect_eq(motley_policy_result_sizes(policy, NULL, 1, wide, high, wide, high, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message,
                     "samples is NULL, but the sizes of policy 'x' may change with the epoch, which they have");
    motley_policy_destroy(policy);
    policy = parsed("motley: 1\nname: x\nviews:\n  - {name: a, stages: [{resize: {size: [8, 8]}}]}\n");
    cr_expect_eq(motley_policy_result_sizes(policy, NULL, 1, wide, high, wide, high, &error), MOTLEY_ERR_UNSUPPORTED);
    cr_expect(strstr(error.message, "has views"), "%s", error.message);
    motley_policy_destroy(policy);
}

/* A ratio reversed and a size of 0 are in bad_transforms/. */
Test(transform, bad_calls)
{
    const char *const plain =
        "  - random_resized_crop: {size: 8}\n  - output: {mean: [0.5, 0.5, 0.5], std: [1, 1, 1]}\n";
    motley_place drawn = { .crop = { 2, 2, 0, 3 }, .width = 8, .height = 8, .result_width = 8, .result_height = 8 };
    const int32_t no_steps = 0;
    const motley_apply_params given = { .given = &drawn,
                                        .given_steps = &(motley_step){ 0 },
                                        .given_step_counts = &no_steps };
    expect_refused(plain, 20, 30, 3, &given, "image 0: the given crop of 0x3 at (2, 2) leaves the image of 20x30");
    drawn = (motley_place){ .crop = { 0, 0, 2, 3 }, .width = 0, .height = 8, .result_width = 8, .result_height = 8 };
    expect_refused(plain, 20, 30, 3, &given, "image 0: it is resized to 0x8, want 1 to 1048576 each way");
    drawn = (motley_place){
        .crop = { 0, 0, 2, 3 }, .width = 8, .height = 8, .left = 1048577, .result_width = 8, .result_height = 8
    };
    expect_refused(plain, 20, 30, 3, &given, "image 0: the given window begins at (1048577, 0), want at most 1048576");
    drawn.left = 1;
    expect_refused(plain, 20, 30, 3, &given,
                   "image 0: the given size is 8x8, and the window begins at (1, 0), want all of 8x8");
    drawn = (motley_place){ .crop = { 0, 0, 2, 3 }, .width = 7, .height = 8, .result_width = 8, .result_height = 8 };
    expect_refused(plain, 20, 30, 3, &given, "image 0: the given size is 7x8");
    drawn.width = 8;
    drawn.boxes_count = 1;
    drawn.boxes[0] = (motley_erased_box){ 3, 2, 6, 1 };
    expect_refused(plain, 20, 30, 3, &given, "image 0: 1 boxes are given, want at most 0");
    const char *const erasing = "  - resize: {size: [8, 8]}\n  - output: {}\n  - erase: {value: [1, 2, 3]}\n";
    expect_refused(erasing, 20, 30, 3, &given, "image 0, box 0: 6x1 at (3, 2) leaves the output of 8x8");
    drawn.boxes[0] = (motley_erased_box){ 2, 3, 1, 6 };
    expect_refused(erasing, 20, 30, 3, &given, "image 0, box 0: 1x6 at (2, 3) leaves the output of 8x8");
    drawn.boxes_count = 9;
    expect_refused(erasing, 20, 30, 3, &given, "image 0: 9 boxes are given, want at most 8");
    drawn =
        (motley_place){ .crop = { 0, 0, 2, 3 }, .width = 20, .height = 30, .result_width = 20, .result_height = 30 };
    expect_refused(erasing, 20, 30, 4, NULL, "transform 'x' erases with 3 values, the images have 4 channels");
    motley_step steps[68];
    for (int i = 0; i < 68; i++)
        steps[i] = (motley_step){ .op = motley_op_find("invert") };
    steps[64] = (motley_step){ .op = MOTLEY_STEP_MIX_SUM, .values_count = 1 };
    const int32_t many = 65;
    const motley_apply_params long_chains = { .given = &drawn, .given_steps = steps, .given_step_counts = &many };
    expect_refused("  - policy: {name: y, repeat: 7, augmix: {width: 7}, branches: [invert]}\n"
                   "  - jitter: {brightness: 1, contrast: 1, saturation: 1, hue: 0.1}\n"
                   "  - jitter: {brightness: 1, contrast: 1, saturation: 1, hue: 0.1}\n  - output: {}\n",
                   20, 30, 3, &long_chains, "image 0: chains of 65 steps are given, want at most 64");
    expect_refused(plain, 0, 30, 3, NULL, "width");
    expect_refused(plain, 20, 30, 1, NULL,
                   "transform 'x' normalises 3 channels, the images have 1: begin the stages with 'to_rgb: {}'");
    expect_refused("  - to_rgb: {}\n  - output: {}\n", 20, 30, 1, NULL, "dst: channels is 1, want to_rgb's 3");
    expect_refused("  - resize: {size: [8, 8]}\n  - mix: {mixup: 1}\n", 20, 30, 3, NULL,
                   "transform 'x' mixes images, want params.mixed, by which targets are mixed");
    expect_refused("  - resize: {size: 8}\n  - random_crop: {size: [8, 64]}\n", 1, 2, 3, NULL,
                   "8x16 with a padding of 0 is smaller than the random_crop of 64x8");
    expect_refused("  - blur: {kernel_size: 5, sigma: [1, 2]}\n", 2, 9, 3, NULL,
                   "image 0: 2x9 is too small for a blur by a kernel of 5, want at least 3 each way");
}

Test(transform, fallbacks_are_reached)
{
    motley_policy *t = parsed(STAGES "  - random_resized_crop: {size: 32}\n");
    static const int32_t sides[][2] = { { 4000, 40 }, { 40, 4000 }, { 1, 1 }, { 2, 1 }, { 1, 300 } };
    for (int k = 0; k < 5; k++) {
        int32_t width = sides[k][0], height = sides[k][1], count;
        int middle = 0;
        for (uint64_t id = 0; id < 2000; id++) {
            motley_place d;
            motley_step none;
            cr_assert_eq(
                motley_draw(t, &(motley_samples){ .first = id }, 1, &width, &height, 3, &d, &none, &count, NULL),
                MOTLEY_OK);
            cr_assert(d.crop.width >= 1 && d.crop.height >= 1 && d.crop.left >= 0 && d.crop.top >= 0 &&
                      d.crop.left + d.crop.width <= width && d.crop.top + d.crop.height <= height);
            if (width == 4000)
                middle += d.crop.width == 53 && d.crop.height == 40 && d.crop.left == (4000 - 53) / 2;
            else if (height == 4000)
                middle += d.crop.height == 53 && d.crop.width == 40 && d.crop.top == (4000 - 53) / 2;
            else
                middle++;
        }
        cr_expect_gt(middle, 1500, "%d x %d: %d of 2000", width, height, middle);
    }
    motley_policy_destroy(t);
}

/* --- draws as JSON --- */

#define JSON_SAMPLES 500

static void expect_same_draw(const motley_place *a, const motley_place *b, const motley_step *steps,
                             const motley_step *again, int32_t count)
{
    cr_assert_eq(memcmp(&a->crop, &b->crop, sizeof a->crop), 0);
    cr_assert(a->width == b->width && a->height == b->height && a->filter == b->filter && a->left == b->left &&
              a->top == b->top && a->flip_horizontal == b->flip_horizontal && a->flip_vertical == b->flip_vertical);
    cr_assert_eq(a->boxes_count, b->boxes_count);
    cr_assert_eq(memcmp(a->boxes, b->boxes, sizeof a->boxes), 0);
    cr_assert(a->boxes_count == 0 || a->noise == b->noise);
    for (int32_t s = 0; s < count; s++) {
        cr_assert(steps[s].op == again[s].op && steps[s].level == again[s].level &&
                  steps[s].values_count == again[s].values_count && steps[s].interpolation == again[s].interpolation);
        for (int32_t v = 0; v < steps[s].values_count; v++)
            cr_assert_eq(steps[s].values[v], again[s].values[v]);
        cr_assert_eq(memcmp(steps[s].fill, again[s].fill, 3), 0);
    }
}

/* Returns how many of the draws erase. */
static int expect_draws_back(const motley_policy *t, uint64_t samples)
{
    const size_t most = motley_policy_describe(t)->max_steps;
    motley_step *steps = calloc(2 * most + 1, sizeof *steps), *again = steps + most;
    int erased = 0;
    for (uint64_t id = 0; id < samples; id++) {
        motley_place drawn, back;
        int32_t width = 300, height = 200, count, counted;
        uint64_t sample;
        char *text;
        motley_error error = { 0 };
        cr_assert_eq(
            motley_draw(t, &(motley_samples){ .first = id }, 1, &width, &height, 3, &drawn, steps, &count, NULL),
            MOTLEY_OK);
        cr_assert_eq(motley_draw_json(t, id, &drawn, steps, count, 3, &text, &error), MOTLEY_OK, "%s", error.message);
        cr_assert_eq(motley_draw_read(text, strlen(text), 3, &sample, &back, again, most, &counted, &error), MOTLEY_OK,
                     "%d: %s\n%s", error.column, error.message, text);
        cr_assert(sample == id && counted == count);
        expect_same_draw(&drawn, &back, steps, again, count);
        erased += drawn.boxes_count > 0;
        free(text);
    }
    free(steps);
    return erased;
}

Test(transform, draws_are_written_and_read_back)
{
    motley_policy *t = parsed(
        STAGES
        "  - random_resized_crop: {size: 100, filter: [bilinear, bicubic, lanczos]}\n"
        "  - flip: {horizontal: 0.5, vertical: 0.25}\n  - policy: {name: rand_augment, interpolation: bilinear}\n"
        "  - jitter: {brightness: 0.5, contrast: 0.5, saturation: 0.5, hue: 0.5}\n"
        "  - blur: {kernel_size: 23, sigma: [0.125, 2]}\n"
        "  - output: {}\n  - erase: {p: 0.5, boxes: [1, 4], value: pixel}\n");
    cr_expect_gt(expect_draws_back(t, JSON_SAMPLES), JSON_SAMPLES / 4);
    motley_policy_destroy(t);
    sweep(builtin_parts(), "built-in transforms whose draws are read back");
    for (size_t i = 0; i < builtin_parts(); i += sweep_every()) {
        char name[PART_NAME];
        cr_assert_not_null(t = builtin_part(i, name));
        expect_draws_back(t, JSON_SAMPLES / 10);
        motley_policy_destroy(t);
    }
}

Test(transform, draws_that_are_no_draws_are_refused)
{
    static const char good[] =
        "{\"sample\": 1, \"crop\": {\"left\": 0, \"top\": 0, \"width\": 9, \"height\": 9}, "
        "\"resize\": {\"width\": 8, \"height\": 8, \"filter\": \"box\"}, \"window\": {\"left\": 0, "
        "\"top\": 0, \"width\": 8, \"height\": 8}, \"flip\": {\"horizontal\": true, \"vertical\": false}, \"steps\": "
        "[{\"op\": \"hue\", \"value\": 0.5}]}";
    static const char *const wrong[][3] = {
        { "\"width\": 9", "\"width\": 9.5", "\"width\" is 9.5, want a whole number" },
        { "\"crop\"", "\"crap\"", "\"crop\" is missing" },
        { "\"left\": 0, \"top\": 0, \"width\"", "\"left\": 0, \"width\"", "\"top\" is missing" },
        { "\"box\"", "\"bax\"", "\"filter\" is 'bax', want bilinear, bicubic" },
        { "true", "yes", "\"horizontal\" is 'yes', want false or true" },
        { "0.5}", "[0.5, 1]}", "hue has 2 values, want 1 to 1 (of a turn)" },
        { "\"hue\"", "\"huge\"", "unknown operation 'huge'" },
        { "\"hue\"", "\"kernel_blur\"", "kernel_blur has 1 values, want 2 to 2 (sigma in pixels, the kernel's size)" },
        { "\"steps\"", "\"erase\": [7], \"steps\"", "a box of \"erase\" is not an object" },
        { "\"steps\"", "\"erase\": [], \"noise\": -4, \"steps\"", "\"noise\" is '-4'" },
    };
    motley_place drawn;
    motley_step step;
    motley_error error = { 0 };
    uint64_t sample;
    int32_t count;
    cr_assert_eq(motley_draw_read(good, strlen(good), 3, &sample, &drawn, &step, 1, &count, &error), MOTLEY_OK, "%s",
                 error.message);
    cr_expect(drawn.filter == MOTLEY_FILTER_BOX && drawn.flip_horizontal && step.op == MOTLEY_STEP_HUE);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char text[600];
        const char *at = strstr(good, wrong[k][0]);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, wrong[k][1], at + strlen(wrong[k][0]));
        cr_expect_eq(motley_draw_read(text, strlen(text), 3, &sample, &drawn, &step, 1, &count, &error),
                     MOTLEY_ERR_POLICY);
        cr_expect(strstr(error.message, wrong[k][2]), "%s: %s", wrong[k][1], error.message);
    }
    cr_expect_eq(motley_draw_read("[]", 2, 3, &sample, &drawn, &step, 1, &count, &error), MOTLEY_ERR_POLICY);
    const char hue[] = "{\"sample\": 1, \"steps\": [{\"op\": \"hue\", \"value\": 0.5}]}";
    cr_expect_eq(motley_draw_read(hue, strlen(hue), 3, &sample, NULL, &step, 1, &count, &error), MOTLEY_ERR_POLICY);
    cr_expect(strstr(error.message, "unknown operation 'hue'"), "%s", error.message);
}

Test(transform, steps_that_stages_do_not_draw_are_refused)
{
    static const struct {
        motley_step step;
        const char *message;
    } wrong[] = {
        { { .op = MOTLEY_STEP_HUE, .values = { 0.6 }, .values_count = 1 }, "hue: value is 0.6, want -0.5 to 0.5" },
        { { .op = MOTLEY_STEP_HUE }, "hue takes 1 value (of a turn), 0 were given" },
        { { .op = MOTLEY_STEP_KERNEL_BLUR, .values = { 0, 3 }, .values_count = 2 }, "value is 0, want 0.001 to 1000" },
        { { .op = MOTLEY_STEP_KERNEL_BLUR, .values = { 2, 4 }, .values_count = 2 }, "size is 4, want an odd number" },
        { { .op = MOTLEY_STEP_PERMUTE, .values = { 6 }, .values_count = 1 }, "permute: value is 6, want 0 to 5" },
        { { .op = MOTLEY_STEP_PERMUTE, .values = { 0.5 }, .values_count = 1 }, "is 0.5, want a whole number" },
        { { .op = -9, .values_count = 1 },
          "has op -9, want 0 to 36, MOTLEY_STEP_HUE, MOTLEY_STEP_KERNEL_BLUR or MOTLEY_STEP_PERMUTE" },
        { { .op = MOTLEY_STEP_MIX_BEGIN }, "step 0 is mix_begin, which policy 'x' does not draw" },
    };
    uint8_t pixels[48] = { 0 };
    const motley_batch batch = { .count = 1, .channels = 3, .data = pixels, .width = 4, .height = 4 };
    const motley_place drawn = {
        .crop = { 0, 0, 4, 4 }, .width = 4, .height = 4, .result_width = 4, .result_height = 4
    };
    const int32_t count = 1;
    motley_policy *const t = parsed(STAGES "  - jitter: {hue: 0.5}\n");
    motley_context *context;
    motley_error error;
    cr_assert_eq(motley_context_create(NULL, &context, &error), MOTLEY_OK, "%s", error.message);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const motley_apply_params given = { .given = &drawn,
                                            .given_steps = &wrong[k].step,
                                            .given_step_counts = &count };
        cr_expect_eq(motley_apply(context, t, &batch, &batch, &given, &error), MOTLEY_ERR_ARGUMENT);
        cr_expect(strstr(error.message, wrong[k].message), "%s", error.message);
    }
    motley_context_destroy(context);
    motley_policy_destroy(t);
}

/* --- what must not matter --- */

#define IMAGES 40

typedef struct photographs {
    motley_image images[IMAGES];
    uint8_t *memory;
} photographs;

static photographs photographs_of(void)
{
    photographs p = { .memory = malloc((size_t)IMAGES * 90 * 70 * 3) };
    uint8_t *at = p.memory;
    uint32_t state = 1;
    for (int i = 0; i < IMAGES; i++) {
        const int32_t width = 20 + i % 7 * 10, height = 15 + i % 5 * 11;
        p.images[i] = (motley_image){ at, width, height, width * 3, 3, 1 };
        for (int32_t k = 0; k < width * height * 3; k++)
            *at++ = (uint8_t)((state = state * 1664525u + 1013904223u) >> 24);
    }
    return p;
}

static void run(const motley_policy *t, int threads, const motley_image *images, size_t count, uint64_t first,
                float *out)
{
    motley_context *context;
    motley_error error = { 0 };
    const motley_context_params params = { .backend = MOTLEY_BACKEND_CPU, .threads = threads };
    cr_assert_eq(motley_context_create(&params, &context, &error), MOTLEY_OK, "%s", error.message);
    const motley_batch src = { .count = count, .channels = 3, .images = images };
    const motley_batch dst = {
        .count = count, .channels = 3, .dtype = MOTLEY_F32, .layout = MOTLEY_CHW, .data = out, .width = 48, .height = 48
    };
    const motley_apply_params how = { .samples = { .seed = 3, .epoch = 2, .first = first } };
    cr_assert_eq(motley_apply(context, t, &src, &dst, &how, &error), MOTLEY_OK, "%s", error.message);
    motley_context_destroy(context);
}

Test(transform, threads_and_splits_change_nothing)
{
    enum { EACH = 3 * 48 * 48 };
    motley_policy *t = parsed(STAGES "  - random_resized_crop: {size: 48}\n  - flip: {horizontal: 0.5}\n"
                                     "  - policy: rand_augment\n  - policy: trivial_augment_wide\n"
                                     "  - jitter: {p: 0.8, hue: 0.2, contrast: 0.3}\n"
                                     "  - output: {mean: 0.5, std: 0.25}\n  - erase: {value: pixel}\n");
    photographs p = photographs_of();
    float *whole = malloc(sizeof(float) * EACH * IMAGES), *other = malloc(sizeof(float) * EACH * IMAGES);
    run(t, 1, p.images, IMAGES, 10, whole);
    run(t, 4, p.images, IMAGES, 10, other);
    cr_expect_eq(memcmp(whole, other, sizeof(float) * EACH * IMAGES), 0, "threads");
    memset(other, 0, sizeof(float) * EACH * IMAGES);
    run(t, 2, p.images, 13, 10, other);
    run(t, 2, p.images + 13, IMAGES - 13, 23, other + 13 * EACH);
    cr_expect_eq(memcmp(whole, other, sizeof(float) * EACH * IMAGES), 0, "splits");
    cr_expect_neq(memcmp(whole, whole + EACH * 35, sizeof(float) * EACH), 0, "images differ");
    free(whole);
    free(other);
    free(p.memory);
    motley_policy_destroy(t);
}

/* bindings/python/tests/test_transform_clips.py compares the pixels with Pillow's. */
Test(transform, clips_share_statistics_as_in_policies)
{
    enum { FRAMES = 3, EACH = 37 * 29 * 3, COUNT = 24 * FRAMES };
    static uint8_t in[COUNT * EACH], want[sizeof in], got[sizeof in];
    static const char branches[] = "{repeat: 3, branches: [equalize, auto_contrast, {op: contrast, value: 1.5}, "
                                   "{op: rotate, value: 20}, {op: sharpness, value: 1.5}]}";
    char text[300];
    snprintf(text, sizeof text, STAGES "  - policy: %s\n", branches);
    motley_policy *t = parsed(text);
    snprintf(text, sizeof text, "{motley: 1, name: x, %s", branches + 1);
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &policy, &error), MOTLEY_OK, "%s", error.message);
    uint64_t ids[COUNT];
    for (size_t i = 0; i < sizeof in; i++) /* each frame of another brightness */
        in[i] = (uint8_t)(i * 2654435761u >> 16 & 127u) + (uint8_t)(i / EACH * 31 % 128);
    for (size_t i = 0; i < COUNT; i++)
        ids[i] = i / FRAMES;
    motley_batch src = { .count = COUNT, .channels = 3, .data = in, .width = 37, .height = 29 }, dst = src;
    for (int b = 0; b < 2; b++)
        for (int threads = 1; threads <= 4; threads += 3) {
            motley_context *context;
            const motley_context_params made = { .backend = b ? MOTLEY_BACKEND_REFERENCE : MOTLEY_BACKEND_CPU,
                                                 .threads = threads };
            cr_assert_eq(motley_context_create(&made, &context, &error), MOTLEY_OK, "%s", error.message);
            dst.data = want;
            const motley_apply_params apply = { .samples = { .ids = ids }, .clip_frames = FRAMES };
            cr_assert_eq(motley_apply(context, policy, &src, &dst, &apply, &error), MOTLEY_OK, "%s", error.message);
            dst.data = memset(got, 0, sizeof got);
            motley_apply_params params = { .samples = { .ids = ids }, .clip_frames = FRAMES };
            cr_assert_eq(motley_apply(context, t, &src, &dst, &params, &error), MOTLEY_OK, "%s", error.message);
            cr_expect_eq(memcmp(want, got, sizeof got), 0, "backend %d, %d threads", b, threads);
            params.clip_frames = 0;
            cr_assert_eq(motley_apply(context, t, &src, &dst, &params, &error), MOTLEY_OK);
            cr_expect_neq(memcmp(want, got, sizeof got), 0, "each frame has its own statistics");
            params.clip_frames = 5;
            memset(got, 7, sizeof got);
            cr_expect_eq(motley_apply(context, t, &src, &dst, &params, &error), MOTLEY_ERR_ARGUMENT);
            cr_expect(strstr(error.message, "there are 72 images, want whole clips"), "%s", error.message);
            params.clip_frames = 2 * FRAMES;
            cr_expect_eq(motley_apply(context, t, &src, &dst, &params, &error), MOTLEY_ERR_ARGUMENT);
            cr_expect(strstr(error.message, "has other steps than image 0 of its clip"), "%s", error.message);
            cr_expect(got[0] == 7 && got[sizeof got - 1] == 7, "nothing is written");
            motley_context_destroy(context);
        }
    motley_policy_destroy(policy);
    motley_policy_destroy(t);
}

Test(transform, the_second_policy_has_words_of_its_own)
{
    motley_policy *t = parsed(STAGES "  - policy: trivial_augment_wide\n  - policy: trivial_augment_wide\n");
    motley_policy *policy;
    cr_assert_eq(motley_policy_builtin("trivial_augment_wide", &policy, NULL), MOTLEY_OK);
    int alike = 0;
    for (uint64_t id = 0; id < 1000; id++) {
        int32_t width = 20, height = 20, count;
        motley_place d;
        motley_step steps[2], alone;
        const motley_samples samples = { .seed = 8, .first = id };
        cr_assert_eq(motley_draw(t, &samples, 1, &width, &height, 3, &d, steps, &count, NULL), MOTLEY_OK);
        cr_assert_eq(motley_draw(policy, &samples, 1, &width, &height, 3, NULL, &alone, &count, NULL), MOTLEY_OK);
        cr_expect(steps[0].op == alone.op && steps[0].level == alone.level && steps[0].values[0] == alone.values[0],
                  "the first draws what the policy draws alone");
        alike += steps[0].op == steps[1].op;
    }
    cr_expect(alike > 30 && alike < 130, "%d of 1000", alike); /* one in 14 */
    motley_policy_destroy(policy);
    motley_policy_destroy(t);
}

Test(transform, mixing_is_the_transform_and_then_the_mixture)
{
    enum { EACH = 3 * 48 * 48 };
    static const char plain[] = STAGES "  - random_resized_crop: {size: 48}\n  - flip: {horizontal: 0.5}\n"
                                       "  - output: {mean: 0.5, std: 0.25}\n";
    char text[400];
    snprintf(text, sizeof text, "%s  - mix: {mixup: 0.8, cutmix: 1, mode: elem}\n", plain);
    motley_policy *t = parsed(text), *unmixed = parsed(plain);
    photographs p = photographs_of();
    float *wanted = malloc(sizeof(float) * EACH * IMAGES), *got = malloc(sizeof(float) * EACH * IMAGES);
    run(unmixed, 2, p.images, IMAGES, 10, wanted);
    motley_context *context;
    motley_error error = { 0 };
    cr_assert_eq(
        motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = 2 }, &context, NULL),
        MOTLEY_OK);
    const motley_batch src = { .count = IMAGES, .channels = 3, .images = p.images };
    motley_batch dst = { .count = IMAGES,
                         .channels = 3,
                         .dtype = MOTLEY_F32,
                         .layout = MOTLEY_CHW,
                         .data = got,
                         .width = 48,
                         .height = 48 };
    motley_mixed mixed[IMAGES], drawn[IMAGES];
    motley_apply_params how = { .samples = { .seed = 3, .epoch = 2, .first = 10 } };
    cr_expect_eq(motley_apply(context, t, &src, &dst, &how, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "mixes images, want params.mixed"), "%s", error.message);
    how.given_mixed = mixed;
    how.mixed = mixed;
    cr_expect_eq(motley_apply(context, t, &src, &dst, &how, &error), MOTLEY_ERR_ARGUMENT);
    how.given_mixed = NULL;
    cr_assert_eq(motley_apply(context, t, &src, &dst, &how, &error), MOTLEY_OK, "%s", error.message);
    cr_assert_eq(
        motley_mix_draw(motley_policy_describe(t)->mix, &how.samples, IMAGES, 48, 48, NULL, NULL, drawn, NULL, NULL),
        MOTLEY_OK);
    int kinds = 0;
    for (int i = 0; i < IMAGES; i++) {
        cr_assert(mixed[i].kind == drawn[i].kind && mixed[i].lambda == drawn[i].lambda);
        kinds |= 1 << mixed[i].kind;
    }
    cr_expect_eq(kinds, 6);
    dst.data = wanted;
    cr_assert_eq(motley_mix_apply(context, &dst, &dst, mixed, NULL, NULL, NULL, &error), MOTLEY_OK, "%s",
                 error.message);
    cr_expect_eq(memcmp(wanted, got, sizeof(float) * EACH * IMAGES), 0);
    free(wanted);
    free(got);
    free(p.memory);
    motley_context_destroy(context);
    motley_policy_destroy(t);
    motley_policy_destroy(unmixed);
}

Test(transform, requests_that_are_refused)
{
    motley_policy *t = parsed(STAGES "  - random_resized_crop: {size: 8}\n  - output: {mean: 0.5, std: 0.5}\n");
    motley_context *context;
    motley_error error = { 0 };
    union {
        uint8_t bytes[12 * 12 * 3];
        float floats[3 * 8 * 8];
    } in = { 0 };
    float out[3 * 8 * 8 + 1];
    for (int i = 0; i < 193; i++)
        out[i] = 7;
    cr_assert_eq(
        motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = 1 }, &context, NULL),
        MOTLEY_OK);
    const motley_batch src = { .count = 1, .channels = 3, .data = in.bytes, .width = 12, .height = 12 };
    motley_batch dst = { .count = 1, .channels = 3, .dtype = MOTLEY_F32, .data = out, .width = 9, .height = 8 };
    cr_expect_eq(motley_apply(context, t, &src, &dst, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "size is 9x8, want the transform's 8x8"), "%s", error.message);
    dst.width = 8;
    dst.channels = 4;
    cr_expect_eq(motley_apply(context, t, &src, &dst, NULL, &error), MOTLEY_ERR_ARGUMENT);
    dst.channels = 3;
    dst.data = (uint8_t *)out + 1;
    cr_expect_eq(motley_apply(context, t, &src, &dst, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "not aligned"), "%s", error.message);
    dst.data = in.floats;
    cr_expect_eq(motley_apply(context, t, &src, &dst, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "shares memory with src image 0"), "%s", error.message);
    dst.data = out;
    dst.dtype = (motley_dtype)9;
    cr_expect_eq(motley_apply(context, t, &src, &dst, NULL, &error), MOTLEY_ERR_ARGUMENT);
    dst.dtype = MOTLEY_F32;
    const motley_place given = {
        .crop = { 0, 0, 12, 12 }, .width = 8, .height = 8, .result_width = 8, .result_height = 8
    };
    cr_expect_eq(motley_apply(context, t, &src, &dst, &(motley_apply_params){ .given = &given }, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "want all three or none"), "%s", error.message);
    for (int i = 0; i < 193; i++)
        cr_assert_eq(out[i], 7, "something was written");
    cr_expect_eq(motley_apply(context, t, &src, &dst, NULL, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_eq(out[0], -1);
    motley_context_destroy(context);
    motley_policy_destroy(t);
}
