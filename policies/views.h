/* SPDX-License-Identifier: Apache-2.0 */
/* The views of a transform: each has a transform of its own, read from its part of the text. */
#ifndef MOT_VIEWS_H
#define MOT_VIEWS_H

#include "policies/reader.h"
#include "policies/transform.h"

#define MOT_READS 256 /* of a sample in an epoch, by a file with views */

/* What result `instance` of a view draws as: samples.view of its transform. */
static inline uint32_t mot_view_word(uint32_t read, int32_t number, uint32_t instance)
{
    return 256 * read + 16 * (uint32_t)number + instance;
}

/* Reads the list under `views`, and the stages that they share (NULL: none); the transform has its head. */
void mot_views_read(reader *r, const mot_yaml *list, const mot_yaml *shared, mot_transform *transform);

/* Derives what a transform with views says of itself from these; it has its text. */
void mot_views_finish(mot_transform *transform);

void mot_views_destroy(mot_transform *transform);

/* The transform of a view. */
static inline mot_transform *mot_view_transform(const mot_transform *transform, uint32_t v)
{
    return transform->views[v].policy->staged;
}

/* Refuses a transform with views where one that makes one result is wanted. */
motley_status mot_transform_check_single(const mot_transform *transform, motley_error *error);

/* ---- transform_parse.c ---- */

/* Reads a list of stages. */
void mot_stages_read(reader *r, const mot_yaml *list, mot_transform *transform);

/* Checks that all images come out in one size, or that none is resized, and that some image is large enough for what
 * the stages do: a crop, boxes of a mix, a blur, which mirrors an image at its edges. from: the width and height of all
 * images, or NULL: they have many sizes. */
void mot_stages_check_sizes(reader *r, const mot_yaml *list, const mot_transform *transform, const int32_t from[2]);

#endif
