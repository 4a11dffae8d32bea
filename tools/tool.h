/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the motley command share: commands, messages, options, numbers as text. */
#ifndef TOOL_H
#define TOOL_H

#include <motley.h>

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

/* Exit statuses; 0 is success. */
#define EXIT_INPUT 1 /* a file, name or value could not be used; the rest has been done */
#define EXIT_USAGE 2 /* the command line itself is wrong; nothing has been done */

/* The commands. argv[0] is "motley NAME"; the result is the exit status. */
int cmd_ops(int argc, char **argv);
int cmd_policies(int argc, char **argv);
int cmd_transforms(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_preview(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_draw(int argc, char **argv);
int cmd_apply(int argc, char **argv);
int cmd_op(int argc, char **argv);
int cmd_bench(int argc, char **argv);

/* Writes "motley: ..." and a newline to stderr; clears a progress bar first. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns `memory`; if it is NULL, exits with a message. For small allocations. */
void *need(void *memory);

/* Numbers in an option or argument; a wrong one is a usage error that names `what`, so these return or exit. */
long long read_integer(struct argp_state *state, const char *what, const char *text, long long low, long long high);
uint64_t read_unsigned(struct argp_state *state, const char *what, const char *text); /* of 64 bits */
double read_real(struct argp_state *state, const char *what, const char *text);

/* "90" or "90,120,30": the number of values, 1 .. capacity. */
int read_list(struct argp_state *state, const char *what, const char *text, double *values, int capacity);

/* "red,green,blue" in bytes; fills all four and returns how many were given. */
int read_fill(struct argp_state *state, const char *text, uint8_t fill[4]);
/* Returns the name of a file that becomes a PNG picture, unless it ends as a JPEG's. */
const char *read_png_name(struct argp_state *state, const char *what, const char *text);
/* The last cases of a command that takes one POLICY and nothing else. */
error_t read_one_policy(int key, char *arg, struct argp_state *state, const char **policy);
/* The parser of a command that takes --json, a bool, and nothing else. */
error_t parse_json_alone(int key, char *arg, struct argp_state *state);
void read_size(struct argp_state *state, const char *text, int32_t *width, int32_t *height); /* "224x224" */
motley_interpolation read_interpolation(struct argp_state *state, const char *text, size_t length);

/* A number for people: at most four digits, without trailing zeros, such as "-9". */
#define NUMBER_TEXT 32
const char *short_number(double value, char text[NUMBER_TEXT]);

struct json_object;

/* Which policy, changed how, with which random numbers: --repeat, --level, --bins, --interpolation, --fill; and
 * --seed, --epoch, --view, --levels. Give &policy_options to argp as a child's input. */
typedef struct policy_options {
    struct json_object *changes; /* the keys of the policy's JSON that are replaced; NULL: none */
    int interpolations;          /* bit k: --interpolation lists motley_interpolation k */
    motley_samples samples;
    const char *chosen; /* "--seed" or "--view", whichever was given last; NULL: neither */
    float *levels;      /* [levels_count]: sample ID has levels[ID % levels_count]; 0: they are not given */
    size_t levels_count;
    const char *only; /* of a transform with views: NAME or NAME:RESULT; NULL: not given */
    bool every_epoch; /* a transform keeps its schedules, and is not what it is in samples.epoch */
} policy_options;
extern const struct argp policy_argp, samples_argp;
void policy_options_free(policy_options *options); /* frees what they hold */

/* What draws are counted over: --samples, --size, --json. Give &counting_argp to argp as a child's input. */
typedef struct counting_options {
    uint64_t samples;
    int32_t width, height;
    bool json; /* print JSON in place of a table */
} counting_options;
extern const struct argp counting_argp;
/* clang-format off */
#define COUNTING_DEFAULTS { .samples = 100000, .width = 224, .height = 224 }
/* clang-format on */

/* What messages call the policy or transform that a command's POLICY names: a text is "<policy>". */
const char *policy_label(const char *name);

/* Whether the library did what was asked; false after a message about the policy. */
bool accepted(motley_status status, const char *name, const motley_error *error);

/* Opens the policy called `name`, a built-in, a file or a text, with changes (NULL: none). NULL after a message. */
motley_policy *open_policy(const char *name, struct json_object *changes);
motley_policy *open_policy_file(const char *path);

/* A policy with the changes; a level is that of all steps that have one. NULL after a message. */
motley_policy *changed_policy(const char *name, const motley_policy *policy, struct json_object *changes);

/* A path without its folders. */
const char *base_name(const char *path);

/* Calls `read` for each line of a file, with its number from 1; skip_empty: except for blank lines. Stops when `read`
 * returns false, which it does after a message. Returns false then, or after a message about the file. */
typedef bool line_reader(void *user, size_t number, const char *text);
bool read_lines(const char *path, bool skip_empty, line_reader *read, void *user);

/* What a byte's 0 and 255 are in images of 16 bits: --range. Give &range_argp to argp as a child's input. */
typedef struct pixel_range {
    double pair[2];
} pixel_range;
extern const struct argp range_argp;
#define RANGE_DEFAULTS \
    { \
        { \
            0, 65535 \
        } \
    }

/* Where to work: --device, --threads. */
extern const struct argp device_argp;

/* Copies a batch's `images`, each dense, from host memory to the context's device, calls `work` with them, in place,
 * and copies them back if it succeeded. */
typedef motley_status device_work(void *user, const motley_batch *batch, motley_error *error);
motley_status work_on_device(motley_context *context, const motley_batch *host, device_work *work, void *user,
                             motley_error *error);

/* The most steps of an image with so many boxes. */
size_t most_steps(const motley_policy *policy, size_t boxes);

/* Adds a centred box to each of `count` images of one size, so that policies that take boxes can draw without
 * images. The memory belongs to the function; the next call changes it. */
void give_middle_boxes(motley_samples *samples, size_t count, int32_t width, int32_t height);

/* Gives each of `count` samples its level, if there are any; `room` [count] has to live as long as they do. */
void give_levels(const policy_options *options, motley_samples *samples, size_t count, float *room);

/* A text as JSON. Bytes that are not UTF-8 become "\udcXX", which Python's os.fsencode undoes. */
struct json_object *text_json(const char *text);
/* The text that reading text_json back gives, to be freed: for comparisons with a file's texts. */
char *text_read_again(const char *text);
/* The object on a line of a file; NULL if the line is something else, or has more. */
struct json_object *line_json(const char *text);
struct json_object *number_json(double value); /* "-9.0" for -9; null when not finite */
struct json_object *size_json(int32_t width, int32_t height);
bool print_json(FILE *stream, struct json_object *object); /* one line; frees the object */

/* Shows a progress bar on a terminal once the work takes longer than a second. */
void progress_begin(const char *what, size_t total);
void progress_step(void);
void progress_end(void);
void progress_clear(void); /* before a message is written */

#endif
