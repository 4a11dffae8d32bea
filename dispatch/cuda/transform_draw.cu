/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a transform on the device, one CTA per image. One warp draws the rectangle and the window; threads of other
 * warps draw the mirrors, the erased boxes and the steps of each stage. Then all threads make the tables of the image's
 * axes. */
#include "dispatch/cuda/transform_draw.h"
#include "kernels/cuda/overlap.cuh"
#include "kernels/cuda/resize_axes.cuh"
#include "kernels/cuda/tuning.h"
#include "kernels/output.h"
#include "policies/transform_draw.h"

static __device__ mot_drawn_sample sample_of(const mot_transform_draw_job &job, int i)
{
    const mot_view src = view_of(job.resize.src, job.resize.channels, i);
    mot_drawn_sample of = { job.seed, job.sample + i, job.epoch, src.width, src.height, src.channels, job.view };
    if (job.counter)
        of.epoch = (uint32_t)job.counter[0], of.id = job.counter[1] + i;
    if (job.ids)
        of.id = job.ids[i];
    if (job.views)
        of.view = job.views[i];
    return of;
}

/* Stage s: its block, its first step, and the size of the image at that stage. */
struct stage_turn {
    uint32_t block;
    int first_step;
    int32_t width, height;
};

static __device__ stage_turn turn_of(const mot_stage *stage, int s, const mot_drawn_sample &of)
{
    stage_turn t = { 0, 0, of.width, of.height };
    uint32_t same = 0;
    MOT_ROLLED
    for (int i = 0; i < s; i++) {
        same += stage[i].kind == stage[s].kind;
        t.first_step += mot_stage_steps(&stage[i]);
        mot_stage_size(&stage[i], of.width, of.height, &t.width, &t.height);
    }
    t.block = MOT_STAGE_BLOCK(stage[s].kind, same);
    return t;
}

/* When no try fits. Called, since the compiler would move its division before the tries. */
static __device__ __noinline__ void put_middle_crop(const mot_stage *stage, mot_drawn_sample of,
                                                    motley_transform_drawn *drawn)
{
    mot_put_crop(stage, mot_middle_crop(&of, stage->ratio), drawn);
}

/* Called, so that the loop over the stages is short. */
static __device__ __noinline__ void draw_steps(const mot_stage *stage, const mot_tables *tables, mot_drawn_sample of,
                                               stage_turn t, mot_step *steps)
{
    mot_draw_steps(stage, tables, &of, t.block, t.width, t.height, steps + t.first_step);
}

static __device__ __noinline__ void draw_place(const mot_stage *stage, mot_drawn_sample of, stage_turn t,
                                               motley_transform_drawn *drawn)
{
    mot_draw_place(stage, &of, t.block, t.width, t.height, drawn);
}

/* RandomResizedCrop, for a whole warp: lane t makes try t, and the first one that fits is taken. */
static __device__ void draw_crop(const mot_stage *stage, const mot_drawn_sample &of, uint32_t block,
                                 motley_transform_drawn *drawn)
{
    static_assert(MOT_CROP_TRIES <= MOT_CROP_FILTER_BLOCK && MOT_CROP_FILTER_BLOCK < 32, "a lane for each block");
    const int lane = threadIdx.x % 32;
    const mot_words words = mot_words_of(&of, block + (uint32_t)lane);
    mot_rectangle crop;
    const bool fits = mot_try_crop(&of, stage->area, stage->ratios, words, &crop);
    const uint32_t fitting = __ballot_sync(~0u, fits && lane < (int)MOT_CROP_TRIES);
    if (lane == __ffs(fitting) - 1)
        mot_put_crop(stage, crop, drawn);
    if (!fitting && lane == 0)
        put_middle_crop(stage, of, drawn);
    if (lane == (int)MOT_CROP_FILTER_BLOCK)
        drawn->filter = mot_crop_filter(stage, words);
}

/* Which warp draws a stage. Flips and erased boxes depend on no other place; the other places are drawn in sequence.
 * `turn` counts the stages with steps. */
static __device__ int warp_of(const mot_stage *stage, int *turn)
{
    const int others = 3, warps = MOT_TRANSFORM_THREADS / 32;
    if (mot_stage_steps(stage) > 0)
        return others + (*turn)++ % (warps - others);
    return stage->kind == MOT_STAGE_FLIP ? 1 : stage->kind == MOT_STAGE_ERASE ? 2 : 0;
}

/* Each warp draws its stages; only RandomResizedCrop takes more than its first lane. */
static __device__ void draw_stages(const mot_transform_draw_job &job, const mot_stage *stages,
                                   const mot_drawn_sample &of, motley_transform_drawn *drawn, mot_step *steps)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        mot_draw_whole(&of, drawn);
    for (int s = 0, turn = 0; s < job.stages; s++) {
        const mot_stage *const stage = &stages[s];
        if (warp_of(stage, &turn) != warp)
            continue;
        const stage_turn t = turn_of(stages, s, of);
        __syncwarp();
        if (stage->kind == MOT_STAGE_RANDOM_RESIZED_CROP)
            draw_crop(stage, of, t.block, drawn);
        else if (lane == 0 && mot_stage_steps(stage) == 0)
            draw_place(stage, of, t, drawn);
        else if (lane == 0 && job.max_steps > 0)
            draw_steps(stage, &job.table[s], of, t, steps);
    }
}

static __device__ mot_cuda_place place_of(const motley_transform_drawn &d, int order)
{
    mot_cuda_place p;
    p.left = d.crop.left, p.top = d.crop.top;
    p.width = d.crop.width, p.height = d.crop.height;
    p.box[0] = p.box[1] = 0;
    p.box[2] = (float)d.crop.width, p.box[3] = (float)d.crop.height;
    p.resized_width = d.width, p.resized_height = d.height;
    p.window_left = d.left, p.window_top = d.top;
    p.filter = (uint8_t)d.filter, p.order = (uint8_t)order;
    p.flip_horizontal = d.flip_horizontal, p.flip_vertical = d.flip_vertical;
    return p;
}

/* The numbers of the output's bytes, by threads that would wait for the first warp's draws. */
static __device__ void make_values(const mot_transform_draw_job &job, int self, int threads)
{
    MOT_ROLLED
    for (int k = self; k < 256 * job.resize.channels; k += threads)
        job.resize.values[k] =
            mot_output_bits(job.convention, (uint8_t)k, job.resize.dst_dtype, job.mean[k >> 8], job.std[k >> 8]);
}

static __global__ void __launch_bounds__(MOT_TRANSFORM_THREADS, 2)
    transform_draw_kernel(const __grid_constant__ mot_transform_draw_job job)
{
    __shared__ motley_transform_drawn drawn;
    __shared__ uint2 stages[MOT_MAX_STAGES * sizeof(mot_stage) / 8];
    __shared__ uint32_t most[2];
    const int i = blockIdx.x;
    let_next_kernel_begin();
    mot_step *const steps = job.steps + (int64_t)i * job.max_steps;
    const int words = (int)(sizeof drawn / 4), doubles = job.stages * (int)(sizeof(mot_stage) / 8);
    const mot_drawn_sample of = sample_of(job, i);
    if (threadIdx.x < 2)
        most[threadIdx.x] = 1;
    MOT_ROLLED
    for (int k = threadIdx.x; k < words; k += MOT_TRANSFORM_THREADS)
        ((uint32_t *)&drawn)[k] = job.given ? ((const uint32_t *)&job.drawn[i])[k] : 0;
    MOT_ROLLED
    for (int k = threadIdx.x; k < doubles && !job.given; k += MOT_TRANSFORM_THREADS)
        stages[k] = ((const uint2 *)job.stage)[k];
    MOT_ROLLED
    for (int s = threadIdx.x; s < job.max_steps && !job.given; s += MOT_TRANSFORM_THREADS) {
        steps[s] = mot_step{};
        steps[s].arg.flags = MOT_ARG_IDENTITY;
    }
    __syncthreads();
    if (!job.given)
        draw_stages(job, (const mot_stage *)stages, of, &drawn, steps);
    if (i == 0 && threadIdx.x >= 32 && job.resize.dst_dtype != MOTLEY_U8 && !job.resize.by_lines)
        make_values(job, threadIdx.x - 32, MOT_TRANSFORM_THREADS - 32);
    __syncthreads();
    MOT_ROLLED
    for (int k = threadIdx.x; k < words && !job.given; k += MOT_TRANSFORM_THREADS)
        ((uint32_t *)&job.drawn[i])[k] = ((const uint32_t *)&drawn)[k];
    make_axes(job.resize, i, place_of(drawn, job.order), MOT_TRANSFORM_THREADS, most);
}

template <class Job>
static cudaError_t launch(void (*kernel)(Job), const Job *job, int64_t ctas, int threads, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)ctas);
    config.blockDim = dim3((unsigned)threads);
    config.stream = stream;
    Job copy = *job;
    void *arguments[] = { &copy };
    return cudaLaunchKernelExC(&config, (const void *)kernel, arguments);
}

static_assert(sizeof(mot_transform_draw_job) <= 4096, "a kernel's arguments are at most 4 KiB");
static_assert(sizeof(motley_transform_drawn) % 4 == 0, "it is copied by words");
static_assert(sizeof(mot_stage) % 8 == 0 && alignof(mot_stage) == 8, "stages are copied by eight bytes");

cudaError_t mot_transform_draw_launch(const mot_transform_draw_job *job, cudaStream_t stream)
{
    return launch(transform_draw_kernel, job, job->resize.count, MOT_TRANSFORM_THREADS, stream);
}

/* ---- erasing ---- */

static __device__ void put(uint8_t *p, int dtype, uint32_t bits)
{
    if (dtype == MOTLEY_F32)
        *(uint32_t *)p = bits;
    else if (dtype == MOTLEY_U8)
        *p = (uint8_t)bits;
    else
        *(uint16_t *)p = (uint16_t)bits;
}

/* One CTA per image; boxes in sequence, since a later one may cover an earlier one. */
static __global__ void __launch_bounds__(MOT_ERASE_THREADS) erase_kernel(const __grid_constant__ mot_erase_job job)
{
    const motley_transform_drawn &d = job.drawn[blockIdx.x];
    const mot_view dst = view_of(job.dst, job.channels, blockIdx.x);
    for (int b = 0; b < d.boxes_count; b++) {
        const motley_erased_box box = d.boxes[b];
        const int64_t pixels = (int64_t)box.width * box.height;
        for (int64_t i = threadIdx.x; i < pixels; i += MOT_ERASE_THREADS) {
            const int y = (int)(i / box.width), x = (int)(i - (int64_t)y * box.width);
            uint8_t *const p = address(dst, box.left + x, box.top + y);
            for (int c = 0; c < job.channels; c++) {
                uint32_t bits = job.bits[c];
                if (job.values != MOT_ERASE_CONST) {
                    const uint32_t index =
                        job.values == MOT_ERASE_PIXEL ? (uint32_t)(i * job.channels + c) : (uint32_t)c;
                    bits = mot_output_cast(job.normals[mot_noise_cell(d.noise, (uint32_t)b, index)], job.dtype);
                }
                put(p + c * dst.channel, job.dtype, bits);
            }
        }
        __syncthreads();
    }
}

cudaError_t mot_erase_launch(const mot_erase_job *job, cudaStream_t stream)
{
    return launch(erase_kernel, job, job->count, MOT_ERASE_THREADS, stream);
}

/* ---- filling ---- */

#define FILL_CTAS 8 /* of an image */

/* Pixels that a window takes from outside of the resized image. */
static __global__ void __launch_bounds__(MOT_ERASE_THREADS) fill_kernel(const __grid_constant__ mot_fill_job job)
{
    const int image = (int)(blockIdx.x / FILL_CTAS), self = (int)(blockIdx.x % FILL_CTAS);
    const motley_transform_drawn &d = job.drawn[image];
    const mot_view dst = view_of(job.dst, job.channels, image);
    if (d.left >= 0 && d.top >= 0 && d.left + dst.width <= d.width && d.top + dst.height <= d.height)
        return;
    for (int64_t i = self * MOT_ERASE_THREADS + (int)threadIdx.x; i < (int64_t)dst.width * dst.height;
         i += FILL_CTAS * MOT_ERASE_THREADS) {
        const int y = (int)(i / dst.width), x = (int)(i - (int64_t)y * dst.width);
        const int column = d.left + (d.flip_horizontal ? dst.width - 1 - x : x);
        const int row = d.top + (d.flip_vertical ? dst.height - 1 - y : y);
        if (column >= 0 && column < d.width && row >= 0 && row < d.height)
            continue;
        for (int c = 0; c < job.channels; c++)
            address(dst, x, y)[c * dst.channel] = job.fill[c];
    }
}

cudaError_t mot_fill_launch(const mot_fill_job *job, cudaStream_t stream)
{
    return launch(fill_kernel, job, (int64_t)job->count * FILL_CTAS, MOT_ERASE_THREADS, stream);
}
