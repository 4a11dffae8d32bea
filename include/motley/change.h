/* SPDX-License-Identifier: Apache-2.0 */
/** Deriving new policies from loaded ones. A policy is read by its JSON: motley_policy_print. */
#ifndef MOTLEY_CHANGE_H
#define MOTLEY_CHANGE_H

#include "motley/policy.h"
#include "motley/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a step takes its level; doc/policy-format.md, "Levels". */
typedef enum motley_level_kind {
    MOTLEY_LEVEL_NONE = 0,    /* the op has no magnitude; in changes: the policy's level, if the op has a magnitude */
    MOTLEY_LEVEL_FIXED = 1,   /* a */
    MOTLEY_LEVEL_UNIFORM = 2, /* one of the bins */
    MOTLEY_LEVEL_RANGE = 3,   /* real, from a to b */
    MOTLEY_LEVEL_NORMAL = 4,  /* mean a, standard deviation b, cut to 0..top */
    MOTLEY_LEVEL_VALUE = 5,   /* a is the op's value itself */
    MOTLEY_LEVEL_GIVEN = 6    /* by motley_samples.levels, from a to b; b 0: over the whole scale */
} motley_level_kind;

typedef struct motley_level {
    motley_level_kind kind;
    double a, b;
} motley_level;

/** A step of a branch. */
typedef struct motley_policy_step {
    const char *op; /* an entry under `ops`, or an op */
    double p;       /* probability, 0..1 */
    motley_level level;
} motley_policy_step;

/** One of the branches that a sample chooses from. */
typedef struct motley_policy_branch {
    uint32_t first_epoch;            /* of the phase that it belongs to; 0 in a policy without phases */
    double weight;                   /* 0..1e12 */
    size_t steps_count;              /* 1..16 */
    const motley_policy_step *steps; /* [steps_count] */
} motley_policy_branch;

/** The numbers of an entry under `ops`: what a level means to an op. See doc/policy-format.md, "Ops". */
typedef struct motley_policy_range {
    const char *name;
    double low, span;        /* the magnitude is `low` at level 0 and low + span at the top level */
    double base;             /* the magnitude is added to it */
    double minimum, maximum; /* the value is clamped to this range; -HUGE_VAL and HUGE_VAL: not clamped */
} motley_policy_range;

/** How a policy mixes several augmented copies of an image, its chains: AugMix (Hendrycks et al. 2019). */
typedef enum motley_augmix_form {
    MOTLEY_AUGMIX_SUM = 0,    /* the image is blended with the weighted sum of the chains, as in the paper */
    MOTLEY_AUGMIX_BLENDS = 1, /* one chain after the other is blended into the image: timm's `b1` */
    MOTLEY_AUGMIX_ONE_SUM = 2 /* the image is one more summand, as in torchvision */
} motley_augmix_form;

/** The chains' shares are drawn from a Dirichlet distribution, and the share of the mix against the image from a Beta
 *  distribution; all parameters of both are `alpha`. A chain is what the policy would draw without mixing. */
typedef struct motley_augmix {
    int width;    /* number of chains, 1 to 8; 0: the policy does not mix */
    double alpha; /* 0.05 .. 50 */
    motley_augmix_form form;
} motley_augmix;

/** What to change in a policy. All zero changes nothing. The flags (set_...) enable the field that follows. */
typedef struct motley_policy_changes {
    size_t struct_size;       /* 0 or sizeof; see motley.h */
    int repeat;               /* > 0: ops (branches) per sample; RandAugment's N */
    int set_level;            /* != 0: every step that has levels takes `level`; a NORMAL level takes it as its mean */
    double level;             /* RandAugment's M, 0 .. top level */
    int bins;                 /* > 1: number of levels, 0 .. bins-1 */
    int interpolations;       /* bit set: 1 << MOTLEY_NEAREST | ...; 0 changes nothing */
    int set_fill;             /* != 0: the policy's fill becomes `fill` */
    uint8_t fill[4];          /* one byte per channel */
    const char *name, *title; /* NULL: unchanged */
    double top;               /* > 0: real levels up to this one, in place of bins */
    int set_p;                /* != 0: every step takes the probability `p` */
    double p;
    motley_level levels; /* kind not NONE: every step that has levels, and the policy's `level`, takes this one */
    const motley_policy_range *ranges; /* [ranges_count]: new numbers for the entries under `ops` of those names */
    size_t ranges_count;
    const motley_policy_branch *branches; /* [branches_count]: replace all branches; grouped and ordered by phase */
    size_t branches_count;
    int set_augmix; /* != 0: the policy mixes as `augmix` says; a width of 0 stops it from mixing */
    motley_augmix augmix;
} motley_policy_changes;

/** Makes a new policy, which is `base` with changes. They are applied in this order: branches, ranges, bins and top,
 *  levels and level, p, then the rest. Everything is copied.
 *  Errors   ARGUMENT: a change that does not fit `base`, such as a level past the top; MEMORY. *policy is NULL then. */
MOTLEY_API motley_status motley_policy_change(const motley_policy *base, const motley_policy_changes *changes,
                                              motley_policy **policy, motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
