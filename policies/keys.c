/* SPDX-License-Identifier: Apache-2.0 */
/* See keys.h. */
#include "policies/keys.h"
#include "policies/transform.h"

/* Where a key's value is, and how many it has. */
static void *value_of(const mot_key *key, const void *of)
{
    return (char *)(uintptr_t)of + key->at;
}

static int32_t *count_of(const mot_key *key, const void *of)
{
    return (int32_t *)(void *)((char *)(uintptr_t)of + key->count_at);
}

/* ---- defaults ---- */

/* Sets the default of a key at `value`. */
static void set_default(const mot_key *key, void *value)
{
    double *const numbers = value;
    int32_t *const whole = value;
    uint8_t *const bytes = value;
    switch (key->kind) {
    case MOT_KEY_NUMBER:
    case MOT_KEY_RANGE:
    case MOT_KEY_FACTORS:
    case MOT_KEY_SHIFTS:
        memcpy(numbers, key->standard, key->bytes);
        break;
    case MOT_KEY_NUMBERS:
    case MOT_KEY_VALUE:
        for (int c = 0; c < 4; c++)
            numbers[c] = key->standard[0];
        break;
    case MOT_KEY_WHOLE:
    case MOT_KEY_WORD:
    case MOT_KEY_COUNTS:
        for (int i = 0; i < key->bytes / 4; i++)
            whole[i] = (int32_t)key->standard[i];
        break;
    case MOT_KEY_CHOICES:
        memset(numbers, 0, key->bytes);
        memcpy(numbers, key->choices, key->choices_count * sizeof *numbers);
        break;
    case MOT_KEY_SIZE: /* of a text with a problem */
        whole[0] = whole[1] = 1;
        break;
    case MOT_KEY_WORDS: /* the first word */
        bytes[0] = !(key->flags & MOT_KEY_SET);
        break;
    case MOT_KEY_REPEAT:
        ((mot_repeat *)value)->most = 1;
        break;
    default: /* zero, which the struct is */
        break;
    }
}

void mot_keys_default(const mot_keys *keys, void *of)
{
    for (int k = 0; k < keys->count; k++) { /* a table without rows is NULL */
        const mot_key *const key = &keys->key[k];
        set_default(key, value_of(key, of));
        if (key->kind == MOT_KEY_CHOICES)
            *count_of(key, of) = key->choices_count;
    }
}

/* Whether a text without the key has the same value. */
static bool is_default(const mot_key *key, const void *of)
{
    double plain[32] = { 0 };
    set_default(key, plain);
    return memcmp(value_of(key, of), plain, key->bytes) == 0;
}

/* ---- reading ---- */

int mot_read_numbers(reader *r, const mot_yaml *node, const char *what, int least, int most, double low, double high,
                     double *out)
{
    if (node->kind != MOT_YAML_LIST && least == 1)
        return number(r, node, what, low, high, out) ? 1 : 0;
    if (node->kind != MOT_YAML_LIST || (int)node->children < least || (int)node->children > most) {
        if (least == most)
            PROBLEM(r, node, "%s wants a list of %d numbers", what, least);
        else
            PROBLEM(r, node, "%s wants a number, or a list of up to %d", what, most);
        return 0;
    }
    int count = 0;
    bool good = true;
    for (const mot_yaml *item = mot_yaml_child(&r->tree, node); item; item = mot_yaml_next(&r->tree, item))
        good = number(r, item, what, low, high, &out[count++]) && good;
    return good ? count : 0;
}

/* Two numbers, the lower first. */
static void read_range(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    double read[2];
    if (mot_read_numbers(r, node, what, 2, 2, key->low, key->high, read) != 2)
        return;
    if (read[0] > read[1])
        PROBLEM(r, node, "%s goes from %g to %g, want the lower number first", what, read[0], read[1]);
    else
        memcpy(value_of(key, of), read, sizeof read);
}

/* One side of a square, or [height, width]; with SHORTER one number is the shorter side. */
static void read_size(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    int32_t *const out = value_of(key, of);
    char side[40];
    uint32_t height = 1, width = 1;
    if (node->kind == MOT_YAML_LIST && node->children == 2) {
        const mot_yaml *first = mot_yaml_child(&r->tree, node), *second = mot_yaml_next(&r->tree, first);
        snprintf(side, sizeof side, "the height in '%s'", key->name);
        const bool good = whole_number(r, first, side, key->low, key->high, &height);
        snprintf(side, sizeof side, "the width in '%s'", key->name);
        if (whole_number(r, second, side, key->low, key->high, &width) && good)
            out[0] = (int32_t)width, out[1] = (int32_t)height;
        return;
    }
    if (node->kind == MOT_YAML_LIST)
        PROBLEM(r, node, "%s lists %u numbers, want one side, or [height, width]", what, node->children);
    else if (whole_number(r, node, what, key->low, key->high, &width)) {
        out[0] = (int32_t)width;
        out[1] = key->flags & MOT_KEY_SHORTER ? 0 : (int32_t)width;
    }
}

/* A whole number, or several to draw from. */
static void read_sides(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    double sides[MOTLEY_MAX_MIX_SIZES]; /* as many as the longest list has */
    uint16_t *const to = value_of(key, of);
    const int count = mot_read_numbers(r, node, what, 1, key->bytes / (int)sizeof *to, key->low, key->high, sides);
    for (int i = 0; i < count; i++) {
        if (sides[i] != floor(sides[i])) {
            PROBLEM(r, node, "%s has %s, want whole numbers", what, MOT_NUMBER(sides[i]));
            return;
        }
        to[i] = (uint16_t)sides[i];
    }
    *count_of(key, of) = count;
}

/* A strength of jitter, as torchvision's ColorJitter reads it, or a range. */
static void read_jitter(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    double *const out = value_of(key, of);
    const bool shifts = key->kind == MOT_KEY_SHIFTS;
    double v = 0;
    if (node->kind == MOT_YAML_LIST) {
        read_range(r, node, key, what, of);
    } else if (number(r, node, what, 0, shifts ? key->high : key->high - 1, &v)) {
        out[0] = shifts ? -v : v < 1 ? 1 - v : 0;
        out[1] = shifts ? v : 1 + v;
    }
}

static void read_counts(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    int32_t *const out = value_of(key, of);
    double counts[2];
    const int count = mot_read_numbers(r, node, what, 1, 2, key->low, key->high, counts);
    if (count && (counts[0] != floor(counts[0]) || counts[count - 1] != floor(counts[count - 1])))
        PROBLEM(r, node, "%s is %g, want a whole number", what, counts[0]);
    else if (count && counts[0] > counts[count - 1])
        PROBLEM(r, node, "%s goes from %g to %g, want the lower number first", what, counts[0], counts[1]);
    else if (count)
        out[0] = (int32_t)counts[0], out[1] = (int32_t)counts[count - 1];
}

/* Numbers by channel, or a word for drawn ones. */
static void read_erased(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    int32_t *const count = count_of(key, of);
    double value;
    for (int w = 0; node->kind == MOT_YAML_SCALAR && w < key->words_count; w++)
        if (strcmp(text_of(r, node), key->words[w]) == 0) {
            count[1] = w + 1;
            return;
        }
    if (node->kind == MOT_YAML_SCALAR && !mot_number_parse(text_of(r, node), &value)) {
        PROBLEM(r, node, "%s is '%.60s', want a number, a list of them, channel or pixel", what, text_of(r, node));
        return;
    }
    count[0] = mot_read_numbers(r, node, what, 1, 4, key->low, key->high, value_of(key, of));
    if (count[0] == 2)
        PROBLEM(r, node, "%s lists 2 numbers, want 1, 3 (RGB) or 4 (RGBA)", what);
}

static void read_choices(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    double read[MOT_MAX_OVERLAPS] = { 0 };
    if (node->kind != MOT_YAML_LIST || node->children < 1 || node->children > MOT_MAX_OVERLAPS) {
        PROBLEM(r, node, "%s wants a list of 1 to %d numbers", what, MOT_MAX_OVERLAPS);
        return;
    }
    const int count = mot_read_numbers(r, node, what, 1, MOT_MAX_OVERLAPS, key->low, key->high, read);
    if (count == 0)
        return;
    memcpy(value_of(key, of), read, sizeof read);
    *count_of(key, of) = count;
}

/* One word, or a list of different ones. */
static void read_words(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    uint8_t *const out = value_of(key, of);
    const bool list = node->kind == MOT_YAML_LIST, is_set = key->flags & MOT_KEY_SET;
    bool listed[8] = { false };
    if (list && !is_set && (node->children < 1 || node->children > key->high)) {
        PROBLEM(r, node, key->high == 1 ? "%s lists %u, want one" : "%s lists %u, want 1 to %d", what, node->children,
                (int)key->high);
        return;
    }
    uint8_t count = 0;
    int which;
    for (const mot_yaml *item = list ? mot_yaml_child(&r->tree, node) : node; item;
         item = list ? mot_yaml_next(&r->tree, item) : NULL) {
        if (!word(r, item, what, key->words, key->words_count, &which))
            continue;
        if (listed[which] && !is_set)
            PROBLEM(r, item, "%s '%s' is listed twice", key->name, key->words[which]);
        else if (!listed[which])
            out[++count] = (uint8_t)which;
        listed[which] = true;
    }
    for (uint8_t i = 0, k = 0; is_set && i < key->words_count; i++)
        if (listed[i])
            out[++k] = i;
    out[0] = count || is_set ? count : 1;
}

/* A colour: one number, or one for each channel. */
static void read_bytes(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    const bool list = node->kind == MOT_YAML_LIST;
    uint8_t *out = value_of(key, of);
    if (list && node->children != 3 && node->children != 4) {
        PROBLEM(r, node, "%s lists %u numbers, want one number, or a list of 3 (RGB) or 4 (RGBA)", what,
                node->children);
        return;
    }
    *count_of(key, of) = list ? (int32_t)node->children : 1;
    for (const mot_yaml *item = list ? mot_yaml_child(&r->tree, node) : node; item;
         item = list ? mot_yaml_next(&r->tree, item) : NULL) {
        uint32_t value;
        if (whole_number(r, item, what, key->low, key->high, &value))
            *out++ = (uint8_t)value;
    }
}

/* Reads the two levels of `key`, between which a level is. */
static void read_bounds(reader *r, const mot_yaml *list, const char *key, mot_level_kind kind, mot_level *out)
{
    double a = 0, b = 0;
    if (list->kind != MOT_YAML_LIST || list->children != 2) {
        PROBLEM(r, list, "'%s' wants a list of two levels, as in {%s: [0, 3]}", key, key);
        return;
    }
    const mot_yaml *low = mot_yaml_child(&r->tree, list), *high = mot_yaml_next(&r->tree, low);
    if (!number(r, low, "the lower level", 0, HUGE_VAL, &a) || !number(r, high, "the upper level", 0, HUGE_VAL, &b))
        return;
    if (a < b)
        *out = (mot_level){ kind, a, b };
    else
        PROBLEM(r, list, "'%s' goes from %g to %g, want a lower level first", key, a, b);
}

void mot_level_read(reader *r, const mot_yaml *node, mot_level *out)
{
    static const char *const keys[] = { "uniform", "normal", "std", "given" };
    *out = (mot_level){ .kind = MOT_LEVEL_FIXED };
    if (node->kind == MOT_YAML_SCALAR && strcmp(text_of(r, node), "uniform") == 0) {
        *out = (mot_level){ .kind = MOT_LEVEL_UNIFORM };
        return;
    }
    if (node->kind == MOT_YAML_SCALAR && strcmp(text_of(r, node), "given") == 0) {
        *out = (mot_level){ .kind = MOT_LEVEL_GIVEN };
        return;
    }
    if (node->kind != MOT_YAML_MAP) {
        double level;
        if (number(r, node, "level", 0, HUGE_VAL, &level))
            *out = (mot_level){ MOT_LEVEL_FIXED, level, 0 };
        return;
    }
    if (!check_keys(r, node, "'level'", keys, COUNT(keys)))
        return;
    const mot_yaml *uniform = get(r, node, "uniform"), *normal = get(r, node, "normal"), *std = get(r, node, "std");
    const mot_yaml *given = get(r, node, "given");
    double a = 0, b = 0;
    if (node->children == 2 && (uniform || given)) {
        read_bounds(r, uniform ? uniform : given, uniform ? "uniform" : "given",
                    uniform ? MOT_LEVEL_RANGE : MOT_LEVEL_GIVEN, out);
    } else if (normal && std && !uniform && !given) {
        const bool mean_fits = number(r, normal, "the mean level", 0, HUGE_VAL, &a);
        if (!number(r, std, "'std'", 0, 1e6, &b) || !mean_fits)
            return;
        if (b > 0)
            *out = (mot_level){ MOT_LEVEL_NORMAL, a, b };
        else
            PROBLEM(r, std, "'std' is 0, want more; a fixed level is written 'level: %g'", a);
    } else {
        PROBLEM(r, node,
                "'level' wants a number, 'uniform', {uniform: [low, high]}, {normal: mean, std: deviation}, 'given' or "
                "{given: [low, high]}");
    }
}

static void read_repeat(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    mot_repeat *const repeat = value_of(key, of);
    (void)what;
    static const char *const keys[] = { "weights", "given" };
    if (node->kind != MOT_YAML_MAP) {
        repeat->weights = repeat->given = 0; /* it may replace another `repeat` */
        whole_number(r, node, "'repeat'", 1, MOT_MAX_REPEAT, &repeat->most);
        return;
    }
    check_keys(r, node, "'repeat'", keys, COUNT(keys));
    const mot_yaml *const given = get(r, node, "given"), *const weights = get(r, node, "weights");
    const mot_yaml *const list = given ? given : weights;
    const uint32_t count = list && list->kind == MOT_YAML_LIST ? list->children : 0;
    double numbers[MOT_MAX_REPEAT + 1] = { 0 }, sum = 0;
    if (count < 2 || count > (given ? 2 : MOT_MAX_REPEAT + 1) || (given && weights)) {
        PROBLEM(r, list ? list : node,
                "'repeat' wants a number, {weights: [...]} with 2 to %d weights, or {given: [least, most]}",
                MOT_MAX_REPEAT + 1);
        return;
    }
    const mot_yaml *item = mot_yaml_child(&r->tree, list);
    for (uint32_t i = 0; i < count; i++, item = mot_yaml_next(&r->tree, item)) {
        numbers[i] = i + 1; /* after a problem, so that what follows is not reported too */
        number(r, item, given ? "a number of 'repeat'" : "a weight of 'repeat'", 0, given ? MOT_MAX_REPEAT : 1e12,
               &numbers[i]);
        sum += numbers[i];
    }
    if (given && (numbers[0] != floor(numbers[0]) || numbers[1] != floor(numbers[1]) || numbers[0] >= numbers[1])) {
        PROBLEM(r, list, "'repeat' is given between %g and %g, want whole numbers, the lower first", numbers[0],
                numbers[1]);
        numbers[0] = 1, numbers[1] = 2;
    } else if (!(sum > 0)) {
        PROBLEM(r, list, "the weights of 'repeat' sum to 0, want more");
    }
    repeat->most = given ? (uint32_t)numbers[1] : 0;
    repeat->given = given ? (uint32_t)(numbers[1] - numbers[0]) + 1 : 0;
    repeat->weights = given ? 0 : count;
    memcpy(repeat->weight, numbers, sizeof numbers);
}

static void read_number(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    number(r, node, what, key->low, key->high, value_of(key, of));
}

static void read_whole(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    uint32_t whole;
    if (whole_number(r, node, what, key->low, key->high, &whole))
        *(int32_t *)value_of(key, of) = (int32_t)whole;
}

static void read_word(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    int which;
    if (word(r, node, what, key->words, key->spellings, &which))
        *(int32_t *)value_of(key, of) = which % key->words_count + key->first;
}

static void read_list(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    *count_of(key, of) = mot_read_numbers(r, node, what, 1, 4, key->low, key->high, value_of(key, of));
}

static void read_level(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    (void)what;
    mot_level_read(r, node, value_of(key, of));
}

static void read_keys(reader *r, const mot_yaml *node, const mot_key *key, const char *what, void *of)
{
    uint32_t given;
    if (!mot_keys_read(r, node, what, key->keys, NULL, 0, value_of(key, of), &given))
        memset(value_of(key, of), 0, key->bytes);
}

static void read_key(reader *r, const mot_yaml *node, const mot_key *key, void *of)
{
    static void (*const readers[])(reader * r, const mot_yaml *node, const mot_key *key, const char *what, void *of) = {
        [MOT_KEY_NUMBER] = read_number,   [MOT_KEY_WHOLE] = read_whole,   [MOT_KEY_RANGE] = read_range,
        [MOT_KEY_WORD] = read_word,       [MOT_KEY_WORDS] = read_words,   [MOT_KEY_NUMBERS] = read_list,
        [MOT_KEY_BYTES] = read_bytes,     [MOT_KEY_SIZE] = read_size,     [MOT_KEY_SIDES] = read_sides,
        [MOT_KEY_FACTORS] = read_jitter,  [MOT_KEY_SHIFTS] = read_jitter, [MOT_KEY_COUNTS] = read_counts,
        [MOT_KEY_CHOICES] = read_choices, [MOT_KEY_VALUE] = read_erased,  [MOT_KEY_LEVEL] = read_level,
        [MOT_KEY_REPEAT] = read_repeat,   [MOT_KEY_KEYS] = read_keys,     [MOT_KEY_NAME] = NULL,
    };
    char quoted[24];
    snprintf(quoted, sizeof quoted, "'%s'", key->name);
    if (readers[key->kind])
        readers[key->kind](r, node, key, key->what ? key->what : quoted, of);
}

bool mot_keys_read(reader *r, const mot_yaml *map, const char *what, const mot_keys *keys, const char *const *others,
                   int others_count, void *of, uint32_t *given)
{
    const char *names[32];
    const mot_yaml *before = NULL;
    *given = 0;
    mot_keys_default(keys, of);
    for (int k = 0; k < others_count + keys->count; k++)
        names[k] = k < others_count ? others[k] : keys->key[k - others_count].name;
    if (!check_keys(r, map, what, names, (size_t)(others_count + keys->count)))
        return false;
    for (int k = 0; k < keys->count; k++) {
        const mot_key *const key = &keys->key[k];
        const mot_yaml *const node = get(r, map, key->name);
        if (node && before && key->flags & MOT_KEY_OR)
            PROBLEM(r, node, "both '%s' and '%s' are given, want one of them", keys->key[k - 1].name, key->name);
        if (node)
            read_key(r, node, key, of);
        *given |= node ? 1u << k : 0;
        before = node;
    }
    return true;
}

/* ---- printing ---- */

/* How many numbers a value has, and number i. */
static int numbers_in(const mot_key *key, const void *of)
{
    switch (key->kind) {
    case MOT_KEY_WHOLE:
    case MOT_KEY_COUNTS:
        return key->bytes / (int)sizeof(int32_t);
    case MOT_KEY_NUMBER:
    case MOT_KEY_RANGE:
    case MOT_KEY_FACTORS:
    case MOT_KEY_SHIFTS:
        return key->bytes / (int)sizeof(double);
    default:
        return count_of(key, of)[0];
    }
}

static double number_in(const mot_key *key, const void *of, int i)
{
    const void *const value = value_of(key, of);
    switch (key->kind) {
    case MOT_KEY_WHOLE:
    case MOT_KEY_COUNTS:
        return ((const int32_t *)value)[i];
    case MOT_KEY_SIDES:
        return ((const uint16_t *)value)[i];
    case MOT_KEY_BYTES:
        return ((const uint8_t *)value)[i];
    default:
        return ((const double *)value)[i];
    }
}

static void print_numbers(mot_text *w, const mot_key *key, const void *of)
{
    const int count = numbers_in(key, of);
    const bool list = count > 1 || key->kind == MOT_KEY_CHOICES;
    for (int i = 0; i < count; i++)
        mot_say_number(w, i ? ", " : list ? "[" : "", number_in(key, of, i));
    mot_say(w, list ? "]" : "");
}

static void print_words(mot_text *w, const mot_key *key, const uint8_t *which)
{
    const bool list = which[0] > 1 || key->flags & MOT_KEY_SET;
    for (int i = 0; i < which[0]; i++)
        mot_say(w, "%s%s", i ? ", " : list ? "[" : "", key->words[which[i + 1]]);
    mot_say(w, list ? "]" : "");
}

static void print_repeat(mot_text *w, const mot_repeat *repeat)
{
    for (uint32_t i = 0; i < repeat->weights; i++)
        mot_say_number(w, i ? ", " : "{weights: [", repeat->weight[i]);
    if (repeat->weights)
        mot_say(w, "]}");
    else if (repeat->given)
        mot_say(w, "{given: [%u, %u]}", repeat->most + 1 - repeat->given, repeat->most);
    else
        mot_say(w, "%u", repeat->most);
}

void mot_level_print(mot_text *w, const mot_level *level)
{
    switch (level->kind) {
    case MOT_LEVEL_NONE:
        break;
    case MOT_LEVEL_FIXED:
    case MOT_LEVEL_VALUE:
        mot_say_number(w, "", level->a);
        break;
    case MOT_LEVEL_UNIFORM:
        mot_say(w, "uniform");
        break;
    case MOT_LEVEL_RANGE:
    case MOT_LEVEL_GIVEN:
        if (level->kind == MOT_LEVEL_GIVEN && level->b == 0) {
            mot_say(w, "given");
            break;
        }
        mot_say_number(w, level->kind == MOT_LEVEL_GIVEN ? "{given: [" : "{uniform: [", level->a);
        mot_say_number(w, ", ", level->b);
        mot_say(w, "]}");
        break;
    case MOT_LEVEL_NORMAL:
        mot_say_number(w, "{normal: ", level->a);
        mot_say_number(w, ", std: ", level->b);
        mot_say(w, "}");
        break;
    }
}

static void print_value(mot_text *w, const mot_key *key, const void *of)
{
    const void *const value = value_of(key, of);
    const int32_t *const whole = value, *const count = count_of(key, of);
    switch (key->kind) {
    case MOT_KEY_WORD:
        mot_say(w, "%s", key->words[whole[0] - key->first]);
        break;
    case MOT_KEY_SIZE:
        if (whole[1] == 0 || (whole[0] == whole[1] && !(key->flags & MOT_KEY_SHORTER)))
            mot_say(w, "%d", whole[0]);
        else
            mot_say(w, "[%d, %d]", whole[1], whole[0]);
        break;
    case MOT_KEY_WORDS:
        print_words(w, key, value);
        break;
    case MOT_KEY_LEVEL:
        mot_level_print(w, value);
        break;
    case MOT_KEY_REPEAT:
        print_repeat(w, value);
        break;
    case MOT_KEY_KEYS:
        mot_say(w, mot_keys_print(w, key->keys, value, 0, "{", ", ") ? "}" : "{}");
        break;
    default:
        if (key->kind == MOT_KEY_VALUE && count[1])
            mot_say(w, "%s", key->words[count[1] - 1]);
        else
            print_numbers(w, key, of);
        break;
    }
}

static bool is_printed(const mot_keys *keys, int k, const void *of, uint32_t given)
{
    const mot_key *const key = &keys->key[k];
    const int32_t *const count = count_of(key, of);
    if (key->flags & MOT_KEY_OR && is_printed(keys, k - 1, of, given))
        return false;
    if (key->flags & MOT_KEY_BARE)
        return given >> k & 1;
    switch (key->kind) {
    case MOT_KEY_NAME:
        return false;
    case MOT_KEY_LEVEL:
        return ((const mot_level *)value_of(key, of))->kind != MOT_LEVEL_NONE;
    case MOT_KEY_NUMBERS:
    case MOT_KEY_BYTES:
        return count[0] > 0;
    case MOT_KEY_VALUE:
        return count[0] > 0 || count[1] > 0;
    case MOT_KEY_CHOICES:
        return count[0] != key->choices_count || !is_default(key, of);
    default:
        return key->flags & MOT_KEY_PRINTED || !is_default(key, of);
    }
}

bool mot_keys_print(mot_text *w, const mot_keys *keys, const void *of, uint32_t given, const char *before,
                    const char *between)
{
    bool any = false;
    for (int k = 0; k < keys->count; k++)
        if (is_printed(keys, k, of, given)) {
            mot_say(w, "%s%s: ", any ? between : before, keys->key[k].name);
            print_value(w, &keys->key[k], of);
            any = true;
        }
    return any;
}
