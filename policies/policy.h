/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a policy, which parse.c fills, print.c writes and compile.c turns into tables. */
#ifndef MOT_POLICY_H
#define MOT_POLICY_H

#include "augmentations/step.h"
#include "augmentations/table.h"
#include "base/kept.h"
#include "base/text.h"
#include "motley/apply.h"
#include "policies/tables.h"

#include <stdbool.h>

/* Limits of the model beside those of tables.h. They keep a canonical text under MOT_MAX_TEXT_BYTES. */
#define MOT_MAX_SPACES 64      /* entries under `ops` */
#define MOT_MAX_CUSTOMS 32     /* custom ops */
#define MOT_MAX_ALL_STEPS 5120 /* over all branches */
#define MOT_MIN_ALPHA 0.05     /* of a Dirichlet or Beta distribution */
#define MOT_MAX_ALPHA 50
#define MOT_MAX_NAME 40   /* characters of a name */
#define MOT_MAX_WORDS 500 /* bytes of a title or citation */

/* How a step takes its level; doc/policy-format.md, "Levels". */
typedef enum mot_level_kind {
    MOT_LEVEL_NONE,    /* the op has no magnitude */
    MOT_LEVEL_FIXED,   /* a */
    MOT_LEVEL_UNIFORM, /* one of the bins */
    MOT_LEVEL_RANGE,   /* real, from a to b */
    MOT_LEVEL_NORMAL,  /* mean a, standard deviation b, cut to 0..top */
    MOT_LEVEL_VALUE,   /* a is the op's value itself */
    MOT_LEVEL_GIVEN    /* by motley_samples.levels, from a to b; b 0: over the whole scale */
} mot_level_kind;

typedef struct mot_level {
    mot_level_kind kind;
    double a, b; /* 0 if the kind does not use them, so that equal levels compare as equal */
} mot_level;

static inline bool mot_same_level(const mot_level *a, const mot_level *b)
{
    return a->kind == b->kind && a->a == b->a && a->b == b->b;
}

/* The chains' shares are drawn from a Dirichlet distribution, and the share of the mix against the image from a Beta
 * distribution; all parameters of both are `alpha`. A chain is what the policy would draw without mixing. */
typedef struct mot_augmix {
    int width;    /* number of chains, 1 to MOT_MAX_CHAINS; 0: the policy does not mix */
    double alpha; /* MOT_MIN_ALPHA .. MOT_MAX_ALPHA */
    mot_augmix_form form;
} mot_augmix;

/* How often a sample draws from the branches. */
typedef struct mot_repeat {
    uint32_t most;    /* fixed, when there are no weights */
    uint32_t given;   /* how many numbers up to `most` a sample's level chooses from; 0: none */
    uint32_t weights; /* of 0 and more repetitions */
    double weight[MOT_MAX_REPEAT + 1];
} mot_repeat;

/* A magnitude space: how a level becomes the value of an op. With position = level / top,
 *   m = low + span * position, times the side when relative, then rounded;
 *   value = base + sign * m, then clamped to minimum..maximum. */
typedef struct mot_space {
    char *name; /* by which steps name it: the op's, or another one if a policy has two spaces for one op */
    int op;
    bool has_levels; /* false: the op ignores the level, and the fields below */
    double low, span;
    double base;
    mot_sign sign;
    mot_side side;
    mot_rounding rounding;
    double minimum, maximum; /* -HUGE_VAL, HUGE_VAL when not given */
    int32_t via_degrees;     /* 1, shear: the entry is tan(radians(degrees(atan(value)))), as in torchvision */
    int32_t in_boxes;        /* 1: its steps work inside the image's boxes, each of which is changed or not */
    uint32_t fills;          /* 1, 3 or 4 numbers in `fill`; 0: the policy's fill */
    uint8_t fill[4];
} mot_space;

typedef struct mot_policy_step {
    uint32_t space;
    double probability;
    mot_level level; /* the policy's default if the step has none */
} mot_policy_step;

typedef struct mot_policy_branch {
    double weight;
    uint32_t first_step, steps;
} mot_policy_branch;

typedef struct mot_policy_phase {
    uint32_t first_epoch;
    uint32_t first_branch, branches;
} mot_policy_phase;

/* A custom op. */
typedef struct mot_custom {
    motley_custom_op op; /* with our copies of its name and unit */
    motley_op_info info; /* which point to these copies */
} mot_custom;

/* What the steps of a policy or of stages may be; backends prepare for it. */
typedef struct mot_step_facts {
    int32_t steps;      /* the most that a sample can draw */
    uint32_t shapes;    /* of these: bit k for motley_shape k; all bits: custom ops are among them */
    int32_t statistics; /* how many of them need statistics, at most */
    int32_t breaks; /* how many are of shape FILTER or kernel blurs, at most; of a policy that mixes, in one chain */
    int32_t taps;   /* of the largest kernel blur, along a line; 0: none blurs so */
    int32_t chains; /* that are mixed */
} mot_step_facts;

#define MOT_HEAD_TEXTS 6

/* What a text says of itself, whatever it draws, in the order of mot_head_keys, which is that of the text. NULL: it
 * does not say. */
typedef struct mot_head {
    char *text[MOT_HEAD_TEXTS];
} mot_head;

/* The same as members; table: of the paper; version: what software the numbers follow. */
#define MOT_HEAD \
    union { \
        mot_head head; \
        struct { \
            char *name, *title, *profile, *paper, *table, *version; \
        }; \
    };

struct motley_policy {
    uint32_t shares;              /* how many hold it beside the first one; the last one frees it */
    struct mot_transform *staged; /* all that a text with stages says, and then the rest is 0; else NULL */
    struct mot_transform *alone;  /* the transform whose only stage is this policy; with stages NULL */

    MOT_HEAD
    mot_arithmetic arithmetic;
    int top_bins;    /* number of bins; 0 if the text has `top` instead */
    double top;      /* the level at the end of the range: bins - 1, or `top`; 0: the text has neither */
    mot_level level; /* of steps without one; kind NONE if there is none */
    double chance;   /* that a sample gets any of it */
    mot_repeat repeat;
    mot_choice choice;
    mot_augmix augmix; /* width 0: none */
    uint8_t interpolations;
    uint8_t interpolation[3]; /* in the order given */
    uint32_t fills;           /* 1, 3 or 4 numbers in `fill` */
    uint8_t fill[4];

    uint32_t customs;
    mot_custom *custom; /* [customs]: those that the text names; their ids come after the table's */
    bool runs_customs;  /* whether a sample can draw one */
    bool takes_boxes;   /* whether some of its steps need the boxes of an image */
    bool takes_levels;  /* whether some of them have a given level, or `repeat` is given */
    mot_step_facts facts;
    int64_t blur_radius; /* of the widest box that some step may blur with (mot_blur_radius); -1: none blurs */
    uint32_t spaces, steps, branches, phases;
    mot_space *space;          /* [spaces] */
    mot_policy_step *step;     /* [steps] */
    mot_policy_branch *branch; /* [branches] */
    mot_policy_phase *phase;   /* [phases], first_epoch ascending from 0 */

    bool only_checked;    /* see mot_yaml_tree; it has no quantiles and no fingerprint */
    uint32_t first_block; /* of its random words, by its place in a transform */
    mot_tables tables;    /* compiled; points into `compiled` */
    void *compiled;
    uint64_t fingerprint;  /* of the compiled content: equal tables have it equal */
    size_t compiled_bytes; /* arrays of phases, branches, steps, levels, gamma, beta: in this order, as in tables */
};

/* Reads the text of a policy's file, which the caller frees; a longer one is cut after MOT_MAX_TEXT_BYTES + 1. */
motley_status mot_policy_text(const char *path, char **text, size_t *length, motley_error *error);

/* motley_policy_parse; only_checked: see mot_yaml_tree. */
motley_status mot_policy_parse(const char *text, size_t length, const motley_parse_params *params, bool only_checked,
                               motley_policy **policy, motley_error *error);

/* Checks the epoch and the views of a batch of `count`. */
motley_status mot_samples_check(const motley_samples *samples, size_t count, motley_error *error);

/* Checks that a policy that takes levels gets them. */
motley_status mot_levels_check(const motley_policy_info *policy, const motley_samples *samples, size_t count,
                               motley_error *error);

/* A step in the units of its op, as motley_draw returns it. */
motley_step mot_public_step(const motley_op_info *info, const mot_step *step);

/* mot_public_step of a step that works in a part of the image. */
motley_step mot_step_inside(const motley_op_info *info, const mot_step *step, mot_rect inside);

/* The same policy, to be destroyed once more. */
motley_policy *mot_policy_share(const motley_policy *policy);

/* Makes a policy of the text of another one and its custom ops, to be changed. Errors: MEMORY; UNSUPPORTED: it has
 * none. */
motley_status mot_policy_copy(const motley_policy *policy, motley_policy **copy, motley_error *error);

#endif
