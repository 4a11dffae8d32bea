/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a whole axis, in the arithmetic of kernels/resize.h: its loops run over the outputs, so that the
 * compiler makes several windows at once. Compiled once per instruction set, by set_cpu.c. */
#ifndef MOT_RESIZE_AXIS_CPU_H
#define MOT_RESIZE_AXIS_CPU_H

#include "kernels/lanes_cpu.h"
#include "kernels/resize.h"

#define RESIZE_WINDOWS 64 /* that are made at a time */
#define RESIZE_GROUP 4    /* taps come in whole groups, filled up with weights of 0 */

/* The outputs of an axis that are made, and what they read. */
typedef struct resize_span {
    int begin, end;  /* of the resized axis */
    int from, until; /* of the picture */
} resize_span;

typedef struct resize_axis {
    int out;         /* how many outputs are made */
    int taps;        /* of the longest window, rounded up to whole groups */
    size_t outs;     /* from one tap's weights to the next's */
    int32_t *first;  /* [out]: where the window begins, counted from the span's */
    int32_t *count;  /* [out]: its taps */
    int32_t *weight; /* [taps][outs] */
} resize_axis;

static inline size_t resize_round_up(size_t bytes)
{
    return (bytes + MOT_CPU_ALIGN - 1) / MOT_CPU_ALIGN * MOT_CPU_ALIGN;
}

static inline uint8_t *resize_take(uint8_t **memory, size_t bytes)
{
    uint8_t *taken = *memory;
    *memory += resize_round_up(bytes);
    return taken;
}

/* The most taps of an axis, with any filter, in whole groups. */
static inline size_t resize_most_taps(int in, int out)
{
    const double stretch = in > out ? (double)in / out : 1;
    const size_t taps = (size_t)ceil(3 * stretch) * 2 + 1;
    return ((taps < (size_t)in ? taps : (size_t)in) + RESIZE_GROUP - 1) / RESIZE_GROUP * RESIZE_GROUP;
}

static inline size_t resize_outs(int out)
{
    return ((size_t)out + RESIZE_WINDOWS - 1) / RESIZE_WINDOWS * RESIZE_WINDOWS;
}

/* The weights of windows from .. from + n - 1, n <= RESIZE_WINDOWS, with these centres; exact: scratch. */
static inline __attribute__((always_inline)) void resize_windows(const mot_resize_axis *given, motley_filter filter,
                                                                 size_t from, size_t n, const resize_axis *made,
                                                                 const double *centre, double (*exact)[RESIZE_WINDOWS])
{
    const mot_resize_axis axis = { filter,       given->in,      given->out,    given->start,
                                   given->scale, given->support, given->inverse };
    double first[RESIZE_WINDOWS], count[RESIZE_WINDOWS], sum[RESIZE_WINDOWS] = { 0 };
    for (size_t i = 0; i < n; i++) {
        first[i] = made->first[from + i];
        count[i] = made->count[from + i];
    }
    for (int t = 0; t < made->taps; t++) {
        MOT_LANES
        for (size_t i = 0; i < n; i++) {
            const double tap = mot_resize_filter(filter, mot_resize_place(&axis, centre[from + i], t + first[i]));
            exact[t][i] = t < count[i] ? tap : 0;
            sum[i] += exact[t][i];
        }
    }
    for (int t = 0; t < made->taps; t++) {
        int32_t *const weight = made->weight + (size_t)t * made->outs + from;
        MOT_LANES
        for (size_t i = 0; i < n; i++)
            weight[i] = mot_resize_whole(exact[t][i] / (sum[i] != 0 ? sum[i] : 1));
    }
}

static resize_axis resize_axis_of(const mot_resize_axis *axis, resize_span span, uint8_t **memory)
{
    const size_t out = (size_t)(span.end - span.begin), outs = resize_outs((int)out);
    const size_t most = ((size_t)mot_resize_taps(axis) + RESIZE_GROUP - 1) / RESIZE_GROUP * RESIZE_GROUP;
    resize_axis made = { .out = (int)out, .outs = outs };
    made.first = (int32_t *)(void *)resize_take(memory, (outs + 16) * sizeof *made.first);
    made.count = (int32_t *)(void *)resize_take(memory, (outs + 16) * sizeof *made.count);
    made.weight = (int32_t *)(void *)*memory;
    double *centre = (double *)(void *)(*memory + most * outs * sizeof *made.weight);
    double(*exact)[RESIZE_WINDOWS] = (double(*)[RESIZE_WINDOWS])(void *)(centre + outs);
    for (size_t i = 0; i < out; i++) {
        int first;
        const int count = mot_resize_window(axis, span.begin + (int)i, &first, &centre[i]);
        made.first[i] = first - span.from;
        centre[i] -= span.from; /* exactly: a whole number that is not larger by much */
        made.count[i] = count;
        made.taps = made.taps > count ? made.taps : count;
    }
    made.taps = (made.taps + RESIZE_GROUP - 1) / RESIZE_GROUP * RESIZE_GROUP;
    resize_take(memory, (size_t)made.taps * outs * sizeof *made.weight);
    for (size_t from = 0; from < out; from += RESIZE_WINDOWS) {
        const size_t n = out - from < RESIZE_WINDOWS ? out - from : RESIZE_WINDOWS;
        switch (axis->filter) { /* constants, for the compiler */
        case MOTLEY_FILTER_BILINEAR:
            resize_windows(axis, MOTLEY_FILTER_BILINEAR, from, n, &made, centre, exact);
            break;
        case MOTLEY_FILTER_BICUBIC:
            resize_windows(axis, MOTLEY_FILTER_BICUBIC, from, n, &made, centre, exact);
            break;
        case MOTLEY_FILTER_BOX:
            resize_windows(axis, MOTLEY_FILTER_BOX, from, n, &made, centre, exact);
            break;
        case MOTLEY_FILTER_LANCZOS:
            resize_windows(axis, MOTLEY_FILTER_LANCZOS, from, n, &made, centre, exact);
            break;
        default:
            resize_windows(axis, MOTLEY_FILTER_HAMMING, from, n, &made, centre, exact);
        }
    }
    return made;
}

/* Bytes that resize_axis_of needs for its result and its work. */
static inline size_t resize_axis_bytes(int in, int out)
{
    const size_t outs = resize_outs(out), taps = resize_most_taps(in, out);
    return 2 * resize_round_up((outs + 16) * sizeof(int32_t)) + taps * outs * sizeof(int32_t) + outs * sizeof(double) +
           taps * RESIZE_WINDOWS * sizeof(double);
}

#endif
