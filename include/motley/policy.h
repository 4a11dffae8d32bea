/* SPDX-License-Identifier: Apache-2.0 */
/** Policies: what a file says. Either how a sample's sequence of ops is drawn (`branches`), or the whole way from
 *  decoded images of any sizes to the network's input (`stages`): crop and resize, flips, such policies, colour jitter,
 *  grayscale, blur, normalised output, erasing, mixing. Every byte or float is that of Pillow, torchvision or timm for
 *  such a draw. Data, immutable once loaded. */
#ifndef MOTLEY_POLICY_H
#define MOTLEY_POLICY_H

#include "motley/custom.h"
#include "motley/image.h"
#include "motley/op.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_policy motley_policy;

/** Receives each problem of a policy text, in the order of its lines. `problem` is valid during the call only. */
typedef void motley_report(void *user, const motley_error *problem);

typedef struct motley_parse_params {
    size_t struct_size;                 /* 0 or sizeof; see motley.h */
    motley_report *report;              /* NULL: only the first problem is reported, in the function's `error` */
    void *user;                         /* passed to `report` */
    const motley_custom_op *custom_ops; /* [custom_ops_count]: ops that the text may name besides those of the table.
                                           The policy copies those that it names */
    size_t custom_ops_count;            /* at most 32 */
} motley_parse_params;

/** Reads a policy from a text in the format of doc/policy-format.md (YAML; JSON is YAML).
 *
 *  `error` gets the first problem with its line and column; `params->report` gets all of them.
 *  Errors   POLICY: the text is wrong or over a limit; MEMORY. *policy is NULL then. */
MOTLEY_API motley_status motley_policy_parse(const char *text, size_t length, const motley_parse_params *params,
                                             motley_policy **policy, motley_error *error);

/** Loads a policy that is built into the library, by name.
 *
 *  Name     That of motley_policy_builtin_get, or one of timm's configuration strings: "timm:rand-m9-mstd0.5-inc1".
 *           Behind it may be what timm's hparams say: ",translate_pct=0.3,magnitude_std=0.5,magnitude_max=12".
 *  Errors   ARGUMENT with the nearest name, or what is wrong with the string; UNSUPPORTED: a string whose magnitudes
 *           no policy can draw; MEMORY. *policy is NULL then. */
MOTLEY_API motley_status motley_policy_builtin(const char *name, motley_policy **policy, motley_error *error);

/** What kind of string identifies a policy. */
typedef enum motley_policy_source {
    MOTLEY_POLICY_BUILTIN = 0, /* the name of a built-in policy, perhaps misspelled */
    MOTLEY_POLICY_FILE = 1,    /* a path: it has a '/', ends in .yaml, .yml or .json, or names an existing file */
    MOTLEY_POLICY_TEXT = 2     /* the policy's text: it has several lines, or begins with '{' */
} motley_policy_source;

/** Which of the three `policy` is. Text takes precedence over built-in names, and these over files. For programs that
 *  say in messages what they opened, or that open a file whatever its name is, as the command and Python do.
 *  BUILTIN for NULL. */
MOTLEY_API motley_policy_source motley_policy_source_of(const char *policy);

/** Opens a policy by built-in name, path or text. The command and all bindings follow this rule.
 *  Errors   As motley_policy_builtin or motley_policy_parse, and IO. */
MOTLEY_API motley_status motley_policy_open(const char *policy, const motley_parse_params *params,
                                            motley_policy **opened, motley_error *error);

/** A policy that is built in. */
typedef struct motley_builtin {
    const char *name, *text;
    int32_t has_stages; /* 1: the whole way to the network's input; 0: it draws ops */
} motley_builtin;

/** The i-th policy that is built in: first those that draw ops, then those with stages. NULL past the end. */
MOTLEY_API const motley_builtin *motley_policy_builtin_get(size_t i);

typedef enum motley_print_format {
    MOTLEY_PRINT_TEXT = 0,  /* canonical text */
    MOTLEY_PRINT_JSON = 1,  /* the same content as JSON, without keys that have their default */
    MOTLEY_PRINT_VALUES = 2 /* what the policy can draw, as JSON */
} motley_print_format;

/** Prints a policy. Text and JSON parse back (with the same custom_ops) to an equal policy, so programs change a policy
 *  by changing its JSON.
 *
 *  Values   Name, citation, probabilities, and each step's values at each of its levels; not of a policy with stages.
 *           Keys: name, title, profile, paper, table, version (null if the policy has none), interpolation (a list),
 *           p (the probability that a sample gets any repetition), repeat (the probabilities of 0, 1, ... repetitions;
 *           if repeat_given is true, the least and the most), choice, augmix (only of a policy that mixes: width,
 *           alpha, form), top and bins (the scale of levels; null and 0: none), phases: [{from (epoch), branches:
 *           [{chance, steps: [{op, entry (its key under `ops`), p (the probability that it is applied, to each box if
 *           it works inside boxes), levels: [{level, value, minus}], of, round, fill, inside}]}]}].
 *           In the op's unit; `minus` is the value of the other sign, if the sign is random. In a step with `of` they
 *           are fractions of that side, before `round`. A continuum of levels is given as 512 of them,
 *           that of given levels as 513.
 *  Memory   *text is malloc'd: free() it.
 *  Errors   UNSUPPORTED: the follower of a policy with stages has no text; ARGUMENT, MEMORY. *text is NULL then. */
MOTLEY_API motley_status motley_policy_print(const motley_policy *policy, motley_print_format format, char **text,
                                             motley_error *error);

/** True when both policies have the same canonical text, name and citations included, and the same custom ops. */
MOTLEY_API int motley_policy_equal(const motley_policy *a, const motley_policy *b);

/** Whose arithmetic normalises a byte. In binary32, with each operation rounded. */
typedef enum motley_normalization {
    MOTLEY_NORMALIZATION_TORCHVISION_V1 = 0, /* ToTensor, Normalize: (v / 255 - mean) / std */
    MOTLEY_NORMALIZATION_TORCHVISION_V2 = 1, /* ToDtype(scale=True), Normalize: (v * (1 / 255) - mean) / std */
    MOTLEY_NORMALIZATION_TIMM = 2            /* its prefetcher: (v - 255 mean) / (255 std), both products in binary64 */
} motley_normalization;

/** What a caller needs to know about a policy before it has images. */
typedef struct motley_policy_info {
    size_t struct_size;           /* of this struct in the library, which grows at the end */
    const char *name;             /* like the next three, "" if the text has none */
    const char *title;            /* without one, the name */
    const char *profile;          /* whose conventions it follows */
    const char *paper;            /* citation */
    int32_t stages;               /* how many the text has; 0: it draws ops, and images keep their sizes */
    size_t max_steps;             /* the most steps that one image can draw: the second dimension of steps; of a
                                     policy whose steps take boxes, times the boxes of the image that has most */
    int32_t takes_boxes;          /* bit 0: steps work inside an image's boxes or choose one of them; bit 1: images are
                                     cropped by them. Not 0: motley_samples must have the boxes of every image */
    int32_t width, height;        /* of every result, pixels; 0: see motley_policy_result_sizes */
    int32_t to_rgb;               /* 1: it has the stage to_rgb; images come out with three channels */
    int32_t has_output;           /* 1: there is an output stage; 0: results are pictures, as U8 */
    motley_dtype dtype;           /* of the output stage; U8 without one */
    motley_layout layout;         /* of the output stage; MOTLEY_CHW without one */
    const struct motley_mix *mix; /* of its last stage, owned by the policy; NULL: images are not mixed */
    int32_t classes;              /* of the mix stage's targets; 0 if the text does not say */
    double smoothing;             /* of the mix stage's targets; 0 if the text does not say */
    int32_t scheduled;            /* 1: numbers change with the epoch; width, height and mix are those of epoch 0 */
    uint32_t epochs;              /* the length of the text's schedules; 0 if the text does not say */
    int32_t views; /* how many views it has (motley/views.h); then width and height are 0, and the rest is that of the
                      first view. 0: it makes one result */
    int32_t takes_levels; /* 1: steps have the level `given`, or `repeat` is given: motley_samples must have the level
                             of every image. With schedules, in epoch 0; with views, of some view */
    int32_t draws_sizes;  /* 1: sizes depend on what a sample draws, so motley_policy_result_sizes takes samples, and
                            calls on CUDA are drawn on the host, which refuses a counter and given levels. With
                            schedules, in epoch 0 */
} motley_policy_info;

/** Describes a policy. The result is owned by the policy; NULL for NULL. */
MOTLEY_API const motley_policy_info *motley_policy_describe(const motley_policy *policy);

/** Describes an op that the policy can draw, by the `op` of a step: a row of the table; from motley_op_count() on, the
 *  custom_ops that the policy names, in their order; or a MOTLEY_STEP_*. NULL for other numbers. */
MOTLEY_API const motley_op_info *motley_policy_op(const motley_policy *policy, int op);

/** Makes the plain policy that a policy with schedules is in an epoch ("Numbers that change with the epoch" in
 *  doc/policy-format.md): the same text with that epoch's numbers put in. Of a policy without schedules, the same
 *  policy, to be destroyed once more.
 *
 *  A policy with schedules itself can be drawn and applied, too: each call takes the numbers of samples.epoch. Then
 *  motley_draw reads the text again in each call, and a context keeps the plain policies of the last four
 *  epochs that it met, so the first call of an epoch costs about as much as loading a plain policy, and on CUDA an
 *  upload of tables. A prepared call (motley/call.h) is prepared again when the numbers change. If the size of the
 *  results changes, `dst` must have the size of this function's policy. Refused with a counter, since the host
 *  has to know the epoch: apply the plain policy. A captured graph keeps the numbers of the epoch of its capture.
 *
 *  Shapes   max_steps of motley_policy_describe is the same in all epochs.
 *  Memory   *plain is the caller's, and needs `policy` no longer.
 *  Errors   ARGUMENT, MEMORY. *plain is NULL then. */
MOTLEY_API motley_status motley_policy_at(const motley_policy *policy, uint32_t epoch, motley_policy **plain,
                                          motley_error *error);

/** Makes a copy whose schedules are `epochs` long: every epoch of the text is multiplied by epochs / the text's own
 *  `epochs`, and rounded to the nearest, half to even.
 *  Errors   ARGUMENT: the text has no `epochs`; POLICY: two epochs become one; MEMORY. *scaled is NULL then. */
MOTLEY_API motley_status motley_policy_scale(const motley_policy *policy, uint32_t epochs, motley_policy **scaled,
                                             motley_error *error);

/** Makes a copy of a policy without its last stages, output, erase and mix. Its results are pictures. For programs that
 *  show or save what a network gets, as `motley apply` and `motley preview` do.
 *
 *  Random   It draws as `policy` does, except for erased boxes and mixing.
 *  Errors   ARGUMENT: a policy without stages; UNSUPPORTED: views, schedules, a follower; MEMORY. *pictures is NULL
 *           then. */
MOTLEY_API motley_status motley_policy_pictures(const motley_policy *policy, motley_policy **pictures,
                                                motley_error *error);

MOTLEY_API void motley_policy_destroy(motley_policy *policy);

#ifdef __cplusplus
}
#endif
#endif
