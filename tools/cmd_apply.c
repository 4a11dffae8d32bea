/* SPDX-License-Identifier: Apache-2.0 */
/* motley apply: augments image files with a policy, or with recorded draws. Writes PNG files, the draws, the moved
 * boxes, and a contact sheet. */
#include "tools/boxes_file.h"
#include "tools/clash.h"
#include "tools/draws_file.h"
#include "tools/out_file.h"
#include "tools/parallel.h"
#include "tools/parts.h"
#include "tools/sheet.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_BYTES ((size_t)64 << 20)        /* of pixels that are processed together */
#define LARGE_BATCH_BYTES ((size_t)512 << 20) /* the same for large images; a single one may be larger still */
#define BLOCK_ITEMS 4096
#define SHEET_STEPS 64 /* lines below a picture; only policies that work in boxes draw more */
#define PNG_EFFORT 3   /* half the time of zlib's default for a few per cent of size */

typedef struct arguments {
    policy_options options;
    motley_context_params context;
    pixel_range range;
    const char *policy, *out, *sheet, *draws, *replay, *boxes, *boxes_out;
    char **images; /* [count] paths */
    size_t count, variants;
    int cell_px;
} arguments;

enum { KEY_SHEET = 256, KEY_DRAWS, KEY_CELL, KEY_REPLAY, KEY_BOXES, KEY_BOXES_OUT };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *self = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &self->options;
        state->child_inputs[2] = &self->context;
        state->child_inputs[3] = &self->range;
        return 0;
    case 'o':
        self->out = arg;
        return 0;
    case 'k':
        self->variants = (size_t)read_integer(state, "--variants", arg, 1, 1000000);
        return 0;
    case KEY_SHEET:
        self->sheet = read_png_name(state, "--sheet", arg);
        return 0;
    case KEY_DRAWS:
        self->draws = arg;
        return 0;
    case KEY_REPLAY:
        self->replay = arg;
        return 0;
    case KEY_BOXES:
        self->boxes = arg;
        return 0;
    case KEY_BOXES_OUT:
        self->boxes_out = arg;
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
        if (self->replay && self->options.chosen)
            argp_error(state, "%s has no use beside --replay, whose file has the draws", self->options.chosen);
        if (self->boxes_out && !(self->boxes && self->out))
            argp_error(state, "want --boxes and --out with --boxes-out: which boxes should follow which images?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .parser = parse,
    .options =
        (const struct argp_option[]){
            { "out", 'o', "DIR", 0,
              "Folder for the images, NAME-VARIANT.png, or NAME-VARIANT-VIEW-RESULT.png of a transform with views; "
              "made when it is not there",
              0 },
            { "variants", 'k', "K", 0, "How often each image is augmented (1)", 0 },
            { "sheet", KEY_SHEET, "FILE.png", 0, "Contact sheet: each image beside its variants, with what was done",
              0 },
            { "cell", KEY_CELL, "PIXELS", 0, "Longer side of a picture on the sheet (192)", 0 },
            { "draws", KEY_DRAWS, "FILE.jsonl", 0,
              "What was done, a JSON object a line, as 'motley draw' prints it, "
              "with \"policy\", \"size\", \"image\" and \"out\" added",
              0 },
            { "replay", KEY_REPLAY, "FILE.jsonl", 0,
              "Apply the draws of this file, which --draws or 'motley draw' wrote, in place of new ones", 0 },
            { "boxes", KEY_BOXES, "FILE.jsonl", 0,
              "Boxes of the images, for policies that work in them and for --boxes-out, a JSON object a line: "
              "{\"image\": PATH, \"boxes\": [[left, top, right, bottom], ...], \"labels\": [...]}; "
              "labels may be left out",
              0 },
            { "boxes-out", KEY_BOXES_OUT, "FILE.jsonl", 0,
              "Where the boxes are in each image of --out, in the same form, with \"size\" and \"visibility\" added; "
              "boxes that have left the image are dropped with their labels",
              0 },
            { 0 } },
    .args_doc = "POLICY IMAGE...",
    .doc =
        "Augments image files, JPEG, or PNG of 8 or 16 bits, with a policy: a built-in name or a file.\v"
        "Image i, variant k (both from 0) is sample i*K + k: the same seed and epoch always give the same files. "
        "Of a transform with views it gets the results of all, or of --only. "
        "With --replay it gets the draw of that sample, which must be of this policy, an image of that name and size. "
        "An image that cannot be used is reported and the others are still done.",
    .children = (const struct argp_child[]){ { &policy_argp, 0, NULL, 0 },
                                             { &samples_argp, 0, NULL, 0 },
                                             { &device_argp, 0, NULL, 0 },
                                             { &range_argp, 0, NULL, 0 },
                                             { 0 } },
};

/* An image file of the block that is being worked on. */
typedef struct source {
    picture image;
    const image_boxes *boxes; /* NULL without --boxes */
    size_t input;
    char why[PICTURE_WHY]; /* empty: it can be used */
} source;

/* One result of a variant of a source, from the copy of its pixels to the file. */
typedef struct item {
    picture image;
    const source *source;
    const struct item
        *shared;          /* the item whose image its view begins at, in place of the source; NULL: there is none */
    size_t variant, part; /* part: of the job's */
    char *path;           /* NULL: nothing is written to a folder */
    motley_step *steps;   /* [max_steps] */
    int32_t count;
    motley_place place; /* of a transform */
    bool drawn;         /* steps and count are set */
    bool augmented;
    char why[PICTURE_WHY]; /* empty: it is done */
} item;

typedef struct job {
    arguments *arguments;
    motley_context *context;
    parts opened;
    motley_policy **pictures; /* [opened.count] of a transform: motley_policy_pictures of each part; NULL: a policy */
    size_t threads;
    char **names; /* [count] of the outputs, without variant and suffix */
    sheet *sheet;
    out_file draws, boxes_out;
    draws_file *replay; /* NULL: new draws */
    boxes_file *boxes;  /* NULL without --boxes */
    size_t max_steps;   /* of a sample, 1 or more */
    source *sources;    /* the block; as many as fit into BATCH_BYTES */
    item *items;
    size_t sources_count, items_count;
    bool failed, delivered; /* something failed; something was delivered */
} job;

static void complain_about(job *self, const char *path, const char *why)
{
    complain("%s: %s", path, why);
    self->failed = true;
}

static const char *input_path(const job *self, const source *from)
{
    return self->arguments->images[from->input];
}

static uint64_t sample_id(const job *self, const item *at)
{
    return (uint64_t)at->source->input * self->arguments->variants + at->variant;
}

static const part *part_of(const job *self, const item *at)
{
    return &self->opened.part[at->part];
}

static bool is_shared(const job *self, const item *at)
{
    return self->opened.shares && at->part == 0;
}

/* The picture that an item is made of. */
static const picture *picture_of(const item *at)
{
    return at->shared ? &at->shared->image : &at->source->image;
}

static drawn_image drawn_for(const job *self, const item *at)
{
    const picture *const in = &at->source->image;
    return (drawn_image){ sample_id(self, at),
                          input_path(self, at->source),
                          motley_policy_describe(self->opened.whole)->name,
                          part_of(self, at),
                          self->opened.staged,
                          in->width,
                          in->height,
                          made_by(part_of(self, at)->policy, NULL, *in).channels,
                          self->pictures && !self->boxes ? motley_policy_describe(part_of(self, at)->policy)->max_steps
                                                         : self->max_steps - 1 };
}

/* What apply_policy runs on a batch. */
typedef struct request {
    motley_context *context;
    const motley_policy *policy;
    const motley_batch *src;    /* NULL: in place */
    motley_apply_params params; /* levels are in host memory */
} request;

static motley_status apply_policy(void *user, const motley_batch *batch, motley_error *error)
{
    const request *r = user;
    motley_apply_params params = r->params;
    const size_t bytes = batch->count * sizeof(float);
    void *levels = NULL;
    motley_status status = MOTLEY_OK;
    if (params.samples.levels) {
        status = motley_memory_create(r->context, MOTLEY_MEMORY_DEVICE, bytes, &levels, error);
        if (status == MOTLEY_OK)
            status = motley_memory_copy(r->context, levels, params.samples.levels, bytes, NULL, error);
        params.samples.levels = levels;
    }
    if (status == MOTLEY_OK)
        status = motley_apply(r->context, r->policy, r->src ? r->src : batch, batch, &params, error);
    motley_memory_destroy(r->context, levels);
    return status;
}

/* Whether an item is of a part and made of a picture with the channels and the type of `like`. */
static bool is_in(const item *at, size_t part, picture like)
{
    return at->part == part && at->image.pixels && picture_of(at)->channels == like.channels &&
           picture_of(at)->wide == like.wide && (!at->shared || at->shared->augmented);
}

/* Arrays for the images of a batch: descriptions, sample ids, and the draws to replay. */
typedef struct batch_room {
    motley_image *from, *images;
    uint64_t *ids;
    float *levels;
    motley_step *steps; /* [count][max_steps], or NULL: new draws */
    int32_t *counts;
    motley_place *places; /* of a transform's draws */
} batch_room;

/* Appends the boxes of an item's image to those of the `count` before it. */
static void add_boxes(const item *at, size_t count, double **boxes, size_t **offsets)
{
    const size_t first = count ? (*offsets)[count] : 0, more = at->source->boxes->count;
    *offsets = need(realloc(*offsets, (count + 2) * sizeof **offsets));
    *boxes = need(realloc(*boxes, 4 * (first + more + 1) * sizeof **boxes));
    memcpy(*boxes + 4 * first, at->source->boxes->boxes, 4 * more * sizeof **boxes);
    (*offsets)[count] = first;
    (*offsets)[count + 1] = first + more;
}

/* Augments those of items `first` .. `end - 1` that are of a part and made of pictures like one, without stages in
 * place. */
static motley_status apply_to(job *self, size_t part, picture like, const batch_room *room, size_t first, size_t end,
                              motley_error *error)
{
    const motley_policy *const policy = self->pictures ? self->pictures[part] : self->opened.whole;
    const size_t most = self->max_steps;
    size_t count = 0, *offsets = NULL;
    double *boxes = NULL;
    for (size_t i = first; i < end; i++) {
        const item *at = &self->items[i];
        const picture *in = picture_of(at), *out = &at->image;
        if (!is_in(at, part, like))
            continue;
        room->from[count] = image_of(in);
        room->images[count] = image_of(out);
        room->ids[count] = sample_id(self, at);
        room->counts[count] = at->count;
        if (room->steps) {
            room->places[count] = at->place;
            room->places[count].boxes_count = 0; /* `pictures` does not erase */
            memcpy(room->steps + count * most, at->steps, most * sizeof *at->steps);
        }
        if (self->boxes)
            add_boxes(at, count, &boxes, &offsets);
        count++;
    }
    const picture made = made_by(policy, NULL, like);
    motley_batch src = batch_of(&like, &self->arguments->range), dst = batch_of(&made, &self->arguments->range);
    src.count = dst.count = count;
    src.images = room->from;
    dst.images = room->images;
    request r = { self->context,
                  room->steps && !self->pictures ? NULL : policy,
                  self->pictures ? &src : NULL,
                  { .samples = self->opened.part[part].samples } };
    r.params.samples.ids = room->ids;
    give_levels(&self->arguments->options, &r.params.samples, count, room->levels);
    r.params.samples.boxes = boxes;
    r.params.samples.box_offsets = offsets;
    if (room->steps) {
        r.params.given = self->pictures ? room->places : NULL;
        r.params.given_steps = room->steps;
        r.params.given_step_counts = room->counts;
        r.params.given_max_steps = most;
    }
    const motley_status status = count == 0 ? MOTLEY_OK : work_on_device(self->context, &dst, apply_policy, &r, error);
    free(boxes);
    free(offsets);
    return status;
}

/* Does the same for all items; where an image or its recorded draw is refused, item by item, to leave out only it. */
static void apply_to_any(job *self, size_t part, picture like, const batch_room *room)
{
    motley_error error;
    const motley_status status = apply_to(self, part, like, room, 0, self->items_count, &error);
    const bool alone = status != MOTLEY_OK && !strncmp(error.message, "image ", 6);
    if (!alone && !accepted(status, self->arguments->policy, &error))
        self->failed = true;
    for (size_t i = 0; i < self->items_count; i++) {
        item *at = &self->items[i];
        if (!is_in(at, part, like))
            continue;
        at->augmented =
            status == MOTLEY_OK || (alone && apply_to(self, part, like, room, i, i + 1, &error) == MOTLEY_OK);
        if (at->augmented || !alone)
            continue;
        const char *why = error.message;
        why += strncmp(why, "image 0", 7) ? 0 : 7 + strspn(why + 7, ",: ");
        if (self->replay)
            snprintf(at->why, sizeof at->why, "%s, sample %llu: %s", self->arguments->replay,
                     (unsigned long long)sample_id(self, at), why);
        else
            snprintf(at->why, sizeof at->why, "%s", why);
    }
}

static void apply_to_all(job *self)
{
    const size_t count = self->items_count;
    const batch_room room = { .from = need(malloc(count * sizeof *room.from)),
                              .images = need(malloc(count * sizeof *room.images)),
                              .ids = need(malloc(count * sizeof *room.ids)),
                              .levels = need(malloc(count * sizeof *room.levels)),
                              .steps = self->replay ? need(malloc(count * self->max_steps * sizeof *room.steps)) : NULL,
                              .counts = need(malloc(count * sizeof *room.counts)),
                              .places = need(malloc(count * sizeof *room.places)) };
    for (size_t part = 0; part < self->opened.count; part++)
        for (int channels = 1; channels <= 4; channels++)
            for (int wide = 0; wide <= 1; wide++)
                apply_to_any(self, part, (picture){ .channels = channels, .wide = wide }, &room);
    free(room.from);
    free(room.images);
    free(room.ids);
    free(room.levels);
    free(room.steps);
    free(room.counts);
    free(room.places);
}

/* The path of an output, "DIR/NAME-VARIANT.png" or "DIR/NAME-VARIANT-VIEW-RESULT.png". */
static char *out_path(const arguments *arguments, const char *name, size_t variant, const part *part)
{
    char *path;
    if ((part->view ? asprintf(&path, "%s/%s-%zu-%s-%d.png", arguments->out, name, variant, part->view, part->result)
                    : asprintf(&path, "%s/%s-%zu.png", arguments->out, name, variant)) < 0)
        need(NULL);
    return path;
}

static bool write_draw(job *self, const item *at)
{
    char *text = part_json(&self->opened, part_of(self, at), sample_id(self, at), at->source->image, &at->place,
                           at->steps, at->count);
    struct json_object *object = need(json_tokener_parse(text));
    free(text);
    const drawn_image image = drawn_for(self, at);
    draws_file_describe(object, &image);
    if (at->path)
        json_object_object_add(object, "out", text_json(at->path));
    return print_json(self->draws.stream, object);
}

/* Writes where the boxes of an item's image are now. */
static void write_boxes(job *self, const item *at)
{
    const image_boxes *boxes = at->source->boxes;
    const size_t n = boxes->count;
    double *moved = need(calloc(n + 1, 4 * sizeof *moved)), *visibility = need(calloc(n + 1, sizeof *visibility));
    uint8_t *keep = need(calloc(n + 1, 1));
    memcpy(moved, boxes->boxes, 4 * n * sizeof *moved);
    memset(keep, 1, n);
    for (size_t i = 0; i < n; i++)
        visibility[i] = 1;
    motley_error error;
    motley_status status = MOTLEY_OK;
    for (const item *part = at->shared ? at->shared : at; part && status == MOTLEY_OK; part = part == at ? NULL : at)
        status = part_follow(&self->opened, part_of(self, part), at->source->image, &part->place, part->steps,
                             part->count, n, moved, visibility, keep, &error);
    if (status == MOTLEY_OK)
        boxes_file_write(self->boxes_out.stream, at->path, &at->image, boxes, moved, visibility, keep);
    else
        complain_about(self, input_path(self, at->source), error.message);
    free(moved);
    free(visibility);
    free(keep);
}

static bool put_on_sheet(const job *self, const item *at)
{
    const part *const of = part_of(self, at);
    const int shown = at->count < SHEET_STEPS ? at->count : SHEET_STEPS;
    sheet_line lines[SHEET_STEPS + 2];
    char values[SHEET_STEPS + 2][NUMBER_TEXT];
    int count = 0;
    snprintf(values[SHEET_STEPS], NUMBER_TEXT, "%d", of->result);
    snprintf(values[SHEET_STEPS + 1], NUMBER_TEXT, "%d more", at->count - shown);
    if (of->view)
        lines[count++] = (sheet_line){ of->view, values[SHEET_STEPS] };
    for (int i = 0; i < shown; i++) {
        const motley_step *step = &at->steps[i];
        lines[count++] = (sheet_line){ motley_policy_op(self->opened.whole, step->op)->name,
                                       step->values_count ? short_number(step->values[0], values[i]) : "" };
    }
    if (shown < at->count)
        lines[count++] = (sheet_line){ "", values[SHEET_STEPS + 1] };
    if (!count)
        lines[count++] = (sheet_line){ "", "unchanged" };
    const size_t parts = self->opened.count - self->opened.shares;
    const size_t column = 1 + at->variant * parts + at->part - self->opened.shares;
    return sheet_put(self->sheet, at->source->input, column, &at->image, lines, count);
}

static bool put_original(const job *self, const source *from)
{
    char size[32];
    snprintf(size, sizeof size, "%dx%d", from->image.width, from->image.height);
    const sheet_line lines[] = { { base_name(input_path(self, from)), "" }, { "", size } };
    return sheet_put(self->sheet, from->input, 0, &from->image, lines, 2);
}

/* ---- parts that threads run concurrently, each on one source or one item ---- */

static void read_source(void *user, size_t i)
{
    const job *self = user;
    source *from = &self->sources[i];
    if (!picture_read(input_path(self, from), &from->image, from->why))
        return;
    if (self->boxes && !(from->boxes = boxes_file_find(self->boxes, input_path(self, from))))
        snprintf(from->why, sizeof from->why, "%s has no line for it, want its path as on the command line",
                 self->arguments->boxes);
    else if (self->boxes && !boxes_file_suits(self->boxes, from->boxes, &from->image, from->why))
        from->boxes = NULL;
    else if (self->sheet && !put_original(self, from))
        snprintf(from->why, sizeof from->why, "no memory for its place on the sheet");
    if (*from->why)
        picture_free(&from->image);
}

/* An item as a sample of its part, with its boxes, if it has any; `offsets`: of these. */
static motley_samples sample_of(const job *self, const item *at, size_t offsets[2])
{
    motley_samples samples = part_of(self, at)->samples;
    samples.first = sample_id(self, at);
    if (at->source->boxes) {
        offsets[0] = 0;
        offsets[1] = at->source->boxes->count;
        samples.boxes = at->source->boxes->boxes;
        samples.box_offsets = offsets;
    }
    return samples;
}

static void copy_source(void *user, size_t i)
{
    const job *self = user;
    item *at = &self->items[i];
    const picture *const from = &at->source->image;
    if (!from->pixels)
        return;
    const part *const part = part_of(self, at);
    size_t offsets[2];
    const motley_samples samples = sample_of(self, at, offsets);
    at->image = made_by(part->policy, &samples, taken_by(&self->opened, part, *from));
    if (self->replay) {
        const drawn_image image = drawn_for(self, at);
        at->drawn = draws_file_steps(self->replay, &image, at->steps, &at->count, &at->place, at->why);
        if (!at->drawn)
            return;
        if (motley_policy_describe(part->policy)->draws_sizes)
            at->image.width = at->place.result_width, at->image.height = at->place.result_height;
    }
    if (picture_allocate(&at->image, at->why) && !self->pictures)
        memcpy(at->image.pixels, from->pixels, picture_bytes(from));
}

/* Draws the steps of an item again, for the draws file and the sheet. */
static bool draw_item(const job *self, item *at)
{
    size_t offsets[2];
    motley_samples samples = sample_of(self, at, offsets);
    float level;
    give_levels(&self->arguments->options, &samples, 1, &level);
    motley_error error;
    at->drawn = part_draw(&self->opened, part_of(self, at), &samples, 1, at->source->image, &at->place, at->steps,
                          &at->count, &error) == MOTLEY_OK;
    if (!at->drawn)
        snprintf(at->why, sizeof at->why, "%s", error.message);
    return at->drawn;
}

static void write_item(void *user, size_t i)
{
    const job *self = user;
    item *at = &self->items[i];
    if (!at->augmented || (at->path && !picture_write(at->path, &at->image, PNG_EFFORT, at->why)))
        return;
    if ((at->drawn || draw_item(self, at)) && self->sheet && !is_shared(self, at) && !put_on_sheet(self, at))
        snprintf(at->why, sizeof at->why, "no memory for its place on the sheet");
}

/* ---- a block ---- */

/* Reports an item, in the order of the samples. */
static void tell(job *self, const item *at)
{
    if (*at->why)
        complain_about(self, at->path && at->augmented ? at->path : input_path(self, at->source), at->why);
    else if (at->augmented) {
        if (self->arguments->draws)
            write_draw(self, at); /* errors are reported when the file is committed */
        if (self->arguments->boxes_out && !is_shared(self, at))
            write_boxes(self, at);
        self->delivered = true;
    }
    if (at->part + 1 == self->opened.count)
        progress_step();
}

/* Makes variants `first` .. `first + variants - 1` of every source. */
static void do_variants(job *self, size_t first, size_t variants)
{
    const size_t parts = self->opened.count;
    self->items_count = self->sources_count * variants * parts;
    self->items = need(calloc(self->items_count, sizeof *self->items));
    motley_step *steps = need(calloc(self->items_count * self->max_steps, sizeof *steps));
    for (size_t i = 0; i < self->items_count; i++) {
        item *at = &self->items[i];
        at->source = &self->sources[i / parts / variants];
        at->variant = first + i / parts % variants;
        at->part = i % parts;
        at->shared = self->opened.shares && at->part ? at - at->part : NULL;
        at->steps = steps + i * self->max_steps;
        if (self->arguments->out && !is_shared(self, at))
            at->path = out_path(self->arguments, self->names[at->source->input], at->variant, part_of(self, at));
    }
    run_parallel(self->threads, self->items_count, copy_source, self);
    apply_to_all(self);
    run_parallel(self->threads, self->items_count, write_item, self);
    for (size_t i = 0; i < self->items_count; i++) {
        tell(self, &self->items[i]);
        picture_free(&self->items[i].image);
        free(self->items[i].path);
    }
    free(steps);
    free(self->items);
}

/* How many variants of a single input fit into memory at once. */
static size_t variants_at_once(const job *self, size_t bytes)
{
    const size_t usual = BATCH_BYTES / (bytes + 1), most = LARGE_BATCH_BYTES / (bytes + 1);
    const size_t count = usual >= self->threads ? usual : most < self->threads ? most : self->threads;
    return count < 1 ? 1 : count > BLOCK_ITEMS ? BLOCK_ITEMS : count;
}

/* Reads, augments, writes and frees inputs `first` .. `first + count - 1`, which have `bytes` of pixels. */
static void do_block(job *self, size_t first, size_t count, size_t bytes)
{
    const size_t all = self->arguments->variants;
    self->sources_count = count;
    self->sources = need(calloc(count, sizeof *self->sources));
    for (size_t i = 0; i < count; i++)
        self->sources[i].input = first + i;
    run_parallel(self->threads, count, read_source, self);
    for (size_t i = 0; i < count; i++)
        if (*self->sources[i].why)
            complain_about(self, input_path(self, &self->sources[i]), self->sources[i].why);
    const size_t at_once = count > 1 ? all : variants_at_once(self, bytes * self->opened.count);
    for (size_t k = 0; k < all; k += at_once)
        do_variants(self, k, all - k < at_once ? all - k : at_once);
    for (size_t i = 0; i < count; i++)
        picture_free(&self->sources[i].image);
    free(self->sources);
}

/* How many inputs from `first` on are processed together, with all their variants: as many as fit into BATCH_BYTES; if
 * these are too few for all threads, more, within LARGE_BATCH_BYTES; at least one. */
static size_t block_size(const job *self, size_t first, size_t *bytes)
{
    const size_t left = self->arguments->count - first, variants = self->arguments->variants * self->opened.count;
    size_t count = 0;
    for (*bytes = 0; count < left; count++) {
        const size_t more = *bytes + picture_file_bytes(self->arguments->images[first + count]);
        const size_t items = (count + 1) * variants, items_bytes = more * variants;
        if (count && (items > BLOCK_ITEMS || items_bytes > LARGE_BATCH_BYTES ||
                      (items_bytes > BATCH_BYTES && items > 2 * self->threads)))
            break;
        *bytes = more;
    }
    return count;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(**(char **const *)a, **(char **const *)b);
}

/* Marks the names that occur more than once; returns how many these are. */
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

/* Names the outputs: "coffee" for some/coffee.jpg, but "coffee-i3" for input 3 if several inputs have that name. */
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
    const motley_policy_info *info = motley_policy_describe(self->opened.whole);
    if (a->replay)
        snprintf(subtitle, sizeof subtitle, "%s, replayed", info->name);
    else
        snprintf(subtitle, sizeof subtitle, "%s, seed %llu, epoch %u", info->name,
                 (unsigned long long)a->options.samples.seed, a->options.samples.epoch);
    self->sheet =
        sheet_create(info->title, subtitle, a->count, 1 + a->variants * (self->opened.count - self->opened.shares),
                     a->cell_px, a->range.pair[1], why);
    if (!self->sheet)
        complain("%s: %s", a->sheet, why);
    return self->sheet != NULL;
}

/* Whether no output is also an input, or another output. */
static bool spares_inputs(const job *self)
{
    const arguments *a = self->arguments;
    clash_list *files = clash_list_create();
    clash_list_read(files, a->policy, "the policy");
    for (size_t i = 0; i < a->count; i++)
        clash_list_read(files, a->images[i], "an image to be read");
    if (a->replay)
        clash_list_read(files, a->replay, "--replay");
    if (a->boxes)
        clash_list_read(files, a->boxes, "--boxes");
    if (a->draws)
        clash_list_write(files, a->draws, "--draws");
    if (a->boxes_out)
        clash_list_write(files, a->boxes_out, "--boxes-out");
    if (a->sheet)
        clash_list_write(files, a->sheet, "--sheet");
    for (size_t i = 0; a->out && i < a->count; i++)
        for (size_t k = 0; k < a->variants; k++)
            for (size_t p = self->opened.shares; p < self->opened.count; p++) {
                char *path = out_path(a, self->names[i], k, &self->opened.part[p]);
                clash_list_write(files, path, "--out");
                free(path);
            }
    const bool good = clash_list_is_good(files);
    clash_list_destroy(files);
    return good;
}

/* Reads the boxes, if there are any, and checks that the policy or transform can use them as requested. */
static bool begin_boxes(job *self)
{
    const arguments *a = self->arguments;
    const bool takes = motley_policy_describe(self->opened.whole)->takes_boxes;
    if (takes && !a->boxes) {
        complain("%s: it works in the boxes of an image, want --boxes", policy_label(a->policy));
        return false;
    }
    if (a->boxes && !takes && !a->boxes_out) {
        complain("%s: it does not work in the boxes of an image, and there is no --boxes-out: --boxes has no use",
                 policy_label(a->policy));
        return false;
    }
    motley_error error;
    for (size_t p = 0; a->boxes_out && p < self->opened.count; p++) {
        const motley_policy *const followed = self->pictures ? self->pictures[p] : self->opened.whole;
        motley_policy *follower = NULL;
        if (!accepted(motley_policy_follower(followed, NULL, &follower, &error), a->policy, &error))
            return false;
        motley_policy_destroy(follower);
    }
    if (a->boxes && !(self->boxes = boxes_file_read(a->boxes)))
        return false;
    size_t most = 0;
    for (size_t i = 0; self->boxes && i < a->count; i++) {
        const image_boxes *boxes = boxes_file_find(self->boxes, a->images[i]);
        most = boxes && boxes->count > most ? boxes->count : most;
    }
    self->max_steps = 1 + most_steps(self->opened.whole, most);
    return true;
}

/* Opens and checks everything that is needed before the first image. */
static bool begin(job *self)
{
    const arguments *a = self->arguments;
    motley_error error;
    if (!parts_open(a->policy, &a->options, &self->opened) || !make_names(self))
        return false;
    if (self->opened.staged && a->context.backend == MOTLEY_BACKEND_CUDA) {
        complain("%s: it is a transform, want --device cpu", policy_label(a->policy));
        return false;
    }
    if (self->opened.staged)
        self->pictures = need(calloc(self->opened.count, sizeof(motley_policy *)));
    for (size_t p = 0; self->pictures && p < self->opened.count; p++)
        if (!accepted(motley_policy_pictures(self->opened.part[p].policy, &self->pictures[p], &error), a->policy,
                      &error))
            return false;
    if (!begin_boxes(self) || (a->replay && !(self->replay = draws_file_read(a->replay))))
        return false;
    if (motley_context_create(&a->context, &self->context, &error) != MOTLEY_OK) {
        complain("%s", error.message);
        return false;
    }
    const bool made = a->out && mkdir(a->out, 0777) == 0;
    if (a->out && !made && errno != EEXIST) {
        complain("%s: %s", a->out, strerror(errno));
        return false;
    }
    if (!spares_inputs(self)) {
        if (made)
            rmdir(a->out);
        return false;
    }
    self->threads = thread_count(a->context.threads);
    if (a->sheet && !open_sheet(self))
        return false;
    if (a->draws && !out_file_open(&self->draws, a->draws)) {
        complain("%s: %s", a->draws, strerror(errno));
        return false;
    }
    if (a->boxes_out && !out_file_open(&self->boxes_out, a->boxes_out)) {
        complain("%s: %s", a->boxes_out, strerror(errno));
        if (a->draws)
            out_file_discard(&self->draws);
        return false;
    }
    return true;
}

static void finish(job *self)
{
    const arguments *a = self->arguments;
    char why[PICTURE_WHY];
    if (!self->delivered) { /* an empty sheet would hide that no image was done */
        if (a->draws)
            out_file_discard(&self->draws);
        if (a->boxes_out)
            out_file_discard(&self->boxes_out);
        return;
    }
    if (a->draws && !out_file_commit(&self->draws))
        complain_about(self, a->draws, strerror(errno));
    if (a->boxes_out && !out_file_commit(&self->boxes_out))
        complain_about(self, a->boxes_out, strerror(errno));
    if (self->sheet && !sheet_write(self->sheet, a->sheet, why))
        complain_about(self, a->sheet, why);
}

int cmd_apply(int argc, char **argv)
{
    arguments arguments = {
        .variants = 1, .cell_px = 192, .context.backend = MOTLEY_BACKEND_CPU, .range = RANGE_DEFAULTS
    };
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    job self = { .arguments = &arguments };
    self.failed = !begin(&self);
    if (!self.failed) {
        progress_begin("augmenting", arguments.count * arguments.variants);
        for (size_t first = 0, count, bytes; first < arguments.count; first += count) {
            count = block_size(&self, first, &bytes);
            do_block(&self, first, count, bytes);
        }
        progress_end();
        finish(&self);
    }
    for (size_t i = 0; self.names && i < arguments.count; i++)
        free(self.names[i]);
    free(self.names);
    sheet_destroy(self.sheet);
    draws_file_destroy(self.replay);
    boxes_file_destroy(self.boxes);
    motley_context_destroy(self.context);
    for (size_t p = 0; self.pictures && p < self.opened.count; p++)
        motley_policy_destroy(self.pictures[p]);
    free(self.pictures);
    parts_close(&self.opened);
    policy_options_free(&arguments.options);
    return self.failed ? EXIT_INPUT : 0;
}
