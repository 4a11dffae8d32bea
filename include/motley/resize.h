/* SPDX-License-Identifier: Apache-2.0 */
/** Crop, resize and flip: Pillow's Image.crop, Image.resize and ImageOps.mirror in one call, bit for bit. */
#ifndef MOTLEY_RESIZE_H
#define MOTLEY_RESIZE_H

#include "motley/context.h"
#include "motley/image.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Antialiased filters, with the names of Pillow's Image.Resampling. */
typedef enum motley_filter {
    MOTLEY_FILTER_BILINEAR = 0,
    MOTLEY_FILTER_BICUBIC = 1, /* a = -0.5 */
    MOTLEY_FILTER_LANCZOS = 2,
    MOTLEY_FILTER_NEAREST = 3,
    MOTLEY_FILTER_BOX = 4,
    MOTLEY_FILTER_HAMMING = 5
} motley_filter;

/** Which pass runs first. Results are rounded to bytes between the passes, so the order affects the last bit. */
typedef enum motley_resize_order {
    MOTLEY_ORDER_PILLOW_13 = 0,  /* Pillow 13 and later: depends on the sizes; vertical first if that saves more */
    MOTLEY_ORDER_PILLOW_12 = 1,  /* Pillow up to 12.1: always horizontal first */
    MOTLEY_ORDER_PILLOW_12_2 = 2 /* Pillow 12.2 and 12.3: vertical first if an image over 100 times as high as wide
                                    becomes less high, else horizontal first */
} motley_resize_order;

/** A rectangle of whole pixels inside an image. */
typedef struct motley_crop {
    int32_t left, top;     /* pixels, 0 or more */
    int32_t width, height; /* pixels, 1 or more; both 0: the whole image */
} motley_crop;

typedef struct motley_resize_params {
    size_t struct_size; /* 0 or sizeof; see motley.h */
    motley_filter filter;
    motley_resize_order order;
    const motley_crop *crops; /* [count], host: image i is first cropped to crops[i]; NULL: no crops. Filters do not
                                 reach past a crop's edge, as in torchvision and timm */
    const double (*boxes)[4]; /* [count], host: left, top, right, bottom of the region to resize, in pixels of the
                                 cropped image, fractions allowed: Pillow's `box`; filters reach past it. NULL: the
                                 whole cropped image */
    const uint8_t *flips;     /* [count], host: != 0 mirrors the result left to right; NULL: no flips */
    void *stream;             /* cudaStream_t; NULL: the default stream. NULL on a CPU context */
} motley_resize_params;

/** Crops, resizes and mirrors every image of a batch: image.crop(...).resize(size, filter, box), then ImageOps.mirror.
 *
 *  Shapes   src: n images, U8, or on a CPU context U16 or F32, any sizes and strides. dst: n images, of the same type
 *           and as many channels; its sizes are those of the results. Images with alpha are resized premultiplied, as
 *           Pillow does. F32 is Pillow's mode F, U16 its mode I, clamped to 0..65535.
 *  Memory   The caller's, on the context's device. No image of dst may overlap an image of src. What `params` points to
 *           is host memory and is read before the call returns.
 *  Stream   CUDA: queued on params->stream; the call waits for nothing, and allocates only if a batch needs more memory
 *           than those before it. Once that memory is allocated, a graph can capture the call; its replays read the
 *           same addresses. CPU: the work is done on return; threads share the images.
 *  Threads  One thread per context at a time.
 *  Errors   ARGUMENT, MEMORY, CUDA, UNSUPPORTED (a capture that needs memory): dst is untouched. */
MOTLEY_API motley_status motley_resize(motley_context *context, const motley_batch *src, const motley_batch *dst,
                                       const motley_resize_params *params, motley_error *error);

#ifdef __cplusplus
}
#endif
#endif
