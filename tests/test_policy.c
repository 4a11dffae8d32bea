/* SPDX-License-Identifier: Apache-2.0 */
/* Policies as texts: in and out, and what is refused and how it is reported. */
#include "augmentations/table.h"
#include "base/number.h"
#include "policies/builtin.h"
#include "policies/compile.h"
#include "policies/yaml.h"
#include "tests/policies.h"
#include "tests/sweep.h"

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <unistd.h>

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
    const size_t count = mot_builtin_count;
    cr_expect_geq(count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < count; i++) {
        const char *name = mot_builtins[i].name;
        motley_policy *policy = builtin(name);
        cr_expect_str_eq(motley_policy_describe(policy)->name, name);
        cr_expect_str_neq(motley_policy_describe(policy)->title, name, "%s has no title", name);
        cr_expect(strstr(motley_policy_describe(policy)->paper, "arXiv:"), "%s cites no paper", name);
        cr_expect(policy->table && policy->version, "%s does not say where its numbers come from", name);
        cr_expect_eq(mot_builtins[i].text[0], '#', "%s does not begin with its citation", name);
        there_and_back(policy);
        motley_policy_destroy(policy);
    }
    cr_expect_null(motley_policy_builtin_get(count + mot_builtin_transform_count));
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

typedef struct problems {
    motley_error problem[MOT_MAX_PROBLEMS + 1];
    int count;
} problems;

static void keep(void *user, const motley_error *problem)
{
    problems *p = user;
    cr_assert_lt(p->count, MOT_MAX_PROBLEMS + 1);
    p->problem[p->count++] = *problem;
}

/* Checks a file against its first lines, "# ERR_POLICY line:column message", one for each problem in order. A message
 * that ends in "..." continues in libyaml's words. */
static void check_bad_file(const char *path)
{
    static problems got;
    got.count = 0;
    motley_policy *policy;
    motley_error error = { 0 };
    const motley_parse_params params = { .report = keep, .user = &got };
    cr_expect_eq(motley_policy_open(path, &params, &policy, &error), MOTLEY_ERR_POLICY, "%s is taken", path);
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
        cr_expect_str_eq(found, line, "%s:\n  found  %s\n  wanted %s", path, found, line);
    }
    fclose(file);
    cr_expect_eq(expected, got.count, "%s: %d problems, want %d", path, got.count, expected);
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
    cr_expect_eq(motley_policy_open("/no/such/file.yaml", NULL, &policy, &error), MOTLEY_ERR_IO);
    cr_expect(strstr(error.message, "/no/such/file.yaml: No such file"), "%s", error.message);
    cr_expect_eq(motley_policy_open("/", NULL, &policy, &error), MOTLEY_ERR_IO);
    cr_expect_eq(motley_policy_open("/dev/null", NULL, &policy, &error), MOTLEY_ERR_POLICY);
    cr_expect(strstr(error.message, "empty"), "%s", error.message);
    cr_expect_eq(motley_policy_open("/dev/zero", NULL, &policy, &error), MOTLEY_ERR_POLICY);
    cr_expect(strstr(error.message, "want at most 1048576"), "%s", error.message);
}

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
    problems got = { .count = 0 };
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
            motley_policy *copy;
            cr_assert_eq(mot_policy_copy(base, &copy, NULL), MOTLEY_OK);
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
    for (size_t i = 0, n = sweep(200000, "numbers"); i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t bits = i < 1000 ? i : state ^ (state >> 31);
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
    for (size_t b = 0; b < mot_builtin_count; b++) {
        motley_policy *policy = builtin(mot_builtins[b].name);
        there_and_back(policy);
        motley_policy_destroy(policy);
    }
}

/* --- names, places and texts --- */

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
        { "torchvision_trian", MOTLEY_POLICY_BUILTIN, MOTLEY_ERR_ARGUMENT, "did you mean 'torchvision_train'?" },
        { "imagenet", MOTLEY_POLICY_BUILTIN, MOTLEY_ERR_ARGUMENT, "did you mean 'auto_augment_imagenet'?" },
        { "rand-m9-mstd0.5-inc1", MOTLEY_POLICY_BUILTIN, MOTLEY_ERR_ARGUMENT,
          "is built in; timm's strings begin with timm:, as in timm:rand-m9-mstd0.5-inc1" },
        { "motley: 1, branches: [invert]", MOTLEY_POLICY_BUILTIN, MOTLEY_ERR_ARGUMENT,
          "is built in; a text has several lines, or begins with '{'" },
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
            cr_expect_str_eq(motley_policy_describe(policy)->name, cases[i].piece);
        else
            cr_expect(!policy && strstr(error.message, cases[i].piece), "%s", error.message);
        motley_policy_destroy(policy);
    }
    cr_expect_eq(motley_policy_open(NULL, NULL, &(motley_policy *){ 0 }, NULL), MOTLEY_ERR_ARGUMENT);
    cr_expect_eq(motley_policy_source_of(NULL), MOTLEY_POLICY_BUILTIN);
    close(file);
    unlink(path);
}

Test(policy, enum_names)
{
    cr_expect_str_eq(motley_dtype_name(MOTLEY_U16), "uint16");
    cr_expect_null(motley_dtype_name((motley_dtype)5));
    cr_expect_str_eq(motley_interpolation_name(MOTLEY_BICUBIC), "bicubic");
    cr_expect_null(motley_interpolation_name((motley_interpolation)3));
    cr_expect_str_eq(motley_shape_name(MOTLEY_SHAPE_CUSTOM), "custom");
    for (int op = 0; op < motley_op_count(); op++)
        cr_expect_not_null(motley_shape_name(motley_op_get(op)->shape));
}

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
        cr_assert_eq(motley_policy_at(policy, 0, &copy, NULL), MOTLEY_OK);
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
