/* SPDX-License-Identifier: Apache-2.0 */
/* Loading, copying, comparing and destroying policies, and their simple properties. */
#include "base/error.h"
#include "base/file.h"
#include "base/params.h"
#include "policies/custom.h"
#include "policies/head.h"
#include "policies/print.h"
#include "policies/stage_keys.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const mot_arithmetic_names[2] = { "double", "torch" };
const char *const mot_choice_names[3] = { "with_replacement", "without_replacement", "until_applied" };
const char *const mot_augmix_form_names[3] = { "sum", "blends", "one_sum" };
const char *const mot_sign_names[3] = { "plus", "minus", "random" };
const char *const mot_side_names[2] = { "width", "height" };
const char *const mot_rounding_names[3] = { "none", "trunc", "half_even" };
const char *const mot_interpolation_names[3] = { "nearest", "bilinear", "bicubic" };
const char *const mot_profile_names[5] = { "torchvision", "timm", "dali", "tf", "paper" };
static const char *const via_names[] = { "degrees" }, *const inside_names[] = { "boxes" };

/* ---- the keys of texts, in the order in which they are printed ---- */

#define AT(field) (uint16_t) offsetof(OWNER, field)
#define PLACE(field) .at = AT(field), .bytes = sizeof(((OWNER *)0)->field)
#define WORD(key, field, names, ...) MOT_KEY(key, WORD, field, MOT_KEY_OF(names, COUNT(names)), __VA_ARGS__)
#define FILL MOT_KEY("fill", BYTES, fill, .count_at = AT(fills), .high = 255)

#define OWNER mot_augmix
static const mot_key augmix[] = {
    MOT_KEY("width", WHOLE, width, MOT_KEY_IN(1, MOT_MAX_CHAINS), MOT_KEY_ELSE(3), .flags = MOT_KEY_PRINTED,
            .what = "'width', the number of chains,"),
    MOT_KEY("alpha", NUMBER, alpha, MOT_KEY_IN(MOT_MIN_ALPHA, MOT_MAX_ALPHA), MOT_KEY_ELSE(1),
            .flags = MOT_KEY_PRINTED),
    WORD("form", form, mot_augmix_form_names, MOT_KEY_ELSE(MOT_AUGMIX_SUM)),
};
static const mot_keys augmix_keys = MOT_KEYS(augmix);

#undef OWNER
#define OWNER struct motley_policy
static const mot_key policy_keys[] = {
    WORD("arithmetic", arithmetic, mot_arithmetic_names, MOT_KEY_ELSE(MOT_ARITHMETIC_DOUBLE)),
    MOT_KEY_AT("interpolation", WORDS, interpolations, 4, .high = 3, MOT_KEY_OF(mot_interpolation_names, 3),
               .flags = MOT_KEY_PRINTED),
    FILL,
    MOT_KEY("p", NUMBER, chance, .high = 1, MOT_KEY_ELSE(1)),
    MOT_KEY("repeat", REPEAT, repeat, .flags = MOT_KEY_PRINTED),
    WORD("choice", choice, mot_choice_names, MOT_KEY_ELSE(MOT_WITH_REPLACEMENT)),
    MOT_KEY("augmix", KEYS, augmix, .keys = &augmix_keys),
    MOT_KEY("bins", WHOLE, top_bins, MOT_KEY_IN(2, MOT_MAX_LEVELS)),
    MOT_KEY("top", NUMBER, top, MOT_KEY_IN(1e-6, 1e6), .flags = MOT_KEY_OR),
    MOT_KEY("level", LEVEL, level, .flags = 0),
};
const mot_keys mot_policy_keys = MOT_KEYS(policy_keys);

#undef OWNER
#define OWNER mot_space
static const mot_key space_keys[] = {
    MOT_KEY("base", NUMBER, base, MOT_KEY_IN(-1e9, 1e9)),
    WORD("sign", sign, mot_sign_names, MOT_KEY_ELSE(MOT_SIGN_PLUS)),
    WORD("of", side, mot_side_names, .first = MOT_SIDE_WIDTH),
    WORD("round", rounding, mot_rounding_names, MOT_KEY_ELSE(MOT_ROUND_NONE)),
    MOT_KEY("min", NUMBER, minimum, MOT_KEY_IN(-1e9, 1e9), MOT_KEY_ELSE(-HUGE_VAL)),
    MOT_KEY("max", NUMBER, maximum, MOT_KEY_IN(-1e9, 1e9), MOT_KEY_ELSE(HUGE_VAL)),
    WORD("via", via_degrees, via_names, .first = 1),
    FILL,
    WORD("inside", in_boxes, inside_names, .first = 1),
};
const mot_keys mot_space_keys = MOT_KEYS(space_keys);
#undef OWNER

motley_status mot_policy_text(const char *path, char **text, size_t *length, motley_error *error)
{
    *text = NULL;
    MOT_REQUIRE(path, error, "path is NULL, want a file's name");
    motley_status status = MOTLEY_OK;
    FILE *file;
    MOT_TRY(mot_file_open(path, &file, error));
    const size_t room = MOT_MAX_TEXT_BYTES + 1; /* one more byte, to detect a text that is too long */
    char *memory = malloc(room);
    if (!memory) {
        status = mot_fail(error, MOTLEY_ERR_MEMORY, "no memory to read %.150s", path);
    } else {
        *length = fread(memory, 1, room, file);
        if (ferror(file))
            status = mot_fail(error, MOTLEY_ERR_IO, "cannot read %.150s: %s", path, strerror(errno));
    }
    fclose(file);
    if (status != MOTLEY_OK)
        free(memory);
    else
        *text = memory;
    return status;
}

motley_status motley_policy_parse(const char *text, size_t length, const motley_parse_params *params,
                                  motley_policy **policy, motley_error *error)
{
    return mot_policy_parse(text, length, params, false, policy, error);
}

motley_status mot_policy_parse(const char *text, size_t length, const motley_parse_params *params, bool only_checked,
                               motley_policy **policy, motley_error *error)
{
    MOT_REQUIRE(policy, error, "policy is NULL, want a place for the result");
    *policy = NULL;
    MOT_REQUIRE(text || length == 0, error, "text is NULL, want %zu bytes", length);
    MOT_READ_PARAMS(motley_parse_params, params, error);
    MOT_TRY(mot_customs_check(params->custom_ops, params->custom_ops_count, error));
    reader r = { .whole = true, .params = params };
    motley_policy *read = NULL;
    motley_status status = mot_yaml_read(&r.tree, text ? text : "", length);
    r.tree.only_checked = only_checked;
    const bool readable = status == MOTLEY_OK && r.tree.problems == 0;
    if (readable && mot_is_staged(&r))
        status = (read = calloc(1, sizeof *read)) ? mot_transform_parse(&r, &read->staged, error) : MOTLEY_ERR_MEMORY;
    else if (readable)
        status = mot_policy_read(&r.tree, &r.tree.node[0], true, params->custom_ops, params->custom_ops_count, &read);
    if (status == MOTLEY_OK)
        status = mot_yaml_report(&r.tree, params, error);
    else if (status == MOTLEY_ERR_MEMORY)
        mot_fail(error, status, "no memory to read a policy of %zu bytes", length);
    if (status == MOTLEY_OK)
        *policy = read;
    else
        motley_policy_destroy(read);
    mot_yaml_clear(&r.tree);
    return status;
}

motley_policy *mot_policy_share(const motley_policy *policy)
{
    motley_policy *const shared = (motley_policy *)policy;
    __atomic_add_fetch(&shared->shares, 1, __ATOMIC_RELAXED);
    return shared;
}

void motley_policy_destroy(motley_policy *policy)
{
    if (!policy || __atomic_fetch_sub(&policy->shares, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (uint32_t i = 0; policy->space && i < policy->spaces; i++)
        free(policy->space[i].name);
    free(policy->space);
    free(policy->step);
    free(policy->compiled);
    free(policy->branch);
    free(policy->phase);
    free(policy->alone);
    mot_customs_destroy(policy);
    mot_head_free(&policy->head);
    mot_transform_destroy(policy->staged);
    free(policy);
}

motley_status mot_policy_copy(const motley_policy *policy, motley_policy **copy, motley_error *error)
{
    const mot_transform *const transform = mot_policy_transform(policy);
    motley_custom_op customs[MOT_MAX_CUSTOMS];
    motley_parse_params params = { .custom_ops = customs };
    char *text;
    for (int i = 0; i < transform->facts.customs; i++) {
        const motley_custom_op *const op = &mot_transform_custom(transform, MOT_OP_COUNT + i)->op;
        size_t k = 0;
        while (k < params.custom_ops_count && strcmp(customs[k].name, op->name) != 0)
            k++;
        customs[k] = *op;
        params.custom_ops_count += k == params.custom_ops_count; /* several stages may have the same one */
    }
    MOT_TRY(mot_policy_print_text(policy, &text, error));
    const motley_status status = motley_policy_parse(text, strlen(text), &params, copy, error);
    free(text);
    return status;
}

int motley_policy_equal(const motley_policy *a, const motley_policy *b)
{
    if (!a || !b || a == b)
        return a == b;
    char *texts[2] = { NULL, NULL };
    const bool same = !a->staged == !b->staged && mot_policy_print_text(a, &texts[0], NULL) == MOTLEY_OK &&
                      mot_policy_print_text(b, &texts[1], NULL) == MOTLEY_OK && strcmp(texts[0], texts[1]) == 0 &&
                      mot_customs_equal(a, b);
    free(texts[0]);
    free(texts[1]);
    return same;
}

const motley_policy_info *motley_policy_describe(const motley_policy *policy)
{
    return policy ? &mot_policy_transform(policy)->info : NULL;
}
