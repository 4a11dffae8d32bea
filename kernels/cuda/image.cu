/* SPDX-License-Identifier: Apache-2.0 */
/* The image kernel: a group of CTAs takes one sample and runs its steps, pass by pass. */
#include "kernels/cuda/engine.cuh"

/* Copies up to MOT_WINDOW steps from `at` on into shared memory; every thread calls it. */
DEVICE int read_steps(engine &e, const mot_step *steps, int at, int count)
{
    const int here = min(count - at, MOT_WINDOW), words = here * (int)(sizeof(mot_step) / 4);
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        ((uint32_t *)e.step)[i] = ((const uint32_t *)(steps + at))[i];
    __syncthreads();
    return here;
}

DEVICE bool is_spatial(int op)
{
    return shape_of(op) == MOTLEY_SHAPE_WARP || shape_of(op) == MOTLEY_SHAPE_STENCIL;
}

/* The step of the window that the pass can read the image for at once: its spatial op, unless statistics of the image
 * come first, or a blur. -1: the image's own part. */
DEVICE int leading_spatial(const engine &e, int steps)
{
    for (int s = 0; s < steps; s++) {
        const int shape = shape_of(e.step[s].op);
        if (is_spatial(e.step[s].op) && !(e.step[s].arg.flags & MOT_ARG_IDENTITY))
            return s;
        if (shape == MOTLEY_SHAPE_STATS || shape == MOTLEY_SHAPE_BLUR)
            return -1;
    }
    return -1;
}

/* One pass: takes steps of the window until one does not fit any more; returns how many. */
template <int FORMAT>
DEVICE int take_steps(engine &e, pass_state &p, int steps, const mot_view &src, uint8_t *memory, int bytes_most,
                      uint32_t (*total)[256])
{
    const int colors = colors_of<FORMAT>(src.channels), leading = leading_spatial(e, steps);
    bool spatial_taken = false;
    if (leading >= 0)
        begin_spatial<FORMAT>(e, p, &e.step[leading], src, memory, bytes_most);
    else
        load_slab<FORMAT>(e, p, src, memory);
    int at = 0;
    for (; at < steps; at++) {
        const mot_step *const step = &e.step[at];
        if (step->arg.flags & MOT_ARG_IDENTITY)
            continue;
        const int shape = shape_of(step->op);
        if (is_spatial(step->op)) {
            if (spatial_taken)
                break;
            spatial_taken = true;
            if (at != leading) { /* statistics came first */
                __syncthreads();
                begin_spatial<FORMAT>(e, p, step, src, memory, bytes_most);
            }
            end_spatial<FORMAT>(e, p, src);
            continue;
        }
        if (shape == MOTLEY_SHAPE_BLUR || !chain_takes(p.chain, shape == MOTLEY_SHAPE_COLOR   ? CHAIN_COLOR
                                                                : shape == MOTLEY_SHAPE_ERASE ? CHAIN_ERASE
                                                                                              : CHAIN_TABLE))
            break;
        if (shape == MOTLEY_SHAPE_POINT) {
            chain_point(e.work, p.chain, step->op, &step->arg);
        } else if (shape == MOTLEY_SHAPE_STATS) {
            const int needs = needs_of(step->op);
            box_wait(p.pending, e.load, p.turn);
            p.pending = false;
            source_is_free(p);
            count_tile<FORMAT>(e, p, src, needs);
            count_group(e, total, needs);
            finish_stats(e, total, needs, src.width, src.height);
            chain_stats(e.work, p.chain, step->op, e.stats, colors, &step->arg);
            __syncthreads(); /* e.stats and total may be made anew */
        } else if (shape == MOTLEY_SHAPE_COLOR) {
            chain_append(e.work, p.chain, CHAIN_COLOR, step, mot_rect{ 0, 0, 0, 0 }, 0);
        } else {
            chain_append(e.work, p.chain, CHAIN_ERASE, step, mot_erase_rect(step->op, src.width, src.height, &step->arg),
                         fill_word(*step));
        }
    }
    if (leading >= at) { /* the spatial op that the box was loaded for did not get its turn: the chain was full */
        box_wait(p.pending, e.load, p.turn);
        load_slab<FORMAT>(e, p, src, memory);
    }
    box_wait(p.pending, e.load, p.turn);
    p.pending = false;
    source_is_free(p);
    return at;
}

template <int FORMAT> __global__ void __launch_bounds__(256, 4) image_kernel(const __grid_constant__ mot_cuda_job job)
{
    extern __shared__ uint4 dynamic[]; /* the box; a part for each warp to gather what it writes; the output's table */
    __shared__ engine e;
    uint8_t *const memory = (uint8_t *)dynamic;
    uint32_t *const stages = (uint32_t *)(memory + job.box_bytes);
    uint32_t *const stage = stages + (threadIdx.x / 32) * (MOT_STAGE_BYTES / 4);
    uint32_t(*const total)[256] = (uint32_t(*)[256])stages; /* never at the same time */
    uint32_t(*const table)[256] = (uint32_t(*)[256])(memory + job.box_bytes + job.stage_bytes);

    const int sample = job.order[blockIdx.x / group_size()];
    const mot_step *const steps = job.steps + (int64_t)sample * job.max_steps;
    mot_view src = view_of(job.src, job.channels, sample);
    const mot_view work = view_of(job.work, job.channels, sample);
    int count = job.step_count[sample], at = 0;
    if (count == 0 && job.plain && src.data == work.data)
        return;
    arrival_make(e.load);
    if (!job.plain)
        for (int i = threadIdx.x; i < job.channels * 256; i += blockDim.x)
            table[i >> 8][i & 255] =
                mot_output_bits((uint8_t)i, job.output_dtype, job.mean[i >> 8], job.std[i >> 8]);

    const bool strided_work = FORMAT != MOT_FORMAT_STRIDED && job.work_strided;
    pass_state p = {};
    bool last;
    do {
        const int here = read_steps(e, steps, at, count);
        int skip = 0;
        while (skip < here && (e.step[skip].arg.flags & MOT_ARG_IDENTITY))
            skip++;
        if (skip < here && shape_of(e.step[skip].op) == MOTLEY_SHAPE_BLUR) {
            blur_lines<FORMAT>(e.step[skip], src, p.strided, work, (uint32_t *)memory, job.box_bytes / 4, true);
            group_sync();
            blur_lines<FORMAT>(e.step[skip], work, strided_work, work, (uint32_t *)memory, job.box_bytes / 4, false);
            at += skip + 1;
            last = at == count && job.plain;
        } else {
            at += take_steps<FORMAT>(e, p, here, src, memory, job.box_bytes, total);
            last = at == count;
            const bool output = last && !job.plain;
            for_quads(p.tile, [&](int x, int y) {
                uint32_t px[4] = { 0, 0, 0, 0 };
                if (x >= 0)
                    evaluate<FORMAT>(e, p, src, x, y, px);
                if (output) {
                    if (x >= 0)
                        store_output(table, job, view_of(job.output, job.channels, sample), x, y, px);
                } else if (strided_work) {
                    flush<MOT_FORMAT_STRIDED>(work, x, y, px, stage);
                } else {
                    flush<FORMAT>(work, x, y, px, stage);
                }
            });
        }
        if (!last) { /* the next pass reads what this one wrote */
            bulk_fence();
            group_sync();
            src = work;
            p.strided = strided_work;
            p.chain = chain_state{};
        }
    } while (!last);
}

typedef void kernel_function(mot_cuda_job);

static kernel_function *const kernels[MOT_FORMATS] = {
    image_kernel<MOT_FORMAT_GREY>, image_kernel<MOT_FORMAT_RGB>,     image_kernel<MOT_FORMAT_PLANES>,
    image_kernel<MOT_FORMAT_RGBA>, image_kernel<MOT_FORMAT_STRIDED>,
};

cudaError_t mot_cuda_image_prepare(mot_cuda_format format, int shared_bytes_max)
{
    cudaError_t error = cudaFuncSetAttribute((const void *)kernels[format],
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes_max);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute((const void *)kernels[format], cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    return error;
}

cudaError_t mot_cuda_image_launch(const mot_cuda_job *job, mot_cuda_format format, const mot_cuda_shape *shape,
                                  cudaStream_t stream)
{
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim = { (unsigned)shape->clusters, 1, 1 };
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)job->count * (unsigned)shape->clusters);
    config.blockDim = dim3((unsigned)shape->threads);
    config.dynamicSmemBytes = (size_t)shape->shared_bytes;
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = shape->clusters > 1 ? 1 : 0;
    mot_cuda_job copy = *job;
    void *arguments[] = { &copy };
    return cudaLaunchKernelExC(&config, (const void *)kernels[format], arguments);
}
