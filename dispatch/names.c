/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the public enumerations; interpolations have the names of the policy format. */
#include "motley.h"
#include "policies/policy.h"
#include "policies/print.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NAME(names, i) ((size_t)(i) < COUNT(names) ? (names)[i] : NULL)

const char *motley_dtype_name(motley_dtype dtype)
{
    static const char *const names[] = { "uint8", "float32", "float16", "bfloat16", "uint16" };
    return NAME(names, dtype);
}

const char *motley_interpolation_name(motley_interpolation interpolation)
{
    return NAME(mot_interpolation_names, interpolation);
}

const char *motley_shape_name(motley_shape shape)
{
    static const char *const names[] = { "point", "stats", "color",  "warp", "stencil",
                                         "blur",  "erase", "custom", "mix",  "filter" };
    return NAME(names, shape);
}
