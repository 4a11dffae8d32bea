/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the stages' keys: every field of a stage has a row and decides by which tables a device draws. JSON: it
 * is what the text says, and reads back as an equal policy or transform. */
#include "motley.h"
#include "policies/stage_keys.h"
#include "tests/policies.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The fields' bytes of each member of mot_stage.of; what is left of it is padding at its end. */
static const struct {
    const char *name;
    size_t bytes, size;
    mot_stage_kind first, last; /* the kinds that have it */
    size_t without;             /* bytes at its beginning that no text has */
} members[] = {
#define ENDS(type, field) offsetof(type, field) + sizeof(((type *)0)->field), sizeof(type)
    { "crop", ENDS(mot_crop, square), MOT_STAGE_RANDOM_RESIZED_CROP, MOT_STAGE_RANDOM_CROP, sizeof(int64_t) },
    { "zoom", ENDS(mot_zoom, values), MOT_STAGE_ZOOM_OUT, MOT_STAGE_ZOOM_OUT, 0 },
    { "size_crop", ENDS(mot_size_crop, sides), MOT_STAGE_SIZE_CROP, MOT_STAGE_SIZE_CROP, 0 },
    { "window", ENDS(mot_window, rounding), MOT_STAGE_FIXED_CROP, MOT_STAGE_PAD, 0 },
    { "overlap", ENDS(mot_overlap, overlaps), MOT_STAGE_IOU_CROP, MOT_STAGE_IOU_CROP, 0 },
    { "policy", ENDS(mot_changes, fill), MOT_STAGE_POLICY, MOT_STAGE_POLICY, 0 },
    { "flip", ENDS(mot_flip, vertical), MOT_STAGE_FLIP, MOT_STAGE_FLIP, 0 },
    { "jitter", ENDS(mot_jitter, range), MOT_STAGE_JITTER, MOT_STAGE_JITTER, 0 },
    { "photometric", ENDS(mot_photometric, channels), MOT_STAGE_PHOTOMETRIC, MOT_STAGE_PHOTOMETRIC, 0 },
    { "grayscale", ENDS(mot_gray, p), MOT_STAGE_GRAYSCALE, MOT_STAGE_GRAYSCALE, 0 },
    { "blur", ENDS(mot_blur, kernel_size), MOT_STAGE_BLUR, MOT_STAGE_BLUR, 0 },
    { "output", ENDS(mot_normalize, layout), MOT_STAGE_OUTPUT, MOT_STAGE_OUTPUT, 0 },
    { "erase", ENDS(mot_erase, boxes), MOT_STAGE_ERASE, MOT_STAGE_ERASE, 0 },
    { "mix", ENDS(mot_mixing, classes), MOT_STAGE_MIX, MOT_STAGE_MIX, sizeof(size_t) },
    { "one_of", ENDS(mot_lists, count), MOT_STAGE_ONE_OF, MOT_STAGE_ONE_OF, sizeof(mot_lists) }, /* it is a list */
};

/* A new field moves the end, or fills what was padding: the last field has to be the last one. */
Test(stages, every_field_has_a_row)
{
    int kinds = 0;
    for (size_t m = 0; m < COUNT(members); m++) {
        bool covered[sizeof(((mot_stage *)0)->of)] = { false };
        for (int kind = (int)members[m].first; kind <= (int)members[m].last; kind++, kinds++)
            for (int k = 0; k < mot_stage_forms[kind].keys.count; k++) {
                const mot_key *const key = &mot_stage_forms[kind].keys.key[k];
                memset(&covered[key->at], true, key->bytes);
                if (key->kind == MOT_KEY_NUMBERS || key->kind == MOT_KEY_CHOICES || key->kind == MOT_KEY_VALUE ||
                    key->kind == MOT_KEY_SIDES || key->kind == MOT_KEY_BYTES)
                    memset(&covered[key->count_at], true, key->kind == MOT_KEY_VALUE ? 8 : 4);
            }
        for (size_t i = members[m].without; i < members[m].bytes; i++)
            cr_expect(covered[i], "byte %zu of %s has no row", i, members[m].name);
        cr_expect(members[m].size - members[m].bytes < 8, "%s has a field behind its last one", members[m].name);
    }
    cr_expect_eq(kinds, MOT_STAGE_KINDS - 1); /* all but to_rgb, which has no key */
}

static const char *const every_stage[] = {
    "random_resized_crop: {size: 9, scale: [0.2, 0.9], ratio: [0.5, 2], filter: [box, hamming], order: pillow-12.2}",
    "resize: {size: [9, 8], filter: lanczos, order: pillow-12}",
    "resize: {shortest: [9, 8, 12], longest: 30, rounding: detr}",
    "resize: {longest: 30, rounding: detectron2, masks: torch}",
    "resize: {fit: [9, 8], scale: [0.5, 2], filter: bicubic}",
    "resize: {square: [9, 8]}",
    "size_crop: {sides: [8, 9]}",
    "fixed_crop: {size: [9, 8], fill: [1, 2, 3], rounding: detectron2}",
    "pad: {size: 9, at: centre, fill: 3}",
    "pad: {multiple: 32}",
    "center_crop: {size: 9}",
    "random_crop: {size: 9, padding: 3}",
    "flip: {horizontal: 0.25, vertical: 0.125}",
    "jitter: {p: 0.5, brightness: 0.5, contrast: 0.25, saturation: [0.5, 1.5], hue: 0.125}",
    "photometric: {p: 0.25, brightness: [0.5, 2], contrast: [1, 2], saturation: [0, 1], hue: [0, 0.5], channels: 0.75}",
    "grayscale: {p: 0.25}",
    "blur: {p: 0.5, radius: [0.5, 2]}",
    "blur: {p: 0.5, kernel_size: 5, sigma: [0.5, 2]}",
    "output: {mean: [0.5, 0.25, 0.125], std: [1, 0.5, 0.25], convention: timm, type: bf16, layout: hwc}",
    "erase: {p: 0.5, area: [0.125, 0.25], ratio: [0.5, 2], value: [1, 2, 3], boxes: [2, 3]}",
    "mix: {mixup: 0.2, cutmix: 1, p: 0.9, switch: 0.4, rules: timm, mode: elem, minmax: [0.2, 0.8], lambda: drawn, "
    "partner: drawn, classes: 10, smoothing: 0.1}",
    "mix: {share: [0.25, 0.5], p: 0.5, paste: 3, paste_p: 0.75, area: 100, context: [0.125, 0.25], sizes: [9, 8, 9]}",
};

/* A text that has the stage, and what has to stand before it. */
static motley_policy *with_stage(const char *stage)
{
    char text[512];
    snprintf(text, sizeof text, STAGES "%s%s  - %s\n",
             strncmp(stage, "mix", 3) == 0 && !strstr(stage, "paste") ? "  - center_crop: {size: 9}\n" : "",
             strncmp(stage, "erase", 5) == 0 ? "  - output: {}\n" : "", stage);
    return parsed(text);
}

/* A device keeps a transform's tables under its fingerprint: a field that it misses would leave old ones in use. */
Test(stages, every_byte_of_a_stage_is_in_the_fingerprint)
{
    for (size_t i = 0; i < COUNT(every_stage); i++) {
        motley_policy *const t = with_stage(every_stage[i]);
        mot_stage *const stage = &t->staged->stage[t->staged->stages - 1];
        const mot_stage_form *const form = &mot_stage_forms[stage->kind];
        const uint64_t fingerprint = t->staged->fingerprint;
        for (int k = 0; k < form->keys.count; k++)
            for (uint16_t b = 0; b < form->keys.key[k].bytes; b++) {
                uint8_t *const byte = (uint8_t *)&stage->of + form->keys.key[k].at + b;
                *byte ^= 1;
                mot_transform_finish(t->staged);
                cr_expect_neq(t->staged->fingerprint, fingerprint, "byte %u of %s of %s", b, form->keys.key[k].name,
                              form->name);
                *byte ^= 1;
            }
        mot_transform_finish(t->staged);
        cr_expect_eq(t->staged->fingerprint, fingerprint);
        motley_policy_destroy(t);
    }
}

/* Each key's value reaches the field of its row and no other one, whatever the text leaves out. */
Test(stages, a_key_left_out_has_its_default_again)
{
    for (size_t i = 0; i < COUNT(every_stage); i++) {
        motley_policy *const t = with_stage(every_stage[i]);
        const mot_stage *const stage = &t->staged->stage[t->staged->stages - 1];
        mot_stage plain = { .kind = stage->kind };
        mot_keys_default(&mot_stage_forms[stage->kind].keys, &plain.of);
        const mot_stage_form *const form = &mot_stage_forms[stage->kind];
        for (int k = 0; k < form->keys.count; k++) {
            char named[40];
            snprintf(named, sizeof named, "%s: ", form->keys.key[k].name);
            const bool given = strstr(strchr(every_stage[i], '{'), named) != NULL;
            cr_expect_eq(given,
                         memcmp((const char *)&stage->of + form->keys.key[k].at,
                                (const char *)&plain.of + form->keys.key[k].at, form->keys.key[k].bytes) != 0,
                         "%s of %s", form->keys.key[k].name, every_stage[i]);
        }
        motley_policy_destroy(t);
    }
}

/* --- JSON --- */

static void expect_json(const char *text)
{
    motley_policy *const t = parsed(text);
    char *json, *first, *second, *again;
    cr_assert_eq(motley_policy_print(t, MOTLEY_PRINT_JSON, &json, NULL), MOTLEY_OK);
    motley_policy *const back = parsed(json);
    cr_assert_eq(motley_policy_print(t, MOTLEY_PRINT_TEXT, &first, NULL), MOTLEY_OK);
    cr_assert_eq(motley_policy_print(back, MOTLEY_PRINT_TEXT, &second, NULL), MOTLEY_OK);
    cr_assert_eq(motley_policy_print(back, MOTLEY_PRINT_JSON, &again, NULL), MOTLEY_OK);
    cr_expect_str_eq(first, second);
    cr_expect_str_eq(json, again);
    cr_expect(motley_policy_equal(t, back), "%s", json);
    cr_expect_eq(t->staged ? t->staged->fingerprint : t->fingerprint,
                 back->staged ? back->staged->fingerprint : back->fingerprint, "%s", json);
    free(json), free(first), free(second), free(again);
    motley_policy_destroy(t);
    motley_policy_destroy(back);
}

Test(stages, json_of_builtins_reads_back_equal)
{
    for (size_t i = 0; motley_policy_builtin_get(i); i++)
        expect_json(motley_policy_builtin_get(i)->text);
}

Test(stages, json_of_every_stage_reads_back_equal)
{
    for (size_t i = 0; i < COUNT(every_stage); i++) {
        motley_policy *const t = with_stage(every_stage[i]);
        char *text;
        cr_assert_eq(motley_policy_print(t, MOTLEY_PRINT_TEXT, &text, NULL), MOTLEY_OK);
        expect_json(text);
        free(text);
        motley_policy_destroy(t);
    }
    expect_json(STAGES
                "  - to_rgb: {}\n  - policy:\n      branches: [invert, {op: rotate, value: 30}]\n  - grayscale: {}\n"
                "  - policy: {name: rand_augment, level: 3, fill: [1, 2, 3]}\n");
    expect_json(STAGES
                "  - one_of: [{weight: 0.25, stages: [{policy: {branches: [invert, flip_lr]}}, {grayscale: {}}]}, "
                "{stages: []}, {stages: [{policy: {name: rand_augment, p: 0.5}}]}]\n  - blur: {radius: [0, 2]}\n");
}

/* A device keeps tables under the fingerprint: weights and lists are in it. */
Test(stages, lists_of_stages_are_in_the_fingerprint)
{
    static const char *const others[] = {
        "one_of: [{stages: [{grayscale: {}}]}, {stages: []}]",
        "one_of: [{weight: 2, stages: [{grayscale: {}}]}, {stages: []}]",
        "one_of: [{stages: []}, {stages: [{grayscale: {}}]}]",
        "one_of: [{stages: [{grayscale: {}}]}, {stages: []}, {stages: []}]",
        "one_of: [{stages: [{grayscale: {}}]}, {stages: [{grayscale: {}}]}]",
        "grayscale: {}",
    };
    uint64_t found[COUNT(others)];
    for (size_t i = 0; i < COUNT(others); i++) {
        char text[300];
        snprintf(text, sizeof text, STAGES "  - %s\n", others[i]);
        motley_policy *const t = parsed(text);
        found[i] = t->staged->fingerprint;
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(found[i], found[k], "%s has that of %s", others[i], others[k]);
        motley_policy_destroy(t);
    }
}

Test(stages, json_says_what_the_text_says)
{
    motley_policy *policy;
    char *json;
    const char *const text = "motley: 1\nname: x\ntitle: \"a \\\"b\\\" \\\\ \\u00fc\\U0001F600 2\"\nversion: \"1.0\"\n"
                             "bins: 3\nops: {rotate: {range: [0, 0.1]}}\nbranches:\n  - {weight: 2, steps: [rotate, "
                             "{op: invert, p: 0.5}]}\n  - invert\nlevel: {uniform: [0, 1]}\n";
    cr_assert_eq(motley_policy_parse(text, strlen(text), NULL, &policy, NULL), MOTLEY_OK);
    cr_assert_eq(motley_policy_print(policy, MOTLEY_PRINT_JSON, &json, NULL), MOTLEY_OK);
    cr_expect_str_eq(json, "{\"motley\":1,\"name\":\"x\",\"title\":\"a \\\"b\\\" \\\\ \u00fc\U0001F600 2\",\"version\":"
                           "\"1.0\",\"interpolation\":\"nearest\",\"fill\":0,\"repeat\":1,\"bins\":3,\"level\":"
                           "{\"uniform\":[0,1]},\"ops\":{\"rotate\":{\"range\":[0,0.1]},\"invert\":{}},\"branches\":"
                           "[{\"weight\":2,\"steps\":[\"rotate\",{\"op\":\"invert\",\"p\":0.5}]},\"invert\"]}\n");
    free(json);
    motley_policy_destroy(policy);
}

/* What JSON writers make of a text that YAML readers stumble over. */
Test(stages, any_writer_s_json_is_read)
{
    static const char *const same[] = {
        "{\"motley\":1,\"name\":\"x\",\"title\":\"\\ud83d\\ude00 \\/\",\"branches\":[\"invert\"]}",
        "{\n\t\"motley\": 1,\n\t\"name\": \"x\",\n\t\"title\": \"\\uD83D\\uDE00 /\",\n\t\"branches\": "
        "[\n\t\t\"invert\"\n"
        "\t]\n}\n",
        "{\"motley\" : 1.0 , \"name\" : \"x\" , \"title\" : \"\U0001F600 /\" , \"branches\" : [ \"invert\" ] }\r\n",
        "\n{ \"motley\":1e0,\"name\":\"\\u0078\",\"title\":\"\U0001F600 \\/\",\"branches\":[\"invert\"]}",
    };
    for (size_t i = 0; i < COUNT(same); i++) {
        motley_policy *policy;
        motley_error error = { 0 };
        cr_expect_eq(motley_policy_parse(same[i], strlen(same[i]), NULL, &policy, &error), MOTLEY_OK, "%d:%d %s\n%s",
                     error.line, error.column, error.message, same[i]);
        if (policy)
            cr_expect_str_eq(motley_policy_describe(policy)->title, "\U0001F600 /");
        motley_policy_destroy(policy);
    }
}

/* A built-in policy with changes is the policy that its text is with other lines. */
Test(stages, a_named_policy_is_its_text_with_changes)
{
    static const struct {
        const char *name, *changes, *line, *instead;
    } cases[] = {
        { "rand_augment", "repeat: 3", "repeat: 2", "repeat: 3" },
        { "rand_augment", "p: 0.25", "repeat: 2", "p: 0.25\nrepeat: 2" },
        { "rand_augment", "bins: 11, level: 10", "bins: 31\nlevel: 9", "bins: 11\nlevel: 10" },
        { "rand_augment", "level: given", "level: 9", "level: given" },
        { "rand_augment", "interpolation: [bicubic, nearest]", "interpolation: nearest",
          "interpolation: [nearest, bicubic]" },
        { "rand_augment", "interpolation: [], fill: 7", "fill: 0", "fill: 7" },
        { "rand_augment", "fill: [1, 2, 3]", "fill: 0", "fill: [1, 2, 3]" },
        { "rand_augment", "repeat: {given: [1, 4]}", "repeat: 2", "repeat: {given: [1, 4]}" },
        { "timm_augmix", "repeat: 2", "repeat: {weights: [0, 1, 1, 1]}", "repeat: 2" },
        { "timm_rand_m9_mstd05_inc1", "level: 7", "level: {normal: 9, std: 0.5}", "level: {normal: 7, std: 0.5}" },
        { "timm_rand_m9_mstd05_inc1", "level: {uniform: [0, 3]}", "level: {normal: 9, std: 0.5}",
          "level: {uniform: [0, 3]}" },
        { "auto_augment_cifar10", "level: 2, bins: 3", "bins: 10", "bins: 3" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[300], changed[8000], *shown;
        motley_policy *base;
        snprintf(text, sizeof text, STAGES "  - policy: {name: %s, %s}\n", cases[i].name, cases[i].changes);
        motley_policy *const staged = parsed(text);
        cr_assert_eq(motley_policy_builtin(cases[i].name, &base, NULL), MOTLEY_OK);
        cr_assert_eq(motley_policy_print(base, MOTLEY_PRINT_TEXT, &shown, NULL), MOTLEY_OK);
        const char *const line = strstr(shown, cases[i].line);
        cr_assert(line, "%s has no line '%s'", shown, cases[i].line);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(line - shown), shown, cases[i].instead,
                 line + strlen(cases[i].line));
        for (char *at = changed; i + 1 == COUNT(cases) && (at = strstr(at, "level: "));
             at++) /* of the last, each step */
            at[strlen("level: ")] = '2';
        motley_policy *const wanted = parsed(changed), *const found = staged->staged->stage[0].policy;
        cr_expect(motley_policy_equal(found, wanted), "%s", text);
        cr_expect_eq(found->fingerprint, wanted->fingerprint, "%s", text);
        expect_json(text);
        free(shown);
        motley_policy_destroy(base), motley_policy_destroy(staged), motley_policy_destroy(wanted);
    }
}
