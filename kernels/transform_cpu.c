/* SPDX-License-Identifier: Apache-2.0 */
/* A transform's pixel work other than ops and resizing: erased boxes. */
#include "kernels/cpu.h"

#include <string.h>

void mot_cpu_fill_row(const mot_view *dst, motley_dtype dtype, int32_t x, int32_t y, int32_t width,
                      const uint32_t *bits, int32_t bits_step)
{
    for (int32_t i = 0; i < width; i++)
        for (int c = 0; c < dst->channels; c++) {
            uint8_t *to = dst->data + y * dst->row + (x + i) * dst->pixel + c * dst->channel;
            const uint32_t value = bits[i * bits_step + c];
            if (dtype == MOTLEY_F32)
                memcpy(to, &value, 4);
            else if (dtype == MOTLEY_U8)
                *to = (uint8_t)value;
            else
                memcpy(to, &(uint16_t){ (uint16_t)value }, 2);
        }
}
