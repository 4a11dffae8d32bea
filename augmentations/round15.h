/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding to 15 decimals as Python's round(v, 15) does: correctly rounded, ties to even, in integers. Host only. */
#ifndef MOT_ROUND15_H
#define MOT_ROUND15_H

#include <math.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 mot_u128;

/* Rounds a sine or cosine: |v| <= 1. */
static inline double mot_round15(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const int shift = 1075 - (int)(bits >> 52 & 0x7ff); /* 52 or more: |v| = mantissa / 2^shift */
    if (shift > 120)
        return copysign(0.0, v);
    const uint64_t hidden = UINT64_C(1) << 52, mantissa = (bits & (hidden - 1)) | hidden;
    const mot_u128 scaled = (mot_u128)mantissa * 1000000000000000u;
    const mot_u128 one = 1;
    const mot_u128 rest = scaled & ((one << shift) - 1), half = one << (shift - 1);
    uint64_t whole = (uint64_t)(scaled >> shift);
    if (rest > half || (rest == half && (whole & 1)))
        whole++;
    return copysign((double)whole / 1e15, v);
}

#endif
