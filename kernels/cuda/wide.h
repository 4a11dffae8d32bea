/* SPDX-License-Identifier: Apache-2.0 */
/* Images of U16 and F32 on the GPU: the request, and the calls that launch it. Plain C on both sides.
 *
 * What is done to an image is a list of items, which a kernel makes of its place and its steps, cut into passes. A pass
 * reads an image once and writes it once. Its first item may look at other pixels, and then the others change
 * components one by one. Else they may move them, too, and one may need statistics, which are counted before the pass:
 * where a component of the result comes from is followed back, and then it goes through the items. Batches have the
 * same launches whatever their images draw: an image with fewer passes has its last ones. */
#ifndef MOT_CUDA_WIDE_H
#define MOT_CUDA_WIDE_H

#include "kernels/cuda/job.h"
#include "kernels/resize.h"
#include "kernels/trace.h"
#include "kernels/wide.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mot_wide_kind {
    MOT_WIDE_POINTS,  /* changes each component by itself, ... */
    MOT_WIDE_COLORS,  /* ... with the luma of its pixel, ... */
    MOT_WIDE_COUNTS,  /* ... with statistics */
    MOT_WIDE_MOVES,   /* whole components, or fills them: nearest warps, erased rectangles, crops, windows, mirrors */
    MOT_WIDE_SOURCES, /* those from here on are passes of their own, since they look at other pixels: */
    MOT_WIDE_SUMS = MOT_WIDE_SOURCES, /* STENCIL, FILTER */
    MOT_WIDE_BETWEEN,                 /* a warp that interpolates */
    MOT_WIDE_BOXES,                   /* one pass of a BLUR */
    MOT_WIDE_KERNELS,                 /* a kernel blur */
    MOT_WIDE_RESIZES                  /* both axes of a resize, with window and mirrors */
} mot_wide_kind;

#define MOT_WIDE_BOX_PASSES 6 /* of a BLUR: three along each row, then along each column */

/* One axis of a resize: the weights of each component of the result, [taps][out], and where its window in the picture
 * begins. count < 0: it is outside of what the picture is resized to. */
typedef struct mot_wide_axis {
    double *weight;
    int32_t *first, *count;
    int64_t out;
} mot_wide_axis;

typedef struct mot_wide_scale {
    mot_wide_axis axis[2]; /* columns, rows */
    int32_t left, top;     /* where the picture begins */
    int32_t inside;        /* all of the picture is in the image */
} mot_wide_scale;

typedef struct mot_wide_item {
    int32_t kind;
    int32_t down; /* BOXES: along columns; RESIZES: so is the first axis */
    int32_t ends; /* BOXES: the last pass */
    mot_step step;
    union {
        mot_trace_step trace; /* MOVES */
        mot_warp_plan plan;   /* BETWEEN */
        mot_taps taps;        /* SUMS */
        mot_wide_scale scale; /* RESIZES */
    };
} mot_wide_item;

/* What a pass launches: it counts, and then works on images that look at no other pixels, that do, and are resized. */
enum { MOT_WIDE_COUNT, MOT_WIDE_RUN, MOT_WIDE_LOOK, MOT_WIDE_RESIZE, MOT_WIDE_LAUNCHES };

enum { MOT_WIDE_SRC = 2, MOT_WIDE_DST = 3 }; /* beside 0 and 1, the spare images */

typedef struct mot_wide_pass {
    int32_t first, end; /* its items; first < 0: the image has no such pass */
    int32_t counted;    /* the one that needs statistics; -1: none does */
    int32_t moves;      /* some move components */
    int32_t looks;      /* the kind of the first item if that looks at other pixels; else 0 */
    int32_t from, to;   /* MOT_WIDE_SRC, MOT_WIDE_DST, or a spare image */
    int32_t from_width, from_height, width, height;
    int32_t floats[2]; /* of images of U16: what it reads and writes, inside of a blur, is F32 */
    uint32_t task[MOT_WIDE_LAUNCHES], tasks[MOT_WIDE_LAUNCHES]; /* its first task, and how many it has */
} mot_wide_pass;

/* What is counted of a band; 0 means nothing. Of floats, a number that is the larger the higher, or the lower, they
 * are. */
typedef struct mot_wide_total {
    uint64_t sum;
    uint32_t count, lowest, highest, unused;
    uint32_t histogram[256];
} mot_wide_total;

typedef struct mot_wide_call {
    mot_cuda_batch src, dst, output;
    int32_t count, channels, src_dtype, dst_dtype, output_dtype;
    int32_t beside;                 /* the last pass writes to both, dst and output, and only output is normalised */
    const mot_range *range;         /* [channels] */
    const float *fill, *mean, *std; /* [channels] as in mot_wide; NULL: as there */
    /* The plan: */
    const mot_step *steps;      /* [count][max_steps] */
    const int32_t *step_count;  /* [count]; NULL: max_steps */
    int32_t max_steps, given;   /* given: kernel blurs have their weights */
    const motley_place *places; /* [count], drawn; or NULL, and perhaps: */
    const mot_resize *resizes;  /* [count] */
    int32_t order;              /* of the passes: motley_resize_order */
    uint8_t place_fill[4];      /* what places read outside */
    int32_t in_place;
    int32_t by_pixel[2];            /* bands of src and of dst lie pixel by pixel, and are many */
    int32_t may[MOT_WIDE_LAUNCHES]; /* which launches some pass may need */
    mot_wide_item *items;           /* [count][most_items] */
    mot_wide_pass *pass;            /* [count][passes] */
    int32_t most_items, passes;
    uint8_t *tables; /* of resizes: [count][table_bytes] */
    int64_t table_bytes;
    float *spare[2]; /* [count][spare_floats], of the images' type */
    int64_t spare_floats;
    mot_wide_total *totals; /* [count][channels], all 0 between counts; NULL: nothing is counted */
    mot_wide_stats *stats;  /* [count][channels] */
    int32_t *tickets;       /* [count]: tasks that have counted; 0 between counts */
    /* CTAs take tasks: blocks of a pass's pixels, in some bands. */
    uint32_t *tasks;    /* [passes][MOT_WIDE_LAUNCHES][2]: how many there are, and were taken; 0 before the plans */
    int32_t *list;      /* [passes][MOT_WIDE_LAUNCHES][count * most_tasks]: the image of each */
    int64_t most_tasks; /* of an image */
    /* The launch: */
    int32_t now;                   /* which pass */
    int32_t together;              /* bands that a CTA works on at the same pixels */
    int64_t blocks, shared_blocks; /* of pixels, of the largest image; of 32 x 8, where warps have a band each */
    int32_t multiprocessors;
} mot_wide_call;

#define MOT_WIDE_THREADS 256
#define MOT_WIDE_ENOUGH 18      /* tasks of a multiprocessor, for which bands are divided among them */
#define MOT_WIDE_TILE 32        /* columns of a block, where pixels are not quads */
#define MOT_WIDE_SIDE_BY_SIDE 8 /* bands that lie pixel by pixel, made together: one by each warp of a CTA, ... */
#define MOT_WIDE_MANY 5         /* ... where there are so many */
#define MOT_WIDE_BESIDE 3       /* bands that are resized together */

/* Whether threads have quads of neighbours. */
MOT_FN int mot_wide_quads(const mot_wide_pass *pass)
{
    return pass->looks ? pass->looks == MOT_WIDE_SUMS || pass->looks == MOT_WIDE_BOXES : !pass->moves;
}

/* In which launch a pass is run. */
MOT_FN int mot_wide_launch_of(const mot_wide_pass *pass)
{
    return pass->looks == MOT_WIDE_RESIZES ? MOT_WIDE_RESIZE : pass->looks ? MOT_WIDE_LOOK : MOT_WIDE_RUN;
}

/* How many pixels a thread has at a time: of one band, of three colours, or, of a resize, of MOT_WIDE_BESIDE bands. */
MOT_FN int mot_wide_pixels(int channels, int looks)
{
    return looks == MOT_WIDE_RESIZES || (channels == 3 && !looks) ? 4 : 8;
}

/* Whether warps have a band each, of 32 x 8 pixels. */
MOT_FN int mot_wide_by_band(const mot_wide_call *call, const mot_wide_pass *pass)
{
    return !pass->looks &&
           ((call->by_pixel[0] && pass->from == MOT_WIDE_SRC) || (call->by_pixel[1] && pass->to == MOT_WIDE_DST));
}

/* Blocks of pixels of an image, each of which a CTA makes at a time. */
MOT_FN int64_t mot_wide_blocks(int pixels, int width, int height, int quads)
{
    const int64_t all = ((int64_t)width + 3) / 4 * height, each = MOT_WIDE_THREADS * pixels / 4;
    return quads ? (all + each - 1) / each
                 : ((int64_t)width + MOT_WIDE_TILE - 1) / MOT_WIDE_TILE *
                       (((int64_t)height + 8 * pixels - 1) / (8 * pixels));
}

/* A task to count is some blocks of one band, or of three colours. */
MOT_FN int64_t mot_wide_counted_blocks(int channels)
{
    return 32 / mot_wide_pixels(channels, 0);
}

MOT_FN int64_t mot_wide_count_tasks(int channels, int64_t blocks)
{
    const int64_t each = mot_wide_counted_blocks(channels);
    return (blocks + each - 1) / each * (channels == 3 ? 1 : channels);
}

/* Chooses `together` and `most_tasks`, by the sizes and numbers of images and bands. */
MOT_FN void mot_wide_cut(mot_wide_call *call)
{
    const int64_t counts = mot_wide_count_tasks(call->channels, call->blocks),
                  enough = MOT_WIDE_ENOUGH * (int64_t)call->multiprocessors;
    int64_t groups = 1;
    while (call->channels != 3 && groups < call->channels && call->blocks * call->count * groups < enough)
        groups++;
    call->together = (int32_t)((call->channels + groups - 1) / groups);
    const int64_t runs = call->blocks * ((call->channels + call->together - 1) / call->together);
    call->most_tasks = runs > counts ? runs : counts;
    call->most_tasks = call->most_tasks > call->shared_blocks ? call->most_tasks : call->shared_blocks;
}

/* Bytes of an image's tables, for so many taps of each component of the result. */
MOT_FN int64_t mot_wide_table_bytes(int columns, int column_taps, int rows, int row_taps)
{
    const int64_t weights = (int64_t)columns * column_taps + (int64_t)rows * row_taps;
    return (weights * 8 + ((int64_t)columns + rows) * 8 + 255) & ~(int64_t)255;
}

/* Makes the items, the passes and the lists of tasks; counts for pass `now`; runs it, in up to three launches. */
cudaError_t mot_wide_plan_launch(const mot_wide_call *call, cudaStream_t stream);
cudaError_t mot_wide_count_launch(const mot_wide_call *call, cudaStream_t stream);
cudaError_t mot_wide_run_launch(const mot_wide_call *call, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
