/* SPDX-License-Identifier: Apache-2.0 */
/* A plain conversion kernel, with which bench_cuda compares the fused output. */
#ifndef BENCH_CONVERT_H
#define BENCH_CONVERT_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes what motley_output would: dense u8 HWC RGB to dense f16 CHW, (u8 / 255 - mean) / std. `pixels` of an image: a
 * multiple of 4; both pointers aligned to 8 bytes. */
cudaError_t bench_convert(const uint8_t *hwc, uint16_t *chw, size_t count, size_t pixels, const float mean[3],
                          const float std[3], cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
