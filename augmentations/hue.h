/* SPDX-License-Identifier: Apache-2.0 */
/* Hue: rotates the hue of a pixel through Pillow's HSV bytes. It is a stage's step (MOTLEY_STEP_HUE), not an op of the
 * table, because it needs all components of a pixel, and a COLOR op gets one component and the luma.
 *
 * Value    0..255, added to the hue byte: trunc(255 * shift) modulo 256, as in torchvision.
 * Matches  Pillow convert("HSV"), the hue's band plus the value, convert("RGB"), bit for bit for every colour. */
#ifndef MOT_HUE_H
#define MOT_HUE_H
#include "augmentations/op.h"

#include <math.h>

MOT_FN uint8_t mot_hue_value(double shift)
{
    return (uint8_t)((int)(shift * 255.0) & 255);
}

/* A division takes ten times as long as a product on the GPU, so these functions multiply by a rounded reciprocal
 * there. Results equal the division's for all numbers that occur (tests/test_hue.c). */
#if defined(__CUDA_ARCH__) || defined(MOT_HUE_RECIPROCALS)
MOT_FN float mot_hue_reciprocal(int by)
{
    return 1.0f / (float)by;
}

/* a / by for 0 <= a <= by; `reciprocal` is mot_hue_reciprocal(by). */
MOT_FN float mot_hue_share(int a, int by, float reciprocal)
{
    const float near = (float)a * reciprocal;
    return fmaf(fmaf(-near, (float)by, (float)a), reciprocal, near);
}

MOT_FN double mot_hue_sixth(double h)
{
    const double near = h * (1.0 / 6.0);
    return fma(fma(-near, 6.0, h), 1.0 / 6.0, near);
}

MOT_FN uint32_t mot_hue_saturation(int range, int high)
{
    return (uint32_t)(((float)(255 * range) + 0.5f) * mot_hue_reciprocal(high));
}

/* The red byte in a sector. Green's is that of the sector two before it, blue's of four before it. */
MOT_FN uint32_t mot_hue_wheel(uint32_t v, uint32_t q, uint32_t p, uint32_t t, uint32_t sector)
{
    return sector == 0 || sector == 5 ? v : sector == 1 ? q : sector == 4 ? t : p;
}
#else
MOT_FN float mot_hue_reciprocal(int by)
{
    (void)by;
    return 0;
}

MOT_FN float mot_hue_share(int a, int by, float reciprocal)
{
    (void)reciprocal;
    return (float)a / (float)by;
}

MOT_FN double mot_hue_sixth(double h)
{
    return h / 6.0;
}

MOT_FN uint32_t mot_hue_saturation(int range, int high)
{
    return 255u * (uint32_t)range / (uint32_t)high;
}

MOT_FN uint32_t mot_hue_wheel(uint32_t v, uint32_t q, uint32_t p, uint32_t t, uint32_t sector)
{
    const uint32_t wheel[6] = { v, q, p, p, t, v };
    return wheel[sector];
}
#endif

/* The hue byte of a colour. Pillow mixes binary32 and binary64, and each line here rounds as Pillow does. */
MOT_FN uint32_t mot_hue_byte(int r, int g, int b, int high, int range)
{
    const float by = mot_hue_reciprocal(range);
    const float rc = mot_hue_share(high - r, range, by), gc = mot_hue_share(high - g, range, by),
                bc = mot_hue_share(high - b, range, by);
    const float h = r == high   ? bc - gc
                    : g == high ? (float)(2.0 + (double)rc - (double)bc)
                                : (float)(4.0 + (double)gc - (double)rc);
    const double turn = mot_hue_sixth((double)h) + 1.0; /* 5/6 .. 11/6 */
    const float part = (float)(turn >= 1.0 ? turn - 1.0 : turn);
    return (uint32_t)((double)part * 255.0);
}

MOT_FN void mot_hue(uint8_t *red, uint8_t *green, uint8_t *blue, uint8_t value)
{
    const int r = *red, g = *green, b = *blue;
    const int high = r > g ? (r > b ? r : b) : g > b ? g : b, low = r < g ? (r < b ? r : b) : g < b ? g : b;
    const int range = high - low;
    if (range == 0)
        return; /* grey has no hue: with saturation 0 the pixel stays the same */
    const uint32_t hue = (mot_hue_byte(r, g, b, high, range) + value) & 255u;
    const uint32_t s = mot_hue_saturation(range, high), v = (uint32_t)high;
    const uint32_t sector = 6 * hue / 255, fraction = 6 * hue % 255;
    const uint32_t p = (2 * v * (255 - s) + 255) / 510;
    const uint32_t q = (2 * v * (65025 - s * fraction) + 65025) / 130050;
    const uint32_t t = (2 * v * (65025 - s * (255 - fraction)) + 65025) / 130050;
    const uint32_t at = sector % 6;
    if (s == 0) {
        *red = *green = *blue = (uint8_t)v;
        return;
    }
    *red = (uint8_t)mot_hue_wheel(v, q, p, t, at);
    *green = (uint8_t)mot_hue_wheel(v, q, p, t, (at + 4) % 6);
    *blue = (uint8_t)mot_hue_wheel(v, q, p, t, (at + 2) % 6);
}

#endif
