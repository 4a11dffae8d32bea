/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's fast kernels as one table. Compiled once for each instruction set: MOT_SET is its name. */
#include "kernels/warp_cpu.h"

#include "kernels/augmix_cpu.h"
#include "kernels/between_cpu.h"
#include "kernels/blur_cpu.h"
#include "kernels/color_cpu.h"
#include "kernels/copy_cpu.h"
#include "kernels/erase_cpu.h"
#include "kernels/filter_cpu.h"
#include "kernels/hue_cpu.h"
#include "kernels/kernel_blur_cpu.h"
#include "kernels/output_cpu.h"
#include "kernels/permute_cpu.h"
#include "kernels/point_cpu.h"
#include "kernels/resize_cpu.h"
#include "kernels/spaced_cpu.h"
#include "kernels/stencil_cpu.h"
#include "kernels/trace_cpu.h"

#define PASTE(a, b) a##b
#define NAMED(a, b) PASTE(a, b)
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* A row for packed pixels and one for planes; the functions tell them apart by the strides. */
#define BOTH(...) \
    { .layout = MOT_LAYOUT_PACKED, __VA_ARGS__ }, \
    { \
        .layout = MOT_LAYOUT_PLANAR, __VA_ARGS__ \
    }
#define RUNS(SHAPE, function) .shape = MOTLEY_SHAPE_##SHAPE, .run = function, .name = #function
#define ROW(SHAPE, function, ...) BOTH(RUNS(SHAPE, function), __VA_ARGS__)
#define PACKED(SHAPE, function) RUNS(SHAPE, function), .layout = MOT_LAYOUT_PACKED
#define SPACED(SHAPE, function) RUNS(SHAPE, function), .layout = MOT_LAYOUT_SPACED

/* A row without a cost has the cost in its op's facts. */
#define POINTS .interpolation = -1, .in_place = 1, .takes_points = 1
#define STAYS .interpolation = -1, .in_place = 1
static const mot_cpu_row rows[] = {
    ROW(POINT, point_direct, .form = MOT_FORM_DIRECT, POINTS),
    ROW(POINT, point_by_table, POINTS),
    ROW(STATS, stats_by_table, POINTS),
    ROW(COLOR, color_blend, .form = MOT_FORM_BLEND, .channels = 3, STAYS),
    { PACKED(COLOR, color_luma), .form = MOT_FORM_LUMA, .channels = 3, STAYS },
    ROW(COLOR, color_by_planes, STAYS),
#ifdef MOT_HAS_VECTORS
    ROW(STENCIL, stencil_sharpen, .form = MOT_FORM_SHARPEN, .channels = 3, STAYS),
    { PACKED(STENCIL, stencil_sharpen), .form = MOT_FORM_SHARPEN, .channels = 1, STAYS },
#endif
#ifdef MOT_HAS_SPACED
    { SPACED(POINT, spaced_points), POINTS },
    { SPACED(STATS, spaced_stats), POINTS },
    { SPACED(COLOR, spaced_blend), .form = MOT_FORM_BLEND, STAYS },
    { SPACED(COLOR, spaced_luma), .form = MOT_FORM_LUMA, STAYS },
#endif
    ROW(STENCIL, stencil_by_rows, STAYS),
    ROW(ERASE, erase_fill, STAYS),
    ROW(BLUR, blur_boxes, .form = MOT_FORM_BOXES, STAYS),
    ROW(FILTER, filter_by_rows, .interpolation = -1),
    ROW(WARP, warp_nearest, .interpolation = MOTLEY_NEAREST),
    ROW(WARP, warp_between, .interpolation = MOTLEY_BILINEAR, .cost = 10000),
    ROW(WARP, warp_between, .interpolation = MOTLEY_BICUBIC, .cost = 26000),
};

mot_cpu_wide NAMED(mot_wide_, MOT_SET); /* wide_cpu.c */
mot_cpu_wide_resize NAMED(mot_wide_resize_, MOT_SET);

/* clang-format off */
const mot_cpu_rows NAMED(mot_rows_, MOT_SET) = { TEXT(MOT_SET), copy_pixels, rows, sizeof rows / sizeof rows[0],
                                                 resize_image, resize_image_scratch, mix_bytes, kernel_blur, hue_pixels,
                                                 permute_pixels, trace_planes, write_output, NAMED(mot_wide_, MOT_SET),
                                                 NAMED(mot_wide_resize_, MOT_SET) };
/* clang-format on */
