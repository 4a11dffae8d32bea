/* SPDX-License-Identifier: Apache-2.0 */
/* Draws samples of policies with breaks, a CTA of one thread each, since the threads of a warp would wait for each
 * other's branches; and takes any steps apart, a warp an image. */
#include "dispatch/cuda/parts_draw.h"

#include "augmentations/kernel_blur.h"
#include "augmentations/ops.h"
#include "kernels/cuda/launch.cuh"
#include "policies/transform.h"

#define WARPS 4 /* images of a CTA */

static __device__ mot_drawn_sample sample_to_part(const mot_cuda_draw &d, int i)
{
    mot_drawn_sample of = mot_cuda_drawn_sample(&d, i);
    if (d.src.images)
        of.width = d.src.images[i].width, of.height = d.src.images[i].height;
    return of;
}

static __device__ void put_nothing(mot_step *step)
{
    mot_clear_step(step);
    step->op = MOT_OP_NOTHING;
    step->arg.flags = MOT_ARG_IDENTITY;
}

static __global__ void __launch_bounds__(1, 1) /* else registers are kept to 64, and spilled */
    parts_draw_kernel(const __grid_constant__ mot_cuda_draw d, const mot_tables *tables, int own_steps)
{
    const int i = blockIdx.x;
    const mot_tables t = tables ? *tables : d.tables;
    const mot_drawn_sample of = sample_to_part(d, i);
    mot_step *const steps = d.plan.steps + (int64_t)i * d.max_steps;
    const int count = t.chains ? mot_draw_augmix(&t, &of, steps) : mot_draw_sample(&t, &of, steps);
    if (d.plan.step_count)
        d.plan.step_count[i] = count;
    for (int s = count; s < own_steps; s++)
        put_nothing(&steps[s]);
}

cudaError_t mot_parts_draw_launch(const mot_cuda_draw *draw, const mot_tables *tables, int own_steps,
                                  cudaStream_t stream)
{
    return mot_launch((const void *)parts_draw_kernel, draw->count, 1, 0, 0, stream, *draw, tables, own_steps);
}

static __global__ void fill_numbers_kernel(int32_t *to, int32_t value, size_t count)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = value;
}

cudaError_t mot_cuda_fill(int32_t *to, int32_t value, size_t count, cudaStream_t stream)
{
    return mot_launch((const void *)fill_numbers_kernel, (int64_t)((count + 255) / 256), 256, 0, 0, stream, to, value,
                      count);
}

/* ---- taking apart ---- */

/* The steps of one image, as a warp sees them. */
struct sorter {
    int16_t op[MOT_MAX_TRANSFORM_STEPS];    /* MOT_OP_COUNT: the step changes nothing */
    int16_t place[MOT_MAX_TRANSFORM_STEPS]; /* among the ops of its part, or one of these: */
    int16_t part[MOT_MAX_TRANSFORM_STEPS];  /* -1: the step is in no part */
};
enum { AFTER = -1, POOLED = -2 }; /* the break after its part, which works on one image, on a clip */

/* Finds the part of each step, and the turns of the mixing. One thread. */
static __device__ void sort_steps(const mot_parts_job &job, sorter &s, const mot_step *steps, mot_mix_turn *turn)
{
    int mixed = job.max_steps, part = 0, place = 0, chain = 0, turns = 0;
    while (mixed > 0 && !mot_step_mixes(s.op[mixed - 1]))
        mixed--;
    bool any = false; /* the chain has a step */
    const int tail = job.chains * (job.chain_breaks + 1);
    if (mixed == 0)
        part = tail;
    for (int k = 0; k < job.max_steps; k++) {
        const int op = s.op[k];
        s.part[k] = -1;
        if (op == MOT_OP_COUNT)
            continue;
        if (mot_step_mixes(op)) {
            turn[turns++] = mot_mix_turn{ op, any ? chain : -1, (float)steps[k].value };
            chain += any;
            any = false;
            part = k + 1 < mixed ? chain * (job.chain_breaks + 1) : tail;
            place = 0;
            continue;
        }
        any = true;
        s.part[k] = (int16_t)part;
        if (mot_break_of(op))
            s.place[k] = AFTER;
        else if (job.clip_frames > 1 && mot_op_pools(op))
            s.place[k] = POOLED;
        else
            s.place[k] = (int16_t)place++;
        if (s.place[k] < 0)
            part++, place = 0;
    }
    for (; turns < job.turns; turns++)
        turn[turns].op = 0;
}

static __device__ void copy_step(const mot_step *from, mot_step *to, int lane)
{
    for (int w = lane; w < (int)(sizeof *to / 4); w += 32)
        ((uint32_t *)to)[w] = ((const uint32_t *)from)[w];
}

/* mot_kernel_blur_weights of a step, by a warp. */
static __device__ void put_weights(mot_step *to, double sigma, int size, float value[MOTLEY_MAX_KERNEL], int lane)
{
    if (lane < size)
        value[lane] = mot_kernel_blur_value(sigma, size, lane);
    __syncwarp();
    const float sum = mot_kernel_blur_sum(value, size);
    if (lane < MOTLEY_KERNEL_WEIGHTS)
        to->arg.u[lane] = lane <= size / 2 ? __float_as_uint(value[size / 2 + lane] / sum) : 0;
    __syncwarp();
}

static __global__ void __launch_bounds__(32 * WARPS) parts_kernel(const __grid_constant__ mot_parts_job job)
{
    __shared__ sorter sorters[WARPS];
    __shared__ float values[WARPS][MOTLEY_MAX_KERNEL];
    const int lane = threadIdx.x % 32, i = blockIdx.x * WARPS + threadIdx.x / 32;
    if (i >= job.count)
        return;
    sorter &s = sorters[threadIdx.x / 32];
    const mot_step *const steps = job.steps + (int64_t)i * job.max_steps;
    for (int k = lane; k < job.max_steps; k += 32)
        s.op[k] = (int16_t)(steps[k].arg.flags & MOT_ARG_IDENTITY ? MOT_OP_COUNT : steps[k].op);
    const int parts = job.chains * (job.chain_breaks + 1) + job.breaks + 1;
    for (int k = lane; k < parts * (job.most + 1); k += 32) {
        const int part = k / (job.most + 1), place = k - part * (job.most + 1);
        const int64_t of = (int64_t)part * job.count + i;
        put_nothing(place < job.most ? &job.part[of * job.most + place] : &job.after[of]);
    }
    const bool begins_clip = job.clip_frames > 1 && i % job.clip_frames == 0;
    mot_step *const pooled = begins_clip ? job.pooled + i / job.clip_frames : NULL; /* of the first part */
    const int64_t clips = begins_clip ? job.count / job.clip_frames : 0;
    for (int part = lane; part < parts && pooled; part += 32)
        put_nothing(&pooled[part * clips]);
    __syncwarp();
    if (lane == 0)
        sort_steps(job, s, steps, job.turn + (int64_t)i * job.turns);
    __syncwarp();
    for (int k = 0; k < job.max_steps; k++) {
        if (s.part[k] < 0)
            continue;
        const int64_t of = (int64_t)s.part[k] * job.count + i;
        if (s.place[k] == POOLED) {
            if (pooled)
                copy_step(&steps[k], &pooled[s.part[k] * clips], lane);
            continue;
        }
        mot_step *const to = s.place[k] == AFTER ? &job.after[of] : &job.part[of * job.most + s.place[k]];
        copy_step(&steps[k], to, lane);
        __syncwarp();
        if (s.op[k] == MOTLEY_STEP_KERNEL_BLUR && !job.given)
            put_weights(to, steps[k].value, (int)steps[k].arg.size, values[threadIdx.x / 32], lane);
    }
}

cudaError_t mot_parts_launch(const mot_parts_job *job, cudaStream_t stream)
{
    return mot_launch((const void *)parts_kernel, (job->count + WARPS - 1) / WARPS, 32 * WARPS, 0, 0, stream, *job);
}
