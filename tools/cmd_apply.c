/* SPDX-License-Identifier: Apache-2.0 */
/* motley apply: augments image files with a policy; writes PNG files, the draws, and a contact sheet. */
#include "tools/out_file.h"
#include "tools/picture.h"
#include "tools/sheet.h"
#include "tools/tool.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BATCH_BYTES ((size_t)64 << 20) /* of pixels held at a time; one image may be larger */
#define PNG_EFFORT 3                   /* half the time of zlib's default for a few per cent of size */

typedef struct arguments {
    policy_options options;
    motley_context_params context;
    const char *policy, *out, *sheet, *draws;
    char **images; /* [count] paths */
    size_t count, variants;
    int cell_px;
} arguments;

enum { KEY_SHEET = 256, KEY_DRAWS, KEY_CELL };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *self = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &self->options;
        state->child_inputs[2] = &self->context;
        return 0;
    case 'o':
        self->out = arg;
        return 0;
    case 'k':
        self->variants = (size_t)read_integer(state, "--variants", arg, 1, 1000000);
        return 0;
    case KEY_SHEET:
        self->sheet = arg;
        return 0;
    case KEY_DRAWS:
        self->draws = arg;
        return 0;
    case KEY_CELL:
        self->cell_px = (int)read_integer(state, "--cell", arg, 16, 4096);
        return 0;
    case ARGP_KEY_ARGS:
        self->policy = state->argv[state->next];
        self->images = state->argv + state->next + 1;
        self->count = (size_t)(state->argc - state->next - 1);
        return 0;
    case ARGP_KEY_END:
        if (!self->policy)
            argp_error(state, "want a POLICY: a name from 'motley policies', or a file");
        if (!self->count)
            argp_error(state, "want at least one IMAGE");
        if (!self->out && !self->sheet && !self->draws)
            argp_error(state, "want --out, --sheet or --draws: where should the result go?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .parser = parse,
    .options =
        (const struct argp_option[]){
            { "out", 'o', "DIR", 0, "Folder for the images, NAME-VARIANT.png; made when it is not there", 0 },
            { "variants", 'k', "K", 0, "How often each image is augmented (1)", 0 },
            { "sheet", KEY_SHEET, "FILE.png", 0, "Contact sheet: each image beside its variants, with what was done",
              0 },
            { "cell", KEY_CELL, "PIXELS", 0, "Longer side of a picture on the sheet (192)", 0 },
            { "draws", KEY_DRAWS, "FILE.jsonl", 0,
              "What was done, a JSON object a line, as 'motley draw' prints it, "
              "with \"image\" and \"out\" added",
              0 },
            { 0 } },
    .args_doc = "POLICY IMAGE...",
    .doc = "Augments image files, PNG or JPEG, with a policy: a built-in name or a file.\v"
           "Image i, variant k (both from 0) is sample i*K + k: the same seed and epoch always give the same files. "
           "An image that cannot be used is reported and the others are still done.",
    .children =
        (const struct argp_child[]){
            { &policy_argp, 0, NULL, 0 }, { &samples_argp, 0, NULL, 0 }, { &device_argp, 0, NULL, 0 }, { 0 } },
};

/* One variant of one image that waits to be augmented and written. */
typedef struct item {
    picture image;
    size_t input, variant;
} item;

typedef struct job {
    const arguments *arguments;
    motley_context *context;
    motley_policy *policy;
    char **names; /* [count] of the outputs, without variant and suffix */
    sheet *sheet;
    out_file draws;
    motley_step *steps; /* [max_steps], of one sample */
    item *items;
    size_t items_count, items_capacity, items_bytes;
    bool failed, delivered; /* something failed; something was delivered */
} job;

static void complain_about(job *self, const char *path, const char *why)
{
    complain("%s: %s", path, why);
    self->failed = true;
}

static uint64_t sample_id(const job *self, const item *at)
{
    return (uint64_t)at->input * self->arguments->variants + at->variant;
}

/* What is applied to a batch; `user` is the request. */
typedef struct request {
    motley_context *context;
    const motley_policy *policy;
    motley_apply_params params;
} request;

static motley_status apply_policy(void *user, const motley_batch *batch, motley_error *error)
{
    const request *r = user;
    return motley_apply(r->context, r->policy, batch, batch, &r->params, error);
}

/* Augments the waiting images that have `channels`, in place. */
static bool apply_to(job *self, int32_t channels, motley_image *images, uint64_t *ids)
{
    size_t count = 0;
    for (size_t i = 0; i < self->items_count; i++) {
        const picture *p = &self->items[i].image;
        if (p->channels != channels)
            continue;
        images[count] = (motley_image){ p->pixels, p->width, p->height, (int64_t)p->width * channels, channels, 1 };
        ids[count++] = sample_id(self, &self->items[i]);
    }
    request r = { self->context, self->policy, { .samples = self->arguments->options.samples } };
    r.params.samples.ids = ids;
    motley_error error;
    if (count == 0 || work_on_device(self->context, channels, images, count, apply_policy, &r, &error) == MOTLEY_OK)
        return true;
    complain("%s: %s", self->arguments->policy, error.message);
    return false;
}

/* NULL when nothing goes to a folder. */
static char *out_path(const job *self, const item *at)
{
    char *path;
    if (!self->arguments->out)
        return NULL;
    if (asprintf(&path, "%s/%s-%zu.png", self->arguments->out, self->names[at->input], at->variant) < 0)
        need(NULL);
    return path;
}

static bool write_draw(job *self, const item *at, const char *path, int count)
{
    char *text = draw_json(self->policy, sample_id(self, at), self->steps, count, at->image.channels);
    struct json_object *object = need(json_tokener_parse(text));
    free(text);
    json_object_object_add(object, "image", need(json_object_new_string(self->arguments->images[at->input])));
    if (path)
        json_object_object_add(object, "out", need(json_object_new_string(path)));
    return print_json(self->draws.stream, object);
}

static bool put_on_sheet(job *self, const item *at, int count)
{
    sheet_line lines[1 + count];
    char values[1 + count][NUMBER_TEXT];
    lines[0] = (sheet_line){ "", "unchanged" };
    for (int i = 0; i < count; i++) {
        const motley_step *step = &self->steps[i];
        lines[i] = (sheet_line){ motley_op_get(step->op)->name,
                                 step->values_count ? short_number(step->values[0], values[i]) : "" };
    }
    return sheet_put(self->sheet, at->input, 1 + at->variant, &at->image, lines, count ? count : 1);
}

/* Writes one augmented image and tells of it. */
static void deliver(job *self, const item *at)
{
    const char *source = self->arguments->images[at->input];
    char why[PICTURE_WHY];
    char *path = out_path(self, at);
    if (path && !picture_write(path, &at->image, PNG_EFFORT, why)) {
        complain_about(self, path, why);
        free(path);
        return;
    }
    motley_samples samples = self->arguments->options.samples;
    samples.first = sample_id(self, at);
    int32_t count = 0;
    motley_error error;
    if (motley_draw(self->policy, &samples, 1, &at->image.width, &at->image.height, at->image.channels, self->steps,
                    &count, &error) != MOTLEY_OK)
        complain_about(self, source, error.message);
    else {
        if (self->arguments->draws)
            write_draw(self, at, path, count); /* an error shows when the file is committed */
        if (self->sheet && !put_on_sheet(self, at, count))
            complain_about(self, source, "no memory for its place on the sheet");
        self->delivered = true;
    }
    free(path);
}

/* Augments, writes and forgets what waits. */
static void flush(job *self)
{
    motley_image *images = need(malloc((self->items_count + 1) * sizeof *images));
    uint64_t *ids = need(malloc((self->items_count + 1) * sizeof *ids));
    bool good[5] = { 0 };
    for (int channels = 1; channels <= 4; channels++) {
        good[channels] = apply_to(self, channels, images, ids);
        self->failed |= !good[channels];
    }
    free(images);
    free(ids);
    for (size_t i = 0; i < self->items_count; i++) {
        if (good[self->items[i].image.channels])
            deliver(self, &self->items[i]);
        picture_free(&self->items[i].image);
        progress_step();
    }
    self->items_count = self->items_bytes = 0;
}

static bool add_item(job *self, const picture *image, size_t input, size_t variant)
{
    if (self->items_count && self->items_bytes + picture_bytes(image) > BATCH_BYTES)
        flush(self);
    if (self->items_count == self->items_capacity) {
        self->items_capacity = self->items_capacity ? 2 * self->items_capacity : 64;
        self->items = need(realloc(self->items, self->items_capacity * sizeof *self->items));
    }
    item *at = &self->items[self->items_count];
    *at = (item){ .input = input, .variant = variant };
    if (!picture_copy(image, &at->image))
        return false;
    self->items_count++;
    self->items_bytes += picture_bytes(image);
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool put_original(job *self, size_t input, const picture *image)
{
    char size[32];
    snprintf(size, sizeof size, "%dx%d", image->width, image->height);
    const sheet_line lines[] = { { base_name(self->arguments->images[input]), "" }, { "", size } };
    return sheet_put(self->sheet, input, 0, image, lines, 2);
}

static void take_image(job *self, size_t input)
{
    const char *path = self->arguments->images[input];
    char why[PICTURE_WHY];
    picture image;
    bool good = picture_read(path, &image, why);
    if (!good)
        complain_about(self, path, why);
    else if (self->sheet && !put_original(self, input, &image))
        complain_about(self, path, "no memory for its place on the sheet");
    for (size_t k = 0; k < self->arguments->variants; k++) {
        if (good && !add_item(self, &image, input, k)) {
            complain_about(self, path, "no memory for a copy of its pixels");
            good = false;
        }
        if (!good)
            progress_step();
    }
    picture_free(&image);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(**(char **const *)a, **(char **const *)b);
}

/* Sorts pointers to the names and marks those that stand there twice; returns how many. */
static size_t find_doubles(char **names, size_t count, bool *twice)
{
    char ***sorted = need(malloc((count + 1) * sizeof *sorted));
    for (size_t i = 0; i < count; i++)
        sorted[i] = &names[i];
    qsort(sorted, count, sizeof *sorted, compare_names);
    size_t doubles = 0;
    memset(twice, 0, count * sizeof *twice);
    for (size_t i = 1; i < count; i++)
        if (!strcmp(*sorted[i - 1], *sorted[i])) {
            twice[sorted[i - 1] - names] = twice[sorted[i] - names] = true;
            doubles++;
        }
    free(sorted);
    return doubles;
}

/* "coffee" for some/coffee.jpg; where several inputs have that name, "coffee-i3" for the fourth of all. */
static bool make_names(job *self)
{
    const size_t count = self->arguments->count;
    bool *twice = need(calloc(count, sizeof *twice));
    self->names = need(calloc(count, sizeof *self->names));
    for (size_t i = 0; i < count; i++) {
        const char *base = base_name(self->arguments->images[i]), *dot = strrchr(base, '.');
        self->names[i] = need(strndup(base, dot && dot > base ? (size_t)(dot - base) : strlen(base)));
    }
    bool good = true;
    if (find_doubles(self->names, count, twice)) {
        for (size_t i = 0; i < count; i++) {
            char *longer;
            if (twice[i] && asprintf(&longer, "%s-i%zu", self->names[i], i) < 0)
                need(NULL);
            if (twice[i]) {
                free(self->names[i]);
                self->names[i] = longer;
            }
        }
        good = find_doubles(self->names, count, twice) == 0;
        for (size_t i = 0; i < count && !good; i++)
            if (twice[i]) {
                complain("%s: two images would be written to %s-0.png; rename one", self->arguments->images[i],
                         self->names[i]);
                break;
            }
    }
    free(twice);
    return good;
}

static bool open_sheet(job *self)
{
    const arguments *a = self->arguments;
    char subtitle[128], why[PICTURE_WHY];
    snprintf(subtitle, sizeof subtitle, "%s, seed %llu, epoch %u", motley_policy_name(self->policy),
             (unsigned long long)a->options.samples.seed, a->options.samples.epoch);
    self->sheet = sheet_create(motley_policy_title(self->policy), subtitle, a->count, 1 + a->variants, a->cell_px, why);
    if (!self->sheet)
        complain("%s: %s", a->sheet, why);
    return self->sheet != NULL;
}

/* Whatever can go wrong before the first image goes wrong here. */
static bool begin(job *self)
{
    const arguments *a = self->arguments;
    motley_error error;
    self->policy = open_policy(a->policy, &a->options.changes);
    if (!self->policy || !make_names(self))
        return false;
    if (motley_context_create(&a->context, &self->context, &error) != MOTLEY_OK) {
        complain("%s", error.message);
        return false;
    }
    self->steps = need(calloc(motley_policy_max_steps(self->policy) + 1, sizeof *self->steps));
    if (a->out && mkdir(a->out, 0777) != 0 && errno != EEXIST) {
        complain("%s: %s", a->out, strerror(errno));
        return false;
    }
    if (a->sheet && !open_sheet(self))
        return false;
    if (a->draws && !out_file_open(&self->draws, a->draws)) {
        complain("%s: %s", a->draws, strerror(errno));
        return false;
    }
    return true;
}

static void finish(job *self)
{
    const arguments *a = self->arguments;
    char why[PICTURE_WHY];
    if (!self->delivered) { /* an empty sheet would only hide that */
        if (a->draws)
            out_file_discard(&self->draws);
        return;
    }
    if (a->draws && !out_file_commit(&self->draws))
        complain_about(self, a->draws, strerror(errno));
    if (self->sheet && !sheet_write(self->sheet, a->sheet, why))
        complain_about(self, a->sheet, why);
}

int cmd_apply(int argc, char **argv)
{
    arguments arguments = { .variants = 1, .cell_px = 192, .context.backend = MOTLEY_BACKEND_CPU };
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    job self = { .arguments = &arguments };
    self.failed = !begin(&self);
    if (!self.failed) {
        progress_begin("augmenting", arguments.count * arguments.variants);
        for (size_t i = 0; i < arguments.count; i++)
            take_image(&self, i);
        flush(&self);
        progress_end();
        finish(&self);
    }
    for (size_t i = 0; self.names && i < arguments.count; i++)
        free(self.names[i]);
    free(self.names);
    free(self.items);
    free(self.steps);
    sheet_destroy(self.sheet);
    motley_context_destroy(self.context);
    motley_policy_destroy(self.policy);
    return self.failed ? EXIT_INPUT : 0;
}
