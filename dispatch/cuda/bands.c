/* SPDX-License-Identifier: Apache-2.0 */
/* Bands on the GPU: its kernels see them one after the other, each as a batch of grey images. */
#include "dispatch/cuda/bands.h"
#include "dispatch/cuda/state.h"
#include "dispatch/transform_call.h"

#include <string.h>

/* Two lists of `count` images, and steps behind them, in memory that the context keeps. */
static motley_status reserve(mot_cuda_state *s, size_t count, size_t steps, motley_image **images, mot_step **own,
                             motley_error *error)
{
    MOT_TRY(mot_keep(&s->bands, 2 * count * sizeof **images + steps * sizeof **own, count, error));
    *images = s->bands.memory;
    *own = (mot_step *)(void *)(*images + 2 * count);
    return MOTLEY_OK;
}

motley_status mot_cuda_bands_run(void *state, const mot_job *job, motley_error *error)
{
    const int bands = mot_batch_bands(job->src);
    const size_t steps = job->steps ? job->count * job->max_steps : 0;
    motley_image *images;
    mot_step *own;
    if (bands == 1)
        return mot_cuda_run(state, job, error);
    MOT_TRY(reserve(state, job->count, steps, &images, &own, error));
    for (int b = 0; b < bands; b++) {
        const motley_batch src = mot_batch_band(job->src, b, images);
        const motley_batch dst = job->dst ? mot_batch_band(job->dst, b, images + job->count) : src;
        motley_output output;
        mot_job part = *job;
        part.bands = bands;
        part.band = b;
        part.src = &src;
        part.dst = job->dst == job->src ? &src : job->dst ? &dst : NULL;
        part.followed = b == 0 ? job->followed : NULL;
        if (job->output) {
            output = *job->output;
            output.batch = mot_batch_band(&job->output->batch, b, NULL);
            output.mean[0] = output.mean[b];
            output.std[0] = output.std[b];
            part.output = &output;
        }
        if (job->steps)
            part.steps = memcpy(own, job->steps, steps * sizeof *own);
        for (size_t s = 0; s < steps; s++)
            own[s].fill[0] = own[s].fill[b];
        MOT_TRY(mot_cuda_run(state, &part, error));
    }
    return MOTLEY_OK;
}

motley_status mot_cuda_bands_workspace(void *state, const mot_job *job, size_t *bytes, motley_error *error)
{
    motley_image *images;
    mot_step *own;
    if (!job || mot_batch_bands(job->src) == 1)
        return mot_cuda_workspace(state, job, bytes, error);
    MOT_TRY(reserve(state, job->count, 0, &images, &own, error));
    const motley_batch grey = mot_batch_band(job->src, 0, images);
    mot_job part = *job;
    part.src = part.dst = &grey;
    return mot_cuda_workspace(state, &part, bytes, error);
}

motley_status mot_cuda_bands_resize(void *state, const motley_batch *src, const motley_batch *dst,
                                    const motley_resize_params *params, motley_error *error)
{
    const int bands = mot_batch_bands(src);
    motley_image *images;
    mot_step *own;
    if (bands == 1)
        return mot_cuda_resize(state, src, dst, params, error);
    MOT_TRY(reserve(state, src->count, 0, &images, &own, error));
    for (int b = 0; b < bands; b++) {
        const motley_batch from = mot_batch_band(src, b, images), to = mot_batch_band(dst, b, images + src->count);
        MOT_TRY(mot_cuda_resize(state, &from, &to, params, error));
    }
    return MOTLEY_OK;
}

motley_status mot_cuda_bands_transform(void *state, const mot_transform_call *call, motley_error *error)
{
    const int bands = mot_batch_bands(call->src);
    const size_t n = call->src->count;
    motley_image *images;
    mot_step *own;
    if (bands == 1)
        return mot_cuda_transform(state, call, error);
    MOT_TRY(reserve(state, n, 0, &images, &own, error));
    for (int b = 0; b < bands; b++) {
        const motley_batch src = mot_batch_band(call->src, b, images), dst = mot_batch_band(call->dst, b, images + n);
        motley_apply_params params = *call->params;
        mot_transform_call part = *call;
        part.bands = bands;
        part.band = b;
        part.src = &src;
        part.dst = &dst;
        part.params = &params;
        part.as.mean[0] = call->as.mean[b];
        part.as.std[0] = call->as.std[b];
        part.erased[0] = call->erased[b];
        if (b > 0) { /* once is enough */
            params.drawn = NULL;
            params.steps = NULL;
            params.step_counts = NULL;
            part.followed = (motley_followed){ 0 };
        }
        MOT_TRY(mot_cuda_transform(state, &part, error));
    }
    return MOTLEY_OK;
}
