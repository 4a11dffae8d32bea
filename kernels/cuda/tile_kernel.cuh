/* SPDX-License-Identifier: Apache-2.0 */
/* The tile kernel. A CTA takes a part of one image after the other, and runs the image's programs on it. */
#ifndef MOT_TILE_KERNEL_CUH
#define MOT_TILE_KERNEL_CUH

#include "kernels/cuda/overlap.cuh"
#include "kernels/cuda/tile_loops.cuh"
#include "kernels/cuda/tile_stats.cuh"

/* Makes tile `t` of the image the current one; past the last tile there is nothing to do. For one thread; a barrier
 * must follow. */
DEVICE void choose_tile(int t)
{
    tile_state &s = cta();
    const int down = s.image.cut.across == 1 ? t : t / s.image.cut.across, right = t - down * s.image.cut.across;
    s.tile = t;
    s.x0 = right * s.image.cut.width;
    s.y0 = down * s.image.cut.height;
    s.columns = min(s.image.cut.width, s.image.width - s.x0);
    s.rows = min(s.image.cut.height, s.image.height - s.y0);
}

/* Begins with the CTA's first tile of an image that was cut. For one thread; a barrier must follow. */
DEVICE void begin_tiles()
{
    tile_state &s = cta();
    mot_tile_cut &cut = s.image.cut;
    s.several = cut.across * cut.down > s.image.members;
    if (s.several)
        mot_even_turns(&cut, s.image.height, s.image.members);
    s.tiles = cut.across * cut.down;
    choose_tile(s.member);
}

/* Sets what shared memory holds from here on: the tile; with `halo` also a row above and below it, and a quad on each
 * side unless it spans the image. A barrier must follow. */
DEVICE void place_tile(int halo)
{
    tile_state &s = cta();
    if (threadIdx.x != 0)
        return;
    const int side = halo && s.image.cut.across > 1 ? 4 : 0;
    s.tile_x = s.x0 - side;
    s.tile_columns = s.columns + 2 * side;
    s.tile_y = s.y0 - halo;
    s.tile_rows = s.rows + 2 * halo;
}

DEVICE bool is_tiny(const mot_tile_image &image)
{
    return (int64_t)image.width * image.height <= MOT_TINY_IMAGE;
}

DEVICE void set_current(int place)
{
    tile_state &s = cta();
    if (threadIdx.x == 0) {
        s.current = place == MOT_PLACE_WORK ? s.image.work : place == MOT_PLACE_SCRATCH ? s.image.scratch : s.image.src;
        s.current_strided = (place == MOT_PLACE_WORK && s.image.work_strided) || is_tiny(s.image);
    }
    __syncthreads();
}

/* Where the image's CTAs add up the statistics of a COUNT. */
DEVICE uint32_t *totals_of(const mot_tiles_job &job, const mot_program_op &op)
{
    const tile_state &s = cta();
    return job.totals + ((int64_t)s.place * job.max_counts + s.program.first_count + op.count) * MOT_TOTAL_WORDS;
}

template <int READ> DEVICE void gather_nearest(const mot_program_op &op)
{
    if (op.c == MOT_NONE)
        gather_tile<READ, false>(op.b, 0, op.d);
    else
        gather_tile<READ, true>(op.b, op.c, op.d);
}

template <int READ> DEVICE void blur_pass(const mot_program_op &op)
{
    if (op.a)
        blur_tile<READ, true>(op.b);
    else
        blur_tile<READ, false>(op.b);
}

/* READ: the format that `current` is read in. */
template <int READ> OUTLINE void bring_tile(const mot_program_op &op)
{
    tile_state &s = cta();
    switch (op.code) {
    case MOT_DO_FETCH:
        fetch_tile<READ>();
        break;
    case MOT_DO_GATHER:
        if constexpr (READ == MOT_FORMAT_STRIDED)
            gather_strided(op.b, op.c, op.d);
        else if (op.c == MOT_NONE && moves_rows(op.b))
            move_rows<READ>(op.b, op.d);
        else
            gather_nearest<READ>(op);
        break;
    case MOT_DO_INTERPOLATE:
        if (s.program.path[op.b] == MOT_WARP_BILINEAR)
            interpolate_tile<READ, false>(op.b);
        else
            interpolate_tile<READ, true>(op.b);
        break;
    case MOT_DO_POSITIONS:
        gather_by_sums<READ>(op.b, op.d);
        break;
    default:
        blur_pass<READ>(op);
        break;
    }
}

/* The warp that interpolates, or whose positions are sums. */
DEVICE void prepare_plan(int step)
{
    tile_state &s = cta();
    if (threadIdx.x < 6)
        s.plan.m[threadIdx.x] = s.program.m[step][threadIdx.x];
    if (threadIdx.x == 6)
        s.plan.path = s.program.path[step], s.plan.width = s.image.width, s.plan.height = s.image.height;
}

/* Runs one instruction on the current tile. */
template <int FORMAT> DEVICE void do_tile(const mot_tiles_job &job, const mot_program_op &op)
{
    tile_state &s = cta();
    switch (op.code) {
    case MOT_DO_CHAIN:
        if (op.d)
            chain_tile<FORMAT, true>(op.a, op.b);
        else
            chain_tile<FORMAT, false>(op.a, op.b);
        break;
    case MOT_DO_STENCIL:
        stencil_tile_by<FORMAT>(op.b);
        break;
    case MOT_DO_LINES:
        if (op.a)
            blur_lines_by<FORMAT, true>(op.b);
        else
            blur_lines_by<FORMAT, false>(op.b);
        break;
    case MOT_DO_COUNT_TILE:
        count_tile<FORMAT>(needs_of(s.program.id[op.b]), totals_of(job, op));
        break;
    case MOT_DO_COUNT_MEMORY:
        if (FORMAT != MOT_FORMAT_STRIDED && s.current_strided)
            count_memory<FORMAT, MOT_FORMAT_STRIDED>(needs_of(s.program.id[op.b]), op.c, totals_of(job, op));
        else
            count_memory<FORMAT, FORMAT>(needs_of(s.program.id[op.b]), op.c, totals_of(job, op));
        break;
    case MOT_DO_STORE:
        if (op.a == MOT_PLACE_SCRATCH)
            store_tile<FORMAT>(s.image.scratch);
        else if (op.a == MOT_PLACE_RESULT && job.has_output)
            store_tile_as<FORMAT>(job.output_dtype, job.output_values);
        else if (s.image.work_strided)
            store_strided(s.image.work);
        else
            store_tile<FORMAT>(s.image.work);
        break;
    case MOT_DO_DIRECT:
        if constexpr (FORMAT != MOT_FORMAT_STRIDED)
            store_directly<FORMAT>(op.a);
        break;
    default:
        place_tile(op.code == MOT_DO_BLUR ? 0 : op.a);
        if (op.code == MOT_DO_INTERPOLATE || op.code == MOT_DO_POSITIONS)
            prepare_plan(op.b);
        __syncthreads();
        if (FORMAT != MOT_FORMAT_STRIDED && s.current_strided)
            bring_tile<MOT_FORMAT_STRIDED>(op);
        else
            bring_tile<FORMAT>(op);
        break;
    }
}

/* Loads a program into shared memory, with the image's description before its first one, and makes the tables that do
 * not depend on the image. */
DEVICE void load_program(const mot_program *from, const mot_tile_image *image)
{
    tile_state &s = cta();
    enum { PROGRAM = sizeof(mot_program) / 16, IMAGE = sizeof(mot_tile_image) / 16 };
    static_assert(sizeof(mot_program) % 16 == 0 && sizeof(mot_tile_image) % 16 == 0, "whole pieces");
    static_assert(PROGRAM + IMAGE <= MOT_TILE_THREADS, "a piece a thread");
    if (threadIdx.x < PROGRAM)
        ((uint4 *)&s.program)[threadIdx.x] = ((const uint4 *)from)[threadIdx.x];
    else if (image && threadIdx.x < PROGRAM + IMAGE)
        ((uint4 *)&s.image)[threadIdx.x - PROGRAM] = ((const uint4 *)image)[threadIdx.x - PROGRAM];
    __syncthreads();
    if (threadIdx.x == 0) {
        if (image) {
            s.current = s.image.src;
            s.current_strided = is_tiny(s.image);
            s.arrived = s.waits = 0;
        }
        s.phase = 0;
        begin_tiles();
    }
    static_assert(MOT_TILE_THREADS == 256, "a value for each thread");
#pragma unroll 1
    for (int t = 0; t < MOT_WINDOW; t++) {
        unsigned steps = s.program.made_of[t];
        if (!steps)
            continue;
        uint8_t v = (uint8_t)threadIdx.x;
#pragma unroll 1
        for (; steps; steps &= steps - 1) {
            const int step = __ffs(steps) - 1;
            v = mot_point_value(s.program.id[step], v, &s.program.arg[step]);
        }
        for (int c = 0; c < 3; c++)
            s.table[t][c][threadIdx.x] = v;
    }
    __syncthreads();
}

/* Cuts the image into strips of columns, or back into its tiles. A barrier must follow. */
DEVICE void cut_image(bool strips)
{
    mot_tile_image &image = cta().image;
    if (threadIdx.x != 0)
        return;
    image.cut =
        strips ? mot_cut_strips(image.width, image.height, image.members) : mot_cut_tiles(image.width, image.height);
    image.pitch = mot_tile_pitch(image.cut.width); /* tiles of an image that has strips span it */
    begin_tiles();
}

/* At the end of a phase: if the CTA has another tile, makes that the current one. For all threads. */
DEVICE bool has_another_tile()
{
    tile_state &s = cta();
    const int next = s.tile + s.image.members;
    if (!s.several)
        return false;
    __syncthreads(); /* all have read s.tile */
    if (threadIdx.x == 0)
        choose_tile(next < s.tiles ? next : s.member);
    __syncthreads();
    return next < s.tiles;
}

/* Runs the program in shared memory on this CTA's part of an image. What is needed across ops lies in shared memory:
 * each op is a function that takes all registers. */
template <int FORMAT> DEVICE void run_program(const mot_tiles_job &job)
{
    tile_state &s = cta();
#pragma unroll 1
    for (int at = 0;; at++) {
        const mot_program_op &op = s.program.op[at];
        /* from here on this CTA waits for no other one */
        if (at == s.program.last_op && threadIdx.x == 0 && s.tile + s.image.members >= s.tiles)
            s.next = gridDim.x + atomicAdd(&job.counters->taken, 1u);
        switch (op.code) {
        case MOT_DO_TABLE:
            make_table<FORMAT>(op, totals_of(job, op));
            break;
        case MOT_DO_CURRENT:
            set_current(op.a);
            break;
        case MOT_DO_CUT:
            cut_image(op.a != 0);
            break;
        case MOT_DO_MEET:
        case MOT_DO_END:
            if (has_another_tile()) {
                at = s.phase - 1;
                continue;
            }
            if (op.code == MOT_DO_END)
                return;
            meet();
            break;
        default:
            if (s.tile < s.tiles)
                do_tile<FORMAT>(job, op);
            __syncthreads();
            if (op.arrives && s.image.members > 1 && threadIdx.x == 0)
                arrive_early();
            continue;
        }
        if (threadIdx.x == 0)
            s.phase = at + 1;
        __syncthreads();
    }
}

template <int FORMAT>
static __global__ void __launch_bounds__(MOT_TILE_THREADS, MOT_TILE_CTAS)
    tile_kernel(const __grid_constant__ mot_tiles_job job)
{
    tile_state &s = cta();
    wait_for_previous_kernel();
    if (threadIdx.x == 0) {
        unsigned pairs = 0;
        for (int l = 0; l < MOT_TILE_LISTS; l++)
            s.list_end[l] = pairs += job.counters->pairs[l];
        s.next = blockIdx.x;
    }
    for (;;) {
        __syncthreads(); /* s.next is known, and all threads are done with the last image */
        const unsigned taken = s.next, pairs = s.list_end[MOT_TILE_LISTS - 1];
        if (taken >= pairs)
            break;
        int64_t at = taken;
        for (int l = 1; l < MOT_TILE_LISTS; l++)
            at = taken >= s.list_end[l - 1] ? l * job.pairs_most + taken - s.list_end[l - 1] : at;
        const mot_tile_pair pair = job.pairs[at];
        if (threadIdx.x == 0)
            s.place = pair.image, s.member = pair.member;
        const mot_program *program = job.programs + (int64_t)pair.image * job.windows;
        const mot_tile_image *image = &job.image[pair.image];
#pragma unroll 1
        for (bool more = true; more; program++, image = nullptr) {
            load_program(program, image);
            more = s.program.more;
            run_program<FORMAT>(job);
            __syncthreads();
        }
        if (threadIdx.x == 0 && s.next == s.list_end[MOT_TILE_LISTS - 1] + gridDim.x - 1)
            *job.counters = mot_tile_counters{}; /* the last CTA to ask: no one reads them again */
    }
}

#endif
