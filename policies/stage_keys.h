/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of transforms by name, with the tables of their keys, and what reads their texts. */
#ifndef MOT_STAGE_KEYS_H
#define MOT_STAGE_KEYS_H

#include "policies/keys.h"
#include "policies/transform.h"

/* Whether a text has stages or schedules; and reads it. Problems go to `r`, or are reported already, then the status is
 * POLICY. Errors: as motley_policy_parse. */
bool mot_is_staged(const reader *r);
motley_status mot_transform_parse(reader *r, mot_transform **transform, motley_error *error);

/* Reads the plain transform that `r` holds; problems go to `r`. And keeps the text itself, of a transform that is not
 * printed from its model. */
motley_status mot_transform_read(reader *r, mot_transform **transform);
void mot_transform_keep_text(reader *r, mot_transform *transform);

/* Reads a text with schedules, which `r` holds. Every epoch in which it means something else is checked, so that none
 * fails later. */
motley_status mot_transform_read_scheduled(reader *r, mot_transform **transform, motley_error *error);

/* What a stage that places pixels can do, as bits: resize, show less of what there is, show more of it. */
enum { MOT_RESIZES = 1, MOT_CUTS = 2, MOT_EXTENDS = 4 };

typedef struct mot_stage_form {
    const char *name;
    mot_keys keys; /* of mot_stage.of */
    int8_t rank;   /* stages of one rank come in any order, those of a higher rank later */
    mot_stage_drawn drawn;
    unsigned does;
    int8_t turn; /* of what places pixels: the device draws one of each turn, in their order, and none of turn 0 */
} mot_stage_form;

extern const mot_stage_form mot_stage_forms[MOT_STAGE_KINDS];

/* Whether a stage says where pixels come from: it crops, pads, resizes or mirrors. */
static inline bool mot_stage_places(mot_stage_kind kind)
{
    return mot_stage_forms[kind].drawn >= MOT_DRAWN_CROP && mot_stage_forms[kind].drawn <= MOT_DRAWN_MIRRORS;
}

/* Whether images are still pictures behind a stage: not normalised, erased or mixed. */
static inline bool mot_stage_makes_pictures(mot_stage_kind kind)
{
    return mot_stage_forms[kind].rank < mot_stage_forms[MOT_STAGE_OUTPUT].rank;
}

/* Reads the settings of a stage, whose kind is set. Problems go to `r`. */
void mot_stage_read(reader *r, const mot_yaml *map, mot_stage *out);

#endif
