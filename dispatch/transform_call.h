/* SPDX-License-Identifier: Apache-2.0 */
/* A checked call of motley_transform_apply, as the backends see it. */
#ifndef MOT_TRANSFORM_CALL_H
#define MOT_TRANSFORM_CALL_H

#include "dispatch/backend.h"
#include "policies/transform.h"

typedef struct mot_transform_call {
    const motley_transform *transform;
    const motley_transform_info *info;
    const motley_batch *src, *dst;
    const motley_transform_params *params;
    const mot_stage *erase; /* NULL: none */
    motley_resize_order order;
    uint32_t table[4][256];   /* of the output: the bits of each byte */
    uint32_t erased[4];       /* the bits that erased boxes get, if they are constant */
    size_t image_room;        /* CPU: bytes of each of a worker's three images */
    motley_followed followed; /* what moves with the images, from mot_followed_read */
    int mixes;                /* != 0: its first policy mixes chains of ops */
    int drawn_on_host;        /* != 0: the draws are given, or the images are clips, whose draws are compared */
} mot_transform_call;

/* Writes what image i draws or is given, and also to the caller's arrays if the params have them. Returns the number of
 * steps. */
int mot_transform_draw_image(const mot_transform_call *call, size_t i, motley_transform_drawn *drawn, mot_step *steps);

/* The size to which image i is resized. */
void mot_transform_sides(const mot_transform_call *call, size_t i, int32_t *width, int32_t *height);

#endif
