/* SPDX-License-Identifier: Apache-2.0 */
/* Files of recorded draws, with one JSON object on each line. */
#ifndef DRAWS_FILE_H
#define DRAWS_FILE_H

#include "tools/parts.h"

#include <stdbool.h>

typedef struct draws_file draws_file;

/* Reads a file that `motley apply --draws` or `motley draw` wrote. NULL after a message. */
draws_file *draws_file_read(const char *path);
void draws_file_destroy(draws_file *self);

/* A result that is to get its recorded draw. */
typedef struct drawn_image {
    uint64_t sample;
    const char *path, *policy; /* policy: the name */
    const part *part;
    bool staged;                     /* it has a place */
    int32_t width, height, channels; /* of the image; channels: of the result */
    size_t max_steps;                /* the most that it draws */
} drawn_image;

/* Reads the steps of a result, [max_steps], and for a transform its `place`. False with `why` if the file has
 * no draw for it, or one of another policy, image name, size or number of channels. Lines that lack these (those of
 * `motley draw`) fit every image. Threads may call it concurrently. */
bool draws_file_steps(const draws_file *self, const drawn_image *image, motley_step *steps, int32_t *count,
                      motley_place *place, char why[PICTURE_WHY]);

/* Adds to the JSON object of a draw what draws_file_steps compares. */
struct json_object;
void draws_file_describe(struct json_object *object, const drawn_image *image);

#endif
