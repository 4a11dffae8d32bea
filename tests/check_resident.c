/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's image kernel (kernels/cuda/resident.cuh) against the CPU backend, with its threads run by
 * tests/emulate: every op, sequences of random ops, and built-in policies, on every layout that takes this route, with
 * and without an output. The draw kernel's results appear while the image kernel runs, sample by sample; or they are
 * there, and the pixels appear when it has waited for them. One differing byte fails, canaries included. Then what both
 * routes draw, by every built-in policy, and make of tiny images.
 *
 *     check_resident [--op NAME] [--turns N] [--first TURN]
 *
 * The number of a turn, with EMULATE_SEED, repeats a failure. */
#include "kernels/cuda/tuning.h"
#include "tests/emulate/calls.h"
#include "tests/emulate/watch.h"
#include "tests/options.h"
#include "tests/rooms.h"
#include "tests/sweep.h"

#include <stdio.h>

#define SEED 20260823u
#define TURNS 5000
#define MOST_IMAGES 7
#define MOST_STEPS MOT_WINDOW
#define STALE 0x4D /* bytes of memory that the draw kernel has not written yet */

static const mot_chip chips[] = {
    { 1, EMULATED_RESIDENT_BYTES - MOT_STATIC_BYTES, 228 * 1024, 1, 2048, 0 }, /* sm_90, but for its multiprocessors */
    { 1, 99 * 1024 - MOT_STATIC_BYTES, 100 * 1024, 1, 1536, 0 },               /* sm_120 */
};
static const mot_chip *chip;
static motley_context *cpu, *gpu; /* `gpu` runs the emulated kernel */
static uint64_t chance;           /* of how a batch is launched */
static long images, launches[2][2][MOT_RESIDENT_FORMATS], draws[MOT_ROUTES];

static int below(uint64_t *random, int n)
{
    return (int)(input_random(random) % (uint64_t)n);
}

/* ---- what the previous kernel writes while the image kernel runs ---- */

/* What the draw kernel has made, and what is not there yet. */
static struct {
    mot_resident_job job;
    mot_step *steps;
    mot_cuda_turn *order;
    int32_t *ready;
    int written[7 * MOST_IMAGES], ended; /* bands are images here */
    uint8_t *pixels, *made;              /* where the previous kernel makes pixels, and these; or NULL */
    size_t pixels_bytes;
} draw;

static void write_draw(size_t i)
{
    const size_t max_steps = (size_t)draw.job.max_steps, row = i % (size_t)draw.job.step_rows;
    if (draw.written[i])
        return;
    draw.written[i] = 1;
    watch_end();
    memcpy((mot_step *)draw.job.steps + row * max_steps, &draw.steps[row * max_steps], max_steps * sizeof *draw.steps);
    draw.job.ready[i] = draw.ready[i];
    watch_resume();
}

static void go_on_drawing(int all)
{
    const size_t count = (size_t)draw.job.count;
    if (!all) {
        write_draw(input_random(&chance) % count);
        return;
    }
    if (draw.ended)
        return;
    for (size_t i = 0; i < count; i++)
        write_draw(i);
    watch_end();
    memcpy((mot_cuda_turn *)draw.job.order, draw.order, count * sizeof *draw.order);
    watch_resume();
    draw.ended = 1;
}

static void make_pixels(int all)
{
    if (all && !draw.ended)
        memcpy(draw.pixels, draw.made, draw.pixels_bytes);
    draw.ended |= all;
}

/* Takes what `bytes` of `memory` hold, and leaves others. */
static void *take_away(void *memory, size_t bytes)
{
    void *const taken = malloc(bytes + 1);
    need(taken != NULL, "no memory");
    memcpy(taken, memory, bytes);
    memset(memory, STALE, bytes);
    return taken;
}

/* Before the image kernel: takes away what the draw kernel has just made. */
static void hide_draws(const void *images)
{
    draw.job = *(const mot_resident_job *)images;
    const size_t count = (size_t)draw.job.count;
    emulate_previous = draw.job.ordered ? make_pixels : go_on_drawing;
    if (draw.job.ordered)
        return;
    watch_end();
    const size_t rows = (size_t)draw.job.step_rows;
    draw.steps = take_away((mot_step *)draw.job.steps, rows * (size_t)draw.job.max_steps * sizeof *draw.steps);
    draw.order = take_away((mot_cuda_turn *)draw.job.order, count * sizeof *draw.order);
    draw.ready = take_away(draw.job.ready, count * sizeof *draw.ready);
    memset(draw.job.ready, 0, count * sizeof *draw.ready);
    watch_resume();
}

/* Where a batch begins, and its bytes with what lies between images. */
static uint8_t *memory_of(const motley_batch *batch, size_t *bytes)
{
    const mot_view first = mot_batch_view(batch, 0), last = mot_batch_view(batch, batch->count - 1);
    uint8_t *const begin = first.data < last.data ? first.data : last.data;
    const uint8_t *const end = first.data < last.data ? last.data : first.data;
    *bytes = (size_t)(end - begin + (first.channels - 1) * first.channel + first.height * first.row);
    return begin;
}

/* Behind draws that run ahead: takes away the source, which appears when the image kernel has waited. */
static motley_status hide_source(mot_cuda_call *call, const void *job, motley_error *error)
{
    (void)call, (void)job, (void)error;
    draw.made = take_away(draw.pixels, draw.pixels_bytes);
    return MOTLEY_OK;
}

/* A chip with less memory beside each CTA, so that fewer images are in the first wave. */
static void choose_chip(const mot_resident_shape *shape)
{
    const int most = chip->shared_per_sm, least = shape->shared_bytes + MOT_STATIC_BYTES;
    emulated.chip = *chip;
    emulated.chip.draw_bytes = below(&chance, 2) * 48 * 1024; /* else the steps are drawn in device memory */
    if (least < most)
        emulated.chip.shared_per_sm = below(&chance, 2) ? most : least + below(&chance, most - least);
    memset(emulated.prepared, 0, sizeof emulated.prepared);
}

/* Some outputs that could be made by lines are not. */
static void choose_lines(const mot_job *job)
{
    emulated.always_tables = job->output && below(&chance, 4) == 0;
}

static void run_resident(const mot_job *job, const motley_batch *work, mot_cuda_format format,
                         const mot_resident_shape *shape)
{
    motley_error error = { 0 };
    size_t bytes;
    memset(&draw, 0, sizeof draw);
    draw.pixels = memory_of(job->src, &draw.pixels_bytes);
    const uint8_t *const watched = memory_of(work, &bytes);
    emulate_watch(watched, bytes);
    choose_chip(shape);
    choose_lines(job);
    emulate_backwards = below(&chance, 2);
    emulated_ahead = below(&chance, 3) == 0;
    emulated_late = below(&chance, 2) ? hide_source : NULL;
    need(emulated_run(NULL, job, &error) == MOTLEY_OK, error.message);
    need(strcmp(mot_route_names[emulated.last_run.route], "resident") == 0, "the batch took another route");
    emulate_previous = NULL;
    launches[shape->blurs][job->output != NULL][format]++;
    images += (long)mot_cuda_images(job->src);
    free(draw.made);
    free(draw.steps);
    free(draw.order);
    free(draw.ready);
}

static mot_route_choice route_of(const mot_job *job, const motley_batch *work)
{
    static mot_level_cache levels;
    return mot_route_of(chip, job, mot_cuda_format_of(job->src), work, 0, &levels);
}

static motley_status run(void *state, const mot_job *job, motley_error *error)
{
    const mot_cuda_format format = mot_cuda_format_of(job->src);
    const motley_batch slots = job->dst ? *job->dst : mot_tiles_work(job->src, job->output, format);
    const mot_route_choice choice = route_of(job, &slots);
    if (choice.route != MOT_ROUTE_RESIDENT)
        return mot_backend_cpu.run(state, job, error);
    run_resident(job, &slots, format, &choice.shape);
    return MOTLEY_OK;
}

/* ---- batches ---- */

enum { SRC, DST, OUT, ROOMS };

/* A batch that the route takes, of images without gaps in them, in the middle of other bytes. */
static room dense_room(uint64_t *random, size_t count, input_size size, int channels, int planes)
{
    enum { GUARD = 64 };
    const int64_t plane = (int64_t)size.width * size.height;
    room r = { .batch = { .count = count, .channels = channels, .width = size.width, .height = size.height } };
    r.pixel = planes ? 1 : channels;
    r.row = r.pixel * size.width;
    r.channel = planes && channels > 1 ? plane + 16 * below(random, 3) : planes ? plane : 1;
    r.image = planes ? r.channel * channels : plane * channels;
    r.image += 16 * below(random, 3);
    r.size = ((size_t)r.image * count + 2 * GUARD + 63) & ~(size_t)63;
    r.bytes = aligned_alloc(64, r.size);
    need(r.bytes != NULL, "no memory");
    memset(r.bytes, below(random, 256), r.size);
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < (planes ? channels : 1); c++)
            input_fill((input_kind)below(random, INPUT_KINDS), input_random(random), size, planes ? 1 : channels,
                       r.bytes + GUARD + (int64_t)i * r.image + c * r.channel);
    r.data = r.bytes + GUARD;
    if (count > 1 && below(random, 4) == 0) { /* from the last image on */
        r.data += (int64_t)(count - 1) * r.image;
        r.image = -r.image;
    }
    r.batch.data = r.data;
    r.batch.image_stride = r.image, r.batch.row_stride = r.row;
    r.batch.pixel_stride = r.pixel, r.batch.channel_stride = r.channel;
    return r;
}

/* A batch for an output: half of the time, and if asked for, with rows side by side, as the fast loops want it. */
static room output_room(uint64_t *random, size_t count, input_size size, int channels, motley_dtype dtype, int dense)
{
    const int apart = below(random, 2) * below(random, 3); /* rows between planes, and between images */
    for (;;) {
        room r = room_make(random, count, (input_size){ size.width, size.height + apart }, channels, dtype);
        const int taken = (!dense && below(random, 2)) || (r.batch.row_stride == 0 && (uintptr_t)r.data % 16 == 0);
        r.batch.height = size.height;
        if (apart) {
            r.batch.image_stride = r.image, r.batch.row_stride = r.row;
            r.batch.pixel_stride = r.pixel, r.batch.channel_stride = r.channel;
        }
        if (taken)
            return r;
        free(r.bytes);
    }
}

static motley_batch batch_at(const room *r, uint8_t *bytes)
{
    motley_batch b = r->batch;
    b.data = bytes + (r->data - r->bytes);
    return b;
}

/* The first byte that differs and lies in no image, if those may hold anything; r->size: none. */
static size_t first_difference(const room *r, const uint8_t *a, const uint8_t *b, int images_hold_anything)
{
    uint8_t *const any = calloc(1, r->size);
    need(any != NULL, "no memory");
    for (size_t i = 0; i < r->batch.count && images_hold_anything; i++) {
        const int planes = r->pixel == 1 && r->batch.channels > 1;
        for (int c = 0; c < (planes ? r->batch.channels : 1); c++)
            memset(any + (r->data - r->bytes) + (int64_t)i * r->image + c * r->channel, 1,
                   (size_t)(r->row * r->batch.height));
    }
    size_t at = 0;
    while (at < r->size && (a[at] == b[at] || any[at]))
        at++;
    free(any);
    return at;
}

/* What a turn does with its batch: applies a policy, or replays steps. */
typedef struct call {
    const motley_policy *policy;
    motley_step steps[MOST_IMAGES * MOST_STEPS];
    int32_t counts[MOST_IMAGES];
    size_t max_steps;
} call;

static void print_steps(const call *c, size_t count)
{
    for (size_t i = 0; i < count && !c->policy; i++) {
        fprintf(stderr, "  image %zu:", i);
        for (int s = 0; s < c->counts[i]; s++) {
            static const char *const how[] = { "", " bilinear", " bicubic" };
            const motley_step *const step = &c->steps[i * c->max_steps + (size_t)s];
            fprintf(stderr, " %s(%.9g)%s", motley_op_get(step->op)->name, step->values[0], how[step->interpolation]);
        }
        fprintf(stderr, "\n");
    }
}

/* Runs the call on both contexts, and compares. */
static void check_call(uint64_t turn, uint64_t *random, const call *c, const motley_batch *like)
{
    const size_t count = like->count;
    const input_size size = { like->width, like->height };
    const int channels = like->channels, planes = like->layout == MOTLEY_CHW;
    enum { NO_DST, DST_IS_SRC, DST_APART } where = below(random, 3);
    const int has_output = where == NO_DST || below(random, 2);
    const int by_lines = has_output && below(random, 2); /* as the fastest loops write */
    const motley_dtype dtype = by_lines     ? (below(random, 2) ? MOTLEY_F16 : MOTLEY_BF16)
                               : has_output ? (motley_dtype)below(random, 4)
                                            : MOTLEY_U8;
    int out = !has_output ? ROOMS : dtype == MOTLEY_U8 ? below(random, ROOMS) : OUT;
    if (out == DST && where != DST_APART)
        out = SRC;
    room rooms[ROOMS] = { dense_room(random, count, size, channels, planes),
                          dense_room(random, count, size, channels, planes),
                          output_room(random, count, size, channels, dtype, by_lines) };
    const float std = below(random, 2) ? 0.1f : 0.224f;
    uint8_t *made[2][ROOMS];
    motley_error error;
    for (int which = 0; which < 2; which++) {
        for (int k = 0; k < ROOMS; k++)
            made[which][k] = room_copy(&rooms[k]);
        const motley_batch src = batch_at(&rooms[SRC], made[which][SRC]), dst = batch_at(&rooms[DST], made[which][DST]);
        const float means[] = { 0.485f, 0.456f, 0.406f, 0.25f, 0.25f, 0.25f, 0.25f },
                    stds[] = { 0.229f, std, 0, 0.2f, 0.2f, 0.2f, turn % 2 ? 0.2f : 0.3f };
        motley_output output = { .mean = { 0.485f, 0.456f, 0.406f, 0.25f }, .std = { 0.229f, std, 0, 0.2f } };
        if (has_output && (channels > 4 || turn % 3 == 0)) {
            output.means = means;
            output.stds = stds;
        }
        if (has_output)
            output.batch = batch_at(&rooms[out], made[which][out]);
        const motley_batch *const to = where == NO_DST ? NULL : where == DST_IS_SRC ? &src : &dst;
        const motley_apply_params params = { .samples = { .seed = turn, .first = turn % 1000 },
                                             .output = output,
                                             .given_steps = c->policy ? NULL : c->steps,
                                             .given_step_counts = c->policy ? NULL : c->counts,
                                             .given_max_steps = c->max_steps };
        motley_context *const context = which ? gpu : cpu;
        need(motley_apply(context, c->policy, &src, to, &params, &error) == MOTLEY_OK, error.message);
    }
    for (int k = 0; k < ROOMS; k++) {
        static const char *const names[] = { "src", "dst", "output", "none" };
        const int anything = k != out && has_output && (k == SRC ? where == DST_IS_SRC || out == SRC : k == DST);
        const int work_in_output = k == OUT && out == OUT && where == NO_DST;
        const uint8_t *const wanted = work_in_output || k == out || !has_output ? made[0][k] : rooms[k].bytes;
        const size_t at = first_difference(&rooms[k], made[1][k], wanted, anything);
        if (at == rooms[k].size)
            continue;
        fprintf(stderr,
                "turn %d: %zu x %dx%d, %s, dst %s, output in %s, type %d, chip %d: byte %zu of %s is %d, want %d\n",
                (int)turn, count, (int)size.width, (int)size.height,
                channels == 1   ? "grey"
                : channels != 3 ? "bands"
                : planes        ? "planes"
                                : "RGB",
                where == NO_DST       ? "none"
                : where == DST_IS_SRC ? "src"
                                      : "apart",
                names[out], (int)dtype, (int)(chip - chips), at, names[k], made[1][k][at], wanted[at]);
        print_steps(c, count);
        if (++failures >= 10)
            exit(1);
        break;
    }
    for (int k = 0; k < ROOMS; k++) {
        free(rooms[k].bytes);
        free(made[0][k]);
        free(made[1][k]);
    }
}

/* ---- turns ---- */

static input_size size_of(uint64_t *random)
{
    static const input_size sizes[] = { { 8, 2 },   { 8, 16 },    { 12, 4 },    { 12, 20 },   { 20, 100 }, { 36, 32 },
                                        { 64, 4 },  { 60, 224 },  { 100, 52 },  { 224, 3 },   { 4096, 8 }, { 128, 64 },
                                        { 96, 96 }, { 128, 128 }, { 160, 160 }, { 224, 224 }, { 224, 56 }, { 256, 36 },
                                        { 32, 32 }, { 128, 4 },   { 128, 6 },   { 128, 20 },  { 256, 12 }, { 384, 8 } };
    enum { SIZES = sizeof sizes / sizeof *sizes };
    if (below(random, 3))
        return sizes[below(random, SIZES)];
    for (;;) {
        const input_size size = { 8 + 4 * below(random, 55), 1 + below(random, 80) };
        if (size.width * size.height % 16 == 0)
            return size;
    }
}

/* Whether the route takes a step, which may be NULL, of images like this batch's. */
static int takes(const motley_batch *batch, const mot_step *step)
{
    const mot_job job = { .count = 1, .src = batch, .steps = step, .max_steps = step != NULL };
    return route_of(&job, batch).route == MOT_ROUTE_RESIDENT;
}

/* A batch's sizes and layout, without data; few of the large images, which take long. */
static motley_batch random_batch(uint64_t *random)
{
    const input_size size = size_of(random);
    static const int kinds[] = { 3, 3, 3, 3, 1, 2, 4, 7 }; /* others than 1 and 3: bands */
    const int pixels = size.width * size.height, channels = kinds[below(random, 8)];
    const motley_batch batch = { .count = (size_t)(1 + below(random, pixels <= 4096    ? MOST_IMAGES
                                                                     : pixels <= 16384 ? 3
                                                                                       : 1)),
                                 .channels = channels,
                                 .width = size.width,
                                 .height = size.height,
                                 .layout = below(random, 2) || channels != 3 ? MOTLEY_CHW : MOTLEY_HWC };
    chip = &chips[below(random, 4) == 0];
    if (!takes(&batch, NULL))
        chip = &chips[0];
    return batch;
}

/* Values of affine, by which columns become rows or nearly one pixel, and the middle stays about where it is. */
static void steep_values(uint64_t *random, input_size size, double *a)
{
    const double x = size.width / 2.0, y = size.height / 2.0;
    a[0] = input_between(random, -0.25, 0.25);
    a[1] = input_between(random, -1.2, 1.2);
    a[3] = input_between(random, -1.2, 1.2) * (below(random, 2) ? 1 : 0.02);
    a[4] = input_between(random, -1.2, 1.2);
    a[2] = x - a[0] * x - a[1] * y + input_between(random, -4, 4);
    a[5] = y - a[3] * x - a[4] * y + input_between(random, -4, 4);
}

/* Random values of an op, which the route takes for images like this batch's. STEEP: it is affine, by steep_values. */
static int random_step(uint64_t *random, int op, int steep, const motley_batch *batch, motley_step *step)
{
    const motley_op_info *const info = motley_op_get(op);
    double some[12][MOTLEY_MAX_VALUES];
    const int tried = input_values(info, input_random(random), 12, some);
    mot_step prepared = { .op = op };
    *step = (motley_step){ .op = op, .values_count = info->values_max };
    memcpy(step->values, some[below(random, tried)], sizeof step->values);
    if (steep)
        steep_values(random, (input_size){ batch->width, batch->height }, step->values);
    if (info->shape == MOTLEY_SHAPE_WARP && below(random, 4) == 0)
        step->interpolation = (motley_interpolation)below(random, 3);
    if (info->shape == MOTLEY_SHAPE_WARP || info->shape == MOTLEY_SHAPE_ERASE)
        memcpy(step->fill, (uint8_t[4]){ 125, 123, 114, 0 }, sizeof step->fill);
    mot_op_prepare(op, step->values, info->values_max, &prepared.arg);
    prepared.interpolation = (uint8_t)step->interpolation;
    return takes(batch, &prepared);
}

/* `only`: an op that every image's steps have, or -1. */
static void check_steps(uint64_t turn, uint64_t *random, int only)
{
    const motley_batch batch = random_batch(random);
    static call c;
    const int least = only >= 0;
    c = (call){ .max_steps = (size_t)(least + below(random, MOST_STEPS + 1 - least)) };
    const int shapes = below(random, 2) ? 0x7FFFFFFF : below(random, 256); /* those of random ops */
    const int moved = 1 << MOTLEY_SHAPE_WARP | 1 << MOTLEY_SHAPE_STENCIL, ends = below(random, 3) == 0;
    const int after = 1 << MOTLEY_SHAPE_POINT | 1 << MOTLEY_SHAPE_COLOR | 1 << MOTLEY_SHAPE_ERASE;
    const int affine = motley_op_find("affine"), steep = below(random, 3) == 0;
    if (ends) /* one pass, which moves pixels and then changes them */
        c.max_steps = 1 + (size_t)below(random, 3);
    for (size_t i = 0; i < batch.count; i++) {
        const int place = below(random, MOST_STEPS);
        c.counts[i] = (int32_t)below(random, (int)c.max_steps + 1);
        c.counts[i] = ends ? (int32_t)c.max_steps : c.counts[i] < least ? least : c.counts[i];
        for (int s = 0; s < c.counts[i]; s++) {
            motley_step *const step = &c.steps[i * c.max_steps + (size_t)s];
            const int forced = only >= 0 && s == place % c.counts[i];
            const int wanted = !ends ? shapes : s == 0 ? moved : after;
            int tries = 0, op;
            do {
                op = forced ? only : below(random, motley_op_count());
                if (steep && !forced && motley_op_get(op)->shape == MOTLEY_SHAPE_WARP)
                    op = affine;
                if (tries++ > 200) /* images that cannot be blurred, and so on */
                    op = motley_op_find("invert");
            } while ((tries <= 200 && !forced && !(wanted >> motley_op_get(op)->shape & 1)) ||
                     motley_op_get(op)->shape == MOTLEY_SHAPE_FILTER ||
                     strcmp(motley_op_get(op)->name, "bbox_cutout") == 0 ||
                     !random_step(random, op, steep && op == affine, &batch, step));
        }
    }
    check_call(turn, random, &c, &batch);
}

static const char *const policies[] = { "rand_augment",          "trivial_augment_wide", "auto_augment_imagenet",
                                        "auto_augment_cifar10",  "auto_augment_svhn",    "timm_rand_m9_mstd05_inc1",
                                        "timm_auto_augment_v0r", "timm_3_augment",       "trivial_augment_standard" };
enum { POLICIES = sizeof policies / sizeof *policies };
static motley_policy *policy[POLICIES];

static void check_policy(uint64_t turn, uint64_t *random)
{
    const motley_batch batch = random_batch(random);
    static call c;
    c = (call){ .policy = policy[below(random, POLICIES)] };
    check_call(turn, random, &c, &batch);
}

enum { MANY = 260, WIDTH = 8, HEIGHT = 2 };
static _Alignas(64) uint8_t pixels[MANY][WIDTH * HEIGHT * 3];

static void watch_pixels(const void *job)
{
    (void)job; /* what kernels before it wrote is seen */
    emulate_watch(pixels[0], sizeof pixels);
}

/* What a policy draws for tiny images, and makes of them, on both routes: for a few, and for more than one CTA of the
 * draw kernel, and its arguments, have room for. */
static void check_draws(const motley_policy *policy, uint64_t random)
{
    static const int counts[] = { 5, MANY };
    uint8_t before[sizeof pixels], made[sizeof pixels];
    motley_image list[MANY];
    uint64_t ids[MANY];
    uint32_t views[MANY];
    float levels[MANY];
    for (int i = 0; i < MANY; i++) {
        const int width = 1 + below(&random, WIDTH), height = 1 + below(&random, HEIGHT);
        list[i] = (motley_image){ pixels[i], width, height, 3 * width, 3, 1 };
        ids[i] = input_random(&random);
        views[i] = (uint32_t)below(&random, 1 << 16);
        levels[i] = (float)below(&random, 1000) / 999;
    }
    for (size_t k = 0; k < sizeof before; k++)
        before[k] = (uint8_t)input_random(&random);
    for (int turn = 0; turn < 4; turn++) {
        const motley_batch batch = turn % 2 ? (motley_batch){ .images = list }
                                            : (motley_batch){ .data = pixels, .width = WIDTH, .height = HEIGHT };
        motley_batch src = batch;
        src.count = (size_t)counts[turn / 2];
        src.channels = 3;
        const mot_job job = { .count = src.count,
                              .src = &src,
                              .dst = &src,
                              .policy = policy,
                              .max_steps = (size_t)motley_policy_describe(policy)->max_steps,
                              .mixes = policy->augmix.width > 0,
                              .samples = { .seed = input_random(&random),
                                           .epoch = (uint32_t)below(&random, 1 << 30),
                                           .first = input_random(&random),
                                           .ids = below(&random, 2) ? ids : NULL,
                                           .views = below(&random, 2) ? views : NULL,
                                           .view = 3,
                                           .levels = levels } };
        motley_error error = { 0 };
        emulated.chip = chips[0];
        emulated.chip.multiprocessors = 2;
        emulated_ahead = below(&random, 2);
        memcpy(pixels, before, sizeof pixels);
        need(emulated_run(NULL, &job, &error) == MOTLEY_OK, error.message);
        memcpy(made, pixels, sizeof pixels);
        memcpy(pixels, before, sizeof pixels);
        need(motley_apply(cpu, policy, &src, &src, &(motley_apply_params){ .samples = job.samples }, &error) ==
                 MOTLEY_OK,
             error.message);
        check(memcmp(made, pixels, sizeof pixels) == 0, motley_policy_describe(policy)->name);
        draws[emulated.last_run.route] += emulated.last.count ? counts[turn / 2] : 0;
    }
}

/* Those of built-in policies that draw on the GPU as a whole. */
static void check_all_draws(void)
{
    emulate_images = watch_pixels;
    emulated_late = NULL;
    sweep(input_builtins(false), "built-in policies' draws");
    for (size_t k = 0; k < input_builtins(false); k += sweep_every()) {
        motley_policy *each;
        motley_error error = { 0 };
        need(motley_policy_builtin(input_builtin(false, k)->name, &each, &error) == MOTLEY_OK, error.message);
        if (!motley_policy_describe(each)->takes_boxes)
            check_draws(each, SEED + k);
        motley_policy_destroy(each);
    }
    printf("draws of %ld images compared on one route, of %ld on the other\n", draws[0], draws[1]);
    need(draws[0] > 0 && draws[1] > 0, "no draws were compared");
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    int64_t turns = TURNS, first = 0;
    const option_row options[] = {
        { "op", NULL, &only, "NAME" },
        { "turns", &turns, NULL, "N" },
        { "first", &first, NULL, "TURN" },
    };
    read_options(argc, argv, options, sizeof options / sizeof *options);
    const int only_op = only ? motley_op_find(only) : -1;
    need(!only || only_op >= 0, "no such op");
    static mot_backend backend;
    motley_error error = { 0 };
    const motley_context_params params = { .backend = MOTLEY_BACKEND_CPU, .threads = 1 };
    need(motley_context_create(&params, &cpu, &error) == MOTLEY_OK, error.message);
    gpu = emulated_create();
    backend = *gpu->backend;
    backend.run = run;
    gpu->backend = &backend;
    emulate_images = hide_draws;
    for (int k = 0; k < POLICIES; k++)
        need(motley_policy_builtin(policies[k], &policy[k], &error) == MOTLEY_OK, error.message);
    for (uint64_t turn = (uint64_t)first; turn < (uint64_t)(first + turns); turn++) {
        uint64_t random = SEED + turn;
        chance = input_random(&random);
        emulate_begin(turn);
        const uint64_t op = turn / 2 % (2 * (uint64_t)motley_op_count()); /* each op in turn, then any */
        if (only || (turn % 2 == 0 && op < (uint64_t)motley_op_count()))
            check_steps(turn, &random, only ? only_op : (int)op);
        else if (turn % 4 == 1)
            check_policy(turn, &random);
        else
            check_steps(turn, &random, -1);
    }
    if (!only && first == 0)
        check_all_draws();
    left_out((size_t)turns, TURNS, "random batches");
    long fewest = images;
    for (int i = 0; i < 4; i++)
        for (int format = 0; format < MOT_RESIDENT_FORMATS; format++)
            fewest = launches[i / 2][i % 2][format] < fewest ? launches[i / 2][i % 2][format] : fewest;
    printf("%ld images compared, %d failures; a kernel was launched %ld times at least\n", images, failures, fewest);
    need(only || first > 0 || turns < 1000 || fewest > 0, "a kernel was never launched");
    for (int k = 0; k < POLICIES; k++)
        motley_policy_destroy(policy[k]);
    emulated_destroy(gpu);
    motley_context_destroy(cpu);
    return failures > 0;
}
