/* SPDX-License-Identifier: Apache-2.0 */
/* What a command's POLICY names, and the results that it gives of each image: one, or those of its views. */
#ifndef PARTS_H
#define PARTS_H

#include "tools/picture.h"
#include "tools/tool.h"

typedef struct part {
    const motley_policy *policy; /* that makes the result */
    const char *view;            /* whose result it is; "" of the stages that views share; NULL: there are no views */
    int32_t result;              /* of the view */
    motley_samples samples;      /* of the options, with the view that the result draws as */
} part;

typedef struct parts {
    motley_policy *whole;
    bool staged; /* it is a transform */
    bool shares; /* part[0] is of the stages that views share; the others take its result in place of an image */
    size_t count;
    part *part; /* [count] */
} parts;

/* Opens a POLICY: a policy with the changes that the options want, or a transform as it is in their epoch; of its views
 * all, or the one of --only. False after a message. */
bool parts_open(const char *name, const policy_options *options, parts *opened);
void parts_close(parts *opened);

/* The only result; NULL after a message if there are more. */
const part *parts_single(const parts *opened, const char *name);

/* A picture as the library takes it, and as a dense batch, of one. */
motley_image image_of(const picture *in);
motley_batch batch_of(const picture *in, const pixel_range *range);

/* What a policy makes of an image, and what a part takes of one: pictures without pixels. samples: of the image, by
 * which it may draw its size; NULL: only the channels are wanted, or all results have one size. */
picture made_by(const motley_policy *policy, const motley_samples *samples, picture from);
picture taken_by(const parts *opened, const part *taking, picture from);

/* Draws n samples, at most PART_BLOCK, for images like `from`, which the part takes in another size if stages are
 * shared. `steps` has room. */
#define PART_BLOCK 1024
motley_status part_draw(const parts *opened, const part *drawing, const motley_samples *samples, size_t n, picture from,
                        motley_place *places, motley_step *steps, int32_t *counts, motley_error *error);

/* The line that `motley draw` writes of a draw, to be freed; `from`: the image. */
char *part_json(const parts *opened, const part *drawn, uint64_t sample, picture from, const motley_place *place,
                const motley_step *steps, int32_t count);

/* Moves n boxes as a draw of a part moved its image. `keep` is cleared of those that have left, and each `visibility`
 * (NULL: not wanted) multiplied by the share that is left. `from`: the image. */
motley_status part_follow(const parts *opened, const part *drawn, picture from, const motley_place *place,
                          const motley_step *steps, int32_t count, size_t n, double *boxes, double *visibility,
                          uint8_t *keep, motley_error *error);

#endif
