/* SPDX-License-Identifier: Apache-2.0 */
/* Random words: Philox4x32-10 (Salmon et al. 2011), key = seed, counter = {block, epoch, sample low, sample high};
 * draw.h says what a block is.
 *
 * These are the first words after cuRAND's curand_init(seed, subsequence = sample, offset = 4 * (epoch << 32 + block)).
 * The device calls cuRAND's rounds, the host Random123's, as does the emulator of tests/emulate where no toolkit is. */
#ifndef MOT_RNG_H
#define MOT_RNG_H

#include "augmentations/op.h"

#if defined(__CUDACC__) && __has_include(<curand_philox4x32_x.h>)
#define MOT_CURAND 1
#include <curand_philox4x32_x.h>
#else
#include <Random123/philox.h>
#endif

typedef struct mot_words {
    uint32_t w[4];
} mot_words;

#ifdef MOT_CURAND
static __device__ __noinline__ mot_words mot_random(uint64_t seed, uint32_t epoch, uint64_t sample, uint32_t block)
{
    const uint4 r = curand_Philox4x32_10(make_uint4(block, epoch, (uint32_t)sample, (uint32_t)(sample >> 32)),
                                         make_uint2((uint32_t)seed, (uint32_t)(seed >> 32)));
    return mot_words{ { r.x, r.y, r.z, r.w } };
}
#else
static inline mot_words mot_random(uint64_t seed, uint32_t epoch, uint64_t sample, uint32_t block)
{
    const philox4x32_ctr_t counter = { { block, epoch, (uint32_t)sample, (uint32_t)(sample >> 32) } };
    const philox4x32_key_t key = { { (uint32_t)seed, (uint32_t)(seed >> 32) } };
    const philox4x32_ctr_t r = philox4x32_R(10, counter, key);
    const mot_words words = { { r.v[0], r.v[1], r.v[2], r.v[3] } };
    return words;
}
#endif
#ifdef __CUDACC__
#define MOT_RANDOM_FN static __device__ __forceinline__
#else
#define MOT_RANDOM_FN static inline
#endif

/* Chooses one of n >= 1 by a random word: the high half of their product (Lemire 2019). */
MOT_FN uint32_t mot_choose(uint32_t word, uint32_t n)
{
    return (uint32_t)(((uint64_t)word * n) >> 32);
}

#endif
