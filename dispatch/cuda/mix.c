/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing on the GPU: the draws are uploaded, then one kernel mixes the images, or the targets. */
#include "dispatch/cuda/mix.h"
#include "dispatch/cuda/draw.h"
#include "kernels/output.h"

#include <string.h>

static size_t take(size_t *at, size_t bytes)
{
    const size_t begin = *at;
    *at += (bytes + 255) & ~(size_t)255;
    return begin;
}

/* ---- memory ---- */

/* Offsets in the memory of a call, which has descriptions of images only if src or dst has `images`. */
typedef struct places {
    size_t drawn, src, dst, hold, bytes;
    size_t host_bytes; /* what is sent, from the first byte on */
} places;

static int has_planes(const motley_batch *batch)
{
    const mot_view v = mot_batch_view(batch, 0);
    return v.channel > v.pixel;
}

static mot_mix_job job_of(const mot_cuda_work *work, const motley_batch *batch, size_t *hold)
{
    const mot_view v = mot_batch_view(batch, 0);
    mot_mix_job job = { .count = (int32_t)batch->count,
                        .channels = batch->channels,
                        .dtype = (int32_t)batch->dtype,
                        .planes = has_planes(batch),
                        .width = v.width,
                        .height = v.height };
    *hold = mot_mix_cut(&job, work->chip->shared_bytes, work->chip->multiprocessors);
    return job;
}

static places lay_out(const mot_cuda_work *work, const motley_batch *src, const motley_batch *dst)
{
    places p = { 0 };
    size_t hold;
    p.drawn = take(&p.bytes, src->count * sizeof(motley_mixed));
    p.src = src->images ? take(&p.bytes, src->count * sizeof(motley_image)) : 0;
    p.dst = dst->images ? take(&p.bytes, src->count * sizeof(motley_image)) : 0;
    p.host_bytes = p.bytes;
    job_of(work, src, &hold);
    p.hold = hold ? take(&p.bytes, hold) : 0;
    return p;
}

size_t mot_cuda_mix_bytes(const mot_cuda_work *work, const motley_batch *batch, size_t *host_bytes)
{
    const places p = lay_out(work, batch, batch);
    *host_bytes = p.host_bytes;
    return p.bytes;
}

/* ---- calls ---- */

motley_status mot_cuda_mix_queue(const mot_cuda_work *work, const motley_batch *src, const motley_batch *dst,
                                 const motley_mixed *drawn, const double *smoothing, uint8_t *device, uint8_t *host,
                                 motley_error *error)
{
    const places p = lay_out(work, src, dst);
    size_t hold;
    mot_mix_job job = job_of(work, src, &hold);
    memcpy(host + p.drawn, drawn, src->count * sizeof *drawn);
    if (src->images)
        memcpy(host + p.src, src->images, src->count * sizeof(motley_image));
    if (dst->images)
        memcpy(host + p.dst, dst->images, src->count * sizeof(motley_image));
    MOT_TRY(mot_cuda_try(mot_cuda_send(device, host, p.host_bytes, work->stream), "sending what was drawn", error));
    job.src = mot_cuda_batch_of(src, (const motley_image *)(const void *)(device + p.src));
    job.dst = mot_cuda_batch_of(dst, (const motley_image *)(const void *)(device + p.dst));
    job.drawn = (const motley_mixed *)(const void *)(device + p.drawn);
    job.in_place = src == dst;
    job.soft = smoothing != NULL;
    job.smoothing = smoothing ? *smoothing : 0;
    job.hold = hold ? device + p.hold : NULL;
    return mot_cuda_try(mot_mix_launch(&job, work->stream), "launching the mixing kernel", error);
}

static motley_status run(const mot_cuda_work *work, const motley_batch *src, const motley_batch *dst,
                         const motley_mixed *drawn, const double *smoothing, motley_error *error)
{
    const places p = lay_out(work, src, dst);
    MOT_TRY(mot_cuda_reserve(work, p.bytes, p.host_bytes, error));
    return mot_cuda_mix_queue(work, src, dst, drawn, smoothing, work->kept->memory, work->kept->host, error);
}

motley_status mot_cuda_mix(void *state, const motley_batch *src, const motley_batch *dst, const motley_mixed *drawn,
                           void *stream, motley_error *error)
{
    mot_cuda_work work;
    MOT_TRY(mot_cuda_check(state, "src", src, error));
    MOT_TRY(mot_cuda_check(state, "dst", dst, error));
    MOT_TRY(mot_cuda_begin(state, stream, &work, error));
    return mot_cuda_end(&work, run(&work, src, dst, drawn, NULL, error), error);
}

/* Targets are images of one row, whose pixels are the classes. */
static motley_batch target_batch(const mot_mix_targets *call, const void *data)
{
    return (motley_batch){ .count = call->count,
                           .channels = 1,
                           .dtype = MOTLEY_F32,
                           .data = (void *)data,
                           .width = call->classes,
                           .height = 1 };
}

static motley_status run_targets(const mot_cuda_work *work, const motley_mixed *drawn, const mot_mix_targets *call,
                                 motley_error *error)
{
    const motley_batch targets = target_batch(call, call->targets);
    if (call->soft) {
        const motley_batch soft = target_batch(call, call->soft);
        return run(work, call->soft == call->targets ? &targets : &soft, &targets, drawn, &call->smoothing, error);
    }
    const size_t bytes = call->count * sizeof *drawn;
    MOT_TRY(mot_cuda_reserve(work, bytes, 0, error));
    MOT_TRY(
        mot_cuda_try(mot_cuda_send(work->kept->memory, drawn, bytes, work->stream), "sending what was drawn", error));
    const mot_mix_targets_job job = { work->kept->memory,   call->labels,  call->targets,
                                      (int32_t)call->count, call->classes, call->smoothing };
    return mot_cuda_try(mot_mix_targets_launch(&job, work->stream), "launching the kernel of targets", error);
}

/* Checks that an array of numbers is on the context's device. */
static motley_status check_numbers(void *state, const char *name, const void *data, motley_error *error)
{
    const motley_batch numbers = { .count = 1, .channels = 1, .data = (void *)data, .width = 1, .height = 1 };
    return data ? mot_cuda_check(state, name, &numbers, error) : MOTLEY_OK;
}

motley_status mot_cuda_mix_targets(void *state, const motley_mixed *drawn, const mot_mix_targets *call, void *stream,
                                   motley_error *error)
{
    mot_cuda_work work;
    MOT_TRY(check_numbers(state, "labels", call->labels, error));
    MOT_TRY(check_numbers(state, "soft", call->soft, error));
    MOT_TRY(check_numbers(state, "targets", call->targets, error));
    MOT_TRY(mot_cuda_begin(state, stream, &work, error));
    return mot_cuda_end(&work, run_targets(&work, drawn, call, error), error);
}
