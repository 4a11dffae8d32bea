/* SPDX-License-Identifier: Apache-2.0 */
/* The reference resize: any strides, one component at a time, with the whole image between the passes. */
#include "kernels/cpu.h"
#include "kernels/warp.h"

static uint8_t *at(const mot_view *view, int x, int y, int c)
{
    return view->data + y * view->row + x * view->pixel + c * view->channel;
}

/* A packed image in scratch. */
static mot_view packed(uint8_t *memory, int width, int height, const mot_view *like)
{
    mot_view view = *like;
    view.data = memory;
    view.width = width;
    view.height = height;
    view.pixel = like->channels;
    view.row = view.pixel * width;
    view.channel = 1;
    return view;
}

/* One pass: along x, or along y (`down`). weight and exact have room for the axis's taps. */
static void pass(const mot_view *src, const mot_view *dst, const mot_resize *how, int down, int32_t *weight,
                 double *exact)
{
    const mot_resize_axis axis =
        down ? mot_resize_axis_of(how->filter, src->height, how->box[1], how->box[3], dst->height)
             : mot_resize_axis_of(how->filter, src->width, how->box[0], how->box[2], dst->width);
    for (int i = 0; i < axis.out; i++) {
        int first;
        const int count = mot_resize_weights(&axis, i, &first, weight, exact);
        for (int j = 0; j < (down ? dst->width : dst->height); j++)
            for (int c = 0; c < src->channels; c++) {
                int32_t sum = 0;
                for (int t = 0; t < count; t++)
                    sum += weight[t] * (down ? *at(src, j, first + t, c) : *at(src, first + t, j, c));
                *(down ? at(dst, j, i, c) : at(dst, i, j, c)) = mot_resize_byte(sum);
            }
    }
}

static void copy(const mot_view *src, const mot_view *dst, int left, int top)
{
    for (int y = 0; y < dst->height; y++)
        for (int x = 0; x < dst->width; x++)
            for (int c = 0; c < dst->channels; c++)
                *at(dst, x, y, c) = *at(src, x + left, y + top, c);
}

static void nearest(const mot_view *src, const mot_view *dst, const mot_resize *how, int *index)
{
    int *column = index, *row = index + dst->width;
    mot_resize_nearest(src->width, how->box[0], how->box[2], dst->width, column);
    mot_resize_nearest(src->height, how->box[1], how->box[3], dst->height, row);
    for (int y = 0; y < dst->height; y++)
        for (int x = 0; x < dst->width; x++)
            for (int c = 0; c < dst->channels; c++)
                *at(dst, x, y, c) = column[x] < 0 || row[y] < 0 ? 0 : *at(src, column[x], row[y], c);
}

static void change_alpha(const mot_view *view, uint8_t (*change)(uint8_t, uint8_t))
{
    const int alpha = view->channels - 1;
    for (int y = 0; y < view->height; y++)
        for (int x = 0; x < view->width; x++)
            for (int c = 0; c < alpha; c++)
                *at(view, x, y, c) = change(*at(view, x, y, c), *at(view, x, y, alpha));
}

static uint8_t premultiply(uint8_t v, uint8_t alpha)
{
    return mot_premultiply(v, alpha);
}

static uint8_t unpremultiply(uint8_t v, uint8_t alpha)
{
    return mot_unpremultiply(v, alpha);
}

/* Runs the passes that are needed. Scratch holds the image that is read, the one between the passes, and weights. */
static void resample(const mot_view *src, const mot_view *dst, const mot_resize *how, const mot_resize_plan *plan,
                     uint8_t *scratch)
{
    const int width = dst->width > src->width ? dst->width : src->width;
    const int height = dst->height > src->height ? dst->height : src->height;
    double *exact = (double *)(void *)scratch;
    int32_t *weight = (int32_t *)(void *)(exact + (src->width > src->height ? src->width : src->height));
    uint8_t *memory = (uint8_t *)(weight + (src->width > src->height ? src->width : src->height));
    mot_view from = *src;
    if (!plan->opaque) {
        from = packed(memory + (int64_t)width * height * src->channels, src->width, src->height, src);
        copy(src, &from, 0, 0);
        change_alpha(&from, premultiply);
    }
    if (plan->columns && plan->rows) {
        const mot_view between = packed(memory, plan->rows_first ? src->width : dst->width,
                                        plan->rows_first ? dst->height : src->height, src);
        pass(&from, &between, how, plan->rows_first, weight, exact);
        pass(&between, dst, how, !plan->rows_first, weight, exact);
    } else {
        pass(&from, dst, how, plan->rows, weight, exact);
    }
    if (!plan->opaque)
        change_alpha(dst, unpremultiply);
}

void mot_resize_reference(const mot_view *src, const mot_view *to, const mot_resize *how, void *scratch)
{
    mot_view dst = *to;
    if (how->flip) { /* written from right to left */
        dst.data += (dst.width - 1) * dst.pixel;
        dst.pixel = -dst.pixel;
    }
    const mot_resize_plan plan = mot_resize_plan_of(how, src->width, src->height, dst.width, dst.height, src->alpha);
    if (plan.crop) {
        copy(src, &dst, plan.left, plan.top);
        if (!plan.opaque) {
            change_alpha(&dst, premultiply);
            change_alpha(&dst, unpremultiply);
        }
    } else if (how->filter == MOTLEY_FILTER_NEAREST) {
        nearest(src, &dst, how, scratch);
    } else {
        resample(src, &dst, how, &plan, scratch);
    }
}

size_t mot_resize_reference_scratch(int32_t width, int32_t height, int32_t out_width, int32_t out_height,
                                    int32_t channels)
{
    const size_t w = (size_t)(width > out_width ? width : out_width);
    const size_t h = (size_t)(height > out_height ? height : out_height);
    return (sizeof(double) + sizeof(int32_t)) * (w + h) + 2 * w * h * (size_t)channels;
}
