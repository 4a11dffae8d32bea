/* SPDX-License-Identifier: Apache-2.0 */
/* Resize on every set of CPU kernels against the reference: filters, orders, boxes, mirrors, channels, layouts and
 * sizes drawn at random. One differing bit, or one byte read or written outside (under a sanitizer), fails.
 *
 *     check_resize [CASES [FIRST]] */
#include "kernels/cpu.h"
#include "tests/inputs.h"

#include <stdio.h>

#define SEED 20250801u

static mot_view view_of(const input_buffer *b)
{
    return (mot_view){ b->image.data,       b->image.width,        b->image.height,        b->channels,
                       b->image.row_stride, b->image.pixel_stride, b->image.channel_stride };
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

/* A box edge to edge, of whole pixels, or anywhere. */
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

static int check_case(uint64_t number, const mot_cpu_rows *const *sets, size_t sets_count)
{
    uint64_t state = SEED + number * 977;
    const int channels = 1 + (int)(input_random(&state) % 4);
    const input_size in = { side(&state), side(&state) };
    input_size out = { side(&state), side(&state) };
    if (number % 5 == 0)
        out.width = in.width;
    if (number % 7 == 0)
        out.height = in.height;
    mot_resize how = { .filter = (motley_filter)(number % 6),
                       .order = (motley_resize_order)(number / 6 % 2),
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
    const mot_view source = view_of(&src), wanted = view_of(&want);
    run(&mot_rows_reference, &source, &wanted, &how);
    int failures = 0;
    for (size_t set = 0; set < sets_count; set++) {
        input_buffer got = buffer(to, out, channels);
        const mot_view target = view_of(&got);
        run(sets[set], &source, &target, &how);
        for (size_t at = 0; at < got.size && !failures; at++)
            if (got.bytes[at] != want.bytes[at]) {
                fprintf(stderr,
                        "resize, set %s: %dx%dx%d %s to %dx%d %s, filter %d, order %d, flip %d, box (%g, %g, %g, %g): "
                        "byte %zu is %d, want %d\n  again: check_resize 1 %llu\n",
                        sets[set]->name, in.width, in.height, channels, input_layout_names[from], out.width, out.height,
                        input_layout_names[to], (int)how.filter, (int)how.order, how.flip, (double)how.box[0],
                        (double)how.box[1], (double)how.box[2], (double)how.box[3], at, got.bytes[at], want.bytes[at],
                        (unsigned long long)number);
                failures++;
            }
        free(got.bytes);
    }
    free(dense);
    free(src.bytes);
    free(want.bytes);
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
    printf("%llu cases on %zu sets of kernels, %d failures\n", count, sets_count, failures);
    return failures > 0;
}
