/* SPDX-License-Identifier: Apache-2.0 */
/* The rough cost of a sample's steps on the GPU, and the sub-batch that it belongs to. The device orders its work with
 * this code; the host uses the same code to report what the sub-batches were. */
#ifndef MOT_BUCKETS_H
#define MOT_BUCKETS_H

#include "augmentations/ops.h"
#include "augmentations/step.h"
#include "kernels/cuda/resident_passes.h"

/* A sub-batch holds the samples with the same cost class and the same most expensive op. Buckets are numbered from
 * heavy to light. */
#define MOT_COST_CLASSES 9
#define MOT_BUCKETS (MOT_COST_CLASSES * (MOT_OP_COUNT + 1))

/* In roughly the microseconds that one image of 224x224 takes on one multiprocessor of an H200, 2026-11. Only the order
 * of the work depends on it. */
#define MOT_COST_BETWEEN 60 /* extra cost of a warp that interpolates */
#define MOT_COST_PASS 10    /* loading and flushing the image */

/* The facts of an op on which the order of the work depends. */
typedef struct mot_cuda_op {
    uint16_t cost;
    uint8_t shape;
    uint8_t place; /* rank among the ops, from expensive to cheap */
} mot_cuda_op;

/* The class of a cost, 0 for none to MOT_COST_CLASSES - 1: each about a quarter more than the one below. */
MOT_FN int mot_cost_class(int cost)
{
    return (cost >= 1) + (cost >= 13) + (cost >= 15) + (cost >= 18) + (cost >= 22) + (cost >= 28) + (cost >= 36) +
           (cost >= 60);
}

/* The bucket of a sample. Buckets go by cost class, expensive first, then by most expensive op; samples without steps
 * come last. `size`: the image's pixels as a share of the largest image's. */
MOT_FN int mot_bucket_of(const mot_step *steps, int count, const mot_cuda_op *ops, float size)
{
    int place = MOT_OP_COUNT, cost = 0;
    mot_pass_form form = MOT_PASS_POINTWISE;
    MOT_ROLLED
    for (int s = 0; s < count; s++) {
        const mot_step *const step = &steps[s];
        const mot_cuda_op op = ops[step->op];
        if (step->arg.flags & MOT_ARG_IDENTITY)
            continue;
        const int shape = mot_pass_shape(op.shape, step);
        const int begins = !mot_pass_takes(&form, shape) || place == MOT_OP_COUNT;
        cost += op.cost + (begins ? MOT_COST_PASS : 0) + (shape != op.shape ? MOT_COST_BETWEEN : 0);
        place = op.place < place ? op.place : place;
    }
    if (cost > 0) {
        cost = (int)((float)cost * size);
        cost = cost > 1 ? cost : 1;
    }
    return (MOT_COST_CLASSES - 1 - mot_cost_class(cost)) * (MOT_OP_COUNT + 1) + place;
}

#endif
