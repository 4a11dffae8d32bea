/* SPDX-License-Identifier: Apache-2.0 */
/* motley_transform_apply on the GPU against the CPU's: every built-in transform and the texts below, batches of any
 * sizes, layouts and types, draws out, draws in, and graphs. One differing byte fails, canaries included.
 *
 *     check_cuda_transform [--require] [--cases N] [--most SIDE] [--only NAME]
 *
 * N batches of each transform, of images of up to SIDE pixels. Without a CUDA device it prints that it skips and exits
 * 77; with --require that is a failure. */
#include "motley.h"
#include "tests/inputs.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>

#define SKIPPED 77
#define SEED 20260301u
#define MOST_IMAGES 10
#define CANARY 64

static motley_context *cpu, *cuda;
static int64_t compared;
static int failures, refused;

static void need(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "check_cuda_transform: %s\n", what);
        exit(2);
    }
}

static void need_cuda(cudaError_t code)
{
    need(code == cudaSuccess, cudaGetErrorString(code));
}

#define HEAD "motley: 1\nname: x\nstages:\n"
static const char *const texts[] = {
    HEAD "  - random_resized_crop: {size: [61, 47], filter: [bilinear, bicubic, lanczos, box, hamming, nearest]}\n"
         "  - flip: {horizontal: 0.5, vertical: 0.5}\n",
    HEAD "  - random_resized_crop: {size: 64, order: pillow-12}\n  - flip: {horizontal: 0.5}\n"
         "  - policy: {name: rand_augment}\n  - output: {}\n",
    HEAD "  - resize: {size: 40}\n  - center_crop: {size: [56, 32]}\n  - output: {convention: timm}\n",
    HEAD
    "  - random_crop: {size: 4, padding: 3}\n  - flip: {horizontal: 0.5}\n  - policy: {name: trivial_augment_wide}\n"
    "  - output: {convention: torchvision_v2}\n  - erase: {p: 0.75, value: pixel, boxes: [1, 3]}\n",
    HEAD "  - random_resized_crop: {size: 33}\n  - jitter: {p: 0.8, brightness: [0.5, 1.5], contrast: [0.5, 1.5], "
         "saturation: [0.5, 1.5]}\n  - grayscale: {p: 0.5}\n  - blur: {p: 0.5, radius: [0.5, 2]}\n  - output: {}\n"
         "  - erase: {p: 1, value: [1, 2, 3], boxes: 2}\n",
    HEAD "  - random_resized_crop: {size: 48}\n  - policy: {name: timm_rand_m9_mstd05_inc1}\n  - policy: {name: "
         "trivial_augment_wide}\n  - output: {}\n  - erase: {p: 0.5, value: channel}\n",
    HEAD "  - flip: {horizontal: 0.5, vertical: 0.5}\n  - policy: {name: rand_augment}\n",
};
#define TEXTS (sizeof texts / sizeof texts[0])

/* The result: one batch, host and device, canaries around it. */
typedef struct result {
    size_t bytes;
    uint8_t *host, *device, *back;
    motley_batch batch; /* of the host */
} result;

static const size_t dtype_bytes[] = { 1, 4, 2, 2 };

static motley_batch moved(motley_batch batch, const uint8_t *from, uint8_t *to)
{
    batch.data = to + ((uint8_t *)batch.data - from);
    return batch;
}

static void make_result(result *r, motley_batch batch)
{
    const size_t n = batch.count * (size_t)batch.channels * (size_t)batch.width * (size_t)batch.height;
    r->bytes = n * dtype_bytes[batch.dtype] + 2 * CANARY;
    r->host = malloc(r->bytes);
    r->back = malloc(r->bytes);
    need(r->host && r->back, "no memory");
    memset(r->host, 0x5A, r->bytes);
    need_cuda(cudaMalloc((void **)&r->device, r->bytes));
    need_cuda(cudaMemcpy(r->device, r->host, r->bytes, cudaMemcpyHostToDevice));
    r->batch = batch;
    r->batch.data = r->host + CANARY;
}

static void drop_result(result *r)
{
    free(r->host);
    free(r->back);
    need_cuda(cudaFree(r->device));
}

static int same(const result *r, const char *what)
{
    need_cuda(cudaMemcpy(r->back, r->device, r->bytes, cudaMemcpyDeviceToHost));
    compared += (int64_t)r->bytes;
    if (memcmp(r->back, r->host, r->bytes) == 0)
        return 1;
    size_t at = 0, differing = 0;
    for (size_t k = r->bytes; k-- > 0;)
        if (r->back[k] != r->host[k])
            at = k, differing++;
    const motley_batch *b = &r->batch;
    fprintf(stderr,
            "%s: %zu x %" PRId32 "x%" PRId32 "x%" PRId32
            ", dtype %d, layout %d: %zu bytes differ, %zu is %d, want %d\n",
            what, b->count, b->width, b->height, b->channels, (int)b->dtype, (int)b->layout, differing, at - CANARY,
            r->back[at], r->host[at]);
    if (++failures >= 20)
        exit(1);
    return 0;
}

typedef struct source {
    int count;
    input_buffer buffer[MOST_IMAGES];
    uint8_t *device[MOST_IMAGES];
    motley_image host_image[MOST_IMAGES], device_image[MOST_IMAGES];
} source;

static void add_source(source *s, input_layout layout, input_size size, int channels, uint64_t seed)
{
    input_buffer *const b = &s->buffer[s->count];
    need(input_buffer_make(b, layout, size, channels), "no memory");
    uint8_t *const dense = malloc((size_t)size.width * (size_t)size.height * (size_t)channels);
    need(dense != NULL, "no memory");
    input_fill((input_kind)(seed % INPUT_KINDS), seed, size, channels, dense);
    input_buffer_set(b, dense);
    free(dense);
    need_cuda(cudaMalloc((void **)&s->device[s->count], b->size));
    need_cuda(cudaMemcpy(s->device[s->count], b->bytes, b->size, cudaMemcpyHostToDevice));
    s->host_image[s->count] = s->device_image[s->count] = b->image;
    s->device_image[s->count].data = s->device[s->count] + ((uint8_t *)b->image.data - b->bytes);
    s->count++;
}

static void drop_source(source *s)
{
    for (int i = 0; i < s->count; i++) {
        free(s->buffer[i].bytes);
        need_cuda(cudaFree(s->device[i]));
    }
}

/* The same call as a graph that is replayed with another epoch and first sample, which it reads from `counter`. */
static void check_graph(const motley_transform *transform, const motley_batch *src, const motley_batch *host_src,
                        result *r, const char *what)
{
    const uint64_t now[2] = { 5, 1000 };
    uint64_t *counter;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    motley_error error = { 0 };
    need_cuda(cudaMalloc((void **)&counter, sizeof now));
    need_cuda(cudaMemcpy(counter, now, sizeof now, cudaMemcpyHostToDevice));
    need_cuda(cudaStreamCreate(&stream));
    const motley_transform_params params = { .samples = { .seed = 11 }, .stream = stream, .counter = counter };
    const motley_transform_params again = { .samples = { .seed = 11, .epoch = 5, .first = 1000 } };
    const motley_batch device = moved(r->batch, r->host, r->device);
    need_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const motley_status status = motley_transform_apply(cuda, transform, src, &device, &params, &error);
    need_cuda(cudaStreamEndCapture(stream, &graph));
    need(status == MOTLEY_OK, error.message);
    need_cuda(cudaGraphInstantiate(&exec, graph, 0));
    need_cuda(cudaGraphLaunch(exec, stream));
    need_cuda(cudaStreamSynchronize(stream));
    need(motley_transform_apply(cpu, transform, host_src, &r->batch, &again, &error) == MOTLEY_OK, error.message);
    same(r, what);
    need_cuda(cudaGraphExecDestroy(exec));
    need_cuda(cudaGraphDestroy(graph));
    need_cuda(cudaStreamDestroy(stream));
    need_cuda(cudaFree(counter));
}

static void check_batch(const motley_transform *transform, const char *name, uint64_t number, int32_t most)
{
    uint64_t state = SEED + number * 977;
    const motley_transform_info *info = motley_transform_describe(transform);
    source *const src = calloc(1, sizeof *src);
    need(src != NULL, "no memory");
    static const input_layout layouts[] = { INPUT_PACKED, INPUT_PLANAR, INPUT_PADDED, INPUT_UNALIGNED };
    const int channels = number % 9 == 8 ? 1 : 3, alike = number % 3 == 0 || !info->width;
    const input_layout layout = layouts[number % 4];
    const int count = 1 + (int)(input_random(&state) % MOST_IMAGES);
    input_size size = { 0, 0 };
    for (int i = 0; i < count; i++) {
        if (i == 0 || !alike)
            size = (input_size){ 4 + (int32_t)(input_random(&state) % (uint64_t)most),
                                 4 + (int32_t)(input_random(&state) % (uint64_t)most) };
        add_source(src, layout, size, channels, input_random(&state));
    }
    const motley_batch host_src = { .count = (size_t)count, .channels = channels, .images = src->host_image };
    const motley_batch device_src = { .count = (size_t)count, .channels = channels, .images = src->device_image };
    result r;
    make_result(&r, (motley_batch){ .count = (size_t)count,
                                    .channels = channels,
                                    .dtype = info->dtype == MOTLEY_U8 ? MOTLEY_U8 : (motley_dtype)(number % 3 + 1),
                                    .layout = (motley_layout)(number / 2 % 2),
                                    .width = info->width ? info->width : size.width,
                                    .height = info->width ? info->height : size.height });
    const size_t steps = info->max_steps ? info->max_steps : 1;
    motley_transform_drawn *const drawn = calloc((size_t)count, sizeof *drawn);
    motley_step *const step = calloc((size_t)count * steps, sizeof *step);
    int32_t *const step_count = calloc((size_t)count, sizeof *step_count);
    uint64_t id[MOST_IMAGES];
    uint32_t view[MOST_IMAGES];
    need(drawn && step && step_count, "no memory");
    for (int i = 0; i < count; i++) {
        id[i] = input_random(&state);
        view[i] = (uint32_t)(input_random(&state) % 7);
    }
    const motley_transform_params params = { .samples = { .seed = number,
                                                          .epoch = (uint32_t)(number % 4),
                                                          .first = number * 100,
                                                          .ids = number % 4 == 1 ? id : NULL,
                                                          .views = number % 4 == 2 ? view : NULL },
                                             .drawn = drawn,
                                             .steps = step,
                                             .step_counts = step_count };
    char what[200];
    snprintf(what, sizeof what, "%s, batch %" PRIu64 " of %s", name, number, input_layout_names[layout]);
    motley_error error = { 0 };
    const motley_batch device_dst = moved(r.batch, r.host, r.device);
    motley_transform_params plain = params;
    plain.drawn = NULL;
    plain.steps = NULL;
    plain.step_counts = NULL;
    const motley_status status = motley_transform_apply(cuda, transform, &device_src, &device_dst, &plain, &error);
    need_cuda(cudaDeviceSynchronize());
    if (status == MOTLEY_ERR_UNSUPPORTED && strstr(error.message, "hue")) {
        refused++;
    } else if (motley_transform_apply(cpu, transform, &host_src, &r.batch, &params, &error) == MOTLEY_OK) {
        need(status == MOTLEY_OK, error.message);
        same(&r, what);
        const motley_transform_params given = { .given = drawn, .given_steps = step, .given_step_counts = step_count };
        need_cuda(cudaMemset(r.device + CANARY, 0xEE, r.bytes - 2 * CANARY));
        need(motley_transform_apply(cuda, transform, &device_src, &device_dst, &given, &error) == MOTLEY_OK,
             error.message);
        need_cuda(cudaDeviceSynchronize());
        snprintf(what, sizeof what, "%s, batch %" PRIu64 ", given draws", name, number);
        same(&r, what);
        snprintf(what, sizeof what, "%s, batch %" PRIu64 ", a graph", name, number);
        if (number % 4 == 0)
            check_graph(transform, &device_src, &host_src, &r, what);
    } else {
        need(status != MOTLEY_OK, "the GPU takes what the CPU refuses");
        refused++;
    }
    free(drawn);
    free(step);
    free(step_count);
    drop_result(&r);
    drop_source(src);
    free(src);
}

static void check_transform(const motley_transform *transform, const char *name, uint64_t cases, int32_t most)
{
    const int before = failures, refused_before = refused;
    for (uint64_t number = 0; number < cases; number++)
        check_batch(transform, name, number, most);
    printf("%-40s %s%s\n", name, failures == before ? "ok" : "FAILED",
           refused - refused_before == (int)cases ? ", refused" : "");
}

int main(int argc, char **argv)
{
    uint64_t cases = 24;
    int32_t most = 300;
    const char *only = NULL;
    int require = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--require") == 0)
            require = 1;
        else if (i + 1 < argc && strcmp(argv[i], "--cases") == 0)
            cases = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--most") == 0)
            most = (int32_t)strtol(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--only") == 0)
            only = argv[++i];
        else
            need(0, "usage: check_cuda_transform [--require] [--cases N] [--most SIDE] [--only NAME]");
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
    for (size_t i = 0; i < motley_transform_builtin_count() + TEXTS; i++) {
        const size_t own = i - motley_transform_builtin_count();
        char name[40];
        snprintf(name, sizeof name, "text %zu", own);
        const char *const called = i < motley_transform_builtin_count() ? motley_transform_builtin_name(i) : name;
        motley_transform *transform;
        if (only && strcmp(only, called) != 0)
            continue;
        need((i < motley_transform_builtin_count()
                  ? motley_transform_builtin(called, &transform, &error)
                  : motley_transform_parse(texts[own], strlen(texts[own]), NULL, &transform, &error)) == MOTLEY_OK,
             error.message);
        check_transform(transform, called, cases, most);
        motley_transform_destroy(transform);
    }
    printf("%" PRId64 " bytes compared, %d batches refused, %d failures\n", compared, refused, failures);
    motley_context_destroy(cuda);
    motley_context_destroy(cpu);
    return failures > 0;
}
