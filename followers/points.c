/* SPDX-License-Identifier: Apache-2.0 */
/* Keypoints move by the inverse of each step's matrix. */
#include "base/error.h"
#include "followers/matrix.h"
#include "followers/moves.h"

#include <math.h>

/* Moves one point of image i; `number` is the point's index in the image. */
static motley_status follow_point(const mot_geometry *steps, int32_t count, const motley_drawn *drawn, size_t i,
                                  size_t number, motley_convention convention, int single, double at[2], uint8_t *flags,
                                  motley_error *error)
{
    const double centre = convention == MOTLEY_INDEX ? 0.5 : 0;
    double x = at[0] + centre, y = at[1] + centre;
    MOT_REQUIRE(isfinite(x) && isfinite(y), error, "image %zu, point %zu is (%g, %g), want finite numbers", i, number,
                at[0], at[1]);
    const uint8_t flag = mot_follow_point(steps, count, drawn->widths[i], drawn->heights[i], convention, &x, &y);
    MOT_REQUIRE(isfinite(mot_stored(x, single)) && isfinite(mot_stored(y, single)), error,
                "image %zu, point %zu is (%g, %g) and moves past what a %s holds", i, number, at[0], at[1],
                single ? "float" : "double");
    at[0] = x - centre;
    at[1] = y - centre;
    if (flags)
        *flags = flag;
    return MOTLEY_OK;
}

motley_status mot_follow_points(const motley_drawn *drawn, motley_convention convention, int single,
                                const size_t *offsets, double *points, uint8_t *flags, mot_kept *scratch,
                                motley_error *error)
{
    MOT_REQUIRE(convention == MOTLEY_CONTINUOUS || convention == MOTLEY_INDEX, error,
                "convention is %d, want continuous (0) or index (1)", (int)convention);
    MOT_REQUIRE(offsets, error, "offsets is NULL, want where each image's points begin");
    MOT_TRY(mot_drawn_check(drawn, offsets, points, "points", error));
    if (drawn->count == 0)
        return MOTLEY_OK;
    MOT_TRY(mot_keep(scratch, MOT_GEOMETRIES(drawn) * sizeof(mot_geometry), drawn->count, error));
    mot_geometry *const steps = scratch->memory;
    for (size_t i = 0; i < drawn->count; i++) {
        int32_t count;
        MOT_TRY(mot_geometry_of_image(drawn, i, steps, &count, error));
        for (size_t p = offsets[i]; p < offsets[i + 1]; p++)
            MOT_TRY(follow_point(steps, count, drawn, i, p - offsets[i], convention, single, &points[2 * p],
                                 flags ? &flags[p] : NULL, error));
    }
    return MOTLEY_OK;
}
