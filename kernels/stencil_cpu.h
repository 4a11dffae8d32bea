/* SPDX-License-Identifier: Apache-2.0 */
/* STENCIL on the CPU: row by row, in place, with copies of the two unchanged rows above in scratch. Packed pixels are
 * one long row whose neighbours are `channels` bytes apart. Sharpness has dedicated vector code for images without
 * alpha, which keeps the sums along three rows. */
#ifndef MOT_STENCIL_CPU_H
#define MOT_STENCIL_CPU_H

#include "kernels/lanes_cpu.h"
#include "kernels/stencil.h"

#include "kernels/shapes_off.h"
#undef MOT_IF_STENCIL
#define MOT_IF_STENCIL(ID, stem) \
    case MOT_OP_##ID: \
        MOT_LANES \
        for (size_t i = step; i < n - step; i++) \
            out[i] = mot_##stem(centre[i], (uint32_t)(column[i - step] + column[i] + column[i + step]), &a); \
        break;

/* Writes out[step] .. out[n - step - 1]; `column` sums each byte with those above and below it. */
static void stencil_run(int op, const mot_arg *arg, const uint8_t *centre, const uint16_t *column, size_t step,
                        uint8_t *out, size_t n)
{
    const mot_arg a = *arg;
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        memmove(out, centre, n);
    }
}

#include "kernels/shapes_off.h"

/* One plane, or all channels of packed pixels: rows of n bytes. Channels behind the first `colors` stay. */
static void stencil_plane(const uint8_t *in, int64_t in_row, uint8_t *out, int64_t out_row, size_t n, int height,
                          int channels, int colors, const mot_step *step, uint8_t *scratch)
{
    const size_t room = (n + 63) / 64 * 64;
    uint8_t *above = scratch, *here = scratch + room;
    uint16_t *column = (uint16_t *)(void *)(scratch + 2 * room);
    memcpy(above, in, n);
    if (in != out)
        memcpy(out, in, n);
    for (int y = 1; y < height - 1; y++) {
        const uint8_t *under = in + (y + 1) * in_row;
        uint8_t *to = out + y * out_row;
        memcpy(here, in + y * in_row, n);
        for (size_t i = 0; i < n; i++)
            column[i] = (uint16_t)(above[i] + here[i] + under[i]);
        memcpy(to, here, (size_t)channels);
        stencil_run(step->op, &step->arg, here, column, (size_t)channels, to, n);
        memcpy(to + n - channels, here + n - channels, (size_t)channels);
        if (colors < channels)
            for (size_t i = (size_t)colors; i < n; i += (size_t)channels)
                to[i] = here[i];
        uint8_t *swap = above;
        above = here;
        here = swap;
    }
    if (height > 1 && in != out)
        memcpy(out + (height - 1) * out_row, in + (height - 1) * in_row, n);
}

static void stencil_by_rows(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    (void)count;
    if (src->width < 3 || src->height < 3) {
        if (src->data != dst->data)
            mot_cpu_copy(src, dst);
        return;
    }
    if (src->pixel != 1 || src->channels == 1) {
        stencil_plane(src->data, src->row, dst->data, dst->row, (size_t)src->width * (size_t)src->channels, src->height,
                      src->channels, mot_color_channels(src), &steps[0], scratch);
        return;
    }
    for (int c = 0; c < src->channels; c++) {
        const uint8_t *in = src->data + c * src->channel;
        uint8_t *out = dst->data + c * dst->channel;
        if (c < mot_color_channels(src))
            stencil_plane(in, src->row, out, dst->row, (size_t)src->width, src->height, 1, 1, &steps[0], scratch);
        else if (in != out)
            for (int y = 0; y < src->height; y++)
                memcpy(out + y * dst->row, in + y * src->row, (size_t)src->width);
    }
}

#ifdef MOT_HAS_VECTORS

/* mot_sharpness of words: a centre, and the sum of all nine bytes. */
static inline vector_half sharpen_words(vector_half centre, vector_half sum, float factor)
{
    return vector_blend_words(vector_smooth(centre, sum), centre, factor);
}

/* Sums each of a vector's bytes with its neighbours `step` bytes before and after it. */
static inline vector_words sharpen_along(const uint8_t *in, size_t step)
{
    return vector_add(vector_add(vector_widen(vector_load(in - step)), vector_widen(vector_load(in))),
                      vector_widen(vector_load(in + step)));
}

/* Where vector v of the bytes from `step` to n - step begins. The last vector ends with these bytes, so it overlaps the
 * one before it. */
static inline size_t sharpen_at(size_t v, size_t n, size_t step)
{
    const size_t i = step + v * VECTOR_BYTES, last = n - step - VECTOR_BYTES;
    return i < last ? i : last;
}

static inline void sharpen_row(const uint8_t *in, size_t n, size_t step, size_t vectors, vector_words *along)
{
    for (size_t v = 0; v < vectors; v++)
        along[v] = sharpen_along(in + sharpen_at(v, n, step), step);
}

static void sharpen_plane(const uint8_t *in, int64_t in_row, uint8_t *out, int64_t out_row, size_t n, int height,
                          size_t step, float factor, void *scratch)
{
    const size_t vectors = (n - 2 * step + VECTOR_BYTES - 1) / VECTOR_BYTES;
    vector_words *above = scratch, *here = above + vectors, *under = here + vectors;
    sharpen_row(in, n, step, vectors, above);
    sharpen_row(in + in_row, n, step, vectors, here);
    if (in != out)
        memcpy(out, in, n);
    for (int y = 1; y < height - 1; y++) {
        const uint8_t *from = in + y * in_row;
        uint8_t *to = out + y * out_row;
        sharpen_row(from + in_row, n, step, vectors, under);
        const vector last = vector_load(from + sharpen_at(vectors - 1, n, step)); /* before its bytes are written */
        if (in != out) {
            memcpy(to, from, step);
            memcpy(to + n - step, from + n - step, step);
        }
        for (size_t v = 0; v < vectors; v++) {
            const size_t i = sharpen_at(v, n, step);
            const vector_words sum = vector_add(vector_add(above[v], here[v]), under[v]);
            const vector_words centre = vector_widen(v + 1 < vectors ? vector_load(from + i) : last);
            vector_store(to + i, vector_narrow((vector_words){ sharpen_words(centre.low, sum.low, factor),
                                                               sharpen_words(centre.high, sum.high, factor) }));
        }
        vector_words *swap = above;
        above = here;
        here = under;
        under = swap;
    }
    if (in != out)
        memcpy(out + (height - 1) * out_row, in + (height - 1) * in_row, n);
}

static void stencil_sharpen(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch)
{
    const int planes = src->pixel == 1 ? src->channels : 1, step = src->channels / planes;
    if (src->height < 3 || (src->width - 2) * step < VECTOR_BYTES) {
        stencil_by_rows(src, dst, steps, count, scratch);
        return;
    }
    for (int c = 0; c < planes; c++)
        sharpen_plane(src->data + c * src->channel, src->row, dst->data + c * dst->channel, dst->row,
                      (size_t)src->width * (size_t)step, src->height, (size_t)step, steps[0].arg.factor, scratch);
}

#endif
#endif
