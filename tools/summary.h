/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy or a transform does: how often each op, and with which values. For stats, compare and preview. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "tools/parts.h"

/* One op; or what else a transform draws, such as "crop: share of the image". */
typedef struct op_summary {
    const char *name;
    bool used;        /* a step names it; of a transform: an image got it */
    double per_image; /* how many times an image gets it, on average over the samples that were drawn */
    struct json_object
        *values; /* of a policy, all that it can get: NULL: none; else distinct {"value", "minus", "of"} */
    bool drawn;  /* of a transform: low, high and mean are those of the first values that were drawn */
    double low, high, mean;
} op_summary;

/* Summarises what a part does, from as many draws as `counting` says, for images of its size. Returns
 * [summary_rows()], to be freed; NULL after a message about `name`. */
op_summary *summarise(const char *name, const parts *opened, const part *counted, const policy_options *options,
                      const counting_options *counting);
int summary_rows(void);
void summary_free(op_summary *summary);

/* A row as JSON: "per_image", and "values" or what was "drawn". */
struct json_object *summary_json(const op_summary *op);

/* The values in a few words: "9 or -9", "0..30, 31 values". text is returned. */
#define VALUES_TEXT 112
const char *values_text(const op_summary *op, char text[VALUES_TEXT]);

#endif
