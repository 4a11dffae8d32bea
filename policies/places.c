/* SPDX-License-Identifier: Apache-2.0 */
/* Joins what two stages in a row do to an image (crop, resize, window, flips) into one place, where one gives the same
 * pixels. Everything between them, such as a canvas, is then never made. */
#include "policies/transform_draw.h"

/* One axis of a place: `crop` pixels of the source from `first` on become `resized`, of which `result` pixels from
 * `window` on are kept, and then mirrored or not. The weights of a resize are those of the mirrored source if
 * `before`. */
typedef struct axis {
    int32_t first, crop, resized, window, result;
    uint8_t mirrored, before;
} axis;

static axis axis_of(const motley_place *p, int k)
{
    const uint8_t before = (uint8_t)(p->flipped_first >> k & 1);
    return k ? (axis){ p->crop.top, p->crop.height, p->height, p->top, p->result_height, p->flip_vertical, before }
             : (axis){ p->crop.left, p->crop.width, p->width, p->left, p->result_width, p->flip_horizontal, before };
}

static void put_axis(const axis *a, int k, motley_place *p)
{
    *(k ? &p->crop.top : &p->crop.left) = a->first;
    *(k ? &p->crop.height : &p->crop.width) = a->crop;
    *(k ? &p->height : &p->width) = a->resized;
    *(k ? &p->top : &p->left) = a->window;
    *(k ? &p->result_height : &p->result_width) = a->result;
    *(k ? &p->flip_vertical : &p->flip_horizontal) = a->mirrored;
    p->flipped_first = (uint8_t)((p->flipped_first & ~(1 << k)) | a->before << k);
}

/* Takes `length` pixels from `from` on of what an axis shows, beyond which there is the fill. False: the part that is
 * beyond is not beyond what the window shows a part of. */
static bool take(axis *a, int32_t from, int32_t length)
{
    const int32_t first = a->mirrored ? a->result - from - length : from;
    if ((first < 0 && a->window > 0) || (first + length > a->result && a->window + a->result < a->resized))
        return false;
    a->window += first;
    a->result = length;
    return true;
}

/* Makes what an axis shows its crop, so that a resize can follow. False: it is resized already, or the window shows the
 * fill where the source, of `side` pixels, has others. */
static bool make_crop(axis *a, int32_t side)
{
    const int32_t first = a->first + a->window, until = first + a->result;
    if (a->resized != a->crop || (a->window < 0 && a->first > 0) ||
        (a->window + a->result > a->crop && a->first + a->crop < side))
        return false;
    *a = (axis){ first, until - first, until - first, 0, until - first, a->mirrored, 0 };
    return true;
}

/* Adds what `b` does to an axis of the result of `a`. */
static bool add(axis *a, const axis *b, bool resizes, int32_t side)
{
    if (!resizes) { /* its crop, and its window on that, are taken one after the other */
        if (!take(a, b->first, b->crop) || !take(a, b->window, b->result))
            return false;
        a->mirrored ^= b->mirrored;
        return true;
    }
    if (!take(a, b->first, b->crop) || !make_crop(a, side))
        return false;
    a->before = a->mirrored;
    a->resized = b->resized;
    a->window = a->before ? b->resized - b->window - b->result : b->window;
    a->result = b->result;
    a->mirrored ^= b->mirrored;
    return true;
}

void mot_place_show(motley_place *a, int32_t width, int32_t height)
{
    motley_place made = *a;
    for (int k = 0; k < 2; k++) {
        axis shown = axis_of(a, k);
        if (!make_crop(&shown, k ? height : width))
            return;
        put_axis(&shown, k, &made);
    }
    *a = made;
}

bool mot_place_join(motley_place *a, const motley_place *b, bool resizes, int32_t width, int32_t height)
{
    motley_place made = *a;
    for (int k = 0; k < 2; k++) {
        axis sum = axis_of(a, k);
        const axis more = axis_of(b, k);
        if (more.before || !add(&sum, &more, resizes, k ? height : width))
            return false;
        put_axis(&sum, k, &made);
    }
    made.filter = b->filter;
    made.torch_planes |= b->torch_planes;
    made.beyond |= (uint8_t)(b->beyond || made.crop.left < 0 || made.crop.top < 0 ||
                             made.crop.left + made.crop.width > width || made.crop.top + made.crop.height > height);
    *a = made;
    return true;
}
