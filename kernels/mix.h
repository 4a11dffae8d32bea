/* SPDX-License-Identifier: Apache-2.0 */
/* Mixed values, computed as torch does; the same source for host and device. */
#ifndef MOT_KERNELS_MIX_H
#define MOT_KERNELS_MIX_H

#include "kernels/output.h"
#include "kernels/trace.h"
#include "motley/mix.h"

#include <math.h>

MOT_FN float mot_bits_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

MOT_FN float mot_half_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7FFFu;
    if (rest >= 0x7C00u) /* infinite, or NaN */
        return mot_bits_float(sign | 0x7F800000u | rest << 13);
    if (rest >= 0x400u)
        return mot_bits_float(sign | ((rest << 13) + (112u << 23)));
    const float small = (float)rest * (1.0f / 16777216.0f); /* subnormal: a multiple of 2^-24 */
    return sign ? -small : small;
}

/* Reads a component of any type as binary32, and writes it back. */
MOT_FN float mot_component_get(const uint8_t *at, int dtype)
{
    if (dtype == MOTLEY_U8)
        return *at;
    if (dtype == MOTLEY_F32) {
        float v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return dtype == MOTLEY_F16 ? mot_half_float(bits) : mot_bits_float((uint32_t)bits << 16);
}

MOT_FN void mot_component_put(uint8_t *at, int dtype, float v)
{
    const uint32_t bits = mot_output_cast(v, dtype);
    if (dtype == MOTLEY_U8) {
        *at = (uint8_t)v;
    } else if (dtype == MOTLEY_F32) {
        memcpy(at, &bits, sizeof bits);
    } else {
        const uint16_t half = (uint16_t)bits;
        memcpy(at, &half, sizeof half);
    }
}

/* Rounds to the type. */
MOT_FN float mot_mix_round(float v, int dtype)
{
    if (dtype == MOTLEY_F16)
        return mot_half_float(mot_output_f16(v));
    return dtype == MOTLEY_BF16 ? mot_bits_float((uint32_t)mot_output_bf16(v) << 16) : v;
}

/* Mixes x with weight `own` and z with weight `other`: three operations, each rounded to the type; bytes to the
 * nearest. */
MOT_FN float mot_mix_value(float x, float z, float own, float other, int dtype)
{
    const float a = mot_mix_round(x * own, dtype), b = mot_mix_round(z * other, dtype);
    const float sum = mot_mix_round(a + b, dtype);
    return dtype == MOTLEY_U8 ? rintf(sum) : sum;
}

/* Which of `from` components number i of `to` reads by torch's nearest. */
MOT_FN int32_t mot_mix_nearest(int32_t i, int32_t from, int32_t to)
{
    const mot_trace_axis axis = { .step = (float)from / (float)to, .size = from };
    return mot_trace_torch(&axis, i);
}

MOT_FN int mot_mix_inside(const motley_erased_box *box, int32_t x, int32_t y)
{
    return x >= box->left && x - box->left < box->width && y >= box->top && y - box->top < box->height;
}

/* What atomic minima and maxima begin with; also where a mask has no pixel. */
#define MOT_NO_EXTENT \
    { \
        0, INT32_MAX, INT32_MAX, 0, 0 \
    }

/* A target of a label before mixing; `is_label`: whether it is that of the label's own class. */
MOT_FN float mot_mix_target(int is_label, int32_t classes, double smoothing)
{
    const double off = smoothing / classes;
    return (float)(is_label ? 1.0 - smoothing + off : off);
}

/* A soft target, smoothed, so that a sum of 1 over all classes stays. */
MOT_FN float mot_mix_smooth(float target, int32_t classes, double smoothing)
{
    return target * (float)(1.0 - smoothing) + (float)(smoothing / classes);
}

#endif
