/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation, in the order of its public id. Append only: ids are ABI. */
#ifndef MOT_OPS_H
#define MOT_OPS_H

#include "augmentations/affine.h"
#include "augmentations/auto_contrast.h"
#include "augmentations/bbox_cutout.h"
#include "augmentations/blur.h"
#include "augmentations/brightness.h"
#include "augmentations/color.h"
#include "augmentations/contour.h"
#include "augmentations/contrast.h"
#include "augmentations/cutout.h"
#include "augmentations/cutout_tf.h"
#include "augmentations/desaturate.h"
#include "augmentations/detail.h"
#include "augmentations/edge_enhance.h"
#include "augmentations/edge_enhance_more.h"
#include "augmentations/emboss.h"
#include "augmentations/equalize.h"
#include "augmentations/find_edges.h"
#include "augmentations/flip_lr.h"
#include "augmentations/flip_ud.h"
#include "augmentations/gaussian_blur.h"
#include "augmentations/grayscale.h"
#include "augmentations/identity.h"
#include "augmentations/invert.h"
#include "augmentations/posterize.h"
#include "augmentations/rotate.h"
#include "augmentations/sharpen.h"
#include "augmentations/sharpness.h"
#include "augmentations/shear_x.h"
#include "augmentations/shear_y.h"
#include "augmentations/smooth.h"
#include "augmentations/smooth_more.h"
#include "augmentations/solarize.h"
#include "augmentations/solarize_add.h"
#include "augmentations/translate_x.h"
#include "augmentations/translate_x_rel.h"
#include "augmentations/translate_y.h"
#include "augmentations/translate_y_rel.h"
#include "motley/op.h"

/* clang-format off */
/*    shape    id                 stem */
#define MOT_OPS(X)                                   \
    X(POINT,   IDENTITY,          identity)          \
    X(STATS,   AUTO_CONTRAST,     auto_contrast)     \
    X(STATS,   EQUALIZE,          equalize)          \
    X(POINT,   INVERT,            invert)            \
    X(POINT,   POSTERIZE,         posterize)         \
    X(POINT,   SOLARIZE,          solarize)          \
    X(POINT,   SOLARIZE_ADD,      solarize_add)      \
    X(POINT,   BRIGHTNESS,        brightness)        \
    X(COLOR,   COLOR,             color)             \
    X(STATS,   CONTRAST,          contrast)          \
    X(STENCIL, SHARPNESS,         sharpness)         \
    X(WARP,    SHEAR_X,           shear_x)           \
    X(WARP,    SHEAR_Y,           shear_y)           \
    X(WARP,    TRANSLATE_X,       translate_x)       \
    X(WARP,    TRANSLATE_Y,       translate_y)       \
    X(WARP,    TRANSLATE_X_REL,   translate_x_rel)   \
    X(WARP,    TRANSLATE_Y_REL,   translate_y_rel)   \
    X(WARP,    ROTATE,            rotate)            \
    X(ERASE,   CUTOUT,            cutout)            \
    X(ERASE,   CUTOUT_TF,         cutout_tf)         \
    X(WARP,    FLIP_LR,           flip_lr)           \
    X(WARP,    FLIP_UD,           flip_ud)           \
    X(COLOR,   GRAYSCALE,         grayscale)         \
    X(COLOR,   DESATURATE,        desaturate)        \
    X(BLUR,    GAUSSIAN_BLUR,     gaussian_blur)     \
    X(WARP,    AFFINE,            affine)            \
    X(STENCIL, SMOOTH,            smooth)            \
    X(STENCIL, SHARPEN,           sharpen)           \
    X(STENCIL, EDGE_ENHANCE,      edge_enhance)      \
    X(STENCIL, EDGE_ENHANCE_MORE, edge_enhance_more) \
    X(STENCIL, FIND_EDGES,        find_edges)        \
    X(STENCIL, CONTOUR,           contour)           \
    X(FILTER,  DETAIL,            detail)            \
    X(FILTER,  EMBOSS,            emboss)            \
    X(FILTER,  BLUR,              blur)              \
    X(FILTER,  SMOOTH_MORE,       smooth_more)       \
    X(ERASE,   BBOX_CUTOUT,       bbox_cutout)
/* clang-format on */

#define MOT_OP_ID(shape, ID, stem) MOT_OP_##ID,
typedef enum mot_op { MOT_OPS(MOT_OP_ID) MOT_OP_COUNT } mot_op;
#undef MOT_OP_ID
#define MOT_OP_NOTHING MOT_OP_IDENTITY /* the op that changes nothing */

/* The shape of an op, a motley_shape. */
MOT_FN int mot_shape_of(int op)
{
#define MOT_SHAPE_OF(shape, ID, stem) \
    case MOT_OP_##ID: \
        return MOTLEY_SHAPE_##shape;
    switch (op) {
        MOT_OPS(MOT_SHAPE_OF)
    default:
        return MOTLEY_SHAPE_POINT;
    }
#undef MOT_SHAPE_OF
}

/* Whether an op needs statistics, which are those of all frames of a clip. */
MOT_FN int mot_op_pools(int op)
{
    return op >= 0 && mot_shape_of(op) == MOTLEY_SHAPE_STATS;
}

#endif
