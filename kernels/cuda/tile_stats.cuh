/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of an image, which its CTAs count tile by tile into totals in device memory, and the tables made from
 * them.
 *
 * CTAs count the bytes in memory or in the tile. If a table is still to be applied to these bytes, histograms take it
 * into account after counting, and lows, highs and lumas while counting. */
#ifndef MOT_TILE_STATS_CUH
#define MOT_TILE_STATS_CUH

#include "kernels/cuda/stats.cuh"
#include "kernels/cuda/tile_state.cuh"

DEVICE void zero_histogram(uint32_t *histogram, int words)
{
    for (int i = threadIdx.x; i < words / 4; i += MOT_TILE_THREADS)
        ((uint4 *)histogram)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
}

/* COPIES: 1, or a multiple of 8. */
template <int COPIES> DEVICE void add_histogram(const uint32_t *histogram, uint32_t *totals)
{
    static_assert(3 * 256 % MOT_TILE_THREADS == 0, "values for each thread");
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 3 * 256 / MOT_TILE_THREADS; k++) {
        const int i = threadIdx.x + k * MOT_TILE_THREADS;
        uint32_t sum = COPIES == 1 ? histogram[i] : 0;
#pragma unroll
        for (int z = 0; z < COPIES / 4; z++) { /* in such an order that lanes read different banks */
            const uint4 v = ((const uint4 *)(histogram + i * COPIES))[z ^ (i >> 2 & 1)];
            sum += v.x + v.y + v.z + v.w;
        }
        if (sum)
            atomicAdd(totals + i, sum);
    }
    __syncthreads();
}

/* Counts the tile's own pixels in shared memory. */
template <int FORMAT> OUTLINE void count_tile(int needs, uint32_t *totals)
{
    const tile_state &s = tile_cta();
    const int left = s.x0 - s.tile_x, top = s.y0 - s.tile_y, pitch = s.image.pitch, columns = s.columns;
    const int quads = (columns + 3) >> 2, n = quads * s.rows, channels = s.image.channels;
    const uint32_t by_quads = inverse_of(quads);
    uint32_t *const histogram = spare_words();
    counted seen = nothing_counted();
    if (needs == MOT_NEEDS_HISTOGRAM)
        zero_histogram(histogram, 3 * 256);
    for (int q = threadIdx.x; q < n; q += MOT_TILE_THREADS) {
        const int row = divided(q, by_quads), k = q - row * quads, here = min(columns - 4 * k, 4);
        const uint4 v = *(const uint4 *)(tile_words() + (top + row) * pitch + left + 4 * k);
        /* what lies past the image is the quad's first pixel, which a range may see again */
        const uint32_t px[4] = { v.x, here > 1 ? v.y : v.x, here > 2 ? v.z : v.x, here > 3 ? v.w : v.x };
        if (needs == MOT_NEEDS_RANGE || here == 4) {
            if (needs == MOT_NEEDS_HISTOGRAM)
                count_values<FORMAT, 4>(histogram, px, 1, channels);
            else
                count_pixels<FORMAT, 4>(seen, px, needs, channels);
            continue;
        }
#pragma unroll
        for (int i = 0; i < 3; i++) {
            if (i < here && needs == MOT_NEEDS_HISTOGRAM)
                count_values<FORMAT, 1>(histogram, px + i, 1, channels);
            else if (i < here)
                count_pixels<FORMAT, 1>(seen, px + i, MOT_NEEDS_MEAN, channels);
        }
    }
    if (needs == MOT_NEEDS_HISTOGRAM)
        add_histogram<1>(histogram, totals);
    else
        add_counted(seen, needs, totals);
}

/* Consecutive pixels in memory. Units of 16 are read together, the up to 5 pixels before and 18 behind them byte by
 * byte.
 */
struct pixel_run {
    const uint8_t *data;
    int head, units; /* pixels before the first unit; units */
};

/* `pixels` from `p` on. The first unit of packed pixels begins in the first word of an aligned block of 16 bytes. No
 * word that is read holds bytes behind the run. */
template <int FORMAT> DEVICE pixel_run run_at(const uint8_t *p, int pixels, bool even)
{
    const int size = format_bytes(FORMAT), before = is_packed(FORMAT) ? (int)(-(uintptr_t)p & 15) : 0;
    const int head = (before + size - 1) / size, skip = size * head - before;
    const int more = is_packed(FORMAT) ? (skip ? 4 : 0) : even ? 0 : 3;
    return pixel_run{ p, head, (size * pixels - before - more) / (16 * size) };
}

/* The 16 pixels of a unit that begins at `p`. */
template <int FORMAT> DEVICE void read_unit(const uint8_t *p, int64_t channel, uint32_t px[16])
{
    if constexpr (is_packed(FORMAT)) {
        enum { SIZE = format_bytes(FORMAT) };
        const uint32_t skip = (uint32_t)(uintptr_t)p & 15;
        const uint8_t *const from = p - skip;
        uint32_t v[4 * SIZE + 1];
#pragma unroll
        for (int i = 0; i < SIZE; i++) {
            const uint4 four = load_four_words(from + 16 * i);
            v[4 * i] = four.x, v[4 * i + 1] = four.y, v[4 * i + 2] = four.z, v[4 * i + 3] = four.w;
        }
        v[4 * SIZE] = load_word(from + (skip ? 16 * SIZE : 0));
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint32_t w[4];
#pragma unroll
            for (int k = 0; k < SIZE; k++)
                w[k] = __funnelshift_r(v[SIZE * i + k], v[SIZE * i + k + 1], 8 * skip);
            unpack_words<FORMAT>(w, px + 4 * i);
        }
    } else {
        enum { PLANES = FORMAT == MOT_FORMAT_PLANES ? 3 : 1 };
        uint32_t v[PLANES][5];
        if ((((uintptr_t)p | (PLANES == 3 ? (uintptr_t)channel : 0)) & 15) == 0) {
#pragma unroll
            for (int c = 0; c < PLANES; c++) {
                const uint4 four = load_four_words(p + c * channel);
                v[c][0] = four.x, v[c][1] = four.y, v[c][2] = four.z, v[c][3] = four.w;
            }
        } else {
            uint32_t skip[PLANES];
#pragma unroll
            for (int c = 0; c < PLANES; c++) {
                const uint8_t *const from = p + c * channel;
                skip[c] = (uint32_t)(uintptr_t)from & 3;
#pragma unroll
                for (int k = 0; k < 5; k++)
                    v[c][k] = load_word(from - skip[c] + (k < 4 ? 4 * k : skip[c] ? 16 : 12));
            }
#pragma unroll
            for (int c = 0; c < PLANES; c++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    v[c][k] = __funnelshift_r(v[c][k], v[c][k + 1], 8 * skip[c]);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint32_t w[4];
#pragma unroll
            for (int c = 0; c < PLANES; c++)
                w[c] = v[c][i];
            unpack_words<FORMAT>(w, px + 4 * i);
        }
    }
}

/* Counts COUNT pixels that were read from memory, after a table, if any. A histogram takes the table into account
 * later. */
template <int FORMAT, int COUNT, int COPIES>
DEVICE void count_read(counted &seen, uint32_t *histogram, uint32_t *px, int needs, int before, int channels)
{
    if (needs == MOT_NEEDS_HISTOGRAM) {
        count_values<FORMAT, COUNT>(histogram, px, COPIES, channels);
        return;
    }
    if (before != MOT_NONE)
        apply_table<FORMAT, COUNT>(table_of(before), channels, px);
    count_pixels<FORMAT, COUNT>(seen, px, needs, channels);
}

/* Counts the tile's own pixels in memory; the histogram's copies lie in the tile's place. READ: the format to read. */
template <int FORMAT, int READ> OUTLINE void count_memory(int needs, int before, uint32_t *totals)
{
    enum { COPIES = 8 };
    static_assert(3 * 256 * COPIES <= MOT_TILE_WORDS, "as many copies");
    const tile_state &s = tile_cta();
    const image_reader<READ> r = reader_of<READ>(s.current);
    const int channels = s.image.channels;
    uint32_t *const histogram = tile_words(), *const own_copy = histogram + (threadIdx.x & (COPIES - 1));
    counted seen = nothing_counted();
    if (needs == MOT_NEEDS_HISTOGRAM)
        zero_histogram(histogram, 3 * 256 * COPIES);
    const bool dense =
        READ != MOT_FORMAT_STRIDED && s.columns == r.width && r.row == (int64_t)format_bytes(READ) * r.width;
    const int runs = dense ? 1 : s.rows, pixels = dense ? s.rows * s.columns : s.columns;
    const int most_odd = READ == MOT_FORMAT_STRIDED ? pixels : 32; /* pixels of a run that are read byte by byte */
    const uint8_t *const first = r.data + s.x0 * (int64_t)format_bytes(READ) + r.skip + s.y0 * r.row;
    const uint32_t all = (uint32_t)(uintptr_t)first | (runs > 1 ? (uint32_t)r.row : 0) |
                         (READ == MOT_FORMAT_PLANES ? (uint32_t)r.channel : 0);
    const bool even = (all & 3) == 0;
    const bool odd = READ == MOT_FORMAT_STRIDED || (all & (is_packed(READ) ? 15 : 3)) || (pixels & 15);
    if constexpr (READ != MOT_FORMAT_STRIDED) {
        const int most = pixels >> 4, n = most * runs;
        const uint32_t by_most = inverse_of(max(most, 1));
#pragma unroll 1
        for (int i = threadIdx.x; i < n; i += MOT_TILE_THREADS) {
            const int run = divided(i, by_most), unit = i - run * most;
            const pixel_run own = run_at<READ>(first + run * (uint32_t)r.row, pixels, even);
            uint32_t px[16];
            if (unit >= own.units)
                continue;
            read_unit<READ>(own.data + format_bytes(READ) * (own.head + 16 * unit), r.channel, px);
            count_read<FORMAT, 16, COPIES>(seen, own_copy, px, needs, before, channels);
        }
    }
    const int last_first = threadIdx.x ^ (MOT_TILE_THREADS - 32); /* the last warps had fewer units */
#pragma unroll 1
    for (int i = odd ? last_first : runs * most_odd; i < runs * most_odd; i += MOT_TILE_THREADS) {
        const int run = i / most_odd, k = i - run * most_odd;
        uint32_t px[1];
        if constexpr (READ == MOT_FORMAT_STRIDED) {
            px[0] = read_bytes<READ>(r, s.x0 + k, s.y0 + run);
        } else {
            const pixel_run own = run_at<READ>(first + run * (uint32_t)r.row, pixels, even);
            const int at = k < own.head ? k : k + 16 * own.units;
            if (at >= pixels)
                continue;
            px[0] = read_bytes_at<READ>(r, (uint32_t)(own.data - r.data) + format_bytes(READ) * at);
        }
        count_read<FORMAT, 1, COPIES>(seen, own_copy, px, needs, before, channels);
    }
    __syncthreads();
    if (needs == MOT_NEEDS_HISTOGRAM)
        add_histogram<COPIES>(histogram, totals);
    else
        add_counted(seen, needs, totals);
}

#include "kernels/shapes_off.h"
#undef MOT_IF_STATS
#define MOT_IF_STATS(ID, stem) \
    case MOT_OP_##ID: \
        _Pragma("unroll") for (int c = 0; c < 3; c++) if (c < colors) v[c] = mot_##stem(v[c], &stats[c], arg); \
        break;

/* One switch on the op for a value of each colour, so that they are made side by side. */
DEVICE void make_values(int op, uint8_t v[3], int colors, const mot_stats *stats, const mot_arg *arg)
{
    switch (op) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        break;
    }
}
#include "kernels/shapes_off.h"

/* Runs TABLE after the whole image was counted: makes a table of another one, if any, then a step, then a third table,
 * if any. A barrier must follow. */
template <int FORMAT> OUTLINE void make_table(mot_program_op what, const uint32_t *totals)
{
    tile_state &s = tile_cta();
    const int made = what.a, step = what.b, before = what.c, after = what.d;
    const int op = s.program.id[step], needs = needs_of(op), colors = colors_of<FORMAT>(s.image.channels);
    const uint32_t pixels = (uint32_t)s.image.width * (uint32_t)s.image.height;
    uint32_t *const counts = spare_words();
    const uint8_t(*const in)[256] = before == MOT_NONE ? nullptr : table_of(before);
    if (needs != MOT_NEEDS_HISTOGRAM) {
        if (threadIdx.x < 3) {
            const int c = threadIdx.x;
            const uint64_t luma = __ldcg(totals) | (uint64_t)__ldcg(totals + 1) << 32;
            const uint32_t mean = needs == MOT_NEEDS_MEAN ? mot_stats_mean(luma, pixels) : 0;
            s.stats[c] =
                mot_stats{ pixels, 255 - (__ldcg(totals + c) & 0xFF), __ldcg(totals + MOT_TOTAL_HIGH + c), 0, mean,
                           nullptr };
        }
    } else {
        uint32_t count[3];
#pragma unroll
        for (int c = 0; c < 3; c++)
            count[c] = __ldcg(totals + 256 * c + threadIdx.x);
        if (in)
            zero_histogram(counts, 3 * 256);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            if (!in)
                counts[256 * c + threadIdx.x] = count[c];
            else if (count[c])
                atomicAdd(&counts[256 * c + in[c][threadIdx.x]], count[c]);
        }
        __syncthreads();
        if (threadIdx.x / 32 < 3)
            finish_histogram(counts + threadIdx.x / 32 * 256, pixels, &s.stats[threadIdx.x / 32]);
    }
    static_assert(MOT_TILE_THREADS == 256, "a value for each thread");
    __syncthreads();
    uint8_t v[3];
#pragma unroll
    for (int c = 0; c < 3; c++)
        v[c] = in && c < colors ? in[c][threadIdx.x] : (uint8_t)threadIdx.x;
    make_values(op, v, colors, s.stats, &s.program.arg[step]);
#pragma unroll
    for (int c = 0; c < 3; c++)
        if (c < colors)
            s.table[made][c][threadIdx.x] = after == MOT_NONE ? v[c] : s.table[after][c][v[c]];
}

#endif
