/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend against the CPU's, through the public calls: every op x layout x channels x interpolation x size x
 * value, every built-in policy, canaries around every buffer. One differing byte fails.
 *
 *     check_cuda [--require] [--op NAME] [--policy NAME] [--quick] [--brief] [--large] [--huge] [--coverage]
 *
 * --quick: fewer layouts, values and images. --brief: a handful of images for each op and policy that still reach every
 * kind of group of threads, for compute-sanitizer's racecheck, which is slow. --large: large images, and all others on
 * the tiles route as well; with --brief, only the latter. --huge: only batches beyond 2^31 bytes. --coverage: at the
 * end, how many batches took each route and why, and the kernels that no batch used; such a kernel is a failure, unless
 * only some ops or policies were requested.
 *
 * Without a CUDA device it prints that it skips and exits 77, which `meson test` counts; with --require that is a
 * failure. */
#include "dispatch/cuda/state.h"
#include "motley.h"
#include "tests/batches.h"
#include "tests/contexts.h"
#include "tests/options.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define SEED 20190924u
#define MAX_IMAGES 512
#define MAX_VALUES 24

static motley_context *cuda, *cpu;
static long cases;
static int64_t quick, brief;
static int backward_planes;
static size_t multiprocessors;

/* ---- the routes of batches ---- */

#define MOST_REASONS 32

static const char *const format_names[MOT_FORMATS] = { "grey", "RGB", "planes", "RGBA", "strided" };
static long taken[MOT_ROUTES][MOT_FORMATS][2], blurred[MOT_FORMATS][2]; /* blurred: of resident images */
static struct {
    mot_cuda_last run;
    long batches;
} reasons[MOST_REASONS];

/* Counts the route of the last queued batch. */
static void note_run(void)
{
    const mot_cuda_last run = mot_cuda_last_run(cuda);
    size_t i = 0;
    taken[run.route][run.format][run.output]++;
    blurred[run.format][run.output] += run.route == MOT_ROUTE_RESIDENT && run.blurs;
    while (i < MOST_REASONS && reasons[i].batches && reasons[i].run.reason != run.reason)
        i++;
    need(i < MOST_REASONS, "more reasons for routes than were thought of");
    reasons[i].run = run;
    reasons[i].batches++;
}

/* Returns the number of kernels that no batch used. */
static int report_runs(void)
{
    int missed = 0;
    for (size_t i = 0; i < MOST_REASONS && reasons[i].batches; i++)
        printf("%6ld batches took the route %s: %s\n", reasons[i].batches, mot_route_names[reasons[i].run.route],
               reasons[i].run.reason);
    for (int route = 0; route < MOT_ROUTES; route++)
        for (int format = 0; format < (route == MOT_ROUTE_TILES ? MOT_FORMATS : MOT_RESIDENT_FORMATS); format++)
            for (int output = 0; output < 2; output++)
                if (!taken[route][format][output]) {
                    printf("no batch took %s, %s, %s\n", mot_route_names[route], format_names[format],
                           output ? "to an output" : "in bytes");
                    missed++;
                }
    for (int format = 0; format < MOT_RESIDENT_FORMATS; format++)
        for (int output = 0; output < 2; output++)
            if (!blurred[format][output]) {
                printf("no batch took resident with blurs, %s, %s\n", format_names[format],
                       output ? "to an output" : "in bytes");
                missed++;
            }
    return missed;
}

/* ---- policies ---- */

/* Policies whose steps the image and tile kernels do not run alone: filters, and chains that are mixed. */
#define HEAD "motley: 1\nname: x\n"
#define OPS \
    "bins: 10\nlevel: uniform\nops:\n  rotate: {range: [0, 30], sign: random}\n  shear_x: {range: [0, 0.3], sign: " \
    "random}\n" \
    "  sharpness: {range: [0.1, 1.9]}\n  gaussian_blur: {range: [0.5, 2]}\n  contrast: {range: [0.1, 1.9]}\n"
#define BRANCHES "branches: [rotate, shear_x, sharpness, gaussian_blur, contrast, equalize, invert, "
static const struct {
    const char *name, *text;
} written[] = {
    { "filters", HEAD "interpolation: bilinear\nfill: [7, 8, 9]\nrepeat: 3\n" OPS BRANCHES
                      "detail, emboss, blur, smooth_more]\n" },
    { "filters only", HEAD "repeat: {weights: [1, 1, 1]}\nbranches: [detail, emboss, blur, smooth_more]\n" },
    { "filters in one step of two",
      HEAD "repeat: 2\n" OPS "branches:\n  - {steps: [rotate, blur]}\n"
           "  - {steps: [emboss, {op: shear_x, p: 0.5}]}\n  - {steps: [contrast, invert]}\n" },
    { "chains of filters", HEAD "fill: 128\naugmix: {width: 3, alpha: 1, form: sum}\n"
                                "repeat: {weights: [1, 2, 2]}\n" OPS BRANCHES "blur, emboss]\n" },
    { "two blends", HEAD "augmix: {width: 2, alpha: 0.5, form: blends}\nrepeat: 2\n" OPS BRANCHES "smooth_more]\n" },
    { "given levels", HEAD "repeat: 2\ntop: 9\nlevel: given\nops: {rotate: {range: [0, 30], sign: random}, "
                           "color: {range: [0.1, 1.9]}, cutout: {range: [0, 20]}, translate_x: {range: [0, 0.4], of: "
                           "width}}\nbranches: [rotate, color, [cutout, translate_x], equalize]\n" },
    { "at all, as often as given",
      HEAD "p: 0.6\nrepeat: {given: [0, 3]}\n" OPS BRANCHES "emboss, [shear_x, invert]]\n" },
    { "given levels of filters", HEAD "bins: 10\nlevel: given\nrepeat: 2\nops: {rotate: {range: [0, 30]}, "
                                      "contrast: {range: [0.1, 1.9]}}\nbranches: [rotate, contrast, emboss]\n" },
    { "given levels of chains", HEAD "bins: 10\nlevel: {given: [2, 7]}\naugmix: {width: 3}\nops: {rotate: {range: "
                                     "[0, 30]}, contrast: {range: [0.1, 1.9]}}\nbranches: [rotate, contrast]\n" },
};
#define WRITTEN (sizeof written / sizeof *written)

/* A policy without breaks: blurs of every width that an image in shared memory takes, beside ops of every shape. */
static const char *const narrow_blurs =
    HEAD "bins: 40\nlevel: uniform\nrepeat: 3\nfill: [7, 8, 9]\nops:\n  gaussian_blur: {range: [0, 3.3]}\n"
         "  rotate: {range: [0, 30]}\n  contrast: {range: [0.1, 1.9]}\n  sharpness: {range: [0.1, 1.9]}\n"
         "branches: [gaussian_blur, gaussian_blur, gaussian_blur, rotate, contrast, sharpness, invert, equalize]\n";

/* What policies that take levels get, on the host and on the device. */
static float levels[4096], *device_levels;

static void draw_levels(uint64_t seed)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const uint64_t drawn = input_random(&seed);
        levels[i] = drawn % 32 ? (float)(drawn >> 8 & 0xFFFF) / 60000 - 0.05f : NAN;
    }
    need_cuda(cudaMemcpy(device_levels, levels, sizeof levels, cudaMemcpyHostToDevice));
}

/* motley_apply, with levels, which no policy takes for a batch that has more images. */
static motley_status apply(motley_context *context, const motley_policy *policy, const motley_batch *src,
                           const motley_batch *dst, const motley_apply_params *params, motley_error *error)
{
    motley_apply_params own = *params;
    if (src->count <= sizeof levels / sizeof *levels)
        own.samples.levels = context == cuda ? device_levels : levels;
    return motley_apply(context, policy, src, dst, &own, error);
}

/* One of these, or a built-in. */
static motley_status open_policy(const char *name, motley_policy **policy, motley_error *error)
{
    for (size_t i = 0; i < WRITTEN; i++)
        if (strcmp(name, written[i].name) == 0)
            return motley_policy_parse(written[i].text, strlen(written[i].text), NULL, policy, error);
    if (strcmp(name, "narrow blurs") == 0)
        return motley_policy_parse(narrow_blurs, strlen(narrow_blurs), NULL, policy, error);
    return motley_policy_builtin(name, policy, error);
}

/* A batch of images, each with its own buffer: on the host, and the same bytes in one piece of device memory. */
typedef struct batch {
    size_t count, bytes;
    int channels;
    input_buffer buffer[MAX_IMAGES];
    size_t offset[MAX_IMAGES]; /* in the device memory */
    motley_image host[MAX_IMAGES], device[MAX_IMAGES];
    uint8_t *memory, *back;
} batch;

static void add_image(batch *b, input_layout layout, input_size size, int channels)
{
    need(b->count < MAX_IMAGES, "too many images in a batch");
    need(input_buffer_make(&b->buffer[b->count], layout, size, channels), "no memory");
    b->channels = channels;
    b->offset[b->count] = b->bytes;
    b->bytes += b->buffer[b->count].size;
    b->bytes = (b->bytes + 255) & ~(size_t)255; /* so that alignment depends on the layout alone */
    b->count++;
}

static void send(batch *b)
{
    need_cuda(cudaMalloc((void **)&b->memory, b->bytes));
    b->back = calloc(1, b->bytes);
    need(b->back != NULL, "no memory");
    for (size_t i = 0; i < b->count; i++) {
        memcpy(b->back + b->offset[i], b->buffer[i].bytes, b->buffer[i].size);
        b->host[i] = b->device[i] = b->buffer[i].image;
        b->device[i].data = b->memory + b->offset[i] + ((uint8_t *)b->buffer[i].image.data - b->buffer[i].bytes);
    }
    need_cuda(cudaMemcpy(b->memory, b->back, b->bytes, cudaMemcpyHostToDevice));
}

static void drop(batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        free(b->buffer[i].bytes);
    cudaFree(b->memory);
    free(b->back);
}

/* Compares what CUDA wrote with what the CPU wrote into the host buffers, canaries included. */
static int same(batch *b, const char *what)
{
    need_cuda(cudaMemcpy(b->back, b->memory, b->bytes, cudaMemcpyDeviceToHost));
    int ok = 1;
    for (size_t i = 0; i < b->count; i++) {
        const uint8_t *got = b->back + b->offset[i], *wanted = b->buffer[i].bytes;
        cases++;
        const difference d = difference_of(got, wanted, b->buffer[i].size);
        if (d.bytes == 0)
            continue;
        const motley_image *im = &b->host[i];
        fprintf(stderr, "%s: image %zu (%" PRId32 "x%" PRId32 "x%d): %zu bytes differ, first %zu is %d, want %d", what,
                i, im->width, im->height, b->channels, d.bytes, d.first, got[d.first], wanted[d.first]);
        print_component(&b->buffer[i], d.first);
        ok = 0;
        if (++failures >= 30) {
            fprintf(stderr, "check_cuda: stopped after %d failures\n", failures);
            exit(1);
        }
    }
    return ok;
}

static void need_status(motley_status status, const motley_error *error, const char *what)
{
    if (status != MOTLEY_OK) {
        fprintf(stderr, "check_cuda: %s: %s: %s\n", what, motley_status_name(status), error->message);
        failures++;
    }
}

static const struct {
    input_layout src, dst;
    int in_place;
} pairs[] = {
    { INPUT_PACKED, INPUT_PACKED, 1 },           { INPUT_PLANAR, INPUT_PLANAR, 1 },
    { INPUT_PADDED, INPUT_PADDED, 1 },           { INPUT_PACKED, INPUT_PLANAR, 0 },
    { INPUT_PLANAR_PADDED, INPUT_UNALIGNED, 0 }, { INPUT_UPWARDS, INPUT_UPWARDS, 1 },
    { INPUT_REVERSED, INPUT_REVERSED, 1 },       { INPUT_TRANSPOSED, INPUT_WIDE, 0 },
    { INPUT_UNALIGNED, INPUT_UNALIGNED, 1 },     { INPUT_PLANAR_UPWARDS, INPUT_PLANAR_UPWARDS, 1 },
};
#define PAIRS (sizeof pairs / sizeof pairs[0])

/* The images on the device, all of one size and layout, as a batch with strides in place of a list. */
static motley_batch with_strides(const batch *b)
{
    const motley_image *const first = &b->device[0];
    return (motley_batch){ .count = b->count,
                           .channels = b->channels,
                           .data = first->data,
                           .width = first->width,
                           .height = first->height,
                           .image_stride = b->count > 1 ? (int64_t)(b->offset[1] - b->offset[0]) : 0,
                           .row_stride = first->row_stride,
                           .pixel_stride = first->pixel_stride,
                           .channel_stride = first->channel_stride };
}

static int is_one_size(const input_size *sizes, size_t count)
{
    size_t same = 1;
    while (same < count && sizes[same].width == sizes[0].width && sizes[same].height == sizes[0].height)
        same++;
    return same == count;
}

/* One batch of these sizes, each with `each` values; --brief, or more sizes than INPUT_SIZES: each with another one of
 * them. Images of one size go to the device with strides, because a list of images takes the tiles. */
static void check_op_batch(int op, int channels, motley_interpolation interpolation, size_t pair,
                           const input_size *sizes, size_t sizes_count, int each)
{
    static const double fill[4] = { 125, 123, 114, 200 };
    const motley_op_info *info = motley_op_get(op);
    batch *src = calloc(1, sizeof *src), *dst = calloc(1, sizeof *dst);
    double *values = calloc(MAX_IMAGES * MOTLEY_MAX_VALUES, sizeof *values);
    double some[MAX_VALUES][MOTLEY_MAX_VALUES];
    need(src && dst && values, "no memory");
    const int tried = input_values(info, SEED + (uint64_t)op, each, some);
    /* the first image of --brief has a value that does something: the example, or a matrix with all of its parts */
    const size_t from = info->values_min == 6 ? 7 : isnan(info->neutral) ? 0 : 1;
    const int in_place = pairs[pair].in_place;
    for (size_t size = 0; size < sizes_count; size++)
        for (int v = 0; v < tried; v++) {
            if ((brief || sizes_count > INPUT_SIZES) && (size_t)v != (from + size) % (size_t)tried)
                continue;
            if (info->shape == MOTLEY_SHAPE_BLUR && some[v][0] > 40 && sizes[size].width > 40 && sizes_count > 1)
                continue;
            add_image(src, pairs[pair].src, sizes[size], channels);
            const size_t i = src->count - 1;
            buffer_fill(&src->buffer[i], (input_kind)((size_t)v % INPUT_KINDS), SEED + i);
            memcpy(values + i * (size_t)info->values_max, some[v], (size_t)info->values_max * sizeof(double));
            if (!in_place)
                add_image(dst, pairs[pair].dst, sizes[size], channels);
        }
    send(src);
    if (!in_place)
        send(dst);
    batch *to = in_place ? src : dst;
    const motley_op_params params = { .interpolation = interpolation, .fill = fill };
    motley_batch host_src = { .count = src->count, .channels = channels, .images = src->host };
    motley_batch host_dst = { .count = src->count, .channels = channels, .images = to->host };
    motley_batch device_src = { .count = src->count, .channels = channels, .images = src->device };
    motley_batch device_dst = { .count = src->count, .channels = channels, .images = to->device };
    if (is_one_size(sizes, sizes_count))
        device_src = with_strides(src), device_dst = with_strides(to);
    host_src.alpha = host_dst.alpha = device_src.alpha = device_dst.alpha =
        channels % 2 == 0 && ((size_t)op + pair) % 2 == 0;
    char what[160];
    snprintf(what, sizeof what, "%s, %s to %s%s, interpolation %d, %zu sizes from %" PRId32 "x%" PRId32, info->name,
             input_layout_names[pairs[pair].src], input_layout_names[pairs[pair].dst], in_place ? " in place" : "",
             (int)interpolation, sizes_count, sizes[0].width, sizes[0].height);
    motley_error error = { 0 };
    need_status(motley_op_apply(cpu, op, values, info->values_max, &host_src, &host_dst, &params, &error), &error,
                what);
    need_status(motley_op_apply(cuda, op, values, info->values_max, &device_src, &device_dst, &params, &error), &error,
                what);
    note_run();
    need(cudaDeviceSynchronize() == cudaSuccess, what);
    if (!same(to, what))
        for (size_t i = 0; i < src->count && info->values_max; i++)
            fprintf(stderr, "%s%.9g", i ? " " : "  values: ", values[i * (size_t)info->values_max]);
    if (failures)
        fprintf(stderr, "\n");
    if (!in_place)
        same(src, "src");
    drop(src);
    if (!in_place)
        drop(dst);
    free(src);
    free(dst);
    free(values);
}

static void check_op(int op)
{
    /* one for each multiprocessor: fewer images of so many pixels take tiles */
    static input_size resident[MAX_IMAGES];
    need(multiprocessors <= MAX_IMAGES, "more multiprocessors than images of a batch");
    for (size_t i = 0; i < multiprocessors; i++)
        resident[i] = (input_size){ 132, 132 };
    const int interpolations = motley_op_get(op)->shape == MOTLEY_SHAPE_WARP ? 3 : 1;
    for (int channels = 1; channels <= 4; channels++)
        for (int interpolation = 0; interpolation < interpolations; interpolation++)
            for (size_t pair = 0; pair < (quick ? 4 : PAIRS); pair++) {
                const motley_interpolation how = (motley_interpolation)interpolation;
                check_op_batch(op, channels, how, pair, input_sizes, INPUT_SMALL_SIZES, MAX_VALUES);
                if (pair < 4 && (channels != 2 || !quick)) {
                    check_op_batch(op, channels, how, pair, &input_sizes[INPUT_SIZES - 2], 1, MAX_VALUES);
                    check_op_batch(op, channels, how, pair, &input_sizes[4], INPUT_SIZES - 5, 4); /* small and large */
                }
                if (pair < 2 && channels == 3)
                    check_op_batch(op, channels, how, pair, &input_sizes[INPUT_SIZES - 1], 1, quick ? 4 : 8);
                if (pair < 2 && channels % 2 && how == MOTLEY_NEAREST && !brief)
                    check_op_batch(op, channels, how, pair, resident, multiprocessors, MAX_VALUES);
            }
}

/* A steep warp of an image whose last tile is one pixel wide. For the tile's columns past the image's edge, it would
 * read positions inside the image that are a hundred rows away. */
static void check_past_edge(void)
{
    static const double matrices[][6] = { { 0, 1, 0, -30, 0.3, 30 * 784 + 195 },
                                          { 0, 1, 0, -100, 0.3, 100 * 784 + 195 } };
    static const input_size size = { 785, 390 };
    const int affine = motley_op_find("affine");
    motley_error error;
    for (int k = 0; k < 2 * 3; k++) {
        batch *const src = calloc(1, sizeof *src);
        need(src != NULL, "no memory");
        add_image(src, INPUT_PACKED, size, 3);
        buffer_fill(&src->buffer[0], (input_kind)0, SEED);
        send(src);
        const motley_op_params params = { .interpolation = (motley_interpolation)(k / 2) };
        const motley_batch host = { .count = 1, .channels = 3, .images = src->host };
        const motley_batch device = { .count = 1, .channels = 3, .images = src->device };
        const char *const what = "a steep warp of a narrow tile";
        need_status(motley_op_apply(cpu, affine, matrices[k % 2], 6, &host, &host, &params, &error), &error, what);
        need_status(motley_op_apply(cuda, affine, matrices[k % 2], 6, &device, &device, &params, &error), &error, what);
        note_run();
        need(cudaDeviceSynchronize() == cudaSuccess, what);
        same(src, what);
        drop(src);
        free(src);
    }
}

/* Few images of each size at which the image kernel takes another number of threads (dispatch/cuda/route.c),
 * and of each kind of layout. The largest take tiles, low ones alone and higher ones among small images. */
static void check_op_brief(int op)
{
    static const struct {
        size_t pair;
        int channels;
        input_size size;
        size_t count;
        int filled; /* with small images */
    } batches[] = {
        { 0, 3, { 31, 33 }, 4, 0 },   { 0, 3, { 63, 61 }, 1, 0 },   { 0, 3, { 120, 100 }, 1, 0 },
        { 0, 3, { 160, 130 }, 1, 0 }, { 0, 3, { 160, 130 }, 1, 1 }, { 1, 3, { 33, 31 }, 2, 0 },
        { 1, 3, { 132, 140 }, 1, 0 }, { 1, 3, { 132, 140 }, 1, 1 }, { 2, 3, { 33, 31 }, 1, 0 },
        { 3, 3, { 33, 31 }, 1, 0 },   { 0, 1, { 17, 5 }, 2, 0 },    { 0, 1, { 64, 48 }, 1, 0 },
        { 0, 2, { 17, 5 }, 1, 0 },    { 0, 4, { 33, 31 }, 2, 0 },
    };
    static const input_size small[] = { { 1, 1 }, { 5, 3 }, { 3, 17 } };
    const int interpolations = motley_op_get(op)->shape == MOTLEY_SHAPE_WARP ? 3 : 1;
    for (int interpolation = 0; interpolation < interpolations; interpolation++)
        for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
            input_size sizes[MAX_IMAGES];
            size_t n = 0;
            while (n < batches[b].count)
                sizes[n++] = batches[b].size;
            for (; batches[b].filled && n < multiprocessors && n < MAX_IMAGES; n++)
                sizes[n] = small[n % 3];
            check_op_batch(op, batches[b].channels, (motley_interpolation)interpolation, batches[b].pair, sizes, n, 8);
        }
}

/* Images that no CTA can hold, alone and among others. */
static void check_op_large(int op)
{
    static const input_size large[] = { { 1500, 1100 } }, huge[] = { { 4000, 3000 } };
    static const input_size thin[] = { { 1, 5000 }, { 5000, 1 }, { 3, 20001 } };
    static const input_size wide[] = { { 40000, 41 }, { 70, 33000 } }; /* beyond 16.16 */
    static const input_size mixed[] = {
        { 33, 31 }, { 1500, 1100 }, { 1, 1 }, { 224, 224 }, { 1, 5000 }, { 1200, 1025 }
    };
    const motley_shape shape = motley_op_get(op)->shape;
    const int interpolations = shape == MOTLEY_SHAPE_WARP ? 3 : 1;
    const int far = shape == MOTLEY_SHAPE_WARP || shape == MOTLEY_SHAPE_BLUR;
    for (int channels = 1; channels <= 4; channels++)
        for (int interpolation = 0; interpolation < interpolations; interpolation++)
            for (size_t pair = 0; pair < (quick ? 4 : PAIRS); pair++) {
                const motley_interpolation how = (motley_interpolation)interpolation;
                if (channels == 3)
                    check_op_batch(op, channels, how, pair, large, 1, quick ? 2 : 6);
                if (channels == 3 ? pair < 5 : pair == (size_t)channels % 4)
                    check_op_batch(op, channels, how, pair, mixed, 6, quick ? 1 : 3);
                if (pair < 4)
                    check_op_batch(op, channels, how, pair, thin, 3, quick ? 4 : 8);
                if (far && channels == 3 && pair < (quick ? 1 : 2))
                    check_op_batch(op, channels, how, pair, wide, 2, op == motley_op_find("affine") ? 14 : 4);
            }
    check_op_batch(op, 3, MOTLEY_NEAREST, 0, huge, 1, quick ? 1 : 3);
}

/* A policy on n images of one size, in place, packed or planar. */
static void check_policy(const char *name, size_t n, int32_t width, int32_t height, motley_layout layout, int channels,
                         uint32_t epoch)
{
    motley_policy *policy = NULL;
    motley_error error = { 0 };
    need_status(open_policy(name, &policy, &error), &error, name);
    if (!policy)
        return;
    const size_t each = (size_t)width * (size_t)height * (size_t)channels, bytes = n * each;
    uint8_t *host = malloc(bytes), *back = malloc(bytes), *device;
    need(host && back, "no memory");
    need_cuda(cudaMalloc((void **)&device, bytes));
    uint64_t state = SEED + epoch;
    for (size_t i = 0; i < n; i++) /* smooth pictures with noise, and plain noise */
        for (size_t k = 0; k < each; k++)
            host[i * each + k] = (uint8_t)(i % 8 == 0 ? input_random(&state)
                                                      : k / (size_t)channels / (size_t)width + k % 61 * (i % 3) +
                                                            input_random(&state) % 23);
    need_cuda(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    motley_batch b = { .count = n,
                       .channels = channels,
                       .layout = layout,
                       .alpha = channels % 2 == 0 && epoch % 2,
                       .width = width,
                       .height = height };
    motley_batch on_device = b;
    b.data = host;
    on_device.data = device;
    if (backward_planes) { /* the first channel's plane is the last */
        const size_t last = (size_t)(channels - 1) * (size_t)width * (size_t)height;
        b.data = host + last;
        on_device.data = device + last;
        b.image_stride = on_device.image_stride = (int64_t)each;
        b.row_stride = on_device.row_stride = width;
        b.pixel_stride = on_device.pixel_stride = 1;
        b.channel_stride = on_device.channel_stride = -(int64_t)width * height;
    }
    const motley_apply_params params = { .samples = { .seed = 7, .epoch = epoch, .first = 1000 } };
    need_status(apply(cpu, policy, &b, &b, &params, &error), &error, name);
    need_status(apply(cuda, policy, &on_device, &on_device, &params, &error), &error, name);
    note_run();
    need(cudaMemcpy(back, device, bytes, cudaMemcpyDeviceToHost) == cudaSuccess, name);
    for (size_t i = 0; i < n; i++, cases++)
        if (memcmp(host + i * each, back + i * each, each) != 0) {
            motley_step steps[64];
            int32_t count = 0;
            const motley_samples sample = { .seed = 7, .epoch = epoch, .first = 1000 + i, .levels = levels + i };
            motley_draw(policy, &sample, 1, &width, &height, channels, NULL, steps, &count, &error);
            const difference d = difference_of(back + i * each, host + i * each, each);
            fprintf(stderr,
                    "%s, image %zu of %zu %" PRId32 "x%" PRId32 "x%d layout %d: %zu bytes differ, first %zu:", name, i,
                    n, width, height, channels, (int)layout, d.bytes, d.first);
            for (int32_t s = 0; s < count; s++)
                fprintf(stderr, " %s(%.9g)", mot_step_info(steps[s].op)->name, steps[s].values[0]);
            fprintf(stderr, "\n");
            if (++failures >= 30)
                exit(1);
        }
    motley_policy_destroy(policy);
    cudaFree(device);
    free(host);
    free(back);
}

/* A policy at a few sizes and layouts. */
static void check_policy_sizes(const char *name)
{
    if (brief) {
        check_policy(name, 2, 160, 130, MOTLEY_HWC, 3, 0);
        check_policy(name, 2, 33, 31, MOTLEY_CHW, 3, 1);
        check_policy(name, 2, 256, 128, MOTLEY_HWC, 3, 2);
        return;
    }
    const size_t n = quick ? 64 : 512;
    check_policy(name, n, 224, 224, MOTLEY_HWC, 3, 0);
    check_policy(name, n, 224, 224, MOTLEY_CHW, 3, 1);
    check_policy(name, 2 * n, 32, 32, MOTLEY_HWC, 3, 2);
    check_policy(name, n / 4, 224, 224, MOTLEY_HWC, 4, 3);
    check_policy(name, n / 4, 225, 225, MOTLEY_HWC, 3, 4);
    check_policy(name, n / 4, 28, 28, MOTLEY_HWC, 1, 5);
    check_policy(name, n / 16, 512, 512, MOTLEY_HWC, 3, 6);
    check_policy(name, n / 16, 512, 512, MOTLEY_CHW, 3, 7); /* groups of CTAs: many images, few, one channel ... */
    check_policy(name, 9, 240, 180, MOTLEY_HWC, 3, 8);
    check_policy(name, 5, 304, 211, MOTLEY_CHW, 3, 9); /* ... another number of rows for the last */
    check_policy(name, 40, 512, 360, MOTLEY_HWC, 1, 10);
    check_policy(name, 3, 1024, 1000, MOTLEY_HWC, 3, 11);
    backward_planes = 1;
    check_policy(name, 9, 512, 360, MOTLEY_CHW, 3, 12);
    check_policy(name, 9, 64, 48, MOTLEY_CHW, 3, 13);
    backward_planes = 0;
}

typedef struct output_case {
    motley_dtype dtype;
    motley_layout from, to;
    int with_dst;
    size_t count;
    int32_t width, height;
    int channels;       /* 0: 3 */
    int shift;          /* components between an aligned address and the output */
    const char *policy; /* NULL: rand_augment */
} output_case;

/* The fused last step: every type and both layouts, from both layouts, with and without a dst. */
static void check_output(output_case c)
{
    static const size_t sizes[] = { 1, 4, 2, 2 };
    const int C = c.channels ? c.channels : 3;
    const size_t SAMPLES = c.count * (size_t)c.width * (size_t)c.height * (size_t)C,
                 past = (size_t)c.shift * sizes[c.dtype];
    motley_policy *policy;
    motley_error error;
    need(open_policy(c.policy ? c.policy : "rand_augment", &policy, &error) == MOTLEY_OK, error.message);
    const size_t bytes = SAMPLES * sizes[c.dtype];
    uint8_t *host = malloc(SAMPLES), *wanted = calloc(1, bytes), *got = malloc(bytes), *work = malloc(SAMPLES);
    uint8_t *device, *device_out, *device_work;
    need(host && wanted && got && work, "no memory");
    need_cuda(cudaMalloc((void **)&device, SAMPLES));
    need_cuda(cudaMalloc((void **)&device_out, bytes + past));
    need_cuda(cudaMalloc((void **)&device_work, SAMPLES));
    uint64_t state = SEED;
    for (size_t i = 0; i < SAMPLES; i++)
        host[i] = (uint8_t)input_random(&state);
    need_cuda(cudaMemcpy(device, host, SAMPLES, cudaMemcpyHostToDevice));
    motley_batch src = { .count = c.count,
                         .channels = C,
                         .layout = c.from,
                         .alpha = C % 2 == 0 && c.with_dst,
                         .data = host,
                         .width = c.width,
                         .height = c.height },
                 dst = src;
    motley_apply_params params = { .samples = { .seed = 5 },
                                   .output = { .batch = { .count = c.count,
                                                          .channels = C,
                                                          .dtype = c.dtype,
                                                          .layout = c.to,
                                                          .alpha = C % 2 == 0 && c.with_dst,
                                                          .data = wanted,
                                                          .width = c.width,
                                                          .height = c.height },
                                               .mean = { 0.485f, 0.456f, 0.406f },
                                               .std = { 0.229f, 0.224f, 0 } } };
    char what[160];
    snprintf(what, sizeof what, "output of dtype %d, layout %d to %d, %d channels, %d past%s", (int)c.dtype,
             (int)c.from, (int)c.to, C, c.shift, c.with_dst ? " with dst" : "");
    for (int line = 1; line >= 0; line--) {
        if (!line) /* the values of 16 bits are no line of the bytes (kernels/output.h), but come from a table */
            params.output.std[0] = 0.1f;
        src.data = host;
        dst.data = work;
        params.output.batch.data = wanted;
        need_status(apply(cpu, policy, &src, c.with_dst ? &dst : NULL, &params, &error), &error, what);
        src.data = device;
        dst.data = device_work;
        params.output.batch.data = device_out + past;
        need_status(apply(cuda, policy, &src, c.with_dst ? &dst : NULL, &params, &error), &error, what);
        note_run();
        need(cudaMemcpy(got, device_out + past, bytes, cudaMemcpyDeviceToHost) == cudaSuccess, what);
        cases += (long)c.count;
        if (memcmp(got, wanted, bytes) != 0) {
            size_t at = 0;
            while (got[at] == wanted[at])
                at++;
            fprintf(stderr, "%s, std %g: first differing byte is %zu of %zu\n", what, (double)params.output.std[0], at,
                    bytes);
            failures++;
        }
    }
    need(cudaMemcpy(work, device, SAMPLES, cudaMemcpyDeviceToHost) == cudaSuccess, what);
    if (memcmp(work, host, SAMPLES) != 0) {
        fprintf(stderr, "%s: src changed\n", what);
        failures++;
    }
    cudaFree(device);
    cudaFree(device_out);
    cudaFree(device_work);
    free(host);
    free(wanted);
    free(got);
    free(work);
    motley_policy_destroy(policy);
}

/* An output in bytes over src, or over dst, which apply.h allows. */
static void check_output_over(const char *name, size_t count, int32_t width, int32_t height, motley_layout layout)
{
    const size_t bytes = count * (size_t)width * (size_t)height * 3;
    motley_policy *policy;
    motley_error error;
    need(open_policy(name, &policy, &error) == MOTLEY_OK, error.message);
    uint8_t *const from = malloc(bytes), *const wanted = malloc(bytes), *const got = malloc(bytes), *device[2];
    uint64_t state = SEED;
    need(from && wanted && got, "no memory");
    for (size_t i = 0; i < bytes; i++)
        from[i] = (uint8_t)input_random(&state);
    for (int i = 0; i < 2; i++)
        need_cuda(cudaMalloc((void **)&device[i], bytes));
    motley_batch src = { .count = count, .channels = 3, .layout = layout, .width = width, .height = height }, dst = src;
    motley_apply_params params = { .samples = { .seed = 8 } };
    for (int over_dst = 0; over_dst < 2; over_dst++) {
        char what[160];
        snprintf(what, sizeof what, "%s, %zu x %dx%d, layout %d, output over %s", name, count, (int)width, (int)height,
                 (int)layout, over_dst ? "dst" : "src");
        memcpy(wanted, from, bytes);
        need_cuda(cudaMemcpy(device[0], from, bytes, cudaMemcpyHostToDevice));
        src.data = over_dst ? from : wanted;
        dst.data = wanted;
        params.output.batch = dst;
        need_status(apply(cpu, policy, &src, over_dst ? &dst : NULL, &params, &error), &error, what);
        src.data = device[0];
        dst.data = device[over_dst];
        params.output.batch = dst;
        need_status(apply(cuda, policy, &src, over_dst ? &dst : NULL, &params, &error), &error, what);
        need(cudaMemcpy(got, device[over_dst], bytes, cudaMemcpyDeviceToHost) == cudaSuccess, what);
        cases += (long)count;
        if (memcmp(got, wanted, bytes) != 0) {
            fprintf(stderr, "%s: other bytes\n", what);
            failures++;
        }
    }
    cudaFree(device[0]);
    cudaFree(device[1]);
    free(from);
    free(wanted);
    free(got);
    motley_policy_destroy(policy);
}

/* A captured call makes new draws at each replay: it reads {epoch, first}, and levels, from device memory. */
static void check_graph(const char *name, size_t N, int32_t SIDE)
{
    const size_t BYTES = N * (size_t)SIDE * (size_t)SIDE * 3;
    motley_policy *policy;
    motley_error error;
    need(open_policy(name, &policy, &error) == MOTLEY_OK, error.message);
    uint8_t *host = malloc(BYTES), *wanted = malloc(BYTES), *got = malloc(BYTES), *device;
    uint64_t *counter, state = SEED;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    need(host && wanted && got, "no memory");
    for (size_t i = 0; i < BYTES; i++)
        host[i] = (uint8_t)input_random(&state);
    need_cuda(cudaMalloc((void **)&device, BYTES));
    need_cuda(cudaMalloc((void **)&counter, 2 * sizeof *counter));
    need_cuda(cudaMemset(device, 0, BYTES)); /* for the call before the capture */
    need_cuda(cudaMemset(counter, 0, 2 * sizeof *counter));
    need_cuda(cudaStreamCreate(&stream));
    motley_batch b = { .count = N, .channels = 3, .data = device, .width = SIDE, .height = SIDE };
    const motley_apply_params params = { .samples = { .seed = 3 }, .stream = stream, .counter = counter };
    need_status(apply(cuda, policy, &b, &b, &params, &error), &error, "before capture");
    need_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    need_status(apply(cuda, policy, &b, &b, &params, &error), &error, "capture");
    need_cuda(cudaStreamEndCapture(stream, &graph));
    need_cuda(cudaGraphInstantiate(&replay, graph, 0));
    for (uint32_t turn = 0; turn < 4; turn++) {
        const uint64_t at[2] = { turn / 2, 1000 * turn };
        need_cuda(cudaMemcpy(counter, at, sizeof at, cudaMemcpyHostToDevice));
        draw_levels(turn);
        need_cuda(cudaMemcpy(device, host, BYTES, cudaMemcpyHostToDevice));
        need_cuda(cudaGraphLaunch(replay, stream));
        need_cuda(cudaStreamSynchronize(stream));
        need_cuda(cudaMemcpy(got, device, BYTES, cudaMemcpyDeviceToHost));
        memcpy(wanted, host, BYTES);
        motley_batch on_host = b;
        on_host.data = wanted;
        const motley_apply_params same = { .samples = { .seed = 3, .epoch = (uint32_t)at[0], .first = at[1] } };
        need_status(apply(cpu, policy, &on_host, &on_host, &same, &error), &error, "replay");
        cases += (long)N;
        if (memcmp(got, wanted, BYTES) != 0) {
            fprintf(stderr, "replay %u of a captured call differs from the CPU\n", turn);
            failures++;
        }
    }
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    cudaFree(device);
    cudaFree(counter);
    free(host);
    free(wanted);
    free(got);
    motley_policy_destroy(policy);
}

/* Calls that must be refused before anything is launched. */
static void check_refusals(void)
{
    uint8_t host[3 * 16 * 16], *device;
    const double value = 3;
    motley_error error = { 0 };
    need_cuda(cudaMalloc((void **)&device, 4 * sizeof host));
    const int op = motley_op_find("posterize");
    motley_batch b = { .count = 1, .channels = 3, .data = host, .width = 16, .height = 16 };
    wants_error(motley_op_apply(cuda, op, &value, 1, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "host memory");
    b.data = device;
    motley_batch other = b;
    other.data = host;
    wants_error(motley_op_apply(cuda, op, &value, 1, &b, &other, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
                "dst image 0: data is host memory");
    other.data = device + 5;
    wants_error(motley_op_apply(cuda, op, &value, 1, &b, &other, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
                "overlaps");
    motley_policy *given;
    need(open_policy("given levels", &given, &error) == MOTLEY_OK, error.message);
    const motley_apply_params on_host = { .samples.levels = levels },
                              clips = { .samples.levels = device_levels, .clip_frames = 2 };
    wants_error(motley_apply(cuda, given, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "want levels");
    wants_error(motley_apply(cuda, given, &b, &b, &on_host, &error), MOTLEY_ERR_ARGUMENT, &error,
                "levels is host memory");
    other = b;
    other.count = 2;
    wants_error(motley_apply(cuda, given, &other, &other, &clips, &error), MOTLEY_ERR_UNSUPPORTED, &error,
                "levels is set, but policy 'x' is applied to clips");
    motley_policy_destroy(given);
    b.row_stride = 10;
    b.pixel_stride = 3;
    b.channel_stride = 1;
    b.image_stride = 768;
    wants_error(motley_op_apply(cuda, op, &value, 1, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "overlap");
    const motley_context_params far = { .backend = MOTLEY_BACKEND_CUDA, .device = 4096 };
    motley_context *none = NULL;
    wants_error(motley_context_create(&far, &none, &error), MOTLEY_ERR_ARGUMENT, &error, "device is 4096");
    cudaFree(device);
    need_cuda(cudaGetLastError());
}

/* A policy on images of many sizes and any layout, in place or from src to dst. */
static void check_policy_mixed(const char *name, size_t pair, int channels, uint32_t epoch)
{
    static const input_size some[] = { { 1500, 1100 }, { 33, 31 },  { 224, 224 },
                                       { 1, 5000 },    { 5000, 1 }, { 1300, 1201 } };
    motley_policy *policy;
    motley_error error = { 0 };
    batch *src = calloc(1, sizeof *src), *dst = calloc(1, sizeof *dst);
    need(src && dst && open_policy(name, &policy, &error) == MOTLEY_OK, error.message);
    const int in_place = pairs[pair].in_place;
    for (size_t i = 0; i < 24; i++) {
        const input_size size = some[i % 6];
        add_image(src, pairs[pair].src, size, channels);
        buffer_fill(&src->buffer[i], (input_kind)(i % INPUT_KINDS), SEED + i);
        if (!in_place)
            add_image(dst, pairs[pair].dst, size, channels);
    }
    send(src);
    if (!in_place)
        send(dst);
    batch *to = in_place ? src : dst;
    const motley_batch host_src = { .count = src->count, .channels = channels, .images = src->host };
    const motley_batch host_dst = { .count = src->count, .channels = channels, .images = to->host };
    const motley_batch device_src = { .count = src->count, .channels = channels, .images = src->device };
    const motley_batch device_dst = { .count = src->count, .channels = channels, .images = to->device };
    const motley_apply_params params = { .samples = { .seed = 11, .epoch = epoch } };
    char what[160];
    snprintf(what, sizeof what, "%s, mixed sizes, %s to %s%s, epoch %u", name, input_layout_names[pairs[pair].src],
             input_layout_names[pairs[pair].dst], in_place ? " in place" : "", (unsigned)epoch);
    need_status(apply(cpu, policy, &host_src, &host_dst, &params, &error), &error, what);
    need_status(apply(cuda, policy, &device_src, &device_dst, &params, &error), &error, what);
    note_run();
    need(cudaDeviceSynchronize() == cudaSuccess, what);
    same(to, what);
    if (!in_place)
        same(src, "src");
    drop(src);
    drop(dst);
    free(src);
    free(dst);
    motley_policy_destroy(policy);
}

/* A policy with breaks: batches of one size and of many, every pair of layouts, outputs, and a captured call. */
static void check_breaks(const char *name)
{
    const int layouts = brief ? 1 : 8;
    check_policy_sizes(name);
    for (size_t pair = 0; pair < PAIRS && !brief; pair++)
        check_policy_mixed(name, pair, pair == 7 ? 2 : pair % 4 == 3 ? 4 : 3, (uint32_t)pair);
    for (int i = 0; i < layouts; i++)
        check_output((output_case){ .dtype = (motley_dtype)(i % 4),
                                    .from = (motley_layout)(i & 1),
                                    .to = (motley_layout)(i >> 1 & 1),
                                    .with_dst = i >> 2,
                                    .count = 20,
                                    .width = i % 3 ? 64 : 70,
                                    .height = 53,
                                    .policy = name });
    check_graph(name, brief ? 4 : 40, brief ? 32 : 64);
}

static void report(const char *what, long failures_before)
{
    printf("%s: %s\n", what, failures == failures_before ? "equal" : "DIFFERS");
    fflush(stdout);
}

/* Images that do not fit into shared memory: every op, some policies, the fused last step, capture. */
static void check_large(const char *only_op, const char *only_policy)
{
    static const char *const policies[] = { "rand_augment", "trivial_augment_wide", "auto_augment_imagenet" };
    char what[100];
    for (int op = 0; op < motley_op_count() && !only_policy; op++)
        if (!only_op || motley_op_find(only_op) == op) {
            const long before = failures;
            check_op_large(op);
            snprintf(what, sizeof what, "%s, large images", motley_op_get(op)->name);
            report(what, before);
        }
    for (size_t i = 0; i < sizeof policies / sizeof policies[0] && !only_op; i++) {
        if (only_policy && strcmp(only_policy, policies[i]) != 0)
            continue;
        const long before = failures;
        check_policy(policies[i], quick ? 8 : 24, 1500, 1100, MOTLEY_HWC, 3, 0);
        check_policy(policies[i], quick ? 8 : 24, 1500, 1100, MOTLEY_CHW, 3, 1);
        check_policy(policies[i], 8, 1301, 1003, MOTLEY_HWC, 4, 2);
        check_policy(policies[i], 4, 4000, 3000, MOTLEY_HWC, 3, 3);
        check_policy(policies[i], 40, 1, 5000, MOTLEY_HWC, 3, 4);
        for (size_t pair = 0; pair < PAIRS; pair++)
            check_policy_mixed(policies[i], pair, pair == 7 ? 2 : 3, (uint32_t)pair);
        snprintf(what, sizeof what, "%s, large images", policies[i]);
        report(what, before);
    }
    if (only_op || only_policy)
        return;
    const long before = failures;
    for (int dtype = MOTLEY_U8; dtype <= MOTLEY_BF16; dtype++)
        for (int layouts = 0; layouts < 8; layouts++)
            check_output((output_case){ .dtype = (motley_dtype)dtype,
                                        .from = (motley_layout)(layouts & 1),
                                        .to = (motley_layout)(layouts >> 1 & 1),
                                        .with_dst = layouts >> 2,
                                        .count = 6,
                                        .width = 1303,
                                        .height = 1201 });
    check_graph("trivial_augment_wide", 3, 1300);
    report("output and capture, large images", before);
}

/* Batches of more bytes than 31 bits can count, of small images and of large ones. */
static void check_huge(void)
{
    static const struct {
        size_t count;
        int32_t width, height;
    } batches[] = { { 15000, 224, 224 }, { 2200000, 32, 32 }, { 62, 4000, 3000 } };
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        char what[100];
        const long before = failures;
        check_policy("rand_augment", batches[i].count, batches[i].width, batches[i].height, MOTLEY_HWC, 3, (uint32_t)i);
        snprintf(what, sizeof what, "%zu images of %" PRId32 "x%" PRId32, batches[i].count, batches[i].width,
                 batches[i].height);
        report(what, before);
    }
}

int main(int argc, char **argv)
{
    const char *only_op = NULL, *only_policy = NULL;
    int64_t require = 0, large = 0, huge = 0, coverage = 0;
    const option_row options[] = {
        { "require", &require, NULL, NULL },
        { "op", NULL, &only_op, "NAME" },
        { "policy", NULL, &only_policy, "NAME" },
        { "quick", &quick, NULL, NULL },
        { "brief", &brief, NULL, NULL },
        { "large", &large, NULL, NULL },
        { "huge", &huge, NULL, NULL },
        { "coverage", &coverage, NULL, NULL },
    };
    read_options(argc, argv, options, sizeof options / sizeof *options);
    cpu = open_on(MOTLEY_BACKEND_CPU, 0, 1);
    cuda = open_on(MOTLEY_BACKEND_CUDA, 0, require != 0);
    need_cuda(cudaMalloc((void **)&device_levels, sizeof levels));
    draw_levels(SEED);
    int count;
    need_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    multiprocessors = (size_t)count;
    if (large) {
        if (!brief)
            check_large(only_op, only_policy);
        mot_cuda_tiles_always(cuda, 1); /* small images through the same kernels */
    }
    if (huge)
        check_huge();
    for (int op = 0; op < motley_op_count() && !only_policy && !huge; op++)
        if (!only_op || motley_op_find(only_op) == op) {
            const long before = failures;
            if (brief)
                check_op_brief(op);
            else
                check_op(op);
            report(motley_op_get(op)->name, before);
        }
    for (size_t i = 0; i < input_builtins(false) && !only_op && !huge; i++) {
        const char *name = input_builtin(false, i)->name;
        if (only_policy && strcmp(only_policy, name) != 0)
            continue;
        motley_policy *policy;
        motley_policy_builtin(name, &policy, NULL);
        const bool boxed = motley_policy_describe(policy)->takes_boxes; /* policy_hashes has those */
        motley_policy_destroy(policy);
        if (boxed)
            continue;
        const long before = failures;
        check_policy_sizes(name);
        report(name, before);
    }
    for (size_t i = 0; i < WRITTEN && !only_op && !huge; i++)
        if (!only_policy || strcmp(only_policy, written[i].name) == 0) {
            const long before = failures;
            check_breaks(written[i].name);
            report(written[i].name, before);
        }
    if (!only_op && !huge && (!only_policy || strcmp(only_policy, "narrow blurs") == 0)) {
        const long before = failures;
        check_policy_sizes("narrow blurs");
        for (int i = 0; i < 16 && !brief; i++)
            check_output((output_case){ .dtype = (motley_dtype)(i & 3),
                                        .from = (motley_layout)(i >> 2 & 1),
                                        .to = (motley_layout)(i >> 3),
                                        .count = 300,
                                        .width = 64,
                                        .height = 48,
                                        .channels = i % 3 ? 3 : 1,
                                        .policy = "narrow blurs" });
        report("narrow blurs", before);
    }
    if (!only_op && !only_policy && !huge) {
        for (int dtype = MOTLEY_U8; dtype <= MOTLEY_BF16 && !brief; dtype++)
            for (int layouts = 0; layouts < 8; layouts++) {
                const output_case any = { .dtype = (motley_dtype)dtype,
                                          .from = (motley_layout)(layouts & 1),
                                          .to = (motley_layout)(layouts >> 1 & 1),
                                          .with_dst = layouts >> 2,
                                          .count = 48,
                                          .width = 70,
                                          .height = 53 };
                output_case one = any, group = any; /* in one piece: a CTA for each image, and several */
                one.count = 300, one.width = 64, one.height = 48;
                group.count = 10, group.width = 256, group.height = 192;
                check_output(any);
                for (one.shift = 0; one.shift < 2; one.shift++)
                    for (one.channels = 1; one.channels <= 4; one.channels++)
                        check_output(one);
                one.shift = 0, one.channels = 3, one.policy = "timm_rand_m9_mstd05_inc1";
                check_output(one);
                for (group.channels = 1; group.channels <= 3; group.channels += 2)
                    check_output(group);
            }
        if (brief) {
            check_output((output_case){
                .dtype = MOTLEY_F16, .from = MOTLEY_HWC, .to = MOTLEY_CHW, .count = 2, .width = 160, .height = 130 });
            check_output((output_case){
                .dtype = MOTLEY_F16, .from = MOTLEY_HWC, .to = MOTLEY_CHW, .count = 24, .width = 64, .height = 48 });
            check_output((output_case){
                .dtype = MOTLEY_F16, .from = MOTLEY_HWC, .to = MOTLEY_CHW, .count = 6, .width = 256, .height = 128 });
        }
        for (int i = 0; i < 8 && !brief; i++) { /* by all routes */
            static const int32_t shape[][3] = {
                { 300, 64, 48 }, { 10, 256, 192 }, { 20, 256, 223 }, { 1, 3000, 2000 }
            };
            check_output_over("rand_augment", (size_t)shape[i / 2][0], shape[i / 2][1], shape[i / 2][2],
                              (motley_layout)(i % 2));
        }
        check_graph("trivial_augment_wide", brief ? 4 : 40, brief ? 32 : 64);
        check_past_edge();
        check_refusals();
    }
    if (coverage && report_runs() > 0 && !only_op && !only_policy)
        failures++;
    printf("%ld images compared, %d failures\n", cases, failures);
    motley_context_destroy(cuda);
    motley_context_destroy(cpu);
    return failures > 0;
}
