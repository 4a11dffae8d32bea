/* SPDX-License-Identifier: Apache-2.0 */
/* The three box passes of a blur along a line of components in shared memory, in place, by one thread or by several. */
#ifndef MOT_BLUR_RUNS_CUH
#define MOT_BLUR_RUNS_CUH

#include "kernels/blur.h"
#include "kernels/cuda/pixels.cuh"
#include "kernels/cuda/tile_program.h"

/* The window of a box pass that moves along a line of one channel, a component at a time. */
template <int EDGE, int OP> struct blur_window {
    uint32_t near[2 * EDGE]; /* the components around the next output, but for the last one */
    uint32_t inner;          /* the sum of all of them but the first */

    __device__ __forceinline__ void begin(const uint32_t *first)
    {
        inner = 0;
#pragma unroll
        for (int i = 0; i < 2 * EDGE; i++) {
            near[i] = first[i];
            inner += i > 0 ? first[i] : 0;
        }
    }

    /* The output whose window ends with `last`. */
    __device__ __forceinline__ uint32_t next(uint32_t last, const mot_arg &arg)
    {
        uint32_t edges = near[0] + last;
        keep(edges); /* or the compiler shares inner + last, and adds once more */
        const uint32_t out = mot_blur_value(OP, inner, inner + edges, &arg);
        inner = EDGE == 1 ? last : inner + last - near[1]; /* known to be the same where it is a single one */
#pragma unroll
        for (int i = 0; i < 2 * EDGE - 1; i++)
            near[i] = near[i + 1];
        near[2 * EDGE - 1] = last;
        return out;
    }
};

/* The three box passes of a blur, each of which takes what the one before it makes. */
template <int EDGE, int OP> struct blur_windows {
    blur_window<EDGE, OP> pass[MOT_BLUR_PASSES];

    /* `first`: the components from 3 EDGE before a run to 3 EDGE behind its begin. Before a line's begin, each pass
     * takes the first value that the one before it makes there. */
    __device__ __forceinline__ void begin(const uint32_t first[6 * EDGE], bool begins_line, const mot_arg &arg)
    {
        uint32_t second[4 * EDGE], third[2 * EDGE];
        pass[0].begin(first);
#pragma unroll
        for (int i = 0; i < 4 * EDGE; i++)
            second[i] = pass[0].next(first[2 * EDGE + i], arg);
#pragma unroll
        for (int i = 0; i < 2 * EDGE; i++)
            second[i] = begins_line ? second[2 * EDGE] : second[i];
        pass[1].begin(second);
#pragma unroll
        for (int i = 0; i < 2 * EDGE; i++)
            third[i] = pass[1].next(second[2 * EDGE + i], arg);
#pragma unroll
        for (int i = 0; i < EDGE; i++)
            third[i] = begins_line ? third[EDGE] : third[i];
        pass[2].begin(third);
    }

    __device__ __forceinline__ uint32_t next(uint32_t last, const mot_arg &arg)
    {
        return pass[2].next(pass[1].next(pass[0].next(last, arg), arg), arg);
    }

    /* As next, for the `k`-th of the last 3 EDGE outputs of a run. Behind a line's end, each pass takes the last value
     * that the one before it makes there. */
    __device__ __forceinline__ uint32_t next_at_end(uint32_t last, int k, bool ends_line, const mot_arg &arg)
    {
        const uint32_t before1 = pass[1].near[2 * EDGE - 1], before2 = pass[2].near[2 * EDGE - 1];
        uint32_t v = pass[0].next(last, arg);
        v = pass[1].next(k >= EDGE && ends_line ? before1 : v, arg);
        return pass[2].next(k >= 2 * EDGE && ends_line ? before2 : v, arg);
    }
};

/* How lines of a length are cut into runs, one a thread. */
template <int RADIUS> struct blur_runs {
    enum { EDGE = RADIUS + 1, HALO = MOT_BLUR_PASSES * EDGE };
    enum { AT_ONCE = 2 * EDGE + 1 }; /* the windows, which take a register more, then are in the same ones again */
    int length, each, runs;

    /* Both are HALO or more. */
    __device__ __forceinline__ blur_runs(int length, int each) : length(length), each(each)
    {
        runs = (length - HALO) / each + 1; /* the last one has HALO components or more */
    }

    /* Blurs run `run` of a line that begins at `line`, if `any`. The thread first reads the components of its
     * neighbours' runs that it needs, so all threads of a line call this at the same time. There is a barrier inside.
     */
    template <int OP>
    __device__ __forceinline__ void blur(uint8_t *line, int stride, int run, bool any, const mot_arg &arg) const
    {
        run = any ? run : 0;
        const bool begins = run == 0, ends = run == runs - 1;
        const int first = run * each, n = ends ? length - first : each;
        const int before = begins ? 0 : stride, behind = ends ? 0 : stride; /* past its ends a line repeats them */
        uint8_t *at = line + first * stride;
        const uint8_t *const last = at + (n - 1) * stride;
        uint32_t head[2 * HALO], after[HALO];
#pragma unroll
        for (int k = 0; k < HALO; k++)
            head[k] = at[(k - HALO) * before];
#pragma unroll
        for (int k = 0; k < HALO; k++)
            head[HALO + k] = at[k * stride];
#pragma unroll
        for (int k = 0; k < HALO; k++)
            after[k] = last[(k + 1) * behind];
        blur_windows<EDGE, OP> windows;
        windows.begin(head, begins, arg);
        __syncthreads();
        if (!any)
            return;
        const uint8_t *const inside = at + (n - HALO) * stride; /* up to here windows end within the run */
#pragma unroll 1
        while (at + (AT_ONCE - 1) * stride < inside) {
            uint8_t v[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                v[k] = at[(HALO + k) * stride];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++, at += stride)
                *at = (uint8_t)windows.next(v[k], arg);
        }
#pragma unroll 1
        for (; at < inside; at += stride)
            *at = (uint8_t)windows.next(at[HALO * stride], arg);
#pragma unroll
        for (int k = 0; k < HALO; k++, at += stride)
            *at = (uint8_t)windows.next_at_end(after[k], k, ends, arg);
    }
};

/* A blur whose op and radius are known at compile time. */
template <int RADIUS_, int OP_> struct blur_kind {
    enum { RADIUS = RADIUS_, OP = OP_ };
};

template <int OP, class BODY> DEVICE void for_blur_radius(const mot_arg *arg, BODY body)
{
    static_assert(MOT_LINES_RADIUS == 2, "one for each of these, and for 0");
    switch (mot_blur_radius(arg)) {
    case 0:
        return body(blur_kind<0, OP>{});
    case 1:
        return body(blur_kind<1, OP>{});
    default:
        return body(blur_kind<2, OP>{});
    }
}

#include "kernels/shapes_off.h"
#undef MOT_IF_BLUR
#define MOT_IF_BLUR(ID, stem) \
    case MOT_OP_##ID: \
        return for_blur_radius<MOT_OP_##ID>(arg, body);

/* Calls body(blur_kind) for a blur's op and radius. */
template <class BODY> DEVICE void for_blur(int op, const mot_arg *arg, BODY body)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return;
    }
}
#include "kernels/shapes_off.h"

#endif
