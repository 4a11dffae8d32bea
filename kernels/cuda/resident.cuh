/* SPDX-License-Identifier: Apache-2.0 */
/* The route `resident`: a contiguous image that one CTA holds as a whole.
 *
 * The image is loaded in stretches. Every loop over its pixels takes them in the order in which they arrive, and the
 * last loop of a pass writes its results to memory, so that loading, computing and writing overlap. A thread works on a
 * quad, four neighbouring pixels, or on two of them, and mostly keeps them packed as the words in which they lie; in a
 * blur it works on a run of a line, a row or column of one channel (blur_runs.cuh). dispatch/cuda/route.c says which
 * batches take it. */
#ifndef MOT_RESIDENT_CUH
#define MOT_RESIDENT_CUH

#include "kernels/cuda/resident_loop.cuh"
#include "kernels/cuda/resident_passes.h"
#include "kernels/cuda/resident_stats.cuh"
#include "kernels/cuda/resident_stencil.cuh"

/* mot_warp_make_plan() of step `s`, a warp, by 32 threads together: the image would have to wait for one. Positions
 * that are sums take the tiles route (dispatch/cuda/route.c). */
static __device__ __noinline__ void plan_step(int s, int width, int height)
{
    const mot_step &step = resident_cta().step[s];
    const int lane = threadIdx.x & 31;
    mot_warp &warp = resident_cta().warp[s]; /* an array indexed by lane would lie in local memory, which is slow */
    if (lane == 0)
        mot_warp_matrix(step.op, width, height, &step.arg, &warp);
    __syncwarp();
    const double *const m = warp.m;
    const bool between = !warp.whole && step.interpolation != MOTLEY_NEAREST;
    uint32_t number = mot_warp_fixed_number(m, lane < 6 ? lane : 0);
    if (m[1] == 0 && m[3] == 0 && !between) {
        const bool rows = lane >= 3;
        uint32_t by, from;
        mot_unit_scale(rows ? m[4] : m[0], rows ? m[5] + m[4] * 0.5 : m[2] + m[0] * 0.5, rows ? height : width, &by,
                       &from);
        number = lane == 0 || lane == 4 ? by : lane == 2 || lane == 5 ? from : 0;
    }
    if (lane < 6) {
        resident_cta().plans[s].fixed[lane] = number;
        resident_cta().plans[s].m[lane] = m[lane];
    }
    if (lane == 0) {
        resident_cta().plans[s].path = !between                                ? MOT_WARP_FIXED
                                       : step.interpolation == MOTLEY_BILINEAR ? MOT_WARP_BILINEAR
                                                                               : MOT_WARP_BICUBIC;
        resident_cta().plans[s].width = width;
        resident_cta().plans[s].height = height;
    }
}

/* Takes over the steps, finds their shapes, and makes the plans of those that warp, a step a warp: for all threads,
 * with a barrier. `band`: the grey image is this one of a sample's. Warps without a step need not know how many there
 * are. False: no step changes anything. */
DEVICE bool plan_steps(const mot_step *from, int steps, int width, int height, int band)
{
    bool any = false;
    const int lane = threadIdx.x & 31;
    static_assert(sizeof(mot_step) <= 32 * 4, "a word for each lane");
    MOT_ROLLED
    for (int s = threadIdx.x / 32; s < steps; s += cta_threads() / 32) {
        mot_step &step = resident_cta().step[s];
        if (lane < (int)(sizeof(mot_step) / 4))
            ((uint32_t *)&step)[lane] = __ldcg((const uint32_t *)(from + s) + lane);
        __syncwarp();
        if (band > 0 && lane == 0)
            step.fill[0] = step.fill[mot_fill_at(band)];
        const int shape = mot_shape_of(step.op);
        const bool unchanged = step.arg.flags & MOT_ARG_IDENTITY;
        if (lane == 0)
            resident_cta().shape[s] = unchanged ? -1 : mot_pass_shape(shape, &step);
        if (!unchanged && shape == MOTLEY_SHAPE_WARP)
            plan_step(s, width, height);
        any |= !unchanged;
    }
    return __syncthreads_or(any);
}

/* Whether a warp turns rows into columns, so that neighbouring lanes would read from the same bank: by 75 degrees or
 * more. */
DEVICE bool is_transposing(int step)
{
    return abs((int32_t)resident_cta().plans[step].fixed[0]) < 17000;
}

template <int FORMAT, int SINK> DEVICE void walk_to(int items, bool stencil, int spatial, int before, int first_items)
{
    if (spatial < 0)
        walk<FORMAT, QUAD_ITSELF, SINK>(items, 0, 0, 0);
    else if (stencil)
        walk_stencil<FORMAT, SINK>(items, spatial);
    else if (resident_cta().plans[spatial].path != MOT_WARP_FIXED) /* alone in its pass: mot_pass_shape */
        walk<FORMAT, QUAD_INTERPOLATED, SINK>(items, spatial, 0, 0);
    else if (before >= 0)
        walk<FORMAT, QUAD_GATHERED_TWICE, SINK>(items, spatial, before, first_items);
    else if (first_items == 0 && is_transposing(spatial))
        walk<FORMAT, QUAD_GATHERED_TRANSPOSING, SINK>(items, spatial, 0, 0);
    else
        walk<FORMAT, QUAD_GATHERED, SINK>(items, spatial, 0, first_items);
}

/* Makes the pass's pixels and writes them: to the output, if there is one and no step is left after this pass, `at`
 * being the next one, else to the image.
 */
template <int FORMAT, bool OUTPUT> DEVICE void finish_pass(int at, int items, int spatial, int before, int first_items)
{
    const bool stencil = spatial >= 0 && mot_shape_of(resident_cta().step[spatial].op) == MOTLEY_SHAPE_STENCIL;
    if constexpr (OUTPUT)
        if (at == resident_cta().steps) {
            if (resident_cta().by_lines && resident_cta().output_form == OUTPUT_PLANES)
                walk_to<FORMAT, TO_LINE_PLANES>(items, stencil, spatial, before, first_items);
            else if (FORMAT != MOT_FORMAT_GREY && resident_cta().by_lines)
                walk_to<FORMAT, FORMAT == MOT_FORMAT_GREY ? TO_OUTPUT : TO_LINE_PIXELS>(items, stencil, spatial, before,
                                                                                        first_items);
            else
                walk_to<FORMAT, TO_OUTPUT>(items, stencil, spatial, before, first_items);
            return;
        }
    walk_to<FORMAT, TO_IMAGE>(items, stencil, spatial, before, first_items);
}

/* Runs the steps of the window from `at` on, as many as one pass can do. Returns the next one. */
template <int FORMAT, bool OUTPUT, bool BLURS> DEVICE int resident_pass(int at)
{
    chain_state chain = {};
    mot_pass_form form = MOT_PASS_POINTWISE;
    int spatial = -1, before = -1; /* steps; `before` is the first of two warps */
    int first_items = 0;           /* of the chain, before a warp */
    for (; at < resident_cta().steps; at++) {
        const mot_step &step = resident_cta().step[at];
        const int shape = resident_cta().shape[at];
        if (shape < 0)
            continue;
        if (!mot_pass_takes(&form, shape))
            break;
        const bool joins = shape == MOTLEY_SHAPE_WARP && (spatial >= 0 || !chain.erases);
        if (joins && spatial < 0) {
            first_items = chain.items;
            chain.open = false;
        }
        const bool moves = shape == MOTLEY_SHAPE_WARP || shape == MOTLEY_SHAPE_STENCIL;
        const bool whole = moves || shape == MOTLEY_SHAPE_STATS || (BLURS && shape == MOTLEY_SHAPE_BLUR);
        const bool counts_table = shape == MOTLEY_SHAPE_STATS && chain.items == 1 && chain.open;
        if (whole && chain.items > 0 && !joins && !counts_table) {
            __syncthreads();
            walk<FORMAT, QUAD_ITSELF, TO_SHARED>(chain.items, 0, 0, 0);
            loop_ended();
            chain = chain_state{};
        }
        if (moves) {
            before = spatial;
            spatial = at;
        } else if (BLURS && shape == MOTLEY_SHAPE_BLUR) {
            blur_image<FORMAT>(at);
        } else if (shape == MOTLEY_SHAPE_STATS) {
            count_image<FORMAT>(needs_of(step.op), counts_table ? CHAIN_ONE_TABLE : CHAIN_NONE);
            chain_stats(resident_cta().work, chain, step.op, resident_cta().stats, FORMAT == MOT_FORMAT_GREY ? 1 : 3,
                        &step.arg);
        } else if (shape == MOTLEY_SHAPE_POINT) {
            chain_point(resident_cta().work, chain, step.op, &step.arg);
        } else if (shape == MOTLEY_SHAPE_COLOR) {
            chain_append(resident_cta().work, chain, CHAIN_COLOR, &step, mot_rect{ 0, 0, 0, 0 }, 0);
        } else {
            chain_append(resident_cta().work, chain, CHAIN_ERASE, &step,
                         mot_erase_rect(step.op, resident_cta().width, resident_cta().height, &step.arg),
                         fill_word(step));
        }
    }
    __syncthreads();
    finish_pass<FORMAT, OUTPUT>(at, chain.items, spatial, before, first_items);
    return at;
}

/* Runs all steps of a sample whose image is being loaded. */
template <int FORMAT, bool OUTPUT, bool BLURS> DEVICE void run_resident()
{
    for (int at = 0;;) {
        at = resident_pass<FORMAT, OUTPUT, BLURS>(at);
        if (at == resident_cta().steps)
            return;
        image_fence(); /* the next pass reads what this one wrote */
        __syncthreads();
        load_stretches<FORMAT>(resident_cta().work_view, 0, MOT_STRETCHES);
        if (threadIdx.x == 0) {
            resident_cta().phase ^= 1;
            resident_cta().all_here = false;
        }
        __syncthreads();
        if (OUTPUT) { /* the output may overwrite what is still to be loaded */
            arriving a = arriving_of(resident_cta().width / 4 * resident_cta().height);
            wait_quads(a, INT_MAX);
            loop_ended();
        }
    }
}

#endif
