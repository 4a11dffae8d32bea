/* SPDX-License-Identifier: Apache-2.0 */
/* See matrix.h. */
#include "followers/matrix.h"

#include "augmentations/table.h"
#include "base/error.h"
#include "kernels/erase.h"
#include "kernels/warp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_SIDE 1048576

motley_status mot_geometry_of(const motley_step *step, int32_t width, int32_t height, const char *where,
                              mot_geometry *out, motley_error *error)
{
    *out = (mot_geometry){ .kind = MOT_STAYS };
    if (step->op >= MOT_OP_COUNT)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "%s is custom op %d, and where it moves pixels is not known: nothing can follow it", where,
                        step->op);
    if (mot_step_info(step->op) && mot_step_info(step->op)->shape == MOTLEY_SHAPE_MIX)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "%s is %s, and each chain that is mixed may move pixels elsewhere: nothing can follow it", where,
                        mot_step_info(step->op)->name);
    MOT_REQUIRE(step->op >= 0, error, "%s has op %d, want 0 to %d", where, step->op, MOT_OP_COUNT - 1);
    const motley_op_info *info = &mot_op_table[step->op].info;
    MOT_REQUIRE(step->values_count >= info->values_min && step->values_count <= info->values_max, error,
                "%s: %s takes %d to %d values, %d are given", where, info->name, info->values_min, info->values_max,
                step->values_count);
    for (int i = 0; i < step->values_count; i++)
        MOT_REQUIRE(isfinite(step->values[i]) || info->shape == MOTLEY_SHAPE_ERASE, error,
                    "%s: %s has the value %g, want a finite number", where, info->name, step->values[i]);
    if (info->shape != MOTLEY_SHAPE_WARP && info->shape != MOTLEY_SHAPE_ERASE)
        return MOTLEY_OK;
    mot_arg arg = { 0 };
    mot_op_prepare(step->op, step->values, step->values_count, &arg);
    if (info->shape == MOTLEY_SHAPE_ERASE) {
        out->kind = MOT_ERASES;
        out->erased = mot_erase_rect(step->op, width, height, &arg);
        return MOTLEY_OK;
    }
    mot_warp warp;
    mot_warp_matrix(step->op, width, height, &arg, &warp);
    const double *a = warp.m, det = a[0] * a[4] - a[1] * a[3];
    MOT_REQUIRE(det != 0 && isfinite(det), error, "%s: the matrix of %s has no inverse, so nothing can follow it", where,
                info->name);
    out->kind = MOT_MOVES;
    memcpy(out->a, a, sizeof out->a);
    const double i0 = a[4] / det, i1 = -a[1] / det, i3 = -a[3] / det, i4 = a[0] / det;
    const double inverse[6] = { i0, i1, -(i0 * a[2] + i1 * a[5]), i3, i4, -(i3 * a[2] + i4 * a[5]) };
    memcpy(out->inverse, inverse, sizeof inverse);
    return MOTLEY_OK;
}

static motley_status check_size(int32_t width, int32_t height, const char *where, motley_error *error)
{
    MOT_REQUIRE(width >= 1 && height >= 1 && width <= MAX_SIDE && height <= MAX_SIDE, error,
                "%s: the size is %d x %d, want 1 to %d each way", where, width, height, MAX_SIDE);
    return MOTLEY_OK;
}

motley_status mot_drawn_check(const motley_drawn *drawn, const size_t *offsets, const void *values, const char *what,
                              motley_error *error)
{
    MOT_REQUIRE(drawn, error, "drawn is NULL, want the draws of a batch");
    MOT_REQUIRE(offsets, error, "offsets is NULL, want where each image's %s begin", what);
    MOT_REQUIRE(drawn->count == 0 || (drawn->step_counts && drawn->widths && drawn->heights), error,
                "%s is NULL, want an array of %zu images",
                !drawn->step_counts ? "drawn->step_counts"
                : !drawn->widths    ? "drawn->widths"
                                    : "drawn->heights",
                drawn->count);
    for (size_t i = 0; i < drawn->count; i++) {
        char where[48];
        snprintf(where, sizeof where, "image %zu", i);
        MOT_TRY(check_size(drawn->widths[i], drawn->heights[i], where, error));
        MOT_REQUIRE(drawn->step_counts[i] >= 0 && (size_t)drawn->step_counts[i] <= drawn->max_steps, error,
                    "image %zu has %d steps, want 0 to %zu", i, drawn->step_counts[i], drawn->max_steps);
        MOT_REQUIRE(drawn->step_counts[i] == 0 || drawn->steps, error, "drawn->steps is NULL, but image %zu has %d steps",
                    i, drawn->step_counts[i]);
        MOT_REQUIRE(offsets[i] <= offsets[i + 1], error, "offsets falls from %zu to %zu after image %zu, want it to rise",
                    offsets[i], offsets[i + 1], i);
    }
    MOT_REQUIRE(drawn->count == 0 || offsets[drawn->count] == offsets[0] || values, error, "%s is NULL, want %zu of them",
                what, offsets[drawn->count]);
    return MOTLEY_OK;
}

motley_status mot_geometry_of_image(const motley_drawn *drawn, size_t i, mot_geometry *out, int32_t *count,
                                    motley_error *error)
{
    *count = 0;
    for (int32_t s = 0; s < drawn->step_counts[i]; s++) {
        char where[64];
        snprintf(where, sizeof where, "image %zu, step %d", i, s);
        MOT_TRY(mot_geometry_of(&drawn->steps[i * drawn->max_steps + (size_t)s], drawn->widths[i], drawn->heights[i],
                                where, &out[*count], error));
        *count += out[*count].kind != MOT_STAYS;
    }
    return MOTLEY_OK;
}

motley_status motley_steps_matrix(const motley_step *steps, int32_t count, int32_t width, int32_t height,
                                  double matrix[6], motley_error *error)
{
    MOT_REQUIRE(matrix, error, "matrix is NULL, want a place for the result");
    MOT_REQUIRE(count >= 0, error, "count is %d, want 0 or more", count);
    MOT_REQUIRE(count == 0 || steps, error, "steps is NULL, want %d of them", count);
    MOT_TRY(check_size(width, height, "the image", error));
    double m[6] = { 1, 0, 0, 0, 1, 0 };
    for (int32_t s = 0; s < count; s++) {
        char where[32];
        mot_geometry g;
        snprintf(where, sizeof where, "step %d", s);
        MOT_TRY(mot_geometry_of(&steps[s], width, height, where, &g, error));
        if (g.kind != MOT_MOVES)
            continue;
        const double *a = g.a; /* a later step reads the earlier steps' output */
        const double next[6] = { m[0] * a[0] + m[1] * a[3], m[0] * a[1] + m[1] * a[4], m[0] * a[2] + m[1] * a[5] + m[2],
                                 m[3] * a[0] + m[4] * a[3], m[3] * a[1] + m[4] * a[4], m[3] * a[2] + m[4] * a[5] + m[5] };
        memcpy(m, next, sizeof m);
    }
    memcpy(matrix, m, sizeof m);
    return MOTLEY_OK;
}
