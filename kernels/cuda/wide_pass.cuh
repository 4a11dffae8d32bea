/* SPDX-License-Identifier: Apache-2.0 */
/* Components of a pass of an image of U16 and F32: where they come from, and what its items make of them. A thread has
 * N pixels of B bands at a time. If nothing moves, these are quads of neighbours in a row, so that loads and stores are
 * of 8 or 16 bytes; else they are below each other, and a warp has a row of 32. */
#ifndef MOT_WIDE_PASS_CUH
#define MOT_WIDE_PASS_CUH

#include "kernels/cuda/breaks_pixels.cuh"
#include "kernels/cuda/wide.h"

/* What a CTA's threads share of their task. */
struct wide_task {
    mot_wide_pass of;
    const mot_wide_item *items;  /* of the image */
    const mot_wide_item *source; /* the item that looks at other pixels; or NULL */
    const mot_wide_stats *stats; /* [channels] of the image */
    mot_view from, to, beside;
    int from_dtype, to_dtype;
    int quads; /* how threads have pixels */
    int image;
    uint32_t task; /* of the image's pass */
};

DEVICE mot_view wide_image_of(const mot_wide_call &call, int which, int width, int height, int i)
{
    if (which >= MOT_WIDE_SRC)
        return image_of(which == MOT_WIDE_SRC ? call.src : call.dst, call.channels, i);
    const int64_t row = 4 * (int64_t)width;
    return mot_view{
        (uint8_t *)(call.spare[which] + i * call.spare_floats), width, height, call.channels, 0, row, 4, row * height
    };
}

/* Task number `t` of a launch: to count (0) or to run (1). For one thread. */
DEVICE void wide_begin(const mot_wide_call &call, int runs, uint32_t t, wide_task &task)
{
    const int i = call.list[(2 * (int64_t)call.now + runs) * call.count * call.most_tasks + t];
    const mot_wide_pass of = call.pass[(int64_t)i * call.passes + call.now];
    const mot_wide_item *const items = call.items + (int64_t)i * call.most_items;
    task.of = of;
    task.items = items;
    task.source = mot_wide_source(items, &of);
    task.stats = call.stats + (int64_t)i * call.channels;
    task.from = wide_image_of(call, of.from, of.from_width, of.from_height, i);
    task.to = wide_image_of(call, of.to, of.width, of.height, i);
    task.beside = of.to == MOT_WIDE_DST && call.beside ? image_of(call.output, call.channels, i) : task.to;
    task.from_dtype = of.from == MOT_WIDE_SRC ? call.src_dtype : (int)MOTLEY_F32;
    task.to_dtype = of.to == MOT_WIDE_DST ? call.dst_dtype : (int)MOTLEY_F32;
    task.quads = mot_wide_quads(&of, task.source);
    task.image = i;
    task.task = t - of.task[runs];
}

/* ---- components in memory ---- */

/* A whole number of 16 bits, cheaper than its conversion and just as exact. */
DEVICE float wide_of_u16(uint32_t v)
{
    return __uint_as_float(0x4B000000u | v) - 8388608.0f;
}

/* WHOLE: images of U16, of which copies are F32; else all are F32. */
template <bool WHOLE> DEVICE float wide_load(const uint8_t *p, int dtype)
{
    __builtin_assume(__isGlobal(p)); /* which a pointer in shared memory does not tell */
    return WHOLE && dtype == MOTLEY_U16 ? wide_of_u16(*(const uint16_t *)p) : *(const float *)p;
}

template <bool WHOLE> DEVICE void wide_load_quad(const uint8_t *p, int dtype, float at[4])
{
    __builtin_assume(__isGlobal(p));
    if (WHOLE && dtype == MOTLEY_U16) {
        const uint2 v = *(const uint2 *)p;
#pragma unroll
        for (int k = 0; k < 4; k++)
            at[k] = wide_of_u16((k < 2 ? v.x : v.y) >> (16 * (k & 1)) & 0xFFFF);
        return;
    }
    const four v = *(const four *)p;
#pragma unroll
    for (int k = 0; k < 4; k++)
        at[k] = v.v[k];
}

/* Whether quads from `p` on can be loaded or stored at once, in all bands. */
DEVICE bool wide_is_packed(const mot_view &v, const uint8_t *p, int dtype)
{
    const uintptr_t bytes = mot_dtype_bytes(dtype);
    return v.pixel == (int64_t)bytes && (((uintptr_t)v.channel | (uintptr_t)p) & (4 * bytes - 1)) == 0;
}

/* Components become bits of a type, in the low bytes; those of U16 are whole numbers in its range. */
template <int N> DEVICE void wide_cast(const float at[N], int dtype, uint32_t bits[N])
{
    if (dtype == MOTLEY_F32) {
#pragma unroll
        for (int k = 0; k < N; k++)
            bits[k] = __float_as_uint(at[k]);
    } else if (dtype == MOTLEY_U16) {
#pragma unroll
        for (int k = 0; k < N; k++)
            bits[k] = __float_as_uint(at[k] + 8388608.0f) & 0xFFFF;
    } else if (dtype == MOTLEY_F16) {
#pragma unroll
        for (int k = 0; k < N; k++)
            bits[k] = at[k] == at[k] ? two_f16(at[k], 0.0f) & 0xFFFF : (__float_as_uint(at[k]) >> 16 & 0x8000) | 0x7E00;
    } else {
#pragma unroll
        for (int k = 0; k < N; k++)
            bits[k] = mot_output_bf16(at[k]);
    }
}

DEVICE void wide_store(uint8_t *p, uint32_t bits, int bytes)
{
    __builtin_assume(__isGlobal(p));
    if (bytes == 4)
        *(uint32_t *)p = bits;
    else
        *(uint16_t *)p = (uint16_t)bits;
}

/* ---- places ---- */

/* What a resize keeps of its first axis: rows of a tile's columns and one more, or columns of its rows. */
#define MOT_WIDE_KEPT 2640

/* A thread's pixels in a block. */
template <int N> struct wide_spot {
    int x[N / 4], y[N / 4]; /* of each quad; else [0], and rows y + 8 k */
    uint32_t there;         /* bit k: there is a pixel k */
    uint32_t born;          /* bit k: an item fills it */
};

/* Where a thread's pixels are in the first band of an image. */
template <int N> struct wide_memory {
    uint8_t *at[N / 4]; /* of each quad; else [0], */
    int64_t step;       /* and from row to row; of a quad from pixel to pixel */
    bool packed[N / 4]; /* quads are loaded or stored at once */
};

/* Shared memory of blocks. */
struct wide_room {
    union {
        int64_t place[8]
                     [MOT_WIDE_THREADS]; /* of pixels that move: in a band of the source, or the item that fills it */
        struct {
            float made[8][MOT_WIDE_THREADS]; /* what the source of a pass has made */
            double kept[MOT_WIDE_KEPT];      /* by a resize */
        };
    };
};

#define MOT_WIDE_BORN INT64_MIN /* of item 0 */

/* One move back, of any kind; -1: outside, or erased. Called: it is rare, and long. */
OUTLINE int64_t wide_back(const mot_trace_step *trace, int x, int y)
{
    const int inside = mot_trace_back(trace, &x, &y);
    return inside ? (int64_t)y << 32 | (int64_t)x : -1;
}

/* The same of a fixed one, which is of the whole image. */
DEVICE int64_t wide_back_fixed(const mot_trace_step &trace, int x, int y)
{
    const int to_x = (int32_t)(trace.fixed[2] + (uint32_t)x * trace.fixed[0] + (uint32_t)y * trace.fixed[1]) >> 16;
    const int to_y = (int32_t)(trace.fixed[5] + (uint32_t)x * trace.fixed[3] + (uint32_t)y * trace.fixed[4]) >> 16;
    const bool inside = to_x >= 0 && to_y >= 0 && to_x < trace.width && to_y < trace.height;
    return inside ? (int64_t)to_y << 32 | (int64_t)to_x : -1;
}

/* Finds the pixels of a block, and follows them back through the pass's items up to `end`. */
template <int N> DEVICE void wide_find(const wide_task &t, uint32_t block, int end, wide_room &room, wide_spot<N> &at)
{
    const mot_view &v = t.from;
    const int width = t.of.width, height = t.of.height;
    if (t.quads) {
        const uint32_t across = (uint32_t)(width + 3) / 4, all = across * (uint32_t)height;
        at.there = at.born = 0;
#pragma unroll
        for (int q = 0; q < N / 4; q++) {
            const uint32_t quad = (block * (N / 4) + q) * MOT_WIDE_THREADS + threadIdx.x;
            const uint32_t y = quad < all ? quad / across : (uint32_t)height - 1;
            at.y[q] = (int)y;
            at.x[q] = quad < all ? 4 * (int)(quad - y * across) : 0;
            const int count = quad < all ? min(4, width - at.x[q]) : 0;
            at.there |= ((1u << count) - 1) << (4 * q);
        }
        return;
    }
    const uint32_t across = (uint32_t)(width + MOT_WIDE_TILE - 1) / MOT_WIDE_TILE, row = block / across;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    at.x[0] = MOT_WIDE_TILE * (int)(block - row * across) + lane;
    at.y[0] = 8 * N * (int)row + warp;
    at.there = at.born = 0;
    MOT_ROLLED
    for (int k = 0; k < N; k++) {
        at.there |= at.x[0] < width && at.y[0] + 8 * k < height ? 1u << k : 0;
        if (t.source)
            continue;
        int64_t to = (int64_t)min(at.y[0] + 8 * k, height - 1) << 32 | (int64_t)min(at.x[0], width - 1);
        int s = end - 1;
        MOT_ROLLED
        for (; s >= t.of.first && to >= 0; s--) {
            const mot_trace_step &trace = t.items[s].trace;
            if (t.items[s].kind != MOT_WIDE_MOVES)
                continue;
            to = trace.kind == MOT_TRACE_FIXED ? wide_back_fixed(trace, (int)to, (int)(to >> 32))
                                               : wide_back(&trace, (int)to, (int)(to >> 32));
        }
        at.born |= to < 0 ? 1u << k : 0;
        room.place[k][threadIdx.x] = to < 0 ? MOT_WIDE_BORN + (s + 1) : (to >> 32) * v.row + (int)to * v.pixel;
    }
}

template <int N>
DEVICE void wide_aim(const wide_task &t, const mot_view &v, int dtype, const wide_spot<N> &spot, wide_memory<N> &memory)
{
    memory.step = t.quads ? v.pixel : 8 * v.row;
#pragma unroll
    for (int q = 0; q < N / 4; q++) {
        memory.at[q] = v.data + spot.y[q] * v.row + spot.x[q] * v.pixel;
        memory.packed[q] = (spot.there >> (4 * q) & 15) == 15 && wide_is_packed(v, memory.at[q], dtype);
        if (!t.quads)
            break;
    }
}

DEVICE mot_wide wide_of(const mot_wide_call &call)
{
    mot_wide wide = {};
    wide.range = call.range;
    wide.fill = call.fill;
    return wide;
}

/* A band's range; `whole` is known when a kernel is compiled. */
template <bool WHOLE> DEVICE mot_range wide_range(const mot_wide_call &call, int c)
{
    mot_range range = call.range[c];
    range.whole = WHOLE;
    return range;
}

/* ---- blocks ---- */

/* Stores a band of a block, `band` bytes behind the first one. */
template <int N>
DEVICE void wide_store_block(bool quads, uint32_t there, const wide_memory<N> &to, int64_t band, int dtype,
                             const float at[N])
{
    const int bytes = (int)mot_dtype_bytes(dtype);
    uint32_t bits[N];
    wide_cast<N>(at, dtype, bits);
    if (!quads) {
        uint8_t *p = to.at[0] + band;
#pragma unroll
        for (int k = 0; k < N; k++, p += to.step)
            if (there >> k & 1)
                wide_store(p, bits[k], bytes);
        return;
    }
#pragma unroll
    for (int q = 0; q < N / 4; q++) {
        const uint32_t *const of = bits + 4 * q;
        uint8_t *p = to.at[q] + band;
        __builtin_assume(__isGlobal(p));
        if (to.packed[q] && bytes == 4)
            *(uint4 *)p = make_uint4(of[0], of[1], of[2], of[3]);
        else if (to.packed[q])
            *(uint2 *)p = make_uint2(of[0] | of[1] << 16, of[2] | of[3] << 16);
#pragma unroll
        for (int k = 0; k < 4; k++, p += to.step)
            if (!to.packed[q] && (there >> (4 * q + k) & 1))
                wide_store(p, of[k], bytes);
    }
}

/* Stores what the pass has made of band c, and what of an output. */
template <int N>
DEVICE void wide_end(const mot_wide_call &call, const wide_task &t, const wide_spot<N> &spot, const wide_memory<N> &to,
                     int c, float at[N])
{
    const bool ends = t.of.to == MOT_WIDE_DST, two = ends && call.beside;
    if (two)
        wide_store_block<N>(t.quads, spot.there, to, c * t.to.channel, t.to_dtype, at);
    if (ends && call.mean) {
        const float mean = call.mean[c], std = call.std[c];
#pragma unroll
        for (int k = 0; k < N; k++)
            at[k] = mot_wide_computed((at[k] - mean) / std);
    }
    wide_memory<N> beside = to;
    if (two)
        wide_aim<N>(t, t.beside, call.output_dtype, spot, beside);
    wide_store_block<N>(t.quads, spot.there, beside, c * (two ? t.beside : t.to).channel,
                        two ? call.output_dtype : t.to_dtype, at);
}

/* Which block of pixels a task is, and which of its bands are first and behind the last. */
template <int N> DEVICE uint32_t wide_block(const mot_wide_call &call, const wide_task &t, int *first, int *end)
{
    const uint32_t blocks = (uint32_t)mot_wide_blocks(N, t.of.width, t.of.height, t.quads), group = t.task / blocks;
    *first = (int)group * call.together;
    *end = min(*first + call.together, call.channels);
    return t.task - group * blocks;
}

/* What bands c.. of a block are before the pass's items. */
template <int B, int N, bool WHOLE>
DEVICE void wide_take(const wide_task &t, const wide_spot<N> &spot, const wide_memory<N> &from, int c,
                      const wide_room &room, float at[B][N])
{
#pragma unroll
    for (int g = 0; g < B; g++) {
        const int64_t band = (c + g) * t.from.channel;
        if (!t.quads) {
            const uint8_t *const p = t.from.data + band;
#pragma unroll
            for (int k = 0; k < N; k++)
                at[g][k] = spot.born >> k & 1 ? 0.0f : wide_load<WHOLE>(p + room.place[k][threadIdx.x], t.from_dtype);
            continue;
        }
#pragma unroll
        for (int q = 0; q < N / 4; q++) {
            const uint8_t *p = from.at[q] + band;
            if (from.packed[q]) {
                wide_load_quad<WHOLE>(p, t.from_dtype, &at[g][4 * q]);
                continue;
            }
#pragma unroll
            for (int k = 0; k < 4; k++, p += from.step)
                at[g][4 * q + k] = spot.there >> (4 * q + k) & 1 ? wide_load<WHOLE>(p, t.from_dtype) : 0.0f;
        }
    }
}

/* ---- items that see one pixel ---- */

#define MOT_WIDE_EACH(made) \
    _Pragma("unroll") for (int g = 0; g < B; g++) \
    { \
        const mot_range range = wide_range<WHOLE>(call, c + g); \
        _Pragma("unroll") for (int k = 0; k < N; k++) \
        { \
            const float v = at[g][k]; \
            at[g][k] = mot_wide_end(&range, v, made); \
        } \
    } \
    break;

#include "kernels/shapes_off.h"
#undef MOT_IF_POINT
#define MOT_IF_POINT(ID, stem) \
    case MOT_OP_##ID: \
        MOT_WIDE_EACH(mot_##stem##_wide(v, &range, &arg))
#undef MOT_IF_COLOR
#define MOT_IF_COLOR(ID, stem) \
    case MOT_OP_##ID: \
        if (B == 3) \
            MOT_WIDE_EACH(mot_##stem##_wide(v, luma[k], &range, &arg)) \
        break;
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        MOT_WIDE_EACH(mot_##stem##_wide(v, &stats[c + g], &range, &arg))

template <int B, int N, bool WHOLE>
DEVICE void wide_luma(const mot_wide_call &call, const float at[B][N], float luma[N])
{
    if (B != 3)
        return;
    const mot_range range = wide_range<WHOLE>(call, 0);
#pragma unroll
    for (int k = 0; k < N; k++)
        luma[k] = mot_wide_luma(&range, at[0][k], at[B > 1 ? 1 : 0][k], at[B > 2 ? 2 : 0][k]);
}

template <int B, int N, bool WHOLE>
DEVICE void wide_change(const mot_wide_call &call, const wide_task &t, const mot_wide_item &item, int c, float at[B][N])
{
    const mot_arg &arg = item.step.arg;
    const mot_wide_stats *const stats = t.stats;
    __builtin_assume(__isGlobal(stats));
    float luma[N];
    if (item.kind == MOT_WIDE_COLORS)
        wide_luma<B, N, WHOLE>(call, at, luma);
    switch (item.step.op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
}

#include "kernels/shapes_off.h"

/* What the pass's items up to `end` make of what was taken. */
template <int B, int N, bool WHOLE>
DEVICE void wide_make(const mot_wide_call &call, const wide_task &t, const wide_spot<N> &spot, int end, int c,
                      const wide_room &room, float at[B][N])
{
    MOT_ROLLED
    for (int s = t.of.first; s < end; s++) {
        const mot_wide_item &item = t.items[s];
        __builtin_assume(__isGlobal(&item));
        if (item.kind != MOT_WIDE_MOVES) {
            wide_change<B, N, WHOLE>(call, t, item, c, at);
            continue;
        }
#pragma unroll
        for (int g = 0; g < B && spot.born; g++) {
            const mot_wide wide = wide_of(call);
            const float fill = mot_wide_fill(&wide, &item.step, c + g);
#pragma unroll
            for (int k = 0; k < N; k++)
                at[g][k] = room.place[k][threadIdx.x] == MOT_WIDE_BORN + s ? fill : at[g][k];
        }
    }
}

#endif
