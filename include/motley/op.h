/* SPDX-License-Identifier: Apache-2.0 */
/** The operations: a table to walk, and each one callable on its own. */
#ifndef MOTLEY_OP_H
#define MOTLEY_OP_H

#include "motley/image.h"
#include "motley/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct motley_context;

/** What an op needs to see of an image. */
typedef enum motley_shape {
    MOTLEY_SHAPE_POINT,   /* one component (channel value): a table of 256 entries */
    MOTLEY_SHAPE_STATS,   /* a histogram or a mean of the image first, then a table per channel */
    MOTLEY_SHAPE_COLOR,   /* one pixel */
    MOTLEY_SHAPE_WARP,    /* maps an output position to an input position */
    MOTLEY_SHAPE_STENCIL, /* a 3x3 neighbourhood */
    MOTLEY_SHAPE_BLUR,    /* running box sums along rows, then along columns */
    MOTLEY_SHAPE_ERASE,   /* a rectangle is filled */
    MOTLEY_SHAPE_CUSTOM,  /* a custom op (motley/custom.h); no op of the table */
    MOTLEY_SHAPE_MIX,     /* a step that mixes chains of ops (MOTLEY_STEP_MIX_*); no op of the table */
    MOTLEY_SHAPE_FILTER   /* a weighted sum of a 3x3 or 5x5 neighbourhood */
} motley_shape;

/** "point", "stats" ...; NULL for an unknown number. */
MOTLEY_API const char *motley_shape_name(motley_shape shape);

#define MOTLEY_MAX_VALUES 6

/** One row of the op table. */
typedef struct motley_op_info {
    const char *name;    /* in policy files, on the command line and in Python: "rotate" */
    const char *summary; /* one sentence */
    const char *unit;    /* of each value, in order: "degrees, counter-clockwise" */
    const char *matches; /* the reference it equals bit for bit, or "own definition" */
    const char *paper;   /* the first published policy that uses it */
    motley_shape shape;
    int values_min, values_max; /* how many values it takes: 0, 1, or more for affine and cutout */
    double minimum, maximum;    /* range of values[0], inclusive */
    double neutral;             /* a values[0] that changes nothing; NAN if there is none */
    double example;             /* a typical values[0], for demonstrations */
    int whole;                  /* != 0: values[0] is a whole number; policies truncate what a level gives */
} motley_op_info;

/** How many ops there are; ids are 0 .. count-1 and never change meaning. */
MOTLEY_API int motley_op_count(void);

/** The row of op `op`, or NULL when there is none. */
MOTLEY_API const motley_op_info *motley_op_get(int op);

/** The id of the op called `name`, or -1. */
MOTLEY_API int motley_op_find(const char *name);

/** Settings of motley_op_apply. */
typedef struct motley_op_params {
    size_t struct_size;                 /* 0 or sizeof; see motley.h */
    motley_interpolation interpolation; /* warps only */
    const double *fill;                 /* [channels], for warps and erasing ops, in the data's units: of U8 whole
                                           numbers, 0..255, those behind the fourth like the first. NULL: 0 of U8,
                                           else the first of the range */
    void *stream;                       /* CUDA: a cudaStream_t; CPU: NULL */
} motley_op_params;

/** Applies one op to a batch. Every image has its own values.
 *
 *  Values   [n][values_per_image], in host memory, in the op's unit, read before the call returns. values_per_image
 *           must be in the op's values_min..values_max. A cutout without a centre takes the image's.
 *  Shapes   src and dst: the same count, channels, dtype and sizes; strides may differ.
 *  Memory   dst may be src (same pointers and strides); partial overlap is refused if it is detected.
 *  Stream   CUDA: queued on `stream`, returns before the work is done. CPU: done on return.
 *  Threads  One thread per context at a time.
 *  Errors   ARGUMENT, UNSUPPORTED, MEMORY: dst is untouched. CUDA: dst is unspecified. */
MOTLEY_API motley_status motley_op_apply(struct motley_context *context, int op, const double *values,
                                         int values_per_image, const motley_batch *src, const motley_batch *dst,
                                         const motley_op_params *params, motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
