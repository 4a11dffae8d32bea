/* SPDX-License-Identifier: Apache-2.0 */
/* The conversion that a training loop does after augmenting: normalise, cast, HWC to CHW. A thread takes four pixels at
 * a time, 12 bytes, and writes 8 bytes to each plane; a table of the 256 values of each channel spares it the
 * divisions. */
#include "bench/convert.h"

#include <cuda_fp16.h>

#define THREADS 256
#define QUADS_A_THREAD 8 /* each CTA makes the table, so it should process more than a few pixels */

struct normalisation {
    float mean[3], std[3];
};

static __global__ void convert(const uint32_t *in, uint2 *out, uint32_t quads, const normalisation n)
{
    __shared__ uint16_t table[3][256];
    for (int i = threadIdx.x; i < 3 * 256; i += THREADS) {
        const int c = i / 256;
        table[c][i % 256] = __half_as_ushort(__float2half_rn(((float)(i % 256) / 255.0f - n.mean[c]) / n.std[c]));
    }
    __syncthreads();
    in += (size_t)blockIdx.y * quads * 3;
    out += (size_t)blockIdx.y * quads * 3;
    for (uint32_t q = blockIdx.x * THREADS + threadIdx.x; q < quads; q += gridDim.x * THREADS) {
        const uint32_t words[3] = { in[3 * q], in[3 * q + 1], in[3 * q + 2] };
#pragma unroll
        for (int c = 0; c < 3; c++) {
            uint32_t half[4];
#pragma unroll
            for (int p = 0; p < 4; p++) {
                const int byte = 3 * p + c;
                half[p] = table[c][words[byte / 4] >> 8 * (byte % 4) & 255];
            }
            out[(size_t)c * quads + q] = make_uint2(half[0] | half[1] << 16, half[2] | half[3] << 16);
        }
    }
}

cudaError_t bench_convert(const uint8_t *hwc, uint16_t *chw, size_t count, size_t pixels, const float mean[3],
                          const float std[3], cudaStream_t stream)
{
    const uint32_t quads = (uint32_t)(pixels / 4), a_cta = THREADS * QUADS_A_THREAD;
    const normalisation n = { { mean[0], mean[1], mean[2] }, { std[0], std[1], std[2] } };
    const dim3 grid((quads + a_cta - 1) / a_cta, (unsigned)count);
    convert<<<grid, THREADS, 0, stream>>>((const uint32_t *)hwc, (uint2 *)chw, quads, n);
    return cudaGetLastError();
}
