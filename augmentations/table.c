/* SPDX-License-Identifier: Apache-2.0 */
/* The op table: one row per operation, expanded from ops.h. */
#include "augmentations/table.h"

#include <math.h>
#include <string.h>

#define ROW(shape_, ID, stem) [MOT_OP_##ID] = { { MOT_##ID##_INFO, .shape = MOTLEY_SHAPE_##shape_ }, { MOT_##ID##_FACTS }, mot_##stem##_prepare },
const mot_op_row mot_op_table[MOT_OP_COUNT] = { MOT_OPS(ROW) };
#undef ROW

int motley_op_count(void)
{
    return MOT_OP_COUNT;
}

const motley_op_info *motley_op_get(int op)
{
    return op >= 0 && op < MOT_OP_COUNT ? &mot_op_table[op].info : NULL;
}

int motley_op_find(const char *name)
{
    for (int op = 0; name && op < MOT_OP_COUNT; op++)
        if (strcmp(name, mot_op_table[op].info.name) == 0)
            return op;
    return -1;
}

void mot_op_prepare(int op, const double *values, int count, mot_arg *arg)
{
    memset(arg, 0, sizeof *arg);
    mot_op_table[op].prepare(values, count, arg);
}
