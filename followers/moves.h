/* SPDX-License-Identifier: Apache-2.0 */
/* Moves one point or one box of an image. The host and the device compile the same source, so both give equal bits.
 * Functions return what is wrong; callers report it. */
#ifndef MOT_FOLLOWERS_MOVES_H
#define MOT_FOLLOWERS_MOVES_H

#include "augmentations/overlap.h"
#include "kernels/erase.h"
#include "kernels/warp.h"
#include "motley/follow.h"
#include "motley/op.h"

#include <float.h>
#include <math.h>

/* What a step does to positions: nothing, a move by a matrix, an erased rectangle, or a move of positions in a part of
 * the image. A crop is a move, too. */
typedef enum mot_geometry_kind { MOT_STAYS, MOT_MOVES, MOT_ERASES, MOT_MOVES_INSIDE } mot_geometry_kind;

/* A move that a place makes: of whole pixels, by a factor, by a mirror. centred: boxes whose centre is not in the crop
 * are gone. */
enum { MOT_PLACED_NOT, MOT_PLACED_CROP, MOT_PLACED_CENTRED, MOT_PLACED_RESIZE };

typedef struct mot_geometry {
    mot_geometry_kind kind;
    int8_t placed;     /* MOVES: MOT_PLACED_*, of which: */
    int8_t window;     /* it shows a part of what was resized */
    int8_t flip[2];    /* of x and y, 0: it does not mirror, 1: before the resize, 2: last */
    double a[6];       /* MOVES, MOVES_INSIDE: output to input */
    double inverse[6]; /* MOVES, MOVES_INSIDE: input to output, times `divisor` */
    double divisor[2]; /* of x and y, 1 unless it resizes: so that an image's edges become exactly its result's */
    union {            /* all steps of an image lie in a CTA's shared memory */
        mot_rect rect; /* ERASES: what is erased; MOVES_INSIDE: the part; matrices are relative to its corner */
        struct {       /* of x and y, of a place: */
            int32_t offset[2]; /* pixels that the canvas has before the image, or of what is resized, */
            int32_t corner[2]; /* ... and that are cut off before the crop, or the window */
            float scale[2];    /* of the resize */
        };
    };
    int32_t width, height; /* of the image after it, pixels */
} mot_geometry;

/* How many geometries an image has besides its steps: a crop, the resize with window and flips, both again if it is
 * resized twice; and erased boxes. */
#define MOT_GEOMETRIES_OF_RESIZES 4
#define MOT_GEOMETRIES_OF_PLACES (MOT_GEOMETRIES_OF_RESIZES + MOTLEY_MAX_ERASED_BOXES)

MOT_FN int mot_is_finite(double v)
{
    return fabs(v) <= DBL_MAX;
}

/* ---- geometry ---- */

/* Sets the matrices of a move; returns 0 if it has no inverse. */
MOT_FN int mot_set_move(mot_geometry *out, const double a[6])
{
    const double det = a[0] * a[4] - a[1] * a[3];
    const double i0 = a[4] / det, i1 = -a[1] / det, i3 = -a[3] / det, i4 = a[0] / det;
    for (int i = 0; i < 6; i++)
        out->a[i] = a[i];
    out->inverse[0] = i0;
    out->inverse[1] = i1;
    out->inverse[2] = -(i0 * a[2] + i1 * a[5]);
    out->inverse[3] = i3;
    out->inverse[4] = i4;
    out->inverse[5] = -(i3 * a[2] + i4 * a[5]);
    out->divisor[0] = out->divisor[1] = 1;
    out->placed = MOT_PLACED_NOT;
    out->kind = MOT_MOVES;
    return det != 0 && mot_is_finite(det);
}

/* The geometry of a prepared op of the table for an image of this size; returns 0 if its matrix has no inverse. */
MOT_FN int mot_set_step(mot_geometry *out, int op, const mot_arg *arg, int32_t width, int32_t height)
{
    const int shape = op >= 0 && op < MOT_OP_COUNT ? mot_shape_of(op) : MOTLEY_SHAPE_POINT;
    out->kind = MOT_STAYS;
    out->width = width;
    out->height = height;
    if (shape == MOTLEY_SHAPE_ERASE) {
        out->kind = MOT_ERASES;
        out->rect = mot_erase_rect(op, width, height, arg);
    }
    if (shape != MOTLEY_SHAPE_WARP)
        return 1;
    mot_warp warp;
    mot_warp_matrix(op, width, height, arg, &warp);
    return mot_set_move(out, warp.m);
}

/* Makes the geometry of a step for an image of the size of `part` that of the step in this part of a larger image. */
MOT_FN void mot_set_inside(mot_geometry *g, mot_rect part, int32_t width, int32_t height)
{
    g->width = width;
    g->height = height;
    if (g->kind == MOT_ERASES) {
        g->rect.x0 += part.x0;
        g->rect.y0 += part.y0;
        g->rect.x1 += part.x0;
        g->rect.y1 += part.y0;
    } else if (g->kind == MOT_MOVES) {
        g->rect = part;
        g->kind = MOT_MOVES_INSIDE;
    }
}

/* One axis of a resize from `from` to `size` pixels, of which the result shows `shown` from `first` on. */
MOT_FN void mot_set_axis(mot_geometry *out, int axis, int32_t from, int32_t size, int32_t first, int32_t shown,
                         int flip)
{
    const int32_t common = size % from == 0 ? from : from % size == 0 ? size : 1;
    const double factor = (double)size / common, divisor = (double)from / common;
    const double scale = (double)from / size, end = (double)first + shown; /* scale: source pixels per pixel */
    double *const a = &out->a[3 * axis], *const inverse = &out->inverse[3 * axis];
    a[axis] = flip ? -scale : scale;
    a[2] = (flip ? end : first) * scale;
    inverse[axis] = flip ? -factor : factor;
    inverse[2] = (flip ? end : -(double)first) * divisor;
    a[!axis] = inverse[!axis] = 0;
    out->divisor[axis] = divisor;
}

/* The crop of an image, and its resize, window and flips as one move; width and height: of the image after them. */
MOT_FN void mot_set_place(mot_geometry out[2], const motley_place *d)
{
    const double crop[6] = { 1, 0, (double)d->crop.left, 0, 1, (double)d->crop.top };
    mot_set_move(&out[0], crop);
    out[0].width = d->crop.width;
    out[0].height = d->crop.height;
    out[0].placed = d->overlap == MOTLEY_OVERLAP_CROPPED ? MOT_PLACED_CENTRED : MOT_PLACED_CROP;
    out[0].offset[0] = d->canvas_left, out[0].offset[1] = d->canvas_top;
    out[0].corner[0] = d->crop.left + d->canvas_left, out[0].corner[1] = d->crop.top + d->canvas_top;
    out[1].kind = MOT_MOVES;
    out[1].placed = MOT_PLACED_RESIZE;
    out[1].offset[0] = d->crop.width, out[1].offset[1] = d->crop.height;
    out[1].corner[0] = d->left, out[1].corner[1] = d->top;
    out[1].window = d->left || d->top || d->width != d->result_width || d->height != d->result_height;
    out[1].scale[0] = (float)((double)d->width / d->crop.width);
    out[1].scale[1] = (float)((double)d->height / d->crop.height);
    out[1].flip[0] = !d->flip_horizontal ? 0 : d->flipped_first & 1 ? 1 : 2;
    out[1].flip[1] = !d->flip_vertical ? 0 : d->flipped_first & 2 ? 1 : 2;
    mot_set_axis(&out[1], 0, d->crop.width, d->width, d->left, d->result_width, d->flip_horizontal);
    mot_set_axis(&out[1], 1, d->crop.height, d->height, d->top, d->result_height, d->flip_vertical);
    out[1].width = d->result_width;
    out[1].height = d->result_height;
}

/* How many moves the places of an image are: two, or four if it is resized twice. last: as mot_last_place returns it.
 */
MOT_FN int32_t mot_moves_of_places(const motley_place *last)
{
    return last->first.width > 0 ? 4 : 2;
}

/* Sets them. first: as mot_first_place returns it; only read if the image is resized twice. */
MOT_FN void mot_set_places(mot_geometry out[MOT_GEOMETRIES_OF_RESIZES], const motley_place *first,
                           const motley_place *last)
{
    const int32_t moves = mot_moves_of_places(last);
    if (moves > 2)
        mot_set_place(out, first);
    mot_set_place(out + moves - 2, last);
}

/* A box that a transform erased. */
MOT_FN void mot_set_erased(mot_geometry *out, const motley_erased_box *box, int32_t width, int32_t height)
{
    out->kind = MOT_ERASES;
    out->width = width;
    out->height = height;
    out->rect.x0 = box->left;
    out->rect.y0 = box->top;
    out->rect.x1 = box->left + box->width;
    out->rect.y1 = box->top + box->height;
}

/* m = m * a: a later step reads the output of the earlier ones. */
MOT_FN void mot_compose(double m[6], const double a[6])
{
    double next[6];
    for (int row = 0; row < 6; row += 3) {
        next[row] = m[row] * a[0] + m[row + 1] * a[3];
        next[row + 1] = m[row] * a[1] + m[row + 1] * a[4];
        next[row + 2] = m[row] * a[2] + m[row + 1] * a[5] + m[row + 2];
    }
    for (int i = 0; i < 6; i++)
        m[i] = next[i];
}

/* The matrix of all moves of an image. */
MOT_FN void mot_matrix_of(const mot_geometry *steps, int32_t count, double m[6])
{
    for (int i = 0; i < 6; i++)
        m[i] = i == 0 || i == 4;
    for (int32_t s = 0; s < count; s++)
        if (steps[s].kind == MOT_MOVES)
            mot_compose(m, steps[s].a);
}

/* Maps (x, y) by the matrix `m`. */
MOT_FN void mot_move(const double m[6], double x, double y, double *to_x, double *to_y)
{
    *to_x = m[0] * x + m[1] * y + m[2];
    *to_y = m[3] * x + m[4] * y + m[5];
}

/* Moves (x, y) as a step of kind MOVES does. */
MOT_FN void mot_move_by(const mot_geometry *g, double *x, double *y)
{
    mot_move(g->inverse, *x, *y, x, y);
    if (g->divisor[0] != 1)
        *x /= g->divisor[0];
    if (g->divisor[1] != 1)
        *y /= g->divisor[1];
}

/* The value as the caller's array stores it, float or double. */
MOT_FN double mot_stored(double v, int single)
{
    return single ? (double)(float)v : v;
}

/* ---- points ---- */

/* Moves one point through the steps of its image, in continuous coordinates; returns its flags. All edges of an image
 * belong to it, so that its mirror image has the same points. A point that is the index of a pixel is in that pixel, to
 * which its right and lower edges do not belong. */
MOT_FN uint8_t mot_follow_point(const mot_geometry *steps, int32_t count, int32_t width, int32_t height,
                                motley_convention convention, double *x, double *y)
{
    int flags = MOTLEY_POINT_INSIDE | MOTLEY_POINT_UNERASED, mirrored = 0;
    for (int32_t s = 0;; s++) {
        if (!(*x >= 0 && *x <= width && *y >= 0 && *y <= height) ||
            (convention == MOTLEY_INDEX && (*x == width || *y == height)))
            flags &= ~MOTLEY_POINT_INSIDE;
        if (s == count)
            break;
        const mot_geometry *g = &steps[s];
        width = g->width;
        height = g->height;
        if (g->kind == MOT_MOVES) {
            mot_move_by(g, x, y);
            mirrored ^= g->a[0] * g->a[4] - g->a[1] * g->a[3] < 0;
        } else if (g->kind == MOT_ERASES && *x >= g->rect.x0 && *x < g->rect.x1 && *y >= g->rect.y0 &&
                   *y < g->rect.y1) {
            flags &= ~MOTLEY_POINT_UNERASED;
        }
    }
    return (uint8_t)(mirrored ? flags | MOTLEY_POINT_MIRRORED : flags);
}

/* ---- boxes ---- */

/* A convex polygon. On the device the numbers of a warp's threads are interleaved, so that there are no bank conflicts.
 */
typedef struct mot_polygon {
    int32_t corners, room; /* room: of `at` and of `next` */
    int32_t apart;         /* numbers that follow each other, in doubles */
    double *at, *next;     /* x and y of each corner; `next` is where a clip writes */
} mot_polygon;

#define MOT_X(p, array, i) (p)->array[2 * (i) * (p)->apart]
#define MOT_Y(p, array, i) (p)->array[(2 * (i) + 1) * (p)->apart]

/* How many corners the polygon of a box can have after so many moves. Clipping by four sides adds at most four corners.
 * Corners past MOT_CORNERS are dropped; that would take over 30 moves that each cut off all corners. */
#define MOT_CORNERS 128
MOT_FN int32_t mot_corners_room(size_t moves)
{
    return moves < MOT_CORNERS / 4 - 2 ? (int32_t)(4 + 4 * (moves + 1)) : MOT_CORNERS;
}

MOT_FN void mot_add_corner(mot_polygon *p, int32_t *kept, double x, double y)
{
    if (*kept == p->room)
        return;
    MOT_X(p, next, *kept) = x;
    MOT_Y(p, next, *kept) = y;
    ++*kept;
}

/* Past which sides of the image (x, y) is, as bits: left, right, top, bottom. */
MOT_FN unsigned mot_sides_outside(double x, double y, double width, double height)
{
    return (unsigned)(x < 0) | (unsigned)(x > width) << 1 | (unsigned)(y < 0) << 2 | (unsigned)(y > height) << 3;
}

/* Keeps the part of the polygon on the inner side of one side of the image (Sutherland, Hodgman 1974). Returns past
 * which sides the new corners are. */
MOT_FN unsigned mot_clip_side(mot_polygon *p, int side, double width, double height)
{
    const int axis = side / 2;
    const double sign = side & 1 ? 1 : -1, limit = !(side & 1) ? 0 : axis ? height : width;
    int32_t kept = 0;
    unsigned outside = 0;
    double x = MOT_X(p, at, 0), y = MOT_Y(p, at, 0);
    double out = sign * ((axis ? y : x) - limit);
    for (int32_t i = 0; i < p->corners; i++) {
        const int32_t j = i + 1 < p->corners ? i + 1 : 0;
        const double next_x = MOT_X(p, at, j), next_y = MOT_Y(p, at, j);
        const double next_out = sign * ((axis ? next_y : next_x) - limit);
        if (out <= 0)
            mot_add_corner(p, &kept, x, y);
        if ((out < 0 && next_out > 0) || (out > 0 && next_out < 0)) {
            const double t = out / (out - next_out);
            const double cut_x = axis ? x + t * (next_x - x) : limit, cut_y = axis ? limit : y + t * (next_y - y);
            outside |= mot_sides_outside(cut_x, cut_y, width, height);
            mot_add_corner(p, &kept, cut_x, cut_y);
        }
        x = next_x;
        y = next_y;
        out = next_out;
    }
    double *const old = p->at;
    p->at = p->next;
    p->next = old;
    p->corners = kept;
    return outside;
}

/* Clips the polygon to the image; returns whether any of it was outside. */
MOT_FN int mot_clip(mot_polygon *p, double width, double height)
{
    unsigned outside = 0;
    for (int32_t i = 0; i < p->corners; i++)
        outside |= mot_sides_outside(MOT_X(p, at, i), MOT_Y(p, at, i), width, height);
    const int cut = outside != 0;
    for (int side = 0; outside >> side; side++) /* few boxes touch a side */
        if (outside >> side & 1 && p->corners > 0)
            outside |= mot_clip_side(p, side, width, height);
    return cut;
}

MOT_FN double mot_polygon_area(const mot_polygon *p)
{
    double twice = 0;
    for (int32_t i = 0; i < p->corners; i++) {
        const int32_t j = i + 1 < p->corners ? i + 1 : 0;
        twice += MOT_X(p, at, i) * MOT_Y(p, at, j) - MOT_X(p, at, j) * MOT_Y(p, at, i);
    }
    return fabs(twice) / 2;
}

MOT_FN void mot_polygon_of(mot_polygon *p, const double box[4])
{
    for (int i = 0; i < 4; i++) {
        MOT_X(p, at, i) = box[i == 1 || i == 2 ? 2 : 0];
        MOT_Y(p, at, i) = box[i < 2 ? 1 : 3];
    }
    p->corners = 4;
}

/* The bounding box of the polygon; an empty polygon gives an empty box at the image's origin. */
MOT_FN void mot_polygon_box(const mot_polygon *p, double box[4])
{
    for (int i = 0; i < 4; i++)
        box[i] = !p->corners ? 0 : i & 1 ? MOT_Y(p, at, 0) : MOT_X(p, at, 0);
    for (int32_t i = 1; i < p->corners; i++) { /* without fmin and fmax: they handle NaN, and so become calls */
        const double x = MOT_X(p, at, i), y = MOT_Y(p, at, i);
        box[0] = x < box[0] ? x : box[0];
        box[1] = y < box[1] ? y : box[1];
        box[2] = x > box[2] ? x : box[2];
        box[3] = y > box[3] ? y : box[3];
    }
}

MOT_FN double mot_between(double v, double most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* Moves a box as a place does, with torchvision's roundings: binary32 after each of its changes.
 * Returns whether a part was cut off. */
MOT_FN int mot_place_box(const mot_geometry *g, double box[4])
{
    const int resizes = g->placed == MOT_PLACED_RESIZE, cuts = !resizes || g->window;
    float sides[4] = { 0 };
    int cut = 0;
    for (int i = 0; i < 4; i++) {
        const int axis = i & 1, size = axis ? g->height : g->width, flip = resizes ? g->flip[axis] : 0;
        float side = (float)box[i];
        if (!resizes)
            side += (float)g->offset[axis];
        if (flip == 1)
            side = (float)g->offset[axis] - side;
        if (resizes)
            side *= g->scale[axis];
        if (cuts) {
            const float before = side - (float)g->corner[axis];
            side = (float)mot_between(before, size);
            cut |= side != before;
        }
        sides[flip ? i ^ 2 : i] = flip == 2 ? (float)size - side : side;
    }
    for (int i = 0; i < 4; i++)
        box[i] = sides[i];
    return cut;
}

/* Whether the place leaves the box in its image: not if the centre is cut off where centres count. */
MOT_FN int mot_stays_centred(const mot_geometry *g, const double box[4])
{
    const float crop[4] = { (float)g->corner[0], (float)g->corner[1], (float)(g->corner[0] + g->width),
                            (float)(g->corner[1] + g->height) };
    float own[4];
    if (g->kind != MOT_MOVES || g->placed != MOT_PLACED_CENTRED)
        return 1;
    mot_box_in_canvas(box, g->offset[0], g->offset[1], own);
    return mot_is_centred(own, crop);
}

/* How the box of a box is found. */
enum { MOT_BOXED_LAST, MOT_BOXED_EACH, MOT_BOXED_EACH_SINGLE };

MOT_FN int mot_boxing(const motley_box_rules *rules, int single)
{
    return !rules->torchvision ? MOT_BOXED_LAST : single ? MOT_BOXED_EACH_SINGLE : MOT_BOXED_EACH;
}

/* Whether a box has an area and is as large as the limits want. torchvision's numbers are binary32. */
MOT_FN int mot_box_is_large(const motley_box_rules *rules, const double box[4], int single)
{
    const int narrow = mot_boxing(rules, single) == MOT_BOXED_EACH_SINGLE;
    const float sides[2] = { (float)box[2] - (float)box[0], (float)box[3] - (float)box[1] };
    const double w = narrow ? sides[0] : box[2] - box[0], h = narrow ? sides[1] : box[3] - box[1];
    const double area = narrow ? sides[0] * sides[1] : w * h, least = mot_stored(rules->min_side, narrow);
    return w > 0 && h > 0 && area >= mot_stored(rules->min_area, narrow) && w >= least && h >= least;
}

/* Moves one box (left, top, right, bottom) through the steps of its image. By torchvision's rule the polygon becomes
 * its bounding box, clamped to the image, after each step. Returns the share of the box that remains: 1 if nothing was
 * cut off. *kept: whether it passes the limits, which may hold before a resize, too; a share is compared as the
 * caller's array keeps it. */
MOT_FN double mot_move_box(mot_polygon *p, const mot_geometry *steps, int32_t count, double width, double height,
                           const motley_box_rules *rules, int single, double box[4], int *kept)
{
    const int boxed = mot_boxing(rules, single);
    double whole = (box[2] - box[0]) * (box[3] - box[1]); /* the area that the whole box would have */
    const int empty = !(box[0] < box[2] && box[1] < box[3]);
    if (count > 0 && !mot_stays_centred(&steps[0], box)) {
        box[0] = box[1] = box[2] = box[3] = 0;
        *kept = 0;
        return 0;
    }
    *kept = 1;
    mot_polygon_of(p, box);
    int cut = boxed ? 0 : mot_clip(p, width, height);
    for (int32_t s = 0; s < count; s++) {
        const mot_geometry *g = &steps[s];
        const double *m = g->inverse;
        if (g->kind != MOT_MOVES)
            continue;
        if (rules->before_resize && g->placed == MOT_PLACED_RESIZE) {
            mot_polygon_box(p, box);
            *kept &= mot_box_is_large(rules, box, single);
        }
        const int placed = boxed == MOT_BOXED_EACH_SINGLE && g->placed;
        for (int32_t i = 0; i < p->corners && !placed; i++)
            mot_move_by(g, &MOT_X(p, at, i), &MOT_Y(p, at, i));
        whole *= fabs(m[0] * m[4] - m[1] * m[3]) / (g->divisor[0] * g->divisor[1]);
        if (placed) {
            mot_polygon_box(p, box);
            cut |= mot_place_box(g, box);
            mot_polygon_of(p, box);
        } else if (boxed) {
            mot_polygon_box(p, box);
            for (int i = 0; i < 4; i++) {
                const double side = box[i];
                box[i] = mot_between(side, i & 1 ? g->height : g->width);
                cut |= box[i] != side;
            }
            mot_polygon_of(p, box);
        } else {
            cut |= mot_clip(p, g->width, g->height);
        }
    }
    const double left = mot_polygon_area(p);
    const double share = !cut ? !empty : !(whole > 0) ? 0 : left / whole < 1 ? left / whole : 1;
    mot_polygon_box(p, box);
    *kept &=
        mot_box_is_large(rules, box, single) && mot_stored(share, single) >= mot_stored(rules->min_visibility, single);
    return share;
}

/* Converts the caller's format to left, top, right, bottom, and back. */
MOT_FN void mot_read_box(motley_box_format format, const double in[4], double box[4])
{
    const double half_w = format == MOTLEY_CXCYWH ? in[2] / 2 : 0, half_h = format == MOTLEY_CXCYWH ? in[3] / 2 : 0;
    box[0] = in[0] - half_w;
    box[1] = in[1] - half_h;
    box[2] = format == MOTLEY_XYXY ? in[2] : box[0] + in[2];
    box[3] = format == MOTLEY_XYXY ? in[3] : box[1] + in[3];
}

MOT_FN void mot_write_box(motley_box_format format, const double box[4], double out[4])
{
    const double w = box[2] - box[0], h = box[3] - box[1];
    out[0] = format == MOTLEY_CXCYWH ? box[0] + w / 2 : box[0];
    out[1] = format == MOTLEY_CXCYWH ? box[1] + h / 2 : box[1];
    out[2] = format == MOTLEY_XYXY ? box[2] : w;
    out[3] = format == MOTLEY_XYXY ? box[3] : h;
}

/* What is wrong with a box (left, top, right, bottom) of an image. Moves of the numbers that a float holds are finite.
 */
typedef enum mot_box_fault { MOT_BOX_GOOD, MOT_BOX_NOT_FINITE, MOT_BOX_REVERSED, MOT_BOX_OUTSIDE } mot_box_fault;

MOT_FN mot_box_fault mot_box_check(const double box[4], int32_t width, int32_t height)
{
    for (int i = 0; i < 4; i++)
        if (!(fabs(box[i]) <= FLT_MAX))
            return MOT_BOX_NOT_FINITE;
    if (!(box[0] <= box[2] && box[1] <= box[3]))
        return MOT_BOX_REVERSED;
    return box[0] <= width && box[1] <= height && box[2] >= 0 && box[3] >= 0 ? MOT_BOX_GOOD : MOT_BOX_OUTSIDE;
}

#endif
