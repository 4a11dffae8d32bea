/* SPDX-License-Identifier: Apache-2.0 */
/* Writes quads to the image in device memory, or to a fused output of another type or layout. */
#ifndef MOT_RESIDENT_OUTPUT_CUH
#define MOT_RESIDENT_OUTPUT_CUH

#include "kernels/cuda/lines.cuh"
#include "kernels/cuda/resident_quads.cuh"

/* The destination of the loop over quads (resident_loop.cuh). */
enum quad_sink { TO_SHARED, TO_IMAGE, TO_LINE_PLANES, TO_LINE_PIXELS, TO_OUTPUT };

/* Whether it is an output by lines (lines.cuh). */
DEVICE constexpr bool is_lines(int sink)
{
    return sink == TO_LINE_PLANES || sink == TO_LINE_PIXELS;
}

/* An offset outside every image, for idle lanes. */
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
    const int dtype = resident_cta().output_dtype;
    const int64_t next = resident_cta().output.channel;
    const uint32_t tables = shared_address(output_table());
    uint8_t *out = resident_cta().output.data + (int64_t)q * (dtype == MOTLEY_F32 ? 16 : 8);
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
    const int lane = threadIdx.x & 31, dtype = resident_cta().output_dtype, four = dtype == MOTLEY_F32 ? 16 : 8;
    const uint32_t tables = shared_address(output_table());
    uint8_t *const out = resident_cta().output.data;
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
    const mot_output_line line = resident_cta().line[c];
    const uint8_t *const table = resident_cta().work.table[0][c];
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
    round_pairs<4 * channels>(resident_cta().output_dtype, v, out);
    uint8_t *to = resident_cta().output.data + 8 * (int64_t)q;
    const int64_t next = resident_cta().output.channel;
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
    uint8_t *const out = resident_cta().output.data;
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float channel[4];
        make_line<FORMAT, 4, APART>(looks_up, c, w, channel);
#pragma unroll
        for (int i = 0; i < 4; i++)
            pixels[3 * i + c] = channel[i];
    }
    round_pairs<12>(resident_cta().output_dtype, pixels, v);
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
        apply_chain<FORMAT>(resident_cta().work, items, 3, x, y, px);
        write_lines<FORMAT, SINK, true>(false, q, quads, at, px, stage);
    } else {
        write_lines<FORMAT, SINK, false>(form == CHAIN_ONE_TABLE, q, quads, at, w, stage);
    }
}

/* Writes 32 quads to the output by its table, one for each lane: quad `q`, the four pixels from (x, y) on. For whole
 * warps. */
template <int FORMAT> DEVICE void write_output(int q, int quads, int x, int y, const uint32_t w[3], uint32_t *stage)
{
    if (FORMAT != MOT_FORMAT_GREY && resident_cta().output_form == OUTPUT_PIXELS) {
        write_pixels<FORMAT>(q, quads, w, stage);
    } else if (q < quads && resident_cta().output_form == OUTPUT_PLANES) {
        write_planes<FORMAT>(q, w);
    } else if (q < quads) {
        uint32_t px[4];
        unpack_words<FORMAT>(w, px);
        store_output(resident_cta().output, resident_cta().output_dtype, output_table(), x, y, px);
    }
}

#endif
