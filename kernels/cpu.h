/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's kernels: one call does one step on one image. They allocate nothing and start no thread. */
#ifndef MOT_CPU_H
#define MOT_CPU_H

#include "augmentations/step.h"
#include "augmentations/table.h"
#include "kernels/resize.h"
#include "kernels/trace.h"
#include "kernels/view.h"
#include "motley/apply.h"
#include "motley/mix.h"

/* Runs steps[0], and then steps[1] .. steps[count - 1], which are POINT ops; more than one step only for a row that
 * `takes_points`. src and dst have the same size. They do not overlap, except that they may be the same view if the row
 * says `in_place`. `scratch` is mot_cpu_scratch_bytes of the image, aligned to MOT_CPU_ALIGN. */
typedef void mot_cpu_kernel(const mot_view *src, const mot_view *dst, const mot_step *steps, int count, void *scratch);

#define MOT_CPU_ALIGN 64 /* bytes: a cache line, and the widest vector */

typedef enum mot_layouts {
    MOT_LAYOUT_ANY = 0,    /* any strides */
    MOT_LAYOUT_PACKED = 1, /* channel stride 1, pixel stride = channels: HWC, rows anywhere */
    MOT_LAYOUT_PLANAR = 2, /* pixel stride 1: CHW, rows and planes anywhere */
    MOT_LAYOUT_SPACED = 3  /* RGB in four bytes a pixel, as Pillow keeps it, rows anywhere */
} mot_layouts;

/* A row of the kernel table: what a function can do. The table is searched from the top, most special rows first. */
typedef struct mot_cpu_row {
    motley_shape shape;
    mot_form form;      /* only ops of this form; MOT_FORM_ANY: every op of the shape */
    mot_layouts layout; /* of both src and dst */
    int channels;       /* 0: any */
    int interpolation;  /* -1: any */
    int in_place;
    int takes_points;
    int cost; /* picoseconds per pixel, as in mot_op_facts; 0: that of the op */
    mot_cpu_kernel *run;
    const char *name;
} mot_cpu_row;

/* Resizes src into dst, which do not overlap and may have any strides. `scratch` has the size that the set's
 * resize_scratch returns, aligned to MOT_CPU_ALIGN. */
typedef void mot_cpu_resize(const mot_view *src, const mot_view *dst, const mot_resize *how, void *scratch);
typedef size_t mot_cpu_resize_scratch(int32_t width, int32_t height, int32_t out_width, int32_t out_height,
                                      int32_t channels);

/* Runs a step that mixes (MOTLEY_STEP_MIX_*) on dense images of `bytes` and a sum of as many floats. None overlap. */
typedef void mot_cpu_augmix(int op, float weight, const uint8_t *chain, float *sum, uint8_t *result, size_t bytes);

/* Turns the hue of every pixel (augmentations/hue.h), in place; grey images do not change. */
typedef void mot_cpu_hue(const mot_view *image, uint8_t value);

/* Puts the first three channels in another order (augmentations/permute.h), in place; grey images do not change. */
typedef void mot_cpu_permute(const mot_view *image, int order);

/* torchvision's blur with `size` weights each way; half: from the middle outward. src and dst do not overlap, and are
 * larger than size / 2 each way. `scratch` is mot_cpu_kernel_blur_scratch, aligned to MOT_CPU_ALIGN. */
typedef void mot_cpu_kernel_blur(const mot_view *src, const mot_view *dst, const float *half, int size, void *scratch);
size_t mot_cpu_kernel_blur_row(int32_t width, int32_t channels); /* floats */
size_t mot_cpu_kernel_blur_scratch(int32_t width, int32_t channels, int size);

/* Moves planes by the trace of their image. `tables` has mot_cpu_trace_tables numbers. */
typedef void mot_cpu_trace(const mot_planes *planes, const mot_trace_step *steps, int count, int32_t *tables);
size_t mot_cpu_trace_tables(const mot_trace_step *steps, int count);

/* The optional last step: writes src, of bytes, to dst, whose type is not U8 and which is aligned to it. */
struct mot_output_channel;
typedef void mot_cpu_output(const mot_view *src, const mot_view *dst, motley_dtype dtype,
                            const struct mot_output_channel *channels);

/* Runs steps on bands of an image of U16 or F32. `scratch` is mot_cpu_wide_scratch, aligned to MOT_CPU_ALIGN. */
struct mot_wide;
typedef void mot_cpu_wide(const struct mot_wide *wide, void *scratch);
size_t mot_cpu_wide_scratch(int32_t width, int32_t height, int32_t channels);

/* Resizes bands of such an image as Pillow's modes F and I, the latter of U16, clamped. src is the picture, and dst, of
 * binary32, all that it is resized to: windows, mirrors and fill do not count. `scratch` is mot_cpu_wide_scratch of the
 * larger sides. */
typedef void mot_cpu_wide_resize(const mot_view *src, motley_dtype dtype, const mot_view *dst, const mot_resize *how,
                                 void *scratch);

/* The weights of component i of an axis, not rounded to whole numbers; returns how many there are. */
int mot_wide_weights(const mot_resize_axis *axis, int i, int *first, double *weight);

/* Copies the window of src that begins at (left, top) to dst, which is of its type; what is outside src becomes the
 * fill of `wide` and of the step. */
void mot_wide_window(const struct mot_wide *wide, const mot_step *fill, const mot_view *src, int32_t left, int32_t top,
                     const mot_view *dst);

/* Component c of pixel (x, y), and its bits in the type of a result. */
float mot_wide_get(const mot_view *view, int dtype, int x, int y, int c);
void mot_wide_put(const mot_view *view, int dtype, int x, int y, int c, float v);

/* The kernels of one instruction set. The reference runs what its rows do not take. */
typedef struct mot_cpu_rows {
    const char *name;
    void (*copy)(const mot_view *src, const mot_view *dst); /* as mot_cpu_copy */
    const mot_cpu_row *rows;
    size_t count;
    mot_cpu_resize *resize;
    mot_cpu_resize_scratch *resize_scratch;
    mot_cpu_augmix *mix;
    mot_cpu_kernel_blur *kernel_blur;
    mot_cpu_hue *hue;
    mot_cpu_permute *permute;
    mot_cpu_trace *trace;
    mot_cpu_output *output;
    mot_cpu_wide *wide;
    mot_cpu_wide_resize *wide_resize;
} mot_cpu_rows;

/* The reference: accepts everything, written for reading, never tuned. */
extern const mot_cpu_rows mot_rows_reference;
mot_cpu_resize mot_resize_reference;
mot_cpu_resize_scratch mot_resize_reference_scratch;
mot_cpu_wide mot_wide_reference;
mot_cpu_wide_resize mot_wide_resize_reference;

/* The sets that this processor can run, best first; the reference is the last. Returns how many there are. */
#define MOT_CPU_SETS 5
size_t mot_cpu_sets(const mot_cpu_rows *sets[MOT_CPU_SETS]);

/* The first row that can do `step` from src to dst. */
const mot_cpu_row *mot_cpu_find(const mot_cpu_rows *set, const mot_step *step, const mot_view *src,
                                const mot_view *dst);

/* The cost of a step that `row` runs, in picoseconds per pixel. */
int mot_cpu_cost(const mot_cpu_row *row, const mot_step *step);

/* Whether a view has the strides that a layout names. */
int mot_cpu_has_layout(const mot_view *view, mot_layouts layout);

/* Copies pixels, whatever the strides. The views do not overlap. */
void mot_cpu_copy(const mot_view *src, const mot_view *dst);

struct mot_output_as;

/* What an output makes of each byte of a channel, as bits of its type; and [channels] of what the last step reads. */
void mot_cpu_make_output(const struct mot_output_as *as, int32_t channels, uint32_t (*table)[256]);
void mot_cpu_make_channels(const struct mot_output_as *as, int32_t channels, struct mot_output_channel *made);
mot_cpu_output mot_cpu_write_output;

/* Writes `width` pixels of a type's bits: pixel i's channels are bits[i * bits_step ...]. */
void mot_cpu_fill_row(const mot_view *dst, motley_dtype dtype, int32_t x, int32_t y, int32_t width,
                      const uint32_t *bits, int32_t bits_step);

/* Row y of channel c as binary32, and its mixture with the partner's, which is written as the type. cut: the row where
 * instances are pasted. */
void mot_cpu_mix_read(const mot_view *src, motley_dtype dtype, int c, int32_t y, float *row);
/* Components first..end - 1 of a row of channel c, from the columns that `columns` says, moved by `shift`. */
void mot_cpu_mix_gather(const mot_view *src, motley_dtype dtype, int c, int32_t y, const int32_t *columns,
                        int32_t shift, int32_t first, int32_t end, float *row);
/* Blends components first..end - 1 of a row with another: of weight `lambda` and 1 - lambda, rounded to the type. */
void mot_cpu_mix_blend(float *row, const float *other, int32_t first, int32_t end, double lambda, motley_dtype dtype);
void mot_cpu_mix_write(const motley_mixed *mixed, const float *own, const float *other, const uint8_t *cut,
                       const mot_view *dst, motley_dtype dtype, int c, int32_t y);

/* Where instances are pasted into row y, not 0 there: the union of some of an image's planes, grown. row: [width]. */
void mot_cpu_mix_cut(const uint8_t *planes, const motley_paste *pastes, int32_t count, int32_t width, int32_t height,
                     int32_t grow, int32_t y, uint8_t *row, uint8_t *cut);
/* A mask without the pixels where `cut` (NULL: all stay) is not 0. */
motley_extent mot_cpu_mix_mask(const uint8_t *mask, const uint8_t *cut, int32_t width, int32_t height, uint8_t *out);

/* The most scratch that any kernel needs for an image of this size. */
size_t mot_cpu_scratch_bytes(int32_t width, int32_t height, int32_t channels);

#endif
