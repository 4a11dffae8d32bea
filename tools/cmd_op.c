/* SPDX-License-Identifier: Apache-2.0 */
/* motley op: applies one op to one image file. */
#include "tools/parts.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define PNG_EFFORT 6

typedef struct arguments {
    motley_context_params context;
    pixel_range range;
    motley_interpolation interpolation;
    uint8_t fill[4];
    const char *words[4]; /* NAME [VALUE] IN OUT */
    int count;
    double values[MOTLEY_MAX_VALUES];
    int values_count;
} arguments;

/* NAME IN OUT is NAME - IN OUT. */
static void end_of_words(arguments *self, struct argp_state *state)
{
    if (self->count < 3)
        argp_error(state, "want NAME [VALUE] IN OUT");
    if (self->count == 3) {
        self->words[3] = self->words[2];
        self->words[2] = self->words[1];
        self->words[1] = "-";
    }
    read_png_name(state, "OUT", self->words[3]);
    if (strcmp(self->words[1], "-") != 0)
        self->values_count = read_list(state, "VALUE", self->words[1], self->values, MOTLEY_MAX_VALUES);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *self = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &self->context;
        state->child_inputs[1] = &self->range;
        return 0;
    case 'i':
        self->interpolation = read_interpolation(state, arg, strlen(arg));
        return 0;
    case 'f':
        read_fill(state, arg, self->fill);
        return 0;
    case ARGP_KEY_ARG:
        if (self->count == 4)
            argp_error(state, "want NAME [VALUE] IN OUT, found also '%s'", arg);
        self->words[self->count++] = arg;
        return 0;
    case ARGP_KEY_END:
        end_of_words(self, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .parser = parse,
    .options =
        (const struct argp_option[]){ { "interpolation", 'i', "NAME", 0, "nearest (default), bilinear or bicubic", 0 },
                                      { "fill", 'f', "R,G,B", 0,
                                        "What comes in from outside the image, or what is painted: 1, 3 or 4 bytes; of "
                                        "16 bits, shares of the range",
                                        0 },
                                      { 0 } },
    .args_doc = "NAME [VALUE] IN OUT",
    .doc = "Applies one operation to one image file, JPEG, or PNG of 8 or 16 bits, and writes a PNG file.\v"
           "'motley ops' lists the names, and the unit and range of VALUE. Operations without a value take none, or "
           "'-'; several values have commas between them: cutout 60,100,80 has side, centre x and centre y.",
    .children = (const struct argp_child[]){ { &device_argp, 0, NULL, 0 }, { &range_argp, 0, NULL, 0 }, { 0 } },
};

/* What is applied to the image; `user` is the request. */
typedef struct request {
    motley_context *context;
    int op;
    const arguments *arguments;
    motley_op_params params;
} request;

static motley_status apply_op(void *user, const motley_batch *batch, motley_error *error)
{
    const request *r = user;
    return motley_op_apply(r->context, r->op, r->arguments->values, r->arguments->values_count, batch, batch,
                           &r->params, error);
}

static bool apply(const arguments *self, int op, picture *image)
{
    motley_context *context = NULL;
    motley_error error;
    const motley_image pixels = image_of(image);
    const uint8_t *const rgba = self->fill;
    const double unit = image->wide ? self->range.pair[1] / 255 : 1;
    const double fill[4] = { rint(rgba[0] * unit), rint(rgba[image->channels == 2 ? 3 : 1] * unit), /* 2: with alpha */
                             rint(rgba[2] * unit), rint(rgba[3] * unit) };
    motley_batch batch = batch_of(image, &self->range);
    batch.images = &pixels;
    motley_status status = motley_context_create(&self->context, &context, &error);
    request r = { context, op, self, { .interpolation = self->interpolation, .fill = fill } };
    if (status == MOTLEY_OK)
        status = work_on_device(context, &batch, apply_op, &r, &error);
    if (status != MOTLEY_OK)
        complain("%s", error.message);
    motley_context_destroy(context);
    return status == MOTLEY_OK;
}

/* "-9" is a value and not an option. With a blank before it, getopt takes it as a value, and strtod skips the blank. */
static void mark_negative_values(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (argv[i][0] == '-' && (isdigit((unsigned char)argv[i][1]) || argv[i][1] == '.') &&
            asprintf(&argv[i], " %s", argv[i]) < 0)
            need(NULL);
}

int cmd_op(int argc, char **argv)
{
    arguments self = { .context = { .backend = MOTLEY_BACKEND_CPU, .threads = 1 }, .range = RANGE_DEFAULTS };
    mark_negative_values(argc, argv);
    argp_parse(&argp, argc, argv, 0, NULL, &self);
    const char *name = self.words[0], *in = self.words[2], *out = self.words[3];
    const int op = motley_op_find(name);
    char why[PICTURE_WHY];
    picture image;
    if (op < 0) {
        complain("unknown operation '%s'; 'motley ops' lists them", name);
        return EXIT_INPUT;
    }
    if (!picture_read(in, &image, why)) {
        complain("%s: %s", in, why);
        return EXIT_INPUT;
    }
    bool good = apply(&self, op, &image);
    if (good && !picture_write(out, &image, PNG_EFFORT, why)) {
        complain("%s: %s", out, why);
        good = false;
    }
    picture_free(&image);
    return good ? 0 : EXIT_INPUT;
}
