/* SPDX-License-Identifier: Apache-2.0 */
/* motley_apply on the GPU against the CPU's: every built-in transform, the texts below, and their followers;
 * batches of any sizes, layouts and types, clips, new and given draws, and graphs. Then motley_mix_apply and
 * motley_mix_targets. One differing byte fails, canaries included.
 *
 *     check_cuda_transform [--require] [--cases N] [--most SIDE] [--only NAME]
 *
 * N batches of each transform, of images of up to SIDE pixels. Without a CUDA device it prints that it skips and exits
 * 77; with --require that is a failure. Compiled with MOT_EMULATE, the kernels
 * run on the CPU (tests/emulate). */
#include "motley.h"
#include "tests/batches.h"
#include "tests/builtins.h"
#include "tests/contexts.h"
#include "tests/options.h"
#include "tests/sweep.h"

#ifdef MOT_EMULATE
#include "tests/emulate/calls.h"
#define EMULATED 1
#else
#define EMULATED 0
#endif
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define SEED 20260301u
#define FEW_CASES 3
#define CASES 24 /* of each transform */
#define FEW_IMAGES 10
#define MOST_IMAGES 300 /* more than one CTA draws, and than the resize puts in order together */
#define CANARY 64
#define BEFORE 0x5A /* what results' bytes are before a call, and remain in gaps */

static motley_context *cpu, *cuda;
static int64_t compared;
static int refused;

#define MOST_BANDS 13

#define HEAD "motley: 1\nname: x\nstages:\n"
static const char *const texts[] = {
    HEAD "  - random_resized_crop: {size: [61, 47], filter: [bilinear, bicubic, lanczos, box, hamming, nearest]}\n"
         "  - flip: {horizontal: 0.5, vertical: 0.5}\n",
    HEAD "  - random_resized_crop: {size: 64, order: pillow-12}\n  - flip: {horizontal: 0.5}\n"
         "  - policy: {name: rand_augment}\n  - output: {}\n",
    HEAD "  - resize: {size: 40}\n  - center_crop: {size: [56, 32]}\n  - output: {convention: timm}\n",
    HEAD "  - random_resized_crop: {size: [30, 61]}\n  - flip: {horizontal: 0.5}\n  - output: {}\n",
    HEAD
    "  - random_crop: {size: 4, padding: 3}\n  - flip: {horizontal: 0.5}\n  - policy: {name: trivial_augment_wide}\n"
    "  - output: {convention: torchvision_v2}\n  - erase: {p: 0.75, value: pixel, boxes: [1, 3]}\n",
    HEAD "  - random_resized_crop: {size: 33}\n  - jitter: {p: 0.8, brightness: [0.5, 1.5], contrast: [0.5, 1.5], "
         "saturation: [0.5, 1.5]}\n  - grayscale: {p: 0.5}\n  - blur: {p: 0.5, radius: [0.5, 2]}\n  - output: {}\n"
         "  - erase: {p: 1, value: [1, 2, 3], boxes: 2}\n",
    HEAD "  - random_resized_crop: {size: 48}\n  - policy: {name: timm_rand_m9_mstd05_inc1}\n  - policy: {name: "
         "trivial_augment_wide}\n  - output: {}\n  - erase: {p: 0.5, value: channel}\n",
    HEAD "  - flip: {horizontal: 0.5, vertical: 0.5}\n  - policy: {name: rand_augment}\n",
    /* steps that the GPU's image and tile kernels do not run */
    HEAD "  - random_resized_crop: {size: 57}\n  - jitter: {p: 0.8, brightness: [0.6, 1.4], contrast: [0.6, 1.4], "
         "saturation: [0.6, 1.4], hue: [-0.4, 0.4]}\n  - grayscale: {p: 0.2}\n"
         "  - blur: {p: 0.5, kernel_size: 23, sigma: [0.1, 2]}\n  - output: {}\n",
    HEAD "  - resize: {size: [141, 30]}\n  - blur: {kernel_size: 5, sigma: [0.5, 3]}\n"
         "  - blur: {p: 0.5, kernel_size: 3, sigma: [1, 3]}\n",
    HEAD "  - resize: {size: [64, 48]}\n  - policy: {name: trivial_augment_wide}\n  - jitter: {hue: [-0.5, 0.5]}\n"
         "  - blur: {p: 0.5, kernel_size: 9, sigma: [1, 1]}\n  - policy: {name: rand_augment}\n  - output: {}\n"
         "  - erase: {p: 0.5, value: pixel}\n",
    HEAD "  - resize: {size: 50}\n  - random_crop: {size: [64, 40], padding: 20}\n  - flip: {horizontal: 0.5, "
         "vertical: 0.5}\n"
         "  - policy: {name: rand_augment}\n  - output: {}\n  - erase: {p: 0.7, value: pixel, boxes: 2}\n",
    HEAD "  - policy: {name: trivial_augment_wide}\n  - jitter: {hue: [-0.1, 0.1]}\n  - output: {}\n",
    HEAD "  - flip: {horizontal: 0.5}\n  - jitter: {hue: [-0.1, 0.1], saturation: [0.5, 1.5]}\n",
    HEAD "  - jitter: {saturation: [0.5, 1.5]}\n", /* its followers have no stage */
    HEAD "  - random_resized_crop: {size: 64}\n  - policy: {name: augmix}\n  - output: {}\n",
    HEAD "  - policy: {name: timm_augmix}\n  - jitter: {hue: [-0.2, 0.2]}\n  - grayscale: {p: 0.2}\n",
    HEAD "  - resize: {size: [60, 44]}\n  - policy: {name: augmix_paper}\n  - policy: {name: trivial_augment_wide}\n"
         "  - output: {convention: timm}\n  - erase: {p: 0.5, value: channel}\n  - mix: {mixup: 0.2, cutmix: 1}\n",
    HEAD "  - random_resized_crop: {size: 40}\n  - output: {}\n"
         "  - mix: {mixup: 0.8, cutmix: 1, rules: timm, mode: elem, p: 0.8}\n",
    HEAD "  - resize: {size: [33, 21]}\n  - policy: {name: rand_augment}\n  - output: {type: u8}\n"
         "  - mix: {cutmix: 1, mode: elem, partner: drawn, lambda: drawn}\n",
    /* images of any channels */
    HEAD "  - to_rgb: {}\n  - random_resized_crop: {size: [60, 52], filter: [bilinear, lanczos]}\n"
         "  - flip: {horizontal: 0.5}\n  - policy: {name: rand_augment, fill: [200, 30, 90]}\n  - output: {}\n",
    HEAD "  - to_rgb: {}\n  - random_crop: {size: 40, padding: 30}\n  - jitter: {hue: [-0.2, 0.2]}\n",
    /* levels that are given: drawn with the order, with all else, and as chains */
    HEAD
    "  - random_resized_crop: {size: 40}\n  - policy: {name: trivial_augment_wide, level: given}\n  - output: {}\n",
    HEAD "  - resize: {size: [44, 36]}\n  - policy: {name: timm_rand_m9_mstd05_inc1, level: {given: [2, 9]}}\n"
         "  - jitter: {hue: [-0.1, 0.1]}\n  - policy: {name: rand_augment}\n  - output: {}\n",
    HEAD "  - policy: {name: augmix, level: given}\n",
    HEAD "  - center_crop: {size: 50}\n  - policy: {name: trivial_augment_wide, p: 0.5}\n  - output: {}\n",
    HEAD "  - policy: {name: rand_augment, p: 0.6, repeat: {given: [1, 4]}}\n"
         "  - policy: {p: 0.3, choice: without_replacement, repeat: 2, branches: [invert, flip_lr, emboss]}\n",
    HEAD "  - zoom_out: {p: 0.7, fill: [123, 117, 104]}\n  - resize: {size: [44, 60], filter: bicubic}\n"
         "  - flip: {horizontal: 0.5}\n  - output: {}\n",
    HEAD "  - to_rgb: {}\n  - zoom_out: {side: [1, 2], fill: 9}\n  - resize: {size: [300, 200]}\n"
         "  - random_crop: {size: 240, padding: 30}\n  - flip: {vertical: 0.5}\n  - policy: {name: rand_augment}\n",
    /* steps that change the sources */
    HEAD "  - photometric: {p: 0.7}\n  - zoom_out: {p: 0.6, fill: 7}\n  - resize: {size: [50, 40]}\n"
         "  - flip: {horizontal: 0.5}\n  - output: {}\n",
    HEAD
    "  - to_rgb: {}\n  - one_of: [{stages: [{photometric: {p: 0.9}}, {random_resized_crop: {size: 40}}]}, {stages: "
    "[{resize: {size: [40, 40]}}]}]\n  - policy: {name: rand_augment}\n  - photometric: {p: 0.5}\n"
    "  - output: {}\n  - erase: {p: 0.5}\n",
    /* a choice between lists of stages: of steps, of places */
    HEAD "  - resize: {size: [40, 52]}\n  - one_of: [{weight: 2, stages: [{jitter: {hue: [-0.2, 0.2]}}, {policy: "
         "rand_augment}]}, {stages: []}, {stages: [{grayscale: {}}]}]\n  - jitter: {contrast: [0.5, 1.5]}\n"
         "  - output: {}\n",
    HEAD
    "  - one_of: [{stages: [{zoom_out: {p: 0.6, fill: 7}}, {resize: {size: [50, 40], filter: bicubic}}]}, {weight: "
    "2, stages: [{random_resized_crop: {size: [50, 40], filter: [lanczos, nearest]}}, {flip: {horizontal: 0.5}}]}, "
    "{stages: [{resize: {size: 70}}, {random_crop: {size: [50, 40], padding: 9}}]}]\n  - output: {type: f16}\n",
    HEAD "  - random_resized_crop: {size: 44}\n  - one_of: [{stages: [{flip: {horizontal: 0.5}}]}, {stages: []}]\n"
         "  - policy: {name: trivial_augment_wide}\n  - output: {}\n",
    /* resized twice, some images or all; sizes that are drawn */
    HEAD
    "  - flip: {horizontal: 0.5}\n  - one_of: [{stages: [{resize: {size: [40, 52]}}]}, {stages: [{resize: {shortest: "
    "[30, 50], filter: lanczos}}, {size_crop: {sides: [20, 45]}}, {resize: {size: [40, 52]}}]}]\n"
    "  - policy: {name: rand_augment}\n  - output: {}\n  - erase: {p: 0.5}\n",
    HEAD "  - photometric: {p: 0.7}\n  - zoom_out: {p: 0.6, fill: 7}\n  - random_resized_crop: {size: [50, 40]}\n"
         "  - pad: {size: 60, at: centre, fill: 7}\n  - flip: {vertical: 0.5}\n"
         "  - resize: {shortest: [20, 60], longest: 70, filter: bicubic}\n  - photometric: {p: 0.5}\n  - output: {}\n",
    HEAD "  - resize: {size: 30}\n  - resize: {longest: 44}\n  - pad: {multiple: 16, fill: 3}\n",
    HEAD "  - iou_crop: {p: 0.9}\n  - resize: {size: [33, 47]}\n  - flip: {horizontal: 0.5}\n  - output: {}\n",
    HEAD "  - zoom_out: {p: 0.5, side: [1, 2], fill: 30}\n  - iou_crop: {}\n  - flip: {horizontal: 0.5}\n"
         "  - jitter: {contrast: [0.5, 1.5]}\n  - output: {}\n",
    /* cropped by boxes and resized once, or resized twice */
    HEAD
    "  - one_of: [{stages: [{iou_crop: {}}, {resize: {size: [40, 52]}}]}, {stages: [{resize: {shortest: [30, 50]}}, "
    "{size_crop: {sides: [20, 45]}}, {resize: {size: [40, 52]}}]}]\n  - flip: {horizontal: 0.5}\n"
    "  - output: {}\n  - erase: {p: 0.5}\n",
    /* places in turn, by boxes or not */
    HEAD "  - photometric: {p: 0.5}\n  - zoom_out: {p: 0.5, side: [1, 3]}\n  - iou_crop: {p: 0.9}\n"
         "  - flip: {horizontal: 0.5, vertical: 0.3}\n  - resize: {size: [40, 52], masks: torch}\n  - output: {}\n",
    HEAD "  - one_of: [{weight: 2, stages: [{zoom_out: {p: 0.5, fill: 7}}, {iou_crop: {overlap: [0.5, 0.9, 0.95]}}, "
         "{resize: {size: [44, 30], filter: bicubic}}]}, {stages: [{flip: {horizontal: 0.5}}, "
         "{random_resized_crop: {size: [44, 30]}}]}]\n  - policy: {name: rand_augment}\n  - output: {type: bf16}\n"
         "  - erase: {p: 0.5, value: pixel}\n",
    HEAD "  - iou_crop: {overlap: [0, 0.3], scale: [0.1, 0.6], ratio: [0.8, 1.5]}\n  - resize: {size: [50, 41]}\n"
         "  - random_crop: {size: 40, padding: 9}\n  - flip: {vertical: 0.5}\n",
    HEAD "  - flip: {horizontal: 0.5, vertical: 0.5}\n  - resize: {size: 40, filter: lanczos}\n"
         "  - random_crop: {size: [36, 30], padding: 5}\n  - policy: {name: trivial_augment_wide}\n  - output: {}\n",
    /* many steps that clips share */
    HEAD "  - policy: {name: rand_augment, repeat: 4}\n",
    HEAD "  - random_resized_crop: {size: [31, 43]}\n  - policy: {name: rand_augment, repeat: 3}\n"
         "  - jitter: {p: 0.8, contrast: [0.6, 1.4], hue: [-0.1, 0.1]}\n  - output: {}\n  - erase: {p: 0.5}\n",
};
#define TEXTS (sizeof texts / sizeof texts[0])

/* The result: one batch, host and device, canaries around it and between its images. */
typedef struct result {
    size_t bytes;
    uint8_t *host, *device, *back;
    motley_batch batch;                                              /* of the host */
    motley_image host_image[MOST_IMAGES], device_image[MOST_IMAGES]; /* of a list of images */
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
    if (batch.image_stride)
        r->bytes = batch.count * (size_t)batch.image_stride + 2 * CANARY;
    for (size_t i = 0; i < batch.count && !batch.width; i++) /* a list of images, packed, with gaps between them */
        r->bytes += (size_t)r->host_image[i].height * (size_t)r->host_image[i].row_stride + CANARY;
    r->host = malloc(r->bytes);
    r->back = malloc(r->bytes);
    need(r->host && r->back, "no memory");
    memset(r->host, BEFORE, r->bytes);
    need_cuda(cudaMalloc((void **)&r->device, r->bytes));
    need_cuda(cudaMemcpy(r->device, r->host, r->bytes, cudaMemcpyHostToDevice));
    r->batch = batch;
    r->batch.data = r->host + CANARY;
    size_t at = CANARY;
    for (size_t i = 0; i < batch.count && !batch.width; i++) {
        r->device_image[i] = r->host_image[i];
        r->host_image[i].data = r->host + at;
        r->device_image[i].data = r->device + at;
        at += (size_t)r->host_image[i].height * (size_t)r->host_image[i].row_stride + CANARY;
    }
    if (!batch.width)
        r->batch.images = r->host_image;
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
    const difference d = difference_of(r->back, r->host, r->bytes);
    if (d.bytes == 0)
        return 1;
    const motley_batch *b = &r->batch;
    fprintf(stderr,
            "%s: %zu x %" PRId32 "x%" PRId32 "x%" PRId32
            ", dtype %d, layout %d: %zu bytes differ, %zu is %d, want %d\n",
            what, b->count, b->width, b->height, b->channels, (int)b->dtype, (int)b->layout, d.bytes, d.first - CANARY,
            r->back[d.first], r->host[d.first]);
    if (++failures >= 20)
        exit(1);
    return 0;
}

/* A copy of `bytes` on the device. */
static uint8_t *sent(const void *bytes, size_t size)
{
    uint8_t *device;
    need_cuda(cudaMalloc((void **)&device, size));
    need_cuda(cudaMemcpy(device, bytes, size, cudaMemcpyHostToDevice));
    return device;
}

static void compare(const uint8_t *wanted, const uint8_t *device, size_t size, const char *what)
{
    uint8_t *const got = malloc(size);
    need(got != NULL, "no memory");
    need_cuda(cudaMemcpy(got, device, size, cudaMemcpyDeviceToHost));
    compared += (int64_t)size;
    const difference d = difference_of(got, wanted, size);
    if (d.bytes > 0) {
        fprintf(stderr, "%s: byte %zu of %zu is %d, want %d\n", what, d.first, size, got[d.first], wanted[d.first]);
        failures++;
    }
    free(got);
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
    buffer_fill(b, (input_kind)(seed % INPUT_KINDS), seed);
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

/* The levels of a batch, and where the device reads them. */
typedef struct levels {
    float host[MOST_IMAGES], *device;
} levels;

/* From below 0 to above 1, some of them NaN. */
static void draw_levels(levels *l, uint64_t *state)
{
    for (size_t i = 0; i < MOST_IMAGES; i++) {
        const float drawn = (float)(input_random(state) % 1201) / 1000 - 0.1f;
        l->host[i] = input_random(state) % 16 ? drawn : NAN;
    }
    need_cuda(cudaMemcpy(l->device, l->host, sizeof l->host, cudaMemcpyHostToDevice));
}

/* The same call as a graph that is replayed with another epoch and first sample, which it reads from `counter`, and
 * other levels. boxes: those of the samples, and `there` on the device. */
static void check_graph(const motley_policy *transform, const motley_batch *src, const motley_batch *host_src,
                        const motley_output *output, const motley_samples *boxes, const motley_samples *there,
                        result *r, levels *given, const char *what)
{
    uint64_t state = SEED;
    const uint64_t now[2] = { 5, 1000 };
    if (motley_policy_describe(transform)->mix) /* the host draws how images are mixed */
        return;
    uint64_t *counter;
    motley_error error = { 0 };
    need_cuda(cudaMalloc((void **)&counter, sizeof now));
    need_cuda(cudaMemcpy(counter, now, sizeof now, cudaMemcpyHostToDevice));
    motley_apply_params again = { .samples = *boxes, .output = *output };
    motley_apply_params params = { .samples = *there, .output = *output, .counter = counter };
    again.samples.seed = params.samples.seed = 11;
    again.samples.epoch = 5;
    again.samples.first = 1000;
    again.samples.ids = params.samples.ids = NULL;
    again.samples.views = params.samples.views = NULL;
    again.samples.levels = given->host;
    params.samples.levels = given->device;
    const motley_batch device = moved(r->batch, r->host, r->device);
#ifdef MOT_EMULATE
    draw_levels(given, &state);
    need(motley_apply(cuda, transform, src, &device, &params, &error) == MOTLEY_OK, error.message);
#else
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t stream;
    need_cuda(cudaStreamCreate(&stream));
    params.stream = stream;
    need_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const motley_status status = motley_apply(cuda, transform, src, &device, &params, &error);
    need_cuda(cudaStreamEndCapture(stream, &graph));
    need(status == MOTLEY_OK, error.message);
    need_cuda(cudaGraphInstantiate(&exec, graph, 0));
    draw_levels(given, &state);
    need_cuda(cudaGraphLaunch(exec, stream));
    need_cuda(cudaStreamSynchronize(stream));
    need_cuda(cudaGraphExecDestroy(exec));
    need_cuda(cudaGraphDestroy(graph));
    need_cuda(cudaStreamDestroy(stream));
#endif
    need(motley_apply(cpu, transform, host_src, &r->batch, &again, &error) == MOTLEY_OK, error.message);
    same(r, what);
    need_cuda(cudaFree(counter));
}

/* A dense batch image by image, packed or planar: a dst may be a list. */
static void list_images(const motley_batch *batch, motley_image *images)
{
    const int64_t bytes = (int64_t)dtype_bytes[batch->dtype], plane = (int64_t)batch->width * batch->height;
    const int64_t pixel = batch->layout == MOTLEY_CHW ? 1 : batch->channels;
    for (size_t i = 0; i < batch->count; i++)
        images[i] = (motley_image){ (uint8_t *)batch->data + (int64_t)i * plane * batch->channels * bytes,
                                    batch->width,
                                    batch->height,
                                    batch->width * pixel * bytes,
                                    pixel * bytes,
                                    batch->layout == MOTLEY_CHW ? plane * bytes : bytes };
}

/* Lays out planes whose rows begin at multiples of eight components, with eight or more between them. */
static void add_gaps(motley_batch *batch)
{
    batch->pixel_stride = (int64_t)dtype_bytes[batch->dtype];
    batch->row_stride = (batch->width + 15) / 8 * 8 * batch->pixel_stride;
    batch->channel_stride = batch->row_stride * batch->height;
    batch->image_stride = batch->channel_stride * batch->channels;
}

/* Moves the sides of a crop, most of them outwards. */
static void reach_beyond(motley_place *place, uint64_t *state)
{
    const int32_t moves[] = { 0, 1, 3, 20, 150 };
    const int32_t left = moves[input_random(state) % 5], top = moves[input_random(state) % 5];
    place->beyond = 1;
    place->crop.left += input_random(state) % 5 ? -left : left;
    place->crop.top += input_random(state) % 5 ? -top : top;
    place->crop.width += moves[input_random(state) % 5] + left;
    place->crop.height += moves[input_random(state) % 5] + top;
    if (input_random(state) % 8 == 0) { /* nothing is resampled, if the window allows it */
        place->crop.width = place->width;
        place->crop.height = place->height;
    }
}

#define MOST_BOXES 9    /* of an image */
#define MANY_BOXES 1500 /* of all images of some batches */

typedef struct boxes_of {
    double box[MOST_IMAGES * MOST_BOXES + MANY_BOXES][4];
    size_t offset[MOST_IMAGES + 1];
} boxes_of;

/* Gives each image up to MOST_BOXES boxes, or many more; some have no area, some leave the image by a quarter. */
static void draw_boxes(boxes_of *b, const source *src, int many, uint64_t *state, motley_samples *samples)
{
    size_t n = 0;
    for (int i = 0; i < src->count; i++) {
        b->offset[i] = n;
        const uint64_t most = many ? MANY_BOXES / (uint64_t)src->count : MOST_BOXES;
        for (uint64_t k = input_random(state) % (most + 1); k > 0; k--, n++)
            for (int s = 0; s < 2; s++) {
                const int32_t side = s ? src->host_image[i].height : src->host_image[i].width;
                const double first = (double)(input_random(state) % (uint64_t)(6 * side + 1)) / 4 - side / 4,
                             second = (double)(input_random(state) % (uint64_t)(4 * side + 1)) / 4;
                b->box[n][s] = first < second ? first : second;
                b->box[n][2 + s] = first < second ? second : first;
            }
    }
    b->offset[src->count] = n;
    samples->boxes = &b->box[0][0];
    samples->box_offsets = b->offset;
}

/* The samples with their boxes in device memory, which drop_boxes frees. */
static motley_samples send_boxes(const motley_samples *samples, size_t count)
{
    motley_samples there = *samples;
    const size_t boxes = (samples->box_offsets[count] + 1) * 4 * sizeof(double);
    double *box;
    size_t *offset;
    need_cuda(cudaMalloc((void **)&box, boxes));
    need_cuda(cudaMalloc((void **)&offset, (count + 1) * sizeof *offset));
    need_cuda(cudaMemcpy(box, samples->boxes, boxes, cudaMemcpyHostToDevice));
    need_cuda(cudaMemcpy(offset, samples->box_offsets, (count + 1) * sizeof *offset, cudaMemcpyHostToDevice));
    there.boxes = box;
    there.box_offsets = offset;
    there.boxes_on_device = 1;
    return there;
}

static void drop_boxes(const motley_samples *there)
{
    need_cuda(cudaFree((void *)there->boxes));
    need_cuda(cudaFree((void *)there->box_offsets));
}

#define FOLLOWING 3 /* boxes of an image, and as many points */

/* What follows a batch, in one piece of memory: boxes, points, matrices and a mask of each image. */
typedef struct followers {
    uint8_t *memory;     /* which the host fills; NULL: only its size is wanted */
    const uint8_t *base; /* where it is used: there, or on the device */
    size_t bytes, moved; /* moved: where results begin */
    motley_planes planes;
    motley_followed followed;
} followers;

static void *part_of(followers *f, size_t bytes)
{
    const size_t at = f->bytes;
    f->bytes += (bytes + 15) / 16 * 16;
    return (uint8_t *)f->base + at;
}

static void fill_part(const followers *f, const void *part, size_t at, double value)
{
    uint8_t *const there = f->memory + ((const uint8_t *)part - f->base);
    if (f->followed.single)
        ((float *)(void *)there)[at] = (float)value;
    else
        ((double *)(void *)there)[at] = value;
}

static void make_followers(followers *f, const source *src, const motley_place *drawn, uint64_t number)
{
    const size_t n = (size_t)src->count, items = n * FOLLOWING, real = number % 2 ? sizeof(float) : sizeof(double);
    uint64_t state = SEED + number;
    motley_plane list[MOST_IMAGES];
    f->bytes = 0;
    size_t *const offsets = part_of(f, (n + 1) * sizeof *offsets);
    motley_plane *const images = part_of(f, n * sizeof *images);
    for (size_t i = 0; i < n; i++) {
        list[i].count = 1;
        list[i].src = part_of(f, (size_t)src->host_image[i].width * (size_t)src->host_image[i].height);
    }
    f->moved = f->bytes;
    for (size_t i = 0; i < n; i++)
        list[i].dst = part_of(f, (size_t)drawn[i].result_width * (size_t)drawn[i].result_height);
    f->planes = (motley_planes){ .element_size = 1, .erase = number % 2 == 0, .fill = { 7 }, .images = images };
    f->followed = (motley_followed){ .single = number % 2 == 1,
                                     .boxes_count = items,
                                     .boxes = part_of(f, items * 4 * real),
                                     .box_offsets = offsets,
                                     .visibility = part_of(f, items * real),
                                     .keep = part_of(f, items),
                                     .box_params = { .format = (motley_box_format)(number % 3),
                                                     .torchvision = number % 8 > 2,
                                                     .min_area = 40,
                                                     .before_resize = number % 4 > 1 },
                                     .points_count = items,
                                     .points = part_of(f, items * 2 * real),
                                     .point_offsets = offsets,
                                     .flags = part_of(f, items),
                                     .matrices = part_of(f, n * 6 * sizeof(double)),
                                     .planes = &f->planes,
                                     .planes_count = 1 };
    if (!f->memory)
        return;
    memset(f->memory, BEFORE, f->bytes);
    memcpy(f->memory + ((uint8_t *)images - f->base), list, n * sizeof *list);
    for (size_t k = 0; k < f->moved - (size_t)((const uint8_t *)list[0].src - f->base); k++)
        f->memory[(size_t)((const uint8_t *)list[0].src - f->base) + k] = (uint8_t)input_random(&state);
    for (size_t i = 0; i <= n; i++)
        ((size_t *)(void *)f->memory)[i] = i * FOLLOWING;
    for (size_t k = 0; k < items * 2; k++) { /* a side, or a coordinate */
        const motley_image *const image = &src->host_image[k / 2 / FOLLOWING];
        const int32_t side = k % 2 ? image->height : image->width;
        const double one = (double)(input_random(&state) % (uint64_t)(4 * side)) / 4,
                     two = one + (double)(input_random(&state) % (uint64_t)(2 * side)) / 4;
        fill_part(f, f->followed.boxes, k / 2 * 4 + k % 2, one);
        fill_part(f, f->followed.boxes, k / 2 * 4 + 2 + k % 2, two);
        fill_part(f, f->followed.points, k, one);
    }
}

/* Moves what follows by recorded draws, on the host. Returns whether a call moves it, too. */
static int follow_drawn(followers *host, followers *device, const source *src, const motley_drawn *drawn,
                        uint64_t number)
{
    motley_error error;
    make_followers(host, src, drawn->places, number);
    host->memory = calloc(1, host->bytes);
    device->memory = malloc(host->bytes);
    need(host->memory && device->memory, "no memory");
    host->base = host->memory;
    device->base = sent(host->memory, host->bytes);
    make_followers(host, src, drawn->places, number);
    make_followers(device, src, drawn->places, number);
    need_cuda(cudaMemcpy((void *)device->base, device->memory, device->bytes, cudaMemcpyHostToDevice));
    const motley_status status = motley_follow(drawn, &host->followed, &error);
    need(status == MOTLEY_OK || status == MOTLEY_ERR_UNSUPPORTED, error.message);
    return status == MOTLEY_OK;
}

static void drop_followers(followers *host, followers *device)
{
    free(host->memory);
    free(device->memory);
    need_cuda(cudaFree((void *)device->base));
}

/* The sizes that the results draw, as a list of images; 0: an image is refused. */
static int find_sizes(const motley_policy *transform, const motley_samples *samples, const source *src,
                      motley_batch *results, result *r)
{
    const int64_t bytes = (int64_t)dtype_bytes[results->dtype];
    for (size_t i = 0; i < results->count; i++) {
        int32_t *const width = &r->host_image[i].width, *const height = &r->host_image[i].height;
        motley_samples own = *samples;
        motley_error error = { 0 };
        own.first += i;
        own.ids = samples->ids ? samples->ids + i : NULL;
        own.views = samples->views ? samples->views + i : NULL;
        own.box_offsets = samples->box_offsets ? samples->box_offsets + i : NULL;
        if (motley_policy_result_sizes(transform, &own, 1, &src->host_image[i].width, &src->host_image[i].height, width,
                                       height, &error) != MOTLEY_OK)
            return 0;
        r->host_image[i].pixel_stride = results->channels * bytes;
        r->host_image[i].row_stride = *width * r->host_image[i].pixel_stride;
        r->host_image[i].channel_stride = bytes;
    }
    results->width = results->height = 0;
    results->image_stride = 0;
    return 1;
}

/* `of_channels`: 0 for images, else the number of channels of their followers. `bands`: of images, their bands, below 0
 * with alpha; 0: grey or RGB. */
static void check_batch(const motley_policy *transform, const char *name, uint64_t number, int32_t most,
                        int of_channels, int bands)
{
    uint64_t state = SEED + number * 977;
    const motley_policy_info *info = motley_policy_describe(transform);
    source *const src = calloc(1, sizeof *src);
    need(src != NULL, "no memory");
    static const input_layout layouts[] = { INPUT_PACKED, INPUT_PLANAR, INPUT_PADDED, INPUT_UNALIGNED };
    const int to_rgb = info->to_rgb && !of_channels && !bands, alpha = of_channels ? number % 2 == 0 : bands < 0;
    const int channels = of_channels                  ? of_channels
                         : bands                      ? abs(bands)
                         : number % 9 == 8 && !to_rgb ? 1
                                                      : 3,
              alike = number % 3 == 0 || !info->width;
    const input_layout layout = layouts[number % 4];
    const int many = number % 8 == 5 && info->width > 0 && info->width <= 64 && !of_channels;
    const int count = many ? MOST_IMAGES : 1 + (int)(input_random(&state) % FEW_IMAGES);
    most = many && most > 40 ? 40 : most;
    input_size size = { 0, 0 };
    for (int i = 0; i < count; i++) {
        if (i == 0 || !alike)
            size = (input_size){ 4 + (int32_t)(input_random(&state) % (uint64_t)most),
                                 4 + (int32_t)(input_random(&state) % (uint64_t)most) };
        const int own = to_rgb ? 1 + (int)(input_random(&state) % 4) : channels;
        add_source(src, layout, size, own, input_random(&state));
        if (own < channels) /* grey among RGB */
            src->host_image[i].channel_stride = src->device_image[i].channel_stride = 0;
    }
    const motley_batch host_src = {
        .count = (size_t)count, .channels = channels, .alpha = alpha, .images = src->host_image
    };
    motley_batch device_src = host_src;
    device_src.images = src->device_image;
    result r = { 0 };
    motley_batch results = { .count = (size_t)count,
                             .channels = channels,
                             .alpha = alpha,
                             .dtype = info->dtype == MOTLEY_U8 ? MOTLEY_U8 : (motley_dtype)(number % 3 + 1),
                             .layout = (motley_layout)(number % 5 > 0),
                             .width = info->width ? info->width : size.width,
                             .height = info->width ? info->height : size.height };
    motley_samples samples = { .seed = number, .epoch = (uint32_t)(number % 4), .first = number * 100 };
    uint64_t id[MOST_IMAGES];
    uint32_t view[MOST_IMAGES];
    boxes_of images;
    for (int i = 0; i < count; i++) {
        id[i] = input_random(&state);
        view[i] = (uint32_t)(input_random(&state) % 7);
    }
    samples.ids = number % 4 == 1 ? id : NULL;
    samples.views = number % 4 == 2 ? view : NULL;
    if (info->takes_boxes)
        draw_boxes(&images, src, number % 8 == 7, &state, &samples);
    if (number % 5 == 2)
        add_gaps(&results);
    if (info->draws_sizes && !info->width && !find_sizes(transform, &samples, src, &results, &r)) {
        drop_source(src);
        free(src);
        refused++;
        return;
    }
    make_result(&r, results);
    const size_t steps = info->max_steps ? info->max_steps : 1;
    motley_place *const drawn = calloc((size_t)count, sizeof *drawn);
    motley_step *const step = calloc((size_t)count * steps, sizeof *step);
    int32_t *const step_count = calloc((size_t)count, sizeof *step_count);
    motley_mixed mixed[MOST_IMAGES], other[MOST_IMAGES];
    need(drawn && step && step_count, "no memory");
    levels given_levels;
    need_cuda(cudaMalloc((void **)&given_levels.device, sizeof given_levels.host));
    draw_levels(&given_levels, &state);
    samples.levels = given_levels.host;
    float means[MOST_BANDS], stds[MOST_BANDS];
    for (int c = 0; c < MOST_BANDS; c++) { /* those of more than three bands may be one line or not */
        means[c] = 0.4f + (c == 12 ? 0.1f : 0);
        stds[c] = 0.25f;
    }
    const int by_band = bands > 0 && info->dtype != MOTLEY_U8;
    const motley_output own = { .means = by_band ? means : NULL, .stds = by_band ? stds : NULL };
    const motley_apply_params params = { .output = own,
                                         .samples = samples,
                                         .drawn = drawn,
                                         .steps = step,
                                         .step_counts = step_count,
                                         .mixed = info->mix ? mixed : NULL };
    char what[200];
    snprintf(what, sizeof what, "%s, batch %" PRIu64 " of %s", name, number, input_layout_names[layout]);
    motley_error error = { 0 };
    const motley_batch dense_dst = moved(r.batch, r.host, r.device);
    motley_image listed[MOST_IMAGES];
    motley_batch device_dst = dense_dst;
    if (!results.width) {
        device_dst.images = r.device_image;
    } else if (number % 5 == 3) {
        list_images(&dense_dst, listed);
        device_dst = (motley_batch){
            .count = (size_t)count, .channels = channels, .alpha = alpha, .dtype = dense_dst.dtype, .images = listed
        };
    }
    motley_apply_params plain = params;
    plain.drawn = NULL;
    plain.steps = NULL;
    plain.step_counts = NULL;
    plain.mixed = info->mix ? other : NULL;
    plain.samples.levels = given_levels.device;
    const motley_status status = motley_apply(cuda, transform, &device_src, &device_dst, &plain, &error);
    need_cuda(cudaDeviceSynchronize());
    if (motley_apply(cpu, transform, &host_src, &r.batch, &params, &error) == MOTLEY_OK) {
        need(status == MOTLEY_OK, error.message);
        same(&r, what);
        motley_samples there = plain.samples;
        if (info->takes_boxes == 2 && !info->draws_sizes) {
            there = send_boxes(&plain.samples, (size_t)count);
            plain.samples = there;
            need_cuda(cudaMemset(r.device + CANARY, results.image_stride ? BEFORE : 0xEE, r.bytes - 2 * CANARY));
            need(motley_apply(cuda, transform, &device_src, &device_dst, &plain, &error) == MOTLEY_OK, error.message);
            need_cuda(cudaDeviceSynchronize());
            snprintf(what, sizeof what, "%s, batch %" PRIu64 ", boxes on the device", name, number);
            same(&r, what);
        }
        followers at_host = { 0 }, at_device = { 0 };
        int32_t widths[MOST_IMAGES], heights[MOST_IMAGES];
        for (int i = 0; i < count; i++) {
            widths[i] = src->host_image[i].width;
            heights[i] = src->host_image[i].height;
        }
        const motley_drawn draws = { .count = (size_t)count,
                                     .steps = step,
                                     .step_counts = step_count,
                                     .max_steps = steps,
                                     .widths = widths,
                                     .heights = heights,
                                     .places = drawn };
        const int follows = follow_drawn(&at_host, &at_device, src, &draws, number) && !info->mix;
        const motley_apply_params given = { .output = own,
                                            .followed = follows ? &at_device.followed : NULL,
                                            .given = drawn,
                                            .given_steps = step,
                                            .given_step_counts = step_count,
                                            .given_mixed = info->mix ? mixed : NULL,
                                            .mixed = info->mix ? other : NULL };
        need_cuda(cudaMemset(r.device + CANARY, results.image_stride || !results.width ? BEFORE : 0xEE,
                             r.bytes - 2 * CANARY));
        need(motley_apply(cuda, transform, &device_src, &device_dst, &given, &error) == MOTLEY_OK, error.message);
        need_cuda(cudaDeviceSynchronize());
        snprintf(what, sizeof what, "%s, batch %" PRIu64 ", given draws", name, number);
        same(&r, what);
        snprintf(what, sizeof what, "%s, batch %" PRIu64 ", what follows", name, number);
        if (follows)
            compare(at_host.memory + at_host.moved, at_device.base + at_device.moved, at_host.bytes - at_host.moved,
                    what);
        drop_followers(&at_host, &at_device);
        for (int i = 0; i < count; i++)
            reach_beyond(&drawn[i], &state);
        motley_apply_params beyond = given;
        beyond.followed = NULL;
        need(motley_apply(cpu, transform, &host_src, &r.batch, &beyond, &error) == MOTLEY_OK, error.message);
        need(motley_apply(cuda, transform, &device_src, &device_dst, &beyond, &error) == MOTLEY_OK, error.message);
        need_cuda(cudaDeviceSynchronize());
        snprintf(what, sizeof what, "%s, batch %" PRIu64 ", crops beyond their images", name, number);
        same(&r, what);
        snprintf(what, sizeof what, "%s, batch %" PRIu64 ", a graph", name, number);
        if (number % 4 == 0 && !info->draws_sizes)
            check_graph(transform, &device_src, &host_src, &own, &samples, &there, &r, &given_levels, what);
        if (there.boxes_on_device)
            drop_boxes(&there);
    } else {
        need(status != MOTLEY_OK, "the GPU takes what the CPU refuses");
        refused++;
    }
    free(drawn);
    free(step);
    free(step_count);
    need_cuda(cudaFree(given_levels.device));
    drop_result(&r);
    drop_source(src);
    free(src);
}

/* Clips, of one size each: new draws, then given ones. */
static void check_clips(const motley_policy *transform, const char *name, uint64_t number, int32_t most)
{
    static const input_layout layouts[] = { INPUT_PLANAR, INPUT_PADDED, INPUT_PACKED };
    uint64_t state = SEED + number * 613;
    const motley_policy_info *info = motley_policy_describe(transform);
    const size_t frames = 2 + number % 4, count = number % 3 ? frames : 2 * frames;
    const size_t steps = info->max_steps ? info->max_steps : 1;
    static unsigned clips;
    const int channels = number % 9 == 8                     ? 1
                         : clips++ % 3 == 2 && !info->to_rgb ? 4 + (int)(number % 2)
                                                             : 3; /* bands */
    const motley_dtype dtype = info->dtype == MOTLEY_U8 ? MOTLEY_U8 : (motley_dtype)(number % 3 + 1);
    const int64_t pixel = channels * (int64_t)dtype_bytes[dtype];
    const int listed = !info->width || number % 2;
    source *const src = calloc(1, sizeof *src);
    result *const r = calloc(1, sizeof *r);
    motley_place *const drawn = calloc(count, sizeof *drawn);
    motley_step *const step = calloc(count * steps, sizeof *step);
    int32_t step_count[MOST_IMAGES];
    motley_mixed mixed[MOST_IMAGES], other[MOST_IMAGES];
    uint64_t id[MOST_IMAGES];
    need(src && r && drawn && step, "no memory");
    input_size size = { 0, 0 };
    for (size_t i = 0; i < count; i++) {
        if (i % frames == 0 || info->width)
            size = (input_size){ 4 + (int32_t)(input_random(&state) % (uint64_t)most),
                                 4 + (int32_t)(input_random(&state) % (uint64_t)most) };
        add_source(src, layouts[number % 3], size, channels, input_random(&state));
        id[i] = number * 100 + i / frames;
        r->host_image[i].width = info->width ? info->width : size.width;
        r->host_image[i].height = info->width ? info->height : size.height;
        r->host_image[i].row_stride = pixel * r->host_image[i].width;
        r->host_image[i].pixel_stride = pixel;
        r->host_image[i].channel_stride = (int64_t)dtype_bytes[dtype];
    }
    motley_batch dst = { .count = count, .channels = channels, .dtype = dtype };
    if (!listed) {
        dst.width = info->width;
        dst.height = info->height;
        dst.layout = (motley_layout)(number / 2 % 2);
    }
    make_result(r, dst);
    const motley_batch host_src = { .count = count, .channels = channels, .images = src->host_image },
                       device_src = { .count = count, .channels = channels, .images = src->device_image };
    motley_batch device_dst = moved(r->batch, r->host, r->device);
    if (listed)
        device_dst.images = r->device_image;
    motley_apply_params params = { .samples = { .seed = number, .ids = id },
                                   .drawn = drawn,
                                   .steps = step,
                                   .step_counts = step_count,
                                   .mixed = info->mix ? mixed : NULL,
                                   .clip_frames = frames };
    char what[120];
    motley_error error = { 0 };
    const motley_status wanted = motley_apply(cpu, transform, &host_src, &r->batch, &params, &error);
    params.mixed = info->mix ? other : NULL;
    const motley_status status = motley_apply(cuda, transform, &device_src, &device_dst, &params, &error);
    need(status == wanted, error.message);
    need_cuda(cudaDeviceSynchronize());
    snprintf(what, sizeof what, "%s, clips %" PRIu64, name, number);
    same(r, what);
    if (wanted == MOTLEY_OK) {
        const motley_apply_params given = { .given = drawn,
                                            .given_steps = step,
                                            .given_step_counts = step_count,
                                            .given_mixed = info->mix ? mixed : NULL,
                                            .mixed = params.mixed,
                                            .clip_frames = frames };
        need(motley_apply(cuda, transform, &device_src, &device_dst, &given, &error) == MOTLEY_OK, error.message);
        need_cuda(cudaDeviceSynchronize());
        snprintf(what, sizeof what, "%s, clips %" PRIu64 ", given draws", name, number);
        same(r, what);
        uint64_t *counter;
        need_cuda(cudaMalloc((void **)&counter, 2 * sizeof *counter));
        params.drawn = NULL;
        params.steps = NULL;
        params.step_counts = NULL;
        params.counter = counter;
        need(motley_apply(cuda, transform, &device_src, &device_dst, &params, &error) != MOTLEY_OK,
             "clips are drawn by a counter");
        same(r, what);
        need_cuda(cudaFree(counter));
    }
    free(drawn);
    free(step);
    drop_result(r);
    free(r);
    drop_source(src);
    free(src);
}

static void check_transform(const motley_policy *transform, const char *name, uint64_t cases, int32_t most,
                            int of_channels)
{
    const int before = failures, refused_before = refused;
    for (uint64_t number = 0; number < cases; number++)
        check_batch(transform, name, number, most, of_channels, 0);
    static const int kinds[] = { 4, 6, 13, -4, 5, -2 };
    static unsigned turn;
    const int bands = kinds[turn++ % 6];
    if (cases > 1 && !of_channels && (bands > 0 || !motley_policy_describe(transform)->to_rgb))
        check_batch(transform, name, turn, most, 0, bands);
    const motley_policy_info *const info = motley_policy_describe(transform);
    const int clips = !of_channels && !info->takes_boxes && !(info->draws_sizes && !info->width);
    for (uint64_t number = 0; number < cases / 2 && clips; number++)
        check_clips(transform, name, number, most);
    printf("%-40s %s%s\n", name, failures == before ? "ok" : "FAILED",
           refused - refused_before >= (int)cases ? ", refused" : "");
}

/* ---- mixing ---- */

/* A batch as dense HWC or CHW, or with gaps between its components. */
static motley_batch mix_batch(size_t count, int32_t channels, motley_dtype dtype, int32_t width, int32_t height,
                              int layout)
{
    motley_batch batch = { .count = count, .channels = channels, .dtype = dtype, .width = width, .height = height };
    const int64_t bytes = (int64_t)dtype_bytes[dtype];
    batch.layout = layout == 1 ? MOTLEY_CHW : MOTLEY_HWC;
    if (layout == 2) {
        batch.pixel_stride = bytes * (channels + 1);
        batch.channel_stride = bytes;
        batch.row_stride = batch.pixel_stride * (width + 1);
        batch.image_stride = batch.row_stride * height;
    }
    return batch;
}

/* Random numbers of a type: halves of small numbers, so that every sum of them is rounded. */
static void fill_numbers(uint8_t *bytes, size_t size, motley_dtype dtype, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t k = 0; k + dtype_bytes[dtype] <= size; k += dtype_bytes[dtype]) {
        const uint64_t word = input_random(&state);
        const float number = (float)(word % 20011) / 3000 - 3;
        const uint16_t half = (uint16_t)((word >> 20) % 0x3E00 | (word & 1) << 15);
        if (dtype == MOTLEY_F32)
            memcpy(bytes + k, &number, 4);
        else if (dtype == MOTLEY_U8)
            bytes[k] = (uint8_t)word;
        else
            memcpy(bytes + k, &half, 2);
    }
}

/* A dense batch of which the host knows the draws before, some of boxes: crops, and so their tables, differ in size. */
static void check_dense(void)
{
    enum { COUNT = 40, WIDTH = 120, HEIGHT = 90, SIZE = 32 };
    static const char *const dense[] = {
        HEAD "  - random_resized_crop: {size: 32, scale: [0.01, 1]}\n",
        HEAD "  - zoom_out: {p: 0.7}\n  - iou_crop: {p: 0.5}\n  - resize: {size: [32, 32]}\n"
    };
    const size_t in = COUNT * WIDTH * HEIGHT * 3, out = COUNT * SIZE * SIZE * 3;
    const int before = failures;
    uint8_t *const src = malloc(in), *const wanted = malloc(out);
    need(src && wanted, "no memory");
    fill_numbers(src, in, MOTLEY_U8, SEED);
    uint8_t *const src_device = sent(src, in), *const dst_device = sent(src, out);
    for (int k = 0; k < 2; k++) {
        double boxes[8 * COUNT];
        size_t offsets[COUNT + 1];
        motley_place drawn[COUNT];
        motley_policy *transform;
        motley_error error;
        need(motley_policy_parse(dense[k], strlen(dense[k]), NULL, &transform, &error) == MOTLEY_OK, error.message);
        motley_apply_params params = { .samples = { .seed = 5 }, .drawn = drawn };
        input_boxes(&params.samples, boxes, offsets, COUNT, WIDTH, HEIGHT);
        const motley_batch from = { .count = COUNT, .channels = 3, .data = src, .width = WIDTH, .height = HEIGHT },
                           to = { .count = COUNT, .channels = 3, .data = wanted, .width = SIZE, .height = SIZE };
        motley_batch device_from = from, device_to = to;
        device_from.data = src_device;
        device_to.data = dst_device;
        need(motley_apply(cpu, transform, &from, &to, &params, &error) == MOTLEY_OK, error.message);
        need(motley_apply(cuda, transform, &device_from, &device_to, &params, &error) == MOTLEY_OK, error.message);
        need_cuda(cudaDeviceSynchronize());
        compare(wanted, dst_device, out, k ? "a dense batch by boxes" : "a dense batch");
        motley_policy_destroy(transform);
    }
    need_cuda(cudaFree(src_device));
    need_cuda(cudaFree(dst_device));
    free(src);
    free(wanted);
    printf("%-40s %s\n", "dense", failures == before ? "ok" : "FAILED");
}

static void check_mix_images(const motley_mixed *drawn, motley_batch batch, int in_place, int listed, const char *what)
{
    const size_t pixels = batch.count * (size_t)(batch.width + 1) * (size_t)batch.height,
                 size = pixels * (size_t)(batch.channels + 1) * dtype_bytes[batch.dtype] + 2 * CANARY;
    uint8_t *const src = calloc(1, size), *const dst = calloc(1, size);
    need(src && dst, "no memory");
    fill_numbers(src, size, batch.dtype, SEED + batch.count);
    uint8_t *const src_device = sent(src, size), *const dst_device = sent(dst, size);
    motley_image *const images = calloc(2 * batch.count, sizeof *images);
    need(images != NULL, "no memory");
    motley_batch from = batch, to = batch, device_from = batch, device_to = batch;
    from.data = src + CANARY;
    to.data = dst + CANARY;
    device_from.data = src_device + CANARY;
    device_to.data = dst_device + CANARY;
    for (size_t i = 0; listed && i < batch.count; i++) { /* the same images, described one by one, the last first */
        const size_t image = batch.count - 1 - i;
        const size_t at = CANARY + image * (size_t)batch.image_stride;
        images[i] = (motley_image){ src_device + at,  batch.width,        batch.height,
                                    batch.row_stride, batch.pixel_stride, batch.channel_stride };
        images[batch.count + i] = images[i];
        images[batch.count + i].data = dst_device + at;
    }
    motley_mixed *const turned = calloc(batch.count, sizeof *turned);
    need(turned != NULL, "no memory");
    for (size_t i = 0; i < batch.count; i++) {
        turned[i] = drawn[batch.count - 1 - i];
        turned[i].partner = (int32_t)batch.count - 1 - turned[i].partner;
    }
    if (listed) {
        device_from =
            (motley_batch){ .count = batch.count, .channels = batch.channels, .dtype = batch.dtype, .images = images };
        device_to = device_from;
        device_to.images = images + batch.count;
    }
    motley_error error;
    need(motley_mix_apply(cpu, &from, in_place ? &from : &to, drawn, NULL, NULL, NULL, &error) == MOTLEY_OK,
         error.message);
    need(motley_mix_apply(cuda, &device_from, in_place ? &device_from : &device_to, listed ? turned : drawn, NULL, NULL,
                          NULL, &error) == MOTLEY_OK,
         error.message);
    compare(src, src_device, size, what);
    compare(dst, dst_device, size, what);
    need_cuda(cudaFree(src_device));
    need_cuda(cudaFree(dst_device));
    free(src);
    free(dst);
    free(images);
    free(turned);
}

static void check_mix_targets(const motley_mixed *drawn, size_t count, int32_t classes, double smoothing,
                              const char *what)
{
    const size_t numbers = count * (size_t)classes, bytes = numbers * sizeof(float);
    int64_t *const labels = calloc(count, sizeof *labels);
    float *const soft = malloc(bytes), *const targets = malloc(bytes);
    need(labels && soft && targets, "no memory");
    uint64_t state = SEED + count;
    for (size_t i = 0; i < count; i++)
        labels[i] = (int64_t)(input_random(&state) % (uint64_t)classes);
    fill_numbers((uint8_t *)soft, bytes, MOTLEY_F32, state);
    int64_t *const labels_device = (int64_t *)(void *)sent(labels, count * sizeof *labels);
    float *const soft_device = (float *)(void *)sent(soft, bytes), *const made = (float *)(void *)sent(soft, bytes);
    motley_error error;
    need(motley_mix_targets(NULL, drawn, count, classes, labels, NULL, smoothing, targets, NULL, &error) == MOTLEY_OK,
         error.message);
    need(motley_mix_targets(cuda, drawn, count, classes, labels_device, NULL, smoothing, made, NULL, &error) ==
             MOTLEY_OK,
         error.message);
    compare((uint8_t *)targets, (uint8_t *)made, bytes, what);
    need(motley_mix_targets(NULL, drawn, count, classes, NULL, soft, smoothing, targets, NULL, &error) == MOTLEY_OK,
         error.message);
    need(motley_mix_targets(cuda, drawn, count, classes, NULL, soft_device, smoothing, made, NULL, &error) == MOTLEY_OK,
         error.message);
    compare((uint8_t *)targets, (uint8_t *)made, bytes, what);
    need(motley_mix_targets(cuda, drawn, count, classes, NULL, soft_device, smoothing, soft_device, NULL, &error) ==
             MOTLEY_OK,
         error.message);
    compare((uint8_t *)targets, (uint8_t *)soft_device, bytes, what);
    labels[0] = classes; /* not a class */
    need_cuda(cudaMemcpy(labels_device, labels, sizeof *labels, cudaMemcpyHostToDevice));
    need(motley_mix_targets(cuda, drawn, count, classes, labels_device, NULL, smoothing, made, NULL, &error) ==
             MOTLEY_OK,
         error.message);
    float first;
    need_cuda(cudaMemcpy(&first, made, sizeof first, cudaMemcpyDeviceToHost));
    if (first == first) {
        fprintf(stderr, "%s: the target of a label that is no class is %g, want NaN\n", what, (double)first);
        failures++;
    }
    need_cuda(cudaFree(labels_device));
    need_cuda(cudaFree(soft_device));
    need_cuda(cudaFree(made));
    free(labels);
    free(soft);
    free(targets);
}

static void check_mix(void)
{
    static const motley_mix_params ways[] = {
        { .mixup = 0.2, .cutmix = 1 },
        { .mixup = 0.8, .cutmix = 1, .rules = MOTLEY_MIX_TIMM },
        { .mixup = 0.8, .cutmix = 1, .rules = MOTLEY_MIX_TIMM, .mode = MOTLEY_MIX_PAIR, .p = 0.7 },
        { .mixup = 0.8, .cutmix = 1, .rules = MOTLEY_MIX_TIMM, .mode = MOTLEY_MIX_ELEM, .p = 0.7 },
        { .mixup = 0.4, .cutmix = 1, .mode = MOTLEY_MIX_ELEM, .drawn_partner = 1 },
    };
    static const size_t counts[] = { 2, 6, 64, 500, 3000, 70000 }; /* the last: more than shared memory holds */
    const int before = failures, random_order = getenv("EMULATE_SEED") != NULL,
              one_type = sweep_every() > 1 || random_order;
    const size_t most = sweep_every() > 1 && !random_order ? 500 : 70000; /* else in random order only */
    motley_error error;
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
        for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
            for (int dtype = MOTLEY_U8; dtype <= MOTLEY_BF16; dtype++) {
                const size_t count = counts[n];
                if (EMULATED && (count > most || (count > 500 && (k > 0 || (one_type && dtype != MOTLEY_U8)))))
                    continue;
                const int layout = (int)(k + n + (size_t)dtype) % 3;
                const bool large = count == 6 && k % 2 == 0; /* rows enough for all CTAs */
                const int32_t channels = 1 + (int32_t)(k + n) % 4,
                              width = count > 3000 ? 2
                                      : count > 64 ? 9
                                                   : 70,
                              height = count > 3000 ? 2
                                       : !large     ? 11
                                       : EMULATED   ? 150
                                                    : 1100;
                motley_mixed *const drawn = calloc(count, sizeof *drawn);
                motley_mix *mix;
                char what[100];
                const motley_samples samples = { .seed = k, .first = n * 5000 };
                need(drawn && motley_mix_create(&ways[k], &mix, &error) == MOTLEY_OK, error.message);
                need(motley_mix_draw(mix, &samples, count, width, height, NULL, NULL, drawn, NULL, &error) == MOTLEY_OK,
                     error.message);
                snprintf(what, sizeof what, "mix %zu of %zu images, dtype %d, layout %d", k, count, dtype, layout);
                const motley_batch batch = mix_batch(count, channels, (motley_dtype)dtype, width, height, layout);
                check_mix_images(drawn, batch, 0, 0, what);
                check_mix_images(drawn, batch, 1, 0, what);
                if (layout == 2)
                    check_mix_images(drawn, batch, (int)(n % 2), 1, what);
                check_mix_targets(drawn, count, dtype == MOTLEY_U8 && count < 3000 ? 1000 : 7, dtype % 2 ? 0.1 : 0,
                                  what);
                motley_mix_destroy(mix);
                free(drawn);
            }
    printf("%-40s %s\n", "mix", failures == before ? "ok" : "FAILED");
}

/* Objects that are pasted, and batches that are resized: one listed image by image, one dense. */
static void check_batches(void)
{
    static const int32_t sizes[][2] = { { 70, 41 }, { 33, 33 }, { 96, 96 }, { 1, 1 }, { 71, 40 } };
    enum { COUNT = 5, PASTES = 16 };
    const int before = failures;
    motley_error error;
    motley_mix *mix;
    const motley_mix_params params = { .share = { 0.45, 0.55 },
                                       .p = 0.3,
                                       .paste_p = 0.8,
                                       .pastes = PASTES,
                                       .context = { 0.1, 0.25 },
                                       .mode = MOTLEY_MIX_ELEM };
    need(motley_mix_create(&params, &mix, &error) == MOTLEY_OK, error.message);
    uint64_t state = SEED;
    for (int k = 0; k < 40; k += EMULATED ? 3 : 1) {
        const motley_dtype dtype = (motley_dtype)(MOTLEY_U8 + k % 4);
        const int32_t channels = 1 + k % 4, width = sizes[k % 5][0], height = sizes[k % 5][1];
        const size_t offsets[COUNT + 1] = { 0, 4, 4, 9, 30, 31 };
        double boxes[31 * 4];
        for (int side = 0; side < 31 * 4; side++)
            boxes[side] = (double)(input_random(&state) >> 40) / 0x1000000 * 100 - 10;
        const motley_objects objects = { .offsets = offsets, .boxes = boxes };
        const motley_samples samples = { .seed = 5, .first = (uint64_t)k * COUNT };
        motley_mixed drawn[COUNT];
        motley_paste pastes[COUNT * PASTES];
        need(motley_mix_draw(mix, &samples, COUNT, 70, 41, NULL, &objects, drawn, pastes, &error) == MOTLEY_OK,
             error.message);
        const motley_batch from = mix_batch(COUNT, channels, dtype, 70, 41, k % 3);
        const motley_batch to = mix_batch(COUNT, channels, dtype, width, height, (k + 1) % 3);
        const size_t src_bytes = COUNT * 71 * 42 * (size_t)(channels + 1) * dtype_bytes[dtype] + 2 * CANARY,
                     dst_bytes = COUNT * (size_t)(width + 1) * (size_t)(height + 1) * (size_t)(channels + 1) *
                                     dtype_bytes[dtype] +
                                 2 * CANARY;
        uint8_t *const src = calloc(1, src_bytes), *const dst = calloc(1, dst_bytes);
        need(src && dst, "no memory");
        fill_numbers(src, src_bytes, dtype, SEED + (uint64_t)k);
        uint8_t *const src_device = sent(src, src_bytes), *const dst_device = sent(dst, dst_bytes);
        motley_batch host_from = from, host_to = to, device_from = from, device_to = to;
        host_from.data = src + CANARY;
        host_to.data = dst + CANARY;
        device_from.data = src_device + CANARY;
        device_to.data = dst_device + CANARY;
        motley_image images[COUNT];
        for (int i = 0; k % 3 == 2 && i < COUNT; i++)
            images[i] = (motley_image){ src_device + CANARY + i * from.image_stride,
                                        70,
                                        41,
                                        from.row_stride,
                                        from.pixel_stride,
                                        from.channel_stride };
        if (k % 3 == 2)
            device_from = (motley_batch){ .count = COUNT, .channels = channels, .dtype = dtype, .images = images };
        char what[100];
        snprintf(what, sizeof what, "batch %d, dtype %d, %d channels, to %dx%d", k, dtype, channels, width, height);
        need(motley_mix_apply(cpu, &host_from, &host_to, drawn, pastes, NULL, NULL, &error) == MOTLEY_OK,
             error.message);
        need(motley_mix_apply(cuda, &device_from, &device_to, drawn, pastes, NULL, NULL, &error) == MOTLEY_OK,
             error.message);
        compare(src, src_device, src_bytes, what);
        compare(dst, dst_device, dst_bytes, what);
        need_cuda(cudaFree(src_device));
        need_cuda(cudaFree(dst_device));
        free(src);
        free(dst);
    }
    motley_mix_destroy(mix);
    printf("%-40s %s\n", "batches", failures == before ? "ok" : "FAILED");
}

/* Instances that are pasted by masks of any alignment: pixels, masks, and where their pixels are. */
static void check_instances(void)
{
    static const int32_t sizes[][2] = { { 70, 41 }, { 64, 33 }, { 300, 130 }, { 3, 2 } };
    enum { COUNT = 5, ALL = 20, MOST = 8, PLANES = ALL + COUNT * MOST };
    static const size_t offsets[COUNT + 1] = { 0, 8, 8, 12, 13, ALL };
    const int before = failures;
    motley_error error;
    uint64_t state = SEED;
    for (int k = 0; k < 64; k += EMULATED ? 5 : 1) {
        const motley_dtype dtype = (motley_dtype)(MOTLEY_U8 + k % 4);
        const int32_t channels = 1 + k / 4 % 4, width = sizes[k / 16][0], height = sizes[k / 16][1], grow = k * 7 % 17;
        const int in_place = k % 3 == 0;
        motley_mix *mix;
        const motley_mix_params params = { .instances = 1, .grow = grow, .paste_p = 0.8, .mode = MOTLEY_MIX_ELEM };
        need(motley_mix_create(&params, &mix, &error) == MOTLEY_OK, error.message);
        motley_mixed drawn[COUNT];
        motley_paste pastes[COUNT * MOST];
        const motley_samples samples = { .seed = (uint64_t)k };
        const motley_objects objects = { .offsets = offsets };
        need(motley_mix_draw(mix, &samples, COUNT, width, height, NULL, &objects, drawn, pastes, &error) == MOTLEY_OK,
             error.message);
        motley_mix_destroy(mix);
        const size_t plane = (size_t)width * (size_t)height, shift = (size_t)(k % 5),
                     mask_bytes = ALL * plane + shift + 1, made_bytes = PLANES * plane + shift + CANARY,
                     extent_bytes = PLANES * sizeof(motley_extent);
        const motley_batch batch = mix_batch(COUNT, channels, dtype, width, height, k % 3);
        const size_t bytes =
            COUNT * (size_t)(width + 1) * (size_t)(height + 1) * (size_t)(channels + 1) * dtype_bytes[dtype] +
            2 * CANARY;
        uint8_t *const src = calloc(1, bytes), *const dst = calloc(1, bytes), *const masks = calloc(1, mask_bytes),
                       *const made = calloc(1, made_bytes);
        motley_extent extents[PLANES] = { { 0 } };
        need(src && dst && masks && made, "no memory");
        fill_numbers(src, bytes, dtype, SEED + (uint64_t)k);
        for (int mask = 0; mask < ALL; mask++) {
            const uint64_t word = input_random(&state);
            const int32_t x = (int32_t)((word >> 8) % 256) % width, y = (int32_t)((word >> 16) % 256) % height;
            for (int32_t v = y; v < height && v < y + height / 3; v++)
                for (int32_t u = x; u < width && u < x + 1 + width / 3; u++)
                    masks[shift + (size_t)mask * plane + (size_t)(v * width + u)] = (uint8_t)(word >> (u + v) % 30) % 3;
        }
        uint8_t *const src_device = sent(src, bytes), *const dst_device = sent(dst, bytes),
                       *const masks_device = sent(masks, mask_bytes), *const made_device = sent(made, made_bytes);
        motley_extent *const extents_device = (motley_extent *)(void *)sent(extents, extent_bytes);
        const uint8_t *from[2][COUNT];
        uint8_t *to[2][COUNT];
        size_t planes = 0;
        for (int i = 0; i < COUNT; i++) {
            from[0][i] = masks + shift + offsets[i] * plane;
            from[1][i] = masks_device + shift + offsets[i] * plane;
            to[0][i] = made + shift + planes * plane;
            to[1][i] = made_device + shift + planes * plane;
            if (drawn[i].kind == MOTLEY_MIX_INSTANCES)
                planes += offsets[i + 1] - offsets[i] + (size_t)drawn[i].pastes;
        }
        const motley_mix_masks host = { offsets, from[0], to[0], extents },
                               device = { offsets, from[1], to[1], extents_device };
        motley_batch host_from = batch, host_to = batch, device_from = batch, device_to = batch;
        host_from.data = src + CANARY;
        host_to.data = dst + CANARY;
        device_from.data = src_device + CANARY;
        device_to.data = dst_device + CANARY;
        char what[100];
        snprintf(what, sizeof what, "instances %d, dtype %d, %d channels, %dx%d, grow %d", k, dtype, channels, width,
                 height, grow);
        need(motley_mix_apply(cpu, &host_from, in_place ? &host_from : &host_to, drawn, pastes, &host, NULL, &error) ==
                 MOTLEY_OK,
             error.message);
        need(motley_mix_apply(cuda, &device_from, in_place ? &device_from : &device_to, drawn, pastes, &device, NULL,
                              &error) == MOTLEY_OK,
             error.message);
        compare(src, src_device, bytes, what);
        compare(dst, dst_device, bytes, what);
        compare(masks, masks_device, mask_bytes, what);
        compare(made, made_device, made_bytes, what);
        compare((const uint8_t *)extents, (const uint8_t *)extents_device, extent_bytes, what);
        need_cuda(cudaFree(src_device));
        need_cuda(cudaFree(dst_device));
        need_cuda(cudaFree(masks_device));
        need_cuda(cudaFree(made_device));
        need_cuda(cudaFree(extents_device));
        free(src);
        free(dst);
        free(masks);
        free(made);
    }
    printf("%-40s %s\n", "instances", failures == before ? "ok" : "FAILED");
}

int main(int argc, char **argv)
{
    int64_t cases = CASES, most = 300, require = 0;
    const char *only = NULL;
    motley_error error = { 0 };
    const option_row options[] = {
        { "require", &require, NULL, NULL },
        { "cases", &cases, NULL, "N" },
        { "most", &most, NULL, "SIDE" },
        { "only", NULL, &only, "NAME" },
    };
    read_options(argc, argv, options, sizeof options / sizeof *options);
    cpu = open_on(MOTLEY_BACKEND_CPU, 0, 1);
    cuda = open_on(MOTLEY_BACKEND_CUDA, 0, require != 0);
    const size_t parts = builtin_parts(), recipes = builtins_of_detection(), all = parts + TEXTS + recipes;
    sweep(all, "transforms");
    for (size_t i = 0; i < all; i += sweep_every()) {
        const size_t own = i - parts;
        char called[PART_NAME];
        motley_policy *transform = i < parts ? builtin_part(i, called) : NULL;
        if (i >= parts + TEXTS) {
            transform = builtin_of_detection(own - TEXTS, called);
        } else if (i >= parts) {
            snprintf(called, sizeof called, "text %zu", own);
            need(motley_policy_parse(texts[own], strlen(texts[own]), NULL, &transform, &error) == MOTLEY_OK,
                 error.message);
        }
        need(transform != NULL, "no built-in transform");
        if (only && strcmp(only, called) != 0) {
            motley_policy_destroy(transform);
            continue;
        }
        const bool large = i >= parts + TEXTS; /* its results are of 640 and more a side, emulated in minutes */
        const uint64_t runs = large && cases > FEW_CASES ? FEW_CASES : (uint64_t)cases;
        check_transform(transform, called, runs, (int32_t)most, 0);
        motley_policy *follower;
        const motley_follower_params how = { .channels = 2, .fill = { 200, 3 }, .erase = 1 };
        if (!large && motley_policy_follower(transform, &how, &follower, &error) == MOTLEY_OK) {
            char following[PART_NAME + 20];
            snprintf(following, sizeof following, "%s, followed", called);
            check_transform(follower, following, runs, (int32_t)most, 2);
            motley_policy_destroy(follower);
        }
        motley_policy_destroy(transform);
    }
    if (!only || strcmp(only, "dense") == 0)
        check_dense();
    if (!only || strcmp(only, "mix") == 0)
        check_mix();
    if (!only || strcmp(only, "batches") == 0)
        check_batches();
    if (!only || strcmp(only, "instances") == 0)
        check_instances();
    left_out((size_t)cases, CASES, "batches of each transform");
    printf("%" PRId64 " bytes compared, %d batches refused, %d failures\n", compared, refused, failures);
    close_on(MOTLEY_BACKEND_CUDA, cuda);
    motley_context_destroy(cpu);
    return failures > 0;
}
