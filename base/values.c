/* SPDX-License-Identifier: Apache-2.0 */
/* See values.h. */
#include "base/values.h"

motley_status mot_check_size(int32_t width, int32_t height, motley_error *error)
{
    MOT_REQUIRE(width >= 1 && height >= 1 && width <= MOT_MAX_SIDE && height <= MOT_MAX_SIDE, error,
                "the size is %d x %d, want 1 to %d each way", width, height, MOT_MAX_SIDE);
    return MOTLEY_OK;
}

motley_status mot_check_interpolation(motley_interpolation interpolation, motley_error *error)
{
    MOT_REQUIRE((unsigned)interpolation <= MOTLEY_BICUBIC, error,
                "interpolation is %d, want nearest (0), bilinear (1) or bicubic (2)", (int)interpolation);
    return MOTLEY_OK;
}

motley_status mot_check_values_count(const motley_op_info *op, int count, motley_error *error)
{
    const char *const open = *op->unit ? " (" : "", *const close = *op->unit ? ")" : "";
    MOT_REQUIRE(op->values_min != op->values_max || count == op->values_min, error,
                "%s takes %d value%s%s%s%s, %d were given", op->name, op->values_min, op->values_min == 1 ? "" : "s",
                open, op->unit, close, count);
    MOT_REQUIRE(count >= op->values_min && count <= op->values_max, error,
                "%s takes %d to %d values%s%s%s, %d were given", op->name, op->values_min, op->values_max, open,
                op->unit, close, count);
    return MOTLEY_OK;
}

motley_filter mot_interpolation_filter(motley_interpolation interpolation)
{
    static const motley_filter filters[] = { [MOTLEY_NEAREST] = MOTLEY_FILTER_NEAREST,
                                             [MOTLEY_BILINEAR] = MOTLEY_FILTER_BILINEAR,
                                             [MOTLEY_BICUBIC] = MOTLEY_FILTER_BICUBIC };
    return filters[interpolation];
}
