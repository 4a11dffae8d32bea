/* SPDX-License-Identifier: Apache-2.0 */
/* Draw and dispatch on the device: each thread draws one sample, then a counting sort groups the samples into
 * sub-batches, heavy ones first. Nothing is read back by the host. */
#include "dispatch/plan_cuda.h"
#include "policies/draw.h"

#include "motley/op.h"

#define DRAW_THREADS 64

/* Costs by shape, in rough proportion to time; only their order matters. */
__host__ __device__ static int cost_of(int op)
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

/* Buckets: spatial ops 3 and more, 2, 1, 0; in each, ops from costly to cheap, and last the samples without steps. */
__host__ __device__ static int bucket_of(int op, int spatial)
{
    int heavier = 0; /* ops before this one */
    for (int other = 0; other < MOT_OP_COUNT; other++)
        heavier += op < 0 || cost_of(other) > cost_of(op) || (cost_of(other) == cost_of(op) && other < op);
    return (3 - (spatial < 3 ? spatial : 3)) * (MOT_OP_COUNT + 1) + heavier;
}

int mot_cuda_bucket_op(int i)
{
    for (int op = 0; op < MOT_OP_COUNT; op++)
        if (bucket_of(op, 3) == i % (MOT_OP_COUNT + 1))
            return op;
    return -1;
}

int mot_cuda_bucket_spatial(int i)
{
    return 3 - i / (MOT_OP_COUNT + 1);
}

static __device__ int find_bucket(const mot_step *steps, int count)
{
    int op = -1, spatial = 0;
    for (int s = 0; s < count; s++) {
        if (steps[s].arg.flags & MOT_ARG_IDENTITY)
            continue;
        spatial += is_spatial(steps[s].op);
        if (op < 0 || cost_of(steps[s].op) > cost_of(op))
            op = steps[s].op;
    }
    return bucket_of(op, spatial);
}

/* The last CTA: where each bucket begins, and every sample to its place. */
static __device__ void sort_samples(const mot_cuda_draw &d)
{
    __shared__ int first[MOT_BUCKETS + 1];
    if (threadIdx.x == 0) {
        int at = 0;
        for (int b = 0; b < MOT_BUCKETS; b++) {
            first[b] = at;
            at += __ldcg(&d.plan.filled[b]);
        }
        first[MOT_BUCKETS] = at;
        *d.plan.ticket = 0;
    }
    __syncthreads();
    for (int b = threadIdx.x; b <= MOT_BUCKETS; b += blockDim.x) {
        d.plan.first[b] = first[b];
        if (b < MOT_BUCKETS)
            d.plan.filled[b] = 0;
    }
    for (int i = threadIdx.x; i < d.count; i += blockDim.x)
        d.plan.order[first[__ldcg(&d.plan.bucket[i])] + __ldcg(&d.plan.rank[i])] = i;
}

static __global__ void __launch_bounds__(DRAW_THREADS) draw_kernel(const __grid_constant__ mot_cuda_draw d)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < d.count) {
        mot_step *const steps = d.plan.steps + (int64_t)i * d.max_steps;
        int count = 1;
        if (d.draws) {
            const uint32_t epoch = d.counter ? (uint32_t)d.counter[0] : d.epoch;
            const uint64_t first = d.counter ? d.counter[1] : d.sample;
            const int width = d.src.images ? d.src.images[i].width : d.src.width;
            const int height = d.src.images ? d.src.images[i].height : d.src.height;
            count = mot_draw_sample(&d.tables, d.seed, epoch, d.ids ? d.ids[i] : first + i, width, height, d.channels,
                                    steps);
        }
        const int bucket = find_bucket(steps, count);
        d.plan.step_count[i] = count;
        d.plan.bucket[i] = bucket;
        d.plan.rank[i] = atomicAdd(&d.plan.filled[bucket], 1);
    }
    __shared__ int last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(d.plan.ticket, 1) == (int)gridDim.x - 1;
    __syncthreads();
    if (last) {
        __threadfence();
        sort_samples(d);
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
