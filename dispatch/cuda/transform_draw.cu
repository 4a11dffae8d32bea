/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a transform on the device, one CTA per image. One warp draws the rectangle and the window, and mirrors that
 * follow a random_resized_crop; threads of other warps draw other mirrors, the erased boxes and the steps of each
 * stage. Places that depend on each other are joined by one thread, and all threads try crops by boxes. Then all
 * threads make the tables of the image's axes. The boxes that are erased get their values in a kernel of their own. */
#include "dispatch/cuda/transform_draw.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/resize_axes.cuh"
#include "kernels/cuda/tuning.h"
#include "kernels/output.h"
#include "policies/overlap_draw.h"

static __device__ mot_drawn_sample sample_to_transform(const mot_transform_draw_job &job, int i)
{
    const mot_view src = image_of(job.resize.src, job.resize.channels, i);
    return mot_cuda_sample_of(&job.samples, i, src.width, src.height, src.channels);
}

/* When no try fits. Called, since the compiler would move its division before the tries. */
static __device__ __noinline__ void put_middle_crop(const mot_stage *stage, mot_drawn_sample of, motley_place *drawn)
{
    mot_put_crop(stage, mot_middle_crop(&of, stage->of.crop.ratio), drawn);
}

/* What a lane begins to draw: a try of RandomResizedCrop, its filter, or the mirrors. */
struct begun_crop {
    mot_words words;
    double ratio;
};

#define FLIP_LANE 31

/* For a whole warp: what takes time, before the stages are in shared memory. Lane t begins try t. */
static __device__ begun_crop begin_crop(const mot_transform_draw_job &job, const mot_drawn_sample &of)
{
    static_assert(MOT_CROP_TRIES <= MOT_CROP_FILTER_BLOCK && MOT_CROP_FILTER_BLOCK < FLIP_LANE,
                  "a lane for each block");
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t block = lane == FLIP_LANE ? job.turn[job.flip].block : job.turn[0].block + lane;
    begun_crop begun;
    begun.words = mot_words_of(&of, block);
    begun.ratio = mot_draw_ratio(job.ratios, begun.words);
    return begun;
}

/* RandomResizedCrop, for a whole warp: the first try that fits is taken. `flip`: a stage, or NULL. */
static __device__ void draw_crop(const mot_stage *stage, const mot_stage *flip, const mot_drawn_sample &of,
                                 const begun_crop &begun, motley_place *drawn)
{
    const int lane = threadIdx.x % 32;
    mot_rectangle crop;
    const bool fits = mot_try_crop(&of, stage->of.crop.area, begun.ratio, begun.words, &crop);
    const uint32_t fitting = __ballot_sync(~0u, fits && lane < (int)MOT_CROP_TRIES);
    if (lane == __ffs(fitting) - 1)
        mot_put_crop(stage, crop, drawn);
    if (!fitting && lane == 0)
        put_middle_crop(stage, of, drawn);
    if (lane == (int)MOT_CROP_FILTER_BLOCK)
        drawn->filter = mot_crop_filter(stage, begun.words);
    if (lane == FLIP_LANE && flip)
        mot_put_flip(flip, begun.words, drawn);
}

/* Finds the crop of the try that ends a search, in shared memory, or NULL. Called by all threads of a CTA, each of
 * which makes every THREADS-th try. */
template <int THREADS> static __device__ const mot_rectangle *find_crop(const mot_search &search)
{
    __shared__ mot_rectangle crop;
    __shared__ uint32_t first;
    if (threadIdx.x == 0)
        first = MOT_OVERLAP_ALL;
    __syncthreads();
    MOT_ROLLED
    for (uint32_t begin = 0; begin < MOT_OVERLAP_ALL; begin += THREADS) {
        const uint32_t turn = begin + threadIdx.x;
        mot_rectangle own;
        const bool ends = turn < MOT_OVERLAP_ALL && mot_search_try(&search, turn, &own);
        if (ends)
            atomicMin(&first, turn);
        if (!__syncthreads_or(ends))
            continue;
        if (turn == first)
            crop = own;
        __syncthreads();
        return &crop;
    }
    return NULL;
}

/* Draws the places of an image in turn, as the host does: the first thread, and all threads search crops by boxes. */
template <int THREADS>
static __device__ __noinline__ void draw_places(const mot_transform_draw_job &job, const mot_stage *stages, int i,
                                                motley_place *drawn)
{
    const bool first = threadIdx.x == 0;
    mot_drawn_sample of = sample_to_transform(job, i);
    if (job.samples.given.boxes_on_device)
        mot_sample_give_boxes(&of, &job.samples.given, (size_t)i);
    if (first)
        mot_draw_whole(&of, drawn);
    MOT_ROLLED
    for (int s = 0; s < job.stages; s++) {
        const mot_stage *const stage = &stages[s];
        const uint32_t block = job.turn[s].block;
        const bool by_boxes = stage->kind == MOT_STAGE_IOU_CROP;
        if (!job.turn[s].places || !(first || by_boxes) || !mot_stage_runs(stage, &of))
            continue;
        mot_search search;
        bool searches = false;
        const mot_rectangle *crop = NULL;
        if (by_boxes) {
            __syncthreads();
            searches = mot_begin_search(&stage->of.overlap, &of, block, drawn, &search);
            crop = searches ? find_crop<THREADS>(search) : NULL;
            __syncthreads(); /* all have read `drawn` */
        }
        if (!first)
            continue;
        mot_drawn_sample here = of;
        motley_place own = {};
        here.width = drawn->result_width, here.height = drawn->result_height;
        own.filter = drawn->filter;
        mot_draw_whole(&here, &own);
        mot_draw_own_place(stage, &here, block, &own);
        if (searches)
            mot_put_overlap(crop, &own);
        mot_add_place(stage, &own, of.width, of.height, drawn);
    }
}

/* Draws stage s by one thread. Called, so that the usual path is short. */
static __device__ __noinline__ void draw_stage(const mot_stage *stages, int s, mot_stage_turn turn, mot_drawn_sample of,
                                               const mot_tables *tables, motley_place *drawn, mot_step *steps)
{
    int32_t width = of.width, height = of.height;
    if (!mot_stage_runs(&stages[s], &of))
        return;
    MOT_ROLLED
    for (int before = 0; before < s; before++)
        if (mot_stage_runs(&stages[before], &of))
            mot_stage_size(&stages[before], of.width, of.height, &width, &height);
    if (stages[s].steps == 0)
        mot_draw_place(&stages[s], &of, turn.block, width, height, drawn);
    else
        mot_draw_steps(&stages[s], tables, &of, turn.block, width, height, steps);
}

/* Each warp draws its stages. */
static __device__ void draw_stages(const mot_transform_draw_job &job, const mot_stage *stages, int i,
                                   const begun_crop &begun, motley_place *drawn, mot_step *steps)
{
    const int warp = threadIdx.x / 32;
    if (warp == 0) {
        const mot_drawn_sample of = sample_to_transform(job, i);
        if (threadIdx.x == 0 && !job.joined) {
            const mot_view result = image_of(job.resize.dst, job.resize.channels, i);
            mot_draw_whole(&of, drawn);
            drawn->result_width = result.width, drawn->result_height = result.height;
        }
        __syncwarp();
        if (job.ratios)
            draw_crop(&stages[0], job.flip ? &stages[job.flip] : NULL, of, begun, drawn);
    }
    uint32_t left = threadIdx.x % 32 == 0 ? job.own[warp] : 0;
    MOT_ROLLED
    for (; left; left &= left - 1) {
        const int s = __ffs(left) - 1;
        const mot_stage_turn turn = job.turn[s];
        mot_step *const own = turn.before ? job.before + (int64_t)i * job.max_before : steps;
        draw_stage(stages, s, turn, sample_to_transform(job, i), &job.table[s], drawn, own + turn.first_step);
    }
}

template <int THREADS>
static __global__ void __launch_bounds__(THREADS, 1024 / THREADS)
    transform_draw_kernel(const __grid_constant__ mot_transform_draw_job job)
{
    __shared__ motley_place drawn;
    __shared__ uint2 stages[MOT_MAX_STAGES * sizeof(mot_stage) / 8];
    __shared__ uint32_t most[2];
    const int i = blockIdx.x;
    wait_for_previous_kernel();
    let_next_kernel_begin();
    mot_step *const steps = job.steps + (int64_t)i * job.max_steps;
    const int words = (int)(sizeof drawn / 4), doubles = job.given ? 0 : job.stages * (int)(sizeof(mot_stage) / 8);
    uint2 stage_word = {};
    if ((int)threadIdx.x < doubles) /* it takes time to arrive */
        stage_word = ((const uint2 *)job.stage)[threadIdx.x];
    begun_crop begun;
    if (threadIdx.x < 32 && job.ratios)
        begun = begin_crop(job, sample_to_transform(job, i));
    if (threadIdx.x < 2)
        most[threadIdx.x] = 1;
    MOT_ROLLED
    for (int k = threadIdx.x; k < words; k += THREADS)
        ((uint32_t *)&drawn)[k] = job.given ? ((const uint32_t *)&job.drawn[i])[k] : 0;
    MOT_ROLLED
    for (int k = threadIdx.x; k < doubles; k += THREADS)
        stages[k] = k < THREADS ? stage_word : ((const uint2 *)job.stage)[k];
    MOT_ROLLED
    for (int s = threadIdx.x; s < job.max_steps && !job.given; s += THREADS) {
        steps[s] = mot_step{};
        steps[s].arg.flags = MOT_ARG_IDENTITY;
    }
    MOT_ROLLED
    for (int s = threadIdx.x; s < job.max_before && !job.given; s += THREADS) {
        job.before[(int64_t)i * job.max_before + s] = mot_step{};
        job.before[(int64_t)i * job.max_before + s].arg.flags = MOT_ARG_IDENTITY;
    }
    __syncthreads();
    if (!job.given)
        draw_stages(job, (const mot_stage *)stages, i, begun, &drawn, steps);
    if (!job.given && job.joined) /* its first thread begins while other warps draw steps */
        draw_places<THREADS>(job, (const mot_stage *)stages, i, &drawn);
    __syncthreads();
    MOT_ROLLED
    for (int k = threadIdx.x; k < words && !job.given; k += THREADS)
        ((uint32_t *)&job.drawn[i])[k] = ((const uint32_t *)&drawn)[k];
    if (job.resize.axes) /* else others make theirs */
        make_axes(job.resize, i, mot_resize_of_place(&drawn, (motley_resize_order)job.order, job.fill), THREADS, most);
}

static_assert(sizeof(mot_transform_draw_job) <= 4096, "a kernel's arguments are at most 4 KiB");
static_assert(sizeof(motley_place) % 4 == 0, "it is copied by words");
static_assert(sizeof(mot_stage) % 8 == 0 && alignof(mot_stage) == 8, "stages are copied by eight bytes");

cudaError_t mot_transform_draw_launch(const mot_transform_draw_job *job, int overlap, cudaStream_t stream)
{
    const void *const kernel = job->threads == MOT_TRANSFORM_THREADS
                                   ? (const void *)transform_draw_kernel<MOT_TRANSFORM_THREADS>
                                   : (const void *)transform_draw_kernel<MOT_TRANSFORM_FEW_THREADS>;
    return mot_launch(kernel, job->resize.count, job->threads, 0, overlap, stream, *job);
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
    const motley_place &d = job.drawn[blockIdx.x];
    const mot_view dst = image_of(job.dst, job.channels, blockIdx.x);
    for (int b = 0; b < d.boxes_count; b++) {
        const motley_erased_box box = d.boxes[b];
        const int64_t pixels = (int64_t)box.width * box.height;
        for (int64_t i = threadIdx.x; i < pixels; i += MOT_ERASE_THREADS) {
            const int y = (int)(i / box.width), x = (int)(i - (int64_t)y * box.width);
            uint8_t *const p = address(dst, box.left + x, box.top + y);
            for (int c = 0; c < job.channels; c++) {
                uint32_t bits = job.bits[c < 4 ? c : 0];
                if (job.values != MOT_ERASE_CONST) {
                    const uint32_t index = (uint32_t)((job.values == MOT_ERASE_PIXEL ? i * job.channels : 0) + c);
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
    return mot_launch((const void *)erase_kernel, job->count, MOT_ERASE_THREADS, 0, 0, stream, *job);
}
