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

/* The loops once for each type, so that the choice is made outside them. */
#define MIX_ROW(type) \
    for (int32_t x = 0; x < dst->width; x++) \
    mot_component_put(out + x * dst->pixel, type, mot_mix_value(own[x], other[x], lambda, rest, type))
#define CHOOSE_ROW(type) \
    for (int32_t x = 0; x < dst->width; x++) \
    mot_component_put(out + x * dst->pixel, type, cut[x] ? other[x] : own[x])

void mot_cpu_mix_write(const motley_mixed *mixed, const float *own, const float *other, const uint8_t *cut,
                       const mot_view *dst, motley_dtype dtype, int c, int32_t y)
{
    uint8_t *out = dst->data + y * dst->row + c * dst->channel;
    if (mixed->kind == MOTLEY_MIX_INSTANCES) {
        if (dtype == MOTLEY_F32)
            CHOOSE_ROW(MOTLEY_F32);
        else
            CHOOSE_ROW((int)dtype);
        return;
    }
    if (mixed->kind != MOTLEY_MIX_MIXUP) {
        const motley_erased_box *box = &mixed->box;
        const int cuts = mixed->kind == MOTLEY_MIX_CUTMIX && y >= box->top && y < box->top + box->height;
        for (int32_t x = 0; x < dst->width; x++) {
            const int theirs = cuts && x >= box->left && x < box->left + box->width;
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

void mot_cpu_mix_cut(const uint8_t *planes, const motley_paste *pastes, int32_t count, int32_t width, int32_t height,
                     int32_t grow, int32_t y, uint8_t *row, uint8_t *cut)
{
    const int64_t pixels = (int64_t)width * height;
    const int32_t first = y > grow ? y - grow : 0, last = height - 1 - y > grow ? y + grow : height - 1;
    memset(row, 0, (size_t)width);
    for (int32_t k = 0; k < count; k++)
        for (int32_t from = first; from <= last; from++) {
            const uint8_t *const mask = planes + pastes[k].object * pixels + (int64_t)from * width;
            for (int32_t x = 0; x < width; x++)
                row[x] |= mask[x];
        }
    memcpy(cut, row, (size_t)width);
    for (int32_t shift = 1; shift <= grow && shift < width; shift++)
        for (int32_t x = shift; x < width; x++) {
            cut[x] |= row[x - shift];
            cut[x - shift] |= row[x];
        }
}

motley_extent mot_cpu_mix_mask(const uint8_t *mask, const uint8_t *cut, int32_t width, int32_t height, uint8_t *out)
{
    motley_extent extent = MOT_NO_EXTENT;
    for (int32_t y = 0; y < height; y++, mask += width, out += width) {
        int32_t pixels = 0;
        for (int32_t x = 0; x < width; x++) {
            out[x] = cut && cut[x] ? 0 : mask[x];
            pixels += out[x] != 0;
        }
        if (cut)
            cut += width;
        if (pixels == 0)
            continue;
        int32_t left = 0, right = width - 1;
        while (!out[left])
            left++;
        while (!out[right])
            right--;
        extent.pixels += pixels;
        extent.left = left < extent.left ? left : extent.left;
        extent.right = right > extent.right ? right : extent.right;
        extent.top = y < extent.top ? y : extent.top;
        extent.bottom = y;
    }
    return extent;
}
