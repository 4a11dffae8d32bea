/* SPDX-License-Identifier: Apache-2.0 */
/* What Pillow's fixed filters (ImageFilter.BLUR, CONTOUR ...) share: they take no value. */
#ifndef MOT_FILTER_H
#define MOT_FILTER_H
#include "augmentations/wide.h"

/* A filter of 3x3 (reach 1) or 5x5 (reach 2) weights, as Pillow lists them: the row below the centre comes first. */
typedef struct mot_filter {
    int reach;
    float divisor, offset;
    float weight[25];
} mot_filter;

#define MOT_FILTER_INFO \
    .unit = "", .values_min = 0, .values_max = 0, .minimum = 0, .maximum = 0, .neutral = NAN, .example = 0

#ifdef __CUDACC__
#define MOT_FILTER_PREPARE(stem)
/* The op for two components side by side, 16 bits each. */
#define MOT_FILTER_PAIR(stem) \
    static __device__ __forceinline__ uint32_t mot_##stem##_pair(uint32_t centre, uint32_t sum, const mot_arg *arg) \
    { \
        const uint32_t low = mot_##stem((uint8_t)centre, sum & 0xFFFFu, arg); \
        return low | (uint32_t)mot_##stem((uint8_t)(centre >> 16), sum >> 16, arg) << 16; \
    }
#else
#define MOT_FILTER_PREPARE(stem) \
    static inline void mot_##stem##_prepare(const double *values, int count, mot_arg *arg) \
    { \
        (void)values, (void)count, (void)arg; \
    }
#define MOT_FILTER_PAIR(stem)
#endif

MOT_FN uint8_t mot_clamp(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* The weights of a 3x3 neighbourhood: MOT_<ID>_NINE of a STENCIL op, for its wide form. */
typedef struct mot_nine {
    float side, centre, divisor, offset;
} mot_nine;

/* Defines a 3x3 filter by its result for bytes, an expression of the component `centre` and of `sum`, the sum of the
 * nine components of its neighbourhood, itself included. */
#define MOT_NINE_OP(stem, result) \
    MOT_FILTER_PREPARE(stem) \
    MOT_FN uint8_t mot_##stem(uint8_t centre, uint32_t sum, const mot_arg *arg) \
    { \
        (void)arg; \
        return (result); \
    } \
    MOT_FN float mot_##stem##_wide(float v, float sum, const mot_range *range, const mot_arg *arg) \
    { \
        (void)v, (void)arg; \
        return mot_range_clamp(range, sum); \
    } \
    MOT_FILTER_PAIR(stem)

#endif
