/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing chains of ops: loops over bytes, which compilers vectorise. */
#ifndef MOT_AUGMIX_CPU_H
#define MOT_AUGMIX_CPU_H

#include "augmentations/augmix.h"
#include "kernels/cpu.h"

static void mix_bytes(int op, float weight, const uint8_t *restrict chain, float *restrict sum,
                      uint8_t *restrict result, size_t bytes)
{
    switch (op) {
    case MOTLEY_STEP_MIX_ADD:
        for (size_t i = 0; i < bytes; i++)
            sum[i] = mot_mix_add(sum[i], chain[i], weight);
        break;
    case MOTLEY_STEP_MIX_SUM:
        for (size_t i = 0; i < bytes; i++) {
            result[i] = mot_blend(result[i], mot_mix_byte(sum[i]), weight);
            sum[i] = 0;
        }
        break;
    default: /* MOTLEY_STEP_MIX_BLEND */
        for (size_t i = 0; i < bytes; i++)
            result[i] = mot_blend(result[i], chain[i], weight);
    }
}

#endif
