/* SPDX-License-Identifier: Apache-2.0 */
/* Reads YAML with libfyaml's events into a tree. libfyaml's own words become problems; it never prints. */
#include "policies/yaml.h"

#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

motley_status mot_yaml_tell(mot_yaml_tree *tree, const motley_parse_params *params, motley_error *error)
{
    if (tree->problems == 0)
        return MOTLEY_OK;
    qsort(tree->problem, tree->problems, sizeof *tree->problem, by_offset);
    for (uint32_t i = 0; i < tree->problems; i++) {
        int line, column;
        place(tree, tree->problem[i].offset, &line, &column);
        motley_error told;
        mot_fail_at(&told, MOTLEY_ERR_POLICY, line, column, "%s", tree->problem[i].message);
        if (i == 0 && error)
            *error = told;
        if (params && params->report)
            params->report(params->user, &told);
    }
    return MOTLEY_ERR_POLICY;
}

/* Whether the character at `s` may stand in a policy's text: YAML allows no control characters but these. */
static bool is_allowed(unsigned char s)
{
    return (s >= 0x20 && s != 0x7F) || s == '\t' || s == '\n' || s == '\r';
}

static bool well_formed(mot_yaml_tree *tree)
{
    if (tree->source_bytes > MOT_MAX_TEXT_BYTES) {
        mot_yaml_problem(tree, 0, "the text has %zu bytes, want at most %u", tree->source_bytes, MOT_MAX_TEXT_BYTES);
        return false;
    }
    const unsigned char *s = (const unsigned char *)tree->source;
    for (size_t i = 0, n; i < tree->source_bytes; i += n)
        if ((n = mot_utf8_character(s + i, tree->source_bytes - i)) == 0 || !is_allowed(s[i])) {
            mot_yaml_problem(tree, i,
                             s[i] < 0x80 ? "a text must not hold the control character 0x%02x"
                                         : "byte 0x%02x is not part of a UTF-8 text",
                             s[i]);
            return false;
        }
    return true;
}

/* Where in the text a token begins; a missing one begins where the last node did. */
static size_t token_offset(const mot_yaml_tree *tree, struct fy_token *token)
{
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    if (mark)
        return mark->input_pos;
    return tree->nodes ? tree->node[tree->nodes - 1].offset : 0;
}

/* What is being built: the open collections, from the root down. */
typedef struct builder {
    mot_yaml_tree *tree;
    uint32_t open[MOT_MAX_DEPTH], last[MOT_MAX_DEPTH]; /* node, and its newest child */
    uint32_t depth;
} builder;

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

/* The token of something that YAML has and the format has not, or NULL. */
static struct fy_token *foreign(struct fy_event *event)
{
    if (event->type == FYET_ALIAS)
        return fy_event_get_token(event);
    struct fy_token *anchor = fy_event_get_anchor_token(event);
    return anchor ? anchor : fy_event_get_tag_token(event);
}

/* Takes one event. *stop is set when the text is refused. */
static motley_status take(builder *b, struct fy_event *event, bool *stop)
{
    mot_yaml_tree *tree = b->tree;
    struct fy_token *token = fy_event_get_token(event);
    uint32_t index;
    if (foreign(event)) {
        mot_yaml_problem(tree, token_offset(tree, foreign(event)),
                         "anchors, aliases and tags are not part of the format");
        *stop = true;
        return MOTLEY_OK;
    }
    switch (event->type) {
    case FYET_SCALAR:
    case FYET_SEQUENCE_START:
    case FYET_MAPPING_START:
        if (tree->nodes == MOT_MAX_NODES) {
            mot_yaml_problem(tree, token_offset(tree, token), "the text holds more than %u values", MOT_MAX_NODES);
            *stop = true;
            return MOTLEY_OK;
        }
        MOT_TRY(add_node(b,
                         event->type == FYET_SCALAR           ? MOT_YAML_SCALAR
                         : event->type == FYET_SEQUENCE_START ? MOT_YAML_LIST
                                                              : MOT_YAML_MAP,
                         token_offset(tree, token), &index));
        if (event->type == FYET_SCALAR) {
            size_t length = 0;
            const char *text = token ? fy_token_get_text(token, &length) : NULL;
            if (token && !text)
                return MOTLEY_ERR_MEMORY;
            tree->node[index].plain = !token || fy_token_scalar_style(token) == FYSS_PLAIN;
            if (text && memchr(text, '\0', length)) {
                mot_yaml_problem(tree, tree->node[index].offset, "a text must not hold the character NUL");
                length = 0;
            }
            return set_text(tree, index, text, length);
        }
        if (b->depth == MOT_MAX_DEPTH) {
            mot_yaml_problem(tree, tree->node[index].offset, "nested deeper than %d", MOT_MAX_DEPTH);
            *stop = true;
            return MOTLEY_OK;
        }
        b->open[b->depth] = index;
        b->last[b->depth++] = 0;
        return MOTLEY_OK;
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
        b->depth--;
        return MOTLEY_OK;
    case FYET_DOCUMENT_START:
        if (tree->nodes) {
            mot_yaml_problem(tree, token_offset(tree, token), "a second document: want one policy in a text");
            *stop = true;
        }
        return MOTLEY_OK;
    default:
        return MOTLEY_OK;
    }
}

/* libfyaml's complaint as a problem: its first word on the matter, without line breaks. It has none when what it
 * lacked was memory, and for some texts (a block scalar that says |0). */
static motley_status take_complaint(mot_yaml_tree *tree, struct fy_diag *diag)
{
    void *previous = NULL;
    const struct fy_diag_error *complaint = fy_diag_errors_iterate(diag, &previous);
    if (!complaint || !complaint->msg) {
        if (errno == ENOMEM)
            return MOTLEY_ERR_MEMORY;
        mot_yaml_problem(tree, tree->nodes ? tree->node[tree->nodes - 1].offset : 0,
                         "not well-formed YAML: what follows this cannot be read");
        return MOTLEY_OK;
    }
    const char *line = tree->source, *end = tree->source + tree->source_bytes;
    for (int i = 1; i < complaint->line && line; i++)
        if ((line = memchr(line, '\n', (size_t)(end - line))))
            line++;
    const size_t column = complaint->column > 0 ? (size_t)complaint->column - 1 : 0;
    mot_yaml_problem(tree, line ? (size_t)(line - tree->source) + column : tree->source_bytes,
                     "not well-formed YAML: %.*s", (int)strcspn(complaint->msg, "\r\n"), complaint->msg);
    return MOTLEY_OK;
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

    motley_status status = MOTLEY_ERR_MEMORY;
    struct fy_parser *parser = NULL;
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL; /* say nothing */
    diag_cfg.output_fn = NULL;
    struct fy_diag *diag = fy_diag_create(&diag_cfg);
    if (!diag)
        goto done;
    fy_diag_set_collect_errors(diag, true);
    parser = fy_parser_create(
        &(struct fy_parse_cfg){ .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE, .diag = diag });
    if (!parser || fy_parser_set_string(parser, text, length) != 0)
        goto done;

    builder b = { .tree = tree };
    bool stop = false;
    status = MOTLEY_OK;
    while (!stop && status == MOTLEY_OK) {
        errno = 0;
        struct fy_event *event = fy_parser_parse(parser);
        if (!event) {
            status = take_complaint(tree, diag);
            break;
        }
        const bool end = event->type == FYET_STREAM_END;
        status = take(&b, event, &stop);
        fy_parser_event_free(parser, event);
        if (end)
            break;
    }
    if (status == MOTLEY_OK && tree->problems == 0 && tree->nodes == 0)
        mot_yaml_problem(tree, 0, "the text holds no value, want a policy");
done:
    if (parser)
        fy_parser_destroy(parser);
    if (diag)
        fy_diag_destroy(diag);
    return status;
}

void mot_yaml_clear(mot_yaml_tree *tree)
{
    free(tree->node);
    free(tree->chars);
    free(tree->problem);
    *tree = (mot_yaml_tree){ 0 };
}
