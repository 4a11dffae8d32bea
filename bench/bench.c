/* SPDX-License-Identifier: Apache-2.0 */
/* Timing of policies and ops on the CPU: the same buffers are first checked against the reference backend. */
#include "bench/bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_RUNS 15

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

/* Smooth shapes with some noise, so that statistics, tables and branches meet what photographs give them. */
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
    motley_context *context, *reference;
} bench;

static motley_status apply(const bench *b, motley_context *context, int op, int values_count, uint8_t *from,
                           uint8_t *to, motley_error *error)
{
    const bench_params *p = b->params;
    motley_batch src = { .count = p->batch,
                         .channels = p->channels,
                         .layout = p->layout,
                         .data = from,
                         .width = p->width,
                         .height = p->height };
    motley_batch dst = src;
    dst.data = to;
    if (p->policy)
        return motley_apply(context, p->policy, &src, &dst, &(motley_apply_params){ .samples = { .seed = p->seed } },
                            error);
    return motley_op_apply(context, op, b->values, values_count, &src, &dst,
                           &(motley_op_params){ .interpolation = p->interpolation }, error);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static motley_status measure(const bench *b, int op, int values_count, bench_result *result, motley_error *error)
{
    const bench_params *p = b->params;
    double seconds[BENCH_MAX_RUNS], copies[BENCH_MAX_RUNS];
    motley_status status = apply(b, b->reference, op, values_count, b->input, b->wanted, error);
    if (status == MOTLEY_OK)
        status = apply(b, b->context, op, values_count, b->input, b->output, error);
    if (status != MOTLEY_OK)
        return status;
    for (size_t i = 0; i < b->bytes; i++)
        if (b->output[i] != b->wanted[i])
            return fail(error, MOTLEY_ERR_INTERNAL, "%s: byte %zu is %d, the reference has %d: not timed", result->name,
                        i, b->output[i], b->wanted[i]);
    for (int r = 0; r < p->runs; r++) {
        double start = now();
        memcpy(b->wanted, b->input, b->bytes);
        copies[r] = now() - start;
        uint8_t *const from = p->in_place ? b->wanted : b->input;
        start = now();
        status = apply(b, b->context, op, values_count, from, p->in_place ? from : b->output, error);
        seconds[r] = now() - start;
        if (status != MOTLEY_OK)
            return status;
    }
    qsort(seconds, (size_t)p->runs, sizeof seconds[0], ascending);
    qsort(copies, (size_t)p->runs, sizeof copies[0], ascending);
    result->median_s = seconds[p->runs / 2];
    result->low_s = seconds[p->runs / 4];
    result->high_s = seconds[p->runs - 1 - p->runs / 4];
    result->copy_s = copies[p->runs / 2];
    result->images_per_s = (double)p->batch / result->median_s;
    result->gigabytes_per_s = 2e-9 * (double)b->bytes / result->median_s;
    result->share_of_copy = result->copy_s / result->median_s;
    return MOTLEY_OK;
}

static void print_head(const bench_params *p, FILE *out)
{
    if (p->json)
        return;
    fprintf(out, "%zu images of %dx%dx%d, %s, %s, threads %d, median of %d runs (and quartiles)\n", p->batch,
            (int)p->width, (int)p->height, (int)p->channels, p->layout == MOTLEY_HWC ? "hwc" : "chw",
            p->in_place ? "in place" : "src to dst", p->threads, p->runs);
    fprintf(out, "%-28s %10s %19s %12s %8s %10s\n", "", "us/image", "", "images/s", "GB/s", "of memcpy");
}

static void print_result(const bench_params *p, const bench_result *r, FILE *out)
{
    const double us = 1e6 / (double)p->batch;
    if (p->json)
        fprintf(
            out,
            "{\"name\": \"%s\", \"version\": \"%s\", \"device\": \"cpu\", \"width\": %d, \"height\": %d, "
            "\"channels\": %d, \"batch\": %zu, \"threads\": %d, \"layout\": \"%s\", \"in_place\": %s, \"runs\": %d, "
            "\"us_per_image\": %.4f, \"us_low\": %.4f, \"us_high\": %.4f, \"images_per_s\": %.1f, "
            "\"gb_per_s\": %.4f, \"share_of_copy\": %.4f}\n",
            r->name, motley_version(), (int)p->width, (int)p->height, (int)p->channels, p->batch, p->threads,
            p->layout == MOTLEY_HWC ? "hwc" : "chw", p->in_place ? "true" : "false", p->runs, r->median_s * us,
            r->low_s * us, r->high_s * us, r->images_per_s, r->gigabytes_per_s, r->share_of_copy);
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
    print_head(p, out);
    if (p->policy) {
        result.name = motley_policy_name(p->policy);
        status = measure(b, -1, 0, &result, error);
        if (status == MOTLEY_OK)
            print_result(p, &result, out);
        return status;
    }
    for (int op = 0; op < motley_op_count() && status == MOTLEY_OK; op++) {
        if (p->op >= 0 && p->op != op)
            continue;
        result.name = motley_op_get(op)->name;
        status = measure(b, op, spread_values(b, op), &result, error);
        if (status == MOTLEY_OK)
            print_result(p, &result, out);
    }
    return status;
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
    motley_status status = MOTLEY_OK;
    if (!b.input || !b.output || !b.wanted || !b.values)
        status = fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu images of %zu bytes", p.batch, b.bytes / p.batch);
    if (status == MOTLEY_OK)
        status = motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = p.threads },
                                       &b.context, error);
    if (status == MOTLEY_OK)
        status = motley_context_create(
            &(motley_context_params){ .backend = MOTLEY_BACKEND_REFERENCE, .threads = p.threads }, &b.reference, error);
    if (status == MOTLEY_OK) {
        paint(b.input, &p);
        status = run_all(&b, out, error);
    }
    motley_context_destroy(b.reference);
    motley_context_destroy(b.context);
    free(b.values);
    free(b.wanted);
    free(b.output);
    free(b.input);
    return status;
}
