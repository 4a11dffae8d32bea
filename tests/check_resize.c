/* SPDX-License-Identifier: Apache-2.0 */
/* Resize on every set of CPU kernels against the reference: filters, orders, boxes, mirrors, channels with and without
 * alpha, layouts, sizes, pictures that reach beyond the source, and windows of the result, drawn at random; the
 * reference against what it makes of each band as a grey image, and of the picture and its result built whole. One
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
    const size_t bytes =
        set->resize_scratch(how->width, how->height, how->resized_width, how->resized_height, src->channels);
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
        mot_resize of_band = *how;
        of_band.fill[0] = how->fill[b];
        if (bands == 1)
            of_band = *how;
        run(&mot_rows_reference, &from, &to, &of_band);
    }
}

static uint8_t *at(const mot_view *view, int x, int y, int c)
{
    return view->data + y * view->row + x * view->pixel + c * view->channel;
}

static mot_view dense(int width, int height, const mot_view *like)
{
    mot_view view = *like;
    view.width = width;
    view.height = height;
    view.channel = 1;
    view.pixel = like->channels;
    view.row = view.pixel * width;
    view.data = malloc((size_t)view.row * (size_t)height);
    if (!view.data)
        exit(2);
    return view;
}

/* Copies the rectangle of `from` that begins at (left, top); what is outside is the fill. */
static void window(const mot_view *from, int left, int top, const uint8_t *fill, const mot_view *to)
{
    for (int y = 0; y < to->height; y++)
        for (int x = 0; x < to->width; x++)
            for (int c = 0; c < to->channels; c++) {
                const int column = x + left, row = y + top;
                const int inside = column >= 0 && row >= 0 && column < from->width && row < from->height;
                *at(to, x, y, c) = inside ? *at(from, column, row, c) : fill[c];
            }
}

/* The same with nothing but whole images: the picture is built, all of it resized, and then the window is taken. The
 * fill's alpha is 255, which no resize changes. */
static void run_built(const mot_view *src, const mot_view *dst, const mot_resize *how)
{
    const mot_view picture = dense(how->width, how->height, src);
    const mot_view resized = dense(how->resized_width, how->resized_height, src);
    mot_resize all = mot_resize_of(how->filter, how->order, how->width, how->height, resized.width, resized.height);
    memcpy(all.box, how->box, sizeof all.box);
    window(src, how->left, how->top, how->fill, &picture);
    run_reference(&picture, &resized, &all);
    mot_view to = *dst;
    if (how->flip_horizontal)
        to.data += (to.width - 1) * to.pixel, to.pixel = -to.pixel;
    if (how->flip_vertical)
        to.data += (to.height - 1) * to.row, to.row = -to.row;
    window(&resized, how->window_left, how->window_top, how->fill, &to);
    free(picture.data);
    free(resized.data);
}

/* A part of a side, or of more than it: where it begins, and how long it is. */
static void draw_part(uint64_t *state, int32_t side_px, int32_t *first, int32_t *length)
{
    const int kind = (int)(input_random(state) % 4);
    *first = kind ? -(int32_t)(input_random(state) % (uint64_t)(side_px + 1)) : 0;
    *length = kind ? side_px - *first + (int32_t)(input_random(state) % (uint64_t)(side_px + 1)) : side_px;
    if (kind == 2) { /* it lies on one of the ends */
        *first = (int32_t)(input_random(state) % (uint64_t)side_px);
        *length = 1 + (int32_t)(input_random(state) % (uint64_t)(2 * side_px));
    } else if (kind == 3 && *length > 3) { /* or before it */
        *length = 1 + (int32_t)(input_random(state) % (uint64_t)*length);
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
    mot_resize how = mot_resize_of((motley_filter)(number % 6), (motley_resize_order)(number / 6 % 3), in.width,
                                   in.height, out.width, out.height);
    how.flip_horizontal = (uint8_t)(input_random(&state) % 2);
    const int part = number % 3 == 1, windows = number % 4 == 1;
    if (part) {
        draw_part(&state, in.width, &how.left, &how.width);
        draw_part(&state, in.height, &how.top, &how.height);
        how.flip_vertical = (uint8_t)(input_random(&state) % 2);
        if (number % 15 == 4) /* nothing is resampled */
            out = (input_size){ how.resized_width = how.width, how.resized_height = how.height };
    }
    for (int c = 0; c < channels && (part || windows); c++)
        how.fill[c] = alpha && c == channels - 1 ? 255 : (uint8_t)input_random(&state);
    draw_box(&state, how.width, &how.box[0], &how.box[2]);
    draw_box(&state, how.height, &how.box[1], &how.box[3]);
    if (windows) {
        draw_part(&state, how.resized_width, &how.window_left, &out.width);
        draw_part(&state, how.resized_height, &how.window_top, &out.height);
    }
    const input_layout from = (input_layout)(input_random(&state) % INPUT_LAYOUTS);
    const input_layout to = (input_layout)(input_random(&state) % INPUT_LAYOUTS);
    input_buffer src = buffer(from, in, channels), want = buffer(to, out, channels);
    uint8_t *dense = malloc((size_t)in.width * (size_t)in.height * (size_t)channels);
    if (!dense)
        exit(2);
    input_fill((input_kind)(number % INPUT_KINDS), state, in, channels, dense);
    input_buffer_set(&src, dense);
    const mot_view source = view_of(&src, alpha), wanted = view_of(&want, alpha);
    int failures = 0;
    run_built(&source, &wanted, &how);
    for (size_t set = 0; set <= sets_count; set++) {
        input_buffer got = buffer(to, out, channels);
        const mot_view target = view_of(&got, alpha);
        const mot_cpu_rows *const rows = set < sets_count ? sets[set] : &mot_rows_reference;
        if (set < sets_count)
            run(rows, &source, &target, &how);
        else
            run_reference(&source, &target, &how);
        for (size_t at = 0; at < got.size && !failures; at++)
            if (got.bytes[at] != want.bytes[at]) {
                fprintf(
                    stderr,
                    "resize, set %s: %dx%dx%d%s %s to %dx%d %s, filter %d, order %d, flip %d %d, box (%g, %g, %g, %g) "
                    "of %dx%d at (%d, %d), resized to %dx%d, window at (%d, %d): byte %zu is %d, want %d\n"
                    "  again: check_resize 1 %llu\n",
                    rows->name, in.width, in.height, channels, alpha ? " with alpha" : "", input_layout_names[from],
                    out.width, out.height, input_layout_names[to], (int)how.filter, (int)how.order, how.flip_horizontal,
                    how.flip_vertical, (double)how.box[0], (double)how.box[1], (double)how.box[2], (double)how.box[3],
                    how.width, how.height, how.left, how.top, how.resized_width, how.resized_height, how.window_left,
                    how.window_top, at, got.bytes[at], want.bytes[at], (unsigned long long)number);
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
        const mot_resize how = mot_resize_of(n % 3 == 0 ? MOTLEY_FILTER_LANCZOS : MOTLEY_FILTER_BILINEAR,
                                             MOTLEY_ORDER_PILLOW_13, width, height, 16, 2 + n % 7);
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
