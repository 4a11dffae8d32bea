/* SPDX-License-Identifier: Apache-2.0 */
/* Draws how images are mixed, with exact arithmetic only.
 *
 * It uses the blocks of a transform's stage `mix`: block 0: word 0: mixed or not, 1: CutMix or MixUp, 2: lambda,
 * 3: partner; block 1: word 0: the box's row, 1: its column, 2 and 3: its height and width by minmax; block 2: word 0:
 * pasted or not, 1: the batch's size; block 4 + k: of paste k, word 0: which object, 1 and 2: its column and row, 3:
 * its context. Instances may take all blocks of the kind, as a transform has one such stage. */
#ifndef MOT_MIX_H
#define MOT_MIX_H

#include "motley/mix.h"
#include "policies/transform_draw.h"

#include <stdbool.h>

#define MOT_LAMBDA_CELLS 4096 /* equally likely values that approximate Beta(a, a) */

#define MOT_PASTE_BLOCK (MOT_STAGE_BLOCK(MOT_STAGE_MIX, 0) + 4) /* of the first paste */

struct motley_mix {
    motley_mix_params params;
    int32_t lambda[2][MOT_LAMBDA_CELLS / 2]; /* MixUp's and CutMix's that were drawn: see mot_mix_lambda; 0: not yet */
};

/* Lambda in a cell: the quantile of Beta(a, a) in its middle, in multiples of 2^-24. It is found when it is first
 * drawn, and kept; threads that find it at once find the same. */
double mot_mix_lambda(const motley_mix *mix, bool cut, uint32_t cell);

/* Draws the box of CutMix. */
motley_erased_box mot_mix_draw_box(const motley_mix_params *params, double lambda, mot_words words, int32_t width,
                                   int32_t height);

motley_status mot_mix_check(const motley_mix_params *params, motley_error *error);

/* Requires that boxes by minmax can be drawn in images of this size. */
motley_status mot_mix_check_sides(const motley_mix_params *params, int32_t width, int32_t height, motley_error *error);

/* Draws what is pasted into images that are drawn as PASTE or INSTANCES. */
motley_status mot_mix_draw_pastes(const motley_mix *mix, const motley_samples *samples, const motley_objects *objects,
                                  size_t count, int32_t width, int32_t height, motley_mixed *drawn,
                                  motley_paste *pastes, motley_error *error);

/* One of the millionths from low to high. Python's round(x, 6) gives the same numbers. */
MOT_FN double mot_millionths(uint32_t word, double low, double high)
{
    const double first = floor(low * 1e6 + 0.5), last = floor(high * 1e6 + 0.5);
    return (first + mot_choose(word, (uint32_t)(last - first) + 1)) / 1e6;
}

#endif
