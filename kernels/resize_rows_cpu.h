/* SPDX-License-Identifier: Apache-2.0 */
/* What a resize reads and makes on the CPU, and rows of images in and out, as packed pixels. Compiled once per
 * instruction set, by set_cpu.c. */
#ifndef MOT_RESIZE_ROWS_CPU_H
#define MOT_RESIZE_ROWS_CPU_H

#include "kernels/copy_cpu.h"
#include "kernels/lanes_cpu.h"
#include "kernels/resize_axis_cpu.h"
#include "kernels/warp.h"

#define RESIZE_PAD 64 /* bytes after a row in scratch that may be read and written */

static inline size_t resize_row_bytes(int width, int channels)
{
    return resize_round_up((size_t)width * (size_t)channels + RESIZE_PAD);
}

/* What is read of a picture: pixels of an image, and the fill around them. */
typedef struct resize_source {
    mot_view view;       /* the pixels */
    int width, height;   /* with the fill */
    int left, top;       /* where the pixels begin */
    const uint8_t *fill; /* by channel */
} resize_source;

/* A resize of those pixels that change a result, into that part of the result. */
typedef struct resize_task {
    resize_source src;
    mot_view dst;
    mot_resize_plan plan;
    mot_resize_axis axis[2]; /* columns, rows; of the whole picture */
    resize_span span[2];     /* what `dst` has of them */
    int flip;                /* the result is mirrored, left to right */
} resize_task;

static inline int resize_has_margins(const resize_source *src)
{
    return src->width != src->view.width || src->height != src->view.height;
}

/* Pixels of the fill in a packed row. */
static inline void resize_load_fill(uint8_t *row, int pixels, const uint8_t *fill, int channels)
{
    for (int x = 0; x < pixels; x++)
        for (int c = 0; c < channels; c++)
            row[x * channels + c] = fill[c];
}

/* Loads pixels of an image as a packed row. */
static void resize_load_pixels(const mot_view *src, int y, uint8_t *row)
{
    const uint8_t *in = src->data + y * src->row;
    const int channels = src->channels;
    if (mot_cpu_has_layout(src, MOT_LAYOUT_PACKED)) {
        memcpy(row, in, (size_t)src->width * (size_t)channels);
    } else if (has_rgb(src)) {
        copy_rgb(in, 4, row, 3, (size_t)src->width);
    } else if (src->pixel == 1) {
        uint8_t plane[4][LANES_BLOCK];
        for (int x = 0; x < src->width; x += LANES_BLOCK) {
            const size_t n = (size_t)(src->width - x < LANES_BLOCK ? src->width - x : LANES_BLOCK);
            for (int c = 0; c < channels; c++)
                memcpy(plane[c], in + c * src->channel + x, n);
            lanes_merge((const uint8_t(*)[LANES_BLOCK])plane, channels, n, row + (int64_t)x * channels);
        }
    } else {
        for (int x = 0; x < src->width; x++)
            for (int c = 0; c < channels; c++)
                row[x * channels + c] = in[x * src->pixel + c * src->channel];
    }
}

/* Loads a row as packed pixels. The bytes after it, which are read but count for nothing, are set, because tools
 * that follow bytes which nothing wrote, such as valgrind, do not see that their weight is 0. */
static void resize_load_row(const resize_source *src, int y, uint8_t *row, int opaque)
{
    const int channels = src->view.channels, right = src->left + src->view.width;
    if (y < src->top || y >= src->top + src->view.height) {
        resize_load_fill(row, src->width, src->fill, channels);
    } else {
        resize_load_fill(row, src->left, src->fill, channels);
        resize_load_pixels(&src->view, y - src->top, row + (int64_t)src->left * channels);
        resize_load_fill(row + (int64_t)right * channels, src->width - right, src->fill, channels);
    }
    memset(row + (size_t)src->width * (size_t)channels, 0, RESIZE_PAD);
    if (!opaque)
        for (int x = 0; x < src->width; x++)
            for (int c = 0; c < channels - 1; c++)
                row[x * channels + c] = mot_premultiply(row[x * channels + c], row[x * channels + channels - 1]);
}

/* Writes a packed row to dst; `row` may be changed. */
static void resize_put(uint8_t *row, const mot_view *dst, int y, int opaque)
{
    uint8_t *out = dst->data + y * dst->row;
    const int channels = dst->channels;
    if (!opaque)
        for (int x = 0; x < dst->width; x++)
            for (int c = 0; c < channels - 1; c++)
                row[x * channels + c] = mot_unpremultiply(row[x * channels + c], row[x * channels + channels - 1]);
    if (mot_cpu_has_layout(dst, MOT_LAYOUT_PACKED)) {
        memcpy(out, row, (size_t)dst->width * (size_t)channels);
    } else if (has_rgb(dst)) {
        copy_rgb(row, 3, out, 4, (size_t)dst->width);
    } else if (dst->pixel == 1) {
        uint8_t plane[4][LANES_BLOCK];
        for (int x = 0; x < dst->width; x += LANES_BLOCK) {
            const size_t n = (size_t)(dst->width - x < LANES_BLOCK ? dst->width - x : LANES_BLOCK);
            lanes_split(row + (int64_t)x * channels, channels, n, plane);
            for (int c = 0; c < channels; c++)
                memcpy(out + c * dst->channel + x, plane[c], n);
        }
    } else {
        for (int x = 0; x < dst->width; x++)
            for (int c = 0; c < channels; c++)
                out[x * dst->pixel + c * dst->channel] = row[x * channels + c];
    }
}

/* Mirrors a packed row in place. */
static void resize_mirror(uint8_t *row, int width, int channels)
{
    for (int a = 0, b = width - 1; a < b; a++, b--)
        for (int c = 0; c < channels; c++) {
            const uint8_t swap = row[a * channels + c];
            row[a * channels + c] = row[b * channels + c];
            row[b * channels + c] = swap;
        }
}

#endif
