/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing on the GPU: the draws are uploaded, then one kernel mixes the images, or the targets. */
#include "kernels/cuda/mix.h"
#include "dispatch/cuda/state.h"
#include "kernels/cuda/tuning.h"
#include "kernels/output.h"

/* ---- memory ---- */

/* The uploaded block at the start of the call's memory; image lists only if src or dst has `images`. */
typedef struct room {
    motley_mixed *drawn;
    motley_paste *pastes;
    motley_image *src, *dst;
    const uint8_t **masks;
    mot_mix_plane *planes;
    size_t planes_count;
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
        if ((m->kind == MOTLEY_MIX_PASTE || m->kind == MOTLEY_MIX_INSTANCES) && m->paste + m->pastes > end)
            end = m->paste + m->pastes;
    }
    return (size_t)end;
}

/* How many planes of masks are written. They are listed in `planes` if that is not NULL. */
static size_t list_planes(const mot_mix_images *call, mot_mix_plane *planes)
{
    const mot_view first = mot_batch_view(call->src, 0);
    const size_t pixels = (size_t)first.width * (size_t)first.height;
    size_t listed = 0;
    for (size_t i = 0; call->masks && i < call->src->count; i++) {
        const motley_mixed *const m = &call->drawn[i];
        const size_t own = call->masks->offsets[i + 1] - call->masks->offsets[i], all = own + (size_t)m->pastes;
        for (size_t k = 0; planes && m->kind == MOTLEY_MIX_INSTANCES && k < all; k++) {
            const uint8_t *const theirs = call->masks->src[m->partner];
            planes[listed + k] = (mot_mix_plane){
                .src = k < own ? call->masks->src[i] + k * pixels
                               : theirs + (size_t)call->pastes[(size_t)m->paste + k - own].object * pixels,
                .dst = call->masks->dst[i] + k * pixels,
                .image = (int32_t)i,
                .own = k < own,
            };
        }
        listed += m->kind == MOTLEY_MIX_INSTANCES ? all : 0;
    }
    return listed;
}

static room lay_out_mix(const mot_mix_images *call, mot_arena *arena)
{
    const size_t count = call->src->count, pastes = count_pastes(call);
    room r = { .drawn = mot_take_copy(arena, MOT_SENT, call->drawn, count * sizeof *call->drawn) };
    r.pastes = mot_take_copy(arena, MOT_SENT, pastes ? call->pastes : NULL, pastes * sizeof *r.pastes);
    r.src = mot_take_copy(arena, MOT_SENT, call->src->images, count * sizeof *r.src);
    r.dst = mot_take_copy(arena, MOT_SENT, call->dst->images, count * sizeof *r.dst);
    r.masks = mot_take_copy(arena, MOT_SENT, call->masks ? call->masks->src : NULL, count * sizeof *r.masks);
    r.planes_count = list_planes(call, NULL);
    r.planes = mot_take_if(call->masks != NULL, arena, MOT_SENT, r.planes_count * sizeof *r.planes);
    if (r.planes && arena->base && arena->host)
        list_planes(call, r.planes);
    return r;
}

static size_t cut_bytes(const mot_mix_images *call)
{
    const mot_view first = mot_batch_view(call->src, 0);
    return call->src->count * (size_t)first.width * (size_t)first.height;
}

size_t mot_cuda_mix_count(const mot_chip *chip, const mot_mix_images *call, mot_arena *scratch)
{
    const size_t before = scratch->bytes;
    size_t hold;
    job_of(chip, call, &hold);
    lay_out_mix(call, scratch);
    const size_t sent = scratch->bytes - before;
    mot_take(scratch, MOT_IMAGES, hold);
    mot_take_if(call->masks != NULL, scratch, MOT_IMAGES, cut_bytes(call));
    return sent;
}

/* ---- calls ---- */

/* Finds where instances are pasted, and writes the masks. */
static motley_status queue_masks(mot_cuda_call *call, const mot_mix_images *images, const room *r, uint8_t *cut,
                                 motley_error *error)
{
    const mot_view first = mot_batch_view(images->src, 0);
    const mot_mix_masks_job job = { .drawn = r->drawn,
                                    .pastes = r->pastes,
                                    .src = r->masks,
                                    .planes = r->planes,
                                    .extents = images->masks->extents,
                                    .cut = cut,
                                    .count = (int32_t)images->src->count,
                                    .planes_count = (int32_t)r->planes_count,
                                    .width = first.width,
                                    .height = first.height,
                                    .ctas = call->s->chip.multiprocessors * MOT_MIX_MASK_CTAS };
    const mot_node node = { .reads = MOT_SENT | MOT_IMAGES | MOT_NUMBERS, .writes = MOT_IMAGES | MOT_NUMBERS };
    MOT_TRY(mot_call_next(call, &node, error));
    MOT_TRY(mot_cuda_try(mot_mix_cut_launch(&job, call->lane), "launching the kernel of pasted masks", error));
    if (r->planes_count == 0)
        return MOTLEY_OK;
    MOT_TRY(mot_call_next(call, &node, error));
    return mot_cuda_try(mot_mix_masks_launch(&job, call->lane), "launching the kernel of masks", error);
}

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
    uint8_t *const cut = mot_take_if(images->masks != NULL, scratch, MOT_IMAGES, cut_bytes(images));
    if (cut)
        MOT_TRY(queue_masks(call, images, &r, cut, error));
    job.cut = cut;
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

static motley_status check_masks(void *state, const mot_mix_images *images, motley_error *error)
{
    const motley_mix_masks *const masks = images->masks;
    if (!masks)
        return MOTLEY_OK;
    for (size_t i = 0; i < images->src->count; i++) {
        MOT_TRY(mot_fail_in(error, mot_cuda_check_pointer(state, "masks.src", masks->src[i], error), "image %zu: ", i));
        MOT_TRY(mot_fail_in(error, mot_cuda_check_pointer(state, "masks.dst", masks->dst[i], error), "image %zu: ", i));
    }
    return mot_cuda_check_pointer(state, "masks.extents", masks->extents, error);
}

motley_status mot_cuda_mix(void *state, const mot_mix_images *images, void *stream, motley_error *error)
{
    mot_cuda_call call;
    MOT_TRY(mot_cuda_check(state, "src", images->src, error));
    MOT_TRY(mot_cuda_check(state, "dst", images->dst, error));
    MOT_TRY(check_masks(state, images, error));
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
        const mot_mix_images rows = {
            of->soft == of->targets ? &targets : &soft, &targets, drawn, NULL, NULL, NULL, false
        };
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
