/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel blur: torchvision's GaussianBlur, k x k weights in binary32. It is a stage's step (MOTLEY_STEP_KERNEL_BLUR),
 * not an op of the table, because no policy has it.
 *
 * Value    sigma in pixels, and the kernel's size k, odd.
 * Matches  torchvision's gaussian_blur on Pillow images and uint8 tensors on a CPU with FMA, bit for bit for given
 *          weights. Math libraries differ in the last bit of exp, so builds of torch differ in some weights. */
#ifndef MOT_KERNEL_BLUR_H
#define MOT_KERNEL_BLUR_H
#include "augmentations/op.h"
#include "motley/draw.h"

#include <math.h>
#include <string.h>

#define MOT_KERNEL_SIGMA_MIN 1e-3
#define MOT_KERNEL_SIGMA_MAX 1e3

static inline int mot_is_kernel_size(double size)
{
    return size >= 3 && size <= MOTLEY_MAX_KERNEL && fmod(size, 2) == 1;
}

/* exp(x) for x <= 0, to 0.6 units in the last place; 0 if binary32 cannot hold such a small number. It does not call
 * exp, because the host's and the device's libraries differ in the last bit. */
MOT_FN double mot_exp(double x)
{
    if (x < -120)
        return 0;
    const double k = rint(x * 1.4426950408889634); /* x = k ln 2 + r, with |r| at most ln 2 / 2 */
    const double high = x - k * 6.93147180369123816490e-01, low = k * 1.90821492927058770002e-10, r = high - low;
    const double lost = (high - r) - low; /* what rounding took from r */
    double q = 1.0 / 6227020800;          /* 1 / 13!, then down to 1 / 2! */
    for (int n = 12, factorial = 479001600; n >= 2; factorial /= n--)
        q = q * r + 1.0 / factorial;
    const double near = 1 + (r + (r * r * q + lost));
    const uint64_t bits = (uint64_t)(1023 + (int64_t)k) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return near * power;
}

/* Weight `i` of `size`, before it is divided by the sum of all. */
MOT_FN float mot_kernel_blur_value(double sigma, int size, int i)
{
    const float x = (float)(i - size / 2) / (float)sigma;
    return (float)mot_exp((double)(-0.5f * (x * x)));
}

/* Their sum, in the order of torchvision's v1. */
MOT_FN float mot_kernel_blur_sum(const float value[MOTLEY_MAX_KERNEL], int size)
{
    float lane[8] = { 0 }, sum = 0;
    /* torch sums in eight lanes and then adds the rest; short rows in four lanes, with the rest added to the first */
    const int lanes = size < 8 ? 4 : 8, whole = size / lanes * lanes;
    for (int i = 0; i < whole; i++)
        lane[i % lanes] += value[i];
    if (size < 8)
        sum = lane[0];
    for (int i = whole; i < size; i++)
        sum += value[i];
    for (int i = size < 8; i < lanes; i++)
        sum += lane[i];
    return sum;
}

/* The (size + 1) / 2 weights from the middle outward. */
MOT_FN void mot_kernel_blur_weights(double sigma, int size, float half[MOTLEY_KERNEL_WEIGHTS])
{
    float value[MOTLEY_MAX_KERNEL];
    for (int i = 0; i < size; i++)
        value[i] = mot_kernel_blur_value(sigma, size, i);
    const float sum = mot_kernel_blur_sum(value, size);
    for (int i = 0; i <= size / 2; i++)
        half[i] = value[size / 2 + i] / sum;
}

/* Position i of n, mirrored at the edges without repeating them, as "reflect" of NumPy and torch does. */
MOT_FN int32_t mot_mirror(int32_t i, int32_t n)
{
    return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

/* Converts a weighted sum to a byte; it rounds half to even. */
MOT_FN uint8_t mot_kernel_blur_byte(float sum)
{
    return (uint8_t)rintf(sum);
}

#endif
