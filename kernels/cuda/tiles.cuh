/* SPDX-License-Identifier: Apache-2.0 */
/* The tile kernel. A CTA takes one part of one image after the other, and runs the image's programs on it. */
#ifndef MOT_TILES_CUH
#define MOT_TILES_CUH

#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/tile_stats.cuh"

/* Tile `t` of the image becomes the one that is worked on. A barrier must follow. */
DEVICE void choose_tile(int t)
{
    tile_state &s = cta();
    if (threadIdx.x != 0)
        return;
    const int down = t / s.cut.across, right = t - down * s.cut.across;
    s.x0 = right * s.cut.width;
    s.y0 = down * s.cut.height;
    s.columns = min(s.cut.width, s.width - s.x0);
    s.rows = min(s.cut.height, s.height - s.y0);
}

/* What lies in shared memory from now on: the tile, with `halo` a row more on each side, and a quad where it does not
 * span the image. A barrier must follow. */
DEVICE void place_tile(int halo)
{
    tile_state &s = cta();
    if (threadIdx.x != 0)
        return;
    const int side = halo && s.cut.across > 1 ? 4 : 0;
    s.tile_x = s.x0 - side;
    s.tile_columns = s.columns + 2 * side;
    s.tile_y = s.y0 - halo;
    s.tile_rows = s.rows + 2 * halo;
}

DEVICE void set_current(int place)
{
    tile_state &s = cta();
    if (threadIdx.x == 0)
        s.current = place == MOT_PLACE_WORK ? s.work : place == MOT_PLACE_SCRATCH ? s.scratch : s.src;
    if (threadIdx.x == 0)
        s.current_strided = place == MOT_PLACE_WORK && s.work_strided;
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
        s.plan.path = s.program.path[step], s.plan.width = s.width, s.plan.height = s.height;
}

/* An instruction that is done for each tile. */
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
            store_tile<FORMAT>(s.scratch);
        else if (op.a == MOT_PLACE_RESULT && job.has_output)
            store_tile_as<FORMAT>(job.output_dtype, job.output_values);
        else if (s.work_strided)
            store_strided(s.work);
        else
            store_tile<FORMAT>(s.work);
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

/* The next pair of an image and one of its members is this CTA's. For one thread. */
DEVICE void take_next(const mot_tiles_job &job)
{
    cta().next = atomicAdd(job.ticket, 1u);
}

/* Copies a program to shared memory, and its tables, each for three channels. */
DEVICE void load_program(const mot_program *from)
{
    tile_state &s = cta();
    static_assert(sizeof(mot_program) % 16 == 0 && sizeof(mot_program) / 16 <= MOT_TILE_THREADS, "a piece a thread");
    if (threadIdx.x < sizeof(mot_program) / 16)
        ((uint4 *)&s.program)[threadIdx.x] = ((const uint4 *)from)[threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.x; i < MOT_WINDOW * 64; i += MOT_TILE_THREADS) {
        const int t = i >> 6;
        if (!s.program.made_of[t])
            continue;
        const uint32_t v = ((const uint32_t *)s.program.table[t])[i & 63];
        for (int c = 0; c < 3; c++)
            ((uint32_t *)s.table[t][c])[i & 63] = v;
    }
    __syncthreads();
}

/* This CTA's part of one image by the program in shared memory. */
template <int FORMAT> DEVICE void run_program(const mot_tiles_job &job)
{
    tile_state &s = cta();
    const int tiles = s.cut.across * s.cut.down;
    uint32_t *const totals = job.totals + ((int64_t)s.image * job.max_counts + s.program.first_count) * MOT_TOTAL_WORDS;
    int at = 0, counts = 0;
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
        if (last && !s.program.more && threadIdx.x == 0)
            take_next(job); /* from here on this CTA waits for no other */
        for (int t = s.member; t < tiles; t += s.members) {
            if (first || tiles > s.members) {
                choose_tile(t);
                __syncthreads();
            }
            for (int i = at; i < end; i++) {
                do_tile<FORMAT>(job, s.program.op[i]);
                __syncthreads();
            }
        }
        if (last)
            return;
        meet();
        at = end + 1;
    }
}

/* What the pair of this number is, and the image as it lies in memory. For warp 0. */
DEVICE void find_image(const mot_tiles_job &job, unsigned pair)
{
    tile_state &s = cta();
    int place, member;
    if (job.image) {
        const int lane = threadIdx.x & 31;
        int low = 0, high = job.images; /* the image that it belongs to is in [low, high) */
        while (high - low > 1) {
            const int step = (high - low + 31) / 32, probe = low + lane * step;
            const bool begun = probe < high && (unsigned)job.image[probe].first_member <= pair;
            const int last = 31 - __clz(__ballot_sync(0xFFFFFFFFu, begun));
            low += last * step;
            high = min(low + step, high);
        }
        place = low;
        member = (int)(pair - (unsigned)job.image[low].first_member);
    } else {
        place = (int)(pair / (unsigned)job.members);
        member = (int)(pair - (unsigned)place * (unsigned)job.members);
        if (job.order)
            place = job.order[place].sample;
    }
    if (threadIdx.x != 0)
        return;
    const int sample = job.first + place;
    const mot_view src = view_of(job.src, job.channels, sample);
    s.image = place;
    s.src = src;
    s.work = view_of(job.work, job.channels, sample);
    s.result = view_of(job.output, job.channels, sample);
    const int64_t scratch = job.image ? job.image[place].scratch : place * job.scratch_bytes;
    s.scratch = mot_scratch_view(job.format, job.channels, src.width, src.height, job.scratch + scratch);
    s.width = src.width;
    s.height = src.height;
    s.channels = job.channels;
    s.work_strided = job.work_strided;
    s.cut = mot_cut_tiles(src.width, src.height);
    s.member = member;
    s.members = mot_tile_members(&s.cut, job.team, job.spread);
    s.pitch = mot_tile_pitch(s.cut.across > 1 ? s.cut.width + 8 : s.cut.width);
    s.arrivals = job.arrivals + place;
    s.arrived = 0;
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
    if (threadIdx.x == 0)
        take_next(job);
    for (;;) {
        __syncthreads();
        const unsigned pair = s.next;
        if (pair >= job.all_members)
            return;
        __syncthreads();
        if (threadIdx.x < 32)
            find_image(job, pair);
        __syncthreads();
        const mot_program *program = job.programs + (int64_t)s.image * job.windows;
        for (bool more = true; more; program++) {
            load_program(program);
            more = s.program.more;
            if (s.program.nothing) {
                if (threadIdx.x == 0)
                    take_next(job);
                break;
            }
            if (s.program.op[0].code != MOT_DO_CURRENT)
                set_current(MOT_PLACE_SRC);
            run_program<FORMAT>(job);
            __syncthreads();
        }
    }
}

#endif
