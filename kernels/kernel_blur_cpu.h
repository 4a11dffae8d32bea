/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's blur by rows: as many rows as the kernel has, as binary32 with mirrored ends, in a ring. */
#ifndef MOT_KERNEL_BLUR_CPU_H
#define MOT_KERNEL_BLUR_CPU_H

#include "augmentations/kernel_blur.h"
#include "kernels/cpu.h"

#define KERNEL_BLUR_BLOCK 64 /* components whose sums stay in registers */

/* One row with size / 2 mirrored pixels at each end, channels side by side. */
static void kernel_blur_load(const mot_view *src, int32_t y, int size, float *row)
{
    const int32_t reach = size / 2;
    const uint8_t *const from = src->data + y * src->row;
    for (int32_t x = -reach; x < src->width + reach; x++)
        for (int c = 0; c < src->channels; c++)
            *row++ = from[mot_mirror(x, src->width) * src->pixel + c * src->channel];
}

static void kernel_blur(const mot_view *src, const mot_view *dst, const float *half, int size, void *scratch)
{
    const int32_t reach = size / 2, channels = src->channels, components = src->width * channels;
    const size_t row_length = mot_cpu_kernel_blur_row(src->width, channels);
    float *const ring = scratch;
    int32_t loaded = 0;
    for (int32_t y = 0; y < src->height; y++) {
        for (; loaded < src->height && loaded <= y + reach; loaded++)
            kernel_blur_load(src, loaded, size, ring + (size_t)(loaded % size) * row_length);
        for (int32_t begin = 0; begin < components; begin += KERNEL_BLUR_BLOCK) {
            float sum[KERNEL_BLUR_BLOCK] = { 0 };
            for (int ky = -reach; ky <= reach; ky++) {
                const float *const row = ring + (size_t)(mot_mirror(y + ky, src->height) % size) * row_length + begin;
                for (int kx = -reach; kx <= reach; kx++) {
                    const float weight = half[ky < 0 ? -ky : ky] * half[kx < 0 ? -kx : kx];
                    const float *const from = row + (kx + reach) * channels;
                    for (int i = 0; i < KERNEL_BLUR_BLOCK; i++)
                        sum[i] = fmaf(weight, from[i], sum[i]);
                }
            }
            uint8_t bytes[KERNEL_BLUR_BLOCK];
            for (int i = 0; i < KERNEL_BLUR_BLOCK; i++)
                bytes[i] = mot_kernel_blur_byte(sum[i]);
            const int32_t n = components - begin < KERNEL_BLUR_BLOCK ? components - begin : KERNEL_BLUR_BLOCK;
            for (int32_t i = 0; i < n; i++) {
                const int32_t x = (begin + i) / channels, c = (begin + i) % channels;
                dst->data[y * dst->row + x * dst->pixel + c * dst->channel] = bytes[i];
            }
        }
    }
}

#endif
