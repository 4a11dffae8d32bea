/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a stream that overlap, where the chip can (sm_90 and later) and the launch allows it. */
#ifndef MOT_OVERLAP_CUH
#define MOT_OVERLAP_CUH

#include "kernels/cuda/pixels.cuh"

/* The next kernel may begin once all CTAs of this one have called this or have ended. */
DEVICE void let_next_kernel_begin()
{
#if defined(__NVCC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#if !defined(__NVCC__)
void emulate_previous_kernel();
#endif

/* Waits until the previous kernel has ended and what it wrote is visible. */
DEVICE void wait_for_previous_kernel()
{
#if defined(__NVCC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#elif !defined(__NVCC__)
    emulate_previous_kernel();
#endif
}

#endif
