/* SPDX-License-Identifier: Apache-2.0 */
/* The image kernel: a group of CTAs takes one sample and runs its steps, pass by pass. */
#include "kernels/cuda/engine.cuh"

/* Copies a step into shared memory; every thread calls it. */
DEVICE void read_step(engine &e, const mot_step *step)
{
    __syncthreads();
    for (int i = threadIdx.x; i < (int)(sizeof(mot_step) / 4); i += blockDim.x)
        ((uint32_t *)&e.step)[i] = ((const uint32_t *)step)[i];
    __syncthreads();
}

/* Takes steps from `at` on until one does not fit into the pass any more; returns its number. */
template <int FORMAT>
DEVICE int take_steps(engine &e, pass_state &p, const mot_step *steps, int at, int count, const mot_view &src,
                      uint32_t *box, int box_words)
{
    const int channels = channels_of(FORMAT, src), colors = colors_of<FORMAT>(channels);
    for (; at < count; at++) {
        if (steps[at].arg.flags & MOT_ARG_IDENTITY)
            continue;
        const int shape = shape_of(steps[at].op);
        const bool spatial = shape == MOTLEY_SHAPE_WARP || shape == MOTLEY_SHAPE_STENCIL;
        if (shape == MOTLEY_SHAPE_BLUR || (spatial && p.source != FROM_IMAGE) ||
            (!spatial && !chain_takes(e.work, shape == MOTLEY_SHAPE_COLOR   ? CHAIN_COLOR
                                              : shape == MOTLEY_SHAPE_ERASE ? CHAIN_ERASE
                                                                            : CHAIN_TABLE)))
            break;
        mot_step step = steps[at]; /* uniform; e.step belongs to the spatial op once it is taken */
        switch (shape) {
        case MOTLEY_SHAPE_POINT:
            chain_point(e.work, step.op, &step.arg);
            break;
        case MOTLEY_SHAPE_STATS: {
            const int needs = needs_of(step.op);
            source_is_free(p);
            count_tile<FORMAT>(e, p, src, box, needs);
            count_group(e, needs);
            finish_stats(e, needs, src.width, src.height);
            chain_stats(e.work, step.op, e.stats, colors, &step.arg);
            break;
        }
        case MOTLEY_SHAPE_COLOR:
            chain_append(e.work, CHAIN_COLOR, &step, mot_rect{ 0, 0, 0, 0 }, 0);
            break;
        case MOTLEY_SHAPE_ERASE:
            chain_append(e.work, CHAIN_ERASE, &step, mot_erase_rect(step.op, src.width, src.height, &step.arg),
                         fill_word(step));
            break;
        default:
            read_step(e, &steps[at]);
            take_spatial<FORMAT>(e, p, src, box, box_words);
            break;
        }
    }
    return at;
}

template <int FORMAT> __global__ void __launch_bounds__(256) image_kernel(const __grid_constant__ mot_cuda_job job)
{
    extern __shared__ uint4 dynamic[];
    __shared__ engine e;
    uint32_t *const box = (uint32_t *)dynamic;
    uint32_t *const stage = box + job.box_words + (threadIdx.x / 32) * (MOT_STAGE_BYTES / 4);
    const int sample = job.order[blockIdx.x / group_size()];
    const mot_step *const steps = job.steps + (int64_t)sample * job.max_steps;
    int count = job.step_count[sample], at = 0;
    while (count > 0 && steps[count - 1].arg.flags & MOT_ARG_IDENTITY)
        count--;
    mot_view src = view_of(job.src, job.channels, sample);
    const mot_view work = view_of(job.work, job.channels, sample);
    if (count == 0 && job.plain && src.data == work.data)
        return;
    const mot_view output = view_of(job.output, job.channels, sample);
    const bool strided_work = FORMAT != MOT_FORMAT_STRIDED && job.work_strided;
    bool strided = false; /* of src, as the next pass reads it */
    if (!job.plain)
        for (int i = threadIdx.x; i < job.channels * 256; i += blockDim.x)
            e.output[i >> 8][i & 255] =
                mot_output_bits((uint8_t)i, job.output_dtype, job.mean[i >> 8], job.std[i >> 8]);
    do {
        if (threadIdx.x == 0)
            e.work.items = e.work.tables = 0;
        __syncthreads();
        while (at < count && steps[at].arg.flags & MOT_ARG_IDENTITY)
            at++;
        if (at < count && shape_of(steps[at].op) == MOTLEY_SHAPE_BLUR) {
            read_step(e, &steps[at++]);
            blur_lines<FORMAT>(e, src, strided, work, box, job.box_words, true);
            group_sync();
            blur_lines<FORMAT>(e, work, strided_work, work, box, job.box_words, false);
            group_sync();
            src = work;
            strided = strided_work;
            if (at < count || !job.plain)
                continue;
            return;
        }
        pass_state p = { FROM_IMAGE, mot_tile_of(group_rank(), group_size(), src.width, src.height, 0) };
        p.strided = strided;
        at = take_steps<FORMAT>(e, p, steps, at, count, src, box, job.box_words);
        source_is_free(p);
        const bool last = at >= count;
        for_quads(p.tile, [&](int x, int y) {
            uint32_t px[4] = { 0, 0, 0, 0 };
            if (x >= 0)
                evaluate<FORMAT>(e, p, src, box, x, y, px);
            if (last && !job.plain) {
                if (x >= 0)
                    store_output(e, job, output, x, y, px);
            } else if (strided_work) {
                flush<MOT_FORMAT_STRIDED>(work, x, y, px, stage);
            } else {
                flush<FORMAT>(work, x, y, px, stage);
            }
        });
        if (last)
            return;
        group_sync();
        src = work;
        strided = strided_work;
    } while (true);
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
