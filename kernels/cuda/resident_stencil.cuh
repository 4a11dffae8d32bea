/* SPDX-License-Identifier: Apache-2.0 */
/* The stencil: a loop in which each thread walks down a column of quads. */
#ifndef MOT_RESIDENT_STENCIL_CUH
#define MOT_RESIDENT_STENCIL_CUH

#include "kernels/cuda/resident_load.cuh"
#include "kernels/cuda/resident_output.cuh"

/* A quad in a row: its words, and for each of their bytes the sum of this component and of those on both sides. */
struct stencil_row {
    uint32_t word[3];
    word_sum sum[3];
};

/* The row of a quad at an address in shared memory, with the words `before` and `after` it at these offsets. */
template <int FORMAT> DEVICE stencil_row stencil_row_at(uint32_t quad, uint32_t plane, uint32_t before, uint32_t after)
{
    stencil_row r;
#pragma unroll
    for (int p = 0; p < planes_of(FORMAT); p++, quad += plane) {
        const int words = FORMAT == MOT_FORMAT_RGB ? 3 : 1;
        word_sum w[5];
#pragma unroll
        for (int i = 0; i < words + 2; i++) {
            const uint32_t word = load_shared_word(quad + (i == 0 ? before : i <= words ? 4 * (i - 1) : after));
            w[i] = add_word(word_sum{ 0, 0 }, word);
            if (i > 0 && i <= words)
                r.word[p + i - 1] = word;
        }
#pragma unroll
        for (int i = 0; i < words; i++)
            r.sum[p + i] = sum_beside<(FORMAT == MOT_FORMAT_RGB ? 3 : 1)>(w[i], w[i + 1], w[i + 2]);
    }
    return r;
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STENCIL
#define MOT_IF_STENCIL(ID, stem) \
    case MOT_OP_##ID: \
        _Pragma("unroll") for (int i = 0; i < MOT_WORDS(FORMAT); i++) \
        { \
            out[i] = stencil_word<MOT_OP_##ID>(arg, out[i], sum[i]); \
        } \
        break;

/* One switch on the op for all words. */
template <int FORMAT> DEVICE void apply_stencil(int op, const mot_arg *arg, const word_sum sum[3], uint32_t out[3])
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
}
#include "kernels/shapes_off.h"

/* The bits of a quad's words that the stencil does not change: the image's first and last column. */
template <int FORMAT> DEVICE void kept_bits(int column, int across, uint32_t kept[3])
{
    constexpr bool rgb = FORMAT == MOT_FORMAT_RGB;
#pragma unroll
    for (int i = 0; i < MOT_WORDS(FORMAT); i++) {
        kept[i] = column == 0 && (!rgb || i == 0) ? (rgb ? 0x00FFFFFFu : 0x000000FFu) : 0;
        if (column == across - 1 && (!rgb || i == 2))
            kept[i] |= rgb ? 0xFFFFFF00u : 0xFF000000u;
    }
}

template <int FORMAT> DEVICE void add_sums(const word_sum a[3], const word_sum b[3], word_sum both[3])
{
#pragma unroll
    for (int i = 0; i < MOT_WORDS(FORMAT); i++)
        both[i] = both_sums(a[i], b[i]);
}

/* A quad's words after the stencil, with what it keeps. `both`: the sums of all three rows. */
template <int FORMAT>
DEVICE void stencil_words(const mot_step &step, const stencil_row &here, const word_sum both[3], const uint32_t kept[3],
                          uint32_t words[3])
{
    apply_stencil<FORMAT>(step.op, &step.arg, both, words);
#pragma unroll
    for (int i = 0; i < MOT_WORDS(FORMAT); i++)
        words[i] = (here.word[i] & kept[i]) | (words[i] & ~kept[i]);
}

#define MOT_STENCIL_ROWS 7 /* that a thread walks down at a time, at most; other numbers were not tried */

/* The stencil, the chain, SINK. A thread walks down some rows of a column of quads, so that it reads each row once for
 * three; if rows cannot be cut into blocks of 8 quads, one row. */
template <int FORMAT, int SINK> static __device__ __noinline__ void walk_stencil(int items, int at)
{
    const int lane = threadIdx.x & 31, width = resident_cta().width, height = resident_cta().height, across = width / 4,
              quads = across * height, pitch = width * pixel_bytes(FORMAT);
    const uint32_t blocks_per_quad = 0xFFFFFFFFu / across + 1; /* in 2^-32: exact below 2^32 quads x columns */
    const chain_form form = form_of(items);
    const mot_step &step = resident_cta().step[at];
    uint8_t *const to = resident_cta().work_view.data;
    uint32_t *const stage = stages() + (threadIdx.x / 32) * (MOT_STAGE_BYTES / 4);
    const int each = (quads + blockDim.x - 1) / blockDim.x, turns = (each + MOT_STENCIL_ROWS - 1) / MOT_STENCIL_ROWS;
    const int rows = across % 8 == 0 ? (each + turns - 1) / turns : 1; /* of a block */
    const int columns = (height + rows - 1) / rows * across;           /* of all blocks */
    arriving a = arriving_of(quads);
    for (int first = threadIdx.x - lane; first < columns; first += blockDim.x) {
        const int mine = min(first + lane, columns - 1), block = __umulhi(mine, blocks_per_quad);
        const int column = mine - block * across, last = __umulhi(min(first + 31, columns - 1), blocks_per_quad);
        wait_quads(a, min((last + 1) * rows + 1, height) * across);
        int y = block * rows, q = first + lane < columns ? y * across + column : quads;
        /* The bytes that the lane writes begin those of the quads of lane `owner`. */
        const int owner = first + lane / 6 * 8, of_owner = __umulhi(owner, blocks_per_quad);
        int at_byte = lane < 24 && owner < columns ? 12 * (of_owner * (rows - 1) * across + owner) + 16 * (lane % 6)
                                                   : MOT_NOWHERE;
        uint32_t before = column == 0 ? 0 : -4, after = 4 * pixel_bytes(FORMAT) - (column == across - 1 ? 4 : 0);
        keep(before);
        keep(after);
        uint32_t kept[3];
        kept_bits<FORMAT>(column, across, kept);
        const uint32_t plane = 4 * quads, top = shared_address(quad_word<FORMAT>(quads, column, 0));
        const uint32_t bottom = top + (height - 1) * pitch;
        uint32_t row = min(top + y * pitch, bottom);
        /* of the row to make: its words and sums, and these together with those of the row above it */
        stencil_row here = stencil_row_at<FORMAT>(row, plane, before, after);
        word_sum both[3];
        add_sums<FORMAT>(stencil_row_at<FORMAT>(row > top ? row - pitch : top, plane, before, after).sum, here.sum,
                         both);
#pragma unroll 1
        for (int k = 0; k < rows; k++) {
            row = min(row + pitch, bottom);
            const stencil_row below = stencil_row_at<FORMAT>(row, plane, before, after);
            uint32_t words[3] = { here.word[0], here.word[1], here.word[2] };
            if (y > 0 && y < height - 1) {
                add_sums<FORMAT>(both, below.sum, both);
                stencil_words<FORMAT>(step, here, both, kept, words);
            }
            add_sums<FORMAT>(here.sum, below.sum, both);
            here = below;
            if (!is_lines(SINK))
                chain_words<FORMAT>(form, items, 4 * column, y, words);
            if (SINK == TO_IMAGE)
                write_quads<FORMAT>(to, resident_cta().work_view.channel, q, quads, at_byte, words, stage);
            else if (is_lines(SINK))
                chain_to_lines<FORMAT, SINK>(form, items, q, quads, at_byte, 4 * column, y, words, stage);
            else
                write_output<FORMAT>(q, quads, 4 * column, y, words, stage);
            y++, q += across, at_byte += 12 * across;
        }
    }
}

#endif
