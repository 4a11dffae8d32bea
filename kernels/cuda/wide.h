/* SPDX-License-Identifier: Apache-2.0 */
/* Images of U16 and F32 on the GPU: the request, and the calls that launch it. Plain C on both sides.
 *
 * What is done to an image is a list of items, which a kernel makes of its place and its steps, cut into passes. A pass
 * reads an image once and writes it once. Its first item may look at other pixels, the others change components one by
 * one or move them: where a component of the result comes from is followed back, and then it goes through the items.
 * One item of a pass may need statistics, which are counted before it. Batches have the same launches whatever their
 * images draw: an image with fewer passes has its last ones. */
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
    MOT_WIDE_SOURCES, /* those from here on begin a pass, since they look at other pixels: */
    MOT_WIDE_SUMS = MOT_WIDE_SOURCES, /* STENCIL, FILTER */
    MOT_WIDE_BETWEEN,                 /* a warp that interpolates */
    MOT_WIDE_BOXES,                   /* one pass of a BLUR */
    MOT_WIDE_KERNELS,                 /* a kernel blur */
    MOT_WIDE_RESIZES                  /* one pass of a resize */
} mot_wide_kind;

#define MOT_WIDE_BOX_PASSES 6 /* of a BLUR: three along each row, then along each column */

/* One axis of a resize: the weights of its components, [taps][out], and where each one's window begins. */
typedef struct mot_wide_axis {
    int32_t taps, out;
    int32_t left, top;     /* the first pixel that is read */
    int32_t width, height; /* of what is read */
    double *weight;
    int32_t *first, *count;
} mot_wide_axis;

typedef struct mot_wide_item {
    int32_t kind;
    int32_t down; /* BOXES, RESIZES: along columns */
    int32_t ends; /* BOXES: the last pass */
    mot_step step;
    union {
        mot_trace_step trace; /* MOVES */
        mot_warp_plan plan;   /* BETWEEN */
        mot_taps taps;        /* SUMS */
        mot_wide_axis axis;   /* RESIZES */
    };
} mot_wide_item;

enum { MOT_WIDE_SRC = 2, MOT_WIDE_DST = 3 }; /* beside 0 and 1, the spare images */

typedef struct mot_wide_pass {
    int32_t first, end; /* its items; first < 0: the image has no such pass */
    int32_t counted;    /* the one that needs statistics; -1: none does */
    int32_t moves;      /* some move components */
    int32_t from, to;   /* MOT_WIDE_SRC, MOT_WIDE_DST, or a spare image */
    int32_t from_width, from_height, width, height;
    uint32_t task[2], tasks[2]; /* its first task, and how many it has: to count, to run */
} mot_wide_pass;

/* What is counted of a band; 0 means nothing. Of floats, a number that is the larger the higher, or the lower, they
 * are. */
typedef struct mot_wide_total {
    uint64_t sum;
    uint32_t count, lowest, highest, unused;
    uint32_t histogram[256];
} mot_wide_total;

typedef struct mot_wide_call {
    mot_cuda_batch src, dst;
    int32_t count, channels, src_dtype, dst_dtype;
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
    mot_wide_item *items; /* [count][most_items] */
    mot_wide_pass *pass;  /* [count][passes] */
    int32_t most_items, passes;
    uint8_t *tables; /* of resizes: [count][table_bytes] */
    int64_t table_bytes;
    float *spare[2]; /* [count][spare_floats] */
    int64_t spare_floats;
    mot_wide_total *totals; /* [count][channels], all 0 between counts; NULL: nothing is counted */
    mot_wide_stats *stats;  /* [count][channels] */
    int32_t *tickets;       /* [count]: tasks that have counted; 0 between counts */
    /* CTAs take tasks: blocks of a pass's pixels, in some bands. */
    uint32_t *tasks;    /* [passes][2]: how many there are, to count and to run; 0 before the plans */
    int32_t *list;      /* [passes][2][count * most_tasks]: the image of each */
    int64_t most_tasks; /* of an image */
    /* The launch: */
    int32_t now;      /* which pass */
    int32_t together; /* bands that a CTA works on at the same pixels */
    int64_t pixels;   /* of the largest image that a pass writes */
    int32_t multiprocessors;
} mot_wide_call;

#define MOT_WIDE_THREADS 256
#define MOT_WIDE_TURNS 8 /* times that a thread counts before its CTA adds up */

/* How many neighbours a thread makes at a time. */
MOT_FN int mot_wide_neighbours(const mot_wide_pass *pass, const mot_wide_item *source)
{
    return !source || (!pass->moves && (source->kind == MOT_WIDE_SUMS || source->kind == MOT_WIDE_BOXES)) ? 4 : 1;
}

/* Chooses `together` and `most_tasks`, by the sizes and numbers of images and bands. */
MOT_FN void mot_wide_cut(mot_wide_call *call)
{
    const int64_t blocks = (call->pixels + MOT_WIDE_THREADS - 1) / MOT_WIDE_THREADS,
                  shares = (blocks + MOT_WIDE_TURNS - 1) / MOT_WIDE_TURNS, enough = 8 * (int64_t)call->multiprocessors;
    call->together = call->channels;
    while (call->together > 4 && blocks / 4 * call->count * (call->channels / call->together) < enough)
        call->together = ((call->together + 1) / 2 + 3) / 4 * 4;
    const int64_t runs = blocks * ((call->channels + call->together - 1) / call->together);
    call->most_tasks = runs > shares * call->channels ? runs : shares * call->channels;
}

/* Bytes of an image's tables, for so many taps of each component. */
MOT_FN int64_t mot_wide_table_bytes(int columns, int column_taps, int rows, int row_taps)
{
    const int64_t weights = (int64_t)columns * column_taps + (int64_t)rows * row_taps;
    return (weights * 8 + ((int64_t)columns + rows) * 8 + 255) & ~(int64_t)255;
}

/* Makes the items, the passes and the lists of tasks; counts for pass `now`; runs it. */
cudaError_t mot_wide_plan_launch(const mot_wide_call *call, cudaStream_t stream);
cudaError_t mot_wide_count_launch(const mot_wide_call *call, cudaStream_t stream);
cudaError_t mot_wide_run_launch(const mot_wide_call *call, cudaStream_t stream);

/* Converts images from src to dst, and normalises them; of a call that was cut. */
cudaError_t mot_wide_convert_launch(const mot_wide_call *call, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
