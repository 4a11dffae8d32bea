/* SPDX-License-Identifier: Apache-2.0 */
/* See matrix.h. */
#include "followers/matrix.h"

#include "augmentations/table.h"
#include "base/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

motley_status mot_geometry_of(const motley_step *step, int32_t width, int32_t height, mot_geometry *out,
                              motley_error *error)
{
    *out = (mot_geometry){ .kind = MOT_STAYS, .width = width, .height = height };
    const motley_op_info *info = mot_step_info(step->op);
    if (step->op >= MOT_OP_COUNT)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "it is custom op %d, and where that moves pixels is not known: nothing can follow it",
                        step->op);
    MOT_REQUIRE(info, error, "op is %d, want 0 to %d", step->op, MOT_OP_COUNT - 1);
    if (info->shape == MOTLEY_SHAPE_MIX)
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                        "it is %s, and each chain that is mixed may move pixels elsewhere: nothing can follow it",
                        info->name);
    MOT_TRY(mot_check_values_count(info, step->values_count, error));
    for (int i = 0; i < step->values_count; i++)
        MOT_REQUIRE(isfinite(step->values[i]) || info->shape == MOTLEY_SHAPE_ERASE, error,
                    "%s has the value %g, want a finite number", info->name, step->values[i]);
    if (info->shape != MOTLEY_SHAPE_WARP && info->shape != MOTLEY_SHAPE_ERASE)
        return MOTLEY_OK;
    const int32_t *at = step->inside;
    const int inside = at[0] | at[1] | at[2] | at[3];
    MOT_REQUIRE(!inside ||
                    (at[0] >= 0 && at[1] >= 0 && at[0] < at[2] && at[1] < at[3] && at[2] <= width && at[3] <= height),
                error, "%s works inside (%d, %d, %d, %d), want a part of the image of %d x %d", info->name, at[0],
                at[1], at[2], at[3], width, height);
    mot_arg arg = { 0 };
    mot_op_prepare(step->op, step->values, step->values_count, &arg);
    MOT_REQUIRE(mot_set_step(out, step->op, &arg, inside ? at[2] - at[0] : width, inside ? at[3] - at[1] : height),
                error, "the matrix of %s has no inverse, so nothing can follow it", info->name);
    if (inside)
        mot_set_inside(out, (mot_rect){ at[0], at[1], at[2], at[3] }, width, height);
    return MOTLEY_OK;
}

motley_status mot_drawn_check(const motley_drawn *drawn, const size_t *offsets, const void *values, const char *what,
                              motley_error *error)
{
    MOT_REQUIRE(drawn, error, "drawn is NULL, want the draws of a batch");
    MOT_TRY(mot_check_count("drawn->count", drawn->count, error));
    MOT_TRY(mot_check_array("drawn->max_steps", drawn->max_steps,
                            mot_times(drawn->count + 1, sizeof(mot_geometry) + sizeof(mot_trace_step)), error));
    MOT_REQUIRE(drawn->count == 0 || (drawn->step_counts && drawn->widths && drawn->heights), error,
                "%s is NULL, want an array of %zu images",
                !drawn->step_counts ? "drawn->step_counts"
                : !drawn->widths    ? "drawn->widths"
                                    : "drawn->heights",
                drawn->count);
    for (size_t i = 0; i < drawn->count; i++) {
        MOT_TRY(mot_fail_in(error, mot_check_size(drawn->widths[i], drawn->heights[i], error), "image %zu: ", i));
        MOT_REQUIRE(drawn->step_counts[i] >= 0 && (size_t)drawn->step_counts[i] <= drawn->max_steps, error,
                    "image %zu has %d steps, want 0 to %zu", i, drawn->step_counts[i], drawn->max_steps);
        MOT_REQUIRE(drawn->step_counts[i] == 0 || drawn->steps, error,
                    "drawn->steps is NULL, but image %zu has %d steps", i, drawn->step_counts[i]);
        MOT_REQUIRE(!offsets || offsets[i] <= offsets[i + 1], error,
                    "offsets of %s fall from %zu to %zu after image %zu, want them to rise", what, offsets[i],
                    offsets[i + 1], i);
    }
    MOT_REQUIRE(!offsets || offsets[0] == 0, error, "offsets of %s begin at %zu, want 0", what, offsets[0]);
    const size_t wanted = !drawn->count ? 0 : offsets ? offsets[drawn->count] : drawn->count;
    MOT_REQUIRE(values || wanted == 0, error, "%s is NULL, want %zu of them", what, wanted);
    return MOTLEY_OK;
}

motley_status mot_geometry_of_place(const motley_drawn *drawn, size_t i, mot_geometry out[MOT_GEOMETRIES_OF_RESIZES],
                                    int32_t *count, int32_t *width, int32_t *height, motley_error *error)
{
    const motley_place *const d = &drawn->places[i];
    const int32_t from[2] = { drawn->widths[i], drawn->heights[i] };
    MOT_TRY(mot_check_place(d, i, from, MOTLEY_MAX_ERASED_BOXES, error));
    const motley_place first = mot_first_place(d, from[0], from[1]), last = mot_last_place(d);
    *count = mot_moves_of_places(&last);
    mot_set_places(out, &first, &last);
    *width = d->result_width;
    *height = d->result_height;
    return MOTLEY_OK;
}

motley_status mot_geometry_of_image(const motley_drawn *drawn, size_t i, mot_geometry *out, int32_t *count,
                                    motley_error *error)
{
    int32_t width = drawn->widths[i], height = drawn->heights[i];
    *count = 0;
    if (drawn->places)
        MOT_TRY(mot_geometry_of_place(drawn, i, out, count, &width, &height, error));
    for (int32_t s = 0; s < drawn->step_counts[i]; s++) {
        const motley_step *const step = &drawn->steps[i * drawn->max_steps + (size_t)s];
        MOT_TRY(mot_fail_in(error, mot_geometry_of(step, width, height, &out[*count], error), "image %zu, step %d: ", i,
                            s));
        *count += out[*count].kind != MOT_STAYS;
    }
    for (int32_t b = 0; drawn->places && b < drawn->places[i].boxes_count; b++)
        mot_set_erased(&out[(*count)++], &drawn->places[i].boxes[b], width, height);
    return MOTLEY_OK;
}

motley_status mot_follow_matrices(const motley_drawn *drawn, double *matrices, mot_kept *scratch, motley_error *error)
{
    MOT_TRY(mot_drawn_check(drawn, NULL, matrices, "matrices", error));
    if (drawn->count == 0)
        return MOTLEY_OK;
    MOT_TRY(mot_keep(scratch, MOT_GEOMETRIES(drawn) * sizeof(mot_geometry), drawn->count, error));
    mot_geometry *const steps = scratch->memory;
    for (size_t i = 0; i < drawn->count; i++) {
        int32_t count;
        MOT_TRY(mot_geometry_of_image(drawn, i, steps, &count, error));
        mot_matrix_of(steps, count, &matrices[6 * i]);
    }
    return MOTLEY_OK;
}
