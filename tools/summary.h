/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy does with each op: how often, and with which values. For motley stats and motley compare. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "tools/tool.h"

/* One op of a policy. */
typedef struct op_summary {
    const char *name;
    bool used;                  /* a step names it */
    double per_image;           /* how many times an image gets it, on average over the samples that were drawn */
    struct json_object *values; /* NULL: it takes none; else a list of distinct {"value", "minus", "of"} */
} op_summary;

/* Draws as many samples of `samples`' seed and epoch as `counting` says, at its size, and reads the policy's
 * description. summary: [motley_op_count()], to be freed. NULL after having complained in the name of `policy_name`. */
op_summary *summarise(const char *policy_name, const motley_policy *policy, const motley_samples *samples,
                      const counting_options *counting);
void summary_free(op_summary *summary);

/* The values in a few words: "9 or -9", "0..30, 31 values". text is returned. */
#define VALUES_TEXT 112
const char *values_text(const op_summary *op, char text[VALUES_TEXT]);

#endif
