/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: numbers are written so that they read back as the same doubles. */
#include "tools/tool.h"

#include "base/number.h"
#include "base/utf8.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct json_object *number_json(double value)
{
    char text[MOT_NUMBER_ROOM + 2];
    if (!isfinite(value))
        return NULL;
    mot_number_print(value, text);
    return need(json_object_new_double_s(value, strpbrk(text, ".e") ? text : strcat(text, ".0")));
}

struct json_object *size_json(int32_t width, int32_t height)
{
    struct json_object *size = need(json_object_new_array());
    json_object_array_add(size, need(json_object_new_int(width)));
    json_object_array_add(size, need(json_object_new_int(height)));
    return size;
}

/* Whether a character is written as an escape: motley_draw_read refuses it, or a terminal would obey it. */
static bool is_escaped(uint32_t code)
{
    return code < ' ' || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 || code == 0xfffe ||
           code == 0xffff;
}

/* A text as JSON in quotes. json-c would not escape bytes that are not UTF-8, and the line would not be JSON. */
static char *quoted(const char *text)
{
    char *out = need(malloc(6 * strlen(text) + 3)), *to = out;
    *to++ = '"';
    for (size_t length; *text; text += length) {
        const unsigned char c = (unsigned char)*text;
        length = mot_utf8_character(text, strlen(text));
        if (length == 0) {
            to += sprintf(to, "\\udc%02x", c);
            length = 1;
        } else if (is_escaped(mot_utf8_code(text, length)))
            to += sprintf(to, "\\u%04x", mot_utf8_code(text, length));
        else {
            if (c == '"' || c == '\\')
                *to++ = '\\';
            memcpy(to, text, length);
            to += length;
        }
    }
    strcpy(to, "\"");
    return out;
}

static void free_text(struct json_object *object, void *text)
{
    (void)object;
    free(text);
}

struct json_object *text_json(const char *text)
{
    struct json_object *object = need(json_object_new_string(""));
    json_object_set_serializer(object, json_object_userdata_to_json_string, quoted(text), free_text);
    return object;
}

char *text_read_again(const char *text)
{
    struct json_object *written = text_json(text);
    struct json_object *read = need(json_tokener_parse(json_object_to_json_string(written)));
    char *copy = need(strdup(json_object_get_string(read)));
    json_object_put(written);
    json_object_put(read);
    return copy;
}

struct json_object *line_json(const char *text)
{
    struct json_tokener *tokener = need(json_tokener_new());
    struct json_object *object = json_tokener_parse_ex(tokener, text, -1);
    const char *rest = text + json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    if (json_object_is_type(object, json_type_object) && !rest[strspn(rest, " \t\r\n")])
        return object;
    json_object_put(object);
    return NULL;
}

bool print_json(FILE *stream, struct json_object *object)
{
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
    const bool good = fprintf(stream, "%s\n", (const char *)need((void *)text)) >= 0;
    json_object_put(object);
    return good;
}
