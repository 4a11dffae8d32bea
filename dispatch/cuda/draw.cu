/* SPDX-License-Identifier: Apache-2.0 */
/* Draw and dispatch on the device: a thread draws a sample or one of its steps, then a counting sort groups the samples
 * into sub-batches, heavy ones first. On the tiles route a warp draws a sample and makes its programs as well. The host
 * reads nothing back. */
#include "dispatch/cuda/draw.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile_planner.cuh"
#include "kernels/cuda/tuning.h"

#include "motley/op.h"

/* An op's cost in addition to the cost of its pass, in the units of dispatch/buckets.h. */
#define MOT_COST_POINT(ID) 3
#define MOT_COST_COLOR(ID) 8
#define MOT_COST_ERASE(ID) 6
#define MOT_COST_STATS(ID) (MOT_##ID##_NEEDS == MOT_NEEDS_HISTOGRAM ? 10 : 8)
#define MOT_COST_WARP(ID) 5
#define MOT_COST_STENCIL(ID) 14
#define MOT_COST_BLUR(ID) 40   /* of a narrow one; wide ones take tiles, where only the report has this rank */
#define MOT_COST_FILTER(ID) 20 /* only in the report of the sub-batches: see dispatch/cuda/parts.h */
static int cost_of(int op)
{
#define MOT_COST_OF(shape, ID, stem) \
    case MOT_OP_##ID: \
        return MOT_COST_##shape(ID);
    switch (op) {
        MOT_OPS(MOT_COST_OF)
    default:
        return 0;
    }
}

static int weight_rank_of(int op)
{
    int heavier = 0;
    for (int other = 0; other < MOT_OP_COUNT; other++)
        heavier += cost_of(other) > cost_of(op) || (cost_of(other) == cost_of(op) && other < op);
    return heavier;
}

void mot_cuda_op_facts(mot_cuda_op op[MOT_OP_COUNT])
{
    for (int i = 0; i < MOT_OP_COUNT; i++)
        op[i] = mot_cuda_op{ (uint16_t)cost_of(i), (uint8_t)mot_shape_of(i), (uint8_t)weight_rank_of(i) };
}

/* Turns the number of samples of each key, count[MOT_KEYS], into where each key begins, first[MOT_KEYS + 1]. Both may
 * be the same memory. */
static __device__ void begin_keys(int *first, const int *count)
{
    enum { EACH = (MOT_KEYS + MOT_DRAW_THREADS - 1) / MOT_DRAW_THREADS }; /* keys a thread, one after the other */
    const int t = threadIdx.x, lane = t & 31;
    int counts[EACH], sum = 0;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        counts[k] = EACH * t + k < MOT_KEYS ? count[EACH * t + k] : 0;
        sum += counts[k];
    }
    MOT_ROLLED
    for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(0xFFFFFFFFu, sum, step);
        sum += lane >= step ? other : 0;
    }
    __shared__ int warps[MOT_DRAW_THREADS / 32];
    if (lane == 31)
        warps[t / 32] = sum;
    __syncthreads();
    MOT_ROLLED
    for (int w = 0; w < t / 32; w++)
        sum += warps[w];
    if (t == MOT_DRAW_THREADS - 1)
        first[MOT_KEYS] = sum;
#pragma unroll
    for (int k = EACH - 1; k >= 0; k--) {
        sum -= counts[k];
        if (EACH * t + k < MOT_KEYS)
            first[EACH * t + k] = sum;
    }
    __syncthreads();
}

/* The image kernel's entry for a sample; a sample whose steps change nothing has no steps. */
static __device__ mot_cuda_turn turn_of(int sample, int steps, int key)
{
    return mot_cuda_turn{ sample, key % (MOT_OP_COUNT + 1) == MOT_OP_COUNT ? 0 : steps };
}

/* Run by the last CTA of several: puts every sample into its place. */
static __device__ void sort_samples(const mot_cuda_draw &d, int *first)
{
    for (int k = threadIdx.x; k < MOT_KEYS; k += blockDim.x) {
        first[k] = __ldcg(&d.plan.filled[k]);
        d.plan.filled[k] = 0;
    }
    __syncthreads();
    begin_keys(first, first);
    if (threadIdx.x == 0)
        *d.plan.ticket = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < d.count; i += blockDim.x) {
        const int key = __ldcg(&d.plan.key[i]), at = first[key] + __ldcg(&d.plan.rank[i]);
        d.plan.order[at] = turn_of(i, __ldcg(&d.plan.step_count[i]), key);
    }
}

/* The number of samples that a CTA draws. */
static __host__ __device__ int samples_of_cta(const mot_cuda_draw &d)
{
    return MOT_DRAW_THREADS >> d.threads_log2;
}

/* Shared memory for each warp's program, then for the tables as far as they fit, then for the steps that a CTA draws if
 * they fit as well: while images are being loaded, each access to device memory takes 2 us. The tables are contiguous,
 * levels last. */
struct cta_layout {
    int programs, tables, steps; /* bytes */
};

static cta_layout cta_layout_of(const mot_cuda_draw &d, int programs)
{
    const int64_t small = (const char *)d.tables.level - (const char *)d.tables.phase, all = d.tables_bytes;
    const int64_t steps = (int64_t)samples_of_cta(d) * d.max_steps * (int64_t)sizeof(mot_step);
    cta_layout n = { programs, 0, 0 };
    if (!d.draws)
        return n;
    n.tables = (int)(all <= MOT_DRAW_TABLES ? all : small <= MOT_DRAW_TABLES ? small : 0);
    n.steps = (int)(programs + n.tables + steps <= d.shared_bytes ? steps : 0);
    return n;
}

/* Begins to copy the tables to shared memory, where they are after wait_for_tables. */
static __device__ mot_tables begin_tables(const mot_cuda_draw &d, int bytes, uint64_t *memory)
{
    mot_tables t = d.tables;
    const char *const from = (const char *)t.phase;
    MOT_ROLLED
    for (int i = threadIdx.x; i < bytes / 8; i += MOT_DRAW_THREADS)
        begin_to_copy(&memory[i], (const uint64_t *)from + i);
    if (bytes == 0)
        return t;
    if ((const char *)t.level - from < bytes)
        t.level = (const mot_level_entry *)((char *)memory + ((const char *)t.level - from));
    t.phase = (const mot_table_phase *)memory;
    t.branch = (const mot_table_branch *)((char *)memory + ((const char *)t.branch - from));
    t.step = (const mot_table_step *)((char *)memory + ((const char *)t.step - from));
    return t;
}

/* For the threads of a CTA that draw. */
static __device__ void wait_for_tables()
{
    wait_for_copies();
    wait_at_barrier<MOT_DRAW_THREADS>(1);
}

/* The steps of image `i` in device memory: bands draw the same ones, each into its own, and share those that are
 * given. */
static __device__ mot_step *steps_of(const mot_cuda_draw &d, int i)
{
    return d.plan.steps + (int64_t)(d.draws ? i : mot_sample_at(&d.src, i)) * d.max_steps;
}

/* Copies the steps that a warp has drawn to device memory. */
static __device__ void copy_steps(const mot_step *from, mot_step *to, int steps)
{
#pragma unroll 4
    for (int k = threadIdx.x & 31; k < steps * (int)(sizeof(mot_step) / 8); k += 32)
        ((uint64_t *)to)[k] = ((const uint64_t *)from)[k];
}

/* What is known of a draw before the tables: its sample, and the words of the thread's step if it draws one. */
struct begun_draw {
    mot_drawn_sample of;
    mot_slot slot;
};

/* Of sample `i` (-1: none), an image of the batch's size. */
static __device__ begun_draw begin_draw(const mot_cuda_draw &d, int i, int slot)
{
    begun_draw b = {};
    if (i < 0 || !d.draws)
        return b;
    b.of = mot_cuda_drawn_sample(&d, i);
    if (d.by_step && slot < d.max_steps)
        b.slot = mot_find_slot(&d.tables, &b.of, slot);
    return b;
}

/* Draws the steps of sample `i` (-1: none) into `steps`, with all its threads or with one; call from whole warps.
 * Returns the number of steps. */
static __device__ int draw_steps(const mot_cuda_draw &d, const mot_tables &tables, begun_draw &b, int i, int slot,
                                 mot_step *steps)
{
    if (!d.by_step) {
        const int count = i >= 0 && slot == 0 ? mot_draw_sample(&tables, &b.of, steps) : 0;
        return __shfl_sync(0xFFFFFFFFu, count, (int)(threadIdx.x & 31) - slot);
    }
    const bool applied = i >= 0 && slot < d.max_steps && mot_slot_applies(&tables, &b.of, &b.slot);
    const uint32_t own = 0xFFFFFFFFu >> (32 - (1 << d.threads_log2)); /* the sample's threads within the warp */
    const uint32_t all = __ballot_sync(0xFFFFFFFFu, applied) >> ((threadIdx.x & 31) - slot) & own;
    if (applied)
        mot_draw_step(&tables, b.slot.index, &b.of, b.slot.block, b.slot.words,
                      &steps[__popc(all & ((1u << slot) - 1))]);
    return __popc(all);
}

static __global__ void __launch_bounds__(MOT_DRAW_THREADS)
    draw_kernel(const __grid_constant__ mot_cuda_draw d, const cta_layout layout)
{
    uint64_t *const memory = (uint64_t *)cta_memory;
    __shared__ int last, first[MOT_KEYS + 1];
    const bool alone = gridDim.x == 1; /* the batch is one CTA, which sorts without shared counters */
    for (int k = threadIdx.x; k < MOT_KEYS; k += blockDim.x)
        first[k] = 0;

    /* Draws: the sample's first words while the tables arrive, then its steps. */
    const int samples = samples_of_cta(d), begin = blockIdx.x * samples;
    const int mine = threadIdx.x >> d.threads_log2, i = begin + mine;
    const int slot = threadIdx.x & ((1 << d.threads_log2) - 1);
    const bool any = i < d.count, first_slot = any && slot == 0;
    const mot_tables tables = begin_tables(d, layout.tables, memory);
    let_next_kernel_begin(); /* its first loads are behind those of the tables */
    begun_draw draw = begin_draw(d, any ? i : -1, slot);
    wait_for_tables();
    mot_step *const here = (mot_step *)(memory + layout.tables / 8); /* of this CTA, if they fit */
    mot_step *const steps = layout.steps ? here + mine * d.max_steps : steps_of(d, i);
    int count = d.max_steps;
    if (d.draws)
        count = draw_steps(d, tables, draw, any ? i : -1, slot, steps);
    if (first_slot)
        d.plan.step_count[i] = count;
    __syncwarp();
    if (layout.steps) {
        const int first = (threadIdx.x & ~31) >> d.threads_log2, of_warp = 32 >> d.threads_log2;
        copy_steps(here + first * d.max_steps, steps_of(d, begin + first),
                   min(d.count - begin - first, of_warp) * d.max_steps);
        __syncwarp();
    }

    /* First wave: an image's CTA waits for the sample's mark, not for the order. */
    if (first_slot && i < d.first_wave)
        store_released(&d.plan.ready[i], count + 1);

    /* Keys: the sample's place among those of its cost. One CTA makes the order itself ... */
    int key = 0, rank = 0;
    if (first_slot) {
        key = mot_bucket_of(steps, count, d.op, 1) + (i < d.first_wave ? 0 : MOT_BUCKETS);
        rank = atomicAdd(alone ? &first[key] : &d.plan.filled[key], 1);
    }
    if (alone) {
        __syncthreads();
        begin_keys(first, first);
        if (first_slot)
            d.plan.order[first[key] + rank] = turn_of(i, count, key);
        wait_for_previous_kernel();
        return;
    }

    /* ... of several, the one that takes the last ticket does. */
    if (first_slot) {
        d.plan.key[i] = key;
        d.plan.rank[i] = rank;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        last = add_released_to(d.plan.ticket) == (int)gridDim.x - 1;
        if (last)
            __threadfence();
    }
    __syncthreads();
    if (last)
        sort_samples(d, first);
    wait_for_previous_kernel(); /* what follows relies on that one having ended, too: mot_cuda_draw.overlap */
}

/* Descriptions of a batch's images as kernel arguments: a separate upload would take another launch. */
template <int COUNT> struct few_images {
    motley_image image[COUNT];
};
template <> struct few_images<0> {
};

#define PLAN_WARPS (MOT_DRAW_THREADS / 32)   /* of a plan_kernel's CTA: as many draw, */
#define PLAN_THREADS (MOT_DRAW_THREADS + 32) /* and one more finds their images */

/* Finds the images of a CTA's warps, a lane each, and lets each warp go on that waits in wait_for_image. */
template <int FEW>
static __device__ void find_images(const mot_tiles_job &job, const few_images<FEW> &few, planner_scratch *places)
{
    const int first = blockIdx.x * PLAN_WARPS, found = min(PLAN_WARPS, job.images - first);
    const int mine = threadIdx.x & 31, sample = job.first + first + mine;
    if (mine < found) {
        const motley_image *images = job.src.images;
        if constexpr (FEW > 0) {
            if (sample < job.src.samples)
                ((motley_image *)images)[sample] = few.image[sample];
            images = few.image;
        }
        find_image(job, images, places[mine], first + mine);
    }
    __syncwarp();
    MOT_ROLLED
    for (int w = 0; w < found; w++)
        arrive_at_barrier<64>(2 + w);
}

static __device__ void wait_for_image(int warp)
{
    wait_at_barrier<64>(2 + warp);
}

/* For the tiles route: draws the samples and makes their programs, one warp per sample. FEW: images described by `few`;
 * 0: job.src describes them. */
template <int FEW>
static __global__ void __launch_bounds__(PLAN_THREADS, 1) /* else registers are kept to 64, and spilled */
    plan_kernel(const __grid_constant__ mot_cuda_draw d, const cta_layout layout,
                const __grid_constant__ mot_tiles_job job, const __grid_constant__ few_images<FEW> few)
{
    uint64_t *const memory = (uint64_t *)((char *)cta_memory + layout.programs);
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, i = blockIdx.x * PLAN_WARPS + warp;
    const int sample = job.first + i;
    planner_scratch *const places = (planner_scratch *)cta_memory;
    if (warp == PLAN_WARPS) {
        find_images(job, few, places);
        wait_for_previous_kernel(); /* as at the end of draw_kernel */
        return;
    }
    const mot_tables tables = begin_tables(d, layout.tables, memory);
    begun_draw draw = begin_draw(d, i < job.images ? sample : -1, lane);
    if (i < job.images && job.src.images) {
        const motley_image *images = job.src.images;
        if constexpr (FEW > 0)
            images = few.image;
        const motley_image &image = images[mot_sample_at(&d.src, sample)];
        draw.of.width = image.width, draw.of.height = image.height;
    }
    wait_for_tables();
    let_next_kernel_begin();
    if (i >= job.images)
        return;
    mot_step *const drawn = steps_of(d, sample);
    mot_step *const steps = layout.steps ? (mot_step *)(memory + layout.tables / 8) + warp * d.max_steps : drawn;
    int count = d.max_steps;
    if (d.draws)
        count = draw_steps(d, tables, draw, sample, lane, steps);
    if (lane == 0)
        d.plan.step_count[sample] = count;
    __syncwarp();
    wait_for_image(warp);
    make_programs(job, places[warp], i, steps, count);
    if (layout.steps)
        copy_steps(steps, drawn, d.max_steps);
}

static_assert(sizeof(mot_cuda_draw) + sizeof(cta_layout) + sizeof(mot_tiles_job) <= 4096,
              "a kernel's arguments are at most 4 KiB");
static_assert(sizeof(mot_arg) == 64 && sizeof(mot_step) == 96, "as on the host: policies/draw.c asserts the same");

cudaError_t mot_cuda_draw_prepare(int shared_bytes)
{
    const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
    const void *const planners[] = { (const void *)plan_kernel<0>, (const void *)plan_kernel<MOT_FEW_IMAGES> };
    cudaError_t error = mot_share_memory((const void *)draw_kernel, shared_bytes); /* runs beside images */
    for (int i = 0; i < 2 && error == cudaSuccess; i++)
        error = cudaFuncSetAttribute(planners[i], most, shared_bytes);
    return error;
}

cudaError_t mot_cuda_draw_launch(const mot_cuda_draw *draw, cudaStream_t stream)
{
    const cta_layout layout = cta_layout_of(*draw, 0);
    const int samples = samples_of_cta(*draw);
    return mot_launch((const void *)draw_kernel, (draw->count + samples - 1) / samples, MOT_DRAW_THREADS,
                      (size_t)(layout.tables + layout.steps), draw->overlap, stream, *draw, layout);
}

template <int FEW>
static cudaError_t launch_plan(const mot_cuda_draw &d, const mot_tiles_job &job, const motley_image *images,
                               cudaStream_t stream)
{
    const cta_layout layout = cta_layout_of(d, PLAN_WARPS * (int)sizeof(planner_scratch));
    few_images<FEW> few;
    if constexpr (FEW > 0)
        memcpy(few.image, images, (size_t)job.src.samples * sizeof *images);
    return mot_launch((const void *)plan_kernel<FEW>, (job.images + PLAN_WARPS - 1) / PLAN_WARPS, PLAN_THREADS,
                      (size_t)(layout.programs + layout.tables + layout.steps), d.overlap, stream, d, layout, job, few);
}

cudaError_t mot_cuda_plan_launch(const mot_cuda_draw *draw, const mot_tiles_job *job, const motley_image *images,
                                 cudaStream_t stream)
{
    mot_cuda_draw d = *draw;
    d.threads_log2 = 5;
    d.overlap = draw->overlap && job->first == 0; /* later images' programs need the memory of those before */
    return images ? launch_plan<MOT_FEW_IMAGES>(d, *job, images, stream) : launch_plan<0>(d, *job, images, stream);
}

/* Words that fit into a kernel's arguments beside the other fields: 32,764 bytes with toolkits that support that many,
 * else 4,096. */
#if CUDART_VERSION >= 12010
#define SEND_WORDS 8160
#else
#define SEND_WORDS 960
#endif
#define SEND_FEW_WORDS 480 /* of the kernel for short uploads, whose launch copies fewer arguments */

template <int WORDS> struct inline_upload {
    uint32_t *to;
    uint32_t words;
    uint32_t word[WORDS];
};

template <int WORDS> static __global__ void send_kernel(const __grid_constant__ inline_upload<WORDS> upload)
{
    let_next_kernel_begin();
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < upload.words; i += gridDim.x * blockDim.x)
        upload.to[i] = upload.word[i];
}

template <int WORDS> static cudaError_t send(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    inline_upload<WORDS> upload;
    upload.to = (uint32_t *)to;
    upload.words = (uint32_t)(bytes / sizeof(uint32_t));
    memcpy(upload.word, from, bytes);
    /* threads of a warp read their arguments one after the other, so each multiprocessor reads a few */
    return mot_launch((const void *)send_kernel<WORDS>, (upload.words + 511) / 512, 256, 0, 0, stream, upload);
}

cudaError_t mot_cuda_send(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    for (size_t at = 0; at < bytes;) {
        const size_t most = sizeof(uint32_t) * SEND_WORDS, left = bytes - at, now = left < most ? left : most;
        char *const out = (char *)to + at;
        const char *const in = (const char *)from + at;
        const cudaError_t error = now <= sizeof(uint32_t) * SEND_FEW_WORDS ? send<SEND_FEW_WORDS>(out, in, now, stream)
                                                                           : send<SEND_WORDS>(out, in, now, stream);
        if (error != cudaSuccess)
            return error;
        at += now;
    }
    return cudaSuccess;
}
