/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes, points and matrices that a call moves with its images have, on any backend, the bits of motley_follow on the
 * host, captured calls of the GPU included; planes have the bytes of images that follow, and behind crops of images of
 * about their size each element is where the image itself shows it; and the frames of clips have the bytes of the CPU.
 *
 *     test_followed cpu|cuda [--require]
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. Compiled with MOT_EMULATE, the
 * kernels run on the CPU (tests/emulate). */
#include "tests/builtins.h"
#include "tests/contexts.h"
#include "tests/followed.h"
#include "tests/inputs.h"
#include "tests/sweep.h"

#ifdef MOT_EMULATE
#undef HAVE_CUDART
#endif
#ifdef HAVE_CUDART
#include <cuda_runtime_api.h>
#endif
#include <math.h>
#include <motley.h>
#include <stdio.h>

#define SIDE 60 /* the longest side of an image */
#ifndef IMAGES
#define IMAGES 300
#endif
#define BOXES 70 /* of an image, at most: more than a warp has threads */
#define POINTS 70
#define CLIP_FRAMES 4
#ifdef MOT_EMULATE
#define SIZES_APART 8 /* of elements that crops move: 1 and 8 bytes */
#else
#define SIZES_APART 2
#endif

static long compared;

static void fail(const char *name, const char *what, size_t at)
{
    fprintf(stderr, "%s: %s differ from the host's, first at %zu\n", name, what, at);
    if (++failures >= 20)
        exit(1);
}

static void *allocate(size_t bytes)
{
    void *const memory = calloc(1, bytes);
    need(memory != NULL, "no memory");
    return memory;
}

/* ---- memory of the context's device ---- */

static motley_context *context, *host;

static void *create(size_t bytes)
{
    void *memory;
    need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, bytes + 1, &memory, NULL) == MOTLEY_OK,
         "no device memory");
    return memory;
}

static void *sent(const void *from, size_t bytes)
{
    void *const memory = create(bytes);
    copy_on(context, memory, from, bytes);
    return memory;
}

static void fill_zeros(void *to, size_t bytes)
{
    uint8_t *const zeros = allocate(bytes);
    copy_on(context, to, zeros, bytes);
    free(zeros);
}

static void compare(const char *name, const char *what, const void *device, const void *wanted, size_t bytes)
{
    uint8_t *const found = allocate(bytes + 1);
    copy_on(context, found, device, bytes);
    compared += (long)bytes;
    for (size_t i = 0; i < bytes; i++)
        if (found[i] != ((const uint8_t *)wanted)[i]) {
            fail(name, what, i);
            break;
        }
    free(found);
}

/* ---- boxes and points ---- */

/* What follows a batch: as given, and room for what the host makes of it. */
typedef struct numbers {
    size_t images, boxes, points;
    size_t most_boxes; /* of an image */
    size_t box_offsets[IMAGES + 1], point_offsets[IMAGES + 1];
    double *box, *point, *matrices;
    uint8_t *keep, *flags;
} numbers;

static double uniform(uint64_t *state)
{
    return (double)(input_random(state) % 100000) / 100000;
}

/* Exact as a float, too. */
static double rounded(double v)
{
    return floor(v * 256) / 256;
}

static void make_numbers(numbers *n, size_t images, const int32_t *widths, const int32_t *heights)
{
    uint64_t state = 5;
    *n = (numbers){ .images = images };
    n->box = allocate(images * BOXES * 4 * sizeof(double));
    n->point = allocate(images * POINTS * 2 * sizeof(double));
    for (size_t i = 0; i < images; i++) {
        const size_t boxes = i % 5 ? input_random(&state) % BOXES : 0,
                     points = i % 7 ? input_random(&state) % POINTS : 0;
        const double w = widths[i], h = heights[i];
        for (size_t b = 0; b < boxes; b++) {
            double *const box = &n->box[4 * n->boxes++];
            box[0] = rounded(w * (1.2 * uniform(&state) - 0.2));
            box[1] = rounded(h * (1.2 * uniform(&state) - 0.2));
            box[2] = rounded(box[0] + (box[0] < 0 ? -box[0] : 0) + 0.7 * w * uniform(&state));
            box[3] = rounded(box[1] + (box[1] < 0 ? -box[1] : 0) + 0.7 * h * uniform(&state));
            if (b % 9 == 0 && box[0] >= 0)
                box[2] = box[0]; /* without area */
        }
        for (size_t p = 0; p < points; p++, n->points++) {
            n->point[2 * n->points] = rounded(w * (1.2 * uniform(&state) - 0.1));
            n->point[2 * n->points + 1] = rounded(h * (1.2 * uniform(&state) - 0.1));
        }
        n->most_boxes = boxes > n->most_boxes ? boxes : n->most_boxes;
        n->box_offsets[i + 1] = n->boxes;
        n->point_offsets[i + 1] = n->points;
    }
    n->keep = allocate(n->boxes + 1);
    n->flags = allocate(n->points + 1);
    n->matrices = allocate(images * 6 * sizeof(double));
}

static void drop_numbers(numbers *n)
{
    free(n->box);
    free(n->point);
    free(n->matrices);
    free(n->keep);
    free(n->flags);
}

/* A copy of `from` as float or double. */
static void *typed(const double *from, size_t count, int single)
{
    double *const made = allocate((count + 1) * sizeof *made);
    memcpy(made, from, count * sizeof *made);
    for (size_t i = 0; single && i < count; i++)
        ((float *)made)[i] = (float)from[i];
    return made;
}

/* `from` as what a call takes: on the device, as float or double. */
static void *sent_numbers(const double *from, size_t count, int single)
{
    void *const numbers = typed(from, count, single);
    void *const made = sent(numbers, count * (single ? sizeof(float) : sizeof(double)));
    free(numbers);
    return made;
}

static motley_followed send_followed(const numbers *n, int single, const motley_box_rules *box_params,
                                     motley_convention convention)
{
    return (motley_followed){ .single = single,
                              .boxes_count = n->boxes,
                              .boxes = sent_numbers(n->box, 4 * n->boxes, single),
                              .box_offsets = sent(n->box_offsets, (n->images + 1) * sizeof(size_t)),
                              .visibility = create(n->boxes * sizeof(double)),
                              .keep = create(n->boxes),
                              .box_params = *box_params,
                              .points_count = n->points,
                              .points = sent_numbers(n->point, 2 * n->points, single),
                              .point_offsets = sent(n->point_offsets, (n->images + 1) * sizeof(size_t)),
                              .flags = create(n->points),
                              .convention = convention,
                              .matrices = create(6 * n->images * sizeof(double)) };
}

static void drop_followed(const motley_followed *f)
{
    void *const all[] = { f->boxes,  (void *)f->box_offsets,   f->visibility, f->keep,
                          f->points, (void *)f->point_offsets, f->flags,      f->matrices };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        motley_memory_destroy(context, all[i]);
}

/* Moves `n` on the host, and compares. */
static void check_followed(const char *name, const numbers *n, const motley_drawn *drawn, const motley_followed *f)
{
    motley_error error;
    const size_t real = f->single ? sizeof(float) : sizeof(double);
    const motley_followed wanted = { .single = f->single,
                                     .boxes_count = n->boxes,
                                     .boxes = typed(n->box, 4 * n->boxes, f->single),
                                     .box_offsets = n->box_offsets,
                                     .visibility = allocate(n->boxes * sizeof(double)),
                                     .keep = n->keep,
                                     .box_params = f->box_params,
                                     .points_count = n->points,
                                     .points = typed(n->point, 2 * n->points, f->single),
                                     .point_offsets = n->point_offsets,
                                     .flags = n->flags,
                                     .convention = f->convention,
                                     .matrices = n->matrices };
    need(motley_follow(drawn, &wanted, &error) == MOTLEY_OK, error.message);
    compare(name, "boxes", f->boxes, wanted.boxes, 4 * n->boxes * real);
    compare(name, "visibilities", f->visibility, wanted.visibility, n->boxes * real);
    compare(name, "points", f->points, wanted.points, 2 * n->points * real);
    compare(name, "matrices", f->matrices, n->matrices, 6 * n->images * sizeof(double));
    compare(name, "kept", f->keep, n->keep, n->boxes);
    compare(name, "flags", f->flags, n->flags, n->points);
    free(wanted.boxes);
    free(wanted.visibility);
    free(wanted.points);
}

/* ---- batches ---- */

typedef struct set {
    uint8_t *memory;
    motley_image images[IMAGES];
    int32_t widths[IMAGES], heights[IMAGES];
    uint64_t ids[IMAGES];
    motley_batch batch;
    numbers n;
} set;

/* one_size: dense, as batches are that go through the fastest kernels. */
static void make_set(set *s, int one_size)
{
    uint64_t state = 3;
    const size_t bytes = (size_t)IMAGES * SIDE * SIDE * 3;
    uint8_t *const pixels = allocate(bytes);
    for (size_t i = 0; i < bytes; i++)
        pixels[i] = (uint8_t)input_random(&state);
    *s = (set){ .memory = sent(pixels, bytes) };
    free(pixels);
    for (size_t i = 0; i < IMAGES; i++) {
        s->widths[i] = one_size ? SIDE : 1 + (int32_t)(input_random(&state) % SIDE);
        s->heights[i] = one_size ? SIDE : 1 + (int32_t)(input_random(&state) % SIDE);
        s->images[i] =
            (motley_image){ s->memory + i * SIDE * SIDE * 3, s->widths[i], s->heights[i], 3 * s->widths[i], 3, 1 };
        s->ids[i] = i % 3 ? input_random(&state) : i;
    }
    s->batch = (motley_batch){ .count = IMAGES, .channels = 3, .images = s->images };
    if (one_size)
        s->batch = (motley_batch){ .count = IMAGES, .channels = 3, .data = s->memory, .width = SIDE, .height = SIDE };
    make_numbers(&s->n, IMAGES, s->widths, s->heights);
}

static void drop_set(set *s)
{
    motley_memory_destroy(context, s->memory);
    drop_numbers(&s->n);
}

/* ---- planes ---- */

#define PLANED (IMAGES < 24 ? IMAGES : 24) /* images of a batch that have planes */
#define PLANES 2                           /* of an image, at most */

/* Planes of one kind, and what the calls write to. */
typedef struct plane_set {
    motley_planes planes;
    motley_plane host[IMAGES], device[IMAGES];
    uint8_t *memory;
    void *sent, *made;
    size_t bytes;          /* of an image's planes, at most: those of its source, and of its result */
    int32_t width, height; /* of the results; 0: each has its own */
} plane_set;

static void make_planes(plane_set *p, const set *s, int turn, int32_t width, int32_t height)
{
    uint64_t state = (uint64_t)turn + 1;
    const size_t pixels = (size_t)(width > SIDE ? width : SIDE) * (size_t)(height > SIDE ? height : SIDE);
    *p = (plane_set){ .planes = { .element_size = 1 << turn % 4, .erase = turn / 4 % 2 },
                      .width = width,
                      .height = height };
    const int dense = !s->batch.images && turn % 3 == 0 && width <= SIDE;
    const size_t images = dense ? IMAGES : PLANED;
    p->bytes = PLANES * pixels * (size_t)p->planes.element_size;
    p->memory = allocate(images * p->bytes);
    for (size_t i = 0; i < images * p->bytes; i++)
        p->memory[i] = (uint8_t)input_random(&state);
    for (int i = 0; i < 8; i++)
        p->planes.fill[i] = (uint8_t)input_random(&state);
    p->sent = sent(p->memory, images * p->bytes);
    p->made = create(images * p->bytes);
    for (size_t i = 0; i < PLANED; i++) {
        const size_t at = dense ? i * PLANES * SIDE * SIDE * (size_t)p->planes.element_size : i * p->bytes;
        const size_t to =
            dense ? at / SIDE / SIDE * (size_t)(width ? width : SIDE) * (size_t)(width ? height : SIDE) : at;
        const size_t count = dense ? PLANES : i % (PLANES + 1);
        p->host[i] = (motley_plane){ p->memory + at, NULL, count };
        p->device[i] = (motley_plane){ (uint8_t *)p->sent + at, (uint8_t *)p->made + to, count };
    }
    if (dense) {
        p->planes.src = p->sent;
        p->planes.dst = p->made;
        p->planes.count = PLANES;
    } else {
        p->planes.images = sent(p->device, sizeof p->device);
    }
}

static void drop_planes(plane_set *p)
{
    free(p->memory);
    motley_memory_destroy(context, p->sent);
    motley_memory_destroy(context, p->made);
    if (p->planes.images)
        motley_memory_destroy(context, (void *)p->planes.images);
}

/* Moves plane k of each image as an image of as many channels as an element has bytes, four at a time. */
static void move_as_images(const char *name, const plane_set *p, const set *s, size_t k, const motley_policy *policy,
                           const motley_samples *samples, uint8_t *made)
{
    const int32_t size = p->planes.element_size, channels = size < 4 ? size : 4;
    motley_image from[PLANED], to[PLANED];
    motley_error error;
    motley_policy *follower;
    for (int32_t part = 0; part < size; part += 4) {
        motley_follower_params params = { .channels = channels, .erase = p->planes.erase };
        memcpy(params.fill, p->planes.fill + part, (size_t)channels);
        need(motley_policy_follower(policy, &params, &follower, &error) == MOTLEY_OK, error.message);
        for (size_t i = 0; i < PLANED; i++) {
            const int32_t w = s->widths[i], h = s->heights[i], width = p->width ? p->width : w;
            const size_t plane = k < p->host[i].count ? k * (size_t)w * (size_t)h * (size_t)size : 0;
            from[i] = (motley_image){ (uint8_t *)p->host[i].src + plane + part, w, h, (int64_t)w * size, size, 1 };
            to[i] = (motley_image){ made + i * p->bytes + part, width, p->width ? p->height : h,
                                    (int64_t)width * size,      size,  1 };
        }
        const motley_batch src = { .count = PLANED, .channels = channels, .images = from },
                           dst = { .count = PLANED, .channels = channels, .images = to };
        need(motley_apply(host, follower, &src, &dst, &(motley_apply_params){ .samples = *samples }, &error) ==
                 MOTLEY_OK,
             name);
        motley_policy_destroy(follower);
    }
}

static void check_planes(const char *name, plane_set *p, const set *s, const motley_policy *policy,
                         const motley_samples *samples)
{
    uint8_t *const wanted = allocate(PLANED * p->bytes);
    for (size_t k = 0; k < PLANES; k++) {
        move_as_images(name, p, s, k, policy, samples, wanted);
        for (size_t i = 0; i < PLANED; i++) {
            const size_t bytes = (size_t)(p->width ? p->width : s->widths[i]) *
                                 (size_t)(p->width ? p->height : s->heights[i]) * (size_t)p->planes.element_size;
            if (k < p->host[i].count)
                compare(name, "planes", (uint8_t *)p->device[i].dst + k * bytes, wanted + i * p->bytes, bytes);
        }
    }
    free(wanted);
}

static const motley_box_rules limits = { .min_area = 4, .min_side = 1, .min_visibility = 0.2 };

/* Applies, and replays what was drawn, with everything that follows. */
static void check_policy(set *s, const char *name, int turn)
{
    motley_policy *policy;
    motley_error error;
    need(motley_policy_open(name, NULL, &policy, &error) == MOTLEY_OK, error.message);
    const size_t most = input_most_steps(policy, s->n.most_boxes);
    motley_step *const steps = allocate((IMAGES * most + 1) * sizeof *steps);
    int32_t *const counts = allocate(IMAGES * sizeof *counts);
    const motley_samples samples = { .seed = 7 + (uint64_t)turn,
                                     .epoch = 60,
                                     .ids = turn % 2 ? s->ids : NULL,
                                     .boxes = s->n.box,
                                     .box_offsets = s->n.box_offsets };
    need(motley_draw(policy, &samples, IMAGES, s->widths, s->heights, 3, NULL, steps, counts, &error) == MOTLEY_OK,
         error.message);
    const motley_drawn drawn = { IMAGES, steps, counts, most, s->widths, s->heights, NULL };
    static plane_set p;
    make_planes(&p, s, turn, 0, 0);
    for (int replays = 0; replays < 2; replays++) {
        motley_box_rules box_params = limits;
        box_params.torchvision = turn % 3 == 2;
        motley_followed f = send_followed(&s->n, turn % 2, &box_params, turn % 3 ? MOTLEY_INDEX : MOTLEY_CONTINUOUS);
        f.planes = &p.planes;
        f.planes_count = 1;
        fill_zeros(p.made, PLANED * p.bytes);
        const motley_apply_params params = { .samples = samples,
                                             .followed = &f,
                                             .given_steps = replays ? steps : NULL,
                                             .given_step_counts = replays ? counts : NULL,
                                             .given_max_steps = most };
        const motley_status status = motley_apply(context, policy, &s->batch, &s->batch, &params, &error);
        if (status == MOTLEY_OK) {
            check_followed(name, &s->n, &drawn, &f);
            check_planes(name, &p, s, policy, &samples);
        } else {
            need(status == MOTLEY_ERR_UNSUPPORTED && strstr(error.message, "nothing can follow"), error.message);
        }
        drop_followed(&f);
    }
    drop_planes(&p);
    motley_policy_destroy(policy);
    free(steps);
    free(counts);
}

/* Checks the i-th part of the built-in transforms. */
/* `one`: for a transform that keeps each image's size, of images of one size. */
static void check_transform(set *any, set *one, size_t turn)
{
    char name[PART_NAME];
    motley_error error;
    motley_policy *const transform = builtin_part(turn, name);
    need(transform != NULL, "no built-in transform");
    const motley_policy_info *const info = motley_policy_describe(transform);
    set *const s = info->width ? any : one;
    motley_step *const steps = allocate((IMAGES * info->max_steps + 1) * sizeof *steps);
    int32_t *const counts = allocate(IMAGES * sizeof *counts);
    motley_place *const places = allocate(IMAGES * sizeof *places);
    const motley_samples samples = { .seed = 11, .ids = s->ids };
    need(motley_draw(transform, &samples, IMAGES, s->widths, s->heights, 3, places, steps, counts, &error) == MOTLEY_OK,
         error.message);
    const int32_t width = info->width ? info->width : SIDE, height = info->width ? info->height : SIDE;
    void *const results = create((size_t)IMAGES * (size_t)width * (size_t)height * 3 * sizeof(float));
    const motley_batch dst = { .count = IMAGES,
                               .channels = 3,
                               .dtype = info->has_output ? MOTLEY_F32 : MOTLEY_U8,
                               .layout = MOTLEY_CHW,
                               .data = results,
                               .width = width,
                               .height = height };
    motley_box_rules box_params = limits;
    box_params.torchvision = turn % 3 == 2;
    box_params.before_resize = turn % 4 < 2;
    motley_followed f = send_followed(&s->n, turn % 2, &box_params, MOTLEY_CONTINUOUS);
    static plane_set p;
    make_planes(&p, s, (int)turn, info->width, info->height);
    f.planes = &p.planes;
    f.planes_count = 1;
    motley_mixed *const mixed = allocate(IMAGES * sizeof *mixed);
    const motley_apply_params params = { .samples = samples, .mixed = info->mix ? mixed : NULL, .followed = &f };
    const motley_status status = motley_apply(context, transform, &s->batch, &dst, &params, &error);
    const motley_drawn drawn = { IMAGES, steps, counts, info->max_steps, s->widths, s->heights, places };
    if (status == MOTLEY_OK) {
        check_followed(name, &s->n, &drawn, &f);
        check_planes(name, &p, s, transform, &samples);
    } else {
        need(status == MOTLEY_ERR_UNSUPPORTED && strstr(error.message, "nothing can follow"), error.message);
    }
    drop_planes(&p);
    motley_memory_destroy(context, results);
    drop_followed(&f);
    motley_policy_destroy(transform);
    free(steps);
    free(counts);
    free(places);
    free(mixed);
}

/* ---- crops ---- */

#define CROP 10
#define CROPPED (IMAGES < 12 ? IMAGES : 12) /* images of a batch */

/* What can be done to images about as large as a crop; `moves`: pixels move apart, and the rest is a crop alone. */
static const struct {
    const char *stages;
    int32_t padding;
    int moves;
} crops[] = {
    { "[{center_crop: {size: 10}}]", CROP, 0 },
    { "[{center_crop: {size: [9, 11]}}]", CROP, 0 },
    { "[{random_crop: {size: 10}}]", 0, 0 },
    { "[{random_crop: {size: 10, padding: 2}}]", 2, 0 },
    { "[{random_crop: {size: 10, padding: 1}}, {flip: {horizontal: 0.5, vertical: 0.5}}]", 1, 1 },
    { "[{center_crop: {size: 10}}, {policy: {branches: [{op: rotate, value: 10}, {op: translate_x, value: 2}]}}]", CROP,
      1 },
    { "[{center_crop: {size: 10}}, {policy: {branches: [[{op: shear_x, value: 0.2}, {op: rotate, value: -20}]]}}]",
      CROP, 1 },
    { "[{random_crop: {size: 10, padding: 2}}, {policy: {branches: [{op: shear_y, value: 0.3}, flip_lr]}}]", 2, 1 },
    { "[{random_crop: {size: 10}}, {policy: {repeat: 2, branches: [{op: rotate, value: 30}, {op: translate_y, value: "
      "-3}]}}]",
      0, 1 },
    /* resized twice, by nearest pixels: some images, or all */
    { "[{resize: {size: [17, 13], filter: nearest}}, {size_crop: {sides: [6, 11]}}, {resize: {size: [10, 9], filter: "
      "nearest}}, {flip: {horizontal: 0.5}}]",
      CROP, 1 },
    { "[{flip: {vertical: 0.5}}, {one_of: [{stages: [{resize: {square: 12, filter: nearest}}]}, {stages: [{resize: "
      "{shortest: [15, 20], filter: nearest}}, {size_crop: {sides: [9, 14]}}, {resize: {square: 12, filter: "
      "nearest}}]}]}, {policy: {branches: [{op: rotate, value: 10}, identity]}}]",
      CROP, 1 },
};

/* Where a crop alone took its pixels from: column x of a result is column x + by[0] of its image. */
static void crop_began(const uint8_t *result, int32_t width, int32_t height, double by[2])
{
    for (int32_t k = 0; k < width * height; k++)
        if (result[3 * k]) {
            by[0] = result[3 * k] - 1 - k % width;
            by[1] = result[3 * k + 1] - 1 - k / width;
            return;
        }
    need(0, "a crop shows nothing of its image");
}

static double cut(double v, double most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* Boxes and points behind a crop alone, by hand: what is outside the image is cut off, then what is outside the crop.
 */
static void check_cropped(const char *name, const numbers *n, const motley_followed *f, const uint8_t *results,
                          const int32_t from[2], const int32_t to[2])
{
    double *const boxes = allocate((4 * n->boxes + 1) * sizeof(double));
    double *const points = allocate((2 * n->points + 1) * sizeof(double)), by[2] = { 0, 0 };
    copy_on(context, boxes, f->boxes, 4 * n->boxes * sizeof(double));
    copy_on(context, points, f->points, 2 * n->points * sizeof(double));
    for (size_t i = 0; i < n->images; i++) {
        crop_began(results + i * (size_t)(to[0] * to[1]) * 3, to[0], to[1], by);
        for (size_t b = n->box_offsets[i]; b < n->box_offsets[i + 1]; b++) {
            double wanted[4];
            for (int k = 0; k < 4; k++)
                wanted[k] = cut(cut(n->box[4 * b + k], from[k % 2]) - by[k % 2], to[k % 2]);
            if (wanted[0] < wanted[2] && wanted[1] < wanted[3] && memcmp(&boxes[4 * b], wanted, sizeof wanted) != 0)
                fail(name, "boxes by hand", b);
        }
        for (size_t p = 2 * n->point_offsets[i]; p < 2 * n->point_offsets[i + 1]; p++)
            if (points[p] != n->point[p] - by[p % 2])
                fail(name, "points by hand", p);
    }
    compared += (long)(n->boxes + n->points);
    free(boxes);
    free(points);
}

/* Moves images of w x h, whose pixels say where they are (column + 1, row + 1; the fill is 0), with all that follows.
 * Each element of a plane must be where the image says. */
static void check_crop(size_t which, int32_t w, int32_t h, size_t size)
{
    static numbers n;
    static int32_t widths[IMAGES], heights[IMAGES], counts[IMAGES];
    static motley_place places[IMAGES];
    char text[400], name[100];
    motley_policy *policy;
    motley_error error;
    snprintf(text, sizeof text, "{motley: 1, name: crops, stages: %s}", crops[which].stages);
    snprintf(name, sizeof name, "%.60s of %dx%d, %zu bytes", crops[which].stages, w, h, size);
    need(motley_policy_parse(text, strlen(text), NULL, &policy, &error) == MOTLEY_OK, text);
    const motley_policy_info *const info = motley_policy_describe(policy);
    const size_t in = (size_t)w * (size_t)h, out = (size_t)info->width * (size_t)info->height;
    uint8_t *const pixels = allocate(CROPPED * in * 3), *const results = allocate(CROPPED * out * 3);
    uint8_t *const from = allocate(CROPPED * PLANES * in * size), *const to = allocate(CROPPED * PLANES * out * size);
    motley_step *const steps = allocate((CROPPED * info->max_steps + 1) * sizeof *steps);
    uint64_t state = which + 1;
    for (size_t k = 0; k < CROPPED * in; k++) {
        pixels[3 * k] = (uint8_t)(k % (size_t)w + 1);
        pixels[3 * k + 1] = (uint8_t)(k % in / (size_t)w + 1);
    }
    for (size_t k = 0; k < CROPPED * PLANES * in * size; k++)
        from[k] = (uint8_t)input_random(&state);
    for (size_t i = 0; i < CROPPED; i++)
        widths[i] = w, heights[i] = h;
    make_numbers(&n, CROPPED, widths, heights);
    motley_planes planes = { .element_size = (int32_t)size, .fill = { 250, 1, 2, 3, 4, 5, 6, 7 }, .count = PLANES };
    planes.src = sent(from, CROPPED * PLANES * in * size);
    planes.dst = create(CROPPED * PLANES * out * size);
    const motley_batch src = {
        .count = CROPPED, .channels = 3, .data = sent(pixels, CROPPED * in * 3), .width = w, .height = h
    };
    const motley_batch dst = {
        .count = CROPPED, .channels = 3, .data = create(CROPPED * out * 3), .width = info->width, .height = info->height
    };
    motley_followed f = send_followed(&n, 0, &limits, MOTLEY_CONTINUOUS);
    f.planes = &planes;
    f.planes_count = 1;
    const motley_samples samples = { .seed = 3, .first = which * 1000 + in };
    need(motley_apply(context, policy, &src, &dst, &(motley_apply_params){ .samples = samples, .followed = &f },
                      &error) == MOTLEY_OK,
         error.message);
    copy_on(context, results, dst.data, CROPPED * out * 3);
    copy_on(context, to, planes.dst, CROPPED * PLANES * out * size);
    for (size_t k = 0; k < CROPPED * PLANES * out; k++) {
        const size_t plane = k / out, image = plane / PLANES;
        const uint8_t *const at = &results[3 * (image * out + k % out)];
        const size_t source = at[0] ? (size_t)(at[1] - 1) * (size_t)w + at[0] - 1 : 0;
        if (memcmp(&to[k * size], at[0] ? &from[(plane * in + source) * size] : planes.fill, size) != 0) {
            fail(name, "planes by hand", k);
            break;
        }
    }
    compared += (long)(CROPPED * PLANES * out * size);
    need(motley_draw(policy, &samples, CROPPED, widths, heights, 3, places, steps, counts, &error) == MOTLEY_OK,
         error.message);
    const motley_drawn drawn = { CROPPED, steps, counts, info->max_steps, widths, heights, places };
    check_followed(name, &n, &drawn, &f);
    if (!crops[which].moves)
        check_cropped(name, &n, &f, results, (int32_t[]){ w, h }, (int32_t[]){ info->width, info->height });
    const void *const all[] = { src.data, dst.data, planes.src, planes.dst };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        motley_memory_destroy(context, (void *)all[i]);
    drop_followed(&f);
    drop_numbers(&n);
    motley_policy_destroy(policy);
    free(pixels), free(results), free(from), free(to), free(steps);
}

/* Images a pixel smaller than a crop, as large, and a pixel larger. */
static void check_crops(void)
{
    for (size_t which = 0; which < sizeof crops / sizeof *crops; which++)
        for (int32_t w = CROP - 1; w <= CROP + 1; w++)
            for (int32_t h = CROP - 1; h <= CROP + 1; h++)
                for (size_t size = 1; size <= 8; size *= SIZES_APART)
                    if (w + 2 * crops[which].padding >= CROP && h + 2 * crops[which].padding >= CROP)
                        check_crop(which, w, h, size);
}

/* Numbers in device memory that the calls on the host refuse; nothing beside them changes. */
static inline void check_wrong_numbers(set *s)
{
    motley_policy *policy;
    motley_error error;
    double boxes[5][4] = { { 1, 1, 5, 5 }, { NAN, 1, 5, 5 }, { 5, 1, 1, 5 }, { 200, 1, 300, 5 }, { 7, 7, 7, 7 } };
    double points[4][2] = { { 1, 1 }, { INFINITY, 1 }, { 1.7e308, 1.7e308 }, { 7, 7 } };
    const size_t box_offsets[IMAGES + 1] = { 0, 4, 100, 2 }, point_offsets[IMAGES + 1] = { 0, 3, 3 };
    static const char rotates[] =
        "{\"motley\": 1, \"name\": \"r\", \"branches\": [{\"op\": \"rotate\", \"value\": 45}]}";
    need(motley_policy_parse(rotates, strlen(rotates), NULL, &policy, &error) == MOTLEY_OK, error.message);
    motley_followed f = { .boxes_count = 4,
                          .boxes = sent(boxes, sizeof boxes),
                          .box_offsets = sent(box_offsets, sizeof box_offsets),
                          .keep = create(4),
                          .points_count = 3,
                          .points = sent(points, sizeof points),
                          .point_offsets = sent(point_offsets, sizeof point_offsets),
                          .flags = create(3) };
    const motley_apply_params params = { .followed = &f };
    const motley_status status = motley_apply(context, policy, &s->batch, &s->batch, &params, &error);
    if (context == host) {
        need(status == MOTLEY_ERR_ARGUMENT, "the host takes wrong boxes");
        drop_followed(&f);
    } else {
        need(status == MOTLEY_OK, error.message);
        uint8_t keep[4];
        copy_on(context, boxes, f.boxes, sizeof boxes);
        copy_on(context, points, f.points, sizeof points);
        copy_on(context, keep, f.keep, sizeof keep);
        for (int b = 0; b < 5; b++)
            if (isnan(boxes[b][0]) != (b >= 1 && b <= 3) || (b >= 1 && b <= 3 && keep[b]))
                fail("wrong boxes", "boxes", (size_t)b);
        if (boxes[4][0] != 7 || points[3][0] != 7 || isnan(points[0][0]) || !isnan(points[1][0]) ||
            !isnan(points[2][0]))
            fail("wrong points", "points", 0);
        drop_followed(&f);
        f = (motley_followed){ .boxes_count = 1, .boxes = boxes, .box_offsets = box_offsets };
        need(motley_apply(context, policy, &s->batch, &s->batch, &params, &error) == MOTLEY_ERR_ARGUMENT &&
                 strstr(error.message, "followed boxes is host memory"),
             "boxes in host memory are taken");
    }
    motley_policy_destroy(policy);
}

/* ---- graphs ---- */

#ifdef HAVE_CUDART
/* A captured call of a policy or a transform: at each replay boxes and points move as that replay's images do. */
static void check_graph(set *s, const char *name, int is_transform)
{
    motley_error error;
    motley_policy *policy = NULL;
    motley_policy *transform = NULL;
    need((is_transform ? motley_policy_builtin(name, &transform, &error)
                       : motley_policy_builtin(name, &policy, &error)) == MOTLEY_OK,
         error.message);
    const motley_policy_info *const info = transform ? motley_policy_describe(transform) : NULL;
    const size_t most = info ? info->max_steps : motley_policy_describe(policy)->max_steps;
    motley_step *const steps = allocate((IMAGES * most + 1) * sizeof *steps);
    int32_t *const counts = allocate(IMAGES * sizeof *counts);
    motley_place *const places = allocate(IMAGES * sizeof *places);
    void *const results =
        create(info ? (size_t)IMAGES * (size_t)info->width * (size_t)info->height * 3 * sizeof(float) : 0);
    const motley_batch transformed = { .count = IMAGES,
                                       .channels = 3,
                                       .dtype = MOTLEY_F32,
                                       .layout = MOTLEY_CHW,
                                       .data = results,
                                       .width = info ? info->width : 0,
                                       .height = info ? info->height : 0 };
    const motley_followed f = send_followed(&s->n, 1, &limits, MOTLEY_INDEX);
    void *const boxes = sent_numbers(s->n.box, 4 * s->n.boxes, 1);
    void *const points = sent_numbers(s->n.point, 2 * s->n.points, 1);
    uint64_t at[2] = { 0, 0 }, *const counter = sent(at, sizeof at);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    need_cuda(cudaStreamCreate(&stream));
    const motley_apply_params params = {
        .samples = { .seed = 3 }, .stream = stream, .counter = counter, .followed = &f
    };
    const motley_apply_params whole = {
        .samples = { .seed = 3 }, .stream = stream, .counter = counter, .followed = &f
    };
    for (int captured = 0; captured < 2; captured++) { /* the first call takes the memory */
        if (captured)
            need_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        need((info ? motley_apply(context, transform, &s->batch, &transformed, &whole, &error)
                   : motley_apply(context, policy, &s->batch, &s->batch, &params, &error)) == MOTLEY_OK,
             error.message);
    }
    need_cuda(cudaStreamEndCapture(stream, &graph));
    need_cuda(cudaGraphInstantiate(&replay, graph, 0));
    for (uint32_t turn = 0; turn < 3; turn++) {
        at[0] = turn;
        at[1] = 1000 * turn;
        copy_on(context, counter, at, sizeof at);
        copy_on(context, f.boxes, boxes, 4 * s->n.boxes * sizeof(float));
        copy_on(context, f.points, points, 2 * s->n.points * sizeof(float));
        need_cuda(cudaGraphLaunch(replay, stream));
        need_cuda(cudaStreamSynchronize(stream));
        const motley_samples samples = { .seed = 3, .epoch = turn, .first = at[1] };
        need((info ? motley_draw(transform, &samples, IMAGES, s->widths, s->heights, 3, places, steps, counts, &error)
                   : motley_draw(policy, &samples, IMAGES, s->widths, s->heights, 3, NULL, steps, counts, &error)) ==
                 MOTLEY_OK,
             error.message);
        const motley_drawn drawn = { IMAGES, steps, counts, most, s->widths, s->heights, info ? places : NULL };
        check_followed(name, &s->n, &drawn, &f);
    }
    need_cuda(cudaGraphExecDestroy(replay));
    need_cuda(cudaGraphDestroy(graph));
    need_cuda(cudaStreamDestroy(stream));
    void *const all[] = { boxes, points, counter, results };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        motley_memory_destroy(context, all[i]);
    drop_followed(&f);
    motley_policy_destroy(transform);
    motley_policy_destroy(policy);
    free(steps);
    free(counts);
    free(places);
}
#endif

/* ---- clips ---- */

/* Clips have the CPU's bytes, in place and to normalised output. */
static void check_clips(const char *name)
{
    motley_policy *policy;
    motley_error error;
    const size_t images = IMAGES / CLIP_FRAMES * CLIP_FRAMES, bytes = images * SIDE * SIDE * 3;
    uint8_t *const pixels = allocate(bytes);
    uint64_t ids[IMAGES], state = 9;
    for (size_t i = 0; i < bytes; i++)
        pixels[i] = (uint8_t)(input_random(&state) % (40 + 200 * (i / (SIDE * SIDE * 3) % CLIP_FRAMES) / CLIP_FRAMES));
    for (size_t i = 0; i < images; i++)
        ids[i] = i / CLIP_FRAMES;
    need(motley_policy_builtin(name, &policy, &error) == MOTLEY_OK, error.message);
    const motley_apply_params params = { .samples = { .seed = 4, .ids = ids }, .clip_frames = CLIP_FRAMES };
    for (int planes = 0; planes < 2; planes++) {
        motley_batch batch = { .count = images, .channels = 3, .width = SIDE, .height = SIDE };
        batch.layout = planes ? MOTLEY_CHW : MOTLEY_HWC;
        batch.data = sent(pixels, bytes);
        need(motley_apply(context, policy, &batch, &batch, &params, &error) == MOTLEY_OK, error.message);
        void *const made = batch.data;
        uint8_t *const wanted = allocate(bytes);
        memcpy(wanted, pixels, bytes);
        batch.data = wanted;
        need(motley_apply(host, policy, &batch, &batch, &params, &error) == MOTLEY_OK, error.message);
        compare(name, "frames of clips", made, wanted, bytes);
        motley_memory_destroy(context, made);
        free(wanted);
    }
    motley_policy_destroy(policy);
    free(pixels);
}

int main(int argc, char **argv)
{
    static set several, one;
    const motley_backend backend = backend_of(argc, argv);
    const int cuda = backend == MOTLEY_BACKEND_CUDA;
    context = open_on(backend, 1, argc > 2);
    host = cuda ? open_on(MOTLEY_BACKEND_CPU, 1, 1) : context;
    make_set(&several, 0);
    make_set(&one, 1);
    sweep(input_builtins(false) + builtin_parts(), "built-in policies and transforms");
    for (size_t i = 0; i < input_builtins(false); i += sweep_every()) {
        check_policy(&several, input_builtin(false, i)->name, (int)i);
        check_policy(&one, input_builtin(false, i)->name, (int)i + 1);
    }
    check_policy(&several, "timm:rand-m9-n16-mstd0.5-inc1", 1); /* boxes may get many corners: few threads have one */
    for (size_t i = 0; i < builtin_parts(); i += sweep_every())
        check_transform(i % 2 ? &several : &one, &one, i);
#ifdef HAVE_CUDART
    for (int i = 0; cuda && i < 2; i++) {
        check_graph(i ? &several : &one, "rand_augment", 0);
        check_graph(i ? &several : &one, "torchvision_train_v2", 1);
    }
#endif
#ifndef MOT_EMULATE /* which does not look at pointers */
    check_wrong_numbers(&one);
#endif
    check_crops();
    check_clips("rand_augment");
    check_clips("auto_augment_imagenet");
    drop_set(&several);
    drop_set(&one);
    if (cuda)
        motley_context_destroy(host);
    close_on(backend, context);
    printf("%s: %ld bytes compared, %d failures\n", argv[1], compared, failures);
    return failures > 0 || compared == 0;
}
