/* SPDX-License-Identifier: Apache-2.0 */
/** Objects of a batch, their boxes and masks: what motley/mix.h pastes into images, and what mixed images then have. */
#ifndef MOTLEY_OBJECTS_H
#define MOTLEY_OBJECTS_H

#include "motley/draw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MOTLEY_MAX_PASTES 16
#define MOTLEY_MAX_INSTANCES 1020 /* of an image, which can be pasted into another */

/** An object of the batch that is pasted into an image. PASTE: a part of an image is blended with another one, or with
 *  the same, with weight 1 - lambda, where the image under it has lambda. INSTANCES: it stays where it is, and only
 *  image and object are set. All pixels are those of the images as they were given. */
typedef struct motley_paste {
    int32_t image, object;  /* of which image, and which of its objects, from 0 */
    int32_t left, top;      /* of the part in that image, with the object's context */
    motley_erased_box part; /* where it goes */
    motley_erased_box box;  /* where the object then is, without its context */
} motley_paste;

/** The objects of a batch, in host memory. */
typedef struct motley_objects {
    const size_t *offsets; /* [count + 1]; image i has objects offsets[i] .. offsets[i + 1] - 1 */
    const double *boxes;   /* [offsets[count]][4], left, top, right, bottom in pixels */
    const double *areas;   /* [offsets[count]], pixels squared; NULL: those of the boxes */
} motley_objects;

/** Where the pixels of a mask are. */
typedef struct motley_extent {
    int32_t pixels;                   /* how many are not 0; if none is, the others say nothing */
    int32_t left, top, right, bottom; /* the first and the last column and row of them */
} motley_extent;

/** The masks of a batch whose instances are pasted: planes [height][width] of bytes, an image's one behind the other.
 *  What is not 0 is the object. Of images that are drawn as INSTANCES, all objects' masks are written: first the own
 *  ones, without the pixels that others are pasted over, then what is pasted. */
typedef struct motley_mix_masks {
    const size_t *offsets;     /* [count + 1], as in motley_objects */
    const uint8_t *const *src; /* [count], each image's planes */
    uint8_t *const *dst;       /* [count], with room for its own and its pastes; they overlap no plane of src. NULL for
                                  images that are not drawn as INSTANCES */
    motley_extent *extents;    /* of all planes of dst, image by image */
} motley_mix_masks;

/** An object of a mixed image: which of the batch's objects it is, and how much of its picture shows. */
typedef struct motley_mixed_object {
    int32_t image;  /* of the batch, from which it is */
    int32_t object; /* which one of that image, from 0 */
    float share;    /* lambda, or 1 - lambda, in binary32; 1 where nothing is mixed */
    int32_t plane;  /* which one of the image's planes in motley_mix_masks.dst its mask is; -1: it is the object's
                              own */
    int32_t boxed;  /* != 0: its box is now `box`; else it has its own */
    motley_erased_box
        box; /* of a mask: from its first pixel, left + width is its last column, not the edge behind it */
} motley_mixed_object;

#ifdef __cplusplus
}
#endif
#endif
