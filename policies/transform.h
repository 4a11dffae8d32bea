/* SPDX-License-Identifier: Apache-2.0 */
/* A transform's model: its stages, which transform_parse.c fills and print.c writes. */
#ifndef MOT_TRANSFORM_H
#define MOT_TRANSFORM_H

#include "motley/mix.h"
#include "motley/views.h"
#include "policies/policy.h"

#define MOT_MAX_STAGES 16             /* of a transform */
#define MOT_MAX_SAME_STAGES 4         /* of one kind */
#define MOT_MAX_OVERLAPS 8            /* from which an iou_crop draws */
#define MOT_OVERLAP_ROUNDS 64         /* each draws an overlap and up to MOT_OVERLAP_TRIES crops */
#define MOT_OVERLAP_TRIES 40          /* as in torchvision's RandomIoUCrop */
#define MOT_MAX_LISTS 8               /* among which one_of chooses */
#define MOT_MAX_WAYS 64               /* through the lists of all one_of of a transform */
#define MOT_STAGE_POLICY_BLOCKS 8192u /* blocks of Philox words for each policy of a transform */
#define MOT_RATIO_CELLS 4096          /* equally likely values that approximate a ratio of sides */
#define MOT_NORMAL_CELLS 4096         /* equally likely values that approximate a standard normal */
#define MOT_MAX_TRANSFORM_STEPS (MOT_MAX_SAME_STAGES * MOT_MAX_STEPS + 4 * MOT_MAX_STAGES)
#define MOT_MAX_RESULT_SIDE 65536 /* pixels */
#define MOT_CROP_TRIES 10         /* as in torchvision's and timm's RandomResizedCrop and RandomErasing */
#define MOT_FILTERS 6
#define MOT_MAX_SIDES 16 /* that a resize draws from */
#define MOT_ORDERS 3

typedef enum mot_stage_kind { /* in the order that a text must have; stages of one rank may be in any order */
                              MOT_STAGE_RANDOM_RESIZED_CROP,
                              MOT_STAGE_RESIZE,
                              MOT_STAGE_CENTER_CROP,
                              MOT_STAGE_RANDOM_CROP,
                              MOT_STAGE_FLIP,
                              MOT_STAGE_POLICY,
                              MOT_STAGE_JITTER,
                              MOT_STAGE_GRAYSCALE,
                              MOT_STAGE_BLUR,
                              MOT_STAGE_OUTPUT,
                              MOT_STAGE_ERASE,
                              MOT_STAGE_MIX,
                              MOT_STAGE_TO_RGB, /* first in a text, but here: draws depend on a kind's number */
                              MOT_STAGE_ZOOM_OUT,
                              MOT_STAGE_ONE_OF, /* marks where its lists' stages begin, and draws nothing */
                              MOT_STAGE_SIZE_CROP,
                              MOT_STAGE_FIXED_CROP,
                              MOT_STAGE_PAD,
                              MOT_STAGE_PHOTOMETRIC,
                              MOT_STAGE_IOU_CROP,
                              MOT_STAGE_KINDS
} mot_stage_kind;

typedef enum mot_erase_values { MOT_ERASE_CONST, MOT_ERASE_CHANNEL, MOT_ERASE_PIXEL } mot_erase_values;
enum { MOT_BRIGHTNESS, MOT_CONTRAST, MOT_SATURATION, MOT_HUE, MOT_JITTERS };

/* The settings of each kind of stage, as its text has them. stage_keys.c has a row for every field. */

/* Which key says what size a resize makes. */
typedef enum mot_size_rule {
    MOT_SIZE_GIVEN,
    MOT_SIZE_SHORTEST,
    MOT_SIZE_LONGEST,
    MOT_SIZE_FIT,
    MOT_SIZE_SQUARE
} mot_size_rule;

/* Whose arithmetic rounds the sides of results. */
typedef enum mot_side_rounding { MOT_SIDES_TORCHVISION, MOT_SIDES_DETR, MOT_SIDES_DETECTRON2 } mot_side_rounding;

typedef struct mot_crop { /* random_resized_crop, resize, center_crop, random_crop */
    int64_t rule;         /* of a resize: mot_size_rule, which follows from its keys */
    double area[2], ratio[2];
    int32_t width, height; /* resize with height 0: width is the shorter side */
    int32_t padding;       /* pixels on each side */
    int32_t order;         /* motley_resize_order */
    uint8_t filters;
    uint8_t filter[7]; /* motley_filter */
    /* Of a resize: */
    double scale[2]; /* of `fit`, width and height */
    int32_t fit[2];
    int32_t rounding;           /* mot_side_rounding */
    int32_t longest;            /* the most pixels of the longer side, or all of them; 0: any */
    int32_t masks;              /* 1: planes read torch's nearest elements, 0: Pillow's */
    int32_t shortests, squares; /* how many there are to draw from */
    uint16_t shortest[MOT_MAX_SIDES], square[MOT_MAX_SIDES];
} mot_crop;

typedef struct mot_size_crop {
    int32_t sides[2]; /* the least and the most pixels of each side */
} mot_size_crop;

typedef struct mot_window { /* fixed_crop, pad */
    double fill[4];         /* 0..255 */
    int32_t values;         /* how many numbers `fill` has: 0, 1, 3 or 4 */
    int32_t width, height;
    int32_t multiple; /* pad: of both sides; 0: `width` and `height` are given */
    int32_t at;       /* pad: 0: the image is at the upper left, 1: in the middle */
    int32_t rounding; /* fixed_crop: mot_side_rounding */
} mot_window;

typedef struct mot_zoom { /* zoom_out */
    double p;
    double side[2]; /* of the canvas, in sides of the image */
    double fill[4]; /* 0..255 */
    int32_t values; /* how many numbers `fill` has: 0, 1, 3 or 4 */
} mot_zoom;

typedef struct mot_overlap { /* iou_crop */
    double p;
    double scale[2], ratio[2];        /* of sides to the image's; of width to height */
    double overlap[MOT_MAX_OVERLAPS]; /* that one box at least must have with the crop; 1 leaves the image as it is */
    int32_t overlaps;                 /* how many there are to draw from */
} mot_overlap;

typedef struct mot_flip {
    double horizontal, vertical; /* probabilities */
} mot_flip;

typedef struct mot_jitter {
    double p;
    double range[MOT_JITTERS][2]; /* of factors, 1 changes nothing; of a hue's shift, 0 changes nothing */
} mot_jitter;

typedef struct mot_photometric {
    double p;                     /* of each change */
    double range[MOT_JITTERS][2]; /* as mot_jitter's */
    double channels;              /* the chance that they are permuted; below 0: p */
} mot_photometric;

typedef struct mot_gray {
    double p;
} mot_gray;

typedef struct mot_blur {
    double p;
    double radius[2];    /* Pillow's */
    double sigma[2];     /* torchvision's, with kernel_size */
    int32_t kernel_size; /* 0: Pillow's blur */
} mot_blur;

typedef struct mot_normalize { /* output */
    double mean[4], std[4];
    int32_t values; /* how many numbers mean and std have: 0, 1, 3 or 4 */
    int32_t convention, dtype, layout;
} mot_normalize;

typedef struct mot_erase {
    double p;
    double area[2], ratio[2];
    double value[4];
    int32_t values; /* how many numbers `value` has */
    int32_t fills;  /* mot_erase_values */
    int32_t boxes[2];
} mot_erase;

typedef struct mot_mixing { /* mix */
    motley_mix_params params;
    double smoothing; /* of targets */
    int32_t classes;  /* of targets; 0: the caller gives it */
} mot_mixing;

/* The keys by which a text changes a built-in policy. */
enum {
    MOT_CHANGES_NAME,
    MOT_CHANGES_P,
    MOT_CHANGES_REPEAT,
    MOT_CHANGES_BINS,
    MOT_CHANGES_LEVEL,
    MOT_CHANGES_INTERPOLATION,
    MOT_CHANGES_FILL
};

typedef struct mot_changes { /* policy, of a built-in one */
    double p;
    mot_repeat repeat;
    mot_level level;
    int32_t bins;
    uint8_t interpolations;
    uint8_t interpolation[3];
    int32_t fills; /* how many numbers `fill` has */
    uint8_t fill[4];
} mot_changes;

typedef struct mot_lists { /* one_of */
    double weight[MOT_MAX_LISTS];
    int32_t count;
} mot_lists;

/* Which list of a one_of a stage is in. One word of the sample chooses one list of it. */
typedef struct mot_listing {
    uint64_t from, to; /* it is this list if from <= word < to, of 2^32 words */
    uint32_t one_of;   /* 1: the first one_of of the transform; 0: the stage is in no list, so every sample has it */
    uint32_t list;
} mot_listing;

/* What a sample draws of a stage. */
typedef enum mot_stage_drawn {
    MOT_DRAWN_NOTHING,
    MOT_DRAWN_CROP, /* tries of a rectangle, and a filter; this and the next two say where pixels come from */
    MOT_DRAWN_WINDOW,
    MOT_DRAWN_MIRRORS,
    MOT_DRAWN_BOXES,
    MOT_DRAWN_STEPS
} mot_stage_drawn;

/* One stage. */
typedef struct mot_stage {
    mot_stage_kind kind;
    uint32_t given; /* bit k: the text has key k of the stage's */
    union {
        mot_crop crop;
        mot_zoom zoom;
        mot_size_crop size_crop;
        mot_window window;
        mot_overlap overlap;
        mot_flip flip;
        mot_changes policy;
        mot_jitter jitter;
        mot_photometric photometric;
        mot_gray grayscale;
        mot_blur blur;
        mot_normalize output;
        mot_erase erase;
        mot_mixing mix;
        mot_lists one_of;
    } of;
    mot_listing listed;

    double *ratios; /* [MOT_RATIO_CELLS], of random_resized_crop and erase */
    float *normals; /* [MOT_NORMAL_CELLS], of an erase with random values */

    char *name;            /* policy: name of a built-in policy; NULL: written out */
    motley_policy *policy; /* with what is changed of it */
    int32_t steps;         /* the most that one sample can draw of it */
    motley_mix *mixer;     /* of a mix */
} mot_stage;

/* What follows from a stage's settings and its place among the others. */
typedef struct mot_stage_facts {
    mot_stage_drawn drawn;
    uint32_t block;       /* the first of its random words; a policy has its own */
    int32_t first_step;   /* among a sample's, if each stage before draws its most */
    int32_t first_custom; /* how many custom ops the policies before have: ids of one transform differ */
    uint64_t ways;        /* bit w: a sample that goes way w has this stage */
    bool before;          /* its steps change the source, before it is cropped or resized */
    bool begins;          /* its policy mixes chains behind other steps, which MOTLEY_STEP_MIX_BEGIN ends */
    mot_step_facts steps;
} mot_stage_facts;

/* What follows from all stages. A pointer is NULL if there is no such stage. */
typedef struct mot_transform_facts {
    const mot_stage *crop;  /* random_resized_crop that is the first stage, of every sample */
    const mot_stage *erase; /* the boxes that are erased */
    const mot_stage *only;  /* the stage whose policy draws all steps */
    const mot_stage *mixes; /* whose policy mixes chains; unless some begin late, the first that draws steps */
    bool late;              /* some chains begin behind other steps, or are in a list of a one_of */
    uint32_t ways;          /* through the lists of all one_of: 1 if there is none */
    bool takes_boxes;       /* some stages need the boxes of an image */
    bool inside;            /* some steps work in them */
    bool runs_customs;      /* a sample can draw a custom op */
    bool draws_sizes;       /* mot_transform_draws_sizes */
    bool joined;            /* the place of some stage depends on those of others, so they are drawn in turn */
    bool twice;             /* some samples' images are resized twice */
    int32_t customs;        /* custom ops that the policies name */
    int32_t before;         /* the most steps of a sample that change the source before it is cropped or resized */
    motley_resize_order order;
    uint32_t filters; /* of resizes that may be drawn, bit k for motley_filter k */
    mot_step_facts steps;
} mot_transform_facts;

typedef struct mot_transform {
    MOT_HEAD
    bool to_rgb; /* the text begins with the stage to_rgb, which is none of `stage`: images are read as RGB */
    uint32_t stages;
    mot_stage stage[MOT_MAX_STAGES];
    mot_stage_facts fact[MOT_MAX_STAGES]; /* derived from the members above, as the next three are */
    mot_transform_facts facts;
    motley_policy_info info;
    uint64_t fingerprint;          /* of all that a draw depends on */
    struct mot_schedule *schedule; /* its numbers change with the epoch, and the members above are epoch 0's; or NULL */
    char *text;                    /* its canonical text if it has a schedule or views; or NULL */
    uint32_t views_count;          /* 0: none; otherwise it has no stages itself */
    bool shares;                   /* views begin behind shared stages, which are one more view, the last */
    motley_view *views;            /* [views_count + shares] */
    bool plain;                    /* the text has no stages: it is a policy, which is the only stage */
    bool follower;                 /* made by motley_policy_follower; it has no text */
    uint8_t fill[4]; /* of pixels that a crop or window takes from outside: RGBA, zoom_out's, or 0; of a follower, its
                        params', by channel, also of erased boxes */
    int fills;       /* how many numbers it has */
} mot_transform;

extern const char *const mot_filter_names[MOT_FILTERS]; /* by motley_filter */
extern const char *const mot_overlap_names[2];          /* by motley_overlap - 1 */

/* How a stage is written here that other libraries know by this name, or NULL. */
const char *mot_stage_elsewhere(const char *name);

/* The fill of a stage that has one, as RGBA: one number is for all, and the alpha of three is opaque. Returns how many
 * numbers it has; 0: it fills nothing. */
int mot_stage_fill(const mot_stage *stage, uint8_t fill[4]);

/* What a crop or window takes from outside an image of so many channels, by channel; as mot_fill says it of a step. */
void mot_transform_fill(const mot_transform *transform, int channels, bool bands, uint8_t fill[4]);

/* The one size, width and height, that all images have behind a stage; before it they had that of `size`, 0: many. */
void mot_stage_only_size(const mot_stage *stage, int32_t size[2]);

/* The same of all stages on a way through the lists of one_of. */
void mot_way_only_size(const mot_transform *transform, uint32_t way, int32_t size[2]);

/* How often the images on a way are resized. */
int mot_way_resizes(const mot_transform *transform, uint32_t way);

/* Whether the host draws places and sizes: some depend on what is drawn, or stages stand in an order, or are of a kind,
 * that the device does not draw. *joined: if not, the place of some stage depends on those before it. */
bool mot_transform_draws_sizes(const mot_transform *transform, bool *joined);

/* Frees what a stage holds and makes it empty. */
void mot_stage_clear(mot_stage *stage);

/* Frees a transform; NULL is allowed. */
void mot_transform_destroy(mot_transform *transform);

/* Makes policy->alone anew, after the policy's other members. False: there is no memory. */
bool mot_transform_of_policy(motley_policy *policy);

/* Makes a copy of a policy with the stages that `keeps` accepts. mot_transform_finish is next. Errors: UNSUPPORTED: it
 * has schedules or views; MEMORY. */
typedef bool mot_stage_filter(const mot_stage *stage, const void *user);
motley_status mot_transform_keep(const motley_policy *policy, mot_stage_filter *keeps, const void *user,
                                 motley_policy **kept, motley_error *error);

/* What a transform with schedules is in an epoch. Errors: MEMORY. */
motley_status mot_transform_at(const mot_transform *transform, uint32_t epoch, mot_transform **plain,
                               motley_error *error);

/* Whether its one stage is `mix`, for images that have one size as they come. */
bool mot_transform_only_mixes(const mot_transform *transform);

/* What a policy does, as a transform: its stages, or itself as the only one. */
const mot_transform *mot_policy_transform(const motley_policy *policy);

/* A custom op of a transform by its id, or NULL; and what describes a step, or NULL. */
const mot_custom *mot_transform_custom(const mot_transform *transform, int op);
const motley_op_info *mot_transform_op(const mot_transform *transform, int op);

/* Gives a transform, read of the text in epoch 0, the schedule of the text. */
void mot_transform_schedule(mot_transform *transform, struct mot_schedule *schedule);

/* Finds the ways through the lists of all one_of, and which of them each stage is on. */
void mot_transform_find_ways(mot_transform *transform);

/* Sets what is derived from the stages. */
void mot_transform_finish(mot_transform *transform);

/* The stage of a kind that occurs at most once, or NULL. */
const mot_stage *mot_transform_stage(const mot_transform *transform, mot_stage_kind kind);

#endif
