/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing on the CPU: one row of every image is kept as binary32 while their mixtures are written. */
#include "kernels/cpu.h"
#include "kernels/mix.h"

void mot_cpu_mix_read(const mot_view *src, motley_dtype dtype, int c, int32_t y, float *row)
{
    const uint8_t *in = src->data + y * src->row + c * src->channel;
    if (dtype == MOTLEY_F32 && src->pixel == (int64_t)sizeof *row) {
        memcpy(row, in, (size_t)src->width * sizeof *row);
        return;
    }
    for (int32_t x = 0; x < src->width; x++)
        row[x] = mot_component_get(in + x * src->pixel, (int)dtype);
}

/* The loop once for each type, so that the choice is made outside it. */
#define MIX_ROW(type) \
    for (int32_t x = 0; x < dst->width; x++) \
    mot_component_put(out + x * dst->pixel, type, mot_mix_value(own[x], other[x], lambda, rest, type))

void mot_cpu_mix_write(const motley_mixed *mixed, const float *own, const float *other, const mot_view *dst,
                       motley_dtype dtype, int c, int32_t y)
{
    uint8_t *out = dst->data + y * dst->row + c * dst->channel;
    if (mixed->kind != MOTLEY_MIX_MIXUP) {
        const motley_erased_box *box = &mixed->box;
        const int cut = mixed->kind == MOTLEY_MIX_CUTMIX && y >= box->top && y < box->top + box->height;
        for (int32_t x = 0; x < dst->width; x++) {
            const int theirs = cut && x >= box->left && x < box->left + box->width;
            mot_component_put(out + x * dst->pixel, (int)dtype, theirs ? other[x] : own[x]);
        }
        return;
    }
    const float lambda = (float)mixed->lambda, rest = (float)(1.0 - mixed->lambda);
    if (dtype == MOTLEY_F32)
        MIX_ROW(MOTLEY_F32);
    else if (dtype == MOTLEY_U8)
        MIX_ROW(MOTLEY_U8);
    else if (dtype == MOTLEY_F16)
        MIX_ROW(MOTLEY_F16);
    else
        MIX_ROW(MOTLEY_BF16);
}

/* The same for each type that is read. */
#define GATHER_ROW(type) \
    for (int32_t x = first; x < end; x++) \
    row[x] = mot_component_get(in + (columns[x] + shift) * src->pixel, type)

void mot_cpu_mix_gather(const mot_view *src, motley_dtype dtype, int c, int32_t y, const int32_t *columns,
                        int32_t shift, int32_t first, int32_t end, float *row)
{
    const uint8_t *in = src->data + y * src->row + c * src->channel;
    if (dtype == MOTLEY_F32)
        GATHER_ROW(MOTLEY_F32);
    else if (dtype == MOTLEY_U8)
        GATHER_ROW(MOTLEY_U8);
    else
        GATHER_ROW((int)dtype);
}

void mot_cpu_mix_blend(float *row, const float *other, int32_t first, int32_t end, double lambda, motley_dtype dtype)
{
    const float own = (float)lambda, rest = (float)(1.0 - lambda);
    for (int32_t x = first; x < end; x++)
        row[x] = mot_mix_value(row[x], other[x], own, rest, (int)dtype);
}
