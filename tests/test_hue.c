/* SPDX-License-Identifier: Apache-2.0 */
/* Hue by reciprocals, as the GPU computes it, is hue by divisions: for every colour, each with some value. */
#include "augmentations/hue.h"

#include <stdio.h>
#include <string.h>

void turn_by_reciprocals(uint8_t pixel[3], uint8_t value);

int main(void)
{
    for (uint32_t rgb = 0; rgb < 1u << 24; rgb++) {
        const uint8_t color[3] = { (uint8_t)rgb, (uint8_t)(rgb >> 8), (uint8_t)(rgb >> 16) };
        const uint8_t value = (uint8_t)(rgb * 2654435761u >> 24);
        uint8_t want[3], found[3];
        memcpy(want, color, 3);
        memcpy(found, color, 3);
        mot_hue(&want[0], &want[1], &want[2], value);
        turn_by_reciprocals(found, value);
        if (memcmp(want, found, 3) != 0) {
            printf("color %u %u %u turned by %u: %u %u %u, want %u %u %u\n", color[0], color[1], color[2], value,
                   found[0], found[1], found[2], want[0], want[1], want[2]);
            return 1;
        }
    }
    return 0;
}
