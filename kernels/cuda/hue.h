/* SPDX-License-Identifier: Apache-2.0 */
/* Hue without branches, divisions or binary64: mot_hue of a pixel by a table that is made once for a shift. Equal for
 * every colour (tests/test_hue.c). Plain C on both sides.
 *
 * All numbers are whole, and a quotient's byte is rounded by adding 2^23, whose unit is 1. */
#ifndef MOT_CUDA_HUE_H
#define MOT_CUDA_HUE_H

#include "augmentations/hue.h"

#include <string.h>

/* By hue byte before the shift: which of v, p and x the channels become, as a selector of byte permutations (v is 0, p
 * 1, x 2, and 7 keeps the fourth byte), negative where Pillow's hue may be one less; and the fraction in x. */
typedef struct mot_hue_table {
    int16_t choice[256];
    uint8_t fraction[256];
} mot_hue_table;

/* Makes entry `hue`. */
MOT_FN void mot_hue_entry(mot_hue_table *table, int hue, uint32_t value)
{
    static const uint16_t choices[6] = { 0x7120, 0x7102, 0x7201, 0x7021, 0x7012, 0x7210 };
    const uint32_t six = 6 * (((uint32_t)hue + value) & 255), sector = six / 255, fraction = six % 255;
    const uint32_t at = sector == 6 ? 0 : sector;
    const uint64_t less = hue < 64    ? 0x00000000FFFFFFFEu
                          : hue < 128 ? 0x0000011111000000u
                          : hue < 192 ? 0x23232222222AAAAAu
                                      : 0x0000000000022222u;
    table->choice[hue] = (int16_t)(choices[at] | (less >> (hue & 63) & 1) << 15);
    table->fraction[hue] = (uint8_t)(at & 1 ? fraction : 255 - fraction);
}

#ifdef MOT_ON_DEVICE
#define mot_hue_reciprocal reciprocal_near
#define mot_hue_float __uint_as_float
#define mot_hue_bits __float_as_uint
#define mot_hue_permuted __byte_perm
#else
MOT_FN float mot_hue_reciprocal(float by)
{
    return 1.0f / by;
}

MOT_FN float mot_hue_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

MOT_FN uint32_t mot_hue_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

MOT_FN uint32_t mot_hue_permuted(uint32_t low, uint32_t high, uint32_t choice)
{
    const uint64_t bytes = (uint64_t)high << 32 | low;
    uint32_t out = 0;
    for (int i = 0; i < 4; i++)
        out |= (uint32_t)(bytes >> 8 * (choice >> 4 * i & 7) & 255) << 8 * i;
    return out;
}
#endif

/* Turns the hue of a pixel, whose first three bytes are red, green and blue. */
MOT_FN uint32_t mot_hue_turned(uint32_t px, const mot_hue_table *table)
{
    const float r = mot_hue_float(mot_hue_permuted(px, 0x4B000000u, 0x7440)); /* 2^23 more than the byte */
    const float g = mot_hue_float(mot_hue_permuted(px, 0x4B000000u, 0x7441));
    const float b = mot_hue_float(mot_hue_permuted(px, 0x4B000000u, 0x7442));
    const float high = fmaxf(fmaxf(r, g), b), range = high - fminf(fminf(r, g), b), v = high - 8388608.0f;
    const int red = r == high, green = g == high;
    const float from = red ? g : green ? b : r, less = red ? b : green ? r : g, at = red ? 0.0f : green ? 2.0f : 4.0f;
    const float turn = fmaf(at, range, from - less), whole = turn < 0 ? fmaf(6.0f, range, turn) : turn;
    /* the hue is 42.5 turns over the range, rounded down: an eighth over the range more, a half less; 1.5 * 2^23, since
     * the sum may be negative before it is rounded */
    const float number = fmaf(42.5f, whole, 0.125f);
    const float above = fmaf(fmaf(-0.5f, range, number), mot_hue_reciprocal(range), 12582912.0f);
    uint32_t hue = mot_hue_bits(above) & 255;
    int32_t choice = table->choice[hue];
    if (choice < 0 && fmaf(12582912.0f - above, range, number) == 0.125f)
        choice = table->choice[hue = (hue - 1) & 255];
    const float fraction = mot_hue_float(0x4B000000u | table->fraction[hue]) - 8388608.0f;
    const float s = fmaf(fmaf(255.0f, range, 0.5f), mot_hue_reciprocal(v), 8388607.5f) - 8388608.0f;
    const float p = fmaf(v * (255.0f - s), 1.0f / 255, 8388608.0f); /* to the nearest; 255 and 65025 are odd */
    const float x = fmaf(v * fmaf(-s, fraction, 65025.0f), 1.0f / 65025, 8388608.0f);
    const uint32_t three =
        mot_hue_permuted(mot_hue_permuted(mot_hue_bits(high), mot_hue_bits(p), 0x0040), mot_hue_bits(x), 0x0410);
    return range == 0 ? px : mot_hue_permuted(three, px, (uint32_t)choice);
}

#endif
