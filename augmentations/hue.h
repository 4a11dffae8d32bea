/* SPDX-License-Identifier: Apache-2.0 */
/* Hue: rotates the hue of a pixel through Pillow's HSV bytes. It is a stage's step (MOTLEY_STEP_HUE), not an op of the
 * table, because it needs all components of a pixel, and a COLOR op gets one component and the luma.
 *
 * Value    0..255, added to the hue byte: trunc(255 * shift) modulo 256, as in torchvision.
 * Matches  Pillow convert("HSV"), the hue's band plus the value, convert("RGB"), bit for bit for every colour.
 * kernels/cuda/hue.h is a faster form. */
#ifndef MOT_HUE_H
#define MOT_HUE_H
#include "augmentations/op.h"

#include <math.h>

MOT_FN uint8_t mot_hue_value(double shift)
{
    return (uint8_t)((int)(shift * 255.0) & 255);
}

/* The hue byte of a colour. Pillow mixes binary32 and binary64, and each line here rounds as Pillow does. */
MOT_FN uint32_t mot_hue_byte(int r, int g, int b, int high, int range)
{
    const float by = (float)range;
    const float rc = (float)(high - r) / by, gc = (float)(high - g) / by, bc = (float)(high - b) / by;
    const float h = r == high   ? bc - gc
                    : g == high ? (float)(2.0 + (double)rc - (double)bc)
                                : (float)(4.0 + (double)gc - (double)rc);
    const double turn = (double)h / 6.0 + 1.0; /* 5/6 .. 11/6 */
    const float part = (float)(turn >= 1.0 ? turn - 1.0 : turn);
    return (uint32_t)((double)part * 255.0);
}

MOT_FN uint32_t mot_hue_saturation(int range, int high)
{
    return 255u * (uint32_t)range / (uint32_t)high;
}

MOT_FN void mot_hue(uint8_t *red, uint8_t *green, uint8_t *blue, uint8_t value)
{
    const int r = *red, g = *green, b = *blue;
    const int high = r > g ? (r > b ? r : b) : g > b ? g : b, low = r < g ? (r < b ? r : b) : g < b ? g : b;
    const int range = high - low;
    if (range == 0)
        return; /* grey has no hue: with saturation 0 the pixel stays the same */
    const uint32_t hue = (mot_hue_byte(r, g, b, high, range) + value) & 255u;
    const uint32_t s = mot_hue_saturation(range, high), v = (uint32_t)high; /* s is at least 1 */
    const uint32_t sector = 6 * hue / 255, fraction = 6 * hue % 255, at = sector == 6 ? 0 : sector;
    const uint32_t p = (2 * v * (255 - s) + 255) / 510;
    const uint32_t x = (2 * v * (65025 - s * (at & 1 ? fraction : 255 - fraction)) + 65025) / 130050;
    *red = (uint8_t)(at == 0 || at == 5 ? v : at == 1 || at == 4 ? x : p);
    *green = (uint8_t)(at == 1 || at == 2 ? v : at == 0 || at == 3 ? x : p);
    *blue = (uint8_t)(at == 3 || at == 4 ? v : at == 2 || at == 5 ? x : p);
}

#endif
