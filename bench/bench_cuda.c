/* SPDX-License-Identifier: Apache-2.0 */
/* Times policies and ops on the GPU against a device-to-device copy of the same bytes in the same run, and prints one
 * JSON object a line.
 *
 *     bench_cuda [--set NAME] [--runs N]        sets: targets, ops, batches (default: all)
 *     bench/cuda_results.py build               runs it and writes a dated file into bench/results/
 *
 * Each measurement: `buffers` copies of the batch, together several times the L2 cache, are refreshed from the
 * originals; then each is timed once between two events; this is repeated. Shown is the median. */
#include "motley.h"
#include "tests/inputs.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <time.h>

#define MAX_BUFFERS 64
#define MAX_TIMES 512

static int runs = 12;
static motley_context *context;
static cudaStream_t stream;

static void need(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_cuda: %s\n", what);
        exit(2);
    }
}

static void need_cuda(cudaError_t code)
{
    need(code == cudaSuccess, cudaGetErrorString(code));
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The images of a batch, and buffers to work on. */
typedef struct work {
    size_t count, bytes;
    int side, channels, buffers;
    motley_layout layout;
    uint8_t *original, *buffer[MAX_BUFFERS];
    cudaEvent_t begin[MAX_BUFFERS], end[MAX_BUFFERS];
    float copy_us;
} work;

static void work_make(work *w, size_t count, int side, int channels, motley_layout layout)
{
    *w = (work){ .count = count, .side = side, .channels = channels, .layout = layout };
    const size_t each = (size_t)side * (size_t)side * (size_t)channels;
    w->bytes = count * each;
    w->buffers = (int)((size_t)300000000 / w->bytes);
    w->buffers = w->buffers < 3 ? 3 : w->buffers > MAX_BUFFERS ? MAX_BUFFERS : w->buffers;
    uint8_t *host = malloc(w->bytes);
    need(host != NULL, "no memory");
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++) { /* a smooth picture with some noise, as photographs are */
        const int a = (int)(input_random(&state) % 200), b = (int)(input_random(&state) % 7) - 3;
        for (int y = 0; y < side; y++)
            for (int x = 0; x < side; x++)
                for (int c = 0; c < channels; c++) {
                    const int wave = (x * (c + 1) / 3 + y * b / 2) & 127;
                    const int v = a + (wave < 64 ? wave : 127 - wave) + (int)(input_random(&state) % 12);
                    const size_t at = layout == MOTLEY_CHW ? ((size_t)c * (size_t)side + (size_t)y) * (size_t)side + (size_t)x
                                                           : ((size_t)y * (size_t)side + (size_t)x) * (size_t)channels + (size_t)c;
                    host[i * each + at] = (uint8_t)(v > 255 ? 255 : v);
                }
    }
    need_cuda(cudaMalloc((void **)&w->original, w->bytes));
    need_cuda(cudaMemcpy(w->original, host, w->bytes, cudaMemcpyHostToDevice));
    free(host);
    for (int i = 0; i < w->buffers; i++) {
        need_cuda(cudaMalloc((void **)&w->buffer[i], w->bytes));
        need_cuda(cudaEventCreate(&w->begin[i]));
        need_cuda(cudaEventCreate(&w->end[i]));
    }
}

static void work_drop(work *w)
{
    cudaFree(w->original);
    for (int i = 0; i < w->buffers; i++) {
        cudaFree(w->buffer[i]);
        cudaEventDestroy(w->begin[i]);
        cudaEventDestroy(w->end[i]);
    }
}

typedef struct subject {
    const char *name;
    const motley_policy *policy; /* NULL: a copy */
} subject;

static void once(const work *w, const subject *s, int i, uint32_t epoch)
{
    if (!s->policy) {
        need_cuda(cudaMemcpyAsync(w->buffer[i], w->original, w->bytes, cudaMemcpyDeviceToDevice, stream));
        return;
    }
    motley_error error;
    const motley_batch b = { .count = w->count, .channels = w->channels, .layout = w->layout, .data = w->buffer[i],
                             .width = w->side, .height = w->side };
    const motley_apply_params params = { .samples = { .seed = 1, .epoch = epoch }, .stream = stream };
    need(motley_apply(context, s->policy, &b, &b, &params, &error) == MOTLEY_OK, error.message);
}

static void measure(work *w, const subject *s)
{
    float us[MAX_TIMES];
    double host_us[MAX_TIMES];
    int n = 0;
    for (int run = -1; run < runs && n + w->buffers <= MAX_TIMES; run++) {
        for (int i = 0; i < w->buffers; i++)
            need_cuda(cudaMemcpyAsync(w->buffer[i], w->original, w->bytes, cudaMemcpyDeviceToDevice, stream));
        need_cuda(cudaStreamSynchronize(stream));
        const int before = n;
        for (int i = 0; i < w->buffers; i++) {
            struct timespec a, b;
            need_cuda(cudaEventRecord(w->begin[i], stream));
            clock_gettime(CLOCK_MONOTONIC, &a);
            once(w, s, i, (uint32_t)(run * MAX_BUFFERS + i + MAX_BUFFERS));
            clock_gettime(CLOCK_MONOTONIC, &b);
            need_cuda(cudaEventRecord(w->end[i], stream));
            host_us[before + i] = 1e6 * (double)(b.tv_sec - a.tv_sec) + 1e-3 * (double)(b.tv_nsec - a.tv_nsec);
        }
        need_cuda(cudaStreamSynchronize(stream));
        for (int i = 0; i < w->buffers && run >= 0; i++) {
            need_cuda(cudaEventElapsedTime(&us[n], w->begin[i], w->end[i]));
            us[n++] *= 1000;
        }
    }
    qsort(us, (size_t)n, sizeof us[0], by_value);
    float host[MAX_TIMES];
    for (int i = 0; i < n; i++)
        host[i] = (float)host_us[i];
    qsort(host, (size_t)n, sizeof host[0], by_value);
    const float median = us[n / 2];
    if (!s->policy)
        w->copy_us = median;
    printf("{\"name\": \"%s\", \"count\": %zu, \"side\": %d, \"channels\": %d, \"layout\": \"%s\", \"us\": %.2f, "
           "\"us_p10\": %.2f, \"us_p90\": %.2f, \"copies\": %.3f, \"img_s\": %.0f, \"host_us\": %.2f, \"n\": %d}\n",
           s->name, w->count, w->side, w->channels, w->layout == MOTLEY_CHW ? "CHW" : "HWC", median, us[n / 10],
           us[n - 1 - n / 10], median / w->copy_us, 1e6 * (double)w->count / median, host[n / 2], n);
    fflush(stdout);
}

static void copy(work *w)
{
    const subject s = { .name = "copy" };
    measure(w, &s);
}

static void policy(work *w, const char *name)
{
    motley_policy *p;
    motley_error error;
    need(motley_policy_builtin(name, &p, &error) == MOTLEY_OK, error.message);
    const subject s = { .name = name, .policy = p };
    measure(w, &s);
    motley_policy_destroy(p);
}

/* Every op with its example's value, as a policy of one step. */
static void ops(work *w)
{
    for (int op = 0; op < motley_op_count(); op++) {
        const motley_op_info *info = motley_op_get(op);
        if (info->values_min > 1) /* no policy can hold it */
            continue;
        char text[200];
        motley_policy *p;
        motley_error error;
        snprintf(text, sizeof text, info->values_max ? "motley: 1\nname: one\nbranches: [{op: %s, value: %g}]\n"
                                                     : "motley: 1\nname: one\nbranches: [%s]\n",
                 info->name, info->example);
        need(motley_policy_parse(text, strlen(text), NULL, &p, &error) == MOTLEY_OK, error.message);
        const subject s = { .name = info->name, .policy = p };
        measure(w, &s);
        motley_policy_destroy(p);
    }
}

int main(int argc, char **argv)
{
    const char *set = "all";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--set") == 0)
            set = argv[i + 1];
        else if (strcmp(argv[i], "--runs") == 0)
            runs = atoi(argv[i + 1]);
        else
            need(0, "usage: bench_cuda [--set targets|ops|batches|all] [--runs N]");
    }
    const int all = strcmp(set, "all") == 0;
    motley_error error;
    struct cudaDeviceProp device;
    int driver, runtime;
    need_cuda(cudaGetDeviceProperties(&device, 0));
    need_cuda(cudaDriverGetVersion(&driver));
    need_cuda(cudaRuntimeGetVersion(&runtime));
    printf("{\"device\": \"%s\", \"multiprocessors\": %d, \"cuda_driver\": %d, \"cuda_runtime\": %d, "
           "\"motley\": \"%s\"}\n",
           device.name, device.multiProcessorCount, driver, runtime, motley_version());
    const motley_context_params params = { .backend = MOTLEY_BACKEND_CUDA };
    need(motley_context_create(&params, &context, &error) == MOTLEY_OK, error.message);
    need_cuda(cudaStreamCreate(&stream));
    static const struct {
        size_t count;
        int side;
    } targets[] = { { 256, 224 }, { 1024, 224 }, { 1024, 32 }, { 64, 512 } };
    for (size_t t = 0; (all || strcmp(set, "targets") == 0) && t < 4; t++)
        for (int layout = MOTLEY_HWC; layout <= MOTLEY_CHW; layout++) {
            work w;
            work_make(&w, targets[t].count, targets[t].side, 3, (motley_layout)layout);
            copy(&w);
            policy(&w, "rand_augment");
            policy(&w, "trivial_augment_wide");
            policy(&w, "auto_augment_imagenet");
            if (t == 0)
                policy(&w, "timm_rand_m9_mstd05_inc1");
            work_drop(&w);
        }
    for (int layout = MOTLEY_HWC; (all || strcmp(set, "ops") == 0) && layout <= MOTLEY_CHW; layout++) {
        work w;
        work_make(&w, 256, 224, 3, (motley_layout)layout);
        copy(&w);
        ops(&w);
        work_drop(&w);
    }
    if (all || strcmp(set, "batches") == 0)
        for (size_t n = 1; n <= 4096; n *= 8) {
            work w;
            work_make(&w, n, 224, 3, MOTLEY_HWC);
            copy(&w);
            policy(&w, "rand_augment");
            work_drop(&w);
        }
    motley_context_destroy(context);
    return 0;
}
