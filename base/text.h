/* SPDX-License-Identifier: Apache-2.0 */
/* A text that grows as it is written: policies in canonical form, and JSON. */
#ifndef MOT_TEXT_H
#define MOT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Initialise it with { 0 }. `text` is malloc'd, and the owner frees it. After a failed allocation, `failed` stays set,
 * and nothing more is written. */
typedef struct mot_text {
    char *text;
    size_t used, room; /* bytes */
    bool failed;
} mot_text;

void mot_put(mot_text *w, const char *text, size_t length);

/* Writes at most 255 bytes. Use mot_say_number for numbers with a fraction: it does not depend on the locale. */
__attribute__((format(printf, 2, 3))) void mot_say(mot_text *w, const char *format, ...);

/* Writes `before`, then a number that is finite, with the fewest digits that read back the same. */
void mot_say_number(mot_text *w, const char *before, double number);

/* Writes UTF-8 in double quotes, escaped so that YAML and JSON read it back. */
void mot_say_quoted(mot_text *w, const char *text);

#endif
