/* SPDX-License-Identifier: Apache-2.0 */
/* The tile kernel for images of MOT_FORMAT. Each format is a separate object: one for all would compile for minutes. */
#include "kernels/cuda/tile_kernel.cuh"

#define MOT_PASTE(a, b) a##b
#define MOT_KERNEL_OF(name) MOT_PASTE(mot_tile_kernel_, name)

const void *MOT_KERNEL_OF(MOT_FORMAT_NAME)(void)
{
    return (const void *)tile_kernel<MOT_FORMAT>;
}
