/* SPDX-License-Identifier: Apache-2.0 */
/* The image kernel: a group of CTAs takes one sample and runs its steps, pass by pass. */
#include "kernels/cuda/engine.cuh"

#define STEP_WORDS ((int)(sizeof(mot_step) / 4))

/* Copies up to MOT_WINDOW steps from `at` on into shared memory, and returns how many; every thread calls it, after all
 * have left the window. */
DEVICE int read_steps(const mot_step *steps, int at, int count)
{
    const int here = min(count - at, MOT_WINDOW);
    for (int i = threadIdx.x; i < here * STEP_WORDS; i += blockDim.x)
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
DEVICE int leading_spatial(int steps)
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

/* Takes steps of the window until one does not fit into the pass any more; returns how many. A pass has one spatial op,
 * and statistics only of what lies in the box. */
template <int FORMAT> DEVICE int take_steps(pass_state &p, int steps)
{
    const int leading = leading_spatial(steps);
    bool spatial_taken = false;
    if (leading >= 0)
        begin_spatial<FORMAT>(p, leading);
    else
        load_slab<FORMAT>(p);
    int at = 0;
    for (; at < steps; at++) {
        const mot_step &step = e.step[at];
        if (step.arg.flags & MOT_ARG_IDENTITY)
            continue;
        const int shape = shape_of(step.op);
        if (is_spatial(step.op)) {
            if (spatial_taken)
                break;
            spatial_taken = true;
            if (at != leading) { /* statistics came first */
                __syncthreads();
                begin_spatial<FORMAT>(p, at);
            }
            end_spatial<FORMAT>(p);
            continue;
        }
        if (shape == MOTLEY_SHAPE_BLUR || (shape == MOTLEY_SHAPE_STATS && spatial_taken))
            break;
        if (shape == MOTLEY_SHAPE_POINT) {
            chain_point(e.work, p.chain, step.op, &step.arg);
        } else if (shape == MOTLEY_SHAPE_STATS) {
            const int needs = needs_of(step.op);
            box_wait(p.pending, e.load, p.turn);
            p.pending = false;
            count_tile<FORMAT>(p.chain.items, needs);
            count_group(needs);
            finish_stats(needs);
            chain_stats(e.work, p.chain, step.op, e.stats, colors_of<FORMAT>(e.src.channels), &step.arg);
            __syncthreads(); /* the sums may be made anew */
        } else if (shape == MOTLEY_SHAPE_COLOR) {
            chain_append(e.work, p.chain, CHAIN_COLOR, &step, mot_rect{ 0, 0, 0, 0 }, 0);
        } else {
            chain_append(e.work, p.chain, CHAIN_ERASE, &step,
                         mot_erase_rect(step.op, e.src.width, e.src.height, &step.arg), fill_word(step));
        }
    }
    box_wait(p.pending, e.load, p.turn);
    p.pending = false;
    source_is_free(p);
    return at;
}

template <int FORMAT, bool OUTPUT> DEVICE void write_pass(const pass_state &p)
{
    switch (p.source) {
    case FROM_BOX:
        write_tile<FORMAT, FROM_BOX, OUTPUT>(p.chain.items);
        break;
    case FROM_FIXED:
        write_tile<FORMAT, FROM_FIXED, OUTPUT>(p.chain.items);
        break;
    case FROM_BETWEEN:
        write_tile<FORMAT, FROM_BETWEEN, OUTPUT>(p.chain.items);
        break;
    case FROM_STENCIL:
        if (!OUTPUT && stencil_by_rows<FORMAT>(p.chain.items)) {
            write_stencil<FORMAT>();
            break;
        }
        write_tile<FORMAT, FROM_STENCIL, OUTPUT>(p.chain.items);
        break;
    }
}

/* Runs all steps of one sample; the first `here` are in the window. */
template <int FORMAT> DEVICE void run_sample(const mot_cuda_job &job, const mot_step *steps, int count, int here)
{
    pass_state p = {};
    int at = 0;
    while (true) {
        int skip = 0;
        bool last;
        while (skip < here && (e.step[skip].arg.flags & MOT_ARG_IDENTITY))
            skip++;
        p.chain = chain_state{};
        if (skip < here && shape_of(e.step[skip].op) == MOTLEY_SHAPE_BLUR) {
            blur_lines<FORMAT>(skip, false, true);
            group_sync();
            blur_lines<FORMAT>(skip, true, false);
            at += skip + 1;
            last = at == count && job.plain;
        } else {
            at += take_steps<FORMAT>(p, here);
            last = at == count;
            if (last && !job.plain)
                write_pass<FORMAT, true>(p);
            else if (p.source != FROM_BOX || !write_box<FORMAT>(p.chain.items, last))
                write_pass<FORMAT, false>(p);
        }
        if (last)
            return;
        image_fence(); /* the next pass reads what this one wrote */
        group_sync();
        if (threadIdx.x == 0) {
            e.src = e.work_view;
            e.strided = e.strided_work;
        }
        here = read_steps(steps, at, count);
    }
}

template <int FORMAT> __global__ void __launch_bounds__(1024, 1) image_kernel(const __grid_constant__ mot_cuda_job job)
{
    arrival_make(e.load);
#ifdef MOT_CLUSTERS
    asm volatile("griddepcontrol.wait;" ::: "memory"); /* for the draw kernel, which this one may be queued behind early */
#endif
    const mot_cuda_turn turn = job.order[blockIdx.x / group_size()];
    const mot_step *const steps = job.steps + (int64_t)turn.sample * job.max_steps;
    if (threadIdx.x == 0) {
        e.src = view_of(job.src, job.channels, turn.sample);
        e.work_view = view_of(job.work, job.channels, turn.sample);
        e.output = view_of(job.output, job.channels, turn.sample);
        e.output_dtype = job.output_dtype;
        e.box_bytes = job.box_bytes;
        e.stage_bytes = job.stage_bytes;
        e.strided = 0;
        e.strided_work = FORMAT != MOT_FORMAT_STRIDED && job.work_strided;
        for (int blocks = 0; blocks < 2; blocks++) {
            e.cut[blocks] = job.cut[blocks];
            if (job.src.images)
                e.cut[blocks] = mot_cut_of(group_size(), e.src.width, e.src.height, blocks);
        }
    }
    const int here = read_steps(steps, 0, turn.steps);
    if (turn.steps == 0 && job.plain && e.src.data == e.work_view.data)
        return;
    if (!job.plain)
        for (int i = threadIdx.x; i < job.channels * 256; i += blockDim.x)
            output_table()[i >> 8][i & 255] =
                mot_output_bits((uint8_t)i, job.output_dtype, job.mean[i >> 8], job.std[i >> 8]);
    run_sample<FORMAT>(job, steps, turn.steps, here);
}

typedef void kernel_function(mot_cuda_job);

static kernel_function *const kernels[MOT_FORMATS] = {
    image_kernel<MOT_FORMAT_GREY>, image_kernel<MOT_FORMAT_RGB>,     image_kernel<MOT_FORMAT_PLANES>,
    image_kernel<MOT_FORMAT_RGBA>, image_kernel<MOT_FORMAT_STRIDED>,
};

cudaError_t mot_cuda_image_prepare(mot_cuda_format format, int shared_bytes_max)
{
    cudaError_t error = cudaFuncSetAttribute((const void *)kernels[format],
                                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             shared_bytes_max + MOT_ENGINE_BYTES);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute((const void *)kernels[format], cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    return error;
}

cudaError_t mot_cuda_image_launch(const mot_cuda_job *job, mot_cuda_format format, const mot_cuda_shape *shape,
                                  cudaStream_t stream)
{
    cudaLaunchAttribute attribute[2];
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization; /* starts while the draw kernel ends */
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    attribute[1].id = cudaLaunchAttributeClusterDimension;
    attribute[1].val.clusterDim = { (unsigned)shape->clusters, 1, 1 };
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)job->count * (unsigned)shape->clusters);
    config.blockDim = dim3((unsigned)shape->threads);
    config.dynamicSmemBytes = (size_t)(shape->shared_bytes + MOT_ENGINE_BYTES);
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = shape->early ? 2 : 0;
    mot_cuda_job copy = *job;
    void *arguments[] = { &copy };
    return cudaLaunchKernelExC(&config, (const void *)kernels[format], arguments);
}
