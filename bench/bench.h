/* SPDX-License-Identifier: Apache-2.0 */
/* `motley bench`: measures the library through its public functions, on the CPU and on CUDA. Results are checked, then
 * timed. */
#ifndef BENCH_H
#define BENCH_H

#include "motley.h"

#include <stdio.h>

#define BENCH_MAX_RUNS 1001

typedef struct bench_params {
    const motley_policy *policy; /* what to apply to the batch, or NULL: */
    int op;                      /* one op, or -1: every op of the table, one after the other */
    const double *values;        /* of the op; NULL takes the table's example */
    int values_count;
    motley_interpolation interpolation; /* of an op that is a warp */
    int32_t width, height, channels;    /* 0: 224, 224, 3 */
    size_t batch;                       /* 0: 64 */
    motley_context_params context;      /* where: the CPU, or CUDA */
    motley_layout layout;
    int in_place;
    int runs; /* 0: 15; the median counts */
    uint64_t seed;
    int json; /* one object a line in place of a table */
} bench_params;

/* The result of one measurement. Times are of the whole batch; on CUDA of one of several consecutive batches, each with
 * separate buffers, from the first call to the end of the last. */
typedef struct bench_result {
    const char *name;
    double median_s, low_s, high_s; /* of the runs: the middle one and the quartiles */
    double copy_s;                  /* median of copies of the same bytes, between the same runs: memcpy on one
                                       thread, or the device's */
    double call_s;                  /* CUDA: median of the host's time for a call, which does not wait */
    double images_per_s;
    double gigabytes_per_s; /* read and written */
    double share_of_copy;   /* copy_s / median_s */
} bench_result;

/* Measures and writes a table or JSON to `out`. Fails without timing if a result differs from the reference backend. */
motley_status bench_run(const bench_params *params, FILE *out, motley_error *error);

#endif
