/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a CTA of the tile kernel share. It lies at the beginning of the CTA's dynamic shared memory, so
 * that every function finds it at a constant address; the tile lies behind it, one word a pixel. */
#ifndef MOT_TILE_STATE_CUH
#define MOT_TILE_STATE_CUH

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/interpolate_near.cuh"
#include "kernels/cuda/memory.cuh"
#include "kernels/cuda/tile_job.h"

struct alignas(16) tile_state {
    mot_program program;
    alignas(16) mot_tile_image image;
    uint8_t table[MOT_WINDOW][3][256];
    mot_stats stats[3];
    mot_warp_plan plan;                   /* of the warp that interpolates or sums positions */
    near_axis axis[2];                    /* of that plan, if it interpolates */
    alignas(16) mot_program next_program; /* and its image, on their way from memory */
    alignas(16) mot_tile_image next_image;
    mot_view current;
    int current_strided; /* `current` is read byte by byte */
    uint32_t *totals;    /* of the program's statistics */
    int rank;            /* of the CTA among the image's */
    int arrived;         /* arrivals of the image's CTAs at its last barrier */
    /* the tile: the pixels of the image that this CTA makes, and those in shared memory */
    int x0, y0, columns, rows;
    int tile_x, tile_y, tile_columns, tile_rows;
    mot_tile_cut uncut;                /* while the image is cut into strips: its tiles */
    int tile, tiles;                   /* its number, and how many the image has */
    int several;                       /* a phase takes several turns, a tile each */
    unsigned list_end[MOT_TILE_LISTS]; /* tasks up to the end of each list */
    int next_place, next_rank;         /* the task that comes next: the number of its image in the launch, or -1 */
    int next_window;                   /* which one of the image's programs comes next */
};

DEVICE tile_state &tile_cta()
{
    return *(tile_state *)cta_memory;
}

DEVICE uint32_t *tile_words()
{
    return (uint32_t *)((uint8_t *)cta_memory + sizeof(tile_state));
}

static_assert(sizeof(mot_program_op) == sizeof(uint2), "one load");

/* Loads an instruction. */
DEVICE mot_program_op load_op(const uint2 *at)
{
    const uint2 bytes = *at;
    mot_program_op op;
    memcpy(&op, &bytes, sizeof op);
    return op;
}

DEVICE const uint2 *op_at(int i)
{
    return (const uint2 *)&tile_cta().program.op[i];
}

/* MOT_TILE_SPARE_WORDS behind the tile; the last rows of a halo may lie there. */
DEVICE uint32_t *spare_words()
{
    return tile_words() + MOT_TILE_WORDS;
}

#define MOT_TILE_BYTES (sizeof(tile_state) + 4 * (MOT_TILE_WORDS + MOT_TILE_SPARE_WORDS))
static_assert(MOT_TILE_BYTES <= 48 * 1024, "what a CTA gets on every chip, sm_75 included");
static_assert(MOT_TILE_CTAS * (MOT_TILE_BYTES + 1024) <= 164 * 1024, "the next step, 196 KB, would be the L1 cache's");
#define MOT_TILE_WARPS (MOT_TILE_THREADS / 32)

/* Where table `t` begins in shared memory; the channels' tables follow each other. */
DEVICE const uint8_t (*table_of(int t))[256]
{
    return tile_cta().table[t];
}

/* The colour that a warp fills with; with `mark`, the pixel's highest byte says that it was filled. */
DEVICE uint32_t fill_of(int step, int mark)
{
    const uint32_t fill = tile_cta().program.fill[step];
    return mark ? (fill & 0xFFFFFF) | (uint32_t)mark << 24 : fill;
}

/* Waits until all CTAs of the image have arrived; this one may have arrived already. What each wrote to memory before
 * it arrived is visible to the others after the CTA's next barrier. tile_job.h says why all of them are resident. For
 * one thread, after a barrier of the CTA. */
DEVICE void wait_at_image_barrier(bool arrived)
{
    tile_state &s = tile_cta();
    if (!arrived)
        add_released(s.image.arrivals);
    s.arrived += s.image.ctas;
    while (load_acquired(s.image.arrivals) < s.arrived)
        emulate_others();
}

#endif
