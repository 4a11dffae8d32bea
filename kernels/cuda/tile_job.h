/* SPDX-License-Identifier: Apache-2.0 */
/* The tile kernel's request, how images are cut into tiles, and the calls that launch it. Plain C on both sides.
 *
 * Images of any size, layout and alignment. Each is cut into tiles; CTAs take (image, member) pairs in order (the
 * first one by their own number, the next when they wait for no one in the last), and a member of an image's CTAs owns
 * the tiles member, member + members, ... The grid is launched cooperatively: all its CTAs are resident, so that those
 * which wait for an image's other members always meet them. (Take the first image that is not finished. If one of its
 * pairs is not taken, every pair taken belongs to it or to finished images; an image has at most as many members as the
 * grid has CTAs, so some CTA is free to take the next pair. If all are taken, all run.)
 *
 * If the tiles of a batch are so low that each CTA has at most one, there are no lists: image i has the CTAs with
 * the numbers from i * each on.
 */
#ifndef MOT_TILE_JOB_H
#define MOT_TILE_JOB_H

#include "kernels/cuda/job.h"
#include "kernels/cuda/tile_program.h"
#include "kernels/cuda/tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MOT_TOTAL_WORDS 768 /* of one COUNT: a histogram of three channels */

/* How an image is cut. */
typedef struct mot_tile_cut {
    int32_t across, down;  /* tiles */
    int32_t width, height; /* of a tile, pixels; the last ones may be smaller */
} mot_tile_cut;

/* Words from row to row of a tile in shared memory: 8 modulo 16, so that blocks of 8 x 4 pixels, and columns of quads,
 * lie in different banks. */
MOT_FN int mot_tile_pitch(int width)
{
    return ((width + 7) & ~15) + 8;
}

/* `words`: of a tile, at most. Fewer than MOT_TILE_WORDS are for small batches: their tiles have rows by fours, and at
 * least four. */
MOT_FN mot_tile_cut mot_cut_tiles(int width, int height, int words)
{
    mot_tile_cut cut;
    cut.width = width <= MOT_TILE_WIDEST ? width : MOT_TILE_BLOCK;
    cut.across = width <= MOT_TILE_WIDEST ? 1 : (width + MOT_TILE_BLOCK - 1) / MOT_TILE_BLOCK;
    const int pitch = mot_tile_pitch(cut.across > 1 ? cut.width + 8 : cut.width);
    int most = words / pitch;
    if (words < MOT_TILE_WORDS)
        most = most < 4 ? 4 : most & ~3;
    if (most > MOT_TILE_HIGHEST)
        most = MOT_TILE_HIGHEST;
    while (pitch * ((most + 5) & ~3) + 8 > MOT_TILE_WORDS + MOT_TILE_SPARE_WORDS)
        most--;
    cut.down = (height + most - 1) / most;
    cut.height = (height + cut.down - 1) / cut.down;
    if (((cut.height + 3) & ~3) <= most) /* 32 threads gather four rows at a time */
        cut.height = (cut.height + 3) & ~3;
    cut.down = (height + cut.height - 1) / cut.height;
    return cut;
}

/* Cuts an image into pieces for a light program, which needs no shared memory: bands of whole rows of at most `quads`
 * groups of four pixels. There are never more of them than `tiles`, those of mot_cut_tiles. */
MOT_FN mot_tile_cut mot_cut_pieces(int width, int height, int quads, const mot_tile_cut *tiles)
{
    const int rows = quads / ((width + 3) / 4);
    if (rows < 1)
        return *tiles;
    mot_tile_cut cut;
    cut.across = 1;
    cut.width = width;
    cut.down = (height + rows - 1) / rows;
    cut.height = (height + cut.down - 1) / cut.down;
    cut.down = (height + cut.height - 1) / cut.height;
    return cut.down < tiles->across * tiles->down ? cut : *tiles;
}

/* Makes tiles about half as high, and at most twice as many. */
MOT_FN void mot_halve_tiles(mot_tile_cut *cut, int height)
{
    if (cut->height < 8)
        return;
    cut->height = (cut->height + 7) / 8 * 4;
    cut->down = (height + cut->height - 1) / cut->height;
}

/* Cuts an image into strips of whole columns instead, the same number for each of `members` CTAs; height 0: no CTA can
 * hold a column. A thread reads four columns at a time. */
MOT_FN mot_tile_cut mot_cut_strips(int width, int height, int members)
{
    mot_tile_cut cut;
    cut.width = 24;
    while (cut.width > 0 && mot_tile_pitch(cut.width) * height > MOT_TILE_WORDS)
        cut.width -= 4;
    cut.down = 1;
    cut.height = cut.width > 0 ? height : 0;
    if (cut.width > 0) {
        const int turns = ((width + cut.width - 1) / cut.width + members - 1) / members;
        cut.width = ((width + turns * members - 1) / (turns * members) + 3) & ~3;
    }
    cut.across = cut.width > 0 ? (width + cut.width - 1) / cut.width : 0;
    return cut;
}

/* The number of CTAs of an image: one for each tile if the grid has as many (`team`), else `spread`. */
MOT_FN int mot_tile_members(const mot_tile_cut *cut, int team, int spread)
{
    const int64_t tiles = (int64_t)cut->across * cut->down;
    return tiles <= team ? (int)tiles : spread;
}

/* For an image with more tiles than CTAs (`members`): makes tiles lower, so that each CTA has equally many. */
MOT_FN void mot_even_turns(mot_tile_cut *cut, int height, int members)
{
    const int tiles = cut->across * cut->down, turns = (tiles + members - 1) / members;
    const int down = turns * members / cut->across;
    cut->height = (height + down - 1) / down;
    cut->down = (height + cut->height - 1) / cut->height;
}

/* An image as its CTAs see it. */
typedef struct mot_tile_image {
    mot_view src, work, result, scratch;
    int32_t *arrivals; /* counts the CTAs that have arrived at a meeting, in device memory */
    mot_tile_cut cut;
    int32_t width, height, channels;
    int32_t members;      /* CTAs that share the image */
    int32_t pitch;        /* of a tile, words */
    int32_t work_strided; /* work has another format than src, and is read and written byte by byte */
} mot_tile_image;

/* An item of work for a CTA: a member of an image. */
typedef struct mot_tile_pair {
    uint16_t image, member;
} mot_tile_pair;

/* Pairs are listed by cost, and taken from the first list on. */
typedef struct mot_tile_counters {
    unsigned pairs[MOT_TILE_LISTS];
    unsigned taken;             /* so far, besides the first one of each CTA */
    unsigned long long scratch; /* bytes of second places */
} mot_tile_counters;

typedef struct mot_tiles_job {
    mot_cuda_batch src, work,
        output;            /* work: where pixels lie between phases; without an output it is the result's place */
    int32_t first, images; /* images of the batch in this launch */
    int32_t channels, format;
    int32_t windows; /* programs of an image */
    int32_t output_dtype, has_output;
    int32_t work_strided;   /* see mot_tile_image */
    int32_t work_in_output; /* work is output's memory: packed pixels, or the first byte of each component */
    int32_t team, spread;   /* see mot_tile_members */
    int32_t tile_words;     /* see mot_cut_tiles */
    int32_t each;           /* CTAs for each image, if pairs are not listed; or 0 */
    int32_t piece_quads;    /* see mot_cut_pieces */
    int32_t moves;          /* some image may need a second place */
    mot_program *programs;  /* [images][windows] */
    mot_tile_image *image;  /* [images] */
    mot_tile_pair *pairs;   /* [MOT_TILE_LISTS][pairs_most] */
    int64_t pairs_most;
    mot_tile_counters *counters; /* all 0 between launches */
    uint32_t *totals;            /* [images][max_counts][MOT_TOTAL_WORDS] */
    int32_t max_counts;
    int32_t *arrivals;       /* [images] */
    uint32_t *output_values; /* [4][256]: each byte as the output's type */
    uint8_t *scratch;
    float mean[4], std[4]; /* mot_output_numbers of `convention` */
    int32_t convention;    /* motley_normalization */
} mot_tiles_job;

/* Bytes of a second place for an image's pixels, packed in its format. */
MOT_FN mot_view mot_scratch_view(int format, int channels, int width, int height, uint8_t *data)
{
    mot_view v;
    v.data = data;
    v.width = width, v.height = height, v.channels = channels;
    v.pixel = format == MOT_FORMAT_PLANES ? 1 : channels;
    v.row = (v.pixel * width + 15) & ~(int64_t)15;
    v.channel = format == MOT_FORMAT_PLANES ? v.row * height : 1;
    return v;
}

MOT_FN int64_t mot_scratch_bytes(int format, int channels, int width, int height)
{
    const mot_view v = mot_scratch_view(format, channels, width, height, 0);
    return (v.row * height * (format == MOT_FORMAT_PLANES ? channels : 1) + 255) & ~(int64_t)255;
}

/* The kernels, one for each format, to be launched cooperatively with MOT_TILE_THREADS threads. */
const void *mot_tile_kernel_grey(void);
const void *mot_tile_kernel_rgb(void);
const void *mot_tile_kernel_planes(void);
const void *mot_tile_kernel_rgba(void);
const void *mot_tile_kernel_strided(void);
int mot_tile_kernel_bytes(void); /* of dynamic shared memory */

#ifdef __cplusplus
}
#endif
#endif
