/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the rows of MOT_OPS of every shape expand to nothing; the file that includes this then defines those of its
 * shape.
 *
 *     #include "kernels/shapes_off.h"
 *     #undef MOT_IF_POINT
 *     #define MOT_IF_POINT(ID, stem) case MOT_OP_##ID: return mot_##stem(v, arg);
 *     switch (op) { MOT_OPS(MOT_BY_SHAPE) default: return v; }
 *
 * So kernels name no op. It has no include guard, because it is included more than once. */
#undef MOT_IF_POINT
#undef MOT_IF_STATS
#undef MOT_IF_COLOR
#undef MOT_IF_WARP
#undef MOT_IF_STENCIL
#undef MOT_IF_BLUR
#undef MOT_IF_ERASE
#undef MOT_IF_FILTER
#define MOT_IF_POINT(ID, stem)
#define MOT_IF_STATS(ID, stem)
#define MOT_IF_COLOR(ID, stem)
#define MOT_IF_WARP(ID, stem)
#define MOT_IF_STENCIL(ID, stem)
#define MOT_IF_BLUR(ID, stem)
#define MOT_IF_ERASE(ID, stem)
#define MOT_IF_FILTER(ID, stem)
#undef MOT_BY_SHAPE
#define MOT_BY_SHAPE(shape, ID, stem) MOT_IF_##shape(ID, stem)
