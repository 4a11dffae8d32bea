/* SPDX-License-Identifier: Apache-2.0 */
/* What the wide forms of ops share. An op's wide form, mot_<op>_wide beside its byte form, is what the op does to a
 * real number: a component of an image of U16 or F32, whose range lo..hi stands for 0..255 of a byte.
 *
 * With the default ranges, 0..1 and 0..65535, wide forms have the bits of torchvision v2's tensor arithmetic. They are
 * binary32 with an explicit fmaf, so every backend has the same. mot_wide_end makes their result a component again. */
#ifndef MOT_WIDE_H
#define MOT_WIDE_H
#include "augmentations/op.h"

#include <math.h>
#include <string.h>

/* The range of a band. */
typedef struct mot_range {
    double low, span; /* lo and hi - lo, as given */
    float lo, hi;
    float both;    /* lo + hi */
    float bins;    /* of a histogram, in one unit of real data */
    int32_t whole; /* U16: components are whole numbers, and lo is 0 */
    int32_t open;  /* results are not clamped */
} mot_range;

#define MOT_WIDE_FULL 65535.0f /* the largest component of U16 */

MOT_FN mot_range mot_range_of(double lo, double hi, int whole, int open)
{
    mot_range range;
    range.low = lo;
    range.span = hi - lo;
    range.lo = (float)lo;
    range.hi = (float)hi;
    range.both = (float)(lo + hi);
    range.bins = (float)((255.0 + 1.0 - 1e-3) / range.span);
    range.whole = whole;
    range.open = open;
    return range;
}

/* What number 0..255 of a policy means in the data's units, and how much of them an amount is. */
MOT_FN float mot_range_at(const mot_range *range, double byte)
{
    return (float)(range->low + byte / 255.0 * range->span);
}

MOT_FN float mot_range_amount(const mot_range *range, double byte)
{
    return (float)(byte / 255.0 * range->span);
}

/* NaN stays NaN. */
MOT_FN float mot_range_clamp(const mot_range *range, float v)
{
    const float above = v < range->lo ? range->lo : v;
    return range->open ? v : above > range->hi ? range->hi : above;
}

/* torchvision's blend of `v` and what has the share `rest` = 1 - factor. */
MOT_FN float mot_range_mix(const mot_range *range, float v, float other, float factor, float rest)
{
    return mot_range_clamp(range, fmaf(other, rest, v * factor));
}

MOT_FN float mot_range_invert(const mot_range *range, float v)
{
    return range->whole && v > range->hi ? 0.0f : range->both - v;
}

/* In which of n equal parts of a whole range v is. A quotient that is not whole is further than half a unit in its last
 * place from the next whole number, so division does not round up to that. */
MOT_FN float mot_range_part(const mot_range *range, float v, float n)
{
    const float part = floorf(v * n / (range->hi + 1.0f));
    return part > n - 1.0f ? n - 1.0f : part;
}

MOT_FN float mot_range_of_part(const mot_range *range, float part, float n)
{
    return floorf(part * (range->hi + 1.0f) / n);
}

/* The byte by which a histogram counts v, as a float, and what a byte is in the data's units. NaN has none. */
MOT_FN float mot_range_bin(const mot_range *range, float v)
{
    if (range->whole)
        return mot_range_part(range, v, 256.0f);
    const float bin = truncf((v - range->lo) * range->bins);
    return bin < 0.0f ? 0.0f : bin > 255.0f ? 255.0f : bin;
}

MOT_FN float mot_range_of_bin(const mot_range *range, float bin)
{
    if (range->whole)
        return mot_range_of_part(range, bin, 256.0f);
    return bin * (float)(range->span / 255.0) + range->lo;
}

/* The luma of a pixel of three bands. */
MOT_FN float mot_wide_luma(const mot_range *range, float r, float g, float b)
{
    const float luma = fmaf(b, 0.114f, fmaf(g, 0.587f, r * 0.2989f));
    return range->whole ? floorf(luma) : luma;
}

/* What was computed, with one NaN for all: processors make different ones. */
MOT_FN float mot_wide_computed(float made)
{
    const uint32_t quiet = 0x7FC00000u;
    float none;
    memcpy(&none, &quiet, sizeof none);
    return made != made ? none : made;
}

/* Makes a component of what an op made of `v`: a whole number where the type has only these, else as it is. A NaN that
 * was read keeps its bits; one that was made gets those of all backends. */
MOT_FN float mot_wide_end(const mot_range *range, float v, float made)
{
    if (range->whole) {
#ifdef __CUDA_ARCH__ /* truncated by adding 2^23, which is cheaper and just as exact */
        return __fadd_rz(fminf(fmaxf(made, 0.0f), MOT_WIDE_FULL), 8388608.0f) - 8388608.0f;
#else
        made = truncf(made);
        return made > 0.0f ? (made < MOT_WIDE_FULL ? made : MOT_WIDE_FULL) : 0.0f;
#endif
    }
    return v != v ? v : mot_wide_computed(made);
}

/* A mean is made of whole numbers, whose sum has no order: of the components themselves, or of 2^-24 of the range. */
MOT_FN int64_t mot_wide_quantum(const mot_range *range, float v)
{
    const double at = ((double)v - range->low) * (0x1p24 / range->span), most = 2147483647.0;
    return range->whole ? (int64_t)v : (int32_t)rint(at < -most - 1.0 ? -most - 1.0 : at > most ? most : at);
}

/* The mean of n components, whose quanta have this sum; NaN if there are none. */
MOT_FN float mot_wide_mean(const mot_range *range, int64_t sum, uint32_t n)
{
    return range->whole ? (float)((double)sum / n) : (float)((double)sum * (range->span * 0x1p-24) / n + range->low);
}

/* What a STATS op's wide form sees of a band, NaN left out: what it declares that it needs. */
typedef struct mot_wide_stats {
    float lo, hi;      /* lowest and highest component; lo > hi if there is none */
    float mean;        /* of the luma, or of a band that is not one of three colours */
    float by_bin[256]; /* of a histogram: what the byte form makes of each bin, in the data's units */
} mot_wide_stats;

/* What STENCIL and FILTER ops add to their weighted sum: `offset` of 255, and what weights take from the black. */
MOT_FN float mot_wide_bias(const mot_range *range, double weights, double offset)
{
    return (float)(range->low * (1.0 - weights) + offset / 255.0 * range->span);
}

#endif
