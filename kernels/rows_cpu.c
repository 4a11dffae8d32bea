/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel tables of this processor, and the choice of a row. */
#include "augmentations/kernel_blur.h"
#include "augmentations/table.h"
#include "kernels/cpu.h"

#include <string.h>

#ifdef MOT_HAS_SET_AVX2
extern const mot_cpu_rows mot_rows_avx2;
#endif
#ifdef MOT_HAS_SET_AVX512
extern const mot_cpu_rows mot_rows_avx512;
#endif
#ifdef MOT_HAS_SET_AVX512VBMI
extern const mot_cpu_rows mot_rows_avx512vbmi;
#endif
extern const mot_cpu_rows mot_rows_base;

size_t mot_cpu_sets(const mot_cpu_rows *sets[MOT_CPU_SETS])
{
    size_t count = 0;
#if defined(MOT_HAS_SET_AVX512) || defined(MOT_HAS_SET_AVX512VBMI)
    const int avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
#endif
#ifdef MOT_HAS_SET_AVX512VBMI
    if (avx512 && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni"))
        sets[count++] = &mot_rows_avx512vbmi;
#endif
#ifdef MOT_HAS_SET_AVX512
    if (avx512)
        sets[count++] = &mot_rows_avx512;
#endif
#ifdef MOT_HAS_SET_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma"))
        sets[count++] = &mot_rows_avx2;
#endif
    sets[count++] = &mot_rows_base;
    sets[count++] = &mot_rows_reference;
    return count;
}

int mot_cpu_has_layout(const mot_view *view, mot_layouts layout)
{
    switch (layout) {
    case MOT_LAYOUT_PACKED:
        return view->pixel == view->channels && (view->channel == 1 || view->channels == 1);
    case MOT_LAYOUT_PLANAR:
        return view->pixel == 1;
    case MOT_LAYOUT_SPACED:
        return view->pixel == 4 && view->channels == 3 && view->channel == 1;
    default:
        return 1;
    }
}

static int fits(const mot_cpu_row *row, const mot_step *step, const mot_view *src, const mot_view *dst)
{
    const mot_op_row *op = &mot_op_table[step->op];
    const int interpolation = step->arg.flags & MOT_ARG_WHOLE ? MOTLEY_NEAREST : step->interpolation;
    return row->shape == op->info.shape && (row->form == MOT_FORM_ANY || row->form == op->facts.form) &&
           (row->channels == 0 || row->channels == src->channels) &&
           (row->interpolation < 0 || row->interpolation == interpolation) && mot_cpu_has_layout(src, row->layout) &&
           mot_cpu_has_layout(dst, row->layout);
}

const mot_cpu_row *mot_cpu_find(const mot_cpu_rows *set, const mot_step *step, const mot_view *src, const mot_view *dst)
{
    for (size_t i = 0; i < set->count; i++)
        if (fits(&set->rows[i], step, src, dst))
            return &set->rows[i];
    return mot_cpu_find(&mot_rows_reference, step, src, dst);
}

int mot_cpu_cost(const mot_cpu_row *row, const mot_step *step)
{
    return row->cost ? row->cost : mot_op_table[step->op].facts.cost;
}

void mot_cpu_copy(const mot_view *src, const mot_view *dst)
{
    const int packed = mot_cpu_has_layout(src, MOT_LAYOUT_PACKED) && mot_cpu_has_layout(dst, MOT_LAYOUT_PACKED);
    const int planar = mot_cpu_has_layout(src, MOT_LAYOUT_PLANAR) && mot_cpu_has_layout(dst, MOT_LAYOUT_PLANAR);
    for (int y = 0; y < src->height; y++) {
        const uint8_t *from = src->data + y * src->row;
        uint8_t *to = dst->data + y * dst->row;
        if (packed) {
            memcpy(to, from, (size_t)src->width * (size_t)src->channels);
            continue;
        }
        for (int c = 0; c < src->channels; c++) {
            const uint8_t *in = from + c * src->channel;
            uint8_t *out = to + c * dst->channel;
            if (planar)
                memcpy(out, in, (size_t)src->width);
            else
                for (int x = 0; x < src->width; x++)
                    out[x * dst->pixel] = in[x * src->pixel];
        }
    }
}

size_t mot_cpu_kernel_blur_row(int32_t width, int32_t channels)
{
    return (size_t)(width + MOTLEY_MAX_KERNEL + 64) * (size_t)channels; /* a block begins at any component */
}

size_t mot_cpu_kernel_blur_scratch(int32_t width, int32_t channels, int size)
{
    return (size_t)(size + 2) * mot_cpu_kernel_blur_row(width, channels) * sizeof(float); /* + a row, and its bytes */
}

/* The most that any kernel needs. Blur: two strips of sixteen lines in 32 bits, or two of 64 columns of bytes with
 * three more rows at either end, and blocks of 16 rows with as many bytes at their ends. Sharpness: three rows of
 * 16-bit sums in whole vectors. A warp: a row of fill, and runs of two columns or more, 12 bytes each. */
size_t mot_cpu_scratch_bytes(int32_t width, int32_t height, int32_t channels)
{
    const size_t row = (size_t)width * (size_t)channels;
    return 128 * (row > (size_t)height ? row : (size_t)height) + 2048;
}

/* Four images of binary32, of which the reference needs two, or what a resize makes; lines, or the weights of an axis
 * in binary64. */
size_t mot_cpu_wide_scratch(int32_t width, int32_t height, int32_t channels)
{
    const size_t sides = (size_t)width + (size_t)height;
    return (4 * (size_t)width * (size_t)height * (size_t)channels + 64 * (sides + 1)) * sizeof(float);
}

/* Tables of columns and rows, and of bytes that are picked, a number a column; of a fixed step alone, what its warp
 * needs: a row of fill of up to 8 bytes an element, and runs of two columns or more, 12 bytes each. */
size_t mot_cpu_trace_tables(const mot_trace_step *steps, int count)
{
    size_t numbers = 0;
    if (count == 1 && steps->kind == MOT_TRACE_FIXED)
        return 4 * (size_t)steps->width + 6;
    for (int s = 0; s < count; s++)
        if (steps[s].kind == MOT_TRACE_AXES)
            numbers += mot_trace_sides(&steps[s]) + (size_t)(steps[s].part.x1 - steps[s].part.x0);
    return numbers;
}
