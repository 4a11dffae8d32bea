/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled policy: flat tables, made by policies/compile.c, from which both the host and the device draw. */
#ifndef MOT_TABLES_H
#define MOT_TABLES_H

#include "augmentations/op.h"

/* Limits of a policy; a text over one of them is refused. */
#define MOT_MAX_REPEAT 16       /* most repetitions */
#define MOT_MAX_WALK 64         /* branches that MOT_UNTIL_APPLIED walks through */
#define MOT_MAX_BRANCH_STEPS 16 /* steps of one branch */
#define MOT_MAX_BRANCHES 4096   /* over all phases */
#define MOT_MAX_PHASES 1024
#define MOT_MAX_LEVELS 1024         /* of one step */
#define MOT_MAX_LEVEL_ENTRIES 65536 /* over all steps */
#define MOT_MAX_STEPS 64            /* that one sample can draw */
#define MOT_MAX_CHAINS 8            /* that are mixed */
#define MOT_MAX_MIXED_REPEAT 8      /* repetitions of a chain */
#define MOT_QUANTILES 512           /* levels that approximate a continuous one */
#define MOT_GIVEN_LEVELS 513        /* of a continuous scale: a given level is rounded to a multiple of 1/512 */

typedef enum mot_rounding { MOT_ROUND_NONE, MOT_ROUND_TRUNC, MOT_ROUND_HALF_EVEN } mot_rounding;
typedef enum mot_sign { MOT_SIGN_PLUS, MOT_SIGN_MINUS, MOT_SIGN_RANDOM } mot_sign;
typedef enum mot_side { MOT_SIDE_NONE, MOT_SIDE_WIDTH, MOT_SIDE_HEIGHT } mot_side;
typedef enum mot_arithmetic { MOT_ARITHMETIC_DOUBLE, MOT_ARITHMETIC_TORCH } mot_arithmetic;
/* How a policy mixes several augmented copies of an image, its chains: AugMix (Hendrycks et al. 2019). */
typedef enum mot_augmix_form {
    MOT_AUGMIX_SUM,    /* the image is blended with the weighted sum of the chains, as in the paper */
    MOT_AUGMIX_BLENDS, /* one chain after the other is blended into the image: timm's `b1` */
    MOT_AUGMIX_ONE_SUM /* the image is one more summand, as in torchvision */
} mot_augmix_form;
typedef enum mot_choice { MOT_WITH_REPLACEMENT, MOT_WITHOUT_REPLACEMENT, MOT_UNTIL_APPLIED } mot_choice;

/* One magnitude that a step can take, for both signs: [0] plus or unsigned, [1] minus. */
typedef struct mot_level_entry {
    mot_arg arg[2];
    double value[2];
    /* If the step is relative to a side, mot_relative computes the value from these and the side instead. */
    double low, span; /* at the bottom of the range, and from there to the top, as fractions of the side */
    double position;  /* of the level in the range, 0..1; torch: the bin */
    double last_bin;  /* torch: bins - 1 */
} mot_level_entry;

#define MOT_FILLS_FOUR 2

typedef struct mot_table_step {
    uint64_t threshold;   /* applied when the word is lower: probability * 2^32 */
    uint32_t first_level; /* in `levels` */
    uint16_t levels;      /* 1 or more */
    uint16_t given;       /* 1: the sample's level chooses among them */
    int32_t op;
    uint8_t sign;       /* mot_sign */
    uint8_t side;       /* mot_side */
    uint8_t rounding;   /* mot_rounding of a relative value */
    uint8_t arithmetic; /* mot_arithmetic of a relative value */
    uint8_t draws;      /* mot_draws: beside the level */
    uint8_t warps;      /* the op interpolates */
    uint8_t fills;      /* != 0: the op fills; MOT_FILLS_FOUR: by four numbers */
    uint8_t fill_grey;  /* `fill` as one channel */
    uint8_t fill[4];    /* RGBA; mot_fill converts it to the image's channels */
} mot_table_step;

typedef struct mot_table_branch {
    uint32_t first_step, steps;
    uint32_t weight; /* 1 or more */
    uint32_t below;  /* sum of the weights of the branches before it in its phase */
} mot_table_branch;

typedef struct mot_table_phase {
    uint32_t first_epoch;
    uint32_t first_branch, branches;
    uint32_t total_weight;
} mot_table_phase;

typedef struct mot_tables {
    uint32_t phases;         /* 1 or more; the first begins at epoch 0 */
    uint64_t chance;         /* drawn at all when the word is lower: probability * 2^32 */
    uint32_t repeat;         /* fixed number of repetitions, when repeat_weights is 0 */
    uint32_t repeat_given;   /* the sample's level chooses among so many that end there; 0: it does not */
    uint32_t repeat_weights; /* else a number below this is drawn by weight */
    uint32_t repeat_below[MOT_MAX_REPEAT + 2]; /* running sums of the weights; the last is the total */
    uint32_t choice;                           /* mot_choice */
    uint32_t interpolations;                   /* 1..3 to choose from */
    uint8_t interpolation[4];
    uint32_t max_steps;    /* that one sample can draw */
    uint32_t branch_steps; /* of the longest branch */
    uint32_t first_block;  /* where its words begin */
    uint32_t chains;       /* how many are mixed; 0: none, the sample's steps are one chain */
    uint32_t augmix_form;  /* mot_augmix_form */
    const mot_table_phase *phase;
    const mot_table_branch *branch;
    const mot_table_step *step;
    const mot_level_entry *level;
    const double *gamma; /* [MOT_QUANTILES] of the distribution behind the chains' shares; with chains only */
    const double *beta;  /* [MOT_QUANTILES] of the share of the mix */
} mot_tables;

#endif
