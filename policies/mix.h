/* SPDX-License-Identifier: Apache-2.0 */
/* Draws how images are mixed, on the host and on the device: exact arithmetic only.
 *
 * It uses the blocks of a transform's stage `mix`: block 0: word 0: mixed or not, 1: CutMix or MixUp, 2: lambda,
 * 3: partner; block 1: word 0: the box's row, 1: its column, 2 and 3: its height and width by minmax; block 2: word 0:
 * pasted or not, 1: the batch's size; block 4 + k: of paste k, word 0: which object, 1 and 2: its column and row, 3:
 * its context. Instances may take all blocks of the kind, as a transform has one such stage. */
#ifndef MOT_MIX_H
#define MOT_MIX_H

#include "motley/mix.h"
#include "policies/transform_draw.h"

#include <string.h>

#define MOT_LAMBDA_CELLS 4096 /* equally likely values that approximate Beta(a, a) */

#define MOT_PASTE_BLOCK (MOT_STAGE_BLOCK(MOT_STAGE_MIX, 0) + 4) /* of the first paste */

struct motley_mix {
    motley_mix_params params;
    float mixup[MOT_LAMBDA_CELLS], cutmix[MOT_LAMBDA_CELLS]; /* quantiles, multiples of 2^-24 */
};

motley_status mot_mix_check(const motley_mix_params *params, motley_error *error);

/* Requires that boxes by minmax can be drawn in images of this size. */
motley_status mot_mix_check_sides(const motley_mix_params *params, int32_t width, int32_t height, motley_error *error);

/* Draws what is pasted into images that are drawn as PASTE or INSTANCES. */
motley_status mot_mix_draw_pastes(const motley_mix *mix, const motley_samples *samples, const motley_objects *objects,
                                  size_t count, int32_t width, int32_t height, motley_mixed *drawn,
                                  motley_paste *pastes, motley_error *error);

/* The index of the image whose sample id decides for image i of `count`. */
MOT_FN size_t mot_mix_drawer(const motley_mix_params *p, size_t i, size_t count)
{
    const size_t other = count - 1 - i;
    return p->mode == MOTLEY_MIX_BATCH ? 0 : p->mode == MOTLEY_MIX_PAIR && other < i ? other : i;
}

MOT_FN int32_t mot_clamp_to(int32_t v, int32_t most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* One of the millionths from low to high. Python's round(x, 6) gives the same numbers. */
MOT_FN double mot_millionths(uint32_t word, double low, double high)
{
    const double first = floor(low * 1e6 + 0.5), last = floor(high * 1e6 + 0.5);
    return (first + mot_choose(word, (uint32_t)(last - first) + 1)) / 1e6;
}

/* The box between rows top..bottom and columns left..right, clipped to the image. */
MOT_FN motley_erased_box mot_mix_box(int32_t left, int32_t top, int32_t right, int32_t bottom, int32_t width,
                                     int32_t height)
{
    motley_erased_box box;
    box.left = mot_clamp_to(left, width);
    box.top = mot_clamp_to(top, height);
    box.width = mot_clamp_to(right, width) - box.left;
    box.height = mot_clamp_to(bottom, height) - box.top;
    return box;
}

MOT_FN motley_erased_box mot_mix_draw_box(const motley_mix_params *p, double lambda, mot_words words, int32_t width,
                                          int32_t height)
{
    const int32_t y = (int32_t)mot_choose(words.w[0], (uint32_t)height);
    const int32_t x = (int32_t)mot_choose(words.w[1], (uint32_t)width);
    if (p->minmax[0] > 0) {
        const int32_t least_h = (int32_t)(height * p->minmax[0]), least_w = (int32_t)(width * p->minmax[0]);
        const int32_t most_h = (int32_t)(height * p->minmax[1]), most_w = (int32_t)(width * p->minmax[1]);
        const int32_t h = least_h + (int32_t)mot_choose(words.w[2], (uint32_t)(most_h - least_h));
        const int32_t w = least_w + (int32_t)mot_choose(words.w[3], (uint32_t)(most_w - least_w));
        const int32_t top = (int32_t)mot_choose(words.w[0], (uint32_t)(height - h + 1));
        const int32_t left = (int32_t)mot_choose(words.w[1], (uint32_t)(width - w + 1));
        return mot_mix_box(left, top, left + w, top + h, width, height);
    }
    if (p->rules == MOTLEY_MIX_TORCHVISION) {
        const double half = 0.5 * sqrt(1.0 - lambda);
        const int32_t w = (int32_t)(half * width), h = (int32_t)(half * height);
        return mot_mix_box(x - w, y - h, x + w, y + h, width, height);
    }
    int32_t h, w;
    if (p->mode == MOTLEY_MIX_BATCH) {
        const double side = sqrt(1.0 - lambda);
        h = (int32_t)(height * side);
        w = (int32_t)(width * side);
    } else { /* timm's lambda is binary32 here, and NumPy 2 computes in binary32 with it */
        const float side = sqrtf(1.0f - (float)lambda);
        h = (int32_t)((float)height * side);
        w = (int32_t)((float)width * side);
    }
    return mot_mix_box(x - w / 2, y - h / 2, x + (w + 1) / 2, y + (h + 1) / 2, width, height);
}

/* Draws how image i is mixed. `self` is its sample, `drawer` that of the image mot_mix_drawer. */
MOT_RANDOM_FN motley_mixed mot_mix_draw(const motley_mix *mix, const mot_drawn_sample *drawer,
                                        const mot_drawn_sample *self, size_t i, size_t count)
{
    const motley_mix_params *p = &mix->params;
    const uint32_t block = MOT_STAGE_BLOCK(MOT_STAGE_MIX, 0);
    const mot_words words = mot_words_of(drawer, block);
    motley_mixed out;
    memset(&out, 0, sizeof out);
    out.lambda = out.share = 1;
    out.partner = (int32_t)(p->rules == MOTLEY_MIX_TIMM ? count - 1 - i : i ? i - 1 : count - 1);
    if (p->drawn_partner && count > 1) {
        const uint32_t other = mot_choose(mot_words_of(self, block).w[3], (uint32_t)count - 1);
        out.partner = (int32_t)(other + (other >= i));
    }
    const int shares = p->share[1] > 0, mixup = p->mixup > 0 || shares;
    if (!(mixup || p->cutmix > 0) || !mot_coin(words.w[0], p->p)) {
        if ((p->pastes > 0 || p->instances) && mot_coin(mot_words_of(drawer, block + 2).w[0], p->paste_p)) {
            out.kind = p->instances ? MOTLEY_MIX_INSTANCES : MOTLEY_MIX_PASTE;
            out.grow = p->grow;
            if (!p->instances)
                out.lambda = mot_millionths(words.w[2], p->share[0], p->share[1]);
        }
        return out;
    }
    const int cut = p->cutmix > 0 && (!mixup || mot_coin(words.w[1], p->switch_p));
    out.lambda = shares && !cut ? mot_millionths(words.w[2], p->share[0], p->share[1])
                                : (cut ? mix->cutmix : mix->mixup)[mot_choose(words.w[2], MOT_LAMBDA_CELLS)];
    if (out.lambda == 1)
        return out;
    out.kind = cut ? MOTLEY_MIX_CUTMIX : MOTLEY_MIX_MIXUP;
    out.share = out.lambda;
    if (cut) {
        out.box = mot_mix_draw_box(p, out.lambda, mot_words_of(drawer, block + 1), self->width, self->height);
        if (!p->keep_lambda || p->minmax[0] > 0)
            out.share = 1.0 - (double)((int64_t)out.box.width * out.box.height) / ((double)self->width * self->height);
        if (p->mode != MOTLEY_MIX_BATCH)
            out.share = (float)out.share; /* timm's list of lambdas is binary32 */
    }
    return out;
}

#endif
