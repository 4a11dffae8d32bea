/* SPDX-License-Identifier: Apache-2.0 */
/* One op with its prepared argument: what policies hand to dispatch, and dispatch to kernels. Plain data. */
#ifndef MOT_STEP_H
#define MOT_STEP_H

#include "augmentations/op.h"

#include <string.h>

typedef struct mot_step {
    mot_arg arg;
    double value;          /* values[0], in the op's unit */
    int32_t op;            /* MOT_OP_* */
    int32_t level;         /* of the policy's level table; 0 elsewhere */
    uint8_t fill[4];       /* per channel */
    uint8_t interpolation; /* motley_interpolation */
    uint8_t unused;
    uint16_t table_step; /* where it was drawn, on the host only: the step of the policy's tables ... */
    uint32_t block;      /* ... and the block of its random words */
} mot_step;              /* 96 bytes */

/* Makes all of it 0. nvcc makes a store for each byte of memset. */
MOT_FN void mot_clear_step(mot_step *step)
{
#ifdef __CUDA_ARCH__
    const mot_step none = {};
    *step = none;
#else
    memset(step, 0, sizeof *step);
#endif
}

#endif
