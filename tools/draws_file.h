/* SPDX-License-Identifier: Apache-2.0 */
/* Draws that were written to a file, a JSON object a line, to be applied again. */
#ifndef DRAWS_FILE_H
#define DRAWS_FILE_H

#include "tools/picture.h"

#include <motley.h>

#include <stdbool.h>

typedef struct draws_file draws_file;

/* Reads a file that `motley apply --draws` or `motley draw` wrote. NULL after having complained. */
draws_file *draws_file_read(const char *path);
void draws_file_destroy(draws_file *self);

/* An image that a draw is wanted for. */
typedef struct drawn_image {
    uint64_t sample;
    const char *path;
    const motley_policy *policy; /* or NULL: */
    const motley_transform *transform;
    int32_t width, height, channels;
    size_t max_steps; /* the most that it draws */
} drawn_image;

/* The steps of that sample, [max_steps], and of a transform its `place`. False
 * with `why` when the file has none, or when they were drawn from another policy, for an image of another name, or for
 * another size or number of channels. Lines that do not say these (those of `motley draw`) fit every image. Threads may
 * ask side by side. */
bool draws_file_steps(const draws_file *self, const drawn_image *image, motley_step *steps, int32_t *count,
                      motley_transform_drawn *place, char why[PICTURE_WHY]);

/* Adds to the JSON object of a draw what draws_file_steps compares; policy: the name. */
struct json_object;
void draws_file_describe(struct json_object *object, const drawn_image *image, const char *policy);

#endif
