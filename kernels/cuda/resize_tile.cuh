/* SPDX-License-Identifier: Apache-2.0 */
/* What a CTA of the resize kernel works on, and sums of taps. */
#ifndef MOT_RESIZE_TILE_CUH
#define MOT_RESIZE_TILE_CUH

#include "kernels/cuda/resize_axes.cuh"
#include "kernels/cuda/tuning.h"

alignas(16) __shared__ uint32_t resize_values[4][256]; /* each byte as the result's type, for each channel */

/* Of each row of the tile: where its window begins, and its first two groups of taps. */
#define STAGED_GROUPS 2
#define MOST_TILE_ROWS 32 /* each row of a tile has a thread */
static_assert(MOT_RESIZE_TILE_ROWS <= MOST_TILE_ROWS && MOT_RESIZE_NARROW_ROWS <= MOST_TILE_ROWS, "as tuning.h says");
__shared__ int resize_first[MOST_TILE_ROWS];
alignas(16) __shared__ mot_cuda_taps resize_taps[STAGED_GROUPS][MOST_TILE_ROWS];

/* Staged taps, by the address at which they lie in shared memory. */
#ifdef MOT_ON_DEVICE
DEVICE uint32_t taps_address()
{
    return kept_address(resize_taps);
}

DEVICE mot_cuda_taps staged_taps(uint32_t staged, int group, int row)
{
    const uint4 v = load_shared_four_words(staged + (group * MOST_TILE_ROWS + row) * (uint32_t)sizeof(mot_cuda_taps));
    return mot_cuda_taps{ v.x, v.y, v.z, v.w };
}
#else
DEVICE uint32_t taps_address()
{
    return 0;
}

DEVICE mot_cuda_taps staged_taps(uint32_t, int group, int row)
{
    return resize_taps[group][row];
}
#endif

/* Four taps, by a volatile load: the compiler moves other loads out of branches, and then reads taps that the table
 * does not have. */
DEVICE mot_cuda_taps load_taps(const mot_cuda_taps *p)
{
    const uint4 v = load_four_words_here(p);
    return mot_cuda_taps{ v.x, v.y, v.z, v.w };
}

/* CLAMPS: weights may be negative, so a result may be outside the range of a byte. Else weights are kept as 24 bits
 * without a sign, and the highest byte of a sum is the result. */

/* One output of one channel, with the sums of its taps so far. */
struct tap_sum {
    uint32_t upper, lower;
};

/* It begins with half a unit of the result, in the unit of the upper parts, and the fill's share. */
template <bool CLAMPS> DEVICE tap_sum no_taps(uint32_t share)
{
    return tap_sum{ 1u << (CLAMPS ? MOT_RESIZE_BITS - 9 : 15), share };
}

template <bool CLAMPS> DEVICE void add_taps(tap_sum &s, const mot_cuda_taps &taps, uint32_t bytes)
{
    s.upper = add_pair_high<CLAMPS>(taps.upper23, bytes, add_pair_low<CLAMPS>(taps.upper01, bytes, s.upper));
    s.lower = add_four(taps.lower, bytes, s.lower);
}

DEVICE uint32_t total_of(const tap_sum &s)
{
    return s.upper * 256 + s.lower;
}

/* The bytes of four totals. */
template <bool CLAMPS> DEVICE uint32_t pack_totals(const uint32_t total[4])
{
    if constexpr (!CLAMPS) {
        const uint32_t low = __byte_perm(total[0], total[1], 0x0073), high = __byte_perm(total[2], total[3], 0x0073);
        return __byte_perm(low, high, 0x5410);
    } else {
        int v[4];
        for (int i = 0; i < 4; i++)
            v[i] = (int)total[i] >> MOT_RESIZE_BITS;
        return pack_clamped(v);
    }
}

/* A weight by itself. */
DEVICE int32_t weight_of(const mot_cuda_taps *taps, bool clamps, int out, int i, int t)
{
    const mot_cuda_taps w = taps[(int64_t)(t / 4) * out + i];
    const uint32_t halves = t & 2 ? w.upper23 : w.upper01;
    const uint32_t half = t & 1 ? halves >> 16 : halves & 0xFFFF, lower = w.lower >> 8 * (t & 3) & 0xFF;
    return clamps ? (int16_t)half * 256 + (int)lower : (int)(half * 64 + lower / 4);
}

/* The weight by which component `i` reads the fill. */
DEVICE int32_t weight_outside(const mot_cuda_taps *taps, bool clamps, int i)
{
    return (int32_t)taps[i].outside >> (clamps ? 0 : 2);
}

/* What a CTA works on. */
struct resize_tile {
    mot_view src, dst; /* of one plane, where planes are resized one by one */
    mot_cuda_axes axes;
    axis_table columns, rows;
    int out[2];
    int x0, y0, width, height; /* of dst */
    int first, span;           /* the crop's pixels in a row that the tile's columns read: the first, and how many */
    const uint8_t *crop;       /* the crop's first byte; columns first: of the first row that the tile reads */
    int last_row;              /* the image's last row, counted from there: its words may pass the image's end */
    int plane;                 /* src and dst are this one, or 0 */
    int dtype;
    int store; /* how four neighbouring pixels are written */
    int fast;  /* not pixel by pixel */
};

/* The fill, of the tile's channels. */
DEVICE uint32_t fill_of(const resize_tile &t)
{
    uint32_t bytes = 0;
    for (int c = 0; c < t.src.channels; c++)
        bytes |= (uint32_t)t.axes.fill[mot_fill_at(t.plane + c)] << (8 * c);
    return bytes;
}

/* What sums have of the fill: nothing, or its components by the weight outside. Totals are right modulo 2^32. Functions
 * that are called make it anew, since a parameter takes a register even if it is empty. */
struct no_fill {
    static constexpr bool any = false;
    static DEVICE_MEMBER no_fill of(const resize_tile &)
    {
        return no_fill();
    }
    DEVICE_MEMBER uint32_t outside(const mot_cuda_taps *) const
    {
        return 0;
    }
    DEVICE_MEMBER uint32_t start(int, uint32_t) const
    {
        return 0;
    }
};

struct some_fill {
    static constexpr bool any = true;
    uint32_t bytes; /* by channel of the tile */
    static DEVICE_MEMBER some_fill of(const resize_tile &t)
    {
        return some_fill{ fill_of(t) };
    }
    DEVICE_MEMBER uint32_t outside(const mot_cuda_taps *first) const
    {
        return load_taps(first).outside;
    }
    DEVICE_MEMBER uint32_t start(int c, uint32_t weight) const
    {
        return (bytes >> 8 * c & 255) * weight;
    }
};

__shared__ resize_tile resize_now;

enum {
    STORE_HALVES, /* four values of 16 bits of a channel lie side by side, at a multiple of 8 bytes */
    STORE_F16,    /* the same, made by lines */
    STORE_BF16,   /* the same */
    STORE_FLOATS, /* four of 32 bits, at a multiple of 16 bytes */
    STORE_RGB,    /* bytes of three channels lie side by side */
    STORE_BYTES,  /* bytes of a channel lie side by side */
    STORE_ANY
};

#endif
