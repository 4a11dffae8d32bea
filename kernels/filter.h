/* SPDX-License-Identifier: Apache-2.0 */
/* FILTER: a weighted sum of the 3x3 or 5x5 components around one, in binary32. Each row of the neighbourhood is summed
 * from the left, then the rows' sums from the lowest up, as Pillow does: the order decides where a sum ends in .5.
 *
 * The outermost `reach` rows and columns do not change, nor does an image that has no others. */
#ifndef MOT_FILTER_SHAPE_H
#define MOT_FILTER_SHAPE_H

#include "augmentations/ops.h"

#include "kernels/shapes_off.h"
#undef MOT_IF_FILTER
#define MOT_IF_FILTER(ID, stem) \
    case MOT_OP_##ID: { \
        static const mot_filter filter = MOT_##ID##_FILTER; \
        return &filter; \
    }

static inline const mot_filter *mot_filter_of(int op)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return 0;
    }
}

#include "kernels/shapes_off.h"
#endif
