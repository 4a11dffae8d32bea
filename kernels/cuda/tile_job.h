/* SPDX-License-Identifier: Apache-2.0 */
/* The tile kernel's request, how images are cut into tiles, and the calls that launch it. Plain C on both sides.
 *
 * Images of any size, layout and alignment. Each is cut into tiles and worked on by some CTAs, its `ctas`; a task is
 * the part of one of them, which has the number `rank` among them and owns the tiles rank, rank + ctas, ... CTAs of
 * the grid take tasks in order: the first one by their own number, the next one when they are past the last barrier of
 * their image.
 *
 * CTAs wait for the other CTAs of their image, so the grid is launched cooperatively: all its CTAs are resident, and
 * none waits for ever. Proof: take the first image that is not finished. If one of its tasks is not taken, every task
 * taken so far belongs to it or to finished images; an image has at most as many tasks as the grid has CTAs, so some
 * CTA is free to take the next one. If all its tasks are taken, all of them run.
 *
 * Small batches need no lists of tasks: each CTA gets at most one tile, and image i has the CTAs [i * ctas_per_image,
 * (i + 1) * ctas_per_image). */
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

/* Cuts an image into pieces for a light program, which needs no shared memory: whole rows of at most `quads`
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

/* Cuts an image into strips of whole columns instead, the same number for each of `ctas` CTAs; height 0: no CTA can
 * hold a column. A thread reads four columns at a time. */
MOT_FN mot_tile_cut mot_cut_strips(int width, int height, int ctas)
{
    mot_tile_cut cut;
    cut.width = 24;
    while (cut.width > 0 && mot_tile_pitch(cut.width) * height > MOT_TILE_WORDS)
        cut.width -= 4;
    cut.down = 1;
    cut.height = cut.width > 0 ? height : 0;
    if (cut.width > 0) {
        const int turns = ((width + cut.width - 1) / cut.width + ctas - 1) / ctas;
        cut.width = ((width + turns * ctas - 1) / (turns * ctas) + 3) & ~3;
    }
    cut.across = cut.width > 0 ? (width + cut.width - 1) / cut.width : 0;
    return cut;
}

/* The number of CTAs of an image: one for each tile if the grid has as many (`most`), else `of_large`. */
MOT_FN int mot_tile_ctas(const mot_tile_cut *cut, int most, int of_large)
{
    const int64_t tiles = (int64_t)cut->across * cut->down;
    return tiles <= most ? (int)tiles : of_large;
}

/* For an image with more tiles than CTAs (`ctas`): makes tiles lower, so that each CTA has equally many. */
MOT_FN void mot_even_turns(mot_tile_cut *cut, int height, int ctas)
{
    const int tiles = cut->across * cut->down, turns = (tiles + ctas - 1) / ctas;
    const int down = turns * ctas / cut->across;
    cut->height = (height + down - 1) / down;
    cut->down = (height + cut->height - 1) / cut->height;
}

/* An image as its CTAs see it. */
typedef struct mot_tile_image {
    mot_view src, work, result, scratch;
    int32_t *arrivals; /* counts the CTAs that have arrived at the image's barriers, in device memory */
    mot_tile_cut cut;
    int32_t width, height, channels;
    int32_t ctas;         /* that share the image */
    int32_t pitch;        /* of a tile, words */
    int16_t work_strided; /* work has another format than src, and is read and written byte by byte */
    int16_t band;         /* the grey image is this one of a sample's */
} mot_tile_image;

/* A CTA's part of an image. */
typedef struct mot_tile_task {
    uint16_t image, rank;
} mot_tile_task;

/* Tasks are listed by cost, and taken from the first list on. */
typedef struct mot_tile_counters {
    unsigned tasks[MOT_TILE_LISTS];
    unsigned taken;             /* so far, besides the first one of each CTA */
    unsigned long long scratch; /* bytes of scratch copies */
} mot_tile_counters;

typedef struct mot_tiles_job {
    mot_cuda_batch src, work,
        output;            /* work: where pixels lie between phases; without an output it is the result's place */
    int32_t first, images; /* images of the batch in this launch */
    int32_t channels, format;
    int32_t windows; /* programs of an image */
    int32_t has_output;
    int32_t work_strided;   /* see mot_tile_image */
    int32_t work_in_output; /* work is output's memory: packed pixels, or the first byte of each component */
    int32_t max_image_ctas, large_image_ctas; /* of an image: at most; of one with more tiles */
    int32_t tile_words;                       /* see mot_cut_tiles */
    int32_t ctas_per_image;                   /* if tasks are not listed; or 0 */
    int32_t piece_quads;                      /* see mot_cut_pieces */
    int32_t moves;                            /* some image may need a scratch copy */
    mot_program *programs;                    /* [images][windows] */
    mot_tile_image *image;                    /* [images] */
    mot_tile_task *tasks;                     /* [MOT_TILE_LISTS][most_tasks] */
    int64_t most_tasks;
    mot_tile_counters *counters; /* all 0 between launches */
    uint32_t *totals;            /* [images][max_counts][MOT_TOTAL_WORDS] */
    int32_t max_counts;
    int32_t *arrivals; /* [images] */
    uint8_t *scratch;
    mot_cuda_output as; /* `output` */
} mot_tiles_job;

/* A scratch copy of an image, packed in its format: one that is read and written at once needs it. */
MOT_FN mot_view mot_scratch_view(int format, int channels, int width, int height, uint8_t *data)
{
    mot_view v;
    v.data = data;
    v.width = width, v.height = height, v.channels = channels, v.alpha = 0;
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
