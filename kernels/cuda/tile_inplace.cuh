/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over a tile in shared memory, in place. Every image looks the same to them. */
#ifndef MOT_TILE_INPLACE_CUH
#define MOT_TILE_INPLACE_CUH

#include "kernels/cuda/blur_runs.cuh"
#include "kernels/cuda/hue.h"
#include "kernels/cuda/spatial.cuh"
#include "kernels/cuda/tile_state.cuh"

/* A pixel's channels 0 and 2, in 16 bits each, so that one addition sums two channels. */
DEVICE uint32_t even_of(uint32_t px)
{
    return px & 0x00FF00FFu;
}

/* The three box passes of a blur along the tile's rows or columns, which are whole rows or columns of the image. A CTA
 * makes at most 32 lines at once. PITCH: of a strip of columns, or 0 along rows. */
template <int FORMAT, int PITCH, int RADIUS, int OP> OUTLINE void blur_lines(int step)
{
    constexpr bool COLUMNS = PITCH > 0;
    const tile_state &s = tile_cta();
    const mot_arg arg = s.program.arg[step];
    const int channels = s.image.channels;
    const int length = COLUMNS ? s.rows : s.columns, lines = COLUMNS ? s.columns : s.rows;
    const int stride = COLUMNS ? PITCH : 1, across = COLUMNS ? 1 : s.image.pitch;
    const int at_once = min(lines, MOT_TILE_THREADS / 8), units = at_once * channels;
    const int even = length / (MOT_TILE_THREADS / units) + 1;
    /* odd: runs of a row begin in different banks */
    const blur_runs<RADIUS> all(length, max(even, (int)blur_runs<RADIUS>::HALO) | 1);
    /* neighbouring threads: the runs and channels of a row, or the columns of a channel */
    const int run = COLUMNS ? threadIdx.x / units : threadIdx.x % all.runs;
    const int own = COLUMNS ? threadIdx.x % units : threadIdx.x / all.runs;
    const int channel = COLUMNS ? own / at_once : own % channels;
    const int own_line = COLUMNS ? own - channel * at_once : own / channels;
#pragma unroll 1
    for (int from = 0; from < lines; from += at_once) {
        const int line = from + own_line;
        /* threads without a run read as well, but nothing that others may be writing since the last turn */
        uint8_t *const bytes = (uint8_t *)(tile_words() + min(line, lines - 1) * across) + channel;
        all.template blur<OP>(bytes, 4 * stride, run, run < all.runs && own < units && line < lines, arg);
    }
    __syncthreads();
}

/* Calls body(quad's number, its four pixels) for each quad of the tile in shared memory, and writes the pixels back.
 * MARKS: skips pixels that any warp after number `level` has filled. */
template <int AT_ONCE, bool MARKS, class BODY> DEVICE void change_quads(int level, BODY body)
{
    const tile_state &s = tile_cta();
    const int n = s.tile_rows * (s.image.pitch / 4);
    const uint32_t later = (uint32_t)(level + 1) << 24; /* with these marks, and any pixel */
#pragma unroll AT_ONCE
    for (int q = threadIdx.x; q < n; q += MOT_TILE_THREADS) {
        const uint4 v = ((const uint4 *)tile_words())[q];
        const uint32_t old[4] = { v.x, v.y, v.z, v.w };
        uint32_t px[4] = { v.x, v.y, v.z, v.w };
        body(q, px);
        if (MARKS)
#pragma unroll
            for (int i = 0; i < 4; i++)
                px[i] = old[i] >= later ? old[i] : (px[i] & 0xFFFFFF) | (old[i] & 0xFF000000u);
        ((uint4 *)tile_words())[q] = make_uint4(px[0], px[1], px[2], px[3]);
    }
}

/* Makes table `t` one of hues. For all threads, with a barrier. */
DEVICE const mot_hue_table *make_hue_table(int t, uint32_t value)
{
    mot_hue_table *const table = (mot_hue_table *)tile_cta().table[t];
    static_assert(sizeof *table == sizeof tile_cta().table[t] && MOT_TILE_THREADS == 256, "an entry for each thread");
    mot_hue_entry(table, threadIdx.x, value);
    __syncthreads();
    return table;
}

/* Applies the items from `from` to before `to` of the program. MARKS: not to what a warp after an item filled. */
template <int FORMAT, bool MARKS> OUTLINE void chain_tile(int from, int to)
{
    const tile_state &s = tile_cta();
    const int channels = s.image.channels;
#pragma unroll 1
    for (int k = from; k < to; k++) {
        const mot_item item = s.program.item[k];
        if (item.kind == MOT_ITEM_TABLE) {
            const uint8_t(*const table)[256] = table_of(item.table);
            change_quads<2, MARKS>(item.level, [&](int, uint32_t px[4]) { apply_table<FORMAT>(table, channels, px); });
        } else if (item.kind == MOT_ITEM_COLOR) {
            const int op = s.program.id[item.step];
            const mot_arg *const arg = &s.program.arg[item.step];
            change_quads<1, MARKS>(item.level,
                                   [&](int, uint32_t px[4]) { apply_color<FORMAT>(op, arg, channels, px); });
        } else if (item.kind == MOT_ITEM_HUE) {
            const mot_hue_table *const table = make_hue_table(item.table, s.program.arg[item.step].u[0]);
            change_quads<1, MARKS>(item.level, [&](int, uint32_t px[4]) {
#pragma unroll
                for (int i = 0; i < 4; i++)
                    px[i] = mot_hue_turned(px[i], table);
            });
        } else if (item.kind == MOT_ITEM_PERMUTE) {
            const uint32_t bytes = s.program.arg[item.step].u[0];
            change_quads<2, MARKS>(item.level, [&](int, uint32_t px[4]) {
#pragma unroll
                for (int i = 0; i < 4; i++)
                    px[i] = __byte_perm(px[i], 0, bytes);
            });
        } else {
            const int quads = s.image.pitch / 4, left = s.tile_x, top = s.tile_y;
            const uint32_t by_pitch = inverse_of(quads), fill = s.program.fill[item.step];
            change_quads<1, MARKS>(item.level, [&](int q, uint32_t px[4]) {
                const int row = divided(q, by_pitch), x = left + 4 * (q - row * quads), y = top + row;
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (x + i >= item.rect.x0 && x + i < item.rect.x1 && y >= item.rect.y0 && y < item.rect.y1)
                        px[i] = fill;
            });
        }
    }
}

/* A row's sums of three neighbouring pixels' channels 0 and 2, and of channel 1 for two such sums side by side. */
struct row_sums {
    uint32_t even[4], odd[2];
};

/* The four pixels at `p` and their sums. `before`, `after`: the first one's left neighbour and the last one's right
 * neighbour, from `p`. */
DEVICE row_sums sums_of_row(const uint32_t *p, int before, int after, uint32_t own[4])
{
    const uint4 v = *(const uint4 *)p;
    const uint32_t px[6] = { p[before], v.x, v.y, v.z, v.w, p[after] };
    row_sums sums;
    uint32_t odd[4]; /* from the second byte on */
#pragma unroll
    for (int c = 0; c < 4; c++) {
        own[c] = px[c + 1];
        sums.even[c] = even_of(px[c]) + even_of(px[c + 1]) + even_of(px[c + 2]);
        odd[c] = px[c] + px[c + 1] + px[c + 2] - sums.even[c];
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
        sums.odd[i] = __byte_perm(odd[2 * i], odd[2 * i + 1], 0x6521);
    return sums;
}

DEVICE row_sums both_sums(const row_sums &a, const row_sums &b)
{
    row_sums sums;
#pragma unroll
    for (int c = 0; c < 4; c++)
        sums.even[c] = a.even[c] + b.even[c];
#pragma unroll
    for (int i = 0; i < 2; i++)
        sums.odd[i] = a.odd[i] + b.odd[i];
    return sums;
}

/* The stencil, from a tile with a halo to one without, whose first pixel takes the place of the halo's. A thread takes
 * the same quad of some rows, from the lowest one up, and writes a row to the place of the one above it, which it has
 * just read: only the other quads of this row need what was there. */
template <int FORMAT, int OP> OUTLINE void stencil_tile(int step)
{
    tile_state &s = tile_cta();
    const int width = s.image.width, height = s.image.height, pitch = s.image.pitch, rows = s.rows;
    const int left = s.x0 - s.tile_x, quads = (s.columns + 3) >> 2;
    const mot_arg *const arg = &s.program.arg[step];
    const uint32_t colors = colors_of<FORMAT>(s.image.channels) == 3 ? 0x00FFFFFFu : 0x000000FFu;
    const uint32_t by_quads = inverse_of(quads), parts = divided(MOT_TILE_THREADS, by_quads);
    const int each = (rows + parts - 1) / parts, part = divided(threadIdx.x, by_quads);
    const int k = threadIdx.x - part * quads, x = s.x0 + 4 * k;
    const int first = part * each, end = part < (int)parts ? min(first + each, rows) : first;
    /* Outside the image: not used, and the word behind a row can be the next one's, which others write. */
    const int before = x == 0 ? 0 : -1, after = x + 4 >= width ? 3 : 4;
    uint32_t changed[4]; /* the bits of a pixel that the stencil changes */
#pragma unroll
    for (int c = 0; c < 4; c++)
        changed[c] = x + c == 0 || x + c >= width - 1 ? 0 : colors;
    uint32_t *to = tile_words() + (end - 1) * pitch + 4 * k;
    const uint32_t *from = to + left;
    /* of the row to make: its pixels and sums, and these together with the sums of the row below it. (What is not set
     * on every path would lie in local memory.) */
    uint32_t px[4] = {};
    row_sums own = {}, both = {};
    if (first < end) {
        const row_sums below = sums_of_row(from + 2 * pitch, before, after, px);
        own = sums_of_row(from + pitch, before, after, px);
        both = both_sums(own, below);
    }
    int row = end - 1;
#pragma unroll 1
    for (int i = 0; i < each; i++, row--, to -= pitch, from -= pitch) {
        const int y = s.y0 + row;
        uint32_t out[4] = { px[0], px[1], px[2], px[3] };
        if (row >= first) {
            const row_sums above = sums_of_row(from, before, after, px);
            if (y > 0 && y < height - 1) {
                const row_sums all = both_sums(both, above);
                uint32_t green[2];
#pragma unroll
                for (int g = 0; g < 2; g++) {
                    const uint32_t pair = __byte_perm(__byte_perm(out[2 * g], 0, 0x4441), out[2 * g + 1], 0x1510);
                    green[g] = mot_stencil_pair(OP, pair, all.odd[g], arg);
                }
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    const uint32_t red_blue = mot_stencil_pair(OP, __byte_perm(out[c], 0, 0x4240), all.even[c], arg);
                    const uint32_t made = __byte_perm(red_blue, green[c >> 1], c & 1 ? 0x3260 : 0x3240);
                    out[c] = (made & changed[c]) | (out[c] & ~changed[c]);
                }
            }
            both = both_sums(own, above);
            own = above;
        }
        __syncthreads();
        if (row >= first)
            *(uint4 *)to = make_uint4(out[0], out[1], out[2], out[3]);
    }
    if (threadIdx.x == 0)
        s.tile_x = s.x0, s.tile_y = s.y0, s.tile_columns = s.columns, s.tile_rows = s.rows;
}

/* ---- ops that are known at compile time: a switch for each pixel would take a third of these loops ---- */

/* Strips of 12 to 24 columns have a pitch of 24 words, narrower ones of 8 (mot_cut_strips): known at compile time, the
 * addresses take no multiplications. */
template <int FORMAT> DEVICE void blur_lines_by(int step, bool columns)
{
    for_blur(tile_cta().program.id[step], &tile_cta().program.arg[step], [&]([[maybe_unused]] auto kind) {
        if (!columns)
            blur_lines<FORMAT, 0, kind.RADIUS, kind.OP>(step);
        else if (tile_cta().image.pitch == 24)
            blur_lines<FORMAT, 24, kind.RADIUS, kind.OP>(step);
        else
            blur_lines<FORMAT, 8, kind.RADIUS, kind.OP>(step);
    });
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STENCIL
#define MOT_IF_STENCIL(ID, stem) \
    case MOT_OP_##ID: \
        return stencil_tile<FORMAT, MOT_OP_##ID>(step);

template <int FORMAT> DEVICE void stencil_tile_by(int step)
{
    switch (tile_cta().program.id[step]) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return;
    }
}

#include "kernels/shapes_off.h"

#endif
