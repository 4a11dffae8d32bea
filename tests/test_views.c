/* SPDX-License-Identifier: Apache-2.0 */
/* Views: what a file with views makes is what its views' transforms make, with draws of their own. */
#include "motley.h"
#include "tests/allocations.h"
#include "tests/policies.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 5
#define LARGE "[{random_resized_crop: {size: 12}}, {flip: {horizontal: 0.5}}, {jitter: {p: 0.8, hue: 0.1}}]"
#define SMALL "[{random_resized_crop: {size: 8, scale: [0.05, 0.4]}}, {blur: {p: 0.5, radius: [0.1, 2]}}]"
#define TEXT \
    HEAD "views:\n  - {name: global, count: 2, stages: " LARGE \
         "}\n  - {name: local, count: 3, number: 4, stages: " SMALL "}\n"

/* Sources of two sizes, and room for the results of each view. */
typedef struct pictures {
    uint8_t pixels[COUNT][20 * 16 * 3], large[2 * COUNT][12 * 12 * 3], small[3 * COUNT][8 * 8 * 3];
    motley_image images[COUNT];
    motley_place drawn[3 * COUNT];
    motley_view_results results[2];
} pictures;

static motley_batch batch_of(void *data, size_t count, int32_t side)
{
    return (motley_batch){ .data = data, .count = count, .width = side, .height = side, .channels = 3 };
}

static pictures *made(void)
{
    pictures *const p = calloc(1, sizeof *p);
    for (size_t i = 0; i < sizeof p->pixels; i++)
        ((uint8_t *)p->pixels)[i] = (uint8_t)(i * 2654435761u >> 13);
    for (int i = 0; i < COUNT; i++) {
        const int32_t width = i % 2 ? 16 : 20, height = i % 2 ? 20 : 16;
        p->images[i] = (motley_image){ p->pixels[i], width, height, 3 * (int64_t)width, 3, 1 };
    }
    p->results[0].dst = batch_of(p->large, 2 * COUNT, 12);
    p->results[1].dst = batch_of(p->small, 3 * COUNT, 8);
    return p;
}

Test(views, a_text_with_views_is_described_and_prints)
{
    motley_policy *const transform = parsed(TEXT);
    const motley_policy_info *const info = motley_policy_describe(transform);
    cr_assert_eq((size_t)motley_policy_describe(transform)->views, 2);
    cr_expect(info->views == 2 && info->width == 0 && strcmp(info->name, "x") == 0 && info->max_steps == 4);
    static const struct {
        const char *name, *text;
        int32_t count, number, size;
    } wanted[2] = {
        { "global",
          HEAD "stages:\n  - random_resized_crop: {size: 12}\n  - flip: {horizontal: 0.5}\n  - jitter: {p: 0.8, hue: "
               "[-0.1, 0.1]}\n",
          2, 0, 12 },
        { "local",
          HEAD
          "stages:\n  - random_resized_crop: {size: 8, scale: [0.05, 0.4]}\n  - blur: {p: 0.5, radius: [0.1, 2]}\n",
          3, 4, 8 },
    };
    for (size_t v = 0; v < 2; v++) {
        const motley_view *const view = motley_policy_view(transform, v);
        char *text;
        cr_expect_str_eq(view->name, wanted[v].name);
        cr_expect(view->count == wanted[v].count && view->number == wanted[v].number);
        cr_expect_eq(motley_policy_describe(view->policy)->width, wanted[v].size);
        cr_assert_eq(motley_policy_print(view->policy, MOTLEY_PRINT_TEXT, &text, NULL), MOTLEY_OK);
        cr_expect_str_eq(text, wanted[v].text);
        free(text);
    }
    cr_expect_null(motley_policy_view(transform, 2));
    char *text, *json, *again, *json_again;
    cr_assert_eq(motley_policy_print(transform, MOTLEY_PRINT_TEXT, &text, NULL), MOTLEY_OK);
    cr_assert_eq(motley_policy_print(transform, MOTLEY_PRINT_JSON, &json, NULL), MOTLEY_OK);
    motley_policy *const second = parsed(text), *const third = parsed(json);
    cr_assert_eq(motley_policy_print(third, MOTLEY_PRINT_TEXT, &again, NULL), MOTLEY_OK);
    cr_assert_eq(motley_policy_print(second, MOTLEY_PRINT_JSON, &json_again, NULL), MOTLEY_OK);
    cr_expect_str_eq(text, again);
    cr_expect_str_eq(json, json_again);
    cr_expect_eq(
        strncmp(text, HEAD "views:\n  - name: global\n    count: 2\n    stages:\n      - random_resized_crop: ", 90), 0,
        "%s", text);
    free(text), free(json), free(again), free(json_again);
    motley_policy_destroy(transform);
    motley_policy_destroy(second);
    motley_policy_destroy(third);
}

/* What a result must be: its view's transform applied to each source with the draw that motley_view names. */
static void expect_results(const motley_policy *transform, const pictures *p, const motley_samples *samples)
{
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    const motley_batch src = { .count = COUNT, .channels = 3, .images = p->images };
    for (size_t v = 0; v < 2; v++) {
        const motley_view *const view = motley_policy_view(transform, v);
        const size_t bytes = v ? sizeof p->small[0] : sizeof p->large[0];
        const uint8_t *const results = v ? p->small[0] : p->large[0];
        uint8_t own[COUNT][12 * 12 * 3];
        motley_place drawn[COUNT];
        for (uint32_t j = 0; j < (uint32_t)view->count; j++) {
            const motley_batch dst = batch_of(own, COUNT, v ? 8 : 12);
            uint32_t views[COUNT];
            for (int i = 0; i < COUNT; i++)
                views[i] = 256 * (samples->views ? samples->views[i] : samples->view) + 16 * (uint32_t)view->number + j;
            motley_apply_params how = { .samples = *samples, .drawn = drawn };
            motley_error error = { 0 };
            how.samples.views = views;
            cr_assert_eq(motley_apply(context, view->policy, &src, &dst, &how, &error), MOTLEY_OK, "%s", error.message);
            cr_expect_arr_eq(own, results + j * COUNT * bytes, COUNT * bytes, "view %zu, result %u", v, j);
            if (p->results[v].drawn)
                cr_expect_arr_eq(drawn, p->results[v].drawn + j * COUNT, sizeof drawn);
        }
    }
    motley_context_destroy(context);
}

Test(views, each_result_is_a_draw_of_the_views_transform)
{
    motley_policy *const transform = parsed(TEXT);
    pictures *const p = made();
    const motley_batch src = { .count = COUNT, .channels = 3, .images = p->images };
    const uint64_t ids[COUNT] = { 7, UINT64_MAX, 3, 1u << 31, 0 };
    const uint32_t reads[COUNT] = { 0, 255, 3, 0, 1 };
    const motley_samples samples[] = { { .seed = 1, .epoch = 2, .first = 9 },
                                       { .seed = 1, .epoch = 2, .ids = ids, .view = 255 },
                                       { .seed = UINT64_MAX, .ids = ids, .views = reads } };
    p->results[1].drawn = p->drawn;
    for (int threads = 1; threads <= 3; threads += 2)
        for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
            motley_context *const context = context_of(MOTLEY_BACKEND_CPU, threads);
            motley_error error = { 0 };
            memset(p->large, 0, sizeof p->large + sizeof p->small);
            cr_assert_eq(motley_views_apply(context, transform, &src, p->results,
                                            &(motley_apply_params){ .samples = samples[k] }, &error),
                         MOTLEY_OK, "%s", error.message);
            expect_results(transform, p, &samples[k]);
            motley_context_destroy(context);
        }
    motley_policy_destroy(transform);
    free(p);
}

/* Views that work in the boxes of an image, and others beside them; with given levels one result after the other. */
Test(views, boxes_are_of_images_and_reach_the_views_that_take_them)
{
#define INSIDE \
    "[{random_resized_crop: {size: 8}}, {policy: {bins: 9, level: %s, ops: {e: {op: contrast, range: [0.1, 2], " \
    "inside: boxes}}, branches: [e]}}]"
    static const double boxes[][4] = {
        { 1, 2, 9, 9 }, { 0, 0, 14, 15 }, { 3, 3, 12, 8 }, { 1, 1, 15, 9 }, { 2, 0, 5, 14 }
    };
    static const size_t offsets[COUNT + 1] = { 1, 2, 2, 4, 5, 5 };
    static const float levels[COUNT] = { 0.1f, 0.9f, 0.5f, 1, 0 };
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 2);
    pictures *const p = made();
    const motley_batch src = { .count = COUNT, .channels = 3, .images = p->images };
    p->results[1].drawn = p->drawn;
    for (int given = 0; given < 2; given++) {
        char text[600];
        snprintf(text, sizeof text,
                 HEAD "views:\n  - {name: global, count: 2, stages: " LARGE
                      "}\n  - {name: local, count: 3, number: 4, stages: " INSIDE "}\n",
                 given ? "given" : "uniform");
        motley_policy *const transform = parsed(text);
        const motley_samples samples = {
            .seed = 4, .first = 7, .boxes = *boxes, .box_offsets = offsets, .levels = levels
        };
        motley_error error = { 0 };
        memset(p->large, 0, sizeof p->large + sizeof p->small);
        cr_assert_eq(motley_views_apply(context, transform, &src, p->results,
                                        &(motley_apply_params){ .samples = samples }, &error),
                     MOTLEY_OK, "%s", error.message);
        expect_results(transform, p, &samples);
        motley_policy_destroy(transform);
    }
    motley_context_destroy(context);
    free(p);
}

Test(views, levels_are_of_images_and_reach_the_views_that_take_them)
{
    motley_policy *const transform =
        parsed(HEAD "views:\n  - {name: global, count: 2, stages: " LARGE "}\n  - {name: local, count: 3, number: 4, "
                    "stages: [{random_resized_crop: {size: 8}}, {policy: {name: rand_augment, level: given}}]}\n");
    pictures *const p = made();
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    const motley_batch src = { .count = COUNT, .channels = 3, .images = p->images };
    const float levels[COUNT] = { 0, 1, 0.3f, 0.9f, 0.5f };
    motley_apply_params how = { .samples = { .seed = 3, .first = 40 } };
    motley_error error = { 0 };
    cr_expect(motley_policy_describe(transform)->takes_levels);
    cr_expect_eq(motley_views_apply(context, transform, &src, p->results, &how, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "view 'local': policy 'x' takes a given level: want levels, a number "
                                    "from 0 to 1 for each of 5 images");
    how.samples.levels = levels;
    p->results[1].drawn = p->drawn;
    cr_assert_eq(motley_views_apply(context, transform, &src, p->results, &how, &error), MOTLEY_OK, "%s",
                 error.message);
    expect_results(transform, p, &how.samples);
    motley_policy_destroy(transform);
    motley_context_destroy(context);
    free(p);
}

/* Shared stages are drawn once, as view 240, and the views are made of their results. */
static void expect_shared(const char *shared, int32_t side)
{
    char text[600];
    snprintf(text, sizeof text,
             HEAD "stages: %s\nviews:\n  - {name: global, count: 2, stages: " LARGE
                  "}\n  - {name: local, count: 3, number: 4, stages: " SMALL "}\n",
             shared);
    motley_policy *const transform = parsed(text);
    snprintf(text, sizeof text, HEAD "stages: %s\n", shared);
    motley_policy *const alone = parsed(text);
    pictures *const p = made(), *const q = made();
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    const motley_batch src = { .count = COUNT, .channels = 3, .images = p->images };
    motley_apply_params how = { .samples = { .seed = 6, .epoch = 2, .first = 40, .view = 3 } };
    motley_error error = { 0 };
    motley_view_results results[3] = { p->results[0], p->results[1] };
    motley_image images[COUNT];
    uint8_t between[COUNT][20 * 16 * 3];
    for (int i = 0; i < COUNT; i++) {
        images[i] = p->images[i];
        images[i].data = between[i];
    }
    results[2].dst =
        side ? batch_of(between, COUNT, side) : (motley_batch){ .count = COUNT, .channels = 3, .images = images };
    cr_expect_eq(motley_policy_describe(transform)->views, 2);
    cr_expect_str_eq(motley_policy_view(transform, 2)->name, "");
    cr_expect_eq(motley_policy_view(transform, 2)->number, 15);
    cr_expect_null(motley_policy_view(transform, 3));
    cr_assert_eq(motley_views_apply(context, transform, &src, results, &how, &error), MOTLEY_OK, "%s", error.message);

    /* the same by hand, in `q` */
    motley_batch dst = results[2].dst;
    uint8_t wanted[COUNT][20 * 16 * 3];
    motley_image wanted_images[COUNT];
    for (int i = 0; i < COUNT; i++) {
        wanted_images[i] = images[i];
        wanted_images[i].data = wanted[i];
    }
    dst.data = side ? wanted : NULL;
    dst.images = side ? NULL : wanted_images;
    how.samples.view = 256 * 3 + 240;
    cr_assert_eq(motley_apply(context, alone, &src, &dst, &how, &error), MOTLEY_OK, "%s", error.message);
    for (int i = 0; i < COUNT && !side; i++)
        q->images[i].data = wanted[i];
    for (int i = 0; i < COUNT && side; i++)
        q->images[i] = (motley_image){ (uint8_t *)wanted + i * 3 * side * side, side, side, 3 * (int64_t)side, 3, 1 };
    memcpy(q->large, p->large, sizeof p->large);
    memcpy(q->small, p->small, sizeof p->small);
    how.samples.view = 3;
    expect_results(transform, q, &how.samples);
    motley_policy_destroy(transform);
    motley_policy_destroy(alone);
    motley_context_destroy(context);
    free(p), free(q);
}

Test(views, shared_stages_are_drawn_once)
{
    expect_shared("[{random_resized_crop: {size: 15}}, {jitter: {brightness: 0.9}}]", 15);
    expect_shared("[{jitter: {p: 0.7, brightness: 0.9}}, {policy: rand_augment}]", 0); /* sizes stay */
}

/* What a text makes of the pictures. */
static void apply(const char *text, pictures *p)
{
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    motley_policy *const transform = parsed(text);
    const motley_batch src = { .count = COUNT, .channels = 3, .images = p->images };
    motley_error error = { 0 };
    cr_assert_eq(motley_views_apply(context, transform, &src, p->results, NULL, &error), MOTLEY_OK, "%s",
                 error.message);
    motley_policy_destroy(transform);
    motley_context_destroy(context);
}

Test(views, other_views_change_no_views_draws)
{
    pictures *const p = made(), *const q = made();
    apply(TEXT, p);
    apply(
        HEAD
        "views:\n  - {name: other, count: 2, number: 9, stages: [{resize: {size: [12, 12]}}, {grayscale: {p: 0.5}}]}\n"
        "  - {name: local, count: 3, number: 4, stages: " SMALL "}\n",
        q);
    cr_expect_neq(memcmp(p->large, q->large, sizeof p->large), 0);
    cr_expect_arr_eq(p->small, q->small, sizeof p->small);
    free(p), free(q);
}

Test(views, reads_of_a_plain_file_are_instances_of_one_view)
{
    motley_policy *const views = parsed(HEAD "views:\n  - {name: v, count: 2, stages: " LARGE "}\n");
    motley_policy *const plain = parsed(HEAD "stages: " LARGE "\n");
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    pictures *const p = made(), *const q = made();
    const motley_batch src = { .count = COUNT, .channels = 3, .images = p->images };
    motley_error error = { 0 };
    cr_assert_eq(motley_views_apply(context, views, &src, p->results, NULL, &error), MOTLEY_OK, "%s", error.message);
    for (uint32_t view = 0; view < 2; view++) {
        const motley_batch dst = batch_of(q->large[view * COUNT], COUNT, 12);
        const motley_apply_params how = { .samples.view = view };
        cr_assert_eq(motley_apply(context, plain, &src, &dst, &how, &error), MOTLEY_OK);
    }
    cr_expect_arr_eq(p->large, q->large, sizeof p->large);
    motley_policy_destroy(views);
    motley_policy_destroy(plain);
    motley_context_destroy(context);
    free(p), free(q);
}

Test(views, schedules_of_views)
{
    motley_policy *const transform = parsed(
        HEAD "views:\n  - {name: a, stages: [{resize: {size: [12, 12]}}, {blur: {radius: [1, 2], p: {from: [[0, 1], "
             "[5, 0]]}}}]}\n  - {name: b, stages: [{random_resized_crop: {size: {from: [[0, 8], [7, 6]]}}}]}\n");
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    pictures *const p = made(), *const q = made();
    motley_batch src = { .count = COUNT, .channels = 3, .images = p->images };
    for (uint32_t epoch = 0; epoch < 9; epoch += 2) {
        const motley_apply_params how = { .samples = { .seed = 3, .epoch = epoch } };
        motley_policy *plain;
        motley_error error = { 0 };
        cr_assert_eq(motley_policy_at(transform, epoch, &plain, &error), MOTLEY_OK, "%s", error.message);
        const int32_t side = motley_policy_describe(motley_policy_view(plain, 1)->policy)->width;
        cr_expect_eq(side, epoch < 7 ? 8 : 6);
        for (int k = 0; k < 2; k++) {
            pictures *const to = k ? q : p;
            to->results[0].dst = batch_of(to->large, COUNT, 12);
            to->results[1].dst = batch_of(to->small, COUNT, side);
            cr_assert_eq(motley_views_apply(context, k ? plain : transform, &src, to->results, &how, &error), MOTLEY_OK,
                         "%s", error.message);
        }
        cr_expect_arr_eq(p->large, q->large, sizeof p->large);
        cr_expect_arr_eq(p->small, q->small, sizeof p->small);
        motley_policy_destroy(plain);
    }
    motley_policy_destroy(transform);
    motley_context_destroy(context);
    free(p), free(q);
}

Test(views, what_makes_one_result_is_refused)
{
    motley_policy *const transform = parsed(TEXT), *const plain = parsed(HEAD "stages: " LARGE "\n"), *other;
    motley_context *const context = context_of(MOTLEY_BACKEND_CPU, 1);
    pictures *const p = made();
    const motley_batch src = { .count = COUNT, .channels = 3, .images = p->images };
    const motley_apply_params none = { 0 }, late = { .samples.view = 256 }, clips = { .clip_frames = 5 };
    motley_error error = { 0 };
    motley_call *call;
    cr_expect_eq(motley_apply(context, transform, &src, &p->results[0].dst, &none, &error), MOTLEY_ERR_UNSUPPORTED);
    cr_expect(strstr(error.message, "has views, want motley_views_apply"), "%s", error.message);
    cr_expect_eq(motley_call_create(context, &src, &p->results[0].dst, &(motley_call_params){ .policy = transform },
                                    &call, &error),
                 MOTLEY_ERR_UNSUPPORTED);
    cr_expect_eq(motley_policy_pictures(transform, &other, &error), MOTLEY_ERR_UNSUPPORTED);
    cr_expect_eq(motley_policy_follower(transform, NULL, &other, &error), MOTLEY_ERR_UNSUPPORTED);
    cr_expect_eq(motley_draw(transform, &none.samples, 0, NULL, NULL, 3, NULL, NULL, NULL, &error),
                 MOTLEY_ERR_UNSUPPORTED);
    cr_expect_eq(motley_views_apply(context, plain, &src, p->results, &none, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "has no views"), "%s", error.message);
    cr_expect_eq(motley_views_apply(context, transform, &src, p->results, &late, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "view is 256, want a read of 0 to 255"), "%s", error.message);
    cr_expect_eq(motley_views_apply(context, transform, &src, p->results, &clips, &error), MOTLEY_ERR_ARGUMENT);
    for (int missing = 0; missing < 16; missing++) { /* any of four that are NULL */
        const motley_status status =
            motley_views_apply(missing & 1 ? NULL : context, missing & 2 ? NULL : transform, missing & 4 ? NULL : &src,
                               missing & 8 ? NULL : p->results, NULL, &error);
        cr_expect_eq(status, missing ? MOTLEY_ERR_ARGUMENT : MOTLEY_OK, "%d", missing);
        cr_expect(!missing || strstr(error.message, "is NULL"), "%s", error.message);
    }
    p->results[1].dst.count--;
    cr_expect_eq(motley_views_apply(context, transform, &src, p->results, &none, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "view 'local': dst has 14 images, want 3 results of 5");
    motley_policy_destroy(transform);
    motley_policy_destroy(plain);
    motley_context_destroy(context);
    free(p);
}

static motley_status parse_and_print(void)
{
    motley_policy *transform;
    char *print = NULL;
    static const char text[] = HEAD "stages: [{grayscale: {p: 0.5}}]\nviews: [{name: v, stages: " SMALL "}]\n";
    motley_status status = motley_policy_parse(text, strlen(text), NULL, &transform, NULL);
    if (status == MOTLEY_OK && (status = motley_policy_print(transform, MOTLEY_PRINT_TEXT, &print, NULL)) == MOTLEY_OK)
        free(print);
    motley_policy_destroy(transform);
    return status;
}

/* The same text with other functions, in a view or behind which views begin, is another policy. */
Test(views, custom_ops_are_compared)
{
#define MINE "{policy: {branches: [{op: mine}]}}"
    static const char *const stages[] = { "[{random_resized_crop: {size: 8}}, " MINE "]",
                                          "[{random_resized_crop: {size: 8}}]" };
    for (int shared = 0; shared < 2; shared++) {
        char text[400];
        snprintf(text, sizeof text, HEAD "%sviews: [{name: one, stages: %s}, {name: two, stages: %s}]\n",
                 shared ? "stages: [" MINE "]\n" : "", stages[1], stages[shared]);
        motley_policy *made[3];
        int users[2];
        for (int i = 0; i < 3; i++) {
            const motley_custom_op op = { .name = "mine", .run = do_nothing, .user = &users[i / 2] };
            const motley_parse_params with = { .custom_ops = &op, .custom_ops_count = 1 };
            motley_error error;
            cr_assert_eq(motley_policy_parse(text, strlen(text), &with, &made[i], &error), MOTLEY_OK, "%s",
                         error.message);
        }
        cr_expect(motley_policy_equal(made[0], made[1]) && !motley_policy_equal(made[1], made[2]), "%s", text);
        for (int i = 0; i < 3; i++)
            motley_policy_destroy(made[i]);
    }
}

Test(views, failing_allocations)
{
    fail_each(parse_and_print, "views", true);
}
