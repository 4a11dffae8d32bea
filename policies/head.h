/* SPDX-License-Identifier: Apache-2.0 */
/* What a text says of itself, whatever it draws: its name, title, profile and citation. A policy and a transform have
 * these as members of their own; NULL: the text does not say. */
#ifndef MOT_HEAD_H
#define MOT_HEAD_H

#include "policies/reader.h"

#define MOT_HEAD_TEXTS 6

/* The places of a model's texts, in the order of mot_head_keys, which is that of the text. */
typedef struct mot_head {
    char **text[MOT_HEAD_TEXTS];
} mot_head;

#define MOT_HEAD_OF(m) \
    ((mot_head){ { (char **)&(m)->name, (char **)&(m)->title, (char **)&(m)->profile, (char **)&(m)->paper, \
                   (char **)&(m)->table, (char **)&(m)->version } })

extern const char *const mot_head_keys[MOT_HEAD_TEXTS];

/* Reads the format's version and the head of `what`; `part`: of a larger text, which has the version, and perhaps the
 * name. False if there is no memory. */
bool mot_head_read(reader *r, const mot_yaml *map, const char *what, bool part, mot_head head);

void mot_head_print(mot_text *w, mot_head head);
bool mot_head_copy(mot_head from, mot_head to);
void mot_head_free(mot_head head);

/* Sets what an info says of it. */
void mot_head_describe(mot_head head, motley_policy_info *info);

#endif
