/* SPDX-License-Identifier: Apache-2.0 */
/* Makes each image's programs from its steps: a warp an image. */
#include "kernels/cuda/tile_state.cuh"
#include "kernels/output.h"

#define WARPS 4 /* of a CTA */

struct workplace {
    mot_program program;
    mot_step step[MOT_WINDOW];
    int tables, place, counts; /* of the program */
};

/* The next steps that change anything, at most MOT_WINDOW of them and one blur, into `w`; returns how many, and moves
 * `at` behind them. */
DEVICE int take_steps(workplace &w, const mot_step *steps, int count, int &at)
{
    const int lane = threadIdx.x & 31;
    int n = 0;
    bool blurs = false;
    while (n < MOT_WINDOW && at < count) {
        const bool any = at + lane < count && !(steps[at + lane].arg.flags & MOT_ARG_IDENTITY);
        unsigned found = __ballot_sync(0xFFFFFFFFu, any);
        for (; found && n < MOT_WINDOW; found &= found - 1) {
            const int s = at + __ffs(found) - 1;
            const bool blur = mot_shape_of(steps[s].op) == MOTLEY_SHAPE_BLUR;
            if (blur && blurs) {
                at = s;
                return n;
            }
            blurs |= blur;
            for (int i = lane; i < (int)sizeof(mot_step) / 4; i += 32)
                ((uint32_t *)&w.step[n])[i] = ((const uint32_t *)&steps[s])[i];
            n++;
            if (n == MOT_WINDOW) {
                at = s + 1;
                return n;
            }
        }
        at += 32;
    }
    at = count;
    return n;
}

/* Whether any of the steps from `at` on changes anything. */
DEVICE bool any_left(const mot_step *steps, int count, int at)
{
    for (; at < count; at += 32) {
        const int s = at + (threadIdx.x & 31);
        if (__ballot_sync(0xFFFFFFFFu, s < count && !(steps[s].arg.flags & MOT_ARG_IDENTITY)))
            return true;
    }
    return false;
}

/* What a program needs to know of its steps: a lane a step. */
DEVICE void prepare_steps(workplace &w, int n, const mot_program_facts &facts)
{
    const int s = threadIdx.x & 31;
    if (s >= n)
        return;
    const mot_step &step = w.step[s];
    w.program.id[s] = (uint8_t)step.op;
    w.program.arg[s] = step.arg;
    w.program.fill[s] = fill_word(step);
    w.program.path[s] = 0;
    if (mot_shape_of(step.op) != MOTLEY_SHAPE_WARP)
        return;
    mot_warp warp;
    mot_warp_matrix(step.op, facts.width, facts.height, &step.arg, &warp);
    for (int i = 0; i < 6; i++)
        w.program.m[s][i] = warp.m[i];
    mot_program_warp_path(&w.program, s, &warp, facts.width, facts.height, step.interpolation);
}

/* The tables that point ops make. */
DEVICE void fill_tables(workplace &w, int n)
{
    const int lane = threadIdx.x & 31;
    for (int t = 0; t < w.tables; t++)
        for (int v = lane; v < 256 && w.program.made_of[t]; v += 32) {
            uint8_t out = (uint8_t)v;
            for (int s = 0; s < n; s++)
                if (w.program.made_of[t] >> s & 1)
                    out = mot_point_value(w.step[s].op, out, &w.step[s].arg);
            w.program.table[t][v] = out;
        }
}

DEVICE bool same_pixels(const mot_view &a, const mot_view &b)
{
    return a.data == b.data;
}

static __global__ void __launch_bounds__(32 * WARPS) programs_kernel(const __grid_constant__ mot_tiles_job job)
{
    __shared__ workplace places[WARPS];
    const int lane = threadIdx.x & 31, image = blockIdx.x * WARPS + threadIdx.x / 32;
#if defined(__NVCC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *job.ticket = 0;
    if (blockIdx.x == 0 && job.has_output)
        for (int i = threadIdx.x; i < job.channels * 256; i += 32 * WARPS)
            job.output_values[i] = mot_output_bits((uint8_t)i, job.output_dtype, job.mean[i >> 8], job.std[i >> 8]);
    if (image >= job.images)
        return;
    workplace &w = places[threadIdx.x / 32];
    const int sample = job.first + image;
    const mot_view src = view_of(job.src, job.channels, sample), work = view_of(job.work, job.channels, sample);
    const mot_tile_cut cut = mot_cut_tiles(src.width, src.height);
    const bool in_place = same_pixels(src, work);
    mot_program_facts facts;
    facts.width = src.width, facts.height = src.height, facts.channels = job.channels;
    facts.held = mot_tile_members(&cut, job.team, job.spread) == cut.across * cut.down;
    facts.in_place = in_place;
    facts.output = job.has_output != 0;
    facts.overlaps = job.work_in_output != 0;
    facts.direct = !job.has_output && !job.work_strided && job.format != MOT_FORMAT_STRIDED;
    facts.marks = job.format != MOT_FORMAT_RGBA && job.format != MOT_FORMAT_STRIDED;
    const mot_step *const steps = job.steps + (int64_t)sample * job.max_steps;
    const int count = job.step_count[sample];
    int at = 0, place = MOT_PLACE_SRC, counts = 0;
    for (int window = 0; window < job.windows; window++) {
        const int n = take_steps(w, steps, count, at);
        const bool more = any_left(steps, count, at);
        if (lane < MOT_WINDOW)
            w.program.made_of[lane] = 0;
        __syncwarp();
        prepare_steps(w, n, facts);
        __syncwarp();
        if (lane == 0) {
            mot_program_state state;
            mot_program_begin(&state, &w.program, &facts, place);
            for (int s = 0; s < n; s++)
                mot_program_step(&state, s, &w.step[s]);
            mot_program_end(&state, more);
            w.tables = state.tables, w.place = state.place, w.counts = state.counts;
            w.program.first_count = (uint16_t)counts;
            w.program.nothing = window == 0 && n == 0 && !more && in_place && !job.has_output;
        }
        __syncwarp();
        fill_tables(w, n);
        place = w.place;
        counts += w.counts;
        __syncwarp();
        mot_program *const to = job.programs + (int64_t)image * job.windows + window;
        for (int i = lane; i < (int)(sizeof(mot_program) / 16); i += 32)
            ((uint4 *)to)[i] = ((const uint4 *)&w.program)[i];
        __syncwarp();
        if (!more)
            break;
    }
    uint4 *const totals = (uint4 *)(job.totals + (int64_t)image * job.max_counts * MOT_TOTAL_WORDS);
    for (int i = lane; i < counts * (MOT_TOTAL_WORDS / 4); i += 32)
        totals[i] = make_uint4(0, 0, 0, 0);
    if (lane == 0)
        job.arrivals[image] = 0;
}

int mot_tile_kernel_bytes(void)
{
    return (int)MOT_TILE_BYTES;
}

cudaError_t mot_programs_launch(const mot_tiles_job *job, int overlap, cudaStream_t stream)
{
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(job->images + WARPS - 1) / WARPS);
    config.blockDim = dim3(32 * WARPS);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = overlap ? 1 : 0;
    mot_tiles_job copy = *job;
    void *arguments[] = { &copy };
    return cudaLaunchKernelExC(&config, (const void *)programs_kernel, arguments);
}
