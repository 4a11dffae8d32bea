/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp and CutMix: how lambda, partners and boxes are spread, who draws for whom, and what is refused. The values are
 * compared with torchvision's and timm's in bindings/python/tests/test_transform_mix.py. */
#include "motley.h"
#include "policies/mix.h"
#include "tests/chi_square.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 65536

static motley_mix *created(motley_mix_params params)
{
    motley_mix *mix;
    motley_error error = { 0 };
    cr_assert_eq(motley_mix_create(&params, &mix, &error), MOTLEY_OK, "%s", error.message);
    return mix;
}

static void drawn_of(const motley_mix *mix, const motley_samples *samples, size_t count, motley_mixed *drawn)
{
    motley_error error = { 0 };
    cr_assert_eq(motley_mix_draw(mix, samples, count, 40, 30, drawn, &error), MOTLEY_OK, "%s", error.message);
}

/* The share of Beta(a, a) below x for those a that have one in closed form. */
static double below(double a, double x)
{
    if (a == 0.5)
        return 2 / 3.14159265358979323846 * asin(sqrt(x));
    return a == 1 ? x : a == 2 ? x * x * (3 - 2 * x) : x * x * x * (10 - 15 * x + 6 * x * x); /* a == 3 */
}

Test(mix, lambda_is_of_beta)
{
    static const double shapes[] = { 0.5, 1, 2, 3 };
    static motley_mixed drawn[SAMPLES];
    for (int k = 0; k < 4; k++) {
        const double a = shapes[k];
        motley_mix *mix = created((motley_mix_params){ .mixup = a, .mode = MOTLEY_MIX_ELEM });
        drawn_of(mix, &(motley_samples){ .seed = 11 }, SAMPLES, drawn);
        uint32_t observed[20] = { 0 };
        double chance[20];
        for (int i = 0; i < 20; i++)
            chance[i] = below(a, (i + 1) / 20.0) - below(a, i / 20.0);
        for (int i = 0; i < SAMPLES; i++) {
            cr_assert_eq(drawn[i].lambda, ldexp(rint(ldexp(drawn[i].lambda, 24)), -24));
            cr_assert_eq(drawn[i].share, drawn[i].lambda);
            observed[(int)fmin(19, drawn[i].lambda * 20)]++;
        }
        const double z = chi_square_z(chance, observed, 20, SAMPLES);
        cr_expect(fabs(z) < MAX_Z, "a = %g: z is %.2f, want within %g", a, z, MAX_Z);
        for (int c = 0; c < MOT_LAMBDA_CELLS; c++) { /* each cell's middle, to the table's grid */
            const double p = (c + 0.5) / MOT_LAMBDA_CELLS, step = ldexp(1, -24);
            cr_assert(below(a, fmax(0, mix->mixup[c] - step)) <= p + 1e-9 &&
                          p <= below(a, fmin(1, mix->mixup[c] + step)) + 1e-9,
                      "a = %g, cell %d: %.9g", a, c, mix->mixup[c]);
        }
        motley_mix_destroy(mix);
    }
    motley_mix *narrow = created((motley_mix_params){ .mixup = 0.1 }),
               *wide = created((motley_mix_params){ .mixup = 1000 });
    cr_expect(narrow->mixup[0] < 1e-6 && narrow->mixup[MOT_LAMBDA_CELLS - 1] > 1 - 1e-6 && wide->mixup[0] > 0.4);
    motley_mix_destroy(narrow);
    motley_mix_destroy(wide);
}

Test(mix, coins_partners_and_places_are_spread)
{
    static motley_mixed drawn[SAMPLES];
    motley_mix *mix = created((motley_mix_params){
        .mixup = 1, .cutmix = 1, .p = 0.75, .switch_p = 0.25, .mode = MOTLEY_MIX_ELEM, .drawn_partner = 1 });
    drawn_of(mix, &(motley_samples){ .seed = 3 }, SAMPLES, drawn);
    uint32_t kinds[3] = { 0 }, near[16] = { 0 }, rows[30] = { 0 }, columns[40] = { 0 };
    for (int i = 0; i < SAMPLES; i++) {
        const motley_mixed *m = &drawn[i];
        kinds[m->kind]++;
        cr_assert(m->partner != i && m->partner >= 0 && m->partner < SAMPLES);
        near[m->partner * 16 / SAMPLES]++;
        if (m->kind == MOTLEY_MIX_CUTMIX) {
            cr_assert(m->box.left >= 0 && m->box.top >= 0 && m->box.left + m->box.width <= 40 &&
                      m->box.top + m->box.height <= 30);
            cr_assert_eq(m->share, (float)(1 - m->box.width * m->box.height / 1200.0));
        }
        const mot_drawn_sample one = { .seed = 3, .id = (uint64_t)i };
        const motley_erased_box point =
            mot_mix_draw_box(&mix->params, 1 - 1e-9, mot_words_of(&one, MOT_STAGE_BLOCK(MOT_STAGE_MIX, 0) + 1), 40, 30);
        cr_assert(point.width == 0 && point.height == 0); /* so that its corner is the centre that was drawn */
        rows[point.top]++;
        columns[point.left]++;
    }
    const double chances[3] = { 0.25, 0.75 * 0.75, 0.75 * 0.25 };
    cr_expect(fabs(chi_square_z(chances, kinds, 3, SAMPLES)) < MAX_Z, "%u %u %u", kinds[0], kinds[1], kinds[2]);
    EXPECT_UNIFORM(near, 16);
    EXPECT_UNIFORM(columns, 40);
    EXPECT_UNIFORM(rows, 30);
    motley_mix_destroy(mix);
}

Test(mix, who_draws_for_whom)
{
    enum { COUNT = 8 };
    motley_mixed whole[COUNT], part[COUNT], other[COUNT];
    static const uint64_t ids[COUNT] = { 9, 4, 700, 1, 3, 5, 2, 8 };
    const motley_samples samples = { .seed = 1, .ids = ids };
    motley_mix *mix = created((motley_mix_params){ .mixup = 0.8, .cutmix = 1, .mode = MOTLEY_MIX_ELEM });
    drawn_of(mix, &samples, COUNT, whole);
    drawn_of(mix, &(motley_samples){ .seed = 1, .first = 700 }, 1, part);
    cr_expect(part[0].lambda == whole[2].lambda && part[0].kind == whole[2].kind);
    for (int i = 0; i < COUNT; i++)
        cr_expect_eq(whole[i].partner, (i + COUNT - 1) % COUNT);
    motley_mix_destroy(mix);
    mix = created((motley_mix_params){ .mixup = 0.8, .cutmix = 1, .mode = MOTLEY_MIX_PAIR, .rules = MOTLEY_MIX_TIMM });
    drawn_of(mix, &samples, COUNT, whole);
    int kinds = 0;
    for (int i = 0; i < COUNT; i++) {
        cr_expect_eq(whole[i].partner, COUNT - 1 - i);
        cr_expect(whole[i].lambda == whole[COUNT - 1 - i].lambda &&
                  memcmp(&whole[i].box, &whole[COUNT - 1 - i].box, sizeof whole[i].box) == 0);
        kinds |= 1 << whole[i].kind;
    }
    cr_expect_eq(kinds, 6, "both kinds are among four pairs");
    motley_mix_destroy(mix);
    mix = created((motley_mix_params){ .mixup = 0.8, .rules = MOTLEY_MIX_TIMM });
    drawn_of(mix, &samples, COUNT, whole);
    drawn_of(mix, &(motley_samples){ .seed = 1, .ids = ids, .epoch = 1 }, COUNT, part);
    drawn_of(mix, &(motley_samples){ .seed = 1, .ids = ids, .view = 1 }, COUNT, other);
    for (int i = 1; i < COUNT; i++)
        cr_expect_eq(whole[i].lambda, whole[0].lambda, "one lambda of a batch");
    cr_expect(whole[0].lambda != part[0].lambda && whole[0].lambda != other[0].lambda &&
              part[0].lambda != other[0].lambda);
    motley_mix_destroy(mix);
}

Test(mix, share_is_of_millionths)
{
    static motley_mixed drawn[SAMPLES];
    motley_mix *mix = created((motley_mix_params){ .share = { 0.45, 0.55 }, .p = 0.5, .mode = MOTLEY_MIX_ELEM });
    drawn_of(mix, &(motley_samples){ .seed = 5 }, SAMPLES, drawn);
    uint32_t mixed = 0, observed[16] = { 0 };
    for (int i = 0; i < SAMPLES; i++) {
        if (drawn[i].kind == MOTLEY_MIX_NONE)
            continue;
        char decimal[16];
        snprintf(decimal, sizeof decimal, "%.6f", drawn[i].lambda);
        cr_assert_eq(drawn[i].lambda, strtod(decimal, NULL), "%.17g is no number of six digits", drawn[i].lambda);
        cr_assert(drawn[i].lambda >= 0.45 && drawn[i].lambda <= 0.55 && drawn[i].share == drawn[i].lambda);
        cr_assert_eq(drawn[i].kind, MOTLEY_MIX_MIXUP);
        observed[(int)fmin(15, (drawn[i].lambda - 0.45) * 160)]++;
        mixed++;
    }
    double chance[16];
    for (int k = 0; k < 16; k++)
        chance[k] = 1.0 / 16;
    cr_expect(fabs(chi_square_z(chance, observed, 16, (int)mixed)) < MAX_Z);
    cr_expect(abs((int)mixed - SAMPLES / 2) < 1000, "%u of %d", mixed, SAMPLES);
    motley_mix_destroy(mix);
    mix = created((motley_mix_params){ .share = { 0.3, 0.3 }, .cutmix = 1, .mode = MOTLEY_MIX_ELEM });
    drawn_of(mix, &(motley_samples){ .seed = 5 }, SAMPLES, drawn);
    uint32_t kinds[3] = { 0 };
    for (int i = 0; i < SAMPLES; i++) {
        kinds[drawn[i].kind]++;
        cr_assert(drawn[i].kind == MOTLEY_MIX_CUTMIX || drawn[i].lambda == 0.3);
    }
    cr_expect(abs((int)kinds[MOTLEY_MIX_CUTMIX] - SAMPLES / 2) < 1000, "%u", kinds[MOTLEY_MIX_CUTMIX]);
    motley_mix_destroy(mix);
}

Test(mix, objects_are_joined_with_their_shares)
{
    enum { COUNT = 4, ROOM = 12 };
    static const size_t offsets[COUNT + 1] = { 0, 2, 2, 5, 6 }; /* 2, 0, 3 and 1 objects */
    motley_mixed drawn[COUNT] = { { .kind = MOTLEY_MIX_MIXUP, .partner = 3, .lambda = 0.476251, .share = 0.476251 },
                                  { .kind = MOTLEY_MIX_MIXUP, .partner = 0, .lambda = 0.476251, .share = 0.476251 },
                                  { .kind = MOTLEY_MIX_NONE, .partner = 1, .lambda = 1, .share = 1 },
                                  { .kind = MOTLEY_MIX_MIXUP, .partner = 2, .lambda = 0.476251, .share = 0.476251 } };
    const float own = (float)0.476251, other = (float)(1 - 0.476251);
    const motley_mixed_object wanted[] = { { 0, 0, own },   { 0, 1, own },   { 3, 0, other }, { 0, 0, other },
                                           { 0, 1, other }, { 2, 0, 1 },     { 2, 1, 1 },     { 2, 2, 1 },
                                           { 3, 0, own },   { 2, 0, other }, { 2, 1, other }, { 2, 2, other } };
    static const size_t wanted_offsets[COUNT + 1] = { 0, 3, 5, 8, 12 };
    motley_mixed_object objects[ROOM + 1], guard = { -7, -7, -7 };
    size_t ends[COUNT + 1];
    motley_error error = { 0 };
    for (size_t room = ROOM + 1; room-- > 0;) {
        for (int k = 0; k <= ROOM; k++)
            objects[k] = guard;
        const motley_status status = motley_mix_objects(drawn, COUNT, offsets, objects, room, ends, &error);
        cr_expect_eq(status, room == ROOM ? MOTLEY_OK : MOTLEY_ERR_ARGUMENT);
        cr_expect_arr_eq(ends, wanted_offsets, sizeof ends);
        cr_expect_arr_eq(objects, wanted, room * sizeof *objects);
        cr_expect_arr_eq(&objects[room], &guard, sizeof guard, "something was written behind the room");
    }
    cr_expect_str_eq(error.message, "there is room for 0 objects, the mixed images have 12");
    cr_expect_eq(motley_mix_objects(drawn, COUNT, offsets, NULL, 0, ends, NULL), MOTLEY_ERR_ARGUMENT);
    cr_expect_eq(ends[COUNT], 12);
    cr_expect_eq(motley_mix_objects(NULL, 0, offsets, NULL, 0, ends, NULL), MOTLEY_OK);
    drawn[1].kind = MOTLEY_MIX_CUTMIX;
    cr_expect_eq(motley_mix_objects(drawn, COUNT, offsets, objects, ROOM, ends, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "image 1 is mixed by CutMix, want MixUp or nothing"), "%s", error.message);
    drawn[1].kind = MOTLEY_MIX_NONE;
    drawn[1].partner = COUNT;
    cr_expect_eq(motley_mix_objects(drawn, COUNT, offsets, objects, ROOM, ends, &error), MOTLEY_ERR_ARGUMENT);
    static const size_t falling[COUNT + 1] = { 0, 2, 1, 5, 6 };
    cr_expect_eq(motley_mix_objects(drawn, COUNT, falling, objects, ROOM, ends, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "offsets goes from 2 to 1 at image 1, want it to rise"), "%s", error.message);
}

Test(mix, minmax_gives_the_sides)
{
    static motley_mixed drawn[SAMPLES];
    motley_mix *mix =
        created((motley_mix_params){ .minmax = { 0.2, 0.8 }, .mode = MOTLEY_MIX_ELEM, .rules = MOTLEY_MIX_TIMM });
    drawn_of(mix, &(motley_samples){ .seed = 3 }, SAMPLES, drawn);
    uint32_t heights[18] = { 0 }, widths[24] = { 0 };
    int mixed = 0;
    for (int i = 0; i < SAMPLES; i++)
        if (drawn[i].kind == MOTLEY_MIX_CUTMIX) {
            heights[drawn[i].box.height - 6]++;
            widths[drawn[i].box.width - 8]++;
            mixed++;
        }
    EXPECT_UNIFORM(heights, 18);
    EXPECT_UNIFORM(widths, 24);
    motley_error error = { 0 };
    motley_mixed one;
    cr_expect_eq(motley_mix_draw(mix, &(motley_samples){ 0 }, 1, 1, 1, &one, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "leaves no length to draw for a side of 1"), "%s", error.message);
    motley_mix_destroy(mix);
}

#define EXPECT_REFUSED(words, ...) \
    do { \
        motley_mix *made = (motley_mix *)&error; \
        cr_expect_eq(motley_mix_create(&(motley_mix_params){ __VA_ARGS__ }, &made, &error), MOTLEY_ERR_ARGUMENT); \
        cr_expect(!made && strstr(error.message, words), "%s", error.message); \
    } while (0)

Test(mix, parameters_that_are_refused)
{
    motley_error error = { 0 };
    EXPECT_REFUSED("neither mixup nor cutmix", .p = 1);
    EXPECT_REFUSED("mixup is -1", .mixup = -1);
    EXPECT_REFUSED("mixup is nan", .mixup = NAN);
    EXPECT_REFUSED("both mixup and share are set", .mixup = 1, .share = { 0.4, 0.6 });
    EXPECT_REFUSED("share is 0.6 to 0.4", .share = { 0.6, 0.4 });
    EXPECT_REFUSED("share is 0.6 to 1.5", .share = { 0.6, 1.5 });
    EXPECT_REFUSED("p is 2", .mixup = 1, .p = 2);
    EXPECT_REFUSED("mode is 7", .mixup = 1, .mode = (motley_mix_mode)7);
    EXPECT_REFUSED("mode is pair, want timm's rules", .mixup = 1, .mode = MOTLEY_MIX_PAIR);
    EXPECT_REFUSED("drawn_partner is set, want mode elem", .mixup = 1, .drawn_partner = 1);
    EXPECT_REFUSED("minmax is 0.8 to 0.2", .cutmix = 1, .minmax = { 0.8, 0.2 });
    cr_expect_eq(motley_mix_describe(NULL).mixup, 0);
}

Test(mix, a_policy_may_only_mix)
{
    enum { COUNT = 2, EACH = 6 * 5 * 3 };
    static const char text[] =
        "motley: 1\nname: m\nstages:\n  - mix: {mixup: 1, cutmix: 1, mode: elem, minmax: [0.2, 0.8]}\n";
    motley_context *context;
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &policy, &error), MOTLEY_OK, "%s", error.message);
    cr_assert_eq(
        motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = 1 }, &context, NULL),
        MOTLEY_OK);
    uint8_t bytes[COUNT * EACH], made[COUNT * EACH], wanted[COUNT * EACH];
    for (int i = 0; i < COUNT * EACH; i++)
        bytes[i] = (uint8_t)(i * 37);
    const motley_batch src = { .count = COUNT, .channels = 3, .data = bytes, .width = 6, .height = 5 };
    motley_batch dst = src, mixed = src;
    dst.data = made;
    mixed.data = wanted;
    for (uint64_t first = 0; first < 40; first++) {
        motley_mixed drawn[COUNT], known[COUNT];
        const motley_apply_params params = { .samples = { .seed = 3, .first = first }, .mixed = drawn };
        cr_assert_eq(motley_apply(context, policy, &src, &dst, &params, &error), MOTLEY_OK, "%s", error.message);
        const motley_mix *const mix = motley_policy_describe(policy)->mix;
        cr_assert_eq(motley_mix_draw(mix, &params.samples, COUNT, 6, 5, known, &error), MOTLEY_OK, "%s", error.message);
        cr_expect_arr_eq(drawn, known, sizeof known);
        cr_assert_eq(motley_mix_apply(context, &src, &mixed, known, NULL, &error), MOTLEY_OK, "%s", error.message);
        cr_expect_arr_eq(made, wanted, sizeof wanted);
    }
    motley_image images[COUNT] = { { bytes, 6, 5, 18, 3, 1 }, { bytes + EACH, 5, 5, 18, 3, 1 } };
    motley_image results[COUNT] = { { made, 6, 5, 18, 3, 1 }, { made + EACH, 5, 5, 18, 3, 1 } };
    const motley_batch of_two = { .count = COUNT, .channels = 3, .images = images };
    const motley_batch to_two = { .count = COUNT, .channels = 3, .images = results };
    motley_mixed drawn[COUNT];
    const motley_apply_params params = { .mixed = drawn };
    cr_expect_eq(motley_apply(context, policy, &of_two, &to_two, &params, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "image 1 is 5x5, image 0 6x5: want one size"), "%s", error.message);
    cr_expect_arr_eq(made, wanted, sizeof wanted, "something was written");
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

Test(mix, calls_that_are_refused_write_nothing)
{
    enum { COUNT = 3, EACH = 3 * 4 * 5 };
    motley_context *context;
    motley_error error = { 0 };
    float values[COUNT * EACH], targets[2 * COUNT * 10];
    cr_assert_eq(
        motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = 1 }, &context, NULL),
        MOTLEY_OK);
    for (int i = 0; i < COUNT * EACH; i++)
        values[i] = (float)i;
    motley_batch batch = { .count = COUNT,
                           .channels = 3,
                           .dtype = MOTLEY_F32,
                           .layout = MOTLEY_CHW,
                           .data = values,
                           .width = 5,
                           .height = 4 };
    motley_mixed drawn[COUNT] = { { MOTLEY_MIX_MIXUP, 2, 0.5, 0.5, { 0 } },
                                  { MOTLEY_MIX_CUTMIX, 0, 0.5, 0.5, { 1, 1, 2, 2 } },
                                  { MOTLEY_MIX_NONE, 1, 1, 1, { 0 } } };
    drawn[1].box.width = 5;
    cr_expect_eq(motley_mix_apply(context, &batch, &batch, drawn, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "image 1: its box of 5x2 at (1, 1) leaves the image"), "%s", error.message);
    drawn[1].box.width = 2;
    drawn[0].partner = 3;
    cr_expect_eq(motley_mix_apply(context, &batch, &batch, drawn, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "its partner is image 3, there are 3"), "%s", error.message);
    drawn[0].partner = 2;
    drawn[0].lambda = NAN;
    cr_expect_eq(motley_mix_apply(context, &batch, &batch, drawn, NULL, &error), MOTLEY_ERR_ARGUMENT);
    drawn[0].lambda = 0.5;
    motley_batch overlapping = batch;
    overlapping.data = values + 1;
    overlapping.count = 2;
    cr_expect_eq(motley_mix_apply(context, &batch, &overlapping, drawn, NULL, &error), MOTLEY_ERR_ARGUMENT);
    for (int i = 0; i < COUNT * EACH; i++)
        cr_assert_eq(values[i], i, "something was written");
    cr_assert_eq(motley_mix_apply(context, &batch, &batch, drawn, NULL, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_eq(values[0], 60);
    cr_expect_eq(values[EACH], EACH);
    cr_expect_eq(values[EACH + 6], 6);
    float apart[COUNT * EACH] = { 0 };
    motley_batch copy = batch;
    copy.data = apart;
    cr_assert_eq(motley_mix_apply(context, &batch, &copy, drawn, NULL, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_arr_eq(apart + 2 * EACH, values + 2 * EACH, EACH * sizeof *values,
                     "an image that is not mixed is copied");
    static const int64_t labels[COUNT] = { 1, 2, 10 };
    cr_expect_eq(motley_mix_targets(NULL, drawn, COUNT, 10, labels, NULL, 0, targets, NULL, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "image 2 has label 10, want 0 to 9, as there are 10 classes"), "%s", error.message);
    cr_expect_eq(motley_mix_targets(NULL, drawn, COUNT, 10, NULL, NULL, 0, targets, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "neither labels nor soft targets are given"), "%s", error.message);
    cr_expect_eq(motley_mix_targets(NULL, drawn, COUNT, 10, labels, NULL, 1.5, targets, NULL, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect_eq(motley_mix_targets(NULL, drawn, COUNT, 11, labels, NULL, 0, targets, targets, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "stream is set, but the host has none");
    float *const odd = (float *)(void *)((char *)targets + 2);
    cr_expect_eq(motley_mix_targets(NULL, drawn, COUNT, 10, NULL, values, 0, odd, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "targets is not aligned to 4 bytes"), "%s", error.message);
    cr_expect_eq(motley_mix_targets(NULL, drawn, COUNT, 10, NULL, targets, 0, targets + 5, NULL, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "targets shares memory with soft, want the same array or another"), "%s",
              error.message);
    static const size_t too_many[] = { SIZE_MAX, SIZE_MAX / 4, SIZE_MAX / 8 + 2, SIZE_MAX / sizeof *drawn + 1 };
    static const int32_t classes[] = { 1, 2, 10, INT32_MAX };
    for (int k = 0; k < 16; k++) { /* more bytes than memory can hold, so that nothing may be read */
        cr_expect_eq(
            motley_mix_targets(NULL, drawn, too_many[k / 4], classes[k % 4], labels, NULL, 0, targets, NULL, &error),
            MOTLEY_ERR_ARGUMENT);
        cr_expect(strstr(error.message, "want as many as memory can hold"), "%s", error.message);
    }
    motley_mix *mix = created((motley_mix_params){ .mixup = 1, .mode = MOTLEY_MIX_PAIR, .rules = MOTLEY_MIX_TIMM });
    cr_expect_eq(motley_mix_draw(mix, &(motley_samples){ 0 }, 3, 5, 4, drawn, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "there are 3 images, want an even number"), "%s", error.message);
    motley_mix_destroy(mix);
    motley_context_destroy(context);
}
