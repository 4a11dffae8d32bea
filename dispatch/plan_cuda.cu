/* SPDX-License-Identifier: Apache-2.0 */
/* Draw and dispatch on the device: each thread draws one sample, then a counting sort groups the samples into
 * sub-batches, heavy ones first. Nothing is read back by the host. */
#include "dispatch/plan_cuda.h"
#include "policies/draw.h"

#include "motley/op.h"

#define DRAW_THREADS 256
#define TABLE_BYTES 16384 /* of phases, branches and steps that are drawn from in shared memory */

/* Costs by shape, in rough proportion to time; only their order matters. */
static __host__ __device__ int cost_of(int op)
{
#define MOT_COST_STATS 4
#define MOT_COST_POINT 2
#define MOT_COST_COLOR 3
#define MOT_COST_WARP 5
#define MOT_COST_STENCIL 6
#define MOT_COST_BLUR 7
#define MOT_COST_ERASE 1
#define MOT_COST_OF(shape, ID, stem) \
    case MOT_OP_##ID: \
        return MOT_COST_##shape;
    switch (op) {
        MOT_OPS(MOT_COST_OF)
    default:
        return 0;
    }
}

static __device__ int is_spatial(int op)
{
    const int cost = cost_of(op);
    return cost == MOT_COST_WARP || cost == MOT_COST_STENCIL || cost == MOT_COST_BLUR;
}

/* An op's place among the ops ordered from costly to cheap; the place after the last is for none. */
static int place_of(int op)
{
    int heavier = 0;
    for (int other = 0; other < MOT_OP_COUNT; other++)
        heavier += cost_of(other) > cost_of(op) || (cost_of(other) == cost_of(op) && other < op);
    return heavier;
}

void mot_cuda_places(uint8_t place[MOT_OP_COUNT])
{
    for (int op = 0; op < MOT_OP_COUNT; op++)
        place[op] = (uint8_t)place_of(op);
}

/* Buckets: spatial ops 3 and more, 2, 1, 0; in each, ops from costly to cheap, and last the samples without steps. */
static __device__ int find_bucket(const mot_step *steps, int count, const uint8_t *places)
{
    int place = MOT_OP_COUNT, spatial = 0;
    for (int s = 0; s < count; s++) {
        const int op = steps[s].op;
        if (steps[s].arg.flags & MOT_ARG_IDENTITY)
            continue;
        spatial += is_spatial(op);
        place = min(place, (int)places[op]);
    }
    return (3 - min(spatial, 3)) * (MOT_OP_COUNT + 1) + place;
}

/* Turns how many samples each bucket has into where it begins; a thread per bucket. Returns the thread's own. */
static __device__ int begin_buckets(int *first, int own)
{
    static_assert(MOT_BUCKETS < DRAW_THREADS, "a thread per bucket");
    const int b = threadIdx.x, lane = b & 31;
    int sum = own;
    for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(0xFFFFFFFFu, sum, step);
        sum += lane >= step ? other : 0;
    }
    __shared__ int warps[DRAW_THREADS / 32];
    if (lane == 31)
        warps[b / 32] = sum;
    __syncthreads();
    for (int w = 0; w < b / 32; w++)
        sum += warps[w];
    first[b] = sum - own;
    __syncthreads();
    return first[b];
}

/* What the image kernel is told: a sample whose steps change nothing has none. */
static __device__ mot_cuda_turn turn_of(int sample, int steps, int bucket)
{
    return mot_cuda_turn{ sample, bucket % (MOT_OP_COUNT + 1) == MOT_OP_COUNT ? 0 : steps };
}

/* The last CTA of several: every sample to its place. */
static __device__ void sort_samples(const mot_cuda_draw &d, int *first)
{
    const int b = threadIdx.x, own = b < MOT_BUCKETS ? __ldcg(&d.plan.filled[b]) : 0;
    const int begin = begin_buckets(first, own);
    if (b <= MOT_BUCKETS)
        d.plan.first[b] = begin;
    if (b < MOT_BUCKETS)
        d.plan.filled[b] = 0;
    if (b == 0)
        *d.plan.ticket = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < d.count; i += blockDim.x) {
        const int bucket = __ldcg(&d.plan.bucket[i]), at = first[bucket] + __ldcg(&d.plan.rank[i]);
        d.plan.order[at] = turn_of(i, __ldcg(&d.plan.step_count[i]), bucket);
    }
}

/* Brings the small tables into shared memory, where a draw's searches are short; they lie one after the other. */
static __device__ mot_tables near_tables(const mot_cuda_draw &d, uint32_t *memory)
{
    mot_tables t = d.tables;
    const char *const from = (const char *)t.phase;
    const int64_t bytes = (const char *)t.level - from;
    if (bytes > TABLE_BYTES)
        return t;
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
        memory[i] = ((const uint32_t *)from)[i];
    t.phase = (const mot_table_phase *)memory;
    t.branch = (const mot_table_branch *)((char *)memory + ((const char *)t.branch - from));
    t.step = (const mot_table_step *)((char *)memory + ((const char *)t.step - from));
    return t;
}

static __global__ void __launch_bounds__(DRAW_THREADS) draw_kernel(const __grid_constant__ mot_cuda_draw d)
{
    __shared__ uint64_t memory[TABLE_BYTES / 8];
    __shared__ int last, first[DRAW_THREADS];
    const bool alone = gridDim.x == 1; /* the batch is one CTA: it sorts without the others' counters */
    int bucket = 0, rank = 0, steps_here = 0;
    first[threadIdx.x] = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
    const mot_tables tables = d.draws ? near_tables(d, (uint32_t *)memory) : d.tables;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < d.count) {
        mot_step *const steps = d.plan.steps + (int64_t)i * d.max_steps;
        int count = d.max_steps;
        if (d.draws) {
            const uint32_t epoch = d.counter ? (uint32_t)d.counter[0] : d.epoch;
            const uint64_t first = d.counter ? d.counter[1] : d.sample;
            const int width = d.src.images ? d.src.images[i].width : d.src.width;
            const int height = d.src.images ? d.src.images[i].height : d.src.height;
            count = mot_draw_sample(&tables, d.seed, epoch, d.ids ? d.ids[i] : first + i, width, height, d.channels,
                                    steps);
        }
        bucket = find_bucket(steps, count, d.place);
        steps_here = count;
        d.plan.step_count[i] = count;
        if (alone) {
            rank = atomicAdd(&first[bucket], 1);
        } else {
            d.plan.bucket[i] = bucket;
            d.plan.rank[i] = atomicAdd(&d.plan.filled[bucket], 1);
        }
    }
    if (alone) {
        __syncthreads();
        const int begin = begin_buckets(first, first[threadIdx.x]);
        if (threadIdx.x <= MOT_BUCKETS)
            d.plan.first[threadIdx.x] = begin;
        if (i < d.count)
            d.plan.order[first[bucket] + rank] = turn_of(i, steps_here, bucket);
        return;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(d.plan.ticket, 1) == (int)gridDim.x - 1;
    __syncthreads();
    if (last) {
        __threadfence();
        sort_samples(d, first);
    }
}

cudaError_t mot_cuda_draw_launch(const mot_cuda_draw *draw, cudaStream_t stream)
{
    draw_kernel<<<(unsigned)(draw->count + DRAW_THREADS - 1) / DRAW_THREADS, DRAW_THREADS, 0, stream>>>(*draw);
    return cudaGetLastError();
}

#define SEND_WORDS 960

struct letter {
    uint32_t *to;
    uint32_t words;
    uint32_t word[SEND_WORDS];
};

static __global__ void send_kernel(const __grid_constant__ letter l)
{
    for (uint32_t i = threadIdx.x; i < l.words; i += blockDim.x)
        l.to[i] = l.word[i];
}

cudaError_t mot_cuda_send(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint32_t) * SEND_WORDS) {
        letter l;
        const size_t left = bytes - at, here = left < sizeof l.word ? left : sizeof l.word;
        l.to = (uint32_t *)((char *)to + at);
        l.words = (uint32_t)(here / sizeof(uint32_t));
        memcpy(l.word, (const char *)from + at, here);
        send_kernel<<<1, 256, 0, stream>>>(l);
        const cudaError_t error = cudaGetLastError();
        if (error != cudaSuccess)
            return error;
    }
    return cudaSuccess;
}
