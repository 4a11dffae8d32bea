/* SPDX-License-Identifier: Apache-2.0 */
/* Hue by blocks of pixels in planes. The arithmetic of augmentations/hue.h without branches, for the compiler's
 * vectoriser. Two of the three quotients of a hue are 0 and 1, and of a colour's four numbers v, p, q and t, a sector
 * uses v, p and one of the others. tests/test_hue.c compares every colour. */
#ifndef MOT_HUE_CPU_H
#define MOT_HUE_CPU_H

#include "augmentations/hue.h"
#include "kernels/lanes_cpu.h"

#define HUE_BLOCK 128 /* pixels whose numbers stay in the L1 cache */

/* A block's pixels in 32 bits: loops over numbers of one size are what compilers vectorise. */
typedef struct hue_block {
    int32_t r[HUE_BLOCK], g[HUE_BLOCK], b[HUE_BLOCK];
    int32_t high[HUE_BLOCK], saturation[HUE_BLOCK], hue[HUE_BLOCK];
    int32_t sector[HUE_BLOCK], pale[HUE_BLOCK], whole[HUE_BLOCK], other[HUE_BLOCK];
    float turn[HUE_BLOCK]; /* the hue, 0..6 or -1..0 */
} hue_block;

static inline int32_t hue_max(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline int32_t hue_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* `a` or 0, without a branch, which SSE2 could not do otherwise. */
static inline int32_t hue_if(int32_t condition, int32_t a)
{
    return -condition & a;
}

static inline void hue_measure(hue_block *k)
{
    for (int i = 0; i < HUE_BLOCK; i++) {
        const int32_t r = k->r[i], g = k->g[i], b = k->b[i];
        const int32_t high = hue_max(r, hue_max(g, b)), low = hue_min(r, hue_min(g, b)), range = high - low;
        const float share = (float)(2 * high + low - r - g - b) / (float)hue_max(range, 1); /* of the middle one */
        /* The share counts from where a sector begins, or back from where it ends. */
        const int32_t back = r == high ? g >= b : g == high ? r < b : r > g;
        const int32_t from = r == high ? -1 : g == high ? 1 : 3;
        k->turn[i] = (float)(from + 2 * back) + (float)(1 - 2 * back) * share;
        k->high[i] = high;
        k->saturation[i] = (int32_t)(((float)(255 * range) + 0.5f) / (float)hue_max(high, 1));
    }
}
/* As mot_hue_byte does. */
static inline void hue_bytes(hue_block *k)
{
    for (int i = 0; i < HUE_BLOCK; i++) {
        const double whole = (double)k->turn[i] * (1.0 / 6.0) + 1.0;
        const float part = (float)(whole >= 1.0 ? whole - 1.0 : whole);
        k->hue[i] = (int32_t)((double)part * 255.0);
    }
}

static inline void hue_color(hue_block *k, int32_t value)
{
    for (int i = 0; i < HUE_BLOCK; i++) {
        const int32_t v = k->high[i], s = k->saturation[i], six = 6 * ((k->hue[i] + value) & 255);
        const int32_t sixth = (257 * six + 257) >> 16, fraction = six - 255 * sixth; /* over 255 */
        const int32_t sector = sixth == 6 ? 0 : sixth, share = sector & 1 ? fraction : 255 - fraction;
        const int32_t pale = v * (255 - s) + 128;
        k->sector[i] = sector;
        k->pale[i] = (pale + (pale >> 8)) >> 8; /* rounded, over 255 */
        k->whole[i] = v * (65025 - s * share) + 32512;
    }
    for (int i = 0; i < HUE_BLOCK; i++) { /* q or t: a number below 2^24, over 65025 */
        const int32_t whole = k->whole[i], near = (int32_t)((float)whole * (1.0f / 65025)), rest = whole - near * 65025;
        k->other[i] = near + (rest >= 65025) - (rest < 0);
    }
    for (int i = 0; i < HUE_BLOCK; i++) {
        const int32_t sector = k->sector[i], v = k->high[i], p = k->pale[i], other = k->other[i];
        k->r[i] = p + hue_if((sector == 0) | (sector == 5), v - p) + hue_if((sector == 1) | (sector == 4), other - p);
        k->g[i] = p + hue_if((sector == 1) | (sector == 2), v - p) + hue_if((sector == 0) | (sector == 3), other - p);
        k->b[i] = p + hue_if((sector == 3) | (sector == 4), v - p) + hue_if((sector == 2) | (sector == 5), other - p);
    }
}

/* Up to HUE_BLOCK pixels. */
static inline void hue_planes(uint8_t *red, uint8_t *green, uint8_t *blue, size_t n, uint8_t value)
{
    hue_block k = { 0 };
    for (size_t i = 0; i < n; i++)
        k.r[i] = red[i], k.g[i] = green[i], k.b[i] = blue[i];
    hue_measure(&k);
    hue_bytes(&k);
    hue_color(&k, value);
    for (size_t i = 0; i < n; i++)
        red[i] = (uint8_t)k.r[i], green[i] = (uint8_t)k.g[i], blue[i] = (uint8_t)k.b[i];
}

static void hue_pixels(const mot_view *image, uint8_t value)
{
    const int channels = image->channels, packed = image->pixel != 1;
    if (mot_color_channels(image) != 3)
        return;
    const lanes_runs runs = lanes_runs_of(image, image);
    for (int y = 0; y < runs.rows; y++)
        for (size_t x = 0; x < runs.length; x += HUE_BLOCK) {
            const size_t n = runs.length - x < HUE_BLOCK ? runs.length - x : HUE_BLOCK;
            uint8_t *const at = image->data + y * image->row + (int64_t)x * image->pixel;
            uint8_t plane[4][LANES_BLOCK];
            if (packed)
                lanes_split(at, channels, n, plane);
            if (packed)
                hue_planes(plane[0], plane[1], plane[2], n, value);
            else
                hue_planes(at, at + image->channel, at + 2 * image->channel, n, value);
            if (packed)
                lanes_merge((const uint8_t(*)[LANES_BLOCK])plane, channels, n, at);
        }
}

#endif
