/* SPDX-License-Identifier: Apache-2.0 */
/* motley preview: writes an HTML page that shows what a policy or a transform does to images. */
#include "tools/boxes_file.h"
#include "tools/clash.h"
#include "tools/out_file.h"
#include "tools/page.h"
#include "tools/summary.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_IMAGES 64
#define MOST_STOPS 11    /* of the slider over the level */
#define SLIDER_SAMPLES 4 /* images that the slider shows */
#define BARS 24          /* of a distribution of magnitudes */

typedef struct arguments {
    policy_options options;
    pixel_range range;
    const char *policy, *out, *boxes;
    const char *masks[MOST_IMAGES];
    char **images;
    size_t count, variants, masks_count;
    uint64_t samples;
    int32_t cell_px;
} arguments;

enum { KEY_MASK = 256, KEY_BOXES, KEY_CELL };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *self = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &self->options;
        state->child_inputs[2] = &self->range;
        return 0;
    case 'o':
        self->out = arg;
        return 0;
    case 'k':
        self->variants = (size_t)read_integer(state, "--variants", arg, 1, 100);
        return 0;
    case 'N':
        self->samples = (uint64_t)read_integer(state, "--samples", arg, 1, 1000000);
        return 0;
    case KEY_CELL:
        self->cell_px = (int32_t)read_integer(state, "--cell", arg, 16, 1024);
        return 0;
    case KEY_BOXES:
        self->boxes = arg;
        return 0;
    case KEY_MASK:
        if (self->masks_count == MOST_IMAGES)
            argp_error(state, "more than %d masks", MOST_IMAGES);
        self->masks[self->masks_count++] = arg;
        return 0;
    case ARGP_KEY_ARGS:
        self->policy = state->argv[state->next];
        self->images = state->argv + state->next + 1;
        self->count = (size_t)(state->argc - state->next - 1);
        return 0;
    case ARGP_KEY_END:
        if (!self->policy)
            argp_error(state, "want a POLICY: a name from 'motley policies', or a file");
        if (!self->count || self->count > MOST_IMAGES)
            argp_error(state, "%zu images are given, want 1 to %d", self->count, MOST_IMAGES);
        if (!self->out)
            argp_error(state, "want --out: where should the page go?");
        if (self->masks_count && self->masks_count != self->count)
            argp_error(state, "%zu masks are given for %zu images, want one for each", self->masks_count, self->count);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .parser = parse,
    .options =
        (const struct argp_option[]){
            { "out", 'o', "PAGE.html", 0, "The page", 0 },
            { "variants", 'k', "K", 0, "How often each image is augmented (5)", 0 },
            { "cell", KEY_CELL, "PIXELS", 0, "Longer side of a picture on the page (200)", 0 },
            { "mask", KEY_MASK, "FILE.png", 0, "Mask of an image, drawn over it where it is not 0; once for each image",
              0 },
            { "boxes", KEY_BOXES, "FILE.jsonl", 0,
              "Boxes, a JSON object a line: {\"image\": PATH, \"boxes\": [[left, top, right, bottom], ...]}", 0 },
            { "samples", 'N', "COUNT", 0, "How many samples to draw for the frequencies (20000)", 0 },
            { 0 } },
    .args_doc = "POLICY IMAGE...",
    .doc = "Writes one HTML page, complete in itself, that shows what a policy or a transform does: augmented images "
           "with what was done, how often each operation comes, the magnitudes, the policy's text and citation, and a "
           "slider over its level.\v"
           "Image i, variant k (both from 0) is sample i*K + k, as with 'motley apply'. A transform's images are shown "
           "before they are normalised and mixed, with erased boxes in grey.",
    .children =
        (const struct argp_child[]){
            { &policy_argp, 0, NULL, 0 }, { &samples_argp, 0, NULL, 0 }, { &range_argp, 0, NULL, 0 }, { 0 } },
};

/* An image, or what a part made of it. */
typedef struct result {
    const part *of;      /* NULL: an image */
    picture image, mask; /* no mask without masks */
    motley_step *steps;  /* [max_steps] */
    int32_t count;
    motley_place place; /* of a transform */
} result;

typedef struct job {
    arguments *arguments;
    motley_context *context;
    parts opened;
    motley_policy **applied;   /* [parts] motley_policy_pictures of a transform's, or a copy of the policy */
    motley_policy **followers; /* [parts] of masks; NULL without masks and boxes */
    result originals[MOST_IMAGES];
    result shared, made; /* the last of the stages that views share, and of another part */
    boxes_file *boxes_file;
    const image_boxes *boxes[MOST_IMAGES]; /* NULL: none */
    FILE *page;
} job;

/* ---- reading ---- */

static bool read_images(job *self)
{
    char why[PICTURE_WHY];
    for (size_t i = 0; i < self->arguments->count; i++) {
        picture *const image = &self->originals[i].image, *const mask = &self->originals[i].mask;
        if (!picture_read(self->arguments->images[i], image, why)) {
            complain("%s: %s", self->arguments->images[i], why);
            return false;
        }
        if (!self->arguments->masks_count)
            continue;
        const char *path = self->arguments->masks[i];
        if (!picture_read(path, mask, why)) {
            complain("%s: %s", path, why);
            return false;
        }
        if (mask->channels != 1 || mask->wide || mask->width != image->width || mask->height != image->height) {
            complain(
                "%s: the mask is %d x %d with %d channels of %d bits, its image %s is %d x %d: want one channel of "
                "8 bits and that size",
                path, mask->width, mask->height, mask->channels, mask->wide ? 16 : 8, self->arguments->images[i],
                image->width, image->height);
            return false;
        }
    }
    return true;
}

static bool read_boxes(job *self)
{
    const arguments *a = self->arguments;
    char why[PICTURE_WHY];
    bool any = false;
    if (!a->boxes)
        return true;
    if (!(self->boxes_file = boxes_file_read(a->boxes)))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        self->boxes[i] = boxes_file_find(self->boxes_file, a->images[i]);
        any = any || self->boxes[i];
        if (self->boxes[i] && !boxes_file_suits(self->boxes_file, self->boxes[i], &self->originals[i].image, why)) {
            complain("%s", why);
            return false;
        }
    }
    if (!any)
        complain("%s: no line is for %s%s, want paths as on the command line", a->boxes, a->images[0],
                 a->count > 1 ? " or another of the images" : "");
    return any;
}

/* ---- pictures ---- */

/* Ends the command if the library refuses what the user asked for. */
static void want(motley_status status, const char *name, const motley_error *error)
{
    if (!accepted(status, name, error))
        exit(EXIT_INPUT);
}

/* Allocates pixels; the rest is set. */
static picture allocated(picture out)
{
    char why[PICTURE_WHY];
    if (!picture_allocate(&out, why))
        need(NULL);
    return out;
}

/* A picture no larger than a cell. */
static picture thumbnail(job *self, const picture *in, motley_filter filter)
{
    const double scale = fmin(1, (double)self->arguments->cell_px / (in->width > in->height ? in->width : in->height));
    const picture out = allocated((picture){ .width = (int32_t)fmax(1, rint(in->width * scale)),
                                             .height = (int32_t)fmax(1, rint(in->height * scale)),
                                             .channels = in->channels,
                                             .wide = in->wide });
    const pixel_range *const range = &self->arguments->range;
    const motley_batch src = batch_of(in, range), dst = batch_of(&out, range);
    motley_error error;
    want(motley_resize(self->context, &src, &dst, &(motley_resize_params){ .filter = filter }, &error), "resize",
         &error);
    return out;
}

static void put_picture(job *self, const picture *image, motley_filter filter, const char *attributes)
{
    picture small = thumbnail(self, image, filter);
    for (size_t i = 0; small.wide && i < picture_bytes(&small) / sizeof(uint16_t); i++)
        small.pixels[i] = picture_byte(&small, i, self->arguments->range.pair[1]);
    small.wide = false;
    page_picture(self->page, &small, attributes);
    picture_free(&small);
}

/* A mask as a picture to lay over its image: red where it is not 0, clear elsewhere. */
static void put_mask(job *self, const picture *mask)
{
    picture over = allocated((picture){ .width = mask->width, .height = mask->height, .channels = 4 });
    for (size_t i = 0; i < (size_t)mask->width * (size_t)mask->height; i++) {
        over.pixels[4 * i] = 255;
        over.pixels[4 * i + 1] = over.pixels[4 * i + 2] = 40;
        over.pixels[4 * i + 3] = mask->pixels[i] ? 110 : 0;
    }
    put_picture(self, &over, MOTLEY_FILTER_NEAREST, "class=\"mask\"");
    picture_free(&over);
}

static size_t boxes_count(const job *self, size_t i)
{
    return self->boxes[i] ? self->boxes[i]->count : 0;
}

/* Image i as sample `id` of a part; a policy that takes boxes gets those of the file, or the image's middle. */
static motley_samples sample_of(const job *self, const part *of, size_t i, uint64_t id)
{
    static size_t offsets[2];
    static float level;
    motley_samples samples = of->samples;
    samples.first = id;
    give_levels(&self->arguments->options, &samples, 1, &level);
    if (!self->arguments->boxes) {
        give_middle_boxes(&samples, 1, self->originals[i].image.width, self->originals[i].image.height);
        return samples;
    }
    offsets[1] = boxes_count(self, i);
    samples.boxes = self->boxes[i] ? self->boxes[i]->boxes : NULL;
    samples.box_offsets = offsets;
    return samples;
}

/* What a policy makes of a picture, which is image i or its mask. */
static picture applied(job *self, const motley_policy *policy, const part *of, const picture *in, size_t i, uint64_t id)
{
    const motley_apply_params params = { .samples = sample_of(self, of, i, id) };
    const picture out = allocated(made_by(policy, &params.samples, *in));
    const pixel_range *const range = &self->arguments->range;
    const motley_batch src = batch_of(in, range), dst = batch_of(&out, range);
    motley_error error;
    want(motley_apply(self->context, policy, &src, &dst, &params, &error), self->arguments->policy, &error);
    return out;
}

/* Makes sample `id` of part p, of image i or what the views share of it. */
static void make(job *self, size_t p, const result *from, size_t i, uint64_t id, result *made)
{
    const part *const of = &self->opened.part[p];
    const motley_samples samples = sample_of(self, of, i, id);
    motley_error error;
    made->of = of;
    want(part_draw(&self->opened, of, &samples, 1, self->originals[i].image, &made->place, made->steps, &made->count,
                   &error),
         self->arguments->policy, &error);
    made->image = applied(self, self->applied[p], of, &from->image, i, id);
    if (self->arguments->masks_count)
        made->mask = applied(self, self->followers[p], of, &from->mask, i, id);
}

static void free_pictures(result *made)
{
    picture_free(&made->image);
    picture_free(&made->mask);
}

static void begin_overlay(job *self, const picture *shown)
{
    fprintf(self->page, "<svg class=\"boxes\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\">", shown->width,
            shown->height);
}

/* Moves n boxes as a part did what was made of image i. */
static void follow(job *self, const result *made, size_t i, size_t n, double *boxes, uint8_t *keep)
{
    motley_error error;
    want(part_follow(&self->opened, made->of, self->originals[i].image, &made->place, made->steps, made->count, n,
                     boxes, NULL, keep, &error),
         self->arguments->boxes, &error);
}

/* Draws a box in the colour of its number, with its label. */
static void put_box(job *self, const image_boxes *boxes, size_t b, const double *at, int32_t height)
{
    fprintf(self->page, "<rect class=\"box%zu\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>",
            b % PAGE_BOX_COLOURS, at[0], at[1], at[2] - at[0], at[3] - at[1]);
    if (!boxes->labels)
        return;
    fprintf(self->page, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\">", at[0], at[1] + height / 12.0, height / 12.0);
    page_text(self->page, json_object_get_string(json_object_array_get_idx(boxes->labels, b)));
    fprintf(self->page, "</text>");
}

/* Draws the boxes of image i over it, or over what was made of it. */
static void put_boxes(job *self, const result *shown, size_t i)
{
    const size_t n = boxes_count(self, i);
    double *boxes = need(calloc(n + 1, 4 * sizeof *boxes));
    uint8_t *keep = need(calloc(n + 1, 1));
    memset(keep, 1, n);
    memcpy(boxes, self->boxes[i]->boxes, n * 4 * sizeof *boxes);
    if (shown->of && self->opened.shares)
        follow(self, &self->shared, i, n, boxes, keep);
    if (shown->of)
        follow(self, shown, i, n, boxes, keep);
    begin_overlay(self, &shown->image);
    for (size_t b = 0; b < n; b++)
        if (keep[b])
            put_box(self, self->boxes[i], b, &boxes[4 * b], shown->image.height);
    fprintf(self->page, "</svg>");
    free(keep);
    free(boxes);
}

/* Draws the boxes that a transform erases, in grey, because their values are not pixels. */
static void put_erased(job *self, const result *shown)
{
    begin_overlay(self, &shown->image);
    for (int32_t b = 0; b < shown->place.boxes_count; b++) {
        const motley_erased_box *box = &shown->place.boxes[b];
        fprintf(self->page, "<rect class=\"erased\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>", box->left,
                box->top, box->width, box->height);
    }
    fprintf(self->page, "</svg>");
}

/* Writes what sample `id` of image i drew, one line for each part of it. */
static void put_caption(job *self, const result *made, size_t i, uint64_t id)
{
    const part *const of = made->of;
    char *line = part_json(&self->opened, of, id, self->originals[i].image, &made->place, made->steps, made->count);
    struct json_object *const drawn = need(json_tokener_parse(line));
    free(line);
    if (of->view)
        fprintf(self->page, "<span class=\"step\">%s %d</span>", of->view, of->result);
    struct json_object *steps = need(json_object_object_get(drawn, "steps"));
    const size_t count = json_object_array_length(steps);
    if (self->opened.staged) {
        const motley_place *d = &made->place;
        fprintf(self->page, "<span class=\"step\">crop %dx%d at %d, %d</span>", d->crop.width, d->crop.height,
                d->crop.left, d->crop.top);
        if (d->flip_horizontal || d->flip_vertical)
            fprintf(self->page, "<span class=\"step\">flip%s%s</span>", d->flip_horizontal ? " horizontal" : "",
                    d->flip_vertical ? " vertical" : "");
    }
    for (size_t s = 0; s < count; s++) {
        char number[NUMBER_TEXT];
        struct json_object *step = json_object_array_get_idx(steps, s), *value = NULL;
        if (json_object_object_get_ex(step, "value", &value) && json_object_is_type(value, json_type_array))
            value = json_object_array_get_idx(value, 0);
        fprintf(self->page, "<span class=\"step\">%s%s%s</span>",
                json_object_get_string(json_object_object_get(step, "op")), value ? " " : "",
                value ? short_number(json_object_get_double(value), number) : "");
    }
    if (self->opened.staged && made->place.boxes_count)
        fprintf(self->page, "<span class=\"step\">erase %d</span>", made->place.boxes_count);
    else if (!self->opened.staged && count == 0)
        fprintf(self->page, "nothing");
    json_object_put(drawn);
}

/* One cell of the contact sheet: image i unchanged, or what a part made of it as sample `id`. */
static void put_cell(job *self, const result *shown, size_t i, uint64_t id)
{
    fprintf(self->page, "<figure><div class=\"frame\">");
    put_picture(self, &shown->image, MOTLEY_FILTER_BILINEAR, "");
    if (self->arguments->masks_count)
        put_mask(self, &shown->mask);
    if (shown->place.boxes_count)
        put_erased(self, shown);
    if (boxes_count(self, i))
        put_boxes(self, shown, i);
    fprintf(self->page, "</div><figcaption>");
    if (shown->of)
        put_caption(self, shown, i, id);
    else
        fprintf(self->page, "unchanged");
    fprintf(self->page, "</figcaption></figure>\n");
}

/* The cells of sample `id` of image i. */
static void put_sample(job *self, size_t i, uint64_t id)
{
    const result *from = &self->originals[i];
    if (self->opened.shares) {
        make(self, 0, from, i, id, &self->shared);
        from = &self->shared;
    }
    for (size_t p = self->opened.shares; p < self->opened.count; p++) {
        make(self, p, from, i, id, &self->made);
        put_cell(self, &self->made, i, id);
        free_pictures(&self->made);
    }
    free_pictures(&self->shared);
}

static void put_sheet(job *self)
{
    fprintf(self->page, "<h2>Images</h2>\n");
    for (size_t i = 0; i < self->arguments->count; i++) {
        fprintf(self->page, "<section class=\"row\">");
        put_cell(self, &self->originals[i], i, 0);
        for (size_t k = 0; k < self->arguments->variants; k++)
            put_sample(self, i, i * self->arguments->variants + k);
        fprintf(self->page, "</section>\n");
    }
}

/* ---- the level ---- */

/* The images as the same samples at one level. False after a message. */
static bool put_stop(job *self, double level, bool hidden)
{
    struct json_object *const change = need(json_object_new_object());
    json_object_object_add(change, "level", number_json(level));
    motley_policy *const policy = changed_policy(policy_label(self->arguments->policy), self->opened.whole, change);
    json_object_put(change);
    if (!policy)
        return false;
    char number[NUMBER_TEXT];
    fprintf(self->page, "<section class=\"row stop\" data-level=\"%s\"%s>", short_number(level, number),
            hidden ? " hidden" : "");
    for (size_t i = 0; i < self->arguments->count && i < SLIDER_SAMPLES; i++) {
        picture image =
            applied(self, policy, self->opened.part, &self->originals[i].image, i, i * self->arguments->variants);
        fprintf(self->page, "<figure><div class=\"frame\">");
        put_picture(self, &image, MOTLEY_FILTER_BILINEAR, "");
        fprintf(self->page, "</div></figure>");
        picture_free(&image);
    }
    fprintf(self->page, "</section>\n");
    motley_policy_destroy(policy);
    return true;
}

/* The slider: the same samples at levels from 0 to the top, in bins whole ones. A policy without a scale has none.
 * False after a message. */
static bool put_slider(job *self)
{
    char *json = NULL;
    motley_error error;
    if (self->opened.staged)
        return true;
    if (!accepted(motley_policy_print(self->opened.whole, MOTLEY_PRINT_VALUES, &json, &error), self->arguments->policy,
                  &error))
        return false;
    struct json_object *const described = need(json_tokener_parse(json));
    free(json);
    const double top = json_object_get_double(json_object_object_get(described, "top"));
    const int bins = json_object_get_int(json_object_object_get(described, "bins"));
    json_object_put(described);
    if (!(top > 0))
        return true;
    const int last = bins && bins < MOST_STOPS ? bins - 1 : MOST_STOPS - 1;
    fprintf(self->page,
            "<h2>Level</h2>\n<p>The same draws at every level of the policy's scale.</p>\n"
            "<input id=\"level\" type=\"range\" min=\"0\" max=\"%d\" value=\"%d\" aria-label=\"level\"> "
            "<output id=\"level-name\"></output>\n",
            last, last / 2);
    bool good = true;
    for (int stop = 0; good && stop <= last; stop++) {
        const double exact = top * stop / last;
        good = put_stop(self, top == floor(top) && top >= last ? rint(exact) : exact, stop != last / 2);
    }
    return good;
}

/* ---- frequencies and magnitudes ---- */

/* A histogram of the values that an op can get; a value counts once for each level that gives it. */
static void put_magnitudes(job *self, const op_summary *op)
{
    const size_t count = op->values ? json_object_array_length(op->values) : 0;
    int bars[BARS] = { 0 }, most = 0;
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++)
            for (int sign = 0; sign < 2; sign++) {
                struct json_object *value;
                if (!json_object_object_get_ex(json_object_array_get_idx(op->values, i), sign ? "minus" : "value",
                                               &value))
                    continue;
                const double v = json_object_get_double(value);
                low = pass ? low : fmin(low, v);
                high = pass ? high : fmax(high, v);
                const int bar = high > low ? (int)fmin(BARS - 1, (v - low) / (high - low) * BARS) : BARS / 2;
                most = pass && ++bars[bar] > most ? bars[bar] : most;
            }
    fprintf(self->page, "<svg class=\"magnitudes\" viewBox=\"0 0 %d 10\" preserveAspectRatio=\"none\">", BARS);
    for (int b = 0; b < BARS && most; b++)
        fprintf(self->page, "<rect x=\"%d.1\" y=\"%.2f\" width=\"0.8\" height=\"%.2f\"/>", b,
                10 - 10.0 * bars[b] / most, 10.0 * bars[b] / most);
    fprintf(self->page, "</svg>");
}

/* Counts what a part draws, and writes it as a table. False after a message. */
static bool put_frequencies(job *self, const part *of)
{
    const arguments *a = self->arguments;
    const picture *const first = &self->originals[0].image;
    const counting_options counting = { a->samples, first->width, first->height, false };
    op_summary *summary = summarise(a->policy, &self->opened, of, &a->options, &counting);
    double most = 0;
    if (!summary)
        return false;
    for (int i = 0; i < summary_rows(); i++)
        most = fmax(most, summary[i].per_image);
    if (of->view)
        fprintf(self->page, "<h3>%s</h3>\n", *of->view ? of->view : "shared by the views");
    fprintf(self->page,
            "<table><tr><th>operation</th><th colspan=\"2\">per image</th><th colspan=\"2\">values</th></tr>\n");
    for (int i = 0; i < summary_rows(); i++) {
        if (!summary[i].used)
            continue;
        char text[VALUES_TEXT];
        fprintf(self->page,
                "<tr><td>%s</td><td class=\"number\">%.3f</td><td><div class=\"bar\" "
                "style=\"width:%.1f%%\"></div></td><td>%s</td><td>",
                summary[i].name, summary[i].per_image, most > 0 ? 100 * summary[i].per_image / most : 0,
                values_text(&summary[i], text));
        put_magnitudes(self, &summary[i]);
        fprintf(self->page, "</td></tr>\n");
    }
    fprintf(self->page, "</table>\n");
    summary_free(summary);
    return true;
}

/* The table of each view; all results of one draw alike. */
static bool put_all_frequencies(job *self)
{
    fprintf(self->page,
            "<h2>Operations</h2>\n<p>How many times an image gets each, over %llu samples, and the values that it can "
            "get.</p>\n",
            (unsigned long long)self->arguments->samples);
    for (size_t p = 0; p < self->opened.count; p++)
        if ((p == 0 || self->opened.part[p].policy != self->opened.part[p - 1].policy) &&
            !put_frequencies(self, &self->opened.part[p]))
            return false;
    return true;
}

/* ---- the page ---- */

static bool write_page(job *self)
{
    const motley_policy_info *info = motley_policy_describe(self->opened.whole);
    motley_error error;
    char *text = NULL;
    page_begin(self->page, self->opened.staged && !*info->title ? info->name : info->title);
    fprintf(self->page, "<p class=\"paper\">");
    page_text(self->page, info->paper && *info->paper ? info->paper : "no paper is cited");
    fprintf(self->page, "</p>\n");
    put_sheet(self);
    if (!put_slider(self) || !put_all_frequencies(self) ||
        !accepted(motley_policy_print(self->opened.whole, MOTLEY_PRINT_TEXT, &text, &error), self->arguments->policy,
                  &error))
        return false;
    fprintf(self->page, "<h2>%s</h2>\n<pre>", self->opened.staged ? "Transform" : "Policy");
    page_text(self->page, text);
    fprintf(self->page, "</pre>\n");
    page_end(self->page);
    free(text);
    return true;
}

/* Whether the page is not one of the inputs. */
static bool page_is_new(const arguments *a)
{
    clash_list *files = clash_list_create();
    clash_list_read(files, a->policy, "the policy");
    for (size_t i = 0; i < a->count; i++)
        clash_list_read(files, a->images[i], "an image to be read");
    for (size_t i = 0; i < a->masks_count; i++)
        clash_list_read(files, a->masks[i], "--mask");
    if (a->boxes)
        clash_list_read(files, a->boxes, "--boxes");
    clash_list_write(files, a->out, "--out");
    const bool good = clash_list_is_good(files);
    clash_list_destroy(files);
    return good;
}

/* Opens what is applied to images, and to masks. */
static bool open_applied(job *self)
{
    const arguments *a = self->arguments;
    motley_error error;
    if (!parts_open(a->policy, &a->options, &self->opened))
        return false;
    const size_t count = self->opened.count;
    self->applied = need(calloc(count, sizeof(motley_policy *)));
    self->followers = need(calloc(count, sizeof(motley_policy *)));
    motley_status status = MOTLEY_OK;
    for (size_t p = 0; status == MOTLEY_OK && p < count; p++) {
        const motley_policy *const policy = self->opened.part[p].policy;
        status = self->opened.staged ? motley_policy_pictures(policy, &self->applied[p], &error)
                                     : motley_policy_at(policy, 0, &self->applied[p], &error);
        if (status == MOTLEY_OK && (a->masks_count || a->boxes))
            status = motley_policy_follower(self->applied[p], NULL, &self->followers[p], &error);
    }
    return accepted(status, a->policy, &error);
}

/* Allocates the steps, as many as any of the images can draw. */
static void make_room(job *self)
{
    size_t boxes = 1;
    for (size_t i = 0; i < self->arguments->count; i++)
        boxes = boxes_count(self, i) > boxes ? boxes_count(self, i) : boxes;
    const size_t most = most_steps(self->opened.whole, boxes);
    self->made.steps = need(calloc(most + 1, sizeof *self->made.steps));
    self->shared.steps = need(calloc(most + 1, sizeof *self->shared.steps));
}

static bool run(job *self)
{
    const arguments *a = self->arguments;
    motley_error error;
    if (!page_is_new(a) || !open_applied(self) || !read_images(self) || !read_boxes(self))
        return false;
    make_room(self);
    const motley_context_params on_cpu = { .backend = MOTLEY_BACKEND_CPU };
    if (motley_context_create(&on_cpu, &self->context, &error) != MOTLEY_OK) {
        complain("%s", error.message);
        return false;
    }
    out_file file;
    if (!out_file_open(&file, a->out)) {
        complain("%s: %s", a->out, strerror(errno));
        return false;
    }
    self->page = file.stream;
    if (!write_page(self)) {
        out_file_discard(&file);
        return false;
    }
    if (!out_file_commit(&file)) {
        complain("%s: %s", a->out, strerror(errno));
        return false;
    }
    return true;
}

int cmd_preview(int argc, char **argv)
{
    arguments a = { .variants = 5, .cell_px = 200, .samples = 20000, .range = RANGE_DEFAULTS };
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    job self = { .arguments = &a };
    const bool good = run(&self);
    for (size_t i = 0; i < MOST_IMAGES; i++)
        free_pictures(&self.originals[i]);
    boxes_file_destroy(self.boxes_file);
    free(self.made.steps);
    free(self.shared.steps);
    for (size_t p = 0; p < self.opened.count; p++) {
        motley_policy_destroy(self.applied ? self.applied[p] : NULL);
        motley_policy_destroy(self.followers ? self.followers[p] : NULL);
    }
    free(self.applied);
    free(self.followers);
    parts_close(&self.opened);
    motley_context_destroy(self.context);
    policy_options_free(&a.options);
    return good ? 0 : EXIT_INPUT;
}
