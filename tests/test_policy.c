/* SPDX-License-Identifier: Apache-2.0 */
/* Policies: texts in and out, what is refused and how it is reported, levels, changes, and failing allocations. */
#include "augmentations/table.h"
#include "base/number.h"
#include "motley.h"
#include "policies/draw.h"
#include "policies/policy.h"
#include "policies/yaml.h"
#include "tests/allocations.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- help --- */

static motley_policy *parsed(const char *text)
{
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &policy, &error), MOTLEY_OK, "%d:%d: %s\n%s", error.line,
                 error.column, error.message, text);
    return policy;
}

static motley_policy *builtin(const char *name)
{
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_builtin(name, &policy, &error), MOTLEY_OK, "%s", error.message);
    return policy;
}

/* A text that is put together piece by piece. */
typedef struct paper {
    char *text;
    size_t used;
} paper;

__attribute__((format(printf, 2, 3))) static void add(paper *p, const char *format, ...)
{
    enum { ROOM = 3 << 20 };
    if (!p->text)
        p->text = malloc(ROOM);
    va_list values;
    va_start(values, format);
    p->used += (size_t)vsnprintf(p->text + p->used, ROOM - p->used, format, values);
    va_end(values);
    cr_assert_lt(p->used, ROOM);
}

static motley_status status_of(const char *text, size_t length, motley_error *error)
{
    motley_policy *policy = (motley_policy *)&policy;
    const motley_status status = motley_policy_parse(text, length, NULL, &policy, error);
    cr_expect_eq(policy == NULL, status != MOTLEY_OK);
    motley_policy_destroy(policy);
    return status;
}

/* Prints, reads back, and expects the same policy and the same text. */
static void there_and_back(const motley_policy *policy)
{
    char *text, *again;
    cr_assert_eq(motley_policy_print(policy, &text, NULL), MOTLEY_OK);
    motley_policy *back = parsed(text);
    cr_expect(motley_policy_equal(policy, back), "%s is another policy after:\n%s", motley_policy_name(policy), text);
    cr_assert_eq(motley_policy_print(back, &again, NULL), MOTLEY_OK);
    cr_expect_str_eq(text, again);
    cr_expect_eq(policy->compiled_bytes, back->compiled_bytes);
    cr_expect_arr_eq(policy->compiled, back->compiled, policy->compiled_bytes, "%s draws otherwise after:\n%s",
                     motley_policy_name(policy), text);
    motley_policy_destroy(back);
    free(text);
    free(again);
}

/* --- built-ins --- */

Test(policy, builtins_go_there_and_back)
{
    static const char *const expected[] = { "auto_augment_cifar10",
                                            "auto_augment_imagenet",
                                            "auto_augment_svhn",
                                            "dali_auto_augment_image_net",
                                            "dali_rand_augment",
                                            "dali_trivial_augment_wide",
                                            "rand_augment",
                                            "tf_rand_augment",
                                            "timm_3_augment",
                                            "timm_auto_augment_original",
                                            "timm_auto_augment_originalr",
                                            "timm_auto_augment_v0",
                                            "timm_auto_augment_v0r",
                                            "timm_rand_augment",
                                            "timm_rand_augment_3a",
                                            "timm_rand_augment_3aw",
                                            "timm_rand_augment_weights",
                                            "timm_rand_m9_mstd05_inc1",
                                            "trivial_augment_wide" };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        motley_policy_destroy(builtin(expected[i]));
    const size_t count = motley_policy_builtin_count();
    cr_expect_geq(count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < count; i++) {
        const char *name = motley_policy_builtin_name(i);
        motley_policy *policy = builtin(name);
        cr_expect_str_eq(motley_policy_name(policy), name);
        cr_expect_str_neq(motley_policy_title(policy), name, "%s has no title", name);
        cr_expect(strstr(motley_policy_paper(policy), "arXiv:"), "%s cites no paper", name);
        cr_expect(policy->table && policy->version, "%s does not say where its numbers come from", name);
        cr_expect_eq(motley_policy_builtin_text(i)[0], '#', "%s does not begin with its citation", name);
        there_and_back(policy);
        motley_policy_destroy(policy);
    }
    cr_expect_null(motley_policy_builtin_name(count));
    cr_expect_null(motley_policy_builtin_text(count));
}

Test(policy, unknown_builtin_names_the_nearest)
{
    motley_policy *policy;
    motley_error error;
    cr_expect_eq(motley_policy_builtin("rand_augmemt", &policy, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_null(policy);
    cr_expect(strstr(error.message, "did you mean 'rand_augment'?"), "%s", error.message);
    cr_expect_eq(motley_policy_builtin("qqqqqqqqqqqqqqqqqqqqqqq", &policy, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_eq(motley_policy_builtin(NULL, &policy, &error), MOTLEY_ERR_ARGUMENT);
}

/* --- what is refused --- */

typedef struct told {
    motley_error problem[MOT_MAX_PROBLEMS + 1];
    int count;
} told;

static void keep(void *user, const motley_error *problem)
{
    told *t = user;
    cr_assert_lt(t->count, MOT_MAX_PROBLEMS + 1);
    t->problem[t->count++] = *problem;
}

/* Checks a file against its first lines, "# ERR_POLICY line:column message", one for each problem in order. A message
 * that ends in "..." continues in libyaml's words. */
static void check_bad_file(const char *path)
{
    static told got;
    got.count = 0;
    motley_policy *policy;
    motley_error error = { 0 };
    const motley_parse_params params = { .report = keep, .user = &got };
    cr_expect_eq(motley_policy_load(path, &params, &policy, &error), MOTLEY_ERR_POLICY, "%s is taken", path);
    cr_assert_null(policy);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    char line[1024];
    int expected = 0;
    while (fgets(line, sizeof line, file) && strncmp(line, "# ERR_POLICY ", 13) == 0) {
        char found[400];
        line[strcspn(line, "\n")] = '\0';
        const motley_error *p = &got.problem[expected++];
        if (expected > got.count)
            break;
        snprintf(found, sizeof found, "# %s %d:%d %s", motley_status_name(p->status), p->line, p->column, p->message);
        char *open_end = strstr(line, " ...");
        if (open_end)
            found[open_end - line] = *open_end = '\0';
        cr_expect_str_eq(found, line, "%s:\n  told   %s\n  wanted %s", path, found, line);
    }
    fclose(file);
    cr_expect_eq(expected, got.count, "%s: %d problems told, %d wanted", path, got.count, expected);
    cr_assert_geq(expected, 1, "%s does not say what it must give", path);
    cr_expect(memcmp(&error, &got.problem[0], sizeof error) == 0, "%s: the error is not the first problem", path);
}

Test(policy, bad_policies_give_what_they_say)
{
    DIR *folder = opendir(BAD_POLICIES);
    cr_assert_not_null(folder, "cannot open " BAD_POLICIES);
    int files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        if (!strstr(entry->d_name, ".yaml"))
            continue;
        snprintf(path, sizeof path, BAD_POLICIES "/%s", entry->d_name);
        check_bad_file(path);
        files++;
    }
    closedir(folder);
    cr_expect_geq(files, 90);
}

Test(policy, files_that_cannot_be_read)
{
    motley_policy *policy;
    motley_error error;
    cr_expect_eq(motley_policy_load("/no/such/file.yaml", NULL, &policy, &error), MOTLEY_ERR_IO);
    cr_expect(strstr(error.message, "/no/such/file.yaml: No such file"), "%s", error.message);
    cr_expect_eq(motley_policy_load("/", NULL, &policy, &error), MOTLEY_ERR_IO);
    cr_expect_eq(motley_policy_load("/dev/null", NULL, &policy, &error), MOTLEY_ERR_POLICY);
    cr_expect(strstr(error.message, "empty"), "%s", error.message);
    cr_expect_eq(motley_policy_load("/dev/zero", NULL, &policy, &error), MOTLEY_ERR_POLICY);
    cr_expect(strstr(error.message, "want at most 1048576"), "%s", error.message);
}

#define HEAD "motley: 1\nname: x\n"

static void expect_refused(paper *p, const char *piece)
{
    motley_error error = { 0 };
    cr_expect_eq(status_of(p->text, p->used, &error), MOTLEY_ERR_POLICY, "taken: %.60s", p->text);
    cr_expect(strstr(error.message, piece), "'%s' lacks '%s'", error.message, piece);
    free(p->text);
}

Test(policy, limits)
{
    motley_error error = { 0 };
    paper p = { 0 }; /* comments fill a text up to its limit */
    add(&p, HEAD "branches: [identity]\n#");
    while (p.used < MOT_MAX_TEXT_BYTES)
        p.text[p.used++] = 'x';
    cr_expect_eq(status_of(p.text, MOT_MAX_TEXT_BYTES, &error), MOTLEY_OK, "%s", error.message);
    p.text[p.used++] = 'x';
    expect_refused(&p, "the text has 1048577 bytes, want at most 1048576");

    p = (paper){ 0 };
    add(&p, HEAD "branches:\n");
    for (int i = 0; i < MOT_MAX_BRANCHES + 1; i++)
        add(&p, "- invert\n");
    cr_expect_eq(status_of(p.text, p.used - 9, &error), MOTLEY_OK, "%s", error.message);
    expect_refused(&p, "more than 4096 branches");

    p = (paper){ 0 };
    add(&p, HEAD "branches:\n");
    static const char row[] = "- [invert,invert,invert,invert,invert,invert,invert,invert,"
                              "invert,invert,invert,invert,invert,invert,invert,invert]\n";
    for (int i = 0; i < MOT_MAX_ALL_STEPS / 16 + 1; i++)
        add(&p, "%s", row);
    cr_expect_eq(status_of(p.text, p.used - strlen(row), &error), MOTLEY_OK, "%s", error.message);
    expect_refused(&p, "more than 5120 steps");

    p = (paper){ 0 };
    add(&p, HEAD "bins: 2\nlevel: 1\nops:\n");
    for (int i = 0; i < MOT_MAX_SPACES + 1; i++)
        add(&p, "  r%d: {op: rotate, range: [0, 30]}\n", i);
    add(&p, "branches: [r0]\n");
    expect_refused(&p, "more than 64 operations");

    p = (paper){ 0 };
    add(&p, HEAD "phases:\n");
    for (int i = 0; i < MOT_MAX_PHASES + 1; i++)
        add(&p, "- {from: %d, branches: [invert]}\n", i);
    expect_refused(&p, "1 to 1024 phases");

    p = (paper){ 0 };
    add(&p, HEAD "top: 10\nops:\n  rotate: {range: [0, 30]}\nbranches:\n");
    for (int i = 0; i < 129; i++)
        add(&p, "- {op: rotate, level: {normal: 5.%03d, std: 0.5}}\n", i);
    expect_refused(&p, "more than 65536 levels");

    p = (paper){ 0 };
    add(&p, HEAD "branches: [");
    for (int i = 0; i < (int)MOT_MAX_NODES; i++)
        add(&p, "a,");
    expect_refused(&p, "more than 262144 values");

    p = (paper){ 0 };
    add(&p, HEAD "branches: ");
    for (int i = 0; i < 100000; i++)
        add(&p, "[");
    expect_refused(&p, "nested deeper than 16");
}

Test(policy, too_many_problems_are_cut)
{
    paper p = { 0 };
    add(&p, HEAD "branches:\n");
    for (int i = 0; i < 500; i++)
        add(&p, "- nothing_of_the_kind\n");
    told got = { .count = 0 };
    motley_policy *policy;
    const motley_parse_params params = { .report = keep, .user = &got };
    cr_expect_eq(motley_policy_parse(p.text, p.used, &params, &policy, NULL), MOTLEY_ERR_POLICY);
    cr_expect_eq(got.count, MOT_MAX_PROBLEMS);
    for (int i = 0; i < got.count; i++)
        cr_expect_eq(got.problem[i].line, 4 + i);
    free(p.text);
}

/* --- texts --- */

Test(policy, json_is_a_text_too)
{
    motley_policy *yaml =
        parsed(HEAD "title: \"M\\u00fcller's \\\"x\\\"\"\nbins: 11\nlevel: {uniform: [1, 2.5]}\nops:\n"
                    "  bits: {op: posterize, range: [8, 4], round: half_even}\nbranches:\n"
                    "  - {weight: 2, steps: bits}\n  - [invert, {op: bits, p: 0.5, level: uniform}]\n");
    motley_policy *json =
        parsed("{\"motley\": 1, \"name\": \"x\", \"title\": \"M\303\274ller's \\\"x\\\"\", \"bins\": 11,\r\n"
               "\"level\": {\"uniform\": [1, 2.5]},\t\"ops\": {\"bits\": {\"op\": \"posterize\", "
               "\"range\": [8, 4], \"round\": \"half_even\"}},\n\"branches\": [{\"weight\": 2, "
               "\"steps\": \"bits\"}, [\"invert\", {\"op\": \"bits\", \"p\": 5e-1, \"level\": "
               "\"uniform\"}]]}");
    cr_expect(motley_policy_equal(yaml, json));
    there_and_back(yaml);
    motley_policy_destroy(yaml);
    motley_policy_destroy(json);
}

/* JSON writers escape a character beyond U+FFFF as a pair, and the places of what follows stay right. */
Test(policy, json_with_escaped_pairs)
{
    motley_policy *yaml = parsed(HEAD "title: \"\360\237\230\200\\\\ud83d\\\"\360\220\200\200\"\nbranches: [invert]\n");
    motley_policy *json =
        parsed("{\"motley\": 1, \"name\": \"x\", \"title\":\"\\uD83D\\uDE00\\\\ud83d\\\"\\ud800\\udc00\","
               "\"branches\": [\"invert\"]}");
    cr_expect(motley_policy_equal(yaml, json));
    motley_policy_destroy(yaml);
    motley_policy_destroy(json);

    const char *const wrong =
        "{\"title\": \"\\ud83d\\ude00\", \"fil\": 3, \"motley\": 1, \"name\": \"x\", \"branches\": [\"invert\"]}";
    motley_policy *policy;
    motley_error error;
    cr_expect_eq(motley_policy_parse(wrong, strlen(wrong), NULL, &policy, &error), MOTLEY_ERR_POLICY);
    cr_expect(error.column == 27 && strstr(error.message, "'fil'"), "%d: %s", error.column, error.message);
    static const char *const broken[] = { "\\ud83d", "\\ud83dx", "\\ud83d\\u0041", "\\ude00\\ud83d", "\\ud83d\\ude0" };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char text[100];
        snprintf(text, sizeof text, "{\"motley\": 1, \"name\": \"x\", \"title\": \"%s\"}", broken[i]);
        cr_expect_eq(motley_policy_parse(text, strlen(text), NULL, &policy, &error), MOTLEY_ERR_POLICY);
        cr_expect(error.column > 35 && strstr(error.message, "not well-formed YAML"), "%s: %d: %s", broken[i],
                  error.column, error.message);
    }
}

/* Every odd text survives printing and parsing. */
Test(policy, odd_texts_come_back)
{
    motley_policy *policy = parsed(
        HEAD
        "title: \"tab\\t nl\\n quote\\\" back\\\\ nel\\x85 nbsp\\xa0 bom\\uFEFF ls\\u2028 \\U0001F600 \\x01 # : - \"\n"
        "paper: '  leading and trailing  '\ntable: \"\"\nversion: \"null\"\nprofile: paper\n"
        "interpolation: [bicubic, nearest]\nfill: [1, 2, 3, 255]\nrepeat: {weights: [0, 1e-7, 0.1, 3]}\n"
        "choice: without_replacement\ntop: 0.1\nlevel: {normal: 0.05, std: 1e-3}\nops:\n"
        "  a.b-c_1: {op: color, low: 0.1, span: 1.8, base: -0.3, sign: random, min: -5e-324, max: 1.7e8}\n"
        "  translate_x: {range: [-0.3333333333333333, 0.1], of: height, round: half_even, sign: minus}\n"
        "  shear_y: {range: [0, 0.123456789012345678], via: degrees, fill: 9}\n  invert: {}\n"
        "  unused: {op: rotate, fill: [1, 2, 3]}\n  cutout: {fill: [125, 122, 113, 0]}\n"
        "phases:\n  - {from: 0, branches: [a.b-c_1]}\n  - from: 1073741823\n    branches:\n"
        "      - {weight: 0, steps: [invert, a.b-c_1]}\n"
        "      - {weight: 0.30000000000000004, steps: [{op: translate_x, p: 0.1, level: {uniform: [0, 0.05]}}]}\n"
        "      - [{op: shear_y, level: 0.1}, {op: unused, value: -3.5e-10}]\n");
    there_and_back(policy);
    motley_policy_destroy(policy);
}

Test(policy, each_difference_shows)
{
    static const char *const lines[] = { "name: x",
                                         "title: a",
                                         "profile: timm",
                                         "paper: b",
                                         "table: c",
                                         "version: d",
                                         "arithmetic: double",
                                         "interpolation: nearest",
                                         "fill: 0",
                                         "repeat: 2",
                                         "choice: with_replacement",
                                         "bins: 11",
                                         "level: 3",
                                         "ops: {rotate: {range: [0, 30]}, color: {range: [0, 1], base: 1, sign: "
                                         "random, round: none, min: 0, max: 2}, shear_x: {range: [0, 1]}}",
                                         "branches: [rotate, {weight: 2, steps: [color, {op: shear_x, p: 0.5}]}]" };
    static const struct {
        int line;
        const char *instead;
    } changes[] = {
        { 0, "name: y" },
        { 1, "title: b" },
        { 1, "" },
        { 2, "profile: dali" },
        { 3, "paper: c" },
        { 4, "table: d" },
        { 5, "" },
        { 6, "arithmetic: torch" },
        { 7, "interpolation: [nearest, bicubic]" },
        { 7, "interpolation: bicubic" },
        { 8, "fill: 1" },
        { 8, "fill: [0, 0, 0]" },
        { 9, "repeat: 3" },
        { 9, "repeat: {weights: [0, 0, 1]}" },
        { 10, "choice: without_replacement" },
        { 11, "bins: 12" },
        { 11, "top: 10" },
        { 12, "level: 4" },
        { 12, "level: uniform" },
        { 13, "ops: {rotate: {range: [0, 31]}, color: {range: [0, 1], base: 1, sign: random, min: 0, max: 2}, shear_x: "
              "{range: [0, 1]}}" },
        { 13, "ops: {rotate: {range: [1, 30]}, color: {range: [0, 1], base: 1, sign: random, min: 0, max: 2}, shear_x: "
              "{range: [0, 1]}}" },
        { 13, "ops: {rotate: {range: [0, 30]}, color: {range: [0, 1], base: 2, sign: random, min: 0, max: 2}, shear_x: "
              "{range: [0, 1]}}" },
        { 13, "ops: {rotate: {range: [0, 30]}, color: {range: [0, 1], base: 1, min: 0, max: 2}, shear_x: {range: [0, "
              "1]}}" },
        { 13, "ops: {rotate: {range: [0, 30]}, color: {range: [0, 1], base: 1, sign: random, round: trunc, min: 0, "
              "max: 2}, shear_x: {range: [0, 1]}}" },
        { 13, "ops: {rotate: {range: [0, 30]}, color: {range: [0, 1], base: 1, sign: random, max: 2}, shear_x: {range: "
              "[0, 1]}}" },
        { 13, "ops: {rotate: {range: [0, 30]}, color: {range: [0, 1], base: 1, sign: random, min: 0, max: 3}, shear_x: "
              "{range: [0, 1]}}" },
        { 13, "ops: {rotate: {range: [0, 30]}, color: {range: [0, 1], base: 1, sign: random, min: 0, max: 2}, shear_x: "
              "{range: [0, 1], via: degrees}}" },
        { 14, "branches: [rotate, {weight: 3, steps: [color, {op: shear_x, p: 0.5}]}]" },
        { 14, "branches: [color, {weight: 2, steps: [color, {op: shear_x, p: 0.5}]}]" },
        { 14, "branches: [rotate, {weight: 2, steps: [color, {op: shear_x, p: 0.25}]}]" },
        { 14, "branches: [rotate, {weight: 2, steps: [color, {op: shear_x, p: 0.5, level: 4}]}]" },
        { 14, "branches: [rotate, {weight: 2, steps: [color]}, shear_x]" },
        { 14, "phases: [{from: 0, branches: [rotate]}, {from: 1, branches: [{weight: 2, steps: [color, {op: shear_x, "
              "p: 0.5}]}]}]" },
    };
    motley_policy *base = NULL;
    for (int i = -1; i < (int)(sizeof changes / sizeof *changes); i++) {
        paper p = { 0 };
        add(&p, "motley: 1\n");
        for (int line = 0; line < 15; line++)
            add(&p, "%s\n", i >= 0 && changes[i].line == line ? changes[i].instead : lines[line]);
        motley_policy *policy = parsed(p.text);
        there_and_back(policy);
        if (i < 0) {
            base = policy;
            motley_policy *copy = mot_policy_copy(base);
            cr_expect(motley_policy_equal(base, copy));
            motley_policy_destroy(copy);
        } else {
            cr_expect_not(motley_policy_equal(base, policy), "'%s' makes no difference", changes[i].instead);
            motley_policy_destroy(policy);
        }
        free(p.text);
    }
    motley_policy_destroy(base);
}

Test(policy, numbers_keep_every_bit)
{
    uint64_t state = 1;
    for (int i = 0; i < 200000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t bits = i < 1000 ? (uint64_t)i : state ^ (state >> 31);
        double value, back;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        char text[MOT_NUMBER_ROOM];
        mot_number_print(value, text);
        cr_assert(mot_number_parse(text, &back) && memcmp(&back, &value, sizeof back) == 0, "%s is not %a", text,
                  value);
    }
    static const char *const wrong[] = { "",      ".",     "-",   "1e",   "1e+",     "0x10",   "1 ",
                                         " 1",    "inf",   "nan", ".inf", "1e999",   "-1e999", "1,5",
                                         "1.2.3", "1_000", "--1", "1f",   "infinity" };
    double value;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_not(mot_number_parse(wrong[i], &value), "'%s' is taken for a number", wrong[i]);
    cr_expect(mot_number_parse("+.5e-1", &value) && value == 0.05);
    cr_expect(mot_number_parse("5.", &value) && value == 5);
}

Test(policy, numbers_in_another_locale)
{
    static const char *const commas[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8" };
    size_t i = 0;
    while (i < sizeof commas / sizeof *commas && !setlocale(LC_ALL, commas[i]))
        i++;
    if (i == sizeof commas / sizeof *commas)
        cr_skip_test("no locale with a decimal comma is installed");
    cr_assert_eq(strtod("1,5", NULL), 1.5);
    for (size_t b = 0; b < motley_policy_builtin_count(); b++) {
        motley_policy *policy = builtin(motley_policy_builtin_name(b));
        there_and_back(policy);
        motley_policy_destroy(policy);
    }
}

Test(policy, a_change_keeps_no_number_that_its_level_does_not_have)
{
    const motley_level levels[] = { { MOTLEY_LEVEL_UNIFORM, 5, 7 }, { MOTLEY_LEVEL_FIXED, 5, 7 } };
    motley_policy *base = builtin("rand_augment"), *changed;
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(motley_policy_change(base, &(motley_policy_changes){ .levels = levels[i] }, &changed, NULL),
                     MOTLEY_OK);
        there_and_back(changed);
        motley_policy_destroy(changed);
    }
    motley_policy_destroy(base);
}

/* --- levels --- */

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

static const struct {
    const char *policy, *space;
    int level;
    double value[2];
} known_levels[] = {
#include "known_levels.inc"
};

Test(policy, levels_of_every_policy_with_bins)
{
    const size_t count = sizeof known_levels / sizeof *known_levels;
    motley_policy *policy = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!policy || strcmp(motley_policy_name(policy), known_levels[i].policy) != 0) {
            motley_policy_destroy(policy);
            policy = builtin(known_levels[i].policy);
        }
        for (uint32_t s = 0; s < policy->spaces; s++) {
            const mot_space *space = &policy->space[s];
            for (int minus = 0; strcmp(space->name, known_levels[i].space) == 0 && minus < 2; minus++) {
                const double want = known_levels[i].value[minus];
                const double got =
                    mot_space_value(policy, space, known_levels[i].level, space->sign == MOT_SIGN_RANDOM ? minus : 0);
                cr_expect_eq(got, want, "%s of %s at level %d is %.17g, want %.17g", space->name,
                             known_levels[i].policy, known_levels[i].level, got, want);
            }
        }
    }
    motley_policy_destroy(policy);
    cr_expect_geq(count, 900);
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
    const motley_level wide = { MOTLEY_LEVEL_NORMAL, 5, 0.5 };
    for (int k = 0; k < MOT_QUANTILES; k++) {
        const double level = mot_level_quantile(policy, &wide, k);
        cr_expect_gt(level, last);
        last = level;
        sum += level - 5;
        squares += (level - 5) * (level - 5);
        cr_expect_eq(level - 5, 5 - mot_level_quantile(policy, &wide, MOT_QUANTILES - 1 - k)); /* symmetric */
        const double cut = mot_level_quantile(policy, &policy->level, k);
        cr_expect(cut >= 0 && cut <= 10);
    }
    cr_expect_eq(sum, 0);
    cr_expect_float_eq(squares / MOT_QUANTILES, 0.25, 0.002);
    /* Their places on the normal distribution, to the 2^-20 that they are rounded to. */
    cr_expect_float_eq((mot_level_quantile(policy, &wide, 256) - 5) / 0.5, 0.002447882, 1e-6);
    cr_expect_float_eq((mot_level_quantile(policy, &wide, 511) - 5) / 0.5, 3.097269078, 1e-6);
    motley_policy_destroy(policy);
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
    cr_expect_eq(motley_policy_max_steps(policy), 3);
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
    cr_expect_eq(motley_policy_max_steps(policy), 2);
    there_and_back(policy);
    int seen[3] = { 0 };
    for (uint32_t sample = 0; sample < 20000; sample++) { /* 30 branches leave hardly a sample short of its number */
        mot_step steps[MOT_MAX_STEPS];
        const int n =
            mot_draw_sample(&policy->tables, &(mot_drawn_sample){ 1, sample, sample % 300, 32, 32, 3, 0 }, steps);
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
        cr_assert_eq(mot_draw_sample(&policy->tables, &(mot_drawn_sample){ 1, 3, epoch, 32, 32, 3, 0 }, &step), 1);
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
        cr_assert_eq(mot_draw_sample(&policy->tables, &(mot_drawn_sample){ 2, (uint64_t)sample, 0, 32, 32, 3, 0 }, s),
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

/* --- changes --- */

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
    cr_expect_eq(motley_policy_max_steps(p), 5);
    cr_expect_not(motley_policy_equal(base, p));
    bool rotates = false;
    for (uint64_t sample = 0; sample < 100; sample++) {
        const int32_t side = 100;
        motley_step steps[5];
        int32_t n;
        cr_assert_eq(motley_draw(p, &(motley_samples){ .first = sample }, 1, &side, &side, 4, steps, &n, NULL),
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
    for (; motley_policy_branch_get(policy, branches, &p->branch[branches]); branches++) {
        size_t count = 0;
        p->branch[branches].steps = &p->step[steps];
        for (; motley_policy_step_get(policy, branches, count, &p->step[steps]); steps++)
            count++;
        cr_assert_eq(p->branch[branches].steps_count, count);
    }
    while (motley_policy_range_get(policy, ranges, &p->range[ranges]))
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
    for (size_t b = 0; b <= motley_policy_builtin_count(); b++) {
        motley_policy *base = NULL;
        if (b < motley_policy_builtin_count())
            base = builtin(motley_policy_builtin_name(b));
        else
            cr_assert_eq(motley_policy_parse(phased, strlen(phased), NULL, &base, NULL), MOTLEY_OK);
        read_parts(base, &p);
        motley_policy *copy = changed(base, p.changes);
        cr_expect(motley_policy_equal(base, copy), "%s", motley_policy_name(base));
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
    refused(base, (motley_policy_changes){ .title = "\xff" }, "title: byte 0 is no UTF-8");
    motley_policy_destroy(base);
}

/* --- names, places and texts; draws as JSON --- */

Test(policy, sources)
{
    static const char *const text = HEAD "branches: [invert]\n",
                             *const json = " {\"motley\": 1, \"name\": \"x\", \"branches\": [\"invert\"]}";
    char path[] = "/tmp/motley-test-XXXXXX";
    const int file = mkstemp(path);
    cr_assert(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    const struct {
        const char *policy;
        motley_policy_source source;
        motley_status status;
        const char *piece;
    } cases[] = {
        { "rand_augment", MOTLEY_POLICY_BUILTIN, MOTLEY_OK, "rand_augment" },
        { "rand_augmnt", MOTLEY_POLICY_BUILTIN, MOTLEY_ERR_ARGUMENT, "did you mean 'rand_augment'" },
        { text, MOTLEY_POLICY_TEXT, MOTLEY_OK, "x" },
        { json, MOTLEY_POLICY_TEXT, MOTLEY_OK, "x" },
        { "{nonsense}", MOTLEY_POLICY_TEXT, MOTLEY_ERR_POLICY, "" },
        { path, MOTLEY_POLICY_FILE, MOTLEY_OK, "x" },
        { strrchr(path, '/') + 1, MOTLEY_POLICY_FILE, MOTLEY_OK, "x" }, /* in the working directory */
        { "nowhere.yaml", MOTLEY_POLICY_FILE, MOTLEY_ERR_IO, "nowhere.yaml" },
        { "no/where", MOTLEY_POLICY_FILE, MOTLEY_ERR_IO, "no/where" },
        { ".json", MOTLEY_POLICY_BUILTIN, MOTLEY_ERR_ARGUMENT, ".json" },
    };
    cr_assert_eq(chdir("/tmp"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        motley_policy *policy = (motley_policy *)&policy;
        motley_error error = { 0 };
        cr_expect_eq(motley_policy_source_of(cases[i].policy), cases[i].source, "%s", cases[i].policy);
        cr_expect_eq(motley_policy_open(cases[i].policy, NULL, &policy, &error), cases[i].status, "%s",
                     cases[i].policy);
        if (cases[i].status == MOTLEY_OK)
            cr_expect_str_eq(motley_policy_name(policy), cases[i].piece);
        else
            cr_expect(!policy && strstr(error.message, cases[i].piece), "%s", error.message);
        motley_policy_destroy(policy);
    }
    cr_expect_eq(motley_policy_open(NULL, NULL, &(motley_policy *){ 0 }, NULL), MOTLEY_ERR_ARGUMENT);
    close(file);
    unlink(path);
}

Test(policy, enum_names)
{
    cr_expect_str_eq(motley_dtype_name(MOTLEY_BF16), "bfloat16");
    cr_expect_null(motley_dtype_name((motley_dtype)4));
    cr_expect_str_eq(motley_layout_name(MOTLEY_CHW), "chw");
    cr_expect_null(motley_layout_name((motley_layout)2));
    cr_expect_str_eq(motley_interpolation_name(MOTLEY_BICUBIC), "bicubic");
    cr_expect_null(motley_interpolation_name((motley_interpolation)3));
    cr_expect_str_eq(motley_backend_name(MOTLEY_BACKEND_REFERENCE), "reference");
    cr_expect_null(motley_backend_name((motley_backend)-1));
    cr_expect_str_eq(motley_shape_name(MOTLEY_SHAPE_CUSTOM), "custom");
    for (int op = 0; op < motley_op_count(); op++)
        cr_expect_not_null(motley_shape_name(motley_op_get(op)->shape));
}

static motley_status do_nothing(void *user, const motley_custom_batch *batch, motley_error *error);

static const motley_custom_op custom_pair[] = { { .name = "one", .unit = "px", .maximum = 9, .run = do_nothing },
                                                { .name = "two", .run = do_nothing } };

/* A policy keeps the custom ops that it names as ops; a word in its title does not name one. */
Test(policy, custom_ops_that_are_named)
{
    static const struct {
        const char *text;
        const char *kept[2];
        bool runs;
    } cases[] = {
        { "{motley: 1, name: one, title: one two, branches: [invert]}", { NULL, NULL }, false },
        { "{motley: 1, name: x, branches: [two]}", { "two", NULL }, true },
        { "{motley: 1, name: x, branches: [two, {op: one, value: 3}]}", { "one", "two" }, true },
        { "{motley: 1, name: x, branches: [invert, {weight: 0, steps: two}]}", { "two", NULL }, false },
        { "{motley: 1, name: x, branches: [{op: two, p: 0}]}", { "two", NULL }, false },
        { "{motley: 1, name: x, ops: {mine: {op: two}}, branches: [invert]}", { "two", NULL }, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const motley_parse_params params = { .custom_ops = custom_pair, .custom_ops_count = 2 };
        motley_policy *policy, *copy;
        cr_assert_eq(motley_policy_parse(cases[i].text, strlen(cases[i].text), &params, &policy, NULL), MOTLEY_OK);
        cr_assert_eq(motley_policy_change(policy, &(motley_policy_changes){ .repeat = 2 }, &copy, NULL), MOTLEY_OK);
        for (int k = 0; k < 2; k++) {
            const motley_op_info *info = motley_policy_op(policy, motley_op_count() + k);
            cr_expect_eq(info != NULL, cases[i].kept[k] != NULL, "case %zu", i);
            cr_expect(!info || strcmp(info->name, cases[i].kept[k]) == 0, "case %zu: %s", i, info->name);
        }
        cr_expect_eq(policy->runs_customs, cases[i].runs, "case %zu", i);
        cr_expect_eq(copy->runs_customs, cases[i].runs, "case %zu, copied", i);
        motley_policy_destroy(policy), motley_policy_destroy(copy);
    }
}

static char *json_of(const motley_policy *policy, const motley_step *steps, int count, int channels)
{
    motley_error error = { 0 };
    char *text;
    cr_assert_eq(motley_draw_json(policy, 18446744073709551615u, steps, count, channels, &text, &error), MOTLEY_OK,
                 "%s", error.message);
    return text;
}

Test(policy, draws_as_json)
{
    const char *const text = HEAD "branches: [two, {op: one, value: 3}, invert]\n";
    const motley_parse_params params = { .custom_ops = custom_pair, .custom_ops_count = 2 };
    motley_policy *policy;
    motley_error error = { 0 };
    cr_assert_eq(motley_policy_parse(text, strlen(text), &params, &policy, NULL), MOTLEY_OK);
    motley_step steps[] = {
        { .op = motley_op_find("invert") },
        { .op = motley_op_find("rotate"),
          .values = { -9 },
          .values_count = 1,
          .interpolation = 1,
          .fill = { 1, 2, 3, 4 } },
        { .op = motley_op_find("cutout"), .values = { 16, 0.1, 1e300 }, .values_count = 3, .fill = { 7 } },
        { .op = motley_op_count(), .values = { 2.5, 0.5, 0.25 }, .values_count = 3 },
        { .op = motley_op_count() + 1, .values = { 0, 0.5, 0.25 }, .values_count = 3 },
    };
    char *found = json_of(policy, steps, 5, 3);
    cr_expect_str_eq(found, "{ \"sample\": 18446744073709551615, \"steps\": [ { \"op\": \"invert\" }, "
                            "{ \"op\": \"rotate\", \"value\": -9.0, \"interpolation\": \"bilinear\", "
                            "\"fill\": [ 1, 2, 3 ] }, { \"op\": \"cutout\", \"value\": 16.0, "
                            "\"center\": [ 0.1, 1e+300 ], \"fill\": [ 7, 0, 0 ] }, "
                            "{ \"op\": \"one\", \"value\": 2.5, \"random\": [ 0.5, 0.25 ] }, "
                            "{ \"op\": \"two\", \"random\": [ 0.5, 0.25 ] } ] }");
    free(found);
    found = json_of(policy, NULL, 0, 1);
    cr_expect_str_eq(found, "{ \"sample\": 18446744073709551615, \"steps\": [ ] }");
    free(found);
    steps[0].op = motley_op_count() + 2;
    cr_expect_eq(motley_draw_json(policy, 0, steps, 1, 3, &found, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(!found && strstr(error.message, "step 0: op is"), "%s", error.message);
    cr_expect_eq(motley_draw_json(policy, 0, steps + 1, 1, 5, &found, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect(strstr(error.message, "channels is 5"), "%s", error.message);
    motley_policy_destroy(policy);
}

/* --- memory --- */

/* Calls `work` with the k-th allocation failing, for k = 0, 1, ... until it makes no more than k; of long works, which
 * make thousands, not for each. `shrugs`: it may go on without what it did not get. */
static void fail_each(motley_status (*work)(void), const char *what, bool shrugs)
{
    long k = -1;
    do {
        k += 1 + k / 64;
        begin_allocations(k);
        const motley_status status = work();
        end_allocations();
        cr_assert_eq(allocations.live, 0, "%s, allocation %ld: %ld blocks leak", what, k, allocations.live);
        cr_assert(status == MOTLEY_OK || status == MOTLEY_ERR_MEMORY, "%s, allocation %ld: status %d", what, k, status);
        cr_assert(status == (allocations.failed ? MOTLEY_ERR_MEMORY : MOTLEY_OK) || (shrugs && status == MOTLEY_OK),
                  "%s, allocation %ld: failure ignored", what, k);
    } while (allocations.failed);
    cr_expect_gt(k, 3, "%s hardly allocates: are allocations counted?", what);
}

static const motley_policy *base_policy;
static const char *base_text;
static motley_parse_params base_params; /* with custom ops, or none */

static motley_status parse_once(void)
{
    motley_policy *policy = (motley_policy *)&policy;
    motley_error error = { 0 };
    const motley_status status = motley_policy_parse(base_text, strlen(base_text), &base_params, &policy, &error);
    cr_assert_eq(status, error.status);
    cr_assert_eq(policy == NULL, status != MOTLEY_OK);
    motley_policy_destroy(policy);
    return status;
}

static motley_status print_once(void)
{
    char *text = (char *)&text;
    motley_error error = { 0 };
    const motley_status status = motley_policy_print(base_policy, &text, &error);
    cr_assert_eq(status, error.status);
    cr_assert_eq(text == NULL, status != MOTLEY_OK);
    free(text);
    return status;
}

static motley_status change_once(void)
{
    motley_policy *policy = (motley_policy *)&policy;
    motley_error error = { 0 };
    static const motley_policy_step step = { "cutout", 1, { MOTLEY_LEVEL_VALUE, 3, 0 } };
    static const motley_policy_branch branch = { 0, 1, 1, &step };
    const motley_policy_changes changes = {
        .repeat = 3, .name = "changed", .title = "Changed", .branches = &branch, .branches_count = 1
    };
    const motley_status status = motley_policy_change(base_policy, &changes, &policy, &error);
    cr_assert_eq(status, error.status);
    cr_assert_eq(policy == NULL, status != MOTLEY_OK);
    motley_policy_destroy(policy);
    return status;
}

static motley_status json_once(void)
{
    const motley_step steps[50] = { 0 };
    char *text = (char *)&text;
    motley_error error = { 0 };
    const motley_status status = motley_draw_json(base_policy, 0, steps, 50, 3, &text, &error);
    cr_assert_eq(status, error.status);
    cr_assert_eq(text == NULL, status != MOTLEY_OK);
    free(text);
    return status;
}

static motley_status wrong_once(void)
{
    motley_policy *policy;
    motley_error error = { 0 };
    const char *text = HEAD "branches: [inverd, equalice]\n";
    const motley_status status = motley_policy_parse(text, strlen(text), NULL, &policy, &error);
    cr_assert_null(policy);
    return status == MOTLEY_ERR_POLICY ? MOTLEY_OK : status;
}

static motley_status unknown_once(void)
{
    motley_policy *policy;
    const motley_status status = motley_policy_builtin("rand", &policy, NULL);
    cr_assert_null(policy);
    return status == MOTLEY_ERR_ARGUMENT ? MOTLEY_OK : status;
}

static motley_status do_nothing(void *user, const motley_custom_batch *batch, motley_error *error)
{
    (void)user, (void)batch, (void)error;
    return MOTLEY_OK;
}

Test(policy, allocations_that_fail_with_custom_ops)
{
    motley_policy *policy;
    base_params = (motley_parse_params){ .custom_ops = custom_pair, .custom_ops_count = 2 };
    base_text = HEAD "branches: [{op: one, value: 3}, two, invert]\n";
    cr_assert_eq(motley_policy_parse(base_text, strlen(base_text), &base_params, &policy, NULL), MOTLEY_OK);
    base_policy = policy;
    fail_each(parse_once, "parse", true);
    fail_each(change_once, "change", false);
    motley_policy_destroy(policy);
}

Test(policy, allocations_that_fail)
{
    for (size_t b = 0; b < motley_policy_builtin_count(); b++) {
        base_text = motley_policy_builtin_text(b);
        motley_policy *policy = builtin(motley_policy_builtin_name(b));
        base_policy = policy;
        fail_each(parse_once, "parse", true); /* shrinking an array may fail */
        fail_each(print_once, "print", false);
        fail_each(change_once, "change", false);
        motley_policy_destroy(policy);
    }
    fail_each(wrong_once, "a wrong text", true);
    base_policy = builtin("rand_augment");
    fail_each(json_once, "json", false);
    motley_policy_destroy((motley_policy *)base_policy);
    begin_allocations(0);
    cr_expect_eq(unknown_once(), MOTLEY_ERR_MEMORY);
    end_allocations();
    cr_expect_eq(unknown_once(), MOTLEY_OK);
}
