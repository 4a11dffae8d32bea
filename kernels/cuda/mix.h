/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp and CutMix on the GPU: images of a batch are mixed with each other, and targets likewise. Plain C on both
 * sides. */
#ifndef MOT_CUDA_MIX_H
#define MOT_CUDA_MIX_H

#include "kernels/cuda/job.h"
#include "motley/mix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each CTA takes the same few components of all images at a time, and holds them while it writes their mixtures: so
 * that src may be dst. */
typedef struct mot_mix_job {
    mot_cuda_batch src, dst; /* of one size and type; dst may be src */
    int32_t count, channels, dtype;
    const motley_mixed *drawn;  /* [count], device memory */
    const motley_paste *pastes; /* those of `drawn`, or NULL; device memory */
    const uint8_t *cut; /* [count][src.height][src.width]: != 0 where instances are pasted into an image; or NULL */
    int32_t gathers;    /* != 0: each component is read where the resize, and what is pasted, has it; nothing is held */
    int32_t planes;     /* != 0: a plane's components are taken one after the other, else a pixel's */
    int32_t in_place;   /* != 0: images that are not mixed are left alone */
    int32_t soft;       /* != 0: these are targets of `width` classes, smoothed by `smoothing`, then mixed by `share` */
    double smoothing;
    int32_t width, height;
    int32_t strip;  /* components of each image that a warp takes at a time */
    int32_t groups; /* of a CTA's warps, which share the images of a strip; 1 where `hold` is set */
    int32_t turns;  /* of all CTAs, until each group has had its strips of all rows */
    uint8_t *hold;  /* [ctas][count][strip] components, where shared memory is too small; or NULL */
    int32_t ctas;
} mot_mix_job;

/* Chooses strip and ctas for a chip, and returns the bytes that `hold` needs; 0: none. */
size_t mot_mix_cut(mot_mix_job *job, int shared_bytes, int multiprocessors);
cudaError_t mot_mix_launch(const mot_mix_job *job, cudaStream_t stream);

/* A mask that is written. */
typedef struct mot_mix_plane {
    const uint8_t *src;
    uint8_t *dst;
    int32_t image; /* into which others are pasted */
    int32_t own;   /* != 0: it is the image's own, and loses what is pasted over it */
} mot_mix_plane;

/* The masks of a batch whose instances are pasted: where pixels are cut, then what is left. */
typedef struct mot_mix_masks_job {
    const motley_mixed *drawn;   /* [count], device memory, as all else */
    const motley_paste *pastes;  /* those of `drawn` */
    const uint8_t *const *src;   /* [count], each image's planes */
    const mot_mix_plane *planes; /* [planes_count] */
    motley_extent *extents;      /* [planes_count] */
    uint8_t *cut;                /* [count][height][width]: 255 or 0; of images without instances not written */
    int32_t count, planes_count, width, height;
    int32_t ctas; /* at most */
} mot_mix_masks_job;

cudaError_t mot_mix_cut_launch(const mot_mix_masks_job *job, cudaStream_t stream);
cudaError_t mot_mix_masks_launch(const mot_mix_masks_job *job, cudaStream_t stream);

/* Targets from labels, in device memory: the rows of an image whose label, or whose partner's, is no class are NaN. */
typedef struct mot_mix_targets_job {
    const motley_mixed *drawn; /* [count] */
    const int64_t *labels;     /* [count] */
    float *targets;            /* [count][classes] */
    int32_t count, classes;
    double smoothing;
} mot_mix_targets_job;

cudaError_t mot_mix_targets_launch(const mot_mix_targets_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
