/* SPDX-License-Identifier: Apache-2.0 */
/* The image kernel: a CTA takes one sample, and runs its steps on the image in shared memory. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/resident_state.cuh"

#ifdef MOT_BULK_COPIES
#include "kernels/cuda/resident.cuh"

/* Waits until sample `place` of the first wave is drawn; the order of the others need not be known yet. Returns its
 * number of steps. For whole warps. job.ready[place] must be 0 again before the next call. */
DEVICE int wait_for_draw(const mot_resident_job &job, uint32_t place)
{
    int drawn;
    while ((drawn = load_acquired(job.ready + place)) == 0)
        emulate_others();
    return drawn - 1;
}

/* The place of the CTA's sample in the order. Expensive samples come first, interleaved with cheaper ones, so that the
 * multiprocessors do not all compute at the same time and then all load and store; the cheapest come last, so that all
 * end together. */
DEVICE uint32_t interleaved_place(const mot_resident_job &job, uint32_t place)
{
    const uint32_t after = place - job.first_wave;
    return after < (uint32_t)job.interleaved ? job.first_wave + after * job.stride % job.interleaved : place;
}

/* An image, which only a grey one's address asks whether it is a band: CTAs of small images do little else. */
template <int FORMAT> DEVICE mot_view view_in(const mot_cuda_batch &batch, int channels, int i)
{
    return FORMAT == MOT_FORMAT_GREY ? view_of(batch, channels, i) : image_of(batch, channels, i);
}

/* Writes into the CTA's state what it knows of its image. For one thread. */
template <int FORMAT, bool OUTPUT>
DEVICE void describe_image(const mot_resident_job &job, int sample, int band, const mot_view &src)
{
    const mot_view output = view_in<FORMAT>(job.output, job.channels, sample);
    resident_cta().width = src.width;
    resident_cta().height = src.height;
    resident_cta().work_view = view_in<FORMAT>(job.work, job.channels, sample);
    resident_cta().image_bytes = job.image_bytes;
    resident_cta().stage_bytes = job.stage_bytes;
    resident_cta().phase = 0;
    resident_cta().all_here = 0;
    if (OUTPUT) {
        resident_cta().output = output;
        resident_cta().output_dtype = job.as.dtype;
        resident_cta().output_form = output_form_of(output, job.as.dtype);
        resident_cta().by_lines = job.as.by_lines && resident_cta().output_form != OUTPUT_ANY;
        for (int c = 0; c < 3; c++)
            resident_cta().line[c] = job.as.line[mot_line_of_band(band + c)];
    }
}
#endif

/* BLURS: some step may. OUTPUT: the result has another type or layout than `work`. They are separate kernels because
 * every caller of a loop has to leave it the registers that it needs. */
template <int FORMAT, bool BLURS, bool OUTPUT>
__global__ void __launch_bounds__(1024, 1) resident_kernel(const __grid_constant__ mot_resident_job job)
{
#ifdef MOT_BULK_COPIES
    /* The first CTAs know their sample and load its image while the draw kernel is still running. */
    const uint32_t place = blockIdx.x;
    const bool early = place < (uint32_t)job.first_wave;
    mot_cuda_turn turn = { (int32_t)place, 0 };
    if (!early) {
        if (!job.ordered)
            wait_for_previous_kernel();
        turn = job.order[interleaved_place(job, place)];
    }
    const int warp = threadIdx.x / 32, warps = cta_threads() / 32;
    const mot_view src = view_in<FORMAT>(job.src, job.channels, turn.sample);
    const int band = FORMAT == MOT_FORMAT_GREY ? mot_band_of(&job.src, turn.sample) : 0;
    const bool in_place = !OUTPUT && src.data == view_in<FORMAT>(job.work, job.channels, turn.sample).data;
    if (!early && turn.steps == 0 && in_place) {
        wait_for_previous_kernel(); /* as at the end */
        return;
    }
    make_stretches(src.width / 4 * src.height);
    const bool has_stretches = warp >= warps - stretches_of(src.width / 4 * src.height);
    if (job.ordered && has_stretches) /* the other warps plan steps before it has ended */
        wait_for_previous_kernel();
    load_stretches<FORMAT>(src, 0, early ? MOT_EARLY_STRETCHES : MOT_STRETCHES);
    if (early && (warp < job.max_steps || has_stretches)) { /* the other warps have nothing to plan or load */
        turn.steps = wait_for_draw(job, place);
        load_stretches<FORMAT>(src, MOT_EARLY_STRETCHES, MOT_STRETCHES);
    }
    if (threadIdx.x == warps / 2 * 32) /* a warp that plans no step, if there are so many */
        describe_image<FORMAT, OUTPUT>(job, turn.sample, band, src);
    if (threadIdx.x == 0)
        resident_cta().steps = turn.steps;
    const int row =
        FORMAT != MOT_FORMAT_GREY || turn.sample < job.step_rows ? turn.sample : turn.sample % job.step_rows;
    const mot_step *const steps = job.steps + (int64_t)row * job.max_steps;
    const bool changes = plan_steps(steps, turn.steps, src.width, src.height, band);
    let_next_kernel_begin(); /* the one that moves boxes and points needs only the draws */
    if (early && threadIdx.x == 0)
        job.ready[place] = 0;
    if (OUTPUT && !resident_cta().by_lines)
        for (int i = threadIdx.x; i < job.channels * 64; i += blockDim.x)
            ((uint4 *)output_table())[i] = load_four_words(job.as.values + 256 * band + 4 * i);
    if (changes || !in_place) { /* nothing is kept in registers across this call: the loops need them */
        run_resident<FORMAT, OUTPUT, BLURS>();
    } else {
        arriving a = arriving_of(resident_cta().width / 4 * resident_cta().height);
        wait_quads(a, INT_MAX);
    }
    wait_for_previous_kernel(); /* what follows this kernel relies on that one having ended, too */
#endif
}

typedef void kernel_function(mot_resident_job);

#define OF_FORMATS(BLURS, OUTPUT) \
    { \
        resident_kernel<MOT_FORMAT_GREY, BLURS, OUTPUT>, resident_kernel<MOT_FORMAT_RGB, BLURS, OUTPUT>, \
            resident_kernel<MOT_FORMAT_PLANES, BLURS, OUTPUT>, \
    }
#define OF_OUTPUTS(BLURS) \
    { \
        OF_FORMATS(BLURS, false), OF_FORMATS(BLURS, true) \
    }

/* [some step may blur][there is an output][format] */
static kernel_function *const kernels[2][2][MOT_RESIDENT_FORMATS] = { OF_OUTPUTS(false), OF_OUTPUTS(true) };

cudaError_t mot_resident_prepare(mot_cuda_format format, int shared_bytes_max)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 4 && error == cudaSuccess; i++)
        error = mot_share_memory((const void *)kernels[i / 2][i % 2][format], shared_bytes_max + MOT_RESIDENT_BYTES);
    return error;
}

cudaError_t mot_resident_launch(const mot_resident_job *job, mot_cuda_format format, const mot_resident_shape *shape,
                                int overlap, cudaStream_t stream)
{
    return mot_launch((const void *)kernels[shape->blurs][!job->plain][format], job->count, shape->threads,
                      (size_t)(shape->shared_bytes + MOT_RESIDENT_BYTES), overlap, stream, *job);
}
