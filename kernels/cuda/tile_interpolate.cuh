/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that load a tile from memory through a warp that interpolates. */
#ifndef MOT_TILE_INTERPOLATE_CUH
#define MOT_TILE_INTERPOLATE_CUH

#include "kernels/cuda/interpolate.cuh"
#include "kernels/cuda/tile_state.cuh"

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
                split_rgb(w, of);
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

/* The components that a pixel lies between, as words: of RGB a row's pixels, else four of a row of a channel, or each
 * by itself. Formats: GREY, RGB and PLANES. */
template <int FORMAT, int SIDE> struct near_taps {
    static const int channels = FORMAT == MOT_FORMAT_GREY ? 1 : 3;
    static const int words =
        FORMAT == MOT_FORMAT_RGB ? SIDE / 2 + 1 : planes_of(FORMAT) * (SIDE == 2 ? 2 : 1); /* of a row */
    uint32_t w[SIDE][words];

    /* As a denormal number. */
    DEVICE_MEMBER float at(int row, int c, int tap) const
    {
        if (FORMAT == MOT_FORMAT_RGB)
            return __uint_as_float(__byte_perm(w[row][(3 * tap + c) / 4], 0, 0x4440 | (3 * tap + c) % 4));
        return __uint_as_float(SIDE == 4 ? __byte_perm(w[row][c], 0, 0x4440 | tap) : w[row][c * SIDE + tap]);
    }

    /* A row of them from an offset on. */
    DEVICE_MEMBER void load(const image_reader<FORMAT> &r, int row, uint32_t from)
    {
        if constexpr (FORMAT == MOT_FORMAT_RGB) {
            load_shifted<words>(r.data + (from & ~3u), from * 8, w[row]);
        } else {
#pragma unroll
            for (int c = 0; c < planes_of(FORMAT); c++) {
                const uint8_t *const p = r.data + c * r.channel + from;
                if constexpr (SIDE == 4)
                    load_shifted<1>(p - ((uintptr_t)p & 3), (uint32_t)(uintptr_t)p * 8, w[row] + c);
                else
#pragma unroll
                    for (int t = 0; t < SIDE; t++)
                        w[row][c * SIDE + t] = load_byte(p + t);
            }
        }
    }

    /* Whether the words from an offset on may be read. */
    DEVICE_MEMBER static bool can_load(const image_reader<FORMAT> &r, uint32_t from)
    {
        return FORMAT == MOT_FORMAT_RGB ? (from & ~3u) + 4 * words + 4 <= r.whole : SIDE == 2 || from + 7 <= r.whole;
    }
};

/* Makes a pixel of the tile in binary32; false: in binary64 it may be another. */
template <int FORMAT, int SIDE>
DEVICE bool interpolate_near(const image_reader<FORMAT> &r, const near_axis &along_x, const near_axis &along_y,
                             int column, int row, uint32_t fill, uint32_t *to)
{
    float dx, dy, across[SIDE], down[SIDE];
    const int i = near_position(along_x, column, row, &dx), j = near_position(along_y, column, row, &dy);
    const int left = i - (SIDE - 1) / 2, top = j - (SIDE - 1) / 2;
    const int first = min(max(left, 0), r.width - SIDE);
    if (left != first || top < 0 || top > r.height - SIDE) { /* at an edge, or outside */
        const int inside_x = near_inside(i, dx, r.width), inside_y = near_inside(j, dy, r.height);
        if (inside_x <= 0 || inside_y <= 0) {
            *to = fill;
            return inside_x == 0 || inside_y == 0;
        }
    }
    near_weights<SIDE>(dx, left, first, across);
    near_weights<SIDE>(dy, 0, 0, down);
    near_taps<FORMAT, SIDE> taps;
    uint32_t from[SIDE];
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        from[k] = offset_in<FORMAT>(r, first, min(max(top + k, 0), r.height - 1));
    if (!taps.can_load(r, from[SIDE - 1]))
        return false;
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        taps.load(r, k, from[k]);
    const unsigned doubts = store_near<SIDE>(taps, across, down, to);
    if (doubts == 0)
        return true;
    if (near_whole(dx) || near_whole(dy))
        return false;
#pragma unroll
    for (int k = 0; k < SIDE; k++) { /* they are loaded again, so that they need not be kept */
        keep(from[k]);
        taps.load(r, k, from[k]);
    }
    return store_alike<SIDE>(taps, doubts, to);
}

/* The tile's pixels that are in doubt: how many, then where. They are behind the tile. */
DEVICE uint32_t *doubts_of_tile()
{
    return tile_words() + tile_cta().tile_rows * tile_cta().image.pitch;
}

/* The lines of a tile that is interpolated along one axis: at the end of the CTA's memory. */
DEVICE near_line *lines_of_tile(int lines)
{
    return (near_line *)(spare_words() + MOT_TILE_SPARE_WORDS) - lines;
}

/* How many pixels in doubt there is room for before that many lines. */
DEVICE int most_doubts(int lines)
{
    return (int)((uint32_t *)lines_of_tile(lines) - doubts_of_tile()) - 1;
}

/* Lists a pixel of the tile that is in doubt; false: there is no room. */
DEVICE bool list_doubt(int column, int row, int most)
{
    const uint32_t place = atomicAdd(doubts_of_tile(), 1u);
    if ((int)place >= most)
        return false;
    doubts_of_tile()[1 + place] = (uint32_t)row << 16 | (uint32_t)column;
    return true;
}

/* A tile is interpolated in blocks of 8 x 4 pixels, by 32 threads each, so that neighbours read the same cache lines at
 * any angle. Each warp takes a run of them. */
struct tile_blocks {
    int across, each, all; /* of a row, a warp, the tile */
    uint32_t by_across;
    DEVICE_MEMBER tile_blocks()
    {
        across = (tile_cta().tile_columns + 7) >> 3;
        all = across * ((tile_cta().tile_rows + 3) >> 2);
        each = (all + MOT_TILE_WARPS - 1) / MOT_TILE_WARPS;
        by_across = inverse_of(across);
    }
    DEVICE_MEMBER int begin() const
    {
        return (int)(threadIdx.x >> 5) * each;
    }
    DEVICE_MEMBER int end() const
    {
        return min(all, begin() + each);
    }
    /* The thread's pixel in a block. */
    DEVICE_MEMBER int column(int b, int *row) const
    {
        const int down = divided(b, by_across);
        *row = down * 4 + (threadIdx.x >> 3 & 3);
        return (b - down * across) * 8 + (threadIdx.x & 7);
    }
};

/* In binary32, a warp's blocks up to the first that has more than a few pixels in doubt, which is returned; those in
 * doubt before it are listed. */
template <int FORMAT, int SIDE> OUTLINE int interpolate_nearly(int step)
{
    const tile_state &s = tile_cta();
    const image_reader<FORMAT> r = reader_of<FORMAT>(s.current);
    const uint32_t fill = fill_of(step, 0);
    const tile_blocks blocks;
    const near_axis along_x = s.axis[0], along_y = s.axis[1];
    const int columns = s.tile_columns, rows = s.tile_rows, pitch = s.image.pitch, end = blocks.end();
    int b = blocks.begin();
#pragma unroll 1
    for (; b < end; b++) {
        int row;
        const int column = blocks.column(b, &row);
        bool sure = true, listed = true;
        if (column < columns && row < rows)
            sure = interpolate_near<FORMAT, SIDE>(r, along_x, along_y, column, row, fill,
                                                  tile_words() + row * pitch + column);
        const uint32_t doubts = __ballot_sync(0xFFFFFFFFu, !sure);
        if (doubts == 0)
            continue;
        if (__popc(doubts) > MOT_FEW_DOUBTS)
            break;
        if (!sure)
            listed = list_doubt(column, row, most_doubts(0));
        if (__ballot_sync(0xFFFFFFFFu, !listed))
            break;
    }
    return b;
}

/* In binary64: a warp's blocks from `begin` on; or, for the whole CTA, the first `end` pixels that are listed. */
template <int FORMAT, bool CUBIC> OUTLINE void interpolate_exactly(int step, bool listed, int begin, int end)
{
    const tile_state &s = tile_cta();
    const image_reader<FORMAT> r = reader_of<FORMAT>(s.current);
    const bool alpha =
        (FORMAT == MOT_FORMAT_RGBA || FORMAT == MOT_FORMAT_STRIDED) && (r.channels == 2 || r.channels == 4);
    const memory_taps<FORMAT> taps = { r, alpha };
    const uint32_t fill = fill_of(step, 0);
    const tile_blocks blocks;
#pragma unroll 1
    for (int i = listed ? (int)threadIdx.x : begin; i < end; i += listed ? MOT_TILE_THREADS : 1) {
        const uint32_t place = listed ? doubts_of_tile()[1 + i] : 0;
        int row = (int)(place >> 16), column = (int)(place & 0xFFFF);
        if (!listed)
            column = blocks.column(i, &row);
        if (column >= s.tile_columns || row >= s.tile_rows)
            continue;
        const uint32_t px =
            interpolated<CUBIC>(s.plan, taps, r.channels, fill, s.tile_x + column + 0.5, s.tile_y + row + 0.5);
        tile_words()[row * s.image.pitch + column] = alpha ? unpremultiplied(px, r.channels) : px;
    }
}

/* As byte_of, which nvcc makes two instructions of. */
DEVICE uint32_t one_byte(uint32_t word, int i)
{
    return __byte_perm(word, 0, 0x4440 | i);
}

/* Neighbouring components of a line, of each channel; four outputs lie between them. Formats: GREY, RGB, PLANES. */
template <int FORMAT, int SIDE> struct line_taps {
    static const int channels = FORMAT == MOT_FORMAT_GREY ? 1 : 3;
    static const int count = SIDE + 3;
    uint32_t tap[channels][count];

    /* Loads each component from its own offset. Returns false if some pixel lies where words cannot be read. */
    DEVICE_MEMBER bool load(const image_reader<FORMAT> &r, const uint32_t from[count])
    {
        uint32_t px[count];
        bool good = true;
        if (FORMAT == MOT_FORMAT_RGB)
            good = !read_pixels<FORMAT, count>(r, from, px);
#pragma unroll
        for (int k = 0; k < count; k++)
#pragma unroll
            for (int c = 0; c < channels; c++)
                tap[c][k] = FORMAT == MOT_FORMAT_RGB ? one_byte(px[k], c) : load_byte(r.data + c * r.channel + from[k]);
        return good;
    }

    /* Those of a row from an offset on, of which can_load() is true. */
    DEVICE_MEMBER void load_row(const image_reader<FORMAT> &r, uint32_t from)
    {
        if constexpr (FORMAT == MOT_FORMAT_RGB) {
            const int words = SIDE == 2 ? 4 : 6;
            uint32_t w[words];
            load_shifted<words>(r.data + (from & ~3u), from * 8, w);
#pragma unroll
            for (int k = 0; k < count; k++)
#pragma unroll
                for (int c = 0; c < channels; c++)
                    tap[c][k] = one_byte(w[(3 * k + c) / 4], (3 * k + c) % 4);
        } else {
#pragma unroll
            for (int c = 0; c < channels; c++) {
                const uint8_t *const p = r.data + c * r.channel + from;
                uint32_t w[2];
                load_shifted<2>(p - ((uintptr_t)p & 3), (uint32_t)(uintptr_t)p * 8, w);
#pragma unroll
                for (int k = 0; k < count; k++)
                    tap[c][k] = one_byte(w[k / 4], k % 4);
            }
        }
    }

    /* Whether output `k` is in doubt only where all of a channel's components are the same; makes those the output. */
    DEVICE_MEMBER bool are_alike(int k, const int w[SIDE], uint32_t *out) const
    {
        if constexpr (SIDE == 2) {
            return false; /* it is not in doubt there */
        } else {
#pragma unroll
            for (int c = 0; c < channels; c++) {
                const uint32_t *const own = &tap[c][k];
                uint32_t apart = 0;
                along_line<SIDE>(own, w, &apart);
                if (apart >> 24 && (own[0] != own[1] || own[0] != own[2] || own[0] != own[3]))
                    return false;
                if (apart >> 24)
                    *out = (*out & ~(0xFFu << 8 * c)) | own[0] << 8 * c;
            }
            return true;
        }
    }

    DEVICE_MEMBER static bool can_load(const image_reader<FORMAT> &r, uint32_t from)
    {
        return FORMAT == MOT_FORMAT_RGB ? (from & ~3u) + (SIDE == 2 ? 20 : 28) <= r.whole
                                        : from >= 4 && from + 12 <= r.whole;
    }
};

/* Makes four outputs of a line, whose first one reads behind component `i` and whose other coordinate in the image is
 * `across`. Returns a bit for each that is in doubt. DOWN: the line is a column. */
template <int FORMAT, int SIDE, bool DOWN>
DEVICE unsigned interpolate_four(const image_reader<FORMAT> &r, int i, int across, uint32_t part, uint32_t fill,
                                 uint32_t out[4])
{
    using taps = line_taps<FORMAT, SIDE>;
    const int size = DOWN ? r.height : r.width, first = i - (SIDE / 2 - 1), rounded = i + (int)(part >> 23);
    const bool crosses = (unsigned)across < (unsigned)(DOWN ? r.width : r.height);
    const bool plain = crosses && first >= 0 && first + taps::count <= size;
    if (!crosses || rounded + 3 < 0 || rounded >= size) {
        out[0] = out[1] = out[2] = out[3] = fill;
        return 0;
    }
    taps t;
    bool good = true;
    const uint32_t from = DOWN ? 0 : offset_in<FORMAT>(r, first, across);
    if (!DOWN && plain && taps::can_load(r, from)) {
        t.load_row(r, from);
    } else {
        uint32_t each[taps::count];
#pragma unroll
        for (int k = 0; k < taps::count; k++) {
            const int at = min(max(first + k, 0), size - 1);
            each[k] = offset_in<FORMAT>(r, DOWN ? across : at, DOWN ? at : across);
        }
        good = t.load(r, each);
    }
    int w[SIDE];
    line_weights<SIDE>(part, w);
    uint32_t apart[4] = {};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint32_t v[3] = {};
#pragma unroll
        for (int c = 0; c < taps::channels; c++)
            v[c] = along_line<SIDE>(&t.tap[c][k], w, &apart[k]);
        out[k] = __byte_perm(__byte_perm(v[0], v[1], 0x0073), v[2], 0x0710);
    }
    unsigned doubts = good ? 0 : 15;
    if ((apart[0] | apart[1] | apart[2] | apart[3]) >> 24)
#pragma unroll
        for (int k = 0; k < 4; k++)
            doubts |= apart[k] >> 24 && !t.are_alike(k, w, &out[k]) ? 1u << k : 0;
    if (!plain)
#pragma unroll
        for (int k = 0; k < 4; k++)
            if ((unsigned)(rounded + k) >= (unsigned)size)
                out[k] = fill, doubts &= ~(1u << k);
    return doubts;
}

/* A tile's lines, in units of 32 x 4 pixels, of which each warp takes every eighth. Units with many pixels in doubt are
 * made in binary64, others' pixels in doubt are listed. */
template <int FORMAT, int SIDE, bool DOWN> OUTLINE void interpolate_lines(int step)
{
    const tile_state &s = tile_cta();
    const image_reader<FORMAT> r = reader_of<FORMAT>(s.current);
    const uint32_t fill = fill_of(step, 0);
    const int columns = s.tile_columns, rows = s.tile_rows, pitch = s.image.pitch, n = DOWN ? columns : rows;
    near_line *const lines = lines_of_tile(n);
    for (int l = threadIdx.x; l < n; l += MOT_TILE_THREADS)
        lines[l] = find_near_line(s.plan.m + (DOWN ? 3 : 0), s.tile_x + (DOWN ? l : 0), s.tile_y + (DOWN ? 0 : l));
    __syncthreads();
    const int other = DOWN ? s.tile_x + s.axis[0].beyond : s.tile_y + s.axis[1].beyond;
    const int across = (columns + 31) >> 5, units = across * ((rows + 3) >> 2), most = most_doubts(n);
    const uint32_t by_across = inverse_of(across);
    unsigned exactly = 0;
#pragma unroll 1
    for (int u = threadIdx.x >> 5, turn = 1; u < units; u += MOT_TILE_WARPS, turn *= 2) {
        const int down = divided(u, by_across), lane = threadIdx.x & 31;
        const int column = 32 * (u - down * across) + (DOWN ? lane : 4 * (lane & 7)),
                  row = 4 * down + (DOWN ? 0 : lane >> 3);
        unsigned doubts = 0;
        if (column < columns && row < rows) {
            const near_line line = lines[DOWN ? column : row];
            uint32_t out[4] = {}, *const to = tile_words() + row * pitch + column;
            doubts = 15;
            if (line.part != MOT_NO_PART)
                doubts = interpolate_four<FORMAT, SIDE, DOWN>(r, line.first + (DOWN ? row : column),
                                                              other + (DOWN ? column : row), line.part, fill, out);
            if (!DOWN)
                *(uint4 *)to = make_uint4(out[0], out[1], out[2], out[3]);
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (DOWN && row + k < rows)
                    to[k * pitch] = out[k];
        }
        if (__ballot_sync(0xFFFFFFFFu, doubts != 0) == 0)
            continue;
        bool listed = sum_of_warp(__popc(doubts)) <= 4 * MOT_FEW_DOUBTS;
        for (; doubts && listed; doubts &= doubts - 1) {
            const int k = __ffs(doubts) - 1;
            if (column + (DOWN ? 0 : k) < columns && row + (DOWN ? k : 0) < rows)
                listed = list_doubt(column + (DOWN ? 0 : k), row + (DOWN ? k : 0), most);
        }
        exactly |= __ballot_sync(0xFFFFFFFFu, !listed) ? turn : 0;
    }
    const int blocks = tile_blocks().across;
    __syncwarp(); /* what is made again was written by other lanes */
#pragma unroll 1
    for (; exactly; exactly &= exactly - 1) {
        const int u = (threadIdx.x >> 5) + (__ffs(exactly) - 1) * MOT_TILE_WARPS, down = divided(u, by_across);
        const int right = 4 * (u - down * across);
        interpolate_exactly<FORMAT, SIDE == 4>(step, false, down * blocks + right,
                                               down * blocks + min(right + 4, blocks));
    }
}

/* Whether the outputs of a tile lie on lines along an axis, and there is memory for them. */
DEVICE bool has_near_lines(int axis)
{
    const tile_state &s = tile_cta();
    return s.axis[axis].single && s.axis[1 - axis].whole && max(s.image.width, s.image.height) <= MOT_LINE_SIDE &&
           most_doubts(axis ? s.tile_columns : s.tile_rows) >= 32;
}

/* A tile in binary32, or along one axis in whole numbers. What is in doubt is made in binary64. */
template <int FORMAT, bool CUBIC> OUTLINE void interpolate_tile(int step)
{
    const int side = CUBIC ? 4 : 2;
    tile_state &s = tile_cta();
    int b = tile_blocks().begin(), lines = 0;
    if constexpr (FORMAT != MOT_FORMAT_RGBA && FORMAT != MOT_FORMAT_STRIDED) {
        if (threadIdx.x == 0)
            *doubts_of_tile() = 0;
        if (threadIdx.x < 64 && threadIdx.x % 32 == 0)
            find_near_axis(s.plan.m + threadIdx.x / 32 * 3, threadIdx.x / 32, s.tile_x, s.tile_y,
                           &s.axis[threadIdx.x / 32]);
        __syncthreads();
        if (has_near_lines(0)) {
            lines = s.tile_rows;
            interpolate_lines<FORMAT, side, false>(step);
        } else if (has_near_lines(1)) {
            lines = s.tile_columns;
            interpolate_lines<FORMAT, side, true>(step);
        } else if (!s.axis[0].far && !s.axis[1].far && s.image.width >= side) {
            b = interpolate_nearly<FORMAT, side>(step);
        }
    }
    if (lines == 0 && b < tile_blocks().end())
        interpolate_exactly<FORMAT, CUBIC>(step, false, b, tile_blocks().end());
    if constexpr (FORMAT != MOT_FORMAT_RGBA && FORMAT != MOT_FORMAT_STRIDED) {
        __syncthreads();
        interpolate_exactly<FORMAT, CUBIC>(step, true, 0, min((int)*doubts_of_tile(), most_doubts(lines)));
    }
}

#endif
