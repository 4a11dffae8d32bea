/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that write a tile to memory: as bytes of any format, or as the output's type. */
#ifndef MOT_TILE_STORE_CUH
#define MOT_TILE_STORE_CUH

#include "kernels/cuda/lines.cuh"
#include "kernels/cuda/tile_state.cuh"
#include "kernels/output.h"

/* The tile's pixels as runs that are contiguous in memory: the whole tile, or one run a row.
 *
 * A run in memory, with | at addresses that are multiples of 16. A head and a tail of up to 15 bytes are written byte
 * by byte (for_odd_bytes), the blocks between them 16 bytes at a time (for_pieces).
 *
 *     |     .......|................|................|...         |
 *           ^ head   block            block            ^ tail
 *           t.data + run * t.row                         + bytes  */
struct tile_runs {
    int runs, pixels; /* of a run */
    uint8_t *data;    /* of the first */
    int64_t row;      /* from run to run */
};

template <int FORMAT> DEVICE tile_runs runs_in(const mot_view &v)
{
    const tile_state &s = tile_cta();
    const bool dense =
        s.columns == s.image.width && s.image.width >= 16 && v.row == (int64_t)format_bytes(FORMAT) * s.image.width;
    return tile_runs{ dense ? 1 : s.rows, dense ? s.rows * s.columns : s.columns,
                      v.data + s.y0 * v.row + s.x0 * format_bytes(FORMAT), v.row };
}

/* Bytes up to the next 16-byte address, at most `bytes`. */
DEVICE int bytes_to_aligned(const uint8_t *p, int bytes)
{
    return min((int)(-(uintptr_t)p & 15), bytes);
}

/* Calls body(run, byte) for the bytes at both ends of each run that lie outside its aligned blocks of 16. */
template <class BODY> DEVICE void for_odd_bytes(const tile_runs &t, int bytes, BODY body)
{
    for (int i = threadIdx.x; i < t.runs * 32; i += MOT_TILE_THREADS) {
        const int run = i >> 5, k = i & 31, head = bytes_to_aligned(t.data + (uint32_t)(run * (uint32_t)t.row), bytes);
        const int tail = head + ((bytes - head) & ~15);
        const int at = k < 16 ? k : tail + k - 16;
        if (k < 16 ? k < head : at < bytes)
            body(run, at);
    }
}

/* Calls body(run, byte, whether there is one run) for each aligned block of 16 bytes of a run. */
template <class BODY> DEVICE void for_pieces(const tile_runs &t, int bytes, BODY body)
{
    const int most = bytes >> 4, n = most * t.runs;
    if (t.runs == 1) {
        const int head = bytes_to_aligned(t.data, bytes), end = bytes - 15;
#pragma unroll 2
        for (int at = head + 16 * (int)threadIdx.x; at < end; at += 16 * MOT_TILE_THREADS)
            body(0, at, true);
        return;
    }
    const uint32_t by_most = inverse_of(max(most, 1));
#pragma unroll 2
    for (int i = threadIdx.x; i < n; i += MOT_TILE_THREADS) {
        const int run = divided(i, by_most);
        const int at = bytes_to_aligned(t.data + (uint32_t)(run * (uint32_t)t.row), bytes) + 16 * (i - run * most);
        if (at + 16 <= bytes)
            body(run, at, false);
    }
}

/* 16 bytes of packed pixels, from byte `k` of the first pixel on. */
DEVICE uint4 pack_sixteen(const uint32_t px[6], int k)
{
    const uint32_t a = __byte_perm(px[0], px[1], 0x4210), b = __byte_perm(px[1], px[2], 0x5421),
                   c = __byte_perm(px[2], px[3], 0x6542), d = __byte_perm(px[4], px[5], 0x4210), f = px[5] >> 8;
    return make_uint4(__funnelshift_r(a, b, 8 * k), __funnelshift_r(b, c, 8 * k), __funnelshift_r(c, d, 8 * k),
                      __funnelshift_r(d, f, 8 * k));
}

DEVICE void store_rgb(const mot_view &to)
{
    const tile_state &s = tile_cta();
    const tile_runs t = runs_in<MOT_FORMAT_RGB>(to);
    const int bytes = 3 * t.pixels, pitch = s.image.pitch, columns = s.columns, gap = pitch - columns;
    const uint32_t by_columns = inverse_of(columns);
    uint32_t *const words = tile_words();
    if (aligned(t.data, 16) && (columns & 15) == 0 && (t.runs == 1 || (t.row & 15) == 0)) {
        /* 4 to 32 threads take a row: they pack four pixels each into 12 bytes in place, and write these 16 at a time
         */
        const int quads = columns >> 2, bits = 2 + (quads > 4) + (quads > 8) + (quads > 16), group = 1 << bits,
                  n = s.rows;
        const int lane = threadIdx.x & 31, k = lane & (group - 1);
        const uint32_t row_bytes = t.runs == 1 ? 3 * columns : (uint32_t)t.row;
#pragma unroll 1
        for (int first = threadIdx.x >> 5 << (5 - bits); first < n; first += MOT_TILE_THREADS >> bits) {
            const int row = first + (lane >> bits);
            uint32_t *w = words + min(row, n - 1) * pitch;
            uint8_t *p = t.data + (row_bytes * row + 16 * k);
#pragma unroll 1
            for (int left = quads; left > 0; left -= 32, w += 128, p += 384) {
                const int here = row < n ? min(left, 32) : 0; /* quads of this turn */
                const uint4 v = ((const uint4 *)w)[min(k, left - 1)];
                const uint32_t px[4] = { v.x, v.y, v.z, v.w };
                uint32_t out[3];
                pack_rgb(px, out);
                __syncwarp();
                if (k < here)
#pragma unroll
                    for (int i = 0; i < 3; i++)
                        w[3 * k + i] = out[i];
                __syncwarp();
                if (4 * k < 3 * here)
                    store_four_words(p, ((const uint4 *)w)[k]);
            }
        }
        return;
    }
    /* a run's pixel `p` in the tile */
    const bool rows = t.runs > 1;
    for_odd_bytes(t, bytes, [&](int run, int at) {
        const int p = __umulhi(at, 0x55555556u), row = rows ? run : divided(p, by_columns);
        const int word = rows ? run * pitch + p : p + row * gap;
        store_byte(t.data + (run * (uint32_t)t.row + at), words[word] >> (8 * (at - 3 * p)));
    });
    for_pieces(t, bytes, [&](int run, int at, bool one) {
        const int p = __umulhi(at, 0x55555556u), row = one ? __umulhi(p, by_columns) : run;
        const int left = one ? (row + 1) * columns - p : 6; /* pixels of the row; the others are in the next row */
        const uint32_t *const w = words + (one ? p + row * gap : row * pitch + p), *const next = w + gap;
        uint32_t px[6] = { w[0] };
#pragma unroll
        for (int i = 1; i < 6; i++)
            px[i] = (i < left ? w : next)[i];
        store_four_words(t.data + (run * (uint32_t)t.row + at), pack_sixteen(px, at - 3 * p));
    });
}

/* Four pixels of the tile as a word for each plane. */
template <int FORMAT> DEVICE void pack_bytes(const uint32_t *pixels, uint32_t w[3])
{
    const uint4 v = *(const uint4 *)pixels;
    const uint32_t px[4] = { v.x, v.y, v.z, v.w };
    pack_words<FORMAT>(px, w);
}

/* One byte a pixel: planes or grey. */
template <int FORMAT> DEVICE void store_bytes_of_planes(const mot_view &to)
{
    const tile_state &s = tile_cta();
    const int planes = FORMAT == MOT_FORMAT_PLANES ? 3 : 1, pitch = s.image.pitch, columns = s.columns, rows = s.rows;
    const int quads = (columns + 3) >> 2;
    const uint32_t row_bytes = (uint32_t)to.row;
    const int64_t plane = to.channel; /* `to` lies in shared memory, and would be read again after each store */
    uint8_t *const data = to.data + s.y0 * to.row + s.x0;
    const bool even = aligned(data, 4) && (row_bytes & 3) == 0 && (planes == 1 || (plane & 3) == 0);
    if (even && (columns & 3) == 0) {
        const int n = quads * rows;
        const uint32_t by_quads = inverse_of(quads);
#pragma unroll 2
        for (int q = threadIdx.x; q < n; q += MOT_TILE_THREADS) {
            const int row = divided(q, by_quads), k = q - row * quads;
            uint32_t w[3];
            pack_bytes<FORMAT>(tile_words() + row * pitch + 4 * k, w);
            uint8_t *const p = data + (uint32_t)(row * row_bytes + 4 * k);
#pragma unroll
            for (int c = 0; c < planes; c++)
                store_word(p + c * plane, w[c]);
        }
        return;
    }
    /* 8, 16 or 32 threads take a row. Each packs a quad and writes an aligned word of each plane, which begins with
     * bytes of the quad before: the neighbouring thread has packed that one. They begin where a block of 32 bytes of
     * the first plane does, which is then written whole. Bytes outside of such words come last.
     *
     *     memory    |    |  00|0011|1122|2233|3     in words; digits: the quad that a byte of the row comes from
     *     written           bb [  ] [  ] [  ] b     b: byte by byte; [  ]: a word, of the quads of two threads
     *               ^ block of 32                   begin: 4 bytes, to the word of the row's first; skip: 6, to the row
     */
    const int bits = 3 + (rows <= 16) + (rows <= 8), group = 1 << bits;
    const int lane = threadIdx.x & 31, k = lane & (group - 1), neighbour = (lane & -group) | ((lane - 1) & (group - 1));
    const uint32_t end = 4 * (quads + k) + (row_bytes & 31 ? 28 : (uint32_t)(uintptr_t)data & 28);
    const uint32_t words = max(columns - 3, 0); /* each begins before this pixel */
#pragma unroll 1
    for (int first = threadIdx.x >> 5 << (5 - bits); first < rows; first += MOT_TILE_THREADS >> bits) {
        const int row = min(first + (lane >> bits), rows - 1); /* some threads may write the last row once more */
        const uint32_t *const at = tile_words() + row * pitch;
        uint8_t *p[3];
        uint32_t skip[3], before[3] = { 0, 0, 0 };
#pragma unroll
        for (int c = 0; c < planes; c++)
            p[c] = data + (uint32_t)(row * row_bytes) + c * plane;
        const uint32_t begin = (uint32_t)(uintptr_t)p[0] & 28; /* of the row, in its first block */
#pragma unroll
        for (int c = 0; c < planes; c++) {
            skip[c] = begin + ((uint32_t)(uintptr_t)p[c] & 3);
            p[c] -= skip[c];
        }
#pragma unroll 2
        for (uint32_t x = 4 * k; x < end; x += 4 << bits) {
            uint32_t w[3], left[3];
            pack_bytes<FORMAT>(at + (max(x, begin) - begin), w);
#pragma unroll
            for (int c = 0; c < planes; c++) {
                left[c] = __shfl_sync(0xFFFFFFFFu, k == group - 1 ? before[c] : w[c], neighbour);
                before[c] = w[c];
            }
#pragma unroll
            for (int c = 0; c < planes; c++)
                if (x - skip[c] < words)
                    store_word(p[c] + x, __funnelshift_l(left[c], w[c], 8 * skip[c]));
        }
#pragma unroll
        for (int c = 0; c < planes; c++) {
            const int head = min((int)(-skip[c] & 3), columns), tail = head + ((columns - head) & ~3);
            const uint32_t x = k < 4 ? k : tail + k - 4;
            if (k < 8 && (int)x < (k < 4 ? head : columns))
                store_byte(p[c] + (x + skip[c]), at[x] >> (8 * c));
        }
    }
}

DEVICE void store_rgba(const mot_view &to)
{
    const tile_state &s = tile_cta();
    const int pitch = s.image.pitch, columns = s.columns, quads = (columns + 3) >> 2, n = quads * s.rows;
    const uint32_t by_quads = inverse_of(quads);
    uint8_t *const data = to.data + s.y0 * to.row + 4 * s.x0;
    const bool even = aligned(data, 16) && (to.row & 15) == 0, words = aligned(data, 4) && (to.row & 3) == 0;
    for (int q = threadIdx.x; q < n; q += MOT_TILE_THREADS) {
        const int row = divided(q, by_quads), k = q - row * quads, here = min(columns - 4 * k, 4);
        const uint4 v = *(const uint4 *)(tile_words() + row * pitch + 4 * k);
        const uint32_t px[4] = { v.x, v.y, v.z, v.w };
        uint8_t *const p = data + row * to.row + 16 * k;
        if (even && here == 4) {
            store_four_words(p, v);
            continue;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (i < here && words)
                store_word(p + 4 * i, px[i]);
            if (i < here && !words)
                for (int c = 0; c < 4; c++)
                    store_byte(p + 4 * i + c, px[i] >> (8 * c));
        }
    }
}

/* Any strides. */
OUTLINE void store_strided(const mot_view &to)
{
    const tile_state &s = tile_cta();
    const int columns = s.columns, n = columns * s.rows;
    const uint32_t by_columns = inverse_of(columns);
    for (int i = threadIdx.x; i < n; i += MOT_TILE_THREADS) {
        const int row = divided(i, by_columns), column = i - row * columns;
        const uint32_t px = tile_words()[row * s.image.pitch + column];
        uint8_t *const p = to.data + (s.y0 + row) * to.row + (s.x0 + column) * to.pixel;
#pragma unroll
        for (int c = 0; c < 4; c++)
            if (c < s.image.channels)
                store_byte(p + c * to.channel, px >> (8 * c));
    }
}

/* The tile's pixels as bytes. */
template <int FORMAT> OUTLINE void store_tile(const mot_view &to)
{
    if constexpr (FORMAT == MOT_FORMAT_RGB)
        store_rgb(to);
    else if constexpr (FORMAT == MOT_FORMAT_PLANES || FORMAT == MOT_FORMAT_GREY)
        store_bytes_of_planes<FORMAT>(to);
    else if constexpr (FORMAT == MOT_FORMAT_RGBA)
        store_rgba(to);
    else
        store_strided(to);
}

/* Writes the tile's pixels to planes of 16-bit values by lines. False: they are not so, or not all of them can. */
template <int CHANNELS> OUTLINE bool store_lines(const mot_tiles_job &job)
{
    const tile_state &s = tile_cta();
    const mot_view &to = s.image.result;
    const int columns = s.columns, pitch = s.image.pitch, quads = columns >> 2, n = quads * s.rows;
    const int64_t channel = to.channel, row_bytes = to.row;
    uint8_t *const data = address(to, s.x0, s.y0);
    if (to.pixel != 2 || columns % 4 != 0 || !aligned(data, 8) || ((row_bytes | (CHANNELS > 1 ? channel : 0)) & 7) != 0)
        return false;
    const int dtype = job.as.dtype;
    const uint32_t by_quads = inverse_of(quads);
    mot_output_line line[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        line[c] = job.as.line[CHANNELS == 1 ? mot_line_of_band(s.image.band) : c];
#pragma unroll 2
    for (int q = threadIdx.x; q < n; q += MOT_TILE_THREADS) {
        const int row = divided(q, by_quads), k = q - row * quads;
        const uint4 px = *(const uint4 *)(tile_words() + row * pitch + 4 * k);
        uint8_t *p = data + row * row_bytes + 8 * k;
#pragma unroll
        for (int c = 0; c < CHANNELS; c++, p += channel) {
            const float v[4] = { line_value(line[c], px.x, c), line_value(line[c], px.y, c),
                                 line_value(line[c], px.z, c), line_value(line[c], px.w, c) };
            store_two_words(p, round_four(dtype, v));
        }
    }
    return true;
}

/* Writes the tile's pixels as the output's type. */
template <int FORMAT> OUTLINE void store_tile_as(const mot_tiles_job &job)
{
    if (job.as.by_lines && (FORMAT == MOT_FORMAT_GREY ? store_lines<1>(job) : job.channels == 3 && store_lines<3>(job)))
        return;
    const int dtype = job.as.dtype;
    const tile_state &s = tile_cta();
    const uint32_t *const values = job.as.values + 256 * s.image.band;
    const mot_view &to = s.image.result;
    uint32_t(*const table)[256] = (uint32_t(*)[256])spare_words();
    for (int i = threadIdx.x; i < s.image.channels * 64; i += MOT_TILE_THREADS)
        ((uint4 *)table)[i] = load_four_words(values + 4 * i);
    __syncthreads();
    const int columns = s.columns, pitch = s.image.pitch, quads = (columns + 3) >> 2, n = quads * s.rows;
    const uint32_t by_quads = inverse_of(quads);
    const int size = dtype == MOTLEY_F32 ? 4 : 2;
    const bool pixels = s.image.channels == 3 && dtype != MOTLEY_U8 && to.pixel == 3 * size && to.channel == size;
#pragma unroll 1
    for (int q = threadIdx.x; q < n; q += MOT_TILE_THREADS) {
        const int row = divided(q, by_quads), k = q - row * quads, x = s.x0 + 4 * k, y = s.y0 + row;
        const uint4 v = *(const uint4 *)(tile_words() + row * pitch + 4 * k);
        const uint32_t px[4] = { v.x, v.y, v.z, v.w };
        uint8_t *const p = address(to, x, y);
        if (!pixels || x + 4 > to.width || !aligned(p, 4 * size) || x + 4 > s.x0 + columns) {
            store_output(to, dtype, table, x, y,
                         px); /* a tile's columns are a multiple of four, or end with the image */
            continue;
        }
        uint32_t bits[12];
#pragma unroll
        for (int i = 0; i < 12; i++)
            bits[i] = table[i % 3][byte_of(px[i / 3], i % 3)];
#pragma unroll
        for (int i = 0; i < 3; i++) {
            if (dtype == MOTLEY_F32)
                *(uint4 *)(p + 16 * i) = make_uint4(bits[4 * i], bits[4 * i + 1], bits[4 * i + 2], bits[4 * i + 3]);
            else
                *(uint2 *)(p + 8 * i) =
                    make_uint2(bits[4 * i] | bits[4 * i + 1] << 16, bits[4 * i + 2] | bits[4 * i + 3] << 16);
        }
    }
}

#endif
