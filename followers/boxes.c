/* SPDX-License-Identifier: Apache-2.0 */
/* The four corners of a box move like points. Their polygon is clipped to the image after each
 * step, so that no part that left the image returns, and its bounding box is the result. */
#include "base/error.h"
#include "followers/matrix.h"
#include "followers/moves.h"

#include <float.h>
#include <math.h>

static motley_status check_params(const motley_box_rules *p, motley_error *error)
{
    MOT_REQUIRE((unsigned)p->format <= MOTLEY_CXCYWH, error, "format is %d, want XYXY (0), XYWH (1) or CXCYWH (2)",
                (int)p->format);
    MOT_REQUIRE(p->min_area >= 0 && isfinite(p->min_area), error, "min_area is %g, want 0 or more", p->min_area);
    MOT_REQUIRE(p->min_side >= 0 && isfinite(p->min_side), error, "min_side is %g, want 0 or more", p->min_side);
    MOT_REQUIRE(p->min_visibility >= 0 && p->min_visibility <= 1, error, "min_visibility is %g, want 0 to 1",
                p->min_visibility);
    return MOTLEY_OK;
}

/* Reports what is wrong with a box of image i; `number` is the box's index in the image. */
static motley_status refuse_box(mot_box_fault fault, const motley_drawn *drawn, size_t i, size_t number,
                                const double in[4], const double box[4], motley_error *error)
{
    for (int k = 0; k < 4 && fault == MOT_BOX_NOT_FINITE; k++)
        MOT_REQUIRE(fabs(box[k]) <= FLT_MAX, error, "image %zu, box %zu has %g, want finite numbers up to %g", i,
                    number, isfinite(box[k]) ? box[k] : in[k], FLT_MAX);
    MOT_REQUIRE(
        fault != MOT_BOX_REVERSED, error,
        "image %zu, box %zu is (%g, %g, %g, %g) as left, top, right, bottom: want left <= right and top <= bottom", i,
        number, box[0], box[1], box[2], box[3]);
    return mot_fail(error, MOTLEY_ERR_ARGUMENT,
                    "image %zu, box %zu is (%g, %g, %g, %g) as left, top, right, bottom, outside its image of %d x %d",
                    i, number, box[0], box[1], box[2], box[3], drawn->widths[i], drawn->heights[i]);
}

/* Moves one box of image i. */
static motley_status follow_box(mot_polygon *p, const mot_geometry *steps, int32_t count, const motley_drawn *drawn,
                                size_t i, size_t number, const motley_box_rules *params, int single, double *in,
                                double *visibility, uint8_t *keep, motley_error *error)
{
    double box[4];
    mot_read_box(params->format, in, box);
    const mot_box_fault fault = mot_box_check(box, drawn->widths[i], drawn->heights[i]);
    if (fault != MOT_BOX_GOOD)
        return refuse_box(fault, drawn, i, number, in, box, error);
    int kept;
    const double seen = mot_move_box(p, steps, count, drawn->widths[i], drawn->heights[i], params, single, box, &kept);
    if (visibility)
        *visibility = seen;
    if (keep)
        *keep = (uint8_t)kept;
    mot_write_box(params->format, box, in);
    return MOTLEY_OK;
}

motley_status mot_follow_boxes(const motley_drawn *drawn, const motley_box_rules *params, int single,
                               const size_t *offsets, double *boxes, double *visibility, uint8_t *keep,
                               mot_kept *scratch, motley_error *error)
{
    MOT_TRY(check_params(params, error));
    MOT_REQUIRE(offsets, error, "offsets is NULL, want where each image's boxes begin");
    MOT_TRY(mot_drawn_check(drawn, offsets, boxes, "boxes", error));
    const size_t most = MOT_GEOMETRIES(drawn);
    const int32_t corners = mot_corners_room(drawn->max_steps + MOT_GEOMETRIES_OF_RESIZES);
    if (drawn->count == 0)
        return MOTLEY_OK;
    MOT_TRY(mot_keep(scratch, most * sizeof(mot_geometry) + 4 * (size_t)corners * sizeof(double), drawn->count, error));
    mot_geometry *const steps = scratch->memory;
    double *const room = (double *)(void *)(steps + most);
    for (size_t i = 0; i < drawn->count; i++) {
        int32_t count;
        MOT_TRY(mot_geometry_of_image(drawn, i, steps, &count, error));
        for (size_t b = offsets[i]; b < offsets[i + 1]; b++) {
            mot_polygon p = { .room = corners, .apart = 1, .at = room, .next = room + 2 * corners };
            MOT_TRY(follow_box(&p, steps, count, drawn, i, b - offsets[i], params, single, &boxes[4 * b],
                               visibility ? &visibility[b] : NULL, keep ? &keep[b] : NULL, error));
        }
    }
    return MOTLEY_OK;
}
