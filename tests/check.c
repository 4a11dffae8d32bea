/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix: every op on every set of CPU kernels, layout, number of channels, with and without alpha, size,
 * interpolation and value, in place and from src to dst, against the reference, and each set's copies. The reference
 * itself is compared with what it makes of each band as a grey image. One differing bit, or one byte written outside,
 * fails.
 *
 *     check [--op NAME] [--set NAME] [--case N] [--every N] [--coverage]
 *
 * A failure prints the command that repeats it. --every N checks one image and value in N, where code runs slowly.
 * --coverage lists the rows that nothing reached. */
#include "augmentations/table.h"
#include "kernels/cpu.h"
#include "tests/batches.h"
#include "tests/options.h"
#include "tests/sweep.h"

#include <inttypes.h>
#include <stdio.h>

#define SEED 20190924u
#define MAX_CASE_VALUES 26
#define MAX_ROWS 64

typedef struct pair {
    input_layout src, dst;
    int in_place;
} pair;

/* In place in every layout; from src to dst in every layout, and between some layouts of one class. */
static const pair pairs[] = {
    { INPUT_PACKED, INPUT_PACKED, 1 },
    { INPUT_PLANAR, INPUT_PLANAR, 1 },
    { INPUT_PACKED, INPUT_PACKED, 0 },
    { INPUT_PLANAR, INPUT_PLANAR, 0 },
    { INPUT_PADDED, INPUT_PADDED, 1 },
    { INPUT_UPWARDS, INPUT_UPWARDS, 1 },
    { INPUT_UPWARDS, INPUT_UNALIGNED, 0 },
    { INPUT_PADDED, INPUT_PACKED, 0 },
    { INPUT_UNALIGNED, INPUT_UPWARDS, 0 },
    { INPUT_PLANAR_PADDED, INPUT_PLANAR_PADDED, 1 },
    { INPUT_PLANAR_UPWARDS, INPUT_PLANAR, 0 },
    { INPUT_PLANAR, INPUT_PLANAR_UPWARDS, 0 },
    { INPUT_REVERSED, INPUT_REVERSED, 1 },
    { INPUT_WIDE, INPUT_PLANAR, 0 },
    { INPUT_TRANSPOSED, INPUT_WIDE, 0 },
    { INPUT_WIDE, INPUT_WIDE, 1 },
    { INPUT_WIDE, INPUT_WIDE, 0 },
};
#define PAIRS (sizeof pairs / sizeof pairs[0])
#define FIRST_PAIRS 4 /* the pairs that large images use, every other one */
#define TURNS 7       /* a value takes every seventh pair, the next value the ones after those */

static const mot_cpu_rows *sets[MOT_CPU_SETS];
static size_t sets_count;
static unsigned reached[MOT_CPU_SETS][MAX_ROWS];
static const char *only_set;
static int64_t only_case = -1;
static int64_t every = 1; /* 5: one subject in five */
static long subjects, cases, compared;

static mot_view view_of(const input_buffer *b, int alpha)
{
    return (mot_view){ b->image.data, b->image.width,      b->image.height,       b->channels,
                       alpha,         b->image.row_stride, b->image.pixel_stride, b->image.channel_stride };
}

static void no_memory(void)
{
    fprintf(stderr, "check: no memory\n");
    exit(2);
}

static void *room_of(size_t bytes)
{
    void *memory = aligned_alloc(MOT_CPU_ALIGN, (bytes + MOT_CPU_ALIGN - 1) / MOT_CPU_ALIGN * MOT_CPU_ALIGN);
    if (!memory)
        no_memory();
    return memory;
}

/* One op on one image with one value. Case numbers count subjects, sets and pairs. */
typedef struct subject {
    mot_step step;
    double values[MOTLEY_MAX_VALUES];
    input_size size;
    int channels, alpha;
    input_kind kind;
    const uint8_t *input, *wanted; /* dense */
} subject;

static void report(const subject *s, const mot_cpu_rows *set, const mot_cpu_row *row, const pair *p, const char *what,
                   size_t at, const input_buffer *b, const uint8_t *wanted)
{
    const motley_op_info *info = &mot_op_table[s->step.op].info;
    fprintf(stderr, "%s: %s, set %s, row \"%s\", %s to %s%s, %" PRId32 "x%" PRId32 "x%d%s, interpolation %d, kind %d, ",
            info->name, what, set->name, row->name, input_layout_names[p->src], input_layout_names[p->dst],
            p->in_place ? " in place" : "", s->size.width, s->size.height, s->channels, s->alpha ? " with alpha" : "",
            s->step.interpolation, s->kind);
    for (int i = 0; i < info->values_max; i++)
        fprintf(stderr, "%s%.17g", i ? "; " : "value ", s->values[i]);
    if (b) {
        fprintf(stderr, ", byte %zu is %d, want %d", at, b->bytes[at], wanted[at]);
        print_component(b, at);
    } else {
        fprintf(stderr, "\n");
    }
    fprintf(stderr, "  again: check --op %s --set %s --case %ld (seed %u)\n", info->name, set->name, cases, SEED);
    if (++failures >= 20) {
        fprintf(stderr, "check: stopped after %d failures\n", failures);
        exit(1);
    }
}

/* Compares a whole buffer, canaries included, with the expected one. */
static void compare(const subject *s, const mot_cpu_rows *set, const mot_cpu_row *row, const pair *p,
                    const input_buffer *b, const uint8_t *wanted, const char *what)
{
    if (memcmp(b->bytes, wanted, b->size) == 0)
        return;
    size_t at = 0;
    while (b->bytes[at] == wanted[at])
        at++;
    report(s, set, row, p, what, at, b, wanted);
}

static input_buffer need_buffer(const subject *s, input_layout layout)
{
    input_buffer b;
    if (!input_buffer_make(&b, layout, s->size, s->channels))
        no_memory();
    return b;
}

static void check_pair(const subject *s, size_t set, const pair *p)
{
    input_buffer src = need_buffer(s, p->src), expected = need_buffer(s, p->dst);
    input_buffer_set(&src, s->input);
    input_buffer_set(&expected, s->wanted);
    input_buffer dst = src;
    uint8_t *untouched = NULL;
    if (!p->in_place) {
        dst = need_buffer(s, p->dst);
        untouched = memcpy(room_of(src.size), src.bytes, src.size);
    }

    const mot_view from = view_of(&src, s->alpha), to = view_of(&dst, s->alpha);
    const mot_cpu_row *row = mot_cpu_find(sets[set], &s->step, &from, &to);
    if (row >= sets[set]->rows && row < sets[set]->rows + sets[set]->count)
        reached[set][row - sets[set]->rows]++;
    if (!p->in_place || row->in_place) {
        const size_t bytes = mot_cpu_scratch_bytes(s->size.width, s->size.height, s->channels);
        uint8_t *scratch = room_of(bytes + INPUT_CANARY);
        memset(scratch, 0x5A, bytes + INPUT_CANARY);
        row->run(&from, &to, &s->step, 1, scratch);
        compare(s, sets[set], row, p, &dst, expected.bytes, "wrong");
        if (!p->in_place)
            compare(s, sets[set], row, p, &src, untouched, "src changed");
        for (size_t i = 0; i < INPUT_CANARY; i++)
            if (scratch[bytes + i] != 0x5A) {
                report(s, sets[set], row, p, "wrote past its scratch", i, NULL, NULL);
                break;
            }
        free(scratch);
    }
    free(src.bytes);
    free(expected.bytes);
    if (!p->in_place)
        free(dst.bytes);
    free(untouched);
}

/* What the reference makes of s->input. Of bands, it is what it makes of each as a grey image. */
static void make_wanted(const subject *s, uint8_t *input, uint8_t *wanted)
{
    const int32_t channels = s->channels, bands = channels % 2 == 0 && !s->alpha ? channels : 1;
    const int64_t row = (int64_t)channels * s->size.width;
    uint8_t *scratch = room_of(mot_cpu_scratch_bytes(s->size.width, s->size.height, s->channels));
    for (int32_t b = 0; b < bands; b++) {
        const int32_t own = channels / bands;
        const mot_view from = { input + b, s->size.width, s->size.height, own, s->alpha, row, channels, 1 };
        const mot_view to = { wanted + b, s->size.width, s->size.height, own, s->alpha, row, channels, 1 };
        mot_step step = s->step;
        for (int32_t c = 0; c < own; c++)
            step.fill[c] = s->step.fill[b + c];
        mot_cpu_find(&mot_rows_reference, &step, &from, &to)->run(&from, &to, &step, 1, scratch);
    }
    free(scratch);
}

static void check_subject(subject *s, size_t turn, int large)
{
    const size_t pairs_count = large ? FIRST_PAIRS : PAIRS;
    const size_t bytes = (size_t)s->size.width * (size_t)s->size.height * (size_t)s->channels;
    uint8_t *input = room_of(bytes), *wanted = room_of(bytes);
    const int skipped = subjects++ % every != 0;
    int computed = 0;
    s->input = input;
    s->wanted = wanted;
    for (size_t set = 0; set < sets_count - (size_t)large; set++) /* the reference is the last */
        for (size_t p = turn % (large ? 2 : TURNS); p < pairs_count; p += large ? 2 : TURNS, cases++) {
            if (skipped || (only_case >= 0 && cases != only_case) ||
                (only_set && strcmp(only_set, sets[set]->name) != 0))
                continue;
            compared++;
            if (!computed++) {
                input_fill(s->kind, SEED + (uint64_t)s->kind, s->size, s->channels, input);
                make_wanted(s, input, wanted);
            }
            check_pair(s, set, &pairs[p]);
        }
    free(input);
    free(wanted);
}

static void check_op(int op)
{
    const motley_op_info *info = &mot_op_table[op].info;
    static const uint8_t fill[4] = { 125, 123, 114, 200 };
    const int interpolations = info->shape == MOTLEY_SHAPE_WARP ? 3 : 1;
    double values[MAX_CASE_VALUES][MOTLEY_MAX_VALUES];
    cases = 0;
    for (size_t size = 0; size < INPUT_SIZES; size++) {
        const int large = size >= INPUT_SMALL_SIZES, largest = size == INPUT_SIZES - 1;
        const int count = input_values(info, SEED + (uint64_t)op, largest ? 1 : large ? 4 : MAX_CASE_VALUES, values);
        for (int pixel = 0; pixel < 6; pixel++)
            for (int interpolation = 0; interpolation < interpolations; interpolation++)
                for (int v = 0; v < count; v++) {
                    static const int kinds_of_pixels[6][2] = { { 1, 0 }, { 2, 0 }, { 2, 1 },
                                                               { 3, 0 }, { 4, 0 }, { 4, 1 } };
                    const int channels = kinds_of_pixels[pixel][0], alpha = kinds_of_pixels[pixel][1];
                    if (largest && channels != 3)
                        continue;
                    /* The reference sums every box from scratch: a box far wider than the image takes long and tests
                     * nothing more.
                     */
                    if (info->shape == MOTLEY_SHAPE_BLUR && values[v][0] > 40 && input_sizes[size].width > 40)
                        continue;
                    const int kinds = info->values_max == 0 && !large ? INPUT_KINDS : 1;
                    for (int k = 0; k < kinds; k++) {
                        subject s = { .size = input_sizes[size], .channels = channels, .alpha = alpha };
                        s.kind = (input_kind)((k + v) % INPUT_KINDS);
                        memcpy(s.values, values[v], sizeof s.values);
                        mot_op_prepare(op, s.values, info->values_max, &s.step.arg);
                        s.step.op = op;
                        s.step.interpolation = (uint8_t)interpolation;
                        memcpy(s.step.fill, fill, sizeof fill);
                        check_subject(&s, (size_t)(v + k + pixel + interpolation), large);
                    }
                }
    }
}

/* Every set's copies between all layouts: the pixels, and no byte beside them. */
static void check_copies(size_t set)
{
    for (size_t size = 0; size < INPUT_SMALL_SIZES; size++)
        for (int channels = 1; channels <= 4; channels++)
            for (int layouts = 0; layouts < INPUT_LAYOUTS * INPUT_LAYOUTS; layouts++, compared++) {
                const input_size dims = input_sizes[size];
                const input_layout from = (input_layout)(layouts / INPUT_LAYOUTS);
                const input_layout to = (input_layout)(layouts % INPUT_LAYOUTS);
                uint8_t *dense = room_of((size_t)dims.width * (size_t)dims.height * (size_t)channels);
                input_buffer src, dst, expected;
                if (!input_buffer_make(&src, from, dims, channels) || !input_buffer_make(&dst, to, dims, channels) ||
                    !input_buffer_make(&expected, to, dims, channels))
                    no_memory();
                input_fill(INPUT_NOISE, SEED, dims, channels, dense);
                input_buffer_set(&src, dense);
                input_buffer_set(&expected, dense);
                const mot_view in = view_of(&src, 0), out = view_of(&dst, 0);
                sets[set]->copy(&in, &out);
                if (memcmp(dst.bytes, expected.bytes, dst.size) != 0) {
                    fprintf(stderr, "copy, set %s, %s to %s, %" PRId32 "x%" PRId32 "x%d: wrong\n", sets[set]->name,
                            input_layout_names[from], input_layout_names[to], dims.width, dims.height, channels);
                    failures++;
                }
                free(dense), free(src.bytes), free(dst.bytes), free(expected.bytes);
            }
}

int main(int argc, char **argv)
{
    const char *only_op = NULL;
    int64_t coverage = 0;
    const option_row options[] = {
        { "op", NULL, &only_op, "NAME" }, { "set", NULL, &only_set, "NAME" },    { "case", &only_case, NULL, "N" },
        { "every", &every, NULL, "N" },   { "coverage", &coverage, NULL, NULL },
    };
    read_options(argc, argv, options, sizeof options / sizeof *options);
    need(every > 0, "--every takes 1 or more");
    need(!only_op || motley_op_find(only_op) >= 0, "there is no such op");
    sets_count = mot_cpu_sets(sets);
    for (int op = 0; op < MOT_OP_COUNT; op++)
        if (!only_op || motley_op_find(only_op) == op)
            check_op(op);
    for (size_t set = 0; set < sets_count && !only_op; set++)
        check_copies(set);
    left_out((size_t)((subjects + every - 1) / every), (size_t)subjects, "images and values");
    if (coverage)
        for (size_t set = 0; set < sets_count; set++)
            for (size_t r = 0; r < sets[set]->count; r++)
                if (!reached[set][r])
                    printf("nothing reached: set %s, row %zu \"%s\"\n", sets[set]->name, r, sets[set]->rows[r].name);
    printf("%ld cases on %zu sets of kernels, %d failures\n", compared, sets_count, failures);
    return failures > 0;
}
