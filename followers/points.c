/* SPDX-License-Identifier: Apache-2.0 */
/* Keypoints move by the inverse of each step's matrix. */
#include "base/error.h"
#include "followers/matrix.h"
#include "followers/moves.h"

#include <math.h>
#include <stdlib.h>

motley_status mot_follow_points(const motley_drawn *drawn, motley_convention convention, const size_t *offsets,
                                double *points, uint8_t *flags, motley_error *error)
{
    MOT_REQUIRE(convention == MOTLEY_CONTINUOUS || convention == MOTLEY_INDEX, error,
                "convention is %d, want continuous (0) or index (1)", (int)convention);
    MOT_REQUIRE(offsets, error, "offsets is NULL, want where each image's points begin");
    MOT_TRY(mot_drawn_check(drawn, offsets, points, "points", error));
    mot_geometry *steps = malloc(MOT_GEOMETRIES(drawn) * sizeof *steps);
    if (!steps)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the geometry of %zu steps", drawn->max_steps);
    const double centre = convention == MOTLEY_INDEX ? 0.5 : 0;
    motley_status status = MOTLEY_OK;
    for (size_t i = 0; i < drawn->count && status == MOTLEY_OK; i++) {
        int32_t count;
        status = mot_geometry_of_image(drawn, i, steps, &count, error);
        for (size_t p = offsets[i]; p < offsets[i + 1] && status == MOTLEY_OK; p++) {
            double x = points[2 * p] + centre, y = points[2 * p + 1] + centre;
            if (!isfinite(x) || !isfinite(y)) {
                status = mot_fail(error, MOTLEY_ERR_ARGUMENT, "image %zu, point %zu is (%g, %g), want finite numbers",
                                  i, p - offsets[i], points[2 * p], points[2 * p + 1]);
                break;
            }
            const uint8_t flag = mot_follow_point(steps, count, drawn->widths[i], drawn->heights[i], &x, &y);
            points[2 * p] = x - centre;
            points[2 * p + 1] = y - centre;
            if (flags)
                flags[p] = flag;
        }
    }
    free(steps);
    return status;
}
