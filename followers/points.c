/* SPDX-License-Identifier: Apache-2.0 */
/* motley_follow_points: keypoints move by the inverse of each step's matrix. */
#include "base/error.h"
#include "followers/matrix.h"

#include <math.h>
#include <stdlib.h>

/* Moves one point through the steps of its image, in continuous coordinates; returns its flags. */
static uint8_t follow(const mot_geometry *steps, int32_t count, int32_t width, int32_t height, double *x, double *y)
{
    uint8_t flags = MOTLEY_POINT_INSIDE | MOTLEY_POINT_UNERASED;
    double det = 1;
    for (int32_t s = 0;; s++) {
        if (!(*x >= 0 && *x < width && *y >= 0 && *y < height))
            flags &= (uint8_t)~MOTLEY_POINT_INSIDE;
        if (s == count)
            break;
        const mot_geometry *g = &steps[s];
        width = g->width;
        height = g->height;
        if (g->kind == MOT_MOVES) {
            mot_move(g->inverse, *x, *y, x, y);
            det *= g->a[0] * g->a[4] - g->a[1] * g->a[3] < 0 ? -1 : 1;
        } else if (g->kind == MOT_ERASES && *x >= g->rect.x0 && *x < g->rect.x1 && *y >= g->rect.y0 &&
                   *y < g->rect.y1) {
            flags &= (uint8_t)~MOTLEY_POINT_UNERASED;
        }
    }
    return det < 0 ? flags | MOTLEY_POINT_MIRRORED : flags;
}

motley_status motley_follow_points(const motley_drawn *drawn, motley_convention convention, const size_t *offsets,
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
            const uint8_t flag = follow(steps, count, drawn->widths[i], drawn->heights[i], &x, &y);
            points[2 * p] = x - centre;
            points[2 * p + 1] = y - centre;
            if (flags)
                flags[p] = flag;
        }
    }
    free(steps);
    return status;
}
