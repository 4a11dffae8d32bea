/* SPDX-License-Identifier: Apache-2.0 */
/* ERASE on the CPU: copies, then fills the rectangle. */
#ifndef MOT_ERASE_CPU_H
#define MOT_ERASE_CPU_H

#include "kernels/erase.h"
#include "kernels/lanes_cpu.h"

static void erase_fill(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count, (void)scratch;
    if (src->data != dst->data)
        mot_cpu_copy(src, dst);
    const mot_rect r = mot_erase_rect(steps[0].op, dst->width, dst->height, &steps[0].arg);
    for (int y = r.y0; y < r.y1; y++)
        for (int c = 0; c < dst->channels; c++) {
            uint8_t *out = dst->data + y * dst->row + c * dst->channel;
            for (int x = r.x0; x < r.x1; x++)
                out[x * dst->pixel] = steps[0].fill[c];
        }
}

#endif
