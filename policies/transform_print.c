/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a transform: as canonical text, keys in a fixed order and defaults left out, or the same as JSON. */
#include "policies/custom.h"
#include "policies/head.h"
#include "policies/print.h"
#include "policies/stage_keys.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void print_name(mot_text *w, const char *name)
{
    if (mot_is_name(name, strlen(name)))
        mot_say(w, "%s", name);
    else /* one of timm's strings */
        mot_say_quoted(w, name);
}

/* Prints a built-in policy's name and what is changed of it. */
static void print_named(mot_text *w, const mot_stage *stage, int indent)
{
    mot_text changes = { 0 };
    const bool changed =
        mot_keys_print(&changes, &mot_stage_forms[stage->kind].keys, &stage->of, stage->given, ", ", ", ");
    mot_say(w, changed ? "%*s- policy: {name: " : "%*s- policy: ", indent, "");
    print_name(w, stage->name);
    if (changed && !changes.failed)
        mot_put(w, changes.text, changes.used);
    mot_say(w, changed ? "}\n" : "\n");
    w->failed |= changes.failed;
    free(changes.text);
}

/* Prints the text of a policy that is written out, indented. */
static motley_status print_policy(mot_text *w, const mot_stage *stage, int indent, motley_error *error)
{
    char *text;
    MOT_TRY(mot_policy_print_text(stage->policy, &text, error));
    mot_say(w, "%*s- policy:\n", indent, "");
    for (const char *line = strchr(text, '\n') + 1; *line;) { /* every line but the format's version */
        const size_t length = strcspn(line, "\n") + 1;
        mot_say(w, "%*s", indent + 4, "");
        mot_put(w, line, length);
        line += length;
    }
    free(text);
    return MOTLEY_OK;
}

static motley_status print_stage(mot_text *w, const mot_stage *stage, int indent, motley_error *error)
{
    if (stage->name) {
        print_named(w, stage, indent);
    } else if (stage->kind == MOT_STAGE_POLICY) {
        MOT_TRY(print_policy(w, stage, indent, error));
    } else {
        const mot_stage_form *const form = &mot_stage_forms[stage->kind];
        mot_say(w, "%*s- %s: ", indent, "", form->name);
        mot_say(w, mot_keys_print(w, &form->keys, &stage->of, stage->given, "{", ", ") ? "}\n" : "{}\n");
    }
    return MOTLEY_OK;
}

/* Prints a one_of, whose mark is stage *i, and its lists; *i becomes the last of their stages. */
static motley_status print_lists(mot_text *w, const mot_transform *transform, uint32_t *i, motley_error *error)
{
    const mot_lists *const lists = &transform->stage[*i].of.one_of;
    mot_say(w, "  - one_of:\n");
    for (uint32_t list = 0; list < (uint32_t)lists->count; list++) {
        const mot_stage *next = &transform->stage[*i + 1], *const end = transform->stage + transform->stages;
        const bool empty = next == end || !next->listed.one_of || next->listed.list != list;
        if (lists->weight[list] != 1)
            mot_say_number(w, "      - weight: ", lists->weight[list]);
        mot_say(w, lists->weight[list] != 1 ? "\n        stages:%s\n" : "      - stages:%s\n", empty ? " []" : "");
        for (; next < end && next->listed.one_of && next->listed.list == list; next++, ++*i)
            MOT_TRY(print_stage(w, next, 10, error));
    }
    return MOTLEY_OK;
}

static motley_status print_stages(mot_text *w, const mot_transform *transform, motley_error *error)
{
    mot_say(w, transform->to_rgb ? "stages:\n  - to_rgb: {}\n" : "stages:\n");
    for (uint32_t i = 0; i < transform->stages; i++)
        MOT_TRY(transform->stage[i].kind == MOT_STAGE_ONE_OF ? print_lists(w, transform, &i, error)
                                                             : print_stage(w, &transform->stage[i], 2, error));
    return MOTLEY_OK;
}

motley_status mot_transform_print(const mot_transform *transform, char **text, motley_error *error)
{
    if (transform->follower)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "a follower of policy '%s' has no text: print the policy",
                        transform->name);
    if (transform->text) {
        *text = strdup(transform->text);
        return *text ? MOTLEY_OK
                     : mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the text of '%s'", transform->name);
    }
    if (transform->plain)
        return mot_policy_print_text(transform->stage[0].policy, text, error);
    mot_text w = { 0 };
    mot_head_print(&w, &transform->head);
    motley_status status = print_stages(&w, transform, error);
    if (status == MOTLEY_OK && w.failed)
        status = mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the text of transform '%s'", transform->name);
    if (status == MOTLEY_OK)
        *text = w.text;
    else
        free(w.text);
    return status;
}
