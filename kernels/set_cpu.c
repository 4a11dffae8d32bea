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

/* Costs: picoseconds a pixel of 224x224 RGB from src to dst, on one core of a Xeon of 2.5 GHz with AVX-512, 2026-11;
 * for blocks of mixed ops to begin with the heavy ones. */
#define MOVE .interpolation = MOTLEY_NEAREST
#define ANYWAY .interpolation = -1
#define POINTS .interpolation = -1, .in_place = 1, .takes_points = 1
#define STAYS .interpolation = -1, .in_place = 1
static const mot_cpu_row rows[] = {
    ROW(POINT, point_direct, .op = MOT_OP_INVERT, POINTS, .cost = 600),
    ROW(POINT, point_direct, .op = MOT_OP_POSTERIZE, POINTS, .cost = 600),
    ROW(POINT, point_direct, .op = MOT_OP_SOLARIZE, POINTS, .cost = 600),
    ROW(POINT, point_direct, .op = MOT_OP_SOLARIZE_ADD, POINTS, .cost = 900),
    ROW(POINT, point_by_table, .op = -1, POINTS, .cost = 700),
    ROW(STATS, stats_by_table, .op = MOT_OP_EQUALIZE, POINTS, .cost = 2800),
    ROW(STATS, stats_by_table, .op = -1, POINTS, .cost = 1300),
    ROW(COLOR, color_by_planes, .op = -1, STAYS, .cost = 1700),
    ROW(STENCIL, stencil_by_rows, .op = -1, STAYS, .cost = 3200),
    ROW(ERASE, erase_fill, .op = -1, STAYS, .cost = 800),
    ROW(BLUR, blur_by_sums, .op = -1, STAYS, .cost = 22000),
    ROW(WARP, warp_nearest, .op = MOT_OP_FLIP_LR, ANYWAY, .cost = 2200),
    ROW(WARP, warp_nearest, .op = MOT_OP_FLIP_UD, ANYWAY, .cost = 700),
    ROW(WARP, warp_nearest, .op = MOT_OP_ROTATE, MOVE, .cost = 2000),
    ROW(WARP, warp_nearest, .op = MOT_OP_SHEAR_Y, MOVE, .cost = 2000),
    ROW(WARP, warp_nearest, .op = MOT_OP_AFFINE, MOVE, .cost = 1900),
    ROW(WARP, warp_nearest, .op = -1, MOVE, .cost = 700),
    ROW(WARP, warp_between, .op = -1, .interpolation = MOTLEY_BILINEAR, .cost = 10000),
    ROW(WARP, warp_between, .op = -1, .interpolation = MOTLEY_BICUBIC, .cost = 26000),
};
const mot_cpu_rows NAMED(mot_rows_, MOT_SET) = { TEXT(MOT_SET), rows, sizeof rows / sizeof rows[0] };
