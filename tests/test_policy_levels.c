/* SPDX-License-Identifier: Apache-2.0 */
/* Levels: what number of an op each one is, as in torchvision and timm; and the shapes of published policies. */
#include "augmentations/table.h"
#include "policies/compile.h"
#include "policies/draw.h"
#include "tests/policies.h"

#include <math.h>

static void expect_values(const char *name, const char *space, int bins, const double *want)
{
    motley_policy *policy = builtin(name);
    const mot_space *s = NULL;
    for (uint32_t i = 0; i < policy->spaces; i++)
        if (strcmp(policy->space[i].name, space) == 0)
            s = &policy->space[i];
    cr_assert_not_null(s);
    for (int level = 0; level < bins; level++) {
        const double got = mot_space_value(policy, s, level, 0);
        cr_expect_eq(got, want[level], "%s of %s at level %d is %.17g, want %.17g", space, name, level, got,
                     want[level]);
    }
    motley_policy_destroy(policy);
}

/* As in torchvision 0.26. */
Test(policy, levels_of_torchvision)
{
    expect_values("auto_augment_imagenet", "posterize", 10, (const double[]){ 8, 8, 7, 7, 6, 6, 5, 5, 4, 4 });
    expect_values("rand_augment", "posterize", 31, (const double[]){ 8, 8, 8, 8, 7, 7, 7, 7, 7, 7, 7, 7, 6, 6, 6, 6,
                                                                     6, 6, 6, 5, 5, 5, 5, 5, 5, 5, 5, 4, 4, 4, 4 });
    expect_values("trivial_augment_wide", "posterize", 31,
                  (const double[]){ 8, 8, 8, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6, 5, 5, 5,
                                    5, 5, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 2, 2, 2 });
    expect_values("trivial_augment_wide", "translate_x", 31, /* bin 15 falls short of 16 in binary32 */
                  (const double[]){ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                    17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 32 });
}

/* timm's formulas, in its order of operations (sections of doc/policy-format.md name them). */
Test(policy, levels_of_timm)
{
    double enhance[11], rotate[11], shear[11], bits[11], original[11], increasing[11], threshold[11], add_on[11];
    for (int level = 0; level <= 10; level++) {
        const double position = level / 10.0;
        enhance[level] = position * 1.8 + 0.1;
        increasing[level] = fmax(0.1, 1.0 + position * 0.9);
        rotate[level] = position * 30.0;
        shear[level] = position * 0.3;
        bits[level] = trunc(position * 4);
        original[level] = trunc(position * 4) + 4;
        threshold[level] = fmin(256, trunc(position * 256));
        add_on[level] = fmin(128, trunc(position * 110));
    }
    expect_values("timm_auto_augment_v0", "color", 11, enhance);
    expect_values("timm_auto_augment_v0", "rotate", 11, rotate);
    expect_values("timm_auto_augment_v0", "shear_x", 11, shear);
    expect_values("timm_auto_augment_v0", "posterize", 11, bits);
    expect_values("timm_auto_augment_v0", "solarize", 11, threshold);
    expect_values("timm_auto_augment_v0", "solarize_add", 11, add_on);
    expect_values("timm_auto_augment_original", "posterize", 11, original);
    expect_values("timm_rand_m9_mstd05_inc1", "color", 11, increasing);
    for (int level = 0; level <= 10; level++) {
        bits[level] = 4 - bits[level];
        threshold[level] = 256 - threshold[level];
    }
    expect_values("timm_rand_m9_mstd05_inc1", "posterize", 11, bits);
    expect_values("timm_rand_m9_mstd05_inc1", "solarize", 11, threshold);
}

/* 150/331 of each side in binary32, then cut to pixels, as torchvision does it: here in integers. The product lies
 * never so near to a pixel that binary32 could matter, but for whole multiples. */
Test(policy, translations_of_torchvision_at_every_width)
{
    motley_policy *policy = builtin("rand_augment");
    const mot_table_step *step = NULL;
    for (uint32_t i = 0; i < policy->steps; i++)
        if (policy->tables.step[i].op == MOT_OP_TRANSLATE_X)
            step = &policy->tables.step[i];
    cr_assert_not_null(step);
    mot_level_entry entry = policy->tables.level[step->first_level];
    for (int bin = 0; bin <= 30; bin++)
        for (int width = 1; width <= 4096; width++) {
            entry.position = bin;
            const long long n = 150LL * width * bin, d = 331LL * 30;
            const double got = mot_relative(step, &entry, 0, width);
            if (n % d == 0) /* exact: binary32 may fall just short of it */
                cr_expect(got == (double)(n / d) || got == (double)(n / d) - 1);
            else
                cr_expect_eq(got, (double)(n / d), "bin %d of width %d is %g px, want %lld", bin, width, got, n / d);
            cr_expect_eq(mot_relative(step, &entry, 1, width), -got);
        }
    motley_policy_destroy(policy);
}

/* The literal shear entries against this machine's libm: at most one unit in the last place apart. */
Test(policy, shear_literals)
{
    static const char *const text = HEAD "arithmetic: torch\nbins: %d\nlevel: uniform\nops:\n"
                                         "  shear_x: {range: [0, %g], sign: random, via: degrees}\n"
                                         "  shear_y: {range: [0, %g], sign: random, via: degrees}\n"
                                         "branches: [shear_x, shear_y]\n";
    static const struct {
        int bins;
        double top;
    } tables[] = { { 31, 0.3 }, { 10, 0.3 }, { 31, 0.99 }, { 17, 0.7 } };
    for (size_t i = 0; i < 4; i++) {
        char filled[400];
        snprintf(filled, sizeof filled, text, tables[i].bins, tables[i].top, tables[i].top);
        motley_policy *policy = parsed(filled);
        for (int along_y = 0; along_y < 2; along_y++)
            for (int minus = 0; minus < 2; minus++)
                for (int bin = 0; bin < tables[i].bins; bin++) {
                    mot_space plain = policy->space[along_y];
                    plain.via_degrees = false;
                    const double m = mot_space_value(policy, &plain, bin, minus), pi = 3.14159265358979323846;
                    const double angle = atan(m) * (180 / pi) * (pi / 180);
                    const double want = along_y ? -(sin(-angle) / cos(angle)) : tan(angle);
                    const double got = mot_space_value(policy, &policy->space[along_y], bin, minus);
                    cr_expect(fabs(got - want) <= nextafter(fabs(want), HUGE_VAL) - fabs(want), "%a, want %a", got,
                              want);
                    cr_expect(fabs(got - m) < 1e-15 && (m == 0 || got != 0));
                }
        motley_policy_destroy(policy);
    }
}

Test(policy, normal_levels_are_normal)
{
    motley_policy *policy = builtin("timm_rand_m9_mstd05_inc1");
    double sum = 0, squares = 0, last = -1;
    const mot_level wide = { MOT_LEVEL_NORMAL, 5, 0.5 };
    for (int k = 0; k < MOT_QUANTILES; k++) {
        const double level = mot_level_at(policy, &wide, k);
        cr_expect_gt(level, last);
        last = level;
        sum += level - 5;
        squares += (level - 5) * (level - 5);
        cr_expect_eq(level - 5, 5 - mot_level_at(policy, &wide, MOT_QUANTILES - 1 - k)); /* symmetric */
        const double cut = mot_level_at(policy, &policy->level, k);
        cr_expect(cut >= 0 && cut <= 10);
    }
    cr_expect_eq(sum, 0);
    cr_expect_float_eq(squares / MOT_QUANTILES, 0.25, 0.002);
    /* Their places on the normal distribution, to the 2^-20 that they are rounded to. */
    cr_expect_float_eq((mot_level_at(policy, &wide, 256) - 5) / 0.5, 0.002447882, 1e-6);
    cr_expect_float_eq((mot_level_at(policy, &wide, 511) - 5) / 0.5, 3.097269078, 1e-6);
    motley_policy_destroy(policy);
}

/* --- levels that the caller gives --- */

/* Which bin a given level is, by a scale of bins and by a continuous one. */
static const struct {
    float level;
    int32_t bin, real; /* of 31; of 513 */
} given[] = { { 0, 0, 0 },          { 1, 30, 512 },      { 0.5f, 15, 256 },     { 0.016f, 0, 8 },   { 0.0167f, 1, 9 },
              { 0.05f, 2, 26 },     /* 1.5 and a little more: binary32's 0.05 is above 1/20 */
              { 1.5f / 512, 0, 2 }, /* half to even */
              { 2.5f / 512, 0, 2 }, { 0x1p-149f, 0, 0 }, { -0.0f, 0, 0 },       { -3, 0, 0 },       { 7, 30, 512 },
              { NAN, 0, 0 },        { -NAN, 0, 0 },      { INFINITY, 30, 512 }, { -INFINITY, 0, 0 } };
#define GIVEN (sizeof given / sizeof *given)

/* Draws each of `given`, of a policy that draws one step; its level is expected to be `want` of each. */
static void expect_bins(const char *text, const int32_t *want, double low, double high)
{
    motley_policy *policy = parsed(text);
    cr_expect_eq(motley_policy_describe(policy)->takes_levels, 1);
    there_and_back(policy);
    float levels[GIVEN];
    int32_t sides[GIVEN], counts[GIVEN];
    motley_step steps[GIVEN];
    for (size_t i = 0; i < GIVEN; i++) {
        levels[i] = given[i].level;
        sides[i] = 32;
    }
    motley_samples samples = { .seed = 5 };
    motley_error error = { 0 };
    cr_expect_eq(motley_draw(policy, &samples, GIVEN, sides, sides, 3, NULL, steps, counts, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "policy 'x' takes a given level: want levels, a number from 0 to 1 for "
                                    "each of 16 images");
    samples.levels = levels;
    cr_assert_eq(motley_draw(policy, &samples, GIVEN, sides, sides, 3, NULL, steps, counts, &error), MOTLEY_OK, "%s",
                 error.message);
    const int32_t last = policy->tables.step[0].levels - 1;
    for (size_t i = 0; i < GIVEN; i++) {
        cr_assert_eq(counts[i], 1);
        cr_expect_eq(steps[i].level, want[i], "%g is level %d, want %d", levels[i], steps[i].level, want[i]);
        const double value = low + (high - low) * (want[i] / (double)last);
        cr_expect_float_eq(fabs(steps[i].values[0]), value, 1e-9, "%g: %g, want %g", levels[i], steps[i].values[0],
                           value);
    }
    motley_policy_destroy(policy);
}

Test(policy, given_levels_choose_among_the_bins_or_on_a_scale)
{
    int32_t bins[GIVEN], reals[GIVEN];
    for (size_t i = 0; i < GIVEN; i++) {
        bins[i] = given[i].bin;
        reals[i] = given[i].real;
    }
#define ROTATE "ops: {rotate: {range: [0, 30], sign: random}}\n"
    expect_bins(HEAD "bins: 31\nlevel: given\n" ROTATE "branches: [rotate]\n", bins, 0, 30);
    expect_bins(HEAD "arithmetic: torch\nbins: 31\n" ROTATE "branches: [{op: rotate, level: given}]\n", bins, 0, 30);
    expect_bins(HEAD "top: 10\nlevel: given\n" ROTATE "branches: [rotate]\n", reals, 0, 30);
    expect_bins(HEAD "bins: 31\nlevel: {given: [10, 20]}\n" ROTATE "branches: [rotate]\n", reals, 10, 20);
    expect_bins(HEAD "top: 10\nlevel: {given: [0, 5]}\n" ROTATE "branches: [rotate]\n", reals, 0, 15);
}

/* Everything else that such a policy draws is what it draws with levels of its own. */
Test(policy, given_levels_change_nothing_else)
{
    enum { N = 300 };
    motley_policy *own = builtin("trivial_augment_wide"), *policy = builtin("trivial_augment_wide");
    cr_assert_eq(mot_policy_set_level(policy, (mot_level){ .kind = MOT_LEVEL_GIVEN }, NULL), MOTLEY_OK);
    cr_assert_eq(mot_policy_compile(policy, NULL, NULL), MOTLEY_OK);
    cr_expect(!motley_policy_describe(own)->takes_levels && motley_policy_describe(policy)->takes_levels);
    there_and_back(policy);
    static motley_step drawn[N], again[N];
    static float levels[N];
    static int32_t sides[N], counts[N];
    for (int i = 0; i < N; i++)
        sides[i] = 32;
    motley_samples samples = { .seed = 8 };
    cr_assert_eq(motley_draw(own, &samples, N, sides, sides, 3, NULL, drawn, counts, NULL), MOTLEY_OK);
    for (int i = 0; i < N; i++)
        levels[i] = (float)drawn[i].level / 30;
    samples.levels = levels;
    cr_assert_eq(motley_draw(policy, &samples, N, sides, sides, 3, NULL, again, counts, NULL), MOTLEY_OK);
    cr_expect_arr_eq(drawn, again, sizeof drawn);
    cr_assert_eq(motley_draw(own, &samples, N, sides, sides, 3, NULL, again, counts, NULL), MOTLEY_OK);
    cr_expect_arr_eq(drawn, again, sizeof drawn, "a policy without given levels reads them");
    motley_policy_destroy(own);
    motley_policy_destroy(policy);
}

/* --- how often, and whether at all --- */

enum { ANY = 4000 };
static motley_step some[ANY][3], all[ANY][3];
static int32_t some_counts[ANY], all_counts[ANY], any_sides[ANY];
static float any_levels[ANY];

/* Draws ANY samples of a policy, of at most 3 steps. */
static void draw_any(const char *text, motley_step steps[ANY][3], int32_t *counts)
{
    motley_policy *policy = parsed(text);
    there_and_back(policy);
    for (int i = 0; i < ANY; i++) {
        any_sides[i] = 32;
        any_levels[i] = (float)(i % 101) / 100;
    }
    const motley_samples samples = { .seed = 8, .levels = any_levels };
    static motley_place places[ANY];
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_describe(policy)->max_steps, 3);
    cr_assert_eq(motley_draw(policy, &samples, ANY, any_sides, any_sides, 3, places, steps[0], counts, &error),
                 MOTLEY_OK, "%s", error.message);
    motley_policy_destroy(policy);
}

/* Of a policy with `p`, a sample gets nothing, or what it gets without. */
Test(policy, p_leaves_a_sample_out_or_changes_nothing)
{
#define STEPS "repeat: 3\nbranches: [invert, flip_lr, equalize]\n"
#define STAGE(p) HEAD "stages:\n  - policy: {" p "repeat: 3, branches: [invert, flip_lr, equalize]}\n"
    static const char *const pairs[][2] = {
        { HEAD STEPS, HEAD "p: 0.25\n" STEPS },
        { STAGE(""), STAGE("p: 0.25, ") },
        { HEAD "stages: [{policy: {name: rand_augment, repeat: 3}}]\n",
          HEAD "stages: [{policy: {name: rand_augment, p: 0.25, repeat: 3}}]\n" },
    };
    for (size_t t = 0; t < sizeof pairs / sizeof *pairs; t++) {
        int got = 0;
        draw_any(pairs[t][0], all, all_counts);
        draw_any(pairs[t][1], some, some_counts);
        for (int i = 0; i < ANY; i++) {
            if (some_counts[i] == 0)
                continue;
            got++;
            cr_assert_eq(some_counts[i], all_counts[i]);
            cr_assert_arr_eq(some[i], all[i], (size_t)some_counts[i] * sizeof **some);
        }
        cr_expect(abs(got - ANY / 4) < 110, "%d of %d", got, ANY); /* 4 standard deviations */
    }
}

/* A given number of repetitions begins as all of them do. */
Test(policy, given_repetitions)
{
    draw_any(HEAD STEPS, all, all_counts);
    static const char *const texts[] = { HEAD "repeat: {given: [1, 3]}\nbranches: [invert, flip_lr, equalize]\n",
                                         HEAD "stages: [{policy: {name: rand_augment, repeat: {given: [1, 3]}}}]\n" };
    for (int t = 0; t < 2; t++) {
        draw_any(texts[t], some, some_counts);
        if (t == 1)
            draw_any(HEAD "stages: [{policy: {name: rand_augment, repeat: 3}}]\n", all, all_counts);
        for (int i = 0; i < ANY; i++) {
            cr_assert_eq(some_counts[i], 1 + (int)rint(2.0 * any_levels[i]));
            cr_assert_arr_eq(some[i], all[i], (size_t)some_counts[i] * sizeof **some);
        }
    }
}

/* --- what the published policies to come need --- */

Test(policy, shape_of_fast_autoaugment)
{
    paper p = { 0 };
    add(&p, HEAD
        "top: 1\nfill: 0\nops:\n  shear_x: {range: [-0.3, 0.3], sign: random}\n"
        "  translate_x: {range: [-0.45, 0.45], of: width, sign: random}\n  rotate: {range: [-30, 30], sign: random}\n"
        "  color: {range: [0.1, 1.9]}\n  posterize: {range: [4, 8], round: trunc}\n  solarize: {range: [0, 256]}\n"
        "  cutout: {range: [0, 0.2], of: width}\nbranches:\n");
    static const char *const ops[] = { "shear_x", "translate_x", "rotate", "color", "posterize", "solarize", "cutout" };
    for (int i = 0; i < 498; i++)
        add(&p, "  - [{op: %s, p: 0.%d, level: 0.%d}, {op: invert, p: 0.%d}, {op: %s, p: 0.%d, level: 0.%d}]\n",
            ops[i % 7], 1000 + i, 5000 + i * 3, 2000 + i, ops[i % 5], 3000 + i, 1000 + i);
    motley_policy *policy = parsed(p.text);
    cr_expect_eq(policy->tables.phase[0].branches, 498);
    cr_expect_eq(policy->tables.phase[0].total_weight, 498);
    cr_expect_eq(motley_policy_describe(policy)->max_steps, 3);
    there_and_back(policy);
    motley_policy_destroy(policy);
    free(p.text);
}

Test(policy, shape_of_pba)
{
    paper p = { 0 };
    add(&p, HEAD "top: 10\nrepeat: {weights: [0.2, 0.3, 0.5]}\nchoice: until_applied\nops:\n  rotate: {range: [0, 30], "
                 "sign: random}\n"
                 "  color: {low: 0.1, span: 1.8}\nphases:\n");
    for (int phase = 0; phase < 17; phase++) {
        add(&p, "  - from: %d\n    branches:\n", phase * 12);
        for (int i = 0; i < 30; i++)
            add(&p, "      - {op: %s, p: 0.%d, level: %d}\n", i % 2 ? "rotate" : "color", i % 10, (i + phase) % 11);
    }
    motley_policy *policy = parsed(p.text);
    cr_expect_eq(policy->phases, 17);
    cr_expect_eq(motley_policy_describe(policy)->max_steps, 2);
    there_and_back(policy);
    int seen[3] = { 0 };
    for (uint32_t sample = 0; sample < 20000; sample++) { /* 30 branches leave hardly a sample short of its number */
        mot_step steps[MOT_MAX_STEPS];
        const int n = mot_draw_sample(
            &policy->tables, &(mot_drawn_sample){ 1, sample, sample % 300, 32, 32, 3, 0, 0, 0, NULL, 0 }, steps);
        cr_assert(n >= 0 && n <= 2);
        seen[n]++;
        const int phase = (int)(sample % 300) / 12 > 16 ? 16 : (int)(sample % 300) / 12;
        for (int s = 0; s < n; s++) /* p is 0 for every tenth branch, which has another level in each phase */
            cr_assert(steps[s].op == MOT_OP_ROTATE || steps[s].op == MOT_OP_COLOR, "phase %d", phase);
    }
    cr_expect(abs(seen[0] - 4000) < 250 && abs(seen[1] - 6000) < 280 && abs(seen[2] - 10000) < 300, "%d %d %d", seen[0],
              seen[1], seen[2]);
    motley_policy_destroy(policy);
    free(p.text);
}

/* Each phase has different ops, so that a draw shows its phase. */
Test(policy, phases_follow_the_epoch)
{
    motley_policy *policy =
        parsed(HEAD "phases:\n  - {from: 0, branches: [invert]}\n  - {from: 5, branches: [equalize]}\n"
                    "  - {from: 6, branches: [flip_lr]}\n");
    static const int want[] = { MOT_OP_INVERT,   MOT_OP_INVERT,  MOT_OP_INVERT,  MOT_OP_INVERT, MOT_OP_INVERT,
                                MOT_OP_EQUALIZE, MOT_OP_FLIP_LR, MOT_OP_FLIP_LR, MOT_OP_FLIP_LR };
    for (uint32_t epoch = 0; epoch < 9; epoch++) {
        mot_step step;
        cr_assert_eq(
            mot_draw_sample(&policy->tables, &(mot_drawn_sample){ 1, 3, epoch, 32, 32, 3, 0, 0, 0, NULL, 0 }, &step),
            1);
        cr_expect_eq(step.op, want[epoch], "epoch %u", epoch);
    }
    motley_policy_destroy(policy);
}

Test(policy, shape_of_timm_weighted)
{
    static const char *const ops[] = { "flip_lr", "flip_ud", "invert", "equalize", "auto_contrast", "grayscale" };
    static const double weight[] = { 3, 2, 1, 0.25, 0.05, 0.05 };
    paper p = { 0 };
    add(&p, HEAD "repeat: 3\nchoice: without_replacement\nbranches:\n");
    for (int i = 0; i < 6; i++)
        add(&p, "  - {weight: %g, steps: %s}\n", weight[i], ops[i]);
    motley_policy *policy = parsed(p.text);
    there_and_back(policy);
    int first[MOT_OP_COUNT] = { 0 }, second[MOT_OP_COUNT][MOT_OP_COUNT] = { { 0 } };
    const int samples = 60000;
    for (int sample = 0; sample < samples; sample++) {
        mot_step s[MOT_MAX_STEPS];
        cr_assert_eq(mot_draw_sample(&policy->tables,
                                     &(mot_drawn_sample){ 2, (uint64_t)sample, 0, 32, 32, 3, 0, 0, 0, NULL, 0 }, s),
                     3);
        cr_assert(s[0].op != s[1].op && s[1].op != s[2].op && s[0].op != s[2].op, "sample %d draws one twice", sample);
        first[s[0].op]++;
        second[s[0].op][s[1].op]++;
    }
    for (int i = 0; i < 6; i++) { /* weights of the first draw, and of the second after each first */
        const int a = motley_op_find(ops[i]);
        const double p1 = weight[i] / 6.35;
        cr_expect(fabs(first[a] - samples * p1) < 4 * sqrt(samples * p1 * (1 - p1)), "%s first: %d", ops[i], first[a]);
        for (int j = 0; j < 6; j++) {
            const int b = motley_op_find(ops[j]);
            const double p2 = weight[j] / (6.35 - weight[i]), n = first[a];
            if (i != j)
                cr_expect(fabs(second[a][b] - n * p2) <= 1 + 4.5 * sqrt(n * p2 * (1 - p2)), "%s after %s: %d of %g",
                          ops[j], ops[i], second[a][b], n);
        }
    }
    motley_policy_destroy(policy);
    free(p.text);
}
