/* SPDX-License-Identifier: Apache-2.0 */
/* motley_follow_boxes: the four corners of a box move like points. Their polygon is clipped to the image after each
 * step, so that no part that left the image returns, and its bounding box is the result. */
#include "base/error.h"
#include "base/params.h"
#include "followers/matrix.h"

#include <math.h>
#include <stdlib.h>

/* A convex polygon. Clipping by four sides adds at most four corners. */
typedef struct polygon {
    int32_t corners;
    double (*at)[2], (*next)[2]; /* [4 + 4 for each clip]; `next` is where a clip writes */
} polygon;

/* Keeps the part of the polygon where sign * (coordinate `axis` - limit) <= 0 (Sutherland, Hodgman 1974). */
static void clip_side(polygon *p, int axis, double sign, double limit)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < p->corners; i++) {
        const double *a = p->at[i], *b = p->at[i + 1 < p->corners ? i + 1 : 0];
        const double out_a = sign * (a[axis] - limit), out_b = sign * (b[axis] - limit);
        if (out_a <= 0) {
            p->next[kept][0] = a[0];
            p->next[kept++][1] = a[1];
        }
        if ((out_a < 0 && out_b > 0) || (out_a > 0 && out_b < 0)) {
            const double t = out_a / (out_a - out_b);
            p->next[kept][axis] = limit;
            p->next[kept][1 - axis] = a[1 - axis] + t * (b[1 - axis] - a[1 - axis]);
            kept++;
        }
    }
    double(*const old)[2] = p->at;
    p->at = p->next;
    p->next = old;
    p->corners = kept;
}

static void clip(polygon *p, double width, double height)
{
    int outside = 0;
    for (int32_t i = 0; i < p->corners; i++)
        outside |= (p->at[i][0] < 0) | (p->at[i][0] > width) | (p->at[i][1] < 0) | (p->at[i][1] > height);
    if (!outside) /* as most are */
        return;
    clip_side(p, 0, -1, 0);
    clip_side(p, 0, 1, width);
    clip_side(p, 1, -1, 0);
    clip_side(p, 1, 1, height);
}

static double area_of(const polygon *p)
{
    double twice = 0;
    for (int32_t i = 0; i < p->corners; i++) {
        const double *a = p->at[i], *b = p->at[i + 1 < p->corners ? i + 1 : 0];
        twice += a[0] * b[1] - b[0] * a[1];
    }
    return fabs(twice) / 2;
}

static void corners_of(polygon *p, const double box[4])
{
    const double corner[4][2] = { { box[0], box[1] }, { box[2], box[1] }, { box[2], box[3] }, { box[0], box[3] } };
    for (int i = 0; i < 4; i++) {
        p->at[i][0] = corner[i][0];
        p->at[i][1] = corner[i][1];
    }
    p->corners = 4;
}

/* The bounding box of the polygon; an empty polygon gives an empty box at the image's origin. */
static void box_of(const polygon *p, double box[4])
{
    for (int i = 0; i < 4; i++)
        box[i] = p->corners ? p->at[0][i & 1] : 0;
    for (int32_t i = 1; i < p->corners; i++)
        for (int axis = 0; axis < 2; axis++) { /* not fmin and fmax, which are calls for the sake of NaN */
            const double at = p->at[i][axis];
            box[axis] = at < box[axis] ? at : box[axis];
            box[2 + axis] = at > box[2 + axis] ? at : box[2 + axis];
        }
}

/* Moves one box through the steps of its image; box is left, top, right, bottom. Returns the share of it that
 * remains. */
static double follow(polygon *p, const mot_geometry *steps, int32_t count, double width, double height, int boxed,
                     double box[4])
{
    double whole = (box[2] - box[0]) * (box[3] - box[1]); /* the area that the whole box would have */
    corners_of(p, box);
    if (!boxed)
        clip(p, width, height);
    for (int32_t s = 0; s < count; s++) {
        const double *m = steps[s].inverse;
        if (steps[s].kind != MOT_MOVES)
            continue;
        for (int32_t i = 0; i < p->corners; i++)
            mot_move(m, p->at[i][0], p->at[i][1], &p->at[i][0], &p->at[i][1]);
        whole *= fabs(m[0] * m[4] - m[1] * m[3]);
        if (boxed) {
            box_of(p, box);
            for (int i = 0; i < 4; i++)
                box[i] = fmin(fmax(box[i], 0), i & 1 ? steps[s].height : steps[s].width);
            corners_of(p, box);
        } else {
            clip(p, steps[s].width, steps[s].height);
        }
    }
    const double left = area_of(p);
    box_of(p, box);
    return whole > 0 ? fmin(left / whole, 1) : 0;
}

/* Converts the caller's format to left, top, right, bottom, and back. */
static void read_box(motley_box_format format, const double in[4], double box[4])
{
    const double half_w = format == MOTLEY_CXCYWH ? in[2] / 2 : 0, half_h = format == MOTLEY_CXCYWH ? in[3] / 2 : 0;
    box[0] = in[0] - half_w;
    box[1] = in[1] - half_h;
    box[2] = format == MOTLEY_XYXY ? in[2] : box[0] + in[2];
    box[3] = format == MOTLEY_XYXY ? in[3] : box[1] + in[3];
}

static void write_box(motley_box_format format, const double box[4], double out[4])
{
    const double w = box[2] - box[0], h = box[3] - box[1];
    out[0] = format == MOTLEY_CXCYWH ? box[0] + w / 2 : box[0];
    out[1] = format == MOTLEY_CXCYWH ? box[1] + h / 2 : box[1];
    out[2] = format == MOTLEY_XYXY ? box[2] : w;
    out[3] = format == MOTLEY_XYXY ? box[3] : h;
}

static motley_status check_params(const motley_box_params *p, motley_error *error)
{
    MOT_REQUIRE((unsigned)p->format <= MOTLEY_CXCYWH, error, "format is %d, want XYXY (0), XYWH (1) or CXCYWH (2)",
                (int)p->format);
    MOT_REQUIRE(p->min_area >= 0 && isfinite(p->min_area), error, "min_area is %g, want 0 or more", p->min_area);
    MOT_REQUIRE(p->min_side >= 0 && isfinite(p->min_side), error, "min_side is %g, want 0 or more", p->min_side);
    MOT_REQUIRE(p->min_visibility >= 0 && p->min_visibility <= 1, error, "min_visibility is %g, want 0 to 1",
                p->min_visibility);
    return MOTLEY_OK;
}

/* Moves one box of image i; errors call it box `number`. */
static motley_status follow_box(polygon *p, const mot_geometry *steps, int32_t count, const motley_drawn *drawn,
                                size_t i, size_t number, const motley_box_params *params, double *in,
                                double *visibility, uint8_t *keep, motley_error *error)
{
    double box[4];
    read_box(params->format, in, box);
    for (int k = 0; k < 4; k++)
        MOT_REQUIRE(isfinite(box[k]), error, "image %zu, box %zu has %g, want finite numbers", i, number, in[k]);
    MOT_REQUIRE(box[0] <= box[2] && box[1] <= box[3], error,
                "image %zu, box %zu is (%g, %g, %g, %g) as left, top, right, bottom: want left <= right, top <= bottom",
                i, number, box[0], box[1], box[2], box[3]);
    MOT_REQUIRE(box[0] <= drawn->widths[i] && box[1] <= drawn->heights[i] && box[2] >= 0 && box[3] >= 0, error,
                "image %zu, box %zu is (%g, %g, %g, %g) as left, top, right, bottom, outside its image of %d x %d", i,
                number, box[0], box[1], box[2], box[3], drawn->widths[i], drawn->heights[i]);
    const double seen = follow(p, steps, count, drawn->widths[i], drawn->heights[i], params->torchvision, box);
    const double w = box[2] - box[0], h = box[3] - box[1];
    if (visibility)
        *visibility = seen;
    if (keep)
        *keep = w > 0 && h > 0 && w * h >= params->min_area && w >= params->min_side && h >= params->min_side &&
                seen >= params->min_visibility;
    write_box(params->format, box, in);
    return MOTLEY_OK;
}

motley_status motley_follow_boxes(const motley_drawn *drawn, const motley_box_params *params, const size_t *offsets,
                                  double *boxes, double *visibility, uint8_t *keep, motley_error *error)
{
    MOT_READ_PARAMS(motley_box_params, params, error);
    MOT_TRY(check_params(params, error));
    MOT_REQUIRE(offsets, error, "offsets is NULL, want where each image's boxes begin");
    MOT_TRY(mot_drawn_check(drawn, offsets, boxes, "boxes", error));
    const size_t most = MOT_GEOMETRIES(drawn), corners = 4 + 4 * (most + 1);
    mot_geometry *steps = malloc(most * sizeof *steps);
    double(*room)[2] = malloc(2 * corners * sizeof *room);
    motley_status status = MOTLEY_OK;
    if (!steps || !room)
        status = mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the geometry of %zu steps", drawn->max_steps);
    for (size_t i = 0; i < drawn->count && status == MOTLEY_OK; i++) {
        int32_t count;
        status = mot_geometry_of_image(drawn, i, steps, &count, error);
        for (size_t b = offsets[i]; b < offsets[i + 1] && status == MOTLEY_OK; b++) {
            polygon p = { .at = room, .next = room + corners };
            status = follow_box(&p, steps, count, drawn, i, b - offsets[i], params, &boxes[4 * b],
                                visibility ? &visibility[b] : NULL, keep ? &keep[b] : NULL, error);
        }
    }
    free(room);
    free(steps);
    return status;
}
