/* SPDX-License-Identifier: Apache-2.0 */
/* The op table: one row per operation, expanded from ops.h. */
#include "augmentations/table.h"
#include "motley/apply.h"

#include <math.h>
#include <string.h>

#define ROW(shape_, ID, stem) \
    [MOT_OP_##ID] = { { MOT_##ID##_INFO, .shape = MOTLEY_SHAPE_##shape_ }, { MOT_##ID##_FACTS }, mot_##stem##_prepare },
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

#define MIX(name_, summary_) \
    { \
        .name = name_, .summary = summary_, .unit = "weight", .matches = "timm AugMixAugment", \
        .paper = "AugMix, Hendrycks et al. 2019, arXiv:1912.02781", .shape = MOTLEY_SHAPE_MIX, .values_min = 1, \
        .values_max = 1, .maximum = 1, .neutral = NAN, .example = 0.5 \
    }
static const motley_op_info mix_steps[] = {
    MIX("mix_add", "Ends a chain and adds it to the sum of chains."),
    MIX("mix_blend", "Ends a chain and blends the result with it."),
    MIX("mix_sum", "Blends the result with the sum of chains."),
};
#undef MIX
#define MIX_STEPS ((int)(sizeof mix_steps / sizeof mix_steps[0]))

const motley_op_info *mot_step_info(int op)
{
    const int mix = MOTLEY_STEP_MIX_ADD - op;
    return mix >= 0 && mix < MIX_STEPS ? &mix_steps[mix] : motley_op_get(op);
}

int mot_mix_find(const char *name)
{
    for (int i = 0; i < MIX_STEPS; i++)
        if (strcmp(name, mix_steps[i].name) == 0)
            return MOTLEY_STEP_MIX_ADD - i;
    return 0;
}

void mot_op_prepare(int op, const double *values, int count, mot_arg *arg)
{
    memset(arg, 0, sizeof *arg);
    mot_op_table[op].prepare(values, count, arg);
}
