/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a transform's stages: one table, by which they are read, printed, compared and given their defaults. */
#ifndef MOT_STAGE_KEYS_H
#define MOT_STAGE_KEYS_H

#include "policies/reader.h"
#include "policies/transform.h"

/* Whether a text has stages or schedules; and reads it. Problems are reported. Errors: as motley_policy_parse. */
bool mot_is_staged(mot_yaml_tree *tree);
motley_status mot_transform_parse(mot_yaml_tree *tree, size_t length, const motley_parse_params *params,
                                  mot_transform **transform, motley_error *error);

/* Reads the plain transform that `r` holds; problems go to `r`. And keeps the text itself, of a transform that is not
 * printed from its model. */
motley_status mot_transform_read(reader *r, const motley_parse_params *params, mot_transform **transform);
bool mot_transform_keep_text(const reader *r, mot_transform *transform);

/* Reads a text with schedules, which `r` holds. Every epoch in which it means something else is checked, so that none
 * fails later. */
motley_status mot_transform_read_scheduled(reader *r, const motley_parse_params *params, mot_transform **transform,
                                           motley_error *error);

/* What a key's value is, in the text and in mot_stage.of. */
typedef enum mot_key_kind {
    MOT_KEY_NUMBER,  /* a number: double */
    MOT_KEY_WHOLE,   /* a whole number: int32_t */
    MOT_KEY_RANGE,   /* two numbers, the lower first: double[2] */
    MOT_KEY_WORD,    /* one of `words`: int32_t */
    MOT_KEY_NUMBERS, /* 1, 3 or 4 numbers: double[4], and how many at `count_at` */
    MOT_KEY_SIZE,    /* one side or [height, width]: int32_t[2], width and height */
    MOT_KEY_SIDES,   /* up to MOT_MAX_SIDES whole numbers: uint16_t[], and how many at `count_at` */
    MOT_KEY_FILTERS, /* a filter, or up to `high` of them: uint8_t[8], how many and which */
    MOT_KEY_FACTORS, /* a strength or a range of factors: double[2] */
    MOT_KEY_SHIFTS,  /* a strength or a range of shifts: double[2] */
    MOT_KEY_COUNTS,  /* a whole number or a range of them: int32_t[2] */
    MOT_KEY_CHOICES, /* 1 to MOT_MAX_OVERLAPS numbers: double[], and how many at `count_at` */
    MOT_KEY_VALUE    /* 1, 3 or 4 numbers, or one of `words`: as NUMBERS; the word's place + 1 at `count_at` + 4 */
} mot_key_kind;

enum {
    MOT_KEY_PRINTED = 1, /* even if it has its default */
    MOT_KEY_BARE = 2,    /* it has no default: it is printed if the text has it, as mot_stage.given says */
    MOT_KEY_NEEDED = 4   /* the text must have it */
};

typedef struct mot_key {
    const char *name;
    mot_key_kind kind;
    uint16_t at, bytes; /* its place in mot_stage.of */
    uint16_t count_at;
    double low, high;   /* limits of a number */
    double standard[2]; /* the default */
    const char *const *words;
    uint8_t words_count, spellings; /* words beyond words_count are other spellings of these, in their order */
    uint8_t flags;
} mot_key;

typedef struct mot_stage_form {
    const char *name;
    const mot_key *keys;
    uint8_t keys_count;
    int8_t rank; /* stages of one rank come in any order, those of a higher rank later */
} mot_stage_form;

extern const mot_stage_form mot_stage_forms[MOT_STAGE_KINDS];

/* Where a key's value is. */
static inline void *mot_key_value(const mot_key *key, mot_stage *stage)
{
    return (char *)&stage->of + key->at;
}

static inline const void *mot_key_seen(const mot_key *key, const mot_stage *stage)
{
    return (const char *)&stage->of + key->at;
}

static inline int32_t *mot_key_count(const mot_key *key, mot_stage *stage)
{
    return (int32_t *)((char *)&stage->of + key->count_at);
}

/* Gives every key of the stage its default. */
void mot_stage_defaults(mot_stage *stage);

/* Reads the settings of a stage, whose kind is set. Problems go to `r`. */
void mot_stage_read(reader *r, const mot_yaml *map, mot_stage *out);

/* Writes the settings that the text of a stage needs, between braces. */
void mot_stage_print(mot_text *w, const mot_stage *stage);

/* Reads a list of `least` to `most` numbers in low..high, or a single number where `least` is 1. Returns how many were
 * read; 0 after a problem. */
int mot_read_numbers(reader *r, const mot_yaml *node, const char *what, int least, int most, double low, double high,
                     double *out);

#endif
