/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces CUDA's headers so that a C++ compiler can compile the kernels; emulate.cpp runs their threads. */
#ifndef MOT_EMULATE_CUDA_H
#define MOT_EMULATE_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef enum cudaError_t {
    cudaSuccess,
    cudaErrorMemoryAllocation,
    cudaErrorInvalidConfiguration,
    cudaErrorNotReady,
    cudaErrorStreamCaptureUnsupported
} cudaError_t;
#define CUDART_VERSION 13000
typedef void *cudaStream_t, *cudaEvent_t;
typedef enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize,
    cudaFuncAttributePreferredSharedMemoryCarveout
} cudaFuncAttribute;
enum { cudaSharedmemCarveoutMaxShared = 100 };
typedef enum cudaLaunchAttributeID {
    cudaLaunchAttributeCooperative,
    cudaLaunchAttributeProgrammaticStreamSerialization
} cudaLaunchAttributeID;
typedef struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        int cooperative, programmaticStreamSerializationAllowed;
    } val;
} cudaLaunchAttribute;

#ifdef MOT_RECORD
#include "tests/emulate/record_runtime.h"
#elif !defined(__cplusplus)
/* What checks call; the device's memory is the host's. */
#include <stdlib.h>
#include <string.h>

static inline cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = malloc(bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    (void)kind;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

static inline cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    memset(memory, value, bytes);
    return cudaSuccess;
}

static inline cudaError_t cudaDeviceSynchronize(void)
{
    return cudaSuccess;
}

static inline const char *cudaGetErrorString(cudaError_t code)
{
    return code == cudaSuccess ? "success" : "failure";
}
#endif

#ifdef __cplusplus
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
#else
typedef struct dim3 {
    unsigned x, y, z;
} dim3;
#endif

typedef struct cudaLaunchConfig_st {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
} cudaLaunchConfig_t;

#ifdef __cplusplus
extern "C" {
#endif
cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value);
typedef enum cudaMemcpyKind {
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
} cudaMemcpyKind;
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments);
#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
#include <math.h>
#include <string.h>

#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 750 /* the oldest: no bulk copies */
#endif
#define __host__
#define __device__
#define __constant__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static

struct alignas(8) uint2 {
    uint32_t x, y;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};

/* Those of the thread that is running. */
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads();
int __syncthreads_or(int vote);
int __syncthreads_and(int vote);
void __syncwarp();
unsigned __ballot_sync(unsigned mask, int vote);
uint64_t emulate_shuffle(uint64_t value, int from_lane);

template <class T> static inline T __shfl_sync(unsigned, T value, int lane)
{
    return (T)emulate_shuffle((uint64_t)value, lane);
}

template <class T> static inline T __shfl_xor_sync(unsigned, T value, int bits)
{
    return (T)emulate_shuffle((uint64_t)value, (int)(threadIdx.x % 32) ^ bits);
}

template <class T> static inline T __shfl_up_sync(unsigned, T value, int by)
{
    const int lane = (int)(threadIdx.x % 32);
    return (T)emulate_shuffle((uint64_t)value, lane >= by ? lane - by : lane);
}

static inline uint32_t __reduce_add_sync(unsigned mask, uint32_t v)
{
    for (int bits = 16; bits; bits /= 2)
        v += __shfl_xor_sync(mask, v, bits);
    return v;
}

static inline uint32_t __reduce_min_sync(unsigned mask, uint32_t v)
{
    for (int bits = 16; bits; bits /= 2) {
        const uint32_t other = __shfl_xor_sync(mask, v, bits);
        v = other < v ? other : v;
    }
    return v;
}

static inline uint32_t __reduce_max_sync(unsigned mask, uint32_t v)
{
    return ~__reduce_min_sync(mask, ~v);
}

template <class T> static inline T __ldcg(const T *p)
{
    return *p;
}

template <class T> static inline T atomicAdd(T *to, T v)
{
    const T old = *to;
    *to = old + v;
    return old;
}

static inline uint32_t atomicInc(uint32_t *to, uint32_t most)
{
    const uint32_t old = *to;
    *to = old >= most ? 0 : old + 1;
    return old;
}

static inline void atomicMin(uint32_t *to, uint32_t v)
{
    *to = v < *to ? v : *to;
}

static inline void atomicMax(uint32_t *to, uint32_t v)
{
    *to = v > *to ? v : *to;
}

static inline size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline int min(int a, int b)
{
    return a < b ? a : b;
}

static inline uint32_t min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline int max(int a, int b)
{
    return a > b ? a : b;
}

static inline uint2 make_uint2(uint32_t x, uint32_t y)
{
    return uint2{ x, y };
}

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return uint4{ x, y, z, w };
}

static inline uint32_t __byte_perm(uint32_t low, uint32_t high, uint32_t chosen)
{
    const uint64_t both = low | (uint64_t)high << 32;
    uint32_t out = 0;
    for (int i = 0; i < 4; i++)
        out |= (uint32_t)(both >> 8 * (chosen >> 4 * i & 7) & 0xFF) << 8 * i;
    return out;
}

static inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t by)
{
    return (uint32_t)((low | (uint64_t)high << 32) >> (by & 31));
}

static inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t by)
{
    return (uint32_t)((((uint64_t)high << 32 | low) << (by & 31)) >> 32);
}

static inline uint32_t __vminu2(uint32_t a, uint32_t b)
{
    uint32_t out = 0;
    for (int i = 0; i < 32; i += 16)
        out |= ((a >> i & 0xFFFF) < (b >> i & 0xFFFF) ? a : b) & 0xFFFFu << i;
    return out;
}

static inline uint32_t __vmaxu2(uint32_t a, uint32_t b)
{
    uint32_t out = 0;
    for (int i = 0; i < 32; i += 16)
        out |= ((a >> i & 0xFFFF) > (b >> i & 0xFFFF) ? a : b) & 0xFFFFu << i;
    return out;
}

static inline float __uint_as_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}

static inline uint32_t __float_as_uint(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline int __float_as_int(float v)
{
    return (int)__float_as_uint(v);
}

static inline int __viaddmin_s32_relu(int a, int b, int most)
{
    const int sum = a + b;
    return sum < 0 ? 0 : sum < most ? sum : most;
}

static inline uint32_t __dp2a_lo(uint32_t halves, uint32_t bytes, uint32_t sum)
{
    return sum + (halves & 0xFFFF) * (bytes & 0xFF) + (halves >> 16) * (bytes >> 8 & 0xFF);
}

static inline uint32_t __dp4a(uint32_t a, uint32_t b, uint32_t sum)
{
    for (int i = 0; i < 32; i += 8)
        sum += (a >> i & 0xFF) * (b >> i & 0xFF);
    return sum;
}

static inline uint32_t __dp2a_hi(uint32_t halves, uint32_t bytes, uint32_t sum)
{
    return __dp2a_lo(halves, bytes >> 16, sum);
}

static inline float __fdividef(float a, float b)
{
    return a / b;
}

#define __builtin_assume(condition) ((void)0)

/* The sum towards zero, of positive numbers: exact in double, then cut off. */
static inline float __fadd_rz(float a, float b)
{
    const double sum = (double)a + (double)b;
    float near = (float)sum;
    return (double)near > sum ? __uint_as_float(__float_as_uint(near) - 1) : near;
}

/* Exact in double wherever a kernel uses it; then down. */
static inline float __fmaf_rd(float a, float b, float c)
{
    const double exact = (double)a * (double)b + (double)c;
    const float near = (float)exact;
    return (double)near > exact ? nextafterf(near, -INFINITY) : near;
}

static inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

static inline uint64_t __umul64hi(uint64_t a, uint64_t b) /* for Random123 */
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

static inline int __clz(uint32_t v)
{
    return v ? __builtin_clz(v) : 32;
}

static inline int __popc(uint32_t v)
{
    return __builtin_popcount(v);
}

static inline int __ffs(uint32_t v)
{
    return __builtin_ffs((int)v);
}

static inline void __threadfence()
{
}

/* Addresses in the shared memory of the CTA that is running. */
extern uint4 *cta_memory;

static inline uint64_t __cvta_generic_to_shared(const void *p)
{
    return (uint64_t)((const uint8_t *)p - (const uint8_t *)cta_memory);
}

static inline void *__cvta_shared_to_generic(uint64_t at)
{
    return (uint8_t *)cta_memory + at;
}

#endif
#endif
