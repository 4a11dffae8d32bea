/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding to 15 decimals as Python's round(v, 15) does: correctly rounded, ties to even, in integers. Host only. */
#ifndef MOT_ROUND15_H
#define MOT_ROUND15_H

#include <math.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 mot_u128;

/* Rounds a sine or cosine: |v| <= 1. */
static inline double mot_round15(double v)
{
    int exponent;
    const uint64_t mantissa = (uint64_t)ldexp(frexp(fabs(v), &exponent), 53); /* |v| = mantissa * 2^(exponent - 53) */
    const int shift = 53 - exponent;                                          /* 52 or more */
    if (mantissa == 0 || shift > 120)
        return copysign(0.0, v);
    const mot_u128 scaled = (mot_u128)mantissa * 1000000000000000u;
    const mot_u128 one = 1;
    const mot_u128 rest = scaled & ((one << shift) - 1), half = one << (shift - 1);
    uint64_t whole = (uint64_t)(scaled >> shift);
    if (rest > half || (rest == half && (whole & 1)))
        whole++;
    return copysign((double)whole / 1e15, v);
}

#endif
