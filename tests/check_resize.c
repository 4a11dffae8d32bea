/* SPDX-License-Identifier: Apache-2.0 */
/* Resize on every set of CPU kernels against the reference: filters, orders, boxes, mirrors, channels with and without
 * alpha, layouts and sizes drawn at random; the reference against what it makes of each band as a grey image. One
 * differing bit, or one byte read or written outside (under a sanitizer), fails.
 *
 *     check_resize [CASES [FIRST]] */
#include "kernels/cpu.h"
#include "tests/inputs.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEED 20250801u

static mot_view view_of(const input_buffer *b, int alpha)
{
    return (mot_view){ b->image.data, b->image.width,      b->image.height,       b->channels,
                       alpha,         b->image.row_stride, b->image.pixel_stride, b->image.channel_stride };
}

static input_buffer buffer(input_layout layout, input_size size, int channels)
{
    input_buffer b;
    if (!input_buffer_make(&b, layout, size, channels)) {
        fprintf(stderr, "check_resize: no memory\n");
        exit(2);
    }
    return b;
}

static int32_t side(uint64_t *state)
{
    static const int32_t most[] = { 4, 20, 70, 70, 300 };
    return 1 + (int32_t)(input_random(state) % (uint64_t)most[input_random(state) % 5]);
}

/* A range of a side: all of it, whole pixels, or any numbers. */
static void draw_box(uint64_t *state, int32_t side_px, float *from, float *to)
{
    const int kind = (int)(input_random(state) % 3);
    *from = 0;
    *to = (float)side_px;
    if (kind == 0)
        return;
    const double a = input_between(state, 0, side_px), b = input_between(state, 0, side_px);
    *from = (float)(a < b ? a : b);
    *to = (float)(a < b ? b : a);
    if (kind == 1) {
        *from = floorf(*from);
        *to = ceilf(*to);
    }
    if (*to <= *from)
        *to = *from + 0.25f > (float)side_px ? *from = 0, (float)side_px : *from + 0.25f;
}

static void run(const mot_cpu_rows *set, const mot_view *src, const mot_view *dst, const mot_resize *how)
{
    const size_t bytes = set->resize_scratch(src->width, src->height, dst->width, dst->height, src->channels);
    uint8_t *scratch = aligned_alloc(MOT_CPU_ALIGN, (bytes + MOT_CPU_ALIGN - 1) / MOT_CPU_ALIGN * MOT_CPU_ALIGN);
    if (!scratch) {
        fprintf(stderr, "check_resize: no memory\n");
        exit(2);
    }
    memset(scratch, 0x5A, bytes);
    set->resize(src, dst, how, scratch);
    free(scratch);
}

/* The reference, of bands one by one. */
static void run_reference(const mot_view *src, const mot_view *dst, const mot_resize *how)
{
    const int bands = src->channels % 2 == 0 && !src->alpha ? src->channels : 1;
    for (int b = 0; b < bands; b++) {
        mot_view from = *src, to = *dst;
        from.data += b * from.channel;
        to.data += b * to.channel;
        from.channels = to.channels = src->channels / bands;
        run(&mot_rows_reference, &from, &to, how);
    }
}

static int check_case(uint64_t number, const mot_cpu_rows *const *sets, size_t sets_count)
{
    uint64_t state = SEED + number * 977;
    const int channels = 1 + (int)(input_random(&state) % 4), alpha = channels % 2 == 0 && number % 2 == 0;
    input_size in = { side(&state), side(&state) };
    if (number % 11 == 0) /* over 100 times as high as wide */
        in = (input_size){ 1 + in.width % 3, 301 + in.height % 100 };
    input_size out = { side(&state), side(&state) };
    if (number % 5 == 0)
        out.width = in.width;
    if (number % 7 == 0)
        out.height = in.height;
    mot_resize how = { .filter = (motley_filter)(number % 6),
                       .order = (motley_resize_order)(number / 6 % 3),
                       .flip = (int)(input_random(&state) % 2) };
    draw_box(&state, in.width, &how.box[0], &how.box[2]);
    draw_box(&state, in.height, &how.box[1], &how.box[3]);
    const input_layout from = (input_layout)(input_random(&state) % INPUT_LAYOUTS);
    const input_layout to = (input_layout)(input_random(&state) % INPUT_LAYOUTS);
    input_buffer src = buffer(from, in, channels), want = buffer(to, out, channels);
    uint8_t *dense = malloc((size_t)in.width * (size_t)in.height * (size_t)channels);
    if (!dense)
        exit(2);
    input_fill((input_kind)(number % INPUT_KINDS), state, in, channels, dense);
    input_buffer_set(&src, dense);
    const mot_view source = view_of(&src, alpha), wanted = view_of(&want, alpha);
    run_reference(&source, &wanted, &how);
    int failures = 0;
    for (size_t set = 0; set < sets_count; set++) {
        input_buffer got = buffer(to, out, channels);
        const mot_view target = view_of(&got, alpha);
        run(sets[set], &source, &target, &how);
        for (size_t at = 0; at < got.size && !failures; at++)
            if (got.bytes[at] != want.bytes[at]) {
                fprintf(
                    stderr,
                    "resize, set %s: %dx%dx%d%s %s to %dx%d %s, filter %d, order %d, flip %d, box (%g, %g, %g, %g): "
                    "byte %zu is %d, want %d\n  again: check_resize 1 %llu\n",
                    sets[set]->name, in.width, in.height, channels, alpha ? " with alpha" : "",
                    input_layout_names[from], out.width, out.height, input_layout_names[to], (int)how.filter,
                    (int)how.order, how.flip, (double)how.box[0], (double)how.box[1], (double)how.box[2],
                    (double)how.box[3], at, got.bytes[at], want.bytes[at], (unsigned long long)number);
                failures++;
            }
        free(got.bytes);
    }
    free(dense);
    free(src.bytes);
    free(want.bytes);
    return failures;
}

/* Images at the beginning and end of mapped memory, so that a read outside of it ends the program. Distant rows, and
 * rows in reverse order, have other ends. */
static int check_edges(const mot_cpu_rows *set)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = 4 * page;
    uint8_t *const memory = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + page, room, PROT_READ | PROT_WRITE) != 0) {
        fprintf(stderr, "check_resize: no memory\n");
        exit(2);
    }
    int failures = 0;
    for (int n = 0; n < 2 * 2 * 5 * 40; n++) {
        const int end = n % 2, upwards = n / 2 % 2, kind = n / 4 % 5, width = 1 + n / 20;
        const int channels = kind < 4 ? kind + 1 : 3, pixel = kind < 4 ? channels : 4, height = 3 + n % 7;
        const int64_t row = width * pixel;
        const int alpha = channels % 2 == 0 && n / 40 % 2;
        const size_t bytes = (size_t)(row * (height - 1) + (width - 1) * pixel + channels);
        uint8_t *const image = memory + page + (end ? room - bytes : 0);
        for (size_t i = 0; i < bytes; i++)
            image[i] = (uint8_t)(i * 37);
        const mot_view src = {
            upwards ? image + row * (height - 1) : image, width, height, channels, alpha, upwards ? -row : row, pixel, 1
        };
        uint8_t made[2][16 * 8 * 4];
        const mot_resize how = { .filter = n % 3 == 0 ? MOTLEY_FILTER_LANCZOS : MOTLEY_FILTER_BILINEAR,
                                 .box = { 0, 0, (float)width, (float)height } };
        for (int k = 0; k < 2; k++) {
            const mot_view dst = { made[k], 16, 2 + n % 7, channels, alpha, 16 * channels, channels, 1 };
            run(k ? set : &mot_rows_reference, &src, &dst, &how);
        }
        failures += memcmp(made[0], made[1], (size_t)(16 * (2 + n % 7) * channels)) != 0;
    }
    munmap(memory, room + 2 * page);
    if (failures)
        printf("resize, set %s: %d images at the ends of memory differ\n", set->name, failures);
    return failures;
}

int main(int argc, char **argv)
{
    const unsigned long long count = argc > 1 ? strtoull(argv[1], NULL, 10) : 6000;
    const unsigned long long first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    const mot_cpu_rows *sets[MOT_CPU_SETS];
    const size_t sets_count = mot_cpu_sets(sets);
    int failures = 0;
    for (unsigned long long i = first; i < first + count && failures < 20; i++)
        failures += check_case(i, sets, sets_count);
    for (size_t set = 0; set < sets_count; set++)
        failures += check_edges(sets[set]);
    printf("%llu cases on %zu sets of kernels, %d failures\n", count, sets_count, failures);
    return failures > 0;
}
