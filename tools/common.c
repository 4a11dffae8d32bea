/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, numbers in options, and the options that several commands share. */
#include "tools/tool.h"

#include "base/file.h"
#include "base/number.h"
#include "base/utf8.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Writes a message to stderr. Control characters, which could command the terminal, and bytes that are not text are
 * written as escapes such as "\x1b", because messages quote names of files. */
static void show(const char *text)
{
    for (size_t length; *text; text += length) {
        const unsigned char *c = (const unsigned char *)text;
        length = mot_utf8_character(text, strlen(text));
        const bool shown = length > 0 && c[0] >= ' ' && c[0] != 0x7f && !(c[0] == 0xc2 && c[1] < 0xa0);
        if (shown)
            fwrite(text, 1, length, stderr);
        for (length = length ? length : 1; !shown && c < (const unsigned char *)text + length; c++)
            fprintf(stderr, "\\x%02x", *c);
    }
    fputc('\n', stderr);
}

void complain(const char *format, ...)
{
    va_list list;
    char *text = NULL;
    progress_clear();
    fflush(stdout); /* keeps the order of output and messages if both go to the same place */
    fputs("motley: ", stderr);
    va_start(list, format);
    show(vasprintf(&text, format, list) < 0 ? "out of memory" : text);
    va_end(list);
    free(text);
}

void *need(void *memory)
{
    if (!memory) {
        complain("out of memory");
        exit(EXIT_INPUT);
    }
    return memory;
}

long long read_integer(struct argp_state *state, const char *what, const char *text, long long low, long long high)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < low || value > high)
        argp_error(state, "%s is '%s', want a whole number from %lld to %lld", what, text, low, high);
    return value;
}

uint64_t read_unsigned(struct argp_state *state, const char *what, const char *text)
{
    char *end;
    errno = 0;
    const bool hexadecimal = text[0] == '0' && (text[1] | 0x20) == 'x'; /* not octal: scripts pad ids with zeros */
    const unsigned long long value = strtoull(text, &end, hexadecimal ? 16 : 10);
    if (end == text || *end || errno || strchr(text, '-'))
        argp_error(state, "%s is '%s', want a whole number from 0 to 2^64-1", what, text);
    return value;
}

double read_real(struct argp_state *state, const char *what, const char *text)
{
    double value = 0;
    read_list(state, what, text, &value, 1);
    return value;
}

int read_list(struct argp_state *state, const char *what, const char *text, double *values, int capacity)
{
    const char *at = text;
    for (int count = 0; count < capacity;) {
        char *end;
        values[count++] = strtod(at, &end);
        if (end == at || !isfinite(values[count - 1]))
            break;
        if (!*end)
            return count;
        if (*end != ',')
            break;
        at = end + 1;
    }
    argp_error(state, "%s is '%s', want %s", what, text,
               capacity == 1 ? "a number" : "numbers with commas between them");
    return 0;
}

const char *read_png_name(struct argp_state *state, const char *what, const char *text)
{
    static const char *const others[] = { ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff" };
    const char *const end = strrchr(text, '.');
    for (size_t i = 0; end && i < sizeof others / sizeof *others; i++)
        if (strcasecmp(end, others[i]) == 0)
            argp_error(state, "%s is '%s', want a name that ends in .png, as the picture becomes a PNG file", what,
                       text);
    return text;
}

int read_fill(struct argp_state *state, const char *text, uint8_t fill[4])
{
    double values[4];
    const int count = read_list(state, "--fill", text, values, 4);
    for (int i = 0; i < count; i++)
        if (values[i] < 0 || values[i] > 255 || values[i] != floor(values[i]))
            argp_error(state, "--fill is '%s', want whole numbers from 0 to 255", text);
    if (count == 2)
        argp_error(state, "--fill is '%s', want 1, 3 or 4 numbers", text);
    for (int i = 0; i < 4; i++) /* one number fills every channel; three leave alpha opaque */
        fill[i] = count == 1 ? (uint8_t)values[0] : i < count ? (uint8_t)values[i] : 255;
    return count;
}

error_t read_one_policy(int key, char *arg, struct argp_state *state, const char **policy)
{
    switch (key) {
    case ARGP_KEY_ARG:
        if (*policy)
            argp_error(state, "want one POLICY, found also '%s'", arg);
        *policy = arg;
        return 0;
    case ARGP_KEY_END:
        if (!*policy)
            argp_error(state, "want a POLICY: a name from 'motley policies', or a file");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t parse_json_alone(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key == 'j')
        *(bool *)state->input = true;
    else if (key == ARGP_KEY_ARG)
        argp_error(state, "want no argument");
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

void read_size(struct argp_state *state, const char *text, int32_t *width, int32_t *height)
{
    int end = 0;
    if (sscanf(text, "%7d%*1[xX]%7d%n", width, height, &end) != 2 || text[end] || *width < 1 || *height < 1 ||
        *width > 1048576 || *height > 1048576)
        argp_error(state, "--size is '%s', want WIDTHxHEIGHT in pixels, such as 224x224", text);
}

motley_interpolation read_interpolation(struct argp_state *state, const char *text, size_t length)
{
    for (int i = 0; motley_interpolation_name(i); i++)
        if (strlen(motley_interpolation_name(i)) == length && !strncmp(motley_interpolation_name(i), text, length))
            return (motley_interpolation)i;
    argp_error(state, "--interpolation is '%.*s', want nearest, bilinear or bicubic", (int)length, text);
    return MOTLEY_NEAREST;
}

const char *short_number(double value, char text[NUMBER_TEXT])
{
    snprintf(text, NUMBER_TEXT, "%.4g", value);
    return text;
}

#define KEY_ONLY 257 /* an option without a letter */

static void add_change(policy_options *options, const char *key, struct json_object *value)
{
    if (!options->changes)
        options->changes = need(json_object_new_object());
    json_object_object_add(options->changes, key, need(value));
}

static struct json_object *interpolations_json(int interpolations)
{
    struct json_object *names = need(json_object_new_array());
    for (int i = 0; motley_interpolation_name(i); i++)
        if (interpolations & 1 << i)
            json_object_array_add(names, text_json(motley_interpolation_name(i)));
    return names;
}

static struct json_object *fill_json(struct argp_state *state, const char *text)
{
    uint8_t fill[4];
    read_fill(state, text, fill);
    struct json_object *numbers = need(json_object_new_array());
    for (int i = 0; i < 4; i++)
        json_object_array_add(numbers, need(json_object_new_int(fill[i])));
    return numbers;
}

static error_t parse_policy(int key, char *arg, struct argp_state *state)
{
    policy_options *const options = state->input;
    switch (key) {
    case 'n':
        add_change(options, "repeat", json_object_new_int64(read_integer(state, "--repeat", arg, 1, 1000000)));
        return 0;
    case 'm':
        add_change(options, "level",
                   strcmp(arg, "given") == 0 ? text_json(arg) : number_json(read_real(state, "--level", arg)));
        return 0;
    case 'b':
        add_change(options, "bins", json_object_new_int64(read_integer(state, "--bins", arg, 2, 1000000)));
        return 0;
    case 'i':
        for (const char *at = arg; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
            options->interpolations |= 1 << read_interpolation(state, at, strcspn(at, ","));
        add_change(options, "interpolation", interpolations_json(options->interpolations));
        return 0;
    case 'f':
        add_change(options, "fill", fill_json(state, arg));
        return 0;
    case KEY_ONLY:
        options->only = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void policy_options_free(policy_options *options)
{
    json_object_put(options->changes);
    free(options->levels);
}

const struct argp policy_argp = {
    .parser = parse_policy,
    .options =
        (const struct argp_option[]){
            { NULL, 0, NULL, 0, "Changes to the policy:", 1 },
            { "repeat", 'n', "N", 0, "Operations (branches) per sample; RandAugment's N", 0 },
            { "level", 'm', "M", 0, "Level of every step that has levels; RandAugment's M; or given, see --levels", 0 },
            { "bins", 'b', "COUNT", 0, "Number of levels, 0 to COUNT-1", 0 },
            { "interpolation", 'i', "NAME[,NAME]", 0, "nearest, bilinear or bicubic; of several, one is drawn", 0 },
            { "fill", 'f', "R,G,B", 0, "What comes in from outside the image: 1, 3 or 4 bytes", 0 },
            { "only", KEY_ONLY, "VIEW[:RESULT]", 0,
              "Of a transform with views, this one; its first result (0), or another", 0 },
            { 0 } },
};

enum { KEY_VIEW = 256, KEY_LEVELS, KEY_RANGE }; /* options without a letter */

/* Adds one of --levels; a line of its file. */
static bool add_level(void *user, size_t number, const char *text)
{
    policy_options *const options = user;
    char *end;
    const double level = strtod(text, &end);
    if (end == text || end[strspn(end, " \t\r\n")] || !(level >= 0 && level <= 1)) {
        complain("--levels: line %zu is '%.*s', want a number from 0 to 1", number, (int)strcspn(text, "\r\n"), text);
        return false;
    }
    options->levels = need(realloc(options->levels, (options->levels_count + 1) * sizeof *options->levels));
    options->levels[options->levels_count++] = (float)level;
    return true;
}

/* A number, or a file of them. */
static void read_levels(struct argp_state *state, policy_options *options, const char *text)
{
    char *end;
    const double level = strtod(text, &end);
    options->levels_count = 0;
    if (end != text && !*end) {
        if (!(level >= 0 && level <= 1))
            argp_error(state, "--levels is '%s', want a number from 0 to 1, or a file of them", text);
        add_level(options, 1, text);
    } else if (!read_lines(text, false, add_level, options)) {
        exit(EXIT_INPUT);
    } else if (!options->levels_count) {
        argp_error(state, "--levels: %s has no numbers", text);
    }
}

static error_t parse_samples(int key, char *arg, struct argp_state *state)
{
    policy_options *options = state->input;
    motley_samples *samples = &options->samples;
    switch (key) {
    case 's':
        options->chosen = "--seed";
        samples->seed = read_unsigned(state, "--seed", arg);
        return 0;
    case 'e':
        samples->epoch = (uint32_t)read_integer(state, "--epoch", arg, 0, (1 << 30) - 1);
        return 0;
    case KEY_VIEW:
        options->chosen = "--view";
        samples->view = (uint32_t)read_integer(state, "--view", arg, 0, 65535);
        return 0;
    case KEY_LEVELS:
        read_levels(state, options, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp samples_argp = {
    .parser = parse_samples,
    .options = (const struct argp_option[]){ { NULL, 0, NULL, 0, "Random numbers:", 2 },
                                             { "seed", 's', "S", 0, "Key of all draws (0)", 0 },
                                             { "epoch", 'e', "E", 0, "Epoch of the draws; each differs (0)", 0 },
                                             { "view", KEY_VIEW, "V", 0, "So does each view of a sample (0)", 0 },
                                             { "levels", KEY_LEVELS, "L|FILE", 0,
                                               "Of a policy whose steps have the level 'given': how strong, from 0 to "
                                               "1, of all samples, or a line for each, by its id; after the last "
                                               "line they begin again",
                                               0 },
                                             { 0 } },
};

static error_t parse_range(int key, char *arg, struct argp_state *state)
{
    double *const pair = ((pixel_range *)state->input)->pair;
    if (key != KEY_RANGE)
        return ARGP_ERR_UNKNOWN;
    if (read_list(state, "--range", arg, pair, 2) != 2 || pair[0] != 0 || pair[1] < 1 || pair[1] > 65535 ||
        pair[1] != floor(pair[1]))
        argp_error(state, "--range is '%s', want 0 and a whole number from 1 to 65535, such as 0,4095", arg);
    return 0;
}

const struct argp range_argp = {
    .parser = parse_range,
    .options = (const struct argp_option[]){ { "range", KEY_RANGE, "0,WHITE", 0,
                                               "Of images of 16 bits: what stands for black and white, such as 0,4095 "
                                               "of a camera with 12 bits (0,65535)",
                                               0 },
                                             { 0 } },
};

static error_t parse_counting(int key, char *arg, struct argp_state *state)
{
    counting_options *counting = state->input;
    switch (key) {
    case 'N':
        counting->samples = (uint64_t)read_integer(state, "--samples", arg, 1, 1000000000);
        return 0;
    case 'S':
        read_size(state, arg, &counting->width, &counting->height);
        return 0;
    case 'j':
        counting->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp counting_argp = {
    .parser = parse_counting,
    .options = (const struct argp_option[]){ { "samples", 'N', "COUNT", 0, "How many samples to draw (100000)", 0 },
                                             { "size", 'S', "WIDTHxHEIGHT", 0, "Size of the images (224x224)", 0 },
                                             { "json", 'j', NULL, 0, "Print a JSON object, with every value", 0 },
                                             { 0 } },
};

static error_t parse_device(int key, char *arg, struct argp_state *state)
{
    motley_context_params *context = state->input;
    switch (key) {
    case 'd':
        if (!strcmp(arg, "cpu"))
            context->backend = MOTLEY_BACKEND_CPU;
        else if (!strcmp(arg, "auto"))
            context->backend = MOTLEY_BACKEND_AUTO;
        else if (!strcmp(arg, "reference"))
            context->backend = MOTLEY_BACKEND_REFERENCE;
        else if (!strncmp(arg, "cuda", 4) && (!arg[4] || arg[4] == ':')) {
            context->backend = MOTLEY_BACKEND_CUDA;
            context->device = arg[4] ? (int)read_integer(state, "the number in --device", arg + 5, 0, 1023) : 0;
        } else
            argp_error(state, "--device is '%s', want cpu, cuda, cuda:N, auto or reference", arg);
        return 0;
    case 't':
        context->threads = (int)read_integer(state, "--threads", arg, 0, 1024);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp device_argp = {
    .parser = parse_device,
    .options =
        (const struct argp_option[]){
            { NULL, 0, NULL, 0, "Where to work:", 3 },
            { "device", 'd', "NAME", 0, "cpu (default), cuda, cuda:N, auto or reference", 0 },
            { "threads", 't', "N", 0, "Threads of the CPU; 0, the default, is one per processor", 0 },
            { 0 } },
};

static void show_problem(const char *path, const motley_error *problem)
{
    char *text = NULL;
    show(asprintf(&text, "%s:%d:%d: error: %s", path, problem->line, problem->column, problem->message) < 0 ? path
                                                                                                            : text);
    free(text);
}

/* Reports a problem of a policy file in the form of compilers, which editors understand. */
static void report_problem(void *user, const motley_error *problem)
{
    const char *path = user;
    progress_clear();
    if (problem->line)
        show_problem(path, problem);
    else
        complain("%s: %s", path, problem->message);
}

/* Opens a policy, from a file or by motley_policy_open; messages call it `name`. NULL after a message. */
static motley_policy *opened(bool file, const char *policy, const char *name)
{
    const motley_parse_params params = { .report = report_problem, .user = (void *)name };
    motley_error error;
    motley_policy *made = NULL;
    char *path = NULL; /* by which a file is opened, whatever it is called */
    if (file && motley_policy_source_of(policy) != MOTLEY_POLICY_FILE && asprintf(&path, "./%s", policy) < 0)
        path = need(NULL);
    const motley_status status = motley_policy_open(path ? path : policy, &params, &made, &error);
    free(path);
    if (status != MOTLEY_OK && status != MOTLEY_ERR_POLICY) /* those have been reported one by one */
        complain("%s%s%s", name, *name ? ": " : "", error.message);
    return made;
}

motley_policy *open_policy_file(const char *path)
{
    return opened(true, path, path);
}

const char *policy_label(const char *name)
{
    return motley_policy_source_of(name) == MOTLEY_POLICY_TEXT ? "<policy>" : name;
}

bool accepted(motley_status status, const char *name, const motley_error *error)
{
    if (status != MOTLEY_OK)
        complain("%s: %s", policy_label(name), error->message);
    return status == MOTLEY_OK;
}

/* Replaces the levels of a part of a policy's JSON, its phases, branches and steps. A number is the mean of a level
 * that is normal. False if there are none. */
static bool set_levels(struct json_object *part, struct json_object *level)
{
    static const char *const keys[] = { "phases", "branches", "steps" };
    struct json_object *found;
    bool any = false;
    if (json_object_is_type(part, json_type_array))
        for (size_t i = 0; i < json_object_array_length(part); i++)
            any |= set_levels(json_object_array_get_idx(part, i), level);
    if (!json_object_is_type(part, json_type_object))
        return any;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_object_object_get_ex(part, keys[i], &found))
            any |= set_levels(found, level);
    if (!json_object_object_get_ex(part, "level", &found))
        return any;
    if (json_object_object_get_ex(found, "normal", NULL) && json_object_is_type(level, json_type_double))
        json_object_object_add(found, "normal", json_object_get(level));
    else
        json_object_object_add(part, "level", json_object_get(level));
    return true;
}

motley_policy *changed_policy(const char *name, const motley_policy *policy, struct json_object *changes)
{
    motley_policy *changed = NULL;
    motley_error error;
    char *text;
    if (motley_policy_describe(policy)->stages > 0) {
        complain("%s: it is a transform, whose policies are changed in its file: want no --level and the like", name);
        return NULL;
    }
    if (motley_policy_print(policy, MOTLEY_PRINT_JSON, &text, &error) != MOTLEY_OK) {
        complain("%s: %s", name, error.message);
        return NULL;
    }
    struct json_object *const data = need(json_tokener_parse(text)), *level = NULL, *bins = NULL;
    free(text);
    const bool had_bins = json_object_object_get_ex(data, "bins", NULL);
    json_object_object_foreach(changes, key, value) if (strcmp(key, "level") != 0)
        json_object_object_add(data, key, json_object_get(value));
    const bool levelled = !json_object_object_get_ex(changes, "level", &level) || set_levels(data, level);
    if (json_object_is_type(level, json_type_string))
        json_object_object_add(data, "level", json_object_get(level));
    const double top = json_object_object_get_ex(data, "bins", &bins)
                           ? json_object_get_double(bins) - 1
                           : json_object_get_double(json_object_object_get(data, "top"));
    const char *made = need((void *)json_object_to_json_string_ext(data, JSON_C_TO_STRING_NOSLASHESCAPE));
    if (bins && !had_bins)
        complain("%s: policy '%s' has no bins to change", name, motley_policy_describe(policy)->name);
    else if (!levelled)
        complain("%s: no step of policy '%s' has a level: --level has no use", name,
                 motley_policy_describe(policy)->name);
    else if (json_object_get_double(level) > top) /* also the mean of a normal level, which a text may have there */
        complain("%s: level is %s, want 0..%s", name, MOT_NUMBER(json_object_get_double(level)), MOT_NUMBER(top));
    else if (motley_policy_parse(made, strlen(made), NULL, &changed, &error) != MOTLEY_OK)
        complain("%s: %s", name, error.message);
    json_object_put(data);
    return changed;
}

motley_policy *open_policy(const char *name, struct json_object *changes)
{
    const bool builtin = motley_policy_source_of(name) == MOTLEY_POLICY_BUILTIN; /* its messages name it themselves */
    motley_policy *const policy = opened(false, name, builtin ? "" : policy_label(name));
    if (!policy || !changes)
        return policy;
    motley_policy *const changed = changed_policy(policy_label(name), policy, changes);
    motley_policy_destroy(policy);
    return changed;
}

size_t most_steps(const motley_policy *policy, size_t boxes)
{
    const motley_policy_info *info = motley_policy_describe(policy);
    return info->max_steps * ((info->takes_boxes & 1) && boxes > 1 ? boxes : 1);
}

void give_levels(const policy_options *options, motley_samples *samples, size_t count, float *room)
{
    for (size_t i = 0; options->levels_count && i < count; i++)
        room[i] = options->levels[(samples->ids ? samples->ids[i] : samples->first + i) % options->levels_count];
    samples->levels = options->levels_count ? room : NULL;
}

void give_middle_boxes(motley_samples *samples, size_t count, int32_t width, int32_t height)
{
    static double *boxes;
    static size_t *offsets;
    boxes = need(realloc(boxes, 4 * count * sizeof *boxes));
    offsets = need(realloc(offsets, (count + 1) * sizeof *offsets));
    for (size_t i = 0; i < count; i++) {
        const double middle[4] = { width * 0.25, height * 0.25, width * 0.75, height * 0.75 };
        memcpy(boxes + 4 * i, middle, sizeof middle);
        offsets[i] = i;
    }
    offsets[count] = count;
    samples->boxes = boxes;
    samples->box_offsets = offsets;
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool read_lines(const char *path, bool skip_empty, line_reader *read, void *user)
{
    FILE *stream;
    motley_error error;
    if (mot_file_open(path, &stream, &error) != MOTLEY_OK) {
        complain("%s", error.message);
        return false;
    }
    char *text = NULL;
    size_t room = 0, number = 0;
    bool good = true;
    for (ssize_t length; good && (length = getline(&text, &room, stream)) >= 0;) {
        number++;
        good = (skip_empty && strspn(text, " \t\r\n") == (size_t)length) || read(user, number, text);
    }
    if (good && ferror(stream)) {
        complain("%s: %s", path, strerror(errno));
        good = false;
    }
    free(text);
    fclose(stream);
    return good;
}
