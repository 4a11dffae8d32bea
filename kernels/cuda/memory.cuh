/* SPDX-License-Identifier: Apache-2.0 */
/* Reading images in device memory, at any address. A pixel is a word, with its first channel in the lowest byte.
 *
 * Loads read aligned words. The one word that may
 * hold bytes past the end of the image is never read as a word: its bytes are read one by one. The word in which an
 * image begins is read whole, and what lies before the image is shifted out. */
#ifndef MOT_MEMORY_CUH
#define MOT_MEMORY_CUH

#include "kernels/cuda/pixels.cuh"

/* WORDS words from bit `skip` of an aligned word on; it reads one word more. */
template <int WORDS> DEVICE void load_shifted(const uint8_t *p, uint32_t skip, uint32_t w[WORDS])
{
    uint32_t v[WORDS + 1];
#pragma unroll
    for (int i = 0; i <= WORDS; i++)
        v[i] = load_word(p + 4 * i);
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        w[i] = __funnelshift_r(v[i], v[i + 1], skip);
}

/* Images of at most so many pixels are read byte by byte, so that words at the beginning of others can always be read.
 */
#define MOT_TINY_IMAGE 16

/* Bytes of a pixel in a row of its format; 0 if every byte is read separately. */
DEVICE constexpr int format_bytes(int format)
{
    return format == MOT_FORMAT_RGB ? 3 : format == MOT_FORMAT_RGBA ? 4 : format == MOT_FORMAT_STRIDED ? 0 : 1;
}

/* Whether pixels are read as words that they share with other pixels. */
DEVICE constexpr bool is_packed(int format)
{
    return format == MOT_FORMAT_RGB || format == MOT_FORMAT_RGBA;
}

/* An image to read, in registers. All formats but STRIDED are read at 32-bit offsets that are not negative, and have
 * more than MOT_TINY_IMAGE pixels. */
template <int FORMAT> struct image_reader {
    const uint8_t *data; /* RGB and RGBA: the word in which the first byte lies */
    uint32_t skip;       /* bytes from there to the first pixel */
    uint32_t whole;      /* bytes from there; RGB and RGBA: only those in words that hold no other bytes */
    int64_t row;
    int64_t pixel, channel; /* STRIDED; channel: PLANES as well */
    int width, height, channels;
};

template <int FORMAT> DEVICE image_reader<FORMAT> reader_of(const mot_view &v)
{
    image_reader<FORMAT> r;
    r.skip = is_packed(FORMAT) ? (uint32_t)(uintptr_t)v.data & 3 : 0;
    r.data = v.data - r.skip;
    r.row = v.row, r.pixel = v.pixel, r.channel = v.channel;
    r.width = v.width, r.height = v.height;
    r.channels = channels_of(FORMAT, v);
    const uint32_t bytes = r.skip + (uint32_t)(v.height - 1) * (uint32_t)v.row + format_bytes(FORMAT) * v.width;
    r.whole = is_packed(FORMAT) ? bytes & ~3u : bytes;
    return r;
}

/* Bytes from `data` to a pixel. */
template <int FORMAT> DEVICE uint32_t offset_in(const image_reader<FORMAT> &r, uint32_t x, uint32_t y)
{
    return y * (uint32_t)r.row + (x * format_bytes(FORMAT) + r.skip);
}

/* The pixel at an offset, byte by byte. Not for STRIDED. */
template <int FORMAT> DEVICE uint32_t read_bytes_at(const image_reader<FORMAT> &r, uint32_t at)
{
    const uint8_t *const p = r.data + at;
    uint32_t word = 0;
#pragma unroll
    for (int c = 0; c < (FORMAT == MOT_FORMAT_GREY ? 1 : FORMAT == MOT_FORMAT_RGBA ? 4 : 3); c++)
        word |= load_byte(FORMAT == MOT_FORMAT_PLANES ? p + c * r.channel : p + c) << (8 * c);
    return word;
}

/* A pixel, byte by byte. */
template <int FORMAT> DEVICE uint32_t read_bytes(const image_reader<FORMAT> &r, int x, int y)
{
    if (FORMAT != MOT_FORMAT_STRIDED)
        return read_bytes_at<FORMAT>(r, offset_in<FORMAT>(r, x, y));
    uint32_t word = 0;
#pragma unroll
    for (int c = 0; c < 4; c++)
        if (c < r.channels)
            word |= load_byte(r.data + y * r.row + x * r.pixel + c * r.channel) << (8 * c);
    return word;
}

/* In the offset of a pixel that is not used: the other bits are the offset of any pixel. */
#define MOT_UNUSED_PIXEL 0x80000000u

/* Whether the pixel at an offset is not read by read_pixels, as a word is needed that may hold bytes past the image. */
template <int FORMAT> DEVICE bool is_last(const image_reader<FORMAT> &r, uint32_t at)
{
    return is_packed(FORMAT) && (int)at >= (int)r.whole - 4;
}

/* COUNT pixels at any offsets, with all loads in flight together: two words each, at one address. True: is_last() of
 * one of them, which is undefined. Not for STRIDED. */
template <int FORMAT, int COUNT>
DEVICE bool read_pixels(const image_reader<FORMAT> &r, const uint32_t *at, uint32_t *px)
{
    if (!is_packed(FORMAT)) {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            px[i] = read_bytes_at<FORMAT>(r, at[i] & ~MOT_UNUSED_PIXEL);
        return false;
    }
    int most = 0;
    const uint8_t *p[COUNT];
    uint32_t low[COUNT], high[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        p[i] = r.data + min(at[i] & ~(MOT_UNUSED_PIXEL | 3u), r.whole - 8);
        most = max(most, (int)at[i]);
    }
    if constexpr (COUNT == 4)
        load_four_pairs(p, low, high);
    else
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            low[i] = load_word(p[i]), high[i] = load_word(p[i] + 4);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        px[i] = __funnelshift_r(low[i], high[i], at[i] * 8);
    return is_last(r, most);
}

/* The words in which the four pixels from (x, y) on lie: for RGB and RGBA consecutive ones, else one for each channel.
 * In the image's last row and past its right edge they are undefined. False: one of the words in memory, or the one
 * behind them, also holds bytes that are not the image's, and others were read. Not for STRIDED. */
template <int FORMAT> DEVICE bool read_four_words(const image_reader<FORMAT> &r, int x, int y, uint32_t w[4])
{
    const uint32_t at = offset_in<FORMAT>(r, x, y);
    if (is_packed(FORMAT)) {
        const int size = format_bytes(FORMAT);
        const bool inside = (at & ~3u) + 4 * size + 4 <= r.whole;
        const uint8_t *const p = r.data + (inside ? at & ~3u : 0);
        uint32_t v[5];
#pragma unroll
        for (int i = 0; i <= size; i++)
            v[i] = load_word(p + 4 * i);
#pragma unroll
        for (int i = 0; i < size; i++)
            w[i] = __funnelshift_r(v[i], v[i + 1], at * 8);
        return inside;
    }
    const bool inside = at + 7 <= r.whole; /* the last rows of a channel, too, if they are shorter than a word */
#pragma unroll
    for (int c = 0; c < (FORMAT == MOT_FORMAT_PLANES ? 3 : 1); c++) {
        const uint8_t *const p = r.data + c * r.channel + (inside ? at : 0);
        const uint32_t skip = (uint32_t)(uintptr_t)p & 3;
        w[c] = __funnelshift_r(load_word(p - skip), load_word(p - skip + (skip ? 4 : 0)), skip * 8);
    }
    return inside;
}

/* `n` pixels from (x, y) on, byte by byte. */
template <int FORMAT> DEVICE void read_four_slowly(const image_reader<FORMAT> &r, int x, int y, int n, uint32_t px[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        px[i] = i < n ? read_bytes<FORMAT>(r, x + i, y) : 0;
}

/* As read_four_words, but gives `n` pixels of any format. */
template <int FORMAT> DEVICE bool read_four(const image_reader<FORMAT> &r, int x, int y, int n, uint32_t px[4])
{
    if constexpr (FORMAT == MOT_FORMAT_STRIDED) {
        read_four_slowly<FORMAT>(r, x, y, n, px);
        return true;
    } else {
        uint32_t w[4];
        const bool inside = read_four_words<FORMAT>(r, x, y, w);
        unpack_words<FORMAT>(w, px);
        return inside;
    }
}

/* Whether every group of four pixels whose number is a multiple of four begins at a word. */
template <int FORMAT> DEVICE bool has_even_rows(const image_reader<FORMAT> &r)
{
    const uint32_t row = (uint32_t)r.row;
    if (FORMAT == MOT_FORMAT_STRIDED || (r.width & 3) || (row & 3))
        return false;
    if (is_packed(FORMAT))
        return r.skip == 0;
    return (((uintptr_t)r.data | (FORMAT == MOT_FORMAT_PLANES ? (uintptr_t)r.channel : 0)) & 3) == 0;
}

/* The words of such a group. */
template <int FORMAT> DEVICE void read_even_words(const image_reader<FORMAT> &r, int x, int y, uint32_t w[4])
{
    const uint8_t *const p = r.data + offset_in<FORMAT>(r, x, y);
    if (is_packed(FORMAT)) {
#pragma unroll
        for (int i = 0; i < format_bytes(FORMAT); i++)
            w[i] = load_word(p + 4 * i);
    } else {
#pragma unroll
        for (int c = 0; c < (FORMAT == MOT_FORMAT_PLANES ? 3 : 1); c++)
            w[c] = load_word(p + c * r.channel);
    }
}

/* q / d for small q; inverse_of(d) is the multiplier. */
DEVICE uint32_t inverse_of(uint32_t d)
{
    return d == 1 ? 0 : 0xFFFFFFFFu / d + 1;
}

DEVICE int divided(int q, uint32_t inverse)
{
    return inverse ? (int)__umulhi((uint32_t)q, inverse) : q;
}

#endif
