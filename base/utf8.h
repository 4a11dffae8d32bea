/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: which bytes are a character, and which one. */
#ifndef MOT_UTF8_H
#define MOT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the character at `text`, of which `room` may be read; 0 when it is not well-formed: cut short, overlong,
 * a surrogate, or beyond U+10FFFF (the Unicode Standard, table 3-7). */
static inline size_t mot_utf8_character(const void *text, size_t room)
{
    const unsigned char *s = (const unsigned char *)text;
    if (room == 0)
        return 0;
    const size_t n = s[0] < 0x80                   ? 1
                     : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
                     : (s[0] & 0xF0) == 0xE0       ? 3
                     : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                                   : 0;
    if (n == 0 || n > room)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    const int overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    const int outside = (s[0] == 0xED && s[1] >= 0xA0) || (s[0] == 0xF4 && s[1] >= 0x90);
    return overlong || outside ? 0 : n;
}

/* The code point of the well-formed character at `text`, which has n bytes. */
static inline uint32_t mot_utf8_code(const void *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t code = n == 1 ? s[0] : s[0] & 0x7Fu >> n;
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3Fu);
    return code;
}

#endif
