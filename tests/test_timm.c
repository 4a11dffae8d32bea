/* SPDX-License-Identifier: Apache-2.0 */
/* timm's configuration strings as names of policies. bindings/python/tests/test_timm_config.py compares what they draw
 * with timm. */
#include "motley.h"
#include "policies/policy.h"
#include "tests/allocations.h"
#include "tests/sweep.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void refused(const char *string, motley_status status, const char *piece)
{
    motley_policy *policy;
    motley_error error = { 0 };
    char name[600];
    snprintf(name, sizeof name, "timm:%s", string);
    cr_expect_eq(motley_policy_open(name, NULL, &policy, &error), status, "%s", string);
    cr_expect(!policy && strstr(error.message, piece), "%s: '%s', want '%s'", string, error.message, piece);
}

Test(timm, mistakes_are_named)
{
    static const char *const mistakes[][2] = {
        { "augmix-x3", "'augmix-x3': section 'x3' is not known, want m, w, d, a, b, mstd" },
        { "augmix-w9", "'augmix-w9': 'width', the number of chains, is 9, want 1..8" },
        { "augmix-w0", "the width of augmix is 0, want 1 to 8" },
        { "augmix-d9", "'repeat' is up to 9, want at most 8" },
        { "rnd-m9", "'rnd-m9': it begins with 'rnd', want rand, augmix, v0, v0r, original, originalr, 3a" },
        { "", "it begins with ''" },
        { "rand-m9-w0",
          "section 'w0' is not known, want m, n, p, mstd, mmax, inc (timm dropped w; its list of weights" },
        { "v0-m9", "section 'm9' is not known, want mstd" },
        { "rand-m9.5", "'rand-m9.5': m is '9.5', want a whole number" },
        { "rand-m9x", "m is '9x', want a whole number" },
        { "rand-mstd1.2.3", "mstd is '1.2.3', want a number" },
        { "rand-p1.5", "'p' is 1.5, want 0..1" },
        { "rand-n0", "repeat is 0, want 1 or more" },
        { "rand-n99999999999999999999", "want 1..16" },
        { "rand-m9,depth=3", "setting 'depth' is not known, want translate_pct, magnitude_std or magnitude_max" },
        { "rand-m9,", "setting '' is not known" },
        { "rand-m9,magnitude_std", "magnitude_std is '', want a number" },
        { "rand-m9,magnitude_max=1,magnitude_std=0x3", "magnitude_std is '0x3', want a number" },
    };
    for (size_t i = 0; i < COUNT(mistakes); i++)
        refused(mistakes[i][0], MOTLEY_ERR_ARGUMENT, mistakes[i][1]);
    refused("rand-m15-mstd101", MOTLEY_ERR_UNSUPPORTED, "a uniform magnitude of 0 to 15 that is cut at 10");
    char longest[500];
    memset(longest, '-', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refused(longest, MOTLEY_ERR_ARGUMENT, "it has 499 characters, want at most 399");
    longest[300] = '\0';
    refused(longest, MOTLEY_ERR_ARGUMENT, "more than 64 sections");
}

static motley_policy *opened(const char *name)
{
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_open(name, NULL, &policy, &error), MOTLEY_OK, "%s: %s", name, error.message);
    return policy;
}

Test(timm, strings_are_built_ins)
{
    cr_expect_eq(motley_policy_source_of("timm:rand-m9"), MOTLEY_POLICY_BUILTIN);
    motley_policy *const policy = opened("timm:rand-m9-mstd0.5-inc1"), *const same = opened("timm_rand_m9_mstd05_inc1");
    cr_expect_str_eq(motley_policy_describe(policy)->name, "timm_rand-m9-mstd0.5-inc1");
    cr_expect_str_eq(motley_policy_describe(policy)->title, "timm rand-m9-mstd0.5-inc1");
    cr_expect_eq(policy->fingerprint, same->fingerprint);
    motley_policy_destroy(policy);
    motley_policy_destroy(same);
}

/* A setting says what timm's hparams say: each is another policy, and what the string says, too, is replaced. */
Test(timm, settings_replace_what_the_string_says)
{
    static const char *const same[][2] = { { "rand-m9-mstd0.5", "rand-m9-mstd3,magnitude_std=0.5" },
                                           { "rand-m15-mmax20", "rand-m15,magnitude_max=20" },
                                           { "rand-m9-mstd101", "rand-m9,magnitude_std=inf" },
                                           { "rand-m9,magnitude_std=0,magnitude_max=0", "rand-m9" } };
    for (size_t i = 0; i < COUNT(same); i++) {
        char names[2][80];
        for (int k = 0; k < 2; k++)
            snprintf(names[k], sizeof names[k], "timm:%s", same[i][k]);
        motley_policy *const a = opened(names[0]), *const b = opened(names[1]), *const plain = opened("timm:rand-m2");
        cr_expect_eq(a->fingerprint, b->fingerprint, "%s", same[i][1]);
        cr_expect_neq(a->fingerprint, plain->fingerprint);
        motley_policy_destroy(a);
        motley_policy_destroy(b);
        motley_policy_destroy(plain);
    }
}

Test(timm, a_transform_names_them)
{
    const char *const text = "motley: 1\nname: x\nstages:\n  - policy: \"timm:3a-mstd0.5,translate_pct=0.3\"\n"
                             "  - policy: {name: \"timm:augmix-m5\", repeat: 2}\n";
    motley_policy *transform;
    motley_error error = { 0 };
    char *printed;
    cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &transform, &error), MOTLEY_OK, "%s", error.message);
    cr_assert_eq(motley_policy_print(transform, MOTLEY_PRINT_TEXT, &printed, NULL), MOTLEY_OK);
    cr_expect_str_eq(printed, text);
    free(printed);
    motley_policy_destroy(transform);
    cr_assert_eq(motley_policy_builtin("timm:v0r-mstd0.5", &transform, &error), MOTLEY_OK, "%s", error.message);
    cr_expect_str_eq(motley_policy_describe(transform)->name, "timm_v0r-mstd0.5");
    motley_policy_destroy(transform);
    const char *const wrong = "motley: 1\nname: x\nstages:\n  - policy: timm:rand-x9\n";
    cr_expect_eq(motley_policy_parse(wrong, strlen(wrong), NULL, &transform, &error), MOTLEY_ERR_POLICY);
    cr_expect(error.line == 4 && error.column == 13 && strstr(error.message, "section 'x9' is not known"), "%d:%d: %s",
              error.line, error.column, error.message);
}

/* Any string of these pieces is refused with a sentence, or is a policy that prints and reads back equal. */
Test(timm, strings_of_any_pieces)
{
    static const char *const pieces[] = {
        "rand",     "3a", "v0", "augmix", "-",   "-m",  "-n", "-mstd",          "-inc", "-t3a", "-w",
        "-d",       "-p", "9",  "0",      "1.5", "200", ",",  "magnitude_std=", "inf",  "=",    "translate_pct=",
        "\xc3\xa9", "\"", "\\", "1e9"
    };
    uint32_t word = 1;
    size_t good = 0;
    const size_t tried = sweep(3000, "strings of random pieces");
    for (size_t i = 0; i < tried; i++) {
        char name[200] = "timm:";
        strcat(name, pieces[i % 4]);
        for (size_t k = i % 7; k > 0; k--) {
            word = word * 1664525u + 1013904223u;
            strcat(name, pieces[(word >> 16) % COUNT(pieces)]);
        }
        motley_policy *policy, *back;
        motley_error error = { 0 };
        if (motley_policy_open(name, NULL, &policy, &error) != MOTLEY_OK) {
            cr_expect(!policy && error.message[0], "%s", name);
            continue;
        }
        good++;
        char *text;
        cr_assert_eq(motley_policy_print(policy, MOTLEY_PRINT_JSON, &text, NULL), MOTLEY_OK);
        cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &back, &error), MOTLEY_OK, "%s: %s\n%s", name,
                     error.message, text);
        cr_expect(motley_policy_equal(policy, back), "%s", name);
        free(text);
        motley_policy_destroy(policy);
        motley_policy_destroy(back);
    }
    cr_expect_gt(good, tried / 6);
}

static motley_status open_one(void)
{
    motley_policy *policy;
    const motley_status status = motley_policy_open("timm:3a-mstd0.5", NULL, &policy, NULL);
    motley_policy_destroy(policy);
    return status;
}

Test(timm, failing_allocations)
{
    fail_each(open_one, "a timm string", true);
}
