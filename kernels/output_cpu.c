/* SPDX-License-Identifier: Apache-2.0 */
/* The optional last step on the CPU, for any strides and types: one table look-up for each component. */
#include "kernels/cpu.h"
#include "kernels/output.h"

void mot_cpu_make_output(const mot_output_as *as, int32_t channels, uint32_t (*table)[256])
{
    for (int c = 0; c < channels; c++)
        for (int v = 0; v < 256; v++)
            table[c][v] = mot_output_entry(as, 256 * c + v);
}

void mot_cpu_make_channels(const mot_output_as *as, int32_t channels, mot_output_channel *made)
{
    for (int c = 0; c < channels; c++) {
        for (int v = 0; v < 256; v++)
            made[c].bits[v] = mot_output_entry(as, 256 * c + v);
        made[c].products = mot_output_products_of(as, c, made[c].bits);
    }
}

void mot_cpu_write_output(const mot_view *src, const mot_view *dst, motley_dtype dtype,
                          const mot_output_channel *channels)
{
    for (int y = 0; y < src->height; y++)
        for (int c = 0; c < src->channels; c++) {
            const uint8_t *in = src->data + y * src->row + c * src->channel;
            uint8_t *out = dst->data + y * dst->row + c * dst->channel;
            if (dtype == MOTLEY_F32)
                for (int x = 0; x < src->width; x++)
                    *(uint32_t *)(void *)(out + x * dst->pixel) = channels[c].bits[in[x * src->pixel]];
            else if (dtype == MOTLEY_U8)
                for (int x = 0; x < src->width; x++)
                    out[x * dst->pixel] = in[x * src->pixel];
            else
                for (int x = 0; x < src->width; x++)
                    *(uint16_t *)(void *)(out + x * dst->pixel) = (uint16_t)channels[c].bits[in[x * src->pixel]];
        }
}
