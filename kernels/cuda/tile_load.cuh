/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that load a tile from memory: as it is, through nearest warps, or blurred. They know the image's format,
 * strides and alignment. */
#ifndef MOT_TILE_LOAD_CUH
#define MOT_TILE_LOAD_CUH

#include "kernels/cuda/tile_state.cuh"

static_assert((MOT_TILE_WORDS + MOT_TILE_SPARE_WORDS) / 4 / MOT_TILE_THREADS < 32,
              "a thread's quads, as bits of a word");

/* Rows above and below the image repeat its first and last rows. */
template <int FORMAT> OUTLINE void fetch_tile()
{
    const tile_state &s = tile_cta();
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
    const uint32_t *const f = tile_cta().program.fixed[step];
    return fixed_warp_numbers{ f[0], f[1], f[2], f[3], f[4], f[5] };
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
        const tile_state &s = tile_cta();
        r = reader_of<FORMAT>(s.current);
        if (is_packed(FORMAT)) /* as reader_of gives it, the compiler would add each pixel's second address by itself */
            r.data = (const uint8_t *)((uintptr_t)s.current.data & ~(uintptr_t)3);
        width = s.image.width, height = s.image.height;
        f = fixed_numbers_of(first), g = TWICE ? fixed_numbers_of(second) : f;
        filled1 = r.skip | MOT_UNUSED_PIXEL, filled2 = filled1 + format_bytes(FORMAT);
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

/* Loads the pixels that could not be loaded as words, byte by byte: those of the turns whose bits are set. A separate
 * function, so that the loop before it needs no registers for it. */
template <int FORMAT, bool TWICE> OUTLINE void gather_last(int first, int second, uint32_t of_pixel, unsigned turns)
{
    const tile_state &s = tile_cta();
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
    const tile_state &s = tile_cta();
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

/* A row of such a warp: of the source from column `begin` on, `width` of whose pixels exist; the others are filled. */
struct moved_row {
    uint32_t *to;
    int begin;
    uint32_t width, fill, of_pixel;

    /* Writes the four pixels of quad `k`. */
    DEVICE_MEMBER void put(int k, const uint32_t px[4]) const
    {
        uint32_t out[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            out[i] = (uint32_t)(begin + 4 * k + i) < width ? px[i] & of_pixel : fill;
        *(uint4 *)(to + 4 * k) = make_uint4(out[0], out[1], out[2], out[3]);
    }
};

/* The row byte by byte, as words would leave the image. */
template <int FORMAT>
DEVICE void move_row_slowly(const image_reader<FORMAT> &r, const moved_row &row, int y, int across)
{
#pragma unroll 1
    for (int k = threadIdx.x & 31; k < across; k += 32) {
        uint32_t px[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int x = row.begin + 4 * k + i;
            px[i] = (uint32_t)x < row.width ? read_bytes<FORMAT>(r, x, y) : 0;
        }
        row.put(k, px);
    }
}

/* Such a warp: 32 threads copy a row, eight pixels each at a time. All quads of a row begin at the same byte of a word.
 * Words are read whole unless they would leave the image; at the row's ends the pixels of other rows are replaced by
 * the fill. */
template <int FORMAT> OUTLINE void move_rows(int step, int marks)
{
    enum {
        PLANES = FORMAT == MOT_FORMAT_PLANES ? 3 : 1,
        SIZE = format_bytes(FORMAT),
        WORDS = is_packed(FORMAT) ? SIZE : 1, /* of a quad, in each plane */
    };
    const tile_state &s = tile_cta();
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
        const moved_row moved = { tile_words() + row * pitch, begin, width, fill, of_pixel };
        if (width == 0 || at < first_byte || at > last_byte) {
            move_row_slowly<FORMAT>(r, moved, y, across);
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
                for (int z = 0; z < 2; z++)
                    load_shifted<WORDS>(p[c] + (z ? 4 * WORDS * (uint32_t)min(32, across - 1 - k0) : 0), 8 * skip[c],
                                        w[z] + c);
                p[c] += 4 * WORDS * 64;
            }
#pragma unroll
            for (int z = 0; z < 2; z++) {
                uint32_t px[4];
                unpack_words<FORMAT>(w[z], px);
                if (k0 + 32 * z < across)
                    moved.put(k0 + 32 * z, px);
            }
        }
    }
}

/* Nearest warps from an image of any strides. */
OUTLINE void gather_strided(int first, int second, int marks)
{
    const tile_state &s = tile_cta();
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
    const tile_state &s = tile_cta();
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

/* One box pass of a blur, along rows or columns: a thread makes a run of pixels with running sums. Positions past the
 * ends repeat the last pixel. */
template <int FORMAT, bool COLUMNS> OUTLINE void blur_tile(int step)
{
    const tile_state &s = tile_cta();
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
                    const uint32_t all = inner[c] + byte_of(before, c) + byte_of(next, c);
                    out |= (uint32_t)mot_blur_value(op, inner[c], all, &arg) << (8 * c);
                    inner[c] += byte_of(next, c) - byte_of(leaves, c);
                }
            before = leaves;
            tile_words()[(COLUMNS ? k : line) * s.image.pitch + (COLUMNS ? line : k)] = out;
        }
    }
}

#endif
