/* SPDX-License-Identifier: Apache-2.0 */
/* motley_policy_change: a policy with parts of it replaced, and its parts read. */
#include "policies/builtin.h"
#include "tests/policies.h"

#include <math.h>

static motley_policy *changed(const motley_policy *base, motley_policy_changes changes)
{
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_change(base, &changes, &policy, &error), MOTLEY_OK, "%s", error.message);
    there_and_back(policy);
    return policy;
}

static void refused(const motley_policy *base, motley_policy_changes changes, const char *piece)
{
    motley_policy *policy = (motley_policy *)&policy;
    motley_error error = { 0 };
    cr_expect_eq(motley_policy_change(base, &changes, &policy, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_null(policy);
    cr_expect(strstr(error.message, piece), "'%s' lacks '%s'", error.message, piece);
}

Test(policy, changes)
{
    motley_policy *base = builtin("rand_augment"), *p = changed(base, (motley_policy_changes){ 0 });
    cr_expect(motley_policy_equal(base, p));
    motley_policy_destroy(p);

    p = changed(
        base,
        (motley_policy_changes){
            .repeat = 5, .set_level = 1, .level = 30, .interpolations = 6, .set_fill = 1, .fill = { 1, 2, 3, 4 } });
    cr_expect_eq(motley_policy_describe(p)->max_steps, 5);
    cr_expect_not(motley_policy_equal(base, p));
    bool rotates = false;
    for (uint64_t sample = 0; sample < 100; sample++) {
        const int32_t side = 100;
        motley_step steps[5];
        int32_t n;
        cr_assert_eq(motley_draw(p, &(motley_samples){ .first = sample }, 1, &side, &side, 4, NULL, steps, &n, NULL),
                     MOTLEY_OK);
        cr_assert_eq(n, 5);
        for (int s = 0; s < n; s++)
            if (steps[s].op == MOT_OP_ROTATE) {
                rotates = true;
                cr_expect_eq(fabs(steps[s].values[0]), 30);
                cr_expect_neq(steps[s].interpolation, MOTLEY_NEAREST);
                cr_expect_arr_eq(steps[s].fill, ((const uint8_t[4]){ 1, 2, 3, 4 }), 4);
            }
    }
    cr_expect(rotates);
    motley_policy_destroy(p);

    p = changed(base, (motley_policy_changes){ .bins = 11, .set_level = 1, .level = 10 });
    cr_expect_eq(p->top, 10);
    motley_policy_destroy(p);

    refused(base, (motley_policy_changes){ .set_level = 1, .level = 31 }, "level is 31, want 0..30");
    refused(base, (motley_policy_changes){ .set_level = 1, .level = -1 }, "level is -1, want 0..30");
    refused(base, (motley_policy_changes){ .set_level = 1, .level = NAN }, "want 0..30");
    refused(base, (motley_policy_changes){ .set_level = 1, .level = 2.5 }, "whole bins");
    refused(base, (motley_policy_changes){ .bins = 5 }, "level is 9, want 0..4");
    refused(base, (motley_policy_changes){ .bins = 1 }, "bins is 1, want 2 to 1024");
    refused(base, (motley_policy_changes){ .bins = 4000 }, "want 2 to 1024");
    refused(base, (motley_policy_changes){ .repeat = 17 }, "repeat is 17, want 1 to 16");
    refused(base, (motley_policy_changes){ .repeat = -1 }, "repeat is -1");
    refused(base, (motley_policy_changes){ .interpolations = 8 }, "interpolations is 8");
    motley_policy_destroy(base);

    base = builtin("timm_rand_m9_mstd05_inc1"); /* a normal level keeps its spread */
    p = changed(base, (motley_policy_changes){ .set_level = 1, .level = 7 });
    cr_expect(p->level.kind == MOTLEY_LEVEL_NORMAL && p->level.a == 7 && p->level.b == 0.5);
    motley_policy_destroy(p);
    refused(base, (motley_policy_changes){ .bins = 11 }, "has no bins");
    motley_policy_destroy(base);

    base = builtin("auto_augment_svhn"); /* levels stand at the steps */
    p = changed(base, (motley_policy_changes){ .set_level = 1, .level = 2 });
    for (uint32_t i = 0; i < p->steps; i++)
        cr_expect(p->step[i].level.kind == MOTLEY_LEVEL_NONE || p->step[i].level.a == 2);
    motley_policy_destroy(p);
    refused(base, (motley_policy_changes){ .bins = 3 }, "want 0..2");
    motley_policy_destroy(base);
}

/* The parts of a policy as changes, which give it back. */
typedef struct parts {
    motley_policy_branch branch[MOT_MAX_BRANCHES];
    motley_policy_step step[MOT_MAX_ALL_STEPS];
    motley_policy_range range[MOT_MAX_SPACES];
    motley_policy_changes changes;
} parts;

static void read_parts(const motley_policy *policy, parts *p)
{
    size_t branches = 0, steps = 0, ranges = 0;
    for (; mot_policy_branch_get(policy, branches, &p->branch[branches]); branches++) {
        size_t count = 0;
        p->branch[branches].steps = &p->step[steps];
        for (; mot_policy_step_get(policy, branches, count, &p->step[steps]); steps++)
            count++;
        cr_assert_eq(p->branch[branches].steps_count, count);
    }
    while (mot_policy_range_get(policy, ranges, &p->range[ranges]))
        ranges++;
    p->changes = (motley_policy_changes){
        .branches = p->branch, .branches_count = branches, .ranges = p->range, .ranges_count = ranges
    };
}

Test(policy, parts_there_and_back)
{
    static parts p;
    static const char *const phased = HEAD "top: 10\nops: {rotate: {range: [0, 30]}}\nphases:\n"
                                           "  - {from: 0, branches: [identity, {weight: 3, steps: invert}]}\n"
                                           "  - {from: 7, branches: [[{op: rotate, p: 0.5, level: 3}, invert]]}\n";
    for (size_t b = 0; b <= mot_builtin_count; b++) {
        motley_policy *base = NULL;
        if (b < mot_builtin_count)
            base = builtin(mot_builtins[b].name);
        else
            cr_assert_eq(motley_policy_parse(phased, strlen(phased), NULL, &base, NULL), MOTLEY_OK);
        read_parts(base, &p);
        motley_policy *copy = changed(base, p.changes);
        cr_expect(motley_policy_equal(base, copy), "%s", motley_policy_describe(base)->name);
        motley_policy_destroy(copy);
        motley_policy_destroy(base);
    }
}

/* Each change of parts gives the policy that a text would. */
Test(policy, changes_of_parts)
{
    static const char *const before = HEAD "bins: 11\nlevel: 5\nops:\n  rotate: {range: [0, 30], sign: random}\n"
                                           "  color: {range: [0, 0.9], base: 1}\n"
                                           "branches: [rotate, [{op: color, p: 0.5, level: 3}, invert]]\n";
    static const motley_policy_step solarize[] = { { "solarize", 0.25, { MOTLEY_LEVEL_VALUE, 99, 0 } } };
    static const motley_policy_step two[] = { { "rotate", 1, { MOTLEY_LEVEL_NONE, 0, 0 } },
                                              { "color", 0.5, { MOTLEY_LEVEL_FIXED, 2, 0 } } };
    static const motley_policy_branch branches[] = { { 0, 2, 1, solarize }, { 0, 1, 2, two } };
    static const motley_policy_range range = { "color", 0.1, 1.8, 0, 0.5, 1.5 };
    const struct {
        motley_policy_changes changes;
        const char *text;
    } cases[] = {
        { { .name = "other", .title = "Another \"one\"" },
          "motley: 1\nname: other\ntitle: 'Another \"one\"'\nbins: 11\nlevel: 5\nops:\n"
          "  rotate: {range: [0, 30], sign: random}\n  color: {range: [0, 0.9], base: 1}\n"
          "branches: [rotate, [{op: color, p: 0.5, level: 3}, invert]]\n" },
        { { .top = 20, .levels = { MOTLEY_LEVEL_NORMAL, 9, 0.5 } },
          HEAD "top: 20\nlevel: {normal: 9, std: 0.5}\nops:\n  rotate: {range: [0, 30], sign: random}\n"
               "  color: {range: [0, 0.9], base: 1}\nbranches: [rotate, [{op: color, p: 0.5}, invert]]\n" },
        { { .set_p = 1, .p = 0.75 },
          HEAD "bins: 11\nlevel: 5\nops:\n  rotate: {range: [0, 30], sign: random}\n"
               "  color: {range: [0, 0.9], base: 1}\n"
               "branches: [{op: rotate, p: .75}, [{op: color, p: 0.75, level: 3}, {op: invert, p: .75}]]\n" },
        { { .branches = branches, .branches_count = 2, .ranges = &range, .ranges_count = 1, .repeat = 3 },
          HEAD "bins: 11\nlevel: 5\nrepeat: 3\nops:\n  rotate: {range: [0, 30], sign: random}\n"
               "  color: {low: 0.1, span: 1.8, min: 0.5, max: 1.5}\n  invert: {}\n"
               "branches: [{weight: 2, steps: {op: solarize, p: 0.25, value: 99}}, "
               "[rotate, {op: color, p: 0.5, level: 2}]]\n" },
    };
    motley_policy *base;
    cr_assert_eq(motley_policy_parse(before, strlen(before), NULL, &base, NULL), MOTLEY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        motley_policy *p = changed(base, cases[i].changes), *wanted = NULL;
        motley_error error = { 0 };
        cr_assert_eq(motley_policy_parse(cases[i].text, strlen(cases[i].text), NULL, &wanted, &error), MOTLEY_OK, "%s",
                     error.message);
        cr_expect(motley_policy_equal(p, wanted), "case %zu", i);
        motley_policy_destroy(p), motley_policy_destroy(wanted);
    }

#define WITH(...) (&(motley_policy_step[]){ { __VA_ARGS__ } }[0])
#define ONE(first_epoch, weight, count, ...) \
    (motley_policy_changes){ .branches = \
                                 (motley_policy_branch[]){ { first_epoch, weight, count, WITH(__VA_ARGS__) } }, \
                             .branches_count = 1 }
    refused(base, ONE(0, 1, 1, "rotte", 1, { 0 }), "a step's op is 'rotte'");
    refused(base, ONE(0, 1, 1, NULL, 1, { 0 }), "a step's op is NULL");
    refused(base, ONE(0, 1, 1, "affine", 1, { 0 }), "takes 6 values");
    refused(base, ONE(0, 1, 1, "rotate", 1.5, { 0 }), "p is 1.5, want 0..1");
    refused(base, ONE(0, 1, 1, "rotate", NAN, { 0 }), "want 0..1");
    refused(base, ONE(0, 1, 1, "rotate", 1, { MOTLEY_LEVEL_FIXED, 11, 0 }), "level is 11");
    refused(base, ONE(0, 1, 1, "rotate", 1, { MOTLEY_LEVEL_FIXED, -1, 0 }), "the level is -1");
    refused(base, ONE(0, 1, 1, "rotate", 1, { MOTLEY_LEVEL_RANGE, 3, 2 }), "a lower one first");
    refused(base, ONE(0, 1, 1, "rotate", 1, { MOTLEY_LEVEL_NORMAL, 3, 0 }), "deviation is 0");
    refused(base, ONE(0, 1, 1, "rotate", 1, { (motley_level_kind)9, 3, 0 }), "kind of its level is 9");
    refused(base, ONE(0, 1, 1, "invert", 1, { MOTLEY_LEVEL_FIXED, 3, 0 }), "takes no level or value");
    refused(base, ONE(0, 1, 1, "rotate", 1, { MOTLEY_LEVEL_VALUE, INFINITY, 0 }), "the value is inf");
    refused(base, ONE(0, 0, 1, "rotate", 1, { 0 }), "sum to 0");
    refused(base, ONE(0, -1, 1, "rotate", 1, { 0 }), "its weight is -1");
    refused(base, ONE(3, 1, 1, "rotate", 1, { 0 }), "its first epoch is 3, want 0");
    refused(base, ONE(0, 1, 0, "rotate", 1, { 0 }), "branch 0 has 0 steps");
    refused(base, (motley_policy_changes){ .branches_count = 1 }, "branches is NULL");
    refused(base, (motley_policy_changes){ .branches = branches, .branches_count = 5000 }, "5000 branches");
    refused(base, (motley_policy_changes){ .ranges_count = 1 }, "ranges is NULL");
    const motley_policy_range unknown = { "hue", 0, 1, 0, -HUGE_VAL, HUGE_VAL };
    refused(base, (motley_policy_changes){ .ranges = &unknown, .ranges_count = 1 }, "no range called 'hue'");
    const motley_policy_range upside_down = { "color", 0, 1, 0, 2, 1 };
    refused(base, (motley_policy_changes){ .ranges = &upside_down, .ranges_count = 1 }, "want the lower first");
    const motley_policy_range too_wide = { "rotate", 0, 2e9, 0, -HUGE_VAL, HUGE_VAL };
    refused(base, (motley_policy_changes){ .ranges = &too_wide, .ranges_count = 1 }, "span is 2e+09");
    const motley_policy_range cut_far = { "color", 0, 1, 0, 0, 1e200 }; /* no text can say it */
    refused(base, (motley_policy_changes){ .ranges = &cut_far, .ranges_count = 1 }, "the maximum is 1e+200");
    const motley_policy_range cut_all = { "color", 0, 1, 0, HUGE_VAL, HUGE_VAL };
    refused(base, (motley_policy_changes){ .ranges = &cut_all, .ranges_count = 1 }, "the minimum is inf");
    refused(base, (motley_policy_changes){ .bins = 5, .top = 4 }, "both bins and top");
    refused(base, (motley_policy_changes){ .top = -4 }, "top is -4");
    refused(base, (motley_policy_changes){ .set_p = 1, .p = -0.1 }, "p is -0.1");
    refused(base, (motley_policy_changes){ .set_level = 1, .levels = { MOTLEY_LEVEL_UNIFORM, 0, 0 } },
            "both level and");
    refused(base, (motley_policy_changes){ .levels = { MOTLEY_LEVEL_VALUE, 3, 0 } }, "levels is a value");
    refused(base, (motley_policy_changes){ .name = "no name" }, "name is 'no name'");
    refused(base, (motley_policy_changes){ .title = "\xff" }, "title: byte 0 is not UTF-8");
    motley_policy_destroy(base);
    static const char *const others[] = {
        "motley: 1\nname: x\nstages: [flip: {horizontal: 0.5}]\n",
        "motley: 1\nname: x\nbranches: [{op: invert, p: {from: [[0, 1], [9, 0.5]]}}]\n",
    };
    for (int i = 0; i < 2; i++) {
        base = parsed(others[i]);
        refused(base, (motley_policy_changes){ .repeat = 1 }, "'x' has stages or schedules");
        motley_policy_destroy(base);
    }
}
