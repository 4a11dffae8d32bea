/* SPDX-License-Identifier: Apache-2.0 */
/* motley_views_apply on any backend, over every built-in file with views and the texts below, against the CPU, which
 * applies each view's policy by itself, one result after the other. One differing byte fails.
 *
 *     test_all_views cpu|cuda [--require]
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. */
#include "tests/contexts.h"
#include "tests/inputs.h"

#include <stdio.h>

#define COUNT 5
#define MOST_RESULTS (COUNT * MOTLEY_MAX_VIEW_COUNT)
#define HEAD "motley: 1\nname: x\n"

static motley_context *context, *cpu; /* `cpu` works on the host's memory, and makes what is wanted */
static long compared;

static const char *const texts[] = {
    /* stages that views share: to one size, with each image's own, and of images of any channels */
    HEAD "stages: [{random_resized_crop: {size: [70, 81], scale: [0.2, 1]}}, {jitter: {p: 0.8, hue: 0.1}}]\n"
         "views:\n"
         "  - {name: a, count: 3, stages: [{random_resized_crop: {size: 32}}, {policy: rand_augment}, {output: {}}]}\n"
         "  - {name: b, stages: [{flip: {horizontal: 0.5}}, {output: {type: u8, layout: hwc}}]}\n",
    HEAD
    "stages: [{flip: {vertical: 0.5}}, {policy: {name: trivial_augment_wide, p: 0.5}}]\n"
    "views:\n"
    "  - {name: a, number: 3, count: 2, stages: [{resize: {size: [48, 31], filter: bicubic}}, {output: {type: f16}}]}\n"
    "  - {name: b, stages: [{grayscale: {p: 0.5}}]}\n",
    HEAD "stages: [{to_rgb: {}}, {random_crop: {size: 40, padding: 9}}]\n"
         "views: [{name: a, count: 2, stages: [{blur: {radius: [0.1, 2]}}, {output: {}}]}]\n",
    /* numbers of the epoch, and levels of the call */
    HEAD "views:\n"
         "  - {name: a, count: 2, stages: [{random_resized_crop: {size: {from: [[0, 24], [2, 36]]}}}, "
         "{policy: {name: rand_augment, level: given}}]}\n"
         "  - {name: b, stages: [{random_resized_crop: {size: 20}}, {policy: {name: trivial_augment_wide, p: {ramp: "
         "[[0, 0], "
         "[4, 1]]}}}]}\n",
};
#define TEXTS (sizeof texts / sizeof *texts)

/* Images in one piece of memory, dense one behind the other. */
typedef struct pile {
    motley_image image[MOST_RESULTS];
    motley_batch batch;
    size_t bytes;
} pile;

/* `count` images that `policy` makes of those of `from`, repeated; NULL: as they are. */
static pile pile_of(const motley_policy *policy, const motley_image *from, int32_t channels, size_t count)
{
    static const size_t of_type[] = { 1, 4, 2, 2 };
    const motley_policy_info *const info = motley_policy_describe(policy);
    pile p = { .batch = { .count = count, .channels = info && info->to_rgb ? 3 : channels } };
    p.batch.alpha = p.batch.channels % 2 == 0;
    p.batch.dtype = info && info->has_output ? info->dtype : MOTLEY_U8;
    const bool planes = info && info->has_output && info->layout == MOTLEY_CHW;
    const int64_t one = (int64_t)of_type[p.batch.dtype], n = p.batch.channels;
    for (size_t i = 0; i < count; i++) {
        motley_image *const image = &p.image[i];
        image->width = info && info->width ? info->width : from[i % COUNT].width;
        image->height = info && info->height ? info->height : from[i % COUNT].height;
        image->pixel_stride = planes ? one : n * one;
        image->row_stride = image->pixel_stride * image->width;
        image->channel_stride = planes ? image->row_stride * image->height : one;
        image->data = (void *)p.bytes;
        p.bytes += ((size_t)(image->width * image->height * n * one) + 15) / 16 * 16;
    }
    return p;
}

/* Lets the images lie at `memory`. */
static void put(pile *p, void *memory)
{
    for (size_t i = 0; i < p->batch.count; i++)
        p->image[i].data = (uint8_t *)memory + (size_t)p->image[i].data;
    p->batch.images = p->image;
}

static void *allocated(size_t bytes, const void *from)
{
    motley_error error;
    void *memory;
    need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, bytes, &memory, &error) == MOTLEY_OK, error.message);
    need(motley_memory_copy(context, memory, from, bytes, NULL, &error) == MOTLEY_OK, error.message);
    return memory;
}

/* What result `j` of a view must be, of the images at `from`; appended to `to` from image j * COUNT on. */
static void make_wanted(const motley_view *view, int32_t j, const pile *from, const pile *to,
                        const motley_samples *samples)
{
    motley_batch dst = to->batch;
    motley_apply_params params = { .samples = *samples };
    motley_error error;
    dst.count = COUNT;
    dst.images += j * COUNT;
    params.samples.view = 256 * samples->view + 16 * (uint32_t)view->number + (uint32_t)j;
    need(motley_apply(cpu, view->policy, &from->batch, &dst, &params, &error) == MOTLEY_OK, error.message);
}

static void check_file(const motley_policy *policy, const char *name, uint32_t epoch, int32_t channels)
{
    static const int32_t sizes[COUNT][2] = { { 121, 90 }, { 64, 64 }, { 50, 133 }, { 200, 41 }, { 97, 97 } };
    static const float levels[COUNT] = { 0, 0.25f, 0.5f, 0.8f, 1 };
    motley_policy *plain;
    motley_error error;
    need(motley_policy_at(policy, epoch, &plain, &error) == MOTLEY_OK, error.message);
    const bool takes_levels = motley_policy_describe(plain)->takes_levels;
    const size_t views = (size_t)motley_policy_describe(plain)->views;
    const bool shares = motley_policy_view(plain, views) != NULL;
    motley_image shapes[COUNT] = { { 0 } };
    for (int i = 0; i < COUNT; i++)
        shapes[i] = (motley_image){ .width = sizes[i][0], .height = sizes[i][1] };
    pile src = pile_of(NULL, shapes, channels, COUNT);
    uint8_t *const pixels = malloc(src.bytes);
    need(pixels != NULL, "no memory");
    uint64_t random = 3;
    for (size_t i = 0; i < src.bytes; i++)
        pixels[i] = (uint8_t)(input_random(&random) >> 24);
    pile device_src = src;
    void *const source = allocated(src.bytes, pixels);
    void *const device_levels = allocated(sizeof levels, levels);
    put(&src, pixels);
    put(&device_src, source);

    const motley_samples samples = { .seed = 21, .first = 70, .epoch = epoch, .view = 2 };
    motley_samples host_samples = samples;
    motley_apply_params params = { .samples = samples };
    params.samples.levels = takes_levels ? device_levels : NULL;
    host_samples.levels = takes_levels ? levels : NULL;
    pile made[MOTLEY_MAX_VIEWS + 1], wanted[MOTLEY_MAX_VIEWS + 1];
    void *memory[MOTLEY_MAX_VIEWS + 1], *host[MOTLEY_MAX_VIEWS + 1];
    motley_view_results results[MOTLEY_MAX_VIEWS + 1] = { 0 };
    for (size_t k = 0; k < views + shares; k++) { /* shared stages first */
        const size_t v = shares ? (k + views) % (views + 1) : k;
        const motley_view *const view = motley_policy_view(plain, v);
        const pile *const from = shares && v < views ? &wanted[views] : &src;
        made[v] = wanted[v] = pile_of(view->policy, from->image, from->batch.channels, COUNT * (size_t)view->count);
        host[v] = calloc(1, wanted[v].bytes);
        need(host[v] != NULL, "no memory");
        memory[v] = allocated(made[v].bytes, host[v]); /* the gaps as well, which are copied back */
        put(&made[v], memory[v]);
        put(&wanted[v], host[v]);
        results[v].dst = made[v].batch;
        for (int32_t j = 0; j < view->count; j++)
            make_wanted(view, j, from, &wanted[v], &host_samples);
    }
    need(motley_views_apply(context, policy, &device_src.batch, results, &params, &error) == MOTLEY_OK, error.message);
    for (size_t v = 0; v < views + shares; v++) {
        uint8_t *const back = malloc(made[v].bytes);
        need(back != NULL, "no memory");
        copy_on(context, back, memory[v], made[v].bytes);
        for (size_t i = 0; i < made[v].batch.count; i++) {
            const motley_image *const image = &wanted[v].image[i];
            const size_t at = (size_t)((uint8_t *)image->data - (uint8_t *)host[v]);
            const size_t used =
                (size_t)(image->channel_stride > image->row_stride ? image->channel_stride * made[v].batch.channels
                                                                   : image->row_stride * image->height);
            if (memcmp(back + at, (uint8_t *)host[v] + at, used) != 0 && failures++ < 10)
                printf("%s, epoch %u, view '%s', result %zu of image %zu differs\n", name, epoch,
                       motley_policy_view(plain, v)->name, i / COUNT, i % COUNT);
            compared += (long)used;
        }
        free(back);
        free(host[v]);
        motley_memory_destroy(context, memory[v]);
    }
    free(pixels);
    motley_memory_destroy(context, source);
    motley_memory_destroy(context, device_levels);
    motley_policy_destroy(plain);
}

int main(int argc, char **argv)
{
    motley_error error;
    context = open_on(backend_of(argc, argv), 0, argc > 2);
    cpu = open_on(MOTLEY_BACKEND_CPU, 1, 1);
    size_t files = 0;
    for (size_t i = 0; i < input_builtins(true) + TEXTS; i++) {
        const bool text = i >= input_builtins(true);
        const char *const given = text ? texts[i - input_builtins(true)] : input_builtin(true, i)->name;
        motley_policy *policy;
        need((text ? motley_policy_parse(given, strlen(given), NULL, &policy, &error)
                   : motley_policy_builtin(given, &policy, &error)) == MOTLEY_OK,
             error.message);
        for (uint32_t epoch = 0; motley_policy_describe(policy)->views && epoch < 6; epoch += 3) {
            check_file(policy, given, epoch, 3);
            if (motley_policy_describe(policy)->to_rgb)
                check_file(policy, given, epoch, 1);
            files += epoch == 0;
        }
        motley_policy_destroy(policy);
    }
    need(files >= 16 + TEXTS, "built-in files with views are missing");
    motley_context_destroy(context);
    motley_context_destroy(cpu);
    printf("%s: %zu files, %ld bytes compared, %d failures\n", argv[1], files, compared, failures);
    return failures > 0;
}
