/* SPDX-License-Identifier: Apache-2.0 */
/* The tile kernel. A CTA takes a part of one image after the other, and runs the image's programs on it. */
#ifndef MOT_TILE_KERNEL_CUH
#define MOT_TILE_KERNEL_CUH

#include "kernels/cuda/tile_copy.cuh"
#include "kernels/cuda/tile_inplace.cuh"
#include "kernels/cuda/tile_interpolate.cuh"
#include "kernels/cuda/tile_load.cuh"
#include "kernels/cuda/tile_stats.cuh"
#include "kernels/cuda/tile_store.cuh"

/* Makes tile `t` of the image the current one; past the last tile there is nothing to do. For one thread; a barrier
 * must follow. */
DEVICE void choose_tile(int t)
{
    tile_state &s = tile_cta();
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
    tile_state &s = tile_cta();
    mot_tile_cut &cut = s.image.cut;
    s.several = cut.across * cut.down > s.image.ctas;
    if (s.several)
        mot_even_turns(&cut, s.image.height, s.image.ctas);
    s.tiles = cut.across * cut.down;
    choose_tile(s.rank);
}

/* Sets what shared memory holds from here on: the tile; with `halo` also a row above and below it, and a quad on each
 * side unless it spans the image. A barrier must follow. */
DEVICE void place_tile(int halo)
{
    tile_state &s = tile_cta();
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

/* A barrier must follow. */
DEVICE void set_current(int place)
{
    tile_state &s = tile_cta();
    if (threadIdx.x == 0) {
        s.current = place == MOT_PLACE_WORK ? s.image.work : place == MOT_PLACE_SCRATCH ? s.image.scratch : s.image.src;
        s.current_strided = (place == MOT_PLACE_WORK && s.image.work_strided) || is_tiny(s.image);
    }
}

/* Where the image's CTAs add up the statistics of a COUNT. */
DEVICE uint32_t *totals_of(mot_program_op op)
{
    return tile_cta().totals + op.count * MOT_TOTAL_WORDS;
}

/* READ: the format that `current` is read in. */
template <int READ> OUTLINE void bring_tile(mot_program_op op)
{
    tile_state &s = tile_cta();
    switch (op.code) {
    case MOT_DO_FETCH:
        fetch_tile<READ>();
        break;
    case MOT_DO_GATHER:
        if constexpr (READ == MOT_FORMAT_STRIDED)
            gather_strided(op.b, op.c, op.d);
        else if (op.c == MOT_NONE && moves_rows(op.b))
            move_rows<READ>(op.b, op.d);
        else if (op.c == MOT_NONE)
            gather_tile<READ, false>(op.b, 0, op.d);
        else
            gather_tile<READ, true>(op.b, op.c, op.d);
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
        if (op.a)
            blur_tile<READ, true>(op.b);
        else
            blur_tile<READ, false>(op.b);
        break;
    }
}

/* The warp that interpolates, or whose positions are sums. */
DEVICE void prepare_plan(int step)
{
    tile_state &s = tile_cta();
    if (threadIdx.x < 6)
        s.plan.m[threadIdx.x] = s.program.m[step][threadIdx.x];
    if (threadIdx.x == 6)
        s.plan.path = s.program.path[step], s.plan.width = s.image.width, s.plan.height = s.image.height;
}

/* One warp does what is needed once for the CTA between ops: the last one, which often has a turn of a loop less. */
DEVICE bool is_service_warp()
{
    return threadIdx.x / 32 == MOT_TILE_WARPS - 1;
}

enum { MOT_PROGRAM_PIECES = sizeof(mot_program) / 16, MOT_IMAGE_PIECES = sizeof(mot_tile_image) / 16 };
static_assert(sizeof(mot_program) % 16 == 0 && sizeof(mot_tile_image) % 16 == 0, "whole pieces");
static_assert(offsetof(tile_state, image) == sizeof(mot_program), "one behind the other");
static_assert(offsetof(tile_state, next_image) == offsetof(tile_state, next_program) + sizeof(mot_program), "here too");
static_assert(MOT_PROGRAM_PIECES + MOT_IMAGE_PIECES <= MOT_TILE_THREADS, "a piece a thread");

/* Begins to load a program of the next task's image, and the image's description. For the service warp. */
DEVICE void begin_to_load(const mot_tiles_job &job, int place, int window)
{
    const uint4 *const program = (const uint4 *)&job.programs[(int64_t)place * job.windows + window];
    const uint4 *const image = (const uint4 *)&job.image[place];
    uint4 *const to = (uint4 *)&tile_cta().next_program;
#pragma unroll
    for (int i = threadIdx.x & 31; i < MOT_PROGRAM_PIECES + MOT_IMAGE_PIECES; i += 32)
        begin_to_copy(&to[i], i < MOT_PROGRAM_PIECES ? program + i : image + (i - MOT_PROGRAM_PIECES));
}

/* Takes the only task of a CTA of a launch that has no lists, and begins to load its program. For the service warp. */
DEVICE void take_own_task(const mot_tiles_job &job)
{
    tile_state &s = tile_cta();
    const int place = blockIdx.x / job.ctas_per_image;
    if (place < job.images)
        begin_to_load(job, place, 0);
    if ((threadIdx.x & 31) == 0) {
        s.next_place = place < job.images ? place : -1;
        s.next_rank = blockIdx.x - place * job.ctas_per_image;
        s.next_window = 0;
    }
}

/* Takes the CTA's next task, which has this number, and begins to load its program. For the service warp. */
DEVICE void take_task(const mot_tiles_job &job, unsigned number)
{
    tile_state &s = tile_cta();
    const unsigned tasks = s.list_end[MOT_TILE_LISTS - 1];
    const bool one = (threadIdx.x & 31) == 0;
    if (number < tasks) {
        unsigned begin = 0;
        int list = 0;
        for (; number >= s.list_end[list]; list++)
            begin = s.list_end[list];
        const mot_tile_task task = job.tasks[list * job.most_tasks + (number - begin)];
        begin_to_load(job, task.image, 0);
        if (one)
            s.next_place = task.image, s.next_rank = task.rank, s.next_window = 0;
    } else if (one) {
        s.next_place = -1;
    }
    if (one && number == tasks + gridDim.x - 1)
        *job.counters = mot_tile_counters{}; /* the last CTA to ask: no one reads them again */
}

/* At a program's end, when the service warp is done with its part of the last op: begins to load what comes next,
 * another program of the image (`more`) or the next task's. From here on this CTA waits for no other one. For the
 * service warp. */
DEVICE void look_ahead(const mot_tiles_job &job, bool more)
{
    tile_state &s = tile_cta();
    if (s.tile + s.image.ctas < s.tiles)
        return; /* another turn follows */
    if (more) {
        const int window = s.next_window + 1;
        begin_to_load(job, s.next_place, window);
        __syncwarp();
        s.next_window = window;
        return;
    }
    if (job.ctas_per_image > 0) {
        s.next_place = -1;
        return;
    }
    const unsigned taken = (threadIdx.x & 31) == 0 ? atomicAdd(&job.counters->taken, 1u) : 0;
    take_task(job, gridDim.x + __shfl_sync(0xFFFFFFFFu, taken, 0));
}

/* Begins with the program that was loaded: makes the tables that do not depend on the image. A barrier must follow. */
DEVICE void begin_program(const mot_tiles_job &job)
{
    tile_state &s = tile_cta();
    if (threadIdx.x < MOT_PROGRAM_PIECES + MOT_IMAGE_PIECES)
        ((uint4 *)&s)[threadIdx.x] = ((const uint4 *)&s.next_program)[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        s.rank = s.next_rank;
        s.current = s.image.src;
        s.current_strided = is_tiny(s.image);
        if (s.next_window == 0)
            s.arrived = 0;
        s.totals = job.totals + ((int64_t)s.next_place * job.max_counts + s.program.first_count) * MOT_TOTAL_WORDS;
        begin_tiles();
    }
    static_assert(MOT_TILE_THREADS == 256, "a value for each thread");
#pragma unroll 1
    for (int t = 0; t < s.program.tables; t++) {
        unsigned steps = s.program.point_steps[t];
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
}

/* Cuts the image into strips of columns, or back into its tiles. A barrier must follow. */
DEVICE void cut_image(bool strips)
{
    tile_state &s = tile_cta();
    mot_tile_image &image = s.image;
    if (threadIdx.x != 0)
        return;
    if (strips)
        s.uncut = image.cut;
    image.cut = strips ? mot_cut_strips(image.width, image.height, image.ctas) : s.uncut;
    image.pitch = mot_tile_pitch(image.cut.width); /* tiles of an image that has strips span it */
    begin_tiles();
}

/* At the end of a phase that takes several turns: if the CTA has another tile, makes that the current one, else its
 * first one. For all threads. */
DEVICE bool has_another_tile()
{
    tile_state &s = tile_cta();
    const int next = s.tile + s.image.ctas;
    __syncthreads(); /* all have read s.tile */
    if (threadIdx.x == 0)
        choose_tile(next < s.tiles ? next : s.rank);
    __syncthreads();
    return next < s.tiles;
}

/* Runs the program in shared memory on this CTA's part of an image. What is needed across ops lies in shared memory:
 * each op is a function that takes all registers. A barrier precedes each op, so that none needs one at its end. */
template <int FORMAT> DEVICE void run_program(const mot_tiles_job &job)
{
    tile_state &s = tile_cta();
    const uint2 *at = op_at(0);
#pragma unroll 1
    for (;;) {
        const mot_program_op op = load_op(at++);
        if (op.code == MOT_DO_END && is_service_warp())
            look_ahead(job, op.a);
        __syncthreads();
        if (op.arrives && s.image.ctas > 1 && is_service_warp() && threadIdx.x % 32 == 0)
            add_released(s.image.arrivals);
        switch (op.code) {
        case MOT_DO_END:
        case MOT_DO_BARRIER:
            if (s.several && has_another_tile()) {
                at = op_at(op.b);
                break;
            }
            if (op.code == MOT_DO_END)
                return;
            if (s.image.ctas > 1 && is_service_warp()) {
                if (threadIdx.x % 32 == 0)
                    wait_at_image_barrier(op.a);
                __syncwarp();
            }
            break;
        case MOT_DO_TABLE:
            make_table<FORMAT>(op, totals_of(op));
            break;
        case MOT_DO_CURRENT:
            set_current(op.a);
            break;
        case MOT_DO_CUT:
            cut_image(op.a != 0);
            __syncthreads();
            while (s.tile >= s.tiles && load_op(at).code > MOT_DO_BARRIER)
                at++; /* no strip for this CTA: goes on at the phase's end */
            break;
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
            blur_lines_by<FORMAT>(op.b, op.a);
            break;
        case MOT_DO_COUNT_TILE:
            count_tile<FORMAT>(needs_of(s.program.id[op.b]), totals_of(op));
            break;
        case MOT_DO_COUNT_MEMORY:
            if (FORMAT != MOT_FORMAT_STRIDED && s.current_strided)
                count_memory<FORMAT, MOT_FORMAT_STRIDED>(needs_of(s.program.id[op.b]), op.c, totals_of(op));
            else
                count_memory<FORMAT, FORMAT>(needs_of(s.program.id[op.b]), op.c, totals_of(op));
            break;
        case MOT_DO_STORE:
            if (op.a == MOT_PLACE_SCRATCH)
                store_tile<FORMAT>(s.image.scratch);
            else if (op.a == MOT_PLACE_RESULT && job.has_output)
                store_tile_as<FORMAT>(job);
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
}

template <int FORMAT>
static __global__ void __launch_bounds__(MOT_TILE_THREADS, MOT_TILE_CTAS)
    tile_kernel(const __grid_constant__ mot_tiles_job job)
{
    tile_state &s = tile_cta();
    wait_for_previous_kernel();
    if (is_service_warp() && job.ctas_per_image > 0) {
        take_own_task(job);
    } else if (is_service_warp()) {
        unsigned tasks = 0;
        for (int l = 0; l < MOT_TILE_LISTS && threadIdx.x % 32 == 0; l++)
            s.list_end[l] = tasks += job.counters->tasks[l];
        __syncwarp();
        take_task(job, blockIdx.x);
    }
    for (;;) {
        if (is_service_warp())
            wait_for_copies();
        __syncthreads(); /* the next program is there, and all threads are done with the last one */
        if (s.next_place < 0 || (job.ctas_per_image > 0 && s.next_rank >= s.next_image.ctas))
            break;
        begin_program(job);
        run_program<FORMAT>(job);
    }
}

#endif
