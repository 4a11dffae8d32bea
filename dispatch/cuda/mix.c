/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing on the GPU: the draws are uploaded, then one kernel mixes the images, or the targets. */
#include "kernels/cuda/mix.h"
#include "dispatch/cuda/state.h"
#include "kernels/output.h"

/* ---- memory ---- */

/* The uploaded block at the start of the call's memory; image lists only if src or dst has `images`. */
typedef struct room {
    motley_mixed *drawn;
    motley_paste *pastes;
    motley_image *src, *dst;
} room;

static mot_mix_job job_of(const mot_chip *chip, const mot_mix_images *call, size_t *hold)
{
    const motley_batch *const batch = call->dst;
    const mot_view v = mot_batch_view(batch, 0);
    mot_mix_job job = { .count = (int32_t)batch->count,
                        .channels = batch->channels,
                        .dtype = (int32_t)batch->dtype,
                        .planes = v.channel > v.pixel,
                        .gathers = call->gathers,
                        .width = v.width,
                        .height = v.height };
    *hold = mot_mix_cut(&job, chip->shared_bytes, chip->multiprocessors);
    return job;
}

/* How many pastes the images have, one image's behind the other's or not. */
static size_t count_pastes(const mot_mix_images *call)
{
    int32_t end = 0;
    for (size_t i = 0; call->pastes && i < call->src->count; i++) {
        const motley_mixed *const m = &call->drawn[i];
        if (m->kind == MOTLEY_MIX_PASTE && m->paste + m->pastes > end)
            end = m->paste + m->pastes;
    }
    return (size_t)end;
}

static room lay_out_mix(const mot_mix_images *call, mot_arena *arena)
{
    const size_t count = call->src->count, pastes = count_pastes(call);
    room r = { .drawn = mot_take_copy(arena, MOT_SENT, call->drawn, count * sizeof *call->drawn) };
    r.pastes = mot_take_copy(arena, MOT_SENT, pastes ? call->pastes : NULL, pastes * sizeof *r.pastes);
    r.src = mot_take_copy(arena, MOT_SENT, call->src->images, count * sizeof *r.src);
    r.dst = mot_take_copy(arena, MOT_SENT, call->dst->images, count * sizeof *r.dst);
    return r;
}

size_t mot_cuda_mix_count(const mot_chip *chip, const mot_mix_images *call, mot_arena *scratch)
{
    const size_t before = scratch->bytes;
    size_t hold;
    job_of(chip, call, &hold);
    lay_out_mix(call, scratch);
    const size_t sent = scratch->bytes - before;
    mot_take(scratch, MOT_IMAGES, hold);
    return sent;
}

/* ---- calls ---- */

motley_status mot_cuda_mix_queue(mot_cuda_call *call, const mot_mix_images *images, const double *smoothing,
                                 mot_arena *scratch, uint8_t *host, motley_error *error)
{
    size_t hold;
    mot_mix_job job = job_of(&call->s->chip, images, &hold);
    mot_arena assembled = { .base = host, .host = 1 };
    lay_out_mix(images, &assembled);
    const room r = lay_out_mix(images, scratch);
    /* it goes to the scratch, which kernels of earlier calls may still read */
    MOT_TRY(mot_call_send(call, MOT_SENT | MOT_PARTS, r.drawn, host, assembled.bytes, "sending what was drawn", error));
    job.src = mot_cuda_batch_of(images->src, r.src);
    job.dst = mot_cuda_batch_of(images->dst, r.dst);
    job.drawn = r.drawn;
    job.pastes = r.pastes;
    job.in_place = images->src == images->dst;
    job.soft = smoothing != NULL;
    job.smoothing = smoothing ? *smoothing : 0;
    job.hold = mot_take_if(hold > 0, scratch, MOT_IMAGES, hold);
    const mot_node node = { .reads = MOT_SENT | MOT_IMAGES, .writes = MOT_IMAGES };
    MOT_TRY(mot_call_next(call, &node, error));
    return mot_cuda_try(mot_mix_launch(&job, call->lane), "launching the mixing kernel", error);
}

static motley_status run_mix(mot_cuda_call *call, const mot_mix_images *images, const double *smoothing,
                             motley_error *error)
{
    mot_pool *const pool = &call->s->pool;
    mot_arena counted = { 0 };
    MOT_TRY(mot_pool_reserve_host(pool, mot_cuda_mix_count(&call->s->chip, images, &counted), error));
    MOT_TRY(mot_call_take(call, 0, counted.bytes, 0, error));
    return mot_cuda_mix_queue(call, images, smoothing, &call->scratch, pool->host.memory, error);
}

motley_status mot_cuda_mix(void *state, const mot_mix_images *images, void *stream, motley_error *error)
{
    mot_cuda_call call;
    MOT_TRY(mot_cuda_check(state, "src", images->src, error));
    MOT_TRY(mot_cuda_check(state, "dst", images->dst, error));
    MOT_TRY(mot_call_begin(state, stream, &call, error));
    return mot_call_end(&call, run_mix(&call, images, NULL, error), error);
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

static motley_status run_targets(mot_cuda_call *call, const motley_mixed *drawn, const mot_mix_targets *of,
                                 motley_error *error)
{
    const motley_batch targets = target_batch(of, of->targets);
    if (of->soft) {
        const motley_batch soft = target_batch(of, of->soft);
        const mot_mix_images rows = { of->soft == of->targets ? &targets : &soft, &targets, drawn, NULL, false };
        return run_mix(call, &rows, &of->smoothing, error);
    }
    const size_t bytes = of->count * sizeof *drawn;
    MOT_TRY(mot_call_take(call, 0, bytes, 0, error));
    motley_mixed *const sent = mot_take(&call->scratch, MOT_SENT, bytes);
    MOT_TRY(mot_call_send(call, MOT_SENT, sent, drawn, bytes, "sending what was drawn", error));
    const mot_mix_targets_job job = { sent, of->labels, of->targets, (int32_t)of->count, of->classes, of->smoothing };
    const mot_node node = { .reads = MOT_SENT | MOT_NUMBERS, .writes = MOT_NUMBERS };
    MOT_TRY(mot_call_next(call, &node, error));
    return mot_cuda_try(mot_mix_targets_launch(&job, call->lane), "launching the kernel of targets", error);
}

motley_status mot_cuda_mix_targets(void *state, const motley_mixed *drawn, const mot_mix_targets *of, void *stream,
                                   motley_error *error)
{
    mot_cuda_call call;
    MOT_TRY(mot_cuda_check_pointer(state, "labels", of->labels, error));
    MOT_TRY(mot_cuda_check_pointer(state, "soft", of->soft, error));
    MOT_TRY(mot_cuda_check_pointer(state, "targets", of->targets, error));
    MOT_TRY(mot_call_begin(state, stream, &call, error));
    return mot_call_end(&call, run_targets(&call, drawn, of, error), error);
}
