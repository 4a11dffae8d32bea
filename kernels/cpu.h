/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's kernels: one call does one step on one image. They allocate nothing and start no thread. */
#ifndef MOT_CPU_H
#define MOT_CPU_H

#include "augmentations/step.h"
#include "kernels/view.h"
#include "motley/op.h"

/* src and dst have the same size. Unless the row says `in_place`, they do not overlap; with it they may be the same
 * view. `scratch` is mot_cpu_scratch_bytes of the image. */
typedef void mot_cpu_kernel(const mot_view *src, const mot_view *dst, const mot_step *step, void *scratch);

typedef enum mot_layouts {
    MOT_LAYOUT_ANY = 0,    /* any strides */
    MOT_LAYOUT_PACKED = 1, /* channel stride 1, pixel stride = channels: HWC, rows anywhere */
    MOT_LAYOUT_PLANAR = 2  /* pixel stride 1: CHW, rows and planes anywhere */
} mot_layouts;

/* A variant: what it can do, and the function. A table is searched from the top, most special first. */
typedef struct mot_cpu_row {
    motley_shape shape;
    int op;             /* MOT_OP_*, or -1: every op of the shape */
    mot_layouts layout; /* of both src and dst */
    int channels;       /* 0: any */
    int interpolation;  /* -1: any */
    int in_place;
    mot_cpu_kernel *run;
    const char *name;
} mot_cpu_row;

/* The reference: accepts everything, written for reading, never tuned. */
extern const mot_cpu_row mot_reference_rows[];
extern const size_t mot_reference_row_count;

/* The fast rows; what none of them takes goes to the reference. */
extern const mot_cpu_row mot_cpu_rows[];
extern const size_t mot_cpu_row_count;

/* The first row that can do `step` from src to dst. */
const mot_cpu_row *mot_cpu_find(const mot_cpu_row *rows, size_t count, const mot_step *step, const mot_view *src,
                                const mot_view *dst);

/* Scratch that any kernel needs for an image of this size. */
size_t mot_cpu_scratch_bytes(int32_t width, int32_t height, int32_t channels);

#endif
