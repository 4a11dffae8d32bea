/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: every shape on any strides, written for reading. The fast kernels and CUDA must write its bits. */
#include "augmentations/hue.h"
#include "augmentations/kernel_blur.h"
#include "augmentations/permute.h"
#include "kernels/augmix_cpu.h"
#include "kernels/blur.h"
#include "kernels/color.h"
#include "kernels/cpu.h"
#include "kernels/erase.h"
#include "kernels/filter.h"
#include "kernels/point.h"
#include "kernels/stats.h"
#include "kernels/stencil.h"
#include "kernels/warp.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *at(const mot_view *view, int x, int y, int c)
{
    return view->data + y * view->row + x * view->pixel + c * view->channel;
}

/* Copies the channel that colour ops do not change. */
static void copy_alpha(const mot_view *src, const mot_view *dst)
{
    for (int c = mot_color_channels(src); c < src->channels; c++)
        for (int y = 0; y < src->height; y++)
            for (int x = 0; x < src->width; x++)
                *at(dst, x, y, c) = *at(src, x, y, c);
}

/* What colour ops and means take for the brightness of component c of a pixel: its pixel's luma, or, of a grey image or
 * a band, the component. */
static uint8_t luma_at(const mot_view *view, int x, int y, int c)
{
    if (mot_color_channels(view) != 3)
        return *at(view, x, y, c);
    return mot_luma(*at(view, x, y, 0), *at(view, x, y, 1), *at(view, x, y, 2));
}

static void point(const mot_view *src, const mot_view *dst, const mot_step *step, int count, void *scratch)
{
    (void)count, (void)scratch;
    for (int c = 0; c < mot_color_channels(src); c++)
        for (int y = 0; y < src->height; y++)
            for (int x = 0; x < src->width; x++)
                *at(dst, x, y, c) = mot_point_value(step->op, *at(src, x, y, c), &step->arg);
    copy_alpha(src, dst);
}

static void color(const mot_view *src, const mot_view *dst, const mot_step *step, int count, void *scratch)
{
    (void)count, (void)scratch;
    for (int y = 0; y < src->height; y++)
        for (int x = 0; x < src->width; x++) {
            uint8_t luma[4];
            for (int c = 0; c < mot_color_channels(src); c++)
                luma[c] = luma_at(src, x, y, c);
            for (int c = 0; c < mot_color_channels(src); c++)
                *at(dst, x, y, c) = mot_color_value(step->op, *at(src, x, y, c), luma[c], &step->arg);
        }
    copy_alpha(src, dst);
}

static void stats(const mot_view *src, const mot_view *dst, const mot_step *step, int count, void *scratch)
{
    (void)count, (void)scratch;
    uint64_t luma_sum[4] = { 0 };
    for (int y = 0; y < src->height; y++)
        for (int x = 0; x < src->width; x++)
            for (int c = 0; c < mot_color_channels(src); c++)
                luma_sum[c] += luma_at(src, x, y, c);

    for (int c = 0; c < mot_color_channels(src); c++) {
        uint32_t histogram[256] = { 0 };
        for (int y = 0; y < src->height; y++)
            for (int x = 0; x < src->width; x++)
                histogram[*at(src, x, y, c)]++;
        mot_stats known;
        mot_stats_of_histogram(histogram, &known);
        known.mean = mot_stats_mean(luma_sum[c], known.n);
        for (int y = 0; y < src->height; y++)
            for (int x = 0; x < src->width; x++)
                *at(dst, x, y, c) = mot_stats_value(step->op, *at(src, x, y, c), &known, &step->arg);
    }
    copy_alpha(src, dst);
}

static void stencil(const mot_view *src, const mot_view *dst, const mot_step *step, int count, void *scratch)
{
    (void)count, (void)scratch;
    for (int c = 0; c < mot_color_channels(src); c++)
        for (int y = 0; y < src->height; y++)
            for (int x = 0; x < src->width; x++) {
                const uint8_t centre = *at(src, x, y, c);
                if (x == 0 || y == 0 || x == src->width - 1 || y == src->height - 1) {
                    *at(dst, x, y, c) = centre;
                    continue;
                }
                uint32_t sum = 0;
                for (int j = -1; j <= 1; j++)
                    for (int i = -1; i <= 1; i++)
                        sum += *at(src, x + i, y + j, c);
                *at(dst, x, y, c) = mot_stencil_value(step->op, centre, sum, &step->arg);
            }
    copy_alpha(src, dst);
}

static void filter(const mot_view *src, const mot_view *dst, const mot_step *step, int count, void *scratch)
{
    (void)count, (void)scratch;
    const mot_filter *const f = mot_filter_of(step->op);
    for (int c = 0; c < mot_color_channels(src); c++)
        for (int y = 0; y < src->height; y++)
            for (int x = 0; x < src->width; x++) {
                if (x < f->reach || y < f->reach || x >= src->width - f->reach || y >= src->height - f->reach) {
                    *at(dst, x, y, c) = *at(src, x, y, c);
                    continue;
                }
                const float *weight = f->weight;
                float sum = f->offset + 0.5f;
                for (int j = f->reach; j >= -f->reach; j--) {
                    float row = 0;
                    for (int i = -f->reach; i <= f->reach; i++)
                        row += (float)*at(src, x + i, y + j, c) * (*weight++ / f->divisor);
                    sum += row;
                }
                *at(dst, x, y, c) = mot_byte(sum);
            }
    copy_alpha(src, dst);
}

/* One box pass along a line of n components. */
static void blur_line(const uint8_t *in, uint8_t *out, int64_t n, const mot_step *step)
{
    const int64_t radius = mot_blur_radius(&step->arg);
    for (int64_t i = 0; i < n; i++) {
        uint32_t inner = 0;
        for (int64_t k = i - radius; k <= i + radius; k++)
            inner += in[k < 0 ? 0 : k >= n ? n - 1 : k];
        const int64_t before = i - radius - 1, after = i + radius + 1;
        const uint32_t edges = (uint32_t)in[before < 0 ? 0 : before] + in[after >= n ? n - 1 : after];
        out[i] = mot_blur_value(step->op, inner, inner + edges, &step->arg);
    }
}

/* Runs all passes along the line of n components that begins at `from`. */
static void blur_passes(const uint8_t *from, int64_t from_stride, uint8_t *to, int64_t to_stride, int64_t n,
                        const mot_step *step, uint8_t *scratch)
{
    uint8_t *line = scratch, *next = scratch + n;
    for (int64_t i = 0; i < n; i++)
        line[i] = from[i * from_stride];
    for (int pass = 0; pass < MOT_BLUR_PASSES; pass++) {
        blur_line(line, next, n, step);
        uint8_t *swap = line;
        line = next;
        next = swap;
    }
    for (int64_t i = 0; i < n; i++)
        to[i * to_stride] = line[i];
}

static void blur(const mot_view *src, const mot_view *dst, const mot_step *step, int count, void *scratch)
{
    (void)count;
    for (int c = 0; c < src->channels; c++) {
        for (int y = 0; y < src->height; y++)
            blur_passes(at(src, 0, y, c), src->pixel, at(dst, 0, y, c), dst->pixel, src->width, step, scratch);
        for (int x = 0; x < src->width; x++)
            blur_passes(at(dst, x, 0, c), dst->row, at(dst, x, 0, c), dst->row, src->height, step, scratch);
    }
}

static void erase(const mot_view *src, const mot_view *dst, const mot_step *step, int count, void *scratch)
{
    (void)count, (void)scratch;
    const mot_rect r = mot_erase_rect(step->op, src->width, src->height, &step->arg);
    for (int c = 0; c < src->channels; c++)
        for (int y = 0; y < src->height; y++)
            for (int x = 0; x < src->width; x++) {
                const int inside = x >= r.x0 && x < r.x1 && y >= r.y0 && y < r.y1;
                *at(dst, x, y, c) = inside ? step->fill[c] : *at(src, x, y, c);
            }
}

/* Writes input pixel (in_x, in_y), or the fill when there is none, to output pixel (x, y). */
static void move_pixel(const mot_view *src, const mot_view *dst, const mot_step *step, int in_x, int in_y, int x, int y)
{
    const int outside = in_x < 0 || in_y < 0;
    for (int c = 0; c < src->channels; c++)
        *at(dst, x, y, c) = outside ? step->fill[c] : *at(src, in_x, in_y, c);
}

static void warp_fixed(const mot_view *src, const mot_view *dst, const mot_step *step, const mot_warp_plan *plan)
{
    for (int y = 0; y < src->height; y++)
        for (int x = 0; x < src->width; x++) {
            int in_x, in_y;
            if (!mot_warp_fixed(plan, x, y, &in_x, &in_y))
                in_x = -1;
            move_pixel(src, dst, step, in_x, in_y, x, y);
        }
}

static void warp_scale(const mot_view *src, const mot_view *dst, const mot_step *step, const mot_warp_plan *plan)
{
    double row = mot_warp_first_row(plan);
    for (int y = 0; y < src->height; y++, row += plan->m[4]) {
        double column = mot_warp_first_column(plan);
        for (int x = 0; x < src->width; x++, column += plan->m[0])
            move_pixel(src, dst, step, mot_warp_index(column, src->width), mot_warp_index(row, src->height), x, y);
    }
}

static void warp_double(const mot_view *src, const mot_view *dst, const mot_step *step, const mot_warp_plan *plan)
{
    double row_x, row_y;
    mot_warp_double_start(plan, &row_x, &row_y);
    for (int y = 0; y < src->height; y++, row_x += plan->m[1], row_y += plan->m[4]) {
        double in_x = row_x, in_y = row_y;
        for (int x = 0; x < src->width; x++, in_x += plan->m[0], in_y += plan->m[3])
            move_pixel(src, dst, step, mot_warp_index(in_x, src->width), mot_warp_index(in_y, src->height), x, y);
    }
}

/* A component for interpolation: the nearest one inside the image, premultiplied if the image has alpha. */
static uint8_t tap(const mot_view *src, int x, int y, int c)
{
    const int alpha = mot_color_channels(src);
    x = mot_warp_clamp(x, src->width);
    y = mot_warp_clamp(y, src->height);
    const uint8_t v = *at(src, x, y, c);
    return c < alpha && alpha < src->channels ? mot_premultiply(v, *at(src, x, y, alpha)) : v;
}

static uint8_t interpolate(const mot_view *src, int path, int i, int j, double dx, double dy, int c)
{
    if (path == MOT_WARP_BILINEAR)
        return mot_warp_bilinear(tap(src, i, j, c), tap(src, i + 1, j, c), tap(src, i, j + 1, c),
                                 tap(src, i + 1, j + 1, c), dx, dy);
    double row[4];
    for (int k = 0; k < 4; k++)
        row[k] = mot_warp_cubic(tap(src, i - 1, j - 1 + k, c), tap(src, i, j - 1 + k, c), tap(src, i + 1, j - 1 + k, c),
                                tap(src, i + 2, j - 1 + k, c), dx);
    return mot_warp_bicubic(row[0], row[1], row[2], row[3], dy);
}

static void warp_between(const mot_view *src, const mot_view *dst, const mot_step *step, const mot_warp_plan *plan)
{
    const int alpha = mot_color_channels(src);
    for (int y = 0; y < src->height; y++)
        for (int x = 0; x < src->width; x++) {
            int i = 0, j = 0;
            double dx = 0, dy = 0;
            uint8_t pixel[4];
            const int inside = mot_warp_between(plan, x, y, &i, &j, &dx, &dy);
            for (int c = 0; c < src->channels; c++)
                pixel[c] = inside ? interpolate(src, plan->path, i, j, dx, dy, c) : step->fill[c];
            for (int c = 0; c < src->channels; c++)
                *at(dst, x, y, c) =
                    c < alpha && alpha < src->channels ? mot_unpremultiply(pixel[c], pixel[alpha]) : pixel[c];
        }
}

static void warp(const mot_view *src, const mot_view *dst, const mot_step *step, int count, void *scratch)
{
    (void)count, (void)scratch;
    mot_warp_plan plan;
    mot_warp_make_plan(step->op, src->width, src->height, &step->arg, step->interpolation, &plan);
    if (plan.path == MOT_WARP_FIXED)
        warp_fixed(src, dst, step, &plan);
    else if (plan.path == MOT_WARP_SCALE)
        warp_scale(src, dst, step, &plan);
    else if (plan.path == MOT_WARP_DOUBLE)
        warp_double(src, dst, step, &plan);
    else
        warp_between(src, dst, step, &plan);
}

#define ROW(SHAPE, in_place_, function) \
    { \
        .shape = MOTLEY_SHAPE_##SHAPE, .interpolation = -1, .in_place = in_place_, .cost = 50000, .run = function, \
        .name = "reference " #function \
    }

static const mot_cpu_row rows[] = {
    ROW(POINT, 1, point),     ROW(STATS, 1, stats), ROW(COLOR, 1, color), ROW(WARP, 0, warp),
    ROW(STENCIL, 0, stencil), ROW(BLUR, 1, blur),   ROW(ERASE, 1, erase), ROW(FILTER, 0, filter),
};

static void kernel_blur(const mot_view *src, const mot_view *dst, const float *half, int size, void *scratch)
{
    const int reach = size / 2;
    (void)scratch;
    for (int32_t y = 0; y < src->height; y++)
        for (int32_t x = 0; x < src->width; x++)
            for (int c = 0; c < src->channels; c++) {
                float sum = 0;
                for (int ky = -reach; ky <= reach; ky++)
                    for (int kx = -reach; kx <= reach; kx++) {
                        const int from_x = mot_mirror(x + kx, src->width), from_y = mot_mirror(y + ky, src->height);
                        sum = fmaf(half[abs(ky)] * half[abs(kx)], *at(src, from_x, from_y, c), sum);
                    }
                *at(dst, x, y, c) = mot_kernel_blur_byte(sum);
            }
}

static void hue(const mot_view *image, uint8_t value)
{
    if (mot_color_channels(image) != 3)
        return;
    for (int32_t y = 0; y < image->height; y++)
        for (int32_t x = 0; x < image->width; x++) {
            uint8_t *pixel = image->data + y * image->row + x * image->pixel;
            mot_hue(pixel, pixel + image->channel, pixel + 2 * image->channel, value);
        }
}

static void permute(const mot_view *image, int order)
{
    if (mot_color_channels(image) != 3)
        return;
    for (int32_t y = 0; y < image->height; y++)
        for (int32_t x = 0; x < image->width; x++) {
            uint8_t *const pixel = image->data + y * image->row + x * image->pixel;
            const uint8_t before[3] = { pixel[0], pixel[image->channel], pixel[2 * image->channel] };
            for (int c = 0; c < 3; c++)
                pixel[c * image->channel] = before[mot_permuted(order, c)];
        }
}

static void trace(const mot_planes *planes, const mot_trace_step *steps, int count, int32_t *tables)
{
    (void)tables;
    const size_t in = (size_t)planes->src_width * (size_t)planes->src_height,
                 out = (size_t)planes->width * (size_t)planes->height, size = (size_t)planes->size;
    for (size_t i = 0; i < out; i++) {
        int x = (int)(i % (size_t)planes->width), y = (int)(i / (size_t)planes->width);
        const int inside = mot_trace_element(steps, count, &x, &y);
        for (size_t p = 0; p < planes->count; p++) {
            const size_t from = p * in + (size_t)y * (size_t)planes->src_width + (size_t)x;
            memcpy(planes->dst + (p * out + i) * size, inside ? planes->src + from * size : planes->fill, size);
        }
    }
}

/* clang-format off */
const mot_cpu_rows mot_rows_reference = { "reference", mot_cpu_copy, rows, sizeof rows / sizeof rows[0],
                                          mot_resize_reference, mot_resize_reference_scratch, mix_bytes, kernel_blur, hue,
                                          permute, trace, mot_cpu_write_output, mot_wide_reference, mot_wide_resize_reference };
/* clang-format on */
