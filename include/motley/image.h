/* SPDX-License-Identifier: Apache-2.0 */
/** A batch of images in memory, described by pointers and strides. */
#ifndef MOTLEY_IMAGE_H
#define MOTLEY_IMAGE_H

#include "motley/version.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum motley_dtype {
    MOTLEY_U8 = 0,   /* 0..255 */
    MOTLEY_F32 = 1,  /* wide images, which have a range; what is normalised */
    MOTLEY_F16 = 2,  /* what is normalised, IEEE binary16 */
    MOTLEY_BF16 = 3, /* likewise */
    MOTLEY_U16 = 4   /* wide images */
} motley_dtype;

/** The order of a dense batch whose strides are all zero. */
typedef enum motley_layout {
    MOTLEY_HWC = 0, /* the channels of a pixel are adjacent (NHWC, channels_last, a decoded image) */
    MOTLEY_CHW = 1  /* the pixels of a channel are adjacent (NCHW, a contiguous torch tensor) */
} motley_layout;

typedef enum motley_interpolation {
    MOTLEY_NEAREST = 0,
    MOTLEY_BILINEAR = 1,
    MOTLEY_BICUBIC = 2 /* a = -1, as Pillow's transform */
} motley_interpolation;

#define MOTLEY_MAX_BANDS 1024 /* the most channels of an image */

/** The names that policies, the command and Python use: "uint8", "nearest". NULL for an unknown number, so a
 *  loop from 0 finds all names. */
MOTLEY_API const char *motley_dtype_name(motley_dtype dtype);
MOTLEY_API const char *motley_interpolation_name(motley_interpolation interpolation);

/** One image of a batch of many sizes. */
typedef struct motley_image {
    void *data;
    int32_t width, height;  /* pixels, 1..1048576, and at most 2^31-1 of them in an image */
    int64_t row_stride;     /* bytes from a pixel to the one below; may be negative */
    int64_t pixel_stride;   /* bytes to the pixel on the right; under 2^31 on CUDA, but for components of a byte */
    int64_t channel_stride; /* bytes to the next channel of the pixel */
} motley_image;

/** n images of one size, or, when `images` is given, each with its own size and strides.
 *
 *  Channels  1 grey, 3 RGB, any other number up to 1024 bands. Each band is processed as a separate grey image. What
 *            needs three colours (color, grayscale, desaturate, hue, to_rgb) changes RGB only, with or without alpha.
 *  Range     Of wide images, the numbers that stand for a byte's 0 and 255; the policy's thresholds, amounts and fills
 *            count from one to the other. Draws do not depend on it, nor on the type. By default 0..65535 and 0..1; for
 *            example 0..4095 of 12 bits, 0..10000 of reflectance, and of standardised data what it mostly lies in, with
 *            `unclamped`. Of U16 the first number is 0. Ops that compute components clamp them to the range, as
 *            torchvision does; ops that move them never change any. Read of src, not of dst and outputs.
 *  Alpha     1: the last of 2 or 4 channels is alpha, and the others are grey or RGB. Not of wide src. Point, colour,
 *            statistics, stencil and filter ops leave it unchanged, geometry moves whole pixels (premultiplied when
 *            interpolating, as Pillow does), gaussian_blur blurs it, cutout fills it. src, dst and output of a call say
 *            the same.
 *  Strides   In bytes. All four zero means a dense batch in `layout`. No two components (channel values) may
 *            overlap, within an image or between images. A dst that holds an image twice, or one of src in another
 *            place, is refused; other overlaps between `images` are not detected.
 *  Memory    The caller's, on the context's device; no alignment is needed. `images` itself is host memory and
 *            is read before the call returns. count == 0 is allowed. */
typedef struct motley_batch {
    size_t count;
    int32_t channels; /* 1..1024 */
    motley_dtype dtype;
    motley_layout layout; /* read only when all strides are zero */
    int32_t alpha;        /* 1: the last of 2 or 4 channels is alpha; 0: each channel is a colour or a band */
    void *data;
    int32_t width, height;                                          /* pixels, 1..1048576 */
    int64_t image_stride, row_stride, pixel_stride, channel_stride; /* bytes */
    const motley_image *images;                                     /* [count], or NULL for one size */
    const double (*range)[2]; /* [ranges], host memory, read before the call returns; NULL: the type's */
    int32_t ranges;           /* how many pairs: 0 or 1, of all channels, or as many as channels */
    int32_t unclamped;        /* 1: results of wide ops may leave the range, of U16 within 0..65535 */
} motley_batch;

/** A rectangle of an output that is erased, or replaced by another image's pixels. */
typedef struct motley_erased_box {
    int32_t left, top, width, height; /* pixels */
} motley_erased_box;

#ifdef __cplusplus
}
#endif
#endif
