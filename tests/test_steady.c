/* SPDX-License-Identifier: Apache-2.0 */
/* In steady state a call allocates nothing: the second call of every kind, on a context that has done the first. */
#include "motley.h"
#include "tests/allocations.h"

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 6, SIDE = 24, EACH = SIDE * SIDE * 3, ROOM = 700 };

static motley_context *context;
static uint8_t in[COUNT * EACH], out[2 * COUNT * EACH];
static float floats[COUNT * EACH];
static motley_step steps[COUNT * ROOM];
static int32_t step_counts[COUNT];
static motley_place places[COUNT];
static motley_mixed mixed[COUNT];

static const motley_batch src = { .count = COUNT, .channels = 3, .data = in, .width = SIDE, .height = SIDE };
static const motley_batch dst = { .count = COUNT, .channels = 3, .data = out, .width = SIDE, .height = SIDE };
static const motley_batch values = {
    .count = COUNT, .channels = 3, .dtype = MOTLEY_F32, .data = floats, .width = SIDE, .height = SIDE
};
static const uint64_t ids[COUNT] = { 5, 7, 1, 1000, 8, 3 };

#define STAGES "motley: 1\nname: x\nstages:\n  - random_resized_crop: {size: 24}\n  - flip: {horizontal: 0.5}\n"
static const char *const texts[] = {
    "motley: 1\nname: x\nops:\n  rotate: {range: [-30, 30]}\n  equalize: {}\nbins: 3\nlevel: uniform\nbranches:\n"
    "  - [rotate, equalize]\n",
    STAGES "  - policy: rand_augment\n  - jitter: {brightness: 0.5, hue: 0.1}\n  - output: {}\n  - erase: {p: 1}\n",
    STAGES "  - policy: trivial_augment_wide\n",
    STAGES "  - blur: {p: 1, kernel_size: 5, sigma: [0.5, 1]}\n  - output: {}\n  - mix: {mixup: 0.2, cutmix: 1}\n",
    "motley: 1\nname: x\nops:\n  twice: {}\n  rotate: {range: [-30, 30]}\nbins: 3\nlevel: uniform\nbranches:\n"
    "  - [rotate, twice, rotate]\n",
    "motley: 1\nname: x\nviews:\n  - {name: a, count: 2, stages: [{random_resized_crop: {size: 24}}]}\n",
    STAGES "  - jitter: {brightness: {from: [[0, 0.1], [5, 0.5]]}}\n",
    "motley: 1\nname: x\naugmix: {width: 3, alpha: 1}\nops:\n  rotate: {range: [-30, 30]}\nbins: 3\nlevel: uniform\n"
    "branches:\n  - rotate\n",
    "motley: 1\nname: x\nops: {e: {op: equalize, inside: boxes}}\n"
    "branches: [[{op: rotate, value: 9}, e, {op: bbox_cutout, value: 0.5}, e]]\n",
    STAGES "  - policy: {top: 5, ops: {e: {op: equalize, inside: boxes}}, branches: [[{op: rotate, value: 9}, e]]}\n"
           "  - policy: {ops: {twice: {}}, branches: [[twice, invert]]}\n  - policy: augmix\n  - output: {}\n"
           "  - erase: {p: 1}\n",
};
enum { PLAIN, FULL, PICTURES, MIXES, CUSTOM, VIEWS, SCHEDULED, CHAINS, BOXES, STOPS, POLICIES };
static motley_policy *policies[POLICIES];
static motley_call *prepared[4];

static motley_status twice(void *user, const motley_custom_batch *batch, motley_error *error)
{
    (void)user;
    return motley_op_apply(batch->context, motley_op_find("invert"), NULL, 0, &batch->images, &batch->images, NULL,
                           error);
}

static motley_apply_params new_draws(void)
{
    return (motley_apply_params){ .samples = { .seed = 4, .ids = ids } };
}

/* --- what is called --- */

static motley_status in_place(motley_error *error)
{
    const motley_apply_params params = new_draws();
    return motley_apply(context, policies[PLAIN], &dst, &dst, &params, error);
}

static motley_status to_dst(motley_error *error)
{
    motley_apply_params params = new_draws();
    params.steps = steps;
    params.step_counts = step_counts;
    params.drawn = places;
    return motley_apply(context, policies[PLAIN], &src, &dst, &params, error);
}

static motley_status to_output(motley_error *error)
{
    motley_apply_params params = new_draws();
    params.output = (motley_output){ .batch = values, .std = { 1, 1, 1 } };
    return motley_apply(context, policies[PLAIN], &src, NULL, &params, error);
}

static motley_status to_floats(motley_error *error)
{
    const motley_apply_params params = new_draws();
    return motley_apply(context, policies[PLAIN], &src, &values, &params, error);
}

static motley_status chains(motley_error *error)
{
    const motley_apply_params params = new_draws();
    return motley_apply(context, policies[CHAINS], &src, &dst, &params, error);
}

static motley_status by_name(motley_error *error)
{
    const motley_apply_params params = new_draws();
    return motley_rand_augment(context, 2, 9, &src, &dst, &params, error);
}

/* Replays what `policy` draws, each image's last step in a part of it if `inside`. */
static motley_status replay(const motley_policy *policy, const motley_batch *to, int inside, motley_error *error)
{
    static const int32_t sides[COUNT] = { SIDE, SIDE, SIDE, SIDE, SIDE, SIDE };
    const motley_samples samples = new_draws().samples;
    cr_assert_eq(motley_draw(policy, &samples, COUNT, sides, sides, 3, places, steps, step_counts, NULL), MOTLEY_OK);
    for (int i = 0; inside && i < COUNT; i++)
        memcpy(steps[(size_t)i * motley_policy_describe(policy)->max_steps].inside, (int32_t[4]){ 1, 2, 20, 9 },
               sizeof steps->inside);
    const motley_apply_params params = { .given_steps = steps, .given_step_counts = step_counts, .given = places };
    return motley_apply(context, policy, &src, to, &params, error);
}

static motley_status replays(motley_error *error)
{
    return replay(policies[PLAIN], &dst, 0, error);
}

static motley_status replays_inside(motley_error *error)
{
    return replay(policies[PLAIN], &dst, 1, error);
}

static motley_status replays_stages(motley_error *error)
{
    return replay(policies[FULL], &values, 0, error);
}

static motley_status clips(motley_error *error)
{
    motley_apply_params params = { .samples = { .seed = 4, .ids = (const uint64_t[]){ 5, 5, 5, 9, 9, 9 } } };
    params.clip_frames = 3;
    return motley_apply(context, policies[PLAIN], &src, &dst, &params, error);
}

static motley_status clips_of_stages(motley_error *error)
{
    motley_apply_params params = { .samples = { .seed = 4, .ids = (const uint64_t[]){ 5, 5, 5, 9, 9, 9 } } };
    params.clip_frames = 3;
    return motley_apply(context, policies[FULL], &src, &values, &params, error);
}

static motley_status stages(motley_error *error)
{
    motley_apply_params params = new_draws();
    params.drawn = places;
    params.steps = steps;
    params.step_counts = step_counts;
    return motley_apply(context, policies[FULL], &src, &values, &params, error);
}

static motley_status pictures(motley_error *error)
{
    const motley_apply_params params = new_draws();
    return motley_apply(context, policies[PICTURES], &src, &dst, &params, error);
}

static motley_status scheduled(motley_error *error)
{
    const motley_apply_params params = new_draws();
    return motley_apply(context, policies[SCHEDULED], &src, &dst, &params, error);
}

static motley_status mixes(motley_error *error)
{
    motley_apply_params params = new_draws();
    params.mixed = mixed;
    return motley_apply(context, policies[MIXES], &src, &values, &params, error);
}

static motley_status targets(motley_error *error)
{
    static const int64_t labels[COUNT] = { 0, 1, 2, 3, 4, 0 };
    static float shares[COUNT * 5];
    return motley_mix_targets(context, mixed, COUNT, 5, labels, NULL, 0.1, shares, NULL, error);
}

static motley_status custom(motley_error *error)
{
    const motley_apply_params params = new_draws();
    return motley_apply(context, policies[CUSTOM], &src, &dst, &params, error);
}

/* Samples with two boxes each. */
static motley_apply_params in_boxes(void)
{
    static double boxes[2 * COUNT][4];
    static size_t offsets[COUNT + 1];
    motley_apply_params params = new_draws();
    for (size_t i = 0; i < COUNT; i++) {
        memcpy(boxes[2 * i], (double[]){ 2, 3, 9, 20 }, sizeof boxes[0]);
        memcpy(boxes[2 * i + 1], (double[]){ 5, 1.5, 22, 12 }, sizeof boxes[0]);
        offsets[i + 1] = 2 * (i + 1);
    }
    params.samples.boxes = &boxes[0][0];
    params.samples.box_offsets = offsets;
    return params;
}

static motley_status boxes(motley_error *error)
{
    const motley_apply_params params = in_boxes();
    return motley_apply(context, policies[BOXES], &src, &dst, &params, error);
}

/* Boxes, custom ops and late chains in stages. */
static motley_status stopping_stages(motley_error *error)
{
    motley_apply_params params = in_boxes();
    params.drawn = places;
    params.steps = steps;
    params.step_counts = step_counts;
    return motley_apply(context, policies[STOPS], &src, &values, &params, error);
}

/* Boxes, points, matrices and masks that follow. */
static motley_status follow(const motley_policy *policy, const motley_batch *to, motley_error *error)
{
    static size_t offsets[COUNT + 1];
    static double boxes[COUNT][4], points[COUNT][2], matrices[COUNT][6], visibility[COUNT];
    static uint8_t keep[COUNT], flags[COUNT], masks[2][COUNT * SIDE * SIDE];
    const motley_planes planes = { .src = masks[0], .dst = masks[1], .count = 1, .element_size = 1 };
    for (size_t i = 0; i < COUNT; i++) {
        offsets[i + 1] = i + 1;
        memcpy(boxes[i], (double[]){ 2, 3, 9, 20 }, sizeof boxes[i]);
        memcpy(points[i], (double[]){ 4, 5 }, sizeof points[i]);
    }
    motley_followed followed = { .boxes_count = COUNT,
                                 .boxes = boxes,
                                 .box_offsets = offsets,
                                 .visibility = visibility,
                                 .keep = keep,
                                 .points_count = COUNT,
                                 .points = points,
                                 .point_offsets = offsets,
                                 .flags = flags,
                                 .matrices = &matrices[0][0],
                                 .planes = &planes,
                                 .planes_count = 1 };
    motley_apply_params params = new_draws();
    params.followed = &followed;
    return motley_apply(context, policy, &src, to, &params, error);
}

static motley_status followed(motley_error *error)
{
    return follow(policies[PLAIN], &dst, error);
}

static motley_status followed_stages(motley_error *error)
{
    return follow(policies[FULL], &values, error);
}

static motley_status op(motley_error *error)
{
    const double degrees[COUNT] = { 1, 2, 3, 4, 5, 6 };
    return motley_op_apply(context, motley_op_find("rotate"), degrees, 1, &src, &dst, NULL, error);
}

static motley_status resizes(motley_error *error)
{
    const motley_batch small = { .count = COUNT, .channels = 3, .data = out, .width = 13, .height = 9 };
    return motley_resize(context, &src, &small, NULL, error);
}

/* Images of src and dst in turns in one buffer. */
static motley_status interleaved(motley_error *error)
{
    static motley_image from[COUNT], to[COUNT];
    for (int i = 0; i < COUNT; i++) {
        from[i] = (motley_image){ out + 2 * i * EACH, SIDE, SIDE, 3 * SIDE, 3, 1 };
        to[i] = (motley_image){ out + (2 * i + 1) * EACH, SIDE, SIDE, 3 * SIDE, 3, 1 };
    }
    const motley_batch a = { .count = COUNT, .channels = 3, .images = from };
    const motley_batch b = { .count = COUNT, .channels = 3, .images = to };
    const motley_apply_params params = new_draws();
    return motley_apply(context, policies[PICTURES], &a, &b, &params, error);
}

static motley_status views(motley_error *error)
{
    motley_batch twofold = dst;
    twofold.count = 2 * COUNT;
    const motley_apply_params params = new_draws();
    return motley_views_apply(context, policies[VIEWS], &src, &(motley_view_results){ .dst = twofold }, &params, error);
}

static motley_status calls(motley_error *error)
{
    const motley_apply_params params = new_draws();
    const double one = 1;
    cr_assert_eq(motley_call_run(prepared[0], in, out, NULL, &params, error), MOTLEY_OK);
    cr_assert_eq(motley_call_run(prepared[1], in, floats, NULL, &params, error), MOTLEY_OK);
    cr_assert_eq(motley_call_run(prepared[2], in, floats, NULL, &params, error), MOTLEY_OK);
    const motley_apply_params with = { .values = (double[COUNT]){ one, 2, 3, 4, 5, 6 }, .values_per_image = 1 };
    return motley_call_run(prepared[3], in, out, NULL, &with, error);
}

static const struct {
    const char *name;
    motley_status (*call)(motley_error *error);
} kinds[] = { { "in place", in_place },
              { "to dst", to_dst },
              { "to an output", to_output },
              { "to floats", to_floats },
              { "chains", chains },
              { "by name", by_name },
              { "given steps", replays },
              { "given steps in parts", replays_inside },
              { "given stages", replays_stages },
              { "clips", clips },
              { "clips of stages", clips_of_stages },
              { "stages", stages },
              { "pictures", pictures },
              { "schedules", scheduled },
              { "mix", mixes },
              { "targets", targets },
              { "custom ops", custom },
              { "boxes", boxes },
              { "stages with stops", stopping_stages },
              { "followed", followed },
              { "followed stages", followed_stages },
              { "an op", op },
              { "resize", resizes },
              { "lists in turns", interleaved },
              { "views", views },
              { "prepared calls", calls } };

static void prepare(void)
{
    const motley_custom_op own = { .name = "twice", .run = twice };
    const motley_parse_params parse = { .custom_ops = &own, .custom_ops_count = 1 };
    motley_error error = { .message = "" };
    for (int p = 0; p < POLICIES; p++)
        cr_assert_eq(motley_policy_parse(texts[p], strlen(texts[p]), &parse, &policies[p], &error), MOTLEY_OK,
                     "%d: %d:%d: %s", p, error.line, error.column, error.message);
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)(i * 31 + i / 7);
    const motley_call_params what[] = { { .policy = policies[PLAIN] },
                                        { .policy = policies[PLAIN] },
                                        { .policy = policies[FULL] },
                                        { .op = motley_op_get(motley_op_find("rotate")) } };
    const motley_batch *const to[] = { &dst, &values, &values, &dst };
    for (int k = 0; k < 4; k++)
        cr_assert_eq(motley_call_create(context, &src, to[k], &what[k], &prepared[k], &error), MOTLEY_OK, "%s",
                     error.message);
}

static void second_calls(motley_backend backend)
{
    const motley_context_params one = { .backend = backend, .threads = 1 }; /* whose allocations are counted */
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        motley_error error = { .message = "" };
        cr_assert_eq(motley_context_create(&one, &context, NULL), MOTLEY_OK);
        prepare();
        begin_allocations(-1);
        cr_assert_eq(kinds[k].call(&error), MOTLEY_OK, "%s: %s", kinds[k].name, error.message);
        end_allocations();
        cr_expect_gt(allocations.live, 0, "%s: the first call keeps nothing: are allocations counted?", kinds[k].name);
        begin_allocations(0);
        const motley_status status = kinds[k].call(&error);
        end_allocations();
        cr_expect(status == MOTLEY_OK && allocations.failed == 0, "%s: the second call allocates", kinds[k].name);
        for (int c = 0; c < 4; c++)
            motley_call_destroy(prepared[c]);
        for (int p = 0; p < POLICIES; p++)
            motley_policy_destroy(policies[p]);
        motley_context_destroy(context);
    }
}

Test(steady, second_calls_allocate_nothing_on_the_cpu)
{
    second_calls(MOTLEY_BACKEND_CPU);
}

Test(steady, second_calls_allocate_nothing_on_the_reference)
{
    second_calls(MOTLEY_BACKEND_REFERENCE);
}
