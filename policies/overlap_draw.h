/* SPDX-License-Identifier: Apache-2.0 */
/* Draws an iou_crop: torchvision's RandomIoUCrop, by the boxes of the image as they are there. All arithmetic is in
 * binary32, as there, in its order. The host draws it.
 *
 * The words of round r are mot_random's with words 0 and 1 of the stage's second block as the seed, r as the high half
 * of the id: block 0 says which overlap, and with t as the low half, block 1 has those of try t: width, height, left,
 * top.
 */
#ifndef MOT_OVERLAP_DRAW_H
#define MOT_OVERLAP_DRAW_H

#include "augmentations/overlap.h"
#include "policies/transform_draw.h"

/* Whether the largest overlap of a box whose centre is in the crop is at least `least`. */
static inline int mot_crop_fits(const mot_rectangle *crop, const mot_drawn_sample *sample, const motley_place *before,
                                float least)
{
    const float sides[4] = { (float)crop->left, (float)crop->top, (float)(crop->left + crop->width),
                             (float)(crop->top + crop->height) };
    float most = -1;
    for (size_t b = 0; b < sample->boxes_count; b++) {
        float box[4];
        mot_box_in_canvas(sample->boxes[b], before->canvas_left, before->canvas_top, box);
        const float own = mot_is_centred(box, sides) ? mot_overlap_of(box, sides) : -1;
        most = own > most ? own : most;
    }
    return most >= 0 && most >= least;
}

/* The crop of a try in an image of width x height; returns 0 if its ratio is not wanted, or it is empty. */
MOT_FN int mot_try_overlap(const mot_overlap *overlap, mot_words words, int32_t width, int32_t height,
                           mot_rectangle *crop)
{
    const float low = (float)overlap->scale[0], range = (float)(overlap->scale[1] - overlap->scale[0]);
    crop->width = (int32_t)((float)width * (low + range * (float)mot_unit(words.w[0])));
    crop->height = (int32_t)((float)height * (low + range * (float)mot_unit(words.w[1])));
    if (crop->width < 1 || crop->height < 1)
        return 0;
    const double ratio = (double)crop->width / crop->height;
    crop->left = (int32_t)((float)(width - crop->width) * (float)mot_unit(words.w[2]));
    crop->top = (int32_t)((float)(height - crop->height) * (float)mot_unit(words.w[3]));
    return overlap->ratio[0] <= ratio && ratio <= overlap->ratio[1];
}

/* Draws the crop of an image, which may lie in the canvas of `before`, by the sample's boxes; `drawn` shows all of it.
 */
static inline void mot_draw_overlap(const mot_overlap *overlap, const mot_drawn_sample *sample, uint32_t block,
                                    const motley_place *before, motley_place *drawn)
{
    const mot_words key = mot_words_of(sample, block + 1);
    const uint64_t seed = (uint64_t)key.w[1] << 32 | key.w[0];
    const int32_t width = drawn->crop.width, height = drawn->crop.height;
    mot_rectangle crop;
    if (sample->boxes_count == 0 ||
        !mot_coin(mot_words_of(sample, block).w[0], overlap->p)) /* without boxes, no crop ever fits */
        return;
    for (uint32_t round = 0; round < MOT_OVERLAP_ROUNDS; round++) {
        const mot_words words = mot_random(seed, 0, (uint64_t)round << 32, 0);
        const double least = overlap->overlap[mot_choose(words.w[0], (uint32_t)overlap->overlaps)];
        if (least >= 1)
            return;
        for (uint32_t t = 0; t < MOT_OVERLAP_TRIES; t++)
            if (mot_try_overlap(overlap, mot_random(seed, 0, (uint64_t)round << 32 | t, 1), width, height, &crop) &&
                mot_crop_fits(&crop, sample, before, (float)least)) {
                drawn->overlap = MOTLEY_OVERLAP_CROPPED;
                drawn->crop.left = crop.left;
                drawn->crop.top = crop.top;
                drawn->crop.width = drawn->width = drawn->result_width = crop.width;
                drawn->crop.height = drawn->height = drawn->result_height = crop.height;
                return;
            }
    }
    drawn->overlap = MOTLEY_OVERLAP_UNDECIDED;
}

#endif
