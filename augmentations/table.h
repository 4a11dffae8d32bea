/* SPDX-License-Identifier: Apache-2.0 */
/* The op table as the library's host code sees it: a row's public description and how its values are prepared. */
#ifndef MOT_TABLE_H
#define MOT_TABLE_H

#include "augmentations/ops.h"
#include "motley/op.h"

typedef void mot_prepare(const double *values, int count, mot_arg *arg);

typedef struct mot_op_row {
    motley_op_info info;
    mot_prepare *prepare;
} mot_op_row;

extern const mot_op_row mot_op_table[MOT_OP_COUNT];

/* Prepares `values` (checked before) as the argument of `op`. */
void mot_op_prepare(int op, const double *values, int count, mot_arg *arg);

#endif
