/* SPDX-License-Identifier: Apache-2.0 */
/* Makes each image's programs from its steps, a warp an image, and lists it for the tile kernel's CTAs. */
#ifndef MOT_TILE_PLANNER_CUH
#define MOT_TILE_PLANNER_CUH

#include "kernels/cuda/stats.cuh"
#include "kernels/cuda/tile_state.cuh"
#include "kernels/output.h"

struct alignas(16) planner_scratch {
    mot_program program;
    mot_tile_image image;
    mot_program_facts facts;
    mot_tile_cut pieces;    /* see mot_cut_pieces */
    int step[MOT_WINDOW];   /* of the sample's, those in the program */
    int ops, place, counts; /* of the program */
};

/* What the program in `w` needs to know of its step `k`, which is the sample's step `s`. For one lane. */
DEVICE void prepare_step(planner_scratch &w, int k, const mot_step *steps, int s)
{
    w.step[k] = s;
    mot_program_describe(&w.program, &w.facts, k, &steps[s]);
}

/* Puts the next steps that change anything into `w`, at most MOT_WINDOW of them and one blur; each lane looks at one.
 * Returns how many, and moves `at` to the next step that changes something, or to the end. */
DEVICE int take_steps(planner_scratch &w, const mot_step *steps, int count, int &at)
{
    const int lane = threadIdx.x & 31;
    if (lane < MOT_WINDOW)
        w.program.point_steps[lane] = 0;
    int n = 0;
    unsigned blurs = 0;
    for (; at < count; at += 32) {
        const int own = at + lane;
        const bool changes = own < count && !(steps[own].arg.flags & MOT_ARG_IDENTITY);
        const bool blur = changes && mot_shape_of(steps[own].op) == MOTLEY_SHAPE_BLUR;
        const unsigned before = (1u << lane) - 1;
        const unsigned changing = __ballot_sync(0xFFFFFFFFu, changes), blurring = __ballot_sync(0xFFFFFFFFu, blur);
        const int k = n + __popc(changing & before);
        const bool over = changes && (k >= MOT_WINDOW || (blur && (blurs || (blurring & before))));
        const unsigned later = __ballot_sync(0xFFFFFFFFu, over),
                       taken = later ? changing & ((later & -later) - 1) : changing;
        if (taken >> lane & 1)
            prepare_step(w, k, steps, own);
        n += __popc(taken);
        if (later) {
            at += __ffs(later) - 1;
            return n;
        }
        blurs |= blurring;
    }
    at = count;
    return n;
}

DEVICE mot_program_facts facts_of(const mot_tiles_job &job, const mot_tile_image &image)
{
    mot_program_facts facts;
    facts.width = image.width, facts.height = image.height, facts.channels = image.channels;
    facts.one_tile = image.ctas == image.cut.across * image.cut.down;
    facts.whole_rows = image.cut.across == 1;
    facts.lines = facts.one_tile && facts.whole_rows && mot_cut_strips(image.width, image.height, 1).height > 0;
    facts.in_place = image.src.data == image.work.data;
    facts.output = job.has_output != 0;
    facts.overlaps = job.work_in_output || image.result.data == image.work.data;
    facts.on_src = image.result.data == image.src.data;
    facts.direct = !job.has_output && !job.work_strided && job.format != MOT_FORMAT_STRIDED;
    facts.marks = job.format != MOT_FORMAT_RGBA && job.format != MOT_FORMAT_STRIDED;
    facts.band = (uint8_t)image.band;
    return facts;
}

/* The image as its CTAs see it, and what its programs depend on; `images` describe those of job.src. For one lane. */
DEVICE void find_image(const mot_tiles_job &job, const motley_image *images, planner_scratch &w, int i)
{
    mot_tile_image &image = w.image;
    const int sample = job.first + i;
    const mot_view src = view_of(job.src, images, job.channels, sample);
    image.src = src;
    image.work = view_of(job.work, job.work.images == job.src.images ? images : job.work.images, job.channels, sample);
    image.result =
        view_of(job.output, job.output.images == job.src.images ? images : job.output.images, job.channels, sample);
    image.arrivals = job.arrivals + i;
    image.cut = mot_cut_tiles(src.width, src.height, job.tile_words);
    image.width = src.width;
    image.height = src.height;
    image.channels = job.channels;
    image.ctas = mot_tile_ctas(&image.cut, job.max_image_ctas, job.large_image_ctas);
    image.pitch = mot_tile_pitch(image.cut.across > 1 ? image.cut.width + 8 : image.cut.width);
    image.work_strided = (int16_t)job.work_strided;
    image.band = (int16_t)mot_band_of(&job.src, sample);
    image.scratch = mot_scratch_view(job.format, job.channels, src.width, src.height, job.scratch);
    w.facts = facts_of(job, image);
    w.pieces = mot_cut_pieces(src.width, src.height, job.piece_quads, &image.cut);
}

template <class T> DEVICE void copy_pieces(T *to, const T *from)
{
    static_assert(sizeof(T) % 16 == 0, "whole pieces");
    for (int i = threadIdx.x & 31; i < (int)(sizeof(T) / 16); i += 32)
        ((uint4 *)to)[i] = ((const uint4 *)from)[i];
}

/* Memory for a scratch copy of the image, if it has more tiles than CTAs. For one lane. */
DEVICE void take_scratch(const mot_tiles_job &job, mot_tile_image &image)
{
    if (job.moves && image.ctas < image.cut.across * image.cut.down) {
        const int64_t bytes = mot_scratch_bytes(job.format, job.channels, image.width, image.height);
        image.scratch.data += atomicAdd(&job.counters->scratch, (unsigned long long)bytes);
    }
}

/* An instruction's cost for a tile, in roughly microseconds on an H200, 2026-11. Only the order of the work depends on
 * it. */
DEVICE int cost_of_op(const mot_program &program, const mot_program_op &op)
{
    switch (op.code) {
    case MOT_DO_INTERPOLATE:
        return program.path[op.b] == MOT_WARP_BICUBIC ? 40 : 20;
    case MOT_DO_POSITIONS:
    case MOT_DO_BLUR:
        return 20;
    case MOT_DO_STENCIL:
    case MOT_DO_LINES:
        return 10;
    case MOT_DO_GATHER:
        return 5;
    case MOT_DO_CHAIN:
    case MOT_DO_COUNT_TILE:
    case MOT_DO_COUNT_MEMORY:
    case MOT_DO_DIRECT:
        return 3;
    case MOT_DO_FETCH:
    case MOT_DO_STORE:
        return 2;
    default:
        return 0;
    }
}

/* The cost of a program, or 0 unless it is `listed`; for a warp. `light` becomes false if the program is not. */
DEVICE int cost_of_program(const mot_program &program, int ops, bool listed, bool &light)
{
    enum { HEAVY = 1 << 16 }; /* more than any cost: counts the instructions that are not of light programs */
    int cost = 0;
    for (int k = threadIdx.x & 31; k < ops; k += 32)
        cost += (listed ? cost_of_op(program, program.op[k]) : 0) + (mot_is_light(program.op[k].code) ? 0 : HEAVY);
    cost = sum_of_warp(cost);
    light = light && cost < HEAVY;
    return cost % HEAVY;
}

#define COST_OF_HALVES 60 /* of programs whose tiles are halved: two warps that interpolate */

/* The list for images whose tiles have this cost. */
DEVICE int list_of(int cost)
{
    static_assert(MOT_TILE_LISTS == 5, "one for each of these, and one for less");
    return cost >= COST_OF_HALVES ? 0 : cost >= 25 ? 1 : cost >= 14 ? 2 : cost >= 10 ? 3 : 4;
}

/* Makes the programs of image `i` of the launch, which has `count` steps, and clears the memory where its CTAs count.
 * For a warp, after find_image. */
DEVICE void make_programs(const mot_tiles_job &job, planner_scratch &w, int i, const mot_step *steps, int count)
{
    const int lane = threadIdx.x & 31;
    const mot_program_facts &facts = w.facts;
    int at = 0, place = MOT_PLACE_SRC, counts = 0, cost = 0;
    const bool listed = job.ctas_per_image == 0;
    bool light = true;
    for (int window = 0; window == 0 || at < count; window++) {
        const int n = take_steps(w, steps, count, at);
        if (window == 0 && n == 0 && facts.in_place && !facts.output) { /* the image stays as it is */
            if (lane == 0)
                w.image.ctas = 0;
            __syncwarp();
            copy_pieces(&job.image[i], &w.image);
            if (!listed) /* its CTAs load a program before they know */
                copy_pieces(&job.programs[(int64_t)i * job.windows], &w.program);
            return;
        }
        __syncwarp();
        if (lane == 0) {
            mot_program_state state;
            mot_program_begin(&state, &w.program, &facts, place);
            for (int s = 0; s < n; s++)
                mot_program_step(&state, s, &steps[w.step[s]]);
            mot_program_end(&state, at < count);
            w.ops = state.ops, w.place = state.place, w.counts = state.counts;
            w.program.first_count = (uint16_t)counts;
        }
        __syncwarp();
        copy_pieces(&job.programs[(int64_t)i * job.windows + window], &w.program);
        cost += cost_of_program(w.program, w.ops, listed, light);
        place = w.place;
        counts += w.counts;
        __syncwarp();
    }
    if (lane == 0 && light) { /* by no more CTAs than its tiles, for which there is memory */
        w.image.cut = w.pieces;
        w.image.ctas = min(w.image.ctas, mot_tile_ctas(&w.pieces, job.max_image_ctas, job.large_image_ctas));
    } else if (lane == 0 && cost >= COST_OF_HALVES && 2 * w.image.cut.across * w.image.cut.down <= job.max_image_ctas) {
        mot_halve_tiles(&w.image.cut, w.image.height); /* else such an image ends after all others */
        w.image.ctas = w.image.cut.across * w.image.cut.down;
    }
    __syncwarp();
    cost *= light ? 2 : 1; /* a piece is larger than a tile */
    const int list = list_of(cost), ctas = w.image.ctas;
    unsigned task = 0;
    if (lane == 0) {
        task = listed ? atomicAdd(&job.counters->tasks[list], (unsigned)ctas) : 0;
        job.arrivals[i] = 0;
        take_scratch(job, w.image);
    }
    __syncwarp();
    copy_pieces(&job.image[i], &w.image);
    uint4 *const totals = (uint4 *)(job.totals + (int64_t)i * job.max_counts * MOT_TOTAL_WORDS);
    for (int k = lane; k < counts * (MOT_TOTAL_WORDS / 4); k += 32)
        totals[k] = make_uint4(0, 0, 0, 0);
    task = __shfl_sync(0xFFFFFFFFu, task, 0);
    for (int rank = lane; rank < ctas && listed; rank += 32)
        job.tasks[list * job.most_tasks + task + rank] = mot_tile_task{ (uint16_t)i, (uint16_t)rank };
}

int mot_tile_kernel_bytes(void)
{
    return (int)MOT_TILE_BYTES;
}

#endif
