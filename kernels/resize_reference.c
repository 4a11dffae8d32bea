/* SPDX-License-Identifier: Apache-2.0 */
/* The reference resize: any strides, one component at a time, with the whole image between the passes. */
#include "kernels/cpu.h"
#include "kernels/warp.h"

static uint8_t *at(const mot_view *view, int x, int y, int c)
{
    return view->data + y * view->row + x * view->pixel + c * view->channel;
}

/* What a pass reads: the picture, of which the view has a part that begins at (left, top). */
typedef struct picture {
    const mot_view *view;
    int left, top;
    const uint8_t *fill; /* by channel, premultiplied */
    int premultiplies;   /* the view is not */
} picture;

static uint8_t component(const picture *p, int x, int y, int c)
{
    const int alpha = p->view->channels - 1;
    x -= p->left;
    y -= p->top;
    if (x < 0 || y < 0 || x >= p->view->width || y >= p->view->height)
        return p->fill[c];
    const uint8_t v = *at(p->view, x, y, c);
    return p->premultiplies && c < alpha ? mot_premultiply(v, *at(p->view, x, y, alpha)) : v;
}

/* One pass: along x, or along y (`down`), whose output i is output i + begin of the axis. weight and exact have room
 * for the axis's taps. Outputs that the axis does not have are left. */
static void pass(const picture *src, const mot_view *dst, const mot_resize_axis *axis, int begin, int down,
                 int32_t *weight, double *exact)
{
    for (int i = 0; i < (down ? dst->height : dst->width); i++) {
        int first;
        if (i + begin < 0 || i + begin >= axis->out)
            continue;
        const int count = mot_resize_weights(axis, i + begin, &first, weight, exact);
        for (int j = 0; j < (down ? dst->width : dst->height); j++)
            for (int c = 0; c < dst->channels; c++) {
                int32_t sum = 0;
                for (int t = 0; t < count; t++)
                    sum += weight[t] * (down ? component(src, j, first + t, c) : component(src, first + t, j, c));
                *(down ? at(dst, j, i, c) : at(dst, i, j, c)) = mot_resize_byte(sum);
            }
    }
}

/* What result component i of an axis copies of the picture, or -1: the window or a nearest pixel is outside. */
static int copied(const mot_resize *how, const mot_resize_plan *plan, int axis, int i, const int *index)
{
    const int number = i + (axis ? how->window_top : how->window_left);
    if (number < 0 || number >= (axis ? how->resized_height : how->resized_width))
        return -1;
    return index ? index[number] : number + (axis ? plan->top : plan->left);
}

/* Crops, and nearest pixels, by their indices. */
static void copy(const picture *src, const mot_view *dst, const mot_resize *how, const mot_resize_plan *plan,
                 const int *columns, const int *rows)
{
    for (int y = 0; y < dst->height; y++)
        for (int x = 0; x < dst->width; x++)
            for (int c = 0; c < dst->channels; c++) {
                const int from_x = copied(how, plan, 0, x, columns), from_y = copied(how, plan, 1, y, rows);
                if (from_x >= 0 && from_y >= 0)
                    *at(dst, x, y, c) = component(src, from_x, from_y, c);
            }
}

/* Runs the passes that are needed. Scratch holds weights and the image between the passes. */
static void resample(const picture *src, const mot_view *dst, const mot_resize *how, const mot_resize_plan *plan,
                     uint8_t *scratch)
{
    const motley_filter filter = (motley_filter)how->filter;
    const mot_resize_axis axis[2] = {
        mot_resize_axis_of(filter, how->width, how->box[0], how->box[2], how->resized_width),
        mot_resize_axis_of(filter, how->height, how->box[1], how->box[3], how->resized_height)
    };
    const int begin[2] = { how->window_left, how->window_top };
    const int taps = how->width > how->height ? how->width : how->height;
    double *exact = (double *)(void *)scratch;
    int32_t *weight = (int32_t *)(void *)(exact + taps);
    uint8_t *memory = (uint8_t *)(weight + taps);
    const int both = plan->columns && plan->rows, last = both ? !plan->rows_first : plan->rows; /* 1: rows */
    picture from = *src;
    mot_view between;
    if (both) {
        between =
            mot_packed(dst, last ? how->resized_width : how->width, last ? how->height : how->resized_height, memory);
        pass(src, &between, &axis[!last], 0, !last, weight, exact);
        from = (picture){ &between, 0, 0, src->fill, 0 };
    }
    from.left -= last ? begin[0] : 0; /* the other axis is only shifted now */
    from.top -= last ? 0 : begin[1];
    pass(&from, dst, &axis[last], begin[last], last, weight, exact);
}

/* What the result is where its window is outside of the resized picture. */
static void fill_window(const mot_view *dst, const mot_resize *how, const uint8_t *fill)
{
    for (int y = 0; y < dst->height; y++)
        for (int x = 0; x < dst->width; x++) {
            const int column = x + how->window_left, row = y + how->window_top;
            const int inside = column >= 0 && column < how->resized_width && row >= 0 && row < how->resized_height;
            for (int c = 0; c < dst->channels && !inside; c++)
                *at(dst, x, y, c) = fill[c];
        }
}

static void unpremultiply(const mot_view *view)
{
    const int alpha = view->channels - 1;
    for (int y = 0; y < view->height; y++)
        for (int x = 0; x < view->width; x++)
            for (int c = 0; c < alpha; c++)
                *at(view, x, y, c) = mot_unpremultiply(*at(view, x, y, c), *at(view, x, y, alpha));
}

void mot_resize_reference(const mot_view *src, const mot_view *to, const mot_resize *how, void *scratch)
{
    mot_view dst = *to;
    if (how->flip_horizontal) { /* written from right to left */
        dst.data += (dst.width - 1) * dst.pixel;
        dst.pixel = -dst.pixel;
    }
    if (how->flip_vertical) {
        dst.data += (dst.height - 1) * dst.row;
        dst.row = -dst.row;
    }
    const mot_resize_plan plan = mot_resize_plan_of(how, src->alpha);
    int *const columns = scratch, *const rows = columns + how->resized_width;
    const int alpha = src->channels - 1;
    mot_view pixels = *src; /* of the picture */
    int32_t from[2], until[2];
    uint8_t fill[4];
    for (int c = 0; c <= alpha; c++)
        fill[c] = plan.opaque || c == alpha ? how->fill[c] : mot_premultiply(how->fill[c], how->fill[alpha]);
    for (int k = 0; k < 2; k++)
        mot_resize_inside(how, k, k ? src->height : src->width, &from[k], &until[k]);
    pixels.data += (how->top + from[1]) * src->row + (how->left + from[0]) * src->pixel;
    pixels.width = until[0] - from[0];
    pixels.height = until[1] - from[1];
    const picture whole = { &pixels, from[0], from[1], fill, !plan.opaque };
    if (plan.crop) {
        copy(&whole, &dst, how, &plan, NULL, NULL);
    } else if (how->filter == MOTLEY_FILTER_NEAREST) {
        mot_resize_nearest(how->width, how->box[0], how->box[2], how->resized_width, how->flipped_first & 1, columns);
        mot_resize_nearest(how->height, how->box[1], how->box[3], how->resized_height, how->flipped_first & 2, rows);
        copy(&whole, &dst, how, &plan, columns, rows);
    } else {
        resample(&whole, &dst, how, &plan, scratch);
    }
    fill_window(&dst, how, fill);
    if (!plan.opaque)
        unpremultiply(&dst);
}

size_t mot_resize_reference_scratch(int32_t width, int32_t height, int32_t out_width, int32_t out_height,
                                    int32_t channels)
{
    const size_t w = (size_t)(width > out_width ? width : out_width);
    const size_t h = (size_t)(height > out_height ? height : out_height);
    const size_t across = (size_t)out_width * (size_t)height, down = (size_t)width * (size_t)out_height;
    return (sizeof(double) + sizeof(int32_t)) * (w + h) + (across > down ? across : down) * (size_t)channels;
}
