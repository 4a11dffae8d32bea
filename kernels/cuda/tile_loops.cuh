/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over a tile: from memory, in place, and back to memory. Only those from and to memory know the image's
 * format, strides and alignment. */
#ifndef MOT_TILE_LOOPS_CUH
#define MOT_TILE_LOOPS_CUH

#include "kernels/cuda/blur_runs.cuh"
#include "kernels/cuda/interpolate.cuh"
#include "kernels/cuda/tile_state.cuh"
#include "kernels/output.h"
#include "motley/op.h"

/* ---- from memory ---- */

static_assert((MOT_TILE_WORDS + MOT_TILE_SPARE_WORDS) / 4 / MOT_TILE_THREADS < 32,
              "a thread's quads, as bits of a word");

/* Rows above and below the image repeat its first and last rows. */
template <int FORMAT> OUTLINE void fetch_tile()
{
    const tile_state &s = cta();
    const image_reader<FORMAT> r = reader_of<FORMAT>(s.current);
    const int across = (s.tile_columns + 3) >> 2, n = across * s.tile_rows;
    const int left = s.tile_x, top = s.tile_y, pitch = s.image.pitch;
    const uint32_t by_quads = inverse_of(across);
    if (has_even_rows<FORMAT>(r)) {
#pragma unroll 4
        for (int q = threadIdx.x; q < n; q += MOT_TILE_THREADS) {
            const int row = divided(q, by_quads), k = q - row * across;
            const int x = min(max(left + 4 * k, 0), r.width - 4), y = min(max(top + row, 0), r.height - 1);
            uint32_t w[4], px[4];
            read_even_words<FORMAT>(r, x, y, w);
            unpack_words<FORMAT>(w, px);
            *(uint4 *)(tile_words() + row * pitch + 4 * k) = make_uint4(px[0], px[1], px[2], px[3]);
        }
        return;
    }
    unsigned unread = 0; /* quads that share a word with bytes behind the image, one bit for each turn of the loop */
    unsigned bit = 1;
#pragma unroll 1
    for (int q = threadIdx.x; q < n; q += MOT_TILE_QUADS * MOT_TILE_THREADS) {
        uint32_t px[MOT_TILE_QUADS][4];
#pragma unroll
        for (int k = 0; k < MOT_TILE_QUADS; k++, bit *= 2) {
            const int own = min(q + k * MOT_TILE_THREADS, n - 1), row = divided(own, by_quads);
            const int x = max(left + 4 * (own - row * across), 0), y = min(max(top + row, 0), r.height - 1);
            const int from = x < r.width ? x : 0; /* a quad of the halo may lie past the image: not used */
            unread |= read_four<FORMAT>(r, from, y, min(r.width - from, 4), px[k]) ? 0 : bit;
        }
#pragma unroll
        for (int k = 0; k < MOT_TILE_QUADS; k++) {
            const int own = q + k * MOT_TILE_THREADS, row = divided(own, by_quads);
            if (own < n)
                *(uint4 *)(tile_words() + row * pitch + 4 * (own - row * across)) =
                    make_uint4(px[k][0], px[k][1], px[k][2], px[k][3]);
        }
    }
    for (; unread; unread &= unread - 1) {
        const int q = threadIdx.x + (__ffs(unread) - 1) * MOT_TILE_THREADS;
        const int row = divided(q, by_quads), k = q - row * across;
        const int x = left + 4 * k, y = min(max(top + row, 0), r.height - 1);
        uint32_t px[4];
        if (q >= n || x < 0 || x >= r.width)
            continue;
        read_four_slowly<FORMAT>(r, x, y, min(r.width - x, 4), px);
        *(uint4 *)(tile_words() + row * pitch + 4 * k) = make_uint4(px[0], px[1], px[2], px[3]);
    }
}

/* A nearest warp as 16.16 numbers: output (x, y) reads (cx + x ax + y bx, cy + x ay + y by). */
struct fixed_warp_numbers {
    uint32_t ax, bx, cx, ay, by, cy;
};

DEVICE fixed_warp_numbers fixed_numbers_of(int step)
{
    const uint32_t *const f = cta().program.fixed[step];
    return fixed_warp_numbers{ f[0], f[1], f[2], f[3], f[4], f[5] };
}

/* The colour that a warp fills with; with `mark`, the pixel's highest byte says that it was filled. */
DEVICE uint32_t fill_of(int step, int mark)
{
    const uint32_t fill = cta().program.fill[step];
    return mark ? (fill & 0xFFFFFF) | (uint32_t)mark << 24 : fill;
}

/* One nearest warp, or two, in units of 32 x 4 pixels. 32 threads take four blocks of 8 x 4, each thread one pixel of
 * each, so that neighbours read the same cache lines at any angle. The output reads at `second` from the result of
 * `first`. */
template <int FORMAT, bool TWICE> struct nearest_gather {
    image_reader<FORMAT> r;
    uint32_t width, height;
    fixed_warp_numbers f, g;
    uint32_t filled1, filled2; /* in place of a pixel's offset: it is filled */
    uint32_t x0, y0;           /* in a unit, the thread's first pixel, ... */
    uint32_t in_x0, in_y0;     /* ... and what it reads in the tile's first unit */

    __device__ __forceinline__ nearest_gather(int first, int second)
    {
        const tile_state &s = cta();
        r = reader_of<FORMAT>(s.current);
        if (is_packed(FORMAT)) /* as reader_of gives it, the compiler would add each pixel's second address by itself */
            r.data = (const uint8_t *)((uintptr_t)s.current.data & ~(uintptr_t)3);
        width = s.image.width, height = s.image.height;
        f = fixed_numbers_of(first), g = TWICE ? fixed_numbers_of(second) : f;
        filled1 = r.skip | MOT_UNUSED_PIXEL, filled2 = filled1 + bytes_of(FORMAT);
        x0 = threadIdx.x & 7, y0 = threadIdx.x >> 3 & 3;
        const uint32_t left = s.tile_x + x0, top = s.tile_y + y0;
        in_x0 = g.cx + left * g.ax + top * g.bx, in_y0 = g.cy + left * g.ay + top * g.by;
    }

    /* Of the pixel that a position in the output reads. */
    __device__ __forceinline__ uint32_t offset_at(uint32_t in_x, uint32_t in_y) const
    {
        uint32_t x = (uint32_t)((int32_t)in_x >> 16), y = (uint32_t)((int32_t)in_y >> 16);
        bool inside = (x < width) & (y < height);
        const uint32_t filled = TWICE && !inside ? filled2 : filled1;
        if (TWICE) {
            const uint32_t xi = x, yi = y;
            x = (uint32_t)((int32_t)(f.cx + xi * f.ax + yi * f.bx) >> 16);
            y = (uint32_t)((int32_t)(f.cy + xi * f.ay + yi * f.by) >> 16);
            inside &= (x < width) & (y < height);
        }
        return inside ? offset_in<FORMAT>(r, x, y) : filled;
    }
};

/* Those of a thread's pixels that are read byte by byte, in the turns whose bits are set. A separate function, so
 * that the loop before it needs no registers for it. */
template <int FORMAT, bool TWICE> OUTLINE void gather_last(int first, int second, uint32_t of_pixel, unsigned turns)
{
    const tile_state &s = cta();
    const nearest_gather<FORMAT, TWICE> w(first, second);
    const int across = (s.tile_columns + 31) >> 5;
#pragma unroll 1
    for (; turns; turns &= turns - 1) {
        const int u = (threadIdx.x >> 5) + (__ffs(turns) - 1) * MOT_TILE_WARPS, y = 4 * (u / across);
#pragma unroll 1
        for (int i = 0, x = 32 * (u % across); i < 4; i++, x += 8) {
            const uint32_t at = w.offset_at(w.in_x0 + x * w.g.ax + y * w.g.bx, w.in_y0 + x * w.g.ay + y * w.g.by);
            if ((int)w.x0 + x < s.tile_columns && is_last<FORMAT>(w.r, at))
                tile_words()[(w.y0 + y) * s.image.pitch + w.x0 + x] = read_bytes_at<FORMAT>(w.r, at) & of_pixel;
        }
    }
}

template <int FORMAT, bool TWICE> OUTLINE void gather_tile(int first, int second, int marks)
{
    const tile_state &s = cta();
    const nearest_gather<FORMAT, TWICE> w(first, second);
    const uint32_t fill1 = fill_of(first, marks ? 1 : 0), fill2 = TWICE ? fill_of(second, marks ? 2 : 0) : fill1;
    const uint32_t of_pixel = marks ? 0xFFFFFFu : 0xFFFFFFFFu;
    const int pitch = s.image.pitch, across = (s.tile_columns + 31) >> 5, n = across * ((s.tile_rows + 3) >> 2);
    const uint32_t by_across = inverse_of(across), ax = w.g.ax, ay = w.g.ay;
    unsigned unread = 0; /* turns with pixels that are read byte by byte, one bit each */
    constexpr int most_units =
        (MOT_TILE_WORDS + MOT_TILE_SPARE_WORDS) / 128 + (MOT_TILE_WIDEST + 8) / 32 + MOT_TILE_HIGHEST / 4 + 4;
    static_assert(most_units < 32 * MOT_TILE_WARPS, "fewer turns than bits");
    const int warp = threadIdx.x >> 5, down0 = divided(warp, by_across), right0 = warp - down0 * across;
    uint32_t in_x = w.in_x0 + 32 * right0 * ax + 4 * down0 * w.g.bx;
    uint32_t in_y = w.in_y0 + 32 * right0 * ay + 4 * down0 * w.g.by;
    uint32_t *to = tile_words() + (w.y0 + 4 * down0) * pitch + w.x0 + 32 * right0;
    int columns = s.tile_columns - (int)w.x0 - 32 * right0; /* from the thread's first pixel on */
    /* from a warp's unit to its next one, and from the end of a row of units to the next one's begin */
    const int down = divided(MOT_TILE_WARPS, by_across), right = MOT_TILE_WARPS - down * across;
    const uint32_t step_x = 32 * right * ax + 4 * down * w.g.bx, step_y = 32 * right * ay + 4 * down * w.g.by;
    const uint32_t wrap_x = 4 * w.g.bx - 32 * across * ax, wrap_y = 4 * w.g.by - 32 * across * ay;
    const int step = 32 * right + 4 * down * pitch, wrap = 4 * pitch - 32 * across;
    const int end = columns + 32 * (right0 - across);
#pragma unroll 1
    for (int left = n - warp, turn = 1; left > 0; left -= MOT_TILE_WARPS, turn *= 2) {
        uint32_t at[4], px[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            at[k] = w.offset_at(in_x + 8 * k * ax, in_y + 8 * k * ay);
        unread |= read_pixels<FORMAT, 4>(w.r, at, px) ? turn : 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const uint32_t fill = TWICE && at[k] == w.filled2 ? fill2 : fill1;
            if (8 * k < columns)
                to[8 * k] = at[k] & MOT_UNUSED_PIXEL ? fill : px[k] & of_pixel;
        }
        in_x += step_x, in_y += step_y, to += step, columns -= 32 * right;
        if (columns <= end)
            in_x += wrap_x, in_y += wrap_y, to += wrap, columns += 32 * across;
    }
    if (is_packed(FORMAT) && unread)
        gather_last<FORMAT, TWICE>(first, second, of_pixel, unread);
}

/* Whether a nearest warp moves rows as they are: a horizontal shear or a translation. */
DEVICE bool moves_rows(int step)
{
    const fixed_warp_numbers f = fixed_numbers_of(step);
    return f.ax == 65536 && f.ay == 0 && f.by == 65536;
}

/* Such a warp: 32 threads take a row, two quads of it at a time. All quads of a row begin at the same byte of a word.
 * They are read as words, if all these are the image's: quads at the row's ends read pixels of other rows as well, in
 * whose place they are filled. */
template <int FORMAT> OUTLINE void move_rows(int step, int marks)
{
    enum {
        PLANES = FORMAT == MOT_FORMAT_PLANES ? 3 : 1,
        SIZE = bytes_of(FORMAT),
        WORDS = is_packed(FORMAT) ? SIZE : 1, /* of a quad, in each plane */
    };
    const tile_state &s = cta();
    const image_reader<FORMAT> r = reader_of<FORMAT>(s.current);
    const fixed_warp_numbers f = fixed_numbers_of(step);
    const uint32_t fill = fill_of(step, marks ? 1 : 0), of_pixel = marks ? 0xFFFFFFu : 0xFFFFFFFFu;
    const int across = (s.tile_columns + 3) >> 2, rows = s.tile_rows, pitch = s.image.pitch;
    const int left = s.tile_x, top = s.tile_y, down = (int32_t)f.cy >> 16, lane = threadIdx.x & 31;
    const int first_byte = is_packed(FORMAT) ? 0 : 4; /* a plane's first word may begin before it */
    const int last_byte = (int)r.whole - 4 * (across - 1) * SIZE - (is_packed(FORMAT) ? 4 * WORDS + 4 : 8);
#pragma unroll 1
    for (int row = threadIdx.x >> 5; row < rows; row += MOT_TILE_WARPS) {
        const int y = top + row + down, begin = left + ((int32_t)(f.cx + (top + row) * f.bx) >> 16);
        const uint32_t width = (unsigned)y < (unsigned)r.height ? r.width : 0;
        const int at = (int)((uint32_t)y * (uint32_t)r.row + r.skip + begin * SIZE);
        uint32_t *const to = tile_words() + row * pitch;
        auto put = [&](int k, const uint32_t px[4]) {
            uint32_t out[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                out[i] = (uint32_t)(begin + 4 * k + i) < width ? px[i] & of_pixel : fill;
            *(uint4 *)(to + 4 * k) = make_uint4(out[0], out[1], out[2], out[3]);
        };
        if (width == 0 || at < first_byte || at > last_byte) {
#pragma unroll 1
            for (int k = lane; k < across; k += 32) {
                uint32_t px[4];
#pragma unroll
                for (int i = 0; i < 4; i++)
                    px[i] = (uint32_t)(begin + 4 * k + i) < width ? read_bytes<FORMAT>(r, begin + 4 * k + i, y) : 0;
                put(k, px);
            }
            continue;
        }
        const uint8_t *p[PLANES];
        uint32_t skip[PLANES];
#pragma unroll
        for (int c = 0; c < PLANES; c++) {
            p[c] = r.data + c * r.channel + at;
            skip[c] = (uint32_t)(uintptr_t)p[c] & 3;
            p[c] += 4 * WORDS * lane - (int)skip[c];
        }
#pragma unroll 1
        for (int k0 = lane; k0 < across; k0 += 64) {
            uint32_t w[2][4];
#pragma unroll
            for (int c = 0; c < PLANES; c++) {
#pragma unroll
                for (int z = 0; z < 2; z++) {
                    const uint8_t *const q = p[c] + (z ? 4 * WORDS * (uint32_t)min(32, across - 1 - k0) : 0);
                    uint32_t v[WORDS + 1];
#pragma unroll
                    for (int i = 0; i <= WORDS; i++)
                        v[i] = load_word(q + 4 * i);
#pragma unroll
                    for (int i = 0; i < WORDS; i++)
                        w[z][c + i] = __funnelshift_r(v[i], v[i + 1], 8 * skip[c]);
                }
                p[c] += 4 * WORDS * 64;
            }
#pragma unroll
            for (int z = 0; z < 2; z++) {
                uint32_t px[4];
                unpack_words<FORMAT>(w[z], px);
                if (k0 + 32 * z < across)
                    put(k0 + 32 * z, px);
            }
        }
    }
}

/* Nearest warps from an image of any strides. */
OUTLINE void gather_strided(int first, int second, int marks)
{
    const tile_state &s = cta();
    const image_reader<MOT_FORMAT_STRIDED> r = reader_of<MOT_FORMAT_STRIDED>(s.current);
    const bool twice = second != MOT_NONE;
    const fixed_warp_numbers f = fixed_numbers_of(first), g = fixed_numbers_of(twice ? second : first);
    const uint32_t width = s.image.width, height = s.image.height;
    const uint32_t fill1 = fill_of(first, marks ? 1 : 0), fill2 = twice ? fill_of(second, marks ? 2 : 0) : fill1;
    const int n = s.tile_columns * s.tile_rows;
    for (int i = threadIdx.x; i < n; i += MOT_TILE_THREADS) {
        const int row = i / s.tile_columns, column = i - row * s.tile_columns;
        const uint32_t left = s.tile_x + column, top = s.tile_y + row;
        uint32_t x = (uint32_t)((int32_t)(g.cx + left * g.ax + top * g.bx) >> 16);
        uint32_t y = (uint32_t)((int32_t)(g.cy + left * g.ay + top * g.by) >> 16);
        uint32_t px = fill2;
        if (!twice || (x < width && y < height)) {
            if (twice) {
                const uint32_t xi = x, yi = y;
                x = (uint32_t)((int32_t)(f.cx + xi * f.ax + yi * f.bx) >> 16);
                y = (uint32_t)((int32_t)(f.cy + xi * f.ay + yi * f.by) >> 16);
            }
            px = x < width && y < height ? read_bytes<MOT_FORMAT_STRIDED>(r, x, y) & (marks ? 0xFFFFFFu : 0xFFFFFFFFu)
                                         : fill1;
        }
        tile_words()[row * s.image.pitch + column] = px;
    }
}

/* A nearest warp whose positions are running sums of doubles: rare, slow and exact. */
template <int FORMAT> OUTLINE void gather_by_sums(int step, int marks)
{
    const tile_state &s = cta();
    const mot_warp_plan &plan = s.plan;
    const image_reader<FORMAT> r = reader_of<FORMAT>(s.current);
    const bool scale = plan.path == MOT_WARP_SCALE;
    const uint32_t fill = fill_of(step, marks ? 1 : 0);
    int *const columns = (int *)spare_words(), *const rows = columns + MOT_TILE_HIGHEST + 8;
    if (scale && threadIdx.x == 0) {
        double in = mot_warp_first_column(&plan);
        for (int x = 0; x < s.tile_x + s.tile_columns; x++, in += plan.m[0])
            if (x >= s.tile_x)
                columns[x - s.tile_x] = mot_warp_index(in, s.image.width);
    }
    if (scale && threadIdx.x == 32) {
        double in = mot_warp_first_row(&plan);
        for (int y = 0; y < s.tile_y + s.tile_rows; y++, in += plan.m[4])
            if (y >= s.tile_y)
                rows[y - s.tile_y] = mot_warp_index(in, s.image.height);
    }
    __syncthreads();
    const int across = (s.tile_columns + 3) >> 2, n = across * s.tile_rows;
    for (int q = threadIdx.x; q < n; q += MOT_TILE_THREADS) {
        const int row = q / across, x = s.tile_x + 4 * (q - row * across), y = s.tile_y + row;
        if (y < 0 || y >= s.image.height)
            continue;
        double in_x = 0, in_y = 0;
        if (!scale) {
            mot_warp_double_start(&plan, &in_x, &in_y);
            for (int i = 0; i < y; i++)
                in_x += plan.m[1], in_y += plan.m[4];
            for (int i = 0; i < x; i++)
                in_x += plan.m[0], in_y += plan.m[3];
        }
        for (int i = 0; i < 4 && x + i < s.tile_x + s.tile_columns; i++, in_x += plan.m[0], in_y += plan.m[3]) {
            if (x + i < 0 || x + i >= s.image.width)
                continue;
            const int column = scale ? columns[x + i - s.tile_x] : mot_warp_index(in_x, s.image.width);
            const int line = scale ? rows[y - s.tile_y] : mot_warp_index(in_y, s.image.height);
            const uint32_t px = column >= 0 && line >= 0
                                    ? read_bytes<FORMAT>(r, column, line) & (marks ? 0xFFFFFFu : 0xFFFFFFFFu)
                                    : fill;
            tile_words()[row * s.image.pitch + x + i - s.tile_x] = px;
        }
    }
}

/* Taps of a warp that interpolates, from memory. */
template <int FORMAT> struct memory_taps {
    image_reader<FORMAT> r;
    bool premultiply;
    __device__ __forceinline__ uint32_t operator()(int x, int y) const
    {
        const uint32_t px = read_bytes<FORMAT>(r, x, y);
        return premultiply ? premultiplied(px, r.channels) : px;
    }
};

template <int FORMAT> DEVICE int first_of_four(const memory_taps<FORMAT> &taps, int i)
{
    return max(min(i - 1, taps.r.width - 4), 0);
}

template <int FORMAT> DEVICE void row_of_four(const memory_taps<FORMAT> &taps, int x, int y, uint32_t of[4])
{
    const int n = min(taps.r.width - x, 4);
    uint32_t px[4];
    if constexpr (FORMAT != MOT_FORMAT_STRIDED) {
        uint32_t w[4];
        if (n == 4 && read_four_words<FORMAT>(taps.r, x, y, w)) {
            if constexpr (FORMAT == MOT_FORMAT_RGB) {
                of[0] = __byte_perm(__byte_perm(w[0], w[1], 0x0630), w[2], 0x5210);
                of[1] = __byte_perm(__byte_perm(w[0], w[1], 0x0741), w[2], 0x6210);
                of[2] = __byte_perm(__byte_perm(w[0], w[1], 0x0052), w[2], 0x7410);
                return;
            } else if constexpr (FORMAT == MOT_FORMAT_PLANES || FORMAT == MOT_FORMAT_GREY) {
                of[0] = w[0];
                if (FORMAT == MOT_FORMAT_PLANES)
                    of[1] = w[1], of[2] = w[2];
                return;
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++)
                    px[i] = w[i];
            }
        } else {
            read_four_slowly<FORMAT>(taps.r, x, y, n, px);
        }
    } else {
        read_four_slowly<FORMAT>(taps.r, x, y, n, px);
    }
    if (taps.premultiply)
#pragma unroll
        for (int i = 0; i < 4; i++)
            px[i] = premultiplied(px[i], taps.r.channels);
    by_channel(px, of);
}

template <int FORMAT, bool CUBIC> OUTLINE void interpolate_tile(int step)
{
    const tile_state &s = cta();
    const image_reader<FORMAT> r = reader_of<FORMAT>(s.current);
    const bool alpha =
        (FORMAT == MOT_FORMAT_RGBA || FORMAT == MOT_FORMAT_STRIDED) && (r.channels == 2 || r.channels == 4);
    const memory_taps<FORMAT> taps = { r, alpha };
    const uint32_t fill = fill_of(step, 0);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int across = (s.tile_columns + 7) >> 3, n = across * ((s.tile_rows + 3) >> 2);
    const int each = (n + MOT_TILE_WARPS - 1) / MOT_TILE_WARPS, end = min(n, (warp + 1) * each);
#pragma unroll 1
    for (int b = warp * each; b < end; b++) {
        const int down = b / across, column = (b - down * across) * 8 + (lane & 7), row = down * 4 + (lane >> 3);
        const int x = s.tile_x + column, y = s.tile_y + row;
        uint32_t px = warp_between<CUBIC>(s.plan, taps, r.channels, fill, x + 0.5, y + 0.5);
        if (alpha)
            px = unpremultiplied(px, r.channels);
        if (column < s.tile_columns)
            tile_words()[row * s.image.pitch + column] = px;
    }
}

/* One box pass of a blur, along rows or columns: a thread makes a run of pixels with running sums. Positions past the
 * ends repeat the last pixel. */
template <int FORMAT, bool COLUMNS> OUTLINE void blur_tile(int step)
{
    const tile_state &s = cta();
    const image_reader<FORMAT> r = reader_of<FORMAT>(s.current);
    const mot_arg arg = s.program.arg[step];
    const int op = s.program.id[step], radius = (int)mot_blur_radius(&arg),
              length = COLUMNS ? s.image.height : s.image.width;
    const int runs = ((COLUMNS ? s.rows : s.columns) + MOT_BLUR_RUN - 1) / MOT_BLUR_RUN;
    const int lines = COLUMNS ? s.columns : s.rows, n = runs * lines;
    for (int i = threadIdx.x; i < n; i += MOT_TILE_THREADS) {
        /* neighbouring threads read neighbouring pixels of a row, or, where runs lie along rows, neighbouring runs */
        const int run = COLUMNS ? i / lines : i % runs, line = COLUMNS ? i % lines : i / runs;
        const int begin = run * MOT_BLUR_RUN, end = min(begin + MOT_BLUR_RUN, COLUMNS ? s.rows : s.columns);
        const int first = (COLUMNS ? s.y0 : s.x0) + begin, across = (COLUMNS ? s.x0 : s.y0) + line;
        auto pixel = [&](int at) {
            const uint32_t clamped = mot_warp_clamp(at, length);
            const uint32_t x = COLUMNS ? across : clamped, y = COLUMNS ? clamped : across;
            if constexpr (is_packed(FORMAT)) {
                const uint32_t place = offset_in<FORMAT>(r, x, y);
                uint32_t px;
                return read_pixels<FORMAT, 1>(r, &place, &px) ? read_bytes_at<FORMAT>(r, place) : px;
            } else {
                return read_bytes<FORMAT>(r, x, y);
            }
        };
        uint32_t inner[4] = { 0, 0, 0, 0 };
        for (int k = first - radius; k <= first + radius; k++) {
            const uint32_t px = pixel(k);
#pragma unroll
            for (int c = 0; c < 4; c++)
                inner[c] += byte_of(px, c);
        }
        uint32_t before = pixel(first - radius - 1);
#pragma unroll 4
        for (int k = begin; k < end; k++) {
            const int at = first + k - begin;
            const uint32_t next = pixel(at + radius + 1), leaves = pixel(at - radius);
            uint32_t out = 0;
#pragma unroll
            for (int c = 0; c < 4; c++)
                if (c < r.channels) {
                    const uint32_t edges = byte_of(before, c) + byte_of(next, c);
                    out |= (uint32_t)mot_blur_value(op, inner[c], edges, &arg) << (8 * c);
                    inner[c] += byte_of(next, c) - byte_of(leaves, c);
                }
            before = leaves;
            tile_words()[(COLUMNS ? k : line) * s.image.pitch + (COLUMNS ? line : k)] = out;
        }
    }
}

/* ---- in place ---- */

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
    const tile_state &s = cta();
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
 * MARKS: but not those that a warp after the `level`-th filled. */
template <int AT_ONCE, bool MARKS, class BODY> DEVICE void change_quads(int level, BODY body)
{
    const tile_state &s = cta();
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

/* Applies the items from `from` to before `to` of the program. MARKS: not to what a warp after an item filled. */
template <int FORMAT, bool MARKS> OUTLINE void chain_tile(int from, int to)
{
    const tile_state &s = cta();
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
    tile_state &s = cta();
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
    for_blur(cta().program.id[step], &cta().program.arg[step], [&]([[maybe_unused]] auto kind) {
        if (!columns)
            blur_lines<FORMAT, 0, kind.RADIUS, kind.OP>(step);
        else if (cta().image.pitch == 24)
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
    switch (cta().program.id[step]) {
        MOT_OPS(MOT_BY_SHAPE)
    default:
        return;
    }
}

#include "kernels/shapes_off.h"

/* ---- to memory ---- */

/* The tile's pixels as runs that are contiguous in memory: the whole tile, or one run a row. */
struct tile_runs {
    int runs, pixels; /* of a run */
    uint8_t *data;    /* of the first */
    int64_t row;      /* from run to run */
};

template <int FORMAT> DEVICE tile_runs runs_in(const mot_view &v)
{
    const tile_state &s = cta();
    const bool dense =
        s.columns == s.image.width && s.image.width >= 16 && v.row == (int64_t)bytes_of(FORMAT) * s.image.width;
    return tile_runs{ dense ? 1 : s.rows, dense ? s.rows * s.columns : s.columns,
                      v.data + s.y0 * v.row + s.x0 * bytes_of(FORMAT), v.row };
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
    const tile_state &s = cta();
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
    const tile_state &s = cta();
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
     * the first plane does, which is then written whole. Bytes outside of such words come last. */
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
    const tile_state &s = cta();
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
    const tile_state &s = cta();
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

/* Writes the tile's pixels as the output's type, by `values` [4][256] in device memory, a table for each channel. */
template <int FORMAT> OUTLINE void store_tile_as(int dtype, const uint32_t *values)
{
    const tile_state &s = cta();
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

/* ---- from memory to memory ---- */

/* 16 bytes at any address. The aligned words around them must be readable. */
DEVICE uint4 load_sixteen(const uint8_t *p)
{
    const uint32_t skip = (uint32_t)(uintptr_t)p & 3;
    if (((uintptr_t)p & 15) == 0)
        return load_four_words(p);
    const uint8_t *const word = p - skip;
    uint32_t v[5];
#pragma unroll
    for (int i = 0; i < 5; i++)
        v[i] = load_word(word + (i < 4 ? 4 * i : skip ? 16 : 12));
    return make_uint4(__funnelshift_r(v[0], v[1], 8 * skip), __funnelshift_r(v[1], v[2], 8 * skip),
                      __funnelshift_r(v[2], v[3], 8 * skip), __funnelshift_r(v[3], v[4], 8 * skip));
}

/* 16 bytes of an image through its channels' tables, or of a plane through one; `at` is the first byte's position. */
template <int FORMAT> DEVICE uint4 look_up_sixteen(uint4 v, int at, const uint8_t (*tables)[256])
{
    if (bytes_of(FORMAT) == 3) {
        const int k = at - 3 * (int)__umulhi(at, 0x55555556u); /* the first byte's channel */
        const uint8_t *const a = tables[k], *const b = tables[k == 2 ? 0 : k + 1],
                             *const c = tables[k == 0 ? 2 : k - 1];
        return make_uint4(look_up_bytes(v.x, a, b, c, a), look_up_bytes(v.y, b, c, a, b),
                          look_up_bytes(v.z, c, a, b, c), look_up_bytes(v.w, a, b, c, a));
    }
    if (bytes_of(FORMAT) == 1) {
        const uint8_t *const t = tables[0];
        return make_uint4(look_up_bytes(v.x, t, t, t, t), look_up_bytes(v.y, t, t, t, t),
                          look_up_bytes(v.z, t, t, t, t), look_up_bytes(v.w, t, t, t, t));
    }
    const int k = at & 3; /* the first byte's channel; alpha goes through any table, and is put back */
    const uint32_t alpha = 0xFF000000u >> (8 * k);
    const uint8_t *const a = tables[min(k, 2)], *const b = tables[min((k + 1) & 3, 2)],
                         *const c = tables[min((k + 2) & 3, 2)], *const d = tables[min((k + 3) & 3, 2)];
    return make_uint4((look_up_bytes(v.x, a, b, c, d) & ~alpha) | (v.x & alpha),
                      (look_up_bytes(v.y, a, b, c, d) & ~alpha) | (v.y & alpha),
                      (look_up_bytes(v.z, a, b, c, d) & ~alpha) | (v.z & alpha),
                      (look_up_bytes(v.w, a, b, c, d) & ~alpha) | (v.w & alpha));
}

/* Copies the tile's pixels from `current` to the result, which has the same format, through a table or unchanged. */
template <int FORMAT> OUTLINE void store_directly(int table)
{
    const tile_state &s = cta();
    const int size = bytes_of(FORMAT), planes = FORMAT == MOT_FORMAT_PLANES ? 3 : 1;
    const mot_view &from = s.current, &to = s.image.result;
    const bool dense = from.row == to.row;
    tile_runs t = runs_in<FORMAT>(to);
    if (!dense)
        t.runs = s.rows, t.pixels = s.columns;
    const int bytes = size * t.pixels;
    const uint8_t *source = from.data + s.y0 * from.row + s.x0 * size;
    const uint8_t(*const tables)[256] = table_of(table == MOT_NONE ? 0 : table);
    for (int z = 0; z < planes; z++, source += from.channel, t.data += to.channel) {
        auto byte_at = [&](int run, int at) {
            const uint32_t v = load_byte(source + (run * (uint32_t)from.row + at));
            const int c = size == 1 ? z : at % size;
            store_byte(t.data + (run * (uint32_t)t.row + at), table == MOT_NONE || c == 3 ? v : tables[c][v]);
        };
        auto through = [&](uint4 v, int at) { /* 16 bytes of a run, from byte `at` on */
                                              return table == MOT_NONE
                                                         ? v
                                                         : look_up_sixteen<FORMAT>(v, at, tables + (size == 1 ? z : 0));
        };
        for_odd_bytes(t, bytes, byte_at);
        const bool alike = dense && aligned((const void *)(source - t.data), 16);
        if (alike && t.runs == 1) {
            const int head = bytes_to_aligned(t.data, bytes), pieces = (bytes - head) >> 4;
#pragma unroll 1
            for (int i = threadIdx.x; i < pieces; i += 2 * MOT_TILE_THREADS) {
                uint4 v[2];
#pragma unroll
                for (int k = 0; k < 2; k++)
                    v[k] = load_four_words(source + (head + 16 * min(i + k * MOT_TILE_THREADS, pieces - 1)));
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    const int at = head + 16 * (i + k * MOT_TILE_THREADS);
                    if (i + k * MOT_TILE_THREADS < pieces)
                        store_four_words(t.data + at, through(v[k], at));
                }
            }
            continue;
        }
        if (alike) { /* rows: as many loads under way, but twice the instructions around them */
            const int most = bytes >> 4, n = most * t.runs;
            const uint32_t by_most = inverse_of(max(most, 1));
#pragma unroll 1
            for (int i = threadIdx.x; i < n; i += 2 * MOT_TILE_THREADS) {
                uint32_t begin[2];
                int at[2];
                uint4 v[2];
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    const int own = i + k * MOT_TILE_THREADS, run = divided(own, by_most);
                    begin[k] = run * (uint32_t)t.row;
                    at[k] = bytes_to_aligned(t.data + begin[k], bytes) + 16 * (own - run * most);
                    at[k] = own < n ? at[k] : bytes;
                    v[k] = at[k] + 16 <= bytes ? load_four_words(source + (begin[k] + at[k])) : make_uint4(0, 0, 0, 0);
                }
#pragma unroll
                for (int k = 0; k < 2; k++)
                    if (at[k] + 16 <= bytes)
                        store_four_words(t.data + (begin[k] + at[k]), through(v[k], at[k]));
            }
            continue;
        }
        for_pieces(t, bytes, [&](int run, int at, bool) {
            const uint8_t *const p = source + (run * (uint32_t)from.row + at);
            if (((uintptr_t)p & 3) && at + 20 > bytes) { /* the last word may hold bytes past the image */
#pragma unroll 1
                for (int i = 0; i < 16; i++)
                    byte_at(run, at + i);
                return;
            }
            store_four_words(t.data + (run * (uint32_t)t.row + at), through(load_sixteen(p), at));
        });
    }
}

#endif
