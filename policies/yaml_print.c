/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a tree as YAML. */
#include "base/number.h"
#include "policies/yaml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 110 /* columns that a line in braces may have */

/* Whether a text reads back without quotes wherever it stands. */
static bool is_bare(const char *text, size_t length)
{
    static const char *const others[] = { "true", "false", "yes", "no", "on", "off", "null", "y", "n" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(text, others[i]) == 0)
            return false;
    return length > 0 && isalpha((unsigned char)text[0]) && text[length - 1] != ':' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-:") == length;
}

static void print_scalar(const mot_yaml_tree *tree, const mot_yaml *node, mot_text *w)
{
    const char *const text = mot_yaml_text(tree, node);
    double value;
    if (node->plain && mot_number_parse(text, &value))
        mot_say_number(w, "", value);
    else if (is_bare(text, node->length))
        mot_put(w, text, node->length);
    else
        mot_say_quoted(w, text);
}

static void print_flow(const mot_yaml_tree *tree, const mot_yaml *node, mot_text *w)
{
    if (node->kind == MOT_YAML_SCALAR) {
        print_scalar(tree, node, w);
        return;
    }
    const bool map = node->kind == MOT_YAML_MAP;
    bool value = false;
    mot_say(w, map ? "{" : "[");
    for (const mot_yaml *item = mot_yaml_child(tree, node); item; item = mot_yaml_next(tree, item)) {
        print_flow(tree, item, w);
        value = map && !value;
        mot_say(w, value ? ": " : mot_yaml_next(tree, item) ? ", " : "");
    }
    mot_say(w, map ? "}" : "]");
}

/* Whether a node has a list whose items hold mappings: stages, say, which get a line each. */
static bool is_tall(const mot_yaml_tree *tree, const mot_yaml *node)
{
    for (const mot_yaml *item = mot_yaml_child(tree, node); item; item = mot_yaml_next(tree, item)) {
        if (is_tall(tree, item))
            return true;
        for (const mot_yaml *part = mot_yaml_child(tree, item); part; part = mot_yaml_next(tree, part))
            if (node->kind == MOT_YAML_LIST && part->kind == MOT_YAML_MAP)
                return true;
    }
    return false;
}

/* Whether a node is written in one line, behind `column` characters. If memory runs out, `w` is marked as failed. */
static bool is_flow(const mot_yaml_tree *tree, const mot_yaml *node, size_t column, mot_text *w)
{
    if (node->children == 0)
        return true;
    if (is_tall(tree, node))
        return false;
    mot_text line = { 0 };
    print_flow(tree, node, &line);
    const bool fits = column + line.used <= WIDTH;
    w->failed |= line.failed;
    free(line.text);
    return fits;
}

/* Writes a list or a mapping over several lines; `open`: the first one is indented already. */
static void print_block(const mot_yaml_tree *tree, const mot_yaml *node, int depth, bool open, mot_text *w)
{
    for (const mot_yaml *item = mot_yaml_child(tree, node); item; item = mot_yaml_next(tree, item)) {
        const size_t before = w->used;
        mot_say(w, "%*s", open ? 0 : 2 * depth, "");
        open = false;
        if (node->kind == MOT_YAML_LIST) {
            mot_say(w, "-");
            if (item->kind == MOT_YAML_MAP && item->children && (item->children == 2 || !is_flow(tree, item, 40, w))) {
                mot_say(w, " ");
                print_block(tree, item, depth + 1, true, w);
                continue;
            }
        } else {
            print_flow(tree, item, w);
            mot_say(w, ":");
            item = mot_yaml_next(tree, item);
        }
        if (is_flow(tree, item, w->used - before, w)) {
            mot_say(w, " ");
            print_flow(tree, item, w);
            mot_say(w, "\n");
        } else {
            mot_say(w, "\n");
            print_block(tree, item, depth + 1, false, w);
        }
    }
}

void mot_yaml_print(const mot_yaml_tree *tree, mot_text *w)
{
    print_block(tree, &tree->node[0], 0, false, w);
}
