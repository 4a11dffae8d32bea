/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: strtod and snprintf, with the locale's decimal point put in and taken out. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shape of a number: sign, digits with at most one point, exponent. */
static bool looks_like_number(const char *s)
{
    s += *s == '-' || *s == '+';
    const size_t whole = strspn(s, "0123456789");
    s += whole;
    size_t part = 0;
    if (*s == '.') {
        part = strspn(s + 1, "0123456789");
        s += 1 + part;
    }
    if (whole + part == 0)
        return false;
    if (*s == 'e' || *s == 'E') {
        s += 1;
        s += *s == '-' || *s == '+';
        const size_t digits = strspn(s, "0123456789");
        if (digits == 0)
            return false;
        s += digits;
    }
    return *s == '\0';
}

bool mot_number_parse(const char *text, double *value)
{
    char local[256];
    const char *mark = localeconv()->decimal_point, *dot = strchr(text, '.');
    if (!looks_like_number(text) || strlen(text) + strlen(mark) >= sizeof local)
        return false;
    if (dot) {
        memcpy(local, text, (size_t)(dot - text));
        strcpy(stpcpy(local + (dot - text), mark), dot + 1);
    } else {
        strcpy(local, text);
    }
    *value = strtod(local, NULL);
    return isfinite(*value);
}

void mot_number_print(double value, char text[MOT_NUMBER_ROOM])
{
    const char *mark = localeconv()->decimal_point;
    for (int digits = 15; digits <= 17; digits++) {
        char local[64];
        snprintf(local, sizeof local, "%.*g", digits, value);
        char *at = strstr(local, mark);
        if (at)
            snprintf(text, MOT_NUMBER_ROOM, "%.*s.%s", (int)(at - local), local, at + strlen(mark));
        else
            snprintf(text, MOT_NUMBER_ROOM, "%.*s", MOT_NUMBER_ROOM - 1, local);
        double back;
        if (mot_number_parse(text, &back) && back == value)
            return;
    }
}

const char *mot_number_text(double value, char text[MOT_NUMBER_ROOM])
{
    mot_number_print(value, text);
    return text;
}
