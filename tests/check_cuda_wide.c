/* SPDX-License-Identifier: Apache-2.0 */
/* Images of U16 and F32 on the GPU against the CPU: random ops, policies, transforms and resizes of random types,
 * bands, layouts, sizes, ranges and data, NaN, infinities and -0 among them; in place, with outputs, lists of images,
 * given places, followers and graphs. One differing byte fails, those between the images included.
 *
 *     check_cuda_wide [--require] [--cases N] [--most SIDE] [--values MILLIONS] [--case N]
 *
 * N cases, of images of up to SIDE pixels each way; with --values as many more as it takes to compare so many million
 * components. Without a CUDA device it prints that it skips and exits 77; with --require that is a failure. Compiled
 * with MOT_EMULATE, the kernels run on the CPU (tests/emulate). */
#include "motley.h"
#include "tests/batches.h"
#include "tests/contexts.h"
#include "tests/options.h"
#include "tests/sweep.h"

#ifdef MOT_EMULATE
#include "tests/emulate/calls.h"
#endif
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define SEED 20261130u
#define MOST_IMAGES 6
#define MOST_BANDS 70
#define CANARY 64
#define BEFORE 0x3C /* what results' bytes are before a call, and remain in gaps */

static motley_context *cpu, *cuda;
static uint64_t state; /* of the case's random numbers */
static int64_t compared;
static long number; /* of the case */
static int64_t most_side = 300;
static char what[1000];

static uint64_t below(uint64_t n)
{
    return input_random(&state) % n;
}

static double between(double lo, double hi)
{
    return lo + (hi - lo) * (double)below(1u << 20) / (1u << 20);
}

/* ---- batches ---- */

static size_t bytes_of(motley_dtype dtype)
{
    return dtype == MOTLEY_F32 ? 4 : dtype == MOTLEY_U8 ? 1 : 2;
}

/* Memory of both sides, and a batch in it. */
typedef struct room {
    size_t bytes;
    uint8_t *host, *back, *device;
    motley_batch batch;                                   /* the host's */
    motley_image images[MOST_IMAGES], moved[MOST_IMAGES]; /* of a list */
} room;

static void *on_device(const room *r, const void *host)
{
    return r->device + ((const uint8_t *)host - r->host);
}

static motley_batch device_batch(room *r)
{
    motley_batch batch = r->batch;
    if (!batch.images) {
        batch.data = on_device(r, batch.data);
        return batch;
    }
    for (size_t i = 0; i < batch.count; i++) {
        r->moved[i] = r->images[i];
        r->moved[i].data = on_device(r, r->images[i].data);
    }
    batch.images = r->moved;
    return batch;
}

enum { PLANES, PIXELS, PADDED, APART, UPWARDS, LAYOUTS };
static const char *const layout_names[] = { "planes", "pixels", "padded", "apart", "upwards" };

/* An image's strides; returns its bytes, and where the first pixel is among them. */
static size_t lay_out(motley_image *image, int32_t channels, int64_t element, int layout, size_t *at)
{
    const int64_t w = image->width, h = image->height, gap = layout == PADDED ? 3 : 0;
    *at = 0;
    if (layout == PIXELS || layout == APART) {
        image->channel_stride = element;
        image->pixel_stride = (channels + (layout == APART)) * element;
        image->row_stride = (w + gap) * image->pixel_stride;
        return (size_t)(h * image->row_stride);
    }
    image->pixel_stride = element;
    image->row_stride = (w + gap) * element;
    image->channel_stride = h * image->row_stride + gap * element;
    if (layout == UPWARDS) {
        *at = (size_t)((h - 1) * image->row_stride);
        image->row_stride = -image->row_stride;
    }
    return (size_t)(channels * image->channel_stride);
}

/* `sizes`: [count]; a list of images if they differ or `listed`. */
static room make_room(motley_dtype dtype, int32_t channels, size_t count, const input_size *sizes, int layout,
                      int listed)
{
    room r = { .batch = { .count = count, .channels = channels, .dtype = dtype } };
    const size_t element = bytes_of(dtype), shift = layout == PADDED ? element : 0;
    size_t starts[MOST_IMAGES];
    r.bytes = CANARY + shift;
    for (size_t i = 0; i < count; i++) {
        size_t at;
        r.images[i].width = sizes[i].width;
        r.images[i].height = sizes[i].height;
        const size_t bytes = lay_out(&r.images[i], channels, (int64_t)element, layout, &at);
        listed |= sizes[i].width != sizes[0].width || sizes[i].height != sizes[0].height;
        starts[i] = r.bytes + at;
        r.bytes += (bytes + 3) / 4 * 4;
    }
    r.bytes += CANARY;
    r.host = malloc(r.bytes);
    r.back = malloc(r.bytes);
    need(r.host && r.back, "no memory");
    memset(r.host, BEFORE, r.bytes);
    need_cuda(cudaMalloc((void **)&r.device, r.bytes));
    for (size_t i = 0; i < count; i++)
        r.images[i].data = r.host + starts[i];
    const motley_image *const one = &r.images[0];
    r.batch.data = one->data;
    r.batch.width = one->width;
    r.batch.height = one->height;
    r.batch.row_stride = one->row_stride;
    r.batch.pixel_stride = one->pixel_stride;
    r.batch.channel_stride = one->channel_stride;
    r.batch.image_stride = count > 1 ? (int64_t)(starts[1] - starts[0]) : 0;
    if (listed)
        r.batch = (motley_batch){ .count = count, .channels = channels, .dtype = dtype };
    return r;
}

/* The list, which moves with the room. */
static void point_at_images(room *r)
{
    if (!r->batch.width)
        r->batch.images = r->images;
}

static void send(room *r)
{
    need_cuda(cudaMemcpy(r->device, r->host, r->bytes, cudaMemcpyHostToDevice));
}

static void drop(room *r)
{
    free(r->host);
    free(r->back);
    need_cuda(cudaFree(r->device));
}

static void compare(room *r, const char *which)
{
    need_cuda(cudaMemcpy(r->back, r->device, r->bytes, cudaMemcpyDeviceToHost));
    compared += (int64_t)(r->bytes / bytes_of(r->batch.dtype));
    const difference d = difference_of(r->back, r->host, r->bytes);
    if (d.bytes == 0)
        return;
    fprintf(stderr, "case %ld, %s: %s: %zu of %zu bytes differ, the first at %zu", number, what, which, d.bytes,
            r->bytes, d.first);
    for (size_t i = 0; i < r->batch.count; i++)
        for (int32_t y = 0; y < r->images[i].height; y++)
            for (int32_t x = 0; x < r->images[i].width; x++)
                for (int32_t c = 0; c < r->batch.channels; c++) {
                    const uint8_t *const at = input_at(&r->images[i], x, y, c);
                    const size_t element = bytes_of(r->batch.dtype);
                    uint32_t got = 0, wanted = 0;
                    if ((size_t)(r->host + d.first - at) >= element)
                        continue;
                    memcpy(&got, r->back + (at - r->host), element);
                    memcpy(&wanted, at, element);
                    fprintf(stderr, " (image %zu, x %d, y %d, band %d): %08x, want %08x", i, (int)x, (int)y, (int)c,
                            got, wanted);
                }
    fprintf(stderr, "\n");
    if (++failures >= 12)
        exit(1);
}

/* ---- data ---- */

static uint32_t special(void)
{
    static const uint32_t bits[] = { 0x7FC00000u, 0xFFC12345u, 0x7F800000u, 0xFF800000u, 0x80000000u,
                                     0x00000001u, 0x807FFFFFu, 0x7F7FFFFFu, 0xFF7FFFFFu, 0x3F800000u };
    return bits[below(sizeof bits / sizeof *bits)];
}

/* Fills a room, gaps included. lo..hi: about the range of the data. */
static void fill_data(room *r, double lo, double hi)
{
    const int kind = (int)below(7);
    const size_t n = r->bytes / bytes_of(r->batch.dtype);
    const double constant = between(lo, hi);
    uint16_t *const whole = (uint16_t *)(void *)r->host;
    float *const real = (float *)(void *)r->host;
    for (size_t k = 0; k < n; k++) {
        double v = between(lo, hi);
        if (kind == 1)
            v = constant;
        else if (kind == 2)
            v = lo + (hi - lo) * (double)(k % 997) / 997 + (hi - lo) * 0.02 * between(-1, 1);
        else if (kind == 3)
            v = lo + (hi - lo) * (double)below(5) / 4;
        else if (kind == 4)
            v = lo + (hi - lo) * between(-0.5, 1.5);
        if (r->batch.dtype == MOTLEY_U16) {
            whole[k] = (uint16_t)(v < 0 ? 0 : v > 65535 ? 65535 : v);
            if (kind == 5)
                whole[k] = (uint16_t)below(65536);
            continue;
        }
        real[k] = (float)v;
        if ((kind == 5 && below(50) == 0) || (kind == 6 && below(3) == 0)) {
            const uint32_t bits = kind == 6 && below(2) ? (uint32_t)input_random(&state) : special();
            memcpy(&real[k], &bits, sizeof bits);
        }
    }
}

/* ---- cases ---- */

/* The input of a case: its images and what their data mean. */
typedef struct subject {
    room src;
    double range[MOST_BANDS][2];
    double lo, hi;
    int in_place, layout;
    double fill[MOST_BANDS];
    float means[MOST_BANDS], stds[MOST_BANDS];
} subject;

static void choose_range(subject *s)
{
    motley_batch *const b = &s->src.batch;
    static const double of_u16[] = { 65535, 4095, 10000, 255, 1, 60000 };
    const int per_band = below(3) == 0;
    s->lo = 0;
    s->hi = b->dtype == MOTLEY_U16 ? 65535 : 1;
    b->unclamped = below(3) == 0;
    if (below(3) == 0)
        return;
    for (int32_t c = 0; c < (per_band ? b->channels : 1); c++) {
        s->range[c][0] = b->dtype == MOTLEY_U16 ? 0 : (double[]){ 0, -1, -3, 0, -0.125, 100 }[below(6)];
        s->range[c][1] = b->dtype == MOTLEY_U16 ? of_u16[below(6)]
                                                : s->range[c][0] + (double[]){ 1, 2, 5.5, 10000, 0.001, 255 }[below(6)];
    }
    b->range = (const double(*)[2])s->range;
    b->ranges = per_band ? b->channels : below(2) ? 1 : 0;
    s->lo = s->range[0][0];
    s->hi = s->range[0][1];
}

static void make_subject(subject *s, int lists)
{
    static const int32_t channels[] = { 1, 2, 3, 3, 4, 5, 13, 64 };
    const motley_dtype dtype = below(2) ? MOTLEY_F32 : MOTLEY_U16;
    const size_t count = 1 + (size_t)below(MOST_IMAGES);
    const int alike = below(3) > 0 || !lists;
    input_size sizes[MOST_IMAGES];
    int32_t bands = channels[below(8)];
    int32_t most = most_side;
    while (most > 40 && (int64_t)most * most * bands * (int64_t)count > 4000000)
        most = most * 3 / 4;
    for (size_t i = 0; i < count; i++)
        sizes[i] = i > 0 && alike
                       ? sizes[0]
                       : (input_size){ 1 + (int32_t)below((uint64_t)most), 1 + (int32_t)below((uint64_t)most) };
    memset(s, 0, sizeof *s);
    s->layout = (int)below(LAYOUTS);
    s->src = make_room(dtype, bands, count, sizes, s->layout, lists && below(6) == 0);
    point_at_images(&s->src);
    choose_range(s);
    fill_data(&s->src, s->lo, s->hi);
    s->in_place = below(3) == 0;
    for (int32_t c = 0; c < bands; c++) {
        s->fill[c] = floor(between(s->lo, s->hi));
        if (dtype == MOTLEY_U16)
            s->fill[c] = s->fill[c] < 0 ? 0 : s->fill[c];
        s->means[c] = (float)between(s->lo, s->hi);
        s->stds[c] = below(5) ? (float)between(0.1, 2 * (s->hi - s->lo)) : 0;
    }
    snprintf(what, sizeof what, "%zu of %s, %d bands, %s%s%s, %dx%d", count, dtype == MOTLEY_F32 ? "f32" : "u16",
             (int)bands, layout_names[s->layout], s->in_place ? " in place" : "", s->src.batch.images ? ", list" : "",
             (int)sizes[0].width, (int)sizes[0].height);
}

static void say(const char *name)
{
    const size_t n = strlen(what);
    snprintf(what + n, sizeof what - n, ", %.200s", name);
}

/* Sizes of a batch's images. */
static void sizes_of(const room *r, input_size *sizes)
{
    for (size_t i = 0; i < r->batch.count; i++)
        sizes[i] = (input_size){ r->images[i].width, r->images[i].height };
}

static void must(motley_status status, const motley_error *error)
{
    if (status != MOTLEY_OK)
        fprintf(stderr, "case %ld, %s: %s\n", number, what, error->message);
    need(status == MOTLEY_OK, "a call failed");
}

/* A place of the same size as the source for the results; the source itself in place. */
static room result_of(subject *s)
{
    input_size sizes[MOST_IMAGES];
    if (s->in_place)
        return s->src;
    sizes_of(&s->src, sizes);
    room r = make_room(s->src.batch.dtype, s->src.batch.channels, s->src.batch.count, sizes, (int)below(LAYOUTS),
                       s->src.batch.images != NULL);
    return r;
}

static void check_op(subject *s)
{
    const int op = (int)below((uint64_t)motley_op_count());
    const motley_op_info *info = motley_op_get(op);
    const motley_batch *const batch = &s->src.batch;
    double values[MOST_IMAGES * MOTLEY_MAX_VALUES], all[26][MOTLEY_MAX_VALUES];
    const int n = input_values(info, input_random(&state), 26, all);
    for (size_t i = 0; i < batch->count; i++) {
        const int k = (int)below((uint64_t)n);
        for (int v = 0; v < info->values_max; v++)
            values[i * (size_t)info->values_max + (size_t)v] = all[k][v];
        if (info->shape == MOTLEY_SHAPE_BLUR && all[k][0] > 9)
            values[i] = between(0, 9);
    }
    motley_op_params params = { .interpolation = (motley_interpolation)below(3) };
    params.fill = below(2) ? s->fill : NULL;
    room to = result_of(s);
    point_at_images(&to);
    send(&s->src);
    if (!s->in_place)
        send(&to);
    motley_error error = { 0 };
    say(info->name);
    const motley_batch from = device_batch(&s->src);
    const motley_batch into = device_batch(&to);
    const double *const given = info->values_max ? values : NULL;
    must(motley_op_apply(cuda, op, given, info->values_max, &from, s->in_place ? &from : &into, &params, &error),
         &error);
    must(motley_op_apply(cpu, op, given, info->values_max, batch, s->in_place ? batch : &to.batch, &params, &error),
         &error);
    compare(&s->src, "src");
    if (!s->in_place) {
        compare(&to, "dst");
        drop(&to);
    }
}

#define POLICY "motley: 1\nname: x\n"
static const char *const policies[] = {
    POLICY "branches: [invert, {op: solarize_add, value: 60}, {op: brightness, value: 1.4}, {op: contrast, value: "
           "0.4}]\nrepeat: 4\n",
    POLICY "branches: [auto_contrast, equalize, {op: contrast, value: 1.7}, {op: rotate, value: 33}, flip_lr]\n"
           "repeat: 5\n",
    POLICY "branches: [{op: rotate, value: 20}, {op: shear_x, value: 0.3}, {op: translate_y_rel, value: 0.2}, "
           "{op: sharpness, value: 1.8}, equalize]\nrepeat: 3\ninterpolation: [bilinear, bicubic, nearest]\n"
           "fill: [200, 20, 90]\n",
    POLICY "branches: [{op: gaussian_blur, value: 1.5}, {op: posterize, value: 3}, smooth_more, emboss, "
           "{op: cutout, value: 6}, {op: color, value: 0.3}]\nrepeat: 3\n",
    POLICY "branches: [grayscale, {op: desaturate, value: 0.7}, {op: color, value: 1.6}, find_edges, detail, flip_ud, "
           "identity]\n"
           "repeat: 4\n",
};
static const char *const named[] = { "rand_augment", "trivial_augment_wide", "auto_augment_imagenet",
                                     "timm_rand_m9_mstd05_inc1" };

static motley_policy *policy_of(const char *text, int builtin)
{
    motley_policy *policy;
    motley_error error = { 0 };
    if (builtin)
        must(motley_policy_builtin(text, &policy, &error), &error);
    else
        must(motley_policy_parse(text, strlen(text), NULL, &policy, &error), &error);
    return policy;
}

static motley_samples samples_of_case(void)
{
    return (motley_samples){ .seed = input_random(&state), .epoch = (uint32_t)below(9), .first = below(1000) };
}

/* A mask of bytes beside the images. */
typedef struct masks {
    room src, dst;
    motley_plane images[MOST_IMAGES], moved[MOST_IMAGES], *on_device;
    motley_planes host, device;
    motley_followed of_host, of_device;
} masks;

static void make_masks(masks *m, const room *like, const room *result)
{
    input_size from[MOST_IMAGES], to[MOST_IMAGES];
    sizes_of(like, from);
    sizes_of(result, to);
    memset(m, 0, sizeof *m);
    m->src = make_room(MOTLEY_U8, 1, like->batch.count, from, PLANES, 0);
    m->dst = make_room(MOTLEY_U8, 1, like->batch.count, to, PLANES, 0);
    for (size_t k = 0; k < m->src.bytes; k++)
        m->src.host[k] = (uint8_t)below(256);
    send(&m->src);
    send(&m->dst);
    for (size_t i = 0; i < like->batch.count; i++) {
        m->images[i] = (motley_plane){ m->src.images[i].data, m->dst.images[i].data, 1 };
        m->moved[i] = (motley_plane){ on_device(&m->src, m->images[i].src), on_device(&m->dst, m->images[i].dst), 1 };
    }
    need_cuda(cudaMalloc((void **)&m->on_device, sizeof m->moved));
    need_cuda(cudaMemcpy(m->on_device, m->moved, sizeof m->moved, cudaMemcpyHostToDevice));
    m->host = m->device = (motley_planes){ .images = m->images, .element_size = 1, .fill = { 9 } };
    m->device.images = m->on_device;
    m->of_host = (motley_followed){ .planes = &m->host, .planes_count = 1 };
    m->of_device = (motley_followed){ .planes = &m->device, .planes_count = 1 };
}

static void check_policy(subject *s)
{
    const size_t texts = sizeof policies / sizeof *policies, names = sizeof named / sizeof *named;
    const size_t which = (size_t)below(texts + names);
    motley_policy *const policy = policy_of(which < texts ? policies[which] : named[which - texts], which >= texts);
    say(which < texts ? policies[which] + strlen(POLICY) : named[which - texts]);
    motley_apply_params host = { .samples = samples_of_case() };
    host.fill = below(4) == 0 ? s->fill : NULL;
    motley_error error = { 0 };
    const size_t n = s->src.batch.count, most = motley_policy_describe(policy)->max_steps;
    motley_step *const steps = calloc(n * most, sizeof *steps);
    int32_t *const counts = calloc(n, sizeof *counts);
    need(steps && counts, "no memory");
    if (below(2)) {
        say(", given");
        int32_t width[MOST_IMAGES], height[MOST_IMAGES];
        for (size_t i = 0; i < n; i++)
            width[i] = s->src.images[i].width, height[i] = s->src.images[i].height;
        must(motley_draw(policy, &host.samples, n, width, height, s->src.batch.channels < 4 ? s->src.batch.channels : 4,
                         NULL, steps, counts, &error),
             &error);
        host.given_steps = steps;
        host.given_step_counts = counts;
    }
    motley_apply_params device = host;
    const int outputs = !s->src.batch.images && below(3) == 0;
    room to = result_of(s), out = { 0 };
    point_at_images(&to);
    if (outputs) {
        const input_size one[MOST_IMAGES] = { { s->src.batch.width, s->src.batch.height } };
        input_size sizes[MOST_IMAGES];
        for (size_t i = 0; i < MOST_IMAGES; i++)
            sizes[i] = one[0];
        const motley_dtype dtypes[] = { MOTLEY_F32, MOTLEY_F16, MOTLEY_BF16 };
        out = make_room(dtypes[below(3)], s->src.batch.channels, s->src.batch.count, sizes, (int)below(LAYOUTS), 0);
        host.output.batch = out.batch;
        if (below(3)) {
            host.output.means = s->means;
            host.output.stds = s->stds;
        }
        device.output = host.output;
        device.output.batch = device_batch(&out);
        send(&out);
    }
    send(&s->src);
    if (!s->in_place)
        send(&to);
    const int alone = outputs && below(2); /* no dst */
    const motley_batch from = device_batch(&s->src), into = device_batch(&to);
    const motley_batch *const device_dst = alone ? NULL : s->in_place ? &from : &into;
    const motley_batch *const host_dst = alone ? NULL : s->in_place ? &s->src.batch : &to.batch;
    must(motley_apply(cuda, policy, &from, device_dst, &device, &error), &error);
    must(motley_apply(cpu, policy, &s->src.batch, host_dst, &host, &error), &error);
    compare(&s->src, "src");
    if (!s->in_place) {
        compare(&to, "dst");
        drop(&to);
    }
    if (outputs) {
        compare(&out, "output");
        drop(&out);
    }
    free(steps);
    free(counts);
    motley_policy_destroy(policy);
}

#define HEAD "motley: 1\nname: x\nstages:\n"
static const char *const transforms[] = {
    HEAD "  - random_resized_crop: {size: [31, 43], filter: [bilinear, bicubic, lanczos, box, hamming, nearest]}\n"
         "  - flip: {horizontal: 0.5, vertical: 0.5}\n",
    HEAD "  - random_resized_crop: {size: 24}\n  - flip: {horizontal: 0.5}\n  - policy: {name: rand_augment}\n",
    HEAD "  - resize: {size: [40, 20]}\n  - center_crop: {size: [56, 12]}\n",
    HEAD "  - random_crop: {size: 14, padding: 13}\n  - flip: {vertical: 0.5}\n  - policy: {name: "
         "trivial_augment_wide}\n",
    HEAD "  - random_resized_crop: {size: 33}\n  - jitter: {p: 0.8, brightness: [0.5, 1.5], contrast: [0.5, 1.5], "
         "saturation: [0.5, 1.5]}\n  - grayscale: {p: 0.5}\n  - blur: {p: 0.5, radius: [0.5, 2]}\n",
    HEAD "  - resize: {size: [41, 30]}\n  - blur: {kernel_size: 5, sigma: [0.5, 3]}\n  - policy: {name: "
         "timm_rand_m9_mstd05_inc1}\n",
    HEAD "  - flip: {horizontal: 0.5, vertical: 0.5}\n  - policy: {name: rand_augment}\n",
    HEAD "  - resize: {size: [30, 26]}\n  - random_crop: {size: [40, 18], padding: 9}\n  - flip: {horizontal: 0.5}\n",
    HEAD "  - zoom_out: {p: 0.7, fill: [123, 117, 104]}\n  - resize: {size: [44, 30], filter: bicubic}\n",
    HEAD "  - policy: {name: trivial_augment_wide}\n",
};
static const char *const erases[] = {
    "",
    "  - erase: {p: 0.75, value: pixel, boxes: [1, 3]}\n",
    "  - erase: {p: 1, value: 0.5, boxes: 2}\n",
    "  - erase: {p: 0.5, value: channel}\n",
};

/* Moves the sides of a crop outwards. */
static void reach_beyond(motley_place *place)
{
    const int32_t left = (int32_t)below(9), top = (int32_t)below(9);
    place->beyond = 1;
    place->crop.left -= left;
    place->crop.top -= top;
    place->crop.width += left + (int32_t)below(9);
    place->crop.height += top + (int32_t)below(9);
}

static void check_transform(subject *s)
{
    const size_t which = (size_t)below(sizeof transforms / sizeof *transforms);
    const motley_dtype own = s->src.batch.dtype, types[] = { own, MOTLEY_F32, MOTLEY_F16, MOTLEY_BF16 };
    const motley_dtype dtype = types[below(4)];
    const int real = dtype != MOTLEY_U16, normal = real && below(3);
    char text[1000];
    snprintf(text, sizeof text, "%s%s%s", transforms[which], normal ? "  - output: {}\n" : "",
             normal ? erases[below(4)] : "");
    motley_policy *const policy = policy_of(text, 0);
    const motley_policy_info *const info = motley_policy_describe(policy);
    const size_t n = s->src.batch.count;
    motley_error error = { 0 };
    say(text + strlen(HEAD));
    int32_t width[MOST_IMAGES], height[MOST_IMAGES], to_width[MOST_IMAGES], to_height[MOST_IMAGES];
    input_size sizes[MOST_IMAGES];
    for (size_t i = 0; i < n; i++) {
        width[i] = s->src.images[i].width;
        height[i] = s->src.images[i].height;
    }
    motley_apply_params host = { .samples = samples_of_case() };
    if (motley_policy_result_sizes(policy, &host.samples, n, width, height, to_width, to_height, &error) != MOTLEY_OK) {
        motley_policy_destroy(policy); /* too small */
        return;
    }
    for (size_t i = 0; i < n; i++)
        sizes[i] = (input_size){ to_width[i], to_height[i] };
    room to = make_room(dtype, s->src.batch.channels, n, sizes, (int)below(LAYOUTS), 0);
    point_at_images(&to);
    if (real && below(2)) {
        host.output.means = s->means;
        host.output.stds = s->stds;
    }
    host.fill = below(4) == 0 ? s->fill : NULL;
    motley_apply_params device = host;
    const size_t most = info->max_steps > 0 ? info->max_steps : 1;
    motley_place *const places = calloc(n, sizeof *places);
    motley_step *const steps = calloc(n * most, sizeof *steps);
    int32_t *const counts = calloc(n, sizeof *counts);
    need(places && steps && counts, "no memory");
    uint64_t *counter = NULL;
    const int how = (int)below(4), follows = how != 1 && below(2);
    masks m;
    if (how == 1) { /* given */
        say("given");
        must(motley_draw(policy, &host.samples, n, width, height, s->src.batch.channels < 4 ? s->src.batch.channels : 4,
                         places, steps, counts, &error),
             &error);
        for (size_t i = 0; i < n; i++)
            if (below(2))
                reach_beyond(&places[i]);
        host.given = device.given = places;
        host.given_steps = device.given_steps = steps;
        host.given_step_counts = device.given_step_counts = counts;
    } else if (how == 2) { /* a counter on the device */
        const uint64_t now[2] = { host.samples.epoch, host.samples.first };
        need_cuda(cudaMalloc((void **)&counter, sizeof now));
        need_cuda(cudaMemcpy(counter, now, sizeof now, cudaMemcpyHostToDevice));
        device.counter = counter;
        device.samples.epoch = 0;
        device.samples.first = 0;
    }
    if (follows) {
        make_masks(&m, &s->src, &to);
        host.followed = &m.of_host;
        device.followed = &m.of_device;
    }
    send(&s->src);
    send(&to);
    const motley_batch from = device_batch(&s->src), into = device_batch(&to);
    const motley_status on_host = motley_apply(cpu, policy, &s->src.batch, &to.batch, &host, &error);
    motley_error second = { 0 };
    const motley_status on_device = motley_apply(cuda, policy, &from, &into, &device, &second);
    if (on_host != on_device) {
        fprintf(stderr, "case %ld, %s: %s, but on the device %s\n", number, what, error.message, second.message);
        failures++;
    }
    if (on_host == MOTLEY_OK) {
        compare(&to, "dst");
        compare(&s->src, "src");
        if (follows) {
            compare(&m.dst, "mask");
            drop(&m.src);
            drop(&m.dst);
            need_cuda(cudaFree(m.on_device));
        }
    }
    drop(&to);
    if (counter)
        need_cuda(cudaFree(counter));
    free(places);
    free(steps);
    free(counts);
    motley_policy_destroy(policy);
}

static void check_resize(subject *s)
{
    const size_t n = s->src.batch.count;
    input_size sizes[MOST_IMAGES];
    motley_crop crops[MOST_IMAGES];
    double boxes[MOST_IMAGES][4];
    uint8_t flips[MOST_IMAGES];
    const int alike = below(2), cuts = below(2), boxed = below(2);
    for (size_t i = 0; i < n; i++) {
        const motley_image *const im = &s->src.images[i];
        motley_crop *const crop = &crops[i];
        crop->left = (int32_t)below((uint64_t)im->width);
        crop->top = (int32_t)below((uint64_t)im->height);
        crop->width = 1 + (int32_t)below((uint64_t)(im->width - crop->left));
        crop->height = 1 + (int32_t)below((uint64_t)(im->height - crop->top));
        flips[i] = (uint8_t)below(2);
        const double w = cuts ? crop->width : im->width, h = cuts ? crop->height : im->height;
        boxes[i][0] = below(3) ? between(0, w / 2) : 0;
        boxes[i][1] = below(3) ? between(0, h / 2) : 0;
        boxes[i][2] = below(3) ? between(w * 0.6, w) : w;
        boxes[i][3] = below(3) ? between(h * 0.6, h) : h;
        const int32_t most = most_side < 60 ? most_side : 60;
        sizes[i] = i > 0 && alike
                       ? sizes[0]
                       : (input_size){ 1 + (int32_t)below((uint64_t)most), 1 + (int32_t)below((uint64_t)most) };
        if (below(4) == 0 && !(i > 0 && alike))
            sizes[i] = (input_size){ (int32_t)w, (int32_t)h };
        if (below(4) == 0 && sizes[i].width <= w && sizes[i].height <= h) { /* between pixels, and nothing is scaled */
            boxes[i][0] = floor(4 * between(0, w - sizes[i].width)) / 4;
            boxes[i][1] = floor(4 * between(0, h - sizes[i].height)) / 4;
            boxes[i][2] = boxes[i][0] + sizes[i].width;
            boxes[i][3] = boxes[i][1] + sizes[i].height;
        }
    }
    room to = make_room(s->src.batch.dtype, s->src.batch.channels, n, sizes, (int)below(LAYOUTS), 0);
    point_at_images(&to);
    const motley_resize_params params = { .filter = (motley_filter)below(6),
                                          .order = (motley_resize_order)below(3),
                                          .crops = cuts ? crops : NULL,
                                          .boxes = boxed ? (const double(*)[4])boxes : NULL,
                                          .flips = below(2) ? flips : NULL };
    send(&s->src);
    send(&to);
    motley_error error = { 0 };
    say("resize");
    const motley_batch from = device_batch(&s->src), into = device_batch(&to);
    must(motley_resize(cuda, &from, &into, &params, &error), &error);
    must(motley_resize(cpu, &s->src.batch, &to.batch, &params, &error), &error);
    compare(&to, "dst");
    drop(&to);
}

static void check_case(long n)
{
    subject *const s = calloc(1, sizeof *s);
    need(s != NULL, "no memory");
    number = n;
    state = SEED + (uint64_t)n * 7919;
    for (int k = 0; k < 4; k++)
        input_random(&state);
    const int kind = (int)below(8);
    make_subject(s, 1);
    if (kind < 3)
        check_op(s);
    else if (kind < 5)
        check_policy(s);
    else if (kind < 7)
        check_transform(s);
    else
        check_resize(s);
    drop(&s->src);
    free(s);
}

int main(int argc, char **argv)
{
    int64_t cases = 2000, only = -1, values = 0, require = 0;
    const option_row options[] = {
        { "require", &require, NULL, NULL },     { "cases", &cases, NULL, "N" }, { "most", &most_side, NULL, "SIDE" },
        { "values", &values, NULL, "MILLIONS" }, { "case", &only, NULL, "N" },
    };
    read_options(argc, argv, options, sizeof options / sizeof *options);
    values *= 1000000;
    cpu = open_on(MOTLEY_BACKEND_CPU, 0, 1);
    cuda = open_on(MOTLEY_BACKEND_CUDA, 0, require != 0);
    const size_t run = sweep((size_t)cases, "cases");
    long done = 0;
    for (; only < 0 && (done < (long)run || compared < values); done++)
        check_case(done);
    if (only >= 0)
        check_case(only);
    printf("%ld cases, %" PRId64 " components compared, %d failures\n", done, compared, failures);
    close_on(MOTLEY_BACKEND_CUDA, cuda);
    motley_context_destroy(cpu);
    return failures > 0;
}
