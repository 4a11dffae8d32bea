/* SPDX-License-Identifier: Apache-2.0 */
/* The op table as the library's host code sees it: a row's public description and how its values are prepared. */
#ifndef MOT_TABLE_H
#define MOT_TABLE_H

#include "augmentations/ops.h"
#include "motley/op.h"

typedef void mot_prepare(const double *values, int count, mot_arg *arg);

/* A value that is the tangent of an angle. Policies may compute it via degrees, which changes its last bits. */
typedef enum mot_tangent { MOT_TANGENT_NONE, MOT_TANGENT_X, MOT_TANGENT_Y } mot_tangent;

/* Arithmetic for which kernels have dedicated loops. Ops of other forms give equally correct results, slower. */
typedef enum mot_form {
    MOT_FORM_ANY,
    MOT_FORM_DIRECT,  /* POINT: a loop over bytes is vector code that is faster than a table of 256 entries */
    MOT_FORM_BLEND,   /* COLOR: mot_blend from the luma to each component by arg.factor */
    MOT_FORM_LUMA,    /* COLOR: the luma */
    MOT_FORM_SHARPEN, /* STENCIL: mot_sharpness */
    MOT_FORM_BOXES, /* BLUR: arg.u[1] times the inner components and u[2] times the outer two, 8.24, rounded half up */
} mot_form;

/* What the library must know about an op: MOT_<ID>_FACTS in its header. Only the cost is required. */
typedef struct mot_op_facts {
    /* Picoseconds per pixel of 224x224 RGB from src to dst (warps: nearest), on one core of a Xeon of 2.5 GHz with
     * AVX-512, 2026-11. It decides which images start first, and changes no result. */
    int cost;
    mot_form form; /* if kernels have a loop for its arithmetic */
    int pixels;    /* values[0] is a length in pixels, stored in arg.d[0]: a policy may give it as a share of a side */
    mot_draws draws;     /* besides its value */
    mot_tangent tangent; /* whether values[0] is a tangent */
} mot_op_facts;

typedef struct mot_op_row {
    motley_op_info info;
    mot_op_facts facts;
    mot_prepare *prepare;
} mot_op_row;

extern const mot_op_row mot_op_table[MOT_OP_COUNT];

/* Describes a step's op: a row of the table, or a MOTLEY_STEP_*; NULL for other numbers. */
const motley_op_info *mot_step_info(int op);

/* The op or MOTLEY_STEP_* called `name`, or -1. */
int mot_step_find(const char *name);

/* Whether only stages have the step: MOTLEY_STEP_HUE, MOTLEY_STEP_KERNEL_BLUR, MOTLEY_STEP_PERMUTE. */
static inline int mot_step_of_stages(int op)
{
    return op < 0 && mot_step_info(op) && mot_step_info(op)->shape != MOTLEY_SHAPE_MIX;
}

/* Prepares `values`, which must be valid, as the argument of `op`. */
void mot_op_prepare(int op, const double *values, int count, mot_arg *arg);

#endif
