/* SPDX-License-Identifier: Apache-2.0 */
/* The device: what its runtime reports as errors, which device is current, and where the caller's pointers point. */
#include "dispatch/cuda/state.h"

#include <inttypes.h>

motley_status mot_cuda_fail(motley_error *error, const char *what, cudaError_t code)
{
    const motley_status status = code == cudaErrorMemoryAllocation ? MOTLEY_ERR_MEMORY : MOTLEY_ERR_CUDA;
    return mot_fail(error, status, "%s: %s (%s)", what, cudaGetErrorString(code), cudaGetErrorName(code));
}

motley_status mot_cuda_try(cudaError_t code, const char *what, motley_error *error)
{
    if (code == cudaSuccess)
        return MOTLEY_OK;
    cudaGetLastError(); /* clear it, or the caller's next check would see it */
    return mot_cuda_fail(error, what, code);
}

motley_status mot_cuda_enter(mot_cuda_state *s, int *before, motley_error *error)
{
    CUDA_TRY(cudaGetDevice(before), "asking for the current device");
    if (*before != s->device)
        CUDA_TRY(cudaSetDevice(s->device), "choosing the device");
    return MOTLEY_OK;
}

void mot_cuda_leave(const mot_cuda_state *s, int before)
{
    if (before != s->device)
        cudaSetDevice(before);
}

/* ---- checks ---- */

typedef struct allocation {
    uintptr_t begin;
    size_t bytes;
} allocation;

motley_status mot_cuda_check_pointer(const void *state, const char *name, const void *data, motley_error *error)
{
    const mot_cuda_state *const s = state;
    struct cudaPointerAttributes attributes;
    if (!data)
        return MOTLEY_OK;
    CUDA_TRY(cudaPointerGetAttributes(&attributes, data), "asking where a pointer points");
    MOT_REQUIRE(attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged, error,
                "%s is host memory, want memory of CUDA device %d", name, s->device);
    MOT_REQUIRE(attributes.type == cudaMemoryTypeManaged || attributes.device == s->device, error,
                "%s is on CUDA device %d, want device %d", name, attributes.device, s->device);
    return MOTLEY_OK;
}

static motley_status check_pixels(const mot_cuda_state *s, const char *name, size_t i, const void *data,
                                  motley_error *error)
{
    return mot_fail_in(error, mot_cuda_check_pointer(s, "data", data, error), "%s image %zu: ", name, i);
}

/* The bytes of the context's device memory around `data` that were allocated together; none if the driver does not know
 * or if it is other memory. */
static allocation allocation_of(const mot_cuda_state *s, const void *data)
{
    CUpointer_attribute asked[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE };
    unsigned kind = 0;
    int device = -1;
    CUdeviceptr begin = 0;
    size_t bytes = 0;
    void *answers[] = { &kind, &device, &begin, &bytes };
    if (!s->ask_pointer || s->ask_pointer(4, asked, answers, (CUdeviceptr)data) != CUDA_SUCCESS ||
        kind != CU_MEMORYTYPE_DEVICE || device != s->device)
        return (allocation){ 0, 0 };
    return (allocation){ (uintptr_t)begin, bytes };
}

motley_status mot_cuda_check(void *state, const char *name, const motley_batch *batch, motley_error *error)
{
    const mot_cuda_state *const s = state;
    const size_t element = mot_dtype_bytes(batch->dtype);
    const size_t checked = batch->images || batch->count < 2 ? batch->count : 2; /* by one stride all lie alike */
    for (size_t i = 0; i < checked && element > 1; i++) {
        const mot_view view = mot_batch_view(batch, i);
        MOT_REQUIRE((uintptr_t)view.data % element == 0, error,
                    "%s image %zu: data is not aligned to the %zu bytes of a component", name, i, element);
        MOT_REQUIRE(view.pixel == (int32_t)view.pixel, error,
                    "%s image %zu: its pixel stride is %" PRId64 " bytes, want under 2^31 on CUDA", name, i,
                    view.pixel);
    }
    if (!batch->images)
        return check_pixels(s, name, 0, batch->data, error);
    allocation last = { 0, 0 }; /* most images are in few allocations, and each query takes 0.1 us */
    for (size_t i = 0; i < batch->count; i++) {
        const void *const data = batch->images[i].data;
        if ((uintptr_t)data - last.begin < last.bytes)
            continue;
        last = allocation_of(s, data);
        if (last.bytes == 0)
            MOT_TRY(check_pixels(s, name, i, data, error));
    }
    return MOTLEY_OK;
}
