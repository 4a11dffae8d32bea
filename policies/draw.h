/* SPDX-License-Identifier: Apache-2.0 */
/* One sample's draw, on the host and on the device: tables and random words in, steps out.
 *
 * Every decision has its own random word at a fixed place. The block is the low half of the counter's first word, the
 * sample's view the high half. A policy uses the blocks below MOT_POLICY_BLOCKS; draws outside the policy use the rest.
 *
 * Blocks are counted from the policy's first block. It is 0, except for the second and later policies of a transform:
 *
 *   block 0                                word 0: how many repetitions, 1: any at all
 *   block 1 + 64 r                         word 0: the branch of repetition r
 *   block 1 + 64 r + 1 + 2 s, its step s   word 0: applied, 1: level, 2: sign, 3: interpolation
 *   block 1 + 64 r + 2 + 2 s               word 0, 1: centre x, y; a custom op's two numbers. Of a step that works in
 *                                          boxes, word 0: which box (bbox_cutout), 2 and 3: the key of the boxes' words
 *
 * In a policy that mixes, chain c has these blocks from block 512 c on. Its block 48 holds its share in word 0 and, in
 * the first chain, the share of the mix in word 1. */
#ifndef MOT_DRAW_H
#define MOT_DRAW_H

#include "augmentations/step.h"
#include "motley/apply.h"
#include "policies/rng.h"
#include "policies/tables.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define MOT_BLOCKS_PER_REPETITION 64u /* one for the branch, two for each of its 16 steps, rounded up */
#define MOT_POLICY_BLOCKS (1 + MOT_BLOCKS_PER_REPETITION * MOT_MAX_WALK)
#define MOT_BLOCKS_PER_CHAIN (MOT_BLOCKS_PER_REPETITION * MOT_MAX_MIXED_REPEAT)
#define MOT_AUGMIX_BLOCK 48u /* in a chain's first repetition, behind the blocks of its steps */
#define MOT_VIEW_SHIFT 16    /* where the view begins in the counter's first word */
#define MOT_MAX_VIEW 0xFFFFu

/* A value relative to a side of `side_px` pixels. The arithmetic is exact on host and device: contraction is off. */
MOT_FN double mot_relative(const mot_table_step *step, const mot_level_entry *level, int minus, int side_px)
{
    double m;
    if (step->arithmetic == MOT_ARITHMETIC_TORCH) { /* torch.linspace(low, low + span, bins) in binary32 */
        const float start = (float)(level->low * side_px), end = (float)((level->low + level->span) * side_px);
        const float stride = (end - start) / (float)level->last_bin;
        const float bin = (float)level->position, bins = (float)level->last_bin + 1.0f;
        m = bin < floorf(bins / 2.0f) ? fmaf(stride, bin, start) : fmaf(-stride, (float)level->last_bin - bin, end);
    } else {
        m = (level->position * level->span + level->low) * side_px;
    }
    if (step->rounding == MOT_ROUND_TRUNC)
        m = trunc(m);
    else if (step->rounding == MOT_ROUND_HALF_EVEN)
        m = rint(m);
    return minus ? -m : m;
}

/* The branch of `phase` that `word` chooses, leaving out the `taken` ones (sorted ascending). */
MOT_FN uint32_t mot_choose_branch(const mot_table_branch *branch, const mot_table_phase *phase, uint32_t word,
                                  const uint16_t *taken, uint32_t taken_count)
{
    if (phase->branches == 1)
        return 0;
    uint32_t total = phase->total_weight;
    MOT_ROLLED
    for (uint32_t i = 0; i < taken_count; i++)
        total -= branch[taken[i]].weight;
    uint32_t x = mot_choose(word, total);
    MOT_ROLLED
    for (uint32_t i = 0; i < taken_count; i++) /* skip the branches already taken */
        if (branch[taken[i]].below <= x)
            x += branch[taken[i]].weight;
    uint32_t low = 0, high = phase->branches - 1;
    const uint32_t even = mot_choose(word, phase->branches); /* if all weigh the same */
    if (branch[even].below <= x && (even == high || branch[even + 1].below > x))
        return even;
    /* find the last branch with below <= x */
    MOT_ROLLED
    while (low < high) {
        const uint32_t middle = (low + high + 1) / 2;
        if (branch[middle].below <= x)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The sample that a draw is for. */
typedef struct mot_drawn_sample {
    uint64_t seed, id;
    uint32_t epoch;
    int width, height, channels;
    uint32_t view;
    float level;              /* that is given for it */
    int bands;                /* != 0: 2 or 4 channels without alpha */
    const double (*boxes)[4]; /* [boxes_count], left, top, right, bottom, for a crop by boxes */
    size_t boxes_count;
} mot_drawn_sample;

MOT_FN uint64_t mot_sample_id(const motley_samples *samples, size_t i)
{
    return samples->ids ? samples->ids[i] : samples->first + i;
}

/* Sample i of a batch. */
MOT_FN mot_drawn_sample mot_sample_of(const motley_samples *samples, size_t i, int width, int height, int channels)
{
    mot_drawn_sample sample;
    sample.seed = samples->seed;
    sample.id = mot_sample_id(samples, i);
    sample.epoch = samples->epoch;
    sample.view = samples->views ? samples->views[i] : samples->view;
    sample.level = samples->levels ? samples->levels[i] : 0;
    sample.width = width;
    sample.height = height;
    sample.channels = channels;
    sample.bands = samples->bands;
    sample.boxes = NULL;
    sample.boxes_count = 0;
    return sample;
}

/* Gives the sample of image i its boxes. Offsets that fall, which only the host can refuse, are of none. */
MOT_FN void mot_sample_give_boxes(mot_drawn_sample *sample, const motley_samples *samples, size_t i)
{
    const size_t begin = samples->box_offsets[i], end = samples->box_offsets[i + 1];
    sample->boxes_count = samples->boxes && end > begin ? end - begin : 0;
    if (sample->boxes_count) /* else there may be no boxes at all */
        sample->boxes = (const double(*)[4])(const void *)(samples->boxes + 4 * begin);
}

/* The fill of a step for a sample's image. Bands are filled as grey images, or, if there are four numbers, by these. */
MOT_FN void mot_fill(const mot_table_step *step, const mot_drawn_sample *sample, uint8_t fill[4])
{
    const int grey = sample->bands && step->fills != MOT_FILLS_FOUR;
    for (int c = 0; c < 4; c++)
        fill[c] = grey ? step->fill_grey : step->fill[c];
    if (sample->channels <= 2 && !grey) {
        fill[0] = step->fill_grey;
        fill[1] = step->fill[3];
    }
}

MOT_RANDOM_FN mot_words mot_words_of(const mot_drawn_sample *sample, uint32_t block)
{
    return mot_random(sample->seed, sample->epoch, sample->id, (sample->view << MOT_VIEW_SHIFT) + block);
}

/* The bin of a given level. All comparisons with NaN are false. */
MOT_FN uint32_t mot_given_bin(float level, uint32_t bins)
{
    const float inside = level > 0 ? (level < 1 ? level : 1) : 0;
    return (uint32_t)rint((double)inside * (bins - 1));
}

/* Draws a step of the table that is applied. `block` is where its decisions are, `words` are the decisions. */
MOT_RANDOM_FN void mot_draw_step(const mot_tables *t, uint32_t index, const mot_drawn_sample *sample, uint32_t block,
                                 mot_words words, mot_step *out)
{
    const mot_table_step *step = &t->step[index];
    const uint32_t bin =
        step->given ? mot_given_bin(sample->level, step->levels) : mot_choose(words.w[1], step->levels);
    const mot_level_entry *level = &t->level[step->first_level + bin];
    const int minus = step->sign == MOT_SIGN_RANDOM ? (int)(words.w[2] >> 31) : 0;
    out->op = step->op;
    out->level = (int32_t)bin;
    out->arg = level->arg[minus];
    out->value = level->value[minus];
    if (step->side != MOT_SIDE_NONE) {
        out->value = mot_relative(step, level, minus, step->side == MOT_SIDE_WIDTH ? sample->width : sample->height);
        out->arg.d[0] = out->value;
        out->arg.flags = out->value == 0 ? level->arg[minus].flags : 0;
    }
    out->interpolation = step->warps ? t->interpolation[mot_choose(words.w[3], t->interpolations)] : 0;
    for (int c = 0; c < 4; c++)
        out->fill[c] = 0;
    if (step->fills)
        mot_fill(step, sample, out->fill);
    if (step->draws != MOT_DRAWS_NOTHING) {
        const mot_words centre = mot_words_of(sample, block + 1);
        const double unit = 1.0 / 4294967296.0;
        if (step->draws == MOT_DRAWS_PIXEL) {
            out->arg.d[1] = mot_choose(centre.w[0], (uint32_t)sample->width);
            out->arg.d[2] = mot_choose(centre.w[1], (uint32_t)sample->height);
        } else {
            out->arg.d[1] = centre.w[0] * unit * (step->draws == MOT_DRAWS_POINT ? sample->width : 1);
            out->arg.d[2] = centre.w[1] * unit * (step->draws == MOT_DRAWS_POINT ? sample->height : 1);
        }
    }
#ifndef __CUDA_ARCH__
    out->table_step = (uint16_t)index;
    out->block = block;
#endif
}

/* The phase that an epoch is in. */
MOT_FN const mot_table_phase *mot_phase_at(const mot_tables *t, uint32_t epoch)
{
    uint32_t current = t->phases - 1;
    MOT_ROLLED
    while (current > 0 && t->phase[current].first_epoch > epoch)
        current--;
    return &t->phase[current];
}

MOT_RANDOM_FN uint32_t mot_draw_repeat(const mot_tables *t, const mot_drawn_sample *sample, uint32_t first_block)
{
    uint32_t wanted = t->repeat;
    if (t->repeat_given)
        wanted -= t->repeat_given - 1 - mot_given_bin(sample->level, t->repeat_given);
    if (t->repeat_weights || t->chance <= 0xFFFFFFFFu) {
        const mot_words words = mot_words_of(sample, first_block);
        if (words.w[1] >= t->chance)
            return 0;
        if (t->repeat_weights) {
            const uint32_t x = mot_choose(words.w[0], t->repeat_below[t->repeat_weights]);
            MOT_ROLLED
            for (wanted = 0; t->repeat_below[wanted + 1] <= x; wanted++)
                ;
        }
    }
    return wanted;
}

/* Where the words of step `s` of a branch begin, whose own are in block `of_branch`. */
MOT_FN uint32_t mot_block_of_step(uint32_t of_branch, uint32_t s)
{
    return of_branch + 1 + 2 * s;
}

/* One step of a sample, to be drawn without the others, and its words. */
typedef struct mot_slot {
    uint32_t repetition, step; /* of the repetition's branch */
    uint32_t branch;           /* the word that chooses it */
    uint32_t index, block;     /* of the step: see mot_draw_step */
    mot_words words;
} mot_slot;

/* Step `at` % t->branch_steps of repetition `at` / t->branch_steps. Only for a policy that chooses with replacement.
 * Reads no array of the tables. */
MOT_RANDOM_FN mot_slot mot_find_slot(const mot_tables *t, const mot_drawn_sample *sample, uint32_t at)
{
    mot_slot slot;
    slot.repetition = at / t->branch_steps;
    slot.step = at - slot.repetition * t->branch_steps;
    const uint32_t of_branch = t->first_block + 1 + MOT_BLOCKS_PER_REPETITION * slot.repetition;
    slot.branch = mot_words_of(sample, of_branch).w[0];
    slot.index = 0;
    slot.block = mot_block_of_step(of_branch, slot.step);
    slot.words = mot_words_of(sample, slot.block);
    return slot;
}

/* Whether the step is applied. If so, slot->index is known, and mot_draw_step can draw it. */
MOT_RANDOM_FN int mot_slot_applies(const mot_tables *t, const mot_drawn_sample *sample, mot_slot *slot)
{
    const mot_table_phase *phase = mot_phase_at(t, sample->epoch);
    const mot_table_branch *branches = &t->branch[phase->first_branch];
    if (slot->repetition >= mot_draw_repeat(t, sample, t->first_block))
        return 0;
    const mot_table_branch *const branch = &branches[mot_choose_branch(branches, phase, slot->branch, NULL, 0)];
    slot->index = branch->first_step + slot->step;
    return slot->step < branch->steps && slot->words.w[0] < t->step[slot->index].threshold;
}

/* Draws one chain, whose words begin at first_block: writes its applied steps and returns their number. */
MOT_RANDOM_FN int mot_draw_chain(const mot_tables *t, const mot_drawn_sample *sample, uint32_t first_block,
                                 mot_step *out)
{
    const mot_table_phase *phase = mot_phase_at(t, sample->epoch);
    const mot_table_branch *branches = &t->branch[phase->first_branch];
    uint32_t wanted = mot_draw_repeat(t, sample, first_block);
    const int removes = t->choice != MOT_WITH_REPLACEMENT;
    uint32_t turns = wanted;
    if (t->choice == MOT_UNTIL_APPLIED)
        turns = wanted ? phase->branches : 0;
    else if (removes && turns > phase->branches)
        turns = phase->branches;

    uint16_t taken[MOT_MAX_WALK];
    uint32_t taken_count = 0;
    int count = 0;
    for (uint32_t r = 0; r < turns; r++) {
        const uint32_t of_branch = first_block + 1 + MOT_BLOCKS_PER_REPETITION * r;
        const uint32_t chosen =
            mot_choose_branch(branches, phase, mot_words_of(sample, of_branch).w[0], taken, taken_count);
        const int before = count;
        for (uint32_t s = 0; s < branches[chosen].steps; s++) {
            const uint32_t index = branches[chosen].first_step + s, block = mot_block_of_step(of_branch, s);
            const mot_words words = mot_words_of(sample, block);
            if (words.w[0] < t->step[index].threshold)
                mot_draw_step(t, index, sample, block, words, &out[count++]);
        }
        if (t->choice == MOT_UNTIL_APPLIED && count > before && --wanted == 0)
            break;
        if (removes) { /* keep `taken` sorted */
            uint32_t at = taken_count++;
            MOT_ROLLED
            for (; at > 0 && taken[at - 1] > chosen; at--)
                taken[at] = taken[at - 1];
            taken[at] = (uint16_t)chosen;
        }
    }
    return count;
}

/* Writes a step that mixes by a weight. */
MOT_FN void mot_augmix_step(int op, float weight, mot_step *out)
{
    mot_clear_step(out);
    out->value = weight;
    out->op = op;
}

/* Draws the chains of a sample and how they are mixed. The host computed the quantiles, so the arithmetic is exact. */
MOT_RANDOM_FN int mot_draw_augmix(const mot_tables *t, const mot_drawn_sample *sample, mot_step *out)
{
    float weight[MOT_MAX_CHAINS];
    double share[MOT_MAX_CHAINS], sum = 0, mix = 0;
    for (uint32_t c = 0; c < t->chains; c++) {
        const mot_words words = mot_words_of(sample, t->first_block + MOT_BLOCKS_PER_CHAIN * c + MOT_AUGMIX_BLOCK);
        share[c] = t->gamma[mot_choose(words.w[0], MOT_QUANTILES)];
        sum += share[c];
        if (c == 0)
            mix = t->beta[mot_choose(words.w[1], MOT_QUANTILES)];
    }
    const float m = (float)mix;
    float rest = 1;
    for (uint32_t c = t->chains; c-- > 0;) {
        weight[c] = (float)(share[c] / sum);
        if (t->augmix_form != MOT_AUGMIX_SUM)
            weight[c] = weight[c] * m;
        if (t->augmix_form == MOT_AUGMIX_BLENDS) {              /* after all blends, each chain then has its share */
            const float part = rest > 0 ? weight[c] / rest : 0; /* 0: later chains replace the image */
            weight[c] = part < 1 ? part : 1;                    /* rounding could exceed 1 */
            rest = rest * (1 - weight[c]);
        }
    }
    int count = 0;
    if (t->augmix_form == MOT_AUGMIX_ONE_SUM)
        mot_augmix_step(MOTLEY_STEP_MIX_ADD, (float)(1 - mix), &out[count++]);
    for (uint32_t c = 0; c < t->chains; c++) {
        count += mot_draw_chain(t, sample, t->first_block + MOT_BLOCKS_PER_CHAIN * c, &out[count]);
        mot_augmix_step(t->augmix_form == MOT_AUGMIX_BLENDS ? MOTLEY_STEP_MIX_BLEND : MOTLEY_STEP_MIX_ADD, weight[c],
                        &out[count++]);
    }
    if (t->augmix_form != MOT_AUGMIX_BLENDS)
        mot_augmix_step(MOTLEY_STEP_MIX_SUM, t->augmix_form == MOT_AUGMIX_SUM ? m : 1, &out[count++]);
    return count;
}

/* Draws a sample: writes its applied steps to out [max_steps] and returns their number. */
MOT_RANDOM_FN int mot_draw_sample(const mot_tables *t, const mot_drawn_sample *sample, mot_step *out)
{
#ifndef __CUDA_ARCH__ /* on the device, the kernel of dispatch/cuda/parts_draw.cu draws policies that mix */
    if (t->chains)
        return mot_draw_augmix(t, sample, out);
#endif
    return mot_draw_chain(t, sample, t->first_block, out);
}

#endif
