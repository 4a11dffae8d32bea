/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of images, a JSON object a line: {"image": PATH, "boxes": [[left, top, right, bottom], ...], "labels": [...]}.
 */
#ifndef BOXES_FILE_H
#define BOXES_FILE_H

#include "tools/picture.h"

#include <stdio.h>

typedef struct boxes_file boxes_file;

/* The boxes of an image, in pixels from its corner. */
typedef struct image_boxes {
    size_t number; /* of the line, 1-based */
    char *image;   /* its path */
    size_t count;
    double *boxes;              /* [count][4]: left, top, right, bottom */
    struct json_object *labels; /* a list of `count`; NULL: none are given */
} image_boxes;

/* Reads a file. NULL after a message. */
boxes_file *boxes_file_read(const char *path);
void boxes_file_destroy(boxes_file *self);

/* The line of the image that the command line calls `path`; NULL if there is none. Threads may call it concurrently. */
const image_boxes *boxes_file_find(const boxes_file *self, const char *path);

/* Whether all boxes are valid and inside the image; if not, `why` says why. */
bool boxes_file_suits(const boxes_file *self, const image_boxes *boxes, const picture *image, char why[PICTURE_WHY]);

/* Writes the boxes of an augmented image, whose path is `image`, as such a line: the boxes for which `keep` is 1, at
 * `moved` [count][4], with their labels; `visibility` is the share of each that is left. */
bool boxes_file_write(FILE *stream, const char *image, const picture *augmented, const image_boxes *boxes,
                      const double *moved, const double *visibility, const uint8_t *keep);

#endif
