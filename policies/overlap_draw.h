/* Draws an iou_crop: torchvision's RandomIoUCrop, by the boxes of the image as they are there, on the host and on the
 * device. All arithmetic is in binary32, as there, in its order.
 *
 * The words of round r are mot_random's with words 0 and 1 of the stage's second block as the seed, r as the high half
 * of the id: block 0 says which overlap, and with t as the low half, block 1 has those of try t: width, height, left,
 * top. So a try needs no other one, and many are made at once; the first that ends the search counts.
 */
#ifndef MOT_OVERLAP_DRAW_H
#define MOT_OVERLAP_DRAW_H

#include "augmentations/overlap.h"
#include "policies/transform_draw.h"

#define MOT_OVERLAP_ALL (MOT_OVERLAP_ROUNDS * MOT_OVERLAP_TRIES) /* tries of all rounds */

/* A search for the crop of an image, which may lie in a canvas. */
typedef struct mot_search {
    const mot_overlap *overlap;
    const double (*boxes)[4]; /* [boxes_count], of the source */
    size_t boxes_count;
    uint64_t seed;
    int32_t width, height;           /* of the image, or of its canvas, */
    int32_t canvas_left, canvas_top; /* where the source begins */
} mot_search;

/* Begins the search in what `before` shows. 0: the image stays as it is; without boxes, no crop ever fits. */
MOT_RANDOM_FN int mot_begin_search(const mot_overlap *overlap, const mot_drawn_sample *sample, uint32_t block,
                                   const motley_place *before, mot_search *search)
{
    const mot_words key = mot_words_of(sample, block + 1);
    search->overlap = overlap;
    search->boxes = sample->boxes;
    search->boxes_count = sample->boxes_count;
    search->seed = (uint64_t)key.w[1] << 32 | key.w[0];
    search->width = before->result_width, search->height = before->result_height;
    search->canvas_left = before->canvas_left, search->canvas_top = before->canvas_top;
    return sample->boxes_count > 0 && mot_coin(mot_words_of(sample, block).w[0], overlap->p);
}

/* Whether a box whose centre is in the crop overlaps it by `least` or more. */
MOT_FN int mot_crop_fits(const mot_search *search, const mot_rectangle *crop, float least)
{
    float sides[4];
    sides[0] = (float)crop->left, sides[1] = (float)crop->top;
    sides[2] = (float)(crop->left + crop->width), sides[3] = (float)(crop->top + crop->height);
    MOT_ROLLED
    for (size_t b = 0; b < search->boxes_count; b++) {
        float box[4];
        mot_box_in_canvas(search->boxes[b], search->canvas_left, search->canvas_top, box);
        const float own = mot_is_centred(box, sides) ? mot_overlap_of(box, sides) : -1;
        if (own >= 0 && own >= least)
            return 1;
    }
    return 0;
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

/* Try `turn` of all rounds', from 0 to MOT_OVERLAP_ALL - 1. Returns whether it ends the search: with a crop, or, of
 * width 0, with the image as it is. */
MOT_RANDOM_FN int mot_search_try(const mot_search *search, uint32_t turn, mot_rectangle *crop)
{
    const uint64_t round = (uint64_t)(turn / MOT_OVERLAP_TRIES) << 32;
    const mot_overlap *const overlap = search->overlap;
    const uint32_t chosen = mot_choose(mot_random(search->seed, 0, round, 0).w[0], (uint32_t)overlap->overlaps);
    crop->width = 0;
    if (overlap->overlap[chosen] >= 1)
        return 1;
    const mot_words words = mot_random(search->seed, 0, round | turn % MOT_OVERLAP_TRIES, 1);
    return mot_try_overlap(overlap, words, search->width, search->height, crop) &&
           mot_crop_fits(search, crop, (float)overlap->overlap[chosen]);
}

/* Stores what a search has found: the crop of the try that ended it, of width 0: the image stays as it is; NULL: none
 * ended it. `drawn` shows all of the image. */
MOT_FN void mot_put_overlap(const mot_rectangle *crop, motley_place *drawn)
{
    if (!crop)
        drawn->overlap = MOTLEY_OVERLAP_UNDECIDED;
    if (!crop || crop->width == 0)
        return;
    drawn->overlap = MOTLEY_OVERLAP_CROPPED;
    drawn->crop.left = crop->left;
    drawn->crop.top = crop->top;
    drawn->crop.width = drawn->width = drawn->result_width = crop->width;
    drawn->crop.height = drawn->height = drawn->result_height = crop->height;
}

#endif
