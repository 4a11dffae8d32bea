/* SPDX-License-Identifier: Apache-2.0 */
/* Every op against tests/golden/<op>.golden: what Pillow made of small inputs, checked without Python. */
#include <motley.h>

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INPUTS 64
#define MAX_BYTES 4096

typedef struct input {
    int width, height, channels;
    size_t bytes;
    uint8_t samples[MAX_BYTES];
} input;

typedef struct golden_case {
    const input *in;
    motley_interpolation interpolation;
    double fill[4];
    int count;
    double values[MOTLEY_MAX_VALUES];
    uint8_t wanted[MAX_BYTES];
} golden_case;

typedef struct golden_file {
    FILE *file;
    const char *op;
    input inputs[MAX_INPUTS];
    int input_count;
} golden_file;

static bool read_samples(golden_file *g, uint8_t *samples, size_t bytes)
{
    return bytes <= MAX_BYTES && fgetc(g->file) == '\n' && fread(samples, 1, bytes, g->file) == bytes &&
           fgetc(g->file) == '\n';
}

static golden_file *open_golden(const char *op)
{
    char path[512];
    int version = 0;
    snprintf(path, sizeof path, "%s/%s.golden", GOLDEN_DIR, op);
    golden_file *g = calloc(1, sizeof *g);
    cr_assert(g);
    g->op = op;
    g->file = fopen(path, "rb");
    cr_assert(g->file, "%s is missing: run tests/golden/make.py for the new op", path);
    cr_assert(fscanf(g->file, "motley-golden %d\n%*[^\n]\n", &version) == 1 && version == 1, "%s: not a golden file",
              path);
    return g;
}

/* The next case, or false at the end. Inputs come before the cases that use them. */
static bool next_case(golden_file *g, golden_case *c)
{
    char word[8];
    int input_number, interpolation, fill[4];
    while (fscanf(g->file, "%7s", word) == 1) {
        if (strcmp(word, "input") == 0) {
            cr_assert_lt(g->input_count, MAX_INPUTS);
            input *in = &g->inputs[g->input_count++];
            cr_assert_eq(fscanf(g->file, "%d %d %d", &in->width, &in->height, &in->channels), 3);
            in->bytes = (size_t)in->width * (size_t)in->height * (size_t)in->channels;
            cr_assert(read_samples(g, in->samples, in->bytes), "%s: input %d is cut off or over %d bytes", g->op,
                      g->input_count - 1, MAX_BYTES);
            continue;
        }
        cr_assert_str_eq(word, "case");
        cr_assert_eq(fscanf(g->file, "%d %d %d %d %d %d %d", &input_number, &interpolation, &fill[0], &fill[1],
                            &fill[2], &fill[3], &c->count),
                     7);
        cr_assert(input_number >= 0 && input_number < g->input_count && c->count <= MOTLEY_MAX_VALUES);
        c->in = &g->inputs[input_number];
        c->interpolation = (motley_interpolation)interpolation;
        for (int i = 0; i < 4; i++)
            c->fill[i] = fill[i];
        for (int i = 0; i < c->count; i++)
            cr_assert_eq(fscanf(g->file, "%la", &c->values[i]), 1);
        cr_assert(read_samples(g, c->wanted, c->in->bytes), "%s: a case is cut off", g->op);
        return true;
    }
    return false;
}

/* Copies dense rows of pixels into `layout`, or back. */
static void lay_out(const input *in, motley_layout layout, const uint8_t *from, uint8_t *to, bool back)
{
    const int pixels = in->width * in->height;
    for (int i = 0; i < pixels; i++)
        for (int c = 0; c < in->channels; c++) {
            const int hwc = i * in->channels + c, there = layout == MOTLEY_CHW ? c * pixels + i : hwc;
            to[back ? hwc : there] = from[back ? there : hwc];
        }
}

static void check_case(motley_context *context, const golden_case *c, const char *op, motley_layout layout,
                       bool in_place)
{
    static uint8_t source[MAX_BYTES], target[MAX_BYTES], got[MAX_BYTES];
    motley_error error;
    lay_out(c->in, layout, c->in->samples, source, false);
    motley_batch src = { .count = 1,
                         .channels = c->in->channels,
                         .alpha = c->in->channels % 2 == 0,
                         .layout = layout,
                         .data = source,
                         .width = c->in->width,
                         .height = c->in->height };
    motley_batch dst = src;
    dst.data = in_place ? source : target;
    const motley_op_params params = { .interpolation = c->interpolation, .fill = c->fill };
    const motley_status status =
        motley_op_apply(context, motley_op_find(op), c->values, c->count, &src, &dst, &params, &error);
    cr_assert_eq(status, MOTLEY_OK, "%s: %s", op, error.message);
    lay_out(c->in, layout, dst.data, got, true);
    for (size_t i = 0; i < c->in->bytes; i++)
        cr_assert_eq(got[i], c->wanted[i],
                     "%s(%.17g ...), interpolation %d, %dx%d, %d channels, backend %d, layout %d, in place %d: sample "
                     "%zu is %d, Pillow gives %d",
                     op, c->count ? c->values[0] : 0.0, (int)c->interpolation, c->in->width, c->in->height,
                     c->in->channels, (int)motley_context_backend(context), (int)layout, in_place, i, got[i],
                     c->wanted[i]);
}

static void check_backend(motley_backend backend)
{
    motley_context *context;
    motley_error error;
    const motley_context_params params = { .backend = backend, .threads = 1 };
    cr_assert_eq(motley_context_create(&params, &context, &error), MOTLEY_OK, "%s", error.message);
    for (int op = 0; op < motley_op_count(); op++) {
        const char *name = motley_op_get(op)->name;
        golden_file *g = open_golden(name);
        golden_case c;
        int cases = 0;
        for (; next_case(g, &c); cases++)
            for (int way = 0; way < 4; way++)
                check_case(context, &c, name, way & 1 ? MOTLEY_CHW : MOTLEY_HWC, way & 2);
        cr_assert_gt(cases, 0, "%s.golden has no case", name);
        fclose(g->file);
        free(g);
    }
    motley_context_destroy(context);
}

Test(golden, reference)
{
    check_backend(MOTLEY_BACKEND_REFERENCE);
}

Test(golden, cpu)
{
    check_backend(MOTLEY_BACKEND_CPU);
}
