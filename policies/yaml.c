/* SPDX-License-Identifier: Apache-2.0 */
/* Reads YAML into a tree from libyaml's events, and writes a tree as YAML. libyaml's errors become problems. */
#include "policies/yaml.h"

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

void mot_yaml_problem(mot_yaml_tree *tree, size_t offset, const char *format, ...)
{
    if (tree->problems == MOT_MAX_PROBLEMS)
        return;
    mot_problem *problem = &tree->problem[tree->problems++];
    problem->offset = offset;
    va_list values;
    va_start(values, format);
    vsnprintf(problem->message, sizeof problem->message, format, values);
    va_end(values);
}

/* 1-based; the column counts characters. */
static void place(const mot_yaml_tree *tree, size_t offset, int *line, int *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < offset && i < tree->source_bytes; i++) {
        const char c = tree->source[i];
        if (c == '\n' || (c == '\r' && !(i + 1 < tree->source_bytes && tree->source[i + 1] == '\n'))) {
            ++*line;
            *column = 1;
        } else if (((unsigned char)c & 0xC0) != 0x80) {
            ++*column;
        }
    }
}

static int by_offset(const void *a, const void *b)
{
    const mot_problem *p = a, *q = b;
    return p->offset != q->offset ? (p->offset < q->offset ? -1 : 1) : strcmp(p->message, q->message);
}

motley_status mot_yaml_report(mot_yaml_tree *tree, const motley_parse_params *params, motley_error *error)
{
    if (tree->problems == 0)
        return MOTLEY_OK;
    qsort(tree->problem, tree->problems, sizeof *tree->problem, by_offset);
    for (uint32_t i = 0; i < tree->problems; i++) {
        int line, column;
        place(tree, tree->problem[i].offset, &line, &column);
        motley_error problem;
        mot_fail_at(&problem, MOTLEY_ERR_POLICY, line, column, "%s", tree->problem[i].message);
        if (i == 0 && error)
            *error = problem;
        if (params && params->report)
            params->report(params->user, &problem);
    }
    return MOTLEY_ERR_POLICY;
}

/* Whether YAML allows a character. */
static bool is_allowed(uint32_t code)
{
    if (code < 0x20)
        return code == '\t' || code == '\n' || code == '\r';
    return !(code >= 0x7F && code < 0xA0) && code != 0xFFFE && code != 0xFFFF;
}

static bool well_formed(mot_yaml_tree *tree)
{
    if (tree->source_bytes > MOT_MAX_TEXT_BYTES) {
        mot_yaml_problem(tree, 0, "the text has %zu bytes, want at most %u", tree->source_bytes, MOT_MAX_TEXT_BYTES);
        return false;
    }
    for (size_t i = 0, n; i < tree->source_bytes; i += n) {
        const char *s = tree->source + i;
        n = mot_utf8_character(s, tree->source_bytes - i);
        if (n == 0) {
            mot_yaml_problem(tree, i, "byte 0x%02x is not part of a UTF-8 text", (unsigned char)*s);
            return false;
        }
        const uint32_t code = mot_utf8_code(s, n);
        if (!is_allowed(code)) {
            mot_yaml_problem(tree, i, "a text must not hold the control character 0x%02x", code);
            return false;
        }
        if (code == 0x2028 || code == 0x2029) { /* line ends in YAML 1.1, but not in 1.2 */
            mot_yaml_problem(tree, i,
                             "U+%04X ends a line for some readers of YAML and not for others; in quotes, write \\u%04x",
                             code, code);
            return false;
        }
    }
    return true;
}

/* What is being built: the open collections, from the root down. */
typedef struct builder {
    mot_yaml_tree *tree;
    uint32_t open[MOT_MAX_DEPTH], last[MOT_MAX_DEPTH]; /* node, and its newest child */
    uint32_t depth;
    size_t characters, offset; /* the place last asked for: libyaml counts characters, we count bytes */
} builder;

static bool is_inside_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* The byte of the text at which its character number `index` begins. The walk is short: events come in order. */
static size_t offset_of(builder *b, size_t index)
{
    const char *text = b->tree->source;
    const size_t end = b->tree->source_bytes;
    for (; b->characters < index && b->offset < end; b->characters++)
        do
            b->offset++;
        while (b->offset < end && is_inside_character(text[b->offset]));
    for (; b->characters > index; b->characters--)
        do
            b->offset--;
        while (is_inside_character(text[b->offset]));
    return b->offset;
}

static motley_status add_node(builder *b, mot_yaml_kind kind, size_t offset, uint32_t *index)
{
    mot_yaml_tree *tree = b->tree;
    if (tree->nodes == tree->node_room) {
        const uint32_t room = tree->node_room ? tree->node_room * 2 : 256;
        mot_yaml *grown = realloc(tree->node, room * sizeof *grown);
        if (!grown)
            return MOTLEY_ERR_MEMORY;
        tree->node = grown;
        tree->node_room = room;
    }
    *index = tree->nodes++;
    tree->node[*index] = (mot_yaml){ .kind = kind, .offset = offset };
    if (b->depth) {
        const uint32_t parent = b->open[b->depth - 1], last = b->last[b->depth - 1];
        if (last)
            tree->node[last].next = *index;
        else
            tree->node[parent].first = *index;
        tree->node[parent].children++;
        b->last[b->depth - 1] = *index;
    }
    return MOTLEY_OK;
}

static motley_status set_text(mot_yaml_tree *tree, uint32_t index, const char *text, size_t length)
{
    if (tree->chars_room - tree->chars_used < length + 1) {
        const size_t room = (tree->chars_used + length + 1) * 2;
        char *grown = realloc(tree->chars, room);
        if (!grown)
            return MOTLEY_ERR_MEMORY;
        tree->chars = grown;
        tree->chars_room = room;
    }
    tree->node[index].text = tree->chars_used;
    tree->node[index].length = length;
    if (length)
        memcpy(tree->chars + tree->chars_used, text, length);
    tree->chars_used += length;
    tree->chars[tree->chars_used++] = '\0';
    return MOTLEY_OK;
}

motley_status mot_yaml_set(mot_yaml_tree *tree, const mot_yaml *node, const char *text)
{
    const uint32_t index = (uint32_t)(node - tree->node);
    tree->node[index].kind = MOT_YAML_SCALAR;
    tree->node[index].plain = true;
    tree->node[index].first = tree->node[index].children = 0;
    return set_text(tree, index, text, strlen(text));
}

static motley_status take_scalar(builder *b, const yaml_event_t *event, uint32_t index)
{
    mot_yaml_tree *tree = b->tree;
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    tree->node[index].plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (memchr(text, '\0', length)) {
        mot_yaml_problem(tree, tree->node[index].offset, "a text must not hold the character NUL");
        length = 0;
    }
    return set_text(tree, index, text, length);
}

static motley_status take_value(builder *b, const yaml_event_t *event, mot_yaml_kind kind, size_t offset, bool *stop)
{
    mot_yaml_tree *tree = b->tree;
    uint32_t index;
    *stop = true;
    if (offset < tree->source_bytes &&
        strchr("&*!", tree->source[offset])) { /* only an anchor, an alias or a tag begins with one of these */
        mot_yaml_problem(tree, offset, "anchors, aliases and tags are not part of the format");
        return MOTLEY_OK;
    }
    if (tree->nodes == MOT_MAX_NODES) {
        mot_yaml_problem(tree, offset, "the text holds more than %u values", MOT_MAX_NODES);
        return MOTLEY_OK;
    }
    MOT_TRY(add_node(b, kind, offset, &index));
    if (kind != MOT_YAML_SCALAR && b->depth == MOT_MAX_DEPTH) {
        mot_yaml_problem(tree, offset, "nested deeper than %d", MOT_MAX_DEPTH);
        return MOTLEY_OK;
    }
    *stop = false;
    if (kind == MOT_YAML_SCALAR)
        return take_scalar(b, event, index);
    b->open[b->depth] = index;
    b->last[b->depth++] = 0;
    return MOTLEY_OK;
}

/* Handles one event. *stop is set when the text is refused. */
static motley_status take(builder *b, const yaml_event_t *event, bool *stop)
{
    const size_t offset = offset_of(b, event->start_mark.index);
    switch (event->type) {
    case YAML_ALIAS_EVENT:
    case YAML_SCALAR_EVENT:
        return take_value(b, event, MOT_YAML_SCALAR, offset, stop);
    case YAML_SEQUENCE_START_EVENT:
        return take_value(b, event, MOT_YAML_LIST, offset, stop);
    case YAML_MAPPING_START_EVENT:
        return take_value(b, event, MOT_YAML_MAP, offset, stop);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        return MOTLEY_OK;
    case YAML_DOCUMENT_START_EVENT:
        if (b->tree->nodes) {
            mot_yaml_problem(b->tree, offset, "a second document: want one policy in a text");
            *stop = true;
        }
        return MOTLEY_OK;
    default:
        return MOTLEY_OK;
    }
}

/* Reports as a problem why libyaml could not read an event. */
static motley_status take_complaint(builder *b, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return MOTLEY_ERR_MEMORY;
    if (parser->error == YAML_READER_ERROR) { /* it has no mark */
        mot_yaml_problem(b->tree, parser->problem_offset, "not well-formed YAML: %s", parser->problem);
        return MOTLEY_OK;
    }
    const size_t offset = offset_of(b, parser->problem_mark.index);
    char context[120] = "";
    if (offset < b->tree->source_bytes && b->tree->source[offset] == '\t')
        snprintf(context, sizeof context, "; tabs may not indent");
    else if (parser->context && parser->context_mark.line != parser->problem_mark.line)
        snprintf(context, sizeof context, " %s (line %zu)", parser->context, parser->context_mark.line + 1);
    else if (parser->context)
        snprintf(context, sizeof context, " %s", parser->context);
    mot_yaml_problem(b->tree, offset, "not well-formed YAML: %s%s", parser->problem, context);
    return MOTLEY_OK;
}

/* The value of an escape like \ud83d at `s`; 0 when there is none. */
static uint32_t escape_value(const char *s, size_t room)
{
    char digits[5] = "";
    if (room < 6 || s[0] != '\\' || s[1] != 'u')
        return 0;
    memcpy(digits, s + 2, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? (uint32_t)strtoul(digits, NULL, 16) : 0;
}

/* The code point of a pair of escapes like \ud83d\ude00 at `s`; 0 when there is none. */
static uint32_t pair_value(const char *s, size_t room)
{
    const uint32_t high = escape_value(s, room), low = high ? escape_value(s + 6, room - 6) : 0;
    const bool is_pair = high >= 0xD800 && high < 0xDC00 && low >= 0xDC00 && low < 0xE000;
    return is_pair ? 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00) : 0;
}

/* JSON escapes a character beyond U+FFFF as a pair of surrogates, which YAML does not know. Copies a JSON text to
 * `out`, at the same length, with \ud83d\ude00 as \U0001f600; two spaces after the string's end keep the offsets of
 * what follows. False when the text is YAML and not JSON: only a YAML parser can say where its strings are. */
static bool join_pairs(const char *text, size_t length, char *out)
{
    char last = '\0'; /* the last character outside strings */
    int spaces = 0;
    bool inside = false;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        const uint32_t pair = inside ? pair_value(text + i, length - i) : 0;
        if (pair) {
            char escape[11];
            snprintf(escape, sizeof escape, "\\U%08x", (unsigned)pair);
            memcpy(out, escape, 10);
            out += 10;
            i += 11;
            spaces += 2;
            continue;
        }
        *out++ = c;
        if (inside && c == '\\' && i + 1 < length)
            *out++ = text[++i];
        else if (inside && c == '"') {
            for (inside = false; spaces; spaces--)
                *out++ = ' ';
        } else if (!inside && !strchr(" \t\r\n", c)) {
            const bool json = c == '"'   ? last && strchr("{[,:", last)
                              : c == ':' ? last == '"'
                              : last     ? isalnum((unsigned char)c) || strchr("{}[],+-.", c)
                                         : c == '{' || c == '[';
            if (!json)
                return false;
            inside = c == '"';
            last = c;
        }
    }
    return true;
}

motley_status mot_yaml_read(mot_yaml_tree *tree, const char *text, size_t length)
{
    *tree = (mot_yaml_tree){ .source = text, .source_bytes = length };
    tree->problem = malloc(MOT_MAX_PROBLEMS * sizeof *tree->problem);
    if (!tree->problem)
        return MOTLEY_ERR_MEMORY;
    if (!well_formed(tree))
        return MOTLEY_OK;
    if (length == 0) {
        mot_yaml_problem(tree, 0, "the text is empty, want a policy");
        return MOTLEY_OK;
    }

    char *joined = malloc(length);
    yaml_parser_t parser;
    if (!joined || !yaml_parser_initialize(&parser)) {
        free(joined);
        return MOTLEY_ERR_MEMORY;
    }
    const char *const read = join_pairs(text, length, joined) ? joined : text;
    yaml_parser_set_input_string(&parser, (const unsigned char *)read, length);
    builder b = { .tree = tree, .offset = strncmp(text, "\xEF\xBB\xBF", length < 3 ? length : 3) == 0 ? 3 : 0 };
    motley_status status = MOTLEY_OK;
    for (bool stop = false; !stop && status == MOTLEY_OK;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            status = take_complaint(&b, &parser);
            break;
        }
        stop = event.type == YAML_STREAM_END_EVENT;
        if (!stop)
            status = take(&b, &event, &stop);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    free(joined);
    if (status == MOTLEY_OK && tree->problems == 0 && tree->nodes == 0)
        mot_yaml_problem(tree, 0, "the text holds no value, want a policy");
    return status;
}

motley_status mot_yaml_copy(const mot_yaml_tree *tree, mot_yaml_tree *copy)
{
    *copy = *tree;
    copy->problems = 0;
    copy->node_room = tree->nodes;
    copy->chars_room = tree->chars_used;
    copy->node = malloc(tree->nodes * sizeof *copy->node);
    copy->chars = malloc(tree->chars_used);
    copy->problem = malloc(MOT_MAX_PROBLEMS * sizeof *copy->problem);
    if (copy->node && copy->chars && copy->problem) {
        memcpy(copy->node, tree->node, tree->nodes * sizeof *copy->node);
        memcpy(copy->chars, tree->chars, tree->chars_used);
        return MOTLEY_OK;
    }
    mot_yaml_clear(copy);
    return MOTLEY_ERR_MEMORY;
}

void mot_yaml_clear(mot_yaml_tree *tree)
{
    free(tree->node);
    free(tree->chars);
    free(tree->problem);
    *tree = (mot_yaml_tree){ 0 };
}

/* ---- writing ---- */

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

static void print_scalar(const mot_yaml_tree *tree, const mot_yaml *node, bool json, mot_text *w)
{
    const char *const text = mot_yaml_text(tree, node);
    double value;
    if (node->plain && mot_number_parse(text, &value))
        mot_say_number(w, "", value);
    else if (!json && is_bare(text, node->length))
        mot_put(w, text, node->length);
    else
        mot_say_quoted(w, text);
}

/* Writes a node in one line, in which JSON has no spaces. */
static void print_flow(const mot_yaml_tree *tree, const mot_yaml *node, bool json, mot_text *w)
{
    if (node->kind == MOT_YAML_SCALAR) {
        print_scalar(tree, node, json, w);
        return;
    }
    const bool map = node->kind == MOT_YAML_MAP;
    bool value = false;
    mot_say(w, map ? "{" : "[");
    for (const mot_yaml *item = mot_yaml_child(tree, node); item; item = mot_yaml_next(tree, item)) {
        print_flow(tree, item, json, w);
        value = map && !value;
        mot_say(w, "%s%s", value ? ":" : item->next ? "," : "", json || !item->next ? "" : " ");
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
    print_flow(tree, node, false, &line);
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
            print_flow(tree, item, false, w);
            mot_say(w, ":");
            item = mot_yaml_next(tree, item);
        }
        if (is_flow(tree, item, w->used - before, w)) {
            mot_say(w, " ");
            print_flow(tree, item, false, w);
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

motley_status mot_yaml_to_json(char **text, const char *name, motley_error *error)
{
    mot_yaml_tree tree = { 0 };
    mot_text w = { 0 };
    const motley_status status = mot_yaml_read(&tree, *text, strlen(*text));
    if (status == MOTLEY_OK)
        print_flow(&tree, &tree.node[0], true, &w);
    mot_say(&w, "\n");
    mot_yaml_clear(&tree);
    free(*text);
    const bool failed = status != MOTLEY_OK || w.failed;
    if (failed)
        free(w.text);
    *text = failed ? NULL : w.text;
    return failed ? mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the JSON of '%s'", name) : MOTLEY_OK;
}
