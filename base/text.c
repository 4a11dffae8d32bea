/* SPDX-License-Identifier: Apache-2.0 */
/* See text.h. */
#include "base/text.h"

#include "base/number.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mot_put(mot_text *w, const char *text, size_t length)
{
    if (!w->failed && w->room - w->used < length + 1) {
        const size_t room = (w->used + length + 1) * 2;
        char *grown = realloc(w->text, room);
        w->failed = !grown;
        if (grown) {
            w->text = grown;
            w->room = room;
        }
    }
    if (w->failed)
        return;
    memcpy(w->text + w->used, text, length);
    w->used += length;
    w->text[w->used] = '\0';
}

void mot_say(mot_text *w, const char *format, ...)
{
    char line[256];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    mot_put(w, line, strlen(line));
}

void mot_say_number(mot_text *w, const char *before, double number)
{
    char text[MOT_NUMBER_ROOM];
    mot_number_print(number, text);
    mot_say(w, "%s%s", before, text);
}

void mot_say_quoted(mot_text *w, const char *text)
{
    mot_say(w, "\"");
    for (const char *s = text; *s;) {
        const size_t n = mot_utf8_character(s, strlen(s));
        const uint32_t code = mot_utf8_code(s, n);
        if (code == '"' || code == '\\')
            mot_say(w, "\\%c", (char)code);
        else if (code < 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0x2028 || code == 0x2029 || code == 0xFEFF ||
                 code == 0xFFFE || code == 0xFFFF)
            mot_say(w, "\\u%04x", code);
        else
            mot_put(w, s, n);
        s += n;
    }
    mot_say(w, "\"");
}
