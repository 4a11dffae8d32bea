/* SPDX-License-Identifier: Apache-2.0 */
/* The tile kernel. A CTA takes a part of one image after the other, and runs the image's programs on it. */
#ifndef MOT_TILES_CUH
#define MOT_TILES_CUH

#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/tile_stats.cuh"

/* Makes tile `t` of the image the current one. A barrier must follow. */
DEVICE void choose_tile(int t)
{
    tile_state &s = cta();
    if (threadIdx.x != 0)
        return;
    const int down = t / s.image.cut.across, right = t - down * s.image.cut.across;
    s.x0 = right * s.image.cut.width;
    s.y0 = down * s.image.cut.height;
    s.columns = min(s.image.cut.width, s.image.width - s.x0);
    s.rows = min(s.image.cut.height, s.image.height - s.y0);
}

/* Sets what lies in shared memory from here on: the tile; with `halo` also a row above and below it, and a quad on each
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

DEVICE void set_current(int place)
{
    tile_state &s = cta();
    if (threadIdx.x == 0)
        s.current = place == MOT_PLACE_WORK ? s.image.work : place == MOT_PLACE_SCRATCH ? s.image.scratch : s.image.src;
    if (threadIdx.x == 0)
        s.current_strided = place == MOT_PLACE_WORK && s.image.work_strided;
    __syncthreads();
}

template <int READ, bool TAIL> DEVICE void gather_nearest(const mot_program_op &op)
{
    if (op.c == MOT_NONE)
        gather_tile<READ, false, TAIL>(op.b, 0, op.d);
    else
        gather_tile<READ, true, TAIL>(op.b, op.c, op.d);
}

template <int READ, bool TAIL> DEVICE void blur_pass(const mot_program_op &op)
{
    if (op.a)
        blur_tile<READ, true, TAIL>(op.b);
    else
        blur_tile<READ, false, TAIL>(op.b);
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
        else if (is_packed(READ) && has_tail<READ>(reader_of<READ>(s.current)))
            gather_nearest<READ, is_packed(READ)>(op);
        else
            gather_nearest<READ, false>(op);
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
        if (is_packed(READ) && has_tail<READ>(reader_of<READ>(s.current)))
            blur_pass<READ, is_packed(READ)>(op);
        else
            blur_pass<READ, false>(op);
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
        stencil_tile<FORMAT>(op.b);
        break;
    case MOT_DO_LINES:
        if (op.a)
            blur_lines_by<FORMAT, true>(op.b);
        else
            blur_lines_by<FORMAT, false>(op.b);
        break;
    case MOT_DO_COUNT_TILE:
        count_tile<FORMAT>(needs_of(s.program.id[op.b]));
        break;
    case MOT_DO_COUNT_MEMORY:
        if (FORMAT != MOT_FORMAT_STRIDED && s.current_strided)
            count_memory<FORMAT, MOT_FORMAT_STRIDED>(needs_of(s.program.id[op.b]), op.c);
        else
            count_memory<FORMAT, FORMAT>(needs_of(s.program.id[op.b]), op.c);
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
    if (image && threadIdx.x == 0) {
        s.current = s.image.src;
        s.current_strided = 0;
        s.arrived = 0;
    }
    static_assert(MOT_TILE_THREADS == 256, "a value for each thread");
    for (int t = 0; t < MOT_WINDOW; t++) {
        unsigned steps = s.program.made_of[t];
        uint8_t v = (uint8_t)threadIdx.x;
        if (!steps)
            continue;
        for (; steps; steps &= steps - 1) {
            const int step = __ffs(steps) - 1;
            v = mot_point_value(s.program.id[step], v, &s.program.arg[step]);
        }
        for (int c = 0; c < 3; c++)
            s.table[t][c][threadIdx.x] = v;
    }
    __syncthreads();
}

DEVICE bool is_of_strips(const mot_program_op &op)
{
    return op.code == MOT_DO_FETCH && op.b;
}

/* Cuts the image into strips of columns, or back into its tiles. */
DEVICE void cut_image(bool strips)
{
    mot_tile_image &image = cta().image;
    if (threadIdx.x == 0) {
        image.cut = strips ? mot_cut_strips(image.width, image.height, image.members)
                           : mot_cut_tiles(image.width, image.height);
        image.pitch = mot_tile_pitch(image.cut.width); /* tiles of an image that has strips span it */
    }
    __syncthreads();
}

/* Runs the program in shared memory on this CTA's part of an image. */
template <int FORMAT> DEVICE void run_program(const mot_tiles_job &job)
{
    tile_state &s = cta();
    uint32_t *const totals = job.totals + ((int64_t)s.place * job.max_counts + s.program.first_count) * MOT_TOTAL_WORDS;
    int at = 0, counts = 0;
    bool strips = false;
    for (bool first = true;; first = false) {
        for (; s.program.op[at].code == MOT_DO_TABLE || s.program.op[at].code == MOT_DO_CURRENT; at++) {
            const mot_program_op op = s.program.op[at];
            if (op.code == MOT_DO_TABLE)
                make_table<FORMAT>(op.a, op.b, op.c, op.d);
            else
                set_current(op.a);
        }
        if (threadIdx.x == 0)
            s.totals = totals + counts * MOT_TOTAL_WORDS;
        __syncthreads();
        int end = at;
        while (s.program.op[end].code != MOT_DO_MEET && s.program.op[end].code != MOT_DO_END) {
            const int code = s.program.op[end++].code;
            counts += code == MOT_DO_COUNT_TILE || code == MOT_DO_COUNT_MEMORY;
        }
        const bool last = s.program.op[end].code == MOT_DO_END;
        unsigned next = 0;
        if (last && !s.program.more && threadIdx.x == 0) /* from here on this CTA waits for no other one */
            next = gridDim.x + atomicAdd(&job.counters->taken, 1u);
        const bool other = strips != is_of_strips(s.program.op[at]);
        if (other)
            cut_image(strips = !strips);
        const int tiles = s.image.cut.across * s.image.cut.down;
        for (int t = s.member; t < tiles; t += s.image.members) {
            if (first || other || tiles > s.image.members) {
                choose_tile(t);
                __syncthreads();
            }
            for (int i = at; i < end; i++) {
                do_tile<FORMAT>(job, s.program.op[i]);
                __syncthreads();
            }
        }
        if (last) {
            if (threadIdx.x == 0)
                s.next = next;
            return;
        }
        meet();
        at = end + 1;
    }
}

DEVICE void wait_for_earlier_kernel()
{
#if defined(__NVCC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <int FORMAT>
static __global__ void __launch_bounds__(MOT_TILE_THREADS, MOT_TILE_CTAS)
    tile_kernel(const __grid_constant__ mot_tiles_job job)
{
    tile_state &s = cta();
    wait_for_earlier_kernel();
    unsigned pairs = 0, end[MOT_TILE_LISTS]; /* of each list */
    for (int l = 0; l < MOT_TILE_LISTS; l++)
        end[l] = pairs += job.counters->pairs[l];
    for (unsigned taken = blockIdx.x; taken < pairs; taken = s.next) {
        int64_t at = taken;
        for (int l = 1; l < MOT_TILE_LISTS; l++)
            at = taken >= end[l - 1] ? l * job.pairs_most + taken - end[l - 1] : at;
        const mot_tile_pair pair = job.pairs[at];
        __syncthreads(); /* all threads know s.next, and are done with the last image */
        if (threadIdx.x == 0)
            s.place = pair.image, s.member = pair.member;
        const mot_program *program = job.programs + (int64_t)pair.image * job.windows;
        const mot_tile_image *image = &job.image[pair.image];
        for (bool more = true; more; program++, image = nullptr) {
            load_program(program, image);
            more = s.program.more;
            run_program<FORMAT>(job);
            __syncthreads();
        }
        if (s.next == pairs + gridDim.x - 1 && threadIdx.x == 0) /* the last CTA to ask: no one reads them again */
            *job.counters = mot_tile_counters{};
    }
}

#endif
