/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA context: how it is created and destroyed, checks of a job's pointers, memory for the caller. */
#include "dispatch/cuda/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

static void destroy(void *state)
{
    mot_cuda_state *const s = state;
    int before;
    if (!s)
        return;
    if (mot_cuda_enter(s, &before, NULL) == MOTLEY_OK) {
        mot_timeline_wait(&s->timeline);
        mot_pool_release_all(s);
        mot_timeline_destroy(&s->timeline);
        mot_cuda_leave(s, before);
    }
    free(s);
}

/* Finds a function of the driver, which the library is not linked to; NULL if there is none of this name. */
static void find_in_driver(const char *name, mot_ask_pointer **function)
{
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    const cudaError_t code = cudaGetDriverEntryPointByVersion(name, &found, 7000, cudaEnableDefault, &result);
#else
    const cudaError_t code = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    cudaGetLastError();
    if (code != cudaSuccess || result != cudaDriverEntryPointSuccess)
        found = NULL;
    memcpy(function, &found, sizeof *function);
}

static motley_status look_at_device(mot_cuda_state *s, motley_error *error)
{
    static const enum cudaDeviceAttr asked[] = { cudaDevAttrComputeCapabilityMajor, cudaDevAttrMultiProcessorCount,
                                                 cudaDevAttrMaxThreadsPerMultiProcessor,
                                                 cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                                 cudaDevAttrMaxSharedMemoryPerBlockOptin };
    int is[5];
    for (int i = 0; i < 5; i++)
        CUDA_TRY(cudaDeviceGetAttribute(&is[i], asked[i], s->device), "asking the device");
    s->chip = mot_chip_of(is[0], is[1], is[2], is[3], is[4]);
    find_in_driver("cuPointerGetAttributes", &s->ask_pointer);
    CUDA_TRY(mot_cuda_draw_prepare(s->chip.draw_bytes), "preparing the draw kernel");
    return mot_timeline_create(&s->timeline, error);
}

static motley_status create(const motley_context_params *params, void **state, motley_error *error)
{
    int devices = 0;
    *state = NULL;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || devices == 0) {
        cudaGetLastError();
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "no CUDA device can be used: %s",
                        code != cudaSuccess ? cudaGetErrorString(code) : "there is none");
    }
    MOT_REQUIRE(params->device < devices, error, "device is %d, but there are only %d", params->device, devices);
    mot_cuda_state *const s = calloc(1, sizeof *s);
    if (!s)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a CUDA context");
    mot_cuda_op_facts(s->op);
    s->device = params->device;
    s->params = *params;
    int before;
    motley_status status = mot_cuda_enter(s, &before, error);
    if (status == MOTLEY_OK) {
        status = look_at_device(s, error);
        mot_cuda_leave(s, before);
    }
    if (status != MOTLEY_OK) {
        destroy(s);
        return status;
    }
    *state = s;
    return MOTLEY_OK;
}

static motley_status validate(void *state, const mot_job *job, motley_error *error)
{
    MOT_TRY(mot_cuda_check(state, "src", job->src, error));
    if (job->dst && job->dst != job->src)
        MOT_TRY(mot_cuda_check(state, "dst", job->dst, error));
    if (job->output)
        MOT_TRY(mot_cuda_check(state, "output", job->output, error));
    MOT_TRY(mot_cuda_check_pointer(state, "counter", job->counter, error));
    MOT_TRY(mot_cuda_check_pointer(state, "levels", job->samples.levels, error));
    if (job->samples.boxes_on_device) {
        MOT_TRY(mot_cuda_check_pointer(state, "samples.boxes", job->samples.boxes, error));
        MOT_TRY(mot_cuda_check_pointer(state, "samples.box_offsets", job->samples.box_offsets, error));
    }
    return job->followed ? mot_cuda_check_followed(state, job->followed, error) : MOTLEY_OK;
}

/* ---- memory for the caller ---- */

static motley_status create_memory(void *state, motley_memory_kind kind, size_t bytes, void **memory,
                                   motley_error *error)
{
    mot_cuda_state *const s = state;
    int before;
    MOT_TRY(mot_cuda_enter(s, &before, error));
    const cudaError_t code =
        kind == MOTLEY_MEMORY_HOST ? cudaHostAlloc(memory, bytes, cudaHostAllocPortable) : cudaMalloc(memory, bytes);
    mot_cuda_leave(s, before);
    if (code == cudaSuccess)
        return MOTLEY_OK;
    cudaGetLastError();
    *memory = NULL;
    return mot_cuda_fail(error, kind == MOTLEY_MEMORY_HOST ? "allocating pinned memory" : "allocating device memory",
                         code);
}

static void destroy_memory(void *state, void *memory)
{
    mot_cuda_state *const s = state;
    struct cudaPointerAttributes attributes;
    int before;
    if (mot_cuda_enter(s, &before, NULL) != MOTLEY_OK)
        return;
    if (cudaPointerGetAttributes(&attributes, memory) == cudaSuccess && attributes.type == cudaMemoryTypeHost)
        cudaFreeHost(memory);
    else
        cudaFree(memory);
    cudaGetLastError();
    mot_cuda_leave(s, before);
}

static motley_status copy(void *state, void *to, const void *from, size_t bytes, void *stream, motley_error *error)
{
    mot_cuda_state *const s = state;
    int before;
    MOT_TRY(mot_cuda_enter(s, &before, error));
    const cudaError_t code = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
    mot_cuda_leave(s, before);
    CUDA_TRY(code, "copying");
    return MOTLEY_OK;
}

static motley_status wait(void *state, void *stream, motley_error *error)
{
    mot_cuda_state *const s = state;
    int before;
    MOT_TRY(mot_cuda_enter(s, &before, error));
    const cudaError_t code = cudaStreamSynchronize(stream);
    mot_cuda_leave(s, before);
    CUDA_TRY(code, "waiting for the stream");
    return MOTLEY_OK;
}

/* ---- for tests ---- */

void mot_cuda_tiles_always(motley_context *context, int always)
{
    ((mot_cuda_state *)context->state)->always_tiles = always;
}

mot_cuda_last mot_cuda_last_run(const motley_context *context)
{
    return ((const mot_cuda_state *)context->state)->last_run;
}

const mot_backend mot_backend_cuda = { .id = MOTLEY_BACKEND_CUDA,
                                       .name = "cuda",
                                       .create = create,
                                       .destroy = destroy,
                                       .validate = validate,
                                       .run = mot_cuda_run,
                                       .follow = mot_cuda_follow,
                                       .look_back = mot_cuda_look_back,
                                       .workspace = mot_cuda_workspace,
                                       .create_memory = create_memory,
                                       .destroy_memory = destroy_memory,
                                       .copy = copy,
                                       .wait = wait,
                                       .resize = mot_cuda_resize,
                                       .transform = mot_cuda_transform,
                                       .mix = mot_cuda_mix,
                                       .mix_targets = mot_cuda_mix_targets };
