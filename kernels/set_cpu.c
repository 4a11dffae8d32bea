/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's fast kernels as one table. Compiled once for each instruction set: MOT_SET is its name. */
#include "kernels/warp_cpu.h"

#include "kernels/between_cpu.h"
#include "kernels/blur_cpu.h"
#include "kernels/color_cpu.h"
#include "kernels/erase_cpu.h"
#include "kernels/point_cpu.h"
#include "kernels/stencil_cpu.h"

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
#define ROW(SHAPE, function, ...) BOTH(.shape = MOTLEY_SHAPE_##SHAPE, .run = function, .name = #function, __VA_ARGS__)

/* Costs: picoseconds a pixel of 224x224 RGB on one core of a Xeon of 2.5 GHz, 2026-11. */
static const mot_cpu_row rows[] = {
    ROW(POINT, point_direct, .op = MOT_OP_INVERT, .interpolation = -1, .in_place = 1, .takes_points = 1, .cost = 100),
    ROW(POINT, point_direct, .op = MOT_OP_POSTERIZE, .interpolation = -1, .in_place = 1, .takes_points = 1,
        .cost = 100),
    ROW(POINT, point_direct, .op = MOT_OP_SOLARIZE, .interpolation = -1, .in_place = 1, .takes_points = 1, .cost = 100),
    ROW(POINT, point_direct, .op = MOT_OP_SOLARIZE_ADD, .interpolation = -1, .in_place = 1, .takes_points = 1,
        .cost = 100),
    ROW(POINT, point_by_table, .op = -1, .interpolation = -1, .in_place = 1, .takes_points = 1, .cost = 400),
    ROW(STATS, stats_by_table, .op = -1, .interpolation = -1, .in_place = 1, .takes_points = 1, .cost = 1500),
    ROW(COLOR, color_by_planes, .op = -1, .interpolation = -1, .in_place = 1, .cost = 900),
    ROW(STENCIL, stencil_by_rows, .op = -1, .interpolation = -1, .in_place = 1, .cost = 900),
    ROW(ERASE, erase_fill, .op = -1, .interpolation = -1, .in_place = 1, .cost = 100),
    ROW(BLUR, blur_by_sums, .op = -1, .interpolation = -1, .in_place = 1, .cost = 12000),
    ROW(WARP, warp_nearest, .op = MOT_OP_FLIP_LR, .interpolation = -1, .cost = 500),
    ROW(WARP, warp_nearest, .op = MOT_OP_FLIP_UD, .interpolation = -1, .cost = 200),
    ROW(WARP, warp_nearest, .op = MOT_OP_ROTATE, .interpolation = MOTLEY_NEAREST, .cost = 900),
    ROW(WARP, warp_nearest, .op = -1, .interpolation = MOTLEY_NEAREST, .cost = 300),
    ROW(WARP, warp_between, .op = -1, .interpolation = MOTLEY_BILINEAR, .cost = 6000),
    ROW(WARP, warp_between, .op = -1, .interpolation = MOTLEY_BICUBIC, .cost = 18000),
};
const mot_cpu_rows NAMED(mot_rows_, MOT_SET) = { TEXT(MOT_SET), rows, sizeof rows / sizeof rows[0] };
