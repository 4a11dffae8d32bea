/* SPDX-License-Identifier: Apache-2.0 */
/* Hue by tables, as the GPU computes it, and by each instruction set of the CPU is hue by divisions: for every
 * colour, each with some value. */
#include "kernels/cpu.h"
#include "kernels/cuda/hue.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 257 /* not whole vectors */

/* A row of colours, packed with an alpha or as planes, through a set's loop. */
static int turn_row(const mot_cpu_rows *set, uint32_t first, uint8_t value, int channels)
{
    uint8_t image[4 * WIDTH] = { 0 };
    const int pixel = channels == 4 ? 4 : 1, channel = channels == 4 ? 1 : WIDTH;
    const mot_view view = { image, WIDTH, 1, channels, channels == 4, pixel * WIDTH, pixel, channel };
    for (int x = 0; x < WIDTH; x++)
        for (int c = 0; c < channels; c++)
            image[x * pixel + c * channel] = (uint8_t)((first + (uint32_t)x) >> 8 * c);
    set->hue(&view, value);
    for (int x = 0; x < WIDTH; x++) {
        const uint32_t rgb = first + (uint32_t)x;
        uint8_t want[3] = { (uint8_t)rgb, (uint8_t)(rgb >> 8), (uint8_t)(rgb >> 16) };
        mot_hue(&want[0], &want[1], &want[2], value);
        for (int c = 0; c < channels; c++)
            if (image[x * pixel + c * channel] != (c < 3 ? want[c] : (uint8_t)(rgb >> 24))) {
                printf("%s: colour %06x turned by %d: component %d is %d\n", set->name, rgb, value, c,
                       image[x * pixel + c * channel]);
                return 1;
            }
    }
    return 0;
}

static int check_sets(void)
{
    const mot_cpu_rows *sets[MOT_CPU_SETS];
    const size_t count = mot_cpu_sets(sets);
    for (size_t s = 0; s < count; s++)
        for (uint32_t first = 0; first < 1u << 24; first += WIDTH)
            if (turn_row(sets[s], first, (uint8_t)(first * 2654435761u >> 24), first & 1 ? 3 : 4))
                return 1;
    return 0;
}

int main(void)
{
    static mot_hue_table tables[256];
    for (int value = 0; value < 256; value++)
        for (int hue = 0; hue < 256; hue++)
            mot_hue_entry(&tables[value], hue, (uint32_t)value);
    if (check_sets())
        return 1;
    for (uint32_t rgb = 0; rgb < 1u << 24; rgb++) {
        const uint8_t value = (uint8_t)(rgb * 2654435761u >> 24);
        uint8_t r = (uint8_t)rgb, g = (uint8_t)(rgb >> 8), b = (uint8_t)(rgb >> 16);
        mot_hue(&r, &g, &b, value);
        const uint32_t fourth = 0xA5000000u, want = fourth | r | (uint32_t)g << 8 | (uint32_t)b << 16;
        const uint32_t found = mot_hue_turned(fourth | rgb, &tables[value]);
        if (found != want) {
            printf("colour %06x turned by %u: %08x, want %08x\n", rgb, value, found, want);
            return 1;
        }
    }
    return 0;
}
