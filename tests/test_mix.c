/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp and CutMix: how lambda, partners and boxes are spread, who draws for whom, and what is refused. The values are
 * compared with torchvision's and timm's in bindings/python/tests/test_transform_mix.py. */
#include "motley.h"
#include "policies/compile.h"
#include "policies/mix.h"
#include "tests/chi_square.h"
#include "tests/inputs.h"

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
    cr_assert_eq(motley_mix_draw(mix, samples, count, 40, 30, NULL, NULL, drawn, NULL, &error), MOTLEY_OK, "%s",
                 error.message);
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
            const double lambda = mot_mix_lambda(mix, false, (uint32_t)c);
            cr_assert(below(a, fmax(0, lambda - step)) <= p + 1e-9 && p <= below(a, fmin(1, lambda + step)) + 1e-9,
                      "a = %g, cell %d: %.9g", a, c, lambda);
        }
        motley_mix_destroy(mix);
    }
    motley_mix *narrow = created((motley_mix_params){ .mixup = 0.1 }),
               *wide = created((motley_mix_params){ .mixup = 1000 });
    cr_expect(mot_mix_lambda(narrow, false, 0) < 1e-6 && mot_mix_lambda(wide, false, 0) > 0.4 &&
              mot_mix_lambda(narrow, false, MOT_LAMBDA_CELLS - 1) > 1 - 1e-6);
    motley_mix_destroy(narrow);
    motley_mix_destroy(wide);
}

/* What quick steps find is what bisection finds, to the bit. */
Test(mix, lambda_is_where_bisection_ends)
{
    static const double shapes[] = { 1e-3, 0.05, 0.2, 0.8, 1, 4, 50, 1000 };
    for (int k = 0; k < 8; k++) {
        motley_mix *mix = created((motley_mix_params){ .cutmix = shapes[k] });
        for (uint32_t cell = 0; cell < MOT_LAMBDA_CELLS / 2; cell += cell < 8 ? 1 : 61) {
            int32_t low = 0, high = 1 << 23;
            while (high - low > 1) {
                const int32_t middle = (low + high) / 2;
                if (mot_beta_below(shapes[k], ldexp(middle, -24)) < (cell + 0.5) / MOT_LAMBDA_CELLS)
                    low = middle;
                else
                    high = middle;
            }
            const double lambda = mot_mix_lambda(mix, true, cell), wanted = ldexp(low, -24);
            cr_assert(lambda == wanted && mot_mix_lambda(mix, true, cell) == lambda &&
                          mot_mix_lambda(mix, true, MOT_LAMBDA_CELLS - 1 - cell) == 1 - wanted,
                      "a = %g, cell %u: %.9g, want %.9g", shapes[k], cell, lambda, wanted);
        }
        motley_mix_destroy(mix);
    }
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

#define OBJECT(of, k, of_picture) \
    { \
        .image = of, .object = k, .share = of_picture, .plane = -1 \
    }

Test(mix, objects_are_joined_with_their_shares)
{
    enum { COUNT = 4, ROOM = 12 };
    static const size_t offsets[COUNT + 1] = { 0, 2, 2, 5, 6 }; /* 2, 0, 3 and 1 objects */
    const motley_objects given = { .offsets = offsets };
    motley_mixed drawn[COUNT] = { { .kind = MOTLEY_MIX_MIXUP, .partner = 3, .lambda = 0.476251, .share = 0.476251 },
                                  { .kind = MOTLEY_MIX_MIXUP, .partner = 0, .lambda = 0.476251, .share = 0.476251 },
                                  { .kind = MOTLEY_MIX_NONE, .partner = 1, .lambda = 1, .share = 1 },
                                  { .kind = MOTLEY_MIX_MIXUP, .partner = 2, .lambda = 0.476251, .share = 0.476251 } };
    const float own = (float)0.476251, other = (float)(1 - 0.476251);
    const motley_mixed_object wanted[] = { OBJECT(0, 0, own),   OBJECT(0, 1, own),   OBJECT(3, 0, other),
                                           OBJECT(0, 0, other), OBJECT(0, 1, other), OBJECT(2, 0, 1),
                                           OBJECT(2, 1, 1),     OBJECT(2, 2, 1),     OBJECT(3, 0, own),
                                           OBJECT(2, 0, other), OBJECT(2, 1, other), OBJECT(2, 2, other) };
    static const size_t wanted_offsets[COUNT + 1] = { 0, 3, 5, 8, 12 };
    motley_mixed_object objects[ROOM + 1], guard = { .image = -7, .object = -7, .plane = -7 };
    size_t ends[COUNT + 1];
    motley_error error = { 0 };
    for (size_t room = ROOM + 1; room-- > 0;) {
        for (int k = 0; k <= ROOM; k++)
            objects[k] = guard;
        const motley_status status = motley_mix_objects(drawn, NULL, COUNT, &given, NULL, objects, room, ends, &error);
        cr_expect_eq(status, room == ROOM ? MOTLEY_OK : MOTLEY_ERR_ARGUMENT);
        cr_expect_arr_eq(ends, wanted_offsets, sizeof ends);
        cr_expect_arr_eq(objects, wanted, room * sizeof *objects);
        cr_expect_arr_eq(&objects[room], &guard, sizeof guard, "something was written behind the room");
    }
    cr_expect_str_eq(error.message, "there is room for 0 objects, the mixed images have 12");
    cr_expect_eq(motley_mix_objects(drawn, NULL, COUNT, &given, NULL, NULL, 0, ends, NULL), MOTLEY_ERR_ARGUMENT);
    cr_expect_eq(ends[COUNT], 12);
    cr_expect_eq(motley_mix_objects(NULL, NULL, 0, &given, NULL, NULL, 0, ends, NULL), MOTLEY_OK);
    drawn[1].kind = MOTLEY_MIX_CUTMIX;
    cr_expect_eq(motley_mix_objects(drawn, NULL, COUNT, &given, NULL, objects, ROOM, ends, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "image 1 is mixed by CutMix, want MixUp or nothing"), "%s", error.message);
    drawn[1].kind = MOTLEY_MIX_NONE;
    drawn[1].partner = COUNT;
    cr_expect_eq(motley_mix_objects(drawn, NULL, COUNT, &given, NULL, objects, ROOM, ends, &error),
                 MOTLEY_ERR_ARGUMENT);
    static const size_t falling[COUNT + 1] = { 0, 2, 1, 5, 6 };
    cr_expect_eq(motley_mix_objects(drawn, NULL, COUNT, &(motley_objects){ .offsets = falling }, NULL, objects, ROOM,
                                    ends, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "offsets goes from 2 to 1 at image 1, want it to rise"), "%s", error.message);
}

/* Boxes that lie anywhere, some with no pixel; areas of their own. */
typedef struct things {
    size_t offsets[9];
    double boxes[40][4], areas[40];
} things;

static motley_objects random_objects(uint64_t *state, things *t, int32_t count, int32_t width, int32_t height)
{
    for (int32_t i = 0; i < count; i++) {
        const size_t own = (input_random(state) >> 8) % 6;
        t->offsets[i + 1] = t->offsets[i] + own;
        for (size_t k = t->offsets[i]; k < t->offsets[i + 1]; k++) {
            for (int side = 0; side < 4; side++) {
                const double most = side % 2 ? height : width;
                t->boxes[k][side] = ((double)(input_random(state) >> 40) / 0x1000000 * 1.4 - 0.2) * most;
            }
            t->areas[k] = (double)(input_random(state) >> 54);
        }
    }
    return (motley_objects){ .offsets = t->offsets, .boxes = &t->boxes[0][0], .areas = t->areas };
}

static int32_t cut_off(double v, int32_t most)
{
    const double whole = trunc(v);
    return whole < 0 ? 0 : whole > most ? most : (int32_t)whole;
}

Test(mix, pastes_are_distinct_objects_with_the_context_that_both_images_have)
{
    enum { COUNT = 8, MOST = 3, WIDTH = 90, HEIGHT = 70 };
    motley_mix *mix = created((motley_mix_params){ .share = { 0.45, 0.55 },
                                                   .p = 0.25,
                                                   .paste_p = 0.5,
                                                   .pastes = MOST,
                                                   .paste_area = 300,
                                                   .context = { 0.1, 0.25 } });
    uint64_t state = 4;
    uint32_t kinds[4] = { 0 }, lefts[8] = { 0 }, contexts[4] = { 0 };
    for (uint64_t first = 0; first < 4000; first++) {
        things t = { .offsets = { 0 } };
        const motley_objects objects = random_objects(&state, &t, COUNT, WIDTH, HEIGHT);
        motley_mixed drawn[COUNT];
        motley_paste pastes[COUNT * MOST + 1];
        motley_error error = { 0 };
        const motley_samples samples = { .seed = 7, .first = first * COUNT };
        memset(pastes, 0x5A, sizeof pastes);
        cr_assert_eq(motley_mix_draw(mix, &samples, COUNT, WIDTH, HEIGHT, NULL, NULL, drawn, NULL, &error), MOTLEY_OK);
        kinds[drawn[0].kind]++;
        for (int i = 1; i < COUNT; i++)
            cr_assert(drawn[i].kind == drawn[0].kind && drawn[i].lambda == drawn[0].lambda);
        const bool pasted = drawn[0].kind == MOTLEY_MIX_PASTE;
        cr_assert_eq(motley_mix_draw(mix, &samples, COUNT, WIDTH, HEIGHT, NULL, &objects, drawn, pastes, &error),
                     MOTLEY_OK, "%s", error.message);
        size_t large = 0, used = 0;
        for (size_t k = 0; k < t.offsets[COUNT]; k++)
            large += t.areas[k] >= 300;
        for (int i = 0; pasted && i < COUNT; i++) {
            if (drawn[i].kind == MOTLEY_MIX_NONE)
                continue;
            cr_assert(drawn[i].kind == MOTLEY_MIX_PASTE && drawn[i].lambda >= 0.45 && drawn[i].lambda <= 0.55);
            cr_assert(drawn[i].paste == (int32_t)used && drawn[i].pastes > 0 && (size_t)drawn[i].pastes <= large &&
                      drawn[i].pastes <= MOST && drawn[i].share == 1);
            for (int32_t k = 0; k < drawn[i].pastes; k++) {
                const motley_paste *const p = &pastes[used + (size_t)k];
                const size_t object = t.offsets[p->image] + (size_t)p->object;
                cr_assert(p->image >= 0 && p->image < COUNT && object < t.offsets[p->image + 1]);
                cr_assert_geq(t.areas[object], 300);
                for (int32_t j = 0; j < k; j++)
                    cr_assert(pastes[used + (size_t)j].image != p->image ||
                              pastes[used + (size_t)j].object != p->object);
                const double *const box = t.boxes[object];
                const int32_t x0 = cut_off(box[0], WIDTH), y0 = cut_off(box[1], HEIGHT), x1 = cut_off(box[2], WIDTH),
                              y1 = cut_off(box[3], HEIGHT);
                cr_assert(p->box.width == x1 - x0 && p->box.height == y1 - y0 && p->box.width > 0 && p->box.height > 0);
                cr_assert(p->box.left >= 0 && p->box.left + p->box.width <= WIDTH && p->box.top >= 0 &&
                          p->box.top + p->box.height <= HEIGHT);
                const int32_t left = p->box.left - p->part.left, top = p->box.top - p->part.top,
                              right = p->part.width - left - p->box.width,
                              bottom = p->part.height - top - p->box.height;
                cr_assert(p->left == x0 - left && p->top == y0 - top);
                /* there is a share of 0.1 to 0.25 that gives every side, cut off where one of the images ends */
                int from = 250000, to = 100000;
                for (int share = 100000; share <= 250000; share += 50) {
                    const int32_t w = (int32_t)(p->box.width * (share / 1e6)),
                                  h = (int32_t)(p->box.height * (share / 1e6));
#define ROOM(more, a, b) ((more) < (a) && (more) < (b) ? (more) : (a) < (b) ? (a) : (b))
                    if (left == ROOM(w, x0, p->box.left) && top == ROOM(h, y0, p->box.top) &&
                        right == ROOM(w, WIDTH - x1, WIDTH - p->box.left - p->box.width) &&
                        bottom == ROOM(h, HEIGHT - y1, HEIGHT - p->box.top - p->box.height)) {
                        from = share < from ? share : from;
                        to = share;
                    }
                }
                cr_assert(from <= to, "no context gives %d %d %d %d", left, top, right, bottom);
                if (p->box.width == 40)
                    lefts[p->box.left * 8 / (WIDTH - 40 + 1)]++;
                if (to - from < 20000)
                    contexts[(from - 100000) * 4 / 150000]++;
            }
            used += (size_t)drawn[i].pastes;
        }
        const motley_paste *const behind = &pastes[used];
        cr_assert_eq(((const uint8_t *)behind)[0], 0x5A);
        cr_assert(!pasted || large > 0 || used == 0);
    }
    cr_expect(abs((int)kinds[MOTLEY_MIX_MIXUP] - 1000) < 120 && abs((int)kinds[MOTLEY_MIX_PASTE] - 1500) < 150,
              "%u mixed, %u pasted", kinds[MOTLEY_MIX_MIXUP], kinds[MOTLEY_MIX_PASTE]);
    for (int k = 0; k < 8; k++)
        cr_expect(lefts[k] > 0, "%u", lefts[k]);
    for (int k = 0; k < 4; k++)
        cr_expect(contexts[k] > 20, "%u", contexts[k]);
    motley_mix_destroy(mix);
}

Test(mix, every_object_is_pasted_as_often)
{
    enum { OBJECTS = 12, BATCHES = 20000 };
    motley_mix *mix = created((motley_mix_params){ .share = { 0.5, 0.5 }, .p = 1e-300, .pastes = 3 });
    things t = { .offsets = { 0, 5, 5, OBJECTS } };
    uint32_t counts[OBJECTS] = { 0 }, pairs[OBJECTS][OBJECTS] = { { 0 } };
    for (int k = 0; k < OBJECTS; k++)
        t.boxes[k][2] = t.boxes[k][3] = 5;
    const motley_objects objects = { .offsets = t.offsets, .boxes = &t.boxes[0][0] };
    for (uint64_t id = 0; id < BATCHES; id++) {
        motley_mixed drawn[3];
        motley_paste pastes[9];
        const motley_samples samples = { .seed = 1, .first = id };
        cr_assert_eq(motley_mix_draw(mix, &samples, 3, 20, 20, NULL, &objects, drawn, pastes, NULL), MOTLEY_OK);
        cr_assert_eq(drawn[0].pastes, 3);
        size_t object[3];
        for (int k = 0; k < 3; k++)
            counts[object[k] = t.offsets[pastes[k].image] + (size_t)pastes[k].object]++;
        pairs[object[0]][object[2]]++;
    }
    double chance[OBJECTS], of_pairs[OBJECTS * (OBJECTS - 1)];
    uint32_t seen[OBJECTS * (OBJECTS - 1)];
    int n = 0;
    for (int k = 0; k < OBJECTS; k++) {
        chance[k] = 1.0 / OBJECTS;
        for (int j = 0; j < OBJECTS; j++)
            if (j != k) {
                of_pairs[n] = 1.0 / (OBJECTS * (OBJECTS - 1));
                seen[n++] = pairs[k][j];
            }
        cr_expect_eq(pairs[k][k], 0);
    }
    cr_expect(chi_square_z(chance, counts, OBJECTS, 3 * BATCHES) < MAX_Z); /* without replacement: less spread */
    cr_expect(fabs(chi_square_z(of_pairs, seen, n, BATCHES)) < MAX_Z);
    motley_mix_destroy(mix);
}

Test(mix, sizes_are_drawn_by_the_first_id)
{
    motley_mix *mix = created((motley_mix_params){ .share = { 0.5, 0.5 }, .sizes_count = 4, .sizes = { 7, 9, 9, 30 } });
    uint32_t counts[3] = { 0 };
    for (uint64_t first = 0; first < SAMPLES; first++) {
        motley_mixed drawn[2];
        const motley_samples samples = { .seed = 2, .first = first };
        cr_assert_eq(motley_mix_draw(mix, &samples, 2, 4, 5, NULL, NULL, drawn, NULL, NULL), MOTLEY_OK);
        const int32_t side = drawn[0].side;
        cr_assert(side == drawn[1].side && (side == 7 || side == 9 || side == 30));
        counts[side == 7 ? 0 : side == 9 ? 1 : 2]++;
    }
    static const double chances[3] = { 0.25, 0.5, 0.25 };
    cr_expect(fabs(chi_square_z(chances, counts, 3, SAMPLES)) < MAX_Z);
    motley_mix_destroy(mix);
    mix = created((motley_mix_params){ .share = { 0.5, 0.5 } });
    motley_mixed drawn;
    cr_assert_eq(motley_mix_draw(mix, &(motley_samples){ 0 }, 1, 4, 5, NULL, NULL, &drawn, NULL, NULL), MOTLEY_OK);
    cr_expect_eq(drawn.side, 0);
    motley_mix_destroy(mix);
}

/* A mixed component by the rules of the header, as C writes them. */
static float value_of(float x, float z, double lambda, motley_dtype dtype)
{
    const float a = x * (float)lambda, b = z * (float)(1.0 - lambda);
    return dtype == MOTLEY_U8 ? rintf(a + b) : a + b;
}

#define EXPECT_WRONG(to, own, masks, words) \
    do { \
        cr_expect_eq(motley_mix_apply(context, &src, to, wrong, own, masks, NULL, &error), MOTLEY_ERR_ARGUMENT); \
        cr_expect(strstr(error.message, words), "%s", error.message); \
    } while (0)

Test(mix, batches_are_resized_and_pasted_as_plain_loops_do)
{
    enum { COUNT = 4, W = 23, H = 17, MOST = 40 };
    static float source[COUNT][H][W][3], made[COUNT][MOST][MOST][3];
    static uint8_t bytes[COUNT][H][W][3], written[COUNT][MOST][MOST][3];
    motley_context *context;
    motley_error error = { 0 };
    cr_assert_eq(
        motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = 2 }, &context, NULL),
        MOTLEY_OK);
    uint64_t state = 8;
    for (size_t k = 0; k < sizeof bytes; k++) {
        (&bytes[0][0][0][0])[k] = (uint8_t)(input_random(&state) >> 20);
        (&source[0][0][0][0])[k] = (float)(input_random(&state) >> 40) / 3e6f - 2;
    }
    const motley_paste pastes[] = { { 2, 0, 3, 4, { 5, 6, 9, 8 }, { 0 } },
                                    { 0, 0, 0, 0, { 10, 9, 13, 8 }, { 0 } },
                                    { 1, 0, 7, 2, { 0, 0, 16, 15 }, { 0 } } };
    const motley_mixed drawn[COUNT] = {
        { .kind = MOTLEY_MIX_PASTE, .partner = 3, .lambda = 0.466667, .share = 1, .paste = 0, .pastes = 2 },
        { .kind = MOTLEY_MIX_MIXUP, .partner = 0, .lambda = 0.523456, .share = 0.523456 },
        { .kind = MOTLEY_MIX_NONE, .partner = 1, .lambda = 1, .share = 1 },
        { .kind = MOTLEY_MIX_PASTE, .partner = 2, .lambda = 0.511111, .share = 1, .paste = 2, .pastes = 1 },
    };
    static const int32_t sizes[][2] = { { W, H }, { 9, 9 }, { 40, 40 }, { 24, 17 }, { 1, 1 }, { 13, 38 } };
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        for (int dtype = MOTLEY_U8; dtype <= MOTLEY_F32; dtype++) {
            const int32_t width = sizes[n][0], height = sizes[n][1];
            motley_batch src = { .count = COUNT, .channels = 3, .dtype = (motley_dtype)dtype, .width = W, .height = H };
            motley_batch dst = src;
            const int64_t size = dtype == MOTLEY_U8 ? 1 : 4;
            src.data = dtype == MOTLEY_U8 ? (void *)bytes : (void *)source;
            dst.data = dtype == MOTLEY_U8 ? (void *)written : (void *)made;
            dst.width = width;
            dst.height = height;
            dst.pixel_stride = 3 * size;
            dst.channel_stride = size;
            dst.row_stride = MOST * 3 * size;
            dst.image_stride = MOST * dst.row_stride;
            cr_assert_eq(motley_mix_apply(context, &src, &dst, drawn, pastes, NULL, NULL, &error), MOTLEY_OK, "%s",
                         error.message);
#define SOURCE(i, y, x, c) (dtype == MOTLEY_U8 ? (float)bytes[i][y][x][c] : source[i][y][x][c])
            for (int i = 0; i < COUNT; i++)
                for (int y = 0; y < height; y++)
                    for (int x = 0; x < width; x++)
                        for (int c = 0; c < 3; c++) {
                            const float rows = (float)H / (float)height, columns = (float)W / (float)width;
                            const int v = (int)fminf(floorf((float)y * rows), H - 1);
                            const int u = (int)fminf(floorf((float)x * columns), W - 1);
                            float wanted = SOURCE(i, v, u, c);
                            if (i == 1)
                                wanted = value_of(wanted, SOURCE(0, v, u, c), 0.523456, (motley_dtype)dtype);
                            if (i == 0 && u >= 5 && u < 14 && v >= 6 && v < 14)
                                wanted = value_of(wanted, SOURCE(2, v - 2, u - 2, c), 0.466667, (motley_dtype)dtype);
                            if (i == 0 && u >= 10 && u < 23 && v >= 9 && v < 17)
                                wanted = value_of(wanted, SOURCE(0, v - 9, u - 10, c), 0.466667, (motley_dtype)dtype);
                            if (i == 3 && u < 16 && v < 15)
                                wanted = value_of(wanted, SOURCE(1, v + 2, u + 7, c), 0.511111, (motley_dtype)dtype);
                            const float found = dtype == MOTLEY_U8 ? (float)written[i][y][x][c] : made[i][y][x][c];
                            cr_assert_eq(found, wanted, "%dx%d, image %d, (%d, %d): %g, want %g", width, height, i, x,
                                         y, found, wanted);
                        }
        }
    motley_batch src = { .count = COUNT, .channels = 3, .data = bytes, .width = W, .height = H }, dst = src;
    motley_mixed wrong[COUNT];
    dst.data = written;
    memset(written, 7, sizeof written);
    memcpy(wrong, drawn, sizeof drawn);
    EXPECT_WRONG(&dst, NULL, NULL, "image 0 has objects that are pasted, want pastes, which is NULL");
    EXPECT_WRONG(&src, pastes, NULL, "image 0 has objects that are pasted, want another dst than src");
    motley_paste outside[3];
    memcpy(outside, pastes, sizeof pastes);
    outside[2].left = 8;
    EXPECT_WRONG(&dst, outside, NULL, "paste 2: its part of 16x15 leaves an image");
    outside[2] = pastes[2];
    outside[1].image = COUNT;
    EXPECT_WRONG(&dst, outside, NULL, "paste 1 is of image 4, there are 4");
    wrong[0].paste = -1;
    EXPECT_WRONG(&dst, pastes, NULL, "image 0: it has 2 pastes from the -1th on, want numbers from 0");
    wrong[0] = wrong[1];
    wrong[3] =
        (motley_mixed){ .kind = MOTLEY_MIX_CUTMIX, .partner = 1, .lambda = 0.5, .share = 0.5, .box = { 0, 0, 2, 2 } };
    dst.width = 9;
    EXPECT_WRONG(&dst, NULL, NULL, "image 3 is mixed by CutMix, want dst of src's size");
    for (size_t k = 0; k < sizeof written; k++)
        cr_assert_eq((&written[0][0][0][0])[k], 7, "something was written");
    motley_context_destroy(context);
}

Test(mix, instances_of_the_partner_are_drawn_with_replacement)
{
    enum { COUNT = 3, BATCHES = 20000 };
    static const size_t offsets[COUNT + 1] = { 2, 6, 6, 9 }; /* 4, 0 and 3 objects */
    static const int32_t partners[COUNT] = { 0, 2, 1 };
    const motley_objects objects = { .offsets = offsets };
    motley_mix *mix = created((motley_mix_params){ .instances = 1, .grow = 3, .paste_p = 0.75 });
    uint32_t pasted[4] = { 0 }, batches = 0, numbers[5] = { 0 };
    motley_error error = { 0 };
    for (uint64_t first = 0; first < BATCHES; first++) {
        motley_mixed drawn[COUNT], same[COUNT];
        motley_paste pastes[COUNT * 4], others[COUNT * 4];
        const motley_samples samples = { .seed = 9, .first = first };
        cr_assert_eq(motley_mix_draw(mix, &samples, COUNT, 9, 7, NULL, &objects, drawn, pastes, &error), MOTLEY_OK,
                     "%s", error.message);
        cr_assert(drawn[2].kind == MOTLEY_MIX_NONE, "its partner has no objects");
        if (drawn[1].kind == MOTLEY_MIX_NONE)
            continue;
        const motley_mixed *const m = &drawn[1];
        cr_assert(m->kind == MOTLEY_MIX_INSTANCES && m->partner == 0 && m->grow == 3 && m->lambda == 1 &&
                  m->share == 1);
        cr_assert(m->paste == drawn[0].pastes && drawn[0].pastes >= 1 && drawn[0].pastes <= 3 && m->pastes >= 1);
        for (int k = m->paste; k < m->paste + m->pastes; k++) {
            cr_assert(pastes[k].image == 0 && (k == m->paste || pastes[k].object > pastes[k - 1].object));
            pasted[pastes[k].object]++;
        }
        numbers[m->pastes]++;
        batches++;
        cr_assert_eq(motley_mix_draw(mix, &samples, COUNT, 9, 7, partners, &objects, same, others, &error), MOTLEY_OK);
        cr_assert(same[0].partner == 0 && same[0].pastes > 0 && others[same[0].paste].image == 0);
        cr_assert(same[1].partner == 2 && same[1].pastes <= 3 && others[same[1].paste].image == 2);
        cr_assert(same[2].partner == 1 && same[2].kind == MOTLEY_MIX_NONE);
    }
    cr_expect(abs((int)batches - BATCHES * 3 / 4) < 300, "%u", batches);
    const double chance = 1 - 81.0 / 256; /* of being among four draws of four */
    for (int k = 0; k < 4; k++)
        cr_expect(fabs(pasted[k] - batches * chance) < 5 * sqrt(batches * chance * (1 - chance)), "%u", pasted[k]);
    static const double of_number[4] = { 4 / 256.0, 84 / 256.0, 144 / 256.0, 24 / 256.0 };
    cr_expect(fabs(chi_square_z(of_number, numbers + 1, 4, (int)batches)) < MAX_Z);
    const size_t many[COUNT + 1] = { 0, 0, 0, MOTLEY_MAX_INSTANCES + 1 };
    motley_mixed drawn[COUNT];
    motley_paste pastes[1];
    cr_expect_eq(motley_mix_draw(mix, &(motley_samples){ .first = 1 }, COUNT, 9, 7, NULL,
                                 &(motley_objects){ .offsets = many }, drawn, pastes, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "image 2 has 1021 objects, want up to 1020");
    static const int32_t wrong[COUNT] = { 0, 3, 1 };
    cr_expect_eq(motley_mix_draw(mix, &(motley_samples){ 0 }, COUNT, 9, 7, wrong, NULL, drawn, NULL, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "image 1: its partner is image 3, there are 3");
    motley_mix_destroy(mix);
}

Test(mix, instances_are_pasted_as_plain_loops_do)
{
    enum { COUNT = 4, W = 31, H = 23, ALL = 7, PLANES = 2 * ALL };
    static const size_t offsets[COUNT + 1] = { 0, 3, 3, 5, 7 };
    static uint8_t bytes[COUNT][H][W][3], written[COUNT][H][W][3], masks[ALL][H][W], left[PLANES][H][W];
    double boxes[ALL][4];
    motley_context *context;
    motley_error error = { 0 };
    cr_assert_eq(
        motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = 2 }, &context, NULL),
        MOTLEY_OK);
    uint64_t state = 8;
    uint32_t covered = 0, thin = 0, boxless = 0;
    for (uint64_t turn = 0; turn < 200; turn++) {
        const int grow = (int)(turn % 4);
        for (size_t k = 0; k < sizeof bytes; k++)
            (&bytes[0][0][0][0])[k] = (uint8_t)(input_random(&state) >> 20);
        memset(masks, 0, sizeof masks);
        for (int k = 0; k < ALL; k++) {
            const uint64_t word = input_random(&state);
            const int x = (int)(word >> 8) % W & 255, y = (int)((word >> 20) % H), w = 1 + (int)((word >> 30) % 9),
                      h = 1 + (int)((word >> 40) % 9);
            for (int v = y; v < y + h && v < H; v++)
                for (int u = x; u < x + w && u < W; u++)
                    masks[k][v][u] = (uint8_t)((word >> (u + v) % 40) % 3);
            for (int side = 0; side < 4; side++)
                boxes[k][side] = (double)((word >> 10 * side) % 9);
        }
        const uint8_t *planes[COUNT];
        uint8_t *to[COUNT];
        motley_mix *mix = created((motley_mix_params){ .instances = 1, .grow = grow });
        motley_mixed drawn[COUNT];
        motley_paste pastes[COUNT * 3];
        const motley_objects objects = { .offsets = offsets, .boxes = &boxes[0][0] };
        cr_assert_eq(
            motley_mix_draw(mix, &(motley_samples){ .seed = turn }, COUNT, W, H, NULL, &objects, drawn, pastes, &error),
            MOTLEY_OK, "%s", error.message);
        size_t first[COUNT + 1] = { 0 };
        for (int i = 0; i < COUNT; i++) {
            planes[i] = masks[offsets[i]][0];
            to[i] = left[first[i]][0];
            first[i + 1] = first[i] + (drawn[i].pastes ? offsets[i + 1] - offsets[i] + (size_t)drawn[i].pastes : 0);
        }
        motley_extent extents[PLANES];
        const motley_mix_masks given = { offsets, planes, to, extents };
        motley_batch src = { .count = COUNT, .channels = 3, .data = bytes, .width = W, .height = H }, dst = src;
        const bool in_place = turn % 3 == 0;
        memcpy(written, bytes, sizeof bytes);
        dst.data = written;
        cr_assert_eq(motley_mix_apply(context, in_place ? &dst : &src, &dst, drawn, pastes, &given, NULL, &error),
                     MOTLEY_OK, "%s", error.message);
        motley_mixed_object listed[PLANES];
        size_t ends[COUNT + 1];
        cr_assert_eq(motley_mix_objects(drawn, pastes, COUNT, &objects, extents, listed, PLANES, ends, &error),
                     MOTLEY_OK, "%s", error.message);
        const motley_mixed_object *o = listed;
        for (int i = 0; i < COUNT; i++) {
            const motley_mixed *const m = &drawn[i];
            static uint8_t cut[H][W];
            memset(cut, 0, sizeof cut);
            for (int k = m->paste; k < m->paste + m->pastes; k++)
                for (int y = 0; y < H; y++)
                    for (int x = 0; x < W; x++)
                        for (int v = 0; v < H; v++)
                            for (int u = 0; u < W; u++)
                                cut[y][x] |= abs(v - y) <= grow && abs(u - x) <= grow &&
                                             masks[offsets[m->partner] + (size_t)pastes[k].object][v][u];
            for (int y = 0; y < H; y++)
                for (int x = 0; x < W; x++)
                    cr_assert_arr_eq(written[i][y][x], bytes[cut[y][x] ? m->partner : i][y][x], 3, "%d: %d %d", i, x,
                                     y);
            const int own = (int)(offsets[i + 1] - offsets[i]);
            for (int k = 0; k < own + m->pastes; k++) {
                const int object = k < own ? k : pastes[m->paste + k - own].object, image = k < own ? i : m->partner;
                motley_mixed_object wanted = {
                    .image = image, .object = object, .share = 1, .plane = k, .boxed = k < own
                };
                int x0 = W, y0 = H, x1 = -1, y1 = -1, pixels = 0;
                for (int y = 0; m->pastes && y < H; y++)
                    for (int x = 0; x < W; x++) {
                        const uint8_t v = k < own && cut[y][x] ? 0 : masks[offsets[image] + (size_t)object][y][x];
                        cr_assert_eq(left[first[i] + (size_t)k][y][x], v);
                        if (!v)
                            continue;
                        pixels++;
                        x0 = x < x0 ? x : x0;
                        y0 = y < y0 ? y : y0;
                        x1 = x > x1 ? x : x1;
                        y1 = y;
                    }
                if (m->pastes) {
                    const motley_extent *const e = &extents[first[i] + (size_t)k];
                    cr_assert(e->pixels == pixels &&
                              (pixels == 0 || (e->left == x0 && e->top == y0 && e->right == x1 && e->bottom == y1)));
                } else {
                    wanted.plane = -1;
                    wanted.boxed = 0;
                }
                const double *const box = boxes[offsets[image] + (size_t)object];
                if (m->pastes && k < own) {
                    wanted.box = (motley_erased_box){ x0, y0, x1 - x0, y1 - y0 };
                    covered += pixels == 0;
                    thin += pixels > 0 && (x1 == x0 || y1 == y0);
                    if (pixels == 0 || x1 == x0 || y1 == y0)
                        continue;
                } else if (m->pastes && (box[0] >= box[2] || box[1] >= box[3])) {
                    boxless++;
                    continue;
                }
                cr_assert_arr_eq(o, &wanted, sizeof wanted, "turn %d, image %d, object %d", (int)turn, i, k);
                o++;
            }
            cr_assert_eq(ends[i + 1], o - listed);
        }
        motley_mix_destroy(mix);
    }
    cr_expect(covered > 10 && thin > 10 && boxless > 10, "%u %u %u", covered, thin, boxless);
    motley_batch src = { .count = COUNT, .channels = 3, .data = bytes, .width = W, .height = H }, small = src;
    const uint8_t *planes[COUNT] = { masks[0][0], NULL, masks[3][0], masks[5][0] };
    uint8_t *to[COUNT] = { left[0][0], NULL, NULL, NULL };
    motley_extent extents[PLANES];
    motley_mix_masks given = { offsets, planes, to, extents };
    motley_mixed wrong[COUNT] = {
        { .kind = MOTLEY_MIX_INSTANCES, .partner = 2, .lambda = 1, .share = 1, .pastes = 1 }
    };
    motley_paste paste = { .image = 2, .object = 2 };
    EXPECT_WRONG(&src, &paste, NULL,
                 "image 0 has instances that are pasted, want masks with offsets, src, dst and extents");
    EXPECT_WRONG(&src, &paste, &given, "paste 0 is object 2 of image 2, want one of the partner, image 2, which has 2");
    paste.object = 1;
    small.data = written;
    small.width = 5;
    EXPECT_WRONG(&small, &paste, &given, "image 0 has instances that are pasted, want dst of src's size");
    to[0] = NULL;
    EXPECT_WRONG(&src, &paste, &given, "masks.dst of image 0 is NULL, want room for its own masks and 1");
    planes[2] = NULL;
    EXPECT_WRONG(&src, &paste, &given, "masks.src of image 2 is NULL");
    wrong[0].grow = 17;
    EXPECT_WRONG(&src, &paste, &given, "image 0: grow is 17, want 0 to 16");
    motley_context_destroy(context);
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
    cr_expect_eq(motley_mix_draw(mix, &(motley_samples){ 0 }, 1, 1, 1, NULL, NULL, &one, NULL, &error),
                 MOTLEY_ERR_ARGUMENT);
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
    EXPECT_REFUSED("pastes is 17, want 0 to 16", .share = { 0.4, 0.6 }, .pastes = 17);
    EXPECT_REFUSED("want share, by which they are blended", .mixup = 1, .pastes = 1);
    EXPECT_REFUSED("and no cutmix", .share = { 0.4, 0.6 }, .pastes = 1, .cutmix = 1);
    EXPECT_REFUSED("paste_p is 2", .share = { 0.4, 0.6 }, .pastes = 1, .paste_p = 2);
    EXPECT_REFUSED("paste_area -1", .share = { 0.4, 0.6 }, .pastes = 1, .paste_area = -1);
    EXPECT_REFUSED("context is 0.5 to 0.25", .share = { 0.4, 0.6 }, .pastes = 1, .context = { 0.5, 0.25 });
    EXPECT_REFUSED("want neither cutmix nor parts", .instances = 1, .cutmix = 1);
    EXPECT_REFUSED("want neither cutmix nor parts", .instances = 1, .share = { 0.4, 0.6 }, .pastes = 1);
    EXPECT_REFUSED("grow is 17, want 0 to 16", .instances = 1, .grow = 17);
    EXPECT_REFUSED("grow is 2, want it with instances", .mixup = 1, .grow = 2);
    EXPECT_REFUSED("sizes_count is 33", .mixup = 1, .sizes_count = 33);
    EXPECT_REFUSED("sizes has a 0", .mixup = 1, .sizes_count = 2, .sizes = { 5 });
    EXPECT_REFUSED("sizes are set, want neither cutmix nor instances", .cutmix = 1, .sizes_count = 1, .sizes = { 5 });
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
        cr_assert_eq(motley_mix_draw(mix, &params.samples, COUNT, 6, 5, NULL, NULL, known, NULL, &error), MOTLEY_OK,
                     "%s", error.message);
        cr_expect_arr_eq(drawn, known, sizeof known);
        cr_assert_eq(motley_mix_apply(context, &src, &mixed, known, NULL, NULL, NULL, &error), MOTLEY_OK, "%s",
                     error.message);
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
    motley_mixed drawn[COUNT] = {
        { .kind = MOTLEY_MIX_MIXUP, .partner = 2, .lambda = 0.5, .share = 0.5 },
        { .kind = MOTLEY_MIX_CUTMIX, .partner = 0, .lambda = 0.5, .share = 0.5, .box = { 1, 1, 2, 2 } },
        { .kind = MOTLEY_MIX_NONE, .partner = 1, .lambda = 1, .share = 1 }
    };
    drawn[1].box.width = 5;
    cr_expect_eq(motley_mix_apply(context, &batch, &batch, drawn, NULL, NULL, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "image 1: its box of 5x2 at (1, 1) leaves the image"), "%s", error.message);
    drawn[1].box.width = 2;
    drawn[0].partner = 3;
    cr_expect_eq(motley_mix_apply(context, &batch, &batch, drawn, NULL, NULL, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "its partner is image 3, there are 3"), "%s", error.message);
    drawn[0].partner = 2;
    drawn[0].lambda = NAN;
    cr_expect_eq(motley_mix_apply(context, &batch, &batch, drawn, NULL, NULL, NULL, &error), MOTLEY_ERR_ARGUMENT);
    drawn[0].lambda = 0.5;
    motley_image images[COUNT];
    for (int i = 0; i < COUNT; i++)
        images[i] = (motley_image){ targets, 5, i == 2 ? 3 : 4, 20, 4, 80 };
    const motley_batch odd_one = { .count = COUNT, .channels = 3, .dtype = MOTLEY_F32, .images = images };
    cr_expect_eq(motley_mix_apply(context, &batch, &odd_one, drawn, NULL, NULL, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "dst image 2: size is 5x3, want that of image 0, 5x4");
    motley_batch overlapping = batch;
    overlapping.data = values + 1;
    overlapping.count = 2;
    cr_expect_eq(motley_mix_apply(context, &batch, &overlapping, drawn, NULL, NULL, NULL, &error), MOTLEY_ERR_ARGUMENT);
    for (int i = 0; i < COUNT * EACH; i++)
        cr_assert_eq(values[i], i, "something was written");
    cr_assert_eq(motley_mix_apply(context, &batch, &batch, drawn, NULL, NULL, NULL, &error), MOTLEY_OK, "%s",
                 error.message);
    cr_expect_eq(values[0], 60);
    cr_expect_eq(values[EACH], EACH);
    cr_expect_eq(values[EACH + 6], 6);
    float apart[COUNT * EACH] = { 0 };
    motley_batch copy = batch;
    copy.data = apart;
    cr_assert_eq(motley_mix_apply(context, &batch, &copy, drawn, NULL, NULL, NULL, &error), MOTLEY_OK, "%s",
                 error.message);
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
    cr_expect_eq(motley_mix_draw(mix, &(motley_samples){ 0 }, 3, 5, 4, NULL, NULL, drawn, NULL, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "there are 3 images, want an even number"), "%s", error.message);
    motley_mix_destroy(mix);
    motley_context_destroy(context);
}
