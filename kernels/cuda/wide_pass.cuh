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
    const mot_wide_stats *stats; /* [channels] of the image */
    mot_view from, to, beside;
    int from_dtype, to_dtype;
    int quads, by_band; /* how threads have pixels */
    int plain;          /* the result is stored as it is, to one place, band by band */
    int image;          /* -1: there is no such task */
    uint32_t task;      /* of the image's pass */
};

DEVICE mot_view wide_image_of(const mot_wide_call &call, int which, int dtype, int width, int height, int i)
{
    if (which >= MOT_WIDE_SRC)
        return image_of(which == MOT_WIDE_SRC ? call.src : call.dst, call.channels, i);
    const int64_t pixel = (int64_t)mot_dtype_bytes(dtype), row = pixel * width;
    return mot_view{ (uint8_t *)(call.spare[which] + i * call.spare_floats),
                     width,
                     height,
                     call.channels,
                     0,
                     row,
                     pixel,
                     row * height };
}

/* Takes the next task of a launch. One thread does, while its CTA works on another one. */
DEVICE void wide_next(const mot_wide_call &call, int launch, wide_task &task)
{
    if (threadIdx.x != 0)
        return;
    const int64_t k = MOT_WIDE_LAUNCHES * call.now + launch;
    uint32_t *const tasks = call.tasks + 2 * k;
    const uint32_t t = atomicAdd(&tasks[1], 1u);
    if (t >= tasks[0]) {
        task.image = -1;
        return;
    }
    const int i = call.list[k * call.count * call.most_tasks + t];
    const mot_wide_pass of = call.pass[(int64_t)i * call.passes + call.now];
    task.of = of;
    task.items = call.items + (int64_t)i * call.most_items;
    task.stats = call.stats + (int64_t)i * call.channels;
    task.from_dtype = of.floats[0] ? (int)MOTLEY_F32 : call.src_dtype;
    task.to_dtype = of.to == MOT_WIDE_DST ? call.dst_dtype : of.floats[1] ? (int)MOTLEY_F32 : call.src_dtype;
    task.from = wide_image_of(call, of.from, task.from_dtype, of.from_width, of.from_height, i);
    task.to = wide_image_of(call, of.to, task.to_dtype, of.width, of.height, i);
    task.beside = of.to == MOT_WIDE_DST && call.beside ? image_of(call.output, call.channels, i) : task.to;
    task.by_band = launch == MOT_WIDE_RUN && mot_wide_by_band(&call, &of);
    task.quads = !task.by_band && mot_wide_quads(&of);
    task.plain =
        task.to_dtype == call.src_dtype && !task.by_band && !(of.to == MOT_WIDE_DST && (call.beside || call.mean));
    task.image = i;
    task.task = t - of.task[launch];
}

/* ---- components in memory ---- */

/* A whole number of 16 bits, the first or the second of a word: cheaper than its conversion and just as exact. */
DEVICE float wide_of_u16(uint32_t word, int second = 0)
{
    return __uint_as_float(__byte_perm(word, 0x4B000000u, second ? 0x7632 : 0x7610)) - 8388608.0f;
}

/* WHOLE: images of U16; else they are F32. */
template <bool WHOLE> DEVICE uint32_t wide_bits(const uint8_t *p)
{
    __builtin_assume(__isGlobal(p)); /* which a pointer in shared memory does not tell */
    return WHOLE ? *(const uint16_t *)p : *(const uint32_t *)p;
}

/* Four neighbours: a word of each, or of two of U16. */
template <bool WHOLE> DEVICE void wide_quad_bits(const uint8_t *p, uint32_t bits[4])
{
    __builtin_assume(__isGlobal(p));
    if (WHOLE) {
        const uint2 v = *(const uint2 *)p;
        bits[0] = v.x, bits[1] = v.y;
        return;
    }
    const uint4 v = *(const uint4 *)p;
    bits[0] = v.x, bits[1] = v.y, bits[2] = v.z, bits[3] = v.w;
}

template <bool WHOLE> DEVICE void wide_components(const uint32_t bits[4], bool quad, float at[4])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        at[k] = !WHOLE ? __uint_as_float(bits[k]) : quad ? wide_of_u16(bits[k / 2], k & 1) : wide_of_u16(bits[k]);
}

template <bool WHOLE> DEVICE float wide_load(const uint8_t *p)
{
    const uint32_t bits = wide_bits<WHOLE>(p);
    return WHOLE ? wide_of_u16(bits) : __uint_as_float(bits);
}

template <bool WHOLE> DEVICE void wide_load_quad(const uint8_t *p, float at[4])
{
    uint32_t bits[4];
    wide_quad_bits<WHOLE>(p, bits);
    wide_components<WHOLE>(bits, true, at);
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

/* Where a CTA's pixels that move are, in a band of the source, or the item that fills each. */
typedef int64_t wide_places[8][MOT_WIDE_THREADS];

/* Shared memory of blocks. */
struct wide_room {
    wide_places place;
    int64_t once[MOT_WIDE_THREADS];                              /* likewise, of pixels that all warps have */
    uint32_t stage[MOT_WIDE_SIDE_BY_SIDE][MOT_WIDE_THREADS + 4]; /* bands that are stored pixel by pixel */
};

#define MOT_WIDE_BORN INT64_MIN /* of item 0 */

/* A pixel that moves is a row and a column while it is followed back; below 0: item MOT_WIDE_BORN + s fills it. */
DEVICE int64_t wide_pixel(int x, int y)
{
    return (int64_t)y << 32 | (int64_t)x;
}

/* One move back, of any kind; -1: outside, or erased. Called: it is rare, and long. */
OUTLINE int64_t wide_back(const mot_trace_step *trace, int64_t at)
{
    int x = (int)at, y = (int)(at >> 32);
    const int inside = mot_trace_back(trace, &x, &y);
    return inside ? wide_pixel(x, y) : -1;
}

/* Moves a thread's pixels back by item s. */
template <int N> DEVICE void wide_back_by(const mot_trace_step &trace, int s, int64_t (*place)[MOT_WIDE_THREADS])
{
    if (trace.kind != MOT_TRACE_FIXED) {
        MOT_ROLLED
        for (int k = 0; k < N; k++) {
            const int64_t at = place[k][threadIdx.x], back = at < 0 ? at : wide_back(&trace, at);
            place[k][threadIdx.x] = at >= 0 && back < 0 ? MOT_WIDE_BORN + s : back;
        }
        return;
    }
    uint32_t by[6]; /* of the whole image */
    const int width = trace.width, height = trace.height;
#pragma unroll
    for (int i = 0; i < 6; i++)
        by[i] = trace.fixed[i];
#pragma unroll
    for (int k = 0; k < N; k++) {
        const int64_t at = place[k][threadIdx.x];
        const uint32_t x = (uint32_t)at, y = (uint32_t)(at >> 32);
        const int to_x = (int32_t)(by[2] + x * by[0] + y * by[1]) >> 16;
        const int to_y = (int32_t)(by[5] + x * by[3] + y * by[4]) >> 16;
        const bool inside = (uint32_t)to_x < (uint32_t)width && (uint32_t)to_y < (uint32_t)height;
        place[k][threadIdx.x] = at < 0 ? at : inside ? wide_pixel(to_x, to_y) : MOT_WIDE_BORN + s;
    }
}

DEVICE bool wide_is_born(int64_t place)
{
    return place < MOT_WIDE_BORN / 2;
}

/* Follows a thread's pixels back through the pass's items up to `end`. */
template <int N> DEVICE void wide_follow(const wide_task &t, int end, int64_t (*place)[MOT_WIDE_THREADS])
{
    MOT_ROLLED
    for (int s = end - 1; s >= t.of.first; s--)
        if (t.items[s].kind == MOT_WIDE_MOVES)
            wide_back_by<N>(t.items[s].trace, s, place);
#pragma unroll
    for (int k = 0; k < N; k++) {
        const int64_t to = place[k][threadIdx.x];
        if (to >= 0)
            place[k][threadIdx.x] = (to >> 32) * t.from.row + (int)to * t.from.pixel;
    }
}

/* Finds the pixels of a block. */
template <int N> DEVICE void wide_find(const wide_task &t, uint32_t block, wide_spot<N> &at)
{
    const int width = t.of.width, height = t.of.height;
    at.there = at.born = 0;
    if (t.quads) {
        const uint32_t across = (uint32_t)(width + 3) / 4, all = across * (uint32_t)height;
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
#pragma unroll
    for (int k = 0; k < N; k++)
        at.there |= at.x[0] < width && at.y[0] + 8 * k < height ? 1u << k : 0;
}

/* Follows them back through the pass's items up to `end`. */
template <int N> DEVICE void wide_find_sources(const wide_task &t, int end, wide_places &place, wide_spot<N> &at)
{
    const int width = t.of.width, height = t.of.height;
    if (t.quads)
        return;
#pragma unroll
    for (int k = 0; k < N; k++)
        place[k][threadIdx.x] = wide_pixel(min(at.x[0], width - 1), min(at.y[0] + 8 * k, height - 1));
    wide_follow<N>(t, end, place);
#pragma unroll
    for (int k = 0; k < N; k++)
        at.born |= wide_is_born(place[k][threadIdx.x]) ? 1u << k : 0;
}

/* The same of a block of 32 x 8 pixels. Each warp makes a band of the whole block; all of them find its pixels. */
template <int N> DEVICE void wide_find_shared(const wide_task &t, uint32_t block, wide_room &room, wide_spot<N> &at)
{
    const int width = t.of.width, height = t.of.height, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t across = (uint32_t)(width + MOT_WIDE_TILE - 1) / MOT_WIDE_TILE, row = block / across;
    at.x[0] = MOT_WIDE_TILE * (int)(block - row * across) + lane;
    at.y[0] = 8 * (int)row;
    at.there = at.born = 0;
    room.once[threadIdx.x] = wide_pixel(min(at.x[0], width - 1), min(at.y[0] + warp, height - 1));
    wide_follow<1>(t, t.of.end, &room.once);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++) {
        const int64_t to = room.once[32 * k + lane];
        room.place[k][threadIdx.x] = to;
        at.there |= at.x[0] < width && at.y[0] + k < height ? 1u << k : 0;
        at.born |= wide_is_born(to) ? 1u << k : 0;
    }
}

template <int N>
DEVICE void wide_aim(const wide_task &t, const mot_view &v, int dtype, const wide_spot<N> &spot, wide_memory<N> &memory)
{
    memory.step = t.quads ? v.pixel : t.by_band ? v.row : 8 * v.row;
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
    if (!quads && bytes == 4) {
#pragma unroll
        for (int k = 0; k < N; k++)
            if (there >> k & 1)
                wide_store(to.at[0] + band + k * to.step, bits[k], 4);
        return;
    }
    if (!quads) {
#pragma unroll
        for (int k = 0; k < N; k++)
            if (there >> k & 1)
                wide_store(to.at[0] + band + k * to.step, bits[k], 2);
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

/* Stores a band for each warp, of pixels in which all lie side by side: of a few pixels at a time, all bands. */
template <int N>
DEVICE void wide_store_pixels(const mot_view &v, const wide_spot<N> &spot, int c, int channels, int dtype,
                              const float at[N], uint32_t (*stage)[MOT_WIDE_THREADS + 4])
{
    const int bytes = (int)mot_dtype_bytes(dtype), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int band = threadIdx.x % MOT_WIDE_SIDE_BY_SIDE, column = threadIdx.x / MOT_WIDE_SIDE_BY_SIDE;
    const int x = spot.x[0] - lane + column;
    uint8_t *p = v.data + spot.y[0] * v.row + x * v.pixel + (c + band) * v.channel;
    uint32_t bits[N];
    wide_cast<N>(at, dtype, bits);
#pragma unroll
    for (int k = 0; k < N; k++)
        stage[warp][32 * k + lane] = bits[k];
    __syncthreads();
    if (x < v.width && c + band < channels)
#pragma unroll
        for (int k = 0; k < N; k++, p += v.row)
            if (spot.y[0] + k < v.height)
                wide_store(p, stage[band][32 * k + column], bytes);
    __syncthreads();
}

/* Stores what the pass has made of band c, and what of an output. `stage`: where each warp has a band, from c on. */
template <int N, bool WHOLE, bool PLAIN = true>
DEVICE void wide_end(const mot_wide_call &call, const wide_task &t, const wide_spot<N> &spot, const wide_memory<N> &to,
                     int c, float at[N], uint32_t (*stage)[MOT_WIDE_THREADS + 4] = nullptr)
{
    if (PLAIN && t.plain) {
        wide_store_block<N>(t.quads, spot.there, to, c * t.to.channel, WHOLE ? MOTLEY_U16 : MOTLEY_F32, at);
        return;
    }
    const bool ends = t.of.to == MOT_WIDE_DST, two = ends && call.beside;
    const int own = stage ? c + (int)threadIdx.x / 32 : c;
    const uint32_t there = own < call.channels ? spot.there : 0;
    MOT_ROLLED
    for (int k = two ? 0 : 1; k < 2; k++) {
        const mot_view &v = k && two ? t.beside : t.to;
        const int dtype = k && two ? call.output_dtype : t.to_dtype;
        wide_memory<N> beside = to;
        if (k && ends && call.mean) {
            const float mean = call.mean[min(own, call.channels - 1)], std = call.std[min(own, call.channels - 1)];
#pragma unroll
            for (int i = 0; i < N; i++)
                at[i] = mot_wide_computed((at[i] - mean) / std);
        }
        if (k && two)
            wide_aim<N>(t, v, dtype, spot, beside);
        if (stage && v.pixel > (int64_t)mot_dtype_bytes(dtype))
            wide_store_pixels<N>(v, spot, c, call.channels, dtype, at, stage);
        else
            wide_store_block<N>(t.quads, there, beside, own * v.channel, dtype, at);
    }
}

/* Which block of pixels a task is, and which of its bands are first and behind the last. */
template <int N> DEVICE uint32_t wide_block(const mot_wide_call &call, const wide_task &t, int *first, int *end)
{
    const uint32_t blocks = (uint32_t)mot_wide_blocks(t.by_band ? 1 : N, t.of.width, t.of.height, t.quads);
    const uint32_t group = t.task / blocks;
    *first = (int)group * call.together;
    *end = t.by_band ? call.channels : min(*first + call.together, call.channels);
    return t.task - group * blocks;
}

/* Loads bands c.. of a block: bits of each component, or of two of U16. They are not looked at here, so that they may
 * arrive while other bands are worked on. */
template <int B, int N, bool WHOLE>
DEVICE void wide_fetch(const wide_task &t, const wide_spot<N> &spot, const wide_memory<N> &from, int c,
                       const wide_places &place, uint32_t bits[B][N])
{
#pragma unroll
    for (int g = 0; g < B; g++) {
        const int64_t band = (c + g) * t.from.channel;
        if (!t.quads) {
            const uint8_t *const p = t.from.data + band;
#pragma unroll
            for (int k = 0; k < N; k++)
                bits[g][k] = spot.born >> k & 1 ? 0 : wide_bits<WHOLE>(p + place[k][threadIdx.x]);
            continue;
        }
#pragma unroll
        for (int q = 0; q < N / 4; q++) {
            const uint8_t *p = from.at[q] + band;
            if (from.packed[q]) {
                wide_quad_bits<WHOLE>(p, &bits[g][4 * q]);
                continue;
            }
            uint32_t one[4];
#pragma unroll
            for (int k = 0; k < 4; k++, p += from.step)
                one[k] = spot.there >> (4 * q + k) & 1 ? wide_bits<WHOLE>(p) : 0;
#pragma unroll
            for (int k = 0; k < 4; k++)
                bits[g][4 * q + k] = !WHOLE ? one[k] : k < 2 ? one[2 * k] | one[2 * k + 1] << 16 : 0;
        }
    }
}

/* What was loaded, as components: what they are before the pass's items. */
template <int B, int N, bool WHOLE> DEVICE void wide_take(bool quads, const uint32_t bits[B][N], float at[B][N])
{
#pragma unroll
    for (int g = 0; g < B; g++)
#pragma unroll
        for (int q = 0; q < N / 4; q++)
            wide_components<WHOLE>(&bits[g][4 * q], quads, &at[g][4 * q]);
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
                      const wide_places &place, float at[B][N])
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
                at[g][k] = place[k][threadIdx.x] == MOT_WIDE_BORN + s ? fill : at[g][k];
        }
    }
}

#endif
