/* SPDX-License-Identifier: Apache-2.0 */
/* Joins what two stages in a row do to an image (crop, resize, window, flips) into one place, where one gives the same
 * pixels, on the host and on the device. Everything between them, such as a canvas, is then never made. */
#ifndef MOT_PLACES_H
#define MOT_PLACES_H

#include "augmentations/op.h"
#include "motley/draw.h"

/* One axis of a place: `crop` pixels of the source from `first` on become `resized`, of which `result` pixels from
 * `window` on are kept, and then mirrored or not. The weights of a resize are those of the mirrored source if
 * `before`. */
typedef struct mot_axis {
    int32_t first, crop, resized, window, result;
    uint8_t mirrored, before;
} mot_axis;

MOT_FN mot_axis mot_axis_of(const motley_place *p, int k)
{
    mot_axis a;
    a.first = k ? p->crop.top : p->crop.left;
    a.crop = k ? p->crop.height : p->crop.width;
    a.resized = k ? p->height : p->width;
    a.window = k ? p->top : p->left;
    a.result = k ? p->result_height : p->result_width;
    a.mirrored = k ? p->flip_vertical : p->flip_horizontal;
    a.before = (uint8_t)(p->flipped_first >> k & 1);
    return a;
}

MOT_FN void mot_put_axis(const mot_axis *a, int k, motley_place *p)
{
    *(k ? &p->crop.top : &p->crop.left) = a->first;
    *(k ? &p->crop.height : &p->crop.width) = a->crop;
    *(k ? &p->height : &p->width) = a->resized;
    *(k ? &p->top : &p->left) = a->window;
    *(k ? &p->result_height : &p->result_width) = a->result;
    *(k ? &p->flip_vertical : &p->flip_horizontal) = a->mirrored;
    p->flipped_first = (uint8_t)((p->flipped_first & ~(1 << k)) | a->before << k);
}

/* Takes `length` pixels from `from` on of what an axis shows, beyond which there is the fill. 0: the part that is
 * beyond is not beyond what the window shows a part of. */
MOT_FN int mot_axis_take(mot_axis *a, int32_t from, int32_t length)
{
    const int32_t first = a->mirrored ? a->result - from - length : from;
    if ((first < 0 && a->window > 0) || (first + length > a->result && a->window + a->result < a->resized))
        return 0;
    a->window += first;
    a->result = length;
    return 1;
}

/* Makes what an axis shows its crop, so that a resize can follow. 0: it is resized already, or the window shows the
 * fill where the source, of `side` pixels, has others. */
MOT_FN int mot_axis_show(mot_axis *a, int32_t side)
{
    const int32_t first = a->first + a->window;
    if (a->resized != a->crop || (a->window < 0 && a->first > 0) ||
        (a->window + a->result > a->crop && a->first + a->crop < side))
        return 0;
    a->first = first;
    a->crop = a->resized = a->result;
    a->window = 0;
    a->before = 0;
    return 1;
}

/* Adds what `b` does to an axis of the result of `a`. */
MOT_FN int mot_axis_add(mot_axis *a, const mot_axis *b, int resizes, int32_t side)
{
    if (!resizes) { /* its crop, and its window on that, are taken one after the other */
        if (!mot_axis_take(a, b->first, b->crop) || !mot_axis_take(a, b->window, b->result))
            return 0;
        a->mirrored ^= b->mirrored;
        return 1;
    }
    if (!mot_axis_take(a, b->first, b->crop) || !mot_axis_show(a, side))
        return 0;
    a->before = a->mirrored;
    a->resized = b->resized;
    a->window = a->before ? b->resized - b->window - b->result : b->window;
    a->result = b->result;
    a->mirrored ^= b->mirrored;
    return 1;
}

/* Makes all that a place shows, which is not resized yet, its crop: what follows an iou_crop asks which boxes have
 * their centre there. */
MOT_FN void mot_place_show(motley_place *a, int32_t width, int32_t height)
{
    mot_axis across = mot_axis_of(a, 0), down = mot_axis_of(a, 1);
    if (!mot_axis_show(&across, width) || !mot_axis_show(&down, height))
        return;
    mot_put_axis(&across, 0, a);
    mot_put_axis(&down, 1, a);
}

/* Makes `a`, of a source of this size, do what it does and then what `b` does to its result; `resizes`: b is a stage
 * that resizes, perhaps to the size that there is. 0: no place does both, and `a` is as it was. */
MOT_FN int mot_place_join(motley_place *a, const motley_place *b, int resizes, int32_t width, int32_t height)
{
    mot_axis across = mot_axis_of(a, 0), down = mot_axis_of(a, 1);
    const mot_axis more_across = mot_axis_of(b, 0), more_down = mot_axis_of(b, 1);
    if (b->flipped_first || !mot_axis_add(&across, &more_across, resizes, width) ||
        !mot_axis_add(&down, &more_down, resizes, height))
        return 0;
    mot_put_axis(&across, 0, a);
    mot_put_axis(&down, 1, a);
    a->filter = b->filter;
    a->torch_planes |= b->torch_planes;
    a->beyond |= (uint8_t)(b->beyond || a->crop.left < 0 || a->crop.top < 0 || a->crop.left + a->crop.width > width ||
                           a->crop.top + a->crop.height > height);
    return 1;
}

#endif
