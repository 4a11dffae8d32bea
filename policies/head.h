/* SPDX-License-Identifier: Apache-2.0 */
/* What a text says of itself: mot_head. */
#ifndef MOT_HEAD_H
#define MOT_HEAD_H

#include "policies/reader.h"

extern const char *const mot_head_keys[MOT_HEAD_TEXTS];

/* Reads the format's version and the head of `what`; `part`: of a larger text, which has the version, and perhaps the
 * name. */
void mot_head_read(reader *r, const mot_yaml *map, const char *what, bool part, mot_head *head);

void mot_head_print(mot_text *w, const mot_head *head);
void mot_head_free(const mot_head *head);

/* Sets what an info says of it. */
void mot_head_describe(const mot_head *head, motley_policy_info *info);

#endif
