/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the driver's header, of which dispatch/cuda uses the question where memory begins. */
#ifndef MOT_EMULATE_DRIVER_H
#define MOT_EMULATE_DRIVER_H

#include <stdint.h>

typedef enum CUresult { CUDA_SUCCESS } CUresult;
typedef uintptr_t CUdeviceptr;
typedef enum CUmemorytype { CU_MEMORYTYPE_DEVICE = 2 } CUmemorytype;
typedef enum CUpointer_attribute {
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
    CU_POINTER_ATTRIBUTE_RANGE_SIZE
} CUpointer_attribute;

#endif
