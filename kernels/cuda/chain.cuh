/* SPDX-License-Identifier: Apache-2.0 */
/* The chain: what a pass does to a pixel besides moving it. Tables, colour ops and erased rectangles, in order;
 * consecutive tables are merged into one. It lies in shared memory, and every thread of the CTA runs the same items. */
#ifndef MOT_CHAIN_CUH
#define MOT_CHAIN_CUH

#include "kernels/color.h"
#include "kernels/cuda/pixels.cuh"
#include "kernels/cuda/tile_program.h"
#include "kernels/erase.h"
#include "kernels/point.h"
#include "kernels/stats.h"

#define MOT_CHAIN_ITEMS MOT_WINDOW                   /* of a program at most */
#define MOT_CHAIN_TABLES ((MOT_CHAIN_ITEMS + 1) / 2) /* consecutive tables are merged */

enum chain_kind { CHAIN_TABLE, CHAIN_COLOR, CHAIN_ERASE };

struct chain_item {
    int kind;
    int table;     /* CHAIN_TABLE */
    int op;        /* CHAIN_COLOR */
    mot_arg arg;   /* CHAIN_COLOR */
    mot_rect rect; /* CHAIN_ERASE */
    uint32_t fill; /* CHAIN_ERASE */
};

struct chain {
    chain_item item[MOT_CHAIN_ITEMS];
    uint8_t table[MOT_CHAIN_TABLES][3][256];
};

/* How much of the chain is in use; every thread keeps its own copy, and all copies are equal. */
struct chain_state {
    int items, tables;
    bool open; /* the last item is a table, into which further tables are merged */
    bool erases;
};

/* ---- facts of the op table ---- */

#include "kernels/shapes_off.h"
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        return MOT_##ID##_NEEDS;
DEVICE int needs_of(int op)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return 0;
    }
}
#include "kernels/shapes_off.h"

DEVICE uint32_t fill_word(const mot_step &step)
{
    return step.fill[0] | (uint32_t)step.fill[1] << 8 | (uint32_t)step.fill[2] << 16 | (uint32_t)step.fill[3] << 24;
}

/* How many channels hold colour: all but alpha. */
template <int FORMAT> DEVICE int colors_of(int channels)
{
    return FORMAT == MOT_FORMAT_GREY ? 1 : FORMAT == MOT_FORMAT_STRIDED ? mot_cuda_colors(channels) : 3;
}

template <int FORMAT> DEVICE mot_u8 luma_of(uint32_t word, int channels)
{
    if (colors_of<FORMAT>(channels) == 1)
        return word & 0xFF;
    return mot_luma_word(word);
}

/* A pixel's word from its three colours, with alpha, if any, from the word that has it. */
template <int FORMAT> DEVICE uint32_t of_three(uint32_t red, uint32_t green, uint32_t blue, uint32_t alpha)
{
    const uint32_t two = __byte_perm(red, green, 0x0040);
    if (FORMAT == MOT_FORMAT_RGB || FORMAT == MOT_FORMAT_PLANES)
        return __byte_perm(two, blue, 0x0410);
    return __byte_perm(two, __byte_perm(blue, alpha, 0x0070), 0x5410);
}

/* A word's bytes through tables that begin at a, b, c and d. */
DEVICE uint32_t look_up_bytes(uint32_t v, const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d)
{
    return __byte_perm(__byte_perm(look_up_byte(a, v, 0), look_up_byte(b, v, 1), 0x0040),
                       __byte_perm(look_up_byte(c, v, 2), look_up_byte(d, v, 3), 0x0040), 0x5410);
}

template <int FORMAT, int COUNT = 4>
DEVICE void apply_table(const uint8_t (*table)[256], int channels, uint32_t px[COUNT])
{
    const int colors = colors_of<FORMAT>(channels);
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const uint32_t v = px[i], first = look_up_byte(table[0], v, 0);
        px[i] = colors == 3 ? of_three<FORMAT>(first, look_up_byte(table[1], v, 1), look_up_byte(table[2], v, 2), v)
                            : __byte_perm(v, first, 0x3214);
    }
}

#include "kernels/shapes_off.h"
#undef MOT_IF_COLOR
#define MOT_IF_COLOR(ID, stem) \
    case MOT_OP_##ID: \
        _Pragma("unroll") for (int i = 0; i < 4; i++) \
        { \
            const uint32_t v = px[i]; \
            const mot_u8 luma = luma_of<FORMAT>(v, channels); \
            const uint32_t first = mot_##stem(mot_u8(v, 0), luma, arg); \
            px[i] = __byte_perm(v, first, 0x3214); \
            if (colors == 3) \
                px[i] = of_three<FORMAT>(first, mot_##stem(mot_u8(v, 1), luma, arg), \
                                         mot_##stem(mot_u8(v, 2), luma, arg), v); \
        } \
        break;

/* One switch on the op for four pixels. */
template <int FORMAT> DEVICE void apply_color(int op, const mot_arg *arg, int channels, uint32_t px[4])
{
    const int colors = colors_of<FORMAT>(channels);
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
}
#include "kernels/shapes_off.h"

/* Runs item `k` of the chain on the four pixels from (x, y). */
template <int FORMAT> DEVICE void apply_item(const chain &c, int k, int channels, int x, int y, uint32_t px[4])
{
    const chain_item &item = c.item[k];
    if (item.kind == CHAIN_TABLE) {
        apply_table<FORMAT>(c.table[item.table], channels, px);
    } else if (item.kind == CHAIN_COLOR) {
        apply_color<FORMAT>(item.op, &item.arg, channels, px);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (x + i >= item.rect.x0 && x + i < item.rect.x1 && y >= item.rect.y0 && y < item.rect.y1)
                px[i] = item.fill;
    }
}

/* Runs the first `items`. */
template <int FORMAT> DEVICE void apply_chain(const chain &c, int items, int channels, int x, int y, uint32_t px[4])
{
    for (int k = 0; k < items; k++)
        apply_item<FORMAT>(c, k, channels, x, y, px);
}

/* ---- appending: for all threads, and a barrier must follow before the chain is applied. Each entry of a table is
 * always written by the same thread, so ops that are merged into one table need no barrier between them. ---- */

DEVICE uint8_t (*chain_table(chain &c, chain_state &n))[256]
{
    if (!n.open) {
        for (int v = threadIdx.x; v < 256; v += blockDim.x)
            c.table[n.tables][0][v] = c.table[n.tables][1][v] = c.table[n.tables][2][v] = (uint8_t)v;
        if (threadIdx.x == 0) {
            c.item[n.items].kind = CHAIN_TABLE;
            c.item[n.items].table = n.tables;
        }
        n.items++, n.tables++;
        n.open = true;
    }
    return c.table[n.tables - 1];
}

DEVICE void chain_point(chain &c, chain_state &n, int op, const mot_arg *arg)
{
    uint8_t(*table)[256] = chain_table(c, n);
    for (int v = threadIdx.x; v < 256; v += blockDim.x) {
        const uint8_t in0 = table[0][v], in1 = table[1][v], in2 = table[2][v];
        const uint8_t out0 = mot_point_value(op, in0, arg); /* most often the three tables are still equal */
        table[0][v] = out0;
        table[1][v] = in1 == in0 ? out0 : mot_point_value(op, in1, arg);
        table[2][v] = in2 == in0 ? out0 : mot_point_value(op, in2, arg);
    }
}

/* A stats op whose statistics are known. Its values take long to compute, so each thread computes as few as possible:
 * not those of the entries that it writes. */
DEVICE void chain_stats(chain &c, chain_state &n, int op, const mot_stats *stats /* [colors] */, int colors,
                        const mot_arg *arg)
{
    uint8_t(*table)[256] = chain_table(c, n);
    __syncthreads();
    for (int i = threadIdx.x; i < 256 * colors; i += blockDim.x)
        table[i >> 8][i & 255] = mot_stats_value(op, table[i >> 8][i & 255], &stats[i >> 8], arg);
    __syncthreads();
}

DEVICE void chain_append(chain &c, chain_state &n, chain_kind kind, const mot_step *step, mot_rect rect, uint32_t fill)
{
    if (threadIdx.x == 0) {
        chain_item &item = c.item[n.items];
        item.kind = kind;
        item.op = step->op;
        item.arg = step->arg;
        item.rect = rect;
        item.fill = fill;
    }
    n.items++;
    n.open = false;
    n.erases |= kind == CHAIN_ERASE;
}

#endif
