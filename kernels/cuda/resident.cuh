/* SPDX-License-Identifier: Apache-2.0 */
/* The route `resident`: a contiguous image that one CTA holds as a whole.
 *
 * The image is loaded in bands. Every loop over its pixels takes them in the order in which they arrive, and the last
 * loop of a pass writes its results to memory, so that loading, computing and writing overlap. A thread works on a
 * quad, four neighbouring pixels, or on two of them, and mostly keeps them packed as the words in which they lie; in a
 * blur it works on a run of a line, a row or column of one channel (blur_runs.cuh). dispatch/cuda/route.c says which
 * batches take it. */
#ifndef MOT_RESIDENT_CUH
#define MOT_RESIDENT_CUH

#include "kernels/cuda/blur_runs.cuh"
#include "kernels/cuda/lines.cuh"
#include "kernels/cuda/resident_passes.h"
#include "kernels/cuda/resident_state.cuh"
#include "kernels/cuda/stats.cuh"

#include <climits>

#ifdef MOT_BULK_COPIES

/* The words of a quad. */
#define MOT_WORDS(FORMAT) (planes_of(FORMAT) * pixel_bytes(FORMAT))

/* Where a loop takes quads from, and where it puts them. */
enum whole_source { QUAD_ITSELF, QUAD_GATHERED, QUAD_GATHERED_STEEP, QUAD_GATHERED_TWICE, QUAD_BETWEEN };
enum whole_sink { TO_BOX, TO_IMAGE, TO_LINE_PLANES, TO_LINE_PIXELS, TO_OUTPUT };

/* Whether it is an output by lines (lines.cuh). */
DEVICE constexpr bool is_lines(int sink)
{
    return sink == TO_LINE_PLANES || sink == TO_LINE_PIXELS;
}

/* ---- loading ---- */

/* Each warp's first thread loads a band, the last warp the first one: one thread for all of them would be too slow, and
 * the first warps plan the steps. */
#define MOT_FOR_BANDS(band) \
    if ((threadIdx.x & 31) == 0) \
        for (int band = (cta_threads() - 1 - (int)threadIdx.x) / 32; band < MOT_BANDS; band += cta_threads() / 32)

DEVICE int band_shift(int quads)
{
    int shift = MOT_BAND_SHIFT;
    while ((quads - 1) >> shift >= MOT_BANDS)
        shift++;
    return shift;
}

DEVICE int bands_of(int quads)
{
    return ((quads - 1) >> band_shift(quads)) + 1;
}

/* Call first: sets up barriers for the bands of so many quads. */
DEVICE void make_bands(int quads)
{
    const int bands = bands_of(quads);
    MOT_FOR_BANDS(band)
    {
        if (band >= bands)
            break;
        make_barrier(shared_address(&cta().band[band]));
    }
    barriers_made();
}

/* Starts to load the image's bands from `begin` on and below `end`. */
template <int FORMAT> DEVICE void load_bands(const mot_view &src, int begin, int end)
{
    const int quads = src.width / 4 * src.height, shift = band_shift(quads);
    const int bytes = 4 * pixel_bytes(FORMAT); /* of a quad in a plane */
    const uint64_t once = used_once();
    MOT_FOR_BANDS(band)
    {
        const int first = band << shift, count = min(1 << shift, quads - first);
        if (count <= 0 || band >= end)
            break;
        if (band < begin)
            continue;
        const uint32_t barrier = shared_address(&cta().band[band]);
        expect_bytes(barrier, count * bytes * planes_of(FORMAT));
#pragma unroll
        for (int plane = 0; plane < planes_of(FORMAT); plane++)
            copy_in_bulk(box_memory() + (plane * quads + first) * bytes, src.data + plane * src.channel + first * bytes,
                         count * bytes, barrier, once);
    }
}

/* How much of the image has arrived, as far as a loop over it knows. */
struct arriving {
    int next; /* the first quad that has not; INT_MAX: none */
    int band, quads, shift;
    uint32_t phase;
};

DEVICE arriving arriving_of(int quads)
{
    return arriving{ cta().all_here ? INT_MAX : 0, 0, quads, band_shift(quads), cta().phase };
}

/* Waits until the quads below `end` have arrived. */
DEVICE void wait_quads(arriving &a, int end)
{
    while (a.next < end) {
        barrier_wait(shared_address(&cta().band[a.band++]), a.phase);
        const int next = a.band << a.shift;
        a.next = next < a.quads ? next : INT_MAX;
    }
}

/* ---- quads ---- */

template <int FORMAT> DEVICE uint32_t *quad_word(int quads, int q, int word)
{
    uint32_t *const box = (uint32_t *)box_memory();
    return FORMAT == MOT_FORMAT_RGB ? box + 3 * q + word : box + word * quads + q;
}

/* A loop's chain: nothing, one table (applied to packed words), or any items. */
enum chain_form { CHAIN_NONE, CHAIN_ONE_TABLE, CHAIN_ANY };

DEVICE chain_form form_of(int items)
{
    return items == 0 ? CHAIN_NONE : items == 1 && cta().work.item[0].kind == CHAIN_TABLE ? CHAIN_ONE_TABLE : CHAIN_ANY;
}

template <int FORMAT> DEVICE void chain_words(chain_form form, int items, int x, int y, uint32_t w[3])
{
    const uint8_t(*const table)[256] = cta().work.table[0];
    if (form == CHAIN_ONE_TABLE) {
#pragma unroll
        for (int i = 0; i < MOT_WORDS(FORMAT); i++)
            w[i] = FORMAT == MOT_FORMAT_RGB ? table_word(table, w[i], i, 3) : table_word(table + i, w[i], 0, 1);
    } else if (form == CHAIN_ANY) {
        uint32_t px[4];
        unpack_words<FORMAT>(w, px);
        apply_chain<FORMAT>(cta().work, items, 3, x, y, px);
        pack_words<FORMAT>(px, w);
    }
}

/* The 16.16 numbers of a warp, in registers. */
struct fixed_warp {
    uint32_t x_of_x, x_of_y, x_of_0, y_of_x, y_of_y, y_of_0, fill;
};

DEVICE fixed_warp fixed_warp_of(int step)
{
    const uint32_t *const n = cta().plans[step].fixed;
    return fixed_warp{ n[0], n[1], n[2], n[3], n[4], n[5], fill_word(cta().step[step]) };
}

/* How a loop gathers from the box: quad `q`, which lies in row `y`, reads from x_of_0 + q * x_of_q + y * x_of_y on. */
struct box_warp {
    fixed_warp warp; /* its x_of_y and y_of_y are as above */
    uint32_t x_of_q, y_of_q;
    uint32_t right, below; /* the ends of the image, as 16.16 numbers */
    uint32_t box, row;     /* the box's address in shared memory, and bytes from row to row */
};

template <int FORMAT> DEVICE box_warp box_warp_of(const fixed_warp &f, int width, int height)
{
    box_warp b = { f,
                   4 * f.x_of_x,
                   4 * f.y_of_x,
                   (uint32_t)width << 16,
                   (uint32_t)height << 16,
                   shared_address(box_memory()),
                   (uint32_t)width * pixel_bytes(FORMAT) };
    b.warp.x_of_y -= width * f.x_of_x;
    b.warp.y_of_y -= width * f.y_of_x;
    keep(b.box);
    return b;
}

/* What is read from the box for four pixels. */
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
 * nearest pixel is a pixel of the image). There are no branches, so that all loads are in flight together. STEEP:
 * neighbouring lanes read rows that lie four apart, which often begin in the same bank, so they begin with different
 * ones of their pixels; pixels outside the image are filled. */
template <int FORMAT, bool TWICE, bool STEEP>
DEVICE void gather_quad(const box_warp &b, const fixed_warp &before, int plane, int q, int y, gathered &g)
{
    uint32_t at[4];
    uint32_t in_x = b.warp.x_of_0 + q * b.x_of_q + y * b.warp.x_of_y;
    uint32_t in_y = b.warp.y_of_0 + q * b.y_of_q + y * b.warp.y_of_y;
    const int turn = STEEP ? threadIdx.x & 3 : 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t pixel = STEEP ? (uint32_t)(i + turn) & 3 : (uint32_t)i;
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
        at[i] = inside ? (from >> 16) * b.row + b.box + (x >> 16) * pixel_bytes(FORMAT) : b.box;
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
    if (STEEP) {
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

/* Past the end of every image: for lanes that write nothing. */
#define MOT_NOWHERE (1 << 30)

/* Writes 32 quads to the image, one for each lane: quad `q`. For RGB the lane writes 16 of their bytes, to offset `at`,
 * if that lies in the image. */
template <int FORMAT>
DEVICE void write_quads(uint8_t *to, int64_t plane, int q, int quads, int at, const uint32_t w[3], uint32_t *stage)
{
    const int lane = threadIdx.x & 31;
    if (FORMAT == MOT_FORMAT_RGB) {
#pragma unroll
        for (int i = 0; i < 3; i++)
            stage[3 * lane + i] = w[i];
        __syncwarp();
        if (at < 12 * quads)
            *(uint4 *)(to + at) = ((const uint4 *)stage)[lane];
        __syncwarp();
    } else if (q < quads) {
#pragma unroll
        for (int i = 0; i < MOT_WORDS(FORMAT); i++)
            *(uint32_t *)(to + i * plane + 4 * q) = w[i];
    }
}

/* ---- a fused output ---- */

/* How the output lies in memory: rows without gaps, with the components of each channel side by side, or those of each
 * pixel; or otherwise. */
enum output_form { OUTPUT_ANY, OUTPUT_PLANES, OUTPUT_PIXELS };

DEVICE output_form output_form_of(const mot_view &out, int dtype)
{
    const int64_t size = (int64_t)mot_dtype_bytes(dtype);
    if (size == 1 || out.row != out.width * out.pixel || !aligned(out.data, 16))
        return OUTPUT_ANY;
    if (out.pixel == size && (out.channels == 1 || (out.channel & 15) == 0))
        return OUTPUT_PLANES;
    return out.pixel == size * out.channels && out.channel == size ? OUTPUT_PIXELS : OUTPUT_ANY;
}

/* The output's value for byte `i` of a word, from the table that begins at `table` in shared memory. */
DEVICE uint32_t output_of(uint32_t table, uint32_t word, int i)
{
    return *(const uint32_t *)__cvta_shared_to_generic(__dp4a(word, 4u << (8 * i), table));
}

/* Writes four neighbouring components. */
DEVICE void write_four(uint8_t *out, int dtype, const uint32_t v[4])
{
    if (dtype == MOTLEY_F32)
        *(uint4 *)out = make_uint4(v[0], v[1], v[2], v[3]);
    else
        *(uint2 *)out = make_uint2(__byte_perm(v[0], v[1], 0x5410), __byte_perm(v[2], v[3], 0x5410));
}

/* Writes quad `q` to an output in planes. */
template <int FORMAT> DEVICE void write_planes(int q, const uint32_t w[3])
{
    const int dtype = cta().output_dtype;
    const int64_t next = cta().output.channel;
    const uint32_t tables = shared_address(output_table());
    uint8_t *out = cta().output.data + (int64_t)q * (dtype == MOTLEY_F32 ? 16 : 8);
#pragma unroll
    for (int c = 0; c < (FORMAT == MOT_FORMAT_GREY ? 1 : 3); c++, out += next) {
        uint32_t v[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int byte = FORMAT == MOT_FORMAT_RGB ? 3 * i + c : 4 * c + i;
            v[i] = output_of(tables + 1024 * c, w[byte / 4], byte % 4);
        }
        write_four(out, dtype, v);
    }
}

/* Writes 32 quads to an output in the order of its pixels, quad `q` of each lane. The lanes exchange their words by
 * `stage`, so that neighbours write next to each other: a quad's three words would lie 24 or 48 bytes from the next
 * one's. */
template <int FORMAT> DEVICE void write_pixels(int q, int quads, const uint32_t w[3], uint32_t *stage)
{
    const int lane = threadIdx.x & 31, dtype = cta().output_dtype, four = dtype == MOTLEY_F32 ? 16 : 8;
    const uint32_t tables = shared_address(output_table());
    uint8_t *const out = cta().output.data;
    uint32_t rgb[3] = { w[0], w[1], w[2] };
    if (FORMAT == MOT_FORMAT_PLANES) {
        uint32_t px[4];
        unpack_words<FORMAT>(w, px);
        pack_rgb(px, rgb);
    }
#pragma unroll
    for (int i = 0; i < 3; i++)
        stage[3 * lane + i] = rgb[i];
    __syncwarp();
    int channel = lane % 3; /* of the word's first byte */
#pragma unroll 1
    for (int word = lane; word < 3 * 32; word += 32, channel = channel == 0 ? 2 : channel - 1) {
        const int owner = __shfl_sync(0xFFFFFFFFu, q, word / 3);
        const uint32_t first = tables + 1024 * channel, second = channel == 2 ? tables : first + 1024,
                       third = channel == 0 ? first + 2048 : first - 1024, bytes = stage[word];
        const uint32_t v[4] = { output_of(first, bytes, 0), output_of(second, bytes, 1), output_of(third, bytes, 2),
                                output_of(first, bytes, 3) };
        if (owner < quads)
            write_four(out + (3 * (int64_t)owner + channel) * four, dtype, v);
    }
    __syncwarp();
}

/* ---- a fused output by lines ---- */

/* Rounds components to 16 bits, two a word. */
template <int COUNT> DEVICE void round_pairs(int dtype, const float v[COUNT], uint32_t out[COUNT / 2])
{
    if (dtype == MOTLEY_F16)
#pragma unroll
        for (int i = 0; i < COUNT / 2; i++)
            out[i] = two_f16(v[2 * i], v[2 * i + 1]);
    else
#pragma unroll
        for (int i = 0; i < COUNT / 2; i++)
            out[i] = two_bf16(v[2 * i], v[2 * i + 1]);
}

/* Channel `c` of COUNT neighbouring pixels, which are the words that hold them or, with APART, a word each; through the
 * chain's first table, if LOOKS_UP. */
template <int FORMAT, int COUNT, bool APART>
DEVICE void make_line(bool looks_up, int c, const uint32_t *w, float v[COUNT])
{
    const mot_output_line line = cta().line[c];
    const uint8_t *const table = cta().work.table[0][c];
    if (looks_up)
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int byte = APART ? 4 * i + c : FORMAT == MOT_FORMAT_RGB ? 3 * i + c : COUNT * c + i;
            v[i] = line_value(line, look_up_byte(table, w[byte / 4], byte % 4), 0);
        }
    else
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int byte = APART ? 4 * i + c : FORMAT == MOT_FORMAT_RGB ? 3 * i + c : COUNT * c + i;
            v[i] = line_value(line, w[byte / 4], byte % 4);
        }
}

/* As write_planes; the other parameters as in make_line. */
template <int FORMAT, bool APART> DEVICE void write_line_planes(bool looks_up, int q, int quads, const uint32_t *w)
{
    const int channels = FORMAT == MOT_FORMAT_GREY ? 1 : 3;
    float v[4 * channels];
    uint32_t out[2 * channels];
    if (q >= quads)
        return;
#pragma unroll
    for (int c = 0; c < channels; c++)
        make_line<FORMAT, 4, APART>(looks_up, c, w, v + 4 * c);
    round_pairs<4 * channels>(cta().output_dtype, v, out);
    uint8_t *to = cta().output.data + 8 * (int64_t)q;
    const int64_t next = cta().output.channel;
#pragma unroll
    for (int c = 0; c < channels; c++, to += next)
        store_two_words(to, make_uint2(out[2 * c], out[2 * c + 1]));
}

/* As write_pixels; `at` as in write_quads, the other parameters as in make_line. */
template <int FORMAT, bool APART>
DEVICE void write_line_pixels(bool looks_up, int quads, int at, const uint32_t *w, uint32_t *stage)
{
    float pixels[12];
    uint32_t v[6];
    uint8_t *const out = cta().output.data;
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float channel[4];
        make_line<FORMAT, 4, APART>(looks_up, c, w, channel);
#pragma unroll
        for (int i = 0; i < 4; i++)
            pixels[3 * i + c] = channel[i];
    }
    round_pairs<12>(cta().output_dtype, pixels, v);
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int half = 0; half < 2; half++) { /* 16 lanes' quads take the stage's 384 bytes */
        if (lane / 16 == half)
#pragma unroll
            for (int i = 0; i < 3; i++)
                ((uint2 *)stage)[3 * (lane & 15) + i] = make_uint2(v[2 * i], v[2 * i + 1]);
        __syncwarp();
        const int piece = __shfl_sync(0xFFFFFFFFu, at, (24 * half + lane) / 2); /* of the bytes, twice as long here */
        if (lane < 24 && piece < 12 * quads)
            store_four_words(out + 2 * (int64_t)piece + 16 * (lane & 1), ((const uint4 *)stage)[lane]);
        __syncwarp();
    }
}

/* Writes 32 quads by lines, to planes or pixels. */
template <int FORMAT, int SINK, bool APART>
DEVICE void write_lines(bool looks_up, int q, int quads, int at, const uint32_t *w, uint32_t *stage)
{
    if constexpr (SINK == TO_LINE_PLANES)
        write_line_planes<FORMAT, APART>(looks_up, q, quads, w);
    else
        write_line_pixels<FORMAT, APART>(looks_up, quads, at, w, stage);
}

/* The same after the chain, whose form is `form`. */
template <int FORMAT, int SINK>
DEVICE void chain_to_lines(chain_form form, int items, int q, int quads, int at, int x, int y, const uint32_t w[3],
                           uint32_t *stage)
{
    if (form == CHAIN_ANY) {
        uint32_t px[4];
        unpack_words<FORMAT>(w, px);
        apply_chain<FORMAT>(cta().work, items, 3, x, y, px);
        write_lines<FORMAT, SINK, true>(false, q, quads, at, px, stage);
    } else {
        write_lines<FORMAT, SINK, false>(form == CHAIN_ONE_TABLE, q, quads, at, w, stage);
    }
}

/* Writes 32 quads to the output by its table, one for each lane: quad `q`, the four pixels from (x, y) on. For whole
 * warps. */
template <int FORMAT> DEVICE void write_output(int q, int quads, int x, int y, const uint32_t w[3], uint32_t *stage)
{
    if (FORMAT != MOT_FORMAT_GREY && cta().output_form == OUTPUT_PIXELS) {
        write_pixels<FORMAT>(q, quads, w, stage);
    } else if (q < quads && cta().output_form == OUTPUT_PLANES) {
        write_planes<FORMAT>(q, w);
    } else if (q < quads) {
        uint32_t px[4];
        unpack_words<FORMAT>(w, px);
        store_output(cta().output, cta().output_dtype, output_table(), x, y, px);
    }
}

/* ---- the stencil ---- */

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

#define MOT_STENCIL_ROWS 7 /* that a thread walks down at a time, at most; other numbers were not tried */

/* The stencil, the chain, SINK. A thread walks down some rows of a column of quads, so that it reads each row once for
 * three; if rows cannot be cut into blocks of 8 quads, one row. */
template <int FORMAT, int SINK> static __device__ __noinline__ void walk_stencil(int items, int at)
{
    const int lane = threadIdx.x & 31, width = cta().width, height = cta().height, across = width / 4,
              quads = across * height, pitch = width * pixel_bytes(FORMAT);
    const uint32_t blocks_per_quad = 0xFFFFFFFFu / across + 1; /* in 2^-32: exact below 2^32 quads x columns */
    const chain_form form = form_of(items);
    const mot_step &step = cta().step[at];
    uint8_t *const to = cta().work_view.data;
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
        uint32_t kept[3]; /* bits of the words that the stencil does not change */
#pragma unroll
        for (int i = 0; i < MOT_WORDS(FORMAT); i++) {
            const bool rgb = FORMAT == MOT_FORMAT_RGB;
            kept[i] = column == 0 && (!rgb || i == 0) ? (rgb ? 0x00FFFFFFu : 0x000000FFu) : 0;
            if (column == across - 1 && (!rgb || i == 2))
                kept[i] |= rgb ? 0xFFFFFF00u : 0xFF000000u;
        }
        const uint32_t plane = 4 * quads, top = shared_address(quad_word<FORMAT>(quads, column, 0));
        const uint32_t bottom = top + (height - 1) * pitch;
        uint32_t row = min(top + y * pitch, bottom);
        /* of the row to make: its words and sums, and these together with those of the row above it */
        stencil_row here = stencil_row_at<FORMAT>(row, plane, before, after);
        word_sum both[3];
        {
            const stencil_row above = stencil_row_at<FORMAT>(row > top ? row - pitch : top, plane, before, after);
#pragma unroll
            for (int i = 0; i < MOT_WORDS(FORMAT); i++)
                both[i] = both_sums(above.sum[i], here.sum[i]);
        }
#pragma unroll 1
        for (int k = 0; k < rows; k++) {
            row = min(row + pitch, bottom);
            const stencil_row below = stencil_row_at<FORMAT>(row, plane, before, after);
            uint32_t words[3] = { here.word[0], here.word[1], here.word[2] };
            if (y > 0 && y < height - 1) {
#pragma unroll
                for (int i = 0; i < MOT_WORDS(FORMAT); i++)
                    both[i] = both_sums(both[i], below.sum[i]);
                apply_stencil<FORMAT>(step.op, &step.arg, both, words);
#pragma unroll
                for (int i = 0; i < MOT_WORDS(FORMAT); i++)
                    words[i] = (here.word[i] & kept[i]) | (words[i] & ~kept[i]);
            }
#pragma unroll
            for (int i = 0; i < MOT_WORDS(FORMAT); i++)
                both[i] = both_sums(here.sum[i], below.sum[i]);
            here = below;
            if (!is_lines(SINK))
                chain_words<FORMAT>(form, items, 4 * column, y, words);
            if (SINK == TO_IMAGE)
                write_quads<FORMAT>(to, cta().work_view.channel, q, quads, at_byte, words, stage);
            else if (is_lines(SINK))
                chain_to_lines<FORMAT, SINK>(form, items, q, quads, at_byte, 4 * column, y, words, stage);
            else
                write_output<FORMAT>(q, quads, 4 * column, y, words, stage);
            y++, q += across, at_byte += 12 * across;
        }
    }
}

/* ---- the loop over quads ---- */

/* Whether all rows begin in the same bank, and the image can be cut into blocks of 8 quads in 4 rows. A steep warp is
 * then done in these, instead of 32 quads in a row. */
template <int FORMAT> DEVICE bool needs_blocks(int width, int height)
{
    return (width * pixel_bytes(FORMAT) & 127) == 0 && (height & 3) == 0;
}

/* The last row that the warp reads for output rows `first` to `last`. */
DEVICE int last_row_read(const mot_warp_plan &plan, int first, int last)
{
    const int right = max((int32_t)(plan.fixed[3] * (plan.width - 1)), 0);
    const int below = max((int32_t)(plan.fixed[4] * first), (int32_t)(plan.fixed[4] * last));
    return min(max(((int32_t)plan.fixed[5] + right + below) >> 16, 0), plan.height - 1);
}

/* The last row that an interpolating warp may read for them. */
DEVICE int last_row_between(const mot_warp_plan &plan, int first, int last)
{
    const double right = fmax(plan.m[3] * plan.width, 0.0), below = fmax(plan.m[4] * first, plan.m[4] * (last + 1));
    return min((int)fmin(fmax(plan.m[5] + right + below, 0.0), (double)plan.height) + 3, plan.height - 1);
}

/* The whole image in shared memory. */
template <int FORMAT> DEVICE box whole_box()
{
    const int width = cta().width, pitch = width * pixel_bytes(FORMAT);
    return box{ box_memory(), width, pitch, pitch * cta().height };
}

/* The words of two neighbouring quads, from the first one on; channel by channel in planes, which lie `plane` pairs of
 * words apart. */
template <int FORMAT> DEVICE void load_pair(const uint2 *at, int plane, uint32_t w[6])
{
#pragma unroll
    for (int i = 0; i < MOT_WORDS(FORMAT); i++) {
        const uint2 v = at[FORMAT == MOT_FORMAT_RGB ? i : i * plane];
        w[2 * i] = v.x, w[2 * i + 1] = v.y;
    }
}

/* The loop over an image that changes by one table at most, two quads a thread. All lanes look up the same channel at
 * the same time: in one table, neighbours' values are close together, and in three they would conflict in the banks.
 * RGB goes back to the box, from where each lane writes other words than those that it made. */
template <int FORMAT, int SINK> DEVICE void walk_pairs(chain_form form)
{
    const bool rgb = FORMAT == MOT_FORMAT_RGB;
    const int lane = threadIdx.x & 31, quads = cta().width / 4 * cta().height;
    const int plane = planes_of(FORMAT) == 3 ? quads / 2 : 0; /* in pairs of words */
    uint2 *const box = (uint2 *)box_memory();
    uint8_t *const to = cta().work_view.data;
    const int64_t to_plane = cta().work_view.channel;
    arriving a = arriving_of(quads);
    for (int first = (threadIdx.x / 32) * MOT_STRIP; first < quads; first += blockDim.x * (MOT_STRIP / 32)) {
        wait_quads(a, first + MOT_STRIP);
        const int pair = first / 2 + lane;
        if (form == CHAIN_ONE_TABLE && 2 * pair < quads) {
            uint2 *const at = box + (rgb ? 3 * pair : pair);
            uint32_t w[6];
            load_pair<FORMAT>(at, plane, w);
#pragma unroll
            for (int i = 0; i < 2 * MOT_WORDS(FORMAT); i++)
                w[i] = rgb ? table_word(cta().work.table[0], w[i], i, 3)
                           : table_word(cta().work.table[0] + i / 2, w[i], 0, 1);
#pragma unroll
            for (int i = 0; i < MOT_WORDS(FORMAT); i++)
                at[rgb ? i : i * plane] = make_uint2(w[2 * i], w[2 * i + 1]);
        }
        if (SINK == TO_BOX)
            continue;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < MOT_WORDS(FORMAT); i++) {
            const int at = rgb ? 3 * first / 2 + 32 * i + lane : pair;
            if (at < quads / 2 * (rgb ? 3 : 1))
                *(uint2 *)(to + (rgb ? 0 : i * to_plane) + 8 * at) = box[at + (rgb ? 0 : i * plane)];
        }
    }
}

/* The same to an output in planes by lines: for each channel, a lane writes eight components side by side. */
template <int FORMAT> DEVICE void walk_pairs_to_lines(chain_form form)
{
    const bool rgb = FORMAT == MOT_FORMAT_RGB;
    const int lane = threadIdx.x & 31, quads = cta().width / 4 * cta().height;
    const int plane = planes_of(FORMAT) == 3 ? quads / 2 : 0; /* in pairs of words */
    const uint2 *const box = (const uint2 *)box_memory();
    const int dtype = cta().output_dtype;
    arriving a = arriving_of(quads);
    for (int first = (threadIdx.x / 32) * MOT_STRIP; first < quads; first += blockDim.x * (MOT_STRIP / 32)) {
        wait_quads(a, first + MOT_STRIP);
        const int pair = first / 2 + lane;
        if (2 * pair >= quads)
            continue;
        const uint2 *const at = box + (rgb ? 3 * pair : pair);
        uint8_t *to = cta().output.data + 16 * (int64_t)pair;
        uint32_t w[6];
        load_pair<FORMAT>(at, plane, w);
#pragma unroll
        for (int c = 0; c < (FORMAT == MOT_FORMAT_GREY ? 1 : 3); c++, to += cta().output.channel) {
            float v[8];
            uint32_t out[4];
            make_line<FORMAT, 8, false>(form == CHAIN_ONE_TABLE, c, w, v);
            round_pairs<8>(dtype, v, out);
            store_four_words(to, make_uint4(out[0], out[1], out[2], out[3]));
        }
    }
}

/* The loop over an image's quads: SOURCE, the chain, SINK. Step `at` is the spatial op, if any, and the last one if
 * there are two. The chain's first items come before a warp: they apply to what it reads, and not to what it fills. */
template <int FORMAT, int SOURCE, int SINK>
static __device__ __noinline__ void walk(int items, int at, int before, int first_items)
{
    const bool steep = SOURCE == QUAD_GATHERED_STEEP;
    const bool gathers = SOURCE == QUAD_GATHERED || SOURCE == QUAD_GATHERED_TWICE || steep;
    const int lane = threadIdx.x & 31, width = cta().width, height = cta().height, across = width / 4,
              quads = across * height;
    const bool blocks = steep && needs_blocks<FORMAT>(width, height);
    const uint32_t rows_per_quad = 0xFFFFFFFFu / across + 1; /* in 2^-32: exact below 2^32 quads x columns */
    const chain_form form = first_items > 0 ? CHAIN_ANY : form_of(items);
    if (SOURCE == QUAD_ITSELF && SINK <= TO_IMAGE && form != CHAIN_ANY)
        return walk_pairs<FORMAT, SINK>(form);
    if (SOURCE == QUAD_ITSELF && SINK == TO_LINE_PLANES && form != CHAIN_ANY)
        return walk_pairs_to_lines<FORMAT>(form);
    const mot_step &step = cta().step[at];
    const mot_warp_plan &plan = cta().plans[at];
    const fixed_warp last_warp = gathers ? fixed_warp_of(at) : fixed_warp{};
    const box_warp from = box_warp_of<FORMAT>(last_warp, width, height);
    const fixed_warp first_warp = SOURCE == QUAD_GATHERED_TWICE ? fixed_warp_of(before) : fixed_warp{};
    uint8_t *const to = cta().work_view.data;
    uint32_t *const stage = stages() + (threadIdx.x / 32) * (MOT_STAGE_BYTES / 4);
    const uint32_t block_rows_per_block = blocks ? 0xFFFFFFFFu / (across / 8) + 1 : 0; /* in 2^-32 as well */
    const int at_lane = lane >= 24 ? MOT_NOWHERE : blocks ? (lane / 6) * 3 * width + 16 * (lane % 6) : 16 * lane;
    arriving a = arriving_of(quads);
    for (int first = (threadIdx.x / 32) * MOT_STRIP; first < quads; first += blockDim.x * (MOT_STRIP / 32)) {
        if (a.next < INT_MAX) { /* pixels that the warp reads, and pixels that it may overwrite */
            int end = first + MOT_STRIP;
            if (SOURCE == QUAD_GATHERED || steep) {
                int top = __umulhi(first, rows_per_quad), bottom = __umulhi(end - 1, rows_per_quad);
                if (blocks)
                    top = 4 * __umulhi(first / 32, block_rows_per_block),
                    bottom = 4 * __umulhi((end - 1) / 32, block_rows_per_block) + 3;
                end = (max(last_row_read(plan, top, bottom), bottom) + 1) * across;
            }
            if (SOURCE == QUAD_BETWEEN) {
                const int top = __umulhi(first, rows_per_quad), bottom = __umulhi(end - 1, rows_per_quad);
                end = (max(last_row_between(plan, top, bottom), bottom) + 1) * across;
            }
            wait_quads(a, SOURCE == QUAD_GATHERED_TWICE ? INT_MAX : end);
        }
#pragma unroll 1
        for (int part = 0; part < MOT_STRIP; part += 32) {
            const int begin = first + part;
            int q = begin + lane, y = __umulhi(q, rows_per_quad), at_byte = 12 * begin + at_lane;
            if (blocks) {
                const int block = begin / 32, down = __umulhi(block, block_rows_per_block);
                const int right = block - down * (across / 8);
                y = 4 * down + lane / 8;
                q = y * across + 8 * right + lane % 8;
                at_byte = begin < quads ? 12 * down * width + 96 * right + at_lane : MOT_NOWHERE;
            }
            const int column = q - y * across;
            uint32_t words[3] = { 0, 0, 0 };
            if (gathers) {
                gathered g;
                gather_quad<FORMAT, SOURCE == QUAD_GATHERED_TWICE, steep>(from, first_warp, width * height, q, y, g);
                if (form != CHAIN_ANY)
                    fill_outside(g);
                for (int k = 0; form == CHAIN_ANY; k++) {
                    if (k == first_items)
                        fill_outside(g);
                    if (k == items)
                        break;
                    apply_item<FORMAT>(cta().work, k, 3, 4 * column, y, g.px);
                }
                if (is_lines(SINK)) {
                    write_lines<FORMAT, SINK, true>(form == CHAIN_ONE_TABLE, q, quads, at_byte, g.px, stage);
                    continue;
                }
                pack_words<FORMAT>(g.px, words);
            } else if (SOURCE == QUAD_BETWEEN) {
                uint32_t px[4] = { 0, 0, 0, 0 };
                const box all = whole_box<FORMAT>();
                if (q < quads)
                    warp_between_quad(plan, box_taps<FORMAT>{ all }, colors_of<FORMAT>(3), fill_word(step), 4 * column,
                                      y, px);
                pack_words<FORMAT>(px, words);
            } else if (q < quads) {
#pragma unroll
                for (int i = 0; i < MOT_WORDS(FORMAT); i++)
                    words[i] = *quad_word<FORMAT>(quads, q, i);
            }
            if (is_lines(SINK)) {
                chain_to_lines<FORMAT, SINK>(form, items, q, quads, at_byte, 4 * column, y, words, stage);
                continue;
            }
            chain_words<FORMAT>(gathers && form == CHAIN_ANY ? CHAIN_NONE : form, items, 4 * column, y, words);
            if (SINK == TO_IMAGE) {
                write_quads<FORMAT>(to, cta().work_view.channel, q, quads, at_byte, words, stage);
            } else if (SINK == TO_OUTPUT) {
                write_output<FORMAT>(q, quads, 4 * column, y, words, stage);
            } else if (q < quads) {
#pragma unroll
                for (int i = 0; i < MOT_WORDS(FORMAT); i++)
                    *quad_word<FORMAT>(quads, q, i) = words[i];
            }
        }
    }
}

/* After a loop over the whole image: no thread reads it any more, and no band has to be waited for. */
DEVICE void loop_ended()
{
    __syncthreads();
    if (threadIdx.x == 0)
        cta().all_here = true;
    __syncthreads();
}

/* ---- statistics ---- */

/* Calls body(words) for each of the thread's quads as they arrive, after the chain. */
template <int FORMAT, class BODY> DEVICE void for_words(chain_form form, BODY body)
{
    const int quads = cta().width / 4 * cta().height;
    arriving a = arriving_of(quads);
    for (int first = (threadIdx.x / 32) * MOT_STRIP; first < quads; first += blockDim.x * (MOT_STRIP / 32)) {
        wait_quads(a, first + MOT_STRIP);
#pragma unroll
        for (int part = 0; part < MOT_STRIP; part += 32) {
            const int q = first + part + (threadIdx.x & 31);
            uint32_t words[3];
            if (q >= quads)
                break;
#pragma unroll
            for (int i = 0; i < MOT_WORDS(FORMAT); i++)
                words[i] = *quad_word<FORMAT>(quads, q, i);
            if (form == CHAIN_ONE_TABLE)
                chain_words<FORMAT>(CHAIN_ONE_TABLE, 1, 0, 0, words);
            body(words);
        }
    }
}

/* A histogram is counted in as many copies, side by side, as there is room for, because neighbouring lanes' pixels are
 * often equal. */
DEVICE int copies_of_histogram()
{
    const int room = cta().stage_bytes / MOT_HISTOGRAM_BYTES;
    return room >= 16 ? 16 : room >= 4 ? 4 : room >= 2 ? 2 : 1;
}

template <int FORMAT> static __device__ __noinline__ void count_histogram(chain_form form)
{
    const uint32_t copies = copies_of_histogram();
    uint32_t *const own_copy = stages() + (threadIdx.x & (copies - 1));
    for_words<FORMAT>(form, [&](const uint32_t word[3]) {
        uint32_t px[4];
        unpack_words<FORMAT>(word, px);
        count_values<FORMAT, 4>(own_copy, px, copies, 3);
    });
}

/* A range or a mean. */
template <int FORMAT, int NEEDS> static __device__ __noinline__ void count_totals(chain_form form)
{
    counted seen = nothing_counted();
    for_words<FORMAT>(form, [&](const uint32_t word[3]) {
        uint32_t px[4];
        unpack_words<FORMAT>(word, px);
        count_pixels<FORMAT, 4>(seen, px, NEEDS, 3);
    });
    add_counted(seen, NEEDS, cta().counts[0]);
}

/* Makes cta().stats of the image in the box, after one table or as it is. */
template <int FORMAT> DEVICE void count_image(int needs, chain_form form)
{
    const int copies = copies_of_histogram(), c = threadIdx.x;
    const uint32_t pixels = (uint32_t)cta().width * (uint32_t)cta().height;
    uint32_t(*const counts)[256] = cta().counts;
    if (threadIdx.x < 2 * MOT_TOTAL_HIGH)
        counts[0][threadIdx.x] = 0;
    if (needs == MOT_NEEDS_HISTOGRAM)
        for (int i = threadIdx.x; i < 3 * 256 * copies / 4; i += blockDim.x)
            ((uint4 *)stages())[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    if (needs == MOT_NEEDS_RANGE)
        count_totals<FORMAT, MOT_NEEDS_RANGE>(form);
    else if (needs == MOT_NEEDS_MEAN)
        count_totals<FORMAT, MOT_NEEDS_MEAN>(form);
    else
        count_histogram<FORMAT>(form);
    loop_ended();
    if (needs == MOT_NEEDS_HISTOGRAM) {
        MOT_ROLLED
        for (int i = threadIdx.x; i < 3 * 256; i += blockDim.x) {
            uint32_t sum = 0;
#pragma unroll 4
            for (int copy = 0; copy < copies; copy++)
                sum += stages()[i * copies + ((copy + i) & (copies - 1))]; /* so that lanes read different banks */
            counts[i >> 8][i & 255] = sum;
        }
        __syncthreads();
        static_assert(MOT_LEAST_THREADS >= 3 * 32, "a warp for each channel");
        if (threadIdx.x / 32 < 3)
            finish_histogram(counts[threadIdx.x / 32], pixels, &cta().stats[threadIdx.x / 32]);
    } else if (c < 3) {
        const uint32_t mean = needs == MOT_NEEDS_MEAN ? mot_stats_mean(*(unsigned long long *)counts, pixels) : 0;
        cta().stats[c] = mot_stats{ pixels, 255 - counts[0][c], counts[0][MOT_TOTAL_HIGH + c], 0, mean, nullptr };
    }
    __syncthreads();
}

/* ---- blurs ---- */

/* The three box passes of a blur along the rows or columns of the image in the box; a line is a row or column of one
 * channel. */
template <int FORMAT, bool COLUMNS, int RADIUS, int OP> static __device__ __noinline__ void blur_lines(int step)
{
    const mot_arg arg = cta().step[step].arg;
    const int width = cta().width, height = cta().height, threads = blockDim.x;
    const int pixel = pixel_bytes(FORMAT), row = width * pixel, stride = COLUMNS ? row : pixel;
    const int length = COLUMNS ? height : width, lines = planes_of(FORMAT) * (COLUMNS ? row : height * pixel);
    /* Neighbouring threads have neighbouring columns, or four runs of a row, which begin in different banks: rows of
     * 224 pixels begin in four banks only. */
    const int at_once = min(lines, COLUMNS ? threads : threads / 4), most = threads / at_once;
    const blur_runs<RADIUS> all(length, max((length + most - 1) / most, (int)blur_runs<RADIUS>::HALO));
    const int run = COLUMNS ? threadIdx.x / at_once : threadIdx.x % all.runs;
    const int own = COLUMNS ? threadIdx.x % at_once : threadIdx.x / all.runs;
#pragma unroll 1
    for (int from = 0; from < lines; from += at_once) {
        /* threads without a run read as well, but nothing that others may be writing since the last turn */
        const int line = min(from + own, lines - 1), plane = planes_of(FORMAT) == 1 ? 0 : line / row;
        const int begin = COLUMNS ? line + plane * row * (height - 1) : line / pixel * row + line % pixel;
        all.template blur<OP>(box_memory() + begin, stride, run, run < all.runs && own < at_once && from + own < lines,
                              arg);
    }
    __syncthreads();
}

/* Blurs the image in the box. */
template <int FORMAT> DEVICE void blur_image(int step)
{
    arriving a = arriving_of(cta().width / 4 * cta().height);
    wait_quads(a, INT_MAX);
    loop_ended();
    for_blur(cta().step[step].op, &cta().step[step].arg, [&]([[maybe_unused]] auto kind) {
        blur_lines<FORMAT, false, kind.RADIUS, kind.OP>(step);
        blur_lines<FORMAT, true, kind.RADIUS, kind.OP>(step);
    });
}

/* ---- a sample ---- */

/* mot_warp_make_plan() of step `s`, a warp, by 32 threads together: the image would have to wait for one. Positions
 * that are sums take the tiles route (dispatch/cuda/route.c). */
static __device__ __noinline__ void plan_step(int s, int width, int height)
{
    const mot_step &step = cta().step[s];
    const int lane = threadIdx.x & 31;
    mot_warp &warp = cta().warp[s]; /* an array indexed by lane would lie in local memory, which is slow */
    if (lane == 0)
        mot_warp_matrix(step.op, width, height, &step.arg, &warp);
    __syncwarp();
    const double *const m = warp.m;
    const bool between = !warp.whole && step.interpolation != MOTLEY_NEAREST;
    uint32_t number = mot_warp_fixed_number(m, lane < 6 ? lane : 0);
    if (m[1] == 0 && m[3] == 0 && !between) {
        const bool rows = lane >= 3;
        uint32_t by, from;
        mot_unit_scale(rows ? m[4] : m[0], rows ? m[5] + m[4] * 0.5 : m[2] + m[0] * 0.5, rows ? height : width, &by,
                       &from);
        number = lane == 0 || lane == 4 ? by : lane == 2 || lane == 5 ? from : 0;
    }
    if (lane < 6) {
        cta().plans[s].fixed[lane] = number;
        cta().plans[s].m[lane] = m[lane];
    }
    if (lane == 0) {
        cta().plans[s].path = !between                                ? MOT_WARP_FIXED
                              : step.interpolation == MOTLEY_BILINEAR ? MOT_WARP_BILINEAR
                                                                      : MOT_WARP_BICUBIC;
        cta().plans[s].width = width;
        cta().plans[s].height = height;
    }
}

/* Takes over the steps, finds their shapes, and makes the plans of those that warp, a step a warp: for all threads,
 * with a barrier. Warps without a step need not know how many there are. False: no step changes anything. */
DEVICE bool plan_steps(const mot_step *from, int steps, int width, int height)
{
    bool any = false;
    const int lane = threadIdx.x & 31;
    static_assert(sizeof(mot_step) <= 32 * 4, "a word for each lane");
    MOT_ROLLED
    for (int s = threadIdx.x / 32; s < steps; s += cta_threads() / 32) {
        mot_step &step = cta().step[s];
        if (lane < (int)(sizeof(mot_step) / 4))
            ((uint32_t *)&step)[lane] = __ldcg((const uint32_t *)(from + s) + lane);
        __syncwarp();
        const int shape = mot_shape_of(step.op);
        const bool still = step.arg.flags & MOT_ARG_IDENTITY;
        if (lane == 0)
            cta().shape[s] = still ? -1 : mot_pass_shape(shape, &step);
        if (!still && shape == MOTLEY_SHAPE_WARP)
            plan_step(s, width, height);
        any |= !still;
    }
    return __syncthreads_or(any);
}

/* Whether a warp turns rows into columns, so that neighbouring lanes would read from the same bank: by 75 degrees or
 * more. */
DEVICE bool is_steep(int step)
{
    return abs((int32_t)cta().plans[step].fixed[0]) < 17000;
}

template <int FORMAT, int SINK> DEVICE void walk_to(int items, bool stencil, int spatial, int before, int first_items)
{
    if (spatial < 0)
        walk<FORMAT, QUAD_ITSELF, SINK>(items, 0, 0, 0);
    else if (stencil)
        walk_stencil<FORMAT, SINK>(items, spatial);
    else if (cta().plans[spatial].path != MOT_WARP_FIXED) /* alone in its pass: mot_pass_shape */
        walk<FORMAT, QUAD_BETWEEN, SINK>(items, spatial, 0, 0);
    else if (before >= 0)
        walk<FORMAT, QUAD_GATHERED_TWICE, SINK>(items, spatial, before, first_items);
    else if (first_items == 0 && is_steep(spatial))
        walk<FORMAT, QUAD_GATHERED_STEEP, SINK>(items, spatial, 0, 0);
    else
        walk<FORMAT, QUAD_GATHERED, SINK>(items, spatial, 0, first_items);
}

/* Runs the steps of the window from `at` on, as many as one pass can do. Returns the next one. */
template <int FORMAT, bool OUTPUT, bool BLURS> DEVICE int whole_pass(int at)
{
    chain_state chain = {};
    mot_pass_form form = MOT_PASS_STILL;
    int spatial = -1, before = -1; /* steps; `before` is the first of two warps */
    int first_items = 0;           /* of the chain, before a warp */
    for (; at < cta().steps; at++) {
        const mot_step &step = cta().step[at];
        const int shape = cta().shape[at];
        if (shape < 0)
            continue;
        if (!mot_pass_takes(&form, shape))
            break;
        const bool joins = shape == MOTLEY_SHAPE_WARP && (spatial >= 0 || !chain.erases);
        if (joins && spatial < 0) {
            first_items = chain.items;
            chain.open = false;
        }
        const bool moves = shape == MOTLEY_SHAPE_WARP || shape == MOTLEY_SHAPE_STENCIL;
        const bool whole = moves || shape == MOTLEY_SHAPE_STATS || (BLURS && shape == MOTLEY_SHAPE_BLUR);
        const bool counts_table = shape == MOTLEY_SHAPE_STATS && chain.items == 1 && chain.open;
        if (whole && chain.items > 0 && !joins && !counts_table) {
            __syncthreads();
            walk<FORMAT, QUAD_ITSELF, TO_BOX>(chain.items, 0, 0, 0);
            loop_ended();
            chain = chain_state{};
        }
        if (moves) {
            before = spatial;
            spatial = at;
        } else if (BLURS && shape == MOTLEY_SHAPE_BLUR) {
            blur_image<FORMAT>(at);
        } else if (shape == MOTLEY_SHAPE_STATS) {
            count_image<FORMAT>(needs_of(step.op), counts_table ? CHAIN_ONE_TABLE : CHAIN_NONE);
            chain_stats(cta().work, chain, step.op, cta().stats, FORMAT == MOT_FORMAT_GREY ? 1 : 3, &step.arg);
        } else if (shape == MOTLEY_SHAPE_POINT) {
            chain_point(cta().work, chain, step.op, &step.arg);
        } else if (shape == MOTLEY_SHAPE_COLOR) {
            chain_append(cta().work, chain, CHAIN_COLOR, &step, mot_rect{ 0, 0, 0, 0 }, 0);
        } else {
            chain_append(cta().work, chain, CHAIN_ERASE, &step,
                         mot_erase_rect(step.op, cta().width, cta().height, &step.arg), fill_word(step));
        }
    }
    __syncthreads();
    const bool stencil = spatial >= 0 && mot_shape_of(cta().step[spatial].op) == MOTLEY_SHAPE_STENCIL;
    if constexpr (OUTPUT)
        if (at == cta().steps) {
            if (cta().by_lines && cta().output_form == OUTPUT_PLANES)
                walk_to<FORMAT, TO_LINE_PLANES>(chain.items, stencil, spatial, before, first_items);
            else if (FORMAT != MOT_FORMAT_GREY && cta().by_lines)
                walk_to<FORMAT, FORMAT == MOT_FORMAT_GREY ? TO_OUTPUT : TO_LINE_PIXELS>(chain.items, stencil, spatial,
                                                                                        before, first_items);
            else
                walk_to<FORMAT, TO_OUTPUT>(chain.items, stencil, spatial, before, first_items);
            return at;
        }
    walk_to<FORMAT, TO_IMAGE>(chain.items, stencil, spatial, before, first_items);
    return at;
}

/* Runs all steps of a sample whose image is being loaded. */
template <int FORMAT, bool OUTPUT, bool BLURS> DEVICE void run_whole()
{
    for (int at = 0;;) {
        at = whole_pass<FORMAT, OUTPUT, BLURS>(at);
        if (at == cta().steps)
            return;
        image_fence(); /* the next pass reads what this one wrote */
        __syncthreads();
        load_bands<FORMAT>(cta().work_view, 0, MOT_BANDS);
        if (threadIdx.x == 0) {
            cta().phase ^= 1;
            cta().all_here = false;
        }
        __syncthreads();
        if (OUTPUT) { /* the output may overwrite what is still to be loaded */
            arriving a = arriving_of(cta().width / 4 * cta().height);
            wait_quads(a, INT_MAX);
            loop_ended();
        }
    }
}

#endif
#endif
