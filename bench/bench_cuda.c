/* SPDX-License-Identifier: Apache-2.0 */
/* Times policies and ops on the GPU against a device-to-device copy of the same bytes in the same run, and prints one
 * JSON object a line.
 *
 *     bench_cuda [--set NAME] [--name NAME] [--runs N]    sets: targets, ops, batches, sizes, mixed, graph, fused,
 *                                           large, shapes, strides, transforms, followers, breaks, interpolated,
 *                                           wide, detection, all;
 *                                           the second name: one measurement of a set
 *     bench/cuda_results.py build               runs all and writes a dated file into bench/results/
 *
 * Each measurement has its own context. `buffers` copies of the batch, together several times the L2 cache, are
 * refreshed from the originals; then each is timed once between two events; this is repeated. The median is printed.
 * Masks that follow are moved by a second call on the same stream, which is timed, too; boxes and points by the call
 * itself. A transform's `copies` are of half the bytes that it reads from its crops and writes, and its `row_us` are
 * those of a call among many in a row, without events between them. `launches` counts the
 * kernels, copies and fills that a call queues, in a graph captured from one. `workspace` is the memory that the
 * context has afterwards, in bytes. */
#include "bench/convert.h"
#include "motley.h"
#include "tests/inputs.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <time.h>

#define MAX_BUFFERS 64
#define MAX_TIMES 512  /* of one measurement */
#define MAX_NODES 4096 /* of a captured graph */
#define ROW 24         /* calls in a row; the first ones, */
#define ROW_BEGINS 4   /* which find the stream idle or with little work, are not timed */
#define DISTINCT 256   /* pictures that are made; a larger batch repeats them */
#define CHANNELS 3
#define SIDE 224    /* of a transform's output */
#define BOXES 32    /* of an image, that follow it */
#define FEW_BOXES 7 /* of a picture of a detector's training */
#define POINTS 64   /* likewise */
#define BANDS 13    /* of satellites' images */

static const float mean[3] = { 0.485f, 0.456f, 0.406f }, std[3] = { 0.229f, 0.224f, 0.225f }; /* ImageNet's */
static int runs = 12;
static const char *set;                 /* which is being measured */
static const char *only;                /* what of it; NULL: all */
static float means[BANDS], stds[BANDS]; /* of images of U16 and F32 */
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

static void *allocate(size_t bytes)
{
    void *const memory = malloc(bytes);
    need(memory != NULL, "no memory");
    return memory;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* ---- the images ---- */

/* The images of a batch, and buffers to work on. */
typedef struct work {
    motley_batch batch;   /* data and images differ between buffers: batch_of */
    motley_image *images; /* [buffers][count]; NULL: one size */
    char size[24];        /* of an image, for the reader */
    const char *memory;   /* their memory layout, for the reader; NULL: dense */
    size_t skip;          /* bytes of a buffer before the first image */
    size_t bytes;
    size_t copied; /* bytes of it that COPY copies: all, or half of what a transform reads and writes */
    int buffers;
    uint8_t *original, *buffer[MAX_BUFFERS];
    void *output[MAX_BUFFERS]; /* of the fused last step, if it is measured */
    cudaEvent_t begin[MAX_BUFFERS], end[MAX_BUFFERS];
    float copy_us;
} work;

/* A smooth picture with some noise, as photographs are. */
static void paint(uint8_t *out, int width, int height, motley_layout layout, uint64_t *state)
{
    const int a = (int)(input_random(state) % 200), b = (int)(input_random(state) % 7) - 3;
    const size_t pixel = layout == MOTLEY_CHW ? 1 : CHANNELS;
    const size_t channel = layout == MOTLEY_CHW ? (size_t)width * (size_t)height : 1;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < CHANNELS; c++) {
                const int wave = (x * (c + 1) / 3 + y * b / 2) & 127;
                const int v = a + (wave < 64 ? wave : 127 - wave) + (int)(input_random(state) % 12);
                out[((size_t)y * (size_t)width + (size_t)x) * pixel + (size_t)c * channel] =
                    (uint8_t)(v > 255 ? 255 : v);
            }
}

static void make_buffers(work *w, size_t bytes)
{
    const size_t enough = (size_t)300000000 / bytes;
    w->bytes = w->copied = bytes;
    w->buffers = enough < 3 ? 3 : enough > MAX_BUFFERS ? MAX_BUFFERS : (int)enough;
    need_cuda(cudaMalloc((void **)&w->original, bytes));
    for (int i = 0; i < w->buffers; i++) {
        need_cuda(cudaMalloc((void **)&w->buffer[i], bytes));
        need_cuda(cudaEventCreate(&w->begin[i]));
        need_cuda(cudaEventCreate(&w->end[i]));
    }
}

static void work_make(work *w, size_t count, int width, int height, motley_layout layout)
{
    *w = (work){ .batch = { .count = count, .channels = CHANNELS, .layout = layout } };
    w->batch.width = width;
    w->batch.height = height;
    snprintf(w->size, sizeof w->size, "%dx%d", width, height);
    const size_t each = (size_t)width * (size_t)height * CHANNELS, made = count < DISTINCT ? count : DISTINCT;
    make_buffers(w, count * each);
    uint8_t *const host = allocate(made * each);
    uint64_t state = 1;
    for (size_t i = 0; i < made; i++)
        paint(host + i * each, width, height, layout, &state);
    for (size_t i = 0; i < count; i += made) {
        const size_t here = count - i < made ? count - i : made;
        need_cuda(cudaMemcpy(w->original + i * each, host, here * each, cudaMemcpyHostToDevice));
    }
    free(host);
}

/* Images of many sizes, HWC, each at a multiple of 256 bytes as allocators place them. */
static void work_make_mixed(work *w, size_t count, int low, int high)
{
    *w = (work){ .batch = { .count = count, .channels = CHANNELS } };
    snprintf(w->size, sizeof w->size, "%d..%d a side", low, high);
    motley_image *const image = allocate(count * sizeof *image);
    size_t *const at = allocate(count * sizeof *at), bytes = 0;
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++) {
        const int width = low + (int)(input_random(&state) % (uint64_t)(high - low + 1));
        const int height = low + (int)(input_random(&state) % (uint64_t)(high - low + 1));
        image[i] = (motley_image){ .width = width,
                                   .height = height,
                                   .row_stride = CHANNELS * width,
                                   .pixel_stride = CHANNELS,
                                   .channel_stride = 1 };
        at[i] = bytes;
        bytes += ((size_t)width * (size_t)height * CHANNELS + 255) & ~(size_t)255;
    }
    make_buffers(w, bytes);
    uint8_t *const host = calloc(1, bytes);
    need(host != NULL, "no memory");
    w->images = allocate((size_t)w->buffers * count * sizeof *w->images);
    for (size_t i = 0; i < count; i++) {
        paint(host + at[i], image[i].width, image[i].height, MOTLEY_HWC, &state);
        for (int b = 0; b < w->buffers; b++) {
            image[i].data = w->buffer[b] + at[i];
            w->images[(size_t)b * count + i] = image[i];
        }
    }
    need_cuda(cudaMemcpy(w->original, host, bytes, cudaMemcpyHostToDevice));
    free(host);
    free(image);
    free(at);
}

/* RGBA images, bands, planes with gaps between rows, and images at odd addresses. */
static void work_make_strided(work *w, size_t count, const char *memory, motley_layout layout, int channels, int alpha,
                              int gap, size_t skip)
{
    const size_t width = SIDE, height = SIDE;
    const size_t row = (layout == MOTLEY_CHW ? width : width * (size_t)channels) + (size_t)gap;
    const size_t image = row * height * (layout == MOTLEY_CHW ? (size_t)channels : 1), bytes = skip + count * image;
    *w = (work){ .batch = { .count = count,
                            .channels = channels,
                            .alpha = alpha,
                            .layout = layout,
                            .width = SIDE,
                            .height = SIDE,
                            .image_stride = (int64_t)image,
                            .row_stride = (int64_t)row,
                            .pixel_stride = layout == MOTLEY_CHW ? 1 : channels,
                            .channel_stride = layout == MOTLEY_CHW ? (int64_t)(row * height) : 1 },
                 .memory = memory,
                 .skip = skip };
    snprintf(w->size, sizeof w->size, "%dx%d", SIDE, SIDE);
    make_buffers(w, bytes);
    w->copied = count * width * height * (size_t)channels;
    uint8_t *const host = calloc(1, bytes);
    need(host != NULL, "no memory");
    uint64_t state = 1;
    for (size_t i = 0; i < bytes; i++) /* smooth along a row, with some noise */
        host[i] = (uint8_t)(i % row / 2 + input_random(&state) % 12);
    need_cuda(cudaMemcpy(w->original, host, bytes, cudaMemcpyHostToDevice));
    free(host);
}

static size_t bytes_of(motley_dtype dtype)
{
    return dtype == MOTLEY_U8 ? 1 : dtype == MOTLEY_F32 ? 4 : 2;
}

/* Images of U16 or F32, of 0..10000. */
static void work_make_wide(work *w, motley_dtype dtype, motley_layout layout, size_t count, int channels, int side)
{
    static const double reflectance[1][2] = { { 0, 10000 } };
    *w = (work){ .batch = { .count = count,
                            .channels = channels,
                            .dtype = dtype,
                            .layout = layout,
                            .width = side,
                            .height = side,
                            .range = reflectance },
                 .memory = dtype == MOTLEY_U16 ? "u16" : "f32" };
    snprintf(w->size, sizeof w->size, "%dx%d", side, side);
    const size_t n = count * (size_t)channels * (size_t)side * (size_t)side, bytes = n * bytes_of(dtype);
    make_buffers(w, bytes);
    uint8_t *const host = allocate(bytes);
    uint64_t state = 1;
    for (size_t i = 0; i < n; i++) {
        const int v = (int)(i / 3 % 6000 + input_random(&state) % 3000); /* smooth along a row, with some noise */
        const float real = (float)v;
        const uint16_t whole = (uint16_t)v;
        memcpy(host + i * bytes_of(dtype), dtype == MOTLEY_U16 ? (const void *)&whole : &real, bytes_of(dtype));
    }
    need_cuda(cudaMemcpy(w->original, host, bytes, cudaMemcpyHostToDevice));
    free(host);
    for (int i = 0; i < w->buffers; i++)
        need_cuda(cudaMalloc(&w->output[i], bytes));
    for (int c = 0; c < BANDS; c++) {
        means[c] = 3000 + 100 * (float)c;
        stds[c] = 900 + 50 * (float)c;
    }
}

static void work_drop(work *w)
{
    cudaFree(w->original);
    for (int i = 0; i < w->buffers; i++) {
        cudaFree(w->buffer[i]);
        cudaFree(w->output[i]);
        cudaEventDestroy(w->begin[i]);
        cudaEventDestroy(w->end[i]);
    }
    free(w->images);
}

static motley_batch batch_of(const work *w, int i)
{
    motley_batch b = w->batch;
    b.data = w->images ? NULL : w->buffer[i] + w->skip;
    b.images = w->images ? w->images + (size_t)i * b.count : NULL;
    return b;
}

static void refresh(const work *w, int i)
{
    need_cuda(cudaMemcpyAsync(w->buffer[i], w->original, w->bytes, cudaMemcpyDeviceToDevice, stream));
}

/* ---- what is timed ---- */

typedef enum how {
    COPY,      /* the batch's bytes, device to device */
    CALL,      /* motley_apply in place */
    APART,     /* motley_apply from the batch to another one of its type */
    REPLAY,    /* a CUDA graph of that, which makes new draws from a counter in device memory */
    FUSED,     /* motley_apply to normalised f16 CHW */
    FUSED_HWC, /* the same to HWC */
    FUSED_F32, /* to f32 CHW */
    FUSED_F32_HWC,
    SEPARATE,  /* motley_apply in place, then a plain kernel that converts (bench/convert.cu) */
    CONVERT,   /* that kernel */
    TRANSFORM, /* motley_apply to normalised f16 CHW */
    MASKS,     /* motley_apply, and a mask of each image follows */
    NUMBERS    /* motley_apply, and BOXES boxes and POINTS points of each image follow */
} how;
static const char *const how_names[] = { "copy",     "call",         "apart",        "replay",
                                         "fused",    "fused to HWC", "fused to f32", "fused to f32 HWC",
                                         "separate", "convert",      "transform",    "masks",
                                         "numbers" };

/* The followers of the images of a batch. */
typedef struct followed {
    uint8_t *masks[MAX_BUFFERS]; /* [2][count] of one plane each: as given, and moved */
    motley_followed numbers;     /* boxes and points as given ... */
    double *moved[MAX_BUFFERS];  /* ... and where each buffer's are moved: boxes, then points */
} followed;

typedef struct subject {
    how how;
    const char *name;            /* of the policy or op */
    const motley_policy *policy; /* NULL: none is applied */
    const motley_policy *transform;
    followed *followed;          /* MASKS, NUMBERS; of a transform, the boxes that move, or NULL */
    const motley_samples *boxes; /* by which a transform crops, or NULL */
    motley_dtype dtype;          /* of a transform's results */
    cudaGraphExec_t replay[MAX_BUFFERS];
    uint64_t *counters; /* device memory [MAX_BUFFERS][2]: {epoch, first} of each buffer's replay, or NULL */
} subject;

static void refresh_numbers(const followed *f, int i)
{
    const size_t boxes = 4 * f->numbers.boxes_count, points = 2 * f->numbers.points_count;
    need_cuda(cudaMemcpyAsync(f->moved[i], f->numbers.boxes, boxes * sizeof(double), cudaMemcpyDeviceToDevice, stream));
    need_cuda(cudaMemcpyAsync(f->moved[i] + boxes, f->numbers.points, points * sizeof(double), cudaMemcpyDeviceToDevice,
                              stream));
}

static void apply(const work *w, const subject *s, int i, uint32_t epoch)
{
    motley_error error;
    const motley_batch b = batch_of(w, i);
    const int fused = s->how >= FUSED && s->how <= FUSED_F32_HWC;
    motley_apply_params params = { .samples = { .seed = 1, .epoch = epoch }, .stream = stream };
    if (s->counters)
        params.counter = s->counters + 2 * i;
    motley_followed numbers = { .planes_count = 1 };
    motley_planes masks = { .element_size = 1, .count = 1 };
    if (s->how == MASKS) {
        masks.src = s->followed->masks[i];
        masks.dst = s->followed->masks[i] + w->bytes / CHANNELS;
        numbers.planes = &masks;
        params.followed = &numbers;
    }
    if (s->how == NUMBERS) {
        numbers = s->followed->numbers;
        numbers.boxes = s->followed->moved[i];
        numbers.points = s->followed->moved[i] + 4 * numbers.boxes_count;
        params.followed = &numbers;
    }
    if (fused) {
        params.output.batch = w->batch;
        params.output.batch.data = w->output[i];
        params.output.batch.dtype = s->how >= FUSED_F32 ? MOTLEY_F32 : MOTLEY_F16;
        params.output.batch.layout = s->how == FUSED || s->how == FUSED_F32 ? MOTLEY_CHW : MOTLEY_HWC;
        memcpy(params.output.mean, mean, sizeof mean);
        memcpy(params.output.std, std, sizeof std);
        params.output.means = b.dtype == MOTLEY_U8 ? NULL : means;
        params.output.stds = b.dtype == MOTLEY_U8 ? NULL : stds;
        params.output.batch.range = NULL;
    }
    motley_batch dst = b;
    if (s->how == APART)
        dst.data = w->output[i];
    need(motley_apply(context, s->policy, &b,
                      fused             ? NULL
                      : s->how == APART ? &dst
                                        : &b,
                      &params, &error) == MOTLEY_OK,
         error.message);
}

/* Transforms a buffer's images into images of the transform's size. */
static void transform(const work *w, const subject *s, int i, uint32_t epoch)
{
    motley_error error;
    const motley_policy_info *const info = motley_policy_describe(s->transform);
    const motley_batch src = batch_of(w, i);
    const motley_batch dst = { .count = src.count,
                               .channels = src.channels,
                               .dtype = s->dtype,
                               .layout = MOTLEY_CHW,
                               .data = w->output[i],
                               .width = info->width,
                               .height = info->height };
    motley_apply_params params = { .stream = stream };
    motley_followed numbers;
    if (s->boxes)
        params.samples = *s->boxes;
    params.samples.seed = 1;
    params.samples.epoch = epoch;
    if (s->counters)
        params.counter = s->counters + 2 * i;
    if (s->followed) {
        numbers = s->followed->numbers;
        numbers.boxes = s->followed->moved[i];
        params.followed = &numbers;
    }
    need(motley_apply(context, s->transform, &src, &dst, &params, &error) == MOTLEY_OK, error.message);
}

static void once(const work *w, const subject *s, int i, uint32_t epoch)
{
    if (s->how == COPY && w->copied > w->bytes) /* what is written is more than what is read */
        need_cuda(cudaMemcpyAsync(w->output[i], w->output[(i + 1) % w->buffers], w->copied, cudaMemcpyDeviceToDevice,
                                  stream));
    else if (s->how == COPY)
        need_cuda(cudaMemcpyAsync(w->buffer[i], w->original, w->copied, cudaMemcpyDeviceToDevice, stream));
    else if (s->how == TRANSFORM)
        transform(w, s, i, epoch);
    else if (s->how == REPLAY)
        need_cuda(cudaGraphLaunch(s->replay[i], stream));
    else if (s->how != CONVERT)
        apply(w, s, i, epoch);
    if (s->how == SEPARATE || s->how == CONVERT)
        need_cuda(bench_convert(w->buffer[i], w->output[i], w->batch.count,
                                (size_t)w->batch.width * (size_t)w->batch.height, mean, std, stream));
}

/* Captures the call on buffer i as a graph; not for a replay. */
static cudaGraph_t capture(const work *w, const subject *s, int i)
{
    cudaGraph_t graph;
    need_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    once(w, s, i, 0);
    need_cuda(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static void make_replays(const work *w, subject *s)
{
    subject call = *s;
    call.how = s->transform ? TRANSFORM : CALL;
    once(w, &call, 0, 0); /* a capture allocates nothing */
    for (int i = 0; i < w->buffers; i++) {
        cudaGraph_t graph = capture(w, &call, i);
        need_cuda(cudaGraphInstantiate(&s->replay[i], graph, 0));
        need_cuda(cudaGraphDestroy(graph));
    }
}

/* How many kernels, copies and fills are queued. */
static int launches(const work *w, const subject *s)
{
    subject queued = *s;
    queued.how = s->how != REPLAY ? s->how : s->transform ? TRANSFORM : CALL;
    cudaGraph_t graph = capture(w, &queued, 0);
    static cudaGraphNode_t node[MAX_NODES];
    size_t nodes = MAX_NODES;
    int found = 0;
    need_cuda(cudaGraphGetNodes(graph, node, &nodes));
    need(nodes < MAX_NODES, "a call queues more than can be counted");
    for (size_t i = 0; i < nodes; i++) {
        enum cudaGraphNodeType type;
        need_cuda(cudaGraphNodeGetType(node[i], &type));
        found += type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset;
    }
    need_cuda(cudaGraphDestroy(graph));
    return found;
}

static void open_context(void)
{
    motley_error error;
    const motley_context_params params = { .backend = MOTLEY_BACKEND_CUDA };
    need(motley_context_create(&params, &context, &error) == MOTLEY_OK, error.message);
}

static void set_counters(const subject *s, uint32_t epoch)
{
    uint64_t counters[MAX_BUFFERS][2];
    for (uint32_t i = 0; i < MAX_BUFFERS; i++) {
        counters[i][0] = epoch + i;
        counters[i][1] = 0;
    }
    need_cuda(cudaMemcpy(s->counters, counters, sizeof counters, cudaMemcpyHostToDevice));
}

/* Microseconds of a call in a row; of a transform, as others change what they read. */
static float in_a_row(const work *w, const subject *s)
{
    float us[MAX_TIMES];
    int n = 0;
    for (; n < runs && n < MAX_TIMES; n++) {
        need_cuda(cudaStreamSynchronize(stream));
        for (int i = 0; i < ROW; i++) {
            if (i == ROW_BEGINS)
                need_cuda(cudaEventRecord(w->begin[0], stream));
            once(w, s, i % w->buffers, (uint32_t)(n * ROW + i));
        }
        need_cuda(cudaEventRecord(w->end[0], stream));
        need_cuda(cudaEventSynchronize(w->end[0]));
        need_cuda(cudaEventElapsedTime(&us[n], w->begin[0], w->end[0]));
        us[n] *= 1000.0f / (ROW - ROW_BEGINS);
    }
    qsort(us, (size_t)n, sizeof us[0], by_value);
    return us[n / 2];
}

static void measure(work *w, subject *s)
{
    float us[MAX_TIMES], host_us[MAX_TIMES];
    int n = 0;
    motley_error error;
    size_t workspace;
    if (only && s->how != COPY && strcmp(only, s->name) != 0)
        return;
    open_context();
    if (s->how == REPLAY) {
        need_cuda(cudaMalloc((void **)&s->counters, 2 * MAX_BUFFERS * sizeof *s->counters));
        set_counters(s, 0);
        make_replays(w, s);
    }
    for (int run = -1; run < runs && n + w->buffers <= MAX_TIMES; run++) { /* the first to warm up */
        const uint32_t epoch = (uint32_t)((run + 1) * MAX_BUFFERS);
        for (int i = 0; i < w->buffers; i++) {
            refresh(w, i);
            if (s->how == NUMBERS || (s->transform && s->followed))
                refresh_numbers(s->followed, i);
        }
        need_cuda(cudaStreamSynchronize(stream));
        if (s->counters)
            set_counters(s, epoch);
        const int before = n;
        for (int i = 0; i < w->buffers; i++) {
            struct timespec a, b;
            need_cuda(cudaEventRecord(w->begin[i], stream));
            clock_gettime(CLOCK_MONOTONIC, &a);
            once(w, s, i, epoch + (uint32_t)i);
            clock_gettime(CLOCK_MONOTONIC, &b);
            need_cuda(cudaEventRecord(w->end[i], stream));
            host_us[before + i] = (float)(1e6 * (double)(b.tv_sec - a.tv_sec) + 1e-3 * (double)(b.tv_nsec - a.tv_nsec));
        }
        need_cuda(cudaStreamSynchronize(stream));
        for (int i = 0; i < w->buffers && run >= 0; i++) {
            need_cuda(cudaEventElapsedTime(&us[n], w->begin[i], w->end[i]));
            us[n++] *= 1000;
        }
    }
    need(n > 0, "no run was measured: --runs wants at least 1");
    qsort(us, (size_t)n, sizeof us[0], by_value);
    qsort(host_us, (size_t)n, sizeof host_us[0], by_value);
    if (s->how == COPY)
        w->copy_us = us[n / 2];
    char row[40] = "";
    if (s->how == TRANSFORM)
        snprintf(row, sizeof row, "\"row_us\": %.2f, ", in_a_row(w, s));
    const int queued = launches(w, s);
    need(motley_context_workspace(context, NULL, NULL, &workspace, &error) == MOTLEY_OK, error.message);
    printf("{\"set\": \"%s\", \"name\": \"%s\", \"how\": \"%s\", \"count\": %zu, \"size\": \"%s\", \"channels\": %d, "
           "\"layout\": \"%s\", \"memory\": \"%s\", \"bytes\": %zu, \"us\": %.2f, \"us_p10\": %.2f, \"us_p90\": %.2f, "
           "\"copies\": %.3f, "
           "\"img_s\": %.0f, \"host_us\": %.2f, %s\"launches\": %d, \"workspace\": %zu, \"n\": %d}\n",
           set, s->name, how_names[s->how], w->batch.count, w->size, w->batch.channels,
           w->batch.layout == MOTLEY_CHW ? "CHW" : "HWC", w->memory ? w->memory : "dense", w->copied, us[n / 2],
           us[n / 10], us[n - 1 - n / 10], us[n / 2] / w->copy_us, 1e6 * (double)w->batch.count / us[n / 2],
           host_us[n / 2], row, queued, workspace, n);
    fflush(stdout);
    if (s->how == REPLAY) {
        for (int i = 0; i < w->buffers; i++)
            need_cuda(cudaGraphExecDestroy(s->replay[i]));
        need_cuda(cudaFree(s->counters));
    }
    motley_context_destroy(context);
}

static void copy(work *w)
{
    subject s = { .how = COPY, .name = "copy" };
    measure(w, &s);
}

static motley_policy *builtin(const char *name)
{
    motley_policy *p;
    motley_error error;
    need(motley_policy_builtin(name, &p, &error) == MOTLEY_OK, error.message);
    return p;
}

static void policy_by(work *w, const char *name, how how)
{
    motley_policy *const p = builtin(name);
    subject s = { .how = how, .name = name, .policy = p };
    measure(w, &s);
    motley_policy_destroy(p);
}

static void policy(work *w, const char *name)
{
    policy_by(w, name, CALL);
}

/* Every op with its example's value, as a policy of one step. */
static void every_op(work *w)
{
    for (int op = 0; op < motley_op_count(); op++) {
        const motley_op_info *info = motley_op_get(op);
        if (info->values_min > 1 || info->shape == MOTLEY_SHAPE_FILTER) /* no policy can hold it; the CPU's */
            continue;
        char text[200];
        motley_policy *p;
        motley_error error;
        snprintf(text, sizeof text,
                 info->values_max ? "motley: 1\nname: one\nbranches: [{op: %s, value: %g}]\n"
                                  : "motley: 1\nname: one\nbranches: [%s]\n",
                 info->name, info->example);
        need(motley_policy_parse(text, strlen(text), NULL, &p, &error) == MOTLEY_OK, error.message);
        if (motley_policy_describe(p)->takes_boxes) { /* and these have none */
            motley_policy_destroy(p);
            continue;
        }
        subject s = { .how = CALL, .name = info->name, .policy = p };
        measure(w, &s);
        motley_policy_destroy(p);
    }
}

/* Checks that the fused output and the separate steps give the same bytes; else neither is timed. */
static void same_output(const work *w, const char *name)
{
    const size_t bytes = w->bytes * sizeof(uint16_t);
    uint8_t *const fused = allocate(bytes), *const separate = allocate(bytes);
    motley_policy *const p = builtin(name);
    subject s = { .name = name, .policy = p };
    open_context();
    for (int i = 0; i < 2; i++) {
        s.how = i == 0 ? FUSED : SEPARATE;
        refresh(w, 0);
        need_cuda(cudaMemsetAsync(w->output[0], 0xFF, bytes, stream));
        once(w, &s, 0, 1);
        need_cuda(cudaStreamSynchronize(stream));
        need_cuda(cudaMemcpy(i == 0 ? fused : separate, w->output[0], bytes, cudaMemcpyDeviceToHost));
    }
    need(memcmp(fused, separate, bytes) == 0, "the fused output differs from the separate steps'");
    motley_context_destroy(context);
    motley_policy_destroy(p);
    free(fused);
    free(separate);
}

/* ---- the sets ---- */

static void targets(void)
{
    static const struct {
        size_t count;
        int side;
    } batches[] = { { 256, 224 }, { 1024, 224 }, { 1024, 32 }, { 64, 512 } };
    for (size_t t = 0; t < sizeof batches / sizeof batches[0]; t++)
        for (int layout = MOTLEY_HWC; layout <= MOTLEY_CHW; layout++) {
            work w;
            work_make(&w, batches[t].count, batches[t].side, batches[t].side, (motley_layout)layout);
            copy(&w);
            policy(&w, "rand_augment");
            policy(&w, "trivial_augment_wide");
            policy(&w, "auto_augment_imagenet");
            if (t == 0)
                policy(&w, "timm_rand_m9_mstd05_inc1");
            work_drop(&w);
        }
}

static void ops(void)
{
    for (int layout = MOTLEY_HWC; layout <= MOTLEY_CHW; layout++) {
        work w;
        work_make(&w, 256, 224, 224, (motley_layout)layout);
        copy(&w);
        every_op(&w);
        work_drop(&w);
    }
}

static void batches(void)
{
    for (size_t n = 1; n <= 4096; n *= 8) {
        work w;
        work_make(&w, n, 224, 224, MOTLEY_HWC);
        copy(&w);
        policy(&w, "rand_augment");
        work_drop(&w);
    }
}

/* As many bytes of each size as 256 images of 224x224 have, but at most 4096 images. */
static void sizes(void)
{
    static const int sides[] = { 32, 64, 96, 128, 224, 384, 512, 768, 1024 };
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++)
        for (int layout = MOTLEY_HWC; layout <= MOTLEY_CHW; layout++) {
            const size_t count = (size_t)(256 * 224 * 224 / (sides[i] * sides[i]));
            work w;
            work_make(&w, count < 4096 ? count : 4096, sides[i], sides[i], (motley_layout)layout);
            copy(&w);
            policy(&w, "rand_augment");
            policy(&w, "trivial_augment_wide");
            work_drop(&w);
        }
}

static void mixed(void)
{
    work w;
    work_make_mixed(&w, 256, 96, 384);
    copy(&w);
    policy(&w, "rand_augment");
    policy(&w, "trivial_augment_wide");
    work_drop(&w);
}

static void graph(void)
{
    static const struct {
        size_t count;
        int side;
    } batches[] = { { 1, 224 }, { 8, 224 }, { 64, 224 }, { 256, 224 }, { 1024, 224 }, { 4096, 224 }, { 1024, 32 } };
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        work w;
        work_make(&w, batches[i].count, batches[i].side, batches[i].side, MOTLEY_HWC);
        copy(&w);
        policy(&w, "rand_augment");
        policy_by(&w, "rand_augment", REPLAY);
        work_drop(&w);
    }
}

static void fused(void)
{
    static const char *const policies[] = { "rand_augment", "trivial_augment_wide" };
    work w;
    work_make(&w, 256, 224, 224, MOTLEY_HWC);
    for (int i = 0; i < w.buffers; i++)
        need_cuda(cudaMalloc(&w.output[i], w.bytes * sizeof(float)));
    copy(&w);
    subject convert = { .how = CONVERT, .name = "convert" };
    measure(&w, &convert);
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        same_output(&w, policies[i]);
        policy_by(&w, policies[i], FUSED);
        policy_by(&w, policies[i], FUSED_HWC);
        policy_by(&w, policies[i], SEPARATE);
        policy_by(&w, policies[i], FUSED_F32);
        policy_by(&w, policies[i], FUSED_F32_HWC);
    }
    work_drop(&w);
}

/* Images that do not fit into shared memory. */
static void large(void)
{
    static const struct {
        size_t count;
        int width, height;
    } batches[] = { { 4, 2048, 2048 }, { 1, 4000, 3000 } };
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++)
        for (int layout = MOTLEY_HWC; layout <= MOTLEY_CHW; layout++) {
            work w;
            work_make(&w, batches[i].count, batches[i].width, batches[i].height, (motley_layout)layout);
            copy(&w);
            policy(&w, "rand_augment");
            policy(&w, "trivial_augment_wide");
            work_drop(&w);
        }
}

/* One op on every image. `value` NAN: the op takes none. */
static void one_op(work *w, const char *name, double value)
{
    char text[200];
    motley_policy *p;
    motley_error error;
    if (value == value)
        snprintf(text, sizeof text, "motley: 1\nname: one\nbranches: [{op: %s, value: %g}]\n", name, value);
    else
        snprintf(text, sizeof text, "motley: 1\nname: one\nbranches: [%s]\n", name);
    need(motley_policy_parse(text, strlen(text), NULL, &p, &error) == MOTLEY_OK, error.message);
    subject s = { .how = CALL, .name = name, .policy = p };
    measure(w, &s);
    motley_policy_destroy(p);
}

/* Warps by one value, and timm's policy, half of whose ops interpolate. */
static void interpolated(void)
{
    static const char *const ops[] = { "rotate, value: 20.3", "shear_x, value: 0.2137", "shear_y, value: 0.2137",
                                       "translate_x, value: 10.377", "translate_y, value: 10.377" };
    static const char *const by[] = { "nearest", "bilinear", "bicubic" };
    for (int layout = MOTLEY_HWC; layout <= MOTLEY_CHW; layout++) {
        work w;
        work_make(&w, 256, 224, 224, (motley_layout)layout);
        copy(&w);
        for (size_t i = 0; i < 3 * sizeof ops / sizeof ops[0]; i++) {
            char text[200], name[80];
            motley_policy *p;
            motley_error error;
            snprintf(text, sizeof text, "motley: 1\nname: one\ninterpolation: %s\nbranches: [{op: %s}]\n", by[i % 3],
                     ops[i / 3]);
            snprintf(name, sizeof name, "%.*s, %s", (int)strcspn(ops[i / 3], ","), ops[i / 3], by[i % 3]);
            need(motley_policy_parse(text, strlen(text), NULL, &p, &error) == MOTLEY_OK, error.message);
            subject s = { .how = CALL, .name = name, .policy = p };
            measure(&w, &s);
            motley_policy_destroy(p);
        }
        policy(&w, "timm_rand_m9_mstd05_inc1");
        work_drop(&w);
    }
}

/* Widths that are not a multiple of four, policies that blur or interpolate, and images of a megapixel. */
static void shapes(void)
{
    static const struct {
        size_t count;
        int side;
    } batches[] = { { 256, 223 }, { 144, 299 }, { 12, 1024 } };
    work w;
    for (size_t t = 0; t < sizeof batches / sizeof batches[0]; t++)
        for (int layout = MOTLEY_HWC; layout <= MOTLEY_CHW; layout++) {
            work_make(&w, batches[t].count, batches[t].side, batches[t].side, (motley_layout)layout);
            copy(&w);
            policy(&w, "rand_augment");
            policy(&w, "trivial_augment_wide");
            work_drop(&w);
        }
    for (int layout = MOTLEY_HWC; layout <= MOTLEY_CHW; layout++) {
        work_make(&w, 256, 224, 224, (motley_layout)layout);
        copy(&w);
        policy(&w, "timm_rand_m9_mstd05_inc1");
        policy(&w, "timm_3_augment");
        one_op(&w, "gaussian_blur", 2);
        work_drop(&w);
    }
}

/* Images that are not dense, not of three channels, or not at even addresses; and bands, with as many grey images. */
static void strides(void)
{
    static const struct {
        size_t count;
        const char *memory;
        motley_layout layout;
        int channels, alpha, gap;
        size_t skip;
    } batches[] = { { 256, "rows with gaps", MOTLEY_CHW, 3, 0, 32, 0 },
                    { 256, "RGBA", MOTLEY_HWC, 4, 1, 0, 0 },
                    { 256, "odd addresses", MOTLEY_HWC, 3, 0, 0, 1 },
                    { 256, "odd addresses", MOTLEY_CHW, 3, 0, 0, 1 },
                    { 256, "grey", MOTLEY_CHW, 1, 0, 0, 0 },
                    { 64, "planes of bands", MOTLEY_CHW, 4, 0, 0, 0 },
                    { 64, "bands", MOTLEY_HWC, 4, 0, 0, 0 } };
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        work w;
        work_make_strided(&w, batches[i].count, batches[i].memory, batches[i].layout, batches[i].channels,
                          batches[i].alpha, batches[i].gap, batches[i].skip);
        copy(&w);
        policy(&w, "rand_augment");
        policy(&w, "trivial_augment_wide");
        work_drop(&w);
    }
}

/* The bytes that a transform reads of its crops and writes, halved: COPY moves as many there and back. */
static size_t moved(const work *w, const motley_policy *t)
{
    const size_t n = w->batch.count, steps = motley_policy_describe(t)->max_steps;
    motley_place *const drawn = allocate(n * sizeof *drawn);
    motley_step *const step = allocate((n * steps + 1) * sizeof *step);
    int32_t *const counts = allocate(n * sizeof *counts), *const width = allocate(n * sizeof *width),
                   *const height = allocate(n * sizeof *height);
    motley_error error;
    const size_t channels = (size_t)w->batch.channels, in = bytes_of(w->batch.dtype), out = in == 1 ? 2 : in;
    size_t bytes = n * SIDE * SIDE * channels * out;
    for (size_t i = 0; i < n; i++) {
        width[i] = w->images ? w->images[i].width : w->batch.width;
        height[i] = w->images ? w->images[i].height : w->batch.height;
    }
    const motley_samples samples = { .seed = 1 };
    need(motley_draw(t, &samples, n, width, height, 1, drawn, step, counts, &error) == MOTLEY_OK, error.message);
    for (size_t i = 0; i < n; i++)
        bytes += (size_t)drawn[i].crop.width * (size_t)drawn[i].crop.height * channels * in;
    free(drawn);
    free(step);
    free(counts);
    free(width);
    free(height);
    return bytes / 2 < w->bytes ? bytes / 2 : w->bytes;
}

/* A crop and a flip, then `stages`, then normalised f16; `copied`: beside a copy of as many bytes. */
static void one_transform(work *w, const char *name, const char *stages, int copied)
{
    char text[600];
    motley_policy *made;
    motley_error error;
    snprintf(text, sizeof text,
             "motley: 1\nname: x\nstages:\n  - random_resized_crop: {size: %d}\n  - flip: {horizontal: 0.5}\n%s"
             "  - output: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}\n",
             SIDE, stages);
    need(motley_policy_parse(text, strlen(text), NULL, &made, &error) == MOTLEY_OK, error.message);
    w->copied = moved(w, made);
    if (copied)
        copy(w);
    subject s = { .how = TRANSFORM, .name = name, .transform = made, .dtype = MOTLEY_F16 };
    measure(w, &s);
    motley_policy_destroy(made);
}

static void make_outputs(work *w, size_t bytes)
{
    for (int i = 0; i < w->buffers; i++)
        need_cuda(cudaMalloc(&w->output[i], bytes));
}

/* Jobs that run in parts: filters, hue, kernel blurs, chains that are mixed. */
static void breaks(void)
{
    work w;
    work_make(&w, 256, 224, 224, MOTLEY_HWC);
    copy(&w);
    policy(&w, "rand_augment");
    policy(&w, "augmix");
    policy(&w, "timm_augmix");
    one_op(&w, "sharpen", NAN);
    one_op(&w, "detail", NAN);
    one_op(&w, "blur", NAN);
    work_drop(&w);
    work_make(&w, 256, 500, 375, MOTLEY_HWC);
    make_outputs(&w, w.batch.count * SIDE * SIDE * CHANNELS * sizeof(uint16_t));
    one_transform(&w, "crop, flip, jitter",
                  "  - jitter: {brightness: [0.6, 1.4], contrast: [0.6, 1.4], saturation: [0.6, 1.4]}\n", 1);
    one_transform(
        &w, "crop, flip, jitter with hue",
        "  - jitter: {brightness: [0.6, 1.4], contrast: [0.6, 1.4], saturation: [0.6, 1.4], hue: [-0.1, 0.1]}\n", 0);
    one_transform(&w, "crop, flip, kernel blur", "  - blur: {p: 0.5, kernel_size: 23, sigma: [0.1, 2]}\n", 0);
    one_transform(&w, "crop, flip, augmix", "  - policy: {name: augmix}\n", 0);
    work_drop(&w);
}

/* Whole transforms, from decoded photographs to normalised f16. */
static void transforms(void)
{
    static const struct {
        const char *name, *stage;
    } texts[] = { { "crop, flip", "" },
                  { "crop, flip, rand_augment", "  - policy: {name: rand_augment}\n" },
                  { "crop, flip, trivial_augment_wide", "  - policy: {name: trivial_augment_wide}\n" },
                  { "crop, flip, timm_rand_m9_mstd05_inc1", "  - policy: {name: timm_rand_m9_mstd05_inc1}\n" } };
    static const struct {
        int low, high, width, height; /* of 0: sizes from low to high, each image by itself */
    } batches[] = { { 0, 0, 500, 375 }, { 432, 432, 0, 0 }, { 0, 0, 1024, 768 }, { 300, 2000, 0, 0 } };
    for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
        work w;
        if (batches[b].width)
            work_make(&w, 256, batches[b].width, batches[b].height, MOTLEY_HWC);
        else
            work_make_mixed(&w, 256, batches[b].low, batches[b].high);
        make_outputs(&w, w.batch.count * SIDE * SIDE * CHANNELS * sizeof(uint16_t));
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
            one_transform(&w, texts[t].name, texts[t].stage, t == 0);
        work_drop(&w);
    }
}

static void *sent(const void *host, size_t bytes)
{
    void *device;
    need_cuda(cudaMalloc(&device, bytes));
    need_cuda(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    return device;
}

static void follow_begin(const work *w, size_t boxes, size_t points, followed *f)
{
    const size_t n = w->batch.count, pixels = w->bytes / CHANNELS;
    uint64_t state = 2;
    for (int i = 0; i < w->buffers; i++) {
        need_cuda(cudaMalloc((void **)&f->masks[i], 2 * pixels));
        need_cuda(cudaMemcpy(f->masks[i], w->original, pixels, cudaMemcpyDeviceToDevice));
        need_cuda(cudaMalloc((void **)&f->moved[i], n * (4 * boxes + 2 * points) * sizeof(double)));
    }
    const size_t each[2] = { boxes, points }, width[2] = { 4, 2 };
    double *numbers[2];
    size_t *offsets[2];
    for (int k = 0; k < 2; k++) {
        double *const host = allocate(n * each[k] * width[k] * sizeof *host);
        size_t *const begins = allocate((n + 1) * sizeof *begins);
        for (size_t i = 0; i <= n; i++)
            begins[i] = i * each[k];
        for (size_t r = 0; r < n * each[k]; r++) {
            double *at = host + r * width[k];
            at[0] = (double)(input_random(&state) % (uint64_t)(w->batch.width / 2));
            at[1] = (double)(input_random(&state) % (uint64_t)(w->batch.height / 2));
            if (k == 0) {
                at[2] = at[0] + 1 + (double)(input_random(&state) % (uint64_t)(w->batch.width / 2));
                at[3] = at[1] + 1 + (double)(input_random(&state) % (uint64_t)(w->batch.height / 2));
            }
        }
        numbers[k] = sent(host, n * each[k] * width[k] * sizeof *host);
        offsets[k] = sent(begins, (n + 1) * sizeof *begins);
        free(host);
        free(begins);
    }
    f->numbers = (motley_followed){ .boxes_count = n * boxes,
                                    .boxes = numbers[0],
                                    .box_offsets = offsets[0],
                                    .points_count = n * points,
                                    .points = numbers[1],
                                    .point_offsets = offsets[1] };
}

static void follow_end(const work *w, followed *f)
{
    for (int i = 0; i < w->buffers; i++) {
        cudaFree(f->masks[i]);
        cudaFree(f->moved[i]);
    }
    cudaFree(f->numbers.boxes);
    cudaFree((void *)f->numbers.box_offsets);
    cudaFree(f->numbers.points);
    cudaFree((void *)f->numbers.point_offsets);
}

/* A policy alone, with a mask of each image, and with boxes and points. */
static void followers(void)
{
    static const char *const policies[] = { "rand_augment", "trivial_augment_wide" };
    static const how hows[] = { CALL, MASKS, NUMBERS };
    work w;
    work_make(&w, 256, 224, 224, MOTLEY_HWC);
    copy(&w);
    for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++) {
        motley_policy *const images = builtin(policies[p]);
        followed f = { 0 };
        follow_begin(&w, BOXES, POINTS, &f);
        for (size_t h = 0; h < sizeof hows / sizeof hows[0]; h++) {
            subject s = { .how = hows[h], .name = policies[p], .policy = images, .followed = &f };
            measure(&w, &s);
        }
        follow_end(&w, &f);
        motley_policy_destroy(images);
    }
    work_drop(&w);
}

/* A detector's recipe, whose images are cropped by their boxes, to f32. `copies`: of half the bytes of sources and
 * results. */
static void detection(void)
{
    work w;
    followed f = { 0 };
    motley_error error;
    motley_policy *const recipe = builtin("dfine_l"), *made;
    need(motley_policy_at(recipe, 0, &made, &error) == MOTLEY_OK, error.message);
    const motley_policy_info *const info = motley_policy_describe(made);
    work_make(&w, 64, 640, 480, MOTLEY_HWC);
    const size_t n = w.batch.count, numbers = 4 * FEW_BOXES * n;
    const size_t results = n * (size_t)info->width * (size_t)info->height * CHANNELS * sizeof(float);
    make_outputs(&w, results);
    follow_begin(&w, FEW_BOXES, 0, &f);
    f.numbers.box_params.torchvision = 1;
    double *const boxes = allocate(numbers * sizeof *boxes);
    size_t *const offsets = allocate((n + 1) * sizeof *offsets);
    need_cuda(cudaMemcpy(boxes, f.numbers.boxes, numbers * sizeof *boxes, cudaMemcpyDeviceToHost));
    need_cuda(cudaMemcpy(offsets, f.numbers.box_offsets, (n + 1) * sizeof *offsets, cudaMemcpyDeviceToHost));
    const motley_samples there = { .boxes = f.numbers.boxes,
                                   .box_offsets = f.numbers.box_offsets,
                                   .boxes_on_device = 1 },
                         here = { .boxes = boxes, .box_offsets = offsets };
    const struct {
        const char *name;
        const motley_samples *samples;
        how how;
        followed *moved;
    } rows[] = { { "dfine_l, by boxes on the device", &there, TRANSFORM, NULL },
                 { "dfine_l, by boxes on the device, which move", &there, TRANSFORM, &f },
                 { "dfine_l, by boxes on the device", &there, REPLAY, NULL },
                 { "dfine_l, by boxes in host memory", &here, TRANSFORM, NULL } };
    w.copied = (w.bytes + results) / 2;
    copy(&w);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        subject s = { .how = rows[r].how,
                      .name = rows[r].name,
                      .transform = made,
                      .boxes = rows[r].samples,
                      .followed = rows[r].moved,
                      .dtype = MOTLEY_F32 };
        measure(&w, &s);
    }
    free(boxes);
    free(offsets);
    follow_end(&w, &f);
    motley_policy_destroy(made);
    motley_policy_destroy(recipe);
    work_drop(&w);
}

/* Bands of U16 and F32. */
static void wide(void)
{
    static const struct {
        motley_dtype dtype;
        motley_layout layout;
        size_t count;
        int channels;
    } batches[] = { { MOTLEY_F32, MOTLEY_CHW, 64, BANDS },
                    { MOTLEY_U16, MOTLEY_CHW, 64, BANDS },
                    { MOTLEY_F32, MOTLEY_HWC, 64, BANDS },
                    { MOTLEY_F32, MOTLEY_CHW, 256, CHANNELS } };
    static const char *const policies[] = { "rand_augment", "trivial_augment_wide" };
    work w;
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        work_make_wide(&w, batches[i].dtype, batches[i].layout, batches[i].count, batches[i].channels, SIDE);
        copy(&w);
        for (int p = 0; p < 2; p++) {
            policy_by(&w, policies[p], APART);
            policy_by(&w, policies[p], CALL);
            policy_by(&w, policies[p], REPLAY);
        }
        if (i == 0)
            every_op(&w);
        w.copied = w.batch.channels * w.batch.count * SIDE * SIDE * (bytes_of(w.batch.dtype) + sizeof(uint16_t)) / 2;
        w.copied = w.copied < w.bytes ? w.copied : w.bytes;
        copy(&w);
        policy_by(&w, policies[0], FUSED);
        policy_by(&w, policies[1], FUSED);
        work_drop(&w);
    }
    for (int dtype = 0; dtype < 2; dtype++) {
        motley_policy *made;
        motley_error error;
        const char *const text = "motley: 1\nname: x\nstages:\n  - random_resized_crop: {size: 224}\n"
                                 "  - flip: {horizontal: 0.5}\n";
        need(motley_policy_parse(text, strlen(text), NULL, &made, &error) == MOTLEY_OK, error.message);
        work_make_wide(&w, dtype ? MOTLEY_U16 : MOTLEY_F32, MOTLEY_CHW, 64, BANDS, 256);
        w.copied = moved(&w, made);
        copy(&w);
        subject s = { .how = TRANSFORM, .name = "crop, flip", .transform = made, .dtype = w.batch.dtype };
        measure(&w, &s);
        motley_policy_destroy(made);
        work_drop(&w);
    }
}

static const struct {
    const char *name;
    void (*measure)(void);
} sets[] = { { "targets", targets },
             { "ops", ops },
             { "batches", batches },
             { "sizes", sizes },
             { "mixed", mixed },
             { "graph", graph },
             { "fused", fused },
             { "large", large },
             { "shapes", shapes },
             { "strides", strides },
             { "transforms", transforms },
             { "followers", followers },
             { "breaks", breaks },
             { "interpolated", interpolated },
             { "wide", wide },
             { "detection", detection } };

int main(int argc, char **argv)
{
    static const char usage[] =
        "usage: bench_cuda [--set "
        "targets|ops|batches|sizes|mixed|graph|fused|large|shapes|strides|transforms|followers|breaks|interpolated|"
        "wide|detection|all] [--name NAME] [--runs N]";
    const char *wanted = "all";
    for (int i = 1; i < argc; i += 2) {
        need(i + 1 < argc, usage);
        if (strcmp(argv[i], "--set") == 0)
            wanted = argv[i + 1];
        else if (strcmp(argv[i], "--name") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--runs") == 0)
            runs = atoi(argv[i + 1]);
        else
            need(0, usage);
    }
    const int all = strcmp(wanted, "all") == 0;
    int known = all;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        known |= strcmp(wanted, sets[i].name) == 0;
    need(known, usage);
    struct cudaDeviceProp device;
    int driver, runtime;
    need_cuda(cudaGetDeviceProperties(&device, 0));
    need_cuda(cudaDriverGetVersion(&driver));
    need_cuda(cudaRuntimeGetVersion(&runtime));
    printf("{\"device\": \"%s\", \"multiprocessors\": %d, \"cuda_driver\": %d, \"cuda_runtime\": %d, "
           "\"motley\": \"%s\"}\n",
           device.name, device.multiProcessorCount, driver, runtime, motley_version());
    need_cuda(cudaStreamCreate(&stream));
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        set = sets[i].name;
        if (all || strcmp(wanted, set) == 0)
            sets[i].measure();
    }
    need_cuda(cudaStreamDestroy(stream));
    return 0;
}
