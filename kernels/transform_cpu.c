/* SPDX-License-Identifier: Apache-2.0 */
/* A transform's pixel work other than ops and resizing: windows, erased boxes. */
#include "kernels/cpu.h"

#include <string.h>

void mot_cpu_window(const mot_cpu_rows *rows, const mot_view *src, int32_t left, int32_t top, const uint8_t *fill,
                    const mot_view *dst)
{
    const int32_t x0 = left < 0 ? -left : 0, y0 = top < 0 ? -top : 0; /* in dst, where src begins */
    const int32_t x1 = src->width - left < dst->width ? src->width - left : dst->width;
    const int32_t y1 = src->height - top < dst->height ? src->height - top : dst->height;
    if (x0 > 0 || y0 > 0 || x1 < dst->width || y1 < dst->height)
        for (int32_t y = 0; y < dst->height; y++)
            for (int32_t x = 0; x < dst->width; x++)
                for (int c = 0; c < dst->channels; c++)
                    dst->data[y * dst->row + x * dst->pixel + c * dst->channel] = fill[c];
    if (x0 >= x1 || y0 >= y1)
        return;
    mot_view from = *src, to = *dst;
    from.data += (int64_t)(y0 + top) * src->row + (int64_t)(x0 + left) * src->pixel;
    to.data += y0 * dst->row + x0 * dst->pixel;
    from.width = to.width = x1 - x0;
    from.height = to.height = y1 - y0;
    rows->copy(&from, &to);
}

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
