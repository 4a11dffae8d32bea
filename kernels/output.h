/* SPDX-License-Identifier: Apache-2.0 */
/* The optional last step: bytes to normalised f32, f16 or bf16, by a table of 256 entries per channel, which the host
 * makes for all backends. Where it can, the GPU makes 16-bit values without a table, by a line per channel
 * (mot_output_line).
 *
 * By default a value is ((float)v / 255 - mean) / std in binary32, each operation rounded, and then rounded to the
 * output's type, ties to even. */
#ifndef MOT_OUTPUT_H
#define MOT_OUTPUT_H

#include "augmentations/op.h"
#include "motley/image.h"
#include "motley/policy.h"

#include <math.h>
#include <string.h>

/* Bytes of one component. */
MOT_FN size_t mot_dtype_bytes(int dtype)
{
    return dtype == MOTLEY_F32 ? 4 : dtype == MOTLEY_U8 ? 1 : 2;
}

/* What a motley_normalization multiplies means and deviations by, ... */
MOT_FN double mot_output_scale(int convention)
{
    return convention == MOTLEY_NORMALIZATION_TIMM ? 255.0 : 1.0;
}

/* ... and so subtracts and divides by. */
MOT_FN void mot_output_numbers(int convention, double mean, double std, float *subtrahend, float *divisor)
{
    *subtrahend = (float)(mot_output_scale(convention) * mean);
    *divisor = (float)(mot_output_scale(convention) * std);
}

MOT_FN float mot_output_f32(int convention, uint8_t v, float subtrahend, float divisor)
{
    const float scaled = convention == MOTLEY_NORMALIZATION_TORCHVISION_V2 ? (float)v * (float)(1.0 / 255.0)
                         : convention == MOTLEY_NORMALIZATION_TIMM         ? (float)v
                                                                           : (float)v / 255.0f;
    return (scaled - subtrahend) / (divisor == 0.0f ? 1.0f : divisor);
}

MOT_FN uint32_t mot_float_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The nearest binary16, ties to even; too large numbers become infinite, NaN stays NaN. In integers, without F16C. */
MOT_FN uint16_t mot_output_f16(float v)
{
    const uint32_t bits = mot_float_bits(v);
    const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u)
        return (uint16_t)(sign | 0x7E00u);
    if (magnitude >= 0x47800000u) /* 65536 and up; from 65520 the rounding below carries into infinity by itself */
        return (uint16_t)(sign | 0x7C00u);
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102) /* under half of the smallest subnormal, 2^-25 */
        return (uint16_t)sign;
    uint32_t mantissa, drop;
    if (exponent < 113) { /* subnormal: the leading 1 becomes a digit */
        mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
        drop = 126 - exponent;
    } else {
        mantissa = magnitude - (112u << 23);
        drop = 13;
    }
    const uint32_t half = 1u << (drop - 1), rest = mantissa & ((1u << drop) - 1);
    uint32_t kept = mantissa >> drop;
    kept += rest > half || (rest == half && (kept & 1));
    return (uint16_t)(sign | kept);
}

/* The nearest bfloat16, ties to even. */
MOT_FN uint16_t mot_output_bf16(float v)
{
    const uint32_t bits = mot_float_bits(v);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

/* Converts a number to the bits of a floating-point type, in the low bytes. */
MOT_FN uint32_t mot_output_cast(float v, int dtype)
{
    return dtype == MOTLEY_F16 ? mot_output_f16(v) : dtype == MOTLEY_BF16 ? mot_output_bf16(v) : mot_float_bits(v);
}

/* The normalised value of byte `v`, as bits of the output's type in the low bytes; `subtrahend` and `divisor` are from
 * mot_output_numbers. */
MOT_FN uint32_t mot_output_bits(int convention, uint8_t v, int dtype, float subtrahend, float divisor)
{
    return dtype == MOTLEY_U8 ? v : mot_output_cast(mot_output_f32(convention, v, subtrahend, divisor), dtype);
}

/* A byte, shifted to bits 16 to 23 of a float, times `scale` plus `offset`, rounded once, and then to the output's
 * type. Such a float is the byte times 2^-133, without any conversion; `scale` is the line's slope times 2^133. */
typedef struct mot_output_line {
    float scale, offset;
} mot_output_line;

MOT_FN float mot_output_on_line(const mot_output_line *line, uint8_t v)
{
    const uint32_t bits = (uint32_t)v << 16;
    float byte;
    memcpy(&byte, &bits, sizeof byte);
    return fmaf(byte, line->scale, line->offset);
}

/* As what an output is written. */
typedef struct mot_output_as {
    int32_t dtype, convention; /* motley_dtype, motley_normalization */
    float mean[4], std[4];     /* mot_output_numbers; channels behind the fourth have the first one's; not of U8 */
    const float *means, *stds; /* [channels], or NULL: those of the convention, used instead */
} mot_output_as;

/* What a channel's byte is normalised by. */
MOT_FN float mot_output_mean(const mot_output_as *as, int channel)
{
    return as->means ? (float)(mot_output_scale(as->convention) * as->means[channel])
                     : as->mean[channel < 4 ? channel : 0];
}

MOT_FN float mot_output_std(const mot_output_as *as, int channel)
{
    return as->stds ? (float)(mot_output_scale(as->convention) * as->stds[channel])
                    : as->std[channel < 4 ? channel : 0];
}

/* Entry k of a table [channels][256]: each byte as the output has it. */
MOT_FN uint32_t mot_output_entry(const mot_output_as *as, int k)
{
    return mot_output_bits(as->convention, (uint8_t)k, as->dtype, mot_output_mean(as, k >> 8),
                           mot_output_std(as, k >> 8));
}

/* A quotient v / divisor: its product with `reciprocal`, and what that leaves over times `rest`, each rounded once. It
 * is the rounded quotient for nearly all divisors; of a rest of 0 it is the product. */
typedef struct mot_output_quotient {
    float divisor, reciprocal, rest;
} mot_output_quotient;

MOT_FN float mot_output_divided(float v, mot_output_quotient by)
{
    const float product = v * by.reciprocal;
    return fmaf(fmaf(-product, by.divisor, v), by.rest, product);
}

/* mot_output_f32 without divisions, which take most of its time. exact: all 256 values are the same. */
typedef struct mot_output_products {
    mot_output_quotient scale, std;
    float mean;
    int32_t exact;
} mot_output_products;

MOT_FN float mot_output_by_products(const mot_output_products *by, uint8_t v)
{
    return mot_output_divided(mot_output_divided((float)v, by->scale) - by->mean, by->std);
}

/* Those of a channel, whose table this is. */
MOT_FN mot_output_products mot_output_products_of(const mot_output_as *as, int channel, const uint32_t value[256])
{
    const int v1 = as->convention == MOTLEY_NORMALIZATION_TORCHVISION_V1;
    const float std = mot_output_std(as, channel), divisor = std == 0.0f ? 1.0f : std;
    const float one = as->convention == MOTLEY_NORMALIZATION_TIMM ? 1.0f : 1.0f / 255.0f;
    mot_output_products made = { { 255.0f, one, v1 ? one : 0.0f },
                                 { divisor, 1.0f / divisor, 1.0f / divisor },
                                 mot_output_mean(as, channel),
                                 as->dtype == MOTLEY_F32 };
    for (int v = 0; v < 256 && made.exact; v++)
        made.exact = mot_float_bits(mot_output_by_products(&made, (uint8_t)v)) == value[v];
    return made;
}

/* A channel of an output on the CPU. */
typedef struct mot_output_channel {
    uint32_t bits[256]; /* what it makes of each byte, in the low bytes */
    mot_output_products products;
} mot_output_channel;

/* Finds a line that makes the values of a channel's table, for types of 16 bits: nearly always one of a few next to
 * each other does. 0: none of them. */
MOT_FN int mot_find_output_line(const mot_output_as *as, int channel, const uint32_t value[256], mot_output_line *line)
{
    const float std = mot_output_std(as, channel), by = std == 0.0f ? 1.0f : std;
    const uint32_t first = mot_float_bits(-mot_output_mean(as, channel) / by);
    line->scale = 1.0f / (as->convention == MOTLEY_NORMALIZATION_TIMM ? by : 255.0f * by);
    line->scale *= 0x1p100f; /* 2^133 is too large for a float; so may be the scale, and then there is no line */
    line->scale *= 0x1p33f;
    for (int k = 0; k < 8 && mot_dtype_bytes(as->dtype) == 2; k++) {
        const uint32_t offset = first + (uint32_t)((k & 1 ? k + 1 : -k) / 2);
        int v = 0;
        memcpy(&line->offset, &offset, sizeof offset);
        for (; v < 256; v++) {
            const float made = mot_output_on_line(line, (uint8_t)v);
            if (made != made || mot_output_cast(made, as->dtype) != value[v])
                break;
        }
        if (v == 256)
            return 1;
    }
    return 0;
}

#endif
