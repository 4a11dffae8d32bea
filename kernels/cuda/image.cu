/* SPDX-License-Identifier: Apache-2.0 */
/* The image kernel: a group of CTAs takes one sample and runs its steps, pass by pass. */
#include "kernels/cuda/slab.cuh"

#include <climits>

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

/* The step of the window that the pass can read the image for at once: its spatial op, unless statistics of the image
 * come first, or a blur. -1: the image's own part. */
DEVICE int leading_spatial(int steps)
{
    for (int s = 0; s < steps; s++) {
        const int shape = mot_shape_of(e.step[s].op);
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
        const int shape = mot_shape_of(step.op);
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
            finish_stats(needs, (uint32_t)e.src.width * (uint32_t)e.src.height, totals());
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
template <int FORMAT, bool OUTPUT>
static __device__ __noinline__ void run_sample(const mot_step *steps, int count, int here)
{
    pass_state p = {};
    int at = 0;
    while (true) {
        int skip = 0;
        bool last;
        while (skip < here && (e.step[skip].arg.flags & MOT_ARG_IDENTITY))
            skip++;
        p.chain = chain_state{};
        if (skip < here && mot_shape_of(e.step[skip].op) == MOTLEY_SHAPE_BLUR) {
            blur_lines<FORMAT>(skip, false, true);
            group_sync();
            blur_lines<FORMAT>(skip, true, false);
            at += skip + 1;
            last = at == count && !OUTPUT;
        } else {
            at += take_steps<FORMAT>(p, here);
            last = at == count;
            if (OUTPUT && last) /* <OUTPUT>, so that the plain kernels do not hold its loops */
                write_pass<FORMAT, OUTPUT>(p);
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

/* Waits until sample `place` of the first wave is drawn, not until the order of all the others is known. Returns how many
 * steps it has. For whole warps; job.ready[place] is to be 0 again for the next call. */
DEVICE int wait_for_draw(const mot_cuda_job &job, uint32_t place)
{
    int drawn = 0;
#ifdef MOT_CLUSTERS
    while (drawn == 0)
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(drawn) : "l"(job.ready + place) : "memory");
#endif
    return drawn - 1;
}

DEVICE void wait_for_draws()
{
#ifdef MOT_CLUSTERS
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Where in the order the CTA's sample stands: heavy ones come first, but mixed with less heavy ones, so that not all
 * multiprocessors compute, and then all of them load and store; the light ones come last, so that they end together. */
DEVICE uint32_t mixed_place(const mot_cuda_job &job, uint32_t place)
{
    const uint32_t after = place - job.first_wave;
    return after < (uint32_t)job.mixed ? job.first_wave + after * job.mix % job.mixed : place;
}

/* The sample's steps, by the engine. */
template <int FORMAT, bool OUTPUT> DEVICE void run_by_engine(const mot_cuda_job &job)
{
    const int sample = e.sample;
    __syncthreads(); /* all have left what the short way reads */
    if (threadIdx.x == 0) {
        e.work_view = view_of(job.work, job.channels, sample);
        e.strided = 0;
        e.strided_work = FORMAT != MOT_FORMAT_STRIDED && job.work_strided;
        for (int blocks = 0; blocks < 2; blocks++) {
            e.cut[blocks] = job.cut[blocks];
            if (job.src.images)
                e.cut[blocks] = mot_cut_of(group_size(), e.src.width, e.src.height, blocks);
        }
    }
    arrival_make(e.load);
    wait_for_draws(); /* the steps are read again */
    run_sample<FORMAT, OUTPUT>(job.steps + (int64_t)sample * job.max_steps, e.all_steps, e.steps);
}

/* GROUP: an image is a group's. OUTPUT: the result is of another type or layout than `work`. Kernels of their own, as the
 * registers that one loop takes are not there for what calls the others. */
template <int FORMAT, bool GROUP, bool OUTPUT>
__global__ void __launch_bounds__(1024, 1) image_kernel(const __grid_constant__ mot_cuda_job job)
{
    /* The first CTAs know their sample, and bring its image, while the draw kernel is still at work. */
    const uint32_t place = blockIdx.x / group_size();
    const bool early = place < (uint32_t)job.first_wave;
    mot_cuda_turn turn = { (int32_t)place, 0 };
    if (!early) {
        wait_for_draws();
        turn = job.order[mixed_place(job, place)];
    }
    const mot_step *const steps = job.steps + (int64_t)turn.sample * job.max_steps;
    const mot_view src = view_of(job.src, job.channels, turn.sample);
    const mot_view work = view_of(job.work, job.channels, turn.sample);
    const mot_view output = view_of(job.output, job.channels, turn.sample);
    mot_view between = work; /* two passes */
    const bool in_place = !OUTPUT && src.data == work.data;
    if (!early && turn.steps == 0 && in_place)
        return;
    const uint32_t *const words = (const uint32_t *)steps;
    uint32_t word;
    if (!early) /* the steps are asked for before the image's bytes crowd the way */
        word = threadIdx.x < turn.steps * STEP_WORDS ? words[threadIdx.x] : 0;
    int bands = 0, spare = 0;
#ifdef MOT_CLUSTERS
    const bool room = OUTPUT && work.data == output.data;
    if (room)
        between = room_in_output<FORMAT>(src, output, job.output_dtype);
    const int image = src.width * src.height * job.channels;
    spare = 2 * image <= job.box_bytes ? image : 0;
    const bool one_pass = (job.work_strided && !room) || !in_one_piece<FORMAT>(between);
    const bool fits = !GROUP && FORMAT != MOT_FORMAT_RGBA && FORMAT != MOT_FORMAT_STRIDED &&
                      in_one_piece<FORMAT>(src) && (OUTPUT || !one_pass);
    const bool slabs = GROUP && FORMAT != MOT_FORMAT_RGBA && FORMAT != MOT_FORMAT_STRIDED && !one_pass &&
                       in_slabs<FORMAT>(src, job.box_bytes);
    if (slabs)
        make_bands(src.width / 4 * (slab_rows(src.height) + 2));
    if (fits) {
        make_bands(src.width / 4 * src.height);
        load_bands<FORMAT>(src, 0, early ? MOT_EARLY_BANDS : MOT_BANDS);
        bands = bands_of(src.width / 4 * src.height);
    }
#endif
    const int step_warps = min(job.max_steps, MOT_WINDOW) * STEP_WORDS / 32 + 1;
    if (early && threadIdx.x / 32 < max(step_warps, bands)) { /* the others have nothing to bring */
        turn.steps = wait_for_draw(job, place);
        word = threadIdx.x < turn.steps * STEP_WORDS ? __ldcg(&words[threadIdx.x]) : 0;
#ifdef MOT_CLUSTERS
        if (fits)
            load_bands<FORMAT>(src, MOT_EARLY_BANDS, MOT_BANDS);
#endif
    }
    if (threadIdx.x == blockDim.x - 1) {
        e.width = src.width;
        e.height = src.height;
        e.spare = spare;
        e.work_view = between;
        e.box_bytes = job.box_bytes;
        e.stage_bytes = job.stage_bytes;
        e.src = src;
        e.phase = 0;
        e.all_here = 0;
        if (OUTPUT) {
            e.output = output;
            e.output_dtype = job.output_dtype;
#ifdef MOT_CLUSTERS
            e.output_form = output_form_of(output, job.output_dtype);
#endif
        }
    }
    static_assert(MOT_WINDOW * STEP_WORDS <= MOT_LEAST_THREADS, "a word of the steps for each thread");
    if (threadIdx.x == 0) {
        e.sample = turn.sample;
        e.all_steps = turn.steps;
        e.steps = min(turn.steps, MOT_WINDOW);
    }
    if (threadIdx.x < min(turn.steps, MOT_WINDOW) * STEP_WORDS)
        ((uint32_t *)e.step)[threadIdx.x] = word;
    __syncthreads();
    if (early && threadIdx.x == 0)
        job.ready[place] = 0;
    if (OUTPUT)
        for (int i = threadIdx.x; i < job.channels * 256; i += blockDim.x)
            output_table()[i >> 8][i & 255] =
                mot_output_bits((uint8_t)i, job.output_dtype, job.mean[i >> 8], job.std[i >> 8]);
#ifdef MOT_CLUSTERS
    if (fits || slabs) {
        const whole_way way = plan_steps(e.all_steps, one_pass && !e.spare, in_place, !GROUP);
        if (way == WAY_WHOLE) { /* nothing is kept in registers until after it: the loops would lack them */
            if (GROUP)
                run_slab<FORMAT, OUTPUT>();
            else
                run_whole<FORMAT, OUTPUT>();
            wait_for_draws(); /* what comes after this kernel counts on the draw kernel's end as well */
            return;
        }
        if (fits) {
            arriving a = arriving_of(e.width / 4 * e.height);
            wait_quads(a, INT_MAX);
        }
        if (way == WAY_NONE) {
            wait_for_draws();
            return;
        }
    }
#endif
    run_by_engine<FORMAT, OUTPUT>(job);
}

typedef void kernel_function(mot_cuda_job);

#define OF_FORMATS(GROUP, OUTPUT) \
    { \
        image_kernel<MOT_FORMAT_GREY, GROUP, OUTPUT>, image_kernel<MOT_FORMAT_RGB, GROUP, OUTPUT>, \
            image_kernel<MOT_FORMAT_PLANES, GROUP, OUTPUT>, image_kernel<MOT_FORMAT_RGBA, GROUP, OUTPUT>, \
            image_kernel<MOT_FORMAT_STRIDED, GROUP, OUTPUT>, \
    }

/* [an image is a group's][there is an output][format] */
static kernel_function *const kernels[2][2][MOT_FORMATS] = { { OF_FORMATS(false, false), OF_FORMATS(false, true) },
                                                             { OF_FORMATS(true, false), OF_FORMATS(true, true) } };

cudaError_t mot_cuda_image_prepare(mot_cuda_format format, int shared_bytes_max)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 4 && error == cudaSuccess; i++) {
        const void *const kernel = (const void *)kernels[i / 2][i % 2][format];
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     shared_bytes_max + MOT_ENGINE_BYTES);
        if (error == cudaSuccess)
            error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    }
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
    return cudaLaunchKernelExC(&config, (const void *)kernels[shape->clusters > 1][!job->plain][format], arguments);
}
