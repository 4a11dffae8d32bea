/* SPDX-License-Identifier: Apache-2.0 */
/* Quads of the image in shared memory: their words, the chain, and quads gathered by warps. */
#ifndef MOT_RESIDENT_QUADS_CUH
#define MOT_RESIDENT_QUADS_CUH

#include "kernels/cuda/resident_image.cuh"
#include "kernels/cuda/resident_state.cuh"

/* The words of a quad. */
#define MOT_WORDS(FORMAT) (planes_of(FORMAT) * pixel_bytes(FORMAT))

template <int FORMAT> DEVICE uint32_t *quad_word(int quads, int q, int word)
{
    uint32_t *const pixels = (uint32_t *)image_memory();
    return FORMAT == MOT_FORMAT_RGB ? pixels + 3 * q + word : pixels + word * quads + q;
}

template <int FORMAT> DEVICE void load_quad(int quads, int q, uint32_t words[3])
{
#pragma unroll
    for (int i = 0; i < MOT_WORDS(FORMAT); i++)
        words[i] = *quad_word<FORMAT>(quads, q, i);
}

template <int FORMAT> DEVICE void store_quad(int quads, int q, const uint32_t words[3])
{
#pragma unroll
    for (int i = 0; i < MOT_WORDS(FORMAT); i++)
        *quad_word<FORMAT>(quads, q, i) = words[i];
}

/* A loop's chain: nothing, one table (applied to packed words), or any items. */
enum chain_form { CHAIN_NONE, CHAIN_ONE_TABLE, CHAIN_ANY };

DEVICE chain_form form_of(int items)
{
    return items == 0                                                      ? CHAIN_NONE
           : items == 1 && resident_cta().work.item[0].kind == CHAIN_TABLE ? CHAIN_ONE_TABLE
                                                                           : CHAIN_ANY;
}

template <int FORMAT> DEVICE void chain_words(chain_form form, int items, int x, int y, uint32_t w[3])
{
    const uint8_t(*const table)[256] = resident_cta().work.table[0];
    if (form == CHAIN_ONE_TABLE) {
#pragma unroll
        for (int i = 0; i < MOT_WORDS(FORMAT); i++)
            w[i] = FORMAT == MOT_FORMAT_RGB ? look_up_word(table, w[i], i, 3) : look_up_word(table + i, w[i], 0, 1);
    } else if (form == CHAIN_ANY) {
        uint32_t px[4];
        unpack_words<FORMAT>(w, px);
        apply_chain<FORMAT>(resident_cta().work, items, 3, x, y, px);
        pack_words<FORMAT>(px, w);
    }
}

/* The 16.16 numbers of a warp, in registers. */
struct fixed_warp {
    uint32_t x_of_x, x_of_y, x_of_0, y_of_x, y_of_y, y_of_0, fill;
};

DEVICE fixed_warp fixed_warp_of(int step)
{
    const uint32_t *const n = resident_cta().plans[step].fixed;
    return fixed_warp{ n[0], n[1], n[2], n[3], n[4], n[5], fill_word(resident_cta().step[step]) };
}

/* How a loop gathers from the image: quad `q`, which lies in row `y`, reads from x_of_0 + q * x_of_q + y * x_of_y on.
 */
struct resident_warp {
    fixed_warp warp; /* its x_of_y and y_of_y are as above */
    uint32_t x_of_q, y_of_q;
    uint32_t right, below; /* the ends of the image, as 16.16 numbers */
    uint32_t pixels, row;  /* the address of the image in shared memory, and bytes from row to row */
};

template <int FORMAT> DEVICE resident_warp resident_warp_of(const fixed_warp &f, int width, int height)
{
    resident_warp b = { f,
                        4 * f.x_of_x,
                        4 * f.y_of_x,
                        (uint32_t)width << 16,
                        (uint32_t)height << 16,
                        shared_address(image_memory()),
                        (uint32_t)width * pixel_bytes(FORMAT) };
    b.warp.x_of_y -= width * f.x_of_x;
    b.warp.y_of_y -= width * f.y_of_x;
    keep(b.pixels);
    return b;
}

/* What is read from the image for four pixels. */
struct gathered {
    uint32_t px[4];
    bool inside[4];   /* the image; other pixels are undefined, ... */
    uint32_t fill[4]; /* ... and get these values */
};

/* Turns four words by `turn` places to the right. */
DEVICE void turn_right(uint32_t v[4], int turn)
{
    const bool one = turn & 1, two = turn & 2;
    const uint32_t a = one ? v[3] : v[0], b = one ? v[0] : v[1], c = one ? v[1] : v[2], d = one ? v[2] : v[3];
    v[0] = two ? c : a, v[1] = two ? d : b, v[2] = two ? a : c, v[3] = two ? b : d;
}

/* Reads four pixels, with one warp or, with TWICE, with two, of which `before` is the first (the nearest pixel of a
 * nearest pixel is a pixel of the image). There are no branches, so that all loads are in flight together. TRANSPOSING:
 * neighbouring lanes read rows that lie four apart, which often begin in the same bank, so they begin with different
 * ones of their pixels; pixels outside the image are filled. */
template <int FORMAT, bool TWICE, bool TRANSPOSING>
DEVICE void gather_quad(const resident_warp &b, const fixed_warp &before, int plane, int q, int y, gathered &g)
{
    uint32_t at[4];
    uint32_t in_x = b.warp.x_of_0 + q * b.x_of_q + y * b.warp.x_of_y;
    uint32_t in_y = b.warp.y_of_0 + q * b.y_of_q + y * b.warp.y_of_y;
    const int turn = TRANSPOSING ? threadIdx.x & 3 : 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t pixel = TRANSPOSING ? (uint32_t)(i + turn) & 3 : (uint32_t)i;
        uint32_t x = in_x + pixel * b.warp.x_of_x, from = in_y + pixel * b.warp.y_of_x;
        bool inside = (x < b.right) & (from < b.below);
        g.fill[i] = b.warp.fill;
        if (TWICE) {
            const uint32_t column = (int32_t)x >> 16, row = (int32_t)from >> 16;
            g.fill[i] = inside ? before.fill : b.warp.fill;
            x = before.x_of_0 + column * before.x_of_x + row * before.x_of_y;
            from = before.y_of_0 + column * before.y_of_x + row * before.y_of_y;
            inside &= (x < b.right) & (from < b.below);
        }
        g.inside[i] = inside;
        at[i] = inside ? (from >> 16) * b.row + b.pixels + (x >> 16) * pixel_bytes(FORMAT) : b.pixels;
    }
    if (FORMAT == MOT_FORMAT_RGB) {
        uint32_t word[4], low[4], high[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            word[i] = at[i] & ~3u;
        load_shared_four_pairs(word, low, high);
#pragma unroll
        for (int i = 0; i < 4; i++)
            g.px[i] = __funnelshift_r(low[i], high[i], at[i] * 8);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            g.px[i] = load_shared_byte(at[i]);
            if (FORMAT == MOT_FORMAT_PLANES)
                g.px[i] |= load_shared_byte(at[i] + plane) << 8 | load_shared_byte(at[i] + 2 * plane) << 16;
        }
    }
    if (TRANSPOSING) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            g.px[i] = g.inside[i] ? g.px[i] : g.fill[i];
            g.inside[i] = true;
        }
        turn_right(g.px, turn);
    }
}

DEVICE void fill_outside(gathered &g)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        g.px[i] = g.inside[i] ? g.px[i] : g.fill[i];
}

#endif
