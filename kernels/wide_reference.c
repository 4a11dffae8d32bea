/* SPDX-License-Identifier: Apache-2.0 */
/* The reference for images of U16 and F32: one step after the other on planes of binary32, written for reading. The
 * fast kernels and CUDA must write its bits. */
#include "kernels/blur.h"
#include "kernels/cpu.h"
#include "kernels/erase.h"
#include "kernels/stats.h"
#include "kernels/wide.h"

#include <stdlib.h>

float mot_wide_get(const mot_view *view, int dtype, int x, int y, int c)
{
    const uint8_t *const at = view->data + y * view->row + x * view->pixel + c * view->channel;
    uint16_t whole;
    float v;
    if (dtype == MOTLEY_U16) {
        memcpy(&whole, at, sizeof whole);
        return (float)whole;
    }
    memcpy(&v, at, sizeof v);
    return v;
}

void mot_wide_put(const mot_view *view, int dtype, int x, int y, int c, float v)
{
    uint8_t *const at = view->data + y * view->row + x * view->pixel + c * view->channel;
    const uint16_t bits = dtype == MOTLEY_U16 ? (uint16_t)v : (uint16_t)mot_output_cast(v, dtype);
    memcpy(at, dtype == MOTLEY_F32 ? (const void *)&v : &bits, mot_dtype_bytes(dtype));
}

/* Dense planes of binary32, one behind the other. */
typedef struct planes {
    float *v;
    int width, height, count;
} planes;

static float *at(const planes *p, int x, int y, int c)
{
    return &p->v[((size_t)c * (size_t)p->height + (size_t)y) * (size_t)p->width + (size_t)x];
}

/* What colour ops and means see of a pixel: of three colours the luma, of a band the component. */
static float luma_at(const mot_wide *wide, const planes *p, int x, int y, int c)
{
    return wide->colors ? mot_wide_luma(wide->range, *at(p, x, y, 0), *at(p, x, y, 1), *at(p, x, y, 2))
                        : *at(p, x, y, c);
}

static void take_stats(const mot_wide *wide, const mot_step *step, const planes *p, int c, mot_wide_stats *stats)
{
    const mot_range *const range = &wide->range[c];
    const mot_range of_luma = wide->colors ? mot_wide_luma_range(wide->range) : *range;
    uint32_t histogram[256] = { 0 }, count = 0;
    int64_t sum = 0;
    *stats = (mot_wide_stats){ .lo = INFINITY, .hi = -INFINITY };
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            const float v = *at(p, x, y, c), luma = luma_at(wide, p, x, y, c);
            if (luma == luma) {
                sum += mot_wide_quantum(&of_luma, luma);
                count++;
            }
            if (v != v)
                continue;
            stats->lo = v < stats->lo ? v : stats->lo;
            stats->hi = v > stats->hi ? v : stats->hi;
            histogram[(int)mot_range_bin(range, v)]++;
        }
    stats->mean = mot_wide_mean(&of_luma, sum, count);
    mot_stats bytes = { 0 };
    mot_stats_of_histogram(histogram, &bytes);
    for (int bin = 0; bin < 256 && mot_wide_needs(step->op) == MOT_NEEDS_HISTOGRAM; bin++)
        stats->by_bin[bin] = mot_range_of_bin(range, mot_stats_value(step->op, (uint8_t)bin, &bytes, &step->arg));
}

/* Steps that see one pixel, or statistics, besides. */
static void change(const mot_wide *wide, const mot_step *step, const planes *in, const planes *out)
{
    const int shape = mot_shape_of(step->op);
    for (int c = 0; c < in->count; c++) {
        const mot_range *const range = &wide->range[c];
        mot_wide_stats stats = { 0 };
        if (shape == MOTLEY_SHAPE_STATS)
            take_stats(wide, step, in, c, &stats);
        for (int y = 0; y < in->height; y++)
            for (int x = 0; x < in->width; x++) {
                const float v = *at(in, x, y, c);
                const float made = shape == MOTLEY_SHAPE_STATS
                                       ? mot_wide_stats_value(step->op, v, &stats, range, &step->arg)
                                   : shape == MOTLEY_SHAPE_COLOR
                                       ? mot_wide_color(step->op, v, luma_at(wide, in, x, y, c), range, &step->arg)
                                       : mot_wide_point(step->op, v, range, &step->arg);
                *at(out, x, y, c) = mot_wide_end(range, v, made);
            }
    }
}

static void sum_taps(const mot_wide *wide, const mot_step *step, const planes *in, const planes *out)
{
    for (int c = 0; c < in->count; c++) {
        const mot_range *const range = &wide->range[c];
        mot_taps taps;
        mot_wide_taps(step->op, range, &taps);
        const int reach = taps.reach, none = in->width <= 2 * reach || in->height <= 2 * reach;
        for (int y = 0; y < in->height; y++)
            for (int x = 0; x < in->width; x++) {
                const float v = *at(in, x, y, c);
                float made = none ? v : mot_range_clamp(range, v), sum = 0;
                if (x >= reach && y >= reach && x < in->width - reach && y < in->height - reach) {
                    const float *weight = taps.weight;
                    for (int j = -reach; j <= reach; j++)
                        for (int i = -reach; i <= reach; i++)
                            sum = fmaf(*at(in, x + i, y + j, c), *weight++, sum);
                    if (taps.bias != 0) /* else a sum of -0 would become 0 */
                        sum += taps.bias;
                    made = mot_wide_stencil(step->op, v, range->whole ? rintf(sum) : sum, range, &step->arg);
                }
                *at(out, x, y, c) = mot_wide_end(range, v, made);
            }
    }
}

/* One pass of a blur along a line. */
static void blur_line(const float *in, float *out, int64_t n, const mot_step *step)
{
    const int64_t radius = mot_blur_radius(&step->arg);
    for (int64_t i = 0; i < n; i++) {
        const int64_t before = i - radius - 1, after = i + radius + 1;
        float inner = 0;
        for (int64_t k = i - radius; k <= i + radius; k++)
            inner += in[k < 0 ? 0 : k >= n ? n - 1 : k];
        out[i] =
            mot_wide_blur(step->op, inner, in[before < 0 ? 0 : before] + in[after >= n ? n - 1 : after], &step->arg);
    }
}

static void blur(const mot_wide *wide, const mot_step *step, const planes *in, const planes *out, float *lines)
{
    float *const next = lines + (in->width > in->height ? in->width : in->height);
    for (int c = 0; c < in->count; c++)
        for (int down = 0; down < 2; down++) {
            const planes *const from = down ? out : in;
            const int n = down ? in->height : in->width;
            for (int line = 0; line < (down ? in->width : in->height); line++) {
                for (int i = 0; i < n; i++)
                    lines[i] = *(down ? at(from, line, i, c) : at(from, i, line, c));
                for (int pass = 0; pass < MOT_BLUR_PASSES; pass++) {
                    blur_line(lines, next, n, step);
                    memcpy(lines, next, (size_t)n * sizeof *lines);
                }
                for (int i = 0; i < n; i++) {
                    const float v = down && wide->range[c].whole ? rintf(lines[i]) : lines[i];
                    *(down ? at(out, line, i, c) : at(out, i, line, c)) =
                        down ? mot_wide_end(&wide->range[c], 0, v) : v;
                }
            }
        }
}

static void kernel_blur(const mot_wide *wide, const mot_step *step, const planes *in, const planes *out)
{
    float half[MOTLEY_KERNEL_WEIGHTS];
    memcpy(half, step->arg.u, sizeof half);
    const int reach = (int)step->arg.size / 2;
    for (int c = 0; c < in->count; c++)
        for (int y = 0; y < in->height; y++)
            for (int x = 0; x < in->width; x++) {
                float sum = 0;
                for (int j = -reach; j <= reach; j++)
                    for (int i = -reach; i <= reach; i++)
                        sum = fmaf(half[abs(j)] * half[abs(i)],
                                   *at(in, mot_mirror(x + i, in->width), mot_mirror(y + j, in->height), c), sum);
                *at(out, x, y, c) = mot_wide_end(&wide->range[c], 0, wide->range[c].whole ? rintf(sum) : sum);
            }
}

static void erase(const mot_wide *wide, const mot_step *step, const planes *in, const planes *out)
{
    const mot_rect r = mot_erase_rect(step->op, in->width, in->height, &step->arg);
    for (int c = 0; c < in->count; c++)
        for (int y = 0; y < in->height; y++)
            for (int x = 0; x < in->width; x++) {
                const int inside = x >= r.x0 && x < r.x1 && y >= r.y0 && y < r.y1;
                *at(out, x, y, c) = inside ? mot_wide_fill(wide, step, c) : *at(in, x, y, c);
            }
}

/* The nearest component inside the image. */
static float tap(const planes *p, int x, int y, int c)
{
    return *at(p, mot_warp_clamp(x, p->width), mot_warp_clamp(y, p->height), c);
}

static double between(const planes *p, int path, int i, int j, double dx, double dy, int c)
{
    if (path == MOT_WARP_BILINEAR)
        return mot_wide_bilinear(tap(p, i, j, c), tap(p, i + 1, j, c), tap(p, i, j + 1, c), tap(p, i + 1, j + 1, c), dx,
                                 dy);
    double row[4];
    for (int k = 0; k < 4; k++)
        row[k] = mot_wide_cubic(tap(p, i - 1, j - 1 + k, c), tap(p, i, j - 1 + k, c), tap(p, i + 1, j - 1 + k, c),
                                tap(p, i + 2, j - 1 + k, c), dx);
    return mot_warp_cubic(row[0], row[1], row[2], row[3], dy);
}

static void warp(const mot_wide *wide, const mot_step *step, const planes *in, const planes *out)
{
    mot_trace_step nearest = { 0 };
    mot_warp_plan plan;
    mot_warp_make_plan(step->op, in->width, in->height, &step->arg, step->interpolation, &plan);
    mot_trace_op(&nearest, step->op, &step->arg, (mot_rect){ 0, 0, in->width, in->height });
    const int moves = plan.path != MOT_WARP_BILINEAR && plan.path != MOT_WARP_BICUBIC;
    for (int y = 0; y < in->height; y++)
        for (int x = 0; x < in->width; x++) {
            int i = x, j = y;
            double dx = 0, dy = 0;
            const int inside =
                moves ? mot_trace_back(&nearest, &i, &j) : mot_warp_between(&plan, x, y, &i, &j, &dx, &dy);
            for (int c = 0; c < in->count; c++)
                *at(out, x, y, c) = !inside ? mot_wide_fill(wide, step, c)
                                    : moves ? *at(in, i, j, c)
                                            : mot_wide_moved(&wide->range[c], between(in, plan.path, i, j, dx, dy, c));
        }
}

/* Does one step. False: it changes nothing. */
static int step_once(const mot_wide *wide, const mot_step *step, const planes *in, const planes *out, float *lines)
{
    if (step->op == MOTLEY_STEP_KERNEL_BLUR)
        kernel_blur(wide, step, in, out);
    if (step->op < 0)
        return step->op == MOTLEY_STEP_KERNEL_BLUR;
    switch (mot_shape_of(step->op)) {
    case MOTLEY_SHAPE_WARP:
        warp(wide, step, in, out);
        return 1;
    case MOTLEY_SHAPE_ERASE:
        erase(wide, step, in, out);
        return 1;
    case MOTLEY_SHAPE_STENCIL:
    case MOTLEY_SHAPE_FILTER:
        sum_taps(wide, step, in, out);
        return 1;
    case MOTLEY_SHAPE_BLUR:
        blur(wide, step, in, out, lines);
        return 1;
    case MOTLEY_SHAPE_COLOR:
        if (!wide->colors)
            return 0;
        /* fall through */
    default:
        change(wide, step, in, out);
        return 1;
    }
}

void mot_wide_reference(const mot_wide *wide, void *scratch)
{
    const mot_view *const src = &wide->src, *const dst = &wide->dst;
    const size_t all = (size_t)src->width * (size_t)src->height * (size_t)src->channels;
    planes now = { scratch, src->width, src->height, src->channels }, next = now;
    next.v = now.v + all;
    for (int c = 0; c < src->channels; c++)
        for (int y = 0; y < src->height; y++)
            for (int x = 0; x < src->width; x++)
                *at(&now, x, y, c) = mot_wide_get(src, wide->src_dtype, x, y, c);
    float *const lines = next.v + all;
    for (int s = 0; s < wide->count; s++)
        if (step_once(wide, &wide->steps[s], &now, &next, lines)) {
            const planes before = now;
            now = next;
            next = before;
        }
    for (int c = 0; c < src->channels; c++)
        for (int y = 0; y < src->height; y++)
            for (int x = 0; x < src->width; x++)
                mot_wide_put(dst, wide->dst_dtype, x, y, c, mot_wide_result(wide, *at(&now, x, y, c), c));
}

/* ---- resize ---- */

int mot_wide_weights(const mot_resize_axis *axis, int i, int *first, double *weight)
{
    double centre, sum = 0;
    const int count = mot_resize_window(axis, i, first, &centre);
    for (int t = 0; t < count; t++) {
        weight[t] = mot_resize_tap(axis, centre, *first, t);
        sum += weight[t];
    }
    for (int t = 0; t < count && sum != 0; t++)
        weight[t] /= sum;
    return count;
}

/* One pass over a channel: along x, or along y (`down`). */
static void pass(const mot_view *src, int dtype, const mot_view *dst, int c, const mot_resize *how, int down, int whole,
                 double *weight)
{
    const mot_resize_axis axis =
        down ? mot_resize_axis_of((motley_filter)how->filter, src->height, how->box[1], how->box[3], dst->height)
             : mot_resize_axis_of((motley_filter)how->filter, src->width, how->box[0], how->box[2], dst->width);
    for (int i = 0; i < axis.out; i++) {
        int first;
        const int count = mot_wide_weights(&axis, i, &first, weight);
        for (int k = 0; k < (down ? dst->width : dst->height); k++) {
            double sum = 0;
            for (int t = 0; t < count; t++)
                sum += (double)mot_wide_get(src, dtype, down ? k : first + t, down ? first + t : k, c) * weight[t];
            mot_wide_put(dst, MOTLEY_F32, down ? k : i, down ? i : k, c, mot_wide_resized(sum, whole));
        }
    }
}

void mot_wide_resize_reference(const mot_view *src, motley_dtype dtype, const mot_view *dst, const mot_resize *how,
                               void *scratch)
{
    const mot_resize_plan plan = mot_resize_plan_of(how, 0);
    const int most = (src->width > src->height ? src->width : src->height) + dst->width + dst->height;
    double *const weight = scratch;
    int *const column = scratch, *const row = column + dst->width;
    mot_view between = *dst; /* of one channel, dense */
    between.data = (uint8_t *)(weight + most);
    between.width = plan.rows_first ? src->width : dst->width;
    between.height = plan.rows_first ? dst->height : src->height;
    between.pixel = (int64_t)sizeof(float);
    between.row = between.pixel * between.width;
    between.channel = 0;
    if (how->filter == MOTLEY_FILTER_NEAREST && !plan.crop) {
        mot_resize_nearest(src->width, how->box[0], how->box[2], dst->width, how->flipped_first & 1, column);
        mot_resize_nearest(src->height, how->box[1], how->box[3], dst->height, how->flipped_first & 2, row);
    }
    for (int c = 0; c < src->channels; c++) {
        if (plan.crop || how->filter == MOTLEY_FILTER_NEAREST) {
            for (int y = 0; y < dst->height; y++)
                for (int x = 0; x < dst->width; x++) {
                    const int i = plan.crop ? x + plan.left : column[x], j = plan.crop ? y + plan.top : row[y];
                    mot_wide_put(dst, MOTLEY_F32, x, y, c, i < 0 || j < 0 ? 0 : mot_wide_get(src, dtype, i, j, c));
                }
        } else if (plan.columns && plan.rows) {
            pass(src, dtype, &between, c, how, plan.rows_first, dtype == MOTLEY_U16, weight);
            mot_view to = *dst;
            to.data += c * dst->channel;
            pass(&between, MOTLEY_F32, &to, 0, how, !plan.rows_first, dtype == MOTLEY_U16, weight);
        } else {
            pass(src, dtype, dst, c, how, plan.rows, dtype == MOTLEY_U16, weight);
        }
    }
}

void mot_wide_window(const mot_wide *wide, const mot_step *fill, const mot_view *src, int32_t left, int32_t top,
                     const mot_view *dst)
{
    for (int c = 0; c < dst->channels; c++)
        for (int y = 0; y < dst->height; y++)
            for (int x = 0; x < dst->width; x++) {
                const int i = x + left, j = y + top, inside = i >= 0 && j >= 0 && i < src->width && j < src->height;
                mot_wide_put(dst, wide->src_dtype, x, y, c,
                             inside ? mot_wide_get(src, wide->src_dtype, i, j, c) : mot_wide_fill(wide, fill, c));
            }
}
