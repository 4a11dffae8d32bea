/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend against the CPU's, through the public calls: every op x layout x channels x interpolation x size x
 * value, every built-in policy, canaries around every buffer. One differing byte fails.
 *
 *     check_cuda [--require] [--op NAME] [--policy NAME] [--quick]
 *
 * Without a CUDA device it prints that it skips and exits 77, which `meson test` counts; with --require that is a
 * failure. */
#include "motley.h"
#include "tests/inputs.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>

#define SKIPPED 77
#define SEED 20190924u
#define MAX_IMAGES 512
#define MAX_VALUES 24

static motley_context *cuda, *cpu;
static long cases, failures;
static int quick;

static void need(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "check_cuda: %s\n", what);
        exit(2);
    }
}

static void need_cuda(cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "check_cuda: %s: %s\n", what, cudaGetErrorString(code));
        exit(2);
    }
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
    b->bytes = (b->bytes + 255) & ~(size_t)255; /* so that only the layout decides about alignment */
    b->count++;
}

static void send(batch *b)
{
    need_cuda(cudaMalloc((void **)&b->memory, b->bytes), "cudaMalloc");
    b->back = calloc(1, b->bytes);
    need(b->back != NULL, "no memory");
    for (size_t i = 0; i < b->count; i++) {
        memcpy(b->back + b->offset[i], b->buffer[i].bytes, b->buffer[i].size);
        b->host[i] = b->device[i] = b->buffer[i].image;
        b->device[i].data = b->memory + b->offset[i] + ((uint8_t *)b->buffer[i].image.data - b->buffer[i].bytes);
    }
    need_cuda(cudaMemcpy(b->memory, b->back, b->bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
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
    need_cuda(cudaMemcpy(b->back, b->memory, b->bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    int ok = 1;
    for (size_t i = 0; i < b->count; i++) {
        const uint8_t *got = b->back + b->offset[i], *wanted = b->buffer[i].bytes;
        cases++;
        if (memcmp(got, wanted, b->buffer[i].size) == 0)
            continue;
        size_t at = 0, differing = 0;
        for (size_t k = b->buffer[i].size; k-- > 0;)
            if (got[k] != wanted[k])
                at = k, differing++;
        const motley_image *im = &b->host[i];
        fprintf(stderr, "%s: image %zu (%" PRId32 "x%" PRId32 "x%d): %zu bytes differ, first %zu is %d, want %d", what, i,
                im->width, im->height, b->channels, differing, at, got[at], wanted[at]);
        for (int32_t y = 0; y < im->height; y++)
            for (int32_t x = 0; x < im->width; x++)
                for (int c = 0; c < b->channels; c++)
                    if (input_at(&b->buffer[i].image, x, y, c) == wanted + at)
                        fprintf(stderr, " (x %" PRId32 ", y %" PRId32 ", channel %d)", x, y, c);
        fprintf(stderr, "\n");
        ok = 0;
        if (++failures >= 30) {
            fprintf(stderr, "check_cuda: stopped after %ld failures\n", failures);
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

/* One batch: sizes first .. last - 1, each with `each` values. */
static void check_op_batch(int op, int channels, motley_interpolation interpolation, size_t pair, size_t first,
                           size_t last, int each)
{
    static const uint8_t fill[4] = { 125, 123, 114, 200 };
    const motley_op_info *info = motley_op_get(op);
    batch *src = calloc(1, sizeof *src), *dst = calloc(1, sizeof *dst);
    double *values = calloc(MAX_IMAGES * MOTLEY_MAX_VALUES, sizeof *values);
    double some[MAX_VALUES][MOTLEY_MAX_VALUES];
    need(src && dst && values, "no memory");
    const int tried = input_values(info, SEED + (uint64_t)op, each, some);
    const int in_place = pairs[pair].in_place;
    for (size_t size = first; size < last; size++)
        for (int v = 0; v < tried; v++) {
            if (info->shape == MOTLEY_SHAPE_BLUR && some[v][0] > 40 && input_sizes[size].width > 40)
                continue;
            add_image(src, pairs[pair].src, input_sizes[size], channels);
            const size_t i = src->count - 1, bytes = src->buffer[i].size;
            uint8_t *dense = malloc(bytes);
            need(dense != NULL, "no memory");
            input_fill((input_kind)((size_t)v % INPUT_KINDS), SEED + i, input_sizes[size], channels, dense);
            input_buffer_set(&src->buffer[i], dense);
            free(dense);
            memcpy(values + i * (size_t)info->values_max, some[v], (size_t)info->values_max * sizeof(double));
            if (!in_place)
                add_image(dst, pairs[pair].dst, input_sizes[size], channels);
        }
    send(src);
    if (!in_place)
        send(dst);
    batch *to = in_place ? src : dst;
    const motley_op_params params = { .interpolation = interpolation, .fill = fill };
    const motley_batch host_src = { .count = src->count, .channels = channels, .images = src->host };
    const motley_batch host_dst = { .count = src->count, .channels = channels, .images = to->host };
    const motley_batch device_src = { .count = src->count, .channels = channels, .images = src->device };
    const motley_batch device_dst = { .count = src->count, .channels = channels, .images = to->device };
    char what[160];
    snprintf(what, sizeof what, "%s, %s to %s%s, interpolation %d, sizes %zu..%zu", info->name,
             input_layout_names[pairs[pair].src], input_layout_names[pairs[pair].dst], in_place ? " in place" : "",
             (int)interpolation, first, last - 1);
    motley_error error = { 0 };
    need_status(motley_op_apply(cpu, op, values, info->values_max, &host_src, &host_dst, &params, &error), &error, what);
    need_status(motley_op_apply(cuda, op, values, info->values_max, &device_src, &device_dst, &params, &error), &error,
                what);
    need_cuda(cudaDeviceSynchronize(), what);
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
    const int interpolations = motley_op_get(op)->shape == MOTLEY_SHAPE_WARP ? 3 : 1;
    for (int channels = 1; channels <= 4; channels++)
        for (int interpolation = 0; interpolation < interpolations; interpolation++)
            for (size_t pair = 0; pair < (quick ? 4 : PAIRS); pair++) {
                const motley_interpolation how = (motley_interpolation)interpolation;
                check_op_batch(op, channels, how, pair, 0, INPUT_SMALL_SIZES, MAX_VALUES);
                if (pair < 4 && (channels != 2 || !quick)) {
                    check_op_batch(op, channels, how, pair, INPUT_SIZES - 2, INPUT_SIZES - 1, MAX_VALUES);
                    check_op_batch(op, channels, how, pair, 4, INPUT_SIZES - 1, 4); /* small and large in one batch */
                }
                if (pair < 2 && channels == 3)
                    check_op_batch(op, channels, how, pair, INPUT_SIZES - 1, INPUT_SIZES, quick ? 4 : 8);
            }
}

/* A policy on n images of one size, in place, packed or planar. */
static void check_policy(const char *name, size_t n, int32_t side, motley_layout layout, int channels, uint32_t epoch)
{
    motley_policy *policy = NULL;
    motley_error error = { 0 };
    need_status(motley_policy_builtin(name, &policy, &error), &error, name);
    if (!policy)
        return;
    const size_t each = (size_t)side * (size_t)side * (size_t)channels, bytes = n * each;
    uint8_t *host = malloc(bytes), *back = malloc(bytes), *device;
    need(host && back, "no memory");
    need_cuda(cudaMalloc((void **)&device, bytes), "cudaMalloc");
    uint64_t state = SEED + epoch;
    for (size_t i = 0; i < n; i++) /* smooth pictures with noise, and plain noise */
        for (size_t k = 0; k < each; k++)
            host[i * each + k] = (uint8_t)(i % 8 == 0 ? input_random(&state)
                                                      : k / (size_t)channels / (size_t)side + k % 61 * (i % 3) +
                                                            input_random(&state) % 23);
    need_cuda(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    motley_batch b = { .count = n, .channels = channels, .layout = layout, .width = side, .height = side };
    motley_batch on_device = b;
    b.data = host;
    on_device.data = device;
    const motley_apply_params params = { .samples = { .seed = 7, .epoch = epoch, .first = 1000 } };
    need_status(motley_apply(cpu, policy, &b, &b, &params, &error), &error, name);
    need_status(motley_apply(cuda, policy, &on_device, &on_device, &params, &error), &error, name);
    need_cuda(cudaMemcpy(back, device, bytes, cudaMemcpyDeviceToHost), name);
    for (size_t i = 0; i < n; i++, cases++)
        if (memcmp(host + i * each, back + i * each, each) != 0) {
            const int32_t size = side;
            motley_step steps[64];
            int32_t count = 0;
            const motley_samples sample = { .seed = 7, .epoch = epoch, .first = 1000 + i };
            motley_draw(policy, &sample, 1, &size, &size, channels, steps, &count, &error);
            size_t at = 0, differing = 0;
            for (size_t k = each; k-- > 0;)
                if (host[i * each + k] != back[i * each + k])
                    at = k, differing++;
            fprintf(stderr, "%s, image %zu of %zu %" PRId32 "x%" PRId32 "x%d layout %d: %zu bytes differ, first %zu:",
                    name, i, n, side, side, channels, (int)layout, differing, at);
            for (int32_t s = 0; s < count; s++)
                fprintf(stderr, " %s(%.9g)", motley_op_get(steps[s].op)->name, steps[s].values[0]);
            fprintf(stderr, "\n");
            if (++failures >= 30)
                exit(1);
        }
    motley_policy_destroy(policy);
    cudaFree(device);
    free(host);
    free(back);
}

/* The fused last step: every type and both layouts, from both layouts, with and without a dst. */
static void check_output(motley_dtype dtype, motley_layout from, motley_layout to, int with_dst)
{
    static const size_t sizes[] = { 1, 4, 2, 2 };
    enum { N = 48, W = 70, H = 53, C = 3, SAMPLES = N * W * H * C };
    motley_policy *policy;
    motley_error error;
    need(motley_policy_builtin("rand_augment", &policy, &error) == MOTLEY_OK, error.message);
    const size_t bytes = SAMPLES * sizes[dtype];
    uint8_t *host = malloc(SAMPLES), *wanted = calloc(1, bytes), *got = malloc(bytes), *work = malloc(SAMPLES);
    uint8_t *device, *device_out, *device_work;
    need(host && wanted && got && work, "no memory");
    need_cuda(cudaMalloc((void **)&device, SAMPLES), "cudaMalloc");
    need_cuda(cudaMalloc((void **)&device_out, bytes), "cudaMalloc");
    need_cuda(cudaMalloc((void **)&device_work, SAMPLES), "cudaMalloc");
    uint64_t state = SEED;
    for (size_t i = 0; i < SAMPLES; i++)
        host[i] = (uint8_t)input_random(&state);
    need_cuda(cudaMemcpy(device, host, SAMPLES, cudaMemcpyHostToDevice), "cudaMemcpy");
    motley_batch src = { .count = N, .channels = C, .layout = from, .data = host, .width = W, .height = H }, dst = src;
    motley_apply_params params = { .samples = { .seed = 5 },
                                   .output = { .batch = { .count = N, .channels = C, .dtype = dtype, .layout = to,
                                                          .data = wanted, .width = W, .height = H },
                                               .mean = { 0.485f, 0.456f, 0.406f }, .std = { 0.229f, 0.224f, 0 } } };
    char what[100];
    snprintf(what, sizeof what, "output of dtype %d, layout %d to %d%s", (int)dtype, (int)from, (int)to,
             with_dst ? " with dst" : "");
    dst.data = work;
    need_status(motley_apply(cpu, policy, &src, with_dst ? &dst : NULL, &params, &error), &error, what);
    src.data = device;
    dst.data = device_work;
    params.output.batch.data = device_out;
    need_status(motley_apply(cuda, policy, &src, with_dst ? &dst : NULL, &params, &error), &error, what);
    need_cuda(cudaMemcpy(got, device_out, bytes, cudaMemcpyDeviceToHost), what);
    cases += N;
    if (memcmp(got, wanted, bytes) != 0) {
        size_t at = 0;
        while (got[at] == wanted[at])
            at++;
        fprintf(stderr, "%s: first differing byte is %zu of %zu\n", what, at, bytes);
        failures++;
    }
    need_cuda(cudaMemcpy(work, device, SAMPLES, cudaMemcpyDeviceToHost), what);
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

/* A captured call draws anew at each replay: {epoch, first} is read from device memory. */
static void check_graph(void)
{
    enum { N = 40, SIDE = 64, BYTES = N * SIDE * SIDE * 3 };
    motley_policy *policy;
    motley_error error;
    need(motley_policy_builtin("trivial_augment_wide", &policy, &error) == MOTLEY_OK, error.message);
    uint8_t *host = malloc(BYTES), *wanted = malloc(BYTES), *got = malloc(BYTES), *device;
    uint64_t *counter, state = SEED;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    need(host && wanted && got, "no memory");
    for (size_t i = 0; i < BYTES; i++)
        host[i] = (uint8_t)input_random(&state);
    need_cuda(cudaMalloc((void **)&device, BYTES), "cudaMalloc");
    need_cuda(cudaMalloc((void **)&counter, 2 * sizeof *counter), "cudaMalloc");
    need_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
    motley_batch b = { .count = N, .channels = 3, .data = device, .width = SIDE, .height = SIDE };
    const motley_apply_params params = { .samples = { .seed = 3 }, .stream = stream, .counter = counter };
    need_status(motley_apply(cuda, policy, &b, &b, &params, &error), &error, "before capture");
    need_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    need_status(motley_apply(cuda, policy, &b, &b, &params, &error), &error, "capture");
    need_cuda(cudaStreamEndCapture(stream, &graph), "capture");
    need_cuda(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate");
    for (uint32_t turn = 0; turn < 4; turn++) {
        const uint64_t at[2] = { turn / 2, 1000 * turn };
        need_cuda(cudaMemcpy(counter, at, sizeof at, cudaMemcpyHostToDevice), "cudaMemcpy");
        need_cuda(cudaMemcpy(device, host, BYTES, cudaMemcpyHostToDevice), "cudaMemcpy");
        need_cuda(cudaGraphLaunch(replay, stream), "cudaGraphLaunch");
        need_cuda(cudaStreamSynchronize(stream), "replay");
        need_cuda(cudaMemcpy(got, device, BYTES, cudaMemcpyDeviceToHost), "cudaMemcpy");
        memcpy(wanted, host, BYTES);
        motley_batch on_host = b;
        on_host.data = wanted;
        const motley_apply_params same = { .samples = { .seed = 3, .epoch = (uint32_t)at[0], .first = at[1] } };
        need_status(motley_apply(cpu, policy, &on_host, &on_host, &same, &error), &error, "replay");
        cases += N;
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

static void wants_error(motley_status got, motley_status wanted, const motley_error *error, const char *piece)
{
    cases++;
    if (got != wanted || !strstr(error->message, piece)) {
        fprintf(stderr, "wanted %s with \"%s\", found %s: %s\n", motley_status_name(wanted), piece,
                motley_status_name(got), error->message);
        failures++;
    }
}

/* What must be refused before anything is launched. */
static void check_refusals(void)
{
    uint8_t host[3 * 16 * 16], *device;
    const double value = 3;
    motley_error error = { 0 };
    need_cuda(cudaMalloc((void **)&device, 4 * sizeof host), "cudaMalloc");
    const int op = motley_op_find("posterize");
    motley_batch b = { .count = 1, .channels = 3, .data = host, .width = 16, .height = 16 };
    wants_error(motley_op_apply(cuda, op, &value, 1, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "host memory");
    b.data = device;
    motley_batch other = b;
    other.data = host;
    wants_error(motley_op_apply(cuda, op, &value, 1, &b, &other, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
                "dst image 0: data is host memory");
    other.data = device + 5;
    wants_error(motley_op_apply(cuda, op, &value, 1, &b, &other, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "overlaps");
    b.row_stride = 10;
    b.pixel_stride = 3;
    b.channel_stride = 1;
    b.image_stride = 768;
    wants_error(motley_op_apply(cuda, op, &value, 1, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "overlap");
    const motley_context_params far = { .backend = MOTLEY_BACKEND_CUDA, .device = 4096 };
    motley_context *none = NULL;
    wants_error(motley_context_create(&far, &none, &error), MOTLEY_ERR_ARGUMENT, &error, "device is 4096");
    cudaFree(device);
    need_cuda(cudaGetLastError(), "left behind");
}

int main(int argc, char **argv)
{
    const char *only_op = NULL, *only_policy = NULL;
    int require = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--require") == 0)
            require = 1;
        else if (strcmp(argv[i], "--quick") == 0)
            quick = 1;
        else if (i + 1 < argc && strcmp(argv[i], "--op") == 0)
            only_op = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--policy") == 0)
            only_policy = argv[++i];
        else
            need(0, "usage: check_cuda [--require] [--op NAME] [--policy NAME] [--quick]");
    }
    motley_error error = { 0 };
    const motley_context_params cpu_params = { .backend = MOTLEY_BACKEND_CPU };
    const motley_context_params cuda_params = { .backend = MOTLEY_BACKEND_CUDA };
    need(motley_context_create(&cpu_params, &cpu, &error) == MOTLEY_OK, error.message);
    if (motley_context_create(&cuda_params, &cuda, &error) != MOTLEY_OK) {
        printf("skipped: %s\n", error.message);
        motley_context_destroy(cpu);
        return require ? 1 : SKIPPED;
    }
    for (int op = 0; op < motley_op_count() && !only_policy; op++)
        if (!only_op || motley_op_find(only_op) == op) {
            const long before = failures;
            check_op(op);
            printf("%s: %s\n", motley_op_get(op)->name, failures == before ? "equal" : "DIFFERS");
            fflush(stdout);
        }
    for (size_t i = 0; i < motley_policy_builtin_count() && !only_op; i++) {
        const char *name = motley_policy_builtin_name(i);
        if (only_policy && strcmp(only_policy, name) != 0)
            continue;
        const long before = failures;
        const size_t n = quick ? 64 : 512;
        check_policy(name, n, 224, MOTLEY_HWC, 3, 0);
        check_policy(name, n, 224, MOTLEY_CHW, 3, 1);
        check_policy(name, 2 * n, 32, MOTLEY_HWC, 3, 2);
        check_policy(name, n / 4, 224, MOTLEY_HWC, 4, 3);
        check_policy(name, n / 4, 225, MOTLEY_HWC, 3, 4);
        check_policy(name, n / 4, 28, MOTLEY_HWC, 1, 5);
        check_policy(name, n / 16, 512, MOTLEY_HWC, 3, 6);
        printf("%s: %s\n", name, failures == before ? "equal" : "DIFFERS");
        fflush(stdout);
    }
    if (!only_op && !only_policy) {
        for (int dtype = MOTLEY_U8; dtype <= MOTLEY_BF16; dtype++)
            for (int layouts = 0; layouts < 8; layouts++)
                check_output((motley_dtype)dtype, (motley_layout)(layouts & 1), (motley_layout)(layouts >> 1 & 1),
                             layouts >> 2);
        check_graph();
        check_refusals();
    }
    printf("%ld images compared, %ld failures\n", cases, failures);
    motley_context_destroy(cuda);
    motley_context_destroy(cpu);
    return failures > 0;
}
