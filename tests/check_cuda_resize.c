/* SPDX-License-Identifier: Apache-2.0 */
/* motley_resize on the GPU against the CPU's: batches of any sizes, filters, orders, crops, boxes, mirrors, channels
 * and layouts, drawn at random, canaries around every buffer. One differing byte fails.
 *
 *     check_cuda_resize [--require] [--cases N] [--first N] [--most SIDE]
 *
 * Sides go up to SIDE pixels. Without a CUDA device it prints that it skips and exits 77; with --require that is a
 * failure. Compiled with MOT_EMULATE, the kernels run on the CPU (tests/emulate). */
#include "motley.h"
#include "tests/batches.h"
#include "tests/contexts.h"
#include "tests/options.h"
#include "tests/sweep.h"

#ifdef MOT_EMULATE
#include "kernels/cuda/tuning.h"
#include "tests/emulate/calls.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#else
#include <cuda_runtime_api.h>
#endif
#include <inttypes.h>
#include <stdio.h>

#define SEED 20260201u
#define CASES 1200
#define MOST_IMAGES 300 /* of up to 20 pixels a side; else: */
#define FEW_IMAGES 12

static motley_context *cpu, *cuda;
static int64_t compared;
static char how[200], again[100]; /* the case, and how to repeat it */

/* ---- the GPU or its emulation ---- */

#ifdef MOT_EMULATE
#define PAGE ((size_t)65536) /* a multiple of a page */

/* `ends`: nothing can be read behind the memory. */
static void *device_memory(size_t bytes, int ends)
{
    const size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
    if (!ends)
        return malloc(bytes);
    uint8_t *const memory = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED && mprotect(memory + pages, PAGE, PROT_NONE) == 0, "no memory");
    return memory + pages - bytes;
}

static void read_behind(int signal)
{
    (void)signal;
    fprintf(stderr, "%s: a kernel used memory behind an image\n%s\n", how, again);
    _exit(1);
}

static void device_free(void *memory, size_t bytes, int ends)
{
    const size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
    if (ends)
        munmap((uint8_t *)memory + bytes - pages, pages + PAGE);
    else
        free(memory);
}

static void copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void prepare(uint64_t number)
{
    static const int shared_bytes[] = { 64 * 1024 - MOT_STATIC_BYTES, 6000, 20000 }; /* the first is sm_75's */
    emulated.chip.shared_bytes = shared_bytes[number % 3];
}
#else
static void *device_memory(size_t bytes, int ends)
{
    void *memory = NULL;
    (void)ends;
    need_cuda(cudaMalloc(&memory, bytes));
    return memory;
}

static void device_free(void *memory, size_t bytes, int ends)
{
    (void)bytes, (void)ends;
    need_cuda(cudaFree(memory));
}

static void copy(void *to, const void *from, size_t bytes)
{
    need_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

static void prepare(uint64_t number)
{
    (void)number;
}
#endif

/* ---- cases ---- */

/* Images in separate buffers on the host, and the same bytes in device memory, each image in a separate allocation. */
typedef struct images {
    int count;
    input_buffer buffer[MOST_IMAGES];
    uint8_t *device[MOST_IMAGES], *back;
    size_t bytes[MOST_IMAGES]; /* of each image's memory on the device, ... */
    int ends;                  /* ... which ends with the image */
    motley_image host_image[MOST_IMAGES], device_image[MOST_IMAGES];
} images;

static void add(images *all, input_layout layout, input_size size, int channels)
{
    need(input_buffer_make(&all->buffer[all->count++], layout, size, channels), "no memory");
}

/* Where an image ends in its buffer. */
static size_t end_of(const input_buffer *b)
{
    const uint8_t *last = b->bytes;
    for (int corner = 0; corner < 8; corner++) {
        const uint8_t *const p = input_at(&b->image, corner & 1 ? b->image.width - 1 : 0,
                                          corner & 2 ? b->image.height - 1 : 0, corner & 4 ? b->channels - 1 : 0);
        last = p > last ? p : last;
    }
    return (size_t)(last + 1 - b->bytes);
}

static void send(images *all)
{
    size_t most = 0;
    for (int i = 0; i < all->count; i++) {
        input_buffer *const b = &all->buffer[i];
        all->bytes[i] = all->ends ? end_of(b) : b->size;
        all->device[i] = device_memory(all->bytes[i], all->ends);
        copy(all->device[i], b->bytes, all->bytes[i]);
        all->host_image[i] = all->device_image[i] = b->image;
        all->device_image[i].data = all->device[i] + ((uint8_t *)b->image.data - b->bytes);
        most = b->size > most ? b->size : most;
    }
    all->back = malloc(most);
    need(all->back != NULL, "no memory");
}

static void drop(images *all)
{
    for (int i = 0; i < all->count; i++) {
        free(all->buffer[i].bytes);
        device_free(all->device[i], all->bytes[i], all->ends);
    }
    free(all->back);
}

static int32_t side(uint64_t *state, int32_t most)
{
    const int32_t of[] = { 4, 20, 70, 300, most };
    const int32_t limit = of[input_random(state) % 5];
    return 1 + (int32_t)(input_random(state) % (uint64_t)(limit < most ? limit : most));
}

static void draw_crop(uint64_t *state, input_size size, motley_crop *crop)
{
    crop->width = 1 + (int32_t)(input_random(state) % (uint64_t)size.width);
    crop->height = 1 + (int32_t)(input_random(state) % (uint64_t)size.height);
    crop->left = (int32_t)(input_random(state) % (uint64_t)(size.width - crop->width + 1));
    crop->top = (int32_t)(input_random(state) % (uint64_t)(size.height - crop->height + 1));
}

/* A range of a side: all of it, whole pixels, or any numbers. */
static void draw_box(uint64_t *state, int32_t side_px, double *from, double *to)
{
    const int kind = (int)(input_random(state) % 3);
    *from = 0;
    *to = side_px;
    if (kind == 0)
        return;
    const double a = input_between(state, 0, side_px), b = input_between(state, 0, side_px);
    const double low = kind == 1 ? floor(a < b ? a : b)
                       : a < b   ? a
                                 : b,
                 high = kind == 1 ? ceil(a < b ? b : a)
                        : a < b   ? b
                                  : a;
    if (high - low < 0.01)
        return;
    *from = low;
    *to = high;
}

static int compare(images *all, const images *wanted, const char *what)
{
    for (int i = 0; i < all->count; i++) {
        const input_buffer *const b = &wanted->buffer[i];
        copy(all->back, all->device[i], all->bytes[i]);
        compared += (int64_t)b->image.width * b->image.height * b->channels;
        const difference d = difference_of(all->back, b->bytes, all->bytes[i]);
        if (d.bytes == 0)
            continue;
        fprintf(stderr, "%s: %s image %d (%" PRId32 "x%" PRId32 "): %zu bytes differ, byte %zu is %d, want %d", how,
                what, i, b->image.width, b->image.height, d.bytes, d.first, all->back[d.first], b->bytes[d.first]);
        print_component(b, d.first);
        return 0;
    }
    return 1;
}

static int check_case(uint64_t number, int32_t most_side)
{
    const int many = number % 40 == 39;
    const int32_t most = many && most_side > 20 ? 20 : most_side;
    uint64_t state = SEED + number * 977;
    motley_crop crop[MOST_IMAGES];
    double box[MOST_IMAGES][4];
    uint8_t flip[MOST_IMAGES];
    images *const src = calloc(1, sizeof *src), *const dst = calloc(1, sizeof *dst);
    need(src && dst, "no memory");
    const int channels = number % 8 < 5 ? 3 : number % 8 == 5 ? 1 : number % 8 == 6 ? 4 : number % 16 == 7 ? 2 : 7;
    const int count = 1 + (int)(input_random(&state) % (many ? MOST_IMAGES : most > 1000 ? 4 : FEW_IMAGES));
    const int alike = input_random(&state) % 3 == 0; /* one size */
    static const input_layout common[] = { INPUT_PACKED, INPUT_PLANAR, INPUT_PADDED, INPUT_PLANAR_PADDED };
    const input_layout from =
        number % 4 ? common[number / 4 % 4] : (input_layout)(input_random(&state) % INPUT_LAYOUTS);
    const input_layout to = number % 3 ? common[number / 3 % 4] : (input_layout)(input_random(&state) % INPUT_LAYOUTS);
    const int in_turns = number % 9 == 7; /* rows first, more of a tile's rows than 6000 bytes hold */
    const int crops = input_random(&state) % 2, boxes = input_random(&state) % 4 == 0, flips = input_random(&state) % 2;
    input_size in = { 0, 0 }, out = { 0, 0 };
    for (int i = 0; i < count; i++) {
        if (i == 0 || !alike) {
            in = (input_size){ side(&state, most), side(&state, most) };
            out = (input_size){ side(&state, most > 600 ? 600 : most), side(&state, most > 600 ? 600 : most) };
            if (input_random(&state) % 6 == 0)
                out.width = in.width;
            if (input_random(&state) % 6 == 0)
                out.height = in.height;
        }
        if (in_turns) {
            in.width = out.width = (most + 1) / 2 + (int32_t)(input_random(&state) % (uint64_t)((most + 1) / 2));
            out.height = 1 + (int32_t)(input_random(&state) % (uint64_t)(most / 4 < 40 ? most / 4 + 1 : 40));
            in.height = 2 * out.height;
        }
        add(src, from, in, channels);
        add(dst, to, out, channels);
        draw_crop(&state, in, &crop[i]);
        const int32_t width = crops ? crop[i].width : in.width, height = crops ? crop[i].height : in.height;
        draw_box(&state, width, &box[i][0], &box[i][2]);
        draw_box(&state, height, &box[i][1], &box[i][3]);
        flip[i] = (uint8_t)(input_random(&state) & 1);
        const input_kind kind = (input_kind)(input_random(&state) % INPUT_KINDS);
        buffer_fill(&src->buffer[i], kind, state);
    }
    src->ends = number % 2 == 1;
    send(src);
    send(dst);
    const motley_resize_params params = { .filter = (motley_filter)(input_random(&state) % 6),
                                          .order = in_turns ? MOTLEY_ORDER_PILLOW_13
                                                            : (motley_resize_order)(input_random(&state) % 3),
                                          .crops = crops ? crop : NULL,
                                          .boxes = boxes ? (const double(*)[4])box : NULL,
                                          .flips = flips ? flip : NULL };
    motley_batch host[2], device[2];
    for (int k = 0; k < 2; k++) {
        images *const all = k ? dst : src;
        host[k] = (motley_batch){ .count = (size_t)count, .channels = channels, .images = all->host_image };
        device[k] = (motley_batch){ .count = (size_t)count, .channels = channels, .images = all->device_image };
        if (count == 1) /* describes the batch without `images` */
            device[k] = (motley_batch){ .count = 1,
                                        .channels = channels,
                                        .data = all->device_image[0].data,
                                        .width = all->device_image[0].width,
                                        .height = all->device_image[0].height,
                                        .image_stride = 0,
                                        .row_stride = all->device_image[0].row_stride,
                                        .pixel_stride = all->device_image[0].pixel_stride,
                                        .channel_stride = all->device_image[0].channel_stride };
        host[k].alpha = device[k].alpha = channels % 2 == 0 && number % 3 > 0; /* of 2 or 4 */
    }
    snprintf(how, sizeof how, "case %" PRIu64 ": %d images, %s to %s, %d channels%s, filter %d, order %d%s%s%s", number,
             count, input_layout_names[from], input_layout_names[to], channels, host->alpha ? " with alpha" : "",
             (int)params.filter, (int)params.order, crops ? ", crops" : "", boxes ? ", boxes" : "",
             flips ? ", flips" : "");
    motley_error error = { 0 };
    snprintf(again, sizeof again, "  again: check_cuda_resize --cases 1 --first %" PRIu64 " --most %" PRId32, number,
             most_side);
    need(motley_resize(cpu, &host[0], &host[1], &params, &error) == MOTLEY_OK, error.message);
    prepare(number);
    need(motley_resize(cuda, &device[0], &device[1], &params, &error) == MOTLEY_OK, error.message);
    const int ok = compare(dst, dst, "dst") && compare(src, src, "src");
    if (!ok)
        fprintf(stderr, "%s\n", again);
    drop(src);
    drop(dst);
    free(src);
    free(dst);
    return !ok;
}

int main(int argc, char **argv)
{
    int64_t cases = CASES, first = 0, most = 300, require = 0;
    const option_row options[] = {
        { "require", &require, NULL, NULL },
        { "cases", &cases, NULL, "N" },
        { "first", &first, NULL, "N" },
        { "most", &most, NULL, "SIDE" },
    };
    read_options(argc, argv, options, sizeof options / sizeof *options);
#ifdef MOT_EMULATE
    signal(SIGSEGV, read_behind);
#endif
    cpu = open_on(MOTLEY_BACKEND_CPU, 0, 1);
    cuda = open_on(MOTLEY_BACKEND_CUDA, 0, require != 0);
    for (int64_t number = first; number < first + cases && failures < 10; number++)
        failures += check_case((uint64_t)number, (int32_t)most);
    left_out((size_t)cases, CASES, "random batches");
    printf("%" PRId64 " batches, %" PRId64 " bytes compared, %d failures\n", cases, compared, failures);
    close_on(MOTLEY_BACKEND_CUDA, cuda);
    motley_context_destroy(cpu);
    return failures > 0;
}
