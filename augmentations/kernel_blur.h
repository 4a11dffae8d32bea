/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel blur: torchvision's GaussianBlur, k x k weights in binary32. It is a stage's step (MOTLEY_STEP_KERNEL_BLUR),
 * not an op of the table, because no policy has it.
 *
 * Value    sigma in pixels, and the kernel's size k, odd.
 * Matches  torchvision's gaussian_blur on Pillow images and uint8 tensors on a CPU with FMA, bit for bit for given
 *          weights. The last bit of an exp is its library's, so torch's own builds differ in some weights. */
#ifndef MOT_KERNEL_BLUR_H
#define MOT_KERNEL_BLUR_H
#include "augmentations/op.h"
#include "motley/transform.h"

#include <math.h>

#define MOT_KERNEL_SIGMA_MIN 1e-3
#define MOT_KERNEL_SIGMA_MAX 1e3

/* The weights from the middle outward, (size + 1) / 2 of them, in the order of torchvision's v1. */
static inline void mot_kernel_blur_weights(double sigma, int size, float half[MOTLEY_KERNEL_WEIGHTS])
{
    float value[MOTLEY_MAX_KERNEL], lane[8] = { 0 }, sum = 0;
    for (int i = 0; i < size; i++) {
        const float x = (float)(i - size / 2) / (float)sigma;
        value[i] = (float)exp((double)(-0.5f * (x * x)));
    }
    /* torch adds eight lanes and then the rest; short rows in four lanes, the rest to the first of them */
    const int lanes = size < 8 ? 4 : 8, whole = size / lanes * lanes;
    for (int i = 0; i < whole; i++)
        lane[i % lanes] += value[i];
    if (size < 8)
        sum = lane[0];
    for (int i = whole; i < size; i++)
        sum += value[i];
    for (int i = size < 8; i < lanes; i++)
        sum += lane[i];
    for (int i = 0; i <= size / 2; i++)
        half[i] = value[size / 2 + i] / sum;
}

/* Where position i of n lies after mirroring without the edge, as numpy's and torch's "reflect". */
MOT_FN int32_t mot_mirror(int32_t i, int32_t n)
{
    return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

/* The byte of a sum of weights times bytes; it rounds half to even. */
static inline uint8_t mot_kernel_blur_byte(float sum)
{
    return (uint8_t)rintf(sum);
}

#endif
