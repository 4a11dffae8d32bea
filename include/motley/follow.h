/* SPDX-License-Identifier: Apache-2.0 */
/** Followers: masks, other images, keypoints and boxes, which move as ops move the pixels of their image.
 *
 *  All of them follow one rule. A warp of an image is a 2x3 matrix from output to input. Pixel (i, j) covers i..i+1 and
 *  j..j+1, so its centre is at (i + 0.5, j + 0.5). A mask is warped by the same matrix, and a point moves by its
 *  inverse. */
#ifndef MOTLEY_FOLLOW_H
#define MOTLEY_FOLLOW_H

#include "motley/apply.h"
#include "motley/policy.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_follower_params {
    size_t struct_size;                 /* 0 or sizeof; see motley.h */
    motley_interpolation interpolation; /* of the follower's warps; NEAREST (0) for masks, label maps and depth */
    int32_t channels;                   /* of the followers, 1 to 4: how many bytes of `fill` count; 0 is 1 */
    uint8_t fill[4];                    /* the fill of warps, one byte per channel */
    int erase;                          /* != 0: ops that erase (cutout) fill the follower, too, with `fill` */
} motley_follower_params;

/** Makes a policy for images that accompany those of `policy`, such as a second view. With stages, it crops, resizes,
 *  windows, flips and warps as they do, by the interpolation of `params`.
 *
 *  Draws    It draws as `policy` does, at the same (seed, epoch, id, view) and image size, but steps that move no
 *           pixels change nothing. So motley_apply with the same samples, or with given draws from
 *           motley_follower_steps, moves the followers' pixels as it moved those of the images, on every backend and
 *           stream, and nothing is copied between host and device. With stages, followers come out as bytes: jitter,
 *           grayscale, blur and the normalised output are left out.
 *  Types    u8 images of 1 to 4 channels. Elements of other sizes, and any number of channels, move with the call of
 *           their images: motley_planes.
 *  Fill     Windows that reach past the image (padding, a centre crop of a smaller image) are filled with `fill`, too.
 *  Params   NULL: nearest, filled with 0, not erased. `erase` also fills the boxes of an erase stage.
 *  Text     The follower of a policy with stages has none: motley_policy_print, motley_policy_follower and
 *           motley_policy_pictures refuse it.
 *  Errors   ARGUMENT; UNSUPPORTED: the policy has custom ops, whose geometry is unknown, mixes chains of ops, each of
 *           which may move pixels differently, or mixes images. MEMORY. *follower is NULL then. */
MOTLEY_API motley_status motley_policy_follower(const motley_policy *policy, const motley_follower_params *params,
                                                motley_policy **follower, motley_error *error);

/** The draws of a batch, from motley_draw or motley_apply. */
typedef struct motley_drawn {
    size_t count;               /* images */
    const motley_step *steps;   /* [count][max_steps] */
    const int32_t *step_counts; /* [count] */
    size_t max_steps;
    const int32_t *widths, *heights; /* [count], pixels, of the images before the first step */
    const motley_place *places;      /* [count]; NULL: of policies without stages, whose images keep their sizes */
} motley_drawn;

/** Extracts the part of recorded draws that applies to followers: the steps that move pixels, with the interpolation
 *  and fill of `params`. For motley_apply_params.given_steps, and `given`.
 *
 *  Shapes   steps: [drawn->count][max_steps], step_counts: [drawn->count]. places: [drawn->count], NULL if `drawn`
 *           has none. Each may be the array of `drawn`, which is then changed in place.
 *  Memory   Host memory.  Threads  Any; nothing is shared.
 *  Errors   As motley_follow; the results are then unspecified. */
MOTLEY_API motley_status motley_follower_steps(const motley_drawn *drawn, const motley_follower_params *params,
                                               motley_step *steps, int32_t *step_counts, motley_place *places,
                                               motley_error *error);

/** How a data set's coordinates refer to pixels. */
typedef enum motley_convention {
    MOTLEY_CONTINUOUS = 0, /* pixel i covers i..i+1, the image 0..width, both of which belong to it: boxes, COCO
                              keypoints as most read them */
    MOTLEY_INDEX = 1       /* pixel i is the point i, the image -0.5..width-0.5 without its right and lower edges */
} motley_convention;

#define MOTLEY_POINT_INSIDE 1   /* the point lay in the image before the first step and after every one */
#define MOTLEY_POINT_UNERASED 2 /* no op erased its position */
#define MOTLEY_POINT_MIRRORED 4 /* its image is mirrored: left and right keypoints swap */

typedef enum motley_box_format {
    MOTLEY_XYXY = 0,  /* left, top, right, bottom */
    MOTLEY_XYWH = 1,  /* left, top, width, height */
    MOTLEY_CXCYWH = 2 /* centre, width, height */
} motley_box_format;

typedef struct motley_box_rules {
    motley_box_format format;
    int torchvision;       /* != 0: take the bounding box and clamp it at each step, as torchvision does; 0: clip
                              the polygon of the corners at each step and take its box at the end, which is tighter */
    double min_area;       /* pixels squared; smaller boxes are not kept */
    double min_side;       /* pixels; boxes with a shorter side are not kept */
    double min_visibility; /* 0..1; boxes with a smaller visible share are not kept */
    int before_resize;     /* != 0: min_area and min_side hold before each resize of a transform, too */
} motley_box_rules;

/** The planes of one image: [count][height][width] elements, dense. src has the image's size, dst its result's. */
typedef struct motley_plane {
    const void *src;
    void *dst;
    size_t count;
} motley_plane;

/** Masks, label maps, depth: planes of elements of any type. An element of the result is the one of the source from
 *  which its pixel came, nearest. Where the pixel came from outside of the image, it is `fill`.
 *
 *  Shapes   images: [images] of the batch, or NULL: all images have one size and `count` planes, and src and dst are
 *           [images][count][height][width]. Everything is dense, and aligned to an element. dst must not overlap src.
 *  Bits     Those of a u8 image that is moved with NEAREST, on every backend.
 *  Errors   CUDA: where `images` is wrong, dst is unspecified. */
typedef struct motley_planes {
    int32_t element_size; /* bytes: 1, 2, 4 or 8 */
    int32_t erase;        /* != 0: what erases (cutout, an erase stage) fills the planes, too */
    uint8_t fill[8];      /* the bytes of an element, as they are in memory */
    const motley_plane *images;
    const void *src;
    void *dst;
    size_t count;
} motley_planes;

/** What moves with the images of a call (`followed` of motley_apply_params), or by recorded draws (motley_follow).
 *
 *  Boxes    [boxes_count][4] in the format of box_params, continuous coordinates in pixels, changed in place. Image i
 *           has boxes box_offsets[i] .. box_offsets[i + 1] - 1. visibility: the share of each box's area that is left
 *           in the image, 0..1, or NULL: 1 if nothing was cut off, 0 for a box without area. keep: 1 if the box passes
 *           the limits and has an area, else 0; or NULL. min_visibility is compared with the visibility as it is
 *           stored. Boxes that are not kept stay in the array, so that labels still match.
 *  Points   [points_count][2], x and y in pixels, changed in place, and not clamped; offsets as of boxes. flags: a byte
 *           of MOTLEY_POINT_* for each point, or NULL.
 *  Matrices [images][6], or NULL: of everything that an image drew, from output to input: output (x, y) shows input
 *           (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]). Steps that move no pixels, or only those inside a box,
 *           count as the identity.
 *  Planes   [planes_count], each moved in all images.
 *  Memory   The caller's, on the context's device like the images; `planes` itself is host memory. Must not overlap
 *           anything else of the call. With 0 boxes or points, their arrays are not read.
 *  Stream   CUDA: moved on the call's stream. The host reads nothing and waits for nothing, so graphs can capture it;
 *           with a counter, everything moves with the images of each replay.
 *  Values   Equal bits on every backend, rounded once to binary32 where `single` is set.
 *  Errors   ARGUMENT: a box that is not finite, has a negative side or lies outside its image, a point that is not
 *           finite or moves past the largest number of its type, offsets that decrease, begin above 0 or do not end at
 *           the count. UNSUPPORTED: the policy has custom ops, or mixes chains of ops or images. dst of planes is then
 *           unspecified, all else untouched. CUDA: such boxes and points become NaN, with 0 for visibility, keep and
 *           flags, offsets past the count are cut to it, and boxes and points of no image stay as they are. */
typedef struct motley_followed {
    size_t struct_size; /* 0 or sizeof; see motley.h */
    int32_t single;     /* != 0: boxes, visibility and points are float; 0: double */
    size_t boxes_count; /* of all images */
    void *boxes;
    const size_t *box_offsets; /* [images + 1] */
    void *visibility;
    uint8_t *keep;
    motley_box_rules box_params;
    size_t points_count; /* of all images */
    void *points;
    const size_t *point_offsets; /* [images + 1] */
    uint8_t *flags;
    motley_convention convention;
    double *matrices;
    const motley_planes *planes;
    size_t planes_count;
} motley_followed;

/** Moves what followed the images of recorded draws: what motley_apply does with `followed`, in host memory.
 *
 *  Threads  Any; nothing is shared.
 *  Errors   As there, and ARGUMENT if the draws are not for these sizes. */
MOTLEY_API motley_status motley_follow(const motley_drawn *drawn, const motley_followed *followed, motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
