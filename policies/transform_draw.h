/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a transform's stages other than its policies, on the host and on the device: exact arithmetic only.
 *
 * The k-th policy of a transform, from 0, has the blocks from k * MOT_STAGE_POLICY_BLOCKS on. The n-th stage of another
 * kind has 256 blocks from MOT_STAGE_BLOCK(kind, n) on:
 *
 *   random_resized_crop  block t: try t's area, ratio, row, column; block 16: word 0: filter
 *   zoom_out             block 0: word 0: applied or not, 1: the canvas' sides, 2: left, 3: top
 *   resize               block 0: word 0: the side, or the scale
 *   iou_crop             block 0: word 0: applied or not; block 1: word 0, 1: the seed of its rounds (overlap_draw.h)
 *   random_crop          block 0: word 0: row, 1: column
 *   size_crop            block 0: word 0: width, 1: height, 2: row, 3: column
 *   fixed_crop           block 0: word 0: row and column
 *   flip                 block 0: word 0: horizontal, 1: vertical
 *   jitter               block 0: word 0: applied or not; block 1: word 0..2: the order; block 2: the four factors
 *   photometric          block 0: brightness, contrast, saturation, hue or not; block 1: the four factors;
 *                        block 2: word 0: contrast second or last, 1: permuted or not, 2: which order
 *   grayscale            block 0: word 0: applied or not
 *   blur                 block 0: word 0: applied or not, 1: radius
 *   one_of               block 0: word 0: which list
 *   erase                block 0: word 0: applied or not, 1: how many boxes; block 1: word 0, 1: the noise;
 *                        block 2 + 16 b + t: try t of box b: area, ratio, row, column
 *
 * An erased box's random values come from separate counters, with the noise as the key (mot_noise_cell). */
#ifndef MOT_TRANSFORM_DRAW_H
#define MOT_TRANSFORM_DRAW_H

#include "augmentations/jitter.h"
#include "augmentations/permute.h"
#include "policies/draw.h"
#include "policies/places.h"
#include "policies/transform.h"

#include <string.h>

#define MOT_STAGE_BLOCK(kind, n) (32768u + 256u * (4u * (uint32_t)(kind) + (uint32_t)(n)))
#define MOT_CROP_FILTER_BLOCK 16u /* of a random_resized_crop */

/* A word as a uniform number in torch's form: 24 bits, in [0, 1). */
MOT_FN double mot_unit(uint32_t word)
{
    return (word >> 8) * (1.0 / 16777216.0);
}

MOT_FN int mot_coin(uint32_t word, double p)
{
    return word < (uint64_t)rint(p * 4294967296.0);
}

/* Whether a sample has this stage: it is in no list of a one_of, or in the one that the sample has drawn. */
MOT_RANDOM_FN int mot_stage_runs(const mot_stage *stage, const mot_drawn_sample *sample)
{
    const mot_listing *const choice = &stage->listed;
    if (!choice->one_of)
        return 1;
    const uint32_t word = mot_words_of(sample, MOT_STAGE_BLOCK(MOT_STAGE_ONE_OF, choice->one_of - 1)).w[0];
    return word >= choice->from && word < choice->to;
}

typedef struct mot_rectangle {
    int32_t left, top, width, height;
} mot_rectangle;

/* The ratio of a rectangle's sides, one of MOT_RATIO_CELLS. */
MOT_FN double mot_draw_ratio(const double *ratios, mot_words words)
{
    return ratios[mot_choose(words.w[1], MOT_RATIO_CELLS)];
}

/* The sides of a rectangle of a share of `area_px` pixels and a ratio of width to height. */
MOT_FN void mot_draw_sides(double area_px, const double share[2], double ratio, mot_words words, double *longer,
                           double *shorter)
{
    const double area = area_px * (share[0] + (share[1] - share[0]) * mot_unit(words.w[0]));
    *longer = rint(sqrt(area * ratio));
    *shorter = rint(sqrt(area / ratio));
}

/* One try of RandomResizedCrop; returns whether its rectangle fits into the image. */
MOT_FN int mot_try_crop(const mot_drawn_sample *sample, const double area[2], double ratio, mot_words words,
                        mot_rectangle *crop)
{
    double width, height;
    mot_draw_sides((double)sample->width * sample->height, area, ratio, words, &width, &height);
    if (!(width >= 1 && width <= sample->width && height >= 1 && height <= sample->height))
        return 0;
    crop->width = (int32_t)width;
    crop->height = (int32_t)height;
    crop->top = (int32_t)mot_choose(words.w[2], (uint32_t)(sample->height - crop->height + 1));
    crop->left = (int32_t)mot_choose(words.w[3], (uint32_t)(sample->width - crop->width + 1));
    return 1;
}

/* RandomResizedCrop's rectangle when no try fits: the middle of the image in the nearest ratio. */
MOT_FN mot_rectangle mot_middle_crop(const mot_drawn_sample *sample, const double ratio[2])
{
    mot_rectangle crop = { 0, 0, sample->width, sample->height };
    const double shape = (double)sample->width / sample->height;
    if (shape < ratio[0])
        crop.height = (int32_t)rint(sample->width / ratio[0]);
    else if (shape > ratio[1])
        crop.width = (int32_t)rint(sample->height * ratio[1]);
    crop.width = crop.width < 1 ? 1 : crop.width; /* for an image of a pixel or two */
    crop.height = crop.height < 1 ? 1 : crop.height;
    crop.left = (sample->width - crop.width) / 2;
    crop.top = (sample->height - crop.height) / 2;
    return crop;
}

/* RandomResizedCrop's rectangle: the first of ten tries that fits. */
MOT_RANDOM_FN mot_rectangle mot_draw_crop(const mot_stage *stage, const mot_drawn_sample *sample, uint32_t block)
{
    mot_rectangle crop;
    MOT_ROLLED
    for (uint32_t t = 0; t < MOT_CROP_TRIES; t++) {
        const mot_words words = mot_words_of(sample, block + t);
        if (mot_try_crop(sample, stage->of.crop.area, mot_draw_ratio(stage->ratios, words), words, &crop))
            return crop;
    }
    return mot_middle_crop(sample, stage->of.crop.ratio);
}

/* Stores the drawn crop. */
MOT_FN void mot_put_crop(const mot_stage *stage, mot_rectangle crop, motley_place *drawn)
{
    drawn->crop.left = crop.left, drawn->crop.top = crop.top;
    drawn->crop.width = crop.width, drawn->crop.height = crop.height;
    drawn->width = stage->of.crop.width;
    drawn->height = stage->of.crop.height;
}

/* RandomResizedCrop's filter; `words` are those of its block MOT_CROP_FILTER_BLOCK. */
MOT_FN motley_filter mot_crop_filter(const mot_stage *stage, mot_words words)
{
    return (motley_filter)stage->of.crop.filter[mot_choose(words.w[0], (uint32_t)stage->of.crop.filters)];
}

MOT_FN void mot_put_flip(const mot_stage *stage, mot_words words, motley_place *drawn)
{
    drawn->flip_horizontal = (uint8_t)mot_coin(words.w[0], stage->of.flip.horizontal);
    drawn->flip_vertical = (uint8_t)mot_coin(words.w[1], stage->of.flip.vertical);
}

/* RandomErasing's rectangle in an image of width x height, with a share of its area divided by `boxes`. Returns 0 when
 * ten tries miss.
 */
MOT_RANDOM_FN int mot_draw_box(const mot_drawn_sample *sample, uint32_t block, int width, int height, int boxes,
                               const double area[2], const double *ratios, mot_rectangle *box)
{
    MOT_ROLLED
    for (uint32_t t = 0; t < MOT_CROP_TRIES; t++) {
        const mot_words words = mot_words_of(sample, block + t);
        double w, h;
        mot_draw_sides((double)width * height / boxes, area, mot_draw_ratio(ratios, words), words, &h,
                       &w); /* here the ratio is height to width */
        if (w >= 1 && w < width && h >= 1 && h < height) {
            box->width = (int32_t)w;
            box->height = (int32_t)h;
            box->top = (int32_t)mot_choose(words.w[2], (uint32_t)(height - box->height + 1));
            box->left = (int32_t)mot_choose(words.w[3], (uint32_t)(width - box->width + 1));
            return 1;
        }
    }
    return 0;
}

/* A uniformly random order of n things: Fisher-Yates shuffle from the front. */
MOT_FN void mot_draw_order(mot_words words, int n, uint8_t *order)
{
    for (int i = 0; i < n; i++)
        order[i] = (uint8_t)i;
    for (int i = 0; i < n - 1; i++) {
        const int j = i + (int)mot_choose(words.w[i], (uint32_t)(n - i));
        const uint8_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

/* Uniform in low..high, as torch's uniform_ computes it: the product in double, the result in binary32. */
MOT_FN float mot_draw_factor(uint32_t word, double low, double high)
{
    return (float)(mot_unit(word) * ((float)high - (float)low) + (float)low);
}

/* The sides of an image after a resize stage: both as written, or the shorter one as written and the longer one
 * truncated as in torchvision.
 */
MOT_FN void mot_resized_sides(const mot_stage *stage, int32_t width, int32_t height, int32_t *out_width,
                              int32_t *out_height)
{
    const int64_t longer = width <= height ? (int64_t)stage->of.crop.width * height / width
                                           : (int64_t)stage->of.crop.width * width / height;
    const int32_t most = longer > INT32_MAX ? INT32_MAX : (int32_t)longer;
    *out_width = stage->of.crop.height > 0 || width <= height ? stage->of.crop.width : most;
    *out_height = stage->of.crop.height > 0 ? stage->of.crop.height : width <= height ? most : stage->of.crop.width;
}

/* The cell of MOT_NORMAL_CELLS that value `index` of an erased box takes: its own Philox words, keyed by the noise. */
MOT_RANDOM_FN uint32_t mot_noise_cell(uint64_t noise, uint32_t box, uint32_t index)
{
    return mot_random(noise, 0, (uint64_t)box << 32 | index / 4, 0).w[index % 4] >> 20;
}

/* Writes a step of the table with one value, or none. */
MOT_FN void mot_put_op(mot_step *step, int op, double value, int values)
{
    mot_clear_step(step);
    step->op = op;
    step->value = values ? value : 0;
    mot_stage_op_prepare(op, value, &step->arg);
}

/* Writes the step of change `which` of a jitter. */
MOT_FN void mot_put_change(mot_step *step, int which, float factor)
{
    const int ops[MOT_HUE] = MOT_JITTER_OPS;
    if (which == MOT_HUE) {
        mot_clear_step(step);
        step->op = MOTLEY_STEP_HUE;
        step->value = factor;
    } else {
        mot_put_op(step, ops[which], factor, 1);
    }
}

/* torchvision's RandomPhotometricDistort. */
MOT_RANDOM_FN int mot_draw_photometric(const mot_photometric *photo, const mot_drawn_sample *sample, uint32_t block,
                                       mot_step *steps)
{
    const mot_words coins = mot_words_of(sample, block), factors = mot_words_of(sample, block + 1);
    const mot_words last = mot_words_of(sample, block + 2);
    const int second = mot_coin(last.w[0], 0.5); /* where contrast stands, else it is last */
    int n = 0;
    MOT_ROLLED
    for (int i = 0; i <= MOT_JITTERS; i++) {
        const int which = i == MOT_JITTERS ? MOT_CONTRAST : i;
        if ((which == MOT_CONTRAST && second != (i == MOT_CONTRAST)) || !mot_coin(coins.w[which], photo->p))
            continue;
        const double *const range = photo->range[which];
        mot_put_change(&steps[n++], which, mot_draw_factor(factors.w[which], range[0], range[1]));
    }
    const int order = (int)mot_choose(last.w[2], MOT_PERMUTATIONS);
    if (order > 0 && mot_coin(last.w[1], photo->channels < 0 ? photo->p : photo->channels)) {
        mot_clear_step(&steps[n]);
        steps[n].op = MOTLEY_STEP_PERMUTE;
        steps[n++].value = order;
    }
    return n;
}

MOT_RANDOM_FN int mot_draw_jitter(const mot_stage *stage, const mot_drawn_sample *sample, uint32_t block,
                                  mot_step *steps)
{
    if (!mot_coin(mot_words_of(sample, block).w[0], stage->of.jitter.p))
        return 0;
    uint8_t order[MOT_JITTERS];
    mot_draw_order(mot_words_of(sample, block + 1), MOT_JITTERS, order);
    const mot_words factors = mot_words_of(sample, block + 2);
    int n = 0;
    for (int i = 0; i < MOT_JITTERS; i++) {
        const int which = order[i];
        const double *range = stage->of.jitter.range[which], neutral = which == MOT_HUE ? 0 : 1;
        if (range[0] == neutral && range[1] == neutral)
            continue;
        mot_put_change(&steps[n++], which, mot_draw_factor(factors.w[which], range[0], range[1]));
    }
    return n;
}

MOT_RANDOM_FN void mot_draw_erase(const mot_stage *stage, const mot_drawn_sample *sample, uint32_t block, int width,
                                  int height, motley_place *drawn)
{
    const mot_words first = mot_words_of(sample, block), noise = mot_words_of(sample, block + 1);
    if (!mot_coin(first.w[0], stage->of.erase.p))
        return;
    const int count = stage->of.erase.boxes[0] +
                      (int)mot_choose(first.w[1], (uint32_t)(stage->of.erase.boxes[1] - stage->of.erase.boxes[0] + 1));
    drawn->noise = (uint64_t)noise.w[1] << 32 | noise.w[0];
    for (int b = 0; b < count; b++) {
        mot_rectangle box;
        if (!mot_draw_box(sample, block + 2 + 16 * (uint32_t)b, width, height, count, stage->of.erase.area,
                          stage->ratios, &box))
            continue;
        motley_erased_box *const put = &drawn->boxes[drawn->boxes_count++];
        put->left = box.left, put->top = box.top;
        put->width = box.width, put->height = box.height;
    }
}

MOT_FN int32_t mot_half_to_even(int32_t twice)
{
    return (int32_t)rint(twice / 2.0);
}

/* torchvision's CenterCrop: an image that is too small is first padded, with the larger half on the right and below;
 * then the rest is halved, rounding half to even. */
MOT_FN int32_t mot_center(int32_t side, int32_t wanted)
{
    return side < wanted ? -((wanted - side) / 2) : mot_half_to_even(side - wanted);
}

/* The size of an image after a stage; the source was source_width x source_height. */
MOT_FN void mot_stage_size(const mot_stage *stage, int32_t source_width, int32_t source_height, int32_t *width,
                           int32_t *height)
{
    if (stage->kind == MOT_STAGE_RESIZE) {
        mot_resized_sides(stage, source_width, source_height, width, height);
    } else if (stage->kind <= MOT_STAGE_RANDOM_CROP) {
        *width = stage->of.crop.width;
        *height = stage->of.crop.height;
    }
}

/* torchvision's RandomZoomOut: an image in a larger canvas of the fill; in binary32, as there. */
MOT_FN void mot_draw_zoom(const mot_zoom *zoom, const mot_drawn_sample *sample, mot_words words, motley_place *drawn)
{
    const float low = (float)zoom->side[0], range = (float)(zoom->side[1] - zoom->side[0]);
    const float side = low + (float)mot_unit(words.w[1]) * range;
    if (!mot_coin(words.w[0], zoom->p))
        return;
    drawn->beyond = 1;
    drawn->crop.width = drawn->width = (int32_t)((float)sample->width * side);
    drawn->crop.height = drawn->height = (int32_t)((float)sample->height * side);
    drawn->crop.left = -(int32_t)((float)(drawn->crop.width - sample->width) * (float)mot_unit(words.w[2]));
    drawn->crop.top = -(int32_t)((float)(drawn->crop.height - sample->height) * (float)mot_unit(words.w[3]));
    drawn->canvas_left = -drawn->crop.left;
    drawn->canvas_top = -drawn->crop.top;
}

/* The draw of a transform that neither crops nor resizes; the rest of `drawn` is 0. */
MOT_FN void mot_draw_whole(const mot_drawn_sample *sample, motley_place *drawn)
{
    drawn->crop.width = drawn->width = drawn->result_width = sample->width;
    drawn->crop.height = drawn->height = drawn->result_height = sample->height;
}

/* What a stage without steps draws for an image that is width x height at this stage, but for the size of the result.
 */
MOT_RANDOM_FN void mot_draw_place(const mot_stage *stage, const mot_drawn_sample *sample, uint32_t block, int32_t width,
                                  int32_t height, motley_place *drawn)
{
    switch (stage->kind) {
    case MOT_STAGE_RANDOM_RESIZED_CROP:
        mot_put_crop(stage, mot_draw_crop(stage, sample, block), drawn);
        drawn->filter = mot_crop_filter(stage, mot_words_of(sample, block + MOT_CROP_FILTER_BLOCK));
        break;
    case MOT_STAGE_RESIZE:
        mot_resized_sides(stage, sample->width, sample->height, &drawn->width, &drawn->height);
        drawn->filter = (motley_filter)stage->of.crop.filter[0];
        drawn->torch_planes = (uint8_t)(stage->of.crop.masks != 0);
        break;
    case MOT_STAGE_ZOOM_OUT:
        mot_draw_zoom(&stage->of.zoom, sample, mot_words_of(sample, block), drawn);
        break;
    case MOT_STAGE_CENTER_CROP:
        drawn->left = mot_center(width, stage->of.crop.width);
        drawn->top = mot_center(height, stage->of.crop.height);
        break;
    case MOT_STAGE_RANDOM_CROP: {
        const mot_words words = mot_words_of(sample, block);
        const int32_t spare_x = width + 2 * stage->of.crop.padding - stage->of.crop.width;
        const int32_t spare_y = height + 2 * stage->of.crop.padding - stage->of.crop.height;
        drawn->top =
            (int32_t)mot_choose(words.w[0], (uint32_t)(spare_y < 0 ? 0 : spare_y) + 1) - stage->of.crop.padding;
        drawn->left =
            (int32_t)mot_choose(words.w[1], (uint32_t)(spare_x < 0 ? 0 : spare_x) + 1) - stage->of.crop.padding;
        break;
    }
    case MOT_STAGE_FLIP:
        mot_put_flip(stage, mot_words_of(sample, block), drawn);
        break;
    case MOT_STAGE_ERASE:
        mot_draw_erase(stage, sample, block, width, height, drawn);
        break;
    default:
        break;
    }
}

/* What a stage of mot_draw_place does by itself to an image of the sample's size, all of which `own` is. */
MOT_RANDOM_FN void mot_draw_own_place(const mot_stage *stage, const mot_drawn_sample *sample, uint32_t block,
                                      motley_place *own)
{
    const int crops = stage->kind == MOT_STAGE_CENTER_CROP || stage->kind == MOT_STAGE_RANDOM_CROP;
    mot_draw_place(stage, sample, block, sample->width, sample->height, own);
    own->result_width = crops ? stage->of.crop.width : own->width;
    own->result_height = crops ? stage->of.crop.height : own->height;
}

/* Makes `drawn`, of an image of this size, do what a stage does, too. 0: the image has to be resized a second time. */
MOT_FN int mot_add_place(const mot_stage *stage, const motley_place *own, int32_t width, int32_t height,
                         motley_place *drawn)
{
    if (!mot_place_join(drawn, own, stage->kind <= MOT_STAGE_RESIZE, width, height))
        return 0;
    drawn->overlap |= own->overlap;
    if (stage->kind == MOT_STAGE_ZOOM_OUT) {
        drawn->canvas_left = own->canvas_left;
        drawn->canvas_top = own->canvas_top;
    }
    if (stage->kind == MOT_STAGE_IOU_CROP)
        mot_place_show(drawn, width, height);
    return 1;
}

/* Draws a stage's steps into `steps` [stage->steps] and returns how many; `tables` are a policy's. */
MOT_RANDOM_FN int mot_draw_steps(const mot_stage *stage, const mot_tables *tables, const mot_drawn_sample *sample,
                                 uint32_t block, int32_t width, int32_t height, mot_step *steps)
{
    if (stage->kind == MOT_STAGE_POLICY) {
        mot_drawn_sample inside = *sample;
        inside.width = width;
        inside.height = height;
        return mot_draw_sample(tables, &inside, steps);
    }
    if (stage->kind == MOT_STAGE_PHOTOMETRIC)
        return mot_draw_photometric(&stage->of.photometric, sample, block, steps);
    if (stage->kind == MOT_STAGE_JITTER)
        return mot_draw_jitter(stage, sample, block, steps);
    const mot_words words = mot_words_of(sample, block);
    const mot_blur *const blur = &stage->of.blur;
    if (!mot_coin(words.w[0], stage->kind == MOT_STAGE_GRAYSCALE ? stage->of.grayscale.p : blur->p))
        return 0;
    if (stage->kind == MOT_STAGE_GRAYSCALE) {
        mot_put_op(steps, MOT_GRAYSCALE_STAGE_OP, 0, 0);
        return 1;
    }
    const double *const range = blur->kernel_size ? blur->sigma : blur->radius;
    const float radius = mot_draw_factor(words.w[1], range[0], range[1]);
    if (blur->kernel_size) { /* its weights need an exp: the host makes them */
        mot_clear_step(steps);
        steps->op = MOTLEY_STEP_KERNEL_BLUR;
        steps->value = radius;
        steps->arg.size = (uint32_t)blur->kernel_size;
    } else {
        mot_put_op(steps, MOT_BLUR_STAGE_OP, radius, 1);
    }
    return 1;
}

/* An image's sizes: of the crop, at most, after its resize, of which a window is taken, and of the result. */
typedef struct mot_sizes {
    int32_t crop_width, crop_height, resized_width, resized_height, width, height;
} mot_sizes;

/* The sizes of an image of width x height that goes way `way` through the lists of all one_of, where sizes are not
 * drawn: its result has one size by all ways. And those of a place. */
mot_sizes mot_result_size(const mot_transform *transform, uint32_t way, int32_t width, int32_t height);
mot_sizes mot_sizes_of_place(const motley_place *place);

/* The sizes that a sample's image gets, drawn or not, which are checked. Errors: ARGUMENT. */
motley_status mot_sample_sizes(const mot_transform *transform, const mot_drawn_sample *sample, mot_sizes *sizes,
                               motley_error *error);

/* Requires that images can be resized to their sizes; and that an image of width x height can be, and cropped, by every
 * way. */
motley_status mot_sizes_check(const mot_sizes *sizes, motley_error *error);
motley_status mot_ways_check(const mot_transform *transform, int32_t width, int32_t height, motley_error *error);

/* Requires the same of a place that is drawn, also of what comes first. */
motley_status mot_place_sizes_check(const motley_place *place, motley_error *error);

/* Requires that some image can be resized, cropped and mixed by a way. from: the width and height of all images, or
 * NULL: they have many sizes. */
motley_status mot_sizes_check_any(const mot_transform *transform, uint32_t way, const int32_t from[2],
                                  motley_error *error);

/* A transform's draw on the host, unless it takes boxes: `drawn` and steps [max_steps]; returns how many steps. The
 * sizes were checked. */
int mot_transform_draw(const mot_transform *transform, const mot_drawn_sample *sample, motley_place *drawn,
                       mot_step *steps);

/* The same of a place that is drawn already. */
int mot_transform_draw_steps(const mot_transform *transform, const mot_drawn_sample *sample, motley_place *drawn,
                             mot_step *steps);

/* Its parts. The place, whose result its steps work on, and ARGUMENT where it fits no image of this size; and the steps
 * of stage s. */
motley_status mot_transform_place(const mot_transform *transform, const mot_drawn_sample *sample, motley_place *drawn,
                                  motley_error *error);
int mot_transform_steps(const mot_transform *transform, uint32_t s, const mot_drawn_sample *sample, int32_t width,
                        int32_t height, mot_step *steps);

/* The sides that a resize makes by another key than `size`; `words` draw which. And a side that is padded. */
void mot_ruled_sides(const mot_crop *crop, mot_words words, int32_t width, int32_t height, int32_t *to_width,
                     int32_t *to_height);
int32_t mot_padded_side(const mot_window *window, int32_t side, int down);

/* ---- draw_boxes.c ---- */

/* Checks that a transform that takes boxes gets them; `device`: they may be there. The boxes' numbers are checked
 * during the draw. */
motley_status mot_boxes_check(const mot_transform *transform, const motley_samples *samples, size_t count, bool device,
                              motley_error *error);

/* *room: the most steps that an image can get with its boxes, after mot_boxes_check. Requires that memory can hold the
 * steps of all images. */
motley_status mot_steps_room(const mot_transform *transform, const motley_samples *samples, size_t count, size_t *room,
                             motley_error *error);

/* Draws image i of a batch: where it is placed; its steps to `steps` and the part of the image that each works in
 * (empty: all of it) to `inside`, both [mot_steps_room of its boxes]. `scratch`: two, for boxes. */
motley_status mot_draw_image(const mot_transform *transform, const motley_samples *samples, size_t i, int32_t width,
                             int32_t height, int32_t channels, motley_place *drawn, mot_step *steps, mot_rect *inside,
                             int32_t *count, mot_kept scratch[2], motley_error *error);

#endif
