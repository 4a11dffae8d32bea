/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the GPU's two routes a batch takes, and why: a pure function of plain data, tested without a GPU. */
#ifndef MOT_ROUTE_H
#define MOT_ROUTE_H

#include "dispatch/backend.h"
#include "kernels/cuda/job.h"

typedef enum mot_route {
    MOT_ROUTE_RESIDENT, /* a CTA holds an image in shared memory: kernels/cuda/resident.cuh */
    MOT_ROUTE_TILES,    /* any image, tile by tile: kernels/cuda/tile_kernel.cuh */
    MOT_ROUTE_WIDE,     /* images of U16 and F32, which have no other: dispatch/cuda/wide.h */
    MOT_ROUTES
} mot_route;

extern const char *const mot_route_names[MOT_ROUTES];

/* What the chip offers. */
typedef struct mot_chip {
    int overlaps;     /* compute capability 9.0: kernels can begin while the last one ends; bulk copies */
    int shared_bytes; /* most dynamic shared memory of a CTA, without the CTA's own variables */
    int shared_per_sm;
    int multiprocessors, threads_per_sm;
    int draw_bytes; /* of shared memory for the draw kernel */
} mot_chip;

/* `major`: of the compute capability. `shared_per_cta`: at most, if a kernel asks for it. */
mot_chip mot_chip_of(int major, int multiprocessors, int threads_per_sm, int shared_per_sm, int shared_per_cta);

#define MOT_BLUR_UNKNOWN INT64_MAX

typedef struct mot_route_facts {
    size_t count;
    int32_t width, height, channels; /* of all images, if they have one size */
    mot_cuda_format format;
    int one_size;
    int dense;         /* src can be loaded by bulk copies: mot_is_dense */
    int dense_between; /* the same for the pixels between passes: dst, or the output's memory without dst */
    int output;
    size_t max_steps;
    int interpolates;    /* some step may */
    int64_t blur_radius; /* of the widest box that some step may blur with (mot_blur_radius); -1: none may blur;
                          * MOT_BLUR_UNKNOWN: only the device has the steps, and any may blur */
    int sums;            /* some warp's positions may be sums of doubles: MOT_WARP_SCALE, MOT_WARP_DOUBLE */
    int always_tiles;
} mot_route_facts;

typedef struct mot_route_choice {
    mot_route route;
    const char *reason;
    mot_resident_shape shape; /* unused for TILES */
} mot_route_choice;

mot_route_choice mot_route_choose(const mot_chip *chip, const mot_route_facts *facts);

/* Cached answers to a question that takes as long as a whole call: of a policy's levels, for images of one size. */
typedef struct mot_level_cache {
    struct mot_level_facts {
        uint64_t fingerprint; /* of the policy */
        int32_t width, height;
        int known;
        int plain_warps; /* all warps read at 16.16 positions or interpolate */
    } kept[16];
    unsigned next;
} mot_level_cache;

/* A job's route. `work`: dst, or the part of the output that holds pixels between passes. */
mot_route_choice mot_route_of(const mot_chip *chip, const mot_job *job, mot_cuda_format format,
                              const motley_batch *work, int always_tiles, mot_level_cache *cache);

/* How many images the kernels see that run steps, and with how many channels: a band is a grey image, as of
 * mot_cuda_batch. */
static inline size_t mot_cuda_images(const motley_batch *batch)
{
    return batch->count * (size_t)mot_batch_bands(batch);
}

static inline int32_t mot_cuda_channels(const motley_batch *batch)
{
    return mot_batch_bands(batch) > 1 ? 1 : batch->channels;
}

/* The format that all of these images have. */
mot_cuda_format mot_cuda_format_of(const motley_batch *batch);

/* Whether a batch's channels are resized one by one. */
static inline int mot_cuda_resizes_planes(const motley_batch *batch)
{
    return mot_batch_bands(batch) > 1 || mot_cuda_format_of(batch) == MOT_FORMAT_PLANES;
}

/* A batch in the kernels' form; `images`: the descriptions of its images on the device, if it has any. */
mot_cuda_batch mot_cuda_batch_of(const motley_batch *batch, const motley_image *images);

/* Where pixels are kept between phases when a call has no dst: at the beginning of each image's output if that is dense
 * and of a larger type, else in the first byte of each component. */
motley_batch mot_tiles_work(const motley_batch *src, const motley_batch *output, mot_cuda_format format);

/* Whether an image is contiguous, in whole blocks of 16 bytes, with whole quads in every row. */
int mot_is_dense(const mot_view *v, mot_cuda_format format);

#endif
