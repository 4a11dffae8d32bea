/* SPDX-License-Identifier: Apache-2.0 */
/* Sharpness: blends between a smoothed image (factor 0) and the image (factor 1), and beyond.
 *
 * The smoothing gives the eight neighbours the weight 1/13 and the centre 5/13. The outermost rows and columns are
 * copied, and an image less than 3 wide or high stays as it is. */
#ifndef MOT_SHARPNESS_H
#define MOT_SHARPNESS_H
#include "augmentations/wide.h"

/* clang-format off */
#define MOT_SHARPNESS_INFO \
    .name = "sharpness", .summary = "Blends from a smoothed image towards and past the image.", \
    .unit = "blend factor", .matches = "Pillow ImageEnhance.Sharpness", \
    .paper = "Cubuk et al. 2018, arXiv:1805.09501", \
    .values_min = 1, .values_max = 1, .minimum = -10000, .maximum = 10000, .neutral = 1, .example = 1.9
/* clang-format on */
#define MOT_SHARPNESS_FACTS .cost = 1200, .form = MOT_FORM_SHARPEN

#ifndef __CUDACC__
static inline void mot_sharpness_prepare(const double *values, int count, mot_arg *arg)
{
    (void)count;
    arg->factor = (float)values[0];
    arg->d[0] = 1.0 - values[0];
    arg->flags = arg->factor == 1.0f ? MOT_ARG_IDENTITY : 0;
}
#endif

/* `sum` is that of nine components. Division by 13 is a multiplication: 5042 / 65536 is 1/13 and 0.77 / 65536, so for
 * numbers up to 13 * 255 + 6 it errs by less than 0.04, while a quotient lies 1/13 or more below the next whole one. */
MOT_FN uint8_t mot_sharpness(uint8_t centre, uint32_t sum, const mot_arg *arg)
{
    const uint32_t weighted = sum + 4u * centre + 6u;
#ifdef __CUDA_ARCH__
    /* 2^23 + the quotient: 1290556 / 2^24 is 1/13 and 0.92 / 2^24, the product is exact, rounding down truncates. */
    const float smooth = __fmaf_rd(__uint_as_float(0x4B000000u | weighted), 1290556.0f / 16777216.0f, 7743330.0f);
    const float product = arg->factor * (__uint_as_float(0x4B000000u | centre) - smooth);
    return mot_byte((smooth - 8388608.0f) + product);
#else
    return mot_blend((uint8_t)((weighted * 5042u) >> 16), centre, arg->factor);
#endif
}

#ifdef __CUDACC__
/* The upper half of 2^23 as a float, read from memory: the compiler would materialise a known constant at each use. */
static __constant__ uint32_t mot_top_of_float = 0x4B00;

/* mot_sharpness of two components side by side, 16 bits each. */
static __device__ __forceinline__ uint32_t mot_sharpness_pair(uint32_t centre, uint32_t sum, const mot_arg *arg)
{
    const uint32_t weighted = sum + 4u * centre;
    const uint32_t top = mot_top_of_float;
    uint32_t out[2];
    for (int i = 0; i < 2; i++) {
        const uint32_t half = i ? 0x5432 : 0x5410;
        /* As above, but the 6 is in the constant: 0.5 is 6.5 / 13, and no whole number lies between 6 and 6.5. */
        const float smooth =
            __fmaf_rd(__uint_as_float(__byte_perm(weighted, top, half)), 1290556.0f / 16777216.0f, 7743330.5f);
        const float product = arg->factor * (__uint_as_float(__byte_perm(centre, top, half)) - smooth);
        out[i] = (uint32_t)mot_byte_device((smooth - 8388608.0f) + product);
    }
    return __byte_perm(out[0], out[1], 0x5410);
}
#endif

#define MOT_SHARPNESS_NINE \
    { \
        .side = 1, .centre = 5, .divisor = 13 \
    }

MOT_FN float mot_sharpness_wide(float v, float sum, const mot_range *range, const mot_arg *arg)
{
    return mot_range_clamp(range, fmaf(sum - v, (float)arg->d[0], v));
}

#endif
