/* SPDX-License-Identifier: Apache-2.0 */
/* The op table: one row per operation, expanded from ops.h. */
#include "augmentations/table.h"
#include "augmentations/kernel_blur.h"

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
/* The steps that are no ops, from MOTLEY_STEP_HUE down. */
static const motley_op_info other_steps[] = {
    { .name = "hue",
      .summary = "Rotates the hue.",
      .unit = "of a turn",
      .matches = "torchvision adjust_hue",
      .shape = MOTLEY_SHAPE_COLOR,
      .values_min = 1,
      .values_max = 1,
      .minimum = -0.5,
      .maximum = 0.5,
      .example = 0.25 },
    MIX("mix_add", "Ends a chain and adds it to the sum of chains."),
    MIX("mix_blend", "Ends a chain and blends the result with it."),
    MIX("mix_sum", "Blends the result with the sum of chains."),
    { .name = "kernel_blur",
      .summary = "Blurs with a kernel of normal weights.",
      .unit = "sigma in pixels, the kernel's size",
      .matches = "torchvision gaussian_blur",
      .shape = MOTLEY_SHAPE_FILTER,
      .values_min = 2,
      .values_max = 2,
      .minimum = MOT_KERNEL_SIGMA_MIN,
      .maximum = MOT_KERNEL_SIGMA_MAX,
      .neutral = NAN,
      .example = 1 },
    { .name = "mix_begin",
      .summary = "Begins chains of ops behind other steps.",
      .unit = "",
      .matches = "timm AugMixAugment",
      .paper = "AugMix, Hendrycks et al. 2019, arXiv:1912.02781",
      .shape = MOTLEY_SHAPE_MIX,
      .neutral = NAN },
    { .name = "permute",
      .summary = "Puts red, green and blue in another order.",
      .unit = "which order, 0 to 5",
      .matches = "torchvision permute_channels",
      .shape = MOTLEY_SHAPE_COLOR,
      .values_min = 1,
      .values_max = 1,
      .maximum = 5,
      .example = 3 },
};
#undef MIX
#define OTHER_STEPS ((int)(sizeof other_steps / sizeof other_steps[0]))

const motley_op_info *mot_step_info(int op)
{
    const int other = MOTLEY_STEP_HUE - op;
    return other >= 0 && other < OTHER_STEPS ? &other_steps[other] : motley_op_get(op);
}

int mot_step_find(const char *name)
{
    for (int i = 0; i < OTHER_STEPS; i++)
        if (strcmp(name, other_steps[i].name) == 0)
            return MOTLEY_STEP_HUE - i;
    return motley_op_find(name);
}

void mot_op_prepare(int op, const double *values, int count, mot_arg *arg)
{
    memset(arg, 0, sizeof *arg);
    mot_op_table[op].prepare(values, count, arg);
}
