/* SPDX-License-Identifier: Apache-2.0 */
/* Both passes of a resize of images of U16 or F32. */
#ifndef MOT_WIDE_RESIZE_CPU_H
#define MOT_WIDE_RESIZE_CPU_H

#include "kernels/wide_runs_cpu.h"

#define BESIDE 8 /* rows whose sums are made beside each other; a sum itself has an order */

#define PARTS (2 * BESIDE / LANES) /* vectors of their sums */

typedef double sums __attribute__((vector_size(4 * LANES)));
typedef float half_lanes __attribute__((vector_size(2 * LANES)));

/* An axis of a resize: where the window of each component begins, and its weights. */
typedef struct windows {
    mot_resize_axis axis;
    int taps;
    int32_t *first, *count; /* [axis.out] */
    double *weight;         /* [axis.out][taps] */
} windows;

static windows windows_of(const mot_resize *how, int down, int in, int out, double **memory)
{
    windows w = { .axis = mot_resize_axis_of((motley_filter)how->filter, in, how->box[down], how->box[down + 2], out) };
    w.taps = mot_resize_taps(&w.axis);
    w.weight = *memory;
    w.first = (int32_t *)(void *)(w.weight + (size_t)out * (size_t)w.taps);
    w.count = w.first + out;
    *memory = w.weight + (size_t)out * (size_t)w.taps + out;
    for (int i = 0; i < out; i++)
        w.count[i] = mot_wide_weights(&w.axis, i, &w.first[i], w.weight + (size_t)i * (size_t)w.taps);
    return w;
}

/* Rows y.. beside each other: component x of row y + k at block[x][k]. */
static void load_beside(const image *from, int y, int rows, float *restrict block)
{
    for (int x = 0; x < from->view.width; x += RUN) {
        const int n = from->view.width - x < RUN ? from->view.width - x : RUN;
        float run[BESIDE][RUN];
        for (int k = 0; k < rows; k++)
            load(from, x, y + k, 0, run[k], n);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < BESIDE; k++)
                block[(x + i) * BESIDE + k] = run[k < rows ? k : 0][i];
    }
}

INLINE void resize_rows_as(const image *from, const image *to, const windows *w, int whole, float *restrict block)
{
    const int most = RUN / BESIDE; /* columns that are made before they are stored */
    for (int y = 0; y < from->view.height; y += BESIDE) {
        const int rows = from->view.height - y < BESIDE ? from->view.height - y : BESIDE;
        load_beside(from, y, rows, block);
        for (int x = 0; x < w->axis.out; x += most) {
            const int n = w->axis.out - x < most ? w->axis.out - x : most;
            double sum[RUN];
            float made[RUN], run[RUN / BESIDE];
            for (int i = 0; i < n; i++) {
                const double *const weight = w->weight + (size_t)(x + i) * (size_t)w->taps;
                const float *const in = block + (size_t)w->first[x + i] * BESIDE;
                sums all[PARTS] = { 0 };
                for (int t = 0; t < w->count[x + i]; t++)
                    for (int p = 0; p < PARTS; p++) {
                        half_lanes v;
                        memcpy(&v, in + t * BESIDE + p * (LANES / 2), sizeof v);
                        all[p] += __builtin_convertvector(v, sums) * weight[t];
                    }
                memcpy(sum + i * BESIDE, all, sizeof all);
            }
            for (int i = 0; i < n * BESIDE; i++)
                made[i] = mot_wide_resized(sum[i], whole);
            for (int k = 0; k < rows; k++) {
                for (int i = 0; i < n; i++)
                    run[i] = made[i * BESIDE + k];
                store(to, x, y + k, 0, run, n);
            }
        }
    }
}

static void resize_rows(const image *from, const image *to, const windows *w, int whole, float *block)
{
    if (whole)
        resize_rows_as(from, to, w, 1, block);
    else
        resize_rows_as(from, to, w, 0, block);
}

/* Components x0.. of row y: in place, or in `run`. */
static const float *loaded(const image *from, int x0, int y, float *run, int n)
{
    const float *const at = floats_at(from, x0, y, 0);
    if (!at)
        load(from, x0, y, 0, run, n);
    return at ? at : run;
}

INLINE void resize_columns_as(const image *from, const image *to, const windows *w, int whole)
{
    for (int i = 0; i < w->axis.out; i++)
        for (int x = 0; x < from->view.width; x += RUN) {
            const int n = from->view.width - x < RUN ? from->view.width - x : RUN;
            double sum[RUN];
            float run[RUN];
            memset(sum, 0, (size_t)n * sizeof *sum);
            for (int t = 0; t < w->count[i]; t++) {
                const double weight = w->weight[(size_t)i * (size_t)w->taps + (size_t)t];
                const float *const in = loaded(from, x, w->first[i] + t, run, n);
                for (int k = 0; k < n; k++)
                    sum[k] += (double)in[k] * weight;
            }
            for (int k = 0; k < n; k++)
                run[k] = mot_wide_resized(sum[k], whole);
            store(to, x, i, 0, run, n);
        }
}

static void resize_columns(const image *from, const image *to, const windows *w, int whole)
{
    if (whole)
        resize_columns_as(from, to, w, 1);
    else
        resize_columns_as(from, to, w, 0);
}

#endif
