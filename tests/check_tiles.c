/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's tile kernel (kernels/cuda/tile_kernel.cuh) against the CPU backend, with its threads run by tests/emulate:
 * every op, sequences of random ops and hues, and chains and filters, on every layout. One differing byte fails,
 * canaries and scratch memory included.
 *
 *     check_tiles [--op NAME] [--every N] [--turns N] [--first TURN]
 *
 * --every N tries one combination of op, channels, layouts and interpolation in N, and part of the blurs. */
#include "augmentations/hue.h"
#include "augmentations/table.h"
#include "dispatch/cuda/tiles.h"
#include "kernels/cpu.h"
#include "tests/batches.h"
#include "tests/emulate/calls.h"
#include "tests/options.h"
#include "tests/rooms.h"
#include "tests/sweep.h"

#include <stdio.h>

#define SEED 20181002u
#define MOST_IMAGES 24
#define MOST_STEPS 14
#define SEQUENCES 90

static int ctas = 3; /* that the device holds */

static motley_context *cpu, *gpu; /* `gpu` runs emulated kernels */
static int64_t every = 1;
static uint64_t combinations;
static long cases;

/* As what an output is written. */
static mot_output_as as_of(const motley_output *output)
{
    mot_output_as as = { .dtype = (int32_t)output->batch.dtype, .means = output->means, .stds = output->stds };
    memcpy(as.mean, output->mean, sizeof as.mean);
    memcpy(as.std, output->std, sizeof as.std);
    return as;
}

/* Runs a batch on the tiles route, on a device that holds `ctas` CTAs. */
static void run_tiles(const motley_batch *src, const motley_batch *dst, const motley_output *output, mot_step *steps,
                      const int32_t *step_count, int max_steps)
{
    const mot_job job = { .count = src->count,
                          .src = src,
                          .dst = dst,
                          .output = output ? &output->batch : NULL,
                          .as = output ? as_of(output) : (mot_output_as){ 0 },
                          .steps = steps,
                          .max_steps = (size_t)max_steps };
    motley_error error = { 0 };
    for (size_t i = 0; i < src->count; i++)
        for (int s = step_count[i]; s < max_steps; s++)
            steps[i * (size_t)max_steps + (size_t)s] =
                (mot_step){ .op = MOT_OP_NOTHING, .arg.flags = MOT_ARG_IDENTITY };
    emulated.chip.multiprocessors = ctas;
    emulated.chip.shared_per_sm = mot_tile_kernel_bytes() + 1024;
    need(emulated_run(NULL, &job, &error) == MOTLEY_OK, error.message);
}

/* Images of some sizes in one layout. */
typedef struct images {
    size_t count;
    input_buffer buffer[MOST_IMAGES];
    motley_image image[MOST_IMAGES];
} images;

static int has_alpha = 1; /* batches of 2 or 4 channels */

static motley_batch batch_of(size_t count, const motley_image *image, int channels)
{
    return (motley_batch){
        .count = count, .channels = channels, .alpha = has_alpha && (channels == 2 || channels == 4), .images = image
    };
}

static void add_image(images *b, input_layout layout, input_size size, int channels, uint64_t seed)
{
    need(b->count < MOST_IMAGES, "too many images");
    input_buffer *const buffer = &b->buffer[b->count];
    need(input_buffer_make(buffer, layout, size, channels), "no memory");
    buffer_fill(buffer, (input_kind)(seed % INPUT_KINDS), seed);
    b->image[b->count++] = buffer->image;
}

static images *copy_images(const images *from)
{
    images *const to = calloc(1, sizeof *to);
    need(to != NULL, "no memory");
    *to = *from;
    for (size_t i = 0; i < to->count; i++) {
        to->buffer[i].bytes = malloc(from->buffer[i].size);
        need(to->buffer[i].bytes != NULL, "no memory");
        memcpy(to->buffer[i].bytes, from->buffer[i].bytes, from->buffer[i].size);
        to->image[i].data = to->buffer[i].bytes + ((uint8_t *)from->image[i].data - from->buffer[i].bytes);
    }
    return to;
}

static void drop(images *b)
{
    for (size_t i = 0; b && i < b->count; i++)
        free(b->buffer[i].bytes);
    free(b);
}

static const char *name_of(int op)
{
    return op == MOTLEY_STEP_HUE ? "hue" : motley_op_get(op)->name;
}

static void same(const images *got, const images *wanted, const char *what, const mot_step *steps, int max_steps)
{
    for (size_t i = 0; i < got->count; i++) {
        cases++;
        const input_buffer *const g = &got->buffer[i], *const w = &wanted->buffer[i];
        const difference d = difference_of(g->bytes, w->bytes, g->size);
        if (d.bytes == 0)
            continue;
        fprintf(stderr, "%s: image %zu (%dx%d): %zu bytes differ, first %zu is %d, want %d:", what, i,
                (int)g->image.width, (int)g->image.height, d.bytes, d.first, g->bytes[d.first], w->bytes[d.first]);
        for (int s = 0; steps && s < max_steps; s++) {
            const mot_step *const step = &steps[i * (size_t)max_steps + (size_t)s];
            fprintf(stderr, " %s(%.9g)%s", name_of(step->op), step->value,
                    step->interpolation == 1   ? " bilinear"
                    : step->interpolation == 2 ? " bicubic"
                                               : "");
        }
        fprintf(stderr, "\n");
        if (++failures >= 20)
            exit(1);
    }
}

static const uint8_t fill[4] = { 125, 123, 114, 200 };
static const double op_fill[7] = { 125, 123, 114, 200, 125, 125, 125 };

static mot_step make_step(int op, const double *values, int interpolation)
{
    const motley_op_info *const info = motley_op_get(op);
    mot_step step = { .op = op, .value = values[0] };
    mot_op_prepare(op, values, info->values_max, &step.arg);
    if (info->shape == MOTLEY_SHAPE_WARP)
        step.interpolation = (uint8_t)interpolation;
    memcpy(step.fill, fill, sizeof fill);
    return step;
}

static const struct {
    input_layout src, dst;
} pairs[] = {
    { INPUT_PACKED, INPUT_PACKED },   { INPUT_PLANAR, INPUT_PLANAR },
    { INPUT_PACKED, INPUT_PLANAR },   { INPUT_PLANAR_PADDED, INPUT_UNALIGNED },
    { INPUT_UPWARDS, INPUT_UPWARDS }, { INPUT_REVERSED, INPUT_TRANSPOSED },
    { INPUT_PADDED, INPUT_WIDE },     { INPUT_UNALIGNED, INPUT_PACKED },
    { INPUT_PADDED, INPUT_PADDED },   { INPUT_PLANAR_PADDED, INPUT_PLANAR_PADDED },
};
#define PAIRS (sizeof pairs / sizeof pairs[0])

static const input_size sizes[] = { { 1, 1 },
                                    { 1, 5 },
                                    { 2, 3 },
                                    { 3, 3 },
                                    { 131, 2 },
                                    { 33, 35 },
                                    { 257, 3 },
                                    { 65, 66 },
                                    { 16, 16 },
                                    { 128, 7 },
                                    /* of several tiles: bands of rows, blocks, and a column */
                                    { 301, 70 },
                                    { 530, 41 },
                                    { 1, 1100 },
                                    { 64, 131 } };
#define SIZES (sizeof sizes / sizeof sizes[0])

/* One step by the CPU, or a copy; NULL: nothing but a copy. */
static void run_cpu(const mot_step *step, const double *values, const motley_batch *in, const motley_batch *to)
{
    const bool hue = step && step->op == MOTLEY_STEP_HUE;
    const int op = step && !hue ? step->op : motley_op_find("identity");
    motley_error error;
    const motley_op_params params = { .interpolation = step ? step->interpolation : 0, .fill = op_fill };
    if (motley_op_apply(cpu, op, values, motley_op_get(op)->values_max, in, to, &params, &error))
        need(0, error.message);
    const mot_view result = mot_batch_view(to, 0);
    if (hue && to->channels >= 3)
        mot_rows_reference.hue(&result, mot_hue_value(step->value));
}

/* A batch in which image i has steps[i]: in place, or from src to dst when the layouts differ. The CPU runs one step
 * after the other, each as a separate call. */
static void check_batch(const images *src, const images *dst, int channels, mot_step *steps, int32_t *counts,
                        int max_steps, double (*values)[MOTLEY_MAX_VALUES], const char *what)
{
    images *const wanted = copy_images(dst ? dst : src), *const from = copy_images(src),
                  *const got = copy_images(dst ? dst : src);
    for (size_t i = 0; i < src->count; i++) {
        const motley_batch to = batch_of(1, &wanted->image[i], channels);
        motley_batch in = batch_of(1, dst ? &from->image[i] : &wanted->image[i], channels);
        const int n = counts[i];
        for (int s = 0; s < n || (s == 0 && dst); s++) {
            const size_t at = i * (size_t)max_steps + (size_t)s;
            run_cpu(s < n ? &steps[at] : NULL, values[at], &in, &to);
            in = to;
        }
    }
    motley_batch in = batch_of(got->count, dst ? from->image : got->image, channels);
    motley_batch to = batch_of(got->count, got->image, channels);
    run_tiles(&in, &to, NULL, steps, counts, max_steps);
    same(got, wanted, what, steps, max_steps);
    if (dst)
        same(from, src, "src", NULL, 0);
    drop(wanted);
    drop(from);
    drop(got);
}

static void check_op(int op)
{
    const motley_op_info *const info = motley_op_get(op);
    enum { EACH = 7, MATRICES = 18 };
    double some[MATRICES][MOTLEY_MAX_VALUES] = { { 0 } };
    const int tried = input_values(info, SEED + (uint64_t)op, info->values_min == 6 ? MATRICES : EACH, some);
    const int interpolations = info->shape == MOTLEY_SHAPE_WARP ? 3 : 1;
    for (int channels = 1; channels <= 4; channels++)
        for (size_t pair = 0; pair < PAIRS; pair++)
            for (int how = 0; how < interpolations; how++) {
                if (combinations++ % (uint64_t)every != 0)
                    continue;
                const int in_place = pairs[pair].src == pairs[pair].dst;
                images *const src = calloc(1, sizeof *src), *const dst = calloc(1, sizeof *dst);
                mot_step steps[MOST_IMAGES];
                int32_t counts[MOST_IMAGES];
                double values[MOST_IMAGES][MOTLEY_MAX_VALUES] = { { 0 } };
                need(src && dst, "no memory");
                for (int v = 0; v < tried || v < 5; v++) {
                    const input_size size = sizes[(size_t)(v + 3 * how + channels + (int)pair) % SIZES];
                    add_image(src, pairs[pair].src, size, channels, SEED + (uint64_t)v);
                    if (!in_place)
                        add_image(dst, pairs[pair].dst, size, channels, 0);
                    memcpy(values[v], some[v % tried], sizeof values[v]);
                    steps[v] = make_step(op, values[v], how);
                    counts[v] = 1;
                }
                char what[100];
                snprintf(what, sizeof what, "%s, %d channels, %s to %s", info->name, channels,
                         input_layout_names[pairs[pair].src], input_layout_names[pairs[pair].dst]);
                emulate_backwards = (int)((pair + (size_t)how) & 1);
                ctas = 1 + (int)((pair + (size_t)channels) % 4);
                check_batch(src, in_place ? NULL : dst, channels, steps, counts, 1, values, what);
                drop(src);
                drop(dst);
            }
}

/* Lines longer than a CTA holds, so that it blurs them in segments; and one whose positions are sums along it. */
static void check_long_lines(void)
{
    static const input_size size = { 17001, 2 };
    static const double tried[][MOTLEY_MAX_VALUES] = { { 0.7 }, { 40 }, { 1000 }, { 0.7, 40000, -20000, 1e-5, 1, 0 } };
    const int blur = motley_op_find("gaussian_blur"), affine = motley_op_find("affine");
    images *const src = calloc(1, sizeof *src);
    double values[4][MOTLEY_MAX_VALUES];
    mot_step steps[4];
    int32_t counts[4] = { 1, 1, 1, 1 };
    need(src != NULL, "no memory");
    memcpy(values, tried, sizeof values);
    for (size_t i = 0; i < 4; i++) {
        add_image(src, INPUT_PACKED, size, 3, INPUT_KINDS * i);
        steps[i] = make_step(i < 3 ? blur : affine, tried[i], 0);
    }
    check_batch(src, NULL, 3, steps, counts, 1, values, "long lines");
    drop(src);
}

/* Blurs with every radius that runs in the tile, and one more, before and after ops that need the tile or other tiles.
 */
static void check_blurs(void)
{
    static const input_size tried[] = { { 301, 70 }, { 64, 131 }, { 35, 33 }, { 128, 310 },
                                        { 5, 400 },  { 9, 46 },   { 7, 12 },  { 21, 8 } };
    static const int channels[] = { 3, 1, 3, 4, 3 }; /* by the other op */
    static const double radii[] = { 0.5, 1.5, 2, 2.9, 3.4, 3.6 };
    static const struct {
        const char *name;
        double value;
    } others[] = { { "invert", 0 }, { "equalize", 0 }, { "rotate", 20 }, { "sharpness", 1.5 }, { "cutout", 20 } };
    const int blur = motley_op_find("gaussian_blur");
    const size_t next = every > 1 ? 2 : 1;
    for (size_t o = 0; o < sizeof others / sizeof others[0]; o += next)
        for (int first = 0; first < 2; first++) {
            images *const src = calloc(1, sizeof *src);
            mot_step steps[2 * MOST_IMAGES];
            int32_t counts[MOST_IMAGES];
            double values[2 * MOST_IMAGES][MOTLEY_MAX_VALUES] = { { 0 } };
            need(src != NULL, "no memory");
            for (size_t i = 0; i < 12; i++) {
                const size_t own = 2 * i + (size_t)first, other = 2 * i + (size_t)!first;
                add_image(src, INPUT_PACKED, tried[(i + o) % 8], channels[o], SEED + i);
                values[own][0] = radii[i % 6];
                values[other][0] = others[o].value;
                steps[own] = make_step(blur, values[own], 0);
                steps[other] = make_step(motley_op_find(others[o].name), values[other], 0);
                counts[i] = 2;
            }
            emulate_backwards = first;
            ctas = 4;
            check_batch(src, NULL, channels[o], steps, counts, 2, values, "blurs");
            drop(src);
        }
}

/* Halved tiles cover the image, and are at most twice as many as before. */
static void check_halves(void)
{
    static const int widths[] = { 1, 31, 224, 333, 512, 513, 2048 };
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (int height = 1; height < 2100; height++) {
            const mot_tile_cut tiles = mot_cut_tiles(widths[w], height, MOT_TILE_WORDS);
            mot_tile_cut halves = tiles;
            mot_halve_tiles(&halves, height);
            cases++;
            if (halves.across == tiles.across && halves.width == tiles.width && halves.height > 0 &&
                halves.height <= tiles.height && (tiles.height < 16 || halves.height < tiles.height) &&
                halves.down <= 2 * tiles.down && halves.down * halves.height >= height &&
                (halves.down - 1) * halves.height < height)
                continue;
            fprintf(stderr, "%dx%d: %d tiles of %d rows are halved to %d of %d\n", widths[w], height, tiles.down,
                    tiles.height, halves.down, halves.height);
            failures++;
        }
}

/* Programs so expensive that their tiles are halved, if the device holds as many CTAs. */
static void check_expensive(void)
{
    static const input_size tried[] = { { 224, 64 }, { 96, 131 }, { 301, 33 }, { 40, 7 }, { 224, 70 }, { 5, 400 } };
    static const struct {
        const char *name;
        double value;
    } others[] = { { "equalize", 0 }, { "sharpness", 1.5 }, { "gaussian_blur", 1.5 }, { "contrast", 0.5 } };
    enum { N = 12, STEPS = 4 };
    for (size_t o = 0; o < sizeof others / sizeof others[0]; o++) {
        const size_t n = o == 0 ? 1 : N; /* alone, an image has low tiles, which are not halved */
        images *const src = calloc(1, sizeof *src);
        mot_step steps[N * STEPS];
        int32_t counts[N];
        double values[N * STEPS][MOTLEY_MAX_VALUES] = { { 0 } };
        need(src != NULL, "no memory");
        for (size_t i = 0; i < n; i++) {
            add_image(src, INPUT_PACKED, tried[i % 6], 3, SEED + i);
            for (size_t s = 0; s < STEPS; s++) {
                const size_t at = STEPS * i + s;
                const int warps = s != (o + i) % STEPS;
                values[at][0] = warps ? 10 + 7 * (double)s : others[o].value;
                steps[at] = make_step(motley_op_find(warps ? "rotate" : others[o].name), values[at], warps ? 2 : 0);
            }
            counts[i] = STEPS;
        }
        emulate_backwards = (int)(o & 1);
        ctas = 4;
        check_batch(src, NULL, 3, steps, counts, STEPS, values, "expensive programs");
        drop(src);
    }
}

/* Few images of several sizes: each has as many CTAs as the largest one needs. Smaller images, and those that change
 * by a table only, leave some of them without work; images that stay as they are leave all. */
static void check_own_tiles(void)
{
    static const input_size tried[] = { { 224, 12 }, { 40, 30 }, { 16, 16 } };
    static const char *const names[] = { "equalize", "invert", "sharpness" };
    enum { N = 3, STEPS = 2 };
    for (int still = 0; still <= N; still++) /* the image that stays as it is; N: none */
        for (int turn = 0; turn < 6; turn++) {
            images *const src = calloc(1, sizeof *src);
            mot_step steps[N * STEPS];
            int32_t counts[N];
            double values[N * STEPS][MOTLEY_MAX_VALUES] = { { 0 } };
            need(src != NULL, "no memory");
            for (int i = 0; i < N; i++) {
                add_image(src, INPUT_PACKED, tried[i], 3, SEED + (uint64_t)i);
                for (int s = 0; s < STEPS; s++) {
                    const int at = STEPS * i + s;
                    values[at][0] = 1.5;
                    steps[at] = make_step(motley_op_find(names[(i + s + turn) % 3]), values[at], 0);
                }
                counts[i] = i == still ? 0 : 1 + turn / 3;
                for (int s = counts[i]; s < STEPS; s++)
                    steps[STEPS * i + s].arg.flags |= MOT_ARG_IDENTITY;
            }
            emulate_backwards = turn & 1;
            ctas = 9;
            check_batch(src, NULL, 3, steps, counts, STEPS, values, "CTAs of one image each");
            drop(src);
        }
}

/* Tiles of each size cover the image, and are no larger than asked for unless they have four rows. */
static void check_cuts(void)
{
    static const int widths[] = { 1, 31, 224, 333, 512, 513, 2048 };
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (int height = 1; height < 1200; height += 1 + height / 64)
            for (int words = MOT_TILE_LEAST; words <= MOT_TILE_WORDS; words += MOT_TILE_STEP) {
                const mot_tile_cut cut = mot_cut_tiles(widths[w], height, words);
                const int pitch = mot_tile_pitch(cut.across > 1 ? cut.width + 8 : cut.width);
                cases++;
                if (cut.across * cut.width >= widths[w] && cut.down * cut.height >= height &&
                    (cut.down - 1) * cut.height < height && (pitch * cut.height <= words || cut.height <= 4))
                    continue;
                fprintf(stderr, "%dx%d: %d tiles of %d rows for %d words\n", widths[w], height, cut.down, cut.height,
                        words);
                failures++;
            }
}

/* Few images get low tiles, which do not outnumber the CTAs; then a CTA has one each, without lists. */
static void check_few(void)
{
    static const struct {
        size_t count;
        int rows, each;
    } wanted[] = { { 1, 4, 56 }, { 16, 8, 28 }, { 32, 16, 14 }, { 64, 28, 0 }, { 256, 32, 0 } };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const motley_batch src = { .count = wanted[i].count, .channels = 3, .width = 224, .height = 224 };
        const mot_job job = { .count = src.count, .src = &src, .dst = &src, .max_steps = 2 };
        const mot_tiles_plan plan = mot_tiles_plan_of(&job, MOT_FORMAT_RGB, 528);
        const mot_tile_cut cut = mot_cut_tiles(src.width, src.height, plan.job.tile_words);
        cases++;
        if (cut.height == wanted[i].rows && plan.job.ctas_per_image == wanted[i].each &&
            (plan.job.ctas_per_image == 0 || plan.job.most_tasks == (int64_t)src.count * plan.job.ctas_per_image))
            continue;
        fprintf(stderr, "%zu images of 224x224: tiles of %d rows, %d CTAs for each image\n", src.count, cut.height,
                plan.job.ctas_per_image);
        failures++;
    }
}

/* A graph may capture a smaller batch than the one that the context's memory was taken for. */
static void check_memory(void)
{
    static const int sides[] = { 64, 128, 224, 299, 512, 1024 };
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        int64_t before = 0;
        for (size_t count = 1; count <= 600; count++) {
            const motley_batch src = { .count = count, .channels = 3, .width = sides[i], .height = sides[i] };
            const mot_job job = { .count = count, .src = &src, .dst = &src, .max_steps = 1 };
            mot_tiles_plan plan = mot_tiles_plan_of(&job, MOT_FORMAT_RGB, 528);
            mot_arena slot = { 0 }, scratch = { 0 };
            mot_tiles_lay_out(&plan, &slot, &scratch);
            const int64_t bytes = (int64_t)(slot.bytes + scratch.bytes);
            cases++;
            if (bytes < before) {
                fprintf(stderr, "%zu images of %dx%d need %lld bytes, one less %lld\n", count, sides[i], sides[i],
                        (long long)bytes, (long long)before);
                failures++;
            }
            before = bytes;
        }
    }
}

/* More images than are worked on at a time. */
static void check_many(void)
{
    enum { N = MOT_TILES_IMAGES + 3, BYTES = 5 * 4 * 3 };
    uint8_t *const pixels = malloc(N * BYTES), *const wanted = malloc(N * BYTES);
    mot_step *const steps = calloc(N, sizeof *steps);
    int32_t *const counts = calloc(N, sizeof *counts);
    double *const values = calloc(N, sizeof *values);
    uint64_t random = SEED;
    const int op = motley_op_find("rotate");
    need(pixels && wanted && steps && counts && values, "no memory");
    for (size_t i = 0; i < N * BYTES; i++)
        pixels[i] = wanted[i] = (uint8_t)input_random(&random);
    for (size_t i = 0; i < N; i++) {
        values[i] = (double)i;
        steps[i] = make_step(op, &values[i], 0);
        counts[i] = 1;
    }
    motley_batch batch = { .count = N, .channels = 3, .data = wanted, .width = 5, .height = 4 };
    motley_error error;
    const motley_op_params params = { .fill = op_fill };
    if (motley_op_apply(cpu, op, values, 1, &batch, &batch, &params, &error))
        need(0, error.message);
    batch.data = pixels;
    run_tiles(&batch, &batch, NULL, steps, counts, 1);
    cases += N;
    if (memcmp(pixels, wanted, N * BYTES) != 0) {
        fprintf(stderr, "%d images differ\n", N);
        failures++;
    }
    free(pixels);
    free(wanted);
    free(steps);
    free(counts);
    free(values);
}

/* Warps along one axis that interpolate, by distances with few bits, as policies draw them, leave few pixels to
 * binary64: at most one of 50. */
static void check_binary64(void)
{
    static const char *const names[] = { "shear_x", "shear_y", "translate_x", "translate_y" };
    enum { SIDE = 224, EACH = 6, FLOORS = 5 };
    uint64_t random = SEED;
    for (int n = 0; n < 8; n++) {
        images *const src = calloc(1, sizeof *src);
        mot_step steps[EACH];
        int32_t counts[EACH];
        double values[EACH][MOTLEY_MAX_VALUES] = { { 0 } };
        need(src != NULL, "no memory");
        for (int v = 0; v < EACH; v++) {
            const float part = (float)(input_random(&random) >> 40) * 0x1p-24f;
            values[v][0] = n / 2 < 2 ? 0.3f * part : 100 * part;
            add_image(src, INPUT_PACKED, (input_size){ SIDE, SIDE }, 3, SEED + (uint64_t)v);
            steps[v] = make_step(motley_op_find(names[n / 2]), values[v], 1 + n % 2);
            counts[v] = 1;
        }
        emulate_floors = 0;
        check_batch(src, NULL, 3, steps, counts, 1, values, names[n / 2]);
        if (emulate_floors > FLOORS * EACH * SIDE * SIDE / 50) {
            fprintf(stderr, "%s: %lu of %d pixels in binary64\n", names[n / 2], emulate_floors / FLOORS,
                    EACH * SIDE * SIDE);
            failures++;
        }
        drop(src);
    }
}

/* Sequences: up to MOST_STEPS random ops, so that chains overflow, statistics follow each other, and so on. */
static void check_sequences(uint64_t turn)
{
    uint64_t random = SEED + turn;
    const int channels = turn % 9 == 4 ? 5 + (int)(turn / 9 % 3) : 1 + (int)(input_random(&random) % 4);
    has_alpha = (int)(turn % 3 > 0);
    const size_t pair = input_random(&random) % PAIRS;
    const int in_place = pairs[pair].src == pairs[pair].dst;
    const int max_steps = 1 + (int)(input_random(&random) % MOST_STEPS);
    images *const src = calloc(1, sizeof *src), *const dst = calloc(1, sizeof *dst);
    mot_step *const steps = calloc((size_t)MOST_IMAGES * MOST_STEPS, sizeof *steps);
    double(*const values)[MOTLEY_MAX_VALUES] = calloc((size_t)MOST_IMAGES * MOST_STEPS, sizeof *values);
    int32_t counts[MOST_IMAGES];
    need(src && dst && steps && values, "no memory");
    const int n = 1 + (int)(input_random(&random) % 6);
    for (int i = 0; i < n; i++) {
        const input_size size = sizes[input_random(&random) % SIZES];
        add_image(src, pairs[pair].src, size, channels, input_random(&random));
        if (!in_place)
            add_image(dst, pairs[pair].dst, size, channels, 0);
        counts[i] = i == 0 ? max_steps : (int32_t)(input_random(&random) % ((uint64_t)max_steps + 1));
        const int favoured = (int)(input_random(&random) % 3); /* among them many ops of few shapes */
        for (int s = 0; s < max_steps; s++) {
            int op;
            do
                op = (int)(input_random(&random) % (uint64_t)motley_op_count());
            while (motley_op_get(op)->shape == MOTLEY_SHAPE_FILTER ||
                   (favoured == 1 && motley_op_get(op)->shape == MOTLEY_SHAPE_WARP) ||
                   (favoured == 2 && motley_op_get(op)->shape >= MOTLEY_SHAPE_WARP &&
                    motley_op_get(op)->shape != MOTLEY_SHAPE_ERASE));
            double some[12][MOTLEY_MAX_VALUES];
            const int tried = input_values(motley_op_get(op), input_random(&random), 12, some);
            const size_t at = (size_t)(i * max_steps + s);
            memcpy(values[at], some[input_random(&random) % (uint64_t)tried], sizeof values[at]);
            steps[at] = make_step(op, values[at], (int)(input_random(&random) % 3));
            if (input_random(&random) % 8 == 0)
                steps[at] = (mot_step){ .op = MOTLEY_STEP_HUE, .value = input_between(&random, -0.5, 0.5) };
        }
    }
    char what[100];
    snprintf(what, sizeof what, "turn %d, %d channels, %s to %s", (int)turn, channels,
             input_layout_names[pairs[pair].src], input_layout_names[pairs[pair].dst]);
    emulate_backwards = (int)(turn & 1);
    ctas = 1 + (int)(turn / 2 % 5 * (turn / 2 % 5)) / 2; /* 1 to 9 */
    check_batch(src, in_place ? NULL : dst, channels, steps, counts, max_steps, values, what);
    drop(src);
    drop(dst);
    free(steps);
    free(values);
}

/* The fused last step after sequences: src, dst and output in memory of their own, or in the same, as far as apply.h
 * allows it. */
static void check_output(motley_dtype dtype, uint64_t turn)
{
    uint64_t random = SEED + 77 * turn;
    enum { N = 4, STEPS = 3 };
    const int channels = turn % 6 == 5 ? 5 + (int)(turn / 6 % 3) : 1 + (int)(input_random(&random) % 4),
              alpha = channels % 2 == 0 && channels < 5 && turn % 3 > 0;
    static const float means[] = { 0.485f, 0.456f, 0.406f, 0.5f, 0.5f, 0.5f, 0.4f },
                       stds[] = { 0.229f, 0.224f, 0, 1, 1, 1, 1 };
    const input_size size = sizes[input_random(&random) % SIZES];
    enum { NO_DST, DST_IS_SRC, DST } where = (int)(input_random(&random) % 3);
    enum { APART, ON_SRC, ON_DST } alias = dtype == MOTLEY_U8 ? (int)(turn / 4 % 3) : APART; /* the same pixels */
    if (alias == ON_DST && where == NO_DST)
        where = DST;
    room src = room_make(&random, N, size, channels, MOTLEY_U8), dst = room_make(&random, N, size, channels, MOTLEY_U8);
    room own = room_make(&random, N, size, channels, dtype);
    src.batch.alpha = dst.batch.alpha = own.batch.alpha = alpha;
    room *const work = where == DST ? &dst : &src, *const out = alias == ON_SRC ? &src : alias == ON_DST ? work : &own;
    const size_t image = (size_t)size.width * (size_t)size.height * (size_t)channels;
    uint8_t *const pixels = malloc(image), *const result = malloc(image * room_bytes[dtype]);
    uint8_t *const wanted = room_copy(out), *const src_before = room_copy(&src);
    need(pixels && result, "no memory");
    motley_policy *nothing;
    motley_error error;
    static const char text[] = "motley: 1\nname: nothing\nops:\n  identity: {}\nbranches: [identity]\n";
    if (motley_policy_parse(text, sizeof text - 1, NULL, &nothing, &error))
        need(0, error.message);
    motley_apply_params params = { .output = { .batch = { .count = 1,
                                                          .channels = channels,
                                                          .alpha = alpha,
                                                          .dtype = dtype,
                                                          .data = result,
                                                          .width = size.width,
                                                          .height = size.height },
                                               .mean = { 0.485f, 0.456f, 0.406f, 0.5f },
                                               .std = { 0.229f, 0.224f, 0, 1 },
                                               .means = channels > 4 ? means : NULL,
                                               .stds = channels > 4 ? stds : NULL } };
    mot_step steps[N * STEPS];
    int32_t counts[N];
    for (int i = 0; i < N; i++) {
        motley_batch one = {
            .count = 1, .channels = channels, .alpha = alpha, .data = pixels, .width = size.width, .height = size.height
        };
        for (size_t k = 0; k < image; k++) {
            const int x = (int)(k / (size_t)channels % (size_t)size.width), c = (int)(k % (size_t)channels);
            pixels[k] = *room_component(&src, (size_t)i, x, (int)(k / (size_t)(channels * size.width)), c);
        }
        counts[i] = (int32_t)(input_random(&random) % (STEPS + 1));
        for (int s = 0; s < STEPS; s++) {
            int op;
            do
                op = (int)(input_random(&random) % (uint64_t)motley_op_count());
            while (motley_op_get(op)->shape == MOTLEY_SHAPE_FILTER);
            double some[12][MOTLEY_MAX_VALUES];
            const int tried = input_values(motley_op_get(op), input_random(&random), 12, some);
            const double *const chosen = some[input_random(&random) % (uint64_t)tried];
            const int how = (int)(input_random(&random) % 3);
            steps[i * STEPS + s] = make_step(op, chosen, how);
            const motley_op_params op_params = { .interpolation = (motley_interpolation)how, .fill = op_fill };
            if (s < counts[i] &&
                motley_op_apply(cpu, op, chosen, motley_op_get(op)->values_max, &one, &one, &op_params, &error))
                need(0, error.message);
        }
        if (motley_apply(cpu, nothing, &one, NULL, &params, &error))
            need(0, error.message);
        for (size_t k = 0; k < image; k++) {
            const int x = (int)(k / (size_t)channels % (size_t)size.width), c = (int)(k % (size_t)channels);
            const uint8_t *const at = room_component(out, (size_t)i, x, (int)(k / (size_t)(channels * size.width)), c);
            memcpy(wanted + (at - out->bytes), result + k * room_bytes[dtype], room_bytes[dtype]);
        }
    }
    motley_policy_destroy(nothing);
    params.output.batch = out->batch;
    emulate_backwards = (int)(turn & 1);
    ctas = 1 + (int)(turn / 2 % 5 * (turn / 2 % 5)) / 2; /* 1 to 9 */
    run_tiles(&src.batch, where == NO_DST ? NULL : &work->batch, &params.output, steps, counts, STEPS);
    cases += N;
    const int src_same = out == &src || work == &src || memcmp(src.bytes, src_before, src.size) == 0;
    const difference d = difference_of(out->bytes, wanted, out->size);
    if (d.bytes > 0 || !src_same) {
        fprintf(stderr, "output, dtype %d, turn %d, %d channels, %dx%d, dst %s, output %s: ", (int)dtype, (int)turn,
                channels, (int)size.width, (int)size.height,
                where == NO_DST ? "none"
                : where == DST  ? "apart"
                                : "src",
                alias == APART    ? "apart"
                : alias == ON_SRC ? "over src"
                                  : "over dst");
        if (d.bytes > 0)
            fprintf(stderr, "byte %zu is %d, want %d\n", d.first, out->bytes[d.first], wanted[d.first]);
        else
            fprintf(stderr, "src changed\n");
        failures++;
    }
    free(src.bytes);
    free(dst.bytes);
    free(own.bytes);
    free(pixels);
    free(result);
    free(wanted);
    free(src_before);
}

/* Policies with chains and filters, which run in parts. */
static void check_parts(uint64_t turn)
{
    static const char *const texts[] = { "augmix: {width: 3, alpha: 1, form: sum}\nrepeat: {weights: [1, 2, 2]}\n",
                                         "augmix: {width: 2, alpha: 0.5, form: blends}\nrepeat: 2\n", "repeat: 3\n" };
    uint64_t random = SEED + 131 * turn;
    enum { N = 3 };
    const int channels = 1 + (int)(input_random(&random) % 4), where = (int)(input_random(&random) % 3);
    const input_size size = sizes[input_random(&random) % SIZES];
    const motley_dtype dtype = (motley_dtype)(input_random(&random) % 4);
    room src = room_make(&random, N, size, channels, MOTLEY_U8), dst = room_make(&random, N, size, channels, MOTLEY_U8);
    room own = room_make(&random, N, size, channels, dtype);
    src.batch.alpha = dst.batch.alpha = own.batch.alpha = channels % 2 == 0 && turn % 3 == 0;
    char text[400];
    snprintf(
        text, sizeof text,
        "motley: 1\nname: parts\nlevel: 7\nbins: 10\nfill: [1, 20, 140, 200]\n%sops:\n  rotate: {range: [10, 30]}\n"
        "  contrast: {range: [0.1, 1.9]}\nbranches: [rotate, contrast, equalize, emboss, smooth_more]\n",
        texts[turn % 3]);
    motley_policy *policy;
    motley_error error = { 0 };
    need(motley_policy_parse(text, strlen(text), NULL, &policy, &error) == MOTLEY_OK, error.message);
    room *const out = where == 0 ? &own : where == 1 ? &src : &dst;
    uint8_t *const before = room_copy(&src), *wanted = NULL;
    for (int gpus = 0; gpus < 2; gpus++) {
        const motley_apply_params params = {
            .samples = { .seed = turn },
            .output = { .batch = own.batch, .mean = { 0.4f, 0.45f, 0.5f, 0.6f }, .std = { 0.2f, 0.25f, 0, 0.3f } }
        };
        motley_apply_params plain = params;
        plain.output = (motley_output){ 0 };
        need(motley_apply(gpus ? gpu : cpu, policy, &src.batch, where == 0 ? NULL : &out->batch,
                          where == 0 ? &params : &plain, &error) == MOTLEY_OK,
             error.message);
        if (!gpus) {
            wanted = room_copy(out);
            memcpy(src.bytes, before, src.size);
        }
    }
    cases += N;
    const difference d = difference_of(out->bytes, wanted, out->size);
    if (d.bytes > 0) {
        fprintf(stderr, "parts, turn %d, %d channels, %dx%d, %s: byte %zu is %d, want %d\n", (int)turn, channels,
                (int)size.width, (int)size.height,
                where == 0   ? "an output"
                : where == 1 ? "in place"
                             : "apart",
                d.first, out->bytes[d.first], wanted[d.first]);
        failures++;
    }
    motley_policy_destroy(policy);
    free(src.bytes);
    free(dst.bytes);
    free(own.bytes);
    free(before);
    free(wanted);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    int64_t turns = SEQUENCES, first = 0;
    const option_row options[] = {
        { "op", NULL, &only, "NAME" },
        { "every", &every, NULL, "N" },
        { "turns", &turns, NULL, "N" },
        { "first", &first, NULL, "TURN" },
    };
    read_options(argc, argv, options, sizeof options / sizeof *options);
    need(every > 0, "--every takes 1 or more");
    motley_error error;
    const motley_context_params params = { .backend = MOTLEY_BACKEND_CPU, .threads = 1 };
    need(motley_context_create(&params, &cpu, &error) == MOTLEY_OK, "no context");
    gpu = emulated_create();
    emulated.always_tiles = 1;
    for (int op = 0; op < motley_op_count() && first == 0; op++)
        if ((!only || motley_op_find(only) == op) && motley_op_get(op)->shape != MOTLEY_SHAPE_FILTER)
            check_op(op);
    if (!only && first == 0) {
        check_long_lines();
        check_blurs();
        check_cuts();
        check_few();
        check_memory();
        check_own_tiles();
        check_halves();
        check_expensive();
        check_many();
        check_binary64();
    }
    for (uint64_t turn = (uint64_t)first; turn < (uint64_t)(first + turns) && !only; turn++) {
        check_sequences(turn);
        check_output((motley_dtype)(turn % 4), turn);
        check_parts(turn);
    }
    left_out((size_t)((combinations + (uint64_t)every - 1) / (uint64_t)every), (size_t)combinations,
             "batches of one op");
    left_out((size_t)turns, SEQUENCES, "random sequences of ops, and outputs");
    printf("%ld images compared, %d failures\n", cases, failures);
    emulated_destroy(gpu);
    motley_context_destroy(cpu);
    return failures > 0;
}
