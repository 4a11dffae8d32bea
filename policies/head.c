/* SPDX-License-Identifier: Apache-2.0 */
/* See head.h. */
#include "policies/head.h"
#include "policies/print.h"

#include <stdlib.h>

enum { NAME, TITLE, PROFILE, PAPER, TABLE, VERSION };

const char *const mot_head_keys[MOT_HEAD_TEXTS] = { "name", "title", "profile", "paper", "table", "version" };

void mot_head_read(reader *r, const mot_yaml *map, const char *what, bool part, mot_head *head)
{
    const mot_yaml *node = get(r, map, "motley");
    uint32_t format;
    int which;
    if (node)
        whole_number(r, node, "'motley' (the version of the format)", 1, 1, &format);
    else if (!part)
        PROBLEM(r, map, "key 'motley' is missing, want 'motley: 1', the version of the format");
    const char *name = part ? "inline" : NULL;
    if ((node = get(r, map, "name")))
        name = is_name(r, node, "'name'") ? text_of(r, node) : NULL;
    else if (!part)
        PROBLEM(r, map, "key 'name' is missing, want the %s's name", what);
    if (name)
        keep_text(r, name, &head->text[NAME]);
    if ((node = get(r, map, "profile")) &&
        word(r, node, "'profile'", mot_profile_names, COUNT(mot_profile_names), &which))
        keep_text(r, mot_profile_names[which], &head->text[PROFILE]);
    for (int k = TITLE; k < MOT_HEAD_TEXTS; k++) {
        if (k == PROFILE || !(node = get(r, map, mot_head_keys[k])))
            continue;
        if (node->kind != MOT_YAML_SCALAR)
            PROBLEM(r, node, "'%s' is %s, want a text", mot_head_keys[k], kind_of(r, node));
        else if (node->length > MOT_MAX_WORDS)
            PROBLEM(r, node, "'%s' has %zu bytes, want at most %d", mot_head_keys[k], node->length, MOT_MAX_WORDS);
        else
            keep_text(r, text_of(r, node), &head->text[k]);
    }
}

void mot_head_print(mot_text *w, const mot_head *head)
{
    mot_say(w, "motley: 1\n");
    for (int k = 0; k < MOT_HEAD_TEXTS; k++) {
        if (!head->text[k])
            continue;
        mot_say(w, "%s: ", mot_head_keys[k]);
        if (k == NAME || k == PROFILE)
            mot_say(w, "%s", head->text[k]);
        else
            mot_say_quoted(w, head->text[k]);
        mot_say(w, "\n");
    }
}

void mot_head_free(const mot_head *head)
{
    for (int k = 0; k < MOT_HEAD_TEXTS; k++)
        free(head->text[k]);
}

void mot_head_describe(const mot_head *head, motley_policy_info *info)
{
    info->name = head->text[NAME] ? head->text[NAME] : "";
    info->title = head->text[TITLE] ? head->text[TITLE] : info->name;
    info->profile = head->text[PROFILE] ? head->text[PROFILE] : "";
    info->paper = head->text[PAPER] ? head->text[PAPER] : "";
}
