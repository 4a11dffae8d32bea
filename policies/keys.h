/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a text's mappings, as tables: what is written where in a struct, in which limits, and its default. From a
 * table, keys are read, printed and compared. */
#ifndef MOT_KEYS_H
#define MOT_KEYS_H

#include "policies/reader.h"

/* What a key's value is, in the text and in the struct. */
typedef enum mot_key_kind {
    MOT_KEY_NUMBER,  /* a number: double */
    MOT_KEY_WHOLE,   /* a whole number: int32_t */
    MOT_KEY_RANGE,   /* two numbers, the lower first: double[2] */
    MOT_KEY_WORD,    /* one of `words`: int32_t */
    MOT_KEY_WORDS,   /* one of `words`, or up to `high` of them: uint8_t[], how many and which */
    MOT_KEY_NUMBERS, /* 1, 3 or 4 numbers: double[4], and how many at `count_at` */
    MOT_KEY_BYTES,   /* 1, 3 or 4 whole numbers: uint8_t[4], and how many at `count_at` */
    MOT_KEY_SIZE,    /* one side or [height, width]: int32_t[2], width and height */
    MOT_KEY_SIDES,   /* whole numbers: uint16_t[], at least one and as many as fit, and how many at `count_at` */
    MOT_KEY_FACTORS, /* a strength or a range of factors: double[2] */
    MOT_KEY_SHIFTS,  /* a strength or a range of shifts: double[2] */
    MOT_KEY_COUNTS,  /* a whole number or a range of them: int32_t[2] */
    MOT_KEY_CHOICES, /* 1 to MOT_MAX_OVERLAPS numbers: double[], and how many at `count_at` */
    MOT_KEY_VALUE,   /* 1, 3 or 4 numbers, or one of `words`: as NUMBERS; the word's place + 1 at `count_at` + 4 */
    MOT_KEY_LEVEL,   /* mot_level */
    MOT_KEY_REPEAT,  /* mot_repeat */
    MOT_KEY_KEYS,    /* a mapping of `keys`: a struct of their own, zero if the text has none */
    MOT_KEY_NAME     /* a text that another reader keeps */
} mot_key_kind;

enum {
    MOT_KEY_PRINTED = 1, /* even if it has its default */
    MOT_KEY_BARE = 2,    /* it has no default: it is printed if the text has it, as `given` says */
    MOT_KEY_NEEDED = 4,  /* the text must have it */
    MOT_KEY_SHORTER = 8, /* of a SIZE: one number is the shorter side, and is kept with a height of 0 */
    MOT_KEY_SET = 16,    /* of WORDS: their order has no meaning, and a list is printed for one, too */
    MOT_KEY_OR = 32      /* a text has this key or the one before it, which is printed if both are set */
};

typedef struct mot_key {
    const char *name;
    const char *what; /* of the value, in messages; NULL: the name */
    mot_key_kind kind;
    uint16_t at, bytes; /* its place in the struct */
    uint16_t count_at;
    double low, high;      /* limits of a number */
    double standard[2];    /* the default */
    const double *choices; /* of CHOICES, the default: */
    const char *const *words;
    const struct mot_keys *keys;
    uint8_t choices_count, words_count;
    uint8_t spellings; /* words beyond words_count are other spellings of these, in their order */
    uint8_t first;     /* the value of the first word */
    uint8_t flags;
} mot_key;

typedef struct mot_keys {
    const mot_key *key;
    int count;
} mot_keys;

#define MOT_KEYS(table) \
    { \
        table, COUNT(table) \
    }

/* A row. AT and PLACE, which the table defines, say where a field is. */
#define MOT_KEY(key, of_kind, field, ...) \
    { \
        .name = key, .kind = MOT_KEY_##of_kind, PLACE(field), __VA_ARGS__ \
    }
#define MOT_KEY_AT(key, of_kind, field, room, ...) \
    { \
        .name = key, .kind = MOT_KEY_##of_kind, .at = AT(field), .bytes = room, __VA_ARGS__ \
    }
#define MOT_KEY_IN(least, most) .low = least, .high = most
#define MOT_KEY_ELSE(...) .standard = { __VA_ARGS__ }
#define MOT_KEY_OF(names, count) .words = names, .words_count = count, .spellings = COUNT(names)

/* Gives every key its default. */
void mot_keys_default(const mot_keys *keys, void *of);

/* Reads `what`, a mapping, into `of`, beginning with the defaults. It may have other keys, which the caller reads. Bit
 * k of *given: it has key k. False if it is no mapping. Problems go to `r`. */
bool mot_keys_read(reader *r, const mot_yaml *map, const char *what, const mot_keys *keys, const char *const *others,
                   int others_count, void *of, uint32_t *given);

/* Writes the keys that a text needs, the first one behind `before`, others behind `between`. Whether there are any. */
bool mot_keys_print(mot_text *w, const mot_keys *keys, const void *of, uint32_t given, const char *before,
                    const char *between);

/* Reads a list of `least` to `most` numbers in low..high, or a single number where `least` is 1. Returns how many were
 * read; 0 after a problem. */
int mot_read_numbers(reader *r, const mot_yaml *node, const char *what, int least, int most, double low, double high,
                     double *out);

/* Reads a level. After a problem it is the fixed level 0, so that it is not reported twice. And writes one. */
void mot_level_read(reader *r, const mot_yaml *node, mot_level *out);
void mot_level_print(mot_text *w, const mot_level *level);

#endif
