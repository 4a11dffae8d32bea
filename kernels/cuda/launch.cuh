/* SPDX-License-Identifier: Apache-2.0 */
/* Queues a kernel. */
#ifndef MOT_LAUNCH_CUH
#define MOT_LAUNCH_CUH

#include <cuda_runtime_api.h>
#include <stdint.h>

/* Lets a kernel have so many bytes of dynamic shared memory, and asks for as little L1 cache as possible: a
 * multiprocessor must be empty before it can divide its memory differently, so kernels that run side by side ask for
 * the same. */
static inline cudaError_t mot_share_memory(const void *kernel, int bytes)
{
    const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    return error != cudaSuccess ? error
                                : cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                                       cudaSharedmemCarveoutMaxShared);
}

/* `overlap`: the kernel may begin while the stream's previous one ends (kernels/cuda/device.cuh). */
template <class... ARGUMENTS>
static cudaError_t mot_launch(const void *kernel, int64_t ctas, int threads, size_t shared_bytes, int overlap,
                              cudaStream_t stream, const ARGUMENTS &...of_kernel)
{
    if (ctas > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)ctas);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = overlap ? 1 : 0;
    void *arguments[] = { (void *)&of_kernel... };
    return cudaLaunchKernelExC(&config, kernel, arguments);
}

#endif
