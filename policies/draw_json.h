/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading draws as JSON: the part that policies and transforms share. */
#ifndef MOT_DRAW_JSON_H
#define MOT_DRAW_JSON_H

#include "base/text.h"
#include "motley/draw.h"
#include "policies/policy.h"
#include "policies/yaml.h"

/* Writes one step; `op` describes its op. */
void mot_draw_say_step(mot_text *w, const motley_op_info *op, const motley_step *step, int32_t channels);

/* The state of reading a draw. */
typedef struct mot_draw_reader {
    mot_yaml_tree tree;
    int32_t channels; /* of the image */
    bool staged;      /* the draw is a transform's, so "hue" and "kernel_blur" are steps, too */
} mot_draw_reader;

/* The value of a map's key, or NULL. */
const mot_yaml *mot_draw_get(const mot_draw_reader *r, const mot_yaml *map, const char *key);

/* Reads a number; false after a problem. */
bool mot_draw_number(mot_draw_reader *r, const mot_yaml *node, const char *what, double *out);

/* Reads true or false under `key`, which is required. */
void mot_draw_truth(mot_draw_reader *r, const mot_yaml *map, const char *key, uint8_t *out);

/* Reads "sample" and "steps" of the tree's root. Steps with "applied": false are checked and left out. */
void mot_draw_read_steps(mot_draw_reader *r, uint64_t *sample, motley_step *steps, size_t max_steps, int32_t *count);

/* Reports the problems that were found, or `status` if that is a failure; frees the tree. */
motley_status mot_draw_read_end(mot_draw_reader *r, motley_status status, motley_error *error);

#endif
