/* SPDX-License-Identifier: Apache-2.0 */
/* Times policies and ops, after it has checked the same buffers against the reference backend. */
#include "bench/bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_RUNS 15
#define BUFFERS_BYTES ((size_t)300 << 20) /* of all buffers of one side on a device: several times its L2 cache */
#define MAX_BUFFERS 64

static motley_status fail(motley_error *error, motley_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static motley_status fail(motley_error *error, motley_status status, const char *format, ...)
{
    if (error) {
        *error = (motley_error){ .status = status };
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Paints smooth shapes with some noise, so that statistics, tables and branches behave as with photographs. */
static void paint(uint8_t *images, const bench_params *p)
{
    uint64_t state = p->seed * 2 + 1;
    for (size_t i = 0; i < p->batch; i++) {
        const double u = 3 + (double)(i % 7), v = 2 + (double)(i % 5), shift = (double)i;
        for (int32_t y = 0; y < p->height; y++)
            for (int32_t x = 0; x < p->width; x++)
                for (int c = 0; c < p->channels; c++) {
                    state = state * 6364136223846793005u + 1442695040888963407u;
                    const double wave = sin(u * x / p->width + shift + c) + cos(v * y / p->height - c);
                    const double level = 120 + 52 * wave + (double)(state >> 59);
                    const size_t at =
                        p->layout == MOTLEY_HWC
                            ? (((size_t)y * (size_t)p->width + (size_t)x) * (size_t)p->channels + (size_t)c)
                            : (((size_t)c * (size_t)p->height + (size_t)y) * (size_t)p->width + (size_t)x);
                    images[i * (size_t)p->width * (size_t)p->height * (size_t)p->channels + at] =
                        (uint8_t)(level < 0     ? 0
                                  : level > 255 ? 255
                                                : level);
                }
    }
}

/* Everything that a measurement holds. */
typedef struct bench {
    const bench_params *params;
    size_t bytes; /* of the batch */
    uint8_t *input, *output, *wanted;
    double *values; /* [batch][values_count] */
    double *boxes;  /* [batch][4], for policies that work in boxes: the middle of each image */
    size_t *box_offsets;
    motley_context *context, *reference;
    /* On a device: the originals, and pairs of buffers that are used one after the other. */
    bool on_device;
    int buffers;
    void *original, *from[MAX_BUFFERS], *to[MAX_BUFFERS];
} bench;

static void place_boxes(bench *b)
{
    const bench_params *p = b->params;
    for (size_t i = 0; i <= p->batch; i++)
        b->box_offsets[i] = i;
    for (size_t i = 0; i < p->batch; i++) {
        const double middle[4] = { p->width * 0.25, p->height * 0.25, p->width * 0.75, p->height * 0.75 };
        memcpy(b->boxes + 4 * i, middle, sizeof middle);
    }
}

static motley_status apply(const bench *b, motley_context *context, int op, int values_count, uint8_t *from,
                           uint8_t *to, motley_error *error)
{
    const bench_params *p = b->params;
    motley_batch src = { .count = p->batch,
                         .channels = p->channels,
                         .alpha = p->channels % 2 == 0,
                         .layout = p->layout,
                         .data = from,
                         .width = p->width,
                         .height = p->height };
    motley_batch dst = src;
    dst.data = to;
    if (p->policy) {
        const motley_samples samples = { .seed = p->seed, .boxes = b->boxes, .box_offsets = b->box_offsets };
        return motley_apply(context, p->policy, &src, &dst, &(motley_apply_params){ .samples = samples }, error);
    }
    return motley_op_apply(context, op, b->values, values_count, &src, &dst,
                           &(motley_op_params){ .interpolation = p->interpolation }, error);
}

/* Statistics of the runs' times. */
typedef struct times {
    double seconds[BENCH_MAX_RUNS], copies[BENCH_MAX_RUNS], calls[BENCH_MAX_RUNS];
} times;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Applies the policy or op once in `context`, from the input into b->output on the host. */
static motley_status apply_once(const bench *b, int op, int values_count, motley_error *error)
{
    if (!b->on_device)
        return apply(b, b->context, op, values_count, b->input, b->output, error);
    motley_status status = motley_memory_copy(b->context, b->original, b->input, b->bytes, NULL, error);
    if (status == MOTLEY_OK)
        status = apply(b, b->context, op, values_count, b->original, b->to[0], error);
    if (status == MOTLEY_OK)
        status = motley_memory_copy(b->context, b->output, b->to[0], b->bytes, NULL, error);
    return status == MOTLEY_OK ? motley_context_wait(b->context, NULL, error) : status;
}

static motley_status time_on_host(const bench *b, int op, int values_count, times *t, motley_error *error)
{
    const bench_params *p = b->params;
    motley_status status = MOTLEY_OK;
    for (int r = 0; r < p->runs && status == MOTLEY_OK; r++) {
        double start = now();
        memcpy(b->wanted, b->input, b->bytes);
        t->copies[r] = now() - start;
        uint8_t *const from = p->in_place ? b->wanted : b->input;
        start = now();
        status = apply(b, b->context, op, values_count, from, p->in_place ? from : b->output, error);
        t->seconds[r] = now() - start;
    }
    return status;
}

/* Refreshes all buffers, which is the copy that is timed, and then processes each once. */
static motley_status time_on_device(const bench *b, int op, int values_count, times *t, motley_error *error)
{
    const bench_params *p = b->params;
    motley_status status = MOTLEY_OK;
    for (int r = -1; r < p->runs && status == MOTLEY_OK; r++) { /* the first only warms up */
        const int at = r < 0 ? 0 : r;
        double start = now();
        for (int i = 0; i < b->buffers && status == MOTLEY_OK; i++)
            status = motley_memory_copy(b->context, b->from[i], b->original, b->bytes, NULL, error);
        if (status == MOTLEY_OK)
            status = motley_context_wait(b->context, NULL, error);
        t->copies[at] = (now() - start) / b->buffers;
        start = now();
        for (int i = 0; i < b->buffers && status == MOTLEY_OK; i++)
            status = apply(b, b->context, op, values_count, b->from[i], p->in_place ? b->from[i] : b->to[i], error);
        t->calls[at] = (now() - start) / b->buffers;
        if (status == MOTLEY_OK)
            status = motley_context_wait(b->context, NULL, error);
        t->seconds[at] = (now() - start) / b->buffers;
    }
    return status;
}

static motley_status measure(const bench *b, int op, int values_count, bench_result *result, motley_error *error)
{
    const bench_params *p = b->params;
    times t = { 0 };
    motley_status status = apply(b, b->reference, op, values_count, b->input, b->wanted, error);
    if (status == MOTLEY_OK)
        status = apply_once(b, op, values_count, error);
    if (status != MOTLEY_OK)
        return status;
    for (size_t i = 0; i < b->bytes; i++)
        if (b->output[i] != b->wanted[i])
            return fail(error, MOTLEY_ERR_INTERNAL, "%s: byte %zu is %d, the reference has %d: not timed", result->name,
                        i, b->output[i], b->wanted[i]);
    status = (b->on_device ? time_on_device : time_on_host)(b, op, values_count, &t, error);
    if (status != MOTLEY_OK)
        return status;
    qsort(t.seconds, (size_t)p->runs, sizeof t.seconds[0], ascending);
    qsort(t.copies, (size_t)p->runs, sizeof t.copies[0], ascending);
    qsort(t.calls, (size_t)p->runs, sizeof t.calls[0], ascending);
    result->median_s = t.seconds[p->runs / 2];
    result->low_s = t.seconds[p->runs / 4];
    result->high_s = t.seconds[p->runs - 1 - p->runs / 4];
    result->copy_s = t.copies[p->runs / 2];
    result->call_s = t.calls[p->runs / 2];
    result->images_per_s = (double)p->batch / result->median_s;
    result->gigabytes_per_s = 2e-9 * (double)b->bytes / result->median_s;
    result->share_of_copy = result->copy_s / result->median_s;
    return MOTLEY_OK;
}

static void print_head(const bench *b, FILE *out)
{
    const bench_params *p = b->params;
    char where[40];
    if (p->json)
        return;
    snprintf(where, sizeof where, b->on_device ? "CUDA device %d" : "threads %d",
             b->on_device ? p->context.device : p->context.threads);
    fprintf(out, "%zu images of %dx%dx%d, %s, %s, %s, median of %d runs (and quartiles)\n", p->batch, (int)p->width,
            (int)p->height, (int)p->channels, p->layout == MOTLEY_HWC ? "hwc" : "chw",
            p->in_place ? "in place" : "src to dst", where, p->runs);
    fprintf(out, "%-28s %10s %19s %12s %8s %10s\n", "", "us/image", "", "images/s", "GB/s",
            b->on_device ? "of a copy" : "of memcpy");
}

static void print_result(const bench *b, const bench_result *r, FILE *out)
{
    const bench_params *p = b->params;
    const double us = 1e6 / (double)p->batch;
    char call[48] = "";
    if (b->on_device)
        snprintf(call, sizeof call, ", \"host_us_per_call\": %.3f", 1e6 * r->call_s);
    if (p->json)
        fprintf(
            out,
            "{\"name\": \"%s\", \"version\": \"%s\", \"device\": \"%s\", \"width\": %d, \"height\": %d, "
            "\"channels\": %d, \"batch\": %zu, \"threads\": %d, \"layout\": \"%s\", \"in_place\": %s, \"runs\": %d, "
            "\"us_per_image\": %.4f, \"us_low\": %.4f, \"us_high\": %.4f, \"images_per_s\": %.1f, "
            "\"gb_per_s\": %.4f, \"share_of_copy\": %.4f%s}\n",
            r->name, motley_version(), b->on_device ? "cuda" : "cpu", (int)p->width, (int)p->height, (int)p->channels,
            p->batch, p->context.threads, p->layout == MOTLEY_HWC ? "hwc" : "chw", p->in_place ? "true" : "false",
            p->runs, r->median_s * us, r->low_s * us, r->high_s * us, r->images_per_s, r->gigabytes_per_s,
            r->share_of_copy, call);
    else
        fprintf(out, "%-28s %10.2f (%8.2f %8.2f) %12.0f %8.2f %9.0f%%\n", r->name, r->median_s * us, r->low_s * us,
                r->high_s * us, r->images_per_s, r->gigabytes_per_s, 100 * r->share_of_copy);
    fflush(out);
}

/* The op's values for every image: the caller's, or the table's example. */
static int spread_values(const bench *b, int op)
{
    static const double identity[MOTLEY_MAX_VALUES] = { 1, 0.1, 3, -0.1, 1, 2 };
    const bench_params *p = b->params;
    const motley_op_info *info = motley_op_get(op);
    const int count = p->values ? p->values_count : info->values_min;
    for (size_t i = 0; i < p->batch; i++)
        for (int v = 0; v < count; v++)
            b->values[i * (size_t)count + (size_t)v] = p->values   ? p->values[v]
                                                       : count > 1 ? identity[v]
                                                                   : info->example;
    return count;
}

static motley_status run_all(const bench *b, FILE *out, motley_error *error)
{
    const bench_params *p = b->params;
    bench_result result = { 0 };
    motley_status status = MOTLEY_OK;
    print_head(b, out);
    if (p->policy) {
        result.name = motley_policy_describe(p->policy)->name;
        status = measure(b, -1, 0, &result, error);
        if (status == MOTLEY_OK)
            print_result(b, &result, out);
        return status;
    }
    for (int op = 0; op < motley_op_count() && status == MOTLEY_OK; op++) {
        if (p->op >= 0 && p->op != op)
            continue;
        result.name = motley_op_get(op)->name;
        status = measure(b, op, spread_values(b, op), &result, error);
        if (status == MOTLEY_OK)
            print_result(b, &result, out);
    }
    return status;
}

/* Allocates buffers on the device, enough to exceed its caches. */
static motley_status make_buffers(bench *b, motley_error *error)
{
    const size_t wanted = BUFFERS_BYTES / b->bytes;
    b->buffers = wanted < 3 ? 3 : wanted > MAX_BUFFERS ? MAX_BUFFERS : (int)wanted;
    motley_status status = motley_memory_create(b->context, MOTLEY_MEMORY_DEVICE, b->bytes, &b->original, error);
    for (int i = 0; i < b->buffers && status == MOTLEY_OK; i++) {
        status = motley_memory_create(b->context, MOTLEY_MEMORY_DEVICE, b->bytes, &b->from[i], error);
        if (status == MOTLEY_OK)
            status = motley_memory_create(b->context, MOTLEY_MEMORY_DEVICE, b->bytes, &b->to[i], error);
    }
    return status;
}

static void destroy_buffers(bench *b)
{
    motley_memory_destroy(b->context, b->original);
    for (int i = 0; i < b->buffers; i++) {
        motley_memory_destroy(b->context, b->from[i]);
        motley_memory_destroy(b->context, b->to[i]);
    }
}

motley_status bench_run(const bench_params *params, FILE *out, motley_error *error)
{
    bench_params p = *params;
    p.width = p.width ? p.width : 224;
    p.height = p.height ? p.height : 224;
    p.channels = p.channels ? p.channels : 3;
    p.batch = p.batch ? p.batch : 64;
    p.runs = p.runs ? p.runs : DEFAULT_RUNS;
    if (p.runs < 1 || p.runs > BENCH_MAX_RUNS)
        return fail(error, MOTLEY_ERR_ARGUMENT, "runs is %d, want 1 to %d", p.runs, BENCH_MAX_RUNS);
    if (p.width < 1 || p.height < 1 || p.channels < 1 || p.channels > 4)
        return fail(error, MOTLEY_ERR_ARGUMENT, "size is %dx%dx%d, want 1 or more, and 1 to 4 channels", (int)p.width,
                    (int)p.height, (int)p.channels);
    if (p.values && (p.values_count < 0 || p.values_count > MOTLEY_MAX_VALUES))
        return fail(error, MOTLEY_ERR_ARGUMENT, "%d values were given, want at most %d", p.values_count,
                    MOTLEY_MAX_VALUES);
    bench b = { .params = &p };
    b.bytes = p.batch * (size_t)p.width * (size_t)p.height * (size_t)p.channels;
    b.input = malloc(b.bytes);
    b.output = malloc(b.bytes);
    b.wanted = malloc(b.bytes);
    b.values = malloc(p.batch * MOTLEY_MAX_VALUES * sizeof *b.values);
    b.boxes = malloc(p.batch * 4 * sizeof *b.boxes);
    b.box_offsets = malloc((p.batch + 1) * sizeof *b.box_offsets);
    motley_status status = MOTLEY_OK;
    if (!b.input || !b.output || !b.wanted || !b.values || !b.boxes || !b.box_offsets)
        status = fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu images of %zu bytes", p.batch, b.bytes / p.batch);
    if (status == MOTLEY_OK)
        status = motley_context_create(&p.context, &b.context, error);
    if (status == MOTLEY_OK) {
        const motley_context_params reference = { .backend = MOTLEY_BACKEND_REFERENCE, .threads = p.context.threads };
        status = motley_context_create(&reference, &b.reference, error);
        b.on_device = motley_context_backend(b.context) == MOTLEY_BACKEND_CUDA;
    }
    if (status == MOTLEY_OK && b.on_device)
        status = make_buffers(&b, error);
    if (status == MOTLEY_OK) {
        paint(b.input, &p);
        place_boxes(&b);
        status = run_all(&b, out, error);
    }
    if (b.on_device)
        destroy_buffers(&b);
    motley_context_destroy(b.reference);
    motley_context_destroy(b.context);
    free(b.box_offsets);
    free(b.boxes);
    free(b.values);
    free(b.wanted);
    free(b.output);
    free(b.input);
    return status;
}
